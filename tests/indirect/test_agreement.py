"""Direct and indirect answers of every classical case, as `--method both` finds them: objective,
costates, switching times.
"""

import importlib
from itertools import pairwise

import numpy as np
import pytest

from trajopt import solve
from trajopt.solving.methods import Both

CASES = [
    *(
        "block_move",
        "brachistochrone",
        "hypersensitive",
        "lqr_scalar",
        "vanderpol_bounded",
        "cart_pole",
        "launch_vehicle",
    ),
    *(
        "double_integrator_minfuel",
        "double_integrator_mintime",
        "moon_lander",
        "robot_arm",
        "goddard",
        "jacobson_singular",
    ),
    *("bryson_denham", "linear_tangent_steering", "orbit_raising"),
]


def switches(arcs):
    return [a.end for a, b in pairwise(arcs) if a.phase == b.phase]


@pytest.mark.parametrize("name", CASES)
def test_both_methods_agree(classical, name):
    """Collocation with the tolerance of ``both``; shooting from a less accurate solution, which
    must not matter.
    """
    form, _, _, indirect = classical(name)
    direct = solve(importlib.import_module(f"problems.classical.{name}").build(), Both().direct)
    assert indirect.success
    assert direct.objective == pytest.approx(indirect.objective, rel=1e-8, abs=0)
    first = form.phases[0]
    t0 = indirect.phases[first.name].t0
    for q in first.states:
        curve = indirect.costate(q.name, first.name)
        size = np.abs(curve.points).max()
        gap = np.abs(
            np.atleast_1d(direct.costate(q.name, first.name)(t0)) - np.atleast_1d(curve(t0))
        ).max()
        assert gap <= 1e-6 * max(size, 1e-9)
    if direct.arcs:
        duration = max(ph.tf for ph in indirect.phases.values()) - t0
        np.testing.assert_allclose(
            switches(direct.arcs), switches(indirect.arcs), rtol=0, atol=1e-6 * duration
        )
