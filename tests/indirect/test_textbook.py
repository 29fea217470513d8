"""Textbook problems that no file of ``problems`` has: both methods agree, and the certificates of
both answers hold.
"""

import numpy as np
import pytest
from casadi import cos, sin, sqrt
from scipy.optimize import brentq

from trajopt import Problem, certify, free, solve
from trajopt.indirect.shooting import Shooting


def started(name, end, start=0):
    ocp = Problem(name)
    ph = ocp.phase()
    return ocp, ph, ph.time(start=start, end=end)


def regulator():
    """A damped oscillator with running and terminal cost."""
    ocp, ph, _ = started("regulator", 3)
    x, v, u = ph.state("x", start=1), ph.state("v", start=0), ph.control("u")
    ph.dynamics({x: v, v: -x - 0.2 * v + u})
    ocp.minimize(ph.integral(x**2 + 0.5 * u**2) + 2 * ph.final(x) ** 2 + ph.final(v) ** 2)
    return ocp


def zermelo():
    """Across a current that grows with the distance from the bank; Bryson & Ho, section 2.7."""
    ocp, ph, t = started("zermelo", free(0.1, 20, guess=4))
    x = ph.state("x", start=3.66, end=0, guess=lambda s: 3.66 * (1 - s))
    y = ph.state("y", start=-1.86, end=0, guess=lambda s: -1.86 * (1 - s))
    a = ph.control("a", guess=2.0)
    ph.dynamics({x: cos(a) - y, y: sin(a)})
    ocp.minimize(ph.final(t))
    return ocp


def oscillator():
    """An oscillator to rest in the least time: switches are half a period apart."""
    ocp, ph, t = started("oscillator", free(0.1, 30, guess=6))
    x = ph.state("x", start=3, end=0)
    v = ph.state("v", start=1.5, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u - x})
    ocp.minimize(ph.final(t))
    return ocp


def rayleigh(mixed=False):
    """Rayleigh's oscillator with a bounded control, or with a bound on a mixture of control and
    state.
    """
    ocp, ph, _ = started("rayleigh", 4.5)
    x, y = ph.state("x1", start=-5), ph.state("x2", start=-5)
    u = ph.control("u") if mixed else ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: y, y: -x + y * (1.4 - 0.14 * y**2) + 4 * u})
    if mixed:
        ph.path(u + x / 6, lower=-1, upper=0, name="mixture")
    ocp.minimize(ph.integral(u**2 + x**2))
    return ocp


def speed_limit():
    """Rest to rest with a limited speed: a state constraint of order one."""
    ocp, ph, _ = started("speed limit", 1)
    x = ph.state("x", start=0, end=1)
    v = ph.state("v", start=0, end=0, upper=1.2)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    return ocp


def dip():
    """A speed below a parabola in time: Jacobson and Lele's constraint of order one, in which time
    appears.
    """
    ocp, ph, t = started("dip", 1)
    x, v, u = ph.state("x1", start=0), ph.state("x2", start=-1), ph.control("u")
    ph.dynamics({x: v, v: u - v})
    ph.path(v - 8 * (t - 0.5) ** 2, upper=-0.5, name="parabola")
    ocp.minimize(ph.integral(x**2 + v**2 + 0.005 * u**2))
    return ocp


def forced():
    """Time in the motion and in the cost."""
    ocp, ph, t = started("forced", 2)
    x, u = ph.state("x", start=1, end=0), ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: sin(3 * t) - t * x + u})
    ocp.minimize(ph.integral((1 + t) * u**2))
    return ocp


def free_start():
    """An initial state that has its price."""
    ocp, ph, _ = started("free start", 1)
    x, v, u = ph.state("x"), ph.state("v", start=1, end=0), ph.control("u")
    ph.dynamics({x: v, v: u - x})
    ocp.minimize(ph.integral(u**2 + x**2) + ph.initial(x) + ph.final(x) ** 2)
    return ocp


def free_start_time():
    """x' = u from 1 to 0, with a price of time: 1/T + T/2 is least for T = sqrt 2."""
    ocp, ph, _ = started("free start time", 2, free(-2, 1, guess=0))
    x, u = ph.state("x", start=1, end=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2 + 0.5))
    return ocp


def stiffness():
    """A parameter of the motion to choose with it."""
    ocp, ph, _ = started("stiffness", 2)
    k = ocp.variable("k", lower=0.1, upper=10, guess=1)
    x, v, u = ph.state("x", start=1, end=0), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u - k * x})
    ocp.minimize(ph.integral(u**2) + 0.05 * k**2)
    return ocp


def there_and_back():
    """Two phases with other dynamics, joined where the first wants to end."""
    ocp = Problem("there and back")
    out, back = ocp.phase("out"), ocp.phase("back")
    out.time(start=0, end=free(0.1, 2, guess=0.8))
    back.time(end=2)
    x, v, u = out.state("x", start=0, end=1), out.state("v", start=0), out.control("u")
    out.dynamics({x: v, v: u})
    y, w, z = back.state("x", end=0), back.state("v", end=0), back.control("u")
    back.dynamics({y: w, w: z - 0.5 * w})
    ocp.connect(out, back)
    ocp.minimize(out.integral(u**2) + back.integral(z**2))
    return ocp


def soap_film():
    """The surface of revolution of least area: a catenary."""
    ocp, ph, _ = started("soap film", 1)
    x, u = ph.state("x", start=1, end=2, guess=lambda s: 1 + s), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(x * sqrt(1 + u**2)))
    return ocp


def fishery():
    """Logistic growth, harvested at a cost: no fishing, the singular level, everything."""
    ocp, ph, _ = started("fishery", 10)
    x, u = ph.state("x", start=0.4, lower=0.01), ph.control("u", lower=0, upper=1)
    ph.dynamics({x: x * (1 - x) - u * x})
    ocp.maximize(ph.integral(u * (x - 0.1)))
    return ocp


def around_a_disc():
    """Past a disc on which the way rests for a while: two controls, one constraint of order one."""
    ocp, ph, _ = started("around a disc", 1)
    x = ph.state("x", start=0, end=2)
    y = ph.state("y", start=0, end=0.2, guess=lambda s: 0.6 * np.sin(np.pi * s))
    u, w = ph.control("u"), ph.control("w")
    ph.dynamics({x: u, y: w})
    ph.path((x - 1) ** 2 + y**2, lower=0.16, name="disc")
    ocp.minimize(ph.integral(u**2 + w**2))
    return ocp


def into_a_disc():
    """Into a set: a condition at the end that is an inequality."""
    ocp, ph, t = started("into a disc", free(0.1, 10, guess=2))
    x = ph.state("x", start=0, guess=lambda s: 2 * s)
    y = ph.state("y", start=0)
    a = ph.control("a", guess=0.3)
    ph.dynamics({x: 1 + 0.5 * y + cos(a), y: sin(a)})
    ocp.require((ph.final(x) - 3) ** 2 + (ph.final(y) - 1) ** 2, upper=0.25, name="disc")
    ocp.minimize(ph.final(t))
    return ocp


def bounds_of_both():
    """A control at its bound, then a speed at its limit, then neither."""
    ocp, ph, _ = started("bounds of both", 5)
    x, v = ph.state("x", start=2, lower=-1, upper=3), ph.state("v", start=1, lower=-0.8, upper=2)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u - 0.3 * x})
    ocp.minimize(ph.integral(x**2 + 0.3 * u**2) + ph.final(v) ** 2)
    return ocp


def chosen_limit():
    """The same speed limit, to be chosen: a state constraint that moves with a static variable."""
    ocp, ph, _ = started("chosen limit", 1)
    limit = ocp.variable("limit", lower=1.01, upper=1.49, guess=1.3)
    x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.path(v - limit, upper=0, name="speed")
    ocp.minimize(ph.integral(u**2) + 20 * limit**2)
    return ocp


PROBLEMS = [
    regulator,
    zermelo,
    oscillator,
    rayleigh,
    lambda: rayleigh(mixed=True),
    speed_limit,
    dip,
    forced,
    free_start,
    free_start_time,
    stiffness,
    there_and_back,
    soap_film,
    fishery,
    around_a_disc,
    into_a_disc,
    bounds_of_both,
    chosen_limit,
]


@pytest.fixture(scope="module")
def answers():
    """Each problem solved both ways, once."""
    kept = {}

    def get(build):
        if build not in kept:
            direct = solve(build()).check()
            kept[build] = direct, Shooting().solve(direct.form, direct)
        return kept[build]

    return get


@pytest.mark.parametrize("build", PROBLEMS, ids=lambda b: b.__name__.replace("<lambda>", "mixture"))
def test_both_methods_agree_and_are_certified(answers, build):
    direct, shot = answers(build)
    assert shot.success, shot.explanation
    assert shot.objective == pytest.approx(direct.objective, rel=1e-7)
    for one, other in ((direct, shot), (shot, direct)):
        certificate = certify(one, other=other)
        assert not certificate.failures, str(certificate)


def test_zermelos_published_time(answers):
    assert answers(zermelo)[1].objective == pytest.approx(5.46, abs=5e-3)


def test_switches_of_the_oscillator_are_half_a_period_apart(answers):
    first, second, _ = (arc.end for arc in answers(oscillator)[1].arcs)
    assert second - first == pytest.approx(np.pi, rel=1e-11)


def test_closed_form_of_the_speed_limit(answers):
    """v is parabolic up to the limit V, at t1 = 3/2 (1 - 1/V); the cost is 8/3 V^2 / t1."""
    _, shot = answers(speed_limit)
    time = 1.5 * (1 - 1 / 1.2)
    assert [arc.end for arc in shot.arcs] == pytest.approx([time, 1 - time, 1], rel=1e-10)
    assert shot.objective == pytest.approx(8 / 3 * 1.2**2 / time, rel=1e-12)


def test_closed_form_of_the_chosen_limit(answers):
    """The derivative of 16/9 V^3 / (V - 1) + 20 V^2 is zero."""
    best = brentq(
        lambda V: 16 / 9 * (3 * V**2 / (V - 1) - V**3 / (V - 1) ** 2) + 40 * V,
        1.01,
        1.49,
        xtol=1e-14,
    )
    _, shot = answers(chosen_limit)
    assert shot.variables["limit"][0] == pytest.approx(best, rel=1e-11)


def test_closed_form_of_the_price_of_time(answers):
    assert answers(free_start_time)[1].objective == pytest.approx(np.sqrt(2), rel=1e-12)


def test_closed_form_of_the_soap_film(answers):
    """x = a cosh((t - b)/a) through (0, 1) and (1, 2)."""
    # b < 0: rising all the way
    a = brentq(lambda a: a * np.cosh(1 / a + np.arccosh(1 / a)) - 2, 0.3, 0.999)
    b = -a * np.arccosh(1 / a)
    _, shot = answers(soap_film)
    t = np.linspace(0, 1, 30)
    np.testing.assert_allclose(shot["x"](t), a * np.cosh((t - b) / a), rtol=1e-9)


def test_closed_form_of_the_fishery(answers):
    """On the singular arc the growth of the margin is largest: x = (1 + 0.1)/2, harvested as it
    grows.
    """
    _, shot = answers(fishery)
    assert [arc.roles["u"] for arc in shot.arcs] == ["lower", "singular", "upper"]
    middle = 0.5 * (shot.arcs[1].start + shot.arcs[1].end)
    assert shot["x"](middle) == pytest.approx(0.55, rel=1e-10)
    assert shot["u"](middle) == pytest.approx(0.45, rel=1e-9)
    # Logistic growth from 0.4 to 0.55 takes log(0.55/0.45) - log(0.4/0.6).
    assert shot.arcs[0].end == pytest.approx(np.log(0.55 / 0.45) - np.log(0.4 / 0.6), rel=1e-9)


def test_the_way_around_a_disc_is_a_string(answers):
    """The shortest way: straight, along the disc, straight; and at constant speed."""
    _, shot = answers(around_a_disc)
    radius = 0.4

    def tangent(x, y):
        return np.sqrt(x**2 + y**2 - radius**2)

    ends = (-1.0, 0.0), (1.0, 0.2)
    angles = [np.arctan2(y, x) for x, y in ends]
    turn = abs(angles[0] - angles[1]) - sum(np.arccos(radius / np.hypot(*end)) for end in ends)
    length = sum(tangent(*end) for end in ends) + radius * turn
    assert shot.objective == pytest.approx(length**2, rel=1e-11)


def test_costates_of_a_regulator_are_its_riccati_matrix_times_its_state(answers):
    _, shot = answers(regulator)
    A, B = np.array([[0, 1], [-1, -0.2]]), np.array([[0.0], [1.0]])
    P = np.diag([2.0, 1.0])
    steps = 3000
    h = 3 / steps

    def slope(P):
        return A.T @ P + P @ A - 2 * P @ B @ B.T @ P + np.diag([1.0, 0.0])

    for _ in range(steps):
        k1 = slope(P)
        k2 = slope(P + h / 2 * k1)
        k3 = slope(P + h / 2 * k2)
        P = P + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(P + h * k3))
    np.testing.assert_allclose(
        [shot.costate("x")(0.0), shot.costate("v")(0.0)], 2 * P @ [1.0, 0.0], rtol=1e-9
    )
