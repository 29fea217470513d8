"""Packing: where the unknowns and the constraint rows of a program are, and the values by phase
that they hold.

``PhaseLayout`` owns every index of a phase; its points in time are those of its ``TimeGrid``. Its
parts (``states``, ``path_rows``, ...), applied to a vector, give what belongs to the phase, as a
view in the shape of that part; applied to ``numpy.arange`` they give its indices.
``pack`` and ``unpack`` go from values to unknowns and back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.kernels import Kernels, PhaseKernels
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Scheme
from trajopt.direct.time_grid import ControlGrid, TimeGrid
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectories, Trajectory

Array = NDArray[np.float64]
Index = NDArray[np.int_]
Vector = NDArray[Any]  # values, bounds, multipliers or indices


@dataclass(frozen=True)
class Part:
    """A part of a vector: of unknowns (values, bounds, multipliers, indices) or of rows."""

    first: int
    shape: tuple[int, ...]

    def __call__(self, vector: Vector) -> Vector:
        """The part as a view, in its shape."""
        return vector[self.first : self.first + math.prod(self.shape)].reshape(self.shape)

    def place_of(self, index: int) -> tuple[int, ...]:
        """The place in the part of an index of the vector; empty where it is not in the part."""
        within = index - self.first
        if not 0 <= within < math.prod(self.shape):
            return ()
        return tuple(int(place) for place in np.unravel_index(within, self.shape))


@dataclass(frozen=True, eq=False)
class PhaseLayout:
    """Where the unknowns and the constraint rows of one phase are."""

    form: PhaseForm
    mesh: Mesh
    grid: TimeGrid
    control_grid: ControlGrid
    nx: int  # number of states
    nz: int  # of algebraic variables
    nu: int  # of controls
    ng: int  # of algebraic equations
    nc: int  # of path constraints
    nq: int  # of integrals that are unknowns
    free_time: bool  # start and end of its span are inputs of the kernel
    defect_first: Index  # (intervals,): the first defect, in units of nx rows

    # Parts of a vector of unknowns.
    states: Part  # (state points, states)
    algebraics: Part  # (points, algebraic variables)
    # All values that describe controls: interval by interval, control by control; point by point
    # where nodes are shared.
    control_unknowns: Part
    span_times: Part  # of start, moving knots and end
    integral_values: Part  # the integrals that are unknowns

    # Parts of a vector of constraint rows.
    defect_rows: Part  # (defects, states)
    algebraic_rows: Part  # (points, algebraic equations)
    path_rows: Part  # (points, path constraints)
    integral_rows: Part
    span_rows: Part  # rows that keep moving knots in order

    # The inputs and outputs of the kernel at a point.
    control_inputs: slice  # the controls among its inputs
    outputs: tuple[slice, slice, slice, slice]  # rates, algebraic, path constraints, integrands

    def control_on(self, y: Vector, interval: int, control: int) -> Vector:
        """The values that describe a control on an interval."""
        return self.control_grid.on(self.control_unknowns(y), interval, control)

    def controls(self, y: Array) -> Array:
        """(points, controls): the controls at the collocation points."""
        return self.control_grid.at_points(self.control_unknowns(y))

    def inputs(self, x: Vector, z: Vector, u: Vector, s: Vector, spans: Vector) -> Vector:
        """(places, inputs of the kernel) from x, z, u of each place, the static variables, and
        start and end of its span.
        """
        shared = np.broadcast_to(s, (x.shape[0], s.size))
        return np.hstack([x, z, u, shared, *([spans] if self.free_time else [])])

    def data(self, theta: Array, spans: Array) -> Array:
        """(data of the kernel, places) from normalised time in a span, and its start and end."""
        return np.vstack([theta, *([] if self.free_time else [spans.T])])


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything is in the vector of unknowns and among the constraint rows."""

    form: NormalForm
    scheme: Scheme
    phases: tuple[PhaseLayout, ...]
    statics: Part
    condition_rows: Part  # over endpoints, then path constraints on states at starts
    unknowns: int
    constraints: int
    start_paths: tuple[tuple[int, int], ...] = ()  # (phase, path row) of each of the latter

    def endpoints(self, phase: int) -> tuple[slice, ...]:
        """Where t0, tf, x0, xf, z0, zf, u0, uf and q of a phase are in the endpoint column; the
        static variables follow it.
        """
        sizes = [
            [1, 1, ph.nx, ph.nx, ph.nz, ph.nz, ph.nu, ph.nu, ph.form.l.numel()]
            for ph in self.phases
        ]
        ends = itertools.accumulate(
            sizes[phase], initial=sum(sum(other) for other in sizes[:phase])
        )
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))


def make_layout(
    form: NormalForm, kernels: Kernels, scheme: Scheme, meshes: tuple[Mesh, ...]
) -> Layout:
    """Number the unknowns and the constraint rows."""
    phases, unknown, row = [], 0, 0
    for phase, kernel, mesh in zip(form.phases, kernels.phases, meshes, strict=True):
        layout, unknown, row = _phase_layout(phase, kernel, scheme, mesh, unknown, row)
        phases.append(layout)
    statics = Part(unknown, (form.s.numel(),))
    conditions = Part(row, (form.b.numel() + len(kernels.start_paths),))
    unknowns, constraints = unknown + statics.shape[0], row + conditions.shape[0]
    return Layout(
        form,
        scheme,
        tuple(phases),
        statics,
        conditions,
        unknowns,
        constraints,
        kernels.start_paths,
    )


def _phase_layout(
    phase: PhaseForm, kernels: PhaseKernels, scheme: Scheme, mesh: Mesh, unknown: int, row: int
) -> tuple[PhaseLayout, int, int]:
    """The layout of a phase whose first unknown and row are given, and the next free ones."""
    grid = TimeGrid.of(scheme, mesh)
    nx, nz, nu, ng, nc = (
        int(part.numel()) for part in (phase.x, phase.z, phase.u, phase.g, phase.c)
    )
    control_grid = ControlGrid.of(grid, nu)
    defects = np.array([r.defects for r in grid.rules])
    nq, points, knots = len(kernels.unknown_integrals), grid.points, len(mesh.knots)
    (x, z, u, times, integrals), next_unknown = _parts(
        unknown, (grid.state_points, nx), (points, nz), (control_grid.size,), (2 + knots,), (nq,)
    )
    spans = knots + 1 if knots else 0
    (x_rows, z_rows, path_rows, integral_rows, span_rows), next_row = _parts(
        row, (int(defects.sum()), nx), (points, ng), (points, nc), (nq,), (spans,)
    )
    free_time = bool(knots) or not (phase.start_time.fixed[0] and phase.end_time.fixed[0])
    ends = np.cumsum([0, nx, ng, nc, nq]).tolist()
    rates, algebraic, path, integrands = (slice(a, b) for a, b in itertools.pairwise(ends))
    layout = PhaseLayout(
        phase, mesh, grid, control_grid, nx, nz, nu, ng, nc, nq, free_time,
        np.cumsum(defects) - defects, x, z, u, times, integrals, x_rows, z_rows, path_rows,
        integral_rows, span_rows,
        slice(nx + nz, nx + nz + nu), (rates, algebraic, path, integrands),
    )  # fmt: skip
    return layout, next_unknown, next_row


def _parts(first: int, *shapes: tuple[int, ...]) -> tuple[list[Part], int]:
    """Parts of these shapes, one after the other, and where they end."""
    parts = []
    for shape in shapes:
        parts.append(Part(first, shape))
        first += math.prod(shape)
    return parts, first


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
    # A program ends within a tolerance of its bounds: a phase or an arc that collapses may end
    # before it begins, by round-off. The phase keeps a positive duration, the arc has none.
    times = ph.span_times(y)
    start, end = sorted([times[0], times[-1]])
    spans = np.concatenate([[start], np.clip(times[1:-1], start, end), [end]])
    spans = np.maximum.accumulate(spans)
    breaks = np.interp(ph.mesh.breaks, ph.mesh.spans[0], spans)
    return PhaseValues(
        spans, breaks, ph.states(y), ph.algebraics(y), ph.controls(y), ph.integral_values(y)
    )


def pack(
    layout: Layout, guess: Trajectories, span_times: tuple[Array | None, ...] | None = None
) -> Array:
    """The unknowns from a guess; ``span_times`` of phases with moving knots."""
    y = np.zeros(layout.unknowns)
    for i, (ph, start) in enumerate(zip(layout.phases, guess.phases, strict=True)):
        given = None if span_times is None else span_times[i]
        spans = start.times(ph.mesh.spans[0]) if given is None else given
        ph.span_times(y)[:] = spans

        def times(
            normalised: Array, ph: PhaseLayout = ph, spans: Array = spans, start: Trajectory = start
        ) -> Array:
            return np.clip(np.interp(normalised, ph.mesh.spans[0], spans), start.t0, start.tf)

        ph.states(y)[:] = start.x.evaluate(times(ph.grid.state_times))
        if ph.nz:
            ph.algebraics(y)[:] = start.z.evaluate(times(ph.grid.point_times), left=ph.grid.at_end)
        ph.control_unknowns(y)[:] = _packed_controls(ph, start.u, times)
    layout.statics(y)[:] = guess.s
    return y


def _packed_controls(ph: PhaseLayout, u: Curve, times: Callable[[Array], Array]) -> Array:
    grid, count = ph.grid, ph.control_grid.count
    if grid.shares_nodes or (ph.nu == 1 and bool(np.all(count[:, 0] == grid.sizes))):
        return u.evaluate(times(grid.point_times), left=grid.at_end).ravel()
    counts = count.ravel()
    nodes = [ph.control_grid.nodes(k, j) for k in range(ph.mesh.intervals) for j in range(ph.nu)]
    places = np.concatenate([np.zeros(0), *nodes])
    starts, widths = (
        np.repeat(np.repeat(a, ph.nu), counts)
        for a in (ph.mesh.breaks[:-1], np.diff(ph.mesh.breaks))
    )
    values = u.evaluate(times(starts + widths * places), left=places == 1.0)
    which = np.repeat(np.tile(np.arange(ph.nu), ph.mesh.intervals), counts)
    return values[np.arange(which.size), which]
