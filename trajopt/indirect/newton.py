"""Damped Newton's method for consistent systems with at least as many equations as unknowns.

Steps are damped by Deuflhard's natural monotonicity test (Newton Methods for Nonlinear Problems,
section 3.3): the next correction, computed with the same matrix, must be shorter. It does not
depend on how equations are scaled, as shooting equations badly are. Where that correction is much
shorter it is the next step (a chord step, section 2.1.2): it needs no new matrix, which is the
largest cost.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg as dense
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from trajopt.deadline import Budget, OutOfTime, OutOfWork
from trajopt.errors import TrajoptError
from trajopt.indirect.settings import NEWTON

Array = NDArray[np.float64]


class NonlinearSystem(Protocol):
    """Equations: their residual, and the residual with the matrix of derivatives."""

    def residual(self, unknowns: Array, /) -> Array: ...
    def evaluate(self, unknowns: Array, /) -> tuple[Array, Any]: ...


class NewtonEnd(enum.Enum):
    """Why the iteration ended."""

    CONVERGED = "converged"
    NOT_A_NUMBER = "the flow from the guess is not a number"
    SINGULAR = "the shooting matrix is singular"
    ROUNDING = "rounding errors stop the iteration"
    NO_DESCENT = "no step along Newton's direction brings the solution nearer"
    STALLED = "the residual does not decrease: the structure is wrong, or the guess is too far away"
    ITERATIONS = "iteration limit"
    TIME_LIMIT = "time limit"
    WORK_LIMIT = "limit of operations"


LIMITS: dict[type[TrajoptError], NewtonEnd] = {
    OutOfTime: NewtonEnd.TIME_LIMIT,
    OutOfWork: NewtonEnd.WORK_LIMIT,
}


@dataclass(frozen=True)
class NewtonResult:
    """Where the iteration ended.

    ``residuals`` are norms of the equilibrated residual, ``steps`` of the scaled corrections;
    ``chords`` are the numbers of the steps that were taken with the matrix of the step before.
    """

    unknowns: Array
    end: NewtonEnd
    residuals: tuple[float, ...]
    steps: tuple[float, ...]
    damping: tuple[float, ...]
    condition: float
    remark: str = ""  # more about the end
    worst: int | None = None  # the equation with the largest residual before the last correction
    chords: tuple[int, ...] = ()
    matrices: int = 0  # how many were factorized: the steps of Newton's method without chord steps

    @property
    def converged(self) -> bool:
        return self.end is NewtonEnd.CONVERGED

    @property
    def reason(self) -> str:
        return self.remark or self.end.value


class Corrections:
    """Solves J d = -r in least squares, scaled in unknowns and equations; with ``columns`` for
    these unknowns alone.
    """

    def __init__(self, matrix: Any, scale: Array, columns: NDArray[np.int64] | None = None) -> None:
        self.scale = scale
        scaled = (matrix @ sparse.diags(scale)).tocsr()
        size = (
            np.asarray(np.abs(scaled).max(axis=1).todense()).ravel()
            if scaled.shape[0]
            else np.zeros(0)
        )
        self.rows = 1.0 / np.where(size > 0, size, 1.0)
        self.matrix = (sparse.diags(self.rows) @ scaled).tocsc()
        self.matrix = self.matrix if columns is None else self.matrix[:, columns]
        self.condition = float("nan")
        m, n = self.matrix.shape
        if n <= NEWTON.dense:
            self.q, self.r, self.pivots = dense.qr(
                self.matrix.toarray(), mode="economic", pivoting=True
            )
            diagonal = np.abs(np.diag(self.r))
            self.rank = int(np.sum(diagonal > NEWTON.rank * diagonal[0]))
            self.condition = float(diagonal[0] / max(diagonal[min(m, n) - 1], 1e-300))
            self.solve: Callable[[Array], Array] = self._solve_dense
        else:
            self.solve = self._sparse_solver(m, n)

    def _sparse_solver(self, m: int, n: int) -> Callable[[Array], Array]:
        """LU factors of a square matrix of full rank; else regularized least squares, the shortest
        correction.
        """
        if m == n:
            # exactly singular: a multiplier or a time that nothing determines
            with contextlib.suppress(RuntimeError):
                square = splu(self.matrix)
                return lambda residual: np.asarray(square.solve(-residual))
        blocks = [
            [sparse.identity(m), self.matrix],
            [self.matrix.T, -(NEWTON.regularization**2) * sparse.identity(n)],
        ]
        # Symmetric: an ordering for that, with pivots off the diagonal only where those are small,
        # fills in far less.
        symmetric = {
            "permc_spec": "MMD_AT_PLUS_A",
            "diag_pivot_thresh": 0.01,
            "options": {"SymmetricMode": True},
        }
        augmented = splu(sparse.bmat(blocks).tocsc(), **symmetric)
        return lambda residual: np.asarray(
            augmented.solve(np.concatenate([-residual, np.zeros(n)]))[m:]
        )

    def _solve_dense(self, residual: Array) -> Array:
        step = np.zeros(self.matrix.shape[1])
        right = (self.q.T @ -residual)[: self.rank]
        step[self.pivots[: self.rank]] = dense.solve_triangular(
            self.r[: self.rank, : self.rank], right
        )
        return step

    def __call__(self, residual: Array) -> Array:
        """The correction in scaled unknowns."""
        return np.asarray(self.solve(self.rows * residual))

    def squares(self, residual: Array) -> float:
        return float(np.linalg.norm(self.rows * residual))

    def norm(self, residual: Array) -> float:
        return float(np.max(np.abs(self.rows * residual), initial=0.0))

    def worst(self, residual: Array) -> int | None:
        return int(np.argmax(np.abs(self.rows * residual))) if residual.size else None


def solve_by_newton(
    system: NonlinearSystem,
    start: Array,
    scale: Array,
    allowed: Callable[[Array, Array], float],
    *,
    tolerance: float,
    iterations: int,
    budget: Budget | None = None,
) -> NewtonResult:
    """Solve system.residual(unknowns) = 0.

    ``allowed(unknowns, step)`` is the longest fraction of a step that keeps times in order.
    ``iterations`` limits the steps with a matrix of their own, and ``budget`` the operations of
    their factorizations.
    """
    run = _Iteration(system, start, scale, allowed, tolerance, budget or Budget())
    try:
        while run.end is None:
            if run.corrections is None and run.matrices == iterations:
                run.end = NewtonEnd.ITERATIONS
            elif run.find_step():
                run.take_step()
    except tuple(LIMITS) as limit:
        run.end, run.remark = LIMITS[type(limit)], limit.what
    return run.result()


class _Iteration:
    """The state of the iteration, the factorized matrix if kept, and the record of its steps."""

    def __init__(
        self,
        system: NonlinearSystem,
        start: Array,
        scale: Array,
        allowed: Callable[[Array, Array], float],
        tolerance: float,
        budget: Budget,
    ) -> None:
        self.budget, self.system, self.scale, self.allowed, self.tolerance = (
            budget,
            system,
            scale,
            allowed,
            tolerance,
        )
        self.unknowns, self.residual, self.step = start.copy(), np.zeros(0), np.zeros(0)
        self.corrections: Corrections | None = None
        self.condition, self.damping, self.matrices = float("nan"), 1.0, 0
        self.residuals: list[float] = []
        self.steps: list[float] = []
        self.dampings: list[float] = []
        self.chords: list[int] = []
        self.worst: int | None = None
        self.end: NewtonEnd | None = None
        self.remark = ""

    def result(self) -> NewtonResult:
        assert self.end is not None
        record = tuple(self.residuals), tuple(self.steps), tuple(self.dampings)
        return NewtonResult(
            self.unknowns,
            self.end,
            *record,
            self.condition,
            self.remark,
            self.worst,
            tuple(self.chords),
            self.matrices,
        )

    def find_step(self) -> bool:
        """Find the next correction; False if the iteration ends with it, or without one."""
        if self.corrections is not None:
            self.chords.append(len(self.steps))
        elif not self._linearize():
            return False
        assert self.corrections is not None
        length = float(np.linalg.norm(self.step) / np.sqrt(self.step.size))
        self.worst = self.corrections.worst(self.residual)
        self.residuals.append(self.corrections.norm(self.residual))
        self.steps.append(length)
        if length < self.tolerance and self.residuals[-1] < np.sqrt(self.tolerance):
            # This last correction is better than those before by their contraction, and costs
            # nothing.
            self.unknowns = self.unknowns + self.scale * self.step
            self.end = NewtonEnd.CONVERGED
        return self.end is None

    def _linearize(self) -> bool:
        self.residual, matrix = self.system.evaluate(self.unknowns)
        if not np.all(np.isfinite(self.residual)):
            self.worst = int(np.argmin(np.isfinite(self.residual)))
            self.end = NewtonEnd.NOT_A_NUMBER
            return False
        self.budget.spend(_factorization_operations(matrix))
        try:
            self.corrections = Corrections(matrix, self.scale)
            self.step = self.corrections(self.residual)
        except (RuntimeError, ValueError, dense.LinAlgError):
            self.end = NewtonEnd.SINGULAR
            return False
        self.condition, self.matrices = self.corrections.condition, self.matrices + 1
        return True

    def take_step(self) -> None:
        """Move along the correction; a much shorter one with the same matrix is the next step."""
        assert self.corrections is not None
        longest = min(1.0, 2 * self.damping, self.allowed(self.unknowns, self.scale * self.step))
        trial = _damped(
            self.system,
            self.unknowns,
            self.residual,
            self.scale,
            self.step,
            self.corrections,
            longest,
        )
        if trial is None:
            self._reject()
            return
        self.damping, self.unknowns, self.residual, following = trial
        self.dampings.append(self.damping)
        if _stalled(self.residuals):
            # With all equations satisfied, corrections that do not vanish are rounding errors of
            # nearly dependent ones.
            self.end = (
                NewtonEnd.ROUNDING if self.residuals[-1] < self.tolerance else NewtonEnd.STALLED
            )
        contracted = float(np.linalg.norm(following)) < NEWTON.chord * float(
            np.linalg.norm(self.step)
        )
        if not (contracted and self.damping == 1.0):
            self.corrections = None
        self.step = following

    def _reject(self) -> None:
        if self.chords and self.chords[-1] == len(self.steps) - 1:
            self.corrections = None  # a matrix of this point may do better
            self.dampings.append(0.0)
            return
        limit = np.sqrt(self.tolerance)
        self.end = (
            NewtonEnd.ROUNDING
            if max(self.residuals[-1], self.steps[-1]) < limit
            else NewtonEnd.NO_DESCENT
        )


def _factorization_operations(matrix: Any) -> float:
    """Of a pivoted QR factorization (Golub, Van Loan, Matrix Computations, section 5.2), or of
    sparse LU.
    """
    rows, columns = matrix.shape
    return 4.0 * rows * columns**2 if columns <= NEWTON.dense else float(NEWTON.fill * matrix.nnz)


def _stalled(residuals: list[float]) -> bool:
    return len(residuals) > NEWTON.stalled and min(residuals[-NEWTON.stalled :]) > 0.5 * min(
        residuals[: -NEWTON.stalled]
    )


def _damped(
    system: NonlinearSystem,
    unknowns: Array,
    current: Array,
    scale: Array,
    step: Array,
    corrections: Corrections,
    damping: float,
) -> tuple[float, Array, Array, Array] | None:
    """Damping, unknowns and residual after the longest step that passes the test, and the next
    correction with this matrix.
    """
    length = np.linalg.norm(step)
    floor, before = 1e-14 * np.sqrt(step.size), corrections.squares(current)
    while damping > 1e-5:
        trial = unknowns + damping * scale * step
        residual = system.residual(trial)
        if np.all(np.isfinite(residual)):
            following = corrections(residual)
            size = np.linalg.norm(following)
            if size <= (1 - 0.25 * damping) * length or size < floor:
                return damping, trial, residual, following
            if corrections.squares(residual) <= (1 - 0.25 * damping) * before:
                return damping, trial, residual, following
        damping *= 0.5
    return None
