"""Goddard's rocket: the highest flight through the air on a given amount of fuel, in the scaling of
COPS.

Lengths are in planet radii, masses in initial masses, accelerations in surface gravities.
"""

from casadi import exp

from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=1.01283691832,
    tolerance=1e-6,
    costates={"h": -4.5729002, "v": -0.17429931, "m": -0.062249754},
    switches=(0.0235096840, 0.0726707434),
    structure="full thrust, singular arc on D (1 + v / c) = m g, coast; tf = 0.1988562621",
    source="collocation and arc-wise shooting; COPS 3.0 via MadNLP/COPSBenchmark.jl: 1.01283",
)


@settable
def build(
    limit=setting(3.5, "1", "largest thrust", 0),
    final_mass=setting(0.6, "1", "mass that is left at least", 1e-3, 1),
    drag=setting(310.0, "1", "drag coefficient", 0),
    decay=setting(500.0, "1", "decay of the air's density with height"),
    c=setting(0.5, "1", "exhaust speed", 1e-6),
) -> Problem:
    ocp = Problem("goddard-cops")
    ph = ocp.phase()
    ph.time(start=0, end=free(0.01, 1), unit="")
    h = ph.state("h", start=1, lower=1)
    v = ph.state("v", start=0, lower=0)
    m = ph.state("m", start=1, end=final_mass, lower=final_mass, upper=1)
    thrust = ph.control("T", lower=0, upper=limit)
    air = drag * v**2 * exp(-decay * (h - 1))
    ph.dynamics({h: v, v: (thrust - air) / m - 1 / h**2, m: -thrust / c})
    ocp.maximize(ph.final(h))
    return ocp
