"""``solve``: the entry point for all methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from trajopt.comparison import Comparison, Verdict, compare_methods
from trajopt.confirming import Confirming
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.collocation import Collocation
from trajopt.direct.strategy import solve_directly
from trajopt.errors import UsageError
from trajopt.guess import Guess, guess_from_solution
from trajopt.nlp.backends import Ipopt
from trajopt.nlp.interior_point import Compiled
from trajopt.normal_form import NormalForm
from trajopt.problem import Problem
from trajopt.solution import Solution, Status

if TYPE_CHECKING:
    from trajopt.indirect.shooting import Shooting  # deferred: loading it takes half the time of a direct solve

Progress = Callable[[str], None]


def _silent(line: str) -> None:
    pass


NAMES = ("direct", "indirect", "both")


def _shooting() -> Shooting:
    from trajopt.indirect.shooting import Shooting

    return Shooting()


@dataclass(frozen=True)
class Both:
    """Collocation, then shooting from its solution. Returns the solution of shooting if the two agree.

    Parameters
    ----------
    direct, indirect
        Settings of the two methods.
    agreement
        Largest relative difference of the objectives; replaced by ``tolerance`` of ``solve`` if that is larger.
    """

    direct: Collocation = field(default_factory=lambda: Collocation(tolerance=3e-9, backend=Compiled(tolerance=1e-13)))
    indirect: Shooting = field(default_factory=_shooting)
    agreement: float = 1e-6


Method: TypeAlias = Union[Collocation, "Shooting", Both]


@dataclass(frozen=True)
class _Task:
    """Arguments of ``solve`` that all methods share."""

    form: NormalForm
    parameters: Mapping[str, Any] | None
    tolerance: float | None
    tell: Progress
    deadline: Deadline
    starts: int = 1
    seed: int = 0

    def directly(self, method: Collocation, guess: Any) -> Solution:
        if guess is not None and not isinstance(guess, Solution):
            raise UsageError("solve: invalid guess for collocation", got=type(guess).__name__, expected="an earlier Solution")
        if self.tolerance is not None:
            method = replace(method, tolerance=self.tolerance, backend=method.backend.tightened(1e-3 * self.tolerance))
        begin = None if guess is None else guess_from_solution(self.form, guess)
        if self.starts == 1:
            return solve_directly(self.form, method, begin, self.parameters, self.tell, self.deadline)
        from trajopt.multistart import from_all_starts  # deferred: most solves use one start

        return from_all_starts(self.form, partial(self._from_start, method, begin), self.starts, self.deadline, self.tell)

    def _from_start(self, method: Collocation, guess: Guess | None, number: int) -> Solution:
        """Solve from the given guess if the number is 0, otherwise from a varied guess."""
        from trajopt.varied_guess import varied_guess

        values = self.form.parameter_values(self.parameters)
        varied = varied_guess(self.form, values, (self.seed, number)) if number else None
        return solve_directly(self.form, method, None if number else guess, self.parameters, _silent, self.deadline, varied)

    def with_form(self, form: NormalForm) -> _Task:
        return replace(self, form=form)

    def indirectly(self, method: Shooting, guess: Any) -> Solution:
        method = method if self.tolerance is None else replace(method, tolerance=self.tolerance)
        self.tell("shooting")
        answer = method.solve(self.form, guess, self.parameters, self.deadline, self.tell)
        self.tell(f"shooting: {answer.status.name.lower()}, objective {answer.objective:.12g}")
        return answer


def solve(
    problem: Problem,
    method: Method | str | None = None,
    guess: Any = None,
    parameters: Mapping[str, Any] | None = None,
    tolerance: float | None = None,
    progress: Progress | None = None,
    time_limit: float | None = None,
    verify: bool = False,
    starts: int = 1,
    seed: int = 0,
) -> Solution:
    """Solve an optimal-control problem.

    Parameters
    ----------
    problem : Problem
    method : Collocation, Shooting, Both, or "direct", "indirect", "both"
        Direct collocation with automatic meshes by default. Shooting without a guess begins with collocation.
    guess : Solution, or for shooting also a dictionary of initial costates
        Initial guess. An earlier solution may have any mesh; its mesh and its arcs are used too.
    parameters : dictionary
        Values of the problem's parameters that differ from the declared ones.
    tolerance : float
        Bound on the estimated relative error; by default that of the method.
    progress : function of one string
        Called with one line for each mesh and each further attempt.
    time_limit : float
        Wall-clock seconds. At the limit the best solution so far is returned with the status ``TIME_LIMIT``.
    verify : bool
        Solve the last mesh of collocation again with IPOPT. The log has its objective; if it differs by more than the
        estimated error the status is ``FAILED``.
    starts : int
        Number of starts of collocation, in parallel processes: the guess, and others with varied durations, states and
        controls. The best solution is returned, with the distinct optima in ``optima``. Shooting starts from it.
    seed : int
        Random seed of the other starts. The same seed gives the same solution.

    Returns
    -------
    Solution
        With "both", the solution of shooting if the two methods agree; otherwise its status is not ``SOLVED``. Its
        ``comparison`` has both solutions, their differences and a verdict.

    Examples
    --------
    >>> from problems.classical.block_move import build
    >>> solution = solve(build())
    >>> round(solution.objective, 9)
    12.0
    """
    if not isinstance(problem, Problem):
        raise UsageError("solve: not a problem", got=type(problem).__name__, expected="a trajopt.Problem")
    chosen = _chosen(method)
    if tolerance is not None and not 0 < tolerance < 1:
        raise UsageError("tolerance", got=tolerance, expected="a number between 0 and 1")
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise UsageError("time_limit", got=time_limit, expected="a positive number of seconds")
    for name, value, least in (("starts", starts, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UsageError(name, got=repr(value), expected=f"an integer of at least {least}")
    deadline = UNLIMITED if time_limit is None else Deadline(time_limit)
    task = _Task(problem.finish(), parameters, tolerance, progress or _silent, deadline, starts, seed)
    if isinstance(chosen, Collocation):
        solution = task.directly(chosen, guess)
        return _verified(task, chosen, solution) if verify and solution.success else solution
    if verify:
        raise UsageError(
            "verify applies to collocation only", got=repr(method), expected="method None, 'direct' or Collocation(...)"
        )
    if isinstance(chosen, Both):
        return _both(task, chosen, guess)
    if guess is not None:
        if starts > 1:
            raise UsageError("starts applies to collocation only", got="a guess for shooting", expected="no guess, or starts=1")
        return task.indirectly(chosen, guess)
    return _from_collocation(task, chosen)


def _chosen(method: Method | str | None) -> Method:
    if method is None or method == "direct":
        return Collocation()
    if method == "indirect":
        return _shooting()
    if method == "both":
        return Both()
    if isinstance(method, (Collocation, Both)):
        return method
    from trajopt.indirect.shooting import Shooting

    if isinstance(method, Shooting):
        return method
    expected = ", ".join(f"'{name}'" for name in NAMES) + ", or Collocation(...), Shooting(...), Both(...)"
    raise UsageError("solve: unknown method", got=repr(method), expected=expected)


def _verified(task: _Task, method: Collocation, solution: Solution) -> Solution:
    """Return the solution, with status FAILED if IPOPT finds another optimum on the same mesh."""
    tolerance = getattr(method.backend, "tolerance", 1e-11)
    again = replace(task, starts=1).directly(replace(method, backend=Ipopt(tolerance=tolerance), max_passes=1), solution)
    scale = max(abs(solution.objective), 1e-12)
    difference = abs(again.objective - solution.objective) / scale
    line = f"verified by IPOPT: objective {again.objective:.12g}, relative difference {difference:.1e}"
    task.tell(line)
    log = (*solution.log, line)
    if difference <= max(1e-8, solution.error + again.error):
        return replace(solution, log=log)
    return replace(solution, status=Status.FAILED, log=log, explanation=("IPOPT finds another solution on the same mesh", line))


def _from_collocation(task: _Task, method: Shooting) -> Solution:
    """Shoot from the solution of collocation; return that solution if shooting is interrupted."""
    direct = task.directly(Collocation(), None)
    if direct.status not in (Status.SOLVED, Status.COARSE):
        return direct
    try:
        found = Confirming(task, Collocation(), method, float("inf")).run(direct)
    except KeyboardInterrupt:
        return _unconfirmed(direct, Status.INTERRUPTED, ())
    answer = found.comparison.indirect
    assert answer is not None
    if answer.status is Status.TIME_LIMIT:
        return _unconfirmed(direct, answer.status, answer.explanation)
    return replace(answer, log=(*answer.log, *found.log))


def _both(task: _Task, method: Both, guess: Any) -> Solution:
    """Solve by both methods and compare their solutions."""
    agreement = max(method.agreement, task.tolerance or 0.0)
    direct = task.directly(method.direct, guess)
    return _confirmed(task, method, direct, agreement)


def confirm(problem: Problem, direct: Solution, method: Both | None = None, time_limit: float | None = None) -> Solution:
    """Do what ``solve`` with both methods does after the solution of collocation, which is given."""
    deadline = UNLIMITED if time_limit is None else Deadline(time_limit)
    chosen = method or Both()
    return _confirmed(_Task(problem.finish(), None, None, _silent, deadline), chosen, direct, chosen.agreement)


def _confirmed(task: _Task, method: Both, direct: Solution, agreement: float) -> Solution:
    if direct.status not in (Status.SOLVED, Status.COARSE):
        return replace(direct, comparison=compare_methods(direct, None, agreement))
    try:
        found = Confirming(task, method.direct, method.indirect, agreement).run(direct)
    except KeyboardInterrupt:
        return _unconfirmed(direct, Status.INTERRUPTED, ())
    task.tell(found.comparison.line)
    answer = _answer(found.comparison)
    return replace(answer, log=(*answer.log, *found.log))


def _answer(comparison: Comparison) -> Solution:
    """Return the solution of shooting, with status FAILED unless the methods agree; that of collocation if not confirmed."""
    direct, indirect = comparison.direct, comparison.indirect
    assert indirect is not None
    log = (*direct.log, *indirect.log, comparison.line)
    if comparison.verdict is Verdict.NOT_CONFIRMED:
        unconfirmed = _unconfirmed(direct, indirect.status, indirect.explanation)
        return replace(unconfirmed, log=log, comparison=comparison)
    seconds = {key: value + direct.seconds.get(key, 0.0) for key, value in indirect.seconds.items()}
    answer = replace(indirect, log=log, seconds=seconds, comparison=comparison)
    if comparison.verdict is Verdict.AGREE:
        return answer
    return replace(answer, status=Status.FAILED, explanation=(comparison.verdict.value, comparison.line))


def _unconfirmed(direct: Solution, status: Status, why: tuple[str, ...]) -> Solution:
    """Return the solution of collocation with the status and the explanation of shooting."""
    head = "this is the solution of collocation; shooting did not confirm it" + (":" if why else "")
    return replace(direct, status=status, explanation=(head, *why))
