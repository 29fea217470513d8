"""Notebook displays fit on a screen, have the required contents, and escape names."""

from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest

from trajopt import Problem, builder, solve, sweep
from trajopt.errors import UsageError
from trajopt.integrate import simulate


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
    assert count["svg"] == 10  # r, v, u of three components each, and m: one plot over all phases
    assert count["polyline"] == 40


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
    for html in (solve(ocp)._repr_html_(), ocp._repr_html_()):
        assert "<script>" not in html
        assert "a&lt;b" in html
        tags(html)


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
