"""Declared first integrals at work: kept by the flow, in the place of shooting equations, and never
trusted blindly.
"""

from dataclasses import replace
from itertools import pairwise

import casadi
import numpy as np
import pytest

import trajopt.indirect.newton
from problems.rocket import impulsive_transfer, lawden_transfer, min_time_transfer
from trajopt import Problem, certify, solve
from trajopt.indirect.hamiltonian import phase_hamiltonians
from trajopt.indirect.initial_system import shooting_problem
from trajopt.indirect.settings import NEWTON
from trajopt.indirect.shooting import Shooting
from trajopt.indirect.structure_detection import start_of_solution

ROCKETS = {  # builder, and integrals that determine final costates
    "limited power": (lawden_transfer.build, {"g1", "g2", "rotation", "b"}),
    "out of the plane": (
        lambda: lawden_transfer.build(inclination=0.4, plane_change=0.1),
        {"g1", "g2", "rotation z", "b"},
    ),
    "bounded thrust": (min_time_transfer.build, {"hamiltonian", "rotation", "scaling"}),
    "coast between impulses": (impulsive_transfer.build, {"hamiltonian", "rotation z"}),
}


@pytest.fixture(scope="module")
def direct():
    kept = {}

    def answer(name):
        if name not in kept:
            kept[name] = solve(ROCKETS[name][0]()).check()
        return kept[name]

    return answer


def prepared(guess, **options):
    form = guess.form
    hams, p = phase_hamiltonians(form), form.parameter_values(None)
    return shooting_problem(
        form, hams, start_of_solution(form, hams, guess, p), p, Shooting(**options)
    )


def first_arc(ready):
    """The first arc, its first node and its numbers."""
    numbers, _ = ready.system.numbers(0, ready.unknowns)
    return ready.system.arcs[0], ready.unknowns[ready.system.layout.nodes[0]][:1], numbers


def spread(arc, values, tau, numbers, p):
    """How far each kept integral moves along a trace, relative to the sizes of its terms."""
    ham, kept = arc.law.hamiltonian, arc.flow.kept
    n = ham.phase.x.numel()
    slopes = casadi.jacobian(kept.y, casadi.vertcat(ham.phase.x, ham.costate))
    symbols = [ham.phase.t, ham.phase.x, ham.costate, ham.weight, ham.s, ham.p]
    function = casadi.Function("y", symbols, [kept.y, casadi.fabs(slopes) @ casadi.DM(kept.sizes)])
    weight, s = np.split(numbers[2:], [numbers.size - 2 - ham.s.numel()])
    t = numbers[0] + tau * (numbers[1] - numbers[0])
    y, sizes = (
        np.asarray(o.full())
        for o in function(t[None, :], values[:, :n].T, values[:, n : 2 * n].T, weight, s, p)
    )
    return float((np.ptp(y, axis=1) / sizes.max(axis=1)).max())


@pytest.mark.parametrize("name", ROCKETS)
def test_the_flow_keeps_what_was_declared(direct, name):
    """On steps that are far too long the integrals drift; corrected after each step they stay, to
    the square of the drift.
    """
    ready = prepared(direct(name))
    arc, node, numbers = first_arc(ready)
    tau = np.linspace(0.0, 1.0, 9)
    drift = {}
    for kept in (None, arc.flow.kept):
        values, _ = replace(arc.flow, kept=kept).trace(node, tau[None, :], numbers, ready.system.p)
        drift[kept] = spread(arc, values[0], tau, numbers, ready.system.p)
    plain, corrected = drift[None], drift[arc.flow.kept]
    assert ROCKETS[name][1] <= set(arc.flow.kept.names)
    assert plain > 1e-10
    assert corrected < max(10 * plain**2, 1e-14)


def test_the_sensitivities_of_the_corrected_flow_are_exact(direct):
    """Against central differences, by the start and by the numbers of the arc."""
    ready = prepared(direct("limited power"))
    arc, node, numbers = first_arc(ready)
    steps, p = np.linspace(0.0, 1.0, 9)[None, :], ready.system.p
    run = arc.flow.run(node, steps, numbers, p)
    for i in range(node.shape[1]):
        h = 1e-5 * np.eye(node.shape[1])[i]
        slope = (
            arc.flow.run(node + h, steps, numbers, p).end
            - arc.flow.run(node - h, steps, numbers, p).end
        ) / 2e-5
        np.testing.assert_allclose(
            run.by_start[:, :, i], slope, rtol=1e-6, atol=1e-7 * np.abs(run.by_start).max()
        )
    for i in range(numbers.size):
        h = 1e-5 * np.eye(numbers.size)[i]
        slope = (
            arc.flow.run(node, steps, numbers + h, p).end
            - arc.flow.run(node, steps, numbers - h, p).end
        ) / 2e-5
        np.testing.assert_allclose(
            run.by_numbers[:, :, i], slope, rtol=1e-6, atol=1e-7 * np.abs(run.by_start).max()
        )


@pytest.mark.parametrize("name", ROCKETS)
def test_integrals_replace_final_costates_and_give_the_same_answer(direct, name):
    guess = direct(name)
    with_them, without = prepared(guess), prepared(guess, use_integrals=False)
    instead = with_them.system.replaced[0]
    assert without.system.replaced == (None,)
    assert set(instead.kept.names) <= set(with_them.system.arcs[0].flow.kept.names)
    assert len(instead.costates) == instead.kept.count >= 2
    # Replaced, not added: as many equations as before.
    sizes = [ready.system.evaluate(ready.unknowns)[0].size for ready in (with_them, without)]
    assert sizes[0] == sizes[1]
    a, b = (Shooting(use_integrals=use).solve(guess.form, guess).check() for use in (True, False))
    assert a.objective == pytest.approx(b.objective, rel=1e-10, abs=0)
    for state, curve in a.phases["main"].costates.items():
        size = np.abs(curve.points).max()
        np.testing.assert_allclose(
            a.costate(state)(0.0), b.costate(state)(0.0), rtol=0, atol=1e-8 * size + 1e-20
        )


def test_newton_still_converges_quadratically(direct, monkeypatch):
    # every step has its own matrix
    monkeypatch.setattr(trajopt.indirect.newton, "NEWTON", replace(NEWTON, chord=0.0))
    guess = direct("limited power")
    moved = {
        name: replace_values(curve, 1.02) for name, curve in guess.phases["main"].states.items()
    }
    start = replace(guess, phases={"main": replace(guess.phases["main"], states=moved)})
    answer = Shooting().solve(guess.form, start).check()
    residuals = [float(r) for r in answer.log[0].rpartition("residuals ")[2].split(", ")]
    assert len(residuals) <= 6
    assert residuals[-1] < 1e-9
    assert any(b < 50 * a**2 for a, b in pairwise(residuals) if 1e-6 < a < 1e-2)


def replace_values(curve, factor):
    return replace(curve, values=tuple(factor * v for v in curve.values))


def swing(*invariants):
    """A pendulum turned by a torque; ``invariants`` of (angle, rate, costates) are
    claims about it.
    """
    ocp = Problem("swing")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    q, w, u = ph.state("q", start=0, end=1), ph.state("w", start=0, end=0), ph.control("u")
    ph.dynamics({q: w, w: u - casadi.sin(q)})
    a, b = ph.costate(q), ph.costate(w)
    for k, claim in enumerate(invariants):
        ph.invariant(f"claim {k}", claim(q, w, a, b))
    ocp.minimize(ph.integral(u**2))
    return ocp


def test_a_false_claim_is_not_used_and_fails_the_certificate():
    claims = (
        lambda q, w, a, b: a * w - b * casadi.sin(q) - b**2 / 4,  # H with u = -b/2: true
        lambda q, w, a, b: a * w - b * casadi.sin(q),
    )
    guess = solve(swing(*claims)).check()
    kept = prepared(guess).system.arcs[0].flow.kept
    assert kept.names == ("claim 0",)
    answer = Shooting().solve(guess.form, guess).check()
    plain = solve(swing())
    truth = Shooting().solve(plain.form, plain).check()
    assert answer.objective == pytest.approx(truth.objective, rel=1e-11)
    certificate = certify(answer)
    assert {c.name for c in certificate.failures} >= {"first integrals"}
    assert "claim 1" in certificate["first integrals"].remark
    honest = solve(swing(claims[0]))
    assert certify(Shooting().solve(honest.form, honest)).ok


def test_integrals_do_not_hold_where_the_costate_of_the_flow_is_another_one():
    """On a state constraint the flow adjoins the constraint's last derivative, so that no declared
    integral is kept there.
    """
    ocp = Problem("wall")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x = ph.state("x", start=0, end=0, upper=1 / 9)
    v = ph.state("v", start=1, end=-1)
    u = ph.control("u")
    ph.dynamics({x: v, v: u})
    ph.invariant("energy", ph.costate(x) * v - ph.costate(v) ** 2 / 2)
    ocp.minimize(ph.integral(u**2) / 2)
    guess = solve(ocp).check()
    system = prepared(guess).system
    assert [arc.flow.kept is not None for arc in system.arcs] == [True, False, True]
    assert system.replaced == (None,)
    answer = Shooting().solve(guess.form, guess).check()
    assert answer.objective == pytest.approx(4.0, rel=1e-12)
    assert certify(answer).ok


@pytest.mark.parametrize("name", ROCKETS)
def test_costates_are_integrated_forward_with_and_without_stabilization(direct, name):
    certificate = certify(direct(name))
    for row in ("re-integration of costates", "re-integration of costates, stabilized"):
        assert certificate[row].applies
        assert certificate[row].value < 1e-7, str(certificate)
