"""What the cost could still fall by other controls: the part of the error that concerns optimality.

*At the collocation points* the program has chosen among the controls that the mesh allows. What a
freer control would gain there is known to first order where controls enter affinely (each could
take its better bound), and to second order where they enter smoothly.

*Between the points* the program does not ask for optimality: a control is a polynomial there, and
where it should not be one, H_u differs from zero. The integral of 1/2 H_u . H_uu^-1 H_u is what the
cost is off by, to second order. The states may be exact to more digits than that, since they
average over the control's errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.arc_structure import decided, near_limit
from trajopt.direct.collocation import DECADE
from trajopt.direct.mesh_solution import Estimate, MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.schemes import gauss_quadrature
from trajopt.trajectory.arcs import FREE
from trajopt.trajectory.curve import inverse_legendre

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROUND_OFF = float(np.sqrt(np.finfo(float).eps))


def control_losses(solution: MeshSolution) -> tuple[Estimate, ...]:
    """By phase: what the controls at the collocation points lose, relative to the cost."""
    reduced = _summed([_reduced_curvature(view) for view in solution.phases])
    held = [
        loss + _switching_and_decided(view) + _kept_at_jumps(view)
        for loss, view in zip(reduced, solution.phases, strict=True)
    ]
    singular = [_singular_losses(view) for view in solution.phases]
    size = solution.relative_to_cost(max(float(loss.max()) for loss in (*held, *singular)))
    estimates = []
    for loss, more in zip(held, singular, strict=True):
        # H_u is zero along a singular arc: a relative loss of first order has a gain of its square.
        square = np.minimum(more / size, (more / size) ** 2)
        # The control has few values on an interval of a singular arc for any degree, so that only
        # narrower intervals help.
        estimates.append(Estimate(np.maximum(loss / size, square), np.where(more > 0, 1.0, 0.0)))
    return tuple(estimates)


def _summed(losses: list[Array]) -> list[Array]:
    """The losses of all phases by interval, so that the worst interval answers for their sum."""
    worst = max(float(loss.max()) for loss in losses)
    share = sum(float(loss.sum()) for loss in losses) / worst if worst > 0 else 1.0
    return [share * loss for loss in losses]


def _first_order(view: PhaseView) -> Array:
    """(points, controls): what the cost could fall by if an affine control took its better bound; 0
    for others.

    Points where a state is at a bound do not count: there the bound, not the Hamiltonian, decides.
    """
    bound, s = view.layout.form.u_bound, view.control_slopes
    which = view.kernels.affine & np.isfinite(bound.lower) & np.isfinite(bound.upper)
    lower, upper = (np.where(which, side, 0.0) for side in (bound.lower, bound.upper))
    losses = np.where(which, s * view.values.U - np.minimum(s * lower, s * upper), 0.0)
    return np.where(near_limit(view)[:, None], 0.0, np.maximum(losses, 0.0))


def _by_interval(view: PhaseView, losses: Array) -> Array:
    return np.asarray(np.add.reduceat(losses, view.layout.grid.first_point, axis=0))


def _switching_and_decided(view: PhaseView) -> Array:
    """(intervals,): losses by switches inside intervals, and by affine controls kept constant where
    constraints decide them.

    Without further information these could change at every point by their own size; errors of the
    states do not show it.
    """
    ph = view.layout
    if ph.mesh.roles is not None or not view.kernels.affine.any():
        return np.zeros(ph.mesh.intervals)
    losses = _by_interval(view, _first_order(view)).sum(axis=1)
    constant = view.kernels.affine & (ph.control_grid.count < ph.grid.sizes[:, None])
    if constant.any():
        kept = constant & decided(view)
        losses = losses + np.where(
            kept, _by_interval(view, np.abs(view.control_slopes) * view.u_size), 0.0
        ).sum(axis=1)
    return np.asarray(losses)


def _singular_losses(view: PhaseView) -> Array:
    """(intervals,): losses to first order on singular arcs; held controls have signs."""
    ph = view.layout
    if ph.mesh.roles is None or not view.kernels.affine.any():
        return np.zeros(ph.mesh.intervals)
    # a control that a constraint determines has a value at every point
    stiff = ph.control_grid.count < ph.grid.sizes[:, None]
    free = (ph.mesh.roles == FREE) & stiff
    return np.asarray(np.where(free, _by_interval(view, _first_order(view)), 0.0).sum(axis=1))


def _reduced_curvature(view: PhaseView) -> Array:
    """(intervals,): second-order losses of smooth controls that are not free at every point."""
    ph = view.layout
    reduced = ~view.kernels.affine & (ph.control_grid.count < ph.grid.sizes[:, None]).any(axis=0)
    if ph.mesh.control_points is None or not reduced.any():
        return np.zeros(ph.mesh.intervals)
    slopes, curvature = view.control_slopes, view.control_curvature
    inside = view.inside(view.values.U) & (curvature > 0) & reduced
    return _by_interval(
        view, np.where(inside, 0.5 * slopes**2 / np.where(inside, curvature, 1.0), 0.0).sum(axis=1)
    )


def jumps(view: PhaseView) -> Bools:
    """(intervals,): where a smooth control that path constraints limit changes by a third of its
    size within a short time.

    Its polynomial does not converge there, or it is constant there already.
    """
    ph, smooth = view.layout, ~view.kernels.affine & ~view.kernels.equated
    if (
        view.kernels.state_paths.all()
        or not smooth.any()
        or ph.mesh.roles is not None
        or ph.grid.shares_nodes
    ):
        return np.zeros(ph.mesh.intervals, dtype=bool)
    small = DECADE**-2  # of the phase, and of the size of a control
    narrow = np.diff(ph.mesh.breaks) < small
    first, U = ph.grid.first_point, view.values.U[:, smooth]
    low, high = (function.reduceat(U, first, axis=0) for function in (np.minimum, np.maximum))
    before = U[np.maximum(first - 1, 0)]
    after = U[np.minimum(np.append(first[1:], U.shape[0]), U.shape[0] - 1)]
    spread = np.maximum(np.maximum(high, before), after) - np.minimum(
        np.minimum(low, before), after
    )
    size, constant = view.u_size[smooth], ph.control_grid.count[:, smooth] == 1
    unresolved = constant | (np.abs(_last_coefficients(view)[:, smooth]) > small * size)
    return np.asarray(narrow & (unresolved & (3 * spread > size)).any(axis=1))


def _kept_at_jumps(view: PhaseView) -> Array:
    """(intervals,): first-order losses of smooth controls that are constant where they jump."""
    ph, smooth = view.layout, ~view.kernels.affine
    constant = smooth & (ph.control_grid.count == 1) & (ph.grid.sizes > 1)[:, None]
    if (
        ph.mesh.control_points is None
        or ph.mesh.roles is not None
        or not ph.nc
        or not constant.any()
    ):
        return np.zeros(ph.mesh.intervals)
    losses = _by_interval(view, np.abs(view.control_slopes) * view.u_size)
    return np.asarray(np.where(constant, losses, 0.0).sum(axis=1))


def with_control_error(solution: MeshSolution) -> MeshSolution:
    """The solution with errors that also count what its smooth controls lose between the points,
    relative to the cost.
    """
    if solution.layout.scheme.shares_nodes or not solution.solved:
        return solution
    losses = [_losses_between(view) + _losses_at_limits(view) for view in solution.phases]
    largest = max(float(loss.max()) for loss in losses)
    total = sum(float(loss.sum()) for loss in losses)
    if not largest > 0:
        return solution
    # losses add up: the worst interval answers for their sum
    share = total / largest / solution.relative_to_cost(total)
    estimates = tuple(
        replace(e, errors=np.maximum(e.errors, loss * share))
        for e, loss in zip(solution.estimates, losses, strict=True)
    )
    return solution.judged(estimates)


def _losses_between(view: PhaseView) -> Array:
    """(intervals,): of smooth controls inside their bounds, where no constraint decides them."""
    ph, values, affine = view.layout, view.values, view.kernels.affine
    # Algebraic variables move with the controls: their curvature is not that of H alone.
    if affine.all() or ph.nz or ph.mesh.roles is not None:
        return np.zeros(ph.mesh.intervals)
    # Losses are of second order in the error of a control: where its last Legendre coefficient is
    # small they vanish.
    least = np.sqrt(view.method.tolerance) / DECADE
    last = (np.abs(_last_coefficients(view)) / view.u_size).max(axis=1, initial=0.0)
    where = np.flatnonzero((last > least) & view.free_intervals)
    if not where.size:
        return np.zeros(ph.mesh.intervals)
    rules = [gauss_quadrature(ph.grid.rules[k].points.size + 2) for k in where]
    at, weights = (np.concatenate([rule[i] for rule in rules]) for i in (0, 1))
    interval = np.repeat(where, [rule[0].size for rule in rules])
    widths = np.diff(values.breaks)[interval]
    slopes, curvature, u = control_derivatives(
        view, values.breaks[:-1][interval] + widths * at, interval
    )
    losses = weights * widths * _half_steps(slopes, curvature, view.inside(u) & ~affine)
    return np.asarray(np.bincount(interval, losses, ph.mesh.intervals), dtype=float)


def _losses_at_limits(view: PhaseView) -> Array:
    """(intervals,): of smooth controls where a limit of the states becomes active inside an
    interval.

    The costates are not smooth there, so that H_u is not known between the points. What the
    polynomial of a control leaves unresolved, about its last Legendre coefficient a, loses the
    integral of 1/2 H_uu a^2.
    """
    ph = view.layout
    smooth = ~view.kernels.affine
    if not smooth.any() or ph.nz or ph.mesh.roles is not None:
        return np.zeros(ph.mesh.intervals)
    busy = ~view.free_intervals
    if not busy.any():
        return np.zeros(ph.mesh.intervals)
    curvature = np.maximum(_by_interval(view, view.control_curvature), 0.0)
    inside = np.logical_or.reduceat(view.inside(view.values.U), ph.grid.first_point, axis=0)
    losses = 0.5 * curvature * _last_coefficients(view) ** 2
    return np.asarray(np.where(inside & smooth & busy[:, None], losses, 0.0).sum(axis=1))


def _last_coefficients(view: PhaseView) -> Array:
    """(intervals, controls): the last Legendre coefficient of each control."""
    ph, result = view.layout, np.zeros((view.layout.mesh.intervals, view.layout.nu))
    for rule, here in ph.grid.groups if ph.nu else ():
        U = view.values.U[ph.grid.points_in(here)]
        result[here] = inverse_legendre(tuple(rule.points.tolist()))[-1] @ U
    return result


def _half_steps(slopes: Array, curvature: Array, inside: Bools) -> Array:
    """(places,): 1/2 H_u .

    H_uu^-1 H_u over the controls inside their bounds; zero where H is not convex in them.
    """
    result = np.zeros(slopes.shape[0])
    for pattern in np.unique(inside, axis=0):
        which = np.flatnonzero(pattern)
        here = np.flatnonzero((inside == pattern).all(axis=1))
        if not which.size:
            continue
        H, g = curvature[np.ix_(here, which, which)], slopes[np.ix_(here, which)]
        lowest = np.linalg.eigvalsh(H)
        convex = lowest[:, 0] > ROUND_OFF * np.abs(lowest).max(axis=1)
        steps = np.linalg.solve(H[convex], g[convex][..., None])[..., 0]
        result[here[convex]] = 0.5 * (g[convex] * steps).sum(axis=1)
    return result


def control_derivatives(
    view: PhaseView, times: Array, interval: NDArray[np.int_]
) -> tuple[Array, Array, Array]:
    """(places, controls), (places, controls, controls): H_u and H_uu at times of the phase; and the
    controls there.

    For phases without algebraic variables, where no path constraint is active.
    """
    ph, values, kernel = view.layout, view.values, view.kernel
    u, x = view.control_curve.evaluate(times), view.state_curve.evaluate(times)
    spans = values.spans[ph.mesh.spans[1][interval][:, None] + np.arange(2)]
    length = spans[:, 1] - spans[:, 0]
    inputs = ph.inputs(x, np.zeros((times.size, 0)), u, view.statics, spans).T
    at = inputs, ph.data((times - spans[:, 0]) / length, spans), view.parameters
    rows = hamiltonian_rows(view, times)
    slopes = np.zeros((times.size, kernel.inputs))
    for of, (row, column), offset in (
        (kernel.constraint_jacobian, kernel.constraint_pattern, 0),
        (kernel.objective_jacobian, kernel.objective_pattern, kernel.constraint_rows),
    ):
        if row.size:
            np.add.at(slopes.T, column, np.asarray(of(*at)) * rows.T[row + offset])
    hessian = np.zeros((times.size, kernel.inputs, kernel.inputs))
    if kernel.hessian_pattern[0].size:
        entries = np.asarray(kernel.hessian(*at, rows.T)).T
        hessian[:, kernel.hessian_pattern[0], kernel.hessian_pattern[1]] = entries
        hessian[:, kernel.hessian_pattern[1], kernel.hessian_pattern[0]] = entries
    first = ph.control_inputs
    return slopes[:, first] / length[:, None], hessian[:, first, first] / length[:, None, None], u


def hamiltonian_rows(
    view: PhaseView, times: Array, left: bool | NDArray[np.bool_] = False
) -> Array:
    """(places, rows of the kernel): multipliers of span f, c, span l, and the running cost; c only
    where it is not active; ``left``: where a time is the end of its interval.
    """
    ph = view.layout
    integrals = -ph.integral_rows(view.constraint_multipliers)
    return np.hstack(
        [
            view.costate_curve.evaluate(times, left=left),
            np.zeros((times.size, ph.nc)),
            np.broadcast_to(integrals, (times.size, integrals.size)),
            np.ones((times.size, view.kernel.objective_rows)),
        ]
    )
