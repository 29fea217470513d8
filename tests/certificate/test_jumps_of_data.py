"""Data that jump at a given time: the jump is no switch, and does not move."""

import casadi
import numpy as np
import pytest

from tests.benchmarks.planted.by_hand import answer, phase
from tests.benchmarks.planted.statements import arcs, even
from trajopt import Problem, certify, free
from trajopt.certificate.branches import jumps_of_data
from trajopt.certificate.sampled_solution import along


def tariff(first, second, at):
    """x' = u from 0 to 1 over [0, 2], the integral of a price times u^2; and its closed form."""
    ocp = Problem("tariff")
    ph = ocp.phase()
    t = ph.time(start=0, end=2)
    x, u = ph.state("x", start=0, end=1), ph.control("u", lower=0, upper=5)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(casadi.if_else(t < at, first, second) * u**2))
    cost = 1 / (at / first + (2 - at) / second)
    early, late = cost / first, cost / second
    breaks = even(0, at, 2, parts=2)
    reached = [lambda t: early * t, lambda t: 1 - late * (2 - t)]
    states = {"x": arcs(breaks, [at], reached)}
    controls = {"u": arcs(breaks, [at], [early, late])}
    given = phase(breaks, states, controls, {"x": -2 * cost}, integrals=cost)
    return ocp, answer(cost, given)


@pytest.mark.parametrize(("first", "second", "at"), [(1, 2, 1.3), (3, 1, 0.77), (1, 5, 0.1)])
def test_a_tariff_is_no_switch(first, second, at):
    problem, right = tariff(first, second, at)
    certificate = certify(right, problem)
    assert certificate.claim == "minimum", str(certificate)


def bus(at, late=0.0):
    """x' = u <= 1 in the least of T + p u, where p falls at a given time, from 0 to 1; T = 3 where
    waiting for it is worth while.
    """
    ocp = Problem("tariff at both sides of a switch")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.5, 9))
    x, u = ph.state("x", start=0, end=1), ph.control("u", lower=0, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.final(t) + ph.integral(casadi.if_else(t < at, 4, 1) * u))
    end = at + 1 + late
    breaks = np.array([0, at + late, end])
    states = {"x": arcs(breaks, [at + late], [0.0, lambda t: t - at - late])}
    controls = {"u": arcs(breaks, [at + late], [0.0, 1.0])}
    given = phase(breaks, states, controls, {"x": -2.0}, integrals=1.0)
    return ocp, answer(end + 1, given)


def test_a_switch_at_a_jump_of_data_stays_there():
    problem, right = bus(1.0)
    assert certify(right, problem).claim in ("extremal", "minimum")
    problem, late = bus(1.0, 0.1)
    assert certify(late, problem).claim == "feasible"


def test_jumps_are_found_whatever_the_mesh_is():
    problem, right = tariff(1, 2, 0.123)
    ph = along(problem.finish(), right).phases[0]
    np.testing.assert_allclose(jumps_of_data(ph), [0.123], atol=1e-15)
