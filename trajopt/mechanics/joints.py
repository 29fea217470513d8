"""Joints: the steps from the frame of a link's parent to the frame of the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from trajopt.errors import ModelError
from trajopt.mechanics.lagrange import Coordinate

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class Turn:
    """A rotation about an axis of the moving frame, by a coordinate, a constant or an expression of
    time (rad).
    """

    axis: str | tuple[float, float, float]
    by: Any


@dataclass(frozen=True, eq=False)
class Slide:
    """A shift along an axis of the moving frame, by a coordinate, a constant or an expression of
    time (m).
    """

    axis: str | tuple[float, float, float]
    by: Any


@dataclass(frozen=True, eq=False)
class Level:
    """Reset the orientation to the axes of the ground: the following turns are absolute angles."""


@dataclass(frozen=True, eq=False)
class Placement:
    """A constant shift, then a constant rotation; the columns of ``rotation`` are the new axes."""

    shift: Any = (0.0, 0.0, 0.0)
    rotation: Any = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Mimic:
    """A joint that follows a coordinate: ratio times the coordinate plus offset (gears, fingers).

    >>> Turn("z", by=Mimic(Coordinate("motor"), ratio=0.1)).by.ratio
    0.1
    """

    coordinate: Coordinate
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Quaternion:
    """An orientation as a unit quaternion (w, x, y, z), with the angular velocity in body axes.

    The velocities are not the rates of the coordinates: q' = ``rate``, which keeps the length.

    >>> attitude = Quaternion("attitude")
    >>> attitude.q.shape, attitude.v.shape
    ((4, 1), (3, 1))
    """

    name: str
    start: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    speed: tuple[float, float, float] = (0.0, 0.0, 0.0)
    q: Any = None
    v: Any = None

    def __post_init__(self) -> None:
        if self.q is None:
            object.__setattr__(self, "q", casadi.SX.sym(self.name, 4))
            object.__setattr__(self, "v", casadi.SX.sym(f"{self.name}_spin", 3))

    @property
    def rate(self) -> casadi.SX:
        """The rate of the quaternion, (4,)."""
        # q' = q o (0, omega) / 2, with the quaternion product o.
        w, x, y, z = (self.q[i] for i in range(4))
        a, b, c = (self.v[i] for i in range(3))
        product = (
            -x * a - y * b - z * c,
            w * a + y * c - z * b,
            w * b + z * a - x * c,
            w * c + x * b - y * a,
        )
        return casadi.SX(0.5 * casadi.vertcat(*product))

    @property
    def rotation(self) -> casadi.SX:
        """The rotation matrix (3, 3): columns are the turned axes. It is a rotation for any length
        of the quaternion.
        """
        w, x, y, z = (self.q[i] for i in range(4))
        s = 2.0 / casadi.sumsqr(self.q)
        rows = (
            (1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
            (s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)),
            (s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)),
        )
        return casadi.SX(casadi.vertcat(*[casadi.horzcat(*row) for row in rows]))


@dataclass(frozen=True, eq=False)
class Ball:
    """A rotation in any direction, by a ``Quaternion``."""

    by: Quaternion


@dataclass(frozen=True, eq=False)
class FreeJoint:
    """All six motions: a shift by three coordinates along the axes of the frame, and a ``Ball``.

    >>> [c.name for c in FreeJoint("base").coordinates]
    ['base.x', 'base.y', 'base.z', 'base.quaternion']
    """

    name: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    coordinates: Any = None  # three Coordinates and a Quaternion, made where not given

    def __post_init__(self) -> None:
        if self.coordinates is None:
            shifts = (
                Coordinate(f"{self.name}.{axis}", start, unit="m")
                for axis, start in zip(AXES, self.position, strict=True)
            )
            attitude = Quaternion(f"{self.name}.quaternion", self.orientation)
            object.__setattr__(self, "coordinates", (*shifts, attitude))

    @property
    def steps(self) -> tuple[Slide | Ball, ...]:
        """The joint as slides and a ball."""
        slides = (Slide(axis, by) for axis, by in zip(AXES, self.coordinates[:3], strict=True))
        return (*slides, Ball(self.coordinates[3]))


Step = Turn | Slide | Level | Placement | Ball | FreeJoint


def plain_steps(joint: tuple[Step, ...]) -> tuple[Turn | Slide | Level | Placement | Ball, ...]:
    """Return a joint with its free motions as slides and balls."""
    found: list[Turn | Slide | Level | Placement | Ball] = []
    for step in joint:
        found.extend(step.steps if isinstance(step, FreeJoint) else (step,))
    return tuple(found)


def unit_axis(axis: str | tuple[float, float, float], owner: str) -> np.ndarray:
    """Return an axis as a unit vector, (3,)."""
    vector = np.asarray(
        AXES.get(axis, (0.0, 0.0, 0.0)) if isinstance(axis, str) else axis, dtype=float
    )
    length = float(np.linalg.norm(vector))
    if vector.shape != (3,) or length == 0.0:
        raise ModelError(
            f"'{owner}': invalid axis", got=axis, expected="'x', 'y', 'z' or three numbers"
        )
    return np.asarray(vector / length)


def axis_rotation(axis: np.ndarray, angle: Any) -> casadi.SX:
    """Rodrigues' rotation c E + s [a] + (1 - c) a a^T, without the round-off of c + (1 - c) about
    the axes of the frame.
    """
    a, c, s = np.asarray(axis, float).ravel(), casadi.cos(angle), casadi.sin(angle)
    K = skew(a)
    R = casadi.SX(3, 3)
    for i in range(3):
        for j in range(3):
            along, kept = a[i] * a[j], float(i == j)
            R[i, j] = s * K[i, j] + (1.0 if along == kept == 1.0 else c * kept + (1 - c) * along)
    return R


def skew(r: np.ndarray) -> np.ndarray:
    """Return the matrix [r] of the cross product, [r] a = r x a."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
