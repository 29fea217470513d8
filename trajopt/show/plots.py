"""Plots of solutions and simulations, drawn without a display and without global state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from trajopt.errors import FileError
from trajopt.files import replacing

if TYPE_CHECKING:
    from trajopt.curve import Curve
    from trajopt.integrate.simulate import Simulation
    from trajopt.solution import Arc, PhaseSolution, Solution

T = TypeVar("T")

# Okabe and Ito's palette, which the colour-blind tell apart; lines differ in their dashes as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("-", "--", "-.", ":")
ROLES = {"lower": "#56B4E9", "upper": "#E69F00", "singular": "#CC79A7"}  # an interior arc stays white
INK, FAINT, MESH = "#333333", "#999999", "#009E73"
STYLE: dict[str, Any] = {"linewidth": 1.7, "solid_capstyle": "round"}
STEPS = [1, 2, 2.5, 5, 10]
PANEL = (3.7, 2.1)  # inches
SAMPLES = 40  # for each interval: enough for a polynomial of any degree in use


def plot_solution(solution: Solution, path: str | Path | None = None) -> Figure:
    """States, controls and costates over time, with bounds, units, phases, arcs and the mesh.

    Returns the figure; writes it where a path is given (png, pdf or svg).
    """
    rows = [(kind, names) for kind, all_names in _kinds(solution) for names in _balanced(all_names)]
    figure = _figure(max(len(names) for _, names in rows), len(rows))
    grid = figure.add_gridspec(len(rows), 1)
    for row, (kind, names) in enumerate(rows):
        cells = grid[row].subgridspec(1, len(names))
        for column, name in enumerate(names):
            axes = figure.add_subplot(cells[column])
            _panel(axes, solution, kind, name)
            if row == len(rows) - 1:
                axes.set_xlabel(_labelled("t", next(iter(solution.phases.values())).time_unit))
            if row == 0 and len(solution.phases) > 1:
                _name_phases(axes, solution)
    _title(figure, solution)
    _legend(figure, solution)
    _write(figure, path)
    return figure


def plot_simulation(simulation: Simulation, path: str | Path | None = None) -> Figure:
    """States over time, and the drift of every invariant on a logarithmic axis."""
    rows = _balanced(list(range(len(simulation.system.states))))
    drifts = _deviations(simulation)
    count = len(rows) + (1 if drifts else 0)
    figure = _figure(max(len(row) for row in rows), count)
    grid = figure.add_gridspec(count, 1)
    times, motion = _dense(simulation)
    for number, row in enumerate(rows):
        cells = grid[number].subgridspec(1, len(row))
        for column, i in enumerate(row):
            axes = figure.add_subplot(cells[column])
            _motion_panel(axes, simulation, (times, motion[:, i]), i)
            if number == count - 1:
                axes.set_xlabel("t [s]")
    if drifts:
        _drift_panel(figure.add_subplot(grid[count - 1]), simulation.t, drifts)
    keeper = "not stabilized" if simulation.stabilization is None else simulation.stabilization.label
    figure.suptitle(
        f"{simulation.system.name}   {simulation.integrator.label}, {keeper}", x=0.01, ha="left", fontsize=11, color=INK
    )
    _write(figure, path)
    return figure


def _kinds(solution: Solution) -> list[tuple[str, list[str]]]:
    """The kinds of curves there are, each with its names over all phases."""
    found = []
    for kind in ("states", "algebraics", "controls", "costates"):
        names = list(dict.fromkeys(name for phase in solution.phases.values() for name in getattr(phase, kind)))
        if names:
            found.append((kind, names))
    return found


def _balanced(names: list[T], most: int = 3) -> list[list[T]]:
    """Rows of nearly equal length: four panels are two and two, not three and one."""
    rows = -(-len(names) // most)
    size = -(-len(names) // rows)
    return [names[i : i + size] for i in range(0, len(names), size)]


def _panel(axes: Any, solution: Solution, kind: str, name: str) -> None:
    _tidy(axes)
    unit = ""
    for number, phase in enumerate(solution.phases.values()):
        curve = getattr(phase, kind).get(name)
        if curve is None:
            continue
        unit = curve.unit
        if kind == "controls":
            _shade(axes, [arc for arc in solution.arcs if arc.phase == phase.name], name)
        _draw(axes, curve, phase)
        if number:
            axes.axvline(phase.t0, color=INK, linewidth=0.8)
    _bounds(axes, solution, kind, name)
    axes.set_xlim(*_span(solution))
    _settle(axes, f"costate of {name}" if kind == "costates" else name, "" if kind == "costates" else unit)


def _draw(axes: Any, curve: Curve, phase: PhaseSolution) -> None:
    """Each interval of its own, so that a jump of a control at a break is a jump and not a ramp."""
    fractions = np.linspace(0.0, 1.0, SAMPLES)
    pieces = [_piece(curve, a, b, fractions) for a, b in zip(curve.breaks[:-1], curve.breaks[1:], strict=True)]
    times = np.concatenate([t for t, _ in pieces])
    values = np.concatenate([v for _, v in pieces])
    ends = [0, *(k * SAMPLES for k in range(1, len(pieces)) if _jumps(pieces[k - 1][1], pieces[k][1], values)), len(times)]
    for component in range(curve.size):
        style = {"color": COLOURS[component % len(COLOURS)], "linestyle": DASHES[component % len(DASHES)]} | STYLE
        for a, b in pairwise(ends):
            label = f"[{component}]" if curve.size > 1 and a == 0 and not axes.get_legend() else None
            axes.plot(times[a:b], values[a:b, component], label=label, **style)
        for k in ends[1:-1]:
            axes.plot(times[k - 1 : k + 1], values[k - 1 : k + 1, component], color=style["color"], linewidth=0.6, linestyle=":")
    breaks = phase.breaks if phase.breaks.size else curve.breaks
    axes.vlines(breaks, 0.0, 0.03, color=MESH, linewidth=0.8, transform=axes.get_xaxis_transform())
    if curve.size > 1 and not axes.get_legend():
        axes.legend(fontsize=7, frameon=False, ncols=curve.size, loc="best", handlelength=1.8)


def _piece(curve: Curve, a: float, b: float, fractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    times = a + (b - a) * fractions
    values = curve.evaluate(times)
    values[-1:] = curve.evaluate(times[-1:], left=True)
    return times, values


def _jumps(before: np.ndarray, after: np.ndarray, everything: np.ndarray) -> bool:
    span = np.maximum(np.ptp(everything, axis=0), 1e-300)
    return bool(np.any(np.abs(before[-1] - after[0]) > 0.02 * span))


def _shade(axes: Any, arcs: Iterable[Arc], name: str) -> None:
    for arc in arcs:
        roles = {role for component, role in arc.roles.items() if component == name or component.startswith(f"{name}[")}
        for role in roles & set(ROLES):
            axes.axvspan(arc.start, arc.end, color=ROLES[role], alpha=0.22, linewidth=0)


def _bounds(axes: Any, solution: Solution, kind: str, name: str) -> None:
    """Dashed lines at the bounds that are in sight; one that is far away would flatten the curve."""
    if kind == "costates":
        return
    low, high = axes.get_ylim()
    margin = 0.25 * (high - low)
    for phase in solution.phases.values():
        curve = getattr(phase, kind).get(name)
        limits = _limits(solution, phase.name, kind, name, curve)
        for level in {float(v) for v in limits if np.isfinite(v)}:
            if low - margin <= level <= high + margin:
                axes.plot([phase.t0, phase.tf], [level, level], color=INK, linewidth=0.9, linestyle=(0, (5, 3)), zorder=1)


def _limits(solution: Solution, phase: str, kind: str, name: str, curve: Curve | None) -> list[float]:
    """From the curve itself, or from the statement where the solution still has it."""
    found: list[float] = []
    for limit in () if curve is None else (curve.lower, curve.upper):
        found += [] if limit is None else limit.tolist()
    if not found and solution.form is not None:
        form = next(ph for ph in solution.form.phases if ph.name == phase)
        quantities = {q.name: q for q in getattr(form, kind)}
        if name in quantities:
            found = [*quantities[name].bound.lower.tolist(), *quantities[name].bound.upper.tolist()]
    return found


def _span(solution: Solution) -> tuple[float, float]:
    phases = solution.phases.values()
    return min(ph.t0 for ph in phases), max(ph.tf for ph in phases)


def _title(figure: Figure, solution: Solution) -> None:
    intervals = sum(max(len(ph.breaks) - 1, 0) for ph in solution.phases.values())
    how = f"{solution.status.name.lower()} ({solution.method}), {intervals} intervals"
    text = f"{solution.problem}   objective {solution.objective:.8g}   {how}"
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, color=INK if solution.success else COLOURS[1])


def _name_phases(axes: Any, solution: Solution) -> None:
    start, end = _span(solution)
    for phase in solution.phases.values():
        narrow = phase.tf - phase.t0 < 0.2 * (end - start)
        place = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "top", "rotation": 90 if narrow else 0}
        axes.text((phase.t0 + phase.tf) / 2, 0.98, phase.name, fontsize=6.5, color=FAINT, **place)


def _legend(figure: Figure, solution: Solution) -> None:
    """What the shades and marks mean."""
    present = {role for arc in solution.arcs for role in arc.roles.values()}
    words = {"lower": "at lower bound", "upper": "at upper bound", "singular": "singular arc"}
    handles: list[Any] = [Patch(color=ROLES[role], alpha=0.35, label=words[role]) for role in ROLES if role in present]
    handles.append(Line2D([], [], color=MESH, marker="|", linestyle="", markersize=6, label="mesh"))
    handles.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=(0, (5, 3)), label="bound"))
    figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), frameon=False, fontsize=8)


def _motion_panel(axes: Any, simulation: Simulation, motion: tuple[np.ndarray, np.ndarray], index: int) -> None:
    _tidy(axes)
    axes.plot(*motion, color=COLOURS[0], **STYLE)
    for event in simulation.events:
        axes.axvline(event.time, color=FAINT, linewidth=0.7, linestyle=":")
    axes.set_xlim(simulation.t[0], simulation.t[-1])
    _settle(axes, simulation.system.states[index].name, simulation.system.states[index].unit)


def _drift_panel(axes: Any, t: np.ndarray, drifts: Mapping[str, np.ndarray]) -> None:
    _tidy(axes)
    floor = 1e-17
    for i, (name, values) in enumerate(drifts.items()):
        style = {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.4}
        axes.semilogy(t, np.maximum(np.abs(values), floor), label=name, **style)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title("drift of the invariants", loc="left", fontsize=9.5, color=INK)
    axes.set_xlabel("t [s]")
    axes.set_xlim(t[0], t[-1])
    axes.legend(fontsize=8, frameon=False, ncols=min(len(drifts), 4), loc="best")


def _deviations(simulation: Simulation) -> dict[str, np.ndarray]:
    """The length of each invariant's deviation at the integrator's steps."""
    from trajopt.integrate.stabilize import deviation

    system, found = simulation.system, {}
    for invariant in system.invariants:
        y = system.function(deviation(system, invariant))
        values = y.map(len(simulation.t))(simulation.t[None, :], simulation.x.T, system.parameter_values)
        found[invariant.name] = np.linalg.norm(np.asarray(values.full()).reshape(-1, len(simulation.t)), axis=0)
    return found


def _dense(simulation: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """The motion at its steps, or finer where the integrator took long ones."""
    if len(simulation.t) >= 2000 or simulation.events:
        return simulation.t, simulation.x
    times = np.linspace(simulation.t[0], simulation.t[-1], 2001)
    return times, simulation.at(times)


def _figure(columns: int, rows: int) -> Figure:
    figure = Figure(figsize=(max(PANEL[0] * columns, 6.0), PANEL[1] * rows + 0.8), layout="constrained", dpi=140)
    FigureCanvasAgg(figure)
    return figure


def _tidy(axes: Any) -> None:
    axes.grid(True, color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(labelsize=8, length=0, labelcolor=INK)  # the grid marks the ticks; marks on the axis are the mesh
    axes.xaxis.label.set_size(8.5)
    axes.margins(y=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=STEPS))


def _settle(axes: Any, name: str, unit: str) -> None:
    """The vertical axis and the title: rounding is not magnified, a power of ten stands beside the unit."""
    low, high = axes.get_ylim()
    size = max(abs(low), abs(high))
    if high - low < 1e-6 * size:
        low, high = (low + high) / 2 - 0.1 * size, (low + high) / 2 + 0.1 * size
        axes.set_ylim(low, high)
    exponent = 0 if size == 0 or 1e-2 <= size < 1e5 else 3 * int(np.floor(np.log10(size) / 3))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 10.0**exponent:.6g}"))
    power = f"10^{exponent} " if exponent else ""
    axes.set_title(_labelled(name, f"{power}{unit}".strip()), loc="left", fontsize=9.5, color=INK)


def _labelled(name: str, unit: str) -> str:
    return f"{name} [{unit}]".replace("$", r"\$") if unit else name.replace("$", r"\$")


def _write(figure: Figure, path: str | Path | None) -> None:
    if path is None:
        return
    ending = Path(path).suffix.lstrip(".").lower()
    if ending not in figure.canvas.get_supported_filetypes():
        raise FileError(f"cannot draw '{path}'", got=f"ending '{ending}'", expected=".png, .pdf or .svg")
    with replacing(path) as part:
        figure.savefig(part, format=ending)
