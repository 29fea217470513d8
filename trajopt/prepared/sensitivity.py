"""Sensitivities: how the optimal cost, times, states and costates change with parameters, given
values and limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh_session import MeshSession
from trajopt.direct.strategy import found
from trajopt.direct.tangents import Tangent, Tangents
from trajopt.errors import SolveError, UsageError, suggest
from trajopt.guess.plain import guess_from_solution
from trajopt.nlp.shifts import Shift
from trajopt.statement.bounds import Bound
from trajopt.statement.labels import component_labels
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.statement.stated_bounds import at_parameters, bounds_of, with_bounds
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.naming import phase_solution
from trajopt.trajectory.solution import PhaseSolution, Solution, Status

Array = NDArray[np.float64]

STEP = 2.0**-16  # of central differences of limits that are stated by parameters
ROUND_OFF = 1e-9  # of the objective: limits that change it by less are not listed
REACH = 1e-3  # relative change of a quantity: active limits that change within it are weakly active
DIFFERENT = 1e-2  # of one-sided derivatives of states and times, relative to the largest


@dataclass(frozen=True, eq=False)
class GivenNumber:
    """A number that the problem is given: a component of a parameter, or of a bound."""

    name: str
    value: float
    parameter: int | None = None  # its place among the parameters
    bound: int | None = None  # its place among the bounds of the form
    row: int = 0  # of the bound
    sides: tuple[str, ...] = ("lower", "upper")

    def moved(self, form: NormalForm, p: Array, step: float) -> NormalForm:
        """The form with the quantity changed by a step."""
        if self.parameter is not None:
            p = p.copy()
            p[self.parameter] += step
            return at_parameters(form, p)
        number = iter(range(len(list(bounds_of(form)))))

        def change(bound: Bound) -> Bound:
            return _shifted(bound, self, step) if next(number) == self.bound else bound

        return with_bounds(form, change)


@dataclass(frozen=True)
class Slope:
    """The derivative of the objective by one quantity."""

    name: str
    value: float
    objective: float  # its derivative
    elasticity: float  # relative change of the objective by relative change of the quantity


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of a solution by one quantity: made by ``solution.sensitivity(name)``.

    ``s["x"](t)`` is the derivative of a variable at a fixed time, ``s.costate("x")(t)`` that of a
    costate. At a switch, where a control jumps, the derivative is that of its left and its right
    side; the switch itself moves by ``s.times``.
    """

    name: str
    value: float
    objective: float  # derivative of the objective
    elasticity: float  # relative change of the objective by relative change of the quantity
    times: Mapping[str, Array]  # by phase: derivatives of start, switches and end
    variables: Mapping[str, Array]  # of static variables
    warning: str  # why the derivatives of states or costates may not be right; empty if they are
    # towards smaller and larger values, where these differ
    one_sided: tuple[Sensitivity, Sensitivity] | None
    _of: _Sensitivities
    _tangent: Tangent
    _shift: Shift

    @cached_property
    def _curves(self) -> Solution:
        """The derivatives in the form of a solution, for their names."""
        return self._of.curves(self._tangent, self._shift)

    @property
    def phases(self) -> Mapping[str, PhaseSolution]:
        """Derivatives of states, controls, algebraic variables and costates by phase."""
        return self._curves.phases

    def __getitem__(self, key: str | tuple[str, str]) -> Curve:
        return self._curves[key]

    def costate(self, name: str, phase: str | None = None) -> Curve:
        """Return the derivative of a costate at fixed times."""
        return self._curves.costate(name, phase)

    def __repr__(self) -> str:
        text = f"<Sensitivity to {self.name}: objective {self.objective:.9g}"
        return text + (f"; {self.warning}>" if self.warning else ">")


def sensitivity(solution: Solution, name: str) -> Sensitivity:
    """See ``Solution.sensitivity``."""
    return _of(solution).by(name)


def sensitivities(solution: Solution) -> tuple[Slope, ...]:
    """See ``Solution.sensitivities``."""
    return _of(solution).slopes()


def _of(solution: Solution) -> _Sensitivities:
    made: _Sensitivities | None = vars(solution).get("_sensitivities")
    if made is None:
        made = vars(solution)["_sensitivities"] = _Sensitivities(solution)
    return made


class _Sensitivities:
    """The derivatives of one solution."""

    def __init__(self, solution: Solution) -> None:
        kept = session_of(solution)
        self.tangents, self.form = Tangents(kept), kept.stated
        self.p = kept.program.parameters
        self.objective = solution.objective

    @cached_property
    def quantities(self) -> dict[str, GivenNumber]:
        return {q.name: q for q in (*_parameters(self.form, self.p), *_given(self.form))}

    def slopes(self) -> tuple[Slope, ...]:
        every = [self._slope(q, self.shift(q)) for q in self.quantities.values()]
        least = ROUND_OFF * max(abs(self.objective), 1e-300)
        kept = [
            one
            for one in every
            if self.quantities[one.name].bound is None
            or abs(one.objective) * max(abs(one.value), 1.0) > least
        ]
        return tuple(sorted(kept, key=self._rank))

    def _rank(self, slope: Slope) -> tuple[bool, float, float]:
        given = self.quantities[slope.name].parameter is None
        return given, -abs(np.nan_to_num(slope.elasticity)), -abs(slope.objective)

    def _slope(self, q: GivenNumber, shift: Shift) -> Slope:
        slope = self.form.sense * self.tangents.cost(shift)
        relative = slope * q.value / self.objective if self.objective else float("nan")
        return Slope(q.name, q.value, slope, relative)

    def shift(self, q: GivenNumber) -> Shift:
        p = np.zeros_like(self.p)
        if q.parameter is not None:
            p[q.parameter] = 1.0
            if not any(bound.stated is not None for bound in bounds_of(self.form)):
                return self.tangents.shift(self.form, self.form, p, 1.0)
        step = STEP * max(abs(q.value), 1.0)
        before, after = (q.moved(self.form, self.p, by) for by in (-step, step))
        return self.tangents.shift(before, after, p, 2 * step)

    def by(self, name: str) -> Sensitivity:
        if name not in self.quantities:
            raise UsageError(
                f"problem '{self.form.name}' has no quantity '{name}'",
                expected=", ".join(self.quantities),
                hint=suggest(name, self.quantities),
            )
        q = self.quantities[name]
        shift = self.shift(q)
        warning = "; ".join(self._warnings())
        tangent = self.tangents.tangent(shift)
        weak = self.tangents.weak(tangent, shift, REACH * (abs(q.value) or 1.0))
        if not any(part.any() for part in weak):
            return self._made(q, shift, tangent, warning)
        sides = self.tangents.one_sided(shift, weak)
        if self.tangents.distance(*sides) <= DIFFERENT:
            return self._made(q, shift, tangent, warning)
        before, after = (self._made(q, shift, side, warning) for side in sides)
        remark = (
            f"limits become active or inactive for a change of {REACH:g} or less: the derivatives "
            "towards smaller and larger values differ"
        )
        warning = "; ".join(filter(None, (remark, warning)))
        return replace(after, one_sided=(before, after), warning=warning)

    def _warnings(self) -> Iterator[str]:
        if self.tangents.dependent:
            yield "active limits depend on each other: costates are not unique"
        if not self.tangents.states_follow():
            yield (
                "a limit of states is active on an arc that begins and ends at points of the mesh: "
                "derivatives of states and costates are not those of the motion, that of the "
                "objective is"
            )

        if not self.tangents.controls_follow():
            yield (
                "a control comes to a bound between points of the mesh, which do not move: "
                "derivatives of states and costates have the accuracy of an interval there"
            )

    def _made(self, q: GivenNumber, shift: Shift, tangent: Tangent, warning: str) -> Sensitivity:
        slope = self._slope(q, shift)
        names = [ph.name for ph in self.form.phases]
        statics = self.tangents.statics(tangent)
        return Sensitivity(
            q.name,
            q.value,
            slope.objective,
            slope.elasticity,
            dict(zip(names, self.tangents.times(tangent), strict=True)),
            {v.name: statics[v.rows] for v in self.form.statics},
            warning,
            None,
            self,
            tangent,
            shift,
        )

    def curves(self, tangent: Tangent, shift: Shift) -> Solution:
        trajectories = self.tangents.trajectories(tangent, shift)
        phases = {
            phase.name: phase_solution(phase, trajectory)
            for phase, trajectory in zip(self.form.phases, trajectories, strict=True)
        }
        return Solution(self.form.name, "sensitivity", Status.SOLVED, np.nan, phases)


def session_of(solution: Solution) -> MeshSession:
    """The mesh program of a solution with its session: its own, or one that begins at it."""
    if not solution.success:
        raise SolveError(
            f"problem '{solution.problem}' was not solved: {solution.status.value}",
            hint="derivatives exist at solutions only",
        )
    if solution.form is None:
        raise UsageError(
            "this solution has no problem: it was read from a file or a pickle",
            hint="prepare(problem, solution).solve() makes it anew",
        )
    if solution.program is not None:
        context, mesh = solution.program
        return MeshSession(context, mesh, solution.form.of_solution(solution.parameters))
    form = solution.form.of_solution(solution.parameters)
    values = [np.ravel(solution.parameters[q.name]) for q in form.parameters]
    p = np.concatenate([np.zeros(0), *values])
    method = Collocation()
    if 0 < solution.tolerance < 1:
        method = replace(method, tolerance=solution.tolerance)
    state = found(form, method, guess_from_solution(form, solution), p, _silent)
    if not state.solution.solved or state.chattering:
        raise SolveError(
            f"collocation does not solve problem '{solution.problem}' from this solution",
            hint="solution.check() says why",
        )
    return MeshSession(state.context, state.solution, form)


def _silent(line: str) -> None:
    pass


def _parameters(form: NormalForm, p: Array) -> Iterator[GivenNumber]:
    place = 0
    for q in form.parameters:
        for label in component_labels(q.name, q.value.size):
            yield GivenNumber(label, float(p[place]), parameter=place)
            place += 1


def _given(form: NormalForm) -> Iterator[GivenNumber]:
    """Given initial and final values, times and limits, those that are numbers."""
    number = 0
    for phase in form.phases:
        prefix = "" if len(form.phases) == 1 else f"{phase.name}."
        for label, bound in _bounds_of_phase(phase):
            yield from _components(number, label, bound, prefix)
            number += 1
    for q in form.statics:
        yield from _components(number, q.components, q.bound, "")
        number += 3
    yield from _components(number, form.b_names, form.b_bound, "")


def _bounds_of_phase(phase: PhaseForm) -> Iterator[tuple[tuple[str, ...], Bound]]:
    """In the order of ``bounds_of``."""
    for q in (*phase.states, *phase.algebraics, *phase.controls):
        yield q.components, q.bound
        yield tuple(f"{name}(t0)" for name in q.components), q.start
        yield tuple(f"{name}(tf)" for name in q.components), q.end
    yield phase.c_names, phase.c_bound
    moves = not phase.samples  # they stay where they are
    yield ("t0",) if moves else (), phase.start_time
    yield ("tf",) if moves else (), phase.end_time


def _components(
    number: int, labels: tuple[str, ...], bound: Bound, prefix: str
) -> Iterator[GivenNumber]:
    if bound.stated is not None:
        return
    for row, label in enumerate(labels):
        low, high = float(bound.lower[row]), float(bound.upper[row])
        if low == high:
            yield GivenNumber(prefix + label, low, bound=number, row=row)
            continue
        for side, value in (("lower", low), ("upper", high)):
            if np.isfinite(value):
                yield GivenNumber(
                    f"{side} limit of {prefix}{label}", value, None, number, row, (side,)
                )


def _shifted(bound: Bound, q: GivenNumber, step: float) -> Bound:
    changed: dict[str, Any] = {}
    for side in q.sides:
        values = getattr(bound, side).copy()
        values[q.row] += step
        changed[side] = values
    return replace(bound, **changed)
