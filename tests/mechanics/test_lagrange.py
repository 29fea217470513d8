"""Equations of motion by differentiation, as functions for simulation and for optimal control."""

import casadi
import numpy as np
import pytest
from casadi import cos, sin

from trajopt.errors import ModelError
from trajopt.mechanics import Coordinate, Holonomic, Mechanism, Nonholonomic, Quantity


def two_link_arm():
    a, b = Coordinate("a", 0.3, unit="rad"), Coordinate("b", 0.2, unit="rad")
    motor = Quantity("motor", 0.0, "N m")
    g = Quantity("g", 9.8, "m/s^2")
    x1, y1 = 0.5 * sin(a.q), -0.5 * cos(a.q)
    x2, y2 = sin(a.q) + 0.5 * sin(a.q + b.q), -cos(a.q) - 0.5 * cos(a.q + b.q)
    q, v = casadi.vertcat(a.q, b.q), casadi.vertcat(a.v, b.v)
    speed = casadi.jtimes(casadi.vertcat(x1, y1, x2, y2), q, v)
    kinetic = 0.5 * casadi.sumsqr(speed) + a.v**2 / 24 + (a.v + b.v) ** 2 / 24
    return Mechanism(
        "arm",
        (a, b),
        kinetic,
        g.symbol * (y1 + y2),
        forces={"b": motor.symbol - 0.1 * b.v},
        controls=(motor,),
        parameters=(g,),
    )


def test_arm_has_the_textbook_mass_matrix_and_bias():
    arm = two_link_arm()
    b, va, vb = 0.2, 0.7, -1.1
    found = np.array(arm.evaluate(arm.equations.mass, [0.3, b], [va, vb]))
    expected = np.array(
        [[5 / 3 + np.cos(b), 1 / 3 + np.cos(b) / 2], [1 / 3 + np.cos(b) / 2, 1 / 3]]
    )
    assert found == pytest.approx(expected, abs=1e-15)
    bias = np.array(arm.evaluate(arm.equations.bias, [0.3, b], [va, vb])).ravel()
    s, weight2 = np.sin(b), 9.8 * 0.5 * np.sin(0.3 + b)
    assert bias[0] == pytest.approx(
        -0.5 * s * vb * (2 * va + vb) + 9.8 * 1.5 * np.sin(0.3) + weight2, abs=1e-14
    )
    assert bias[1] == pytest.approx(0.5 * s * va**2 + weight2, abs=1e-14)


def test_acceleration_takes_numbers_and_both_kinds_of_symbols_and_follows_controls_and_parameters():
    arm = two_link_arm()
    q, v = [0.3, 0.2], [0.7, -1.1]
    at_numbers = np.array(arm.acceleration(q, v, 2.0, 3.7)).ravel()
    for kind in (casadi.SX, casadi.MX):
        x = kind.sym("x", 4)
        f = casadi.Function("f", [x], [arm.acceleration(x[:2], x[2:], 2.0, 3.7)])
        assert np.array(f(q + v)).ravel() == pytest.approx(at_numbers, rel=1e-15)
    M, h = arm.evaluate(arm.equations.mass, q, v), arm.evaluate(arm.equations.bias, q, v, p=3.7)
    assert np.array(M @ at_numbers + h).ravel() == pytest.approx([0.0, 2.0 + 0.11], abs=1e-14)


def test_dae_form_vanishes_at_the_solution_and_only_there():
    x, y = Coordinate("x", 1.0), Coordinate("y", 0.0)
    model = Mechanism(
        "p",
        (x, y),
        (x.v**2 + y.v**2) / 2,
        9.8 * y.q,
        constraints=(Holonomic("rod", x.q**2 + y.q**2 - 1),),
    )
    q, v = [0.6, -0.8], [0.8, 0.6]
    a, r = model.acceleration(q, v), model.reactions(q, v)
    assert np.abs(np.array(model.residual(q, v, a, r))).max() < 1e-14
    assert np.abs(np.array(model.residual(q, v, a + 1e-3, r))).max() > 1e-4
    assert model.residual(casadi.MX(q), casadi.MX(v), a, r).shape == (3, 1)


def test_reaction_has_the_sign_of_a_force():
    """A pendulum at rest at the bottom: the rod pulls the bob up with its weight, whichever way the
    constraint is written.
    """
    x, y = Coordinate("x"), Coordinate("y", -2.0)
    for h in (x.q**2 + y.q**2 - 4, 4 - x.q**2 - y.q**2, casadi.sqrt(x.q**2 + y.q**2) - 2):
        model = Mechanism(
            "p", (x, y), (x.v**2 + y.v**2) / 2, 9.8 * y.q, constraints=(Holonomic("rod", h),)
        )
        assert np.array(model.reaction_forces([0, -2], [0, 0])).ravel() == pytest.approx(
            [0, 9.8], abs=1e-14
        )
    assert float(model.reactions([0, -2], [0, 0])) == pytest.approx(
        -9.8
    )  # a distance: the multiplier is the force itself, inwards


def test_drift_has_the_mixed_time_derivative():
    """h = x - t y needs h'' = x'' - t y'' - 2 y': twice the mixed term."""
    x, y, t = Coordinate("x"), Coordinate("y"), casadi.SX.sym("t")
    model = Mechanism(
        "r", (x, y), (x.v**2 + y.v**2) / 2, constraints=(Holonomic("belt", x.q - t * y.q),), time=t
    )
    assert float(model.evaluate(model.equations.drift, [0, 0], [5.0, 3.0], t=2.0)) == -6.0
    a = np.array(model.acceleration([0, 0], [5.0, 3.0], t=2.0)).ravel()
    assert a[0] - 2.0 * a[1] - 6.0 == pytest.approx(0.0, abs=1e-14)


def test_lagrangian_linear_in_velocities_gives_gyroscopic_forces_and_keeps_the_energy(motion):
    """A charge in a magnetic field: L = v^2/2 + B (x y' - y x')/2 moves on a circle at rate B."""
    x, y = Coordinate("x", 1.0), Coordinate("y", 0.0, 2.0)
    charge = Mechanism("charge", (x, y), (x.v**2 + y.v**2) / 2 - 2.0 * (x.q * y.v - y.q * x.v) / 2)
    found = motion(charge.system(), np.pi)
    assert found.x == pytest.approx([1.0, 0.0, 0.0, 2.0], abs=1e-9)
    assert found.drift["energy"] < 1e-10


def test_force_along_a_chosen_direction_realises_a_programme():
    """A steering torque enforces theta = x^2: the x equation does not contain it."""
    x, theta = Coordinate("x", 0.5, 1.0), Coordinate("theta", 0.25, 1.0)
    programme = Holonomic("programme", theta.q - x.q**2, along={"theta": 1.0})
    model = Mechanism(
        "s", (x, theta), (x.v**2 + 3 * theta.v**2) / 2, forces={"x": 0.7}, constraints=(programme,)
    )
    a = np.array(model.acceleration([0.5, 0.25], [1.0, 1.0])).ravel()
    assert a == pytest.approx([0.7, 2.0 + 2 * 0.5 * 0.7], abs=1e-14)
    assert np.array(model.reaction_forces([0.5, 0.25], [1.0, 1.0])).ravel() == pytest.approx(
        [0, 3 * 2.7], abs=1e-14
    )


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda x, y: Mechanism("m", (x, x), x.v**2), "duplicate names"),
        (lambda x, y: Mechanism("m", (), 1.0), "no coordinates"),
        (
            lambda x, y: Mechanism("m", (x,), x.v**2, y.q),
            "the potential energy uses undeclared symbols",
        ),
        (lambda x, y: Mechanism("m", (x,), x.v**2, forces={"z": 1.0}), "no coordinate 'z'"),
        (
            lambda x, y: Mechanism("m", (x,), x.v**2, constraints=(Holonomic("h", x.v),)),
            "constraint 'h' uses undeclared symbols",
        ),
        (
            lambda x, y: Mechanism(
                "m", (x, y), x.v**2, constraints=(Nonholonomic("f", x.v * y.v),)
            ),
            "'f' is not linear",
        ),
        (
            lambda x, y: Mechanism("m", (Coordinate("w", float("nan")),), 1.0),
            "no finite initial value",
        ),
        (lambda x, y: Mechanism("m", (x,), x.v**2).system(controls={"u": 1}), "no control 'u'"),
    ],
)
def test_invalid_statements_are_rejected_in_the_users_names(build, words):
    with pytest.raises(ModelError, match=words):
        build(Coordinate("x"), Coordinate("y"))
