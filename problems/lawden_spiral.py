"""Lawden's spiral: an extremal with intermediate thrust, on which the switching function stays at zero.

The thrust is found by differentiating the switching function four times. The spiral is an extremal and no more: the condition of
Kelley and Contensou fails on it, so that it is shown as a flow, not as the answer to a problem (see ``rocket.md``).
"""

from math import asin, cos, degrees, sin, sqrt

import casadi
import numpy as np
from casadi import SX, dot, jtimes, norm_2, vertcat

from problems.rocket import coasting, gravity, rotation, scaling
from problems.rocket_drawings import flow_drawing
from trajopt.errors import ModelError
from trajopt.system import Invariant, System, Variable

NAMES = ("x", "y", "vx", "vy", "m", "lam_x", "lam_y", "lam_vx", "lam_vy", "lam_m")
STEEPEST = asin(sqrt(1 / 3))  # of the thrust over the local horizontal; the spiral reaches infinity there


def lawden_spiral(angle: float = 0.3, exhaust: float = 1.0, mass: float = 1.0, until: float = 0.5) -> System:
    """The spiral from r = 1, where the thrust is ``angle`` (rad) above the local horizontal; the time is not prescribed, H = 0.

    Position and multiplier are known at the start; the velocity follows from H = 0 and the third derivative of the switching
    function. The output ``formula`` is a of r = a sin^6 / (1 - 3 sin^2), constant on the spiral; ``kelley`` must not be positive
    on a maximum.
    """
    if not 0 < angle < STEEPEST:
        raise ModelError(
            "lawden-spiral: 'angle'", got=angle, expected=f"between 0 and {STEEPEST:.4f} rad ({degrees(STEEPEST):.1f} deg)"
        )
    q, p = (vertcat(*(SX.sym(name) for name in names)) for names in (NAMES[:5], NAMES[5:]))
    r, v, m, lam_r, lam_v, lam_m = q[:2], q[2:4], q[4], p[:2], p[2:4], p[4]
    x, a = vertcat(q, p), SX.sym("a")
    e = lam_v / norm_2(lam_v)
    rate = vertcat(
        v,
        gravity(r) + a * e,
        -m * a / exhaust,
        -casadi.gradient(dot(lam_v, gravity(r)), r),
        -lam_r,
        norm_2(lam_v) * a / m,
    )
    thrust, kelley = _singular_thrust(lam_v, x, rate, a)
    velocity, multipliers = _start(angle)
    start = [1.0, 0.0, *velocity, mass, *multipliers, exhaust / mass]
    H = coasting(r, v, lam_r, lam_v)  # the engine's part has the switching function as a factor
    steepness = dot(lam_v, r) / (norm_2(lam_v) * norm_2(r))
    return System(
        "lawden-spiral",
        SX.sym("t"),
        x,
        tuple(Variable(name, float(value)) for name, value in zip(NAMES, start, strict=True)),
        casadi.substitute(rate, a, thrust),
        invariants=(
            Invariant("hamiltonian", H, order=1),
            Invariant("switching", norm_2(lam_v) / m - lam_m / exhaust, order=1),
            Invariant("primer", norm_2(lam_v)),
            Invariant("rotation", rotation(r, v, lam_r, lam_v)),
            # On a singular arc the integral in the scaling integral is that of the thrust acceleration: c ln(m0/m).
            Invariant("scaling", scaling(r, v, lam_r, lam_v) - norm_2(lam_v) * exhaust * casadi.log(mass / m)),
        ),
        outputs={
            "r": (norm_2(r), ""),
            "thrust": (thrust, ""),
            "steepness": (steepness, ""),
            "formula": (norm_2(r) * (1 - 3 * steepness**2) / steepness**6, ""),
            "kelley": (kelley, ""),
        },
        until=until,
        description="intermediate thrust along Lawden's spiral",
        drawing=flow_drawing(2),
    )


def _singular_thrust(primer: SX, x: SX, rate: SX, a: SX) -> tuple[SX, SX]:
    """The thrust acceleration that keeps the primer's size, and the factor with which it enters the fourth derivative of it.

    The size squared stands for the switching function: on the arc they are proportional. Thrust enters its derivatives only from
    the fourth on, for there the rate of the velocity appears.
    """
    level = dot(primer, primer) / 2
    for _ in range(4):
        level = jtimes(level, x, rate)
    kelley = casadi.simplify(casadi.jacobian(level, a))
    return -casadi.substitute(level, a, 0) / kelley, kelley


def _start(angle: float) -> tuple[tuple[float, float], tuple[float, float, float, float]]:
    """Velocity, and lam_r and lam_v, at (1, 0), where x is the radial and y the transverse direction."""
    s, c = sin(angle), cos(angle)
    k = sqrt(1 - 3 * s**2)  # the primer turns at this rate: its size has no second derivative
    # H = 0, and no third derivative of the size of the primer vector; both are linear in the velocity.
    A = np.array([[-k * c, k * s], [6 * s**2 - 15 * s**2 + 3, 6 * s * c]])
    vr, vt = np.linalg.solve(A, [s, -12 * k * s * c])
    return (float(vr), float(vt)), (-k * c, k * s, s, c)
