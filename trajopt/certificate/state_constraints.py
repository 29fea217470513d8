"""Non-negative multipliers of state constraints: where they may act, and those that fit costates at
breaks and stationarity.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from trajopt.certificate.hamiltonian_system import Rows
from trajopt.certificate.linearized_motion import gauss
from trajopt.second_order.linearized import require_finite

if TYPE_CHECKING:
    from trajopt.certificate.phase_conditions import PhaseConditions

Array = NDArray[np.float64]
STATIONARITY = 1e-4  # weight of stationarity beside the end of the interval, both relative
INACTIVE = 1e-2  # weight of multipliers away from their limit
CLOSE = 1e-6  # weight of the distance from the answer's costates
# times as far from its limit a constraint may have a multiplier beside an interval in which it is
# near
AROUND = 30.0
DEGREE = 7  # of densities of multipliers in an interval
ROUNDS = 4  # in which controls at bounds that would leave them join the free ones
WRONG_SIGN = 1e-6  # slope of H, relative, at which a control would leave its bound


def costates_at_breaks(e: PhaseConditions) -> tuple[Array, Array]:
    """Costates at the start and at the end of each interval, just after: a jump at a break belongs
    to the interval before it.

    Collocation has the multipliers of an interval at its points, the last of which is its end: just
    before that the costate still lacks what a constrained arc adds, just after it is right.
    """
    ph = e.phase
    ends = ph.costate(ph.breaks[1:])
    ends[:, -1] = ph.costate(ph.breaks[-1:], left=True)[:, 0]
    return ph.costate(ph.starts), ends


@dataclass(frozen=True, eq=False)
class NearLimits:
    """State constraints near their limits. The points of an interval: its start, its quadrature
    points, its end.

    Arrays are (constraints, intervals, points, ...).
    """

    intervals: NDArray[np.bool_]
    near: NDArray[np.bool_]
    distance: Array
    # (constraints, intervals): how far a touched constraint exceeds its limit in an interval or
    # beside it
    beyond: Array
    jumps: Array  # of the costate, by a multiplier of one
    by_static: Array
    by_time: Array
    rate: Array  # towards the limit; of both sides of a break the smaller one

    @staticmethod
    def of(e: PhaseConditions) -> NearLimits | None:
        from trajopt.certificate.phase_conditions import NEAR

        rows, ph = e.ham.of_states, e.phase
        if not rows.size:
            return None
        size = e.sizes_of(rows)[:, None, None]
        distance, side = (_everywhere(e, inner, ends) for inner, ends in zip(
            e.distances(rows, e.given), e.distances(rows, e.at_breaks), strict=True))  # fmt: skip
        near = np.asarray(distance <= NEAR * size)
        if not near.any():
            return None
        # A limit met between two points, or in the interval beside, may act anywhere around.
        met = np.asarray(near.any(axis=2))
        grown = met.copy()
        grown[:, 1:] |= met[:, :-1]
        grown[:, :-1] |= met[:, 1:]
        allowed = grown[:, :, None] & (distance <= AROUND * NEAR * size)
        intervals = np.asarray(allowed.any(axis=(0, 2)))
        sign = np.where(side == -1, -1.0, 1.0)

        def by(symbols: Any) -> Array:
            if not symbols.numel():
                return np.zeros((*near.shape, 0))
            column = casadi.jacobian(rows.expression, symbols).T.reshape(
                (-1, 1)
            )  # rows after one another
            values = [
                e.values(column, at).reshape(rows.size, symbols.numel(), -1)
                for at in (e.given, e.at_breaks)
            ]
            parts = [
                _everywhere(e, values[0][:, i], values[1][:, i]) for i in range(symbols.numel())
            ]
            return np.asarray(sign[..., None] * np.stack(parts, axis=-1))

        # A multiplier m >= 0 adds m * sign * S to H: the costate falls along its gradient.
        by_state, by_time = by(ph.form.x), by(ph.form.t)[..., 0]
        f = _everywhere(e, e.values(ph.form.f, e.given), e.values(ph.form.f, e.at_breaks))
        rate = _smaller_side(by_time + np.einsum("rkpi,ikp->rkp", by_state, f))
        exceeded = np.where(_on_boundary_arcs(allowed), 0.0, _exceeded(e, rows))
        return NearLimits(
            intervals, allowed, distance, exceeded, -by_state, by(e.ham.s), by_time, rate
        )


def runs(active: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First interval of each run in which a constraint acts, and the first behind it.

    >>> runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _on_boundary_arcs(near: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(rows, intervals): runs in which a row is near its limit all along an interval.

    There multipliers are spread, and what the row exceeds at one point is not what all of them
    gain. The atom of a touch point may stand beside its place, and what the row exceeds around it
    counts.
    """
    found = np.zeros(near.shape[:2], dtype=bool)
    for row, here in enumerate(near):
        for first, last in runs(here.any(axis=1)):
            found[row, first:last] = here[first:last].all(axis=1).any()
    return found


def _exceeded(e: PhaseConditions, rows: Rows) -> Array:
    """(rows, intervals): the most by which a row exceeds a limit in an interval or in those beside
    it.
    """
    inner, ends = (e.values(rows.expression, at) for at in (e.given, e.at_breaks))
    values = _everywhere(e, inner, ends)
    over = np.maximum(values - rows.upper[:, None, None], rows.lower[:, None, None] - values).max(
        axis=2
    )
    wide = np.pad(np.maximum(over, 0.0), ((0, 0), (1, 1)))
    return np.asarray(np.maximum(np.maximum(wide[:, :-2], wide[:, 2:]), wide[:, 1:-1]))


def _smaller_side(rate: Array) -> Array:
    """Rates (rows, intervals, points); where they jump at a break the smaller of both, zero where
    their signs differ.
    """
    before, after = rate[:, :-1, -1], rate[:, 1:, 0]
    both = np.where(
        before * after > 0, np.sign(before) * np.minimum(np.abs(before), np.abs(after)), 0.0
    )
    found = rate.copy()
    found[:, :-1, -1] = found[:, 1:, 0] = both
    return found


def _everywhere(e: PhaseConditions, inner: Array, ends: Array) -> Array:
    """(rows, intervals, start, points and end) from values at the quadrature points and at both
    ends of the intervals.
    """
    shape = e.phase.times.shape
    first, last = np.split(ends, 2, axis=1)
    return np.concatenate([first[:, :, None], inner.reshape(-1, *shape), last[:, :, None]], axis=2)


@dataclass(frozen=True, eq=False)
class MultiplierCandidates:
    """Multipliers that may act in one interval: atoms and densities, each of one unit."""

    rows: NDArray[np.intp]  # their constraints
    intervals: NDArray[np.intp]
    columns: Array  # (candidates, start and points and end, nx): what they add to the costates
    mass: Array
    distance: Array  # mass times distance from the limit
    by_static: Array
    by_time: Array
    rate: Array
    smooth: NDArray[np.bool_]  # densities, and atoms at the ends of the interval
    # (start and points and end, nx, nx): the costates that follow from those at the start
    flow: Array
    own: Array  # (start and points and end, nx): and from the cost


def bernstein(places: Array) -> Array:
    """(DEGREE + 1, places): the Bernstein polynomials on [0, 1].

    >>> bernstein(np.array([0.0, 0.5, 1.0])).sum(axis=0)
    array([1., 1., 1.])
    """
    k = np.arange(DEGREE + 1)[:, None]
    binomial = np.array([float(comb(DEGREE, int(i))) for i in k[:, 0]])[:, None]
    return np.asarray(binomial * places[None, :] ** k * (1 - places[None, :]) ** (DEGREE - k))


@dataclass(frozen=True, eq=False)
class CostateSystem:
    """What each interval needs to solve its costate equation."""

    e: PhaseConditions
    constraints: NearLimits
    rates: Array  # (N, nx, nx): df_i/dx_j at the quadrature points
    rest: Array  # (N, nx): dH/dx without its costate terms
    stationary: Array  # (N, nu): derivatives of H by controls, augmented
    slopes: Array  # (N, nx, nu)
    free: NDArray[np.bool_]  # (N, nu)
    ends: tuple[tuple[Array, Array], tuple[Array, Array]]  # just after breaks, and just before

    @staticmethod
    def of(e: PhaseConditions, by_state: Array, constraints: NearLimits) -> CostateSystem:
        from trajopt.certificate.phase_conditions import NEAR

        ph, form, n = e.phase, e.phase.form, e.phase.form.x.numel()
        slopes_of_rates = e.values(casadi.jacobian(form.f, form.x).T.reshape((-1, 1)), e.given)
        require_finite(e.given[0][0], slopes_of_rates)
        rates = slopes_of_rates.T.reshape(-1, n, n)
        rest = by_state.T - np.einsum("kij,ki->kj", rates, e.given[4].T)
        nu = form.u.numel()
        stationary, slopes = np.zeros((rates.shape[0], nu)), np.zeros((rates.shape[0], n, nu))
        if nu:
            gradient, jacobian = e.slopes
            stationary = (gradient + np.einsum("nri,rn->in", jacobian, e.multipliers))[:nu].T
            slopes = e.rate_slopes[:, :, :nu]
        near = NEAR * ph.spans[:, None]
        free = (e.given[3] > form.u_bound.lower[:, None] + near) & (
            e.given[3] < form.u_bound.upper[:, None] - near
        )
        if (
            e.ham.mixed.size and nu
        ):  # multipliers of mixed constraints take part of the slope: such controls are not free
            held = (
                np.einsum(
                    "nri,rn->in",
                    np.abs(e.slopes[1][:, form.g.numel() :, :nu]),
                    np.abs(e.mixed_sides),
                )
                > 0
            )
            free &= ~held
        return CostateSystem(
            e,
            constraints,
            rates,
            rest,
            stationary,
            slopes,
            free.T,
            (
                costates_at_breaks(e),
                (ph.costate(ph.starts, left=True), ph.costate(ph.breaks[1:], left=True)),
            ),
        )

    def candidates(self, k: int) -> MultiplierCandidates:
        """Multipliers that may act in an interval, and the costates that follow from one unit of
        each.

        An atom at every point at which a constraint is near, and where it is near all along an
        interval, densities: Bernstein polynomials, of which non-negative sums are non-negative.
        """
        e, near = self.e, self.constraints
        count, n, width = e.phase.times.shape[1], e.phase.form.x.numel(), float(e.phase.widths[k])
        here = slice(k * count, (k + 1) * count)
        inner, last, particular = transition(self.rates[here], self.rest[here], width)
        flow = np.concatenate(
            [np.eye(n)[None], inner[:, :, :n], last[None]]
        )  # at start, points, end
        own = np.concatenate([np.zeros((1, n)), inner[:, :, n], particular[None]])
        back = np.linalg.inv(flow)
        pulled = np.einsum(
            "pij,rpj->rpi", back, near.jumps[:, k]
        )  # jumps at every point, carried to the start
        rows, at = np.nonzero(near.near[:, k])
        sign = np.ones(rows.size)
        if k == e.phase.widths.size - 1:
            # The last value of the answer's costates is before or behind the atom at the end of the
            # phase: either way is open here, and transversality decides about the sign.
            last_point = at == count + 1
            rows, at, sign = (
                np.append(rows, rows[last_point]),
                np.append(at, at[last_point]),
                np.append(sign, -sign[last_point]),
            )
        later = np.arange(count + 2)[None, :] >= at[:, None]
        atoms = np.einsum("m,pij,mj,mp->mpi", sign, flow, pulled[rows, at], later)
        columns, mass = [atoms], [np.ones(rows.size)]
        parts = (near.distance, near.by_static, near.by_time, near.rate)
        others = [
            (near.distance[rows, k, at], *((sign * part[rows, k, at].T).T for part in parts[1:]))
        ]
        along = np.flatnonzero(near.near[:, k].all(axis=1))
        nodes, weights, integrals = gauss(count)
        shapes = bernstein(nodes)  # (functions, points)
        for row in along:
            forcing = width * shapes[:, :, None] * pulled[row, 1:-1][None]  # (functions, points, n)
            passed = np.concatenate([
                np.zeros((len(shapes), 1, n)), np.einsum("pq,fqi->fpi", integrals, forcing),
                np.einsum("q,fqi->fi", weights, forcing)[:, None],
            ], axis=1)  # fmt: skip
            columns.append(np.einsum("pij,fpj->fpi", flow, passed))
            share = width * shapes * weights[None, :]
            mass.append(share.sum(axis=1))
            others.append(tuple(share @ part[row, k, 1:-1] for part in parts))
        which = np.concatenate([rows, np.repeat(along, len(shapes))])
        smooth = np.concatenate(
            [(at == 0) | (at == count + 1), np.ones(along.size * len(shapes), dtype=bool)]
        )
        smooth &= bool(along.size)
        distance, by_static, by_time, rate = (
            np.concatenate(part) for part in zip(*others, strict=True)
        )
        place = np.full(which.size, k)
        return MultiplierCandidates(
            which,
            place,
            np.concatenate(columns),
            np.concatenate(mass),
            distance,
            by_static,
            by_time,
            rate,
            smooth,
            flow,
            own,
        )

    def joined(self, first: int, last: int) -> MultiplierCandidates:
        """The multipliers of consecutive intervals; what each adds to the costates is carried
        through those that follow.
        """
        parts = [self.candidates(k) for k in range(first, last)]
        n = self.e.phase.form.x.numel()
        flow, own, before = [], [], (np.eye(n), np.zeros(n))
        for part in parts:
            flow.append(part.flow @ before[0])
            own.append(part.own + part.flow @ before[1])
            before = flow[-1][-1], own[-1][-1]
        columns = []
        for i, part in enumerate(parts):
            passed = [
                np.zeros((part.rows.size, earlier.flow.shape[0], n)) for earlier in parts[:i]
            ] + [part.columns]
            for later in parts[i + 1 :]:
                passed.append(np.einsum("pij,mj->mpi", later.flow, passed[-1][:, -1]))
            columns.append(_inner_points(passed, axis=1))

        def every(name: str) -> Any:
            return np.concatenate([getattr(part, name) for part in parts])

        return MultiplierCandidates(
            every("rows"),
            every("intervals"),
            np.concatenate(columns),
            every("mass"),
            every("distance"),
            every("by_static"),
            every("by_time"),
            every("rate"),
            every("smooth"),
            _inner_points(flow, axis=0),
            _inner_points(own, axis=0),
        )

    def points(self, first: int, last: int | None = None) -> slice:
        """The quadrature points of an interval, or of all from one to before another."""
        count = self.e.phase.times.shape[1]
        return slice(first * count, (first + 1 if last is None else last) * count)

    def best(
        self, k: int, given: MultiplierCandidates, weight: float
    ) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
        """The better of two fits, with its ends: multipliers at a break belong to the interval
        before it, or to the one after.
        """
        here = self.points(k)
        found = [
            self.solved(here, given, (ends[0][:, k], ends[1][:, k]), weight) for ends in self.ends
        ]
        scores = []
        for left, costate, _ in found:
            slope = np.abs(self._slope(here, costate.T))
            scores.append(
                float(
                    slope[self.free[here] | self._leaving(here, costate.T)].sum()
                    + np.abs(left).sum() / weight
                )
            )
        top = int(np.nanargmin(np.nan_to_num(scores, nan=np.inf)))
        return self.ends[top], found[top]

    def jump(self, k: int) -> tuple[Array, Array, Any]:
        """The jump of the answer's costates at the end of an interval: what is left of it, its
        multipliers and where they are.
        """
        e, near = self.e, self.constraints
        rows = np.flatnonzero(near.near[:, k, -1] | near.near[:, k + 1, 0])
        which = (rows, np.full(rows.size, k), np.full(rows.size, -1))
        jump = (self.ends[0][1][:, k] - self.ends[1][1][:, k]) / e.costate_sizes
        if not rows.size or not np.isfinite(jump).all():
            return jump, np.zeros(rows.size), which
        matrix = (near.jumps[which] / e.costate_sizes[None, :]).T
        length = np.abs(matrix).max(axis=0)
        length = np.where(length > 0, length, 1.0)
        sizes = nnls(matrix / length[None, :], jump)[0] / length
        return jump - matrix @ sizes, sizes, which

    def solved(
        self, here: slice, given: MultiplierCandidates, ends: tuple[Array, Array], weight: float
    ) -> tuple[Array, Array, Array]:
        """Between two costates: what is left at the end, costates at the points, and the
        multipliers.
        """
        plain = np.einsum("pij,j->pi", given.flow, ends[0]) + given.own
        scale = self.e.costate_sizes
        defect = (ends[1] - plain[-1]) / scale
        free = self.free[here].copy()
        for _ in range(ROUNDS):
            sizes = self._least(here, given, (defect, plain[1:-1]), np.where(free, weight, 0.0))
            costate = plain + np.einsum("m,mpi->pi", sizes, given.columns)
            leaving = self._leaving(here, costate[1:-1]) & ~free
            if not leaving.any():
                break
            free |= leaving
        return (ends[1] - costate[-1]) / scale, costate[1:-1].T, sizes

    def promised(self, here: slice, costate: Array) -> float:
        """What controls at bounds that H would have leave them could gain, relative to the cost."""
        ph, bound, u = self.e.phase, self.e.phase.form.u_bound, self.e.given[3][:, here].T
        if not u.size:
            return 0.0
        room = np.minimum(np.maximum(u - bound.lower, bound.upper - u) / ph.spans, 1.0)
        gain = np.abs(self._slope(here, costate)) * room * self._leaving(here, costate)
        return float(gain.sum(axis=1) @ ph.quadrature.ravel()[here] / ph.measure.time)

    def _slope(self, here: slice, costate: Array) -> Array:
        """(points, nu): the slope of H with other costates, relative to the sizes of controls and
        of the cost.
        """
        e = self.e
        change = np.einsum("pij,pi->pj", self.slopes[here], costate - e.given[4][:, here].T)
        return np.asarray((self.stationary[here] + change) * e.phase.spans[None, :] / e.power)

    def _leaving(self, here: slice, costate: Array) -> NDArray[np.bool_]:
        """Controls at a bound that H would have leave it."""
        bound, u = self.e.phase.form.u_bound, self.e.given[3][:, here].T
        slope = self._slope(here, costate)
        lower = u - bound.lower < bound.upper - u
        return np.asarray(np.where(lower, slope < -WRONG_SIGN, slope > WRONG_SIGN))

    def _least(
        self, here: slice, given: MultiplierCandidates, without: tuple[Array, Array], weights: Array
    ) -> Array:
        """Non-negative multipliers by least squares: the end of the interval, stationarity, no
        multiplier off its limit.
        """
        e, (defect, plain) = self.e, without
        columns = given.columns[:, 1:-1]
        matrix = given.columns[:, -1] / e.costate_sizes[None, :]
        effect = (
            np.einsum("pij,mpi->mpj", self.slopes[here], columns)
            * (e.phase.spans / e.power)[None, None, :]
        )
        free = weights > 0
        target, effects = (
            -(self._slope(here, plain) * weights)[free],
            (effect * weights[None])[:, free],
        )
        lengths = np.abs(matrix).max(axis=1, initial=0.0)
        lengths = np.where(lengths > 0, lengths, 1.0)
        apart = np.diag(given.distance / e.cost * INACTIVE)
        # Where several distributions of the multipliers fit, the one nearest to the answer's
        # costates.
        close = (columns / e.costate_sizes[None, None, :]).reshape(lengths.size, -1) * CLOSE
        aim = ((e.given[4][:, here].T - plain) / e.costate_sizes[None, :]).ravel() * CLOSE
        whole = np.hstack([matrix, effects, apart, close]).T
        right = np.concatenate([defect, target, np.zeros(lengths.size), aim])
        if not whole.size or not np.isfinite(whole).all() or not np.isfinite(right).all():
            return np.zeros(lengths.size)
        # Atoms at all points fit any distribution in the points alone: they count where no density
        # can act.
        some = given.smooth if given.smooth.any() else np.ones(lengths.size, dtype=bool)
        found = np.zeros(lengths.size)
        with contextlib.suppress(
            RuntimeError
        ):  # too many iterations: without multipliers the defect is reported
            found[some] = nnls((whole / lengths[None, :])[:, some], right)[0]
        return found / lengths


def _inner_points(parts: list[Array], axis: int) -> Array:
    """The points of consecutive intervals: the start of the first, all inner ones, the end of the
    last.
    """
    inner = [np.take(part, range(1, part.shape[axis] - 1), axis=axis) for part in parts]
    ends = np.take(parts[0], [0], axis=axis), np.take(parts[-1], [-1], axis=axis)
    return np.concatenate([ends[0], *inner, ends[1]], axis=axis)


def transition(rates: Array, rest: Array, width: float) -> tuple[Array, Array, Array]:
    """Of costate' = -f_x^T costate - rest over an interval, by collocation at its quadrature
    points.

    Returns the fundamental matrix and the particular solution at the points, (points, n, n + 1),
    both at the end.
    """
    points, n = rest.shape
    _, weights, inner = gauss(points)
    block = np.einsum("ij,jlk->ikjl", width * inner, rates).reshape(points * n, points * n)
    right = np.concatenate(
        [np.tile(np.eye(n), (points, 1)), -width * (inner @ rest).reshape(-1, 1)], axis=1
    )
    solved = np.linalg.solve(np.eye(points * n) + block, right).reshape(points, n, n + 1)
    slopes = -np.einsum("jlk,jlm->jkm", rates, solved)
    slopes[:, :, n] -= rest
    end = width * np.einsum("j,jkm->km", weights, slopes)
    return solved, np.eye(n) + end[:, :n], end[:, n]
