"""Sweeps in which rows exit, crash or exceed limits, folders are reused, and processes are killed:
no row is lost or outdated.
"""

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trajopt import load, sweep
from trajopt.__main__ import app
from trajopt.errors import FileError, SweepError
from trajopt.sweeping.journal import Journal, read_progress
from trajopt.sweeping.rows import file_name
from trajopt.sweeping.workers import resident

MODEL = """
import os, sys, time
import numpy as np
from trajopt import Problem

FACTOR = 1.0


def build(a=1.0, trouble=False) -> Problem:
    if trouble and a == 2:
        sys.exit(0)
    if trouble and a == 3:
        os._exit(0)
    if trouble and a == 4:
        os.abort()
    if trouble and a == 5 and not os.path.exists("crashed"):
        open("crashed", "w").close()
        os.abort()
    if trouble and a == 6:
        time.sleep(1000)
    if trouble and a == 7:
        content = np.ones(30_000_000)
        time.sleep(1000)
    if trouble and a == 8:
        raise ArithmeticError("no such a")
    ocp = Problem("row")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=a), ph.control("u")
    ph.dynamics({x: FACTOR * u})
    ocp.minimize(ph.integral(u**2))
    return ocp
"""
ROWS = ["sweep", "./model.py:build", "--over", "a=1,2", "--save", "rows", "-q"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def statuses(folder="rows"):
    return [
        row.status
        for row in sorted(
            read_progress(Path(folder)).rows.values(), key=lambda row: row.settings["a"]
        )
    ]


def test_failed_rows_do_not_stop_the_others(folder):
    line = (
        "sweep ./model.py:build --over a=1:9:9 --set trouble=True --save rows -q --workers 2 "
        "--single"
    )
    result = run(*line.split(), "--row-time-limit", "8", "--memory-limit", "200")
    assert result.exit_code == 1, result.output
    ends = [
        "solved",
        "exited",
        "crashed",
        "crashed",
        "solved",
        "timeout",
        "memory",
        "error",
        "solved",
    ]
    assert statuses() == ends
    rows = sorted(read_progress(Path("rows")).rows.values(), key=lambda row: row.settings["a"])
    assert [row.attempts for row in rows] == [
        1,
        1,
        2,
        2,
        2,
        1,
        1,
        1,
        1,
    ]  # only a crash gets a second attempt
    assert [bool(row.message) for row in rows] == [status != "solved" for status in ends]
    assert "SIGABRT" in rows[3].message
    with open("rows/family.csv") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ends
    status = run("sweep-status", "rows")
    assert status.exit_code == 1
    assert (
        "9 of 9 rows: 2 crashed, 1 error, 1 exited, 1 memory, 3 solved, 1 timeout" in status.output
    )


def test_no_row_is_built_by_the_coordinating_process(folder):
    """The first one may be the one that hangs or exits."""
    result = run(
        *[
            "sweep",
            "./model.py:build",
            "--over",
            "a=3,2",
            "--set",
            "trouble=True",
            "--save",
            "rows",
            "-q",
        ]
    )
    assert result.exit_code == 1
    assert statuses() == ["exited", "crashed"]


def test_sys_exit_in_a_model_does_not_end_the_program_of_the_caller(folder):
    family = sweep("./model.py:build", {"a": [1, 2, 9]}, {"trouble": True})
    assert [m.status for m in family.members] == ["solved", "exited", "solved"]
    assert not family.success


def test_failed_rows_are_solved_again_only_on_request(folder):
    over, settings = {"a": [1, 8, 9]}, {"trouble": True}
    sweep("./model.py:build", over, settings, method="direct", folder="rows")
    before = read_progress(Path("rows")).rows
    assert not sweep("./model.py:build", over, settings, method="direct", folder="rows").success
    assert read_progress(Path("rows")).rows == before
    said = run(
        *[
            "sweep",
            "./model.py:build",
            "--over",
            "a=1,8,9",
            "--set",
            "trouble=True",
            "--save",
            "rows",
            "--dry-run",
        ]
    ).output
    assert "0 rows to solve of 3: 2 are solved, 1 failed" in said
    sweep("./model.py:build", over, settings, method="direct", folder="rows", retry_failed=True)
    changed = [
        file for file, row in read_progress(Path("rows")).rows.items() if row != before[file]
    ]
    assert changed == ["trouble=True,a=8.nc"]


@pytest.mark.parametrize(
    "change", ["source", "module beside", "method", "tolerance", "builder", "guess"]
)
def test_rows_of_another_statement_are_solved_again_with_a_message(folder, change):
    Path("beside.py").write_text("FACTOR = 1.0\n")
    Path("model.py").write_text(MODEL.replace("FACTOR = 1.0", "from beside import FACTOR"))
    over, told = {"a": [1.0, 2.0]}, []
    first = sweep("./model.py:build", over, folder="rows")
    options = {}
    name = "./model.py:build"
    if change == "source":
        Path("model.py").write_text(Path("model.py").read_text().replace("FACTOR * u", "2 * u"))
    elif change == "module beside":
        sys.modules.pop("beside")
        Path("beside.py").write_text("FACTOR = 2.00\n")
    elif change == "builder":
        Path("model.py").write_text(
            Path("model.py").read_text() + "\n\ndef other(a=1.0):\n    return build(a / 2)\n"
        )
        name = "./model.py:other"
    else:
        options = {
            "method": {"method": "both"},
            "tolerance": {"tolerance": 1e-3},
            "guess": {"guess": first.members[0].solution},
        }[change]
    family = sweep(name, over, folder="rows", progress=told.append, **options)
    assert not any(member.recalled for member in family.members)
    assert any("2 rows" in line and "another statement" in line for line in told)
    scale = 0.25 if change in ("source", "module beside", "builder") else 1.0
    assert family["objective"].tolist() == pytest.approx([scale, 4 * scale])
    again = sweep(name, over, folder="rows", **options)
    assert all(member.recalled for member in again.members)
    sys.modules.pop("beside", None)


def test_rows_of_other_sweeps_stay_in_the_journal_and_the_table(folder):
    sweep("./model.py:build", {"a": [1, 2, 3, 4]}, folder="rows")
    sweep("./model.py:build", {"a": [2]}, folder="rows")
    sweep("./model.py:build", {"a": [7]}, folder="rows")
    with open("rows/family.csv") as file:
        assert sorted(float(row["a"]) for row in csv.DictReader(file)) == [1, 2, 3, 4, 7]


def test_finished_files_missing_in_the_journal_are_added(folder):
    sweep("./model.py:build", {"a": [1, 2, 3]}, folder="rows")
    os.unlink("rows/sweep.sqlite")
    os.unlink("rows/a=2.nc")
    family = sweep("./model.py:build", {"a": [1, 2, 3]}, folder="rows")
    assert [m.recalled for m in family.members] == [True, False, True]
    assert statuses() == ["solved"] * 3
    Path("rows/sweep.sqlite").write_bytes(
        b"this is no database at all, but long enough to be read as one" * 50
    )
    told = []
    family = sweep("./model.py:build", {"a": [1, 2, 3]}, folder="rows", progress=told.append)
    assert all(m.recalled for m in family.members)
    assert "damaged" in told[0]


def test_settings_with_equal_text_have_different_files(folder):
    alike = [
        "a b",
        "a_b",
        "a/b",
        "x" * 300,
        "\ud800",
        "10",
        10,
        10.0 + 1e-12,
        "True",
        True,
        (1, 2),
        "(1,2)",
        "\x1b[2J",
        "",
    ]
    names = [file_name({"word": value}) for value in alike]
    assert len(set(names)) == len(names)
    assert all(len(name) < 250 and name.isprintable() and name.isascii() for name in names)
    Path("words.py").write_text(
        MODEL.replace("a=1.0, trouble=False", "word=1, trouble=False").replace(
            "end=a", "end=len(str(word)) / 10 + 0.1"
        )
    )
    family = sweep("./words.py:build", {"word": alike}, folder="rows", chained=False)
    assert family.success
    assert len(list(Path("rows").glob("*.nc"))) == len(alike)
    again = sweep("./words.py:build", {"word": alike}, folder="rows", chained=False)
    assert all(member.recalled for member in again.members)
    for member, value in zip(again.members, alike, strict=True):
        assert member.solution["x"](1.0) == pytest.approx(len(str(value)) / 10 + 0.1)


def test_two_sweeps_cannot_run_in_one_folder(folder):
    first = start("--over", "a=1,6", "--save", "rows", "--set", "trouble=True")
    wait_for(lambda: Path("rows/sweep.sqlite").exists() and read_progress(Path("rows")).rows)
    second = run(*ROWS)
    assert second.exit_code == 2
    assert f"process {first.pid}" in second.output
    status = run("sweep-status", "rows")
    assert f"running: process {first.pid}" in status.output
    first.kill()
    first.communicate()
    wait_for(lambda: "not running" in run("sweep-status", "rows").output)
    with pytest.raises(FileError, match="no sweep"):
        read_progress(folder)


def test_a_killed_sweep_leaves_no_processes_and_resumes(folder):
    sweeping = start("--over", "a=1:300:300", "--save", "rows", "--workers", "2", "--single")
    wait_for(
        lambda: Path("rows/sweep.sqlite").exists() and len(read_progress(Path("rows")).rows) >= 3
    )
    children = children_of(sweeping.pid)
    assert len(children) == 2
    sweeping.kill()
    sweeping.communicate()
    wait_for(lambda: not any(resident(child) for child in children))
    before = read_progress(Path("rows")).rows
    finished = {path.name for path in Path("rows").glob("a=*.nc")}
    assert {row.file for row in before.values()} <= finished
    family = sweep(
        "./model.py:build",
        {"a": [float(a) for a in range(1, 301)]},
        method="direct",
        folder="rows",
        chained=False,
    )
    assert family["objective"].tolist() == pytest.approx([float(a * a) for a in range(1, 301)])
    assert sum(m.recalled for m in family.members) == len(finished)
    assert not list(Path("rows").glob(".*.part"))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_sweep_saves_finished_rows(folder, number, code):
    sweeping = start("--over", "a=1:200:200", "--save", "rows")
    wait_for(
        lambda: Path("rows/sweep.sqlite").exists() and len(read_progress(Path("rows")).rows) >= 1
    )
    children = children_of(sweeping.pid)
    began = time.monotonic()
    sweeping.send_signal(number)
    said = sweeping.communicate(timeout=20)[1].decode()
    assert sweeping.returncode == code, said
    assert time.monotonic() - began < 5.0  # unloaded it takes 0.2 s
    assert "interrupted after" in said
    wait_for(lambda: not any(resident(child) for child in children))
    with open("rows/family.csv") as file:
        assert len(list(csv.DictReader(file))) == len(read_progress(Path("rows")).rows)


def test_a_full_disk_ends_a_sweep_with_the_finished_rows(folder, monkeypatch):
    genuine = Path.write_bytes

    def full(self, content):
        if self.suffix == ".part" and len(list(self.parent.glob("*.nc"))) >= 2:
            genuine(self, content[:100])
            raise OSError(28, "No space left on device")
        return genuine(self, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(SweepError, match="No space left") as caught:
            sweep("./model.py:build", {"a": [1, 2, 3, 4]}, folder="rows")
    assert [m.status for m in caught.value.family.members] == ["solved", "solved"]
    family = sweep("./model.py:build", {"a": [1, 2, 3, 4]}, folder="rows")
    assert [m.recalled for m in family.members] == [True, True, False, False]


def test_the_journal_is_not_written_by_readers(folder):
    sweep("./model.py:build", {"a": [1, 2]}, folder="rows")
    before = Path("rows/sweep.sqlite").stat().st_mtime_ns
    content = json.loads(run("sweep-status", "rows", "--json", "-").stdout)
    assert content["by_status"] == {"solved": 2}
    assert run("sweep-status", "rows").exit_code == 0
    assert Path("rows/sweep.sqlite").stat().st_mtime_ns == before


def test_a_journal_of_a_newer_version_is_not_changed(folder):
    sweep("./model.py:build", {"a": [1]}, folder="rows")
    database = sqlite3.connect("rows/sweep.sqlite")
    database.execute("UPDATE facts SET value = '99' WHERE name = 'version'")
    database.commit()
    database.close()
    with pytest.raises(FileError, match="newer"):
        Journal(Path("rows"))


def test_a_script_can_sweep_its_own_function(folder):
    script = textwrap.dedent(MODEL) + textwrap.dedent(
        """
        if __name__ == "__main__":
            from trajopt import sweep

            family = sweep(build, {"a": [1, 2]}, workers=1)
            print([round(member.solution.objective, 6) for member in family.members])
        """
    )
    Path("script.py").write_text(script)
    result = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[1.0, 4.0]\n"


def test_invalid_limits_are_rejected(folder):
    for options in (
        ["--row-time-limit", "0"],
        ["--memory-limit", "nan"],
        ["--row-time-limit", "inf"],
        ["--workers", "0"],
    ):
        assert run(*ROWS, *options).exit_code == 2


def start(*arguments):
    command = [sys.executable, "-m", "trajopt", "sweep", "./model.py:build", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def children_of(process):
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_loaded_member_is_the_solution_of_its_own_row(folder):
    family = sweep("./model.py:build", {"a": [1, 2]}, folder="rows", workers=1)
    assert family.members[1].solution["x"](1.0) == pytest.approx(2.0)
    assert load("rows/a=2.nc").objective == family["objective"][1]
