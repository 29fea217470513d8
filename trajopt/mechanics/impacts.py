"""Rigid impacts with the ground: events with a jump of the velocities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi

from trajopt.mechanics.bodies import Body
from trajopt.mechanics.contact import Approach, Line
from trajopt.mechanics.contact_laws import check_constant, check_restitution
from trajopt.mechanics.lagrange import Mechanism
from trajopt.system import Event


class ImpactLaw(Protocol):
    """Maps the velocities of the contact point before an impact, and its mobility, to impulses."""

    def impulse(self, before: casadi.SX, mobility: casadi.SX) -> casadi.SX:
        """Return the (normal, tangential) impulse; ``mobility`` (2, 2) maps impulses to changes of
        the contact velocity.
        """
        ...


@dataclass(frozen=True)
class _Law:
    """The constants of a law of impact."""

    restitution: float
    friction: float = 0.0
    rest_speed: float = (
        0.0  # slower impacts have no rebound, which ends an infinite series of bounces
    )

    def __post_init__(self) -> None:
        check_restitution(self.restitution)
        check_constant("friction coefficient", self.friction, zero=True)

    def _e(self, before: casadi.SX) -> casadi.SX:
        return casadi.if_else(-before[0] < self.rest_speed, 0, self.restitution)


@dataclass(frozen=True)
class NewtonImpact(_Law):
    """Newton's law: the normal velocity is multiplied by -e; the contact point sticks within the
    friction cone, else slides.
    """

    def impulse(self, before: casadi.SX, mobility: casadi.SX) -> casadi.SX:
        return _phase(before, mobility, -(1 + self._e(before)) * before[0], self.friction)


@dataclass(frozen=True)
class PoissonImpact(_Law):
    """Poisson's law: compression to zero normal velocity, then restitution with e times its
    impulse.
    """

    def impulse(self, before: casadi.SX, mobility: casadi.SX) -> casadi.SX:
        compression = _phase(before, mobility, -before[0], self.friction)
        middle = before + mobility @ compression
        normal = self._e(before) * compression[0]
        hold = -(middle[1] + mobility[1, 0] * normal) / mobility[1, 1]
        limit = self.friction * normal
        return compression + casadi.vertcat(normal, casadi.fmax(casadi.fmin(hold, limit), -limit))


def _phase(before: casadi.SX, mobility: casadi.SX, change: casadi.SX, friction: float) -> casadi.SX:
    """Return the impulses that change the normal velocity by ``change``: sticking if friction
    suffices, else sliding.
    """
    if friction == 0.0:
        return casadi.vertcat(change / mobility[0, 0], 0)
    stick = casadi.solve(mobility, casadi.vertcat(change, -before[1]))
    direction = casadi.sign(stick[1])  # the sliding impulse has the sign of the sticking one
    slide = change / (mobility[0, 0] + friction * direction * mobility[0, 1])
    holds = casadi.fabs(stick[1]) <= friction * stick[0]
    return casadi.if_else(holds, stick, casadi.vertcat(slide, friction * direction * slide))


def impact(
    mechanism: Mechanism,
    body: Body,
    law: ImpactLaw,
    *,
    at: tuple[float, float] = (0.0, 0.0),
    radius: float = 0.0,
    surface: Line | None = None,
) -> Event:
    """Return the event of a rigid impact of a body with the ground, for a system with all
    velocities as states.

    The constraints of the mechanism hold during the impact: the jump is in their null space.

    >>> from trajopt.mechanics import assemble
    >>> ball = Body("ball", mass=1.0, inertia=0.004, position=(0.0, 1.0))
    >>> model = assemble("ball", [ball])
    >>> system = model.system(events=(impact(model, ball, NewtonImpact(0.8), radius=0.1),))
    >>> system.events[0].name, system.events[0].direction
    ('ball hits the ground', -1)
    """
    approach = Approach.of(body.place(at), radius, surface or Line())
    contact_velocity = casadi.vertcat(approach.normal_speed, approach.slip)
    J = casadi.jacobian(contact_velocity, mechanism.v)  # (2, n)
    n, m = len(mechanism.coordinates), len(mechanism.rows)
    A = mechanism.equations.matrix
    whole = casadi.vertcat(
        casadi.horzcat(mechanism.equations.mass, -A.T), casadi.horzcat(A, casadi.SX(m, m))
    )
    response = casadi.solve(
        casadi.densify(whole), casadi.vertcat(casadi.densify(J).T, casadi.SX.zeros(m, 2))
    )[:n, :]
    after = mechanism.v + response @ law.impulse(contact_velocity, J @ response)
    return Event(
        f"{body.name} hits the ground", approach.gap, -1, casadi.vertcat(mechanism.q, after)
    )
