"""A low-thrust spiral of more than twenty revolutions between circular orbits in the least time.

The winding angle is a state, so that all that varies fast is the small oscillation of the thrust's direction within each turn.
Lengths are in initial radii, times in initial orbital periods over 2 pi.
"""

from problems.rocket import min_time_transfer
from problems.rocket.drawings import transfer_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import pictures  # noqa: F401  # of its own
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=174.913592506,
    tolerance=1e-8,
    structure="full thrust almost along the orbit, 21.2 revolutions",
    source="collocation and shooting agree",
)


@settable
def build(
    thrust=setting(0.001, "1", "full thrust, in initial weights at the first orbit"),
    exhaust=setting(0.1405 / 0.0749, "1", "exhaust speed, in speeds of the first orbit"),
    radius=setting(1.5, "1", "radius of the final circle, in initial radii"),
    mass=setting(1.0, "1", "mass at the start"),
    inclination=setting(0.0, "rad", "tilt of the whole transfer about the line of departure"),
    plane_change=setting(0.0, "rad", "turn of the final orbit against the first about that line"),
    coordinates=setting("auto", "", "coordinates of the statement"),
) -> Problem:
    """From the circle r = 1 to the circle r = ``radius``; half the thrust takes about twice the revolutions.

    The other arguments are those of ``min-time-transfer``.
    """
    problem = min_time_transfer.build(thrust, exhaust, radius, mass, inclination, plane_change, coordinates)
    problem.name = "many-revolutions"
    return problem
