"""Linear tangent steering: a constant acceleration is turned to reach a height and a speed in the
least time.
"""

from casadi import cos, pi, sin

from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=0.554570878335,
    tolerance=1e-8,
    structure="tan u = tan(u0) (1 - 2 t / tf)",
    source="closed form (Bryson and Ho, section 2.4); COPS 3.0 with 200 intervals: 0.554577",
)


@settable
def build(
    height=setting(5.0, "1", "height at the end"),
    speed=setting(45.0, "1", "horizontal speed at the end"),
    a=setting(100.0, "1", "thrust acceleration", 1e-6),
) -> Problem:
    ocp = Problem("linear-tangent-steering")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.01, 10))
    x = ph.state("x", start=0, unit="m")
    y = ph.state("y", start=0, end=height, unit="m")
    vx = ph.state("vx", start=0, end=speed, unit="m/s")
    vy = ph.state("vy", start=0, end=0, unit="m/s")
    u = ph.control("u", lower=-pi / 2, upper=pi / 2, unit="rad")
    ph.dynamics({x: vx, y: vy, vx: a * cos(u), vy: a * sin(u)})
    ocp.minimize(ph.final(t))
    return ocp
