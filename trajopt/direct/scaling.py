"""Scaling of unknowns and constraint rows, from the guess, boundary values,
bounds and derivatives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.packing import Layout, PhaseLayout
from trajopt.nlp.program import Block, Program, arguments, costs_at
from trajopt.statement.normal_form import StatedSizes

Array = NDArray[np.float64]


def scales(layout: Layout, program: Program, negligible: float) -> tuple[Array, Array]:
    """(unknowns,), (constraints,): the size of each unknown, and what each constraint row is
    multiplied by.

    ``negligible``: a guess smaller than that part of a quantity's limits does not determine its
    size.
    """
    y, unknowns = program.start, np.ones(layout.unknowns)
    for ph, block in zip(layout.phases, program.blocks, strict=False):
        reach = _reach(ph, block, program)
        ph.states(unknowns)[:] = _sizes(ph.form.state_sizes, ph.states(y), reach, negligible)
        if ph.nz:
            ph.algebraics(unknowns)[:] = _sizes(
                ph.form.algebraic_sizes, ph.algebraics(y), None, negligible
            )
        if ph.nu:
            # the larger of a control's finite bounds; without any, its guess; without either, one
            stated, largest = ph.form.control_sizes, np.abs(ph.controls(y)).max(axis=0)
            sizes = stated.with_scale(np.where(stated.bound > 0, stated.bound, largest))
            ph.control_unknowns(unknowns)[:] = ph.control_grid.repeated(sizes)
        ph.span_times(unknowns)[:] = _or_one(np.ptp(ph.span_times(y)))
        if ph.nq:
            ph.integral_values(unknowns)[:] = _or_one(np.abs(ph.integral_values(y)))
    if layout.form.statics:
        layout.statics(unknowns)[:] = _sizes(
            layout.form.static_sizes, layout.statics(y)[None, :], None, negligible
        )
    return unknowns, _rows(layout, program, unknowns)


def cost_reach(program: Program, y: Array, unknowns: Array) -> float:
    """By how much the cost changes from ``y`` if every unknown changes by its size; 0 where that
    has no value.
    """
    here, *others = costs_at(program, (y, y - unknowns, y + unknowns))
    return max((abs(other - here) for other in others if np.isfinite(other - here)), default=0.0)


def cost_unit(program: Program, unknowns: Array, slope: float | None = None) -> float:
    """The unit of the cost that a program is solved in: its steepest slope is at least 1, as
    backends see to it that it is at most 100 (Waechter and Biegler 2006, section 3.8).

    Slopes are per size of each unknown, at the start and one size of all unknowns beyond it:
    those of a sum of squares may vanish at the start. With ``slope`` the steepest has this value.
    """
    steepest = max(
        np.abs(cost_slopes(program, y) * unknowns).max(initial=0.0)
        for y in (program.start, program.start + unknowns)
    )
    if slope is not None and 0 < steepest < np.inf:
        return float(steepest / slope)
    return float(steepest) if 0 < steepest < 1 else 1.0


def cost_slopes(program: Program, y: Array) -> Array:
    """(unknowns,): the gradient of the cost, zero where it has no finite value."""
    slopes = np.zeros(y.size)
    for block in program.blocks:
        kernel = block.kernel
        rows, columns = kernel.objective_pattern
        if not rows.size:
            continue
        jacobian = np.asarray(kernel.objective_jacobian(*arguments(block, y, program.parameters)))
        weights = block.weights.reshape(block.count, kernel.objective_rows).T[rows]
        inputs = np.zeros((kernel.inputs, block.count))
        np.add.at(
            inputs, columns, weights * np.nan_to_num(jacobian, nan=0.0, posinf=0.0, neginf=0.0)
        )
        slopes += block.gather.across(inputs.T.ravel())
    return slopes


def input_sizes(block: Block, unknowns: Array) -> Array:
    """(inputs, places): the size of each input of a block's kernel."""
    sizes = block.gather.with_data(np.abs(block.gather.data)).along(unknowns)
    return np.asarray(sizes.reshape(block.count, block.kernel.inputs).T)


def _or_one(sizes: Array | float) -> Array:
    """The sizes, one for those that are zero to round-off."""
    return np.where(np.asarray(sizes) > np.finfo(float).eps, sizes, 1.0)


def _sizes(stated: StatedSizes, values: Array, reach: Array | None, negligible: float) -> Array:
    """(quantities,): from values (places, quantities) and what the statement says; ``reach`` where
    it gives no bound.
    """
    size = np.maximum(np.abs(values).max(axis=0), stated.ends)
    fallback = stated.bound if reach is None else np.where(stated.bound > 0, stated.bound, reach)
    return stated.with_scale(
        np.where(size > np.minimum(negligible * fallback, 1.0), size, fallback)
    )


def _reach(ph: PhaseLayout, block: Block, program: Program) -> Array:
    """How far each state would move over the phase at the guessed rates: the median of all places,
    0 where that has no value.
    """
    values = np.asarray(
        block.kernel.constraints(*arguments(block, program.start, program.parameters))
    )[: ph.nx]
    ordered = np.sort(np.abs(values), axis=1)
    middle = ordered[:, (ordered.shape[1] - 1) // 2 : ordered.shape[1] // 2 + 1].mean(axis=1)
    return np.where(np.isfinite(middle) & ~np.isnan(ordered[:, -1]), middle, 0.0)


def _rows(layout: Layout, program: Program, unknowns: Array) -> Array:
    """Defects in units of their states; other rows by their largest scaled derivative."""
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
        layout.condition_rows(rows)[:] = 1.0 / row_sizes(
            program.blocks[-1], program.start, program.parameters, unknowns
        )
    return rows


def row_sizes(block: Block, y: Array, parameters: Array, unknowns: Array) -> Array:
    """(constraint rows of the kernel,): the largest derivative at ``y`` by a scaled unknown, over
    all places.
    """
    kernel = block.kernel
    jacobian = np.asarray(kernel.constraint_jacobian(*arguments(block, y, parameters)))
    values = np.abs(np.nan_to_num(jacobian, nan=0.0, posinf=0.0, neginf=0.0))
    rows, columns = kernel.constraint_pattern
    sizes = np.zeros(kernel.constraint_rows)
    if rows.size:
        scaled = (values * input_sizes(block, unknowns)[columns]).max(axis=1)
        np.maximum.at(sizes, rows, scaled)
    return _or_one(sizes)
