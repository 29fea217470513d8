"""Packing: where the unknowns and the constraint rows of a program are, and the values by phase that they hold.

``PhaseLayout`` owns every index of a phase. Its accessors (``states``, ``path_rows``, ...) return the part of a vector that
belongs to a phase, as a view in the shape of that part; applied to ``numpy.arange`` they give the indices of that part.
``pack`` and ``unpack`` go from values to unknowns and back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import lagrange_basis
from trajopt.direct.kernels import Kernels, PhaseKernels
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Rule, Scheme
from trajopt.guess import Guess, PhaseGuess
from trajopt.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]
Index = NDArray[np.int_]
Vector = NDArray[Any]  # values, bounds, multipliers or indices


@dataclass(frozen=True, eq=False)
class PhaseLayout:
    """Where the unknowns and the constraint rows of one phase are."""

    form: PhaseForm
    mesh: Mesh
    shares_nodes: bool  # neighbouring intervals share the points, and the controls, at their nodes
    rules: tuple[Rule, ...]  # of each interval
    sizes: Index  # (intervals,): number of collocation points
    first: Index  # (intervals + 1,): the state point at each node
    first_point: Index  # (intervals,): the first collocation point of each interval
    points: int
    point_state: Index  # (points,): the state point of each collocation point
    u_count: Index  # (intervals, controls): number of values that describe a control
    u_offset: Index  # (intervals, controls): their place among the control unknowns (unused where nodes are shared)
    defect_first: Index  # (intervals,): the first defect, in units of nx rows
    unknowns: tuple[int, ...]  # ends of the parts of the unknowns: start, x, z, u, times, integrals
    rows: tuple[int, ...]  # ends of the parts of the constraint rows: start, defects, algebraic, path, integrals, spans

    # Parts of a vector of unknowns (values, bounds, multipliers of bounds, indices).

    def _unknowns(self, y: Vector, part: int) -> Vector:
        return y[self.unknowns[part] : self.unknowns[part + 1]]

    def states(self, y: Vector) -> Vector:
        """(state points, states)"""
        return self._unknowns(y, 0).reshape(self.state_points, self.nx)

    def algebraics(self, y: Vector) -> Vector:
        """(points, algebraic variables)"""
        return self._unknowns(y, 1).reshape(self.points, self.nz)

    def control_unknowns(self, y: Vector) -> Vector:
        """All values that describe controls: interval by interval, control by control (point by point where nodes are shared)."""
        return self._unknowns(y, 2)

    def span_times(self, y: Vector) -> Vector:
        """Times of start, moving knots and end."""
        return self._unknowns(y, 3)

    def integral_values(self, y: Vector) -> Vector:
        """The integrals that are unknowns."""
        return self._unknowns(y, 4)

    def control_on(self, y: Vector, interval: int, control: int) -> Vector:
        """The values that describe a control on an interval."""
        u = self.control_unknowns(y)
        if self.shares_nodes:
            return u.reshape(self.points, self.nu)[self.points_of(interval), control]
        first = self.u_offset[interval, control]
        return u[first : first + self.u_count[interval, control]]

    def controls(self, y: Array) -> Array:
        """(points, controls): the controls at the collocation points."""
        rows, columns, values = self.control_entries
        flat = np.bincount(rows, values * self.control_unknowns(y)[columns], self.points * self.nu)
        return np.asarray(flat, dtype=float).reshape(self.points, self.nu)

    # Parts of a vector of constraint rows.

    def _rows(self, g: Vector, part: int) -> Vector:
        return g[self.rows[part] : self.rows[part + 1]]

    def defect_rows(self, g: Vector) -> Vector:
        """(defects, states)"""
        return self._rows(g, 0).reshape(-1, self.nx)

    def algebraic_rows(self, g: Vector) -> Vector:
        """(points, algebraic equations)"""
        return self._rows(g, 1).reshape(self.points, self.ng)

    def path_rows(self, g: Vector) -> Vector:
        """(points, path constraints)"""
        return self._rows(g, 2).reshape(self.points, self.nc)

    def integral_rows(self, g: Vector) -> Vector:
        return self._rows(g, 3)

    def span_rows(self, g: Vector) -> Vector:
        """Rows that keep moving knots in order."""
        return self._rows(g, 4)

    # The inputs and outputs of the kernel at a point.

    def inputs(self, x: Array, z: Array, u: Array, s: Array, spans: Array) -> Array:
        """(places, inputs of the kernel) from x, z, u of each place, the static variables, and start and end of its span."""
        shared = np.broadcast_to(s, (x.shape[0], s.size))
        return np.hstack([x, z, u, shared, *([spans] if self.free_time else [])])

    def data(self, theta: Array, spans: Array) -> Array:
        """(data of the kernel, places) from the normalised time in its span, and start and end of that."""
        return np.vstack([theta, *([] if self.free_time else [spans.T])])

    @property
    def control_inputs(self) -> slice:
        """Where the controls are among the inputs of the kernel."""
        return slice(self.nx + self.nz, self.nx + self.nz + self.nu)

    @property
    def outputs(self) -> tuple[slice, slice, slice, slice]:
        """Where rates, algebraic equations, path constraints and integrands are among the outputs of the kernel."""
        ends = np.cumsum([0, self.nx, self.ng, self.nc, self.nq]).tolist()
        rates, algebraic, path, integrands = (slice(a, b) for a, b in itertools.pairwise(ends))
        return rates, algebraic, path, integrands

    # Sizes and times.

    @property
    def free_time(self) -> bool:
        return bool(self.mesh.knots) or not (self.form.start_time.fixed[0] and self.form.end_time.fixed[0])

    @property
    def state_points(self) -> int:
        return int(self.first[-1]) + 1

    @cached_property
    def nx(self) -> int:
        return int(self.form.x.numel())

    @cached_property
    def nz(self) -> int:
        return int(self.form.z.numel())

    @cached_property
    def nu(self) -> int:
        return int(self.form.u.numel())

    @cached_property
    def ng(self) -> int:
        return int(self.form.g.numel())

    @cached_property
    def nc(self) -> int:
        return int(self.form.c.numel())

    @property
    def nq(self) -> int:
        """Number of integrals that are unknowns."""
        return self.unknowns[5] - self.unknowns[4]

    def points_of(self, interval: int) -> slice:
        """The collocation points of an interval."""
        first = int(self.first_point[interval])
        return slice(first, first + int(self.sizes[interval]))

    @cached_property
    def groups(self) -> tuple[tuple[Rule, Index], ...]:
        """The intervals of each degree, with their rule: what has one shape can be computed at once."""
        degrees = self.mesh.degrees
        alike = [np.flatnonzero(degrees == degree) for degree in sorted(set(degrees.tolist()))]
        return tuple((self.rules[here[0]], here) for here in alike)

    @cached_property
    def visits(self) -> Index:
        """The collocation points, interval by interval: those that two intervals share come twice."""
        ends = np.cumsum(self.sizes)
        return np.arange(ends[-1]) + np.repeat(self.first_point - ends + self.sizes, self.sizes)

    @cached_property
    def interval_of(self) -> Index:
        """(points,): the interval of each collocation point; of those that two share, the second."""
        return np.asarray(np.searchsorted(self.first_point, np.arange(self.points), side="right") - 1)

    @cached_property
    def widths(self) -> Array:
        """(intervals,) as fractions of their spans."""
        knots, span_of = self.mesh.spans
        return np.asarray(np.diff(self.mesh.breaks) / np.diff(knots)[span_of])

    @cached_property
    def weights(self) -> Array:
        """(points,) of the quadrature, as fractions of the spans; where nodes are shared both neighbours add."""
        shares = np.repeat(self.widths, self.sizes) * np.concatenate([r.weights for r in self.rules])
        return np.asarray(np.bincount(self.visits, shares, self.points), dtype=float)

    @cached_property
    def state_times(self) -> Array:
        """(state points,) normalised times."""
        inner, places = np.diff(self.first), np.concatenate([r.support[1:] for r in self.rules])
        starts, widths = (np.repeat(a, inner) for a in (self.mesh.breaks[:-1], np.diff(self.mesh.breaks)))
        return np.concatenate([[0.0], starts + widths * places])

    @cached_property
    def point_times(self) -> Array:
        """(points,) normalised times of the collocation points."""
        times, places = np.empty(self.points), np.concatenate([r.points for r in self.rules])
        starts, widths = (np.repeat(a, self.sizes) for a in (self.mesh.breaks[:-1], np.diff(self.mesh.breaks)))
        times[self.visits] = starts + widths * places
        return times

    # Controls that are described by fewer values than there are collocation points.

    @cached_property
    def control_entries(self) -> tuple[Index, Index, Array]:
        """Triplets of the map from the control unknowns to the controls at the points, row = point * nu + control."""
        nu = self.nu
        if self.shares_nodes:
            index = np.arange(self.points * nu)
            return index, index, np.ones(index.size)
        full = self.u_count == self.sizes[:, None]
        points, controls = np.nonzero(full[self.interval_of])
        of = self.interval_of[points]
        rows, columns = [points * nu + controls], [self.u_offset[of, controls] + points - self.first_point[of]]
        values = [np.ones(points.size)]
        intervals, controls = np.nonzero(~full)
        kinds = np.stack([self.sizes[intervals], self.u_count[intervals, controls]], axis=1)
        for kind in set(map(tuple, kinds.tolist())):
            alike = np.flatnonzero((kinds == kind).all(axis=1))
            k, j = intervals[alike], controls[alike]
            basis = lagrange_basis(self.control_nodes(int(k[0]), int(j[0])), self.rules[k[0]].points)
            a, b = np.nonzero(basis)
            rows.append(((self.first_point[k][:, None] + a) * nu + j[:, None]).ravel())
            columns.append((self.u_offset[k, j][:, None] + b).ravel())
            values.append(np.tile(basis[a, b], k.size))
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)

    def control_nodes(self, interval: int, control: int) -> Array:
        """Normalised places of the values that describe a control on an interval."""
        rule, count = self.rules[interval], self.u_count[interval, control]
        if count == rule.points.size:
            return rule.points
        # With its values at both ends a linear control stays within its bounds all along.
        return np.full(1, 0.5) if count == 1 else np.linspace(0.0, 1.0, int(count))


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything is in the vector of unknowns and among the constraint rows."""

    form: NormalForm
    scheme: Scheme
    phases: tuple[PhaseLayout, ...]
    unknowns: int
    constraints: int

    def statics(self, y: Vector) -> Vector:
        return y[self.phases[-1].unknowns[-1] : self.unknowns]

    def condition_rows(self, g: Vector) -> Vector:
        """Conditions over endpoints, then path constraints on states at open starts."""
        return g[self.phases[-1].rows[-1] : self.constraints]

    def endpoints(self, phase: int) -> tuple[slice, ...]:
        """Where t0, tf, x0, xf, z0, zf, u0, uf and q of a phase are in the endpoint column; the static variables follow it."""
        sizes = [[1, 1, ph.nx, ph.nx, ph.nz, ph.nz, ph.nu, ph.nu, ph.form.l.numel()] for ph in self.phases]
        ends = np.cumsum([0, *sizes[phase]]) + sum(sum(other) for other in sizes[:phase])
        return tuple(slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def make_layout(form: NormalForm, kernels: Kernels, scheme: Scheme, meshes: tuple[Mesh, ...]) -> Layout:
    """Number the unknowns and the constraint rows."""
    phases, unknown, row = [], 0, 0
    for phase, kernel, mesh in zip(form.phases, kernels.phases, meshes, strict=True):
        layout = _phase_layout(phase, kernel, scheme, mesh, unknown, row)
        phases.append(layout)
        unknown, row = layout.unknowns[-1], layout.rows[-1]
    conditions = form.b.numel() + len(kernels.start_paths)
    return Layout(form, scheme, tuple(phases), unknown + form.s.numel(), row + conditions)


def _phase_layout(phase: PhaseForm, kernels: PhaseKernels, scheme: Scheme, mesh: Mesh, unknown: int, row: int) -> PhaseLayout:
    rules = tuple(scheme.rule(int(d)) for d in mesh.degrees)
    nx, nz, nu = phase.x.numel(), phase.z.numel(), phase.u.numel()
    first = np.concatenate([[0], np.cumsum([r.support.size - 1 for r in rules])])
    sizes = np.array([r.points.size for r in rules])
    if scheme.shares_nodes:
        first_point, points = first[:-1], int(first[-1]) + 1
        point_state = np.arange(points)
    else:
        first_point, points = np.concatenate([[0], np.cumsum(sizes)[:-1]]), int(sizes.sum())
        point_state = np.concatenate([f + r.at for f, r in zip(first[:-1], rules, strict=True)])
    count = np.repeat(sizes[:, None], nu, axis=1)
    if mesh.control_points is not None and not scheme.shares_nodes:
        fewer = np.maximum(count + mesh.control_points, 1)
        count = np.where(mesh.control_points > 0, np.minimum(mesh.control_points, count), fewer)
    offset = (np.cumsum(count.ravel()) - count.ravel()).reshape(count.shape)
    defects = np.array([r.defects for r in rules])
    integrals = len(kernels.unknown_integrals)
    controls = points * nu if scheme.shares_nodes else int(count.sum())
    unknowns = unknown + np.cumsum([0, (int(first[-1]) + 1) * nx, points * nz, controls, 2 + len(mesh.knots), integrals])
    spans = len(mesh.knots) + 1 if mesh.knots else 0
    rows = row + np.cumsum([0, defects.sum() * nx, points * phase.g.numel(), points * phase.c.numel(), integrals, spans])
    return PhaseLayout(
        phase, mesh, scheme.shares_nodes, rules, sizes, first, first_point, points, point_state, count, offset,
        np.cumsum(defects) - defects, tuple(unknowns.tolist()), tuple(rows.tolist()),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PhaseValues:
    """The values of one phase, in physical units."""

    spans: Array  # times of start, moving knots and end
    breaks: Array  # times of the nodes
    X: Array  # (state points, nx)
    Z: Array  # (points, nz)
    U: Array  # (points, nu)
    integrals: Array  # of those that are unknowns

    @property
    def t0(self) -> float:
        return float(self.spans[0])

    @property
    def tf(self) -> float:
        return float(self.spans[-1])


def unpack(ph: PhaseLayout, y: Array) -> PhaseValues:
    """The values of a phase from the unknowns."""
    spans = ph.span_times(y)
    breaks = np.interp(ph.mesh.breaks, ph.mesh.spans[0], spans)
    return PhaseValues(spans, breaks, ph.states(y), ph.algebraics(y), ph.controls(y), ph.integral_values(y))


def pack(layout: Layout, guess: Guess, span_times: tuple[Array | None, ...] | None = None) -> Array:
    """The unknowns from a guess; ``span_times`` of phases with moving knots."""
    y = np.zeros(layout.unknowns)
    for i, (ph, start) in enumerate(zip(layout.phases, guess.phases, strict=True)):
        given = None if span_times is None else span_times[i]
        spans = start.t0 + ph.mesh.spans[0] * (start.tf - start.t0) if given is None else given
        ph.span_times(y)[:] = spans

        def tau(normalised: Array, ph: PhaseLayout = ph, spans: Array = spans, start: PhaseGuess = start) -> Array:
            times = np.interp(normalised, ph.mesh.spans[0], spans)
            return np.clip((times - start.t0) / (start.tf - start.t0), 0.0, 1.0)

        ph.states(y)[:] = start.x(tau(ph.state_times))
        if ph.nz:
            ph.algebraics(y)[:] = start.z(tau(ph.point_times))
        ph.control_unknowns(y)[:] = _packed_controls(ph, start, tau)
    layout.statics(y)[:] = guess.s
    return y


def _packed_controls(ph: PhaseLayout, start: PhaseGuess, tau: Callable[[Array], Array]) -> Array:
    if ph.shares_nodes or (ph.nu == 1 and bool(np.all(ph.u_count[:, 0] == ph.sizes))):
        return start.u(tau(ph.point_times)).ravel()
    counts = ph.u_count.ravel()
    nodes = [ph.control_nodes(k, j) for k in range(ph.mesh.intervals) for j in range(ph.nu)]
    starts, widths = (np.repeat(np.repeat(a, ph.nu), counts) for a in (ph.mesh.breaks[:-1], np.diff(ph.mesh.breaks)))
    values = start.u(tau(starts + widths * np.concatenate([np.zeros(0), *nodes])))
    which = np.repeat(np.tile(np.arange(ph.nu), ph.mesh.intervals), counts)
    return values[np.arange(which.size), which]
