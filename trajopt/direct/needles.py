"""Other controls that make the Hamiltonian smaller by far: an answer that leaves them aside is at most a local one.

A program looks at its neighbourhood only. Where the Hamiltonian has several minima in a control, or where the answer sits between
two of them, on a maximum, the maximum principle (Weierstrass' condition) tells: another control for a short while makes the cost
fall, to first order by the integral of the difference of the Hamiltonians. Such controls are a guess for another answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import Session
from trajopt.direct.iterate import Iterate
from trajopt.direct.optimality import derivatives, free_intervals, hamiltonians
from trajopt.direct.values import guess_of
from trajopt.guess import Guess, PhaseGuess

Array = NDArray[np.float64]

SAMPLES = 9  # of a bounded control's range; angles take as many parts of a turn, less one
ALIKE = 1e-2  # relative: controls that gain as much as each other
WORTH = 1e-3  # of the cost: what other controls must promise before they are tried


@dataclass(frozen=True, eq=False)
class Needles:
    """Better controls where there are any."""

    guess: Guess
    promise: float  # what the cost would fall by to first order, relative to it
    concave: float  # the share of that which comes from maxima of the Hamiltonian: these are no minima of any kind


def needles(session: Session, iterate: Iterate) -> Needles | None:
    """Controls that make the Hamiltonian smallest, where those of the answer lose much by comparison."""
    cost = max(abs(iterate.result.f), iterate.running)
    if session.method.scheme.shares_nodes or not (iterate.solved and cost > 0):
        return None
    found = [_of_phase(session, iterate, i) for i in range(len(iterate.layout.phases))]
    promise = sum(float(better.gains.sum()) for better in found) / cost
    if promise <= WORTH:
        return None
    concave = sum(float(better.gains[_concave(iterate, i, better)].sum()) for i, better in enumerate(found)) / cost
    return Needles(stepped(iterate, [better.controls for better in found]), promise, concave / promise)


def stepped(iterate: Iterate, controls: list[Array] | None = None) -> Guess:
    """An iterate as a guess, each of its controls (or others), by phase (points, controls), kept around its point."""
    guess = guess_of(iterate.layout, iterate.program.start)
    phases = []
    for i, (ph, values, start) in enumerate(zip(iterate.layout.phases, iterate.values, guess.phases, strict=True)):
        times = np.interp(ph.point_times(), ph.mesh.breaks, values.breaks)
        chosen = values.U if controls is None else controls[i]

        def steps(tau: Array, at: Array = 0.5 * (times[1:] + times[:-1]), u: Array = chosen, start: PhaseGuess = start) -> Array:
            return u[np.searchsorted(at, start.t0 + np.asarray(tau) * (start.tf - start.t0))]

        phases.append(replace(start, u=steps))
    return Guess(tuple(phases), guess.s)


@dataclass(frozen=True, eq=False)
class _Better:
    """Other controls of a phase."""

    controls: Array  # (points, controls)
    gains: Array  # (intervals,): what they make the cost fall by, to first order; zero where they are as before
    changed: NDArray[np.int_]  # (intervals,): which control differs


def _of_phase(session: Session, iterate: Iterate, index: int) -> _Better:
    ph, values, kernels = iterate.layout.phases[index], iterate.values[index], session.kernels.phases[index]
    nothing = _Better(values.U, np.zeros(ph.mesh.intervals), np.zeros(ph.mesh.intervals, dtype=int))
    # Where constraints bind controls, or algebraic variables move with them, H alone does not decide.
    if kernels.affine.all() or ph.nz or ph.form.c.numel() or ph.mesh.roles is not None:
        return nothing
    free = np.flatnonzero(free_intervals(iterate, index))
    smooth = np.flatnonzero(~kernels.affine).tolist()
    others = [(j, u) for j in smooth for u in _candidates(iterate, index, j, bool(kernels.angles[j]))]
    if not free.size or not others:
        return nothing
    # For whole intervals, seen at a point of each: a polynomial that jumps between its points is no use to start from.
    choices, points = np.stack([values.U, *[u for _, u in others]]), (ph.first_point + ph.sizes // 2)[free]
    H = hamiltonians(iterate, index, points, choices[:, points])
    gains = np.zeros((len(others), ph.mesh.intervals))
    gains[:, free] = ph.widths[free] * (H[0] - H[1:])
    best = np.maximum(gains.max(axis=0), 0.0)
    which = np.where(best > 0, 1 + _in_turn(gains, best), 0)
    changed = np.array([0, *[j for j, _ in others]])[which]
    return _Better(choices[which[ph.interval_of], np.arange(ph.points)], best, changed)


def _concave(iterate: Iterate, index: int, better: _Better) -> NDArray[np.bool_]:
    """(intervals,): where H has a maximum in the control that differs, at its old value."""
    breaks = iterate.values[index].breaks
    middle, intervals = 0.5 * (breaks[1:] + breaks[:-1]), np.arange(breaks.size - 1)
    if not better.gains.any():
        return np.zeros(intervals.size, dtype=bool)
    curvature = derivatives(iterate, index, middle, intervals)[1]
    return np.asarray((better.gains > 0) & (curvature[intervals, better.changed, better.changed] < 0))


def _in_turn(gains: Array, best: Array) -> NDArray[np.int_]:
    """(intervals,): which candidate to take; where several are as good (left and right), one interval this, the next another."""
    as_good = gains >= (1 - ALIKE) * best
    return np.array([np.flatnonzero(column)[k % column.sum()] if column.any() else 0 for k, column in enumerate(as_good.T)])


def _candidates(iterate: Iterate, index: int, control: int, angle: bool) -> list[Array]:
    """Of (points, controls) each, with other values of one control."""
    bound, U = iterate.layout.phases[index].form.u_bound, iterate.values[index].U
    low, high = bound.lower[control], bound.upper[control]
    if angle:
        others = [U[:, control] + 2 * np.pi * k / (SAMPLES - 1) for k in range(1, SAMPLES - 1)]
    elif np.isfinite(low) and np.isfinite(high):
        others = [np.full(U.shape[0], value) for value in np.linspace(low, high, SAMPLES)]
    else:
        return []
    return [np.where(np.arange(U.shape[1]) == control, other[:, None], U) for other in others]
