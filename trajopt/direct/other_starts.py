"""Other starts: where there is no solution yet, or one that may be a poor local optimum.

They are in one order: motions with constant controls, states on a detour with controls off centre,
and random variations. Each is solved once, on the first mesh, with few iterations; the best is
refined. A budget of iterations decides how many are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from trajopt.direct.elastic import least_violation
from trajopt.direct.explain import total_violation
from trajopt.direct.first_meshes import first_meshes
from trajopt.direct.known_convex import known_convex
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.search import State, costs_more
from trajopt.direct.solve_mesh import solve_mesh
from trajopt.direct.undetermined import settling_of_all
from trajopt.guess.controls import start_guess
from trajopt.guess.motions import motions
from trajopt.guess.plain import detoured, has_user_guess, perturbed, plain_guess
from trajopt.guess.varied import few_varied_guesses
from trajopt.nlp.backends import Outcome
from trajopt.trajectory.trajectory import Trajectories

OTHER_STARTS = "other starts"
ALLOWED = 3  # times the iterations of one start, for all of them together


def starts(state: State) -> Iterator[Trajectories]:
    """The starts besides the first, in the order in which they are tried."""
    form, parameters = state.context.stated, state.context.parameters
    yield from motions(form, parameters, start_guess(form, parameters))
    yield off_centre(state, 1 / 3)
    yield from few_varied_guesses(form, parameters)


def off_centre(state: State, detour: float) -> Trajectories:
    """Controls that begin away from the middle of their ranges, and states on a detour."""
    form, parameters = state.context.stated, state.context.parameters
    return detoured(plain_guess(form, bend=0.5, parameters=parameters), detour)


# Where there is no solution


def first_that_solves(state: State) -> State:
    """The first solution from another start; else the best of what they came to.

    The last of them begins with phases that last ten times as long, on a detour, and looks for a
    trajectory that violates least.
    """
    context, best, stopped = state.context, state.best, state.stopped
    left = ALLOWED * state.method.search.quick_iterations
    for guess in motions(context.stated, context.parameters, state.guess):
        if stopped is not None or left <= 0:
            break
        other = solve_mesh(context.quick, first_meshes(context), guess, kind=PassKind.VARIED)
        stopped, left = other.outcome if other.stopped else None, left - other.result.iterations
        if best is None or _before(other, best):
            best = other
        if other.solved and other.error <= 1:
            break
    state = replace(state, best=best, stopped=stopped)
    # A solution that is off by more than its own size shows no optimum yet.
    wrong = unsolved(state) or state.solution.error > 1
    if stopped is None and wrong and _duration_can_grow(state):
        other = _with_longer_duration(state)
        stopped = other.outcome if other.stopped else None
        more_accurate = other.solved and other.error < state.solution.error
        if _before(other, state.solution) or more_accurate:
            best = other
    return replace(state, best=best, stopped=stopped)


def _with_longer_duration(state: State) -> MeshSolution:
    """From phases that last ten times as long, with a detour."""
    plain = plain_guess(state.context.stated, duration=10, parameters=state.context.parameters)
    found = elastic_first(state, detoured(plain, 1.0), keep_time=True)
    before = state.solution
    both = before.outcome is found.outcome is Outcome.LEAST_VIOLATION
    # Sizes follow the guess: compare in the same units.
    return replace(found, row_scales=before.row_scales) if both else found


def _duration_can_grow(state: State) -> bool:
    """True if phases may last longer than guessed."""
    longer = plain_guess(state.context.stated, duration=10, parameters=state.context.parameters)
    lengths, before = (
        np.array([ph.tf - ph.t0 for ph in one.phases]) for one in (longer, state.guess)
    )
    return bool(np.all(lengths > 0) and np.any(2 * lengths > 3 * before))


def _rank(solution: MeshSolution) -> tuple[bool, bool, float]:
    """The less, the better: solved; a trajectory that obeys its equations at least; one that
    violates little.
    """
    elastic = solution.outcome is Outcome.LEAST_VIOLATION
    tolerance = solution.phases[0].method.tolerance
    # at a feasible trajectory
    ended = solution.outcome is Outcome.ITERATIONS and solution.violation <= tolerance
    obeys = elastic or ended
    return (
        not solution.solved,
        not obeys,
        total_violation(solution) if elastic else solution.violation,
    )


def _before(one: MeshSolution, other: MeshSolution) -> bool:
    """True if one ranks before another, which was there first: of nearly equal violations, which
    rounding would order, the first stays.
    """
    (*rank, violation), (*least, smallest) = _rank(one), _rank(other)
    if rank != least:
        return rank < least
    return violation < (1 - one.phases[0].method.negligible) * smallest


def better(trial: State, state: State) -> bool:
    """True if there was no solution, or one that is worse."""
    return state.best is None or _before(trial.solution, state.solution)


def unsolved(state: State) -> bool:
    """True if there is neither a solution, nor a reason why there is none."""
    return state.best is None or not (state.best.solved or state.best.unbounded)


def elastic_first(state: State, guess: Trajectories, keep_time: bool = False) -> MeshSolution:
    """From a feasible trajectory, if there is one; else the one that violates least."""
    context = state.context
    meshes = first_meshes(context)
    limited = context.with_iteration_limit(3 * context.method.search.quick_iterations)
    elastic = least_violation(limited, meshes, guess, keep_time)
    if elastic.outcome is Outcome.NOT_A_NUMBER:
        elastic = least_violation(limited, meshes, perturbed(guess), keep_time)
    if not elastic.solved:
        return elastic
    context = replace(context, settling=settling_of_all(elastic))
    return solve_mesh(context, meshes, elastic.trajectories, context.from_feasible)


# Where there is a solution


def may_be_local(state: State) -> bool:
    """True if nobody chose the start of a first solution of a problem that is not known to be
    convex: it may be a poor local optimum.
    """
    method, context = state.method, state.context
    guessed = state.given or has_user_guess(context.stated)
    chosen = guessed or method.mesh is not None or method.max_passes == 1
    if chosen or not state.solution.solved:
        return False
    return not known_convex(context.stated, context.parameters)


def cheapest(state: State) -> State:
    """The cheapest of the solutions from other starts that costs less than the present one, beyond
    the errors of both.

    A rough one does not count: on a coarse mesh wrong motions are cheap. The search ends where no
    other optimum is expected, or where as much work is spent as on the first solution, and at
    least ``start_work``.
    """
    context, first, budget = state.context, state.solution, state.context.budget
    end = budget.spent + max(budget.spent, state.method.search.start_work)
    optima, searches = [first], 1  # distinct ones
    for guess in starts(state):
        all_found = _expected(len(optima), searches) < len(optima) + 0.5
        if state.stopped is not None or budget.over or budget.spent >= end or all_found:
            break
        other = solve_mesh(context.quick, first_meshes(context), guess, kind=PassKind.VARIED)
        state = replace(state, stopped=other.outcome if other.stopped else None)
        if other.solved and not _rough(other):
            searches += 1
            if all(costs_more(other, one) or costs_more(one, other) for one in optima):
                optima.append(other)
    best = first
    for one in optima[1:]:
        if _rough(best) or costs_more(best, one):
            best = one
    return state if best is first else state.recorded(best).with_best(best)


def _expected(optima: int, searches: int) -> float:
    """How many optima there are, as a Bayesian expects where so many searches from random starts
    found so many (Boender and Rinnooy Kan, Math. Program. 37 (1987)).
    """
    left = searches - optima - 2
    return optima * (searches - 1) / left if left > 0 else np.inf


def _rough(solution: MeshSolution) -> bool:
    return solution.error > solution.phases[0].method.refinement.rough
