"""Reference: a published or independently computed optimum, with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reference:
    """The known optimum of a problem.

    ``tolerance`` is relative; ``costates`` are the initial costates of the first phase, of H = L + costate . f minimized.
    ``origin`` is "published", "closed form", or "own" for a number that this library computed.
    """

    objective: float
    source: str
    tolerance: float = 1e-6
    costates: Mapping[str, float] = field(default_factory=dict)
    switches: tuple[float, ...] = ()
    structure: str = ""
    origin: str = "published"
