"""Pontryagin's conditions as rows: the costate equation, gains promised by controls, switches,
ends, statics; H along time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from trajopt.certificate.feasibility_rows import conditions, place, worst
from trajopt.certificate.hamiltonian_system import STATE, first_integrals
from trajopt.certificate.minimum_of_h import HamiltonianMinimization
from trajopt.certificate.phase_conditions import NEAR, PhaseConditions, endpoint_gradient
from trajopt.certificate.sampled_solution import SampledSolution
from trajopt.certificate.table import Check, judged

Array = NDArray[np.float64]
# of cost over size squared: the least curvature of the cost along one value that a promised gain
# assumes
CURVATURE = 0.01
ON_ARCS = (
    0.01  # relative: what costates that make H stationary inside an interval may miss at its end
)
INSIDE = (
    10.0  # times the tolerance: collocation is less accurate inside intervals than where they meet
)
SUBOPTIMALITY = "estimated suboptimality"


def _label(phases: Sequence[PhaseConditions], e: PhaseConditions) -> str:
    return "" if len(phases) == 1 else f" of '{e.phase.form.name}'"


def first_order_gain(slope: Array, down: Array, up: Array, size: Array, cost: float) -> Array:
    """What moving a value could gain, relative to the cost: it falls with this slope and bends
    upwards at least a little.

    ``down`` and ``up`` are how far the value may move. A slope of zero, or one that only a limit
    holds, promises nothing.
    """
    steep, room = np.abs(slope), np.minimum(np.where(slope > 0, down, up), size)
    bend = CURVATURE * cost / size**2
    step = np.minimum(room, steep / bend)
    return np.asarray((steep * step - 0.5 * bend * step**2) / cost)


def costate_equation(phases: Sequence[PhaseConditions], tolerance: float) -> list[Check]:
    """Over each interval the costate changes by the integral of -dH/dx, up to multipliers of active
    state constraints.
    """
    found, sums, between, constrained = [], [], [], False
    for e in phases:
        left, ph = e.fit.left, e.phase
        constrained |= bool(e.fit.active.any())
        names = tuple(f"the costate of {name}" for name in ph.form.x_names)
        found.append(place(np.abs(left), ph.starts, names, _label(phases, e)))
        between.append(place(e.fit.inside, ph.starts, names, _label(phases, e)))
        # Small defects of one sign add up to a costate of another motion; those that alternate do
        # not.
        drift = np.ptp(np.cumsum(np.pad(left, ((0, 0), (1, 0))), axis=1), axis=1)
        sums += [
            (float(v), f"in {name}{_label(phases, e)}")
            for v, name in zip(drift, names, strict=True)
        ]
    remark = "up to multipliers of active state constraints" if constrained else ""
    inside = [(e.fit.mismatch, _label(phases, e).strip()) for e in phases]
    arcs = (
        [worst("costates on constrained arcs", inside, ON_ARCS, "that make H stationary")]
        if constrained
        else []
    )
    return [
        *arcs,
        worst("costate equation", found, tolerance, remark),
        worst("sum of the defects of the costates", sums, tolerance, ""),
        worst(
            "costates inside intervals",
            between,
            INSIDE * tolerance,
            "against the integral of their rates",
        ),
    ]


def gains(
    whole: SampledSolution,
    phases: Sequence[PhaseConditions],
    tolerance: float,
    held: frozenset[tuple[int, int, int]] = frozenset(),
) -> list[Check]:
    """How much could be gained to first order, relative to the size of the cost; the sum is the
    estimated suboptimality.

    ``held`` are ends that act as given: phase, 0 for the first or 1 for the last state, its row.
    """
    controls, on_arcs, worst_at, parts, proved = 0.0, 0.0, (0.0, ""), [], True
    cost, size = whole.sizes.cost, size_of_cost(whole, phases)
    for e in phases:
        search = HamiltonianMinimization(e)
        proved &= search.proved
        gap = search.gap
        share = np.where(np.isfinite(gap), gap, np.inf) * e.phase.quadrature.ravel()
        by_interval = share.reshape(e.phase.times.shape).sum(axis=1)
        on_arcs += float(by_interval[e.fit.active].sum()) / cost
        by_interval = np.where(e.fit.active, 0.0, by_interval) / size
        controls += float(by_interval.sum())
        top = int(np.argmax(by_interval))
        worst_at = max(
            worst_at,
            (
                float(by_interval[top]),
                f"most around t = {e.phase.starts[top]:.6g}{_label(phases, e)}",
            ),
        )
        parts.append((e.fit.slack / cost, f"state constraints{_label(phases, e)}"))
        parts.append((_mixed_slack(e) / cost, f"path constraints{_label(phases, e)}"))
    slack = sum(value for value, _ in parts)
    ends = _ends(whole, phases, held, cost)
    switches = _switches(phases, cost)
    at_ends, at_switches = (sum(value for value, _ in part) for part in (ends, switches))
    total = controls + on_arcs + slack + at_ends + at_switches
    biggest = max(
        ((controls, f"the controls, {worst_at[1]}"), *parts, *ends, *switches),
        key=lambda pair: pair[0],
    )
    remark = f"of the cost; most by {biggest[1]}" if total > 0 else "of the cost"
    return [
        judged(
            "minimum of H",
            controls,
            tolerance,
            f"integral of H - min H{', ' + worst_at[1] if controls > 0 else ''}; least H "
            + (
                "proved: closed form, or convex" if proved else "sampled: a search from many starts"
            ),
        ),
        judged("minimum of H on constrained arcs", on_arcs, tolerance, "with fitted multipliers"),
        judged(
            "complementarity",
            slack,
            tolerance,
            "multipliers of limits times the distance from them",
        ),
        worst(
            "transversality",
            ends,
            tolerance,
            "gain promised by free ends, times and static variables",
        ),
        worst("switching times", switches, tolerance, "gain promised by moving them"),
        judged(SUBOPTIMALITY, total, tolerance, remark),
    ]


def size_of_cost(whole: SampledSolution, phases: Sequence[PhaseConditions]) -> float:
    """What gains of controls are relative to: the size of the cost, or what the controls can change
    of it where that is less.

    That is the integral of how much H changes where each control moves by its size: an exact
    differential in the cost, which no motion changes, is no part of it.
    """
    total = 0.0
    for e in phases:
        t, x, z, u, costate = e.points
        here = e.lagrangian(constraints=False)
        for i in range(u.shape[0]):
            changes = []
            for side in (-1.0, 1.0):
                moved = u.copy()
                moved[i] += side * e.phase.spans[i]
                value = e.lagrangian((t, x, z, moved, costate), constraints=False)
                changes.append(np.abs(value - here))
            most = np.nanmax(np.nan_to_num(np.array(changes), nan=np.inf), axis=0)
            total += float((most * e.phase.quadrature.ravel()).sum())
    return min(whole.sizes.cost, total) if total > 0 else whole.sizes.cost


def _mixed_slack(e: PhaseConditions) -> float:
    """Multipliers of mixed constraints times the distance from their limits, integrated."""
    rows = e.ham.mixed
    if not rows.size:
        return 0.0
    distance, side = e.distances(rows, e.points)
    multipliers = np.where(side == 2, 0.0, e._multipliers(e.points[4])[e.phase.form.g.numel() :])
    return float((np.abs(multipliers) * distance * e.phase.quadrature.ravel()[None, :]).sum())


def _switches(phases: Sequence[PhaseConditions], cost: float) -> list[tuple[float, str]]:
    """Where one control jumps from one of its bounds to the other, H must not jump: else the switch
    moves.
    """
    found = []
    for e in phases:
        ph, form = e.phase, e.phase.form
        if not form.u.numel() or ph.widths.size < 2:
            continue
        starts, ends = (tuple(part[:, k] for part in e.at_breaks) for k in _sides(ph.widths.size))
        before, after = ends, starts
        bound, near = form.u_bound, 1e-6 * ph.spans[:, None]
        low = [np.abs(u[3] - bound.lower[:, None]) <= near for u in (before, after)]
        high = [np.abs(u[3] - bound.upper[:, None]) <= near for u in (before, after)]
        clean = (low[0] & high[1]) | (high[0] & low[1])
        settled = (
            (low[0] & low[1])
            | (high[0] & high[1])
            | clean
            | (np.abs(before[3] - after[3]) <= 1e-3 * ph.spans[:, None])
        )
        movable = ~e.given_breaks
        here = np.flatnonzero(clean.any(axis=0) & settled.all(axis=0) & movable)
        if not here.size:
            continue
        # A state constraint that acts there makes costates jump: each side has its own.
        limited = (e.fit.active[:-1] | e.fit.active[1:])[None, here]
        mean = 0.5 * (before[4] + after[4])[:, here]
        H = [
            e.values(
                e.ham.H,
                (
                    *(
                        side[k][:, here]
                        for k, side in zip(range(4), (a, before, a, a), strict=True)
                    ),
                    costate,
                ),
            )[0]
            for a, costate in (
                (side, np.where(limited, side[4][:, here], mean)) for side in (before, after)
            )
        ]
        slope = H[0] - H[1]
        width = np.full(here.size, ph.measure.time)
        gain = first_order_gain(slope, width, width, width, cost)
        found += [
            (float(v), f"in the switch at t = {before[0][0, k]:.6g}{_label(phases, e)}")
            for v, k in zip(gain, here, strict=True)
        ]
    return found


def _sides(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Columns of ``at_breaks``: starts of intervals 1.., ends of intervals ..-1, which meet."""
    return np.arange(1, count), np.arange(count, 2 * count - 1)


def _ends(
    whole: SampledSolution,
    phases: Sequence[PhaseConditions],
    held: frozenset[tuple[int, int, int]],
    cost: float,
) -> list[tuple[float, str]]:
    """Gains promised by end values, end times, static variables and inequality conditions that are
    free to move.
    """
    ends, statics = endpoint_gradient(whole)
    found: list[tuple[float, str]] = []
    first, by_static = 0, statics.copy()
    for k, e in enumerate(phases):
        ph, nx, label = e.phase, e.phase.form.x.numel(), _label(phases, e)
        given = np.array([[(k, which, i) in held for i in range(nx)] for which in (0, 1)])
        more, limits = _end_states(e, ends[first + 2 : first + 2 + 2 * nx], label, (given, cost))
        found += more
        begin, end = (
            H + sign * limit.by_time
            for H, sign, limit in zip(_hamiltonian_at_ends(e), (-1, 1), limits, strict=True)
        )
        for slope, t, own, word in (
            (ends[first] - begin, ph.given.t0, ph.form.start_time, "initial"),
            (ends[first + 1] + end, ph.given.tf, ph.form.end_time, "final"),
        ):
            room = np.maximum([t - own.lower[0], own.upper[0] - t], 0.0)
            gain = first_order_gain(
                np.array([slope]), room[:1], room[1:], np.array([ph.measure.time]), cost
            )
            found.append((float(gain[0]), f"the {word} time{label}"))
        if statics.size:
            by_static += (e.gradients["s"] * ph.quadrature.ravel()[None, :]).sum(
                axis=1
            ) + e.fit.by_static
            by_static += limits[0].by_static + limits[1].by_static
        first += ph.form.ends.column.numel()
    for q in whole.form.statics:
        value, slope, size = whole.s[q.rows], by_static[q.rows], whole.sizes.s[q.rows]
        gain = first_order_gain(
            slope,
            np.maximum(value - q.bound.lower, 0),
            np.maximum(q.bound.upper - value, 0),
            size,
            cost,
        )
        found += [(float(v), f"{n}") for v, n in zip(gain, q.components, strict=True)]
    return found + _condition_gains(whole, cost)


@dataclass(frozen=True)
class _EndLimits:
    """Multipliers of path constraints of states that are active at an end,
    times their derivatives.
    """

    by_state: Array
    by_static: Array
    by_time: float


def _end_states(
    e: PhaseConditions, ends: Array, label: str, of: tuple[NDArray[np.bool_], float]
) -> tuple[list[tuple[float, str]], tuple[_EndLimits, _EndLimits]]:
    """Slopes of the cost by the first and the last state, up to multipliers of constraints that are
    active there.

    ``of`` are those (2, nx) that cannot move, and the size of the cost.
    """
    given, cost = of
    ph, nx = e.phase, e.phase.form.x.numel()
    costates = (
        ph.costate(np.array([ph.given.t0]))[:, 0],
        ph.costate(np.array([ph.given.tf]), left=True)[:, 0],
    )
    x = ph.x(np.array([ph.given.t0]))[:, 0], ph.x(np.array([ph.given.tf]), left=True)[:, 0]
    found, limits = [], []
    for which, slope in enumerate((ends[:nx] + costates[0], ends[nx:] - costates[1])):
        bound = (ph.form.x_start, ph.form.x_end)[which]
        down, up = np.maximum(x[which] - bound.lower, 0.0), np.maximum(bound.upper - x[which], 0.0)
        down, up = np.where(given[which], 0.0, down), np.where(given[which], 0.0, up)
        limits.append(_limits_at_end(e, slope, which, (down, up)))
        gain = first_order_gain(slope + limits[-1].by_state, down, up, ph.sizes, cost)
        word = ("initial", "final")[which]
        found += [
            (float(v), f"the {word} {name}{label}")
            for v, name in zip(gain, ph.form.x_names, strict=True)
        ]
    return found, (limits[0], limits[1])


def _limits_at_end(
    e: PhaseConditions, slope: Array, which: int, room: tuple[Array, Array]
) -> _EndLimits:
    """Non-negative multipliers of path constraints of states at an end that take away most of a
    slope.
    """
    rows, n, form = e.ham.of_states, slope.size, e.phase.form
    at = tuple(part[:, [[0, -1][which]]] for part in e.at_breaks)
    distance, side = e.distances(rows, at)
    near = (
        (distance[:, 0] <= NEAR * e.sizes_of(rows)) & (rows.of_path != STATE)
        if rows.size
        else np.zeros(0, dtype=bool)
    )
    active = np.flatnonzero(near)
    none = _EndLimits(np.zeros(n), np.zeros(e.ham.s.numel()), 0.0)
    if not active.size:
        return none
    expressions = casadi.vertcat(*[rows.expression[int(k)] for k in active])
    parts = [casadi.jacobian(expressions, v) for v in (form.x, e.ham.s, form.t) if v.numel()]
    slopes = e.values(casadi.horzcat(*parts).T.reshape((-1, 1)), at)[:, 0].reshape(active.size, -1)
    slopes = np.where(side[active] == -1, -1.0, 1.0) * slopes
    slopes = np.vstack([slopes, -slopes[side[active, 0] == 2]])  # an equality may act either way
    scale, units, close = e.costate_sizes, np.eye(n), NEAR * e.phase.sizes
    held = [units[room[0] <= close], -units[room[1] <= close]]
    matrix = np.vstack([-slopes[:, :n] / scale, *held]).T
    if not np.isfinite(matrix).all() or not np.isfinite(slope).all():
        return none
    total = nnls(matrix, slope / scale)[0][: len(slopes)] @ slopes
    return _EndLimits(total[:n], total[n:-1], float(total[-1]))


def _condition_gains(whole: SampledSolution, cost: float) -> list[tuple[float, str]]:
    """Multipliers of inequality conditions: none inside, of the right sign at a limit."""
    if not whole.form.b.numel():
        return []
    value, bound = conditions(whole), whole.form.b_bound
    down, up = np.maximum(value - bound.lower, 0.0), np.maximum(bound.upper - value, 0.0)
    gain = first_order_gain(-whole.multipliers, down, up, whole.sizes.b, cost)
    gain = np.where(bound.lower == bound.upper, 0.0, gain)
    return [(float(v), f"'{name}'") for v, name in zip(gain, whole.form.b_names, strict=True)]


def along_time(phases: Sequence[PhaseConditions], tolerance: float) -> Check:
    """H minus the integral of its partial derivative by time is constant, seen where intervals
    meet.

    Where a constraint only touches its limit, a touch point beside its place moves H by the
    multiplier times the rate of the constraint there. In the cost that is the multiplier times what
    the constraint exceeds, which *complementarity* counts.
    """
    found = []
    for e in phases:
        rest, _ = _constant_part(e, e.fit.by_time - e.fit.by_rate)
        gap = np.abs(rest - np.median(rest)) / e.largest_terms
        gap = _outside_constrained_intervals(gap, e)
        top = int(np.argmax(gap))
        found.append((float(gap[top]), f"at t = {e.at_breaks[0][0, top]:.6g}{_label(phases, e)}"))
    return worst(
        "constancy of H", found, tolerance, "H minus the integral of its partial derivative by time"
    )


def _constant_part(e: PhaseConditions, by_limits: Array) -> tuple[Array, float]:
    """H minus the integral of its partial derivative by time, at the starts and at the ends of
    intervals; that integral.

    ``by_limits`` is what state constraints add to H in each interval.
    """
    ph, count = e.phase, e.phase.widths.size
    H = e.values(e.ham.H, e.at_breaks)[0]
    passed = (e.gradients["t"][0].reshape(ph.times.shape) * ph.quadrature).sum(axis=1) + by_limits
    # Where data jump H changes by time alone.
    jumped = np.where(e.given_breaks, H[1:count] - H[count : 2 * count - 1], 0.0)
    before, after = np.cumsum(passed), np.cumsum(passed[:-1] + jumped)
    before[1:] += np.cumsum(jumped)
    since = np.concatenate([[0.0], after, before])
    return np.asarray(H - since), float(before[-1])


def _hamiltonian_at_ends(e: PhaseConditions) -> tuple[float, float]:
    """H at the start and at the end of a phase, from its mean along the phase.

    The mean is the derivative of the cost by the duration where the whole motion is stretched. The
    value at one end is that of a shift of the end alone, which an error of one interval spoils: a
    touch point beside its place moves H by the multiplier times the rate of the constraint, but the
    cost only by the square of the distance. *Constancy of H* judges the difference.
    """
    rest, passed = _constant_part(e, e.fit.by_time)
    count, widths = e.phase.widths.size, e.phase.widths
    # Just before the end of an interval costates lack the multiplier of a state constraint that
    # acts there.
    weight = np.concatenate([widths, np.where(e.fit.active, 0.0, widths)])
    mean = float(rest @ weight / weight.sum()) if count else 0.0
    return mean, mean + passed


def _outside_constrained_intervals(gap: Array, e: PhaseConditions) -> Array:
    """Deviations outside intervals in which a state constraint acts: inside, multipliers have no
    certain place.
    """
    if not e.fit.active.any():
        return gap
    return np.where(np.tile(e.fit.active, 2), 0.0, gap) if not e.fit.active.all() else gap


def conserved(phases: Sequence[PhaseConditions], tolerance: float) -> Check:
    """Declared invariants and costates of cyclic states stay, measured by what their variables
    contribute.
    """
    found, count = [], 0
    for e in phases:
        sizes = np.concatenate([e.phase.sizes, e.costate_sizes])
        for integral in first_integrals(e.ham):
            slopes = [
                casadi.gradient(integral.expression, v) for v in (e.phase.form.x, e.ham.costate)
            ]
            values = e.values(casadi.vertcat(integral.expression, *slopes), e.at_breaks)
            size = max(float((np.abs(values[1:]) * sizes[:, None]).sum(axis=0).max()), 1e-300)
            gap = np.abs(values[0] - (0.0 if integral.at_zero else np.median(values[0]))) / size
            found.append((float(gap.max()), f"in {integral.name}{_label(phases, e)}"))
            count += 1
    return worst(
        "first integrals",
        found,
        tolerance,
        f"{count} in addition to H" if count else "none in addition to H",
    )
