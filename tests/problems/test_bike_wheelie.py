"""Entry into a wheelie: the answer, its forward re-simulation, and its constraints between the nodes."""

import casadi
import numpy as np
import pytest
import scipy.integrate

from problems import bike
from problems.bike_wheelie import REFERENCE, Entry
from trajopt import solve


@pytest.fixture(scope="module")
def entry():
    return solve(bike.wheelie_entry()).check()


def _resimulated(solution):
    """The motion under the answer's torques by another integrator."""
    model_down, model_up = bike.five_link(front_down=True).mechanism, bike.five_link().mechanism
    state = np.array([0.0, 0.0, np.radians(20.0), 0.0, 0.0, 0.0])
    for name, model in (("front down", model_down), ("front up", model_up)):
        ph = solution.phases[name]
        solved = model._solved

        def rate(t, y, ph=ph, solved=solved):
            torques = [float(ph["wheel_torque"](t)), float(ph["waist_torque"](t))]
            return np.concatenate([y[3:], np.array(solved(y[:3], y[3:], torques, [], 0)[0]).ravel()])

        ends = (ph.t0, ph.tf)
        state = scipy.integrate.solve_ivp(rate, ends, state, method="DOP853", rtol=1e-9, atol=1e-10, max_step=0.02).y[:, -1]
    return state


@pytest.mark.slow
def test_least_effort_is_found_from_a_plain_guess(entry):
    assert entry.objective == pytest.approx(REFERENCE.objective, rel=REFERENCE.tolerance)
    assert entry.error < 1e-6
    assert [record.error for record in entry.history][-1] < 1e-2 * entry.history[0].error


@pytest.mark.slow
def test_forward_simulation_reaches_the_wheelie(entry):
    end = _resimulated(entry)
    assert np.degrees(end[1:3]) == pytest.approx([30.0, -20.0], abs=0.01)
    assert end[4:] == pytest.approx([0.0, 0.0], abs=1e-3)


@pytest.mark.slow
def test_contact_grip_and_joints_hold_between_the_nodes(entry):
    limits = Entry()
    for name, down in (("front down", True), ("front up", False)):
        machine, ph = bike.five_link(front_down=down), entry.phases[name]
        model = machine.mechanism
        a = model.acceleration(model.q, model.v, model.u)
        angles = casadi.vertcat(*[machine.seen(machine.posture.angles[j], model.q) for j in ("shoulder", "elbow")])
        moment = model.reactions(model.q, model.v, model.u) if down else casadi.SX(0)
        everything = model.function(machine.ground_force(model.q, model.v, a), moment / bike.FIVE_LINK.wheelbase, angles)
        for t in np.linspace(ph.t0, ph.tf, 101):
            beta, beta_rate = (0.0, 0.0) if down else (ph["beta"](t), ph["beta_rate"](t))
            q, v = [ph["x"](t), beta, ph["torso"](t)], [ph["x_rate"](t), beta_rate, ph["torso_rate"](t)]
            ground, front, joints = everything(q, v, [ph["wheel_torque"](t), ph["waist_torque"](t)], [], 0)
            rear = float(ground[1] - front)
            assert float(front) >= -1e-3
            assert rear >= limits.least_rear_force
            assert abs(float(ground[0])) <= limits.friction * rear
            shoulder, elbow = np.degrees(np.array(joints).ravel())
            assert 90 <= shoulder <= 180
            assert -90 - 1e-6 <= elbow <= 0
            assert beta >= -1e-9
