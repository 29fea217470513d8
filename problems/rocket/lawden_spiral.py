"""Lawden's spiral: an extremal with intermediate thrust, on which the switching function stays at
zero.

The thrust is found by differentiating the switching function four times. The spiral is an extremal
and no more: the condition of Kelley and Contensou fails on it, so that no minimum of the fuel leads
there (see ``README.md``). ``build`` states an arc of it as a boundary value problem, in polar
coordinates; ``lawden_spiral`` is the whole Pontryagin flow, Cartesian, to simulate.
"""

from dataclasses import dataclass
from math import asin, cos, degrees, exp, sin, sqrt

import casadi
import numpy as np
from casadi import SX, dot, jtimes, norm_2, vertcat
from scipy.optimize import brentq

from problems.rocket.central_field import coasting, gravity, require_positive, rotation, scaling
from problems.rocket.drawings import flow_drawing
from problems.rocket.drawings import spiral_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference, free
from trajopt.errors import ModelError, ProblemError
from trajopt.parameters import settable, setting
from trajopt.system import Invariant, System, Variable

NAMES = ("x", "y", "vx", "vy", "m", "lam_x", "lam_y", "lam_vx", "lam_vy", "lam_m")
STEEPEST = asin(
    sqrt(1 / 3)
)  # of the thrust over the local horizontal; the spiral reaches infinity there
EXPECTED = f"between 0 and {STEEPEST:.4f} rad ({degrees(STEEPEST):.1f} deg)"

REFERENCE = Reference(
    origin="closed form",
    objective=0.783122316054,
    tolerance=1e-8,
    structure="intermediate thrust all along: a singular extremal that is no minimum",
    source="Lawden's formula r = a sin^6 / (1 - 3 sin^2) for the place, and the scaling integral "
    "for the mass",
)


@settable
def build(
    angle=setting(0.3, "rad", "thrust above the local horizontal at the start"),
    radius=setting(2.0, "1", "radius at the end, in initial radii"),
    exhaust=setting(1.0, "1", "exhaust speed"),
) -> Problem:
    """The arc of a spiral from r = 1, where the thrust is ``angle`` (rad) above the horizontal, out
    to ``radius``.

    The size of the primer vector is constant, which leaves its angle psi; its first two derivatives
    are zero, which gives the multipliers of the position, and the fourth, which gives the thrust.
    The velocity at the start and the time are what it takes that H and the third derivative are
    zero too. Nothing is left to choose: the mass left is a result.
    """
    require_positive("lawden-spiral", exhaust=exhaust, radius=radius)
    if not 0 < angle < STEEPEST:
        raise ProblemError("lawden-spiral: 'angle'", got=angle, expected=EXPECTED)
    if not radius > 1:
        raise ProblemError(
            "lawden-spiral: 'radius'", got=radius, expected="more than 1, the radius at the start"
        )
    ocp = Problem("lawden-spiral")
    ph = ocp.phase()
    ph.time(start=0, end=free(0.01, 100.0, guess=radius - 1), unit="")
    r = ph.state("r", start=1, end=radius)
    theta = ph.state("theta", start=0, guess=0, unit="rad")
    vr, vt = ph.state("vr", guess=sin(angle)), ph.state("vt", guess=cos(angle))
    psi = ph.state("psi", start=angle, lower=0, upper=STEEPEST, guess=angle, unit="rad")
    m = ph.state("m", start=1, lower=0.001, guess=1)
    s, c = casadi.sin(psi), casadi.cos(psi)
    k = casadi.sqrt(
        (1 - 3 * s**2) / r**3
    )  # the rate at which the primer vector turns: its size has no second derivative
    H = k * (c * vr - s * vt) - s / r**2
    third = (1 - 3 * s**2) * vr + 2 * s * c * (
        vt - 2 * k * r
    )  # derivative of the primer's size, but for a factor
    a = SX.sym("a")
    x, rates = (
        vertcat(r, vr, vt, psi),
        vertcat(vr, vt**2 / r - 1 / r**2 + a * s, -vr * vt / r + a * c, vt / r - k),
    )
    fourth = jtimes(third, x, rates)
    thrust = -casadi.substitute(fourth, a, 0) / casadi.jacobian(
        fourth, a
    )  # this keeps the switching function at zero
    rates = casadi.substitute(rates, a, thrust)
    ph.dynamics(
        {
            r: rates[0],
            theta: vt / r,
            vr: rates[1],
            vt: rates[2],
            psi: rates[3],
            m: -m * thrust / exhaust,
        }
    )
    ocp.require(ph.initial(H), equals=0, name="H at the start")
    ocp.require(ph.initial(third), equals=0, name="third derivative of the switching function")
    ocp.maximize(ph.final(m))
    ph.invariant("hamiltonian", H, order=1)
    ph.invariant("third derivative", third, order=1)
    ph.invariant("formula", casadi.log(r * (1 - 3 * s**2) / s**6))  # of Lawden's a
    ph.invariant("scaling", s * vr + c * vt - 2 * r * k * c + exhaust * casadi.log(m))
    return ocp


def mass_left(angle: float, radius: float, exhaust: float = 1.0) -> float:
    """The mass at ``radius`` for 1 at r = 1: the angle there by Lawden's formula, the mass by the
    scaling integral.

    Examples
    --------
    >>> round(mass_left(0.3, 2.0), 12)
    0.783122316054
    """

    def size(psi: float) -> float:
        return sin(psi) ** 6 / (1 - 3 * sin(psi) ** 2)

    there = float(
        brentq(lambda psi: size(psi) - radius * size(angle), angle, STEEPEST - 1e-12, xtol=1e-15)
    )
    values = []
    for psi in (angle, there):
        (vr, vt), (lam_r, _, lam_vr, lam_vt) = _start(psi)
        values.append(lam_vr * vr + lam_vt * vt - 2 * lam_r)
    # At another radius the same arc is smaller or larger: lam_v . v and r . lam_r fall with its
    # square root.
    return exp(-(values[1] / sqrt(radius) - values[0]) / exhaust)


@dataclass(frozen=True)
class _Arc:
    """Rates of r, v, m, lam_r, lam_v with the singular thrust, and its factor in Kelley's
    condition.
    """

    rate: SX
    thrust: SX
    kelley: SX


def _arc(r: SX, v: SX, m: SX, lam_r: SX, lam_v: SX, exhaust: float) -> _Arc:
    """The thrust acceleration a that keeps the primer's size, and the factor with which it enters
    the fourth derivative of it.

    The size squared stands for the switching function: on the arc they are proportional. Thrust
    enters its derivatives only from the fourth on, for there the rate of the velocity appears.
    """
    x, a = vertcat(r, v, m, lam_r, lam_v), SX.sym("a")
    pull = -casadi.gradient(dot(lam_v, gravity(r)), r)
    rate = vertcat(v, gravity(r) + a * lam_v / norm_2(lam_v), -m * a / exhaust, pull, -lam_r)
    level = dot(lam_v, lam_v) / 2
    for _ in range(4):
        level = jtimes(level, x, rate)
    kelley = casadi.simplify(casadi.jacobian(level, a))
    thrust = -casadi.substitute(level, a, 0) / kelley
    return _Arc(casadi.substitute(rate, a, thrust), thrust, kelley)


def _start(angle: float) -> tuple[tuple[float, float], tuple[float, float, float, float]]:
    """Velocity, and lam_r and lam_v, at (1, 0) of the spiral outwards; x is the radial and y the
    transverse direction.
    """
    s, c = sin(angle), cos(angle)
    k = sqrt(1 - 3 * s**2)  # the primer turns at this rate: its size has no second derivative
    # H = 0, and no third derivative of the size of the primer vector; both are linear in the
    # velocity.
    A = np.array([[k * c, -k * s], [6 * s**2 - 15 * s**2 + 3, 6 * s * c]])
    vr, vt = np.linalg.solve(A, [s, 12 * k * s * c])
    return (float(vr), float(vt)), (k * c, -k * s, s, c)


@settable
def lawden_spiral(
    angle=setting(0.3, "rad", "thrust above the local horizontal at the start"),
    exhaust=setting(1.0, "1", "exhaust speed", 1e-9),
    mass=setting(1.0, "1", "mass at the start", 1e-9),
    until=setting(0.5, "1", "time of the run", 0),
    inwards=setting(False, "", "backwards in time, against the motion"),
) -> System:
    """The spiral from r = 1, where the thrust is ``angle`` (rad) above the local horizontal; the
    time is not prescribed, H = 0.

    Position and multiplier are known at the start; the velocity follows from H = 0 and the third
    derivative of the switching function. Backwards in time the spiral leads ``inwards``, against
    the motion. The output ``formula`` is a of r = a sin^6 / (1 - 3 sin^2), constant on the spiral;
    ``kelley`` must not be positive on a maximum.
    """
    if not 0 < angle < STEEPEST:
        raise ModelError("lawden-spiral-flow: 'angle'", got=angle, expected=EXPECTED)
    x = vertcat(*(SX.sym(name) for name in NAMES))
    r, v, m, lam_r, lam_v, lam_m = x[:2], x[2:4], x[4], x[5:7], x[7:9], x[9]
    arc = _arc(r, v, m, lam_r, lam_v, exhaust)
    velocity, multipliers = _start(angle)
    if inwards:
        velocity, multipliers = (
            (-velocity[0], -velocity[1]),
            (-multipliers[0], -multipliers[1], *multipliers[2:]),
        )
    start = [1.0, 0.0, *velocity, mass, *multipliers, exhaust / mass]
    steepness = dot(lam_v, r) / (norm_2(lam_v) * norm_2(r))
    return System(
        "lawden-spiral-flow",
        SX.sym("t"),
        x,
        tuple(Variable(name, float(value)) for name, value in zip(NAMES, start, strict=True)),
        vertcat(arc.rate, norm_2(lam_v) * arc.thrust / m),
        invariants=(
            # The engine's part of the Hamiltonian has the switching function as a factor.
            Invariant("hamiltonian", coasting(r, v, lam_r, lam_v), order=1),
            Invariant("switching", norm_2(lam_v) / m - lam_m / exhaust, order=1),
            Invariant("primer", norm_2(lam_v)),
            Invariant("rotation", rotation(r, v, lam_r, lam_v)),
            # On a singular arc the integral in the scaling integral is that of the thrust
            # acceleration: c ln(m0/m).
            Invariant(
                "scaling",
                scaling(r, v, lam_r, lam_v) - norm_2(lam_v) * exhaust * casadi.log(mass / m),
            ),
        ),
        outputs={
            "r": (norm_2(r), ""),
            "thrust": (arc.thrust, ""),
            "steepness": (steepness, ""),
            "formula": (norm_2(r) * (1 - 3 * steepness**2) / steepness**6, ""),
            "kelley": (arc.kelley, ""),
        },
        until=until,
        description="intermediate thrust along Lawden's spiral",
        drawing=flow_drawing(2),
    )
