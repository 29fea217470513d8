"""The row "normality": whether variations change all conditions, so that multipliers are unique."""

from dataclasses import replace

import numpy as np
import pytest

from tests.benchmarks.planted.by_hand import answer, phase
from tests.benchmarks.planted.statements import even
from trajopt import Problem, certify, free, solve
from trajopt.certificate.agreement import agreement
from trajopt.certificate.table import COST_MULTIPLIER
from trajopt.second_order import QuadraticForm, dependent_conditions


def block(repeated=False):
    """Rest to rest with least effort."""
    ocp = Problem("block")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    if repeated:
        ocp.require(ph.final(x) + 2 * ph.final(v) == 1)
    ocp.minimize(ph.integral(u**2))
    return ocp


def pinned():
    """The end value of y can only be reached at rest, where no variation changes it: an abnormal
    extremal.
    """
    ocp = Problem("pinned")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y, u = (
        ph.state("x", start=0),
        ph.state("y", start=0, end=0),
        ph.control("u", lower=-1, upper=1),
    )
    ph.dynamics({x: u, y: u**2 + x**2})
    ocp.minimize(ph.integral((x - 1) ** 2))
    return ocp


def at_rest():
    """Its only admissible motion."""
    costates = {"x": lambda t: 2 * t - 2, "y": 1.0}
    return answer(1.0, phase(even(0, 1), {"x": 0.0, "y": 0.0}, {"u": 0.0}, costates))


def tunnel(shorter=False):
    """A fall through a planet: the last speed follows from the energy, to second order only, where
    it is zero.
    """
    ocp = Problem("tunnel")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    x, y = ph.state("x", start=1, end=-0.5), ph.state("y", start=0, end=3**0.5 / 2)
    v = ph.state("v", start=0, lower=0)
    a, b = ph.control("a", lower=-1, upper=1), ph.control("b", lower=-1, upper=1)
    ph.dynamics({x: v * a, y: v * b, v: -(x * a + y * b)})
    ph.path(a**2 + b**2, equals=1)
    ocp.minimize(ph.final(t) + ph.integral(v) if shorter else ph.final(t))
    return ocp


def undecided():
    """Only rest is admissible, but the second variation of its abnormal multipliers has no control
    in it.
    """
    ocp = Problem("undecided")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y, u = (
        ph.state("x", start=0),
        ph.state("y", start=0, end=0),
        ph.control("u", lower=-1, upper=1),
    )
    ph.dynamics({x: u, y: x**2})
    ocp.minimize(ph.integral((u - 1) ** 2))
    return ocp


@pytest.mark.parametrize(
    ("problem", "solved", "expected"),
    [
        (block(), solve, "multipliers are unique"),
        (block(repeated=True), solve, "only 6 of 7 conditions"),
        (pinned(), lambda _: at_rest(), "only 4 of 5 conditions"),
    ],
)
def test_dependent_conditions_are_reported(problem, solved, expected):
    rows = certify(solved(problem), problem).checks
    assert expected in next(check.remark for check in rows if check.name == "normality")


def test_a_rigid_motion_is_a_minimum_of_any_cost():
    certificate = certify(at_rest(), pinned())
    assert certificate.claim == "minimum", str(certificate)
    assert "rigid" in certificate[COST_MULTIPLIER].remark
    assert (
        "abnormal: the conditions hold with cost multiplier zero"
        in certificate[COST_MULTIPLIER].remark
    )


def test_an_end_that_other_conditions_hold_to_second_order_asks_for_no_transversality():
    certificate = certify(solve(tunnel()))
    assert certificate.claim == "minimum", str(certificate)
    assert "other conditions hold the last v at its limit" in certificate[COST_MULTIPLIER].remark


def test_an_abnormal_problem_does_not_certify_a_motion_of_higher_cost():
    quickest, shorter = solve(tunnel()).check(), solve(tunnel(shorter=True)).check()
    ph = shorter.phases["main"]
    wrong = replace(
        shorter,
        objective=ph.tf,
        form=quickest.form,
        phases={"main": replace(ph, integrals=np.zeros(0))},
    )
    assert wrong.objective > 1.002 * quickest.objective
    certificate = certify(wrong)
    assert certificate.claim == "feasible", str(certificate)


def test_an_abnormal_answer_that_is_not_decided_gets_no_misleading_advice():
    certificate = certify(solve(undecided()))
    assert certificate.claim == "feasible", str(certificate)
    assert COST_MULTIPLIER in {check.name for check in certificate.checks}
    advice = certificate.to_json()["advice"]
    assert any("cost multiplier of zero" in text for text in advice.values())
    assert not any("A better answer is near" in text for text in advice.values())


def test_a_wrong_answer_of_a_normal_problem_is_not_called_abnormal():
    right = solve(block())
    ph = right.phases["main"]
    costates = {
        name: replace(c, values=tuple(1.1 * v for v in c.values)) for name, c in ph.costates.items()
    }
    certificate = certify(replace(right, phases={"main": replace(ph, costates=costates)}))
    assert certificate.claim == "feasible"
    assert COST_MULTIPLIER not in {check.name for check in certificate.checks}


@pytest.mark.parametrize(("unique", "applies"), [(True, True), (False, False)])
def test_methods_are_compared_in_what_is_unique(unique, applies):
    solution = solve(block())
    rows = agreement(solution.form, solution, solution, 1e-6, 1.0, unique)
    assert [row.applies for row in rows][:2] == [True, applies]


def test_combinations_of_conditions_that_no_variation_changes():
    rng = np.random.default_rng(3)
    C = rng.normal(size=(4, 9))
    C[3] = 2 * C[0] - C[2]
    units = 10.0 ** rng.uniform(-3, 3, 9)
    found = dependent_conditions(QuadraticForm(np.eye(9), C, units))
    assert found.shape == (1, 4)
    multipliers = found[0] / np.abs(C * units).max(axis=1)
    assert multipliers / multipliers[3] == pytest.approx(np.array([-2.0, 0.0, 1.0, 1.0]), abs=1e-12)
    assert dependent_conditions(QuadraticForm(np.eye(9), C[:3], np.ones(9))).shape == (0, 3)
