"""The same faults in other units and places: shifted by 1e6, in micrometres, beside limits that are
far away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt import Problem, free

from .by_hand import answer, changed, phase, planted
from .statements import even, move

TRANSVERSALITY = "transversality"


def resting(u, limit=1e3):
    """A system at rest whose best cost is zero."""
    ocp = Problem("rest")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, w = ph.state("x", start=0), ph.control("w", lower=-limit, upper=limit)
    ph.dynamics({x: -x + w})
    ocp.minimize(ph.integral(x**2 + w**2))
    # With w = u: x = u (1 - exp(-t)); the costate of that motion: p' = -2 x + p, p(1) = 0.
    x_of = lambda t: u * (1 - np.exp(-t))  # noqa: E731
    p_of = lambda t: u * (2 - np.exp(-t) - np.exp(t) * (2 * np.exp(-1) - np.exp(-2)))  # noqa: E731
    cost = u**2 * (1 + 1 - 2 * (1 - np.exp(-1)) + 0.5 * (1 - np.exp(-2)))
    return ocp, answer(cost, phase(even(0, 1), {"x": x_of}, {"w": u}, {"x": p_of}))


@planted("sizes", "estimated suboptimality")
def moves_where_rest_is_free():
    ocp, right = resting(0.0)
    return ocp, right, resting(1e-3)[1]


@planted("sizes", "bounds and path constraints")
def limit_that_is_wide_of_the_motion():
    """x <= 1 beside a lower limit of -1e9: exceeded by a ten-thousandth of the way."""
    ocp, right = move(lower=-1e9, upper=1.0)
    wrong = changed(right, states={"x": lambda t: t**2 * (3 - 2 * t) + 3e-4 * t**6})
    return ocp, right, wrong


@planted("sizes", "estimated suboptimality")
def costs_of_a_millionth():
    def make(T):
        ocp = Problem("cheap")
        ph = ocp.phase()
        t = ph.time(start=0, end=free(0.1, 10))
        x, u = ph.state("x", start=0, end=1), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(1e-6 * (ph.integral(u**2) + ph.final(t)))
        return ocp, answer(
            1e-6 * (1 / T + T),
            phase(even(0, T), {"x": lambda t: t / T}, {"u": 1 / T}, {"x": -2e-6 / T}),
        )

    ocp, right = make(1.0)
    return ocp, right, make(1.05)[1]


@planted("sizes", TRANSVERSALITY)
def end_near_a_far_optimum():
    """x(1) should be 1e6 + 1, and is 1e6 + 0.95."""

    def make(d):
        ocp = Problem("far")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u = ph.state("x", start=1e6), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) + (ph.final(x) - 1e6 - 2) ** 2)
        return ocp, answer(
            d**2 + (d - 2) ** 2,
            phase(even(0, 1), {"x": lambda t: 1e6 + d * t}, {"u": d}, {"x": -2 * d}),
        )

    ocp, right = make(1.0)
    return ocp, right, make(0.95)[1]


@planted("sizes", "minimum of H")
def small_controls():
    """Controls of 1e-5 beside bounds of 1."""

    def make(k):
        ocp = Problem("small controls")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, v = ph.state("x", start=0, end=1e-5), ph.state("v", start=0, end=0)
        a, b = ph.control("a", lower=-1, upper=1), ph.control("b", lower=-1, upper=1)
        ph.dynamics({x: v, v: a + b})
        ocp.minimize(ph.integral(a**2 + b**2))
        u = lambda t: 1e-5 * (6 - 12 * t)  # noqa: E731
        states = {"x": lambda t: 1e-5 * t**2 * (3 - 2 * t), "v": lambda t: 1e-5 * 6 * t * (1 - t)}
        cost = 12e-10 * (k**2 + (1 - k) ** 2)
        return ocp, answer(
            cost,
            phase(
                even(0, 1),
                states,
                {"a": lambda t: k * u(t), "b": lambda t: (1 - k) * u(t)},
                {"x": -12e-5, "v": lambda t: -u(t)},
            ),
        )

    ocp, right = make(0.5)
    return ocp, right, make(0.55)[1]


@planted("sizes", "re-integration of intervals")
def long_times():
    """A year in seconds: an error of a thousandth of the way."""
    T = 3.15e7
    ocp, right = move(D=1e11, T=T)
    wrong = changed(
        right,
        states={
            "x": lambda t: 1e11 * ((t / T) ** 2 * (3 - 2 * t / T) + 1e-4 * np.sin(np.pi * t / T))
        },
    )
    return ocp, right, wrong


@planted("sizes", "boundary conditions")
def late_clock():
    """Time counted from 1e9 s: the phase ends a hundredth of its duration too late."""

    def make(end):
        ocp = Problem("epoch")
        ph = ocp.phase()
        ph.time(start=1e9, end=1e9 + 1)
        x, u = ph.state("x", start=0, end=1), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2))
        d = end - 1e9
        return ocp, answer(
            1 / d,
            phase(
                even(1e9, end, parts=3), {"x": lambda t: (t - 1e9) / d}, {"u": 1 / d}, {"x": -2 / d}
            ),
        )

    ocp, right = make(1e9 + 1)
    return ocp, right, make(1e9 + 1.01)[1]


@planted("sizes", "objective of the re-integrated motion")
def cost_of_zero():
    ocp, right = resting(0.0)
    return ocp, right, replace(right, objective=-1e-2)
