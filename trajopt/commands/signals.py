"""SIGINT, SIGTERM and SIGHUP: keep the best answer so far, say what was kept, end with 128 and the number of the signal.

From the first solved mesh on the bytes of the best answer are held ready, so that a signal has only to write them.
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
    from trajopt.solution import Solution

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 0.2  # seconds for the main thread, which may be in compiled code, before another thread writes the answer


class Stop:
    """The signal that came, if one did."""

    number: int = 0

    @property
    def name(self) -> str:
        return signal.Signals(self.number or signal.SIGINT).name

    def end_process(self) -> None:
        """End this process with the exit code that says so, where a signal came."""
        if self.number:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(128 + self.number)


class Keeper:
    """The progress of a solve: it shows lines, and holds the best answer so far ready to be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._show: Callable[[str], None] = lambda line: None
        self._finished: Callable[[Solution], Solution] = lambda solution: solution
        self._error = float("inf")
        self._content: bytes | None = None
        self._told = ""
        self._lock = threading.Lock()

    def follow(self, show: Callable[[str], None], finished: Callable[[Solution], Solution]) -> None:
        """Show lines by ``show``; ``finished`` completes an answer before it is kept."""
        self._show, self._finished = show, finished

    def __call__(self, line: str) -> None:
        self._show(line)

    def solved(self, make: Callable[[], Solution]) -> None:
        """The answer on one mesh; the one with the smallest estimated error is kept."""
        solution = make()
        if self._content is None or solution.error <= self._error:
            self.hold(solution)

    def hold(self, solution: Solution) -> None:
        """This answer is the one to keep."""
        from trajopt.netcdf import encode
        from trajopt.solution_files import groups_of

        content = encode(groups_of(self._finished(solution).without_form()))
        told = f"{solution.status.name.lower()}, objective {solution.objective:.9g}, estimated error {solution.error:.1e}"
        self._content, self._told, self._error = content, told, solution.error

    @property
    def ready(self) -> bool:
        return self._content is not None

    def write(self) -> None:
        """Write what is kept."""
        from trajopt.files import write_bytes

        write_bytes(self._path, self._content or b"")

    def end(self, number: int) -> None:
        """Write what is kept, say so, and end this process."""
        from trajopt.files import abandon_parts

        if not self._lock.acquire(blocking=False):  # the other thread is at it
            time.sleep(10.0)
        said, name = "", signal.Signals(number).name
        try:
            abandon_parts()
            self.write()
            said = f"interrupted by {name}: kept {self._path} ({self._told})"
        except BaseException as error:
            said = f"interrupted by {name}; the answer could not be kept: {error}"
        with suppress(OSError):
            os.write(2, (("\x1b[?25h" if os.isatty(2) else "") + said + "\n").encode("utf-8", "backslashreplace"))
        os._exit(128 + number)


_keeper: Keeper | None = None
_stop = Stop()


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Have the three signals end a command as Ctrl-C does; afterwards it is known which one came."""
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
    if _keeper is not None and _keeper.ready:
        _keeper.end(number)
    raise KeyboardInterrupt


@contextmanager
def keeping(keeper: Keeper | None) -> Iterator[None]:
    """While a solve runs and until its answer is written, a signal writes the best answer so far and ends the process."""
    global _keeper
    if keeper is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(reading, keeper), daemon=True)
    watcher.start()
    _keeper = keeper
    try:
        yield
    finally:
        _keeper = None
        signal.set_wakeup_fd(before)
        os.close(writing)
        watcher.join()
        os.close(reading)


def _watch(reading: int, keeper: Keeper) -> None:
    """The interpreter calls handlers in the main thread only, between two of its instructions; compiled code may take long."""
    while True:
        numbers = os.read(reading, 1)
        if not numbers:
            return
        if numbers[0] not in SIGNALS or signal.getsignal(numbers[0]) is not _stopped:
            continue
        time.sleep(PATIENCE)
        if keeper.ready and _keeper is keeper:
            keeper.end(numbers[0])
