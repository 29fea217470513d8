"""Augmented, eliminated, Chaplygin, Voronets and penalty motions of one system."""

import math

import casadi
import numpy as np
import pytest
from casadi import cos, sin

from trajopt.errors import ModelError
from trajopt.mechanics import (
    Augmented,
    Chaplygin,
    Coordinate,
    Eliminated,
    Holonomic,
    Mechanism,
    Nonholonomic,
    Penalty,
    Voronets,
)


def sleigh(inertia=1.0, heading=0.2):
    """Chaplygin's sleigh; with inertia = 1 its bare mass matrix is singular."""
    x, y, phi = Coordinate("x", 0.0), Coordinate("y", 1.0), Coordinate("phi", heading, 1.0)
    sideways = y.v * cos(phi.q) - x.v * sin(phi.q)
    kinetic = 0.5 * (x.v**2 + y.v**2 + 2 * phi.v * sideways) + inertia / 2 * phi.v**2
    return Mechanism(
        "sleigh", (x, y, phi), kinetic, -4.9 * x.q, constraints=(Nonholonomic("blade", sideways),)
    )


def driven():
    """A general case: coefficients in the dependent coordinates, explicit time, friction, a driven
    velocity condition.
    """
    t = casadi.SX.sym("t")
    th, r, z = Coordinate("th", 0.3, 0.2), Coordinate("r", 1.0, 0.5), Coordinate("z", 0.1)
    kinetic = 0.5 * r.v**2 + 0.5 * r.q**2 * th.v**2 + 0.5 * z.v**2 + 0.1 * z.v * r.v * cos(z.q)
    belt = Nonholonomic("belt", z.v - (r.q + z.q**2) * th.v - 0.3 * cos(t) * z.q - 0.2 * r.q)
    forces = {"z": -0.3 * z.v + sin(t), "r": 0.2 * th.v}
    return Mechanism(
        "driven", (th, r, z), kinetic, 3 * z.q**2 - r.q * cos(th.q), forces, (belt,), time=t
    ).consistent()


def closed_loop():
    """A bead on a wire, holonomic, in three coordinates."""
    x, y, z = Coordinate("x", 0.8, 0.2), Coordinate("y", 0.0, 0.4), Coordinate("z", 0.3)
    wire = (
        Holonomic("tube", x.q**2 + 2 * y.q**2 - 1),
        Holonomic("height", z.q - x.q * y.q - 0.2 * y.q**3),
    )
    return Mechanism(
        "bead", (x, y, z), (x.v**2 + y.v**2 + z.v**2) / 2, 9.8 * z.q, constraints=wire
    ).consistent()


@pytest.mark.parametrize(
    ("mechanism", "ways", "until"),
    [
        (sleigh(), (Eliminated(), Chaplygin(), Voronets(), Voronets(("x",))), 1.0),
        (sleigh(2.0), (Eliminated(("y",)), Chaplygin(("y",)), Voronets()), 1.0),
        (driven(), (Eliminated(), Voronets(), Voronets(("z",))), 3.0),
        (closed_loop(), (Eliminated(("x", "z")), Voronets(("x", "z"))), 0.6),
    ],
    ids=["sleigh with singular mass matrix", "sleigh", "driven", "bead on a wire"],
)
def test_formulations_agree_to_integration_tolerance(motion, mechanism, ways, until):
    reference = motion(mechanism.system(Augmented()), until)
    assert abs(reference.imbalance) < 1e-9
    for way in ways:
        found = motion(mechanism.system(way), until)
        common = [name for name in found.final if name in reference.final]
        assert set(common) == set(found.final)
        assert [found.final[n] for n in common] == pytest.approx(
            [reference.final[n] for n in common], abs=2e-9
        )
        assert abs(found.imbalance) < 1e-9


@pytest.mark.parametrize("way", [Augmented(), Eliminated(("y",))])
def test_power_accounts_for_time_in_the_energies(motion, way):
    """A spring of decreasing stiffness and an increasing mass: dE/dt = Q . v + reactions . v -
    dL/dt, without any force.
    """
    t = casadi.SX.sym("t")
    x, y = Coordinate("x", 1.0), Coordinate("y", 0.5, 0.3)
    kinetic = 0.5 * (1 + 0.3 * t) * x.v**2 + 0.5 * y.v**2
    wire = Holonomic("wire", y.q - 0.5 * x.q**2)
    model = Mechanism(
        "tired", (x, y), kinetic, 2 * casadi.exp(-t) * x.q**2, constraints=(wire,), time=t
    ).consistent()
    found = motion(model.system(way), 2.0)
    assert abs(found.imbalance) < 1e-10
    assert "energy" not in found.drift  # it is not kept


@pytest.mark.parametrize("way", [Eliminated(), Voronets()])
def test_reactions_agree(way):
    model = driven()
    zero = casadi.SX(len(model.rows), 1)
    one, two = (model.function(w.motion(model, zero).reactions) for w in (Augmented(), way))
    arguments = (*model.start, [], [], 0.0)
    assert float(one(*arguments)) == pytest.approx(float(two(*arguments)), abs=1e-13)


def test_eliminated_motion_keeps_velocity_conditions_exactly():
    model = driven()
    system = model.system(Eliminated(("z",)))
    assert [s.name for s in system.states] == ["th", "r", "z", "th_rate", "r_rate"]
    assert "z_rate" in system.outputs
    assert not [i for i in system.invariants if i.name == "belt"]
    velocities = casadi.vertcat(
        *[
            system.function(e)(0.7, system.start, [])
            for e in (system.x[3], system.x[4], system.outputs["z_rate"][0])
        ]
    )
    belt = model.function(model.equations.velocity_residual)
    assert float(belt(system.start[:3], velocities, [], [], 0.7)) == pytest.approx(0.0, abs=1e-16)


def test_elimination_accounts_for_the_direction_of_reactions(motion):
    x, theta = Coordinate("x", 0.5, 1.0), Coordinate("theta", 0.25, 1.0)
    programme = Holonomic("programme", theta.q - x.q**2, along={"theta": 1.0})
    model = Mechanism(
        "s", (x, theta), (x.v**2 + 3 * theta.v**2) / 2, forces={"x": 0.7}, constraints=(programme,)
    )
    found, other = motion(model.system(), 1.0), motion(model.system(Eliminated(("theta",))), 1.0)
    assert found.final["x"] == pytest.approx(0.5 + 1.0 + 0.35, abs=1e-11)
    assert other.final["theta"] == pytest.approx(1.85**2, abs=1e-10)
    assert abs(found.imbalance) < 1e-10
    with pytest.raises(ModelError, match="ideal reactions"):
        model.system(Voronets())


def test_penalty_converges_with_the_inverse_of_the_stiffness(motion):
    model = closed_loop()
    exact = motion(model.system(), 0.25).x
    stiffness = np.array([2e3, 8e3, 3.2e4])
    errors = [
        np.linalg.norm(
            motion(model.system(Penalty(k, 2 * math.sqrt(k))), 0.25, 1e-8, 1e-10).x[:3] - exact[:3]
        )
        for k in stiffness
    ]
    slope = np.polyfit(np.log(stiffness), np.log(errors), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.2)


def test_chaplygin_needs_constraints_without_the_dependent_coordinate():
    with pytest.raises(ModelError, match="no Chaplygin form: the dependent coordinate 'z'"):
        driven().system(Chaplygin(("z",)))


def test_singular_elimination_is_rejected():
    model = sleigh(heading=0.0)
    with pytest.raises(ModelError, match="cannot be eliminated at the start"):
        model.system(Eliminated(("x",)))


def test_stabilization_through_reactions_obeys_its_law():
    """Along the stabilized motion h'' = -2 a h' - a^2 h and f' = -a f, off the manifold, to
    round-off.
    """
    x, y, z = Coordinate("x", 1.1, 0.2), Coordinate("y", 0.3, 0.4), Coordinate("z", 0.0, 0.7)
    model = Mechanism(
        "m",
        (x, y, z),
        (x.v**2 + y.v**2 + 2 * z.v**2) / 2,
        x.q,
        constraints=(
            Nonholonomic("roll", z.v - x.q * y.v),
            Holonomic("circle", x.q**2 + y.q**2 - 1),
        ),
    )
    a = 3.0
    stable = model.system().through_reactions(
        lambda h, dh, order: -2 * a * dh - a**2 * h if order == 2 else -a * h
    )
    circle, roll = (
        next(i.expression for i in stable.invariants if i.name == n) for n in ("circle", "roll")
    )

    def rate(e):
        return casadi.jtimes(e, stable.x, stable.rate)

    h, f = circle, roll
    residual = stable.function(
        casadi.vertcat(rate(rate(h)) + 2 * a * rate(h) + a**2 * h, rate(f) + a * f)
    )
    assert np.abs(np.array(residual(0.0, stable.start, []))).max() < 1e-13
    assert stable.through_reactions is not None
    assert model.system(Eliminated()).through_reactions is None


def test_controls_become_parameters_or_laws():
    from trajopt.mechanics import Quantity

    x, push = Coordinate("x"), Quantity("push", 2.0, "N")
    cart = Mechanism("cart", (x,), x.v**2 / 2, forces={"x": push.symbol}, controls=(push,))
    system = cart.system()
    assert [(p.name, p.value) for p in system.parameters] == [("push", 2.0)]
    assert float(system.function(system.rate)(0, [0, 0], [5.0])[1]) == 5.0
    fed_back = cart.system(controls={"push": -x.q - x.v})
    assert float(fed_back.function(fed_back.rate)(0, [1.0, 2.0], [])[1]) == -3.0
    assert not fed_back.invariants
    assert [i.name for i in cart.system(controls={"push": 0.0}).invariants] == ["energy"]


def test_augmented_system_is_accurate_if_the_mass_matrix_is_singular(exoskeleton):
    """Upright rods have no inertia about their own axis: M is singular in the headings, which the
    constraints determine.
    """
    tree, q = exoskeleton
    model = tree.mechanism(
        constraints=(
            Holonomic("leg heading", q["phi1"].q - q["phi0"].q),
            Holonomic("body heading", q["phi2"].q - q["phi0"].q),
            Holonomic(
                "lean", (q["psi1"].q - math.pi / 2) ** 2 + (q["psi2"].q - math.pi / 2) ** 2 - 0.01
            ),
            Nonholonomic("blade", q["y0"].v * cos(q["phi0"].q) - q["x0"].v * sin(q["phi0"].q)),
        )
    ).starting_at(
        {"psi1": math.pi / 2 - 0.1, "psi2": math.pi / 2, "q8": 0.2, "q9": 0.3, "q10": 0.1}
    )
    position, v = (
        model.start[0],
        model.starting_at(speeds=dict.fromkeys(("x0", "psi1", "psi2", "q8"), 0.1))
        .consistent()
        .start[1],
    )
    terms = model.equations
    found = model.function(terms.mass, terms.matrix, terms.bias, terms.drift)(
        position, v, [], [], 0
    )
    M, A, bias, drift = (np.array(e) for e in found)
    assert np.linalg.cond(M) > 1e15
    whole = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    expected = np.linalg.solve(whole, -np.vstack([bias, drift])).ravel()
    found = np.concatenate(
        [np.array(f(position, v)).ravel() for f in (model.acceleration, model.reactions)]
    )
    assert found == pytest.approx(expected, abs=1e-10)
