"""Wrong answers for which one hypothesis of a theorem fails, drawn with random parameters.

Each family draws several cases; the name of a case ends with the number of its draw. The families
are in the order of the hypotheses: strict complementarity, conjugate points between grid points,
simultaneous switches, curved sets of controls, smooth dependence on controls, kinks of states and
ends, distant minima of H, scaled curvature, rigidity, short events, branches of algebraic
equations, and terms of the cost that no motion changes.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi
import numpy as np

from trajopt import Problem, free

from .by_hand import CASES, Case, answer, phase
from .statements import arcs, even

VARIATION = "second variation"
MINIMUM = "minimum of H"
LIMITS = "bounds and path constraints"
MOTION = "re-integration of intervals"
OBJECTIVE = "objective of the re-integrated motion"
KINKS = "kinks of the model"
DUAL = "gap to the dual bound"
SEED = 20261119

Generator = np.random.Generator


def drawn(count: int, kind: str, row: str, below: str, reaches: str) -> Callable:
    """Register ``count`` cases of a function of a random generator."""

    def register(make: Callable[[Generator], tuple]) -> Callable[[Generator], tuple]:
        for k in range(count):
            name = f"{make.__name__.replace('_', '-')}-{k}"
            assert name not in CASES, name
            CASES[name] = Case(
                name, kind, row, lambda k=k: make(np.random.default_rng([SEED, k])), below, reaches
            )
        return make

    return register


def either(build: Callable[..., tuple], right: tuple, wrong: tuple) -> tuple:
    """The right answer and the wrong one of two statements of one family."""
    first, second = build(*right), build(*wrong)
    return first[0], first[1], second[1], second[0]


def straight(
    D: float, T: float, more: dict, parts: int = 6, at: float = 1.0
) -> tuple[np.ndarray, dict, dict, dict]:
    """Breaks, states, controls and costates of x = D t / T, the least integral of u^2."""
    speed = at * D / T
    return (
        even(0, T, parts=parts),
        {"x": lambda t: speed * t},
        {"u": speed, **more},
        {"x": -2 * speed},
    )


# Strict complementarity ----------------------------------------------------


@drawn(4, "complementarity", VARIATION, "minimum", "minimum")
def control_at_its_limit_without_a_multiplier(rng):
    """u >= 0 and u = 0: the slope of H is zero, so that the limit holds nothing; the focal point is
    at pi / (2 c).
    """
    c, side = rng.uniform(0.6, 2.0), rng.choice([-1, 1])

    def make(T):
        ocp = Problem("one side")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x = ph.state("x", start=0)
        u = ph.control("u", lower=0) if side > 0 else ph.control("u", upper=0)
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - (c * x) ** 2))
        return ocp, answer(0.0, phase(even(0, T, parts=10), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))

    focal = np.pi / (2 * c)
    return either(make, (rng.uniform(0.7, 0.95) * focal,), (rng.uniform(1.1, 1.9) * focal,))


@drawn(4, "complementarity", VARIATION, "minimum", "minimum")
def end_at_its_limit_without_a_multiplier(rng):
    T, side = rng.uniform(0.5, 3), rng.choice([-1, 1])

    def make(k):
        ocp = Problem("end on a limit")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=free(*sorted((0.0, float(side))))), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) - k * ph.final(x) ** 2)
        return ocp, answer(0.0, phase(even(0, T), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))

    return either(make, (rng.uniform(0.2, 0.9) / T,), (rng.uniform(1.1, 2) / T,))


@drawn(3, "complementarity", VARIATION, "minimum", "minimum")
def static_variable_at_its_limit_without_a_multiplier(rng):
    T = rng.uniform(0.5, 3)

    def make(k):
        ocp = Problem("static on a limit")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=0), ph.control("u")
        s = ocp.variable("s", lower=0, upper=2)
        ph.dynamics({x: u + s})
        ocp.minimize(ph.integral(u**2) + k * s**2)
        zero = {"x": 0.0}
        return ocp, answer(0.0, phase(even(0, T), zero, {"u": 0.0}, zero), variables={"s": 0.0})

    return either(make, (-rng.uniform(0.2, 0.9) * T,), (-rng.uniform(1.1, 2) * T,))


@drawn(3, "complementarity", VARIATION, "minimum", "minimum")
def time_at_its_limit_without_a_multiplier(rng):
    D, late = rng.uniform(0.5, 3), bool(rng.integers(2))

    def make(k):
        ocp = Problem("time on a limit")
        ph = ocp.phase()
        t = ph.time(start=0, end=free(0.3 * D, D) if late else free(D, 3 * D))
        x, u = ph.state("x", start=0, end=D), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) + ph.final(t) + k * (ph.final(t) - D) ** 2)
        return ocp, answer(2 * D, phase(*straight(D, D, {}), integrals=D))

    return either(make, (rng.uniform(0, 2) / D,), (-rng.uniform(1.2, 3) / D,))


@drawn(3, "complementarity", VARIATION, "minimum", "minimum")
def condition_at_its_limit_without_a_multiplier(rng):
    T, a = rng.uniform(0.5, 3), rng.uniform(0.3, 3)

    def make(k):
        ocp = Problem("condition on a limit")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0), ph.control("u")
        ph.dynamics({x: u})
        ocp.require(a * ph.final(x) + ph.final(x) ** 3, lower=0, name="sign of the end")
        ocp.minimize(ph.integral(u**2) - k * ph.final(x) ** 2)
        return ocp, answer(
            0.0,
            phase(even(0, T), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}),
            multipliers={"sign of the end": 0.0},
        )

    return either(make, (rng.uniform(0.2, 0.9) / T,), (rng.uniform(1.1, 2) / T,))


# Conjugate points ----------------------------------------------------


@drawn(4, "conjugate", VARIATION, "minimum", "minimum")
def just_past_the_conjugate_point(rng):
    """One to four intervals; the end is past pi / c by less than a per cent."""
    c, parts, by = rng.uniform(0.5, 2), int(rng.integers(1, 5)), 10 ** rng.uniform(-4, -2)

    def make(angle):
        ocp = Problem("swing")
        ph = ocp.phase()
        ph.time(start=0, end=angle / c)
        x, u = ph.state("x", start=0, end=0), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - (c * x) ** 2))
        return ocp, answer(
            0.0, phase(even(0, angle / c, parts=parts), {"x": 0.0}, {"u": 0.0}, {"x": 0.0})
        )

    return either(make, (np.pi * (1 - by),), (np.pi * (1 + by),))


@drawn(3, "conjugate", VARIATION, "minimum", "minimum")
def moving_past_the_conjugate_point(rng):
    c, X, parts = rng.uniform(0.5, 2), rng.uniform(0.5, 2), int(rng.integers(2, 5))

    def make(angle):
        T = angle / c
        ocp = Problem("swing away")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=X), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - (c * x) ** 2))
        k = X / np.sin(angle)
        b = even(0, T, parts=parts)
        rate = lambda t: c * k * np.cos(c * t)  # noqa: E731
        way = {"x": lambda t: k * np.sin(c * t)}
        J = c * X**2 / np.tan(angle)
        return ocp, answer(
            J, phase(b, way, {"u": rate}, {"x": lambda t: -2 * rate(t)}, integrals=J)
        )

    return either(make, (rng.uniform(2.6, 3.1),), (rng.uniform(3.2, 3.6),))


@drawn(3, "conjugate", VARIATION, "minimum", "minimum")
def clamped_beam_past_buckling(rng):
    c, parts, by = rng.uniform(0.7, 1.5), int(rng.integers(1, 4)), 10 ** rng.uniform(-3, -1.5)

    def make(angle):
        ocp = Problem("beam")
        ph = ocp.phase()
        ph.time(start=0, end=angle / c)
        x, v, u = ph.state("x", start=0, end=0), ph.state("v", start=0, end=0), ph.control("u")
        ph.dynamics({x: v, v: u})
        ocp.minimize(ph.integral(u**2 - c**4 * x**2))
        zero = {"x": 0.0, "v": 0.0}
        return ocp, answer(0.0, phase(even(0, angle / c, parts=parts), zero, {"u": 0.0}, zero))

    first = 4.730040744862704  # cos(a) cosh(a) = 1
    return either(make, (first * (1 - by),), (first * (1 + by),))


@drawn(3, "conjugate", VARIATION, "minimum", "minimum")
def conjugate_point_of_an_integral_condition(rng):
    """The mean of x is zero, which moves the conjugate point from pi / c to 2 pi / c."""
    c, parts, by = rng.uniform(0.5, 2), int(rng.integers(1, 5)), 10 ** rng.uniform(-3, -1.5)

    def make(angle):
        ocp = Problem("swing of mean zero")
        ph = ocp.phase()
        ph.time(start=0, end=angle / c)
        x, y, u = ph.state("x", start=0, end=0), ph.state("y", start=0, end=0), ph.control("u")
        ph.dynamics({x: u, y: x})
        ocp.minimize(ph.integral(u**2 - (c * x) ** 2))
        zero = {"x": 0.0, "y": 0.0}
        return ocp, answer(0.0, phase(even(0, angle / c, parts=parts), zero, {"u": 0.0}, zero))

    return either(make, (2 * np.pi * (1 - by),), (2 * np.pi * (1 + by),))


@drawn(3, "conjugate", VARIATION, "minimum", "minimum")
def far_past_the_conjugate_point_with_free_end(rng):
    """A free end with a cost of its own: the focal point is where tan(c T) = -c / k."""
    c, k, parts = rng.uniform(0.5, 2), rng.uniform(0.2, 2), int(rng.integers(1, 3))

    def make(angle):
        ocp = Problem("swing to a free end")
        ph = ocp.phase()
        ph.time(start=0, end=angle / c)
        x, u = ph.state("x", start=0), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - (c * x) ** 2) + k * ph.final(x) ** 2)
        return ocp, answer(
            0.0, phase(even(0, angle / c, parts=parts), {"x": 0.0}, {"u": 0.0}, {"x": 0.0})
        )

    focal = np.pi - np.arctan(c / k)
    return either(make, (focal * rng.uniform(0.8, 0.99),), (focal * rng.choice([1.02, 1.5, 4.0]),))


# Switches ----------------------------------------------------


@drawn(5, "switches", VARIATION, "minimum", "minimum")
def two_switches_at_one_time(rng):
    """Each switch alone and both together raise the cost; moved apart they lower it."""
    tau, turn = rng.uniform(0.3, 0.7), rng.choice([-1, 1])
    a = 2 * tau - 1

    def make(k):
        ocp = Problem("two switches")
        ph = ocp.phase()
        t = ph.time(start=0, end=1)
        x, y, z = ph.state("x", start=0), ph.state("y", start=0), ph.state("z", start=0)
        u, w = ph.control("u", lower=-1, upper=1), ph.control("w", lower=-1, upper=1)
        ph.dynamics({x: u, y: float(turn) * w, z: (t - tau) * (u + float(turn) * w)})
        ocp.minimize(ph.final(z) + k * (ph.final(x) - a) * (ph.final(y) - a))
        b = even(0, tau, 1, parts=3)
        up = arcs(b, [tau], [lambda t: t, lambda t: 2 * tau - t])
        paid = arcs(b, [tau], [lambda t: t**2 - 2 * tau * t, lambda t: -(tau**2) - (t - tau) ** 2])
        controls = {
            "u": arcs(b, [tau], [1.0, -1.0]),
            "w": arcs(b, [tau], [float(turn), -float(turn)]),
        }
        J = -(tau**2) - (1 - tau) ** 2
        return ocp, answer(
            J, phase(b, {"x": up, "y": up, "z": paid}, controls, {"x": 0.0, "y": 0.0, "z": 1.0})
        )

    return either(make, (rng.uniform(0.0, 0.4),), (rng.uniform(0.6, 3),))


@drawn(4, "switches", VARIATION, "minimum", "minimum")
def switch_at_a_maximum_with_a_squared_limit(rng):
    """|u| <= 1 stated as u^2 <= 1; moving the switch by d changes the cost by (1 + 4 k) d^2."""
    tau = rng.uniform(0.3, 0.7)
    a = 2 * tau - 1

    def make(k):
        ocp = Problem("squared limit")
        ph = ocp.phase()
        t = ph.time(start=0, end=1)
        x, y, u = ph.state("x", start=0), ph.state("y", start=0), ph.control("u")
        ph.dynamics({x: u, y: (t - tau) * u})
        ph.path(u**2, upper=1, name="limit")
        ocp.minimize(ph.final(y) + k * (ph.final(x) - a) ** 2)
        b = even(0, tau, 1, parts=3)
        states = {
            "x": arcs(b, [tau], [lambda t: t, lambda t: 2 * tau - t]),
            "y": arcs(
                b,
                [tau],
                [lambda t: 0.5 * t**2 - tau * t, lambda t: -0.5 * tau**2 - 0.5 * (t - tau) ** 2],
            ),
        }
        J = -0.5 * tau**2 - 0.5 * (1 - tau) ** 2
        return ocp, answer(
            J, phase(b, states, {"u": arcs(b, [tau], [1.0, -1.0])}, {"x": 0.0, "y": 1.0})
        )

    return either(make, (rng.uniform(0, 3),), (-rng.uniform(0.5, 4),))


# Controls in nonsmooth operations ----------------------------------------------------


def _priced(name: str, price: Callable, T: float, D: float, w: float) -> tuple:
    """x' = u over D with the integral of u^2 and the price of a second control w that moves
    nothing.
    """
    ocp = Problem(name)
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x = ph.state("x", start=0, end=D)
    u = ph.control("u")
    control = ph.control("w", lower=-2, upper=2)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2 + price(control)))
    J = D**2 / T + T * float(price(casadi.DM(w)))
    return ocp, answer(J, phase(*straight(D, T, {"w": w}), integrals=J))


# The price of w with parameters a and k, the worse w and the better one.
NONSMOOTH = {
    "valley": (lambda w, a, k: k * casadi.fabs(casadi.fabs(w) - a), lambda a: 0.0, lambda a: a),
    "reward": (lambda w, a, k: casadi.if_else(w > a, -k, 0), lambda a: 0.0, lambda a: a + 0.4),
    "fine": (lambda w, a, k: k * casadi.sign(w - a), lambda a: 1.8, lambda a: a - 0.5),
    "two": (
        lambda w, a, k: casadi.fmin(casadi.fabs(w - a), casadi.fabs(w + a) + k),
        lambda a: -a,
        lambda a: a,
    ),
    "bowls": (
        lambda w, a, k: casadi.fmin((w - a) ** 2, (w + a) ** 2 + 0.1 * k),
        lambda a: -a,
        lambda a: a,
    ),
    "roof": (
        lambda w, a, k: k * casadi.fmax(a - casadi.fabs(w), 0),
        lambda a: 0.0,
        lambda a: 1.2 * a,
    ),
}


@drawn(12, "controls", MINIMUM, "extremal", "extremal")
def worse_control_beside_a_kink(rng):
    """The price of a control has kinks or steps; its Hessian is zero wherever it exists, or convex
    about the worse minimum.
    """
    number = int(rng.bit_generator.seed_seq.entropy[1])
    name = list(NONSMOOTH)[number % len(NONSMOOTH)]
    price, worse, better = NONSMOOTH[name]
    a = rng.uniform(0.6, 1.2)
    k = rng.uniform(0.3, 2)
    T = rng.uniform(0.5, 2)
    D = rng.uniform(0.5, 2)
    made = [_priced(name, lambda w: price(w, a, k), T, D, of(a)) for of in (better, worse)]
    return made[0][0], made[0][1], made[1][1]


# Kinks of states and ends ----------------------------------------------------

PEAKS = {
    "fabs": casadi.fabs,
    "fmax": lambda x: casadi.fmax(x, -x),
    "fmin": lambda x: -casadi.fmin(x, -x),
    "if": lambda x: casadi.if_else(x > 0, x, -x),
    "root": lambda x: casadi.sqrt(x**2),
    "larger": lambda x: 2 * casadi.fmax(x, 0) - x,
}


@drawn(6, "kinks", KINKS, "extremal", "extremal")
def at_rest_on_a_concave_kink(rng):
    shape = list(PEAKS.values())[int(rng.bit_generator.seed_seq.entropy[1]) % len(PEAKS)]
    T, k, free_end = rng.uniform(0.5, 3), rng.uniform(0.1, 2), bool(rng.integers(2))

    def make(sign):
        ocp = Problem("kink")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=None if free_end else 0), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 + sign * k * shape(x)))
        return ocp, answer(0.0, phase(even(0, T), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))

    return either(make, (1.0,), (-1.0,))


@drawn(4, "kinks", KINKS, "extremal", "extremal")
def moving_along_a_concave_kink(rng):
    shape = list(PEAKS.values())[int(rng.integers(4))]
    T, k, D = rng.uniform(0.5, 3), rng.uniform(0.1, 2), rng.uniform(0.5, 2)

    def make(sign):
        ocp = Problem("moving kink")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, y, u = ph.state("x", start=0, end=D), ph.state("y", start=0), ph.control("u")
        ph.dynamics({x: u, y: sign * k * shape(x - D / T * t)})
        ocp.minimize(ph.integral(u**2) + ph.final(y))
        b, states, controls, costates = straight(D, T, {})
        return ocp, answer(
            D**2 / T,
            phase(b, {**states, "y": 0.0}, controls, {**costates, "y": 1.0}, integrals=D**2 / T),
        )

    return either(make, (1.0,), (-1.0,))


@drawn(4, "kinks", KINKS, "extremal", "extremal")
def end_on_a_concave_kink(rng):
    shape = list(PEAKS.values())[int(rng.integers(4))]
    T, k = rng.uniform(0.5, 3), rng.uniform(0.1, 2)

    def make(sign):
        ocp = Problem("kink of the end")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) + sign * k * shape(ph.final(x)))
        return ocp, answer(0.0, phase(even(0, T), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}))

    return either(make, (1.0,), (-1.0,))


# Distant minima of H ----------------------------------------------------


@drawn(4, "controls", MINIMUM, "extremal", "extremal")
def worse_of_two_distant_wells(rng):
    """A control without limits has two wells at a distance of hundreds of its own size."""
    L, depth, e = 10 ** rng.uniform(0, 3), rng.uniform(0.5, 2), rng.uniform(0.02, 0.2)
    T, D = rng.uniform(0.5, 2), rng.uniform(0.5, 2)
    # In units of L: 16 depth w^2 (w - 1)^2 - e w
    well = np.polynomial.Polynomial([0, -e, 16 * depth, -32 * depth, 16 * depth])
    roots = np.sort(well.deriv().roots().real)

    def make(w):
        ocp = Problem("wells")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, control = ph.state("x", start=0, end=D), ph.control("u"), ph.control("w")
        ph.dynamics({x: u})
        ocp.minimize(
            ph.integral(
                u**2 + 16 * depth * (control / L) ** 2 * (control / L - 1) ** 2 - e * control / L
            )
        )
        J = D**2 / T + T * well(w)
        return ocp, answer(J, phase(*straight(D, T, {"w": w * L}), integrals=J))

    ocp, right = make(roots[2])
    return ocp, right, make(roots[0])[1]


@drawn(3, "controls", MINIMUM, "extremal", "extremal")
def well_far_from_the_origin(rng):
    """A bowl about zero, and a deeper pit at a distance."""
    L, k, T, D = rng.uniform(20, 300), rng.uniform(0.5, 2), rng.uniform(0.5, 2), rng.uniform(0.5, 2)
    width = L / 8

    def make(at, w):
        ocp = Problem("pit")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, control = ph.state("x", start=0, end=D), ph.control("u"), ph.control("w")
        ph.dynamics({x: u})
        pit = 2 * k * casadi.exp(-(((control - at) / width) ** 2))
        ocp.minimize(ph.integral(u**2 + k * (control - 1) ** 2 / (1 + (control - 1) ** 2) - pit))
        value = k * (w - 1) ** 2 / (1 + (w - 1) ** 2) - 2 * k * np.exp(-(((w - at) / width) ** 2))
        J = D**2 / T + T * value
        return ocp, answer(J, phase(*straight(D, T, {"w": w}), integrals=J))

    from scipy.optimize import minimize_scalar

    def least(at, a, b):
        def value(w):
            return (w - 1) ** 2 / (1 + (w - 1) ** 2) - 2 * np.exp(-(((w - at) / width) ** 2))

        return float(
            minimize_scalar(value, bounds=(a, b), method="bounded", options={"xatol": 1e-12}).x
        )

    right, wrong = make(L, least(L, 0.9 * L, 1.1 * L)), make(L, least(L, 0.5, 1.5))
    return right[0], right[1], wrong[1]


# Scaled curvature ----------------------------------------------------


@drawn(4, "global", DUAL, "global", "global")
def concave_term_beside_a_large_convex_one(rng):
    """A convex term of another unit is 1e13 times larger than the concave one."""
    c, K, T = rng.uniform(0.5, 2), 10 ** rng.uniform(12.5, 15), rng.uniform(0.5, 1)

    def make(sign, angle):
        ocp = Problem("mixed units")
        ph = ocp.phase()
        ph.time(start=0, end=T * angle / c)
        x, y = ph.state("x", start=0, end=0), ph.state("y", start=0, end=1e-6)
        u, w = ph.control("u"), ph.control("w")
        ph.dynamics({x: u, y: w})
        ocp.minimize(ph.integral(u**2 + sign * (c * x) ** 2 + K * w**2))
        end = T * angle / c
        rate = 1e-6 / end
        J = K * rate**2 * end
        states, costates = {"x": 0.0, "y": lambda t: rate * t}, {"x": 0.0, "y": -2 * K * rate}
        return ocp, answer(
            J, phase(even(0, end), states, {"u": 0.0, "w": rate}, costates, integrals=J)
        )

    return either(make, (1.0, 3.0), (-1.0, 2.5 / T))


@drawn(3, "global", DUAL, "global", "global")
def indefinite_product_beside_a_large_square(rng):
    """u^2 + w^2 - 2 b u w with b > 1 beside a large square of a third control."""
    K = 10 ** rng.uniform(13, 15)

    def make(b):
        ocp = Problem("product")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, y = ph.state("x", start=0, end=0), ph.state("y", start=0, end=0)
        z = ph.state("z", start=0, end=1e-6)
        u, w, v = ph.control("u"), ph.control("w"), ph.control("v")
        ph.dynamics({x: u, y: w, z: v})
        ocp.minimize(ph.integral(u**2 + w**2 + 0.1 * u**4 + 0.1 * w**4 - 2 * b * x * y + K * v**2))
        J = K * 1e-12
        zero = {"x": 0.0, "y": 0.0}
        states, costates = {**zero, "z": lambda t: 1e-6 * t}, {**zero, "z": -2 * K * 1e-6}
        return ocp, answer(
            J, phase(even(0, 1), states, {"u": 0.0, "w": 0.0, "v": 1e-6}, costates, integrals=J)
        )

    return either(make, (0.0,), (rng.uniform(1.5, 4),))


# Rigid motions ----------------------------------------------------


@drawn(4, "abnormal", VARIATION, "minimum", "minimum")
def not_rigid_past_the_conjugate_point(rng):
    """y' = u^2 - (c x)^2 from zero to zero leaves x = 0 alone only before pi / c; the cost asks for
    another x.
    """
    c, parts, by = rng.uniform(0.5, 2), int(rng.integers(1, 5)), 10 ** rng.uniform(-3, -1)

    def make(angle):
        ocp = Problem("rigid")
        ph = ocp.phase()
        ph.time(start=0, end=angle / c)
        x, y, u = ph.state("x", start=0, end=0), ph.state("y", start=0, end=0), ph.control("u")
        ph.dynamics({x: u, y: u**2 - (c * x) ** 2})
        ocp.minimize(ph.integral(x))
        T = angle / c
        zero, costates = {"x": 0.0, "y": 0.0}, {"x": lambda t: 0.5 * T - t, "y": 0.0}
        return ocp, answer(0.0, phase(even(0, T, parts=parts), zero, {"u": 0.0}, costates))

    return either(make, (np.pi * (1 - by),), (np.pi * (1 + by),))


# Short events ----------------------------------------------------


def _bump(name: str, s, centre: float, width: float):
    """A smooth or a rectangular bump of height one."""
    if name == "bell":
        return casadi.exp(-(((s - centre) / width) ** 2))
    if name == "hat":
        return casadi.fmax(0, 1 - ((s - centre) / width) ** 2)
    return casadi.if_else(casadi.fabs(s - centre) < width, 1, 0)


@drawn(5, "windows", LIMITS, "feasible", "extremal")
def post_between_the_samples(rng):
    name = ("bell", "hat", "box")[int(rng.bit_generator.seed_seq.entropy[1]) % 3]
    T, D, width = rng.uniform(0.5, 3), rng.uniform(0.5, 2), 10 ** rng.uniform(-3.5, -2.8)

    def make(centre):
        ocp = Problem("post")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x = ph.state("x", start=0, end=D)
        y = ph.state("y", start=0, end=0)
        u = ph.control("u")
        w = ph.control("w")
        ph.dynamics({x: u, y: w})
        ph.path(y - 0.3 * _bump(name, x / D, centre, width) + 0.1, lower=0, name="post")
        ocp.minimize(ph.integral(u**2 + w**2))
        b, states, controls, costates = straight(D, T, {})
        made = phase(
            b,
            {**states, "y": 0.0},
            {**controls, "w": 0.0},
            {**costates, "y": 0.0},
            integrals=D**2 / T,
        )
        return ocp, answer(D**2 / T, made)

    return either(make, (rng.uniform(1.2, 2),), (rng.uniform(0.1, 0.9),))


@drawn(5, "windows", MOTION, "feasible", "extremal")
def gust_between_the_samples(rng):
    name = ("bell", "hat", "box")[int(rng.bit_generator.seed_seq.entropy[1]) % 3]
    T, D, width = rng.uniform(0.5, 3), rng.uniform(0.5, 2), 10 ** rng.uniform(-3.5, -2.8)

    def make(centre):
        ocp = Problem("gust")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=D), ph.control("u")
        ph.dynamics({x: u + 0.1 * D / (T * width) * _bump(name, t / T, centre, width)})
        ocp.minimize(ph.integral(u**2))
        return ocp, answer(D**2 / T, phase(*straight(D, T, {}), integrals=D**2 / T))

    return either(make, (rng.uniform(1.2, 2),), (rng.uniform(0.1, 0.9),))


@drawn(5, "windows", OBJECTIVE, "feasible", "extremal")
def toll_between_the_samples(rng):
    name = ("bell", "hat", "box")[int(rng.bit_generator.seed_seq.entropy[1]) % 3]
    T, D, width = rng.uniform(0.5, 3), rng.uniform(0.5, 2), 10 ** rng.uniform(-3.5, -2.8)

    def make(centre):
        ocp = Problem("toll")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=D), ph.control("u")
        ph.dynamics({x: u})
        toll = 0.2 * D**2 / T**2 / width * _bump(name, x / D, centre, width)
        ocp.minimize(ph.integral(u**2 + toll))
        return ocp, answer(D**2 / T, phase(*straight(D, T, {}), integrals=D**2 / T))

    return either(make, (rng.uniform(1.2, 2),), (rng.uniform(0.1, 0.9),))


# Branches of algebraic equations ----------------------------------------------------


@drawn(4, "branches", MINIMUM, "extremal", "extremal")
def worse_root_of_a_square(rng):
    """z^2 = a^2 + b u^2: the negative root costs less at every time."""
    a = rng.uniform(0.5, 2)
    b = rng.uniform(0.0, 0.3)
    T = rng.uniform(0.5, 2)
    D = rng.uniform(0.5, 2)

    def make(side):
        ocp = Problem("root")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, z = ph.state("x", start=0, end=D), ph.control("u"), ph.algebraic("z")
        ph.dynamics({x: u})
        ph.require(z**2 - a**2 - b * u**2)
        ocp.minimize(ph.integral(u**2 + z))
        speed = D / T
        root = side * np.sqrt(a**2 + b * speed**2)
        J = T * (speed**2 + root)
        breaks, states, controls, _ = straight(D, T, {})
        costate = -2 * speed - b * speed / root
        return ocp, answer(
            J, phase(breaks, states, controls, {"x": costate}, algebraics={"z": root}, integrals=J)
        )

    ocp, right = make(-1.0)
    return ocp, right, make(1.0)[1]


@drawn(3, "branches", MINIMUM, "extremal", "extremal")
def worse_root_of_a_cubic(rng):
    """z^3 - 3 z = q has three roots; the least costs least."""
    q, T, D = rng.uniform(-1, 1), rng.uniform(0.5, 2), rng.uniform(0.5, 2)
    roots = np.sort(np.polynomial.Polynomial([-q, -3, 0, 1]).roots().real)

    def make(root):
        ocp = Problem("cubic")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x = ph.state("x", start=0, end=D)
        u = ph.control("u")
        z = ph.algebraic("z", lower=-4, upper=4)
        ph.dynamics({x: u})
        ph.require(z**3 - 3 * z - q)
        ocp.minimize(ph.integral(u**2 + z))
        J = T * ((D / T) ** 2 + root)
        breaks, states, controls, costates = straight(D, T, {})
        return ocp, answer(
            J, phase(breaks, states, controls, costates, algebraics={"z": root}, integrals=J)
        )

    ocp, right = make(roots[0])
    return ocp, right, make(roots[2])[1]


# Terms that no motion changes ----------------------------------------------------


def _bent(T: float, D: float, a: float) -> tuple[float, dict, dict]:
    """The cost, states and controls of x = D t / T + a sin(pi t / T)."""
    states = {"x": lambda t: D * t / T + a * np.sin(np.pi * t / T)}
    controls = {"u": lambda t: D / T + a * np.pi / T * np.cos(np.pi * t / T)}
    return D**2 / T + a**2 * np.pi**2 / (2 * T), states, controls


@drawn(4, "masked", MINIMUM, "extremal", "minimum")
def loss_masked_by_a_term_that_no_motion_changes(rng):
    """A large term of a state that follows a rate of time alone."""
    T, D, K = rng.uniform(0.5, 2), rng.uniform(0.5, 2), 10 ** rng.uniform(5.5, 7)
    loss = rng.uniform(0.1, 0.5)

    def make(share):
        ocp = Problem("masked")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, y, u = ph.state("x", start=0, end=D), ph.state("y", start=0), ph.control("u")
        ph.dynamics({x: u, y: casadi.cos(t)})
        ocp.minimize(ph.integral(u**2 + K * y))
        own, states, controls = _bent(T, D, np.sqrt(2 * share) * D / np.pi)
        J = own + K * (1 - np.cos(T))
        costates = {"x": -2 * D / T, "y": lambda t: K * (T - t)}
        return ocp, answer(
            J, phase(even(0, T), {**states, "y": np.sin}, controls, costates, integrals=J)
        )

    ocp, right = make(0.0)
    return ocp, right, make(loss)[1]


@drawn(3, "masked", MINIMUM, "extremal", "minimum")
def loss_masked_by_an_exact_differential(rng):
    """The integral of K u is K times the given distance, whatever the motion is."""
    T, D, K = rng.uniform(0.5, 2), rng.uniform(0.5, 2), 10 ** rng.uniform(5.5, 7)
    loss = rng.uniform(0.1, 0.5)

    def make(share):
        ocp = Problem("exact differential")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=D), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 + K * u))
        own, states, controls = _bent(T, D, np.sqrt(2 * share) * D / np.pi)
        J = own + K * D
        return ocp, answer(
            J, phase(even(0, T), states, controls, {"x": -K - 2 * D / T}, integrals=J)
        )

    ocp, right = make(0.0)
    return ocp, right, make(loss)[1]
