"""A periodic gait with double support: the hind toe stays on the ground after the landing.

A step has three phases. In double support the landed foot is flat and the toe of the hind foot
stands still behind it, until its force is zero. Then, as in ``two_legged``, the standing foot is
flat until the pressure under it reaches the toe, and rolls over its toe until the other foot lands
flat. It lands at rest, so that no impulse lifts the hind foot. Ours.
"""

from __future__ import annotations

from itertools import pairwise

from casadi import vertcat

from problems.exoskeleton.legs import EXCHANGED, WALKER, Legs, Walker
from problems.exoskeleton.pictures import two_legged_drawing as drawing  # noqa: F401  # what an animation shows
from problems.exoskeleton.two_legged import (
    LIMITS,
    Limits,
    _clear_ground,
    _stance,
)
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.361667697,
    tolerance=1e-6,
    source="this repository, meshes to errors of 1e-6 and of 1e-7",
)


@settable
def build(
    speed=setting(1.25, "m/s", "speed of walking", 0.3, 3),
    step=setting(0.68, "m", "length of a step", 0.1, 1.5),
    double=setting(0.2, "1", "part of the step in double support", 0.05, 0.5),
    heel_off=setting(0.66, "1", "part of the step at which the heel leaves the ground", 0.3, 0.95),
    clearance=setting(
        0.02, "m", "of the swinging toe and heel where they pass the standing ones", 0, 0.2
    ),
    limits: Limits = LIMITS,
    data: Walker = WALKER,
) -> Problem:
    """Effort as in ``two-legged``: squared torques, their rates and the joint rates (s)."""
    legs, duration = Legs(data), step / speed
    ocp = Problem("two-legged-double")
    phases = [ocp.phase(name) for name in ("double support", "flat foot", "heel off")]
    ends = (double * duration, heel_off * duration, duration)
    for k, (ph, end) in enumerate(zip(phases, ends, strict=True)):
        ph.time(start=0 if k == 0 else None, end=end)
    both = _stance(phases[0], legs, limits, (0.0, double), duration, flat=True, hind=step)
    flat = _stance(phases[1], legs, limits, (double, heel_off), duration, flat=True)
    rolling = _stance(phases[2], legs, limits, (heel_off, 1.0), duration, flat=False)
    for stance in (flat, rolling):
        _clear_ground(stance, data, step, clearance)
    for before, after in pairwise(phases):
        ocp.connect(before, after)
    ocp.require(phases[0].final(both.hind_force), equals=[0, 0], name="hind toe relieved")
    ocp.require(phases[1].final(flat.ground[2]), equals=0, name="pressure reaches the toe")
    last = phases[2]
    landing = vertcat(last.final(rolling.foot[:2]), last.final(rolling.q[8]))
    ocp.require(landing, equals=[step, 0, 0], name="foot lands flat")
    at_rest = vertcat(last.final(rolling.foot_velocity[:2]), last.final(rolling.v[8]))
    ocp.require(at_rest, equals=[0, 0, 0], name="foot lands at rest")
    for what, before, after in (("posture", rolling.q, both.q), ("rates", rolling.v, both.v)):
        exchanged = vertcat(*[last.final(before)[2 + k] for k in EXCHANGED[1:]])
        ocp.require(
            phases[0].initial(after[3:]) - exchanged,
            equals=[0] * 6,
            name=f"same {what}, legs exchanged",
        )
    ocp.minimize(both.effort + flat.effort + rolling.effort)
    return ocp
