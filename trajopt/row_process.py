"""The process that solves rows of a sweep: it reads tasks from its standard input and writes outcomes to its standard output."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import platform
import select
import signal
import sys
from dataclasses import replace
from pathlib import Path

from trajopt.errors import FileError
from trajopt.solution import Solution
from trajopt.storage import load
from trajopt.sweeping import Model, model_of, solve_row
from trajopt.workers import RowOutcome, Statement, Task, receive, send

IDLE = 300.0  # seconds without a task until it exits: workers of a cluster outlive their sweeps
PR_SET_PDEATHSIG = 1  # of Linux' prctl: a signal when the parent ends


def main() -> None:
    """Solve tasks until the input ends."""
    into, out = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # output of models and solvers goes to standard error
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the coordinating process handles Ctrl-C
    try:
        parent, statement = receive(into)
    except EOFError:
        return
    _end_with(parent)
    try:
        model = _model(statement)
    except BaseException as error:  # a user's module may raise anything on import
        send(out, ("unusable", f"{type(error).__name__}: {error}"))
        return
    send(out, ("ready", None))
    gc.freeze()  # modules stay: the collector need not look at them again and again
    _serve(into, out, statement, model)


def _serve(into: int, out: int, statement: Statement, model: Model) -> None:
    last: tuple[str, Solution | None] = ("", None)
    while True:
        if not select.select([into], [], [], IDLE)[0]:
            return  # no more tasks
        try:
            task: Task = receive(into)
        except EOFError:
            return
        outcome, solution = _solved(statement, model, task, last)
        send(out, ("done", replace(outcome, host=platform.node())))
        last = (task.file, solution)


def _solved(
    statement: Statement, model: Model, task: Task, last: tuple[str, Solution | None]
) -> tuple[RowOutcome, Solution | None]:
    guess = task.guess
    if isinstance(guess, str):
        try:
            guess = last[1] if last[0] == guess else load(Path(statement.folder or "") / guess)
        except FileError:
            guess = None
    return solve_row(model, statement, replace(task, guess=guess))


def _model(statement: Statement) -> Model:
    sys.path[:] = [*statement.paths, *(p for p in sys.path if p not in statement.paths)]
    return model_of(pickle.loads(statement.blob))


def _end_with(parent: int) -> None:
    """End this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
