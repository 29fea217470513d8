"""Controls that the cost does not determine."""

from casadi import SX, cos, sin, solve

from trajopt import Problem, free

from .entry import problem


@problem("slowest-joint", "undetermined")
def slowest_joint() -> Problem:
    """Three joints from rest to rest in least time: the slowest decides, the others have time to
    spare.
    """
    ocp = Problem("slowest-joint")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 30))
    rates = {}
    for i, (distance, limit) in enumerate(((1.0, 1.0), (2.0, 0.5), (-0.5, 2.0))):
        q, w = ph.state(f"q{i}", start=0, end=distance), ph.state(f"w{i}", start=0, end=0)
        u = ph.control(f"u{i}", lower=-limit, upper=limit)
        rates |= {q: w, w: u}
    ph.dynamics(rates)
    ocp.minimize(ph.final(t))
    return ocp


@problem("slowest-axis", "undetermined")
def slowest_axis() -> Problem:
    """Two axes of a gantry with speed limits, least time: one axis is at its limits, the other is
    idle or not.
    """
    ocp = Problem("slowest-axis")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 30))
    x, y = ph.state("x", start=0, end=5), ph.state("y", start=0, end=1)
    v = ph.state("v", start=0, end=0, lower=-2, upper=2)
    w = ph.state("w", start=0, end=0, lower=-2, upper=2)
    a, b = ph.control("a", lower=-2, upper=2), ph.control("b", lower=-2, upper=2)
    ph.dynamics({x: v, y: w, v: a, w: b})
    ocp.minimize(ph.final(t))
    return ocp


@problem("redundant-motors", "undetermined", quick=True)
def redundant_motors() -> Problem:
    """Two motors on one shaft; the cost sees only the sum of their forces."""
    ocp = Problem("redundant-motors")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    a, b = ph.control("a", lower=-10, upper=10), ph.control("b", lower=-10, upper=10)
    ph.dynamics({x: v, v: a + b})
    ocp.minimize(ph.integral((a + b) ** 2))
    return ocp


@problem("slow-gripper", "undetermined", quick=True)
def slow_gripper() -> Problem:
    """A two-link arm whose gripper turns slowly, in least time: the gripper decides, two coupled
    joints have time to spare.
    """
    ocp = Problem("slow-gripper")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 30))
    q = [
        ph.state("shoulder", start=0, end=1),
        ph.state("elbow", start=0.5, end=-0.5),
        ph.state("gripper", start=0, end=2),
    ]
    w = [ph.state(f"w{i}", start=0, end=0, lower=-2, upper=2) for i in range(3)]
    u = [ph.control(f"u{i}", lower=-limit, upper=limit) for i, limit in enumerate((8, 4, 0.5))]
    M, right = SX(2, 2), SX(2, 1)
    c, s = cos(q[1]) / 2, sin(q[1]) / 2
    M[0, 0], M[0, 1], M[1, 0], M[1, 1] = 5 / 3 + 2 * c, 1 / 3 + c, 1 / 3 + c, 1 / 3
    right[0] = u[0] + s * (2 * w[0] * w[1] + w[1] ** 2)
    right[1] = u[1] - s * w[0] ** 2
    rates = solve(M, right)
    ph.dynamics({**{q[i]: w[i] for i in range(3)}, w[0]: rates[0], w[1]: rates[1], w[2]: u[2]})
    ocp.minimize(ph.final(t))
    return ocp
