"""From the unknowns of shooting to a ``Solution``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.arc_trajectory import ArcTrace
from trajopt.indirect.held_by_bounds import held_by_bounds
from trajopt.indirect.initial_system import ShootingProblem
from trajopt.indirect.modes import roles_of_mode
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve, in_sequence
from trajopt.trajectory.naming import phase_solution
from trajopt.trajectory.output_curves import with_outputs
from trajopt.trajectory.solution import Solution, Status

Array = NDArray[np.float64]


def read_solution(prepared: ShootingProblem, unknowns: Array, options: Any) -> Solution:
    """The solution that a vector of unknowns stands for; its status is SOLVED until the caller
    knows better.
    """
    form, layout = prepared.form, prepared.system.layout
    unknowns = _with_exact_times(prepared, unknowns)
    traces, trajectories = prepared.traces(unknowns), prepared.trajectories(unknowns)
    phases, arcs, held = {}, [], held_by_bounds(prepared, unknowns)
    for i, ph in enumerate(form.phases):
        numbers = prepared.system.of_phase[i]
        own = [traces[k] for k in numbers]
        costates = [
            sum((h.costate(t) for h in held.get(k, [])), t.of(t.law.costate_direct))
            for k, t in zip(numbers, own, strict=True)
        ]
        trajectory = replace(
            trajectories[i],
            costate=in_sequence(
                [t.curve(costate) for t, costate in zip(own, costates, strict=True)]
            ),
            path_multipliers=_path_multipliers(ph, own),
            integrals=unknowns[layout.integrals[i]],
            errors=np.full(trajectories[i].errors.size, max(t.error for t in own)),
        )
        phases[ph.name] = phase_solution(ph, trajectory)
        arcs += [_arc(prepared, k, traces[k]) for k in numbers]
    s, p = unknowns[layout.s], prepared.system.p
    phi = casadi.Function("phi", [form.endpoint_column, form.s, form.p], [form.phi])(
        prepared.endpoint_values(unknowns), s, p
    )
    answer = Solution(
        problem=form.name,
        method="indirect",
        status=Status.SOLVED,
        objective=form.sense * float(phi),
        phases=phases,
        variables={q.name: s[q.rows] for q in form.statics},
        parameters=form.named_parameters(p),
        multipliers={
            row.name: value for row, _, value in prepared.row_multipliers(unknowns) if row.declared
        },
        arcs=tuple(arcs),
        error=max(t.error for t in traces),
        tolerance=float(options.tolerance),
        options=_options(options),
        form=form,
        active_conditions={
            row.name: side for row, side in prepared.rows if side is not None and not row.equality
        },
    )
    return with_outputs(answer)


def _with_exact_times(prepared: ShootingProblem, unknowns: Array) -> Array:
    """Times that are fixed, free of the rounding of the last correction."""
    exact = unknowns.copy()
    for ph, times in zip(prepared.form.phases, prepared.system.layout.times, strict=True):
        for bound, place in ((ph.start_time, times[0]), (ph.end_time, times[-1])):
            if bound.fixed[0]:
                exact[place] = bound.lower[0]
    return exact


def _arc(prepared: ShootingProblem, k: int, trace: ArcTrace) -> Arc:
    ham = trace.law.hamiltonian
    touches = {
        ham.constraints[number].name: side for number, side in prepared.system.arcs[k].entry.touched
    }
    ends = float(trace.breaks[0]), float(trace.breaks[-1])
    return Arc(ham.phase.name, *ends, roles_of_mode(ham, trace.law.mode), touches)


def failed_solution(
    form: NormalForm, options: Any, p: Array, explanation: list[str], seconds: float, status: Status
) -> Solution:
    """What is returned where not even a first system could be set up."""
    return Solution(
        problem=form.name,
        method="indirect",
        status=status,
        objective=float("nan"),
        phases={},
        parameters=form.named_parameters(p),
        tolerance=float(options.tolerance),
        explanation=tuple(explanation),
        options=_options(options),
        form=form,
        seconds={"build": seconds, "solve": 0.0, "total": seconds},
    )


def _path_multipliers(ph: PhaseForm, traces: list[ArcTrace]) -> Curve:
    """Multipliers of path constraints, as densities in time, zero where they are not active."""
    curves = []
    for t in traces:
        names = [t.law.hamiltonian.constraints[i].name for i, _ in t.law.mode.active]
        along = t.of(t.law.densities) if names else None
        values = np.zeros((*t.times.shape, len(ph.c_names)))
        for row, name in enumerate(ph.c_names):
            if along is not None and name in names:
                values[:, :, row] = along[:, :, names.index(name)]
        curves.append(t.curve(values))
    return in_sequence(curves)


def _options(options: Any) -> Mapping[str, Any]:
    values = {f.name: getattr(options, f.name) for f in fields(options)}
    return {name: value for name, value in values.items() if isinstance(value, (int, float, str))}
