"""Every step of .ci/run can fail: with commands that do nothing, except for one that fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("python", "pip", "pytest", "ruff", "mypy", "trajopt", "apt-get", "gcc", "clang")
TOOLS += ("aarch64-linux-gnu-gcc", "valgrind", "chromium", "setarch")
NOTHING = """#!/bin/sh
line="$(basename "$0") $*$OPENBLAS_CORETYPE"
echo "$line" >> "{log}"
case "$line" in *"$FAILS"*) exit 3 ;; esac
"""
ENVIRONMENT = """#!/bin/sh
mkdir -p "$3/bin"
echo 'export PATH="{tools}:$PATH"' > "$3/bin/activate"
"""

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("pkill") is None, reason="not a checkout"
)


def script(path, text):
    path.write_text(text)
    path.chmod(0o755)


def run(folder, fails):
    """The exit code of .ci/run, and the commands that it ran."""
    tools, log = folder / "tools", folder / "log"
    tools.mkdir()
    for tool in TOOLS:
        script(tools / tool, NOTHING.format(log=log))
    script(folder / "make-environment", ENVIRONMENT.format(tools=tools))
    changes = {"PYTHON": str(folder / "make-environment"), "FAILS": fails, "BASH_ENV": ""}
    path = f"{tools}:{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / ".ci" / "run"],
        env={**os.environ, **changes, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, log.read_text(), done.stdout + done.stderr


@pytest.mark.parametrize(
    "step",
    [
        "trajopt solve",
        "pip install .[test]",
        "tests/direct tests/indirect tests/certificate tests/test_problems.py",
        "ruff check",
        "ruff format",
        "mypy",
        "pip install -q .[docs]",
        "python notebooks/build_site.py",
        "pytest -p no:cacheprovider -m slow",
        "gcc -std=c11",
        "valgrind",
    ],
)
def test_a_step_that_fails_fails_the_run(tmp_path, step):
    code, commands, said = run(tmp_path, step)
    assert step in commands
    assert code != 0
    assert "all passed" not in said
