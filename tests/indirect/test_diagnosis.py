"""A failure names the equation, the arc and the time with the largest residual, its kind, and what
to try.
"""

from dataclasses import replace

import casadi
import numpy as np
import pytest
import scipy.sparse as sparse

from trajopt import Problem, builder, solve
from trajopt.errors import GuessError
from trajopt.indirect.control_law import arc_law
from trajopt.indirect.diagnosis import ADVICE, diagnose
from trajopt.indirect.flow import ArcFlow
from trajopt.indirect.grid import Probe, choose_grid
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.initial_system import shooting_problem
from trajopt.indirect.modes import Mode
from trajopt.indirect.newton import NewtonEnd, NewtonResult, solve_by_newton
from trajopt.indirect.rollout import rollout
from trajopt.indirect.shooting import Shooting
from trajopt.trajectory.solution import Status


def test_a_wrong_structure_is_named_with_its_arc_and_time():
    """From 0 to 1 in the least time with |u| <= 1, but only one structure is allowed: u at its
    lower bound all the time.
    """
    right = solve(builder("double-integrator-mintime")(), "both").check()
    wrong = replace(
        right, arcs=(replace(right.arcs[0], end=right.arcs[-1].end, roles={"u": "lower"}),)
    )
    solution = Shooting(structures=1).solve(right.form, wrong)
    assert solution.status is Status.FAILED
    head, where, advice = solution.explanation
    assert head.startswith("Newton's method for Pontryagin's conditions: ")
    assert where.startswith("structure: the largest residual, ")
    assert advice == ADVICE["structure"]


def test_every_row_of_the_system_has_a_name_and_a_place():
    """On a boundary arc: entry conditions where it begins, its multiplier where it ends."""
    right = solve(builder("bryson-denham")(), "both").check()
    options = Shooting()
    hams, p = phase_hamiltonians(right.form), right.form.parameter_values(None)
    prepared = shooting_problem(
        right.form, hams, next(options._starts(right.form, hams, right, p))[1], p, options
    )
    system, unknowns = prepared.system, prepared.unknowns
    residual, _ = system.evaluate(unknowns)
    named = [system.equation(row, unknowns) for row in range(residual.size)]
    texts = [equation.text for equation in named]
    assert texts.count("constraint 'x' where it becomes active") == 1
    place = named[texts.index("derivative 1 of the constraint 'x' where it becomes active")]
    assert place.arc == 1
    assert place.time == pytest.approx(right.arcs[1].start, abs=1e-6)
    left = named[texts.index("multiplier of constraint 'x' where it is left")]
    assert (left.arc, left.time) == (2, pytest.approx(right.arcs[2].start, abs=1e-6))


def test_growth_of_errors_is_named():
    """x' = x^3 + u: far from the guess, whose segments are long, neighbouring trajectories separate
    quickly.
    """
    ocp = Problem("cubic")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0.1), ph.control("u")
    ph.dynamics({x: x**3 + u})
    ocp.minimize(ph.integral(u**2 + x**2))
    form, options = ocp.finish(), Shooting()
    hams, p = phase_hamiltonians(form), form.parameter_values(None)
    prepared = shooting_problem(
        form, hams, rollout(form, hams, {"x": 0.1}, p, options.law_of), p, options
    )
    near = NewtonResult(prepared.unknowns, NewtonEnd.STALLED, (1.0,), (1.0,), (), 1.0, worst=0)
    assert diagnose(prepared, near)[1].startswith("structure: ")
    moved = prepared.unknowns.copy()
    moved[prepared.system.layout.nodes[0][:, 0]] = 4.0
    lines = diagnose(prepared, replace(near, unknowns=moved))
    assert lines[1].startswith("growth: ")
    assert lines[2] == ADVICE["growth"]


def test_corrections_of_a_solved_system_are_noise():
    """Rows that are equal up to rounding errors: the residual is zero, the corrections are not."""
    random = np.random.default_rng(1)

    class Noise:
        def residual(self, y):
            return 1e-17 * random.normal(size=2)

        def evaluate(self, y):
            return self.residual(y), sparse.csr_matrix([[1.0, 1.0], [1.0, 1.0 + 1e-11]])

    result = solve_by_newton(
        Noise(), np.zeros(2), np.ones(2), lambda unknowns, step: 1.0, tolerance=1e-10, iterations=60
    )
    assert result.end is NewtonEnd.ROUNDING


def noisy(size):
    """x' = u + size * noise, where the noise is a function that changes with every bit of x."""
    ocp = Problem("noise")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=1), ph.control("u")
    ph.dynamics({x: u + size * casadi.sin(1e12 * x)})
    ocp.minimize(ph.integral(x**2 + u**2))
    return ocp


@pytest.mark.parametrize(("size", "kind"), [(1e-6, "noise"), (1e3, "growth")])
def test_too_many_steps_are_named_by_kind(size, kind):
    ham = phase_hamiltonians(noisy(size).finish())[0]
    flow = ArcFlow(arc_law(ham, Mode(("interior",))))
    probe = Probe(
        lambda tau: np.tile([1.0, 0.5], (tau.size, 1)), np.ones(flow.law.size), np.zeros(0)
    )
    with pytest.raises(GuessError, match=kind):
        choose_grid(flow, probe, np.array([0.0, 1.0, 1.0]), np.zeros(0), 1e-12)
