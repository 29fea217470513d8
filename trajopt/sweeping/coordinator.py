"""sweep: families of solves, each started from its neighbour's solution.

Finished rows are kept if others fail.
"""

from __future__ import annotations

import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from trajopt.arguments import named_arguments
from trajopt.catalogue import builder, named_problems
from trajopt.errors import FileError, SweepError, TrajoptError, UsageError
from trajopt.files.atomic import make_folder, remove_leftovers, sync_files, write_text
from trajopt.files.storage import save
from trajopt.solving.methods import Method, solve
from trajopt.solving.progress import Progress
from trajopt.statement.problem import Problem
from trajopt.sweeping.cluster import is_scheduler_lost, is_worker_lost, unavailable_reason
from trajopt.sweeping.family import Family, Member, csv_table, figures_of
from trajopt.sweeping.journal import Journal, Row, locked
from trajopt.sweeping.plan import (
    Build,
    Limits,
    Plan,
    arguments_of,
    make_plan,
    message_of,
    survey_of,
    unusable,
)
from trajopt.sweeping.rows import KEY, word
from trajopt.sweeping.workers import (
    CRASHED,
    EXITED,
    MEMORY,
    UNSAVED,
    RowOutcome,
    Statement,
    Task,
    Unusable,
    end_all,
    run_row,
)
from trajopt.trajectory.solution import Solution, Status

TABLE = "family.csv"  # in a sweep's folder
STATUS = b"status"  # a column of it
FLUSH = 0.3  # seconds: longest time from the file of a finished row to its entry in the journal
GO_ON = "the same command goes on from here, where a folder was given"
AHEAD = 100  # rows that are submitted to an executor in advance


@named_arguments
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
    retry_failed: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    row_time_limit: float | None = None,
    memory_limit: float | None = None,
    progress: Progress | None = None,
) -> Family:
    """Solve a problem for every combination of values.

    One that fails is a row that says so, and does not stop the others. Ctrl-C ends the sweep; what
    was finished is returned. Where the sweep itself cannot go on, the ``SweepError`` has what was
    finished as its ``family``.

    Parameters
    ----------
    build : function that returns a Problem, or its name, as in ``trajopt list`` or
    "./mine.py:build"
    over : dictionary of values
        Arguments of the function, or parameters of the problem, each with the values to try.
    settings : dictionary
        Other arguments or parameters, the same for all.
    method, tolerance
        As for ``solve``.
    guess : Solution
        An earlier answer to begin at, for instance the last one of a sweep in the other direction.
    chained : bool
        Along the last setting, begin each solve at the answer before it; if that fails, without.
        Otherwise each begins by itself, or at the guess.
    folder : path
        Where every answer is saved as soon as it is there, with a journal (``sweep.sqlite``) and a
        table (``family.csv``). Rows that an earlier sweep finished there are used, not solved for
        again, unless ``again``: those of the same function and source, settings, method, tolerance,
        guess and version. Rows that failed are solved again only with ``retry_failed``.
    workers : int
        Solve in so many processes: a row that exits, crashes or is killed then ends alone. Without
        it rows are solved in this process.
    executor : concurrent.futures.Executor
        Who looks after these processes instead, as ``dask.distributed.Client(...).get_executor()``
        for a cluster. The answers are those of a sweep without it. The function must be one that
        other processes can import.
    row_time_limit : float
        Seconds for each row.
    memory_limit : float
        Bytes for each row; needs workers or an executor.
    progress : function of one string
        Told one line for each answer.

    Examples
    --------
    >>> from problems.classical.moon_lander import build
    >>> family = sweep(build, {"height": [5, 10, 20]})
    >>> family.success, family["tf"].round(3).tolist()
    (True, [2.776, 4.164, 6.209])
    """
    limits = Limits(row_time_limit, memory_limit, workers)
    limits.check(executor is not None)
    plan = make_plan(build, over, settings or {}, method, tolerance, guess, chained)
    kept = None if folder is None else _own_folder(Path(folder))
    statement = plan.statement(kept, limits, synced=workers is None or executor is not None)
    with ExitStack() as stack:
        journal = None if kept is None else stack.enter_context(_journal(kept))
        run = _Run(plan, statement, journal, progress or (lambda line: None))
        run.recall(again, retry_failed)
        try:
            rows = (
                run.here()
                if workers is None and executor is None
                else run.solve_in_workers(workers or 0, executor)
            )
            for index, outcome in rows:
                run.take(index, outcome)
        except KeyboardInterrupt:
            run.flush()
            run.tell(f"interrupted after {len(run.found)} of {len(plan.points)}")
        except UsageError:
            run.flush()
            raise
        except TrajoptError as error:
            with suppress(FileError):  # the cause may be a full disk
                run.finish()
            family = run.family
            said = {"got": error.got, "expected": error.expected, "hint": error.hint}
            raise SweepError(error.what, family=family, **said) from error  # type: ignore[arg-type]
        run.finish()
        return run.family


def _own_folder(folder: Path) -> Path:
    """Create the folder of a sweep; raise ``FileError`` where its table would replace another."""
    made = make_folder(folder)
    table = made / TABLE
    if table.is_file() and STATUS not in table.read_bytes().split(b"\n", 1)[0].split(b","):
        raise FileError(
            f"the folder '{folder}' has a file '{TABLE}' that no sweep wrote",
            got=f"no column '{STATUS.decode()}'",
            expected="a new folder, or that of an earlier sweep",
        )
    return made


@contextmanager
def _journal(folder: Path) -> Iterator[Journal]:
    with locked(folder):
        remove_leftovers(folder)
        journal = Journal(folder)
        try:
            yield journal
        finally:
            journal.close()


@dataclass(eq=False)
class _Run:
    """A running sweep: finished rows, and those that are not yet in the journal."""

    plan: Plan
    statement: Statement
    journal: Journal | None
    tell: Progress
    found: dict[int, Member] = field(default_factory=dict)
    # with the line that reports each
    unwritten: list[tuple[Row, str]] = field(default_factory=list)
    flushed: float = field(default_factory=time.monotonic)
    changed: bool = False

    @property
    def folder(self) -> Path | None:
        return None if self.journal is None else self.journal.folder

    @property
    def family(self) -> Family:
        return Family(self.plan.grid, tuple(self.found[k] for k in sorted(self.found)))

    # ---- rows of earlier sweeps

    def recall(self, again: bool, retry_failed: bool) -> None:
        """Reuse rows that an earlier sweep finished in the folder."""
        if self.journal is None:
            return
        for remark in self.journal.remarks:
            self.tell(remark)
        facts = {
            "statement": self.plan.shared,
            "total": len(self.plan.points),
            "began": time.time(),
            "over": list(self.plan.grid),
        }
        self.journal.write([], facts)
        if again:
            return
        survey = survey_of(self.plan, self.journal.folder, self.journal.rows(), retry_failed)
        self.journal.write(survey.adopted)
        self.changed = bool(survey.adopted)
        self.found |= {
            index: self._member(index, row, recalled=True) for index, row in survey.there.items()
        }
        unsolved = sum(not member.success for member in self.found.values())
        if self.found:
            but = (
                f", {unsolved} of them not solved (retry_failed, --retry-failed: once more)"
                if unsolved
                else ""
            )
            self.tell(f"{len(self.found)} of {len(self.plan.points)} are there already{but}")
        if survey.stale:
            self.tell(
                f"{survey.stale} rows in this folder answer another statement of the problem and "
                "are solved again"
            )

    # ---- solving

    def here(self) -> Iterator[tuple[int, RowOutcome]]:
        """Solve rows one after the other in this process."""
        model = model_of(self.plan.build)
        for chain in self.plan.chains:
            guess = self.plan.guess
            for index in chain:
                if index in self.found:
                    guess = (
                        self.found[index].solution
                        if self.plan.chained and self.found[index].success
                        else None
                    )
                    continue
                outcome, solution = solve_row(model, self.statement, self._task(index, guess))
                yield (
                    index,
                    replace(
                        outcome, solution=None if self.folder else solution, process=os.getpid()
                    ),
                )
                guess = solution if outcome.status == "solved" and self.plan.chained else None

    def solve_in_workers(
        self, workers: int, executor: Executor | None
    ) -> Iterator[tuple[int, RowOutcome]]:
        """Solve chains in parallel: by threads that each hold a process, or by the workers of the
        executor.
        """
        pool = executor or ThreadPoolExecutor(workers)
        ready = deque((chain, self.plan.guess) for chain in self.plan.chains)
        pending: dict[Future[RowOutcome], tuple[range, int]] = {}
        done: SimpleQueue[Future[RowOutcome]] = SimpleQueue()
        try:
            while ready or pending:
                while ready and len(pending) < AHEAD:
                    self._submit(pool, *ready.popleft(), pending, done)
                for future in _finished(done) if pending else ():
                    chain, index = pending.pop(future)
                    outcome = _result(future)
                    yield index, outcome
                    rest = chain[chain.index(index) + 1 :]
                    if rest:
                        good = outcome.status == "solved" and self.plan.chained
                        guess: Any = outcome.solution or self.plan.files[index]
                        ready.append((rest, guess if good else None))
                self.flush(only_when_due=True)
                lost = None if executor is None else unavailable_reason(executor)
                if lost is not None:
                    raise TrajoptError(lost, hint=GO_ON)
        finally:
            for future in pending:
                future.cancel()
            if executor is None:
                end_all(self.statement.run)
                pool.shutdown(wait=True, cancel_futures=True)

    def _submit(
        self,
        pool: Executor,
        chain: range,
        guess: Any,
        pending: dict[Future[RowOutcome], tuple[range, int]],
        done: SimpleQueue[Future[RowOutcome]],
    ) -> None:
        """The first unfinished row of a chain."""
        for index in chain:
            if index in self.found:
                guess = self._neighbour(index)
                continue
            future = pool.submit(run_row, self.statement, self._task(index, guess))
            pending[future] = (chain, index)
            future.add_done_callback(done.put)
            return

    def _task(self, index: int, guess: Solution | str | None) -> Task:
        bare = guess.without_form() if isinstance(guess, Solution) else guess
        return Task(self.plan.points[index], self.plan.keys[index], self.plan.files[index], bare)

    def _neighbour(self, index: int) -> Solution | str | None:
        """The guess of the row after a finished one."""
        member = self.found[index]
        if not (self.plan.chained and member.success):
            return None
        return member.held if member.path is None else self.plan.files[index]

    # ---- writing

    def take(self, index: int, outcome: RowOutcome) -> None:
        """Record a finished row: its file exists, its entry in the journal follows."""
        if outcome.status == UNSAVED:
            raise FileError(
                outcome.message.splitlines()[0],
                got="\n".join(outcome.message.splitlines()[1:]).strip() or None,
            )
        row = self._row(index, outcome)
        member = self._member(index, row, outcome.solution)
        line = self._line(member)
        if self.journal is None:
            self.found[index] = member
            self.tell(line)
            return
        self.unwritten.append((row, line))
        self.flush(only_when_due=outcome.process != os.getpid())
        self.found[index] = member  # last, so that Ctrl-C during the write leaves it out

    def flush(self, only_when_due: bool = False) -> None:
        """Write finished rows into the journal in one transaction, and report them."""
        if (
            self.journal is None
            or not self.unwritten
            or (only_when_due and time.monotonic() - self.flushed < FLUSH)
        ):
            return
        rows = list(self.unwritten)
        if not self.statement.synced:  # many files together, while the workers continue
            sync_files(self.journal.folder, [row.file for row, _ in rows if row.size >= 0])
        self.journal.write(row for row, _ in rows)
        del self.unwritten[: len(rows)]
        self.changed = True
        self.flushed = time.monotonic()
        for _, line in rows:
            self.tell(line)

    def finish(self) -> None:
        """The table in the folder: this family, and rows of other sweeps in the journal."""
        self.flush()
        if (
            self.journal is None
            or self.folder is None
            or not (self.changed or not (self.folder / TABLE).is_file())
        ):
            return
        own = {self.plan.files[index] for index in self.found}
        others = [row for file, row in self.journal.rows().items() if file not in own]
        mark = any(row.statement != self.plan.shared for row in others)
        members = [
            ({"statement": self.plan.shared[:8]} if mark else {}) | m.row
            for m in self.family.members
        ]
        rest = [
            ({"statement": row.statement[:8]} if mark else {}) | _table_row(row) for row in others
        ]
        write_text(self.folder / TABLE, csv_table([*members, *rest]))

    def _row(self, index: int, outcome: RowOutcome) -> Row:
        names = (
            "status",
            "message",
            "figures",
            "units",
            "began",
            "ended",
            "attempts",
            "host",
            "process",
        )
        about = {name: getattr(outcome, name) for name in names}
        row = Row(
            self.plan.files[index],
            self.plan.keys[index],
            self.plan.shared,
            self.plan.points[index],
            **about,
        )
        return row if self.folder is None else row.with_file(self.folder)

    def _member(
        self, index: int, row: Row, held: Solution | None = None, recalled: bool = False
    ) -> Member:
        path = None if self.folder is None or row.size < 0 else self.folder / row.file
        return Member(
            self.plan.points[index],
            row.status,
            row.figures,
            row.units,
            row.message,
            recalled,
            path,
            held,
        )

    def _line(self, member: Member) -> str:
        where = ", ".join(f"{name} = {word(member.settings[name])}" for name in self.plan.grid)
        count = f"{len(self.found) + 1} of {len(self.plan.points)}: {where}"
        if "objective" not in member.figures:
            return f"{count}: {member.status}: {(member.message.splitlines() or [''])[0]}"
        return (
            f"{count}: {member.status}, objective {member.figures['objective']:.9g}, "
            f"{member.figures['seconds']:.2f} s"
        )


def _table_row(row: Row) -> dict[str, Any]:
    return Member(row.settings, row.status, row.figures, row.units, row.message).row


@dataclass(frozen=True)
class Model:
    """A function that builds a problem, found once for all rows."""

    function: Callable[..., Problem]
    arguments: tuple[str, ...] | None  # None if it takes any
    source: str  # its name in the catalogue


def model_of(build: Build) -> Model:
    """The builder itself, or that of a name in the catalogue."""
    function = builder(build, "problem") if isinstance(build, str) else build
    taken = arguments_of(function)
    source = build if isinstance(build, str) and build in named_problems() else ""
    return Model(function, None if taken is None else tuple(taken), source)


def solve_row(model: Model, statement: Statement, task: Task) -> tuple[RowOutcome, Solution | None]:
    """Solve one row; errors become its message."""
    began = time.time()
    outcome, solution = _solved(model, statement, task)
    return replace(outcome, began=began, ended=time.time(), host=platform.node()), solution


def _solved(model: Model, statement: Statement, task: Task) -> tuple[RowOutcome, Solution | None]:
    try:
        problem, parameters = _instance(model, task.settings)
        answer = _answer(problem, parameters, statement, task)
    except (
        SystemExit
    ) as error:  # it would end the sweep, or the caller's program, without a message
        return RowOutcome(EXITED, f"the model called sys.exit({error.code!r})"), None
    except MemoryError as error:
        return RowOutcome(MEMORY, f"MemoryError: {error}"), None
    except TrajoptError as error:
        return RowOutcome("error", str(error)), None
    except Exception as error:  # a user's model may raise anything; the other rows continue
        return RowOutcome(
            MEMORY if "bad_alloc" in str(error) else "error", f"{type(error).__name__}: {error}"
        ), None
    options = {**answer.options, KEY: task.key}
    answer = replace(answer, source=model.source, settings=dict(task.settings), options=options)
    if statement.folder is not None:
        try:
            save(answer, Path(statement.folder) / task.file, statement.synced)
        except FileError as error:
            return RowOutcome(UNSAVED, f"{error.what}\n{error.got or ''}"), None
    figures, units = figures_of(answer)
    bare = answer.without_form() if statement.folder is None else None
    return RowOutcome(answer.status.name.lower(), message_of(answer), figures, units, bare), answer


def _answer(
    problem: Problem, parameters: Mapping[str, Any], statement: Statement, task: Task
) -> Solution:
    """Solve from the neighbour's solution; if that fails, without it."""
    end = None if statement.time_limit is None else time.monotonic() + statement.time_limit
    limit: dict[str, Any] = (
        {} if statement.time_limit is None else {"time_limit": statement.time_limit}
    )
    answer = solve(
        problem, statement.method, task.guess, parameters, statement.tolerance, False, **limit
    )
    if task.guess is None or answer.success or answer.status is Status.TIME_LIMIT:
        return answer
    if end is not None:
        limit["time_limit"] = max(end - time.monotonic(), 1e-3)
    plain = solve(problem, statement.method, None, parameters, statement.tolerance, False, **limit)
    return plain if plain.success else answer


def _finished(done: SimpleQueue[Future[RowOutcome]]) -> Iterator[Future[RowOutcome]]:
    """The finished rows, or the next one to finish within ``FLUSH`` seconds."""
    with suppress(Empty):
        yield done.get(timeout=FLUSH)
        while True:
            yield done.get_nowait()


def _result(future: Future[RowOutcome]) -> RowOutcome:
    try:
        return future.result()
    except Unusable as error:
        raise unusable(str(error)) from error
    except Exception as error:
        if is_scheduler_lost(error):
            raise TrajoptError(
                "the scheduler of the cluster has gone", got=type(error).__name__, hint=GO_ON
            ) from error
        if is_worker_lost(error):
            return RowOutcome(CRASHED, f"the workers that tried to solve it died: {error}")
        raise unusable(f"{type(error).__name__}: {error}") from error


def _instance(model: Model, settings: Mapping[str, Any]) -> tuple[Problem, dict[str, Any]]:
    """The problem of these settings; settings that the builder does not take are parameters of the
    problem.
    """
    own = {
        name: value
        for name, value in settings.items()
        if model.arguments is None or name in model.arguments
    }
    return model.function(**own), {
        name: value for name, value in settings.items() if name not in own
    }
