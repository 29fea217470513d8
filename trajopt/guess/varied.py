"""Random initial guesses for multistart: varied durations, perturbed
states, forward simulations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import GuessError
from trajopt.guess.plain import check_guess, plain_guess
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectories, Trajectory

Array = NDArray[np.float64]

STRETCH = 4.0  # largest factor of free durations; the smallest is its inverse
NODES = 5  # of a piecewise linear control
MODES = 2  # sine modes of a perturbation of the states
STEPS = 60  # of a forward simulation
DRAWS = 5  # guesses drawn until the model is finite on one
# guesses tried where a solution was hard to find: the fourth leads to the best manoeuvre of an F-8
# aircraft
FEW = 6


def varied_guess(form: NormalForm, parameters: Array, seed: tuple[int, ...]) -> Trajectories:
    """Return a random guess, reproducible by ``seed``; raise if the model is not finite on any of
    the guesses drawn.

    Free durations are scaled, and controls are random piecewise linear functions within their
    bounds. The states are randomly perturbed or, with probability one half, simulated with these
    controls.
    """
    generator = np.random.default_rng(seed)
    for _ in range(DRAWS - 1):
        with contextlib.suppress(GuessError):
            guess = _drawn(form, parameters, generator)
            check_guess(form, guess, parameters)
            return guess
    guess = _drawn(form, parameters, generator)
    check_guess(form, guess, parameters)
    return guess


def few_varied_guesses(form: NormalForm, parameters: Array) -> Iterator[Trajectories]:
    """Yield the first guesses of seed 0, without those on which the model is not finite."""
    for number in range(FEW):
        with contextlib.suppress(GuessError):
            yield varied_guess(form, parameters, (0, number + 1))


def _drawn(form: NormalForm, parameters: Array, generator: np.random.Generator) -> Trajectories:
    plain = plain_guess(
        form, float(np.exp(generator.uniform(-1, 1) * np.log(STRETCH))), parameters=parameters
    )
    simulate, phases = bool(generator.integers(2)), []
    for i, (phase, start) in enumerate(zip(form.phases, plain.phases, strict=True)):
        u = _random_controls(phase, start, generator)
        x = _detour(phase, start, generator)
        if simulate and not phase.algebraics:
            x = simulated(form, i, replace(start, u=u), plain.s, parameters) or x
        phases.append(replace(start, x=x, u=u))
    return Trajectories(tuple(phases), plain.s)


def _random_controls(phase: PhaseForm, start: Trajectory, generator: np.random.Generator) -> Curve:
    times = start.times(np.linspace(0.0, 1.0, NODES))
    plain, bound = start.u.evaluate(times), phase.u_bound
    both = np.isfinite(bound.lower) & np.isfinite(bound.upper)
    low, high = np.where(both, bound.lower, -1.0), np.where(both, bound.upper, 1.0)
    uniform, normal = generator.uniform(size=plain.shape), generator.normal(size=plain.shape)
    values = np.where(
        both, low + (high - low) * uniform, plain + np.maximum(np.abs(plain), 1.0) * normal
    )
    return Curve.linear(times, np.clip(values, bound.lower, bound.upper))


def _detour(phase: PhaseForm, start: Trajectory, generator: np.random.Generator) -> Curve:
    """Return the states plus random sine modes, clipped to their bounds."""
    bound, tau = phase.x_bound, np.linspace(0.0, 1.0, STEPS + 1)
    x = start.x.evaluate(start.times(tau))
    size = np.maximum(np.abs(x).max(axis=0), np.ptp(x, axis=0))
    waves = generator.normal(size=(MODES, x.shape[1])) * np.where(size > 0, size, 1.0)
    order = np.arange(1, MODES + 1)
    values = x + np.sin(np.pi * np.outer(tau, order)) @ waves
    return Curve.linear(start.times(tau), np.clip(values, bound.lower, bound.upper))


def simulated(
    form: NormalForm, index: int, start: Trajectory, s: Array, parameters: Array
) -> Curve | None:
    """Simulate the states with the controls of a guess by the classical Runge-Kutta method, clipped
    to their bounds.

    Returns None if the model is not finite.
    """
    phase = form.phases[index]
    model = form.models[index]
    times = start.times(np.linspace(0.0, 1.0, STEPS + 1))
    bound, step = phase.x_bound, (start.tf - start.t0) / STEPS

    places = np.stack([times[:-1], 0.5 * (times[:-1] + times[1:]), times[1:]], axis=1)
    inputs = start.z.evaluate(places.ravel()), start.u.evaluate(places.ravel())
    z, u = (values.reshape(*places.shape, -1) for values in inputs)

    def rate(k: int, place: int, x: Array) -> Array:
        """At the start, the middle or the end of a step."""
        t, known = places[k, place], (s[:, None], parameters[:, None])
        columns = (part[k, place][:, None] for part in (z, u))
        return np.asarray(model(np.array([[t]]), x[:, None], *columns, *known))[: x.size, 0]

    states = [start.x.evaluate(times[:1])[0]]
    for k in range(STEPS):
        x = states[-1]
        with np.errstate(all="ignore"):  # a motion may have no bounded values
            k1 = rate(k, 0, x)
            k2 = rate(k, 1, x + 0.5 * step * k1)
            k3 = rate(k, 1, x + 0.5 * step * k2)
            k4 = rate(k, 2, x + step * k3)
            after = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(np.clip(after, bound.lower, bound.upper))
        if not np.all(np.isfinite(states[-1])):
            return None
    return Curve.linear(times, np.array(states))
