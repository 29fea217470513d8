"""The loop of torso and arms against the thesis' method and the energy of its one freedom."""

import numpy as np
import pytest

from problems.bike.models import FIVE_LINK as DATA
from problems.bike.torso_loop import build, closed_loop, mechanism
from trajopt.integrate import simulate


def posture(theta1):
    """theta2, theta3 and the heights and places of the mass centres, by two circles."""
    saddle, hand = np.array(DATA.saddle), np.array(DATA.handlebar)
    l1, l2, l3 = DATA.torso.length, DATA.upper_arm.length, DATA.forearm.length
    shoulder = saddle + l1 * np.array([np.sin(theta1), np.cos(theta1)])
    reach = hand - shoulder
    d = np.hypot(*reach)
    along = (d**2 + l2**2 - l3**2) / (2 * d)
    aside = np.sqrt(l2**2 - along**2)
    unit = reach / d
    elbow = shoulder + along * unit - aside * np.array([-unit[1], unit[0]])
    upper, fore = elbow - shoulder, elbow - hand
    angles = [theta1, np.arctan2(*upper) - theta1, np.arctan2(*fore)]
    centres = [(saddle + shoulder) / 2, (shoulder + elbow) / 2, (elbow + hand) / 2]
    return np.array(angles), np.array(centres)


def test_the_energy_of_the_one_freedom_gives_the_acceleration():
    """J(theta1) theta1'' + J' theta1'^2/2 + V' = torque, by finite differences of the postures."""
    limbs = (DATA.torso, DATA.upper_arm, DATA.forearm)
    h = 1e-4

    def inertia(theta):
        (a, x), (b, y) = posture(theta + h), posture(theta - h)
        w, c = (a - b) / (2 * h), (x - y) / (2 * h)
        spins = (w[0], w[0] + w[1], w[2])
        return sum(
            k.mass * v @ v + k.inertia * s**2 for k, v, s in zip(limbs, c, spins, strict=True)
        )

    def weight(theta):
        return DATA.gravity * sum(
            k.mass * x[1] for k, x in zip(limbs, posture(theta)[1], strict=True)
        )

    theta = np.radians(20.0)
    pull = -120.0 - (weight(theta + h) - weight(theta - h)) / (2 * h)
    found = simulate(build(), until=1e-6)
    angles = posture(theta)[0]
    assert found.x[0, :2] == pytest.approx(angles[:2], abs=1e-12)
    assert found.x[0, 2] == pytest.approx(angles[2], abs=1e-12)
    acceleration = found["theta1_acceleration"][0]
    assert acceleration == pytest.approx(pull / inertia(theta), rel=1e-5)


def test_the_thesis_method_gives_the_same_accelerations():
    loop, model = closed_loop(), mechanism()
    q, v = model.start
    run = simulate(build(), until=1e-6)
    names = ("theta1", "theta2", "theta3")
    expected = [run[f"{name}_acceleration"][0] for name in names]
    assert np.ravel(loop.acceleration(q, v, [-120.0, 0.0, 0.0])) == pytest.approx(
        expected, rel=1e-9
    )


def test_both_routes_have_one_velocity_until_the_arm_is_straight():
    run = simulate(build())
    for axis in "xy":
        assert run[f"route1_{axis}"] == pytest.approx(run[f"route2_{axis}"], abs=1e-10)
    assert abs(run["route1_y"]).max() > 1.0
    assert [e.name for e in run.events] == ["arm straight"]
    assert run.t[-1] == pytest.approx(0.31889673, abs=1e-6)
