"""Deviations of the invariants of a system in several runs, for example with and without
stabilization.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trajopt.errors import UsageError
from trajopt.integrate.simulation import Simulation, deviation_norms
from trajopt.show.figure_style import (
    balanced,
    heading,
    label_columns,
    legend_below,
    line_style,
    logarithmic,
    panels,
    tidy,
    title,
    write_figure,
)

FLOOR = 1e-17
TOGETHER = "norm of all"


def plot_deviations(runs: Mapping[str, Simulation], path: str | Path | None = None) -> Figure:
    """Plot the norm of every invariant's deviation over time on logarithmic axes, one line per run,
    and the norm of all.

    The norm of all includes only constraints, of order 1 and 2, if there are any, since first
    integrals have other units.

    Examples
    --------
    >>> from problems.lecture import pendulum_cartesian
    >>> from trajopt.integrate.integrator_names import stabilization
    >>> from trajopt.integrate.simulation import simulate
    >>> runs = {"none": simulate(pendulum_cartesian(), until=1.0),
    ...         "Baumgarte": simulate(pendulum_cartesian(), until=1.0,
    ...     stabilization=stabilization("baumgarte", None))}
    >>> [axes.get_title(loc="left") for axes in plot_deviations(runs).axes]
    ['norm of all', 'rod', 'energy']
    """
    first = next(iter(runs.values()))
    names = [invariant.name for invariant in first.system.invariants]
    if not names:
        raise UsageError(f"'{first.system.name}' has no invariants")
    norms = {label: deviation_norms(run.system, run.t, run.x) for label, run in runs.items()}
    rows = [[TOGETHER], *balanced(names)] if len(names) > 1 else [names]
    figure, grid = panels([len(row) for row in rows], (3.7, 2.3))
    for line, row in zip(grid, rows, strict=True):
        for axes, name in zip(line, row, strict=True):
            _panel(
                axes,
                name,
                {label: (run.t, _size(run, norms[label], name)) for label, run in runs.items()},
            )
    label_columns(grid, "t [s]")
    handles = [
        Line2D([], [], label=label, linewidth=1.5, **line_style(k)) for k, label in enumerate(runs)
    ]
    legend_below(figure, handles, 4)
    heading(figure, f"{first.system.name}   deviations of the invariants, {first.integrator.label}")
    write_figure(figure, path)
    return figure


def _size(run: Simulation, norms: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name in norms:
        return norms[name]
    constraints = [i.name for i in run.system.invariants if i.order > 0] or list(norms)
    return np.asarray(np.linalg.norm([norms[key] for key in constraints], axis=0))


def _panel(axes: Any, name: str, lines: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    tidy(axes)
    for number, (t, values) in enumerate(lines.values()):
        axes.semilogy(t, np.maximum(values, FLOOR), linewidth=1.5, **line_style(number))
    logarithmic(axes)
    axes.set_xlim(min(t[0] for t, _ in lines.values()), max(t[-1] for t, _ in lines.values()))
    title(axes, name)
