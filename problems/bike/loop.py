"""The equations of a rider who holds the handlebar, in absolute angular rates: sums of sines and
cosines with constant factors.

Every mass centre is ``axle + R(beta) (v + sum c_j E_j)``: a point v of the bicycle and multiples of
the links' directions E_j, seen from the bicycle. So the mass matrix of absolute rates W_j has
entries ``K_ij E_i . E_j`` with constants K, and without accelerations ``-K_ij E'_i . E_j W_j^2`` is
left. The loop is closed afterwards: upper arm and forearm follow from the other links, and so do
their rates. The same equations from Jacobians of all mass centres have twice as many operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from casadi import SX, cos, sin

from trajopt.parameters import setting_field

Point = tuple[float, float]


@dataclass(frozen=True)
class Limb:
    """A link of the rider; its mass centre is in its middle.

    Mass and inertia may be symbols of a problem.
    """

    length: float = setting_field(0.5, "m", "length", 0.1, 1.5)
    mass: Any = setting_field(10.0, "kg", "mass", 0.1, 100)
    inertia: Any = setting_field(0.2, "kg m^2", "moment of inertia about the middle", 1e-3, 20)


def total(factors: Any, masses: Sequence[Any]) -> Any:
    """The sum of factors times masses, which may be symbols."""
    return sum((float(f) * mass for f, mass in zip(factors, masses, strict=True) if f), 0.0)


def turned(beta: Any, point: Any) -> Any:
    """A vector of the bicycle's axes in the ground's axes."""
    return casadi.vertcat(
        point[0] * cos(beta) - point[1] * sin(beta), point[0] * sin(beta) + point[1] * cos(beta)
    )


def quarter(vector: Any) -> Any:
    """A vector turned by 90 deg counter-clockwise."""
    return casadi.vertcat(-vector[1], vector[0])


@dataclass(frozen=True, eq=False)
class Loop:
    """Links from a point of the bicycle to the shoulder, and two arms from there to the handlebar.

    ``directions`` are those of the links, counter-clockwise from the bicycle's axis, linear in the
    ``shape``; ``arms`` are the unit vectors along upper arm and forearm, expressions of the shape.
    """

    frame: tuple[float, float, Point]  # mass, inertia and mass centre of the bicycle
    root: Point  # where the first link begins
    hand: Point
    links: tuple[Limb, ...]
    arm_links: tuple[Limb, Limb]
    shape: SX
    directions: tuple[SX, ...]
    arms: tuple[SX, SX]

    @cached_property
    def units(self) -> list[SX]:
        """The unit vectors along all links, the arms last."""
        return [*(casadi.vertcat(cos(a), sin(a)) for a in self.directions), *self.arms]

    @cached_property
    def weights(self) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """Of the frame and each link: mass; its point v of the bicycle; its factors c_j of the
        links' directions.
        """
        n = len(self.links)
        lengths = [link.length for link in (*self.links, *self.arm_links)]
        points, factors = [self.frame[2]], [np.zeros(n + 2)]
        for k in range(n):
            points.append(self.root)
            factors.append(np.array([*lengths[:k], lengths[k] / 2, *np.zeros(n + 1 - k)]))
        # The arms are counted back from the hand.
        for upper, fore in ((-lengths[n] / 2, -lengths[n + 1]), (0.0, -lengths[n + 1] / 2)):
            points.append(self.hand)
            factors.append(np.array([*np.zeros(n), upper, fore]))
        masses = [self.frame[0], *(link.mass for link in (*self.links, *self.arm_links))]
        return masses, np.array(points), np.array(factors)

    @cached_property
    def mass(self) -> Any:
        return sum(self.weights[0])

    @cached_property
    def moments(self) -> list[SX]:
        """Mass times lever of the bicycle and of each link: what couples their rates to the axle,
        (2,) each.
        """
        m, v, c = self.weights
        levers = [total(column, m) * E for column, E in zip(c.T, self.units, strict=True)]
        return [casadi.vertcat(total(v[:, 0], m), total(v[:, 1], m)), *levers]

    @cached_property
    def couplings(self) -> list[list[Any]]:
        """Mass matrix of the absolute rates (beta', W_j), rows and columns; the scalar products
        K_ij E_i . E_j.
        """
        return self._products(lambda first, second: casadi.dot(first, second), diagonal=True)

    @cached_property
    def swings(self) -> list[list[Any]]:
        """K_ij quarter(E_i) .

        E_j: row i times the squared rates is minus the force that turning costs.
        """
        return self._products(
            lambda first, second: casadi.dot(quarter(first), second), diagonal=False
        )

    def _products(self, product: Any, diagonal: bool) -> list[list[Any]]:
        m, v, c = self.weights
        n = len(self.units) + 1
        K = [[total(first * second, m) for second in c.T] for first in c.T]
        inertias = [self.frame[1], *(link.inertia for link in (*self.links, *self.arm_links))]
        own = [total((v**2).sum(axis=1), m), *(K[j][j] for j in range(n - 1))]
        found: list[list[Any]] = [[0.0] * n for _ in range(n)]
        for i in range(n):
            found[i][i] = own[i] + inertias[i] if diagonal else 0.0
        for j, E in enumerate(self.units, start=1):
            V = casadi.vertcat(*[total(c[:, j - 1] * v[:, axis], m) for axis in range(2)])
            found[0][j], found[j][0] = product(V, E), product(E, V)
            for i, D in enumerate(self.units, start=1):
                if i != j and np.any(c[:, i - 1] * c[:, j - 1]):
                    found[i][j] = K[i - 1][j - 1] * product(D, E)
        return found

    @cached_property
    def slopes(self) -> SX:
        """Rates of all directions, arms last, by the rates of the shape, (n + 2, shape)."""
        chain = casadi.jacobian(casadi.vertcat(*self.directions), self.shape)  # constant
        return casadi.vertcat(chain, self._closed(lambda j, E: quarter(E), chain))

    def _closed(self, vector: Any, columns: Any) -> SX:
        """The arms' share, (2, ...), of the closure ``sum l_j vector_j columns_j = 0`` over all
        links.
        """
        lengths = [link.length for link in self.links]
        upper, fore = self.arms
        total = sum(
            (
                l * vector(j, E) @ columns[j, :]
                for j, (l, E) in enumerate(zip(lengths, self.units, strict=False))
            ),
            SX(0),
        )
        sine = casadi.dot(quarter(upper), fore)  # of the elbow: a straight arm is a dead centre
        return casadi.vertcat(
            -(fore.T @ total) / (self.arm_links[0].length * sine),
            (upper.T @ total) / (self.arm_links[1].length * sine),
        )

    def drift(self, rates: SX) -> SX:
        """Accelerations of all directions, (n + 2,), that are there without any acceleration of the
        shape.
        """
        turning = self.slopes @ rates
        lengths = [link.length for link in (*self.links, *self.arm_links)]
        # sum l_j (quarter(E_j) a_j - E_j w_j^2) = 0, solved for the arms' a.
        bend = sum(
            (
                l * E * turning[j] ** 2
                for j, (l, E) in enumerate(zip(lengths, self.units, strict=True))
            ),
            SX.zeros(2, 1),
        )
        upper, fore = self.arms
        sine = casadi.dot(quarter(upper), fore)
        arms = casadi.vertcat(
            casadi.dot(fore, bend) / (self.arm_links[0].length * sine),
            -casadi.dot(upper, bend) / (self.arm_links[1].length * sine),
        )
        return casadi.vertcat(SX.zeros(len(self.links)), arms)


def _column(values: Sequence[Any]) -> SX:
    return casadi.vertcat(*values)


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """The equations of a loop whose bicycle moves freely, in (x, y, beta, shape): M a + bias, and
    the momentum's change.
    """

    loop: Loop
    beta: SX
    rates: SX  # (x', y', beta', s')

    @cached_property
    def absolute(self) -> SX:
        """Absolute rates of the bicycle and all links by (beta', s'): each turns with the bicycle,
        and by itself.
        """
        slopes = self.loop.slopes
        whole = casadi.horzcat(SX.ones(slopes.shape[0], 1), slopes)
        return casadi.vertcat(casadi.horzcat(SX.ones(1), SX(1, slopes.shape[1])), whole)

    @cached_property
    def lifts(self) -> SX:
        """Momentum in the ground's axes by the absolute rates, (2, n)."""
        return casadi.horzcat(*[turned(self.beta, quarter(s)) for s in self.loop.moments])

    @cached_property
    def _coupled(self) -> tuple[SX, SX]:
        """Mass matrix of the absolute rates, and the drift of their accelerations."""
        couplings = casadi.vertcat(*[casadi.horzcat(*row) for row in self.loop.couplings])
        return couplings, casadi.vertcat(0, self.loop.drift(self.rates[3:]))

    @cached_property
    def _squares(self) -> SX:
        return (self.absolute @ self.rates[2:]) ** 2

    @cached_property
    def mass_matrix(self) -> SX:
        N, (couplings, _) = self.absolute, self._coupled
        across = self.lifts @ N
        turning = N.T @ (couplings @ N)
        return casadi.blockcat([[self.loop.mass * SX.eye(2), across], [across.T, turning]])

    def bias(self, gravity: float) -> SX:
        couplings, drift = self._coupled
        weight = gravity * turned(-self.beta, casadi.vertcat(0, 1))
        swings = casadi.vertcat(*[casadi.horzcat(*row) for row in self.loop.swings])
        lift = _column([casadi.dot(quarter(s), weight) for s in self.loop.moments])
        turning = couplings @ drift - swings @ self._squares + lift
        return casadi.vertcat(
            self._swept(drift) + casadi.vertcat(0, self.loop.mass * gravity),
            self.absolute.T @ turning,
        )

    def _swept(self, drift: SX) -> SX:
        """The momentum's change, in the ground's axes, without any acceleration
        of the coordinates.
        """
        pulls = sum((s * self._squares[j] for j, s in enumerate(self.loop.moments)), SX.zeros(2, 1))
        return self.lifts @ drift - turned(self.beta, pulls)

    def push(self, accelerations: Any, gravity: float) -> SX:
        """The force (2,), in the ground's axes, that moves the parts as they move, beyond their
        weight.
        """
        _, drift = self._coupled
        own = self.loop.mass * (accelerations[:2] + casadi.vertcat(0, gravity))
        return own + self.lifts @ (self.absolute @ accelerations[2:]) + self._swept(drift)
