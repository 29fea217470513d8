"""The process that solves rows of a sweep: it reads tasks from its standard input and writes
outcomes to its standard output.
"""

from __future__ import annotations

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
from trajopt.files.storage import load
from trajopt.solving.child_process import end_with_parent
from trajopt.sweeping.coordinator import Model, model_of, solve_row
from trajopt.sweeping.workers import RowOutcome, Statement, Task, receive, send
from trajopt.trajectory.solution import Solution

IDLE = 300.0  # seconds without a task until it exits: workers of a cluster outlive their sweeps


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
    end_with_parent(parent)
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
