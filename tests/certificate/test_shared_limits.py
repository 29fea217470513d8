"""A bound of a control and a state constraint that hold the same motion: their multipliers are not
unique.
"""

import time
from dataclasses import replace

import numpy as np
import pytest

from tests.benchmarks.suite.chemical import ethanol_fed_batch
from tests.benchmarks.suite.singular import tumour
from trajopt import certify, solve
from trajopt.certificate import adjoint


@pytest.mark.parametrize("together", [True, False])
def test_a_closed_valve_and_a_full_tank_need_multipliers_that_are_fitted_together(
    together, monkeypatch
):
    if not together:
        monkeypatch.setattr(adjoint, "MOST_TOGETHER", 0)
    assert certify(solve(tumour())).ok is together


def test_a_full_tank_beside_another_limit_that_is_near_gets_less_weight_of_stationarity():
    """Sugar comes near zero while the tank is full: its multipliers would serve stationarity and
    miss the ends.
    """
    assert certify(solve(ethanol_fed_batch())).ok


def finer(curve, times):
    """The same curve with so many times as many pieces."""
    breaks, nodes, values = [curve.breaks[0]], [], []
    for a, b, inside in zip(curve.breaks[:-1], curve.breaks[1:], curve.nodes, strict=True):
        for k in range(times):
            first, last = a + (b - a) * k / times, a + (b - a) * (k + 1) / times
            at = np.clip(first + (last - first) * inside, a + 1e-12 * (b - a), b - 1e-12 * (b - a))
            breaks.append(last)
            nodes.append(inside)
            values.append(curve.evaluate(at))
    return replace(curve, breaks=np.array(breaks), nodes=tuple(nodes), values=tuple(values))


def test_a_constrained_arc_of_many_intervals_is_not_fitted_as_a_whole():
    """The time of such a fit grows with the cube of their number: without a limit this takes above
    ten seconds.
    """
    solution = solve(tumour())
    ph = solution.phases["main"]
    curves = {
        group: {n: finer(c, 10) for n, c in getattr(ph, group).items()}
        for group in ("states", "controls", "costates")
    }
    begun = time.process_time()
    certificate = certify(
        replace(solution, phases={"main": replace(ph, **curves, path_multipliers={})})
    )
    assert time.process_time() - begun < 5
    assert certificate.claim == "feasible"
