"""Jumps onto a platform: with the least effort, the highest one, and the least strength that a
height takes.

The platform stands beside the machine, as in the thesis' "parallel": in front of it, the front
wheel would have to be above it before the jump, and the machine balances up to 38 deg rise, or 0.62
m, only. The rear wheel lands while it comes down, at 1.5 m/s at most, the mass centre within 0.1 m
of the contact; the front wheel is above the platform.

Strength multiplies the torque limits of knee, waist and elbow. What it takes depends on what the
machine may do: stand on its braked wheel, come rolling, or put the front wheel on the platform
first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from problems.bike.jump import (
    HOP,
    PLATFORM_HOP,
    PLATFORM_PUSH,
    PUSH,
    ROLLING_HOP,
    ROLLING_PUSH,
    Jump,
    JumpPhase,
    Sketch,
    Wheel,
    effort,
    flight,
    stance,
    take_off,
)
from problems.bike.models import SEVEN_LINK, SevenLink
from problems.bike.pictures import platform_drawing as drawing  # noqa: F401  # what an animation shows
from problems.bike.support import LIFT, REACH, support
from trajopt import Problem
from trajopt.parameters import settable, setting

STRENGTH = setting(1.0, "1", "factor on the torque limits", 0.1, 20)
HEIGHT = setting(1.0, "m", "height of the platform", 0.05, 2)
LEAST_EFFORT = Jump(effort_weight=1.0, rate_weight=0.01)
HIGHEST = Jump(rate_weight=2e-3)
QUICK = Jump(rate=25.0, guard=1e-3)
SUPPORTED = Jump(rate=20.0, guard=1e-3)


@settable
def platform_jump(
    jump: Jump = LEAST_EFFORT,
    data: SevenLink = SEVEN_LINK,
    height: float = setting(0.5, "m", "height of the platform", 0.05, 2),
    strength: float = STRENGTH,
) -> Problem:
    """Onto a platform with the least effort."""
    ocp = Problem("platform-jump")
    stages = _onto_platform(ocp, _stronger(jump, strength), height, data=data)
    ocp.minimize(sum(effort(stage) for stage in stages))
    return ocp


@settable
def platform_highest(
    jump: Jump = HIGHEST, data: SevenLink = SEVEN_LINK, strength: float = STRENGTH
) -> Problem:
    """The highest platform that can be reached, less a little effort."""
    ocp = Problem("platform-highest")
    height = ocp.variable("height", lower=0.0, upper=3.0, guess=0.6, unit="m")
    stages = _onto_platform(ocp, _stronger(jump, strength), height, sketches=(PUSH, HOP), data=data)
    ocp.maximize(height - sum(effort(stage) for stage in stages))
    return ocp


@settable
def platform_strength(
    jump: Jump = QUICK, data: SevenLink = SEVEN_LINK, height: float = HEIGHT
) -> Problem:
    """The least strength, by which the torque limits are multiplied, for a jump onto a platform; a
    little effort is added.
    """
    ocp, strength = _least_strength("platform-strength")
    stages = _onto_platform(ocp, jump, height, strength, data=data)
    ocp.minimize(strength + sum(effort(stage) for stage in stages))
    return ocp


@settable
def platform_runup(
    jump: Jump = QUICK,
    data: SevenLink = SEVEN_LINK,
    height: float = HEIGHT,
    speed: float = setting(1.0, "m/s", "speed of the run-up", 0, 10),
    drive: float = setting(80.0, "N m", "greatest torque that drives the rear wheel", 0, 500),
) -> Problem:
    """As ``platform_strength``, with a run-up: the machine comes rolling on its rear wheel.

    The wheel is slowed down by up to 150 N m, or driven by up to ``drive``, and leaves the ground
    free to turn. The speed matters only without a drive: then the wheel must keep turning forwards.
    """
    ocp, strength = _least_strength("platform-runup")
    stages = _onto_platform(
        ocp, jump, height, strength, (ROLLING_PUSH, ROLLING_HOP), Wheel(speed, drive=drive), data
    )
    ocp.minimize(strength + sum(effort(stage) for stage in stages))
    return ocp


@settable
def platform_support(
    jump: Jump = SUPPORTED,
    data: SevenLink = SEVEN_LINK,
    height: float = HEIGHT,
    front_brake: bool = setting(True, "", "whether the front wheel is braked on the platform"),
    speed: float | None = setting(None, "m/s", "speed of a run-up", 0, 10, optional=True),
    drive: float = setting(
        0.0, "N m", "greatest torque that drives the rear wheel in a run-up", 0, 500
    ),
) -> Problem:
    """As ``platform_strength``, with the front wheel first: it touches the platform, carries, and
    the rear wheel follows.

    With a ``speed`` the machine comes rolling, as in ``platform_runup``.
    """
    ocp, strength = _least_strength("platform-support")
    wheel = None if speed is None else Wheel(speed, drive=drive)
    ground = stance(ocp, jump, LIFT if wheel is None else ROLLING_PUSH, strength, wheel, data)
    air = flight(ocp, jump, REACH, strength, wheel, last=False, data=data)
    take_off(ocp, ground, air)
    held = support(ocp, jump, air, height, strength, front_brake, wheel)
    ocp.minimize(strength + sum(effort(stage) for stage in (ground, air, held)))
    return ocp


def _stronger(jump: Jump, strength: float) -> Jump:
    knee, waist, elbow = jump.limits
    return replace(jump, limits=(strength * knee, strength * waist, strength * elbow))


def _least_strength(name: str) -> tuple[Problem, Any]:
    ocp = Problem(name)
    return ocp, ocp.variable("strength", lower=0.05, upper=20.0, guess=1.5)


def _onto_platform(
    ocp: Problem,
    jump: Jump,
    height: Any,
    strength: Any = None,
    sketches: tuple[Sketch, Sketch] = (PLATFORM_PUSH, PLATFORM_HOP),
    wheel: Wheel | None = None,
    data: SevenLink = SEVEN_LINK,
) -> tuple[JumpPhase, JumpPhase]:
    """Stance and flight that end in a landing."""
    ground = stance(ocp, jump, sketches[0], strength, wheel, data)
    air = flight(ocp, jump, sketches[1], strength, wheel, data=data)
    take_off(ocp, ground, air)
    final = air.phase.final
    ocp.require(
        final(air.axle[1]) - height, equals=data.wheel_radius, name="rear wheel on the platform"
    )
    ocp.require(final(air.axle_rate[1]), lower=-1.5, upper=0.0, name="landing speed")
    ocp.require(
        final(air.centre[0] - air.axle[0]),
        lower=-0.1,
        upper=0.1,
        name="mass centre above the contact at the landing",
    )
    return ground, air
