"""A small sample of tests/benchmarks/hostile_files.py, and files of the format before."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from trajopt.__main__ import app
from trajopt.storage import load, save

HERE = Path(__file__).parent
DATA = HERE / "data"


@pytest.fixture(scope="module")
def hostile():
    spec = importlib.util.spec_from_file_location("hostile_files", HERE / "benchmarks" / "hostile_files.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hostile_and_damaged_files_are_rejected(tmp_path, hostile, monkeypatch):
    monkeypatch.setattr("trajopt.hdf5_reader.SECONDS", 0)  # so that what does not end is ended after one second
    found = hostile.read_corpus(tmp_path, every=4)
    assert len(found) >= 60
    assert hostile.bad(found) == {}


def test_a_flipped_bit_is_rejected(tmp_path, hostile):
    found = hostile.read_flips(tmp_path, count=200, seed=1)
    assert dict(found) == {"refused": 200}


def test_libhdf5_does_not_read_a_file_with_a_digest(tmp_path, hostile, handmade, monkeypatch):
    monkeypatch.setattr("trajopt.hdf5_reader.converted", None)
    monkeypatch.setitem(sys.modules, "h5py", None)
    save(handmade(), tmp_path / "a.nc")
    assert load(tmp_path / "a.nc")["stance", "r"].size == 3


def test_the_comparison_detects_changed_numbers(tmp_path, hostile):
    solution = load(DATA / "format-1-moon-lander.nc")
    phase = solution.phases["main"]
    before = hostile.everything(solution)
    phase.states["h"].values[0][0, 0] = np.nextafter(phase.states["h"].values[0][0, 0], 1e9)
    assert hostile.everything(solution) != before


def test_files_of_format_2_are_read_and_marked(hostile):
    old, older = (load(DATA / f"format-{number}-moon-lander.nc") for number in (2, 1))
    assert old.unchecked
    assert hostile.everything(old) == hostile.everything(older)


def test_files_of_format_1_are_read_and_marked(handmade):
    old = load(DATA / "format-1-without-settings.nc")
    assert old.unchecked
    assert (old.source, dict(old.settings)) == ("", {})
    new = handmade(phases=1)
    for field in ("states", "controls", "algebraics", "costates", "path_multipliers"):
        curves, expected = getattr(old.phases["stance"], field), getattr(new.phases["stance"], field)
        assert list(curves) == list(expected)
        for name, curve in curves.items():
            np.testing.assert_array_equal(curve.points, expected[name].points)
            np.testing.assert_array_equal(curve.t, expected[name].t)
    assert (old.arcs, old.history, dict(old.multipliers)) == (new.arcs, new.history, dict(new.multipliers))
    several = load(DATA / "format-1-handmade.nc")
    assert (list(several.phases), dict(several.settings)) == (["stance", "flight/free"], {"target": (2, 3.5)})


def test_a_solution_without_checksum_is_marked():
    result = CliRunner().invoke(app, ["certify", str(DATA / "format-1-moon-lander.nc")])
    assert result.exit_code == 0, result.output
    assert "no checksum" in result.stderr
