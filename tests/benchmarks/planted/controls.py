"""Controls that do not minimize the Hamiltonian, switches at the wrong time, costates that are not
those of the motion.
"""

from __future__ import annotations

from dataclasses import replace

import casadi
import numpy as np
from scipy.optimize import brentq

from trajopt import Problem

from .by_hand import answer, changed, phase, planted
from .statements import arcs, even, move, quickest, regulator, until

LEAST = "minimum of H"
COSTATES = "costate equation"


def wells(count, chosen, tilt=0.2, parts=4):
    """Controls in double wells beside one that moves x: the lower well of each is the one at about
    -1.
    """
    ocp = Problem("wells")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    w = ph.control("w", count, lower=-2, upper=2)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2 + casadi.sum1((w**2 - 1) ** 2 + tilt * w)))
    low, high = (
        brentq(lambda w: 4 * w * (w**2 - 1) + tilt, a, b) for a, b in ((-1.5, -0.8), (0.8, 1.5))
    )
    value = lambda w: (w**2 - 1) ** 2 + tilt * w  # noqa: E731
    b = even(0, 1, parts=parts)
    columns = np.where(chosen(parts, count), low, high)  # (parts, count)
    pieces = [lambda t, c=c: np.repeat(c[:, None], t.size, axis=1) for c in columns]
    cost = 1 + value(columns).sum() / parts
    return ocp, answer(cost, phase(b, {"x": lambda t: t}, {"u": 1.0, "w": pieces}, {"x": -2.0}))


def all_low(parts, count):
    return np.ones((parts, count), dtype=bool)


def but(*places):
    def chosen(parts, count):
        found = all_low(parts, count)
        for place in places:
            found[place] = False
        return found

    return chosen


@planted("wells", LEAST)
def the_higher_of_two_wells():
    ocp, right = wells(1, all_low)
    return ocp, right, wells(1, but(slice(None)))[1]


@planted("wells", LEAST)
def one_of_eight_controls_in_the_wrong_well():
    ocp, right = wells(8, all_low)
    return ocp, right, wells(8, but((slice(None), 5)))[1]


@planted("wells", LEAST)
def one_of_twelve_controls_in_the_wrong_well():
    ocp, right = wells(12, all_low)
    return ocp, right, wells(12, but((slice(None), 11)))[1]


@planted("wells", LEAST)
def wrong_well_on_one_of_many_intervals():
    ocp, right = wells(1, all_low, parts=150)
    return ocp, right, wells(1, but(77), parts=150)[1]


@planted("wells", LEAST)
def wrong_wells_on_a_few_intervals():
    ocp, right = wells(2, all_low, parts=60)
    return ocp, right, wells(2, but((3, 0), (41, 1)), parts=60)[1]


def narrow(at, width, depth, bound=1.0, others=0):
    """A flat valley at w = 0 and a narrow deep well at ``at``."""
    ocp = Problem("narrow")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=1)
    u = ph.control("u")
    w = ph.control("w", lower=-bound, upper=bound)
    more = ph.control("more", others) if others else 0
    ph.dynamics({x: u})
    ocp.minimize(
        ph.integral(
            u**2 + w**2 - depth * casadi.exp(-(((w - at) / width) ** 2)) + casadi.sumsqr(more)
        )
    )
    extra = {"more": lambda t: np.zeros((others, t.size))} if others else {}

    def make(v):
        cost = 1 + v**2 - depth * np.exp(-(((v - at) / width) ** 2))
        return answer(
            cost,
            phase(
                even(0, 1, parts=4), {"x": lambda t: t}, {"u": 1.0, "w": v, **extra}, {"x": -2.0}
            ),
        )

    bottom = brentq(
        lambda v: 2 * v + 2 * depth * (v - at) / width**2 * np.exp(-(((v - at) / width) ** 2)),
        at - 0.5 * width,
        at + 0.5 * width,
    )
    return ocp, make(bottom), make(0.0)


@planted("wells", LEAST)
def narrow_deep_well():
    return narrow(0.7, 0.02, 2.0)


@planted("wells", LEAST)
def very_narrow_well():
    return narrow(0.63, 0.004, 3.0)


@planted("wells", LEAST)
def narrow_well_of_one_of_nine_controls():
    return narrow(-0.55, 0.02, 2.0, others=7)


@planted("controls", LEAST)
def maximum_of_the_hamiltonian():
    """Steering away from the goal is stationary too."""
    ocp = Problem("steer")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y = ph.state("x", start=0), ph.state("y", start=0, end=0)
    u = ph.control("u")
    ph.dynamics({x: casadi.cos(u), y: casadi.sin(u)})
    ocp.minimize(-ph.final(x))

    def make(a):
        return answer(
            -np.cos(a),
            phase(
                even(0, 1),
                {"x": lambda t: np.cos(a) * t, "y": 0.0},
                {"u": a},
                {"x": -1.0, "y": 0.0},
            ),
        )

    return ocp, make(0.0), make(np.pi)


@planted("controls", LEAST)
def control_inside_its_bounds():
    """Full thrust is best; 0.99 of it arrives as well."""
    ocp, right = quickest()
    k = 0.99
    T = 2 / np.sqrt(k)
    s, p = T / 2, -1 / np.sqrt(k)
    b = even(0, s, T, parts=3)
    wrong = answer(
        T,
        phase(
            b,
            {
                "x": arcs(b, [s], [lambda t: 0.5 * k * t**2, lambda t: 1 - 0.5 * k * (T - t) ** 2]),
                "v": arcs(b, [s], [lambda t: k * t, lambda t: k * (T - t)]),
            },
            {"u": arcs(b, [s], [k, -k])},
            {"x": p, "v": lambda t: -p * (t - s)},
        ),
    )
    return ocp, right, wrong


def priced(switch, parts=3, breaks=None):
    """The integral of (t - 0.5) u with |u| <= 1: u = 1 until 0.5, and -1 then."""
    ocp = Problem("priced")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((t - 0.5) * u))
    b = even(0, switch, 1, parts=parts) if breaks is None else breaks
    s = switch
    at = {"x": arcs(b, [s], [lambda t: t, lambda t: 2 * s - t])}
    return ocp, answer(s**2 - s, phase(b, at, {"u": arcs(b, [s], [1.0, -1.0])}, {"x": 0.0}))


@planted("switches", "switching times")
def switch_too_late():
    ocp, right = priced(0.5)
    return ocp, right, priced(0.503)[1]


@planted("switches", "switching times")
def switch_a_thousandth_too_late():
    ocp, right = priced(0.5)
    return ocp, right, priced(0.501)[1]


@planted("switches", "switching times")
def switch_a_thousandth_too_late_on_many_intervals():
    ocp, right = priced(0.5, parts=60)
    return ocp, right, priced(0.501, parts=60)[1]


@planted("switches", LEAST)
def one_arc_too_many():
    """Between 0.2 and 0.25 the control is at the other bound."""
    ocp, right = priced(0.5)
    b = np.array([0, 0.2, 0.25, 0.5, 1.0])
    x = [lambda t: t, lambda t: 0.4 - t, lambda t: t - 0.1, lambda t: 0.9 - t]
    wrong = answer(
        -0.25 + 2 * 0.05 * 0.275, phase(b, {"x": x}, {"u": [1.0, -1.0, 1.0, -1.0]}, {"x": 0.0})
    )
    return ocp, right, wrong


def fuel(a, T=3.0, strength=1.0):
    """Rest to rest over 1 in time 3 with the least fuel: thrust p, coast, thrust n."""
    ocp = Problem("fuel")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    p, n = ph.control("p", lower=0, upper=1), ph.control("n", lower=0, upper=1)
    ph.dynamics({x: v, v: p - n})
    ocp.minimize(ph.integral(p + n))
    k = strength
    a = brentq(lambda a: k * a * (T - a) - 1, 0, T / 2) if a is None else a
    b = even(0, a, T - a, T, parts=3)
    at = [a, T - a]
    slope = 2 / (T - 2 * a)
    states = {
        "x": arcs(
            b,
            at,
            [
                lambda t: 0.5 * k * t**2,
                lambda t: k * a * (t - a / 2),
                lambda t: 1 - 0.5 * k * (T - t) ** 2,
            ],
        ),
        "v": arcs(b, at, [lambda t: k * t, k * a, lambda t: k * (T - t)]),
    }
    controls = {"p": arcs(b, at, [k, 0.0, 0.0]), "n": arcs(b, at, [0.0, 0.0, k])}
    return ocp, answer(
        2 * k * a, phase(b, states, controls, {"x": -slope, "v": lambda t: -1 + slope * (t - a)})
    )


@planted("controls", LEAST)
def weaker_and_longer_burns():
    ocp, right = fuel(None)
    return ocp, right, fuel(None, strength=0.9)[1]


@planted("costates", COSTATES)
def costate_of_another_problem():
    ocp, right = regulator()
    return (
        ocp,
        right,
        changed(right, costates={"x": lambda t: 2 * np.sinh(2 - t) / np.cosh(2) * (1 + 0.001 * t)}),
    )


@planted("costates", COSTATES)
def costates_of_the_wrong_sign():
    ocp, right = regulator()
    return ocp, right, changed(right, costates={"x": lambda t: -2 * np.sinh(2 - t) / np.cosh(2)})


@planted("costates", LEAST)
def costates_scaled():
    """Costates that satisfy their homogeneous equation, but not stationarity."""
    ocp, right = move()
    return ocp, right, changed(right, costates={"x": -25.0, "v": lambda t: 25 * (t - 0.5)})


@planted("costates", COSTATES)
def costate_with_a_jump():
    ocp, right = move(parts=6)
    return ocp, right, changed(right, costates={"x": [-24.0] * 3 + [-24.1] * 3})


@planted("costates", "costates inside intervals")
def costate_with_a_bump_inside_an_interval():
    """The costate of x enters nothing but the rate of that of v; a bump without a mean passes at
    both ends.
    """
    ocp, right = move(parts=6)
    wave = lambda t: -24.0 + 3.0 * np.sin(2 * np.pi * 6 * t)  # noqa: E731
    return ocp, right, changed(right, costates={"x": [-24.0, -24.0, wave, -24.0, -24.0, -24.0]})


@planted("costates", "constancy of H")
def free_time_with_another_hamiltonian():
    """Time appears in nothing, and H changes along the motion: speed up halfway, with costates to
    match each half.
    """
    ocp, right = until()
    b = even(0, 0.5, 1.0, parts=3)
    u = [0.8] * 3 + [1.2] * 3
    x = [lambda t: 0.8 * t] * 3 + [lambda t: 0.4 + 1.2 * (t - 0.5)] * 3
    return (
        ocp,
        right,
        answer(
            1 + 0.5 * (0.64 + 1.44), phase(b, {"x": x}, {"u": u}, {"x": [-1.6] * 3 + [-2.4] * 3})
        ),
    )


@planted("controls", LEAST)
def constant_control_of_a_regulator():
    ocp, right = regulator(T=1.0)
    wrong = changed(
        right,
        states={"x": lambda t: 1 - 0.7 * t},
        controls={"u": -0.7},
        costates={"x": lambda t: 2 * ((1 - t) - 0.35 * (1 - t**2))},
        integrals=np.zeros(0),
    )
    return ocp, right, replace(wrong, objective=0.49 + (1 - 0.3**3) / 2.1)


@planted("controls", LEAST)
def products_of_controls():
    """H = u w + (u^2 + w^2)^2 - ... is a saddle at u = w = 0."""
    ocp = Problem("saddle")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=1)
    u = ph.control("u", lower=-1, upper=1)
    w = ph.control("w", lower=-1, upper=1)
    r = ph.control("r")
    ph.dynamics({x: r})
    ocp.minimize(ph.integral(r**2 + 3 * u * w + 0.5 * u**2 + 0.5 * w**2))

    def make(a, b, J):
        controls = {"u": a, "w": b, "r": 1.0}
        return answer(J, phase(even(0, 1), {"x": lambda t: t}, controls, {"x": -2.0}))

    return ocp, make(1.0, -1.0, -1.0), make(0.0, 0.0, 1.0)


@planted("controls", LEAST)
def many_controls_one_off():
    """Ten controls, each with its own share; one is a tenth too small and another makes
    up for it.
    """

    def make(shares):
        ocp = Problem("shares")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u = ph.state("x", start=0, end=10), ph.control("u", 10)
        ph.dynamics({x: casadi.sum1(u)})
        ocp.minimize(ph.integral(casadi.sumsqr(u)))
        return ocp, answer(
            (shares**2).sum(),
            phase(
                even(0, 1),
                {"x": lambda t: 10 * t},
                {"u": lambda t: np.repeat(shares[:, None], t.size, axis=1)},
                {"x": -2.0},
            ),
        )

    ocp, right = make(np.ones(10))
    off = np.ones(10)
    off[3], off[7] = 0.9, 1.1
    return ocp, right, make(off)[1]


@planted("controls", LEAST)
def thrust_in_the_wrong_direction():
    """A unit vector of thrust, |u| <= 1, across the goal's direction at part of the strength."""

    def make(angle):
        ocp = Problem("vector")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, y = ph.state("x", start=0), ph.state("y", start=0)
        u, w = ph.control("u"), ph.control("w")
        ph.dynamics({x: u, y: w})
        ph.path(u**2 + w**2, upper=1, name="thrust")
        ocp.maximize(ph.final(x) + ph.final(y))
        c, s = np.cos(angle), np.sin(angle)
        return ocp, answer(
            c + s,
            phase(
                even(0, 1),
                {"x": lambda t: c * t, "y": lambda t: s * t},
                {"u": c, "w": s},
                {"x": -1.0, "y": -1.0},
            ),
        )

    ocp, right = make(np.pi / 4)
    return ocp, right, make(np.pi / 4 + 0.01)[1]


def algebraic(scale):
    """z^2 = u through an algebraic equation; x' = z."""
    ocp = Problem("algebraic")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u, z = ph.state("x", start=0, end=1), ph.control("u"), ph.algebraic("z", lower=0.1)
    ph.dynamics({x: z})
    ph.require(z * (1 + x) - u)
    ocp.minimize(ph.integral(u**2))
    # L = (1 + x)^2 x'^2: with y = x + x^2 / 2, the way is straight in y: y = 1.5 t, J = 2.25.
    x_of = lambda t: np.sqrt(1 + 3 * t) - 1  # noqa: E731
    z_of = lambda t: 1.5 / np.sqrt(1 + 3 * t)  # noqa: E731
    right = answer(
        2.25,
        phase(
            even(0, 1, parts=10),
            {"x": x_of},
            {"u": 1.5},
            {"x": lambda t: -3 * np.sqrt(1 + 3 * t)},
            algebraics={"z": lambda t: scale * z_of(t)},
        ),
    )
    return ocp, right


@planted("motion", "bounds and path constraints")
def algebraic_equation_violated():
    ocp, right = algebraic(1.0)
    return ocp, right, algebraic(1.001)[1]


@planted("controls", "costate equation")
def straight_in_x_instead_of_y():
    ocp, right = algebraic(1.0)
    wrong = answer(
        7 / 3,
        phase(
            even(0, 1, parts=10),
            {"x": lambda t: t},
            {"u": lambda t: 1 + t},
            {"x": lambda t: -2 * (1 + t) ** 2},
            algebraics={"z": 1.0},
        ),
    )
    return ocp, right, wrong
