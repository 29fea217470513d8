"""Cases that combine limits, phases, integrals, time in the model and static variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt import Problem, free

from .by_hand import answer, changed, phase, planted
from .statements import arcs, even

BOUNDARY, LEAST, LIMITS = "boundary conditions", "minimum of H", "bounds and path constraints"
TRANSVERSALITY = "transversality"
COSTATES = "costate equation"
INTERVALS = "re-integration of intervals"


@planted("arcs", LEAST)
def cheaper_control_on_a_shared_limit():
    """Most of the integral of a + 3 b with a + b <= 1.5 - t between 0 and 1: a leaves its bound
    where b reaches its own.
    """
    ocp = Problem("shared limit")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x = ph.state("x", start=0)
    a = ph.control("a", lower=0, upper=1)
    b = ph.control("b", lower=0, upper=1)
    ph.dynamics({x: a + 3 * b})
    ph.path(a + b + t, upper=1.5, name="shared")
    ocp.maximize(ph.final(x))
    # points at which all controls are near their bounds
    breaks = even(0, 0.499, 0.5, 0.501, 1, parts=3)
    first, second = lambda t: 0.5 - t, lambda t: 1.5 - t

    def made(high, gain):
        one, other = arcs(breaks, [0.5], [first, 0.0]), arcs(breaks, [0.5], [1.0, second])
        a, b = (one, other) if high == "b" else (other, one)
        early = (
            (lambda t: 3.5 * t - 0.5 * t**2) if high == "b" else (lambda t: 2.5 * t - 1.5 * t**2)
        )
        late = (
            (lambda t: 1.625 + 3 * (1.5 * (t - 0.5) - 0.5 * (t**2 - 0.25)))
            if high == "b"
            else (lambda t: 0.875 + 1.5 * (t - 0.5) - 0.5 * (t**2 - 0.25))
        )
        return answer(
            gain,
            phase(breaks, {"x": arcs(breaks, [0.5], [early, late])}, {"a": a, "b": b}, {"x": -1.0}),
        )

    return ocp, made("b", 1.625 + 1.125), made("a", 0.875 + 0.375)


@planted("arcs", LEAST)
def budget_spent_evenly():
    """Most of the integral of (1 - t) u with a total of one: at first at full rate, then a closed
    valve on a full tank.
    """
    ocp = Problem("budget")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    y, w = ph.state("y", start=0, upper=1), ph.state("w", start=0)
    u = ph.control("u", lower=0, upper=2)
    ph.dynamics({y: u, w: (1 - t) * u})
    ocp.maximize(ph.final(w))
    b = even(0, 0.5, 1, parts=3)
    # After the switch any costate of y that falls and is at least 1 - t will do.
    right = answer(
        0.75,
        phase(
            b,
            {
                "y": arcs(b, [0.5], [lambda t: 2 * t, 1.0]),
                "w": arcs(b, [0.5], [lambda t: 2 * t - t**2, 0.75]),
            },
            {"u": arcs(b, [0.5], [2.0, 0.0])},
            {"y": arcs(b, [0.5], [0.5, lambda t: 1 - t]), "w": -1.0},
        ),
    )
    wrong = answer(
        0.5,
        phase(
            b, {"y": lambda t: t, "w": lambda t: t - 0.5 * t**2}, {"u": 1.0}, {"y": 0.5, "w": -1.0}
        ),
    )
    return ocp, right, wrong


def over_a_hill(entry):
    """The shortest way in energy over the hill 0.5 - 4 (t - 0.5)^2: along the tangent, on the hill,
    and down again.
    """
    ocp = Problem("hill")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=0), ph.control("u")
    ph.dynamics({x: u})
    ph.path(x - 0.5 + 4 * (t - 0.5) ** 2, lower=0, name="hill")
    ocp.minimize(0.5 * ph.integral(u**2))

    def hill(t):
        return 0.5 - 4 * (t - 0.5) ** 2

    slope = hill(entry) / entry
    b = even(0, entry, 1 - entry, 1, parts=4)
    at = [entry, 1 - entry]
    on_hill = 32 * 2 * (0.5 - entry) ** 3 / 3
    objective = slope**2 * entry + on_hill
    solution = answer(
        objective,
        phase(
            b,
            {"x": arcs(b, at, [lambda t: slope * t, hill, lambda t: slope * (1 - t)])},
            {"u": arcs(b, at, [slope, lambda t: -8 * (t - 0.5), -slope])},
            {"x": arcs(b, at, [-slope, lambda t: 8 * (t - 0.5), slope])},
            integrals=2 * objective,
        ),
    )
    return ocp, solution


@planted("arcs", COSTATES)
def hill_met_too_early():
    ocp, right = over_a_hill(np.sqrt(1 / 8))
    return ocp, right, over_a_hill(0.3)[1]


@planted("arcs", COSTATES)
def hill_met_a_little_too_early():
    ocp, right = over_a_hill(np.sqrt(1 / 8))
    return ocp, right, over_a_hill(np.sqrt(1 / 8) - 0.002)[1]


@planted("arcs", "complementarity")
def ramp_held_below_its_limit():
    """x' = u with u <= t, most x: the control rises with its limit."""
    ocp = Problem("ramp")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=0, upper=5)
    ph.dynamics({x: u})
    ph.path(u - t, upper=0, name="ramp")
    ocp.maximize(ph.final(x))

    def made(below):
        return answer(
            0.5 - below,
            phase(
                even(0, 1),
                {"x": lambda t: 0.5 * t**2 - below * t},
                {"u": lambda t: t - below},
                {"x": -1.0},
            ),
        )

    # A control below zero at the start is outside its bound by less than its tolerance.
    return ocp, made(0.0), made(2e-5)


@planted("arcs", COSTATES)
def speed_limit_kept_too_low():
    """A double integrator with least effort and v <= 1.2: the wrong answer keeps to 1.19."""
    D, T, limit = 1.0, 1.0, 1.2

    ocp = Problem("speed limit")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x, v = ph.state("x", start=0, end=D), ph.state("v", start=0, end=0, upper=limit)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))

    def made(top):
        # Up to the limit in s with v' = 0 at its end: v = top (2 r - r^2), r = t / s; the way of
        # that is 2 top s / 3.
        s = (top * T - D) * 3 / (2 * top)
        b = even(0, s, T - s, T, parts=4)
        at = [s, T - s]

        def x_of(t):
            return top * (t**2 / s - t**3 / (3 * s**2))

        u0 = 2 * top / s
        slope = -2 * u0 / s  # of the costate of x: v costate is -2 u, its rate minus that of x
        lift = 2 * top * s / 3
        objective = 2 * u0**2 * s / 3
        return answer(
            objective,
            phase(
                b,
                {
                    "x": arcs(
                        b, at, [x_of, lambda t: lift + top * (t - s), lambda t: D - x_of(T - t)]
                    ),
                    "v": arcs(
                        b,
                        at,
                        [
                            lambda t: top * (2 * t / s - (t / s) ** 2),
                            top,
                            lambda t: top * (2 * (T - t) / s - ((T - t) / s) ** 2),
                        ],
                    ),
                },
                {
                    "u": arcs(
                        b, at, [lambda t: u0 * (1 - t / s), 0.0, lambda t: -u0 * (1 - (T - t) / s)]
                    )
                },
                {
                    "x": slope,
                    "v": arcs(
                        b,
                        at,
                        [
                            lambda t: -2 * u0 * (1 - t / s),
                            0.0,
                            lambda t: 2 * u0 * (1 - (T - t) / s),
                        ],
                    ),
                },
                integrals=objective,
            ),
        )

    return ocp, made(limit), made(1.19)


def shared_energy(u1, u2):
    """The farthest end after two phases of one hour each, the second at twice the energy; one limit
    on both energies.
    """
    ocp = Problem("shared energy")
    a, b = ocp.phase("a"), ocp.phase("b")
    a.time(start=0, end=1)
    b.time(start=1, end=2)
    x1, c1 = a.state("x", start=0), a.control("u")
    x2, c2 = b.state("x"), b.control("u")
    a.dynamics({x1: c1})
    b.dynamics({x2: c2})
    ocp.connect(a, b)
    ocp.require(a.integral(c1**2) + 2 * b.integral(c2**2), upper=1, name="energy")
    ocp.maximize(b.final(x2))
    solution = answer(
        u1 + u2,
        phase(
            even(0, 1), {"x": lambda t: u1 * t}, {"u": u1}, {"x": -1.0}, name="a", integrals=u1**2
        ),
        phase(
            even(1, 2),
            {"x": lambda t: u1 + u2 * (t - 1)},
            {"u": u2},
            {"x": -1.0},
            name="b",
            integrals=u2**2,
        ),
        multipliers={"energy": 1 / (2 * u1)},
    )
    return ocp, solution


@planted("phases", LEAST)
def energy_shared_equally():
    ocp, right = shared_energy(2 / np.sqrt(6), 1 / np.sqrt(6))
    return ocp, right, shared_energy(1 / np.sqrt(3), 1 / np.sqrt(3))[1]


@planted("phases", BOUNDARY)
def energy_of_both_phases_exceeded():
    ocp, right = shared_energy(2 / np.sqrt(6), 1 / np.sqrt(6))
    return ocp, right, shared_energy(2.002 / np.sqrt(6), 1.001 / np.sqrt(6))[1]


def step_up(s):
    """y rises by a static amount s between two phases, at the price 3 s^2; the rest by controls."""
    ocp = Problem("step up")
    a, b = ocp.phase("a"), ocp.phase("b")
    a.time(start=0, end=1)
    b.time(start=1, end=2)
    y1, u1 = a.state("y", start=0), a.control("u")
    y2, u2 = b.state("y", end=1), b.control("u")
    step = ocp.variable("step", lower=-5, upper=5)
    a.dynamics({y1: u1})
    b.dynamics({y2: u2})
    ocp.require(b.initial(y2) - a.final(y1) - step, equals=0, name="rise")
    ocp.minimize(a.integral(u1**2) + b.integral(u2**2) + 3 * step**2)
    u = (1 - s) / 2
    solution = answer(
        2 * u**2 + 3 * s**2,
        phase(
            even(0, 1), {"y": lambda t: u * t}, {"u": u}, {"y": -2 * u}, name="a", integrals=u**2
        ),
        phase(
            even(1, 2),
            {"y": lambda t: u + s + u * (t - 1)},
            {"u": u},
            {"y": -2 * u},
            name="b",
            integrals=u**2,
        ),
        variables={"step": s},
        multipliers={"rise": 2 * u},
    )
    return ocp, solution


@planted("statics", TRANSVERSALITY)
def static_rise_between_phases():
    ocp, right = step_up(1 / 7)
    return ocp, right, step_up(0.16)[1]


def passed_on(u):
    """The energy of the first phase is where the second one begins, which pays for bringing it to
    zero.
    """
    ocp = Problem("passed on")
    a, b = ocp.phase("a"), ocp.phase("b")
    a.time(start=0, end=1)
    b.time(start=1, end=2)
    x, c = a.state("x", start=0), a.control("u")
    y, w = b.state("y", end=0), b.control("w")
    a.dynamics({x: c})
    b.dynamics({y: w})
    ocp.require(b.initial(y) - a.integral(c**2), equals=0, name="energy passed on")
    ocp.minimize(b.integral(w**2) - 4 * 0.8**3 * a.final(x))
    q = u**2
    solution = answer(
        q**2 - 4 * 0.8**3 * u,
        phase(
            even(0, 1), {"x": lambda t: u * t}, {"u": u}, {"x": -4 * 0.8**3}, name="a", integrals=q
        ),
        phase(
            even(1, 2),
            {"y": lambda t: q * (2 - t)},
            {"w": -q},
            {"y": 2 * q},
            name="b",
            integrals=q**2,
        ),
        multipliers={"energy passed on": -2 * q},
    )
    return ocp, solution


@planted("phases", LEAST)
def integral_that_becomes_a_state():
    ocp, right = passed_on(0.8)
    return ocp, right, passed_on(0.79)[1]


@planted("time", TRANSVERSALITY)
def window_at_the_wrong_time():
    """The hour that collects most of sin t, without controls: about pi / 2."""

    def made(middle):
        a, b = middle - 0.5, middle + 0.5
        gain = np.cos(a) - np.cos(b)
        return answer(
            gain, phase(even(a, b), {"x": lambda t: np.cos(a) - np.cos(t)}, {}, {"x": -1.0})
        )

    ocp = Problem("window")
    ph = ocp.phase()
    from casadi import sin

    t = ph.time(start=free(0, 3), end=free(0, 4))
    x = ph.state("x", start=0)
    ph.dynamics({x: sin(t)})
    ocp.require(ph.final(t) - ph.initial(t), equals=1, name="an hour")
    ocp.maximize(ph.final(x))
    return ocp, made(np.pi / 2), made(1.5)


@planted("statics", TRANSVERSALITY)
def fitted_rate_off():
    """x' = -s x fitted to exp(-t): without error at s = 1, so that the cost is zero and nothing has
    a price.
    """

    def made(s):
        # The costate solves p' = s p - 2 (x - exp(-t)), p(2) = 0.
        def p(t):
            d1 = (np.exp(-s * t) - np.exp(-s * (4 - t))) / (2 * s)
            d2 = (np.exp(-t) - np.exp(-2 * (1 + s) + s * t)) / (1 + s)
            return 2 * (d1 - d2)

        T = 2.0
        cost = (
            (1 - np.exp(-2 * s * T)) / (2 * s)
            - 2 * (1 - np.exp(-(1 + s) * T)) / (1 + s)
            + (1 - np.exp(-2 * T)) / 2
        )
        return answer(
            cost,
            phase(even(0, T), {"x": lambda t: np.exp(-s * t)}, {}, {"x": p}, integrals=cost),
            variables={"s": s},
        )

    from casadi import exp

    ocp = Problem("fitted rate")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x = ph.state("x", start=1)
    s = ocp.variable("s", lower=0, upper=10)
    ph.dynamics({x: -s * x})
    ocp.minimize(ph.integral((x - exp(-t)) ** 2))
    return ocp, made(1.0), made(1.02)


@planted("arcs", COSTATES)
def singular_arc_at_the_wrong_level():
    """|u| <= 1 brings x from 0 to where (x - 1)^2 is least, and holds it there."""
    ocp = Problem("level")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((x - 1) ** 2))

    def made(level):
        b = even(0, level, 3)
        cost = (1 - (1 - level) ** 3) / 3 + (3 - level) * (1 - level) ** 2

        def p(t):
            return (t - 1) ** 2 * -1 + (level - 1) ** 2

        return answer(
            cost,
            phase(
                b,
                {"x": arcs(b, [level], [lambda t: t, level])},
                {"u": arcs(b, [level], [1.0, 0.0])},
                {"x": arcs(b, [level], [p, 0.0])},
                integrals=cost,
            ),
        )

    return ocp, made(1.0), made(0.99)


@planted("controls", LEAST)
def discounted_effort_spent_evenly():
    """x from 0 to 1 with the least integral of exp(-2 t) u^2: u grows like exp(2 t)."""
    from casadi import exp

    ocp = Problem("discounted")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(exp(-2 * t) * u**2))
    k = 2 / (np.exp(2) - 1)
    right = answer(
        k**2 * (np.exp(2) - 1) / 2,
        phase(
            even(0, 1),
            {"x": lambda t: k / 2 * (np.exp(2 * t) - 1)},
            {"u": lambda t: k * np.exp(2 * t)},
            {"x": -2 * k},
            integrals=k**2 * (np.exp(2) - 1) / 2,
        ),
    )
    cost = (1 - np.exp(-2)) / 2
    wrong = answer(
        cost, phase(even(0, 1), {"x": lambda t: t}, {"u": 1.0}, {"x": -2 * k}, integrals=cost)
    )
    return ocp, right, wrong


@planted("motion", INTERVALS)
def one_component_of_a_vector():
    """Three directions as one vector each of places and speeds."""
    D = np.array([[1.0], [-2.0], [0.5]])

    def made(last):
        factor = np.array([[1.0], [1.0], [last]])
        return answer(
            float(12 * (D**2).sum()),
            phase(
                even(0, 1),
                {"r": lambda t: D * (3 * t**2 - 2 * t**3), "v": lambda t: 6 * D * t * (1 - t)},
                {"u": lambda t: factor * 6 * D * (1 - 2 * t)},
                {"r": lambda t: -24 * D + 0 * t, "v": lambda t: -12 * D * (1 - 2 * t)},
                integrals=float(12 * (D**2).sum()),
            ),
        )

    from casadi import dot

    ocp = Problem("vector")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    r, v = ph.state("r", 3, start=0, end=D.ravel()), ph.state("v", 3, start=0, end=0)
    u = ph.control("u", 3)
    ph.dynamics({r: v, v: u})
    ocp.minimize(ph.integral(dot(u, u)))
    return ocp, made(1.0), made(1.001)


@planted("controls", LEAST)
def steered_the_opposite_way():
    """The quickest way with a direction of unit length, an equation along the path; costates of the
    longest way.
    """
    ocp = Problem("direction")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 20))
    x, y = ph.state("x", start=0, end=3), ph.state("y", start=0, end=4)
    a, b = ph.control("a", lower=-2, upper=2), ph.control("b", lower=-2, upper=2)
    ph.dynamics({x: a, y: b})
    ph.path(a**2 + b**2, equals=1, name="unit")
    ocp.minimize(ph.final(t))
    right = answer(
        5.0,
        phase(
            even(0, 5),
            {"x": lambda t: 0.6 * t, "y": lambda t: 0.8 * t},
            {"a": 0.6, "b": 0.8},
            {"x": -0.6, "y": -0.8},
            path_multipliers={"unit": 0.5},
        ),
    )
    wrong = changed(right, costates={"x": 0.6, "y": 0.8}, path_multipliers={"unit": -0.5})
    return ocp, right, wrong


def bang_of_eight(late, count=8):
    """Eight carts of different mass reach their places at time two; each control switches at the
    middle.
    """
    ocp = Problem("eight carts")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, v = ph.state("x", count, start=0), ph.state("v", count, start=0, end=0)
    u = ph.control("u", count, lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    weights = np.arange(1.0, count + 1)
    from casadi import DM, dot

    ocp.maximize(dot(DM(weights), ph.final(x)))
    b = np.unique([*even(0, 1, 2, parts=4), 1 + late])
    columns = np.zeros(count)
    columns[5] = late

    def rows(of):
        return lambda t: np.array([of(t, 1 + s) for s in columns])

    def place(t, s):
        return np.where(t <= s, 0.5 * t**2, 0.5 * s**2 + s * (t - s) - 0.5 * (t - s) ** 2)

    def speed(t, s):
        return np.where(t <= s, t, 2 * s - t)

    def thrust(t, s):
        return np.where(t <= s, 1.0, -1.0)

    final = np.array([place(np.array([2.0]), 1 + s)[0] for s in columns])
    return ocp, answer(
        float(weights @ final),
        phase(
            b,
            {"x": rows(place), "v": rows(speed)},
            {"u": rows(thrust)},
            {
                "x": lambda t: -weights[:, None] + 0 * t,
                "v": lambda t: weights[:, None] * (t[None, :] - 1),
            },
        ),
    )


@planted("ends", BOUNDARY)
def one_of_eight_switches_late():
    """A thousandth late, the cart does not come to rest."""
    ocp, right = bang_of_eight(0.0)
    return ocp, right, bang_of_eight(1e-3)[1]


@planted("sizes", INTERVALS)
def megametres():
    """A transfer of 4e8 m in three days; the wrong thrust is a thousandth larger."""
    D, T = 4e8, 2.6e5

    def made(at):
        return answer(
            12 * D**2 / T**3,
            phase(
                even(0, T),
                {
                    "x": lambda t: 6.4e6 + D * (t / T) ** 2 * (3 - 2 * t / T),
                    "v": lambda t: 6 * D / T * (t / T) * (1 - t / T),
                },
                {"u": lambda t: at * 6 * D / T**2 * (1 - 2 * t / T)},
                {"x": -24 * D / T**3, "v": lambda t: -12 * D / T**2 * (1 - 2 * t / T)},
                integrals=12 * D**2 / T**3,
            ),
        )

    ocp = Problem("transfer")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x, v = ph.state("x", start=6.4e6, end=6.4e6 + D), ph.state("v", start=0, end=0)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    return ocp, made(1.0), made(1.001)


@planted("phases", BOUNDARY)
def kilometres_into_metres():
    """The second phase has metres where the first has kilometres; the wrong answer loses a metre at
    the change.
    """

    def made(lost):
        return answer(
            1.0 + 1e-6 * (1000 - lost) ** 2,
            phase(even(0, 1), {"x": lambda t: t}, {"u": 1.0}, {"x": -2.0}, name="a", integrals=1.0),
            phase(
                even(1, 2),
                {"y": lambda t: 1000 + lost + (1000 - lost) * (t - 1)},
                {"w": 1000.0 - lost},
                {"y": -2e-6 * (1000 - lost)},
                name="b",
                integrals=(1000.0 - lost) ** 2,
            ),
        )

    ocp = Problem("two units")
    a, b = ocp.phase("a"), ocp.phase("b")
    a.time(start=0, end=1)
    b.time(start=1, end=2)
    x, u = a.state("x", start=0, unit="km"), a.control("u", unit="km/h")
    y, w = b.state("y", end=2000, unit="m"), b.control("w", unit="m/h")
    a.dynamics({x: u})
    b.dynamics({y: w})
    ocp.require(b.initial(y) - 1000 * a.final(x), equals=0, name="same place")
    ocp.minimize(a.integral(u**2) + 1e-6 * b.integral(w**2))
    return ocp, made(0.0), made(1.0)


@planted("motion", INTERVALS)
def nothing_to_minimize():
    """A motion that only has to exist: any will do, but it must be one."""
    ocp = Problem("any motion")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0)
    u = ph.control("u", lower=-10, upper=10)
    ph.dynamics({x: v, v: u})
    ocp.minimize(0 * ph.final(x))

    def made(at):
        return answer(
            0.0,
            phase(
                even(0, 1),
                {"x": lambda t: t**2, "v": lambda t: 2 * t},
                {"u": at},
                {"x": 0.0, "v": 0.0},
            ),
        )

    return ocp, made(2.0), made(2.01)


@planted("arcs", COSTATES)
def touch_point_at_the_wrong_time():
    """Rest to rest under a ceiling that the motion touches once, in the middle; the wrong one
    touches it earlier.
    """
    limit, T = 0.2, 1.0

    ocp = Problem("touch")
    ph = ocp.phase()
    ph.time(start=0, end=T)
    x, v = ph.state("x", start=0, end=0, upper=limit), ph.state("v", start=1, end=-1)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(0.5 * ph.integral(u**2))

    def cubic(s, back):
        """x = c1 r + c2 r^2 + c3 r^3 with x(s) = limit, v(s) = 0, from x = 0, v = 1; mirrored for
        the way down.
        """
        c2 = (3 * limit - 2 * s) / s**2
        c3 = (s - 2 * limit) / s**3
        sign = -1.0 if back else 1.0

        def r(t):
            return T - t if back else t

        return (
            lambda t: r(t) + c2 * r(t) ** 2 + c3 * r(t) ** 3,
            lambda t: sign * (1 + 2 * c2 * r(t) + 3 * c3 * r(t) ** 2),
            lambda t: 2 * c2 + 6 * c3 * r(t),
            sign * 6 * c3,
            0.5 * (4 * c2**2 * s + 12 * c2 * c3 * s**2 + 12 * c3**2 * s**3),
        )

    def made(s):
        up, down = cubic(s, False), cubic(T - s, True)
        b = even(0, s, T, parts=5)
        cost = up[4] + down[4]
        return answer(
            cost,
            phase(
                b, {"x": arcs(b, [s], [up[0], down[0]]), "v": arcs(b, [s], [up[1], down[1]])},
                {"u": arcs(b, [s], [up[2], down[2]])},
                # u = -(costate of v), whose rate is minus the costate of x.
                {"x": arcs(b, [s], [up[3], down[3]]),
                 "v": arcs(b, [s], [lambda t: -up[2](t), lambda t: -down[2](t)])},
                integrals=2 * cost,
            ),
        )  # fmt: skip

    return ocp, made(0.5), made(0.45)


@planted("cost", "objective of the re-integrated motion")
def cost_of_one_phase_forgotten():
    ocp, right = step_up(1 / 7)
    return ocp, right, replace(right, objective=right.objective - ((1 - 1 / 7) / 2) ** 2)


@planted("limits", LIMITS)
def path_limit_of_a_static_variable_exceeded():
    """The strength s bounds the control: |u| <= s along the path, the least strength that brings x
    to one is one.
    """
    ocp = Problem("strength")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    s = ocp.variable("s", lower=0.1, upper=10)
    ph.dynamics({x: u})
    ph.path(u - s, upper=0, name="strength")
    ocp.minimize(s)

    def made(strength):
        return answer(
            strength,
            phase(even(0, 1), {"x": lambda t: t}, {"u": 1.0}, {"x": -1.0}),
            variables={"s": strength},
        )

    return ocp, made(1.0), made(0.999)
