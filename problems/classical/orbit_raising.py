"""Raise a circular orbit as far as a low thrust can in a given time (Moyer and Pinkham).

Lengths are in initial radii, times in initial orbital periods over 2 pi. The thrust is constant and
the mass falls.
"""

from casadi import cos, sin, sqrt

from problems.rocket.pictures import pictures  # noqa: F401  # of its own
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=1.52527770065,
    tolerance=1e-8,
    costates={"r": -1.877336, "vr": -0.92893366, "vt": -2.0251562},
    structure="the thrust turns fast from outward to inward near half time",
    source="collocation and shooting agree; stevenrhall/yapss "
    "tests/examples/test_orbit_raising.py: 1.5252777",
)


@settable
def build(
    thrust=setting(0.1405, "1", "thrust over initial weight at the first orbit", 1e-9),
    flow=setting(0.0749, "1", "mass flow", 0),
    duration=setting(3.32, "1", "time of the flight", 1e-6),
) -> Problem:
    ocp = Problem("orbit-raising")
    ph = ocp.phase()
    t = ph.time(start=0, end=duration, unit="")
    r = ph.state("r", start=1)
    vr = ph.state("vr", start=0, end=0)
    vt = ph.state("vt", start=1)
    u = ph.control("u", unit="rad")
    a = thrust / (1 - flow * t)
    ph.dynamics({r: vr, vr: vt**2 / r - 1 / r**2 + a * sin(u), vt: -vr * vt / r + a * cos(u)})
    ocp.require(ph.final(vt) - 1 / sqrt(ph.final(r)), equals=0, name="circular final orbit")
    ocp.maximize(ph.final(r))
    return ocp
