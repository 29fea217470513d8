"""The report: one page to mail, with everything inside it; it opens from a disk, without a network."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.errors import TrajoptError
from trajopt.files import check_writable, write_text
from trajopt.show.checks import switching_functions
from trajopt.show.drawing import Drawing
from trajopt.show.plots import bounds_of, plot_solution
from trajopt.show.scene import Array, Scene, pace, projected, scene, window_of

if TYPE_CHECKING:
    from trajopt.certificate import Certificate
    from trajopt.curve import Curve
    from trajopt.solution import PhaseSolution, Solution

KINDS = ("states", "algebraics", "controls", "costates")
SWITCHING = "switching functions"
CHART_POINTS = 400  # of each curve, more where there are more intervals
FILM_FRAMES = 150
SHADED = ("lower", "upper", "singular")

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def write_report(
    solution: Solution,
    path: str | Path,
    certificate: Certificate | None = None,
    drawing: Drawing | None = None,
    statement: str = "",
    commands: Sequence[str] = (),
) -> None:
    """Write a self-contained HTML page about an answer.

    Parameters
    ----------
    certificate : its rows with their verdicts, where there is one.
    drawing : adds the motion with play, pause and a slider.
    statement : the problem as printed.
    commands : what reproduces the answer; taken from the answer itself where nothing is said.
    """
    check_writable(path, (".html", ".htm"))
    seen = None if drawing is None or not solution.phases else scene(solution, drawing, FILM_FRAMES)
    panels = [*_panels(solution), *_switching(solution)]
    body = [
        _head(solution),
        _film(seen),
        _charts(panels),
        _certificate(certificate),
        _section("Problem", f"<pre>{escape(statement)}</pre>" if statement else ""),
        _structure(solution),
        _history(solution),
        _picture(solution),
        _origin(solution, commands),
    ]
    own = files("trajopt.show")
    content = {"span": _span(solution), "mesh": _mesh(solution), "panels": panels, "scene": _scene(seen)}
    page = PAGE.format(
        title=escape(f"{solution.problem}: {solution.status.value}"),
        style=own.joinpath("report.css").read_text(encoding="utf-8"),
        script=own.joinpath("report.js").read_text(encoding="utf-8"),
        body="\n".join(part for part in body if part),
        data=json.dumps(content, allow_nan=False, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c"),
    )
    write_text(path, page)


def _head(solution: Solution) -> str:
    start, end = _span(solution)
    unit = next((ph.time_unit for ph in solution.phases.values()), "")
    facts = {
        "objective": f"{solution.objective:.12g}",
        "time": f"{start:.8g} to {end:.8g} {unit}".rstrip(),
        "method": solution.method,
        "estimated error": f"{solution.error:.1e} (asked for {solution.tolerance:.0e})",
        "intervals": str(sum(max(len(ph.breaks) - 1, 0) for ph in solution.phases.values())),
        "iterations": str(solution.iterations),
    }
    if "total" in solution.seconds:
        facts["solved in"] = f"{solution.seconds['total']:.2f} s"
    for name, value in {**solution.parameters, **solution.variables}.items():
        facts[name] = ", ".join(f"{one:.8g}" for one in np.atleast_1d(value))
    items = "".join(f"<li><span>{escape(k)}</span> <b>{escape(v)}</b></li>" for k, v in facts.items())
    colour = "good" if solution.success else "bad"
    advice = "".join(f"<p>{escape(line)}</p>" for line in solution.explanation)
    verdict = f'<p class="verdict {colour}" id="status">{escape(solution.status.value)}</p>'
    return f'<h1>{escape(solution.problem)}</h1>\n{verdict}\n<ul class="facts">{items}</ul>{advice}'


def _film(seen: Scene | None) -> str:
    if seen is None:
        return ""
    turn = " Drag to turn it." if seen.dimension == 3 else ""
    speed = f"at {pace(seen)}" if pace(seen) else "in real time"
    meaning = f" {seen.caption[:1].upper()}{seen.caption[1:]}." if seen.caption else ""
    return f"""<h2>Motion</h2>
<svg id="film" role="img" aria-label="the motion"></svg>
<div class="controls"><button id="play" type="button">Play</button>
<input id="slider" type="range" min="0" value="0" step="1" aria-label="time"><output id="clock"></output></div>
<h3>Plays {escape(speed)}.{turn} The slider moves the cursor of all charts.{escape(meaning)}</h3>"""


def _charts(panels: Sequence[Mapping[str, Any]]) -> str:
    present = dict.fromkeys(str(panel["kind"]) for panel in panels)
    if not present:
        return ""
    groups = "".join(f'<h3>{kind}</h3>\n<div class="panels" data-kind="{kind}"></div>\n' for kind in present)
    hint = "<h3>Point at a chart to read it; drag over it to look closer at a stretch of time, double click for all.</h3>"
    return f"<h2>Trajectories</h2>\n{hint}\n{groups}"


def _certificate(certificate: Certificate | None) -> str:
    if certificate is None:
        return ""
    from trajopt.certificate.table import figures, verdict

    rows = [(check.name, *figures(check), verdict(check)) for check in certificate.checks]
    colours = ["" if check.ok and not check.applies else "good" if check.ok else "bad" for check in certificate.checks]
    word, colour = ("certified", "good") if certificate.ok else ("not certified", "bad")
    table = _table(("check", "figure", "tolerance", "verdict"), rows, numbers=(1, 2), colours=colours, name="certificate")
    return _section("Certificate", f'<p class="verdict {colour}">{word}</p>{table}')


def _structure(solution: Solution) -> str:
    rows = [
        (arc.phase, f"{arc.start:.8g}", f"{arc.end:.8g}", ", ".join(f"{name} {role}" for name, role in arc.roles.items()))
        for arc in solution.arcs
    ]
    return _section("Arcs", _table(("phase", "from", "to", "controls"), rows, numbers=(1, 2))) if len(rows) > 1 else ""


def _history(solution: Solution) -> str:
    rows = [
        [
            *map(str, (k, p.intervals, p.points, p.iterations)),
            f"{p.error:.1e}",
            f"{p.objective:.12g}",
            f"{p.seconds:.2f}",
            p.remark,
        ]
        for k, p in enumerate(solution.history, start=1)
    ]
    head = ("pass", "intervals", "points", "iterations", "error", "objective", "seconds", "remark")
    meshes = _table(head, rows, numbers=tuple(range(7)), name="history") if rows else ""
    log = f"<pre>{escape(chr(10).join(solution.log))}</pre>" if solution.log else ""
    return _section("Meshes and solver", meshes + log)


def _picture(solution: Solution) -> str:
    """The plot as a picture too: for print, and for readers that run no scripts."""
    if not solution.phases:
        return ""
    buffer = io.BytesIO()
    plot_solution(solution).savefig(buffer, format="png", dpi=110)
    image = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<details><summary>Plot for print</summary><img alt="plot" src="data:image/png;base64,{image}"></details>'


def _origin(solution: Solution, commands: Sequence[str]) -> str:
    tolerance = f" --tolerance {solution.tolerance:g}" if np.isfinite(solution.tolerance) else ""
    usual = [f"trajopt solve {solution.problem} --method {solution.method}{tolerance}"]
    text = "\n".join(commands or usual)
    rows = [(name, version) for name, version in solution.versions.items()]
    options = [(name, str(value)) for name, value in solution.options.items() if isinstance(value, (str, int, float, bool))]
    tables = (_table(("version of", ""), rows, name="versions") if rows else "") + (
        f"<details><summary>Options of the solver</summary>{_table(('option', 'value'), options)}</details>" if options else ""
    )
    return _section("How to reproduce it", f'<pre id="reproduce">{escape(text)}</pre>{tables}')


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{content}" if content else ""


def _table(
    head: Iterable[str],
    rows: Sequence[Sequence[str]],
    numbers: tuple[int, ...] = (),
    colours: Sequence[str] = (),
    name: str = "",
) -> str:
    """Columns of numbers are aligned to the right; a row's colour is that of its last cell."""

    def cell(tag: str, column: int, text: str, colour: str = "") -> str:
        classes = " ".join(word for word in ("number" if column in numbers else "", colour) if word)
        return f'<{tag} class="{classes}">{escape(text)}</{tag}>' if classes else f"<{tag}>{escape(text)}</{tag}>"

    lines = ["<tr>" + "".join(cell("th", k, text) for k, text in enumerate(head)) + "</tr>"]
    for number, row in enumerate(rows):
        colour = colours[number] if colours else ""
        last = len(row) - 1
        lines.append("<tr>" + "".join(cell("td", k, text, colour if k == last else "") for k, text in enumerate(row)) + "</tr>")
    label = f' id="{name}"' if name else ""
    return f'<div class="scroll"><table{label}>{"".join(lines)}</table></div>'


# The data of the charts and the film --------------------------------------------------------------------------------------


def _span(solution: Solution) -> tuple[float, float]:
    phases = solution.phases.values()
    return min((ph.t0 for ph in phases), default=0.0), max((ph.tf for ph in phases), default=1.0)


def _mesh(solution: Solution) -> list[float | None]:
    breaks = [ph.breaks for ph in solution.phases.values() if ph.breaks.size]
    return _numbers(np.unique(np.concatenate(breaks))) if breaks else []


def _panels(solution: Solution) -> list[dict[str, Any]]:
    found = []
    for kind in KINDS:
        for name in dict.fromkeys(name for ph in solution.phases.values() for name in getattr(ph, kind)):
            curves = {ph.name: getattr(ph, kind)[name] for ph in solution.phases.values() if name in getattr(ph, kind)}
            found.append(_panel(solution, kind, name, curves))
    return found


def _panel(solution: Solution, kind: str, name: str, curves: Mapping[str, Curve]) -> dict[str, Any]:
    first = next(iter(curves.values()))
    size = max(curve.size for curve in curves.values())
    sampled = [_sampled(curve, solution.phases[phase]) for phase, curve in curves.items()]
    lines = [
        {"name": f"{name}[{k}]", "segments": [[_numbers(t), _numbers(v[:, k])] for t, v in sampled if k < v.shape[1]]}
        for k in range(size)
    ]
    limits = [bounds_of(solution, phase, kind, name, curve) for phase, curve in curves.items() if kind != "costates"]
    bounds = sorted({level for levels in limits for level in levels})
    arcs = _arcs(solution, name) if kind == "controls" else []
    title = f"costate of {name}" if kind == "costates" else name
    unit = "" if kind == "costates" else first.unit
    return {"kind": kind, "title": title, "unit": unit, "lines": lines, "bounds": bounds, "arcs": arcs}


def _arcs(solution: Solution, name: str) -> list[list[Any]]:
    """Where a control rides a bound or is singular: start, end, role."""
    return [
        [arc.start, arc.end, role]
        for arc in solution.arcs
        for component, role in arc.roles.items()
        if role in SHADED and (component == name or component.startswith(f"{name}["))
    ]


def _switching(solution: Solution) -> list[dict[str, Any]]:
    """Switching functions, of controls that have one; nothing where the problem or its Hamiltonian is not known."""
    try:
        functions = switching_functions(solution)
    except TrajoptError:
        return []
    found = []
    for component, parts in functions.items():
        if all(alone for *_, alone in parts):
            lines = [{"name": component, "segments": [[_numbers(t), _numbers(v)] for t, v, _ in parts]}]
            panel = {"kind": SWITCHING, "title": f"of {component}", "unit": "", "lines": lines, "bounds": [0.0]}
            found.append(panel | {"arcs": _arcs(solution, component)})
    return found


def _sampled(curve: Curve, phase: PhaseSolution) -> tuple[Array, Array]:
    """Each interval from its start to its end, so that a jump at a break stays a jump."""
    count = max(4, CHART_POINTS // max(len(curve.nodes), 1))
    times = np.concatenate([np.linspace(a, b, count) for a, b in zip(curve.breaks[:-1], curve.breaks[1:], strict=True)])
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
        {"role": s.role.value, "colour": s.colour, "width": s.width, "points": _rounded(s.points, digits)} for s in seen.strokes
    ]
    return content


def _sphere(seen: Scene) -> tuple[Array, float]:
    """Middle and radius of what moves: a picture of that size holds it from every side."""
    moving = [s for s in seen.strokes if s.framed] or list(seen.strokes)
    points = np.concatenate([s.points.reshape(-1, 3) for s in moving])
    centre = (np.nanmin(points, axis=0) + np.nanmax(points, axis=0)) / 2
    return centre, float(np.nanmax(np.linalg.norm(points - centre, axis=1))) * 1.05


def _numbers(values: Array) -> list[float | None]:
    """Eight digits are more than a chart shows; what is not a number is a gap."""
    return [float(f"{v:.8g}") if np.isfinite(v) else None for v in values]


def _rounded(points: Array, digits: int) -> Any:
    """Nested lists with null for what is not a number."""
    rounded = np.round(points, digits)
    return np.where(np.isfinite(rounded), rounded, None).tolist()  # type: ignore[call-overload]
