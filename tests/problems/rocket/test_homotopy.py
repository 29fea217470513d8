"""Continuation from easy to difficult transfers, which provides the guesses of
the named problems.
"""

import numpy as np
import pytest

from problems.rocket import min_fuel_transfer, min_time_transfer
from problems.rocket.homotopy import (
    barrier_to_fuel,
    burns_of,
    energy_to_fuel,
    lower_thrust,
    throttled,
)
from trajopt import solve
from trajopt.errors import ProblemError


@pytest.mark.slow
def test_continuation_to_lower_thrust_agrees_with_a_direct_solve():
    path = lower_thrust(0.1)
    assert path.complete
    assert list(path.values) == sorted(path.values, reverse=True)
    assert path.last.objective == pytest.approx(
        solve(min_time_transfer.build(thrust=0.1), tolerance=1e-8).objective, rel=1e-8
    )
    times = [point.objective for point in path.points if point.accepted]
    assert np.all(np.diff(times) > 0), "less thrust takes longer"


def test_a_smaller_barrier_leaves_more_mass():
    points = []
    path = barrier_to_fuel(0.07, points.append, duration=8.0, thrust=0.04)
    assert path.complete
    first = solve(throttled(0.1, "barrier", duration=8.0, thrust=0.04)).check()
    assert first["m"](8.0) < path.last["m"](8.0)
    throttle = path.last["throttle"](np.linspace(0, 8, 200))
    assert 0 < throttle.min() < throttle.max() < 1


@pytest.mark.slow
def test_the_homotopy_from_energy_to_fuel_finds_the_burns_of_the_named_problem():
    path = energy_to_fuel()
    assert path.complete
    burns = burns_of(path.last)
    assert [round(time, 1) for time in burns] == list(min_fuel_transfer.BURNS)
    least = min_fuel_transfer.REFERENCE.objective
    assert least - 3e-5 < path.last["m"](30.0) < least
    answer = solve(min_fuel_transfer.build(burns=burns)).check()
    assert answer.objective == pytest.approx(least, rel=1e-9)


def test_an_unknown_smoothing_is_named():
    with pytest.raises(ProblemError, match="smoothing"):
        throttled(0.1, "magic")
