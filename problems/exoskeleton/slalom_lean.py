"""A slalom by a rider who leans into the turns, with the least effort (``slalom``).

The snow's force stays within the width of the board: its moment about the blade, which carries an
upright rider through any turn, is limited by half the width times the normal force. The
dissertation asks for such a rider; the statement is ours.
"""

from problems.exoskeleton.model import GENTLE, ThreeLink
from problems.exoskeleton.pictures import courses as pictures  # noqa: F401  # of its own
from problems.exoskeleton.pictures import slalom_drawing
from problems.exoskeleton.slalom import MUSCLES, Course, Muscles, rider, run
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing

REFERENCE = Reference(
    origin="own",
    objective=0.0891405431,
    tolerance=1e-6,
    source="this repository, meshes to errors of 1e-6 and of 1e-7",
)
WIDE = Course(gates=4, spacing=18.0, offset=1.5, width=0.6, speed=5.0)


@settable
def build(
    duration=setting(None, "s", "time of the run; none leaves it free", 0.1, 600, optional=True),
    data: ThreeLink = GENTLE,
    muscles: Muscles = MUSCLES,
    course: Course = WIDE,
) -> Problem:
    """The integral of the squared controls, each as a part of its limit (s)."""
    ocp, stages = run("slalom-lean", course, rider("leaning", data, muscles))
    if duration is not None:
        last = stages[-1]
        ocp.require(last.phase.final(last.time), equals=duration, name="duration")
    ocp.minimize(sum(stage.effort for stage in stages))
    return ocp


@settable
def drawing(data: ThreeLink = GENTLE, muscles: Muscles = MUSCLES, course: Course = WIDE) -> Drawing:
    """A run through the gates; the picture goes along."""
    return slalom_drawing(posture="leaning", data=data, muscles=muscles, course=course)
