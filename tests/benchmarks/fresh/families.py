"""Families of optimal-control problems with drawn parameters, limits, horizons, kinks and units of
the cost.

``build(seed, number)`` states one of them as a user would: bounds and boundary values, no guess.
With ``by_hand`` the terms that have no derivative are written as the differentiable program that a
textbook gives for them; the reference is computed from that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from trajopt import Problem, free

Rng = np.random.Generator


class Kinks:
    """Absolute values and maxima of a phase: as CasADi's functions, or as controls above both of
    their sides.
    """

    def __init__(self, phase: Any, by_hand: bool) -> None:
        self.phase, self.by_hand, self.count = phase, by_hand, 0

    def maximum(self, a: Any, b: Any) -> Any:
        """Where a smaller value costs less."""
        if not self.by_hand:
            return casadi.fmax(a, b)
        self.count += 1
        q = self.phase.control(f"above{self.count}")
        self.phase.path(q - a, lower=0)
        self.phase.path(q - b, lower=0)
        return q

    def absolute(self, a: Any) -> Any:
        return self.maximum(a, -a) if self.by_hand else casadi.fabs(a)

    def length(self, T: Any, lower: float, upper: float) -> Any:
        """The length of a vector of controls, within limits."""
        if not self.by_hand:
            size = casadi.norm_2(T)
            self.phase.path(size, lower=lower, upper=upper)
            return size
        self.count += 1
        size = self.phase.control(f"size{self.count}", lower=max(lower, 1e-9), upper=upper)
        self.phase.path(size**2 - casadi.sumsqr(T), lower=0)
        return size

    def parts(self, u: Any, limit: float) -> tuple[Any, Any]:
        """The positive and the negative part of a control."""
        if not self.by_hand:
            return casadi.fmax(u, 0), casadi.fmax(-u, 0)
        self.count += 1
        plus = self.phase.control(f"plus{self.count}", lower=0, upper=limit)
        minus = self.phase.control(f"minus{self.count}", lower=0, upper=limit)
        self.phase.path(plus - minus - u, equals=0)
        return plus, minus


def storage(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A store between limits, bought and sold at a price that changes in time."""
    ocp = Problem("storage")
    ph = ocp.phase()
    t = ph.time(start=0, end=24)
    full, rate = rng.uniform(2, 6), rng.uniform(0.8, 2)
    x = ph.state("x", start=full / 2, end=full / 2, lower=0, upper=full)
    u = ph.control("u", lower=-rate, upper=rate)
    price = (
        2
        + casadi.cos(2 * np.pi * (t - rng.uniform(0, 24)) / 12)
        + 0.5 * casadi.sin(2 * np.pi * t / 24)
    )
    loss = rng.uniform(0.05, 0.2)
    demand = 0.3 * (1 + casadi.sin(2 * np.pi * t / 8))
    ph.dynamics({x: u - demand})
    ocp.minimize(unit * ph.integral(price * u + loss * Kinks(ph, by_hand).absolute(u)))
    return ocp


def battery(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Charging and discharging lose energy: a kink in the dynamics."""
    ocp = Problem("battery")
    ph = ocp.phase()
    t = ph.time(start=0, end=10)
    limit, good = rng.uniform(0.5, 1.5), rng.uniform(0.85, 0.95)
    x = ph.state("x", start=1, end=1, lower=0, upper=rng.uniform(2, 3))
    u = ph.control("u", lower=-limit, upper=limit)
    plus, minus = Kinks(ph, by_hand).parts(u, limit)
    ph.dynamics({x: good * plus - minus / good})
    price = 1 + 0.6 * casadi.sin(2 * np.pi * t / rng.uniform(4, 9))
    ocp.minimize(unit * ph.integral(price * u + 0.02 * u**2))
    return ocp


def least_fuel(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A mass on a damped spring from rest to rest; the cost is the absolute value of the force."""
    ocp = Problem("least fuel")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(4, 8))
    x, v = ph.state("x", start=0, end=rng.uniform(0.5, 1.5)), ph.state("v", start=0, end=0)
    u = ph.control("u", lower=-rng.uniform(2, 3), upper=rng.uniform(2, 3))
    ph.dynamics({x: v, v: u - rng.uniform(0, 0.3) * v - rng.uniform(0, 0.3) * x})
    ocp.minimize(unit * ph.integral(Kinks(ph, by_hand).absolute(u)))
    return ocp


def dead_zone(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Deviations count beyond a band only."""
    ocp = Problem("dead zone")
    ph = ocp.phase()
    t = ph.time(start=0, end=rng.uniform(5, 8))
    x, v = ph.state("x", start=rng.uniform(1, 2)), ph.state("v", start=0)
    u = ph.control("u", lower=-1, upper=1)
    band = rng.uniform(0.2, 0.5)
    target = 0.7 * casadi.sin(rng.uniform(0.5, 1.2) * t)
    kinks = Kinks(ph, by_hand)
    beyond = kinks.maximum(kinks.absolute(x - target) - band, 0)
    ph.dynamics({x: v, v: u - 0.1 * v})
    ocp.minimize(unit * ph.integral(beyond**2 + 0.05 * u**2))
    return ocp


def least_work(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """The positive mechanical power of a motor that lifts a weight; braking returns nothing."""
    ocp = Problem("least work")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(2, 3))
    x = ph.state("x", start=0, end=rng.uniform(0.5, 1))
    v = ph.state("v", start=0, end=0, lower=-3, upper=3)
    u = ph.control("u", lower=-4, upper=4)
    ph.dynamics({x: v, v: u - rng.uniform(0.2, 1.0)})
    ocp.minimize(unit * ph.integral(Kinks(ph, by_hand).maximum(u * v, 0) + 0.02 * u**2))
    return ocp


def thrust_vector(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A landing with least fuel: the length of the thrust vector has no derivative at zero."""
    ocp = Problem("thrust vector")
    ph = ocp.phase()
    ph.time(start=0, end=free(2, 30))
    r = ph.state("r", 2, start=[rng.uniform(2, 6), rng.uniform(4, 8)], end=[0, 0], lower=[None, 0])
    v = ph.state("v", 2, start=[rng.uniform(-1, 1), rng.uniform(-1.5, 0)], end=[0, 0])
    m = ph.state("m", start=2, lower=0.5)
    T = ph.control("T", 2, lower=-6, upper=6)
    size = Kinks(ph, by_hand).length(T, 0, 6)
    ph.dynamics({r: v, v: T / m - casadi.vertcat(0, 1), m: -rng.uniform(0.05, 0.1) * size})
    ocp.maximize(unit * ph.final(m))
    return ocp


def powered_descent(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A landing in space above a glide slope; the engine cannot be switched off."""
    ocp = Problem("powered descent")
    ph = ocp.phase()
    ph.time(start=0, end=free(5, 60))
    at = [rng.uniform(-3, 3), rng.uniform(-3, 3), rng.uniform(6, 10)]
    r = ph.state("r", 3, start=at, end=np.zeros(3))
    v = ph.state("v", 3, start=[*rng.uniform(-0.5, 0.5, 2), rng.uniform(-1, 0)], end=np.zeros(3))
    m = ph.state("m", start=2, lower=0.8)
    T = ph.control("T", 3)
    size = Kinks(ph, by_hand).length(T, rng.uniform(0.3, 1.0), 5)
    ph.path(3 * r[2] ** 2 - r[0] ** 2 - r[1] ** 2, lower=0)
    ph.dynamics({r: v, v: T / m - casadi.vertcat(0, 0, 1), m: -0.06 * size})
    ocp.maximize(unit * ph.final(m))
    return ocp


def rendezvous(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Hill's equations; the fuel is the length of the thrust."""
    ocp = Problem("rendezvous")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(3, 7))
    r = ph.state("r", 3, start=rng.uniform(-0.5, 0.5, 3), end=np.zeros(3))
    v = ph.state("v", 3, start=rng.uniform(-0.3, 0.3, 3), end=np.zeros(3))
    u = ph.control("u", 3)
    size = Kinks(ph, by_hand).length(u, 0, rng.uniform(1.2, 2))
    hill = casadi.vertcat(3 * r[0] + 2 * v[1], -2 * v[0], -r[2])
    ph.dynamics({r: v, v: hill + u})
    ocp.minimize(unit * ph.integral(size))
    return ocp


def swing_up(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A pendulum with a weak motor brought upright in a given time."""
    ocp = Problem("swing up")
    ph = ocp.phase()
    drawn, limit = rng.uniform(5, 9), rng.uniform(0.5, 0.9)
    ph.time(start=0, end=max(drawn, 4.8 / limit))  # the least time is below 4.7 / limit
    a, w = ph.state("a", start=0, end=np.pi), ph.state("w", start=0, end=0)
    u = ph.control("u", lower=-limit, upper=limit)
    ph.dynamics({a: w, w: u - casadi.sin(a) - rng.uniform(0, 0.05) * w})
    ocp.minimize(unit * ph.integral(u**2))
    return ocp


def pendulum_in_least_time(rng: Rng, by_hand: bool, unit: float) -> Problem:
    ocp = Problem("pendulum in least time")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.5, 20))
    a, w = ph.state("a", start=0, end=np.pi), ph.state("w", start=0, end=0)
    limit = rng.uniform(0.6, 1.5)
    u = ph.control("u", lower=-limit, upper=limit)
    ph.dynamics({a: w, w: u - casadi.sin(a)})
    ocp.minimize(unit * ph.final(t))
    return ocp


def transfer(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A low-thrust transfer between circular orbits in polar coordinates, in least time."""
    ocp = Problem("transfer")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(1, 60))
    end = rng.uniform(1.3, 2.2)
    r, p = ph.state("r", start=1, end=end, lower=0.5, upper=4), ph.state("p", start=0)
    vr, vt = ph.state("vr", start=0, end=0), ph.state("vt", start=1, end=end**-0.5)
    push = rng.uniform(0.02, 0.1)
    a = ph.control("a", lower=-2 * np.pi, upper=2 * np.pi)
    ph.dynamics(
        {
            r: vr,
            p: vt / r,
            vr: vt**2 / r - 1 / r**2 + push * casadi.sin(a),
            vt: -vr * vt / r + push * casadi.cos(a),
        }
    )
    ocp.minimize(unit * ph.final(t))
    return ocp


def burn_and_coast(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Burn, coast, burn between circular orbits in Cartesian coordinates, with least fuel."""
    ocp = Problem("burn and coast")
    end, push = rng.uniform(1.2, 1.6), rng.uniform(0.2, 0.6)
    phases, burnt = [], []
    for name in ("first", "coast", "second"):
        ph = ocp.phase(name)
        ph.time(start=0 if name == "first" else None, end=free(0, 12))
        first = name == "first"
        r = ph.state("r", 2, start=[1, 0] if first else None)
        v = ph.state("v", 2, start=[0, 1] if first else None)
        gravity = -r / casadi.sumsqr(r) ** 1.5
        if name != "coast":
            a = ph.control("a", lower=-np.pi, upper=np.pi)
            gravity += push * casadi.vertcat(casadi.cos(a), casadi.sin(a))
            burnt.append(ph.integral(1))
        ph.dynamics({r: v, v: gravity})
        if name == "second":
            ocp.require(ph.final(casadi.sumsqr(r)), equals=end**2)
            ocp.require(ph.final(casadi.sumsqr(v)), equals=1 / end)
            ocp.require(ph.final(casadi.dot(r, v)), equals=0)
        phases.append(ph)
    ocp.connect(phases[0], phases[1])
    ocp.connect(phases[1], phases[2])
    ocp.minimize(unit * sum(burnt))
    return ocp


def staged_rocket(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A vertical rocket of two or three stages with drag: highest apogee or most speed."""
    ocp = Problem("staged rocket")
    count, before = int(rng.integers(2, 4)), None
    mass = 1.0
    for k in range(count):
        ph = ocp.phase(f"stage {k + 1}")
        ph.time(start=0 if k == 0 else None, end=free(0.01, 5))
        first = k == 0
        h = ph.state("h", start=0 if first else None, lower=0)
        v = ph.state("v", start=0 if first else None)
        fuel = 0.55 * mass
        m = ph.state("m", start=mass, end=free(mass - fuel, mass), lower=mass - fuel)
        T = ph.control("T", lower=0, upper=rng.uniform(2, 3.5) * mass)
        drag = rng.uniform(0.01, 0.05) * v * casadi.sqrt(v**2 + 1e-4) * casadi.exp(-h)
        ph.dynamics({h: v, v: (T - drag) / m - 1 / (1 + 0.1 * h) ** 2, m: -0.6 * T})
        if before is not None:
            ocp.connect(before, ph, states=["h", "v"])
        before, mass = ph, (mass - fuel) * 0.8
        last = ph.final(h) + 0.5 * ph.final(v) ** 2
    ocp.maximize(unit * last)
    return ocp


def obstacles(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A unicycle between discs in the plane."""
    ocp = Problem("obstacles")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(8, 12))
    x, y = ph.state("x", start=0, end=5), ph.state("y", start=0, end=rng.uniform(-1, 1))
    a, s = ph.state("a", start=0), ph.state("s", start=0, end=0, lower=-2, upper=2)
    w, b = ph.control("w", lower=-1.5, upper=1.5), ph.control("b", lower=-1, upper=1)
    ph.dynamics({x: s * casadi.cos(a), y: s * casadi.sin(a), a: w, s: b})
    for at in (1.6, 3.5):
        ph.path((x - at) ** 2 + (y - rng.uniform(-0.4, 0.4)) ** 2, lower=rng.uniform(0.3, 0.7) ** 2)
    ocp.minimize(unit * ph.integral(w**2 + b**2))
    return ocp


def reactor(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A -> B -> C in a batch; the temperature is the control."""
    ocp = Problem("reactor")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(0.5, 2))
    a, b = ph.state("a", start=1, lower=0), ph.state("b", start=0, lower=0)
    T = ph.control("T", lower=298, upper=398)
    k1 = 4000 * rng.uniform(0.5, 2) * casadi.exp(-2500 / T)
    k2 = 620000 * rng.uniform(0.5, 2) * casadi.exp(-5000 / T)
    ph.dynamics({a: -k1 * a**2, b: k1 * a**2 - k2 * b})
    ocp.maximize(unit * ph.final(b))
    return ocp


def fishery(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A predator, its prey, and a harvest that enters linearly."""
    ocp = Problem("fishery")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(8, 12))
    x, y = ph.state("x", start=0.5, lower=0), ph.state("y", start=0.7, lower=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({x: x - x * y - rng.uniform(0.3, 0.5) * u * x, y: -y + x * y - 0.2 * u * y})
    ocp.minimize(unit * ph.integral((x - 1) ** 2 + (y - 1) ** 2))
    return ocp


def kinetics_fit(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Rate constants from measurements at given times: a phase between two of them."""
    ocp = Problem("kinetics fit")
    times = np.linspace(0, rng.uniform(3, 5), 7)
    k = rng.uniform(0.4, 2, 2)
    unknown = ocp.variable("k", 2, lower=0, upper=20)
    b_true = k[0] / (k[1] - k[0]) * (np.exp(-k[0] * times) - np.exp(-k[1] * times))
    measured = np.stack([np.exp(-k[0] * times), b_true]) + 0.01 * rng.normal(size=(2, 7))
    cost, before = 0, None
    for i in range(6):
        ph = ocp.phase(f"span {i + 1}")
        ph.time(start=times[i], end=times[i + 1])
        c = ph.state("c", 2, start=[1, 0] if i == 0 else None)
        ph.dynamics({c: casadi.vertcat(-unknown[0] * c[0], unknown[0] * c[0] - unknown[1] * c[1])})
        if before is not None:
            ocp.connect(before, ph)
        cost += casadi.sumsqr(ph.final(c) - measured[:, i + 1])
        before = ph
    ocp.minimize(unit * cost)
    return ocp


def oscillator_fit(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Frequency and damping of an oscillation that was measured often."""
    ocp = Problem("oscillator fit")
    times = np.linspace(0, rng.uniform(6, 12), 16)
    w, d = rng.uniform(1.5, 3), rng.uniform(0.05, 0.2)
    W = np.sqrt(w**2 - d**2)
    x_true = np.exp(-d * times) * (np.cos(W * times) + d / W * np.sin(W * times))
    measured = x_true + 0.01 * rng.normal(size=16)
    stiffness, damping = ocp.variable("w2", lower=0, upper=20), ocp.variable("d", lower=0, upper=2)
    cost, before = 0, None
    for i in range(15):
        ph = ocp.phase(f"span {i + 1}")
        ph.time(start=times[i], end=times[i + 1])
        x = ph.state("x", start=1 if i == 0 else None)
        v = ph.state("v", start=0 if i == 0 else None)
        ph.dynamics({x: v, v: -stiffness * x - 2 * damping * v})
        if before is not None:
            ocp.connect(before, ph)
        cost += (ph.final(x) - measured[i + 1]) ** 2
        before = ph
    ocp.minimize(unit * cost)
    return ocp


def arm(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Two links in the vertical plane, limited torques and speeds."""
    ocp = Problem("arm")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.3, 8))
    q = ph.state("q", 2, start=[0, 0], end=rng.uniform(-1.5, 1.5, 2))
    w = ph.state(
        "w", 2, start=[0, 0], end=[0, 0], lower=-rng.uniform(1, 2), upper=rng.uniform(1, 2)
    )
    u = ph.control("u", 2, lower=[-8, -4], upper=[8, 4])
    c, s = casadi.cos(q[1]), casadi.sin(q[1])
    M = casadi.vertcat(
        casadi.horzcat(5 / 3 + c, 1 / 3 + c / 2), casadi.horzcat(1 / 3 + c / 2, 1 / 3)
    )
    bias = casadi.vertcat(-s * (w[0] * w[1] + 0.5 * w[1] ** 2), 0.5 * s * w[0] ** 2)
    ph.dynamics({q: w, w: casadi.solve(M, u - bias)})
    ocp.minimize(unit * (ph.final(t) + rng.uniform(0.005, 0.05) * ph.integral(casadi.sumsqr(u))))
    return ocp


def masses(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A row of masses on springs brought to rest, the force on the first limited."""
    ocp = Problem("masses")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(10, 15))
    n = int(rng.integers(2, 5))
    x = ph.state("x", n, start=rng.uniform(-1, 1, n), end=np.zeros(n))
    v = ph.state("v", n, start=np.zeros(n), end=np.zeros(n))
    u = ph.control("u", lower=-1.5, upper=1.5)
    K = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    ph.dynamics(
        {
            x: v,
            v: -rng.uniform(0.5, 2) * casadi.mtimes(K, x)
            - 0.05 * v
            + casadi.vertcat(u, *[0] * (n - 1)),
        }
    )
    ocp.minimize(unit * ph.integral(u**2 + 0.1 * casadi.sumsqr(x)))
    return ocp


def speed_limit(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A smooth control that enters and leaves a limit of a state."""
    ocp = Problem("speed limit")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    first_order = rng.random() < 0.5
    reach = rng.uniform(0.6, 1)
    x = ph.state(
        "x",
        start=0,
        end=reach if first_order else 0,
        upper=None if first_order else rng.uniform(0.05, 0.12),
    )
    v = ph.state(
        "v",
        start=0 if first_order else 1,
        end=0 if first_order else -1,
        upper=1.2 * reach if first_order else None,
    )
    u = ph.control("u")
    ph.dynamics({x: v, v: u - rng.uniform(0, 1) * v})
    ocp.minimize(unit * ph.integral(u**2 / 2))
    return ocp


def hopper(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A mass on a spring of variable length leaves the ground and reaches a height."""
    ocp = Problem("hopper")
    stance, flight = ocp.phase("stance"), ocp.phase("flight")
    stance.time(start=0, end=free(0.05, 2))
    flight.time(end=free(0.1, 4))
    stiffness, height = rng.uniform(40, 80), rng.uniform(1.15, 1.35)
    z = stance.state("z", start=1, end=1, lower=0.5, upper=1)
    v = stance.state("v", start=rng.uniform(-2, -1.3))
    u = stance.control("u", lower=-0.2, upper=0.2)
    stance.dynamics({z: v, v: stiffness * (1 + u - z) - 9.81})
    z, v = flight.state("z", end=height, lower=1), flight.state("v", end=0)
    flight.dynamics({z: v, v: -9.81})
    ocp.connect(stance, flight)
    ocp.minimize(unit * stance.integral(u**2))
    return ocp


def fermenter(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A fed batch with inhibition by the substrate: bang, singular and boundary arcs."""
    ocp = Problem("fermenter")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(8, 14))
    X, S = ph.state("X", start=0.5, lower=0), ph.state("S", start=5, lower=0)
    P, V = ph.state("P", start=0, lower=0), ph.state("V", start=1, lower=1, upper=rng.uniform(3, 6))
    F = ph.control("F", lower=0, upper=1)
    growth = 0.5 * S / (0.3 + S + S**2 / 20) * X
    ph.dynamics(
        {
            X: growth - F / V * X,
            S: -2 * growth + F / V * (20 - S),
            P: 0.2 * growth + 0.02 * X - F / V * P,
            V: F,
        }
    )
    ocp.maximize(unit * ph.final(P * V))
    return ocp


def draining_tank(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Two tanks: outflow by the root of the level, which begins at zero."""
    ocp = Problem("draining tank")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(3, 6))
    a = ph.state("a", start=0, lower=0, upper=2)
    b = ph.state("b", start=0, end=rng.uniform(0.3, 0.6), lower=0, upper=2)
    u = ph.control("u", lower=0, upper=1)
    flow = casadi.sqrt(a)
    ph.dynamics({a: u - rng.uniform(0.5, 0.9) * flow, b: 0.5 * flow - 0.4 * casadi.sqrt(b)})
    ocp.minimize(unit * ph.integral(u**2))
    return ocp


def epidemic(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """Distancing against an epidemic; patients count beyond the number of beds."""
    ocp = Problem("epidemic")
    ph = ocp.phase()
    ph.time(start=0, end=rng.uniform(80, 120))
    s, i = ph.state("s", start=0.99, lower=0), ph.state("i", start=0.01, lower=0)
    u = ph.control("u", lower=0, upper=0.7)
    rate = rng.uniform(0.2, 0.3)
    ph.dynamics({s: -rate * (1 - u) * s * i, i: rate * (1 - u) * s * i - 0.1 * i})
    beyond = Kinks(ph, by_hand).maximum(i - rng.uniform(0.03, 0.08), 0)
    ocp.minimize(unit * ph.integral(0.02 * u**2 + 10 * beyond))
    return ocp


def car_in_least_time(rng: Rng, by_hand: bool, unit: float) -> Problem:
    """A car that parks: bounded curvature and speed, forwards and backwards."""
    ocp = Problem("car in least time")
    ph = ocp.phase()
    t = ph.time(start=0, end=free(0.5, 40))
    x = ph.state("x", start=0, end=rng.uniform(-1, 3))
    y = ph.state("y", start=0, end=rng.uniform(1, 3))
    a = ph.state("a", start=0, end=rng.uniform(-1, 1))
    s = ph.state("s", start=0, end=0, lower=-1, upper=2)
    k, b = ph.control("k", lower=-0.6, upper=0.6), ph.control("b", lower=-1, upper=1)
    ph.dynamics({x: s * casadi.cos(a), y: s * casadi.sin(a), a: s * k, s: b})
    ocp.minimize(unit * (ph.final(t) + 0.1 * ph.integral(k**2 + b**2)))
    return ocp


FAMILIES: tuple[Callable[[Rng, bool, float], Problem], ...] = (
    storage,
    battery,
    least_fuel,
    dead_zone,
    least_work,
    thrust_vector,
    swing_up,
    pendulum_in_least_time,
    transfer,
    burn_and_coast,
    staged_rocket,
    obstacles,
    reactor,
    fishery,
    kinetics_fit,
    oscillator_fit,
    arm,
    masses,
    speed_limit,
    draining_tank,
    epidemic,
    car_in_least_time,
    powered_descent,
    rendezvous,
    hopper,
    fermenter,
)


def unit_of(seed: int, number: int) -> float:
    """The unit of the cost: another than one for half of the problems."""
    rng = np.random.default_rng((seed, number, 1))
    return 1.0 if rng.random() < 0.5 else float(10 ** rng.uniform(-7, 7))


def build(seed: int, number: int, by_hand: bool = False) -> Problem:
    """State problem ``number`` of a seed; written by hand with one as the unit of the cost."""
    rng = np.random.default_rng((seed, number))
    return FAMILIES[number % len(FAMILIES)](rng, by_hand, 1.0 if by_hand else unit_of(seed, number))
