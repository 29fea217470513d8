"""Kinematic analysis of driven mechanisms."""

import math

import numpy as np
import pytest

from problems.multibody.exercises import slider_crank, slider_crank_mechanism
from trajopt.errors import ModelError
from trajopt.integrate import simulate
from trajopt.mechanics import Body, Drive, Revolute, assemble, kinematics


def test_driven_slider_crank_follows_the_closed_formula():
    r, l, w = 0.2, 0.6, 7.0
    model = slider_crank_mechanism(r, l, drive=w)
    times = np.linspace(0.0, 2.0, 81)
    found = kinematics(model, times)
    x = found.q[:, model.index("piston_x")]
    v, a = found.v[:, model.index("piston_x")], found.a[:, model.index("piston_x")]
    theta = math.pi / 3 + w * times
    s, c, root = np.sin(theta), np.cos(theta), np.sqrt(l**2 - r**2 * np.sin(theta) ** 2)
    assert x == pytest.approx(r * c + root, abs=1e-12)
    assert v == pytest.approx(w * (-r * s - r**2 * s * c / root), abs=1e-11)
    curvature = -r * c - r**2 * (c**2 - s**2) / root - r**4 * s**2 * c**2 / root**3
    assert a == pytest.approx(w**2 * curvature, abs=1e-10)


def test_kinematics_rejects_a_mechanism_that_is_not_driven():
    with pytest.raises(ModelError, match="not fully driven"):
        kinematics(slider_crank_mechanism(), [0.0])


def arm(path):
    """Two bars to a point that is driven along x."""
    one, two = Body("one", 1, 0.1, (0.5, 0.0)), Body("two", 1, 0.1, (1.0, 0.5), math.pi / 2)
    joints = [
        Revolute("shoulder", "ground", "one", (0, 0), (-0.5, 0)),
        Revolute("elbow", "one", "two", (0.5, 0), (-0.5, 0)),
        Revolute("hand", "ground", "two", lambda t: (path(t), 1.0), (0.5, 0)),
    ]
    return assemble("arm", [one, two], joints)


def test_unreachable_positions_of_a_two_link_arm_are_reported():
    found = kinematics(arm(lambda t: 1.0 - 0.3 * t), [0.0, 0.5, 1.0])
    tip = found.q[:, 3] + 0.5 * np.cos(found.q[:, 5]), found.q[:, 4] + 0.5 * np.sin(found.q[:, 5])
    assert np.array(tip) == pytest.approx(np.array([[1.0, 0.85, 0.7], [1.0, 1.0, 1.0]]), abs=1e-12)
    with pytest.raises(ModelError, match="'hand"):
        kinematics(arm(lambda t: 1.0 + t), [0.0, 0.5, 1.5])


def test_dead_centre_is_reported():
    bar = Body("bar", 1, 0.1, (0.0, -0.5), -math.pi / 2)
    joints = [
        Revolute("pin", "ground", "bar", (0, 0), (-0.5, 0)),
        Drive("lift", "bar", lambda t: -0.5 + 0 * t, which=1),
    ]
    with pytest.raises(ModelError, match="singular position at t = 0"):
        kinematics(assemble("stuck", [bar], joints), [0.0])


def test_the_named_driven_crank_follows_the_kinematic_analysis():
    """Integration of the augmented equations against Newton-Raphson; the drive's torque against the
    rate of the energy.
    """
    run = simulate(slider_crank(drive=7.0), until=0.5)
    model = slider_crank_mechanism(drive=7.0)
    found = kinematics(model, run.t)
    for name in ("rod_theta", "piston_x"):
        k = model.index(name)
        assert run[name] == pytest.approx(found.q[:, k], abs=1e-9)
        assert run[f"{name}_rate"] == pytest.approx(found.v[:, k], abs=1e-8)
        assert run[f"{name}_acceleration"] == pytest.approx(found.a[:, k], abs=1e-6)
    power = run.refined(4000)
    work = np.trapezoid(7.0 * power["reaction_drive"], power.t)
    assert work == pytest.approx(run["energy"][-1] - run["energy"][0], abs=1e-4)


def test_a_driven_crank_has_no_independent_velocity():
    with pytest.raises(ModelError, match="no independent velocity"):
        slider_crank(drive=7.0, formulation="voronets")
