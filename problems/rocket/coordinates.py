"""Coordinates of a rocket in a central field: polar in a plane, equinoctial elements or Cartesian
in space.

Each knows how the motion drifts without thrust, how thrust acts, and how a turn of space and the
similarity of Kepler orbits (r ~ k^2, v ~ 1/k, t ~ k^3) move its values. The first integrals of the
Pontryagin flow are the multipliers' products with these two (Noether), so that they are stated
once, for all coordinates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, sin, sqrt, tan
from typing import Protocol

import casadi
import numpy as np
from casadi import SX, cross, dot, norm_2, sumsqr, vertcat

from trajopt.errors import ProblemError


@dataclass(frozen=True)
class OrbitPoint:
    """A place on a circular orbit: its radius, the angle from the x axis, the tilt of the orbit's
    plane about that axis (rad).
    """

    radius: float
    angle: float = 0.0
    tilt: float = 0.0


class Coordinates(Protocol):
    """The contract: q is the column of all states of the motion, without the mass.

    1. ``drift(q)`` are the rates without thrust, ``steering(q)`` those for a unit of thrust
       acceleration along each axis.
    2. ``turns(q)`` has a column for each independent turn of space, ``similar(q)`` is the rate of
       change with ln k.
    3. ``circle(place)`` are the values on a circular orbit; ``arrival(place)`` those that arriving
       on it fixes, None where free; ``conditions(q, place)`` what else arriving on it asks to be
       zero, by name.
    4. ``axes(place)`` are the unit vectors outwards, ahead and along the orbit's normal, in the
       axes of the steering.
    5. ``position(q)`` is the place in space, as a column of two or three.
    """

    mu: float

    @property
    def states(self) -> tuple[tuple[str, int], ...]:
        """Names and sizes."""
        ...

    def drift(self, q: SX) -> SX: ...
    def steering(self, q: SX) -> SX: ...
    def turns(self, q: SX) -> SX: ...
    def similar(self, q: SX) -> SX: ...
    def circle(self, place: OrbitPoint) -> np.ndarray: ...
    def arrival(self, place: OrbitPoint) -> Sequence[float | None]: ...
    def conditions(self, q: SX, place: OrbitPoint) -> dict[str, SX]: ...
    def axes(self, place: OrbitPoint) -> np.ndarray: ...
    def position(self, q: SX) -> SX: ...


@dataclass(frozen=True)
class Polar:
    """r, theta, vr, vt in a plane. The angle winds, so that many turns are a monotonous motion."""

    mu: float = 1.0

    @property
    def states(self) -> tuple[tuple[str, int], ...]:
        return ("r", 1), ("theta", 1), ("vr", 1), ("vt", 1)

    def drift(self, q: SX) -> SX:
        r, _, vr, vt = casadi.vertsplit(q)
        return vertcat(vr, vt / r, vt**2 / r - self.mu / r**2, -vr * vt / r)

    def steering(self, q: SX) -> SX:
        return casadi.DM([[0, 0], [0, 0], [1, 0], [0, 1]])

    def turns(self, q: SX) -> SX:
        return casadi.DM([0, 1, 0, 0])

    def similar(self, q: SX) -> SX:
        r, _, vr, vt = casadi.vertsplit(q)
        return vertcat(2 * r, 0, -vr, -vt)

    def circle(self, place: OrbitPoint) -> np.ndarray:
        return np.array([place.radius, place.angle, 0.0, sqrt(self.mu / place.radius)])

    def arrival(self, place: OrbitPoint) -> Sequence[float | None]:
        return place.radius, None, 0.0, sqrt(self.mu / place.radius)

    def conditions(self, q: SX, place: OrbitPoint) -> dict[str, SX]:
        return {}

    def axes(self, place: OrbitPoint) -> np.ndarray:
        return np.eye(3)[:, :2]

    def position(self, q: SX) -> SX:
        return vertcat(q[0] * casadi.cos(q[1]), q[0] * casadi.sin(q[1]))


@dataclass(frozen=True)
class Equinoctial:
    """p, f, g, h, k and the true longitude L: without thrust all but L rest, and no orbit but the
    exactly reversed is singular.

    Walker, Ireland and Owens (Celestial Mechanics 36, 1985, 409-419). Thrust acts along the radius,
    ahead in the plane, and along the normal.
    """

    mu: float = 1.0

    @property
    def states(self) -> tuple[tuple[str, int], ...]:
        return ("p", 1), ("f", 1), ("g", 1), ("h", 1), ("k", 1), ("L", 1)

    def drift(self, q: SX) -> SX:
        w = _width(q)
        return vertcat(SX.zeros(5), casadi.sqrt(self.mu * q[0]) * (w / q[0]) ** 2)

    def steering(self, q: SX) -> SX:
        p, f, g, h, k, L = casadi.vertsplit(q)
        w, c, s = _width(q), casadi.cos(L), casadi.sin(L)
        swing, half = (h * s - k * c) / w, (1 + h**2 + k**2) / (2 * w)
        along_radius = vertcat(0, s, -c, 0, 0, 0)
        ahead = vertcat(2 * p / w, ((w + 1) * c + f) / w, ((w + 1) * s + g) / w, 0, 0, 0)
        along_normal = vertcat(0, -swing * g, swing * f, half * c, half * s, swing)
        return casadi.sqrt(p / self.mu) * casadi.horzcat(along_radius, ahead, along_normal)

    def turns(self, q: SX) -> SX:
        """About the axes of space.

        A turn about the orbit's own axes moves few elements: about the normal f, g and L; about the
        two in the plane h or k, and f, g and L as the origin of L moves along.
        """
        _, f, g, h, k, _ = casadi.vertsplit(q)
        half = (1 + h**2 + k**2) / 2
        around = vertcat(0, -g, f, 0, 0, 1)
        own = casadi.horzcat(
            vertcat(0, 0, 0, half, 0, 0) - k * around,
            vertcat(0, 0, 0, 0, half, 0) + h * around,
            around,
        )
        return own @ _frame(q).T

    def similar(self, q: SX) -> SX:
        return vertcat(2 * q[0], SX.zeros(5))

    def circle(self, place: OrbitPoint) -> np.ndarray:
        return np.array([place.radius, 0.0, 0.0, tan(place.tilt / 2), 0.0, place.angle])

    def arrival(self, place: OrbitPoint) -> Sequence[float | None]:
        return place.radius, 0.0, 0.0, tan(place.tilt / 2), 0.0, None

    def conditions(self, q: SX, place: OrbitPoint) -> dict[str, SX]:
        return {}

    def axes(self, place: OrbitPoint) -> np.ndarray:
        return np.eye(3)

    def position(self, q: SX) -> SX:
        return q[0] / _width(q) * _frame(q) @ vertcat(casadi.cos(q[5]), casadi.sin(q[5]), 0)

    def velocity(self, q: SX) -> SX:
        f, g, L = q[1], q[2], q[5]
        return (
            casadi.sqrt(self.mu / q[0])
            * _frame(q)
            @ vertcat(-(g + casadi.sin(L)), f + casadi.cos(L), 0)
        )


@dataclass(frozen=True)
class Cartesian:
    """Position and velocity in space; thrust along the axes of space.

    Arriving on an orbit is a condition on both together.
    """

    mu: float = 1.0

    @property
    def states(self) -> tuple[tuple[str, int], ...]:
        return ("r", 3), ("v", 3)

    def drift(self, q: SX) -> SX:
        r, v = q[:3], q[3:]
        return vertcat(v, -self.mu * r / norm_2(r) ** 3)

    def steering(self, q: SX) -> SX:
        return casadi.DM(np.vstack([np.zeros((3, 3)), np.eye(3)]))

    def turns(self, q: SX) -> SX:
        axes = [SX(casadi.DM(axis)) for axis in np.eye(3)]
        return casadi.horzcat(*(vertcat(cross(axis, q[:3]), cross(axis, q[3:])) for axis in axes))

    def similar(self, q: SX) -> SX:
        return vertcat(2 * q[:3], -q[3:])

    def circle(self, place: OrbitPoint) -> np.ndarray:
        outwards, ahead, _ = self.axes(place)
        return np.concatenate([place.radius * outwards, sqrt(self.mu / place.radius) * ahead])

    def arrival(self, place: OrbitPoint) -> Sequence[float | None]:
        return (None,) * 6

    def conditions(self, q: SX, place: OrbitPoint) -> dict[str, SX]:
        r, v = q[:3] / place.radius, q[3:] / sqrt(self.mu / place.radius)
        normal = casadi.DM(self.axes(place)[2])
        return {
            "final radius": sumsqr(r) - 1,
            "final speed": sumsqr(v) - 1,
            "final velocity across the radius": dot(r, v),
            "final plane": vertcat(dot(normal, r), dot(normal, v)),
        }

    def axes(self, place: OrbitPoint) -> np.ndarray:
        c, s = cos(place.angle), sin(place.angle)
        across = np.array([0.0, cos(place.tilt), sin(place.tilt)])
        x = np.array([1.0, 0.0, 0.0])
        return np.array([c * x + s * across, c * across - s * x, np.cross(x, across)])

    def position(self, q: SX) -> SX:
        return q[:3]


CHOICES: dict[str, Callable[[], Coordinates]] = {
    "polar": Polar,
    "equinoctial": Equinoctial,
    "cartesian": Cartesian,
}


def chosen(problem: str, name: str, inclination: float, plane_change: float) -> Coordinates:
    """Coordinates by name. "auto": polar in the plane, equinoctial elements where the orbit's plane
    turns.

    A plane that is merely tilted leaves h and k at rest and their costates at zero, nothing that an
    error could be measured by: there "auto" is Cartesian.
    """
    spatial = bool(inclination or plane_change)
    known = [choice for choice in CHOICES if choice != "polar" or not spatial]
    if name == "auto":
        name = "equinoctial" if plane_change else "cartesian" if inclination else "polar"
    if name not in known:
        raise ProblemError(
            f"{problem}: 'coordinates'", got=name, expected=", ".join(["auto", *known])
        )
    return CHOICES[name]()


def _width(q: SX) -> SX:
    """p over the radius."""
    return 1 + q[1] * casadi.cos(q[5]) + q[2] * casadi.sin(q[5])


def _frame(q: SX) -> SX:
    """Unit vectors towards L = 0, towards L = a quarter turn, and along the orbit's normal, as
    columns.
    """
    h, k = q[3], q[4]
    rows = [
        [1 + h**2 - k**2, 2 * h * k, 2 * k],
        [2 * h * k, 1 - h**2 + k**2, -2 * h],
        [-2 * k, 2 * h, 1 - h**2 - k**2],
    ]
    return casadi.vertcat(*(casadi.horzcat(*row) for row in rows)) / (1 + h**2 + k**2)
