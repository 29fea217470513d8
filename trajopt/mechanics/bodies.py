"""Planar bodies with (x, y, theta), and what joins and moves them: joints, springs, forces, contacts.

``assemble`` turns bodies and elements into a ``Mechanism``. Elements name the bodies they act on; ``"ground"`` is always there. A
place that moves as it is told (a moving pivot, a drive) is given as a function of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import casadi

from trajopt.errors import ModelError, suggest
from trajopt.mechanics.constraints import Constraint, Holonomic
from trajopt.mechanics.lagrange import Coordinate, Inertia, Mechanism, Quantity

GROUND = "ground"
Point = tuple[float, float] | Callable[[casadi.SX], tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body in the plane.

    Parameters
    ----------
    mass, inertia : kg, and kg m^2 about the mass centre.
    position, angle, velocity, spin : of the reference point, at the start.
    centre : the mass centre in the body's axes, where the reference point is another.
    names : of the three coordinates; ``<name>_x``, ``<name>_y``, ``<name>_theta`` where nothing is said.
    """

    name: str
    mass: float
    inertia: float
    position: tuple[float, float] = (0.0, 0.0)
    angle: float = 0.0
    velocity: tuple[float, float] = (0.0, 0.0)
    spin: float = 0.0
    centre: tuple[float, float] = (0.0, 0.0)
    names: tuple[str, str, str] | None = None

    def __post_init__(self) -> None:
        if not self.mass > 0:
            raise ModelError(f"body '{self.name}' has no positive mass", got=self.mass, expected="a mass > 0")
        if not self.inertia > 0:
            raise ModelError(f"body '{self.name}' has no positive moment of inertia", got=self.inertia, expected="a value > 0")

    @cached_property
    def coordinates(self) -> tuple[Coordinate, Coordinate, Coordinate]:
        x, y, theta = self.names or (f"{self.name}_x", f"{self.name}_y", f"{self.name}_theta")
        return (
            Coordinate(x, self.position[0], self.velocity[0], "m"),
            Coordinate(y, self.position[1], self.velocity[1], "m"),
            Coordinate(theta, self.angle, self.spin, "rad"),
        )

    def point(self, local: Any = (0.0, 0.0)) -> casadi.SX:
        """A point of the body in the ground's axes, (2,)."""
        x, y, theta = self.coordinates
        return casadi.SX(casadi.vertcat(x.q, y.q)) + _rotation(theta.q) @ casadi.SX(casadi.DM(local))

    def velocity_of(self, local: Any = (0.0, 0.0)) -> casadi.SX:
        x, y, theta = self.coordinates
        arm = _rotation(theta.q) @ casadi.SX(casadi.DM(local))
        return casadi.SX(casadi.vertcat(x.v - theta.v * arm[1], y.v + theta.v * arm[0]))


@dataclass(frozen=True, eq=False)
class Place:
    """A point of a body or of the ground: where it is, how it moves, and the body behind it."""

    position: casadi.SX  # (2,)
    velocity: casadi.SX  # (2,)
    angle: casadi.SX
    spin: casadi.SX
    body: Body | None


@dataclass(frozen=True, eq=False)
class Effects:
    """What an element adds to a mechanism."""

    constraints: tuple[Constraint, ...] = ()
    potential: Any = 0.0
    forces: tuple[tuple[str, Any], ...] = ()  # (coordinate, generalized force)


@dataclass(frozen=True, eq=False)
class Scene:
    """The bodies by name, and time."""

    name: str
    bodies: tuple[Body, ...]
    time: casadi.SX = field(default_factory=lambda: casadi.SX.sym("t"))

    def body(self, name: str, element: str) -> Body | None:
        """The body of a name; None for the ground."""
        if name == GROUND:
            return None
        for body in self.bodies:
            if body.name == name:
                return body
        names = [GROUND, *(b.name for b in self.bodies)]
        raise ModelError(
            f"'{self.name}': '{element}' is joined to body '{name}', which does not exist",
            expected=", ".join(names),
            hint=suggest(name, names),
        )

    def place(self, name: str, local: Point, element: str) -> Place:
        """A point of a body in its axes, or of the ground, where it may be a function of time."""
        body = self.body(name, element)
        if callable(local):
            if body is not None:
                raise ModelError(f"'{self.name}': '{element}': only points of the ground can be functions of time", got=name)
            position = casadi.vertcat(*[casadi.SX(c) for c in local(self.time)])
            return Place(position, casadi.jacobian(position, self.time), casadi.SX(0), casadi.SX(0), None)
        if body is None:
            return Place(casadi.SX(casadi.DM(local)), casadi.SX.zeros(2, 1), casadi.SX(0), casadi.SX(0), None)
        theta = body.coordinates[2]
        return Place(body.point(local), body.velocity_of(local), theta.q, theta.v, body)

    def value(self, given: Any) -> casadi.SX:
        """A number, an expression, a ``Quantity``, or a function of time."""
        if isinstance(given, Quantity):
            return casadi.SX(given.symbol)
        return casadi.SX(given(self.time) if callable(given) else given)


def push(place: Place, force: casadi.SX, moment: Any = 0.0) -> tuple[tuple[str, Any], ...]:
    """Generalized forces of a force at a place, and of a moment on its body."""
    if place.body is None:
        return ()
    x, y, theta = place.body.coordinates
    arm = place.position - casadi.vertcat(x.q, y.q)
    return ((x.name, force[0]), (y.name, force[1]), (theta.name, arm[0] * force[1] - arm[1] * force[0] + moment))


class Element(Protocol):
    """Something that acts on bodies."""

    @property
    def name(self) -> str: ...

    def effects(self, scene: Scene) -> Effects: ...


# Joints ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Revolute:
    """A pin: a point of one body stays on a point of another (or of the ground, moving or not)."""

    name: str
    first: str
    second: str
    on_first: Point = (0.0, 0.0)
    on_second: Point = (0.0, 0.0)

    def effects(self, scene: Scene) -> Effects:
        gap = _gap(scene, self)
        return Effects((Holonomic(f"{self.name}.x", gap[0], "m"), Holonomic(f"{self.name}.y", gap[1], "m")))


@dataclass(frozen=True, eq=False)
class Fixed:
    """A weld: a pin that also keeps the angle between the bodies."""

    name: str
    first: str
    second: str
    on_first: Point = (0.0, 0.0)
    on_second: Point = (0.0, 0.0)
    angle: float = 0.0

    def effects(self, scene: Scene) -> Effects:
        gap = _gap(scene, self)
        pin = (Holonomic(f"{self.name}.x", gap[0], "m"), Holonomic(f"{self.name}.y", gap[1], "m"))
        return Effects((*pin, Holonomic(f"{self.name}.theta", _turned(scene, self) - self.angle, "rad")))


@dataclass(frozen=True, eq=False)
class Prismatic:
    """A slider: the second body's point stays on a line of the first body, at a constant angle between the two."""

    name: str
    first: str
    second: str
    axis: tuple[float, float] = (1.0, 0.0)  # in the first body's axes
    on_first: Point = (0.0, 0.0)
    on_second: Point = (0.0, 0.0)
    angle: float = 0.0

    def effects(self, scene: Scene) -> Effects:
        first = scene.place(self.first, self.on_first, self.name)
        along = _rotation(first.angle) @ casadi.SX(casadi.DM(_direction(self.axis, self.name)))
        gap = _gap(scene, self)
        across = along[0] * gap[1] - along[1] * gap[0]
        line = Holonomic(f"{self.name}.across", across, "m")
        return Effects((line, Holonomic(f"{self.name}.theta", _turned(scene, self) - self.angle, "rad")))


@dataclass(frozen=True, eq=False)
class Drive:
    """A coordinate of a body (0: x, 1: y, 2: theta) that follows a given function of time."""

    name: str
    body: str
    path: Callable[[casadi.SX], Any]
    which: int = 2

    def effects(self, scene: Scene) -> Effects:
        body = scene.body(self.body, self.name)
        if body is None:
            raise ModelError(f"'{scene.name}': drive '{self.name}' cannot move the ground")
        coordinate = body.coordinates[self.which]
        return Effects((Holonomic(self.name, coordinate.q - casadi.SX(self.path(scene.time)), coordinate.unit),))


Joint = Revolute | Fixed | Prismatic


# Springs and forces ---------------------------------------------------------------------------------------------------------


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

    def effects(self, scene: Scene) -> Effects:
        a, b = scene.place(self.first, self.on_first, self.name), scene.place(self.second, self.on_second, self.name)
        reach, rate = b.position - a.position, b.velocity - a.velocity
        # Without a natural length the energy is quadratic, and smooth where the ends meet.
        span = casadi.norm_2(reach)
        stretch2 = casadi.sumsqr(reach) if self.length == 0.0 else (span - self.length) ** 2
        forces: tuple[tuple[str, Any], ...] = ()
        if self.damping:
            unit = reach / span
            drag = self.damping * casadi.dot(rate, unit) * unit
            forces = (*push(a, drag), *push(b, -drag))
        return Effects(potential=0.5 * self.stiffness * stretch2, forces=forces)


@dataclass(frozen=True, eq=False)
class TorsionSpring:
    """A rotational spring and damper between two bodies; ``angle`` is where it is relaxed."""

    name: str
    first: str
    second: str
    stiffness: float = 0.0
    damping: float = 0.0
    angle: float = 0.0

    def effects(self, scene: Scene) -> Effects:
        a, b = scene.place(self.first, (0.0, 0.0), self.name), scene.place(self.second, (0.0, 0.0), self.name)
        drag = self.damping * (b.spin - a.spin)
        none = casadi.SX.zeros(2, 1)
        return Effects(
            potential=0.5 * self.stiffness * (b.angle - a.angle - self.angle) ** 2,
            forces=(*push(a, none, drag), *push(b, none, -drag)) if self.damping else (),
        )


@dataclass(frozen=True, eq=False)
class Force:
    """A force in the ground's axes at a point of a body: numbers, quantities, expressions or functions of time."""

    name: str
    body: str
    force: tuple[Any, Any]
    at: tuple[float, float] = (0.0, 0.0)

    def effects(self, scene: Scene) -> Effects:
        place = scene.place(self.body, self.at, self.name)
        return Effects(forces=push(place, casadi.vertcat(*[scene.value(f) for f in self.force])))


@dataclass(frozen=True, eq=False)
class Torque:
    """A torque on a body, and its opposite on the body that carries the motor."""

    name: str
    body: str
    torque: Any
    carrier: str = GROUND

    def effects(self, scene: Scene) -> Effects:
        value, none = scene.value(self.torque), casadi.SX.zeros(2, 1)
        on, back = (scene.place(name, (0.0, 0.0), self.name) for name in (self.body, self.carrier))
        return Effects(forces=(*push(on, none, value), *push(back, none, -value)))


# Assembly -------------------------------------------------------------------------------------------------------------------


def assemble(
    name: str,
    bodies: Sequence[Body],
    elements: Sequence[Element] = (),
    gravity: tuple[float, float] = (0.0, -9.81),
    controls: Sequence[Quantity] = (),
    parameters: Sequence[Quantity] = (),
) -> Mechanism:
    """Bodies and elements as a mechanism.

    >>> bob = Body("bob", mass=2.0, inertia=0.1, position=(1.0, 0.0))
    >>> pendulum = assemble("pendulum", [bob], [Revolute("pin", "ground", "bob", on_second=(-1.0, 0.0))])
    >>> pendulum.acceleration([1, 0, 0], [0, 0, 0])[2]
    DM(-9.34286)
    >>> assemble("pendulum", [bob], [Revolute("pin", "ground", "bobb")])
    Traceback (most recent call last):
    trajopt.errors.ModelError: 'pendulum': 'pin' is joined to body 'bobb', which does not exist
      expected: ground, bob
      hint:     did you mean 'bob'?
    """
    scene = Scene(name, tuple(bodies))
    names = [b.name for b in bodies]
    for body in bodies:
        if names.count(body.name) > 1 or body.name == GROUND:
            raise ModelError(f"'{name}': two bodies are called '{body.name}'")
    kinetic, potential = casadi.SX(0), casadi.SX(0)
    for body in bodies:
        v, c = body.velocity_of(body.centre), body.point(body.centre)
        kinetic += 0.5 * body.mass * casadi.dot(v, v) + 0.5 * body.inertia * body.coordinates[2].v ** 2
        potential -= body.mass * (gravity[0] * c[0] + gravity[1] * c[1])
    effects = [element.effects(scene) for element in elements]
    forces: dict[str, Any] = {}
    for coordinate, force in (pair for e in effects for pair in e.forces):
        forces[coordinate] = forces.get(coordinate, casadi.SX(0)) + force
    stored = sum((casadi.SX(e.potential) for e in effects), casadi.SX(0))
    coordinates = tuple(c for body in bodies for c in body.coordinates)
    return Mechanism(
        name,
        coordinates,
        kinetic,
        potential + stored,
        forces={k: f for k, f in forces.items() if not casadi.SX(f).is_zero()},
        constraints=tuple(c for e in effects for c in e.constraints),
        controls=tuple(controls),
        parameters=tuple(parameters),
        time=scene.time,
        inertia=_newton_euler(bodies, stored, coordinates, gravity),
    )


def _newton_euler(
    bodies: Sequence[Body], stored: casadi.SX, coordinates: tuple[Coordinate, ...], gravity: tuple[float, float]
) -> Inertia:
    """Newton's and Euler's equations body by body, about the reference points."""
    blocks, biases = [], []
    for body in bodies:
        theta = body.coordinates[2]
        arm = _rotation(theta.q) @ casadi.SX(casadi.DM(body.centre))
        m, across = body.mass, casadi.vertcat(-arm[1], arm[0])  # d(arm)/dtheta
        about = body.inertia + m * casadi.dot(arm, arm)
        blocks.append(
            casadi.vertcat(
                casadi.horzcat(m, 0, m * across[0]), casadi.horzcat(0, m, m * across[1]), casadi.horzcat(m * across.T, about)
            )
        )
        load = -m * theta.v**2 * arm - m * casadi.DM(gravity)  # centripetal, and weight
        biases.append(casadi.vertcat(load, -m * casadi.dot(across, casadi.DM(gravity))))
    q = casadi.vertcat(*[c.q for c in coordinates])
    return Inertia(casadi.diagcat(*blocks), casadi.vertcat(*biases) + casadi.gradient(stored, q))


def _gap(scene: Scene, joint: Joint) -> casadi.SX:
    a = scene.place(joint.first, joint.on_first, joint.name)
    return scene.place(joint.second, joint.on_second, joint.name).position - a.position


def _turned(scene: Scene, joint: Joint) -> casadi.SX:
    a = scene.place(joint.first, joint.on_first, joint.name)
    return scene.place(joint.second, joint.on_second, joint.name).angle - a.angle


def _direction(axis: tuple[float, float], name: str) -> tuple[float, float]:
    length = float((axis[0] ** 2 + axis[1] ** 2) ** 0.5)
    if length == 0.0:
        raise ModelError(f"joint '{name}' has no axis", got=axis, expected="a direction")
    return axis[0] / length, axis[1] / length


def _rotation(angle: casadi.SX) -> casadi.SX:
    c, s = casadi.cos(angle), casadi.sin(angle)
    return casadi.vertcat(casadi.horzcat(c, -s), casadi.horzcat(s, c))
