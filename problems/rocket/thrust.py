"""Bounded thrust with a constant exhaust speed, in a plane or in space, with the first integrals of
its flow.

Beside the coordinates the states are the mass m and the exhaust speed c. The last is a constant: as
a state it has a costate, and that costate is the integral which the scaling integral of bounded
thrust contains (see ``README.md``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from math import cos, pi, sqrt
from types import MappingProxyType
from typing import Any

import casadi
import numpy as np
from casadi import SX, dot, fmax, sumsqr, vertcat
from scipy.interpolate import CubicSpline

from problems.rocket.coordinates import Coordinates, OrbitPoint, Polar
from trajopt.statement.problem import Phase

# of the guessed direction, outwards at first and inwards at the end: straight along is a point of
# symmetry
TILT = 0.3
Curve = Callable[[float], np.ndarray]


@dataclass(frozen=True)
class Engine:
    """Full thrust, exhaust speed, and the mass at the start."""

    thrust: Any  # a number, or a parameter of the problem
    exhaust: float
    mass: float = 1.0


@dataclass(frozen=True)
class Spiral:
    """A circle that grows or shrinks smoothly from 1 to ``radius`` while its plane turns: what a
    solve begins from.

    ``duration`` is its time; the plane is tilted about the x axis by ``inclination`` at first and
    ``plane_change`` more at last.
    """

    radius: float
    duration: float
    inclination: float = 0.0
    plane_change: float = 0.0
    coordinates: Coordinates = field(default_factory=Polar)

    @property
    def first(self) -> OrbitPoint:
        return OrbitPoint(1.0, 0.0, self.inclination)

    @property
    def last(self) -> OrbitPoint:
        return OrbitPoint(self.radius, 0.0, self.inclination + self.plane_change)

    def place(self, tau: float) -> OrbitPoint:
        """Where it is, in normalised time."""
        return OrbitPoint(
            float(self._radius(tau)),
            float(self._angle(tau)),
            self.inclination + self.plane_change * _step(tau),
        )

    def motion(self, tau: float) -> np.ndarray:
        """The coordinates there."""
        return self.coordinates.circle(self.place(tau))

    def direction(self, tau: float) -> np.ndarray:
        """A unit vector along or against the motion, and across it so that the plane turns at the
        nodes.
        """
        outwards, place = TILT * cos(pi * tau), self.place(tau)
        ahead, across = (
            np.sign(self.radius - 1) * self._change or 1e-3,
            self.plane_change * pi / 2 * cos(place.angle),
        )
        rest = sqrt(1 - outwards**2) / np.hypot(ahead, across)
        return np.asarray(
            np.array([outwards, rest * ahead, rest * across]) @ self.coordinates.axes(place)
        )

    @property
    def speed(self) -> float:
        """The change of velocity by slow thrust: Edelbaum's formula, which in the plane is the
        change of circular speed.
        """
        last = self.radius**-0.5
        return sqrt(1 - 2 * last * cos(pi / 2 * self.plane_change) + last**2)

    @property
    def _change(self) -> float:
        return abs(1 - self.radius**-0.5)

    def _radius(self, tau: Any) -> Any:
        return 1 + (self.radius - 1) * _step(tau)

    @cached_property
    def _angle(self) -> Any:
        tau = np.linspace(0, 1, 400)
        return CubicSpline(tau, self.duration * self._radius(tau) ** -1.5).antiderivative()


def _step(tau: Any) -> Any:
    """From 0 to 1, at rest at both ends."""
    return tau**3 * (10 - 15 * tau + 6 * tau**2)


@dataclass(frozen=True)
class Flight:
    """The symbols of a flight: those of its coordinates, mass and exhaust speed."""

    coordinates: Coordinates
    motion: tuple[Any, ...]
    m: Any
    c: Any

    @property
    def q(self) -> SX:
        return vertcat(*self.motion)


@dataclass(frozen=True)
class Ends:
    """Values of the coordinates, of mass and of exhaust speed where a phase begins and where it
    ends; None leaves them open.
    """

    first: Sequence[float | None] | None = None
    last: Sequence[float | None] | None = None


def states(
    ph: Phase,
    coordinates: Coordinates,
    ends: Ends,
    guess: Curve,
    units: Mapping[str, str] = MappingProxyType({}),
) -> Flight:
    """Declare the states of a flight; the guess has all of them, in normalised time."""
    names = (*coordinates.states, ("m", 1), ("c", 1))
    places = accumulate((size for _, size in names), initial=0)
    made = []
    for (name, size), (a, b) in zip(names, pairwise(places), strict=True):
        start, end = (_part(values, a, b) for values in (ends.first, ends.last))
        unit, scale = (
            units.get(name, "rad" if name in ("theta", "L") else ""),
            1.0 if name in ("f", "g", "h", "k") else None,
        )
        made.append(
            ph.state(
                name,
                size,
                start=start,
                end=end,
                guess=lambda tau, a=a, b=b: guess(tau)[a:b],
                unit=unit,
                scale=scale,
            )
        )
    return Flight(coordinates, tuple(made[:-2]), *made[-2:])


def _part(values: Sequence[float | None] | None, a: int, b: int) -> Any:
    part = [None] if values is None else list(values[a:b])
    return None if None in part else part[0] if b - a == 1 else part


def fly(ph: Phase, engine: Engine, spiral: Spiral, throttle: Any = 1) -> Flight:
    """States, direction of thrust and motion along a spiral in one phase; ``throttle`` is a control
    or 1.
    """
    dry = np.exp(-spiral.speed / engine.exhaust)
    ends = Ends(
        [*spiral.motion(0.0), engine.mass, engine.exhaust],
        [*spiral.coordinates.arrival(spiral.last), None, None],
    )
    flight = states(
        ph,
        spiral.coordinates,
        ends,
        lambda tau: np.array([*spiral.motion(tau), engine.mass * dry**tau, engine.exhaust]),
    )
    push(ph, flight, engine.thrust * throttle, spiral.direction)
    return flight


def push(ph: Phase, flight: Flight, thrust: Any, guess: Curve) -> None:
    """The motion under a thrust whose direction is a control.

    The direction is a unit vector: for an angle one would have to guess which way around it turns.
    """
    e = ph.control("e", flight.coordinates.steering(flight.q).shape[1], guess=guess)
    ph.path(sumsqr(e), equals=1, name="unit direction")
    _move(ph, flight, thrust, e)


def coast(ph: Phase, flight: Flight) -> None:
    """The motion without thrust."""
    _move(ph, flight, 0, SX.zeros(flight.coordinates.steering(flight.q).shape[1]))


def _move(ph: Phase, flight: Flight, thrust: Any, direction: Any) -> None:
    """The motion under a thrust along a direction in the axes of the coordinates."""
    q, coordinates = flight.q, flight.coordinates
    rates = coordinates.drift(q) + thrust / flight.m * (coordinates.steering(q) @ direction)
    sizes = accumulate((size for _, size in coordinates.states), initial=0)
    parts = [rates[a:b] for a, b in pairwise(sizes)]
    ph.dynamics(
        dict(zip(flight.motion, parts, strict=True)) | {flight.m: -thrust / flight.c, flight.c: 0}
    )


def switching(primer: Sequence[Any], lam_m: Any, m: Any, c: Any) -> Any:
    """|lam_v|/m - lam_m/c: thrust is worth its fuel where this is positive."""
    return sum(component**2 for component in primer) ** 0.5 / m - lam_m / c


def declare_bounded_thrust(
    ph: Phase, t: Any, flight: Flight, thrust: Any, burning: bool | None = None
) -> None:
    """The Hamiltonian, the rotation and the scaling integral, with multipliers of the maximum
    principle.

    ``burning``: whether the engine burns all along the phase; None: it burns where the switching
    function is positive.
    """
    q, coordinates = flight.q, flight.coordinates
    lam, lam_m, lam_c = (
        vertcat(*(-ph.costate(state) for state in flight.motion)),
        -ph.costate(flight.m),
        -ph.costate(flight.c),
    )
    primer = coordinates.steering(q).T @ lam
    S = switching(casadi.vertsplit(primer), lam_m, flight.m, flight.c)
    H = dot(lam, coordinates.drift(q)) + thrust * (
        fmax(S, 0) if burning is None else int(burning) * S
    )
    turned = casadi.vertsplit(coordinates.turns(q).T @ lam)
    ph.invariant("hamiltonian", H)
    for axis, component in zip(
        (" x", " y", " z") if len(turned) == 3 else ("",), turned, strict=True
    ):
        ph.invariant(f"rotation{axis}", component)
    ph.invariant(
        "scaling",
        -dot(lam, coordinates.similar(q)) + 3 * H * t - 4 * lam_m * flight.m + lam_c * flight.c,
    )
