"""Limits that are exceeded, arcs on constraints that begin at the wrong time, multipliers of the
wrong sign.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import erf

from trajopt import Problem
from trajopt.trajectory.curve import Curve

from .by_hand import answer, changed, phase, planted
from .statements import arcs, even, move, regulator, wall

LIMITS = "bounds and path constraints"


@planted("limits", LIMITS)
def through_the_wall():
    ocp, right = wall(0.1)
    return ocp, right, wall(0.11)[1]


@planted("limits", LIMITS)
def a_little_through_the_wall():
    ocp, right = wall(0.1)
    return ocp, right, wall(0.1001)[1]


@planted("limits", LIMITS)
def below_the_ground_far_from_zero():
    """Altitude above the centre of the Earth in metres, with the ground as a bound: 25 m below it
    on the way.
    """
    R = 6.378e6

    def make(c):
        ocp = Problem("ground")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        r, u = ph.state("r", start=R, end=R, lower=R), ph.control("u")
        ph.dynamics({r: u})
        ocp.minimize(ph.integral((u - 100 * c) ** 2 / 1e4))
        return ocp

    right = answer(1.0, phase(even(0, 1), {"r": R}, {"u": 0.0}, {"r": 0.02}))
    dive = lambda t: R - 100 * t * (1 - t)  # noqa: E731
    wrong = answer(
        1.0 + 1 / 3,
        phase(
            even(0, 1),
            {"r": dive},
            {"u": lambda t: -100 * (1 - 2 * t)},
            {"r": lambda t: 0.02 + 0.02 * (1 - 2 * t)},
        ),
    )
    return make(1.0), right, wrong


@planted("limits", LIMITS)
def control_beyond_its_bound_between_points():
    """A narrow peak of a hundredth beyond the bound."""
    ocp = Problem("peak")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", upper=1.0)
    ph.dynamics({x: u})
    at, width = 0.5137, 0.02
    ocp.minimize(ph.integral((u - 1.0 + 4 * (t - at) ** 2) ** 2))

    def make(e):
        area = lambda t: width * np.sqrt(np.pi) / 2 * (erf((t - at) / width) + erf(at / width))  # noqa: E731
        x_of = lambda t: t - 4 / 3 * ((t - at) ** 3 + at**3) + e * area(t)  # noqa: E731
        u_of = lambda t: 1.0 - 4 * (t - at) ** 2 + e * np.exp(-(((t - at) / width) ** 2))  # noqa: E731
        return answer(
            e**2 * width * np.sqrt(np.pi / 2),
            phase(even(0, 0.45, 0.58, 1, parts=4), {"x": x_of}, {"u": u_of}, {"x": 0.0}),
        )

    return ocp, make(0.0), make(0.01)


@planted("limits", LIMITS)
def control_beyond_its_bound_in_a_short_interval():
    ocp = Problem("short")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=0, upper=1)
    ph.dynamics({x: u})
    ocp.maximize(ph.final(x))
    right = answer(1.0, phase(even(0, 1), {"x": lambda t: t}, {"u": 1.0}, {"x": -1.0}))
    b = np.array([0, 0.5, 0.5001, 1.0])
    wrong = answer(
        1.0001,
        phase(
            b,
            {"x": [lambda t: t, lambda t: 0.5 + 2 * (t - 0.5), lambda t: t + 1e-4]},
            {"u": [1.0, 2.0, 1.0]},
            {"x": -1.0},
        ),
    )
    return ocp, right, wrong


@planted("limits", LIMITS)
def curve_of_high_degree_between_its_nodes():
    """A control of one piece of degree 60 that oscillates beyond its bound."""
    ocp = Problem("oscillates")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.final(x))
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(61) + 0.5) / 61)

    def make(e, J):
        f = lambda t: -1 + e * np.sin(40 * np.pi * t)  # noqa: E731
        X = lambda t: -t + e * (1 - np.cos(40 * np.pi * t)) / (40 * np.pi)  # noqa: E731
        found = answer(J, phase([0, 1], {"x": -1.0}, {"u": -1.0}, {"x": 1.0}))
        one = lambda g: Curve(np.array([0.0, 1.0]), (nodes,), (g(nodes)[:, None],))  # noqa: E731
        return changed(found, states={"x": one(X)}, controls={"u": one(f)})

    return ocp, make(0.0, -1.0), make(0.01, -1.0)


@planted("limits", LIMITS)
def path_constraint_in_other_units():
    """A limit of 1e-3 in kilometres, exceeded by a millionth of one."""

    def make(top):
        ocp = Problem("kilometres")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x = ph.state("x", start=0, end=0)
        v = ph.state("v", start=1e-2, end=-1e-2)
        u = ph.control("u")
        ph.dynamics({x: v, v: u})
        ph.path(x, upper=1e-3, name="roof")
        ocp.minimize(ph.integral(0.5 * u**2))
        one = wall(top)[1]
        ph1 = one.phases["main"]

        def scale(group, k):
            return {
                name: replace(curve, values=tuple(v * k for v in curve.values))
                for name, curve in group.items()
            }

        return ocp, answer(
            one.objective * 1e-4,
            replace(
                ph1,
                states=scale(ph1.states, 1e-2),
                controls=scale(ph1.controls, 1e-2),
                costates=scale(ph1.costates, 1e-2),
            ),
        )

    ocp, right = make(0.1)
    return ocp, right, make(0.1002)[1]


@planted("arcs", "costate equation")
def wall_entered_too_early():
    ocp, right = wall(0.1)
    return ocp, right, wall(0.1, t1=0.28)[1]


@planted("arcs", "costate equation")
def moving_wall_entered_too_early():
    """Time is in the constraint: 3.7 % above the best."""
    ocp, right = wall(0.1, c=0.5)
    return ocp, right, wall(0.1, c=0.5, t1=0.27)[1]


@planted("arcs", "complementarity")
def held_a_little_inside_the_wall():
    ocp, right = wall(0.1)
    return ocp, right, wall(0.1, t1=3 * 0.09999, entered=0.09999)[1]


@planted("arcs", "estimated suboptimality")
def held_inside_the_moving_wall():
    ocp, right = wall(0.1, c=0.5)
    return ocp, right, wall(0.1, c=0.5, t1=3 * 0.0999, entered=0.0999)[1]


@planted("arcs", "costate equation")
def wall_that_pulls():
    """The costate of x jumps up where the wall is met."""
    ocp, right = wall(0.1)
    b = right.phases["main"].states["x"].breaks
    top = 2 / (9 * 0.01)
    return ocp, right, changed(right, costates={"x": arcs(b, [0.3, 0.7], [top, 2 * top, -top])})


def held(u1, u2, p):
    """x' = u1 + u2 on x <= 0: the controls share what holds the constraint, 0.5 each."""
    ocp = Problem("held")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, upper=0)
    a, b = ph.control("a", lower=-1, upper=1), ph.control("b", lower=-1, upper=1)
    ph.dynamics({x: a + b})
    ocp.minimize(ph.integral(a**2 + (b - 1) ** 2))
    return ocp, answer(
        u1**2 + (u2 - 1) ** 2, phase(even(0, 1), {"x": 0.0}, {"a": u1, "b": u2}, {"x": p})
    )


@planted("arcs", "minimum of H on constrained arcs")
def controls_that_hold_a_constraint():
    ocp, right = held(-0.5, 0.5, 1.0)
    return ocp, right, held(-1.0, 1.0, 2.0)[1]


@planted("arcs", "minimum of H on constrained arcs")
def controls_that_hold_a_constraint_a_little_off():
    ocp, right = held(-0.5, 0.5, 1.0)
    return ocp, right, held(-0.52, 0.52, 1.04)[1]


@planted("arcs", "minimum of H on constrained arcs")
def third_control_beside_a_held_constraint():
    """What does not hold the constraint has its own minimum."""

    def make(w):
        ocp = Problem("third")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x = ph.state("x", start=0, upper=0)
        a, c = ph.control("a", lower=-1, upper=1), ph.control("c", lower=-2, upper=2)
        ph.dynamics({x: a})
        ocp.minimize(ph.integral((a - 1) ** 2 + (c**2 - 1) ** 2 + 0.2 * c))
        return ocp, answer(
            1 + (w**2 - 1) ** 2 + 0.2 * w,
            phase(even(0, 1), {"x": 0.0}, {"a": 0.0, "c": w}, {"x": 2.0}),
        )

    from scipy.optimize import brentq

    low, high = (brentq(lambda w: 4 * w * (w**2 - 1) + 0.2, *b) for b in ((-1.5, -0.8), (0.8, 1.5)))
    ocp, right = make(low)
    return ocp, right, make(high)[1]


@planted("arcs", "estimated suboptimality")
def stays_on_a_constraint_it_should_leave():
    """x <= 0 is left at once in the best answer: x' = u, (u + 1)^2; staying needs a wall that
    pulls.
    """
    ocp = Problem("leaves")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, upper=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((u + 1) ** 2))
    right = answer(0.0, phase(even(0, 1), {"x": lambda t: -t}, {"u": -1.0}, {"x": 0.0}))
    return ocp, right, answer(1.0, phase(even(0, 1), {"x": 0.0}, {"u": 0.0}, {"x": -2.0}))


def mixed(k):
    """The largest x(1) with u <= 1 - x: x = 1 - exp(-t); with ``k`` of what is allowed."""
    ocp = Problem("mixed")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ph.path(u + x, upper=1, name="power")
    ocp.maximize(ph.final(x))
    # With all that is allowed p' = p; with less the multiplier would have to be the same.
    return ocp, answer(
        1 - np.exp(-k),
        phase(
            even(0, 1),
            {"x": lambda t: 1 - np.exp(-k * t)},
            {"u": lambda t: k * np.exp(-k * t)},
            {"x": lambda t: -np.exp(t - 1)},
        ),
    )


@planted("arcs", "complementarity")
def mixed_constraint_inside_its_limit():
    ocp, right = mixed(1.0)
    return ocp, right, mixed(0.9998)[1]


@planted("arcs", "costate equation")
def mixed_constraint_far_inside_its_limit():
    ocp, right = mixed(1.0)
    return ocp, right, mixed(0.98)[1]


@planted("arcs", "costate equation")
def mixed_constraint_without_its_multiplier():
    """Costates as if the constraint had no price for the state."""
    ocp, right = mixed(1.0)
    return ocp, right, changed(right, costates={"x": -1.0})


@planted("arcs", "estimated suboptimality")
def mixed_constraint_that_pulls():
    """u + x <= 1 held as an equality where the cost would have less."""
    ocp = Problem("pulled")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ph.path(u + x, upper=1, name="power")
    ocp.minimize(ph.integral(u**2))
    right = answer(0.0, phase(even(0, 1), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))
    # Held: u = exp(-t), m = -2 u - p, p' = -m: p = exp(t) q, q' = 2 exp(-2 t): p = exp(t - 2) -
    # exp(-t).
    wrong = answer(
        0.5 * (1 - np.exp(-2)),
        phase(
            even(0, 1),
            {"x": lambda t: 1 - np.exp(-t)},
            {"u": lambda t: np.exp(-t)},
            {"x": lambda t: np.exp(t - 2) - np.exp(-t)},
        ),
    )
    return ocp, right, wrong


def ceiling(s, k=1.0):
    """x' = u, |u| <= 1, the most integral of x with x <= 0.5: up until 0.5, and along; ``s`` is
    when the ceiling is met.
    """
    ocp = Problem("ceiling")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, upper=0.5), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.maximize(ph.integral(x))
    b = even(0, s, 1, parts=4)
    v = 0.5 / s
    # p' = 1 before, zero along the ceiling.
    return ocp, answer(
        0.5 * 0.5 * s + 0.5 * (1 - s),
        phase(
            b,
            {"x": arcs(b, [s], [lambda t: v * t, 0.5])},
            {"u": arcs(b, [s], [v, 0.0])},
            {"x": arcs(b, [s], [lambda t: t - s, 0.0])},
        ),
    )


@planted("arcs", "minimum of H")
def slowly_to_the_ceiling():
    ocp, right = ceiling(0.5)
    return ocp, right, ceiling(0.52)[1]


@planted("arcs", LIMITS)
def bound_of_a_state_exceeded_a_little():
    """Far from zero, and by 1e-4 of the way."""
    ocp, right = move(D=1.0, offset=1e5, upper=1e5 + 1.0)
    wrong = changed(
        right,
        states={
            "x": lambda t: (
                1e5 + t**2 * (3 - 2 * t) + 2e-4 * np.sin(np.pi * t) ** 2 * (t > 0.5) + 2e-4 * t**8
            )
        },
    )
    return ocp, right, wrong


@planted("multipliers", "path multipliers of the file")
def path_multiplier_of_the_wrong_sign():
    ocp, right = mixed(1.0)
    right = changed(right, path_multipliers={"power": lambda t: np.exp(t - 1)})
    return ocp, right, changed(right, path_multipliers={"power": lambda t: -np.exp(t - 1)})


@planted("multipliers", "path multipliers of the file")
def path_multiplier_off():
    ocp, right = mixed(1.0)
    right = changed(right, path_multipliers={"power": lambda t: np.exp(t - 1)})
    return ocp, right, changed(right, path_multipliers={"power": lambda t: 1.1 * np.exp(t - 1)})


@planted("multipliers", "path multipliers of the file")
def path_multiplier_where_nothing_is_active():
    def make(m):
        ocp = Problem("inactive")
        ph = ocp.phase()
        ph.time(start=0, end=2)
        x, u = ph.state("x", start=1), ph.control("u")
        ph.dynamics({x: u})
        ph.path(u + 3 * x, upper=5, name="power")
        ocp.minimize(ph.integral(x**2 + u**2))
        return ocp, changed(regulator(2.0)[1], path_multipliers={"power": m})

    ocp, right = make(0.0)
    return ocp, right, make(0.1)[1]
