"""The statement: its normal form, and error messages in the user's names."""

import casadi
import numpy as np
import pytest

from trajopt import certify, solve
from trajopt.errors import ProblemError, UsageError
from trajopt.statement.bounds import free
from trajopt.statement.problem import Problem


def base(**changes):
    """A correct problem whose parts a test spoils: (problem, phase, t, x, v, u)."""
    ocp = Problem("base")
    ph = ocp.phase()
    t = ph.time(**{"start": 0, "end": 1, **changes.get("time", {})})
    x = ph.state("x", **{"start": 0, "end": 1, **changes.get("x", {})})
    v = ph.state("v", start=0, end=0)
    u = ph.control("u", **changes.get("u", {}))
    return ocp, ph, t, x, v, u


def finished(dynamics=True, **changes):
    ocp, ph, _t, x, v, u = base(**changes)
    if dynamics:
        ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    return ocp.finish()


def wrong(spoil):
    ocp, ph, t, x, v, u = base()
    spoil(ocp, ph, t, x, v, u)
    ocp.finish()


def other_problem():
    return Problem("other").phase().state("stranger")


# what is wrong -> (statement, words that the message must have)
WRONG = {
    "no phase": (lambda: Problem("empty").finish(), ["empty", "no phase"]),
    "no time": (lambda: Problem("p").phase("flight")._problem.finish(), ["flight", "no time"]),
    "state without dynamics": (
        lambda: wrong(lambda o, p, t, x, v, u: p.dynamics({x: u})),
        ["'v'", "no dynamics"],
    ),
    "dynamics of a control": (
        lambda: wrong(lambda o, p, t, x, v, u: p.dynamics({u: x})),
        ["'u'", "not a state"],
    ),
    "dynamics twice": (
        lambda: wrong(lambda o, p, t, x, v, u: (p.dynamics({x: v}), p.dynamics({x: u}))),
        ["'x'", "twice"],
    ),
    "dynamics of wrong size": (
        lambda: wrong(lambda o, p, t, x, v, u: p.dynamics({x: [v, u]})),
        ["'x'", "wrong size"],
    ),
    "unused control": (
        lambda: wrong(lambda o, p, t, x, v, u: p.dynamics({x: v, v: -x})),
        ["'u'", "not used"],
    ),
    "lower above upper bound": (
        lambda: base(u={"lower": 1, "upper": 0}),
        ["'u'", "lower bound exceeds"],
    ),
    "bound against start": (lambda: finished(x={"lower": 0.5}), ["start", "'x'", "contradicts"]),
    "bound against end": (lambda: finished(x={"upper": 0.5}), ["end", "'x'", "contradicts"]),
    "time backwards": (lambda: finished(time={"start": 2}), ["main", "time"]),
    "another kind of symbols": (
        lambda: wrong(lambda o, p, *_: p.path([casadi.MX.sym("a"), 1], upper=0)),
        ["symbols=casadi.MX"],
    ),
    "time ends before it starts": (
        lambda: finished(time={"start": free(2, 3), "end": 1}),
        ["main", "ends before"],
    ),
    "negative duration": (lambda: finished(time={"end": free(-1, 1)}), ["main", "negative"]),
    "bound that is NaN": (lambda: base(u={"lower": float("nan")}), ["'u'", "not a number"]),
    "bound that is a variable": (
        lambda: wrong(lambda o, p, t, x, v, u: p.state("w", upper=x)),
        ["'w'", "a number"],
    ),
    "bounds of wrong size": (
        lambda: wrong(lambda o, p, t, x, v, u: p.state("w", 3, lower=[0, 0])),
        ["'w'", "number of values"],
    ),
    "name twice": (lambda: wrong(lambda o, p, t, x, v, u: p.control("x")), ["'x'", "twice"]),
    "phase twice": (
        lambda: wrong(lambda o, p, t, x, v, u: o.phase("main")),
        ["main", "already exists"],
    ),
    "path without limits": (
        lambda: wrong(lambda o, p, t, x, v, u: p.path(x * v, name="wall")),
        ["wall", "no limits"],
    ),
    "equals and limits": (
        lambda: wrong(lambda o, p, t, x, v, u: p.path(x, equals=1, upper=2, name="wall")),
        ["wall", "equals"],
    ),
    "objective twice": (
        lambda: wrong(lambda o, p, t, x, v, u: (o.minimize(p.final(x)), o.maximize(p.final(v)))),
        ["twice"],
    ),
    "objective with a bare state": (
        lambda: wrong(lambda o, p, t, x, v, u: (p.dynamics({x: v, v: u}), o.minimize(x**2))),
        ["objective", "'x'", "ph.final"],
    ),
    "symbol of another problem": (
        lambda: wrong(lambda o, p, t, x, v, u: p.dynamics({x: v, v: u + other_problem()})),
        ["stranger", "'v'"],
    ),
    "violated constant condition": (
        lambda: wrong(
            lambda o, p, t, x, v, u: (
                p.dynamics({x: v, v: u}),
                o.require(casadi.SX(1), equals=2, name="one is two"),
            )
        ),
        ["one is two", "violated"],
    ),
    "algebraic variable without equation": (
        lambda: wrong(lambda o, p, t, x, v, u: (p.algebraic("z"), p.dynamics({x: v, v: u}))),
        ["algebraic", "1 variables, 0 equations"],
    ),
    "parameter that is infinite": (
        lambda: wrong(lambda o, p, t, x, v, u: o.parameter("mass", np.inf)),
        ["mass", "finite"],
    ),
    "scale of zero": (
        lambda: wrong(
            lambda o, p, t, x, v, u: (
                p.state("w", scale=0),
                p.dynamics({x: v, v: u, p.declared["w"].symbol: u}),
            )
        ),
        ["scale", "'w'"],
    ),
    "number that is not finite in the model": (
        lambda: wrong(lambda o, p, t, x, v, u: p.dynamics({x: v, v: float("nan")})),
        ["'v'", "not finite"],
    ),
    "connecting a state that only one phase has": (
        lambda: wrong(lambda o, p, t, x, v, u: o.connect(p, o.phase("next"), states=["x"])),
        ["'x'", "next"],
    ),
    "invariant of order 3": (
        lambda: wrong(lambda o, p, t, x, v, u: p.invariant("loop", x, order=3)),
        ["loop", "order"],
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_invalid_statement_names_its_error(what):
    statement, words = WRONG[what]
    with pytest.raises(ProblemError) as caught:
        statement()
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_at_least_twenty_errors_are_covered():
    assert len(WRONG) >= 20


def test_a_finished_problem_is_frozen():
    ocp, ph, _t, x, v, u = base()
    ph.dynamics({x: v, v: u})
    form = ocp.finish()
    assert ocp.finish() is form
    for change in (
        lambda: ph.control("w"),
        lambda: ocp.minimize(ph.final(x)),
        lambda: ph.path(x, upper=2),
    ):
        with pytest.raises(ProblemError, match="finished"):
            change()


def two_phases(symbols=casadi.SX):
    ocp = Problem("two", symbols)
    mass = ocp.parameter("mass", 2.0, unit="kg")
    s = ocp.variable("s", lower=0, upper=5, guess=1)
    parts = []
    for name in ("stance", "flight"):
        ph = ocp.phase(name)
        ph.time(end=free(0.1, 3) if name == "flight" else 1.0)
        q = ph.state("q", 2, start=[0, np.nan] if name == "stance" else None, unit="m")
        w = ph.state("w", lower=-1)
        z = ph.algebraic("z")
        u = ph.control("u", lower=-1, upper=1)
        ph.dynamics({q: casadi.vertcat(w, u / mass), w: q[0] * u - s})
        ph.require(z - q[1] ** 2)
        ph.path(q[0] + z, upper=4, name="wall")
        parts.append((ph, q, w, u))
    (a, _, wa, _), (b, qb, wb, ub) = parts
    ocp.connect(a, b, states=["q"])
    ocp.require(b.initial(wb) + 0.5 * a.final(wa), equals=0, name="bounce")
    ocp.maximize(b.final(qb[0]) - b.integral(ub**2) * mass)
    return ocp


def test_normal_form_evaluates_to_the_written_mathematics():
    form = two_phases().finish()
    stance = form.phases[0]
    f = casadi.Function(
        "f",
        [stance.t, stance.x, stance.z, stance.u, form.s, form.p],
        [stance.f, stance.g, stance.c],
    )
    rates, residual, wall = f(0.3, [1.0, 2.0, 3.0], [5.0], [0.5], [0.25], [2.0])
    np.testing.assert_allclose(rates.full().ravel(), [3.0, 0.25, 1.0 * 0.5 - 0.25], atol=1e-15)
    assert float(residual) == 5.0 - 4.0
    assert float(wall) == 1.0 + 5.0
    assert form.sense == -1
    assert stance.x_names == ("q[0]", "q[1]", "w")


def test_symbols_of_both_kinds_give_the_same_normal_form():
    values = []
    for kind in (casadi.SX, casadi.MX):
        form = two_phases(kind).finish()
        ends = casadi.vertcat(*[ph.ends.column for ph in form.phases])
        b = casadi.Function("b", [ends, form.s, form.p], [form.b, form.phi])
        column = np.linspace(-1, 1, ends.numel())
        values.append([np.asarray(v.full()).ravel() for v in b(column, [0.5], [2.0])])
        assert form.b_names[-2:] == two_phases(kind).finish().b_names[-2:]
    for one, other in zip(*values, strict=True):
        np.testing.assert_array_equal(one, other)


def test_links_names_and_bounds():
    form = two_phases().finish()
    assert any("q from 'stance' to 'flight'" in name for name in form.b_names)
    assert "bounce" in form.b_names
    assert any(name.startswith("t from") for name in form.b_names)
    start = form.phases[0].states[0].start
    np.testing.assert_array_equal(start.fixed, [True, False])  # NaN leaves a component open


def test_parameters_change_by_name():
    form = two_phases().finish()
    np.testing.assert_array_equal(form.parameter_values({"mass": 7}), [7.0])
    np.testing.assert_array_equal(form.parameter_values(), [2.0])
    with pytest.raises(UsageError, match="mas") as caught:
        form.parameter_values({"mas": 7})
    assert "did you mean 'mass'" in str(caught.value)
    with pytest.raises(UsageError, match="wrong size"):
        form.parameter_values({"mass": [1.0, 2.0]})


def test_the_statement_prints_in_the_users_names():
    text = str(two_phases())
    for words in (
        "maximize",
        "phase 'stance'",
        "q [m]",
        "parameter mass = 2 [kg]",
        "path 'wall'",
        "condition 'bounce'",
        "continuous from",
    ):
        assert words in text


@pytest.mark.parametrize("symbols", [casadi.SX, casadi.MX], ids=["SX", "MX"])
def test_components_of_an_endpoint_value_may_be_assigned_to(symbols):
    ocp = Problem("turned", symbols)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    q, u = ph.state("q", 2), ph.control("u", 2)
    ph.dynamics({q: u})
    turned = ph.final(q)
    turned[1] = 7.0
    ocp.minimize(casadi.sum1(ph.final(q)) + 0.1 * casadi.sum1(turned))
    form = ocp.finish()
    cost = casadi.Function("cost", [form.phases[0].ends.xf], [form.phi])
    assert float(cost([1.0, 2.0])) == pytest.approx(3.0 + 0.1 * 8.0)


def staged(dropped, states=None):
    """Two rockets of equal thrust, the second lighter by what is dropped in between."""
    ocp = Problem("staging")
    lost = ocp.parameter("lost", dropped)
    first, second = ocp.phase("first"), ocp.phase("second")
    masses, ends = [], []
    for ph, times, start in (
        (first, {"start": 0, "end": 1}, 0),
        (second, {"start": 1, "end": 2}, None),
    ):
        ph.time(**times)
        x, v = ph.state("x", start=start), ph.state("v", start=start)
        m = ph.state("m", start=10 if ph is first else None, lower=1)
        u = ph.control("u", lower=0, upper=2)
        ph.dynamics({x: v, v: u / m, m: -u})
        masses.append(m)
        ends.append(ph.final(x))
    ocp.connect(first, second, states, jump={masses[0]: -lost})
    ocp.maximize(ends[1])
    return ocp


@pytest.mark.parametrize("states", [None, ["x", "v"]])
def test_states_may_jump_between_phases(states):
    solution = solve(staged(3.0, states)).check()
    first, second = solution.phases["first"], solution.phases["second"]
    assert second["m"](1.0) - first["m"](1.0) == pytest.approx(-3, abs=1e-9)
    assert second["v"](1.0) == pytest.approx(first["v"](1.0), abs=1e-9)
    assert second.costates["m"](1.0) == pytest.approx(first.costates["m"](1.0), rel=1e-5)
    assert certify(solution).claim in ("extremal", "minimum")
    lighter = solution.sensitivity("lost")
    assert lighter.objective > 0  # what is dropped earlier is not accelerated
    text = str(staged(3.0))
    assert "continuous from 'first' to 'second': x, v, t" in text
    assert "m changes from 'first' to 'second' by -lost" in text


def test_a_jump_may_use_final_values_and_is_checked():
    ocp = Problem("bounce")
    down, up = ocp.phase("down"), ocp.phase("up")
    down.time(start=0, end=free(0.1, 2))
    up.time(end=free(0.2, 5))
    speeds = []
    for ph, place in ((down, {"start": 1, "end": 0}), (up, {"end": 0.3})):
        y, v = ph.state("y", **place), ph.state("v", start=0 if ph is down else None)
        u = ph.control("u", lower=-1, upper=1)
        ph.dynamics({y: v, v: -9.81 + u})
        speeds.append(v)
        cost = ph.integral(u**2)
    with pytest.raises(ProblemError, match="values inside a phase"):
        ocp.connect(down, up, jump={"v": speeds[0]})
    with pytest.raises(ProblemError, match="is not in both phases"):
        ocp.connect(down, up, jump={"w": 1})
    ocp.connect(down, up, jump={"v": -1.8 * down.final(speeds[0])})
    ocp.minimize(cost)
    solution = solve(ocp).check()
    before, after = solution["down", "v"], solution["up", "v"]
    assert after(after.breaks[0]) == pytest.approx(-0.8 * before(before.breaks[-1]), rel=1e-6)


def test_none_is_no_bound_of_a_free_value():
    assert free(0, None) == free(0)
    assert free(None, 3) == free(upper=3)
