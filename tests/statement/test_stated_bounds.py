"""Boundary values, times and limits that are expressions in parameters, in both methods and the
certificate.
"""

import casadi
import numpy as np
import pytest

from trajopt import Problem, certify, free, solve
from trajopt.errors import ProblemError, UsageError
from trajopt.statement.stated_bounds import with_boundary


def move(symbols=casadi.SX):
    """From rest to rest over ``height`` in ``duration``, least integral of u^2; without limits 12
    height^2 / duration^3.
    """
    ocp = Problem("move", symbols=symbols)
    height, duration = ocp.parameter("height", 1.0), ocp.parameter("duration", 1.0)
    limit = ocp.parameter("limit", 10.0)
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    x, v = ph.state("x", start=0, end=height), ph.state("v", start=[0], end=[0.0], upper=50 + limit)
    u = ph.control("u", lower=-limit, upper=limit)
    ph.dynamics({x: v, v: u})
    ph.path(x, upper=10 * height, name="ceiling")
    ocp.minimize(ph.integral(u**2))
    return ocp


@pytest.mark.parametrize("symbols", [casadi.SX, casadi.MX])
def test_end_values_and_times_follow_their_parameters(symbols):
    problem = move(symbols)
    assert solve(problem).check().objective == pytest.approx(12, rel=1e-9)
    other = solve(problem, parameters={"height": 2.0, "duration": 2.0}).check()
    assert other.objective == pytest.approx(6, rel=1e-9)
    assert other["x"](2.0) == pytest.approx(2)
    assert solve(problem).objective == pytest.approx(12, rel=1e-9), (
        "values of one solve must not stay"
    )


def test_limits_by_parameters_agree_with_limits_by_numbers():
    def by_numbers(limit):
        ocp = Problem("numbers")
        ph = ocp.phase()
        ph.time(start=0, end=1)
        x, v, u = (
            ph.state("x", start=0, end=1),
            ph.state("v", start=0, end=0),
            ph.control("u", lower=-limit, upper=limit),
        )
        ph.dynamics({x: v, v: u})
        ocp.minimize(ph.integral(u**2))
        return ocp

    expected = solve(by_numbers(5.0)).check()
    found = solve(move(), "both", parameters={"limit": 5.0}).check()
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)
    assert found.objective > 12.05
    assert certify(found, move()).ok


def test_a_solution_is_certified_at_its_own_parameters():
    problem = move()
    assert (
        certify(solve(problem, parameters={"height": 2.0, "duration": 2.0}), problem).claim
        == "minimum"
    )


def test_free_values_between_expressions():
    ocp = Problem("reach")
    least = ocp.parameter("least", 2.0)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", 2, start=[0, None])
    y = ph.state("y", start=0, end=free(least, 3 * least))
    u = ph.control("u")
    ph.dynamics({x: casadi.vertcat(0 * u, 0), y: u})
    ocp.minimize(ph.integral(u**2))
    assert solve(ocp, parameters={"least": 3.0}).check().objective == pytest.approx(9, rel=1e-9)


def test_the_statement_is_printed_with_its_expressions():
    text = str(move())
    for part in (
        "t from 0 to duration s",
        "0 -> height",
        "|u| <= limit",
        "v <= ",
        "x <= 10*height",
    ):
        assert part in text


def test_components_without_a_value_stay_free():
    ocp = Problem("pair")
    here = ocp.parameter("here", 1.0)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", 2, start=[here, None], end=here)
    u = ph.control("u", 2)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(casadi.dot(u, u)))
    form = ocp.finish().at({"here": 4.0})
    np.testing.assert_array_equal(form.phases[0].x_start.lower, [4, -np.inf])
    np.testing.assert_array_equal(form.phases[0].x_end.upper, [4, 4])


def test_contradictions_at_given_values_are_errors():
    problem = move()
    with pytest.raises(UsageError, match="time ends before it starts"):
        solve(problem, parameters={"duration": -1.0})
    with pytest.raises(UsageError, match="bounds of 'u' in phase 'main' contradict"):
        solve(problem, parameters={"limit": -1.0})


def test_a_bound_that_depends_on_a_state_is_refused_by_name():
    ph = Problem("wrong").phase()
    ph.time(end=1)
    x = ph.state("x")
    with pytest.raises(
        ProblemError,
        match="start of state 'y': a bound must be a number or an expression in parameters",
    ):
        ph.state("y", start=x)


def test_boundary_values_change_after_the_statement():
    form = move().finish()
    changed = with_boundary(form.at(), {"x": 0.5}, {("main", "v"): 1.0}).phases[0]
    assert changed.x_start.lower[0] == changed.x_start.upper[0] == 0.5
    assert changed.x_end.lower[1] == changed.x_end.upper[1] == 1.0
    with pytest.raises(UsageError, match="has no such state"):
        with_boundary(form, {"w": 0.5})
    with pytest.raises(UsageError, match="contradict"):
        with_boundary(form.at(), {"v": 500.0})


def test_none_in_a_list_of_limits_leaves_its_component_free():
    ocp = Problem("partly")
    ph = ocp.phase()
    ph.state("r", size=2, lower=[None, 0], upper=[1, None])
    bound = ph.declared["r"].bound
    assert bound.lower.tolist() == [-np.inf, 0]
    assert bound.upper.tolist() == [1, np.inf]
