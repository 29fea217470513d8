"""Nothing that a result file says is imported or executed."""

import dataclasses

import pytest
from typer.testing import CliRunner

from trajopt.__main__ import app
from trajopt.commands.saved_problem import recalled
from trajopt.solving.methods import solve

TRAP = """
from pathlib import Path

Path(__file__).with_name("executed").write_text("yes")


def build():
    raise RuntimeError("executed")
"""


@pytest.fixture(scope="module")
def answer():
    from problems.classical.block_move import build

    return dataclasses.replace(solve(build()), form=None)


NAMES = ["./trap.py:build", "trap.py", "{folder}/trap.py:build", "trap:build"]
OTHERS = [
    "report a.nc -o a.html",
    *(f"plot a.nc -o a.png --kind {kind}" for kind in ("invariants", "stills", "own")),
]


@pytest.mark.parametrize("field", ["problem", "source"])
@pytest.mark.parametrize(
    ("line", "name"),
    [*(("certify a.nc", name) for name in NAMES), *((line, NAMES[0]) for line in OTHERS)],
)
def test_a_file_that_names_a_python_file_executes_nothing(
    tmp_path, monkeypatch, answer, line, name, field
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap.py").write_text(TRAP)
    dataclasses.replace(answer, **{"problem": "unknown", field: name.format(folder=tmp_path)}).save(
        "a.nc"
    )
    result = CliRunner().invoke(app, line.split())
    assert result.exit_code in (0, 2), result.output
    assert not (tmp_path / "executed").exists()


def test_the_command_line_may_name_a_python_file(tmp_path, monkeypatch, answer):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap.py").write_text(TRAP)
    answer.save("a.nc")
    assert (
        CliRunner().invoke(app, ["certify", "a.nc", "--problem", "./trap.py:build"]).exit_code == 2
    )
    assert (tmp_path / "executed").exists()


def test_a_name_of_the_catalogue_is_built(answer):
    assert recalled(dataclasses.replace(answer, problem="block-move"), {})[0] == "block-move"
    assert (
        recalled(dataclasses.replace(answer, problem="block-move", source="moon-lander"), {})[0]
        == "moon-lander"
    )
    assert recalled(dataclasses.replace(answer, problem="os:system", source="nowhere"), {})[0] == ""


def test_the_commands_of_a_report_are_quoted(tmp_path, monkeypatch, answer):
    monkeypatch.chdir(tmp_path)
    dataclasses.replace(
        answer, method="direct; touch executed #", problem="$(touch executed)"
    ).save("a.nc")
    result = CliRunner().invoke(app, ["report", "a.nc", "-o", "a.html"])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "a.html").read_text()
    assert "--method &#x27;direct; touch executed #&#x27;" in page
    assert "trajopt solve &#x27;$(touch executed)&#x27;" in page
