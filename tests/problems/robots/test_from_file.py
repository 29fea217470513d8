"""Motions of robots from files, by their names on the command line."""

import json

from typer.testing import CliRunner

from problems.robots import ARM
from trajopt.__main__ import app


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_file_is_solved_from_posture_to_posture_and_drawn(tmp_path):
    limits = tmp_path / "limits.toml"
    limits.write_text("acceleration = 12\n[base]\nspeed = 1.5\n")
    picture, saved = tmp_path / "arm.png", tmp_path / "arm.nc"
    settings = ["--set", "duration=0.6", "--set", "payload=tool,0.5", "--set", f"limits={limits}"]
    outputs = ["--plot", picture, "--plot-kind", "stills", "--save", saved, "--json", "-"]
    ends = ("-0.2,0.5,0.5,0", "0.2,0.6,0.4,0.1")
    found = run("solve", ARM, "--from", ends[0], "--to", ends[1], *settings, *outputs)
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)
    assert answer["problem"] == "small-arm-effort"
    assert picture.stat().st_size > 2000
    postures = ["--set", f"start={ends[0]}", "--set", f"end={ends[1]}"]
    certified = run("certify", saved, "--problem", ARM, *postures, *settings)
    assert certified.exit_code == 0, certified.output


def test_messages_name_the_joints():
    found = run("solve", ARM)
    assert found.exit_code == 2
    assert "needs a start and an end" in found.output
    assert "base,shoulder,elbow,wrist" in found.output
    wrong = run("solve", ARM, "--from", "0,0,0,0", "--to", "0,3,0,0")
    assert wrong.exit_code == 2
    assert "'shoulder' is outside its limits" in wrong.output
    assert run("solve", "none.urdf", "--from", "0", "--to", "1").exit_code == 2
