"""Every declared first integral of every named rocket problem is constant along the shooting
solution.
"""

import casadi
import numpy as np
import pytest

from trajopt import solve
from trajopt.catalogue import builder, named_problems
from trajopt.indirect.shooting import Shooting

ROCKETS = [
    name
    for name, entry in named_problems().items()
    if entry.family == "rocket" and entry.kind == "problem"
]


def columns(quantities, curves, t):
    """(rows, times) of the curves of some quantities."""
    return np.vstack(
        [
            np.zeros((0, t.size)),
            *(np.reshape(curves[q.name](t), (t.size, q.size)).T for q in quantities),
        ]
    )


def spreads(form, solution, samples=101):
    """(phase, name, how far it moves, its size) of every declared integral."""
    for ph in form.phases:
        found = solution.phases[ph.name]
        t = np.linspace(found.t0, found.tf, samples)
        points = [
            t[None, :],
            columns(ph.states, found.states, t),
            columns(ph.controls, found.controls, t),
            columns(ph.states, found.costates, t),
            form.parameter_values(None),
        ]
        for invariant in ph.invariants:
            function = casadi.Function(
                "g", [ph.t, ph.x, ph.u, ph.costate, form.p], [casadi.densify(invariant.expression)]
            )
            values = np.asarray(function(*points))
            yield (
                ph.name,
                invariant.name,
                float(np.ptp(values, axis=1).max()),
                float(np.abs(values).max()),
            )


def test_the_named_rockets_are_there():
    assert set(ROCKETS) == {
        "lawden-transfer",
        "min-time-transfer",
        "min-fuel-transfer",
        "many-revolutions",
        "earth-mars",
        "lawden-spiral",
        "impulsive-transfer",
        "ascent",
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ROCKETS)
def test_all_declared_integrals_are_constant_along_the_shooting_solution(name):
    """To 1e-10, or to round-off of an integral that is large itself (the ascent's in kilograms and
    seconds).
    """
    problem = builder(name)()
    exact = solve(problem, Shooting()).check()
    found = list(spreads(problem.finish(), exact))
    assert len(found) >= 2 * len(exact.phases)
    for phase, integral, spread, size in found:
        assert spread < 1e-10 * max(1.0, 1e-3 * size), (phase, integral)
