"""The problem of a solution that was read from a file.

Only names of the catalogue are built, with the settings of the file. Code is never taken from a
file: a path to Python in it is not followed.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from trajopt.catalogue import builder, named_problems
from trajopt.errors import TrajoptError, UsageError
from trajopt.parameters import settings_of
from trajopt.statement.normal_form import NormalForm
from trajopt.statement.problem import Problem
from trajopt.trajectory.solution import Solution


def name_of(solution: Solution) -> str:
    """Return the name of the solution's problem in the catalogue; empty if it is not in it."""
    known = named_problems()
    return next((name for name in (solution.source, solution.problem) if name in known), "")


def with_form(solution: Solution, use: str) -> Solution:
    """Return the solution with the normal form of its problem; ``use`` says in an error what needs
    it.

    >>> from trajopt import load, solve
    >>> from problems.classical.block_move import build
    >>> with_form(solve(build()).without_form(), "a plot").form.name
    'block-move'
    """
    if solution.form is not None:
        return solution
    name = name_of(solution)
    if not name:
        raise UsageError(
            f"{use} needs the problem, which a loaded solution does not contain",
            got=f"problem '{solution.problem}', which is not in the catalogue",
            hint="dataclasses.replace(solution, form=problem.finish()), or --problem "
            "./mine.py:build in the shell",
        )
    form = _built(name, solution)
    if {ph.name: {q.name for q in ph.states} for ph in form.phases} != {
        n: set(ph.states) for n, ph in solution.phases.items()
    }:
        raise UsageError(
            f"the file is not a solution of problem '{name}', which has its name",
            hint="dataclasses.replace(solution, form=problem.finish())",
        )
    return replace(solution, form=form)


def _built(name: str, solution: Solution) -> NormalForm:
    build = builder(name, "problem")
    known: Any = settings_of(build)
    anything = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(build).parameters.values())
    own = {key: value for key, value in solution.settings.items() if anything or key in known}
    try:
        problem = build(
            **{key: known[key].read(value) if key in known else value for key, value in own.items()}
        )
    except TrajoptError:
        raise
    except Exception as error:  # a setting that a file invented
        raise UsageError(
            f"problem '{name}' cannot be built with the settings of the file", got=str(error)
        ) from error
    assert isinstance(problem, Problem)
    return problem.finish()
