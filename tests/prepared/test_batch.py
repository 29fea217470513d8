"""Many sets of parameters: one status each, and the objectives of single solves."""

import numpy as np
import pytest

from trajopt import Problem, free, prepare, solve
from trajopt.errors import UsageError


def lander():
    ocp = Problem("lander")
    thrust, g = ocp.parameter("thrust", 3.0, lower=0.1), ocp.parameter("g", 1.5)
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 20))
    h, v = ph.state("h", start=10, end=0), ph.state("v", start=-2, end=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({h: v, v: thrust * u - g})
    ocp.minimize(ph.integral(thrust * u))
    return ocp


def top_speed(solution):
    return {"speed": float(np.abs(solution["v"].points).max())}


def test_random_sets_are_solved_like_single_problems():
    generator = np.random.default_rng(0)
    sets = {"thrust": generator.uniform(2.7, 3.3, 30), "g": generator.uniform(1.4, 1.6, 30)}
    found = prepare(lander()).map(sets, outputs=top_speed)
    assert set(found.status.values) == {"SOLVED"}
    assert found.sizes == {"set": 30}
    for i in (0, 17):
        one = solve(lander(), parameters={name: values[i] for name, values in sets.items()})
        assert found.objective.values[i] == pytest.approx(one.objective, rel=1e-7)
        assert found.tf.values[i] == pytest.approx(one.phases["main"].tf, rel=1e-6)
        assert found.thrust.values[i] == sets["thrust"][i]
        assert found.speed.values[i] == pytest.approx(top_speed(one)["speed"], rel=1e-6)


def test_sets_without_solution_have_a_status_of_their_own():
    found = prepare(lander()).map(
        [{"thrust": 3.0}, {"thrust": 1.0}, {"thrust": -1}, {"thrust": 3.1}]
    )
    assert list(found.status.values) == ["SOLVED", found.status.values[1], "UsageError", "SOLVED"]
    assert found.status.values[1] != "SOLVED"
    assert "out of range" in found.message.values[2]
    assert np.isnan(found.objective.values[2])


@pytest.mark.slow
def test_worker_processes_give_the_same():
    sets = {"thrust": np.linspace(2.8, 3.2, 60)}
    prepared = prepare(lander())
    alone, together = prepared.map(sets), prepared.map(sets, processes=2)
    np.testing.assert_allclose(alone.objective, together.objective, rtol=1e-8)


def test_wrong_columns_are_errors():
    with pytest.raises(UsageError, match="the columns of parameters"):
        prepare(lander()).map({"thrust": [3.0, 3.1], "g": [1.5]})
    with pytest.raises(UsageError, match="processes"):
        prepare(lander()).map({"thrust": [3.0]}, processes=0)
