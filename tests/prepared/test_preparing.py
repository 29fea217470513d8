"""Solving again agrees with solving anew, on the fast path and where it does not serve."""

import threading

import casadi
import numpy as np
import pytest

from problems.classical.cart_pole import build as cart_pole
from trajopt import Problem, certify, free, prepare, solve
from trajopt.errors import UsageError


def swing(length=0.7):
    """A pendulum swung up by a bounded torque, with parameters in the model, a boundary value and a
    limit.
    """
    ocp = Problem("swing")
    mass, target, limit = (
        ocp.parameter("mass", 1.0),
        ocp.parameter("target", 2.5),
        ocp.parameter("limit", 9.0),
    )
    duration = ocp.parameter("duration", 1.5)
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    a, w = ph.state("a", start=0, end=target), ph.state("w", start=0, end=0)
    u = ph.control("u", lower=-limit, upper=limit)
    ph.dynamics({a: w, w: (u - mass * 9.81 * length * casadi.sin(a)) / (mass * length**2)})
    ocp.minimize(ph.integral(u**2))
    return ocp


def was_fast(solution):
    return len(solution.log) == 1 and solution.log[0].startswith("Newton's method")


@pytest.fixture(scope="module")
def prepared():
    prepared = prepare(swing())
    prepared.solve().check()
    return prepared


CHANGES = (
    {"mass": 1.02},
    {"duration": 1.52},
    {"mass": 0.97, "target": 2.45},
    {"limit": 8.5},
    {"limit": 8.5, "mass": 1.03},
    {},
)
STATED = {"mass": 1.0, "target": 2.5, "limit": 9.0, "duration": 1.5}


@pytest.mark.parametrize("parameters", CHANGES)
def test_parameters_in_the_model_in_bounds_and_in_boundary_values(prepared, parameters):
    again, anew = (
        prepared.solve(parameters).check(),
        solve(prepared.problem, parameters=parameters).check(),
    )
    assert was_fast(again), again.log
    assert again.objective == pytest.approx(anew.objective, rel=1e-6)
    times = np.linspace(0, parameters.get("duration", 1.5), 9)
    for name in ("a", "w"):
        np.testing.assert_allclose(again[name](times), anew[name](times), atol=1e-4)
        np.testing.assert_allclose(
            again.costate(name)(times), anew.costate(name)(times), rtol=1e-2, atol=1e-2
        )
    assert again.error <= again.tolerance
    assert {name: float(v[0]) for name, v in again.parameters.items()} == STATED | parameters


def test_boundary_values_that_are_no_parameters(prepared):
    again = prepared.solve(initial={"a": 0.05}, final={"w": 0.1}).check()
    assert was_fast(again)
    assert again["a"](0.0) == pytest.approx(0.05, abs=1e-12)
    assert again["w"](1.5) == pytest.approx(0.1, abs=1e-9)
    assert certify(again).claim in ("extremal", "minimum")
    back = prepared.solve().check()
    assert back["a"](0.0) == pytest.approx(0, abs=1e-12)
    assert back.objective == pytest.approx(solve(prepared.problem).objective, rel=1e-8)


def test_a_large_change_is_solved_too():
    prepared = prepare(swing())
    prepared.solve().check()
    far = prepared.solve({"mass": 1.6, "limit": 20.0})
    assert far.objective == pytest.approx(
        solve(prepared.problem, parameters={"mass": 1.6, "limit": 20.0}).objective, rel=1e-6
    )
    near = prepared.solve({"mass": 1.61, "limit": 20.0}).check()
    assert was_fast(near)


def test_values_without_a_solution_are_reported_and_forgotten():
    prepared = prepare(swing())
    first = prepared.solve().check()
    assert not prepared.solve({"limit": 0.5}).success  # the torque cannot lift the mass
    assert prepared.solve().check().objective == pytest.approx(first.objective, rel=1e-7)


def lander():
    ocp = Problem("lander")
    thrust = ocp.parameter("thrust", 3.0)
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 20))
    h, v = ph.state("h", start=10, end=0), ph.state("v", start=-2, end=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({h: v, v: thrust * u - 1.5})
    ocp.minimize(ph.integral(thrust * u))
    return ocp


def test_switching_times_of_arcs_follow():
    prepared = prepare(lander())
    prepared.solve().check()
    again, anew = (
        prepared.solve({"thrust": 3.03}).check(),
        solve(lander(), parameters={"thrust": 3.03}).check(),
    )
    assert was_fast(again)
    assert again.objective == pytest.approx(anew.objective, rel=1e-8)
    assert [arc.end for arc in again.arcs] == pytest.approx(
        [arc.end for arc in anew.arcs], rel=1e-6
    )


def test_fixed_keeps_the_mesh_and_estimates_on_demand(prepared):
    iterate = prepared.solve({"mass": 1.01}, fixed=True)
    full = prepared.solve({"mass": 1.01})
    assert iterate.kkt_error <= 1e-9
    assert iterate.objective == pytest.approx(full.objective, rel=1e-8)
    assert iterate.solution.error == pytest.approx(full.error, rel=0.1)
    with pytest.raises(UsageError, match="there is no mesh yet"):
        prepare(swing()).solve(fixed=True)


def test_an_answer_that_is_no_minimum_is_not_returned_from_the_kept_mesh():
    """The integral of u^2 - x^2 has no minimum beyond a duration of pi (conjugate point)."""
    ocp = Problem("conjugate")
    duration = ocp.parameter("duration", 3.0)
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x, u = (
        ph.state("x", start=0.2, end=0.3, lower=-100, upper=100),
        ph.control("u", lower=-500, upper=500),
    )
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2 - x**2))
    prepared = prepare(ocp)
    prepared.solve().check()
    beyond = prepared.solve({"duration": 3.3})
    assert beyond.objective < -10, "at the bounds of x"
    assert "second-order condition" in beyond.log[0]


def test_bounds_that_presolve_left_out_hold_for_other_parameters():
    """|u| <= 1 is implied by u0^2 + u1^2 <= r^2 for r = 1, not for r = 3."""
    ocp = Problem("implied")
    r = ocp.parameter("r", 1.0)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", 2, start=0)
    u = ph.control("u", 2, lower=-1, upper=1)
    ph.dynamics({x: u})
    ph.path(u[0] ** 2 + u[1] ** 2, upper=r**2)
    ocp.maximize(2 * ph.final(x)[0] + ph.final(x)[1])
    prepared = prepare(ocp)
    assert prepared.solve().check().objective == pytest.approx(np.sqrt(5), rel=1e-6)
    assert prepared.solve({"r": 3.0}).check().objective == pytest.approx(3, rel=1e-6)


def test_prepared_from_an_earlier_solution():
    problem = swing()
    solution = solve(problem).check()
    again = prepare(problem, solution).solve({"mass": 1.01}).check()
    assert again.objective == pytest.approx(
        solve(problem, parameters={"mass": 1.01}).objective, rel=1e-6
    )


def test_prepared_problems_run_in_threads():
    values = (0.98, 0.99, 1.01, 1.02)
    expected = {v: solve(swing(), parameters={"mass": v}).objective for v in values}
    answers = {}

    def work(part):
        prepared = prepare(swing())
        prepared.solve()
        answers.update({v: prepared.solve({"mass": v}).objective for v in part})

    threads = [threading.Thread(target=work, args=(part,)) for part in (values[:2], values[2:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == pytest.approx(expected, rel=1e-6)


def test_wrong_arguments_are_errors_in_the_users_names(prepared):
    with pytest.raises(UsageError, match="no parameter 'mas'"):
        prepared.solve({"mas": 1.0})
    with pytest.raises(UsageError, match="has no such state"):
        prepared.solve(initial={"b": 1.0})
    with pytest.raises(UsageError, match="prepare: problem"):
        prepare("cart-pole")
    with pytest.raises(UsageError, match="prepare: method"):
        prepare(swing(), method="indirect")


def test_cart_pole_without_parameters():
    prepared = prepare(cart_pole())
    first = prepared.solve().check()
    assert prepared.solve().check().objective == pytest.approx(first.objective, rel=1e-9)


def test_answers_in_real_time_are_printed_in_one_line(prepared):
    """Not with the statement, the mesh and the unknowns that they hold."""
    prepared.solve()
    assert len(repr(prepared.solve(fixed=True))) < 300
