"""Every attempt and every remedy of the strategy is needed: a problem fails without it."""

from dataclasses import replace

import numpy as np
import pytest
from casadi import DM, cos, exp, sin, sqrt, sumsqr

from trajopt import Problem, free, solve
from trajopt.direct.collocation import Collocation
from trajopt.direct.strategy import REMEDIES
from trajopt.errors import UsageError


def dubins(x_end, y_end, heading):
    """The shortest way of a car that turns with radius 1 (Dubins 1957)."""
    ocp = Problem("car")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, y = ph.state("x", start=0, end=x_end), ph.state("y", start=0, end=y_end)
    angle, turn = ph.state("angle", start=0, end=heading), ph.control("turn", lower=-1, upper=1)
    ph.dynamics({x: cos(angle), y: sin(angle), angle: turn})
    ocp.minimize(ph.final(t))
    return ocp


def sideways():
    return dubins(0, 1, 0)


def either_side():
    """To stay in the middle is stationary, and the worst."""
    ocp = Problem("either side")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.maximize(ph.final(x) ** 2)
    return ocp


def apollo():
    """Apollo's return (Stoer and Bulirsch): the first mesh is too coarse for any trajectory.

    At their entry angle of 8.1 degrees, programs that do not converge end near a solution, or far
    from one, by rounding; at 8 degrees they do not find it with the kernels of any processor.
    """
    ocp = Problem("return from the moon")
    ph = ocp.phase()
    ph.time(start=0, end=free(100, 400))
    radius, gravity, decay, density = 209.0, 3.2172e-4, 4.26, 2.704e-3  # in 1e5 ft, s, slug
    v = ph.state("v", start=0.36, end=0.27, lower=0.1)
    climb = ph.state("climb", start=np.deg2rad(-8.0), end=0)
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
    return ocp


def wells():
    """Two minima of the Hamiltonian; the guess leads to the more expensive one."""
    ocp = Problem("wells")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1.5, upper=2.5)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(1 + (u**2 - 1) ** 2 + 0.3 * u))
    return ocp


def fishery():
    """Harvest of a fish stock: wait, hold the singular stock, fish it down (Clark 1976)."""
    ocp = Problem("fishery")
    ph = ocp.phase()
    t = ph.time(start=0, end=10)
    stock, effort = ph.state("stock", start=0.3, lower=0.01), ph.control("effort", lower=0, upper=1)
    ph.dynamics({stock: stock * (1 - stock) - effort * stock})
    ocp.maximize(ph.integral(exp(-0.05 * t) * (2 * stock - 0.4) * effort))
    return ocp


def aircraft():
    """The F-8 aircraft recovers from a stall in least time; several bang-bang optima (Garrard &
    Jordan 1977).
    """
    ocp = Problem("aircraft")
    ph = ocp.phase()
    t, most = ph.time(start=0, end=free(0.1, 20)), 0.05236
    a = ph.state("a", start=0.4655, end=0)
    b = ph.state("b", start=0, end=0)
    c = ph.state("c", start=0, end=0)
    u = ph.control("u", lower=-most, upper=most)
    lift = -0.877 * a + c - 0.088 * a * c + 0.47 * a**2 - 0.019 * b**2 - a**2 * c + 3.846 * a**3
    moment = -4.208 * a - 0.396 * c - 0.47 * a**2 - 3.564 * a**3
    ph.dynamics({
        a: lift - 0.215 * u + 0.28 * a**2 * u + 0.47 * a * u**2 + 0.63 * u**3, b: c,
        c: moment - 20.967 * u + 6.265 * a**2 * u + 46 * a * u**2 + 61.4 * u**3,
    })  # fmt: skip
    ocp.minimize(ph.final(t))
    return ocp


def coast():
    """Two burns of least fuel and a coast between them, on which the direction of thrust, a unit
    vector, has no effect.
    """
    ocp = Problem("coast")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x = ph.state("x", size=2, start=[1, 0.5], end=[0, 0])
    v = ph.state("v", size=2, start=[0, 0], end=[0, 0])
    thrust = ph.control("thrust", lower=0, upper=1)
    direction = ph.control("direction", size=2, lower=-1.1, upper=1.1)
    ph.dynamics({x: v, v: thrust * direction})
    ph.path(direction[0] ** 2 + direction[1] ** 2, equals=1, name="unit vector")
    ocp.minimize(ph.integral(thrust))
    return ocp


def pillars_in_the_way():
    """Without a gap between them; a coarse mesh finds a way through, between its points. With a
    guess no other start is tried.
    """
    ocp = Problem("pillars")
    ph = ocp.phase()
    ph.time(end=4)
    p = ph.state("p", 2, start=[0, 0], end=[6, 0], guess=lambda tau: [6 * tau, 0 * tau])
    v = ph.state("v", 2, start=0, end=0)
    u = ph.control("u", 2, lower=-20, upper=20)
    ph.dynamics({p: v, v: u})
    for i, place in enumerate([(1.5, 0.4), (3.0, -0.4), (4.5, 0.4)]):
        ph.path(sumsqr(p - DM(place)), lower=1, name=f"pillar {i}")
    ocp.minimize(ph.integral(sumsqr(u)))
    return ocp


NEEDED = {
    "where one solves": ("other starts", sideways),
    "where the first one is symmetric": ("other starts", either_side),
    "where the first one is a poor optimum": ("other starts", aircraft),
    "where the motion is fast": ("other starts", apollo),
    "where a mesh is too coarse": ("a finer first mesh", pillars_in_the_way),
    "settled controls": ("settled controls", coast),
    "a mixture of two controls": ("a mixture of two controls", wells),
}
# meshes; without settled controls as many as there are would be used up
ENOUGH = {"settled controls": 5}
TOLERANCES = {"a finer first mesh": 1e-4}
# There is no solve without the first; the last two tests have the problems of the others.
MOST = 7
STARTS = {"first attempt", "the arcs of the guess", "least violation first"}


def test_every_attempt_and_every_remedy_has_its_problem():
    assert len(REMEDIES) == len(set(REMEDIES))
    assert set(REMEDIES) == {*[name for name, _ in NEEDED.values()], *STARTS}
    assert len(REMEDIES) <= MOST


def test_an_unknown_name_is_an_error():
    with pytest.raises(UsageError, match="did you mean 'other starts"):
        solve(wells(), Collocation(without=frozenset({"other start"})))


@pytest.mark.parametrize("case", NEEDED)
def test_without_it_a_problem_fails(case):
    """In status, or in an objective that is worse, or better than the conditions allow."""
    name, build = NEEDED[case]
    problem = build()
    method = Collocation(max_passes=ENOUGH.get(name, 12), tolerance=TOLERANCES.get(name, 1e-6))
    whole = solve(problem, method).check()
    without = solve(problem, replace(method, without=frozenset({name})))
    assert not without.success or without.objective != pytest.approx(whole.objective, rel=1e-6)


def test_without_its_arcs_an_earlier_solution_takes_more_meshes():
    """Bang, singular, bang: two meshes suffice if the arcs are known, as in a sweep."""
    earlier = solve(fishery()).check()
    again, without = (
        solve(fishery(), Collocation(max_passes=2, without=left_out), guess=earlier)
        for left_out in (frozenset(), frozenset({"the arcs of the guess"}))
    )
    assert again.check().objective == pytest.approx(earlier.objective, rel=1e-9)
    assert not without.success


def test_without_the_least_violation_of_the_guess_another_condition_is_blamed():
    """From rest to rest over a distance of 1 in one second takes an effort of 12; 3 are allowed."""
    ocp = Problem("budget")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    ocp.require(ph.integral(u**2), upper=3, name="budget")
    ocp.minimize(ph.integral(u**2))
    whole, without = (
        "\n".join(solve(ocp, Collocation(without=left_out)).explanation)
        for left_out in (frozenset(), frozenset({"least violation first"}))
    )
    assert "its value is 12, required is at most 3" in whole
    assert "end value" not in whole
    assert "its value is 12" not in without
