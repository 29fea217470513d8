"""Refinement: meshes, and arcs where controls switch, until states, cost, controls and costates are
accurate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.arc_refinement import Proposal, arc_meshes, proposed_arcs, solve_on_arcs
from trajopt.direct.arc_structure import decided
from trajopt.direct.collocation import DECADE
from trajopt.direct.control_error import jumps, with_control_error
from trajopt.direct.costate_error import CostateErrors, costate_errors, next_bends
from trajopt.direct.kinks import kinks
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_agreement import (
    confirms,
    control_difference,
    cost_difference,
    difference,
    halved,
    judged_by,
    raised,
)
from trajopt.direct.mesh_refinement import Bend, refine_mesh
from trajopt.direct.mesh_retries import next_solution
from trajopt.direct.mesh_solution import Estimate, MeshSolution, PassKind
from trajopt.direct.other_starts import OTHER_STARTS, cheapest, may_be_local
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.search import Pass, Remedy, State, costs_more, run_remedies
from trajopt.direct.solve_mesh import solve_mesh
from trajopt.nlp.backends import Effort

Array = NDArray[np.float64]


def refine_cheapest(state: State) -> State:
    """From the cheapest of the first solutions to one within the tolerance, or to the best within
    the budget.

    What is cheap on the first mesh may cost more on a finer one: if it then costs more than the
    first solution did, that one is refined too.
    """
    first, before = state.solution, state.passes
    state = run_remedies(state, [CHEAPEST], _cheaper_start)
    if state.solution is first:
        return refine(state)
    found = _refined_alone(state, before)
    better = found.solution.solved and not costs_more(found.solution, first)
    if better or found.stopped is not None:
        return found
    other = _refined_alone(found.with_best(first).recorded(first), found.passes)
    worse = not other.solution.solved or costs_more(other.solution, found.solution)
    return other.with_best(found.solution) if worse else other


def _refined_alone(state: State, before: tuple[Pass, ...]) -> State:
    """Refined with a budget of meshes of its own; with the record of the meshes before."""
    later = refine(replace(state, passes=state.passes[-1:]))
    return replace(later, passes=before + later.passes)


def refine(state: State) -> State:
    """From a first solution to one within the tolerance, or to the best within the budget.

    After the states are accurate, a few more meshes are spent on the costates; they do not decide
    whether a solution counts as solved.
    """
    method, current = state.method, _with_all_errors(state.solution)
    state = state.corrected(current)
    # with the errors of their costates
    solutions, accurate = ([current], list[tuple[float, MeshSolution]]())
    # accurate solutions on arcs, with multipliers of the wrong sign
    unconfirmed: tuple[MeshSolution, ...] = ()
    refusals, polishes, seen = 0, 0, list[CostateErrors]()
    fixed = state.context.form.sampled  # moving knots would move the times of the samples
    while state.may_continue and current.usable and not _on_arcs(current):
        seen.append(costate_errors(current))
        proposal, suspects = proposed_arcs(current), tuple[Array, ...]()
        done = refusals > 0 and current.solved and current.error <= method.tolerance  # without arcs
        if proposal.clear and refusals < method.arcs.proposals and not done and not fixed:
            on_arcs = solve_on_arcs(state, current, arc_meshes(current, proposal.structures))
            state, suspects = on_arcs.state, on_arcs.suspects
            refusals += 1
            unconfirmed = on_arcs.unconfirmed
            if on_arcs.solution is not None and _acceptable(on_arcs.solution, current):
                solutions.append(_with_all_errors(on_arcs.solution))
                state = state.corrected(solutions[-1])
                if solutions[-1].error <= method.tolerance:
                    return state
        elif current.error <= method.tolerance and current.solved:
            accurate.append((seen[-1].error, current))
            if seen[-1].error <= method.tolerance:
                break
        polishes += bool(accurate)
        if not state.may_continue or _enough(state, seen[-1], polishes, bool(accurate)):
            break
        state, current = next_solution(
            state, current, next_meshes(current, proposal, suspects, seen), bool(accurate)
        )
        if not current.usable:
            break
        current = _with_all_errors(current)
        state = state.corrected(current)
        same = next((one for one in unconfirmed if confirms(current, one)), None)
        if same is not None:
            error = max(same.error, cost_difference(current, same))
            return state.corrected(judged_by(same, error, "agrees with a mesh without arcs"))
        if _stalls(solutions[-1], current):
            state, found = _by_other_meshes(state, current)
            if found is not None:
                return state.corrected(found)
        solutions.append(current)
    return state.with_best(_best(solutions, accurate))


def _best(
    solutions: Sequence[MeshSolution], accurate: Sequence[tuple[float, MeshSolution]]
) -> MeshSolution:
    if accurate:
        return min(reversed(accurate), key=lambda pair: pair[0])[1]
    return min(reversed(solutions), key=lambda one: (not one.solved, one.error))


CHEAPEST = Remedy(
    OTHER_STARTS, may_be_local, cheapest, lambda trial, state: trial.best is not state.best
)


def _cheaper_start(trial: State, state: State) -> str:
    new, old = trial.solution, state.solution
    return (
        "none is cheaper"
        if new is old
        else f"objective {new.objective:.9g} instead of {old.objective:.9g}"
    )


def _with_all_errors(solution: MeshSolution) -> MeshSolution:
    """Where all other errors are small, that of the controls between the points counts, too."""
    return (
        with_control_error(solution)
        if solution.error <= solution.phases[0].method.tolerance
        else solution
    )


def _on_arcs(solution: MeshSolution) -> bool:
    return solution.kind is PassKind.ARCS


def _acceptable(candidate: MeshSolution, current: MeshSolution) -> bool:
    """A wrong structure integrates exactly: a solution on arcs counts if it is as accurate, and
    does not cost more.
    """
    tolerance = current.phases[0].method.tolerance
    return candidate.error <= max(tolerance, current.error) and not costs_more(candidate, current)


def _enough(state: State, costates: CostateErrors, polishes: int, accurate: bool) -> bool:
    """True if there is no point in another mesh: touch points have to settle first."""
    most = state.method.refinement.polishing // (1 if costates.touch_points else 3)
    return polishes > most or (_stalled(state.passes, most + 2) and not accurate)


def _stalled(passes: Sequence[Pass], meshes: int) -> bool:
    """True if the last ``meshes`` passes did not halve the error."""
    errors = [one.record.error for one in passes[1:] if one.kind is not PassKind.ARCS]
    return len(errors) > meshes + 1 and min(errors[-meshes:]) > 0.5 * min(errors[:-meshes])


def _stalls(before: MeshSolution, current: MeshSolution) -> bool:
    """True if a mesh hardly reduced the estimated error, although cost and states of both agree
    within the tolerance.
    """
    method = current.phases[0].method
    slow = current.error > max(2 * method.tolerance, before.error / DECADE)
    return (
        current.solved
        and slow
        and not _on_arcs(before)
        and difference(current, before) <= method.tolerance
    )


def _by_other_meshes(state: State, current: MeshSolution) -> tuple[State, MeshSolution | None]:
    """The solution, if narrower intervals and higher degrees where the estimate is large both
    confirm it.

    They are no evidence for a solution that violates limits between its nodes.
    """
    tolerance, others = state.method.tolerance, []
    # the weight of limits
    if (
        max(e.violation for e in current.estimates)
        > state.method.refinement.limit_weight * tolerance
    ):
        return state, None
    for change in (halved, raised):
        meshes = [
            change(v, e.errors > tolerance)
            for v, e in zip(current.phases, current.estimates, strict=True)
        ]
        if not state.may_continue or any(mesh is None for mesh in meshes):
            return state, None
        other = solve_mesh(
            state.context.quick,
            tuple(m for m in meshes if m is not None),
            current.trajectories,
            Effort(state.method.round_off),
        )
        state = state.recorded(other)
        # An error of the controls changes the cost by its square; a cost that still changes may do
        # so for many meshes.
        same_controls = control_difference(other, current) <= np.sqrt(tolerance)
        same_cost = cost_difference(other, current) <= tolerance / DECADE
        if (
            not other.solved
            or difference(other, current) > tolerance
            or not same_controls
            or not same_cost
        ):
            return state, None
        others.append(other)
    error = max(difference(other, current) for other in others)
    return state, judged_by(
        current, error, "agrees with narrower intervals and with higher degrees"
    )


def with_linear_controls(view: PhaseView, where: NDArray[np.bool_] | None = None) -> Mesh:
    """The mesh of a phase with smooth controls linear on some intervals, and free on the others.

    Far from the solution a control of high degree can oscillate between the points. Where path
    constraints may be active at every point it needs all its freedom. Where it jumps it is
    constant: a polynomial would violate path constraints between the points.
    """
    mesh = view.layout.mesh
    if mesh.control_points is None:
        return mesh
    chosen = np.ones(mesh.intervals, dtype=bool) if where is None else where
    points = np.where(chosen & (view.layout.nc == 0), 2, 0)
    points = np.where(jumps(view), 1, points)[:, None]
    return replace(
        mesh,
        control_points=np.where(
            view.kernels.affine | view.kernels.equated, mesh.control_points, points
        ),
    )


def next_meshes(
    current: MeshSolution,
    proposal: Proposal,
    suspects: tuple[Array, ...],
    seen: Sequence[CostateErrors],
) -> tuple[Mesh, ...]:
    """Refined where the error is large, where arcs are unclear, and where proposed arcs were
    refuted (``suspects``).

    ``seen``: the errors of the costates so far; breaks go where states meet their limits.
    """
    return tuple(
        _mark_intervals(
            view, estimate, proposal.unclear[i], suspects[i] if suspects else np.zeros((0, 2)), seen
        )
        for i, (view, estimate) in enumerate(zip(current.phases, current.estimates, strict=True))
    )


def _mark_intervals(
    view: PhaseView,
    estimate: Estimate,
    unclear: NDArray[np.int_],
    suspects: Array,
    seen: Sequence[CostateErrors],
) -> Mesh:
    method = view.method
    mesh = view.layout.mesh
    breaks = view.values.breaks
    affine = view.kernels.affine
    errors = np.maximum(estimate.errors, seen[-1].by_interval[view.index])
    near = np.clip(np.concatenate([unclear - 1, unclear, unclear + 1]), 0, errors.size - 1)
    wanted = np.zeros(errors.size, dtype=bool)
    wanted[near] = True
    for start, end in suspects:
        wanted |= (breaks[1:] > start) & (breaks[:-1] < end)
    errors = np.where(wanted, np.maximum(errors, 2 * method.tolerance), errors)
    freed = with_linear_controls(view, estimate.errors > method.refinement.rough)
    large = errors > method.tolerance
    bends = [] if affine.any() else [Bend(place) for place in kinks(view, large)]
    bends += next_bends(seen, method.refinement, view.index, mesh, large)
    decay = np.where(jumps(view), 1.0, estimate.decay)
    if affine.any():
        by_constraint = decided(view)
        decay = np.where(by_constraint.any(axis=1), estimate.decay, 1.0)  # switches are not smooth
        if freed.control_points is not None:
            freed = replace(
                freed, control_points=np.where(affine & by_constraint, 0, freed.control_points)
            )
    return refine_mesh(freed, Estimate(errors, decay), method, bends)
