"""From the Earth to Mars with limited power and free exhaust speed, in astronomical units and days.

Equations and sources are in ``README.md``. The orbits are circles in one plane, or the mean orbital
elements of the planets.
"""

from dataclasses import dataclass, replace
from math import cos, pi, radians, sin, sqrt
from typing import Any

import casadi
import numpy as np
from casadi import sumsqr
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import brentq

from problems.rocket.central_field import (
    Shape,
    declare_limited_power,
    gravity,
    require_positive,
    shape_of,
)
from problems.rocket.drawings import voyage_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import transfers_with
from trajopt import Problem, Reference
from trajopt.parameters import settable, setting

REFERENCE = Reference(
    origin="own", objective=1.47997192448, tolerance=1e-8, source="collocation and shooting agree"
)

MU = 0.01720209895**2  # AU^3/day^2, the Sun's by Gauss' constant
pictures = transfers_with(MU)
METRES, SECONDS = 1.495978707e11, 86400.0  # of an astronomical unit and a day
MILLIMETRES = 1e-3 * SECONDS**2 / METRES  # AU/day^2 of a mm/s^2
WATTS = SECONDS**3 / METRES**2  # AU^2/day^3 of a W/kg


@dataclass(frozen=True)
class Elements:
    """Keplerian elements at J2000: AU and degrees; mean longitude, longitude of perihelion,
    ascending node.
    """

    a: float
    e: float
    inclination: float
    longitude: float
    perihelion: float
    node: float

    @property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Unit vectors towards the perihelion and, in the orbit's plane, a quarter turn ahead of
        it.
        """
        i, w, node = (
            radians(self.inclination),
            radians(self.perihelion - self.node),
            radians(self.node),
        )
        to_node = np.array([cos(node), sin(node), 0.0])
        ahead = np.array([-sin(node) * cos(i), cos(node) * cos(i), sin(i)])
        return cos(w) * to_node + sin(w) * ahead, cos(w) * ahead - sin(w) * to_node

    def at(self, anomaly: Any) -> tuple[Any, Any]:
        """Position and velocity at an eccentric anomaly, in AU and AU/day; a number or a symbol."""
        P, Q = (casadi.DM(axis) for axis in self.axes)
        c, s, b = casadi.cos(anomaly), casadi.sin(anomaly), sqrt(1 - self.e**2)
        rate = sqrt(MU / self.a) / (1 - self.e * c)
        return self.a * ((c - self.e) * P + b * s * Q), rate * (b * c * Q - s * P)

    def anomaly(self, day: float) -> float:
        """The eccentric anomaly, in days after J2000."""
        mean = radians(self.longitude - self.perihelion) + sqrt(MU / self.a**3) * day
        return float(brentq(lambda E: E - self.e * sin(E) - mean, mean - 1, mean + 1, xtol=1e-14))

    def circle(self) -> "Elements":
        """The circle of the same size and mean longitude in the ecliptic."""
        return replace(self, e=0.0, inclination=0.0, perihelion=0.0, node=0.0)


# E. M. Standish, Keplerian elements for approximate positions of the major planets (JPL), table 1,
# without their slow changes.
EARTH = Elements(1.00000261, 0.01671123, -0.00001531, 100.46457166, 102.93768193, 0.0)
MARS = Elements(1.52371034, 0.09339410, 1.84969142, -4.55343205, -23.94362959, 49.55953891)


@settable
def build(
    departure=setting(7500.0, "day", "departure, days after J2000"),
    duration=setting(350.0, "day", "time of flight"),
    orbits=setting(
        "elements",
        "",
        "planets on their ellipses, or on circles in the ecliptic",
        choices=("elements", "circles"),
    ),
    arrival=setting(
        "rendezvous", "", "with Mars, or anywhere on its orbit", choices=("rendezvous", "orbit")
    ),
    power=setting(10.0, "W/kg", "power per kg of initial mass"),
) -> Problem:
    """Leave the Earth's orbit with its velocity and arrive with that of Mars.

    ``departure`` is in days after J2000 (7500: July 2020), ``duration`` in days; ``orbits`` are
    "elements" or "circles"; the ``arrival`` is a "rendezvous" with Mars or anywhere on its "orbit".
    The ``power`` is in W per kg of initial mass, and the cost, half the integral of the squared
    thrust acceleration in W/kg, says what it takes of the mass: 1/m = 1 + cost/power.
    """
    require_positive("earth-mars", duration=duration, power=power)
    home, target = (EARTH, MARS) if orbits == "elements" else (EARTH.circle(), MARS.circle())
    n = 3 if orbits == "elements" else 2
    r0, v0 = (np.asarray(a).ravel()[:n] for a in home.at(home.anomaly(departure)))
    reached = target.anomaly(departure + duration)
    shape = _shape(home.at(home.anomaly(departure)), target, reached, duration, arrival == "orbit")
    ocp = Problem("earth-mars")
    ph = ocp.phase()
    t = ph.time(start=0, end=duration, unit="day")
    r = ph.state("r", n, start=r0, guess=lambda tau: shape.r(tau)[:n], unit="AU")
    v = ph.state("v", n, start=v0, guess=lambda tau: shape.v(tau)[:n], unit="AU/day")
    m = ph.state(
        "m", start=1, lower=0.001, guess=lambda tau: 1 / (1 + shape.effort(tau) / (power * WATTS))
    )
    u = ph.control(
        "u",
        n,
        guess=lambda tau: shape.u(tau)[:n] / MILLIMETRES,
        scale=shape.size / MILLIMETRES,
        unit="mm/s^2",
    )
    a = MILLIMETRES * u
    ph.dynamics({r: v, v: gravity(r, MU) + a, m: -(m**2) * sumsqr(a) / (2 * power * WATTS)})
    anomaly = (
        reached
        if arrival == "rendezvous"
        else ocp.variable("anomaly", guess=_nearest(target, shape), unit="rad")
    )
    for name, value, goal, size in zip(
        ("position", "velocity"), (r, v), target.at(anomaly), (1.0, sqrt(MU)), strict=True
    ):
        ocp.require((ph.final(value) - goal[:n]) / size, equals=0, name=f"{name} on arrival")
    ocp.minimize(power * (1 / ph.final(m) - 1))
    declare_limited_power(ph, t, (r, v, m), power * WATTS, 1.0, MU)
    return ocp


def _shape(
    start: tuple[Any, Any], target: Elements, reached: float, duration: float, anywhere: bool
) -> Shape:
    """A motion in cylindrical coordinates, cubic between its ends, with the number of turns that
    suits the orbits' own rates.

    An arrival ``anywhere`` is guessed where the mean of the angular rates leads.
    """
    first = _cylindrical(*start)
    last = _cylindrical(*target.at(reached))
    natural = first[0, 1] + duration * (first[1, 1] + last[1, 1]) / 2
    if anywhere:
        last = _cylindrical(*target.at(reached + natural - last[0, 1]))
    last[0, 1] += 2 * pi * round((natural - last[0, 1]) / (2 * pi))
    t = np.linspace(0.0, duration, 40 * max(10, round(duration / 60)) + 1)
    path = CubicHermiteSpline(
        [0.0, duration], np.stack([first[0], last[0]]), np.stack([first[1], last[1]])
    )(t)
    return shape_of(
        t,
        np.column_stack(
            [path[:, 0] * np.cos(path[:, 1]), path[:, 0] * np.sin(path[:, 1]), path[:, 2]]
        ),
        MU,
    )


def _cylindrical(r: Any, v: Any) -> np.ndarray:
    """Distance from the axis, angle and height, and their rates: (2, 3)."""
    (x, y, z), (vx, vy, vz) = np.asarray(r).ravel(), np.asarray(v).ravel()
    rho = np.hypot(x, y)
    return np.array(
        [[rho, np.arctan2(y, x), z], [(x * vx + y * vy) / rho, (x * vy - y * vx) / rho**2, vz]]
    )


def _nearest(target: Elements, shape: Shape) -> float:
    """The anomaly at which the orbit comes closest to the end of a motion."""
    anomalies = np.linspace(0, 2 * pi, 721)
    return float(
        min(
            anomalies,
            key=lambda E: float(np.linalg.norm(np.asarray(target.at(E)[0]).ravel() - shape.r(1.0))),
        )
    )
