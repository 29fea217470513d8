"""Easier problems to begin a continuation with: limits of state constraints moved outwards.

Where Newton's method fails from a solution of collocation, the arcs that were read from it are
usually wrong. Of the problem without limits there are none to be read; as the limits return,
touches and boundary arcs appear one after another, and each is found by the inequalities that fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.deadline import UNLIMITED, Deadline
from trajopt.indirect.continuation import Continuation, ContinuationPath, PathPoint
from trajopt.indirect.settings import CHECK
from trajopt.indirect.shooting import Shooting
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NormalForm, Parameter, PhaseForm
from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]
NAME = "relaxation"


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A problem for each value of a relaxation between 1 and 0, where it is the original one;
    solved by shooting.
    """

    at: Callable[[float], NormalForm]
    shooting: Shooting
    deadline: Deadline = UNLIMITED

    def solve(
        self, form: NormalForm, guess: Any, parameters: Mapping[str, Any] | None = None
    ) -> Solution:
        given = dict(parameters or {})
        return self.shooting.solve(self.at(float(given.pop(NAME))), guess, given, self.deadline)

    def follow(
        self,
        form: NormalForm,
        guess: Solution,
        parameters: Mapping[str, Any] | None,
        progress: Callable[[PathPoint], None],
    ) -> ContinuationPath:
        """From a solution with the relaxation 1, of any method, to the original problem."""
        symbol = form.symbols.sym(NAME)
        named = replace(
            form,
            p=casadi.vertcat(form.p, symbol),
            parameters=(*form.parameters, Parameter(NAME, np.ones(1), "", symbol)),
        )
        continuation = Continuation(NAME, first=0.25, smallest=0.01, method=self)
        return continuation.run(
            named, guess, 0.0, start=1.0, parameters=parameters, progress=progress
        )


@dataclass(frozen=True, eq=False)
class ActiveLimits:
    """The inequalities on states that are active in a solution, as columns for each phase: of
    states, and of path constraints.
    """

    form: NormalForm
    states: tuple[Array, ...]
    rows: tuple[Array, ...]

    @property
    def any(self) -> bool:
        return any(bool(np.any(column)) for column in (*self.states, *self.rows))

    def moved(self, share: float) -> NormalForm:
        """The problem with these limits moved outwards by a share of the columns."""
        if not share:
            return self.form
        triples = zip(self.form.phases, self.states, self.rows, strict=True)
        return replace(
            self.form, phases=tuple(_moved(ph, share * x, share * c) for ph, x, c in triples)
        )

    def exceeded_by(self, bare: Solution) -> ActiveLimits:
        """The same with the largest violation in a solution without these limits."""
        pairs = [_values(self.form, i, bare) for i in range(len(self.form.phases))]
        states = [
            _beyond(x, ph.x_bound) * (a > 0)
            for (x, _), ph, a in zip(pairs, self.form.phases, self.states, strict=True)
        ]
        rows = [
            _beyond(c, ph.c_bound) * (a > 0)
            for (_, c), ph, a in zip(pairs, self.form.phases, self.rows, strict=True)
        ]
        return ActiveLimits(self.form, tuple(states), tuple(rows))


def active_limits(form: NormalForm, solution: Solution) -> ActiveLimits:
    """Those with infinite columns: ``moved(1)`` is the problem without them."""
    states, rows = [], []
    for i, ph in enumerate(form.phases):
        x, c = _values(form, i, solution)
        states.append(np.where(_near(x, ph.x_bound), np.inf, 0.0))
        rows.append(np.where(_near(c, ph.c_bound) & _state_rows(ph), np.inf, 0.0))
    return ActiveLimits(form, tuple(states), tuple(rows))


def _moved(ph: PhaseForm, by_state: Array, by_row: Array) -> PhaseForm:
    states = tuple(replace(q, bound=_outwards(q.bound, by_state[q.rows])) for q in ph.states)
    return replace(ph, states=states, c_bound=_outwards(ph.c_bound, by_row))


def _outwards(bound: Bound, by: Array) -> Bound:
    return Bound(bound.lower - by, bound.upper + by, bound.guess)


def _state_rows(ph: PhaseForm) -> NDArray[np.bool_]:
    """Which path constraints are inequalities on states alone."""
    rows = casadi.vertsplit(ph.c) if ph.c.numel() else []
    alone = [not casadi.depends_on(row, casadi.vertcat(ph.u, ph.z)) for row in rows]
    return np.array(alone, dtype=bool) & ~ph.c_bound.fixed


def _values(form: NormalForm, i: int, solution: Solution) -> tuple[Array, Array]:
    """(samples, n): states and path constraints of a phase, without its ends, where boundary
    conditions may hold them.
    """
    ph, found = form.phases[i], solution.phase(form.phases[i].name)
    t = np.linspace(found.t0, found.tf, CHECK.samples + 2)[1:-1]
    groups = [
        (ph.states, found.states),
        (ph.algebraics, found.algebraics),
        (ph.controls, found.controls),
    ]
    x, z, u = (
        np.hstack([np.zeros((t.size, 0)), *[values[q.name].evaluate(t) for q in named]])
        for named, values in groups
    )
    s = np.concatenate([np.zeros(0), *[np.ravel(solution.variables[q.name]) for q in form.statics]])
    rows = casadi.Function("c", [ph.t, ph.x, ph.z, ph.u, form.s, form.p], [casadi.densify(ph.c)])
    c = np.asarray(
        rows(t[None, :], x.T, z.T, u.T, s, form.parameter_values(solution.parameters)).full()
    )
    return x, np.broadcast_to(c.T, (t.size, ph.c.numel()))


def _near(values: Array, bound: Bound) -> NDArray[np.bool_]:
    size = np.maximum(np.ptp(values, axis=0), 1e-300)
    gap = np.minimum(values - bound.lower, bound.upper - values).min(axis=0, initial=np.inf)
    return np.asarray((gap < CHECK.near * size) & ~bound.fixed)


def _beyond(values: Array, bound: Bound) -> Array:
    outside = np.maximum(bound.lower - values, values - bound.upper)
    return np.asarray(np.maximum(outside, 0.0).max(axis=0, initial=0.0))
