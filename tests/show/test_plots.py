"""Plots: everything is drawn, in its units, without a display and without global state."""

import dataclasses
import sys

import numpy as np
import pytest
from casadi import SX, cos, sin, sumsqr, vertcat

from trajopt import Problem, builder, solve
from trajopt.errors import FileError, UsageError
from trajopt.integrate.fixed_step import Rk4
from trajopt.integrate.simulation import simulate
from trajopt.show.figure_style import logarithmic, new_figure
from trajopt.show.plots import plot_solution
from trajopt.show.simulation_plots import plot_simulation
from trajopt.statement.reference import Reference
from trajopt.system import Invariant, System, Variable


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_every_curve_has_a_panel_with_its_unit(handmade):
    figure = plot_solution(handmade())
    assert titles(figure) == [
        "z last [m]", "r [m/s]", "λ", "u/limit [N]", "costate of z last [1/m]", "costate of r",
    ]  # fmt: skip


def test_drawn_lines_are_the_curves(handmade):
    answer = handmade(phases=1)
    axes = plot_solution(answer).axes[0]
    t, x = (np.asarray(data) for data in axes.lines[0].get_data())
    np.testing.assert_allclose(x, answer["z last"](t), atol=1e-14)
    assert (t[0], t[-1]) == (answer.phases["stance"].t0, answer.phases["stance"].tf)


def test_round_off_is_not_magnified(handmade):
    from trajopt.trajectory.curve import Curve

    answer = handmade(phases=1)
    noise = (np.array([[3.0], [3.0 + 1e-14], [3.0 - 1e-14]]),)
    phase = answer.phases["stance"]
    steady = Curve(np.array([phase.t0, phase.tf]), (np.array([0.0, 0.5, 1.0]),), noise)
    flat = dataclasses.replace(
        answer, phases={"stance": dataclasses.replace(phase, states={"x": steady})}
    )
    low, high = plot_solution(flat).axes[0].get_ylim()
    assert high - low > 0.1


def test_large_values_have_their_power_of_ten_in_the_title(handmade):
    answer = handmade(phases=1)
    phase = answer.phases["stance"]
    far = dataclasses.replace(
        phase.states["z last"], values=tuple(4e6 * v for v in phase.states["z last"].values)
    )
    figure = plot_solution(
        dataclasses.replace(
            answer, phases={"stance": dataclasses.replace(phase, states={"x": far})}
        )
    )
    assert titles(figure)[0] == "x [10^6 m]"


def test_nearby_bounds_are_drawn_and_arcs_are_shaded(handmade):
    control = plot_solution(handmade()).axes[3]
    levels = {
        float(line.get_ydata()[0])
        for line in control.lines
        if np.ptp(line.get_ydata()) == 0 and line.get_linestyle() == "--"
    }
    assert {-1.0, 1.0} <= levels
    assert len(control.patches) == 2  # an upper and a singular arc; interior ones stay white


def test_long_arcs_are_labelled(handmade):
    control = plot_solution(handmade()).axes[3]
    assert [text.get_text() for text in control.texts] == [
        "interior",
        "singular",
    ]  # the upper one is too narrow


def test_several_solutions_are_overlaid(handmade):
    longer = handmade(phases=1)
    figure = plot_solution({"direct": handmade(), "indirect": longer})
    lines = [
        line
        for line in figure.axes[0].lines
        if line.get_linewidth() in (3.6, 1.3) and len(line.get_xdata()) > 2
    ]
    assert {line.get_color() for line in lines} == {"#0072B2", "#D55E00"}
    for line in lines:
        t, z = line.get_data()
        np.testing.assert_allclose(
            z, np.sin(t), atol=4e-3
        )  # its polynomials have degrees of two to five
        assert np.all((t >= 0) & (t <= 2.5))
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[:2] == ["direct", "indirect"]
    assert "direct 0.33333333, indirect 0.33333333" in figure.get_suptitle()


def test_the_reference_is_marked(handmade):
    known = Reference(0.25, "a book", costates={"z last": -0.5, "r[0]": 0.125})
    figure = plot_solution(handmade(), reference=known)
    marks = {title: line.get_ydata() for title, line in marked(figure)}
    assert {title: list(values) for title, values in marks.items()} == {
        "costate of z last [1/m]": [-0.5],
        "costate of r": [0.125],
    }
    assert "(known: 0.25)" in figure.get_suptitle()
    assert "known" in [text.get_text() for text in figure.legends[0].get_texts()]


def marked(figure):
    return [
        (axes.get_title(loc="left"), line)
        for axes in figure.axes
        for line in axes.lines
        if line.get_marker() == "D"
    ]


def test_a_costate_of_round_off_is_drawn_as_zero(handmade):
    answer = handmade(phases=1)
    phase = answer.phases["stance"]
    noise = dataclasses.replace(
        phase.costates["z last"], values=tuple(1e-25 * v for v in phase.costates["z last"].values)
    )
    quiet = dataclasses.replace(phase, costates={**phase.costates, "z last": noise})
    low, high = (
        plot_solution(dataclasses.replace(answer, phases={"stance": quiet})).axes[4].get_ylim()
    )
    assert high - low > 1e-4


def test_empty_plots_are_rejected(handmade):
    for nothing in ({}, dataclasses.replace(handmade(), phases={})):
        with pytest.raises(UsageError, match="no"):
            plot_solution(nothing)


def test_several_runs_are_overlaid():
    t, x = SX.sym("t"), SX.sym("x")
    runs = {
        f"rate {k}": simulate(
            System("decay", t, x, (Variable("x", 1.0, "m"),), -k * x), Rk4(0.05), 1.0
        )
        for k in (1, 2)
    }
    figure = plot_simulation(runs)
    ends = [line.get_ydata()[-1] for line in figure.axes[0].lines]
    np.testing.assert_allclose(ends, np.exp([-1.0, -2.0]), rtol=1e-5)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(runs)


def test_logarithmic_axes_have_labels_within_a_decade():
    figure = new_figure(1, 1)
    axes = figure.subplots()
    axes.semilogy([0, 1], [2.1e-4, 3.4e-4])
    logarithmic(axes)
    figure.canvas.draw()
    low, high = axes.get_ylim()
    shown = [
        label.get_text()
        for label, at in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
        if low <= at <= high
    ]
    assert "0.0003" in shown


def test_a_discontinuous_control_is_drawn_with_its_jump(handmade):
    control = plot_solution(handmade(phases=1)).axes[3]
    solid = [line for line in control.lines if line.get_linewidth() > 1.5]
    steepest = max(np.max(np.abs(np.diff(line.get_ydata()))) for line in solid)
    assert steepest < 0.3


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_pictures_are_written_without_a_display(handmade, tmp_path, ending, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    plot_solution(handmade(), tmp_path / f"a.{ending}")
    assert (tmp_path / f"a.{ending}").stat().st_size > 5000
    assert "matplotlib.pyplot" not in sys.modules


def test_unknown_endings_and_folders_are_rejected(handmade, tmp_path):
    for name in ("a.docx", "missing/a.png", "."):
        with pytest.raises(FileError):
            plot_solution(handmade(), tmp_path / name)


def test_simulation_shows_states_and_drift(tmp_path):
    t, x = SX.sym("t"), SX.sym("x", 2)
    states = (Variable("angle", 1.0, "rad"), Variable("rate", 0.0, "rad/s"))
    energy = Invariant("energy", x[1] ** 2 / 2 - cos(x[0]))
    motion = simulate(
        System("swing", t, x, states, vertcat(x[1], -sin(x[0])), invariants=(energy,)),
        Rk4(0.05),
        5.0,
    )
    figure = plot_simulation(motion, tmp_path / "a.png")
    assert titles(figure) == ["angle [rad]", "rate [rad/s]", "drift of the invariants"]
    drift = figure.axes[2].lines[0].get_ydata()
    assert np.max(drift) == pytest.approx(motion.drift["energy"].max, rel=1e-6)
    assert figure.axes[2].get_yscale() == "log"


def test_columns_are_aligned_and_the_lowest_panel_has_the_time(handmade):
    figure = plot_solution(handmade())
    figure.canvas.draw()
    lefts = sorted({round(axes.get_position().x0, 2) for axes in figure.axes})
    lowest = {}
    for axes in figure.axes:
        place = axes.get_position()
        lowest[round(place.x0, 2)] = min(
            (place.y0, axes), lowest.get(round(place.x0, 2), (2, axes)), key=lambda pair: pair[0]
        )
    assert len(lefts) == max(len({a.get_subplotspec().colspan.start for a in figure.axes}), 1)
    assert all(axes.get_xlabel() == "t [s]" for _, axes in lowest.values())


def test_chosen_variables_size_and_style(handmade):
    figure = plot_solution(
        handmade(), names=("r", "costate z last"), size=(5.0, 4.0), style={"font.family": "serif"}
    )
    assert titles(figure) == ["r [m/s]", "costate of z last [1/m]"]
    assert tuple(figure.get_size_inches()) == (5.0, 4.0)
    with pytest.raises(UsageError, match="unknown variable"):
        plot_solution(handmade(), names=("rr",))


def test_a_distant_bound_is_named():
    solution = solve(builder("wheelie-entry")())
    axes = {a.get_title(loc="left"): a for a in solution.plot().axes}
    assert "≤ 150" in [text.get_text() for text in axes["waist_torque [N m]"].texts]
    strip = [text.get_text() for text in axes["x [m]"].texts]
    assert {"front down", "front up"} <= set(strip)


def test_phases_with_long_names_are_numbered(handmade):
    solution = handmade()
    names = ["a phase with a long name, longer than its strip", "another"]
    renamed = [
        dataclasses.replace(phase, name=name)
        for name, phase in zip(names, solution.phases.values(), strict=True)
    ]
    long = dataclasses.replace(solution, phases={phase.name: phase for phase in renamed}, arcs=())
    figure = plot_solution(long)
    assert [text.get_text() for text in figure.texts if "phases" in text.get_text()] == [
        f"phases: 1 {names[0]}, 2 {names[1]}"
    ]


def test_names_of_components_stay_within_their_panel():
    ocp = Problem("joints")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    names = ("stance shin", "stance thigh", "torso", "swing thigh", "swing shin")
    q, v = ph.state("q", start=0, end=1, components=names), ph.state("v", start=0, components=names)
    u = ph.control("u", components=names)
    ph.dynamics({q: v, v: u})
    ocp.minimize(ph.integral(sumsqr(u)))
    figure = plot_solution(solve(ocp))
    figure.draw_without_rendering()
    for axes in figure.axes:
        legend, panel = axes.get_legend().get_window_extent(), axes.get_window_extent()
        assert legend.x0 >= panel.x0 - 1, axes.get_title(loc="left")
        assert legend.x1 <= figure.bbox.x1
