"""Kinematic analysis: positions, velocities and accelerations of a fully driven mechanism, by
Newton-Raphson.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.errors import ModelError
from trajopt.mechanics.constraints import Vector, dependences, newton
from trajopt.mechanics.lagrange import Mechanism


@dataclass(frozen=True, eq=False)
class Kinematics:
    """The motion determined by the constraints, at given times: rows are times, columns
    coordinates.
    """

    t: Vector
    q: Vector
    v: Vector
    a: Vector


def kinematics(mechanism: Mechanism, times: Sequence[float]) -> Kinematics:
    """Compute positions, velocities and accelerations of a mechanism with as many position
    conditions as coordinates.

    Newton's method starts from the extrapolated previous time, so that the motion stays on one
    branch.

    >>> import casadi
    >>> from trajopt.mechanics.lagrange import Coordinate
    >>> from trajopt.mechanics.constraints import Holonomic
    >>> x, t = Coordinate("x"), casadi.SX.sym("t")
    >>> driven = Mechanism("driven", (x,), x.v**2 / 2, constraints=(Holonomic("path", x.q - t**2),),
    ...     time=t)
    >>> found = kinematics(driven, [0.0, 3.0])
    >>> found.q[1], found.v[1], found.a[1]
    (array([9.]), array([6.]), array([2.]))
    """
    n, names = len(mechanism.coordinates), [c.name for c in mechanism.holonomic]
    if mechanism.nonholonomic or len(names) != n:
        raise ModelError(
            f"'{mechanism.name}' is not fully driven",
            got=f"{len(names)} position conditions",
            expected=f"{n}, one for each coordinate",
            hint="add Drive(...) elements, or use simulate(mechanism.system())",
        )
    h = mechanism.function(mechanism.equations.position_residual)
    matrix, offset = (
        mechanism.function(mechanism.equations.matrix),
        mechanism.function(mechanism.equations.offset),
    )
    drift = mechanism.function(mechanism.equations.drift)
    q, at_rest = mechanism.start[0], np.zeros(n)
    v, a, before = np.zeros(n), np.zeros(n), None
    found = []
    for t in times:

        def arguments(x: Vector, rate: Vector = at_rest, now: float = t) -> tuple[object, ...]:
            return mechanism.arguments(x, rate, t=now)

        step = 0.0 if before is None else t - before
        guess = q + step * v + 0.5 * step**2 * a
        q = newton(
            lambda x: np.array(h(*arguments(x))).ravel(),
            lambda x: np.array(matrix(*arguments(x))),
            guess,
            names,
        )
        G, b = np.array(matrix(*arguments(q))), np.array(offset(*arguments(q)))
        stuck = dependences(G, names)
        if stuck:
            raise ModelError(
                f"'{mechanism.name}' is in a singular position at t = {t:g}",
                got="; ".join(map(str, stuck)),
                hint="drive another coordinate, or avoid the dead centre",
            )
        v = np.linalg.solve(G, -b.ravel())
        a = np.linalg.solve(G, -np.array(drift(*arguments(q, v))).ravel())
        before = t
        found.append((q, v, a))
    columns = [np.array([row[k] for row in found]) for k in range(3)]
    return Kinematics(np.asarray(times, float), *columns)
