"""Notebook displays fit on a screen, have the required contents, and escape names."""

import re
from html import escape
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from trajopt import Certificate, Family, Problem, builder, solve, sweep
from trajopt.certificate.table import judged, skipped
from trajopt.errors import UsageError
from trajopt.integrate import simulate
from trajopt.mechanics import Coordinate, Holonomic, Mechanism
from trajopt.show.notebook import problem_html


class Balanced(HTMLParser):
    """Checks that every tag is closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.count = [], {}

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(html):
    parser = Balanced()
    parser.feed(html)
    assert not parser.open
    return parser.count


@pytest.fixture(scope="module")
def launch():
    return solve(builder("launch-vehicle")())


def test_a_solution_with_four_phases_fits_on_a_screen(launch):
    assert len(repr(launch)) < 120
    assert "7529.71" in repr(launch)
    text = launch.summary()
    assert len(text.splitlines()) < 30
    assert "'second stage' 261 to 924.139 s" in text.replace("\n  ", " ")
    count = tags(launch._repr_html_())
    # r, v, u of three components each, m, and the length of u: one plot over all phases
    assert count["svg"] == 11
    assert count["polyline"] == 44


def test_start_and_end_of_the_summary_are_those_of_the_first_and_the_last_phase(launch):
    row = next(line for line in launch.summary().splitlines() if line.split()[:1] == ["m"])
    assert float(row.split()[1]) == pytest.approx(301454)
    assert float(row.split()[2]) == pytest.approx(launch.objective, rel=1e-5)


def test_names_are_escaped_in_html():
    ocp = Problem("<script>alert(1)</script>")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("a<b", start=0, end=1)
    u = ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2))
    html = solve(ocp)._repr_html_()
    assert "<script>" not in html
    assert "a&lt;b" in html
    tags(html)
    long = builder("wheelie-entry")()
    long.name = "<script>alert(1)</script>"
    assert "<script>" not in problem_html(long)


def test_a_short_problem_is_shown_as_formulas_and_a_long_one_as_text():
    short, long = builder("goddard-cops")(), builder("wheelie-entry")()
    assert short._repr_html_() is None
    assert r"\dot{v} = \frac{T - 310\,v^{2}\,\exp(-500\,(h - 1))}{m}" in short._repr_latex_()
    assert long._repr_latex_() is None
    assert "rider_mass" in long._repr_html_()


def test_only_decided_rows_of_a_certificate_are_green():
    rows = (
        judged("bounds", 1e-9, 1e-6),
        judged("ends", 1.0, 1e-6),
        judged("normality", 0.0, np.inf),
        skipped("published objective", "none is known"),
    )
    html = Certificate("hop", rows)._repr_html_()
    found = re.findall(r'color:(#\w+)">(ok|fails|info|skipped)<', html)
    assert [word for _, word in found] == ["fails", "ok", "info", "skipped"]
    assert len({colour for colour, _ in found}) == 4


def test_a_family_rounds_its_numbers():
    over = {"height": (0.1 + 0.2,)}
    row = {"height": 0.1 + 0.2, "objective": 1 / 3, "error": 1.23456e-8, "seconds": 0.0123456}
    member = SimpleNamespace(row=row, success=True)
    html = Family(over, (member,))._repr_html_()
    assert all(f">{text}<" in html for text in ("0.3", "0.333333", "1.2e-08", "0.012"))


def test_a_mechanism_shows_its_coordinates_and_constraints():
    x, y = Coordinate("x", unit="m"), Coordinate("y<", start=-2.0, unit="m")
    rod = Holonomic("rod", x.q**2 + y.q**2 - 4.0)
    pendulum = Mechanism("pendulum", (x, y), kinetic=x.v**2 + y.v**2, constraints=(rod,))
    assert repr(pendulum) == "<Mechanism 'pendulum': x, y<; rod>"
    html = pendulum._repr_html_()
    tags(html)
    assert "y&lt;" in html
    assert "holonomic" in html


def test_small_plots_have_axes_with_their_ends():
    html = solve(builder("moon-lander")())._repr_html_()
    assert html.count("<path d=") == html.count("<svg")
    assert ">10</text>" in html


def test_a_curve_plots_itself(tmp_path):
    solution = solve(builder("block-move")())
    figure = solution["u"].plot("u", tmp_path / "u.png")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "t [s]"
    assert (tmp_path / "u.png").exists()


def test_a_family_shows_its_table():
    family = sweep(builder("moon-lander"), {"height": [5.0, 10.0, 20.0]})
    assert repr(family) == "<Family over height (3): 3 of 3 solved>"
    count = tags(family._repr_html_())
    assert count["tr"] == 4
    assert count["svg"] == 1


def test_a_simulation_shows_states_and_drifts():
    run = simulate(builder("double-pendulum")(), until=0.1)
    assert len(repr(run)) < 120
    html = run._repr_html_()
    assert tags(html)["svg"] == len(run.system.states)
    assert "energy" in html


def test_a_failed_solve_is_shown_in_red():
    ocp = Problem("too far")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=3)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2))
    solution = solve(ocp)
    assert "#b42318" in solution._repr_html_()
    assert solution.explanation[0] in solution.summary()


def test_plots_of_a_solution_by_kind(tmp_path):
    solution = solve(builder("goddard-cops")())
    solution.plot(path=tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert len(solution.plot("mesh").axes) >= 2
    with pytest.raises(UsageError, match="did you mean 'switching'"):
        solution.plot("switchin")


def test_an_animation_needs_a_drawing(tmp_path):
    solution = solve(builder("block-move")())
    with pytest.raises(UsageError, match="drawing"):
        solution.animate(tmp_path / "a.gif")


def test_named_components_reach_curves():
    ocp = Problem("arm")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    q = ph.state("q", components=("hip", "knee"), start=0, end=[1, 2])
    u = ph.control("u", 2)
    ph.dynamics({q: u})
    ocp.minimize(ph.integral(u[0] ** 2 + u[1] ** 2))
    solution = solve(ocp)
    assert solution["q"]["knee"](0.5) == pytest.approx(1.0, abs=1e-9)
    assert np.allclose(solution["q"]["knee"]([0.0, 1.0]), [0, 2])
    assert "q[knee]" in solution.summary()
    with pytest.raises(UsageError, match="did you mean 'knee'"):
        solution["q"]["kne"]


def test_a_figure_is_shown_as_an_image():
    assert solve(builder("brachistochrone")()).plot()._repr_png_().startswith(b"\x89PNG")


def test_a_certificate_is_one_line_and_a_table():
    from trajopt import certify

    certificate = certify(solve(builder("brachistochrone")()))
    assert len(repr(certificate)) < 120
    assert repr(certificate).startswith("<Certificate of ")
    html = certificate._repr_html_()
    assert all(escape(check.name) in html for check in certificate.checks)
