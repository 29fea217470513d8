"""The named systems against the equations and figures of their documents."""

from __future__ import annotations

import casadi
import numpy as np
import pytest

from problems.lecture import closed_four_link, pendulum
from problems.stabilization.cart_slalom import cart_slalom
from problems.stabilization.inverse_problem import (
    LARGEST_DEVIATION,
    inverse_field,
    inverse_problem,
)
from problems.stabilization.sleigh import FINAL_HEADING, sleigh
from problems.stabilization.turntable import Ball, document_law, exact_path, turntable_ball
from trajopt.errors import SimulationError, UsageError
from trajopt.integrate import Baumgarte, Dop853, Euler, Rk4, bypass, price, simulate
from trajopt.system import System


def rates(system: System, x: np.ndarray) -> np.ndarray:
    return np.asarray(system.function(system.rate)(0.0, x, system.parameter_values)).ravel()


def states(system: System, count: int = 20) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1.2, 1.2, (count, len(system.states)))


# The sleigh
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [-1.0, -46.0])
def test_sleigh_obeys_the_corrected_equations(k):
    system = Baumgarte(-k).prepare(sleigh()).system
    for x in states(system):
        phi, (vx, vy, turn) = x[2], x[3:]
        c, s = np.cos(phi), np.sin(phi)
        B = vy * (k * c + turn * s) - vx * (k * s - turn * c)
        A = turn**2 + 9.8 * 0.5 * c
        assert rates(system, x)[3:] == pytest.approx([A * c - B * s, A * s + B * c, -B], abs=1e-9)


def test_sleigh_heading_tends_to_its_known_limit():
    assert simulate(sleigh(), Dop853(1e-12), until=30.0)["phi"][-1] == pytest.approx(
        FINAL_HEADING, abs=5.1e-9
    )


def test_gravity_at_the_mass_centre_turns_the_sleigh():
    """It adds -m g a sin(alpha) sin(phi) to the third equation, before the reaction."""
    pivot, centre = sleigh(inertia=2.0), sleigh(inertia=2.0, gravity_at="centre")
    mass = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 2.0]])
    for x in states(pivot):
        phi = x[2]
        mass[0, 2] = mass[2, 0] = -np.sin(phi)
        mass[1, 2] = mass[2, 1] = np.cos(phi)
        extra = mass @ (rates(centre, x) - rates(pivot, x))[3:]
        blade = np.array([-np.sin(phi), np.cos(phi), 0.0])
        extra -= blade * (blade @ extra)  # the reaction takes what it likes across the blade
        assert extra == pytest.approx([0, 0, -9.8 * 0.5 * np.sin(phi)], abs=1e-9)
    with pytest.raises(UsageError, match="pivot, centre"):
        sleigh(gravity_at="nose")


# The cart
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("actuation", ["both", "torque"])
def test_cart_obeys_chaplygin_s_equations_with_l_in_the_second(actuation):
    system = cart_slalom(actuation=actuation)
    run = simulate(system, Dop853(1e-11), until=3.0)
    C, a, b, l, m0, m, J = 0.1 * 0.15**2 / 2, 0.15, 0.25, 0.3, 0.8, 1.0, 1.0
    heavy, inertia = m + 2 * C / a**2, J + 2 * C * b**2 / a**2
    for x, control in list(zip(run.x, run["reaction_track"], strict=True))[::25]:
        theta, vx, turn = x[2], x[5], x[7]
        c = np.cos(theta)
        acceleration = rates(system, x)[[5, 7]]
        push = (np.sin(x[0]), 1 / c**2) if actuation == "both" else (0.0, 1.0)
        first = (
            acceleration[0]
            + vx * turn * np.tan(theta)
            - m0 / heavy * l * turn**2 * c
            - m / heavy * 9.8 * 0.5 * c**2
        )
        second = inertia * acceleration[1] + m0 * l * vx * turn / c
        assert first == pytest.approx(control * push[0] * c**2 / heavy, abs=1e-7)
        assert second == pytest.approx(control * push[1], abs=1e-7)


def test_cart_follows_its_track():
    for arguments in ({}, {"actuation": "torque"}, {"gravity_at": "centre"}):
        run = simulate(
            cart_slalom(**arguments), Dop853(1e-11), until=2.5, stabilization=Baumgarte(10.0)
        )
        assert run["x"][-1] > 5
        assert run["y"] == pytest.approx(np.sin(run["x"]), abs=1e-8)
    with pytest.raises(UsageError, match="both, torque"):
        cart_slalom(actuation="sail")
    with pytest.raises(UsageError, match="axle, centre"):
        cart_slalom(gravity_at="nose")


def test_steering_by_a_torque_alone_drives_the_cart_to_infinite_speed():
    """x'' >= c x'^2 with c > 0 on average: the mass centre, thrown outwards at each turn, pushes
    the cart on.
    """
    with pytest.raises(SimulationError, match=r"t = 3\.42"):
        simulate(cart_slalom(actuation="torque"), Dop853(1e-8), until=5.0)


# The ball
# --------------------------------------------------------------------------------------------------


def test_the_ball_moves_on_its_circle():
    for way in (None, document_law(), Baumgarte(2.0)):
        run = simulate(turntable_ball(), Dop853(1e-11), until=20.0, stabilization=way)
        assert np.column_stack([run["x"], run["y"]]) == pytest.approx(exact_path()(run.t), abs=1e-7)
    period = 2 * np.pi / (0.4 / 1.4)
    assert exact_path()(np.array([period])) == pytest.approx(
        exact_path()(np.array([0.0])), abs=1e-12
    )


def test_angles_and_quaternion_agree_before_the_jump():
    angles = simulate(turntable_ball(coordinates="angles"), Dop853(1e-11), until=1.5)
    assert not angles.events
    assert np.column_stack([angles["x"], angles["y"]]) == pytest.approx(
        exact_path()(angles.t), abs=1e-9
    )


def test_the_jump_across_the_singularity_and_its_error():
    costs = []
    for margin in (0.1, 0.05, 0.025):
        run = simulate(
            turntable_ball(coordinates="angles", margin=margin),
            Rk4(1e-3),
            until=5.0,
            stabilization=Baumgarte(20.0),
        )
        cost = price(run, exact_path(), ("x", "y"))
        assert len(cost.times) == 1
        assert cost.times[0] < 2.0
        assert cost.departure_before < 1e-9
        assert cost.left < 1e-9 < cost.violation  # the constraints are back, ...
        costs.append((cost.violation, cost.departure_after))
        assert "jump" in str(cost)
    ratios = np.array(costs[:-1]) / np.array(costs[1:])
    assert ratios == pytest.approx(
        2, abs=0.3
    )  # ... the motion is not: it is off in proportion to the jump
    assert costs[-1][1] > 1e-3


def test_without_the_jump_a_fixed_step_fails_at_the_singularity():
    system = turntable_ball(coordinates="angles")
    plain = System(
        system.name, system.time, system.x, system.states, system.rate, invariants=system.invariants
    )
    assert simulate(system, Rk4(1e-3), until=3.0).t[-1] == 3.0
    with pytest.raises(SimulationError, match=r"t = 2\.0"):
        simulate(plain, Rk4(1e-3), until=3.0)
    with pytest.raises(UsageError, match="quaternion, angles"):
        turntable_ball(coordinates="euler")


def test_a_bypass_must_not_start_inside():
    with pytest.raises(UsageError, match="starts inside the bypass"):
        bypass(pendulum(), "theta", 1.0, 0.1)
    with pytest.raises(UsageError, match="did you mean 'theta'"):
        bypass(pendulum(), "thta", 1.0, 0.1)


# The inverse problem
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dissipation", ["appendix", "constant"])
def test_inverse_problem_has_the_values_of_the_document(dissipation):
    run = simulate(inverse_problem(dissipation=dissipation), Euler(1e-3), until=15.0)
    assert run.drift["integrals"].max == pytest.approx(LARGEST_DEVIATION[dissipation], rel=2e-6)


def test_the_deviation_of_the_documents_run_is_proportional_to_its_step():
    coarse, fine = (
        simulate(inverse_problem(), Euler(h), until=10.0).drift["integrals"].max
        for h in (1e-2, 1e-3)
    )
    assert coarse / fine == pytest.approx(10, rel=0.1)


def test_inverse_problem_equals_the_program_of_the_appendix():
    """Its k_ab = -(d_ab + dw_b/dq_a), entry by entry."""
    system = inverse_problem()
    for x in states(system):
        phi, v = x[2], x[3:]
        h = v - [np.cos(phi), np.sin(phi), 1.0]
        d13, d23 = -10 * np.cos(phi), -5 * np.sin(phi)
        k = np.array([[-10, 0, -d13], [0, -5, -d23], [np.sin(phi) - d13, -np.cos(phi) - d23, -11]])
        force = k @ h + [-v[2] * np.sin(phi), v[2] * np.cos(phi), 0.0]
        assert rates(system, x)[3:] == pytest.approx(force, abs=1e-12)


def test_constant_dissipation_preserves_the_circle():
    run = simulate(inverse_problem(dissipation="constant"), Dop853(1e-11), until=15.0)
    assert np.column_stack([run["x"], run["y"]]) == pytest.approx(
        np.column_stack([np.sin(run.t), -np.cos(run.t)]), abs=1e-8
    )
    with pytest.raises(UsageError, match="appendix, constant"):
        inverse_problem(dissipation="none")


def test_rates_are_dense_functions_of_the_state_alone():
    for system in (sleigh(), cart_slalom(), turntable_ball(), closed_four_link()):
        assert not casadi.depends_on(system.rate, system.time)
        assert np.all(np.isfinite(rates(system, system.start)))


# Fields and starts of one's own
# --------------------------------------------------------------------------------------------------


def test_a_users_field_is_made_attractive(tmp_path):
    """Off the field by 1 in the rates, the motion returns to q' = w(q): h' = -(d + dw/dq^T) h."""
    path = tmp_path / "field.py"
    path.write_text("def w(q):\n    return [q[1], -q[0], -q[2]]\n")
    system = inverse_field(field=f"{path}:w", start=(1.0, 0.0, 1.0), rate=(1.0, -1.0, 0.0))
    end = simulate(system, until=5.0)
    q, v = end.x[-1, :3], end.x[-1, 3:]
    np.testing.assert_allclose(v, [q[1], -q[0], -q[2]], atol=1e-8)
    with pytest.raises(UsageError, match="cannot be evaluated"):
        inverse_field(field=f"{path}:w")
    circle = simulate(inverse_field(), until=20.0)
    assert np.hypot(*circle.x[-1, :2]) == pytest.approx(1.0, abs=1e-8)


def test_the_sleigh_starts_where_it_is_told():
    system = sleigh(start=(2.0, -1.0, 0.5), speed=2.0, spin=0.0)
    assert system.start == pytest.approx([2, -1, 0.5, 2 * np.cos(0.5), 2 * np.sin(0.5), 0])
    assert simulate(system, until=1.0).drift["blade"].max < 1e-9


def test_the_cart_follows_a_track_of_other_data():
    system = cart_slalom(flags=0.4, clearance=0.1, wave=2.0, radius=0.1, half_track=0.2, ahead=0.2)
    motion = simulate(system, until=2.0)
    assert motion["y"] == pytest.approx(0.5 * np.sin(2 * motion["x"]), abs=1e-7)


def test_the_ball_takes_its_circle_from_any_start():
    ball = Ball(start=(0.5, -0.3), velocity=(0.2, 0.1), spin=-1.0, inertia=0.2)
    run = simulate(turntable_ball(ball=ball), until=3.0)
    assert np.column_stack([run["x"], run["y"]]) == pytest.approx(ball.path(run.t), abs=1e-7)
