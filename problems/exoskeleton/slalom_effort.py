"""Slalom through six gates in a given time with the least effort, by the three-link exoskeleton
(``slalom``).
"""

from problems.exoskeleton.model import THREE_LINK, ThreeLink
from problems.exoskeleton.pictures import courses as pictures  # noqa: F401  # of its own
from problems.exoskeleton.pictures import slalom_drawing as drawing  # noqa: F401  # what an animation shows
from problems.exoskeleton.slalom import MUSCLES, POSTURES, Course, Muscles, rider, run
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.0925184124,
    tolerance=1e-6,
    source="this repository, meshes to errors of 1e-6 and of 1e-7",
)


@settable
def build(
    duration=setting(4.7, "s", "time of the run; none leaves it free", 0.1, 600, optional=True),
    posture=setting(
        "moving", "", "muscles in all joints, or one rigid piece that is steered", choices=POSTURES
    ),
    data: ThreeLink = THREE_LINK,
    muscles: Muscles = MUSCLES,
    course: Course = Course(),  # noqa: B008  # frozen
) -> Problem:
    """``duration`` is in seconds, None leaves it free; ``posture="rigid"`` is Chaplygin's sleigh
    with a steering torque.
    """
    ocp, stages = run("slalom-effort", course, rider(posture, data, muscles))
    if duration is not None:
        last = stages[-1]
        ocp.require(last.phase.final(last.time), equals=duration, name="duration")
    ocp.minimize(sum(stage.effort for stage in stages))
    return ocp
