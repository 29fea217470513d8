"""A bound of a control and a state constraint that hold the same motion: their multipliers are not unique."""

import pytest

from tests.benchmarks.suite.chemical import ethanol_fed_batch
from tests.benchmarks.suite.singular import tumour
from trajopt import certify, solve
from trajopt.certificate import adjoint


@pytest.mark.parametrize("together", [True, False])
def test_a_closed_valve_and_a_full_tank_need_multipliers_that_are_fitted_together(together, monkeypatch):
    if not together:
        monkeypatch.setattr(adjoint, "MOST_TOGETHER", 0)
    assert certify(solve(tumour())).ok is together


def test_a_full_tank_beside_another_limit_that_is_near_gets_less_weight_of_stationarity():
    """Sugar comes near zero while the tank is full: its multipliers would serve stationarity and miss the ends."""
    assert certify(solve(ethanol_fed_batch())).ok
