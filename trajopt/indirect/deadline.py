"""A time after which shooting gives up: long work asks it between its pieces."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from trajopt.errors import TrajoptError


class OutOfTime(TrajoptError):  # an end, not a fault
    """The time that was given is over."""


@dataclass(frozen=True)
class Deadline:
    """``seconds`` from now on, unless ``begun`` says otherwise.

    >>> Deadline(60.0).check()
    >>> Deadline(0.0).check()
    Traceback (most recent call last):
    trajopt.indirect.deadline.OutOfTime: no answer within 0 s
    """

    seconds: float
    begun: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.begun):
            object.__setattr__(self, "begun", time.perf_counter())

    @property
    def over(self) -> bool:
        return time.perf_counter() - self.begun >= self.seconds

    def check(self) -> None:
        """Raise ``OutOfTime`` where the time is over."""
        if self.over:
            raise OutOfTime(f"no answer within {self.seconds:g} s")


UNLIMITED = Deadline(math.inf)
