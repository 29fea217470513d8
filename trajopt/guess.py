"""Initial guesses: linear interpolation of boundary values, or an earlier solution on any mesh."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.bounds import Bound
from trajopt.endpoint_links import EndpointValues
from trajopt.errors import GuessError
from trajopt.normal_form import NamedVector, NormalForm, PhaseForm
from trajopt.solution import Arc, PhaseSolution, Solution

Array = NDArray[np.float64]

STEP = 1e-4  # of central differences with respect to a control
IDLE = 1e-6  # relative to the effect of a unit change: a control with a smaller derivative has no first-order effect


@dataclass(frozen=True)
class PhaseGuess:
    """Times, and functions of normalised time: (m,) in [0, 1] -> (m, size)."""

    t0: float
    tf: float
    x: Callable[[Array], Array]
    z: Callable[[Array], Array]
    u: Callable[[Array], Array]
    mesh: tuple[Array, tuple[int, ...]] | None = None  # normalised breaks and degrees of the solution it comes from
    arcs: tuple[Arc, ...] = ()  # of that solution, in order of time


@dataclass(frozen=True)
class Guess:
    phases: tuple[PhaseGuess, ...]
    s: Array


def plain_guess(
    form: NormalForm, duration: float = 1.0, bend: float = 0.0, inside: float = 0.0, parameters: Array | None = None
) -> Guess:
    """Return a guess from the statement: the user's guesses, else linear between boundary values, else the midpoint of bounds.

    Affine equalities between endpoint values, also of different phases, give the values of further endpoints.

    Parameters
    ----------
    duration : float
        Factor of free durations without a guess.
    bend : float
        Shift of controls without a guess from the midpoint of their range, as a fraction of half the range.
    inside : float
        Minimum distance from a one-sided bound, without a guess: roots and logarithms are singular there.
    parameters : array
        Parameter values, if other than the declared ones.
    """
    phases, clock = [], 0.0
    reached: dict[str, Array] = {}  # final guess of each state in the preceding phases
    known = _stated_ends(form, form.parameter_values() if parameters is None else parameters)
    for i, phase in enumerate(form.phases):
        t0 = _start_time(phase, clock, known.of(i, "t0"))
        known.set(i, "t0", np.array([t0]))
        known.complete()
        clock = tf = _end_time(phase, t0, duration, known.of(i, "tf"))
        starts = _known_or_stated(known.of(i, "x0"), [q.start for q in phase.states])
        ends = _known_or_stated(known.of(i, "xf"), [q.end for q in phase.states])
        lift = _lift(starts, ends, tf - t0)
        lines = [_state_line(q, starts[q.rows], ends[q.rows], lift, reached.get(q.name), inside) for q in phase.states]
        x = _stack(lines)
        if known.linked:
            for name, value in (("tf", np.array([tf])), ("x0", x(np.zeros(1))[0]), ("xf", x(np.ones(1))[0])):
                known.set(i, name, value)
            known.complete()
        if phase is not form.phases[-1]:
            reached.update({q.name: line(np.ones(1))[0] for q, line in zip(phase.states, lines, strict=True)})
        phases.append(
            PhaseGuess(
                t0, tf,
                x,
                _stack([_constant_line(q, bend, inside) for q in phase.algebraics]),
                _stack([_constant_line(q, bend, inside) for q in phase.controls]),
            )
        )  # fmt: skip
    s = [
        np.broadcast_to(_number(q, q.guess) if q.guess is not None else _middle(q.bound, inside), (q.size,)) for q in form.statics
    ]
    return Guess(tuple(phases), np.concatenate([np.zeros(0), *s]))


def guess_from_solution(form: NormalForm, solution: Solution) -> Guess:
    """Return a guess from an earlier solution. Variables without a counterpart in it get the plain guess."""
    plain = plain_guess(form)
    if not any(ph.name in solution.phases for ph in form.phases):
        raise GuessError(
            f"the guess for problem '{form.name}' has none of its phases",
            got=", ".join(solution.phases),
            expected=", ".join(ph.name for ph in form.phases),
        )
    phases = []
    for phase, default in zip(form.phases, plain.phases, strict=True):
        earlier = solution.phases.get(phase.name)
        if earlier is None:
            phases.append(default)
            continue
        _check_finite(earlier)
        groups = (
            (phase.states, earlier.states, default.x),
            (phase.algebraics, earlier.algebraics, default.z),
            (phase.controls, earlier.controls, default.u),
        )
        lines = [_taken(q, curves, line, earlier.t0, earlier.tf) for q, curves, line in groups]
        mesh = None
        if len(earlier.degrees) == earlier.breaks.size - 1:
            mesh = ((earlier.breaks - earlier.t0) / (earlier.tf - earlier.t0), earlier.degrees)
        arcs = tuple(arc for arc in solution.arcs if arc.phase == phase.name)
        phases.append(PhaseGuess(earlier.t0, earlier.tf, lines[0], lines[1], lines[2], mesh, arcs))
    s = plain.s.copy()
    for q in form.statics:
        if q.name in solution.variables and solution.variables[q.name].size == q.size:
            if not np.all(np.isfinite(solution.variables[q.name])):
                raise GuessError(f"the guess has a value of '{q.name}' that is not a finite number")
            s[q.rows] = solution.variables[q.name]
    return Guess(tuple(phases), s)


def _check_finite(earlier: PhaseSolution) -> None:
    """Raise if an earlier solution has values that are not finite."""
    bad = [
        name
        for group in (earlier.states, earlier.algebraics, earlier.controls)
        for name, curve in group.items()
        if not all(np.all(np.isfinite(values)) for values in curve.values)
    ]
    if not (np.isfinite(earlier.t0) and np.isfinite(earlier.tf)):
        bad.append("t")
    if bad:
        raise GuessError(
            f"the guess for phase '{earlier.name}' has values that are not finite numbers", got=", ".join(map(repr, bad))
        )


def perturbed(guess: Guess, amount: float = 1e-2) -> Guess:
    """Return the guess with slightly perturbed states, away from points where derivatives do not exist."""

    def moved(line: Callable[[Array], Array]) -> Callable[[Array], Array]:
        def values(tau: Array) -> Array:
            x = line(tau)
            size = np.abs(x).max(axis=0)
            directions = 1.0 + 0.1 * np.arange(x.shape[1])  # different factors, so that differences of states change too
            return x + amount * (0.1 + np.asarray(tau)[:, None]) * np.where(size > 0, size, 1.0) * directions

        return values

    return Guess(tuple(PhaseGuess(ph.t0, ph.tf, moved(ph.x), ph.z, ph.u) for ph in guess.phases), guess.s)


def detoured(guess: Guess, amount: float) -> Guess:
    """Return the guess with half a sine wave added to every state, with alternating signs."""

    def moved(line: Callable[[Array], Array]) -> Callable[[Array], Array]:
        def values(tau: Array) -> Array:
            x = line(tau)
            size = np.maximum(np.abs(x).max(axis=0), np.ptp(x, axis=0))
            sides = np.where(np.arange(x.shape[1]) % 2 == 0, 1.0, -1.0)
            return x + amount * np.sin(np.pi * np.asarray(tau))[:, None] * np.where(size > 0, size, 1.0) * sides

        return values

    return Guess(tuple(PhaseGuess(ph.t0, ph.tf, moved(ph.x), ph.z, ph.u) for ph in guess.phases), guess.s)


def sound_guess(form: NormalForm, parameters: Array) -> Guess:
    """Return the plain guess, or one away from the bounds if the model is not finite on it; raise if neither is finite."""
    guess = plain_guess(form, parameters=parameters)
    try:
        check_guess(form, guess, parameters)
    except GuessError:
        other = plain_guess(form, inside=1.0, parameters=parameters)
        with contextlib.suppress(GuessError):
            check_guess(form, other, parameters)
            return other
        raise
    return guess


def has_user_guess(form: NormalForm) -> bool:
    """True if the statement has a guess of a state or a control."""
    return any(q.guess is not None for phase in form.phases for q in (*phase.states, *phase.algebraics, *phase.controls))


def has_idle_controls(form: NormalForm, guess: Guess, parameters: Array) -> bool:
    """True if some control has no first-order effect along the whole guess, so that its gradient vanishes."""
    tau = np.linspace(0.1, 0.9, 5)
    for phase, model, start in zip(form.phases, form.models, guess.phases, strict=True):
        x, z, u = start.x(tau).T, start.z(tau).T, start.u(tau).T
        times = (start.t0 + tau * (start.tf - start.t0))[None, :]
        shared = guess.s, parameters
        rates = len(phase.x_names)
        for j in range(u.shape[0]):
            moved = [np.asarray(model(times, x, z, _shifted(u, j, d), *shared))[:rates] for d in (-STEP, STEP, 1.0)]
            slope, effect = np.abs(moved[1] - moved[0]).max() / (2 * STEP), np.abs(moved[2] - moved[0]).max()
            if slope <= IDLE * effect and effect > 0:
                return True
    return False


def _shifted(u: Array, control: int, amount: float) -> Array:
    return np.asarray(u + amount * (np.arange(u.shape[0]) == control)[:, None], dtype=float)


def check_guess(form: NormalForm, guess: Guess, parameters: Array) -> None:
    """Raise if the model is not finite on the guess; the message names the equation, phase and time."""
    tau = np.linspace(0.0, 1.0, 9)
    for phase, model, start in zip(form.phases, form.models, guess.phases, strict=True):
        if not start.tf > start.t0:
            raise GuessError(
                f"the guess for phase '{phase.name}' has no positive duration",
                got=f"{start.t0:g} to {start.tf:g}",
                hint="give one by ph.time(end=free(lower, upper, guess=...))",
            )
        x, z, u = start.x(tau), start.z(tau), start.u(tau)
        times = start.t0 + tau * (start.tf - start.t0)
        shared = guess.s, parameters
        values = np.asarray(model(times[None, :], x.T, z.T, u.T, *shared))
        # End points are often singular by design (rest, a pole), and no equation is collocated at the start.
        bad = np.argwhere(~np.isfinite(values[:, 1:-1]))
        if bad.size:
            row, i = int(bad[0, 0]), int(bad[0, 1]) + 1
            names = [f"the derivative of state '{n}'" for n in phase.x_names] + [
                f"algebraic equation '{n}'" for n in phase.g_names
            ]
            names += [f"path constraint '{n}'" for n in phase.c_names] + ["an integrand"] * phase.l.numel()
            here = dict(zip((*phase.x_names, *phase.z_names, *phase.u_names), (*x[i], *z[i], *u[i]), strict=True))
            raise GuessError(
                f"{names[row]} in phase '{phase.name}' is not a number on the guess",
                got=f"{values[row, i]} at t = {times[i]:g} with " + ", ".join(f"{n} = {v:.4g}" for n, v in here.items()),
                hint="give guess= or bounds to the variables in its denominators, roots and logarithms",
            )


def _stated_ends(form: NormalForm, parameters: Array) -> EndpointValues:
    """Return the endpoint values that are fixed or have guesses of their own, and what follows from them."""
    known = EndpointValues(form, parameters)
    for i, phase in enumerate(form.phases):
        known.set(i, "t0", _given(phase.start_time))
        known.set(i, "tf", _given(phase.end_time))
        for name, bounds in (("x0", [q.start for q in phase.states]), ("xf", [q.end for q in phase.states])):
            known.set(i, name, np.concatenate([np.zeros(0), *[_given(bound) for bound in bounds]]))
    statics = [_given(q.bound) if q.guess is None else np.broadcast_to(_number(q, q.guess), (q.size,)) for q in form.statics]
    known.set_statics(np.concatenate([np.zeros(0), *statics]))
    known.complete()
    return known


def _given(bound: Bound) -> Array:
    """Return the value that a bound guesses or fixes, else NaN."""
    return bound.guess if bound.guess is not None else np.where(bound.fixed, bound.lower, np.nan)


def _known_or_stated(known: Array, bounds: list[Bound]) -> Array:
    stated = np.concatenate([np.zeros(0), *[_end_value(bound) for bound in bounds]])
    return np.where(np.isnan(known), stated, known)


def _start_time(phase: PhaseForm, clock: float, known: Array) -> float:
    bound = phase.start_time
    if bound.guess is not None:
        return float(bound.guess[0])
    start = float(np.clip(known[0] if np.isfinite(known[0]) else clock, bound.lower[0], bound.upper[0]))
    last = float(phase.end_time.upper[0])
    if start < last or bound.fixed[0]:
        return start
    # No time would be left: as far before the last end as an end would lie behind a start.
    return last - 0.5 * (last - float(bound.lower[0])) if np.isfinite(bound.lower[0]) else last - 1.0


def _end_time(phase: PhaseForm, t0: float, factor: float, known: Array) -> float:
    bound = phase.end_time
    if bound.guess is not None:
        return float(bound.guess[0])
    low, high = max(float(bound.lower[0]) - t0, 0.0), float(bound.upper[0]) - t0
    if bound.fixed[0]:
        return float(bound.lower[0])
    if known[0] > t0 and low <= known[0] - t0 <= high:
        return float(known[0])
    if np.isfinite(high) and low > 0 and high / low > 10:
        length = np.sqrt(low * high)  # bounds that differ by orders of magnitude: the geometric mean
    elif np.isfinite(high):
        length = low + 0.5 * (high - low)
    else:
        length = max(2 * low, 1.0)
    return t0 + float(np.clip(length * factor, low, high))


def _lift(starts: Array, ends: Array, duration: float) -> float:
    """Return the mean rate of the states with known boundary values, as final guess of states from zero to a free end.

    A guess of zero for such a state, for example a speed, often makes the equations singular.
    """
    moves = np.abs(ends - starts)
    known = moves[np.isfinite(moves) & (moves > 0)]
    return float(np.mean(known)) / duration if known.size and duration > 0 else 1.0


def _state_line(
    q: NamedVector, start: Array, end: Array, lift: float, before: Array | None, inside: float
) -> Callable[[Array], Array]:
    """Return the user's guess, or a line between boundary values, NaN where unknown; ``before``: the end of the phase before."""
    if q.guess is not None:
        return _user_line(q)
    if before is not None and before.size == q.size:
        start = np.where(np.isnan(start), before, start)
    end = np.where(np.isnan(end) & (start == 0) & ~np.isfinite(q.bound.upper), lift, end)
    middle = _middle(q.bound, inside)
    start, end = (
        np.where(np.isnan(start), np.where(np.isnan(end), middle, end), start),
        np.where(np.isnan(end), np.where(np.isnan(start), middle, start), end),
    )
    start, end = np.clip(start, q.bound.lower, q.bound.upper), np.clip(end, q.bound.lower, q.bound.upper)
    return lambda tau: start + np.asarray(tau)[:, None] * (end - start)


def _end_value(boundary: Bound) -> Array:
    """Return the boundary value, NaN if it is unknown."""
    if boundary.guess is not None:
        return boundary.guess
    known = np.isfinite(boundary.lower) & np.isfinite(boundary.upper)
    half = np.where(np.isfinite(boundary.lower), boundary.lower, np.where(np.isfinite(boundary.upper), boundary.upper, np.nan))
    with np.errstate(invalid="ignore"):
        return np.where(known, 0.5 * (boundary.lower + boundary.upper), half)


def _constant_line(q: NamedVector, bend: float, inside: float) -> Callable[[Array], Array]:
    if q.guess is not None:
        return _user_line(q)
    value = _middle(q.bound, inside)
    finite = np.isfinite(q.bound.lower) & np.isfinite(q.bound.upper)
    width = np.where(finite, np.where(finite, q.bound.upper, 0) - np.where(finite, q.bound.lower, 0), 2.0)
    value = np.clip(value + bend * width / 2, q.bound.lower, q.bound.upper)
    return lambda tau: np.broadcast_to(value, (np.size(tau), q.size)).copy()


def _user_line(q: NamedVector) -> Callable[[Array], Array]:
    if callable(q.guess):
        function = q.guess
        return lambda tau: _sampled(q, function, tau)
    value = _number(q, q.guess)
    return lambda tau: np.broadcast_to(value, (np.size(tau), q.size)).copy()


def _sampled(q: NamedVector, function: Callable[[float], Any], tau: Array) -> Array:
    """Evaluate a guess at m times, (m, size), with one check for all: single checks take half the time on fine meshes."""
    raw = [function(a) for a in tau.tolist()]
    try:
        values = np.array(raw, dtype=float).reshape(len(raw), -1)
    except (TypeError, ValueError):
        values = np.stack([_number(q, value) for value in raw])
    if values.shape[1] not in (1, q.size) or not np.all(np.isfinite(values)):
        values = np.stack([_number(q, value) for value in raw])  # names the invalid value
    return np.broadcast_to(values, (len(raw), q.size)).copy()


def _number(q: NamedVector, value: Any) -> Array:
    try:
        array = np.asarray(value, dtype=float).ravel()
        array = np.broadcast_to(array, (q.size,)).astype(float)
    except (TypeError, ValueError) as error:
        raise GuessError(
            f"invalid guess of '{q.name}'",
            got=value,
            expected=f"a number, {q.size} numbers, or a function of normalised time 0..1",
        ) from error
    if not np.all(np.isfinite(array)):
        raise GuessError(f"the guess of '{q.name}' is not a finite number", got=value)
    return array


def _middle(bound: Bound, inside: float) -> Array:
    both = np.isfinite(bound.lower) & np.isfinite(bound.upper)
    low, high = np.where(np.isfinite(bound.lower), bound.lower, 0.0), np.where(np.isfinite(bound.upper), bound.upper, 0.0)
    one_sided = np.clip(0.0, np.where(both, -np.inf, bound.lower + inside), np.where(both, np.inf, bound.upper - inside))
    return np.where(both, 0.5 * (low + high), one_sided)


def _stack(lines: list[Callable[[Array], Array]]) -> Callable[[Array], Array]:
    return lambda tau: np.hstack([line(np.asarray(tau, dtype=float)) for line in lines]) if lines else np.zeros((np.size(tau), 0))


def _taken(
    quantities: tuple[NamedVector, ...], curves: Any, default: Callable[[Array], Array], t0: float, tf: float
) -> Callable[[Array], Array]:
    def values(tau: Array) -> Array:
        result = default(tau)
        for q in quantities:
            if q.name in curves and curves[q.name].size == q.size:
                result[:, q.rows] = curves[q.name].evaluate(t0 + np.asarray(tau) * (tf - t0))
        return result

    return values
