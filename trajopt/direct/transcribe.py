"""From a problem and its meshes to a program, and from the program's answer back to values by phase.

``PhaseLayout`` owns every index of a phase: nothing else does arithmetic on the decision vector.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajopt.bounds import Bound
from trajopt.curve import lagrange_basis
from trajopt.direct.kernels import Kernels, PhaseKernels
from trajopt.direct.mesh import AT_LOWER, AT_UPPER, FREE, Mesh
from trajopt.direct.schemes import Rule, Scheme
from trajopt.nlp.lines import Lines, compressed
from trajopt.nlp.program import Block, Kernel, Program, places
from trajopt.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]
Index = NDArray[np.int_]

HAIR = 1e-8  # of slack for bounds where controls are held: they can leave a state no interior between its own


@dataclass(frozen=True, eq=False)
class PhaseLayout:
    """Where the unknowns and the constraint rows of one phase are."""

    form: PhaseForm
    mesh: Mesh
    shares_nodes: bool  # neighbouring intervals share the points, and the controls, at their nodes
    rules: tuple[Rule, ...]  # of each interval
    sizes: Index  # (intervals,): how many collocation points each has
    first: Index  # (intervals + 1,): the place of each node among the state points
    first_point: Index  # (intervals,): the first collocation point of each interval
    points: int
    point_state: Index  # (points,): the state point that each collocation point sits at
    x: int  # offsets of the blocks of unknowns
    z: int
    u: int
    times: int
    integrals: int
    end: int
    u_first: Index  # (intervals, controls): the first unknown of each control on each interval (unused where nodes are shared)
    u_count: Index
    defect_first: Index  # (intervals,): the first defect, in units of nx rows
    rows: int  # the first constraint row of the phase
    g_rows: int
    c_rows: int
    q_rows: int
    span_rows: int  # that keep moving knots in order
    rows_end: int

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

    def order(self, kernel: Kernel, column: int) -> int:
        """The number of the first time derivative of a state or path constraint that the controls enter; 0 if they never do."""
        rows, columns = kernel.constraint_pattern
        depends = np.zeros((kernel.constraint_rows, kernel.inputs), dtype=bool)
        depends[rows, columns] = True
        rates = depends[: self.nx, : self.nx]
        controls = np.asarray(depends[: self.nx, self.nx + self.nz : self.nx + self.nz + self.nu].any(axis=1))
        states: NDArray[np.bool_] = (
            np.eye(self.nx, dtype=bool)[column] if column < self.nx else depends[self.form.g.numel() + column, : self.nx]
        )
        for order in range(1, self.nx + 1):
            if controls[states].any():
                return order
            states = np.asarray(states | rates[states].any(axis=0), dtype=bool)
        return 0

    def state_times(self) -> Array:
        """(state points,) normalised times."""
        inner = np.diff(self.first)
        places = np.concatenate([r.support[1:] for r in self.rules])
        return np.concatenate([[0.0], self._starts(inner) + np.repeat(np.diff(self.mesh.breaks), inner) * places])

    def point_times(self) -> Array:
        """(points,) normalised times of the collocation points."""
        times = np.empty(self.points)
        places = np.concatenate([r.points for r in self.rules])
        times[self.visits] = self._starts(self.sizes) + np.repeat(np.diff(self.mesh.breaks), self.sizes) * places
        return times

    def _starts(self, counts: Index) -> Array:
        return np.repeat(self.mesh.breaks[:-1], counts)

    def controls(self, y: Array) -> Array:
        """(points, controls): the controls at the collocation points."""
        rows, columns, values = self.control_entries
        flat = np.asarray(np.bincount(rows, values * y[columns], self.points * self.nu), dtype=float)
        return flat.reshape(self.points, self.nu)

    @cached_property
    def control_entries(self) -> tuple[Index, Index, Array]:
        """Triplets of the map from the unknowns to the controls at the collocation points, row = point * nu + control."""
        nu = self.nu
        if self.shares_nodes:
            index = np.arange(self.points * nu)
            return index, self.u + index, np.ones(index.size)
        full = self.u_count == self.sizes[:, None]
        points, controls = np.nonzero(full[self.interval_of])
        of = self.interval_of[points]
        rows, columns = [points * nu + controls], [self.u_first[of, controls] + points - self.first_point[of]]
        values = [np.ones(points.size)]
        intervals, controls = np.nonzero(~full)
        kinds = np.stack([self.sizes[intervals], self.u_count[intervals, controls]], axis=1)
        for kind in set(map(tuple, kinds.tolist())):
            alike = np.flatnonzero((kinds == kind).all(axis=1))
            k, j = intervals[alike], controls[alike]
            basis = lagrange_basis(self.control_nodes(int(k[0]), int(j[0])), self.rules[k[0]].points)
            a, b = np.nonzero(basis)
            rows.append(((self.first_point[k][:, None] + a) * nu + j[:, None]).ravel())
            columns.append((self.u_first[k, j][:, None] + b).ravel())
            values.append(np.tile(basis[a, b], k.size))
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)

    def control_nodes(self, interval: int, control: int) -> Array:
        """Normalised places of the values that describe a control on an interval."""
        rule, count = self.rules[interval], self.u_count[interval, control]
        if count == rule.points.size:
            return rule.points
        # With its values at both ends a straight control stays within its bounds all along.
        return np.full(1, 0.5) if count == 1 else np.linspace(0.0, 1.0, int(count))


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything is in the decision vector and among the constraint rows."""

    form: NormalForm
    scheme: Scheme
    phases: tuple[PhaseLayout, ...]
    s: int
    unknowns: int
    b_rows: int
    constraints: int


def make_layout(form: NormalForm, kernels: Kernels, scheme: Scheme, meshes: tuple[Mesh, ...]) -> Layout:
    """Number the unknowns and the constraint rows."""
    phases, unknown, row = [], 0, 0
    for phase, kernel, mesh in zip(form.phases, kernels.phases, meshes, strict=True):
        layout = _phase_layout(phase, kernel, scheme, mesh, unknown, row)
        phases.append(layout)
        unknown, row = layout.end, layout.rows_end
    return Layout(
        form, scheme, tuple(phases), unknown, unknown + form.s.numel(), row, row + form.b.numel() + len(kernels.start_paths)
    )


def _phase_layout(phase: PhaseForm, kernels: PhaseKernels, scheme: Scheme, mesh: Mesh, unknown: int, row: int) -> PhaseLayout:
    rules = tuple(scheme.rule(int(d)) for d in mesh.degrees)
    nx, nz, nu = phase.x.numel(), phase.z.numel(), phase.u.numel()
    inner = np.array([r.support.size - 1 for r in rules])
    first = np.concatenate([[0], np.cumsum(inner)])
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
    x = unknown
    z = x + (int(first[-1]) + 1) * nx
    u = z + points * nz
    u_first = u + np.concatenate([[0], np.cumsum(count.ravel())[:-1]]).reshape(count.shape) if nu else np.zeros(count.shape, int)
    times = u + (points * nu if scheme.shares_nodes else int(count.sum()))
    integrals = times + 2 + len(mesh.knots)
    defects = np.array([r.defects for r in rules])
    g_rows = row + int(defects.sum()) * nx
    c_rows = g_rows + points * phase.g.numel()
    q_rows = c_rows + points * phase.c.numel()
    unknown_integrals = len(kernels.unknown_integrals)
    span_rows = q_rows + unknown_integrals
    spans = len(mesh.knots) + 1 if mesh.knots else 0
    return PhaseLayout(
        phase, mesh, scheme.shares_nodes, rules, sizes, first, first_point, points, point_state,
        x, z, u, times, integrals, integrals + unknown_integrals, u_first, count,
        np.concatenate([[0], np.cumsum(defects)[:-1]]), row, g_rows, c_rows, q_rows, span_rows, span_rows + spans,
    )  # fmt: skip


def transcribe(kernels: Kernels, layout: Layout, start: Array, parameters: Array) -> Program:
    """The program, in physical units."""
    blocks = [_phase_block(ph, k, layout) for ph, k in zip(layout.phases, kernels.phases, strict=True)]
    blocks.append(_endpoint_block(kernels, layout))
    lower, upper = variable_bounds(layout)
    g_lower, g_upper = np.zeros(layout.constraints), np.zeros(layout.constraints)
    for ph, kernel in zip(layout.phases, kernels.phases, strict=True):
        bound = ph.form.c_bound
        g_lower[ph.c_rows : ph.q_rows] = np.tile(bound.lower, ph.points)
        g_upper[ph.c_rows : ph.q_rows] = np.tile(bound.upper, ph.points)
        _hold_paths(ph, kernel, g_lower, g_upper)
        g_upper[ph.span_rows : ph.rows_end] = np.inf
    ends = [layout.phases[i].form.c_bound for i, _ in kernels.start_paths]
    at = [row for _, row in kernels.start_paths]
    g_lower[layout.b_rows :] = [*layout.form.b_bound.lower, *[b.lower[r] for b, r in zip(ends, at, strict=True)]]
    g_upper[layout.b_rows :] = [*layout.form.b_bound.upper, *[b.upper[r] for b, r in zip(ends, at, strict=True)]]
    parts = [_linear_part(ph) for ph in layout.phases]
    rows, columns, values = (np.concatenate([part[i] for part in parts]) for i in range(3))
    linear = compressed(columns, rows, values, (layout.unknowns, layout.constraints))
    slack = HAIR if any(ph.mesh.roles is not None for ph in layout.phases) else 0.0
    start = np.clip(start, lower, upper)
    program = Program(tuple(blocks), linear, lower, upper, g_lower, g_upper, start, parameters, slack=slack)
    return _with_integrals(layout, program)


def _with_integrals(layout: Layout, program: Program) -> Program:
    """Unknown integrals begin as the quadrature of the guess: at zero, a root or a quotient of them has no derivative."""
    if all(ph.end == ph.integrals for ph in layout.phases):
        return program
    start = program.start.copy()
    for ph, block in zip(layout.phases, program.blocks[:-1], strict=True):
        if ph.end > ph.integrals:
            outputs = np.asarray(block.kernel.constraints(*places(block, program)))
            start[ph.integrals : ph.end] = np.nan_to_num(-block.scatter.across(outputs.T.ravel())[ph.q_rows : ph.span_rows])
    return replace(program, start=start)


def _phase_block(ph: PhaseLayout, kernels: PhaseKernels, layout: Layout) -> Block:
    kernel = kernels.free_time if ph.free_time else kernels.fixed_time
    knots, span_of = ph.mesh.spans
    point_span = span_of[ph.interval_of]
    theta = (ph.point_times() - knots[point_span]) / (knots[point_span + 1] - knots[point_span])
    data = theta[None, :]
    if not ph.free_time:
        ends = np.array([ph.form.start_time.lower[0], ph.form.end_time.lower[0]])
        data = np.vstack([theta, np.full(ph.points, ends[0]), np.full(ph.points, ends[1])])
    weights = ph.weights if kernel.objective_rows else np.zeros(0)
    return Block(kernel, ph.points, _gather(ph, layout, point_span), data, _scatter(ph, layout), weights)


def _gather(ph: PhaseLayout, layout: Layout, point_span: Index) -> Lines:
    """Inputs (x, z, u, s[, start, end of span]) of every collocation point from the unknowns."""
    nx, nz, nu, ns = ph.nx, ph.nz, ph.nu, layout.form.s.numel()
    inputs = nx + nz + nu + ns + (2 if ph.free_time else 0)
    base = np.arange(ph.points)[:, None] * inputs
    parts = [  # the first input of each kind, and (points, inputs of the kind) the unknowns that they are
        (0, ph.x + ph.point_state[:, None] * nx + np.arange(nx)),
        (nx, np.arange(ph.z, ph.z + ph.points * nz).reshape(ph.points, nz)),
        (nx + nz + nu, np.broadcast_to(np.arange(layout.s, layout.s + ns), (ph.points, ns))),
    ]
    if ph.free_time:
        parts.append((nx + nz + nu + ns, ph.times + point_span[:, None] + np.arange(2)))
    u_rows, u_columns, u_values = ph.control_entries
    point, component = u_rows // max(nu, 1), u_rows % max(nu, 1)
    rows = np.concatenate([(base + first + np.arange(of.shape[1])).ravel() for first, of in parts])
    columns = np.concatenate([of.ravel() for _, of in parts])
    values = np.concatenate([np.ones(columns.size), u_values])
    rows = np.concatenate([rows, point * inputs + nx + nz + component])
    return compressed(rows, np.concatenate([columns, u_columns]), values, (ph.points * inputs, layout.unknowns))


def _scatter(ph: PhaseLayout, layout: Layout) -> Lines:
    """Constraint rows from the outputs (span f, g, c, span l) of every collocation point."""
    nx, ng, nc = ph.nx, ph.form.g.numel(), ph.form.c.numel()
    nq = ph.end - ph.integrals
    outputs = nx + ng + nc + nq
    h = ph.widths
    rows, columns, values = [], [], []
    for rule, here in ph.groups:
        a, e = np.nonzero(rule.Q)
        i = np.arange(nx)
        row = ph.rows + (ph.defect_first[here][:, None, None] + a[:, None]) * nx + i
        column = (ph.first_point[here][:, None, None] + e[:, None]) * outputs + i
        value = h[here][:, None, None] * rule.Q[a, e][:, None]
        rows.append(row.ravel())
        columns.append(column.ravel())
        values.append(np.broadcast_to(value, row.shape).ravel())
        for j in range(nq):
            column = (ph.first_point[here][:, None] + np.arange(rule.points.size)) * outputs + nx + ng + nc + j
            rows.append(np.full(column.size, ph.q_rows + j))
            columns.append(column.ravel())
            values.append((-h[here][:, None] * rule.weights).ravel())
    for count, offset, first in ((ng, nx, ph.g_rows), (nc, nx + ng, ph.c_rows)):
        rows.append(first + np.arange(ph.points * count))
        columns.append((np.arange(ph.points)[:, None] * outputs + offset + np.arange(count)).ravel())
        values.append(np.ones(ph.points * count))
    triplets = np.concatenate(columns), np.concatenate(rows), np.concatenate(values)
    return compressed(*triplets, (ph.points * outputs, layout.constraints))


def _linear_part(ph: PhaseLayout) -> tuple[Index, Index, Array]:
    """P X in the defects, the unknown integrals in their rows, and the lengths of the spans between moving knots."""
    nx = ph.nx
    rows, columns, values = [], [], []
    for rule, here in ph.groups:
        a, c = np.nonzero(rule.P)
        i = np.arange(nx)
        row = ph.rows + (ph.defect_first[here][:, None, None] + a[:, None]) * nx + i
        rows.append(row.ravel())
        columns.append((ph.x + (ph.first[here][:, None, None] + c[:, None]) * nx + i).ravel())
        values.append(np.broadcast_to(rule.P[a, c][:, None], row.shape).ravel())
    count = ph.end - ph.integrals
    rows.append(ph.q_rows + np.arange(count))
    columns.append(ph.integrals + np.arange(count))
    values.append(np.ones(count))
    spans = np.arange(ph.rows_end - ph.span_rows)
    rows.append(np.repeat(ph.span_rows + spans, 2))
    columns.append((ph.times + spans[:, None] + np.arange(2)).ravel())
    values.append(np.tile([-1.0, 1.0], spans.size))
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)


def _endpoint_block(kernels: Kernels, layout: Layout) -> Block:
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    place = 0

    def put(count: int, first: int) -> None:
        nonlocal place
        rows.extend(range(place, place + count))
        columns.extend(range(first, first + count))
        values.extend([1.0] * count)
        place += count

    for ph, kernel in zip(layout.phases, kernels.phases, strict=True):
        put(1, ph.times)
        put(1, ph.times + 1 + len(ph.mesh.knots))
        put(ph.nx, ph.x)
        put(ph.nx, ph.x + (ph.state_points - 1) * ph.nx)
        for side, interval in enumerate((0, ph.mesh.intervals - 1)):  # algebraic variables at the ends continue their polynomials
            basis, start = ph.rules[interval].at_ends[side], ph.first_point[interval]
            for j in range(ph.nz):
                rows.extend([place + j] * basis.size)
                columns.extend(ph.z + (start + np.arange(basis.size)) * ph.nz + j)
                values.extend(basis)
            place += ph.nz
        for side, interval in enumerate((0, ph.mesh.intervals - 1)):
            rule = ph.rules[interval]
            for j in range(ph.nu):
                nodes = ph.control_nodes(interval, j)
                basis = rule.at_ends[side] if nodes is rule.points else lagrange_basis(nodes, np.array([float(side)]))[0]
                rows.extend([place + j] * basis.size)
                columns.extend(control_unknowns(ph, interval, j))
                values.extend(basis)
            place += ph.nu
        for j in range(ph.form.l.numel()):
            if j in kernel.unknown_integrals:
                put(1, ph.integrals + kernel.unknown_integrals.index(j))
            else:
                place += 1  # summed into the cost directly; its place in the endpoint column stays zero
    put(layout.form.s.numel(), layout.s)
    gather = compressed(rows, columns, values, (place, layout.unknowns))
    count = kernels.endpoints.constraint_rows
    scatter = compressed(np.arange(count), layout.b_rows + np.arange(count), np.ones(count), (count, layout.constraints))
    return Block(kernels.endpoints, 1, gather, np.zeros((0, 1)), scatter, np.ones(1))


def control_unknowns(ph: PhaseLayout, interval: int, control: int) -> Index:
    """The unknowns that describe a control on an interval."""
    if ph.shares_nodes:
        points = ph.first_point[interval] + np.arange(ph.rules[interval].points.size)
        return np.asarray(ph.u + points * ph.nu + control)
    return np.asarray(ph.u_first[interval, control] + np.arange(ph.u_count[interval, control]))


def variable_bounds(layout: Layout) -> tuple[Array, Array]:
    """Bounds of all unknowns, in physical units."""
    lower, upper = np.full(layout.unknowns, -np.inf), np.full(layout.unknowns, np.inf)
    for ph in layout.phases:
        form = ph.form
        _set(lower, upper, ph.x, form.x_bound, ph.state_points)
        _set(lower, upper, ph.z, form.z_bound, ph.points)
        _set(lower, upper, ph.x, form.x_start, 1)
        _set(lower, upper, ph.x + (ph.state_points - 1) * ph.nx, form.x_end, 1)
        _hold_states(ph, lower, upper)
        _control_bounds(ph, lower, upper)
        knots = ph.mesh.spans[0]
        last = ph.times + knots.size - 1
        lower[ph.times], upper[ph.times] = form.start_time.lower[0], form.start_time.upper[0]
        lower[last], upper[last] = form.end_time.lower[0], form.end_time.upper[0]
    for q in layout.form.statics:
        lower[layout.s + q.rows.start : layout.s + q.rows.stop] = q.bound.lower
        upper[layout.s + q.rows.start : layout.s + q.rows.stop] = q.bound.upper
    return lower, upper


def _hold_states(ph: PhaseLayout, lower: Array, upper: Array) -> None:
    """States that ride a bound stay there, from the first node of the arc to its last; boundary values come first."""
    if ph.mesh.held is None:
        return
    bound = ph.form.x_bound
    for k, i in np.argwhere(ph.mesh.held[:, : ph.nx] != FREE):
        here = ph.x + np.arange(ph.first[k], ph.first[k + 1] + 1) * ph.nx + i
        value = (bound.lower if ph.mesh.held[k, i] == AT_LOWER else bound.upper)[i]
        here = here[(lower[here] <= value) & (value <= upper[here])]
        lower[here] = upper[here] = value


def _hold_paths(ph: PhaseLayout, kernels: PhaseKernels, g_lower: Array, g_upper: Array) -> None:
    """Path constraints that hold an arc are equalities there; those on states alone from the arc's first node on."""
    if ph.mesh.held is None:
        return
    bound, count = ph.form.c_bound, ph.form.c.numel()
    for k, row in np.argwhere(ph.mesh.held[:, ph.nx :] != FREE):
        role = ph.mesh.held[k, ph.nx + row]
        entered = (kernels.state_paths[row] or k in ph.mesh.joined) and k > 0 and ph.mesh.held[k - 1, ph.nx + row] == FREE
        first = ph.first_point[k] - (1 if entered and ph.rules[k - 1].points[-1] == 1.0 else 0)
        points = np.arange(first, ph.first_point[k] + ph.rules[k].points.size)
        here = ph.c_rows + points * count + row
        g_lower[here] = g_upper[here] = (bound.lower if role == AT_LOWER else bound.upper)[row]


def _set(lower: Array, upper: Array, first: int, bound: Bound, repeat: int) -> None:
    here = slice(first, first + repeat * bound.size)
    lower[here].reshape(repeat, bound.size)[:] = bound.lower
    upper[here].reshape(repeat, bound.size)[:] = bound.upper


def _control_bounds(ph: PhaseLayout, lower: Array, upper: Array) -> None:
    bound = ph.form.u_bound
    if ph.shares_nodes:
        _set(lower, upper, ph.u, bound, ph.points)
        return
    roles = ph.mesh.roles if ph.mesh.roles is not None else np.full((ph.mesh.intervals, ph.nu), FREE)
    low = np.where(roles == AT_UPPER, bound.upper, bound.lower)  # (intervals, controls)
    high = np.where(roles == AT_LOWER, bound.lower, bound.upper)
    counts = ph.u_count.ravel()
    lower[ph.u : ph.times] = np.repeat(low.ravel(), counts)
    upper[ph.u : ph.times] = np.repeat(high.ravel(), counts)
    for k in ph.mesh.joined:
        for j in np.flatnonzero((roles[k - 1] == FREE) & (roles[k] != FREE) & (ph.u_count[k - 1] > 1)):
            last = ph.u_first[k - 1, j] + ph.u_count[k - 1, j] - 1
            lower[last] = upper[last] = (bound.lower if roles[k, j] == AT_LOWER else bound.upper)[j]
