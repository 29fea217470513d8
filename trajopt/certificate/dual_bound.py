"""A lower bound on the cost of every admissible motion of a convex problem, by weak duality.

For multipliers of the right signs the Lagrangian of an admissible motion is at most its cost. Cost,
integrands and limits are at least their linearizations about the answer; with a costate that
satisfies the adjoint equation of this linearization the states drop out, and what remains is the
minimum of H over the controls at each time and the slopes at ends and static variables, each over
its limits. The costate is integrated anew, backward from transversality, so that the adjoint
equation holds exactly, up to quadrature: the costate of the answer misses it by its tolerance,
which is no bound where states have no limits. Rockafellar, Conjugate Convex Functions in Optimal
Control and the Calculus of Variations, J. Math. Anal. Appl. 32, 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.convexity import Convexity
from trajopt.certificate.dual_phase import EXACT, Measure, PhaseDual, least_value
from trajopt.certificate.feasibility_rows import conditions, evaluated_integrands, objective
from trajopt.certificate.multipliers import endpoint_slopes
from trajopt.certificate.phase_conditions import endpoint_gradient, extremals
from trajopt.certificate.sampled_solution import SampledSolution
from trajopt.certificate.state_constraints import STATIONARITY

Array = NDArray[np.float64]
# of costates and controls that depend on each other; the iteration of Picard converges faster than
# any power
ROUNDS = 12
SETTLED = 1e-13  # relative change of the costates at which it stops


@dataclass(frozen=True)
class DualBound:
    """A cost that no admissible motion is below; minus infinity with a reason."""

    cost: float
    reason: str = ""


def dual_bound(whole: SampledSolution, found: Convexity) -> DualBound:
    """The bound of a convex problem, from the multipliers of the answer."""
    # All integrals by one quadrature: what the controls of the answer contribute cancels then,
    # kinks of them too.
    by_quadrature = tuple(evaluated_integrands(ph) @ ph.quadrature.ravel() for ph in whole.phases)
    signed = _with_signs(replace(whole, integrals=by_quadrature))
    phases = [
        PhaseDual(e, kinked) for e, kinked in zip(extremals(signed), found.kinked, strict=True)
    ]
    best = DualBound(-np.inf, "no multipliers make it finite")
    for side, weight in _choices(phases):
        measures = [ph.measure(side, weight) for ph in phases]
        gap, reason = (
            _least_time(signed, phases[0], measures[0])
            if found.minimum_time
            else _Gap(signed, phases, measures).total()
        )
        bound = DualBound(signed.form.sense * objective(signed) - gap, reason)
        best = max(best, bound, key=lambda one: one.cost)
    return best


def _choices(phases: Sequence[PhaseDual]) -> Iterator[tuple[int, float]]:
    """Multipliers of state constraints that are tried: each gives a bound, and the best of them
    counts.
    """
    if not any(ph.constrained for ph in phases):
        yield 0, STATIONARITY
        return
    for side in (0, 1):
        for weight in (STATIONARITY, 1.0):
            yield side, weight


def _with_signs(whole: SampledSolution) -> SampledSolution:
    """The answer without multipliers of conditions that have the wrong sign."""
    bound, told = whole.form.b_bound, whole.multipliers
    low, high = (
        np.where(np.isfinite(bound.lower), -np.inf, 0.0),
        np.where(np.isfinite(bound.upper), np.inf, 0.0),
    )
    return _with_multipliers(whole, np.clip(told, low, high))


def _with_multipliers(whole: SampledSolution, values: Array) -> SampledSolution:
    names = dict(zip(whole.form.b_names, values.tolist(), strict=True))
    return replace(
        whole, solution=replace(whole.solution, multipliers={**whole.solution.multipliers, **names})
    )


@dataclass
class _Gap:
    """How far the cost is above the bound, from all phases; multipliers of conditions change while
    ends are met.
    """

    whole: SampledSolution
    phases: Sequence[PhaseDual]
    measures: Sequence[Measure]

    def total(self) -> tuple[float, str]:
        for ph, measure in zip(self.phases, self.measures, strict=True):
            ph.begin(measure)
        last = [ph.last_costate for ph in self.phases]
        for _ in range(ROUNDS):
            before = [ph.costate for ph in self.phases]
            for ph in self.phases:
                ph.linearize()
            last = self._meet_starts(self._at_ends(last))
            for ph, at_end in zip(self.phases, last, strict=True):
                ph.sweep(at_end)
            change = max(ph.changed(old) for ph, old in zip(self.phases, before, strict=True))
            if change <= SETTLED:
                break
        else:
            return np.inf, "the costates do not settle"
        return self._summed(last)

    def _ends(self) -> list[tuple[Array, Array]]:
        """Derivatives of cost and weighted conditions by the first and the last states of each
        phase.
        """
        gradient, first, found = endpoint_gradient(self.whole)[0], 0, []
        for ph in self.phases:
            n = ph.count
            found.append(
                (gradient[first + 2 : first + 2 + n], gradient[first + 2 + n : first + 2 + 2 * n])
            )
            first += ph.form.ends.column.numel()
        return found

    def _at_ends(self, last: Sequence[Array]) -> list[Array]:
        """Costates at the ends of phases: those of transversality where no limit stops the end in
        the direction of the slope.
        """
        found = []
        for ph, (_, slope), own in zip(self.phases, self._ends(), last, strict=True):
            x = ph.x_last
            infinite = np.isinf(
                least_value(slope - own, x, ph.form.x_end.lower, ph.form.x_end.upper, 0.0)
            )
            found.append(np.where(infinite, slope, own))
        return found

    def _meet_starts(self, last: list[Array]) -> list[Array]:
        """Change multipliers that are free so that no slope is left at first states without limits.

        Free are costates at given last states and multipliers of equations between end values. Both
        change the costates at the starts linearly.
        """
        ends, needed, maps = self._ends(), [], [ph.transfer() for ph in self.phases]
        for ph, (slope, _), at_end, (M, rest) in zip(self.phases, ends, last, maps, strict=True):
            missing = slope + M @ at_end + rest
            infinite = np.isinf(
                least_value(missing, ph.x_first, ph.form.x_start.lower, ph.form.x_start.upper, 0.0)
            )
            needed.append((np.flatnonzero(infinite), missing[infinite]))
        if not any(rows.size for rows, _ in needed):
            return last
        by_condition, free_conditions = self._equations()
        blocks, right, first = [], [], 0
        given = [np.flatnonzero(ph.form.x_end.fixed) for ph in self.phases]
        moving = [
            self._moves(ph, at_end, slope)
            for ph, at_end, (_, slope) in zip(self.phases, last, ends, strict=True)
        ]
        for k, (ph, (rows, missing)) in enumerate(zip(self.phases, needed, strict=True)):
            x0 = slice(first + 2, first + 2 + ph.count)
            xf = slice(first + 2 + ph.count, first + 2 + 2 * ph.count)
            M = maps[k][0]
            from_conditions = by_condition[:, x0].T + M @ (
                by_condition[:, xf].T * moving[k][:, None]
            )
            own = [
                M[:, columns] if j == k else np.zeros((ph.count, columns.size))
                for j, columns in enumerate(given)
            ]
            blocks.append(np.hstack([from_conditions, *own])[rows])
            right.append(missing)
            first += ph.form.ends.column.numel()
        change = np.linalg.lstsq(np.vstack(blocks), -np.concatenate(right), rcond=None)[0]
        multipliers = self.whole.multipliers.copy()
        multipliers[free_conditions] += change[: free_conditions.size]
        self.whole = _with_multipliers(self.whole, multipliers)
        place, found = free_conditions.size, []
        for columns, at_end, moves, (_, slope) in zip(
            given, last, moving, self._ends(), strict=True
        ):
            new = np.where(moves, slope, at_end)
            new[columns] += change[place : place + columns.size]
            place += columns.size
            found.append(new)
        return found

    @staticmethod
    def _moves(ph: PhaseDual, at_end: Array, slope: Array) -> NDArray[np.bool_]:
        """Last states whose costate is that of transversality."""
        return np.asarray((at_end == slope) & ~ph.form.x_end.fixed)

    def _equations(self) -> tuple[Array, NDArray[np.intp]]:
        """Slopes of equations that no integral enters, by all endpoint values; and which conditions
        they are.
        """
        form = self.whole.form
        slopes = endpoint_slopes(self.whole)[1][:, : self.whole.endpoints.size]
        integral = np.concatenate(
            [
                np.arange(ph.ends.column.numel()) >= ph.ends.column.numel() - ph.l.numel()
                for ph in form.phases
            ]
        )
        free = np.flatnonzero(form.b_bound.fixed & ~(slopes[:, integral] != 0).any(axis=1))
        return slopes[free], free

    def _summed(self, last: Sequence[Array]) -> tuple[float, str]:
        """The gap, part by part: controls, states that do not follow their rates, limits, ends,
        static variables, conditions.
        """
        cost, total = self.whole.sizes.cost, 0.0
        by_static = endpoint_gradient(self.whole)[1].copy()
        for ph, at_end, (slope, end_slope) in zip(self.phases, last, self._ends(), strict=True):
            inner, reason = ph.inner()
            if reason:
                return np.inf, reason
            total += inner + ph.defect() + ph.slack
            by_static += ph.by_static()
            starts = least_value(
                slope + ph.first_costate,
                ph.x_first,
                ph.form.x_start.lower,
                ph.form.x_start.upper,
                EXACT * cost / ph.sizes,
            )
            ends = least_value(
                end_slope - at_end,
                ph.x_last,
                ph.form.x_end.lower,
                ph.form.x_end.upper,
                EXACT * cost / ph.sizes,
            )
            for word, values in (("first", starts), ("last", ends)):
                if np.isinf(values).any():
                    name = ph.form.x_names[int(np.argmax(np.isinf(values)))]
                    return np.inf, f"the {word} {name} has no limits, and no multiplier holds it"
            total += float(starts.sum() + ends.sum())
        for q in self.whole.form.statics:
            room = least_value(
                by_static[q.rows],
                self.whole.s[q.rows],
                q.bound.lower,
                q.bound.upper,
                EXACT * cost / self.whole.sizes.s[q.rows],
            )
            if np.isinf(room).any():
                return np.inf, f"{q.name} has no limits"
            total += float(room.sum())
        return total + self._held(), ""

    def _held(self) -> float:
        """Multipliers of conditions times the distance from their limits."""
        if not self.whole.form.b.numel():
            return 0.0
        value, bound, multipliers = (
            conditions(self.whole),
            self.whole.form.b_bound,
            self.whole.multipliers,
        )
        limit = np.where(multipliers > 0, bound.upper, bound.lower)
        return float((multipliers * np.where(multipliers != 0, limit - value, 0.0)).sum())


def _least_time(whole: SampledSolution, ph: PhaseDual, measure: Measure) -> tuple[float, str]:
    """The gap of a minimum time: by how much an earlier end is possible, at most.

    Where the last state is an equilibrium, what can be reached by some time can be reached by any
    later one. So one time that is proved too short bounds the minimum. The costate separates the
    given end from all ends that can be reached by that time.
    """
    reason = ph.no_equilibrium()
    if reason:
        return np.inf, reason
    ph.begin(measure)
    ph.linearize()
    ph.sweep(ph.last_costate)
    inner, reason = ph.inner()
    if reason:
        return np.inf, reason
    start = least_value(
        ph.first_costate, ph.x_first, ph.form.x_start.lower, ph.form.x_start.upper, 0.0
    )
    by_time = float(endpoint_gradient(whole)[0][1])
    missing = inner + abs(ph.defect()) + ph.slack + float(start.sum())
    if not np.isfinite(missing):
        return np.inf, "the first state has no limits"
    for earlier in np.geomspace(1e-12, 0.5, 400) * ph.e.phase.widths[-1]:
        costate, x = ph.near_end(float(earlier))
        if costate @ (x - ph.form.x_end.lower) > missing:
            return float(earlier) * by_time, ""
    return np.inf, "the costate does not separate the end from what can be reached"
