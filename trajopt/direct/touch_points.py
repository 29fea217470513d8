"""Touch points and ends of boundary arcs: where states, or path constraints on states alone, meet
their limits.

At a touch point the costates jump; so they may where a limit becomes active or inactive. A
polynomial cannot jump: an interval with a touch point inside has wrong costates, and the multiplier
of the limit is at the nearest collocation point. With a break there the multiplier is the jump, and
both sides are smooth. A touch point is where the constraint's polynomial has its peak; an arc ends
where the derivative of the constraint that the controls enter vanishes. The distance from the break
is the displacement of the break in the next mesh.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from trajopt.direct.collocation import DECADE, Refinement
from trajopt.direct.interpolation import sampled_between
from trajopt.direct.phase_view import PhaseView
from trajopt.trajectory.curve import inverse_legendre

Array = NDArray[np.float64]
Index = NDArray[np.int_]

TINY = np.finfo(float).tiny
ROUND_OFF = float(np.sqrt(np.finfo(float).eps))


class TouchKind(enum.Enum):
    """What happens to a constraint there."""

    TOUCH = enum.auto()
    ENTRY = enum.auto()
    EXIT = enum.auto()


@dataclass(frozen=True)
class TouchPoint:
    """A touch point, or an end of a boundary arc, of one constraint; in normalised time."""

    phase: int
    column: int  # of the constraint, among states and path constraints
    kind: TouchKind
    node: float  # that carries the multiplier
    place: float  # where it should be
    at_break: bool
    jump: float  # of the costates, relative to their sizes
    off: float  # relative error of the costates by the distance between the two

    @property
    def key(self) -> tuple[int, int, TouchKind]:
        return self.phase, self.column, self.kind

    @property
    def error(self) -> float:
        """Relative error of the costates; infinite where the mesh has no break for it yet."""
        return self.off if self.at_break else np.inf


@dataclass(frozen=True, eq=False)
class LimitMultipliers:
    """Multipliers of the limits of states, and of path constraints on states alone."""

    view: PhaseView
    multipliers: Array  # (state points, states + path constraints): positive at an upper limit
    jumps: Array  # the same, as jumps of the costates relative to their sizes
    sizes: Array  # (states,): of the costates
    power: float  # the largest sum of the sizes of the terms of H

    def series(self, column: int, k: int) -> Array:
        """The Legendre coefficients of a constraint on an interval."""
        view, ph = self.view, self.view.layout
        count = ph.grid.rules[k].points.size + 3
        at = 0.5 - 0.5 * np.cos(np.pi * np.arange(count) / (count - 1))
        x, W, D = sampled_between(view, [(np.array([k]), ph.grid.rules[k].places(at))])
        if column >= ph.nx:
            x = view.kernel.constraints(W, D, view.parameters)[ph.ng :].T
        return np.asarray(inverse_legendre(tuple(at.tolist())) @ x[:, column])

    def near_limit(self, column: int, side: int) -> NDArray[np.bool_]:
        """(state points,): where a constraint is at a limit."""
        view, ph = self.view, self.view.layout
        if column < ph.nx:
            values, bound, i = view.values.X[:, column], ph.form.x_bound, column
        else:
            values = np.full(ph.grid.state_points, np.nan)
            bound = ph.form.c_bound
            i = column - ph.nx
            values[ph.grid.point_state] = view.path[:, i]
        limit = (bound.upper if side > 0 else bound.lower)[i]
        size = max(float(np.nanmax(values) - np.nanmin(values)), TINY)
        with np.errstate(invalid="ignore"):
            return np.asarray(side * (limit - values) < view.method.arcs.at_bound * size)


def limit_multipliers(view: PhaseView) -> LimitMultipliers:
    """Of a phase, with the sizes of its costates."""
    ph = view.layout
    nx = view.layout.nx
    costates = view.costates
    on_states = view.kernels.state_paths
    multipliers = np.zeros((ph.grid.state_points, nx + ph.nc))
    multipliers[:, :nx] = view.state_multipliers
    lengths = view.lengths[ph.grid.interval_of]
    rates = view.outputs[:, :nx] / lengths[:, None]
    cost = (
        np.abs(view.running_cost) / lengths
        if view.kernel.objective_rows
        else np.zeros(ph.grid.points)
    )
    power = float((np.abs(costates.points * rates).sum(axis=1) + cost).max())
    fastest = np.abs(rates).max(axis=0)
    moving = fastest > TINY
    least = np.where(moving, view.method.negligible * power / np.where(moving, fastest, 1.0), 0.0)
    sizes = np.maximum(np.maximum(np.abs(costates.points).max(axis=0), least), TINY)
    jumps = np.zeros_like(multipliers)
    jumps[:, :nx] = np.abs(multipliers[:, :nx]) / sizes
    if on_states.any():
        rows = np.where(on_states, ph.path_rows(view.constraint_multipliers), 0.0)
        gradients = np.abs(view.derivatives[0][:, ph.outputs[2], :nx] / sizes).max(axis=2)
        multipliers[ph.grid.point_state, nx:] = rows
        jumps[ph.grid.point_state, nx:] = np.abs(rows) * gradients
    return LimitMultipliers(view, multipliers, jumps, sizes, max(power, TINY))


def touch_points(of: LimitMultipliers, least: float) -> list[TouchPoint]:
    """Those that make the costates jump by more than ``least`` of their sizes, and all ends of
    arcs; in order of time.
    """
    found = []
    longest = of.view.method.arcs.few
    for column in np.flatnonzero(of.jumps[1:-1].max(axis=0) > least).tolist():
        for runs in _stretches(
            of, column, _runs(of.multipliers[:, column], of.jumps[:, column] > least)
        ):
            side = int(np.sign(of.multipliers[runs[0][0], column]))
            if len(runs) == 1 and runs[0].size <= longest:
                found.append(_touch(of, column, side, runs[0]))
            else:
                found += [
                    _end(of, column, runs[0], TouchKind.ENTRY),
                    _end(of, column, runs[-1], TouchKind.EXIT),
                ]
    return sorted((one for one in found if one is not None), key=lambda one: one.place)


def _stretches(of: LimitMultipliers, column: int, runs: list[Index]) -> list[list[Index]]:
    """Runs on one side between which a constraint stays at its limit: those of one arc."""
    stretches: list[list[Index]] = []
    for run in runs:
        last = stretches[-1][-1] if stretches else run
        side = int(np.sign(of.multipliers[run[0], column]))
        if (
            stretches
            and side * of.multipliers[last[0], column] > 0
            and of.near_limit(column, side)[last[-1] : run[0]].all()
        ):
            stretches[-1].append(run)
        else:
            stretches.append([run])
    return stretches


def _runs(multipliers: Array, large: NDArray[np.bool_]) -> list[Index]:
    """Neighbouring nodes with multipliers of one sign, without small ones at both ends that the
    barrier has left.
    """
    which = np.flatnonzero(large)
    cuts = np.flatnonzero((np.diff(which) > 1) | (np.diff(np.sign(multipliers[which])) != 0)) + 1
    runs = []
    for run in np.split(which, cuts):
        part = np.abs(multipliers[run]) / np.abs(multipliers[run]).max()
        strong = np.flatnonzero(DECADE**2 * part > 1)
        runs.append(run[strong[0] : strong[-1] + 1])
    return runs


def _node(of: LimitMultipliers, run: Index) -> tuple[float, int, bool]:
    """The time of the node among a run that is a break, or else of their middle; the interval that
    ends there or has it.
    """
    breaks, at = of.view.layout.mesh.breaks, of.view.layout.grid.state_times[run]
    shared = np.flatnonzero(np.isin(breaks, at))
    if shared.size:
        return float(breaks[shared[0]]), int(shared[0]) - 1, True
    node = float(at.mean())
    return node, int(np.clip(np.searchsorted(breaks, node) - 1, 0, breaks.size - 2)), False


def _real_roots(series: NDArray[np.floating[Any]]) -> Array:
    """Real roots of a Legendre series, on [0, 1] and beyond."""
    roots = legendre.legroots(series)
    return np.asarray((roots[np.abs(roots.imag) < ROUND_OFF].real + 1) / 2)


def _touch(of: LimitMultipliers, column: int, side: int, run: Index) -> TouchPoint | None:
    """None at an end of the phase, or where the constraint has no peak."""
    view, breaks = of.view, of.view.layout.mesh.breaks
    if run[0] == 0 or run[-1] == view.layout.grid.state_points - 1:
        return None
    node, k, at_break = _node(of, run)
    candidates, slope = [], 0.0
    for interval in (k, k + 1) if at_break else (k,):
        slopes = legendre.legder(of.series(column, interval))
        width = breaks[interval + 1] - breaks[interval]
        peaks = _real_roots(slopes)
        # half an interval outside it a polynomial is still believed
        peaks = peaks[np.abs(peaks - 0.5) < 1]
        peaks = peaks[side * legendre.legval(2 * peaks - 1, legendre.legder(slopes)) < 0]
        candidates += [(max(0.0, tau - 1, -tau), breaks[interval] + width * tau) for tau in peaks]
        if interval == k:
            slope = 2 * float(legendre.legval(2 * (node - breaks[k]) / width - 1, slopes)) / width
    if not candidates:
        return None
    # Inside its own interval a polynomial is most accurate; of several peaks the touch point is at
    # the nearest.
    slight = view.method.refinement.near_break**2
    peak = float(min(candidates, key=lambda c: (c[0] > slight, abs(c[1] - node)))[1])
    multiplier, jump = (
        float(np.abs(part[run, column]).sum()) for part in (of.multipliers, of.jumps)
    )
    # The Hamiltonian jumps by the multiplier times the slope.
    off = multiplier * abs(slope) / (view.values.tf - view.values.t0) / of.power
    return TouchPoint(view.index, column, TouchKind.TOUCH, node, peak, at_break, jump, off)


def _end(of: LimitMultipliers, column: int, run: Index, kind: TouchKind) -> TouchPoint | None:
    """An end of a boundary arc, if it is not an end of the phase.

    Along the arc the derivative of the constraint that the controls enter is zero; it comes from
    outside to zero, and there the arc begins. An arc on which that is the first derivative has a
    density of multipliers only, and costates that do not jump.
    """
    view, entry = of.view, kind is TouchKind.ENTRY
    breaks, times = view.layout.mesh.breaks, view.layout.grid.state_times
    edge, order = int(run[0] if entry else run[-1]), view.order(column)
    if edge in (0, times.size - 1) or order not in (1, 2):
        return None
    at = float(times[edge])
    before = np.searchsorted(breaks, at, side="left") - 1
    after = np.searchsorted(breaks, at, side="right")
    # The nearest interval without multipliers but at the end.
    k = int(before if entry else after - 1) if at in breaks else int(before - 1 if entry else after)
    if not 0 <= k < view.layout.mesh.intervals:
        return None
    width = breaks[k + 1] - breaks[k]
    roots = breaks[k] + width * _real_roots(legendre.legder(of.series(column, k), order))
    roots = roots[np.abs(roots - np.clip(roots, *sorted((at, breaks[k + entry])))) < 0.5 * width]
    if not roots.size:
        return None
    place = float(roots[np.argmin(np.abs(roots - at))])
    if order == 1:
        return TouchPoint(view.index, column, kind, at, place, True, 0.0, 0.0)
    count = view.method.arcs.few
    ends = run[:count] if entry else run[-count:]
    node = float(times[ends[np.argmax(np.abs(of.multipliers[ends, column]))]])
    # The nodes themselves say between which of them it must be.
    if not times[ends[0] - 1] < place < times[min(ends[-1] + 1, times.size - 1)]:
        place = node
    jump = float(of.jumps[ends, column].sum())
    return TouchPoint(
        view.index, column, kind, node, place, node in breaks, jump, jump * abs(place - node)
    )


def next_places(
    earlier: Sequence[Sequence[TouchPoint]], now: Sequence[TouchPoint], settings: Refinement
) -> list[float]:
    """Where breaks are to go: to the places that the touch points have now, or extrapolated, when
    earlier moves undershot.

    Moving a break moves the place too, and perhaps as far. From two meshes the secant gives where
    they meet; nodes on both sides of the place bracket it.
    """
    numbered = [_numbered(one) for one in (now, *reversed(earlier))]
    places = []
    for key, point in numbered[0].items():
        seen = list(takewhile(_has_break, (one.get(key) for one in numbered)))
        node, gap = (
            np.array(part)
            for part in zip(
                *[(c.node, c.place - c.node) for c in seen or [point] if c], strict=True
            )
        )
        slope = -1.0
        if node.size > 1 and node[0] != node[1]:
            slope = (gap[0] - gap[1]) / (node[0] - node[1])
        # a step of a fifth to five times the gap: more overshoots (quadrotor-2, suite)
        least = 2 * settings.near_break
        place = float(node[0] - gap[0] / np.clip(slope, -1 / least, -least))
        low, high = node[gap > 0].max(initial=-np.inf), node[gap < 0].min(initial=np.inf)
        if np.isfinite(high - low) and low < high:
            margin = settings.near_break * (high - low)
            place = float(np.clip(place, low + margin, high - margin))
        places.append(place)
    return places


def _has_break(point: TouchPoint | None) -> bool:
    """True if it has a break already, that can only be placed better."""
    return point is not None and point.jump > 0 and point.at_break


def _numbered(of: Sequence[TouchPoint]) -> dict[tuple[int, int, TouchKind, int], TouchPoint]:
    """By constraint, kind and number."""
    return {
        (*one.key, sum(other.key == one.key for other in of[:i])): one for i, one in enumerate(of)
    }
