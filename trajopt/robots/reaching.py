"""``reach``: from rest in one posture to rest in another."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos
from numbers import Real
from typing import Any, Literal

import casadi
import numpy as np

from trajopt.arguments import Finite, Positive, checked_arguments
from trajopt.errors import UsageError
from trajopt.mechanics import Quaternion, Robot
from trajopt.robots.postures import posture_values
from trajopt.robots.robot_motion import Motion, motion
from trajopt.statement.bounds import free
from trajopt.statement.problem import Phase, Problem

# Limits of torque alone that bring a joint to its greatest speed within such a part of the motion
# say that the inertia of rotors is missing: no mesh of reasonable size resolves the switches.
SHORTEST_RAMP = 0.02
SLOWEST = 2.0  # time of a motion whose duration is not given, in times at greatest speed
DEFAULT_SPEED = 1.0  # rad/s or m/s, to estimate durations where there is no limit of speed

Sphere = tuple[str, Sequence[float], float]


@checked_arguments
def reach(
    robot: Robot,
    start: Any,
    end: Any,
    cost: Literal["effort", "time"] = "effort",
    duration: Finite | None = None,
    acceleration: Positive | None = None,
    avoid: Sequence[Sphere] = (),
    level: tuple[str, str, float] | None = None,
    by: Literal["inverse", "forward"] = "inverse",
    name: str | None = None,
) -> Problem:
    """State a motion from rest to rest with the least effort, or in the least time.

    Parameters
    ----------
    start, end : postures: positions in order, or by joint.
    cost : "effort" is the integral of the squares of all torques, each relative to its limit.
    duration : of the least effort (s); by default twice as long as at the greatest speeds.
    acceleration : limit for all joints with motors, where the robot has none.
    avoid : spheres: a link whose origin stays outside, the centre (m) and the radius (m).
    level : a link, its axis that stays upright ("x", "y" or "z"), and the greatest tilt (rad).
    by : see ``trajopt.robots.motion``.

    Examples
    --------
    >>> from trajopt import solve
    >>> from trajopt.mechanics import read_robot
    >>> from problems.robots import ARM
    >>> problem = reach(read_robot(ARM), start=(0, 0, 0, 0), end=(1, 0.5, 0, 0), duration=1.0)
    >>> solve(problem).success
    True
    """
    if acceleration is not None:
        robot = robot.with_limits(acceleration=acceleration)
    first = posture_values(robot, start, "the start")
    last = posture_values(robot, end, "the end")
    if first is None or last is None:
        raise UsageError("reach needs a start and an end", expected="positions of all joints")
    shortest = _time_at_greatest_speed(robot, first, last)
    ocp = Problem(name or f"{robot.name}-{cost}")
    ph = ocp.phase()
    if cost == "time":
        _require_acceleration_limits(robot, first, shortest)
        t = ph.time(start=0, end=free(0.0, 100.0 * shortest, SLOWEST * shortest))
    else:
        t = ph.time(start=0, end=duration or SLOWEST * shortest)
    m = motion(ph, robot, by, start=first, end=last)
    for sphere in avoid:
        _stay_outside(ph, m, sphere)
    if level is not None:
        _stay_upright(ph, m, level)
    ocp.minimize(ph.final(t) if cost == "time" else ph.integral(m.effort))
    return ocp


def _time_at_greatest_speed(robot: Robot, start: np.ndarray, end: np.ndarray) -> float:
    """Return the least time of any motion between the postures at the limits of speed."""
    if robot.positions > robot.velocities:
        return 1.0
    speed = robot.column("speed")
    usable = np.where(np.isfinite(speed) & (speed > 0), speed, DEFAULT_SPEED)
    longest = float((np.abs(end - start) / usable).max())
    if longest == 0.0:
        raise UsageError("reach: the start is the end", expected="two postures")
    return longest


def _require_acceleration_limits(robot: Robot, q: np.ndarray, shortest: float) -> None:
    """Raise where torques alone bring a joint to its greatest speed almost at once."""
    effort, limit = robot.column("effort"), robot.column("acceleration")
    M = np.array(robot.mass_matrix(q))
    reached = effort * np.diag(np.linalg.inv(M))  # by each motor alone, the other joints free
    with np.errstate(divide="ignore", invalid="ignore"):
        ramp = robot.column("speed") / reached
    wrong = np.flatnonzero(~np.isfinite(limit) & (ramp < SHORTEST_RAMP * shortest))
    if wrong.size == 0:
        return
    names = _velocity_names(robot)
    worst = wrong[np.argmin(ramp[wrong])]
    raise UsageError(
        f"the least time of '{robot.name}' needs limits of acceleration, or the inertia of rotors",
        got=f"{effort[worst]:g} N m bring '{names[worst]}' to its greatest speed in "
        f"{1e3 * ramp[worst]:.2g} ms",
        expected=f"a limit for {', '.join(names[i] for i in wrong)}",
        hint="reach(..., acceleration=15), or robot.with_limits('joint_limits.yaml')",
    )


def _velocity_names(robot: Robot) -> list[str]:
    names: list[str] = []
    for c in robot.coordinates:
        names += [c.name] * (3 if isinstance(c, Quaternion) else 1)
    return names


def _stay_outside(phase: Phase, m: Motion, sphere: Sphere) -> None:
    try:
        link, (x, y, z), radius = sphere
    except (TypeError, ValueError) as error:
        raise UsageError(
            "reach: a sphere to avoid",
            got=repr(sphere),
            expected="a link, a centre and a radius, as in avoid=[('tool', (0, 0, 1), 0.2)]",
        ) from error
    if not all(isinstance(one, Real) for one in (x, y, z, radius)) or not 0 < radius < np.inf:
        raise UsageError(
            "reach: a sphere to avoid",
            got=repr(sphere),
            expected="three numbers for the centre (m), and a radius above 0 (m)",
        )
    gap = m.point(link) - casadi.DM([x, y, z])
    # Relative to the radius, so that the constraint is of order one.
    phase.path(casadi.sumsqr(gap) / radius**2, lower=1.0, name=f"clear of {link}")


def _stay_upright(phase: Phase, m: Motion, level: tuple[str, str, float]) -> None:
    try:
        link, axis, tilt = level
        known = axis in ("x", "y", "z") and 0 < tilt < np.pi
    except (TypeError, ValueError):
        known = False
    if not known:
        raise UsageError(
            "reach: level",
            got=repr(level),
            expected="a link, its axis x, y or z, and the greatest tilt (rad), as in "
            "('tool', 'z', 0.1)",
        )
    up = m.rotation(link)[2, "xyz".index(axis)]
    phase.path(up, lower=cos(tilt), name=f"{link} level")


__all__ = ["reach"]
