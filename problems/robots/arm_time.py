"""A small arm carries a load in the least time, within limits of speed, torque and acceleration."""

from problems.robots.arm_effort import END, START, robot
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting
from trajopt.robots import reach
from trajopt.show.drawing import Drawing
from trajopt.show.robot_drawing import draw_robot

REFERENCE = Reference(
    objective=29 / 30,
    tolerance=1e-8,
    structure="the base at its limits of acceleration, speed and acceleration; the others are free",
    source="the base turns by D = 2 rad with V = 2.5 rad/s and A = 15 rad/s^2: D/V + V/A",
)


@settable
def build(
    load=setting(1.0, "kg", "mass at the tool", 0, 3),
    acceleration=setting(15.0, "rad/s^2", "limit of each joint's acceleration", 1),
) -> Problem:
    arm = robot(load)
    return reach(arm, START, END, cost="time", acceleration=acceleration, name="arm-time")


def drawing(load=1.0) -> Drawing:
    """The arm and the path of its tool."""
    return draw_robot(robot(load), tip="tool")
