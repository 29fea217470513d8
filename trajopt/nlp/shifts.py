"""Changes of what a program is given, parameters, data of points and limits, and what they change
in its Lagrangian.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.nlp.program import Block, Program, arguments

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shift:
    """The derivative of what a program is given by one number, in the units of the program."""

    parameters: Array
    data: tuple[Array, ...]  # of each block, (data, points)
    lower: Array
    upper: Array
    g_lower: Array
    g_upper: Array

    def __neg__(self) -> Shift:
        return Shift(
            -self.parameters,
            tuple(-part for part in self.data),
            -self.lower,
            -self.upper,
            -self.g_lower,
            -self.g_upper,
        )


def changes(program: Program, y: Array, multipliers: Array, shift: Shift) -> tuple[Array, Array]:
    """The change of the Lagrangian's gradient (unknowns,) and of the rows (rows,) by a shift, the
    unknowns and multipliers held.
    """
    dual, rows = np.zeros(program.unknowns), np.zeros(program.constraints)
    if not shift.parameters.any() and not any(data.any() for data in shift.data):
        return dual, rows
    for block, data in zip(program.blocks, shift.data, strict=True):
        kernel = block.kernel
        values = kernel.changes(
            *arguments(block, y, program.parameters),
            _point_multipliers(block, multipliers),
            data,
            shift.parameters,
        )
        if kernel.constraint_rows:
            rows += block.scatter.across(values[: kernel.constraint_rows].T.ravel())
        dual += block.gather.across(values[kernel.outputs :].T.ravel())
    return dual, rows


def slopes(program: Program, y: Array, multipliers: Array) -> tuple[Array, tuple[Array, ...]]:
    """The derivative of the Lagrangian by the parameters, and by the data of the points of each
    block.
    """
    by_parameters, by_data = np.zeros(program.parameters.size), []
    for block in program.blocks:
        values = block.kernel.slopes(
            *arguments(block, y, program.parameters), _point_multipliers(block, multipliers)
        )
        values = np.broadcast_to(values, (values.shape[0], block.count))
        by_data.append(values[: block.kernel.data])
        by_parameters += values[block.kernel.data :].sum(axis=1)
    return by_parameters, tuple(by_data)


def _point_multipliers(block: Block, multipliers: Array) -> Array:
    """(rows of the kernel, points): multipliers of its constraint rows, weights of its cost."""
    count, kernel = block.count, block.kernel
    of_rows = block.scatter.along(multipliers).reshape(count, kernel.constraint_rows)
    weights = block.weights.reshape(count, kernel.objective_rows)
    return np.hstack([of_rows, weights]).T
