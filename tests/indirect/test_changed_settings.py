"""Shooting is not tuned to the settings of the named problems: one random change;
``tests/benchmarks/shooting.py`` has more.
"""

import itertools

import pytest

from tests.benchmarks.shooting import draws, row_of
from trajopt import builder


@pytest.mark.slow
def test_a_changed_problem_is_confirmed():
    """Its knee leaves the stop by 5e-7 between two boundary arcs, while the other knee touches its
    own stop.
    """
    name, number = "exoskeleton-assist", 13
    changes = next(itertools.islice(draws(name, number + 1, 1), number, None))
    row = row_of(name, builder(name)(**changes))
    assert row.verdict == "agree"
    assert row.arcs == 6
    assert row.objectives < 1e-9
    assert row.costates < 1e-5
