"""Control laws that are found, against what they are on paper."""

import importlib

import casadi
import numpy as np
import pytest

from trajopt import Problem
from trajopt.indirect.control_law import arc_law
from trajopt.indirect.first_integrals import first_integrals
from trajopt.indirect.hamiltonian import UnsupportedError, boundary_rows, phase_hamiltonians
from trajopt.indirect.minimize import Minimizer
from trajopt.indirect.modes import Mode


def hamiltonian(name):
    return phase_hamiltonians(
        importlib.import_module(f"problems.classical.{name}").build().finish()
    )[0]


def value(law, expression, t, x, costate, v=(), weight=(), s=(), p=()):
    ham = law.hamiltonian
    f = casadi.Function(
        "f", [ham.phase.t, ham.phase.x, ham.costate, law.v, ham.weight, ham.s, ham.p], [expression]
    )
    return np.asarray(
        f(t, x, costate, casadi.DM(v), casadi.DM(weight), casadi.DM(s), casadi.DM(p)).full()
    ).ravel()


def test_a_quadratic_hamiltonian_has_a_closed_form():
    law = arc_law(hamiltonian("block_move"), Mode(("interior",)))
    assert law.v.numel() == 0
    assert value(law, law.u, 0, [0, 0], [3.0, 8.0], weight=[1.0])[0] == pytest.approx(-4.0)


def test_a_singular_control_from_brackets():
    """Jacobson: u = x1, where the switching function costate2 and its derivative -2 x2 - costate1
    vanish.
    """
    law = arc_law(hamiltonian("jacobson_singular"), Mode(("singular",)))
    x1, x2 = 0.3, -0.7
    assert value(law, law.u, 0, [x1, x2], [-2 * x2, 0.0], weight=[1.0])[0] == pytest.approx(x1)
    vanishing = [
        value(law, s, 0, [x1, x2], [-2 * x2, 0.0], weight=[1.0])[0] for s in law.switching[0]
    ]
    np.testing.assert_allclose(vanishing, [0, 0], atol=1e-14)
    # Kelley's condition: -d/du of the second derivative is positive.
    assert value(law, law.convexity, 0, [x1, x2], [-2 * x2, 0.0], weight=[1.0])[0] == pytest.approx(
        2.0
    )


def test_orders_of_constraints():
    found = {c.name: c.order for c in hamiltonian("goddard").constraints}
    assert found == {"h": 2, "v": 1, "m": 1}
    assert [c.order for c in hamiltonian("bryson_denham").constraints] == [2]
    assert hamiltonian("launch_vehicle").constraints[0].order == 0


def test_a_law_without_closed_form_stays_stationary():
    """The rate of v keeps H_u = 0: d/dt of the equations along the flow vanishes."""
    law = arc_law(hamiltonian("orbit_raising"), Mode(("interior",)))
    ham = law.hamiltonian
    assert law.v.numel() == 1
    y = casadi.vertcat(ham.phase.x, ham.costate, law.v)
    drift = casadi.jtimes(law.residual, y, law.rate[:7]) + casadi.jacobian(
        law.residual, ham.phase.t
    )
    assert abs(value(law, drift, 0.4, [1.1, 0.1, 0.9], [-1.8, -0.9, -2.0], v=[0.5])[0]) < 1e-12


def test_the_minimum_among_stationary_controls():
    """Steering: two stationary angles, of which the thrust against the costate is the minimum."""
    ham = hamiltonian("orbit_raising")
    costate = np.array([-1.8, -0.9, -2.0])
    found = Minimizer(ham)(
        0.0, np.array([1.0, 0.0, 1.0]), costate, (np.zeros(0), np.zeros(0), np.zeros(0))
    ).u[0]
    assert np.sin(found) == pytest.approx(0.9 / np.hypot(0.9, 2.0), rel=1e-9)
    assert np.cos(found) == pytest.approx(2.0 / np.hypot(0.9, 2.0), rel=1e-9)


def test_a_unit_vector_by_its_multiplier():
    ham = hamiltonian("launch_vehicle")
    rng = np.random.default_rng(0)
    costate = rng.standard_normal(7)
    x = np.array([5.6e6, 0.0, 3.0e6, 10.0, 400.0, 5.0, 3e5])
    p = (
        importlib.import_module("problems.classical.launch_vehicle")
        .build()
        .finish()
        .parameter_values()
    )
    found = Minimizer(ham)(0.0, x, costate, (np.zeros(0), np.zeros(0), p)).u
    np.testing.assert_allclose(found, -costate[3:6] / np.linalg.norm(costate[3:6]), atol=1e-9)


def test_a_step_beyond_a_bound_comes_back_from_it():
    """Eight controls have one start in the middle, from which Newton's step for log cosh leads far
    beyond the bounds.
    """
    ocp = Problem("many")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, u = ph.state("x", start=0), ph.control("u", 8, lower=-1, upper=1)
    goal = np.array([0.9, -0.9, 0.8, -0.8, 0.95, -0.95, 1.5, -1.5])
    ph.dynamics({x: casadi.sum1(casadi.log(casadi.cosh(4 * (u - goal))))})
    ocp.minimize(ph.final(x))
    ham = phase_hamiltonians(ocp.finish())[0]
    nothing = (np.zeros(0), np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(
        Minimizer(ham)(0.0, np.zeros(1), np.ones(1), nothing).u, np.clip(goal, -1, 1), atol=1e-9
    )


def test_bang_controls_follow_the_sign():
    ham = hamiltonian("robot_arm")
    x = np.array([4.5, 0.1, np.pi / 4, 0.0, 0.0, 0.0])
    u = Minimizer(ham)(
        0.0,
        x,
        np.array([0, 0, 0, 2.0, -1.0, 3.0]),
        (np.zeros(0), np.zeros(0), np.zeros(ham.p.numel())),
    ).u
    np.testing.assert_array_equal(u, [-1, 1, -1])


def test_first_integrals_are_found():
    assert [i.name for i in first_integrals(hamiltonian("brachistochrone"))] == [
        "H",
        "costate of x",
        "costate of y",
    ]
    # the mass depends on time
    assert [i.name for i in first_integrals(hamiltonian("orbit_raising"))] == []


def test_declared_integrals_are_among_them():
    ocp = Problem("declared")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, y, u = ph.state("x", start=1), ph.state("y", start=0), ph.control("u")
    ph.dynamics({x: -y + 0 * u, y: x + 0 * u})
    ph.invariant("moment", x * ph.costate(y) - y * ph.costate(x))
    ocp.minimize(ph.integral(u**2))
    declared = [i for i in first_integrals(phase_hamiltonians(ocp.finish())[0]) if i.declared]
    assert [i.name for i in declared] == ["moment"]


def test_every_condition_becomes_a_row():
    rows = boundary_rows(
        importlib.import_module("problems.classical.brachistochrone").build().finish()
    )
    fixed = [r.name for r in rows if r.equality]
    assert "start time of t0" in fixed
    assert sum(name.startswith(("start of", "end of")) for name in fixed) == 5


def test_a_control_that_does_nothing_is_refused():
    ham = hamiltonian("double_integrator_mintime")
    with pytest.raises(UnsupportedError):
        arc_law(ham, Mode(("interior",)))
    with pytest.raises(UnsupportedError, match="not determined"):
        arc_law(ham, Mode(("singular",)))
