"""An answer as columns: the values of every phase at any times, and at the quadrature points that most checks use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.curve import Curve
from trajopt.errors import UsageError
from trajopt.normal_form import NormalForm, PhaseForm, Quantity
from trajopt.solution import PhaseSolution, Solution

Array = NDArray[np.float64]
POINTS, WEIGHTS = (0.5 * (v + shift) for v, shift in zip(np.polynomial.legendre.leggauss(12), (1.0, 0.0), strict=True))
INSIDE = 1e-12  # of an interval: controls and costates may jump at its ends, and are read just inside


@dataclass(frozen=True, eq=False)
class PhaseAlong:
    """One phase: its equations and its curves. Columns are (size, number of times)."""

    form: PhaseForm
    given: PhaseSolution
    s: Array
    p: Array
    symbols_s: Any
    symbols_p: Any
    told_sizes: Array | None = None  # of states, where more is known about them than their values

    @cached_property
    def breaks(self) -> Array:
        """Where any of the curves has a break."""
        groups = (self.given.states, self.given.controls, self.given.algebraics, self.given.costates)
        found = np.unique(
            np.concatenate([[self.given.t0, self.given.tf], *[c.breaks for group in groups for c in group.values()]])
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
        return columns(self.form.states, self.given.states, times, left)

    def z(self, times: Array) -> Array:
        return columns(self.form.algebraics, self.given.algebraics, times)

    def u(self, times: Array) -> Array:
        return columns(self.form.controls, self.given.controls, times)

    def costate(self, times: Array, left: bool = False) -> Array:
        return columns(self.form.states, self.given.costates, times, left)

    @property
    def has_costates(self) -> bool:
        return all(q.name in self.given.costates for q in self.form.states)

    @cached_property
    def sampled(self) -> tuple[Array, Array, Array, Array]:
        """t, x, z, u at the quadrature points."""
        flat = self.times.ravel()
        return flat[None, :], self.x(flat), self.z(flat), self.u(flat)

    @cached_property
    def sizes(self) -> Array:
        """Of each state: its largest value, or how far it moves where that is more telling; one where it stays at zero."""
        if self.told_sizes is not None:
            return self.told_sizes
        ends = np.hstack([self.sampled[1], self.x(self.breaks)])
        largest = np.abs(ends).max(axis=1)
        return np.asarray(np.where(largest > 1e-12 * max(1.0, float(largest.max(initial=0.0))), largest, 1.0))

    @cached_property
    def spans(self) -> Array:
        """Of each control: the distance of its bounds, or its own range."""
        u, bound = self.sampled[3], self.form.u_bound
        own = np.maximum(np.ptp(u, axis=1), np.abs(u).max(axis=1)) if u.size else np.zeros(u.shape[0])
        both = np.isfinite(bound.lower) & np.isfinite(bound.upper)
        width = np.where(both, np.where(both, bound.upper, 0.0) - np.where(both, bound.lower, 0.0), own)
        return np.asarray(np.where(width > 0, width, 1.0))

    @property
    def endpoint_values(self) -> Array:
        """In the order of the form's endpoint column."""
        ends = np.array([self.given.t0, self.given.tf])
        near = self.inside(np.array([[0.0], [1.0]]), np.array([0, self.widths.size - 1])).ravel()
        x, z, u = self.x(ends), self.z(near), self.u(near)
        return np.concatenate([ends, x[:, 0], x[:, 1], z[:, 0], z[:, 1], u[:, 0], u[:, 1], self.given.integrals])


@dataclass(frozen=True, eq=False)
class Along:
    """All phases of an answer."""

    form: NormalForm
    solution: Solution
    phases: tuple[PhaseAlong, ...]
    s: Array
    p: Array

    @property
    def endpoints(self) -> Array:
        return np.concatenate([ph.endpoint_values for ph in self.phases])

    @cached_property
    def multipliers(self) -> Array:
        """Of the conditions on endpoints, row by row."""
        return np.array([self.solution.multipliers.get(name, 0.0) for name in self.form.b_names])

    @property
    def label(self) -> str:
        """What stands before a phase's name in remarks."""
        return "" if len(self.phases) == 1 else "phase "


def along(form: NormalForm, solution: Solution) -> Along:
    """The columns of a solution, checked against the problem it should answer."""
    missing = [ph.name for ph in form.phases if ph.name not in solution.phases]
    if missing:
        raise UsageError(
            f"this is no answer to problem '{form.name}'",
            got=f"phases {', '.join(solution.phases) or 'none'}",
            expected=", ".join(ph.name for ph in form.phases),
        )
    p = form.parameter_values({k: v for k, v in solution.parameters.items() if k in {q.name for q in form.parameters}})
    s = np.concatenate([np.zeros(0), *[np.asarray(solution.variables[q.name], dtype=float).ravel() for q in form.statics]])
    phases = tuple(PhaseAlong(ph, solution.phase(ph.name), s, p, form.s, form.p) for ph in form.phases)
    for ph in phases:
        for quantities, group in (
            (ph.form.states, ph.given.states),
            (ph.form.controls, ph.given.controls),
            (ph.form.algebraics, ph.given.algebraics),
        ):
            for q in quantities:
                if q.name not in group or group[q.name].size != q.size:
                    raise UsageError(
                        f"this is no answer to problem '{form.name}': phase '{ph.form.name}' has no '{q.name}' of size {q.size}"
                    )
        if ph.given.integrals.size != ph.form.l.numel():
            raise UsageError(f"this is no answer to problem '{form.name}': the integrals of phase '{ph.form.name}' are missing")
    return Along(form, solution, phases, s, p)


def columns(quantities: tuple[Quantity, ...], group: Mapping[str, Curve], times: Array, left: bool = False) -> Array:
    """Named curves, one above the other."""
    if not quantities:
        return np.zeros((0, times.size))
    return np.concatenate([group[q.name].evaluate(times, left=left).T for q in quantities])


def evaluated(function: casadi.Function, *arguments: Array) -> Array:
    """One output at many columns; an input of one column serves all."""
    with np.errstate(all="ignore"):
        return np.asarray(function(*arguments).full())


def beyond(values: Array, lower: Array, upper: Array) -> Array:
    """How far rows of values are outside their bounds, zero inside."""
    return np.asarray(np.maximum(np.maximum(lower[:, None] - values, values - upper[:, None]), 0.0))
