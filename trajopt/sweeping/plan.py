"""The plan of a sweep: its rows with keys and files, their common part, and the finished rows of a
folder.
"""

from __future__ import annotations

import inspect
import itertools
import os
import platform
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.catalogue import builder
from trajopt.errors import TrajoptError, UsageError, check_type, suggest
from trajopt.files.storage import load
from trajopt.solving.methods import Method
from trajopt.statement.problem import Problem
from trajopt.sweeping.family import figures_of
from trajopt.sweeping.journal import Row
from trajopt.sweeping.rows import KEY, file_name, row_key, statement_hash, word
from trajopt.sweeping.workers import Statement, packed
from trajopt.trajectory.solution import Solution

Build = Callable[..., Problem] | str


@dataclass(frozen=True)
class Limits:
    """Limits of each row, and the number of processes."""

    seconds: float | None = None
    memory: float | None = None
    workers: int | None = None

    def check(self, shared: bool) -> None:
        """Raise if a limit is invalid."""
        for name, value in (("row_time_limit", self.seconds), ("memory_limit", self.memory)):
            if value is not None and not (np.isfinite(value) and value > 0):
                raise UsageError(name, got=value, expected="a finite number above zero")
        if self.workers is not None and self.workers < 1:
            raise UsageError("workers", got=self.workers, expected="1 or more")
        if self.memory is not None and self.workers is None and not shared:
            raise UsageError(
                "memory_limit needs rows in separate processes", hint="workers=1, or more"
            )


@dataclass(frozen=True, eq=False)
class Plan:
    """The rows of a sweep and their common part."""

    build: Build
    grid: Mapping[str, tuple[Any, ...]]
    points: Sequence[Mapping[str, Any]]
    method: Method | str | None
    tolerance: float | None
    guess: Solution | None
    chained: bool
    shared: str  # hash of the statement

    @property
    def chains(self) -> list[range]:
        """Sequences of rows that are solved one after the other."""
        length = len(list(self.grid.values())[-1]) if self.chained else 1
        return [range(start, start + length) for start in range(0, len(self.points), length)]

    @cached_property
    def keys(self) -> list[str]:
        return [row_key(self.shared, point) for point in self.points]

    @cached_property
    def files(self) -> list[str]:
        return [file_name(point) for point in self.points]

    def statement(self, folder: Path | None, limits: Limits, synced: bool) -> Statement:
        """Return the data that a process needs to solve a row."""
        try:
            blob = packed(self.build)
        except Exception as error:  # a lambda, or a method of an object that cannot be pickled
            if limits.workers is not None:
                raise unusable(f"{type(error).__name__}: {error}") from error
            blob = b""
        place = None if folder is None else str(folder.resolve())
        run = uuid.uuid4().hex
        return Statement(
            blob,
            self.method,
            self.tolerance,
            place,
            limits.seconds,
            limits.memory,
            tuple(sys.path),
            synced,
            run,
        )


def make_plan(
    build: Build,
    over: Mapping[str, Iterable[Any]],
    settings: Mapping[str, Any],
    method: Method | str | None,
    tolerance: float | None,
    guess: Solution | None,
    chained: bool,
) -> Plan:
    """Check a sweep and return its plan."""
    if not callable(build) and not isinstance(build, str):
        raise UsageError(
            "sweep: what is to be solved",
            got=repr(build),
            expected="a function that returns a Problem",
            hint="def build(mass=70.0) -> Problem: ...",
        )
    check_type(
        "sweep: the grid", over, Mapping, "a dictionary of values to try, as in {'mass': [1, 2]}"
    )
    if guess is not None:
        check_type("sweep: guess", guess, Solution, "an earlier Solution", "load('a.nc')")
    for name, values in over.items():
        check_type(f"a sweep over '{name}'", values, Iterable, "a list of values, as in [1, 2]")
        if isinstance(values, str):
            raise UsageError(
                f"a sweep over '{name}'", got=repr(values), expected="a list, as in ['a', 'b']"
            )
    grid = {name: tuple(values) for name, values in over.items()}
    _check(build, grid, settings)
    points = [
        {**settings, **dict(zip(grid, values, strict=True))}
        for values in itertools.product(*grid.values())
    ]
    shared = statement_hash(build, method, tolerance, guess)
    return Plan(build, grid, points, method, tolerance, guess, chained, shared)


@dataclass(frozen=True)
class Survey:
    """The rows of a sweep in a folder: finished ones, those missing in the journal, and those of
    another statement.
    """

    there: Mapping[int, Row]
    adopted: Sequence[Row]
    stale: int


def survey_of(plan: Plan, folder: Path, rows: Mapping[str, Row], retry_failed: bool) -> Survey:
    """Find the rows of a folder, without writing."""
    there: dict[int, Row] = {}
    adopted, stale = [], 0
    files = set(os.listdir(folder))
    for index in range(len(plan.points)):
        file, key = plan.files[index], plan.keys[index]
        row = rows.get(file)
        known = row is not None and row.key == key and row.file_is_untouched(folder)
        if not known and file in files:
            row = _read_row(plan, index, folder)
            known = row is not None and row.key == key
            if known and row is not None:
                adopted.append(row)
        if known and row is not None and (row.success or not retry_failed):
            there[index] = row
        elif row is not None and row.key != key:
            stale += 1
    return Survey(there, adopted, stale)


def _read_row(plan: Plan, index: int, folder: Path) -> Row | None:
    """Return the row of a finished file that the journal lacks; None if the file is damaged."""
    try:
        solution = load(folder / plan.files[index])
        figures, units = figures_of(solution)
    except TrajoptError:
        return None
    ended = os.stat(folder / plan.files[index]).st_mtime
    key = str(solution.options.get(KEY, "none"))
    about = (
        solution.status.name.lower(),
        message_of(solution),
        figures,
        units,
        ended,
        ended,
        1,
        platform.node(),
        0,
    )
    return Row(plan.files[index], key, plan.shared, plan.points[index], *about).with_file(folder)


def message_of(solution: Solution) -> str:
    return "" if solution.success else "\n".join([solution.status.value, *solution.explanation])


def unusable(reason: str) -> UsageError:
    hint = 'they must be able to import the function; its name, as in "./mine.py:build", will do'
    return UsageError("the workers cannot solve this", got=reason, hint=hint)


def arguments_of(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of a function's arguments; None if it accepts any."""
    parameters = inspect.signature(function).parameters.values()
    return (
        None if any(p.kind is p.VAR_KEYWORD for p in parameters) else [p.name for p in parameters]
    )


def _check(build: Build, grid: Mapping[str, tuple[Any, ...]], settings: Mapping[str, Any]) -> None:
    """Raise if every member would fail."""
    if not grid:
        raise UsageError(
            "a sweep needs a grid of settings", expected='as in {"mass": [60, 70, 80]}'
        )
    for name, values in grid.items():
        if not values:
            raise UsageError(
                f"a sweep over '{name}' needs values", got="none", expected="as in [60, 70, 80]"
            )
        if name in settings:
            raise UsageError(
                f"'{name}' is both swept over and set",
                got=f"{len(values)} values to sweep over, and {word(settings[name])}",
                expected="one of the two",
            )
    for name, values in {**grid, **{name: (value,) for name, value in settings.items()}}.items():
        if any(_not_finite(value) for value in values):
            raise UsageError(
                f"a value of '{name}' is not a finite number",
                got=", ".join(map(word, values)),
                expected="finite numbers",
            )
    function = builder(build, "problem") if isinstance(build, str) else build
    taken = arguments_of(function)
    others = [name for name in (*grid, *settings) if taken is not None and name not in taken]
    if taken is not None and others:
        first = {**settings, **{name: values[0] for name, values in grid.items()}}
        # no row of its own
        problem = function(
            **{name: value for name, value in first.items() if name in _required(function)}
        )
        known = [*taken, *problem.parameters]
        for name in others:
            if name not in problem.parameters:
                raise UsageError(
                    f"'{problem.name}' has no argument or parameter '{name}'",
                    expected=", ".join(known) or "none",
                    hint=suggest(name, known),
                )


def _required(function: Callable[..., Any]) -> list[str]:
    return [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]


def _not_finite(value: Any) -> bool:
    if isinstance(value, (list, tuple, np.ndarray)):
        return any(_not_finite(item) for item in value)
    return isinstance(value, (float, np.floating)) and not np.isfinite(value)
