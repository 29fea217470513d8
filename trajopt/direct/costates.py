"""Costates and other multipliers from the multipliers of the program: each scheme's own covector
map.

At a node the costate is the derivative, by the state there, of everything in the Lagrangian that
lies to the right of it; at a collocation point it is the derivative of the Lagrangian by the rate
there, divided by the quadrature weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.trajectory.curve import Curve

if TYPE_CHECKING:
    from trajopt.direct.phase_view import PhaseView

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Costates:
    """The dual values of one phase."""

    nodes: Array  # (intervals + 1, nx): costates just after each node, and at the end
    before: Array  # (intervals, nx): costates just before the end of each interval
    points: Array  # (points, nx): costates at the collocation points
    path: Array  # (points, nc): multiplier densities of the path constraints
    algebraic: Array  # (points, ng)


def costates_of(view: PhaseView) -> Costates:
    """Costates and multiplier densities, from the multipliers in physical units."""
    ph, lam = view.layout, view.constraint_multipliers
    mu = ph.defect_rows(lam)
    nodes = np.zeros((ph.mesh.intervals + 1, ph.nx))
    for rule, here in ph.grid.groups:
        nodes[here] = rule.P[:, 0] @ mu[ph.defect_first[here][:, None] + np.arange(rule.defects)]
    if ph.grid.shares_nodes:
        nodes[:-1] += _at_shared_nodes(view, mu)
    jumps = view.state_multipliers[ph.grid.first[1:]] + _path_jumps(view) + view.sample_jumps
    nodes[-1] = view.end_gradient + jumps[-1]
    before = nodes[1:].copy()
    before[:-1] += jumps[:-1]
    density = (ph.grid.weights * view.lengths[ph.grid.interval_of])[:, None]
    density = np.where(density > 0, density, np.inf)  # an arc without length has no multipliers
    # Width times Q^T mu, as the scatter matrix has it, for the rows that are rates.
    points = view.point_multipliers[:, : ph.nx] / ph.grid.weights[:, None]
    return Costates(
        nodes, before, points, ph.path_rows(lam) / density, ph.algebraic_rows(lam) / density
    )


def _path_jumps(view: PhaseView) -> Array:
    """(intervals, nx): jumps of the costates at the end of each interval, caused by path
    constraints on states alone.

    As with bounds of states, the whole multiplier of a node is the jump there, and not a density
    around it.
    """
    ph, on_states = view.layout, view.kernels.state_paths
    result = np.zeros((ph.mesh.intervals, ph.nx))
    if not on_states.any():
        return result
    rows = np.where(on_states, ph.path_rows(view.constraint_multipliers), 0.0)
    gradients = view.derivatives[0][:, ph.outputs[2], : ph.nx]
    for k, rule in enumerate(ph.grid.rules):
        if rule.points[-1] == 1.0:
            last = ph.grid.points_of(k).stop - 1
            result[k] = rows[last] @ gradients[last]
    return result


def _at_shared_nodes(view: PhaseView, mu: Array) -> Array:
    """What the rates at a shared node contribute to the interval on its right: h (Q[:, 0] . mu) f_x
    + h b_0 L_x.
    """
    ph = view.layout
    jacobian, gradient = view.derivatives
    result = np.zeros((ph.mesh.intervals, ph.nx))
    for k, (rule, width) in enumerate(zip(ph.grid.rules, ph.grid.widths, strict=True)):
        here = mu[ph.defect_first[k] : ph.defect_first[k] + rule.defects]
        point = ph.grid.points_of(k).start
        result[k] = width * (rule.Q[:, 0] @ here) @ jacobian[point, : ph.nx, : ph.nx]
        if gradient is not None:
            result[k] += width * rule.weights[0] * gradient[point, 0, : ph.nx]
    return result


def interpolated_costates(view: PhaseView) -> Curve:
    """Polynomials through the costates at both nodes and at the collocation points between them."""
    ph, costates, groups = view.layout, view.costates, []
    for rule, here in ph.grid.groups:
        inside, at = rule.costate_nodes
        stages = costates.points[ph.grid.first_point[here][:, None] + inside]
        parts = costates.nodes[here][:, None], stages, costates.before[here][:, None]
        groups.append((at, here, np.concatenate(parts, axis=1)))
    return Curve.grouped(view.values.breaks, groups)
