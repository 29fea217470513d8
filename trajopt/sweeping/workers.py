"""Rows of a sweep in separate processes. One that exits, crashes or exceeds a limit is recorded and
does not stop the others.

``run_row`` solves one row in such a process. Threads of the coordinating process call it for a
sweep on this machine, workers of a cluster call it on theirs: the processes, the limits and the
second attempts are the same.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trajopt.trajectory.solution import Solution

# of a row whose process crashes or is killed, which the machine may have caused; other failures are
# not repeated
ATTEMPTS = 2
STARTING = 120.0  # seconds until a process must be ready
GRACE = 1.0  # seconds after the time limit in which a row can return its best solution
LOOK = 0.1  # seconds between two checks of a process
CRASHED, EXITED, TIMEOUT, MEMORY, UNSAVED = "crashed", "exited", "timeout", "memory", "unsaved"


@dataclass(frozen=True)
class Statement:
    """The common part of all rows of a sweep.

    ``blob`` is the pickled function, or the name of one.
    """

    blob: bytes
    method: Any = None
    tolerance: float | None = None
    folder: str | None = None
    time_limit: float | None = None
    memory_limit: float | None = None  # bytes
    paths: tuple[str, ...] = ()  # search path of modules
    # whether files are on the disk before their rows are done; otherwise the coordinating process
    # sees to it
    synced: bool = True
    run: str = ""  # identifies the processes of one sweep


@dataclass(frozen=True)
class Task:
    """One row to solve, and its initial guess: a solution or its file."""

    settings: Mapping[str, Any]
    key: str
    file: str
    guess: Solution | str | None = None


@dataclass(frozen=True)
class RowOutcome:
    """The outcome of a row. It has the solution only if that is not saved to a file."""

    status: str
    message: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    solution: Solution | None = None
    began: float = 0.0
    ended: float = 0.0
    attempts: int = 1
    host: str = ""
    process: int = 0


class Unusable(Exception):
    """The processes cannot build the problem."""


def run_row(statement: Statement, task: Task) -> RowOutcome:
    """Solve a row in a separate process, which this thread reuses for the next row of the same
    statement.
    """
    began = time.time()
    outcome, attempts = _worker_of_this_thread(statement).run(task), 1
    while outcome.status == CRASHED and attempts < ATTEMPTS and statement.run not in _ended:
        outcome, attempts = _worker_of_this_thread(statement).run(task), attempts + 1
    return replace(outcome, began=began, ended=time.time(), attempts=attempts)


class Worker:
    """A process that solves rows sequentially."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in statement.paths),
        }
        environment.setdefault("OMP_NUM_THREADS", "1")  # parallelism is by processes
        self.process = subprocess.Popen(
            # -P: the same modules as here, not those of the working directory, such as a checkout
            # without the compiled core.
            [sys.executable, "-P", "-c", "from trajopt.sweeping.row_process import main; main()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, process_group=0,
        )  # fmt: skip
        _running.add(self)
        send(self._into, (os.getpid(), statement))
        answer = self._answer(STARTING, None)
        if answer is None or answer[0] != "ready":
            self.end()
            raise Unusable(answer[1] if answer else "the process ended before it was ready")

    @property
    def _into(self) -> int:
        assert self.process.stdin is not None
        return self.process.stdin.fileno()

    @property
    def _from(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def run(self, task: Task) -> RowOutcome:
        """Return the outcome of a row, also if its process crashes or is killed."""
        process = self.process.pid
        limit = self.statement.time_limit
        try:
            send(self._into, task)
            answer = self._answer(
                None if limit is None else limit + max(GRACE, 0.1 * limit),
                self.statement.memory_limit,
            )
        except (OSError, EOFError):
            answer = None
        except _Late:
            self.end()
            return RowOutcome(TIMEOUT, f"no solution within {limit:g} s", process=process)
        except _Large as error:
            self.end()
            return RowOutcome(
                MEMORY,
                f"more than {self.statement.memory_limit or 0:.0f} bytes of memory: {error}",
                process=process,
            )
        if answer is None:
            self.end()
            return RowOutcome(
                CRASHED, f"its process {_ending(self.process.returncode)}", process=process
            )
        outcome: RowOutcome = answer[1]
        return replace(outcome, process=process)

    def _answer(self, seconds: float | None, memory: float | None) -> Any:
        """Return the next message of the process; None if it ended."""
        began = time.monotonic()
        while True:
            if select.select([self._from], [], [], LOOK)[0]:
                try:
                    return receive(self._from)
                except (EOFError, OSError, pickle.UnpicklingError):
                    return None
            if seconds is not None and time.monotonic() - began > seconds:
                raise _Late
            if memory is not None and (used := resident(self.process.pid)) > memory:
                raise _Large(str(used))

    def end(self) -> None:
        """Kill the process."""
        _running.discard(self)
        with suppress(OSError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()


class _Late(Exception):
    pass


class _Large(Exception):
    pass


_here = threading.local()
_running: set[Worker] = set()
_ended: set[str] = set()  # finished sweeps


def _worker_of_this_thread(statement: Statement) -> Worker:
    worker: Worker | None = getattr(_here, "worker", None)
    if (
        worker is not None
        and worker.statement == statement
        and worker in _running
        and worker.process.poll() is None
    ):
        return worker
    if worker is not None:
        worker.end()
    worker = Worker(statement)
    _here.worker = worker
    return worker


def end_all(run: str) -> None:
    """Kill all processes of a sweep."""
    _ended.add(run)
    for worker in list(_running):
        if worker.statement.run == run:
            worker.end()


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended with exit code {code}"


def resident(process: int) -> int:
    """Return the resident memory of a process in bytes; 0 if unknown."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


# ---- messages: their length, then a pickle


def send(place: int, message: Any) -> None:
    """Write a message into a pipe."""
    content = pickle.dumps(message)
    _write(place, struct.pack(">Q", len(content)) + content)


def _write(place: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(place, view) :]


def receive(place: int) -> Any:
    """Read a message from a pipe; ``EOFError`` at its end."""
    (length,) = struct.unpack(">Q", _read(place, 8))
    return pickle.loads(_read(place, length))


def _read(place: int, length: int) -> bytes:
    parts = []
    while length:
        part = os.read(place, min(length, 2**20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def packed(build: Callable[..., Any] | str) -> bytes:
    """Pickle a function, or the name of one, for other processes; a function of a script is passed
    by name.
    """
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    if not isinstance(build, str) and getattr(build, "__module__", "") == "__main__" and script:
        name = getattr(build, "__qualname__", "")
        if name.isidentifier() and getattr(main, name, None) is build:
            return pickle.dumps(f"{Path(str(script)).resolve()}:{name}")
    return pickle.dumps(build)
