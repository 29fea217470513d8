"""The direct method on one screen.

Presolve, a first solution by ordered attempts, refinement of mesh and arcs, remedies, verdict.
Attempts and remedies are values of one type, run by one loop (``search.run_remedies``), with one
budget and one record of what was tried.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.collocation import DECADE, Collocation
from trajopt.direct.first_solution import ATTEMPTS, first_solution
from trajopt.direct.hamiltonian_minimum import with_excess
from trajopt.direct.lifted_form import LiftedForm, without_kinks
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.other_starts import OTHER_STARTS, unsolved
from trajopt.direct.refinement_loop import refine_cheapest
from trajopt.direct.relaxation import MIXTURE
from trajopt.direct.remedies import AFTER_REFINEMENT, BEFORE_REFINEMENT
from trajopt.direct.search import State, run_remedies
from trajopt.direct.solve_mesh import Context, Progress
from trajopt.direct.verdict import verdict
from trajopt.errors import UsageError, suggest
from trajopt.guess.controls import start_guess
from trajopt.guess.plain import check_guess
from trajopt.nlp.backends import Outcome
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.solution import Solution, Status
from trajopt.trajectory.trajectory import Trajectories

Array = NDArray[np.float64]

AFTER_THE_FIRST = frozenset({"least violation first", OTHER_STARTS})
REMEDIES = tuple(
    dict.fromkeys(remedy.name for remedy in (*ATTEMPTS, *BEFORE_REFINEMENT, *AFTER_REFINEMENT))
)


def solve_directly(
    form: NormalForm,
    method: Collocation,
    guess: Trajectories | None,
    parameters: Mapping[str, Any] | None,
    progress: Progress,
    deadline: Deadline = UNLIMITED,
    start: Trajectories | None = None,
) -> Solution:
    """The whole direct method, from the normal form of a problem to its solution.

    ``guess`` comes from an earlier solution, and brings its mesh and its arcs; ``start`` takes the
    place of the plain guess.
    """
    began = time.perf_counter()
    form, values = form.at(parameters), form.parameter_values(parameters)
    lifted = without_kinks(form, values)
    if lifted is not None:
        starts = [one and lifted.lifted(one, values) for one in (guess, start)]
        state = found(lifted.form, method, starts[0], values, progress, deadline, starts[1], lifted)
        answer = verdict(state, lifted.form, time.perf_counter() - began)
        restored = lifted.restored(answer)
        holds = _holds(lifted, answer, values)
        if state.stopped is not None or (holds and answer.success):
            return restored
        progress("the problem is solved as it stands, with its kinks")
    state = found(form, method, guess, values, progress, deadline, start)
    stated = verdict(state, form, time.perf_counter() - began)
    return restored if lifted is not None and holds and not stated.success else stated


def _holds(lifted: LiftedForm, answer: Solution, values: Array) -> bool:
    """True if an answer of the lifted problem is one of the problem."""
    feasible = answer.success or answer.status is Status.COARSE
    exact = max(answer.tolerance, answer.error if np.isfinite(answer.error) else 0.0)
    return feasible and lifted.gap(answer, values) <= exact


def found(
    form: NormalForm,
    method: Collocation,
    guess: Trajectories | None,
    values: Array,
    progress: Progress,
    deadline: Deadline = UNLIMITED,
    start: Trajectories | None = None,
    lifted: LiftedForm | None = None,
) -> State:
    """The end of the search for a solution at the values of the parameters, at which the form is;
    see ``solve_directly``. ``lifted``: what the form came from, if it had kinks.
    """
    for name in method.without.difference(REMEDIES):
        raise UsageError(
            "there is no attempt or remedy of this name",
            got=name,
            expected=", ".join(REMEDIES),
            hint=suggest(name, REMEDIES),
        )
    if guess is not None:
        check_guess(form, guess, values)
    context = Context.start(form, method, values, progress, deadline)  # presolve
    if lifted is not None:
        context = replace(context, kernels=lifted.with_free_parts(context.kernels))
    context = replace(context, interim=partial(_interim, form, guess))
    first = start if guess is None else guess
    begin = start_guess(form, values) if first is None else first
    state = search(State(context, begin, guess is not None), lifted)
    if lifted is None and unsolved(state) and state.stopped is None:
        state = _with_angle_bounds(state)
    if state.solution.solved and _misses_stated_ends(state.solution, form):
        progress("the problem is solved again without presolve, which lost an end value")
        state = _again(state, state.context.as_stated())
    if not state.chattering and any(event.name == MIXTURE for event in state.events):
        state = state.corrected(with_excess(state.solution))
    return state


def _with_angle_bounds(state: State) -> State:
    """The search with the stated bounds of angles, if they were removed and it succeeds with them:
    they keep an angle without much effect in the middle.
    """
    context = state.context.with_angle_bounds()
    if context is None:
        return state
    state.context.progress("the problem is solved again with the bounds of its angles")
    return _again(state, context)


def _misses_stated_ends(solution: MeshSolution, form: NormalForm) -> bool:
    """True if a stated boundary value does not follow from what presolve put in its place."""
    allowed = DECADE * max(solution.error, solution.phases[0].method.tolerance)
    for view, stated in zip(solution.phases, form.phases, strict=True):
        X = view.values.X
        for bound, x in ((stated.x_start, X[0]), (stated.x_end, X[-1])):
            excess = np.maximum(np.maximum(bound.lower - x, x - bound.upper), 0.0)
            if np.any(excess > allowed * view.x_size):
                return True
    return False


def _again(state: State, context: Context) -> State:
    """The search in another form of the problem, if that succeeds, with the records of both."""
    again = search(State(context, state.guess, state.given))
    passes, events = state.passes + again.passes, state.events + again.events
    found = again if again.solution.solved else state
    return replace(found, passes=passes, events=events, stopped=again.stopped)


def search(state: State, lifted: LiftedForm | None = None) -> State:
    """First solution, refinement, remedies.

    A ``lifted`` problem without lengths whose first program fails ends there: it is solved as it
    was stated.
    """
    once = lifted is not None and not lifted.has_lengths
    without = state.method.without | (AFTER_THE_FIRST if once else frozenset())
    context = replace(state.context, method=replace(state.method, without=without))
    state = first_solution(replace(state, context=context))
    if lifted is not None and not state.solution.solved:
        return state
    state = run_remedies(state, BEFORE_REFINEMENT, compared_objectives)
    state = refine_cheapest(state)
    return run_remedies(state, AFTER_REFINEMENT, compared_objectives)


def compared_objectives(trial: State, state: State) -> str:
    new, old = trial.solution, state.solution
    return (
        f"objective {new.objective:.9g} instead of {old.objective:.9g}, error {new.error:.1e} "
        f"instead of {old.error:.1e}"
    )


def _interim(
    form: NormalForm, guess: Trajectories | None, context: Context, solution: MeshSolution
) -> Solution:
    """What an interruption keeps of a solved mesh."""
    first = solution.trajectories if guess is None else guess
    state = State(
        context, first, guess is not None, solution, stopped=Outcome.INTERRUPTED
    ).recorded(solution)
    return verdict(state, form, solution.seconds)
