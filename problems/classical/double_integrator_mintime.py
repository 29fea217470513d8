"""Move a block from rest to rest in the least time with a limited force."""

from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=2.0,
    tolerance=1e-6,
    costates={"x": -1.0, "v": -1.0},
    switches=(1.0,),
    structure="full forward, then full back; one switch half way",
    source="closed form; control-toolbox/CTDirect.jl test/problems/double_integrator.jl: 2.0",
)


@settable
def build(
    distance=setting(1.0, "1", "distance to move"),
    limit=setting(1.0, "1", "largest acceleration", 1e-6),
) -> Problem:
    ocp = Problem("double-integrator-mintime")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 10))
    x = ph.state("x", start=0, end=distance, unit="m")
    v = ph.state("v", start=0, end=0, unit="m/s")
    u = ph.control("u", lower=-limit, upper=limit, unit="m/s^2")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    return ocp
