"""Damped Newton's method for consistent systems with at least as many equations as unknowns.

Steps are damped by Deuflhard's natural monotonicity test (Newton Methods for Nonlinear Problems, section 3.3): the next
correction, computed with the same matrix, must be shorter. It does not depend on how equations are scaled, as shooting equations
badly are.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as dense
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from trajopt.deadline import OutOfTime

Array = NDArray[np.float64]
System = Callable[[Array], tuple[Array, Any]]

DENSE = 700  # unknowns up to which a pivoted QR factorization is used, which also sees a deficient rank
RANK = 1e-12
STALLED = 12  # steps that do not halve the residual: the structure is wrong, or the guess is too far away
REGULARIZATION = 1e-9  # of the sparse least-squares system, relative to equilibrated equations


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


@dataclass(frozen=True)
class NewtonResult:
    """Where the iteration ended. ``residuals`` are norms of the equilibrated residual, ``steps`` of the scaled corrections."""

    unknowns: Array
    end: NewtonEnd
    residuals: tuple[float, ...]
    steps: tuple[float, ...]
    damping: tuple[float, ...]
    condition: float
    remark: str = ""  # more about the end
    worst: int | None = None  # the equation with the largest residual before the last correction

    @property
    def converged(self) -> bool:
        return self.end is NewtonEnd.CONVERGED

    @property
    def reason(self) -> str:
        return self.remark or self.end.value


class _Corrections:
    """Solves J d = -r in least squares, scaled in unknowns and equations."""

    def __init__(self, matrix: Any, scale: Array) -> None:
        self.scale = scale
        scaled = (matrix @ sparse.diags(scale)).tocsr()
        size = np.asarray(np.abs(scaled).max(axis=1).todense()).ravel() if scaled.shape[0] else np.zeros(0)
        self.rows = 1.0 / np.where(size > 0, size, 1.0)
        self.matrix = (sparse.diags(self.rows) @ scaled).tocsc()
        self.condition = float("nan")
        m, n = self.matrix.shape
        if n <= DENSE:
            self.q, self.r, self.pivots = dense.qr(self.matrix.toarray(), mode="economic", pivoting=True)
            diagonal = np.abs(np.diag(self.r))
            self.rank = int(np.sum(diagonal > RANK * diagonal[0]))
            self.condition = float(diagonal[0] / max(diagonal[min(m, n) - 1], 1e-300))
            self.solve: Callable[[Array], Array] = self._solve_dense
        else:
            self.solve = self._sparse_solver(m, n)

    def _sparse_solver(self, m: int, n: int) -> Callable[[Array], Array]:
        """LU factors of a square matrix of full rank; else regularized least squares, the shortest correction."""
        if m == n:
            with contextlib.suppress(RuntimeError):  # exactly singular: a multiplier or a time that nothing determines
                square = splu(self.matrix)
                return lambda residual: np.asarray(square.solve(-residual))
        blocks = [[sparse.identity(m), self.matrix], [self.matrix.T, -(REGULARIZATION**2) * sparse.identity(n)]]
        augmented = splu(sparse.bmat(blocks).tocsc())
        return lambda residual: np.asarray(augmented.solve(np.concatenate([-residual, np.zeros(n)]))[m:])

    def _solve_dense(self, residual: Array) -> Array:
        step = np.zeros(self.matrix.shape[1])
        right = (self.q.T @ -residual)[: self.rank]
        step[self.pivots[: self.rank]] = dense.solve_triangular(self.r[: self.rank, : self.rank], right)
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


def newton(
    system: System, start: Array, scale: Array, allowed: Callable[[Array, Array], float], *, tolerance: float, iterations: int
) -> NewtonResult:
    """Solve system(unknowns) = 0. ``allowed(unknowns, step)`` is the longest fraction of a step that keeps times in order."""
    unknowns, damping = start.copy(), 1.0
    residual, matrix = system(unknowns)
    residuals: list[float] = []
    steps: list[float] = []
    dampings: list[float] = []
    worst: int | None = None

    def ended(end: NewtonEnd, condition: float = float("nan"), remark: str = "") -> NewtonResult:
        return NewtonResult(unknowns, end, tuple(residuals), tuple(steps), tuple(dampings), condition, remark, worst)

    if not np.all(np.isfinite(residual)):
        worst = int(np.argmin(np.isfinite(residual)))
        return ended(NewtonEnd.NOT_A_NUMBER)
    for _ in range(iterations):
        try:
            corrections = _Corrections(matrix, scale)
        except (RuntimeError, ValueError, dense.LinAlgError):
            return ended(NewtonEnd.SINGULAR)
        step = corrections(residual)
        length = float(np.linalg.norm(step) / np.sqrt(step.size))
        worst = corrections.worst(residual)
        residuals.append(corrections.norm(residual))
        steps.append(length)
        if length < tolerance and residuals[-1] < np.sqrt(tolerance):
            unknowns = unknowns + scale * step  # this last correction is quadratically better, and costs nothing
            return ended(NewtonEnd.CONVERGED, corrections.condition)
        try:
            longest = min(1.0, 2 * damping, allowed(unknowns, scale * step))
            trial = _damped(system, unknowns, residual, scale, step, corrections, longest)
        except OutOfTime as late:
            return ended(NewtonEnd.TIME_LIMIT, corrections.condition, late.what)
        if trial is None:
            stuck = residuals[-1] < np.sqrt(tolerance) and length < np.sqrt(tolerance)
            return ended(NewtonEnd.ROUNDING if stuck else NewtonEnd.NO_DESCENT, corrections.condition)
        damping, unknowns, residual, matrix = trial
        dampings.append(damping)
        if _stalled(residuals):
            # With all equations satisfied, corrections that do not vanish are rounding errors of nearly dependent ones.
            return ended(NewtonEnd.ROUNDING if residuals[-1] < tolerance else NewtonEnd.STALLED, corrections.condition)
    return ended(NewtonEnd.ITERATIONS)


def _stalled(residuals: list[float]) -> bool:
    return len(residuals) > STALLED and min(residuals[-STALLED:]) > 0.5 * min(residuals[:-STALLED])


def _damped(
    system: System, unknowns: Array, current: Array, scale: Array, step: Array, corrections: _Corrections, damping: float
) -> tuple[float, Array, Array, Any] | None:
    length = np.linalg.norm(step)
    floor, before = 1e-14 * np.sqrt(step.size), corrections.squares(current)
    while damping > 1e-5:
        trial = unknowns + damping * scale * step
        residual, matrix = system(trial)
        if np.all(np.isfinite(residual)):
            following = np.linalg.norm(corrections(residual))
            if following <= (1 - 0.25 * damping) * length or following < floor:
                return damping, trial, residual, matrix
            if corrections.squares(residual) <= (1 - 0.25 * damping) * before:
                return damping, trial, residual, matrix
        damping *= 0.5
    return None
