"""The least-violation solution: it obeys the dynamics exactly, and violates what is required of it
as little as possible.

Conditions over endpoints and integrals, path constraints and end values are elastic: each may be
violated, in units of its size, at a weight in the cost (an exact penalty of first order). Where the
sum falls to zero there is a feasible trajectory; otherwise the violated conditions explain why
there is none, in the user's terms, and not in terms of defects that no trajectory can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import DECADE
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.packing import Layout, PhaseLayout, make_layout
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.nlp.backends import Effort, Outcome
from trajopt.nlp.loosening import ElasticGroup, Loosening
from trajopt.statement.normal_form import ConditionKind, Origin
from trajopt.trajectory.trajectory import Trajectories

Array = NDArray[np.float64]
Index = NDArray[np.int_]

# Weights relative to that of a stated condition: end values are violated only if violating
# conditions does not suffice, and the continuity of phases only if no other violation does.
END_WEIGHT = 30
LINK_WEIGHT = DECADE * END_WEIGHT


def least_violation(
    context: Context, meshes: tuple[Mesh, ...], guess: Trajectories, keep_time: bool = False
) -> MeshSolution:
    """The solution that violates least, locally.

    ``keep_time`` keeps the guessed times: where a detour is needed, a free time shrinks and leads
    elsewhere. Where bounds of states leave no trajectory at all, these are elastic as well.
    """
    method = context.method
    layout = make_layout(context.form, context.kernels, method.scheme, meshes)
    number = np.arange(layout.unknowns)
    kept = np.concatenate(
        [np.zeros(0, int), *([ph.span_times(number) for ph in layout.phases] if keep_time else [])]
    )
    solution: MeshSolution | None = None
    conditions = [tuple(_conditions(layout, free)) for free in (False, True)]
    for loose in (conditions[0], (*conditions[1], *_state_bounds(layout))):
        loosening = Loosening(
            loose,
            kept,
            method.round_off / DECADE**2,
            1 / DECADE,
            method.round_off,
        )
        elastic, patient = replace(context, loosening=loosening), Effort(monotone=True)
        following = solve_mesh(elastic, meshes, guess, patient, kind=PassKind.ELASTIC)
        if solution is None or following.solved or following.outcome is Outcome.LEAST_VIOLATION:
            solution = following
        if solution.outcome is not Outcome.INFEASIBLE:
            break
    assert solution is not None
    return solution


def _conditions(layout: Layout, free: bool) -> Iterator[ElasticGroup]:
    """End values, conditions and path constraints: all that is required of a trajectory, besides
    its bounds and its start.
    """
    none, number = np.zeros(0, dtype=int), np.arange(layout.unknowns)
    for ph in layout.phases:
        states = ph.states(number)
        for i in np.flatnonzero(end_required(ph)):
            within = none if free or ph.grid.state_points < 3 else states[-2, i : i + 1]
            yield ElasticGroup(none, states[-1, i : i + 1], within, END_WEIGHT)
        for rows in ph.path_rows(np.arange(layout.constraints)).T:
            yield ElasticGroup(rows, none, none)
    for k, row in enumerate(layout.condition_rows(np.arange(layout.constraints))):
        # time never runs backwards
        if condition_origin(layout, k).kind is not ConditionKind.DURATION:
            yield ElasticGroup(np.array([row]), none, none, condition_weight(layout, k))


def condition_origin(layout: Layout, k: int) -> Origin:
    """Where the k-th condition row comes from; the last rows are path constraints at starts."""
    origins = layout.form.b_origins
    return origins[k] if k < len(origins) else Origin()


def condition_weight(layout: Layout, k: int) -> float:
    """The weight of a violation of the k-th condition row by its size."""
    return LINK_WEIGHT if condition_origin(layout, k).kind is ConditionKind.LINK else 1.0


def _state_bounds(layout: Layout) -> Iterator[ElasticGroup]:
    """The bounds of each state after the start."""
    none, number = np.zeros(0, dtype=int), np.arange(layout.unknowns)
    for ph in layout.phases:
        bound, required = ph.form.x_bound, end_required(ph)
        for i in np.flatnonzero(np.isfinite(bound.lower) | np.isfinite(bound.upper)):
            yield ElasticGroup(
                none, ph.states(number)[1 : ph.grid.state_points - int(required[i]), i], none
            )


def end_required(ph: PhaseLayout) -> NDArray[np.bool_]:
    """(states,): which have an end value or bounds of it."""
    ends = [np.isfinite(q.end.lower) | np.isfinite(q.end.upper) for q in ph.form.states]
    return np.concatenate([np.zeros(0, bool), *ends])
