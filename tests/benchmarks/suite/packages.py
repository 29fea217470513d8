"""Problems of the example suites of other packages, and of textbooks, in their plain statement."""

from math import cos, radians, tan

from casadi import exp, pi, sin, sqrt

from trajopt import Problem, free

from .entry import problem


@problem("longest-range", "state constraint", quick=True)
def longest_range() -> Problem:
    """The longest range in two seconds; the direction of flight is a unit vector (PSOPT, after
    Bryson).
    """
    ocp = Problem("longest-range")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, y, v = ph.state("x", start=0), ph.state("y", start=0, end=0.1), ph.state("v", start=0)
    c, s = ph.control("c", lower=-1, upper=1), ph.control("s", lower=-1, upper=1)
    ph.dynamics({x: v * c, y: v * s, v: 0.5 - s})
    ph.path(c**2 + s**2, equals=1)
    ocp.maximize(ph.final(x))
    return ocp


@problem("newton-nose", "jumping control", quick=True)
def newton_nose() -> Problem:
    """Newton's body of least resistance, as long as its radius: a flat front, then a slope that
    begins at one (yapss).
    """
    ocp = Problem("newton-nose")
    ph = ocp.phase()
    r = ph.time(start=0, end=1)
    y, u = ph.state("y", start=1, end=0), ph.control("slope", lower=0)
    ph.dynamics({y: -u})
    ocp.minimize(ph.integral(2 * r / (1 + u**2)))
    return ocp


@problem("oil-shale", "jumping control")
def oil_shale() -> Problem:
    """Pyrolysis of oil shale in a tube (Wen & Yen 1977; MINTOC): the temperature jumps from one
    bound to the other.
    """
    ocp = Problem("oil-shale")
    ph = ocp.phase()
    ph.time(start=0, end=free(0, 50))
    kerogen, bitumen = ph.state("kerogen", start=1, lower=0), ph.state("bitumen", start=0, lower=0)
    oil, coke = ph.state("oil", start=0, lower=0), ph.state("coke", start=0, lower=0)
    T = ph.control("T", lower=698.15, upper=748.15, unit="K")
    factors, energies = (8.86, 24.25, 23.67, 18.75, 20.70), (20300, 37400, 33800, 28200, 31000)
    k = [exp(a - b / (1.9872 * T)) for a, b in zip(factors, energies, strict=True)]
    both = kerogen * bitumen
    ph.dynamics(
        {
            kerogen: -k[0] * kerogen - (k[2] + k[3] + k[4]) * both,
            bitumen: k[0] * kerogen - k[1] * bitumen + k[2] * both,
            oil: k[1] * bitumen + k[3] * both,
            coke: k[4] * both,
        }
    )
    ocp.maximize(ph.final(bitumen))
    return ocp


@problem("mars-landing", "state constraint")
def mars_landing() -> Problem:
    """A powered descent to Mars with throttle limits and a glide slope (Acikmese & Ploen 2007); the
    thrust is a vector.
    """
    ocp = Problem("mars-landing")
    ph = ocp.phase()
    ph.time(start=0, end=free(20, 150))
    cant = cos(radians(27))
    h, y, z = (ph.state(n, start=s, end=0) for n, s in (("h", 1500), ("y", 0), ("z", 2000)))
    vh, vy, vz = (ph.state(n, start=s, end=0) for n, s in (("vh", -75), ("vy", 0), ("vz", 100)))
    m = ph.state("m", start=1905, lower=1505, unit="kg")
    Th, Ty, Tz = (ph.control(n, unit="N") for n in ("Th", "Ty", "Tz"))
    T = sqrt(Th**2 + Ty**2 + Tz**2)
    ph.path(T, lower=0.3 * 6 * 3100 * cant, upper=0.8 * 6 * 3100 * cant)
    ph.path((h * tan(radians(86))) ** 2 - y**2 - z**2, lower=0)
    ph.path(h, lower=0)
    ph.dynamics(
        {
            h: vh,
            y: vy,
            z: vz,
            vh: Th / m - 3.7114,
            vy: Ty / m,
            vz: Tz / m,
            m: -T / (225 * 9.807 * cant),
        }
    )
    ocp.maximize(ph.final(m))
    return ocp


@problem("hill-race", "state constraint", quick=True)
def hill_race() -> Problem:
    """A car on a track with a speed limit that depends on the place (CasADi's example race_car)."""
    ocp = Problem("hill-race")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0, 20))
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({x: v, v: u - v})
    ph.path(v - 1 + sin(2 * pi * x) / 2, upper=0)
    ocp.minimize(ph.final(t))
    return ocp


@problem("immunotherapy", "economics")
def immunotherapy() -> Problem:
    """Two drugs against HIV (Joshi 2002; Betts 2010)."""
    ocp = Problem("immunotherapy")
    ph = ocp.phase()
    ph.time(start=0, end=50)
    T = ph.state("T", start=400, lower=0, upper=1200)
    V = ph.state("V", start=3, lower=0.05, upper=5)
    a, b = ph.control("a", lower=0, upper=0.02), ph.control("b", lower=0, upper=0.9)
    ph.dynamics({
        T: 2 - 1.5 * V / (14 + V) - 0.002 * T - 2.5e-4 * V * T + a * T,
        V: 30 * (1 - b) * V / (1 + V) - 0.007 * V * T,
    })  # fmt: skip
    ocp.maximize(ph.integral(T - 2.5e5 * a**2 - 75 * b**2))
    return ocp


@problem("fishing", "singular", quick=True)
def fishing() -> Problem:
    """Fishing of predators and prey towards equilibrium, relaxed (Sager; MINTOC)."""
    ocp = Problem("fishing")
    ph = ocp.phase()
    ph.time(start=0, end=12)
    x, y, w = ph.state("x", start=0.5), ph.state("y", start=0.7), ph.control("w", lower=0, upper=1)
    ph.dynamics({x: x - x * y - 0.4 * x * w, y: -y + x * y - 0.2 * y * w})
    ocp.minimize(ph.integral((x - 1) ** 2 + (y - 1) ** 2))
    return ocp
