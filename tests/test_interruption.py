"""A solve that is stopped by a signal writes its best solution so far, and has the exit code of the
signal.
"""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trajopt import load, solve
from trajopt.commands.signals import BestSolution
from trajopt.trajectory.solution import Status

MODEL = """
import os, time
from trajopt import Problem


def build(a=1.0) -> Problem:
    ocp = Problem("slow")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=a), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-5, upper=5)
    ph.dynamics({x: v, v: u - 0.1 * v * v * v})
    ocp.minimize(ph.integral(u**4))
    return ocp
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_after_the_first_mesh_writes_a_solution(tmp_path, number, code):
    (tmp_path / "model.py").write_text(MODEL)
    command = [
        sys.executable,
        "-m",
        "trajopt",
        "solve",
        "./model.py:build",
        "--tolerance",
        "1e-9",
        "--save",
        "a.nc",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    )
    first = process.stderr.readline().decode()
    assert "intervals" in first
    process.send_signal(number)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == code, said
    assert f"interrupted by {signal.Signals(number).name}: wrote a.nc" in said.decode()
    answer = load(tmp_path / "a.nc")
    assert answer.status is Status.INTERRUPTED
    assert dict(answer.settings) == {}
    assert answer["x"](1.0) == pytest.approx(1.0, abs=1e-6)
    assert os.listdir(tmp_path / ".").count("a.nc") == 1
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_command_begins(number):
    """It comes while the first library is loaded."""
    lines = [
        "import os, runpy, sys",
        "class Finder:",
        "    def find_spec(self, name, path=None, target=None):",
        f"        if name == 'typer': os.kill(os.getpid(), {int(number)})",
        "sys.meta_path.insert(0, Finder())",
        "runpy.run_module('trajopt', run_name='__main__', alter_sys=True)",
    ]
    ended = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert (ended.returncode, ended.stderr) == (
        128 + number,
        f"interrupted by {signal.Signals(number).name}\n",
    )


def test_a_signal_that_is_ignored_stays_ignored(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    command = [sys.executable, "-m", "trajopt", "solve", "./model.py:build", "--save", "a.nc"]
    ignoring = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731  as nohup does
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=ignoring,
    )
    process.stderr.readline()
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert load(tmp_path / "a.nc").success


SLOW_STARTS = (
    MODEL.replace('"x", start=0, end=a', '"x", start=0, end=a, guess=wait')
    + """

COMMAND = os.getpid()


def wait(tau):
    if os.getpid() != COMMAND:
        open(f"{os.getpid()}.child", "w").close()
        time.sleep(60)
    return tau
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not end children")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_of_several_starts_stays(tmp_path, number):
    """Neither where the command handles the signal, nor where it cannot."""
    (tmp_path / "model.py").write_text(SLOW_STARTS)
    command = [sys.executable, "-m", "trajopt", "solve", "./model.py:build", "--starts", "4"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=ENVIRONMENT)
    while len(children := [path.stem for path in tmp_path.glob("*.child")]) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate(timeout=30)
    end = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_best_of_all_solved_meshes_is_held(tmp_path):
    from problems.classical.moon_lander import build

    seen = []

    class Kept(BestSolution):
        def solved(self, make):
            seen.append(make())
            super().solved(make)

    keeper = Kept(Path(tmp_path / "a.nc"))
    answer = solve(build(), progress=keeper)
    assert len(seen) >= 2
    assert all(one.status is Status.INTERRUPTED for one in seen)
    keeper.write()
    kept = load(tmp_path / "a.nc")
    assert kept.error == min(one.error for one in seen)
    assert kept.objective == pytest.approx(answer.objective, rel=1e-3)
    keeper.hold(
        dataclasses.replace(answer, error=1.0)
    )  # the answer itself counts, whatever its error
    keeper.write()
    assert load(tmp_path / "a.nc").success
