"""Angle controls in a program: unbounded, and a whole turn of one changes nothing.

The solver is kept from turning them without end. Its answer is moved by whole turns so that
polynomials through it are smooth.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.kernels import Kernels
from trajopt.direct.packing import Layout
from trajopt.nlp.program import Program
from trajopt.trajectory.curve import lagrange_basis

Array = NDArray[np.float64]

# More than half a turn, so that every angle is within; less than a whole one, its period.
REACH = 4 * np.pi / 3


def unwound(layout: Layout, kernels: Kernels, y: Array) -> Array:
    """The same answer with angle controls moved by whole turns so that they are continuous.

    A solver does not care by how many turns neighbouring values differ; a polynomial through them
    does.
    """
    if layout.scheme.shares_nodes or not any(k.angles.any() for k in kernels.phases):
        return y
    y = y.copy()
    turn = 2 * np.pi
    for ph, kernel in zip(layout.phases, kernels.phases, strict=True):
        for j in np.flatnonzero(kernel.angles).tolist():
            last: float | None = None
            for k, rule in enumerate(ph.grid.rules):
                u = ph.control_on(y, k, j)
                if u.size == rule.points.size:
                    u[:] = np.unwrap(u)  # each value stands for itself
                ends = lagrange_basis(ph.control_grid.nodes(k, j), np.array([0.0, 1.0])) @ u
                if last is not None:
                    shift = turn * np.round((ends[0] - last) / turn)
                    u -= shift
                    ends = ends - shift
                last = float(ends[1])
    return y


def angle_bounded(layout: Layout, kernels: Kernels, program: Program) -> Program:
    """Angles that are constant on their intervals kept within ``REACH`` of the program's start."""
    if layout.scheme.shares_nodes or not any(k.angles.any() for k in kernels.phases):
        return program
    lower, upper = program.lower.copy(), program.upper.copy()
    for ph, kernel in zip(layout.phases, kernels.phases, strict=True):
        for j in np.flatnonzero(kernel.angles).tolist():
            for k in np.flatnonzero(ph.control_grid.count[:, j] == 1).tolist():
                start = ph.control_on(program.start, k, j)
                ph.control_on(lower, k, j)[:], ph.control_on(upper, k, j)[:] = (
                    start - REACH,
                    start + REACH,
                )
    return replace(program, lower=lower, upper=upper)


def at_angle_bound(inside: Program, around: Program, closeness: float) -> bool:
    """True if an answer found ``inside`` angle bounds is at one of them; ``around`` begins at it,
    with bounds of its own.
    """
    # bounds of the problem stay where they are
    moved = (inside.lower != around.lower) | (inside.upper != around.upper)
    lower, upper, y = inside.lower[moved], inside.upper[moved], around.start[moved]
    return bool(np.any(np.minimum(y - lower, upper - y) < closeness * (upper - lower)))
