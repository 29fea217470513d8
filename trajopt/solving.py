"""solve: the door. A problem, a method, a guess; a Solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from trajopt.direct.collocation import Collocation
from trajopt.direct.ladder import solve_directly
from trajopt.errors import UsageError
from trajopt.guess import guess_from_solution
from trajopt.problem import Problem
from trajopt.solution import Solution


def solve(
    problem: Problem,
    method: Any = None,
    guess: Any = None,
    parameters: Mapping[str, Any] | None = None,
    tolerance: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """Solve an optimal-control problem.

    Parameters
    ----------
    problem : Problem
    method : Collocation, Shooting or None
        None: direct collocation with automatic meshes.
    guess : Solution, or for shooting also a dictionary of initial costates
        Where to begin; an earlier solution may be of any mesh.
    parameters : dictionary
        Values of the problem's parameters that differ from the declared ones.
    tolerance : float
        Of the estimated relative error; the method's own by default.
    progress : function of one string
        Told one line for each mesh and each further attempt.

    Examples
    --------
    >>> from problems.block_move import build
    >>> solution = solve(build())
    >>> round(solution.objective, 9)
    12.0
    """
    if not isinstance(problem, Problem):
        raise UsageError("solve: this is not a problem", got=type(problem).__name__, expected="a trajopt.Problem")
    form = problem.finish()
    tell = progress or (lambda line: None)
    method = method if method is not None else Collocation()
    if not isinstance(method, Collocation):
        from trajopt.indirect.shooting import Shooting

        if not isinstance(method, Shooting):
            raise UsageError("solve: unknown method", got=type(method).__name__, expected="Collocation(...) or Shooting(...)")
        if guess is None:
            guess = solve(problem, None, None, parameters, None, progress)
            if not guess.success:
                return guess
        return method.solve(form, guess, parameters)
    if tolerance is not None:
        if not 0 < tolerance < 1:
            raise UsageError("tolerance", got=tolerance, expected="a number between 0 and 1")
        method = replace(method, tolerance=tolerance, backend=method.backend.tightened(1e-3 * tolerance))
    start = guess_from_solution(form, guess) if isinstance(guess, Solution) else None
    if guess is not None and start is None:
        raise UsageError("solve: this is not a guess", got=type(guess).__name__, expected="an earlier Solution")
    return solve_directly(form, method, start, parameters, tell)
