"""Cranes, arms, pendulums and friction."""

from math import pi

from casadi import SX, cos, sin, solve, sqrt, tanh

from trajopt import Problem, free

from .entry import problem


@problem("container-crane", "mechanism")
def container_crane() -> Problem:
    """A container moved and lifted with speed limits (Sakawa & Shindo 1982)."""
    ocp = Problem("container-crane")
    ph = ocp.phase()
    ph.time(start=0, end=9)
    x = ph.state("x", start=0, end=10)
    length = ph.state("length", start=22, end=14)
    swing = ph.state("swing", start=0, end=0)
    v = ph.state("v", start=0, end=2.5, lower=-2.5, upper=2.5)
    hoist = ph.state("hoist", start=-1, end=0, lower=-1, upper=1)
    rate = ph.state("rate", start=0, end=0)
    a = ph.control("a", lower=-2.83374, upper=2.83374)
    b = ph.control("b", lower=-0.80865, upper=0.71265)
    ph.dynamics({
        x: v, length: hoist, swing: rate,
        v: a + 17.2656 * swing, hoist: b, rate: -(a + 27.0756 * swing + 2 * hoist * rate) / length,
    })  # fmt: skip
    ocp.minimize(ph.integral((swing**2 + rate**2) / 2))
    return ocp


@problem("gantry-crane", "mechanism", quick=True)
def gantry_crane() -> Problem:
    """A trolley with a hanging load: least effort with limits on swing, speed and acceleration."""
    ocp = Problem("gantry-crane")
    ph = ocp.phase()
    ph.time(start=0, end=11)
    x, v = ph.state("x", start=0, end=8), ph.state("v", start=0, end=0, upper=1.4)
    swing = ph.state("swing", start=0, end=0, lower=-0.06, upper=0.06)
    rate = ph.state("rate", start=0, end=0)
    a = ph.control("a", lower=-1, upper=1)
    ph.dynamics({x: v, v: a, swing: rate, rate: -(9.81 * sin(swing) + a * cos(swing)) / 5})
    ocp.minimize(ph.integral(a**2))
    return ocp


@problem("dry-friction", "mechanism")
def dry_friction() -> Problem:
    """A block on a spring with dry friction, there and back with least effort: the friction changes
    sign at once.
    """
    ocp = Problem("dry-friction")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x, v = ph.state("x", start=1, end=-0.6), ph.state("v", start=1, end=0)
    u = ph.control("u", lower=-4, upper=4)
    ph.dynamics({x: v, v: u - x - 0.5 * tanh(v / 0.01)})
    ocp.minimize(ph.integral(u**2))
    return ocp


@problem("hanging-chain", "mechanism")
def hanging_chain() -> Problem:
    """A chain of length 4 between heights 1 and 3 has the least potential energy."""
    ocp = Problem("hanging-chain")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    y, slope = ph.state("y", start=1, end=3), ph.control("slope")
    ph.dynamics({y: slope})
    ocp.require(ph.integral(sqrt(1 + slope**2)), equals=4)
    ocp.minimize(ph.integral(y * sqrt(1 + slope**2)))
    return ocp


@problem("pendulum-swing-up", "mechanism")
def pendulum_swing_up() -> Problem:
    """Swing-up of a pendulum with a weak motor and least effort: several swings."""
    ocp = Problem("pendulum-swing-up")
    ph = ocp.phase()
    ph.time(start=0, end=15)
    q, w = ph.state("q", start=0, end=pi), ph.state("w", start=0, end=0)
    u = ph.control("u", lower=-0.4, upper=0.4)
    ph.dynamics({q: w, w: u - sin(q)})
    ocp.minimize(ph.integral(u**2))
    return ocp


def double_pendulum(q, w, torques):
    """Accelerations of two equal uniform links (1 kg, 1 m) that hang down at zero, for torques at
    shoulder and elbow.
    """
    g, a, b, c = 9.81, 1 / 3 + 1 + 1 / 3, 1 / 3, 1 / 2
    M = SX(2, 2)
    M[0, 0], M[0, 1], M[1, 0], M[1, 1] = (
        a + 2 * c * cos(q[1]),
        b + c * cos(q[1]),
        b + c * cos(q[1]),
        b,
    )
    h0 = -c * sin(q[1]) * (2 * w[0] * w[1] + w[1] ** 2) + g * (
        1.5 * sin(q[0]) + 0.5 * sin(q[0] + q[1])
    )
    h1 = c * sin(q[1]) * w[0] ** 2 + g * 0.5 * sin(q[0] + q[1])
    right = SX(2, 1)
    right[0], right[1] = torques[0] - h0, torques[1] - h1
    return solve(M, right)


def swing_up(name: str, driven: int, duration: float) -> Problem:
    ocp = Problem(name)
    ph = ocp.phase()
    ph.time(start=0, end=duration)
    q = [ph.state("q0", start=0, end=pi), ph.state("q1", start=0, end=0)]
    w = [ph.state("w0", start=0, end=0), ph.state("w1", start=0, end=0)]
    u = ph.control("u", lower=-25, upper=25)
    rates = double_pendulum(q, w, [u if driven == 0 else 0, u if driven == 1 else 0])
    ph.dynamics({q[0]: w[0], q[1]: w[1], w[0]: rates[0], w[1]: rates[1]})
    ocp.minimize(ph.integral(u**2))
    return ocp


@problem("acrobot", "mechanism")
def acrobot() -> Problem:
    """Swing-up of two links driven at the elbow, with least effort."""
    return swing_up("acrobot", 1, 3.0)


@problem("pendubot", "mechanism")
def pendubot() -> Problem:
    """Swing-up of two links driven at the shoulder, with least effort."""
    return swing_up("pendubot", 0, 2.5)


@problem("seven-joint-arm", "mechanism")
def seven_joint_arm() -> Problem:
    """A planar arm of seven links from rest to rest with least torque; most joints reach their
    speed limits.
    """
    n, mass, length = 7, 1.0, 0.3
    ocp = Problem("seven-joint-arm")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    ends = (1.6, -1.5, 1.4, -1.3, 1.2, -1.1, 0.5)
    q = [ph.state(f"q{i}", start=0, end=end, unit="rad") for i, end in enumerate(ends)]
    w = [ph.state(f"w{i}", start=0, end=0, lower=-1.0, upper=1.0, unit="rad/s") for i in range(n)]
    torque = [ph.control(f"torque{i}", lower=-60, upper=60, unit="N m") for i in range(n)]
    # Absolute angles and rates; M_ij = c_ij cos(phi_i - phi_j), bias_i = sum_j c_ij sin(phi_i -
    # phi_j) rate_j^2.
    phi = [sum(q[: i + 1]) for i in range(n)]
    rate = [sum(w[: i + 1]) for i in range(n)]
    M, bias = SX(n, n), SX(n, 1)
    for i in range(n):
        for j in range(n):
            beyond = n - 1 - max(i, j)
            c = mass * length**2 * (beyond + (1 / 3 if i == j else 1 / 2))
            M[i, j] = c * cos(phi[i] - phi[j])
            bias[i] += c * sin(phi[i] - phi[j]) * rate[j] ** 2
    force = SX(n, 1)
    for i in range(n):
        force[i] = torque[i] - (torque[i + 1] if i + 1 < n else 0)
    acceleration = solve(M, force - bias)
    ph.dynamics(
        {q[i]: w[i] for i in range(n)}
        | {w[i]: acceleration[i] - (acceleration[i - 1] if i else 0) for i in range(n)}
    )
    ocp.minimize(ph.integral(sum(u**2 for u in torque)))
    return ocp


@problem("flexible-joint", "mechanism")
def flexible_joint() -> Problem:
    """A link behind a soft gear turned in least time with a limit on the motor's speed: bang arcs
    and arcs at the limit.
    """
    ocp = Problem("flexible-joint")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.1, 20))
    motor, link = ph.state("motor", start=0, end=2), ph.state("link", start=0, end=2)
    w, v = ph.state("w", start=0, end=0, lower=-1, upper=1), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-4, upper=4)
    ph.dynamics({motor: w, link: v, w: u - 10 * (motor - link), v: 10 * (motor - link)})
    ocp.minimize(ph.final(t))
    return ocp
