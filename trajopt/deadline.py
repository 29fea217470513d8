"""Wall-clock budget; long loops and backends poll it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from trajopt.errors import TrajoptError


class OutOfTime(TrajoptError):  # not a failure
    """The time limit was reached."""


@dataclass(frozen=True)
class Deadline:
    """``seconds`` of wall-clock time from ``begun``, a value of ``time.perf_counter``; by default from now.

    >>> Deadline(60.0).check()
    >>> Deadline(0.0).check()
    Traceback (most recent call last):
    trajopt.deadline.OutOfTime: no solution within 0 s
    """

    seconds: float
    begun: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.begun):
            object.__setattr__(self, "begun", time.perf_counter())

    @property
    def remaining(self) -> float:
        """Remaining seconds; zero after the deadline."""
        return max(self.begun + self.seconds - time.perf_counter(), 0.0)

    @property
    def over(self) -> bool:
        return self.remaining <= 0.0

    def check(self) -> None:
        """Raise ``OutOfTime`` after the deadline."""
        if self.over:
            raise OutOfTime(f"no solution within {self.seconds:g} s")

    def sooner(self, other: Deadline) -> Deadline:
        """Return the earlier of two deadlines."""
        return self if self.begun + self.seconds <= other.begun + other.seconds else other


UNLIMITED = Deadline(math.inf)
