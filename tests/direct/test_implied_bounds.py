"""Bounds of controls that a path constraint implies."""

import casadi
import numpy as np
import pytest

from trajopt import Problem, free, solve
from trajopt.direct.presolve import relax_bounds_beyond_plane, without_implied_bounds
from trajopt.statement.bounds import Bound


def thrust(bounds, constrain):
    """Point to point in least time, thrust limited by its bounds and by a constraint."""
    ocp = Problem("thrust")
    ph = ocp.phase()
    t = ph.time(start=0.0, end=free(0.1, 20.0))
    x = ph.state("x", 2, start=0, end=[4, 0])
    v = ph.state("v", 2, start=0, end=0)
    u = ph.control("u", 2, lower=bounds[0], upper=bounds[1])
    ph.dynamics({x: v, v: u})
    constrain(ocp, ph, u, v)
    ocp.minimize(ph.final(t))
    return ocp


def bounds_after(ocp):
    form = ocp.finish()
    bound = without_implied_bounds(form, form.parameter_values()).phases[0].u_bound
    return bound.lower, bound.upper


@pytest.mark.parametrize(
    "constrain",
    [
        lambda ocp, ph, u, v: ph.path(casadi.sumsqr(u), upper=1.0),
        lambda ocp, ph, u, v: ph.path(casadi.sumsqr(u), equals=1.0),
        lambda ocp, ph, u, v: ph.path(1.0 - casadi.sumsqr(u), lower=0.0),
        lambda ocp, ph, u, v: ph.path(casadi.norm_2(u), upper=1.0),
        lambda ocp, ph, u, v: ph.path(casadi.sumsqr(u) / ocp.parameter("most", 4.0), upper=0.25),
    ],
)
def test_bounds_on_the_unit_circle_are_moved_away(constrain):
    lower, upper = bounds_after(thrust((-1.0, 1.0), constrain))
    np.testing.assert_allclose(lower, -2.0, rtol=1e-12)
    np.testing.assert_allclose(upper, 2.0, rtol=1e-12)


def test_a_skew_ellipse_reaches_as_far_as_its_inverse_says():
    matrix, centre = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([0.5, -0.25])
    reach = np.sqrt(np.diag(np.linalg.inv(matrix)))
    angle = np.linspace(0.0, 2 * np.pi, 100001)
    rim = centre[:, None] + np.linalg.solve(
        np.linalg.cholesky(matrix).T, np.array([np.cos(angle), np.sin(angle)])
    )
    np.testing.assert_allclose(rim.max(axis=1), centre + reach, rtol=1e-8)  # the rim itself, traced

    for margin, moved in ((1e-6, True), (-1e-6, False)):
        ocp = Problem("ellipse")
        ph = ocp.phase()
        ph.time(start=0.0, end=1.0)
        x = ph.state("x", start=0.0)
        u = ph.control("u", 2, lower=centre - reach - margin, upper=centre + reach + margin)
        ph.dynamics({x: u[0] + u[1]})
        ph.path(casadi.bilin(matrix, u - centre, u - centre), upper=1.0)
        ocp.maximize(ph.final(x))
        lower, upper = bounds_after(ocp)
        expected = 2 * reach if moved else reach + margin
        np.testing.assert_allclose(upper, centre + expected, rtol=1e-9)
        np.testing.assert_allclose(lower, centre - expected, rtol=1e-9)


@pytest.mark.parametrize(
    "constrain",
    [
        lambda ocp, ph, u, v: ph.path(casadi.sumsqr(u), upper=1.5),  # the bounds cut the circle
        lambda ocp, ph, u, v: ph.path(casadi.sumsqr(u), lower=1.0),  # outside a circle
        lambda ocp, ph, u, v: ph.path(u[0] * u[1], upper=1.0),
        lambda ocp, ph, u, v: ph.path(
            u[0] ** 2 + u[1], upper=1.0
        ),  # a parabola is open on one side
        lambda ocp, ph, u, v: ph.path(casadi.sumsqr(u) + v[0] ** 2, upper=1.0),
    ],
)
def test_bounds_that_matter_stay(constrain):
    ocp = thrust((-1.0, 1.0), constrain)
    form = ocp.finish()
    assert without_implied_bounds(form, form.parameter_values()) is form


def test_a_direction_of_thrust_may_have_bounds_too():
    """A transfer of four revolutions out of plane: with these bounds in its way the solver came to
    no motion at all.
    """
    ocp = Problem("transfer")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(5, 60))
    p = ph.state("p", start=1, end=1.5, lower=0.5)
    f, g = (ph.state(name, start=0, end=0, lower=-1, upper=1) for name in "fg")
    h = ph.state("h", start=-0.25, end=0)
    k = ph.state("k", start=0, end=0)
    L = ph.state("L", start=np.pi)
    u = ph.control("u", 3, lower=-1, upper=1)
    m, c, s = 1 - 0.01 * t, casadi.cos(L), casadi.sin(L)
    w, z, q, a = 1 + f * c + g * s, h * s - k * c, 1 + h**2 + k**2, 0.02 / m * casadi.sqrt(p) * u
    ph.dynamics(
        {
            p: 2 * p / w * a[1],
            f: a[0] * s + ((w + 1) * c + f) * a[1] / w - z * g / w * a[2],
            g: -a[0] * c + ((w + 1) * s + g) * a[1] / w + z * f / w * a[2],
            h: q * c / (2 * w) * a[2],
            k: q * s / (2 * w) * a[2],
            L: casadi.sqrt(p) * (w / p) ** 2 + z / w * a[2],
        }
    )
    ph.path(casadi.sumsqr(u), equals=1, name="direction")
    ocp.minimize(ph.final(t))
    phase = solve(ocp).check().phases["main"]
    u = phase.controls["u"].evaluate(np.linspace(phase.t0, phase.tf, 1000))
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1.0, rtol=3e-6)


def thrusters(limit=1.0):
    """A plate on air, moved and turned by two pairs of opposite thrusters with least fuel: Sakawa
    (1999), Betts section 6.13.
    """
    ocp = Problem("free-flying robot")
    ph = ocp.phase()
    ph.time(start=0, end=12)
    x, y, angle = (
        ph.state(n, start=s, end=0) for n, s in (("x", -10), ("y", -10), ("angle", np.pi / 2))
    )
    vx, vy, rate = (ph.state(n, start=0, end=0) for n in ("vx", "vy", "rate"))
    u = ph.control("u", 4, lower=0, upper=1)
    ph.path([u[0] + u[1] <= limit, u[2] + u[3] <= limit])
    left, right = u[0] - u[1], u[2] - u[3]
    ph.dynamics(
        {
            x: vx,
            y: vy,
            angle: rate,
            vx: (left + right) * casadi.cos(angle),
            vy: (left + right) * casadi.sin(angle),
            rate: 0.2 * (left - right),
        }
    )
    ocp.minimize(ph.integral(casadi.sum1(u)))
    return ocp


def test_bounds_that_a_sum_of_controls_implies_are_moved_away():
    for limit, expected in ((1.0, 1.5), (0.8, 1.2), (1.01, 1.0), (0.6, 1.0)):
        np.testing.assert_allclose(
            bounds_after(thrusters(limit)), [np.zeros(4), np.full(4, expected)], rtol=1e-12
        )


def test_bounds_on_the_negative_side_of_a_plane_are_moved_away():
    for sign in (1.0, -1.0):
        lower, upper = relax_bounds_beyond_plane(
            Bound(np.array([-2.0, 0.0]), np.array([0.0, 1.0])), sign * np.array([-1.0, 1.0]), 2.0
        )
        assert (lower[0], upper[1]) == ((-3.0, 1.0) if sign > 0 else (-2.0, 1.0))


def test_thrusters_that_exclude_each_other_may_have_bounds_too():
    """With the bounds in place refinement does not end: three limits meet in two controls."""
    assert solve(thrusters()).check().objective == pytest.approx(7.91014705, rel=1e-6)
