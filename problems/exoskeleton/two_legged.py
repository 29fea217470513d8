"""A periodic gait on two legs: seven links walk at a given speed with the least effort of their
drives.

One step has two phases. The standing foot is flat on the ground until the pressure under it reaches
the toe; then it rolls over the toe. The swinging foot lands flat, one step ahead, in an impact
without rebound and without slip that frees the hind foot. After the impact the posture and the
rates are those of the start with the legs exchanged, so that the next step is the same. Source of
the walker's data: see ``legs``; the statement is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from typing import Any

import numpy as np
from casadi import sumsqr, vertcat
from scipy.interpolate import PchipInterpolator

from problems.exoskeleton.legs import ANGLES, EXCHANGED, JOINT_RATES, JOINTS, WALKER, Legs, Walker
from problems.exoskeleton.pictures import two_legged_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting, setting_field

REFERENCE = Reference(
    origin="own",
    objective=0.23527405,
    tolerance=1e-6,
    source="this repository, meshes to errors of 1e-6 and of 1e-7",
)

# The guess: angles (deg) sketched at five equidistant instants of a step.
SKETCH = {
    "foot": (0, 0, 0, 5, 35),
    "shank": (-14, -4, 6, 18, 45),
    "thigh": (-22, -16, -10, -1, 5),
    "trunk": (4, 4, 4, 4, 4),
    "swing_thigh": (5, -8, -20, -26, -22),
    "swing_shank": (45, 46, 30, 4, -14),
    "swing_foot": (35, 25, 8, -3, 0),
}
# m, by which the height profile ends below the footprints: there the foot stands, and the profile
# must not say so too
MARGIN = 1e-3
SLACK = 1.0  # N, by which the friction cone of a toe that is relieved is wider


@dataclass(frozen=True)
class Limits:
    """Drives, joints and ground; ours."""

    ankle_torque: float = setting_field(150.0, "N m", "limit of the ankles' torque", 1, 1e4)
    knee_torque: float = setting_field(60.0, "N m", "limit of the knees' torque", 1, 1e4)
    hip_torque: float = setting_field(120.0, "N m", "limit of the hips' torque", 1, 1e4)
    joint_rate: float = setting_field(
        25.0, "rad/s", "joint rate whose friction loss counts like a torque at its limit", 0.1, 1e3
    )
    rise_time: float = setting_field(
        0.03, "s", "a torque that rises to its limit in this time counts like one at it", 1e-3, 1
    )
    knee_range: tuple[float, float] = setting_field(
        (0.0, 110.0), "deg", "range of the knees, flexion positive", -10, 170
    )
    friction: float = setting_field(0.6, "1", "friction coefficient of the soles", 0.05, 5)

    def torque(self, joint: str) -> float:
        return float(getattr(self, f"{joint.removeprefix('swing_')}_torque"))

    @property
    def torques(self) -> list[float]:
        return [self.torque(joint) for joint in JOINTS]


LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Stance:
    """A phase: its variables as columns, with zero for what is at rest, and what
    follows from them.
    """

    phase: Any
    q: Any  # (9,)
    v: Any
    ground: Any  # force along and up, and moment about the toe
    foot: Any  # toe and heel of the swinging foot, (4,)
    foot_velocity: Any
    effort: Any
    hind_force: Any = None  # of the toe that still stands behind


@settable
def build(
    speed=setting(1.25, "m/s", "speed of walking", 0.3, 3),
    step=setting(0.68, "m", "length of a step", 0.1, 1.5),
    heel_off=setting(
        0.66, "1", "part of the step during which the standing foot is flat", 0.3, 0.95
    ),
    clearance=setting(
        0.02,
        "m",
        "of the swinging toe and heel over the ground where they pass the standing ones",
        0,
        0.2,
    ),
    limits: Limits = LIMITS,
    data: Walker = WALKER,
) -> Problem:
    """Effort: squared torques, their rates and the joint rates, each as a part of its limit,
    integrated over a step (s).
    """
    legs, duration = Legs(data), step / speed
    ocp = Problem("two-legged")
    first, last = ocp.phase("flat foot"), ocp.phase("heel off")
    first.time(start=0, end=heel_off * duration)
    last.time(end=duration)
    flat = _stance(first, legs, limits, (0.0, heel_off), duration, flat=True)
    rolling = _stance(last, legs, limits, (heel_off, 1.0), duration, flat=False)
    for stance in (flat, rolling):
        _clear_ground(stance, data, step, clearance)
    ocp.connect(first, last)
    ocp.require(first.final(flat.ground[2]), equals=0, name="pressure reaches the toe")
    landing = vertcat(last.final(rolling.foot[:2]), last.final(rolling.q[8]))
    ocp.require(landing, equals=[step, 0, 0], name="foot lands flat")
    toe, heel = rolling.foot_velocity[1], rolling.foot_velocity[3]
    ocp.require(
        last.final(vertcat(heel, toe - heel)),
        upper=[0, 0],
        name="heel comes down, the toe after it",
    )
    _change_legs(ocp, legs, limits, flat, rolling)
    ocp.minimize(flat.effort + rolling.effort)
    return ocp


def _stance(
    ph: Any,
    legs: Legs,
    limits: Limits,
    part: tuple[float, float],
    duration: float,
    flat: bool,
    hind: float | None = None,
) -> Stance:
    """The phase of a part of the step, with the standing foot ``flat`` or on its toe; in double
    support the other toe stands ``hind`` (m) behind it.
    """
    names = ANGLES[1:] if flat else ANGLES
    q, v = [], []
    for n in names:
        angle, rate = _sketched(n, part, duration)
        bounds = (
            {"start": 0.0, "lower": 0.0, "upper": 1.3}
            if n == "foot"
            else {"lower": -1.5, "upper": 1.5}
        )
        q.append(ph.state(n, unit="rad", guess=angle, **bounds))
        v.append(
            ph.state(
                f"{n}_rate", unit="rad/s", guess=rate, **({"start": 0.0} if n == "foot" else {})
            )
        )
    u, w = [], []
    for joint, most in zip(JOINTS, limits.torques, strict=True):
        u.append(ph.state(f"{joint}_torque", lower=-most, upper=most, guess=0, unit="N m"))
        w.append(
            ph.control(f"{joint}_torque_rate", guess=0, unit="N m/s", scale=most / limits.rise_time)
        )
    still = [0] * (len(ANGLES) + 2 - len(names))
    place, rates, torques = vertcat(*still, *q), vertcat(*still, *v), vertcat(*u)
    if hind is None:
        a, ground = legs.motion(place, rates, torques, len(names))
        hind_force = None
    else:
        a, ground, hind_force = legs.double_support(place, rates, torques)
        ph.path(_grip(limits, hind_force) + SLACK, lower=0, name="grip of the hind toe")
    ph.dynamics(dict(zip((*q, *u), (*v, *w), strict=True)) | {x: a[k] for k, x in enumerate(v)})
    held = dict.fromkeys(("x", "y", "foot") if flat else ("x", "y"), 0.0)
    ph.in_redundant_coordinates(lambda: legs.standing(flat, hind).system(), held)
    ph.path(_grip(limits, ground), lower=0, name="grip")
    if flat:
        ph.path(_under_sole(legs, ground), lower=0, name="pressure under the sole")
    knees = vertcat(place[3] - place[4], place[7] - place[6])
    ph.path(
        knees,
        lower=radians(limits.knee_range[0]),
        upper=radians(limits.knee_range[1]),
        name="knees",
    )
    losses = [
        torques / limits.torques,
        limits.rise_time * vertcat(*w) / limits.torques,
        JOINT_RATES @ rates / limits.joint_rate,
    ]
    return Stance(
        ph,
        place,
        rates,
        ground,
        *legs.swing_foot(place, rates),
        ph.integral(sumsqr(vertcat(*losses))),
        hind_force,
    )


def _sketched(angle: str, part: tuple[float, float], duration: float) -> tuple[Any, Any]:
    """An angle and its rate over a part of the sketched step, as functions of that part's
    normalised time.
    """
    curve = PchipInterpolator(np.linspace(0, 1, 5), np.radians(SKETCH[angle]))
    rate, begin, length = curve.derivative(), part[0], part[1] - part[0]
    return lambda s: curve(begin + length * s), lambda s: rate(begin + length * s) / duration


def _grip(limits: Limits, ground: Any) -> Any:
    return vertcat(limits.friction * ground[1] - ground[0], limits.friction * ground[1] + ground[0])


def _under_sole(legs: Legs, ground: Any) -> Any:
    """Both positive where the centre of pressure lies between heel and toe."""
    return vertcat(ground[2], legs.data.foot_length * ground[1] - ground[2])


def _clear_ground(stance: Stance, data: Walker, step: float, clearance: float) -> None:
    """Toe and heel stay over a parabola, each from its footprint behind to the one ahead."""
    over = [
        stance.foot[2 * k + 1]
        - clearance
        + (clearance + MARGIN) * ((stance.foot[2 * k] + behind) / step) ** 2
        for k, behind in enumerate((0, data.foot_length))
    ]
    stance.phase.path(vertcat(*over), lower=0, name="foot over the ground")


def _change_legs(ocp: Problem, legs: Legs, limits: Limits, flat: Stance, rolling: Stance) -> None:
    """The impact of the landing, and that the step after it is the same."""
    begin, end = flat.phase, rolling.phase
    q, v = end.final(rolling.q), end.final(rolling.v)
    exchanged = vertcat(*[q[2 + k] for k in EXCHANGED[1:]])
    ocp.require(
        begin.initial(flat.q[3:]) - exchanged, equals=[0] * 6, name="same posture, legs exchanged"
    )
    change = legs.impact(q, v, begin.initial(flat.v[3:]))
    ocp.require(change[3:], equals=[0] * 6, name="impact")
    ocp.require(_grip(limits, change), lower=[0, 0], name="grip at the impact")
    ocp.require(_under_sole(legs, change), lower=[0, 0], name="impact under the sole")
    ocp.require(begin.initial(flat.foot_velocity[1]), lower=0, name="hind toe leaves the ground")
