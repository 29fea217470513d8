"""Small linear systems of control laws, solved by elimination that is written out in expressions.

A law is evaluated at every stage of every step of the flow, so its rounding errors decide how short
the steps of a tight tolerance are. On a constrained arc the matrix is [H_uu S_u'; S_u 0], whose
blocks may differ by five orders of magnitude: orthogonalization without pivoting loses that many
digits, elimination with good pivots none. The order of the pivots is chosen once, at points of the
guess (Golub & Van Loan, Matrix Computations, 3.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.hamiltonian import UnsupportedError
from trajopt.indirect.settings import START

Array = NDArray[np.float64]
Pivots = list[tuple[int, int]]
Known = Sequence[tuple[Any, Array]]


def solved_linear(matrix: Any, right: Any, known: Known = ()) -> Any:
    """matrix^-1 right as an expression, (n, n) and (n, m).

    ``known``: pairs of a symbol and its values (size, points), where the pivots are chosen; other
    symbols have any values.
    """
    if matrix.shape[0] == 1:
        return right / matrix
    return eliminated(matrix, right, chosen_pivots(_values(matrix, known)))


def chosen_pivots(matrices: Array) -> Pivots:
    """One order of pivots (row, column) for matrices (points, n, n): each is the largest at the
    point where it is smallest.

    Entries count relative to their rows and columns, so that units do not matter.
    """
    work = equilibrated(matrices)
    n = work.shape[1]
    rows, columns, order = list(range(n)), list(range(n)), []
    for _ in range(n):
        rest = np.abs(work[:, rows][:, :, columns])
        # single points may be singular
        work, rest = (a[rest.max(axis=(1, 2)) > 0.0] for a in (work, rest))
        if not rest.shape[0]:
            raise UnsupportedError(
                "H does not determine the controls on an arc",
                hint="a control that acts on nothing there",
            )
        left = rest.min(axis=0) if rest.min(axis=0).max() > 0.0 else np.median(rest, axis=0)
        i, j = divmod(int(np.argmax(left)), len(columns))
        row, column = rows.pop(i), columns.pop(j)
        order.append((row, column))
        for k in rows:
            work[:, k] -= (work[:, k, column] / work[:, row, column])[:, None] * work[:, row]
            work[:, k, column] = 0.0
    return order


def equilibrated(matrices: Array) -> Array:
    """Rows and columns divided by the roots of their largest entries over all points,
    a few times.
    """
    found = matrices.copy()
    for _ in range(3):
        size = np.abs(found).max(axis=0)
        rows, columns = np.sqrt(size.max(axis=1)), np.sqrt(size.max(axis=0))
        found = found / np.where(rows > 0, rows, 1.0)[:, None] / np.where(columns > 0, columns, 1.0)
    return found


def eliminated(matrix: Any, right: Any, order: Pivots) -> Any:
    """The solution of matrix x = right by Gaussian elimination with given pivots, written out."""
    n, width = matrix.shape[0], right.shape[1]
    work = [
        [matrix[i, j] for j in range(n)] + [right[i, k] for k in range(width)] for i in range(n)
    ]
    for step, (row, column) in enumerate(order):
        for other, _ in order[step + 1 :]:
            if is_zero(work[other][column]):
                continue
            factor = work[other][column] / work[row][column]
            for j in [c for _, c in order[step + 1 :]] + list(range(n, n + width)):
                if not is_zero(work[row][j]):
                    work[other][j] = work[other][j] - factor * work[row][j]
    solution: dict[int, list[Any]] = {}
    for step in reversed(range(n)):
        row, column = order[step]
        totals = [work[row][n + k] for k in range(width)]
        for _, later in order[step + 1 :]:
            if not is_zero(work[row][later]):
                totals = [
                    total - work[row][later] * x
                    for total, x in zip(totals, solution[later], strict=True)
                ]
        solution[column] = [total / work[row][column] for total in totals]
    return casadi.vertcat(*[casadi.horzcat(*solution[i]) for i in range(n)])


def _values(matrix: Any, known: Known) -> Array:
    """(points, n, n): the matrix at the known points where it is finite there, else at arbitrary
    ones.
    """
    n = matrix.shape[0]
    symbols = [symbol for symbol, _ in known]
    function = casadi.Function("matrix", symbols, [casadi.densify(matrix)], {"allow_free": True})
    free: Any = function.free_sx() if function.is_a("SXFunction") else function.free_mx()
    others = (
        list(free)
        if isinstance(free, (list, tuple))
        else casadi.vertsplit(free)
        if free.numel()
        else []
    )
    function = casadi.Function("matrix", [*symbols, *others], [casadi.densify(matrix)])
    random = np.random.default_rng(1)
    for given in (known, ()):
        count = max((values.shape[1] for _, values in given), default=START.anywhere)
        points = [values for _, values in given] or [
            random.uniform(0.5, 1.5, (q.numel(), count)) for q in symbols
        ]
        points += [random.uniform(0.5, 1.5, (q.numel(), count)) for q in others]
        # A function of nothing, of a constant matrix, returns a dictionary when it is called the
        # other way.
        found = _stacked(function(*points) if points else function.call([])[0], n, count)
        finite = found[np.all(np.isfinite(found), axis=(1, 2))]
        if finite.shape[0]:
            return finite
    raise UnsupportedError("the control law of an arc is not defined at the points of the guess")


def _stacked(found: Any, n: int, count: int) -> Array:
    wide = np.asarray(found.full())
    # a matrix without symbols
    wide = wide if wide.shape[1] == n * count else np.tile(wide, (1, count))
    return wide.reshape(n, count, n).transpose(1, 0, 2)


def is_zero(entry: Any) -> bool:
    """Whether an expression is zero whatever its variables are."""
    return entry.nnz() == 0 or (
        isinstance(entry, casadi.SX) and bool(casadi.densify(entry).is_zero())
    )
