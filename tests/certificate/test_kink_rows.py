"""Kinks and steps: controls beside one, motions and ends on one."""

import casadi
import pytest

from tests.benchmarks.planted.by_hand import answer, phase
from tests.benchmarks.planted.statements import even
from trajopt import Problem, certify
from trajopt.certificate.branches import branches, smooth_in
from trajopt.certificate.kink_rows import KINKS


def at_rest(sign, reached=True):
    """x = 0 on the kink of sign |x|; without ``reached`` no control moves x."""
    ocp = Problem("kink")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u")
    ph.dynamics({x: u if reached else -x})
    ocp.minimize(ph.integral(u**2 + sign * casadi.fabs(x)))
    zero = {"x": 0.0}
    return certify(answer(0.0, phase(even(0, 1), zero, {"u": 0.0}, zero)), ocp)


@pytest.mark.parametrize(("sign", "scope"), [(1.0, "global"), (-1.0, "local")])
def test_a_motion_on_a_kink_is_certified_where_the_cost_rises_to_both_sides(sign, scope):
    certificate = at_rest(sign)
    assert certificate.scope == scope
    assert certificate.claim == ("minimum" if sign > 0 else "feasible")
    assert "kink" in certificate[KINKS].remark


def test_a_kink_that_no_variation_leaves_is_none():
    certificate = at_rest(-1.0, reached=False)
    assert KINKS not in {row.name for row in certificate.checks}
    assert certificate.claim == "minimum"


def test_what_operations_branch_on_is_read_from_the_tape():
    x, u = casadi.SX.sym("x"), casadi.SX.sym("u")
    both = casadi.if_else(u > 1, x, 0) + casadi.fmax(x, 2)
    assert len(branches(both, [x, u])[0]) == 2
    assert not smooth_in(both, [x, u], [1])
    assert smooth_in(casadi.fabs(x) + u**2, [x, u], [1])
