"""Wrong answers for which the same hypotheses fail in other places, drawn with random parameters.

Switches beside jumps of data and the ends of phases; rounded controls and steps in algebraic
equations; kinks that meet, of algebraic equations, static variables and times; distant minima of
several controls; powers that act for a thousandth of the motion; distant roots; gains beside a term
of the cost that no motion changes.
"""

from __future__ import annotations

import casadi
import numpy as np
from scipy.integrate import quad

from trajopt import Problem, free

from .by_hand import answer, phase
from .hypotheses import KINKS, LIMITS, MINIMUM, VARIATION, drawn, either, straight
from .statements import arcs, even


def at_rest(T, names=("x",), inputs=("u",), parts=10):
    """An answer at zero."""
    zero = dict.fromkeys(names, 0.0)
    controls = dict.fromkeys(inputs, 0.0)
    return answer(0.0, phase(even(0, T, parts=parts), zero, controls, zero))


@drawn(2, "switches", VARIATION, "minimum", "minimum")
def switch_hidden_by_a_jump_of_data(rng):
    tau = rng.uniform(0.3, 0.7)
    a = 2 * tau - 1
    e = rng.uniform(0.1, 2)

    def make(k):
        ocp = Problem("data")
        ph = ocp.phase()
        t = ph.time(start=0, end=1)
        x, y = ph.state("x", start=0), ph.state("y", start=0)
        u = ph.control("u", lower=-1, upper=1)
        ph.dynamics({x: u, y: (t - tau) * u + e * casadi.if_else(t > tau, 1, 0)})
        ocp.minimize(ph.final(y) + k * (ph.final(x) - a) ** 2)
        b = even(0, tau, 1, parts=3)
        st = {
            "x": arcs(b, [tau], [lambda t: t, lambda t: 2 * tau - t]),
            "y": arcs(
                b,
                [tau],
                [
                    lambda t: 0.5 * t**2 - tau * t,
                    lambda t: -0.5 * tau**2 - 0.5 * (t - tau) ** 2 + e * (t - tau),
                ],
            ),
        }
        J = -0.5 * tau**2 - 0.5 * (1 - tau) ** 2 + e * (1 - tau)
        return ocp, answer(
            J, phase(b, st, {"u": arcs(b, [tau], [1.0, -1.0])}, {"x": 0.0, "y": 1.0})
        )

    return either(make, (rng.uniform(0, 3),), (-rng.uniform(0.5, 4),))


@drawn(2, "switches", VARIATION, "minimum", "minimum")
def switch_at_a_fixed_phase_boundary(rng):
    tau = rng.uniform(0.3, 0.7)
    a = 2 * tau - 1

    def make(k):
        ocp = Problem("boundary")
        A = ocp.phase("a")
        B = ocp.phase("b")
        t = A.time(start=0, end=tau)
        t2 = B.time(start=tau, end=1)
        xa, ya, ua = A.state("x", start=0), A.state("y", start=0), A.control("u", lower=-1, upper=1)
        xb, yb, ub = B.state("x"), B.state("y"), B.control("u", lower=-1, upper=1)
        A.dynamics({xa: ua, ya: (t - tau) * ua})
        B.dynamics({xb: ub, yb: (t2 - tau) * ub})
        ocp.require(A.final(xa) - B.initial(xb), lower=0, upper=0, name="lx")
        ocp.require(A.final(ya) - B.initial(yb), lower=0, upper=0, name="ly")
        ocp.minimize(B.final(yb) + k * (B.final(xb) - a) ** 2)
        J = -0.5 * tau**2 - 0.5 * (1 - tau) ** 2
        pa = phase(
            even(0, tau, parts=3),
            {"x": lambda t: t, "y": lambda t: 0.5 * t**2 - tau * t},
            {"u": 1.0},
            {"x": 0.0, "y": 1.0},
            name="a",
        )
        pb = phase(
            even(tau, 1, parts=3),
            {"x": lambda t: 2 * tau - t, "y": lambda t: -0.5 * tau**2 - 0.5 * (t - tau) ** 2},
            {"u": -1.0},
            {"x": 0.0, "y": 1.0},
            name="b",
        )
        return ocp, answer(J, pa, pb)

    return either(make, (rng.uniform(0, 3),), (-rng.uniform(0.5, 4),))


@drawn(2, "switches", VARIATION, "minimum", "minimum")
def slope_zero_at_the_end_of_the_phase(rng):
    def make(k):
        ocp = Problem("tail")
        ph = ocp.phase()
        t = ph.time(start=0, end=1)
        x, y, u = ph.state("x", start=0), ph.state("y", start=0), ph.control("u", lower=-1, upper=1)
        ph.dynamics({x: u, y: (t - 1) * u})
        ocp.minimize(ph.final(y) + k * (ph.final(x) - 1) ** 2)
        return ocp, answer(
            -0.5,
            phase(
                even(0, 1),
                {"x": lambda t: t, "y": lambda t: 0.5 * t**2 - t},
                {"u": 1.0},
                {"x": 0.0, "y": 1.0},
            ),
        )

    return either(make, (rng.uniform(0, 2),), (-rng.uniform(0.5, 3),))


@drawn(2, "controls", MINIMUM, "extremal", "extremal")
def rounding_of_a_control(rng):
    k, T, D = rng.uniform(0.3, 2), rng.uniform(0.5, 2), rng.uniform(0.5, 2)
    f = [casadi.floor, casadi.ceil][int(rng.integers(2))]

    def make(w):
        ocp = Problem("stairs")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, v = (
            ph.state("x", start=0, end=D),
            ph.control("u"),
            ph.control("w", lower=-1.5, upper=2.5),
        )
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - k * f(v)))
        J = D**2 / T - T * k * float(f(casadi.DM(w)))
        return ocp, answer(J, phase(*straight(D, T, {"w": w}), integrals=J))

    r, w = make(2.3), make(rng.uniform(0.2, 0.8))
    return r[0], r[1], w[1]


@drawn(2, "controls", MINIMUM, "extremal", "extremal")
def step_in_an_algebraic_equation(rng):
    k, T, D, a = rng.uniform(0.3, 2), rng.uniform(0.5, 2), rng.uniform(0.5, 2), rng.uniform(0.3, 1)

    def make(w):
        ocp = Problem("alg step")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, v, z = (
            ph.state("x", start=0, end=D),
            ph.control("u"),
            ph.control("w", lower=-2, upper=2),
            ph.algebraic("z"),
        )
        ph.dynamics({x: u})
        ph.require(z - casadi.if_else(v > a, -k, 0))
        ocp.minimize(ph.integral(u**2 + z))
        zz = -k if w > a else 0.0
        J = D**2 / T + T * zz
        return ocp, answer(J, phase(*straight(D, T, {"w": w}), algebraics={"z": zz}, integrals=J))

    r, w = make(a + 0.4), make(-0.5)
    return r[0], r[1], w[1]


@drawn(2, "controls", MINIMUM, "extremal", "extremal")
def remainder_of_a_control(rng):
    k, T, D = rng.uniform(0.3, 2), rng.uniform(0.5, 2), rng.uniform(0.5, 2)

    def make(w):
        ocp = Problem("mod")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, v = (
            ph.state("x", start=0, end=D),
            ph.control("u"),
            ph.control("w", lower=0, upper=1.5),
        )
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - k * casadi.fmod(v, 1.0) + 0.2 * k * v))
        J = D**2 / T - T * k * (w % 1.0 - 0.2 * w)
        return ocp, answer(J, phase(*straight(D, T, {"w": w}), integrals=J))

    r, w = make(0.9999999), make(1.5)
    return r[0], r[1], w[1]


@drawn(2, "kinks", KINKS, "extremal", "extremal")
def kinks_crossing_each_other(rng):
    k, T, th = rng.uniform(0.2, 2), rng.uniform(0.5, 3), rng.uniform(0, 2 * np.pi)
    c, s = np.cos(th), np.sin(th)

    def make(m):
        ocp = Problem("cross")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, y, u, w = (
            ph.state("x", start=0),
            ph.state("y", start=0),
            ph.control("u"),
            ph.control("w"),
        )
        ph.dynamics({x: u, y: w})
        X, Y = c * x + s * y, -s * x + c * y
        ocp.minimize(ph.integral(u**2 + w**2 + k * (3 * casadi.fabs(X) - m * casadi.fabs(X - Y))))
        return ocp, at_rest(T, ("x", "y"), ("u", "w"))

    return either(make, (-1.0,), (1.0,))


@drawn(2, "kinks", KINKS, "extremal", "extremal")
def concave_kink_in_an_algebraic_equation(rng):
    k, T = rng.uniform(0.2, 2), rng.uniform(0.5, 3)

    def make(s):
        ocp = Problem("alg kink")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, z = ph.state("x", start=0, end=0), ph.control("u"), ph.algebraic("z")
        ph.dynamics({x: u})
        ph.require(z - k * casadi.fabs(x))
        ocp.minimize(ph.integral(u**2 + s * z))
        return ocp, answer(
            0.0, phase(even(0, T), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}, algebraics={"z": 0.0})
        )

    return either(make, (1.0,), (-1.0,))


@drawn(2, "kinks", VARIATION, "minimum", "minimum")
def crossing_a_concave_kink(rng):
    D, T = rng.uniform(0.5, 2), rng.uniform(0.5, 2)

    def make(r):
        k = r * 4 * D / T**2  # l = u^2 - 2k|x-D/2|, refuted for r > 1
        ocp = Problem("crossing")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=D), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - 2 * k * casadi.fabs(x - D / 2)))
        h = T / 2
        v = D / T + k * T / 4
        b = even(0, h, T, parts=4)

        # after h: x'' = -k: x = D/2 + v s - k s^2/2 ; odd about the middle
        def g(s):
            return v * s - np.sign(s) * k * s**2 / 2

        def gu(s):
            return v - k * np.abs(s)

        J = (
            2
            * quad(
                lambda s: (v - k * s) ** 2 - 2 * k * abs(v * s - k * s * s / 2), 0, h, limit=200
            )[0]
        )
        return ocp, answer(
            J,
            phase(
                b,
                {"x": lambda t: D / 2 + g(t - h)},
                {"u": lambda t: gu(t - h)},
                {"x": lambda t: -2 * gu(t - h)},
                integrals=J,
            ),
        )

    return either(make, (0.0,), (rng.uniform(1.05, 1.7),))


@drawn(2, "kinks", VARIATION, "minimum", "extremal")
def curvature_of_one_side(rng):
    c, sg = rng.uniform(0.6, 2), rng.choice([-1, 1])

    def make(a):
        T = a / c
        ocp = Problem("half")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=0), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 - (c * casadi.fmax(float(sg) * x, 0)) ** 2))
        return ocp, at_rest(T)

    return either(make, (rng.uniform(2, 3),), (rng.uniform(3.3, 6),))


@drawn(2, "kinks", KINKS, "extremal", "extremal")
def kink_of_a_static(rng):
    k, T = rng.uniform(0.2, 2), rng.uniform(0.5, 2)

    def make(s):
        ocp = Problem("ks")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=0), ph.control("u")
        q = ocp.variable("q", lower=-1, upper=1)
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) + s * k * casadi.fabs(q))
        return ocp, answer(
            0.0, phase(even(0, T), {"x": 0.0}, {"u": 0.0}, {"x": 0.0}), variables={"q": 0.0}
        )

    return either(make, (1.0,), (-1.0,))


@drawn(2, "kinks", KINKS, "extremal", "extremal")
def kink_of_a_free_time(rng):
    k, D = rng.uniform(0.2, 2), rng.uniform(0.5, 2)

    def make(s):
        ocp = Problem("kt")
        ph = ocp.phase()
        t = ph.time(start=0, end=free(0.2 * D, 5 * D))
        x, u = ph.state("x", start=0, end=D), ph.control("u")
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2) + ph.final(t) + s * k * casadi.fabs(ph.final(t) - D))
        return ocp, answer(2 * D, phase(*straight(D, D, {}), integrals=D))

    return either(make, (1.0,), (-1.0,))


@drawn(2, "controls", MINIMUM, "extremal", "extremal")
def wells_along_a_diagonal(rng):
    L, e, T, D = (
        10 ** rng.uniform(1, 3),
        rng.uniform(0.02, 0.2),
        rng.uniform(0.5, 2),
        rng.uniform(0.5, 2),
    )
    well = np.polynomial.Polynomial([0, -e, 16, -32, 16])
    roots = np.sort(well.deriv().roots().real)

    def make(r):
        ocp = Problem("diagonal")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, a, b = (
            ph.state("x", start=0, end=D),
            ph.control("u"),
            ph.control("a"),
            ph.control("b"),
        )
        s = (a + b) / (2 * L)
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 + 16 * s**2 * (s - 1) ** 2 - e * s + 3 * (a - b) ** 2))
        J = D**2 / T + T * well(r)
        return ocp, answer(J, phase(*straight(D, T, {"a": r * L, "b": r * L}), integrals=J))

    r, w = make(roots[2]), make(roots[0])
    return r[0], r[1], w[1]


@drawn(2, "controls", MINIMUM, "extremal", "extremal")
def well_of_the_seventh_control(rng):
    L, e, T, D = (
        10 ** rng.uniform(1, 3),
        rng.uniform(0.02, 0.2),
        rng.uniform(0.5, 2),
        rng.uniform(0.5, 2),
    )
    well = np.polynomial.Polynomial([0, -e, 16, -32, 16])
    roots = np.sort(well.deriv().roots().real)
    names = ["a1", "a2", "a3", "a4", "a5", "w"]

    def make(r):
        ocp = Problem("seven")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=D), ph.control("u")
        more = [ph.control(n) for n in names]
        s = more[-1] / L
        ph.dynamics({x: u})
        ocp.minimize(
            ph.integral(
                u**2 + sum(m**2 + m**4 for m in more[:-1]) + 16 * s**2 * (s - 1) ** 2 - e * s
            )
        )
        J = D**2 / T + T * well(r)
        return ocp, answer(
            J, phase(*straight(D, T, {**dict.fromkeys(names[:-1], 0.0), "w": r * L}), integrals=J)
        )

    r, w = make(roots[2]), make(roots[0])
    return r[0], r[1], w[1]


@drawn(2, "controls", MINIMUM, "extremal", "extremal")
def narrow_pit_of_four_controls(rng):
    T, D, wd = rng.uniform(0.5, 2), rng.uniform(0.5, 2), rng.uniform(0.03, 0.06)
    at = rng.uniform(-0.8, 0.8, 4)

    def make(v):
        ocp = Problem("pit4")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=D), ph.control("u")
        c = [ph.control(f"w{i}", lower=-1, upper=1) for i in range(4)]
        ph.dynamics({x: u})
        r2 = sum((c[i] - at[i]) ** 2 for i in range(4))
        ocp.minimize(ph.integral(u**2 - casadi.exp(-r2 / wd**2)))
        J = D**2 / T - T * np.exp(-((v - at) ** 2).sum() / wd**2)
        return ocp, answer(
            J, phase(*straight(D, T, {f"w{i}": v[i] for i in range(4)}), integrals=J)
        )

    r, w = make(at), make(at - np.sign(at))
    return r[0], r[1], w[1]


@drawn(2, "windows", MINIMUM, "extremal", "minimum")
def brief_power_of_an_idle_control(rng):
    T, D, wd, at = (
        rng.uniform(0.5, 3),
        rng.uniform(0.5, 2),
        10 ** rng.uniform(-3.5, -2.8),
        rng.uniform(0.1, 0.9),
    )

    def make(on):
        ocp = Problem("idle")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, u, w = ph.state("x", start=0, end=D), ph.control("u"), ph.control("w", lower=-1, upper=1)
        bell = casadi.exp(-(((t / T - at) / wd) ** 2))
        ph.dynamics({x: u + on * 20 * D / T * w * bell})
        ocp.minimize(ph.integral(u**2 + 0.01 * (D / T) ** 2 * w**2))
        J = D**2 / T
        return ocp, answer(J, phase(*straight(D, T, {"w": 0.0}), integrals=J))

    return either(make, (0.0,), (1.0,))


@drawn(2, "windows", "costate equation", "extremal", "minimum")
def brief_effect_of_an_idle_state(rng):
    T, D, wd, at = (
        rng.uniform(0.5, 3),
        rng.uniform(0.5, 2),
        10 ** rng.uniform(-3.5, -2.8),
        rng.uniform(0.1, 0.9),
    )

    def make(on):
        ocp = Problem("idle state")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, y, u = ph.state("x", start=0, end=D), ph.state("y", start=free(-1, 1)), ph.control("u")
        bell = casadi.exp(-(((t / T - at) / wd) ** 2))
        ph.dynamics({x: u + on * 20 * D / T * y * bell, y: 0 * y})
        ocp.minimize(ph.integral(u**2 + 0.01 * (D / T) ** 2 * y**2))
        b, st, co, cs = straight(D, T, {})
        J = D**2 / T
        return ocp, answer(J, phase(b, {**st, "y": 0.0}, co, {**cs, "y": 0.0}, integrals=J))

    return either(make, (0.0,), (1.0,))


@drawn(2, "windows", MINIMUM, "extremal", "minimum")
def brief_concavity_of_a_control(rng):
    T, wd, at, m = (
        rng.uniform(0.5, 3),
        10 ** rng.uniform(-3.5, -2.8),
        rng.uniform(0.1, 0.9),
        rng.uniform(1.5, 3),
    )

    def make(m):
        ocp = Problem("legendre")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, u = ph.state("x", start=0, end=0), ph.control("u", lower=-2, upper=2)
        bell = casadi.exp(-(((t / T - at) / wd) ** 2))
        ph.dynamics({x: u})
        ocp.minimize(ph.integral(u**2 * (1 - m * bell)))
        return ocp, at_rest(T, parts=6)

    return either(make, (0.4,), (m,))


@drawn(2, "windows", LIMITS, "feasible", "extremal")
def slit_of_a_linear_table(rng):
    T, D = rng.uniform(0.5, 3), rng.uniform(0.5, 2)
    wd = 10 ** rng.uniform(-3.5, -2.8)

    def make(at):
        tab = casadi.interpolant(
            "tab", "linear", [[-9.0, at - wd, at, at + wd, 9.0]], [0.0, 0.0, 1.0, 0.0, 0.0]
        )
        ocp = Problem("slit")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, y, u, w = (
            ph.state("x", start=0, end=D),
            ph.state("y", start=0, end=0),
            ph.control("u"),
            ph.control("w"),
        )
        ph.dynamics({x: u, y: w})
        ph.path(y - 0.3 * tab(x / D) + 0.1, lower=0, name="post")
        ocp.minimize(ph.integral(u**2 + w**2))
        b, st, co, cs = straight(D, T, {})
        J = D**2 / T
        return ocp, answer(
            J, phase(b, {**st, "y": 0.0}, {**co, "w": 0.0}, {**cs, "y": 0.0}, integrals=J)
        )

    return either(make, (rng.uniform(1.2, 2),), (rng.uniform(0.1, 0.9),))


@drawn(2, "branches", MINIMUM, "extremal", "extremal")
def distant_root(rng):
    T, D, L = rng.uniform(0.5, 2), rng.uniform(0.5, 2), 10 ** rng.uniform(1.3, 3)

    def make(z0):
        ocp = Problem("far root")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, z = ph.state("x", start=0, end=D), ph.control("u"), ph.algebraic("z")
        ph.dynamics({x: u})
        ph.require((z - 1) * (z + L))
        ocp.minimize(ph.integral(u**2 + z))
        J = D**2 / T + T * z0
        return ocp, answer(J, phase(*straight(D, T, {}), algebraics={"z": z0}, integrals=J))

    r, w = make(-L), make(1.0)
    return r[0], r[1], w[1]


@drawn(2, "branches", MINIMUM, "extremal", "extremal")
def other_root_of_two(rng):
    T, D, a = rng.uniform(0.5, 2), rng.uniform(0.5, 2), rng.uniform(0.5, 2)

    def make(s):
        ocp = Problem("pair")
        ph = ocp.phase()
        ph.time(start=0, end=T)
        x, u, z, y = (
            ph.state("x", start=0, end=D),
            ph.control("u"),
            ph.algebraic("z"),
            ph.algebraic("y"),
        )
        ph.dynamics({x: u})
        ph.require(z + y)
        ph.require(z * y + a**2)
        ocp.minimize(ph.integral(u**2 + z))
        J = D**2 / T + T * s * a
        return ocp, answer(
            J, phase(*straight(D, T, {}), algebraics={"z": s * a, "y": -s * a}, integrals=J)
        )

    r, w = make(-1.0), make(1.0)
    return r[0], r[1], w[1]


@drawn(2, "masked", "transversality", "extremal", "minimum")
def masked_end(rng):
    T, D, K = rng.uniform(0.5, 2), rng.uniform(0.5, 2), 10 ** rng.uniform(5.5, 7)

    def make(r):
        ocp = Problem("masked end")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, y, u = ph.state("x", start=0), ph.state("y", start=0), ph.control("u")
        ph.dynamics({x: u, y: casadi.cos(t)})
        ocp.minimize(ph.integral(u**2 + K * y) + (ph.final(x) - D) ** 2)
        v = r * D / (1 + T)  # optimum r=1
        J = v * v * T + K * (1 - np.cos(T)) + (v * T - D) ** 2
        return ocp, answer(
            J,
            phase(
                even(0, T),
                {"x": lambda t: v * t, "y": np.sin},
                {"u": v},
                {"x": -2 * v, "y": lambda t: K * (T - t)},
                integrals=v * v * T + K * (1 - np.cos(T)),
            ),
        )

    r = make(1.0)
    return r[0], r[1], make(rng.uniform(0.2, 0.6))[1]


@drawn(2, "masked", "transversality", "extremal", "minimum")
def masked_static(rng):
    T, D, K = rng.uniform(0.5, 2), rng.uniform(0.5, 2), 10 ** rng.uniform(5.5, 7)

    def make(q):
        ocp = Problem("masked static")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, y, u = ph.state("x", start=0, end=D), ph.state("y", start=0), ph.control("u")
        s = ocp.variable("s", lower=-3, upper=3)
        ph.dynamics({x: u, y: casadi.cos(t)})
        ocp.minimize(ph.integral(u**2 + K * y) + (s - 1) ** 2)
        J0 = D * D / T + K * (1 - np.cos(T))
        b, st, co, cs = straight(D, T, {})
        return ocp, answer(
            J0 + (q - 1) ** 2,
            phase(b, {**st, "y": np.sin}, co, {**cs, "y": lambda t: K * (T - t)}, integrals=J0),
            variables={"s": q},
        )

    r = make(1.0)
    return r[0], r[1], make(rng.uniform(-1, 0.5))[1]


@drawn(2, "masked", "transversality", "extremal", "minimum")
def masked_condition(rng):
    T, D, K = rng.uniform(0.5, 2), rng.uniform(0.5, 2), 10 ** rng.uniform(5.5, 7)

    def make(r):
        v = r * D / T
        ocp = Problem("masked condition")
        ph = ocp.phase()
        t = ph.time(start=0, end=T)
        x, y, u = ph.state("x", start=0), ph.state("y", start=0), ph.control("u")
        ph.dynamics({x: u, y: casadi.cos(t)})
        ocp.require(ph.final(x), lower=D, name="far")
        ocp.minimize(ph.integral(u**2 + K * y))
        J = v * v * T + K * (1 - np.cos(T))
        return ocp, answer(
            J,
            phase(
                even(0, T),
                {"x": lambda t: v * t, "y": np.sin},
                {"u": v},
                {"x": -2 * v, "y": lambda t: K * (T - t)},
                integrals=J,
            ),
            multipliers={"far": -2 * v},
        )

    r = make(1.0)
    return r[0], r[1], make(rng.uniform(1.3, 2))[1]


@drawn(2, "masked", "transversality", "extremal", "minimum")
def masked_free_time(rng):
    D, K = rng.uniform(0.5, 2), 10 ** rng.uniform(5.5, 7)

    # a first phase of fixed length with the large cost; the second has a free time
    def make(r):
        T = r * D
        ocp = Problem("masked time")
        A = ocp.phase("a")
        B = ocp.phase("b")
        t = A.time(start=0, end=1)
        t2 = B.time(start=1, end=free(1.01, 20))
        y = A.state("y", start=0)
        A.dynamics({y: casadi.cos(t)})
        x, u = B.state("x", start=0, end=D), B.control("u")
        B.dynamics({x: u})
        ocp.minimize(A.integral(K * y) + B.integral(u**2) + B.final(t2))
        Ja = K * (1 - np.cos(1.0))
        Jb = D * D / T
        pa = phase(
            even(0, 1.0), {"y": np.sin}, {}, {"y": lambda t: K * (1 - t)}, name="a", integrals=Ja
        )
        pb = phase(
            even(1.0, 1.0 + T),
            {"x": lambda t: D / T * (t - 1)},
            {"u": D / T},
            {"x": -2 * D / T},
            name="b",
            integrals=Jb,
        )
        return ocp, answer(Ja + Jb + 1 + T, pa, pb)

    r = make(1.0)
    return r[0], r[1], make(rng.uniform(1.5, 3))[1]
