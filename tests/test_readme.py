"""The README: its example runs and says what it says, its commands and files exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trajopt.__main__ import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_is_right():
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seconds, theta, costate = map(float, re.findall(r"-?\d+\.\d+", done.stdout.replace("theta(0.3)", "")))
    # The cycloid through (2, 2): x = R (a - sin a), y = R (1 - cos a), and a grows uniformly, a' = sqrt(g / R), theta = a / 2.
    R, a = cycloid(2.0, 2.0)
    assert seconds == pytest.approx(a * (R / 9.81) ** 0.5, abs=1e-6)
    assert theta == pytest.approx(0.3 * (9.81 / R) ** 0.5 / 2, abs=1e-3)
    assert costate == pytest.approx(-1 / (2 * (9.81 * R) ** 0.5), abs=1e-4)


def cycloid(x, y):
    """Radius and last angle by bisection of (a - sin a) / (1 - cos a) = x / y."""
    from math import cos, pi, sin

    low, high = 1e-6, 2 * pi - 1e-6
    for _ in range(100):
        a = (low + high) / 2
        low, high = (a, high) if (a - sin(a)) / (1 - cos(a)) < x / y else (low, a)
    return y / (1 - cos(a)), a


def test_every_command_line_in_it_is_understood():
    commands = re.findall(r"^trajopt (\w+)((?: \S+)*)", README, re.MULTILINE)
    assert len(commands) >= 5
    for command, _ in commands:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
    for option in set(re.findall(r"--[a-z]+", README)) - {"--json"}:
        helps = [CliRunner().invoke(app, [c, "--help"]).output for c in ("solve", "simulate", "compare", "plot", "gallery")]
        assert any(option in text for text in helps), option


def test_every_problem_in_it_exists():
    from trajopt.catalogue import catalogue

    for name in re.findall(r"trajopt (?:solve|show|simulate) ([a-z][a-z-]+)", README):
        assert name in catalogue()


def test_its_pictures_are_there():
    for path in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (ROOT / path).is_file(), path
