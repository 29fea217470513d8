"""The duration of a phase without an upper bound of its end time."""

from __future__ import annotations

import casadi
import numpy as np
import pytest

from trajopt import Problem, Status, free, solve
from trajopt.guess.plain import plain_guess


def length(ocp: Problem) -> float:
    phase = plain_guess(ocp.finish()).phases[0]
    return phase.tf - phase.t0


def block(distance: float, force: float, lower: float = 0.0) -> Problem:
    ocp = Problem("block")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(lower))
    x, v = ph.state("x", start=0, end=distance), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-force, upper=force)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.final(t))
    return ocp


@pytest.mark.parametrize("second", [1e-6, 1.0, 1e5])
def test_the_dynamics_decide_the_unit_of_time(second: float) -> None:
    duration = length(block(1000, 3 / second**2))
    assert duration == pytest.approx(np.sqrt(2000 / 3) * second, rel=0.2)


def test_a_bound_is_obeyed() -> None:
    assert length(block(1000, 3, lower=40)) == 80


def test_where_nothing_arrives_the_unit_of_the_statement_counts() -> None:
    ocp = Problem("held")
    ph = ocp.phase()
    ph.time(start=0, end=free(0))
    x, u = ph.state("x", start=0, end=5), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u - x})  # stays below 1
    ocp.minimize(ph.integral(u**2))
    assert length(ocp) == 1


def test_a_motion_ends_at_a_singularity() -> None:
    """Behind it, at a negative mass, a rocket flies on in the equations only."""
    ocp = Problem("rocket")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0))
    h, v = ph.state("h", start=0, end=1e6), ph.state("v", start=0)
    m = ph.state("m", start=100)
    ph.dynamics({h: v, v: 3000 / m - 9.81, m: -1})
    ocp.minimize(ph.final(t))
    assert length(ocp) <= 100


def test_a_transfer_between_planets_in_si_units_is_solved() -> None:
    mu, r0, r1 = 1.32712e20, 1.496e11, 2.282e11
    ocp = Problem("transfer")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0))
    r, u = ph.state("r", start=r0, end=r1), ph.state("u", start=0, end=0)
    v = ph.state("v", start=np.sqrt(mu / r0), end=np.sqrt(mu / r1))
    m, angle = ph.state("m", start=4535.9), ph.control("angle")
    push = 3.778 / m
    ph.dynamics(
        {
            r: u,
            u: v**2 / r - mu / r**2 + push * casadi.sin(angle),
            v: -u * v / r + push * casadi.cos(angle),
            m: -6.76e-5,
        }
    )
    ocp.minimize(ph.final(t))
    solution = solve(ocp)
    assert solution.status is Status.SOLVED
    assert solution.objective == pytest.approx(1.668e7, rel=1e-3)
