"""Starts that are motions."""

import numpy as np
from casadi import sqrt
from numpy.testing import assert_allclose

from trajopt import Problem
from trajopt.guess.controls import start_guess
from trajopt.guess.motions import motions
from trajopt.guess.plain import plain_guess

NONE = np.zeros(0)


def fall(phases=1, push=0.0):
    """A body falls from a height of 5; a control pushes it up."""
    ocp = Problem("fall")
    before = None
    for k in range(phases):
        ph = ocp.phase(f"phase {k + 1}") if phases > 1 else ocp.phase()
        ph.time(start=0.5 * k, end=0.5 * (k + 1))
        given = {} if before else {"start": 5}
        y = ph.state("y", **given)
        v = ph.state("v", **({} if before else {"start": 0}))
        u = ph.control("u", lower=push, upper=push + 2)
        ph.dynamics({y: v, v: u - 10})
        if before:
            ocp.connect(before, ph)
        before = ph
    ocp.minimize(before.final(y))
    return ocp.finish()


def test_motions_obey_the_equations_at_each_level():
    form = fall()
    found = list(motions(form, NONE, plain_guess(form)))
    assert len(found) == 2  # the middle is half-way between zero and the upper bound
    for motion, u in zip(found, (0, 1), strict=True):
        (ph,) = motion.phases
        t = np.linspace(0, 0.5, 7)
        assert_allclose(ph.x.evaluate(t)[:, 0], 5 + (u - 10) * t**2 / 2, atol=1e-6)
        assert_allclose(ph.u.evaluate(t), u)


def test_a_phase_begins_where_the_one_before_ends():
    form = fall(phases=3)
    motion = next(motions(form, NONE, plain_guess(form)))
    ends = motion.phases[-1].x.evaluate(np.array([1.5]))[0]
    assert_allclose(ends, [5 - 10 * 1.5**2 / 2, -15], atol=1e-6)


def test_a_motion_from_a_given_end_goes_backwards():
    ocp = Problem("arrival")
    ph = ocp.phase()
    ph.time(end=2)
    x, u = ph.state("x", end=1), ph.control("u", lower=0, upper=1)
    ph.dynamics({x: x + u})
    ocp.minimize(ph.initial(x))
    form = ocp.finish()
    motion = next(motions(form, NONE, plain_guess(form)))
    assert_allclose(motion.phases[0].x.evaluate(np.array([0.0, 2.0]))[:, 0], [np.exp(-2), 1])


def test_a_motion_without_bound_ends_where_it_left_the_numbers():
    ocp = Problem("escape")
    ph = ocp.phase()
    ph.time(end=2)
    x, u = ph.state("x", start=1), ph.control("u", lower=0, upper=1)
    ph.dynamics({x: x**2 + u})
    ocp.minimize(ph.final(x))
    form = ocp.finish()
    motion = next(motions(form, NONE, plain_guess(form)))
    assert np.all(np.isfinite(motion.phases[0].x.evaluate(np.linspace(0, 2, 50))))


def test_a_state_stays_at_its_bound():
    ocp = Problem("floor")
    ph = ocp.phase()
    ph.time(end=2)
    x, u = ph.state("x", start=1, lower=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u - 2})
    ocp.minimize(ph.final(x))
    form = ocp.finish()
    motion = next(motions(form, NONE, plain_guess(form)))
    assert_allclose(motion.phases[0].x.evaluate(np.array([0.25, 2.0]))[:, 0], [0.5, 0], atol=1e-6)


def test_where_there_is_nothing_to_choose_the_start_is_the_motion_with_its_mesh():
    ocp = Problem("stiff")
    ph = ocp.phase()
    t = ph.time(end=10)
    x = ph.state("x", start=0)
    ph.dynamics({x: 1e6 * (t - x)})
    ocp.minimize(ph.final(x))
    (start,) = start_guess(ocp.finish(), NONE).phases
    assert_allclose(start.x.evaluate(np.array([10.0])), 10 - 1e-6, rtol=1e-6)
    assert start.mesh is not None
    assert start.mesh[0][1] < 1e-5  # the layer is a microsecond long


def test_controls_that_a_required_integral_does_not_feel_to_first_order_begin_with_a_wave():
    ocp = Problem("fence")
    ph = ocp.phase()
    ph.time(end=1)
    y, slope = ph.state("y", start=0, end=0), ph.control("slope")
    ph.dynamics({y: slope})
    ocp.require(ph.integral(sqrt(1 + slope**2)), equals=1.3)
    ocp.maximize(ph.integral(y))
    (start,) = start_guess(ocp.finish(), NONE).phases
    u = start.u.evaluate(np.linspace(0, 1, 9))[:, 0]
    assert_allclose(u, -u[::-1], atol=1e-12)
    assert u[0] > 0
