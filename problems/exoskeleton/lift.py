"""The exoskeleton lifts the body against the slope, from a crouch to plumb, with
the least effort.
"""

from math import pi

from problems.exoskeleton.assistance import DRIVES, Drives, movement
from problems.exoskeleton.model import THREE_LINK, ThreeLink
from problems.exoskeleton.pictures import standing_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.307797487,
    tolerance=1e-6,
    source="this repository, meshes to errors of 1e-6 and of 1e-8",
)


@settable
def build(
    duration=setting(1.0, "s", "how long the lift takes", 0.1, 60),
    short=setting(0.1, "m", "both extensions in the crouch", 0, 10),
    tall=setting(0.5, "m", "both extensions at the end", 0, 10),
    data: ThreeLink = THREE_LINK,
    drives: Drives = DRIVES,
) -> Problem:
    """The crouch has the leg uphill, the body leaning back downhill and both short."""
    crouch = {"psi1": pi / 3, "psi2": 2 * pi / 3, "q8": short, "q9": short}
    plumb = {"psi1": pi / 2 - data.incline, "psi2": pi / 2 - data.incline, "q8": tall, "q9": tall}
    lift = movement("exoskeleton-lift", duration, (crouch, plumb), data, drives)
    lift.problem.minimize(lift.effort())
    return lift.problem
