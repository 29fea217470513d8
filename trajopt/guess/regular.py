"""Guesses on which the model and its first derivatives exist.

The length of a vector has no derivative at zero, a root none at a bound of zero, and the attraction
of a centre is not even finite there: a program cannot begin at such points.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise
from trajopt.errors import GuessError
from trajopt.guess.plain import FINE, check_guess, plain_guess, through
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectories, Trajectory

Array = NDArray[np.float64]

INNER = np.linspace(0.0, 1.0, 9)[1:-1]  # where ``check_guess`` looks
# fractions of the size of a state or control by which it is moved: past a norm and a root, then
# past a pole, near which values would be large
SMALL, LARGE = 0.05, 1 / 3


def sound_guess(form: NormalForm, parameters: Array) -> Trajectories:
    """Return the plain guess, or one away from bounds or poles if the model is not finite on it;
    raise if it is finite on none.
    """
    guess = plain_guess(form, parameters=parameters)
    try:
        check_guess(form, guess, parameters)
    except GuessError:
        inside = plain_guess(form, inside=1.0, parameters=parameters)
        for other in (inside, _moved(form, inside, LARGE, given=False)):
            with contextlib.suppress(GuessError):
                check_guess(form, other, parameters)
                return other
        raise
    return guess


def with_slopes(form: NormalForm, guess: Trajectories, parameters: Array) -> Trajectories:
    """Return the guess, moved if the first derivatives of the model are not finite on it; what the
    user guessed moves only if nothing else helps.
    """
    slopes = _slopes(form)
    if _has_slopes(form, slopes, guess, parameters):
        return guess
    for amount, given in ((SMALL, False), (LARGE, False), (SMALL, True)):
        other = _moved(form, guess, amount, given)
        with contextlib.suppress(GuessError):
            check_guess(form, other, parameters)
            if _has_slopes(form, slopes, other, parameters):
                return other
    return guess


def _slopes(form: NormalForm) -> list[Pointwise]:
    """For each phase the derivative of its model along one direction, in which no component is
    zero: it is not finite where one of the derivatives is not.
    """
    found = []
    for phase in form.phases:
        unknowns = casadi.vertcat(phase.x, phase.z, phase.u)
        direction = casadi.DM(1.0 + 0.1 * np.arange(unknowns.numel()))
        slopes = casadi.jtimes(phase.rows, unknowns, direction)
        inputs = [phase.t, phase.x, phase.z, phase.u, form.s, form.p]
        found.append(Pointwise(casadi.Function("slopes", inputs, [slopes])))
    return found


def _has_slopes(
    form: NormalForm, slopes: list[Pointwise], guess: Trajectories, parameters: Array
) -> bool:
    """True if the first derivatives of the models are finite inside the phases of a guess."""
    for phase, slope, start in zip(form.phases, slopes, guess.phases, strict=True):
        if not (phase.x.numel() or phase.z.numel() or phase.u.numel()):
            continue
        times = start.times(INNER)
        x, z, u = (curve.evaluate(times).T for curve in (start.x, start.z, start.u))
        if not np.all(np.isfinite(slope(times[None, :], x, z, u, guess.s, parameters))):
            return False
    return True


def _moved(form: NormalForm, guess: Trajectories, amount: float, given: bool) -> Trajectories:
    """Return the guess with states and controls moved by an amount of their sizes, within their
    bounds; boundary values that are fixed stay, and so does the user's guess unless ``given``.
    """
    phases = []
    for phase, start in zip(form.phases, guess.phases, strict=True):
        if not start.tf > start.t0:
            phases.append(start)
            continue
        times = start.times(FINE)
        x, u = start.x.evaluate(times), start.u.evaluate(times)
        x_step = amount * _step(phase.states, phase.x_bound, x, given) * _weight(phase)
        u_step = amount * _step(phase.controls, phase.u_bound, u, given)
        phases.append(
            replace(
                start,
                x=_within(start, x + x_step, phase.x_bound),
                u=_within(start, u + u_step, phase.u_bound),
            )
        )
    return Trajectories(tuple(phases), guess.s)


def _within(start: Trajectory, values: Array, bound: Bound) -> Curve:
    return through(start.t0, start.tf, [np.clip(values, bound.lower, bound.upper)])


def _weight(phase: PhaseForm) -> Array:
    """(points of FINE, states): by how much states move, zero at ends that are fixed."""
    tau = FINE[:, None]
    begin = np.where(phase.x_start.fixed, 0.0, 1.0 - tau)
    end = np.where(phase.x_end.fixed, 0.0, tau)
    return np.asarray(np.maximum(np.sin(np.pi * tau), np.maximum(begin, end)))


def _step(quantities: tuple[NamedVector, ...], bound: Bound, values: Array, given: bool) -> Array:
    """The step of each component, away from the nearer of its bounds: the size of its vector, or
    half the range of its bounds; no two are equal, so that differences of components move too.
    """
    sizes = np.zeros(values.shape[1])
    for q in quantities:
        largest = float(np.abs(values[:, q.rows]).max(initial=0.0))
        half = 0.5 * (q.bound.upper - q.bound.lower)
        size = np.where(np.isfinite(half), half, largest if largest > 0 else 1.0)
        sizes[q.rows] = size if given or q.guess is None else 0.0
    mean = values.mean(axis=0)
    inwards = np.where(bound.upper - mean < mean - bound.lower, -1.0, 1.0)
    return np.asarray(sizes * inwards / (1.0 + 0.3 * np.arange(sizes.size)))
