"""The inverse problem of dynamics with dissipation (dissertation on constraint stabilization, 3.1
and appendix 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np
from casadi import SX, cos, sin, vertcat

from trajopt.catalogue import builder
from trajopt.errors import UsageError
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Mark, Rod, Trail
from trajopt.system import Invariant, System, Variable

# Largest norm of the deviation over 15 s of Euler steps of 1 ms.
LARGEST_DEVIATION = {"appendix": 3.93066e-4, "constant": 9.82366e-5}


@settable
def inverse_problem(
    speed=setting(1.0, "m/s", "v of the circle"),
    turn=setting(1.0, "rad/s", "omega of the circle"),
    dissipation=setting("appendix", "", "matrix d", choices=("appendix", "constant")),
    d1=setting(10.0, "1/s", "d11", 0),
    d2=setting(5.0, "1/s", "d22", 0),
    d3=setting(11.0, "1/s", "d33", 0),
    start=setting((0.0, -1.0, 0.0), "", "x (m), y (m) and phi (rad) at the start"),
) -> System:
    """Forces for which h = q' - w(q), w = (v cos phi, v sin phi, om), are particular integrals,
    kept by dissipation.

    The symmetric d is constant, diag(d1, d2, d3), or the ``"appendix"``'s, which couples the turn
    to the others by d13 = -(v d1/om) cos phi, d23 = -(v d2/om) sin phi.
    """
    q = vertcat(SX.sym("x"), SX.sym("y"), SX.sym("phi"))
    phi = q[2]
    d = casadi.diag(SX([d1, d2, d3]))
    if dissipation == "appendix":
        d[0, 2] = d[2, 0] = -speed * d1 / turn * cos(phi)
        d[1, 2] = d[2, 1] = -speed * d2 / turn * sin(phi)
    return attracted(
        "inverse-problem",
        q,
        vertcat(speed * cos(phi), speed * sin(phi), turn),
        d,
        start,
        units=("m", "m", "rad"),
        until=15.0,
        description="a blade driven round a circle by forces that make the circle attractive",
        drawing=_drawn(q),
    )


@settable
def inverse_field(
    field=setting(None, "", "w(q) as ./mine.py:w; none: a limit circle", optional=True),
    start=setting(None, "", "q at the start, as a list; none: (2, 0)", optional=True),
    rate=setting(None, "", "q' at the start, as a list; none: w(q)", optional=True),
    d=setting(5.0, "1/s", "dissipation, d times the identity", 0),
    until=setting(10.0, "s", "duration", 1e-3),
) -> System:
    """Forces for which q' = w(q) of the user are particular integrals, kept by dissipation.

    Without a field: w = (q1 - q2 - q1 r^2, q1 + q2 - q2 r^2), whose motions tend to the circle r =
    1 at the rate 1 rad/s.
    """
    start = (2.0, 0.0) if start is None else start
    q = vertcat(*(SX.sym(f"q{k + 1}") for k in range(len(start))))
    w = _limit_circle if field is None else builder(field) if isinstance(field, str) else field
    try:
        rates = w(q)
    except RuntimeError as error:  # CasADi's, of a coordinate that is not there
        raise UsageError(
            "the field w(q) cannot be evaluated",
            got=f"{q.numel()} coordinates: {str(error).splitlines()[-1]}",
            hint="start= has a value for each coordinate: start=1,0,1",
        ) from error
    return attracted(
        "inverse-field",
        q,
        vertcat(*rates) if isinstance(rates, (list, tuple)) else SX(rates),
        d * SX.eye(q.numel()),
        start,
        rate,
        until=until,
        description="forces that make the motions of q' = w(q) attractive",
        drawing=Drawing((Trail(q[:2]), Mark(q[:2], 9))) if q.numel() > 1 else None,
    )


def _limit_circle(q: SX) -> SX:
    inward = 1 - casadi.sumsqr(q)
    return vertcat(inward * q[0] - q[1], inward * q[1] + q[0])


def attracted(
    name: str,
    q: SX,
    w: SX,
    d: SX,
    start: Sequence[float],
    rates: Sequence[float] | None = None,
    units: Sequence[str] | None = None,
    **details: Any,
) -> System:
    """The equations q'' = dw/dq q' + F with F = -(d + dw/dq^T) h, h = q' - w(q) (3.1.4).

    With a symmetric d(q) they are Lagrange's equations of L = |h|^2/2 with the dissipation function
    D = h . d h/2: d/dt dL/dq' - dL/dq + dD/dq' = 0. ``rates`` are those of the start, by default w.
    """
    if w.numel() != q.numel():
        raise UsageError(
            f"'{name}': w(q) has not one value for each coordinate",
            got=f"{w.numel()} values, {q.numel()} coordinates",
        )
    v = vertcat(*(SX.sym(f"{symbol}_rate") for symbol in casadi.vertsplit(q)))
    h = v - w
    slope = casadi.jacobian(w, q)
    begin = np.array(casadi.Function("w", [q], [w])(start)).ravel() if rates is None else rates
    names = [str(symbol) for symbol in casadi.vertsplit(vertcat(q, v))]
    unit = [*units, *(f"{u}/s" for u in units)] if units else [""] * len(names)
    values = [*start, *begin]
    return System(
        name,
        SX.sym("t"),
        vertcat(q, v),
        tuple(Variable(n, float(x), u) for n, x, u in zip(names, values, unit, strict=True)),
        vertcat(v, slope @ v - (d + slope.T) @ h),
        invariants=(Invariant("integrals", h, order=1),),
        outputs={
            "lagrangian": (casadi.sumsqr(h) / 2, ""),
            "dissipation": (casadi.dot(h, d @ h) / 2, ""),
        },
        **details,
    )


def _drawn(q: SX) -> Drawing:
    along = 0.15 * vertcat(cos(q[2]), sin(q[2]))
    return Drawing((Trail(q[:2]), Rod((q[:2] - along, q[:2] + along), 0, 5), Mark(q[:2], 7)))
