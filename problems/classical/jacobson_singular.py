"""Jacobson's singular regulator: the cost leaves the control out, so the last arc is singular."""

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=0.753983860576,
    tolerance=1e-6,
    switches=(1.4137640876,),
    structure="u = -1, then the singular arc u = x1",
    source="arc-wise shooting; PROPT manual, Singular Control 3: 0.75399456159",
)


@settable
def build(
    duration=setting(5.0, "1", "length of the time interval", 1e-6),
    limit=setting(1.0, "1", "bound of the control", 1e-6),
) -> Problem:
    ocp = Problem("jacobson-singular")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x1 = ph.state("x1", start=0)
    x2 = ph.state("x2", start=1)
    u = ph.control("u", lower=-limit, upper=limit)
    ph.dynamics({x1: x2, x2: u})
    ocp.minimize(ph.integral(x1**2 + x2**2))
    return ocp
