"""``solve``: the entry point for all methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from trajopt.arguments import Count, Fraction, Natural, Positive, checked_arguments, named_settings
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.collocation import LEAST_TOLERANCE, Collocation
from trajopt.direct.strategy import solve_directly
from trajopt.errors import Interrupted, UsageError, check_type, warn
from trajopt.guess.plain import guess_from_solution
from trajopt.nlp.backends import Ipopt
from trajopt.nlp.interior_point import Compiled
from trajopt.solving.both import Confirming
from trajopt.solving.progress import EachMesh, Progress, followed
from trajopt.statement.normal_form import NormalForm
from trajopt.statement.problem import Problem
from trajopt.trajectory.comparison import Comparison, Verdict, compare_methods
from trajopt.trajectory.solution import Solution, Status
from trajopt.trajectory.trajectory import Trajectories

if TYPE_CHECKING:
    # deferred: loading it takes half the time of a direct solve
    from trajopt.indirect.shooting import (
        Shooting,
    )


def _silent(line: str) -> None:
    pass


NAMES = ("direct", "indirect", "both")


def _shooting() -> Shooting:
    from trajopt.indirect.shooting import Shooting

    return Shooting()


@named_settings
@dataclass(frozen=True)
class Both:
    """Collocation, then shooting from its solution. Returns the solution of shooting if the two
    agree.

    Parameters
    ----------
    direct, indirect
        Settings of the two methods.
    agreement
        Largest relative difference of the objectives; replaced by ``tolerance`` of ``solve`` if
        that is larger.
    """

    direct: Collocation = field(
        default_factory=lambda: Collocation(tolerance=3e-9, backend=Compiled(tolerance=1e-13))
    )
    indirect: Shooting = field(default_factory=_shooting)
    agreement: Positive = 1e-6

    def __post_init__(self) -> None:
        from trajopt.indirect.shooting import Shooting

        check_type("Both: indirect", self.indirect, Shooting, "Shooting(...)")


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
            raise UsageError(
                "solve: invalid guess for collocation",
                got=type(guess).__name__,
                expected="an earlier Solution",
            )
        if self.tolerance is not None:
            method = replace(
                method,
                tolerance=self.tolerance,
                backend=method.backend.tightened(1e-3 * self.tolerance),
            )
        begin = None if guess is None else guess_from_solution(self.form, guess)
        if self.starts == 1:
            return solve_directly(
                self.form, method, begin, self.parameters, self.tell, self.deadline
            )
        from trajopt.solving.starts import from_all_starts  # deferred: most solves use one start

        return from_all_starts(
            self.form,
            partial(self._from_start, method, begin),
            self.starts,
            self.deadline,
            self.tell,
        )

    def _from_start(self, method: Collocation, guess: Trajectories | None, number: int) -> Solution:
        """Solve from the given guess if the number is 0, otherwise from a varied guess."""
        from trajopt.guess.varied import varied_guess

        values = self.form.parameter_values(self.parameters)
        varied = varied_guess(self.form, values, (self.seed, number)) if number else None
        return solve_directly(
            self.form,
            method,
            None if number else guess,
            self.parameters,
            _silent,
            self.deadline,
            varied,
        )

    def with_form(self, form: NormalForm) -> _Task:
        return replace(self, form=form)

    def indirectly(self, method: Shooting, guess: Any) -> Solution:
        method = method if self.tolerance is None else replace(method, tolerance=self.tolerance)
        self.tell("shooting")
        answer = method.solve(self.form, guess, self.parameters, self.deadline, self.tell)
        self.tell(f"shooting: {answer.status.name.lower()}, objective {answer.objective:.12g}")
        return answer


@checked_arguments
def solve(
    problem: Problem,
    method: Method | str | None = None,
    guess: Any = None,
    parameters: Mapping[str, Any] | None = None,
    tolerance: Fraction | None = None,
    progress: Progress | bool | None = None,
    time_limit: Positive | None = None,
    verify: bool = False,
    starts: Count = 1,
    seed: Natural = 0,
    each_mesh: EachMesh | None = None,
) -> Solution:
    """Solve an optimal-control problem.

    Parameters
    ----------
    problem : Problem
    method : Collocation, Shooting, Both, or "direct", "indirect", "both"
        Direct collocation with automatic meshes by default. Shooting without a guess begins with
        collocation.
    guess : Solution, or for shooting also a dictionary of initial costates
        Initial guess. An earlier solution may have any mesh; its mesh and its arcs are used too.
    parameters : dictionary
        Values of the problem's parameters that differ from the declared ones.
    tolerance : float
        Bound on the estimated relative error; by default that of the method.
    progress : function of one string, or bool
        A function is called with one line for each mesh and each further attempt; True prints the
        lines to standard error. By default one line is shown at a terminal or in a notebook while
        the solve takes longer than a second; False or the environment variable
        ``TRAJOPT_PROGRESS=0`` shows nothing. The logger ``trajopt`` has every line with level INFO.
    time_limit : float
        Wall-clock seconds. At the limit the best solution so far is returned with the status
        ``TIME_LIMIT``.
    verify : bool
        Solve the last mesh of collocation again with IPOPT. The log has its objective; if it
        differs by more than the estimated error the status is ``FAILED``.
    starts : int
        Number of starts of collocation, in parallel processes: the guess, and others with varied
        durations, states and controls. The best solution is returned, with the distinct optima in
        ``optima``. Shooting starts from it.
    seed : int
        Random seed of the other starts. The same seed gives the same solution.
    each_mesh : function of a Solution
        Called with the solution on each mesh of collocation, whose status is ``INTERRUPTED``.

    Raises
    ------
    Interrupted
        On Ctrl-C, a ``KeyboardInterrupt``; its ``solution`` is the best one so far.

    Returns
    -------
    Solution
        With "both", the solution of shooting if the two methods agree; otherwise its status is not
        ``SOLVED``. Its ``comparison`` has both solutions, their differences and a verdict.

    Examples
    --------
    >>> from problems.classical.block_move import build
    >>> solution = solve(build())
    >>> round(solution.objective, 9)
    12.0
    """
    chosen = _chosen(method)
    if tolerance is not None and tolerance < LEAST_TOLERANCE:
        raise UsageError(
            "solve: tolerance",
            got=repr(tolerance),
            expected=f"at least {LEAST_TOLERANCE:g}",
            hint="no mesh brings the rounding of double precision below that",
        )
    if problem.objective is None:
        warn(
            f"problem '{problem.name}' has no objective",
            got="any feasible trajectory solves it",
            expected="ocp.minimize(...) or ocp.maximize(...)",
            hint="ocp.minimize(0) says that any feasible trajectory is meant",
        )
    deadline = UNLIMITED if time_limit is None else Deadline(time_limit)
    with followed(problem.name, progress, each_mesh) as tell:
        task = _Task(
            problem.finish().at(parameters), parameters, tolerance, tell, deadline, starts, seed
        )
        solution = _by_method(task, chosen, guess, verify)
    if solution.status is Status.INTERRUPTED:
        raise Interrupted(solution)
    return solution


def _by_method(task: _Task, chosen: Method, guess: Any, verify: bool) -> Solution:
    if isinstance(chosen, Collocation):
        solution = task.directly(chosen, guess)
        return _verified(task, chosen, solution) if verify and solution.success else solution
    if verify:
        raise UsageError(
            "verify applies to collocation only",
            got=type(chosen).__name__,
            expected="method None, 'direct' or Collocation(...)",
        )
    if isinstance(chosen, Both):
        agreement = max(chosen.agreement, task.tolerance or 0.0)
        return _confirmed(task, chosen, task.directly(chosen.direct, guess), agreement)
    if guess is not None:
        if task.starts > 1:
            raise UsageError(
                "starts applies to collocation only",
                got="a guess for shooting",
                expected="no guess, or starts=1",
            )
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
    expected = (
        ", ".join(f"'{name}'" for name in NAMES) + ", or Collocation(...), Shooting(...), Both(...)"
    )
    raise UsageError("solve: unknown method", got=repr(method), expected=expected)


def _verified(task: _Task, method: Collocation, solution: Solution) -> Solution:
    """Return the solution, with status FAILED if IPOPT finds another optimum on the same mesh."""
    again = replace(task, starts=1).directly(
        replace(method, backend=Ipopt(tolerance=method.backend.tolerance), max_passes=1), solution
    )
    scale = max(abs(solution.objective), 1e-12)
    difference = abs(again.objective - solution.objective) / scale
    line = (
        f"verified by IPOPT: objective {again.objective:.12g}, relative difference {difference:.1e}"
    )
    task.tell(line)
    log = (*solution.log, line)
    if difference <= max(1e-8, solution.error + again.error):
        return replace(solution, log=log)
    return replace(
        solution,
        status=Status.FAILED,
        log=log,
        explanation=("IPOPT finds another solution on the same mesh", line),
    )


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
    if answer.status in (Status.TIME_LIMIT, Status.WORK_LIMIT):
        return _unconfirmed(direct, answer.status, answer.explanation)
    return replace(answer, log=(*answer.log, *found.log))


def confirm(
    problem: Problem, direct: Solution, method: Both | None = None, time_limit: float | None = None
) -> Solution:
    """Do what ``solve`` with both methods does after the solution of collocation,
    which is given.
    """
    deadline = UNLIMITED if time_limit is None else Deadline(time_limit)
    chosen = method or Both()
    return _confirmed(
        _Task(problem.finish().at(), None, None, _silent, deadline),
        chosen,
        direct,
        chosen.agreement,
    )


def _confirmed(task: _Task, method: Both, direct: Solution, agreement: float) -> Solution:
    """Shoot from the solution of collocation and compare both."""
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
    """Return the solution of shooting, with status FAILED unless the methods agree; that of
    collocation if not confirmed.
    """
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
    return replace(
        answer, status=Status.FAILED, explanation=(comparison.verdict.value, comparison.line)
    )


def _unconfirmed(direct: Solution, status: Status, why: tuple[str, ...]) -> Solution:
    """Return the solution of collocation with the status and the explanation of shooting."""
    head = "this is the solution of collocation; shooting did not confirm it" + (":" if why else "")
    return replace(direct, status=status, explanation=(head, *why))
