"""Jumps onto a platform: with the least effort, the highest one, and the least strength that a height takes.

The platform stands beside the machine, as in the thesis' "parallel": in front of it, the front wheel would have to be above it
before the jump, and the machine balances up to 38 deg rise, or 0.62 m, only. The rear wheel lands while it comes down, at 1.5 m/s
at most, the mass centre within 0.1 m of the contact; the front wheel is above the platform.

Strength multiplies the torque limits of knee, waist and elbow. What it takes depends on what the machine may do: stand on its
braked wheel, come rolling, or put the front wheel on the platform first.
"""

from __future__ import annotations

from typing import Any

from problems.bike.jump import (
    HOP,
    PLATFORM_HOP,
    PLATFORM_PUSH,
    PUSH,
    ROLLING_HOP,
    ROLLING_PUSH,
    Jump,
    Sketch,
    Stage,
    Wheel,
    effort,
    flight,
    stance,
    take_off,
)
from problems.bike.models import SEVEN_LINK
from problems.bike.pictures import platform_drawing as drawing  # noqa: F401  # what an animation shows
from problems.bike.support import LIFT, REACH, support
from trajopt import Problem


def platform_jump(height: float = 0.5, strength: float = 1.0, rate_weight: float = 0.01) -> Problem:
    """Onto a platform (height in m) with the least effort; ``strength`` multiplies the torque limits 250, 300 and 100 N m."""
    knee, waist, elbow = (strength * limit for limit in Jump().limits)
    ocp = Problem("platform-jump")
    stages = _onto_platform(ocp, Jump((knee, waist, elbow), effort_weight=1.0, rate_weight=rate_weight), height)
    ocp.minimize(sum(effort(stage) for stage in stages))
    return ocp


def platform_highest(strength: float = 1.0, rate: float = 15.0, rate_weight: float = 2e-3) -> Problem:
    """The highest platform (m) that can be reached, less a little effort; ``strength`` multiplies the torque limits."""
    knee, waist, elbow = (strength * limit for limit in Jump().limits)
    ocp = Problem("platform-highest")
    height = ocp.variable("height", lower=0.0, upper=3.0, guess=0.6, unit="m")
    jump = Jump((knee, waist, elbow), rate=rate, rate_weight=rate_weight)
    stages = _onto_platform(ocp, jump, height, sketches=(PUSH, HOP))
    ocp.maximize(height - sum(effort(stage) for stage in stages))
    return ocp


def platform_strength(height: float = 1.0, rate: float = 25.0, rate_weight: float = 1e-3) -> Problem:
    """The least strength, by which the torque limits are multiplied, for a jump onto a platform; a little effort is added.

    ``rate`` limits the joint rates, rad/s; the other jumps have 15.
    """
    ocp, jump, strength = _least_strength("platform-strength", rate, rate_weight)
    stages = _onto_platform(ocp, jump, height, strength)
    ocp.minimize(strength + sum(effort(stage) for stage in stages))
    return ocp


def platform_runup(
    height: float = 1.0, speed: float = 1.0, rate: float = 25.0, drive: float = 80.0, rate_weight: float = 1e-3
) -> Problem:
    """As ``platform_strength``, with a run-up: the machine comes rolling on its rear wheel, at a ``speed`` in m/s.

    The wheel is slowed down by up to 150 N m, or driven by up to ``drive`` N m, and leaves the ground free to turn. The speed
    matters only without a drive: then the wheel must keep turning forwards.
    """
    ocp, jump, strength = _least_strength("platform-runup", rate, rate_weight)
    stages = _onto_platform(ocp, jump, height, strength, (ROLLING_PUSH, ROLLING_HOP), Wheel(speed, drive=drive))
    ocp.minimize(strength + sum(effort(stage) for stage in stages))
    return ocp


def platform_support(
    height: float = 1.0,
    rate: float = 20.0,
    front_brake: bool = True,
    speed: float | None = None,
    drive: float = 0.0,
    rate_weight: float = 1e-3,
) -> Problem:
    """As ``platform_strength``, with the front wheel first: it touches the platform, carries, and the rear wheel follows.

    With a ``speed`` the machine comes rolling, as in ``platform_runup``.
    """
    ocp, jump, strength = _least_strength("platform-support", rate, rate_weight)
    wheel = None if speed is None else Wheel(speed, drive=drive)
    ground = stance(ocp, jump, LIFT if wheel is None else ROLLING_PUSH, strength, wheel)
    air = flight(ocp, jump, REACH, strength, wheel, last=False)
    take_off(ocp, ground, air)
    held = support(ocp, jump, air, height, strength, front_brake, wheel)
    ocp.minimize(strength + sum(effort(stage) for stage in (ground, air, held)))
    return ocp


def _least_strength(name: str, rate: float, rate_weight: float) -> tuple[Problem, Jump, Any]:
    ocp = Problem(name)
    return ocp, Jump(rate=rate, rate_weight=rate_weight, guard=1e-3), ocp.variable("strength", lower=0.05, upper=20.0, guess=1.5)


def _onto_platform(
    ocp: Problem,
    jump: Jump,
    height: Any,
    strength: Any = None,
    sketches: tuple[Sketch, Sketch] = (PLATFORM_PUSH, PLATFORM_HOP),
    wheel: Wheel | None = None,
) -> tuple[Stage, Stage]:
    """Stance and flight that end in a landing."""
    ground, air = stance(ocp, jump, sketches[0], strength, wheel), flight(ocp, jump, sketches[1], strength, wheel)
    take_off(ocp, ground, air)
    final = air.phase.final
    ocp.require(final(air.axle[1]) - height, equals=SEVEN_LINK.radius, name="rear wheel on the platform")
    ocp.require(final(air.axle_rate[1]), lower=-1.5, upper=0.0, name="landing speed")
    ocp.require(final(air.centre[0] - air.axle[0]), lower=-0.1, upper=0.1, name="mass centre above the contact at the landing")
    return ground, air
