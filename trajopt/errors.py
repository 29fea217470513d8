"""The exceptions of trajopt.

TrajoptError
  ProblemError      the statement of a problem is wrong or incomplete
  GuessError        the starting guess cannot be used
  ModelError        a mechanism, system or constraint set is wrong
  SimulationError   a forward integration could not go on
  SolveError        a solve did not end well and the caller asked for an exception
  SweepError        a sweep could not go on; what was finished is its ``family``
  FileError         a file cannot be read or written
  UsageError        a name, option or value that does not exist

Each says what is wrong, what was found, what was expected and what to try, in the names the user gave.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TrajoptError(Exception):
    """What went wrong, with what was found, what was expected, and a hint.

    >>> print(TrajoptError("empty bound on control 'theta'", got=(1, 0), expected="lower <= upper"))
    empty bound on control 'theta'
      got:      (1, 0)
      expected: lower <= upper
    """

    def __init__(self, what: str, *, got: object = None, expected: object = None, hint: str | None = None) -> None:
        self.what, self.got, self.expected, self.hint = what, got, expected, hint
        lines = [what]
        if got is not None:
            lines.append(f"  got:      {got}")
        if expected is not None:
            lines.append(f"  expected: {expected}")
        if hint is not None:
            lines.append(f"  hint:     {hint}")
        super().__init__("\n".join(lines))


class ProblemError(TrajoptError):
    """The statement of a problem is wrong or incomplete."""


class GuessError(TrajoptError):
    """The starting guess cannot be used."""


class ModelError(TrajoptError):
    """A mechanism, system or constraint set is wrong."""


class SimulationError(TrajoptError):
    """A forward integration could not go on."""


class SolveError(TrajoptError):
    """A solve did not end well, and the caller asked for an exception."""


class SweepError(TrajoptError):
    """A sweep could not go on; ``family`` has what was finished."""

    def __init__(
        self, what: str, *, family: object = None, got: object = None, expected: object = None, hint: str | None = None
    ) -> None:
        super().__init__(what, got=got, expected=expected, hint=hint)
        self.family = family


class FileError(TrajoptError):
    """A file cannot be read or written."""


class UsageError(TrajoptError):
    """A name, option or value that does not exist."""


def suggest(name: str, known: Iterable[str]) -> str | None:
    """A hint with the known names closest to a misspelt one.

    >>> suggest("wheely", ["wheelie", "goddard"])
    "did you mean 'wheelie'?"
    """
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return "did you mean " + " or ".join(repr(c) for c in close) + "?" if close else None
