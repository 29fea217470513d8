"""The inverse problem of dynamics with dissipation (dissertation on constraint stabilization, 3.1 and appendix 1)."""

from __future__ import annotations

import casadi
from casadi import SX, cos, sin, vertcat

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
) -> System:
    """Forces for which h = q' - w(q), w = (v cos phi, v sin phi, om), are particular integrals, kept by dissipation.

    q'' = dw/dq q' + F, F = -(d + dw/dq^T) h, with a symmetric d: ``"constant"`` diag(d1, d2, d3), or the ``"appendix"``'s, which
    couples the turn to the others by d13 = -(v d1/om) cos phi, d23 = -(v d2/om) sin phi.
    """
    t, q, v = (
        SX.sym("t"),
        vertcat(SX.sym("x"), SX.sym("y"), SX.sym("phi")),
        vertcat(*(SX.sym(f"{n}_rate") for n in ("x", "y", "phi"))),
    )
    phi = q[2]
    w = vertcat(speed * cos(phi), speed * sin(phi), turn)
    d = casadi.diag(SX([d1, d2, d3]))
    if dissipation == "appendix":
        d[0, 2] = d[2, 0] = -speed * d1 / turn * cos(phi)
        d[1, 2] = d[2, 1] = -speed * d2 / turn * sin(phi)
    h = v - w
    slope = casadi.jacobian(w, q)
    return System(
        "inverse-problem",
        t,
        vertcat(q, v),
        (
            Variable("x", 0.0, "m"),
            Variable("y", -1.0, "m"),
            Variable("phi", 0.0, "rad"),
            Variable("x_rate", speed, "m/s"),
            Variable("y_rate", 0.0, "m/s"),
            Variable("phi_rate", turn, "rad/s"),
        ),
        vertcat(v, slope @ v - (d + slope.T) @ h),
        invariants=(Invariant("integrals", h, order=1),),
        until=15.0,
        description="a blade driven round a circle by forces that make the circle attractive",
        drawing=_drawn(q),
    )


def _drawn(q: SX) -> Drawing:
    along = 0.15 * vertcat(cos(q[2]), sin(q[2]))
    return Drawing((Trail(q[:2]), Rod((q[:2] - along, q[:2] + along), 0, 5), Mark(q[:2], 7)))
