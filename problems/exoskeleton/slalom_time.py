"""Slalom through six gates in the least time, by the three-link exoskeleton (``slalom``)."""

from problems.exoskeleton.pictures import courses as pictures  # noqa: F401  # of its own
from problems.exoskeleton.pictures import slalom_drawing as drawing  # noqa: F401  # what an animation shows
from problems.exoskeleton.slalom import Course, run
from trajopt import Problem, Reference

REFERENCE = Reference(objective=4.58680609, tolerance=1e-6, source="this repository, meshes to errors of 1e-6 and of 1e-7")


def build(gates=6, spacing=6.0, offset=1.5, width=0.6, weight=0.2, posture="moving") -> Problem:
    """``weight`` is the price, in seconds, of a second with one muscle at its limit.

    Without it the time would not depend on most muscles, and the answer would not be unique; it costs about 0.02 s of 4.56 s.
    """
    ocp, stages = run("slalom-time", Course(gates, spacing, offset, width), posture)
    last = stages[-1]
    ocp.minimize(last.phase.final(last.time) + weight * sum(stage.effort for stage in stages))
    return ocp
