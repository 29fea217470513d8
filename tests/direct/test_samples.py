"""Costs and conditions on states at given times inside a phase, against phases that end there."""

import itertools

import numpy as np
import pytest

from trajopt import Problem, certify, prepare, solve
from trajopt.errors import ProblemError, UsageError


def through(targets, weight=None):
    """From rest at 0 through (or near) places at given times, to rest: a spline."""
    ocp = Problem("through")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=0), ph.state("v", start=0, end=0)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    cost = ph.integral(u**2)
    for time, place in targets.items():
        if weight is None:
            ocp.require(ph.at(time, x), equals=place, name=f"at {time}")
        else:
            cost += weight * (ph.at(time, x + 0 * t) - place) ** 2
    ocp.minimize(cost)
    return ocp


def in_phases(targets):
    ocp = Problem("phases")
    times, cost, before = [0, *targets, 1], 0, None
    for number, (a, b) in enumerate(itertools.pairwise(times)):
        ph = ocp.phase(f"{number}")
        ph.time(start=a, end=b)
        first, last = number == 0, b == 1
        x = ph.state("x", start=0 if first else None, end=0 if last else targets[b])
        v = ph.state("v", start=0 if first else None, end=0 if last else None)
        u = ph.control("u")
        ph.dynamics({x: v, v: u})
        cost += ph.integral(u**2)
        if before is not None:
            ocp.connect(before, ph)
        before = ph
    ocp.minimize(cost)
    return ocp


def test_conditions_inside_a_phase_are_those_of_phases_that_end_there():
    targets = {0.3: 1.0, 0.55: -0.4}
    one, three = solve(through(targets)).check(), solve(in_phases(targets)).check()
    assert one.objective == pytest.approx(three.objective, rel=1e-7)
    for number, times in enumerate(([0.0, 0.2], [0.35, 0.5], [0.6, 0.9])):
        phase = three.phases[f"{number}"]
        for name in ("x", "v"):
            np.testing.assert_allclose(one[name](times), phase[name](times), atol=1e-6)
            np.testing.assert_allclose(
                one.costate(name)(times), phase.costates[name](times), rtol=1e-5, atol=1e-4
            )
    jump = one.costate("x")(0.3 - 1e-9) - one.costate("x")(0.3 + 1e-9)
    assert abs(jump) == pytest.approx(abs(one.multipliers["at 0.3"]), rel=1e-6)


def test_a_cost_on_samples_tends_to_the_conditions():
    targets = {0.3: 1.0, 0.7: -0.4}
    exact, soft = solve(through(targets)).check(), solve(through(targets, 1e6)).check()
    assert soft.objective == pytest.approx(exact.objective, rel=1e-2)
    assert soft["x"](0.3) == pytest.approx(1.0, abs=1e-2)
    s = soft.sensitivity("x(tf)")
    moved = prepare(through(targets, 1e6), soft).solve(final={"x": 1e-3}).check()
    assert s.objective == pytest.approx((moved.objective - soft.objective) / 1e-3, rel=1e-2)


def test_a_switching_control_with_a_cost_inside():
    ocp = Problem("bounded")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, v = ph.state("x", start=0, end=0), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.maximize(ph.at(1.0, x))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(0.25, rel=1e-6)


def test_what_is_not_supported_is_said():
    ocp = through({0.5: 1.0})
    with pytest.raises(UsageError, match=r"certify cannot use values .*ph\.at"):
        certify(solve(ocp))
    refused = solve(through({0.5: 1.0}), "indirect")
    assert "ph.at" in " ".join((*refused.explanation, *refused.log))
    with pytest.raises(ProblemError, match="not inside phase"):
        through({1.5: 1.0}).finish()
    ocp = Problem("free")
    ph = ocp.phase()
    ph.time(start=0, end=None)
    x, u = ph.state("x", start=0), ph.control("u")
    with pytest.raises(ProblemError, match="controls or algebraic"):
        ph.at(0.5, u)
    with pytest.raises(ProblemError, match=r"expected: +a number"):
        ph.at(x, x)
    ph.dynamics({x: u})
    ocp.minimize(ph.at(0.5, x) ** 2)
    with pytest.raises(ProblemError, match="not given numbers"):
        ocp.finish()
