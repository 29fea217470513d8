"""The direct method on one screen.

Presolve, a first solution by ordered attempts, refinement of mesh and arcs, remedies, verdict. Attempts and remedies are values
of one type, run by one loop (``search.run``), with one budget and one record of what was tried.
"""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import trajopt
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.collocation import Collocation
from trajopt.direct.explain import explain
from trajopt.direct.first_solution import ATTEMPTS, FIRST_ATTEMPT, first_solution
from trajopt.direct.hamiltonian_minimum import with_excess
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.refinement import refine
from trajopt.direct.relaxation import MIXTURE
from trajopt.direct.remedies import AFTER_REFINEMENT, BEFORE_REFINEMENT, NO_FIRST_INTEGRAL, no_first_integral
from trajopt.direct.search import State, run
from trajopt.direct.solve_mesh import Context, Progress
from trajopt.direct.to_solution import arcs, condition_multipliers, phase_solutions, statics
from trajopt.errors import UsageError, suggest
from trajopt.guess import Guess, check_guess, sound_guess
from trajopt.nlp.backends import Outcome
from trajopt.normal_form import NormalForm
from trajopt.solution import Solution, Status

Array = NDArray[np.float64]

REMEDIES = (*[remedy.name for remedy in (*ATTEMPTS, *BEFORE_REFINEMENT, *AFTER_REFINEMENT)], NO_FIRST_INTEGRAL)


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
    state = search(State(context, sound_guess(form, values) if first is None else first, guess is not None))
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


def verdict(state: State, form: NormalForm, seconds: float) -> Solution:
    """The best solution with its status, and the record of the search."""
    solution, method, history = state.solution, state.method, tuple(one.record for one in state.passes)
    status = _status(state)
    solving = sum(record.seconds for record in history)
    return Solution(
        problem=form.name,
        method="direct",
        status=status,
        objective=solution.objective,
        phases=phase_solutions(solution),
        variables=statics(solution),
        parameters=_named_parameters(form, state.context.parameters),
        multipliers=condition_multipliers(solution),
        arcs=arcs(solution),
        history=history,
        error=solution.error,
        tolerance=method.tolerance,
        iterations=sum(record.iterations for record in history),
        seconds={"build": seconds - solving, "solve": solving, "total": seconds},
        explanation=state.chattering or explain(solution, status),
        log=tuple(event.line for event in state.events if len(state.events) > 1 or event.name != FIRST_ATTEMPT),
        options={"scheme": method.scheme.name, "tolerance": method.tolerance, "backend": method.backend.name},
        versions=dict(_versions()),
        form=state.context.form if state.chattering else form,
    )


def _interim(form: NormalForm, guess: Guess | None, context: Context, solution: MeshSolution) -> Solution:
    """What an interruption keeps of a solved mesh."""
    first = solution.guess if guess is None else guess
    state = State(context, first, guess is not None, solution, stopped=Outcome.INTERRUPTED).recorded(solution)
    return verdict(state, form, solution.seconds)


def _status(state: State) -> Status:
    outcome = state.stopped or state.solution.outcome
    if state.chattering and outcome is Outcome.SOLVED:
        return Status.CHATTERING
    if outcome is Outcome.SOLVED:
        if state.solution.error <= state.method.tolerance:
            return Status.SOLVED
        return Status.TIME_LIMIT if state.context.deadline.over else Status.COARSE
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


def _named_parameters(form: NormalForm, values: Array) -> dict[str, Array]:
    named, place = {}, 0
    for q in form.parameters:
        named[q.name] = values[place : place + q.value.size]
        place += q.value.size
    return named
