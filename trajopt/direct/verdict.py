"""The verdict: from the last mesh solution to a Solution in the user's names, with its status,
SOLVED or COARSE, and its record.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import trajopt
from trajopt.direct.explain import explain
from trajopt.direct.first_solution import FIRST_ATTEMPT
from trajopt.direct.interpolation import point_curve
from trajopt.direct.mesh_solution import Estimate, MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.search import State
from trajopt.direct.whole_turns import within_bounds
from trajopt.nlp.backends import Outcome
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.arcs import SIDES, Arc
from trajopt.trajectory.naming import phase_solution
from trajopt.trajectory.output_curves import with_outputs
from trajopt.trajectory.solution import PhaseSolution, Solution, Status
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]


def verdict(state: State, form: NormalForm, seconds: float) -> Solution:
    """The best solution with its status, and the record of the search."""
    solution, method = state.solution, state.method
    layout = solution.layout
    statics = layout.statics(solution.y)
    conditions = layout.condition_rows(solution.phases[0].constraint_multipliers)
    history = tuple(one.record for one in state.passes)
    status = _status(state)
    solving = sum(record.seconds for record in history)
    stated = state.context.form if state.chattering else form
    answer = Solution(
        problem=form.name,
        method="direct",
        status=status,
        objective=solution.objective,
        phases=_PhaseSolutions(solution, stated),
        variables={q.name: statics[q.rows] for q in layout.form.statics},
        parameters=form.named_parameters(state.context.parameters),
        multipliers=dict(zip(layout.form.b_names, conditions.tolist(), strict=False)),
        arcs=_arcs(solution),
        history=history,
        error=solution.error,
        tolerance=method.tolerance,
        iterations=sum(record.iterations for record in history),
        seconds={"build": seconds - solving, "solve": solving, "total": seconds},
        explanation=state.chattering or explain(solution, status),
        log=tuple(
            event.line
            for event in state.events
            if len(state.events) > 1 or event.name != FIRST_ATTEMPT
        ),
        options={
            "scheme": method.scheme.name,
            "tolerance": method.tolerance,
            "backend": method.backend.name,
        },
        versions=dict(_versions()),
        form=stated,
        program=None if state.chattering else (state.context, solution),
    )
    return with_outputs(answer)


def _status(state: State) -> Status:
    """SOLVED if the error is within the tolerance, else COARSE; or why there is no solution."""
    outcome = state.stopped or state.solution.outcome
    if state.chattering and outcome is Outcome.SOLVED:
        return Status.CHATTERING
    if outcome is Outcome.SOLVED:
        if state.solution.error <= state.method.tolerance:
            return Status.SOLVED
        budget = state.context.budget
        limit = Status.WORK_LIMIT if budget.used_up else Status.COARSE
        return Status.TIME_LIMIT if budget.deadline.over else limit
    return {
        Outcome.INFEASIBLE: Status.INFEASIBLE,
        Outcome.LEAST_VIOLATION: Status.INFEASIBLE,
        Outcome.ITERATIONS: Status.ITERATIONS,
        Outcome.NOT_A_NUMBER: Status.NOT_A_NUMBER,
        Outcome.INTERRUPTED: Status.INTERRUPTED,
        Outcome.TIME_LIMIT: Status.TIME_LIMIT,
    }.get(outcome, Status.FAILED)


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str], ...]:
    others = ((name, importlib.metadata.version(name)) for name in ("casadi", "numpy"))
    return (("trajopt", trajopt.__version__), *others)


class _PhaseSolutions(Mapping[str, PhaseSolution]):
    """The phases of a mesh solution by name, each made at its first use; a copy is a dictionary.

    ``form``: the problem as it was stated, before presolve.
    """

    def __init__(self, solution: MeshSolution, form: NormalForm) -> None:
        self._solution, self._form = solution, form
        self._places = {view.layout.form.name: i for i, view in enumerate(solution.phases)}
        self._made: dict[str, PhaseSolution] = {}

    def __getitem__(self, name: str) -> PhaseSolution:
        if name not in self._made:
            i = self._places[name]
            view, estimate = self._solution.phases[i], self._solution.estimates[i]
            trajectory = _with_costates(self._solution, view, estimate)
            stated, solved = self._form.phases[i], view.layout.form
            u = within_bounds(trajectory.u, stated.u_bound, solved.u_bound)
            self._made[name] = phase_solution(stated, replace(trajectory, u=u))
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


def _arcs(solution: MeshSolution) -> tuple[Arc, ...]:
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


def _role(role: int, affine: bool) -> str:
    return SIDES.get(role, "singular" if affine else "interior")
