"""Packing: where the unknowns and the constraint rows of a program are, and the values by phase that they hold.

``PhaseLayout`` owns every index of a phase; its points in time are those of its ``TimeGrid``. Its accessors (``states``,
``path_rows``, ...) return the part of a vector that belongs to a phase, as a view in the shape of that part; applied to
``numpy.arange`` they give the indices of that part.
``pack`` and ``unpack`` go from values to unknowns and back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.kernels import Kernels, PhaseKernels
from trajopt.direct.mesh import Mesh
from trajopt.direct.schemes import Scheme
from trajopt.direct.time_grid import ControlGrid, TimeGrid
from trajopt.guess import Guess, PhaseGuess
from trajopt.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]
Index = NDArray[np.int_]
Vector = NDArray[Any]  # values, bounds, multipliers or indices


@dataclass(frozen=True, eq=False)
class PhaseLayout:
    """Where the unknowns and the constraint rows of one phase are."""

    form: PhaseForm
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
    unknowns: tuple[int, ...]  # ends of the parts of the unknowns: start, x, z, u, times, integrals
    rows: tuple[int, ...]  # ends of the parts of the constraint rows: start, defects, algebraic, path, integrals, spans

    @property
    def mesh(self) -> Mesh:
        return self.grid.mesh

    # Parts of a vector of unknowns (values, bounds, multipliers of bounds, indices).

    def _unknowns(self, y: Vector, part: int) -> Vector:
        return y[self.unknowns[part] : self.unknowns[part + 1]]

    def states(self, y: Vector) -> Vector:
        """(state points, states)"""
        return self._unknowns(y, 0).reshape(self.grid.state_points, self.nx)

    def algebraics(self, y: Vector) -> Vector:
        """(points, algebraic variables)"""
        return self._unknowns(y, 1).reshape(self.grid.points, self.nz)

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
        return self.control_grid.on(self.control_unknowns(y), interval, control)

    def controls(self, y: Array) -> Array:
        """(points, controls): the controls at the collocation points."""
        return self.control_grid.at_points(self.control_unknowns(y))

    # Parts of a vector of constraint rows.

    def _rows(self, g: Vector, part: int) -> Vector:
        return g[self.rows[part] : self.rows[part + 1]]

    def defect_rows(self, g: Vector) -> Vector:
        """(defects, states)"""
        return self._rows(g, 0).reshape(-1, self.nx)

    def algebraic_rows(self, g: Vector) -> Vector:
        """(points, algebraic equations)"""
        return self._rows(g, 1).reshape(self.grid.points, self.ng)

    def path_rows(self, g: Vector) -> Vector:
        """(points, path constraints)"""
        return self._rows(g, 2).reshape(self.grid.points, self.nc)

    def integral_rows(self, g: Vector) -> Vector:
        return self._rows(g, 3)

    def span_rows(self, g: Vector) -> Vector:
        """Rows that keep moving knots in order."""
        return self._rows(g, 4)

    # The inputs and outputs of the kernel at a point.

    def inputs(self, x: Vector, z: Vector, u: Vector, s: Vector, spans: Vector) -> Vector:
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
        ends = itertools.accumulate(sizes[phase], initial=sum(sum(other) for other in sizes[:phase]))
        return tuple(slice(a, b) for a, b in itertools.pairwise(ends))


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
    grid = TimeGrid.of(scheme, mesh)
    nx, nz, nu, ng, nc = (int(part.numel()) for part in (phase.x, phase.z, phase.u, phase.g, phase.c))
    control_grid = ControlGrid.of(grid, nu)
    defects = np.array([r.defects for r in grid.rules])
    integrals, points = len(kernels.unknown_integrals), grid.points
    knots = len(mesh.knots)
    unknowns = unknown + np.cumsum([0, grid.state_points * nx, points * nz, control_grid.size, 2 + knots, integrals])
    rows = row + np.cumsum([0, defects.sum() * nx, points * ng, points * nc, integrals, knots + 1 if knots else 0])
    free_time = bool(knots) or not (phase.start_time.fixed[0] and phase.end_time.fixed[0])
    return PhaseLayout(
        phase, grid, control_grid, nx, nz, nu, ng, nc, integrals, free_time,
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

        ph.states(y)[:] = start.x(tau(ph.grid.state_times))
        if ph.nz:
            ph.algebraics(y)[:] = start.z(tau(ph.grid.point_times))
        ph.control_unknowns(y)[:] = _packed_controls(ph, start, tau)
    layout.statics(y)[:] = guess.s
    return y


def _packed_controls(ph: PhaseLayout, start: PhaseGuess, tau: Callable[[Array], Array]) -> Array:
    grid, count = ph.grid, ph.control_grid.count
    if grid.shares_nodes or (ph.nu == 1 and bool(np.all(count[:, 0] == grid.sizes))):
        return start.u(tau(grid.point_times)).ravel()
    counts = count.ravel()
    nodes = [ph.control_grid.nodes(k, j) for k in range(ph.mesh.intervals) for j in range(ph.nu)]
    starts, widths = (np.repeat(np.repeat(a, ph.nu), counts) for a in (ph.mesh.breaks[:-1], np.diff(ph.mesh.breaks)))
    values = start.u(tau(starts + widths * np.concatenate([np.zeros(0), *nodes])))
    which = np.repeat(np.tile(np.arange(ph.nu), ph.mesh.intervals), counts)
    return values[np.arange(which.size), which]
