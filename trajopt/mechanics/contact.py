"""Contact and friction: laws of force for compliant contact, laws of impact for rigid contact.

A compliant law gives the normal force from the depth of penetration and its rate; its elastic part is stored as potential energy,
so that a power balance closes. A rigid contact is an event with a jump of the velocities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import casadi
import scipy.optimize

from trajopt.errors import ModelError
from trajopt.mechanics.bodies import Body, Effects, Place, Scene, push
from trajopt.mechanics.lagrange import Mechanism
from trajopt.system import Event

# A compliant contact needs unbounded damping to keep a body from coming back at all.
LEAST_RESTITUTION = 1e-9


class NormalLaw(Protocol):
    """The force that resists penetration; depth > 0 inside, rate = d(depth)/dt."""

    def force(self, depth: Any, rate: Any) -> Any:
        """The normal force, N."""
        ...

    def stored(self, depth: Any) -> Any:
        """The elastic energy, J; its derivative by the depth is the elastic part of the force."""
        ...

    def hold(self, depth: Any, rate: Any) -> Any:
        """A number that turns negative where the law, still in contact, cuts its force off; None where it never does."""
        ...


@dataclass(frozen=True)
class Hooke:
    """k d."""

    stiffness: float

    def __post_init__(self) -> None:
        _positive("stiffness", self.stiffness)

    def force(self, depth: Any, rate: Any) -> Any:
        return self.stiffness * casadi.fmax(depth, 0)

    def stored(self, depth: Any) -> Any:
        return 0.5 * self.stiffness * casadi.fmax(depth, 0) ** 2

    def hold(self, depth: Any, rate: Any) -> Any:
        return None


@dataclass(frozen=True)
class KelvinVoigt:
    """k d + c d'. A plain Kelvin-Voigt contact pulls back on leaving; ``adhesive=False`` cuts the negative force off."""

    stiffness: float
    damping: float
    adhesive: bool = False

    def __post_init__(self) -> None:
        _positive("stiffness", self.stiffness)
        _positive("damping", self.damping, zero=True)

    def force(self, depth: Any, rate: Any) -> Any:
        total = self.stiffness * depth + self.damping * rate
        return casadi.if_else(depth > 0, total if self.adhesive else casadi.fmax(total, 0), 0)

    def stored(self, depth: Any) -> Any:
        return 0.5 * self.stiffness * casadi.fmax(depth, 0) ** 2

    def hold(self, depth: Any, rate: Any) -> Any:
        return None if self.adhesive else self.stiffness * depth + self.damping * rate

    @staticmethod
    def from_restitution(stiffness: float, mass: float, restitution: float, adhesive: bool = False) -> KelvinVoigt:
        """The damping that gives a coefficient of restitution to a mass without other forces.

        >>> KelvinVoigt.from_restitution(1e4, 2.0, 0.5, adhesive=True).damping
        60.93952644739415
        """
        e = max(_restitution(restitution), LEAST_RESTITUTION)
        if e == 1.0:
            return KelvinVoigt(stiffness, 0.0, adhesive)
        if adhesive:  # half a damped period
            ratio = -math.log(e) / math.hypot(math.pi, math.log(e))
        else:
            floor = _kelvin_voigt_restitution(1.0 - 1e-12)
            if e <= floor:
                raise ModelError("no damping below critical gives this restitution", got=e, expected=f"more than {floor:.4f}")
            ratio = scipy.optimize.brentq(lambda z: _kelvin_voigt_restitution(z) - e, 0.0, 1.0 - 1e-12, xtol=1e-15)
        return KelvinVoigt(stiffness, 2.0 * ratio * math.sqrt(stiffness * mass), adhesive)


def _kelvin_voigt_restitution(ratio: float) -> float:
    """Restitution where the contact ends with the force: exp(-z w t), t the first time at which k d + c d' = 0."""
    root = math.sqrt(1.0 - ratio**2)
    angle = math.pi - math.atan2(2.0 * ratio * root, 1.0 - 2.0 * ratio**2)
    return math.exp(-ratio / root * angle)


@dataclass(frozen=True)
class Hertz:
    """k d^n, n = 3/2 for smooth curved surfaces."""

    stiffness: float
    exponent: float = 1.5

    def __post_init__(self) -> None:
        _positive("stiffness", self.stiffness)
        _positive("exponent", self.exponent)

    def force(self, depth: Any, rate: Any) -> Any:
        return self.stiffness * _power(depth, self.exponent)

    def stored(self, depth: Any) -> Any:
        return self.stiffness / (self.exponent + 1) * _power(depth, self.exponent + 1)

    def hold(self, depth: Any, rate: Any) -> Any:
        return None


@dataclass(frozen=True)
class HuntCrossley:
    """k d^n (1 + a d'): damping that grows with the depth, so that the force starts and ends at zero."""

    stiffness: float
    damping: float  # a, s/m
    exponent: float = 1.5

    def __post_init__(self) -> None:
        _positive("stiffness", self.stiffness)
        _positive("damping", self.damping, zero=True)
        _positive("exponent", self.exponent)

    def force(self, depth: Any, rate: Any) -> Any:
        return self.stiffness * _power(depth, self.exponent) * casadi.fmax(1 + self.damping * rate, 0)

    def stored(self, depth: Any) -> Any:
        return self.stiffness / (self.exponent + 1) * _power(depth, self.exponent + 1)

    def hold(self, depth: Any, rate: Any) -> Any:
        return 1 + self.damping * rate

    @staticmethod
    def from_restitution(stiffness: float, speed: float, restitution: float, exponent: float = 1.5) -> HuntCrossley:
        """The damping that gives a coefficient of restitution at an impact speed, whatever the mass and the exponent.

        Integrating m v dv = -k d^n (1 + a v) dd over both halves gives s - ln(1 + s) = -e s - ln(1 - e s), s = a v0. (Hunt and
        Crossley's own a = 3 (1 - e) / (2 v0) is its limit for e near 1.)
        """
        e = max(_restitution(restitution), LEAST_RESTITUTION)
        _positive("speed", speed)
        if e == 1.0:
            return HuntCrossley(stiffness, 0.0, exponent)

        def balance(s: float) -> float:
            return s - math.log1p(s) + e * s + math.log1p(-e * s)

        # balance starts at zero, rises, and falls to minus infinity at s = 1/e.
        low = 0.5 * (1.0 - e) / e
        s = scipy.optimize.brentq(balance, min(low, 0.5 / e), (1.0 - 1e-15) / e, xtol=1e-15, maxiter=500)
        return HuntCrossley(stiffness, s / speed, exponent)


class Smoothing(Protocol):
    """A smooth sign function."""

    def sign(self, speed: Any) -> Any: ...


@dataclass(frozen=True)
class Arctangent:
    """(2/pi) atan(v / scale)."""

    scale: float = 1e-2

    def sign(self, speed: Any) -> Any:
        return 2 / math.pi * casadi.atan(speed / self.scale)


@dataclass(frozen=True)
class Sigmoid:
    """2 / (1 + exp(-v / scale)) - 1."""

    scale: float = 1e-2

    def sign(self, speed: Any) -> Any:
        return casadi.tanh(speed / (2 * self.scale))  # the same function, without overflow


@dataclass(frozen=True)
class Coulomb:
    """Sliding friction, smoothed around zero speed."""

    coefficient: float
    smoothing: Smoothing = Arctangent()

    def __post_init__(self) -> None:
        _positive("friction coefficient", self.coefficient, zero=True)

    def force(self, normal: Any, speed: Any) -> Any:
        return -self.coefficient * normal * self.smoothing.sign(speed)


@dataclass(frozen=True)
class Line:
    """The surface of the ground: a straight line through a point, the normal pointing out of the ground."""

    point: tuple[float, float] = (0.0, 0.0)
    normal: tuple[float, float] = (0.0, 1.0)

    @staticmethod
    def slope(angle: float) -> Line:
        """A slope through the origin that rises with x (rad)."""
        return Line((0.0, 0.0), (-math.sin(angle), math.cos(angle)))


@dataclass(frozen=True, eq=False)
class Contact:
    """A disc (or a point, radius 0) of a body against the ground, by a compliant law and friction.

    >>> from trajopt.mechanics import Body, assemble
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

    def effects(self, scene: Scene) -> Effects:
        centre = scene.place(self.body, self.at, self.name)
        touch = _Touch.of(centre, self.radius, self.surface)
        depth, rate = -touch.gap, -touch.normal_speed
        normal = self.law.force(depth, rate)
        elastic = casadi.gradient(self.law.stored(scale := casadi.SX.sym("d")), scale)
        lost = normal - casadi.substitute(elastic, scale, depth)
        sideways = self.friction.force(normal, touch.slip) if self.friction else casadi.SX(0)
        foot = Place(centre.position - self.radius * touch.normal, centre.velocity, centre.angle, centre.spin, centre.body)
        force = lost * touch.normal + sideways * touch.tangent
        return Effects(potential=self.law.stored(depth), forces=push(foot, force))


def touch(mechanism: Mechanism, body: Body, contact: Contact) -> tuple[Event, ...]:
    """The events of a compliant contact: touching the ground, leaving it, and where its law cuts the force off.

    The force is not smooth there. A run that stops at these events and goes on keeps the accuracy of its integrator.

    >>> from trajopt.mechanics import Body, assemble
    >>> disc = Body("disc", mass=1.0, inertia=0.005, position=(0.0, 1.0))
    >>> contact = Contact("ground", "disc", Hooke(1e4), radius=0.1)
    >>> [event.name for event in touch(assemble("disc", [disc], [contact]), disc, contact)]
    ['disc touches the ground', 'disc leaves the ground']
    """
    theta = body.coordinates[2]
    centre = Place(body.point(contact.at), body.velocity_of(contact.at), theta.q, theta.v, body)
    at = _Touch.of(centre, contact.radius, contact.surface)
    go_on = casadi.vertcat(mechanism.q, mechanism.v)
    events = [
        Event(f"{body.name} touches the ground", at.gap, -1, go_on),
        Event(f"{body.name} leaves the ground", at.gap, 1, go_on),
    ]
    hold = contact.law.hold(-at.gap, -at.normal_speed)
    if hold is not None:
        # Zero in the air, which is no crossing.
        events.append(Event(f"{contact.name} lets go", casadi.if_else(at.gap < 0, hold, 0), -1, go_on))
    return tuple(events)


@dataclass(frozen=True, eq=False)
class _Touch:
    gap: casadi.SX
    normal: casadi.DM
    tangent: casadi.DM
    normal_speed: casadi.SX
    slip: casadi.SX

    @staticmethod
    def of(centre: Place, radius: float, surface: Line) -> _Touch:
        length = math.hypot(*surface.normal)
        n = casadi.DM([surface.normal[0] / length, surface.normal[1] / length])
        t = casadi.DM([float(n[1]), -float(n[0])])
        gap = casadi.dot(centre.position - casadi.DM(surface.point), n) - radius
        return _Touch(gap, n, t, casadi.dot(centre.velocity, n), casadi.dot(centre.velocity, t) + radius * centre.spin)


@dataclass(frozen=True, eq=False)
class Resting:
    """The ground under a body that came to rest on it after rigid impacts: a constant normal force, and friction."""

    name: str
    body: str
    normal_force: float
    friction: Coulomb | None = None
    at: tuple[float, float] = (0.0, 0.0)
    radius: float = 0.0
    surface: Line = Line()

    def effects(self, scene: Scene) -> Effects:
        centre = scene.place(self.body, self.at, self.name)
        touch = _Touch.of(centre, self.radius, self.surface)
        # Events are located to round-off, and a resting body moves along the surface only: both hold exactly or not at all.
        rests = casadi.logic_and(touch.gap < 1e-9, casadi.fabs(touch.normal_speed) < 1e-9)
        normal = casadi.if_else(rests, self.normal_force, 0)
        sideways = self.friction.force(normal, touch.slip) if self.friction else casadi.SX(0)
        foot = Place(centre.position - self.radius * touch.normal, centre.velocity, centre.angle, centre.spin, centre.body)
        return Effects(forces=push(foot, normal * touch.normal + sideways * touch.tangent))


# Impacts --------------------------------------------------------------------------------------------------------------------


class ImpactLaw(Protocol):
    """From the velocities of the contact point before an impact, and its mobility, to the impulses."""

    def impulse(self, before: casadi.SX, mobility: casadi.SX) -> casadi.SX:
        """(normal, tangential) impulse; ``mobility`` (2, 2) maps impulses to changes of the contact velocity."""
        ...


@dataclass(frozen=True)
class NewtonImpact:
    """Newton's law: the normal velocity returns with -e; friction holds the foot if it can, else it slides."""

    restitution: float
    friction: float = 0.0
    rest_speed: float = 0.0  # slower impacts do not come back: the end of an infinite series of bounces

    def __post_init__(self) -> None:
        _restitution(self.restitution)
        _positive("friction coefficient", self.friction, zero=True)

    def impulse(self, before: casadi.SX, mobility: casadi.SX) -> casadi.SX:
        e = casadi.if_else(-before[0] < self.rest_speed, 0, self.restitution)
        return _phase(before, mobility, -(1 + e) * before[0], self.friction)


@dataclass(frozen=True)
class PoissonImpact:
    """Poisson's law: compression until the normal velocity is zero, then e times its impulse given back."""

    restitution: float
    friction: float = 0.0
    rest_speed: float = 0.0  # slower impacts do not come back: the end of an infinite series of bounces

    def __post_init__(self) -> None:
        _restitution(self.restitution)
        _positive("friction coefficient", self.friction, zero=True)

    def impulse(self, before: casadi.SX, mobility: casadi.SX) -> casadi.SX:
        compression = _phase(before, mobility, -before[0], self.friction)
        middle = before + mobility @ compression
        normal = casadi.if_else(-before[0] < self.rest_speed, 0, self.restitution) * compression[0]
        hold = -(middle[1] + mobility[1, 0] * normal) / mobility[1, 1]
        limit = self.friction * normal
        return compression + casadi.vertcat(normal, casadi.fmax(casadi.fmin(hold, limit), -limit))


def _phase(before: casadi.SX, mobility: casadi.SX, change: casadi.SX, friction: float) -> casadi.SX:
    """The impulses that change the normal velocity by ``change``: sticking where friction allows it, else sliding."""
    if friction == 0.0:
        return casadi.vertcat(change / mobility[0, 0], 0)
    stick = casadi.solve(mobility, casadi.vertcat(change, -before[1]))
    direction = casadi.sign(stick[1])  # the sliding impulse has the sense of the one that would hold
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
    """The event of a rigid impact of a body with the ground, for a system that keeps all velocities as states.

    The constraints of the mechanism hold during the impact: the jump is along what they leave free.

    >>> from trajopt.mechanics import assemble
    >>> ball = Body("ball", mass=1.0, inertia=0.004, position=(0.0, 1.0))
    >>> model = assemble("ball", [ball])
    >>> system = model.system(events=(impact(model, ball, NewtonImpact(0.8), radius=0.1),))
    >>> system.events[0].name, system.events[0].direction
    ('ball hits the ground', -1)
    """
    surface = surface or Line()
    theta = body.coordinates[2]
    centre = Place(body.point(at), body.velocity_of(at), theta.q, theta.v, body)
    touch = _Touch.of(centre, radius, surface)
    contact_velocity = casadi.vertcat(touch.normal_speed, touch.slip)
    J = casadi.jacobian(contact_velocity, mechanism.v)  # (2, n)
    n, m = len(mechanism.coordinates), len(mechanism.rows)
    A = mechanism.matrix
    whole = casadi.vertcat(casadi.horzcat(mechanism.mass, -A.T), casadi.horzcat(A, casadi.SX(m, m)))
    response = casadi.solve(casadi.densify(whole), casadi.vertcat(casadi.densify(J).T, casadi.SX.zeros(m, 2)))[:n, :]
    after = mechanism.v + response @ law.impulse(contact_velocity, J @ response)
    return Event(f"{body.name} hits the ground", touch.gap, -1, casadi.vertcat(mechanism.q, after))


def _power(depth: Any, exponent: float) -> Any:
    """depth^exponent inside, zero outside; the base is kept away from zero because d^n has no derivative there."""
    inside = depth > 0
    return casadi.if_else(inside, casadi.if_else(inside, depth, 1.0) ** exponent, 0)


def _positive(what: str, value: float, zero: bool = False) -> None:
    if not (value > 0 or (zero and value == 0)):
        raise ModelError(f"a contact needs a {what} that is not negative{'' if zero else ' or zero'}", got=value)


def _restitution(value: float) -> float:
    if not 0 <= value <= 1:
        raise ModelError("a coefficient of restitution lies between 0 and 1", got=value)
    return value
