"""From the last mesh solution to a Solution in the user's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.interpolation import point_curve
from trajopt.direct.mesh_solution import Estimate, MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.trajectory.arcs import SIDES, Arc
from trajopt.trajectory.naming import phase_solution
from trajopt.trajectory.solution import PhaseSolution
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]


class PhaseSolutions(Mapping[str, PhaseSolution]):
    """The phases of a mesh solution by name, each made at its first use; a copy is a dictionary."""

    def __init__(self, solution: MeshSolution) -> None:
        self._solution = solution
        self._places = {view.layout.form.name: i for i, view in enumerate(solution.phases)}
        self._made: dict[str, PhaseSolution] = {}

    def __getitem__(self, name: str) -> PhaseSolution:
        if name not in self._made:
            i = self._places[name]
            view, estimate = self._solution.phases[i], self._solution.estimates[i]
            trajectory = _with_costates(self._solution, view, estimate)
            self._made[name] = phase_solution(view.layout.form, trajectory)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def _with_costates(solution: MeshSolution, view: PhaseView, estimate: Estimate) -> Trajectory:
    return replace(
        view.trajectory,
        costate=view.costate_curve,
        path_multipliers=point_curve(view, view.costates.path),
        integrals=_integrals(solution, view),
        breaks=view.values.breaks,
        degrees=tuple(int(d) for d in view.layout.mesh.degrees),
        errors=estimate.errors,
    )


def _integrals(solution: MeshSolution, view: PhaseView) -> Array:
    """The integrals of a phase by the scheme's quadrature, in the order of declaration."""
    ph, values, count = view.layout, view.values, view.layout.form.l.numel()
    if not count:
        return np.zeros(0)
    shared = view.statics, view.parameters
    model = solution.layout.form.models[view.index]
    rows = np.asarray(
        model(view.times[None, :], values.X[ph.grid.point_state].T, values.Z.T, values.U.T, *shared)
    )
    return np.asarray(rows[-count:] @ (ph.grid.weights * view.lengths[ph.grid.interval_of]))


def arcs(solution: MeshSolution) -> tuple[Arc, ...]:
    """The arcs between moving knots: the role of each control, and which states and path
    constraints are active.
    """
    found = []
    for view in solution.phases:
        form, mesh, spans = view.layout.form, view.layout.mesh, view.values.spans
        if mesh.roles is None:
            continue
        for k, first in enumerate([0, *mesh.knots]):
            held = (
                mesh.held[first]
                if mesh.held is not None
                else np.zeros(len(form.x_names) + len(form.c_names), dtype=int)
            )
            roles = {
                name: _role(int(role), bool(affine) and not held.any())
                for name, role, affine in zip(
                    form.u_names, mesh.roles[first], view.kernels.affine, strict=True
                )
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
    return {
        name: float(value) for name, value in zip(solution.layout.form.b_names, rows, strict=False)
    }


def _role(role: int, affine: bool) -> str:
    return SIDES.get(role, "singular" if affine else "interior")
