"""Conditions that no variation changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trajopt.second_order.accessory import Accessory
from trajopt.second_order.second_variation import QuadraticForm

Array = NDArray[np.float64]
DEPENDENT = (
    1e-6  # relative: what the accuracy of an answer leaves of conditions that depend on each other
)


def dependent_conditions(problem: Accessory | QuadraticForm) -> Array:
    """(n, conditions): combinations of the conditions that no variation changes, orthonormal in
    units of what variations do.

    Each is a set of multipliers that satisfies Pontryagin's equations without the cost: with any of
    them the multipliers of the answer are not unique; with none the answer is normal. Bryson & Ho,
    section 2.8; Mangasarian & Fromovitz 1967.

    >>> twice = QuadraticForm(np.eye(2), np.array([[0.0, 1.0], [0.0, 2.0]]), np.ones(2))
    >>> np.round(np.abs(dependent_conditions(twice)), 4)
    array([[0.7071, 0.7071]])
    """
    C = problem.C @ allowed(problem)
    lengths = np.abs(C).max(axis=1, initial=0.0)
    C = C / np.where(lengths > 0, lengths, 1.0)[:, None]
    left, singular, _ = np.linalg.svd(C, full_matrices=True)
    rank = int((singular > DEPENDENT * float(singular.max(initial=0.0))).sum())
    return np.asarray(left[:, rank:].T)


def allowed(problem: Accessory | QuadraticForm) -> Array:
    """Units of the variations that do something: columns of Q or C that are not zero."""
    units = problem.units
    does = (np.abs(problem.Q).max(axis=0, initial=0.0) > 0) | (
        np.abs(problem.C).max(axis=0, initial=0.0) > 0
        if problem.C.size
        else np.zeros(units.size, dtype=bool)
    )
    kept = np.flatnonzero(does & np.isfinite(units))
    basis = np.zeros((units.size, kept.size))
    basis[kept, np.arange(kept.size)] = units[kept]
    return basis
