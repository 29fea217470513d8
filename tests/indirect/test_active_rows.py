"""Endpoint conditions that an arc on a state constraint implies already: systems are square and of
full rank.
"""

from dataclasses import replace

import numpy as np
import pytest

import trajopt.indirect.active_rows
import trajopt.indirect.newton
from trajopt import Problem, solve
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.initial_system import shooting_problem
from trajopt.indirect.settings import NEWTON
from trajopt.indirect.shooting import Shooting

W = 4.0
T1 = np.sqrt(2 / W)  # u = W (T1 - t) brings v to its limit of 1, where u = 0 keeps it
COST = -(W**2) * T1**3 / 6 - W * (1 - T1)


def far_within_a_limit(ending):
    """As far as possible at a limited speed, for the square of the thrust: the speed stays at its
    limit to the end.

    ``ending``: how the limit is stated: a path constraint, a bound of the state, that and an end
    value, or two linked phases.
    """
    ocp = Problem("far")
    first = ocp.phase("first")
    last = ocp.phase("last") if ending == "linked" else None
    cost = 0
    for ph, span in ((first, (0, 1)),) if last is None else ((first, (0, 0.85)), (last, (0.85, 1))):
        ph.time(start=span[0], end=span[1])
        begin = {"start": 0} if ph is first else {}
        x = ph.state("x", **begin)
        v = ph.state(
            "v",
            **begin,
            **({} if ending == "path" else {"upper": 1}),
            **({"end": 1} if ending == "end value" else {}),
        )
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
    hams, p = phase_hamiltonians(form), form.parameter_values(None)
    prepared = shooting_problem(
        form, hams, next(options._starts(form, hams, direct, p))[1], p, options
    )
    matrix = prepared.system.evaluate(prepared.unknowns)[1].toarray()
    assert matrix.shape[0] == matrix.shape[1] == np.linalg.matrix_rank(matrix)
    solution = options.solve(form, direct)
    assert solution.success, solution.explanation
    assert solution.objective == pytest.approx(COST, rel=1e-11)
    assert solution.arcs[0].end == pytest.approx(T1, rel=1e-9)
    assert solution.phases["first"].costates["v"](0.0) == pytest.approx(-W * T1, rel=1e-9)


def landing():
    """Rest to rest onto the tip of a cone, in which the motion stays: the cone's condition at the
    end repeats the end itself.
    """
    ocp = Problem("landing")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y = ph.state("x", start=1, end=0), ph.state("y", start=1, end=0)
    vx, vy = ph.state("vx", start=0, end=0), ph.state("vy", start=0, end=0)
    u, w = ph.control("u"), ph.control("w")
    ph.dynamics({x: vx, y: vy, vx: u, vy: w})
    ph.path(4 * y**2 - x**2, lower=0, name="cone")
    ocp.minimize(ph.integral(u**2 + w**2))
    return ocp


@pytest.mark.parametrize("dense", [0, 700])
def test_an_inequality_that_other_conditions_imply_is_left_out(dense, monkeypatch):
    """Its multiplier would be arbitrary; with sparse factors Newton's method would not end."""
    monkeypatch.setattr(trajopt.indirect.newton, "NEWTON", replace(NEWTON, dense=dense))
    ocp = landing()
    solution = Shooting().solve(ocp.finish(), solve(ocp)).check()
    assert solution.objective == pytest.approx(24, rel=1e-12)
    assert len(solution.log) == 2
    assert (
        solution.log[1]
        == "the multipliers of 'end of cone' and 'end of x' and 'end of y' are not unique"
    )


def test_that_inequality_is_kept_where_nothing_looks_for_it(monkeypatch):
    """Whether Newton's method ends then is decided by rounding."""
    monkeypatch.setattr(trajopt.indirect.newton, "NEWTON", replace(NEWTON, dense=0))
    monkeypatch.setattr(trajopt.indirect.active_rows._Span, "add", lambda span, gradient: True)
    ocp = landing()
    solution = Shooting().solve(ocp.finish(), solve(ocp))
    assert not any("'end of cone'" in line and "not unique" in line for line in solution.log)
