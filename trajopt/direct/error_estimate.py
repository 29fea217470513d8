"""The error of a mesh solution between its nodes.

The rates along the solution's own polynomials are integrated over other points than those where the
solver zeroed the defects, and compared with the states (Patterson, Hager and Rao 2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.interpolation import node_values, sampled_between
from trajopt.direct.mesh_solution import Estimate, MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.schemes import gauss_quadrature
from trajopt.trajectory.curve import inverse_legendre, lagrange_basis

Array = NDArray[np.float64]

TINY = np.finfo(float).tiny
EPSILON = np.finfo(float).eps


def error_estimate(solution: MeshSolution, view: PhaseView) -> Estimate:
    """The relative error of every interval of a phase."""
    ph, kernel, size = view.layout, view.kernel, view.x_size
    errors, decay = np.zeros(ph.mesh.intervals), np.ones(ph.mesh.intervals)
    integrals = _integrals_by_interval(view)
    x, W, D = view.between
    # one call for all: each costs more than its evaluations
    all_outputs = kernel.constraints(W, D, view.parameters).T
    all_costs = (
        kernel.objective(W, D, view.parameters).T
        if kernel.objective_rows
        else np.zeros((W.shape[1], 0))
    )
    gaps, violation = np.zeros_like(integrals), 0.0
    place = 0
    for rule, here in ph.grid.groups:
        at, weights, integration = gauss_quadrature(rule.between.at.size)
        rows = slice(place, place + here.size * at.size)
        place = rows.stop
        widths, X = ph.grid.widths[here], node_values(view, here, rule.nodes.size)
        between = x[rows].reshape(here.size, at.size, ph.nx)
        outputs = all_outputs[rows].reshape(here.size, at.size, -1)
        moved = X[:, :1] + widths[:, None, None] * (integration @ outputs[..., : ph.nx])
        reached = np.concatenate([between, view.values.X[ph.grid.first[here + 1]][:, None]], axis=1)
        errors[here] = np.nan_to_num((np.abs(moved - reached) / size).max(axis=(1, 2)), nan=np.inf)
        residuals = _residuals(view, between, outputs)
        errors[here], violation = (
            np.maximum(errors[here], residuals),
            max(violation, float(residuals.max())),
        )
        if integrals.shape[1]:
            finer = np.concatenate(
                [outputs[..., ph.outputs[3]], all_costs[rows].reshape(here.size, at.size, -1)],
                axis=2,
            )
            gaps[here] = np.abs(widths[:, None] * (weights @ finer) - integrals[here])
        decay[here] = _decay(rule.nodes, X, size)
    errors = errors + _overshoots(view)
    in_gaps = _residuals_in_gaps(view)
    errors, violation = np.maximum(errors, in_gaps), max(violation, float(in_gaps.max()))
    return Estimate(
        np.maximum(errors, _quadrature_errors(solution, view, integrals, gaps)), decay, violation
    )


def _overshoots(view: PhaseView) -> Array:
    """(intervals,): what the states miss because a control is cut off at its bound.

    The polynomial of a smooth control may leave its bounds between the ends of an interval and the
    nearest collocation point. There the control that a user gets is the bound, which is beyond the
    polynomial by a triangle in time, too short for the points between.
    """
    ph, bound = view.layout, view.layout.form.u_bound
    errors = np.zeros(ph.mesh.intervals)
    if not (np.isfinite(bound.lower).any() or np.isfinite(bound.upper).any()):
        return errors
    for rule, here in ph.grid.groups:
        points = ph.grid.first_point[here][:, None] + np.arange(rule.points.size)
        U = view.values.U[points]
        for end, nearest in ((0.0, 0), (1.0, -1)):
            distance = abs(end - rule.points[nearest])
            at_end = lagrange_basis(rule.points, np.array([end]))[0]
            u = np.einsum("p,kpi->ki", at_end, U)
            excess = np.maximum(np.maximum(u - bound.upper, bound.lower - u), 0.0)
            if distance == 0 or not excess.any():
                continue
            # On a line to the nearest point, the share of the distance that is beyond the bound.
            change = np.maximum(np.abs(u - U[:, nearest]), excess)
            share = np.divide(excess, change, out=np.zeros_like(excess), where=excess > 0)
            area = 0.5 * excess * share * distance * ph.grid.widths[here][:, None]
            slopes = view.derivatives[0][points[:, nearest]][:, : ph.nx, ph.control_inputs]
            missed = np.einsum("kiu,ku->ki", np.abs(slopes), area)
            errors[here] += (missed / view.x_size).max(axis=1, initial=0.0)
    return errors


def _quadrature_errors(
    solution: MeshSolution, view: PhaseView, integrals: Array, gaps: Array
) -> Array:
    """(intervals,): quadrature errors; they add up, so the worst interval has their sum."""
    if not integrals.shape[1]:
        return np.zeros(integrals.shape[0])
    total, sums = np.abs(integrals).sum(axis=0), gaps.sum(axis=0)
    usual = [
        *view.layout.integral_values(view.sizes),
        *([solution.cost_reach] if view.kernel.objective_rows else []),
    ]
    total = np.maximum(np.maximum(total, view.method.round_off * np.array(usual)), TINY)
    shares = sums / total / np.maximum(gaps.max(axis=0), TINY)
    return np.asarray((gaps * shares).max(axis=1))


def _integrals_by_interval(view: PhaseView) -> Array:
    """(intervals, integrals): the scheme's own quadrature of each integral that is an unknown, and
    of the running cost.
    """
    ph = view.layout
    costs = (
        view.running_cost[:, None] if view.kernel.objective_rows else np.zeros((ph.grid.points, 0))
    )
    values = np.concatenate([view.outputs[:, ph.outputs[3]], costs], axis=1) if ph.nq else costs
    integrals = np.zeros((ph.mesh.intervals, values.shape[1]))
    for rule, here in ph.grid.groups if values.shape[1] else ():
        # (intervals, points, integrals)
        at_points = values[ph.grid.points_in(here)]
        integrals[here] = ph.grid.widths[here][:, None] * np.einsum(
            "p,kpi->ki", rule.weights, at_points
        )
    return integrals


def _residuals_in_gaps(view: PhaseView) -> Array:
    """(intervals,): violations of path constraints on controls between collocation points."""
    ph, errors = view.layout, np.zeros(view.layout.mesh.intervals)
    if view.kernels.state_paths.all() or ph.grid.shares_nodes:
        return errors
    groups = [(here, rule.gaps) for rule, here in ph.grid.groups]
    _, W, D = sampled_between(view, groups)
    ends = np.cumsum([here.size * places.at.size for here, places in groups])
    outputs = np.split(view.kernel.constraints(W, D, view.parameters).T, ends[:-1])
    for (here, places), rows in zip(groups, outputs, strict=True):
        errors[here] = _path_residuals(view, rows.reshape(here.size, places.at.size, -1))
    return errors


def _residuals(view: PhaseView, x: Array, outputs: Array) -> Array:
    """(intervals,): how far states and path constraints leave their bounds, and algebraic equations
    zero, between the nodes.

    A violated constraint costs its multiplier times the violation, often more than an error of the
    states of that size.
    """
    ph, weight = view.layout, view.method.refinement.limit_weight
    bound = ph.form.x_bound
    worst = weight * (
        np.maximum(np.maximum(bound.lower - x, x - bound.upper), 0.0) / view.x_size
    ).max(axis=(1, 2))
    if ph.ng:
        g = np.abs(outputs[..., ph.outputs[1]]) / view.term_sizes[ph.outputs[1]]
        worst = np.maximum(worst, np.nan_to_num(g.max(axis=(1, 2)), nan=np.inf))
    if ph.nc:
        worst = np.maximum(worst, _path_residuals(view, outputs))
    return np.asarray(worst)


def _path_residuals(view: PhaseView, outputs: Array) -> Array:
    """(intervals,): weighted violations of path constraints, from the outputs (intervals, places,
    rows) of the kernel.

    Relative to the largest value on the phase, unless this is out of all proportion: a control that
    nothing determines at some times, and that has no bound, may take any value there. Then to the
    largest on the interval. The value of an equation is the same everywhere: its violation is
    relative to its terms, as in the program.
    """
    ph, c = view.layout, outputs[..., view.layout.outputs[2]]
    local = np.maximum(1.0, np.abs(c).max(axis=1))  # (intervals, path constraints)
    largest, usual = local.max(axis=0), np.median(local, axis=0)
    reach = np.where(view.method.round_off * largest > usual, local, largest)[:, None]
    equations = ph.form.c_bound.fixed
    if equations.any():
        reach = np.where(equations, np.maximum(reach, view.term_sizes[ph.outputs[2]]), reach)
    excess = (
        np.maximum(np.maximum(ph.form.c_bound.lower - c, c - ph.form.c_bound.upper), 0.0) / reach
    )
    return np.asarray(
        np.nan_to_num(excess.max(axis=(1, 2)), nan=np.inf) * view.method.refinement.limit_weight
    )


def _decay(support: Array, X: Array, size: Array) -> Array:
    """(intervals,): rho of the fit abs(a_n) ~ rho^n to the states' Legendre coefficients."""
    degree = support.size - 1
    if degree < 2:
        return np.ones(X.shape[0])
    to_series = inverse_legendre(tuple(support.tolist()))
    coefficients = (np.abs(to_series @ X) / size).max(axis=2)[:, 1:] + 64 * EPSILON
    n = np.arange(degree) - (degree - 1) / 2
    # of the straight line through them, by least squares
    slope = np.log(coefficients) @ n / (n @ n)
    return np.asarray(np.exp(slope))
