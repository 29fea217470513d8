"""A direct solve from the statement to the solution: a smoke test of all parts in a second."""

import pytest

from trajopt import Collocation, Status, builder, solve
from trajopt.direct.collocation import LEAST_TOLERANCE
from trajopt.errors import UsageError


@pytest.mark.parametrize(
    ("name", "objective"), [("brachistochrone", 1.8016031), ("block-move", 12.0)]
)
def test_named_problems_have_their_objectives(name, objective):
    solution = solve(builder(name)()).check()
    assert solution.objective == pytest.approx(objective, rel=1e-6)
    assert set(solution.phases["main"].costates) == set(solution.phases["main"].states)


def test_a_tolerance_below_double_precision_is_refused():
    """Its meshes grew until the process was killed."""
    with pytest.raises(UsageError, match="at least 1e-14"):
        solve(builder("hypersensitive")(), tolerance=1e-30)
    with pytest.raises(UsageError, match="at least 1e-14"):
        Collocation(tolerance=1e-15)


def test_the_least_tolerance_ends():
    solution = solve(builder("brachistochrone")(), tolerance=LEAST_TOLERANCE)
    assert solution.error < 1e-13


def test_work_is_bounded():
    """No mesh begins beyond the limit; the solution so far is the answer, with its error."""
    form, limit = builder("vanderpol-bounded")(), 2e4
    solution = solve(form, Collocation(tolerance=1e-12, max_work=limit))
    assert solution.status is Status.WORK_LIMIT
    assert "max_work" in solution.explanation[1]
    assert len(solution.history) < 10
    assert solution.objective == pytest.approx(2.86726, rel=1e-3)
    assert solve(form, Collocation(max_work=1e-3)).status is Status.WORK_LIMIT
