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

Each message states the fault, the value found, the expected value and a hint, in the user's names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TrajoptError(Exception):
    """Base class: a message with the value found, the expected value and a hint.

    >>> print(TrajoptError("lower bound exceeds upper bound of control 'theta'", got=(1, 0), expected="lower <= upper"))
    lower bound exceeds upper bound of control 'theta'
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
    """A forward integration failed."""


class SolveError(TrajoptError):
    """A solve failed, and ``Solution.check`` was called."""


class SweepError(TrajoptError):
    """A sweep was aborted; ``family`` has the finished rows."""

    def __init__(
        self, what: str, *, family: object = None, got: object = None, expected: object = None, hint: str | None = None
    ) -> None:
        super().__init__(what, got=got, expected=expected, hint=hint)
        self.family = family


class FileError(TrajoptError):
    """A file cannot be read or written."""


class UsageError(TrajoptError):
    """An unknown name, or an invalid option or value."""


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the known names closest to a misspelt one.

    >>> suggest("wheely", ["wheelie", "goddard"])
    "did you mean 'wheelie'?"
    """
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return "did you mean " + " or ".join(repr(c) for c in close) + "?" if close else None
