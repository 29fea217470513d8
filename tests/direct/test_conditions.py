"""Conditions are told apart by their kind: a name that a user gives never changes the answer."""

import casadi
import pytest

from trajopt import Problem, Status, solve

NAMES = [
    "duration of phase 'main'",
    "x from 'main' to 'main'",
    "path constraint at the start",
    "dynamics of state 'x'",
    "budget",
]


def out_of_reach(name):
    """With |u| <= 1 one second takes from 0 to 1, not to 3."""
    ocp = Problem("reach")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.require(ph.final(x), equals=3, name=name)
    ocp.minimize(ph.integral(u**2))
    return ocp


@pytest.mark.parametrize("name", NAMES)
def test_names_like_the_solver_s_own_change_nothing(name):
    solution, plain = solve(out_of_reach(name)), solve(out_of_reach("plain"))
    assert solution.status is plain.status is Status.INFEASIBLE
    assert solution.objective == plain.objective
    assert [line.replace(name, "plain").replace('"', "'") for line in solution.explanation] == list(
        plain.explanation
    )


@pytest.mark.parametrize("symbols", [casadi.SX, casadi.MX])
def test_a_path_limit_may_be_a_static_variable_or_stand_beside_one_on_controls(symbols):
    """From a given start; a row of MX expressions keeps the symbols of its neighbours."""
    ocp = Problem("under a roof", symbols=symbols)
    roof = ocp.variable("roof", lower=0, upper=3, guess=1)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u", lower=-9, upper=9)
    ph.dynamics({x: u})
    ph.path(x <= roof)
    ph.path(x**2 <= 4)
    ph.path(u**2 + x <= 30)
    ocp.minimize(ph.integral(u**2) + 0.1 * roof)
    assert solve(ocp).check().objective == pytest.approx(1.1, rel=1e-6)
