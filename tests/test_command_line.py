"""The command line: exit codes, JSON and files; every error is one message without a traceback."""

import csv
import dataclasses
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import trajopt.commands.solve
from problems.classical import brachistochrone
from trajopt.__main__ import app
from trajopt.catalogue import named_problems
from trajopt.commands.building import build_problem
from trajopt.files.storage import load, save
from trajopt.trajectory.solution import Status

GOOD = """
from casadi import SX, sin, vertcat
from trajopt.statement.problem import Problem
from trajopt.system import Invariant, System, Variable

print("a model may print")

def build(distance=1.0, corners=(1.0, 2.0), label="a") -> Problem:
    ocp = Problem("mine")
    mass = ocp.parameter("mass", 2.0)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=distance)
    v = ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-9, upper=9)
    ph.dynamics({x: v, v: u / mass})
    ocp.minimize(ph.integral(u**2))
    return ocp

def swing(length=1.0):
    t, x, p = SX.sym("t"), SX.sym("x", 2), SX.sym("p")
    energy = x[1] ** 2 / 2 - p / length * casadi_cos(x[0])
    return System("swing", t, x, (Variable("angle", 1.0, "rad"), Variable("rate", 0.0, "rad/s")),
                  vertcat(x[1], -p / length * sin(x[0])), p, (Variable("g", 9.81),),
                  (Invariant("energy", energy),), until=2.0)

def casadi_cos(x):
    from casadi import cos
    return cos(x)

def breaks(distance=1.0):
    height = distance - distance
    return 1 / height

def nothing():
    pass

def needs(value):
    return build(value)

def no_dynamics():
    ocp = Problem("p")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    forgotten = ph.state("forgotten", start=0)
    return ocp

def contradiction():
    ocp = Problem("p")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, lower=1)
    u = ph.control("u")
    ph.dynamics({x: u})
    return ocp

def not_a_number():
    from casadi import log
    ocp = Problem("p")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("depth", start=0, end=1)
    u = ph.control("u")
    ph.dynamics({x: u + log(x - 5)})
    ocp.minimize(ph.integral(u**2))
    return ocp

def too_far():
    return build(distance=100.0)

def guess_fails():
    ocp = build()
    ocp.phases["main"].declared["x"].guess = lambda tau: 1 / (tau - tau)
    return ocp
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a user's files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(GOOD)
    (tmp_path / "broken.py").write_text("def build(:\n    pass\n")
    (tmp_path / "raises.py").write_text("import math\nvalue = math.sqrt(-1)\n")
    (tmp_path / "text.nc").write_text("not a netCDF file")
    (tmp_path / "words.csv").write_text("t,x,v,u\n0,zero,0,0\n")
    (tmp_path / "results").mkdir()
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


# what is wrong: (the command line, words of the message)
WRONG = {
    "misspelt name": ("solve brachistochron", ["brachistochron", "did you mean 'brachistochrone'"]),
    "missing file": ("solve ./nowhere.py:build", ["nowhere.py"]),
    "missing function": ("solve ./mine.py:biuld", ["biuld", "did you mean 'build'"]),
    "folder instead of a file": ("solve ./results:build", ["results"]),
    "syntax error in the file": ("solve ./broken.py:build", ["broken.py", "line 1"]),
    "exception while importing": ("solve ./raises.py:build", ["raises.py, line 2", "ValueError"]),
    "exception while "
    "building": ("show "
    "./mine.py:breaks", ["ZeroDivisionError", "mine.py, line 33", "return 1 / height"]),
    "builder that returns nothing": ("solve ./mine.py:nothing", ["nothing", "Problem"]),
    "builder that needs a value": ("solve ./mine.py:needs", ["value", "--set value="]),
    "state without dynamics": ("show ./mine.py:no_dynamics", ["'forgotten'", "no dynamics"]),
    "contradictory bounds": ("show ./mine.py:contradiction", ["'x'", "contradicts"]),
    "not a number at the guess": ("solve ./mine.py:not_a_number", ["'depth'", "not a number"]),
    "guess that raises": ("solve "
    "./mine.py:guess_fails", ["ZeroDivisionError", "mine.py, line", "guess = lambda"]),
    "unknown setting": ("solve ./mine.py:build --set "
    "distanse=2", ["distanse", "did you mean 'distance'"]),
    "setting without a value": ("solve ./mine.py:build --set distance", ["distance", "name=value"]),
    "word for a number": ("solve ./mine.py:build --set distance=far", ["distance", "'far'"]),
    "number for a tuple": ("solve ./mine.py:build --set corners=3", ["corners", "2 values"]),
    "directory as output": ("solve brachistochrone --save results", ["results", "directory"]),
    "missing output folder": ("solve brachistochrone --csv nowhere/a.csv", ["nowhere"]),
    "directory as JSON output": ("solve brachistochrone --json results", ["results", "directory"]),
    "unknown kind of picture": ("solve brachistochrone --plot a.docx", ["a.docx", ".png"]),
    "one file for two "
    "outputs": ("solve brachistochrone --save a.nc --csv a.nc", ["--save", "--csv", "same file"]),
    "negative tolerance": ("solve brachistochrone --tolerance -1", ["--tolerance"]),
    "tolerance that is a "
    "word": ("solve brachistochrone --tolerance small", ["--tolerance", "number"]),
    "unknown method": ("solve brachistochrone --method magic", ["magic", "direct"]),
    "unknown option": ("solve brachistochrone --colour red", ["--colour"]),
    "unknown command": ("slove brachistochrone", ["slove"]),
    "missing guess": ("solve brachistochrone --guess nowhere.nc", ["nowhere.nc"]),
    "guess of another format": ("solve brachistochrone --guess text.nc", ["text.nc"]),
    "system where a problem is wanted": ("solve ./mine.py:swing", ["swing", "Problem"]),
    "problem where a system is "
    "wanted": ("simulate brachistochrone", ["brachistochrone", "trajopt solve brachistochrone"]),
    "unknown integrator": ("simulate ./mine.py:swing --integrator rk5", ["rk5", "rk4"]),
    "step for an adaptive "
    "integrator": ("simulate ./mine.py:swing --integrator dop853 --step 0.1", ["dop853", "step"]),
    "negative step": ("simulate ./mine.py:swing --integrator rk4 --step -0.1", ["step"]),
    "negative duration": ("simulate ./mine.py:swing --until -3", ["-3"]),
    "unknown "
    "stabilization": ("simulate ./mine.py:swing --stabilize baumgart", ["baumgart", "'baumgarte'"]),
    "gain without stabilization": ("simulate ./mine.py:swing --gain 3", ["--gain", "--stabilize"]),
    "unknown initial value": ("simulate ./mine.py:swing --set angel=2", ["angel", "'angle'"]),
    "word for an initial value": ("simulate ./mine.py:swing --set angle=wide", ["angle", "'wide'"]),
    "comparing a missing file": ("compare nowhere.nc text.nc", ["nowhere.nc"]),
    "comparing a foreign file": ("compare text.nc text.nc", ["text.nc"]),
    "certifying a missing file": ("certify nowhere.nc", ["nowhere.nc"]),
    "new over an existing file": ("new mine.py", ["mine.py", "exists"]),
    "new without an ending": ("new mine", ["mine", ".py"]),
    "new with a name that cannot be imported": ("new my-own.py", ["my-own.py"]),
    "unknown family": ("list --family clasical", ["clasical", "'classical'"]),
    "postures of what is no robot": ("solve ./mine.py:build --from 0 --to 1", ["--from", ".urdf"]),
    "a problem that is simulated": ("simulate ./mine.py:build --rate 5", ["--control open"]),
    "words in a table": ("certify words.csv --problem ./mine.py:build", ["row 2", "zero"]),
    "mesh of a billion": ("solve brachistochrone --mesh 1000000000x3", ["1000000 points"]),
    "a source as --save": ("solve ./mine.py --save mine.py", ["mine.py", "of another kind", ".nc"]),
    "a source as --csv": ("solve ./mine.py --csv mine.py", ["mine.py", "of another kind"]),
    "name too long": ("solve brachistochrone --save " + 300 * "x" + ".nc", ["too long", "hint"]),
    "a file as a name": ("solve text.nc", ["text.nc", "certify"]),
    "no function": ("solve ./mine.py:math", ["'math'", "one of build"]),
    "negative limit of a check": ("certify text.nc --time-limit -1", ["--time-limit", "positive"]),
    "setting twice in a sweep": ("sweep moon-lander --over height=5 --over height=6", ["twice"]),
    "nan in a sweep": ("sweep moon-lander --over height=nan", ["--over height=nan", "finite"]),
    "a keyword as a file": ("new class.py", ["class.py", "keyword"]),
    "a module as a file": ("new numpy.py", ["numpy", "my_numpy.py"]),
    "a tiny step": ("simulate pendulum --integrator rk4 --step 1e-12", ["1e-12", "steps"]),
    "missing parameters": ("solve moon-lander --parameters none.toml", ["none.toml", "TOML"]),
    "missing robot file": ("solve none.urdf --from 0 --to 1", ["none.urdf", "URDF"]),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_errors_are_reported_in_one_message(folder, what):
    line, words = WRONG[what]
    result = run(*line.split())
    said = re.sub(r"\s+", " ", re.sub("[│╭╰─╮╯]", " ", result.stderr))
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    for word in words:
        assert word in said, result.stderr
    assert set(os.listdir(folder)) - {"__pycache__"} == {
        "broken.py",
        "mine.py",
        "raises.py",
        "results",
        "text.nc",
        "words.csv",
    }


def test_at_least_twenty_errors_are_covered():
    assert len(WRONG) >= 20


@pytest.fixture
def solver(monkeypatch, handmade):
    """Replaces the solve: records its arguments and returns a chosen solution."""
    asked = {}

    def answer(built, guess, options, show):
        asked.update(built=built, guess=guess, options=options)
        show("mesh 1: 10 intervals, error 1e-3")
        if isinstance(asked.get("answer"), BaseException):
            raise asked["answer"]
        return trajopt.commands.solve.Answer(asked.get("answer") or handmade())

    monkeypatch.setattr(trajopt.commands.solve, "_solve", answer)
    return asked


def test_solve_writes_all_requested_files(folder, solver):
    line = (
        "solve ./mine.py:build --save a.nc --plot a.png --csv a.csv --json a.json --set mass=3 "
        "--set distance=2"
    )
    result = run(*line.split())
    assert result.exit_code == 0, result.output
    assert "objective" in result.stdout
    assert solver["built"].parameters == {"mass": 3}
    assert solver["built"].problem.phases["main"].declared["x"].end.lower[0] == 2.0
    assert load("a.nc").objective == pytest.approx(1 / 3)
    assert json.loads((folder / "a.json").read_text())["status"] == "solved"
    assert (folder / "a.png").read_bytes()[1:4] == b"PNG"
    with open("a.csv", encoding="utf-8") as file:
        assert len(list(csv.reader(file))) > 100


def test_standard_output_has_only_json(folder, solver):
    result = run("solve", "./mine.py:build", "--json", "-")
    content = json.loads(result.stdout)
    assert content["problem"] == "hand-made"
    assert "mesh 1" in result.stderr
    assert "a model may print" in result.stderr


def test_quiet_prints_nothing(folder, solver):
    result = run("solve", "brachistochrone", "-q")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.SOLVED])
def test_a_failed_solve_has_exit_code_1_and_is_saved(folder, solver, handmade, status):
    solver["answer"] = handmade(status)
    result = run("solve", "brachistochrone", "--save", "a.nc")
    assert result.exit_code == 1
    assert load("a.nc").status is status
    assert "end height" in result.stdout  # the explanation


def test_interruption_before_the_first_solution(folder, solver):
    solver["answer"] = KeyboardInterrupt()
    result = run("solve", "brachistochrone", "--save", "a.nc")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert not (folder / "a.nc").exists()


def test_an_internal_error_is_one_line(folder, solver):
    solver["answer"] = RuntimeError("index 3 is out of bounds")
    result = run("solve", "brachistochrone")
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert "index 3 is out of bounds" in result.stderr
    assert "Traceback" in run("solve", "brachistochrone", "-v").stderr


def test_outputs_are_checked_before_the_solve(folder, solver):
    run("solve", "brachistochrone", "--save", "results")
    assert "built" not in solver


def test_guess_is_a_saved_solution(folder, solver, handmade):
    save(handmade(objective=9.0), "g.nc")
    assert run("solve", "brachistochrone", "--guess", "g.nc").exit_code == 0
    assert solver["guess"].objective == 9.0


def test_a_reference_applies_only_to_the_default_settings():
    assert build_problem("brachistochrone", {}).reference is brachistochrone.REFERENCE
    assert build_problem("brachistochrone", {"g": 1.62}).reference is None


def test_compare_finds_agreement_and_difference(folder, handmade):
    save(handmade(), "a.nc")
    save(handmade(objective=1 / 3 + 1e-3), "b.nc")
    assert run("compare", "a.nc", "a.nc", "--tolerance", "1e-12").exit_code == 0
    result = run("compare", "a.nc", "b.nc", "--tolerance", "1e-6", "--json", "-", "-q")
    content = json.loads(result.stdout)
    assert result.exit_code == 1
    assert content["agree"] is False
    assert content["relative"]["objective"] == pytest.approx(1e-3 / (1 / 3 + 1e-3), rel=1e-9)
    assert max(c["largest"] for c in content["curves"]) == 0.0
    save(handmade(phases=1), "c.nc")
    assert run("compare", "a.nc", "c.nc").exit_code == 2


def test_compare_detects_a_longer_duration(folder, handmade):
    """Curves are compared at equal fractions of their phases, where those of a slower motion are
    the same.
    """
    answer = handmade(phases=1)
    groups = ("states", "controls", "algebraics", "costates", "path_multipliers")
    ph = answer.phases["stance"]
    slower = {
        g: {
            name: dataclasses.replace(c, breaks=1.1 * c.breaks)
            for name, c in getattr(ph, g).items()
        }
        for g in groups
    }
    stretched = dataclasses.replace(ph, tf=1.1 * ph.tf, breaks=1.1 * ph.breaks, **slower)
    save(answer, "a.nc")
    save(dataclasses.replace(answer, phases={"stance": stretched}), "b.nc")
    result = run("compare", "a.nc", "b.nc", "--tolerance", "1e-3", "--json", "-", "-q")
    content = json.loads(result.stdout)
    assert content["relative"] == {
        "objective": 0.0,
        "end of stance": pytest.approx(0.1 / 1.1, rel=1e-12),
    }
    assert max(c["largest"] for c in content["curves"]) < 1e-12
    assert (result.exit_code, content["agree"]) == (1, False)


def test_systems_are_shown_by_name_and_from_a_file(folder):
    shown = run("show", "./mine.py:swing", "--set", "angle=0.5")
    assert shown.exit_code == 0, shown.output
    assert "system 'swing'" in shown.stdout
    assert "0.5   rad" in shown.stdout
    assert "did you mean 'pendulum'" in run("show", "pendulm").output


def test_list_and_show():
    listed = run("list").stdout
    shown = run("show", "goddard-cops").stdout
    for name in ("brachistochrone", "double-integrator-mintime", "launch-vehicle", "singular arcs"):
        assert name in listed
    assert "brachistochrone" not in run("list", "--family", "singular arcs").stdout
    for words in ("maximize", "T ", "1.01283691832", "singular arc", "COPS", "final_mass"):
        assert words in shown


def test_simulate_json_and_files(folder):
    line = (
        "simulate ./mine.py:swing --integrator rk4 --step 0.01 --set angle=0.5 --save s.nc "
        "--csv s.csv --plot s.png --json -"
    )
    result = run(*line.split())
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert {"system", "integrator", "stabilization", "t", "final", "drift"} <= set(content)
    assert (content["system"], content["t"], content["steps"]) == ("swing", 2.0, 200)
    assert content["drift"]["energy"]["end"] <= content["drift"]["energy"]["max"] < 1e-7
    with open("s.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["angle [rad]"]) == content["final"]["angle"]
    assert float(rows[0]["angle [rad]"]) == 0.5
    import xarray

    with xarray.open_dataset("s.nc", engine="h5netcdf") as data:
        np.testing.assert_array_equal(data["angle"].values[-1], content["final"]["angle"])
        assert data["angle"].attrs["units"] == "rad"


def test_simulate_uses_the_given_tolerance_and_gain(folder):
    line = (
        "simulate pendulum-cartesian --tolerance 1e-6 --stabilize baumgarte --gain 7 --until "
        "0.5 --json - -q"
    )
    content = json.loads(run(*line.split()).stdout)
    asked = (content["integrator"], content["stabilization"], content["t"])
    assert asked == ("dop853, tolerance 1e-06", "baumgarte, gain 7", 0.5)


def test_a_saved_solution_is_certified_with_the_given_parameters(folder):
    """From rest to rest by the force u: the cost is 12 mass^2."""
    problem = ["--problem", "./mine.py:build"]
    assert (
        run("solve", "./mine.py:build", "--set", "mass=1.2", "--save", "light.nc", "-q").exit_code
        == 0
    )
    assert load("light.nc").objective == pytest.approx(12 * 1.2**2, rel=1e-9)
    assert run("certify", "light.nc", *problem, "-q").exit_code == 0
    assert run("certify", "light.nc", *problem, "--set", "mass=1.2", "-q").exit_code == 0
    assert run("certify", "light.nc", *problem, "--set", "mass=1.21", "-q").exit_code == 1


def test_simulate_with_stabilization_conserves_the_energy(folder):
    drift = {}
    for extra in ("", " --stabilize projection"):
        line = "simulate ./mine.py:swing --integrator heun --step 0.01 --until 20 --json -" + extra
        drift[extra] = json.loads(run(*line.split()).stdout)["drift"]["energy"]["max"]
    plain, kept = drift.values()
    assert kept < 1e-13 < 1e-4 < plain


def test_infeasibility_is_explained_by_name(folder):
    result = run("solve", "./mine.py:too_far", "--json", "-")
    content = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (content["success"], content["status"]) == (False, "infeasible")
    assert any("'x'" in line or "'v'" in line for line in content["explanation"])


def test_json_of_a_solve_has_the_published_optimum(folder):
    from problems.classical.brachistochrone import REFERENCE

    result = run("solve", "brachistochrone", "--json", "-")
    content = json.loads(result.stdout)
    assert result.exit_code == 0
    assert content["objective"] == pytest.approx(REFERENCE.objective, rel=REFERENCE.tolerance)
    assert content["phases"]["main"]["tf"] == pytest.approx(content["objective"], rel=1e-12)
    assert content["final"]["x"] == pytest.approx(10.0, abs=1e-9)
    for name, costate in REFERENCE.costates.items():
        assert content["costates_initial"][name] == pytest.approx(costate, rel=1e-5)
    assert content["seconds"]["total"] >= content["seconds"]["solve"] > 0
    assert content["error"] <= content["tolerance"]


def test_settings_change_the_solution(folder):
    def objective(*settings):
        return json.loads(run("solve", "./mine.py:build", "--json", "-", "-q", *settings).stdout)[
            "objective"
        ]

    # u = mass x'' of the rest-to-rest cubic: the cost is 12 mass^2 distance^2
    assert objective("--set", "distance=0.5") == pytest.approx(12 * 4 * 0.25, rel=1e-9)
    assert objective("--set", "distance=0.5", "--set", "mass=1") == pytest.approx(
        12 * 0.25, rel=1e-9
    )


def test_both_methods_agree(folder):
    result = run("solve", "block-move", "--method", "both", "--json", "-")
    content = json.loads(result.stdout)
    assert result.exit_code == 0
    assert (content["method"], content["direct"]["method"]) == ("indirect", "direct")
    assert content["objective"] == pytest.approx(content["direct"]["objective"], rel=1e-9)


def test_a_new_problem_can_be_solved_and_run(folder):
    assert run("new", "mine_too.py").exit_code == 0
    result = run("solve", "./mine_too.py:build", "--plot", "mine.png", "--save", "mine.nc")
    assert result.exit_code == 0, result.output
    assert (folder / "mine.png").stat().st_size > 20_000
    answer = load("mine.nc")
    assert answer["x"](answer.phases["main"].tf) == pytest.approx(5.0, abs=1e-8)
    done = subprocess.run(
        [sys.executable, "mine_too.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) == pytest.approx(answer.objective, rel=1e-9)


def test_a_new_problem_can_be_shown_and_is_not_overwritten(folder):
    assert run("new", "crane_move.py").exit_code == 0
    before = (folder / "crane_move.py").read_text()
    shown = run("show", "./crane_move.py:build")
    assert shown.exit_code == 0, shown.output
    assert "problem 'crane-move'" in shown.stdout
    assert run("new", "crane_move.py").exit_code == 2
    assert (folder / "crane_move.py").read_text() == before


def test_entries_of_every_family_and_kind_can_be_shown():
    chosen = {
        (entry.family, entry.kind): name
        for name, entry in sorted(named_problems().items(), reverse=True)
    }
    assert len(chosen) > 7
    for name in chosen.values():
        result = run("show", name)
        assert result.exit_code == 0, result.output


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(named_problems()))
def test_written_parameters_are_read_again(name, tmp_path):
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    assert run("show", name, "--write-parameters", str(first)).exit_code == 0
    assert (
        run("show", name, "--parameters", str(first), "--write-parameters", str(second)).exit_code
        == 0
    )
    assert first.read_text() == second.read_text()


def test_help_loads_no_numerical_package():
    script = """
import runpy, sys
sys.argv = ["trajopt", "--help"]
try:
    runpy.run_module("trajopt", run_name="__main__")
finally:
    print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "simulate" in done.stdout
    loaded = set(done.stdout.split())
    assert not loaded & {"casadi", "numpy", "scipy", "matplotlib", "h5py"}


def test_no_command_and_version():
    assert "Usage" in run().output
    assert run("--version").stdout.startswith("trajopt ")


def test_a_time_limit_gives_exit_code_1_and_the_best_solution(folder):
    result = run("solve", "./mine.py:build", "--time-limit", "1e-9", "--save", "a.nc")
    assert result.exit_code == 1
    assert load("a.nc").status is Status.TIME_LIMIT
    assert "Time limit reached" in result.stdout
    assert run("solve", "./mine.py:build", "--time-limit", "0").exit_code == 2


def test_mesh_and_number_of_meshes_can_be_chosen(tmp_path):
    done = run(
        "solve",
        "block-move",
        "--mesh",
        "3x5",
        "--max-passes",
        "1",
        "--json",
        str(tmp_path / "a.json"),
    )
    assert done.exit_code == 0
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["phases"]["main"]["intervals"] == 3
    assert content["mesh_passes"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--mesh", "3y5"),
        ("--mesh", "0"),
        ("--max-passes", "0"),
        ("--mesh", "3", "--method", "indirect"),
    ],
)
def test_a_wrong_mesh_is_rejected(words):
    done = run("solve", "block-move", *words)
    assert done.exit_code == 2
    assert words[0] in done.output
