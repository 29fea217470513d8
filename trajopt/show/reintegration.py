"""Plot of a solution beside an independent integration with its controls."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trajopt.errors import SimulationError
from trajopt.show.diagnostic_plots import Series, largest_by_interval, problem_along
from trajopt.show.figure_style import (
    COLOURS,
    INK,
    STYLE,
    balanced,
    columns_for,
    heading,
    legend_below,
    panels,
    settle,
    tidy,
    title,
    write_figure,
)
from trajopt.show.plots import draw_drifts, mark_mesh, span_of, time_label

if TYPE_CHECKING:
    from trajopt.certificate.sampled_solution import SampledPhase
    from trajopt.trajectory.solution import Solution

# largest relative distance of an integration over a whole phase; beyond it every interval is
# integrated separately
LOST = 1e-2


def plot_reintegration(solution: Solution, path: str | Path | None = None) -> Figure:
    """Plot the solution at its nodes over an independent integration with its controls, and their
    difference.
    """
    motions = reintegrated(solution)
    names = list(dict.fromkeys(name for phase in solution.phases.values() for name in phase.states))
    rows = balanced(names, columns_for(len(names)))
    figure, grid = panels([*map(len, rows), 1], whole=True)
    for line, row in zip(grid, rows, strict=False):
        for axes, name in zip(line, row, strict=True):
            _points_panel(axes, solution, name, motions)
    gaps = grid[-1][0]
    tidy(gaps)
    draw_drifts(gaps, {name: _gap(solution, name, motions) for name in names}, 1e-16)
    gaps.set_xlim(*span_of([solution]))
    gaps.set_xlabel(time_label(solution))
    title(gaps, "difference, relative to the largest value of each state")
    gaps.legend(
        fontsize=7.5,
        frameon=False,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        ncols=1 + len(names) // 9,
    )
    handles = [
        Line2D([], [], color=COLOURS[0], label="re-integrated", **STYLE),
        Line2D(
            [],
            [],
            color=COLOURS[1],
            linestyle="",
            marker="o",
            markersize=3.5,
            label="solution at nodes",
        ),
    ]
    legend_below(figure, handles)
    heading(
        figure,
        f"{solution.problem}   solution and re-integration ({solution.method})",
        solution.success,
    )
    write_figure(figure, path)
    return figure


def reintegrated(solution: Solution) -> dict[str, tuple[Any, list[str]]]:
    """Return for each phase the integrated motion, a function of time -> (m, states), and the names
    of the states.

    If the dynamics amplify errors so much that the end of a phase is missed, every interval is
    integrated separately.
    """
    from trajopt.integrate.dense_output import Path as Track

    found = {}
    for ph in problem_along(solution).phases:
        pieces = _flow(ph, anew=False)
        found[ph.form.name] = (
            Track(tuple(pieces or _flow(ph, anew=True) or ())),
            list(ph.form.x_names),
        )
    return found


def _flow(ph: SampledPhase, anew: bool) -> list[Any] | None:
    """Integrate interval by interval, from the end of the previous one or, if ``anew``, from the
    state of the solution.

    Returns None if the integration departs from the solution.
    """
    from trajopt.certificate.motion import Reintegration, scheme_for
    from trajopt.integrate.forward import flow
    from trajopt.integrate.library_integrators import Dop853

    rates, n = Reintegration(ph, scheme_for("direct")).rate, ph.form.x.numel()

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        at = np.array([t])
        values = rates(t, x, ph.z(at), ph.u(at), ph.s, ph.p)
        return np.asarray(values.full()).ravel()[:n]

    pieces: list[Any] = []
    x = ph.x(ph.breaks[:1])[:, 0]
    for a, b in pairwise(ph.breaks.tolist()):
        start = ph.x(np.array([a]))[:, 0]
        if not anew and np.any(np.abs(x - start) > LOST * ph.sizes):
            return None
        try:
            pieces += flow(
                rate, a, b, start if anew else x, (), Dop853(1e-10), ph.form.x_names
            ).pieces
        except SimulationError:
            return None
        x = pieces[-1].x[-1]
    return pieces


def _points_panel(
    axes: Any, solution: Solution, name: str, motions: Mapping[str, tuple[Any, list[str]]]
) -> None:
    tidy(axes)
    unit = ""
    for number, phase in enumerate(solution.phases.values()):
        curve = phase.states.get(name)
        if curve is None:
            continue
        unit = curve.unit
        track, names = motions[phase.name]
        rows = [k for k, one in enumerate(names) if one == name or one.startswith(f"{name}[")]
        times = np.linspace(phase.t0, phase.tf, 600)
        axes.plot(times, track(times)[:, rows], color=COLOURS[0], **STYLE)
        points = np.concatenate(curve.values)
        few = max(1, round(len(curve.t) * len(solution.phases) / 60))  # thinned for legibility
        axes.plot(
            curve.t[::few],
            points[::few],
            color=COLOURS[1],
            linestyle="",
            marker="o",
            markersize=2.6,
            zorder=3,
        )
        mark_mesh(axes, phase, curve)
        if number:
            axes.axvline(phase.t0, color=INK, linewidth=0.8)
    axes.set_xlim(*span_of([solution]))
    settle(axes, name, unit)


def _gap(solution: Solution, name: str, motions: Mapping[str, tuple[Any, list[str]]]) -> Series:
    times, gaps, size = [], [], 1e-300
    for phase in solution.phases.values():
        curve = phase.states.get(name)
        if curve is None:
            continue
        track, names = motions[phase.name]
        rows = [k for k, one in enumerate(names) if one == name or one.startswith(f"{name}[")]
        points = np.concatenate(curve.values)
        size = max(size, float(np.abs(points).max()))
        t, gap = largest_by_interval(
            curve.breaks, curve.t, np.abs(track(curve.t)[:, rows] - points).max(axis=1)
        )
        times.append(t)
        gaps.append(gap)
    return np.concatenate(times), np.concatenate(gaps) / size
