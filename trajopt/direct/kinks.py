"""Kinks: where smooth controls bend, as they do when a bound becomes active or inactive.

On an interval with a kink inside, neither a higher degree nor narrower pieces pay. The polynomial
through the points on one side of the kink, or else that of the neighbour, meets the bound where the
kink is; a break put there makes both sides smooth, and the next solution shows the place more
exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.phase_view import PhaseView
from trajopt.trajectory.curve import lagrange_basis

Array = NDArray[np.float64]
Side = Callable[[Array], Array]  # a control on one side of a kink, at normalised times


def kinks(view: PhaseView, where: NDArray[np.bool_]) -> list[float]:
    """For intervals among ``where`` on a part of which a control is at its bound, the normalised
    times of the kinks.
    """
    ph = view.layout
    if not ph.nu:
        return []
    at_bound = _at_bound(view)
    found: list[float] = []
    for k in np.flatnonzero(where).tolist():
        here = ph.grid.points_of(k)
        changing = [j for j in range(ph.nu) if len(set(np.sign(at_bound[here, j]).tolist())) > 1]
        places = [_bends(view, k, j, at_bound[here, j]) for j in changing]
        if places:
            found += places[int(np.argmax([len(p) for p in places]))]
        else:
            found += _beside_ends(view, k, at_bound)
    return found


def _beside_ends(view: PhaseView, k: int, at_bound: NDArray[np.int_]) -> list[float]:
    """The kinks between an end of the interval and its nearest point.

    A control is at its bound on one side of the end and free on the other; the polynomial of the
    free side meets the bound within this interval, beside its end.
    """
    ph = view.layout
    start, end = ph.mesh.breaks[k : k + 2]
    places = []
    for other, point, beside in ((k - 1, 0, start), (k + 1, -1, end)):
        if not 0 <= other < ph.mesh.intervals:
            continue
        own = at_bound[ph.grid.points_of(k)][point]
        theirs = at_bound[ph.grid.points_of(other)][-1 - point]
        near = start + (end - start) * ph.grid.rules[k].points[point]
        for j in np.flatnonzero((own != theirs) & ((own == 0) | (theirs == 0))).tolist():
            free = _continued(view, k if own[j] == 0 else other, j)
            bound = _limit(view, int(own[j] or theirs[j]), j)
            places += _meetings(min(beside, near), max(beside, near), free, bound)
    return places


def _limit(view: PhaseView, sign: int, j: int) -> Side:
    bound = view.layout.form.u_bound
    limit = float((bound.lower if sign < 0 else bound.upper)[j])
    return lambda at: np.full(at.shape, limit)


def _at_bound(view: PhaseView) -> NDArray[np.int_]:
    """(points, controls): -1 at the lower bound, 1 at the upper, 0 between."""
    bound = view.layout.form.u_bound
    U = view.values.U
    margin = view.method.arcs.active * view.u_size
    return np.where(bound.lower + margin > U, -1, np.where(bound.upper - margin < U, 1, 0))


def _bends(view: PhaseView, k: int, j: int, at_bound: NDArray[np.int_]) -> list[float]:
    """The kinks of a control that is at its bound on a part of the interval.

    The points say between which two of them a kink must be. Where its sides meet beyond them, it is
    at the nearer, which may be an end of the interval.
    """
    mesh, rule = view.layout.mesh, view.layout.grid.rules[k]
    changes = np.flatnonzero(np.diff(at_bound))
    if changes.size > 2:
        return []
    points = mesh.breaks[k] + (mesh.breaks[k + 1] - mesh.breaks[k]) * rule.points
    parts, places = np.split(np.arange(points.size), changes + 1), list[float]()
    for i, (before, after) in zip(changes.tolist(), itertools.pairwise(parts), strict=True):
        left = _sides(view, k, j, int(at_bound[i]), before, k - 1)
        right = _sides(view, k, j, int(at_bound[i + 1]), after, k + 1)
        start, end = points[i : i + 2].tolist()
        around = 2 * start - end, 2 * end - start
        met = [place for a in left for b in right for place in _meetings(*around, a, b)]
        places.append(float(np.clip(met[0] if met else 0.5 * (start + end), start, end)))
    return places


def _sides(
    view: PhaseView, k: int, j: int, sign: int, own: NDArray[np.intp], neighbour: int
) -> list[Side]:
    """The control on one side of a kink in interval ``k``, the best first: the bound; else the
    polynomial through its ``own`` points there, which are the nearest, and that of the neighbour.
    """
    if sign:
        return [_limit(view, sign, j)]
    found = [_continued(view, k, j, own)] if own.size > 1 else []
    if 0 <= neighbour < view.layout.mesh.intervals:
        found.append(_continued(view, neighbour, j))
    return found


def _meetings(start: float, end: float, left: Side, right: Side) -> list[float]:
    """Where the two sides meet inside the interval, if that is at one place."""
    at = np.linspace(start, end, 65)
    gap = left(at) - right(at)
    changes = np.flatnonzero(np.sign(gap[1:]) != np.sign(gap[:-1]))
    if changes.size != 1:
        return []
    i = int(changes[0])
    share = gap[i] / (gap[i] - gap[i + 1])
    return [float(at[i] + (at[i + 1] - at[i]) * share)]


def _continued(view: PhaseView, k: int, j: int, own: NDArray[np.intp] | None = None) -> Side:
    """The polynomial of a control through all points of an interval, or through its ``own``, for
    times outside it too.
    """
    a, b = view.layout.mesh.breaks[k : k + 2]
    points, u = view.layout.grid.rules[k].points, view.values.U[view.layout.grid.points_of(k), j]
    if own is not None:
        points, u = points[own], u[own]
    return lambda at: np.asarray(lagrange_basis(points, (at - a) / (b - a)) @ u)
