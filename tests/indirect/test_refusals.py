"""What shooting cannot solve is refused with the reason, before Newton's method begins; what is
near to it is solved.
"""

import time

import numpy as np
import pytest

from trajopt import Problem, solve
from trajopt.indirect.control_law import GuessPoints, arc_law
from trajopt.indirect.hamiltonian import UnsupportedError, phase_hamiltonians
from trajopt.indirect.modes import Mode
from trajopt.indirect.shooting import Shooting


def regulated(order, bound=1.0):
    """A chain of integrators from 1 to the least integral of its squared position: a singular arc
    of this order, at zero.
    """
    ocp = Problem(f"{order} integrators")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    states = [ph.state(f"x{i}", start=float(i == 0)) for i in range(order)]
    u = ph.control("u", lower=-bound, upper=bound)
    ph.dynamics(dict(zip(states, [*states[1:], u], strict=True)))
    ocp.minimize(ph.integral(states[0] ** 2))
    return ocp


def test_chattering_is_refused():
    """Fuller's problem: before the singular arc of order two the control
    switches infinitely often.
    """
    direct = solve(regulated(2))
    begun = time.process_time()
    solution = Shooting().solve(regulated(2).finish(), direct)
    assert time.process_time() - begun < 1.0
    assert not solution.success
    assert solution.iterations == 0
    assert "control 'u' of phase 'main' chatters at t = 2.6" in solution.explanation[0]
    assert "order 2" in solution.explanation[1]


def test_a_jump_to_a_singular_arc_of_order_one_is_none():
    """x' = u, |u| <= 1: x = 1 - t, then zero. The cost is 1/3."""
    solution = solve(regulated(1), "both").check()
    assert [arc.roles["u"] for arc in solution.arcs] == ["lower", "singular"]
    assert solution.objective == pytest.approx(1 / 3, rel=1e-12)


def beside_each_other(area):
    """Two integrators, each to the least integral of its square; with ``area`` their controls do
    not commute.
    """
    ocp = Problem("side by side")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    x, y = ph.state("x", start=1), ph.state("y", start=2)
    u, w = ph.control("u", lower=-1, upper=1), ph.control("w", lower=-1, upper=1)
    rates = {x: u, y: w}
    if area:
        rates[ph.state("area", start=0)] = x * w - y * u
    ph.dynamics(rates)
    ocp.minimize(ph.integral(x**2 + y**2))
    return ocp


def test_controls_singular_together_are_solved_if_they_commute():
    """Each follows its own law, as if it were alone: 1/3 + 8/3."""
    solution = solve(beside_each_other(area=False), "both").check()
    assert solution.arcs[-1].roles == {"u": "singular", "w": "singular"}
    assert solution.objective == pytest.approx(3, rel=1e-12)
    assert [arc.end for arc in solution.arcs] == pytest.approx([1, 2, 3], rel=1e-10)


def test_controls_singular_together_are_refused_if_they_do_not():
    ham = phase_hamiltonians(beside_each_other(area=True).finish())[0]
    points = (
        np.array([[0.5]]),
        np.array([[0.1], [0.2], [0.3]]),
        np.array([[0.2], [0.1], [0.4]]),
        np.array([[1.0]]),
    )
    samples = GuessPoints(
        (*points, np.zeros((0, 1)), np.zeros((0, 1))), np.zeros((2, 1)), np.zeros((0, 1))
    )
    with pytest.raises(
        UnsupportedError, match="are singular together, and act on each other's switching functions"
    ):
        arc_law(ham, Mode(("singular", "singular")), samples)
