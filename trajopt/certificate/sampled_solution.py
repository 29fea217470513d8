"""An answer as columns: the values of every phase at any times, and at the quadrature points that
most checks use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.sizes import PhaseSizes, Samples, Sizes, sizes
from trajopt.compiled.pointwise import Pointwise
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.curve import ROUND_OFF, Curve, joined
from trajopt.trajectory.solution import PhaseSolution, Solution

Array = NDArray[np.float64]
POINTS, WEIGHTS = (
    0.5 * (v + shift)
    for v, shift in zip(np.polynomial.legendre.leggauss(12), (1.0, 0.0), strict=True)
)
HIGH_DEGREE = 12  # nodes of a piece that quadrature resolves as one interval
INSIDE = (
    1e-12  # of an interval: controls and costates may jump at its ends, and are read just inside
)


@dataclass(frozen=True, eq=False)
class SampledPhase:
    """One phase: its equations and its curves. Columns are (size, number of times)."""

    form: PhaseForm
    given: PhaseSolution
    s: Array
    p: Array
    symbols_s: Any
    symbols_p: Any
    own: PhaseSizes | None = None
    further: Array = field(
        default_factory=lambda: np.zeros(0)
    )  # breaks beside those of the curves: steps of an integration
    deadline: Deadline = UNLIMITED  # long loops check it
    told_sizes: Array | None = None  # of states, where they are not those of the problem
    told_states: Callable[[Array, bool], Array] | None = (
        None  # (times, left) -> states, where they are no curves of the solution
    )

    @cached_property
    def breaks(self) -> Array:
        """Where any of the curves has a break; pieces of a high degree are divided, so that
        quadrature resolves them.
        """
        groups = (
            self.given.states,
            self.given.controls,
            self.given.algebraics,
            self.given.costates,
        )
        curves = [c for group in groups for c in group.values()]
        found = np.unique(
            np.concatenate(
                [[self.given.t0, self.given.tf], self.further, *[_knots(c) for c in curves]]
            )
        )
        found = found[(found >= self.given.t0) & (found <= self.given.tf)]
        apart = np.append(np.diff(found) > 1e-10 * (self.given.tf - self.given.t0), True)
        apart[:1] = True
        kept = found[apart]
        return np.asarray(np.unique([self.given.t0, *kept[1:-1], self.given.tf]))

    @property
    def starts(self) -> Array:
        return self.breaks[:-1]

    @property
    def widths(self) -> Array:
        return np.diff(self.breaks)

    def inside(self, fractions: Array, intervals: NDArray[np.intp]) -> Array:
        """Times at fractions (K, m) of some intervals (K,), never quite at their ends."""
        a, h = self.starts[intervals][:, None], self.widths[intervals][:, None]
        nudge = np.minimum(INSIDE * h + 4 * np.spacing(np.abs(self.breaks).max()), 0.25 * h)
        return np.asarray(np.clip(a + fractions * h, a + nudge, a + h - nudge))

    @cached_property
    def times(self) -> Array:
        """The quadrature points of all intervals, (intervals, points)."""
        every = np.arange(self.widths.size)
        return self.inside(np.repeat(POINTS[None, :], every.size, axis=0), every)

    @property
    def quadrature(self) -> Array:
        """The weights of those points, (intervals, points)."""
        return self.widths[:, None] * WEIGHTS[None, :]

    def x(self, times: Array, left: bool = False) -> Array:
        if self.told_states is not None:
            return self.told_states(times, left)
        found = columns(self._states, times, left)
        for bound, round_off in self._state_limits:
            found = np.where(np.abs(found - bound) <= round_off, bound, found)
        return found

    @cached_property
    def _state_limits(self) -> tuple[tuple[Array, Array], ...]:
        """Lower and upper bounds of the states, with the round-off of their polynomials: a value
        that close to a bound is the bound, where a root or a logarithm may end.
        """
        largest = np.concatenate(
            [np.abs(np.concatenate(curve.values)).max(axis=0) for curve in self._states]
        )
        round_off = ROUND_OFF * largest[:, None]
        bound = self.form.x_bound
        sides = (np.asarray(side, dtype=float)[:, None] for side in (bound.lower, bound.upper))
        return tuple((side, round_off) for side in sides if np.isfinite(side).any())

    def z(self, times: Array) -> Array:
        return columns(self._algebraics, times)

    def u(self, times: Array) -> Array:
        return columns(self._controls, times)

    def costate(self, times: Array, left: bool = False) -> Array:
        return columns(self._costates, times, left)

    @cached_property
    def _states(self) -> tuple[Curve, ...]:
        return joined([self.given.states[q.name] for q in self.form.states])

    @cached_property
    def _algebraics(self) -> tuple[Curve, ...]:
        return joined([self.given.algebraics[q.name] for q in self.form.algebraics])

    @cached_property
    def _controls(self) -> tuple[Curve, ...]:
        return joined([self.given.controls[q.name] for q in self.form.controls])

    @cached_property
    def _costates(self) -> tuple[Curve, ...]:
        return joined([self.given.costates[q.name] for q in self.form.states])

    @property
    def has_costates(self) -> bool:
        return all(q.name in self.given.costates for q in self.form.states)

    @cached_property
    def sampled(self) -> tuple[Array, Array, Array, Array]:
        """t, x, z, u at the quadrature points."""
        flat = self.times.ravel()
        return flat[None, :], self.x(flat), self.z(flat), self.u(flat)

    @property
    def samples(self) -> Samples:
        """The phase at quadrature points and breaks, in order."""
        times = np.sort(np.concatenate([self.times.ravel(), self.breaks]))
        near = np.clip(times, self.inside(np.zeros((1, 1)), np.array([0]))[0, 0], None)
        last = self.inside(np.ones((1, 1)), np.array([self.widths.size - 1]))[0, 0]
        near = np.minimum(near, last)
        return Samples(times, self.x(times), self.z(near), self.u(near))

    @property
    def measure(self) -> PhaseSizes:
        """The sizes of the quantities of the phase."""
        assert self.own is not None
        return self.own

    @property
    def sizes(self) -> Array:
        """Of each state."""
        return self.measure.x if self.told_sizes is None else self.told_sizes

    @property
    def spans(self) -> Array:
        """Of each control."""
        return self.measure.u

    @property
    def endpoint_values(self) -> Array:
        """In the order of the form's endpoint column; integrals are those of the file."""
        ends = np.array([self.given.t0, self.given.tf])
        near = self.inside(np.array([[0.0], [1.0]]), np.array([0, self.widths.size - 1])).ravel()
        x, z, u = self.x(ends), self.z(near), self.u(near)
        told = (
            self.given.integrals
            if self.given.integrals.size == self.form.l.numel()
            else np.zeros(self.form.l.numel())
        )
        return np.concatenate([ends, x[:, 0], x[:, 1], z[:, 0], z[:, 1], u[:, 0], u[:, 1], told])


@dataclass(frozen=True, eq=False)
class SampledSolution:
    """All phases of an answer."""

    form: NormalForm
    solution: Solution
    phases: tuple[SampledPhase, ...]
    s: Array
    p: Array

    integrals: tuple[Array, ...] | None = (
        None  # computed anew; those of the file where they are not
    )
    conditions: bool = True  # whether conditions on endpoints enter with their multipliers
    own: Sizes | None = None  # of all quantities; computed where they are not given

    @property
    def endpoints(self) -> Array:
        """In the order of the form's endpoint column."""
        found = []
        for k, ph in enumerate(self.phases):
            values = ph.endpoint_values
            if self.integrals is not None and self.integrals[k].size:
                values[-self.integrals[k].size :] = self.integrals[k]
            found.append(values)
        return np.concatenate(found)

    @cached_property
    def sizes(self) -> Sizes:
        return self.own or sizes(self.form, [ph.samples for ph in self.phases], self.s, self.p)

    @cached_property
    def multipliers(self) -> Array:
        """Of the conditions on endpoints, row by row."""
        if not self.conditions:
            return np.zeros(len(self.form.b_names))
        return np.array([self.solution.multipliers.get(name, 0.0) for name in self.form.b_names])

    @property
    def label(self) -> str:
        """What stands before a phase's name in remarks."""
        return "" if len(self.phases) == 1 else "phase "


def along(form: NormalForm, solution: Solution, deadline: Deadline = UNLIMITED) -> SampledSolution:
    """The columns of a solution that fits the problem (``well_formed.misfit``)."""
    p = form.parameter_values(
        {k: v for k, v in solution.parameters.items() if k in {q.name for q in form.parameters}}
    )
    s = np.concatenate(
        [
            np.zeros(0),
            *[np.asarray(solution.variables[q.name], dtype=float).ravel() for q in form.statics],
        ]
    )
    phases = tuple(
        SampledPhase(ph, solution.phase(ph.name), s, p, form.s, form.p, deadline=deadline)
        for ph in form.phases
    )
    whole = SampledSolution(form, solution, phases, s, p)
    measured = tuple(
        replace(ph, own=own) for ph, own in zip(phases, whole.sizes.phases, strict=True)
    )
    return replace(whole, phases=measured, own=whole.sizes)


def _knots(curve: Curve) -> Array:
    """The breaks of a curve, and points inside its pieces of a high degree."""
    found = [curve.breaks]
    for nodes, a, b in zip(curve.nodes, curve.breaks[:-1], curve.breaks[1:], strict=True):
        if nodes.size > HIGH_DEGREE:
            found.append(np.linspace(a, b, int(np.ceil(nodes.size / 8)) + 1))
    return np.concatenate(found)


def columns(curves: tuple[Curve, ...], times: Array, left: bool = False) -> Array:
    """Values of curves, one above the other."""
    if not curves:
        return np.zeros((0, times.size))
    return np.concatenate([curve.evaluate(times, left=left).T for curve in curves])


def evaluated(function: casadi.Function | Pointwise, *arguments: Array) -> Array:
    """One output at many columns; an input of one column serves all."""
    compiled = function if isinstance(function, Pointwise) else Pointwise(function)
    with np.errstate(all="ignore"):
        return np.asarray(compiled(*arguments))


def beyond(values: Array, lower: Array, upper: Array) -> Array:
    """How far rows of values are outside their bounds, zero inside."""
    return np.asarray(np.maximum(np.maximum(lower[:, None] - values, values - upper[:, None]), 0.0))
