"""Complementarity as a large penalty in the cost: solved, or the cost's size is blamed, not the
constraints.
"""

import pytest
from casadi import sin

from trajopt import Compiled, Problem, solve
from trajopt.direct.collocation import Collocation
from trajopt.trajectory.solution import Status


def battery(penalty):
    """A battery bought at a varying price; it should not charge and discharge at once."""
    ocp = Problem("battery")
    ph = ocp.phase()
    t = ph.time(start=0, end=24, unit="h")
    energy = ph.state("energy", start=2, end=2, lower=0, upper=5)
    charge = ph.control("charge", lower=0, upper=1.5)
    discharge = ph.control("discharge", lower=0, upper=1.5)
    ph.dynamics({energy: 0.9 * charge - discharge / 0.9})
    net = charge - discharge
    ocp.minimize(ph.integral((2 + sin(t / 3)) * net + 0.2 * net**2 + penalty * charge * discharge))
    return ocp


@pytest.mark.parametrize("penalty", [1e3, 1e6])
def test_a_battery_that_does_not_charge_and_discharge_at_once(penalty):
    """Meshes that end at the limit of iterations are continued, not refined without end."""
    solution = solve(battery(penalty)).check()
    assert solution.objective == pytest.approx(-5.207105, rel=2e-6)
    assert max(mesh.intervals for mesh in solution.history) < 200


def test_the_size_of_the_cost_is_blamed():
    solution = solve(battery(1e6), Collocation(backend=Compiled(max_iterations=60), max_passes=3))
    assert solution.status is Status.ITERATIONS
    first, second = solution.explanation
    assert first == "the constraints are met, but the cost did not converge"
    assert "large weights in it hinder the solver" in second


def test_a_cost_of_usual_size_is_not_blamed():
    solution = solve(battery(0.1), Collocation(backend=Compiled(max_iterations=5), max_passes=3))
    assert not solution.success
    assert not any("weights" in line for line in solution.explanation)
