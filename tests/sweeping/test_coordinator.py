"""Families of solves: correct at every point, for any order, number of processes, and after
failures.
"""

import csv
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from typer.testing import CliRunner

from problems.classical.moon_lander import build
from trajopt import Problem, load, sweep
from trajopt.__main__ import app
from trajopt.errors import FileError, UsageError
from trajopt.show.family_plots import plot_family
from trajopt.sweeping import coordinator

HEIGHTS, LIMITS = [5.0, 10.0, 20.0], [2.5, 3.0]


def closed_form(height, limit, speed=-2.0, g=1.5):
    """Fuel and duration of free fall, then full thrust: energy gives the speed at which the engine
    starts.
    """
    fastest = np.sqrt((speed**2 + 2 * g * height) * (limit - g) / limit)
    return limit * fastest / (limit - g), (fastest + speed) / g + fastest / (limit - g)


def touchy(height=1.0) -> Problem:
    if height == 2.0:
        raise ArithmeticError("no such height")
    return build(height)


def weighed(distance=1.0) -> Problem:
    """The least effort from rest to rest: 12 (mass distance)^2."""
    ocp = Problem("weighed")
    mass = ocp.parameter("mass", 2.0)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = (
        ph.state("x", 2, start=0, end=[distance, 0]),
        ph.state("v", 2, start=0, end=0),
        ph.control("u", 2),
    )
    ph.dynamics({x: v, v: u / mass})
    ocp.minimize(ph.integral(u[0] ** 2 + u[1] ** 2))
    return ocp


@pytest.fixture
def solves(monkeypatch):
    """Counts the solves; at the one that is set, Ctrl-C."""
    seen = {"count": 0, "interrupt at": 0}
    true = coordinator.solve

    def counted(*arguments):
        seen["count"] += 1
        if seen["count"] == seen["interrupt at"]:
            raise KeyboardInterrupt
        return true(*arguments)

    monkeypatch.setattr(coordinator, "solve", counted)
    return seen


@pytest.fixture(scope="module")
def landings():
    return sweep(build, {"limit": LIMITS, "height": HEIGHTS})


def test_every_member_is_the_solution_to_its_own_problem(landings):
    assert landings.success
    assert landings["limit"].tolist() == [2.5, 2.5, 2.5, 3.0, 3.0, 3.0]
    assert landings["height"].tolist() == HEIGHTS * 2
    fuel, duration = np.transpose([closed_form(h, limit) for limit in LIMITS for h in HEIGHTS])
    np.testing.assert_allclose(landings["objective"], fuel, rtol=1e-8)
    np.testing.assert_allclose(landings["tf"], duration, rtol=1e-8)
    np.testing.assert_allclose(landings["initial h"], HEIGHTS * 2, rtol=1e-12)
    np.testing.assert_allclose(landings["final u"], np.repeat(LIMITS, 3), rtol=1e-9)


def test_neighbouring_guesses_save_iterations_and_change_no_solution(landings):
    single = sweep(build, {"limit": LIMITS, "height": HEIGHTS}, chained=False)
    np.testing.assert_allclose(landings["objective"], single["objective"], rtol=1e-9)
    assert landings["iterations"].sum() < 0.7 * single["iterations"].sum()


def test_a_sweep_starts_from_the_given_guess(landings):
    """Back along the same settings nothing has to be found anew, on one core or on two."""
    there = [m for m in landings.members if m.settings["limit"] == LIMITS[0]]
    last = there[-1].solution
    back = sweep(build, {"height": HEIGHTS[::-1]}, {"limit": LIMITS[0]}, guess=last)
    alone = sweep(build, {"height": HEIGHTS[::-1]}, {"limit": LIMITS[0]})
    assert back.success
    assert back.members[0].solution.iterations < 0.5 * alone.members[0].solution.iterations
    for member, before in zip(back.members, there[::-1], strict=True):
        assert member.solution.objective == pytest.approx(before.solution.objective, rel=1e-8)
    with ProcessPoolExecutor(1) as pool:
        first = sweep(
            "moon-lander", {"height": HEIGHTS[-1:]}, {"limit": LIMITS[0]}, guess=last, executor=pool
        ).members[0]
    assert first.solution.iterations == back.members[0].solution.iterations


def test_parameters_of_the_problem_and_settings_that_stay():
    family = sweep(weighed, {"mass": [1.0, 3.0]}, {"distance": 2.0})
    np.testing.assert_allclose(family["objective"], [48.0, 432.0], rtol=1e-9)
    assert family["distance"].tolist() == [2.0, 2.0]
    np.testing.assert_allclose(family["final x[0]"], 2.0, rtol=1e-12)


def test_failures_are_rows_and_do_not_stop_the_others():
    family = sweep(build, {"limit": [1.0, 3.0]})  # less than gravity: it cannot stop
    assert not family.success
    assert family.complete
    assert family["status"].tolist() == ["infeasible", "solved"]
    assert "end value of state" in family.members[0].message
    family = sweep(touchy, {"height": [1.0, 2.0, 3.0]})
    assert family["status"].tolist() == ["solved", "error", "solved"]
    assert family.members[1].message == "ArithmeticError: no such height"
    assert np.isnan(family["objective"]).tolist() == [False, True, False]


def test_if_the_neighbouring_guess_fails_a_member_is_solved_without_it(monkeypatch):
    true = coordinator.solve

    def led_astray(problem, method, guess, *rest):
        answer = true(problem, method, guess, *rest)
        return (
            answer
            if guess is None
            else coordinator.replace(answer, status=coordinator.Status.FAILED)
        )

    monkeypatch.setattr(coordinator, "solve", led_astray)
    assert sweep(build, {"height": HEIGHTS}).success


@pytest.mark.parametrize("stored", [False, True])
def test_the_report_counts_the_rows(tmp_path, stored):
    told = []
    sweep(
        build, {"height": HEIGHTS}, folder=tmp_path / "a" if stored else None, progress=told.append
    )
    assert [line.split(":")[0] for line in told if "solved" in line] == [
        "1 of 3",
        "2 of 3",
        "3 of 3",
    ]


def test_an_interrupted_sweep_resumes(tmp_path, solves):
    solves["interrupt at"] = 3
    told = []
    partly = sweep(build, {"height": HEIGHTS}, folder=tmp_path, progress=told.append)
    assert not partly.complete
    assert told[-1] == "interrupted after 2 of 3"
    with (tmp_path / "family.csv").open() as file:
        assert [float(row["height"]) for row in csv.DictReader(file)] == HEIGHTS[:2]
    whole = sweep(build, {"height": HEIGHTS}, folder=tmp_path, progress=told.append)
    assert solves["count"] == 4  # two, the interrupted one, and that again
    assert whole.success
    assert told[3] == "2 of 3 are there already"
    assert [member.recalled for member in whole.members] == [True, True, False]
    np.testing.assert_allclose(
        whole["objective"], [closed_form(h, 3.0)[0] for h in HEIGHTS], rtol=1e-8
    )
    sweep(build, {"height": HEIGHTS}, folder=tmp_path, again=True)
    assert solves["count"] == 7


def test_damaged_outdated_and_coarse_rows_are_solved_again(tmp_path, solves):
    sweep(build, {"height": HEIGHTS}, folder=tmp_path, tolerance=1e-4)
    (tmp_path / "height=10.nc").write_bytes((tmp_path / "height=10.nc").read_bytes()[:500])
    (tmp_path / "height=20.nc").write_bytes((tmp_path / "height=5.nc").read_bytes())
    again = sweep(build, {"height": HEIGHTS}, folder=tmp_path, tolerance=1e-4)
    assert [member.recalled for member in again.members] == [True, False, False]
    assert load(tmp_path / "height=20.nc")["h"](0.0) == pytest.approx(20.0, rel=1e-9)
    finer = sweep(build, {"height": HEIGHTS}, folder=tmp_path, tolerance=1e-7)
    assert not any(member.recalled for member in finer.members)


def test_other_processes_find_the_same_solutions(landings):
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        family = sweep("moon-lander", {"limit": LIMITS, "height": HEIGHTS}, executor=pool)
        with pytest.raises(UsageError, match="workers cannot solve"):
            sweep(lambda height: build(height), {"height": [1.0]}, executor=pool)
    assert family.success
    np.testing.assert_array_equal(family["objective"], landings["objective"])
    np.testing.assert_array_equal(family["height"], landings["height"])


@pytest.mark.parametrize(
    ("over", "settings", "said"),
    [
        ({}, {}, "a grid of settings"),
        ({"height": []}, {}, "needs values"),
        ({"heigth": [1.0]}, {}, "did you mean 'height'"),
        ({"height": [1.0]}, {"height": 2.0}, "both swept over and set"),
    ],
)
def test_invalid_requests_are_rejected_at_once(over, settings, said, solves):
    with pytest.raises(UsageError, match=said):
        sweep(build, over, settings)
    assert solves["count"] == 0


def test_a_file_in_place_of_a_folder_is_rejected(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="it is a file"):
        sweep(build, {"height": [1.0]}, folder=tmp_path / "file")


def test_an_unknown_column_is_rejected(landings):
    with pytest.raises(UsageError, match="did you mean 'objective'"):
        landings["objectve"]


def test_plots_of_families(landings):
    figure = plot_family(landings, columns=["objective", "tf"])
    objective, duration = figure.axes
    assert objective.get_xlabel() == "height"  # it has the most values
    assert duration.get_title(loc="left") == "tf [s]"
    np.testing.assert_allclose(
        duration.lines[1].get_xydata(), [(h, closed_form(h, 3.0)[1]) for h in HEIGHTS], rtol=1e-8
    )
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["limit = 2.5", "limit = 3"]
    crossed = plot_family(sweep(touchy, {"height": [1.0, 2.0, 3.0]}))
    assert [text.get_text() for text in crossed.legends[0].get_texts()] == ["not solved"]
    assert crossed.axes[0].lines[1].get_xdata().tolist() == [2.0]


def test_values_that_are_not_numbers_are_plotted_in_order():
    def either(way="up"):
        return build(5.0 if way == "up" else 10.0)

    axes = plot_family(sweep(either, {"way": ["up", "down"]})).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["up", "down"]
    assert axes.lines[0].get_xdata().tolist() == [0.0, 1.0]


def test_from_a_shell(tmp_path):
    command = [
        "sweep",
        "moon-lander",
        "--over",
        "height=5:20:4",
        "--over",
        "limit=2.5,3",
        "--json",
        "-",
    ]
    files = [
        "--save",
        str(tmp_path / "all"),
        "--csv",
        str(tmp_path / "a.csv"),
        "--plot",
        str(tmp_path / "a.png"),
    ]
    result = CliRunner().invoke(app, [*command, *files, "--column", "tf"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["success"]
    assert told["complete"]
    assert [m["settings"] for m in told["members"][:2]] == [
        {"height": 5.0, "limit": 2.5},
        {"height": 5.0, "limit": 3},
    ]
    for member in told["members"]:
        assert member["objective"] == pytest.approx(closed_form(**member["settings"])[0], rel=1e-8)
    assert len(list((tmp_path / "all").glob("*.nc"))) == 8
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "all" / "family.csv").read_text()
    assert (tmp_path / "a.png").stat().st_size > 10_000
    again = ["sweep", "moon-lander", "--over", "height=5", "--set", "limit=3", "--json", "-"]
    plain, begun = (
        json.loads(CliRunner().invoke(app, [*again, *more]).stdout)["members"][0]["iterations"]
        for more in ([], ["--guess", str(tmp_path / "all" / "height=5,limit=3.nc")])
    )
    assert begun < 0.5 * plain


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--over", "limit=1,3"], 1, "end value of state"),
        (["--over", "height=5:20"], 2, "from:to:count"),
        (["--over", "height=5:20:0"], 2, "no values"),
        (["--over", "height=,"], 2, "no values"),
        (["--over", "height=5,high"], 2, "got:      5, 'high'"),
        (["--over", "height"], 2, "--over height"),
        (["--over", "heigth=1,2"], 2, "did you mean 'height'"),
        ([], 2, "a sweep needs --over"),
        (["--over", "height=1,2", "--workers", "0"], 2, "--workers"),
        (["--over", "height=1,2", "--guess", "nothing.nc"], 2, "nothing.nc"),
        (["--over", "height=1,2", "--cluster", "tcp://nowhere"], 2, "cluster"),
    ],
)
def test_exit_codes_and_messages(options, code, said):
    result = CliRunner().invoke(app, ["sweep", "moon-lander", *options])
    assert result.exit_code == code
    assert said in result.output
    assert "Traceback" not in result.output
