"""Durations of phases whose end time is not bounded: the time that the dynamics need.

Without bounds there is no unit of time. The phase is integrated from its start with constant
controls, for durations of all orders of magnitude; its duration is the time after which each state
with a given end value has come as far as that value, or twice that after which it is half-way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trajopt.statement.normal_form import NormalForm

Array = NDArray[np.float64]
Rates = Callable[[Array, Array], Array]  # times (n,) and states (nx, n) -> (nx, n)

DURATIONS = 10.0 ** (np.arange(-27, 28) / 3)  # in the unit of the statement
STEPS = 20  # of each motion: the time of arrival is off by a twentieth at most


def time_to_arrive(
    form: NormalForm, index: int, t0: float, x0: Array, xf: Array, s: Array, parameters: Array
) -> float | None:
    """Return how long a phase takes from its initial to its final states, NaN where unknown.

    None if no state that has to move arrives in any of the motions, or if the phase has algebraic
    variables.
    """
    phase = form.phases[index]
    moves = np.isfinite(x0) & np.isfinite(xf) & (x0 != xf)
    if phase.z.numel() or not moves.any():
        return None
    begin = np.where(np.isfinite(x0), x0, np.clip(0.0, phase.x_bound.lower, phase.x_bound.upper))
    levels = _levels(phase.u_bound.lower, phase.u_bound.upper)
    durations = np.repeat(DURATIONS, len(levels))
    count = durations.size
    u = np.tile(levels.T, DURATIONS.size)
    z, model = np.zeros((0, count)), form.models[index]
    shared = [np.repeat(column[:, None], count, axis=1) for column in (s, parameters)]

    def rates(t: Array, x: Array) -> Array:
        return np.asarray(model(t[None, :], x, z, u, *shared))[: x.shape[0]]

    arrival, half = _arrivals(rates, t0, durations, begin, np.where(moves, xf - x0, np.nan))
    arrival = np.where(np.isfinite(arrival), arrival, 2 * half)
    arrival = arrival[np.isfinite(arrival)]
    return float(arrival.max()) if arrival.size else None


def _levels(lower: Array, upper: Array) -> Array:
    """(levels, nu): controls at the middle of their ranges, all at one end, and one by one at an
    end; an unbounded range is that of one unit on both sides.
    """
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2.0, -1.0))
    high = np.where(np.isfinite(upper), upper, low + 2.0)
    middle = 0.5 * (low + high)
    one_by_one = [
        np.where(np.arange(low.size) == i, end, middle)
        for i in range(low.size)
        for end in (low, high)
    ]
    return np.unique(np.array([middle, low, high, *one_by_one]), axis=0)


def _arrivals(rates: Rates, t0: float, durations: Array, begin: Array, moves: Array) -> Array:
    """(2, nx): the first times at which each state has come all the way, and half-way, in any of
    the motions; infinite if in none. The classical Runge-Kutta method.
    """
    h = durations / STEPS
    x = np.repeat(begin[:, None], durations.size, axis=1)
    first = np.full((2, begin.size), np.inf)
    moving = np.isfinite(moves)
    sound = np.ones(durations.size, bool)
    with np.errstate(all="ignore"):  # a motion may end in a singularity, after others have arrived
        for step in range(STEPS):
            t = t0 + step * h
            k1 = rates(t, x)
            k2 = rates(t + h / 2, x + h / 2 * k1)
            k3 = rates(t + h / 2, x + h / 2 * k2)
            k4 = rates(t + h, x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            # steps that are too long, also across a singularity, end a motion; false for NaN
            accurate = h * np.abs(k3 - k2) <= np.abs(moves)[:, None]
            sound &= np.all(accurate[moving], axis=0)
            way = (x - begin[:, None]) / moves[:, None]
            for row, part in zip(first, (1.0, 0.5), strict=True):
                times = np.where((way >= part) & sound, (step + 1) * h, np.inf)
                np.minimum(row, times.min(axis=1), out=row)
    return first
