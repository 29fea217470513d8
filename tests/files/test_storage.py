"""Files: round trips, errors of damaged files, and atomic writes."""

import csv
import dataclasses
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from trajopt.__main__ import app
from trajopt.errors import FileError
from trajopt.files.atomic import HOST
from trajopt.files.netcdf import Group, encode
from trajopt.files.solution_files import groups_of
from trajopt.files.storage import load, save, summary, to_csv
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import Solution, Status


def same(a, b):
    """Equal to the last bit, in every field that there is."""
    if dataclasses.is_dataclass(a):
        names = [f.name for f in dataclasses.fields(a) if f.name != "form"]
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in names)
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return (
            type(a) is type(b)
            and len(a) == len(b)
            and all(same(p, q) for p, q in zip(a, b, strict=True))
        )
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.shape == b.shape
            and np.array_equal(a, b, equal_nan=True)
        )
    if isinstance(a, float):
        return isinstance(b, float) and (a == b or (a != a and b != b))
    return a == b


@pytest.mark.parametrize(
    ("status", "phases"),
    [(Status.SOLVED, 1), (Status.COARSE, 3), *((status, 2) for status in Status)],
)
def test_round_trip_keeps_every_field(tmp_path, status, phases, handmade):
    original = handmade(status, phases)
    save(original, tmp_path / "a.nc")
    again = load(tmp_path / "a.nc")
    assert again.form is None
    assert same(original, again)


def test_round_trip_of_a_bare_solution(tmp_path, handmade):
    full = handmade(phases=1)
    bare = Solution(full.problem, full.method, Status.FAILED, float("nan"), full.phases)
    save(bare, tmp_path / "a.nc")
    assert same(bare, load(tmp_path / "a.nc"))


def test_same_helper_can_fail(tmp_path, handmade):
    a = handmade()
    assert not same(a, dataclasses.replace(a, iterations=a.iterations + 1))
    ph = a.phases["stance"]
    shifted = Curve(
        ph.breaks,
        ph.states["r"].nodes,
        tuple(v + 1e-16 + 1e-15 for v in ph.states["r"].values),
        unit="m/s",
    )
    other = dataclasses.replace(ph, states={**ph.states, "r": shifted})
    assert not same(a, dataclasses.replace(a, phases={**a.phases, "stance": other}))


def test_file_is_readable_without_trajopt(tmp_path, handmade):
    import xarray

    save(handmade(), tmp_path / "a.nc")
    with xarray.open_dataset(tmp_path / "a.nc", group="phase_0", engine="h5netcdf") as data:
        assert data["state.r"].attrs["units"] == "m/s"
        assert data.attrs["name"] == "stance"
        time = data[f"grid{data['state.r'].attrs['grid']}.time"].values
        np.testing.assert_allclose(data["state.r"].values[:, 0], np.cos(time), atol=1e-15)


def test_other_programs_read_the_same_content(tmp_path, handmade):
    """Arrays, dimensions and attributes as libhdf5 and xarray see them, against what was to be
    written.
    """
    import h5py
    import xarray

    content = groups_of(handmade())
    save(handmade(), tmp_path / "a.nc")
    with h5py.File(tmp_path / "a.nc") as file:
        assert list(file) == [name for name in content if name]
    for name, group in content.items():
        with xarray.open_dataset(tmp_path / "a.nc", group=name or "/") as data:
            assert set(data.variables) == set(group.variables)
            assert {k: str(v) for k, v in data.attrs.items()} == {
                k: str(v) for k, v in group.attributes.items()
            }
            for key, variable in group.variables.items():
                found = data[key]
                assert found.dims == variable.dimensions
                np.testing.assert_array_equal(found.values, variable.values)
                for attribute, value in variable.attributes.items():
                    np.testing.assert_array_equal(found.attrs[attribute], value)


def test_a_program_that_changes_a_file_makes_it_unreadable(tmp_path, handmade):
    import h5py

    save(handmade(), tmp_path / "a.nc")
    with h5py.File(tmp_path / "a.nc", "a") as file:
        file.attrs["objective"] = 0.0
    with pytest.raises(FileError, match="changed"):
        load(tmp_path / "a.nc")


def test_files_that_are_not_solutions_are_reported(tmp_path, handmade):
    path = tmp_path / "a.nc"
    save(handmade(), path)
    whole = path.read_bytes()
    cases = {
        b"": "the file is empty",
        b"hello": "not a netCDF file, it begins with 'hello'",
        b"\xff" * 30: "not a netCDF file, it begins with b'.xff",
        whole[:20]: "it is cut off: 20 bytes are left",
        whole[:5000]: "it is cut off: 5000 bytes are left of [0-9]+",
        whole[:-1]: "it is truncated, or another program",
        whole[:100] + bytes(8) + whole[108:]: "is damaged or was changed",
    }
    for content, words in cases.items():
        path.write_bytes(content)
        with pytest.raises(FileError, match=rf"(?s)a\.nc.*{words}"):
            load(path)
    with pytest.raises(FileError, match="it is a directory"):
        load(tmp_path)


def test_foreign_files(tmp_path):
    import xarray

    (tmp_path / "text.nc").write_text("hello")
    (tmp_path / "pickle.nc").write_bytes(pickle.dumps({"format": "trajopt solution"}))
    xarray.Dataset({"a": ("x", np.arange(3.0))}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    xarray.Dataset(attrs={"format": "trajopt solution", "format_version": 1}).to_netcdf(
        tmp_path / "hollow.nc", engine="h5netcdf"
    )
    for name in ("text.nc", "pickle.nc", "other.nc", "hollow.nc", "missing.nc", "."):
        with pytest.raises(FileError):
            load(tmp_path / name)


def test_a_loaded_solution_can_be_pickled(tmp_path, handmade):
    """Curves are read on first use, and before pickling."""
    save(handmade(), tmp_path / "a.nc")
    again = load(tmp_path / "a.nc")
    (tmp_path / "a.nc").unlink()
    assert same(handmade(), pickle.loads(pickle.dumps(again)))


@pytest.mark.parametrize(
    "name", ["a/b", "a\0b", "a\ud800b", "x" * 300, "\\json:3", "", "..", "ü∕λ"]
)
def test_every_name_survives_a_round_trip(tmp_path, name, handmade):
    plain = handmade(phases=1)
    phase = plain.phases["stance"]
    named = dataclasses.replace(phase.states["r"], components=(name, "b", "c"))
    curves = {name: named, name.replace("/", "∕") + "2": phase.states["z last"]}
    odd = dataclasses.replace(phase, name=name, states=curves, costates=curves, time_unit=name)
    changes = {
        "problem": name,
        "method": name,
        "multipliers": {name: 1.0},
        "explanation": (name,),
        "settings": {name: name},
    }
    original = dataclasses.replace(
        plain, phases={name: odd}, variables={name: np.ones(2)}, **changes
    )
    save(original, tmp_path / "a.nc")
    assert same(original, load(tmp_path / "a.nc"))


def test_newer_format_is_named(tmp_path, handmade):
    groups = groups_of(handmade())
    groups[""] = Group({**groups[""].attributes, "format_version": 99})
    (tmp_path / "a.nc").write_bytes(encode(groups))
    with pytest.raises(FileError, match="newer"):
        load(tmp_path / "a.nc")


def test_loading_executes_nothing(tmp_path):
    """A pickle that would run a command is refused as a foreign file and does not run."""

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "trapped"),))

    (tmp_path / "a.nc").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(FileError):
        load(tmp_path / "a.nc")
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["write_bytes", "replace", "fsync"])
def test_interrupted_save_leaves_the_old_file_intact(
    tmp_path, monkeypatch, failure, step, handmade
):
    path = tmp_path / "a.nc"
    old, new = handmade(), handmade(objective=2.0)
    save(old, path)

    def dies_half_way(*args):
        if step == "write_bytes":
            with open(args[0], "wb") as part:
                part.write(args[1][:100])
        raise failure

    monkeypatch.setattr(Path if step == "write_bytes" else os, step, dies_half_way)
    with pytest.raises((FileError, KeyboardInterrupt)):
        save(new, path)
    monkeypatch.undo()
    assert same(load(path), old)
    assert os.listdir(tmp_path) == ["a.nc"]  # and nothing is left lying about
    save(new, path)
    assert load(path).objective == 2.0


def test_partial_files_of_killed_processes_are_removed(tmp_path, handmade):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    names = [
        f".trajopt-{HOST}-{dead.pid}-0.part",
        f".trajopt-{HOST}-{os.getpid()}-0.part",
        f".trajopt-other-{dead.pid}-0.part",
    ]
    for name in names:
        (tmp_path / name).touch()
    save(handmade(), tmp_path / "a.nc")
    assert sorted(os.listdir(tmp_path)) == sorted(
        [*names[1:], "a.nc"]
    )  # those of living processes and other machines stay


def test_two_open_files_are_independent(tmp_path, handmade):
    for number in (1.0, 2.0):
        save(handmade(objective=number), tmp_path / f"{number}.nc")
    one, two = load(tmp_path / "1.0.nc"), load(tmp_path / "2.0.nc")
    assert (one.objective, two.objective) == (1.0, 2.0)
    save(handmade(objective=3.0), tmp_path / "2.0.nc")  # what was loaded stays as it was
    assert two.objective == 2.0
    assert same(two, handmade(objective=2.0))


@pytest.mark.parametrize("write", [save, to_csv])
def test_unwritable_paths_are_reported(tmp_path, write, handmade):
    (tmp_path / "folder").mkdir()
    for place, word in (("folder", "directory"), ("missing/a.nc", "does not exist")):
        with pytest.raises(FileError, match=word):
            write(handmade(), tmp_path / place)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_missing_permission_is_reported(tmp_path, handmade):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="permission"):
        save(handmade(), tmp_path / "a.nc")


def test_saving_through_a_link_preserves_the_link(tmp_path, handmade):
    save(handmade(), tmp_path / "a.nc")
    (tmp_path / "link.nc").symlink_to(tmp_path / "a.nc")
    save(handmade(objective=5.0), tmp_path / "link.nc")
    assert (tmp_path / "link.nc").is_symlink()
    assert load(tmp_path / "a.nc").objective == 5.0


def test_csv_has_names_units_and_the_curves_values(tmp_path, handmade):
    answer = handmade()
    to_csv(answer, tmp_path / "a.csv", points=7)
    with open(tmp_path / "a.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 14
    assert {
        "phase",
        "t [s]",
        "z last [m]",
        "r[2] [m/s]",
        "u/limit [N]",
        "costate r[0]",
        "multiplier no crash",
    } <= set(rows[0])
    for row in rows:
        t = float(row["t [s]"])
        assert float(row["r[1] [m/s]"]) == pytest.approx(answer[row["phase"], "r"](t)[1], abs=1e-15)


def test_summary_is_the_contract_and_valid_json(handmade):
    answer = summary(handmade(objective=float("inf"), error=float("nan")))
    contract = (
        "problem method status success objective phases iterations mesh_passes error "
        "seconds initial final costates_initial"
    )
    assert set(contract.split()) <= set(answer)
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert (answer["objective"], answer["error"]) == (None, None)
    assert answer["status"] == "solved"
    assert answer["success"] is True
    assert answer["mesh_passes"] == 2
    assert answer["phases"]["stance"]["intervals"] == 3
    assert set(answer["seconds"]) == {"build", "solve", "total"}
    assert answer["initial"]["r"] == pytest.approx([1.0, 0.0, 0.0], abs=1e-15)
    assert answer["final"]["z last"] == pytest.approx(np.sin(2.5), abs=1e-15)
    assert answer["costates_initial"]["r"] == pytest.approx([0.0, 1.0, 0.0], abs=1e-15)


def test_settings_survive_a_round_trip(tmp_path, handmade):
    settings = {
        "mass": 70,
        "target": (2, 3.5),
        "law": "linear",
        "nested": ((1, 2), (3, 4)),
        "drag": False,
        "table": None,
    }
    original = dataclasses.replace(handmade(), source="launch-vehicle", settings=settings)
    save(original, tmp_path / "a.nc")
    again = load(tmp_path / "a.nc")
    assert again.source == "launch-vehicle"
    assert dict(again.settings) == settings
    assert [type(v) for v in again.settings.values()] == [type(v) for v in settings.values()]


def test_a_saved_solution_is_certified_and_reported_with_its_own_settings(tmp_path):
    """Without them the duration would be another one, and the answer wrong."""
    runner, file = CliRunner(), str(tmp_path / "a.nc")
    settings = ["--set", "wall=0.12"]
    assert (
        runner.invoke(app, ["solve", "bryson-denham", *settings, "--save", file, "-q"]).exit_code
        == 0
    )
    assert dict(load(file).settings) == {"wall": 0.12}
    result = runner.invoke(app, ["certify", file])
    assert result.exit_code == 0, result.output
    assert runner.invoke(app, ["report", file, "-o", str(tmp_path / "a.html"), "-q"]).exit_code == 0
    assert "--set wall=0.12" in (tmp_path / "a.html").read_text(encoding="utf-8")
    # What is said now wins: with another wall this is no answer.
    result = runner.invoke(app, ["certify", file, "--set", "wall=0.11", "--json", "-"])
    assert result.exit_code == 1
    assert "bounds and path constraints" in {
        c["name"] for c in json.loads(result.stdout)["checks"] if not c["ok"]
    }


def test_comparing_reports_different_settings(tmp_path):
    runner = CliRunner()
    for wall in ("0.12", "0.11"):
        runner.invoke(
            app,
            [
                "solve",
                "bryson-denham",
                "--set",
                f"wall={wall}",
                "--save",
                str(tmp_path / f"{wall}.nc"),
                "-q",
            ],
        )
    result = runner.invoke(app, ["compare", str(tmp_path / "0.12.nc"), str(tmp_path / "0.11.nc")])
    assert "wall: 0.12 and 0.11" in result.stdout


def test_the_name_of_a_python_file_is_not_stored(tmp_path, monkeypatch):
    """Loading a solution must not execute a file that it names."""
    monkeypatch.chdir(tmp_path)
    lines = [
        "from pathlib import Path",
        "from trajopt import Problem",
        "Path('built').write_text('')",
        "def build(end=1.0):",
        "    ocp = Problem('mine'); ph = ocp.phase(); ph.time(start=0, end=end)",
        "    x, u = ph.state('x', start=0, end=1), ph.control('u')",
        "    ph.dynamics({x: u}); ocp.minimize(ph.integral(u**2))",
        "    return ocp",
    ]
    (tmp_path / "mine.py").write_text("\n".join(lines))
    runner = CliRunner()
    solved = runner.invoke(
        app, ["solve", "./mine.py:build", "--set", "end=2", "--save", "a.nc", "-q"]
    )
    assert solved.exit_code == 0, solved.output
    answer = load("a.nc")
    assert (answer.source, dict(answer.settings)) == ("", {"end": 2})
    forged = dataclasses.replace(answer, source="./mine.py:build")
    save(forged, "forged.nc")
    (tmp_path / "built").unlink()
    assert runner.invoke(app, ["certify", "forged.nc"]).exit_code == 2
    assert not (tmp_path / "built").exists()
