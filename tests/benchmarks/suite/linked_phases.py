"""Phases linked by conditions instead of ``connect``, and models that divide by
the linked states.
"""

from itertools import pairwise

from casadi import cos, sin, sqrt

from trajopt import Problem, free

from .entry import problem


@problem("linked-roots", "linked phases", quick=True)
def linked_roots() -> Problem:
    """Three phases of x' = u / x with least effort, all links and times given by conditions."""
    ocp = Problem("linked-roots")
    before = None
    cost = 0
    for i in range(3):
        ph = ocp.phase(f"part {i + 1}")
        t = ph.time(start=0 if i == 0 else free(0, 3), end=3 if i == 2 else free(0, 3))
        x = ph.state("x", start=1 if i == 0 else None, end=3 if i == 2 else None)
        u = ph.control("u")
        ph.dynamics({x: u / x})
        cost += ph.integral(u**2)
        if before is not None:
            last, last_t, last_x = before
            ocp.require(last.final(last_x) - ph.initial(x), equals=0)
            ocp.require(last.final(last_t) - ph.initial(t), equals=0)
            ocp.require(ph.initial(t), equals=i)
        before = ph, t, x
    ocp.minimize(cost)
    return ocp


@problem("linked-units", "linked phases", quick=True)
def linked_units() -> Problem:
    """A rocket stage in kilometres and a coast in metres, linked by conditions that convert the
    units.
    """
    ocp = Problem("linked-units")
    burn, coast = ocp.phase("burn"), ocp.phase("coast")
    t = burn.time(start=0, end=free(1, 200))
    h, v = burn.state("h", start=0, unit="km"), burn.state("v", start=0, unit="km/s")
    m = burn.state("m", start=1000, end=500, unit="kg")
    throttle = burn.control("throttle", lower=0.2, upper=1)
    burn.dynamics({h: v, v: 0.02 * throttle * 1000 / m - 0.00981, m: -8 * throttle})
    later = coast.time(start=free(1, 200), end=free(1, 2000))
    z, w = coast.state("z", unit="m"), coast.state("w", end=0, unit="m/s")
    coast.dynamics({z: w, w: -9.81 * 6.371e6**2 / (6.371e6 + z) ** 2})
    ocp.require(1000 * burn.final(h) - coast.initial(z), equals=0)
    ocp.require(1000 * burn.final(v) - coast.initial(w), equals=0)
    ocp.require(burn.final(t) - coast.initial(later), equals=0)
    ocp.maximize(coast.final(z) / 1000)
    return ocp


@problem("linked-burns", "linked phases", quick=True)
def linked_burns() -> Problem:
    """Burn, coast, burn between circular orbits in polar coordinates; phases are linked by
    conditions, the model divides by r.
    """
    ocp = Problem("linked-burns")
    parts = []
    for i, name in enumerate(("leave", "coast", "arrive")):
        ph = ocp.phase(name)
        t = ph.time(start=0 if i == 0 else free(0, 30), end=free(0, 30))
        r = ph.state("r", start=1 if i == 0 else None, end=2 if i == 2 else None)
        angle = ph.state("angle", start=0 if i == 0 else None)
        u = ph.state("u", start=0 if i == 0 else None, end=0 if i == 2 else None)
        v = ph.state("v", start=1 if i == 0 else None)
        thrust, direction = (0.1, ph.control("direction", lower=-3, upper=3)) if i != 1 else (0, 0)
        ph.dynamics(
            {
                r: u,
                angle: v / r,
                u: v**2 / r - 1 / r**2 + thrust * sin(direction),
                v: -u * v / r + thrust * cos(direction),
            }
        )
        parts.append((ph, t, (r, angle, u, v)))
    for (a, ta, xa), (b, tb, xb) in pairwise(parts):
        ocp.require(a.final(ta) - b.initial(tb), equals=0)
        for p, q in zip(xa, xb, strict=True):
            ocp.require(a.final(p) - b.initial(q), equals=0)
    leave, coast, arrive = (part[0] for part in parts)
    r, _, _, v = parts[2][2]
    ocp.require(arrive.final(v**2 * r), equals=1)
    first, last = parts[0][1], parts[2][1]
    ocp.require(coast.final(parts[1][1]) - coast.initial(parts[1][1]), lower=0.1)
    ocp.minimize(leave.final(first) + arrive.final(last) - arrive.initial(last))
    return ocp


@problem("linked-five", "linked phases", quick=True)
def linked_five() -> Problem:
    """Five phases of a leaking tank, linked by conditions; the model has the root and the inverse
    of the level.
    """
    ocp = Problem("linked-five")
    before, cost = None, 0
    for i in range(5):
        ph = ocp.phase(f"part {i + 1}")
        t = ph.time(start=0 if i == 0 else free(0, 10), end=10 if i == 4 else free(0, 10))
        level = ph.state("level", start=4 if i == 0 else None, end=1 if i == 4 else None)
        heat = ph.state("heat", start=1 if i == 0 else None, end=2 if i == 4 else None)
        inflow = ph.control("inflow", lower=0, upper=1)
        power = ph.control("power", lower=0, upper=2)
        ph.dynamics({level: inflow - 0.4 * sqrt(level), heat: (power - inflow * heat) / level})
        cost += ph.integral(power**2 + 0.1 * inflow**2 + 0.05 * (level - 3 + i / 2) ** 2)
        if before is not None:
            last, last_t, last_level, last_heat = before
            ocp.require(last.final(last_level) - ph.initial(level), equals=0)
            ocp.require(last.final(last_heat) - ph.initial(heat), equals=0)
            ocp.require(last.final(last_t) - ph.initial(t), equals=0)
            ocp.require(ph.initial(t), equals=2 * i)
        before = ph, t, level, heat
    ocp.minimize(cost)
    return ocp
