"""Reference: a published or independently computed optimum, with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trajopt.arguments import named_settings


@named_settings
@dataclass(frozen=True)
class Reference:
    """The known optimum of a problem.

    ``tolerance`` is relative; ``costates`` are the initial costates of the first phase, of H = L +
    costate . f minimized. ``origin`` is "published", "closed form", or "own" for a number that this
    library computed.
    """

    objective: float
    source: str
    tolerance: float = 1e-6
    costates: Mapping[str, float] = field(default_factory=dict)
    switches: tuple[float, ...] = ()
    structure: str = ""
    origin: str = "published"

    def difference(self, objective: float) -> float:
        """Relative to the known value."""
        return abs(objective - self.objective) / max(abs(self.objective), 1e-12)

    def improved_by(self, objective: float, sense: int) -> bool:
        """True for an objective that is better than the best one this library computed before;
        ``sense`` is -1 for a maximum.

        Such a reference bounds the optimum from one side only: a better value is information, not
        an error.
        """
        better = sense * (self.objective - objective) > 0
        return self.origin == "own" and better and self.difference(objective) > self.tolerance
