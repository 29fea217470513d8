"""Planar bodies with (x, y, theta), and ``assemble``, which makes a ``Mechanism`` of bodies and the
elements between them.

Elements name the bodies they act on; ``"ground"`` always exists. A point with prescribed motion (a
moving pivot, a drive) is given as a function of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import casadi

from trajopt.errors import ModelError, suggest
from trajopt.mechanics.constraints import Constraint
from trajopt.mechanics.lagrange import (
    Coordinate,
    Inertia,
    Mechanism,
    Quantity,
    symbolic,
    with_symbols,
)
from trajopt.mechanics.lagrange_equations import column

GROUND = "ground"
Point = tuple[float, float] | Callable[[casadi.SX], tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body in the plane.

    Parameters
    ----------
    mass, inertia : kg, and kg m^2 about the mass centre.
    position, angle, velocity, spin : initial values of the reference point.
    centre : the mass centre in the body's axes, relative to the reference point.
    names : of the three coordinates; by default ``<name>_x``, ``<name>_y``, ``<name>_theta``.

    Mass, inertia and mass centre may be symbols: parameters of a problem (``ocp.parameter``) or of
    the mechanism.
    """

    name: str
    mass: Any
    inertia: Any
    position: tuple[float, float] = (0.0, 0.0)
    angle: float = 0.0
    velocity: tuple[float, float] = (0.0, 0.0)
    spin: float = 0.0
    centre: tuple[Any, Any] = (0.0, 0.0)
    names: tuple[str, str, str] | None = None

    def __post_init__(self) -> None:
        if not symbolic(self.mass) and not self.mass > 0:
            raise ModelError(
                f"body '{self.name}' has no positive mass", got=self.mass, expected="a mass > 0"
            )
        if not symbolic(self.inertia) and not self.inertia > 0:
            raise ModelError(
                f"body '{self.name}' has no positive moment of inertia",
                got=self.inertia,
                expected="a value > 0",
            )

    @cached_property
    def coordinates(self) -> tuple[Coordinate, Coordinate, Coordinate]:
        x, y, theta = self.names or (f"{self.name}_x", f"{self.name}_y", f"{self.name}_theta")
        return (
            Coordinate(x, self.position[0], self.velocity[0], "m"),
            Coordinate(y, self.position[1], self.velocity[1], "m"),
            Coordinate(theta, self.angle, self.spin, "rad"),
        )

    def point(self, local: Any = (0.0, 0.0)) -> casadi.SX:
        """Return the position of a point of the body in the ground's axes, (2,)."""
        x, y, theta = self.coordinates
        return casadi.SX(casadi.vertcat(x.q, y.q)) + rotation(theta.q) @ column(local)

    def velocity_of(self, local: Any = (0.0, 0.0)) -> casadi.SX:
        """Return the velocity of that point, (2,)."""
        x, y, theta = self.coordinates
        arm = rotation(theta.q) @ column(local)
        return casadi.SX(casadi.vertcat(x.v - theta.v * arm[1], y.v + theta.v * arm[0]))

    def place(self, local: Any = (0.0, 0.0)) -> Place:
        """Return a point of the body with its motion."""
        theta = self.coordinates[2]
        return Place(self.point(local), self.velocity_of(local), theta.q, theta.v, self)


@dataclass(frozen=True, eq=False)
class Place:
    """A point of a body or of the ground: position, velocity and body."""

    position: casadi.SX  # (2,)
    velocity: casadi.SX  # (2,)
    angle: casadi.SX
    spin: casadi.SX
    body: Body | None


@dataclass(frozen=True, eq=False)
class Effects:
    """Contributions of an element to a mechanism."""

    constraints: tuple[Constraint, ...] = ()
    potential: Any = 0.0
    forces: tuple[tuple[str, Any], ...] = ()  # (coordinate, generalized force)


@dataclass(frozen=True, eq=False)
class BodySet:
    """The bodies by name, and time."""

    name: str
    bodies: tuple[Body, ...]
    time: casadi.SX = field(default_factory=lambda: casadi.SX.sym("t"))

    def body(self, name: str, element: str) -> Body | None:
        """Return a body by name; None for the ground."""
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
        """Return a point of a body in its axes, or of the ground, where it may be a function of
        time.
        """
        body = self.body(name, element)
        if callable(local):
            if body is not None:
                raise ModelError(
                    f"'{self.name}': '{element}': only points of the ground can be functions of "
                    "time",
                    got=name,
                )
            position = casadi.vertcat(*[casadi.SX(c) for c in local(self.time)])
            return Place(
                position, casadi.jacobian(position, self.time), casadi.SX(0), casadi.SX(0), None
            )
        if body is None:
            return Place(column(local), casadi.SX.zeros(2, 1), casadi.SX(0), casadi.SX(0), None)
        return body.place(local)

    def value(self, given: Any) -> casadi.SX:
        """Convert a number, an expression, a ``Quantity`` or a function of time
        to an expression.
        """
        if isinstance(given, Quantity):
            return casadi.SX(given.symbol)
        return casadi.SX(given(self.time) if callable(given) else given)


def generalized_forces(
    place: Place, force: casadi.SX, moment: Any = 0.0
) -> tuple[tuple[str, Any], ...]:
    """Return the generalized forces of a force at a point and of a moment on its body."""
    if place.body is None:
        return ()
    x, y, theta = place.body.coordinates
    arm = place.position - casadi.vertcat(x.q, y.q)
    return (
        (x.name, force[0]),
        (y.name, force[1]),
        (theta.name, arm[0] * force[1] - arm[1] * force[0] + moment),
    )


class Element(Protocol):
    """Interface of an element that acts on bodies."""

    @property
    def name(self) -> str: ...

    def effects(self, scene: BodySet) -> Effects: ...


def assemble(
    name: str,
    bodies: Sequence[Body],
    elements: Sequence[Element] = (),
    gravity: tuple[float, float] = (0.0, -9.81),
    controls: Sequence[Quantity] = (),
    parameters: Sequence[Quantity] = (),
) -> Mechanism:
    """Build a mechanism from bodies and elements.

    >>> from trajopt.mechanics import Revolute
    >>> bob = Body("bob", mass=2.0, inertia=0.1, position=(1.0, 0.0))
    >>> pendulum = assemble("pendulum", [bob], [Revolute("pin", "ground", "bob", on_second=(-1.0,
    ...     0.0))])
    >>> pendulum.acceleration([1, 0, 0], [0, 0, 0])[2]
    DM(-9.34286)
    >>> assemble("pendulum", [bob], [Revolute("pin", "ground", "bobb")])
    Traceback (most recent call last):
    trajopt.errors.ModelError: 'pendulum': 'pin' is joined to body 'bobb', which does not exist
      expected: ground, bob
      hint:     did you mean 'bob'?
    """
    scene = BodySet(name, tuple(bodies))
    names = [b.name for b in bodies]
    for body in bodies:
        if names.count(body.name) > 1 or body.name == GROUND:
            raise ModelError(f"'{name}': duplicate body '{body.name}'")
    kinetic, potential = casadi.SX(0), casadi.SX(0)
    for body in bodies:
        v, c = body.velocity_of(body.centre), body.point(body.centre)
        kinetic += (
            0.5 * body.mass * casadi.dot(v, v) + 0.5 * body.inertia * body.coordinates[2].v ** 2
        )
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
        parameters=with_symbols(
            parameters,
            (casadi.vertcat(b.mass, b.inertia, column(b.centre)) for b in bodies),
            scene.time,
        ),
        time=scene.time,
        inertia=_newton_euler(bodies, stored, coordinates, gravity),
    )


def _newton_euler(
    bodies: Sequence[Body],
    stored: casadi.SX,
    coordinates: tuple[Coordinate, ...],
    gravity: tuple[float, float],
) -> Inertia:
    """Return mass matrix and bias by the Newton-Euler equations of each body about its reference
    point.
    """
    blocks, biases = [], []
    for body in bodies:
        theta = body.coordinates[2]
        arm = rotation(theta.q) @ column(body.centre)
        m, across = body.mass, casadi.vertcat(-arm[1], arm[0])  # d(arm)/dtheta
        about = body.inertia + m * casadi.dot(arm, arm)
        blocks.append(
            casadi.vertcat(
                casadi.horzcat(m, 0, m * across[0]),
                casadi.horzcat(0, m, m * across[1]),
                casadi.horzcat(m * across.T, about),
            )
        )
        load = -m * theta.v**2 * arm - m * casadi.DM(gravity)  # centripetal, and weight
        biases.append(casadi.vertcat(load, -m * casadi.dot(across, casadi.DM(gravity))))
    q = casadi.vertcat(*[c.q for c in coordinates])
    return Inertia(casadi.diagcat(*blocks), casadi.vertcat(*biases) + casadi.gradient(stored, q))


def rotation(angle: casadi.SX) -> casadi.SX:
    """Return the rotation matrix (2, 2) from body axes to reference axes."""
    c, s = casadi.cos(angle), casadi.sin(angle)
    return casadi.vertcat(casadi.horzcat(c, -s), casadi.horzcat(s, c))
