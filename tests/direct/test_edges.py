"""Edges of what has a value: tables that end where a state's bound is, and costs that
end at zero.
"""

import casadi
import numpy as np
import pytest

from trajopt import Problem, Status, free, solve

FASTEST = 5.0


def run_to_a_stop(drag, symbols):
    """A car goes 40 m and stops, as fast as it can, not faster than the drag is known."""
    ocp = Problem("run to a stop", symbols=symbols)
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 60))
    x = ph.state("x", start=0, end=40)
    v = ph.state("v", start=0, end=0, lower=0, upper=FASTEST)
    u = ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: v, v: u - drag(v)})
    ocp.minimize(ph.final(t))
    return ocp


def test_a_table_may_end_at_a_bound():
    """CasADi's splines are zero beyond their grid: nothing may be evaluated there, be it
    by a hair.
    """
    grid = np.linspace(0, FASTEST, 21)
    # cubic splines hold a parabola exactly
    table = casadi.interpolant("drag", "bspline", [grid], 0.02 * grid**2)
    assert float(table(FASTEST * (1 + 1e-12))) == 0
    by_table = solve(run_to_a_stop(table, casadi.MX)).check()
    by_formula = solve(run_to_a_stop(lambda v: 0.02 * v**2, casadi.SX)).check()
    assert by_table.objective == pytest.approx(by_formula.objective, rel=1e-9)
    assert float(by_table["v"](by_table.objective / 2)) == pytest.approx(FASTEST, abs=1e-7)


def test_a_table_may_end_where_a_smooth_control_holds_a_state():
    """The least effort for a given way and time rides along the fastest speed, and along the edge
    of the table.
    """
    grid = np.linspace(0, FASTEST, 21)
    table = casadi.interpolant("drag", "bspline", [grid], 0.02 * grid**2)
    costs = []
    for drag, symbols in ((table, casadi.MX), (lambda v: 0.02 * v**2, casadi.SX)):
        ocp = Problem("least effort", symbols=symbols)
        ph = ocp.phase()
        ph.time(start=0, end=10)
        x, v = ph.state("x", start=0, end=40), ph.state("v", start=0, end=0, lower=0, upper=FASTEST)
        u = ph.control("u")
        ph.dynamics({x: v, v: u - drag(v)})
        ocp.minimize(ph.integral(u**2))
        costs.append(solve(ocp).check().objective)
    assert costs[0] == pytest.approx(costs[1], rel=1e-7)


def test_a_cost_of_zero_is_reached_and_refined_no_further():
    """What is left of a cost that vanishes is no measure of the error."""
    ocp = Problem("to rest, where it can be reached")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    x, v = ph.state("x", start=1), ph.state("v", start=1)
    u = ph.control("u", lower=-50, upper=50)
    ph.dynamics({x: v, v: u - 0.1 * (1 + 2 * x**2) * v})
    ocp.minimize(5 * ph.final(x) ** 2 + 5 * ph.final(v) ** 2)
    solution = solve(ocp)
    assert solution.status is Status.SOLVED
    assert solution.objective < 1e-12
    assert len(solution.history) <= 3
