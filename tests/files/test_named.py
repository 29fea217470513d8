"""A loaded solution finds its problem in the catalogue: never code from the file."""

import dataclasses

import pytest

from trajopt import builder, certify, load, solve
from trajopt.errors import UsageError


@pytest.fixture
def loaded(tmp_path):
    solve(builder("moon-lander")()).save(tmp_path / "a.nc")
    return load(tmp_path / "a.nc")


def test_a_loaded_solution_is_certified_and_plotted(loaded, tmp_path):
    assert certify(loaded).claim == "minimum"
    for kind in ("switching", "invariants", "stills"):
        assert loaded.plot(kind).axes
    loaded.plot("stills", tmp_path / "stills.png")
    assert (tmp_path / "stills.png").exists()


def test_another_problem_of_that_name_is_refused(loaded):
    (phase,) = loaded.phases.values()
    states = dict(zip("abc", phase.states.values(), strict=False))
    foreign = dataclasses.replace(
        loaded, phases={"main": dataclasses.replace(phase, states=states)}
    )
    with pytest.raises(UsageError, match="which has its name"):
        certify(foreign)


def test_a_path_in_a_file_is_not_followed(loaded, tmp_path):
    (tmp_path / "mine.py").write_text("raise RuntimeError('executed')")
    target = f"{tmp_path / 'mine.py'}:build"
    foreign = dataclasses.replace(loaded, source=target, problem=target)
    for use in (certify, lambda s: s.plot("switching"), lambda s: s.plot("stills")):
        with pytest.raises(UsageError, match=r"catalogue|drawing"):
            use(foreign)
