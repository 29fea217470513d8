"""Touches of state constraints, and ends of arcs on them: breaks go there, and the costates jump as
they should.
"""

import casadi
import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from trajopt import Problem, certify, solve
from trajopt.direct.collocation import Collocation, Refinement
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_refinement import Bend, refine_mesh
from trajopt.direct.mesh_solution import Estimate
from trajopt.direct.touch_points import TouchKind, TouchPoint, next_places


def bounce(limit, end=-1.0, as_path=False):
    """x'' = u from x = 0, x' = 1 back to x = 0, x' = end with the least effort, x below a limit
    (Bryson and Denham).
    """
    ocp = Problem("bounce")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=0, **({} if as_path else {"upper": limit}))
    v = ph.state("v", start=1, end=end)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    if as_path:
        ph.path(x, upper=limit, name="limit")
    ocp.minimize(ph.integral(0.5 * u**2))
    return ocp


def cubic(width, start, end):
    """The least effort from (x, v) to (x, v) in a given time: (cost, acceleration and jerk at the
    start).
    """
    (x0, v0), (x1, v1) = start, end
    acceleration = 6 * (x1 - x0) / width**2 - (4 * v0 + 2 * v1) / width
    jerk = -12 * (x1 - x0) / width**3 + 6 * (v0 + v1) / width**2
    cost = 0.5 * (acceleration**2 * width + acceleration * jerk * width**2 + jerk**2 * width**3 / 3)
    return cost, acceleration, jerk


def touching(limit, end):
    """Two cubics that meet at the limit with v = 0 and the same acceleration: (touch, cost, costate
    of x before, and after).
    """

    def gap(t):
        _, a, j = cubic(t, (0, 1), (limit, 0))
        return a + j * t - cubic(1 - t, (limit, 0), (0, end))[1]

    t = brentq(gap, 0.3, 0.7, xtol=1e-14)
    before, after = cubic(t, (0, 1), (limit, 0)), cubic(1 - t, (limit, 0), (0, end))
    # u is minus the costate of v, whose rate is minus the costate of x: that is the jerk.
    return t, before[0] + after[0], before[2], after[2]


def break_at(solution, time):
    breaks = solution.phases["main"].breaks
    return float(breaks[np.argmin(np.abs(breaks - time))])


@pytest.mark.parametrize("as_path", [False, True])
@pytest.mark.parametrize(("limit", "end"), [(0.2, -0.7), (0.19, -0.5), (0.21, -0.9)])
def test_a_break_settles_at_a_touch(limit, end, as_path):
    solution = solve(bounce(limit, end, as_path), tolerance=1e-8).check()
    touch, cost, first, second = touching(limit, end)
    assert solution.objective == pytest.approx(cost, rel=1e-10)
    at = break_at(solution, touch)
    assert at == pytest.approx(touch, abs=1e-6)
    costate = solution.phases["main"].costates["x"]
    np.testing.assert_allclose(costate(np.linspace(0, 0.3, 9)), first, rtol=2e-6)
    np.testing.assert_allclose(costate(np.linspace(0.6, 1, 9)), second, rtol=2e-6)
    # All of it at the break, but for what the barrier leaves on the nodes beside it.
    before, after = (costate.evaluate(np.array([at]), left=left)[0, 0] for left in (True, False))
    assert after - before == pytest.approx(second - first, rel=1e-4)
    assert len(solution.history) <= 7
    assert certify(solution).ok


@pytest.mark.parametrize("limit", [1 / 9, 0.1, 0.08])
@pytest.mark.parametrize("as_path", [False, True])
def test_breaks_settle_at_the_ends_of_an_arc(limit, as_path):
    """Onto the limit in 3 l, and off it again: the cost is 4 / (9 l)."""
    solution = solve(bounce(limit, as_path=as_path)).check()
    assert solution.objective == pytest.approx(4 / (9 * limit), rel=1e-9)
    for end in (3 * limit, 1 - 3 * limit):
        assert break_at(solution, end) == pytest.approx(end, abs=1e-5)
    t = np.linspace(0, 1, 101)
    expected = np.where(t < 3 * limit, -2 / (3 * limit) * (1 - t / (3 * limit)), 0.0)
    expected = expected + expected[::-1]
    np.testing.assert_allclose(solution["u"](t), expected, atol=1e-3)
    # The costate of x is the slope of u: constant before the arc, zero on it, and the same
    # backwards after it.
    costate = solution.phases["main"].costates["x"]
    at = np.array([0.01, 0.5, 0.99])
    np.testing.assert_allclose(
        costate(at), 2 / (9 * limit**2) * np.array([1, 0, -1]), atol=5e-5 * 2 / (9 * limit**2)
    )
    assert len(solution.history) <= 5
    assert certify(solution).ok


def chain(limit, order=4):
    """A chain of four integrators out and back with the least effort, the first below a limit: it
    touches it only.
    """
    ocp = Problem("chain")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    start, end = (0, 1, 0, 0), (0, -0.8, 0, 0)
    x = [
        ph.state(f"x{i}", start=start[i], end=end[i], **({"upper": limit} if i == 0 else {}))
        for i in range(order)
    ]
    u = ph.control("u")
    ph.dynamics({x[i]: x[i + 1] if i + 1 < order else u for i in range(order)})
    ocp.minimize(ph.integral(u**2))
    return ocp


def least_effort(time, order=4):
    """(A, W): x(time) = A x(0) with no control, and the least effort for a difference d from that
    is d . W d.
    """
    powers = np.arange(order)
    factorials = np.cumprod([1.0, *powers[1:]])
    A = np.array(
        [[time ** (j - i) / factorials[j - i] if j >= i else 0.0 for j in powers] for i in powers]
    )
    b = np.array([[time ** (2 * order - 1 - i - j) for j in powers] for i in powers])
    scale = 1 / factorials[::-1]
    gramian = b * np.outer(scale, scale) / (2 * order - 1 - powers[:, None] - powers[None, :])
    return A, np.linalg.inv(gramian)


@pytest.mark.parametrize("limit", [0.2, 0.18])
def test_a_constraint_of_the_fourth_order(limit):
    """The cost of passing through the limit at a given time, largest where that is the touch."""
    start, end = np.array([0.0, 1, 0, 0]), np.array([0.0, -0.8, 0, 0])

    def cost(t):
        (A, W), (B, V) = least_effort(t), least_effort(1 - t)
        # (limit, y) in between: quadratic in y.
        H, g = W + B.T @ V @ B, W @ A @ start + B.T @ V @ end
        y = np.linalg.solve(H[1:, 1:], g[1:] - H[1:, 0] * limit)
        z = np.array([limit, *y])
        return (z - A @ start) @ W @ (z - A @ start) + (end - B @ z) @ V @ (end - B @ z)

    best = minimize_scalar(
        lambda t: -cost(t), bounds=(0.3, 0.7), method="bounded", options={"xatol": 1e-10}
    )
    solution = solve(chain(limit), tolerance=1e-8).check()
    assert solution.objective == pytest.approx(-best.fun, rel=1e-7)
    assert break_at(solution, best.x) == pytest.approx(best.x, abs=1e-5)
    assert certify(solution).ok


def round_a_circle():
    ocp = Problem("round a circle")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=-1, end=1)
    y = ph.state("y", start=0.1, end=0.3, guess=lambda s: 0.1 + 4 * s * (1 - s))
    v, w = ph.state("v", start=0, end=0), ph.state("w", start=0, end=0)
    a, b = ph.control("a"), ph.control("b")
    ph.dynamics({x: v, y: w, v: a, w: b})
    ph.path(casadi.sqrt(x**2 + y**2), lower=0.4, name="distance")
    ocp.minimize(ph.integral(a**2 + b**2))
    return ocp


def oscillator():
    """A limit that the control reaches through the first derivative: an arc with a density, and no
    jumps.
    """
    ocp = Problem("oscillator")
    ph = ocp.phase()
    ph.time(start=0, end=5)
    x, y = ph.state("x", start=0, lower=-0.25), ph.state("y", start=1)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: (1 - y**2) * x - y + u, y: x})
    ocp.minimize(ph.integral(x**2 + y**2 + u**2))
    return ocp


def arm():
    """Two links with limited rates, their torques states: both rates touch their limits, or stay
    there.
    """
    ocp = Problem("arm")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    q = [ph.state(f"q{i}", start=0, end=end) for i, end in enumerate((1.0, -0.5))]
    w = [ph.state(f"w{i}", start=0, end=0, lower=-0.7, upper=0.7) for i in range(2)]
    torque = [ph.state(f"torque{i}", start=0, end=0) for i in range(2)]
    u = [ph.control(f"u{i}") for i in range(2)]
    c, s = casadi.cos(q[1]), casadi.sin(q[1])
    mass = casadi.vertcat(casadi.horzcat(3 + 2 * c, 1 + c), casadi.horzcat(1 + c, 1))
    bias = casadi.vertcat(-s * (2 * w[0] * w[1] + w[1] ** 2), s * w[0] ** 2)
    rates = casadi.solve(mass, casadi.vertcat(*torque) - bias)
    ph.dynamics(
        {q[0]: w[0], q[1]: w[1], w[0]: rates[0], w[1]: rates[1], torque[0]: u[0], torque[1]: u[1]}
    )
    ocp.minimize(ph.integral(u[0] ** 2 + u[1] ** 2))
    return ocp


@pytest.mark.parametrize("build", [round_a_circle, oscillator, arm])
def test_solutions_with_touch_points_are_certified(build):
    solution = solve(build()).check()
    certificate = certify(solution)
    assert certificate.ok, str(certificate)
    # Another digit changes nothing but the last ones.
    assert solution.objective == pytest.approx(solve(build(), tolerance=1e-7).objective, rel=1e-7)


@pytest.mark.parametrize("as_path", [False, True])
def test_a_limit_that_is_met_at_the_end(as_path):
    """The jerk u with little effort, as far and as fast as possible: the speed limit pushes at the
    very end, and only there.

    u = 5 s^2 / 2 + p s with s = 1 - t and p such that the speed comes to the limit: 1/5 = 5/8 +
    p/3.
    """
    ocp = Problem("push")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0), ph.state("v", start=0, **({} if as_path else {"upper": 0.2}))
    a, u = ph.state("a", start=0), ph.control("u")
    ph.dynamics({x: v, v: a, a: u})
    if as_path:
        ph.path(v, upper=0.2, name="limit")
    ocp.minimize(ph.integral(0.5 * u**2) - 5 * ph.final(x) - ph.final(v))
    solution = solve(ocp).check()
    p = 3 * (1 / 5 - 5 / 8)
    t = np.linspace(0, 1, 11)
    np.testing.assert_allclose(solution["u"](t), 2.5 * (1 - t) ** 2 + p * (1 - t), atol=1e-7)
    assert solution.costate("v")(1.0) == pytest.approx(-p, abs=1e-6)
    certificate = certify(solution)
    assert certificate.ok, str(certificate)


def touch(node, place, at_break=True):
    return TouchPoint(0, 0, TouchKind.TOUCH, node, place, at_break, 1.0, 1.0)


def test_the_next_place_by_the_secant():
    """A place that answers every move of the node with 3/4 of it, backwards, around 1/2."""

    def answer(node):
        return touch(node, 0.5 - 0.75 * (node - 0.5))

    first = answer(0.6)
    (second,) = next_places([], [first], Refinement())
    assert second == pytest.approx(first.place)
    (third,) = next_places([[first]], [answer(second)], Refinement())
    assert third == pytest.approx(0.5, abs=1e-12)


def test_nodes_on_both_sides_hold_the_next_place():
    """The secant of the last two would leave the stretch that earlier nodes have shown."""
    (place,) = next_places(
        [[touch(0.55, 0.54)], [touch(0.40, 0.43)]], [touch(0.42, 0.449)], Refinement()
    )
    assert 0.42 < place < 0.55


def test_breaks_move_to_touch_points():
    mesh, fine = Mesh.uniform(4, 5), Estimate(np.zeros(4), np.full(4, 0.1))

    def breaks(*bends):
        return refine_mesh(mesh, fine, Collocation(), bends).breaks.tolist()

    assert breaks(Bend(0.26, 0.26)) == [0, 0.26, 0.5, 0.75, 1]  # close to a break
    assert breaks(Bend(0.32, 0.25)) == [0, 0.32, 0.5, 0.75, 1]  # the break was made for it
    assert breaks(Bend(0.32, 0.31)) == [0, 0.25, 0.32, 0.5, 0.75, 1]  # neither
    # two at one break
    assert breaks(Bend(0.26, 0.25), Bend(0.262, 0.262)) == [0, 0.26, 0.262, 0.5, 0.75, 1]
