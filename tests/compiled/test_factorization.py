"""The sparse factorization against dense eigenvalues and dense solutions, on matrices of every
kind.
"""

import numpy as np
import pytest

from trajopt.compiled.library import library

pytestmark = pytest.mark.skipif(library() is None, reason="the compiled core is not available")

from trajopt.compiled.factorization import ALONE, LAST, Factorization  # noqa: E402


def lower(matrix):
    rows, columns = np.nonzero(np.tril(matrix))
    return rows, columns, matrix[rows, columns]


def random_symmetric(rng, size, density, spread=0.0):
    matrix = rng.normal(size=(size, size)) * (rng.random((size, size)) < density)
    scales = 10.0 ** rng.uniform(-spread, spread, size)
    matrix = np.tril(matrix) * scales[:, None] * scales
    return matrix + np.tril(matrix, -1).T


def kkt(rng, unknowns, rows, density=0.2, hessian=1.0):
    """((H, J'), (J, 0)) with J of full rank."""
    H = hessian * random_symmetric(rng, unknowns, density)
    J = rng.normal(size=(rows, unknowns)) * (rng.random((rows, unknowns)) < density)
    J[np.arange(rows), rng.permutation(unknowns)[:rows]] += 3
    return np.block([[H, J.T], [J, np.zeros((rows, rows))]])


def random_mates(rng, size):
    mates = np.full(size, ALONE)
    mates[rng.random(size) < 0.1] = LAST
    free = rng.permutation(np.flatnonzero(mates == ALONE))
    for a, b in zip(free[: free.size // 2], free[free.size // 2 :], strict=False):
        if rng.random() < 0.6:
            mates[a], mates[b] = b, a
    return mates


def check(matrix, mates=None, tolerance=1e-8):
    size = matrix.shape[0]
    rows, columns, values = lower(matrix)
    f = Factorization(size, rows, columns, mates)
    report = f.compute(values)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert np.abs(eigenvalues).min(initial=1.0) > 1e-12 * np.abs(eigenvalues).max(initial=0.0), (
        "singular by bad luck"
    )
    assert report.zero == 0
    assert report.negative == np.sum(eigenvalues < 0)
    right = matrix @ np.linspace(1.0, 2.0, size)
    x = f.solve(right)
    x = x + f.solve(right - matrix @ x)  # one step of refinement
    residual = np.abs(matrix @ x - right).max(initial=0.0)
    assert residual <= tolerance * (
        np.abs(matrix).max(initial=0.0) * np.abs(x).max(initial=0.0) + 1e-300
    )
    return report


@pytest.mark.parametrize("seed", range(120))
def test_random_matrices(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    matrix = random_symmetric(
        rng, size, rng.uniform(0.05, 0.6), spread=rng.choice([0.0, 2.0])
    ) + np.diag(rng.normal(size=size))
    check(matrix, random_mates(rng, size) if seed % 2 else None)


@pytest.mark.parametrize("seed", range(60))
def test_kkt_matrices_with_zero_blocks(seed):
    rng = np.random.default_rng(seed)
    unknowns = int(rng.integers(2, 40))
    rows = int(rng.integers(1, unknowns + 1))
    hessian = [1.0, 0.0, 1e-8][seed % 3] if rows == unknowns or seed % 3 != 1 else 1.0
    matrix = kkt(rng, unknowns, rows, hessian=hessian)
    matrix[np.arange(unknowns), np.arange(unknowns)] += 0.1 * (rows < unknowns)
    check(matrix, random_mates(rng, unknowns + rows) if seed % 2 else None)


def test_delayed_pivots_are_used_and_correct():
    """Without a Hessian many pivots are nonzero only in the parents of their fronts, so that delays
    are needed.
    """
    delayed = [
        check(kkt(np.random.default_rng(seed), 60, 60, density=0.03, hessian=0.0)).delayed
        for seed in range(5)
    ]
    assert sum(delayed) > 0


def test_units_of_rows_delay_no_pivots():
    """The same matrix in units that differ by twelve orders of magnitude."""
    rng = np.random.default_rng(0)
    matrix = kkt(rng, 80, 60, density=0.03)
    units = 10.0 ** rng.uniform(-6, 6, 140)
    delayed = []
    for same in (matrix, matrix * units[:, None] * units):
        rows, columns, values = lower(same)
        delayed.append(Factorization(140, rows, columns).compute(values).delayed)
    assert delayed[1] <= delayed[0] + 2  # 20 more without equilibration


@pytest.mark.parametrize("rank", [0, 1, 5, 9])
def test_singular_matrices_are_reported(rank):
    rng = np.random.default_rng(rank)
    basis = rng.normal(size=(10, rank))
    matrix = basis @ np.diag(rng.choice([-1.0, 1.0], rank)) @ basis.T
    rows, columns = np.tril_indices(10)
    f = Factorization(10, rows, columns)
    report = f.compute(matrix[rows, columns])
    assert report.zero == 10 - rank
    assert report.negative == np.sum(np.linalg.eigvalsh(matrix) < -1e-10)
    assert np.all(np.isfinite(f.solve(np.ones(10))))


@pytest.mark.parametrize("size", [1e8, 1e14, 1e20])
def test_small_pivots_of_which_nothing_was_cancelled_are_no_zeros(size):
    """A row whose unknowns all rest on their bounds: its pivot is -sum of J^2 / sigma."""
    matrix = np.array([[size, 0.0, 1.0], [0.0, 2 * size, 1.0], [1.0, 1.0, 0.0]])
    rows, columns, values = lower(matrix)
    report = Factorization(3, rows, columns).compute(values)
    assert (report.zero, report.negative) == (0, 1)


def test_dependent_rows_are_reported():
    """A duplicate constraint."""
    rng = np.random.default_rng(4)
    matrix = kkt(rng, 12, 5)
    matrix[:12, :12] += 5 * np.eye(12)
    matrix[16, :12] = matrix[15, :12]
    matrix[:12, 16] = matrix[:12, 15]
    rows, columns, values = lower(matrix)
    assert Factorization(17, rows, columns).compute(values).zero == 1


def test_empty_matrices_and_missing_entries():
    assert Factorization(0, [], []).compute([]).negative == 0
    f = Factorization(3, [0], [0])  # two unknowns without any entry
    report = f.compute([-2.0])
    assert (report.negative, report.zero) == (1, 2)
    assert f.solve([4.0, 1.0, 1.0])[0] == -2.0


def test_duplicate_entries_are_summed_in_either_triangle():
    f = Factorization(2, [0, 0, 1, 1, 0], [0, 0, 0, 1, 1])
    f.compute([1.0, 2.0, 0.5, 4.0, 0.5])
    np.testing.assert_allclose(f.solve([4.0, 5.0]), [1.0, 1.0], rtol=1e-14)


def test_values_may_change_and_nonfinite_values_are_rejected():
    rng = np.random.default_rng(0)
    f = Factorization(20, *np.tril_indices(20))
    for _ in range(3):
        matrix = random_symmetric(rng, 20, 1.0)
        f.compute(matrix[np.tril_indices(20)])
        np.testing.assert_allclose(matrix @ f.solve(np.ones(20)), np.ones(20), atol=1e-8)
    for bad in (np.nan, np.inf):
        with pytest.raises(ArithmeticError):
            f.compute(np.full(210, bad))
    f.compute(matrix[np.tril_indices(20)])
    np.testing.assert_allclose(matrix @ f.solve(np.ones(20)), np.ones(20), atol=1e-8)


def collocation(intervals, states):
    """KKT matrix of a linear-quadratic problem: a chain of states, defect rows between neighbours,
    one control, a free time.
    """
    rng = np.random.default_rng(1)
    n, blocks = states, intervals + 1
    width = blocks * n + blocks + 1
    J = np.zeros((intervals * n, width))
    A, b = rng.normal(size=(n, n)) * 0.1 + np.eye(n), rng.normal(size=n)
    for k in range(intervals):
        J[k * n : (k + 1) * n, k * n : (k + 1) * n] = -A
        J[k * n : (k + 1) * n, (k + 1) * n : (k + 2) * n] = np.eye(n)
        J[k * n : (k + 1) * n, blocks * n + k] = b
        J[k * n : (k + 1) * n, -1] = rng.normal(size=n)
    H = np.diag(np.concatenate([np.full(blocks * n, 1e-3), np.ones(blocks + 1)]))
    mates = np.full(width + intervals * n, ALONE)
    defects = np.arange(intervals * n)
    mates[n + defects], mates[width + defects] = width + defects, n + defects
    return np.block([[H, J.T], [J, np.zeros((intervals * n, intervals * n))]]), mates


def test_cost_is_linear_in_the_mesh():
    sizes = []
    for intervals in (20, 40, 80):
        matrix, mates = collocation(intervals, 4)
        rows, columns, values = lower(matrix)
        f = Factorization(matrix.shape[0], rows, columns, mates)
        report = f.compute(values)
        assert report.negative == intervals * 4
        sizes.append(report.entries)
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.15)


def test_wrong_input_is_rejected():
    with pytest.raises(ValueError, match="outside"):
        Factorization(2, [2], [0])
    with pytest.raises(ValueError, match="pairs"):
        Factorization(3, [0], [0], [1, 2, 0])
    f = Factorization(2, [0, 1], [0, 1])
    with pytest.raises(ValueError, match="entries"):
        f.compute([1.0])
    f.compute([1.0, 2.0])
    with pytest.raises(ValueError, match="right-hand side"):
        f.solve([1.0])
