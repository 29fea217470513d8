"""Double support: accelerations and forces by constraints, and a step between its nodes."""

import numpy as np
import pytest

from problems.exoskeleton.legs import ANGLES, EXCHANGED, JOINTS, WALKER, Legs
from problems.exoskeleton.two_legged_double import REFERENCE, build
from trajopt import solve

LEGS = Legs(WALKER)
WEIGHT = 9.81 * (WALKER.trunk_mass + 2 * (WALKER.thigh_mass + WALKER.shank_mass + WALKER.foot_mass))


def test_double_support_is_the_mechanism_with_both_feet_held():
    rng = np.random.default_rng(2)
    q = np.concatenate([np.zeros(3), [0.1, -0.2, 0.05, 0.3, 0.7, 0.4]])
    torques = rng.uniform(-50, 50, 6)
    v = np.concatenate([np.zeros(3), rng.uniform(-1, 1, 6)])
    toe, J, _ = (np.array(x) for x in LEGS.hind_toe(q, v))
    v[3:] -= np.linalg.pinv(J[:, 3:]) @ (J @ v).ravel()  # the hind toe stands still
    model = LEGS.standing(True, hind=-float(toe[0, 0]))
    a, ground, hind = (np.array(x).ravel() for x in LEGS.double_support(q, v, torques))
    expected = np.array(model.acceleration(q, v, torques)).ravel()
    assert expected[:3] == pytest.approx(np.zeros(3), abs=1e-9)
    assert a == pytest.approx(expected[3:], abs=1e-8)
    reactions = np.array(model.reactions(q, v, torques)).ravel()
    assert reactions[:3] == pytest.approx(ground, abs=1e-7)
    assert reactions[3:] == pytest.approx(hind, abs=1e-7)


@pytest.fixture(scope="module")
def step():
    return solve(build())


@pytest.mark.slow
def test_the_step_has_both_feet_on_the_ground_at_first(step):
    assert step.objective == pytest.approx(REFERENCE.objective, rel=1e-6)
    phase = step.phases["double support"]
    assert phase.tf == pytest.approx(0.2 * 0.68 / 1.25)
    first = []
    for t in np.linspace(phase.t0, phase.tf, 40):
        q, v = np.zeros(9), np.zeros(9)
        for k, name in enumerate(ANGLES[1:], start=3):
            q[k], v[k] = (float(step[phase.name, n](t)) for n in (name, f"{name}_rate"))
        u = [float(step[phase.name, f"{joint}_torque"](t)) for joint in JOINTS]
        toe, J, _ = (np.array(x) for x in LEGS.hind_toe(q, v))
        assert toe.ravel() == pytest.approx([-0.68, 0.0], abs=1e-6)
        assert J @ v == pytest.approx(np.zeros(2), abs=1e-6)
        _, ground, hind = (np.array(x).ravel() for x in LEGS.double_support(q, v, u))
        first.append((ground, hind))
        assert ground[1] > 300
        assert abs(ground[0]) <= 0.6 * ground[1] + 1e-3
        assert abs(hind[0]) <= 0.6 * hind[1] + 1.0 + 1e-3  # the cone is wider by 1 N
        assert -1e-3 <= ground[2] <= 0.25 * ground[1] + 1e-3
    total = np.array([ground[1] + hind[1] for ground, hind in first])
    assert 0.5 * WEIGHT < total.min() < total.max() < 1.6 * WEIGHT
    assert first[-1][1] == pytest.approx([0, 0], abs=1e-3)


@pytest.mark.slow
def test_the_next_step_is_the_same_with_the_legs_exchanged(step):
    end, begin = step.phases["heel off"], step.phases["double support"]
    for what in ("", "_rate"):
        before = [float(step["heel off", f"{a}{what}"](end.tf)) for a in ANGLES]
        after = [float(step["double support", f"{a}{what}"](begin.t0)) for a in ANGLES[1:]]
        assert after == pytest.approx([before[k] for k in EXCHANGED[1:]], abs=1e-7)
