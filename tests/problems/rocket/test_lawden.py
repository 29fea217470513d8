"""Lawden's transfer by both methods, its first integrals, and the perturbed costate flow with its
stabilizations.
"""

from math import cos, pi, sin

import casadi
import numpy as np
import pytest

from problems.rocket.lawden_cauchy import GAINS, NAMES, _flow, disturbances, lawden_cauchy
from problems.rocket.lawden_transfer import REFERENCE, build
from trajopt import solve
from trajopt.errors import ProblemError, SimulationError, UsageError
from trajopt.indirect.shooting import Shooting
from trajopt.integrate import Dop853, ExtendedHamiltonian, MinimumNorm, simulate

LAM_R, LAM_V = np.array([0.0414923502, 0.0002292442]), np.array([0.0002292442, 0.0514757711])


def integrals_along(form, solution, samples=101):
    """Every declared invariant at times along a solution: name -> (samples, rows)."""
    phase, found = form.phases[0], solution.phases["main"]
    t = np.linspace(found.t0, found.tf, samples)
    x, u, costate = (
        np.vstack([np.reshape(curves[q.name](t), (samples, q.size)).T for q in quantities])
        for quantities, curves in (
            (phase.states, found.states),
            (phase.controls, found.controls),
            (phase.states, found.costates),
        )
    )
    symbols = [phase.t, phase.x, phase.u, phase.costate]
    return {
        i.name: np.asarray(
            casadi.Function("g", symbols, [casadi.densify(i.expression)])(t[None, :], x, u, costate)
        ).T
        for i in phase.invariants
    }


@pytest.fixture(scope="module")
def both_sides():
    problem = build()
    direct = solve(problem, tolerance=1e-9).check()
    return problem.finish(), direct, solve(problem, Shooting(), guess=direct).check()


def test_the_reference_transfer_by_both_methods(both_sides):
    _, direct, indirect = both_sides
    for solution in (direct, indirect):
        assert solution.objective == pytest.approx(0.0034313426, abs=5.1e-11)
        assert -solution.costate("r")(0.0) == pytest.approx(LAM_R, abs=1e-9)
        assert -solution.costate("v")(0.0) == pytest.approx(LAM_V, abs=1e-9)
    assert indirect.objective == pytest.approx(REFERENCE.objective, rel=1e-11)


def test_the_thrust_is_the_primer_vector(both_sides):
    _, _, solution = both_sides
    t = np.linspace(0, 2 * pi, 50)
    assert solution["u"](t) == pytest.approx(-solution.costate("v")(t), abs=1e-11)


def test_all_declared_integrals_are_constant_along_the_shooting_solution(both_sides):
    form, _, solution = both_sides
    values = integrals_along(form, solution)
    assert set(values) == {"g1", "g2", "rotation", "b"}
    for value in values.values():
        assert value == pytest.approx(np.broadcast_to(value[0], value.shape), abs=1e-10)
    # The place of arrival is free, so that turning the orbit costs nothing.
    assert values["rotation"] == pytest.approx(0, abs=1e-10)


def test_an_inclined_plane_turns_the_costates_with_it():
    tilt = 0.2
    solution = solve(build(inclination=tilt), tolerance=1e-9).check()
    turned = np.array([[1, 0], [0, cos(tilt)], [0, sin(tilt)]])
    assert solution.objective == pytest.approx(0.0034313426, abs=5.1e-11)
    assert -solution.costate("r")(0.0) == pytest.approx(turned @ LAM_R, abs=1e-9)
    assert -solution.costate("v")(0.0) == pytest.approx(turned @ LAM_V, abs=1e-9)


def test_a_plane_change_costs_and_keeps_the_vector_integral():
    problem = build(plane_change=0.2)
    direct = solve(problem, tolerance=1e-8).check()
    solution = solve(problem, Shooting(), guess=direct).check()
    assert solution.objective == pytest.approx(direct.objective, rel=1e-8)
    assert solution.objective > 2 * REFERENCE.objective
    values = integrals_along(problem.finish(), solution)
    assert max(np.ptp(value, axis=0).max() for value in values.values()) < 1e-10
    vector = np.array([values[f"rotation {axis}"][0, 0] for axis in "xyz"])
    # Only turns about the normal of the final orbit are free.
    normal = np.array([0, -sin(0.2), cos(0.2)])
    assert np.linalg.norm(vector) > 1e-3
    assert vector @ normal == pytest.approx(0, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("inclination", [0.0, 0.2])
def test_transfer_times_from_4_to_20_need_no_options(inclination):
    costs = []
    for duration in (4, 5, 8, 10, 12, 14, 17, 20):
        problem = build(duration=duration, inclination=inclination)
        direct = solve(problem).check()
        exact = solve(problem, Shooting(), guess=direct).check()
        assert direct.objective == pytest.approx(exact.objective, rel=1e-6)
        costs.append(exact.objective)
    assert np.all(np.diff(costs) < 0), (
        "more time can be used up on the final orbit, and thrust for less"
    )


def test_mass_and_power_do_not_change_the_motion():
    solution = solve(build(power=0.02, mass=3.0), tolerance=1e-9).check()
    assert solution.objective == pytest.approx(REFERENCE.objective, rel=1e-8)
    assert 0.02 * (1 / solution["m"](2 * pi) - 1 / 3) == pytest.approx(solution.objective, rel=1e-9)
    assert -solution.costate("v")(0.0) == pytest.approx(LAM_V, abs=1e-9)


def test_invalid_arguments_are_named():
    with pytest.raises(ProblemError, match="duration"):
        build(duration=-1.0)
    with pytest.raises(UsageError, match="invalid choice"):
        lawden_cauchy(data="ellipse")


def test_the_flow_from_the_reference_costates_reaches_the_circle_and_keeps_every_integral():
    run = simulate(lawden_cauchy(0.0, data="transfer", integrals="all"), Dop853(1e-13))
    assert max(drift.max for drift in run.drift.values()) < 4e-11
    assert run["effort"][-1] / 2 == pytest.approx(0.0034313426, abs=1e-10)
    assert np.hypot(run["x"][-1], run["y"][-1]) == pytest.approx(1.5, abs=1e-8)
    assert 500 * (1 / run["m"][-1] - 1 / 500) == pytest.approx(run["effort"][-1] / 2, rel=1e-9)


def test_the_bracket_of_the_integrals_is_what_the_page_says():
    flow = _flow(500.0)
    n = 7
    symplectic = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    gradients = casadi.Function(
        "gradients",
        [flow.x],
        [casadi.jacobian(casadi.vertcat(flow.constants["g1"], flow.scaling), flow.x)[:, : 2 * n]],
    )
    generator = np.random.default_rng(1)
    for _ in range(5):
        x = generator.uniform(0.5, 1.5, len(NAMES))
        g1, g2 = np.asarray(gradients(x))
        assert g1 @ symplectic @ g2 == pytest.approx(
            float(casadi.Function("b", [flow.x], [flow.bracket])(x)), rel=1e-9
        )


def test_without_stabilization_g2_drifts_with_the_deviation_of_g1():
    run = simulate(lawden_cauchy(0.01, data="transfer"), Dop853(1e-12))
    first, last = run.x[0], run.x[-1]
    y = run.system.function(casadi.vertcat(*(i.expression for i in run.system.invariants)))
    y0, y1 = np.asarray(y(0.0, first, [])).ravel(), np.asarray(y(run.t[-1], last, [])).ravel()
    assert y1[0] == pytest.approx(y0[0], abs=1e-12)
    assert y1[1] == pytest.approx(y0[1] - 3 * y0[0] * run.t[-1], abs=1e-11)


def test_the_documents_experiment_by_both_corrections():
    """Deviations e^(-t) and e^(-1000 t), by the law, for every perturbation and both corrections
    (figure 18).
    """
    for way in (MinimumNorm(GAINS), ExtendedHamiltonian(GAINS)):
        for size, (t, norm) in disturbances((0.001, 0.01), way, Dop853(1e-11)).items():
            assert norm[0] == pytest.approx(0.083 * size, rel=0.01)
            late = t > 0.05
            assert norm[late] == pytest.approx(norm[-1] * np.exp(t[-1] - t[late]), rel=1e-3)
            assert norm[-1] < 3e-4 * norm[0]


def test_minimum_norm_returns_to_the_levels_of_a_bounded_transfer():
    ((_, norm),) = disturbances(
        (0.01,), MinimumNorm(GAINS), Dop853(1e-11), data="transfer"
    ).values()
    assert norm[0] == pytest.approx(8.3e-4, rel=0.01)
    assert norm[-1] == pytest.approx(8.4e-9, rel=0.01)


def test_the_extended_hamiltonian_stops_where_its_bracket_vanishes():
    with pytest.raises(SimulationError, match="bracket of g1, g2 vanishes"):
        disturbances((0.01,), ExtendedHamiltonian(GAINS), data="transfer")


def test_stabilization_restores_the_levels_and_not_the_motion():
    truth = simulate(lawden_cauchy(0.0, data="transfer"), Dop853(1e-12))
    back = simulate(
        lawden_cauchy(0.01, data="transfer"), Dop853(1e-11), stabilization=MinimumNorm(5.0)
    )
    assert back["deviation"][-1] < 1e-12
    assert np.linalg.norm(back.x[-1, :3] - truth.x[-1, :3]) > 1e-3
