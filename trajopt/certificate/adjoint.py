"""The costate equation, and multipliers of state constraints fitted to it.

A state constraint adds a measure to the costate equation: the costate may jump anywhere inside an
interval, where the answer's polynomial cannot follow. In an interval in which a constraint comes
near its limit the equation, which is linear in the costate, is solved from the value at the start
of the interval; non-negative multipliers at points in between are fitted so that the value at the
end is reached and H is stationary in the controls that are free to move.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.linearized_motion import gauss
from trajopt.certificate.state_constraints import (
    STATIONARITY,
    CostateSystem,
    MultiplierCandidates,
    NearLimits,
    costates_at_breaks,
    runs,
)
from trajopt.second_order.linearized import require_finite

if TYPE_CHECKING:
    from trajopt.certificate.phase_conditions import PhaseConditions

Array = NDArray[np.float64]
MOST_TOGETHER = 24  # intervals: the time of a fit grows with the cube of their number
MOST_ENTRIES = 4_000_000  # of matrices that are solved at once
# of the cost, a tenth of the usual tolerance: a gain by controls at bounds that has intervals
# fitted together
PROMISED = 1e-7


@dataclass(frozen=True, eq=False)
class Fit:
    """Costates of one phase, and the multipliers of its state constraints."""

    costate: Array  # (nx, N) at the quadrature points
    # (nx, intervals): what is left of the change of the costates over each interval, relative to
    # their sizes
    left: Array
    active: NDArray[np.bool_]  # (intervals,): where a state constraint may have a multiplier
    slack: float  # the sum of multiplier times distance from the limit, in units of the cost
    # the derivative of the cost by static variables, as far as those move the constraints
    by_static: Array
    # (intervals,): the multipliers times the partial derivatives of the constraints by time
    by_time: Array
    # (intervals,): the multipliers times the rates of the constraints, where those do not jump
    by_rate: Array
    # (nx, intervals): distance of the costates from the integrals of their rates; zero on active
    # intervals
    inside: Array
    strength: float = (
        0.0  # the sum of the multipliers times the sizes of the constraints, relative to the cost
    )
    mismatch: float = (
        0.0  # what costates that make H stationary inside intervals miss at their ends, relative
    )
    # (state constraints, intervals): the multipliers
    mass: Array = field(default_factory=lambda: np.zeros((0, 0)))
    near: NearLimits | None = None  # where state constraints are near their limits


def fitted(e: PhaseConditions) -> Fit:
    """Fit the multipliers of state constraints, interval by interval; together where that leaves
    controls that would move.
    """
    ph = e.phase
    given = e.generalized(e.given, e.multipliers)
    require_finite(e.given[0][0], given["x"])
    rates = given["x"].reshape(-1, *ph.times.shape)
    starts, ends = costates_at_breaks(e)
    change = ends - starts
    costate = e.given[4].copy()
    way = np.einsum("ij,nkj->nki", gauss(ph.times.shape[1])[2], rates) * ph.widths[None, :, None]
    between = costate.reshape(rates.shape) - starts[:, :, None] + way
    left = _defects(e, between, change + (rates * ph.quadrature[None]).sum(axis=2))
    inside = np.abs(between).max(axis=2, initial=0.0) / e.costate_sizes[:, None]
    nothing = np.zeros(ph.widths.size)
    constraints = NearLimits.of(e)
    if constraints is None:
        return Fit(
            costate, left, nothing > 0, 0.0, np.zeros(e.ham.s.numel()), nothing, nothing, inside
        )
    system = CostateSystem.of(e, given["x"], constraints)
    shares = _Shares.of(e, constraints)
    after = np.ones(
        ph.widths.size, dtype=bool
    )  # whether the jump at the end of an interval is part of it, or that at its start
    for k in np.flatnonzero(constraints.intervals):
        ph.deadline.check()
        here, given_by = system.points(int(k)), system.candidates(int(k))
        sides, (left[:, k], _, sizes) = system.best(int(k), given_by, STATIONARITY)
        after[k] = sides is system.ends[0]
        # Inside the interval stationarity decides about the distribution of the multipliers.
        gap, costate[:, here], own = system.solved(
            here, given_by, (sides[0][:, k], sides[1][:, k]), 1.0
        )
        shares.put(int(k), given_by, sizes, own, float(np.abs(gap).max(initial=0.0)))
    for first, last in runs(constraints.intervals):
        together = _together(system, first, last, costate, np.abs(left[:, first:last]).sum(axis=1))
        if together is not None:
            given_by, gap, costate[:, system.points(first, last)], sizes = together
            left[:, first:last], after[first:last] = 0.0, True
            left[:, last - 1] = gap
            shares.clear(slice(first, last))
            shares.put(last - 1, given_by, sizes, sizes, float(np.abs(gap).max(initial=0.0)))
    _count_jumps(system, shares, left, after)
    inside = np.where(constraints.intervals[None, :], 0.0, inside)
    return Fit(
        costate,
        left,
        constraints.intervals,
        max(float(shares.slack.sum()), 0.0),
        shares.by_static.sum(axis=0),
        shares.by_time,
        shares.by_rate,
        inside,
        max(float(shares.strength.sum()), 0.0),
        float(shares.mismatch.max(initial=0.0)),
        np.maximum(shares.mass, 0.0),
        constraints,
    )


def _defects(e: PhaseConditions, between: Array, whole: Array) -> Array:
    """(nx, intervals): the least change of the costates at both ends of an interval with which the
    equation holds over it, with the sign of what is missing.

    Inside an interval the answer's costates are less accurate than at its ends, so that the
    equation, which is linear, is solved from the start of the interval, as correction of those
    costates. Where it amplifies what it starts from, the end is reached from a start that differs
    little: that counts, not the distance at the end.

    Parameters
    ----------
    between : (nx, intervals, points), what the answer's costates leave of the integrated equation
    at the quadrature points
    whole : (nx, intervals), the same at the ends
    """
    ph, size = e.phase, e.costate_sizes
    n, points = size.size, ph.times.shape[1]
    _, weights, inner = gauss(points)
    found = np.zeros((n, ph.widths.size))
    some = max(1, MOST_ENTRIES // (points * n) ** 2)
    for first in range(0, ph.widths.size, some):
        ph.deadline.check()
        here = slice(first, first + some)
        at = tuple(part[:, first * points : (first + some) * points] for part in e.given)
        h, form = ph.widths[here], ph.form
        slopes = e.values(casadi.jacobian(form.f, form.x).T.reshape((-1, 1)), at).T.reshape(
            h.size, points, n, n
        )
        slopes = np.nan_to_num(
            slopes * size[None, None, :, None] / size[None, None, None, :]
        )  # costates relative to sizes
        rest = (
            (between[:, here] / size[:, None, None])
            .transpose(1, 2, 0)
            .reshape(h.size, points * n, 1)
        )
        block = np.einsum("k,ij,kjba->kiajb", h, inner, slopes).reshape(
            h.size, points * n, points * n
        )
        right = np.concatenate(
            [np.tile(np.eye(n), (points, 1))[None].repeat(h.size, axis=0), -rest], axis=2
        )
        solved = np.linalg.solve(np.eye(points * n)[None] + block, right).reshape(
            h.size, points, n, n + 1
        )
        change = -np.einsum("k,j,kjba,kjbm->kam", h, weights, slopes, solved)
        flow = np.eye(n)[None] + change[:, :, :n]
        gap = (whole[:, here] / size[:, None]).T - change[:, :, n]
        ends = np.linalg.solve(np.eye(n)[None] + flow @ flow.transpose(0, 2, 1), gap[:, :, None])
        found[:, here] = np.copysign(
            (np.abs(ends) + np.abs(flow.transpose(0, 2, 1) @ ends))[:, :, 0], gap
        ).T
    return found


@dataclass(frozen=True, eq=False)
class _Shares:
    """What the multipliers of each interval add; the fields are those of ``Fit``, interval by
    interval.
    """

    constraints: NearLimits
    size: Array  # of the constraints, relative to the cost
    slack: Array
    by_static: Array
    by_time: Array
    by_rate: Array
    strength: Array
    mismatch: Array
    mass: Array  # (constraints, intervals)

    @staticmethod
    def of(e: PhaseConditions, constraints: NearLimits) -> _Shares:
        count, size = e.phase.widths.size, e.sizes_of(e.ham.of_states) / e.cost
        by_static = np.zeros((count, e.ham.s.numel()))
        return _Shares(
            constraints,
            size,
            np.zeros(count),
            by_static,
            np.zeros(count),
            np.zeros(count),
            np.zeros(count),
            np.zeros(count),
            np.zeros((size.size, count)),
        )

    def put(
        self, k: int, given: MultiplierCandidates, sizes: Array, own: Array, mismatch: float
    ) -> None:
        """Multipliers that reach the end of an interval, and those that make H stationary in it."""
        exceeded = self.constraints.beyond[given.rows, given.intervals]
        self.slack[k] = float(sizes @ given.distance + (sizes * given.mass) @ exceeded)
        self.by_static[k] = sizes @ given.by_static
        self.by_time[k], self.by_rate[k] = float(own @ given.by_time), float(own @ given.rate)
        self.strength[k] = float((sizes * given.mass) @ self.size[given.rows])
        self.mismatch[k] = mismatch
        np.add.at(self.mass, (given.rows, given.intervals), sizes * given.mass)

    def clear(self, some: slice) -> None:
        for part in (
            self.slack,
            self.by_static,
            self.by_time,
            self.by_rate,
            self.strength,
            self.mismatch,
        ):
            part[some] = 0.0
        self.mass[:, some] = 0.0

    def add(self, k: int, which: Any, sizes: Array, times: float) -> None:
        """Multipliers of a jump at the end of an interval."""
        near = self.constraints
        self.slack[k] += times * float(sizes @ near.distance[which])
        self.by_static[k] += times * (sizes @ near.by_static[which])
        self.by_time[k] += times * float(sizes @ near.by_time[which])
        self.by_rate[k] += times * float(sizes @ near.rate[which])
        self.strength[k] += times * float(sizes @ self.size[which[0]])
        np.add.at(self.mass, (which[0], k), times * sizes)


def _count_jumps(
    system: CostateSystem, shares: _Shares, left: Array, after: NDArray[np.bool_]
) -> None:
    """Count the jump of the costates at every break once: it is part of the interval before it, of
    that after it, or of both.
    """
    counted = np.zeros(after.size + 1)
    np.add.at(counted, np.arange(after.size) + after, 1)
    for k in np.flatnonzero(counted[1:-1] != 1):
        gap, sizes, which = system.jump(int(k))
        missing = 1 - counted[k + 1]
        if missing > 0:
            left[:, k] += np.where(left[:, k] >= 0, np.abs(gap), -np.abs(gap))
        shares.add(int(k), which, sizes, missing)


def _together(
    system: CostateSystem, first: int, last: int, costate: Array, left: Array
) -> tuple[MultiplierCandidates, Array, Array, Array] | None:
    """Multipliers of consecutive intervals fitted together, where those of each promise a gain and
    these a smaller one.

    ``left`` is what the fits of each leave of the costate equation, in all. A limit of a control
    and a state constraint may hold the same motion, as a closed valve and a full tank do. Their
    multipliers are not unique then, and those of the answer need not be such that the control stays
    at its limit.
    """
    if not 2 <= last - first <= MOST_TOGETHER:
        return None
    here = system.points(first, last)
    promised = system.promised(here, costate[:, here].T)
    if promised <= PROMISED:
        return None
    given = system.joined(first, last)
    ends = system.ends[0][0][:, first], system.ends[0][1][:, last - 1]
    # Multipliers of one constraint may serve stationarity at the expense of the ends: less weight
    # of stationarity decides then.
    for weight in (1.0, STATIONARITY**0.5):
        gap, fitted_costate, sizes = system.solved(here, given, ends, weight)
        if (
            np.all(np.abs(gap) <= 2 * left + PROMISED)
            and system.promised(here, fitted_costate.T) <= 0.5 * promised
        ):
            return given, gap, fitted_costate, sizes
    return None
