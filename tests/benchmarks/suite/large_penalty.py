"""Large penalties in the cost: linear constraints that are feasible, and a cost whose size hides them."""

from casadi import sin

from trajopt import Problem

from .entry import problem


@problem("contact-penalty", "large penalty")
def contact_penalty() -> Problem:
    """A body above the ground; contact force times gap is penalized by 1e3 instead of being zero."""
    ocp = Problem("contact-penalty")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    y, v = ph.state("y", start=0.5, end=0.5, lower=0), ph.state("v", start=0, end=0)
    force, u = ph.control("force", lower=0, upper=100), ph.control("u", lower=-20, upper=20)
    ph.dynamics({y: v, v: -9.81 + force + u})
    ocp.minimize(ph.integral(u**2 + 1e3 * force * y))
    return ocp


@problem("battery-penalty", "large penalty")
def battery_penalty() -> Problem:
    """A battery bought at a varying price; charging times discharging is penalized by 1e3."""
    ocp = Problem("battery-penalty")
    ph = ocp.phase()
    t = ph.time(start=0, end=24, unit="h")
    energy = ph.state("energy", start=2, end=2, lower=0, upper=5)
    charge, discharge = ph.control("charge", lower=0, upper=1.5), ph.control("discharge", lower=0, upper=1.5)
    ph.dynamics({energy: 0.9 * charge - discharge / 0.9})
    price = 2 + sin(t / 3)
    net = charge - discharge
    ocp.minimize(ph.integral(price * net + 0.2 * net**2 + 1e3 * charge * discharge))
    return ocp


@problem("backlash-penalty", "large penalty")
def backlash_penalty() -> Problem:
    """A box pushed from either side: each push times its gap is penalized by 1e3, all constraints are linear."""
    ocp = Problem("backlash-penalty")
    ph = ocp.phase()
    ph.time(start=0, end=4)
    x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    y, w = ph.state("y", start=0, end=1), ph.state("w", start=0, end=0)
    left, right = ph.control("left", lower=0, upper=10), ph.control("right", lower=0, upper=10)
    u = ph.control("u", lower=-10, upper=10)
    ph.dynamics({x: v, v: left - right, y: w, w: u - left + right})
    ph.path(x - y, lower=-0.1, upper=0.1, name="play")
    ocp.minimize(ph.integral(u**2 + 1e3 * (left * (x - y + 0.1) + right * (0.1 - x + y))))
    return ocp
