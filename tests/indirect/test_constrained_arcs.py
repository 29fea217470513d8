"""Arcs on constraints that used to stop shooting, each on a small problem with a known answer."""

from dataclasses import replace

import numpy as np
import pytest

import trajopt.indirect.initial_system
from trajopt import Problem, solve
from trajopt.deadline import Budget
from trajopt.indirect.costate_convention import flow_costate
from trajopt.indirect.hamiltonian import boundary_rows, phase_hamiltonians
from trajopt.indirect.initial_system import shooting_problem
from trajopt.indirect.modes import Mode
from trajopt.indirect.settings import READING, START
from trajopt.indirect.shooting import Shooting, _Run
from trajopt.indirect.start import StartArc, endpoint_values
from trajopt.indirect.structure_detection import Sampled, detect, start_of_solution
from trajopt.trajectory.arcs import Cells
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectory


def shot(ocp):
    solution = solve(ocp, "both")
    assert solution.success, (solution.explanation, solution.log)
    return solution


def prepared_of(ocp, guess):
    form, options = ocp.finish(), Shooting()
    hams, p = phase_hamiltonians(form), form.parameter_values(None)
    return shooting_problem(form, hams, next(options._starts(form, hams, guess, p))[1], p, options)


def isoperimetric():
    """Farthest with a given effort: x' = u, integral of u^2 at most 4 in a time of 1, so u = 2."""
    ocp = Problem("farthest")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", guess=1.0)
    ph.dynamics({x: u})
    ocp.require(ph.integral(u**2), upper=4, name="effort")
    ocp.maximize(ph.final(x))
    return ocp


def test_a_condition_on_an_integral_is_active():
    solution = shot(isoperimetric())
    assert solution.objective == pytest.approx(2.0, rel=1e-10)
    # dx(1)/d(effort) = 1 / (2 sqrt(effort))
    assert solution.multipliers["effort"] == pytest.approx(0.25, rel=1e-8)


def test_integrals_that_a_start_does_not_have_come_by_quadrature():
    ocp = isoperimetric()
    prepared = prepared_of(ocp, solve(ocp))
    from dataclasses import replace

    bare = replace(prepared.start, integrals=None)
    form = ocp.finish()
    assert endpoint_values(form, bare, np.zeros(0))[-1] == pytest.approx(4.0, rel=1e-6)


@pytest.mark.parametrize(("size", "limit"), [(2, 1), (1e7, 0)])
def test_a_state_constraint_that_is_met_only_at_the_end(size, limit):
    """Effort against distance: u = 1.5 (1 - t) ends at the limit of a path constraint with a speed
    of 0.75.

    A limit of zero says nothing about the size of the constraint, as that of a force.
    """
    ocp = Problem("to the wall")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0), ph.state("v", start=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(size * (x - 0.5) + limit, upper=limit, name="wall")
    ocp.minimize(ph.integral(u**2 / 2) - 3 * ph.final(x))
    solution = shot(ocp)
    assert solution.objective == pytest.approx(0.375 - 1.5, rel=1e-10)
    assert solution["v"](1.0) == pytest.approx(0.75, rel=1e-8)
    assert "end of wall" in [row.name for row in boundary_rows(ocp.finish())]


def test_a_control_slides_along_a_mixed_constraint_out_of_its_bound():
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
    solution = shot(ocp)
    assert solution.objective == pytest.approx(1.5 - np.exp(-1.5), rel=1e-10)
    assert [arc.end for arc in solution.arcs] == pytest.approx([0.5, 2.0], rel=1e-9)
    assert dict(solution.arcs[1].roles) == {"u": "interior", "sum": "upper"}


def test_an_arc_that_begins_on_a_given_start_value_brings_no_equations():
    """A drift of 1 - t against x <= 0, from x = 0: held until t = 1, then free; the
    effort is 1/6.
    """
    ocp = Problem("held at first")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x, u = ph.state("x", start=0, upper=0), ph.control("u")
    ph.dynamics({x: u + 1 - t})
    ocp.minimize(ph.integral(u**2 / 2))
    solution = shot(ocp)
    assert solution.objective == pytest.approx(1 / 6, rel=1e-10)
    assert solution.arcs[0].end == pytest.approx(1.0, rel=1e-6)
    prepared = prepared_of(ocp, solution.comparison.direct)
    residual, matrix = prepared.system.evaluate(prepared.unknowns)
    assert residual.size == matrix.shape[1]
    assert prepared.system.arcs[0].entry.kept == ()


def leaning(rate=12.0):
    """An inverted pendulum drawn beyond its limit: on the arc along it an error of the flow's
    costate grows as exp(12 t).
    """
    ocp = Problem("leaning")
    ph = ocp.phase()
    ph.time(start=0, end=1.2)
    x = ph.state("x", start=0, end=0, upper=0.1)
    v = ph.state("v", start=0, end=0)
    u = ph.control("u")
    ph.dynamics({x: v, v: rate**2 * x + u})
    ocp.minimize(ph.integral(100 * (x - 0.3) ** 2 + 1e-3 * u**2))
    return ocp


def test_costates_on_a_constrained_arc_come_by_quadrature():
    """They are near those of the solution, which an integration back over the arc would not be."""
    ocp = leaning()
    solution = shot(ocp)
    direct = solution.comparison.direct
    prepared = prepared_of(ocp, direct)
    run = _Run(prepared.form, prepared.hams, np.zeros(0), Budget(), lambda line: None)
    found = Shooting()._newton(run, prepared)
    assert found.converged
    assert len(found.steps) <= 5
    guess = next(Shooting()._starts(ocp.finish(), prepared.hams, direct, np.zeros(0)))[1].arcs
    middle = next(k for k, arc in enumerate(guess) if arc.mode.active)
    assert guess[middle].end - guess[middle].start > 0.5
    trace = prepared.traces(found.unknowns)[middle]
    t = np.linspace(guess[middle].start, guess[middle].end, 9)[1:-1]
    true = trace.curve(trace.values[:, :, 2:4]).evaluate(t)
    begun = flow_costate(guess[middle], trace.law, (np.ones(1), np.zeros(0), np.zeros(0))).evaluate
    np.testing.assert_allclose(begun(t), true, atol=0.02 * np.abs(true).max())


# Contacts read off sampled curves.


def sampled(gap, intervals=40, near=1e-6, order=2):
    """A phase in which a state x of a given order is at a distance ``gap(t)`` below its upper limit
    of 1.
    """
    ocp = Problem("sampled")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    chain = [ph.state("x", upper=1), *[ph.state(f"x{i}") for i in range(1, order)]]
    u = ph.control("u")
    ph.dynamics(dict(zip(chain, [*chain[1:], u], strict=True)))
    ocp.minimize(ph.integral(u**2))
    ham = phase_hamiltonians(ocp.finish())[0]
    assert ham.constraints[0].order == order
    cells = Cells.even(np.linspace(0, 1, intervals + 1), READING.points)
    values, zeros = 1 - gap(cells.middle), np.zeros((cells.middle.size, 1))
    normals = np.ones((values.size, 1, 1))
    trajectory = Trajectory(*[Curve.linear(np.array([0.0, 1.0]), np.zeros((2, 0)))] * 3)
    return Sampled(
        ham,
        StartArc(0, Mode(("interior",)), 0.0, 1.0, trajectory),
        cells,
        zeros,
        zeros,
        values[:, None],
        near,
        lambda j, t: 1 - gap(t),
        zeros,
        lambda: normals,
    )


def beside(a, b, curvature):
    """An arc from a to b, left on both sides with a curvature, as on a constraint of order two."""
    return lambda t: curvature * (np.clip(a - t, 0, None) ** 2 + np.clip(t - b, 0, None) ** 2)


@pytest.mark.parametrize("curvature", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("order", [2, 3])
def test_a_parabola_touches_however_flat_it_is(curvature, order):
    arcs = detect(sampled(lambda t: curvature * (t - 0.503) ** 2, order=order), [])
    assert [arc.mode.active for arc in arcs] == [(), ()]
    assert arcs[1].touched == ((0, "upper"),)
    assert arcs[1].start == pytest.approx(0.503, abs=1e-3)


@pytest.mark.parametrize("curvature", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("length", [0.06, 0.3])
def test_an_arc_is_followed_however_short_it_is(curvature, length):
    arcs = detect(sampled(beside(0.4, 0.4 + length, curvature)), [])
    assert [arc.mode.active for arc in arcs] == [(), ((0, "upper"),), ()]
    assert arcs[1].end - arcs[1].start == pytest.approx(length, abs=0.03)


def test_a_constraint_may_be_followed_and_touched():
    first = beside(0.2, 0.4, 1.0)
    arcs = detect(sampled(lambda t: np.minimum(first(t), 2 * (t - 0.75) ** 2)), [])
    assert [bool(arc.mode.active) for arc in arcs] == [False, True, False, False]
    assert arcs[3].touched == ((0, "upper"),)
    assert arcs[3].start == pytest.approx(0.75, abs=1e-3)


def test_two_arcs_with_a_shallow_gap_are_two():
    """A hump of 1e-4 over six mesh intervals is no sag between the points of a mesh."""

    def gap(t):
        hump = 1e-4 * np.clip(np.sin(np.pi * (t - 0.4) / 0.15), 0, None) * ((t > 0.4) & (t < 0.55))
        return hump + beside(0.2, 0.75, 1.0)(t)

    arcs = detect(sampled(gap), [])
    assert sum(bool(arc.mode.active) for arc in arcs) == 2


def test_sag_between_mesh_points_is_no_gap():
    def saw(t):
        sag = 5e-6 * np.abs(np.sin(np.pi * 40 * t))
        return sag * ((t > 0.2) & (t < 0.6)) + beside(0.2, 0.6, 1.0)(t)

    arcs = detect(sampled(saw), [])
    assert [arc.mode.active for arc in arcs] == [(), ((0, "upper"),), ()]


def test_a_control_slides_into_its_bound_where_a_state_constraint_is_left():
    """x' = 1 - t - u, x <= 3/8: u is zero, then 1 - t on the limit, which it leaves at u = 0; the
    measure has an atom of 2.
    """
    ocp = Problem("late correction")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x = ph.state("x", start=0, upper=3 / 8)
    u = ph.control("u", lower=0, upper=2)
    ph.dynamics({x: 1 - t - u})
    ocp.minimize(ph.integral((3 - t) * u))
    solution = shot(ocp)
    assert [arc.start for arc in solution.arcs] == pytest.approx([0, 0.5, 1], abs=1e-9)
    assert solution.objective == pytest.approx(7 / 24, rel=1e-12)
    costate = solution.costate("x")
    assert costate(1 - 1e-9) == pytest.approx(2, abs=1e-6)
    assert costate(1 + 1e-9) == pytest.approx(0, abs=1e-6)


def test_a_control_slides_out_of_its_bound_where_a_state_constraint_is_met():
    """x >= 3 t^2 - 2 t^3 rises faster than x may: x starts above it and meets it where its slope
    has fallen to u's bound.
    """
    ocp = Problem("ahead of a slope")
    ph = ocp.phase()
    t = ph.time(start=0, end=1)
    x, u = ph.state("x"), ph.control("u", upper=1)
    ph.dynamics({x: u})
    ph.path(x - 3 * t**2 + 2 * t**3, lower=0, name="slope")
    ocp.minimize(ph.integral(u**2 / 2) + 20 * ph.initial(x) ** 2)
    solution = shot(ocp)
    met, slope = 0.5 + 3**-0.5 / 2, np.polynomial.Polynomial([0, 6, -6])
    on_the_slope = (slope**2 / 2).integ()
    assert [arc.roles["u"] for arc in solution.arcs] == ["upper", "interior"]
    assert solution.arcs[0].end == pytest.approx(met, abs=1e-10)
    assert solution["x"](0.0) == pytest.approx(3**0.5 / 18, rel=1e-10)
    exact = 20 / 108 + met / 2 + on_the_slope(1) - on_the_slope(met)
    assert solution.objective == pytest.approx(exact, rel=1e-11)


def test_costates_of_a_guess_that_jump_at_another_time_are_corrected(monkeypatch):
    """A wall is touched at 1/2; the costates of the guess jump a tenth later.

    The states determine them.
    """
    ocp = Problem("touched wall")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=0, upper=0.2)
    v = ph.state("v", start=1, end=-1)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2) / 2)
    form, guess = ocp.finish(), solve(ocp)
    phase = guess.phases["main"]
    late = {
        n: replace(c, breaks=np.interp(c.breaks, [0, 0.5, 1], [0, 0.6, 1]))
        for n, c in phase.costates.items()
    }
    guess = replace(guess, phases={"main": replace(phase, costates=late)})
    hams, p = phase_hamiltonians(form), form.parameter_values()

    def residual():
        prepared = shooting_problem(
            form, hams, start_of_solution(form, hams, guess, p), p, Shooting()
        )
        assert [arc.entry.touched for arc in prepared.system.arcs] == [(), ((0, "upper"),)]
        return np.abs(prepared.system.residual(prepared.unknowns)).max()

    assert residual() < 1e-5
    monkeypatch.setattr(trajopt.indirect.initial_system, "START", replace(START, most_corrected=0))
    assert residual() > 0.1


@pytest.mark.parametrize(
    "error", [RuntimeError("exactly singular"), ValueError("array must not contain infs or NaNs")]
)
def test_costates_that_cannot_be_corrected_are_left_to_newton(monkeypatch, error):
    def refuse(*given):
        raise error

    monkeypatch.setattr(trajopt.indirect.initial_system, "Corrections", refuse)
    ocp = isoperimetric()
    assert Shooting().solve(ocp.finish(), solve(ocp)).success
