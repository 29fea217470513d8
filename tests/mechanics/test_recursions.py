"""Recursions in joint axes: against each other, against energies, with mimics, levels and balls."""

import casadi
import numpy as np
import pytest

from trajopt.errors import ModelError
from trajopt.mechanics import (
    Ball,
    Coordinate,
    Free,
    Level,
    Link,
    Mimic,
    Placement,
    Quaternion,
    Slide,
    Tree,
    Turn,
    check_model,
    newton_euler,
    parallel,
)
from trajopt.mechanics.recursions import Load, forward_dynamics, inverse_dynamics

GRAVITY = (0.5, -9.8, 1.0)
BODY = {"mass": 1.3, "centre": (0.1, -0.2, 0.05), "inertia": (0.02, 0.03, 0.04)}
OBLIQUE = ((0.36, 0.48, -0.8), (-0.8, 0.6, 0.0), (0.48, 0.64, 0.6))


def flying_tree():
    """A free base with a ball, a slide along an oblique axis and a placement."""
    elbow, rail = Coordinate("elbow"), Coordinate("rail")
    return Tree(
        "flying",
        (
            Link("base", "ground", (Free("base"),), **BODY),
            Link("arm", "base", (Slide("x", 0.3), Ball(Quaternion("shoulder"))), **BODY),
            Link("hand", "arm", (Placement((0, 0.2, 0), OBLIQUE), Turn((0, -1, 0), elbow)), **BODY),
            Link("tool", "hand", (Slide((1, 2, 2), rail), Turn("x", 0.3)), **BODY),
        ),
        gravity=GRAVITY,
    )


def levelled_tree():
    """Absolute angles, a joint that is driven in time, and oblique axes."""
    t = casadi.SX.sym("t")
    a, b, c = (Coordinate(name) for name in "abc")
    return Tree(
        "levelled",
        (
            Link("base", "ground", (Slide("x", casadi.sin(3 * t)), Turn((1, 1, 0), a)), **BODY),
            Link("arm", "base", (Slide("y", 0.4), Level(), Turn("z", b), Slide("x", 0.2)), **BODY),
            Link("hand", "arm", (Turn("y", 2 * t**2), Turn((0, 0, -1), c)), **BODY),
        ),
        gravity=GRAVITY,
        time=t,
    )


def random_motion(tree, seed=0):
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1, 1, tree.q.numel())
    v, a = rng.uniform(-1, 1, (2, tree.v.numel()))
    return q, v, a


@pytest.mark.parametrize("build", [flying_tree, levelled_tree])
def test_forward_dynamics_undo_inverse_dynamics(build):
    tree = build()
    q, v, a = random_motion(tree)
    bodies, gravity, n = tree.compiled.bodies, casadi.SX(GRAVITY), tree.v.numel()
    tau, force = casadi.SX.sym("tau", n), casadi.SX([3.0, -2.0, 1.0])
    load = [Load(tree.compiled.mounts["hand"], force)]
    rotors = casadi.SX(0.1 * np.arange(n))
    forward = forward_dynamics(bodies, tau, gravity, load, rotors)
    inverse = inverse_dynamics(bodies, n, gravity, load) + rotors * tree.accelerations
    symbols = [tree.q, tree.v, tree.accelerations, tree.time]
    found = casadi.Function("tau", symbols, [inverse])(q, v, a, 0.4)
    back = casadi.Function("a", [tree.q, tree.v, tau, tree.time], [forward])(q, v, found, 0.4)
    assert np.array(back).ravel() == pytest.approx(a, abs=1e-12)


@pytest.mark.parametrize("build", [flying_tree, levelled_tree])
def test_parallel_scheme_and_mass_matrix_agree_with_newton_euler(build):
    tree = build()
    q, v, a = random_motion(tree)
    tau = np.array(newton_euler(tree)(q, v, a, 0.4)).ravel()
    assert parallel(tree, q, v, a, 0.4).torques == pytest.approx(tau, abs=1e-12)
    terms = casadi.Function("terms", [tree.q, tree.v, tree.time], [tree.mass, tree.bias])
    M, bias = (np.array(e) for e in terms(q, v, 0.4))
    assert M @ a + bias.ravel() == pytest.approx(tau, abs=1e-12)
    assert np.array_equal(M, M.T)


def test_power_of_the_torques_is_the_rate_of_the_energy():
    """The energies come from other formulas, step by step in the ground's axes."""
    tree = flying_tree()
    q, v, a = random_motion(tree)
    q[3:7] /= np.linalg.norm(q[3:7])
    energy = tree.kinetic + tree.potential
    rate = casadi.jtimes(energy, tree.q, tree.rate) + casadi.jtimes(
        energy, tree.v, tree.accelerations
    )
    power = casadi.dot(tree.torques, tree.v)
    missing = casadi.Function("missing", [tree.q, tree.v, tree.accelerations], [rate - power])
    assert float(missing(q, v, a)) == pytest.approx(0.0, abs=1e-12)


def test_rate_of_a_quaternion_keeps_its_length_and_turns_the_axes():
    attitude = Quaternion("attitude")
    R, rate = attitude.rotation, attitude.rate
    spin = casadi.reshape(casadi.jtimes(casadi.vec(R), attitude.q, rate), 3, 3)
    length = casadi.dot(attitude.q, rate)
    terms = [length, spin - R @ casadi.skew(attitude.v), R.T @ R - casadi.SX.eye(3)]
    errors = casadi.Function("errors", [attitude.q, attitude.v], terms)
    for error in errors([0.5, -1.0, 0.2, 0.3], [0.3, -0.7, 1.1]):
        assert float(casadi.mmax(casadi.fabs(error))) < 1e-14


def test_axis_almost_opposite_to_a_coordinate_axis_is_that_axis():
    tree = Tree("bar", (Link("bar", "ground", (Turn((2.3e-8, 0, -1), Coordinate("a")),), **BODY),))
    R = casadi.Function("R", [tree.q], [tree.compiled.mounts["bar"].R])(0.0)
    assert np.array(R.T @ R) == pytest.approx(np.eye(3), abs=1e-15)


def test_mimic_agrees_with_lagrange():
    finger = Coordinate("finger", 0.1)
    tree = Tree(
        "gripper",
        (
            Link("left", "ground", (Turn("y", 0.3), Slide("x", finger)), **BODY),
            Link("crank", "left", (Turn((1, 0, 1), Mimic(finger, -2.0, 0.4)),), **BODY),
            Link("ball", "crank", (Turn("z", Coordinate("free")),), **BODY),
        ),
    )
    model = tree.mechanism()
    assert [c.name for c in model.coordinates] == ["finger", "free"]
    assert check_model(model, samples=5).check().ok


def test_regrouped_constants_need_fewer_operations():
    """A chain of three turns: the constants that its torques do not depend on are gone."""
    tree = Tree(
        "chain",
        tuple(
            Link(
                f"link{k}",
                f"link{k - 1}" if k else "ground",
                (Slide("x", 0.3), Turn("xyz"[k], Coordinate(f"q{k}"))),
                **BODY,
            )
            for k in range(3)
        ),
    )
    first = tree.compiled.bodies[0].inertials
    assert first.mass.is_zero()
    assert float(first.tensor[1, 1]) == 0.0
    assert newton_euler(tree).n_instructions() < 260


def test_tree_with_quaternions_is_no_mechanism():
    with pytest.raises(ModelError, match="'flying' has quaternions"):
        flying_tree().mechanism()
