"""Contact of a body with the ground: compliant contact laws, and rest after rigid impacts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import casadi

from trajopt.mechanics.bodies import Body, BodySet, Effects, Place, generalized_forces
from trajopt.mechanics.contact_laws import Coulomb, NormalLaw
from trajopt.mechanics.lagrange import Mechanism
from trajopt.system import Event


@dataclass(frozen=True)
class Line:
    """The surface of the ground: a straight line through a point, with outward normal."""

    point: tuple[float, float] = (0.0, 0.0)
    normal: tuple[float, float] = (0.0, 1.0)

    @staticmethod
    def slope(angle: float) -> Line:
        """Return a slope of this angle (rad) through the origin."""
        return Line((0.0, 0.0), (-math.sin(angle), math.cos(angle)))


@dataclass(frozen=True, eq=False)
class Contact:
    """Contact of a disc (or a point, radius 0) of a body with the ground, by a compliant law and
    friction.

    >>> from trajopt.mechanics import Body, Hooke, assemble
    >>> disc = Body("disc", mass=1.0, inertia=0.005, position=(0.0, 0.09))
    >>> model = assemble("disc", [disc], [Contact("touch", "disc", Hooke(1e4), radius=0.1)])
    >>> model.acceleration([0, 0.09, 0], [0, 0, 0])[1]  # 100 N up, 9.81 N down
    DM(90.19)
    """

    name: str
    body: str
    law: NormalLaw
    friction: Coulomb | None = None
    at: tuple[float, float] = (0.0, 0.0)
    radius: float = 0.0
    surface: Line = Line()

    def effects(self, scene: BodySet) -> Effects:
        approach = Approach.of(
            scene.place(self.body, self.at, self.name), self.radius, self.surface
        )
        depth, rate = -approach.gap, -approach.normal_speed
        normal = self.law.force(depth, rate)
        elastic = casadi.gradient(self.law.stored(d := casadi.SX.sym("d")), d)
        lost = normal - casadi.substitute(elastic, d, depth)
        sideways = self.friction.force(normal, approach.slip) if self.friction else casadi.SX(0)
        force = lost * approach.normal + sideways * approach.tangent
        return Effects(
            potential=self.law.stored(depth), forces=generalized_forces(approach.foot, force)
        )


def touch(mechanism: Mechanism, body: Body, contact: Contact) -> tuple[Event, ...]:
    """Return the events of a compliant contact: touch-down, lift-off, and truncation of the force
    by its law.

    The force is not smooth there. Restarting the integrator at these events preserves its accuracy.

    >>> from trajopt.mechanics import Body, Hooke, assemble
    >>> disc = Body("disc", mass=1.0, inertia=0.005, position=(0.0, 1.0))
    >>> contact = Contact("ground", "disc", Hooke(1e4), radius=0.1)
    >>> [event.name for event in touch(assemble("disc", [disc], [contact]), disc, contact)]
    ['disc touches the ground', 'disc leaves the ground']
    """
    at = Approach.of(body.place(contact.at), contact.radius, contact.surface)
    go_on = casadi.vertcat(mechanism.q, mechanism.v)
    events = [
        Event(f"{body.name} touches the ground", at.gap, -1, go_on),
        Event(f"{body.name} leaves the ground", at.gap, 1, go_on),
    ]
    hold = contact.law.hold(-at.gap, -at.normal_speed)
    if hold is not None:
        # Zero without contact, which is no crossing.
        events.append(
            Event(f"{contact.name} lets go", casadi.if_else(at.gap < 0, hold, 0), -1, go_on)
        )
    return tuple(events)


@dataclass(frozen=True, eq=False)
class Approach:
    """Kinematics of a disc (or a point, radius 0) over the ground: nearest point, gap, normal and
    tangential velocity.
    """

    foot: Place
    gap: casadi.SX
    normal: casadi.DM
    tangent: casadi.DM
    normal_speed: casadi.SX
    slip: casadi.SX

    @staticmethod
    def of(centre: Place, radius: float, surface: Line) -> Approach:
        length = math.hypot(*surface.normal)
        n = casadi.DM([surface.normal[0] / length, surface.normal[1] / length])
        t = casadi.DM([float(n[1]), -float(n[0])])
        gap = casadi.dot(centre.position - casadi.DM(surface.point), n) - radius
        foot = replace(centre, position=centre.position - radius * n)
        return Approach(
            foot,
            gap,
            n,
            t,
            casadi.dot(centre.velocity, n),
            casadi.dot(centre.velocity, t) + radius * centre.spin,
        )


@dataclass(frozen=True, eq=False)
class Resting:
    """The ground under a body at rest after rigid impacts: a constant normal force and friction."""

    name: str
    body: str
    normal_force: float
    friction: Coulomb | None = None
    at: tuple[float, float] = (0.0, 0.0)
    radius: float = 0.0
    surface: Line = Line()

    def effects(self, scene: BodySet) -> Effects:
        approach = Approach.of(
            scene.place(self.body, self.at, self.name), self.radius, self.surface
        )
        # Events are located to round-off, and a resting body moves along the surface only, so that
        # small thresholds suffice.
        rests = casadi.logic_and(approach.gap < 1e-9, casadi.fabs(approach.normal_speed) < 1e-9)
        normal = casadi.if_else(rests, self.normal_force, 0)
        sideways = self.friction.force(normal, approach.slip) if self.friction else casadi.SX(0)
        return Effects(
            forces=generalized_forces(
                approach.foot, normal * approach.normal + sideways * approach.tangent
            )
        )
