"""solve: the door. A problem, a method, a guess; a Solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.collocation import Collocation
from trajopt.direct.ladder import solve_directly
from trajopt.errors import UsageError
from trajopt.guess import guess_from_solution
from trajopt.indirect.shooting import Shooting
from trajopt.nlp.backends import Ipopt
from trajopt.normal_form import NormalForm
from trajopt.problem import Problem
from trajopt.solution import Solution, Status

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Both:
    """Collocation, then shooting from its answer; the answer of shooting counts, if the two agree."""

    direct: Collocation = field(default_factory=lambda: Collocation(tolerance=3e-9, backend=Ipopt(tolerance=1e-13)))
    indirect: Shooting = field(default_factory=Shooting)
    agreement: float = 1e-6  # relative, of the objectives


Method = Collocation | Shooting | Both

NAMED: dict[str, type[Collocation] | type[Shooting] | type[Both]] = {"direct": Collocation, "indirect": Shooting, "both": Both}


def solve(
    problem: Problem,
    method: Method | str | None = None,
    guess: Any = None,
    parameters: Mapping[str, Any] | None = None,
    tolerance: float | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> Solution:
    """Solve an optimal-control problem.

    Parameters
    ----------
    problem : Problem
    method : Collocation, Shooting, Both, or "direct", "indirect", "both"
        Direct collocation with automatic meshes by default. Shooting without a guess begins with collocation.
    guess : Solution, or for shooting also a dictionary of initial costates
        Where to begin; an earlier solution may be of any mesh, and brings its mesh and its arcs.
    parameters : dictionary
        Values of the problem's parameters that differ from the declared ones.
    tolerance : float
        Of the estimated relative error; the method's own by default.
    progress : function of one string
        Told one line for each mesh and each further attempt.
    time_limit : float
        Wall-clock seconds. When they are over the best answer so far is returned, with the status ``TIME_LIMIT``.

    Examples
    --------
    >>> from problems.classical.block_move import build
    >>> solution = solve(build())
    >>> round(solution.objective, 9)
    12.0
    """
    if not isinstance(problem, Problem):
        raise UsageError("solve: this is not a problem", got=type(problem).__name__, expected="a trajopt.Problem")
    chosen = NAMED[method]() if isinstance(method, str) and method in NAMED else Collocation() if method is None else method
    if not isinstance(chosen, (Collocation, Shooting, Both)):
        expected = ", ".join(f"'{name}'" for name in NAMED) + ", or Collocation(...), Shooting(...), Both(...)"
        raise UsageError("solve: unknown method", got=repr(method), expected=expected)
    if tolerance is not None and not 0 < tolerance < 1:
        raise UsageError("tolerance", got=tolerance, expected="a number between 0 and 1")
    if time_limit is not None and not time_limit > 0:
        raise UsageError("time_limit", got=time_limit, expected="a positive number of seconds")
    deadline = UNLIMITED if time_limit is None else Deadline(time_limit)
    form = problem.finish()
    tell = progress or (lambda line: None)
    if isinstance(chosen, Collocation):
        return _directly(form, _tightened(chosen, tolerance), guess, parameters, tell, deadline)
    first = guess
    if first is None or isinstance(chosen, Both):
        collocation = chosen.direct if isinstance(chosen, Both) else Collocation()
        first = _directly(form, _tightened(collocation, tolerance), guess, parameters, tell, deadline)
        if first.status not in (Status.SOLVED, Status.COARSE):
            return first
    shooting = chosen.indirect if isinstance(chosen, Both) else chosen
    answer = shooting.solve(form, first, parameters, deadline)
    tell(f"shooting: {answer.status.name.lower()}, objective {answer.objective:.12g}")
    if isinstance(chosen, Both):
        return _agreed(first, answer, chosen, tell)
    late = answer.status is Status.TIME_LIMIT and guess is None
    return unconfirmed(first, answer) if late else answer


def _directly(
    form: NormalForm, method: Collocation, guess: Any, parameters: Mapping[str, Any] | None, tell: Progress,
    deadline: Deadline,
) -> Solution:  # fmt: skip
    if guess is not None and not isinstance(guess, Solution):
        raise UsageError("solve: this is not a guess for collocation", got=type(guess).__name__, expected="an earlier Solution")
    return solve_directly(form, method, None if guess is None else guess_from_solution(form, guess), parameters, tell, deadline)


def _tightened(method: Collocation, tolerance: float | None) -> Collocation:
    if tolerance is None:
        return method
    return replace(method, tolerance=tolerance, backend=method.backend.tightened(1e-3 * tolerance))


def unconfirmed(direct: Solution, indirect: Solution) -> Solution:
    """The direct answer as one that shooting could not follow: what was found is not lost."""
    why = ("this is the answer of collocation; shooting could not confirm it:", *indirect.explanation)
    return replace(direct, status=indirect.status, explanation=why)


def _agreed(direct: Solution, indirect: Solution, both: Both, tell: Progress) -> Solution:
    """The indirect solution, failed where its objective is not the direct one's; where there is none, the direct one, failed."""
    difference = abs(direct.objective - indirect.objective) / max(abs(direct.objective), 1e-12)
    line = f"direct {direct.objective:.12g}, indirect {indirect.objective:.12g}, relative difference {difference:.1e}"
    tell(line)
    log = (*direct.log, *indirect.log, line)
    if not indirect.success:
        return replace(unconfirmed(direct, indirect), log=log)
    if difference > both.agreement:
        advice = ("the two methods found different answers: one of them is a local optimum or not converged", line)
        return replace(indirect, status=Status.FAILED, explanation=advice, log=log)
    return replace(indirect, log=log, seconds={k: v + direct.seconds.get(k, 0.0) for k, v in indirect.seconds.items()})
