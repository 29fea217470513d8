"""The fastest transfer between circular orbits with bounded thrust: full thrust all the way, its
direction to be found.

Lengths are in initial radii, times in initial orbital periods over 2 pi. With the radius of
``orbit-raising`` it takes the time of that problem, of which it is the dual.
"""

from dataclasses import dataclass, replace

from problems.rocket.central_field import require_positive
from problems.rocket.coordinates import chosen
from problems.rocket.drawings import transfer_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import pictures  # noqa: F401  # of its own
from problems.rocket.thrust import Engine, Spiral, declare_bounded_thrust, fly
from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting, setting_field

REFERENCE = Reference(
    origin="own",
    objective=3.24806972712,
    tolerance=1e-8,
    structure="full thrust; its direction turns fast from outward to inward near half time",
    source="collocation and shooting agree",
)


@dataclass(frozen=True)
class Transfer:
    """What a transfer has besides its thrust.

    An ``inclination`` puts the transfer into a plane turned about the line of departure; a
    ``plane_change`` turns the final orbit against the initial one about that line (rad). The
    ``coordinates`` are "polar" (in the plane), "equinoctial" or "cartesian"; "auto" takes what
    suits.
    """

    exhaust: float = setting_field(
        0.1405 / 0.0749, "1", "exhaust speed, in speeds of the first orbit"
    )
    radius: float = setting_field(1.5, "1", "radius of the final circle, in initial radii")
    mass: float = setting_field(1.0, "1", "mass at the start")
    inclination: float = setting_field(
        0.0, "rad", "tilt of the whole transfer about the line of departure"
    )
    plane_change: float = setting_field(
        0.0, "rad", "turn of the final orbit against the first about that line"
    )
    coordinates: str = setting_field("auto", "", "coordinates of the statement")


TRANSFER = Transfer()


@settable
def build(
    thrust=setting(0.1405, "1", "full thrust, in initial weights at the first orbit"),
    flight: Transfer = TRANSFER,
) -> Problem:
    """From the circle r = 1 to the circle r = ``radius``, arriving anywhere on it; thrust and
    exhaust speed are constant.
    """
    return fastest(thrust, flight)


def fastest(thrust: float, flight: Transfer) -> Problem:
    """The transfer with a full thrust, from a slow spiral as the guess."""
    positive = {
        "thrust": thrust,
        "exhaust": flight.exhaust,
        "radius": flight.radius,
        "mass": flight.mass,
    }
    require_positive("min-time-transfer", **positive)
    used = chosen("min-time-transfer", flight.coordinates, flight.inclination, flight.plane_change)
    # The duration if slow thrust were all it takes.
    least = (
        Spiral(flight.radius, 1.0, plane_change=flight.plane_change).speed * flight.mass / thrust
    )
    spiral = Spiral(flight.radius, least, flight.inclination, flight.plane_change, used)
    return transfer(Engine(thrust, flight.exhaust, flight.mass), spiral)


def transfer(engine: Engine, spiral: Spiral, longest: float = 10.0) -> Problem:
    """The same for an engine whose full thrust becomes a parameter, from a spiral whose duration is
    the guess.

    ``longest`` bounds the time, in durations of the spiral.
    """
    ocp = Problem("min-time-transfer")
    full, least = ocp.parameter("thrust", engine.thrust), spiral.duration
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1 * least, longest * least, guess=least), unit="")
    flight = fly(ph, replace(engine, thrust=full), spiral)
    for name, condition in spiral.coordinates.conditions(ph.final(flight.q), spiral.last).items():
        ocp.require(condition, equals=0, name=name)
    ocp.minimize(ph.final(t))
    declare_bounded_thrust(ph, t, flight, full, burning=True)
    return ocp
