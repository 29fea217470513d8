"""Transcription: from a problem on its meshes to a nonlinear program, kernels between sparse
matrices.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.kernels import Kernels, PhaseKernels
from trajopt.direct.packing import Layout, PhaseLayout
from trajopt.direct.samples import sampled_states
from trajopt.nlp.program import Block, Program, arguments
from trajopt.nlp.sparse_rows import SparseRows, compressed, one_each
from trajopt.trajectory.arcs import AT_LOWER, AT_UPPER, FREE
from trajopt.trajectory.curve import lagrange_basis

Array = NDArray[np.float64]
Index = NDArray[np.int_]
Triplets = tuple[Index, Index, Array]


def transcribe(
    kernels: Kernels, layout: Layout, start: Array, parameters: Array, slack: float = 0.0
) -> Program:
    """The program, in physical units.

    ``slack``: by how much, relative to their size, bounds may be overstepped where controls are
    held at theirs: these can leave a state no interior between its own.
    """
    blocks = [
        _phase_block(ph, k, layout) for ph, k in zip(layout.phases, kernels.phases, strict=True)
    ]
    blocks.append(_endpoint_block(kernels, layout))
    lower, upper = variable_bounds(layout)
    g_lower, g_upper = row_bounds(kernels, layout)
    parts = [_linear_part(ph, layout) for ph in layout.phases]
    rows, columns, values = (np.concatenate([part[i] for part in parts]) for i in range(3))
    linear = compressed(columns, rows, values, (layout.unknowns, layout.constraints))
    slack = slack if any(ph.mesh.roles is not None for ph in layout.phases) else 0.0
    start = np.clip(start, lower, upper)
    program = Program(
        tuple(blocks), linear, lower, upper, g_lower, g_upper, start, parameters, slack=slack
    )
    return _with_integrals(layout, program)


def _with_integrals(layout: Layout, program: Program) -> Program:
    """Unknown integrals begin as the quadrature of the guess: at zero, a root or a quotient of them
    has no derivative.
    """
    if not any(ph.nq for ph in layout.phases):
        return program
    start = program.start.copy()
    for ph, block in zip(layout.phases, program.blocks[:-1], strict=True):
        if ph.nq:
            outputs = np.asarray(
                block.kernel.constraints(*arguments(block, program.start, program.parameters))
            )
            ph.integral_values(start)[:] = np.nan_to_num(
                -ph.integral_rows(block.scatter.across(outputs.T.ravel()))
            )
    return replace(program, start=start)


def _phase_block(ph: PhaseLayout, kernels: PhaseKernels, layout: Layout) -> Block:
    kernel = kernels.at_points(ph.free_time)
    weights = ph.grid.weights if kernel.objective_rows else np.zeros(0)
    return Block(
        kernel,
        ph.grid.points,
        _gather(ph, layout),
        place_data(ph),
        _scatter(ph, layout),
        weights,
    )


def place_data(ph: PhaseLayout) -> Array:
    """(data of the kernel, points): what the kernel of a phase knows of each point."""
    knots, span = ph.mesh.spans[0], ph.grid.span_of
    theta = (ph.grid.point_times - knots[span]) / (knots[span + 1] - knots[span])
    ends = np.array([ph.form.start_time.lower[0], ph.form.end_time.lower[0]])
    return ph.data(theta, np.tile(ends, (ph.grid.points, 1)))


def _gather(ph: PhaseLayout, layout: Layout) -> SparseRows:
    """The inputs of the kernel at every collocation point from the unknowns."""
    number = np.arange(layout.unknowns)
    complete = ph.control_grid.complete
    none = np.full((ph.grid.points, ph.nu), -1)  # controls may be sums of several unknowns
    u = ph.control_grid.numbers(ph.control_unknowns(number)) if complete else none
    spans = ph.span_times(number)[ph.grid.span_of[:, None] + np.arange(2)]
    of = ph.inputs(
        ph.states(number)[ph.grid.point_state],
        ph.algebraics(number),
        u,
        layout.statics(number),
        spans,
    )
    if complete:
        return one_each(of.ravel(), np.ones(of.size), layout.unknowns)
    rows = np.flatnonzero(of.ravel() >= 0)
    u_rows, u_columns, u_values = ph.control_grid.entries
    point, component = u_rows // max(ph.nu, 1), u_rows % max(ph.nu, 1)
    return compressed(
        np.concatenate([rows, point * of.shape[1] + ph.control_inputs.start + component]),
        np.concatenate([of.ravel()[rows], ph.control_unknowns(number)[u_columns]]),
        np.concatenate([np.ones(rows.size), u_values]),
        (of.size, layout.unknowns),
    )


def _scatter(ph: PhaseLayout, layout: Layout) -> SparseRows:
    """Constraint rows from the outputs of the kernel at every collocation point."""
    number = np.arange(layout.constraints)
    _, algebraic, path, integrands = ph.outputs
    if ph.grid.own_defects is not None:
        return _scatter_one_each(ph, layout, *ph.grid.own_defects)
    output = np.arange(ph.grid.points * integrands.stop).reshape(ph.grid.points, integrands.stop)
    rows, columns, values = [], [], []
    for rule, here in ph.grid.groups:
        a, e = np.nonzero(rule.Q)
        # (intervals, entries, states)
        row = ph.defect_rows(number)[ph.defect_first[here][:, None] + a]
        column = output[ph.grid.first_point[here][:, None] + e, : ph.nx]
        rows.append(row.ravel())
        columns.append(column.ravel())
        values.append(
            np.broadcast_to(
                (ph.grid.widths[here][:, None] * rule.Q[a, e])[..., None], row.shape
            ).ravel()
        )
        points = ph.grid.points_in(here)
        for j, integral in enumerate(ph.integral_rows(number)):
            columns.append(output[points, integrands.start + j].ravel())
            rows.append(np.full(points.size, integral))
            values.append((-ph.grid.widths[here][:, None] * rule.weights).ravel())
    for part, of in ((algebraic, ph.algebraic_rows(number)), (path, ph.path_rows(number))):
        rows.append(of.ravel())
        columns.append(output[:, part].ravel())
        values.append(np.ones(of.size))
    triplets = np.concatenate(columns), np.concatenate(rows), np.concatenate(values)
    return compressed(*triplets, (output.size, layout.constraints))


def _scatter_one_each(
    ph: PhaseLayout, layout: Layout, defects: Index, factors: Array
) -> SparseRows:
    """Constraint rows from the outputs of the kernel, if every output enters one row only."""
    number, (rates, algebraic, path, integrands) = np.arange(layout.constraints), ph.outputs
    shape = ph.grid.points, integrands.stop
    rows, values = np.empty(shape, dtype=int), np.ones(shape)
    rows[:, rates] = ph.defect_rows(number)[defects + ph.defect_first[ph.grid.interval_of]]
    values[:, rates] = factors[:, None]
    rows[:, algebraic], rows[:, path] = ph.algebraic_rows(number), ph.path_rows(number)
    rows[:, integrands], values[:, integrands] = ph.integral_rows(number), -ph.grid.weights[:, None]
    return one_each(rows.ravel(), values.ravel(), layout.constraints)


def _linear_part(ph: PhaseLayout, layout: Layout) -> Triplets:
    """P X in the defects, the unknown integrals in their rows, and the lengths of the spans between
    moving knots.
    """
    number, row_number = np.arange(layout.unknowns), np.arange(layout.constraints)
    rows, columns, values = [], [], []
    for rule, here in ph.grid.groups:
        a, c, factors = rule.P_entries
        row = ph.defect_rows(row_number)[ph.defect_first[here][:, None] + a]
        rows.append(row.ravel())
        columns.append(ph.states(number)[ph.grid.first[here][:, None] + c].ravel())
        values.append(np.tile(factors.repeat(ph.nx), here.size))
    if ph.nq:
        rows.append(ph.integral_rows(row_number))
        columns.append(ph.integral_values(number))
        values.append(np.ones(ph.nq))
    spans, times = ph.span_rows(row_number), ph.span_times(number)
    if spans.size:
        rows.append(np.repeat(spans, 2))
        columns.append(np.stack([times[: spans.size], times[1 : spans.size + 1]], axis=1).ravel())
        values.append(np.tile([-1.0, 1.0], spans.size))
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)


def _endpoint_block(kernels: Kernels, layout: Layout) -> Block:
    number = np.arange(layout.unknowns)
    # places in the endpoint column, unknowns and their factors
    entries: list[tuple[Index, Index, Array]] = []
    last = 0
    for i, (ph, kernel) in enumerate(zip(layout.phases, kernels.phases, strict=True)):
        t0, _, _, xf, z0, zf, u0, uf, q = layout.endpoints(i)
        times, states = ph.span_times(number), ph.states(number)
        ends = np.concatenate([times[[0, -1]], states[0], states[-1]])  # t0, tf, x0, xf
        entries.append((np.arange(t0.start, xf.stop), ends, np.ones(ends.size)))
        for side, (interval, z, u) in enumerate(((0, z0, u0), (ph.mesh.intervals - 1, zf, uf))):
            basis, points = ph.grid.rules[interval].at_ends[side], ph.grid.points_of(interval)
            # Algebraic variables and controls at the ends continue their polynomials.
            for j in range(ph.nz):
                entries.append(
                    (np.full(basis.size, z.start + j), ph.algebraics(number)[points, j], basis)
                )
            for j in range(ph.nu):
                nodes = ph.control_grid.nodes(interval, j)
                own = (
                    basis
                    if nodes is ph.grid.rules[interval].points
                    else lagrange_basis(nodes, np.array([float(side)]))[0]
                )
                entries.append(
                    (np.full(own.size, u.start + j), ph.control_on(number, interval, j), own)
                )
        # Other integrals are summed into the cost directly; their place in the endpoint column
        # stays zero.
        if kernel.unknown_integrals:
            places = q.start + np.array(kernel.unknown_integrals)
            entries.append((places, ph.integral_values(number), np.ones(places.size)))
        last = q.stop
    statics = layout.statics(number)
    others = np.concatenate([statics, sampled_states(layout, number)])
    entries.append((last + np.arange(others.size), others, np.ones(others.size)))
    rows, columns, factors = (np.concatenate(part) for part in zip(*entries, strict=True))
    gather = compressed(rows, columns, factors, (last + others.size, layout.unknowns))
    conditions = layout.condition_rows(np.arange(layout.constraints))
    scatter = one_each(conditions, np.ones(conditions.size), layout.constraints)
    return Block(kernels.endpoints, 1, gather, np.zeros((0, 1)), scatter, np.ones(1))


def row_bounds(kernels: Kernels, layout: Layout) -> tuple[Array, Array]:
    """Bounds of all constraint rows, in physical units."""
    lower, upper = np.zeros(layout.constraints), np.zeros(layout.constraints)
    for ph, kernel in zip(layout.phases, kernels.phases, strict=True):
        ph.path_rows(lower)[:], ph.path_rows(upper)[:] = (
            ph.form.c_bound.lower,
            ph.form.c_bound.upper,
        )
        _hold_paths(ph, kernel, lower, upper)
        ph.span_rows(upper)[:] = np.inf
    for side, of in ((lower, "lower"), (upper, "upper")):
        starts = [getattr(layout.phases[i].form.c_bound, of)[row] for i, row in kernels.start_paths]
        layout.condition_rows(side)[:] = [*getattr(layout.form.b_bound, of), *starts]
    return lower, upper


def variable_bounds(layout: Layout) -> tuple[Array, Array]:
    """Bounds of all unknowns, in physical units."""
    lower, upper = np.full(layout.unknowns, -np.inf), np.full(layout.unknowns, np.inf)
    for ph in layout.phases:
        form = ph.form
        for y, of in ((lower, "lower"), (upper, "upper")):
            ph.states(y)[:] = getattr(form.x_bound, of)
            ph.states(y)[0], ph.states(y)[-1] = getattr(form.x_start, of), getattr(form.x_end, of)
            ph.algebraics(y)[:] = getattr(form.z_bound, of)
            ph.span_times(y)[[0, -1]] = (
                getattr(form.start_time, of)[0],
                getattr(form.end_time, of)[0],
            )
        _hold_states(ph, ph.states(lower), ph.states(upper))
        _control_bounds(ph, lower, upper)
    for q in layout.form.statics:
        layout.statics(lower)[q.rows], layout.statics(upper)[q.rows] = q.bound.lower, q.bound.upper
    return lower, upper


def _hold_states(ph: PhaseLayout, lower: Array, upper: Array) -> None:
    """States on a boundary arc stay at their bound, from the first node of the arc to its last;
    boundary values come first.
    """
    if ph.mesh.held is None:
        return
    bound = ph.form.x_bound
    for k, i in np.argwhere(ph.mesh.held[:, : ph.nx] != FREE):
        here = np.arange(ph.grid.first[k], ph.grid.first[k + 1] + 1)
        value = (bound.lower if ph.mesh.held[k, i] == AT_LOWER else bound.upper)[i]
        here = here[(lower[here, i] <= value) & (value <= upper[here, i])]
        lower[here, i] = upper[here, i] = value


def _hold_paths(ph: PhaseLayout, kernels: PhaseKernels, lower: Array, upper: Array) -> None:
    """Path constraints of an arc are equalities there; those on states alone from the arc's first
    node on.
    """
    if ph.mesh.held is None:
        return
    bound = ph.form.c_bound
    for k, row in np.argwhere(ph.mesh.held[:, ph.nx :] != FREE):
        role = ph.mesh.held[k, ph.nx + row]
        entered = (
            (kernels.state_paths[row] or k in ph.mesh.joined)
            and k > 0
            and ph.mesh.held[k - 1, ph.nx + row] == FREE
        )
        points = ph.grid.points_of(k)
        first = points.start - (1 if entered and ph.grid.rules[k - 1].points[-1] == 1.0 else 0)
        value = (bound.lower if role == AT_LOWER else bound.upper)[row]
        ph.path_rows(lower)[first : points.stop, row] = ph.path_rows(upper)[
            first : points.stop, row
        ] = value


def _control_bounds(ph: PhaseLayout, lower: Array, upper: Array) -> None:
    """Controls stay within their bounds, and at them where the mesh holds them."""
    bound, roles, grid = ph.form.u_bound, ph.mesh.roles, ph.control_grid
    if roles is None or ph.grid.shares_nodes:
        ph.control_unknowns(lower)[:] = grid.repeated(bound.lower)
        ph.control_unknowns(upper)[:] = grid.repeated(bound.upper)
        return
    low = np.where(roles == AT_UPPER, bound.upper, bound.lower)  # (intervals, controls)
    high = np.where(roles == AT_LOWER, bound.lower, bound.upper)
    ph.control_unknowns(lower)[:] = grid.repeated(low)
    ph.control_unknowns(upper)[:] = grid.repeated(high)
    for k in ph.mesh.joined:
        for j in np.flatnonzero(
            (roles[k - 1] == FREE) & (roles[k] != FREE) & (grid.count[k - 1] > 1)
        ).tolist():
            value = (bound.lower if roles[k, j] == AT_LOWER else bound.upper)[j]
            ph.control_on(lower, k - 1, j)[-1:] = ph.control_on(upper, k - 1, j)[-1:] = value
