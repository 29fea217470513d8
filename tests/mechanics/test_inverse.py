"""Inverse dynamics by several methods, and closed loops by cutting."""

import casadi
import numpy as np
import pytest

from problems.bike import rider_loop
from problems.multibody import branched_arm
from trajopt.errors import ModelError
from trajopt.mechanics import ClosedLoop, Coordinate, Holonomic, Mechanism, newton_euler, parallel


def turning(t):
    """Angles, rates and accelerations of the branched arm."""
    s = casadi.SX.sym("t")
    f = casadi.Function("f", [s], list(branched_arm.profile(s, np.pi / 2, 1.0)))
    moved, rate, acceleration = (float(e) for e in f(t))
    return np.array(branched_arm.START) + moved, np.full(3, rate), np.full(3, acceleration)


@pytest.mark.parametrize("t", list(branched_arm.REFERENCE))
def test_branched_arm_has_the_published_torques(t):
    tree, state = branched_arm.arm(), turning(t)
    by_lagrange = np.array(tree.mechanism().inverse(*state)).ravel()
    assert by_lagrange == pytest.approx(branched_arm.REFERENCE[t], abs=5e-9)
    assert parallel(tree, *state).torques == pytest.approx(by_lagrange, abs=1e-14)
    assert np.array(newton_euler(tree)(*state, 0.0)).ravel() == pytest.approx(
        by_lagrange, abs=1e-14
    )


@pytest.mark.parametrize("t", list(branched_arm.REFERENCE))
def test_branched_arm_as_a_system_reports_them(t):
    system = branched_arm.build()
    torques = [
        float(system.function(system.outputs[f"torque{k}"][0])(t, system.start, []))
        for k in (1, 2, 3)
    ]
    assert torques == pytest.approx(branched_arm.REFERENCE[t], abs=5e-9)


def test_the_parallel_scheme_depends_on_the_geometry_only_through_member_lengths():
    """In the plane the z rows of L do not change with the posture, and a link that is not outboard
    has an empty block.
    """
    tree = branched_arm.arm()
    one, two = parallel(tree, *turning(0.25)), parallel(tree, *turning(0.6))
    assert one.lengths[2::3] == pytest.approx(two.lengths[2::3], abs=1e-15)
    assert np.abs(one.forces - two.forces).max() > 1.0
    assert one.transform @ one.transform.T == pytest.approx(np.eye(len(one.transform)), abs=1e-15)
    assert one.moments == pytest.approx(one.lengths @ one.transform @ one.forces, rel=1e-14)


@pytest.mark.parametrize("planar", [True, False])
def test_parallel_scheme_agrees_with_newton_euler_and_lagrange_on_any_tree(random_tree, planar):
    for seed in range(3):
        tree = random_tree(9, planar, seed)
        state = np.random.default_rng(seed).standard_normal((3, 9))
        reference = np.array(newton_euler(tree)(*state, 0.0)).ravel()
        scale = np.abs(reference).max()
        assert parallel(tree, *state).torques == pytest.approx(reference, abs=1e-14 * scale)
        assert np.array(tree.mechanism().inverse(*state)).ravel() == pytest.approx(
            reference, abs=2e-14 * scale
        )


def test_parallel_scheme_handles_prismatic_joints_and_absolute_angles(exoskeleton):
    tree, _ = exoskeleton
    state = np.random.default_rng(4).standard_normal((3, 10))
    reference = np.array(newton_euler(tree)(*state, 0.0)).ravel()
    assert parallel(tree, *state).torques == pytest.approx(
        reference, abs=1e-13 * np.abs(reference).max()
    )


@pytest.fixture(scope="module")
def loop():
    found = rider_loop.closed_loop()
    q = found.mechanism.consistent().start[0]
    return found, q, found.rates(q, [0.7, -0.4, 0.9])


def test_torque_transform_maps_generalized_rates_to_closed_motions(loop):
    method, q, v = loop
    model = method.mechanism
    assert np.array(
        model.evaluate(model.equations.velocity_residual, q, v)
    ).ravel() == pytest.approx([0, 0], abs=1e-15)
    W = method.transform(q)
    assert np.array(model.evaluate(model.equations.matrix, q, v)) @ W == pytest.approx(
        np.zeros((2, 3)), abs=1e-15
    )
    assert W[[1, 2, 4]] == pytest.approx(np.eye(3))


def test_rates_of_a_driven_loop_follow_its_drive():
    """Where time moves a constraint, the dependent rates are those of the drive even at zero
    generalized rates.
    """
    t = casadi.SX.sym("t")
    x, y = Coordinate("x", 0.3), Coordinate("y", 0.4)
    rod = Holonomic("growing rod", x.q**2 + y.q**2 - (0.5 + 0.2 * t) ** 2)
    model = Mechanism("crane", (x, y), (x.v**2 + y.v**2) / 2, constraints=(rod,), time=t)
    method = ClosedLoop(model, ("x",))
    for speed in (0.0, 0.7):
        v = method.rates([0.3, 0.4], [speed])
        assert v == pytest.approx([speed, (0.5 * 0.2 - 0.3 * speed) / 0.4], rel=1e-14)
        assert float(
            model.evaluate(model.equations.velocity_residual, [0.3, 0.4], v)
        ) == pytest.approx(0.0, abs=1e-16)


def test_unit_vector_method_gives_the_augmented_accelerations(loop):
    method, q, v = loop
    expected = np.array(method.mechanism.acceleration(q, v, rider_loop.TORQUES)).ravel()
    assert method.acceleration(q, v, rider_loop.TORQUES) == pytest.approx(expected, rel=1e-11)


def test_generalized_forces_and_actuator_torques_reproduce_the_motion(loop):
    method, q, v = loop
    a = method.acceleration(q, v, rider_loop.TORQUES)
    needed = method.generalized_force(q, v, a[[1, 2, 4]])
    assert needed == pytest.approx(method.transform(q).T @ rider_loop.TORQUES, abs=1e-10)
    assert method.actuator_torques(q, v, a, ("theta2", "theta3", "theta5")) == pytest.approx(
        [9, -130, -7], abs=1e-9
    )
    with pytest.raises(ModelError, match="cannot actuate it"):
        method.actuator_torques(q, v, a, ("theta2", "theta3"))


def test_wrong_choices_of_generalized_coordinates_are_rejected(loop):
    method, q, _ = loop
    with pytest.raises(ModelError, match="invalid choice of independent coordinates"):
        ClosedLoop(method.mechanism, ("theta1",)).transform(q)
    # Stretch the arm: forearm and upper arm in line cannot determine each other.
    straight = q.copy()
    straight[4] = 0.0
    with pytest.raises(ModelError, match="not determined here"):
        ClosedLoop(method.mechanism, ("theta1", "theta2", "theta3")).transform(straight)


def test_newmark_rule_for_a_prescribed_motion_does_not_converge():
    """The paper finds accelerations of its quintic by Newmark's rule solved for u''. Their
    recursion has a double root at -1, so that the error does not shrink with the step; exact
    accelerations are used instead.
    """
    beta, gamma = 0.25, 0.5

    def after(a, v, travelled, h):
        a1 = (travelled - h * v) / (beta * h**2) - (1 / (2 * beta) - 1) * a
        return a1, v + h * ((1 - gamma) * a + gamma * a1)

    recursion = np.array(
        [after(*unit, 0.0, 1.0) for unit in ((1.0, 0.0), (0.0, 1.0))]
    ).T  # in (u'', u'), of a step of one
    assert np.poly(recursion) == pytest.approx([1.0, 2.0, 1.0], abs=1e-14)
    errors = []
    for steps in (100, 1000):
        t = np.linspace(0.0, 1.0, steps + 1)
        u = np.pi / 2 * (10 * t**3 - 15 * t**4 + 6 * t**5)
        exact = np.pi / 2 * (60 * t - 180 * t**2 + 120 * t**3)
        a, v, found = 0.0, 0.0, [0.0]
        for travelled in np.diff(u):
            a, v = after(a, v, travelled, t[1])
            found.append(a)
        errors.append(np.abs(np.array(found) - exact).max())
    assert errors[1] > 0.5 * errors[0] > 0.01
