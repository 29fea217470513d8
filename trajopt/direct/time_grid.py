"""The points in time of one phase on its mesh: nodes, collocation points, and the values that
describe controls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Rule, Scheme
from trajopt.trajectory.curve import lagrange_basis

Array = NDArray[np.float64]
Index = NDArray[np.int_]
Vector = NDArray[Any]  # values, bounds, multipliers or indices


@dataclass(frozen=True, eq=False)
class TimeGrid:
    """Nodes and collocation points of one phase."""

    mesh: Mesh
    shares_nodes: bool  # neighbouring intervals share the points, and the controls, at their nodes
    rules: tuple[Rule, ...]  # of each interval
    sizes: Index  # (intervals,): number of collocation points
    widths: Array  # (intervals,) as fractions of their spans
    first: Index  # (intervals + 1,): the state point at each node
    first_point: Index  # (intervals,): the first collocation point of each interval
    state_points: int
    points: int
    state_times: Array  # (state points,): normalised
    point_times: Array  # (points,): normalised times of the collocation points
    point_state: Index  # (points,): the state point of each collocation point
    # (points,): the interval of each collocation point; of those that two share, the second
    interval_of: Index
    span_of: Index  # (points,): the span between knots that it lies in
    # (points,): the last point of its interval, at its end; none of those that two share
    at_end: NDArray[np.bool_]
    # (points,): weights of the quadrature, as fractions of the spans; at shared nodes they add
    weights: Array

    @staticmethod
    def of(scheme: Scheme, mesh: Mesh) -> TimeGrid:
        rules = tuple(scheme.rule(int(d)) for d in mesh.degrees)
        sizes = np.array([r.points.size for r in rules])
        inner = np.array([r.support.size - 1 for r in rules])
        first = np.concatenate([[0], np.cumsum(inner)])
        starts, durations = mesh.breaks[:-1], np.diff(mesh.breaks)
        supports = np.concatenate([r.support[1:] for r in rules])
        state_times = np.repeat(starts, inner) + np.repeat(durations, inner) * supports
        knots, spans = mesh.spans
        widths = np.asarray(durations / np.diff(knots)[spans])

        if scheme.shares_nodes:
            first_point, point_state = first[:-1], np.arange(first[-1] + 1)
        else:
            first_point = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            point_state = np.concatenate([f + r.at for f, r in zip(first[:-1], rules, strict=True)])
        count = point_state.size
        at_end = np.zeros(count, dtype=bool)
        if not scheme.shares_nodes:
            at_end[first_point + sizes - 1] = [r.points[-1] == 1.0 for r in rules]
        # The collocation points, interval by interval: those that two intervals share come twice.
        ends = np.cumsum(sizes)
        visits = np.arange(ends[-1]) + np.repeat(first_point - ends + sizes, sizes)
        places = np.concatenate([r.points for r in rules])
        point_times = np.empty(count)
        point_times[visits] = np.repeat(starts, sizes) + np.repeat(durations, sizes) * places
        shares = np.repeat(widths, sizes) * np.concatenate([r.weights for r in rules])
        interval_of = np.searchsorted(first_point, np.arange(count), side="right") - 1
        return TimeGrid(
            mesh=mesh,
            shares_nodes=scheme.shares_nodes,
            rules=rules,
            sizes=sizes,
            widths=widths,
            first=first,
            first_point=first_point,
            state_points=int(first[-1]) + 1,
            points=count,
            state_times=np.concatenate([[0.0], state_times]),
            point_times=point_times,
            point_state=point_state,
            interval_of=interval_of,
            span_of=spans[interval_of],
            at_end=at_end,
            weights=np.asarray(np.bincount(visits, shares, count), dtype=float),
        )

    def points_of(self, interval: int) -> slice:
        """The collocation points of an interval."""
        first = int(self.first_point[interval])
        return slice(first, first + int(self.sizes[interval]))

    def points_in(self, intervals: Index) -> Index:
        """(intervals, points): the collocation points of intervals of one degree."""
        return self.first_point[intervals][:, None] + np.arange(self.sizes[intervals[0]])

    @cached_property
    def groups(self) -> tuple[tuple[Rule, Index], ...]:
        """The intervals of each degree, with their rule: arrays of one shape
        are computed together.
        """
        degrees = self.mesh.degrees
        alike = [np.flatnonzero(degrees == degree) for degree in sorted(set(degrees.tolist()))]
        return tuple((self.rules[here[0]], here) for here in alike)

    @cached_property
    def own_defects(self) -> tuple[Index, Array] | None:
        """(points,), (points,): the one defect of its interval that the rate at a point enters, and
        its factor there.
        """
        own = [rule.own_defects for rule in self.rules]
        if self.shares_nodes or any(one is None for one in own):
            return None
        defects, factors = zip(*(one for one in own if one is not None), strict=True)
        return np.concatenate(defects), np.concatenate(factors) * self.widths[self.interval_of]


@dataclass(frozen=True, eq=False)
class ControlGrid:
    """The values that describe controls: those at the collocation points, or fewer."""

    grid: TimeGrid
    count: Index  # (intervals, controls): number of values that describe a control
    offset: (
        Index  # (intervals, controls): the first of them among all (unused where nodes are shared)
    )

    @staticmethod
    def of(grid: TimeGrid, controls: int) -> ControlGrid:
        count, fewer = np.repeat(grid.sizes[:, None], controls, axis=1), grid.mesh.control_points
        if fewer is not None and not grid.shares_nodes:
            count = np.where(fewer > 0, np.minimum(fewer, count), np.maximum(count + fewer, 1))
        return ControlGrid(
            grid, count, (np.cumsum(count.ravel()) - count.ravel()).reshape(count.shape)
        )

    @property
    def size(self) -> int:
        return (
            self.grid.points * self.count.shape[1]
            if self.grid.shares_nodes
            else int(self.count.sum())
        )

    def on(self, u: Vector, interval: int, control: int) -> Vector:
        """The values that describe a control on an interval."""
        if self.grid.shares_nodes:
            return u.reshape(self.grid.points, -1)[self.grid.points_of(interval), control]
        first = self.offset[interval, control]
        return u[first : first + self.count[interval, control]]

    def repeated(self, values: Array) -> Array:
        """(values that describe controls,) from one number for each control, or for each control on
        each interval; where nodes are shared, one for each control.
        """
        if self.grid.shares_nodes:
            return np.tile(values, self.grid.points)
        return np.repeat(np.broadcast_to(values, self.count.shape).ravel(), self.count.ravel())

    @cached_property
    def complete(self) -> bool:
        """True if every control has a value at every collocation point."""
        return self.grid.shares_nodes or bool((self.count == self.grid.sizes[:, None]).all())

    def numbers(self, u: Vector) -> Vector:
        """(points, controls): of a complete description, the values at the collocation points."""
        if self.grid.shares_nodes or self.count.shape[1] <= 1:
            return (
                u.reshape(self.grid.points, -1)
                if u.size
                else np.zeros((self.grid.points, 0), dtype=u.dtype)
            )
        points, of = np.arange(self.grid.points), self.grid.interval_of
        return u[self.offset[of] + (points - self.grid.first_point[of])[:, None]]

    def at_points(self, u: Array) -> Array:
        """(points, controls): the controls at the collocation points."""
        if self.complete:
            return np.array(self.numbers(u))
        shape = self.grid.points, self.count.shape[1]
        rows, columns, values = self.entries
        return np.asarray(
            np.bincount(rows, values * u[columns], shape[0] * shape[1]), dtype=float
        ).reshape(shape)

    @cached_property
    def entries(self) -> tuple[Index, Index, Array]:
        """Triplets of the map from the control unknowns to the controls at the points, row = point
        * nu + control.
        """
        grid, nu = self.grid, self.count.shape[1]
        if grid.shares_nodes:
            index = np.arange(grid.points * nu)
            return index, index, np.ones(index.size)
        full = self.count == grid.sizes[:, None]
        points, controls = np.nonzero(full[grid.interval_of])
        of = grid.interval_of[points]
        rows = [points * nu + controls]
        columns = [self.offset[of, controls] + points - grid.first_point[of]]
        values = [np.ones(points.size)]
        intervals, controls = np.nonzero(~full)
        kinds = np.stack([grid.sizes[intervals], self.count[intervals, controls]], axis=1)
        for kind in set(map(tuple, kinds.tolist())):
            alike = np.flatnonzero((kinds == kind).all(axis=1))
            k, j = intervals[alike], controls[alike]
            basis = lagrange_basis(self.nodes(int(k[0]), int(j[0])), grid.rules[k[0]].points)
            a, b = np.nonzero(basis)
            rows.append(((grid.first_point[k][:, None] + a) * nu + j[:, None]).ravel())
            columns.append((self.offset[k, j][:, None] + b).ravel())
            values.append(np.tile(basis[a, b], k.size))
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)

    def nodes(self, interval: int, control: int) -> Array:
        """Normalised places of the values that describe a control on an interval."""
        rule, count = self.grid.rules[interval], self.count[interval, control]
        if count == rule.points.size:
            return rule.points
        # With its values at both ends a linear control stays within its bounds on the whole
        # interval.
        return np.full(1, 0.5) if count == 1 else np.linspace(0.0, 1.0, int(count))
