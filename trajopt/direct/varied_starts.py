"""A few starts on the first mesh, where a solution takes long: it may be a poor local optimum."""

from __future__ import annotations

from dataclasses import replace

from trajopt.direct.first_solution import first_meshes
from trajopt.direct.mesh_solution import PassKind
from trajopt.direct.search import Remedy, State, costs_more
from trajopt.direct.solve_mesh import solve_mesh
from trajopt.guess import has_user_guess
from trajopt.varied_guess import few_varied_guesses


def _hard_won(state: State) -> bool:
    """True if more iterations were spent than most problems need in all, and nobody gave a guess."""
    spent = sum(one.record.iterations for one in state.passes)
    guessed = state.given or has_user_guess(state.context.form)
    return 3 * spent > 2 * state.method.search.quick_iterations and state.method.mesh is None and not guessed


def _best_start(state: State) -> State:
    """The cheapest of the solutions from other starts that costs less than the present one, beyond the errors of both.

    Rough ones do not count: on a coarse mesh wrong motions are cheap.
    """
    context, best = state.context, state.solution
    for guess in few_varied_guesses(context.form, context.parameters):
        if state.stopped is not None or context.deadline.over:
            break
        other = solve_mesh(context.quick, first_meshes(context), guess, None, kind=PassKind.VARIED)
        state = replace(state, stopped=other.outcome if other.stopped else None)
        if other.solved and other.error <= state.method.refinement.rough and costs_more(best, other):
            best = other
    return state if best is state.best else state.recorded(best).with_best(best)


VARIED = Remedy("varied starts", _hard_won, _best_start, lambda trial, state: trial.best is not state.best)
