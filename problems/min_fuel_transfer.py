"""The transfer between circular orbits in a given time with the least fuel: five burns and four coasts, eight switches.

Lengths are in initial radii, times in initial orbital periods over 2 pi. ``build`` has a phase for every burn and coast, and the
switching times among its unknowns; ``throttled`` is the same transfer in one phase with the throttle as a control, which finds
the order of burns and coasts and can start from a smooth cost.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp

from problems.rocket import require_positive
from problems.thrust import Engine, Flight, Spiral, coast, coasting_rates, declare_bounded_thrust, fly, push
from trajopt import Problem, Reference, Solution, free, solve
from trajopt.errors import ProblemError

REFERENCE = Reference(
    objective=0.88572019049,
    tolerance=1e-8,
    structure="burn, coast, ..., burn: eight switches at 1.1583, 6.3780, 8.0211, 13.8077, 15.7624, 18.4391, 20.2792, 28.0252",
    source="collocation with phases, collocation with a throttle and shooting agree; the optimum is a local one",
)

BURNS = (0.0, 1.2, 6.4, 8.0, 13.8, 15.8, 18.4, 20.3, 28.0, 30.0)  # where burns begin and end, to start from

HOMOTOPY = 1e-4  # the tolerance on the way: its solutions are guesses


def build(
    thrust: float = 0.02,
    exhaust: float = 1.5,
    radius: float = 1.5,
    duration: float = 30.0,
    mass: float = 1.0,
    burns: tuple[float, ...] = BURNS,
) -> Problem:
    """From the circle r = 1 to the circle r = ``radius``, arriving anywhere on it, with the most mass left.

    ``burns`` has the beginning and end of each burn of the guess, in any unit of time; their number stays.
    """
    require_positive("min-fuel-transfer", thrust=thrust, exhaust=exhaust, radius=radius, duration=duration, mass=mass)
    cuts = _cuts(burns, duration)
    engine = Engine(thrust, exhaust, mass)
    ends = ((1, radius), (0, None), (0, 0), (1, radius**-0.5), (mass, None), (exhaust, None))
    ocp = Problem("min-fuel-transfer")
    before = None
    for k, motion in enumerate(_flown(engine, cuts, 1.0 if radius > 1 else -1.0)):
        burning, first, last = k % 2 == 0, k == 0, k == cuts.size - 2
        ph = ocp.phase(f"{'burn' if burning else 'coast'} {k // 2 + 1}")
        t = ph.time(start=0 if first else None, end=duration if last else free(0, duration, guess=cuts[k + 1]), unit="")
        states = [
            ph.state(
                name, start=a if first else None, end=b if last else None, guess=lambda tau, i=i, motion=motion: motion(tau)[i]
            )
            for i, (name, (a, b)) in enumerate(zip(("r", "theta", "vr", "vt", "m", "c"), ends, strict=True))
        ]
        flight = Flight(*states)
        if burning:
            push(ph, flight, thrust, 1.0 if radius > 1 else -1.0)
        else:
            coast(ph, flight)
        declare_bounded_thrust(ph, t, flight, thrust, burning)
        if before is not None:
            ocp.connect(before, ph)
        before = ph
    ocp.maximize(ph.final(flight.m))
    return ocp


def throttled(
    thrust: float = 0.02, exhaust: float = 1.5, radius: float = 1.5, duration: float = 30.0, smoothing: float = 0.0
) -> Problem:
    """The same in one phase, with the throttle as a control.

    The cost is the fuel, T/c int [s - k s (1 - s)] dt with the parameter ``smoothing`` k: 1 is the smooth energy problem from
    which a homotopy starts, 0 the fuel itself (Bertrand and Epenoy 2002). With 0 there is no such parameter, and the throttle
    enters affinely.
    """
    require_positive("min-fuel-transfer", thrust=thrust, exhaust=exhaust, radius=radius, duration=duration)
    ocp = Problem("min-fuel-transfer, throttled")
    ph = ocp.phase()
    spiral = Spiral(radius, duration)
    ph.time(start=0, end=duration, unit="")
    s = ph.control("throttle", lower=0, upper=1, guess=min(0.9, spiral.speed / (thrust * duration)))
    fly(ph, Engine(thrust, exhaust), spiral, s)
    smooth = ocp.parameter("smoothing", smoothing) * s * (1 - s) if smoothing else 0
    ocp.minimize(ph.integral(thrust / exhaust * (s - smooth)))
    return ocp


def homotopy(smoothings: tuple[float, ...] = (1.0, 0.1, 0.03, 0.01, 0.003), **statement: float) -> list[Solution]:
    """Solutions of the throttled transfer from the energy towards the fuel, each the guess of the next.

    The primer vector of a slow spiral hardly changes its size, so that burns and coasts part only where the smoothing is small.

    Examples
    --------
    >>> energy, closer = homotopy((1.0, 0.5))
    >>> bool(energy["m"](30.0) < closer["m"](30.0))
    True
    """
    problem = throttled(smoothing=smoothings[0], **statement)
    found: list[Solution] = []
    for smoothing in smoothings:
        guess = found[-1] if found else None
        found.append(solve(problem, guess=guess, parameters={"smoothing": smoothing}, tolerance=HOMOTOPY).check())
    return found


def _cuts(burns: tuple[float, ...], duration: float) -> np.ndarray:
    cuts = np.asarray(burns, dtype=float)
    if cuts.size < 2 or cuts.size % 2 or cuts[0] != 0 or np.any(np.diff(cuts) <= 0):
        raise ProblemError(
            "min-fuel-transfer: 'burns'",
            got=burns,
            expected="beginnings and ends of burns in order, the first at 0, the last at the end",
        )
    return cuts * duration / cuts[-1]


def _flown(engine: Engine, cuts: np.ndarray, along: float) -> list[Callable[[float], np.ndarray]]:
    """The arcs of a flight with thrust along the orbit in every burn, in normalised time: what a solve begins from."""
    arcs: list[Callable[[float], np.ndarray]] = []
    y = np.array([1.0, 0.0, 0.0, 1.0, engine.mass, engine.exhaust])
    for k, (start, end) in enumerate(pairwise(cuts)):
        thrust = engine.thrust if k % 2 == 0 else 0.0

        def rate(_: float, y: np.ndarray, thrust: float = thrust) -> list[float]:
            r, theta, vr, vt = coasting_rates(tuple(y[:4]))
            return [r, theta, vr, vt + along * thrust / y[4], -thrust / y[5], 0.0]

        found = solve_ivp(rate, (start, end), y, rtol=1e-9, atol=1e-9, dense_output=True)
        arcs.append(lambda tau, f=found.sol, a=start, b=end: f(a + tau * (b - a)))
        y = found.y[:, -1]
    return arcs
