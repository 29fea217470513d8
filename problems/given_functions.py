"""Functions that a user gives to a named system: a table, or a function in a Python file."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from trajopt.catalogue import builder
from trajopt.errors import FileError, UsageError


def of_time(given: Any, what: str) -> Callable[[casadi.SX], Any]:
    """Return a function of time: of a number, a callable, ``./mine.py:f``, or a table ``f.csv``.

    >>> of_time(2.0, "force")(casadi.SX.sym("t"))
    2.0
    """
    if callable(given):
        return given  # type: ignore[no-any-return]
    if not isinstance(given, str):
        return lambda t: given
    if given.endswith(".csv"):
        columns = table(given)
        t, values = columns[:, 0], columns[:, 1]
        return lambda time: casadi.pw_lin(time, t.tolist(), values.tolist())
    if ".py" in given:
        return builder(given)
    raise UsageError(
        f"the {what} is neither a number nor a file",
        got=given,
        expected="./mine.py:f, or a table of times and values in a .csv file",
    )


def table(path: str, columns: int = 2) -> np.ndarray:
    """Return the rows of a table with increasing times in its first column; a line of names before
    them is left out.
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    except OSError as error:
        raise FileError(f"cannot read '{path}'", got=error.strerror) from error
    try:
        rows = np.array([[float(value) for value in row] for row in lines[_head(lines) :]])
    except ValueError as error:
        raise FileError(f"'{path}' is not a table of numbers", got=str(error)) from error
    if rows.ndim != 2 or len(rows) < 2 or rows.shape[1] < columns or not np.isfinite(rows).all():
        raise FileError(
            f"'{path}' is not a table of a function of time",
            got=f"shape {rows.shape}",
            expected=f"two rows or more, {columns} columns: time, then values",
        )
    if not (np.diff(rows[:, 0]) > 0).all():
        raise FileError(f"the times in '{path}' do not increase")
    return rows


def names_in(path: str) -> list[str]:
    """Return the names in the first line of a table."""
    with open(path, newline="", encoding="utf-8") as file:
        return [name.strip() for name in next(csv.reader(file))]


def _head(lines: list[list[str]]) -> int:
    try:
        float(lines[0][0])
    except (IndexError, ValueError):
        return 1
    return 0
