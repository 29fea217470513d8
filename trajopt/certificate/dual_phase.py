"""One phase of the Lagrangian dual of a convex problem: the costate integrated anew, and the least
value of H along it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from trajopt.certificate.linearized_motion import gauss
from trajopt.certificate.minimum_of_h import HamiltonianMinimization
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.state_constraints import (
    CostateSystem,
    MultiplierCandidates,
    NearLimits,
    transition,
)
from trajopt.compiled.pointwise import Pointwise
from trajopt.deadline import OutOfWork

Array = NDArray[np.float64]
# slope, relative to cost over size, that is round-off: a direction without limits has none
EXACT = 1e-9
WIDE = 1e3  # sizes of a control without bounds that are searched for a minimum at a kink
GOLDEN = 0.5 * (3 - 5**0.5)
LOST = 1e100  # factor by which a costate at the end changes that at the start
NARROWED = 80  # times the interval of the search is divided


def least_value(slope: Array, at: Array, lower: Array, upper: Array, none: Array | float) -> Array:
    """How far slope . (x - at) falls within limits; infinite without a limit in its direction,
    unless the slope is ``none``.
    """
    with np.errstate(invalid="ignore"):
        fall = np.maximum(slope * (at - lower), slope * (at - upper))
    fall = np.where(slope == 0, 0.0, fall)
    return np.where(np.isinf(fall) & (np.abs(slope) <= none), 0.0, fall)


@dataclass(frozen=True, eq=False)
class Measure:
    """Multipliers of state constraints: for each interval what may act in it, and how much of each
    does.
    """

    parts: dict[int, tuple[MultiplierCandidates, Array]] = field(default_factory=dict)

    @property
    def slack(self) -> float:
        return float(sum(sizes @ given.distance for given, sizes in self.parts.values()))


@dataclass
class PhaseDual:
    """Costates at the quadrature points that satisfy the adjoint equation, linearized about states
    of the answer and controls.
    """

    e: PhaseConditions
    kinked: bool
    now: Measure = field(default_factory=Measure)
    costate: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (nx, N)
    first_costate: Array = field(default_factory=lambda: np.zeros(0))
    y: Array = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # controls and algebraic variables about which H is linearized
    m: Array = field(
        default_factory=lambda: np.zeros((0, 0))
    )  # multipliers of equations and mixed constraints

    # The answer
    # ----------------------------------------------------------------------------------------------

    @property
    def form(self) -> Any:
        return self.e.phase.form

    @property
    def count(self) -> int:
        return int(self.form.x.numel())

    @property
    def sizes(self) -> Array:
        return self.e.phase.sizes

    @cached_property
    def x_first(self) -> Array:
        return self.e.phase.x(np.array([self.e.phase.given.t0]))[:, 0]

    @cached_property
    def x_last(self) -> Array:
        return self.e.phase.x(np.array([self.e.phase.given.tf]), left=True)[:, 0]

    @property
    def last_costate(self) -> Array:
        return self.e.phase.costate(np.array([self.e.phase.given.tf]), left=True)[:, 0]

    @cached_property
    def _limits(self) -> NearLimits | None:
        return NearLimits.of(self.e)

    @property
    def constrained(self) -> bool:
        return self._limits is not None

    @cached_property
    def _system(self) -> CostateSystem:
        assert self._limits is not None
        return CostateSystem.of(
            self.e, self.e.augmented(self.e.given, self.e.multipliers)["x"], self._limits
        )

    def measure(self, side: int, weight: float) -> Measure:
        """Multipliers of state constraints fitted to each interval; those at breaks belong to the
        interval before, or after.
        """
        if self._limits is None:
            return Measure()
        parts = {}
        for k in np.flatnonzero(self._limits.intervals):
            self.e.phase.deadline.check()
            given = self._system.candidates(int(k))
            ends = tuple(end[:, k] for end in self._system.ends[side])
            parts[int(k)] = (
                given,
                self._system.solved(self._system.points(int(k)), given, (ends[0], ends[1]), weight)[
                    2
                ],
            )
        return Measure(parts)

    # The adjoint equation
    # ----------------------------------------------------------------------------------------------

    def begin(self, measure: Measure) -> None:
        self.now, self.costate = measure, self.e.given[4].copy()

    def changed(self, before: Array) -> float:
        return float(
            (np.abs(self.costate - before).max(axis=1, initial=0.0) / self.e.costate_sizes).max(
                initial=0.0
            )
        )

    @cached_property
    def _rows(self) -> Any:
        return casadi.vertcat(self.form.g, self.e.ham.mixed.expression)

    @cached_property
    def _functions(self) -> tuple[Any, Any, Any]:
        """Of (symbols, multipliers): derivatives by x of the terms without costates; by (u, z) of
        all; by static variables.
        """
        ham, form = self.e.ham, self.form
        m = ham.symbols.sym("m", self._rows.numel())
        weighted = casadi.dot(m, self._rows) if self._rows.numel() else 0
        cost = (casadi.dot(ham.weight, form.l) if form.l.numel() else 0) + weighted
        whole, inputs = ham.H + weighted, [*self.e.symbols, m]

        def by(expression: Any, symbols: list[Any]) -> Any:
            parts = [casadi.gradient(expression, v) for v in symbols if v.numel()]
            column = casadi.densify(casadi.vertcat(*parts)) if parts else ham.symbols(0, 1)
            return Pointwise(casadi.Function("slope", inputs, [column]))

        return by(ham.symbols(0) + cost, [form.x]), by(whole, [form.u, form.z]), by(whole, [ham.s])

    @cached_property
    def rates(self) -> Array:
        """(N, nx, nx): df_i/dx_j, which is the same for all states and controls."""
        n = self.count
        return self.e.values(
            casadi.jacobian(self.form.f, self.form.x).T.reshape((-1, 1)), self.e.given
        ).T.reshape(-1, n, n)

    def _at(self) -> tuple[Array, ...]:
        """Arguments: states of the answer, the controls of the linearization, the costate."""
        nu = self.form.u.numel()
        return (*self.e.given[:2], self.y[nu:], self.y[:nu], self.costate, *self.e.fixed, self.m)

    @property
    def has_rows(self) -> bool:
        """Whether there are algebraic equations or mixed constraints."""
        return bool(self._rows.numel())

    def linearize(self) -> None:
        """Choose controls and multipliers about which H is linearized, from the costate
        as it is.
        """
        self.about_answer()
        if self.form.u.numel() and not self.has_rows:
            self._minimize()
            self._update_rest()

    def about_answer(self) -> None:
        """Linearize about the controls of the answer."""
        e = self.e
        self.y = np.vstack([e.given[3], e.given[2]])
        self.m = np.zeros((self._rows.numel(), e.given[0].size))
        if self.has_rows:
            self.m = e._multipliers(self.costate)
            sides, ng = e.mixed_sides, self.form.g.numel()
            wrong = (self.m[ng:] * sides < 0) & (np.abs(sides) == 1)
            self.m[ng:] = np.where(wrong | (sides == 0), 0.0, self.m[ng:])
        self._update_rest()

    def _update_rest(self) -> None:
        self._rest = self._functions[0](*self._at()).reshape(self.count, -1).T

    def _minimize(self) -> None:
        search = HamiltonianMinimization(replace(self.e, told_costate=self.costate))
        if search.hessian.nnz() == 0 and not self.kinked:
            return
        if self.kinked and search.diagonal:
            self.y = _golden(search)
            return
        every = np.arange(self.costate.shape[1])
        self.y = search._descended(self.y, every, np.zeros((0, every.size)))[1]
        if self.kinked:
            return
        for _ in range(2):  # to round-off, where the search stops at the square root of it
            self.y = self._newton(search)

    def _newton(self, search: HamiltonianMinimization) -> Array:
        slope = self._functions[1](*self._at())
        n, (lower, upper) = self.y.shape[0], search.box
        bend = search.e.values(
            search.hessian.reshape((-1, 1)), (*self.e.given[:3], self.y, self.costate)
        ).T.reshape(-1, n, n)
        held = ((self.y <= lower) & (slope > 0)) | ((self.y >= upper) & (slope < 0))
        matrix = (
            np.where(held.T[:, :, None] | held.T[:, None, :], 0.0, bend)
            + np.eye(n)[None] * held.T[:, :, None]
        )
        step = np.einsum(
            "nij,nj->in", np.linalg.pinv(matrix, hermitian=True), np.where(held, 0.0, slope).T
        )
        moved = np.clip(self.y - step, lower, upper)
        return np.where(np.isfinite(moved), moved, self.y)

    def _interval(self, k: int) -> tuple[Array, Array]:
        """Costates at start, points and end of an interval: the matrix of those at the start, and
        what is added.
        """
        here, n = self._points(k), self.count
        inner, last, particular = transition(
            self.rates[here], self._rest[here], float(self.e.phase.widths[k])
        )
        flow = np.concatenate([np.eye(n)[None], inner[:, :, :n], last[None]])
        own = np.concatenate([np.zeros((1, n)), inner[:, :, n], particular[None]])
        if k in self.now.parts:
            given, sizes = self.now.parts[k]
            own = own + np.einsum("m,mpi->pi", sizes, given.columns)
        return flow, own

    def _points(self, k: int) -> slice:
        count = self.e.phase.times.shape[1]
        return slice(k * count, (k + 1) * count)

    def transfer(self) -> tuple[Array, Array]:
        """The costate at the start as a function of that at the end: a matrix and a vector."""
        M, rest = np.eye(self.count), np.zeros(self.count)
        for k in range(self.e.phase.widths.size - 1, -1, -1):
            flow, own = self._interval(k)
            back = np.linalg.inv(flow[-1])
            M, rest = back @ M, back @ (rest - own[-1])
            if max(np.abs(M).max(initial=0.0), np.abs(rest).max(initial=0.0)) > LOST:
                raise OutOfWork("costates grow too much between the ends of a phase")
        return M, rest

    def sweep(self, at_end: Array) -> None:
        """Integrate the costate backward from the end."""
        costate, self._ends = (
            np.zeros_like(self.costate),
            np.zeros((self.count, self.e.phase.widths.size)),
        )
        for k in range(self.e.phase.widths.size - 1, -1, -1):
            self.e.phase.deadline.check()
            flow, own = self._interval(k)
            self._ends[:, k] = at_end
            at_start = np.linalg.solve(flow[-1], at_end - own[-1])
            costate[:, self._points(k)] = (flow[1:-1] @ at_start + own[1:-1]).T
            at_end = at_start
        self.costate, self.first_costate = costate, at_end

    # What is left
    # ----------------------------------------------------------------------------------------------

    def inner(self) -> tuple[float, str]:
        """The integral of H minus its least value over controls within their limits; and where that
        is infinite, why.
        """
        e, form = self.e, self.form
        H = e.values(e.ham.H, (*e.given[:4], self.costate))[0]
        nu, names = form.u.numel(), (*form.u_names, *form.z_names)
        if not self.y.size:
            return 0.0, ""
        at = (*e.given[:2], self.y[nu:], self.y[:nu], self.costate)
        least = e.values(e.ham.H, at)[0]
        gap = H - least
        if not (self.kinked and self._separable):
            lower, upper = (
                np.concatenate([getattr(form.u_bound, s), getattr(form.z_bound, s)])[:, None]
                for s in ("lower", "upper")
            )
            none = EXACT * e.power / np.concatenate([e.phase.spans, e.phase.measure.z])[:, None]
            fall = least_value(self._functions[1](*self._at()), self.y, lower, upper, none)
            if not np.isfinite(fall).all():
                return (
                    np.inf,
                    "H has no minimum over "
                    f"{names[int(np.argmax(~np.isfinite(fall).all(axis=1)))]}",
                )
            gap = gap + fall.sum(axis=0)
        gap = gap + self._mixed_slack()
        return float(gap @ e.phase.quadrature.ravel()), "" if np.isfinite(
            gap
        ).all() else "H is not finite"

    @cached_property
    def _separable(self) -> bool:
        return not self._rows.numel() and HamiltonianMinimization(self.e).diagonal

    def _mixed_slack(self) -> Array:
        """Multipliers of equations and mixed constraints times the distance from their limits."""
        if not self._rows.numel():
            return np.zeros(self.costate.shape[1])
        e, ng = self.e, self.form.g.numel()
        values = e.values(self._rows, (*e.given[:4], self.costate))
        rows = e.ham.mixed
        upper, lower = (
            np.concatenate([np.zeros(ng), part])[:, None] for part in (rows.upper, rows.lower)
        )
        limit = np.where(self.m > 0, upper, lower)
        return np.asarray((self.m * np.where(self.m != 0, limit - values, 0.0)).sum(axis=0))

    def defect(self) -> float:
        """The costate times what the states of the answer miss of the integrals of their rates."""
        e, ph, n = self.e, self.e.phase, self.count
        shape = ph.times.shape
        f = e.values(self.form.f, e.given).reshape(n, *shape)
        x, starts, ends = (
            e.given[1].reshape(n, *shape),
            ph.x(ph.starts),
            ph.x(ph.breaks[1:], left=True),
        )
        within = (
            x
            - starts[:, :, None]
            - np.einsum("ij,nkj->nki", gauss(shape[1])[2], f) * ph.widths[None, :, None]
        )
        at_end = ends - starts - (f * ph.quadrature[None]).sum(axis=2)
        rate = -(self._rest + np.einsum("kij,ki->kj", self.rates, self.costate.T)).T.reshape(
            n, *shape
        )
        jumps = (self._ends[:, :-1] * (starts[:, 1:] - ends[:, :-1])).sum()
        return float(
            (self._ends * at_end).sum() - (rate * within * ph.quadrature[None]).sum() + jumps
        )

    @property
    def slack(self) -> float:
        return self.now.slack

    def by_static(self) -> Array:
        """The derivative of the Lagrangian by static variables, as far as this phase enters it."""
        if not self.e.ham.s.numel():
            return np.zeros(0)
        along = self._functions[2](*self._at()) @ self.e.phase.quadrature.ravel()
        return np.asarray(
            along + sum(sizes @ given.by_static for given, sizes in self.now.parts.values())
        )

    # Minimum time
    # ----------------------------------------------------------------------------------------------

    def no_equilibrium(self) -> str:
        """Why the motion cannot wait at its end: no admissible controls keep the
        given last state.
        """
        form, ph = self.form, self.e.phase
        if not form.x_end.fixed.all():
            return "the end is free"
        if form.z.numel() or casadi.depends_on(casadi.vertcat(form.f, form.c), form.t):
            return "the model depends on time"
        inputs = [form.x, form.u, ph.symbols_s, ph.symbols_p]
        outputs = [casadi.densify(v) for v in (form.f, casadi.jacobian(form.f, form.u), form.c)]
        function = casadi.Function("end", inputs, outputs)
        f, B, _ = (
            np.asarray(v.full())
            for v in function(form.x_end.lower, np.zeros(form.u.numel()), ph.s, ph.p)
        )
        u, left = equilibrium_controls(B, f.ravel(), form.u_bound.lower, form.u_bound.upper)
        c = np.asarray(function(form.x_end.lower, u, ph.s, ph.p)[2].full()).ravel()
        size = np.abs(self.e.values(form.f, self.e.given)).max(initial=0.0)
        if left > 1e-10 * size or np.any(c < form.c_bound.lower) or np.any(c > form.c_bound.upper):
            return "the end is no equilibrium"
        return ""

    def near_end(self, earlier: float) -> tuple[Array, Array]:
        """Costate and state a little before the end."""
        ph, last = self.e.phase, self.e.phase.widths.size - 1
        nodes = np.append(gauss(ph.times.shape[1])[0], 1.0)
        values = np.column_stack([self.costate[:, self._points(last)], self._ends[:, last]])
        place = 1 - earlier / float(ph.widths[-1])
        fit = np.linalg.solve(
            np.polynomial.legendre.legvander(2 * nodes - 1, nodes.size - 1), values.T
        )
        costate = np.polynomial.legendre.legvander(np.array([2 * place - 1]), nodes.size - 1) @ fit
        return costate[0], ph.x(np.array([ph.given.tf - earlier]))[:, 0]


def _golden(search: HamiltonianMinimization) -> Array:
    """Each control that minimizes H alone, by golden sections: H may have kinks, but no products of
    controls.
    """
    y, size = search.y.copy(), search.size[:, None]
    bound = search.e.phase.form.u_bound
    a = np.maximum(bound.lower[:, None], y - WIDE * size)
    b = np.minimum(bound.upper[:, None], y + WIDE * size)
    every = np.arange(y.shape[1])
    for i in range(y.shape[0]):

        def value(at: Array, i: int = i) -> Array:
            trial = y.copy()
            trial[i] = at
            return search.value(trial, every)

        low, high = a[i] + 0.0 * y[i], b[i] + 0.0 * y[i]
        candidates = [y[i], low, high]
        for _ in range(NARROWED):
            c, d = low + GOLDEN * (high - low), high - GOLDEN * (high - low)
            left = value(c) <= value(d)
            low, high = np.where(left, low, c), np.where(left, d, high)
        candidates.append(0.5 * (low + high))
        found = np.array([value(x) for x in candidates])
        y[i] = np.array(candidates)[np.argmin(found, axis=0), every]
        artificial = ((y[i] <= a[i]) & (a[i] > bound.lower[i])) | (
            (y[i] >= b[i]) & (b[i] < bound.upper[i])
        )
        y[i] = np.where(artificial, np.nan, y[i])
    return y


def equilibrium_controls(B: Array, f: Array, lower: Array, upper: Array) -> tuple[Array, float]:
    """Controls within bounds with f + B u = 0, by least squares, and what they leave."""
    found = lsq_linear(B, -f, (lower, upper), tol=1e-15)
    return found.x, float(np.abs(f + B @ found.x).max(initial=0.0))
