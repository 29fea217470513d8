"""Between the columns of a ``Trajectory`` and the names of a ``PhaseSolution``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import GuessError
from trajopt.statement.normal_form import NamedVector, PhaseForm
from trajopt.statement.unit_text import product
from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve, NamedCurves, stacked_curves
from trajopt.trajectory.solution import PhaseSolution
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]


def phase_solution(form: PhaseForm, trajectory: Trajectory) -> PhaseSolution:
    """Return the solution of a phase: its curves by the names of the statement."""
    multipliers = {name: (slice(row, row + 1), "", ()) for row, name in enumerate(form.c_names)}
    path, time, cost = trajectory.path_multipliers, form.time_unit, form.cost_unit

    def by_name(
        quantities: tuple[NamedVector, ...], curve: Curve, unit: Callable[[str], str] = str
    ) -> Mapping[str, Curve]:
        names = {q.name: (q.rows, unit(q.unit), q.names) for q in quantities}
        return NamedCurves(curve, names, time)

    def of_costate(unit: str) -> str:
        return product(cost or "cost", unit, -1) if cost or unit else ""

    costate = trajectory.costate

    return PhaseSolution(
        name=form.name,
        t0=trajectory.t0,
        tf=trajectory.tf,
        states=by_name(form.states, trajectory.x),
        controls=by_name(form.controls, trajectory.u),
        algebraics=by_name(form.algebraics, trajectory.z),
        costates={} if costate is None else by_name(form.states, costate, of_costate),
        path_multipliers={} if path is None else NamedCurves(path, multipliers, time),
        integrals=trajectory.integrals,
        breaks=trajectory.breaks,
        degrees=trajectory.degrees,
        errors=trajectory.errors,
        time_unit=time,
    )


def trajectory_of(
    form: PhaseForm, solution: PhaseSolution, arcs: tuple[Arc, ...] = ()
) -> Trajectory:
    """Return the trajectory of a phase of a solution, which has curves of all its variables and
    costates.
    """
    t = np.array([solution.t0, solution.tf])
    return Trajectory(
        x=_all(form, form.states, solution.states, "trajectory", t),
        z=_all(form, form.algebraics, solution.algebraics, "algebraic variable", t),
        u=_all(form, form.controls, solution.controls, "control", t),
        costate=_all(form, form.states, solution.costates, "costate", t),
        integrals=np.asarray(solution.integrals, dtype=float),
        breaks=np.asarray(solution.breaks, dtype=float),
        degrees=solution.degrees,
        arcs=arcs,
    )


def _all(
    form: PhaseForm,
    quantities: tuple[NamedVector, ...],
    curves: Mapping[str, Curve],
    what: str,
    times: Array,
) -> Curve:
    missing = [q.name for q in quantities if q.name not in curves]
    if missing:
        raise GuessError(
            f"the guess has no {what} of '{missing[0]}' in phase '{form.name}'",
            hint="a Solution with costates, or initial costates by name",
        )
    return known_columns(quantities, curves, Curve.linear(times, np.zeros((2, 0))))


def known_columns(
    quantities: tuple[NamedVector, ...], curves: Mapping[str, Curve], default: Curve
) -> Curve:
    """Return the columns of quantities from curves by name; those without a curve of their size
    keep the default.
    """
    known = {
        q.name: curves[q.name]
        for q in quantities
        if q.name in curves and curves[q.name].size == q.size
    }
    return (
        stacked_curves([known.get(q.name) or default.rows(q.rows) for q in quantities])
        if quantities
        else default
    )
