"""Arc structures read off direct solutions, and told in words."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from trajopt import solve
from trajopt.indirect.arcs import arcs_of, describe
from trajopt.indirect.shooting import Shooting


@pytest.fixture(scope="module")
def direct():
    kept = {}

    def get(name):
        if name not in kept:
            problem = importlib.import_module(f"problems.classical.{name}").build()
            kept[name] = (problem.finish(), solve(problem))
        return kept[name]

    return get


@pytest.mark.parametrize(
    ("name", "control", "roles"),
    [
        ("goddard", "T", ["upper", "singular", "lower"]),
        ("jacobson_singular", "u", ["lower", "singular"]),
        ("double_integrator_mintime", "u", ["upper", "lower"]),
        ("moon_lander", "u", ["lower", "upper"]),
        ("vanderpol_bounded", "u", ["lower", "interior", "upper", "interior"]),
        ("brachistochrone", "theta", ["interior"]),
        ("cart_pole", "F", ["interior"]),
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["solver's arcs", "from curves"])
def test_structure(direct, name, control, roles, known):
    form, solution = direct(name)
    found = arcs_of(form, solution if known else replace(solution, arcs=()))
    assert [a.roles[control] for a in found] == roles
    assert found[0].start == solution.phases["main"].t0
    assert found[-1].end == pytest.approx(solution.phases["main"].tf)


def test_an_active_state_constraint_has_its_name(direct):
    form, solution = direct("bryson_denham")
    found = arcs_of(form, solution)
    assert [a.roles.get("x") for a in found] == [None, "upper", None]
    np.testing.assert_allclose([found[1].start, found[1].end], [1 / 3, 2 / 3], atol=0.05)


def test_words(direct):
    form, solution = direct("goddard")
    shot = Shooting().solve(form, solution)
    assert describe(form, shot.arcs) == ("T: maximum to 0.0235097, singular to 0.0726707, zero to 0.198856",)
    form, solution = direct("bryson_denham")
    words = describe(form, Shooting().solve(form, solution).arcs)
    assert words == ("u: interior to 1", "x: at its upper limit from 0.333333 to 0.666667")
