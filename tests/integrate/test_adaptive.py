"""Adaptive integrators: tolerances, dense output, stiffness, agreement."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
import scipy.integrate

from problems.lecture.systems import LORENZ_AT_10, PENDULUM_AT_10, lorenz, pendulum
from trajopt.errors import ModelError, SimulationError, UsageError
from trajopt.integrate import Dop853, Embedded, Fehlberg, RadauIIA, Rk4, Sundials, flow, simulate
from trajopt.integrate.rates import rate_of_system
from trajopt.integrate.tableaus import RK4
from trajopt.system import System, Variable

TRUTH = simulate(pendulum(), Dop853(1e-13), until=10.0)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
def test_fehlberg_holds_a_requested_error_within_a_factor_of_ten(tolerance):
    run = simulate(pendulum(), Fehlberg(tolerance), until=10.0)
    error = abs(run.x - TRUTH.at(run.t)).max()
    assert tolerance / 10 < error < 10 * tolerance


def test_fehlberg_error_is_proportional_to_the_tolerance_and_steps_to_its_fifth_root():
    tolerances = np.array([1e-5, 1e-7, 1e-9])
    runs = [simulate(pendulum(), Fehlberg(tolerance), until=10.0) for tolerance in tolerances]
    errors = [abs(run.x[-1] - TRUTH.x[-1]).max() for run in runs]
    assert np.polyfit(np.log(tolerances), np.log(errors), 1)[0] == pytest.approx(1, abs=0.1)
    assert np.polyfit(np.log(tolerances), [np.log(len(run.t)) for run in runs], 1)[
        0
    ] == pytest.approx(-1 / 5, abs=0.02)


@pytest.mark.parametrize(
    "integrator", [Fehlberg(1e-10), Dop853(1e-11), RadauIIA(1e-10), Sundials(1e-10)]
)
def test_pendulum_at_ten_seconds_and_between(integrator):
    run = simulate(pendulum(), integrator, until=10.0)
    assert run.x[-1] == pytest.approx(
        PENDULUM_AT_10, abs=5.1e-9 if not isinstance(integrator, Sundials) else 2e-8
    )
    times = np.linspace(0, 10, 1234)
    assert abs(run.at(times) - TRUTH.at(times)).max() < 1e-8


def test_lorenz_at_ten_seconds():
    run = simulate(lorenz(), Dop853(1e-13), until=10.0)
    assert run.x[-1] == pytest.approx(LORENZ_AT_10, abs=1e-7)


def test_lorenz_at_usual_default_tolerances_lands_on_the_other_lobe():
    system = lorenz()
    run = scipy.integrate.solve_ivp(rate_of_system(system).call, (0, 10), system.start)
    assert run.y[0, -1] > 0 > LORENZ_AT_10[0]


@pytest.mark.parametrize("integrator", [RadauIIA(1e-8), Sundials(1e-8)])
def test_stiff_systems_take_few_steps(integrator):
    """x' = -1e5 (x - cos t): explicit schemes need a step of 1e-5."""
    x, t = casadi.SX.sym("x"), casadi.SX.sym("t")
    system = System("stiff", t, x, (Variable("x", 0.0),), -1e5 * (x - casadi.cos(t)))
    run = simulate(system, integrator, until=2.0)
    assert len(run.t) < 1500
    assert run["x"][-1] == pytest.approx(np.cos(2.0), abs=2e-5)


@pytest.mark.parametrize("integrator", [RadauIIA(1e-8), Sundials(1e-8)])
def test_stiff_systems_of_several_states_take_few_steps(integrator):
    """An overdamped spring, of rates 1 and 1000: Newton's method converges only if the Jacobian is
    not transposed.
    """
    x, v, t = casadi.SX.sym("x"), casadi.SX.sym("v"), casadi.SX.sym("t")
    rate = casadi.vertcat(v, -1000 * x - 1001 * v)
    system = System(
        "overdamped", t, casadi.vertcat(x, v), (Variable("x", 1.0), Variable("v", -1.0)), rate
    )
    run = simulate(system, integrator, until=2.0)
    assert len(run.t) < (100 if isinstance(integrator, RadauIIA) else 1500)
    assert run.x[-1] == pytest.approx([np.exp(-2.0), -np.exp(-2.0)], abs=1e-7)


def test_backwards_in_time():
    def rate(t, x):
        return np.array([x[1], -4.9 * np.sin(x[0])])

    for integrator in (Dop853(1e-12), Fehlberg(1e-11), Rk4(1e-3)):
        there = flow(rate, 0, 3, [1.0, 0.0], integrator=integrator)
        back = flow(rate, 3, 0, there(3.0), integrator=integrator)
        assert back(0.0) == pytest.approx([1.0, 0.0], abs=1e-9)
        assert back(1.5) == pytest.approx(there(1.5), abs=1e-9)


@pytest.mark.parametrize("integrator", [Fehlberg, Dop853, RadauIIA, Sundials])
@pytest.mark.parametrize("tolerance", [0.0, -1e-6, float("nan")])
def test_a_tolerance_must_be_positive(integrator, tolerance):
    with pytest.raises(UsageError, match="tolerance must be positive"):
        integrator(tolerance)


def test_invalid_settings_are_rejected():
    with pytest.raises(UsageError, match="safety"):
        Fehlberg(1e-6, safety=1.5)
    with pytest.raises(UsageError, match="no error estimate"):
        Embedded(RK4, 1e-6)
    with pytest.raises(ModelError, match="CasADi function"):
        flow(lambda t, x: -x, 0, 1, [1.0], integrator=Sundials(1e-8))


@pytest.mark.parametrize("integrator", [Fehlberg(1e-8), Dop853(1e-8), RadauIIA(1e-8)])
def test_a_singularity_stops_the_run(integrator):
    x, t = casadi.SX.sym("x"), casadi.SX.sym("t")
    with pytest.raises(SimulationError, match="t = "):
        simulate(
            System("blow-up", t, x, (Variable("x", 1.0),), x**2), integrator, until=2.0
        )  # infinite at t = 1
