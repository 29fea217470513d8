"""Wrong answers, each beside a right one, that the certificate must tell apart: ``python -m tests.benchmarks.planted``."""

from . import constraints, controls, ends, files, motion, presented, second_order, several, shapes, sizes  # noqa: F401
from .by_hand import CASES, Case

__all__ = ["CASES", "Case"]
