"""Limited power, free exhaust speed: the transfer between circular orbits on which Lawden's first
integrals are shown.

Lengths are in initial radii, times in initial orbital periods over 2 pi. Equations and sources are
in ``README.md``.
"""

from math import pi

from casadi import sumsqr

from problems.rocket.central_field import Circles, declare_limited_power, gravity, require_positive
from problems.rocket.drawings import transfer_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import pictures  # noqa: F401  # of its own
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.00343134263853,
    tolerance=1e-7,
    structure="smooth; the thrust acceleration is the primer vector, the negative costate of v",
    source="collocation and shooting agree; 0.0034313426 was computed before, independently of "
    "this library",
)


@settable
def build(
    duration=setting(2 * pi, "1", "time of the transfer, in initial periods over 2 pi"),
    radius=setting(1.5, "1", "radius of the final circle, in initial radii"),
    inclination=setting(0.0, "rad", "tilt of the whole transfer about the line of departure"),
    plane_change=setting(0.0, "rad", "turn of the final orbit against the first about that line"),
    power=setting(1.0, "1", "jet power"),
    mass=setting(1.0, "1", "mass at the start"),
) -> Problem:
    """From the circle r = 1 to the circle r = ``radius``, leaving at (1, 0) and arriving anywhere
    on it.

    The cost is half the integral of the squared thrust acceleration, which is the power times the
    growth of 1/m. An ``inclination`` puts the same transfer into a plane turned about the line of
    departure; a ``plane_change`` turns the final orbit against the initial one about that line.
    Both are angles in rad, and either makes the problem spatial.
    """
    require_positive("lawden-transfer", duration=duration, radius=radius, power=power, mass=mass)
    circles = Circles(radius, inclination, plane_change)
    shape, (r0, v0) = circles.shape(duration), circles.departure()
    ocp = Problem("lawden-transfer")
    ph = ocp.phase()
    t = ph.time(start=0, end=duration, unit="")
    r = ph.state("r", r0.size, start=r0, guess=shape.r)
    v = ph.state("v", r0.size, start=v0, guess=shape.v)
    m = ph.state(
        "m",
        start=mass,
        lower=0.001 * mass,
        guess=lambda tau: 1 / (1 / mass + shape.effort(tau) / power),
    )
    u = ph.control("u", r0.size, guess=shape.u, scale=shape.size)
    ph.dynamics({r: v, v: gravity(r) + u, m: -(m**2) * sumsqr(u) / (2 * power)})
    circles.arrive(ocp, ph, r, v)
    ocp.minimize(power * (1 / ph.final(m) - 1 / mass))
    declare_limited_power(ph, t, (r, v, m), power, mass)
    return ocp
