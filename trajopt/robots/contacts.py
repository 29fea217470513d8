"""Contacts of a robot with level ground: points that stay, and forces within friction cones."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import casadi

from trajopt.arguments import named_arguments
from trajopt.mechanics import Robot
from trajopt.statement.problem import Phase

INF = float("inf")


@named_arguments
def contact_forces(phase: Phase, robot: Robot, contacts: Sequence[str]) -> Any:
    """Return the forces of the ground, three for each contact, as a control."""
    if not contacts:
        return casadi.SX(0, 1)
    count = len(contacts)
    share = robot.weight / count
    return phase.control(
        "f",
        3 * count,
        lower=[-INF, -INF, 0.0] * count,
        guess=[0.0, 0.0, share] * count,
        unit="N",
        components=tuple(f"{name}.{axis}" for name in contacts for axis in "xyz"),
    )


@named_arguments
def add_contacts(
    phase: Phase,
    robot: Robot,
    contacts: Sequence[str],
    variables: tuple[Any, Any, Any, Any],
    friction: float,
    at_rest: bool,
) -> None:
    """Hold the contacts where they are, with forces in a pyramid inside the friction cone.

    The points are held by their accelerations; their velocities are zero at the start, which is
    required unless the whole robot is at rest there.
    """
    if not contacts:
        return
    q, v, a, forces = variables
    velocity, acceleration = _motion_of(robot, contacts)
    phase.path(acceleration(q, v, a), equals=0.0, name="contacts stay")
    if not at_rest:
        speed = phase.initial(velocity(q, v))
        phase.problem.require(speed, equals=0.0, name=f"{phase.name}: contacts at rest")
    # A square pyramid inside the cone: |x|, |y| <= mu z / sqrt(2).
    side = friction / sqrt(2.0)
    for k, name in enumerate(contacts):
        x, y, z = (forces[3 * k + i] for i in range(3))
        faces = casadi.vertcat(side * z - x, side * z + x, side * z - y, side * z + y)
        phase.path(faces, lower=0.0, name=f"friction at {name}")


def _motion_of(robot: Robot, contacts: Sequence[str]) -> tuple[casadi.Function, casadi.Function]:
    """Return velocity (q, v) and acceleration (q, v, a) of the contact points."""
    tree = robot.tree
    q, v, a = tree.q, tree.v, tree.accelerations
    points = casadi.vertcat(*[robot.pose(name).o for name in contacts])
    velocity = casadi.jtimes(points, q, tree.rate)
    acceleration = casadi.jtimes(velocity, q, tree.rate) + casadi.jtimes(velocity, v, a)
    return (
        casadi.Function("velocity", [q, v], [casadi.cse(velocity)]),
        casadi.Function("acceleration", [q, v, a], [casadi.cse(acceleration)]),
    )
