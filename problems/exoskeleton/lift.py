"""The exoskeleton lifts the body against the slope, from a crouch to plumb, with the least effort."""

from math import pi

from problems.exoskeleton.assistance import VERTICAL, movement
from problems.exoskeleton.pictures import standing_drawing as drawing  # noqa: F401  # what an animation shows
from trajopt import Problem, Reference

REFERENCE = Reference(objective=0.307797487, tolerance=1e-6, source="this repository, meshes to errors of 1e-6 and of 1e-8")


def build(duration=1.0) -> Problem:
    """The crouch has the leg uphill, the body leaning back downhill and both short."""
    crouch = {"psi1": pi / 3, "psi2": 2 * pi / 3, "q8": 0.1, "q9": 0.1}
    plumb = {"psi1": VERTICAL, "psi2": VERTICAL, "q8": 0.5, "q9": 0.5}
    lift = movement("exoskeleton-lift", duration, crouch, plumb)
    lift.problem.minimize(lift.effort())
    return lift.problem
