"""Plots of a model under disturbances: the solution, open loop, feedback, repeated solves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trajopt.prepared.closed_loop import LoopRun
from trajopt.show.figure_style import (
    COLOURS,
    DASHES,
    FAINT,
    STYLE,
    balanced,
    columns_for,
    heading,
    label_columns,
    legend_below,
    panels,
    tidy,
    title,
    write_figure,
)
from trajopt.trajectory.solution import Solution


def plot_loops(
    solution: Solution, runs: Mapping[str, LoopRun], path: str | Path | None = None
) -> Figure:
    """Plot states and controls of all phases over time, those of the solution in grey.

    Examples
    --------
    >>> from trajopt import builder, solve
    >>> from trajopt.prepared.closed_loop import closed_loop
    >>> lander = solve(builder("moon-lander")())
    >>> runs = {name: closed_loop(lander, name, {"h": 10.1}) for name in ("open", "feedback")}
    >>> [axes.get_title(loc="left") for axes in plot_loops(lander, runs).axes]
    ['h [m]', 'v [m/s]', 'u [m/s^2]']
    """
    labels = _labels(solution)
    rows = balanced(list(range(len(labels))), columns_for(len(labels)))
    figure, grid = panels([len(row) for row in rows])
    for line, row in zip(grid, rows, strict=True):
        for axes, i in zip(line, row, strict=True):
            name, unit = labels[i]
            tidy(axes)
            title(axes, f"{name} [{unit}]" if unit else name)
            _draw(axes, solution, runs, name)
    unit = next(iter(solution.phases.values())).time_unit
    label_columns(grid, f"t [{unit}]" if unit else "t")
    heading(figure, solution.problem)
    handles = [Line2D([], [], label="solution", color=FAINT, linewidth=3)]
    handles += [Line2D([], [], label=name, **_style(n)) for n, name in enumerate(runs)]
    legend_below(figure, handles)
    write_figure(figure, path)
    return figure


def _style(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number], "linestyle": DASHES[number % len(DASHES)], **STYLE}


def _labels(solution: Solution) -> list[tuple[str, str]]:
    """Components of states and controls of any phase, with their units."""
    found = {}
    for phase in solution.phases.values():
        for name, curve in (*phase.states.items(), *phase.controls.items()):
            found.update(dict.fromkeys(curve.labels(name), curve.unit))
    return list(found.items())


def _draw(axes: Any, solution: Solution, runs: Mapping[str, LoopRun], label: str) -> None:
    for i, phase in enumerate(solution.phases.values()):
        for kind, group in (("x", phase.states), ("u", phase.controls)):
            column = 0
            for name, curve in group.items():
                if label in curve.labels(name):
                    own = curve.labels(name).index(label)
                    t = np.linspace(phase.t0, phase.tf, 201)
                    axes.plot(t, curve.evaluate(t)[:, own], color=FAINT, linewidth=3)
                    for n, run in enumerate(runs.values()):
                        part = run.phases[i]
                        axes.plot(part.t, getattr(part, kind)[:, column + own], **_style(n))
                column += curve.size
