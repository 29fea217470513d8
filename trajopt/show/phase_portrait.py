"""Phase portraits: one variable against another, by default coordinates against their rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trajopt.errors import UsageError, suggest
from trajopt.integrate.simulation import Simulation
from trajopt.show.figure_style import (
    BOUND,
    INK,
    STYLE,
    balanced,
    heading,
    labelled,
    legend_below,
    line_style,
    panels,
    power,
    scientific,
    tidy,
    write_figure,
)
from trajopt.show.plots import bounds_of

if TYPE_CHECKING:
    from trajopt.trajectory.solution import PhaseSolution, Solution

Pair = tuple[str, str]  # abscissa, ordinate
SAMPLES = 1201
MOST = 12  # portraits in one figure
ARROWS = (0.2, 0.5, 0.8)  # fractions of the curve with an arrow head


def plot_phase(
    source: Solution | Simulation | Mapping[str, Any],
    pairs: Sequence[Pair] | None = None,
    path: str | Path | None = None,
) -> Figure:
    """Plot phase portraits of a solution or a simulation, or overlay several by label.

    Parameters
    ----------
    pairs : names of variables, as ("x", "v") or ("r[0]", "r[1]"); by default every coordinate
    against its rate, the first
        component of a vector against its second, and the remaining states in pairs.

    Examples
    --------
    >>> from problems.lecture import pendulum
    >>> from trajopt.integrate.simulation import simulate
    >>> axes = plot_phase(simulate(pendulum(), until=2.0)).axes[0]
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('theta [rad]', 'omega [rad/s]')
    """
    sources = dict(source) if isinstance(source, Mapping) else {"": source}
    first = next(iter(sources.values()))
    chosen = list(pairs) if pairs else usual_pairs(first)[:MOST]
    rows = balanced(chosen)
    figure, grid = panels([len(row) for row in rows], (3.7, 3.0))
    for line, row in zip(grid, rows, strict=True):
        for axes, pair in zip(line, row, strict=True):
            _portrait(axes, sources, pair)
    name = first.system.name if isinstance(first, Simulation) else first.problem
    heading(figure, f"{name}   phase portraits")
    handles: list[Any] = [
        Line2D(
            [],
            [],
            color="white",
            markeredgecolor=INK,
            marker="o",
            linestyle="",
            markersize=5,
            label="start",
        ),
        Line2D([], [], color=INK, marker="s", linestyle="", markersize=5, label="end"),
    ]
    if len(sources) > 1:
        handles = [
            Line2D([], [], label=label, **(line_style(k) | STYLE))
            for k, label in enumerate(sources)
        ] + handles
    legend_below(figure, handles)
    write_figure(figure, path)
    return figure


def usual_pairs(source: Solution | Simulation) -> list[Pair]:
    """Return the default pairs."""
    names, rates = _of_simulation(source) if isinstance(source, Simulation) else _of_answer(source)
    found = [(name, rates[name]) for name in names if name in rates]
    taken = {name for pair in found for name in pair}
    left = [name for name in names if name not in taken]
    for name in [n for n in left if n.endswith("[0]")]:
        other = name.removesuffix("[0]") + "[1]"
        if other in left:
            found.append((name, other))
            stem = name.removesuffix("[0]")
            left = [n for n in left if not n.startswith(f"{stem}[")]
    found += [(left[i], left[i + 1]) for i in range(0, len(left) - 1, 2)]
    if not found and len(left) == 1:
        found = [("t", left[0])]
    return found


def _of_simulation(simulation: Simulation) -> tuple[list[str], dict[str, str]]:
    """Return the names of the states, and the name of each one's rate."""
    system = simulation.system
    names = [state.name for state in system.states]
    return names, _rates(names, system.rate, system.x)


def _of_answer(solution: Solution) -> tuple[list[str], dict[str, str]]:
    names: dict[str, None] = {}
    rates: dict[str, str] = {}
    for phase in solution.phases.values():
        for name, curve in phase.states.items():
            names.update(dict.fromkeys(curve.labels(name)))
    if solution.form is not None:
        for form in solution.form.phases:
            rates |= _rates(list(form.x_names), form.f, form.x)
    for name in names:
        stem, bracket, index = name.partition("[")
        if f"{stem}_rate{bracket}{index}" in names:
            rates.setdefault(name, f"{stem}_rate{bracket}{index}")
    return list(names), rates


def _rates(names: list[str], rate: Any, x: Any) -> dict[str, str]:
    """Return the states whose rate is another state."""
    found = {}
    for i, name in enumerate(names):
        for j, other in enumerate(names):
            if j != i and casadi.is_equal(rate[i], x[j]):
                found[name] = other
    return found


def _portrait(axes: Any, sources: Mapping[str, Any], pair: Pair) -> None:
    tidy(axes)
    units = ("", "")
    for number, source in enumerate(sources.values()):
        look = line_style(number) | STYLE
        parts = _run(source, pair) if isinstance(source, Simulation) else _answer(source, pair)
        for a, b, units in parts:  # noqa: B007  (the units of the last part are those of all)
            axes.plot(a, b, **look)
            _arrow_heads(axes, a, b, look["color"])
        if parts:
            axes.plot(
                parts[0][0][0],
                parts[0][1][0],
                "o",
                markersize=5,
                color="white",
                markeredgecolor=look["color"],
                zorder=4,
            )
            axes.plot(
                parts[-1][0][-1], parts[-1][1][-1], "s", markersize=5, color=look["color"], zorder=4
            )
    axes.margins(0.08)
    _bounds(axes, next(iter(sources.values())), pair)
    for axis, label, name, unit, limits in (
        (axes.xaxis, axes.set_xlabel, pair[0], units[0], axes.get_xlim()),
        (axes.yaxis, axes.set_ylabel, pair[1], units[1], axes.get_ylim()),
    ):
        exponent = scientific(axis, max(map(abs, limits)))
        label(labelled(name, f"{power(exponent)}{unit}".strip()))
    if units[0] == units[1] and pair[0].partition("[")[0] == pair[1].partition("[")[0]:
        axes.set_aspect("equal", adjustable="datalim")  # a path in space


Part = tuple[np.ndarray, np.ndarray, tuple[str, str]]


def _run(simulation: Simulation, pair: Pair) -> list[Part]:
    fine = simulation.refined(6000)
    times, x = fine.t, fine.x
    states = {
        state.name: (x[:, k], state.unit) for k, state in enumerate(simulation.system.states)
    } | {"t": (times, "s")}
    (a, first), (b, second) = (_named(states, name, simulation.system.name) for name in pair)
    return [(a, b, (first, second))]


def _answer(solution: Solution, pair: Pair) -> list[Part]:
    """Return one part for each phase that has both variables."""
    found = []
    everything: dict[str, None] = {}
    for phase in solution.phases.values():
        columns = _columns(phase)
        everything.update(dict.fromkeys(columns))
        if pair[0] in columns and pair[1] in columns:
            (a, first), (b, second) = columns[pair[0]], columns[pair[1]]
            found.append((a, b, (first, second)))
    if not found:
        for name in pair:
            _named({key: (np.zeros(0), "") for key in everything}, name, solution.problem)
        raise UsageError(f"no phase of '{solution.problem}' has both '{pair[0]}' and '{pair[1]}'")
    return found


def _columns(phase: PhaseSolution) -> dict[str, tuple[np.ndarray, str]]:
    times = np.linspace(phase.t0, phase.tf, SAMPLES)
    found: dict[str, tuple[np.ndarray, str]] = {"t": (times, phase.time_unit)}
    for group, prefix in (
        (phase.states, ""),
        (phase.algebraics, ""),
        (phase.controls, ""),
        (phase.costates, "costate of "),
    ):
        for name, curve in group.items():
            values = curve.evaluate(times)
            for k, component in enumerate(curve.labels(name)):
                found[f"{prefix}{component}"] = (values[:, k], "" if prefix else curve.unit)
    return found


def _named(
    columns: Mapping[str, tuple[np.ndarray, str]], name: str, whose: str
) -> tuple[np.ndarray, str]:
    if name not in columns:
        raise UsageError(
            f"'{whose}' has no variable '{name}'",
            expected=", ".join(columns),
            hint=suggest(name, columns),
        )
    return columns[name]


def _arrow_heads(axes: Any, a: np.ndarray, b: np.ndarray, colour: str) -> None:
    """Draw small arrow heads in the direction of time."""
    step = max(1, len(a) // 50)  # long enough for a head
    for fraction in ARROWS:
        k = round(fraction * (len(a) - 1 - step))
        n = k + step
        if np.all(np.isfinite([a[k], b[k], a[n], b[n]])) and (a[k], b[k]) != (a[n], b[n]):
            arrow = {
                "arrowstyle": "-|>",
                "color": colour,
                "linewidth": 0,
                "shrinkA": 0,
                "shrinkB": 0,
                "mutation_scale": 11,
            }
            axes.annotate("", (a[n], b[n]), (a[k], b[k]), arrowprops=arrow)


def _bounds(axes: Any, source: Any, pair: Pair) -> None:
    """Draw the bounds of both variables that lie within the axes."""
    if isinstance(source, Simulation):
        return
    for name, line, limits in (
        (pair[0], axes.axvline, axes.get_xlim()),
        (pair[1], axes.axhline, axes.get_ylim()),
    ):
        if "[" in name:
            continue
        margin = 0.05 * (limits[1] - limits[0])
        for phase in source.phases.values():
            for level in bounds_of(source, phase.name, "states", name, phase.states.get(name)):
                if limits[0] - margin <= level <= limits[1] + margin:
                    line(level, zorder=1, **BOUND)
