"""Complementarity as a penalty of 1e3 in the cost: all constraints are linear and feasible, but the
cost is large and not convex.

Without the penalty each problem is convex and has the same optimum, which ``independent.py`` finds
(``NAME-relaxed``).
"""

from casadi import sin

from trajopt import Problem

from .entry import problem


@problem("battery-penalty", "large penalty", quick=True)
def battery(penalty: float = 1e3) -> Problem:
    """A battery bought at a varying price; it should not charge and discharge at once."""
    ocp = Problem("battery-penalty")
    ph = ocp.phase()
    t = ph.time(start=0, end=24, unit="h")
    energy = ph.state("energy", start=2, end=2, lower=0, upper=5)
    charge = ph.control("charge", lower=0, upper=1.5)
    discharge = ph.control("discharge", lower=0, upper=1.5)
    ph.dynamics({energy: 0.9 * charge - discharge / 0.9})
    price = 2 + sin(t / 3)
    net = charge - discharge
    ocp.minimize(ph.integral(price * net + 0.2 * net**2 + penalty * charge * discharge))
    return ocp


@problem("valves-penalty", "large penalty")
def valves(penalty: float = 1e3) -> Problem:
    """A level follows a wave by an inlet and an outlet of which only one should be open."""
    ocp = Problem("valves-penalty")
    ph = ocp.phase()
    t = ph.time(start=0, end=8)
    level = ph.state("level", start=0)
    inlet, outlet = ph.control("inlet", lower=0, upper=1), ph.control("outlet", lower=0, upper=1)
    ph.dynamics({level: inlet - outlet})
    ocp.minimize(
        ph.integral(
            (level - 1.3 * sin(t)) ** 2 + 0.05 * (inlet**2 + outlet**2) + penalty * inlet * outlet
        )
    )
    return ocp


@problem("parts-penalty", "large penalty")
def parts(penalty: float = 1e3) -> Problem:
    """The distance from zero as the sum of a positive and a negative part that should not both be
    there.
    """
    ocp = Problem("parts-penalty")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    x, v = ph.state("x", start=1, end=-0.5), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-3, upper=3)
    positive, negative = ph.control("positive", lower=0), ph.control("negative", lower=0)
    ph.dynamics({x: v, v: u})
    ph.path(x - positive + negative, equals=0, name="parts")
    ocp.minimize(ph.integral(u**2 + 4 * (positive + negative) + penalty * positive * negative))
    return ocp
