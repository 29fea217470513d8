"""The direct method on one screen.

Presolve, a first solution by ordered attempts, refinement of mesh and arcs, remedies, verdict. Attempts and remedies are values
of one type, run by one loop (``search.run``), with one budget and one record of what was tried.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from trajopt.control_guess import start_guess
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.collocation import Collocation
from trajopt.direct.first_solution import ATTEMPTS, first_solution
from trajopt.direct.hamiltonian_minimum import with_excess
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.refinement_loop import refine
from trajopt.direct.relaxation import MIXTURE
from trajopt.direct.remedies import AFTER_REFINEMENT, BEFORE_REFINEMENT, NO_FIRST_INTEGRAL, no_first_integral
from trajopt.direct.search import State, run
from trajopt.direct.solve_mesh import Context, Progress
from trajopt.direct.varied_starts import VARIED
from trajopt.direct.verdict import verdict
from trajopt.errors import UsageError, suggest
from trajopt.guess import Guess, check_guess
from trajopt.nlp.backends import Outcome
from trajopt.normal_form import NormalForm
from trajopt.solution import Solution

REMEDIES = (*[remedy.name for remedy in (*ATTEMPTS, *BEFORE_REFINEMENT, VARIED, *AFTER_REFINEMENT)], NO_FIRST_INTEGRAL)


def solve_directly(
    form: NormalForm,
    method: Collocation,
    guess: Guess | None,
    parameters: Mapping[str, Any] | None,
    progress: Progress,
    deadline: Deadline = UNLIMITED,
    start: Guess | None = None,
) -> Solution:
    """The whole direct method, from the normal form of a problem to its solution.

    ``guess`` comes from an earlier solution, and brings its mesh and its arcs; ``start`` takes the place of the plain guess.
    """
    began = time.perf_counter()
    for name in method.without.difference(REMEDIES):
        raise UsageError(
            "there is no attempt or remedy of this name", got=name, expected=", ".join(REMEDIES), hint=suggest(name, REMEDIES)
        )
    values = form.parameter_values(parameters)
    if guess is not None:
        check_guess(form, guess, values)
    context = Context.start(form, method, values, progress, deadline)  # presolve
    context = replace(context, interim=partial(_interim, form, guess))
    first = start if guess is None else guess
    state = search(State(context, start_guess(form, values) if first is None else first, guess is not None))
    state = run(state, [no_first_integral(form, search)], describe)
    if not state.chattering and any(event.name == MIXTURE for event in state.events):
        state = state.corrected(with_excess(state.solution))
    return verdict(state, form, time.perf_counter() - began)


def search(state: State) -> State:
    """First solution, refinement, remedies."""
    state = first_solution(state)
    state = run(state, BEFORE_REFINEMENT, describe)
    state = refine(state)
    return run(state, AFTER_REFINEMENT, describe)


def describe(trial: State, state: State) -> str:
    new, old = trial.solution, state.solution
    return f"objective {new.objective:.9g} instead of {old.objective:.9g}, error {new.error:.1e} instead of {old.error:.1e}"


def _interim(form: NormalForm, guess: Guess | None, context: Context, solution: MeshSolution) -> Solution:
    """What an interruption keeps of a solved mesh."""
    first = solution.guess if guess is None else guess
    state = State(context, first, guess is not None, solution, stopped=Outcome.INTERRUPTED).recorded(solution)
    return verdict(state, form, solution.seconds)
