"""Orbits, rendezvous and attitude."""

from math import pi

from casadi import cos, cross, sin, sqrt, vertcat

from trajopt import Problem, free

from .entry import problem


def equinoctial(elements, radial, transverse, normal):
    """Rates of the modified equinoctial elements p, f, g, h, k, L (mu = 1) under an acceleration
    (Walker et al. 1985).
    """
    p, f, g, h, k, L = elements
    c, s = cos(L), sin(L)
    w, root = 1 + f * c + g * s, sqrt(p)
    tilt = (h * s - k * c) * normal / w
    size = 1 + h**2 + k**2
    return {
        p: 2 * p / w * root * transverse,
        f: root * (s * radial + ((w + 1) * c + f) * transverse / w - g * tilt),
        g: root * (-c * radial + ((w + 1) * s + g) * transverse / w + f * tilt),
        h: root * size * c / (2 * w) * normal,
        k: root * size * s / (2 * w) * normal,
        L: root * (w / p) ** 2 + root * tilt,
    }


@problem("low-thrust-equinoctial", "orbital")
def low_thrust_equinoctial() -> Problem:
    """The quickest low-thrust transfer to a larger, inclined circular orbit in equinoctial
    elements, some revolutions.
    """
    ocp = Problem("low-thrust-equinoctial")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 60))
    start, end = (1, 0, 0, 0, 0, 0), (1.6, 0, 0, 0.1, 0, None)
    x = [ph.state(n, start=a, end=b) for n, a, b in zip("pfghkL", start, end, strict=True)]
    u = [ph.control(n, lower=-1, upper=1) for n in ("radial", "transverse", "normal")]
    ph.path(u[0] ** 2 + u[1] ** 2 + u[2] ** 2, upper=1, name="thrust")
    ph.dynamics(equinoctial(x, *(0.02 * c for c in u)))
    ocp.minimize(ph.final(t))
    return ocp


@problem("burns-and-plane-change", "orbital")
def burns_and_plane_change() -> Problem:
    """Least fuel to a larger orbit in another plane in a fixed time: several burns at the nodes
    (equinoctial elements).
    """
    ocp = Problem("burns-and-plane-change")
    ph = ocp.phase()
    ph.time(start=0, end=20)
    start, end = (1, 0, 0, 0, 0, 0), (1.4, 0, 0, 0.12, 0, None)
    x = [ph.state(n, start=a, end=b) for n, a, b in zip("pfghkL", start, end, strict=True)]
    mass = ph.state("mass", start=1, lower=0.1)
    u = [ph.control(n, lower=-1, upper=1) for n in ("radial", "transverse", "normal")]
    throttle = ph.control("throttle", lower=0, upper=1)
    ph.path(u[0] ** 2 + u[1] ** 2 + u[2] ** 2, equals=1, name="direction")
    rates = equinoctial(x, *(0.1 * throttle / mass * c for c in u))
    ph.dynamics({**rates, mass: -0.1 * throttle})
    ocp.maximize(ph.final(mass))
    return ocp


@problem("solar-sail", "orbital")
def solar_sail() -> Problem:
    """The quickest flight of a solar sail between circular orbits of radius 1 and 1.52 (Bryson
    1999, chapter 3).
    """
    ocp = Problem("solar-sail")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 30))
    r, angle = ph.state("r", start=1, end=1.524), ph.state("angle", start=0)
    u, v = ph.state("u", start=0, end=0), ph.state("v", start=1, end=1.524**-0.5)
    cone = ph.control("cone", lower=-pi / 2, upper=pi / 2)
    push = 0.17 * cos(cone) ** 2 / r**2
    ph.dynamics(
        {
            r: u,
            angle: v / r,
            u: v**2 / r - 1 / r**2 + push * cos(cone),
            v: -u * v / r + push * sin(cone),
        }
    )
    ocp.minimize(ph.final(t))
    return ocp


@problem("rendezvous-effort", "orbital", quick=True)
def rendezvous_effort() -> Problem:
    """Rendezvous by the Clohessy-Wiltshire equations with least effort in one and a half
    revolutions.
    """
    ocp = Problem("rendezvous-effort")
    ph = ocp.phase()
    ph.time(start=0, end=3 * pi)
    x, y = ph.state("x", start=-1, end=0), ph.state("y", start=-5, end=0)
    v, w = ph.state("v", start=0, end=0), ph.state("w", start=1.5, end=0)
    a, b = ph.control("a"), ph.control("b")
    ph.dynamics({x: v, y: w, v: 3 * x + 2 * w + a, w: -2 * v + b})
    ocp.minimize(ph.integral(a**2 + b**2))
    return ocp


@problem("rendezvous-fuel", "orbital")
def rendezvous_fuel() -> Problem:
    """Rendezvous by the Clohessy-Wiltshire equations with four small thrusters and least fuel:
    bursts of each.
    """
    ocp = Problem("rendezvous-fuel")
    ph = ocp.phase()
    ph.time(start=0, end=5)
    x, y = ph.state("x", start=-1, end=0), ph.state("y", start=-3, end=0)
    v, w = ph.state("v", start=0.2, end=0), ph.state("w", start=1.2, end=0)
    out, back = ph.control("out", lower=0, upper=0.4), ph.control("back", lower=0, upper=0.4)
    ahead = ph.control("ahead", lower=0, upper=0.4)
    behind = ph.control("behind", lower=0, upper=0.4)
    ph.dynamics({x: v, y: w, v: 3 * x + 2 * w + out - back, w: -2 * v + ahead - behind})
    ocp.minimize(ph.integral(out + back + ahead + behind))
    return ocp


def attitude_rates(q, w):
    """Rates of a quaternion (vector part first) under body rates."""
    a, b, c, d = q
    return (
        (w[0] * d - w[1] * c + w[2] * b) / 2,
        (w[0] * c + w[1] * d - w[2] * a) / 2,
        (-w[0] * b + w[1] * a + w[2] * d) / 2,
        -(w[0] * a + w[1] * b + w[2] * c) / 2,
    )


@problem("reorientation", "orbital", quick=True)
def reorientation() -> Problem:
    """A rigid body turned from rest to rest with least effort within limits on torques and rates
    (quaternions).
    """
    J = (1.0, 1.4, 0.8)
    ocp = Problem("reorientation")
    ph = ocp.phase()
    ph.time(start=0, end=7)
    end = (0.6, -0.4, 0.5)
    scalar = (1 - sum(c * c for c in end)) ** 0.5
    q = [ph.state(f"e{i + 1}", start=0.0, end=end[i]) for i in range(3)] + [
        ph.state("e4", start=1.0, end=scalar)
    ]
    w = [ph.state(f"w{i + 1}", start=0, end=0, lower=-0.3, upper=0.3) for i in range(3)]
    u = [ph.control(f"torque{i + 1}", lower=-0.25, upper=0.25) for i in range(3)]
    ph.dynamics({
        **dict(zip(q, attitude_rates(q, w), strict=True)),
        w[0]: (u[0] - (J[2] - J[1]) * w[1] * w[2]) / J[0],
        w[1]: (u[1] - (J[0] - J[2]) * w[2] * w[0]) / J[1],
        w[2]: (u[2] - (J[1] - J[0]) * w[0] * w[1]) / J[2],
    })  # fmt: skip
    ocp.minimize(ph.integral(u[0] ** 2 + u[1] ** 2 + u[2] ** 2))
    return ocp


@problem("station-turn", "orbital")
def station_turn() -> Problem:
    """A station in orbit is turned by gyroscopes alone, whose momentum returns to zero (after
    Bedrossian et al. 2009).
    """
    J = (1.0, 1.6, 1.9)
    ocp = Problem("station-turn")
    ph = ocp.phase()
    ph.time(start=0, end=6)  # orbital rate 1
    q = [
        ph.state(f"e{i + 1}", start=0.0, end=value)
        for i, value in enumerate((0.0, 0.0, 0.7071067811865476))
    ]
    q.append(ph.state("e4", start=1.0, end=0.7071067811865476))
    w = [
        ph.state(f"w{i + 1}", start=a, end=b)
        for i, (a, b) in enumerate(zip((0.0, -1.0, 0.0), (-1.0, 0.0, 0.0), strict=True))
    ]
    h = [ph.state(f"h{i + 1}", start=0.0, end=0.0) for i in range(3)]
    u = [ph.control(f"u{i + 1}", lower=-1, upper=1) for i in range(3)]
    ph.path(h[0] ** 2 + h[1] ** 2 + h[2] ** 2, upper=1.0, name="momentum")
    e, n = vertcat(*q[:3]), q[3]
    # Columns of the rotation from the local frame: y along the negative orbit normal, z down.
    y_axis = vertcat(
        2 * (e[0] * e[1] + e[2] * n), 1 - 2 * (e[0] ** 2 + e[2] ** 2), 2 * (e[1] * e[2] - e[0] * n)
    )
    z_axis = vertcat(
        2 * (e[0] * e[2] - e[1] * n), 2 * (e[1] * e[2] + e[0] * n), 1 - 2 * (e[0] ** 2 + e[1] ** 2)
    )
    inertia = vertcat(*J)
    rate = vertcat(*w)
    relative = rate + y_axis  # the local frame turns with -1 about its y axis
    torque = 3 * cross(z_axis, inertia * z_axis) - cross(rate, inertia * rate) - vertcat(*u)
    gyro = vertcat(*u) - cross(rate, vertcat(*h))
    rates = attitude_rates(q, [relative[i] for i in range(3)])
    ph.dynamics({
        **dict(zip(q, rates, strict=True)),
        **{w[i]: torque[i] / J[i] for i in range(3)},
        **{h[i]: gyro[i] for i in range(3)},
    })  # fmt: skip
    ocp.minimize(ph.integral(u[0] ** 2 + u[1] ** 2 + u[2] ** 2))
    return ocp
