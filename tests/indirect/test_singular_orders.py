"""Singular controls whose switching functions need different numbers of time derivatives."""

import numpy as np
import pytest
from casadi import cos, sin

from trajopt import Problem, free, solve
from trajopt.indirect import control_law
from trajopt.indirect.control_law import GuessPoints, arc_law
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.modes import Mode
from trajopt.indirect.shooting import Shooting


def test_controls_of_order_one_and_two_together():
    """y' = u comes to cos t as quickly as it can and stays; x'' = w is on sin t all the time."""
    ocp = Problem("two orders")
    ph = ocp.phase()
    t = ph.time(start=0, end=3)
    y, x, v = ph.state("y", start=2), ph.state("x", start=0), ph.state("v", start=1)
    u, w = ph.control("u", lower=-2, upper=2), ph.control("w", lower=-3, upper=3)
    ph.dynamics({y: u, x: v, v: w})
    ocp.minimize(ph.integral((y - cos(t)) ** 2 + (x - sin(t)) ** 2))
    solution = Shooting().solve(ocp.finish(), solve(ocp)).check()
    meeting = 0.5
    for _ in range(60):  # 2 - 2 t = cos t
        meeting = (2 - np.cos(meeting)) / 2
    assert [dict(arc.roles) for arc in solution.arcs] == [
        {"u": "lower", "w": "singular"},
        {"u": "singular", "w": "singular"},
    ]
    assert solution.arcs[0].end == pytest.approx(meeting, rel=1e-9)
    later = np.linspace(1.0, 2.9, 20)
    np.testing.assert_allclose([solution["w"](s) for s in later], -np.sin(later), atol=1e-7)
    np.testing.assert_allclose([solution["u"](s) for s in later], -np.sin(later), atol=1e-7)


@pytest.fixture
def steering():
    """A course towards a goal with a rudder b of limited rate: the second derivative has the
    costate of the heading as factor.

    That costate vanishes on the singular arc, and is small but not zero at points of a guess.
    """
    ocp = Problem("steering")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 20))
    x, y = ph.state("x", start=0, end=5), ph.state("y", start=0, end=1)
    heading = ph.state("heading", start=0, end=0)
    b = ph.state("b", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: cos(heading), y: sin(heading), heading: sin(b), b: u})
    ocp.minimize(ph.final(t))
    states = np.array([2.5, 0.5, 0.2, 1e-2])[:, None]
    costates = np.array([-np.cos(0.2), -np.sin(0.2), 1e-3, 1e-5])[:, None]
    samples = GuessPoints(
        (np.ones((1, 1)), states, costates, np.zeros((0, 1)), np.zeros((0, 1)), np.zeros((0, 1))),
        np.zeros((1, 1)),
        np.zeros((0, 1)),
    )
    return phase_hamiltonians(ocp.finish())[0], samples


def test_a_bracket_that_vanishes_on_the_singular_arc_only_does_not_count(steering):
    law = arc_law(steering[0], Mode(("singular",)), steering[1])
    assert [len(functions) for functions in law.switching] == [4]


def test_at_the_points_of_the_guess_itself_it_would_count(steering, monkeypatch):
    monkeypatch.setattr(control_law, "_where_zero", lambda vanishing, arc, samples: samples)
    law = arc_law(steering[0], Mode(("singular",)), steering[1])
    assert [len(functions) for functions in law.switching] == [2]
