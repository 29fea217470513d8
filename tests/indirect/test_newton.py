"""Newton's method on large sparse systems that are singular or have no solution."""

import numpy as np
import scipy.sparse as sparse

from trajopt.indirect.newton import DENSE, STALLED, NewtonEnd, newton

SIZE = DENSE + 50


def solved(system):
    start = np.full(SIZE, 2.0)
    return newton(system, start, np.ones(SIZE), lambda unknowns, step: 1.0, tolerance=1e-10, iterations=60)


def test_an_unknown_that_no_equation_determines_stays_where_it_is():
    matrix = sparse.diags([*np.arange(1.0, SIZE), 0.0]).tocsr()
    result = solved(lambda y: (matrix @ y - matrix @ np.ones(SIZE), matrix))
    assert result.converged
    np.testing.assert_allclose(result.unknowns[:-1], 1.0, rtol=1e-12)
    assert result.unknowns[-1] == 2.0


def test_contradicting_equations_end_early():
    matrix = sparse.vstack([sparse.identity(SIZE), sparse.identity(SIZE)]).tocsr()
    right = np.concatenate([np.zeros(SIZE), np.ones(SIZE)])
    result = solved(lambda y: (matrix @ y - right, matrix))
    assert result.end is NewtonEnd.STALLED
    assert len(result.steps) <= STALLED + 2
