"""Controls for a guess that begins where they have no effect to first order.

A thrust vector of length zero is a critical point of the path constraint on its length; the middle
of its range is one for a control that enters squared. No first-order step leaves such a point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.guess.motions import followed
from trajopt.guess.plain import plain_guess
from trajopt.guess.regular import sound_guess, with_slopes
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectories, Trajectory

Array = NDArray[np.float64]
# rates, path constraints and required integrands for controls (nu, m) at the points of a guess
Rows = Callable[[Array], Array]

POINTS = np.linspace(0.0, 1.0, 9)
STEP = 1e-4  # of central differences
OFF_CENTRE = 0.5  # part of the way from the middle of its range to its upper bound
# a path constraint is flat if it changes by less than this fraction of what a unit change of the
# controls does
FLAT = 1e-3
WEIGHT = 1e3  # of path constraints relative to rates


def start_guess(form: NormalForm, parameters: Array) -> Trajectories:
    """Return the plain guess, with other controls where they have no effect on it to first order.

    Where path constraints are violated at a critical point, the controls are taken that satisfy
    them, and drive the states along the guess as far as possible. Other controls without an effect
    begin between the middle and the end of their ranges; controls that an integral of the
    conditions needs, but does not feel to first order, begin with a wave. Where the first
    derivatives do not exist, the guess is moved.
    """
    guess, phases = followed(form, parameters, sound_guess(form, parameters)), []
    for i, (phase, start) in enumerate(zip(form.phases, guess.phases, strict=True)):
        given = any(q.guess is not None for q in phase.controls)
        if not given and phase.controls:
            rows, times = _rows(form, i, guess, parameters), start.times(POINTS)
            u = start.u.evaluate(times).T
            values, slopes, effects = _first_order(rows, u)
            nx, local = len(phase.x_names), len(phase.x_names) + len(phase.c_names)
            if _at_critical_point(phase, values[nx:local], slopes[nx:local], effects[nx:local]):
                start = replace(start, u=Curve.linear(times, _driving(phase, start, rows)))
            else:
                flat = slopes <= FLAT * effects
                idle = np.all(flat[:local], axis=0) & np.any(effects[:local] > 0, axis=0)
                waving = ~idle & _without_slope(flat[local:], effects[local:])
                if idle.any() or waving.any():
                    bent = plain_guess(form, bend=OFF_CENTRE, parameters=parameters).phases[i]
                    moved = bent.u.evaluate(times)
                    wave = u.T + (moved - u.T) * np.cos(np.pi * POINTS)[:, None]
                    chosen = np.where(idle, moved, np.where(waving, wave, u.T))
                    start = replace(start, u=Curve.linear(times, chosen))
        phases.append(start)
    return with_slopes(form, Trajectories(tuple(phases), guess.s), parameters)


def _without_slope(flat: NDArray[np.bool_], effects: Array) -> NDArray[np.bool_]:
    """(nu,): the controls of the integrands that controls change, but none to first order."""
    stuck = np.any(effects > 0, axis=1) & np.all(flat, axis=1)
    return np.asarray(np.any(effects[stuck] > 0, axis=0))


def _rows(form: NormalForm, index: int, guess: Trajectories, parameters: Array) -> Rows:
    phase, model, count = form.phases[index], form.models[index], POINTS.size
    start, s = guess.phases[index], guess.s
    times = start.times(POINTS)
    x, z = start.x.evaluate(times).T, start.z.evaluate(times).T
    shared = [np.repeat(column[:, None], count, axis=1) for column in (s, parameters)]
    nx, ng, nc = len(phase.x_names), len(phase.g_names), len(phase.c_names)
    required = _violated_integrals(form, index, guess, parameters)
    taken = np.concatenate([np.arange(nx), nx + ng + np.arange(nc), nx + ng + nc + required])
    return lambda u: np.asarray(model(times[None, :], x, z, u, *shared))[taken]


def _violated_integrals(
    form: NormalForm, index: int, guess: Trajectories, parameters: Array
) -> NDArray[np.intp]:
    """Return which integrals of a phase are in conditions that a guess violates."""
    q = form.phases[index].ends.q
    sampled = any(phase.samples for phase in form.phases)  # conditions on states inside phases
    if not q.numel() or not form.b.numel() or sampled:
        return np.zeros(0, dtype=np.intp)
    columns = [
        _endpoint_column(form, i, start, guess.s, parameters)
        for i, start in enumerate(guess.phases)
    ]
    value = casadi.Function("b", [form.endpoint_column, form.s, form.p], [casadi.densify(form.b)])
    b = np.asarray(value(np.concatenate(columns), guess.s, parameters)).ravel()
    violated = np.flatnonzero((b < form.b_bound.lower) | (b > form.b_bound.upper))
    if not violated.size:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(casadi.which_depends(form.b[violated.tolist()], q, 1, False))


def _endpoint_column(
    form: NormalForm, index: int, start: Trajectory, s: Array, parameters: Array
) -> Array:
    """Return the endpoint values of a guess, in the order of ``Endpoints``; integrals by the
    trapezoidal rule.
    """
    phase, times = form.phases[index], start.times(POINTS)
    x, z, u = (curve.evaluate(times) for curve in (start.x, start.z, start.u))
    rows = np.asarray(form.models[index](times[None, :], x.T, z.T, u.T, s, parameters))
    integrands = rows[rows.shape[0] - phase.l.numel() :]
    q = 0.5 * (integrands[:, 1:] + integrands[:, :-1]) @ np.diff(times)
    ends = [part[k] for part in (x, z, u) for k in (0, -1)]
    return np.concatenate([[start.t0, start.tf], *ends, q])


def _first_order(rows: Rows, u: Array) -> tuple[Array, Array, Array]:
    """Values of the rows (rows, m), their largest slopes, and their largest changes by unit steps
    (rows, nu).
    """
    values = rows(u)
    slopes = np.zeros((values.shape[0], u.shape[0]))
    effects = np.zeros((values.shape[0], u.shape[0]))
    for j in range(u.shape[0]):
        one = (np.arange(u.shape[0]) == j)[:, None]
        less, more, unit = (rows(u + step * one) for step in (-STEP, STEP, 1.0))
        slopes[:, j] = np.abs(more - less).max(axis=1) / (2 * STEP)
        effects[:, j] = np.abs(unit - values).max(axis=1)
    return values, slopes, effects


def _at_critical_point(phase: PhaseForm, values: Array, slopes: Array, effects: Array) -> bool:
    """True if a path constraint that is violated along the whole guess depends on the controls, but
    not to first order.
    """
    bound = phase.c_bound
    violated = np.all((values < bound.lower[:, None]) | (values > bound.upper[:, None]), axis=1)
    slope, effect = slopes.max(axis=1, initial=0.0), effects.max(axis=1, initial=0.0)
    return bool(np.any(violated & (effect > 0) & (slope < FLAT * effect)))


def _driving(phase: PhaseForm, start: Trajectory, rows: Rows) -> Array:
    """Return the controls (m, nu) that satisfy the path constraints, and give the states of known
    ends their mean rates.
    """
    from scipy.optimize import least_squares

    nx, count, bound = len(phase.x_names), POINTS.size, phase.c_bound
    ends = start.x.evaluate(np.array([start.t0, start.tf]))
    mean = (ends[1] - ends[0])[:, None] / (start.tf - start.t0)
    known = phase.x_start.fixed & phase.x_end.fixed
    plain = start.u.evaluate(start.times(POINTS)).T
    size = np.maximum(np.abs(mean), np.abs(rows(plain)[:nx]).max(axis=1, keepdims=True))
    limits = (
        np.where(np.isfinite(bound.lower), bound.lower, 0.0),
        np.where(np.isfinite(bound.upper), bound.upper, 0.0),
    )
    reach = np.maximum(np.maximum(np.abs(limits[0]), np.abs(limits[1])), 1.0)[:, None]

    def residuals(column: Array) -> Array:
        values = rows(column.reshape(plain.shape))
        rates = (values[:nx] - mean)[known] / np.where(size > 0, size, 1.0)[known]
        c = values[nx : nx + bound.lower.size]
        beyond = np.maximum(c - bound.upper[:, None], 0.0) - np.maximum(
            bound.lower[:, None] - c, 0.0
        )
        return np.concatenate([rates.ravel(), WEIGHT * (beyond / reach).ravel()])

    low, high = (
        np.repeat(side[:, None], count, axis=1).ravel()
        for side in (phase.u_bound.lower, phase.u_bound.upper)
    )
    # differences of controls change too
    moved = plain + 0.1 * (1.0 + 0.1 * np.arange(plain.shape[0]))[:, None]
    first = np.clip(moved.ravel(), low, high)
    found = least_squares(residuals, first, bounds=(low, high), x_scale="jac", max_nfev=100).x
    return np.asarray(found, dtype=float).reshape(plain.shape).T
