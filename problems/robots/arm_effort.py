"""A small arm carries a load around a sphere with the least effort: the robot from ``arm.urdf``."""

from problems.robots import ARM
from trajopt import Problem, Reference
from trajopt.mechanics import Robot, read_robot
from trajopt.parameters import settable, setting
from trajopt.robots import reach
from trajopt.show.drawing import Drawing
from trajopt.show.robot_drawing import draw_robot

START = {"base": -1.0, "shoulder": 0.9, "elbow": 0.8}
END = {"base": 1.0, "shoulder": 0.6, "elbow": 1.2}
WRIST = 0.3  # rad, held
CENTRE, RADIUS = (0.3, 0.0, 0.15), 0.12  # of the sphere that the tool passes (m)

REFERENCE = Reference(
    objective=0.2420435,
    tolerance=1e-6,
    structure="the tool touches the sphere; base and elbow reach their greatest speeds",
    source="collocation with a tolerance of 1e-8",
)


def robot(load: float = 1.0) -> Robot:
    """Return the arm with a load at its tool; its wrist is held."""
    return read_robot(ARM, payload=("tool", load, (0.0, 0.0, 0.0)), fixed={"wrist": WRIST})


@settable
def build(
    load=setting(1.0, "kg", "mass at the tool", 0, 3),
    duration=setting(1.0, "s", "time of the motion", 0.7),
    radius=setting(RADIUS, "m", "radius of the sphere", 0.01, 0.3),
) -> Problem:
    avoid = [("tool", CENTRE, radius)]
    return reach(robot(load), START, END, duration=duration, avoid=avoid, name="arm-effort")


def drawing(load=1.0, radius=RADIUS) -> Drawing:
    """The arm, the path of its tool and the sphere."""
    return draw_robot(robot(load), tip="tool", spheres=[(CENTRE, radius)])
