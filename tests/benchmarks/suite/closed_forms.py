"""Closed forms and one-dimensional root findings behind the suite's references.

    python tests/benchmarks/suite/closed_forms.py

prints each value beside the reference that the suite has. No function here uses a transcription.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, fsolve, least_squares, minimize, minimize_scalar

FORMS: dict[str, Callable[[], float]] = {}


def form(name: str) -> Callable[[Callable[[], float]], Callable[[], float]]:
    def register(function: Callable[[], float]) -> Callable[[], float]:
        FORMS[name] = function
        return function

    return register


def fuller_cost(x: float, v: float) -> tuple[float, float]:
    """(cost, time) to the origin with u = -sign(x + zeta v |v|), arc by arc (Fuller 1963)."""
    zeta = math.sqrt((math.sqrt(33) - 1) / 24)
    cost = total = 0.0
    u = -math.copysign(1.0, x + zeta * v * abs(v))
    while abs(v) > 1e-9 or total == 0:
        # The arc ends where x + zeta v |v| = 0 with v of the sign of u: x0 + v0 t + u t^2/2 + u
        # zeta (v0 + u t)^2 = 0.
        t = max(np.roots([u / 2 + u * zeta, v * (1 + 2 * zeta), x + u * zeta * v * v]).real)
        cost += np.polyval(np.polyint(np.polymul([u / 2, v, x], [u / 2, v, x])), t)
        x, v, total, u = x + v * t + u * t * t / 2, v + u * t, total + t, -u
    return cost, total


@form("fuller")
def fuller() -> float:
    return fuller_cost(1, 0)[0]


@form("fuller-to-rest")
def fuller_to_rest() -> float:
    return fuller_cost(1, 1)[0]


@form("two-wells")
def two_wells() -> float:
    """The costate is constant, p = x(1); u minimizes (u^2 - 1)^2 + (2 (t - 1/2) + p) u at each
    instant.
    """

    def best(slope: float) -> float:
        roots = np.roots([4, 0, -4, slope])
        real = roots[abs(roots.imag) < 1e-9].real
        return float(min(real, key=lambda u: (u * u - 1) ** 2 + slope * u))

    def final(p: float) -> float:
        jump = 0.5 - p / 2
        return 0.3 + sum(
            quad(lambda t: best(2 * (t - 0.5) + p), *ends, epsabs=1e-13)[0]
            for ends in ((0, jump), (jump, 1))
        )

    p = brentq(lambda p: final(p) - p, -0.9, 0.9, xtol=1e-14)
    jump = 0.5 - p / 2

    def running(t: float) -> float:
        u = best(2 * (t - 0.5) + p)
        return (u * u - 1) ** 2 + 2 * (t - 0.5) * u

    return sum(quad(running, *ends, epsabs=1e-13)[0] for ends in ((0, jump), (jump, 1))) + p * p / 2


@form("wells-of-a-motor")
def wells_of_a_motor() -> float:
    """The costate of v is -0.1 sin(8 - t); u minimizes 0.05 (u^2 - 1)^2 - 0.1 sin(8 - t) u; x by
    Duhamel's integral.
    """

    def best(slope: float) -> float:
        roots = np.roots([0.2, 0, -0.2, slope])
        real = roots[abs(roots.imag) < 1e-9].real
        return float(min(real, key=lambda u: 0.05 * (u * u - 1) ** 2 + slope * u))

    def running(rest: float) -> float:
        u = best(-0.1 * math.sin(rest))
        return 0.05 * (u * u - 1) ** 2 - 0.1 * math.sin(rest) * u

    parts = ((0, math.pi), (math.pi, 2 * math.pi), (2 * math.pi, 8))
    return sum(quad(running, *ends, epsabs=1e-13)[0] for ends in parts) - 0.1 * math.cos(8)


@form("bolza")
def bolza() -> float:
    """Relaxed: x = 0, then the convex hull's first integral W'(u) u - W(u) = x^2 leads to x = 1/2
    with u > 1.
    """

    def speed(x: float) -> float:
        return brentq(
            lambda u: 4 * u * u * (u * u - 1) - (u * u - 1) ** 2 - x * x, 1, 3, xtol=1e-15
        )

    return quad(lambda x: (x * x + (speed(x) ** 2 - 1) ** 2) / speed(x), 0, 0.5, epsabs=1e-14)[0]


@form("disc-ahead")
def disc_ahead() -> float:
    angle = math.pi - math.acos(1 / 2) - math.acos(1 / 3)
    return (math.sqrt(3) + math.sqrt(8) + angle) ** 2


@form("rings")
def rings() -> float:
    a = brentq(lambda a: a * math.cosh(0.5 / a) - 1, 0.5, 1)
    return math.pi * a * (1 + a * math.sinh(1 / a))


@form("dubins")
def dubins() -> float:
    """The shortest of LSL, RSR, LSR, RSL, RLR, LRL between (0, 0, pi/2) and (4, 3, -pi/3), each
    turn below 2 pi.
    """
    x, y, first, last = 4.0, 3.0, math.pi / 2, -math.pi / 3
    lengths = []
    for s, e in product((1, -1), repeat=2):
        a = np.array([-s * math.sin(first), s * math.cos(first)])  # centres of the turns
        b = np.array([x - e * math.sin(last), y + e * math.cos(last)])
        d = np.linalg.norm(b - a)
        bearing = math.atan2(*(b - a)[::-1])
        offset = 0.0 if s == e else s * math.asin(2 / d)
        straight = d if s == e else math.sqrt(d * d - 4)
        turn = (s * (bearing + offset - first)) % (2 * math.pi) + (
            e * (last - bearing - offset)
        ) % (2 * math.pi)
        lengths.append(straight + turn)
    return min(lengths)


@form("bus")
def bus() -> float:
    return 10 / 1 + (300 - 50 - 25) / 10 + 10 / 2


@form("harmonic-oscillator")
def harmonic_oscillator() -> float:
    """Backward from rest: circles about u = +-1, switches every pi (Pontryagin 1962)."""

    def forward(first: float, switches: int, u: float) -> tuple[float, float, float]:
        z, time = complex(7, 2), first
        z = (z - u) * np.exp(-1j * first) + u
        for _ in range(switches - 1):
            u = -u
            z, time = (z - u) * np.exp(-1j * math.pi) + u, time + math.pi
        u = -u
        # The last arc, of length below pi, must pass through the origin.
        radius = abs(z - u)
        angle = (np.angle(z - u) - np.angle(0 - u)) % (2 * math.pi)
        return radius - 1, time + angle, angle

    found = []
    for u in (1.0, -1.0):
        for switches in range(1, 6):
            grid = np.linspace(0, math.pi, 2001)
            values = [forward(t, switches, u)[0] for t in grid]
            for a, b, fa, fb in zip(grid, grid[1:], values, values[1:], strict=False):
                if fa * fb < 0:
                    root = brentq(lambda t, n=switches, u=u: forward(t, n, u)[0], a, b, xtol=1e-15)
                    _, time, angle = forward(root, switches, u)
                    if angle <= math.pi + 1e-9:
                        found.append(time)
    return min(found)


@form("two-masses")
def two_masses() -> float:
    """Three switches symmetric in time about the middle: the end of the modes as functions of two
    durations.
    """

    def ends(arcs: np.ndarray) -> list[float]:
        a, b = arcs
        middle, jump = 0.0, [0, a, a + b, a + 2 * b, 2 * a + 2 * b]
        total = jump[-1]
        omega = math.sqrt(2)
        # Centre of mass: s'' = u / 2; difference: d'' = -2 d + u.
        position = sum(
            u * ((total - t0) ** 2 - (total - t1) ** 2) / 4
            for u, t0, t1 in zip((1, -1, 1, -1), jump, jump[1:], strict=False)
        )
        swing = sum(
            u * (math.cos(omega * (total - t1)) - math.cos(omega * (total - t0))) / 2
            for u, t0, t1 in zip((1, -1, 1, -1), jump, jump[1:], strict=False)
        )
        return [position - 1, swing + middle]

    best = math.inf
    for a in np.linspace(0.2, 2, 10):
        for b in np.linspace(0.2, 2, 10):
            root, _, ok, _ = fsolve(ends, [a, b], full_output=True, xtol=1e-14)
            if ok == 1 and min(root) > 1e-6:
                best = min(best, 2 * root.sum())
    return best


@form("gravity-train")
def gravity_train() -> float:
    return math.pi * math.sqrt(1 - (1 - 2 / 3) ** 2)


@form("sphere-long-way")
def sphere_long_way() -> float:
    return (math.pi + (5 - math.pi) * math.cos(1.2)) ** 2


@form("oscillator-past-pi")
def oscillator_past_pi() -> float:
    return math.pi - 4


def tangent_path(
    start: np.ndarray, end: np.ndarray, discs: list[tuple[float, float, float, int]]
) -> float:
    """The length of the taut string past discs (x, y, radius, side), side +1 where the disc lies to
    the left.
    """
    points: list[tuple[np.ndarray, float, int]] = [(start, 0.0, 0)]
    points += [(np.array([x, y]), r, side) for x, y, r, side in discs] + [(end, 0.0, 0)]
    length, headings = 0.0, []
    for (a, ra, sa), (b, rb, sb) in pairwise(points):
        d = np.linalg.norm(b - a)
        shift = sa * ra - sb * rb
        length += math.sqrt(d * d - shift * shift)
        headings.append(math.atan2(*(b - a)[::-1]) + math.asin(shift / d))
    for (_, r, side), before, after in zip(points[1:-1], headings, headings[1:], strict=False):
        turn = side * (after - before)
        if turn < 0:
            return math.inf
        length += r * turn
    return length


@form("two-discs-path")
def two_discs_path() -> float:
    start, end = np.zeros(2), np.array([4.0, 0.0])
    first, second = (1.2, -0.3, 0.8), (2.8, 0.4, 0.7)
    paths = [[(*first, a), (*second, b)] for a, b in product((1, -1), repeat=2)]
    return min(tangent_path(start, end, discs) for discs in paths)


@form("hanging-chain")
def hanging_chain() -> float:
    """y = a cosh((x - b) / a) + c through (0, 1) and (1, 3) with length 4; energy by quadrature."""

    def conditions(z: np.ndarray) -> list[float]:
        a, b, c = z
        return [
            a * math.cosh(b / a) + c - 1,
            a * math.cosh((1 - b) / a) + c - 3,
            a * (math.sinh((1 - b) / a) + math.sinh(b / a)) - 4,
        ]

    a, b, c = fsolve(conditions, [0.2, 0.4, 0.0], xtol=1e-14)
    return quad(
        lambda x: (a * math.cosh((x - b) / a) + c) * math.cosh((x - b) / a), 0, 1, epsabs=1e-13
    )[0]


@form("growth-or-consumption")
def growth_or_consumption() -> float:
    return math.e**2


@form("borrowing-limit")
def borrowing_limit() -> float:
    """Interest equals impatience, so consumption is constant while wealth is positive; it ends
    where income has caught up.
    """
    r = 0.05

    # present value of what is left of the wealth if c = income(tau) until tau
    def left(
        tau: float,
    ) -> float:
        c = 1 + 0.1 * tau
        return 2 + quad(lambda t: math.exp(-r * t) * (1 + 0.1 * t - c), 0, tau, epsabs=1e-14)[0]

    tau = brentq(left, 0.1, 20, xtol=1e-14)
    first = math.log(1 + 0.1 * tau) * (1 - math.exp(-r * tau)) / r
    return (
        first + quad(lambda t: math.exp(-r * t) * math.log(1 + 0.1 * t), tau, 20, epsabs=1e-14)[0]
    )


def turnpike(
    rate: Any, gain: Any, level: float, start: float, end: float, limits: tuple[float, float]
) -> float:
    """The gain of the first limit until the singular level, that level, and the second limit from
    the best time on.

    ``rate(x, u)`` is x', ``gain(t, x, u)`` the integrand, ``end`` the final time.
    """
    first, last = limits

    def arc(t0: float, x0: float, u: float, t1: float) -> tuple[float, float]:
        run = solve_ivp(
            lambda t, z: [rate(z[0], u), gain(t, z[0], u)],
            (t0, t1),
            [x0, 0.0],
            rtol=1e-12,
            atol=1e-13,
            method="DOP853",
        )
        return run.y[0, -1], run.y[1, -1]

    reach = brentq(lambda t: arc(0, start, first, t)[0] - level, 1e-6, end / 2, xtol=1e-13)
    hold = brentq(lambda u: rate(level, u), -10, 10, xtol=1e-15)

    def total(switch: float) -> float:
        middle = quad(lambda t: gain(t, level, hold), reach, switch, epsabs=1e-13)[0]
        return arc(0, start, first, reach)[1] + middle + arc(switch, level, last, end)[1]

    found = minimize_scalar(
        lambda s: -total(s), bounds=(reach, end), method="bounded", options={"xatol": 1e-10}
    )
    return -found.fun


@form("vidale-wolfe")
def vidale_wolfe() -> float:
    """M dx + N dt with u eliminated: the integrand's curl vanishes where 2 - (0.1 + 0.2) / (1 - x)
    - 0.2 x / (1 - x)^2 = 0.
    """
    # u = (x' + 0.2 x) / (1 - x); L = e^{-0.1 t} (2 x - u), M = -e^{-0.1 t} / (1 - x), N = e^{-0.1
    # t} (2 x - 0.2 x / (1 - x)). dN/dx = dM/dt: 2 - 0.2 / (1 - x)^2 = 0.1 / (1 - x).
    level = brentq(lambda x: 2 - 0.2 / (1 - x) ** 2 - 0.1 / (1 - x), 0.1, 0.95, xtol=1e-15)
    return turnpike(
        lambda x, u: u * (1 - x) - 0.2 * x,
        lambda t, x, u: math.exp(-0.1 * t) * (2 * x - u),
        level,
        0.1,
        5.0,
        (2.0, 0.0),
    )


@form("fishery")
def fishery() -> float:
    """u = 1 - x - x'/x; L = e^{-0.05 t} (2 x - 0.4) u; dN/dx = dM/dt with N = (2 x - 0.4)(1 - x), M
    = -(2 - 0.4 / x).
    """
    level = brentq(
        lambda x: 2 * (1 - x) - (2 * x - 0.4) - 0.05 * (2 - 0.4 / x), 0.3, 0.9, xtol=1e-15
    )
    return turnpike(
        lambda x, u: x * (1 - x) - u * x,
        lambda t, x, u: math.exp(-0.05 * t) * (2 * x - 0.4) * u,
        level, 0.3, 10.0, (0.0, 1.0),
    )  # fmt: skip


@form("slowest-joint")
def slowest_joint() -> float:
    return max(2 * math.sqrt(abs(d) / limit) for d, limit in ((1, 1), (2, 0.5), (-0.5, 2)))


@form("slow-gripper")
def slow_gripper() -> float:
    return 2 * math.sqrt(2 / 0.5)  # the gripper's rate at the middle is exactly its limit of 2


@form("slowest-axis")
def slowest_axis() -> float:
    return max(2 / 2 + d / 2 for d in (5, 2))  # ramps of 1 s each; the short axis is quicker still


@form("redundant-motors")
def redundant_motors() -> float:
    return quad(lambda t: (6 - 12 * t) ** 2, 0, 1)[0]


@form("linked-roots")
def linked_roots() -> float:
    return ((9 - 1) / 2) ** 2 / 3


@form("linked-units")
def linked_units() -> float:
    """Full throttle for 62.5 s by the rocket equation with uniform gravity, then a coast in the
    inverse-square field.
    """
    c, T, g, R = 0.02 * 1000 / 8, 62.5, 0.00981, 6371.0  # km/s
    v = c * math.log(2) - g * T
    h = c * T * (1 - math.log(2)) - g * T**2 / 2  # int ln(m0 / m) with m falling from 1000 to 500
    energy = v * v / 2 - g * R * R / (R + h)
    return -g * R * R / energy - R


@form("rendezvous-effort")
def rendezvous_effort() -> float:
    """d . W^-1 d with the Gramian W of the Clohessy-Wiltshire equations."""
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [3, 0, 0, 2], [0, 0, -2, 0]], float)
    B = np.array([[0, 0], [0, 0], [1, 0], [0, 1]], float)
    T = 3 * math.pi
    # Van Loan 1978: the exponential of one block matrix holds both e^{AT} and the Gramian.
    block = expm(np.block([[-A, B @ B.T], [np.zeros((4, 4)), A.T]]) * T)
    transition = block[4:, 4:].T
    gramian = transition @ block[:4, 4:]
    d = transition @ np.array([-1, -5, 0, 1.5])
    return float(d @ np.linalg.solve(gramian, d))


def drive(word: str, gears: tuple[int, ...], lengths: np.ndarray) -> np.ndarray:
    """The pose after left turns, right turns and straight segments of radius 1, forward or
    backward.
    """
    x = y = angle = 0.0
    for kind, gear, length in zip(word, gears, lengths, strict=True):
        if kind == "S":
            x, y = x + gear * length * math.cos(angle), y + gear * length * math.sin(angle)
            continue
        turn = 1 if kind == "L" else -1
        after = angle + turn * gear * length
        x = x + turn * (math.sin(after) - math.sin(angle))
        y = y - turn * (math.cos(after) - math.cos(angle))
        angle = after
    return np.array([x, y, angle])


@form("parking")
def parking() -> float:
    """The shortest of the words CCC, CSC and CCCC (equal middle turns) of Reeds & Shepp 1990 to (0,
    0.8, 0).
    """
    shapes = [(word, 3) for word in ("LRL", "RLR", "LSL", "RSR", "LSR", "RSL")] + [
        ("LRLR", 4),
        ("RLRL", 4),
    ]
    goal, best = np.array([0, 0.8, 0]), math.inf
    random = np.random.default_rng(0)
    for word, count in shapes:
        for gears in product((1, -1), repeat=count):

            def missed(
                z: np.ndarray, word: str = word, gears: tuple[int, ...] = gears
            ) -> np.ndarray:
                lengths = z if len(word) == 3 else np.array([z[0], z[1], z[1], z[2]])
                return drive(word, gears, lengths) - goal

            for start in random.uniform(0, 1.5, size=(4, 3)):
                z, _, ok, _ = fsolve(missed, start, full_output=True, xtol=1e-13)
                total = z.sum() if count == 3 else z.sum() + z[1]
                if ok == 1 and min(z) > -1e-9 and abs(missed(z)).max() < 1e-9:
                    best = min(best, total)
    return best


@form("parts-penalty")
def parts_penalty() -> float:
    """u^2 + 4 |x|: the fourth derivative of x is -2 before the zero of x and 2 after it; lower
    derivatives are continuous.
    """

    def before(z: np.ndarray) -> np.ndarray:
        return np.array([-2 / 24, z[1] / 6, z[0] / 2, 0, 1])

    def after(z: np.ndarray) -> np.ndarray:  # in the time since the zero
        derivatives = [np.polyval(np.polyder(before(z), k), z[2]) for k in range(4)]
        return np.array(
            [2 / 24, derivatives[3] / 6, derivatives[2] / 2, derivatives[1], derivatives[0]]
        )

    def missed(z: np.ndarray) -> list[float]:
        rest = 3 - z[2]
        return [
            np.polyval(before(z), z[2]),
            np.polyval(after(z), rest) + 0.5,
            np.polyval(np.polyder(after(z)), rest),
        ]

    z = fsolve(missed, [-1.0, 0.5, 1.9], xtol=1e-13)
    cost = 0.0
    for x, width, sign in ((before(z), z[2], 1), (after(z), 3 - z[2], -1)):
        u = np.polyder(x, 2)
        cost += np.polyval(np.polyint(np.polyadd(np.polymul(u, u), 4 * sign * x)), width)
    return float(cost)


def parking_by_free_arcs() -> float:
    """The second way to ``parking``: four turns of free lengths, minimized for every word and every
    choice of gears.
    """
    goal, best = np.array([0, 0.8, 0]), math.inf
    for word in ("LRLR", "RLRL"):
        for gears in product((1, -1), repeat=4):
            for start in np.random.default_rng(1).uniform(0, 1, size=(2, 4)):
                ends = {
                    "type": "eq",
                    "fun": lambda z, word=word, gears=gears: drive(word, gears, z) - goal,
                }
                found = minimize(
                    np.sum,
                    start,
                    method="SLSQP",
                    bounds=[(0, 4)] * 4,
                    constraints=ends,
                    options={"ftol": 1e-12},
                )
                if abs(drive(word, gears, found.x) - goal).max() < 1e-8:
                    best = min(best, float(found.fun))
    return best


@form("newton-nose")
def newton_nose() -> float:
    """Newton's solution by its slope p: r = c (1 + p^2)^2 / p from p = 1 on; before that the front
    is flat.
    """

    def front(p: float) -> float:
        return p / (1 + p * p) ** 2  # c, if the radius of one is reached with slope p

    end = float(
        brentq(lambda p: 1 - front(p) * (-1.75 + p * p + 0.75 * p**4 - math.log(p)), 1.01, 10)
    )
    c = front(end)
    part = quad(
        lambda p: 2 * c * c * (1 + p * p) / p * (4 * (1 + p * p) - ((1 + p * p) / p) ** 2),
        1,
        end,
        epsabs=1e-13,
    )[0]
    return float((4 * c) ** 2 + part)


@form("heisenberg")
def heisenberg() -> float:
    """z = twice the area in a closed path; the shortest is a circle of length l, l^2 = 4 pi z/2."""
    return 4 * math.pi * 0.5


@form("moon-ascent")
def moon_ascent() -> float:
    """tan(theta) is linear in time: p - q t; two velocities and the height give p, q and T."""
    g, speed, height = 1.61544, 1627.0, 185200.0

    def misses(unknown: Any) -> list[float]:
        p, q, T = unknown

        def along(t: float) -> float:
            return 3 * g / math.hypot(1.0, p - q * t)

        def up(t: float) -> float:
            return (p - q * t) * along(t) - g

        vx, vy, y = (
            quad(rate, 0, T, epsrel=1e-12, epsabs=1e-9)[0]
            for rate in (along, up, lambda t: (T - t) * up(t))
        )
        return [vx / speed - 1, vy / speed, y / height - 1]

    return float(fsolve(misses, [1.0, 1e-3, 400.0], xtol=1e-12)[2])


@form("pinene")
def pinene() -> float:
    """The rates are linear in the concentrations: exponentials of their matrix, by least squares
    over the logarithms of the constants.
    """
    from suite.textbooks import PINENE, TIMES

    def residuals(logarithms: Any) -> Any:
        k = np.exp(logarithms)
        rates = np.zeros((5, 5))
        for source, target, constant in ((0, 1, 0), (0, 2, 1), (2, 3, 2), (2, 4, 3), (4, 2, 4)):
            rates[target, source] += k[constant]
            rates[source, source] -= k[constant]
        first = 100 * np.eye(5)[0]
        return np.ravel(
            [expm(rates * time) @ first - row for time, row in zip(TIMES, PINENE, strict=True)]
        )

    start = np.log([5e-5, 3e-5, 2e-5, 2e-4, 4e-5])
    found = least_squares(residuals, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    return 2 * float(found.cost)


def main() -> None:
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from suite import ENTRIES

    for name, function in FORMS.items():
        value, reference = function(), ENTRIES[name].reference
        print(
            f"{name:28s} {value:.14g}   reference {reference.objective:.14g}   "
            f"{reference.error(value):.1e}"
        )


if __name__ == "__main__":
    main()
