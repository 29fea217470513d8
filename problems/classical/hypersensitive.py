"""The hypersensitive problem: two thin boundary layers and a very long rest between them (Rao and
Mease).
"""

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=3.36205690494,
    tolerance=1e-7,
    structure="boundary layers of width O(10) at both ends, x = 0 between",
    source="quadrature along the stable and unstable manifolds; GPOPS-II value in "
    "brocksam/pycollo tests: 3.36206",
)


@settable
def build(
    start=setting(1.0, "1", "value at the start"),
    end=setting(1.5, "1", "value at the end"),
    duration=setting(10000.0, "1", "length of the time interval", 1e-6),
) -> Problem:
    ocp = Problem("hypersensitive")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x = ph.state("x", start=start, end=end)
    u = ph.control("u")
    ph.dynamics({x: -(x**3) + u})
    ocp.minimize(ph.integral(0.5 * (x**2 + u**2)))
    return ocp
