"""Fifteen problems whose cost or dynamics have kinks, on which the optimum sits."""

from __future__ import annotations

import casadi
import numpy as np

from trajopt import Problem, free


def _phase(name, end):
    ocp = Problem(name)
    ph = ocp.phase()
    t = ph.time(start=0, end=end)
    return ocp, ph, t


def _rest_to_rest(name, end, limit=1.0, distance=1.0):
    ocp, ph, t = _phase(name, end)
    x, v = ph.state("x", start=0, end=distance), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-limit, upper=limit)
    ph.dynamics({x: v, v: u})
    return ocp, ph, t, x, v, u


def least_fuel():
    """Burn, coast, brake: with burns of length a, a (T - a) = 1."""
    ocp, ph, _, _, _, u = _rest_to_rest("least fuel", 3)
    ocp.minimize(ph.integral(casadi.fabs(u)))
    return ocp


def least_work():
    """The power of the motor counts where it drives."""
    ocp, ph, _, _, v, u = _rest_to_rest("least work", 3)
    ocp.minimize(ph.integral(casadi.fmax(u * v, 0)))
    return ocp


def least_work_with_recovery():
    """Braking returns a third of the energy."""
    ocp, ph, _, _, v, u = _rest_to_rest("least work with recovery", 3)
    power = u * v
    ocp.minimize(ph.integral(casadi.fmax(power, power / 3) + 0.05 * u**2))
    return ocp


def smallest_peak():
    """Rest to rest with the smallest largest force: full force, and as much against it."""
    ocp = Problem("smallest peak")
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    ph.dynamics({x: v, v: u})
    peak = ocp.variable("peak", lower=0)
    ph.path(casadi.fabs(u) - peak, upper=0, name="peak")
    ocp.minimize(peak)
    return ocp


def docking():
    """Two thrusters; the sum of absolute thrusts is the propellant."""
    ocp, ph, _ = _phase("docking", 8)
    r, w = (
        ph.state("r", size=2, start=[2, -1], end=[0, 0]),
        ph.state("w", size=2, start=[0, 0.2], end=[0, 0]),
    )
    a = ph.control("a", size=2, lower=-0.6, upper=0.6)
    n = 0.3
    ph.dynamics(
        {
            r: w,
            w: casadi.vertcat(3 * n**2 * r[0] + 2 * n * w[1] + a[0], -2 * n * w[0] + a[1]),
        }
    )
    ocp.minimize(ph.integral(casadi.fabs(a[0]) + casadi.fabs(a[1])))
    return ocp


def dead_zone():
    """Only a force above 0.2 counts."""
    ocp, ph, _, _, _, u = _rest_to_rest("dead zone", 3)
    beyond = casadi.fmax(casadi.fabs(u) - 0.2, 0)
    ocp.minimize(ph.integral(beyond**2 + 1e-3 * u**2))
    return ocp


def dead_zone_of_position():
    """A spring that only acts beyond its clearance."""
    ocp, ph, _ = _phase("clearance", 4)
    x, v, u = ph.state("x", start=1), ph.state("v", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: v, v: u})
    ocp.minimize(ph.integral(casadi.fmax(casadi.fabs(x) - 0.3, 0) ** 2 + 0.1 * u**2))
    return ocp


def friction_in_the_cost():
    """Energy that dry friction takes, and heat of the motor."""
    ocp, ph, _, _, v, u = _rest_to_rest("friction", 2, limit=4)
    ocp.minimize(ph.integral(0.5 * casadi.fabs(v) + 0.2 * u**2))
    return ocp


def tracking():
    """The mean distance from a ramp that is too fast."""
    ocp, ph, t = _phase("tracking", 2)
    x, u = ph.state("x", start=0), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    ocp.minimize(ph.integral(casadi.fabs(x - 2 * t + t**2) + 0.01 * u**2))
    return ocp


def store():
    """Energy is bought dear and sold cheap; the store loses some."""
    ocp, ph, t = _phase("store", 10)
    x, u = ph.state("x", start=1, end=1, lower=0, upper=3), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: u})
    price = 2 + casadi.sin(2 * np.pi * t / 10)
    ocp.minimize(ph.integral(price * (1.1 * casadi.fmax(u, 0) - 0.9 * casadi.fmax(-u, 0))))
    return ocp


def battery():
    """Losses in the dynamics: charging stores 0.9 of what it takes, discharging takes 1.1."""
    ocp, ph, t = _phase("battery", 10)
    x, u = ph.state("x", start=1, end=1, lower=0, upper=3), ph.control("u", lower=-1, upper=1)
    ph.dynamics({x: 0.9 * casadi.fmax(u, 0) - 1.1 * casadi.fmax(-u, 0)})
    ocp.minimize(ph.integral((2 + casadi.sin(2 * np.pi * t / 10)) * u))
    return ocp


def slew():
    """Three wheels turn a body about three axes with least absolute torque."""
    ocp, ph, _ = _phase("slew", 6)
    angle = ph.state("angle", size=3, start=[0, 0, 0], end=[1, 0.5, -0.7])
    rate = ph.state("rate", size=3, start=[0, 0, 0], end=[0, 0, 0])
    torque = ph.control("torque", size=3, lower=-0.5, upper=0.5)
    ph.dynamics({angle: rate, rate: torque})
    ocp.minimize(ph.integral(casadi.sum1(casadi.fabs(torque))))
    return ocp


def pendulum():
    """A pendulum is swung to the horizontal with least absolute torque."""
    ocp, ph, _ = _phase("pendulum", 4)
    a, w = ph.state("a", start=0, end=np.pi / 2), ph.state("w", start=0, end=0)
    u = ph.control("u", lower=-0.8, upper=0.8)
    ph.dynamics({a: w, w: u - casadi.sin(a)})
    ocp.minimize(ph.integral(casadi.fabs(u)))
    return ocp


def fuel_and_time():
    """Time costs as well: the coast is at a speed that is chosen."""
    ocp, ph, t, _, _, u = _rest_to_rest("fuel and time", free(0.5, 20), distance=4)
    ocp.minimize(0.5 * ph.final(t) + ph.integral(casadi.fabs(u)))
    return ocp


def drag_and_fuel():
    """Least fuel against quadratic drag."""
    ocp, ph, _ = _phase("drag", 4)
    x, v = ph.state("x", start=0, end=2), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-2, upper=2)
    ph.dynamics({x: v, v: u - 0.3 * v**2})
    ocp.minimize(ph.integral(casadi.fmax(u, 0) + 0.5 * casadi.fmax(-u, 0)))
    return ocp


PROBLEMS = (
    least_fuel,
    least_work,
    least_work_with_recovery,
    smallest_peak,
    docking,
    dead_zone,
    dead_zone_of_position,
    friction_in_the_cost,
    tracking,
    store,
    battery,
    slew,
    pendulum,
    fuel_and_time,
    drag_and_fuel,
)
