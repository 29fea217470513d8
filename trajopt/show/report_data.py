"""The data of the report's charts and animation for its script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.errors import TrajoptError
from trajopt.show.diagnostic_plots import switching_functions
from trajopt.show.figure_style import ROLES, ROUNDING
from trajopt.show.frames import Array
from trajopt.show.plots import KINDS, bounds_of, largest_costate
from trajopt.show.scene import Scene, projected, window_of

if TYPE_CHECKING:
    from trajopt.trajectory.curve import Curve
    from trajopt.trajectory.solution import Solution

SWITCHING = "switching functions"
CHART_POINTS = 400  # of each curve; at least 4 per interval


def page_data(solution: Solution, seen: Scene | None) -> dict[str, Any]:
    """Return the data for the script of the page: time span, mesh, charts and animation."""
    panels = [*_panels(solution), *_switching(solution)]
    return {
        "span": whole_span(solution),
        "mesh": _mesh(solution),
        "phases": [[name, ph.t0, ph.tf] for name, ph in solution.phases.items()],
        "panels": panels,
        "scene": _scene(seen),
    }


def whole_span(solution: Solution) -> tuple[float, float]:
    """Return the time span; (0, 1) for a solution without phases."""
    phases = solution.phases.values()
    return min((ph.t0 for ph in phases), default=0.0), max((ph.tf for ph in phases), default=1.0)


def _mesh(solution: Solution) -> list[float | None]:
    breaks = [ph.breaks for ph in solution.phases.values() if ph.breaks.size]
    return _numbers(np.unique(np.concatenate(breaks))) if breaks else []


def _panels(solution: Solution) -> list[dict[str, Any]]:
    found = []
    for kind in KINDS:
        for name in dict.fromkeys(
            name for ph in solution.phases.values() for name in getattr(ph, kind)
        ):
            curves = {
                ph.name: getattr(ph, kind)[name]
                for ph in solution.phases.values()
                if name in getattr(ph, kind)
            }
            found.append(_panel(solution, kind, name, curves))
    return found


def _panel(solution: Solution, kind: str, name: str, curves: Mapping[str, Curve]) -> dict[str, Any]:
    first = next(iter(curves.values()))
    largest = max(curves.values(), key=lambda curve: curve.size)
    sampled = [_sampled(curve) for curve in curves.values()]
    if kind == "costates":
        sampled = _without_round_off(solution, sampled)
    lines = [
        {
            "name": label,
            "segments": [[_numbers(t), _numbers(v[:, k])] for t, v in sampled if k < v.shape[1]],
        }
        for k, label in enumerate(largest.labels(name))
    ]
    limits = [
        bounds_of(solution, phase, kind, name, curve)
        for phase, curve in curves.items()
        if kind != "costates"
    ]
    bounds = sorted({level for levels in limits for level in levels})
    ends = [f(v) for _, v in sampled if v.size for f in (np.nanmin, np.nanmax)]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    distant = [level for level in bounds if not low <= level <= high]
    arcs = _arcs(solution, name) if kind == "controls" else []
    title = f"costate of {name}" if kind == "costates" else name
    unit = first.unit
    return {
        "kind": kind,
        "title": title,
        "unit": unit,
        "lines": lines,
        "bounds": bounds,
        "distant": ", ".join(f"{level:.4g}" for level in distant[:4]),
        "arcs": arcs,
    }


def _without_round_off(
    solution: Solution, sampled: list[tuple[Array, Array]]
) -> list[tuple[Array, Array]]:
    """Return costates that are round-off, relative to the largest, as zero."""
    largest = largest_costate(solution)
    size = max((float(np.nanmax(np.abs(v), initial=0.0)) for _, v in sampled), default=0.0)
    if size >= ROUNDING * largest:
        return sampled
    return [(t, np.where(np.isfinite(v), 0.0, v)) for t, v in sampled]


def _arcs(solution: Solution, name: str) -> list[list[Any]]:
    """Return start, end and role of the arcs where a control is at a bound or singular."""
    return [
        [arc.start, arc.end, role]
        for arc in solution.arcs
        for component, role in arc.roles.items()
        if role in ROLES and (component == name or component.startswith(f"{name}["))
    ]


def _switching(solution: Solution) -> list[dict[str, Any]]:
    """Return the panels of switching functions; none if the problem or its
    Hamiltonian is unknown.
    """
    try:
        functions = switching_functions(solution)
    except TrajoptError:
        return []
    found = []
    for component, parts in functions.items():
        if all(alone for *_, alone in parts):
            lines = [
                {"name": component, "segments": [[_numbers(t), _numbers(v)] for t, v, _ in parts]}
            ]
            panel = {
                "kind": SWITCHING,
                "title": f"of {component}",
                "unit": "",
                "lines": lines,
                "bounds": [0.0],
            }
            found.append(panel | {"arcs": _arcs(solution, component)})
    return found


def _sampled(curve: Curve) -> tuple[Array, Array]:
    """Sample each interval including both ends, to preserve discontinuities at breaks."""
    count = max(4, CHART_POINTS // max(len(curve.nodes), 1))
    times = np.concatenate(
        [np.linspace(a, b, count) for a, b in zip(curve.breaks[:-1], curve.breaks[1:], strict=True)]
    )
    values = curve.evaluate(times)
    ends = np.arange(count - 1, len(times), count)
    values[ends] = curve.evaluate(times[ends], left=True)
    return times, values


def _scene(seen: Scene | None) -> dict[str, Any] | None:
    if seen is None:
        return None
    left, right, low, high = window_of(seen)
    digits = max(0, 5 - int(np.floor(np.log10(max(right - left, high - low)))))
    content: dict[str, Any] = {
        "t": _numbers(seen.t),
        "dimension": seen.dimension,
        "seconds": seen.seconds,
        "unit": seen.time_unit,
        "finer": seen.finer,
        "view": list(seen.view),
        "window": [left, right, low, high],
        "middle": None if seen.middle is None else _rounded(seen.middle, digits),
        "centre": None,
    }
    if seen.dimension == 3 and seen.middle is None:
        centre, radius = _sphere(seen)
        u, v = projected(centre, seen.view)
        half = max(right - u, u - left, radius), max(high - v, v - low, radius)
        content |= {"centre": centre.tolist(), "window": [-half[0], half[0], -half[1], half[1]]}
    content["strokes"] = [
        {
            "role": s.role.value,
            "colour": s.colour,
            "width": s.width,
            "points": _rounded(s.points, digits),
        }
        for s in seen.strokes
    ]
    return content


def _sphere(seen: Scene) -> tuple[Array, float]:
    """Return centre and radius of a sphere that contains the moving shapes, for any view."""
    moving = [s for s in seen.strokes if s.framed] or list(seen.strokes)
    points = np.concatenate([s.points.reshape(-1, 3) for s in moving])
    centre = (np.nanmin(points, axis=0) + np.nanmax(points, axis=0)) / 2
    return centre, float(np.nanmax(np.linalg.norm(points - centre, axis=1))) * 1.05


def _numbers(values: Array) -> list[float | None]:
    """Round to eight digits; None for values that are not finite."""
    return [float(f"{v:.8g}") if np.isfinite(v) else None for v in values]


def _rounded(points: Array, digits: int) -> Any:
    """Return rounded nested lists; None for values that are not finite."""
    rounded = np.round(points, digits)
    return np.where(np.isfinite(rounded), rounded, None).tolist()  # type: ignore[call-overload]
