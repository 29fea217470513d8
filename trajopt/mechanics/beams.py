"""Elastic beams in the plane by assumed modes (Euler-Bernoulli, small deflections).

The modes are those of a beam clamped at x = 0 and free at x = l,

    w(x, t) = sum phi_i(x) eta_i(t),    phi_i = cosh - cos - sigma_i (sinh - sin) at beta_i x,

with cosh(beta l) cos(beta l) = -1 (Meirovitch, *Fundamentals of Vibrations*, 8.3). They are
orthogonal, with the integral of phi_i^2 equal to l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
import scipy.optimize

from trajopt.errors import ModelError
from trajopt.mechanics.bodies import rotation
from trajopt.mechanics.lagrange import Coordinate

POINTS = 12  # of the quadrature, beside two for each mode


@dataclass(frozen=True)
class Beam:
    """A uniform beam, clamped at its origin to a frame that moves.

    >>> beam = Beam(length=1.0, mass=1.0, stiffness=1.0, modes=2)
    >>> beam.frequencies.round(4).tolist()  # rad/s, clamped
    [3.516, 22.0345]
    """

    length: float
    mass: float
    stiffness: float  # EI, N m^2
    modes: int = 2

    def __post_init__(self) -> None:
        if not (self.length > 0 and self.mass > 0 and self.stiffness > 0 and self.modes > 0):
            raise ModelError(
                "a beam needs a length, a mass, a stiffness and modes",
                got=(self.length, self.mass, self.stiffness, self.modes),
                expected="positive numbers",
            )

    @cached_property
    def wave_numbers(self) -> np.ndarray:
        """beta_i l, (modes,): the roots of cos + 1/cosh."""
        middles = np.pi * (np.arange(self.modes) + 0.5)
        return np.array(
            [
                scipy.optimize.brentq(lambda z: np.cos(z) + 1 / np.cosh(z), m - 0.5, m + 0.5)
                for m in middles
            ]
        )

    @property
    def frequencies(self) -> np.ndarray:
        """Of the clamped beam (rad/s)."""
        ratio = self.stiffness / (self.mass * self.length**3)
        return np.asarray(self.wave_numbers**2 * np.sqrt(ratio))

    def shapes(self, x: Any) -> np.ndarray:
        """The modes at places (m,) from the clamp, (m, modes)."""
        z = np.outer(np.atleast_1d(x) / self.length, self.wave_numbers)
        b = self.wave_numbers
        sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
        return np.asarray(np.cosh(z) - np.cos(z) - sigma * (np.sinh(z) - np.sin(z)))

    def coordinates(self, name: str, start: Sequence[float] = ()) -> tuple[Coordinate, ...]:
        """The amplitudes eta_i (m)."""
        values = (*start, *(0.0 for _ in range(self.modes - len(start))))
        return tuple(
            Coordinate(f"{name}{k + 1}", value, unit="m") for k, value in enumerate(values)
        )

    def place(self, x: float, eta: casadi.SX, origin: Any, angle: casadi.SX) -> casadi.SX:
        """A point of the bent beam in the ground's axes, (2,)."""
        deflection = casadi.dot(casadi.DM(self.shapes(x)[0]), eta)
        return casadi.SX(origin) + rotation(angle) @ casadi.vertcat(x, deflection)

    def energies(
        self,
        eta: casadi.SX,
        origin: Any,
        angle: casadi.SX,
        motion: tuple[casadi.SX, casadi.SX],
        gravity: Sequence[float] = (0.0, 0.0),
    ) -> tuple[casadi.SX, casadi.SX]:
        """Kinetic and potential energy; ``motion`` are all coordinates and their rates.

        The kinetic energy is integrated along the beam by Gauss' rule. The axial shortening, of
        second order in the deflection, is left out, so that the beam must turn slowly beside its
        first frequency.
        """
        q, v = motion
        nodes, weights = np.polynomial.legendre.leggauss(POINTS + 2 * self.modes)
        x = self.length * (nodes + 1) / 2
        kinetic, potential = casadi.SX(0), casadi.SX(0)
        for place, weight in zip(x, weights / 2, strict=True):
            at = self.place(float(place), eta, origin, angle)
            kinetic += weight * self.mass / 2 * casadi.sumsqr(casadi.jtimes(at, q, v))
            potential -= weight * self.mass * casadi.dot(casadi.DM(gravity), at)
        bending = self.mass / 2 * casadi.dot(casadi.DM(self.frequencies**2), eta**2)
        return kinetic, potential + bending
