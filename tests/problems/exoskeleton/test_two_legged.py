"""The walking machine: its ground force and its impact in two ways, and a step
between its nodes.
"""

from dataclasses import replace

import numpy as np
import pytest

from problems.exoskeleton.legs import ANGLES, EXCHANGED, JOINTS, WALKER, Legs
from problems.exoskeleton.two_legged import build
from trajopt import Collocation, solve

LEGS = Legs(WALKER)
MASS = WALKER.trunk_mass + 2 * (WALKER.thigh_mass + WALKER.shank_mass + WALKER.foot_mass)


def links(q):
    """Mass centres (7, 2) by plane trigonometry, in the order of the angles, and the hip; q as in
    ``Legs``.
    """
    d, (x, y), (foot, shank, thigh, trunk, thigh2, shank2, foot2) = WALKER, q[:2], q[2:]

    def up(angle):
        return np.array([np.sin(angle), np.cos(angle)])

    def ahead(angle):
        return np.array([np.cos(angle), -np.sin(angle)])

    toe, sole = np.array([x, y]), d.foot_length
    ankle = toe - (sole - d.heel_length) * ahead(foot) + d.ankle_height * up(foot)
    knee = ankle + d.shank_length * up(shank)
    hip = knee + d.thigh_length * up(thigh)
    knee2 = hip - d.thigh_length * up(thigh2)
    ankle2 = knee2 - d.shank_length * up(shank2)
    low = d.limb_centre
    centres = [
        toe - sole / 2 * ahead(foot) + d.ankle_height / 2 * up(foot),
        knee - low * d.shank_length * up(shank),
        hip - low * d.thigh_length * up(thigh),
        hip + d.trunk_centre * up(trunk),
        hip - low * d.thigh_length * up(thigh2),
        knee2 - low * d.shank_length * up(shank2),
        ankle2 + (sole / 2 - d.heel_length) * ahead(foot2) - d.ankle_height / 2 * up(foot2),
    ]
    toe2 = ankle2 + (sole - d.heel_length) * ahead(foot2) - d.ankle_height * up(foot2)
    return np.array(centres), hip, toe2, toe2 - sole * ahead(foot2)


def momentum(q, v, step=1e-6):
    """Momentum (2,), and angular momentum about the origin, forwards (clockwise) positive."""
    d = WALKER
    masses = np.array(
        [
            d.foot_mass,
            d.shank_mass,
            d.thigh_mass,
            d.trunk_mass,
            d.thigh_mass,
            d.shank_mass,
            d.foot_mass,
        ]
    )
    inertias = np.array(
        [
            d.foot_inertia,
            d.shank_inertia,
            d.thigh_inertia,
            d.trunk_inertia,
            d.thigh_inertia,
            d.shank_inertia,
            d.foot_inertia,
        ]
    )
    r = links(q)[0]
    w = (links(q + step * v)[0] - links(q - step * v)[0]) / (2 * step)
    turning = np.sum(masses * (r[:, 1] * w[:, 0] - r[:, 0] * w[:, 1])) + inertias @ v[2:]
    return masses @ w, turning, masses @ r


@pytest.mark.parametrize("free", [6, 7])
def test_ground_reactions_balance_momentum_and_angular_momentum(free):
    rng = np.random.default_rng(free)
    q, v = np.zeros(9), np.zeros(9)
    q[-free:], v[-free:] = 0.4 * rng.normal(size=free), rng.normal(size=free)
    a, ground = (
        np.array(part).ravel() for part in LEGS.motion(q, v, 30 * rng.normal(size=6), free)
    )
    full, h = np.zeros(9), 1e-4
    full[-free:] = a
    after, before = (momentum(q + s * h * v + h**2 / 2 * full, v + s * h * full) for s in (1, -1))
    force = (after[0] - before[0]) / (2 * h) + np.array([0, MASS * WALKER.gravity])
    weight = momentum(q, v)[2][0] * WALKER.gravity  # forwards, about the toe
    moment = (after[1] - before[1]) / (2 * h) - weight
    np.testing.assert_allclose(ground[:2], force, rtol=1e-4, atol=1e-2)
    assert ground[2] == pytest.approx(moment, rel=1e-4, abs=1e-2)
    if free == 7:
        assert ground[2] == pytest.approx(0.0, abs=1e-9)  # nothing but the toe is on the ground


def constrained_impact(q, v):
    """M (v+ - v-) = J^T I, J v+ = 0, with J of the landing foot's toe and pitch: rates after it and
    the impulse.
    """
    M = np.array(LEGS.inertia(q, v)[0])
    columns = [np.array(LEGS.swing_foot(q, e)[1]).ravel()[:2] for e in np.eye(9)]
    J = np.vstack([np.array(columns).T, np.eye(9)[8]])
    system = np.block([[M, -J.T], [J, np.zeros((3, 3))]])
    solved = np.linalg.solve(system, np.concatenate([M @ v, np.zeros(3)]))
    return solved[:9], solved[9:]


def test_the_impact_is_that_of_a_foot_held_by_constraints():
    rng = np.random.default_rng(3)
    q, v = (
        np.concatenate([[0, 0], 0.3 * rng.normal(size=7)]),
        np.concatenate([[0, 0], rng.normal(size=7)]),
    )
    q[8] = 0.0
    after, impulse = constrained_impact(q, v)
    rates = after[[2 + k for k in EXCHANGED]][1:]  # in the order of the next step
    change = np.array(LEGS.impact(q, v, rates)).ravel()
    np.testing.assert_allclose(change[:2], impulse[:2], atol=1e-9)
    np.testing.assert_allclose(change[3:], 0.0, atol=1e-9)


def test_the_energy_of_the_drives_is_that_of_their_rotors():
    """The rows of the mass matrix: a unit rate of the standing shank alone turns the ankle's and
    the knee's rotor.
    """
    bare = Legs(replace(WALKER, drive_inertia=0.0))
    q, rng = np.zeros(9), np.random.default_rng(1)
    v = rng.normal(size=9)
    energy = [v @ np.array(legs.inertia(q, v)[0]) @ v / 2 for legs in (LEGS, bare)]
    joints = np.diff(v[2:])
    assert energy[0] - energy[1] == pytest.approx(
        WALKER.drive_inertia * joints @ joints / 2, rel=1e-12
    )


@pytest.fixture(scope="module")
def step():
    """A first mesh, sampled: time, q, v, torques and how many angles move."""
    answer = solve(build(), Collocation(max_passes=1, tolerance=float("inf")))
    assert answer.success
    samples = []
    for ph in answer.phases.values():
        for t in np.linspace(ph.t0, ph.tf, 40):
            q, v = (
                np.array(
                    [0, 0]
                    + [
                        float(ph.states[n + end](t)) if n + end in ph.states else 0.0
                        for n in ANGLES
                    ]
                )
                for end in ("", "_rate")
            )
            torques = [float(ph.states[f"{j}_torque"](t)) for j in JOINTS]
            samples.append((t, q, v, torques, 7 if "foot" in ph.states else 6))
    return samples


def test_the_feet_stay_above_the_ground_and_the_step_is_that_of_a_walk(step):
    hips, feet = (
        np.array([links(q)[1] for _, q, *_ in step]),
        np.array([links(q)[2:] for _, q, *_ in step]),
    )
    assert feet[..., 1].min() > -1e-6
    for point in range(2):  # toe and heel, where they pass those of the standing foot
        passing = np.argmin(np.abs(feet[:, point, 0] + point * WALKER.foot_length))
        assert feet[passing, point, 1] > 0.019
    assert feet[0, 0] == pytest.approx([-0.68, 0], abs=1e-8)
    assert feet[-1, 0] == pytest.approx([0.68, 0], abs=1e-8)
    assert feet[-1, 1] == pytest.approx([0.68 - WALKER.foot_length, 0], abs=1e-8)
    assert step[-1][0] == pytest.approx(0.68 / 1.25)
    assert hips[-1, 0] - hips[0, 0] == pytest.approx(0.68, abs=1e-8)  # the body goes along
    assert np.ptp(hips[:, 1]) == pytest.approx(0.0432, abs=5e-4)
    assert np.degrees(max(q[7] - q[6] for _, q, *_ in step)) == pytest.approx(63, abs=1)


def test_ground_reactions_are_within_the_friction_cone_under_the_sole(step):
    for _, q, v, torques, free in step:
        along, up, moment = np.array(LEGS.motion(q, v, torques, free)[1]).ravel()
        assert up > 300
        assert abs(along) <= 0.6 * up * (1 + 1e-3)
        assert -0.5 < moment < WALKER.foot_length * up
        assert np.all(np.abs(torques) <= np.array([150, 60, 120, 120, 60, 150]) * (1 + 1e-6))


def test_the_impact_leads_to_the_same_step_with_the_legs_exchanged(step):
    """By constraint impulses, M (v+ - v-) = J^T I, in coordinates of the leg that stood."""
    (_, start, rates, *_), (_, q, v, *_) = step[0], step[-1]
    np.testing.assert_allclose(start[3:], q[[2 + k for k in EXCHANGED]][1:], atol=1e-9)
    after, impulse = constrained_impact(q, v)
    np.testing.assert_allclose(rates[3:], after[[2 + k for k in EXCHANGED]][1:], atol=1e-6)
    assert impulse[1] > 0
    assert abs(impulse[0]) < 0.6 * impulse[1]
    assert 0 < impulse[2] < WALKER.foot_length * impulse[1]
    before = np.array(LEGS.swing_foot(q, v)[1]).ravel()
    assert before[3] < -0.1  # the heel comes down,
    assert before[1] <= before[3] + 1e-6  # and the toe was above it
    assert (
        min(np.array(LEGS.swing_foot(start, rates)[1]).ravel()[[1, 3]]) > 0.1
    )  # and the hind foot leaves
