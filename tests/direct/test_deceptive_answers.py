"""Answers on a mesh that look finished and are not: controls that path constraints limit, costs of
zero, points of symmetry.
"""

from dataclasses import replace

import numpy as np
import pytest
from casadi import cos, exp, pi, sin, tan

from trajopt import Problem, Status, free, solve
from trajopt.catalogue import builder
from trajopt.direct import arc_refinement, refinement_loop
from trajopt.direct.collocation import ArcDetection, Collocation
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import PassKind
from trajopt.nlp.backends import Outcome


def drive(as_path):
    """Rest to rest in the least time against drag, with a limited force: as a control, or as a
    constraint on the acceleration.
    """
    ocp = Problem("drive")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, v = ph.state("x", start=0, end=3), ph.state("v", start=0, end=0)
    if as_path:
        a = ph.control("a")
        ph.path(a + 0.4 * v, lower=-1, upper=1, name="force")
        ph.dynamics({x: v, v: a})
    else:
        force = ph.control("force", lower=-1, upper=1)
        ph.dynamics({x: v, v: force - 0.4 * v})
    ocp.minimize(ph.final(t))
    return ocp


def test_a_limit_of_a_control_may_be_stated_as_a_path_constraint():
    bounded, mixed = (solve(drive(as_path)).check() for as_path in (False, True))
    assert mixed.objective == pytest.approx(bounded.objective, rel=1e-9)
    assert mixed.arcs[0].end == pytest.approx(bounded.arcs[0].end, rel=1e-6)


def test_a_control_kept_constant_where_a_constraint_decides_it_is_an_error():
    exact = solve(drive(False)).objective
    solution = solve(drive(True), Collocation(max_passes=1))
    assert solution.objective > 1.01 * exact
    assert solution.status is Status.COARSE
    assert solution.error > 1e-2


def test_without_arcs_such_a_control_is_set_free():
    solution = solve(drive(True), Collocation(arcs=ArcDetection(proposals=0)))
    assert all(record.remark == "" for record in solution.history)
    assert solution.objective == pytest.approx(solve(drive(False)).objective, rel=1e-4)


def test_a_power_limit_and_limits_of_acceleration_as_path_constraints():
    """By hand: a = 1 to v = P, then v^2 = P^2 + 2 P s, then a = -1."""
    ocp = Problem("car")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 40))
    x, v = ph.state("x", start=0, end=20), ph.state("v", start=0, end=0, lower=0)
    a = ph.control("a")
    ph.dynamics({x: v, v: a})
    ph.path(a, lower=-1, upper=1, name="grip")
    ph.path(a * v, upper=1.5, name="power")
    ocp.minimize(ph.final(t))
    power = 1.5
    # With top speed V the ways are P^2/2, (V^3 - P^3)/(3 P) and V^2/2.
    top = next(
        r.real
        for r in np.roots([1 / (3 * power), 0.5, 0, power**2 / 6 - 20])
        if abs(r.imag) < 1e-12 and r.real > 0
    )
    least = power + (top**2 - power**2) / (2 * power) + top
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(least, rel=1e-9)
    # From the limit of grip to that of power the control is continuous: with both held there, few
    # meshes place it.
    assert len(solution.history) <= 5


def test_a_cost_of_zero_is_reached_on_few_intervals():
    ocp = Problem("follow")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((x - t) ** 2))
    solution = solve(ocp).check()
    assert solution.objective < 1e-12
    assert max(record.intervals for record in solution.history) <= 30
    assert solution["x"](0.7) == pytest.approx(0.7, abs=1e-6)


def test_the_worst_point_of_a_symmetric_problem_is_not_its_answer():
    """Either side is as good, and to stay in the middle is stationary."""
    ocp = Problem("either side")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.maximize(ph.final(x) ** 2)
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(1.0, rel=1e-8)
    assert [record.remark for record in solution.history] == ["", "controls off centre"]


def skip_entry():
    """The largest turn of an orbit's plane by one dip into the atmosphere, in SI units."""
    mu, radius, mass, area = 3.986e14, 6.378e6, 4837.0, 11.69
    ocp = Problem("skip entry")
    ph = ocp.phase()
    ph.time(start=0, end=free(100, 2000))
    h = ph.state("h", start=111300, end=111300, lower=2e4, upper=1.2e5)
    v = ph.state("v", start=7850, end=free(7300, 7850), lower=1000)
    gamma = ph.state("gamma", start=free(-0.1, 0), end=free(0, 0.1))
    psi, latitude = ph.state("psi", start=0), ph.state("latitude", start=0)
    lift, bank = ph.control("lift", lower=0, upper=1.2), ph.control("bank", lower=-pi, upper=pi)
    r, q = radius + h, 0.5 * 1.225 * exp(-h / 7200) * v**2 * area / mass
    g = mu / r**2
    ph.dynamics(
        {
            h: v * sin(gamma),
            v: -q * (0.032 + 1.4 * lift**2) - g * sin(gamma),
            gamma: q * lift * cos(bank) / v + (v / r - g / v) * cos(gamma),
            psi: q * lift * sin(bank) / (v * cos(gamma))
            - v / r * cos(gamma) * cos(psi) * tan(latitude),
            latitude: v / r * cos(gamma) * sin(psi),
        }
    )
    ocp.maximize(1 - ph.final(cos(latitude) * cos(psi)))
    return ocp


def test_a_turn_of_zero_is_not_the_largest_turn():
    solution = solve(skip_entry()).check()
    assert solution.objective == pytest.approx(0.00966001, rel=1e-5)


def test_an_answer_that_stays_coarse_is_the_best_of_its_meshes(monkeypatch):
    # a next mesh that is worse
    monkeypatch.setattr(refinement_loop, "refine_mesh", lambda *_: Mesh.uniform(5, 3))
    solution = solve(builder("cart-pole")(), Collocation(max_passes=2))
    first, second = (record.error for record in solution.history)
    assert second > first > solution.tolerance
    assert solution.error == first
    assert solution.objective == solution.history[0].objective


def test_arcs_that_hold_are_kept_where_their_refinement_fails(monkeypatch):
    solved = []

    def failing_second(*arguments, **options):
        solution = solve_mesh(*arguments, **options)
        if solution.kind is not PassKind.ARCS:
            return solution
        solved.append(solution)
        return (
            solution
            if len(solved) == 1
            else replace(solution, result=replace(solution.result, outcome=Outcome.FAILED))
        )

    solve_mesh = arc_refinement.solve_mesh
    monkeypatch.setattr(arc_refinement, "solve_mesh", failing_second)
    solution = solve(drive(True), Collocation(tolerance=1e-13, max_passes=3))
    assert len(solved) == 2
    assert solution.status is Status.COARSE
    assert solution.error == solved[0].error < solution.history[0].error
