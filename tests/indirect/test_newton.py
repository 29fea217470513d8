"""Newton's method: large sparse systems that are singular or have no solution, and chord steps."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sparse

import trajopt.indirect.newton
from trajopt.indirect.newton import NewtonEnd, solve_by_newton
from trajopt.indirect.settings import NEWTON

SIZE = NEWTON.dense + 50


class Equations:
    """A system from a function of the residual and one of the matrix, which counts its matrices."""

    def __init__(self, residual, matrix):
        self.residual, self.matrix, self.matrices = residual, matrix, 0

    def evaluate(self, unknowns):
        self.matrices += 1
        return self.residual(unknowns), sparse.csr_matrix(self.matrix(unknowns))


def solved(system, start=None):
    start = np.full(SIZE, 2.0) if start is None else np.array(start, dtype=float)
    return solve_by_newton(
        system,
        start,
        np.ones(start.size),
        lambda unknowns, step: 1.0,
        tolerance=1e-10,
        iterations=60,
    )


def test_an_unknown_that_no_equation_determines_stays_where_it_is():
    matrix = sparse.diags([*np.arange(1.0, SIZE), 0.0]).tocsr()
    result = solved(Equations(lambda y: matrix @ y - matrix @ np.ones(SIZE), lambda y: matrix))
    assert result.converged
    np.testing.assert_allclose(result.unknowns[:-1], 1.0, rtol=1e-12)
    assert result.unknowns[-1] == 2.0


def test_contradicting_equations_end_early():
    matrix = sparse.vstack([sparse.identity(SIZE), sparse.identity(SIZE)]).tocsr()
    right = np.concatenate([np.zeros(SIZE), np.ones(SIZE)])
    result = solved(Equations(lambda y: matrix @ y - right, lambda y: matrix))
    assert result.end is NewtonEnd.STALLED
    assert len(result.steps) <= NEWTON.stalled + 2


def cubic():
    """The third root of two."""
    return Equations(lambda y: y**3 - 2, lambda y: np.diag(3 * y**2))


def test_near_the_solution_one_matrix_serves_several_steps():
    system = cubic()
    result = solved(system, [1.27])
    assert result.converged
    assert result.unknowns[0] == pytest.approx(2 ** (1 / 3), rel=1e-12)
    assert result.matrices == system.matrices == 1
    assert result.chords == tuple(range(1, len(result.steps)))


def test_far_from_it_each_step_has_its_own(monkeypatch):
    system = cubic()
    result = solved(system, [4.0])
    assert result.converged
    assert result.chords[0] > 1  # the first contractions are slow
    assert all(
        b < 0.1 * a
        for a, b in zip(
            result.steps[result.chords[0] - 1 :], result.steps[result.chords[0] :], strict=False
        )
    )
    monkeypatch.setattr(trajopt.indirect.newton, "NEWTON", replace(NEWTON, chord=0.0))
    plain = cubic()
    again = solved(plain, [4.0])
    assert again.chords == ()
    assert system.matrices < plain.matrices == len(again.steps)
    assert again.unknowns[0] == pytest.approx(result.unknowns[0], rel=1e-12)


def test_a_chord_step_that_fails_is_followed_by_a_new_matrix():
    """The first step contracts well, to where the slope has the other sign."""
    near = 0.05
    system = Equations(
        lambda y: np.where(y > 0.5, y, near - y), lambda y: np.diag(np.where(y > 0.5, 1.0, -1.0))
    )
    result = solved(system, [1.0])
    assert result.converged
    assert result.unknowns[0] == pytest.approx(near, rel=1e-12)
    assert result.matrices == 2
    assert result.chords[0] == 1
    assert result.damping[1] == 0.0
