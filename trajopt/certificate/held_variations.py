"""What limits leave to vary: the critical cone of an answer, and the hull that is tested instead.

A limit holds a variation only where its multiplier is not zero (strict complementarity); where it
is, the variation is let go to both sides. A second variation that is positive on this hull proves a
minimum (Robinson, Math. Oper. Res. 5, 1980); one that is not proves nothing where a limit was let
go. State constraints hold the tangent of their active rows: their rate, where controls enter that,
else their values at some points, which leaves more variations than are admissible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.feasibility_rows import conditions
from trajopt.certificate.phase_conditions import PhaseConditions, endpoint_gradient
from trajopt.certificate.sampled_solution import POINTS, SampledSolution, beyond
from trajopt.certificate.state_constraints import runs
from trajopt.second_order import PhaseData

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
ON_BOUND = 1e-4  # of a control's size
JUMP = 1e-3  # of a control's size, from one interval to the next
FLAT = 1e-7  # curvature of H, relative to its terms, that counts as none
# multiplier times size, relative to the cost or to the terms of a slope: a smaller one does not
# hold
STRICT = 1e-6
ACTIVE = 1e-9  # the same, of what acts at all
# of the duration: shorter stretches of a zero slope are points
BRIEF = 1e-2
# of the largest slope: so low a minimum of the slope along a bound counts as a zero
TOUCH = 1e-4
MOST_TOGETHER = 3  # controls that switch at one time, of which all orders are tried
# of a constraint's size: along a boundary arc, and at a touch point
ALONG, TOUCHED = 1e-5, 1e-4
# points of an interval (start, twelve quadrature points, end) at which an arc of higher order is
# held
HELD_AT = (0, 3, 6, 9, 13)


@dataclass(frozen=True, eq=False)
class HeldPhase:
    """One phase: which controls, constraints and tangents hold its variations."""

    e: PhaseConditions

    @cached_property
    def data(self) -> PhaseData:
        """For the second variation."""
        ph = self.e.phase
        sizes = ph.sizes, ph.spans, ph.measure.time
        tangents = (*(self._tangents() if self.rows.active else ()), *self._given_times())
        arcs = self.arcs
        return PhaseData(
            self._form(),
            self._grid(),
            arcs,
            self._curves,
            self._multipliers,
            self._held,
            self.e.weight,
            sizes,
            ph.deadline,
            tangents,
            self._bends() if self.rows.active else None,
            self.orders,
        )

    @property
    def undecided(self) -> str:
        """Why a hypothesis of the theorem is not checked or does not hold; empty where all are."""
        return next((reason for reason in self._reasons() if reason), "")

    def _reasons(self) -> Sequence[str]:
        names = self.e.phase.form.u_names
        found = [
            f"{names[i]} at its bound has a zero slope of H along a stretch" if long else ""
            for i, long in enumerate(self._zero_stretch)
        ]
        found += [
            f"the slope of H by {names[i]} touches zero at t = {t:.4g} without a switch"
            for i, t in self._touches()
        ]
        form = self.e.phase.form
        if form.z.numel() and self._together:
            found.append("several controls switch together beside algebraic variables")
        if any(
            place not in self.orders or not np.isfinite(moved).all()
            for place, moved in self._appearing.items()
        ):
            found.append("the slope of H by a control at its bound goes to zero at an end")
        if any(len(some) > MOST_TOGETHER for _, some in self._together):
            found.append(f"more than {MOST_TOGETHER} controls switch together")
        if self.rows.active and self.rows.curved_by_statics:
            found.append("a static variable bends an active state constraint")
        return found

    # Controls
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def _near(self) -> Mask:
        """(nu, N): controls on a bound."""
        form, u = self.e.phase.form, self.e.points[3]
        room = np.minimum(u - form.u_bound.lower[:, None], form.u_bound.upper[:, None] - u)
        return np.asarray(room <= ON_BOUND * self.e.phase.spans[:, None])

    @cached_property
    def _pressed(self) -> Array:
        """(nu, N): the slope of H away from the nearer bound, relative to the largest sum of its
        terms; positive where the bound holds.
        """
        e, form = self.e, self.e.phase.form
        nu = form.u.numel()
        if not nu:
            return np.zeros((0, e.points[0].size))
        slope, jacobian = e.slopes
        slope = slope + np.einsum("nji,jn->in", e.rate_slopes, e.points[4] - e.given[4])
        multipliers = e._multipliers(e.points[4])
        slope = slope + np.einsum("nri,rn->in", jacobian, multipliers)
        terms = np.einsum("nji,jn->in", np.abs(e.rate_slopes), np.abs(e.points[4]))
        terms += np.einsum("nri,rn->in", np.abs(jacobian), np.abs(multipliers))
        if form.l.numel():
            by_control = e.values(casadi.jacobian(form.l, form.u).reshape((-1, 1)))
            by_control = by_control.reshape(nu, form.l.numel(), -1)
            terms[:nu] += np.einsum("iln,l->in", np.abs(by_control), np.abs(e.weight))
        scale = np.maximum(terms[:nu].max(axis=1), 1e-300)
        u = e.points[3]
        lower = u - form.u_bound.lower[:, None] < form.u_bound.upper[:, None] - u
        return np.asarray(slope[:nu] / scale[:, None] * np.where(lower, 1.0, -1.0))

    @cached_property
    def _straight(self) -> Mask:
        """(nu, N): where H is affine in a control alone."""
        u = self.e.phase.form.u
        if not u.numel():
            return np.zeros((0, self.e.points[0].size), dtype=bool)
        bend = self.e.values(casadi.diag(casadi.hessian(self.e.ham.H, u)[0]))
        size = self.e.phase.spans[:, None]
        return np.asarray(np.abs(bend) * size**2 <= FLAT * self.e.largest_terms)

    @cached_property
    def _given(self) -> Mask:
        """(nu,): controls whose bounds leave one value."""
        return np.asarray(self.e.phase.form.u_bound.fixed)

    @cached_property
    def _weak(self) -> Mask:
        """(nu, N): on a bound without a multiplier."""
        return self._near & (self._pressed < STRICT) & ~self._given[:, None]

    @cached_property
    def held_controls(self) -> Mask:
        """(nu, N). An affine control is held even where its slope is zero, which is at switches."""
        return self._near & (~self._weak | self._straight)

    @property
    def weak(self) -> bool:
        """Whether a control on its bound was let go."""
        return bool((self._weak & ~self._straight).any())

    @cached_property
    def _zero_stretch(self) -> list[bool]:
        """(nu,): whether an affine control stays on a bound with a zero slope."""
        t, least = self.e.points[0][0], BRIEF * self.e.phase.measure.time
        return [
            any(t[b - 1] - t[a] > least for a, b in runs(row))
            for row in self._weak & self._straight
        ]

    def _touches(self) -> list[tuple[int, float]]:
        """Affine controls whose slope has a minimum of zero inside an arc on a bound: an arc could
        appear there.
        """
        t = self.e.points[0][0]
        found = []
        for i, out in enumerate(self._pressed):
            here = self.held_controls[i] & self._straight[i] & ~self._given[i]
            if not here.any():
                continue
            free = t[~self._near[i]]
            apart = np.concatenate([self.arcs[1:-1], free])
            largest = max(float(np.abs(out).max()), 1e-300)
            inner = here[1:-1] & here[:-2] & here[2:]
            inner &= (out[1:-1] <= out[:-2]) & (out[1:-1] <= out[2:]) & (out[1:-1] < 0.1 * largest)
            for k in 1 + np.flatnonzero(inner):
                bent = np.polyfit(t[k - 1 : k + 2] - t[k], out[k - 1 : k + 2], 2)
                low = out[k] - bent[1] ** 2 / (4 * bent[0]) if bent[0] > 0 else out[k]
                clear = 2 * (t[k + 1] - t[k - 1])
                if low < TOUCH * largest and not (np.abs(apart - t[k]) <= clear).any():
                    found.append((i, float(t[k])))
        return found

    # Jumps of controls
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def arcs(self) -> Array:
        """The ends of the phase and the times at which a control jumps."""
        ph = self.e.phase
        inner = ph.breaks[1:-1][self._jumps.any(axis=0)] if self._jumps.size else np.zeros(0)
        given = ph.breaks[1:-1][self.e.given_breaks]
        return np.unique(np.concatenate([ph.breaks[[0, -1]], inner, given]))

    def _given_times(self) -> list[tuple[float, Array]]:
        """The time does not vary where data jump: arcs end there, at the same time."""
        ph = self.e.phase
        row = np.zeros(ph.form.x.numel() + 1 + ph.form.l.numel() + ph.s.size)
        row[ph.form.x.numel()] = 1.0
        return [(float(t), row) for t in ph.breaks[1:-1][self.e.given_breaks]]

    @cached_property
    def _step(self) -> Array:
        """(nu, breaks): steps of the controls at inner breaks."""
        u, count = self.e.at_breaks[3], self.e.phase.widths.size
        return np.asarray(u[:, 1:count] - u[:, count : 2 * count - 1])

    @cached_property
    def _jumps(self) -> Mask:
        """(nu, breaks): steps with a minimum of H on both sides, each alone or all together.

        Where H is strictly convex along a step between admissible controls it has one minimum, and
        the step is an error of the answer. Such a break moved while the controls are kept is the
        same motion again: a variation without a second derivative.
        """
        e, step = self.e, self._step
        found = np.abs(step) > JUMP * e.phase.spans[:, None]
        here = np.flatnonzero(found.any(axis=0)) if found.size else np.zeros(0, dtype=int)
        if not here.size:
            return found
        every = np.ones(step.shape[0], dtype=bool)
        between = np.zeros((step.shape[0], here.size), dtype=bool)
        for moved in (*np.eye(step.shape[0], dtype=bool), every):
            direction = np.where(moved[:, None], step[:, here], 0.0)
            between[moved] |= ~self._convex(here, direction)
        found[:, here] &= between
        return found

    def _convex(self, here: NDArray[np.intp], direction: Array) -> Mask:
        """(breaks,): whether H is strictly convex along steps whose middle is admissible; True for
        no step.
        """
        e = self.e
        H = [self._at_break(here, share * direction)[0] for share in (0.0, 0.5, 1.0)]
        _, admissible = self._at_break(here, 0.5 * direction)
        length = (np.abs(direction) / e.phase.spans[:, None]).max(axis=0)
        convex = 4 * (H[0] + H[2] - 2 * H[1]) > FLAT * e.largest_terms * length**2
        return np.asarray((convex & admissible) | (length <= JUMP))

    def _at_break(self, here: NDArray[np.intp], change: Array) -> tuple[Array, Mask]:
        """H with the algebraic equations before a break, for changed controls; and whether path
        constraints admit them.
        """
        e, count = self.e, self.e.phase.widths.size
        t, x, z, u, costate = (part[:, count : 2 * count - 1][:, here] for part in e.at_breaks)
        at = t, x, z, u + change, costate
        equations = e.phase.form.g
        multipliers = e._multipliers(e.points[4])[: equations.numel()]
        multipliers = multipliers[:, (here + 1) * e.phase.times.shape[1] - 1]
        H = e.values(e.ham.H, at)[0]
        if equations.numel():
            H = H + (e.values(equations, at) * multipliers).sum(axis=0)
        rows = e.ham.mixed
        if not rows.size:
            return H, np.ones(here.size, dtype=bool)
        gap = beyond(e.values(rows.expression, at), rows.lower, rows.upper)
        return H, np.asarray((gap <= JUMP * e.sizes_of(rows)[:, None]).all(axis=0))

    @cached_property
    def _together(self) -> list[tuple[int, list[int]]]:
        """(inner break, controls): several that jump there and could each jump alone."""
        found = []
        for k in np.flatnonzero(self._jumps.sum(axis=0) > 1):
            alone = []
            here = np.array([k])
            for i in np.flatnonzero(self._jumps[:, k]):
                change = np.zeros((self._step.shape[0], 1))
                change[i] = self._step[i, k]
                after, admissible = self._at_break(here, change)
                worse = after - self._at_break(here, 0 * change)[0]
                close = float(worse[0]) <= STRICT * self.e.largest_terms
                if admissible[0] and close and not self._convex(here, change)[0]:
                    alone.append(int(i))
            if len(alone) > 1:
                found.append((int(k), alone))
        return found

    @cached_property
    def orders(self) -> dict[tuple[float, bool], tuple[tuple[Array, ...], ...]]:
        """The controls of arcs of length zero, before (False) or after (True) a time, for each
        order of them: between jumps of several controls, and where an arc may appear at an end.
        """
        if self.e.phase.form.z.numel():
            return {}
        count, u = self.e.phase.widths.size, self.e.at_breaks[3]
        found: dict[tuple[float, bool], tuple[tuple[Array, ...], ...]] = {}
        for k, controls in self._together:
            if len(controls) > MOST_TOGETHER:
                continue
            ways = []
            for order in permutations(controls):
                now, passed = u[:, count + k].copy(), []
                for i in order[:-1]:
                    now[i] += self._step[i, k]
                    passed.append(now.copy())
                ways.append(tuple(passed))
            found[float(self.e.phase.breaks[k + 1]), True] = tuple(ways)
        for place, moved in self._appearing.items():
            if len(moved) <= MOST_TOGETHER and place not in found:
                found[place] = tuple(permutations(moved))
        return found

    @cached_property
    def _appearing(self) -> dict[tuple[float, bool], list[Array]]:
        """Controls of arcs that may appear at the ends of the phase, and beside a jump of data: an
        affine control at its other bound, where the slope of H that holds it goes to zero.
        """
        ph, form = self.e.phase, self.e.phase.form
        slopes, found = self._interpolated(self._pressed), {}
        given = ph.breaks[1:-1][self.e.given_breaks]
        t = self.e.points[0][0]
        beside = [(g, after) for g in given for after in (False, True)]
        for place in [(ph.breaks[0], True), *beside, (ph.breaks[-1], False)]:
            at = np.nextafter(place[0], np.inf if place[1] else -np.inf)
            point = int(np.searchsorted(t, at)) - (not place[1])
            point = int(np.clip(point, 0, t.size - 1))
            now, out = self.e.points[3][:, point], slopes(np.array([at]))[:, 0]
            moved = []
            for i in np.flatnonzero(self.held_controls[:, point] & self._straight[:, point]):
                largest = float(np.abs(self._pressed[i]).max())
                if self._given[i] or abs(out[i]) > TOUCH * largest:
                    continue
                other = now.copy()
                low, high = form.u_bound.lower[i], form.u_bound.upper[i]
                other[i] = high if now[i] - low < high - now[i] else low
                moved.append(other)
            if moved:
                found[float(place[0]), bool(place[1])] = moved
        return found

    # Curves
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def _held_constraints(self) -> Mask:
        """(path constraints, N)."""
        e, form = self.e, self.e.phase.form
        strength = np.abs(self._all_multipliers[form.g.numel() :]) * e.phase.measure.c[:, None]
        return np.asarray((strength > ACTIVE * e.power) | form.c_bound.fixed[:, None])

    @cached_property
    def _all_multipliers(self) -> Array:
        """Of the algebraic equations, then of all path constraints."""
        e, form = self.e, self.e.phase.form
        found = np.zeros((form.g.numel() + form.c.numel(), e.points[0].size))
        own = e._multipliers(e.points[4])
        found[: form.g.numel()] = own[: form.g.numel()]
        found[form.g.numel() + e.ham.mixed.of_path] = own[form.g.numel() :]
        return found

    def _grid(self) -> Array:
        """Breaks, and the times at which what is held changes."""
        t = self.e.points[0][0]
        held = np.vstack([self.held_controls, self._held_constraints])
        changes = (held[:, 1:] != held[:, :-1]).any(axis=0)
        return np.unique(np.concatenate([self.e.phase.breaks, 0.5 * (t[1:] + t[:-1])[changes]]))

    def _form(self) -> Any:
        """The form of the phase, with the rates of state constraints as path constraints."""
        form, rates = self.e.phase.form, self.rows.rates
        return replace(form, c=casadi.vertcat(form.c, *rates)) if rates else form

    def _held(self, times: Array) -> tuple[Mask, Mask]:
        t = self.e.points[0][0]
        nearest = np.clip(np.searchsorted(0.5 * (t[1:] + t[:-1]), times), 0, t.size - 1)
        constraints = np.vstack([self._held_constraints, self.rows.held_rates])
        return self.held_controls[:, nearest], constraints[:, nearest]

    @cached_property
    def _curves(self) -> Callable[[Array], tuple[Array, Array, Array, Array]]:
        ph, active = self.e.phase, self.e.fit.active
        fitted = self._interpolated(self.e.points[4])

        def at(times: Array) -> tuple[Array, Array, Array, Array]:
            costate = ph.costate(times)
            if active.any():
                costate = np.where(active[self._interval(times)], fitted(times), costate)
            return ph.x(times), ph.z(times), ph.u(times), costate

        return at

    @cached_property
    def _multipliers(self) -> Callable[[Array], Array]:
        rows = np.vstack([self._all_multipliers, 0.0 * self.rows.held_rates])
        return self._interpolated(rows)

    def _interpolated(self, values: Array) -> Callable[[Array], Array]:
        """Rows of values at the quadrature points as polynomials of each interval; linear where
        what holds the motion changes inside.
        """
        ph, count = self.e.phase, POINTS.size
        shape = ph.widths.size, count
        held = np.vstack([self.held_controls, self._held_constraints]).reshape(-1, *shape)
        smooth = (held == held[:, :, :1]).all(axis=(0, 2))
        to_series = np.linalg.inv(np.polynomial.chebyshev.chebvander(2 * POINTS - 1, count - 1))
        series = np.einsum("kj,rnj->rnk", to_series, values.reshape(-1, *shape))
        t = self.e.points[0][0]

        def at(times: Array) -> Array:
            if not values.shape[0]:
                return np.zeros((0, times.size))
            k = self._interval(times)
            place = 2 * (times - ph.breaks[k]) / ph.widths[k] - 1
            shapes = np.polynomial.chebyshev.chebvander(place, count - 1)
            curved = np.einsum("nk,rnk->rn", shapes, series[:, k])
            straight = np.array([np.interp(times, t, row) for row in values])
            return np.where(smooth[k][None, :], curved, straight)

        return at

    def _interval(self, times: Array) -> NDArray[np.intp]:
        ph = self.e.phase
        found = np.searchsorted(ph.breaks, times, side="right") - 1
        return np.asarray(np.clip(found, 0, ph.widths.size - 1))

    # State constraints
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> _ActiveRows:
        return _ActiveRows(self.e)

    def _tangents(self) -> list[tuple[float, Array]]:
        """Rows by (x, t, integrals, static variables) at times inside the phase."""
        e, form, ham = self.e, self.e.phase.form, self.e.ham
        places = [(t, r) for t, r in self.rows.places if e.phase.breaks[0] < t < e.phase.breaks[-1]]
        if not places:
            return []
        times = np.array([t for t, _ in places])
        S = ham.of_states.expression
        slopes = casadi.horzcat(
            *[casadi.jacobian(S, v) for v in (form.x, form.t, ham.s) if v.numel()]
        )
        found = self._values(slopes, times).reshape(-1, S.numel(), times.size)
        nx = form.x.numel()
        between = np.zeros(form.l.numel())
        return [
            (t, np.concatenate([found[: nx + 1, r, k], between, found[nx + 1 :, r, k]]))
            for k, (t, r) in enumerate(places)
        ]

    def _values(self, expression: Any, times: Array) -> Array:
        """An expression at any times; matrices by columns."""
        x, z, u, costate = self._curves(times)
        column = casadi.densify(expression).reshape((-1, 1))
        return self.e.values(column, (times[None, :], x, z, u, costate))

    def _bends(self) -> Callable[[Array], Array] | None:
        """Multipliers of curved state constraints times their second derivatives by (x, t), spread
        over the intervals in which they act.
        """
        form, S = self.e.phase.form, self.e.ham.of_states.expression
        rows = [r for r in self.rows.strict_rows if self.rows.curved[r]]
        if not rows:
            return None
        y = casadi.vertcat(form.x, form.t)
        n = y.numel()
        every = self.e.ham.symbols.sym("xt", n)
        parts = casadi.vertsplit(every, [0, n - 1, n])
        inserted = casadi.substitute([S[r] for r in rows], [form.x, form.t], parts)
        hessians = [casadi.hessian(row, every)[0] for row in inserted]
        back = casadi.substitute(hessians, [every], [y])
        stacked = casadi.vertcat(*[casadi.densify(h).reshape((-1, 1)) for h in back])
        density = self.rows.density[rows]

        def at(times: Array) -> Array:
            values = self._values(stacked, times).reshape(len(rows), n, n, times.size)
            share = density[:, self._interval(times)]
            return np.asarray(np.einsum("rn,rabn->nab", share, values))

        return at


@dataclass(frozen=True, eq=False)
class _ActiveRows:
    """State constraints with multipliers, and where they hold the motion."""

    e: PhaseConditions

    @property
    def active(self) -> bool:
        return self.e.fit.strength > ACTIVE

    @cached_property
    def _strict(self) -> Mask:
        """(rows, intervals): with a multiplier."""
        e = self.e
        size = e.sizes_of(e.ham.of_states) / e.cost
        share = np.maximum(BRIEF, e.phase.widths / e.phase.measure.time)
        return np.asarray(e.fit.mass * size[:, None] > STRICT * share[None, :])

    @cached_property
    def strict_rows(self) -> list[int]:
        return [int(r) for r in np.flatnonzero(self._strict.any(axis=1))] if self.active else []

    @cached_property
    def _distance(self) -> Array:
        """(rows, intervals, points), relative to the sizes of the constraints."""
        near = self.e.fit.near
        assert near is not None
        return np.asarray(near.distance / self.e.sizes_of(self.e.ham.of_states)[:, None, None])

    @cached_property
    def _along(self) -> Mask:
        """(rows, intervals): on the limit all along."""
        return np.asarray(self._strict & (self._distance.max(axis=2) < ALONG))

    @cached_property
    def _of_first_order(self) -> list[int]:
        """Rows with a boundary arc, whose rate controls enter."""
        form, S = self.e.phase.form, self.e.ham.of_states.expression
        found = []
        for r in self.strict_rows:
            rate = self._rate(S[r])
            moved = [v for v in (form.u, form.z) if v.numel()]
            if self._along[r].any() and any(casadi.depends_on(rate, v) for v in moved):
                found.append(r)
        return found

    def _rate(self, row: Any) -> Any:
        form = self.e.phase.form
        return casadi.jtimes(row, form.x, form.f) + casadi.jacobian(row, form.t)

    @cached_property
    def rates(self) -> list[Any]:
        S = self.e.ham.of_states.expression
        return [self._rate(S[r]) for r in self._of_first_order] if self.active else []

    @cached_property
    def held_rates(self) -> Mask:
        """(rates, N)."""
        if not self.rates:
            return np.zeros((0, self.e.points[0].size), dtype=bool)
        return np.repeat(self._along[self._of_first_order], POINTS.size, axis=1)

    @cached_property
    def places(self) -> list[tuple[float, int]]:
        """(time, row): where the value of a constraint is held."""
        ph, found = self.e.phase, set()
        times = np.concatenate([ph.breaks[:-1, None], ph.times, ph.breaks[1:, None]], axis=1)
        for r in self.strict_rows:
            for k in np.flatnonzero(self._strict[r]):
                distance = self._distance[r, k]
                if not self._along[r, k]:
                    nearest = int(np.argmin(distance))
                    held: Sequence[int] = [nearest] if distance[nearest] < TOUCHED else []
                elif r in self._of_first_order:
                    held = [] if k and self._along[r, k - 1] else [0]
                else:
                    held = HELD_AT
                found |= {(float(times[k, j]), r) for j in held}
        return sorted(found)

    @cached_property
    def density(self) -> Array:
        """(rows, intervals): multipliers with the sign of their limit, over the widths."""
        e, rows = self.e, self.e.ham.of_states
        side = e.distances(rows, e.given)[1].reshape(rows.size, e.phase.widths.size, -1)
        sign = np.where(side[:, :, side.shape[2] // 2] == -1, -1.0, 1.0)
        return np.asarray(np.where(self._strict, sign * e.fit.mass, 0.0) / e.phase.widths)

    @cached_property
    def curved(self) -> list[bool]:
        form, S = self.e.phase.form, self.e.ham.of_states.expression
        y = casadi.vertcat(form.x, form.t)
        slopes = casadi.horzcat(casadi.jacobian(S, form.x), casadi.jacobian(S, form.t))
        return [casadi.depends_on(slopes[r, :], y) for r in range(S.numel())]

    @property
    def curved_by_statics(self) -> bool:
        s, form = self.e.ham.s, self.e.phase.form
        if not s.numel() or not self.strict_rows:
            return False
        S = casadi.vertcat(*[self.e.ham.of_states.expression[r] for r in self.strict_rows])
        slopes = casadi.jacobian(S, s)
        return bool(casadi.depends_on(slopes, casadi.vertcat(form.x, form.t, s)))


def held_ends(
    whole: SampledSolution, phases: Sequence[PhaseConditions], strict: bool = True
) -> tuple[tuple[Mask, Mask, Mask], list[str]]:
    """Which endpoint values, conditions and static variables do not vary: given ones, and those
    that a limit holds with a multiplier. Also the names of those on a limit without one.

    Where not ``strict``, all that are on a limit count as held.
    """
    cost, weak = whole.sizes.cost, []
    by_end, by_static = endpoint_gradient(whole)
    ends, first = [], 0
    for e in phases:
        ph, form = e.phase, e.phase.form
        nx = form.x.numel()
        bounds = (form.start_time, form.end_time, form.x_start, form.x_end)
        lower, upper = (np.concatenate([getattr(b, s) for b in bounds]) for s in ("lower", "upper"))
        x = ph.x(np.array([ph.given.t0]))[:, 0], ph.x(np.array([ph.given.tf]), left=True)[:, 0]
        values = np.concatenate([[ph.given.t0, ph.given.tf], *x])
        sizes = np.concatenate([[ph.measure.time] * 2, ph.sizes, ph.sizes])
        slopes = _end_slopes(e, by_end[first : first + 2 + 2 * nx])
        words = [f"{w} {n}" for w in ("initial", "final") for n in form.x_names]
        on, let_go = _held(values, (lower, upper), sizes, slopes / cost if strict else None)
        words = ["initial time", "final time", *words]
        weak += [words[i] for i in np.flatnonzero(let_go)]
        rest = form.ends.column.numel() - on.size
        ends += [on, np.zeros(rest, dtype=bool)]
        first += form.ends.column.numel()
        if by_static.size:
            shares = e.gradients["s"] * e.phase.quadrature.ravel()[None, :]
            by_static = by_static + shares.sum(axis=1) + e.fit.by_static
    statics = [np.zeros(0, dtype=bool)]
    for q in whole.form.statics:
        on, let_go = _held(
            whole.s[q.rows],
            (q.bound.lower, q.bound.upper),
            whole.sizes.s[q.rows],
            by_static[q.rows] / cost if strict else None,
        )
        statics.append(on)
        weak += [q.components[i] for i in np.flatnonzero(let_go)]
    held, let_go = _conditions_held(whole)
    weak += [f"'{whole.form.b_names[i]}'" for i in np.flatnonzero(let_go)]
    return (np.concatenate(ends), held, np.concatenate(statics)), weak


def _held(
    values: Array, bounds: tuple[Array, Array], sizes: Array, slopes: Array | None
) -> tuple[Mask, Mask]:
    """Which of some values a limit holds, and which are on a limit that does not.

    ``slopes`` are the derivatives of the cost relative to its size; None: every limit holds.
    """
    near = 1e-6 * sizes
    on = (values <= bounds[0] + near) | (values >= bounds[1] - near)
    if slopes is None:
        return on, np.zeros(on.shape, dtype=bool)
    weak = on & (bounds[0] != bounds[1]) & (np.abs(slopes) * sizes < STRICT)
    return on & ~weak, weak


def _end_slopes(e: PhaseConditions, by_end: Array) -> Array:
    """Derivatives of the cost by (t0, tf, x0, xf): the multipliers of their limits."""
    ph, nx, count = e.phase, e.phase.form.x.numel(), e.phase.widths.size
    first = ph.costate(np.array([ph.given.t0]))[:, 0]
    last = ph.costate(np.array([ph.given.tf]), left=True)[:, 0]
    H = e.values(e.ham.H, e.at_breaks)[0]
    times = by_end[:2] + np.array([-H[0], H[2 * count - 1]])
    return np.concatenate([times, by_end[2 : 2 + nx] + first, by_end[2 + nx :] - last])


def _conditions_held(whole: SampledSolution) -> tuple[Mask, Mask]:
    bound = whole.form.b_bound
    if not whole.form.b.numel():
        return np.asarray(bound.fixed), np.zeros(0, dtype=bool)
    value, near = conditions(whole), 1e-6 * whole.sizes.b
    on = (value <= bound.lower + near) | (value >= bound.upper - near)
    strength = np.abs(whole.multipliers) * whole.sizes.b / whole.sizes.cost
    weak = on & ~bound.fixed & (strength < STRICT)
    return np.asarray(bound.fixed | (on & ~weak)), np.asarray(weak)
