"""The scalar linear-quadratic regulator with a cross term."""

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=0.380797077978,
    tolerance=1e-9,
    costates={"x": 0.76159416},
    structure="smooth",
    source="Riccati equation: tanh(1) / 2; TrajectoLab/maptor examples/lqr/lqr.py: "
    "0.38079707797748114",
)


@settable
def build(
    start=setting(1.0, "1", "value at the start"),
    duration=setting(1.0, "1", "length of the time interval", 1e-6),
) -> Problem:
    ocp = Problem("lqr-scalar")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x = ph.state("x", start=start)
    u = ph.control("u")
    ph.dynamics({x: 0.5 * x + u})
    ocp.minimize(ph.integral(0.625 * x**2 + 0.5 * x * u + 0.5 * u**2))
    return ocp
