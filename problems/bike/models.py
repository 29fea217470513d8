"""The bike-trial robot: rider and bicycle in a vertical plane, with five and with seven links.

Source: thesis on a bike-trial robot (Japanese), chapters 4 to 6. Both riders hold the handlebar, so
that rider and bicycle form a closed loop. Here the loop is solved for: shoulder and hand fix the
elbow (two circles), and what remains are independent coordinates, in which no loop can drift.
``problems.bike.trees`` states the same machines by links and closures.

Lengths in m, masses in kg, inertias about mass centres in kg m^2, angles in rad unless a name ends
in ``_deg``. x is forward, y up, ``beta`` is the rise of the front wheel. Values marked "ours" are
not in the thesis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi
from casadi import SX, cos, sin

from problems.bike.loop import FreeMotion, Limb, Loop, Point, quarter, turned
from trajopt.mechanics import Coordinate, Holonomic, Inertia, Mechanism, Quantity
from trajopt.parameters import setting_field

G = 9.80665


@dataclass(frozen=True, eq=False)
class Part:
    """A rigid body seen from the bicycle: mass centre from the rear axle, (2,), and direction, by
    the rider's shape.
    """

    mass: Any
    inertia: Any
    centre: SX
    angle: Any = 0.0


@dataclass(frozen=True, eq=False)
class Posture:
    """A rider on a bicycle, in the bicycle's axes: parts, points and joint angles as expressions of
    the shape.
    """

    shape: SX  # the symbols
    parts: tuple[Part, ...]  # without the rear wheel, which turns by itself
    points: Mapping[str, SX]
    angles: Mapping[str, SX]  # of the joints, as the thesis counts them
    reach: SX  # from shoulder to hand
    loop: Loop

    @cached_property
    def mass(self) -> Any:
        return sum(p.mass for p in self.parts)

    @cached_property
    def centre(self) -> SX:
        """The mass centre of the parts, (2,)."""
        return sum((p.mass * p.centre for p in self.parts), SX.zeros(2, 1)) / self.mass


def energies(
    posture: Posture, axle: tuple[Any, Any], beta: Any, rates: Any, gravity: float
) -> tuple[SX, SX]:
    """Kinetic and potential energy of the parts from their places, by differentiation; ``rates``
    are (x', y', beta', s').
    """
    s = posture.shape
    base = casadi.horzcat(turned(-beta, casadi.DM([1, 0])), turned(-beta, casadi.DM([0, 1])))
    kinetic = SX(0)
    for p in posture.parts:
        velocity = casadi.horzcat(base, quarter(p.centre), casadi.jacobian(p.centre, s)) @ rates
        spin = casadi.horzcat(0, 0, 1, casadi.jacobian(SX(p.angle), s)) @ rates
        kinetic += (p.mass * casadi.sumsqr(velocity) + p.inertia * spin**2) / 2
    return kinetic, posture.mass * gravity * (axle[1] + turned(beta, posture.centre)[1])


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine in one state of contact, in independent coordinates."""

    mechanism: Mechanism
    posture: Posture
    place: SX  # (x, y, beta, shape) as expressions of the coordinates
    # the whole force of the ground (2,), an expression of coordinates, rates and ``accelerations``
    ground: SX
    accelerations: SX

    def ground_force(self, q: Any, v: Any, a: Any) -> Any:
        """The force (2,) of the ground on the machine, all wheels together: what gravity leaves of
        the change of momentum.
        """
        m = self.mechanism
        return casadi.Function("ground_force", [m.q, m.v, self.accelerations, m.p], [self.ground])(
            q, v, a, m.p if m.parameters else []
        )

    def seen(self, expression: Any, q: Any) -> Any:
        """An expression of the posture (a joint angle, a point in the bicycle's axes) at
        coordinates.
        """
        place = casadi.substitute(self.place, self.mechanism.q, q)
        return casadi.substitute(SX(expression), self.posture.shape, place[3:])

    def point(self, name: str, q: Any) -> Any:
        """A named point, or the ``"mass centre"``, in the ground's axes."""
        place = casadi.substitute(self.place, self.mechanism.q, q)
        if name == "mass centre":
            total = self.posture.mass + self.wheel_mass
            return place[:2] + self.posture.mass / total * turned(
                place[2], self.seen(self.posture.centre, q)
            )
        return place[:2] + turned(place[2], self.seen(self.posture.points[name], q))

    wheel_mass: Any = 0.0


def reduced(
    posture: Posture,
    free: FreeMotion,
    coordinates: Sequence[Coordinate],
    place: SX,
    wheel: tuple[float, float, SX],
    gravity: float,
) -> dict[str, Any]:
    """Energies and inertia in coordinates that ``place`` (x, y, beta, shape) depends on linearly.

    ``wheel`` is the rear wheel at the axle: mass, inertia and its spin as an expression of the
    rates.
    """
    q, v = casadi.vertcat(*[c.q for c in coordinates]), casadi.vertcat(*[c.v for c in coordinates])
    T = casadi.jacobian(place, q)  # constant
    symbols = [free.beta, free.rates, posture.shape]
    values = [casadi.densify(part) for part in (place[2], T @ v, place[3:])]
    mass_of, inertia_of, spin = wheel
    kinetic, potential = energies(posture, (place[0], place[1]), free.beta, free.rates, gravity)
    M, bias = T.T @ free.mass_matrix @ T, T.T @ free.bias(gravity)
    K = casadi.jacobian(spin, v)
    axle = T[:2, :]
    extra = mass_of * axle.T @ axle + inertia_of * K.T @ K
    M, bias, kinetic, potential = casadi.substitute([M, bias, kinetic, potential], symbols, values)
    return {
        "kinetic": kinetic + 0.5 * casadi.dot(v, extra @ v),
        "potential": potential + mass_of * gravity * place[1],
        "inertia": Inertia(M + extra, bias + mass_of * gravity * T[1, :].T),
    }


def machine(
    name: str,
    posture: Posture,
    coordinates: Sequence[Coordinate],
    place: SX,
    wheel: tuple[float, float, SX],
    gravity: float,
    **details: Any,
) -> Machine:
    """A machine in independent coordinates; ``details`` are forces, controls and constraints of the
    mechanism.
    """
    beta, rates = SX.sym("beta"), SX.sym("rates", place.numel())
    free = FreeMotion(posture.loop, beta, rates)
    energy = reduced(posture, free, coordinates, place, wheel, gravity)
    mechanism = Mechanism(name, tuple(coordinates), **energy, **details)
    a = SX.sym("a", mechanism.q.numel())
    T = casadi.jacobian(place, mechanism.q)
    force = free.push(T @ a, gravity) + wheel[0] * (T[:2, :] @ a + casadi.vertcat(0, gravity))
    here = casadi.densify(casadi.vertcat(place[2], T @ mechanism.v, place[3:]))
    ground = casadi.substitute(force, casadi.vertcat(beta, rates, posture.shape), here)
    return Machine(mechanism, posture, place, ground, a, wheel[0])


def bent_arm(
    shoulder: SX, hand: SX, upper: float, fore: float, side: float, guard: float = 0.0
) -> tuple[SX, SX, SX]:
    """The elbow, and the directions (counter-clockwise from x) of both arms; ``side`` +1: left of
    the line to the hand.
    """
    reach = hand - shoulder
    d2 = casadi.sumsqr(reach)
    along = (d2 + upper**2 - fore**2) / (2 * d2)  # fractions of the reach
    aside = upper**2 / d2 - along**2
    aside = casadi.sqrt(casadi.fmax(aside, guard) if guard else aside)
    elbow = shoulder + along * reach + side * aside * quarter(reach)
    first, second = elbow - shoulder, hand - elbow
    return elbow, casadi.atan2(first[1], first[0]), casadi.atan2(second[1], second[0])


def elbow_flexion(reach: Any, upper: float, fore: float, guard: float = 0.0) -> Any:
    """The angle between upper arm and forearm, 0 for a straight arm, from the distance of shoulder
    and hand.
    """
    cosine = (reach**2 - upper**2 - fore**2) / (2 * upper * fore)
    return casadi.acos(casadi.fmin(cosine, 1 - guard) if guard else cosine)


# Five links
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FiveLink:
    """Data of the five-link machine: rear wheel, bicycle, torso on the saddle, upper arm, forearm.

    Saddle, handlebar, mass centre and wheelbase are ours; the saddle stands so that the common mass
    centre is above the contact at 30 deg rise and 20 deg backward lean. The bicycle's mass and
    inertia include the front wheel.
    """

    wheel_radius: Any = setting_field(0.275, "m", "radius of both wheels", 0.1, 0.6)
    wheel_mass: Any = setting_field(1.685, "kg", "mass of the rear wheel", 0.1, 20)
    wheel_inertia: Any = setting_field(
        0.0918, "kg m^2", "inertia of the rear wheel about its axle", 1e-3, 2
    )
    bicycle_mass: Any = setting_field(
        12.0, "kg", "mass of the bicycle with its front wheel, without the rear wheel", 1, 50
    )
    bicycle_inertia: Any = setting_field(
        1.2651, "kg m^2", "inertia of the bicycle about its mass centre", 0.01, 20
    )
    torso: Limb = Limb(0.5, 30.0, 0.706)
    upper_arm: Limb = Limb(0.4, 10.0, 0.14)
    forearm: Limb = Limb(0.45, 10.0, 0.1755)
    handlebar: Point = setting_field(
        (0.866, 0.716), "m", "handlebar from the rear axle, forwards and up"
    )  # ours, as the following
    bicycle_centre: Point = setting_field(
        (0.45, 0.20), "m", "mass centre of the bicycle from the rear axle, forwards and up"
    )
    saddle: Point = setting_field(
        (0.09672, 0.35), "m", "saddle from the rear axle, forwards and up"
    )
    wheelbase: float = setting_field(1.015, "m", "distance of the axles", 0.5, 1.5)
    gravity: float = setting_field(G, "m/s^2", "gravity", 0.1, 30)
    waist_deg: tuple[float, float] = setting_field(
        (-30.0, 45.0), "deg", "range of the torso's lean, forwards positive"
    )
    shoulder_deg: tuple[float, float] = setting_field((90.0, 180.0), "deg", "range of the shoulder")
    elbow_deg: tuple[float, float] = setting_field((-90.0, 0.0), "deg", "range of the elbow")
    torso_start_deg: float = setting_field(
        20.0, "deg", "lean of the torso at the start, forwards positive", -30, 45
    )  # ours
    symbols: tuple[Quantity, ...] = ()  # that masses depend on

    @property
    def rider_mass(self) -> Any:
        """Of all links of the rider (kg)."""
        return self.torso.mass + self.upper_arm.mass + self.forearm.mass

    def with_rider(self, mass: Quantity) -> FiveLink:
        """With the rider's mass as a symbol: masses and inertias of all links in proportion."""
        links = _scaled(self, mass.symbol / self.rider_mass, ("torso", "upper_arm", "forearm"))
        return replace(self, symbols=(*self.symbols, mass), **links)


def _scaled(data: Any, factor: Any, links: Sequence[str]) -> dict[str, Limb]:
    """Links of a machine with masses and inertias times a factor."""
    found = {name: getattr(data, name) for name in links}
    return {
        name: replace(link, mass=factor * link.mass, inertia=factor * link.inertia)
        for name, link in found.items()
    }


FIVE_LINK = FiveLink()


def five_link_posture(data: FiveLink = FIVE_LINK) -> Posture:
    """The shape is the torso's lean against the bicycle, theta1 + beta, forwards positive; the loop
    leaves nothing else.
    """
    lean = SX.sym("lean")
    saddle, hand = SX(casadi.DM(data.saddle)), SX(casadi.DM(data.handlebar))
    up = casadi.vertcat(sin(lean), cos(lean))
    shoulder = saddle + data.torso.length * up
    elbow, upper, fore = bent_arm(shoulder, hand, data.upper_arm.length, data.forearm.length, -1.0)
    parts = (
        Part(data.bicycle_mass, data.bicycle_inertia, SX(casadi.DM(data.bicycle_centre))),
        Part(data.torso.mass, data.torso.inertia, saddle + data.torso.length / 2 * up, -lean),
        Part(data.upper_arm.mass, data.upper_arm.inertia, (shoulder + elbow) / 2, upper),
        Part(data.forearm.mass, data.forearm.inertia, (elbow + hand) / 2, fore),
    )
    reach = casadi.norm_2(hand - shoulder)
    points = {
        "rear axle": SX.zeros(2, 1),
        "front axle": SX(casadi.DM([data.wheelbase, 0])),
        "saddle": saddle,
    }
    points |= {"shoulder": shoulder, "elbow": elbow, "hand": hand}
    angles = {
        "shoulder": casadi.pi / 2 - upper - lean,
        "elbow": -elbow_flexion(reach, data.upper_arm.length, data.forearm.length),
    }
    frame = (data.bicycle_mass, data.bicycle_inertia, data.bicycle_centre)
    arms = ((elbow - shoulder) / data.upper_arm.length, (hand - elbow) / data.forearm.length)
    loop = Loop(
        frame,
        data.saddle,
        data.handlebar,
        (data.torso,),
        (data.upper_arm, data.forearm),
        lean,
        (casadi.pi / 2 - lean,),
        arms,
    )
    return Posture(lean, parts, points, angles, reach, loop)


def five_link(data: FiveLink = FIVE_LINK, front_down: bool = False) -> Machine:
    """Rolling on the rear wheel, coordinates x, beta, torso (the thesis' theta1, from the vertical,
    forwards positive).

    With the front wheel down its contact is a constraint, whose reaction is the moment of its force
    about the axle.
    """
    x, beta = Coordinate("x", unit="m"), Coordinate("beta", unit="rad")
    torso = Coordinate("torso", data.torso_start_deg * casadi.pi / 180, unit="rad")
    drive, waist = Quantity("wheel_torque", 0.0, "N m"), Quantity("waist_torque", 0.0, "N m")
    wheel = (data.wheel_mass, data.wheel_inertia, -x.v / data.wheel_radius)
    return machine(
        "five-link, front wheel down" if front_down else "five-link",
        five_link_posture(data),
        (x, beta, torso),
        casadi.vertcat(x.q, data.wheel_radius, beta.q, torso.q + beta.q),
        wheel,
        data.gravity,
        # The motors sit on the bicycle: a torque that drives the wheel, or bends the torso
        # forwards, lifts the front.
        forces={
            "x": drive.symbol / data.wheel_radius,
            "beta": drive.symbol + waist.symbol,
            "torso": waist.symbol,
        },
        constraints=(Holonomic("front wheel", beta.q),) if front_down else (),
        controls=(drive, waist),
        parameters=data.symbols,
    )


def free_five_link(data: FiveLink = FIVE_LINK) -> Machine:
    """On no contact: x and y of the rear axle, a wheel that turns by itself (clockwise), beta and
    torso.
    """
    x, y, beta = (
        Coordinate("x", unit="m"),
        Coordinate("y", data.wheel_radius, unit="m"),
        Coordinate("beta", unit="rad"),
    )
    wheel, torso = (
        Coordinate("wheel", unit="rad"),
        Coordinate("torso", data.torso_start_deg * casadi.pi / 180, unit="rad"),
    )
    drive, waist = Quantity("wheel_torque", 0.0, "N m"), Quantity("waist_torque", 0.0, "N m")
    return machine(
        "five-link, free",
        five_link_posture(data),
        (x, y, wheel, beta, torso),
        casadi.vertcat(x.q, y.q, beta.q, torso.q + beta.q),
        (data.wheel_mass, data.wheel_inertia, -wheel.v),
        data.gravity,
        forces={"wheel": drive.symbol, "beta": drive.symbol + waist.symbol, "torso": waist.symbol},
        controls=(drive, waist),
    )


# Seven links
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SevenLink:
    """Data of the seven-link machine: rear wheel, bicycle, shank, thigh, torso, upper arm, forearm;
    the ankle is at the axle.

    Handlebar and wheelbase stand in the thesis' program; the bicycle's mass centre is ours. Links:
    length, mass, inertia. The brake is on: the rear wheel turns with the bicycle.
    """

    wheel_radius: Any = setting_field(0.254, "m", "radius of both wheels", 0.1, 0.6)
    wheel_mass: Any = setting_field(4.0, "kg", "mass of the rear wheel", 0.1, 20)
    wheel_inertia: Any = setting_field(
        0.129, "kg m^2", "inertia of the rear wheel about its axle", 1e-3, 2
    )
    bicycle_mass: Any = setting_field(
        6.0, "kg", "mass of the bicycle with its front wheel, without the rear wheel", 1, 50
    )
    bicycle_inertia: Any = setting_field(
        1.2651, "kg m^2", "inertia of the bicycle about its mass centre", 0.01, 20
    )
    shank: Limb = Limb(0.435, 7.0596, 0.114)
    thigh: Limb = Limb(0.435, 15.1848, 0.246)
    torso: Limb = Limb(0.653, 28.638, 1.082)
    upper_arm: Limb = Limb(0.326, 4.7952, 0.044)
    forearm: Limb = Limb(0.326, 3.8628, 0.036)
    handlebar: Point = setting_field(
        (0.866, 0.716), "m", "handlebar from the rear axle, forwards and up"
    )
    wheelbase: float = setting_field(1.015, "m", "distance of the axles", 0.5, 1.5)
    bicycle_centre: Point = setting_field(
        (0.45, 0.15), "m", "mass centre of the bicycle from the rear axle, forwards and up"
    )  # ours
    gravity: float = setting_field(G, "m/s^2", "gravity", 0.1, 30)
    ankle_deg: tuple[float, float] = setting_field((45.0, 135.0), "deg", "range of the ankle")
    knee_deg: tuple[float, float] = setting_field((0.0, 120.0), "deg", "range of the knee")
    waist_deg: tuple[float, float] = setting_field((-165.0, 0.0), "deg", "range of the waist")
    shoulder_deg: tuple[float, float] = setting_field(
        (-180.0, -30.0), "deg", "range of the shoulder"
    )
    elbow_deg: tuple[float, float] = setting_field((0.0, 165.0), "deg", "range of the elbow")


SEVEN_LINK = SevenLink()


def seven_link_posture(data: SevenLink = SEVEN_LINK, guard: float = 0.0) -> Posture:
    """The shape is (ankle, knee, waist), each counter-clockwise from the link before, the ankle
    from the bicycle's axis.

    Out of the arm's reach nothing is a number; a small ``guard`` keeps numbers there, for solvers
    that pass through.
    """
    shape = casadi.vertcat(*[SX.sym(name) for name in ("ankle", "knee", "waist")])
    lengths = (data.shank.length, data.thigh.length, data.torso.length)
    directions = [casadi.sum1(shape[: k + 1]) for k in range(3)]
    joints = [SX.zeros(2, 1)]
    for length, angle in zip(lengths, directions, strict=True):
        joints.append(joints[-1] + length * casadi.vertcat(cos(angle), sin(angle)))
    hand, shoulder = SX(casadi.DM(data.handlebar)), joints[3]
    elbow, upper, fore = bent_arm(
        shoulder, hand, data.upper_arm.length, data.forearm.length, -1.0, guard
    )
    chain = [
        *zip((data.shank, data.thigh, data.torso), joints, joints[1:], directions, strict=False)
    ]
    chain += [(data.upper_arm, shoulder, elbow, upper), (data.forearm, elbow, hand, fore)]
    bicycle = Part(data.bicycle_mass, data.bicycle_inertia, SX(casadi.DM(data.bicycle_centre)))
    parts = (
        bicycle,
        *(Part(link.mass, link.inertia, (a + b) / 2, angle) for link, a, b, angle in chain),
    )
    names = ("rear axle", "knee", "hip", "shoulder", "elbow", "hand", "front axle")
    places = (*joints, elbow, hand, SX(casadi.DM([data.wheelbase, 0])))
    reach = casadi.norm_2(hand - shoulder)
    angles = {
        "ankle": shape[0],
        "knee": shape[1],
        "waist": shape[2],
        "shoulder": upper - directions[2],
        "elbow": elbow_flexion(reach, data.upper_arm.length, data.forearm.length, guard),
    }
    frame = (data.bicycle_mass, data.bicycle_inertia, data.bicycle_centre)
    arms = ((elbow - shoulder) / data.upper_arm.length, (hand - elbow) / data.forearm.length)
    links, arm_links = (data.shank, data.thigh, data.torso), (data.upper_arm, data.forearm)
    loop = Loop(frame, (0.0, 0.0), data.handlebar, links, arm_links, shape, tuple(directions), arms)
    return Posture(shape, parts, dict(zip(names, places, strict=True)), angles, reach, loop)


def seven_link(
    data: SevenLink = SEVEN_LINK, stance: bool = True, rolling: bool = False, guard: float = 0.0
) -> Machine:
    """On the braked rear wheel, which rolls with the bicycle (x = -R beta), or in the air (with x
    and y of the rear axle).

    Knee, waist and elbow have torques, positive with growing angles; ankle and shoulder have none.
    A ``rolling`` wheel turns by itself in the stance: x is a coordinate, and a torque acts between
    wheel and bicycle, which drives forwards where positive.
    """
    beta = Coordinate("beta", 0.5, unit="rad")
    limbs = [
        Coordinate(name, start, unit="rad")
        for name, start in (("ankle", 1.3), ("knee", 1.0), ("waist", -1.8))
    ]
    x, y = Coordinate("x", 0.0, unit="m"), Coordinate("y", data.wheel_radius, unit="m")
    axle = [] if stance else [x, y]
    at = (
        casadi.vertcat(-data.wheel_radius * beta.q, data.wheel_radius)
        if stance
        else casadi.vertcat(x.q, y.q)
    )
    torques = [Quantity(f"{name}_torque", 0.0, "N m") for name in ("knee", "waist", "elbow")]
    spin, forces = beta.v, {}
    if stance and rolling:
        axle, at, spin = [x], casadi.vertcat(x.q, data.wheel_radius), -x.v / data.wheel_radius
        torques.append(Quantity("wheel_torque", 0.0, "N m"))
        forces = {"x": torques[3].symbol / data.wheel_radius, "beta": torques[3].symbol}
    posture = seven_link_posture(data, guard)
    lever = (
        posture.loop.slopes[-1, :] - posture.loop.slopes[-2, :]
    ).T  # the elbow's rate by those of the shape
    lever = (
        casadi.substitute(lever, posture.shape, casadi.vertcat(*[c.q for c in limbs]))
        * torques[2].symbol
    )
    forces |= {
        "ankle": lever[0],
        "knee": torques[0].symbol + lever[1],
        "waist": torques[1].symbol + lever[2],
    }
    return machine(
        "seven-link, flight"
        if not stance
        else "seven-link, rolling"
        if rolling
        else "seven-link, stance",
        posture,
        (*axle, beta, *limbs),
        casadi.vertcat(at, beta.q, *[c.q for c in limbs]),
        (data.wheel_mass, data.wheel_inertia, spin),
        data.gravity,
        forces=forces,
        controls=torques,
    )


def free_seven_link(data: SevenLink = SEVEN_LINK) -> Machine:
    """On no contact: x and y of the rear axle, a wheel that turns by itself (clockwise), beta,
    ankle, knee and waist.
    """
    names = (
        ("x", "m"),
        ("y", "m"),
        ("wheel", "rad"),
        ("beta", "rad"),
        ("ankle", "rad"),
        ("knee", "rad"),
        ("waist", "rad"),
    )
    coordinates = [Coordinate(name, unit=unit) for name, unit in names]
    x, y, wheel, beta, *limbs = coordinates
    torques = [
        Quantity(f"{name}_torque", 0.0, "N m") for name in ("wheel", "knee", "waist", "elbow")
    ]
    posture = seven_link_posture(data)
    here = casadi.vertcat(*[c.q for c in limbs])
    lever = (
        casadi.substitute(
            casadi.gradient(posture.angles["elbow"], posture.shape), posture.shape, here
        )
        * torques[3].symbol
    )
    drive, knee, waist, _ = (t.symbol for t in torques)
    return machine(
        "seven-link, free",
        posture,
        coordinates,
        casadi.vertcat(x.q, y.q, beta.q, here),
        (data.wheel_mass, data.wheel_inertia, -wheel.v),
        data.gravity,
        forces={
            "wheel": drive,
            "beta": drive,
            "ankle": lever[0],
            "knee": knee + lever[1],
            "waist": waist + lever[2],
        },
        controls=torques,
    )
