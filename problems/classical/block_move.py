"""Move a block from rest to rest in a given time with the least effort."""

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="closed form",
    objective=12.0,
    tolerance=1e-9,
    costates={"x": -24.0, "v": -12.0},
    structure="the force falls linearly from 6 to -6",
    source="closed form: x = 3 t^2 - 2 t^3",
)


@settable
def build(
    distance=setting(1.0, "1", "distance to move"),
    duration=setting(1.0, "1", "time of the move", 1e-6),
) -> Problem:
    ocp = Problem("block-move")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x = ph.state("x", start=0, end=distance, unit="m")
    v = ph.state("v", start=0, end=0, unit="m/s")
    u = ph.control("u", unit="m/s^2")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    return ocp
