"""Random KKT systems against dense linear algebra: badly scaled, singular, empty, not finite.
Random convex programs against the conditions of optimality, evaluated with dense matrices.
"""

import casadi
import numpy as np
import pytest

from trajopt.compiled.library import library

pytestmark = pytest.mark.skipif(library() is None, reason="the compiled core is not available")

from tests.compiled.test_factorization import kkt, lower, random_mates, random_symmetric  # noqa: E402
from tests.nlp.test_interior_point import program  # noqa: E402
from trajopt.compiled.factorization import Factorization  # noqa: E402
from trajopt.nlp.backends import Outcome  # noqa: E402
from trajopt.nlp.interior_point import Compiled  # noqa: E402

INF = np.inf


def factored(matrix, mates=None):
    rows, columns, values = lower(matrix)
    f = Factorization(matrix.shape[0], rows, columns, mates)
    return f, f.compute(values)


@pytest.mark.parametrize("seed", range(80))
def test_badly_scaled(seed):
    """Scaling of rows and columns alike does not change the inertia; the solution has a small
    componentwise backward error.
    """
    rng = np.random.default_rng(seed)
    unknowns = int(rng.integers(2, 30))
    rows = int(rng.integers(0, unknowns))
    plain = kkt(rng, unknowns, rows)
    plain[np.arange(unknowns), np.arange(unknowns)] += rng.choice([-1.0, 1.0]) * 0.5
    eigenvalues = np.linalg.eigvalsh(plain)
    assert np.abs(eigenvalues).min() > 1e-9, "singular by bad luck"
    scales = 10.0 ** rng.uniform(-6, 6, unknowns + rows)
    matrix = scales[:, None] * plain * scales
    f, report = factored(matrix, random_mates(rng, unknowns + rows) if seed % 2 else None)
    assert (report.zero, report.negative) == (0, np.sum(eigenvalues < 0))
    right = scales * rng.normal(size=unknowns + rows)
    x = f.solve(right)
    for _ in range(3):
        x = x + f.solve(right - matrix @ x)
    assert np.all(
        np.abs(matrix @ x - right) <= 1e-10 * (np.abs(matrix) @ np.abs(x) + np.abs(right))
    )


@pytest.mark.parametrize("seed", range(60))
def test_dependent_rows(seed):
    """A positive definite Hessian, and rows that are sums or multiples of others, or empty: as many
    zeros as dependent rows.
    """
    rng = np.random.default_rng(1000 + seed)
    unknowns, independent, dependent = (
        int(rng.integers(*ends)) for ends in ((4, 25), (1, 4), (1, 4))
    )
    matrix = kkt(rng, unknowns, independent)
    H, J = matrix[:unknowns, :unknowns], matrix[unknowns:, :unknowns]
    H = H @ H.T + np.eye(unknowns)
    J = np.vstack([J, rng.integers(-2, 3, (dependent, independent)) @ J])
    m = independent + dependent
    f, report = factored(np.block([[H, J.T], [J, np.zeros((m, m))]]))
    assert (report.zero, report.negative) == (dependent, independent)
    assert np.all(np.isfinite(f.solve(rng.normal(size=unknowns + m))))


@pytest.mark.parametrize("seed", range(20))
def test_one_entry_that_is_not_finite(seed):
    """It is reported wherever it is, and the next numbers are not affected."""
    rng = np.random.default_rng(seed)
    matrix = kkt(rng, 12, 5)
    matrix[np.arange(12), np.arange(12)] += 1.0
    rows, columns, values = lower(matrix)
    f = Factorization(17, rows, columns)
    bad = values.copy()
    bad[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf])
    with pytest.raises(ArithmeticError, match="not finite"):
        f.compute(bad)
    f.compute(values)
    x = f.solve(matrix @ np.ones(17))
    np.testing.assert_allclose(x + f.solve(matrix @ (np.ones(17) - x)), np.ones(17), rtol=1e-7)


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_nothing_but_zeros(size):
    """Stored zeros and missing entries are the same matrix."""
    rows = np.arange(size)
    for entries in (rows, rows[:0]):
        f = Factorization(size, entries, entries)
        report = f.compute(np.zeros(entries.size))
        assert (report.zero, report.negative) == (size, 0)
        assert np.all(np.isfinite(f.solve(np.ones(size))))


# ---- programs
# --------------------------------------------------------------------------------------------------


def quadratic(rng, n, m, spread):
    """min x.Hx/2 + c.x, A x = A x0, random bounds around x0, some of them equal: (program, H, c,
    A).
    """
    H = random_symmetric(rng, n, 0.4)
    H = H @ H.T + 0.1 * np.eye(n)
    scales = 10.0 ** rng.uniform(-spread, spread, n)
    H, c = scales[:, None] * H * scales, scales * rng.normal(size=n) * 3
    A = rng.normal(size=(m, n)) * scales
    inside = rng.normal(size=n) / scales
    lower = np.where(rng.random(n) < 0.6, inside - rng.exponential(size=n) / scales, -INF)
    upper = np.where(rng.random(n) < 0.6, inside + rng.exponential(size=n) / scales, INF)
    fixed = (rng.random(n) < 0.1) & (np.arange(n) >= m)
    lower[fixed] = upper[fixed] = inside[fixed]
    right = A @ inside
    rows = (lambda x: [casadi.mtimes(casadi.DM(A), x) - right]) if m else None
    return (
        program(
            lambda x: casadi.dot(x, H @ x) / 2 + casadi.dot(c, x), rows, np.zeros(n), lower, upper
        ),
        H,
        c,
        A,
        scales,
    )


@pytest.mark.parametrize("seed", range(60))
def test_convex_programs_satisfy_the_conditions_of_optimality(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    m = int(rng.integers(0, n)) if seed % 4 else 0
    p, H, c, A, scales = quadratic(rng, n, m, [0.0, 1.0, 2.0][seed % 3])
    result, _ = Compiled(tolerance=1e-9).run(p)
    assert result.outcome is Outcome.SOLVED
    x, z = result.y, result.bound_multipliers
    slopes = H @ x + c + A.T @ result.constraint_multipliers + z
    size = (np.abs(H) @ np.abs(x) + np.abs(c)) / scales
    np.testing.assert_allclose(slopes / scales, 0, atol=1e-6 * (1 + size.max()))
    np.testing.assert_allclose(A @ x, p.g_upper + A @ x - result.g, atol=1e-7)
    assert np.all(x >= p.lower - 1e-6 * (1 + np.abs(p.lower)))
    assert np.all(x <= p.upper + 1e-6 * (1 + np.abs(p.upper)))
    distance = np.where(z > 0, p.upper - x, x - p.lower)
    free = p.lower < p.upper
    assert np.all(
        np.abs(z[free] * np.where(z[free] == 0, 0, np.minimum(distance[free], 1e30))) <= 1e-5
    )


@pytest.mark.parametrize("seed", [39, 60, 83, 84, 110, *range(10)])
def test_multipliers_of_dependent_equations_are_finite(seed):
    """The first five ended as infeasible, or with multipliers of 1e17: rounding was taken for a row
    of its own.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 14))
    m, more = int(rng.integers(1, max(2, n // 2))), int(rng.integers(1, 4))
    H = random_symmetric(rng, n, 0.4)
    H, c, A = H @ H.T + 0.1 * np.eye(n), rng.normal(size=n), rng.normal(size=(m, n))
    A = np.vstack([A, rng.integers(-2, 3, (more, m)) @ A])
    inside = rng.normal(size=n)
    right = A @ inside
    lower = np.where(rng.random(n) < 0.5, inside - rng.exponential(size=n), -INF)
    upper = np.where(rng.random(n) < 0.5, inside + rng.exponential(size=n), INF)
    rows = lambda x: [casadi.mtimes(casadi.DM(A), x) - right]  # noqa: E731
    p = program(
        lambda x: casadi.dot(x, H @ x) / 2 + casadi.dot(c, x), rows, np.zeros(n), lower, upper
    )
    result, _ = Compiled(tolerance=1e-9).run(p)
    assert result.outcome is Outcome.SOLVED
    assert np.abs(result.constraint_multipliers).max() < 1e4


@pytest.mark.parametrize("seed", range(12))
def test_contradictory_equations_have_no_solution(seed):
    rng = np.random.default_rng(seed)
    row, shift = rng.normal(size=4), rng.choice([0.1, 10.0])
    p = program(
        lambda x: casadi.sumsqr(x),
        lambda x: [casadi.dot(row, x), casadi.dot(row, x) - shift],
        rng.normal(size=4),
    )
    assert Compiled().run(p)[0].outcome is not Outcome.SOLVED


@pytest.mark.parametrize("where", ["cost", "row", "start"])
def test_programs_that_are_not_finite_at_their_start(where):
    zero = 0.0 if where != "start" else np.nan
    cost = (lambda x: casadi.sumsqr(x) / x[0]) if where == "cost" else casadi.sumsqr
    rows = (lambda x: [casadi.log(x[0]) - 1]) if where == "row" else (lambda x: [x[0] + x[1] - 1])
    result, _ = Compiled().run(program(cost, rows, [zero, 1.0]))
    assert result.outcome in (Outcome.NOT_A_NUMBER, Outcome.FAILED)
