"""Cars, trucks with trailers, vehicles under water."""

from math import pi

from casadi import cos, exp, sin, tan

from trajopt import Problem, free

from .entry import problem


@problem("car-around-obstacles", "vehicle")
def car_around_obstacles() -> Problem:
    """A car from stop to stop in least time around three obstacles, with a circle of grip and a
    speed limit.
    """
    ocp = Problem("car-around-obstacles")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 60))
    x = ph.state("x", start=0, end=60, unit="m")
    y = ph.state("y", start=0, end=0, lower=-8, upper=8, unit="m")
    v, w = ph.state("v", start=0, end=0), ph.state("w", start=0, end=0)
    a, b = ph.control("a", lower=-6, upper=6), ph.control("b", lower=-6, upper=6)
    ph.dynamics({x: v, y: w, v: a, w: b})
    ph.path(a**2 + b**2, upper=36, name="grip")
    ph.path(v**2 + w**2, upper=13**2, name="speed")
    for i, (cx, cy, radius) in enumerate(((15, 1, 4), (32, -2, 5), (47, 2, 4))):
        ph.path((x - cx) ** 2 + (y - cy) ** 2, lower=radius**2, name=f"obstacle {i + 1}")
    ocp.minimize(ph.final(t))
    return ocp


@problem("car-by-wheel", "vehicle")
def car_by_wheel() -> Problem:
    """A car with heading and steering changes lanes around a disc with least effort under limits of
    grip and steering rate.
    """
    ocp = Problem("car-by-wheel")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x, y = ph.state("x", start=0, end=50), ph.state("y", start=0, end=3)
    heading = ph.state("heading", start=0, end=0)
    steer = ph.state("steer", start=0, end=0, lower=-0.4, upper=0.4)
    v = ph.state("v", start=12, lower=2, upper=14.5)
    rate, a = ph.control("rate", lower=-0.8, upper=0.8), ph.control("a", lower=-6, upper=4)
    turn = v * tan(steer) / 2.7
    ph.dynamics({x: v * cos(heading), y: v * sin(heading), heading: turn, steer: rate, v: a})
    ph.path(v * turn, lower=-5, upper=5, name="grip")
    ph.path((x - 22) ** 2 / 16 + (y - 0.5) ** 2 / 4, lower=1, name="obstacle")
    ocp.minimize(ph.integral(rate**2 + 0.05 * a**2))
    return ocp


@problem("truck-with-trailer", "vehicle")
def truck_with_trailer() -> Problem:
    """A truck backs its trailer beside its first place: least time, limits on steering and on the
    angle at the hitch.
    """
    ocp = Problem("truck-with-trailer")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 100))
    x = ph.state("x", start=0, end=-6, lower=-15, upper=15)
    y = ph.state("y", start=0, end=3, lower=-5, upper=8)
    heading, trailer = ph.state("heading", start=0, end=0), ph.state("trailer", start=0, end=0)
    steer = ph.state("steer", start=0, end=0, lower=-0.6, upper=0.6)
    v = ph.state("v", start=0, end=0, lower=-1.5, upper=1.5)
    a, rate = ph.control("a", lower=-1, upper=1), ph.control("rate", lower=-1, upper=1)
    ph.dynamics({
        x: v * cos(heading), y: v * sin(heading), heading: v * tan(steer) / 2,
        trailer: v * sin(heading - trailer) / 3, steer: rate, v: a,
    })  # fmt: skip
    ph.path(heading - trailer, lower=-0.9, upper=0.9, name="hitch")
    ocp.minimize(ph.final(t))
    return ocp


@problem("parking", "vehicle")
def parking() -> Problem:
    """The shortest way of a car that goes forward and backward to a place beside it (Reeds & Shepp
    1990).
    """
    ocp = Problem("parking")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 30))
    x, y = ph.state("x", start=0, end=0), ph.state("y", start=0, end=0.8)
    heading = ph.state("heading", start=0, end=0)
    v, curvature = ph.control("v", lower=-1, upper=1), ph.control("curvature", lower=-1, upper=1)
    ph.dynamics({x: v * cos(heading), y: v * sin(heading), heading: v * curvature})
    ocp.minimize(ph.final(t))
    return ocp


@problem("underwater-vehicle", "vehicle")
def underwater_vehicle() -> Problem:
    """A vehicle under water in a current is brought from speed to rest with least effort (Bueskens
    & Maurer).
    """
    ocp = Problem("underwater-vehicle")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    start = (0, 0, 0.2, pi / 2, 0.1, -pi / 4, 1, 0, 0.5, 0.1)
    end = (1, 0.5, 0, pi / 2, 0, 0, 0, 0, 0, 0)
    low, high = {3: pi / 2 - 0.02}, {3: pi / 2 + 0.02}
    x = [
        ph.state(f"x{i + 1}", start=a, end=b, lower=low.get(i), upper=high.get(i))
        for i, (a, b) in enumerate(zip(start, end, strict=True))
    ]
    u = [ph.control(f"u{i + 1}", lower=-15, upper=15) for i in range(4)]
    shape = exp(-(((x[0] - 0.5) / 0.1) ** 2))
    Rx = -2 * shape * (x[0] - 0.5) * ((x[2] - 0.1) / 0.1) ** 2
    Rz = -0.1 * shape * ((x[2] - 0.1) / 0.1) ** 2
    ph.dynamics({
        x[0]: x[6] * cos(x[5]) * cos(x[4]) + Rx,
        x[1]: x[6] * sin(x[5]) * cos(x[4]),
        x[2]: -x[6] * sin(x[4]) + Rz,
        x[3]: x[7] + x[8] * sin(x[3]) * tan(x[4]) + x[9] * cos(x[3]) * tan(x[4]),
        x[4]: x[8] * cos(x[3]) - x[9] * sin(x[3]),
        x[5]: (x[8] * sin(x[3]) + x[9] * cos(x[3])) / cos(x[4]),
        **{x[6 + i]: u[i] for i in range(4)},
    })  # fmt: skip
    ocp.minimize(ph.integral(u[0] ** 2 + u[1] ** 2 + u[2] ** 2 + u[3] ** 2))
    return ocp
