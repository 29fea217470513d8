"""Arc structures read from direct solutions."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

from tests.benchmarks.suite import ENTRIES
from trajopt import solve
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.modes import roles_of_mode
from trajopt.indirect.structure_detection import start_of_solution
from trajopt.solving.methods import Both


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
    hams = phase_hamiltonians(form)
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
    """Its multiplier vanishes on the arc, so that a barrier method keeps away from the limit by
    more than its error.

    Decides MARGIN from below: with a fourth of it the arc is missed.
    """
    found = roles_of(*direct("bryson_denham"))
    assert [a.get("x") for _, _, a in found] == [None, "upper", None]
    np.testing.assert_allclose(found[1][:2], [1 / 3, 2 / 3], atol=0.05)


def robbins_touches():
    """The touches of Robbins' problem, a constraint of order three, as shooting reads them; the
    last ones are too close.
    """
    form = ENTRIES["robbins"].build().finish()
    solution = solve(ENTRIES["robbins"].build(), Both().direct)
    hams = phase_hamiltonians(form)
    start = start_of_solution(form, hams, replace(solution, arcs=()), form.parameter_values(None))
    return [round(arc.start, 1) for arc in start.arcs if arc.touched][:2]


def test_a_touch_is_no_arc():
    """A touch that is sampled in a few points is not read as an arc."""
    assert robbins_touches() == [1.0, 4.2]
