"""Calm a Van der Pol oscillator with a control that can hardly push back."""

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=2.86726105718,
    tolerance=3e-6,
    structure="u at its lower limit, then inside",
    source="collocation and arc-wise re-integration; PROPT manual, Van der Pol Oscillator: "
    "2.8672595381",
)


@settable
def build(
    lower=setting(-0.3, "1", "lower bound of the control"),
    upper=setting(1.0, "1", "upper bound of the control"),
    duration=setting(5.0, "1", "length of the time interval", 1e-6),
) -> Problem:
    ocp = Problem("vanderpol-bounded")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x1 = ph.state("x1", start=0)
    x2 = ph.state("x2", start=1)
    u = ph.control("u", lower=lower, upper=upper)
    ph.dynamics({x1: (1 - x2**2) * x1 - x2 + u, x2: x1})
    ocp.minimize(ph.integral(x1**2 + x2**2 + u**2))
    return ocp
