"""The points in time of one phase on its mesh: nodes, collocation points, and the values that
describe controls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
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
    first: Index  # (intervals + 1,): the state point at each node
    first_point: Index  # (intervals,): the first collocation point of each interval
    points: int
    state_points: int
    point_state: Index  # (points,): the state point of each collocation point

    @staticmethod
    def of(scheme: Scheme, mesh: Mesh) -> TimeGrid:
        rules = tuple(scheme.rule(int(d)) for d in mesh.degrees)
        first = np.concatenate([[0], np.cumsum([r.support.size - 1 for r in rules])])
        sizes, state_points = np.array([r.points.size for r in rules]), int(first[-1]) + 1
        if scheme.shares_nodes:
            return TimeGrid(
                mesh,
                True,
                rules,
                sizes,
                first,
                first[:-1],
                state_points,
                state_points,
                np.arange(state_points),
            )
        first_point = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        point_state = np.concatenate([f + r.at for f, r in zip(first[:-1], rules, strict=True)])
        return TimeGrid(
            mesh,
            False,
            rules,
            sizes,
            first,
            first_point,
            int(sizes.sum()),
            state_points,
            point_state,
        )

    def points_of(self, interval: int) -> slice:
        """The collocation points of an interval."""
        first = int(self.first_point[interval])
        return slice(first, first + int(self.sizes[interval]))

    @cached_property
    def groups(self) -> tuple[tuple[Rule, Index], ...]:
        """The intervals of each degree, with their rule: arrays of one shape
        are computed together.
        """
        degrees = self.mesh.degrees
        alike = [np.flatnonzero(degrees == degree) for degree in sorted(set(degrees.tolist()))]
        return tuple((self.rules[here[0]], here) for here in alike)

    @cached_property
    def visits(self) -> Index:
        """The collocation points, interval by interval: those that two intervals
        share come twice.
        """
        ends = np.cumsum(self.sizes)
        return np.arange(ends[-1]) + np.repeat(self.first_point - ends + self.sizes, self.sizes)

    @cached_property
    def interval_of(self) -> Index:
        """(points,): the interval of each collocation point; of those that two
        share, the second.
        """
        return np.asarray(
            np.searchsorted(self.first_point, np.arange(self.points), side="right") - 1
        )

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

    @cached_property
    def widths(self) -> Array:
        """(intervals,) as fractions of their spans."""
        knots, span_of = self.mesh.spans
        return np.asarray(np.diff(self.mesh.breaks) / np.diff(knots)[span_of])

    @cached_property
    def weights(self) -> Array:
        """(points,) of the quadrature, as fractions of the spans; at shared nodes they add."""
        shares = np.repeat(self.widths, self.sizes) * np.concatenate(
            [r.weights for r in self.rules]
        )
        return np.asarray(np.bincount(self.visits, shares, self.points), dtype=float)

    @cached_property
    def state_times(self) -> Array:
        """(state points,) normalised times."""
        inner, places = np.diff(self.first), np.concatenate([r.support[1:] for r in self.rules])
        starts, widths = (
            np.repeat(a, inner) for a in (self.mesh.breaks[:-1], np.diff(self.mesh.breaks))
        )
        return np.concatenate([[0.0], starts + widths * places])

    @cached_property
    def point_times(self) -> Array:
        """(points,) normalised times of the collocation points."""
        times, places = np.empty(self.points), np.concatenate([r.points for r in self.rules])
        starts, widths = (
            np.repeat(a, self.sizes) for a in (self.mesh.breaks[:-1], np.diff(self.mesh.breaks))
        )
        times[self.visits] = starts + widths * places
        return times

    @cached_property
    def at_end(self) -> NDArray[np.bool_]:
        """(points,): which are the last point of their interval, at its end; none of those that two
        intervals share.
        """
        last = np.zeros(self.points, dtype=bool)
        if not self.shares_nodes:
            last[self.first_point + self.sizes - 1] = [
                rule.points[-1] == 1.0 for rule in self.rules
            ]
        return last


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
        return _evenly(int(count))


@lru_cache(maxsize=64)
def _evenly(count: int) -> Array:
    return np.full(1, 0.5) if count == 1 else np.linspace(0.0, 1.0, count)
