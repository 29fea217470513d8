"""Motions with stiff rates are re-integrated by an implicit method."""

import casadi
import numpy as np
import pytest

from tests.benchmarks.planted.by_hand import answer, phase
from trajopt import Problem, certify, solve
from trajopt.certificate.motion import Reintegration, scheme_for
from trajopt.certificate.sampled_solution import along


def followed(rate):
    """x' = -rate (x - cos t) beside y' = x + u, from 0 to 1 with the least integral of u^2."""
    ocp = Problem("stiff")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x, y = ph.state("x", start=1), ph.state("y", start=0, end=1)
    u = ph.control("u")
    ph.dynamics({x: -rate * (x - casadi.cos(t)), y: x + u})
    ocp.minimize(ph.integral(u**2))
    return ocp


@pytest.mark.parametrize("rate", [1e5, 1e6, 1e8])
def test_a_stiff_motion_is_feasible(rate):
    certificate = certify(solve(followed(rate)).check())
    row = certificate["re-integration of intervals"]
    assert row.remark.startswith("radau")
    assert row.value < 1e-9
    assert not certificate.missing("feasible")


def test_a_tank_is_filled_from_its_zero_level():
    """The polynomial of the level begins at zero up to round-off, where the root ends."""
    ocp = Problem("tank")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    level = ph.state("level", start=0, lower=0)
    second = ph.state("second", start=0, end=0.4, lower=0)
    u = ph.control("u", lower=0, upper=1)
    flow = casadi.sqrt(level)
    ph.dynamics({level: u - 0.7 * flow, second: 0.5 * flow - 0.4 * casadi.sqrt(second)})
    ocp.minimize(ph.integral(u**2))
    assert certify(solve(ocp).check()).claim == "minimum"


def off_the_slow_motion(rate, wrong):
    """The slow motion of x' = -rate (x - cos t) and its integral; changed by ``wrong``."""
    ocp = Problem("slow")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x"), ph.control("u")
    ph.dynamics({x: -rate * (x - casadi.cos(t)) + u})
    ocp.minimize(ph.integral(u**2))

    def slow(t):
        return (rate**2 * np.cos(t) + rate * np.sin(t)) / (1 + rate**2) + wrong * t**2

    return ocp, answer(0.0, phase(np.linspace(0, 1, 6), {"x": slow}, {"u": 0.0}, {"x": 0.0}))


def test_implicit_steps_see_what_is_wrong_and_no_more():
    for wrong in (0.0, 1e-3):
        problem, given = off_the_slow_motion(1e6, wrong)
        motion = Reintegration(along(problem.finish(), given).phases[0], scheme_for("direct"))
        assert motion.stiff
        size = motion.phase.sizes[0]
        assert motion.defects.max() * size == pytest.approx(wrong, rel=1e-6, abs=1e-10)
