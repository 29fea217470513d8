"""Feedback and repeated solves against disturbances, and what the loops report."""

import numpy as np
import pytest

from trajopt import ModelPredictive, Problem, builder, free, prepare, solve
from trajopt.errors import UsageError
from trajopt.prepared.closed_loop import closed_loop


@pytest.fixture(scope="module")
def lander():
    return solve(builder("moon-lander")(), tolerance=1e-9).check()


@pytest.fixture(scope="module")
def swing():
    return solve(builder("cart-pole")(), tolerance=1e-8).check()


def slope(solution, control, initial, sizes):
    names = list(initial)
    at = {name: float(solution[name](0.0)) for name in names}
    misses = [
        closed_loop(solution, control, {n: at[n] + size * initial[n] for n in names}).miss
        for size in sizes
    ]
    return np.log(misses[1] / misses[0]) / np.log(sizes[1] / sizes[0])


def test_end_errors_fall_with_the_square_of_a_disturbance(swing, lander):
    direction = {"x": 0.3, "q": 0.5, "dx": -0.4, "dq": 0.6}
    names = list(swing.phases["main"].states)
    direction = dict(zip(names, direction.values(), strict=True))
    assert slope(swing, "feedback", direction, (2e-3, 8e-3)) > 1.9
    assert slope(lander, "feedback", {"h": 0.6, "v": 0.8}, (1e-3, 1e-2)) > 1.95
    assert slope(lander, "open", {"h": 0.6, "v": 0.8}, (1e-3, 1e-2)) == pytest.approx(1, abs=0.05)


def test_switches_and_ends_follow_the_state(lander):
    """The switching time of the lander by height and speed, against a solve from there."""
    feedback = lander.feedback()
    moved = feedback.plan(0.0, [10.001, -1.999]).times()
    prepared = prepare(builder("moon-lander")(), lander)
    again = prepared.solve(initial={"h": 10.001, "v": -1.999}).check()
    assert moved[-1] == pytest.approx(again.phases["main"].tf, abs=1e-6)
    assert moved[1] == pytest.approx(again.arcs[0].end, abs=1e-6)
    assert feedback.times[-1] < lander.arcs[0].end  # at full thrust nothing is left to choose


def test_gains_are_those_of_a_riccati_equation():
    """min int x^2 + u^2 over a fixed time: u = -tanh(T - t) x."""
    ocp = Problem("regulator")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x", start=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(x**2 + u**2))
    feedback = solve(ocp, tolerance=1e-9).check().feedback()
    gains = np.array([gain[0, 0] for gain in feedback.gains])
    np.testing.assert_allclose(gains, -np.tanh(2 - feedback.times), rtol=1e-5)
    plan = feedback.plan(0.0, [1.1])
    assert plan.control(0.5)[0] == pytest.approx(1.1 * feedback.plan(0, [1.0]).control(0.5)[0])


def hop():
    """Push off to a height, then a damped landing: two phases of free durations."""
    ocp = Problem("hop")
    up, down = ocp.phase("up"), ocp.phase("down")
    cost = 0
    for ph in (up, down):
        first = ph is up
        ph.time(start=0 if first else None, end=free(0.2, 1.2) if first else free(1.3, 4))
        y = ph.state("y", start=0 if first else None, end=1 if first else 0.2)
        v = ph.state("v", start=0 if first else None, end=None if first else 0)
        u = ph.control("u")
        ph.dynamics({y: v, v: u - (2.0 if first else 1.0)})
        cost += ph.integral(u**2 + 0.5)
    ocp.connect(up, down, jump={"v": -0.1})
    ocp.minimize(cost)
    return ocp


def test_several_phases():
    solution = solve(hop(), tolerance=1e-9).check()
    run = closed_loop(solution, "feedback")
    assert run.miss < 1e-7
    assert run.cost == pytest.approx(solution.objective, rel=1e-6)
    disturbed = {"y": 0.02, "v": -0.01}
    assert closed_loop(solution, "feedback", disturbed).miss < 1e-3
    assert closed_loop(solution, "open", disturbed).miss > 1e-2


def test_repeated_solves_reach_the_end_with_another_model(swing):
    ocp = Problem("drift")
    wind = ocp.parameter("wind", 0.0)
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-20, upper=20)
    ph.dynamics({x: v, v: u + wind})
    ocp.minimize(ph.integral(u**2))
    solution = solve(ocp).check()
    miss = {
        control: closed_loop(solution, control, parameters={"wind": 0.2}, rate=rate).miss
        for control, rate in (("open", None), ("feedback", None), ("mpc", 10.0))
    }
    assert miss["open"] == pytest.approx(np.hypot(0.4, 0.4), rel=1e-3)
    assert miss["feedback"] < 0.3 * miss["open"]
    assert miss["mpc"] < 0.15 * miss["open"]
    noisy = closed_loop(solution, "mpc", noise={"x": 1e-3}, rate=10.0)
    assert noisy.miss < 0.05
    assert len(noisy.solves) >= 19


def test_a_receding_horizon_stands_still():
    ocp = Problem("pendulum")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    q, w = ph.state("q", start=0.3), ph.state("w", start=0)
    u = ph.control("u", lower=-2, upper=2)
    ph.dynamics({q: w, w: 2 * q + u})
    ocp.minimize(ph.integral(q**2 + w**2 + 0.1 * u**2) + 10 * ph.final(q**2 + w**2))
    mpc = ModelPredictive(prepare(ocp), rate=10, horizon=2.0)
    x, t = np.array([0.3, 0.0]), 0.0
    for _ in range(40):
        plan = mpc.step(t, x)
        assert plan.status.name == "SOLVED"
        for _ in range(10):
            slope = np.array([x[1], 2 * x[0] + plan.control(t)[0]])
            x, t = x + 0.01 * slope, t + 0.01
    assert np.abs(x).max() < 1e-2


def test_errors_in_the_users_names(lander):
    with pytest.raises(UsageError, match="the measured state"):
        lander.feedback().plan(0.0, [1.0])
    with pytest.raises(UsageError, match="open, feedback or mpc"):
        closed_loop(lander, "pid")
    with pytest.raises(UsageError, match="several phases"):
        ModelPredictive(prepare(hop()), rate=10)
    with pytest.raises(UsageError, match="rate and horizon"):
        closed_loop(lander, "open", rate=10)
    with pytest.raises(UsageError, match="no such state"):
        closed_loop(lander, "open", noise={"z": 1.0})
