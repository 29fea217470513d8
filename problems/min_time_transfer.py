"""The fastest transfer between circular orbits with bounded thrust: full thrust all the way, its direction to be found.

Lengths are in initial radii, times in initial orbital periods over 2 pi. With the radius of ``orbit-raising`` it takes the time
of that problem, of which it is the dual.
"""

from problems.rocket import require_positive
from problems.thrust import Engine, Spiral, declare_bounded_thrust, fly
from trajopt import Problem, Reference, free

REFERENCE = Reference(
    objective=3.24806972712,
    tolerance=1e-8,
    structure="full thrust; its direction turns fast from outward to inward near half time",
    source="collocation and shooting agree",
)


def build(thrust: float = 0.1405, exhaust: float = 0.1405 / 0.0749, radius: float = 1.5, mass: float = 1.0) -> Problem:
    """From the circle r = 1 to the circle r = ``radius``, arriving anywhere on it; thrust and exhaust speed are constant."""
    require_positive("min-time-transfer", thrust=thrust, exhaust=exhaust, radius=radius, mass=mass)
    ocp = Problem("min-time-transfer")
    ph = ocp.phase()
    shortest = Spiral(radius, 1.0).speed * mass / thrust  # if thrust along the orbit were all it takes
    t = ph.time(start=0, end=free(0.1 * shortest, 10 * shortest, guess=shortest), unit="")
    flight = fly(ph, Engine(thrust, exhaust, mass), Spiral(radius, shortest), throttle=1)
    ocp.minimize(ph.final(t))
    declare_bounded_thrust(ph, t, flight, thrust, burning=True)
    return ocp
