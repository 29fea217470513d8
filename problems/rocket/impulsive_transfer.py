"""Two impulses from a low orbit to a high one, in kilometres and seconds: the limit of ever higher
thrust.

The costate of the velocity is the negative primer vector; it has unit length at the impulses and is
shorter between them where they are optimal (Lawden 1963). Equations and sources are in
``README.md``.
"""

from collections.abc import Callable
from math import cos, pi, radians, sin, sqrt

import casadi
import numpy as np
from casadi import norm_2, sumsqr, vertcat

from problems.rocket.central_field import coasting, declare_rotation, gravity, require_positive
from problems.rocket.drawings import ellipse_drawing as drawing  # noqa: F401  # what an animation shows
from problems.rocket.pictures import transfers_with
from trajopt import Problem, Reference, free
from trajopt.parameters import settable, setting

MU = 398600.4418  # km^3/s^2, the Earth's
pictures = transfers_with(MU)

REFERENCE = Reference(
    origin="closed form",
    objective=4.23135459284,
    tolerance=1e-8,
    structure="two impulses at the nodes; most of the plane is turned by the second",
    source="the best split of the turn between the two impulses of a Hohmann transfer, a minimum "
    "over one angle",
)


@settable
def build(
    low=setting(6678.0, "km", "radius of the first circle"),
    high=setting(42164.0, "km", "radius of the final circle"),
    turn=setting(28.5, "deg", "turn of the plane"),
) -> Problem:
    """From a circular orbit to another whose plane is turned by ``turn`` degrees, leaving at the
    line of nodes.

    The cost is the sum of the two changes of velocity in km/s; time and place of arrival are free.
    """
    require_positive("impulsive-transfer", low=low, high=high)
    tilt = radians(turn)
    half = pi * sqrt(((low + high) / 2) ** 3 / MU)  # of the ellipse that touches both circles
    ellipse = _half_ellipse(low, high, tilt / 10)
    leaving = sqrt(MU / low) * np.array([0.0, 1.0, 0.0])
    ocp = Problem("impulsive-transfer")
    ph = ocp.phase()
    ph.time(start=0, end=free(0.5 * half, 2 * half, guess=half), unit="s")
    r = ph.state(
        "r", 3, start=(low, 0, 0), guess=lambda tau: ellipse(tau)[0], unit="km", scale=high
    )
    v = ph.state("v", 3, guess=lambda tau: ellipse(tau)[1], unit="km/s", scale=sqrt(MU / low))
    arriving = -sqrt(MU / high) * np.array([0.0, cos(tilt), sin(tilt)])
    after = ocp.variable("v_after", 3, guess=arriving, scale=sqrt(MU / high), unit="km/s")
    ph.dynamics({r: v, v: gravity(r, MU)})
    rf, normal = ph.final(r) / high, casadi.DM([0.0, -sin(tilt), cos(tilt)])
    speed = after / sqrt(MU / high)
    ocp.require(vertcat(sumsqr(rf), sumsqr(speed)), equals=1, name="final circle")
    ocp.require(casadi.dot(rf, speed), equals=0, name="final velocity across the radius")
    ocp.require(
        vertcat(casadi.dot(normal, rf), casadi.dot(normal, speed)), equals=0, name="final plane"
    )
    ocp.minimize(norm_2(ph.initial(v) - casadi.DM(leaving)) + norm_2(after - ph.final(v)))
    ph.invariant("hamiltonian", coasting(r, v, -ph.costate(r), -ph.costate(v), MU))
    declare_rotation(ph, r, v)
    return ocp


def _half_ellipse(
    low: float, high: float, tilt: float
) -> Callable[[float], tuple[np.ndarray, np.ndarray]]:
    """Position and velocity from perigee to apogee, in normalised time, the plane tilted about the
    line of apsides.
    """
    a, e = (low + high) / 2, abs(high - low) / (high + low)
    sign = 1.0 if high >= low else -1.0  # inwards the motion starts at the apogee
    across = np.array([0.0, cos(tilt), sin(tilt)])
    along = np.array([1.0, 0.0, 0.0])

    def motion(tau: float) -> tuple[np.ndarray, np.ndarray]:
        mean = pi * tau
        E = mean
        for _ in range(50):  # Kepler's equation
            E -= (E - sign * e * sin(E) - mean) / (1 - sign * e * cos(E))
        b = sqrt(1 - e**2)
        rate = sqrt(MU / a) / (1 - sign * e * cos(E))
        r = a * ((cos(E) - sign * e) * along + b * sin(E) * across)
        return r, rate * (b * cos(E) * across - sin(E) * along)

    return motion
