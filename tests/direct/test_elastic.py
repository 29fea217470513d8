"""The least-violation solution: what it violates has a known amount and a name; it finds
trajectories that are not straight.
"""

import numpy as np
import pytest
from casadi import cos, pi, sin, sumsqr

from trajopt import Problem, Status, free, solve
from trajopt.direct.elastic import least_violation
from trajopt.direct.first_solution import first_meshes
from trajopt.direct.solve_mesh import Context
from trajopt.guess.plain import plain_guess
from trajopt.nlp.backends import Outcome
from trajopt.solving.methods import Collocation


def cart(end=None, time=1.0, limit=1.0, start=0, cost=True, **v):
    """x'' = u with |u| <= limit, from rest to rest: (problem, phase, time, x, v, u)."""
    ocp = Problem("cart")
    ph = ocp.phase("push")
    t = ph.time(start=0, end=time)
    x, v = ph.state("x", start=start, end=end), ph.state("v", start=0, end=0, **v)
    u = ph.control("u", **({} if limit is None else {"lower": -limit, "upper": limit}))
    ph.dynamics({x: v, v: u})
    if cost:
        ocp.minimize(ph.integral(u**2))
    return ocp, ph, t, x, v, u


def target_out_of_reach():
    """A quarter is as far as one second takes."""
    return cart(end=5.0)[0], [
        "end value of state 'x' in phase 'push' at t = 1",
        "4.75",
        "its value is 0.25, required is 5",
        "control 'u'",
    ]


def time_too_short():
    return cart(end=1.0, time=free(0.1, 1.0))[0], [
        "end value of state 'x'",
        "0.75",
        "upper bound of the end time (1)",
    ]


def time_limit_as_a_condition():
    """The least time to 1 is 2."""
    ocp, ph, t, *_ = cart(end=1.0, time=free(0.1, 9.0))
    ocp.require(ph.final(t), upper=1.5, name="deadline")
    return ocp, [
        "condition 'deadline'",
        "violated by 0.5",
        "its value is 2, required is at most 1.5",
        "control 'u'",
    ]


def budget_too_small():
    """The least effort to 1 in one second is 12."""
    ocp, ph, _, _, _, u = cart(end=1.0, limit=None)
    ocp.require(ph.integral(u**2), upper=3, name="budget")
    return ocp, ["condition 'budget'", "violated by 9", "its value is 12, required is at most 3"]


def speed_limit():
    """At a speed of at most 1, and 0.1 s to reach it and to leave it again, two seconds take to
    1.9.
    """
    ocp, *_ = cart(end=5.0, time=2.0, limit=10.0, upper=1.0)
    return ocp, ["end value of state 'x'", "its value is 1.9", "the bounds of state 'v'"]


def wall():
    ocp = Problem("wall")
    ph = ocp.phase("walk")
    ph.time(end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ph.path(x + 0 * u, upper=0.5, name="wall")
    ocp.require(ph.final(x), equals=1, name="home")
    ocp.minimize(ph.integral(u**2))
    return ocp, ["'wall'", "'home'", "required is 1", "required is at most 0.5"]


def engine_too_small():
    """At the largest gain, 3, the cart comes to 3/4."""
    ocp = Problem("engine")
    ph = ocp.phase()
    ph.time(end=1)
    x, v = ph.state("x", 2, start=0, end=[1, 0.1]), ph.state("v", 2, start=0, end=0)
    u, gain = ph.control("u", 2, lower=-1, upper=1), ocp.variable("gain", lower=1, upper=3)
    ph.dynamics({x: v, v: gain * u})
    ocp.minimize(ph.integral(sumsqr(u)))
    return ocp, [
        "end value of state 'x[0]'",
        "its value is 0.75, required is 1",
        "the bounds of variable 'gain'",
        "control 'u[0]'",
    ]


def walls_too_close():
    ocp, ph, _, _, v, _ = cart(end=1.0, time=3.0)
    ph.path(v, upper=0.3, name="slow")
    return ocp, ["path constraint 'slow' in phase 'push'", "required is at most 0.3"]


def falling():
    """5 against 9.81: after two seconds at 1 - 4.81 * 2."""
    ocp = Problem("falling")
    ph = ocp.phase()
    ph.time(end=2)
    h = ph.state("height", start=1, lower=0)
    v = ph.state("v", start=0)
    u = ph.control("thrust", lower=0, upper=5)
    ph.dynamics({h: v, v: u - 9.81})
    ocp.minimize(ph.integral(u**2))
    return ocp, [
        "the bound of state 'height'",
        "its value is -8.62, required is at least 0",
        "control 'thrust'",
    ]


def phases(ends, times):
    ocp, parts = Problem("relay"), []
    for name, (start, end), time in zip("ab", ends, times, strict=True):
        ph = ocp.phase(name)
        ph.time(start=0 if name == "a" else None, end=time)
        x, u = ph.state("x", start=start, end=end), ph.control("u", lower=-1, upper=1)
        ph.dynamics({x: u})
        parts.append((ph, u))
    ocp.connect(parts[0][0], parts[1][0])
    ocp.minimize(sum(ph.integral(u**2) for ph, u in parts))
    return ocp


def ends_that_do_not_meet():
    words = [
        "end value of state 'x' in phase 'a'",
        "its value is 2, required is 1",
        "start value of state 'x' in phase 'b'",
    ]
    return phases([(0, 1), (2, 3)], [free(0.1, 5), free(0.1, 9)]), words


def start_that_is_not_reached():
    """One second takes to 1; the next phase begins at 9."""
    words = [
        "x from 'a' to 'b'",
        "violated by 8",
        "start value of state 'x' in phase 'b'",
        "control 'u'",
    ]
    return phases([(0, None), (9, 10)], [1.0, 2.0]), words


CASES = [
    target_out_of_reach,
    time_too_short,
    time_limit_as_a_condition,
    budget_too_small,
    speed_limit,
    wall,
    engine_too_small,
    walls_too_close,
    falling,
    ends_that_do_not_meet,
    start_that_is_not_reached,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_culprit_is_named_in_a_few_attempts(case):
    problem, words = case()
    solution = solve(problem)
    assert solution.status is Status.INFEASIBLE
    text = "\n".join(solution.explanation)
    for word in words:
        assert word in text
    assert "dynamics" not in text  # no motion breaks its equations
    assert len(solution.log) <= 7


@pytest.fixture(scope="module")
def elastic():
    form = target_out_of_reach()[0].finish()
    context = Context.start(form, Collocation(), form.parameter_values(), lambda line: None)
    return least_violation(context, first_meshes(context), plain_guess(form))


def test_the_least_violation_solution_obeys_its_equations(elastic):
    """Full thrust, full brake: t^2 / 2, then the mirror image."""
    assert elastic.outcome is Outcome.LEAST_VIOLATION
    assert elastic.violation < 1e-9
    x = elastic.phases[0].values.X[:, 0]
    t = elastic.layout.phases[0].grid.state_times
    np.testing.assert_allclose(x, np.where(t < 0.5, t**2 / 2, 0.25 - (1 - t) ** 2 / 2), atol=1e-6)


def test_what_can_be_met_is_met():
    form = cart(end=0.2)[0].finish()
    context = Context.start(form, Collocation(), form.parameter_values(), lambda line: None)
    solution = least_violation(context, first_meshes(context), plain_guess(form))
    assert solution.solved
    np.testing.assert_allclose(solution.phases[0].values.X[-1], [0.2, 0.0], atol=1e-6)


def dubins(x_end, y_end, heading):
    """The shortest way of a car that turns with radius 1."""
    ocp = Problem("car")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, y = ph.state("x", start=0, end=x_end), ph.state("y", start=0, end=y_end)
    angle, turn = ph.state("angle", start=0, end=heading), ph.control("turn", lower=-1, upper=1)
    ph.dynamics({x: cos(angle), y: sin(angle), angle: turn})
    ocp.minimize(ph.final(t))
    return ocp


def sideways(x, y):
    """Left, right, left, with the first heading again: the middle turn is all but a little of a
    circle, and so are the others.
    """
    return 2 * (2 * np.pi - np.arccos(1 - (x**2 + y**2) / 8))


@pytest.mark.parametrize(
    ("end", "length"),
    [
        ((0, 0, pi), 7 * pi / 3),  # about-turn on the spot
        ((0, 1, 0), sideways(0, 1)),
        ((0.2, 0.1, 0), sideways(0.2, 0.1)),
        (
            (-1, -1, pi / 2),
            7 * pi / 2,
        ),  # a whole turn to the left, then three quarters to the right
    ],
)
def test_ways_round_are_found(end, length):
    """A car must drive loops that no straight guess shows; Dubins (1957) has their lengths."""
    solution = solve(dubins(*end)).check()
    assert solution.objective == pytest.approx(length, rel=1e-6)
    assert solution.log


@pytest.mark.parametrize("limits", [{"equals": 1}, {"lower": 0.5}])
def test_a_path_constraint_that_the_start_violates_is_infeasible(limits):
    """No equation is collocated at the start: with a control without bounds the state jumped."""
    ocp = Problem("contradiction")
    ph = ocp.phase()
    ph.time(end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ph.path(x, **limits, name="height")
    ocp.minimize(ph.integral(u**2))
    solution = solve(ocp)
    assert solution.status is Status.INFEASIBLE
    assert len(solution.history) == 1
    assert "at the start, path constraint 'height' in phase 'main'" in solution.explanation[0]
