"""Shooting from costates given by hand, its convergence, and how it fails."""

import importlib
import itertools
import time
from dataclasses import replace

import casadi
import numpy as np
import pytest

import trajopt.indirect.grid
import trajopt.indirect.newton
from trajopt import Problem, free, solve
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.initial_system import shooting_problem
from trajopt.indirect.newton import solve_by_newton
from trajopt.indirect.rollout import rollout
from trajopt.indirect.settings import GRID, NEWTON
from trajopt.indirect.shooting import Shooting
from trajopt.indirect.start import shooting_scales
from trajopt.indirect.structure_detection import start_of_solution
from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.solution import Status


def form_of(name):
    module = importlib.import_module(f"problems.classical.{name}")
    return module.build().finish(), module.REFERENCE


def arcs(times, *roles):
    return tuple(Arc("main", a, b, r) for a, b, r in zip(times[:-1], times[1:], roles, strict=True))


HAND = {  # rough costates, and structures where a rollout cannot find them
    "block_move": {"x": -20, "v": -10},
    "lqr_scalar": {"x": 0.5},
    "brachistochrone": {"x": -0.1, "y": -0.0185, "v": -0.102, "tf": 1.8},
    "linear_tangent_steering": {"x": 0, "y": -0.1, "vx": -0.01, "vy": -0.03, "tf": 0.55},
    "double_integrator_mintime": {"x": -0.9, "v": -0.9, "tf": 2.0},
    "double_integrator_minfuel": {"x": -0.9, "v": -1.3},
    "moon_lander": {"h": 0.2, "v": -0.7, "tf": 4.2},
    "vanderpol_bounded": {"x1": 0.83, "x2": 4.88},
    "jacobson_singular": {
        "x1": 1.5,
        "x2": 2.0,
        "arcs": arcs([0, 1.41, 5], {"u": "lower"}, {"u": "singular"}),
    },
    "bryson_denham": {
        "x": 19,
        "v": 6.1,
        "arcs": arcs(
            [0, 0.33, 0.67, 1],
            {"u": "interior"},
            {"u": "interior", "x": "upper"},
            {"u": "interior"},
        ),
    },
    "goddard": {
        "h": -4.57,
        "v": -0.174,
        "m": -0.0622,
        "arcs": arcs([0, 0.0235, 0.0727, 0.199], {"T": "upper"}, {"T": "singular"}, {"T": "lower"}),
    },
}


@pytest.mark.parametrize("name", HAND)
def test_from_costates_given_by_hand(name):
    form, reference = form_of(name)
    solution = Shooting().solve(form, HAND[name])
    assert solution.success, solution.explanation
    assert solution.objective == pytest.approx(reference.objective, rel=1e-8)


@pytest.mark.parametrize(
    "name", ["brachistochrone", "orbit_raising", "cart_pole", "lqr_scalar", "block_move"]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_costates_perturbed_by_a_percent(name, sign):
    """The cart's pole decides GROWTH: segments with a thousand to a million times as much are too
    long for Newton's method.
    """
    form, reference = form_of(name)
    guess = {state: value * (1 + sign * 0.01) for state, value in reference.costates.items()}
    guess["tf"] = 1.82  # of the brachistochrone; the other end times are fixed
    solution = Shooting().solve(form, guess)
    assert solution.success, solution.explanation
    assert solution.objective == pytest.approx(reference.objective, rel=1e-9)


@pytest.mark.parametrize(("growth", "solved"), [(1e3, True), (1e30, False)])
def test_errors_may_not_grow_without_limit(monkeypatch, growth, solved):
    """Decides GROWTH: along x' = u - x^3, most of the time at rest, neighbouring trajectories
    separate as exp(40).
    """
    ocp = Problem("long")
    ph = ocp.phase()
    ph.time(start=0, end=40)
    x, u = ph.state("x", start=1, end=1), ph.control("u")
    ph.dynamics({x: u - x**3})
    ocp.minimize(ph.integral(x**2 + u**2) / 2)
    monkeypatch.setattr(trajopt.indirect.grid, "GRID", replace(GRID, growth=growth))
    assert Shooting().solve(ocp.finish(), solve(ocp)).success is solved


def newton_run(name, guess):
    form, _ = form_of(name)
    options, p, hams = Shooting(), form.parameter_values(), phase_hamiltonians(form)
    prepared = shooting_problem(
        form, hams, rollout(form, hams, guess, p, options.law_of), p, options
    )
    return solve_by_newton(
        prepared.system,
        prepared.unknowns,
        prepared.scale,
        prepared.allowed,
        tolerance=1e-10,
        iterations=60,
    )


@pytest.mark.parametrize(
    ("name", "perturbed"), [("orbit_raising", (1.02, 0.98, 1.02)), ("cart_pole", (1.003,) * 4)]
)
def test_quadratic_convergence(name, perturbed, monkeypatch):
    # every step has its own matrix
    monkeypatch.setattr(trajopt.indirect.newton, "NEWTON", replace(NEWTON, chord=0.0))
    _, reference = form_of(name)
    result = newton_run(
        name,
        {
            state: factor * value
            for factor, (state, value) in zip(perturbed, reference.costates.items(), strict=True)
        },
    )
    assert result.converged
    steps = np.array([s for s in result.steps if s > 1e-12])
    # The log of a correction over the log of the one before tends to the order of convergence.
    small = steps[steps < 0.05]
    assert small.size >= 3, result.steps
    orders = np.log(small[1:]) / np.log(small[:-1])
    assert np.all(orders[-2:] > 1.7), (orders, result.steps)
    assert result.residuals[-1] < 1e-9


def test_the_matrix_is_the_derivative_of_the_residual():
    """All blocks at once: arcs with bounds, a singular arc, free time,
    against central differences.
    """
    form, _ = form_of("goddard")
    options, p, hams = Shooting(), form.parameter_values(), phase_hamiltonians(form)
    prepared = shooting_problem(
        form, hams, rollout(form, hams, HAND["goddard"], p, options.law_of), p, options
    )
    y, evaluate = prepared.unknowns, prepared.system.evaluate
    matrix = evaluate(y)[1].toarray()
    rng = np.random.default_rng(1)
    for _ in range(4):
        direction = prepared.scale * rng.standard_normal(y.size)
        h = 1e-6
        difference = (evaluate(y + h * direction)[0] - evaluate(y - h * direction)[0]) / (2 * h)
        np.testing.assert_allclose(
            matrix @ direction, difference, rtol=1e-5, atol=1e-6 * np.abs(difference).max()
        )


def test_derivatives_with_state_constraints_statics_and_integral_conditions():
    ocp = Problem("everything")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.95, 1.1))
    a = ocp.variable("a", lower=0, upper=10, guess=1)
    x = ph.state("x", start=0, end=0, upper=0.12)
    v = ph.state("v", start=1, end=-1)
    u = ph.control("u")
    ph.dynamics({x: v, v: u - 0.1 * a * casadi.sin(t)})
    ocp.require(ph.integral(u**2 + 0.1 * u), upper=100, name="effort")
    ocp.minimize(casadi.sqrt(1 + ph.integral(0.5 * u**2)) + (a - 1) ** 2 + ph.final(t) ** 2)
    form, p = ocp.finish(), np.zeros(0)
    direct, options, hams = solve(ocp), Shooting(), phase_hamiltonians(ocp.finish())
    prepared = shooting_problem(form, hams, start_of_solution(form, hams, direct, p), p, options)
    assert len(prepared.system.arcs) == 3
    y, evaluate = prepared.unknowns, prepared.system.evaluate
    matrix = evaluate(y)[1].toarray()
    rng = np.random.default_rng(2)
    direction = prepared.scale * rng.standard_normal(y.size)
    difference = (evaluate(y + 1e-6 * direction)[0] - evaluate(y - 1e-6 * direction)[0]) / 2e-6
    np.testing.assert_allclose(
        matrix @ direction, difference, rtol=1e-5, atol=1e-6 * np.abs(difference).max()
    )
    solution = options.solve(form, direct)
    assert solution.success, solution.explanation
    assert solution.objective == pytest.approx(direct.objective, rel=1e-6)


def test_a_wrong_structure_is_revised():
    """Without arcs a bounded control is first taken as interior; the answer contradicts that, and
    the arcs are found.
    """
    form, reference = form_of("vanderpol_bounded")
    whole = arcs([0, 5], {"u": "interior"})
    solution = Shooting().solve(form, {"x1": 0.83, "x2": 4.88, "arcs": whole})
    assert solution.success, solution.explanation
    assert [a.roles["u"] for a in solution.arcs] == ["lower", "interior", "upper", "interior"]
    assert solution.objective == pytest.approx(reference.objective, rel=1e-8)


def test_an_arc_that_is_none_is_dropped():
    form, reference = form_of("double_integrator_mintime")
    guess = {
        "x": -1,
        "v": -1,
        "arcs": arcs([0, 1, 1.9, 2], {"u": "upper"}, {"u": "lower"}, {"u": "upper"}),
    }
    solution = Shooting().solve(form, guess)
    assert solution.success, (solution.explanation, solution.log)
    assert len(solution.arcs) == 2
    assert solution.objective == pytest.approx(reference.objective, rel=1e-10)


def test_a_given_law():
    form, reference = form_of("cart_pole")

    def law(ham):
        ph = ham.phase
        H_u = casadi.gradient(ham.H, ph.u)
        return -casadi.substitute(H_u, ph.u, 0) / casadi.jacobian(H_u, ph.u)

    solution = Shooting(law=law).solve(form, dict(reference.costates))
    assert solution.success, solution.explanation
    assert solution.objective == pytest.approx(reference.objective, rel=1e-9)


def test_the_constant_hamiltonian_may_replace_an_equation():
    form, _ = form_of("brachistochrone")
    values = [
        Shooting(use_integrals=use).solve(form, HAND["brachistochrone"]).objective
        for use in (True, False)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-11)


def test_an_earlier_shooting_is_a_guess():
    form, _ = form_of("bryson_denham")
    first = Shooting().solve(form, HAND["bryson_denham"])
    again = Shooting().solve(form, first)
    assert again.success
    assert again.iterations <= 3
    assert again.objective == pytest.approx(first.objective, rel=1e-12)


def test_failures_are_solutions_that_explain_themselves():
    form, _ = form_of("brachistochrone")
    for guess, word in (
        ({"x": 1.0, "tf": 2}, "costate"),
        ({"x": 1, "y": 1, "v": 1}, "tf"),
        ({"z": 1}, "guess"),
    ):
        solution = Shooting().solve(form, guess)
        assert solution.status is Status.FAILED
        assert word in " ".join(solution.explanation)


def test_a_control_at_an_end_in_the_cost_is_refused():
    ocp = Problem("end control")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.final(u) + ph.integral(x**2))
    solution = Shooting().solve(ocp.finish(), {"x": 1.0})
    assert solution.status is Status.REFUSED
    assert "end of phase" in solution.explanation[0]


def test_hopeless_costates_do_not_raise():
    form, _ = form_of("orbit_raising")
    solution = Shooting(iterations=5, operations=3e8).solve(
        form, {"r": 50.0, "vr": -3.0, "vt": 80.0}
    )
    assert not solution.success
    assert solution.explanation


@pytest.mark.parametrize("operations", [0.0, 3e5, 1.5e6])
def test_shooting_ends_at_its_limit_of_operations(monkeypatch, operations):
    """Wherever the limit cuts it off, and however fast the clock is: the same answer, which says
    how to go on.
    """
    problem = importlib.import_module("problems.classical.vanderpol_bounded").build()
    guess = solve(problem)
    quiet = Shooting(operations=operations).solve(problem.finish(), guess)
    clock = itertools.count(step=1000)
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    loaded = Shooting(operations=operations).solve(problem.finish(), guess)
    assert quiet.status is loaded.status is Status.WORK_LIMIT
    assert quiet.explanation == loaded.explanation
    assert any(
        f"no solution within {operations:.3g} operations" in line for line in loaded.explanation
    )
    assert any("a larger limit continues further" in line for line in loaded.explanation)
    for name in quiet.phases["main"].states if quiet.phases else ():
        np.testing.assert_array_equal(
            *(one.phase("main").states[name].points for one in (quiet, loaded))
        )


def test_a_solve_needs_few_of_the_operations_that_shooting_may_use():
    problem = importlib.import_module("problems.classical.vanderpol_bounded").build()
    assert Shooting(operations=1e8).solve(problem.finish(), solve(problem)).success


def test_declared_sizes_are_those_of_shooting():
    """What was not declared is measured along the start; the answer is the same."""
    ocp = Problem("sizes")
    ph = ocp.phase()
    ph.time(end=1)
    x = ph.state("x", 2, start=[0, 0], end=[1, 2], scale=[3, 7])
    v = ph.state("v", 2, start=0, end=0)
    u = ph.control("u", 2, scale=5)
    gain = ocp.variable("gain", lower=0.5, upper=4, guess=1, scale=20)
    ph.dynamics({x: v, v: gain * u})
    ocp.minimize(ph.integral(casadi.sumsqr(u)) + gain**2)
    form, direct = ocp.finish(), solve(ocp).check()
    start = start_of_solution(
        form, phase_hamiltonians(form), direct, form.parameter_values(), plain=False
    )
    (sizes,) = shooting_scales(form, start)
    np.testing.assert_array_equal(sizes.x[:2], [3, 7])
    np.testing.assert_array_equal(sizes.u, [5, 5])
    np.testing.assert_allclose(sizes.x[2:], [1.5, 3], rtol=0.01)  # the largest speeds
    prepared = shooting_problem(
        form, phase_hamiltonians(form), start, form.parameter_values(), Shooting()
    )
    assert prepared.scale[prepared.system.layout.s] == 20
    # 12 (1 + 4) / gain^2 + gain^2 is least at gain^4 = 60
    assert Shooting().solve(form, direct).check().objective == pytest.approx(
        2 * np.sqrt(60), rel=1e-9
    )
