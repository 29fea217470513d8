"""Postures: positions of all joints of a robot, by name or in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.errors import UsageError, check_type, suggest
from trajopt.mechanics import Quaternion, Robot


def posture_values(robot: Robot, given: Any, what: str = "posture") -> np.ndarray | None:
    """Return positions in order, (positions,); None stays None.

    Joints that a dictionary does not name stay where the file has them.
    """
    check_type("the robot", robot, Robot, "a Robot, as of read_robot('arm.urdf')")
    if given is None:
        return None
    if robot.positions == 0:
        raise UsageError(
            f"'{robot.name}' has no joint that moves", expected="at least one, not fixed"
        )
    if isinstance(given, Mapping):
        for name in given:
            if name not in robot.joints:
                raise UsageError(
                    f"{what} of '{robot.name}': no joint '{name}'",
                    expected=", ".join(robot.joints),
                    hint=suggest(name, robot.joints),
                )
        parts = [np.atleast_1d(given.get(c.name, c.start)) for c in robot.coordinates]
        given = np.concatenate(parts)
    try:
        values = np.asarray(given, dtype=float).ravel()
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{what} of '{robot.name}'",
            got=repr(given),
            expected=f"numbers for {', '.join(robot.joints)}, in order or by name",
        ) from error
    if values.size != robot.positions:
        raise UsageError(
            f"{what} of '{robot.name}'",
            got=f"{values.size} numbers",
            expected=f"{robot.positions}, for {', '.join(robot.joints)}",
        )
    _check_limits(robot, values, what)
    return values


def _check_limits(robot: Robot, values: np.ndarray, what: str) -> None:
    place = 0
    for c in robot.coordinates:
        size, limit = c.q.numel(), robot.limits[c.name]
        own = values[place : place + size]
        place += size
        if isinstance(c, Quaternion):
            if abs(float(np.linalg.norm(own)) - 1.0) > 1e-6:
                raise UsageError(
                    f"{what} of '{robot.name}': '{c.name}' is no unit quaternion",
                    got=", ".join(f"{x:g}" for x in own),
                    expected="w, x, y, z of length 1",
                )
        elif not limit.lower <= own[0] <= limit.upper:
            raise UsageError(
                f"{what} of '{robot.name}': joint '{c.name}' is outside its limits",
                got=f"{own[0]:g} {c.unit}",
                expected=f"{limit.lower:g} to {limit.upper:g} {c.unit}",
            )
