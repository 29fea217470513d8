"""From rest on the Moon into a circular orbit with the least fuel: a vertical rise, then two burns
along the primer vector.

Kilometres, seconds and kilograms. The Moon has no air, so that the field is central and the first
integrals of bounded thrust hold. Equations and sources are in ``README.md``.
"""

from math import cos, exp, pi, sin, sqrt

import numpy as np
from casadi import SX

from problems.rocket.central_field import require_positive
from problems.rocket.coordinates import OrbitPoint, Polar
from problems.rocket.drawings import ascent_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import transfers_with
from problems.rocket.thrust import Ends, coast, declare_bounded_thrust, push, states
from trajopt import Problem, Reference, free
from trajopt.errors import ProblemError
from trajopt.parameters import settable, setting
from trajopt.statement.problem import Phase

MU = 4902.800  # km^3/s^2, the Moon's
pictures = transfers_with(MU)
SURFACE = 1737.4  # km
RISING = ("r", "vr", "m", "c")  # the states that a vertical rise moves
UNITS = {"r": "km", "theta": "rad", "vr": "km/s", "vt": "km/s", "m": "kg", "c": "km/s"}

REFERENCE = Reference(
    origin="own",
    objective=2574.07633885,
    tolerance=1e-8,
    structure="rise, burn to 412.8 s, coast of half a revolution to 3834.6 s, burn of 3.6 s",
    source="collocation and shooting agree",
)


@settable
def build(
    thrust=setting(15.57, "kN", "thrust"),
    exhaust=setting(3.05, "km/s", "exhaust speed"),
    mass=setting(4700.0, "kg", "mass at lift-off"),
    altitude=setting(100.0, "km", "altitude of the final orbit"),
    perilune=setting(5.0, "km", "lowest altitude between the burns"),
    rise=setting(10.0, "s", "vertical rise at first"),
) -> Problem:
    """Rise vertically for ``rise`` seconds, then steer freely, into a circular orbit at
    ``altitude`` with the most mass left.

    The ellipse between the burns has its lowest point at the altitude ``perilune``: the cheapest
    way would lead through the ground. ``thrust`` is in kN, ``exhaust`` in km/s, ``mass`` in kg,
    altitudes in km; the defaults are about those of Apollo's lunar module.
    """
    require_positive(
        "ascent",
        thrust=thrust,
        exhaust=exhaust,
        mass=mass,
        altitude=altitude,
        perilune=perilune,
        rise=rise,
    )
    if not perilune < altitude:
        raise ProblemError(
            "ascent: 'perilune'",
            got=f"{perilune} km",
            expected=f"less than the altitude, {altitude} km",
        )
    if not thrust / mass > MU / SURFACE**2:
        raise ProblemError(
            "ascent: 'thrust'",
            got=f"{thrust} kN",
            expected=f"more than the weight, {mass * MU / SURFACE**2:.4g} kN",
        )
    used, goal = Polar(MU), OrbitPoint(SURFACE + altitude)
    t, corners = _corners(thrust, exhaust, mass, (perilune, altitude), rise)
    ocp = Problem("ascent")
    before = _rise(ocp, thrust, corners[:2], rise)
    first = [None, 0.0, None, 0.0, None, None]  # theta and vt, which the rise leaves at zero
    for k, name in enumerate(("burn", "coast", "insertion"), 1):
        ph = ocp.phase(name)
        latest = t[k] + 3 * (t[k + 1] - t[k]) + 100.0
        time = ph.time(end=free(0, latest, guess=t[k + 1]), unit="s")
        ends = Ends(
            first if name == "burn" else None,
            [*used.arrival(goal), None, None] if name == "insertion" else None,
        )
        flight = states(
            ph, used, ends, lambda tau, k=k: (1 - tau) * corners[k] + tau * corners[k + 1], UNITS
        )
        if name == "coast":
            coast(ph, flight)
        else:
            push(ph, flight, thrust, _direction if name == "burn" else (0.0, 1.0))
        declare_bounded_thrust(ph, time, flight, thrust, burning=name != "coast")
        ocp.connect(before, ph, states=RISING if name == "burn" else None)
        if name == "burn":
            lowest = _turning_at(SURFACE + perilune, *(ph.final(state) for state in flight.motion))
            ocp.require(lowest, equals=0, name="perilune")
        before = ph
    ocp.maximize(ph.final(flight.m))
    return ocp


def _rise(ocp: Problem, thrust: float, corners: np.ndarray, until: float) -> Phase:
    """The vertical rise: without theta and vt, and without a choice; H and the scaling integral
    hold here too.
    """
    ph = ocp.phase("rise")
    t = ph.time(start=0, end=until, unit="s")
    rows = [("r", "theta", "vr", "vt", "m", "c").index(name) for name in RISING]
    first, last = corners[:, rows]
    r, v, m, c = (
        ph.state(name, start=a, guess=lambda tau, a=a, b=b: a + tau * (b - a), unit=UNITS[name])
        for name, a, b in zip(RISING, first, last, strict=True)
    )
    rates = {r: v, v: thrust / m - MU / r**2, m: -thrust / c, c: 0}
    ph.dynamics(rates)
    lam = {state: -ph.costate(state) for state in rates}
    H = sum(lam[state] * rate for state, rate in rates.items())
    ph.invariant("hamiltonian", H)
    ph.invariant("scaling", lam[v] * v - 2 * r * lam[r] + 3 * H * t - 4 * lam[m] * m + lam[c] * c)
    return ph


def _turning_at(radius: float, r: SX, theta: SX, vr: SX, vt: SX) -> SX:
    """What is left of the radial energy at a radius: zero where the orbit has its lowest (or
    highest) point there.
    """
    return (
        (vr**2 + vt**2 * (1 - (r / radius) ** 2)) * SURFACE / (2 * MU)
        + SURFACE / radius
        - SURFACE / r
    )


def _corners(
    thrust: float, exhaust: float, mass: float, altitudes: tuple[float, float], rise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Times (5,) and states (5, 6) where phases meet, of a flight over a low ellipse to its highest
    point: a place to begin.
    """
    (low, high), flow = (SURFACE + altitude for altitude in altitudes), thrust / exhaust
    a = (low + high) / 2
    leaving, reaching, circular = (
        sqrt(MU * (2 / low - 1 / a)),
        sqrt(MU * (2 / high - 1 / a)),
        sqrt(MU / high),
    )
    masses = [mass, mass - flow * rise]
    masses.append(masses[1] * exp(-1.1 * leaving / exhaust))  # a tenth is lost to gravity
    masses += [masses[2], masses[2] * exp(-(circular - reaching) / exhaust)]
    burn, insertion = (masses[1] - masses[2]) / flow, (masses[3] - masses[4]) / flow
    t = np.cumsum([0.0, rise, burn, pi * sqrt(a**3 / MU), insertion])
    up, turned = (thrust / mass - MU / SURFACE**2) * rise, leaving * burn / (2 * SURFACE)
    motion = [
        (SURFACE, 0.0, 0.0, 0.0),
        (SURFACE + up * rise / 2, 0.0, up, 0.0),
        (low, turned, 0.0, leaving),
        (high, turned + pi, 0.0, reaching),
        (high, turned + pi, 0.0, circular),
    ]
    return t, np.array([[*q, m, exhaust] for q, m in zip(motion, masses, strict=True)])


def _direction(tau: float) -> tuple[float, float]:
    """Of the first burn, to begin from: from 45 degrees above the horizontal down to it."""
    return sin(pi / 4 * (1 - tau)), cos(pi / 4 * (1 - tau))
