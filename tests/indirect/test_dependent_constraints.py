"""Several active constraints that say the same about a control: both sides of a friction cone at
its tip.
"""

from dataclasses import replace

import numpy as np
import pytest

from trajopt import Problem, solve
from trajopt.indirect import structure_detection
from trajopt.indirect.shooting import Shooting

END = 3.0


@pytest.fixture(scope="module")
def pushed():
    """Rest to rest by a friction force within a cone |f| <= n / 2, with least normal force: full,
    none, full.
    """
    ocp = Problem("pushed")
    ph = ocp.phase()
    ph.time(start=0, end=END)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    n, f = ph.control("n", lower=0, upper=2), ph.control("f")
    ph.dynamics({x: v, v: f})
    ph.path(n / 2 - f, lower=0, name="forward")
    ph.path(n / 2 + f, lower=0, name="backward")
    ocp.minimize(ph.integral(n))
    return ocp.finish(), solve(ocp)


def test_a_force_at_the_tip_of_a_friction_cone(pushed):
    """With pushes of length a: a (END - a) = 1.

    One side of the cone holds the force until the costate changes its sign.
    """
    solution = Shooting().solve(*pushed).check()
    a = (END - np.sqrt(END**2 - 4)) / 2
    assert solution.objective == pytest.approx(4 * a, rel=1e-10)
    assert [arc.end for arc in solution.arcs] == pytest.approx([a, END / 2, END - a, END], rel=1e-9)
    remarks = [line for line in solution.log if "are not unique" in line]
    assert len(remarks) == 2
    assert all("multipliers of 'forward' and 'backward'" in line for line in remarks)


def test_with_both_sides_no_law_determines_the_force(pushed, monkeypatch):
    monkeypatch.setattr(
        structure_detection, "_independent", lambda sampled, active, free, t: active
    )
    assert not Shooting().solve(*pushed).success


def test_with_one_side_all_the_time_its_multiplier_has_the_wrong_sign(pushed, monkeypatch):
    form, direct = pushed[0], replace(pushed[1], arcs=())
    assert Shooting(structures=1).solve(form, direct).success
    monkeypatch.setattr(structure_detection, "_alternations", lambda *_: [])
    assert not Shooting(structures=1).solve(form, direct).success
