"""simulate: results, names, progress, invalid input; the table of integrator names."""

from __future__ import annotations

import numpy as np
import pytest

from problems.lecture import lcr_circuit, mass_spring_damper, pendulum, pendulum_cartesian
from problems.multibody import bouncing_body
from trajopt.errors import UsageError
from trajopt.integrate import (
    INTEGRATORS,
    STABILIZATIONS,
    Baumgarte,
    Dop853,
    MinimumNorm,
    Projection,
    Rk4,
    simulate,
)
from trajopt.integrate.integrator_names import integrator, stabilization


def test_states_and_outputs_by_name():
    run = simulate(pendulum(), Dop853(1e-10), until=1.0)
    assert run["theta"].shape == run.t.shape == run["energy"].shape
    assert run.at(0.5, "omega") == pytest.approx(run.at(0.5)[1])
    assert run.at(np.array([0.1, 0.2])).shape == (2, 2)
    assert run.final == {"theta": run["theta"][-1], "omega": run["omega"][-1]}
    with pytest.raises(UsageError, match="did you mean 'theta'"):
        run["thet"]
    with pytest.raises(UsageError, match="did you mean 'omega'"):
        run.at(0.5, "omga")


def test_drift_is_of_constraints_from_zero_and_of_integrals_from_the_start():
    system = pendulum_cartesian().starting_at({"x": 1.75})
    run = simulate(system, Dop853(1e-11), until=1.0)
    rod = np.hypot(run["x"], run["y"] - 2) - 2
    assert run.drift["rod"].max == pytest.approx(np.abs(rod).max(), rel=1e-12)
    assert run.drift["rod"].end == pytest.approx(abs(rod[-1]), rel=1e-12)
    assert run.drift["energy"].max == pytest.approx(
        np.abs(run["energy"] - run["energy"][0]).max(), abs=1e-16
    )


def test_defaults_and_automatic_gain():
    run = simulate(pendulum_cartesian(), stabilization=Baumgarte())
    assert run.t[-1] == pendulum_cartesian().until
    assert run.integrator == Dop853(1e-10)
    assert run.stabilization.gain > 0
    assert simulate(pendulum(), Rk4(1e-2), stabilization=MinimumNorm()).stabilization.gain > 0


def test_progress_goes_from_zero_to_one():
    seen: list[float] = []
    simulate(pendulum(), Rk4(1e-3), until=10.0, progress=seen.append)
    assert seen == sorted(seen)
    assert len(seen) >= 10
    assert seen[-1] == pytest.approx(1.0)


@pytest.mark.parametrize("until", [0.0, -1.0, float("nan")])
def test_the_duration_must_be_positive(until):
    with pytest.raises(UsageError, match="duration of a run must be positive"):
        simulate(pendulum(), until=until)


def test_oscillators_against_their_closed_forms():
    run = simulate(mass_spring_damper(), Dop853(1e-12), until=10.0)
    decay, rate = 0.25, np.sqrt(4 - 0.25**2)
    exact = np.exp(-decay * run.t) * (np.cos(rate * run.t) + decay / rate * np.sin(rate * run.t))
    assert run["x"] == pytest.approx(exact, abs=1e-10)
    run = simulate(lcr_circuit(), Dop853(1e-12), until=10.0)
    rate = np.sqrt(1 - 0.25**2)
    exact = 1 - np.exp(-decay * run.t) * (
        np.cos(rate * run.t) + decay / rate * np.sin(rate * run.t)
    )
    assert run["q"] == pytest.approx(exact, abs=1e-10)


def test_every_integrator_and_stabilization_has_a_name():
    for name in INTEGRATORS:
        assert simulate(pendulum(), integrator(name), until=0.1).final["theta"] == pytest.approx(
            1.026, abs=2e-3
        )
    for name in STABILIZATIONS:
        assert name.split("-")[0] in stabilization(name).label.lower()
    assert isinstance(stabilization("projection"), Projection)


def test_unknown_names_and_settings_are_rejected():
    with pytest.raises(UsageError, match="did you mean 'rk4'"):
        integrator("rk45")
    with pytest.raises(UsageError, match="fixed step"):
        integrator("rk4", tolerance=1e-6)
    with pytest.raises(UsageError, match="is adaptive"):
        integrator("dop853", step=1e-3)
    with pytest.raises(UsageError, match="step must be positive"):
        integrator("euler", step=0.0)
    with pytest.raises(UsageError, match="did you mean 'baumgarte'"):
        stabilization("baumgarten")
    with pytest.raises(UsageError, match="has no gain"):
        stabilization("projection", 3.0)


def test_refined_keeps_steps_and_jumps():
    """Between steps the dense output; at an event both states; outputs at all times."""
    run = simulate(bouncing_body(), until=1.0)
    fine = run.refined(1000)
    assert len(fine.t) >= 1000
    assert set(run.t) <= set(fine.t)
    jumps = np.flatnonzero(np.diff(fine.t) == 0)
    assert len(jumps) == len(np.flatnonzero(np.diff(run.t) == 0)) > 0
    y, falls = fine["y"][fine.t < run.events[0].time], fine.t[fine.t < run.events[0].time]
    assert y == pytest.approx(1.0 - 9.81 / 2 * falls**2, abs=1e-9)
    assert len(fine["energy"]) == len(fine.t)
    assert run.refined(2) is run


def test_outputs_and_drift_are_computed_at_their_first_use(monkeypatch):
    from trajopt.integrate import simulation

    calls, along = [], simulation._along
    monkeypatch.setattr(simulation, "_along", lambda *given: calls.append(1) or along(*given))
    motion = simulate(pendulum(), until=1.0)
    assert list(motion.drift) == ["energy"]
    assert not calls
    assert motion.drift["energy"].max < 1e-8
    assert motion.drift["energy"].end <= motion.drift["energy"].max
    assert len(calls) == 1
