"""First solutions.

Attempts in order, from the quickest to the most patient, until one succeeds; else the one that came closest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from trajopt.direct.arc_refinement import arcs_of_guess
from trajopt.direct.elastic import least_violation
from trajopt.direct.explain import total_violation, violations
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.search import Remedy, State, run
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.guess import Guess, detoured, has_idle_controls, perturbed, plain_guess
from trajopt.nlp.backends import Outcome, Warm
from trajopt.normal_form import NormalForm


def first_solution(state: State) -> State:
    """The state with the first solution, or with the one that came closest."""
    state = run(state, ATTEMPTS, _detail)
    return state if state.has(state.solution) else state.recorded(state.solution)


def first_meshes(context: Context, guess: Guess | None = None, finer: int = 1) -> tuple[Mesh, ...]:
    """Few intervals of high degree where controls act smoothly; more, with constant controls, where they may switch.

    A guess that comes from a solution with smooth controls brings its own mesh. ``finer`` multiplies the intervals of the others.
    """
    meshes = []
    method, scheme, settings = context.method, context.method.scheme, context.method.refinement
    starts = guess.phases if guess is not None else (None,) * len(context.form.phases)
    for kernels, start in zip(context.kernels.phases, starts, strict=True):
        affine = kernels.affine
        if method.mesh is not None:
            mesh = method.mesh
        elif scheme.shares_nodes:
            mesh = Mesh.uniform(settings.switching_intervals * finer, scheme.rule(scheme.degree).degree)
        elif start is not None and start.mesh is not None and not start.arcs and not affine.any():
            breaks = np.concatenate([[0.0], start.mesh[0][1:-1], [1.0]])
            free = np.zeros((breaks.size - 1, affine.size), dtype=int)
            mesh = Mesh(breaks, np.array(start.mesh[1]), control_points=free)
        else:
            count, degree = (
                (settings.switching_intervals, scheme.degree - 1) if affine.any() else (settings.intervals, scheme.degree)
            )
            # A constant angle can be turned back by whole turns afterwards; a polynomial that went round the wrong way cannot.
            # Constant on an interval a control cannot satisfy an equation at each of its points.
            points = np.where((affine & ~kernels.equated) | kernels.angles, 1, 0)
            mesh = Mesh.uniform(count * finer, max(degree, 1))
            mesh = replace(mesh, control_points=np.tile(points, (mesh.intervals, 1)))
        meshes.append(mesh)
    return tuple(meshes)


def _rank(state: State) -> tuple[bool, bool, float]:
    """The less, the better: solved; a trajectory that obeys its equations at least; one that violates little."""
    solution = state.solution
    elastic = solution.outcome is Outcome.LEAST_VIOLATION
    ended = solution.outcome is Outcome.ITERATIONS and solution.violation <= state.method.tolerance  # at a feasible trajectory
    obeys = elastic or ended
    return not solution.solved, not obeys, total_violation(solution) if elastic else solution.violation


def _better(trial: State, state: State) -> bool:
    return state.best is None or _rank(trial) < _rank(state)


def _detail(trial: State, state: State) -> str:
    if trial.best is None or trial.best.solved:
        return ""
    solution = trial.best
    worst = max([solution.violation, *[v.relative for v in violations(solution)[:1]]])
    return f"{solution.result.message}, largest violation {worst:.1e}"


def _unsolved(state: State) -> bool:
    return state.best is None or not (state.best.solved or state.best.unbounded)


def _not_proved_infeasible(state: State) -> bool:
    """Unsolved, and not shown infeasible: no two least-violation solutions violate the same, and there are few of them."""
    ordered = np.sort(state.violations)
    same = bool(np.any(100 * np.diff(ordered) < ordered[1:]))
    return _unsolved(state) and not same and len(state.violations) <= 3


def _attempt(solve: Callable[[State], MeshSolution], keeps_time: bool = False) -> Callable[[State], State]:
    """An attempt from a function that solves; with ``keeps_time`` its violations are those of this duration only."""

    def attempt(state: State) -> State:
        solution = solve(state)
        if solution.outcome is Outcome.LEAST_VIOLATION:
            before = state.best
            if before is not None and before.outcome is Outcome.LEAST_VIOLATION:
                solution = replace(solution, row_scales=before.row_scales)  # sizes follow the guess: compare in the same units
            if not keeps_time:
                state = replace(state, violations=(*state.violations, total_violation(solution)))
        stopped = solution.outcome if solution.stopped else None
        return replace(state, best=solution, stopped=stopped)

    return attempt


def _directly(state: State) -> MeshSolution:
    context, guess = state.context, state.guess
    warm = Warm(state.method.search.barrier) if state.given else None
    return solve_mesh(context.quick, first_meshes(context, guess, state.finer), guess, warm)


def _elastic_first(change: Callable[[State], Guess], state: State, keep_time: bool = False) -> MeshSolution:
    """From a feasible trajectory, if there is one; else the one that violates least."""
    context, guess = state.context.patient, change(state)
    meshes = first_meshes(context, None, state.finer)
    limited = context.with_iteration_limit(3 * context.method.search.quick_iterations)
    elastic = least_violation(limited, meshes, guess, keep_time)
    if elastic.outcome is Outcome.NOT_A_NUMBER:
        elastic = least_violation(limited, meshes, perturbed(guess), keep_time)
    if not elastic.solved:
        return elastic
    return solve_mesh(context, meshes, elastic.guess, context.barrier_after_feasible)


def _with_longer_duration(state: State) -> Guess:
    """A guess of phases that last ten times as long, with a detour."""
    return detoured(plain_guess(state.context.form, duration=10, parameters=state.context.parameters), 1.0)


def _duration_can_grow(state: State) -> bool:
    """True if phases may last longer than guessed."""
    if not _unsolved(state):
        return False
    longer = plain_guess(state.context.form, duration=10, parameters=state.context.parameters)
    lengths, before = (np.array([ph.tf - ph.t0 for ph in one.phases]) for one in (longer, state.guess))
    return bool(np.all(lengths > 0) and np.any(2 * lengths > 3 * before))


def _free_time(form: NormalForm) -> bool:
    return not all(ph.start_time.fixed[0] and ph.end_time.fixed[0] for ph in form.phases)


def _idle(state: State) -> bool:
    """True if some control has no effect on the guess, to first order: all least-violation solutions would be the same."""
    context = state.context
    return _unsolved(state) and not state.given and has_idle_controls(context.form, state.guess, context.parameters)


def _off_centre(state: State) -> Guess:
    return perturbed(plain_guess(state.context.form, bend=0.5, parameters=state.context.parameters))


def _has_arcs(state: State) -> bool:
    """True if the guess is an earlier solution with arcs."""
    return state.given and any(start.arcs for start in state.guess.phases)


FIRST_ATTEMPT = "first attempt"
ATTEMPTS = (
    Remedy("the arcs of the guess", _has_arcs, arcs_of_guess, lambda trial, state: True),
    Remedy(FIRST_ATTEMPT, lambda s: s.best is None, _attempt(_directly), _better),
    Remedy("least violation first", _unsolved, _attempt(partial(_elastic_first, lambda s: s.guess)), _better),
    Remedy("a detour of +1", _unsolved, _attempt(partial(_elastic_first, lambda s: detoured(s.guess, 1.0))), _better),
    Remedy(
        "10 times the time", _duration_can_grow,
        _attempt(partial(_elastic_first, _with_longer_duration, keep_time=True), True), _better,
    ),
    # A violation that is smaller the sooner it ends, as at the first swing of many, makes a free time shrink.
    Remedy(
        "the time as guessed", lambda s: _unsolved(s) and _free_time(s.context.form),
        _attempt(partial(_elastic_first, lambda s: s.guess, keep_time=True), True), _better,
    ),
    Remedy("least violation, controls off centre", _idle, _attempt(partial(_elastic_first, _off_centre)), _better),
    Remedy(
        "a detour of -1", _not_proved_infeasible, _attempt(partial(_elastic_first, lambda s: detoured(s.guess, -1.0))), _better
    ),
)  # fmt: skip
