"""Sizes scale with the units, are invariant to shifts, and do not depend on inactive bounds."""

from dataclasses import dataclass

import casadi
import numpy as np
import pytest

from trajopt import Problem, free
from trajopt.certificate.sizes import Samples, sizes

NONE = np.zeros(0)
AT = np.linspace(0.0, 1.0, 41)


@dataclass(frozen=True)
class Units:
    """Every variable in units of its own: value in new units = factor * value + shift."""

    x: float = 1.0
    v: float = 1.0
    u: float = 1.0
    t: float = 1.0
    cost: float = 1.0
    shift: float = 0.0
    limit: float = 50.0


def moved(k: Units):
    """A mass moved in free time with drag and a fuel gauge, x = 3 t^2 - 2 t^3 at first, and its
    sizes.
    """
    ocp = Problem("units")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1 * k.t, 10 * k.t))
    x = ph.state("x", start=k.shift, end=k.x + k.shift, upper=k.limit * k.x + k.shift)
    v, fuel = ph.state("v", start=0, end=0), ph.state("fuel", start=k.shift)
    u = ph.control("u", lower=-k.limit * k.u, upper=k.limit * k.u)
    ph.dynamics(
        {
            x: v * k.x / (k.v * k.t),
            v: (u / k.u - 0.1 * v / k.v) * k.v / k.t,
            fuel: (u / k.u) ** 2 / k.t,
        }
    )
    ph.path((x - k.shift) / k.x + v / k.v, upper=5, name="sum")
    ocp.require(ph.final(fuel) - ph.initial(x), upper=100 + k.shift, name="enough")
    ocp.minimize(k.cost * (ph.final(t) / k.t + ph.integral((u / k.u) ** 2) / k.t))
    columns = np.stack([3 * AT**2 - 2 * AT**3, 6 * AT - 6 * AT**2, 6 * AT]) * np.array(
        [[k.x], [k.v], [1.0]]
    )
    columns[[0, 2]] += k.shift
    control = k.u * (6 - 12 * AT + 0.1 * (6 * AT - 6 * AT**2))
    return sizes(
        ocp.finish(),
        [Samples(k.t * AT, columns, np.zeros((0, AT.size)), control[None, :])],
        NONE,
        NONE,
    )


def test_the_size_of_a_state_is_the_distance_it_travels():
    found = moved(Units())
    np.testing.assert_allclose(found.phases[0].x, [1.0, 1.5, 6.0], rtol=1e-3)
    np.testing.assert_allclose(found.phases[0].u, [12.0], rtol=0.02)
    assert found.phases[0].time == 1.0
    assert found.cost == pytest.approx(1 + found.phases[0].q[0], rel=1e-6)


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("unit", ["x", "v", "u", "t", "cost"])
def test_sizes_follow_the_units(unit, factor):
    plain, scaled = moved(Units()), moved(Units(**{unit: factor}))
    expected = {"x": [factor, 1, 1], "v": [1, factor, 1]}.get(unit, [1, 1, 1])
    np.testing.assert_allclose(scaled.phases[0].x, plain.phases[0].x * expected, rtol=1e-6)
    np.testing.assert_allclose(
        scaled.phases[0].u, plain.phases[0].u * (factor if unit == "u" else 1), rtol=1e-6
    )
    assert scaled.phases[0].time == pytest.approx(
        plain.phases[0].time * (factor if unit == "t" else 1)
    )
    assert scaled.cost == pytest.approx(plain.cost * (factor if unit == "cost" else 1), rel=1e-6)
    np.testing.assert_allclose(scaled.phases[0].c, plain.phases[0].c, rtol=1e-6)


def test_sizes_are_invariant_to_shifts_and_inactive_bounds():
    plain = moved(Units())
    for other in (moved(Units(shift=1e6)), moved(Units(limit=1e4))):
        for name in ("x", "u", "q", "c"):
            np.testing.assert_allclose(
                getattr(other.phases[0], name), getattr(plain.phases[0], name), rtol=1e-6
            )
        assert other.cost == pytest.approx(plain.cost, rel=1e-6)


def still(u_limit, width=None, **state):
    """x' = -0.65 u cos x at rest: neither the state nor the control moves, and the cost is zero."""
    ocp = Problem("still")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x", start=0.73, **state), ph.control("u", lower=-u_limit, upper=u_limit)
    ph.dynamics({x: -0.65 * u * casadi.cos(x)})
    ocp.minimize(ph.integral(u**2))
    noise = 1e-10 * np.sin(40 * AT)[None, :]
    return sizes(
        ocp.finish(), [Samples(2 * AT, 0.73 + noise, np.zeros((0, AT.size)), noise)], NONE, NONE
    )


def test_a_constant_state_has_the_size_of_its_reach():
    found = still(1.03)
    assert found.phases[0].u == pytest.approx(2.06)
    assert found.phases[0].x == pytest.approx(2 * 0.65 * 2.06 * np.cos(0.73), rel=1e-6)
    assert found.cost == pytest.approx(0.1 * 2.06**2 * 2, rel=1e-6)


def test_a_constant_trajectory_has_the_size_of_the_required_change():
    ocp = Problem("stay")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    r, u = ph.state("r", start=6.4e6, end=6.4e6 + 300), ph.control("u")
    ph.dynamics({r: u})
    ocp.minimize(ph.integral(u**2))
    stays = Samples(
        AT, np.full((1, AT.size), 6.4e6), np.zeros((0, AT.size)), np.zeros((1, AT.size))
    )
    found = sizes(ocp.finish(), [stays], NONE, NONE)
    assert found.phases[0].x == pytest.approx(300)
    assert found.phases[0].u == pytest.approx(300)  # it takes 300 m/s to move as far as that


def test_a_static_variable_at_zero_has_a_size_from_its_effect():
    ocp = Problem("trim")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    k = ocp.variable("k", lower=-1e5, upper=1e5)
    x, u = ph.state("x", start=0, end=4), ph.control("u")
    ph.dynamics({x: u + 100 * k})
    ocp.minimize(ph.integral(u**2))
    along = Samples(2 * AT, 4 * AT[None, :], np.zeros((0, AT.size)), np.full((1, AT.size), 2.0))
    found = sizes(ocp.finish(), [along], np.zeros(1), NONE)
    assert found.s == pytest.approx(4 / (2 * 100))


def test_stiff_variables_are_not_larger_than_what_they_follow():
    """x' = -1e6 (x - y) follows y: the distance that y could move it in the whole duration would be
    absurd.
    """
    ocp = Problem("stiff")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y, u = ph.state("x", start=0), ph.state("y", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: -1e6 * (x - y), y: u})
    ocp.minimize(ph.final(x))
    along = Samples(AT, np.stack([-AT, -AT]), np.zeros((0, AT.size)), np.full((1, AT.size), -1.0))
    found = sizes(ocp.finish(), [along], NONE, NONE)
    np.testing.assert_allclose(found.phases[0].x, [1.0, 1.0], rtol=1e-9)
    assert found.phases[0].u == pytest.approx(2.0)


def test_round_off_around_zero_is_not_a_size():
    """A motion in a plane of space: what stays zero has noise of 1e-17, whose distances say
    nothing.
    """
    ocp = Problem("plane")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, z = ph.state("x", start=0, end=1), ph.state("z", start=0, end=0)
    v, w = ph.state("v", start=0, end=0), ph.state("w", start=0, end=0)
    a, b = ph.control("a"), ph.control("b")
    ph.dynamics({x: v, z: w, v: a, w: b})
    ocp.minimize(ph.integral(a**2 + b**2))
    noise = 1e-17 * np.sin(37 * AT)
    columns = np.stack([3 * AT**2 - 2 * AT**3, noise, 6 * AT - 6 * AT**2, noise])
    along = Samples(AT, columns, np.zeros((0, AT.size)), np.stack([6 - 12 * AT, noise]))
    found = sizes(ocp.finish(), [along], NONE, NONE).phases[0]
    assert 0.1 < found.u[1] < 20
    assert found.x[1] > 0.01
    assert found.x[3] > 0.1
    np.testing.assert_allclose(found.x[[0, 2]], [1.0, 1.5], rtol=1e-3)


def test_a_state_displaced_into_an_atmosphere_does_not_change_its_size():
    """Above 100 km a drag that falls by e in 7 km is gone; a tenth of the way down it is e^14 times
    as strong.
    """
    ocp = Problem("above the air")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    h, v, u = ph.state("h", start=100.0, end=2100.0), ph.state("v"), ph.control("u")
    ph.dynamics({h: 2000 + 0.01 * v, v: u - casadi.exp(-h / 7) * v})
    ocp.minimize(ph.integral(u**2))
    along = Samples(AT, np.stack([100 + 2000 * AT, 1 + AT]), np.zeros((0, AT.size)), AT[None, :])
    np.testing.assert_allclose(sizes(ocp.finish(), [along], NONE, NONE).phases[0].x, [2000.0, 1.0])
