"""Move a block from rest to rest in a given time with the least fuel.

Fuel is the integral of |u|. The thrust is split into a forward and a backward part, so that the
cost is linear and smooth.
"""

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="closed form",
    objective=0.7639320225,
    tolerance=1e-5,
    switches=(0.3819660, 2.6180340),
    structure="full forward, coast, full back",
    source="closed form: 3 - sqrt(5)",
)


@settable
def build(
    distance=setting(1.0, "1", "distance to move"),
    duration=setting(3.0, "1", "time of the move", 1e-6),
    limit=setting(1.0, "1", "largest acceleration", 1e-6),
) -> Problem:
    ocp = Problem("double-integrator-minfuel")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x = ph.state("x", start=0, end=distance, unit="m")
    v = ph.state("v", start=0, end=0, unit="m/s")
    forward = ph.control("up", lower=0, upper=limit, unit="m/s^2")
    backward = ph.control("um", lower=0, upper=limit, unit="m/s^2")
    ph.dynamics({x: v, v: forward - backward})
    ocp.minimize(ph.integral(forward + backward))
    return ocp
