"""Sensitivities agree with differences of solves; where there is no derivative, they say so."""

import pickle

import casadi
import numpy as np
import pytest

from trajopt import Problem, free, prepare, solve
from trajopt.errors import SolveError, UsageError


def rest_to_rest(height=1.0, limit=None):
    """J = 12 height^2 without limits of v; x(1/2) = height / 2."""
    ocp = Problem("move")
    target = ocp.parameter("height", height)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=target), ph.state("v", start=0, end=0, upper=limit)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    return ocp


def lander(maximize=False):
    """Free fall, then full thrust: the switch and the end follow from two square roots."""
    ocp = Problem("lander")
    thrust, g = ocp.parameter("thrust", 3.0), ocp.parameter("g", 1.5)
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    h, v = ph.state("h", start=10, end=0), ph.state("v", start=-2, end=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({h: v, v: thrust * u - g})
    if maximize:
        ocp.maximize(-ph.final(t))
    else:
        ocp.minimize(ph.integral(thrust * u))
    return ocp


def differences(build, name, value, names, times, step=1e-4, tolerance=1e-9):
    """Central differences of objective, states and costates of fresh solves."""
    low, high = (
        solve(build(), parameters={name: value + by}, tolerance=tolerance).check()
        for by in (-step * value, step * value)
    )
    width = 2 * step * value
    slopes = {name: (high[name](times) - low[name](times)) / width for name in names}
    costates = {
        name: (high.costate(name)(times) - low.costate(name)(times)) / width for name in names
    }
    ends = (high.phases["main"].tf - low.phases["main"].tf) / width
    return (high.objective - low.objective) / width, slopes, costates, ends


def test_a_problem_with_a_known_solution():
    s = solve(rest_to_rest()).sensitivity("height")
    assert s.objective == pytest.approx(24, rel=1e-9)
    assert s.elasticity == pytest.approx(2, rel=1e-9)
    times = np.linspace(0, 1, 7)
    np.testing.assert_allclose(s["x"](times), 3 * times**2 - 2 * times**3, atol=1e-9)
    np.testing.assert_allclose(s["u"](times), 6 - 12 * times, atol=1e-7)
    np.testing.assert_allclose(s.costate("x")(times), -24, rtol=1e-6)
    assert not s.warning
    assert s.one_sided is None


def test_given_values_have_derivatives_like_parameters():
    solution = solve(rest_to_rest())
    by_start = solution.sensitivity("x(t0)")
    assert by_start.objective == pytest.approx(-24, rel=1e-8)
    assert by_start.objective == pytest.approx(solution.costate("x")(0.0), rel=1e-6)
    by_end = solution.sensitivity("tf")  # J = 12 / T^3
    assert by_end.objective == pytest.approx(-36, rel=1e-7)
    assert by_end.times["main"] == pytest.approx([0, 1], abs=1e-9)
    # x = 3 (t/T)^2 - 2 (t/T)^3
    assert by_end["x"](0.5) == pytest.approx(-0.75, rel=1e-6)


@pytest.mark.parametrize("maximize", [False, True])
def test_switches_and_ends_of_arcs_move(maximize):
    solution = solve(lander(maximize), tolerance=1e-8).check()
    s = solution.sensitivity("thrust")
    times = np.linspace(0.1, solution.phases["main"].tf - 0.1, 9)
    times = times[np.abs(times - solution.arcs[0].end) > 0.05]
    slope, states, costates, end = differences(
        lambda: lander(maximize), "thrust", 3.0, ("h", "v"), times
    )
    assert s.objective == pytest.approx(slope, rel=1e-6)
    assert s.times["main"][-1] == pytest.approx(end, rel=1e-6)
    for name in ("h", "v"):
        np.testing.assert_allclose(s[name](times), states[name], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(s.costate(name)(times), costates[name], rtol=1e-4, atol=1e-5)


def test_all_slopes_are_those_of_single_sensitivities():
    solution = solve(lander())
    slopes = {one.name: one for one in solution.sensitivities()}
    assert list(slopes)[:2] == ["thrust", "g"] or list(slopes)[:2] == ["g", "thrust"]
    for name in ("thrust", "g", "h(t0)", "v(tf)", "upper limit of u"):
        assert slopes[name].objective == solution.sensitivity(name).objective


def two_phases():
    ocp = Problem("two phases")
    mass, dropped = ocp.parameter("mass", 2.0), ocp.parameter("dropped", 0.5)
    first, second = ocp.phase("first"), ocp.phase("second")
    cost = 0
    for ph, own in ((first, mass), (second, mass - dropped)):
        start = {"start": 0} if ph is first else {}
        ph.time(**start, end=free(0.2, 3) if ph is first else free(0.5, 6))
        x = ph.state("x", **({"start": 0} if ph is first else {"end": 3}))
        v = ph.state("v", **({"start": 0} if ph is first else {"end": 0}))
        u = ph.control("u")
        ph.dynamics({x: v, v: u / own - 0.1 * casadi.sin(x)})
        cost += ph.integral(u**2 + 1)
    ocp.connect(first, second)
    ocp.require(first.final(first.declared["x"].symbol), equals=1, name="drop")
    ocp.minimize(cost)
    return ocp


def test_several_phases():
    solution = solve(two_phases(), tolerance=1e-8).check()
    s = solution.sensitivity("dropped")
    low, high = (
        solve(two_phases(), parameters={"dropped": v}, tolerance=1e-9) for v in (0.499, 0.501)
    )
    assert s.objective == pytest.approx((high.objective - low.objective) / 0.002, rel=1e-5)
    for phase in ("first", "second"):
        moved = (high.phases[phase].tf - low.phases[phase].tf) / 0.002
        assert s.times[phase][-1] == pytest.approx(moved, rel=1e-5)
    moved = (high["second", "x"](3.0) - low["second", "x"](3.0)) / 0.002
    assert s["second", "x"](3.0) == pytest.approx(moved, rel=1e-4)
    by_condition = solution.sensitivity("drop")
    assert by_condition.objective == pytest.approx(-solution.multipliers["drop"], rel=1e-6)


def test_where_strict_complementarity_fails_both_sides_are_given():
    """The best u is max(p, 0), at p = 0."""
    ocp = Problem("corner")
    p = ocp.parameter("p", 0.0)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=0, upper=2)
    y, w = ph.state("y", start=0, end=1), ph.control("w")
    ph.dynamics({x: u, y: w})
    ocp.minimize(ph.integral((u - p) ** 2 + w**2))
    s = solve(ocp).check().sensitivity("p")
    assert "towards smaller and larger values differ" in s.warning
    before, after = s.one_sided
    assert before["u"](0.5) == pytest.approx(0, abs=1e-9)
    assert after["u"](0.5) == pytest.approx(1, rel=1e-6)


def test_arcs_of_active_state_limits_on_points_of_the_mesh_are_said():
    solution = solve(rest_to_rest(limit=1.2)).check()
    s = solution.sensitivity("height")
    ramp = 1 - 1 / 1.2  # the speed rises and falls in 3/2 of that; J = 16 limit^2 / (9 ramp)
    assert solution.objective == pytest.approx(16 * 1.2**2 / (9 * ramp), rel=1e-5)
    assert s.objective == pytest.approx(16 * 1.2 / (9 * ramp**2), rel=1e-4)
    follows = solution.program[1].layout.phases[0].mesh.knots
    assert follows or "limit of states" in s.warning


def test_implied_bounds_are_released():
    """Once the fuel is spent, m is at its bound by the dynamics alone: x(2) = c (2 - 1/4)."""
    ocp = Problem("implied")
    c = ocp.parameter("c", 1.0)
    ph = ocp.phase()
    ph.time(start=0, end=2)
    m = ph.state("m", start=1, end=0.5, lower=0.5, upper=1)
    x, v = ph.state("x", start=0), ph.state("v", start=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({m: -u, x: v, v: c * u})
    ocp.maximize(ph.final(x))
    s = solve(ocp).check().sensitivity("c")
    assert s.objective == pytest.approx(0.875, rel=1e-7)
    assert s["x"](2.0) == pytest.approx(0.875, rel=1e-7)


def test_prepared_and_shooting_solutions_have_sensitivities():
    prepared = prepare(rest_to_rest())
    prepared.solve()
    again = prepared.solve({"height": 2.0})
    assert again.sensitivity("height").objective == pytest.approx(48, rel=1e-8)
    later = prepared.solve({"height": 3.0})
    assert again.sensitivities()[0].value == 2.0
    assert later.sensitivity("height").objective == pytest.approx(72, rel=1e-8)
    shot = solve(rest_to_rest(), "indirect").check()
    assert shot.sensitivity("height").objective == pytest.approx(24, rel=1e-6)


def test_errors_in_the_users_names():
    solution = solve(rest_to_rest())
    with pytest.raises(UsageError, match="no quantity 'heigt'"):
        solution.sensitivity("heigt")
    read = pickle.loads(pickle.dumps(solution))
    with pytest.raises(UsageError, match="read from a file"):
        read.sensitivity("height")
    with pytest.raises(SolveError, match="was not solved"):
        solve(rest_to_rest(limit=0.5)).sensitivity("height")
