"""Whether the data of an answer are those of the problem at all: phases, names, sizes, curves,
finite numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import PhaseSolution, Solution


def misfit(form: NormalForm, solution: Solution) -> str:
    """The first reason why a solution cannot be an answer to a problem; empty where
    there is none.
    """
    names = [ph.name for ph in form.phases]
    if set(names) != set(solution.phases):
        return (
            f"its phases are {', '.join(solution.phases)}, those of the problem {', '.join(names)}"
        )
    for q in form.statics:
        if np.size(solution.variables.get(q.name, ())) != q.size:
            return f"it has no static variable '{q.name}' of size {q.size}"
    for parameter in form.parameters:
        if np.size(solution.parameters.get(parameter.name, parameter.value)) not in (
            1,
            parameter.value.size,
        ):
            return f"its parameter '{parameter.name}' is not of size {parameter.value.size}"
    return next(
        (found for ph in form.phases if (found := _phase_misfit(ph, solution.phases[ph.name]))), ""
    )


def _phase_misfit(form: PhaseForm, given: PhaseSolution) -> str:
    groups = (
        (form.states, given.states),
        (form.controls, given.controls),
        (form.algebraics, given.algebraics),
    )
    for quantities, curves in groups:
        for q in quantities:
            if q.name not in curves:
                return f"phase '{form.name}' has no '{q.name}' of size {q.size}"
    known: tuple[tuple[Mapping[str, NamedVector], Mapping[str, Curve], str], ...] = (
        *(({q.name: q for q in quantities}, curves, "") for quantities, curves in groups),
        ({q.name: q for q in form.states}, given.costates, "the costate of "),
        ({}, given.path_multipliers, "the multiplier of "),
    )
    for sizes, curves, word in known:
        for name, curve in curves.items():
            wrong = _malformed(curve)
            if wrong:
                return f"in phase '{form.name}' {word}'{name}' {wrong}"
            if name in sizes and curve.size != sizes[name].size:
                return (
                    f"in phase '{form.name}' {word}'{name}' has size {curve.size} instead of "
                    f"{sizes[name].size}"
                )
    return ""


def _malformed(curve: Curve) -> str:
    """Why nodes and values of a curve make no polynomials."""
    if (
        not len(curve.nodes) == len(curve.values) == max(curve.breaks.size - 1, 0)
        or curve.breaks.ndim != 1
        or not curve.nodes
    ):
        return (
            f"has {curve.breaks.size} breaks, nodes of {len(curve.nodes)} pieces and values of "
            f"{len(curve.values)}"
        )
    size = curve.values[0].shape[1:]
    for nodes, values in zip(curve.nodes, curve.values, strict=True):
        if nodes.ndim != 1 or len(size) != 1 or values.shape != (nodes.size, *size):
            return f"has values of shape {values.shape} at {nodes.size} nodes"
        if np.unique(nodes).size != nodes.size:
            return "has a node twice in one piece"
    return ""


def not_finite(solution: Solution) -> str:
    """The first quantity of an answer that is not a number, or whose times do not increase; empty
    where there is none.
    """
    for ph in solution.phases.values():
        if not (np.isfinite(ph.t0) and np.isfinite(ph.tf)):
            return f"the times of phase '{ph.name}'"
        if not ph.tf > ph.t0:
            return f"the duration of phase '{ph.name}', {ph.tf - ph.t0:g}"
        groups = (ph.states, ph.controls, ph.algebraics, ph.costates, ph.path_multipliers)
        for word, group in zip(("", "", "", "costate of ", "multiplier of "), groups, strict=True):
            for name, curve in group.items():
                slack = 1e-9 * (ph.tf - ph.t0) + 1e-12 * max(abs(ph.t0), abs(ph.tf))
                if not all(
                    np.all(np.isfinite(part))
                    for part in (curve.breaks, *curve.values, *curve.nodes)
                ):
                    return f"{word}{name} of phase '{ph.name}'"
                if curve.breaks.size < 2 or np.any(np.diff(curve.breaks) < -slack):
                    return f"{word}{name} of phase '{ph.name}', whose times do not increase"
                if curve.breaks[0] > ph.t0 + slack or curve.breaks[-1] < ph.tf - slack:
                    return (
                        f"{word}{name} of phase '{ph.name}', known from {curve.breaks[0]:g} to "
                        f"{curve.breaks[-1]:g} only"
                    )
        if not np.all(np.isfinite(ph.integrals)):
            return f"the integrals of phase '{ph.name}'"
    for name, value in {
        **solution.variables,
        **solution.parameters,
        **solution.multipliers,
    }.items():
        if not np.all(np.isfinite(np.asarray(value, dtype=float))):
            return name
    return "" if np.isfinite(solution.objective) else "the objective"
