"""Controls that make the Hamiltonian smaller by far than those of an answer do."""

import numpy as np
import pytest

from trajopt import Problem, certify, solve
from trajopt.direct.collocation import Collocation, Search
from trajopt.direct.first_solution import first_meshes
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.direct.weierstrass import better_controls
from trajopt.guess import plain_guess


def wells(tilt=0.3):
    """Speed is cheap near two values, the slower one a little cheaper; the middle of the bounds lies on the dearer side."""
    ocp = Problem("wells")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1.5, upper=2.5)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(1 + (u**2 - 1) ** 2 + tilt * u))
    return ocp


def price(u, tilt=0.3):
    return 1 + (u**2 - 1) ** 2 + tilt * u


def stationary(tilt=0.3):
    return np.sort(np.roots([4, 0, -4, tilt]).real)


def test_the_better_of_two_minima_of_the_hamiltonian_is_found():
    best, _, dear = stationary()
    solution = solve(wells()).check()
    assert solution.history[0].objective == pytest.approx(2 * price(dear), rel=1e-9)
    assert solution.objective == pytest.approx(2 * price(best), rel=1e-9)
    assert solution["u"](1.0) == pytest.approx(best, rel=1e-6)
    assert "Hamiltonian" in solution.log[-1]


def to_and_fro():
    """Bolza's example, the deviation as a state: standing still is stationary and the worst, to and fro costs hardly anything."""
    ocp = Problem("to and fro")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, w, u = ph.state("x", start=0, end=0), ph.state("w", start=0), ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: u, w: x**2})
    ocp.minimize(ph.final(w) + ph.integral((u**2 - 1) ** 2))
    return ocp


def test_an_answer_at_a_maximum_of_the_hamiltonian_is_left():
    solution = solve(to_and_fro())
    assert solution.history[0].objective == pytest.approx(1.0)
    assert solution.objective < 0.1
    assert {check.name: check for check in certify(solution).checks}["Legendre-Clebsch"].ok


def test_maxima_are_told_from_other_minima():
    form = to_and_fro().finish()
    context = Context.start(form, Collocation(), np.zeros(0), lambda _: None)
    found = better_controls(solve_mesh(context, first_meshes(context), plain_guess(form), None))
    assert found is not None
    assert found.concave == pytest.approx(1.0)
    assert found.gain == pytest.approx(1.0)  # all of (u^2 - 1)^2


def test_the_promise_is_what_the_cost_falls_by_where_the_state_has_no_say():
    form = wells().finish()
    context = Context.start(form, Collocation(), np.zeros(0), lambda _: None)
    found = better_controls(solve_mesh(context, first_meshes(context), plain_guess(form), None))
    dear, samples = price(stationary()[2]), price(np.linspace(-1.5, 2.5, Search().samples))
    assert found is not None
    assert found.gain == pytest.approx((dear - samples.min()) / dear, rel=1e-9)
    assert found.concave == 0
    assert found.guess.phases[0].u(np.array([0.0, 0.3, 1.0])) == pytest.approx(np.full((3, 1), -1.0))


def test_the_best_answer_promises_nothing_more():
    form = wells(tilt=-0.3).finish()
    context = Context.start(form, Collocation(), np.zeros(0), lambda _: None)
    assert better_controls(solve_mesh(context, first_meshes(context), plain_guess(form), None)) is None


def test_a_motion_that_needs_controls_away_from_the_middle_is_found():
    """In the middle of its range the control has no effect, to first order: from there no motion comes nearer than any other."""
    ocp = Problem("square")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=0.5), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u**2})
    ocp.minimize(ph.integral(u**4))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(0.25, rel=1e-7)
    # Either sign does, at every point: constant on its intervals the control is one, and there is nothing to refine.
    assert [record.remark for record in solution.history] == ["", "constant controls"]
    assert solution["u"](0.37) ** 2 == pytest.approx(0.5, rel=1e-6)
