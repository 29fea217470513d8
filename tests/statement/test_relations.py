"""Conditions stated as relations are those stated with limits."""

import casadi
import numpy as np
import pytest

from trajopt import Problem, solve
from trajopt.errors import ProblemError


def statement(relations, symbols=casadi.SX):
    """A path around two discs, periodic in its speed, with an algebraic variable."""
    ocp = Problem("around discs", symbols=symbols)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    r, v = ph.state("r", 2, start=[0, 0], end=[1, 1]), ph.state("v", 2)
    a, z = ph.control("a", 2), ph.algebraic("z")
    ph.dynamics({r: v, v: a})
    gaps = [casadi.sumsqr(r - casadi.DM(centre)) for centre in ([0.4, 0.6], [0.8, 0.6])]
    change = ph.final(v) - ph.initial(v)
    if relations:
        ph.path([gap >= 0.03 for gap in gaps])
        ph.path(v <= casadi.DM([4, 5]))
        ph.path(2 * v[0] >= -3 * v[1] - 10)
        ph.require(z == casadi.sumsqr(a))
        ocp.require(ph.final(v) == ph.initial(v))
        ocp.require(ph.final(v)[0] <= 3)
    else:
        ph.path(gaps, lower=0.03)
        ph.path(v, upper=[4, 5])
        ph.path(-3 * v[1] - 10 - 2 * v[0], upper=0)
        ph.require(z - casadi.sumsqr(a))
        ocp.require(change, equals=0)
        ocp.require(ph.final(v)[0], upper=3)
    ocp.minimize(ph.integral(z))
    return ocp


@pytest.mark.parametrize("symbols", [casadi.SX, casadi.MX])
def test_a_relation_is_an_expression_with_limits(symbols):
    ours, theirs = (statement(relations, symbols).finish() for relations in (True, False))
    for a, b in (
        (ours.phases[0].c_bound, theirs.phases[0].c_bound),
        (ours.b_bound, theirs.b_bound),
    ):
        np.testing.assert_array_equal(a.lower, b.lower)
        np.testing.assert_array_equal(a.upper, b.upper)


def test_a_problem_stated_by_relations_is_solved():
    ocp = Problem("rest to rest")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0), ph.state("v", start=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.require([ph.final(x) == 1, ph.final(v) == ph.initial(v)])
    ocp.minimize(ph.integral(u**2))
    assert solve(ocp).check().objective == pytest.approx(12, rel=1e-9)


def phase():
    ocp = Problem("p")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    return ocp, ph, x, u


def test_names_are_those_of_the_expressions():
    _, ph, x, u = phase()
    ph.path(x * u <= 1)
    ph.path(x >= -1, name="left")
    assert [condition.name for condition in ph.paths] == ["x*u", "left"]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda ocp, ph, x, u: ph.path(x <= 1, upper=2), "relation and has limits"),
        (lambda ocp, ph, x, u: ph.path([x <= 1, u]), "relations and expressions"),
        (lambda ocp, ph, x, u: ph.require(x <= 1), "is an inequality"),
        (lambda ocp, ph, x, u: ocp.require(ph.final(x)), "or a relation"),
        (lambda ocp, ph, x, u: ph.state("y", start=(0, 1)), r"free\(lower, upper\)"),
    ],
)
def test_wrong_relations_are_refused(state, message):
    with pytest.raises(ProblemError, match=message):
        state(*phase())


def test_a_constraint_among_the_equations_is_explained():
    ocp, ph, x, u = phase()
    ph.require(x == u)
    ocp.minimize(ph.integral(u**2))
    with pytest.raises(ProblemError, match=r"ph\.path"):
        ocp.finish()


def test_a_free_duration_given_as_a_pair_is_explained():
    with pytest.raises(ProblemError, match=r"free\(lower, upper\)"):
        Problem("p").phase().time(start=0, end=(1, 2))
