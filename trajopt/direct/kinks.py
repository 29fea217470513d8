"""Kinks: where smooth controls bend, as they do when a bound becomes active or inactive.

On an interval with a kink inside, neither a higher degree nor narrower pieces pay. The polynomials
of its neighbours, continued into it, meet each other, or the bound, where the kink is; a break put
there makes both sides smooth, and the next solution shows the place more exactly.
"""

from __future__ import annotations

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
    """The kinks of a control that is at its bound on a part of the interval."""
    ph = view.layout

    def side(sign: int, neighbour: int) -> Side | None:
        if sign:
            return _limit(view, sign, j)
        return _continued(view, neighbour, j) if 0 <= neighbour < ph.mesh.intervals else None

    changes = np.flatnonzero(np.diff(at_bound))
    if changes.size > 2:
        return []
    points = (
        ph.mesh.breaks[k] + (ph.mesh.breaks[k + 1] - ph.mesh.breaks[k]) * ph.grid.rules[k].points
    )
    places = []
    for i in changes.tolist():
        left, right = side(int(at_bound[i]), k - 1), side(int(at_bound[i + 1]), k + 1)
        met = (
            _meetings(ph.mesh.breaks[k], ph.mesh.breaks[k + 1], left, right)
            if left and right
            else []
        )
        # The points themselves say between which two of them it must be.
        places.append(
            float(np.clip(met[0] if met else points[i : i + 2].mean(), points[i], points[i + 1]))
        )
    return places


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


def _continued(view: PhaseView, k: int, j: int) -> Side:
    """The polynomial of a control on an interval, for times outside it too."""
    a, b = view.layout.mesh.breaks[k : k + 2]
    rule, u = view.layout.grid.rules[k], view.values.U[view.layout.grid.points_of(k), j]
    return lambda at: np.asarray(lagrange_basis(rule.points, (at - a) / (b - a)) @ u)
