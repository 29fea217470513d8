"""What happens when a solve does not go well at first, or at all: attempts, their log, and
explanations in the user's names.
"""

import numpy as np
import pytest
from casadi import DM, cos, exp, log, sin, sqrt, sumsqr

from trajopt import Problem, Status, free, solve
from trajopt.catalogue import builder
from trajopt.direct.collocation import Collocation
from trajopt.errors import GuessError, SolveError
from trajopt.nlp.backends import Ipopt


def line(name, rate, phase="main", cost=lambda x, u: u**2, **x_options):
    """One state along a line, x' = rate(x, u)."""
    ocp = Problem(name)
    ph = ocp.phase(phase)
    ph.time(end=1)
    x, u = ph.state("x", **x_options), ph.control("u")
    ph.dynamics({x: rate(x, u)})
    ocp.minimize(ph.integral(cost(x, u)))
    return ocp


def kink():
    """The root has no derivative at x = 0, where the guess lies."""
    return line("kink", lambda x, u: sqrt(x) / 10 + u, start=0, end=1, guess=0)


def sideways():
    """The shortest way of a car with turns of radius 1 or more to the place beside it (Dubins)."""
    ocp = Problem("sideways")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, y = ph.state("x", start=0, end=0), ph.state("y", start=0, end=1)
    angle, turn = ph.state("angle", start=0, end=0), ph.control("turn", lower=-1, upper=1)
    ph.dynamics({x: cos(angle), y: sin(angle), angle: turn})
    ocp.minimize(ph.final(t))
    return ocp


def test_attempts_are_made_in_order_and_logged():
    told = []
    solution = solve(sideways(), progress=told.append).check()
    assert len(solution.log) >= 2
    assert solution.log[0].startswith("first attempt: ")
    assert "other starts: solved" in solution.log
    assert all("\n" not in entry for entry in solution.log)
    assert all(entry in told for entry in solution.log[:-1])


def test_a_guess_without_derivatives_is_moved():
    """The first program begins beside the root's singular point."""
    solution = solve(kink()).check()
    easy = solve(
        line("kink", lambda x, u: sqrt(x) / 10 + u, start=0, end=1, guess=lambda tau: 0.1 + tau)
    ).check()
    assert solution.objective == pytest.approx(easy.objective, rel=1e-6)
    assert not solution.log
    assert not easy.log


def far(distance=5.0):
    """At most 1/4 can be covered in one second with |u| <= 1, from rest to rest."""
    ocp = Problem("far")
    ph = ocp.phase("flight")
    ph.time(end=1)
    x, v = ph.state("x", start=0, end=distance), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(u**2))
    return ocp


@pytest.fixture(scope="module")
def failed():
    return solve(far())


def test_an_infeasible_boundary_is_explained(failed):
    assert failed.status is Status.INFEASIBLE
    assert not failed.success
    text = "\n".join(failed.explanation)
    assert "'x'" in text
    assert "phase 'flight'" in text
    assert "violated by" in text
    assert "try:" in failed.explanation[-1]
    assert len([entry for entry in failed.explanation if "violated" in entry]) <= 3


def test_every_attempt_of_a_failure_is_in_the_log(failed):
    labels = [entry.split(":")[0] for entry in failed.log]
    assert labels[0] == "first attempt"
    assert len(labels) == len(set(labels)) >= 2
    assert all("largest violation" in entry for entry in failed.log)


def test_check_raises_what_the_explanation_says(failed):
    with pytest.raises(SolveError) as caught:
        failed.check()
    assert "far" in str(caught.value)
    assert failed.explanation[0] in str(caught.value)


def test_the_last_iterate_of_a_failure_can_be_looked_at(failed):
    t = np.linspace(0, 1, 20)
    assert np.all(np.isfinite(failed["x"](t)))
    assert np.all(np.abs(failed["u"](t)) <= 1)


def test_what_is_just_feasible_is_solved():
    """All but 1/4: full push, then full brake, and hardly any freedom left."""
    solution = solve(far(0.2499))
    assert solution.success
    assert solution["u"](0.1) == pytest.approx(1, abs=0.03)
    assert solution["u"](0.9) == pytest.approx(-1, abs=0.03)


def test_a_guess_where_the_model_is_no_number_is_refused():
    problem = line("roots", lambda x, u: u + log(x), "climb", start=0.5, end=1, guess=-1)
    with pytest.raises(GuessError) as caught:
        solve(problem)
    for word in ("'x'", "climb", "nan", "t = 0.125", "x = -1", "hint"):
        assert word in str(caught.value)


def test_a_place_where_the_model_is_no_number_is_named():
    """x must end at -1, where the logarithm does not exist: no attempt can work."""
    solution = solve(line("roots", lambda x, u: u + log(x), "climb", start=1, end=-1, guess=1))
    assert solution.status is Status.NOT_A_NUMBER
    text = "\n".join(solution.explanation)
    for words in ("state 'x'", "phase 'climb'", "t = 0.", "not a number", "try:"):
        assert words in text


def test_an_iteration_limit_is_told_from_infeasibility():
    solution = solve(builder("cart-pole")(), Collocation(backend=Ipopt(max_iterations=3)))
    assert solution.status is Status.ITERATIONS
    assert "max_iterations" in solution.explanation[-1]
    assert any("'dq'" in entry or "'dx'" in entry for entry in solution.explanation)


def test_a_saturated_control_is_mentioned():
    """A push that is too weak stays at its limit all along."""
    ocp = Problem("weak")
    ph = ocp.phase("push")
    ph.time(end=1)
    x, u = ph.state("x", start=0, end=3), ph.control("force", lower=-1, upper=2)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(u**2))
    solution = solve(ocp)
    assert solution.status is Status.INFEASIBLE
    assert any(
        "control 'force' stays at its upper bound 2" in entry for entry in solution.explanation
    )


def test_a_time_that_cannot_be_met_by_another_guess_is_still_found():
    """A free time guessed far off: some attempt finds the answer, 2."""
    ocp = Problem("slow guess")
    ph = ocp.phase()
    t = ph.time(end=free(0.01, 1000, guess=500))
    x = ph.state("x", start=0, end=1)
    v = ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    assert solve(ocp).check().objective == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize(
    "cost", [lambda ph, x, u: -ph.final(x), lambda ph, x, u: ph.integral(u**2 - 40 * x**2)]
)
def test_a_cost_without_end_is_recognised_at_once(cost):
    ocp = Problem("greedy")
    ph = ocp.phase()
    ph.time(end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u})
    ocp.minimize(cost(ph, x, u))
    solution = solve(ocp)
    assert not solution.success
    assert "has no lower bound" in solution.explanation[-1]
    assert not solution.log  # one attempt, and no others


def test_a_trajectory_through_an_obstacle_between_points_is_no_solution():
    """Three pillars without a gap: a coarse mesh finds a way through them, between its points; the
    true one leads round.
    """
    ocp = Problem("pillars")
    ph = ocp.phase()
    ph.time(end=4)
    p, v = ph.state("p", 2, start=[0, 0], end=[6, 0]), ph.state("v", 2, start=0, end=0)
    u = ph.control("u", 2, lower=-20, upper=20)
    ph.dynamics({p: v, v: u})
    for i, place in enumerate([(1.5, 0.4), (3.0, -0.4), (4.5, 0.4)]):
        ph.path(sumsqr(p - DM(place)), lower=1, name=f"pillar {i}")
    ocp.minimize(ph.integral(sumsqr(u)))
    solution = solve(ocp, tolerance=1e-4).check()
    t = np.linspace(0, 4, 2001)
    for place in [(1.5, 0.4), (3.0, -0.4), (4.5, 0.4)]:
        assert np.linalg.norm(solution["p"](t) - place, axis=1).min() > 1 - 1e-4
    # A straight line is the least without pillars; there is a way round on either side, 12.6 and
    # 18.9.
    assert 12 * 6**2 / 4**3 < solution.objective < 19


def test_a_mesh_too_coarse_for_any_motion_is_not_the_last_word():
    """Apollo's return (Stoer and Bulirsch): from a line every solution on the first mesh misses a
    little, less than its own error.
    """
    ocp = Problem("return from the moon")
    ph = ocp.phase()
    ph.time(start=0, end=free(100, 400))
    radius, gravity, decay, density = 209.0, 3.2172e-4, 4.26, 2.704e-3  # in 1e5 ft, s, slug
    v = ph.state("v", start=0.36, end=0.27, lower=0.1)
    climb = ph.state("climb", start=np.deg2rad(-8.1), end=0)
    # above the ground, in radii
    height = ph.state("height", start=4 / radius, end=2.5 / radius, lower=0, scale=0.01)
    u = ph.control("u", lower=-np.pi, upper=np.pi)
    air = density * exp(-decay * radius * height)
    drag, lift = 26600 * air * v**2 * (1.174 - 0.9 * cos(u)), 26600 * air * v * 0.6 * sin(u)
    ph.dynamics(
        {
            v: -drag - gravity * sin(climb) / (1 + height) ** 2,
            climb: lift
            + v * cos(climb) / (radius * (1 + height))
            - gravity * cos(climb) / (v * (1 + height) ** 2),
            height: v * sin(climb) / radius,
        }
    )
    ocp.minimize(ph.integral(10 * v**3 * sqrt(air)))
    assert solve(ocp).check().objective == pytest.approx(0.027782408834, rel=1e-7)  # by shooting


def test_an_answer_that_is_none_is_not_recommended():
    """A fast jump of a relaxation oscillation, on meshes that are too few: a larger tolerance would
    not make it right.
    """
    ocp = Problem("relaxation")
    ph = ocp.phase()
    ph.time(start=0, end=20)
    x, y = ph.state("x", start=2), ph.state("y", start=0)
    u = ph.control("u", lower=-0.5, upper=0.5)
    ph.dynamics({x: y, y: 100 * (1 - x**2) * y - x + u})
    ocp.minimize(ph.integral(x**2 + u**2))
    solution = solve(ocp, Collocation(max_passes=2))
    assert solution.status is Status.COARSE
    assert solution.error > 0.1
    assert "too large to trust" in solution.explanation[1]
    assert "larger tolerance" not in solution.explanation[1]
