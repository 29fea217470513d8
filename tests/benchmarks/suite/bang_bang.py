"""Least-time and affine problems whose controls are at their bounds."""

from math import pi

from casadi import cos, sin

from trajopt import Problem, free

from .entry import problem


@problem("harmonic-oscillator", "bang-bang", quick=True)
def harmonic_oscillator() -> Problem:
    """An undamped oscillator brought to rest in least time: several switches half a period apart
    (Pontryagin 1962).
    """
    ocp = Problem("harmonic-oscillator")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    x, v = ph.state("x", start=7, end=0), ph.state("v", start=2, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: -x + u})
    ocp.minimize(ph.final(t))
    return ocp


@problem("van-der-pol-time", "bang-bang", quick=True)
def van_der_pol_time() -> Problem:
    """Van der Pol's oscillator brought to rest in least time (Kaya & Noakes 2003)."""
    ocp = Problem("van-der-pol-time")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, v = ph.state("x", start=1, end=0), ph.state("v", start=1, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: -x - (x**2 - 1) * v + u})
    ocp.minimize(ph.final(t))
    return ocp


@problem("f8", "bang-bang")
def f8() -> Problem:
    """The F-8 aircraft recovers from a stall in least time; several bang-bang local optima (Garrard
    & Jordan 1977, MINTOC).
    """
    ocp = Problem("f8")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    xi = 0.05236
    a = ph.state("a", start=0.4655, end=0)
    b = ph.state("b", start=0, end=0)
    c = ph.state("c", start=0, end=0)
    u = ph.control("u", lower=-xi, upper=xi)
    ph.dynamics(
        {
            a: -0.877 * a
            + c
            - 0.088 * a * c
            + 0.47 * a**2
            - 0.019 * b**2
            - a**2 * c
            + 3.846 * a**3
            - 0.215 * u
            + 0.28 * a**2 * u
            + 0.47 * a * u**2
            + 0.63 * u**3,
            b: c,
            c: -4.208 * a
            - 0.396 * c
            - 0.47 * a**2
            - 3.564 * a**3
            - 20.967 * u
            + 6.265 * a**2 * u
            + 46 * a * u**2
            + 61.4 * u**3,
        }
    )
    ocp.minimize(ph.final(t))
    return ocp


@problem("two-link-time", "bang-bang")
def two_link_time() -> Problem:
    """A two-link arm from rest to rest in least time (Luus 2000)."""
    ocp = Problem("two-link-time")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    w1, w2 = ph.state("w1", start=0, end=0), ph.state("w2", start=0, end=0)
    a, b = ph.state("a", start=0.5, end=0.5), ph.state("b", start=0, end=0.522)
    u1, u2 = ph.control("u1", lower=-1, upper=1), ph.control("u2", lower=-1, upper=1)
    s, c = sin(a), cos(a)
    below = 31 / 36 + 9 / 4 * s**2
    ph.dynamics({
        w1: (s * (9 / 4 * c * w1**2 + 2 * w2**2) + 4 / 3 * (u1 - u2) - 3 / 2 * c * u2) / below,
        w2: -(s * (9 / 4 * c * w2**2 + 7 / 2 * w1**2) - 7 / 3 * u2 + 3 / 2 * c * (u1 - u2)) / below,
        a: w2 - w1,
        b: w1,
    })  # fmt: skip
    ocp.minimize(ph.final(t))
    return ocp


@problem("dubins", "bang-bang", quick=True)
def dubins() -> Problem:
    """The shortest path of bounded curvature between two poses: turn, straight (singular), turn
    (Dubins 1957).
    """
    ocp = Problem("dubins")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    x, y = ph.state("x", start=0, end=4), ph.state("y", start=0, end=3)
    angle = ph.state("angle", start=pi / 2, end=-pi / 3)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: cos(angle), y: sin(angle), angle: u})
    ocp.minimize(ph.final(t))
    return ocp


@problem("two-masses", "bang-bang", quick=True)
def two_masses() -> Problem:
    """Two masses joined by a spring, one driven, from rest to rest in least time: three switches,
    symmetric in time.
    """
    ocp = Problem("two-masses")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    x, y = ph.state("x", start=0, end=1), ph.state("y", start=0, end=1)
    v, w = ph.state("v", start=0, end=0), ph.state("w", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, y: w, v: y - x + u, w: x - y})
    ocp.minimize(ph.final(t))
    return ocp


@problem("slew-180", "symmetric")
def slew_180() -> Problem:
    """A symmetric rigid body turned by half a revolution in least time: the eigenaxis turn is a
    saddle (Bilimoria & Wie 1993).
    """
    ocp = Problem("slew-180")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    p = ph.state("p", start=0, end=0)
    q = ph.state("q", start=0, end=0)
    r = ph.state("r", start=0, end=0)
    e1, e2 = ph.state("e1", start=0, end=0), ph.state("e2", start=0, end=0)
    e3, e4 = ph.state("e3", start=0, end=1), ph.state("e4", start=1, end=0)
    u = [ph.control(f"u{i}", lower=-1, upper=1) for i in range(3)]
    ph.dynamics({
        p: u[0], q: u[1], r: u[2],
        e1: (p * e4 - q * e3 + r * e2) / 2,
        e2: (p * e3 + q * e4 - r * e1) / 2,
        e3: (-p * e2 + q * e1 + r * e4) / 2,
        e4: -(p * e1 + q * e2 + r * e3) / 2,
    })  # fmt: skip
    ocp.minimize(ph.final(t))
    return ocp
