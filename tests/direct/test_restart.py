"""An earlier answer brings its arcs: a switch need not be found again, only moved; and arcs that do
not hold are given up.
"""

import numpy as np
import pytest

from trajopt import Problem, free, load, solve
from trajopt.catalogue import builder
from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import HermiteSimpson


def sprint(distance=10.0, limit=2.0):
    """From rest to rest as fast as possible, |u| <= 1, v <= limit: distance / limit + limit, or 2
    sqrt(distance) below it.
    """
    ocp = Problem("sprint")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 100))
    x, v = ph.state("x", start=0, end=distance), ph.state("v", start=0, end=0, upper=limit)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    return ocp


@pytest.fixture(scope="module")
def earlier():
    return solve(sprint()).check()


@pytest.mark.parametrize(
    "name",
    [
        "double-integrator-mintime",
        "double-integrator-minfuel",
        "robot-arm",
        "goddard-cops",
        "jacobson-singular",
    ],
)
def test_the_same_problem_takes_one_mesh(name):
    first = solve(builder(name)()).check()
    again = solve(builder(name)(), guess=first).check()
    assert len(first.history) > len(again.history) == 1
    assert again.iterations < first.iterations
    assert again.objective == pytest.approx(first.objective, rel=1e-9)
    assert [dict(arc.roles) for arc in again.arcs] == [dict(arc.roles) for arc in first.arcs]
    np.testing.assert_allclose([a.end for a in again.arcs], [a.end for a in first.arcs], rtol=1e-5)


def test_arcs_survive_a_file(earlier, tmp_path):
    earlier.save(tmp_path / "earlier.nc")
    again = solve(sprint(), guess=load(tmp_path / "earlier.nc")).check()
    assert len(again.history) == 1
    assert again.objective == pytest.approx(7, rel=1e-9)


@pytest.mark.parametrize(
    ("distance", "limit"), [(10.5, 2.0), (10.0, 2.1), (40.0, 2.0), (10.0, 1.0)]
)
def test_a_changed_problem_moves_the_switches(earlier, distance, limit):
    solution = solve(sprint(distance, limit), guess=earlier).check()
    assert len(solution.history) <= 2
    assert solution.objective == pytest.approx(distance / limit + limit, rel=1e-9)
    np.testing.assert_allclose(
        [arc.end for arc in solution.arcs],
        [limit, distance / limit, distance / limit + limit],
        rtol=1e-6,
    )


@pytest.mark.parametrize(("distance", "limit"), [(10.0, 9.0), (3.0, 2.0)])
def test_arcs_that_do_not_hold_are_given_up(earlier, distance, limit):
    """The limit is never reached: two arcs, not three."""
    solution = solve(sprint(distance, limit), guess=earlier).check()
    assert solution.objective == pytest.approx(2 * np.sqrt(distance), rel=1e-8)
    assert [dict(arc.roles) for arc in solution.arcs] == [{"u": "upper"}, {"u": "lower"}]
    assert solution.log[0].startswith("the arcs of the guess")


def test_the_other_way(earlier):
    """Every role turned round."""
    there = builder("double-integrator-mintime")
    solution = solve(there(distance=-1.0), guess=solve(there(distance=1.0))).check()
    assert solution.objective == pytest.approx(2, rel=1e-9)
    assert [arc.roles["u"] for arc in solution.arcs] == ["lower", "upper"]


def test_a_tighter_tolerance_refines_on_the_arcs():
    first = solve(builder("goddard-cops")()).check()
    tight = solve(builder("goddard-cops")(), guess=first, tolerance=1e-9).check()
    assert tight.error <= 1e-9 < first.error
    assert all(record.remark for record in tight.history)  # no mesh without moving knots
    assert tight.objective == pytest.approx(first.objective, rel=1e-7)


def test_a_mesh_or_a_scheme_of_ones_own_comes_first(earlier):
    mesh = Mesh.uniform(12, 3)
    fixed = solve(
        sprint(), Collocation(mesh=mesh, tolerance=np.inf, max_passes=1), guess=earlier
    ).check()
    assert fixed.phases["main"].breaks.size == 13
    straight = solve(sprint(), Collocation(HermiteSimpson(), tolerance=1e-3), guess=earlier)
    assert straight.objective == pytest.approx(7, rel=1e-3)


def test_arcs_of_a_phase_with_other_controls_are_left_alone(earlier):
    """The same states, another control beside the first: the trajectory is taken over, the arcs are
    not.
    """
    ocp = Problem("sprint with wind")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 100))
    x, v = ph.state("x", start=0, end=10), ph.state("v", start=0, end=0, upper=2)
    u, w = ph.control("u", lower=-1, upper=1), ph.control("w", lower=-1, upper=1)
    ph.dynamics({x: v, v: u + w})
    ocp.minimize(ph.final(t))
    # 1 s up, 4 s along, 1 s down
    assert solve(ocp, guess=earlier).check().objective == pytest.approx(6, rel=1e-6)
