"""Better controls, looked for by branch and bound: boxes of controls are halved until interval
bounds of H show that none in them is better.

Hansen, Walster, Global Optimization Using Interval Analysis, 2nd ed., Dekker 2004.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.branches import branches
from trajopt.certificate.enclosures import Enclosure
from trajopt.compiled.pointwise import Pointwise

if TYPE_CHECKING:
    from trajopt.certificate.phase_conditions import PhaseConditions

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
TOGETHER = 4  # controls that H does not separate; boxes of more are too many
RINGS = (64, 16, 5, 3)  # beyond the near box to each side, for so many controls together
FAR = 2.0**20  # of a control's size: the last ring
WORK = 3e6  # instructions times boxes, of each group of controls
NARROW = 1e-6  # of a control's size
BETTER = 1e-7  # of the cost over the duration
BOXES = 4000  # at a time: those with the lowest bounds


def groups(e: PhaseConditions) -> list[list[int]]:
    """Controls that H does not separate into a sum."""
    u, H = e.phase.form.u, e.ham.H
    together = np.eye(u.numel(), dtype=bool)
    rows, columns = casadi.hessian(H, u)[0].sparsity().get_triplet()
    together[rows, columns] = True
    arguments, inputs = branches(H, e.symbols)
    for argument in arguments:
        moved = [casadi.depends_on(argument, inputs[3][i]) for i in range(u.numel())]
        together |= np.outer(moved, moved)
    for _ in range(u.numel()):
        together = together @ together
    return [list(map(int, group)) for group in {tuple(np.flatnonzero(row)) for row in together}]


def better_controls(
    e: PhaseConditions, group: list[int], which: Ints, near: tuple[Array, Array]
) -> Array:
    """(nu, points): controls with the least H that was found at some points, in a group of them,
    inside ``near`` and in rings about it up to their limits; those of the answer where none is
    better.
    """
    at = [part[:, which] for part in e.points]
    found = at[3].copy()
    enclosure = _enclosure(e)
    if enclosure is None or len(group) > TOGETHER:
        return found
    function = Pointwise(casadi.Function("H", e.symbols, [e.ham.H]))
    fixed = [np.asarray(v)[:, None] for v in e.fixed]

    def value(controls: Array, points: Ints) -> Array:
        moved = [*[part[:, points] for part in at[:3]], controls, at[4][:, points]]
        with np.errstate(all="ignore"):
            values = np.asarray(function(*moved, *e.fixed))[0]
        return np.where(np.isfinite(values), values, np.inf)

    best = value(found, np.arange(which.size))
    best = np.where(np.isfinite(best), best, np.inf)
    low, high = _cells(e, group, near)
    points = np.repeat(np.arange(which.size), low.shape[1])
    low, high = np.tile(low, which.size), np.tile(high, which.size)
    size, work = e.phase.spans[group][:, None], 0.0
    while points.size and work < WORK:
        e.phase.deadline.check()
        work += points.size * len(enclosure.steps)
        rest = [part[:, points] for part in at]
        same = [np.repeat(v, points.size, axis=1) for v in fixed]
        sides = []
        for side in (low, high, 0.5 * (low + high)):
            controls = rest[3].copy()
            controls[group] = side
            sides.append(controls)
        bounds = enclosure(
            [*rest[:3], sides[0], rest[4], *same], [*rest[:3], sides[1], rest[4], *same]
        )[0][0]
        middle = value(sides[2], points)
        order = np.argsort(-middle, kind="stable")
        lower = order[middle[order] < best[points[order]]]
        best[points[lower]], found[:, points[lower]] = middle[lower], sides[2][:, lower]
        wide = ((high - low) / size).max(axis=0) > NARROW
        kept = np.flatnonzero((bounds < best[points] - BETTER * e.power) & wide)
        kept = kept[np.argsort(bounds[kept] - best[points[kept]], kind="stable")[:BOXES]]
        points, low, high = points[kept], low[:, kept], high[:, kept]
        widest, every = np.argmax((high - low) / size, axis=0), np.arange(points.size)
        first, second = high.copy(), low.copy()
        first[widest, every] = second[widest, every] = 0.5 * (low + high)[widest, every]
        points = np.tile(points, 2)
        low, high = np.hstack([low, second]), np.hstack([first, high])
    return found


def _enclosure(e: PhaseConditions) -> Enclosure | None:
    """None for a tape that cannot be read."""
    try:
        return Enclosure(e.ham.H, e.symbols)
    except RuntimeError:
        return None


def _cells(e: PhaseConditions, group: list[int], near: tuple[Array, Array]) -> tuple[Array, Array]:
    """(controls, cells): lower and upper ends of boxes that cover the limits, or all up to FAR."""
    count = RINGS[len(group) - 1]
    bound, edges = e.phase.form.u_bound, []
    for i in group:
        low, high = float(near[0][i, 0]), float(near[1][i, 0])
        reach = np.maximum(e.phase.spans[i], high - low)
        ring = reach * FAR ** (np.arange(1, count + 1) / count)
        every = np.concatenate([low - ring[::-1], [low, high], high + ring])
        edges.append(np.unique(np.clip(every, bound.lower[i], bound.upper[i])))
    pairs = list(product(*[range(one.size - 1) for one in edges]))
    ends = [
        np.array([[one[k + side] for one, k in zip(edges, cell, strict=True)] for cell in pairs])
        for side in (0, 1)
    ]
    return ends[0].reshape(-1, len(group)).T, ends[1].reshape(-1, len(group)).T
