"""Diagnostic plots of a solution: switching functions, mesh and error, first integrals.

All but the mesh need the problem, ``solution.form``, which is None in a solution loaded from a
file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trajopt.errors import TrajoptError, UsageError
from trajopt.files.named import with_form
from trajopt.show.figure_style import (
    BOUND,
    COLOURS,
    INK,
    STYLE,
    balanced,
    heading,
    label_columns,
    labelled,
    line_style,
    logarithmic,
    new_figure,
    panels,
    settle,
    tidy,
    title,
    write_figure,
)
from trajopt.show.plots import (
    draw_bounds,
    draw_curve,
    draw_drifts,
    mark_mesh,
    name_phases,
    shade_arcs,
    span_of,
    time_label,
)

if TYPE_CHECKING:
    from trajopt.certificate.phase_conditions import PhaseConditions
    from trajopt.certificate.sampled_solution import SampledPhase, SampledSolution
    from trajopt.trajectory.solution import PhaseSolution, Solution

Series = tuple[np.ndarray, np.ndarray]  # times, values
INSIDE = np.linspace(0.0, 1.0, 25)  # fractions of each interval


# Switching functions
# --------------------------------------------------------------------------------------------------


def plot_switching(solution: Solution, path: str | Path | None = None) -> Figure:
    """Plot every control above the derivative of H with respect to it: its switching function, if H
    is affine in the control.

    At a minimum of H the control is at its upper bound if the function is negative, at its lower
    bound if it is positive.

    Examples
    --------
    >>> from problems.classical.double_integrator_mintime import build
    >>> from trajopt import solve
    >>> [axes.get_title(loc="left") for axes in plot_switching(solve(build())).axes]
    ['u [m/s^2]', 'switching function of u']
    """
    functions = switching_functions(solution)
    rows = balanced(list(functions))
    figure, grid = panels([len(row) for row in rows for _ in ("control", "slope")])
    span = span_of([solution])
    for above, below, names in zip(grid[::2], grid[1::2], rows, strict=True):
        for control, slope, component in zip(above, below, names, strict=True):
            _control_panel(control, solution, component, span)
            _switching_panel(slope, solution, component, functions[component])
            slope.set_xlim(*span)
    label_columns(grid, time_label(solution))
    for axes in grid[0] if len(solution.phases) > 1 else ():
        name_phases(axes, solution)
    heading(figure, f"{solution.problem}   switching functions", solution.success)
    write_figure(figure, path)
    return figure


def switching_functions(solution: Solution) -> dict[str, list[tuple[np.ndarray, np.ndarray, bool]]]:
    """Return for each control component and phase: times, derivatives of H, and a flag if their
    sign determines the control.

    It does if H is affine in a bounded control that appears in no path constraint.
    """
    found: dict[str, list[tuple[np.ndarray, np.ndarray, bool]]] = {}
    for e in _extremals(solution):
        form = e.phase.form
        if not form.u.numel():
            continue
        times = _fine(e.phase)
        slopes = _values(e, casadi.gradient(e.ham.H, form.u), times)
        for k, component in enumerate(form.u_names):
            free = (
                casadi.jacobian(form.c, form.u[k]).nnz() == 0
            )  # otherwise a path constraint affects the minimum of H
            bounded = bool(
                np.isfinite(form.u_bound.lower[k]) and np.isfinite(form.u_bound.upper[k])
            )
            found.setdefault(component, []).append(
                (
                    times,
                    slopes[k],
                    casadi.hessian(e.ham.H, form.u)[0][k, k].nnz() == 0 and free and bounded,
                )
            )
    if not found:
        raise UsageError(f"'{solution.problem}' has no controls")
    return found


def _control_panel(
    axes: Any, solution: Solution, component: str, span: tuple[float, float]
) -> None:
    tidy(axes)
    name, _, index = component.partition("[")
    unit = ""
    for number, phase in enumerate(solution.phases.values()):
        curve = phase.controls.get(name)
        if curve is None:
            continue
        unit, row = curve.unit, curve.labels(name).index(component)
        draw_curve(axes, curve.rows(slice(row, row + 1), unit), lambda _: line_style(0) | STYLE)
        mark_mesh(axes, phase, curve)
        if number:
            axes.axvline(phase.t0, color=INK, linewidth=0.8)
    shade_arcs(axes, solution.arcs, component, span)
    if not index:
        draw_bounds(axes, solution, "controls", name)
    axes.set_xlim(*span)
    settle(axes, component, unit)


def _switching_panel(
    axes: Any, solution: Solution, component: str, parts: list[tuple[np.ndarray, np.ndarray, bool]]
) -> None:
    tidy(axes)
    for times, values, _ in parts:
        axes.plot(times, values, color=COLOURS[1], **STYLE)
    axes.axhline(0.0, color=INK, linewidth=0.9)
    shade_arcs(axes, solution.arcs, component, span_of([solution]), named=False)
    word = "switching function of" if all(affine for *_, affine in parts) else "dH/du of"
    settle(axes, f"{word} {component}", "")


# Mesh and error
# --------------------------------------------------------------------------------------------------


def plot_mesh(solution: Solution, path: str | Path | None = None) -> Figure:
    """Plot the width, degree and error of each interval, and their history over the mesh passes."""
    figure = new_figure(2, 2, (4.6, 2.4))
    widths, errors, passes, gains = (figure.add_subplot(2, 2, k + 1) for k in range(4))
    span = span_of([solution])
    for axes, of in ((widths, _widths), (errors, _errors)):
        tidy(axes)
        for number, phase in enumerate(solution.phases.values()):
            values = of(phase)
            if values.size and len(phase.breaks) == values.size + 1:
                axes.stairs(
                    np.maximum(values, 1e-17),
                    phase.breaks,
                    color=COLOURS[0],
                    linewidth=1.5,
                    baseline=None,
                )
            if number:
                axes.axvline(phase.t0, color=INK, linewidth=0.8)
        axes.set_xlim(*span)
        axes.set_xlabel(time_label(solution))
    _tolerance_line(errors, solution)
    for axes in (widths, errors):
        logarithmic(axes)
    _degrees(widths, solution)
    title(
        widths, labelled("width of the intervals", next(iter(solution.phases.values())).time_unit)
    )
    title(errors, "estimated relative error of each interval")
    if len(solution.phases) > 1:
        name_phases(errors, solution)
    _history(passes, gains, solution)
    heading(
        figure,
        f"{solution.problem}   mesh and error ({solution.method}), {solution.status.name.lower()}",
        solution.success,
    )
    write_figure(figure, path)
    return figure


def _widths(phase: PhaseSolution) -> np.ndarray:
    return np.diff(phase.breaks)


def _errors(phase: PhaseSolution) -> np.ndarray:
    return phase.errors


def _degrees(axes: Any, solution: Solution) -> None:
    """Write the polynomial degrees on intervals that are wide enough."""
    start, end = span_of([solution])
    for phase in solution.phases.values():
        for a, b, degree in zip(phase.breaks[:-1], phase.breaks[1:], phase.degrees, strict=False):
            if b - a < 0.02 * (end - start):
                continue
            axes.annotate(
                str(degree),
                ((a + b) / 2, b - a),
                (0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=6.5,
                color="#666666",
            )
    axes.margins(y=0.2)
    axes.text(
        0.99,
        0.02,
        "numbers: degrees",
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=6.5,
        color="#666666",
    )


def _tolerance_line(axes: Any, solution: Solution) -> None:
    if np.isfinite(solution.tolerance):
        axes.axhline(solution.tolerance, **BOUND)
        place = {"transform": axes.get_yaxis_transform(), "ha": "right", "va": "bottom"}
        axes.text(1.0, solution.tolerance, "tolerance", fontsize=7, color=INK, **place)


def _history(left: Any, right: Any, solution: Solution) -> None:
    """Plot error, number of intervals and distance of the objective from its last value over the
    passes.
    """
    number = np.arange(1, len(solution.history) + 1)
    for axes in (left, right):
        tidy(axes)
        axes.set_xlabel("pass")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    title(left, "estimated relative error by pass")
    title(right, "intervals and points by pass")
    if not number.size:
        return
    error = np.array([p.error for p in solution.history], dtype=float)
    objective = np.array([p.objective for p in solution.history], dtype=float)
    mark: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 1.4}
    left.plot(number, np.where(error > 0, error, np.nan), color=COLOURS[0], label="error", **mark)
    if number.size > 1:
        gap = np.abs(objective[:-1] - objective[-1]) / max(abs(objective[-1]), 1e-300)
        label = "objective, distance to the last"
        left.plot(
            number[:-1],
            np.maximum(gap, 1e-17),
            color=COLOURS[1],
            linestyle="--",
            label=label,
            **mark,
        )
    _tolerance_line(left, solution)
    logarithmic(left)
    left.legend(fontsize=7.5, frameon=False, loc="best")
    for k, (label, values) in enumerate(
        {
            "points": [p.points for p in solution.history],
            "intervals": [p.intervals for p in solution.history],
        }.items()
    ):
        right.plot(number, values, label=label, **(line_style(k) | mark))
    right.set_ylim(bottom=0)
    right.legend(fontsize=7.5, frameon=False, loc="best")


# First integrals
# --------------------------------------------------------------------------------------------------


def plot_integrals(solution: Solution, path: str | Path | None = None) -> Figure:
    """Plot the deviation of the Hamiltonian and every first integral, relative to the size of their
    terms.
    """
    figure = new_figure(1, 1, (7.4, 3.6))
    axes = figure.add_subplot()
    tidy(axes)
    drifts = integral_drifts(solution)
    if not drifts:
        raise UsageError(
            f"'{solution.problem}' has no first integrals: it depends on time, and none are "
            "declared"
        )
    draw_drifts(axes, drifts)
    axes.set_xlim(*span_of([solution]))
    axes.set_xlabel(time_label(solution))
    if len(solution.phases) > 1:
        for phase in list(solution.phases.values())[1:]:
            axes.axvline(phase.t0, color=INK, linewidth=0.6)
    title(axes, "drift of the first integrals, relative to their terms")
    axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    heading(figure, f"{solution.problem}   first integrals ({solution.method})", solution.success)
    write_figure(figure, path)
    return figure


def integral_drifts(solution: Solution) -> dict[str, Series]:
    """Return by name: times, and the distance from the median in each phase, relative to the
    contributions of the variables.

    Only the largest value of each interval is returned.
    """
    from trajopt.certificate.hamiltonian_system import ConservedQuantity, first_integrals

    found: dict[str, list[Series]] = {}
    for e in _extremals(solution):
        sizes = np.concatenate([e.phase.sizes, e.costate_sizes])
        times = _fine(e.phase)
        time = casadi.depends_on(
            casadi.vertcat(*[getattr(e.phase.form, row) for row in "fglc"]), e.phase.form.t
        )
        own = () if time else (ConservedQuantity("H", e.ham.H),)
        for integral in (*own, *first_integrals(e.ham)):
            slopes = [
                casadi.jacobian(integral.expression, v).T for v in (e.phase.form.x, e.ham.costate)
            ]
            values = _values(e, casadi.vertcat(integral.expression, *slopes), times)
            terms = float((np.abs(values[1:]) * sizes[:, None]).sum(axis=0).max(initial=0.0))
            scale = max(float(np.abs(values[0]).max()), terms, 1e-300)
            gap = np.abs(values[0] - np.median(values[0])) / scale
            found.setdefault(integral.name, []).append(
                largest_by_interval(e.phase.breaks, times, gap)
            )
    return {
        name: (np.concatenate([t for t, _ in parts]), np.concatenate([v for _, v in parts]))
        for name, parts in found.items()
    }


def largest_by_interval(breaks: np.ndarray, times: np.ndarray, values: np.ndarray) -> Series:
    """Return the largest value of each interval as a step function, with NaN at the end."""
    which = np.clip(np.searchsorted(breaks, times, side="right") - 1, 0, len(breaks) - 2)
    tops = np.full(len(breaks) - 1, np.nan)
    for k in np.unique(which):
        tops[k] = values[which == k].max()
    return np.append(np.repeat(breaks, 2)[1:-1], np.nan), np.append(np.repeat(tops, 2), np.nan)


# Evaluation of the problem
# --------------------------------------------------------------------------------------------------


def problem_along(solution: Solution) -> SampledSolution:
    """Evaluate the problem along its solution."""
    from trajopt.certificate.sampled_solution import along

    solution = with_form(solution, "this plot")
    return along(solution.form, solution)


def _extremals(solution: Solution) -> tuple[PhaseConditions, ...]:
    from trajopt.certificate.phase_conditions import extremals

    whole = problem_along(solution)
    if not all(ph.has_costates for ph in whole.phases):
        raise UsageError(f"this solution of '{solution.problem}' has no costates")
    try:
        return extremals(whole)
    except TrajoptError as error:
        raise UsageError(
            f"Pontryagin's conditions of '{solution.problem}' cannot be set up", got=error.what
        ) from error


def _fine(phase: SampledPhase) -> np.ndarray:
    every = np.arange(phase.widths.size)
    return phase.inside(np.repeat(INSIDE[None, :], every.size, axis=0), every).ravel()


def _values(e: PhaseConditions, expression: Any, times: np.ndarray) -> np.ndarray:
    """Evaluate an expression in the symbols of a Hamiltonian: (rows, times)."""
    from trajopt.certificate.sampled_solution import evaluated

    function = casadi.Function("value", e.symbols, [casadi.densify(expression)])
    ph = e.phase
    return evaluated(
        function, times[None, :], ph.x(times), ph.z(times), ph.u(times), ph.costate(times), *e.fixed
    )
