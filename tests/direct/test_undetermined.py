"""Controls that the cost does not determine are settled, and named."""

import numpy as np
import pytest
from casadi import SX, cos, sin
from casadi import solve as solve_linear

from trajopt import Problem, free, solve
from trajopt.certificate import certify


def decoupled_arm(distances, torques, speed=None):
    """Joints from rest to rest in least time."""
    ocp = Problem("arm")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 30))
    rates = {}
    for i, (distance, torque) in enumerate(zip(distances, torques, strict=True), start=1):
        bounds = {} if speed is None else {"lower": -speed, "upper": speed}
        q, w = ph.state(f"q{i}", start=0, end=distance), ph.state(f"w{i}", start=0, end=0, **bounds)
        u = ph.control(f"u{i}", lower=-torque, upper=torque)
        rates |= {q: w, w: u}
    ph.dynamics(rates)
    ocp.minimize(ph.final(t))
    return ocp


DISTANCES = (1.1, -1.4, 0.6, 0.9, -1.7, 0.8, 1.3)
TORQUES = (1.0, 2.5, 1.2, 2.0, 2.8, 1.6, 2.2)


@pytest.mark.parametrize("joints", [3, 7])
def test_the_slowest_joint_of_an_arm_is_named(joints):
    solution = solve(decoupled_arm(DISTANCES[:joints], TORQUES[:joints])).check()
    assert solution.objective == pytest.approx(2 * np.sqrt(1.1), rel=1e-9)
    others = ", ".join(f"'u{i}'" for i in range(2, joints + 1))
    assert solution.explanation == (
        f"the cost does not determine controls {others} in phase 'main'; it is decided by 'u1'",
    )
    assert str(certify(solution).claim) in ("extremal", "minimum")


@pytest.mark.parametrize("joints", [3, 7])
def test_with_speed_limits_a_few_meshes_suffice(joints):
    """Faster joints have arcs at their limits that nothing determines."""
    solution = solve(decoupled_arm(DISTANCES[:joints], TORQUES[:joints], speed=1)).check()
    assert solution.objective == pytest.approx(1.1 + 1, rel=1e-6)
    assert len(solution.history) <= 8
    assert str(certify(solution).claim) in ("extremal", "minimum")
    steps = np.diff(solution["u3"](np.linspace(0, solution.objective, 201)))
    assert np.abs(steps).max() < 0.1  # least effort, not wherever the solver passed by


def test_an_idle_joint_beside_a_coupled_pair():
    ocp = Problem("robot")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 30))
    q = [
        ph.state("shoulder", start=0, end=1),
        ph.state("elbow", start=0.5, end=-0.5),
        ph.state("wrist", start=0, end=0.2),
    ]
    w = [ph.state(f"w{i}", start=0, end=0) for i in range(3)]
    u = [
        ph.control(name, lower=-limit, upper=limit)
        for name, limit in (("hip", 2), ("knee", 1), ("idle", 3))
    ]
    M, right = SX(2, 2), SX(2, 1)
    c, s = cos(q[1]) / 2, sin(q[1]) / 2
    M[0, 0], M[0, 1], M[1, 0], M[1, 1] = 5 / 3 + 2 * c, 1 / 3 + c, 1 / 3 + c, 1 / 3
    right[0], right[1] = u[0] + s * (2 * w[0] * w[1] + w[1] ** 2), u[1] - s * w[0] ** 2
    rates = solve_linear(M, right)
    ph.dynamics({**{q[i]: w[i] for i in range(3)}, w[0]: rates[0], w[1]: rates[1], w[2]: u[2]})
    ocp.minimize(ph.final(t))
    solution = solve(ocp).check()
    assert solution.explanation == (
        "the cost does not determine control 'idle' in phase 'main'; it is decided by 'hip', "
        "'knee'",
    )
    assert len(solution.history) <= 5
    assert str(certify(solution).claim) in ("extremal", "minimum")


def coast(**unit):
    ocp = Problem("coast")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x = ph.state("x", size=2, start=[1, 0.5], end=[0, 0])
    v = ph.state("v", size=2, start=[0, 0], end=[0, 0])
    thrust = ph.control("thrust", lower=0, upper=1)
    direction = ph.control("direction", size=2, lower=-1.1, upper=1.1)
    ph.dynamics({x: v, v: thrust * direction})
    ph.path(direction[0] ** 2 + direction[1] ** 2, name="unit vector", **unit)
    ocp.minimize(ph.integral(thrust))
    return ocp


@pytest.mark.parametrize("unit", [{"equals": 1}, {"upper": 1}], ids=["equation", "bound"])
def test_a_direction_of_thrust_on_a_coast(unit):
    solution = solve(coast(**unit)).check()
    burn = 2 - np.sqrt(4 - np.hypot(1, 0.5))  # T (4 - T) is the distance
    assert solution.objective == pytest.approx(2 * burn, rel=1e-6)
    assert len(solution.history) <= 4
    (line,) = solution.explanation
    assert line == (
        "the cost does not determine controls 'direction[0]', 'direction[1]' in phase 'main' "
        f"for t = {burn:.4g} to {4 - burn:.4g}: no effect there"
    )
    assert str(certify(solution).claim) in ("extremal", "minimum")


def test_a_singular_control_is_determined():
    """The cost determines a singular control by its second derivatives: nothing is reported."""
    ocp = Problem("singular")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, u = ph.state("x", start=1), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(x**2))
    assert solve(ocp).check().explanation == ()
