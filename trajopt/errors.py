"""The exceptions of trajopt.

TrajoptError
  ProblemError      the statement of a problem is wrong or incomplete
  GuessError        the starting guess cannot be used
  ModelError        a mechanism, system or constraint set is wrong
  SimulationError   a forward integration failed
  SolveError        a solve failed and ``check`` was called
  SweepError        a sweep was aborted; ``family`` has the finished rows
  FileError         a file cannot be read or written
  UsageError        an unknown name, or an invalid option or value
Interrupted         Ctrl-C, with the best solution so far; a KeyboardInterrupt
TrajoptWarning      a statement or an option that is allowed but probably not meant

Each message states the fault, the value found, the expected value and a hint, in the user's names.
"""

from __future__ import annotations

import difflib
import reprlib
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def message(what: str, got: object = None, expected: object = None, hint: str | None = None) -> str:
    """Return the text of an error or a warning."""
    parts = (("got", got), ("expected", expected), ("hint", hint))
    return "\n".join(
        [what, *(f"  {f'{label}:':<9} {value}" for label, value in parts if value is not None)]
    )


class TrajoptError(Exception):
    """Base class: a message with the value found, the expected value and a hint.

    >>> print(TrajoptError("lower bound exceeds upper bound of control 'theta'", got=(1, 0),
    ...     expected="lower <= upper"))
    lower bound exceeds upper bound of control 'theta'
      got:      (1, 0)
      expected: lower <= upper
    """

    def __init__(
        self, what: str, *, got: object = None, expected: object = None, hint: str | None = None
    ) -> None:
        self.what, self.got, self.expected, self.hint = what, got, expected, hint
        super().__init__(message(what, got, expected, hint))


class ProblemError(TrajoptError):
    """The statement of a problem is wrong or incomplete."""


class GuessError(TrajoptError):
    """The starting guess cannot be used."""


class ModelError(TrajoptError):
    """A mechanism, system or constraint set is wrong."""


class SimulationError(TrajoptError):
    """A forward integration failed."""


class SolveError(TrajoptError):
    """A solve failed, and ``Solution.check`` was called."""


class SweepError(TrajoptError):
    """A sweep was aborted; ``family`` has the finished rows."""

    def __init__(
        self,
        what: str,
        *,
        family: object = None,
        got: object = None,
        expected: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what, got=got, expected=expected, hint=hint)
        self.family = family


class FileError(TrajoptError):
    """A file cannot be read or written."""


class UsageError(TrajoptError):
    """An unknown name, or an invalid option or value."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a solve. ``solution`` is the best one so far, with the status ``INTERRUPTED``.

    A loop of solves ends, as with any other ``KeyboardInterrupt``::

        try:
            solution = solve(problem)
        except KeyboardInterrupt as stop:
            solution = stop.solution

    At a prompt it is ``sys.last_value.solution`` afterwards.
    """

    def __init__(self, solution: Any) -> None:
        self.solution = solution
        super().__init__(
            "interrupted; the best solution so far is 'solution' of this exception "
            "(sys.last_value.solution)"
        )


class TrajoptWarning(UserWarning):
    """A statement or an option that is allowed but probably not meant."""


def warn(
    what: str, *, got: object = None, expected: object = None, hint: str | None = None
) -> None:
    """Warn at the user's line, in the form of the errors."""
    package, level, frame = str(Path(__file__).parent), 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message(what, got, expected, hint), TrajoptWarning, level)


def check_type(
    what: str,
    value: object,
    kinds: type | tuple[type, ...],
    expected: str,
    hint: str | None = None,
) -> None:
    """Raise a ``UsageError`` unless a value is of one of these types.

    >>> check_type("load: the file", 3, (str, Path), "a path, as in 'a.nc'")
    Traceback (most recent call last):
    trajopt.errors.UsageError: load: the file
      got:      3
      expected: a path, as in 'a.nc'
    """
    if not isinstance(value, kinds):
        raise UsageError(what, got=reprlib.repr(value), expected=expected, hint=hint)


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the known names closest to a misspelt one.

    >>> suggest("wheely", ["wheelie", "goddard"])
    "did you mean 'wheelie'?"
    """
    close = difflib.get_close_matches(str(name), list(known), n=3, cutoff=0.5)
    return "did you mean " + " or ".join(repr(c) for c in close) + "?" if close else None
