"""Outputs of a solution: quantities that follow from its trajectory, evaluated when asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.statement.normal_form import NormalForm, OutputForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import PhaseSolution, Solution

Array = NDArray[np.float64]

NODES = 8  # of a piece of an output, more than a state has: the expression is no polynomial


def with_outputs(solution: Solution) -> Solution:
    """Return the solution with its outputs, which need its normal form."""
    form = solution.form
    if form is None or not any(phase.outputs for phase in form.phases):
        return solution
    phases = {
        phase.name: replace(phase, outputs=_Outputs(form, of, phase, solution))
        for of, phase in zip(form.phases, solution.phases.values(), strict=True)
    }
    return replace(solution, phases=phases)


class _Outputs(Mapping[str, Curve]):
    """Curves by name; all are evaluated when the first is asked for."""

    def __init__(
        self, form: NormalForm, of: PhaseForm, phase: PhaseSolution, solution: Solution
    ) -> None:
        self._source, self._names = (form, of, phase, solution), [q.name for q in of.outputs]
        self._curves: dict[str, Curve] = {}

    def __getitem__(self, name: str) -> Curve:
        if name not in self._names:
            raise KeyError(name)
        if not self._curves:
            self._curves = _evaluated(*self._source)
        return self._curves[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[Any, ...]:  # pickles numbers, not expressions
        return dict, (dict(self),)

    def __deepcopy__(self, memo: Any) -> Mapping[str, Curve]:
        return self  # it never changes


def _evaluated(
    form: NormalForm, of: PhaseForm, phase: PhaseSolution, solution: Solution
) -> dict[str, Curve]:
    """Return every output at the nodes of its pieces, which end at the breaks of all variables."""
    groups = (phase.states, phase.algebraics, phase.controls)
    breaks = np.unique(np.concatenate([c.breaks for group in groups for c in group.values()]))
    nodes = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, NODES))
    times = (breaks[:-1, None] + np.diff(breaks)[:, None] * nodes).ravel()
    left = np.tile(nodes > 0.5, breaks.size - 1)
    x, z, u = (_stacked(list(group.values()), times, left) for group in groups)
    s = np.concatenate([np.zeros(0), *(v.ravel() for v in solution.variables.values())])
    p = form.parameter_values(_own(form, solution))
    symbols = [of.t, of.x, of.z, of.u, form.s, form.p]
    expressions = [casadi.densify(output.expression) for output in of.outputs]
    model = casadi.Function("outputs", symbols, expressions).map(times.size)
    shared = [np.tile(column[:, None], (1, times.size)) for column in (s, p)]
    found = model.call([casadi.DM(v) for v in (times[None, :], x, z, u, *shared)])
    curves = {}
    for output, values in zip(of.outputs, found, strict=True):
        points = np.asarray(values).T.reshape(breaks.size - 1, NODES, -1)
        curve = Curve.through(breaks, nodes, points, *_limits(form, of, output, p))
        curves[output.name] = replace(curve, unit=output.unit, time_unit=of.time_unit, clips=False)
    return curves


def _own(form: NormalForm, solution: Solution) -> dict[str, Any]:
    known = {q.name for q in form.parameters}
    return {name: value for name, value in solution.parameters.items() if name in known}


def _stacked(curves: Sequence[Curve], times: Array, left: NDArray[np.bool_]) -> Array:
    """(size, times): left limits at the ends of pieces."""
    values = [curve.evaluate(times, left=left).T for curve in curves]
    return np.concatenate(values) if values else np.zeros((0, times.size))


def _limits(form: NormalForm, of: PhaseForm, output: OutputForm, p: Array) -> tuple[Array, Array]:
    if output.rows is not None:
        return of.c_bound.lower[output.rows], of.c_bound.upper[output.rows]
    if output.bound.stated is None:
        return output.bound.lower, output.bound.upper
    symbols = [q.symbol for q in form.parameters]
    sizes = np.cumsum([q.value.size for q in form.parameters])[:-1]
    limits = casadi.Function("limits", symbols, list(output.bound.stated))
    low, high = limits.call([casadi.DM(part) for part in np.split(p, sizes)])
    return np.asarray(low, float).ravel(), np.asarray(high, float).ravel()
