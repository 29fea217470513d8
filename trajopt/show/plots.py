"""The main plot of a solution: all variables over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.textpath import TextPath

from trajopt.errors import UsageError, suggest
from trajopt.show.figure_style import (
    BOUND,
    INK,
    MESH,
    ROLE_WORDS,
    ROLES,
    Pen,
    balanced,
    columns_for,
    heading,
    hide_round_off,
    label_columns,
    labelled,
    legend_below,
    line_style,
    logarithmic,
    panels,
    settle,
    tidy,
    write_figure,
)

if TYPE_CHECKING:
    from trajopt.statement.reference import Reference
    from trajopt.trajectory.arcs import Arc
    from trajopt.trajectory.curve import Curve
    from trajopt.trajectory.solution import PhaseSolution, Solution

KINDS = ("states", "algebraics", "controls", "outputs", "costates")
SAMPLES = 40  # per interval
STRIP = 0.1  # height of the strip with the names of the phases, of the height of a panel
LINE = 11.0  # points, of a line between the title of a panel and its axes
NAMED = 0.16  # shortest arc with a label, as a fraction of the duration


def plot_solution(
    solution: Solution | Mapping[str, Solution],
    path: str | Path | None = None,
    reference: Reference | None = None,
    names: Sequence[str] | None = None,
    size: tuple[float, float] | None = None,
    style: Mapping[str, Any] | None = None,
) -> Figure:
    """Plot states, controls, outputs and costates over time, with bounds, units, phases, arcs and
    the mesh.

    Returns the figure; ``path`` also writes it (png, pdf or svg).

    Parameters
    ----------
    solution : a solution, or several by label, overlaid; arcs and mesh are those of the first.
    reference : the published optimum: its objective is in the title, its initial costates are
    marked.
    names : the variables to plot, ``costate x`` for a costate; all by default.
    size : width and height of the figure in inches.
    style : parameters of matplotlib, such as ``{"font.family": "serif"}``.

    Examples
    --------
    >>> from problems.classical.block_move import build
    >>> from trajopt import solve
    >>> figure = plot_solution(solve(build()))
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['x [m]', 'v [m/s]', 'u [m/s^2]', 'costate of x [m/s^3]', 'costate of v [m/s^2]']
    """
    answers = dict(solution) if isinstance(solution, Mapping) else {"": solution}
    if not answers:
        raise UsageError("no solution to plot")
    with rc_context(dict(style or {})):
        figure = _drawn(answers, reference, names, size)
        write_figure(figure, path)
    return figure


def _drawn(
    answers: Mapping[str, Solution],
    reference: Reference | None,
    chosen: Sequence[str] | None,
    size: tuple[float, float] | None,
) -> Figure:
    kinds = _chosen(_kinds(answers.values()), chosen)
    most = columns_for(max((len(names) for _, names in kinds), default=1))
    rows = [(kind, names) for kind, all_names in kinds for names in balanced(all_names, most)]
    if not rows:
        raise UsageError("nothing to plot: the solution has no phases")
    figure, grid = panels([len(names) for _, names in rows], size=size)
    first = next(iter(answers.values()))
    for line, (kind, names) in zip(grid, rows, strict=True):
        for axes, name in zip(line, names, strict=True):
            _panel(axes, answers, kind, name)
            if kind == "costates" and reference is not None:
                _mark_known(axes, first, name, reference)
    label_columns(grid, time_label(first))
    for axes in grid[0] if len(first.phases) > 1 else ():
        name_phases(axes, first)
    heading(
        figure, _summary(answers, reference), all(answer.success for answer in answers.values())
    )
    _legend(figure, answers, reference)
    return figure


def _chosen(
    kinds: list[tuple[str, list[str]]], chosen: Sequence[str] | None
) -> list[tuple[str, list[str]]]:
    """Keep the variables that were asked for."""
    if chosen is None:
        return kinds
    known = {
        f"costate {name}" if kind == "costates" else name: (kind, name)
        for kind, names in kinds
        for name in names
    }
    for name in chosen:
        if name not in known:
            hint = suggest(name, known)
            raise UsageError(
                "unknown variable in a plot", got=name, expected=", ".join(known), hint=hint
            )
    kept = {known[name] for name in chosen}
    found = [(kind, [name for name in names if (kind, name) in kept]) for kind, names in kinds]
    return [(kind, names) for kind, names in found if names]


def plot_curve(curve: Curve, name: str = "", path: str | Path | None = None) -> Figure:
    """Plot the components of one curve over time, with its bounds.

    >>> from problems.classical.block_move import build
    >>> from trajopt import solve
    >>> solve(build())["u"].plot("u").axes[0].get_title(loc="left")
    'u [m/s^2]'
    """
    figure, ((axes,),) = panels([1])
    tidy(axes)
    draw_curve(axes, curve, Pen(0, False).style)
    for limit in (curve.lower, curve.upper):
        for level in () if limit is None else limit[np.isfinite(limit)]:
            axes.axhline(level, zorder=1, **BOUND)
    if curve.size > 1:
        labels = curve.components or tuple(f"[{i}]" for i in range(curve.size))
        _name_components(axes, labels, Pen(0, False))
    settle(axes, name, curve.unit)
    axes.set_xlabel(labelled("t", curve.time_unit))
    write_figure(figure, path)
    return figure


def _kinds(solutions: Iterable[Solution]) -> list[tuple[str, list[str]]]:
    """Return the kinds of curves with their names over all phases of all solutions."""
    phases = [phase for solution in solutions for phase in solution.phases.values()]
    found = (
        (kind, list(dict.fromkeys(name for phase in phases for name in getattr(phase, kind))))
        for kind in KINDS
    )
    return [(kind, names) for kind, names in found if names]


def _panel(axes: Any, answers: Mapping[str, Solution], kind: str, name: str) -> None:
    tidy(axes)
    unit, size, labels = "", 1, ("",)
    for number, solution in enumerate(answers.values()):
        pen = Pen(number, len(answers) > 1)
        for k, phase in enumerate(solution.phases.values()):
            curve = getattr(phase, kind).get(name)
            if curve is None:
                continue
            unit = curve.unit
            if curve.size > size:
                size, labels = (
                    curve.size,
                    curve.components or tuple(f"[{i}]" for i in range(curve.size)),
                )
            draw_curve(axes, curve, pen.style)
            if number == 0:
                mark_mesh(axes, phase, curve)
                if k:
                    axes.axvline(phase.t0, color=INK, linewidth=0.8)
    first = next(iter(answers.values()))
    span = span_of(answers.values())
    if kind == "controls":
        shade_arcs(axes, first.arcs, name, span, named=size == 1)
    distant = draw_bounds(axes, first, kind, name)
    axes.set_xlim(*span)
    if kind == "costates":
        hide_round_off(axes, largest_costate(first))
    settle(axes, f"costate of {_short(name)}" if kind == "costates" else _short(name), unit)
    if size > 1:
        _name_components(axes, labels, Pen(0, len(answers) > 1))
    elif distant:
        place = {"transform": axes.transAxes, "ha": "right", "va": "bottom"}
        axes.text(1.0, 1.02, distant, fontsize=7, color="#666666", **place)


def _short(name: str, most: int = 34) -> str:
    """Truncate a name that is an expression."""
    return name if len(name) <= most else f"{name[: most - 3]}..."


def largest_costate(solution: Solution) -> float:
    """Return the largest magnitude of all costates."""
    curves = [curve for phase in solution.phases.values() for curve in phase.costates.values()]
    return max(
        (float(np.nanmax(np.abs(v), initial=0.0)) for curve in curves for v in curve.values),
        default=0.0,
    )


def draw_curve(axes: Any, curve: Curve, style: Any) -> None:
    """Plot a curve with its discontinuities at breaks; ``style(component)`` returns
    the line style.
    """
    fractions = np.linspace(0.0, 1.0, SAMPLES)
    pieces = [
        _piece(curve, a, b, fractions)
        for a, b in zip(curve.breaks[:-1], curve.breaks[1:], strict=True)
    ]
    times = np.concatenate([t for t, _ in pieces])
    values = np.concatenate([v for _, v in pieces])
    ends = [
        0,
        *(
            k * SAMPLES
            for k in range(1, len(pieces))
            if _jumps(pieces[k - 1][1], pieces[k][1], values)
        ),
        len(times),
    ]
    for component in range(curve.size):
        look = style(component)
        for a, b in pairwise(ends):
            axes.plot(times[a:b], values[a:b, component], **look)
        for k in ends[1:-1]:
            axes.plot(
                times[k - 1 : k + 1],
                values[k - 1 : k + 1, component],
                color=look["color"],
                linewidth=0.6,
                linestyle=":",
            )


def mark_mesh(axes: Any, phase: PhaseSolution, curve: Curve) -> None:
    """Draw small marks on the time axis at the breakpoints of the mesh."""
    breaks = phase.breaks if phase.breaks.size else curve.breaks
    axes.vlines(breaks, 0.0, 0.03, color=MESH, linewidth=0.8, transform=axes.get_xaxis_transform())


NAMES = 6.5  # points: the size of names of components
HANDLE = 2.4  # of that: the line beside a name; a dash and a dot are seen
TICKS = 36.0  # points of a panel's width, for the numbers of its axis


def _name_components(axes: Any, labels: Sequence[str], pen: Pen) -> None:
    """Add a legend of the components beside the title, off the data."""
    handles = [Line2D([], [], label=label, **pen.style(k)) for k, label in enumerate(labels)]
    columns = _columns_that_fit(axes, labels)
    axes.legend(
        handles=handles,
        fontsize=NAMES,
        frameon=False,
        ncols=columns,
        loc="lower right",
        bbox_to_anchor=(1.02, 0.98),
        borderaxespad=0.0,
        handlelength=HANDLE,
        columnspacing=0.8,
        handletextpad=0.4,
        labelspacing=0.2,
    )
    for _ in range(-(-len(labels) // columns)):
        raise_title(axes)


def _columns_that_fit(axes: Any, labels: Sequence[str]) -> int:
    """Return the number of columns of a legend that is not wider than its panel."""
    figure, across = axes.get_figure(), axes.get_gridspec().ncols
    room = 72 * figure.get_figwidth() / across - TICKS
    beside = (HANDLE + 0.4 + 0.8) * NAMES
    wide = [TextPath((0, 0), label, size=NAMES).get_extents().width + beside for label in labels]
    for columns in range(len(labels), 1, -1):
        rows = -(-len(labels) // columns)
        if sum(max(wide[k : k + rows]) for k in range(0, len(labels), rows)) <= room:
            return columns
    return 1


def raise_title(axes: Any) -> None:
    """Move the title of a panel one line up, for a line between it and the axes."""
    pad = getattr(axes, "title_pad", 6.0) + LINE
    axes.title_pad = pad
    axes.set_title(axes.get_title(loc="left"), loc="left", fontsize=9.5, color=INK, pad=pad)


def _piece(
    curve: Curve, a: float, b: float, fractions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    times = a + (b - a) * fractions
    values = curve.evaluate(times)
    values[-1:] = curve.evaluate(times[-1:], left=True)
    return times, values


def _jumps(before: np.ndarray, after: np.ndarray, everything: np.ndarray) -> bool:
    span = np.maximum(np.ptp(everything, axis=0), 1e-300)
    return bool(np.any(np.abs(before[-1] - after[0]) > 0.02 * span))


def shade_arcs(
    axes: Any, arcs: Iterable[Arc], name: str, span: tuple[float, float], named: bool = True
) -> None:
    """Shade arcs where a control is at a bound or singular, with a label on long arcs."""
    for arc in arcs:
        roles = {
            role
            for component, role in arc.roles.items()
            if component == name or component.startswith(f"{name}[")
        }
        for role in sorted(roles & set(ROLES)):
            axes.axvspan(arc.start, arc.end, color=ROLES[role], alpha=0.22, linewidth=0)
        if named and len(roles) == 1 and arc.end - arc.start > NAMED * (span[1] - span[0]):
            place = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "top"}
            axes.text(
                (arc.start + arc.end) / 2,
                0.99,
                next(iter(roles)),
                fontsize=6.5,
                color="#666666",
                **place,
            )


def draw_bounds(axes: Any, solution: Solution, kind: str, name: str) -> str:
    """Draw dashed lines at bounds near the range of the curve; return the distant ones as text."""
    if kind == "costates":
        return ""
    low, high = axes.get_ylim()
    margin = 0.25 * (high - low)
    distant: dict[str, None] = {}
    for phase in solution.phases.values():
        curve = getattr(phase, kind).get(name)
        limits = component_bounds(solution, phase.name, kind, name, curve)
        alike = len({tuple(pair) for pair in limits.T.tolist()}) <= 1
        for component, pair in enumerate(limits.T):
            color = {} if alike else {"color": Pen(0, False).style(component)["color"]}
            for sign, level in zip("\u2265\u2264", pair.tolist(), strict=True):
                if low - margin <= level <= high + margin:
                    axes.plot([phase.t0, phase.tf], [level, level], zorder=1, **(BOUND | color))
                elif np.isfinite(level):
                    distant[f"{sign} {level:.4g}"] = None
    return ", ".join(distant) if len(distant) <= 3 else ""


def component_bounds(
    solution: Solution, phase: str, kind: str, name: str, curve: Curve | None
) -> np.ndarray:
    """Return lower and upper bounds, (2, size), from the curve or from the statement, if the
    solution has it.
    """
    if curve is not None and curve.lower is not None and curve.upper is not None:
        return np.stack([curve.lower, curve.upper])
    if kind == "outputs":
        return np.zeros((2, 0))
    form = (
        None
        if solution.form is None
        else next((ph for ph in solution.form.phases if ph.name == phase), None)
    )
    quantity = (
        None if form is None else next((q for q in getattr(form, kind, ()) if q.name == name), None)
    )
    return (
        np.zeros((2, 0))
        if quantity is None
        else np.stack([quantity.bound.lower, quantity.bound.upper])
    )


def bounds_of(
    solution: Solution, phase: str, kind: str, name: str, curve: Curve | None
) -> list[float]:
    """Return the finite bounds of all components of a variable."""
    levels = component_bounds(solution, phase, kind, name, curve)
    return sorted({float(level) for level in levels.ravel() if np.isfinite(level)})


def _mark_known(axes: Any, solution: Solution, name: str, reference: Reference) -> None:
    """Mark the published initial costates: ``x``, or ``x[0]``, ``x[1]``, ..."""
    start = next(iter(solution.phases.values())).t0
    known = [
        value
        for key, value in reference.costates.items()
        if key == name or key.startswith(f"{name}[")
    ]
    if known:
        axes.plot([start] * len(known), known, **KNOWN)


KNOWN: dict[str, Any] = {
    "marker": "D",
    "markersize": 5,
    "color": "white",
    "markeredgecolor": INK,
    "linestyle": "",
    "clip_on": False,
    "zorder": 5,
}


def span_of(solutions: Iterable[Solution]) -> tuple[float, float]:
    """Return the time span of all solutions."""
    phases = [phase for solution in solutions for phase in solution.phases.values()]
    return min(ph.t0 for ph in phases), max(ph.tf for ph in phases)


def time_label(solution: Solution) -> str:
    """Return the label of the time axis."""
    return labelled("t", next(iter(solution.phases.values())).time_unit)


def _summary(answers: Mapping[str, Solution], reference: Reference | None) -> str:
    first = next(iter(answers.values()))
    if len(answers) > 1:
        objectives = ", ".join(
            f"{label} {answer.objective:.8g}" for label, answer in answers.items()
        )
        return f"{first.problem}   objective: {objectives}"
    intervals = sum(max(len(ph.breaks) - 1, 0) for ph in first.phases.values())
    how = f"{first.status.name.lower()} ({first.method}), {intervals} intervals"
    known = "" if reference is None else f" (known: {reference.objective:.8g})"
    return f"{first.problem}   objective {first.objective:.8g}{known}   {how}"


def name_phases(axes: Any, solution: Solution) -> None:
    """Write the names of the phases in a strip above the axes; numbers, where a name is too long.

    The numbers are explained below the figure by ``phase_numbers``.
    """
    start, end = span_of([solution])
    numbered = _numbered(solution)
    across = {"transform": axes.get_xaxis_transform(), "clip_on": False}
    for number, phase in enumerate(solution.phases.values()):
        shade = "#eeeeee" if number % 2 else "#e0e0e0"
        corner, width = (phase.t0, 1.0), phase.tf - phase.t0
        axes.add_patch(Rectangle(corner, width, STRIP, facecolor=shade, edgecolor="none", **across))
        axes.text(
            (phase.t0 + phase.tf) / 2,
            1.0 + STRIP / 2,
            f"{number + 1}" if numbered else phase.name,
            fontsize=6.5,
            color="#444444",
            ha="center",
            va="center_baseline",
            **across,
        )
    axes.set_xlim(start, end)
    raise_title(axes)
    legend = axes.get_legend()
    if legend is not None:
        legend.set_bbox_to_anchor((1.02, 0.98 + STRIP))
    for text in axes.texts:
        if text.get_position() == (1.0, 1.02):
            text.set_position((1.0, 1.03 + STRIP))


def _numbered(solution: Solution) -> bool:
    """True if the name of a phase is longer than its part of the strip."""
    start, end = span_of([solution])
    return any(
        len(phase.name) > 58 * (phase.tf - phase.t0) / (end - start)
        for phase in solution.phases.values()
    )


def phase_numbers(solution: Solution) -> str:
    """Return what the numbers of phases stand for, if a strip has numbers."""
    if len(solution.phases) == 1 or not _numbered(solution):
        return ""
    return "phases: " + ", ".join(f"{k + 1} {name}" for k, name in enumerate(solution.phases))


def _legend(figure: Figure, answers: Mapping[str, Solution], reference: Reference | None) -> None:
    """Add a legend for lines, shades and marks."""
    first = next(iter(answers.values()))
    handles: list[Any] = []
    if len(answers) > 1:
        handles += [
            Line2D([], [], label=label, **Pen(n, True).style(0)) for n, label in enumerate(answers)
        ]
    present = {role for arc in first.arcs for role in arc.roles.values()}
    handles += [
        Patch(color=ROLES[role], alpha=0.35, label=ROLE_WORDS[role])
        for role in ROLES
        if role in present
    ]
    handles.append(Line2D([], [], color=MESH, marker="|", linestyle="", markersize=6, label="mesh"))
    handles.append(Line2D([], [], label="bound", **BOUND))
    if reference is not None and reference.costates:
        handles.append(Line2D([], [], label="known", **KNOWN))
    legend_below(figure, handles)
    numbers = phase_numbers(first)
    if numbers:
        figure.text(0.01, 0.004, numbers, fontsize=8, color=INK)


def draw_drifts(
    axes: Any, drifts: Mapping[str, tuple[np.ndarray, np.ndarray]], floor: float = 1e-17
) -> None:
    """Plot magnitudes over time on a logarithmic axis, with a legend."""
    for i, (name, (t, values)) in enumerate(drifts.items()):
        axes.semilogy(
            t, np.maximum(np.abs(values), floor), label=name, linewidth=1.4, **line_style(i)
        )
    logarithmic(axes)
    axes.legend(fontsize=8, frameon=False, ncols=min(len(drifts), 4), loc="best")
