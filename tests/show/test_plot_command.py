"""``trajopt plot`` and ``--plot-kind``: every kind by its name, from files too."""

import dataclasses
import shutil

import pytest
from typer.testing import CliRunner

import trajopt.show.plots
from trajopt import solve
from trajopt.__main__ import app
from trajopt.catalogue import builder
from trajopt.commands.plot import OF_ANSWERS
from trajopt.files.storage import save


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    answer = solve(builder("cart-pole")())
    save(answer, folder / "a.nc")
    save(dataclasses.replace(answer, method="indirect"), folder / "b.nc")
    return folder


@pytest.fixture
def folder(kept, tmp_path, monkeypatch):
    for file in kept.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("kind", OF_ANSWERS)
def test_every_kind_of_a_saved_solution(folder, kind):
    result = run("plot", "a.nc", "--kind", kind, "-o", f"{kind}.png")
    assert result.exit_code == 0, result.output
    assert (folder / f"{kind}.png").stat().st_size > 10_000


def test_bounds_of_states_are_drawn_from_files_too(folder, monkeypatch):
    """The wall of Bryson and Denham's problem: the file does not have it, the problem does."""
    seen = []
    draw = trajopt.show.plots.plot_solution
    monkeypatch.setattr(
        trajopt.show.plots, "plot_solution", lambda *given: seen.append(draw(*given))
    )
    answer = solve(builder("bryson-denham")())
    save(answer, folder / "c.nc")
    assert run("plot", "c.nc", "-o", "c.png", "-q").exit_code == 0
    levels = [
        float(line.get_ydata()[0]) for line in seen[0].axes[0].lines if line.get_linestyle() == "--"
    ]
    assert any(level == pytest.approx(1 / 9) for level in levels)


def test_a_picture_is_of_the_problem_with_the_settings_in_the_file(folder, monkeypatch):
    seen = []
    monkeypatch.setattr(
        trajopt.show.plots, "plot_solution", lambda answer, *rest: seen.append(answer)
    )
    done = run(
        "solve", "bryson-denham", "--set", "wall=0.2", "--save", "wall.nc", "--csv", "wall.csv"
    )
    assert "wrote wall.nc, wall.csv" in done.stderr
    assert run("plot", "wall.nc", "-o", "wall.png", "-q").exit_code == 0
    assert seen[0].form.phases[0].x_bound.upper[0] == 0.2


def test_two_solutions_are_overlaid(folder):
    assert run("plot", "a.nc", "b.nc", "-o", "both.png", "-q").exit_code == 0
    refused = run("plot", "a.nc", "b.nc", "--kind", "mesh", "-o", "mesh.png")
    assert refused.exit_code == 2
    assert "shows one solution" in refused.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kind", "swiching"), "switching"),
        (("--kind", "phase", "--axes", "x"), "two names"),
        (("--kind", "phase", "--axes", "x,dxx"), "dx"),
        (("--problem", "moon-lander"), "not a solution of problem 'moon-lander'"),
    ],
)
def test_errors_are_named(folder, words, said):
    result = run("plot", "a.nc", "-o", "a.png", *words)
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert not (folder / "a.png").exists()


def test_the_input_file_is_not_overwritten(folder):
    assert run("plot", "a.nc", "-o", "a.nc").exit_code == 2


def test_kinds_are_checked_before_solving(folder):
    result = run("solve", "goddard-cops", "--plot", "g.png", "--plot-kind", "stills")
    assert result.exit_code == 2
    assert "no drawing" in result.output
    assert run("simulate", "pendulum", "--plot", "p.png", "--plot-kind", "switching").exit_code == 2
    nowhere = run("solve", "block-move", "--plot-kind", "phase")
    assert nowhere.exit_code == 2
    assert "--plot phase.png" in nowhere.output


def test_simulations_have_their_own_kinds(folder):
    for kind in ("phase", "deviations", "outputs", "stills"):
        result = run(
            "simulate",
            "pendulum-cartesian",
            "--until",
            "1",
            "--plot",
            f"{kind}.png",
            "--plot-kind",
            kind,
            "-q",
        )
        assert result.exit_code == 0, result.output
        assert (folder / f"{kind}.png").stat().st_size > 10_000


def test_both_methods_are_overlaid(folder, monkeypatch):
    seen = []
    monkeypatch.setattr(
        trajopt.show.plots, "plot_solution", lambda answers, *rest: seen.append(answers)
    )
    assert run("solve", "block-move", "--method", "both", "--plot", "both.png", "-q").exit_code == 0
    assert list(seen[0]) == ["direct", "indirect"]


def test_an_internal_error_shows_its_line(folder, monkeypatch):
    def fail(*_):
        raise RuntimeError("no such thing")

    monkeypatch.setattr(trajopt.show.plots, "plot_solution", fail)
    result = run("plot", "a.nc", "-o", "a.png")
    assert result.exit_code == 1
    assert "test_plot_command.py, line" in result.output
    assert "-v prints the traceback" not in result.output  # plot has no such option
