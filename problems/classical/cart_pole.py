"""Swing up a pole on a cart with the least effort (Kelly 2017, section 6)."""

from casadi import SX, cos, pi, sin

from trajopt import Problem, Reference
from trajopt.parameters import settable, setting
from trajopt.show.drawing import Drawing, Ground, Mark, Rod, Trail

REFERENCE = Reference(
    origin="own",
    objective=58.8076674582,
    tolerance=1e-6,
    costates={"x": 3.6189553, "q": -52.001219, "dx": 4.8504765, "dq": 4.2899048},
    structure="smooth; a better local minimum of 57.94478031 swings more often",
    source="collocation and shooting; Kelly, SIAM Review 59 (2017) 849: the same branch",
)


@settable
def build(
    distance=setting(1.0, "m", "how far the cart ends from its start"),
    duration=setting(2.0, "s", "time of the swing-up", 0.1),
    limit=setting(20.0, "N", "largest force on the cart", 0),
    track=setting(2.0, "m", "half the length of the track", 0),
    m1=setting(1.0, "kg", "mass of the cart", 1e-6),
    m2=setting(0.3, "kg", "mass of the pole's bob", 1e-6),
    l=setting(0.5, "m", "length of the pole", 1e-6),
    g=setting(9.81, "m/s^2", "acceleration of free fall"),
) -> Problem:
    ocp = Problem("cart-pole")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x = ph.state("x", start=0, end=distance, lower=-track, upper=track, unit="m")
    # The guess of the source, which leads to its branch: there are better ones with more swings.
    q = ph.state("q", start=0, end=pi, unit="rad", guess=lambda tau: pi * tau)
    dx = ph.state("dx", start=0, end=0, unit="m/s")
    dq = ph.state("dq", start=0, end=0, unit="rad/s")
    F = ph.control("F", lower=-limit, upper=limit, unit="N")
    inertia = m1 + m2 * sin(q) ** 2
    ddx = (l * m2 * sin(q) * dq**2 + F + m2 * g * cos(q) * sin(q)) / inertia
    ddq = -(l * m2 * cos(q) * sin(q) * dq**2 + F * cos(q) + (m1 + m2) * g * sin(q)) / (l * inertia)
    ph.dynamics({x: dx, q: dq, dx: ddx, dq: ddq})
    ocp.minimize(ph.integral(F**2))
    return ocp


def drawing(l=0.5, track=2.0) -> Drawing:
    x, q = SX.sym("x"), SX.sym("q")
    bob = (x + l * sin(q), -l * cos(q))
    cart = tuple(
        (x + a, b) for a, b in ((-0.15, -0.06), (0.15, -0.06), (0.15, 0.06), (-0.15, 0.06))
    )
    rail = Ground(((-track, 0.0), (track, 0.0)))
    return Drawing(
        (rail, Trail(bob), Rod(cart, 0, 3, closed=True), Rod(((x, 0.0), bob), 1, 3), Mark(bob, 13))
    )
