"""The transfer between circular orbits in a given time with the least fuel: five burns and four
coasts, eight switches.

Lengths are in initial radii, times in initial orbital periods over 2 pi. ``build`` has a phase for
every burn and coast, and the switching times among its unknowns; ``homotopy.py`` has the same
transfer with the throttle as a control, which finds the number and the order of the burns from a
smooth cost.
"""

from functools import cache
from itertools import pairwise

import casadi
import numpy as np
from casadi import SX, vertcat
from scipy.integrate import solve_ivp

from problems.rocket.central_field import require_positive
from problems.rocket.coordinates import chosen
from problems.rocket.drawings import transfer_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import pictures  # noqa: F401  # of its own
from problems.rocket.thrust import (
    Curve,
    Ends,
    Engine,
    Spiral,
    coast,
    declare_bounded_thrust,
    push,
    states,
)
from trajopt import Problem, Reference, free
from trajopt.errors import ProblemError
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own",
    objective=0.88572019049,
    tolerance=1e-8,
    structure="burn, coast, ..., burn: eight switches at 1.1583, 6.3780, 8.0211, 13.8077, "
    "15.7624, 18.4391, 20.2792, 28.0252",
    source="collocation with phases, collocation with a throttle and shooting agree; the optimum "
    "is a local one",
)

# Where burns begin and end, to start from: burns_of(energy_to_fuel().last) of homotopy.py, to one
# decimal.
BURNS = (0.0, 1.2, 6.4, 8.0, 13.8, 15.8, 18.4, 20.3, 28.0, 30.0)
# The same of energy_to_fuel(0.0096, plane_change=0.05): burns move towards the nodes.
TURNING = (0.0, 0.9, 5.5, 7.5, 13.1, 15.1, 17.6, 19.6, 27.6, 29.6)

# of the whole time: a burn or coast that is not needed shrinks to this, and not to nothing
SHORTEST = 1e-3


@settable
def build(
    thrust=setting(0.02, "1", "full thrust, in initial weights at the first orbit"),
    exhaust=setting(1.5, "1", "exhaust speed, in speeds of the first orbit"),
    radius=setting(1.5, "1", "radius of the final circle, in initial radii"),
    duration=setting(30.0, "1", "time of the transfer, in initial periods over 2 pi"),
    burns=setting(
        (), "1", "beginning and end of each burn to start from; empty: those of a homotopy"
    ),
    inclination=setting(0.0, "rad", "tilt of the whole transfer about the line of departure"),
    plane_change=setting(0.0, "rad", "turn of the final orbit against the first about that line"),
) -> Problem:
    """From the circle r = 1 to the circle r = ``radius``, arriving anywhere on it, with the most of
    the mass 1 left.

    ``burns`` has the beginning and end of each burn of the guess, in any unit of time, and their
    number stays; where it is empty, they are those of a homotopy. ``inclination`` and
    ``plane_change`` are angles (rad) as in ``min-time-transfer``.
    """
    require_positive(
        "min-fuel-transfer", thrust=thrust, exhaust=exhaust, radius=radius, duration=duration
    )
    cuts = _cuts(burns or (TURNING if plane_change else BURNS), duration)
    spiral = _spiral(radius, duration, inclination, plane_change)
    used, engine = spiral.coordinates, Engine(thrust, exhaust)
    ocp = Problem("min-fuel-transfer")
    before = None
    for k, (motion, direction) in enumerate(_flown(engine, spiral, cuts)):
        burning, first, last = k % 2 == 0, k == 0, k == cuts.size - 2
        ph = ocp.phase(f"{'burn' if burning else 'coast'} {k // 2 + 1}")
        t = ph.time(
            start=0 if first else None,
            end=duration if last else free(0, duration, guess=cuts[k + 1]),
            unit="",
        )
        ends = Ends(
            [*spiral.motion(0.0), 1.0, exhaust] if first else None,
            [*used.arrival(spiral.last), None, None] if last else None,
        )
        flight = states(ph, used, ends, motion)
        if burning:
            push(ph, flight, thrust, direction)
        else:
            coast(ph, flight)
        declare_bounded_thrust(ph, t, flight, thrust, burning)
        ocp.require(
            ph.final(t) - ph.initial(t), lower=SHORTEST * duration, name=f"length of {ph.name}"
        )
        if before is not None:
            ocp.connect(before, ph)
        before = ph
    for name, condition in used.conditions(ph.final(flight.q), spiral.last).items():
        ocp.require(condition, equals=0, name=name)
    ocp.maximize(ph.final(flight.m))
    return ocp


def _spiral(radius: float, duration: float, inclination: float, plane_change: float) -> Spiral:
    return Spiral(
        radius,
        duration,
        inclination,
        plane_change,
        chosen("min-fuel-transfer", "auto", inclination, plane_change),
    )


def _cuts(burns: tuple[float, ...], duration: float) -> np.ndarray:
    cuts = np.asarray(burns, dtype=float)
    if cuts.size < 2 or cuts.size % 2 or cuts[0] != 0 or np.any(np.diff(cuts) <= 0):
        raise ProblemError(
            "min-fuel-transfer: 'burns'",
            got=burns,
            expected="beginnings and ends of burns in order, the first at 0, the last at the end",
        )
    return cuts * duration / cuts[-1]


def _flown(engine: Engine, spiral: Spiral, cuts: np.ndarray) -> list[tuple[Curve, Curve]]:
    """The arcs of a flight that steers in every burn as the spiral does: motion and direction, in
    normalised time.
    """
    x, e, full = (
        SX.sym("x", len(spiral.motion(0.0)) + 2),
        SX.sym("e", spiral.direction(0.0).size),
        SX.sym("full"),
    )
    q, m, c = x[:-2], x[-2], x[-1]
    rates = vertcat(
        spiral.coordinates.drift(q) + full / m * (spiral.coordinates.steering(q) @ e), -full / c, 0
    )
    rate = casadi.Function("rate", [x, e, full], [rates])
    arcs: list[tuple[Curve, Curve]] = []
    y = np.array([*spiral.motion(0.0), engine.mass, engine.exhaust])
    for k, (start, end) in enumerate(pairwise(cuts)):
        thrust = engine.thrust if k % 2 == 0 else 0.0

        def along(t: float, y: np.ndarray, thrust: float = thrust) -> np.ndarray:
            return np.asarray(rate(y, spiral.direction(t / cuts[-1]), thrust)).ravel()

        found = solve_ivp(along, (start, end), y, rtol=1e-9, atol=1e-9, dense_output=True)
        times = lambda tau, a=start, b=end: a + tau * (b - a)  # noqa: E731
        moved = cache(
            lambda tau, f=found.sol, at=times: f(at(tau))
        )  # every state takes one component of it
        arcs.append((moved, cache(lambda tau, at=times: spiral.direction(at(tau) / cuts[-1]))))
        y = found.y[:, -1]
    return arcs
