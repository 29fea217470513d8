"""An exported problem, compiled, finds what Python finds, and allocates nothing while it solves."""

import shutil
import subprocess
import sys
from pathlib import Path

import casadi
import numpy as np
import pytest
from typer.testing import CliRunner

from trajopt import Collocation, HermiteSimpson, Problem, builder, free, prepare, table
from trajopt.__main__ import app
from trajopt.compiled.library import library
from trajopt.errors import FileError, UsageError

COMPILER = next((path for path in map(shutil.which, ("cc", "gcc", "clang")) if path), None)
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
compiles = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
pytestmark = pytest.mark.skipif(library() is None, reason="the compiled core was not built")


def compiled(folder, *sources, options=()):
    """The path of a program, its objects made once where they are the same for all problems."""
    program = folder / Path(sources[0]).stem
    core = sorted((folder / "core").glob("*.c"))
    files = [*map(str, sources), "trajopt.c", "problem.c"]
    flags = [*WARNINGS, "-O0", *options]
    objects = _objects(tuple(core))
    command = [COMPILER, *flags, *files, *objects, "-lm", "-o", str(program)]
    subprocess.run(command, cwd=folder, check=True)
    return program


_made: dict[bytes, list[str]] = {}


def _objects(core):
    contents = b"".join(path.read_bytes() for path in core)
    if contents not in _made:
        folder = core[0].parent
        subprocess.run([COMPILER, *WARNINGS, "-O0", "-c", *core], cwd=folder, check=True)
        _made[contents] = [str(path.with_suffix(".o")) for path in core]
    return _made[contents]


def output(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """By name: the folder of a problem, solved and exported."""
    folders = {}

    def folder_of(name):
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp("export") / name
            prepared = prepare(PROBLEMS[name]())
            prepared.solve().check()
            prepared.export(folders[name])
        return folders[name]

    return folder_of


def swing():
    """Parameters in the model, a boundary value, a bound of a control and an end time."""
    ocp = Problem("swing")
    mass, target, limit, duration = (
        ocp.parameter(*given)
        for given in (("mass", 1.0), ("target", 2.5), ("limit", 9.0), ("duration", 1.5))
    )
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    a, w = ph.state("a", start=0, end=target), ph.state("w", start=0, end=0)
    u = ph.control("u", lower=-limit, upper=limit)
    ph.dynamics({a: w, w: (u - mass * 9.81 * 0.7 * casadi.sin(a)) / (mass * 0.49)})
    ocp.minimize(ph.integral(u**2))
    return ocp


def ascent():
    """Maximized; two phases with a jump, a static variable, and conditions by parameters."""
    ocp = Problem("two stages")
    thrust = ocp.parameter("thrust", np.array([2.0, 1.5]))
    height, drop = ocp.parameter("height", 1.0, lower=0.5), ocp.parameter("drop", 0.2)
    spare = ocp.variable("spare", lower=0.0, upper=0.5, guess=0.1)
    phases = []
    for k, name in enumerate(("boost", "coast µ")):
        ph = ocp.phase(name)
        ph.time(end=free(0.1, 5))
        begins = {"start": 0} if k == 0 else {}
        h, v = ph.state("h", **begins), ph.state("v", **begins)
        m = ph.state("m", lower=0.1, **({"start": 1.5} if k == 0 else {}))
        # Without a guess a better optimum is found, in which the second stage takes no time.
        u = ph.control("u", lower=-1, upper=1, guess=0)
        ph.dynamics({h: v, v: thrust[k] * u / m - 0.3, m: -0.1 * u**2})
        phases.append((ph, h, v, m, u))
    ocp.connect(phases[0][0], phases[1][0], jump={phases[0][3]: -drop})
    last = phases[1][0]
    ocp.require(last.final(phases[1][1]), equals=height)
    ocp.require(last.final(phases[1][2]), equals=0)
    ocp.require(last.final(phases[1][3]) - spare, lower=0.4)
    effort = sum(ph.integral(u**2) for ph, _, _, _, u in phases)
    ocp.maximize(spare - effort - 0.1 * last.final(last.t))
    return ocp


def coast():
    """A direction that has no effect for a time: a regularization settles it. Vectors of states and
    controls, and a path constraint.
    """
    ocp = Problem("coast")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x = ph.state("x", size=2, start=[1, 0.5], end=[0, 0])
    v = ph.state("v", size=2, start=[0, 0], end=[0, 0])
    thrust = ph.control("thrust", lower=0, upper=1)
    direction = ph.control("direction", size=2, lower=-1.1, upper=1.1)
    ph.dynamics({x: v, v: thrust * direction})
    ph.path(direction[0] ** 2 + direction[1] ** 2, name="unit vector", equals=1)
    ocp.minimize(ph.integral(thrust))
    return ocp


PROBLEMS = {
    "cart-pole": lambda: builder("cart-pole")(),
    "moon-lander": lambda: builder("moon-lander")(),
    "swing": swing,
    "ascent": ascent,
    "coast": coast,
}


@compiles
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_program_finds_what_python_finds(exported, name):
    assert "5 sets" in output(compiled(exported(name), "test.c"))


def test_a_regularization_is_no_part_of_the_objective(exported):
    text = (exported("coast") / "problem.c").read_text()
    assert ".blocks = 3" in text
    assert ".cost_blocks = 2" in text


@compiles
@pytest.mark.skipif(sys.platform != "linux", reason="its linker does not wrap functions")
def test_values_limits_and_no_allocation_after_the_start(exported):
    folder, source = exported("swing"), Path(__file__).with_name("export_edges.c")
    wrapped = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc")]
    output(compiled(folder, source, options=(f"-I{folder}", *wrapped)))


@compiles
def test_the_example_prints_the_answer_and_times(exported):
    main = compiled(exported("cart-pole"), "main.c")
    once = output(main)
    assert "cart-pole: solved\nobjective 58.80766" in once
    assert once.splitlines()[-1].split()[:3] == ["2", "1", "3.141593"]
    many = output(main, "50", "1")
    assert "microseconds: median" in many
    assert "at most 1 factorizations of 1 allowed" in many


def test_the_program_begins_at_the_last_answer(tmp_path):
    prepared = prepare(swing())
    prepared.solve()
    last = prepared.solve({"mass": 1.05}, initial={"a": 0.1})
    prepared.export(tmp_path / "moved")
    text = (tmp_path / "moved" / "problem.c").read_text()
    assert f".objective = {last.objective!r}" in text
    again = prepared.solve({"mass": 1.05}, initial={"a": 0.1}, fixed=True)
    assert again.objective == last.objective  # writing has not changed the answer


def test_what_cannot_be_exported(tmp_path):
    new = prepare(swing())
    with pytest.raises(UsageError, match="no mesh yet"):
        new.export(tmp_path / "new")
    new.solve()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine.c").write_text("mine")
    for where, message in (
        ("used", "not empty"),
        ("used/mine.c", "a file"),
        ("used/mine.c/new", "a file"),
    ):
        with pytest.raises(FileError, match=message):
            new.export(tmp_path / where)
    shared = prepare(swing(), method=Collocation(scheme=HermiteSimpson()), tolerance=1e-3)
    shared.solve()
    with pytest.raises(UsageError, match="share controls"):
        shared.export(tmp_path / "shared")
    assert not (tmp_path / "shared").exists()


def test_a_table_cannot_be_exported(tmp_path):
    wind = table(np.linspace(-1, 2, 7), values=[0, 0.1, 0.3, 0.2, 0.1, 0.2, 0.1])
    ocp = Problem("windy", symbols=casadi.MX)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u + wind(x)})
    ocp.minimize(ph.integral(u**2))
    prepared = prepare(ocp)
    prepared.solve()
    with pytest.raises(UsageError, match="cannot evaluate problem 'windy'"):
        prepared.export(tmp_path / "windy")


def test_limits_of_which_the_narrower_counts_are_refused(tmp_path):
    ocp = Problem("either")
    low = ocp.parameter("low", 0.2)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=free(low, 1), end=1, lower=0.1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2) - 5 * ph.final(x) + 3 * ph.initial(x) ** 2)
    prepared = prepare(ocp)
    prepared.solve()
    with pytest.raises(UsageError, match="lower limit of a boundary value of 'x'"):
        prepared.export(tmp_path / "either")


def test_the_command(tmp_path):
    run = CliRunner().invoke
    out = str(tmp_path / "lander")
    done = run(app, ["export", "moon-lander", "-o", out, "--set", "height=12"])
    assert done.exit_code == 0
    assert "STATE_h" in (tmp_path / "lander" / "problem.h").read_text()
    for arguments in (
        ["moon-lander", "-o", out],
        ["nothing", "-o", out + "2"],
        ["sleigh", "-o", out + "2"],
    ):
        assert run(app, ["export", *arguments]).exit_code == 2


def test_the_licence_is_exported():
    here = Path(__file__).parents[2]
    own = here / "LICENSE"
    if own.exists():
        assert own.read_text() == (here / "trajopt/prepared/exported/LICENSE").read_text()
