"""Fixed-step integrators: orders of convergence, values of the lecture, final
time, invalid input.
"""

from __future__ import annotations

import time

import casadi
import numpy as np
import pytest
from scipy.integrate import RK45

from problems.lecture.systems import PENDULUM_AT_10, mass_spring_damper, pendulum
from trajopt.errors import ModelError, SimulationError, UsageError
from trajopt.integrate import (
    Dop853,
    Euler,
    Gill,
    Heun,
    Newmark,
    Rk2,
    Rk4,
    RungeKutta,
    Sundials,
    flow,
    global_error,
    simulate,
)
from trajopt.integrate.integrator_names import integrator as named
from trajopt.integrate.tableaus import DOP853, DOPRI5, EULER, FEHLBERG, GILL, HEUN, RK4, Tableau
from trajopt.system import System, Variable

SWING = simulate(pendulum(), Dop853(1e-13), until=2.0)


def slope(steps: np.ndarray, errors: np.ndarray) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


@pytest.mark.parametrize(
    ("scheme", "order"),
    [(Euler, 1), (Heun, 2), (lambda h: Rk2(h, 0.6), 2), (Rk4, 4), (Gill, 4), (Newmark, 2)],
)
def test_order_by_slope(scheme, order):
    steps = 2.0 / np.array([100, 200, 400, 800])
    errors = np.array(
        [abs(simulate(pendulum(), scheme(h), until=2.0).x[-1] - SWING.x[-1]).max() for h in steps]
    )
    assert slope(steps, errors) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize(("tableau", "order"), [(FEHLBERG, 5), (DOPRI5, 5), (DOP853, 8)])
def test_order_of_the_pairs_with_a_fixed_step(tableau, order):
    steps = 2.0 / np.array([8, 12, 16, 24] if order == 8 else [20, 40, 80, 160])
    errors = np.array(
        [
            abs(simulate(pendulum(), RungeKutta(tableau, h), until=2.0).x[-1] - SWING.x[-1]).max()
            for h in steps
        ]
    )
    assert slope(steps, errors) == pytest.approx(order, abs=0.4)


def test_misprinted_fehlberg_denominator_drops_the_order_to_one():
    row = tuple(value * 2197 / 2179 for value in FEHLBERG.a[3])
    misprint = Tableau(
        "misprint", (*FEHLBERG.a[:3], row, *FEHLBERG.a[4:]), FEHLBERG.b, FEHLBERG.c, 5
    )
    steps = 2.0 / np.array([200, 400, 800, 1600])
    errors = np.array(
        [
            abs(simulate(pendulum(), RungeKutta(misprint, h), until=2.0).x[-1] - SWING.x[-1]).max()
            for h in steps
        ]
    )
    assert slope(steps, errors) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("tableau", [EULER, HEUN, RK4, GILL, FEHLBERG, DOP853])
def test_tableaus_are_consistent(tableau):
    assert sum(tableau.b) == pytest.approx(1, abs=1e-14)
    assert np.dot(tableau.b, tableau.c) == pytest.approx(0.5, abs=1e-14) or tableau.order == 1
    for row, c in zip(tableau.a, tableau.c, strict=True):
        assert sum(row) == pytest.approx(c, abs=1e-13)
    for estimate in tableau.errors:
        assert sum(estimate) == pytest.approx(0, abs=1e-14)


def test_lecture_table_is_euler_with_a_millisecond_sampled_every_tenth():
    printed = [
        1.0,
        0.818567,
        0.670052,
        0.548482,
        0.448969,
        0.367511,
        0.300833,
        0.246252,
        0.201573,
        0.165001,
        0.135065,
    ]
    path = flow(lambda t, x: -2 * x, 0, 1, [1.0], integrator=Euler(1e-3))
    assert path.x[::100, 0] == pytest.approx(printed, abs=5.1e-7)


def test_pendulum_at_ten_seconds():
    for integrator in (Rk4(1e-3), Gill(1e-3)):
        assert simulate(pendulum(), integrator, until=10).x[-1] == pytest.approx(
            PENDULUM_AT_10, abs=5.1e-9
        )


def test_compiled_and_plain_steps_agree():
    """A Python rate takes the same steps as the compiled one."""
    compiled = simulate(pendulum(), Rk4(0.01), until=3.0)
    plain = flow(
        lambda t, x: np.array([x[1], -4.9 * np.sin(x[0])]),
        0,
        3,
        compiled.x[0],
        integrator=Rk4(0.01),
    )
    assert plain.t == pytest.approx(compiled.t, abs=1e-14)
    assert plain.x == pytest.approx(compiled.x, abs=1e-13)


def test_newmark_is_the_trapezoidal_rule_and_conserves_the_energy_of_a_spring():
    system = mass_spring_damper(damping=0.0)
    run = simulate(system, Newmark(0.05), until=100.0)
    assert run.drift["energy"].max < 1e-11
    h = 0.05
    A = np.array([[0.0, 1.0], [-4.0, 0.0]])
    trapezoid = np.linalg.solve(np.eye(2) - h / 2 * A, np.eye(2) + h / 2 * A)
    assert run.x[1] == pytest.approx(trapezoid @ run.x[0], abs=1e-13)


@pytest.mark.parametrize("beta", [0.0, 1 / 12, 1 / 6, 0.25, 0.5])
def test_newmark_has_the_frequency_that_beta_gives_it(beta):
    """A spring released at rest: x_n = cos(n theta) with 1 - cos theta = (w h)^2 / 2 / (1 + beta (w
    h)^2), for gamma = 1/2.
    """
    x, v, t = casadi.SX.sym("x"), casadi.SX.sym("v"), casadi.SX.sym("t")
    spring = System(
        "spring",
        t,
        casadi.vertcat(x, v),
        (Variable("x", 1.0), Variable("v", 0.0)),
        casadi.vertcat(v, -4 * x),
    )
    h, z = 0.05, 4 * 0.05**2
    run = simulate(spring, Newmark(h, beta), until=5.0)
    theta = np.arccos(1 - z / 2 / (1 + beta * z))
    assert run["x"] == pytest.approx(np.cos(theta * np.arange(101)), abs=1e-12)


def test_newmark_damps_by_gamma():
    """For x'' = -w^2 x the determinant of a step is 1 - (gamma - 1/2) z / (1 + beta z), z = (w
    h)^2.
    """
    x, v, t = casadi.SX.sym("x"), casadi.SX.sym("v"), casadi.SX.sym("t")
    h, beta, gamma, z = 0.05, 0.3, 0.6, 4 * 0.05**2
    columns = []
    for start in ((1.0, 0.0), (0.0, 1.0)):
        states = (Variable("x", start[0]), Variable("v", start[1]))
        spring = System("spring", t, casadi.vertcat(x, v), states, casadi.vertcat(v, -4 * x))
        columns.append(simulate(spring, Newmark(h, beta, gamma), until=h).x[-1])
    assert np.linalg.det(columns) == pytest.approx(
        1 - (gamma - 0.5) * z / (1 + beta * z), abs=1e-14
    )


def test_newmark_rejects_systems_that_are_not_second_order():
    x, t = casadi.SX.sym("x"), casadi.SX.sym("t")
    with pytest.raises(ModelError, match="second-order"):
        simulate(System("decay", t, x, (Variable("x", 1.0),), -x), Newmark(0.1), until=1.0)


def test_last_step_ends_at_the_final_time():
    run = simulate(pendulum(), Rk4(0.3), until=1.0)
    assert run.t == pytest.approx([0, 0.3, 0.6, 0.9, 1.0], abs=1e-15)
    assert simulate(pendulum(), Rk4(0.1), until=0.3).t == pytest.approx(
        [0, 0.1, 0.2, 0.3], abs=1e-15
    )
    assert len(simulate(pendulum(), Rk4(1e-3), until=2.5).t) == 2501


def test_a_hundred_seconds_at_a_millisecond_take_seconds_at_most():
    start = time.perf_counter()
    assert len(simulate(pendulum(), Rk4(1e-3), until=100.0).t) == 100_001
    assert time.perf_counter() - start < 3.0


def test_dense_output_is_of_the_order_of_the_scheme():
    times, steps = np.linspace(0, 2, 57), np.array([0.04, 0.02, 0.01])
    errors = [
        abs(simulate(pendulum(), Rk4(step), until=2.0).at(times) - SWING.at(times)).max()
        for step in steps
    ]
    assert slope(steps, np.array(errors)) == pytest.approx(4, abs=0.1)


@pytest.mark.parametrize("step", [0.0, -1e-3, float("nan"), float("inf")])
def test_a_step_must_be_positive(step):
    for scheme in (Euler, Heun, Rk4, Gill, Newmark):
        with pytest.raises(UsageError, match="step must be positive"):
            scheme(step)


def test_nonfinite_rates_are_reported_by_name():
    x, t = casadi.SX.sym("height"), casadi.SX.sym("t")
    broken = System("broken", t, x, (Variable("height", 1.0),), -casadi.sqrt(x) - 0.1)
    for integrator in (Rk4(1e-2), Dop853(1e-8)):
        with pytest.raises(SimulationError, match="height"):
            simulate(broken, integrator, until=10.0)


def test_divergence_is_reported_with_its_time():
    x, t = casadi.SX.sym("x"), casadi.SX.sym("t")
    with pytest.raises(SimulationError, match="diverges at t"):
        simulate(System("stiff", t, x, (Variable("x", 1.0),), -1e6 * x), Euler(1e-2), until=10.0)


def test_schemes_of_order_two_by_name():
    x = {
        name: simulate(pendulum(), named(name, step=0.01), until=1.0).x[-1]
        for name in ("heun", "rk2:0.5", "ralston", "rk2:0.75", "midpoint", "rk2:1")
    }
    np.testing.assert_array_equal(x["heun"], x["rk2:0.5"])
    np.testing.assert_array_equal(x["ralston"], x["rk2:0.75"])
    np.testing.assert_array_equal(x["midpoint"], x["rk2:1"])
    assert abs(x["heun"] - x["midpoint"]).max() > 1e-7
    for wrong, message in (("rk2:two", "rk2:0.75"), ("rk2:0", "above 0"), ("rk2:1.5", "at most 1")):
        with pytest.raises(UsageError, match=message):
            named(wrong)


def test_dormand_prince_takes_the_steps_of_its_pair():
    """SciPy's RK45 is the same pair: at one step both give the same state and error."""
    system = pendulum()
    rate = lambda t, x: np.array([x[1], -4.9 * np.sin(x[0])])  # noqa: E731
    solver = RK45(rate, 0.0, system.start, 1.0, first_step=0.1, rtol=1.0, atol=1.0)
    solver.step()
    ours = simulate(system, RungeKutta(DOPRI5, 0.1), until=0.1).x[-1]
    np.testing.assert_allclose(ours, solver.y, rtol=1e-14)


@pytest.mark.parametrize("name", ["dopri5", "adams"])
def test_further_adaptive_integrators_by_name(name):
    motion = simulate(pendulum(), named(name, tolerance=1e-9), until=10.0)
    np.testing.assert_allclose(motion.x[-1], PENDULUM_AT_10, atol=1e-7)
    with pytest.raises(UsageError, match="multistep"):
        Sundials(formulas="milne")


def test_the_global_error_of_euler_stays_below_its_bound():
    found = global_error(simulate(pendulum(), Euler(1e-3), until=1.0))
    assert 1e-4 < found.error < found.bound < 100 * found.error
    assert found.lipschitz == pytest.approx(4.9, rel=1e-3)  # g/l cos(theta), largest at the bottom
    with pytest.raises(UsageError, match="Euler's scheme"):
        global_error(simulate(pendulum(), Rk4(1e-2), until=0.1))
