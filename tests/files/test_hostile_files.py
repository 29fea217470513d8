"""The corpus of tests/benchmarks/hostile_files.py, and a sample of its changed bits."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from trajopt.errors import FileError
from trajopt.files.storage import load, save

HERE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def hostile():
    spec = importlib.util.spec_from_file_location(
        "hostile_files", HERE / "benchmarks" / "hostile_files.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hostile_and_damaged_files_are_rejected(tmp_path, hostile):
    found = hostile.read_corpus(tmp_path)
    assert len(found) >= 60
    assert hostile.bad(found) == {}


def test_a_flipped_bit_is_rejected(tmp_path, hostile):
    found = hostile.read_flips(tmp_path, count=200, seed=1)
    assert dict(found) == {"refused": 200}


def test_libhdf5_does_not_read_a_file_with_a_digest(tmp_path, hostile, handmade, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    save(handmade(), tmp_path / "a.nc")
    assert load(tmp_path / "a.nc")["stance", "r"].size == 3


def test_the_comparison_detects_changed_numbers(tmp_path, hostile):
    solution = load(hostile.SAVED)
    phase = solution.phases["main"]
    before = hostile.everything(solution)
    phase.states["h"].values[0][0, 0] = np.nextafter(phase.states["h"].values[0][0, 0], 1e9)
    assert hostile.everything(solution) != before


def test_a_file_that_another_program_wrote_again_is_refused(tmp_path, handmade):
    """Its index and its digest are lost."""
    import xarray

    save(handmade(phases=1), tmp_path / "a.nc")
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as whole:
        whole.to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    with pytest.raises(FileError, match="another program has changed it"):
        load(tmp_path / "b.nc")
