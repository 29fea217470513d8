"""First integrals stabilized along the Pontryagin flow of a power-limited rocket with variable
exhaust (Lawden's problem).
"""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from casadi import SX, dot, sumsqr, vertcat

from trajopt.errors import ModelError, SimulationError
from trajopt.integrate import (
    Dop853,
    ExtendedHamiltonian,
    MinimumNorm,
    Simulation,
    deviations,
    simulate,
)
from trajopt.integrate.rates import evaluate
from trajopt.system import Invariant, System, Variable

TRANSFER = {
    "r": (1.0, 0.0),
    "v": (0.0, 1.0),
    "lam_r": (0.0414923502, 0.0002292442),
    "lam_v": (0.0002292442, 0.0514757711),
}
HYPERBOLIC = {
    "r": (1.0, 0.0, 0.0),
    "v": (2.0, 2.0, 20.0),
    "lam_r": (0.0415, 0.0002, 0.01),
    "lam_v": (0.0002, 0.0515, 0.02),
}


def rocket(data: dict[str, tuple[float, ...]], off: float = 0.0) -> tuple[System, dict[str, float]]:
    """The flow with the first coordinate perturbed by ``off``, and the integrals at the unperturbed
    initial state.
    """
    n = len(data["r"])
    t, power = SX.sym("t"), SX.sym("effort")
    r, v, lr, lv = (SX.sym(name, n) for name in data)
    distance = casadi.norm_2(r)
    gravity = -r / distance**3
    x = vertcat(r, v, lr, lv, power)
    H = dot(lr, v) + dot(lv, gravity) + sumsqr(lv) / 2
    rate = vertcat(v, gravity + lv, -casadi.gradient(dot(lv, gravity), r), -lr, sumsqr(lv))
    start = [value for values in data.values() for value in values] + [0.0]
    C1 = float(casadi.Function("H", [x], [H])(start))
    scaling = dot(lv, v) - 2 * dot(r, lr) - 2.5 * power + 3 * C1 * t
    C2 = float(casadi.Function("g", [t, x], [scaling])(0.0, start))
    turning = (
        vertcat(casadi.cross(r, lr) + casadi.cross(v, lv))
        if n == 3
        else r[0] * lr[1] - r[1] * lr[0] + v[0] * lv[1] - v[1] * lv[0]
    )
    names = [f"{prefix}{i}" for prefix in ("r", "v", "lam_r", "lam_v") for i in range(n)] + [
        "effort"
    ]
    perturbed = np.array(start)
    perturbed[0] += off
    system = System(
        "rocket",
        t,
        x,
        tuple(Variable(name, value) for name, value in zip(names, perturbed, strict=True)),
        rate,
        invariants=(
            Invariant("hamiltonian", H),
            Invariant("scaling", scaling),
            Invariant("turning", turning),
        ),
        until=2 * np.pi,
    )
    return system, {"hamiltonian": C1, "scaling": C2}


def levels_along(run: Simulation, only: tuple[str, ...], levels: dict[str, float]) -> np.ndarray:
    system = run.system
    return evaluate(
        casadi.Function("y", [system.time, system.x], [deviations(system, only, levels).y]),
        run.t,
        run.x,
    )


def test_lawden_integrals_are_constant_along_the_exact_flow():
    system, _ = rocket(TRANSFER)
    run = simulate(system, Dop853(1e-12))
    assert max(drift.max for drift in run.drift.values()) < 4e-11
    assert run["effort"][-1] / 2 == pytest.approx(0.0034313426, abs=5.1e-10)
    assert np.hypot(run["r0"][-1], run["r1"][-1]) == pytest.approx(1.5, abs=1e-8)


def test_minimum_norm_restores_lawden_integrals_on_a_bounded_transfer():
    system, levels = rocket(TRANSFER, off=0.01)
    way = MinimumNorm((1.0, 1000.0), ("hamiltonian", "scaling"), levels)
    y = np.linalg.norm(
        levels_along(simulate(system, Dop853(1e-11), stabilization=way), way.only, levels), axis=1
    )
    assert y[0] == pytest.approx(8.3e-4, rel=0.01)
    assert y[-1] == pytest.approx(8.4e-9, rel=0.02)
    assert y.max() <= y[0]


def test_extended_hamiltonian_works_on_a_hyperbolic_flight_and_stops_where_its_bracket_vanishes():
    integrals = ("hamiltonian", "scaling")
    system, levels = rocket(HYPERBOLIC, off=0.01)
    way = ExtendedHamiltonian((1.0, 1000.0), integrals, levels)
    run = simulate(system, Dop853(1e-10), until=3.0, stabilization=way)
    y = levels_along(run, integrals, levels)
    assert y == pytest.approx(y[0] * np.exp(-np.outer(run.t, [1.0, 1000.0])), abs=1e-9)
    bounded, levels = rocket(TRANSFER, off=0.01)
    with pytest.raises(SimulationError, match="bracket of hamiltonian, scaling vanishes"):
        simulate(
            bounded,
            Dop853(1e-10),
            stabilization=ExtendedHamiltonian((1.0, 1000.0), integrals, levels),
        )


def test_an_unstabilized_scaling_integral_drifts_with_the_hamiltonian():
    """dg2/dt = -3 g1 for the deviations, since g2 is written with the level of g1."""
    system, levels = rocket(TRANSFER, off=0.01)
    run = simulate(system, Dop853(1e-12))
    y = levels_along(run, ("hamiltonian", "scaling"), levels)
    assert y[:, 1] == pytest.approx(y[0, 1] - 3 * y[0, 0] * run.t, abs=1e-10)


def test_an_odd_number_of_integrals_has_no_extended_hamiltonian():
    with pytest.raises(ModelError, match="even number"):
        simulate(rocket(TRANSFER)[0], until=1.0, stabilization=ExtendedHamiltonian(1.0))
