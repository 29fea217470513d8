"""End values and bounds that integrals of motion give already."""

from dataclasses import replace

import casadi
import numpy as np
import pytest

from trajopt import Problem, free, solve
from trajopt.direct.collocation import Collocation
from trajopt.direct.presolve import without_redundant_limits
from trajopt.statement.bounds import Bound

HALF = np.sqrt(0.5)


def turned(q, w):
    """The rate of a quaternion."""
    x, y, z = casadi.vertsplit(w)
    spin = casadi.vertcat(
        casadi.horzcat(0, -x, -y, -z),
        casadi.horzcat(x, 0, z, -y),
        casadi.horzcat(y, -z, 0, x),
        casadi.horzcat(z, y, -x, 0),
    )
    return 0.5 * spin @ q


def slew(end=(HALF, HALF, 0, 0), least_time=True, **bounds):
    """A body of three different moments of inertia, rest to rest."""
    ocp = Problem("slew")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.5, 20) if least_time else 3.0)
    q = ph.state("q", 4, start=[1, 0, 0, 0], end=end, **bounds)
    w = ph.state("w", 3, start=0, end=0)
    u = ph.control("u", 3, lower=-1, upper=1)
    J = casadi.DM([1.0, 0.8, 0.4])
    ph.dynamics({q: turned(q, w), w: (u - casadi.cross(w, J * w)) / J})
    ocp.minimize(ph.final(t) if least_time else ph.integral(casadi.sumsqr(u)))
    return ocp


def limits_before_and_after(ocp):
    form = ocp.finish()
    after = without_redundant_limits(form, form.parameter_values())
    return form.phases[0], after.phases[0]


def test_one_end_value_of_a_quaternion_is_left_to_its_length():
    before, after = limits_before_and_after(slew())
    assert before.x_end.fixed.all()
    assert list(after.x_end.fixed).count(False) == 1
    assert not after.x_end.fixed[:2].all()  # one that the length depends on there


@pytest.mark.parametrize("end", [(np.nan, HALF, 0, 0), (0.8, 0.8, 0, 0), None])
def test_end_values_that_are_open_or_contradict_the_length_stay(end):
    before, after = limits_before_and_after(slew(end))
    assert after is before


def test_bounds_of_a_quaternion_are_moved_away_and_other_bounds_stay():
    after = limits_before_and_after(slew(None, lower=-1, upper=1))[1]
    np.testing.assert_allclose(after.x_bound.upper[:4], 2.0, rtol=1e-9)
    np.testing.assert_allclose(after.x_bound.lower[:4], -2.0, rtol=1e-9)
    before, after = limits_before_and_after(slew(None, lower=-0.9, upper=[1.1, 0.9, 0.9, 0.9]))
    np.testing.assert_array_equal(after.x_bound.lower, before.x_bound.lower)
    np.testing.assert_array_equal(after.x_bound.upper[1:], before.x_bound.upper[1:])


def tunnel(end=(-0.5, 3**0.5 / 2)):
    """The quickest frictionless tunnel through a planet: energy brings the speed to zero at the
    surface.
    """
    ocp = Problem("tunnel")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, y = ph.state("x", start=1, end=end[0]), ph.state("y", start=0, end=end[1])
    v = ph.state("v", start=0, lower=0)
    a = ph.control("a", 2, lower=-1, upper=1)
    ph.dynamics({x: v * a[0], y: v * a[1], v: -(x * a[0] + y * a[1])})
    ph.path(casadi.sumsqr(a), equals=1)
    ocp.minimize(ph.final(t))
    return ocp


def test_an_end_value_that_energy_brings_to_zero_is_prescribed():
    before, after = limits_before_and_after(tunnel())
    assert list(before.x_end.fixed) == [True, True, False]
    # y, on which energy depends more, is left to it
    assert list(after.x_end.fixed) == [True, False, True]
    assert after.x_end.lower[2] == 0


# inside the planet, open, above its surface
@pytest.mark.parametrize("end", [(-0.4, 0.8), (-0.5, None), (-0.7, 0.8)])
def test_end_values_that_energy_does_not_bring_to_zero_stay(end):
    before, after = limits_before_and_after(tunnel(end))
    assert after is before


def test_a_tunnel_that_ends_at_the_surface_is_found_at_once():
    """A hypocycloid.

    Without the end value of the speed the equations have no bounded multipliers, and 1,000
    iterations fail.
    """
    solution = solve(tunnel()).check()
    assert solution.objective == pytest.approx(
        np.pi * np.sqrt(1 - (1 - np.arccos(-0.5) / np.pi) ** 2), rel=1e-8
    )
    assert solution.iterations < 100


def test_integrals_of_two_bodies_come_apart():
    ocp = Problem("two")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    a, b = (
        ph.state(name, 4, start=[1, 0, 0, 0], end=[HALF, 0, HALF, 0], lower=-1, upper=1)
        for name in "ab"
    )
    u = ph.control("u", 6)
    ph.dynamics({a: turned(a, u[:3]), b: turned(b, u[3:])})
    ocp.minimize(ph.integral(casadi.sumsqr(u)))
    after = limits_before_and_after(ocp)[1]
    assert (~after.x_end.fixed[:4]).sum() == (~after.x_end.fixed[4:]).sum() == 1
    np.testing.assert_allclose(after.x_bound.upper, 2.0, rtol=1e-9)


@pytest.mark.parametrize("bounds", [{}, {"lower": -1, "upper": 1}])
def test_a_whole_quaternion_at_the_end_costs_the_same_as_three_of_its_components(bounds):
    whole = solve(slew(least_time=False, **bounds)).check()
    three = solve(slew((np.nan, HALF, 0, 0), least_time=False)).check()
    assert whole.objective == pytest.approx(three.objective, rel=1e-7)
    assert whole.phases["main"].states["q"].evaluate(np.array([3.0]))[0] == pytest.approx(
        [HALF, HALF, 0, 0], abs=1e-7
    )


def test_a_quadrotor_may_be_told_its_whole_attitude():
    """With all four components given the solver spent hundreds of slow iterations on a worse
    answer.
    """
    ocp = Problem("quadrotor")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.5, 10))
    p, v = ph.state("p", 3, start=0, end=[5, 3, 1]), ph.state("v", 3, start=0, end=0)
    q = ph.state("q", 4, start=[1, 0, 0, 0], end=[1, 0, 0, 0], lower=-1, upper=1)
    w = ph.state("w", 3, start=0, end=0, lower=-10, upper=10)
    f = ph.control("f", 4, lower=0, upper=5)
    J = casadi.DM([0.005, 0.005, 0.009])
    torque = casadi.vertcat(
        0.15 * (f[1] - f[3]), 0.15 * (f[2] - f[0]), 0.02 * (f[0] - f[1] + f[2] - f[3])
    )
    up = casadi.vertcat(
        2 * (q[1] * q[3] + q[0] * q[2]),
        2 * (q[2] * q[3] - q[0] * q[1]),
        1 - 2 * (q[1] ** 2 + q[2] ** 2),
    )
    gravity = casadi.DM([0, 0, -9.81])
    ph.dynamics(
        {
            p: v,
            v: casadi.sum1(f) / 0.8 * up + gravity,
            q: turned(q, w),
            w: (torque - casadi.cross(w, J * w)) / J,
        }
    )
    ocp.minimize(ph.final(t))
    solution = solve(ocp, Collocation(max_passes=1, tolerance=np.inf)).check()
    assert solution.iterations < 60
    assert solution.objective < 1.25
    assert solution.phases["main"].states["q"].evaluate(np.array([solution.objective]))[
        0
    ] == pytest.approx([1, 0, 0, 0], abs=0.02)


def test_a_turn_about_one_axis_alone_is_not_the_quickest():
    """Torques about the other axes stay at zero from a straight guess: stationary, since left and
    right are alike.
    """
    about_one = 2 * np.sqrt(np.pi / 2)  # bang-bang with unit inertia and torque
    solution = solve(slew()).check()
    assert solution.objective < 0.999 * about_one
    assert solution.phases["main"].states["q"].evaluate(np.array([solution.objective]))[
        0
    ] == pytest.approx([HALF, HALF, 0, 0], abs=1e-6)


def train_with_buffer():
    """A buffer that is discharged above 40 m/s, charged between 20 and 40, and has to be full again
    at the end.

    Below 20 m/s its charge looks like a first integral.
    """
    ocp = Problem("train with a buffer")
    ph = ocp.phase()
    ph.time(start=0, end=100)
    x, v = ph.state("x", start=0, end=3000), ph.state("v", start=0, end=0)
    charge, a = ph.state("charge", start=1, end=1), ph.control("a")
    ph.dynamics({x: v, v: a, charge: (40 - v) * casadi.fmax(v - 20, 0) ** 2 / 1e4})
    ocp.minimize(ph.integral(a**2))
    return ocp


def test_what_is_constant_in_one_region_only_is_no_integral():
    before, after = limits_before_and_after(train_with_buffer())
    assert after is before


def test_rates_of_very_different_sizes_are_no_integral():
    """Far below the ground the air of an exponential atmosphere is denser by a hundred decades."""
    ocp = Problem("ascent")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0))
    y, vx = ph.state("y", start=0, end=185e3), ph.state("vx", start=0, end=7800)
    vy, m = ph.state("vy", start=0, end=0), ph.state("m", start=117e3)
    angle = ph.control("angle", lower=-1.57, upper=1.57)
    drag = casadi.exp(-y / 8440) * casadi.sqrt(vx**2 + vy**2 + 1e-12)
    ph.dynamics(
        {
            y: vy,
            vx: (2.1e6 * casadi.cos(angle) - drag * vx) / m,
            vy: (2.1e6 * casadi.sin(angle) - drag * vy) / m - 9.81,
            m: -800,
        }
    )
    ocp.minimize(ph.final(t))
    before, after = limits_before_and_after(ocp)
    assert after is before


def test_an_end_value_that_presolve_loses_is_kept(monkeypatch):
    """An integral that is none would leave a stated end value to itself."""

    def wrong(form, parameters):
        phase = form.phases[0]
        end = Bound(phase.x_end.lower - 0.1, phase.x_end.upper + 0.1)
        states = (replace(phase.states[0], end=end),)
        return replace(form, phases=(replace(phase, states=states),))

    ocp = Problem("kept")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2))
    monkeypatch.setattr("trajopt.direct.solve_mesh.presolve", wrong)
    assert solve(ocp).check()["x"](1.0) == pytest.approx(1.0, abs=1e-9)
