"""The verdict: the status of a solution of the direct method, SOLVED or COARSE, and its record."""

from __future__ import annotations

import importlib.metadata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import trajopt
from trajopt.direct.explain import explain
from trajopt.direct.first_solution import FIRST_ATTEMPT
from trajopt.direct.search import State
from trajopt.direct.to_solution import PhaseSolutions, arcs, condition_multipliers, statics
from trajopt.nlp.backends import Outcome
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.output_curves import with_outputs
from trajopt.trajectory.solution import Solution, Status

Array = NDArray[np.float64]


def verdict(state: State, form: NormalForm, seconds: float) -> Solution:
    """The best solution with its status, and the record of the search."""
    solution = state.solution
    method = state.method
    history = tuple(one.record for one in state.passes)
    status = _status(state)
    solving = sum(record.seconds for record in history)
    answer = Solution(
        problem=form.name,
        method="direct",
        status=status,
        objective=solution.objective,
        phases=PhaseSolutions(solution),
        variables=statics(solution),
        parameters=form.named_parameters(state.context.parameters),
        multipliers=condition_multipliers(solution),
        arcs=arcs(solution),
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
        form=state.context.form if state.chattering else form,
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
