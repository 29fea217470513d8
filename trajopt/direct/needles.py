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
from trajopt.direct.optimality import derivatives, free_intervals, hamiltonian
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
    promise = sum(float(gains.sum()) for _, gains, _ in found) / cost
    concave = sum(float(gains[losing].sum()) for _, gains, losing in found) / cost
    return Needles(stepped(iterate, [chosen for chosen, _, _ in found]), promise, concave / promise) if promise > WORTH else None


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


def _of_phase(session: Session, iterate: Iterate, index: int) -> tuple[Array, Array, NDArray[np.bool_]]:
    """(points, controls), (intervals,), (intervals,): better controls, what they gain, whether H is concave at the old ones."""
    ph, values, kernels = iterate.layout.phases[index], iterate.values[index], session.kernels.phases[index]
    nothing = np.zeros(ph.mesh.intervals)
    # Where constraints bind controls, or algebraic variables move with them, H alone does not decide.
    if kernels.affine.all() or ph.nz or ph.form.c.numel() or ph.mesh.roles is not None:
        return values.U, nothing, nothing > 0
    interval = ph.interval_of
    times = np.interp(ph.point_times(), ph.mesh.breaks, values.breaks)
    here = np.flatnonzero(free_intervals(iterate, index)[interval])
    if not here.size:
        return values.U, nothing, nothing > 0
    place, weights = (times[here], interval[here]), ph.weights[here]
    before = hamiltonian(iterate, index, *place, values.U[here])
    smooth = np.flatnonzero(~kernels.affine).tolist()
    others = [(j, u) for j in smooth for u in _candidates(iterate, index, j, bool(kernels.angles[j]), values.U[here])]
    if not others:
        return values.U, nothing, nothing > 0
    # For whole intervals: a polynomial that jumps between its points is no use to start from.
    gains = np.array(
        [np.bincount(place[1], weights * (before - hamiltonian(iterate, index, *place, u)), nothing.size) for _, u in others]
    )
    best = np.maximum(gains.max(axis=0), 0.0)
    which = _in_turn(gains, best)
    chosen = values.U.copy()
    for point, k in zip(here, place[1], strict=True):
        if best[k] > 0:
            chosen[point] = others[which[k]][1][np.searchsorted(here, point)]
    changed = np.array([others[w][0] for w in which])
    middle = 0.5 * (values.breaks[1:] + values.breaks[:-1])
    curvature = derivatives(iterate, index, middle, np.arange(middle.size))[1]
    return chosen, best, (best > 0) & (curvature[np.arange(middle.size), changed, changed] < 0)


def _in_turn(gains: Array, best: Array) -> NDArray[np.int_]:
    """(intervals,): which candidate to take; where several are as good (left and right), one interval this, the next another."""
    as_good = gains >= (1 - ALIKE) * best
    return np.array([np.flatnonzero(column)[k % column.sum()] if column.any() else 0 for k, column in enumerate(as_good.T)])


def _candidates(iterate: Iterate, index: int, control: int, angle: bool, U: Array) -> list[Array]:
    bound = iterate.layout.phases[index].form.u_bound
    low, high = bound.lower[control], bound.upper[control]
    if angle:
        others = [U[:, control] + 2 * np.pi * k / (SAMPLES - 1) for k in range(1, SAMPLES - 1)]
    elif np.isfinite(low) and np.isfinite(high):
        others = [np.full(U.shape[0], value) for value in np.linspace(low, high, SAMPLES)]
    else:
        return []
    return [np.where(np.arange(U.shape[1]) == control, other[:, None], U) for other in others]
