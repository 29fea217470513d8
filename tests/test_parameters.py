"""Settings of builders: declarations, units, ranges, parameter files, and their storage in saved
solutions.
"""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from casadi import SX
from typer.testing import CliRunner

from trajopt import Problem, load, solve
from trajopt.__main__ import app
from trajopt.errors import FileError, ProblemError, UsageError
from trajopt.parameters import (
    Setting,
    load_parameters,
    settable,
    setting,
    setting_field,
    settings_of,
    write_parameters,
)

FILE = """
from dataclasses import dataclass
from trajopt import Problem
from trajopt.parameters import settable, setting, setting_field

@dataclass(frozen=True)
class Cart:
    mass: float = setting_field(2.0, "kg", "mass of the cart", 0.1, 100)
    limit: float = setting_field(9.0, "N", "largest force", 0)

@settable
def build(cart: Cart = Cart(), distance=setting(1.0, "m", "way to go", 0.01, 10)) -> Problem:
    ocp = Problem("cart")
    ph = ocp.phase()
    load = ocp.parameter("payload", 0.0, unit="kg")
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=distance, unit="m"), ph.state("v", start=0, end=0, unit="m/s")
    u = ph.control("u", lower=-cart.limit * 10, upper=cart.limit * 10, unit="N")
    ph.dynamics({x: v, v: u / (cart.mass + load)})
    ocp.minimize(ph.integral(u**2))
    return ocp
"""


@dataclass(frozen=True)
class Limb:
    length: float = setting_field(0.5, "m", "length", 0.1, 1)
    mass: float = setting_field(3.0, "kg", "mass", 0)


@dataclass(frozen=True)
class Rider:
    arm: Limb = Limb()
    leg: Limb = Limb(0.8, 9.0)
    waist_range: tuple[float, float] = setting_field(
        (-30.0, 45.0), "deg", "range of the waist", -180, 180
    )
    secret: float = 1.0


@settable
def model(
    rider: Rider = Rider(),
    gates=setting(3, "", "number of gates", 1, 9),
    form=setting("augmented", "", "formulation", choices=("augmented", "penalty")),
    duration=setting(4.0, "s", "how long", 0, optional=True),
    stiff=setting(False, "", "whether the joints are stiff"),
    slip=setting(0.1, "1", "slip ratio", 0, 1),
):
    return rider, gates, form, duration, stiff, slip


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fields_of_nested_data_are_settings_with_the_fields_name_before_theirs():
    assert {"arm_length", "arm_mass", "leg_length", "leg_mass", "waist_range", "gates"} <= set(
        settings_of(model)
    )
    assert "secret" not in settings_of(model)
    assert settings_of(model)["leg_mass"].default == 9.0
    assert settings_of(model)["leg_mass"].meaning == "leg: mass"
    rider, *_ = model(leg_mass="12 kg", waist_range=("-20 deg", 30))
    assert (rider.leg, rider.arm, rider.waist_range) == (Limb(0.8, 12.0), Limb(), (-20.0, 30))


def test_settings_change_user_data():
    base = Rider(arm=Limb(0.6, 4.0), secret=2.0)
    assert model(base, arm_mass=5.0)[0] == Rider(arm=Limb(0.6, 5.0), secret=2.0)
    assert model(rider=base)[0] is base


def test_a_symbol_is_returned_unchanged():
    mass = SX.sym("mass")
    assert model(arm_mass=mass)[0].arm.mass is mass


# what is wrong: (settings, words of the message)
WRONG = {
    "unit": ({"leg_length": "90 cm"}, ["'leg_length' has the unit m", "90 cm is 0.9 m"]),
    "unit of something else": ({"leg_length": "3 kg"}, ["'leg_length' has the unit m", "0.8 m"]),
    "unit of a ratio": ({"slip": "0.2 m"}, ["'slip' has no unit"]),
    "unit missing": ({"leg_length": "0.9"}, ["'leg_length' has the unit m"]),
    "unit in an array": (
        {"waist_range": ["-1 rad", 0]},
        ["'waist_range' has the unit deg", "-1 rad is -57.2958 deg"],
    ),
    "misspelt": ({"leg_lenght": 1}, ["unknown setting 'leg_lenght'", "did you mean 'leg_length'"]),
    "below": ({"leg_length": 0.01}, ["out of range", "0.1 to 1 m"]),
    "above": ({"slip": "120 %"}, ["120 % is 1.2 1"]),
    "not whole": ({"gates": 2.5}, ["must be an integer"]),
    "not a choice": ({"form": "penalti"}, ["did you mean 'penalty'"]),
    "not a number": ({"duration": "soon"}, ["'duration' must be a number"]),
    "not finite": ({"duration": float("nan")}, ["finite"]),
    "a truth value": ({"duration": True}, ["'duration' must be a number"]),
    "no truth value": ({"stiff": 3}, ["true or false"]),
    "too few": ({"waist_range": (1,)}, ["must have 2 values"]),
    "none where a value is needed": ({"slip": "none"}, ["needs a value"]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_values_are_rejected_with_a_suggestion(wrong):
    settings, words = WRONG[wrong]
    with pytest.raises(UsageError) as error:
        model(**settings)
    for word in words:
        assert word in str(error.value)


def test_words_and_numbers_are_read():
    assert model(gates=4.0, form="penalty", duration="none", stiff="true", slip="0.2")[1:] == (
        4,
        "penalty",
        None,
        True,
        0.2,
    )


def test_duplicate_settings_are_an_error_of_the_builder():
    with pytest.raises(TypeError, match="mass"):

        @settable
        def twice(limb: Limb = Limb(), mass=setting(1.0, "kg", "mass")):
            pass


def test_a_written_parameter_file_gives_the_defaults_again(tmp_path):
    write_parameters(tmp_path / "rider.toml", settings_of(model).values())
    assert model(**load_parameters(tmp_path / "rider.toml")) == model()
    with pytest.raises(FileError, match="already exists"):
        write_parameters(tmp_path / "rider.toml", settings_of(model).values())


def test_a_file_that_holds_no_parameters_is_rejected(tmp_path):
    for text, words in (
        ("mass = ", "not a parameter file"),
        ("[rider]\nmass = 3", "table 'rider'"),
    ):
        (tmp_path / "a.toml").write_text(text)
        with pytest.raises(FileError, match=words):
            load_parameters(tmp_path / "a.toml")
    with pytest.raises(FileError, match="cannot read"):
        load_parameters(tmp_path / "none.toml")


def test_parameters_reach_a_solve_and_stay_in_its_file(mine):
    """The effort of rest to rest is 12 (m d)^2: the mass of file, option and parameter add up in
    it.
    """
    (mine / "heavy.toml").write_text('mass = "3 kg"\npayload = "0.5 kg"\ndistance = 2\n')
    command = (
        "solve",
        "./mine.py:build",
        "--parameters",
        "heavy.toml",
        "--set",
        "distance=0.5 m",
        "--save",
        "a.nc",
        "--json",
        "-",
    )
    done = run(*command)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["objective"] == pytest.approx(12 * (3.5 * 0.5) ** 2, rel=1e-6)
    assert load("a.nc").settings == {"mass": 3.0, "payload": 0.5, "distance": 0.5}


def test_show_prints_units_ranges_and_meanings_and_writes_a_file_that_solve_reads(mine):
    shown = run("show", "./mine.py:build", "--set", "mass=4").stdout
    for row in ("mass       4   kg     0.1 to 100   mass of the cart", "payload       0   kg"):
        assert " ".join(row.split()) in " ".join(shown.split())
    assert run("show", "./mine.py:build", "--write-parameters", "mine.toml").exit_code == 0
    assert load_parameters("mine.toml") == {
        "distance": 1.0,
        "mass": 2.0,
        "limit": 9.0,
        "payload": 0.0,
    }
    assert run("show", "./mine.py:build", "--parameters", "mine.toml").exit_code == 0


def test_numbers_of_numpy_are_written_as_numbers(tmp_path):
    rows = [
        Setting(np.float64(0.25), "m", "length", name="a"),
        Setting((np.float64(1), np.int64(2)), name="b"),
    ]
    write_parameters(tmp_path / "a.toml", rows)
    assert load_parameters(tmp_path / "a.toml") == {"a": 0.25, "b": (1.0, 2)}


def test_a_parameter_of_a_problem_has_a_range():
    ocp = Problem("cart")
    ph = ocp.phase()
    mass = ocp.parameter("mass", 2.0, "kg", lower=0.1, upper=10)
    ph.time(start=0, end=1)
    v, u = ph.state("v", start=0, end=1), ph.control("u", lower=-9, upper=9)
    ph.dynamics({v: u / mass})
    ocp.minimize(ph.integral(u**2))
    assert solve(ocp, parameters={"mass": 3.0}).success
    for value in (-3.0, 11.0):
        with pytest.raises(UsageError, match=r"'mass' is out of range") as found:
            solve(ocp, parameters={"mass": value})
        assert found.value.expected == "0.1 to 10 kg"
    with pytest.raises(ProblemError, match="out of range"):
        Problem("cart").parameter("mass", 0.0, lower=0.1)
    assert run("show", "wheelie-entry", "--set", "rider_mass=-5").exit_code == 2


def test_wrong_keys_and_units_in_a_file_end_with_exit_code_2(mine):
    for text, words in (
        ("mas = 3", "did you mean 'mass'"),
        ('mass = "3 m"', "'mass' has the unit kg"),
        ('payload="3 g"', "3 g is 0.003 kg"),
    ):
        (mine / "a.toml").write_text(text)
        done = run("solve", "./mine.py:build", "--parameters", "a.toml")
        assert done.exit_code == 2
        assert words in done.output


def test_a_simulation_file_holds_the_settings(tmp_path):
    import xarray

    run("simulate", "lorenz", "--set", "r=20", "--until", "0.1", "--save", tmp_path / "a.nc")
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as saved:
        assert json.loads(saved.attrs["settings"]) == {"r": 20}
