"""Conditions are told apart by their kind: a name that a user gives never changes the answer."""

import pytest

from trajopt import Problem, Status, solve

NAMES = ["duration of phase 'main'", "x from 'main' to 'main'", "path constraint at the start", "dynamics of state 'x'", "budget"]


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
    assert [line.replace(name, "plain").replace('"', "'") for line in solution.explanation] == list(plain.explanation)
