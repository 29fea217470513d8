"""Conditions at ends, over phases, on static variables, and what free values promise."""

from __future__ import annotations

from dataclasses import replace

import casadi
import numpy as np

from trajopt import Problem, free

from .by_hand import answer, changed, phase, planted
from .statements import even, move, regulator, until

TRANSVERSALITY = "transversality"
BOUNDARY = "boundary conditions"


def chosen(price=1.0, s=None, lower=-5.0, upper=5.0):
    """x from 0 to s with the integral of u^2, and price * (s - 1)^2: s = price / (1 + price)."""
    ocp = Problem("chosen")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    place = ocp.variable("place", lower=lower, upper=upper)
    ph.dynamics({x: u})
    ocp.require(ph.final(x) - place, equals=0, name="arrive")
    ocp.minimize(ph.integral(u**2) + price * (place - 1) ** 2)
    s = min(price / (1 + price), upper) if s is None else s
    right = answer(
        s**2 + price * (s - 1) ** 2,
        phase(even(0, 1), {"x": lambda t: s * t}, {"u": s}, {"x": -2 * s}),
        variables={"place": s},
        multipliers={"arrive": -2 * s},
    )
    return ocp, right


@planted("statics", TRANSVERSALITY)
def static_variable_off():
    ocp, right = chosen()
    return ocp, right, chosen(s=0.52)[1]


@planted("statics", TRANSVERSALITY)
def static_variable_at_zero():
    ocp, right = chosen(price=10.0)
    return ocp, right, chosen(price=10.0, s=0.0)[1]


@planted("statics", "bounds and path constraints")
def static_variable_beyond_its_bound():
    ocp, right = chosen(upper=0.3)
    return ocp, right, chosen(upper=0.3, s=0.5)[1]


@planted("statics", TRANSVERSALITY)
def static_variable_at_the_wrong_bound():
    ocp, right = chosen(lower=0.1, upper=0.3)
    return ocp, right, chosen(lower=0.1, upper=0.3, s=0.1)[1]


@planted("statics", TRANSVERSALITY)
def static_variable_just_inside_its_bound():
    ocp, right = chosen(upper=0.3)
    return ocp, right, chosen(upper=0.3, s=0.299)[1]


def geared(s=0.5):
    """x' = s u from 0 to 1: J = 1 / s^2 + s, least at s = 2^(1/3)."""
    ocp = Problem("geared")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    gear = ocp.variable("gear", lower=0.1, upper=10)
    ph.dynamics({x: gear * u})
    ocp.minimize(ph.integral(u**2) + gear)
    return ocp, answer(
        1 / s**2 + s,
        phase(even(0, 1), {"x": lambda t: t}, {"u": 1 / s}, {"x": -2 / s**2}),
        variables={"gear": s},
    )


@planted("statics", TRANSVERSALITY)
def static_variable_in_the_dynamics():
    ocp, right = geared(2 ** (1 / 3))
    return ocp, right, geared(1.3)[1]


@planted("statics", TRANSVERSALITY)
def small_static_variable():
    """A static variable of 1e-6 of which a change by itself matters."""

    def make(s):
        ocp = Problem("small")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u = ph.state("x", start=0, end=1), ph.control("u")
        gear = ocp.variable("gear", lower=0, upper=1)
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) + (1e6 * gear - 2) ** 2)
        return ocp, answer(
            1 + (1e6 * s - 2) ** 2,
            phase(even(0, 1), {"x": lambda t: t}, {"u": 1.0}, {"x": -2.0}),
            variables={"gear": s},
        )

    ocp, right = make(2e-6)
    return ocp, right, make(1.9e-6)[1]


@planted("time", TRANSVERSALITY)
def final_time_too_late():
    ocp, right = until()
    return ocp, right, until(T=1.02)[1]


@planted("time", TRANSVERSALITY)
def final_time_too_early():
    ocp, right = until()
    return ocp, right, until(T=0.98)[1]


@planted("time", BOUNDARY)
def final_time_beyond_its_limit():
    ocp, right = move()
    return ocp, right, move(T=1.01)[1]


@planted("time", BOUNDARY)
def shifted_clock():
    """The answer begins at t = 0.1: nothing in the model depends on time."""
    ocp, right = move()
    ph = right.phases["main"]
    later = {
        g: {k: replace(c, breaks=c.breaks + 0.1) for k, c in getattr(ph, g).items()}
        for g in ("states", "controls", "costates")
    }
    return ocp, right, replace(right, phases={"main": replace(ph, t0=0.1, tf=1.1, **later)})


@planted("ends", BOUNDARY)
def starts_elsewhere():
    ocp, right = move()
    return ocp, right, move(offset=0.01)[1]


@planted("ends", TRANSVERSALITY)
def end_left_open():
    """The best motion to x = 0.3, which nothing asks for."""
    ocp, right = regulator(T=1.0)
    # From 1 to 0.7 with the least cost: x = (0.7 sinh t + sinh(1 - t)) / sinh 1.
    s = np.sinh(1)
    wrong = changed(
        right,
        states={"x": lambda t: (0.7 * np.sinh(t) + np.sinh(1 - t)) / s},
        controls={"u": lambda t: (0.7 * np.cosh(t) - np.cosh(1 - t)) / s},
        costates={"x": lambda t: -2 * (0.7 * np.cosh(t) - np.cosh(1 - t)) / s},
        integrals=np.zeros(0),
    )
    u0, u1 = (0.7 - np.cosh(1)) / s, (0.7 * np.cosh(1) - 1) / s
    return ocp, right, replace(wrong, objective=0.7 * u1 - u0)


def loop(a):
    """x' = u + a cos(t) around a circle of time with x(0) = x(2 pi), least integral of (x - 1)^2 /
    2 + u^2 / 2.
    """
    ocp = Problem("loop")
    ph = ocp.phase()
    t = ph.time(start=0, end=2 * np.pi)
    x, u = ph.state("x"), ph.control("u")
    ph.dynamics({x: u + a * casadi.cos(t)})
    ocp.require(ph.final(x) - ph.initial(x), equals=0, name="periodic")
    ocp.minimize(ph.integral(0.5 * (x - 1) ** 2 + 0.5 * u**2))
    # p = -u, p' = 1 - x: u' = x - 1; x'' = x - 1 - a sin t: x = 1 + a/2 sin t, u = -a/2 cos t.
    T = 2 * np.pi
    right = answer(
        np.pi * a**2 / 4,
        phase(
            even(0, T, parts=8),
            {"x": lambda t: 1 + a / 2 * np.sin(t)},
            {"u": lambda t: -a / 2 * np.cos(t)},
            {"x": lambda t: a / 2 * np.cos(t)},
        ),
        multipliers={"periodic": a / 2},
    )
    return ocp, right


@planted("ends", BOUNDARY)
def not_periodic():
    ocp, right = loop(1.0)
    e = 1e-3 / np.cosh(2 * np.pi)
    wrong = changed(
        right,
        states={"x": lambda t: 1 + 0.5 * np.sin(t) + e * np.cosh(t)},
        controls={"u": lambda t: -0.5 * np.cos(t) + e * np.sinh(t)},
        costates={"x": lambda t: 0.5 * np.cos(t) - e * np.sinh(t)},
    )
    return ocp, right, wrong


@planted("ends", TRANSVERSALITY)
def periodic_with_another_mean():
    """A wave about 1.2 instead of 1 would be held there by costates that differ at the ends."""
    ocp, right = loop(1.0)
    # u' = x - 1 must hold along an extremal: x = 1 + d cosh(t - pi) / cosh(pi) + ..., periodic with
    # a jump of u.
    d = 0.2 / np.cosh(np.pi)
    wrong = changed(
        right,
        states={"x": lambda t: 1 + 0.5 * np.sin(t) + d * np.cosh(t - np.pi)},
        controls={"u": lambda t: -0.5 * np.cos(t) + d * np.sinh(t - np.pi)},
        costates={"x": lambda t: 0.5 * np.cos(t) - d * np.sinh(t - np.pi)},
    )
    extra = 0.5 * d**2 * np.sinh(2 * np.pi)
    return ocp, right, replace(wrong, objective=np.pi / 4 + extra)


def bounced(e=0.5, v=1.0, after=None, link=0.0, costs=None):
    """Two phases of x' = u with v- = u: the first to x = 1, where the rest is e times as costly; a
    jump map of y.
    """
    ocp = Problem("bounced")
    a, b = ocp.phase("before"), ocp.phase("after")
    a.time(start=0, end=1)
    b.time(start=1, end=2)
    y1, u1 = a.state("y", start=0), a.control("u")
    y2, u2 = b.state("y", end=1), b.control("u")
    a.dynamics({y1: u1})
    b.dynamics({y2: u2})
    ocp.require(b.initial(y2) - e * a.final(y1), equals=0, name="impact")
    ocp.minimize(a.integral(u1**2) + b.integral(u2**2))
    # y- = m, y+ = e m: J = m^2 + (1 - e m)^2, m = e / (1 + e^2).
    m = e / (1 + e**2) * v
    plus = e * m + link if after is None else after
    ua, ub = m, 1 - plus
    right = answer(
        ua**2 + ub**2,
        phase(even(0, 1), {"y": lambda t: m * t}, {"u": ua}, {"y": -2 * ua}, name="before"),
        phase(
            even(1, 2),
            {"y": lambda t: plus + ub * (t - 1)},
            {"u": ub},
            {"y": -2 * ub},
            name="after",
        ),
        multipliers={"impact": 2 * ub},
    )
    return ocp, right


@planted("phases", BOUNDARY)
def jump_map_violated():
    ocp, right = bounced()
    return ocp, right, bounced(link=1e-3)[1]


@planted("phases", BOUNDARY)
def elastic_instead_of_plastic():
    ocp, right = bounced(e=0.5)
    return ocp, right, bounced(e=0.6)[1]


@planted("phases", TRANSVERSALITY)
def impact_at_another_state():
    ocp, right = bounced()
    return ocp, right, bounced(v=1.1)[1]


def two_stages(s=None, gap=0.0):
    """x from 0 to 1 in two linked phases, the second at twice the price; the time of the change is
    free.
    """
    ocp = Problem("two stages")
    a, b = ocp.phase("first"), ocp.phase("second")
    ta = a.time(start=0, end=free(0.1, 1.9))
    b.time(start=free(0.1, 1.9), end=2)
    x1, u1 = a.state("x", start=0), a.control("u")
    x2, u2 = b.state("x", end=1), b.control("u")
    a.dynamics({x1: u1})
    b.dynamics({x2: u2})
    ocp.connect(a, b)
    ocp.minimize(a.integral(u1**2) + b.integral(2 * u2**2) + 0.1 * a.final(ta) ** 2)
    # u1 = 2 u2 = p / -2: x = u1 s + u1 / 2 (2 - s) = 1, J = u1^2 (s + (2 - s) / 2) + 0.1 s^2, u1 =
    # 2 / (2 + s).
    if s is None:
        from scipy.optimize import brentq

        s = brentq(lambda s: -2 / (2 + s) ** 2 + 0.2 * s, 0.2, 1.9)
    k = 2 / (2 + s)
    right = answer(
        k + 0.1 * s**2,
        phase(even(0, s), {"x": lambda t: k * t}, {"u": k}, {"x": -2 * k}, name="first"),
        phase(
            even(s + gap, 2),
            {"x": lambda t: 1 - k / 2 * (2 - t)},
            {"u": k / 2},
            {"x": -2 * k},
            name="second",
        ),
        multipliers={
            "x from 'first' to 'second'": 2 * k,
            "t from 'first' to 'second'": -(k**2) / 2,
        },
    )
    return ocp, right


@planted("phases", TRANSVERSALITY)
def stage_change_at_the_wrong_time():
    ocp, right = two_stages()
    return ocp, right, two_stages(s=1.2)[1]


@planted("phases", BOUNDARY)
def a_gap_in_time_between_phases():
    ocp, right = two_stages()
    return ocp, right, two_stages(gap=1e-3)[1]


@planted("multipliers", TRANSVERSALITY)
def multiplier_of_a_condition_off():
    ocp, right = chosen()
    return ocp, right, replace(right, multipliers={"arrive": -1.1})


@planted("multipliers", TRANSVERSALITY)
def condition_that_pulls():
    """x(1) <= 0.5 where the best is 0: held at the limit by a multiplier of the wrong sign."""

    def make(s):
        ocp = Problem("pulled")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u = ph.state("x", start=0), ph.control("u")
        ph.dynamics({x: u})
        ocp.require(ph.final(x), upper=0.5, name="near")
        ocp.minimize(ph.integral((u - 0.2) ** 2))
        return ocp, answer(
            (s - 0.2) ** 2,
            phase(even(0, 1), {"x": lambda t: s * t}, {"u": s}, {"x": -2 * (s - 0.2)}),
            multipliers={"near": -2 * (s - 0.2)},
        )

    ocp, right = make(0.2)
    return ocp, right, make(0.5)[1]


@planted("multipliers", "minimum of H")
def integral_condition_with_another_multiplier():
    ocp, right = isoperimetric(1.0)
    return ocp, right, replace(right, multipliers={"length": 0.26})


def isoperimetric(k):
    """The most area with the integral of u^2 at most 1 / 3: x = t (1 - t)."""
    ocp = Problem("isoperimetric")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.require(ph.integral(u**2), upper=1 / 3, name="length")
    ocp.maximize(ph.integral(x))
    nu = 1 / (4 * k)
    return ocp, answer(
        k / 6,
        phase(
            even(0, 1),
            {"x": lambda t: k * t * (1 - t)},
            {"u": lambda t: k * (1 - 2 * t)},
            {"x": lambda t: -2 * nu * k * (1 - 2 * t)},
        ),
        multipliers={"length": nu},
    )


@planted("multipliers", TRANSVERSALITY)
def integral_condition_inside_its_limit():
    ocp, right = isoperimetric(1.0)
    return ocp, right, isoperimetric(0.999)[1]


@planted("ends", BOUNDARY)
def integral_condition_violated():
    ocp, right = isoperimetric(1.0)
    return ocp, right, isoperimetric(1.001)[1]


@planted("ends", TRANSVERSALITY)
def start_chosen_badly():
    """x(0) may be anywhere in [0, 1]; it costs (x(0) - 0.4)^2 and the way to 1."""

    def make(a):
        ocp = Problem("start")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u = ph.state("x", start=free(0, 1), end=1), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) + (ph.initial(x) - 0.4) ** 2)
        return ocp, answer(
            (1 - a) ** 2 + (a - 0.4) ** 2,
            phase(even(0, 1), {"x": lambda t: a + (1 - a) * t}, {"u": 1 - a}, {"x": -2 * (1 - a)}),
        )

    ocp, right = make(0.7)
    return ocp, right, make(0.72)[1]


@planted("ends", TRANSVERSALITY)
def end_on_a_circle_at_the_wrong_point():
    """The straight way from (2, 0) to the unit circle is to (1, 0)."""

    def make(angle):
        ocp = Problem("circle")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, y = ph.state("x", start=2), ph.state("y", start=0)
        u, w = ph.control("u"), ph.control("w")
        ph.dynamics({x: u, y: w})
        ocp.require(ph.final(x) ** 2 + ph.final(y) ** 2, equals=1, name="circle")
        ocp.minimize(ph.integral(u**2 + w**2))
        c, s = np.cos(angle), np.sin(angle)
        ux, uy = c - 2, s
        nu = -2 * ux / (2 * c)
        return ocp, answer(
            ux**2 + uy**2,
            phase(
                even(0, 1),
                {"x": lambda t: 2 + ux * t, "y": lambda t: uy * t},
                {"u": ux, "w": uy},
                {"x": -2 * ux, "y": -2 * uy},
            ),
            multipliers={"circle": nu},
        )

    ocp, right = make(0.0)
    return ocp, right, make(0.05)[1]
