"""A power-limited rocket with variable exhaust along its Pontryagin flow, and the first integrals of that flow."""

from __future__ import annotations

import casadi
import numpy as np
from casadi import SX, dot, sumsqr, vertcat

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
    """The flow started ``off`` in the first coordinate, and the values of the integrals at the unperturbed start."""
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
    names = [f"{prefix}{i}" for prefix in ("r", "v", "lam_r", "lam_v") for i in range(n)] + ["effort"]
    perturbed = np.array(start)
    perturbed[0] += off
    system = System(
        "rocket",
        t,
        x,
        tuple(Variable(name, value) for name, value in zip(names, perturbed, strict=True)),
        rate,
        invariants=(Invariant("hamiltonian", H), Invariant("scaling", scaling), Invariant("turning", turning)),
        until=2 * np.pi,
    )
    return system, {"hamiltonian": C1, "scaling": C2}
