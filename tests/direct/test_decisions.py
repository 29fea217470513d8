"""Decisions between nearly equal things do not hang on rounding: the first one stays."""

from types import SimpleNamespace

import pytest

from trajopt.direct.collocation import Collocation
from trajopt.direct.other_starts import better
from trajopt.direct.remedies import BEFORE_REFINEMENT
from trajopt.nlp.backends import Outcome

METHOD = Collocation()


def state(cost=1.0, violation=0.0, outcome=Outcome.SOLVED):
    solution = SimpleNamespace(
        result=SimpleNamespace(f=cost),
        cost_size=1.0,
        outcome=outcome,
        solved=outcome is Outcome.SOLVED,
        violation=violation,
        phases=[SimpleNamespace(method=METHOD)],
    )
    return SimpleNamespace(solution=solution, best=solution, method=METHOD)


@pytest.mark.parametrize(("cost", "adopted"), [(1 - 1e-9, False), (1 + 1e-9, False), (0.99, True)])
def test_a_mirrored_motion_of_the_same_cost_is_not_adopted(cost, adopted):
    remedy = BEFORE_REFINEMENT[0]
    assert remedy.better(state(cost), state(1.0)) is adopted


@pytest.mark.parametrize(("violation", "adopted"), [(0.3 - 1e-9, False), (0.2, True)])
def test_an_attempt_that_violates_as_much_is_not_adopted(violation, adopted):
    trial = state(violation=violation, outcome=Outcome.INFEASIBLE)
    assert better(trial, state(violation=0.3, outcome=Outcome.INFEASIBLE)) is adopted
