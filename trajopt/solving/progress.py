"""What a person sees while a solve runs, and what a program can follow.

Every line of progress is a record of the logger ``trajopt`` with level INFO. Where a person looks,
at a terminal or in a notebook, one line is shown and replaced while the solve takes longer than a
second, and removed at the end.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from trajopt.errors import UsageError
from trajopt.trajectory.solution import Solution

LOG = logging.getLogger("trajopt")
DELAY = 1.0  # seconds before the first line
EVERY = 0.5  # seconds between lines
WIDTH = 100
SILENT = "TRAJOPT_PROGRESS"  # of the environment: 0 shows nothing

Progress = Callable[[str], None]
EachMesh = Callable[[Solution], None]


class Follower:
    """Passes lines of progress on, and solutions on one mesh to those who ask for them."""

    def __init__(self, show: Progress, each_mesh: EachMesh | None) -> None:
        self._show = show
        inner = getattr(show, "solved", None)
        if each_mesh is not None or inner is not None:
            self.solved = lambda make: self._pass_on(make, inner, each_mesh)

    def __call__(self, line: str) -> None:
        LOG.info(line)
        self._show(line)

    @staticmethod
    def _pass_on(make: Callable[[], Solution], inner: Any, each_mesh: EachMesh | None) -> None:
        if inner is not None:
            inner(make)
        if each_mesh is not None:
            each_mesh(make())


@contextmanager
def followed(
    name: str, progress: Progress | bool | None, each_mesh: EachMesh | None
) -> Iterator[Follower]:
    """Yield the function that takes lines of progress.

    ``progress`` is a function of one line, True for lines on standard error, False for none; with
    None one line is shown where a person looks.
    """
    if callable(progress):
        yield Follower(progress, each_mesh)
    elif progress is True:
        yield Follower(lambda line: print(f"  {line}", file=sys.stderr, flush=True), each_mesh)
    elif progress is False or (progress is None and not _somebody_looks()):
        yield Follower(lambda line: None, each_mesh)
    elif progress is None:
        with _live(f"solving {name}") as show:
            yield Follower(show, each_mesh)
    else:
        raise UsageError(
            "solve: progress",
            got=repr(progress),
            expected="True, False or a function of one line",
            hint="progress=print",
        )


def _somebody_looks() -> bool:
    """True at a terminal and in a notebook, unless the environment or the start of a worker process
    says otherwise.
    """
    if os.environ.get(SILENT) == "0" or threading.current_thread() is not threading.main_thread():
        return False
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
            return True
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


@contextmanager
def _live(what: str) -> Iterator[Progress]:
    """Show one line that another thread replaces, from ``DELAY`` seconds on."""
    begun, ended, last = time.perf_counter(), threading.Event(), [""]
    shown = threading.Event()

    def draw() -> None:
        wait = DELAY
        while not ended.wait(wait):
            wait = EVERY
            shown.set()
            line = f"{what}  {time.perf_counter() - begun:.0f} s  {last[0]}"
            sys.stderr.write("\r" + line[:WIDTH].ljust(WIDTH))
            sys.stderr.flush()

    def show(line: str) -> None:
        last[0] = line

    thread = threading.Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        thread.join()
        if shown.is_set():
            sys.stderr.write("\r" + " " * WIDTH + "\r")
            sys.stderr.flush()
