"""Costates and other multipliers from the multipliers of the program: each scheme's own covector map.

At a node the costate is the derivative, by the state there, of everything in the Lagrangian that lies to the right of it;
at a collocation point it is the derivative of the Lagrangian by the rate there, divided by the quadrature weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import Curve
from trajopt.direct.kernels import Kernels, PhaseKernels
from trajopt.direct.transcribe import Layout, PhaseLayout
from trajopt.direct.values import PhaseValues
from trajopt.nlp.program import Block, Program, places

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PhaseMultipliers:
    """The dual values of one phase."""

    nodes: Array  # (intervals + 1, nx): costates just after each node, and at the end
    before: Array  # (intervals, nx): costates just before the end of each interval
    points: Array  # (points, nx): costates at the collocation points
    path: Array  # (points, nc): multiplier densities of the path constraints
    algebraic: Array  # (points, nz)


def multipliers_of(
    kernels: Kernels,
    layout: Layout,
    program: Program,
    values: tuple[PhaseValues, ...],
    bound_multipliers: Array,
    constraint_multipliers: Array,
) -> tuple[PhaseMultipliers, ...]:
    """Costates and path multipliers of every phase, from the multipliers in physical units."""
    result = []
    for i, (ph, phase_values) in enumerate(zip(layout.phases, values, strict=True)):
        lam = constraint_multipliers
        mu = lam[ph.rows : ph.g_rows].reshape(-1, ph.nx)  # (defects, nx)
        lengths = np.diff(phase_values.spans)[ph.mesh.spans[1]]  # (intervals,) times of the spans
        # Width times Q^T mu, as the scatter matrix has it, for the rows that are rates.
        rates = program.blocks[i].scatter.along(lam).reshape(ph.points, -1)[:, : ph.nx]
        nodes = np.zeros((ph.mesh.intervals + 1, ph.nx))
        for rule, here in ph.groups:
            nodes[here] = rule.P[:, 0] @ mu[ph.defect_first[here][:, None] + np.arange(rule.defects)]
        if layout.scheme.shares_nodes:
            nodes[:-1] += _at_shared_nodes(ph, layout, program, i, mu)
        x_multipliers = bound_multipliers[ph.x : ph.z].reshape(-1, ph.nx)
        pushes = x_multipliers[ph.first[1:]] + _path_pushes(kernels.phases[i], ph, program, i, lam)
        nodes[-1] = _end_costate(kernels, layout, program, ph, lam) + pushes[-1]
        before = nodes[1:].copy()
        before[:-1] += pushes[:-1]
        density = (ph.weights * lengths[ph.interval_of])[:, None]
        density = np.where(density > 0, density, np.inf)  # nothing pushes on an arc without length
        result.append(
            PhaseMultipliers(
                nodes, before, rates / ph.weights[:, None],
                lam[ph.c_rows : ph.q_rows].reshape(ph.points, -1) / density if ph.form.c.numel() else np.zeros((ph.points, 0)),
                lam[ph.g_rows : ph.c_rows].reshape(ph.points, -1) / density if ph.form.g.numel() else np.zeros((ph.points, 0)),
            )
        )  # fmt: skip
    return tuple(result)


def _path_pushes(kernels: PhaseKernels, ph: PhaseLayout, program: Program, index: int, lam: Array) -> Array:
    """(intervals, nx): by what path constraints on states alone make the costates jump at the end of each interval.

    As with bounds of states, the whole multiplier of a node is the jump there, and not a density around it.
    """
    result = np.zeros((ph.mesh.intervals, ph.nx))
    if not kernels.state_paths.any():
        return result
    first, count = ph.nx + ph.form.g.numel(), ph.form.c.numel()
    rows = np.where(kernels.state_paths, lam[ph.c_rows : ph.q_rows].reshape(ph.points, count), 0.0)
    gradients = point_derivatives(program.blocks[index], program)[0][:, first : first + count, : ph.nx]
    for k, rule in enumerate(ph.rules):
        if rule.points[-1] == 1.0:
            last = int(ph.first_point[k]) + rule.points.size - 1
            result[k] = rows[last] @ gradients[last]
    return result


def _at_shared_nodes(ph: PhaseLayout, layout: Layout, program: Program, index: int, mu: Array) -> Array:
    """What the rates at a shared node contribute to the interval on its right: h (Q[:, 0] . mu) f_x + h b_0 L_x."""
    block = program.blocks[index]
    jacobian, gradient = point_derivatives(block, program)
    result = np.zeros((ph.mesh.intervals, ph.nx))
    for k, (rule, width) in enumerate(zip(ph.rules, ph.widths, strict=True)):
        here = mu[ph.defect_first[k] : ph.defect_first[k] + rule.defects]
        point = int(ph.first_point[k])
        result[k] = width * (rule.Q[:, 0] @ here) @ jacobian[point, : ph.nx, : ph.nx]
        if gradient is not None:
            result[k] += width * rule.weights[0] * gradient[point, 0, : ph.nx]
    return result


def point_derivatives(block: Block, program: Program) -> tuple[Array, Array | None]:
    """(points, rows, inputs) of the kernel at the program's start."""
    kernel = block.kernel
    arguments = places(block, program)
    jacobian = np.zeros((block.count, kernel.constraint_rows, kernel.inputs))
    rows, columns = kernel.constraint_pattern
    if rows.size:
        jacobian[:, rows, columns] = np.asarray(kernel.constraint_jacobian(*arguments)).T
    if not kernel.objective_rows:
        return jacobian, None
    gradient = np.zeros((block.count, kernel.objective_rows, kernel.inputs))
    rows, columns = kernel.objective_pattern
    gradient[:, rows, columns] = np.asarray(kernel.objective_jacobian(*arguments)).T
    return jacobian, gradient


def _end_costate(kernels: Kernels, layout: Layout, program: Program, ph: PhaseLayout, lam: Array) -> Array:
    """The derivative of the endpoint Lagrangian by the final state."""
    block = program.blocks[-1]
    jacobian, gradient = point_derivatives(block, program)
    total = lam[layout.b_rows :] @ jacobian[0] + (gradient[0, 0] if gradient is not None else 0.0)
    first = 0
    for other in layout.phases:
        if other is ph:
            break
        first += 2 + 2 * (other.nx + other.nz + other.nu) + other.form.l.numel()
    start = first + 2 + ph.nx
    return np.asarray(total[start : start + ph.nx])


def costate_curve(ph: PhaseLayout, values: PhaseValues, multipliers: PhaseMultipliers) -> Curve:
    """Polynomials through the costates at both nodes and at the collocation points between them."""
    nodes, pieces = [np.zeros(0)] * ph.mesh.intervals, [np.zeros((0, ph.nx))] * ph.mesh.intervals
    for rule, here in ph.groups:
        inside = np.flatnonzero((rule.points > 0) & (rule.points < 1))
        at = np.concatenate([[0.0], rule.points[inside], [1.0]])
        stages = multipliers.points[ph.first_point[here][:, None] + inside]
        parts = multipliers.nodes[here][:, None], stages, multipliers.before[here][:, None]
        for k, piece in zip(here.tolist(), np.concatenate(parts, axis=1), strict=True):
            nodes[k], pieces[k] = at, piece
    return Curve(values.breaks, tuple(nodes), tuple(pieces))
