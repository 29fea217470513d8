"""From the last mesh solution to a Solution in the user's names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trajopt.arcs import SIDES
from trajopt.curve import Curve, NamedCurves
from trajopt.direct.interpolation import point_curve
from trajopt.direct.mesh_solution import Estimate, MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.normal_form import NamedVector
from trajopt.solution import Arc, PhaseSolution

Array = NDArray[np.float64]


def phase_solutions(solution: MeshSolution) -> dict[str, PhaseSolution]:
    """Curves by name."""
    return {
        view.layout.form.name: _phase_solution(solution, view, estimate)
        for view, estimate in zip(solution.phases, solution.estimates, strict=True)
    }


def _phase_solution(solution: MeshSolution, view: PhaseView, estimate: Estimate) -> PhaseSolution:
    form, values = view.layout.form, view.values
    return PhaseSolution(
        name=form.name,
        t0=values.t0,
        tf=values.tf,
        states=_by_name(form.states, view.state_curve),
        controls=_by_name(form.controls, view.control_curve),
        algebraics=_by_name(form.algebraics, point_curve(view, values.Z)),
        costates=_by_name(form.states, view.costate_curve),
        path_multipliers=_path_multipliers(view),
        integrals=_integrals(solution, view),
        breaks=values.breaks,
        degrees=tuple(int(d) for d in view.layout.mesh.degrees),
        errors=estimate.errors,
        time_unit=form.time_unit,
    )


def _path_multipliers(view: PhaseView) -> Mapping[str, Curve]:
    names = view.layout.form.c_names
    if not names:
        return {}
    return NamedCurves(point_curve(view, view.costates.path), {name: (slice(r, r + 1), "", ()) for r, name in enumerate(names)})


def _integrals(solution: MeshSolution, view: PhaseView) -> Array:
    """The integrals of a phase by the scheme's own quadrature, in the order in which they were declared."""
    ph, values, count = view.layout, view.values, view.layout.form.l.numel()
    if not count:
        return np.zeros(0)
    shared = view.statics, view.parameters
    model = solution.layout.form.models[view.index]
    rows = np.asarray(model(view.times[None, :], values.X[ph.grid.point_state].T, values.Z.T, values.U.T, *shared))
    return np.asarray(rows[-count:] @ (ph.grid.weights * view.lengths[ph.grid.interval_of]))


def arcs(solution: MeshSolution) -> tuple[Arc, ...]:
    """The arcs between moving knots: the role of each control, and which states and path constraints are active."""
    found = []
    for view in solution.phases:
        form, mesh, spans = view.layout.form, view.layout.mesh, view.values.spans
        if mesh.roles is None:
            continue
        for k, first in enumerate([0, *mesh.knots]):
            held = mesh.held[first] if mesh.held is not None else np.zeros(len(form.x_names) + len(form.c_names), dtype=int)
            roles = {
                name: _role(int(role), bool(affine) and not held.any())
                for name, role, affine in zip(form.u_names, mesh.roles[first], view.kernels.affine, strict=True)
            }
            constrained = zip((*form.x_names, *form.c_names), held.tolist(), strict=True)
            roles.update({name: _role(role, False) for name, role in constrained if role})
            found.append(Arc(form.name, float(spans[k]), float(spans[k + 1]), roles))
    return tuple(found)


def statics(solution: MeshSolution) -> dict[str, Array]:
    values = solution.layout.statics(solution.y)
    return {q.name: values[q.rows] for q in solution.layout.form.statics}


def condition_multipliers(solution: MeshSolution) -> dict[str, float]:
    """Multipliers of the conditions over endpoints, by name."""
    rows = solution.layout.condition_rows(solution.phases[0].constraint_multipliers)
    return {name: float(value) for name, value in zip(solution.layout.form.b_names, rows, strict=False)}


def _by_name(quantities: tuple[NamedVector, ...], curve: Curve) -> Mapping[str, Curve]:
    return NamedCurves(curve, {q.name: (q.rows, q.unit, q.names) for q in quantities})


def _role(role: int, affine: bool) -> str:
    return SIDES.get(role, "singular" if affine else "interior")
