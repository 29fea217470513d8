"""The costate equation over one interval in which a state constraint may push, at any place and by any amount.

The push makes the costate jump somewhere inside, where the answer's polynomial cannot follow. So the polynomial is not used: the
equation, which is linear in the costate, is solved from the value at the start of the interval, and what is left at its end must
come from pushes of the right sign at points in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from trajopt.certificate.along import POINTS
from trajopt.certificate.extremal import Extremal, sides
from trajopt.indirect.hamiltonian import Constraint

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pushes:
    """What constraints of states do over the intervals in which they act."""

    left: Array  # (nx, intervals): what no push explains of the change of the costates, relative to their sizes
    by_static: Array  # the derivative of the cost by static variables, as far as those move the constraints


def pushed_intervals(e: Extremal) -> NDArray[np.intp]:
    """The intervals in which a constraint of states may push."""
    acts = np.zeros(e.phase.widths.size, dtype=bool)
    for side, _ in e.state_constraints:
        acts |= (side != 0).reshape(e.phase.times.shape).any(axis=1)
    return np.flatnonzero(acts)


def pushes(e: Extremal, intervals: NDArray[np.intp]) -> Pushes:
    """The pushes of the right sign that explain the costates best, interval by interval.

    From just before the start of an interval to just before its end; a push may come at either of them, too.
    """
    ph, n = e.phase, e.phase.form.x.numel()
    count = ph.times.shape[1]
    slopes = e.values(casadi.jacobian(ph.form.f, ph.form.x).T.reshape((-1, 1)))
    slopes = slopes.T.reshape(-1, n, n)  # of each point: d f_i / d x_j, rows i
    effects = [_effects(e, c, side) for c, side in e.active]
    left, total = np.empty((n, intervals.size)), np.zeros(e.ham.s.numel())
    ends = ph.costate(ph.breaks[1:], left=True), ph.costate(ph.starts, left=True)
    for place, k in enumerate(intervals):
        here = slice(k * count, (k + 1) * count)
        own = e.points[4][:, here].T
        rest = e.augmented["x"][:, here].T - np.einsum("kij,ki->kj", slopes[here], own)  # dH/dx without its costate terms
        inner, last, particular = _transition(slopes[here], rest, float(ph.widths[k]))
        defect = (ends[0][:, k] - last @ ends[1][:, k] - particular) / e.costate_sizes
        to_end = np.concatenate([last[None], last @ np.linalg.inv(inner), np.eye(n)[None]])  # from the start, points and end
        some = [effect for effect in effects if effect.side[here].any()]
        directions = [np.einsum("kij,kj->ki", to_end, effect.jumps[k]) for effect in some]
        left[:, place], sizes = _explained(defect, np.vstack(directions).T / e.costate_sizes[:, None])
        total += sizes @ np.vstack([effect.by_static[k] for effect in some])
    return Pushes(left, total)


@dataclass(frozen=True, eq=False)
class Effects:
    """Of a push of one constraint by one, at the start of each interval, at its points and at its end."""

    side: Array  # (points,)
    jumps: Array  # (intervals, 1 + points + 1, nx): of the costates
    by_static: Array  # (intervals, 1 + points + 1, static variables): derivatives of the cost


def _effects(e: Extremal, constraint: Constraint, side: Array) -> Effects:
    ph = e.phase
    shape = ph.times.shape

    def everywhere(by: Any) -> Array:
        """(intervals, 1 + points + 1, size) of a gradient, the right sign for a push."""
        if not by.numel():
            return np.zeros((shape[0], shape[1] + 2, 0))
        gradient = casadi.gradient(constraint.expression, by)
        inner = e.values(gradient).T.reshape(*shape, -1)
        first, last = np.split(e.values(gradient, e.at_breaks).T[:, None, :], 2)
        sign = np.where((side.reshape(shape) == -1).any(axis=1), -1.0, 1.0)
        return np.asarray(sign[:, None, None] * np.concatenate([first, inner, last], axis=1))

    # A push adds side . S to H: the costate falls along its gradient.
    return Effects(side, -everywhere(ph.form.x), everywhere(e.ham.s))


def end_pushes(e: Extremal, slope: Array, last: bool, fixed: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> Array:
    """What is left of the derivative of the cost by a phase's first or last state after path constraints have pushed there.

    ``fixed``: which states are at their own lower and upper limits there, and may have a slope of one sign.
    """
    column = -1 if last else 0
    directions = []
    for constraint, _ in e.active:
        if not constraint.of_state:
            values = np.hstack([e.values(constraint.expression), e.values(constraint.expression, e.at_breaks)[:, [column]]])
            side = sides(values, np.array([constraint.lower]), np.array([constraint.upper]))[0, -1]
            gradient = e.values(casadi.gradient(constraint.expression, e.phase.form.x), e.at_breaks)[:, column]
            directions += [-side * gradient / e.costate_sizes] if side else []
    if not directions:
        return slope
    units = np.eye(slope.size)
    every = np.column_stack([*directions, units[:, fixed[0]], -units[:, fixed[1]]])
    found = _explained(slope / e.costate_sizes, every)[1][: len(directions)]
    return np.asarray(slope - np.column_stack(directions) @ found * e.costate_sizes)


def _explained(defect: Array, directions: Array) -> tuple[Array, Array]:
    """What is left of a defect after the best sum of directions, none of them backwards, and how much of each that has."""
    lengths = np.abs(directions).max(axis=0)
    if not np.all(np.isfinite(defect)) or not np.all(np.isfinite(lengths)):
        return defect, np.zeros(lengths.size)
    some = lengths > 0
    sizes = np.zeros(lengths.size)
    sizes[some] = nnls(directions[:, some] / lengths[some], defect)[0] / lengths[some]
    return np.asarray(defect - directions @ sizes), sizes


def _transition(slopes: Array, rest: Array, width: float) -> tuple[Array, Array, Array]:
    """Of costate' = -f_x^T costate - rest over an interval: the fundamental matrix at its points and at its end, and the part
    of the end that does not depend on the start. By collocation at the quadrature points, of order twice their number."""
    points, n = rest.shape
    whole, inner_weights = _weights()
    block = np.einsum("ij,jlk->ikjl", width * inner_weights, slopes).reshape(points * n, points * n)
    right = np.concatenate([np.tile(np.eye(n), (points, 1)), -width * (inner_weights @ rest).reshape(-1, 1)], axis=1)
    solved = np.linalg.solve(np.eye(points * n) + block, right).reshape(points, n, n + 1)
    rates = -np.einsum("jlk,jlm->jkm", slopes, solved)
    rates[:, :, n] -= rest
    end = width * np.einsum("j,jkm->km", whole, rates)
    return solved[:, :, :n], np.eye(n) + end[:, :n], end[:, n]


@lru_cache(maxsize=1)
def _weights() -> tuple[Array, Array]:
    """Integrals of the Lagrange polynomials over [0, 1], and from 0 to each point."""
    size = POINTS.size
    values = np.linalg.inv(np.polynomial.legendre.legvander(2 * POINTS - 1, size - 1))
    integrals = np.polynomial.legendre.legint(values, lbnd=-1, axis=0) / 2
    inner = np.polynomial.legendre.legvander(2 * POINTS - 1, size) @ integrals
    whole = np.polynomial.legendre.legvander(np.ones(1), size) @ integrals
    return whole[0], inner
