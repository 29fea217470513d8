"""Costates and all other multipliers against closed forms: they are derivatives of the optimal
cost.
"""

import numpy as np
import pytest
from casadi import cos, sin
from numpy.polynomial import legendre

from trajopt import Problem, free, solve
from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Gauss, HermiteSimpson, Radau, Trapezoidal
from trajopt.nlp.backends import Ipopt

SHARP = Ipopt(tolerance=1e-12)
SCHEMES = [Radau(), Gauss(), HermiteSimpson(), Trapezoidal()]
t = np.linspace(0, 1, 101)


def phase(ocp, name="main", **time):
    ph = ocp.phase(name)
    ph.time(**(time or {"end": 1}))
    return ph


def block(ph, start=(0, 0), end=(1, 0), **x_limits):
    """A unit mass on a line: (x, v, u)."""
    x = ph.state("x", start=start[0], end=end[0], **x_limits)
    v = ph.state("v", start=start[1], end=end[1])
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    return x, v, u


def integral(curve):
    """Of a piecewise polynomial, exactly."""
    total = 0.0
    for a, b, nodes in zip(curve.breaks[:-1], curve.breaks[1:], curve.nodes, strict=True):
        place, weights = legendre.leggauss(nodes.size)
        total += (b - a) / 2 * weights @ curve(a + (b - a) * (place + 1) / 2)
    return total


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: s.name)
def test_costates_of_every_scheme(scheme):
    """Of the block: -24 constant, and 24 (t - 1/2). Trapezoidal is exact only in the limit."""
    ocp = Problem("block")
    ph = phase(ocp)
    _, _, u = block(ph)
    ocp.minimize(ph.integral(u**2))
    degree = scheme.rule(3).degree
    solution = solve(
        ocp,
        Collocation(scheme, Mesh.uniform(40 if degree == 1 else 5, degree), SHARP, max_passes=1),
    )
    close = 1e-9 if degree > 1 else 0.1
    np.testing.assert_allclose(solution.costate("x")(t), -24, atol=close)
    np.testing.assert_allclose(solution.costate("v")(t), 24 * (t - 0.5), atol=close)


@pytest.mark.parametrize("kind", ["bound", "path"])
def test_bryson_denham(kind):
    """Under a ceiling of 1/9 the costate of the height is 18, 0, -18 and that of the speed 6 (1 - 3
    t), 0, 6 (3 t - 2).
    """
    ocp = Problem("bryson-denham")
    ph = phase(ocp)
    x, _, u = block(ph, (0, 1), (0, -1), upper=1 / 9 if kind == "bound" else None)
    if kind == "path":
        ph.path(x, upper=1 / 9, name="ceiling")
    ocp.minimize(ph.integral(u**2 / 2))
    solution = solve(ocp).check()
    before = np.linspace(0, 0.3, 20)
    on = np.linspace(0.37, 0.63, 20)
    after = np.linspace(0.7, 1, 20)
    for where, height, speed in (
        (before, 18, 6 * (1 - 3 * before)),
        (on, 0, 0),
        (after, -18, 6 * (3 * after - 2)),
    ):
        np.testing.assert_allclose(solution.costate("x")(where), height, atol=0.02)
        np.testing.assert_allclose(solution.costate("v")(where), speed, atol=0.01)
    if kind == "path":  # the costate falls by 36 in all, and only the ceiling makes it fall
        assert integral(solution.phases["main"].path_multipliers["ceiling"]) == pytest.approx(
            36, rel=1e-4
        )


def rationed(scheme):
    """min 1/2 int u^2 to x = 0.9 with u <= 1/2 + t: u rides the limit until tau = 1 - sqrt(0.2),
    with multiplier tau - t.
    """
    ocp = Problem("rationed")
    ph = ocp.phase()
    time = ph.time(end=1)
    x, u = ph.state("x", start=0, end=0.9), ph.control("u")
    ph.dynamics({x: u})
    ph.path(u - time, upper=0.5, name="ration")
    ocp.minimize(ph.integral(u**2 / 2))
    # a node where the limit is left
    mesh = Mesh(np.array([0, 1 - np.sqrt(0.2), 1]), np.array([3, 3]))
    return solve(ocp, Collocation(scheme, mesh, SHARP, tolerance=np.inf, max_passes=1)).check()


@pytest.mark.parametrize("scheme", [Radau(), Gauss(), HermiteSimpson()], ids=lambda s: s.name)
def test_density_of_a_path_multiplier(scheme):
    solution, tau = rationed(scheme), 1 - np.sqrt(0.2)
    np.testing.assert_allclose(solution.costate("x")(t), -(0.5 + tau), atol=1e-5)
    multiplier = solution.phases["main"].path_multipliers["ration"]
    assert integral(multiplier) == pytest.approx(tau**2 / 2, abs=1e-5)
    if not scheme.shares_nodes:  # a shared node serves both sides of the kink
        np.testing.assert_allclose(multiplier(t), np.maximum(tau - t, 0), atol=1e-5)


@pytest.mark.parametrize("sense", [1, -1])
def test_multiplier_of_a_boundary_condition(sense):
    """Moving a block by b costs 12 b^2, which grows by 24 b; the multiplier m of L = f + m (x - b)
    is minus that.
    """
    ocp = Problem("arrive")
    ph = phase(ocp)
    x, _, u = block(ph, end=(None, 0))
    ocp.require(ph.final(x), equals=1, name="arrive")
    (ocp.minimize if sense == 1 else ocp.maximize)(sense * ph.integral(u**2))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(12 * sense, rel=1e-9)
    assert solution.multipliers["arrive"] == pytest.approx(-24, rel=1e-8)
    np.testing.assert_allclose(solution.costate("x")(t), -24, rtol=1e-8)


def test_multiplier_of_an_integral_condition():
    """A string over a given area A: x = 6 A t (1 - t) at cost 6 A^2, so the multiplier of the area
    is -12 A.
    """
    ocp = Problem("area")
    ph = phase(ocp)
    x, u = ph.state("x", start=0, end=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.require(ph.integral(x), equals=0.5, name="area")
    ocp.minimize(ph.integral(u**2 / 2))
    solution = solve(ocp).check()
    assert solution.objective == pytest.approx(1.5, rel=1e-10)
    assert solution.multipliers["area"] == pytest.approx(-6, rel=1e-9)
    np.testing.assert_allclose(solution.costate("x")(t), -3 * (1 - 2 * t), atol=1e-8)


def two_blocks(jump=1.0, time=True):
    ocp = Problem("relay")
    first, second = phase(ocp, "first", end=0.4), phase(ocp, "second", start=0.4, end=1)
    _, _, u = block(first, end=(None, None))
    _, w, f = block(second, start=(None, None))
    ocp.connect(first, second, states=["x"], time=time)
    ocp.require(
        second.initial(w) - jump * first.final(first.declared["v"].symbol),
        equals=0,
        name="handover",
    )
    ocp.minimize(first.integral(u**2) + second.integral(f**2))
    return ocp


def test_costates_run_on_through_a_link():
    solution = solve(two_blocks(time=False)).check()
    assert solution.objective == pytest.approx(12, rel=1e-10)
    for name, value in (("x", -24), ("v", 24 * (0.4 - 0.5))):
        before, after = solution.costate(name, "first")(0.4), solution.costate(name, "second")(0.4)
        assert before == pytest.approx(after, rel=1e-9)
        assert before == pytest.approx(value, rel=1e-9)
    link = next(value for name, value in solution.multipliers.items() if name.startswith("x from"))
    assert link == pytest.approx(24, rel=1e-9)


def test_costates_jump_where_the_state_does():
    """With v+ = k v- the chain rule gives costate- = k costate+."""
    solution = solve(two_blocks(jump=0.5, time=False)).check()
    before, after = solution.costate("v", "first")(0.4), solution.costate("v", "second")(0.4)
    assert before == pytest.approx(0.5 * after, rel=1e-8)
    assert solution.costate("x", "first")(0.4) == pytest.approx(
        solution.costate("x", "second")(0.4), rel=1e-8
    )


def test_fixed_times_may_be_connected_too():
    """A link between two given times says nothing, and must not cost accuracy."""
    assert solve(two_blocks()).check().objective == pytest.approx(12, rel=1e-10)


def pendulum(angle=1.0, speed=-0.5):
    ocp = Problem("pendulum")
    ph = phase(ocp, end=2)
    q, w, u = ph.state("q", start=angle), ph.state("w", start=speed), ph.control("u")
    ph.dynamics({q: w, w: -sin(q) + u})
    ocp.minimize(ph.integral(q**2 + u**2) + ph.final(w) ** 2)
    return solve(ocp, tolerance=1e-8).check()


def test_initial_costates_are_derivatives_of_the_cost():
    solution, step = pendulum(), 1e-4
    by_angle = (pendulum(angle=1 + step).objective - pendulum(angle=1 - step).objective) / (
        2 * step
    )
    by_speed = (pendulum(speed=-0.5 + step).objective - pendulum(speed=-0.5 - step).objective) / (
        2 * step
    )
    assert solution.costate("q")(0) == pytest.approx(by_angle, rel=1e-6)
    assert solution.costate("w")(0) == pytest.approx(by_speed, rel=1e-6)
    assert solution.costate("q")(2) == pytest.approx(0, abs=1e-7)  # transversality
    assert solution.costate("w")(2) == pytest.approx(2 * solution["w"](2), rel=1e-6)


def test_the_hamiltonian_of_a_free_time_is_constant():
    """min tf: costate . f = -1 all along the brachistochrone."""
    ocp = Problem("fall")
    ph = ocp.phase()
    time = ph.time(end=free(0.1, 5))
    x, y, v = (ph.state(name, start=0, end=end) for name, end in (("x", 2), ("y", 2), ("v", None)))
    th = ph.control("theta", lower=0, upper=np.pi / 2)
    ph.dynamics({x: v * sin(th), y: v * cos(th), v: 9.81 * cos(th)})
    ocp.minimize(ph.final(time))
    solution = solve(ocp, tolerance=1e-8).check()
    points = np.linspace(0.02, 0.98, 50) * solution.objective
    speed, theta = solution["v"](points), solution["theta"](points)
    rates = {"x": speed * np.sin(theta), "y": speed * np.cos(theta), "v": 9.81 * np.cos(theta)}
    hamiltonian = sum(solution.costate(name)(points) * rate for name, rate in rates.items())
    np.testing.assert_allclose(hamiltonian, -1, atol=2e-6)
