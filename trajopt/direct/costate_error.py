"""The error of the costates between the nodes.

States can be right where costates are not yet: near the end of a boundary arc, or where the cost is
steep. The polynomials of the costates are put into the costate equation at points where no
derivative was zeroed; integrated, they should give the change of the costates back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import DECADE, Refinement
from trajopt.direct.interpolation import sampled_between
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_refinement import Bend
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.schemes import gauss_quadrature
from trajopt.direct.touch_points import (
    LimitMultipliers,
    TouchPoint,
    limit_multipliers,
    next_places,
    touch_points,
)
from trajopt.trajectory.curve import lagrange_basis

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CostateErrors:
    """Of a mesh solution, weighted against errors of the states."""

    touch_points: list[TouchPoint]  # of all phases
    by_interval: list[Array]  # by phase, (intervals,)
    weight: float

    @property
    def error(self) -> float:
        points = [self.weight * point.error for point in self.touch_points]
        return max([*points, *[float(errors.max()) for errors in self.by_interval]])


def costate_errors(solution: MeshSolution) -> CostateErrors:
    """Of phases with smooth controls and limits of states; where controls switch, arcs take care of
    them.

    Far from the solution only touch points are looked at. Without touch points costates are mostly
    as accurate as the states: there they count only where they are above the tolerance; with touch
    points twice.
    """
    method = solution.phases[0].method
    weight = method.refinement.costate_weight
    least = method.tolerance / weight
    smooth = [
        limit_multipliers(view)
        for view in solution.phases
        if not view.kernels.affine.any() and not view.layout.grid.shares_nodes and _has_limits(view)
    ]
    found = [point for of in smooth for point in touch_points(of, least)]
    errors = [np.zeros(view.layout.mesh.intervals) for view in solution.phases]
    if solution.error <= DECADE**2 * method.tolerance:
        for of in smooth:
            errors[of.view.index] = (2 if found else 1) * weight * _equation_errors(of, least)
    return CostateErrors(found, errors, weight)


def _has_limits(view: PhaseView) -> bool:
    """True if anything but the ends can make costates jump; elsewhere they are as accurate as the
    states.
    """
    bound = view.layout.form.x_bound
    return bool(
        np.isfinite(bound.lower).any()
        or np.isfinite(bound.upper).any()
        or view.kernels.state_paths.any()
    )


def next_bends(
    seen: Sequence[CostateErrors],
    settings: Refinement,
    phase: int,
    mesh: Mesh,
    large: NDArray[np.bool_],
) -> list[Bend]:
    """Where the next mesh of a phase is to have breaks; ``large``: its intervals with large errors.

    The end of an arc at which no costate jumps is worth one only for the sake of the states.
    """
    now, found = seen[-1].touch_points, []
    for point, place in zip(
        now, next_places([one.touch_points for one in seen[:-1]], now, settings), strict=True
    ):
        interval = int(np.clip(np.searchsorted(mesh.breaks, place) - 1, 0, mesh.intervals - 1))
        if point.phase == phase and 0 < place < 1 and (point.jump > 0 or large[interval]):
            found.append(Bend(place, point.node))
    return found


def _equation_errors(of: LimitMultipliers, least: float) -> Array:
    """(intervals,): relative to the costates' sizes; zero where a limit is active inside an
    interval.

    ``least``: the relative jump from which on it counts as active.
    """
    view, ph = of.view, of.view.layout
    found = np.zeros(ph.mesh.intervals)
    groups = [(rule, here) for rule, here in _without_active_limits(of, least) if here.size]
    if not groups:
        return found
    curve = view.costate_curve
    densities = np.concatenate(
        [view.costates.algebraic, np.where(view.kernels.state_paths, 0.0, view.costates.path)],
        axis=1,
    )
    integrals = -ph.integral_rows(view.constraint_multipliers)
    everywhere = sum(here.size for _, here in groups) == ph.mesh.intervals
    _, W, D = (
        view.between
        if everywhere
        else sampled_between(view, [(here, rule.between) for rule, here in groups])
    )
    rows = []
    for rule, here in groups:
        between = rule.between
        points = ph.grid.points_in(here)
        costates = lagrange_basis(curve.nodes[int(here[0])], between.at) @ np.stack(
            [curve.values[k] for k in here]
        )
        weighted = (between.from_points @ densities[points]) * view.lengths[here][:, None, None]
        rest = np.broadcast_to(integrals, (*costates.shape[:2], integrals.size))
        rows.append(
            np.concatenate([costates, weighted, rest], axis=2).reshape(
                here.size * between.at.size, -1
            )
        )
    rates = _state_derivatives(view, W, D, np.concatenate(rows))
    place = 0
    for rule, here in groups:
        weights = gauss_quadrature(rule.between.at.size)[1]
        last = place + here.size * weights.size
        change = ph.grid.widths[here][:, None] * (
            weights @ rates[place:last].reshape(here.size, -1, ph.nx)
        )
        ends = np.stack([curve.values[k][-1] - curve.values[k][0] for k in here])
        found[here] = np.nan_to_num(np.abs((ends + change) / of.sizes).max(axis=1), nan=np.inf)
        place = last
    return found


def _without_active_limits(
    of: LimitMultipliers, least: float
) -> list[tuple[Any, NDArray[np.int_]]]:
    """The rules of a phase, each with its intervals inside which no limit of a state is active."""
    ph = of.view.layout
    active = of.jumps.max(axis=1) > least
    for column in np.flatnonzero((of.jumps > least).any(axis=0)):
        for side in np.unique(np.sign(of.multipliers[of.jumps[:, column] > least, column])):
            active |= of.near_limit(int(column), int(side))
    count = np.concatenate([[0], np.cumsum(active)])  # of active nodes before each
    inside = count[ph.grid.first[1:]] > count[ph.grid.first[:-1] + 1]
    return [(rule, here[~inside[here]]) for rule, here in ph.grid.groups]


def _state_derivatives(view: PhaseView, W: Array, D: Array, rows: Array) -> Array:
    """(places, nx): the derivative by the states of what is evaluated at a place, constraint rows
    weighted, cost added.
    """
    kernel, nx = view.kernel, view.layout.nx
    at = W, D, view.parameters
    result = np.zeros((W.shape[1], nx))
    parts = [(kernel.constraint_pattern, kernel.constraint_jacobian, rows)]
    if kernel.objective_rows:
        parts.append(
            (
                kernel.objective_pattern,
                kernel.objective_jacobian,
                np.ones((W.shape[1], kernel.objective_rows)),
            )
        )
    for (row, column), jacobian, weight in parts:
        values = np.asarray(jacobian(*at)) if row.size else np.zeros((0, W.shape[1]))
        for entry in np.flatnonzero(column < nx):
            result[:, column[entry]] += weight[:, row[entry]] * values[entry]
    return result
