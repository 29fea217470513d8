"""The phases of a jump: the seven-link bike robot pushes off on its braked rear wheel, and tucks in
the air.

It starts from rest, the mass centre above the contact. Knee, waist and elbow have limited torques,
ankle and shoulder none; joints have ranges and rates of at most 15 rad/s; the tyre only pushes, and
within its friction cone. The torques are states, and their rates the controls: so they are
continuous also where the wheel leaves the ground, and the condition that the ground's force is zero
there means something. (Torques that may jump meet it for an instant, at no cost.)

The thesis (chapter 6) has the machine and the aim; the statement is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import radians
from typing import Any

import casadi
import numpy as np
import scipy.interpolate

from problems.bike.models import SEVEN_LINK, Machine, SevenLink, seven_link
from problems.bike.trees import close_loop
from trajopt import Problem, free
from trajopt.mechanics.formulations import solve_symmetric
from trajopt.parameters import setting_field

LIMBS = ("ankle", "knee", "waist")
WEIGHT = 700.0  # N, a size of forces
POSTURES = 41  # of a guess that is moved to other lengths
TORQUES = ("knee_torque", "waist_torque", "elbow_torque")


@dataclass(frozen=True)
class Jump:
    """What a jump must respect.

    ``limits``: torques of knee, waist and elbow, N m; rates in rad/s; angles in deg.
    """

    limits: tuple[float, float, float] = setting_field(
        (250.0, 300.0, 100.0), "N m", "torque limits of knee, waist and elbow"
    )
    rate: float = setting_field(15.0, "rad/s", "limit of the joint rates", 5, 50)
    friction: float = setting_field(0.9, "1", "friction of the tyres", 0.1, 3)
    dent: float = setting_field(
        1e-3, "m", "how far the tyre may be pressed in after take-off", 0, 0.01
    )
    adhesion: float = setting_field(
        1.0, "N", "by how much the friction cone is wider than it should be", 0, 10
    )
    # With more time it may crouch first, for hardly any height.
    longest_push: float = setting_field(
        0.35, "s", "longest time on the ground before take-off", 0.15, 2
    )
    rise: tuple[float, float] = setting_field(
        (15.0, 45.0), "deg", "range of the front's rise at the start"
    )
    margin: float = setting_field(
        0.5, "deg", "distance from all stops at the start and at the end", 0, 5
    )
    # A straight arm (0) is a dead centre of the loop.
    straightest_elbow: float = setting_field(
        15.0, "deg", "straightest elbow, 0 for a straight arm", 0.5, 60
    )
    effort_weight: float = setting_field(
        0.01, "m/s", "weight of the squared torques by their limits", 0, 10
    )
    rate_weight: float = setting_field(
        1e-3, "m s", "weight of the squared torque rates by the limits", 1e-5, 1
    )
    # keeps numbers where the hand is out of reach, as may be between the nodes of a coarse mesh
    guard: float = 0.0


JUMP = Jump()


@dataclass(frozen=True)
class Wheel:
    """A rear wheel that rolls in the stance, and spins in the air: its speed at the start (m/s),
    the torques (N m) that slow it down and drive it.

    Places and velocities are counted from a point that comes along with that speed.
    """

    speed: float
    brake: float = 150.0
    drive: float = 0.0


@dataclass(frozen=True)
class Sketch:
    """A guess of a phase: postures (beta, ankle, knee, waist in deg) at fractions of its duration
    (s), and torques (N m).
    """

    duration: float
    at: tuple[float, ...]
    postures: tuple[tuple[float, float, float, float], ...]
    torques: tuple[float, float, float]

    def angles(self, data: SevenLink) -> list[Any]:
        """Smooth curves through the postures, rad, each with its rate: functions of normalised
        time.

        The postures are those of the machine of the thesis. With other lengths of the links the
        limbs are moved, as little as possible, so that the elbow keeps its angle: otherwise the
        hand may be out of the arm's reach.
        """
        curves = scipy.interpolate.PchipInterpolator(self.at, np.radians(self.postures))
        lengths, thesis = _lengths(data), _lengths(SEVEN_LINK)
        if lengths != thesis and all(isinstance(length, float) for length in lengths):
            at = np.linspace(0.0, 1.0, POSTURES)
            moved = [
                (beta, *_with_elbow_of(shape, lengths, thesis, data.handlebar))
                for beta, *shape in curves(at)
            ]
            curves = scipy.interpolate.PchipInterpolator(at, moved)
        return [
            (lambda s, k=k: curves(s)[..., k], lambda s, k=k: curves(s, 1)[..., k] / self.duration)
            for k in range(1 + len(LIMBS))
        ]


def _lengths(data: SevenLink) -> tuple[Any, ...]:
    return tuple(
        limb.length for limb in (data.shank, data.thigh, data.torso, data.upper_arm, data.forearm)
    )


def _with_elbow_of(
    shape: Sequence[float],
    lengths: tuple[Any, ...],
    thesis: tuple[Any, ...],
    handlebar: tuple[float, float],
) -> Any:
    """Ankle, knee and waist near ``shape`` at which the elbow has the angle that it has in the
    thesis' machine.
    """

    def to_shoulder(limbs: tuple[Any, ...], shape: Any) -> Any:
        directions = np.cumsum(shape)
        return np.array(limbs[:3])[:, None] * np.stack(
            [np.cos(directions), np.sin(directions)], axis=1
        )

    upper, fore = thesis[3:]
    reach = np.array(SEVEN_LINK.handlebar) - to_shoulder(thesis, shape).sum(axis=0)
    cosine = (reach @ reach - upper**2 - fore**2) / (2 * upper * fore)
    wanted = lengths[3] ** 2 + lengths[4] ** 2 + 2 * lengths[3] * lengths[4] * cosine
    found = np.array(shape, dtype=float)
    for _ in range(20):  # the shortest Newton steps
        links = to_shoulder(lengths, found)
        reach = np.array(handlebar) - links.sum(axis=0)
        # The shoulder turns about each joint with all links that follow it.
        later = np.cumsum(links[::-1], axis=0)[::-1]
        slope = -2 * (later @ np.array([[0.0, 1.0], [-1.0, 0.0]])) @ reach
        found -= slope * (reach @ reach - wanted) / (slope @ slope)
    return found


CROUCH, TAKE_OFF = (19.0, 67.0, 118.0, -163.0), (22.0, 56.0, 58.0, -69.0)
STRETCH, TUCK = (26.0, 61.0, 22.0, -33.0), (2.0, 56.0, 117.0, -160.0)
PUSH = Sketch(
    0.25,
    (0.0, 0.4, 0.8, 1.0),
    (CROUCH, (18.0, 63.0, 117.0, -149.0), (19.0, 55.0, 92.0, -105.0), TAKE_OFF),
    (-150.0, 200.0, 5.0),
)
HOP = Sketch(
    0.32,
    (0.0, 0.2, 0.6, 1.0),
    (TAKE_OFF, STRETCH, (12.0, 52.0, 90.0, -112.0), TUCK),
    (0.0, -80.0, -5.0),
)
# Onto a platform: the front higher, slower, landing tucked and level.
LEAVING = (30.0, 53.0, 45.0, -54.0)
PLATFORM_PUSH = Sketch(
    0.3,
    (0.0, 0.5, 1.0),
    ((28.5, 56.0, 119.0, -164.0), (27.0, 50.0, 107.0, -133.0), LEAVING),
    (-130.0, 220.0, 25.0),
)
PLATFORM_HOP = Sketch(
    0.33,
    (0.0, 0.22, 0.5, 1.0),
    (LEAVING, (30.0, 56.0, 14.0, -18.0), (18.0, 48.0, 70.0, -70.0), (1.0, 76.0, 117.0, -162.0)),
    (0.0, -50.0, 0.0),
)


# Onto a platform from a rolling wheel.
ROLLING_PUSH = Sketch(
    0.23,
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    (
        (28.5, 56.0, 118.5, -163.0),
        (28.0, 54.0, 119.0, -159.0),
        (27.0, 49.0, 117.0, -146.0),
        (26.0, 46.0, 107.0, -126.0),
        (25.0, 47.0, 87.0, -98.0),
        (27.0, 54.0, 48.0, -56.0),
    ),
    (-150.0, 300.0, 20.0),
)
ROLLING_HOP = Sketch(
    0.36,
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    (
        (27.0, 54.0, 48.0, -56.0),
        (30.0, 58.0, 8.0, -7.0),
        (23.0, 46.0, 57.0, -52.0),
        (13.0, 53.0, 90.0, -103.0),
        (4.0, 68.0, 112.0, -146.0),
        (1.0, 71.0, 119.0, -163.0),
    ),
    (-10.0, -50.0, 0.0),
)


@dataclass(frozen=True, eq=False)
class JumpPhase:
    """A phase of a jump with the expressions that conditions and costs need."""

    phase: Any
    t: Any
    cost: Any  # the integrand of the effort
    axle: Any  # (2,) where the rear axle is
    axle_rate: Any
    centre: Any  # (2,) the mass centre
    centre_rate: Any
    data: SevenLink
    joint_rates: Any  # of beta, ankle, knee, waist


def effort(stage: JumpPhase) -> Any:
    return stage.phase.integral(stage.cost)


def stance(
    ocp: Problem,
    jump: Jump,
    sketch: Sketch,
    strength: Any = None,
    wheel: Wheel | None = None,
    data: SevenLink = SEVEN_LINK,
) -> JumpPhase:
    """On the rear wheel: braked, or rolling where a ``wheel`` says how."""
    machine = seven_link(data, rolling=wheel is not None, guard=jump.guard)
    ph = ocp.phase("stance")
    t = ph.time(start=0, end=free(0.1, jump.longest_push, guess=sketch.duration))
    joints = joint_states(ph, jump, data, sketch, apart=("start",), at_rest=True)
    beta = next(iter(joints))
    torques, cost = drives(ph, jump, sketch, strength)
    if wheel is not None:
        joints, torque, extra = _rolling(ph, jump, wheel, joints, data)
        torques, cost = casadi.vertcat(torques, torque), cost + extra
    q, v = columns(joints)
    acceleration = machine.mechanism.acceleration(q, v, torques)
    a, ground, centre = casadi.cse(
        [acceleration, machine.ground_force(q, v, acceleration), machine.point("mass centre", q)]
    )
    move(ph, joints, a)
    ranges = keep_ranges(ph, machine, q, v, jump, data)
    shoulder, _ = ranges["shoulder"]
    close_loop(
        ph,
        machine.point("rear axle", q),
        (shoulder, ranges["elbow"][0]),
        data,
        rolling=wheel is not None,
    )
    ocp.require(
        ph.initial(shoulder),
        upper=radians(data.shoulder_deg[1] - jump.margin),
        name="shoulder at the start",
    )
    axle = machine.point("rear axle", q)
    # Both together also say that the ground only pushes. Take-off is the tip of the cone, where
    # they would depend on each other: a newton of adhesion keeps them off the tip, and conditions
    # say that it is the end.
    keep_grip(ph, jump, ground)
    ocp.require(ph.initial(centre[0] - axle[0]), equals=0, name="mass centre above the contact")
    ocp.require(
        ph.initial(beta),
        lower=radians(jump.rise[0]),
        upper=radians(jump.rise[1]),
        name="rise at the start",
    )
    ocp.require(ph.final(ground) / WEIGHT, equals=0, name="ground force at take-off by the weight")
    return JumpPhase(
        ph,
        t,
        cost,
        axle,
        casadi.jtimes(axle, q, v),
        centre,
        casadi.jtimes(centre, q, v),
        data,
        v[-4:],
    )


def _rolling(
    ph: Any, jump: Jump, wheel: Wheel, joints: dict[Any, Any], data: SevenLink
) -> tuple[dict[Any, Any], Any, Any]:
    """With the wheel's way before the joints; the torque between wheel and bicycle, a state, and
    what it costs.
    """
    x = ph.state("x", start=0.0, guess=0.0, unit="m")
    x_rate = ph.state("x_rate", start=0.0, guess=0.0, unit="m/s", scale=2.0)
    size = jump.limits[2]
    # In the air the wheel turns by itself.
    torque = ph.state(
        "wheel_torque",
        lower=-wheel.brake,
        upper=wheel.drive,
        end=0.0,
        guess=0.0,
        unit="N m",
        scale=size,
    )
    rate = ph.control("wheel_torque_rate", guess=0.0, unit="N m/s", scale=10 * size)
    ph.dynamics({torque: rate})
    if not wheel.drive:
        beta_rate = next(iter(joints.values()))
        # A brake only slows the wheel down. Nothing else depends on the speed.
        ph.path(
            wheel.speed + x_rate + data.wheel_radius * beta_rate,
            lower=0,
            name="wheel turns forwards",
        )
    cost = jump.effort_weight * (torque / size) ** 2 + jump.rate_weight * (rate / size) ** 2
    return {x: x_rate, **joints}, torque, cost


def keep_grip(ph: Any, jump: Jump, force: Any, where: str = "") -> None:
    """A force (2,) within its friction cone, which is wider by the adhesion."""
    for sign, name in ((-1, "grip forwards"), (1, "grip backwards")):
        ph.path(
            (jump.friction * force[1] + sign * force[0] + jump.adhesion) / WEIGHT,
            lower=0,
            name=where + name,
        )


def flight(
    ocp: Problem,
    jump: Jump,
    sketch: Sketch,
    strength: Any = None,
    wheel: Wheel | None = None,
    last: bool = True,
    data: SevenLink = SEVEN_LINK,
) -> JumpPhase:
    """In the air the mass centre falls freely; the posture follows from what is left of the
    equations without the axle.

    Where it is not the ``last`` phase it may end in any posture.
    """
    data = in_the_air(wheel, data)
    machine = seven_link(data, stance=False, guard=jump.guard)
    ph = ocp.phase("flight")
    t = ph.time(end=free(0.15, 2.5, guess=0.25 + sketch.duration))
    joints = joint_states(ph, jump, data, sketch, apart=("end",) if last else ())
    torques, cost = drives(ph, jump, sketch, strength)
    q, v = columns(joints)
    centre = [
        ph.state("centre_x", guess=-0.1, unit="m"),
        ph.state("centre_y", guess=lambda s: 1 + 0.37 * s * (2 - s), unit="m"),
    ]
    # Horizontally the mass centre keeps its speed, which is a number and no state.
    rate = [ocp.variable("throw", lower=-5.0, upper=5.0, guess=-0.2, unit="m/s")]
    rate.append(ph.state("centre_y_rate", guess=lambda s: 2.7 - 3.0 * s, unit="m/s"))
    ph.dynamics({centre[0]: rate[0], centre[1]: rate[1], rate[1]: -data.gravity})
    a, arm = casadi.cse(
        [
            posture_acceleration(machine, q, v, torques),
            machine.point("mass centre", casadi.vertcat(0, 0, q)),
        ]
    )
    move(ph, joints, a)
    ranges = keep_ranges(ph, machine, casadi.vertcat(0, 0, q), casadi.vertcat(0, 0, v), jump, data)
    if last:
        rest_shoulder(ocp, ph, ranges["shoulder"], jump, data)
    axle = casadi.vertcat(*centre) - arm
    close_loop(ph, axle, (ranges["shoulder"][0], ranges["elbow"][0]), data, stance=False)
    # The wheel leaves the ground where its force has gone, so slowly that this would hold with
    # equality for an instant.
    ph.path(axle[1], lower=data.wheel_radius - jump.dent, name="rear wheel above the ground")
    ph.path(
        axle[1] + data.wheelbase * casadi.sin(q[0]),
        lower=data.wheel_radius,
        name="front wheel above the ground",
    )
    axle_rate = casadi.vertcat(*rate) - casadi.jtimes(arm, q, v)
    return JumpPhase(
        ph, t, cost, axle, axle_rate, casadi.vertcat(*centre), casadi.vertcat(*rate), data, v
    )


def in_the_air(wheel: Wheel | None, data: SevenLink) -> SevenLink:
    """The machine without contact of its rear wheel: one that is not braked spins on, and turns
    nothing else.
    """
    return data if wheel is None else replace(data, wheel_inertia=0.0)


def rest_shoulder(
    ocp: Problem, ph: Any, shoulder: tuple[Any, Any], jump: Jump, data: SevenLink
) -> None:
    """The shoulder comes to the end of its range first; it is not to hit it."""
    angle, turning = shoulder
    ocp.require(ph.final(turning), equals=0, name="shoulder rate at the end")
    ocp.require(
        ph.final(angle),
        upper=radians(data.shoulder_deg[1] - jump.margin),
        name="shoulder at the end",
    )


def posture_acceleration(machine: Machine, q: Any, v: Any, torques: Any) -> Any:
    """Accelerations of (beta, ankle, knee, waist) in the air: the axle's own are eliminated, and
    gravity goes with them.
    """
    m = machine.mechanism
    place, rates = casadi.vertcat(0, 0, q), casadi.vertcat(0, 0, v)
    M, pull = m.function(m.equations.mass, m.equations.force - m.equations.bias)(
        *m.arguments(place, rates, torques)
    )
    total = (
        machine.posture.mass + machine.wheel_mass
    )  # the axle's block of M is this times the identity
    P, Q = M[2:, :2], M[2:, 2:]
    return solve_symmetric(Q - P @ P.T / total, pull[2:] - P @ pull[:2] / total)


def take_off(ocp: Problem, stance: JumpPhase, flight: JumpPhase) -> None:
    """All that both phases have is continuous; the mass centre becomes a state."""
    ocp.connect(stance.phase, flight.phase)
    before, after = stance.phase.final, flight.phase.initial
    ocp.require(
        after(flight.centre) - before(stance.centre), equals=0, name="mass centre at take-off"
    )
    ocp.require(
        after(flight.centre_rate) - before(stance.centre_rate),
        equals=0,
        name="its velocity at take-off",
    )


def joint_states(
    ph: Any,
    jump: Jump,
    data: SevenLink,
    sketch: Sketch,
    apart: tuple[str, ...] = (),
    at_rest: bool = False,
    rise: tuple[float, float] = (0.0, 80.0),
) -> dict[Any, Any]:
    """The states beta, ankle, knee, waist and their rates: symbol -> symbol of its rate.

    ``apart``: where stops keep a margin.
    """
    ranges = (rise, data.ankle_deg, data.knee_deg, data.waist_deg)
    joints, curves = {}, sketch.angles(data)
    for k, (name, (low, high)) in enumerate(zip(("beta", *LIMBS), ranges, strict=True)):
        place, slope = curves[k]
        ends = {end: free(radians(low + jump.margin), radians(high - jump.margin)) for end in apart}
        angle = ph.state(
            name, lower=radians(low), upper=radians(high), guess=place, unit="rad", **ends
        )
        bounds = {"lower": -jump.rate, "upper": jump.rate} if name in LIMBS else {}
        joints[angle] = ph.state(
            f"{name}_rate",
            start=0 if at_rest else None,
            guess=slope,
            unit="rad/s",
            scale=5.0,
            **bounds,
        )
    return joints


def drives(ph: Any, jump: Jump, sketch: Sketch, strength: Any) -> tuple[Any, Any]:
    """The torques as states, and the integrand of what they cost.

    ``strength`` multiplies the limits, where it is given.
    """
    torques, cost = [], 0
    for name, limit, guess in zip(TORQUES, jump.limits, sketch.torques, strict=True):
        most = limit if strength is None else None
        least = None if most is None else -most
        torque = ph.state(name, lower=least, upper=most, guess=guess, unit="N m", scale=limit)
        if strength is not None:
            ph.path(strength - torque / limit, lower=0, name=f"{name} below its limit")
            ph.path(strength + torque / limit, lower=0, name=f"{name} above its limit")
        rate = ph.control(f"{name}_rate", guess=0.0, unit="N m/s", scale=10 * limit)
        ph.dynamics({torque: rate})
        cost += jump.effort_weight * (torque / limit) ** 2 + jump.rate_weight * (rate / limit) ** 2
        torques.append(torque)
    return casadi.vertcat(*torques), cost


def columns(joints: dict[Any, Any]) -> tuple[Any, Any]:
    return casadi.vertcat(*joints), casadi.vertcat(*joints.values())


def move(ph: Any, joints: dict[Any, Any], acceleration: Any) -> None:
    for k, (angle, rate) in enumerate(joints.items()):
        ph.dynamics({angle: rate, rate: acceleration[k]})


def keep_ranges(
    ph: Any, machine: Machine, q: Any, v: Any, jump: Jump, data: SevenLink
) -> dict[str, tuple[Any, Any]]:
    """Ranges and rates of the joints that are no states; their angles and rates by name."""
    m = machine.mechanism
    found = {}
    for joint, (low, high) in (
        ("shoulder", data.shoulder_deg),
        ("elbow", (max(jump.straightest_elbow, data.elbow_deg[0]), data.elbow_deg[1])),
    ):
        here = machine.seen(machine.posture.angles[joint], m.q)
        angle, rate = casadi.cse(
            [m.evaluate(here, q, v), m.evaluate(casadi.jtimes(here, m.q, m.v), q, v)]
        )
        a, b = radians(low), radians(high)
        ph.path((angle - a) / (b - a), lower=0, upper=1, name=f"{joint} in its range")
        ph.path(rate / jump.rate, lower=-1, upper=1, name=f"{joint} rate by its limit")
        found[joint] = angle, rate
    return found
