"""The Bryson-Denham problem: bounce back with the least effort without passing a wall."""

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    objective=4.0,
    tolerance=1e-6,
    structure="the wall is followed from t = 1/3 to 2/3",
    source="closed form: 4 / (9 l) (Bryson and Ho, section 3.11); PSOPT example bryson_denham: "
    "3.999539",
)


@settable
def build(
    wall=setting(1 / 9, "1", "distance of the wall", 1e-6),
    speed=setting(1.0, "1", "speed at the start"),
    duration=setting(1.0, "1", "time of the motion", 1e-6),
) -> Problem:
    ocp = Problem("bryson-denham")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x = ph.state("x", start=0, end=0, upper=wall, unit="m")
    v = ph.state("v", start=speed, end=-speed, unit="m/s")
    u = ph.control("u", unit="m/s^2")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(0.5 * u**2))
    return ocp
