"""Guesses through affine equalities between endpoints."""

import numpy as np
import pytest
from casadi import vertcat

from trajopt import Problem, free, solve
from trajopt.guess.plain import plain_guess
from trajopt.statement.endpoint_links import endpoint_links

ENDS = np.array([0.0, 1.0])


def values(curve, tau):
    """Values at fractions of the duration."""
    return curve.evaluate(curve.breaks[0] + tau * (curve.breaks[-1] - curve.breaks[0]))


def three_phases(factor=1.0, offset=0.0):
    """x' = u / x with least effort; the middle phase has y = factor x + offset, and conditions
    alone link the phases.
    """
    ocp = Problem("three phases")
    a, b, c = (ocp.phase(name) for name in ("first", "middle", "last"))
    clocks = (
        a.time(start=0, end=free(0, 3)),
        b.time(start=free(0, 3), end=free(0, 3)),
        c.time(start=free(0, 3), end=3),
    )
    x, y, z = a.state("x", start=1), b.state("y"), c.state("z", end=3)
    u = [ph.control("u") for ph in (a, b, c)]
    a.dynamics({x: u[0] / x})
    b.dynamics({y: factor**2 * u[1] / (y - offset)})
    c.dynamics({z: u[2] / z})
    ocp.require(factor * a.final(x) + offset - b.initial(y), equals=0)
    ocp.require(b.final(y) - factor * c.initial(z), equals=offset)
    ocp.require(a.final(clocks[0]) - b.initial(clocks[1]), equals=0)
    ocp.require(b.final(clocks[1]) - c.initial(clocks[2]), equals=0)
    ocp.require(b.initial(clocks[1]), equals=1)
    ocp.require(b.final(clocks[1]) - b.initial(clocks[1]), equals=1)
    ocp.minimize(sum(ph.integral(v**2) for ph, v in zip((a, b, c), u, strict=True)))
    return ocp


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 0.0), (1000.0, 0.0), (-2.0, 1.0)])
def test_a_middle_phase_that_divides_by_its_state_is_guessed_through_conditions(factor, offset):
    ocp = three_phases(factor, offset)
    guess = plain_guess(ocp.finish())
    assert [(ph.t0, ph.tf) for ph in guess.phases] == [(0, 1), (1, 2), (2, 3)]
    np.testing.assert_allclose(values(guess.phases[1].x, ENDS).ravel(), factor + offset)
    np.testing.assert_allclose(values(guess.phases[2].x, ENDS).ravel(), [1, 3])
    solution = solve(ocp)
    assert solution.success
    assert solution.objective == pytest.approx(16 / 3, rel=1e-6)  # x^2 grows linearly


def test_a_later_value_is_known_to_an_earlier_phase():
    ocp = Problem("backwards")
    a, b = ocp.phase("a"), ocp.phase("b")
    a.time(start=0, end=1)
    b.time(start=1, end=2)
    x, y = a.state("x", size=2), b.state("y", size=2, start=[4, 6], end=[0, 0])
    a.dynamics({x: a.control("u", size=2)})
    b.dynamics({y: b.control("u", size=2)})
    ocp.require(vertcat(a.final(x)[1], a.final(x)[0]) - b.initial(y), equals=0)
    ocp.minimize(a.integral(x[0] ** 2))
    np.testing.assert_allclose(values(plain_guess(ocp.finish()).phases[0].x, ENDS)[1], [6, 4])


def test_the_values_of_parameters_and_variables_count():
    ocp = Problem("offset")
    shift, length = ocp.parameter("shift", 2.0), ocp.variable("length", guess=5)
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y = ph.state("x"), ph.state("y")
    ph.dynamics({x: ph.control("u"), y: ph.control("v")})
    ocp.require(ph.initial(x) - 3 * shift, equals=1)
    ocp.require(ph.initial(x) * ph.final(x), equals=4)  # not affine
    ocp.require(ph.final(y) + length, equals=0)
    ocp.minimize(ph.integral(x**2))
    form = ocp.finish()
    assert values(plain_guess(form).phases[0].x, ENDS)[:, 0].tolist() == [7, 7]
    assert values(plain_guess(form, parameters=np.array([3.0])).phases[0].x, ENDS)[0, 0] == 10
    assert values(plain_guess(form).phases[0].x, ENDS)[1, 1] == -5
    links = endpoint_links(form, form.parameter_values())
    assert links is not None
    assert links.constants.size == 2


def test_a_time_that_would_run_backwards_is_not_taken_over():
    ocp = Problem("clock")
    a, b = ocp.phase("a"), ocp.phase("b")
    ta = a.time(start=0, end=free(2, 10))
    tb = b.time(start=free(0, 10), end=free(0, 10))
    for ph in (a, b):
        x = ph.state("x", start=1)
        ph.dynamics({x: ph.control("u")})
    ocp.require(a.final(ta) - b.initial(tb), equals=0)
    ocp.require(a.final(ta) + b.final(tb), equals=7)
    ocp.minimize(a.final(ta))
    guess = plain_guess(ocp.finish())
    assert all(ph.tf > ph.t0 for ph in guess.phases)
