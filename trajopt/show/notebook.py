"""Displays of problems, solutions, certificates, families, simulations and mechanisms in notebooks:
tables with small plots, and problems as formulas.

``Solution.summary()`` has the same rows as plain text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from trajopt.certificate import Certificate
    from trajopt.certificate.table import Check
    from trajopt.integrate.simulation import Simulation
    from trajopt.mechanics.lagrange import Mechanism
    from trajopt.statement.problem import Problem
    from trajopt.sweeping.family import Family
    from trajopt.trajectory.curve import Curve
    from trajopt.trajectory.solution import Solution

MOST_ROWS = 36  # of a table in a notebook or a summary
WIDTH, HEIGHT, LEFT = 190, 46, 44  # of a small plot and the labels at its left, in pixels
SAMPLES = 90  # points of a small plot
HEADER = ("variable", "start", "end", "unit")
GOOD, BAD, LINE = "#1a7f37", "#b42318", "#2f6db5"
INK, FAINT = "#444444", "#8a8a8a"


def summary(solution: Solution) -> str:
    """Return status, objective, error and boundary values as text of at most one screen."""
    rows = [HEADER, *((row.label, row.start, row.end, row.unit) for row in _rows(solution))]
    lines = [
        headline(solution),
        f"  {facts(solution)}",
        *(f"  {line}" for line in _spans(solution)),
    ]
    lines += [f"    {line}" for line in _aligned(_limited(rows))]
    return "\n".join([*lines, *(f"  {line}" for line in solution.explanation)])


def headline(solution: Solution) -> str:
    """Return problem, status and objective on one line."""
    return (
        f"{solution.problem}: {solution.status.value} Objective {solution.objective:.9g} "
        f"({solution.method})"
    )


def facts(solution: Solution) -> str:
    """Return error, mesh size and iterations on one line."""
    intervals = sum(max(len(ph.breaks) - 1, 0) for ph in solution.phases.values())
    parts = [
        f"estimated error {solution.error:.1e}",
        f"{intervals} intervals",
        f"{solution.iterations} iterations",
    ]
    return ", ".join(
        parts + ([f"{solution.seconds['total']:.2f} s"] if "total" in solution.seconds else [])
    )


def solution_html(solution: Solution) -> str:
    """Return a compact table with a small plot of every variable."""
    above = [facts(solution), *_spans(solution)]
    rows = [
        (
            *(escape(cell) for cell in (row.label, row.start, row.end, row.unit)),
            _small_plot(row.lines, row.bounds),
        )
        for row in _rows(solution)
    ]
    parts = [
        _title(headline(solution), solution.success),
        *(f"<div>{escape(line)}</div>" for line in above),
    ]
    parts.append(_table((*HEADER, "over time"), rows))
    return _framed([*parts, *(f"<div>{escape(line)}</div>" for line in solution.explanation)])


def certificate_html(certificate: Certificate) -> str:
    """Return the verdict and the table of checks, failed ones first."""
    heading = str(certificate).splitlines()[0]
    ordered = sorted(certificate.checks, key=lambda check: check.ok)
    rows = [
        (
            escape(check.name),
            f"{check.value:.1e}" if np.isfinite(check.value) else "-",
            f"{check.tolerance:.0e}" if np.isfinite(check.tolerance) else "-",
            _verdict(check),
            escape(check.remark),
        )
        for check in ordered
    ]
    return _framed(
        [
            _title(heading, certificate.ok),
            _table(("check", "value", "tolerance", "verdict", "remark"), rows),
        ]
    )


def _verdict(check: Check) -> str:
    """Return the verdict of a row in its colour: only rows that were decided are green or red."""
    if not check.ok:
        word, colour = "fails", BAD
    elif not check.applies:
        word, colour = "skipped", FAINT
    elif not np.isfinite(check.tolerance):
        word, colour = "info", INK
    else:
        word, colour = "ok", GOOD
    return f'<span style="color:{colour}">{word}</span>'


def family_html(family: Family) -> str:
    """Return the table of a family and a small plot of the objective."""
    columns = [*family.over, "status", "objective", "error", "seconds"]
    rows = [
        tuple(escape(_cell(member.row.get(name, ""), name)) for name in columns)
        for member in family.members
    ]
    parts = [_title(family_line(family), family.success)]
    if len(family.over) == 1 and len(family.members) > 2:
        values = np.array([float(m.row.get("objective", np.nan)) for m in family.members])
        ((name, settings),) = family.over.items()
        numbers = all(isinstance(v, (int, float, np.number)) for v in settings)
        places = np.asarray(settings, float) if numbers else np.arange(float(values.size))
        good = np.isfinite(values)
        line = np.stack([places[good], values[good]])
        parts.append(f"<div>objective over {escape(name)}</div>{_small_plot([line], [])}")
    return _framed([*parts, _table(columns, rows)])


def family_line(family: Family) -> str:
    """Return the number of members and of solved members on one line."""
    over = ", ".join(f"{name} ({len(values)})" for name, values in family.over.items())
    return (
        f"family over {over}: {sum(m.success for m in family.members)} of "
        f"{len(family.members)} solved"
    )


def simulation_html(simulation: Simulation) -> str:
    """Return the states with small plots and the drift of the invariants."""
    rows = [
        (
            escape(state.name),
            *(_figure(float(v)) for v in (simulation.x[0, i], simulation.x[-1, i])),
            escape(state.unit),
            _small_plot([np.stack([simulation.t, simulation.x[:, i]])], []),
        )
        for i, state in enumerate(simulation.system.states)
    ]
    parts = [
        _title(simulation_line(simulation), True),
        _table(("state", "start", "end", "unit", "over time"), rows),
    ]
    drifts = [
        (escape(name), f"{drift.max:.1e}", f"{drift.end:.1e}")
        for name, drift in simulation.drift.items()
    ]
    return _framed(
        parts + ([_table(("invariant", "largest drift", "at end"), drifts)] if drifts else [])
    )


def simulation_line(simulation: Simulation) -> str:
    """Return system, time span and integrator on one line."""
    of = f"{simulation.system.name}: t from {simulation.t[0]:g} to {simulation.t[-1]:g}"
    return f"{of}, {simulation.t.size} points, {type(simulation.integrator).__name__}"


def problem_latex(problem: Problem) -> str | None:
    """Return the statement as formulas; None if it is too long for them."""
    from trajopt.show.mathematics import problem_latex

    return problem_latex(problem)


def problem_html(problem: Problem) -> str | None:
    """Return the statement as printed, where it has no formulas: a notebook prefers HTML."""
    if problem_latex(problem) is not None:
        return None
    return f'<pre style="font-size:12px;line-height:1.35">{escape(str(problem))}</pre>'


def mechanism_html(mechanism: Mechanism) -> str:
    """Return coordinates, constraints, controls and parameters as tables."""
    parts = [_title(f"mechanism '{mechanism.name}'", True)]
    coordinates = [
        (escape(c.name), _figure(float(c.start)), _figure(float(c.speed)), escape(c.unit))
        for c in mechanism.coordinates
    ]
    parts.append(_table(("coordinate", "start", "speed", "unit"), coordinates))
    if mechanism.constraints:
        kinds = [(escape(c.name), type(c).__name__.lower()) for c in mechanism.constraints]
        parts.append(_table(("constraint", "kind"), kinds))
    for what, quantities in (("control", mechanism.controls), ("parameter", mechanism.parameters)):
        rows = [(escape(q.name), _given(q.value), escape(q.unit)) for q in quantities]
        if rows:
            parts.append(_table((what, "value", "unit"), rows))
    return _framed(parts)


def _given(value: Any) -> str:
    """Return the value of a quantity: a number, or the name of the symbol that stands for it."""
    return _figure(float(value)) if isinstance(value, (int, float)) else escape(str(value))


def curve_plot(curve: Curve, name: str, path: str | Path | None) -> Figure:
    """Plot the components of a curve over time with its bounds."""
    from trajopt.show.plots import plot_curve

    return plot_curve(curve, name, path)


def plot(solution: Solution, kind: str, path: str | Path | None) -> Figure:
    """Plot a solution; the kinds are those of ``trajopt plot --kind``."""
    from trajopt.errors import UsageError, suggest
    from trajopt.show.diagnostic_plots import plot_integrals, plot_mesh, plot_switching
    from trajopt.show.phase_portrait import plot_phase
    from trajopt.show.plots import plot_solution
    from trajopt.show.reintegration import plot_reintegration

    kinds: dict[str, Any] = {
        "trajectories": plot_solution,
        "phase": plot_phase,
        "switching": plot_switching,
        "mesh": plot_mesh,
        "invariants": plot_integrals,
        "reintegration": plot_reintegration,
        "stills": _stills,
    }
    if kind not in kinds:
        raise UsageError(
            f"unknown kind of plot '{kind}'", expected=", ".join(kinds), hint=suggest(kind, kinds)
        )
    figure: Figure = kinds[kind](solution, path=path)
    return figure


def animate(solution: Solution, path: str | Path, drawing: Any) -> None:
    """Write an animation with the given drawing, or that of the problem's module."""
    from trajopt.show.animate import animate as render

    render(solution, drawing or _drawing(solution), path)


def _stills(solution: Solution, path: str | Path | None) -> Figure:
    from trajopt.show.animate import stills

    return stills(solution, _drawing(solution), path)


def _drawing(solution: Solution) -> Any:
    """Return the drawing of a problem of the catalogue, by the name in the solution."""
    from trajopt.catalogue import builder
    from trajopt.errors import UsageError
    from trajopt.files.named import name_of, with_form
    from trajopt.show.drawing import drawing_beside
    from trajopt.show.planar import planar_drawing

    name = name_of(solution)
    own = drawing_beside(builder(name), dict(solution.settings)) if name else None
    drawing = own or planar_drawing(with_form(solution, "a drawing") if name else solution)
    if drawing is None:
        raise UsageError(
            f"'{solution.problem}' has no drawing",
            expected="animate(path, drawing), a trajopt.show.drawing.Drawing of the mechanism",
        )
    return drawing


@dataclass(frozen=True)
class _Row:
    """One component of a variable in all phases that have it."""

    label: str
    start: str
    end: str
    unit: str
    lines: tuple[np.ndarray, ...]  # of each phase (2, n): times and values
    bounds: tuple[float, ...]


def _spans(solution: Solution) -> list[str]:
    """Return the time span of each phase, wrapped into lines."""
    if len(solution.phases) == 1:
        (phase,) = solution.phases.values()
        return [f"t from {_figure(phase.t0)} to {_figure(phase.tf)} {phase.time_unit}".rstrip()]
    spans = [
        f"'{ph.name}' {_figure(ph.t0)} to {_figure(ph.tf)} {ph.time_unit}".rstrip()
        for ph in solution.phases.values()
    ]
    return textwrap.wrap("phases: " + ", ".join(spans), 110)


def _rows(solution: Solution) -> list[_Row]:
    """Return the rows of states, algebraic variables, controls and outputs."""
    found = []
    for kind in ("states", "algebraics", "controls", "outputs"):
        groups = [getattr(phase, kind) for phase in solution.phases.values()]
        for name in dict.fromkeys(name for group in groups for name in group):
            found += _variable_rows(name, [group[name] for group in groups if name in group])
    return found


def _variable_rows(name: str, curves: Sequence[Curve]) -> list[_Row]:
    largest = max(curves, key=lambda curve: curve.size)
    sampled = []
    for curve in curves:
        times = np.linspace(curve.breaks[0], curve.breaks[-1], max(SAMPLES // len(curves), 8))
        sampled.append((times, curve.evaluate(times)))
    rows = []
    for i, label in enumerate(largest.labels(name)):
        lines = tuple(
            np.stack([times, values[:, i]]) for times, values in sampled if i < values.shape[1]
        )
        size = max(float(np.abs(line[1]).max()) for line in lines)
        limits = {
            float(b[i])
            for c in curves
            for b in (c.lower, c.upper)
            if b is not None and i < b.size and np.isfinite(b[i])
        }
        start, end = _figure(float(lines[0][1, 0]), size), _figure(float(lines[-1][1, -1]), size)
        rows.append(_Row(label, start, end, largest.unit, lines, tuple(sorted(limits))))
    return rows


def _figure(value: float, size: float = 0.0) -> str:
    return "0" if abs(value) < 1e-9 * size or value == 0 else f"{value:.6g}"


def _cell(value: Any, column: str = "") -> str:
    """Round a number to what a reader compares: six digits, fewer for errors and times."""
    if isinstance(value, (float, np.floating)):
        digits = {"error": ".1e", "seconds": ".2g"}.get(column, ".6g")
        return f"{value:{digits}}" if np.isfinite(value) else "-"
    if isinstance(value, (tuple, list, np.ndarray)):
        return ", ".join(_cell(part) for part in value)
    return str(value)


def _limited(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    if len(rows) <= MOST_ROWS:
        return list(rows)
    return [
        *rows[: MOST_ROWS - 1],
        (f"and {len(rows) - MOST_ROWS + 1} more", *[""] * (len(rows[0]) - 1)),
    ]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            c.ljust(w) if k in (0, 3) else c.rjust(w)
            for k, (c, w) in enumerate(zip(r, widths, strict=True))
        ).rstrip()
        for r in rows
    ]


def _small_plot(lines: Iterable[np.ndarray], bounds: Sequence[float]) -> str:
    """Return a small plot as SVG: lines (2, n) of time and value with their axes, dashed bounds."""
    lines = [line for line in lines if line.shape[1] > 1]
    if not lines:
        return ""
    t = np.concatenate([line[0] for line in lines])
    v = np.concatenate([line[1] for line in lines])
    low, high = float(v.min()), float(v.max())
    size = max(abs(low), abs(high), 1e-300)
    flat = high - low <= 1e-9 * size
    middle, span = (low + high) / 2, 2 * size if flat else high - low
    bottom = HEIGHT - 11

    def place(times: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
        fraction = (np.asarray(times) - t.min()) / max(float(np.ptp(t)), 1e-300)
        across = LEFT + 2 + (WIDTH - LEFT - 4) * fraction
        down = (bottom + 3) / 2 - (bottom - 6) * (np.asarray(values) - middle) / span
        return across, down

    shapes = [
        f'<path d="M{LEFT} 1V{bottom}H{WIDTH}" fill="none" stroke="{FAINT}" stroke-width="0.8"/>'
    ]
    levels = [middle] if flat else [low, high]
    for level in levels:
        y = min(max(float(place([t.min()], [level])[1][0]) + 3, 7), bottom)
        shapes.append(_label(LEFT - 3, y, _short(level, size), "end"))
    shapes.append(_label(LEFT, HEIGHT - 2, _short(float(t.min())), "start"))
    shapes.append(_label(WIDTH - 1, HEIGHT - 2, _short(float(t.max())), "end"))
    for level in bounds:
        if low - 0.1 * span <= level <= high + 0.1 * span:
            y = float(place([t.min()], [level])[1][0])
            shapes.append(
                f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#999" '
                'stroke-dasharray="2,2"/>'
            )
    for line in lines:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(*place(*line), strict=True))
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="1.3"/>'
        )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(shapes)}</svg>'
    )


def _label(x: float, y: float, text: str, anchor: str) -> str:
    style = f'font-size="8.5" fill="#666" font-family="sans-serif" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{text}</text>'


def _short(value: float, size: float = 0.0) -> str:
    return "0" if abs(value) < 1e-9 * size else f"{value:.3g}"


def _title(text: str, good: bool) -> str:
    return f'<div style="font-weight:600;color:{GOOD if good else BAD}">{escape(text)}</div>'


def _table(header: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    cell = 'style="text-align:left;padding:1px 10px 1px 0"'
    head = "".join(f"<th {cell}>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td {cell}>{c}</td>" for c in row) + "</tr>" for row in _limited(rows)
    )
    return f'<table style="font-size:12px;border-collapse:collapse"><tr>{head}</tr>{body}</table>'


def _framed(parts: Sequence[str]) -> str:
    return f'<div style="font-family:sans-serif;font-size:12px">{"".join(parts)}</div>'
