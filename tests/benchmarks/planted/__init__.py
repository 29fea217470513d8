"""Wrong answers, each beside a right one, that the certificate must tell apart: ``python -m
tests.benchmarks.planted``.
"""

from . import (  # noqa: F401  # each adds its cases
    constraints,
    controls,
    ends,
    files,
    further_hypotheses,
    hypotheses,
    motion,
    presented,
    second_order,
    several,
    shapes,
    sizes,
)
from .by_hand import CASES, Case

__all__ = ["CASES", "Case"]
