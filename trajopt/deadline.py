"""Limits: a deadline, which only a user sets, and a budget of operations, the same on every machine
and under any load.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from trajopt.errors import TrajoptError


class OutOfTime(TrajoptError):  # not a failure
    """The time limit was reached."""


class OutOfWork(TrajoptError):
    """The limit of operations was reached."""


@dataclass(frozen=True)
class Deadline:
    """``seconds`` of wall-clock time from ``begun``, a value of ``time.perf_counter``; by default
    from now.

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


@dataclass
class Budget:
    """``operations`` that a computation may use before ``deadline``; long loops tell how many they
    are about to use.

    Operations are those of the method, floating-point ones as a textbook counts them, and not
    measured.

    >>> budget = Budget(1e6)
    >>> budget.spend(4e5)
    >>> budget.spend(8e5)
    Traceback (most recent call last):
    trajopt.deadline.OutOfWork: no solution within 1e+06 operations
      hint:     a larger limit continues further
    """

    operations: float = math.inf
    deadline: Deadline = UNLIMITED
    spent: float = field(default=0.0, init=False)

    def spend(self, operations: float) -> None:
        """Count operations; raise ``OutOfTime``, or ``OutOfWork`` where the limit is passed."""
        self.deadline.check()
        before, self.spent = self.spent, self.spent + operations
        if before <= self.operations < self.spent:
            raise OutOfWork(
                f"no solution within {self.operations:.3g} operations",
                hint="a larger limit continues further",
            )

    def add(self, operations: float) -> None:
        """Count operations that were used, without raising."""
        self.spent += operations

    @property
    def used_up(self) -> bool:
        return self.spent > self.operations

    @property
    def over(self) -> bool:
        return self.deadline.over or self.used_up
