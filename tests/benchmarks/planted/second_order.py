"""Extremals that are no minima: conjugate points, singular arcs that maximize, saddles of ends and
switches.
"""

from __future__ import annotations

import casadi
import numpy as np

from trajopt import Problem, free

from .by_hand import answer, phase, planted
from .statements import arcs, even, rings, sphere, still, swing

VARIATION = "second variation"
KELLEY = "Kelley's condition"


@planted("conjugate", VARIATION, "minimum", "minimum")
def deep_catenary():
    right, wrong = rings(False), rings(True)
    return right[0], right[1], wrong[1]


@planted("conjugate", VARIATION, "minimum", "minimum")
def long_way_round_a_sphere():
    right, wrong = sphere(2.5), sphere(2 * np.pi - 2.5)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def a_little_past_half_of_a_sphere():
    right, wrong = sphere(np.pi - 0.05), sphere(np.pi + 0.05)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def oscillator_past_pi():
    right, wrong = swing(3.0), swing(4.0)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def oscillator_at_rest_past_pi():
    right, wrong = swing(3.0, X=0.0), swing(3.3, X=0.0)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def hanging_pendulum_seen_as_upright():
    """theta'' = sin(theta) cost: the action of a pendulum at rest over more than half a period."""

    def make(T):
        ocp = Problem("action")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        q, u = ph.state("q", start=0, end=0), ph.control("u")
        ph.dynamics({q: u})
        ocp.minimize(ph.integral(0.5 * u**2 - (1 - casadi.cos(q))))
        return ocp, answer(0.0, phase(even(0, T, parts=10), {"q": 0.0}, {"u": 0.0}, {"q": 0.0}))

    right, wrong = make(2.8), make(3.6)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def two_states_one_conjugate_point():
    """x'' = u with the integral of u^2 - x^2 / 2: longer than the first conjugate time of beams."""

    def make(T):
        ocp = Problem("beam")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, v, u = ph.state("x", start=0, end=0), ph.state("v", start=0, end=0), ph.control("u")
        ph.dynamics({x: v, v: u})
        ocp.minimize(ph.integral(u**2 - x**2))
        zero = {"x": 0.0, "v": 0.0}
        return ocp, answer(0.0, phase(even(0, T, parts=12), zero, {"u": 0.0}, zero))

    # A clamped beam: cos(T) cosh(T) = 1, T = 4.7300.
    right, wrong = make(4.6), make(4.9)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def focal_point_of_a_free_end():
    """The end is free: the first focal point is at pi / 2."""

    def make(T):
        ocp = Problem("focal")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - x**2))
        return ocp, answer(0.0, phase(even(0, T, parts=10), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))

    right, wrong = make(1.5), make(1.65)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def saddle_of_an_end_value():
    """-(x(1))^2 in the cost outweighs the way there."""

    def make(k):
        ocp = Problem("end")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u = ph.state("x", start=0), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) - k * ph.final(x) ** 2)
        return ocp, answer(0.0, phase(even(0, 1), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))

    right, wrong = make(0.9), make(1.1)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def saddle_of_a_static_variable():
    def make(k):
        ocp = Problem("static")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u = ph.state("x", start=0, end=1), ph.control("u")
        s = ocp.variable("s", lower=-2, upper=2)
        ph.dynamics({x: u + s})
        ocp.minimize(ph.integral(u**2) + k * s**2)
        # u = 1 - s: (1 - s)^2 + k s^2, stationary at s = 1 / (1 + k).
        s = 1 / (1 + k)
        cost = (1 - s) ** 2 + k * s**2
        return ocp, answer(
            cost,
            phase(even(0, 1), {"x": lambda t: t}, {"u": 1 - s}, {"x": -2 * (1 - s)}),
            variables={"s": s},
        )

    right, wrong = make(1.0), make(-1.6)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", VARIATION, "minimum", "minimum")
def the_worst_time():
    """The final time is stationary where the cost is largest: J = 1 / T + c(T)."""

    def make(sign, T):
        ocp = Problem("time")
        ph = ocp.phase()
        t = ph.time(start=0, end=free(0.2, 5))
        x, u = ph.state("x", start=0, end=1), ph.control("u")
        ph.dynamics({x: u})
        # d/dT (1 / T + g(T)) = 0 at T = 1 with g' = 1; g'' = 6 or -6 beside 2 / T^3 = 2.
        ocp.minimize(ph.integral(u**2) + ph.final(t) + sign * 3 * (ph.final(t) - 1) ** 2)
        return ocp, answer(
            1 / T + T, phase(even(0, T), {"x": lambda t: t / T}, {"u": 1 / T}, {"x": -2 / T})
        )

    right, wrong = make(1, 1.0), make(-1, 1.0)
    return right[0], right[1], wrong[1], wrong[0]


@planted("singular", KELLEY, "minimum")
def singular_arc_that_maximizes():
    right, wrong = still(), still(sign=-1.0)
    return right[0], right[1], wrong[1], wrong[0]


@planted("singular", KELLEY, "minimum")
def singular_arc_of_order_two_that_maximizes():
    """Fuller's problem at rest, and its negative."""

    def make(sign):
        ocp = Problem("Fuller")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, v, u = ph.state("x", start=0), ph.state("v", start=0), ph.control("u", lower=-1, upper=1)
        ph.dynamics({x: v, v: u})
        ocp.minimize(ph.integral(sign * x**2))
        zero = {"x": 0.0, "v": 0.0}
        return ocp, answer(0.0, phase(even(0, 1), zero, {"u": 0.0}, zero))

    right, wrong = make(1.0), make(-1.0)
    return right[0], right[1], wrong[1], wrong[0]


@planted("singular", KELLEY, "minimum")
def bang_then_singular_that_maximizes():
    """From 0.5 to where (x^2 - a^2)^2 is least, or to its local maximum at zero."""

    def make(goal):
        ocp = Problem("bang, singular")
        ph = ocp.phase()
        ph.time(start=0, end=2)
        x, u = ph.state("x", start=0.5), ph.control("u", lower=-1, upper=1)
        ph.dynamics({x: u})
        ocp.minimize(ph.integral((x**2 - 1) ** 2))
        s = abs(goal - 0.5)
        way = np.sign(goal - 0.5)
        b = even(0, s, 2, parts=4)
        x_of = lambda t: 0.5 + way * t  # noqa: E731
        primitive = np.polynomial.Polynomial([1, 0, -2, 0, 1]).integ()
        d = lambda x: (x**2 - 1) ** 2  # noqa: E731
        J = abs(primitive(goal) - primitive(0.5)) + (2 - s) * d(goal)
        # p' = -d'(x), d/dt d(x) = d' way
        p = lambda t: way * (d(goal) - d(x_of(t))) * 1.0  # noqa: E731
        return ocp, answer(
            J,
            phase(
                b,
                {"x": arcs(b, [s], [x_of, goal])},
                {"u": arcs(b, [s], [way, 0.0])},
                {"x": arcs(b, [s], [p, 0.0])},
            ),
        )

    right, wrong = make(1.0), make(0.0)
    return right[0], right[1], wrong[1]


@planted("switches", VARIATION, "minimum", "minimum")
def switch_that_maximizes():
    """u = +-1 with a price of its rate of change in x: J = g(x(1)), and where x(1) is stationary J
    is largest.
    """

    # One switch at s from u = 1 to u = -1: x(1) = 2 s - 1, y(1) = s^2 - s. The slope of J in s is
    # zero at 0.5 where J'' = 2 - 32 < 0 with -4 x(1)^2, and 2 + 32 with +4 x(1)^2. The costate of x
    # at 0.5 is zero.
    def stated(k):
        ocp = Problem("stationary switch")
        ph = ocp.phase()
        t = ph.time(start=0, end=1)
        x, y = ph.state("x", start=0), ph.state("y", start=0)
        u = ph.control("u", lower=-1, upper=1)
        ph.dynamics({x: u, y: (t - 0.5) * u})
        ocp.minimize(ph.final(y) + k * ph.final(x) ** 2)
        b = even(0, 0.5, 1, parts=3)
        states = {
            "x": arcs(b, [0.5], [lambda t: t, lambda t: 1 - t]),
            "y": arcs(
                b, [0.5], [lambda t: 0.5 * t**2 - 0.5 * t, lambda t: -0.25 - (0.5 * t**2 - 0.5 * t)]
            ),
        }
        return ocp, answer(
            -0.25, phase(b, states, {"u": arcs(b, [0.5], [1.0, -1.0])}, {"x": 0.0, "y": 1.0})
        )

    right, wrong = stated(4.0), stated(-4.0)
    return right[0], right[1], wrong[1], wrong[0]


@planted("conjugate", "Legendre-Clebsch", "minimum")
def curvature_of_the_wrong_sign():
    """Free of bounds: -u^2 in the cost beside a u^4 that makes the real minimum."""

    def make(w):
        ocp = Problem("curvature")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u, c = ph.state("x", start=0, end=1), ph.control("u"), ph.control("c")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 + c**4 - 2 * c**2 + 0.3 * c))
        return ocp, answer(
            1 + w**4 - 2 * w**2 + 0.3 * w,
            phase(even(0, 1), {"x": lambda t: t}, {"u": 1.0, "c": w}, {"x": -2.0}),
        )

    from scipy.optimize import brentq

    slope = lambda w: 4 * w**3 - 4 * w + 0.3  # noqa: E731
    ocp, right = make(brentq(slope, -1.3, -0.8))
    return ocp, right, make(brentq(slope, -0.2, 0.3))[1]


@planted("conjugate", VARIATION, "minimum", "minimum")
def longer_of_two_ways_through_a_lens():
    """Fermat's principle beside a slow region: straight through the middle of it is stationary, and
    not the quickest.
    """

    def make(k):
        ocp = Problem("lens")
        ph = ocp.phase()
        ph.time(start=-1.5, end=1.5)
        y, u = ph.state("y", start=0, end=0), ph.control("u")
        ph.dynamics({y: u})
        # A refractive index that is largest on the axis: 1 + k exp(-y^2).
        ocp.minimize(ph.integral((1 + k * casadi.exp(-(y**2))) * casadi.sqrt(1 + u**2)))
        return ocp, answer(
            3 * (1 + k), phase(even(-1.5, 1.5, parts=10), {"y": 0.0}, {"u": 0.0}, {"y": 0.0})
        )

    right, wrong = make(0.5), make(12.0)
    return right[0], right[1], wrong[1], wrong[0]
