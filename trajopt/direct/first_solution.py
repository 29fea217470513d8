"""First solutions.

Attempts in order, from the quickest to the most patient, until one succeeds; else the one that came
closest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trajopt.direct.arc_refinement import arcs_of_guess
from trajopt.direct.explain import violations
from trajopt.direct.first_meshes import first_meshes
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.other_starts import (
    OTHER_STARTS,
    better,
    elastic_first,
    first_that_solves,
    unsolved,
)
from trajopt.direct.search import Remedy, State, run_remedies
from trajopt.direct.solve_mesh import solve_mesh
from trajopt.nlp.backends import COLD, Effort, Outcome


def first_solution(state: State) -> State:
    """The state with the first solution, or with the one that came closest."""
    state = run_remedies(state, ATTEMPTS, _detail)
    return state if state.has(state.solution) else state.recorded(state.solution)


def _detail(trial: State, state: State) -> str:
    if trial.best is None or trial.best.solved:
        return ""
    solution = trial.best
    worst = max([solution.violation, *[v.relative for v in violations(solution)[:1]]])
    return f"{solution.result.message}, largest violation {worst:.1e}"


def _attempt(solve: Callable[[State], MeshSolution]) -> Callable[[State], State]:
    """An attempt from a function that solves."""

    def attempt(state: State) -> State:
        solution, before = solve(state), state.best
        both_violate = (
            before is not None and before.outcome is solution.outcome is Outcome.LEAST_VIOLATION
        )
        if before is not None and both_violate:  # sizes follow the guess: compare in the same units
            solution = replace(solution, row_scales=before.row_scales)
        stopped = solution.outcome if solution.stopped else None
        return replace(state, best=solution, stopped=stopped)

    return attempt


def _directly(state: State) -> MeshSolution:
    context, guess = state.context, state.guess
    effort = Effort(state.method.search.barrier) if state.given else COLD
    meshes = first_meshes(context, guess)
    solution = solve_mesh(context.quick, meshes, guess, effort)
    if solution.outcome is not Outcome.ITERATIONS or state.given:
        return solution
    # A program far from its solution may wander in one unit of the cost and end soon in another.
    other = solve_mesh(
        replace(context, slope=state.method.search.other_slope).quick, meshes, guess, effort
    )
    return other if other.solved or other.stopped else solution


def _elastic(state: State) -> MeshSolution:
    return elastic_first(state, state.guess)


def _has_arcs(state: State) -> bool:
    """True if the guess is an earlier solution with arcs."""
    return state.given and any(start.arcs for start in state.guess.phases)


FIRST_ATTEMPT = "first attempt"
ATTEMPTS = (
    Remedy("the arcs of the guess", _has_arcs, arcs_of_guess, lambda trial, state: True),
    Remedy(FIRST_ATTEMPT, lambda s: s.best is None, _attempt(_directly), better),
    Remedy("least violation first", unsolved, _attempt(_elastic), better),
    Remedy(OTHER_STARTS, unsolved, first_that_solves, better),
)
