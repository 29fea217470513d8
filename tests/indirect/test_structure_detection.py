"""Arc structures read from direct solutions."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from trajopt import solve
from trajopt.indirect.hamiltonian import hamiltonians
from trajopt.indirect.modes import roles_of_mode
from trajopt.indirect.structure_detection import start_of_solution


@pytest.fixture(scope="module")
def direct():
    kept = {}

    def get(name):
        if name not in kept:
            problem = importlib.import_module(f"problems.classical.{name}").build()
            kept[name] = (problem.finish(), solve(problem))
        return kept[name]

    return get


def roles_of(form, solution):
    """(start, end, roles) of every arc that shooting would start from."""
    hams = hamiltonians(form)
    start = start_of_solution(form, hams, solution, form.parameter_values(None))
    return [(arc.start, arc.end, roles_of_mode(hams[arc.phase], arc.mode)) for arc in start.arcs]


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
    found = roles_of(form, solution if known else replace(solution, arcs=()))
    assert [a[control] for _, _, a in found] == roles
    assert found[0][0] == solution.phases["main"].t0
    assert found[-1][1] == pytest.approx(solution.phases["main"].tf)


def test_an_active_state_constraint_has_its_name(direct):
    found = roles_of(*direct("bryson_denham"))
    assert [a.get("x") for _, _, a in found] == [None, "upper", None]
    np.testing.assert_allclose(found[1][:2], [1 / 3, 2 / 3], atol=0.05)
