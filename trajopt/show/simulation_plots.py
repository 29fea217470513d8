"""Plots of a simulation: states and outputs over time."""

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
    COLOURS,
    FAINT,
    STYLE,
    Pen,
    balanced,
    columns_for,
    heading,
    hide_round_off,
    label_columns,
    legend_below,
    line_style,
    panels,
    settle,
    tidy,
    title,
    write_figure,
)
from trajopt.show.plots import draw_drifts


def plot_simulation(
    simulation: Simulation | Mapping[str, Simulation], path: str | Path | None = None
) -> Figure:
    """Plot states over time and the drift of invariants on a logarithmic axis; several runs of one
    system are overlaid.

    Examples
    --------
    >>> from problems.lecture import pendulum
    >>> from trajopt.integrate.simulation import simulate
    >>> [axes.get_title(loc="left") for axes in plot_simulation(simulate(pendulum(),
    ...     until=1.0)).axes]
    ['theta [rad]', 'omega [rad/s]', 'drift of the invariants']
    """
    runs = dict(simulation) if isinstance(simulation, Mapping) else {"": simulation}
    first = next(iter(runs.values()))
    rows = balanced(list(range(len(first.system.states))), columns_for(len(first.system.states)))
    drifts = deviation_norms(first.system, first.t, first.x) if len(runs) == 1 else {}
    figure, grid = panels([*map(len, rows), *([1] if drifts else [])], whole=bool(drifts))
    for line, row in zip(grid, rows, strict=False):
        for axes, i in zip(line, row, strict=True):
            _motion_panel(axes, runs, i)
    if drifts:
        _drift_panel(grid[-1][0], first.t, drifts)
    label_columns(grid, "t [s]")
    heading(figure, run_heading(first) if len(runs) == 1 else first.system.name)
    if len(runs) > 1:
        handles = [
            Line2D([], [], label=label, **Pen(n, True).style(0)) for n, label in enumerate(runs)
        ]
        legend_below(figure, handles)
    write_figure(figure, path)
    return figure


def run_heading(simulation: Simulation) -> str:
    """Return system, integrator and stabilization as heading."""
    stabilization = (
        "not stabilized" if simulation.stabilization is None else simulation.stabilization.label
    )
    return f"{simulation.system.name}   {simulation.integrator.label}, {stabilization}"


def _motion_panel(axes: Any, runs: Mapping[str, Simulation], index: int) -> None:
    tidy(axes)
    for number, simulation in enumerate(runs.values()):
        fine = simulation.refined()
        axes.plot(fine.t, fine.x[:, index], **Pen(number, len(runs) > 1).style(0))
        if number == 0:
            for event in simulation.events:
                axes.axvline(event.time, color=FAINT, linewidth=0.7, linestyle=":")
    first = next(iter(runs.values()))
    axes.set_xlim(min(run.t[0] for run in runs.values()), max(run.t[-1] for run in runs.values()))
    hide_round_off(axes, max(float(np.abs(run.x).max()) for run in runs.values()), 1e-12)
    settle(axes, first.system.states[index].name, first.system.states[index].unit)


def _drift_panel(axes: Any, t: np.ndarray, drifts: Mapping[str, np.ndarray]) -> None:
    tidy(axes)
    draw_drifts(axes, {name: (t, values) for name, values in drifts.items()})
    title(axes, "drift of the invariants")
    axes.set_xlim(t[0], t[-1])


def plot_outputs(simulation: Simulation, path: str | Path | None = None) -> Figure:
    """Plot the outputs of a system: energies, reactions, torques."""
    if not simulation.outputs:
        raise UsageError(f"'{simulation.system.name}' has no outputs")
    rows = balanced(list(simulation.outputs), columns_for(len(simulation.outputs)))
    figure, grid = panels([len(row) for row in rows])
    fine = simulation.refined()
    for line, row in zip(grid, rows, strict=True):
        for axes, name in zip(line, row, strict=True):
            _output_panel(axes, fine, name)
    label_columns(grid, "t [s]")
    heading(figure, run_heading(simulation))
    write_figure(figure, path)
    return figure


def plot_steps(simulation: Simulation, path: str | Path | None = None) -> Figure:
    """Plot the steps of the integrator over time, on a logarithmic axis, above its states."""
    steps = np.diff(simulation.t)
    figure, grid = panels([1, 1])
    (upper,), (lower,) = grid
    tidy(upper)
    upper.stairs(steps[steps > 0], simulation.t[np.append(True, steps > 0)], color=COLOURS[0])
    upper.set_yscale("log")
    settle(upper, "step", "s")
    title(upper, f"step [s]: {len(steps)}, from {steps[steps > 0].min():.3g} to {steps.max():.3g}")
    tidy(lower)
    fine = simulation.refined()
    for k, state in enumerate(simulation.system.states):
        lower.plot(fine.t, fine.x[:, k], label=state.name, **(line_style(k) | STYLE))
        lower.plot(
            simulation.t, simulation.x[:, k], ".", color=line_style(k)["color"], markersize=3
        )
    title(lower, "states, and their values at the steps")
    for axes in (upper, lower):
        axes.set_xlim(simulation.t[0], simulation.t[-1])
    lower.set_xlabel("t [s]")
    heading(figure, run_heading(simulation))
    legend_below(figure, lower.get_lines()[::2])
    write_figure(figure, path)
    return figure


def _output_panel(axes: Any, simulation: Simulation, name: str) -> None:
    tidy(axes)
    values = np.asarray(simulation.outputs[name]).reshape(len(simulation.t), -1)
    for k in range(values.shape[1]):
        axes.plot(simulation.t, values[:, k], **(line_style(k) | STYLE))
    for event in simulation.events:
        axes.axvline(event.time, color=FAINT, linewidth=0.7, linestyle=":")
    axes.set_xlim(simulation.t[0], simulation.t[-1])
    settle(axes, name, simulation.system.outputs[name][1])
