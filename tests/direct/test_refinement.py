"""Adaptive meshes: layers are found, switches located, singular arcs quiet, and a stop short of the
tolerance is admitted.
"""

from dataclasses import replace

import numpy as np
import pytest
from casadi import sin
from scipy.integrate import solve_ivp

from trajopt import Problem, Status, free, solve
from trajopt.catalogue import builder
from trajopt.direct.collocation import Collocation, Refinement
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_refinement import refine_mesh
from trajopt.direct.mesh_solution import Estimate, PassKind
from trajopt.direct.refinement_loop import _stalled
from trajopt.direct.schemes import Gauss, HermiteSimpson, Radau, Trapezoidal
from trajopt.direct.search import Pass
from trajopt.errors import SolveError, UsageError
from trajopt.trajectory.arcs import AT_LOWER, FREE
from trajopt.trajectory.solution import MeshPass


@pytest.fixture(scope="module")
def hypersensitive():
    return solve(builder("hypersensitive")())


def test_boundary_layers_are_found(hypersensitive):
    """x = 0 all but everywhere; the layers at both ends are as wide as their time constants, a few
    seconds out of 10 000.
    """
    assert hypersensitive.success
    breaks = hypersensitive.phases["main"].breaks
    widths = np.diff(breaks)
    assert widths[0] < 1
    assert widths[-1] < 1
    assert widths.max() > 1000  # nothing is wasted on the middle
    # one hundredth of the time
    assert np.count_nonzero((breaks < 50) | (breaks > 9950)) > 0.3 * breaks.size
    t = np.linspace(50, 9950, 1000)
    assert np.abs(hypersensitive["x"](t)).max() < 1e-5


def test_the_layer_is_right_between_the_nodes(hypersensitive):
    """Near the start u is minus the costate of the infinite horizon, a function of x alone."""
    t = np.linspace(0, 5, 200)
    x = hypersensitive["x"](t)
    costate = -(x**3) + np.sqrt(x**6 + x**2)  # of H = 0 with the decaying root
    np.testing.assert_allclose(hypersensitive.costate("x")(t), costate, atol=1e-4)
    np.testing.assert_allclose(hypersensitive["u"](t), -costate, atol=2e-4)


def test_it_ends_in_a_few_passes(hypersensitive):
    assert len(hypersensitive.history) <= 10
    assert hypersensitive.error <= hypersensitive.tolerance
    errors = [record.error for record in hypersensitive.history]
    assert min(errors) == errors[-1] or errors[-1] <= hypersensitive.tolerance


def test_a_stop_short_is_admitted():
    solution = solve(builder("hypersensitive")(), Collocation(max_passes=2))
    assert solution.status is Status.COARSE
    assert solution.error > solution.tolerance
    assert len(solution.history) == 2
    with pytest.raises(SolveError, match="above the tolerance") as caught:
        solution.check()
    assert "phase 'main' at t =" in str(caught.value)
    assert "max_passes" in str(caught.value)


def test_a_fixed_mesh_that_is_too_coarse_is_admitted():
    """The program is solved all the same; a person who wants no more says so."""
    mesh = Mesh.uniform(8, 2)
    solution = solve(builder("cart-pole")(), Collocation(mesh=mesh, max_passes=1))
    assert solution.status is Status.COARSE
    assert solution.error > 1e-3
    with pytest.raises(SolveError, match="only one mesh was allowed"):
        solution.check()
    accepted = solve(
        builder("cart-pole")(), Collocation(mesh=mesh, tolerance=np.inf, max_passes=1)
    ).check()
    assert accepted.error == solution.error
    assert accepted.objective == solution.objective
    fine = solve(
        builder("cart-pole")(), Collocation(mesh=Mesh.uniform(30, 7), max_passes=1)
    ).check()
    assert fine.error <= fine.tolerance


@pytest.fixture(scope="module")
def sharp():
    return solve(builder("cart-pole")(), tolerance=1e-10).check()


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_the_estimate_bounds_the_error(sharp, tolerance):
    """The answer against one that is two orders more accurate still."""
    solution = solve(builder("cart-pole")(), tolerance=tolerance).check()
    t = np.linspace(0, 2, 500)
    actual = max(
        np.abs(solution[name](t) - sharp[name](t)).max() / np.abs(sharp[name](t)).max()
        for name in ("x", "q", "dx", "dq")
    )
    assert solution.error <= tolerance
    assert actual < 300 * tolerance  # local errors are passed on along an unstable motion


@pytest.mark.parametrize(
    "scheme", [Radau(), Gauss(), HermiteSimpson(), Trapezoidal()], ids=lambda s: s.name
)
def test_every_scheme_refines(scheme):
    tolerance = 1e-4 if scheme.name == "trapezoidal" else 1e-6
    solution = solve(
        builder("vanderpol-bounded")(), Collocation(scheme, tolerance=tolerance)
    ).check()
    assert solution.objective == pytest.approx(2.86726105718, rel=20 * tolerance)


def bang_bang():
    """Rest to rest over 3 in least time with -1 <= u <= 2: accelerate for 1, brake for 2, at 3."""
    ocp = Problem("bang-bang")
    ph = ocp.phase()
    t = ph.time(end=free(0.5, 20))
    x, v = ph.state("x", start=0, end=3), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=2)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    return ocp


@pytest.mark.parametrize("scheme", [Radau(), Gauss()], ids=lambda s: s.name)
def test_switches_are_located(scheme):
    solution = solve(bang_bang(), Collocation(scheme)).check()
    assert solution.objective == pytest.approx(3, rel=1e-8)
    first, second = solution.arcs
    assert (first.roles["u"], second.roles["u"]) == ("upper", "lower")
    assert first.end == pytest.approx(1, abs=1e-6)
    assert second.start == first.end
    np.testing.assert_allclose(solution["u"](np.array([0.0, 0.5, 0.999])), 2, rtol=1e-14)
    np.testing.assert_allclose(solution["u"](np.array([1.001, 2.0, 3.0])), -1, rtol=1e-14)


def tracking():
    """min 1/2 int (x - r)^2 with |x'| <= 1: down at full speed until x meets r = sin(t) / 2, then
    singular, u = cos(t) / 2.
    """
    ocp = Problem("tracking")
    ph = ocp.phase()
    t = ph.time(end=4)
    x, u = ph.state("x", start=1), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral((x - sin(t) / 2) ** 2 / 2))
    return ocp


def test_a_singular_arc_does_not_chatter():
    solution = solve(tracking()).check()
    down, follow = solution.arcs
    assert (down.roles["u"], follow.roles["u"]) == ("lower", "singular")
    meeting = down.end
    assert 1 - meeting == pytest.approx(np.sin(meeting) / 2, abs=1e-4)
    width = 4 - meeting
    t = np.linspace(meeting + 0.05 * width, 4 - 0.05 * width, 400)
    np.testing.assert_allclose(solution["u"](t), np.cos(t) / 2, atol=0.005)
    np.testing.assert_allclose(solution["x"](t), np.sin(t) / 2, atol=1e-4)
    np.testing.assert_allclose(solution.costate("x")(t), 0, atol=1e-5)


def test_a_given_mesh_is_kept():
    mesh = Mesh(np.array([0, 0.1, 0.5, 1.0]), np.array([3, 5, 4]))
    solution = solve(builder("cart-pole")(), Collocation(mesh=mesh, max_passes=1))
    np.testing.assert_array_equal(solution.phases["main"].breaks, 2 * mesh.breaks)
    assert solution.phases["main"].degrees == (3, 5, 4)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Mesh.uniform(0, 3),
        lambda: Mesh(np.array([0, 0.5, 0.5, 1]), np.full(3, 2)),
        lambda: Mesh(np.array([0, 0.5, 0.9]), np.full(2, 2)),
        lambda: Mesh(np.array([0, 0.5, 1]), np.full(3, 2)),
    ],
)
def test_a_mesh_runs_from_zero_to_one(wrong):
    with pytest.raises(UsageError, match="mesh"):
        wrong()


# The next mesh, as a function of errors and smoothness alone.

MESH = Mesh.uniform(4, 3)


def test_good_intervals_stay_as_they_are():
    same = refine_mesh(MESH, Estimate(np.full(4, 1e-7), np.full(4, 0.5)), Collocation())
    np.testing.assert_array_equal(same.breaks, MESH.breaks)
    np.testing.assert_array_equal(same.degrees, MESH.degrees)


def test_smooth_intervals_get_a_higher_degree_and_others_are_cut():
    errors, decay = np.array([1e-3, 1e-9, 1e-3, 1e-9]), np.array([1e-2, 1e-2, 1.0, 1.0])
    following = refine_mesh(MESH, Estimate(errors, decay), Collocation())
    assert following.degrees[0] > 3
    assert set(MESH.breaks) <= set(following.breaks)
    inside = (following.breaks > 0.5) & (following.breaks < 0.75)
    assert inside.any()
    assert not np.any(
        (following.breaks > 0) & (following.breaks < 0.5) & (following.breaks != 0.25)
    )
    assert following.degrees.max() <= Refinement().max_degree


def test_schemes_of_one_degree_are_only_cut():
    estimate = Estimate(np.full(4, 1e-3), np.full(4, 1e-3))
    following = refine_mesh(
        replace(MESH, degrees=np.full(4, 2)), estimate, Collocation(HermiteSimpson())
    )
    assert following.intervals > 8
    assert set(following.degrees) == {2}


def test_a_worse_error_is_cut_finer():
    counts = [
        refine_mesh(MESH, Estimate(np.full(4, e), np.ones(4)), Collocation()).intervals
        for e in (1e-5, 1e-3, 1e-1)
    ]
    assert counts[0] < counts[1] <= counts[2]


def test_knots_and_roles_follow_their_intervals():
    roles = np.array([[FREE], [FREE], [AT_LOWER], [AT_LOWER]])
    mesh = replace(MESH, knots=(2,), roles=roles, control_points=np.array([[2], [2], [1], [1]]))
    following = refine_mesh(
        mesh, Estimate(np.array([1e-2, 1e-9, 1e-9, 1e-2]), np.ones(4)), Collocation()
    )
    (knot,) = following.knots
    assert following.breaks[knot] == 0.5
    left = following.breaks[:-1] < 0.5
    np.testing.assert_array_equal(following.roles[:, 0], np.where(left, FREE, AT_LOWER))
    np.testing.assert_array_equal(following.control_points[:, 0], np.where(left, 2, 1))


def test_stiff_motion_without_controls():
    """Robertson's kinetics: a layer of milliseconds in eleven hours; there is nothing to choose,
    and no mesh for controls.
    """
    ocp = Problem("robertson")
    ph = ocp.phase()
    ph.time(end=4e4)
    a, b, c = (ph.state(name, start=value) for name, value in (("a", 1), ("b", 0), ("c", 0)))
    slow, quick, back = 0.04 * a, 3e7 * b**2, 1e4 * b * c
    ph.dynamics({a: back - slow, b: slow - back - quick, c: quick})
    ocp.minimize(ph.final(a))
    solution = solve(ocp).check()
    t = np.geomspace(1e-3, 4e4, 20)

    def rates(t, y):
        slow, quick, back = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
        return [back - slow, slow - back - quick, quick]

    exact = solve_ivp(rates, (0, 4e4), [1, 0, 0], method="Radau", rtol=1e-9, atol=1e-14, t_eval=t).y
    sizes = np.abs(exact).max(axis=1, keepdims=True)
    found = np.stack([solution[name](t) for name in "abc"])
    np.testing.assert_allclose(found / sizes, exact / sizes, atol=3e-6)
    assert not any(record.remark == "straight controls" for record in solution.history)


def test_a_first_mesh_that_seems_accurate_does_not_end_refinement():
    """Its controls are constant on intervals: later meshes may have larger estimates for a while (a
    truck with a trailer).
    """

    def passes(*errors):
        return [Pass(PassKind.MESH, MeshPass(30, 90, 20, error, 1.0, 0.1)) for error in errors]

    assert not _stalled(passes(6e-3, 1.3e-1, 3e-2, 7.4e-3, 7.3e-3), 3)
    assert _stalled(passes(1.0, 6e-3, 6e-3, 7e-3, 7e-3, 7e-3), 3)
