"""Diagnostic plots of known problems, and of solutions with deliberate errors."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from problems.classical import block_move, double_integrator_mintime, goddard
from trajopt import Problem, free, solve
from trajopt.errors import UsageError
from trajopt.show.diagnostic_plots import (
    integral_drifts,
    plot_integrals,
    plot_mesh,
    plot_switching,
    switching_functions,
)
from trajopt.show.reintegration import plot_reintegration, reintegrated
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import PhaseSolution, Solution, Status


@pytest.fixture(scope="module")
def bang():
    return solve(double_integrator_mintime.build()).check()


@pytest.fixture(scope="module")
def smooth():
    return solve(block_move.build()).check()


def title_of(axes):
    return axes.get_title(loc="left")


def test_the_sign_of_the_switching_function_determines_the_control(bang):
    """It is the costate of v, a line through zero where the control jumps; the control is opposite
    to its sign.
    """
    ((times, values, alone),) = switching_functions(bang)["u"]
    assert alone
    np.testing.assert_allclose(values, bang.costate("v")(times), atol=1e-7)
    u = bang["u"](times)
    clear = np.abs(values) > 1e-2
    assert np.all(np.sign(u[clear]) == -np.sign(values[clear]))
    slope, level = np.polyfit(times, values, 1)
    assert -level / slope == pytest.approx(1.0, abs=1e-6)  # where the line crosses zero


def test_with_a_path_constraint_the_derivative_of_h_is_no_switching_function():
    """u <= 2 - v/2 cuts the control off below its bound: the sign of the slope does not decide
    alone.
    """
    found = {}
    for limited in (False, True):
        ocp = Problem("limited power")
        ph = ocp.phase()
        t = ph.time(start=0, end=free(0.1, 10))
        x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
        u = ph.control("u", lower=-2, upper=2)
        ph.dynamics({x: v, v: u})
        if limited:
            ph.path(u + v / 2, upper=2, name="power")
        ocp.minimize(ph.final(t))
        answer = solve(ocp).check()
        ((_, _, found[limited]),) = switching_functions(answer)["u"]
    assert found == {False: True, True: False}
    assert title_of(plot_switching(answer).axes[1]).startswith("dH/du of u")


def test_unbounded_controls_have_no_switching_function(smooth):
    ((_, slopes, alone),) = switching_functions(smooth)["u"]
    assert not alone
    assert np.abs(slopes).max() < 1e-6  # stationary
    assert title_of(plot_switching(smooth).axes[1]).startswith("dH/du of u")


def test_a_singular_arc_has_a_switching_function_of_zero():
    answer = solve(goddard.build()).check()
    ((times, values, _),) = switching_functions(answer)["T"]
    singular = next(arc for arc in answer.arcs if "singular" in arc.roles.values())
    inside = (times > singular.start + 1e-3) & (times < singular.end - 1e-3)
    assert inside.sum() > 20
    assert np.abs(values[inside]).max() < 1e-4 * np.abs(values).max()
    figure = plot_switching(answer)
    assert [title_of(axes).split(" [")[0] for axes in figure.axes] == [
        "T",
        "switching function of T",
    ]
    assert {text.get_text() for text in figure.axes[0].texts} >= {"singular", "lower"}


def test_first_integrals_of_a_correct_solution_are_constant(smooth):
    drifts = integral_drifts(smooth)
    assert set(drifts) == {"H", "costate of x"}
    assert all(np.nanmax(values) < 1e-7 for _, values in drifts.values())
    (axes,) = plot_integrals(smooth).axes
    assert [line.get_label() for line in axes.lines] == ["H", "costate of x"]


def test_a_wrong_costate_is_visible(smooth):
    phase = next(iter(smooth.phases.values()))
    bent = [
        values + 0.1 * np.linspace(0, 1, len(values))[:, None]
        for values in phase.costates["x"].values
    ]
    costates = {**phase.costates, "x": dataclasses.replace(phase.costates["x"], values=tuple(bent))}
    spoilt = dataclasses.replace(
        smooth, phases={phase.name: dataclasses.replace(phase, costates=costates)}
    )
    assert np.nanmax(integral_drifts(spoilt)["costate of x"][1]) > 1e-3


def test_nodes_agree_with_the_reintegration(smooth):
    ((track, names),) = reintegrated(smooth).values()
    assert names == ["x", "v"]
    for k, name in enumerate(names):
        curve = smooth[name]
        np.testing.assert_allclose(track(curve.t)[:, k], curve.points, atol=1e-8)
    figure = plot_reintegration(smooth)
    assert [title_of(axes) for axes in figure.axes[:2]] == ["x [m]", "v [m/s]"]
    gaps = [np.nanmax(line.get_ydata()) for line in figure.axes[2].lines]
    assert max(gaps) < 1e-8


def test_a_wrong_motion_deviates_from_the_reintegration(smooth):
    phase = next(iter(smooth.phases.values()))
    moved = dataclasses.replace(
        phase.states["x"], values=tuple(v + 0.01 * v**2 for v in phase.states["x"].values)
    )
    wrong = dataclasses.replace(phase, states={**phase.states, "x": moved})
    figure = plot_reintegration(dataclasses.replace(smooth, phases={phase.name: wrong}))
    assert np.nanmax(figure.axes[2].lines[0].get_ydata()) > 5e-3


def test_the_mesh_and_its_history_are_drawn(handmade):
    answer = handmade(phases=1)
    widths, errors, passes, sizes = plot_mesh(answer).axes
    phase = answer.phases["stance"]
    for axes, values in ((widths, np.diff(phase.breaks)), (errors, phase.errors)):
        steps = axes.patches[0].get_data()
        np.testing.assert_allclose(steps.edges, phase.breaks)
        np.testing.assert_allclose(steps.values, values)
        assert axes.get_yscale() == "log"
    assert [text.get_text() for text in widths.texts][:3] == ["3", "5", "2"]  # degrees
    np.testing.assert_allclose(passes.lines[0].get_ydata(), [1e-3, 3e-7])
    assert list(sizes.lines[0].get_ydata()) == [31, 50]


def test_without_the_problem_the_hint_shows_how_to_add_it(handmade):
    for draw in (plot_switching, plot_integrals, plot_reintegration):
        with pytest.raises(UsageError, match="needs the problem") as failure:
            draw(handmade())
        assert "problem.finish()" in str(failure.value.hint)


def test_an_unstable_motion_is_integrated_interval_by_interval():
    """x' = 200 x + u along x = 1 - t, with a control that is off by 1e-6: in one run that would
    become 1e-8 exp(200).
    """
    ocp = Problem("unstable")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=1, end=0), ph.control("u")
    ph.dynamics({x: 200 * x + u})
    ocp.minimize(ph.integral(u**2))
    breaks, ends = np.linspace(0.0, 1.0, 21), np.array([0.0, 1.0])
    times = [a + (b - a) * ends for a, b in pairwise(breaks)]
    state = Curve(breaks, (ends,) * 20, tuple((1 - t)[:, None] for t in times))
    control = Curve(
        breaks, (ends,) * 20, tuple((-1 - 200 * (1 - t) + 1e-6)[:, None] for t in times)
    )
    phase = PhaseSolution(
        "main", 0.0, 1.0, {"x": state}, {"u": control}, breaks=breaks, integrals=np.zeros(1)
    )
    answer = Solution("unstable", "direct", Status.SOLVED, 0.0, {"main": phase}, form=ocp.finish())
    ((track, _),) = reintegrated(answer).values()
    gap = np.abs(track(breaks[1:] - 1e-9)[:, 0] - (1 - breaks[1:]))
    np.testing.assert_allclose(
        gap, 1e-6 / 200 * (np.exp(200 / 20) - 1), rtol=5e-3
    )  # the same in every interval
