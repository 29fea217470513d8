"""The report: a self-contained HTML page that loads no other files."""

from __future__ import annotations

import base64
import io
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.files.atomic import check_writable, write_text
from trajopt.show.drawing import Drawing
from trajopt.show.plots import plot_solution
from trajopt.show.report_data import page_data, whole_span
from trajopt.show.scene import Scene, playback_speed_text, scene

if TYPE_CHECKING:
    from trajopt.certificate import Certificate
    from trajopt.trajectory.solution import Solution

FILM_FRAMES = 150

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none';
    style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
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
    """Write a self-contained HTML page about a solution.

    Parameters
    ----------
    certificate : adds the table of checks.
    drawing : adds an animation with play, pause and a slider.
    statement : the problem as printed.
    commands : commands that reproduce the solution; by default derived from the solution.
    """
    check_writable(path, (".html", ".htm"))
    seen = None if drawing is None or not solution.phases else scene(solution, drawing, FILM_FRAMES)
    data = page_data(solution, seen)
    body = [
        _head(solution),
        _film(seen),
        _charts(data["panels"]),
        _certificate(certificate),
        _section("Problem", f"<pre>{escape(statement)}</pre>" if statement else ""),
        _structure(solution),
        _history(solution),
        _picture(solution),
        _origin(solution, commands),
    ]
    own = files("trajopt.show")
    page = PAGE.format(
        title=escape(f"{solution.problem}: {solution.status.value}"),
        style=own.joinpath("report.css").read_text(encoding="utf-8"),
        script=own.joinpath("report.js").read_text(encoding="utf-8"),
        body="\n".join(part for part in body if part),
        data=json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False).replace(
            "<", "\\u003c"
        ),
    )
    write_text(path, page)


def _head(solution: Solution) -> str:
    start, end = whole_span(solution)
    unit = next((ph.time_unit for ph in solution.phases.values()), "")
    facts = {
        "objective": f"{solution.objective:.12g}",
        "time": f"{start:.8g} to {end:.8g} {unit}".rstrip(),
        "method": solution.method,
        "estimated error": f"{solution.error:.1e} (tolerance {solution.tolerance:.0e})",
        "intervals": str(sum(max(len(ph.breaks) - 1, 0) for ph in solution.phases.values())),
        "iterations": str(solution.iterations),
    }
    if "total" in solution.seconds:
        facts["solved in"] = f"{solution.seconds['total']:.2f} s"
    for name, value in {**solution.parameters, **solution.variables}.items():
        facts[name] = ", ".join(f"{one:.8g}" for one in np.atleast_1d(value))
    items = "".join(
        f"<li><span>{escape(k)}</span> <b>{escape(v)}</b></li>" for k, v in facts.items()
    )
    colour = "good" if solution.success else "bad"
    advice = "".join(f"<p>{escape(line)}</p>" for line in solution.explanation)
    verdict = f'<p class="verdict {colour}" id="status">{escape(solution.status.value)}</p>'
    return f'<h1>{escape(solution.problem)}</h1>\n{verdict}\n<ul class="facts">{items}</ul>{advice}'


def _film(seen: Scene | None) -> str:
    if seen is None:
        return ""
    turn = " Drag to rotate." if seen.dimension == 3 else ""
    speed = playback_speed_text(seen) or "in real time"
    meaning = f" {seen.caption[:1].upper()}{seen.caption[1:]}." if seen.caption else ""
    return f"""<h2>Motion</h2>
<svg id="film" role="img" aria-label="the motion"></svg>
<div class="controls"><button id="play" type="button">Play</button>
<input id="slider" type="range" min="0" value="0" step="1" aria-label="time">
<output id="clock"></output></div>
<h3>Plays {escape(speed)}.{turn} The slider moves the cursor of all charts.{escape(meaning)}</h3>"""


def _charts(panels: Sequence[Mapping[str, Any]]) -> str:
    present = dict.fromkeys(str(panel["kind"]) for panel in panels)
    if not present:
        return ""
    groups = "".join(
        f'<h3>{kind}</h3>\n<div class="panels" data-kind="{kind}"></div>\n' for kind in present
    )
    hint = (
        "<h3>Hover over a chart to read values, drag to zoom in time, double click to reset.</h3>"
    )
    return f"<h2>Trajectories</h2>\n{hint}\n{groups}"


def _certificate(certificate: Certificate | None) -> str:
    if certificate is None:
        return ""
    from trajopt.certificate.table import figures, verdict

    rows = [(check.name, *figures(check), verdict(check)) for check in certificate.checks]
    colours = [
        "" if check.ok and not check.applies else "good" if check.ok else "bad"
        for check in certificate.checks
    ]
    colour = "good" if certificate.ok else "bad"
    said = "".join(
        f"<br>{escape(name)}: {escape(value)}" for name, value in certificate.settings.items()
    )
    table = _table(
        ("check", "value", "tolerance", "verdict"),
        rows,
        numbers=(1, 2),
        colours=colours,
        name="certificate",
    )
    return _section(
        "Certificate",
        f'<p class="verdict {colour}">{escape(certificate.verdict)}</p><p>{said[4:]}</p>{table}',
    )


def _structure(solution: Solution) -> str:
    rows = [
        (arc.phase, f"{arc.start:.8g}", f"{arc.end:.8g}", arc.description) for arc in solution.arcs
    ]
    return (
        _section("Arcs", _table(("phase", "from", "to", "controls"), rows, numbers=(1, 2)))
        if len(rows) > 1
        else ""
    )


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
    """Return the plot as an image, for print and for browsers without scripts."""
    if not solution.phases:
        return ""
    buffer = io.BytesIO()
    plot_solution(solution).savefig(buffer, format="png", dpi=110)
    image = base64.b64encode(buffer.getvalue()).decode("ascii")
    return (
        '<details><summary>Plot for print</summary><img alt="plot" '
        f'src="data:image/png;base64,{image}"></details>'
    )


def _origin(solution: Solution, commands: Sequence[str]) -> str:
    tolerance = f" --tolerance {solution.tolerance:g}" if np.isfinite(solution.tolerance) else ""
    usual = [
        f"trajopt solve {shlex.quote(solution.problem)} --method "
        f"{shlex.quote(solution.method)}{tolerance}"
    ]
    text = "\n".join(commands or usual)
    rows = [(name, version) for name, version in solution.versions.items()]
    options = [
        (name, str(value))
        for name, value in solution.options.items()
        if isinstance(value, (str, int, float, bool))
    ]
    tables = (_table(("version of", ""), rows, name="versions") if rows else "") + (
        "<details><summary>Options of the "
        f"solver</summary>{_table(('option', 'value'), options)}</details>"
        if options
        else ""
    )
    return _section("How to reproduce", f'<pre id="reproduce">{escape(text)}</pre>{tables}')


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{content}" if content else ""


def _table(
    head: Iterable[str],
    rows: Sequence[Sequence[str]],
    numbers: tuple[int, ...] = (),
    colours: Sequence[str] = (),
    name: str = "",
) -> str:
    """Return an HTML table; columns ``numbers`` are right-aligned, ``colours`` apply to the last
    cell of each row.
    """

    def cell(tag: str, column: int, text: str, colour: str = "") -> str:
        classes = " ".join(word for word in ("number" if column in numbers else "", colour) if word)
        return (
            f'<{tag} class="{classes}">{escape(text)}</{tag}>'
            if classes
            else f"<{tag}>{escape(text)}</{tag}>"
        )

    lines = ["<tr>" + "".join(cell("th", k, text) for k, text in enumerate(head)) + "</tr>"]
    for number, row in enumerate(rows):
        colour = colours[number] if colours else ""
        last = len(row) - 1
        lines.append(
            "<tr>"
            + "".join(
                cell("td", k, text, colour if k == last else "") for k, text in enumerate(row)
            )
            + "</tr>"
        )
    label = f' id="{name}"' if name else ""
    return f'<div class="scroll"><table{label}>{"".join(lines)}</table></div>'
