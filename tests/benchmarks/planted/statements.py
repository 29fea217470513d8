"""Problems with closed-form answers, which the cases change."""

from __future__ import annotations

from itertools import pairwise

import casadi
import numpy as np
from scipy.optimize import brentq

from trajopt import Problem, free

from .by_hand import answer, phase

PARTS = 6


def even(*ends: float, parts: int = PARTS) -> np.ndarray:
    """Breaks that divide each stretch between some times into equal parts."""
    return np.unique(np.concatenate([np.linspace(a, b, parts + 1) for a, b in pairwise(ends)]))


def arcs(breaks: np.ndarray, switches: list[float], pieces: list) -> list:
    """One function for each interval from one for each arc."""
    middle = 0.5 * (breaks[1:] + breaks[:-1])
    return [pieces[int(np.searchsorted(switches, t))] for t in middle]


def move(D=1.0, T=1.0, offset=0.0, at=1.0, parts=PARTS, **limits):
    """Rest to rest over D with the least integral of u^2; ``at`` scales the answer,
    for wrong ones.
    """
    ocp = Problem("move")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x, v = ph.state("x", start=offset, end=offset + D, **limits), ph.state("v", start=0, end=0)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    b = even(0, T, parts=parts)
    right = answer(
        12 * D**2 / T**3 * at**2,
        phase(
            b,
            {
                "x": lambda t: offset + at * D * (t / T) ** 2 * (3 - 2 * t / T),
                "v": lambda t: at * 6 * D / T * (t / T) * (1 - t / T),
            },
            {"u": lambda t: at * 6 * D / T**2 * (1 - 2 * t / T)},
            {"x": -24 * D / T**3 * at, "v": lambda t: -at * 12 * D / T**2 * (1 - 2 * t / T)},
            integrals=12 * D**2 / T**3 * at**2,
        ),
    )
    return ocp, right


def regulator(T=2.0, parts=PARTS):
    """x' = u, the integral of x^2 + u^2 from x = 1 to a free end: J = tanh T."""
    ocp = Problem("regulator")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x, u = ph.state("x", start=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(x**2 + u**2))
    c = np.cosh(T)
    right = answer(
        np.tanh(T),
        phase(
            even(0, T, parts=parts),
            {"x": lambda t: np.cosh(T - t) / c},
            {"u": lambda t: -np.sinh(T - t) / c},
            {"x": lambda t: 2 * np.sinh(T - t) / c},
            integrals=np.tanh(T),
        ),
    )
    return ocp, right


def quickest(D=1.0, unit=1.0):
    """Rest to rest over D in the least time with |u| <= 1."""
    ocp = Problem("quickest")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 10))
    x = ph.state("x", start=0, end=D * unit)
    v = ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: unit * v, v: u})
    ocp.minimize(ph.final(t))
    T = 2 * np.sqrt(D)
    s = T / 2
    b = even(0, s, T, parts=3)
    p = -1 / np.sqrt(D)
    states = {
        "x": arcs(b, [s], [lambda t: unit * 0.5 * t**2, lambda t: unit * (D - 0.5 * (T - t) ** 2)]),
        "v": arcs(b, [s], [lambda t: t, lambda t: T - t]),
    }
    controls = {"u": arcs(b, [s], [1.0, -1.0])}
    return ocp, answer(T, phase(b, states, controls, {"x": p / unit, "v": lambda t: -p * (t - s)}))


def wall(l=0.1, c=0.0, t1=None, entered=None):
    """Bryson and Denham's wall, which moves with speed c; entered at t1 = 3 l, or by a cubic at
    another time.
    """
    ocp = Problem("wall")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0, end=c), ph.state("v", start=1 + c, end=-1 + c), ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(x - c * t, upper=l, name="wall")
    ocp.minimize(ph.integral(0.5 * u**2))
    return ocp, bounce(l, c, 3 * l if t1 is None else t1, l if entered is None else entered)


def bounce(l, c, t1, top):
    """From x = 0, v = 1 by a cubic to rest at ``top`` at time t1, there until 1 - t1, and back; in
    a frame of speed c.
    """
    k2, k3 = (3 * top - 2 * t1) / t1**2, (t1 - 2 * top) / t1**3  # x = t + k2 t^2 + k3 t^3
    x1 = [
        lambda t: t + k2 * t**2 + k3 * t**3,
        lambda t: 1 + 2 * k2 * t + 3 * k3 * t**2,
        lambda t: 2 * k2 + 6 * k3 * t,
    ]
    b = even(0, t1, 1 - t1, 1, parts=3)
    at = [t1, 1 - t1]
    one = 0.5 * (4 * k2**2 * t1 + 12 * k2 * k3 * t1**2 + 12 * k3**2 * t1**3)
    states = {
        "x": arcs(
            b,
            at,
            [lambda t: x1[0](t) + c * t, lambda t: top + c * t, lambda t: x1[0](1 - t) + c * t],
        ),
        "v": arcs(b, at, [lambda t: x1[1](t) + c, c, lambda t: c - x1[1](1 - t)]),
    }
    controls = {"u": arcs(b, at, [x1[2], 0.0, lambda t: x1[2](1 - t)])}
    costates = {
        "x": arcs(b, at, [6 * k3, 0.0, -6 * k3]),
        "v": arcs(b, at, [lambda t: -x1[2](t), 0.0, lambda t: -x1[2](1 - t)]),
    }
    return answer(2 * one, phase(b, states, controls, costates))


def swing(T, X=1.0):
    """The integral of u^2 - x^2 from 0 to X: conjugate to the start at pi."""
    ocp = Problem("swing")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x, u = ph.state("x", start=0, end=X), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2 - x**2))
    s = np.sin(T)
    right = answer(
        X**2 / np.tan(T),
        phase(
            even(0, T, parts=10),
            {"x": lambda t: X * np.sin(t) / s},
            {"u": lambda t: X * np.cos(t) / s},
            {"x": lambda t: -2 * X * np.cos(t) / s},
        ),
    )
    return ocp, right


def rings(deep, Y=2.0, lower=None):
    """The surface of revolution of least area between two rings at +-1: a catenary, of which there
    are two.
    """
    c = brentq(lambda c: c * np.cosh(1 / c) - Y, *((0.1, 0.8) if deep else (0.85, 5)))
    ocp = Problem("rings")
    ph = ocp.phase()
    ph.time(start=-1, end=1)
    y, u = ph.state("y", start=Y, end=Y, lower=lower), ph.control("u")
    ph.dynamics({y: u})
    ocp.minimize(ph.integral(y * casadi.sqrt(1 + u**2)))
    right = answer(
        c + c**2 / 2 * np.sinh(2 / c),
        phase(
            even(-1, 0, 1, parts=10),
            {"y": lambda t: c * np.cosh(t / c)},
            {"u": lambda t: np.sinh(t / c)},
            {"y": lambda t: -c * np.sinh(t / c)},
        ),
    )
    return ocp, right


def sphere(T):
    """Along the equator by an angle T: the shortest way up to pi."""
    ocp = Problem("sphere")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    latitude, u = ph.state("latitude", start=0, end=0), ph.control("u")
    ph.dynamics({latitude: u})
    ocp.minimize(ph.integral(casadi.sqrt(casadi.cos(latitude) ** 2 + u**2)))
    return ocp, answer(
        T, phase(even(0, T, parts=10), {"latitude": 0.0}, {"u": 0.0}, {"latitude": 0.0})
    )


def until(cost=1.0, T=None):
    """From 0 to 1 at any time with the integral of u^2 + cost: T = 1 / sqrt(cost)."""
    ocp = Problem("until")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 10))
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2) + cost * ph.final(t))
    T = 1 / np.sqrt(cost) if T is None else T
    return ocp, answer(
        1 / T + cost * T, phase(even(0, T), {"x": lambda t: t / T}, {"u": 1 / T}, {"x": -2 / T})
    )


def unstable(k=20.0, T=2.0, parts=40, at=None):
    """x' = k x + u from 1 to 0 with the least integral of u^2; the answer is that of ``at`` instead
    of k.
    """
    ocp = Problem("unstable")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    K = ocp.parameter("k", k)
    x, u = ph.state("x", start=1, end=0), ph.control("u")
    ph.dynamics({x: K * x + u})
    ocp.minimize(ph.integral(u**2))
    a = k if at is None else at
    d = 1 - np.exp(-2 * a * T)
    right = answer(
        2 * a / d,
        phase(
            even(0, T, parts=parts),
            {"x": lambda t: (np.exp(-a * t) - np.exp(a * (t - 2 * T))) / d},
            {"u": lambda t: -2 * a / d * np.exp(-a * t)},
            {"x": lambda t: 4 * a / d * np.exp(-a * t)},
        ),
    )
    return ocp, right


def still(rate=1.0, sign=1.0):
    """x' = u at x = 0 with the integral of sign * x^2, |u| <= rate: singular all along."""
    ocp = Problem("still")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-rate, upper=rate)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(sign * x**2))
    return ocp, answer(0.0, phase(even(0, 1), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))
