"""Forward integration of an answer with its controls: interval by interval, and over whole phases.

All intervals are integrated together, each from the state where it begins, with as many steps as
the error estimate of the scheme asks for. The scheme is one that the solver did not use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate import implicit_steps
from trajopt.certificate.implicit_steps import ImplicitSteps
from trajopt.certificate.linearized_motion import Linear
from trajopt.certificate.sampled_solution import SampledPhase, evaluated
from trajopt.compiled.pointwise import Pointwise
from trajopt.deadline import OutOfWork
from trajopt.integrate.fixed_step import combine
from trajopt.integrate.rates import FLAT_INSTRUCTIONS
from trajopt.integrate.tableaus import DOP853, FEHLBERG, Tableau

Array = NDArray[np.float64]
# relative, of one step
STEP_ERROR = {DOP853.name: 1e-12, FEHLBERG.name: 1e-10, implicit_steps.NAME: 1e-11}
STIFF = 1e3  # decay within an interval, as an exponent, from which steps are implicit
SHORTEST = 2.0**-14  # of an interval
MOST_STEPS = 2**20  # of a phase
# of error estimates of a halved step and the step: a kink of a control makes it 1/4, round-off 1/2
ROUND_OFF_RATIO = 0.4
DAMPING = 1e-12  # relative, of invariants that depend on each other
NEVER_RAISE = {
    "eps": 0.0
    # of QR: it would raise at small pivots, whatever their units; a motion that gets lost shows
    # itself
}
MAX_AMPLIFICATION = (
    1e3  # an integration starts anew where it has amplified a disturbed start so many times
)


def scheme_for(method: str) -> Tableau:
    """Shooting integrates by Dormand and Prince, so its answers are checked
    by Fehlberg's scheme.
    """
    return FEHLBERG if method == "indirect" else DOP853


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of an integration: the interval each is in, and its start and width as fractions of
    that.
    """

    interval: NDArray[np.intp]
    start: Array
    width: Array

    def some(self, which: NDArray[Any]) -> Steps:
        return Steps(self.interval[which], self.start[which], self.width[which])

    def halved(self) -> Steps:
        half = 0.5 * self.width
        return Steps(
            np.tile(self.interval, 2),
            np.concatenate([self.start, self.start + half]),
            np.tile(half, 2),
        )


@dataclass(frozen=True, eq=False)
class Integrated:
    """The states at the end of each segment, (nx, segments), and the largest deviation of each
    invariant, by its size.
    """

    ends: Array
    drift: Array


@dataclass(frozen=True, eq=False)
class Reintegration:
    """The re-integration of one phase: states and integrals, from the answer's controls alone."""

    phase: SampledPhase
    scheme: Tableau
    told_steps: Steps | None = (
        None  # of another integration of the same motion, where it has the same
    )
    told_segments: tuple[list[tuple[int, int]], Array] | None = None
    after_step: casadi.Function | None = None  # (t, x) -> x, after each step over a whole phase

    @cached_property
    def stiff(self) -> bool:
        """Whether explicit steps would be short for stability alone; redundant coordinates, which
        are no curves of the solution, are integrated explicitly.
        """
        return self.phase.told_states is None and self.linear.fastest_decay > STIFF

    @property
    def scheme_name(self) -> str:
        return implicit_steps.NAME if self.stiff else self.scheme.name

    @cached_property
    def rate(self) -> casadi.Function:
        """(t, x, z, u, s, p) -> the rates of states and integrals; algebraic variables are
        corrected from g = 0.
        """
        return _rate(self.phase)

    @cached_property
    def steps(self) -> Steps:
        """The steps of every interval: halved from the whole of it until the error estimate of each
        is small.

        Where a control meets its bound inside an interval only the steps around that place get
        short.
        """
        if self.told_steps is not None:
            return self.told_steps
        ph, pending = self.phase, self._whole
        sizes = np.concatenate([ph.sizes, ph.measure.q])
        # Values far from zero have an error of round-off, which falls with the step only as the
        # step does.
        round_off = (
            64
            * np.finfo(float).eps
            * float((np.abs(ph.sampled[1]).max(axis=1, initial=0.0) / ph.sizes).max(initial=0.0))
        )
        before, done = np.full(pending.width.size, np.inf), []
        while pending.interval.size:
            ph.deadline.check()
            at = ph.x(ph.inside(pending.start[:, None], pending.interval).ravel())
            x = np.vstack([at, np.zeros((ph.form.l.numel(), at.shape[1]))])
            error = _size_of(self._advance(x, pending)[1], sizes)
            lost = (error <= round_off) & (error > ROUND_OFF_RATIO * before)
            fine = (
                (error <= STEP_ERROR[self.scheme_name])
                | lost
                | (pending.width <= SHORTEST)
                | ~np.isfinite(error)
            )
            done.append(pending.some(fine))
            if sum(d.width.size for d in done) + 2 * np.count_nonzero(~fine) > MOST_STEPS:
                raise OutOfWork(
                    f"re-integration takes more than {MOST_STEPS} steps: the controls are not "
                    "smooth inside intervals",
                    hint="solve to a smaller tolerance, or make controls states with rates that "
                    "are controls",
                )
            pending, before = pending.some(~fine).halved(), np.tile(error[~fine], 2)
        every = Steps(
            *(
                np.concatenate(parts)
                for parts in zip(*[(d.interval, d.start, d.width) for d in done], strict=True)
            )
        )
        return every.some(np.lexsort((every.start, every.interval)))

    @property
    def _whole(self) -> Steps:
        """Whole intervals, divided where a control reaches its bound."""
        ph = self.phase
        inputs = [ph.given.controls[q.name] for q in ph.form.controls] + [
            ph.given.algebraics[q.name] for q in ph.form.algebraics
        ]
        times = np.unique(np.concatenate([ph.starts, *[curve.clipped_at() for curve in inputs]]))
        times = times[(times >= ph.breaks[0]) & (times < ph.breaks[-1])]
        which = np.searchsorted(ph.starts, times, side="right") - 1
        start = (times - ph.starts[which]) / ph.widths[which]
        # A kink next to the end of an interval, or to another one, is none.
        kept = (start == 0) | (
            (start > SHORTEST) & (start < 1 - SHORTEST) & (np.diff(start, prepend=-1.0) > SHORTEST)
        )
        which, start = which[kept], start[kept]
        last = np.append(np.diff(which) > 0, True)
        return Steps(which, start, np.where(last, 1.0, np.append(start[1:], 1.0)) - start)

    @cached_property
    def local(self) -> Array:
        """For each interval the end reached from its start, (states and integrals, intervals)."""
        ph, steps = self.phase, self.steps
        x = np.vstack([ph.x(ph.starts), np.zeros((ph.form.l.numel(), ph.starts.size))])
        first = np.searchsorted(steps.interval, np.arange(ph.starts.size))
        counts = np.diff(np.append(first, steps.interval.size))
        for j in range(int(counts.max())):
            ph.deadline.check()
            here = np.flatnonzero(counts > j)
            x[:, here] = self._advance(x[:, here], steps.some(first[here] + j))[0]
        return x

    @property
    def defects(self) -> Array:
        """How far the end of each interval is from the answer's next state, relative to the sizes
        of states.
        """
        ph, n = self.phase, self.phase.form.x.numel()
        return np.asarray(
            np.abs(self.local[:n] - ph.x(ph.breaks[1:], left=True)) / ph.sizes[:, None]
        )

    @property
    def jumps(self) -> Array:
        """How far the answer's states jump where intervals meet."""
        ph = self.phase
        inner = ph.breaks[1:-1]
        return np.asarray(np.abs(ph.x(inner) - ph.x(inner, left=True)) / ph.sizes[:, None])

    @cached_property
    def linear(self) -> Linear:
        return Linear(self.phase)

    @cached_property
    def segments(self) -> tuple[list[tuple[int, int]], Array]:
        """Runs of intervals that one integration covers: the whole phase, unless it amplifies a
        disturbed start too much.
        """
        if self.told_segments is not None:
            return self.told_segments
        return self.linear.segments(MAX_AMPLIFICATION)

    def integrated(self, stabilized: bool = False) -> Integrated:
        """The phase from the start of each segment alone; ``stabilized``: invariants are projected
        back after each step.
        """
        ph, steps, n = self.phase, self.steps, self.phase.form.x.numel()
        firsts, lasts = (np.array(part) for part in zip(*self.segments[0], strict=True))
        begin = np.searchsorted(steps.interval, firsts)
        counts = np.searchsorted(steps.interval, lasts) - begin
        start, t0 = ph.x(ph.starts[firsts]), ph.starts[firsts]
        x = np.vstack([start, np.zeros((ph.form.l.numel(), firsts.size))])
        inputs = self._inputs(steps)
        after = ph.starts[steps.interval] + (steps.start + steps.width) * ph.widths[steps.interval]
        drift = np.zeros((0 if self._deviation is None else self._deviation.numel_out(0), 1))
        corrected, projection, deviation = (
            None if function is None else Pointwise(function)
            for function in (self.after_step, self._projection, self._deviation)
        )
        for j in range(int(counts.max())):
            ph.deadline.check()
            here = np.flatnonzero(counts > j)
            at = begin[here] + j
            x[:, here] = self._advance(
                x[:, here], steps.some(at), tuple(part[:, at] for part in inputs)
            )[0]
            if corrected is not None:
                x[:n, here] = evaluated(corrected, after[at][None, :], x[:n, here])
            if deviation is None or projection is None:
                continue
            known = t0[None, here], start[:, here], ph.s, ph.p
            if stabilized:
                x[:n, here] = evaluated(projection, after[at][None, :], x[:n, here], *known)
            gap = evaluated(deviation, after[at][None, :], x[:n, here], *known)
            drift = np.maximum(drift, np.abs(gap).max(axis=1, keepdims=True))
        return Integrated(x[:n], drift.ravel() / self._deviation_sizes)

    @property
    def stabilizable(self) -> bool:
        return self._projection is not None

    @cached_property
    def _projection(self) -> casadi.Function | None:
        """The least correction of the states, relative to their sizes, that brings their invariants
        back to where they started.

        Invariants may depend on each other, so that a little damping has to decide which of them is
        corrected.
        """
        if self._deviation is None:
            return None
        n = self.phase.form.x.numel()
        sizes = (1, n, 1, n, self.phase.s.size, self.phase.p.size)
        t, x, t0, x0, s, p = (
            casadi.MX.sym(name, size)
            for name, size in zip(("t", "x", "t0", "x0", "s", "p"), sizes, strict=True)
        )
        gap = self._deviation(t, x, t0, x0, s, p)
        slopes = casadi.jacobian(gap, x) @ casadi.diag(casadi.DM(self.phase.sizes))
        length = casadi.sqrt(casadi.sum2(slopes**2) + 1e-300)
        rows = slopes / casadi.repmat(length, 1, n)
        normal = rows @ rows.T + DAMPING * casadi.MX.eye(gap.numel())
        corrected = x - casadi.DM(self.phase.sizes) * (
            rows.T @ casadi.solve(normal, gap / length, "qr", NEVER_RAISE)
        )
        return casadi.Function("project", [t, x, t0, x0, s, p], [corrected])

    @cached_property
    def _deviation(self) -> casadi.Function | None:
        """(t, x, t0, x0, s, p) -> how far invariants of the states are from zero, or from what they
        were at t0.
        """
        form, s, p = self.phase.form, self.phase.symbols_s, self.phase.symbols_p
        kept = self._kept
        if not kept:
            return None
        y = casadi.vertcat(*[expression for _, expression, _ in kept])
        t0, x0 = form.x.sym("t0"), form.x.sym("x0", form.x.numel())
        before = casadi.substitute([y], [form.t, form.x], [t0, x0])[0]
        constant = casadi.DM(
            [factor for _, expression, factor in kept for _ in range(expression.numel())]
        )
        return casadi.Function(
            "deviation", [form.t, form.x, t0, x0, s, p], [casadi.densify(y - constant * before)]
        )

    @cached_property
    def _deviation_sizes(self) -> Array:
        """What the states, each by its size, contribute to each invariant."""
        ph, form = self.phase, self.phase.form
        if not self._kept:
            return np.zeros(0)
        y = casadi.vertcat(*[expression for _, expression, _ in self._kept])
        terms = casadi.sum2(
            casadi.fabs(casadi.jacobian(y, form.x)) @ casadi.diag(casadi.DM(ph.sizes))
        )
        function = casadi.Function(
            "terms", [form.t, form.x, ph.symbols_s, ph.symbols_p], [casadi.densify(terms)]
        )
        along = evaluated(function, ph.breaks[None, :], ph.x(ph.breaks), ph.s, ph.p).max(axis=1)
        return np.where(along > 0, along, 1.0)

    @property
    def invariant_names(self) -> tuple[str, ...]:
        """Of each deviation."""
        return tuple(name for name, expression, _ in self._kept for _ in range(expression.numel()))

    @cached_property
    def _kept(self) -> list[tuple[str, Any, float]]:
        """Declared invariants of states, derivatives of those that are zero; 1 for what keeps its
        first value, 0 for zero.
        """
        form = self.phase.form
        others = casadi.vertcat(form.z, form.u, form.costate)
        kept: list[tuple[str, Any, float]] = []
        for invariant in form.invariants:
            expression = invariant.expression
            for k in range(max(invariant.order, 1)):
                if casadi.depends_on(expression, others):
                    break
                kept.append(
                    (
                        ("rate of " if k else "") + invariant.name,
                        expression,
                        0.0 if invariant.order else 1.0,
                    )
                )
                expression = casadi.jtimes(expression, form.x, form.f) + casadi.jacobian(
                    expression, form.t
                )
        return kept

    def _inputs(self, steps: Steps) -> tuple[Array, Array, Array]:
        """Times, algebraic variables and controls at all stages of each step, as columns: (stages *
        size, steps).
        """
        ph = self.phase
        nodes = implicit_steps.NODES if self.stiff else np.array(self.scheme.c)
        fractions = steps.start[:, None] + steps.width[:, None] * nodes[None, :]
        times = ph.inside(fractions, steps.interval)
        z, u = (
            of(times.ravel()).reshape(-1, *times.shape).transpose(2, 0, 1) for of in (ph.z, ph.u)
        )
        return times.T, z.reshape(-1, times.shape[0]), u.reshape(-1, times.shape[0])

    def _advance(
        self, x: Array, steps: Steps, inputs: tuple[Array, ...] | None = None
    ) -> tuple[Array, list[Array]]:
        """One step for each column, and the error estimates of the scheme."""
        if self.stiff:
            return self._advance_implicitly(x, steps, inputs)
        h = steps.width * self.phase.widths[steps.interval]
        with np.errstate(all="ignore"):
            found = self._step(
                x, h[None, :], *(inputs or self._inputs(steps)), self.phase.s, self.phase.p
            )
        outputs: tuple[Array, ...] = (
            found if isinstance(found, tuple) else (found,)
        )  # a scheme may have no error estimate
        return outputs[0], list(outputs[1:])

    def _advance_implicitly(
        self, x: Array, steps: Steps, inputs: tuple[Array, ...] | None
    ) -> tuple[Array, list[Array]]:
        """The same by Radau IIA; the error is the difference from two halved steps, where it is
        asked for.
        """
        end, solved = self._implicit_step(x, steps, inputs or self._inputs(steps))
        if inputs is not None:
            return end, []
        half, count = steps.halved(), steps.width.size
        first, second = half.some(np.arange(count)), half.some(np.arange(count, 2 * count))
        middle, one = self._implicit_step(x, first, self._inputs(first))
        fine, two = self._implicit_step(middle, second, self._inputs(second))
        sizes = np.concatenate([self.phase.sizes, self.phase.measure.q])[:, None]
        error = np.where(solved & one & two, fine - end, implicit_steps.NOT_SOLVED * sizes)
        return end, [error]

    def _implicit_step(
        self, x: Array, steps: Steps, inputs: tuple[Array, ...]
    ) -> tuple[Array, NDArray[np.bool_]]:
        h = steps.width * self.phase.widths[steps.interval]
        times = inputs[0]
        guess = self.phase.x(times.ravel()).reshape(-1, *times.shape).transpose(1, 0, 2)
        with np.errstate(all="ignore"):
            return self._radau(x, h, guess, *inputs, self.phase.s, self.phase.p)

    @cached_property
    def _radau(self) -> Callable[..., tuple[Array, NDArray[np.bool_]]]:
        return ImplicitSteps(self.rate, self.phase.sizes).stepper()

    @cached_property
    def _step(self) -> Callable[..., Any]:
        """A whole step of the scheme: as one tape where the rates are short, by tapes of the rates
        where they are long.
        """
        ph, table = self.phase.form, self.scheme
        scalar = self.rate.is_a("SXFunction")
        if scalar and self.rate.n_instructions() * table.stages > FLAT_INSTRUCTIONS:
            return self._step_by_stages
        sym: Any = casadi.SX.sym if scalar else casadi.MX.sym
        n, nz, nu = ph.x.numel(), ph.z.numel(), ph.u.numel()
        x, h, t = sym("x", n + ph.l.numel()), sym("h"), sym("t", table.stages)
        z, u = sym("z", nz * table.stages), sym("u", nu * table.stages)
        s, p = sym("s", self.phase.s.size), sym("p", self.phase.p.size)
        outputs = self._stages(self.rate, (x, h, t, z, u, s, p))
        return Pointwise(
            casadi.Function("step", [x, h, t, z, u, s, p], [casadi.densify(o) for o in outputs])
        )

    def _step_by_stages(self, *inputs: Array) -> tuple[Array, ...]:
        return tuple(self._stages(self._rate_of_columns, inputs))

    @cached_property
    def _rate_of_columns(self) -> Pointwise:
        return Pointwise(self.rate)

    def _stages(self, rate: Callable[..., Any], inputs: tuple[Any, ...]) -> list[Any]:
        """The end of a step and its error estimates, of symbols or of columns."""
        (x, h, t, z, u, s, p), table = inputs, self.scheme
        n, nz, nu = (v.numel() for v in (self.phase.form.x, self.phase.form.z, self.phase.form.u))
        k: list[Any] = []
        for i in range(table.stages):
            stage = x + h * combine(table.a[i], k) if i else x
            k.append(
                rate(
                    t[i : i + 1],
                    stage[:n],
                    z[i * nz : (i + 1) * nz],
                    u[i * nu : (i + 1) * nu],
                    s,
                    p,
                )
            )
        return [x + h * combine(table.b, k), *[h * combine(row, k) for row in table.errors]]


def _size_of(errors: list[Array], sizes: Array) -> Array:
    """Error estimates relative to sizes; for two of them Hairer's combination, which behaves like
    an error of order seven.
    """
    scaled = [np.abs(e / sizes[:, None]).max(axis=0) for e in errors]
    if len(scaled) == 1:
        return np.asarray(scaled[0])
    fifth, third = scaled
    bottom = np.hypot(fifth, 0.1 * third)
    return np.asarray(np.where(bottom > 0, fifth**2 / np.where(bottom > 0, bottom, 1.0), bottom))


def _rate(ph: SampledPhase) -> casadi.Function:
    form = ph.form
    inputs = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    plain = casadi.Function("rate", inputs, [casadi.densify(casadi.vertcat(form.f, form.l))])
    jacobian = casadi.jacobian(form.g, form.z) if form.z.numel() else None
    if (
        jacobian is None
        or form.g.numel() != form.z.numel()
        or casadi.sprank(jacobian) < form.z.numel()
    ):
        return plain
    residual = casadi.Function("g", inputs, [form.g, jacobian])
    t, x, z, u, s, p = (
        casadi.MX.sym(n, i.numel())
        for n, i in zip(("t", "x", "z", "u", "s", "p"), inputs, strict=True)
    )
    corrected = z
    for _ in range(2):  # from the answer's own values: Newton's method has converged after that
        g, slope = residual(t, x, corrected, u, s, p)
        corrected = corrected - casadi.solve(slope, g, "qr", NEVER_RAISE)
    return casadi.Function("rate", [t, x, z, u, s, p], [plain(t, x, corrected, u, s, p)])
