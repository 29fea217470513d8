"""Endpoint conditions that an arc on a state constraint implies already: systems are square and of full rank."""

import numpy as np
import pytest

from trajopt import Problem, solve
from trajopt.indirect.hamiltonian import hamiltonians
from trajopt.indirect.initial_system import prepare
from trajopt.indirect.shooting import Shooting

W = 4.0
T1 = np.sqrt(2 / W)  # u = W (T1 - t) brings v to its limit of 1, where u = 0 keeps it
COST = -(W**2) * T1**3 / 6 - W * (1 - T1)


def far_within_a_limit(ending):
    """As far as possible at a limited speed, for the square of the thrust: the speed stays at its limit to the end.

    ``ending``: how the limit is stated: a path constraint, a bound of the state, that and an end value, or two linked phases.
    """
    ocp = Problem("far")
    first = ocp.phase("first")
    last = ocp.phase("last") if ending == "linked" else None
    cost = 0
    for ph, span in ((first, (0, 1)),) if last is None else ((first, (0, 0.85)), (last, (0.85, 1))):
        ph.time(start=span[0], end=span[1])
        begin = {"start": 0} if ph is first else {}
        x = ph.state("x", **begin)
        v = ph.state("v", **begin, **({} if ending == "path" else {"upper": 1}), **({"end": 1} if ending == "end value" else {}))
        u = ph.control("u")
        ph.dynamics({x: v, v: u})
        if ending == "path":
            ph.path(v, upper=1, name="limit")
        cost = cost + ph.integral(u**2) / 2
    if last is not None:
        ocp.connect(first, last)
    ocp.minimize(cost - W * (last or first).final(x))
    return ocp


@pytest.mark.parametrize("ending", ["path", "bound", "end value", "linked"])
def test_conditions_that_the_last_arc_implies_are_left_out(ending):
    ocp = far_within_a_limit(ending)
    direct = solve(ocp)
    form, options = ocp.finish(), Shooting()
    hams, p = hamiltonians(form), form.parameter_values(None)
    prepared = prepare(form, hams, next(options._starts(form, hams, direct, p))[1], p, options)
    matrix = prepared.system.evaluate(prepared.unknowns)[1].toarray()
    assert matrix.shape[0] == matrix.shape[1] == np.linalg.matrix_rank(matrix)
    solution = options.solve(form, direct)
    assert solution.success, solution.explanation
    assert solution.objective == pytest.approx(COST, rel=1e-11)
    assert solution.arcs[0].end == pytest.approx(T1, rel=1e-9)
    assert solution.phases["first"].costates["v"](0.0) == pytest.approx(-W * T1, rel=1e-9)
