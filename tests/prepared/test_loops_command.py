"""``trajopt simulate`` of a problem under disturbances."""

import json

import pytest
from typer.testing import CliRunner

from trajopt.__main__ import app
from trajopt.commands.loops import changed
from trajopt.errors import UsageError


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_a_table_of_the_three_and_a_plot(tmp_path):
    plot = tmp_path / "loops.png"
    result = run("moon-lander", "--disturb", "h=+0.1%", "--control", "open,feedback",
                 "--plot", str(plot), "--json", str(tmp_path / "loops.json"))  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "end error" in result.output
    assert plot.stat().st_size > 10_000
    loops = json.loads((tmp_path / "loops.json").read_text())["loops"]
    assert loops["feedback"]["end_error"] < 0.05 * loops["open"]["end_error"]


def test_settings_of_the_builder_make_another_model(tmp_path):
    file = tmp_path / "loops.json"
    result = run("cart-pole", "--disturb", "m2=+1%", "--control", "open,feedback", "-q",
                 "--json", str(file))  # fmt: skip
    assert result.exit_code == 0, result.output
    loops = json.loads(file.read_text())["loops"]
    assert loops["feedback"]["end_error"] < 0.01 * loops["open"]["end_error"]


def test_wrong_disturbances_are_said():
    assert "has no 'hh'" in str(run("moon-lander", "--disturb", "hh=+1%").output)
    assert "--control" in str(run("moon-lander", "--control", "pid").output)
    assert "--csv is not written" in str(
        run("moon-lander", "--control", "open", "--csv", "a.csv").output
    )
    with pytest.raises(UsageError, match="a change such as"):
        changed("5 percent", 1.0, 1.0, "mass")


@pytest.mark.parametrize(
    ("option", "value"),
    [("--rate", "0"), ("--rate", "nan"), ("--horizon", "0"), ("--noise", "-1")],
)
def test_numbers_outside_of_their_range_are_refused_before_the_solve(option, value):
    result = run("moon-lander", "--control", "open", f"{option}={value}")
    assert result.exit_code == 2
    assert option in result.output
    assert "expected:" in result.output
