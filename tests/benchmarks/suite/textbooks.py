"""Problems with published optima: Betts' book, COPS, MINTOC, PSOPT, Dymos."""

from math import cos as cosine
from math import pi, radians
from math import sin as sine

from casadi import cos, sin, sqrt, tanh

from trajopt import Problem, free

from .entry import problem


@problem("tuberculosis", "economics", quick=True)
def tuberculosis() -> Problem:
    """Two strains of tuberculosis, two treatments (Jung, Lenhart & Feng 2002; Betts 2010)."""
    people, mu, resistant = 30000, 0.0143, 0.029
    ocp = Problem("tuberculosis")
    ph = ocp.phase()
    ph.time(start=0, end=5)
    parts = {"S": 76, "T": 1, "L1": 36, "L2": 2, "I1": 4, "I2": 1}
    S, T, L1, L2, I1, I2 = (
        ph.state(name, start=part * people / 120, lower=0) for name, part in parts.items()
    )
    u1, u2 = (ph.control(name, lower=0.05, upper=0.95) for name in ("u1", "u2"))
    infected, carried = 13 * I1 / people, resistant * I2 / people
    failed = 1 - u2
    ph.dynamics(
        {
            S: mu * people - infected * S - carried * S - mu * S,
            T: 2 * u1 * L1 - mu * T + (1 - 0.5 * failed) * I1 - infected * T - carried * T,
            L1: infected * (S + T) - (mu + 0.5 + 2 * u1) * L1 + 0.4 * failed * I1 - carried * L1,
            L2: 0.1 * failed * I1 - (mu + 1) * L2 + carried * (S + L1 + T),
            I1: 0.5 * L1 - (mu + 1) * I1,
            I2: L2 - mu * I2,
        }
    )
    ocp.minimize(ph.integral(L2 + I2 + 25 * u1**2 + 250 * u2**2))
    return ocp


@problem("free-flying-robot", "bang-bang", quick=True)
def free_flying_robot() -> Problem:
    """A robot with two pairs of opposite jets, least fuel (Sakawa 1999; Betts 2010)."""
    ocp = Problem("free-flying-robot")
    ph = ocp.phase()
    ph.time(start=0, end=12)
    x, y = ph.state("x", start=-10, end=0), ph.state("y", start=-10, end=0)
    theta = ph.state("theta", start=pi / 2, end=0)
    vx, vy, w = (ph.state(name, start=0, end=0) for name in ("vx", "vy", "w"))
    u1, u2, u3, u4 = (ph.control(f"u{i}", lower=0, upper=1) for i in (1, 2, 3, 4))
    thrust = u1 - u2 + u3 - u4
    turn = 0.2 * (u1 - u2) - 0.2 * (u3 - u4)
    ph.dynamics({x: vx, y: vy, theta: w, vx: thrust * cos(theta), vy: thrust * sin(theta), w: turn})
    ph.path(u1 + u2, upper=1)
    ph.path(u3 + u4, upper=1)
    ocp.minimize(ph.integral(u1 + u2 + u3 + u4))
    return ocp


@problem("asymmetric-body", "orbital")
def asymmetric_body() -> Problem:
    """A turn by 150 degrees in least time, with four components of the attitude given at the end
    (Betts 2010).
    """
    half = radians(75)
    ocp = Problem("asymmetric-body")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0))
    q1, q4 = ph.state("q1", start=0, end=sine(half)), ph.state("q4", start=1, end=cosine(half))
    q2, q3 = ph.state("q2", start=0, end=0), ph.state("q3", start=0, end=0)
    w1, w2, w3 = (ph.state(name, start=0, end=0) for name in ("w1", "w2", "w3"))
    u1, u2, u3 = (ph.control(name, lower=-50, upper=50) for name in ("u1", "u2", "u3"))
    I1, I2, I3 = 5621.0, 4547.0, 2364.0
    ph.dynamics(
        {
            q1: (w1 * q4 - w2 * q3 + w3 * q2) / 2,
            q2: (w1 * q3 + w2 * q4 - w3 * q1) / 2,
            q3: (-w1 * q2 + w2 * q1 + w3 * q4) / 2,
            q4: -(w1 * q1 + w2 * q2 + w3 * q3) / 2,
            w1: (u1 - (I3 - I2) * w2 * w3) / I1,
            w2: (u2 - (I1 - I3) * w1 * w3) / I2,
            w3: (u3 - (I2 - I1) * w1 * w2) / I3,
        }
    )
    ocp.minimize(ph.final(t))
    return ocp


@problem("catalyst-mixing", "singular", quick=True)
def catalyst_mixing() -> Problem:
    """Two catalysts along a tube: one, a singular mixture, the other (Jackson 1968; COPS 3.0)."""
    ocp = Problem("catalyst-mixing")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    a, b = ph.state("a", start=1), ph.state("b", start=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({a: u * (10 * b - a), b: u * (a - 10 * b) - (1 - u) * b})
    ocp.minimize(ph.final(a) + ph.final(b) - 1)
    return ocp


TIMES = (1230, 3060, 4920, 7800, 10680, 15030, 22620, 36420)
PINENE = (
    (88.35, 7.3, 2.3, 0.4, 1.75),
    (76.4, 15.6, 4.5, 0.7, 2.8),
    (65.1, 23.1, 5.3, 1.1, 5.8),
    (50.4, 32.9, 6.0, 1.5, 9.3),
    (37.5, 42.7, 6.0, 1.9, 12.0),
    (25.9, 49.1, 5.9, 2.2, 17.0),
    (14.0, 57.4, 5.1, 2.6, 21.0),
    (4.5, 63.1, 3.8, 2.9, 25.7),
)


@problem("pinene", "fit", quick=True)
def pinene() -> Problem:
    """Five rates of the isomerization of alpha-pinene from 40 measurements over ten hours (Box et
    al. 1973; COPS 3.0).
    """
    ocp = Problem("pinene")
    ph = ocp.phase()
    ph.time(start=0, end=TIMES[-1])
    y = [ph.state(f"y{i}", start=0 if i else 100) for i in range(5)]
    k = [ocp.variable(f"k{i}", lower=0) for i in range(5)]
    ph.dynamics(
        {
            y[0]: -(k[0] + k[1]) * y[0],
            y[1]: k[0] * y[0],
            y[2]: k[1] * y[0] - (k[2] + k[3]) * y[2] + k[4] * y[4],
            y[3]: k[2] * y[2],
            y[4]: k[3] * y[2] - k[4] * y[4],
        }
    )
    misfit = 0
    for time, row in zip(TIMES, PINENE, strict=True):
        for state, measured in zip(y, row, strict=True):
            value = ph.final(state) if time == TIMES[-1] else ph.at(time, state)
            misfit = misfit + (value - measured) ** 2
    ocp.minimize(misfit)
    return ocp


@problem("missile", "aircraft")
def missile() -> Problem:
    """The terminal burn of a missile that dives on its target: least time, a floor that ends at
    7.5 km (Subchan & Zbikowski 2009; PSOPT).
    """
    m, g, area = 1005.0, 9.81, 0.3376
    ocp = Problem("missile")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(10, 100))
    gamma = ph.state("gamma", start=0, end=-pi / 2, lower=-pi / 2, upper=pi / 2)
    V = ph.state("V", start=272, end=310, lower=200, upper=310)
    x = ph.state("x", start=0, end=1e4, lower=0, upper=1e4)
    h = ph.state("h", start=30, end=0, lower=0, upper=1900)
    T, a = ph.control("T", lower=1000, upper=6000), ph.control("a", lower=-0.3, upper=0.3)
    pressure = 0.5 * (3.312e-9 * h**2 - 1.142e-4 * h + 1.224) * V**2
    drag = (-1.9431 * a**2 - 0.1499 * a + 0.2359) * pressure * area
    lift = 21.9 * a * pressure * area
    ph.dynamics(
        {
            gamma: ((T - drag) * sin(a) + lift * cos(a)) / (m * V) - g * cos(gamma) / V,
            V: ((T - drag) * cos(a) - lift * sin(a)) / m - g * sin(gamma),
            x: V * cos(gamma),
            h: V * sin(gamma),
        }
    )
    ph.path(lift / (m * g), lower=-4, upper=4)
    ph.path(h - 15 * (1 + tanh((7500 - x) / 10)), lower=0)
    ocp.minimize(ph.final(t))
    return ocp


@problem("van-der-pol-limit", "state constraint", quick=True)
def van_der_pol_limit() -> Problem:
    """The oscillator of van der Pol with a limit of its second state (Maurer & Augustin 2000; Betts
    2010).
    """
    ocp = Problem("van-der-pol-limit")
    ph = ocp.phase()
    ph.time(start=0, end=5)
    x, y, u = ph.state("x", start=1), ph.state("y", start=0, lower=-0.4), ph.control("u")
    ph.dynamics({x: y, y: (1 - x**2) * y - x + u})
    ocp.minimize(ph.integral(x**2 + y**2 + u**2))
    return ocp


@problem("moon-ascent", "aircraft", quick=True)
def moon_ascent() -> Problem:
    """From the Moon into an orbit at 185.2 km in least time, in SI units and without a bound of the
    time (Longuski et al. 2014; Dymos).
    """
    ocp = Problem("moon-ascent")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0))
    x, y = ph.state("x", start=0), ph.state("y", start=0, end=185200)
    vx, vy = ph.state("vx", start=0, end=1627), ph.state("vy", start=0, end=0)
    theta = ph.control("theta", lower=-1.57, upper=1.57)
    g = 1.61544
    ph.dynamics({x: vx, y: vy, vx: 3 * g * cos(theta), vy: 3 * g * sin(theta) - g})
    ocp.minimize(ph.final(t))
    return ocp


@problem("heisenberg", "symmetric", quick=True)
def heisenberg() -> Problem:
    """The shortest closed path that encloses an area (Brockett 1981): circles in all directions."""
    ocp = Problem("heisenberg")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y = ph.state("x", start=0, end=0), ph.state("y", start=0, end=0)
    z, u, v = ph.state("z", start=0, end=1), ph.control("u"), ph.control("v")
    ph.dynamics({x: u, y: v, z: x * v - y * u})
    ocp.minimize(ph.integral(u**2 + v**2))
    return ocp


@problem("three-tanks", "singular")
def three_tanks() -> Problem:
    """Levels of three tanks, by a convex combination of three inflows (MINTOC, relaxed)."""
    ocp = Problem("three-tanks")
    ph = ocp.phase()
    ph.time(start=0, end=12)
    x, y, z = (ph.state(name, start=2) for name in ("x", "y", "z"))
    a, b, c = (ph.control(name, lower=0, upper=1) for name in ("a", "b", "c"))
    ph.path(a + b + c, equals=1)
    ph.dynamics(
        {
            x: -sqrt(x) + a + 2 * b - c * sqrt(0.8 * x),
            y: sqrt(x) - sqrt(y),
            z: sqrt(y) - sqrt(z) + c * sqrt(0.8 * x),
        }
    )
    ocp.minimize(ph.integral(2 * (y - 3) ** 2 + (z - 3) ** 2))
    return ocp
