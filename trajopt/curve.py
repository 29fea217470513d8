"""Curve: a vector function of time, piecewise polynomial, as every trajectory, control and costate is kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.errors import UsageError, suggest
from trajopt.labels import component_labels

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Piecewise polynomial in time, through values at normalised nodes of each piece.

    Parameters
    ----------
    breaks : (n + 1,) array
        Where the pieces begin and end.
    nodes : n arrays
        For each piece, the interpolation nodes in [0, 1].
    values : n arrays, each (number of nodes, size)
    lower, upper : (size,) arrays or None
        The curve never leaves these: polynomials overshoot between nodes where a control is at its bound.
    components : names of the components, or nothing
        ``curve["knee"]`` is then the curve of one of them.

    >>> ramp = Curve(np.array([0.0, 2.0]), (np.array([0.0, 1.0]),), (np.array([[0.0], [4.0]]),))
    >>> ramp(0.5)
    1.0
    >>> ramp([0.0, 1.0])
    array([0., 2.])
    """

    breaks: Array
    nodes: tuple[Array, ...]
    values: tuple[Array, ...]
    lower: Array | None = None
    upper: Array | None = None
    unit: str = ""
    components: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return int(self.values[0].shape[1])

    @property
    def t(self) -> Array:
        """The times of all nodes, in order."""
        return np.concatenate([a + (b - a) * n for a, b, n in zip(self.breaks[:-1], self.breaks[1:], self.nodes, strict=True)])

    @property
    def points(self) -> Array:
        """The values at all nodes: (number of nodes,), or (number of nodes, size) for a vector."""
        stacked = np.concatenate(self.values)
        return stacked[:, 0] if self.size == 1 else stacked

    def __call__(self, t: ArrayLike) -> Any:
        """The value at a time, or at each of several; right-continuous at breaks."""
        times = np.asarray(t, dtype=float)
        flat = self.evaluate(np.atleast_1d(times).ravel())
        if times.ndim == 0:
            return float(flat[0, 0]) if self.size == 1 else flat[0]
        return flat[:, 0] if self.size == 1 else flat

    def evaluate(self, times: Array, order: int = 0, left: bool = False) -> Array:
        """(m,) -> (m, size): values (order 0) or derivatives (order 1); ``left`` takes the piece before a break."""
        # Round-off is of the size of the times, however short the trajectory.
        slack = 1e-9 * abs(self.breaks[-1] - self.breaks[0]) + 1e-12 * np.abs(self.breaks).max()
        if times.size and (times.min() < self.breaks[0] - slack or times.max() > self.breaks[-1] + slack):
            raise UsageError(
                "a time outside the trajectory",
                got=f"{times.min():g} to {times.max():g}",
                expected=f"{self.breaks[0]:g} to {self.breaks[-1]:g}",
            )
        which = np.clip(np.searchsorted(self.breaks, times, side="left" if left else "right") - 1, 0, len(self.nodes) - 1)
        starts, widths = self.breaks[which], np.diff(self.breaks)[which]
        tau = np.clip((times - starts) / np.where(widths > 0, widths, 1.0), 0.0, 1.0)
        result = np.empty((times.size, self.size))
        kinds = np.array([n.size for n in self.nodes])[which]
        for kind in np.unique(kinds):
            here = np.flatnonzero(kinds == kind)
            if self._alike(int(kind)):
                basis = lagrange_basis(self.nodes[which[here[0]]], tau[here], order)
                pieces, piece_of = np.unique(which[here], return_inverse=True)
                result[here] = np.einsum("mn,mns->ms", basis, np.stack([self.values[k] for k in pieces])[piece_of])
            else:
                for k in here:
                    result[k] = lagrange_basis(self.nodes[which[k]], tau[k : k + 1], order)[0] @ self.values[which[k]]
        if order:
            result /= np.where(widths > 0, widths, 1.0)[:, None] ** order
        if order == 0 and self.lower is not None:
            result = np.maximum(result, self.lower)
        if order == 0 and self.upper is not None:
            result = np.minimum(result, self.upper)
        return result

    def _alike(self, count: int) -> bool:
        """Whether all pieces with so many nodes have them at the same places."""
        same = [n for n in self.nodes if n.size == count]
        return all(n is same[0] or np.array_equal(n, same[0]) for n in same)

    def rows(self, rows: slice, unit: str = "", components: tuple[str, ...] = ()) -> Curve:
        """The curve of some components."""
        return Curve(
            self.breaks, self.nodes, tuple(v[:, rows] for v in self.values),
            None if self.lower is None else self.lower[rows], None if self.upper is None else self.upper[rows], unit, components,
        )  # fmt: skip

    def __repr__(self) -> str:
        of = f"{self.size} components, " if self.size > 1 else ""
        unit = f" [{self.unit}]" if self.unit else ""
        return f"<Curve{unit}: {of}{len(self.nodes)} pieces from {self.breaks[0]:.6g} to {self.breaks[-1]:.6g}>"

    def labels(self, name: str) -> tuple[str, ...]:
        """The labels of the components of a curve that is called ``name``."""
        return component_labels(name, self.size, self.components)

    def __getitem__(self, component: str | int) -> Curve:
        """The curve of one component, by its name or its index."""
        known = list(self.components) if isinstance(component, str) else list(range(-self.size, self.size))
        if component not in known:
            raise UsageError(
                "a curve has no such component",
                got=component,
                expected=", ".join(self.components) or f"an index from 0 to {self.size - 1}",
                hint=suggest(component, self.components) if isinstance(component, str) else None,
            )
        place = self.components.index(component) if isinstance(component, str) else component % self.size
        return self.rows(slice(place, place + 1), self.unit)


def lagrange_basis(nodes: Array, at: Array, order: int = 0) -> Array:
    """(m, n) matrix: the n Lagrange polynomials on the nodes (or their derivatives), at m places.

    >>> lagrange_basis(np.array([0.0, 1.0]), np.array([0.25]))
    array([[0.75, 0.25]])
    """
    inverse = inverse_legendre(tuple(nodes.tolist()))
    return _legendre(np.asarray(at, dtype=float), len(nodes), order) @ inverse


@lru_cache(maxsize=256)
def inverse_legendre(nodes: tuple[float, ...]) -> Array:
    """The matrix from values at nodes in [0, 1] to the coefficients of Legendre polynomials there."""
    return np.asarray(np.linalg.inv(_legendre(np.array(nodes), len(nodes), 0)), dtype=float)


def _legendre(at: Array, count: int, order: int) -> Array:
    # Legendre polynomials on [0, 1]: well conditioned for any number of nodes that collocation uses.
    basis = np.polynomial.legendre
    if order == 0:
        return np.asarray(basis.legvander(2 * at - 1, count - 1), dtype=float)
    columns = [basis.legval(2 * at - 1, basis.legder(np.eye(count)[k], order)) * 2.0**order for k in range(count)]
    return np.stack(columns, axis=1)
