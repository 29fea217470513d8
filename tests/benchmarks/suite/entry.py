"""What the suite knows of each problem: its class, its statement and its reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ENTRIES: dict[str, Entry] = {}


@dataclass(frozen=True)
class Reference:
    """The optimal objective and the two independent ways in which it is known.

    Parameters
    ----------
    objective : float
        The least (or largest) value that is known.
    tolerance : float
        Relative, or absolute where the objective is zero.
    source, second : str
        Two independent ways to the value: a closed form, a publication, a transcription by
        ``independent.py``.
    others : tuple of float
        Values of known local optima that are not the best.
    attained : bool
        False where no control attains the value (chattering between two minima of H).
    """

    objective: float
    tolerance: float
    source: str
    second: str
    others: tuple[float, ...] = ()
    attained: bool = True

    def error(self, objective: float) -> float:
        """The difference from the reference, relative to it unless it is zero."""
        return abs(objective - self.objective) / (abs(self.objective) or 1.0)

    def is_other(self, objective: float) -> bool:
        """Whether the value is that of another known local optimum."""
        return any(abs(objective - other) <= 1e-3 * abs(other) for other in self.others)


@dataclass(frozen=True)
class Entry:
    """A problem of the suite; ``quick`` ones are solved in the tests."""

    name: str
    kind: str
    build: Callable[[], Any]
    quick: bool

    @property
    def reference(self) -> Reference:
        from .references import REFERENCES

        return REFERENCES[self.name]


def problem(
    name: str, kind: str, quick: bool = False
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a statement under its name."""

    def register(build: Callable[[], Any]) -> Callable[[], Any]:
        if name in ENTRIES:
            raise ValueError(f"two problems are called '{name}'")
        ENTRIES[name] = Entry(name, kind, build, quick)
        return build

    return register
