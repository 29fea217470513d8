"""Solutions as labelled arrays, in memory and as xarray opens a saved file."""

import dataclasses

import numpy as np
import pytest
import xarray


def test_a_dataset_has_variables_by_name_over_time(handmade):
    solution = handmade(phases=1)
    dataset = solution.to_xarray()
    assert list(dataset.coords) == ["time"]
    assert dataset["r"].dims == ("time", "component of 3")
    assert dataset["r"].attrs["units"] == "m/s"
    assert dataset["u∕limit"].attrs == {"units": "N", "lower": -1.0, "upper": 1.0}
    assert {"costate r", "multiplier no crash"} <= set(dataset)
    np.testing.assert_array_equal(dataset["z last"], solution["z last"](solution.t))
    assert solution.to_xarray(points=7).sizes["time"] == 7


def test_several_phases_are_groups_and_levels_of_the_index(handmade):
    solution = handmade(phases=2)
    tree = solution.to_xarray()
    assert list(tree.children) == ["stance", "flight∕free"]
    table = solution.to_dataframe(points=5)
    assert table.index.names == ["phase", "time"]
    assert "r[2]" in table.columns
    assert len(table) == 10


def test_xarray_opens_a_saved_file_by_names(tmp_path, handmade):
    solution = handmade(phases=1)
    solution.save(tmp_path / "one.nc")
    with xarray.open_dataset(tmp_path / "one.nc") as dataset:
        np.testing.assert_array_equal(dataset["time"], solution.t)
        np.testing.assert_array_equal(dataset["r"], solution["r"](solution.t))
        assert dataset["u∕limit"].attrs["units"] == "N"
    several = handmade(phases=2)
    several.save(tmp_path / "two.nc")
    for name, phase in several.phases.items():
        with xarray.open_dataset(tmp_path / "two.nc", group=name.replace("/", "∕")) as dataset:
            np.testing.assert_array_equal(dataset["r"], phase["r"](phase.t))


@pytest.mark.parametrize("name", ["time", "history", "phase_0", "..", "component of 3"])
def test_names_of_a_file_do_not_collide_with_those_of_variables(tmp_path, handmade, name):
    solution = handmade(phases=1)
    (phase,) = solution.phases.values()
    named = {name: phase.states["z last"], "r": phase.states["r"]}
    renamed = dataclasses.replace(phase, states=named, costates={})
    odd = dataclasses.replace(solution, phases={"stance": renamed})
    odd.save(tmp_path / "a.nc")
    with xarray.open_dataset(tmp_path / "a.nc") as dataset:
        shown = [key for key, v in dataset.variables.items() if v.attrs.get("units") == "m"]
        assert len(shown) == 1
        np.testing.assert_array_equal(dataset[shown[0]], odd[name](odd.t))
