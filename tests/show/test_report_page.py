"""The report: a self-contained page that works in a browser."""

import dataclasses
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from casadi import SX
from typer.testing import CliRunner

from problems.classical import bryson_denham, double_integrator_mintime
from trajopt import solve
from trajopt.__main__ import app
from trajopt.certificate.table import Certificate, judged, skipped
from trajopt.errors import FileError
from trajopt.files.storage import save
from trajopt.show.drawing import Drawing, Mark, Rod, Trail
from trajopt.show.report_page import write_report
from trajopt.trajectory.solution import Status

BROWSER = next(
    (
        found
        for found in map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
        if found
    ),
    None,
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium is installed")

R = [SX.sym(f"r_{i}") for i in range(3)]
FLAT = Drawing((Trail(R[:2]), Rod(((0, 0), R[:2])), Mark(R[:2])))
SPACE = Drawing((Trail(R), Rod(((0, 0, 0), R)), Mark(R)))
CHECKS = (
    judged("boundary conditions", 2e-9, 1e-6),
    judged("costate <equation>", 3.0, 1e-3, "at t = 1"),
    skipped("published", "none"),
)


class Page(HTMLParser):
    """Tags that are opened and closed, and every address a browser might fetch."""

    VOID = frozenset({"meta", "input", "img", "br", "link"})

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for key, value in attrs if key in ("src", "href", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def written(answer, tmp_path, **details):
    path = tmp_path / "report.html"
    write_report(answer, path, **details)
    return path.read_text(encoding="utf-8")


def data_of(text):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]
    )


def test_the_page_is_self_contained(handmade, tmp_path):
    text = written(
        handmade(),
        tmp_path,
        certificate=Certificate("hand-made", CHECKS),
        drawing=FLAT,
        statement="minimize t < 3",
    )
    page = Page(text)
    assert page.open == []
    assert page.addresses
    assert all(address.startswith("data:") for address in page.addresses)
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert "minimize t &lt; 3" in text


def test_the_charts_are_the_curves(handmade, tmp_path):
    answer = handmade()
    panels = data_of(written(answer, tmp_path))["panels"]
    assert [panel["title"] for panel in panels] == [
        "z last",
        "r",
        "λ",
        "u/limit",
        "costate of z last",
        "costate of r",
    ]
    for panel, name in zip(panels[:2], ("z last", "r"), strict=True):
        for k, line in enumerate(panel["lines"]):
            assert len(line["segments"]) == 2
            for (t, v), phase in zip(line["segments"], answer.phases.values(), strict=True):
                true = phase[name].evaluate(np.array(t))[:, k]
                assert (t[0], t[-1]) == (phase.t0, phase.tf)
                inside = ~np.isin(
                    t, phase.breaks
                )  # at a break the value from before stands beside that from after
                np.testing.assert_allclose(np.array(v)[inside], true[inside], atol=1e-7)
    control = panels[3]
    assert control["bounds"] == [-1.0, 1.0]
    assert [role for *_, role in control["arcs"]] == ["upper", "singular"]


def test_a_jump_at_a_break_is_a_jump_in_the_chart(handmade, tmp_path):
    """At a break the chart has the value from before, and then the one from after."""
    answer = handmade(phases=1)
    curve = answer.phases["stance"].controls["u/limit"]
    panel = next(p for p in data_of(written(answer, tmp_path))["panels"] if p["title"] == "u/limit")
    ((t, v),) = panel["lines"][0]["segments"]
    for place in curve.breaks[1:-1]:
        before, after = np.flatnonzero(np.isclose(t, place, rtol=0, atol=1e-7))
        sides = [
            float(curve.evaluate(np.array([place]), left=left)[0, 0]) for left in (True, False)
        ]
        assert abs(sides[0] - sides[1]) > 1e-2
        assert [v[before], v[after]] == pytest.approx(sides, abs=1e-7)


def test_the_page_has_switching_functions_and_bounds_of_states(tmp_path):
    answer = solve(bryson_denham.build()).check()
    panels = {panel["title"]: panel for panel in data_of(written(answer, tmp_path))["panels"]}
    assert panels["x"]["bounds"] == [pytest.approx(1 / 9)]
    answer = solve(double_integrator_mintime.build()).check()
    panels = {panel["title"]: panel for panel in data_of(written(answer, tmp_path))["panels"]}
    function = panels["of u"]
    assert function["kind"] == "switching functions"
    ((times, values),) = function["lines"][0]["segments"]
    np.testing.assert_allclose(values, answer.costate("v")(times), atol=1e-6)
    assert [role for *_, role in function["arcs"]] == ["upper", "lower"]


def test_the_page_has_the_certificate_with_its_verdicts(handmade, tmp_path):
    text = written(handmade(), tmp_path, certificate=Certificate("hand-made", CHECKS))
    table = re.search(r'<table id="certificate">.*?</table>', text, re.S)[0]
    rows = [re.sub(r"<[^>]+>", "|", row) for row in re.findall(r"<tr>.*?</tr>", table)][1:]
    assert [html.unescape(row.strip("|").replace("||", "|")) for row in rows] == [
        "boundary conditions|2.0e-09|1e-06|ok",
        "costate <equation>|3.0e+00|1e-03|FAILS: at t = 1",
        "published|-|-|skipped: none",
    ]
    assert "not certified" in text


def test_history_versions_and_how_to_reproduce(handmade, tmp_path):
    text = written(handmade(), tmp_path)
    history = re.search(r'<table id="history">.*?</table>', text, re.S)[0]
    assert history.count("<tr>") == 1 + 2
    assert "first mesh" in history
    assert "casadi" in text
    assert "trajopt solve hand-made --method direct --tolerance 1e-06" in text


def test_names_are_escaped_in_the_page(handmade, tmp_path):
    text = written(handmade(problem="</script><b>x", parameters={"<i>": np.array([1.0])}), tmp_path)
    assert Page(text).open == []
    assert "<b>x" not in text
    assert "<i>" not in text


def test_a_failed_solution_shows_its_explanation(handmade, tmp_path):
    text = written(handmade(Status.INFEASIBLE), tmp_path)
    assert 'class="verdict bad"' in text
    assert "by 0.3 m at t = 2.5 s" in html.unescape(text)


def test_nonfinite_values_are_gaps(handmade, tmp_path):
    answer = handmade(phases=1)
    phase = answer.phases["stance"]
    curve = phase.states["z last"]
    broken = dataclasses.replace(
        curve, values=(np.full_like(curve.values[0], np.nan), *curve.values[1:])
    )
    answer = dataclasses.replace(
        answer,
        phases={"stance": dataclasses.replace(phase, states={"x": broken})},
        error=float("nan"),
    )
    values = data_of(written(answer, tmp_path))["panels"][0]["lines"][0]["segments"][0][1]
    assert None in values
    assert any(v is not None for v in values)


def test_wrong_endings_are_rejected(handmade, tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        write_report(handmade(), tmp_path / "report.pdf")


# The command
# --------------------------------------------------------------------------------------------------


def test_the_command_reports_a_solution_to_an_unknown_problem(handmade, tmp_path):
    save(handmade(), tmp_path / "answer.nc")
    result = CliRunner().invoke(
        app, ["report", str(tmp_path / "answer.nc"), "-o", str(tmp_path / "page.html")]
    )
    assert result.exit_code == 0, result.output
    assert "without statement" in result.output
    assert "trajopt report answer.nc -o page.html" in (tmp_path / "page.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.nc", "-o", "page.html"], "does not exist"),
        (["answer.nc", "-o", "page.txt"], "ending '.txt'"),
        (
            ["answer.nc", "-o", "page.html", "--problem", "cart-pole"],
            "is not a solution of problem 'cart-pole'",
        ),
        (
            ["answer.nc", "-o", "page.html", "--set", "mass=3"],
            "problem 'hand-made' of this file is not in the catalogue",
        ),
    ],
)
def test_errors_are_reported_and_nothing_is_written(
    handmade, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    save(handmade(), "answer.nc")
    result = CliRunner().invoke(app, ["report", *arguments])
    assert result.exit_code == 2
    assert message in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["answer.nc"]


@pytest.mark.slow
def test_a_solved_problem_has_statement_certificate_and_animation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner()
    solved = run.invoke(
        app,
        [
            "solve",
            "brachistochrone",
            "--set",
            "target=8,4",
            "--save",
            "b.nc",
            "--animate",
            "b.gif",
            "-q",
        ],
    )
    assert solved.exit_code == 0, solved.output
    result = run.invoke(app, ["report", "b.nc", "--set", "target=8,4", "-o", "b.html"])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "problem &#x27;brachistochrone&#x27;" in text
    assert '<table id="certificate">' in text
    assert "--set target=8,4" in text
    bead = data_of(text)["scene"]["strokes"][-1]["points"]
    np.testing.assert_allclose(bead[0][0], (0, 10), atol=1e-4)
    np.testing.assert_allclose(bead[-1][0], (8, 4), atol=1e-4)
    assert (tmp_path / "b.gif").read_bytes().startswith(b"GIF89a")


# In a browser
# --------------------------------------------------------------------------------------------------

# Moves the slider, a pointer over a chart and the play button as a reader would, and writes down
# what became of the page.
PROBE = """<script>
const seen = {};
const all = (selector, parent = document) => [...parent.querySelectorAll(selector)];
const ink = () =>
  all("#film path, #film circle").map((n) => n.getAttribute("d") || n.getAttribute("cx")).join("|");
seen.panels = all(".panel svg").length;
seen.phases = all(".phase title", document.querySelector(".panel svg")).map((n) => n.textContent);
seen.drawn = all(".panel svg").every((svg) =>
  all("path", svg).some((p) => p.getAttribute("d").length > 50));
const slider = document.getElementById("slider");
if (slider) {
  const before = ink();
  slider.value = Math.round(slider.max / 2);
  slider.dispatchEvent(new Event("input"));
  seen.moved = ink() !== before;
  seen.clock = document.getElementById("clock").textContent;
  seen.frames = Number(slider.max) + 1;
  document.getElementById("play").click();
  seen.playing = document.getElementById("play").textContent;
  document.getElementById("play").click();
  seen.paused = document.getElementById("play").textContent;
  const still = ink();
  document.getElementById("film").dispatchEvent(new PointerEvent("pointermove",
    { buttons: 1, movementX: 40, movementY: 10 }));
  seen.turned = ink() !== still;
}
const svg = document.querySelector(".panel svg"), box = svg.getBoundingClientRect();
svg.dispatchEvent(new PointerEvent("pointermove",
  { clientX: box.left + box.width, clientY: box.top + 5 }));
seen.readout = document.querySelector(".panel output").textContent;
const drag = (kind, share) =>
  svg.dispatchEvent(new PointerEvent(kind, { clientX: box.left + share * box.width }));
const labels = () => all("text", svg).map((n) => n.textContent).join(" ");
const whole = labels();
drag("pointerdown", 0.5);
drag("pointerup", 0.6);
seen.closer = labels() !== whole && all(".panel svg").every((s) => all("path", s).length > 0);
svg.dispatchEvent(new MouseEvent("dblclick"));
seen.back = labels() === whole;
seen.finite = !document.querySelector(".panels").innerHTML.includes("NaN");
document.title = JSON.stringify(seen);
</script>"""


def in_browser(text, tmp_path):
    """What the probe saw, after asserting that the console stayed silent."""
    page = tmp_path / "probe.html"
    page.write_text(text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    command += [
        "--enable-logging=stderr",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--dump-dom",
        page.as_uri(),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    console = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    assert console == []
    return json.loads(html.unescape(re.search(r"<title>(.*?)</title>", result.stdout, re.S)[1]))


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("drawing", "turns"), [(FLAT, False), (SPACE, True)], ids=["plane", "space"]
)
def test_charts_are_drawn_and_the_slider_moves_the_figure(handmade, tmp_path, drawing, turns):
    answer = handmade()
    text = written(answer, tmp_path, certificate=Certificate("hand-made", CHECKS), drawing=drawing)
    seen = in_browser(text, tmp_path)
    assert seen["panels"] == 6
    assert seen["drawn"]
    assert seen["moved"]
    assert seen["turned"] is turns
    assert seen["finite"]
    assert seen["closer"]
    assert seen["back"]
    assert (seen["playing"], seen["paused"]) == ("Pause", "Play")
    assert seen["frames"] == 150
    assert float(seen["clock"].split()[2]) == pytest.approx(1.25, abs=0.02)
    time, value = (float(word) for word in seen["readout"].split()[1:])
    assert time == pytest.approx(2.5, abs=0.001)
    assert value == pytest.approx(answer["flight/free", "z last"](2.5), abs=1e-4)


@needs_browser
def test_a_page_without_a_drawing_works_too(handmade, tmp_path):
    answer = handmade()
    seen = in_browser(written(answer, tmp_path), tmp_path)
    assert seen["panels"] == 6
    assert "moved" not in seen
    assert seen["phases"] == list(answer.phases)


@needs_browser
def test_errors_of_the_browser_console_are_detected(handmade, tmp_path):
    """The check of the console detects errors."""
    text = written(handmade(), tmp_path).replace(
        "</body>", "<script>undefined_name();</script></body>"
    )
    with pytest.raises(AssertionError, match="undefined_name"):
        in_browser(text, tmp_path)
