"""Several starts of a problem that nobody guessed: the cheapest first solution is refined."""

from dataclasses import replace

import numpy as np
import pytest
from casadi import cos, sin

from trajopt import Problem, solve
from trajopt.direct import refinement_loop
from trajopt.direct.collocation import Collocation
from trajopt.direct.known_convex import known_convex
from trajopt.direct.mesh_solution import PassKind
from trajopt.direct.other_starts import _expected

ALONE = Collocation(without=frozenset({"other starts"}))


def between_posts(guess=None):
    """A unicycle past two posts, above or below each of them: the line leads below both."""
    ocp = Problem("between posts")
    ph = ocp.phase()
    ph.time(start=0, end=9)
    x, y = ph.state("x", start=0, end=5, guess=guess), ph.state("y", start=0, end=0.5)
    a, s = ph.state("a", start=0), ph.state("s", start=0, end=0, lower=-2, upper=2)
    w, b = ph.control("w", lower=-1.5, upper=1.5), ph.control("b", lower=-1, upper=1)
    ph.dynamics({x: s * cos(a), y: s * sin(a), a: w, s: b})
    for at, side in ((1.6, 0.3), (3.5, 0.2)):
        ph.path((x - at) ** 2 + (y - side) ** 2, lower=0.25)
    ocp.minimize(ph.integral(w**2 + b**2))
    return ocp


def test_a_quick_first_solution_may_be_a_poor_optimum():
    """It takes less than 60 iterations, and costs three quarters more than the best."""
    alone, solution = solve(between_posts(), ALONE).check(), solve(between_posts()).check()
    assert alone.history[0].iterations < 60
    assert alone.objective > 1.7 * solution.objective
    assert solution.objective == pytest.approx(0.653722129, rel=1e-6)


def test_a_guess_chooses_the_optimum():
    """Nobody else is asked for one."""
    solution = solve(between_posts(guess=lambda tau: 5 * tau)).check()
    assert not any("other starts" in entry for entry in solution.log)


def test_a_start_that_costs_more_on_finer_meshes_gives_way_to_the_first(monkeypatch):
    """A solution of a coarse mesh may be cheap because it is wrong: here the local optimum has a
    first solution that claims to cost nothing.
    """
    ordinary = refinement_loop.refine

    def refine(state):
        dear = 10 * state.solution.result.f
        found = ordinary(state)
        if state.solution.kind is PassKind.VARIED:
            wrong = replace(found.solution, result=replace(found.solution.result, f=dear))
            found = found.with_best(wrong)
        return found

    monkeypatch.setattr(refinement_loop, "refine", refine)
    alone = solve(between_posts(), ALONE)
    assert solve(between_posts()).objective == pytest.approx(alone.objective, rel=1e-9)


def test_as_many_starts_are_tried_as_optima_are_expected():
    """Of one optimum that eight searches found, or of two that sixteen did, there is no other."""
    assert _expected(1, 1) == np.inf
    assert _expected(1, 7) >= 1.5 > _expected(1, 8)
    assert _expected(2, 16) >= 2.5 > _expected(2, 17)


@pytest.mark.parametrize(
    ("rate", "cost", "expected"),
    [
        (lambda x, u: u - x, lambda x, u: u**2 + x**2, True),
        (lambda x, u: u - x, lambda x, u: u**2 - x**2, False),
        (lambda x, u: u - x**2, lambda x, u: u**2, False),
        (lambda x, u: u - x, lambda x, u: (x**2 - 1) ** 2, False),
        (lambda x, u: u - x, lambda x, u: x, True),
    ],
)
def test_problems_that_are_known_to_be_convex(rate, cost, expected):
    ocp = Problem("one state")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=1), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: rate(x, u)})
    ocp.minimize(ph.integral(cost(x, u)))
    assert known_convex(ocp.finish(), np.zeros(0)) is expected
