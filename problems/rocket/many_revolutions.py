"""A low-thrust spiral of more than twenty revolutions between circular orbits in the least time.

The winding angle is a state, so that all that varies fast is the small oscillation of the thrust's
direction within each turn. Lengths are in initial radii, times in initial orbital periods over 2
pi.
"""

from problems.rocket import min_time_transfer
from problems.rocket.drawings import transfer_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import pictures  # noqa: F401  # of its own
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=174.913592506,
    tolerance=1e-8,
    structure="full thrust almost along the orbit, 21.2 revolutions",
    source="collocation and shooting agree",
)


@settable
def build(
    thrust=setting(0.001, "1", "full thrust, in initial weights at the first orbit"),
    flight: min_time_transfer.Transfer = min_time_transfer.TRANSFER,
) -> Problem:
    """From the circle r = 1 to the circle r = ``radius``; half the thrust takes about twice the
    revolutions.

    The other arguments are those of ``min-time-transfer``.
    """
    problem = min_time_transfer.fastest(thrust, flight)
    problem.name = "many-revolutions"
    return problem
