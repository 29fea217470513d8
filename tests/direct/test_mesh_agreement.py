"""Solutions whose estimated error stalls are solved where meshes of another kind agree with them,
and only there.
"""

from dataclasses import replace

import numpy as np
import pytest
from casadi import sin

from trajopt import Collocation, Mesh, Problem, solve
from trajopt.direct import refinement_loop
from trajopt.direct.collocation import ArcDetection
from trajopt.direct.mesh_agreement import (
    cost_difference,
    difference,
    halved,
    judged_by,
    raised,
    state_difference,
)
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.guess.regular import sound_guess
from trajopt.trajectory.solution import Status


def values(curve, tau):
    """Values at fractions of the duration."""
    return curve.evaluate(curve.breaks[0] + tau * (curve.breaks[-1] - curve.breaks[0]))


def pendulum():
    ocp = Problem("pendulum")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    q = ph.state("q", start=0, end=2)
    w = ph.state("w", start=0, end=0)
    torque = ph.control("torque")
    ph.dynamics({q: w, w: torque - sin(q)})
    ocp.minimize(ph.integral(torque**2))
    return ocp


def on_mesh(intervals, degree):
    form = pendulum().finish()
    context = Context.start(form, Collocation(), form.parameter_values(None), lambda line: None)
    return solve_mesh(context, (Mesh.uniform(intervals, degree),), sound_guess(form, np.zeros(0)))


@pytest.fixture(scope="module")
def coarse():
    return on_mesh(4, 3)


def test_the_difference_is_that_of_cost_and_states(coarse):
    fine = on_mesh(12, 6)
    states = state_difference(fine, coarse)
    tau = np.linspace(0, 1, 2001)
    x, y = values(fine.trajectories.phases[0].x, tau), values(coarse.trajectories.phases[0].x, tau)
    mean_squares = np.trapezoid(((x - y) / fine.phases[0].x_size) ** 2, tau, axis=0)
    assert states == pytest.approx(np.sqrt(mean_squares.max()), rel=1e-3)
    assert cost_difference(fine, coarse) == pytest.approx(
        abs(coarse.objective / fine.objective - 1), rel=1e-3
    )
    assert difference(fine, coarse) == max(states, cost_difference(fine, coarse)) > 1e-5
    assert difference(fine, fine) == 0


def test_meshes_of_another_kind(coarse):
    where = np.array([False, True, False, True])
    narrow, high = halved(coarse.phases[0], where), raised(coarse.phases[0], where)
    assert narrow.breaks == pytest.approx([0, 0.25, 0.375, 0.5, 0.75, 0.875, 1])
    assert narrow.degrees.tolist() == [3] * 6
    assert high.degrees.tolist() == [3, 5, 3, 5]


def test_the_history_has_the_evidence(coarse):
    judged = judged_by(coarse, 3e-7, "agrees with another")
    assert judged.error == pytest.approx(3e-7)
    assert judged.record.remark == "agrees with another to 3.0e-07"
    assert replace(judged, evidence="").record.remark == coarse.record.remark


def least_fuel():
    """A mass moved by 1 in 3 seconds with |u| <= 2 and the least integral of |u|: 2
    (3 - sqrt(7)).
    """
    ocp = Problem("least fuel")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    x, v = ph.state("x", start=1, end=0), ph.state("v", start=0, end=0)
    u, size = ph.control("u", lower=-2, upper=2), ph.control("size", lower=0)
    ph.dynamics({x: v, v: u})
    ph.path(size - u, lower=0)
    ph.path(size + u, lower=0)
    ocp.minimize(ph.integral(size))
    return ocp


WITHOUT_ARCS = Collocation(arcs=ArcDetection(proposals=0), max_passes=12)


EVIDENCE = "agrees with narrower intervals and with higher degrees"


@pytest.mark.slow
def test_a_stalled_estimate_is_judged_by_other_meshes():
    """Several joints at their limits of speed in two phases: the estimate stays at 7e-6."""
    from tests.benchmarks.suite.phases import two_phase_manipulator

    solution = solve(two_phase_manipulator()).check()
    judged = [one for one in solution.history if EVIDENCE in one.remark]
    assert [one.objective for one in judged] == [solution.objective]
    assert solution.error == judged[0].error <= 1e-6


def test_limits_that_are_violated_between_the_nodes_need_a_finer_mesh():
    """Without moving knots the switches lie inside intervals; there size < |u| between the nodes,
    whatever the cost.
    """
    solution = solve(least_fuel(), WITHOUT_ARCS).check()
    assert solution.objective == pytest.approx(2 * (3 - np.sqrt(7)), rel=1e-6)
    assert not any(EVIDENCE in one.remark for one in solution.history)


def test_meshes_that_differ_are_no_evidence(monkeypatch):
    """The first meshes are off by 1e-4 and more, whoever asks for evidence."""
    monkeypatch.setattr(refinement_loop, "_stalls", lambda before, current: True)
    solution = solve(least_fuel(), replace(WITHOUT_ARCS, max_passes=4))
    assert solution.status is Status.COARSE
    assert not any("agrees" in one.remark for one in solution.history)
