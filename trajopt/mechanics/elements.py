"""Elements between planar bodies: joints, springs, forces, torques."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi

from trajopt.errors import ModelError
from trajopt.mechanics.bodies import (
    GROUND,
    Body,
    BodySet,
    Effects,
    Place,
    Point,
    generalized_forces,
    rotation,
)
from trajopt.mechanics.constraints import Holonomic

# Joints
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Revolute:
    """A revolute joint: a point of one body coincides with a point of another, or of the ground,
    fixed or moving.
    """

    name: str
    first: str
    second: str
    on_first: Point = (0.0, 0.0)
    on_second: Point = (0.0, 0.0)

    def effects(self, scene: BodySet) -> Effects:
        return Effects(_pin(self.name, *_ends(scene, self)))


@dataclass(frozen=True, eq=False)
class Fixed:
    """A rigid joint: a revolute joint with a fixed relative angle."""

    name: str
    first: str
    second: str
    on_first: Point = (0.0, 0.0)
    on_second: Point = (0.0, 0.0)
    angle: float = 0.0

    def effects(self, scene: BodySet) -> Effects:
        a, b = _ends(scene, self)
        return Effects((*_pin(self.name, a, b), _angle(self.name, a, b, self.angle)))


@dataclass(frozen=True, eq=False)
class Prismatic:
    """A prismatic joint: a point of the second body moves on a line of the first body, at a
    constant relative angle.

    The angle is held by its difference, or with ``by_vectors`` by the scalar product of an axis of
    one body and a normal of the other, which angles that differ by half turns satisfy too.
    """

    name: str
    first: str
    second: str
    axis: tuple[float, float] = (1.0, 0.0)  # in the first body's axes
    on_first: Point = (0.0, 0.0)
    on_second: Point = (0.0, 0.0)
    angle: float = 0.0
    by_vectors: bool = False

    def effects(self, scene: BodySet) -> Effects:
        a, b = _ends(scene, self)
        along = rotation(a.angle) @ casadi.SX(casadi.DM(_direction(self.axis, self.name)))
        gap = b.position - a.position
        across = along[0] * gap[1] - along[1] * gap[0]
        held = _angle(self.name, a, b, self.angle)
        if self.by_vectors:
            held = Holonomic(held.name, casadi.sin(held.expression))
        return Effects((Holonomic(f"{self.name}.across", across, "m"), held))


@dataclass(frozen=True, eq=False)
class Drive:
    """A coordinate of a body (0: x, 1: y, 2: theta) that follows a given function of time."""

    name: str
    body: str
    path: Callable[[casadi.SX], Any]
    which: int = 2

    def effects(self, scene: BodySet) -> Effects:
        coordinate = _moving(scene, self.body, self.name).coordinates[self.which]
        return Effects(
            (
                Holonomic(
                    self.name, coordinate.q - casadi.SX(self.path(scene.time)), coordinate.unit
                ),
            )
        )


@dataclass(frozen=True, eq=False)
class Gear:
    """Two gears on fixed axles that mesh: r1 theta1 + r2 theta2 is constant; its reaction is the
    force of the teeth. A negative second radius is that of a gear with internal teeth.
    """

    name: str
    first: str
    second: str
    radii: tuple[float, float]

    def effects(self, scene: BodySet) -> Effects:
        (r1, r2) = self.radii
        a, b = (_moving(scene, name, self.name) for name in (self.first, self.second))
        turned = r1 * (a.coordinates[2].q - a.angle) + r2 * (b.coordinates[2].q - b.angle)
        return Effects((Holonomic(self.name, turned, "m"),))


@dataclass(frozen=True, eq=False)
class Rack:
    """A rack that a pinion moves along an axis of the ground: the way is radius times the angle.

    The teeth are on the right of the axis, seen from the pinion; a negative radius is on its left.
    """

    name: str
    pinion: str
    rack: str
    radius: float
    axis: tuple[float, float] = (1.0, 0.0)

    def effects(self, scene: BodySet) -> Effects:
        pinion, rack = (_moving(scene, n, self.name) for n in (self.pinion, self.rack))
        along, (x, y, _) = _direction(self.axis, self.name), rack.coordinates
        way = along[0] * (x.q - rack.position[0]) + along[1] * (y.q - rack.position[1])
        turned = pinion.coordinates[2].q - pinion.angle
        return Effects((Holonomic(self.name, way - self.radius * turned, "m"),))


def _moving(scene: BodySet, name: str, element: str) -> Body:
    body = scene.body(name, element)
    if body is None:
        raise ModelError(f"'{scene.name}': '{element}' cannot move the ground")
    return body


def _ends(scene: BodySet, element: Revolute | Fixed | Prismatic | Spring) -> tuple[Place, Place]:
    return (
        scene.place(element.first, element.on_first, element.name),
        scene.place(element.second, element.on_second, element.name),
    )


def _pin(name: str, a: Place, b: Place) -> tuple[Holonomic, Holonomic]:
    gap = b.position - a.position
    return Holonomic(f"{name}.x", gap[0], "m"), Holonomic(f"{name}.y", gap[1], "m")


def _angle(name: str, a: Place, b: Place, angle: float) -> Holonomic:
    return Holonomic(f"{name}.theta", b.angle - a.angle - angle, "rad")


def _direction(axis: tuple[float, float], name: str) -> tuple[float, float]:
    length = float((axis[0] ** 2 + axis[1] ** 2) ** 0.5)
    if length == 0.0:
        raise ModelError(f"joint '{name}' has no axis", got=axis, expected="a direction")
    return axis[0] / length, axis[1] / length


# Springs and forces
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spring:
    """A spring and damper between two points; its energy is part of the potential."""

    name: str
    first: str
    second: str
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0
    on_first: Point = (0.0, 0.0)
    on_second: Point = (0.0, 0.0)

    def effects(self, scene: BodySet) -> Effects:
        a, b = _ends(scene, self)
        reach, rate = b.position - a.position, b.velocity - a.velocity
        # With zero natural length the energy is quadratic, and smooth at zero distance.
        span = casadi.norm_2(reach)
        stretch2 = casadi.sumsqr(reach) if self.length == 0.0 else (span - self.length) ** 2
        forces: tuple[tuple[str, Any], ...] = ()
        if self.damping:
            unit = reach / span
            drag = self.damping * casadi.dot(rate, unit) * unit
            forces = (*generalized_forces(a, drag), *generalized_forces(b, -drag))
        return Effects(potential=0.5 * self.stiffness * stretch2, forces=forces)


@dataclass(frozen=True, eq=False)
class TorsionSpring:
    """A rotational spring and damper between two bodies; ``angle`` is the relaxed angle."""

    name: str
    first: str
    second: str
    stiffness: float = 0.0
    damping: float = 0.0
    angle: float = 0.0

    def effects(self, scene: BodySet) -> Effects:
        a, b = (
            scene.place(self.first, (0.0, 0.0), self.name),
            scene.place(self.second, (0.0, 0.0), self.name),
        )
        drag = self.damping * (b.spin - a.spin)
        none = casadi.SX.zeros(2, 1)
        return Effects(
            potential=0.5 * self.stiffness * (b.angle - a.angle - self.angle) ** 2,
            forces=(*generalized_forces(a, none, drag), *generalized_forces(b, none, -drag))
            if self.damping
            else (),
        )


@dataclass(frozen=True, eq=False)
class Force:
    """A force in the ground's axes at a point of a body: numbers, quantities, expressions or
    functions of time.
    """

    name: str
    body: str
    force: tuple[Any, Any]
    at: tuple[float, float] = (0.0, 0.0)

    def effects(self, scene: BodySet) -> Effects:
        place = scene.place(self.body, self.at, self.name)
        return Effects(
            forces=generalized_forces(place, casadi.vertcat(*[scene.value(f) for f in self.force]))
        )


@dataclass(frozen=True, eq=False)
class Torque:
    """A torque on a body, and its opposite on the body that carries the motor."""

    name: str
    body: str
    torque: Any
    carrier: str = GROUND

    def effects(self, scene: BodySet) -> Effects:
        value, none = scene.value(self.torque), casadi.SX.zeros(2, 1)
        on, back = (scene.place(name, (0.0, 0.0), self.name) for name in (self.body, self.carrier))
        return Effects(
            forces=(*generalized_forces(on, none, value), *generalized_forces(back, none, -value))
        )
