"""Every named problem against its reference, with default settings."""

import sys

import casadi
import numpy as np
import pytest

from trajopt import solve
from trajopt.catalogue import builder, named_problems
from trajopt.statement.reference import Reference

LARGE = {
    "bike robot",
    "exoskeleton",
}  # these families have tests of their own, with the figures that matter there


def _with_references():
    found = {}
    for name, entry in named_problems().items():
        if entry.kind == "problem" and entry.family not in LARGE:
            build = builder(name)
            reference = getattr(sys.modules[build.__module__], "REFERENCE", None)
            if isinstance(reference, Reference):
                found[name] = (build, reference)
    return found


KNOWN = _with_references()
CLASSICAL = [
    "block-move",
    "lqr-scalar",
    "brachistochrone",
    "linear-tangent-steering",
    "orbit-raising",
    "vanderpol-bounded",
    "hypersensitive",
    "double-integrator-mintime",
    "double-integrator-minfuel",
    "moon-lander",
    "robot-arm",
    "goddard-cops",
    "jacobson-singular",
    "bryson-denham",
    "cart-pole",
    "launch-vehicle",
]


@pytest.fixture(scope="module")
def solved():
    answers = {}

    def answer(name):
        if name not in answers:
            answers[name] = solve(KNOWN[name][0]())
        return answers[name]

    return answer


def test_there_are_sixteen_classical_problems():
    assert len(CLASSICAL) == 16
    assert set(CLASSICAL) <= set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_objective(solved, name):
    reference = KNOWN[name][1]
    solution = solved(name).check()
    if not reference.improved_by(solution.objective, solution.form.sense):
        assert solution.objective == pytest.approx(reference.objective, rel=reference.tolerance)


@pytest.mark.parametrize(
    "name", [name for name, (_, reference) in KNOWN.items() if reference.costates]
)
def test_initial_costates(solved, name):
    solution = solved(name)
    first = next(iter(solution.phases.values()))
    for state, value in KNOWN[name][1].costates.items():
        assert first.costates[state](first.t0) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    "name", [name for name, (_, reference) in KNOWN.items() if reference.switches]
)
def test_switching_times(solved, name):
    """Each known switch is the end of an arc, and no others are claimed."""
    solution = solved(name)
    ends = sorted(
        {round(arc.end, 9) for arc in solution.arcs}
        - {round(ph.tf, 9) for ph in solution.phases.values()}
    )
    span = max(ph.tf for ph in solution.phases.values())
    np.testing.assert_allclose(ends, KNOWN[name][1].switches, rtol=0, atol=1e-4 * span)


def _inside(arc, share=0.05):
    """Times on an arc, away from its ends."""
    width = arc.end - arc.start
    return np.linspace(arc.start + share * width, arc.end - share * width, 200)


def test_jacobson_on_its_singular_arc(solved):
    solution = solved("jacobson-singular")
    (arc,) = [arc for arc in solution.arcs if arc.roles["u"] == "singular"]
    t = _inside(arc)
    np.testing.assert_allclose(
        solution["u"](t), solution["x1"](t), atol=0.01 * np.max(np.abs(solution["x1"](t)))
    )


def test_goddard_on_its_singular_arc(solved):
    """Staying on the surface S = D (1 + v / c) - m g fixes the thrust: dS/dt = 0 is
    linear in it.
    """
    solution = solved("goddard-cops")
    (arc,) = [arc for arc in solution.arcs if arc.roles["T"] == "singular"]
    h, v, m, T = casadi.SX.sym("h"), casadi.SX.sym("v"), casadi.SX.sym("m"), casadi.SX.sym("T")
    c, D = 0.5, 310 * v**2 * casadi.exp(-500 * (h - 1))
    S = D * (1 + v / c) - m / h**2
    rate = casadi.jtimes(
        S, casadi.vertcat(h, v, m), casadi.vertcat(v, (T - D) / m - 1 / h**2, -T / c)
    )
    law = casadi.Function(
        "law", [h, v, m], [S, -casadi.substitute(rate, T, 0) / casadi.jacobian(rate, T)]
    )
    t = _inside(arc)
    surface, thrust = law(*(solution[name](t)[None, :] for name in "hvm"))
    assert np.max(np.abs(surface.full())) < 1e-3
    np.testing.assert_allclose(solution["T"](t), thrust.full().ravel(), rtol=0.01)


@pytest.mark.parametrize("name", KNOWN)
def test_a_reference_has_a_source(name):
    assert len(KNOWN[name][1].source) > 10
