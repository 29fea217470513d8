"""Arcs on which a constraint decides a control that acts linearly: speed, power, temperature
limits.
"""

import casadi
import numpy as np
import pytest
from scipy.optimize import brentq

from trajopt import Problem, certify, free, solve, table
from trajopt.direct import arc_refinement
from trajopt.direct.arc_structure import Structure, arc_mesh, wrong_signs
from trajopt.direct.collocation import ArcDetection, Collocation
from trajopt.direct.first_solution import first_meshes
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.guess.plain import plain_guess
from trajopt.trajectory.arcs import AT_UPPER, FREE


def sprint(**limits):
    """Ten metres from rest to rest, |u| <= 1, as fast as possible."""
    ocp = Problem("sprint")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    x, v = ph.state("x", start=0, end=10), ph.state("v", start=0, end=0, **limits)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    return ocp, ph, v, u


def knots(solution):
    return [arc.end for arc in solution.arcs[:-1]]


def test_a_speed_limit():
    """Two seconds up to the limit, three on it, two down."""
    ocp, *_ = sprint(upper=2)
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(7, rel=1e-8)
    np.testing.assert_allclose(knots(solution), [2, 5], atol=1e-6)
    t = np.linspace(2.01, 4.99, 50)
    np.testing.assert_allclose(solution["v"](t), 2, atol=1e-7)
    np.testing.assert_allclose(solution["u"](t), 0, atol=1e-6)


def test_a_power_limit():
    """u = 1 to v = 1, then u v = 1, then brakes: v from the way that is left, the time from v."""
    ocp, ph, v, u = sprint()
    ph.path(u * v, upper=1, name="power")
    solution = solve(ocp).check()
    top = brentq(lambda v: 0.5 + (v**3 - 1) / 3 + v**2 / 2 - 10, 1, 5)
    assert solution.objective == pytest.approx(1 + (top**2 - 1) / 2 + top, rel=1e-6)
    np.testing.assert_allclose(knots(solution), [1, 1 + (top**2 - 1) / 2], rtol=1e-6)
    t = np.linspace(1.1, knots(solution)[1] - 0.1, 50)
    np.testing.assert_allclose(solution["u"](t) * solution["v"](t), 1, atol=1e-5)


def test_a_limit_that_depends_on_the_place():
    """v <= 1 - sin(2 pi p) / 2 on a course of length 1, v' = u - v: the limit is left where it asks
    for more than u = 1.
    """
    ocp = Problem("race car")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    p, v = ph.state("p", start=0, end=1), ph.state("v", start=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({p: v, v: u - v})
    ph.path(v - 1 + casadi.sin(2 * np.pi * p) / 2, upper=0, name="limit")
    ocp.minimize(ph.final(t))
    solution = solve(ocp).check()
    first, last = knots(solution)
    at = np.linspace(first, last, 50)
    np.testing.assert_allclose(
        solution["v"](at), 1 - np.sin(2 * np.pi * solution["p"](at)) / 2, atol=1e-7
    )
    assert solution["u"](last - 1e-9) == pytest.approx(1, abs=1e-5)
    # Before the limit v = 1 - exp(-t), p = t - v; it is met where the two agree.
    met = brentq(
        lambda t: (1 - np.exp(-t)) - 1 + np.sin(2 * np.pi * (t - 1 + np.exp(-t))) / 2, 0.5, 0.9
    )
    assert first == pytest.approx(met, rel=1e-6)
    assert certify(solution).ok


@pytest.mark.parametrize("jerk", [4, 40])
def test_a_limit_that_the_control_reaches_through_another_state(jerk):
    """Limits of speed, acceleration and jerk: an arc along the speed limit begins without
    acceleration, and exactly there.
    """
    way, speed, acceleration = 10, 3, 2
    ocp = Problem("smooth start and stop")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    x = ph.state("x", start=0, end=way)
    v = ph.state("v", start=0, end=0, lower=-speed, upper=speed)
    a = ph.state("a", start=0, end=0, lower=-acceleration, upper=acceleration)
    j = ph.control("j", lower=-jerk, upper=jerk)
    ph.dynamics({x: v, v: a, a: j})
    ocp.minimize(ph.final(t))
    solution = solve(ocp).check()
    rise = acceleration / jerk
    starting = speed / acceleration + rise
    end = 2 * starting + (way - speed * starting) / speed
    assert solution.objective == pytest.approx(end, rel=1e-9)
    ups = np.array([rise, starting - rise, starting])
    np.testing.assert_allclose(knots(solution), [*ups, *(end - ups[::-1])], atol=1e-6)
    assert abs(solution["a"](starting)) < 1e-6
    assert certify(solution).ok


def test_a_limit_to_the_end():
    """Heat u - 0.8 T up to T = 1, and then held there, the last part being worth least."""
    ocp = Problem("heating")
    ph = ocp.phase()
    t = ph.time(start=0, end=5)
    T, y = ph.state("T", start=0, upper=1), ph.state("y", start=0)
    u = ph.control("u", lower=0, upper=2)
    ph.dynamics({T: u - 0.8 * T, y: u * casadi.exp(-0.2 * t)})
    ocp.maximize(ph.final(y))
    solution = solve(ocp).check()
    hot = -np.log(0.6) / 0.8
    assert knots(solution) == pytest.approx([hot], rel=1e-6)
    gain = 2 * (1 - np.exp(-0.2 * hot)) / 0.2 + 0.8 * (np.exp(-0.2 * hot) - np.exp(-1)) / 0.2
    assert solution.objective == pytest.approx(gain, rel=1e-8)


def test_one_constraint_after_another():
    """Two links with limited rates: the second motor keeps first its own joint, then the other's,
    at the limit.
    """
    ocp = Problem("arm")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 50))
    q = [ph.state(f"q{i}", start=0, end=end) for i, end in enumerate((1.0, -0.5))]
    w = [ph.state(f"w{i}", start=0, end=0, lower=-0.6, upper=0.6) for i in range(2)]
    u = [ph.control(f"u{i}", lower=-1, upper=1) for i in range(2)]
    c, s = casadi.cos(q[1]), casadi.sin(q[1])
    mass = casadi.vertcat(casadi.horzcat(3 + 2 * c, 1 + c), casadi.horzcat(1 + c, 1))
    bias = casadi.vertcat(-s * (2 * w[0] * w[1] + w[1] ** 2), s * w[0] ** 2)
    a = casadi.solve(mass, casadi.vertcat(*u) - bias)
    ph.dynamics({q[0]: w[0], q[1]: w[1], w[0]: a[0], w[1]: a[1]})
    ocp.minimize(ph.final(t))
    solution = solve(ocp).check()
    assert len(solution.history) <= 4
    assert len(solution.arcs) == 7
    at = np.linspace(0, solution.objective, 400)
    for name in ("w0", "w1"):
        assert np.abs(solution[name](at)).max() < 0.6 + 1e-6
    first, second, third = knots(solution)[:3]
    np.testing.assert_allclose(solution["w1"](np.linspace(first, second, 20)), -0.6, atol=1e-7)
    np.testing.assert_allclose(solution["w0"](np.linspace(second, third, 20)), 0.6, atol=1e-7)


def test_arcs_that_shrink_to_nothing_are_given_up():
    """A car that can turn on a circle of 2 m moves 2 m sideways: arcs of full lock forth and back,
    and none between.
    """
    ocp = Problem("parking")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 50))
    x = ph.state("x", start=0, end=0)
    y = ph.state("y", start=0, end=2)
    heading = ph.state("heading", start=0, end=0)
    v = ph.control("v", lower=-1, upper=1)
    curvature = ph.control("curvature", lower=-0.5, upper=0.5)
    ph.dynamics({x: v * casadi.cos(heading), y: v * casadi.sin(heading), heading: v * curvature})
    ocp.minimize(ph.final(t))
    solution = solve(ocp).check()
    assert min(arc.end - arc.start for arc in solution.arcs) > 0.01
    middles = np.array([0.5 * (arc.start + arc.end) for arc in solution.arcs])
    np.testing.assert_allclose(np.abs(solution["curvature"](middles)), 0.5, atol=1e-6)
    np.testing.assert_allclose(np.abs(solution["v"](middles)), 1, atol=1e-6)


def test_arcs_with_the_wrong_push_are_not_an_answer():
    """A quadrotor in a plane, as fast as possible: the arcs first read off include one on which the
    Hamiltonian is not least.
    """
    ocp = Problem("quadrotor")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.3, 20))
    x = ph.state("x", start=0, end=5)
    z = ph.state("z", start=0, end=5)
    tilt = ph.state("tilt", start=0, end=0)
    vx, vz = ph.state("vx", start=0, end=0), ph.state("vz", start=0, end=0)
    thrust, rate = ph.control("thrust", lower=1, upper=20), ph.control("rate", lower=-10, upper=10)
    ph.dynamics(
        {
            x: vx,
            z: vz,
            tilt: rate,
            vx: thrust * casadi.sin(tilt),
            vz: thrust * casadi.cos(tilt) - 9.81,
        }
    )
    ocp.minimize(ph.final(t))
    solution = solve(ocp).check()
    verdicts = {row.name: row.ok for row in certify(solution).checks}
    assert verdicts["minimum of H"]


@pytest.mark.parametrize(("sense", "fraction"), [("maximize", 0.0), ("minimize", 1.0)])
def test_the_multiplier_of_a_held_constraint_must_have_the_right_sign(sense, fraction):
    """x' = u along the limit 1: right for the largest integral of x, and refuted for the least."""
    ocp = Problem("held")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    x, u = ph.state("x", start=1, upper=1), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    getattr(ocp, sense)(ph.integral(x))
    form = ocp.finish()
    context = Context.start(form, Collocation(), form.parameter_values(), lambda line: None)
    structure = Structure(np.array([0.0, 3.0]), np.array([[FREE]]), np.array([[AT_UPPER]]))
    mesh, times = arc_mesh(structure, np.array([True]), ArcDetection())
    solution = solve_mesh(context, (mesh,), plain_guess(form), context.from_feasible, (times,))
    assert solution.solved
    assert solution.objective == pytest.approx(3, rel=1e-7)
    assert wrong_signs(solution.phases[0]).fraction == pytest.approx(fraction, abs=1e-3)


def test_arcs_once_solved_are_not_lost_on_a_finer_mesh():
    """A house heated through a day of two tariffs: it rides its least and its largest temperature,
    between a few switches.
    """
    hours = 3600 * np.arange(0, 25, 2.0)
    outside = table(hours, values=5 + 4 * np.sin(2 * np.pi * (hours / 86400 - 0.3)))
    ocp = Problem("house", symbols=casadi.MX)
    ph = ocp.phase()
    t = ph.time(start=0, end=86400.0)
    air, wall = ph.state("air", start=20, lower=18, upper=24), ph.state("wall", start=18)
    heat = ph.control("heat", lower=0, upper=8000)
    tariff = (
        0.2 + 0.1 * casadi.tanh((t - 7 * 3600) / 1800) - 0.1 * casadi.tanh((t - 21 * 3600) / 1800)
    )
    cold = outside(t)
    ph.dynamics(
        {
            air: (heat - 250 * (air - wall) - 80 * (air - cold)) / 2e6,
            wall: (250 * (air - wall) - 150 * (wall - cold)) / 3e7,
        }
    )
    ocp.require(ph.final(air), lower=20, name="warm at the end")
    ocp.minimize(ph.integral(tariff * heat) / 3.6e6)
    solution = solve(ocp).check()
    on_arcs = [record.objective for record in solution.history if record.remark == "moving knots"]
    assert len(on_arcs) > 1
    np.testing.assert_allclose(on_arcs, solution.objective, rtol=1e-5)


def test_many_arcs_along_constraints_are_signs_of_a_poor_mesh(monkeypatch):
    """A cart along its largest speed has three arcs; told that there are thirty, refinement goes on
    without.
    """

    def answers(arcs):
        times = np.linspace(0.0, 1.0, arcs + 1)
        roles, held = np.zeros((arcs, 1), dtype=int), np.zeros((arcs, 2), dtype=int)
        held[::2, 1] = 1
        monkeypatch.setattr(
            arc_refinement,
            "find_structure",
            lambda *_: (Structure(times, roles, held), np.zeros(0, dtype=int)),
        )
        ocp = Problem("cart")
        ph = ocp.phase()
        ph.time(start=0, end=1.0)
        x = ph.state("x", start=0, end=0.2)
        v = ph.state("v", start=0, end=0, upper=0.3)
        u = ph.control("u", lower=-1, upper=1)
        ph.dynamics({x: v, v: u})
        ocp.minimize(ph.integral(u * v))
        context = Context.start(ocp.finish(), Collocation(), np.zeros(0), lambda _: None)
        solution = solve_mesh(context, first_meshes(context), plain_guess(context.form))
        return arc_refinement.proposed_arcs(solution)

    assert answers(3).clear
    assert not answers(30).clear
