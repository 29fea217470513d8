"""sweep: families of solves, each begun at its neighbour's answer. What is finished is kept, whatever becomes of the rest."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.catalogue import builder, named_problems
from trajopt.errors import FileError, TrajoptError, UsageError, suggest
from trajopt.family import Family, Member, word
from trajopt.files import make_folder
from trajopt.problem import Problem
from trajopt.solution import Solution, Status
from trajopt.solving import Method, Progress, solve
from trajopt.storage import load, plain_json

Build = Callable[..., Problem] | str
TABLE = "family.csv"  # in a sweep's folder


def sweep(
    build: Build,
    over: Mapping[str, Iterable[Any]],
    settings: Mapping[str, Any] | None = None,
    *,
    method: Method | str | None = None,
    tolerance: float | None = None,
    guess: Solution | None = None,
    chained: bool = True,
    folder: str | Path | None = None,
    again: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Family:
    """Solve a problem for every combination of values.

    One that fails is a row that says so, and does not stop the others. Ctrl-C ends the sweep; what was finished is returned.

    Parameters
    ----------
    build : function that returns a Problem, or its name, as in ``trajopt list`` or "./mine.py:build"
    over : dictionary of values
        Arguments of the function, or parameters of the problem, each with the values to try.
    settings : dictionary
        Other arguments or parameters, the same for all.
    method, tolerance
        As for ``solve``.
    guess : Solution
        An earlier answer to begin at, for instance the last one of a sweep in the other direction.
    chained : bool
        Along the last setting, begin each solve at the answer before it; if that fails, without. Otherwise each begins by itself,
        or at the guess.
    folder : path
        Where every answer is saved as soon as it is there, with a table. Answers that an earlier sweep left there are used, not
        solved for again, unless ``again``; those are told apart by their settings, not by what is in the function.
    executor : concurrent.futures.Executor
        Who solves: a pool of processes, or ``dask.distributed.Client(...).get_executor()`` for a cluster. Chains run side by
        side, and the answers are those of a sweep without it. The function must be one that the workers can import.
    progress : function of one string
        Told one line for each answer.

    Examples
    --------
    >>> from problems.classical.moon_lander import build
    >>> family = sweep(build, {"height": [5, 10, 20]})
    >>> family.success, family["tf"].round(3).tolist()
    (True, [2.776, 4.164, 6.209])
    """
    grid = {name: tuple(values) for name, values in over.items()}
    _check(build, grid, settings or {})
    points = [{**(settings or {}), **dict(zip(grid, values, strict=True))} for values in itertools.product(*grid.values())]
    length = len(list(grid.values())[-1]) if chained else 1
    chains = [range(start, start + length) for start in range(0, len(points), length)]
    run = _Run(build, points, method, tolerance, guess, None if folder is None else make_folder(Path(folder)), again)
    found: dict[int, Member] = {}
    try:
        for index, member in run.alone(chains) if executor is None else run.shared(chains, executor):
            more = {**found, index: member}
            run.keep(member, Family(grid, tuple(more[k] for k in sorted(more))))
            found = more  # only now: Ctrl-C while it is written leaves it out
            if progress is not None:
                progress(f"{len(found)} of {len(points)}: {_told(member, list(grid))}")
    except KeyboardInterrupt:
        if progress is not None:
            progress(f"interrupted after {len(found)} of {len(points)}")
    return Family(grid, tuple(found[k] for k in sorted(found)))


@dataclass(frozen=True, eq=False)
class _Run:
    """What all solves of a sweep share, and where their answers go."""

    build: Build
    points: Sequence[Mapping[str, Any]]
    method: Method | str | None
    tolerance: float | None
    guess: Solution | None
    folder: Path | None
    again: bool

    def alone(self, chains: Iterable[range]) -> Iterator[tuple[int, Member]]:
        """One after the other, here."""
        for chain in chains:
            guess = self.guess
            for index in chain:
                member = _finished(self.recalled(index) or _member(*self.task(index, guess)))
                yield index, member
                guess = member.solution if member.success else None

    def shared(self, chains: Iterable[range], executor: Executor) -> Iterator[tuple[int, Member]]:
        """The chains side by side, wherever the executor runs them."""
        pending: dict[Future[Member], range] = {}
        try:
            ready: list[tuple[range, Solution | None]] = [(chain, self.guess) for chain in chains]
            while ready or pending:
                for chain, guess in ready:
                    future: Future[Member] = Future()
                    recalled = self.recalled(chain[0])
                    if recalled is None:
                        future = executor.submit(_elsewhere, *self.task(chain[0], guess))
                    else:
                        future.set_result(recalled)
                    pending[future] = chain
                ready = []
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    chain, member = pending.pop(future), _result(future)
                    yield chain[0], member
                    if len(chain) > 1:
                        ready.append((chain[1:], member.solution if member.success else None))
        finally:
            for future in pending:
                future.cancel()

    def task(self, index: int, guess: Solution | None) -> tuple[Any, ...]:
        bare = None if guess is None else guess.without_form()
        return self.build, self.points[index], bare, self.method, self.tolerance

    def recalled(self, index: int) -> Member | None:
        """The answer that an earlier sweep left in the folder."""
        settings = self.points[index]
        if self.folder is None or self.again or not (self.folder / _file_name(settings)).is_file():
            return None
        try:
            solution = load(self.folder / _file_name(settings))
        except FileError:  # torn or foreign: solve again
            return None
        same = plain_json(solution.settings) == plain_json(settings)
        fine = solution.success and (self.tolerance is None or solution.tolerance <= self.tolerance)
        return Member(settings, solution, recalled=True) if same and fine else None

    def keep(self, member: Member, family: Family) -> None:
        if self.folder is None:
            return
        if member.solution is not None and not member.recalled:
            member.solution.save(self.folder / _file_name(member.settings))
        family.to_csv(self.folder / TABLE)


def _member(
    build: Build, settings: Mapping[str, Any], guess: Solution | None, method: Method | str | None, tolerance: float | None
) -> Member:
    """Solve for one; whatever goes wrong is said in its message."""
    try:
        problem, parameters = _instance(build, settings)
        answer = solve(problem, method, guess, parameters, tolerance)
        if guess is not None and not answer.success and answer.status is not Status.INTERRUPTED:
            plain = solve(problem, method, None, parameters, tolerance)
            answer = plain if plain.success else answer
    except TrajoptError as error:
        return Member(settings, None, str(error))
    except Exception as error:  # a person's own model may raise anything, and the others are still to come
        return Member(settings, None, f"{type(error).__name__}: {error}")
    source = build if isinstance(build, str) and build in named_problems() else ""
    message = "" if answer.success else "\n".join([answer.status.value, *answer.explanation])
    return Member(settings, replace(answer, source=source, settings=dict(settings)), message)


def _elsewhere(*task: Any) -> Member:
    """In another process: symbols do not travel."""
    member = _member(*task)
    return member if member.solution is None else replace(member, solution=member.solution.without_form())


def _result(future: Future[Member]) -> Member:
    try:
        return _finished(future.result())
    except Exception as error:
        raise UsageError(
            "the workers cannot solve this",
            got=f"{type(error).__name__}: {error}",
            hint='they must be able to import the function; its name, as in "./mine.py:build", will do',
        ) from error


def _finished(member: Member) -> Member:
    """The member, unless Ctrl-C ended its solve: that is for the whole sweep."""
    if member.solution is not None and member.solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return member


def _instance(build: Build, settings: Mapping[str, Any]) -> tuple[Problem, dict[str, Any]]:
    """The problem of these settings; those that the function does not take are parameters of the problem."""
    function = builder(build, "problem") if isinstance(build, str) else build
    taken = _arguments(function)
    own = {name: value for name, value in settings.items() if taken is None or name in taken}
    return function(**own), {name: value for name, value in settings.items() if name not in own}


def _arguments(function: Callable[..., Any]) -> list[str] | None:
    """The names of its arguments; None where it takes any."""
    parameters = inspect.signature(function).parameters.values()
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else [p.name for p in parameters]


def _check(build: Build, grid: Mapping[str, tuple[Any, ...]], settings: Mapping[str, Any]) -> None:
    """Raise for what would make every member fail."""
    if not grid:
        raise UsageError("a sweep needs something to sweep over", expected='as in {"mass": [60, 70, 80]}')
    for name, values in grid.items():
        if not values:
            raise UsageError(f"a sweep over '{name}' needs values", got="none")
        if name in settings:
            raise UsageError(f"'{name}' is both swept over and set")
    for name, values in {**grid, **{name: (value,) for name, value in settings.items()}}.items():
        if any(_not_finite(value) for value in values):
            raise UsageError(f"a value of '{name}' is not a finite number", got=", ".join(map(word, values)))
    function = builder(build, "problem") if isinstance(build, str) else build
    taken = _arguments(function)
    others = [name for name in (*grid, *settings) if taken is not None and name not in taken]
    if taken is not None and others:
        first = {**settings, **{name: values[0] for name, values in grid.items()}}
        problem = function(**{name: value for name, value in first.items() if name in taken})
        known = [*taken, *problem.parameters]
        for name in others:
            if name not in problem.parameters:
                raise UsageError(
                    f"'{problem.name}' has no argument or parameter '{name}'",
                    expected=", ".join(known) or "none",
                    hint=suggest(name, known),
                )


def _not_finite(value: Any) -> bool:
    if isinstance(value, (list, tuple, np.ndarray)):
        return any(_not_finite(item) for item in value)
    return isinstance(value, (float, np.floating)) and not np.isfinite(value)


def _file_name(settings: Mapping[str, Any]) -> str:
    """Of an answer in a sweep's folder.

    >>> _file_name({"height": 10.0, "target": (2, 3)})
    'height=10,target=(2,3).nc'
    """
    words = [f"{name}={word(value)}" for name, value in settings.items()]
    return re.sub(r"[^\w=.,()+-]", "_", ",".join(words)) + ".nc"


def _told(member: Member, names: Sequence[str]) -> str:
    where = ", ".join(f"{name} = {word(member.settings[name])}" for name in names)
    if member.solution is None:
        return f"{where}: {member.message.splitlines()[0]}"
    solution = member.solution
    how = "there already" if member.recalled else solution.status.name.lower()
    return f"{where}: {how}, objective {solution.objective:.9g}, {solution.seconds.get('total', 0.0):.2f} s"
