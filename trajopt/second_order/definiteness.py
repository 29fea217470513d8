"""Whether the second variation is positive, and where along the motion it ceases to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from trajopt.second_order.accessory import Accessory

Array = NDArray[np.float64]
RANK = 1e-10  # relative: rows of the constraints below that are dependent
DEPENDENT = 1e-6  # relative: what the accuracy of an answer leaves of conditions that depend on each other
HELD = 1e-12  # relative: variations that do nothing, of controls that limits hold


@dataclass(frozen=True)
class Definiteness:
    """The least eigenvalue of the second variation, relative to a measure of the variations and to the cost.

    ``dimension`` is the number of independent variations; ``largest`` the largest eigenvalue.
    """

    least: float
    largest: float
    dimension: int


def definiteness(problem: Accessory, cost: float) -> Definiteness:
    """The eigenvalues of Q relative to M on the variations that the constraints allow.

    >>> problem = Accessory(np.diag([2.0, -1.0]), np.array([[0.0, 1.0]]), np.eye(2), np.ones(2, dtype=bool), np.zeros(2))
    >>> definiteness(problem, 1.0).least
    2.0
    """
    values = eigenvalues(problem)
    if not values.size:
        return Definiteness(np.inf, np.inf, 0)
    return Definiteness(float(values[0]) / cost, float(np.abs(values).max()) / cost, values.size)


def eigenvalues(problem: Accessory) -> Array:
    """All of them, in ascending order."""
    basis = allowed(problem)
    C = problem.C @ basis
    lengths = np.abs(C).max(axis=1, initial=0.0)
    C = C[lengths > 0] / lengths[lengths > 0][:, None] if C.size else C
    if C.shape[0]:
        _, singular, right = np.linalg.svd(C, full_matrices=True)
        rank = int((singular > RANK * max(float(singular.max(initial=0.0)), 1e-300)).sum())
        basis = basis @ right[rank:].T
    if not basis.shape[1]:
        return np.zeros(0)
    Q, M = basis.T @ problem.Q @ basis, basis.T @ problem.M @ basis
    if not (np.isfinite(Q).all() and np.isfinite(M).all()):
        return np.full(1, -np.inf)
    size, rotation = np.linalg.eigh(0.5 * (M + M.T))
    kept = size > HELD * size[-1]
    root = rotation[:, kept] / np.sqrt(size[kept])[None, :]
    return np.asarray(scipy.linalg.eigvalsh(root.T @ (0.5 * (Q + Q.T)) @ root))


def dependent_conditions(problem: Accessory) -> Array:
    """(n, conditions): combinations of the conditions that no variation changes, orthonormal in units of what variations do.

    Each is a set of multipliers that satisfies Pontryagin's equations without the cost: with any of them the multipliers of the
    answer are not unique; with none the answer is normal. Bryson & Ho, section 2.8; Mangasarian & Fromovitz 1967.

    >>> twice = Accessory(np.eye(2), np.array([[0.0, 1.0], [0.0, 2.0]]), np.eye(2), np.ones(2, dtype=bool), np.zeros(2))
    >>> np.round(np.abs(dependent_conditions(twice)), 4)
    array([[0.7071, 0.7071]])
    """
    C = problem.C @ allowed(problem)
    lengths = np.abs(C).max(axis=1, initial=0.0)
    C = C / np.where(lengths > 0, lengths, 1.0)[:, None]
    left, singular, _ = np.linalg.svd(C, full_matrices=True)
    rank = int((singular > DEPENDENT * float(singular.max(initial=0.0))).sum())
    return np.asarray(left[:, rank:].T)


def allowed(problem: Accessory) -> Array:
    """Units of the variations that do something: columns of Q or C that are not zero, scaled by M."""
    scale = np.sqrt(np.maximum(np.diag(problem.M), 1e-300))
    does = (np.abs(problem.Q).max(axis=0, initial=0.0) > 0) | (
        np.abs(problem.C).max(axis=0, initial=0.0) > 0 if problem.C.size else np.zeros(scale.size, dtype=bool)
    )
    kept = np.flatnonzero(does & np.isfinite(scale))
    basis = np.zeros((scale.size, kept.size))
    basis[kept, np.arange(kept.size)] = 1.0 / scale[kept]
    return basis
