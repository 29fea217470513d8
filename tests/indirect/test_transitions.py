"""Where a control comes to its bound or leaves it: with a jump, or without one."""

import numpy as np
import pytest
from scipy.optimize import brentq

from trajopt import Problem, solve
from trajopt.indirect import initial_system, shooting, transitions
from trajopt.indirect.modes import Mode
from trajopt.indirect.shooting import Shooting
from trajopt.indirect.start import StartArc
from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import Status
from trajopt.trajectory.trajectory import Trajectory


def sliding():
    """x' = u <= 1 and u + x <= 1.5: at the bound until x = 0.5, then x = 1.5 - exp(0.5 - t); the
    control does not jump.
    """
    ocp = Problem("slide")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x", start=0), ph.control("u", lower=0, upper=1)
    ph.dynamics({x: u})
    ph.path(u + x, upper=1.5, name="sum")
    ocp.maximize(ph.final(x))
    return ocp.finish()


FASTEST, ON_LIMIT = {"u": "upper"}, {"u": "interior", "sum": "upper"}


@pytest.mark.parametrize("junction", [0.3, 1.0, 1.4, 1.8])
def test_a_junction_is_tried_the_other_way_where_newtons_method_fails(junction):
    """From a junction far away the laws on both sides show a jump."""
    arcs = Arc("main", 0, junction, FASTEST), Arc("main", junction, 2, ON_LIMIT)
    solution = Shooting().solve(sliding(), {"x": -0.5, "arcs": arcs}).check()
    assert solution.objective == pytest.approx(1.5 - np.exp(-1.5), rel=1e-10)
    assert solution.arcs[0].end == pytest.approx(0.5, rel=1e-8)
    assert any("a control jumps at a junction" in line for line in solution.log)


def test_without_the_other_way_it_fails(monkeypatch):
    monkeypatch.setattr(shooting, "reversed_junction", lambda *_: iter(()))
    arcs = Arc("main", 0, 1.0, FASTEST), Arc("main", 1.0, 2, ON_LIMIT)
    assert not Shooting().solve(sliding(), {"x": -0.5, "arcs": arcs}).success


def test_one_junction_is_tried_the_other_way_and_only_once():
    """The control does not begin at its lower bound, so that neither way is right."""
    form = sliding()
    arcs = Arc("main", 0, 1.0, {"u": "lower"}), Arc("main", 1.0, 2, ON_LIMIT)
    solution = Shooting(structures=50).solve(form, {"x": 0.5, "arcs": arcs})
    assert sum("a control jumps at a junction" in line for line in solution.log) == 1


def test_a_constraint_is_left_where_the_control_that_holds_it_comes_to_its_bound():
    solution = (
        Shooting().solve(sliding(), {"x": -0.5, "arcs": (Arc("main", 0, 2, ON_LIMIT),)}).check()
    )
    assert [dict(arc.roles) for arc in solution.arcs] == [FASTEST, ON_LIMIT]
    assert solution.objective == pytest.approx(1.5 - np.exp(-1.5), rel=1e-10)


def nose():
    """Newton's body of least resistance: H = 2 r / (1 + u^2) - costate u has two minima, and the
    slope begins at one.
    """
    ocp = Problem("nose")
    ph = ocp.phase()
    r = ph.time(start=0, end=1)
    y, u = ph.state("y", start=1, end=0), ph.control("slope", lower=0)
    ph.dynamics({y: -u})
    ocp.minimize(ph.integral(2 * r / (1 + u**2)))
    return ocp


def test_a_control_with_a_curved_hamiltonian_jumps_from_its_bound():
    """On the slope r = r1 (1 + u^2)^2 / (4 u), with u from 1 on; r = 1 and y = 0 at the end give r1
    and the last u.
    """
    ocp = nose()
    solution = Shooting().solve(ocp.finish(), solve(ocp)).check()
    last = np.polynomial.Polynomial([-7 / 4, 0, 1, 0, 3 / 4])
    steepest = brentq(
        lambda s: (last(s) - np.log(s)) * s / (1 + s**2) ** 2 - 1, 1.0, 10.0, xtol=1e-14
    )
    assert solution.arcs[0].end == pytest.approx(4 * steepest / (1 + steepest**2) ** 2, rel=1e-9)
    assert solution["slope"](solution.arcs[1].start + 1e-9) == pytest.approx(1.0, abs=1e-7)


def test_without_the_jump_another_extremal_is_found(monkeypatch):
    ocp = nose()
    direct = solve(ocp)
    monkeypatch.setattr(initial_system, "continuous", lambda *_: True)
    solution = Shooting().solve(ocp.finish(), direct)
    assert solution.status is not Status.SOLVED or solution.objective > 2 * direct.objective


@pytest.mark.parametrize("end", [0, -1])
def test_a_control_that_reaches_its_bound_smoothly_does_not_jump(end):
    """Its movement near the junction needs two points, on a mesh however fine: continuity of H
    would have a double root.
    """
    none = Curve.linear(np.array([0.0, 1.0]), np.zeros((2, 0)))
    trajectory = Trajectory(none, none, none, none, breaks=np.linspace(0, 1, 1001))
    arc = StartArc(0, Mode(("interior",)), 0.0, 1.0, trajectory)
    assert np.count_nonzero(transitions._near_junction(arc, end)) == 2
