"""Constants of the certificate: each is here with an answer that is right and that fails without
it.
"""

import pytest

from tests.benchmarks.suite.mechanisms import dry_friction
from tests.benchmarks.suite.state_constraints import robbins
from trajopt import certify, solve
from trajopt.certificate import extremal_rows, state_constraints


@pytest.mark.parametrize(("times", "ok"), [(extremal_rows.INSIDE, True), (1.0, False)])
def test_costates_are_less_accurate_inside_intervals(times, ok, monkeypatch):
    """A boundary layer of the costates where friction changes its sign."""
    monkeypatch.setattr(extremal_rows, "INSIDE", times)
    assert certify(solve(dry_friction())).ok is ok


@pytest.mark.parametrize(("degree", "scope"), [(state_constraints.DEGREE, "global"), (5, "local")])
def test_densities_of_multipliers_need_their_degree(degree, scope, monkeypatch):
    """The dual bound is as good as the multipliers of the constrained arc."""
    monkeypatch.setattr(state_constraints, "DEGREE", degree)
    assert certify(solve(robbins())).scope == scope
