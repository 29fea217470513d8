"""Slalom through six gates in the least time, by the three-link exoskeleton (``slalom``)."""

from problems.exoskeleton.model import THREE_LINK, ThreeLink
from problems.exoskeleton.pictures import courses as pictures  # noqa: F401  # of its own
from problems.exoskeleton.pictures import slalom_drawing as drawing  # noqa: F401  # what an animation shows
from problems.exoskeleton.slalom import MUSCLES, POSTURES, Course, Muscles, rider, run
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=4.58680609,
    tolerance=1e-6,
    source="this repository, meshes to errors of 1e-6 and of 1e-7",
)


@settable
def build(
    weight=setting(0.2, "s", "price of a second with one muscle at its limit", 0, 100),
    posture=setting(
        "moving", "", "muscles in all joints, or one rigid piece that is steered", choices=POSTURES
    ),
    data: ThreeLink = THREE_LINK,
    muscles: Muscles = MUSCLES,
    course: Course = Course(),  # noqa: B008  # frozen
) -> Problem:
    """``weight`` is the price, in seconds, of a second with one muscle at its limit.

    Without it the time would not depend on most muscles, and the answer would not be unique; it
    costs about 0.02 s of 4.56 s.
    """
    ocp, stages = run("slalom-time", course, rider(posture, data, muscles))
    last = stages[-1]
    ocp.minimize(last.phase.final(last.time) + weight * sum(stage.effort for stage in stages))
    return ocp
