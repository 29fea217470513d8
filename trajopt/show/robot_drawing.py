"""Drawings of robots from their trees: links, joints, contact forces, the path of a tool."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

import casadi
import numpy as np

from trajopt.mechanics import Robot
from trajopt.show.drawing import Arrow, Drawing, Ground, Mark, Rod, Shape, Trail, Where

CORNERS = 24  # of a circle


def draw_robot(
    robot: Robot,
    tip: str | None = None,
    contacts: Sequence[str] = (),
    spheres: Sequence[tuple[Sequence[float], float]] = (),
) -> Drawing:
    """Return a drawing of a robot whose positions are the state ``q`` of a phase.

    Parameters
    ----------
    tip : a link whose path is drawn.
    contacts : links with forces, in the order of the control ``f``.
    spheres : centres and radii of obstacles.

    Examples
    --------
    >>> from trajopt.mechanics import read_robot
    >>> from problems.robots import ARM
    >>> len(draw_robot(read_robot(ARM), tip="tool").shapes)
    11
    """
    q = casadi.vertcat(*[casadi.SX.sym(f"q_{i}") for i in range(robot.positions)])
    if robot.positions == 1:
        q = casadi.SX.sym("q")
    names = robot.links
    origins = casadi.Function("origins", [robot.tree.q], [robot.pose(n).o for n in names])
    found = origins(q)
    place = dict(zip(names, found if len(names) > 1 else [found], strict=True))
    shapes: list[Shape] = [_floor(robot)]
    shapes += [ring for centre, radius in spheres for ring in _sphere(centre, radius)]
    if tip is not None:
        robot.pose(tip)  # raises for an unknown link
        shapes.append(Trail(place[tip]))
    shapes += _links(robot, place)
    for k, name in enumerate(contacts):
        force = casadi.vertcat(*[casadi.SX.sym(f"f_{3 * k + i}") for i in range(3)])
        # As long as half the robot under half its weight.
        scale = _extent(robot) / robot.weight
        shapes.append(Arrow(Where("f_0", place[name]), Where("f_0", force), scale))
    return Drawing(tuple(shapes), unit="m")


def _links(robot: Robot, place: dict[str, Any]) -> list[Shape]:
    """Return rods between the origins of links, and marks at the joints that move."""
    rods: list[Shape] = []
    marks: list[Shape] = []
    points = casadi.Function("points", [robot.tree.q], [robot.pose(n).o for n in robot.links])
    found = points(robot.start)
    at = dict(zip(robot.links, found if len(robot.links) > 1 else [found], strict=True))
    for number, link in enumerate(robot.tree.links):
        # A frame without a body of its own is drawn only if something hangs on it.
        above = link.parent
        if above in place and float(casadi.norm_2(at[link.name] - at[above])) > 1e-6:
            rods.append(Rod((place[above], place[link.name]), number % 5, 5.0))
        if any(getattr(step, "by", None) is not None for step in link.joint):
            marks.append(Mark(place[link.name], 6.0, 5))
    return [*rods, *marks]


def _extent(robot: Robot) -> float:
    """Return the largest extent of the robot where it starts (m)."""
    points = np.hstack([np.array(robot.place(name, robot.start)[1]) for name in robot.links])
    return max(float(np.ptp(points, axis=1).max()), 1e-3)


def _floor(robot: Robot) -> Ground:
    size = 0.3 * _extent(robot)
    circle = [2.0 * pi * k / CORNERS for k in range(CORNERS + 1)]
    return Ground(tuple((size * cos(x), size * sin(x), 0.0) for x in circle))


def _sphere(centre: Sequence[float], radius: float) -> list[Shape]:
    """Return three circles of a sphere."""
    angles = [2.0 * pi * k / CORNERS for k in range(CORNERS + 1)]
    x, y, z = centre
    rings: list[Shape] = []
    for i, j in ((0, 1), (1, 2), (2, 0)):
        corners = []
        for angle in angles[:-1]:
            point = [x, y, z]
            point[i] += radius * cos(angle)
            point[j] += radius * sin(angle)
            corners.append(tuple(point))
        rings.append(Rod(tuple(corners), 4, 1.0, closed=True))
    return rings
