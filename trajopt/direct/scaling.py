"""Scaling of unknowns and constraint rows, from the guess, boundary values, bounds and derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trajopt.bounds import Bound
from trajopt.direct.packing import Layout, PhaseLayout
from trajopt.nlp.program import Block, Program, arguments, cost_at
from trajopt.normal_form import NamedVector

Array = NDArray[np.float64]


def scales(layout: Layout, program: Program, negligible: float) -> tuple[Array, Array]:
    """(unknowns,), (constraints,): the size of each unknown, and what each constraint row is multiplied by.

    ``negligible``: a guess smaller than that part of a quantity's limits does not determine its size.
    """
    y, unknowns = program.start, np.ones(layout.unknowns)
    for ph, block in zip(layout.phases, program.blocks, strict=False):
        reach = _reach(ph, block, program)
        ph.states(unknowns)[:] = _sizes(ph.form.states, ph.states(y), reach, negligible)
        ph.algebraics(unknowns)[:] = _sizes(ph.form.algebraics, ph.algebraics(y), None, negligible)
        u = _control_sizes(ph, ph.controls(y))
        count = ph.control_grid.count.ravel()
        by_interval = np.repeat(np.tile(u, ph.mesh.intervals), count)
        ph.control_unknowns(unknowns)[:] = np.tile(u, ph.grid.points) if ph.grid.shares_nodes else by_interval
        ph.span_times(unknowns)[:] = _or_one(np.ptp(ph.span_times(y)))
        ph.integral_values(unknowns)[:] = _or_one(np.abs(ph.integral_values(y)))
    layout.statics(unknowns)[:] = _sizes(layout.form.statics, layout.statics(y)[None, :], None, negligible)
    return unknowns, _rows(layout, program, unknowns)


def cost_reach(program: Program, y: Array, unknowns: Array) -> float:
    """By how much the cost changes from ``y`` if every unknown changes by its size; 0 where that has no value."""
    here = cost_at(program, y)
    changes = [abs(cost_at(program, y + sign * unknowns) - here) for sign in (-1.0, 1.0)]
    return max((change for change in changes if np.isfinite(change)), default=0.0)


def _or_one(sizes: Array | float) -> Array:
    """The sizes, one for those that are zero to round-off."""
    return np.where(np.asarray(sizes) > np.finfo(float).eps, sizes, 1.0)


def _sizes(quantities: tuple[NamedVector, ...], values: Array, reach: Array | None, negligible: float) -> Array:
    sizes = np.ones(sum(q.size for q in quantities))
    for q in quantities:
        if q.scale is not None:
            sizes[q.rows] = np.broadcast_to(np.asarray(q.scale, dtype=float).ravel(), (q.size,))
            continue
        size = np.maximum(np.abs(values[:, q.rows]).max(axis=0), _largest(q.start, q.end))
        limit = _largest(q.bound)
        fallback = np.where(limit > 0, limit, np.zeros(q.size) if reach is None else reach[q.rows])
        sizes[q.rows] = _or_one(np.where(size > np.minimum(negligible * fallback, 1.0), size, fallback))
    return sizes


def limit_sizes(quantities: tuple[NamedVector, ...]) -> Array:
    """The sizes of quantities from their scales, boundary values and bounds; one without any of these."""
    return _sizes(quantities, np.zeros((1, sum(q.size for q in quantities))), None, 0.0)


def _control_sizes(ph: PhaseLayout, values: Array) -> Array:
    """The larger of a control's finite bounds; without any, its guess; without either, one."""
    sizes = np.ones(ph.nu)
    for q in ph.form.controls:
        if q.scale is not None:
            sizes[q.rows] = np.broadcast_to(np.asarray(q.scale, dtype=float).ravel(), (q.size,))
            continue
        limit = _largest(q.bound)
        sizes[q.rows] = _or_one(np.where(limit > 0, limit, np.abs(values[:, q.rows]).max(axis=0)))
    return sizes


def _largest(*bounds: Bound) -> Array:
    """(size,): the size of the largest finite limit; 0 where there is none."""
    sides = np.abs([side for bound in bounds for side in (bound.lower, bound.upper)])
    return np.asarray(np.where(np.isfinite(sides), sides, 0.0).max(axis=0))


def _reach(ph: PhaseLayout, block: Block, program: Program) -> Array:
    """How far each state would move over the phase at the guessed rates."""
    values = np.asarray(block.kernel.constraints(*arguments(block, program.start, program.parameters)))[: ph.nx]
    return np.asarray(np.nan_to_num(np.median(np.abs(values), axis=1), nan=0.0, posinf=0.0))


def _rows(layout: Layout, program: Program, unknowns: Array) -> Array:
    """Defects in units of their states; other rows so that their largest scaled derivative at the start is one."""
    rows = np.ones(layout.constraints)
    for ph, block in zip(layout.phases, program.blocks, strict=False):
        ph.defect_rows(rows)[:] = 1.0 / ph.states(unknowns)[0]
        if ph.ng + ph.nc:
            size = row_sizes(block, program.start, program.parameters, unknowns)
            ph.algebraic_rows(rows)[:] = 1.0 / size[ph.outputs[1]]
            ph.path_rows(rows)[:] = 1.0 / size[ph.outputs[2]]
        ph.integral_rows(rows)[:] = 1.0 / ph.integral_values(unknowns)
        ph.span_rows(rows)[:] = 1.0 / ph.span_times(unknowns)[0]
    if layout.condition_rows(rows).size:
        layout.condition_rows(rows)[:] = 1.0 / row_sizes(program.blocks[-1], program.start, program.parameters, unknowns)
    return rows


def row_sizes(block: Block, y: Array, parameters: Array, unknowns: Array) -> Array:
    """(constraint rows of the kernel,): the largest derivative at ``y`` by a scaled unknown, over all places."""
    kernel = block.kernel
    jacobian = np.asarray(kernel.constraint_jacobian(*arguments(block, y, parameters)))
    values = np.abs(np.nan_to_num(jacobian, nan=0.0, posinf=0.0, neginf=0.0))
    input_sizes = block.gather.with_data(np.abs(block.gather.data)).along(unknowns)
    rows, columns = kernel.constraint_pattern
    sizes = np.zeros(kernel.constraint_rows)
    if rows.size:
        scaled = (values * input_sizes.reshape(block.count, kernel.inputs).T[columns]).max(axis=1)
        np.maximum.at(sizes, rows, scaled)
    return _or_one(sizes)
