"""Slalom through six gates in a given time with the least effort, by the three-link exoskeleton (``slalom``)."""

from problems.exoskeleton.pictures import courses as pictures  # noqa: F401  # of its own
from problems.exoskeleton.pictures import slalom_drawing as drawing  # noqa: F401  # what an animation shows
from problems.exoskeleton.slalom import Course, run
from trajopt import Problem, Reference

REFERENCE = Reference(objective=0.0925184124, tolerance=1e-6, source="this repository, meshes to errors of 1e-6 and of 1e-7")


def build(gates=6, spacing=6.0, offset=1.5, width=0.6, duration=4.7, posture="moving") -> Problem:
    """``duration`` is in seconds, None leaves it free; ``posture="rigid"`` is Chaplygin's sleigh with a steering torque."""
    ocp, stages = run("slalom-effort", Course(gates, spacing, offset, width), posture)
    if duration is not None:
        last = stages[-1]
        ocp.require(last.phase.final(last.time), equals=duration, name="duration")
    ocp.minimize(sum(stage.effort for stage in stages))
    return ocp
