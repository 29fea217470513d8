"""Guesses from the statement, from the user and from an earlier solution; the check
before a solve.
"""

import numpy as np
import pytest
from casadi import exp, log

from trajopt import Problem, free, solve
from trajopt.errors import GuessError
from trajopt.guess.plain import (
    check_guess,
    guess_from_solution,
    perturbed,
    plain_guess,
)
from trajopt.guess.regular import sound_guess

tau = np.linspace(0, 1, 5)


def values(curve, tau):
    """Values at fractions of the duration."""
    return curve.evaluate(curve.breaks[0] + tau * (curve.breaks[-1] - curve.breaks[0]))


def statement(time=None, x=None, u=None, rate=None):
    ocp = Problem("guessed")
    ph = ocp.phase()
    ph.time(**(time or {"end": 1}))
    q, w = ph.state("x", **(x or {})), ph.control("u", **(u or {}))
    ph.dynamics({q: w if rate is None else rate(q, w)})
    ocp.minimize(ph.integral(w**2))
    return ocp


def first(**parts):
    return plain_guess(statement(**parts).finish()).phases[0]


@pytest.mark.parametrize(
    ("x", "ends"),
    [
        ({"start": 1, "end": 3}, (1, 3)),  # between boundary values
        ({"start": 2}, (2, 2)),  # one end known
        ({"end": -2}, (-2, -2)),
        ({"lower": 2, "upper": 6}, (4, 4)),  # the middle of bounds
        ({"lower": 2}, (2, 2)),  # the bound itself, where there is one
        ({}, (0, 0)),
        ({"start": free(0, 2), "end": 5}, (1, 5)),
        ({"start": free(0, 2, guess=0.5), "end": 5}, (0.5, 5)),
        ({"start": 1, "end": free(lower=8)}, (1, 8)),
        ({"start": 1, "guess": 7}, (7, 7)),  # a person knows better
        ({"start": 1, "end": 3, "guess": lambda s: 10 + s}, (10, 11)),
    ],
)
def test_states(x, ends):
    np.testing.assert_allclose(values(first(x=x).x, tau)[:, 0], np.linspace(*ends, 5))


def test_a_state_from_zero_to_a_free_end_gets_a_nonzero_guess():
    """A guess of zero for a speed makes many equations singular: its final guess is the mean rate
    of the other states.
    """
    assert values(first(x={"start": 0}).x, np.ones(1))[0, 0] == 1.0  # none of them is known to
    ocp = Problem("fall")
    ph = ocp.phase()
    ph.time(end=2)
    h, v, u = ph.state("h", start=10, end=0), ph.state("v", start=0), ph.control("u")
    ph.dynamics({h: v, v: u})
    np.testing.assert_allclose(values(plain_guess(ocp.finish()).phases[0].x, tau)[:, 1], 5.0 * tau)


@pytest.mark.parametrize(
    ("u", "value"),
    [
        ({}, 0),
        ({"lower": 1, "upper": 2}, 1.5),
        ({"lower": 3}, 3),
        ({"upper": -3}, -3),
        ({"lower": -1, "upper": 5, "guess": 4}, 4),
    ],
)
def test_controls(u, value):
    np.testing.assert_allclose(values(first(u=u).u, tau), np.full((5, 1), value))


@pytest.mark.parametrize(
    ("time", "ends"),
    [
        ({"end": 3}, (0, 3)),
        ({"start": 2, "end": 3}, (2, 3)),
        ({"end": free(1, 5)}, (0, 3)),
        (
            {"end": free(0.01, 100)},
            (0, 1),
        ),  # limits orders of magnitude apart: the middle of the orders
        ({"end": free(1, 5, guess=4.5)}, (0, 4.5)),
        ({"end": free(lower=2)}, (0, 4)),
    ],
)
def test_times(time, ends):
    guess = first(time=time)
    assert (guess.t0, guess.tf) == pytest.approx(ends)


def test_other_durations_stay_within_their_limits():
    form = statement(time={"end": free(1, 5)}).finish()
    for factor in (0.01, 0.3, 3, 100):
        assert 1 <= plain_guess(form, duration=factor).phases[0].tf <= 5
    assert plain_guess(form, duration=0.3).phases[0].tf < plain_guess(form).phases[0].tf


def test_controls_can_start_away_from_the_midpoint():
    form = statement(u={"lower": 0, "upper": 4}).finish()
    assert values(plain_guess(form, bend=0.5).phases[0].u, tau)[0, 0] == 3
    assert values(plain_guess(form, bend=-0.5).phases[0].u, tau)[0, 0] == 1


def test_a_phase_starts_at_the_end_of_the_previous_guess():
    ocp, phases = Problem("two"), []
    for name, start, end in (("one", 0, 2), ("two", None, None)):
        ph = ocp.phase(name)
        ph.time(
            start=0 if name == "one" else free(0, 9),
            end=free(0, 9, guess=1 if name == "one" else 3),
        )
        x, u = ph.state("x", start=start, end=end), ph.control("u")
        ph.dynamics({x: u})
        phases.append(ph)
    ocp.connect(*phases)
    guess = plain_guess(ocp.finish())
    assert guess.phases[1].t0 == guess.phases[0].tf
    assert values(guess.phases[1].x, np.zeros(1))[0, 0] == 2


def test_a_free_start_before_a_given_end_leaves_time():
    assert (
        plain_guess(statement(time={"start": free(-5, 0), "end": 0}).finish()).phases[0].t0 == -2.5
    )
    assert (
        plain_guess(statement(time={"start": free(upper=3), "end": 0}).finish()).phases[0].t0 == -1
    )
    assert plain_guess(statement(time={"start": free(-5, 3), "end": 1}).finish()).phases[0].t0 == 0


def test_latest_start_of_a_transfer():
    """The double integrator moves by one in two seconds at least, also where its end is given and
    its start is free.
    """
    ocp = Problem("latest-start")
    ph = ocp.phase()
    t = ph.time(start=free(-5, 0), end=0)
    x, v, u = (
        ph.state("x", start=1, end=0),
        ph.state("v", start=0, end=0),
        ph.control("u", lower=-1, upper=1),
    )
    ph.dynamics({x: v, v: u})
    ocp.maximize(ph.initial(t))
    np.testing.assert_allclose(solve(ocp).check().objective, -2, rtol=1e-6)


def test_perturbed_moves_every_state_and_keeps_the_rest():
    form = statement(x={"start": 1, "end": 1}).finish()
    plain = plain_guess(form)
    moved = perturbed(plain, 0.01)
    gap = values(moved.phases[0].x, tau) - values(plain.phases[0].x, tau)
    assert np.all(gap > 0)
    assert gap.max() < 0.05
    assert np.all(np.diff(gap[:, 0]) > 0)  # not a mere shift: rates move too
    np.testing.assert_array_equal(values(moved.phases[0].u, tau), values(plain.phases[0].u, tau))


def test_an_earlier_solution_is_used_by_name():
    solution = solve(statement(x={"start": 1, "end": 3})).check()
    other = Problem("larger")
    ph = other.phase()
    ph.time(end=2)
    x, y, u = ph.state("x"), ph.state("y", start=4, end=4), ph.control("u")
    ph.dynamics({x: u, y: u})
    with pytest.warns(UserWarning, match="has no state 'y'"):
        guess = guess_from_solution(other.finish(), solution).phases[0]
    assert (guess.t0, guess.tf) == (0, 1)  # its times come with it
    np.testing.assert_allclose(
        values(guess.x, tau), np.stack([1 + 2 * tau, np.full(5, 4)], axis=1), atol=1e-9
    )
    np.testing.assert_allclose(values(guess.u, tau), 2, atol=1e-9)


def test_the_mesh_of_an_earlier_solution_is_normalised():
    """Also of one that does not begin at zero."""
    solution = solve(
        statement(time={"start": 2, "end": 5}, x={"start": 1, "end": 3}, rate=lambda x, u: u - x**3)
    ).check()
    main = solution.phases["main"]
    guess = guess_from_solution(statement().finish(), solution).phases[0]
    fractions, degrees = guess.mesh
    assert len(fractions) > 2
    np.testing.assert_allclose(2 + 3 * fractions, main.breaks, rtol=1e-15)
    assert degrees == main.degrees
    np.testing.assert_allclose(values(guess.x, fractions)[:, 0], main["x"](main.breaks), rtol=1e-12)


@pytest.mark.parametrize(
    "bad", [np.nan, np.inf, "fast", [1, 2], lambda s: np.nan, lambda s: [1, 2, 3]]
)
def test_a_guess_is_finite_and_of_the_right_size(bad):
    form = statement(x={"guess": bad}).finish()
    with pytest.raises(GuessError, match="'x'"):
        values(plain_guess(form).phases[0].x, tau)


def test_nonfinite_values_are_reported_by_equation_and_time():
    form = statement(
        x={"start": 1, "end": -1, "guess": lambda s: 1 - 2 * s}, rate=lambda x, u: u + log(x)
    ).finish()
    with pytest.raises(GuessError) as caught:
        check_guess(form, plain_guess(form), form.parameter_values())
    for word in ("derivative of state 'x'", "phase 'main'", "t = 0.5", "x = 0"):
        assert word in str(caught.value)


def test_singular_end_points_are_allowed_in_a_guess():
    form = statement(x={"start": 0, "end": 1}, rate=lambda x, u: u + log(x)).finish()
    guess = plain_guess(form)
    assert values(guess.phases[0].x, np.zeros(1))[0, 0] == 0  # where the logarithm is not a number
    check_guess(form, guess, form.parameter_values())


def test_a_guess_must_have_a_positive_duration():
    ocp = statement(time={"start": free(0, 10, guess=8), "end": free(0, 10, guess=3)})
    with pytest.raises(GuessError, match="no positive duration"):
        solve(ocp)


def test_logarithms_and_quotients_of_nonnegative_variables_need_no_guess():
    """Saving with logarithmic utility: consumption grows at a constant rate, and its present value
    is what was spent.
    """
    growth, impatience, before, after, years = 0.08, 0.03, 100.0, 50.0, 40.0
    ocp = Problem("saving")
    ph = ocp.phase()
    t = ph.time(start=0, end=years)
    k, c = ph.state("k", start=before, end=after, lower=0), ph.control("c", lower=0)
    ph.dynamics({k: growth * k - c})
    ocp.maximize(ph.integral(exp(-impatience * t) * log(c)))
    solution = solve(ocp).check()
    first = (
        (before - after * np.exp(-growth * years)) * impatience / (1 - np.exp(-impatience * years))
    )
    assert solution["c"](10.0) == pytest.approx(
        first * np.exp((growth - impatience) * 10.0), rel=1e-4
    )
    assert values(sound_guess(ocp.finish(), np.zeros(0)).phases[0].u, np.zeros(1)) == 1.0


def test_a_model_without_a_finite_guess_is_rejected():
    """A mere pole is left: see test_regular.py."""
    ocp = Problem("no value")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0, end=1), ph.control("u")
    ph.dynamics({x: log(-1 - u**2)})
    ocp.minimize(ph.integral(u**2))
    with pytest.raises(GuessError, match="derivative of state 'x'"):
        solve(ocp)
