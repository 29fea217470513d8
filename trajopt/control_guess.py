"""Controls for a guess that begins at a critical point of its path constraints, as a thrust vector of length zero does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.guess import Guess, PhaseGuess, sound_guess
from trajopt.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]
Rows = Callable[[Array], Array]  # the rates and path constraints for controls (nu, m) at the m points of a guess

POINTS = np.linspace(0.0, 1.0, 9)
STEP = 1e-4  # of central differences
FLAT = 1e-3  # a path constraint is flat if it changes by less than this fraction of what a unit change of the controls does
WEIGHT = 1e3  # of path constraints relative to rates


def start_guess(form: NormalForm, parameters: Array) -> Guess:
    """Return the plain guess, with other controls where they are at a critical point of a path constraint that they violate.

    No first-order step leaves such a point: the length of a vector, or its square, has no slope at zero. There the controls are
    taken that satisfy the path constraints, and drive the states along the guess as far as possible.
    """
    guess, phases = sound_guess(form, parameters), []
    for i, (phase, start) in enumerate(zip(form.phases, guess.phases, strict=True)):
        given = any(q.guess is not None for q in phase.controls)
        if not given and phase.controls and phase.c_names:
            rows = _rows(form, i, start, guess.s, parameters)
            if _at_critical_point(phase, rows, start.u(POINTS).T):
                start = replace(start, u=_interpolated(_driving(phase, start, rows)))
        phases.append(start)
    return Guess(tuple(phases), guess.s)


def _interpolated(values: Array) -> Callable[[Array], Array]:
    return lambda tau: np.stack([np.interp(tau, POINTS, column) for column in values.T], axis=1)


def _rows(form: NormalForm, index: int, start: PhaseGuess, s: Array, parameters: Array) -> Rows:
    phase, model, count = form.phases[index], form.models[index], POINTS.size
    times = (start.t0 + POINTS * (start.tf - start.t0))[None, :]
    x, z = start.x(POINTS).T, start.z(POINTS).T
    shared = [np.repeat(column[:, None], count, axis=1) for column in (s, parameters)]
    nx, ng, nc = len(phase.x_names), len(phase.g_names), len(phase.c_names)
    taken = np.r_[0:nx, nx + ng : nx + ng + nc]
    return lambda u: np.asarray(model(times, x, z, u, *shared))[taken]


def _at_critical_point(phase: PhaseForm, rows: Rows, u: Array) -> bool:
    """True if a path constraint that is violated along the whole guess depends on the controls, but not to first order."""
    nx, bound = len(phase.x_names), phase.c_bound
    values = rows(u)[nx:]
    violated = np.all((values < bound.lower[:, None]) | (values > bound.upper[:, None]), axis=1)
    if not violated.any():
        return False
    slopes, effects = np.zeros(values.shape[0]), np.zeros(values.shape[0])
    for j in range(u.shape[0]):
        one = (np.arange(u.shape[0]) == j)[:, None]
        less, more, unit = (rows(u + step * one)[nx:] for step in (-STEP, STEP, 1.0))
        slopes = np.maximum(slopes, np.abs(more - less).max(axis=1) / (2 * STEP))
        effects = np.maximum(effects, np.abs(unit - values).max(axis=1))
    return bool(np.any(violated & (effects > 0) & (slopes < FLAT * effects)))


def _driving(phase: PhaseForm, start: PhaseGuess, rows: Rows) -> Array:
    """Return the controls (m, nu) that satisfy the path constraints, and give the states of known ends their mean rates."""
    from scipy.optimize import least_squares

    nx, count, bound = len(phase.x_names), POINTS.size, phase.c_bound
    ends = start.x(np.array([0.0, 1.0]))
    mean = (ends[1] - ends[0])[:, None] / (start.tf - start.t0)
    known = phase.x_start.fixed & phase.x_end.fixed
    plain = start.u(POINTS).T
    size = np.maximum(np.abs(mean), np.abs(rows(plain)[:nx]).max(axis=1, keepdims=True))
    limits = np.where(np.isfinite(bound.lower), bound.lower, 0.0), np.where(np.isfinite(bound.upper), bound.upper, 0.0)
    reach = np.maximum(np.maximum(np.abs(limits[0]), np.abs(limits[1])), 1.0)[:, None]

    def residuals(column: Array) -> Array:
        values = rows(column.reshape(plain.shape))
        rates = (values[:nx] - mean)[known] / np.where(size > 0, size, 1.0)[known]
        c = values[nx:]
        beyond = np.maximum(c - bound.upper[:, None], 0.0) - np.maximum(bound.lower[:, None] - c, 0.0)
        return np.concatenate([rates.ravel(), WEIGHT * (beyond / reach).ravel()])

    low, high = (np.repeat(side[:, None], count, axis=1).ravel() for side in (phase.u_bound.lower, phase.u_bound.upper))
    moved = plain + 0.1 * (1.0 + 0.1 * np.arange(plain.shape[0]))[:, None]  # differences of controls change too
    first = np.clip(moved.ravel(), low, high)
    found = least_squares(residuals, first, bounds=(low, high), x_scale="jac", max_nfev=100).x
    return np.asarray(found, dtype=float).reshape(plain.shape).T
