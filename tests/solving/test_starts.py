"""Solves from several starts: all optima of a problem in closed form, the same solution for any
number of processes.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import trajopt.solving.starts
from trajopt import Problem, Status, load, solve
from trajopt.__main__ import app
from trajopt.errors import UsageError
from trajopt.guess.varied import varied_guess
from trajopt.solving.starts import best_of
from trajopt.trajectory.solution import Optimum


def values(curve, tau):
    """Values at fractions of the duration."""
    return curve.evaluate(curve.breaks[0] + tau * (curve.breaks[-1] - curve.breaks[0]))


def ends(sense="min"):
    """A constant control is the best way to any end: u = a costs a^2 + 4 (a^2 - 1)^2 + a/2, with
    two minima in a.
    """
    ocp = Problem("ends")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, guess=lambda tau: 0.9 * tau), ph.control("u", guess=0.9)
    ph.dynamics({x: u})
    a = ph.final(x)
    cost = ph.integral(u**2) + 4 * (a**2 - 1) ** 2 + a / 2
    ocp.minimize(cost) if sense == "min" else ocp.maximize(-cost)
    return ocp


def minima():
    """The costs of the two minima, the smaller one first: roots of 16 a^3 - 14 a + 1/2 with a
    positive derivative.
    """
    a = np.array([root.real for root in np.roots([16, 0, -14, 0.5]) if 48 * root.real**2 > 14])
    return np.sort(a**2 + 4 * (a**2 - 1) ** 2 + a / 2)


@pytest.mark.parametrize("sense", ["min", "max"])
def test_all_optima_are_found_the_best_first(sense):
    sign = 1 if sense == "min" else -1
    assert sign * solve(ends(sense)).objective == pytest.approx(
        minima()[1], rel=1e-8
    )  # the guess leads to the dearer one
    best = solve(ends(sense), starts=6)
    assert sign * best.objective == pytest.approx(minima()[0], rel=1e-8)
    assert [sign * one.objective for one in best.optima] == pytest.approx(minima(), rel=1e-8)
    assert sorted(k for one in best.optima for k in one.starts) == list(range(6))
    assert 0 in best.optima[1].starts
    assert best.form is not None


def test_the_number_of_processes_does_not_matter(monkeypatch):
    several = solve(ends(), starts=4, seed=3)
    monkeypatch.setattr(trajopt.solving.starts.os, "sched_getaffinity", lambda pid: {0})
    alone = solve(ends(), starts=4, seed=3)
    assert several.optima == alone.optima
    assert several.objective == alone.objective


def test_a_seed_gives_one_guess_and_another_seed_another():
    form = ends().finish()
    tau = np.linspace(0, 1, 7)
    one, again, other = (
        varied_guess(form, np.zeros(0), seed).phases[0] for seed in ((0, 1), (0, 1), (1, 1))
    )
    assert np.array_equal(values(one.u, tau), values(again.u, tau))
    assert np.array_equal(values(one.x, tau), values(again.x, tau))
    assert not np.allclose(values(one.u, tau), values(other.u, tau))


def test_forward_simulations_obey_the_dynamics():
    """Of several guesses some are simulations: their states are the integral of their controls."""
    form, tau = ends().finish(), np.linspace(0, 1, 61)
    guesses = [varied_guess(form, np.zeros(0), (0, k)).phases[0] for k in range(1, 9)]
    misses = []
    for one in guesses:
        u, x = values(one.u, tau)[:, 0], values(one.x, tau)[:, 0]
        moved = np.concatenate([[0.0], np.cumsum(0.5 * (u[1:] + u[:-1]) * np.diff(tau))])
        misses.append(np.abs(x - x[0] - moved).max())
    assert 0 < sum(miss < 1e-12 for miss in misses) < len(misses)


def test_a_cheaper_coarse_solution_is_the_best_only_below_an_error_limit():
    right = solve(ends())
    cheaper = replace(right, status=Status.COARSE, objective=right.objective - 1, error=1e-5)
    assert best_of({0: right, 1: cheaper}, 1).status is Status.COARSE
    rough = replace(cheaper, error=0.1)
    assert best_of({0: right, 1: rough}, 1).success
    failed = replace(cheaper, status=Status.INFEASIBLE)
    best = best_of({0: right, 1: failed}, 1)
    assert best.success
    assert best.optima == (Optimum(right.objective, Status.SOLVED, right.error, (0,)),)


def test_of_equal_optima_the_first_start_is_the_answer():
    """Rounding would decide between two mirrored motions."""
    right = solve(ends())
    close = replace(right, objective=right.objective * (1 + 1e-9))
    assert best_of({0: close, 1: right}, 1).objective == close.objective
    dearer = replace(right, objective=right.objective * (1 + 1e-4))
    assert best_of({0: dearer, 1: right}, 1).objective == right.objective


def test_optima_are_saved_and_a_single_start_has_none(tmp_path):
    best = solve(ends(), starts=2)
    best.save(tmp_path / "a.nc")
    assert load(tmp_path / "a.nc").optima == best.optima
    assert not solve(ends()).optima


def test_shooting_begins_at_the_best(tmp_path):
    assert solve(ends(), "indirect", starts=6).objective == pytest.approx(minima()[0], rel=1e-9)


@pytest.mark.parametrize(("name", "value"), [("starts", 0), ("starts", 1.5), ("seed", -1)])
def test_invalid_numbers_are_rejected(name, value):
    with pytest.raises(UsageError, match=name):
        solve(ends(), **{name: value})


def test_command_line():
    result = CliRunner().invoke(
        app, ["solve", "block-move", "--starts", "2", "--seed", "1", "-q", "--json", "-"]
    )
    assert result.exit_code == 0
    (optimum,) = json.loads(result.stdout)["optima"]
    assert optimum["starts"] == [0, 1]
    assert optimum["objective"] == pytest.approx(12)
