"""The five-link biped: its equations of motion and its impact by independent derivations, its step
against shooting.
"""

import casadi
import numpy as np
import pytest

from problems.classical import biped_step as biped
from trajopt import solve
from trajopt.mechanics import Coordinate, Link, Slide, Tree, Turn, newton_euler

CENTRE, G = 0.2, 9.81


def tree():
    """The same robot in relative angles, link by link, for Newton and Euler's recursion."""
    angle = [Coordinate(f"theta{k}", unit="rad") for k in range(5)]
    m, J = biped.MASS, biped.INERTIA
    up, down = biped.TIBIA - biped.BELOW_KNEE, -biped.BELOW_KNEE
    links = (
        Link("tibia", "ground", (Turn("z", angle[0]),), m[0], (0, up, 0), J[0]),
        Link(
            "femur",
            "tibia",
            (Slide("y", biped.TIBIA), Turn("z", angle[1])),
            m[1],
            (0, biped.FEMUR - biped.BELOW_HIP, 0),
            J[1],
        ),
        Link(
            "torso",
            "femur",
            (Slide("y", biped.FEMUR), Turn("z", angle[2])),
            m[2],
            (0, CENTRE, 0),
            J[2],
        ),
        Link("other femur", "torso", (Turn("z", angle[3]),), m[3], (0, -biped.BELOW_HIP, 0), J[3]),
        Link(
            "other tibia",
            "other femur",
            (Slide("y", -biped.FEMUR), Turn("z", angle[4])),
            m[4],
            (0, down, 0),
            J[4],
        ),
    )
    return Tree("biped", links, gravity=(0, -G, 0))


def states(count=5):
    rng = np.random.default_rng(0)
    return [
        (rng.normal(size=5), rng.normal(size=5) * 3, rng.normal(size=4) * 20) for _ in range(count)
    ]


def acceleration(q, v, u):
    a, _ = biped.arms(CENTRE)
    return np.array(
        casadi.DM(biped.acceleration(casadi.DM(q), casadi.DM(v), casadi.DM(u), a, G))
    ).ravel()


def relative(x):
    return np.diff(x, prepend=0.0)


def test_newton_and_euler_find_the_torques():
    """The ankle has none."""
    torques = newton_euler(tree())
    for q, v, u in states():
        found = np.array(
            torques(relative(q), relative(v), relative(acceleration(q, v, u)), 0.0)
        ).ravel()
        np.testing.assert_allclose(found, [0.0, *u], atol=1e-10)


def test_torques_are_the_only_source_of_energy():
    robot = tree()
    angles, rates = (casadi.vertcat(*[getattr(c, k) for c in robot.coordinates]) for k in "qv")
    energy = casadi.Function("energy", [angles, rates], [robot.kinetic + robot.potential])
    for q, v, u in states():
        h = 1e-5
        a = acceleration(q, v, u)
        after, before = (
            float(energy(relative(q + s * h * v), relative(v + s * h * a))) for s in (1, -1)
        )
        assert (after - before) / (2 * h) == pytest.approx(relative(v)[1:] @ u, rel=1e-6)


def test_the_impact_keeps_the_new_foot_at_rest():
    """Against the impulse at the foot from the equations in seven coordinates: five angles and the
    position of the old foot.
    """
    a, foot = biped.arms(CENTRE)
    for q, v, _ in states():
        along = np.vstack([-np.cos(q), -np.sin(q)])  # derivative of each link's direction
        jacobians = [np.hstack([row * along, np.eye(2)]) for row in a]
        M = sum(m * J.T @ J for m, J in zip(biped.MASS, jacobians, strict=True)) + np.diag(
            [*biped.INERTIA, 0, 0]
        )
        J = np.hstack([foot * along, np.eye(2)])
        kkt = np.block([[M, J.T], [J, np.zeros((2, 2))]])
        after = np.linalg.solve(kkt, np.concatenate([M @ [*v, 0, 0], [0, 0]]))[:5]
        before = np.array(casadi.DM(biped.inertia(a - foot, a, casadi.DM(q)))) @ v
        exchanged = np.array(casadi.DM(biped.inertia(a, a, casadi.DM(q[::-1]))))
        np.testing.assert_allclose(exchanged @ after[::-1], before[::-1], atol=1e-10)


def test_the_step_by_both_methods():
    solution = solve(biped.build(), "both").check()
    assert solution.objective == pytest.approx(biped.REFERENCE.objective, rel=1e-8)
    assert solution.comparison.objective < 1e-10
    assert solution.comparison.states < 1e-7
    _, foot = biped.arms(CENTRE)
    heights = [foot @ np.cos(solution["q"](t)) for t in np.linspace(0.05, 0.65, 40)]
    assert min(heights) > 0.02
