"""State constraints: touch points, boundary arcs and obstacles."""

from casadi import cos, sin

from trajopt import Problem, free

from .entry import problem


@problem("rayleigh-mixed", "state constraint", quick=True)
def rayleigh_mixed() -> Problem:
    """Rayleigh's circuit with a constraint on voltage and control together (Maurer & Augustin
    2001).
    """
    ocp = Problem("rayleigh-mixed")
    ph = ocp.phase()
    ph.time(start=0, end=4.5)
    x, y = ph.state("x", start=-5), ph.state("y", start=-5)
    u = ph.control("u")
    ph.dynamics({x: y, y: -x + y * (1.4 - 0.14 * y**2) + 4 * u})
    ph.path(u + x / 6, upper=0)
    ocp.minimize(ph.integral(u**2 + x**2))
    return ocp


@problem("bus", "state constraint", quick=True)
def bus() -> Problem:
    """From stop to stop in least time under a speed limit."""
    ocp = Problem("bus")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 200))
    x, v = ph.state("x", start=0, end=300), ph.state("v", start=0, end=0, upper=10)
    u = ph.control("u", lower=-2, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    return ocp


@problem("two-discs-path", "state constraint")
def two_discs_path() -> Problem:
    """The shortest path between two points that passes two discs on opposite sides."""
    ocp = Problem("two-discs-path")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y = ph.state("x", start=0, end=4), ph.state("y", start=0, end=0)
    length = ocp.variable("length", lower=1, upper=20)

    heading = ph.control("heading", lower=-3, upper=3)
    ph.dynamics({x: length * cos(heading), y: length * sin(heading)})
    ph.path((x - 1.2) ** 2 + (y + 0.3) ** 2, lower=0.8**2, name="first disc")
    ph.path((x - 2.8) ** 2 + (y - 0.4) ** 2, lower=0.7**2, name="second disc")
    ocp.minimize(length)
    return ocp


def quadrotor(duration: float) -> Problem:
    """A planar quadrotor flown from rest to rest between two discs with least effort."""

    g, mass, arm, inertia = 9.81, 0.5, 0.2, 0.01
    ocp = Problem("quadrotor")
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x, y = ph.state("x", start=0, end=4, unit="m"), ph.state("y", start=0, end=0.5, unit="m")
    angle = ph.state("angle", start=0, end=0, lower=-1.5, upper=1.5)
    vx = ph.state("vx", start=0, end=0)
    vy = ph.state("vy", start=0, end=0)
    w = ph.state("w", start=0, end=0)
    left = ph.control("left", lower=0, upper=6, unit="N")
    right = ph.control("right", lower=0, upper=6, unit="N")
    thrust = left + right
    ph.dynamics(
        {
            x: vx,
            y: vy,
            angle: w,
            vx: -thrust * sin(angle) / mass,
            vy: thrust * cos(angle) / mass - g,
            w: arm * (right - left) / inertia,
        }
    )
    ph.path((x - 1.3) ** 2 + (y + 0.3) ** 2, lower=0.6**2, name="first disc")
    ph.path((x - 2.7) ** 2 + (y - 0.9) ** 2, lower=0.6**2, name="second disc")
    ocp.minimize(ph.integral(left**2 + right**2))
    return ocp


@problem("quadrotor-1.6", "state constraint")
def quadrotor_16() -> Problem:
    return quadrotor(1.6)


@problem("quadrotor-2", "state constraint")
def quadrotor_20() -> Problem:
    return quadrotor(2.0)


@problem("quadrotor-2.5", "state constraint")
def quadrotor_25() -> Problem:
    return quadrotor(2.5)


@problem("quadrotor-3", "state constraint")
def quadrotor_30() -> Problem:
    return quadrotor(3.0)


@problem("quadrotor-4", "state constraint", quick=True)
def quadrotor_40() -> Problem:
    return quadrotor(4.0)


@problem("robbins", "chattering")
def robbins() -> Problem:
    """A constraint of order three whose boundary arc is reached through infinitely many touch
    points (Robbins 1980).
    """
    ocp = Problem("robbins")
    ph = ocp.phase()
    ph.time(start=0, end=10)
    x, v, a = ph.state("x", start=1, lower=0), ph.state("v", start=-2), ph.state("a", start=0)
    u = ph.control("u")
    ph.dynamics({x: v, v: a, a: u})
    ocp.minimize(ph.integral(3 * x + u**2 / 2))
    return ocp


@problem("hager-type", "state constraint", quick=True)
def hager_type() -> Problem:
    """A scalar regulator whose state may not fall below a time-varying limit that
    touches it twice.
    """

    ocp = Problem("hager-type")
    ph = ocp.phase()
    t = ph.time(start=0, end=3)
    x = ph.state("x", start=1.4)
    u = ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: u - 0.2 * x})
    ph.path(x - 0.8 - 0.4 * cos(5 * t), lower=0, name="limit")
    ocp.minimize(ph.integral(x**2 + 0.1 * u**2))
    return ocp
