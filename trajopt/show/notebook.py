"""HTML displays of problems, solutions, certificates, families and simulations in notebooks: tables with small plots.

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
    from trajopt.curve import Curve
    from trajopt.family import Family
    from trajopt.integrate.simulation import Simulation
    from trajopt.problem import Problem
    from trajopt.solution import Solution

MOST_ROWS = 36  # of a table in a notebook or a summary
WIDTH, HEIGHT, SAMPLES = 150, 28, 90  # of a small plot, in pixels and points
HEADER = ("variable", "start", "end", "unit")
GOOD, BAD, LINE = "#1a7f37", "#b42318", "#2f6db5"


def summary(solution: Solution) -> str:
    """Return status, objective, error and boundary values as text of at most one screen."""
    rows = [HEADER, *((row.label, row.start, row.end, row.unit) for row in _rows(solution))]
    lines = [headline(solution), f"  {facts(solution)}", *(f"  {line}" for line in _spans(solution))]
    lines += [f"    {line}" for line in _aligned(_limited(rows))]
    return "\n".join([*lines, *(f"  {line}" for line in solution.explanation)])


def headline(solution: Solution) -> str:
    """Return problem, status and objective on one line."""
    return f"{solution.problem}: {solution.status.value} Objective {solution.objective:.9g} ({solution.method})"


def facts(solution: Solution) -> str:
    """Return error, mesh size and iterations on one line."""
    intervals = sum(max(len(ph.breaks) - 1, 0) for ph in solution.phases.values())
    parts = [f"estimated error {solution.error:.1e}", f"{intervals} intervals", f"{solution.iterations} iterations"]
    return ", ".join(parts + ([f"{solution.seconds['total']:.2f} s"] if "total" in solution.seconds else []))


def solution_html(solution: Solution) -> str:
    """Return a compact table with a small plot of every variable."""
    above = [facts(solution), *_spans(solution)]
    rows = [
        (*(escape(cell) for cell in (row.label, row.start, row.end, row.unit)), _sparkline(row.lines, row.bounds))
        for row in _rows(solution)
    ]
    parts = [_title(headline(solution), solution.success), *(f"<div>{escape(line)}</div>" for line in above)]
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
            f'<span style="color:{GOOD if check.ok else BAD}">{"ok" if check.ok else "fails"}</span>',
            escape(check.remark),
        )
        for check in ordered
    ]
    return _framed([_title(heading, certificate.ok), _table(("check", "value", "tolerance", "verdict", "remark"), rows)])


def family_html(family: Family) -> str:
    """Return the table of a family and a small plot of the objective."""
    columns = [*family.over, "status", "objective", "error", "seconds"]
    rows = [tuple(escape(_cell(member.row.get(name, ""))) for name in columns) for member in family.members]
    parts = [_title(family_line(family), family.success)]
    if len(family.over) == 1 and len(family.members) > 2:
        values = np.array([float(m.row.get("objective", np.nan)) for m in family.members])
        places = np.arange(values.size, dtype=float)
        good = np.isfinite(values)
        parts.append(f"<div>objective {_sparkline([np.stack([places[good], values[good]])], [])}</div>")
    return _framed([*parts, _table(columns, rows)])


def family_line(family: Family) -> str:
    """Return the number of members and of solved members on one line."""
    over = ", ".join(f"{name} ({len(values)})" for name, values in family.over.items())
    return f"family over {over}: {sum(m.success for m in family.members)} of {len(family.members)} solved"


def simulation_html(simulation: Simulation) -> str:
    """Return the states with small plots and the drift of the invariants."""
    rows = [
        (
            escape(state.name),
            *(_figure(float(v)) for v in (simulation.x[0, i], simulation.x[-1, i])),
            escape(state.unit),
            _sparkline([np.stack([simulation.t, simulation.x[:, i]])], []),
        )
        for i, state in enumerate(simulation.system.states)
    ]
    parts = [_title(simulation_line(simulation), True), _table(("state", "start", "end", "unit", "over time"), rows)]
    drifts = [(escape(name), f"{drift.max:.1e}", f"{drift.end:.1e}") for name, drift in simulation.drift.items()]
    return _framed(parts + ([_table(("invariant", "largest drift", "at end"), drifts)] if drifts else []))


def simulation_line(simulation: Simulation) -> str:
    """Return system, time span and integrator on one line."""
    of = f"{simulation.system.name}: t from {simulation.t[0]:g} to {simulation.t[-1]:g}"
    return f"{of}, {simulation.t.size} points, {type(simulation.integrator).__name__}"


def problem_html(problem: Problem) -> str:
    """Return the statement as printed."""
    return f'<pre style="font-size:12px;line-height:1.35">{escape(str(problem))}</pre>'


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
    }
    if kind not in kinds:
        raise UsageError(f"unknown kind of plot '{kind}'", expected=", ".join(kinds), hint=suggest(kind, kinds))
    figure: Figure = kinds[kind](solution, path=path)
    return figure


def animate(solution: Solution, path: str | Path, drawing: Any) -> None:
    """Write an animation with the given drawing, or that of the problem's module."""
    from trajopt.catalogue import builder
    from trajopt.errors import UsageError
    from trajopt.show.animate import animate as render
    from trajopt.show.drawing import drawing_beside

    if drawing is None and solution.source:
        drawing = drawing_beside(builder(solution.source), dict(solution.settings))
    if drawing is None:
        raise UsageError(
            f"'{solution.problem}' has no drawing", expected="drawing=, a trajopt.show.drawing.Drawing of the mechanism"
        )
    render(solution, drawing, path)


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
    spans = [f"'{ph.name}' {_figure(ph.t0)} to {_figure(ph.tf)} {ph.time_unit}".rstrip() for ph in solution.phases.values()]
    return textwrap.wrap("phases: " + ", ".join(spans), 110)


def _rows(solution: Solution) -> list[_Row]:
    """Return the rows of states, algebraic variables and controls."""
    found = []
    for kind in ("states", "algebraics", "controls"):
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
        lines = tuple(np.stack([times, values[:, i]]) for times, values in sampled if i < values.shape[1])
        size = max(float(np.abs(line[1]).max()) for line in lines)
        limits = {float(b[i]) for c in curves for b in (c.lower, c.upper) if b is not None and i < b.size and np.isfinite(b[i])}
        start, end = _figure(float(lines[0][1, 0]), size), _figure(float(lines[-1][1, -1]), size)
        rows.append(_Row(label, start, end, largest.unit, lines, tuple(sorted(limits))))
    return rows


def _figure(value: float, size: float = 0.0) -> str:
    return "0" if abs(value) < 1e-9 * size else f"{value:.6g}"


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def _limited(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    if len(rows) <= MOST_ROWS:
        return list(rows)
    return [*rows[: MOST_ROWS - 1], (f"and {len(rows) - MOST_ROWS + 1} more", *[""] * (len(rows[0]) - 1))]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(c.ljust(w) if k in (0, 3) else c.rjust(w) for k, (c, w) in enumerate(zip(r, widths, strict=True))).rstrip()
        for r in rows
    ]


def _sparkline(lines: Iterable[np.ndarray], bounds: Sequence[float]) -> str:
    """Return a small plot as SVG: lines (2, n) of time and value, and dashed bounds."""
    lines = [line for line in lines if line.shape[1] > 1]
    if not lines:
        return ""
    t = np.concatenate([line[0] for line in lines])
    v = np.concatenate([line[1] for line in lines])
    low, high = float(v.min()), float(v.max())
    span = high - low if high - low > 1e-12 * max(abs(low), abs(high), 1e-300) else 1.0

    def place(times: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
        across = 2 + (WIDTH - 4) * (np.asarray(times) - t.min()) / max(float(np.ptp(t)), 1e-300)
        down = HEIGHT - 3 - (HEIGHT - 6) * (np.asarray(values) - low) / span
        return across, down

    shapes = []
    for level in bounds:
        if low - 0.1 * span <= level <= high + 0.1 * span:
            y = float(place([t.min()], [level])[1][0])
            shapes.append(f'<line x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#999" stroke-dasharray="2,2"/>')
    for line in lines:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(*place(*line), strict=True))
        shapes.append(f'<polyline points="{points}" fill="none" stroke="{LINE}" stroke-width="1.3"/>')
    return f'<svg width="{WIDTH}" height="{HEIGHT}" xmlns="http://www.w3.org/2000/svg">{"".join(shapes)}</svg>'


def _title(text: str, good: bool) -> str:
    return f'<div style="font-weight:600;color:{GOOD if good else BAD}">{escape(text)}</div>'


def _table(header: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    cell = 'style="text-align:left;padding:1px 10px 1px 0"'
    head = "".join(f"<th {cell}>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td {cell}>{c}</td>" for c in row) + "</tr>" for row in _limited(rows))
    return f'<table style="font-size:12px;border-collapse:collapse"><tr>{head}</tr>{body}</table>'


def _framed(parts: Sequence[str]) -> str:
    return f'<div style="font-family:sans-serif;font-size:12px">{"".join(parts)}</div>'
