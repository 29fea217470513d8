"""Land softly on the Moon with the least fuel."""

from casadi import SX

from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Ground, Mark, Rod

REFERENCE = Reference(
    objective=8.24621125124,
    tolerance=1e-6,
    switches=(1.4154037504,),
    structure="free fall, then full thrust; tf = 4.1641408342",
    source="closed form; mpopt getting_started notebook: 8.24621",
)


@settable
def build(
    height=setting(10.0, "1", "height at the start", 0),
    speed=setting(-2.0, "1", "vertical speed at the start, upwards positive"),
    g=setting(1.5, "1", "acceleration of free fall", 0),
    limit=setting(3.0, "1", "largest thrust acceleration", 1e-6),
) -> Problem:
    ocp = Problem("moon-lander")
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 20))
    h = ph.state("h", start=height, end=0, unit="m")
    v = ph.state("v", start=speed, end=0, unit="m/s")
    u = ph.control("u", lower=0, upper=limit, unit="m/s^2")
    ph.dynamics({h: v, v: u - g})
    ocp.minimize(ph.integral(u))
    return ocp


def drawing() -> Drawing:
    """The lander with its flame, as long as the thrust is strong."""
    h, u = SX.sym("h"), SX.sym("u")
    body = Rod(((-0.5, h), (0.5, h), (0.3, h + 0.9), (-0.3, h + 0.9)), 0, 3, closed=True)
    flame = Rod(((0.0, h), (0.0, h - 0.4 * u)), 5, 4)
    return Drawing((Ground(((-50.0, 0.0), (50.0, 0.0))), flame, body, Mark((0.0, h + 0.45), 6)))
