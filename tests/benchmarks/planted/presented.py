"""Answers of a modified problem, presented as answers of another one: everything fits together
except with the statement.
"""

from __future__ import annotations

from dataclasses import replace

import casadi
import numpy as np

from trajopt import Problem, free, solve
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import Solution

from .by_hand import planted


def solved(problem: Problem, **options) -> Solution:
    return solve(problem, **options).check()


def scaled(curve: Curve, factor: float = 1.0, offset: float = 0.0) -> Curve:
    return replace(curve, values=tuple(factor * v + offset for v in curve.values))


def edited(solution: Solution, name: str = "main", **groups) -> Solution:
    """A solution with some curves, or other fields, of a phase replaced."""
    ph = solution.phases[name]
    new = {
        key: {**getattr(ph, key), **value} if isinstance(value, dict) else value
        for key, value in groups.items()
    }
    return replace(solution, phases={**solution.phases, name: replace(ph, **new)})


# Several phases


def handover(at=None, kick=0.0):
    """Two models in turn; when one hands over to the other is free."""
    ocp = Problem("handover")
    a, b = ocp.phase("a"), ocp.phase("b")
    when = free(0.1, 2.9) if at is None else at
    ta, tb = a.time(start=0, end=when), b.time(start=when, end=3)
    xa, va, ua = a.state("x", start=0), a.state("v", start=0), a.control("u")
    xb, vb, ub = b.state("x", end=1), b.state("v", end=0), b.control("u")
    a.dynamics({xa: va, va: ua - 0.3 * va})
    b.dynamics({xb: vb, vb: ub - 0.1 * vb**2})
    ocp.connect(a, b, states=["x"])
    ocp.require(b.initial(vb) - a.final(va), equals=kick, name="kick")
    ocp.minimize(a.integral(ua**2) + b.integral(ub**2 * (2 + tb)) + 0.2 * (a.final(ta) - 1.5) ** 2)
    return ocp


@planted("ends", "transversality", reaches="minimum")
def handover_a_hundredth_too_early():
    right = solved(handover())
    return handover(), right, solved(handover(at=0.99 * right.phases["a"].tf))


@planted("ends", "boundary conditions", below="feasible", reaches="minimum")
def velocity_jumps_by_a_thousandth():
    return handover(), solved(handover()), solved(handover(kick=1e-3))


@planted("motion", "re-integration of intervals", below="feasible", reaches="minimum")
def phases_in_the_wrong_order():
    right = solved(handover())
    a, b = right.phases["a"], right.phases["b"]
    return (
        handover(),
        right,
        replace(right, phases={"a": replace(b, name="a"), "b": replace(a, name="b")}),
    )


@planted("motion", "re-integration of intervals", below="feasible", reaches="minimum")
def phase_given_twice():
    right = solved(handover())
    return (
        handover(),
        right,
        replace(right, phases={"a": right.phases["a"], "b": replace(right.phases["a"], name="b")}),
    )


@planted("costates", "sum of the defects of the costates", reaches="minimum")
def costate_of_one_phase_scaled():
    right = solved(handover())
    return (
        handover(),
        right,
        edited(right, "b", costates={"x": scaled(right.phases["b"].costates["x"], 1.01)}),
    )


@planted("ends", "boundary conditions", below="feasible", reaches="minimum")
def another_restitution():
    def bounce(restitution):
        ocp = Problem("bounce")
        a, b = ocp.phase("a"), ocp.phase("b")
        a.time(start=0, end=free(0.1, 3))
        b.time(start=free(0.1, 3), end=free(0.2, 5))
        ya = a.state("y", start=1, end=0)
        va = a.state("v", start=0)
        ua = a.control("u", lower=-3, upper=3)
        yb = b.state("y", start=0, end=1)
        vb = b.state("v", end=0)
        ub = b.control("u", lower=-3, upper=3)
        a.dynamics({ya: va, va: ua - 9.81})
        b.dynamics({yb: vb, vb: ub - 9.81})
        ocp.connect(a, b, states=["y"])
        ocp.require(b.initial(vb) + restitution * a.final(va), equals=0, name="restitution")
        ocp.minimize(a.integral(ua**2) + b.integral(ub**2))
        return ocp

    return bounce(0.8), solved(bounce(0.8)), solved(bounce(0.802))


# Static variables and integrals


@planted("statics", "transversality", reaches="minimum")
def one_of_three_static_variables_off():
    def chosen(gain=None):
        ocp = Problem("three static variables")
        ph = ocp.phase()
        ph.time(start=0, end=2)
        x, u = ph.state("x", start=1), ph.control("u")
        limits = [np.zeros(3), np.full(3, 4.0)]
        if gain is not None:
            limits[0][1] = limits[1][1] = gain
        k = ocp.variable("k", 3, lower=limits[0], upper=limits[1], guess=1)
        ph.dynamics({x: -k[0] * x + u * k[1] - 0.2 * k[2] * x**3})
        ocp.minimize(ph.integral(x**2 + 0.3 * u**2) + 0.1 * casadi.sumsqr(k - 0.5))
        return ocp

    right = solved(chosen())
    return chosen(), right, solved(chosen(1.02 * float(right.variables["k"][1])))


@planted("statics", "transversality")
def largest_control_a_hundredth_too_large():
    def least_peak(peak=None):
        ocp = Problem("least peak")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0.5)
        u = ph.control("u", lower=-20, upper=20)
        peak = ocp.variable("peak", lower=peak or 0, upper=peak or 100, guess=10)
        ph.dynamics({x: v, v: u})
        ph.path(u - peak, upper=0)
        ph.path(-u - peak, upper=0)
        ocp.minimize(peak)
        return ocp

    right = solved(least_peak())
    return least_peak(), right, solved(least_peak(1.01 * right.objective))


@planted("cost", "integrals of the file", below="feasible", reaches="minimum")
def longer_chain_with_the_integral_of_the_right_one():
    def chain(length):
        ocp = Problem("chain")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        y, u = ph.state("y", start=0, end=0), ph.control("u")
        ph.dynamics({y: u})
        ocp.require(ph.integral(casadi.sqrt(1 + u**2)), equals=length, name="length")
        ocp.maximize(ph.integral(y))
        return ocp

    right = solved(chain(1.3))
    return chain(1.3), right, edited(solved(chain(1.301)), integrals=right.phases["main"].integrals)


# Times


@planted("ends", "transversality", reaches="minimum")
def departure_too_late():
    def launch(start=None):
        ocp = Problem("departure")
        ph = ocp.phase()
        t = ph.time(start=free(0, 5) if start is None else start, end=6)
        x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0), ph.control("u")
        ph.dynamics({x: v, v: u + 0.4 * casadi.sin(2 * t)})
        ocp.minimize(ph.integral(u**2 + 0.05))
        return ocp

    right = solved(launch())
    return launch(), right, solved(launch(right.phases["main"].t0 + 0.02))


@planted("ends", "transversality", reaches="minimum")
def periodic_motion_from_another_start():
    def periodic(start=None):
        ocp = Problem("periodic")
        ph = ocp.phase()
        t = ph.time(start=0, end=2 * np.pi)
        x = ph.state("x", start=free(-10, 10) if start is None else start)
        v = ph.state("v")
        u = ph.control("u")
        ph.dynamics({x: v, v: -2 * x - 0.2 * v + u + casadi.cos(t)})
        ocp.require(ph.final(x) - ph.initial(x), equals=0)
        ocp.require(ph.final(v) - ph.initial(v), equals=0)
        ocp.minimize(ph.integral(u**2 + (x - 0.5) ** 2))
        return ocp

    right = solved(periodic())
    return periodic(), right, solved(periodic(float(right["x"](0.0)) + 0.02))


# Cost and models


@planted("cost", "minimum of H", reaches="minimum")
def large_constant_in_the_integrand():
    """Over a given time a constant part of the integrand is no part of what can be gained."""

    def moved(growth):
        ocp = Problem("large constant")
        ph = ocp.phase()
        t = ph.time(start=0, end=1)
        x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
        ph.dynamics({x: v, v: u})
        ocp.minimize(ph.integral(u**2 * (1 + growth * t) + 1e7))
        return ocp

    wrong = solved(moved(1.0))
    nodes, weights = np.polynomial.legendre.leggauss(60)
    cost = float((wrong["u"](0.5 * (nodes + 1)) ** 2) @ weights / 2)
    return (
        moved(0.0),
        solved(moved(0.0)),
        replace(edited(wrong, integrals=np.zeros(0)), objective=1e7 + cost),
    )


@planted("motion", "re-integration of intervals", below="feasible", reaches="minimum")
def another_table():
    def windy(factor):
        at = np.linspace(-1, 3, 41)
        wind = casadi.interpolant("wind", "bspline", [at], factor * (0.5 + 0.3 * np.sin(2 * at)))
        ocp = Problem("wind from a table", symbols=casadi.MX)
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
        u = ph.control("u", lower=-12, upper=12)
        ph.dynamics({x: v, v: u - wind(x) * v})
        ocp.minimize(ph.integral(u**2))
        return ocp

    return windy(1.0), solved(windy(1.0)), solved(windy(1.001))


@planted("motion", "re-integration of intervals", below="feasible", reaches="minimum")
def growth_rate_a_ten_thousandth_off():
    def unstable(rate):
        ocp = Problem("growth")
        ph = ocp.phase()
        ph.time(start=0, end=2)
        x, u = ph.state("x", start=1, end=0), ph.control("u")
        ph.dynamics({x: rate * x + u})
        ocp.minimize(ph.integral(u**2))
        return ocp

    return unstable(9.0), solved(unstable(9.0)), solved(unstable(9.0009))


@planted("ends", "boundary conditions", below="feasible", reaches="minimum")
def a_centimetre_short_of_a_hundred_metres():
    """At six thousand kilometres from the centre."""

    def rise(height):
        ocp = Problem("rise")
        ph = ocp.phase()
        ph.time(start=0, end=10)
        r = ph.state("r", start=6.4e6, end=6.4e6 + height, lower=6.4e6)
        v = ph.state("v", start=0, end=0)
        u = ph.control("a")
        ph.dynamics({r: v, v: u - 9.81 * (6.4e6 / r) ** 2 + 9.81})
        ocp.minimize(ph.integral(u**2))
        return ocp

    return rise(100.0), solved(rise(100.0)), solved(rise(99.99))


# Limits


def shared_effort(power=1.0, share=None):
    """Two controls on a circle of grip; one of them limited by power as well."""
    ocp = Problem("power and grip")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 10))
    x, v = ph.state("x", start=0, end=5), ph.state("v", start=0.5, lower=0.1)
    u = ph.control("u", 2, lower=0, upper=3)
    ph.dynamics({x: v, v: u[0] + u[1] - 0.1 * v**2})
    ph.path(u[0] * v, upper=power, name="power")
    ph.path(casadi.sumsqr(u), upper=4, name="grip")
    if share is not None:
        ph.path(u[0] - share * u[1], equals=0, name="share")
    ocp.minimize(ph.final(t) + 0.01 * ph.integral(casadi.sumsqr(u)))
    return ocp


@planted("limits", "complementarity", reaches="minimum")
def less_power_than_there_is():
    return shared_effort(), solved(shared_effort()), solved(shared_effort(power=0.995))


@planted("controls", "minimum of H", reaches="minimum")
def two_controls_in_a_fixed_ratio():
    wrong = solved(shared_effort(share=0.5))
    ph = wrong.phases["main"]
    kept = {name: curve for name, curve in ph.path_multipliers.items() if name != "share"}
    return (
        shared_effort(),
        solved(shared_effort()),
        replace(wrong, phases={"main": replace(ph, path_multipliers=kept)}),
    )


def height_by_an_equation(limit):
    """z = 1 + x + x^2 / 10: its bound is a limit of the state."""
    ocp = Problem("height by an equation")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=0), ph.state("v", start=1, end=-1)
    u, z = ph.control("u"), ph.algebraic("z", lower=-5, upper=limit, guess=0)
    ph.dynamics({x: v, v: u})
    ph.require(z - x - 0.1 * x**2 - 1)
    ocp.minimize(ph.integral(u**2))
    return ocp


@planted("arcs", "costate equation")
def inside_the_bound_of_an_algebraic_variable():
    right = solved(height_by_an_equation(1.15), tolerance=1e-8)
    return height_by_an_equation(1.15), right, solved(height_by_an_equation(1.14), tolerance=1e-8)


@planted("limits", "bounds and path constraints", below="feasible")
def beyond_the_bound_of_an_algebraic_variable():
    right = solved(height_by_an_equation(1.15), tolerance=1e-8)
    return height_by_an_equation(1.15), right, solved(height_by_an_equation(1.151), tolerance=1e-8)


@planted("arcs", "complementarity")
def epidemic_below_the_limit_of_its_hospitals():
    """The arc lasts to the end."""

    def epidemic(limit):
        ocp = Problem("epidemic")
        ph = ocp.phase()
        ph.time(start=0, end=60)
        susceptible = ph.state("S", start=0.99, lower=0)
        infected = ph.state("I", start=0.01, lower=0, upper=limit)
        u = ph.control("u", lower=0, upper=0.8)
        new = 0.3 * (1 - u) * susceptible * infected
        ph.dynamics({susceptible: -new, infected: new - 0.1 * infected})
        ocp.minimize(ph.integral(u**2))
        return ocp

    return epidemic(0.1), solved(epidemic(0.1)), solved(epidemic(0.09999))


# Second order


@planted("conjugate", "second variation", below="minimum", reaches="minimum")
def straight_over_the_hill():
    """A saddle by symmetry: on either side of the hill the way is cheaper."""

    def across(both):
        ocp = Problem("hill")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, u = ph.state("x", start=-1, end=1), ph.control("u", 2 if both else 1)
        y = ph.state("y", start=0, end=0) if both else 0
        ph.dynamics({x: u[0], y: u[1]} if both else {x: u})
        ocp.minimize(ph.integral(casadi.sumsqr(u) + 24 * casadi.exp(-4 * (x**2 + y**2))))
        return ocp

    straight = solved(across(False))
    ph = straight.phases["main"]
    zero = scaled(ph.states["x"], 0.0)
    u = replace(
        ph.controls["u"], values=tuple(np.hstack([v, 0 * v]) for v in ph.controls["u"].values)
    )
    return (
        across(True),
        solved(across(True)),
        edited(straight, states={"y": zero}, controls={"u": u}, costates={"y": zero}),
    )


@planted("conjugate", "second variation", below="minimum", reaches="minimum")
def static_variable_at_a_maximum():
    """Everything is zero: a minimum for one sign of the curvature, a maximum for the other."""

    def shifted(curvature):
        ocp = Problem("static at rest")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x = ph.state("x", start=0)
        u = ph.control("u")
        s = ocp.variable("s", lower=-1, upper=1, guess=0)
        ph.dynamics({x: u + s})
        ocp.minimize(ph.integral(u**2 + x**2) + curvature * s**2 + 0.1 * s**4)
        return ocp

    at_rest = solved(shifted(1.0))
    return shifted(1.0), at_rest, at_rest, shifted(-1.0)
