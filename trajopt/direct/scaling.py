"""Scaling of unknowns and constraint rows, from the guess, boundary values, bounds and derivatives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.bounds import Bound
from trajopt.direct.transcribe import Layout, PhaseLayout
from trajopt.nlp.program import Program, cost_at_start, places
from trajopt.normal_form import Quantity

Array = NDArray[np.float64]

ROUND_OFF = 1e-6  # of what the cost can change by: a cost below that is as good as zero


def scales(layout: Layout, program: Program) -> tuple[Array, Array]:
    """(unknowns,), (constraints,): the size of each unknown, and what each constraint row is multiplied by."""
    unknowns = np.ones(layout.unknowns)
    for i, ph in enumerate(layout.phases):
        y = program.start
        rates = _rates(program, i, ph)
        x = _sizes(ph.form.states, y[ph.x : ph.z].reshape(-1, ph.nx), rates)
        unknowns[ph.x : ph.z] = np.tile(x, ph.state_points)
        unknowns[ph.z : ph.u] = np.tile(_sizes(ph.form.algebraics, y[ph.z : ph.u].reshape(ph.points, ph.nz), None), ph.points)
        u = _control_sizes(ph, ph.controls(y))
        unknowns[ph.u : ph.times] = (
            np.tile(u, ph.points) if ph.shares_nodes else np.repeat(np.tile(u, ph.mesh.intervals), ph.u_count.ravel())
        )
        spans = y[ph.times : ph.integrals]
        unknowns[ph.times : ph.integrals] = max(abs(spans[-1] - spans[0]), 1e-8)
        values = np.abs(y[ph.integrals : ph.end])
        unknowns[ph.integrals : ph.end] = np.where(values > 0, values, 1.0)
    statics = slice(layout.s, layout.s + layout.form.s.numel())
    unknowns[statics] = _sizes(layout.form.statics, program.start[statics][None, :], None)
    return unknowns, _rows(layout, program, unknowns)


def cost_reach(program: Program, unknowns: Array) -> float:
    """By how much the cost changes if every unknown changes by its size; 0 where that has no value."""
    here = cost_at_start(program)
    moved = [replace(program, start=program.start + sign * unknowns) for sign in (-1.0, 1.0)]
    changes = [abs(cost_at_start(other) - here) for other in moved]
    return max((change for change in changes if np.isfinite(change)), default=0.0)


def _sizes(quantities: tuple[Quantity, ...], values: Array, rates: Array | None) -> Array:
    sizes = np.ones(sum(q.size for q in quantities))
    for q in quantities:
        if q.scale is not None:
            sizes[q.rows] = np.broadcast_to(np.asarray(q.scale, dtype=float).ravel(), (q.size,))
            continue
        size = np.maximum(np.abs(values[:, q.rows]).max(axis=0), _largest(q.start, q.end))
        limit = _largest(q.bound)
        reach = np.zeros(q.size) if rates is None else rates[q.rows]
        fallback = np.where(limit > 0, limit, reach)
        size = np.where(size > 1e-3 * np.minimum(fallback, 1e3), size, fallback)
        sizes[q.rows] = np.where(size > 0, np.clip(size, 1e-10, 1e12), 1.0)
    return sizes


def _control_sizes(ph: PhaseLayout, values: Array) -> Array:
    """The larger of a control's finite bounds; without any, its guess; without either, one."""
    sizes = np.ones(ph.nu)
    for q in ph.form.controls:
        if q.scale is not None:
            sizes[q.rows] = np.broadcast_to(np.asarray(q.scale, dtype=float).ravel(), (q.size,))
            continue
        limit = _largest(q.bound)
        size = np.where(limit > 0, limit, np.abs(values[:, q.rows]).max(axis=0))
        sizes[q.rows] = np.where(size > 0, size, 1.0)
    return np.clip(sizes, 1e-10, 1e12)


def _largest(*bounds: Bound) -> Array:
    """(size,): the size of the largest finite limit; 0 where there is none."""
    sides = np.abs([side for bound in bounds for side in (bound.lower, bound.upper)])
    return np.asarray(np.where(np.isfinite(sides), sides, 0.0).max(axis=0))


def _rates(program: Program, index: int, ph: PhaseLayout) -> Array:
    """How far each state would move over the phase at the guessed rates."""
    block = program.blocks[index]
    arguments = places(block, program)
    values = np.abs(np.asarray(block.kernel.constraints(*arguments))[: ph.nx])
    return np.asarray(np.nan_to_num(np.median(values, axis=1), nan=0.0, posinf=0.0))


def _rows(layout: Layout, program: Program, unknowns: Array) -> Array:
    """Defects in units of their states; other rows so that their largest scaled derivative at the start is one."""
    rows = np.ones(layout.constraints)
    for i, ph in enumerate(layout.phases):
        x = unknowns[ph.x : ph.x + ph.nx]
        rows[ph.rows : ph.g_rows] = np.tile(1.0 / x, (ph.g_rows - ph.rows) // ph.nx)
        extra = ph.form.g.numel() + ph.form.c.numel()
        if extra:
            size = row_sizes(program, i, unknowns)[ph.nx : ph.nx + extra]
            ng = ph.form.g.numel()
            rows[ph.g_rows : ph.c_rows] = np.tile(1.0 / size[:ng], ph.points)
            rows[ph.c_rows : ph.q_rows] = np.tile(1.0 / size[ng:], ph.points)
        rows[ph.q_rows : ph.span_rows] = 1.0 / unknowns[ph.integrals : ph.end]
        rows[ph.span_rows : ph.rows_end] = 1.0 / unknowns[ph.times]
    if layout.constraints > layout.b_rows:
        rows[layout.b_rows :] = 1.0 / row_sizes(program, -1, unknowns)
    return rows


def row_sizes(program: Program, index: int, unknowns: Array) -> Array:
    """(constraint rows of the kernel,): the largest derivative by a scaled unknown, over all places."""
    block = program.blocks[index]
    kernel = block.kernel
    arguments = places(block, program)
    values = np.abs(np.nan_to_num(np.asarray(kernel.constraint_jacobian(*arguments)), nan=0.0, posinf=0.0, neginf=0.0))
    input_sizes = block.gather.with_data(np.abs(block.gather.data)).along(unknowns)
    rows, columns = kernel.constraint_pattern
    sizes = np.zeros(kernel.constraint_rows)
    if rows.size:
        scaled = (values * input_sizes.reshape(block.count, kernel.inputs).T[columns]).max(axis=1)
        np.maximum.at(sizes, rows, scaled)
    return np.where(sizes > 0, np.clip(sizes, 1e-8, 1e12), 1.0)
