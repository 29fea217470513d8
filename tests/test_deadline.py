"""The time limit: every loop and backend stops, and the best solution so far is returned with its
status.
"""

import time
from types import SimpleNamespace

import numpy as np
import pytest

import trajopt.deadline
import trajopt.indirect.shooting
from trajopt import Status, solve
from trajopt.catalogue import builder
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.errors import UsageError
from trajopt.indirect.hamiltonian import phase_hamiltonians


@pytest.fixture
def clock(monkeypatch):
    """A clock for deadlines that can be moved: ``clock.late`` seconds are added to the time."""
    moved = SimpleNamespace(late=0.0)
    monkeypatch.setattr(
        trajopt.deadline,
        "time",
        SimpleNamespace(perf_counter=lambda: time.perf_counter() + moved.late),
    )
    return moved


def test_the_earlier_of_two_deadlines_applies():
    now = time.perf_counter()
    early, late = Deadline(1.0, now), Deadline(5.0, now)
    assert early.sooner(late) is late.sooner(early) is early
    assert UNLIMITED.sooner(late) is late
    assert 0.0 < late.remaining <= 5.0
    assert Deadline(1.0, now - 2.0).over
    assert Deadline(1.0, now - 2.0).remaining == 0.0


def test_the_solution_of_the_last_complete_mesh_is_returned(clock):
    def after_the_first_mesh(line):
        clock.late = 1e6

    problem = builder("cart-pole")
    short = solve(problem(), tolerance=1e-8, progress=after_the_first_mesh, time_limit=1e5)
    assert short.status is Status.TIME_LIMIT
    assert not short.success
    assert len(short.history) == 1
    assert short.objective == pytest.approx(58.8077, rel=1e-2)
    assert any("time limit" in line for line in short.explanation)


def test_a_time_limit_that_is_not_reached_changes_nothing():
    one, other = solve(builder("cart-pole")()), solve(builder("cart-pole")(), time_limit=1e4)
    assert (one.objective, one.iterations) == (other.objective, other.iterations)
    assert other.status is Status.SOLVED


def test_a_solve_without_time_returns_a_finite_trajectory():
    solution = solve(builder("cart-pole")(), time_limit=1e-6)
    assert solution.status is Status.TIME_LIMIT
    assert np.all(np.isfinite(solution["x"](np.linspace(0.0, 2.0, 5))))


@pytest.mark.parametrize("method", ["indirect", "both"])
def test_shooting_out_of_time_returns_the_direct_solution(clock, monkeypatch, method):
    def too_late(form):
        clock.late = 1e6
        return phase_hamiltonians(form)

    monkeypatch.setattr(trajopt.indirect.shooting, "phase_hamiltonians", too_late)
    solution = solve(builder("cart-pole")(), method, time_limit=1e5)
    assert solution.status is Status.TIME_LIMIT
    assert solution.method == "direct"
    assert solution.objective == pytest.approx(58.8076674582, rel=1e-6)
    assert any("no solution within" in line for line in solution.explanation)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan")])
def test_an_invalid_limit_is_rejected(wrong):
    with pytest.raises(UsageError, match="time_limit"):
        solve(builder("cart-pole")(), time_limit=wrong)
