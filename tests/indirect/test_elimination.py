"""Control laws are solved without rounding noise, whatever the units of their equations are."""

from fractions import Fraction

import casadi
import numpy as np
import pytest

from trajopt.indirect.elimination import chosen_pivots, eliminated, solved_linear
from trajopt.indirect.hamiltonian import UnsupportedError


def kkt(seed, controls=5, constraints=2, curvature=1e-5):
    """[H_uu S_u'; S_u 0] with a small H_uu beside constraints of size one, and
    a right-hand side.
    """
    random = np.random.default_rng(seed)
    root = random.standard_normal((controls, controls))
    normals = random.standard_normal((constraints, controls))
    corner = curvature * (root @ root.T + np.eye(controls))
    matrix = np.block([[corner, normals.T], [normals, np.zeros((constraints, constraints))]])
    return matrix, random.standard_normal(controls + constraints)


def exact(matrix, right):
    """The solution in rational arithmetic."""
    n = right.size
    rows = [
        [Fraction(float(a)) for a in row] + [Fraction(float(b))]
        for row, b in zip(matrix, right, strict=True)
    ]
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        for i in range(n):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return np.array([float(rows[k][n] / rows[k][k]) for k in range(n)])


def error_of(solve_symbolic, matrix, right):
    """Of the controls, relative, when the solution is written out in symbols and evaluated."""
    n = right.size
    entries, column = casadi.SX.sym("a", n, n), casadi.SX.sym("b", n)
    found = casadi.Function("law", [entries, column], [solve_symbolic(entries, column, matrix)])(
        matrix, right
    )
    true = exact(matrix, right)
    return float(np.abs(found.full().ravel() - true)[: n - 2].max() / np.abs(true[: n - 2]).max())


@pytest.mark.parametrize("seed", range(4))
def test_the_law_has_no_noise(seed):
    matrix, right = kkt(seed)
    written = error_of(lambda a, b, m: eliminated(a, b, chosen_pivots(m[None])), matrix, right)
    assert written < 1e-12


def test_orthogonalization_without_pivots_would_lose_digits():
    """Why the law is not left to CasADi's own solve."""
    errors = [error_of(lambda a, b, m: casadi.solve(a, b), *kkt(seed)) for seed in range(4)]
    assert max(errors) > 1e-11


def test_pivots_do_not_depend_on_units():
    matrix, right = kkt(0)
    random = np.random.default_rng(7)
    rows = 10.0 ** random.uniform(-6, 6, right.size)
    columns = 10.0 ** random.uniform(-6, 6, right.size)
    scaled = rows[:, None] * matrix * columns
    found = eliminated(casadi.SX(scaled), casadi.SX(rows * right), chosen_pivots(scaled[None]))
    solution = np.array([float(v) for v in casadi.vertsplit(casadi.DM(found))]) * columns
    true = exact(matrix, right)
    assert np.abs(solution - true)[:5].max() < 1e-11 * np.abs(true[:5]).max()


def test_pivots_hold_at_all_points():
    """A corner that vanishes at one of the points is no pivot, though it is the largest at the
    other.
    """
    order = chosen_pivots(np.array([[[5.0, 1.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 1.0]]]))
    assert order[0] != (0, 0)


def test_a_law_that_is_not_determined_is_refused():
    x = casadi.SX.sym("x")
    with pytest.raises(UnsupportedError, match="does not determine"):
        solved_linear(
            casadi.vertcat(casadi.horzcat(x, x), casadi.horzcat(x, x)),
            casadi.SX.ones(2),
            [(x, np.ones((1, 3)))],
        )
