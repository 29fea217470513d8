"""The regression suite: problems stated as a new user would, with references that do not rest on
trajopt.

The number of a problem is its position in ``references.py``, from 1: problems are appended, never
reordered or removed.
"""

from . import (  # noqa: F401  # each registers its problems
    aircraft,
    bang_bang,
    chattering,
    chemical,
    economics,
    large_penalty,
    linked_phases,
    mechanisms,
    orbital,
    packages,
    phases,
    singular,
    state_constraints,
    symmetric,
    tables,
    textbooks,
    undetermined,
    vehicles,
)
from .entry import ENTRIES, Entry, Reference
from .references import REFERENCES

__all__ = ["ENTRIES", "NUMBERS", "REFERENCES", "Entry", "Reference"]

NUMBERS = tuple(REFERENCES)
