"""SIGINT, SIGTERM and SIGHUP: write the best solution so far, print its file name, exit with 128 +
the signal number.

From the first solved mesh on, the encoded best solution is held in memory, so that a signal handler
only writes it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.trajectory.solution import Solution

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HANDLER_DELAY = (
    0.2  # seconds until another thread writes the solution, if the main thread is in compiled code
)


class Stop:
    """The signal that was received, if any."""

    number: int = 0

    @property
    def name(self) -> str:
        return signal.Signals(self.number or signal.SIGINT).name

    def end_process(self) -> None:
        """Exit with 128 + the signal number, if a signal was received."""
        if self.number:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(128 + self.number)


class BestSolution:
    """Progress callback of a solve that holds the best solution so far, encoded for writing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._show: Callable[[str], None] = lambda line: None
        self._finished: Callable[[Solution], Solution] = lambda solution: solution
        self._error = float("inf")
        self._content: bytes | None = None
        self._description = ""
        self._lock = threading.Lock()

    def follow(self, show: Callable[[str], None], finished: Callable[[Solution], Solution]) -> None:
        """Print lines by ``show``; ``finished`` completes a solution before it is encoded."""
        self._show, self._finished = show, finished

    def __call__(self, line: str) -> None:
        self._show(line)

    def solved(self, make: Callable[[], Solution]) -> None:
        """Take the solution on one mesh; the one with the smallest estimated error is held."""
        solution = make()
        if self._content is None or solution.error <= self._error:
            self.hold(solution)

    def hold(self, solution: Solution) -> None:
        """Hold this solution."""
        from trajopt.files.netcdf import encode
        from trajopt.files.solution_files import groups_of

        content = encode(groups_of(self._finished(solution).without_form()))
        description = (
            f"{solution.status.name.lower()}, objective {solution.objective:.9g}, "
            f"estimated error {solution.error:.1e}"
        )
        self._content, self._description, self._error = content, description, solution.error

    @property
    def ready(self) -> bool:
        return self._content is not None

    def write(self) -> None:
        """Write the held solution."""
        from trajopt.files.atomic import write_bytes

        write_bytes(self._path, self._content or b"")

    def end(self, number: int) -> None:
        """Write the held solution, print its file name, and exit."""
        from trajopt.files.atomic import abandon_parts

        if not self._lock.acquire(blocking=False):  # the other thread is writing
            time.sleep(10.0)
        said, name = "", signal.Signals(number).name
        try:
            abandon_parts()
            self.write()
            said = f"interrupted by {name}: wrote {self._path} ({self._description})"
        except BaseException as error:
            said = f"interrupted by {name}; the solution could not be written: {error}"
        with suppress(OSError):
            os.write(
                2,
                (("\x1b[?25h" if os.isatty(2) else "") + said + "\n").encode(
                    "utf-8", "backslashreplace"
                ),
            )
        os._exit(128 + number)


_best: BestSolution | None = None
_stop = Stop()


def end_at_once() -> None:
    """Have the three signals end this process with the right exit code; for the time before a
    command begins.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def ignore() -> None:
    """Let no signal change the exit code of a command that has finished; Python takes a while to
    unload its libraries.
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _end(number: int, frame: FrameType | None) -> None:
    with suppress(OSError):
        os.write(2, f"interrupted by {signal.Signals(number).name}\n".encode())
    os._exit(128 + number)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Handle the three signals like Ctrl-C, and record which one was received."""
    global _stop
    _stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield _stop
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # nohup, and background jobs of a shell
            signal.signal(number, _stopped)
    try:
        yield _stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stopped(number: int, frame: FrameType | None) -> None:
    _stop.number = number
    if _best is not None and _best.ready:
        _best.end(number)
    raise KeyboardInterrupt


@contextmanager
def saving_on_signals(best: BestSolution | None) -> Iterator[None]:
    """Until the block ends, a signal writes the best solution so far and ends the process."""
    global _best
    if best is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(reading, best), daemon=True)
    watcher.start()
    _best = best
    try:
        yield
    finally:
        _best = None
        signal.set_wakeup_fd(before)
        os.close(writing)
        watcher.join()
        os.close(reading)


def _watch(reading: int, best: BestSolution) -> None:
    """Write the solution from a second thread: Python runs handlers in the main thread only, after
    compiled code returns.
    """
    while True:
        numbers = os.read(reading, 1)
        if not numbers:
            return
        if numbers[0] not in SIGNALS or signal.getsignal(numbers[0]) is not _stopped:
            continue
        time.sleep(HANDLER_DELAY)
        if best.ready and _best is best:
            best.end(numbers[0])
