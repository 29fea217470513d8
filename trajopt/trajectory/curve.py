"""Curve: a piecewise polynomial vector function of time, for states, controls and costates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.arguments import named_methods
from trajopt.displays import display
from trajopt.errors import UsageError, suggest
from trajopt.statement.labels import component_labels
from trajopt.statement.unit_text import product

Array = NDArray[np.float64]

ROUND_OFF = 8 * float(np.finfo(float).eps)  # relative, of times that several sums and products gave


@named_methods
@dataclass(frozen=True, eq=False)
class Curve:
    """Piecewise polynomial in time, interpolating values at the nodes of each piece.

    Parameters
    ----------
    breaks : (n + 1,) array
        Breakpoints between the pieces.
    nodes : n arrays
        Interpolation nodes of each piece, in [0, 1].
    values : n arrays, each (number of nodes, size), or (number of nodes,) for a scalar
    lower, upper : (size,) arrays or None
        Values are clipped to these bounds: polynomials overshoot between nodes if a control is at
        its bound. Not those of an output, ``clips=False``.
    components : tuple of str
        Names of the components, for ``curve["knee"]``; may be empty.
    unit, time_unit : str
        Of the values and of time.

    >>> ramp = Curve(np.array([0.0, 2.0]), (np.array([0.0, 1.0]),), (np.array([[0.0], [4.0]]),))
    >>> ramp(0.5)
    1.0
    >>> ramp([0.0, 1.0])
    array([0., 2.])
    >>> ramp.derivative()(1.0), round(ramp.integral()(2.0), 9)
    (2.0, 4.0)
    """

    breaks: Array
    nodes: tuple[Array, ...]
    values: tuple[Array, ...]
    lower: Array | None = None
    upper: Array | None = None
    unit: str = ""
    components: tuple[str, ...] = ()
    time_unit: str = ""
    clips: bool = True  # False: the bounds are limits that the values may exceed

    def __post_init__(self) -> None:
        """Accept lists, and values of a scalar curve without their second dimension."""
        if not len(self.breaks) - 1 == len(self.nodes) == len(self.values) > 0:
            raise UsageError(
                "the pieces of a curve",
                got=f"{len(self.breaks)} breaks, {len(self.nodes)} lists of nodes, "
                f"{len(self.values)} of values",
                expected="n + 1 breaks, n lists of nodes and n of values, n at least 1",
            )
        arrays = self.breaks, *self.nodes, *self.values
        if all(type(part) is np.ndarray for part in arrays) and all(
            v.ndim == 2 for v in self.values
        ):
            return
        values = tuple(np.asarray(v, dtype=float) for v in self.values)
        object.__setattr__(self, "breaks", np.asarray(self.breaks, dtype=float))
        object.__setattr__(self, "nodes", tuple(np.asarray(n, dtype=float) for n in self.nodes))
        object.__setattr__(self, "values", tuple(v[:, None] if v.ndim == 1 else v for v in values))

    @property
    def size(self) -> int:
        return int(self.values[0].shape[1])

    @property
    def t(self) -> Array:
        """Times of all nodes, in order."""
        return np.concatenate(
            [
                a + (b - a) * n
                for a, b, n in zip(self.breaks[:-1], self.breaks[1:], self.nodes, strict=True)
            ]
        )

    @property
    def points(self) -> Array:
        """Values at all nodes: (number of nodes,), or (number of nodes, size) for a vector."""
        stacked = np.concatenate(self.values)
        return stacked[:, 0] if self.size == 1 else stacked

    def __call__(self, t: ArrayLike) -> Any:
        """Evaluate at one time or at an array of times; right-continuous at breaks."""
        try:
            times = np.asarray(t, dtype=float)
        except (TypeError, ValueError) as error:
            raise UsageError(
                "the time of a curve", got=repr(t), expected="a number, or an array of numbers"
            ) from error
        flat = self.evaluate(np.atleast_1d(times).ravel())
        if times.ndim == 0:
            return float(flat[0, 0]) if self.size == 1 else flat[0]
        return flat[:, 0] if self.size == 1 else flat

    @staticmethod
    def grouped(
        breaks: Array,
        groups: Sequence[tuple[Array, NDArray[np.intp], Array]],
        lower: Array | None = None,
        upper: Array | None = None,
    ) -> Curve:
        """Return a curve from groups of pieces with the same nodes: (nodes, numbers of the pieces,
        (pieces, nodes, size)).
        """
        count = breaks.size - 1
        group_of, place_in = np.empty(count, dtype=np.intp), np.empty(count, dtype=np.intp)
        nodes, values = [np.zeros(0)] * count, [np.zeros((0, 0))] * count
        for group, (at, pieces, of) in enumerate(groups):
            group_of[pieces], place_in[pieces] = group, np.arange(pieces.size)
            for k, value in zip(pieces.tolist(), of, strict=True):
                nodes[k], values[k] = at, value
        curve = Curve(breaks, tuple(nodes), tuple(values), lower, upper)
        curve.__dict__["_groups"] = group_of, place_in, [(at, of) for at, _, of in groups]
        return curve

    @staticmethod
    def through(
        breaks: Array,
        nodes: Array,
        values: Array,
        lower: Array | None = None,
        upper: Array | None = None,
    ) -> Curve:
        """Return a curve with the same nodes on every piece; values are (pieces, nodes, size)."""
        return Curve.grouped(breaks, [(nodes, np.arange(breaks.size - 1), values)], lower, upper)

    @staticmethod
    def linear(times: Array, values: Array) -> Curve:
        """Return the piecewise linear curve through values (m, size) at increasing times (m,)."""
        return Curve.through(
            times, np.array([0.0, 1.0]), np.stack([values[:-1], values[1:]], axis=1)
        )

    @staticmethod
    def steps(breaks: Array, values: Array) -> Curve:
        """Return the piecewise constant curve with values (pieces, size)."""
        return Curve.through(breaks, np.array([0.5]), values[:, None, :])

    def over(self, start: float, end: float) -> Curve:
        """Return the curve stretched to another interval of time."""
        first, last = float(self.breaks[0]), float(self.breaks[-1])
        breaks = start + (self.breaks - first) * ((end - start) / (last - first))
        breaks[-1] = end
        return replace(self, breaks=breaks)

    def on(self, breaks: Array, count: int = 0) -> Curve:
        """Return the same polynomials on other pieces, none of which contains a break, on as many
        nodes, or on ``count``.
        """
        count = max(count, *(nodes.size for nodes in self.nodes))
        nodes = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, count)) if count > 1 else np.array([0.5])
        times = breaks[:-1, None] + np.diff(breaks)[:, None] * nodes
        left = np.broadcast_to(nodes > 0.5, times.shape).ravel()
        values = replace(self, lower=None, upper=None).evaluate(times.ravel(), left=left)
        return Curve.through(
            breaks, nodes, values.reshape(*times.shape, self.size), self.lower, self.upper
        )

    def part(self, start: float, end: float) -> Curve:
        """Return the curve between two times."""
        inner = self.breaks[(self.breaks > start) & (self.breaks < end)]
        return self.on(np.concatenate([[start], inner, [end]]))

    def evaluate(
        self, times: Array, order: int = 0, left: bool | NDArray[np.bool_] = False
    ) -> Array:
        """Evaluate values (order 0) or derivatives (order 1), (m,) -> (m, size).

        ``left`` takes the left limit at breaks, for all times or for those of a mask.
        """
        first, last = float(self.breaks[0]), float(self.breaks[-1])
        # Round-off scales with the times, not with the duration.
        slack = 1e-9 * abs(last - first) + 1e-12 * max(abs(first), abs(last))
        if times.size and (times.min() < first - slack or times.max() > last + slack):
            raise UsageError(
                "time outside the trajectory",
                got=f"{times.min():g} to {times.max():g}",
                expected=f"{self.breaks[0]:g} to {self.breaks[-1]:g}",
            )
        if isinstance(left, bool):
            which = self.breaks.searchsorted(times, side="left" if left else "right") - 1
        else:
            # A time within round-off of a break is that break.
            beside = times + np.where(left, -ROUND_OFF, ROUND_OFF) * max(abs(first), abs(last))
            which = self.breaks.searchsorted(beside, side="right") - 1
        which = np.minimum(np.maximum(which, 0), len(self.nodes) - 1)
        widths = self._widths[which]
        tau = np.minimum(np.maximum((times - self.breaks[which]) / widths, 0.0), 1.0)
        group_of, place_in, groups = self._groups
        series = _legendre(tau, max(nodes.size for nodes, _ in groups), order)
        if len(groups) == 1:
            nodes, values = groups[0]
            basis = series @ inverse_legendre(tuple(nodes.tolist()))
            result: Array = np.einsum("mn,mns->ms", basis, values[place_in[which]])
        else:
            result, kinds, columns = np.empty((times.size, self.size)), group_of[which], series.T
            for kind, (nodes, values) in enumerate(groups):
                here = (kinds == kind).nonzero()[0]
                if here.size:
                    basis = columns[: nodes.size, here].T @ inverse_legendre(tuple(nodes.tolist()))
                    values_here = values[place_in[which[here]]]
                    result[here] = np.einsum("mn,mns->ms", basis, values_here)
        if order:
            result /= widths[:, None] ** order
        if order == 0 and self.clips and self.lower is not None:
            result = np.maximum(result, self.lower)
        if order == 0 and self.clips and self.upper is not None:
            result = np.minimum(result, self.upper)
        return result

    @cached_property
    def _widths(self) -> Array:
        """(n,): 1 for a piece without width."""
        widths = self.breaks[1:] - self.breaks[:-1]
        return np.where(widths > 0, widths, 1.0)

    def clipped_at(self) -> Array:
        """Return the times inside pieces at which the polynomial reaches a bound, where clipping
        makes a kink.
        """
        found: list[Array] = []
        pieces = zip(self.nodes, self.values, strict=True) if self.clips else ()
        for k, (nodes, values) in enumerate(pieces):
            coefficients = inverse_legendre(tuple(nodes.tolist())) @ values
            for bound in (self.lower, self.upper):
                if bound is None:
                    continue
                for i in np.flatnonzero(np.isfinite(bound) & (np.ptp(values, axis=0) > 0)):
                    shifted = coefficients[:, i].copy()
                    shifted[0] -= bound[i]
                    roots = np.polynomial.legendre.legroots(shifted)
                    inside = (np.abs(roots.imag) < 1e-9) & (np.abs(roots.real) < 1 - 1e-9)
                    found.append(
                        self.breaks[k]
                        + 0.5 * (roots.real[inside] + 1) * (self.breaks[k + 1] - self.breaks[k])
                    )
        return np.unique(np.concatenate(found)) if found else np.zeros(0)

    @cached_property
    def _groups(self) -> tuple[NDArray[np.intp], NDArray[np.intp], list[tuple[Array, Array]]]:
        """Pieces with the same nodes together: the group of each piece, its place there, and nodes
        and values of each group.
        """
        members: dict[bytes, list[int]] = {}
        for k, nodes in enumerate(self.nodes):
            members.setdefault(np.ascontiguousarray(nodes).tobytes(), []).append(k)
        group_of = np.empty(len(self.nodes), dtype=np.intp)
        place_in = np.empty(len(self.nodes), dtype=np.intp)
        for group, pieces in enumerate(members.values()):
            group_of[pieces], place_in[pieces] = group, np.arange(len(pieces))
        groups = [
            (self.nodes[pieces[0]], np.stack([self.values[k] for k in pieces]))
            for pieces in members.values()
        ]
        return group_of, place_in, groups

    def derivative(self) -> Curve:
        """Return the time derivative; at breaks it is right-continuous."""
        of = self._within_bounds()
        slopes = tuple(
            lagrange_basis(nodes, nodes, 1) @ values / width
            for nodes, values, width in zip(of.nodes, of.values, of._widths, strict=True)
        )
        return replace(of, values=slopes, unit=product(self.unit, self.time_unit, -1))

    def integral(self) -> Curve:
        """Return the integral over time from the start; its value at the end is the whole."""
        of = self._within_bounds()
        nodes, values, start = [], [], np.zeros(self.size)
        for a, v, width in zip(of.nodes, of.values, np.diff(of.breaks), strict=True):
            series = inverse_legendre(tuple(a.tolist())) @ v
            grown = np.polynomial.legendre.legint(series, lbnd=-1.0, axis=0) * (0.5 * width)
            ends = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, a.size + 1))
            nodes.append(ends)
            values.append(start + _legendre(ends, a.size + 1, 0) @ grown)
            start = values[-1][-1]
        unit = product(self.unit, self.time_unit, 1)
        return replace(of, nodes=tuple(nodes), values=tuple(values), unit=unit)

    def plot(self, name: str = "", path: str | Path | None = None) -> Any:
        """Return a matplotlib figure of the components over time; ``path`` saves it."""
        return display("curve_plot", self, name, path)

    def _within_bounds(self) -> Curve:
        """Return the same function without bounds: every piece is a polynomial."""
        kinks = self.clipped_at()
        of = self.on(np.union1d(self.breaks, kinks)) if kinks.size else self
        low = -np.inf if self.lower is None or not self.clips else self.lower
        high = np.inf if self.upper is None or not self.clips else self.upper
        clipped = tuple(np.clip(values, low, high) for values in of.values)
        about = {"unit": self.unit, "components": self.components, "time_unit": self.time_unit}
        return Curve(of.breaks, of.nodes, clipped, **about)  # type: ignore[arg-type]

    def rows(
        self,
        rows: slice | list[int],
        unit: str = "",
        components: tuple[str, ...] = (),
        time_unit: str = "",
    ) -> Curve:
        """Return the curve of some components."""
        return Curve(
            self.breaks,
            self.nodes,
            tuple(v[:, rows] for v in self.values),
            None if self.lower is None else self.lower[rows],
            None if self.upper is None else self.upper[rows],
            unit,
            components,
            time_unit or self.time_unit,
            self.clips,
        )

    def __repr__(self) -> str:
        of = f"{self.size} components, " if self.size > 1 else ""
        unit = f" [{self.unit}]" if self.unit else ""
        return (
            f"<Curve{unit}: {of}{len(self.nodes)} pieces from {self.breaks[0]:.6g} to "
            f"{self.breaks[-1]:.6g}>"
        )

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the labels of the components, with ``name`` as prefix."""
        return component_labels(name, self.size, self.components)

    def __getitem__(self, component: str | int) -> Curve:
        """Return the curve of one component, by name or index."""
        known = (
            list(self.components)
            if isinstance(component, str)
            else list(range(-self.size, self.size))
        )
        if component not in known:
            raise UsageError(
                "unknown component of a curve",
                got=component,
                expected=", ".join(self.components) or f"an index from 0 to {self.size - 1}",
                hint=suggest(component, self.components) if isinstance(component, str) else None,
            )
        index = (
            self.components.index(component)
            if isinstance(component, str)
            else component % self.size
        )
        return self.rows(slice(index, index + 1), self.unit)


class NamedCurves(Mapping[str, Curve]):
    """The curves of named parts of a curve, each taken out of it at its first use."""

    def __init__(
        self,
        curve: Curve,
        parts: Mapping[str, tuple[slice, str, tuple[str, ...]]],
        time_unit: str = "",
    ) -> None:
        """``parts``: rows, unit and names of the components, by name."""
        self._curve, self._parts, self._time_unit = curve, parts, time_unit
        self._curves: dict[str, Curve] = {}

    def __getitem__(self, name: str) -> Curve:
        if name not in self._curves:
            self._curves[name] = self._curve.rows(*self._parts[name], self._time_unit)
        return self._curves[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return repr(dict(self))


def joined(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Return the curves with those that follow each other on the same nodes put together, which is
    quicker to evaluate.
    """
    runs: list[list[Curve]] = []
    for curve in curves:
        if runs and _on_same_nodes(runs[-1][0], curve):
            runs[-1].append(curve)
        else:
            runs.append([curve])
    return tuple(run[0] if len(run) == 1 else _side_by_side(run) for run in runs)


def stacked_curves(curves: Sequence[Curve]) -> Curve:
    """Return the curve whose components are those of all curves, in order.

    Curves on different pieces or nodes are written on the common pieces, with the largest number of
    nodes: the same polynomials.
    """
    first, *others = curves
    if not others:
        return first
    if all(_on_same_nodes(first, curve) for curve in others):
        return _side_by_side(list(curves))
    breaks = np.unique(np.concatenate([curve.breaks for curve in curves]))
    breaks = breaks[
        (breaks >= max(curve.breaks[0] for curve in curves))
        & (breaks <= min(curve.breaks[-1] for curve in curves))
    ]
    count = max(nodes.size for curve in curves for nodes in curve.nodes)
    return _side_by_side([curve.on(breaks, count) for curve in curves])


def in_sequence(curves: Sequence[Curve]) -> Curve:
    """Return the curve that consists of curves that follow each other in time, with the limits of
    the first one.
    """
    breaks = np.concatenate([curves[0].breaks[:1], *[curve.breaks[1:] for curve in curves]])
    nodes = tuple(nodes for curve in curves for nodes in curve.nodes)
    values = tuple(values for curve in curves for values in curve.values)
    return Curve(breaks, nodes, values, curves[0].lower, curves[0].upper)


def _on_same_nodes(a: Curve, b: Curve) -> bool:
    if len(a.nodes) != len(b.nodes) or not (
        a.breaks is b.breaks or np.array_equal(a.breaks, b.breaks)
    ):
        return False
    return a.nodes is b.nodes or all(
        m is n or np.array_equal(m, n) for m, n in zip(a.nodes, b.nodes, strict=True)
    )


def _side_by_side(curves: list[Curve]) -> Curve:
    values = tuple(
        np.concatenate(parts, axis=1)
        for parts in zip(*[curve.values for curve in curves], strict=True)
    )
    return Curve(curves[0].breaks, curves[0].nodes, values, *_limits(curves))


def _limits(curves: Sequence[Curve]) -> tuple[Array, Array]:
    lower = np.concatenate(
        [np.full(c.size, -np.inf) if c.lower is None else c.lower for c in curves]
    )
    upper = np.concatenate(
        [np.full(c.size, np.inf) if c.upper is None else c.upper for c in curves]
    )
    return lower, upper


def lagrange_basis(nodes: Array, at: Array, order: int = 0) -> Array:
    """Evaluate the n Lagrange polynomials of the nodes, or their derivatives, at m points: (m, n)
    array.

    >>> lagrange_basis(np.array([0.0, 1.0]), np.array([0.25]))
    array([[0.75, 0.25]])
    """
    inverse = inverse_legendre(tuple(nodes.tolist()))
    return _legendre(np.asarray(at, dtype=float), len(nodes), order) @ inverse


@lru_cache(maxsize=256)
def inverse_legendre(nodes: tuple[float, ...]) -> Array:
    """Return the matrix from values at nodes in [0, 1] to coefficients of shifted Legendre
    polynomials.
    """
    return np.asarray(np.linalg.inv(_legendre(np.array(nodes), len(nodes), 0)), dtype=float)


def _legendre(at: Array, count: int, order: int) -> Array:
    """(m, count): the shifted Legendre polynomials, or their derivatives: well conditioned for the
    degrees used in collocation.
    """
    x = 2 * at - 1
    if order:
        basis = np.polynomial.legendre
        derivatives = [basis.legder(np.eye(count)[k], order) for k in range(count)]
        return np.stack([basis.legval(x, series) * 2.0**order for series in derivatives], axis=1)
    # by their recurrence: ``legvander`` spends most of its time on its checks
    values = np.empty((count, *x.shape))
    values[0] = 1.0
    if count > 1:
        values[1] = x
    for n in range(2, count):
        values[n] = (values[n - 1] * x * (2 * n - 1) - values[n - 2] * (n - 1)) / n
    return values.T if x.ndim == 1 else np.moveaxis(values, 0, -1)
