"""Jumps onto a platform: with the least effort, the highest one, and the least strength that a height takes.

The platform stands beside the machine, as in the thesis' "parallel": in front of it, the front wheel would have to be above it
before the jump, and the machine balances up to 38 deg rise, or 0.62 m, only. The rear wheel lands while it comes down, at 1.5 m/s
at most, the mass centre within 0.1 m of the contact; the front wheel is above the platform.
"""

from __future__ import annotations

from typing import Any

from problems.bike_jump import HOP, PLATFORM_HOP, PLATFORM_PUSH, PUSH, Jump, Sketch, Stage, effort, flight, stance, take_off
from problems.bike_models import SEVEN_LINK
from problems.bike_pictures import seven_link_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem


def platform_jump(height: float = 0.5, strength: float = 1.0, rate_weight: float = 0.01) -> Problem:
    """Onto a platform (height in m) with the least effort; ``strength`` multiplies the torque limits 250, 300 and 100 N m."""
    knee, waist, elbow = (strength * limit for limit in Jump().limits)
    ocp = Problem("platform-jump")
    stages = _onto_platform(ocp, Jump((knee, waist, elbow), effort_weight=1.0, rate_weight=rate_weight), height)
    ocp.minimize(sum(effort(stage) for stage in stages))
    return ocp


def platform_strength(height: float = 1.0, rate: float = 25.0) -> Problem:
    """The least strength, by which the torque limits are multiplied, for a jump onto a platform; a little effort is added.

    ``rate`` limits the joint rates, rad/s; the other jumps have 15.
    """
    ocp = Problem("platform-strength")
    strength = ocp.variable("strength", lower=0.05, upper=20.0, guess=1.5)
    stages = _onto_platform(ocp, Jump(rate=rate, guard=1e-6), height, strength)
    ocp.minimize(strength + sum(effort(stage) for stage in stages))
    return ocp


def platform_highest(strength: float = 1.0, rate: float = 15.0, rate_weight: float = 2e-3) -> Problem:
    """The highest platform (m) that can be reached, less a little effort; ``strength`` multiplies the torque limits."""
    knee, waist, elbow = (strength * limit for limit in Jump().limits)
    ocp = Problem("platform-highest")
    stages = _onto_platform(ocp, Jump((knee, waist, elbow), rate=rate, rate_weight=rate_weight), None, sketches=(PUSH, HOP))
    air = stages[1]
    ocp.maximize(air.phase.final(air.axle[1]) - SEVEN_LINK.radius - sum(effort(stage) for stage in stages))
    return ocp


def _onto_platform(
    ocp: Problem,
    jump: Jump,
    height: float | None,
    strength: Any = None,
    sketches: tuple[Sketch, Sketch] = (PLATFORM_PUSH, PLATFORM_HOP),
) -> tuple[Stage, Stage]:
    """Stance and flight that end in a landing, at a given height or at any."""
    ground, air = stance(ocp, jump, sketches[0], strength), flight(ocp, jump, sketches[1], strength)
    take_off(ocp, ground, air)
    final = air.phase.final
    if height is not None:
        ocp.require(final(air.axle[1]), equals=SEVEN_LINK.radius + height, name="rear wheel on the platform")
    ocp.require(final(air.axle_rate[1]), lower=-1.5, upper=0.0, name="landing speed")
    ocp.require(final(air.centre[0] - air.axle[0]), lower=-0.1, upper=0.1, name="mass centre above the contact at the landing")
    return ground, air
