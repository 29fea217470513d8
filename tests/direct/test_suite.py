"""The quick problems of the regression suite are solved; references agree with closed forms; the
runner judges rightly.
"""

import math
import sys
from pathlib import Path

import pytest

from trajopt import Collocation, solve

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from suite import ENTRIES, NUMBERS, REFERENCES
from suite.__main__ import verdict
from suite.closed_forms import FORMS

QUICK = [name for name in NUMBERS if ENTRIES[name].quick]


@pytest.mark.parametrize("name", QUICK)
def test_quick_problem(name):
    solution = solve(ENTRIES[name].build())
    reference = REFERENCES[name]
    assert solution.success, solution.status
    assert reference.error(solution.objective) <= reference.tolerance


@pytest.mark.parametrize("name", FORMS)
def test_reference_agrees_with_closed_form(name):
    assert REFERENCES[name].error(FORMS[name]()) <= min(REFERENCES[name].tolerance / 10, 1e-7)


def test_every_problem_has_a_number_and_two_sources():
    assert set(NUMBERS) <= set(ENTRIES)
    for reference in REFERENCES.values():
        assert math.isfinite(reference.objective)
        assert 0 < reference.tolerance <= 1e-4
        assert reference.source
        assert reference.second
        assert reference.source != reference.second


def test_verdicts():
    right, wrong = REFERENCES["bus"].objective, REFERENCES["bus"].objective * 1.01
    assert verdict("bus", {"status": "SOLVED", "objective": right}) == "solved"
    assert verdict("bus", {"status": "SOLVED", "objective": wrong}) == "wrong"
    assert verdict("bus", {"status": "COARSE", "objective": right}) == "right"
    assert verdict("bus", {"status": "COARSE", "objective": wrong}) == "coarse"
    assert verdict("bus", {"status": "FAILED", "objective": None}) == "failed"
    assert verdict("bus", {"status": "TIME", "objective": None}) == "time"
    assert verdict("f8", {"status": "SOLVED", "objective": REFERENCES["f8"].others[0]}) == "local"
    relaxed = REFERENCES["bolza"].objective
    assert verdict("bolza", {"status": "COARSE", "objective": relaxed}) == "solved"


def test_affine_controls_in_an_equation_may_change_at_every_point():
    """Constant on each interval of the first mesh, both parts of x could not add up to it: no
    trajectory would be feasible.
    """
    solution = solve(
        ENTRIES["parts-penalty"].build(), Collocation(max_passes=1, tolerance=math.inf)
    ).check()
    assert REFERENCES["parts-penalty"].error(solution.objective) < 1e-3
