"""Kinks: where smooth controls bend, as they do when a bound begins or ceases to hold them.

On an interval with a kink inside, neither a higher degree nor narrower pieces pay. The polynomials of its neighbours, continued
into it, meet each other, or the bound, where the kink is; a break put there makes both sides smooth, and the next answer tells
the place more exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import lagrange_basis
from trajopt.direct.transcribe import PhaseLayout
from trajopt.direct.values import PhaseValues

Array = NDArray[np.float64]
Side = Callable[[Array], Array]  # a control on one side of a kink, at normalised times

TOUCHING = 1e-5  # of its size: how close to its bound a control counts as being there
LOOK = 64  # stretches of an interval in which a meeting is looked for


def kinks(ph: PhaseLayout, values: PhaseValues, where: NDArray[np.bool_]) -> list[float]:
    """For intervals among ``where`` on a part of which a control is at its bound, the normalised times of the kinks."""
    if not ph.nu:
        return []
    at_bound = _at_bound(ph, values)
    found: list[float] = []
    for k in np.flatnonzero(where).tolist():
        here = slice(ph.first_point[k], ph.first_point[k] + ph.rules[k].points.size)
        changing = [j for j in range(ph.nu) if len(set(np.sign(at_bound[here, j]).tolist())) > 1]
        places = [_bends(ph, values, k, j, at_bound[here, j]) for j in changing]
        if places:
            found += places[int(np.argmax([len(p) for p in places]))]
    return found


def _at_bound(ph: PhaseLayout, values: PhaseValues) -> NDArray[np.int_]:
    """(points, controls): -1 at the lower bound, 1 at the upper, 0 between."""
    bound, size = ph.form.u_bound, np.maximum(np.abs(values.U).max(axis=0), 1e-12)
    lower, upper = values.U - bound.lower < TOUCHING * size, bound.upper - values.U < TOUCHING * size
    return np.where(lower, -1, np.where(upper, 1, 0))


def _bends(ph: PhaseLayout, values: PhaseValues, k: int, j: int, at_bound: NDArray[np.int_]) -> list[float]:
    """The kinks of a control that is at its bound on a part of the interval."""

    def side(sign: int, neighbour: int) -> Side | None:
        if sign:
            limit = float((ph.form.u_bound.lower if sign < 0 else ph.form.u_bound.upper)[j])
            return lambda at: np.full(at.shape, limit)
        return _continued(ph, values, neighbour, j) if 0 <= neighbour < ph.mesh.intervals else None

    changes = np.flatnonzero(np.diff(at_bound))
    if changes.size > 2:
        return []
    points = ph.mesh.breaks[k] + (ph.mesh.breaks[k + 1] - ph.mesh.breaks[k]) * ph.rules[k].points
    places = []
    for i in changes.tolist():
        left, right = side(int(at_bound[i]), k - 1), side(int(at_bound[i + 1]), k + 1)
        met = _meetings(ph, k, left, right) if left is not None and right is not None else []
        # The points themselves say between which two of them it must be.
        places.append(float(np.clip(met[0] if met else points[i : i + 2].mean(), points[i], points[i + 1])))
    return places


def _meetings(ph: PhaseLayout, k: int, left: Side, right: Side) -> list[float]:
    """Where the two sides meet inside the interval, if that is at one place."""
    at = np.linspace(ph.mesh.breaks[k], ph.mesh.breaks[k + 1], LOOK + 1)
    gap = left(at) - right(at)
    changes = np.flatnonzero(np.sign(gap[1:]) != np.sign(gap[:-1]))
    if changes.size != 1:
        return []
    i = int(changes[0])
    share = gap[i] / (gap[i] - gap[i + 1])
    return [float(at[i] + (at[i + 1] - at[i]) * share)]


def _continued(ph: PhaseLayout, values: PhaseValues, k: int, j: int) -> Side:
    """The polynomial of a control on an interval, for times outside it too."""
    a, b = ph.mesh.breaks[k : k + 2]
    rule, first = ph.rules[k], ph.first_point[k]
    u = values.U[first : first + rule.points.size, j]
    return lambda at: np.asarray(lagrange_basis(rule.points, (at - a) / (b - a)) @ u)
