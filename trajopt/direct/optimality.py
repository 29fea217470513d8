"""What the cost could still fall between the collocation points, where the program does not ask for optimality.

At the collocation points the Hamiltonian is stationary in the controls. Between them a control is a polynomial; where it should
not be one, H_u differs from zero, and the integral of 1/2 H_u . H_uu^-1 H_u is what the cost is off by, to second order. The
motion may be exact to more digits than that: it averages over the control's errors.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from trajopt.curve import inverse_legendre
from trajopt.direct.collocation import Session
from trajopt.direct.costates import costate_curve
from trajopt.direct.iterate import Iterate
from trajopt.direct.refine import Estimate
from trajopt.direct.structure import NEAR
from trajopt.direct.transcribe import PhaseLayout
from trajopt.direct.values import PhaseValues, control_curve, state_curve
from trajopt.nlp.program import places as places_of

Array = NDArray[np.float64]

RESOLVED = 0.1  # of the root of the tolerance: a control whose last coefficient is smaller than that loses nothing
IDLE = 1e-6  # of the largest costate: a bound that pushes less does not


def judged(session: Session, iterate: Iterate) -> Iterate:
    """The iterate with errors that also count what its controls lose between the points, relative to the cost."""
    if session.method.scheme.shares_nodes or not iterate.solved:
        return iterate
    losses = [_losses(iterate, i, kernels.affine, session.method.tolerance) for i, kernels in enumerate(session.kernels.phases)]
    largest, cost = max(float(loss.max()) for loss in losses), max(abs(iterate.result.f), iterate.running)
    if not (largest > 0 and cost > 0):
        return iterate
    # Losses add up: the worst interval answers for their sum.
    share = sum(float(loss.sum()) for loss in losses) / largest / cost
    estimates = tuple(
        Estimate(np.maximum(e.errors, loss * share), e.decay) for e, loss in zip(iterate.estimates, losses, strict=True)
    )
    error = max(float(e.errors.max()) for e in estimates)
    return replace(iterate, estimates=estimates, record=replace(iterate.record, error=error))


def _losses(iterate: Iterate, index: int, affine: NDArray[np.bool_], tolerance: float) -> Array:
    """(intervals,): of smooth controls inside their bounds, where no constraint decides them."""
    ph, values = iterate.layout.phases[index], iterate.values[index]
    # Algebraic variables move with the controls: their curvature is not that of H alone. Arcs are judged by their own checks.
    if affine.all() or ph.nz or ph.mesh.roles is not None:
        return np.zeros(ph.mesh.intervals)
    where = np.flatnonzero(unresolved(ph, values, RESOLVED * np.sqrt(tolerance)) & free_intervals(iterate, index))
    if not where.size:
        return np.zeros(ph.mesh.intervals)
    counts = [ph.rules[k].points.size + 2 for k in where]
    shares = np.concatenate([_gauss(count)[0] for count in counts])
    weights = np.concatenate([_gauss(count)[1] for count in counts])
    interval = np.repeat(where, counts)
    a, widths = values.breaks[:-1][interval], np.diff(values.breaks)[interval]
    slopes, curvature, u = derivatives(iterate, index, a + widths * shares, interval)
    bound = ph.form.u_bound
    span = np.where(np.isfinite(bound.upper - bound.lower), bound.upper - bound.lower, 1.0)
    inside = (u > bound.lower + NEAR * span) & (u < bound.upper - NEAR * span) & ~affine
    losses = weights * widths * _half_steps(slopes, curvature, inside)
    return np.asarray(np.bincount(interval, losses, ph.mesh.intervals), dtype=float)


def unresolved(ph: PhaseLayout, values: PhaseValues, least: float) -> NDArray[np.bool_]:
    """(intervals,): where the last Legendre coefficient of a control is not small beside it: the others need no closer look."""
    result = np.zeros(ph.mesh.intervals, dtype=bool)
    if not ph.nu:
        return result
    size = np.maximum(np.abs(values.U).max(axis=0), 1e-300)
    for rule, here in ph.groups:
        U = values.U[ph.first_point[here][:, None] + np.arange(rule.points.size)]
        tail = inverse_legendre(tuple(rule.points.tolist()))[-1] @ U
        result[here] = (np.abs(tail) / size).max(axis=1) > least
    return result


@lru_cache(maxsize=32)
def _gauss(count: int) -> tuple[Array, Array]:
    nodes, weights = legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _half_steps(slopes: Array, curvature: Array, inside: NDArray[np.bool_]) -> Array:
    """(places,): 1/2 H_u . H_uu^-1 H_u over the controls inside their bounds; nothing where H is not convex in them."""
    result = np.zeros(slopes.shape[0])
    for pattern in np.unique(inside, axis=0):
        which = np.flatnonzero(pattern)
        here = np.flatnonzero((inside == pattern).all(axis=1))
        if not which.size:
            continue
        H, g = curvature[np.ix_(here, which, which)], slopes[np.ix_(here, which)]
        lowest = np.linalg.eigvalsh(H)
        convex = lowest[:, 0] > 1e-9 * np.abs(lowest).max(axis=1)
        steps = np.linalg.solve(H[convex], g[convex][..., None])[..., 0]
        result[here[convex]] = 0.5 * (g[convex] * steps).sum(axis=1)
    return result


def free_intervals(iterate: Iterate, index: int) -> NDArray[np.bool_]:
    """(intervals,): where no bound of a state and no path constraint pushes; there costates and multipliers are smooth."""
    ph, multipliers = iterate.layout.phases[index], iterate.multipliers[index]
    costates = np.abs(multipliers.points).max(axis=0)
    pushes = np.abs(iterate.bound_multipliers[ph.x : ph.z].reshape(-1, ph.nx)) > IDLE * np.where(costates > 0, costates, 1.0)
    pushes[[0, -1]] = False  # boundary values
    busy = np.array([pushes[ph.first[k] : ph.first[k + 1] + 1].any() for k in range(ph.mesh.intervals)])
    if multipliers.path.shape[1]:
        largest = np.abs(multipliers.path).max(axis=0)
        active = (np.abs(multipliers.path) > IDLE * np.where(largest > 0, largest, 1.0)).any(axis=1)
        busy |= np.logical_or.reduceat(active, ph.first_point)
    return ~busy


def derivatives(iterate: Iterate, index: int, times: Array, interval: NDArray[np.int_]) -> tuple[Array, Array, Array]:
    """(places, controls), (places, controls, controls): H_u and H_uu at times of the phase; and the controls there."""
    ph, kernel, places = iterate.layout.phases[index], iterate.program.blocks[index].kernel, times.size
    u = control_curve(ph, iterate.values[index]).evaluate(times)
    arguments, length = _arguments(iterate, index, times, interval, u)
    rows = _multipliers(iterate, index, times)
    first = slice(ph.nx, ph.nx + ph.nu)
    slopes = np.zeros((places, kernel.inputs))
    for of, (row, column) in (
        (kernel.constraint_jacobian, kernel.constraint_pattern),
        (kernel.objective_jacobian, kernel.objective_pattern),
    ):
        if row.size:
            offset = 0 if of is kernel.constraint_jacobian else kernel.constraint_rows
            np.add.at(slopes.T, column, np.asarray(of(*arguments)) * rows.T[row + offset])
    hessian = np.zeros((places, kernel.inputs, kernel.inputs))
    if kernel.hessian_pattern[0].size:
        entries = np.asarray(kernel.hessian(*arguments, rows.T)).T
        hessian[:, kernel.hessian_pattern[0], kernel.hessian_pattern[1]] = entries
        hessian[:, kernel.hessian_pattern[1], kernel.hessian_pattern[0]] = entries
    return slopes[:, first] / length[:, None], hessian[:, first, first] / length[:, None, None], u


def hamiltonians(iterate: Iterate, index: int, points: NDArray[np.int_], controls: Array) -> Array:
    """(choices, points): H at collocation points with other controls (choices, points, controls), times the span's length."""
    ph, program = iterate.layout.phases[index], iterate.program
    block = program.blocks[index]
    choices, count = controls.shape[0], points.size
    inputs, data, parameters = (np.tile(part[:, points], choices) for part in places_of(block, program))
    inputs[ph.nx : ph.nx + ph.nu] = controls.reshape(choices * count, ph.nu).T
    arguments = inputs, data, parameters
    values = [np.asarray(of(*arguments)).reshape(-1, choices, count) for of in (block.kernel.constraints, block.kernel.objective)]
    times = np.interp(ph.point_times()[points], ph.mesh.breaks, iterate.values[index].breaks)
    return np.asarray(np.einsum("pr,rcp->cp", _multipliers(iterate, index, times), np.concatenate(values)), dtype=float)


def _arguments(
    iterate: Iterate, index: int, times: Array, interval: NDArray[np.int_], u: Array
) -> tuple[tuple[Array, Array, Array], Array]:
    """What the kernel takes at times of the phase; and the length of normalised time there, by which its rates are."""
    ph, values, program = iterate.layout.phases[index], iterate.values[index], iterate.program
    places = times.size
    x = state_curve(ph, values).evaluate(times)
    spans = np.stack([values.spans[ph.mesh.spans[1][interval] + side] for side in (0, 1)], axis=1)
    theta = (times - spans[:, 0]) / (spans[:, 1] - spans[:, 0])
    s = program.start[iterate.layout.s : iterate.layout.s + iterate.layout.form.s.numel()]
    columns = [x, u, np.broadcast_to(s, (places, s.size)), *([spans] if ph.free_time else [])]
    data = np.vstack([theta, *([] if ph.free_time else [spans.T])])
    parameters = np.repeat(program.parameters[:, None], places, axis=1)
    return (np.hstack(columns).T, data, parameters), spans[:, 1] - spans[:, 0]


def _multipliers(iterate: Iterate, index: int, times: Array) -> Array:
    """(places, rows of the kernel): those of span f, c, span l, and the running cost."""
    ph, values = iterate.layout.phases[index], iterate.values[index]
    costates = costate_curve(ph, values, iterate.multipliers[index]).evaluate(times)
    paths = np.zeros((times.size, ph.form.c.numel()))  # only where they are idle
    integrals = np.broadcast_to(-iterate.constraint_multipliers[ph.q_rows : ph.span_rows], (times.size, ph.span_rows - ph.q_rows))
    cost = np.ones((times.size, iterate.program.blocks[index].kernel.objective_rows))
    return np.hstack([costates, paths, integrals, cost])
