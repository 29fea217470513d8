"""Lengths of vectors of controls in rates and cost."""

import casadi
import numpy as np
import pytest

from trajopt import Collocation, Problem, certify, free, solve
from trajopt.direct.lifted_form import without_kinks

NONE = np.zeros(0)


def landing(symbols=casadi.SX, polar=False, guess=None):
    """A landing with least fuel; ``polar``: the thrust by its size and its angle."""
    ocp = Problem("landing", symbols=symbols)
    ph = ocp.phase()
    ph.time(start=0, end=free(2, 30))
    r = ph.state("r", 2, start=[4, 6], end=[0, 0], lower=[None, 0])
    v = ph.state("v", 2, start=[-0.5, -1], end=[0, 0])
    m = ph.state("m", start=2, lower=0.5)
    if polar:
        size = ph.control("size", lower=0, upper=6)
        angle = ph.control("angle", lower=-np.pi, upper=np.pi)
        T = size * casadi.vertcat(casadi.sin(angle), casadi.cos(angle))
    else:
        T = ph.control("T", 2, lower=-6, upper=6, guess=guess)
        size = casadi.sqrt(T[0] ** 2 + T[1] ** 2)
        ph.path(size, upper=6, name="thrust")
    ph.dynamics({r: v, v: T / m - casadi.vertcat(0, 1), m: -0.07 * size})
    ocp.maximize(ph.final(m))
    return ocp


def steered(cost, limit=1.0, weights=(1.0, 1.0)):
    """A point moved from rest to rest in the plane."""
    ocp = Problem("steered")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    r, v = ph.state("r", 2, start=[1, 0.5], end=0), ph.state("v", 2, start=0, end=0)
    u = ph.control("u", 2)
    length = casadi.sqrt(weights[0] * u[0] ** 2 + weights[1] * u[1] ** 2)
    if limit is not None:
        ph.path(length, upper=limit)
    ph.dynamics({r: v, v: u})
    ocp.minimize(ph.integral(cost(u, length)))
    return ocp


@pytest.mark.parametrize("symbols", [casadi.SX, casadi.MX])
def test_a_landing_costs_as_much_as_with_size_and_angle(symbols):
    by_angle = solve(landing(polar=True)).check()
    solution = solve(landing(symbols)).check()
    assert solution.objective == pytest.approx(by_angle.objective, rel=1e-6)
    phase = solution.phase("main")
    assert list(phase.controls) == ["T"]
    sizes = np.linalg.norm(solution["T"](np.linspace(0, phase.tf, 200)), axis=1)
    assert sizes.max() <= 6 * (1 + 1e-6)
    coast = sizes < 1e-6
    assert 0.2 < coast.mean() < 0.9
    assert solution.form is not None
    assert solution.form.phases[0].u_names == ("T[0]", "T[1]")
    assert {name for arc in solution.arcs for name in arc.roles} >= {"T[0]", "T[1]"}


def test_a_guess_and_an_earlier_answer_begin_the_search():
    guessed = solve(landing(guess=lambda tau: [0.5 - tau, 2.0])).check()
    again = solve(landing(), guess=guessed).check()
    assert again.objective == pytest.approx(guessed.objective, rel=1e-6)
    zero = solve(landing(guess=0.0)).check()
    assert zero.objective == pytest.approx(guessed.objective, rel=1e-6)


def test_on_a_line_the_least_fuel_is_known():
    """Along its line the point has a unit of distance d, the limit a, the time T: the fuel is that
    of bang, coast, bang, a (T - sqrt(T^2 - 4 d / a)).
    """
    solution = solve(steered(lambda u, length: length)).check()
    d = np.hypot(1, 0.5)
    assert solution.objective == pytest.approx(4 - np.sqrt(16 - 4 * d), rel=1e-6)


def test_weights_of_the_squares_count():
    solution = solve(steered(lambda u, length: length, weights=(4.0, 4.0), limit=2.0)).check()
    d = np.hypot(1, 0.5)
    assert solution.objective == pytest.approx(2 * (4 - np.sqrt(16 - 4 * d)), rel=1e-6)


def test_a_guess_of_one_control_of_several_stays():
    """A control with a guess is not split into parts."""
    ocp = Problem("two controls")
    ph = ocp.phase()
    ph.time(end=3)
    x, y = ph.state("x", start=0, end=1), ph.state("y", start=0, end=1)
    u, w = ph.control("u"), ph.control("w", lower=-1, upper=1, guess=0.5)
    ph.dynamics({x: u, y: w})
    ocp.minimize(ph.integral(u**2 + casadi.fabs(w)))
    lifted = without_kinks(ocp.finish(), NONE)
    assert lifted is not None
    assert lifted.form.phases[0].u_names == ("u", "w", "positive part 1")


def test_a_length_that_only_a_constraint_has_stays():
    ocp = steered(lambda u, length: casadi.sumsqr(u))
    assert without_kinks(ocp.finish(), NONE) is None


def test_other_roots_stay():
    ocp = steered(lambda u, length: casadi.sqrt(casadi.sumsqr(u) + 1e-4) + casadi.sqrt(u[0] ** 4))
    assert without_kinks(ocp.finish(), NONE) is None


def test_a_length_beside_a_square_stays():
    ocp = steered(lambda u, length: length + 0.5 * casadi.sumsqr(u))
    assert without_kinks(ocp.finish(), NONE) is None


def test_a_length_that_pays_is_refused():
    """At the optimum of the relaxation the direction is shorter than one."""
    ocp = steered(lambda u, length: -length)
    lifted = without_kinks(ocp.finish(), NONE)
    assert lifted is not None
    lines = list[str]()
    solve(ocp, Collocation(max_passes=1), progress=lines.append)
    assert any("as it stands" in line for line in lines)


def test_a_certificate_needs_no_derivative_of_a_length_at_zero():
    assert certify(solve(landing())).claim != "none"
