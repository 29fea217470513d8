"""Bounded thrust with a constant exhaust speed, in the plane and in polar coordinates, with the first integrals of its flow.

mu = 1. The states are r, theta, vr, vt, the mass m and the exhaust speed c. The last is a constant: as a state it has a costate,
and that costate is the integral which the scaling integral of bounded thrust contains (see ``rocket.md``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sqrt
from typing import Any

import casadi
import numpy as np
from casadi import fmax
from scipy.interpolate import CubicSpline

from trajopt.problem import Phase

TILT = 0.3  # of the guessed direction, outwards at first and inwards at the end: straight along is a point of symmetry
Curve = Callable[[float], float]


@dataclass(frozen=True)
class Engine:
    """Full thrust, exhaust speed, and the mass at the start."""

    thrust: float
    exhaust: float
    mass: float = 1.0


@dataclass(frozen=True)
class Spiral:
    """A circle that grows or shrinks smoothly from 1 to ``radius``: what a solve begins from, in normalised time."""

    radius: float
    duration: float

    def r(self, tau: Any) -> Any:
        return 1 + (self.radius - 1) * tau**3 * (10 - 15 * tau + 6 * tau**2)

    def vt(self, tau: float) -> float:
        return float(self.r(tau) ** -0.5)

    @property
    def theta(self) -> Curve:
        tau = np.linspace(0, 1, 400)
        angle = CubicSpline(tau, self.duration * self.r(tau) ** -1.5).antiderivative()
        return lambda place: float(angle(place))

    @property
    def speed(self) -> float:
        """The change of circular speed, which thrust along the orbit has to make up."""
        return float(abs(1 - self.radius**-0.5))


@dataclass(frozen=True)
class Flight:
    """The symbols of a flight."""

    r: Any
    theta: Any
    vr: Any
    vt: Any
    m: Any
    c: Any

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return self.r, self.theta, self.vr, self.vt


def fly(ph: Phase, engine: Engine, spiral: Spiral, throttle: Any) -> Flight:
    """States, direction of thrust and motion from the circle 1 to the circle ``spiral.radius``.

    ``throttle`` is a control or 1.
    """
    dry = np.exp(-spiral.speed / engine.exhaust)
    flight = Flight(
        r=ph.state("r", start=1, end=spiral.radius, guess=spiral.r),
        theta=ph.state("theta", start=0, guess=spiral.theta, unit="rad"),
        vr=ph.state("vr", start=0, end=0, guess=0),
        vt=ph.state("vt", start=1, end=spiral.radius**-0.5, guess=spiral.vt),
        m=ph.state("m", start=engine.mass, guess=lambda tau: engine.mass * dry**tau),
        c=ph.state("c", start=engine.exhaust, guess=engine.exhaust),
    )
    push(ph, flight, engine.thrust * throttle, float(np.sign(spiral.radius - 1) or 1))
    return flight


def push(ph: Phase, flight: Flight, thrust: Any, along: float = 1.0) -> None:
    """The motion under a thrust whose direction is a control, guessed along (1) or against (-1) the motion.

    The direction is a unit vector with a radial and a transverse part: for an angle one would have to guess which way around it
    turns.
    """
    e = ph.control("e", 2, guess=lambda tau: (TILT * cos(pi * tau), along * sqrt(1 - (TILT * cos(pi * tau)) ** 2)))
    ph.path(e[0] ** 2 + e[1] ** 2, equals=1, name="unit direction")
    r, theta, vr, vt = coasting_rates(flight.coordinates)
    ph.dynamics({
        flight.r: r, flight.theta: theta, flight.vr: vr + thrust / flight.m * e[0], flight.vt: vt + thrust / flight.m * e[1],
        flight.m: -thrust / flight.c, flight.c: 0,
    })  # fmt: skip


def coast(ph: Phase, flight: Flight) -> None:
    """The motion without thrust."""
    ph.dynamics(dict(zip(flight.coordinates, coasting_rates(flight.coordinates), strict=True)) | {flight.m: 0, flight.c: 0})


def coasting_rates(coordinates: tuple[Any, ...]) -> tuple[Any, ...]:
    """The rates of r, theta, vr, vt without thrust."""
    r, _, vr, vt = coordinates
    return vr, vt / r, vt**2 / r - 1 / r**2, -vr * vt / r


def switching(primer: tuple[Any, Any], lam_m: Any, m: Any, c: Any) -> Any:
    """|lam_v|/m - lam_m/c: thrust is worth its fuel where this is positive."""
    return (primer[0] ** 2 + primer[1] ** 2) ** 0.5 / m - lam_m / c


def declare_bounded_thrust(ph: Phase, t: Any, flight: Flight, thrust: float, burning: bool | None = None) -> None:
    """The Hamiltonian, the rotation and the scaling integral, with multipliers of the maximum principle.

    ``burning``: whether the engine burns all along the phase; None: it burns where the switching function is positive.
    """
    lam = [-ph.costate(state) for state in (*flight.coordinates, flight.m, flight.c)]
    lam_r, lam_theta, lam_vr, lam_vt, lam_m, lam_c = lam
    S = switching((lam_vr, lam_vt), lam_m, flight.m, flight.c)
    H = casadi.dot(casadi.vertcat(*lam[:4]), casadi.vertcat(*coasting_rates(flight.coordinates)))
    H += thrust * (fmax(S, 0) if burning is None else int(burning) * S)
    similar = lam_vr * flight.vr + lam_vt * flight.vt - 2 * flight.r * lam_r
    ph.invariant("hamiltonian", H)
    ph.invariant("rotation", lam_theta)
    ph.invariant("scaling", similar + 3 * H * t - 4 * lam_m * flight.m + lam_c * flight.c)
