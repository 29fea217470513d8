"""A rocket in a central field: circles to leave and to reach, shapes to begin from, first integrals
of its Pontryagin flow.

mu is 1 where nothing else is said; equations, derivations and sources are in ``README.md``. The
integrals are written with multipliers of the maximum principle, the negatives of the costates of H
= L + costate . f minimized.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, sin
from typing import Any

import casadi
import numpy as np
from casadi import SX, dot, norm_2, sumsqr, vertcat
from scipy.interpolate import CubicSpline

from trajopt import Problem
from trajopt.errors import ProblemError
from trajopt.statement.problem import Phase

Curve = Callable[[float], np.ndarray]  # of normalised time 0..1

X_AXIS = np.array([1.0, 0.0, 0.0])


def gravity(r: SX, mu: float = 1.0) -> SX:
    """The acceleration -mu r/r^3."""
    return -mu * r / norm_2(r) ** 3


# Orbits
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Circles:
    """The circle of departure, r = 1, and the circle of arrival, whose planes contain the x axis.

    The plane of departure is tilted about it by ``inclination``, that of arrival further by
    ``plane_change`` (rad). Without tilt all is planar.
    """

    radius: float
    inclination: float = 0.0
    plane_change: float = 0.0

    @property
    def dimension(self) -> int:
        return 3 if self.inclination or self.plane_change else 2

    def departure(self) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity at the start."""
        return X_AXIS[: self.dimension], _across(self.inclination)[: self.dimension]

    def arrive(self, ocp: Problem, ph: Phase, r: Any, v: Any) -> None:
        """Require the circle of arrival at the end of a phase, the place on it free."""
        rf, vf = ph.final(r), ph.final(v)
        ocp.require(sumsqr(rf), equals=self.radius**2, name="final radius")
        ocp.require(sumsqr(vf), equals=1 / self.radius, name="final speed")
        ocp.require(dot(rf, vf), equals=0, name="final velocity across the radius")
        if self.dimension == 3:
            tilt = self.inclination + self.plane_change
            normal = casadi.DM([0.0, -sin(tilt), cos(tilt)])
            ocp.require(vertcat(dot(normal, rf), dot(normal, vf)), equals=0, name="final plane")

    def shape(self, duration: float) -> "Shape":
        """A motion from one circle to the other: radius and plane change smoothly, the angle at the
        rate of a circular orbit.
        """
        tau = np.linspace(0.0, 1.0, 40 * max(10, round(duration)) + 1)
        step = tau**3 * (
            10 - 15 * tau + 6 * tau**2
        )  # at rest, and without acceleration, at both ends
        radius = 1 + (self.radius - 1) * step
        angle = CubicSpline(tau, duration * radius**-1.5).antiderivative()(tau)
        across = np.array([_across(self.inclination + self.plane_change * s) for s in step])
        r = radius[:, None] * (np.cos(angle)[:, None] * X_AXIS + np.sin(angle)[:, None] * across)
        return shape_of(tau * duration, r[:, : self.dimension])


def _across(tilt: float) -> np.ndarray:
    return np.array([0.0, cos(tilt), sin(tilt)])


@dataclass(frozen=True)
class Shape:
    """A motion with the thrust acceleration that it takes, as functions of normalised time: what a
    solve can begin from.
    """

    r: Curve
    v: Curve
    u: Curve
    effort: Curve  # half the integral of the squared thrust acceleration so far

    @property
    def size(self) -> float:
        """A typical thrust acceleration."""
        return float(max(np.abs(self.u(tau)).max() for tau in np.linspace(0, 1, 50)))


def shape_of(t: np.ndarray, r: np.ndarray, mu: float = 1.0) -> Shape:
    """Times (k,) and positions (k, n) completed by velocity, thrust and effort."""
    path, length = CubicSpline(t, r), t[-1] - t[0]
    velocity, acceleration = path.derivative(), path.derivative(2)

    def thrust(time: Any) -> Any:
        place = path(time)
        return acceleration(time) + mu * place / np.linalg.norm(place, axis=-1, keepdims=True) ** 3

    effort = CubicSpline(t, np.sum(thrust(t) ** 2, axis=1) / 2).antiderivative()
    return Shape(
        *(lambda tau, f=f: f(t[0] + tau * length) for f in (path, velocity, thrust, effort))
    )


# First integrals
# --------------------------------------------------------------------------------------------------


def rotation(r: SX, v: SX, lam_r: SX, lam_v: SX) -> SX:
    """r x lam_r + v x lam_v, which the symmetry of a central field keeps; a number in the plane."""
    if r.numel() == 3:
        return casadi.cross(r, lam_r) + casadi.cross(v, lam_v)
    return r[0] * lam_r[1] - r[1] * lam_r[0] + v[0] * lam_v[1] - v[1] * lam_v[0]


def coasting(r: SX, v: SX, lam_r: SX, lam_v: SX, mu: float = 1.0) -> SX:
    """The part of the Hamiltonian that does not depend on the engine: lam_r . v +
    lam_v . gravity.
    """
    return dot(lam_r, v) + dot(lam_v, gravity(r, mu))


def scaling(r: SX, v: SX, lam_r: SX, lam_v: SX) -> SX:
    """lam_v . v - 2 r . lam_r: what the similarity of Kepler orbits (r ~ k^2, v ~ 1/k, t ~ k^3)
    would keep without an engine.
    """
    return dot(lam_v, v) - 2 * dot(r, lam_r)


def declare_limited_power(
    ph: Phase, t: Any, states: tuple[Any, Any, Any], power: float, mass: float, mu: float = 1.0
) -> None:
    """Lawden's integrals g1 = H, g2, the vector and b of a power-limited rocket with free exhaust
    speed.

    The integral of the squared primer vector in g2 is known from the mass: (P/b)^2 int |lam_v|^2 dt
    = 2 P (1/m - 1/m0).
    """
    r, v, m = states
    lam_r, lam_v, lam_m = -ph.costate(r), -ph.costate(v), -ph.costate(m)
    b = lam_m * m**2
    g1 = coasting(r, v, lam_r, lam_v, mu) + power / (2 * b) * sumsqr(lam_v)
    ph.invariant("g1", g1)
    ph.invariant("g2", scaling(r, v, lam_r, lam_v) - 5 * b * (1 / m - 1 / mass) + 3 * g1 * t)
    declare_rotation(ph, r, v)
    ph.invariant("b", b)


def declare_rotation(ph: Phase, r: Any, v: Any) -> None:
    """The vector integral, component by component; "rotation" in the plane."""
    vector = rotation(r, v, -ph.costate(r), -ph.costate(v))
    for axis, component in zip(
        (" x", " y", " z") if r.numel() == 3 else ("",), casadi.vertsplit(vector), strict=True
    ):
        ph.invariant(f"rotation{axis}", component)


def require_positive(problem: str, **values: float) -> None:
    """Complain of an argument that must be positive and is not."""
    for name, value in values.items():
        if not value > 0:
            raise ProblemError(f"{problem}: '{name}'", got=value, expected="a positive number")
