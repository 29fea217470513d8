"""Motions of robots from files: ``trajopt solve arm.urdf --from 0,0,0,0 --to 1,0.5,0,0``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trajopt import Problem
from trajopt.errors import UsageError
from trajopt.mechanics import Robot, read_robot
from trajopt.robots import reach
from trajopt.show.drawing import Drawing
from trajopt.show.robot_drawing import draw_robot


def builder(path: str) -> Callable[..., Problem]:
    """Return the function that builds a motion of the robot of a file from rest to rest."""

    def build(
        start: Any = None,
        end: Any = None,
        cost: str = "effort",
        duration: float | None = None,
        acceleration: float | None = None,
        limits: str | None = None,
        payload: Any = None,
        by: str = "inverse",
        file: str = path,
    ) -> Problem:
        robot = _read(file, limits, payload)
        if start is None or end is None:
            joints = ",".join(robot.joints)
            raise UsageError(
                f"'{file}' needs a start and an end",
                expected=f"positions of {joints}",
                hint=f"trajopt solve {file} --from {joints} --to {joints}, with numbers",
            )
        return reach(robot, start, end, cost, duration, acceleration, by=by)  # type: ignore[arg-type]

    return build


def drawing(file: str, limits: str | None = None, payload: Any = None) -> Drawing:
    """The robot and the path of its last link."""
    robot = _read(file, limits, payload)
    return draw_robot(robot, tip=robot.links[-1])


def _read(file: str, limits: str | None, payload: Any) -> Robot:
    payload = payload.split(",") if isinstance(payload, str) else payload
    if payload is None:
        return read_robot(file, limits=limits)
    if len(payload) not in (2, 5):
        raise UsageError(
            "payload of a robot",
            got=payload,
            expected="a link and a mass, and perhaps three coordinates of its centre",
            hint="--set payload=tool0,3",
        )
    link, *numbers = payload
    mass, *centre = (float(x) for x in numbers)
    return read_robot(file, (str(link), mass, centre or (0.0, 0.0, 0.0)), limits)
