"""A low-thrust spiral of more than twenty revolutions between circular orbits in the least time.

The winding angle is a state, so that all that varies fast is the small oscillation of the thrust's direction within each turn.
Lengths are in initial radii, times in initial orbital periods over 2 pi.
"""

from problems.rocket import min_time_transfer
from problems.rocket.drawings import transfer_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import pictures  # noqa: F401  # of its own
from trajopt import Problem, Reference

REFERENCE = Reference(
    objective=174.913592506,
    tolerance=1e-8,
    structure="full thrust almost along the orbit, 21.2 revolutions",
    source="collocation and shooting agree",
)


def build(
    thrust: float = 0.001,
    exhaust: float = 0.1405 / 0.0749,
    radius: float = 1.5,
    mass: float = 1.0,
    inclination: float = 0.0,
    plane_change: float = 0.0,
    coordinates: str = "auto",
) -> Problem:
    """From the circle r = 1 to the circle r = ``radius``; half the thrust takes about twice the revolutions.

    The other arguments are those of ``min-time-transfer``.
    """
    problem = min_time_transfer.build(thrust, exhaust, radius, mass, inclination, plane_change, coordinates)
    problem.name = "many-revolutions"
    return problem
