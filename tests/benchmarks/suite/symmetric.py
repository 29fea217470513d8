"""Symmetric statements: a plain guess is a saddle point or a worst point, the optimum lies to
either side.
"""

from math import pi

from casadi import cos, sqrt

from trajopt import Problem, free

from .entry import problem


@problem("sphere-long-way", "symmetric", quick=True)
def sphere_long_way() -> Problem:
    """Least energy between points of the equator 5 radians apart: the equator is a saddle, the best
    way passes a pole.
    """
    ocp = Problem("sphere-long-way")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    latitude = ph.state("latitude", start=0, end=0, lower=-1.2, upper=1.2)
    longitude = ph.state("longitude", start=0, end=5)
    north, east = ph.control("north"), ph.control("east")
    ph.dynamics({latitude: north, longitude: east})
    ocp.minimize(ph.integral(north**2 + cos(latitude) ** 2 * east**2))
    return ocp


@problem("oscillator-past-pi", "symmetric", quick=True)
def oscillator_past_pi() -> Problem:
    """Action of an oscillator over more than half a period: rest is stationary, but a conjugate
    point lies at pi.
    """
    ocp = Problem("oscillator-past-pi")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x = ph.state("x", start=0, end=0, lower=-1, upper=1)
    v = ph.control("v")
    ph.dynamics({x: v})
    ocp.minimize(ph.integral(v**2 - x**2))
    return ocp


@problem("disc-ahead", "symmetric", quick=True)
def disc_ahead() -> Problem:
    """The shortest path past a disc that lies exactly on the straight line."""
    ocp = Problem("disc-ahead")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y = ph.state("x", start=-2, end=3), ph.state("y", start=0, end=0)
    u, v = ph.control("u"), ph.control("v")
    ph.dynamics({x: u, y: v})
    ph.path(x**2 + y**2, lower=1, name="disc")
    ocp.minimize(ph.integral(u**2 + v**2))
    return ocp


@problem("rings", "symmetric", quick=True)
def rings() -> Problem:
    """The least surface of revolution between two rings; the deep catenary is stationary, but no
    minimum.
    """
    ocp = Problem("rings")
    ph = ocp.phase()
    ph.time(start=-0.5, end=0.5)
    y = ph.state("y", start=1, end=1, lower=0.05)
    slope = ph.control("slope")
    ph.dynamics({y: slope})
    ocp.minimize(ph.integral(2 * pi * y * sqrt(1 + slope**2)))
    return ocp


@problem("gravity-train", "symmetric")
def gravity_train() -> Problem:
    """The quickest frictionless tunnel through a uniform planet between points 120 degrees apart: a
    hypocycloid.
    """
    ocp = Problem("gravity-train")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, y = ph.state("x", start=1, end=-0.5), ph.state("y", start=0, end=3**0.5 / 2)
    v = ph.state("v", start=0, lower=0)
    a, b = ph.control("a", lower=-1, upper=1), ph.control("b", lower=-1, upper=1)
    ph.dynamics({x: v * a, y: v * b, v: -(x * a + y * b)})
    ph.path(a**2 + b**2, equals=1)
    ocp.minimize(ph.final(t))
    return ocp
