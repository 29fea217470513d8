"""Collocation schemes: on one interval, the defect, the quadrature, the interpolant and the order
together.

On an interval of width h with state values X at the support points and rates F at the collocation
points, the defect is P X + h Q F, linear in both, so that one transcription serves every scheme.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from trajopt.arguments import Count, named_settings
from trajopt.errors import UsageError
from trajopt.trajectory.curve import lagrange_basis

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Places:
    """Places on a normalised interval, with the matrices that give the values
    of polynomials there.
    """

    at: Array
    from_nodes: Array  # (places, nodes of the state polynomial)
    from_points: Array  # (places, collocation points)


@dataclass(frozen=True, eq=False)
class Rule:
    """A scheme on one interval, normalised to [0, 1]."""

    degree: int  # of the state polynomial
    support: Array  # where the state has values; begins with 0 and ends with 1
    points: Array  # where the rate is evaluated
    at: NDArray[np.int_]  # the place of each collocation point among the support points
    P: Array  # (defects, support)
    Q: Array  # (defects, points)
    weights: Array  # of the quadrature over the points
    order: int  # of the error at the nodes, for smooth problems

    @property
    def defects(self) -> int:
        return int(self.P.shape[0])

    @cached_property
    def nodes(self) -> Array:
        """The support points that determine the state polynomial: with Gauss, the end value lies on
        that of the others.
        """
        return self.support if self.defects == self.degree else self.support[:-1]

    @cached_property
    def P_entries(self) -> tuple[NDArray[np.int_], NDArray[np.int_], Array]:
        """Rows, columns and values of the nonzeros of P."""
        rows, columns = np.nonzero(self.P)
        return rows, columns, self.P[rows, columns]

    @cached_property
    def own_defects(self) -> tuple[NDArray[np.int_], Array] | None:
        """The defect that the rate at each point enters, and its factor; None if several."""
        if np.any(np.count_nonzero(self.Q, axis=0) != 1):
            return None
        defect = np.argmax(self.Q != 0, axis=0)
        return defect, self.Q[defect, np.arange(self.points.size)]

    @cached_property
    def costate_nodes(self) -> tuple[NDArray[np.int_], Array]:
        """The collocation points inside the interval, and the nodes of the costates' polynomial:
        these and both ends.
        """
        inside = np.flatnonzero((self.points > 0) & (self.points < 1))
        return inside, np.concatenate([[0.0], self.points[inside], [1.0]])

    @cached_property
    def at_ends(self) -> tuple[Array, Array]:
        """The values at 0 and at 1 of the Lagrange polynomials on the collocation points."""
        return lagrange_basis(self.points, np.zeros(1))[0], lagrange_basis(self.points, np.ones(1))[
            0
        ]

    @cached_property
    def between(self) -> Places:
        """Gauss points, two more than collocation points: there no defect was zeroed."""
        return self.places(gauss_quadrature(self.points.size + 2)[0])

    @cached_property
    def gaps(self) -> Places:
        """The start of the interval, and places between collocation points, near them too: there
        controls may exceed limits.
        """
        ends = np.concatenate([[0.0], self.points])
        inside = ends[:-1, None] + np.diff(ends)[:, None] * np.array([1, 4, 7]) / 8
        return self.places(np.append(0.0, inside))

    def places(self, at: Array) -> Places:
        return Places(at, lagrange_basis(self.nodes, at), lagrange_basis(self.points, at))


class Scheme(Protocol):
    """A family of rules, one for each degree."""

    @property
    def name(self) -> str: ...

    @property
    def degree(self) -> int:
        """The degree that a mesh begins with."""
        ...

    @property
    def shares_nodes(self) -> bool:
        """Whether collocation points at the nodes, and the controls there, are shared by
        neighbouring intervals.
        """
        ...

    def rule(self, degree: int) -> Rule: ...


@named_settings
@dataclass(frozen=True)
class Radau:
    """Radau IIA: collocation at the right end and inside; order 2 d - 1. Damps what is stiff."""

    degree: Count = 4
    name: str = "radau"
    shares_nodes: bool = False

    def rule(self, degree: int) -> Rule:
        return _radau(_at_least(degree, 1, "Radau"))


@named_settings
@dataclass(frozen=True)
class Gauss:
    """Gauss-Legendre: collocation inside only; order 2 d, the highest possible."""

    degree: Count = 4
    name: str = "gauss"
    shares_nodes: bool = False

    def rule(self, degree: int) -> Rule:
        return _gauss(_at_least(degree, 1, "Gauss"))


@named_settings
@dataclass(frozen=True)
class Lobatto:
    """Lobatto IIIA: collocation at both ends and inside, controls continuous.

    The cost converges with order 2 d; sharing the controls at the nodes holds states and costates
    to order 4.
    """

    degree: Count = 3
    name: str = "lobatto"
    shares_nodes: bool = True

    def rule(self, degree: int) -> Rule:
        return _lobatto(_at_least(degree, 1, "Lobatto"))


@named_settings
@dataclass(frozen=True)
class Trapezoidal:
    """The trapezoidal rule; order 2."""

    degree: int = 1
    name: str = "trapezoidal"
    shares_nodes: bool = True

    def rule(self, degree: int) -> Rule:
        return _lobatto(1)  # the degree is the scheme's own; only widths can be refined


@named_settings
@dataclass(frozen=True)
class HermiteSimpson:
    """Hermite-Simpson: Lobatto IIIA with a midpoint; order 4."""

    degree: int = 2
    name: str = "hermite-simpson"
    shares_nodes: bool = True

    def rule(self, degree: int) -> Rule:
        return _lobatto(2)


def can_raise_degree(scheme: Scheme) -> bool:
    return scheme.rule(scheme.degree + 1).degree > scheme.rule(scheme.degree).degree


@lru_cache(maxsize=64)
def _radau(d: int) -> Rule:
    # Roots of P_d - P_(d-1) on [-1, 1] contain the right end; they are the mirrored left Radau
    # points.
    series = np.zeros(d + 1)
    series[d], series[d - 1] = 1.0, -1.0
    x = np.sort(legendre.legroots(series).real)
    for _ in range(3):  # Newton brings the eigenvalue roots to round-off
        x = x - legendre.legval(x, series) / legendre.legval(x, legendre.legder(series))
    points = (x + 1) / 2
    points[-1] = 1.0
    support = np.concatenate([[0.0], points])
    return Rule(
        d,
        support,
        points,
        np.arange(1, d + 1),
        lagrange_basis(support, points, 1),
        -np.eye(d),
        integration_matrix(points, np.ones(1))[0],
        2 * d - 1,
    )


@lru_cache(maxsize=64)
def _gauss(d: int) -> Rule:
    points = (legendre.leggauss(d)[0] + 1) / 2
    inner = np.concatenate([[0.0], points])
    P = np.zeros((d + 1, d + 2))
    P[:d, : d + 1] = lagrange_basis(inner, points, 1)
    P[d, : d + 1] = -lagrange_basis(inner, np.ones(1))[0]  # the end value continues the polynomial
    P[d, d + 1] = 1.0
    Q = np.vstack([-np.eye(d), np.zeros((1, d))])
    return Rule(
        d,
        np.concatenate([inner, [1.0]]),
        points,
        np.arange(1, d + 1),
        P,
        Q,
        integration_matrix(points, np.ones(1))[0],
        2 * d,
    )


@lru_cache(maxsize=64)
def _lobatto(d: int) -> Rule:
    inner = legendre.legroots(legendre.legder(np.eye(d + 1)[d])).real if d > 1 else np.zeros(0)
    points = (np.concatenate([[-1.0], np.sort(inner), [1.0]]) + 1) / 2
    A = integration_matrix(points, points)
    P = np.hstack([-np.ones((d, 1)), np.eye(d)])
    return Rule(d, points, points, np.arange(d + 1), P, -A[1:], A[-1].copy(), 2 * d)


def integration_matrix(nodes: Array, ends: Array) -> Array:
    """(m, n): integrals from 0 to each end of the Lagrange polynomials on the nodes."""
    x, w = legendre.leggauss(len(nodes) // 2 + 1)
    x, w = (x + 1) / 2, w / 2
    return np.stack([(e * w) @ lagrange_basis(nodes, e * x) for e in ends])


@lru_cache(maxsize=64)
def gauss_quadrature(count: int) -> tuple[Array, Array, Array]:
    """Gauss points and weights on [0, 1], and the integrals from 0 to each point and to 1."""
    nodes, weights = legendre.leggauss(count)
    at = (nodes + 1) / 2
    return at, weights / 2, integration_matrix(at, np.append(at, 1.0))


def _at_least(degree: int, least: int, name: str) -> int:
    if int(degree) != degree or degree < least:
        raise UsageError(
            f"degree of the {name} scheme",
            got=degree,
            expected=f"a whole number of at least {least}",
        )
    return int(degree)
