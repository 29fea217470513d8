"""The Weierstrass condition: at an optimum no other control makes the Hamiltonian smaller.

A program looks at its neighbourhood only. Where the Hamiltonian has several minima in a control, or where the solution is at a
maximum between two of them, another control for a short while makes the cost fall, to first order by the integral of the
difference of the Hamiltonians. Such controls are a guess for another solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.control_error import control_derivatives, free_intervals, hamiltonians
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.guess import Guess

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BetterControls:
    """Controls with a smaller Hamiltonian."""

    guess: Guess
    gain: float  # what the cost would fall by to first order, relative to it
    concave: float  # the part of that which comes from maxima of the Hamiltonian: the solution is no minimum of any kind


def better_controls(solution: MeshSolution) -> BetterControls | None:
    """Controls that make the Hamiltonian smallest, where those of the solution lose much by comparison; else None."""
    if solution.layout.scheme.shares_nodes or not (solution.solved and solution.cost_size > 0):
        return None
    found = [_of_phase(view) for view in solution.phases]
    gain = sum(float(better.gains.sum()) for better in found)
    part = gain / solution.relative_to_cost(gain)
    if part <= solution.phases[0].method.negligible:
        return None
    concave = [better.gains[_concave(v, better)].sum() for v, better in zip(solution.phases, found, strict=True)]
    return BetterControls(solution.stepped_guess([better.controls for better in found]), part, float(sum(concave)) / gain)


@dataclass(frozen=True, eq=False)
class _Better:
    """Other controls of a phase."""

    controls: Array  # (points, controls)
    gains: Array  # (intervals,): what they make the cost fall by, to first order; zero where they are as before
    changed: NDArray[np.int_]  # (intervals,): which control differs


def _of_phase(view: PhaseView) -> _Better:
    ph, U, affine = view.layout, view.values.U, view.kernels.affine
    nothing = _Better(U, np.zeros(ph.mesh.intervals), np.zeros(ph.mesh.intervals, dtype=int))
    # Where constraints bind controls, or algebraic variables move with them, H alone does not decide.
    if affine.all() or ph.nz or ph.nc or ph.mesh.roles is not None:
        return nothing
    free = np.flatnonzero(free_intervals(view))
    others = [(j, u) for j in np.flatnonzero(~affine).tolist() for u in _candidates(view, j)]
    if not free.size or not others:
        return nothing
    # For whole intervals, seen at a point of each: a polynomial that jumps between its points is no use to start from.
    choices, points = np.stack([U, *[u for _, u in others]]), (ph.first_point + ph.sizes // 2)[free]
    H = hamiltonians(view, points, choices[:, points])
    gains = np.zeros((len(others), ph.mesh.intervals))
    gains[:, free] = ph.widths[free] * (H[0] - H[1:])
    best = np.maximum(gains.max(axis=0), 0.0)
    which = np.where(best > 0, 1 + _in_turn(gains, best), 0)
    changed = np.array([0, *[j for j, _ in others]])[which]
    return _Better(choices[which[ph.interval_of], np.arange(ph.points)], best, changed)


def _concave(view: PhaseView, better: _Better) -> NDArray[np.bool_]:
    """(intervals,): where H has a maximum in the control that differs, at its old value."""
    breaks = view.values.breaks
    middle, intervals = 0.5 * (breaks[1:] + breaks[:-1]), np.arange(breaks.size - 1)
    if not better.gains.any():
        return np.zeros(intervals.size, dtype=bool)
    curvature = control_derivatives(view, middle, intervals)[1]
    return np.asarray((better.gains > 0) & (curvature[intervals, better.changed, better.changed] < 0))


def _in_turn(gains: Array, best: Array) -> NDArray[np.int_]:
    """(intervals,): which candidate to take; where several gain the same, to a hundredth, neighbouring intervals take turns."""
    as_good = 100 * (best - gains) <= best
    return np.array([np.flatnonzero(column)[k % column.sum()] if column.any() else 0 for k, column in enumerate(as_good.T)])


def _candidates(view: PhaseView, control: int) -> list[Array]:
    """Of (points, controls) each, with other values of one control."""
    bound, U, samples = view.layout.form.u_bound, view.values.U, view.method.search.samples
    low, high = bound.lower[control], bound.upper[control]
    if view.kernels.angles[control]:
        others = [U[:, control] + 2 * np.pi * k / (samples - 1) for k in range(1, samples - 1)]
    elif np.isfinite(low) and np.isfinite(high):
        others = [np.full(U.shape[0], value) for value in np.linspace(low, high, samples)]
    else:
        return []
    return [np.where(np.arange(U.shape[1]) == control, other[:, None], U) for other in others]
