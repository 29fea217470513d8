"""Initial guesses: linear interpolation of boundary values, or an earlier solution on any mesh."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import GuessError, warn
from trajopt.guess.durations import time_to_arrive
from trajopt.guess.targets import Targets, targets
from trajopt.statement.bounds import Bound
from trajopt.statement.endpoint_links import EndpointValues
from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.naming import known_columns
from trajopt.trajectory.solution import PhaseSolution, Solution
from trajopt.trajectory.trajectory import Trajectories, Trajectory

Array = NDArray[np.float64]


PIECES = 100  # of a curve that approximates a function
# where it has the values of the function: ends and middles of the pieces
FINE = np.linspace(0.0, 1.0, 2 * PIECES + 1)


def plain_guess(
    form: NormalForm,
    duration: float = 1.0,
    bend: float = 0.0,
    inside: float = 0.0,
    parameters: Array | None = None,
) -> Trajectories:
    """Return a guess from the statement: the user's guesses, else through the targets of the cost,
    linear between boundary values, else the midpoint of bounds.

    Affine equalities between endpoint values, also of different phases, give the values of further
    endpoints.

    Parameters
    ----------
    duration : float
        Factor of free durations without a guess. Those without an upper bound last as long as the
        dynamics need.
    bend : float
        Shift of controls without a guess from the midpoint of their range, as a fraction of half
        the range.
    inside : float
        Minimum distance from a one-sided bound, without a guess: roots and logarithms are singular
        there.
    parameters : array
        Parameter values, if other than the declared ones.
    """
    phases, clock = [], 0.0
    reached: dict[str, Array] = {}  # final guess of each state in the preceding phases
    values = form.parameter_values() if parameters is None else parameters
    wanted = targets(form, values)
    known = stated_ends(form, values, wanted)
    statics = [
        np.broadcast_to(
            _number(q, q.guess) if q.guess is not None else _middle(q.bound, inside), (q.size,)
        )
        for q in form.statics
    ]
    s = np.concatenate([np.zeros(0), *statics])
    for i, phase in enumerate(form.phases):
        t0 = _start_time(phase, clock, known.of(i, "t0"))
        known.set(i, "t0", np.array([t0]))
        known.complete()
        starts = _known_or_stated(known.of(i, "x0"), [q.start for q in phase.states])
        ends = _known_or_stated(known.of(i, "xf"), [q.end for q in phase.states])
        begin = _begin(phase, starts, reached)
        needed = partial(time_to_arrive, form, i, t0, begin, ends, s, values)
        clock = tf = _end_time(phase, t0, duration, known.of(i, "tf"), needed)
        lift = _lift(starts, ends, tf - t0)
        lines = [
            _state_line(q, starts[q.rows], ends[q.rows], lift, reached.get(q.name), inside)
            for q in phase.states
        ]
        lines = _through_targets(phase, lines, wanted[i], t0, tf)
        if known.linked:
            sides = (
                np.concatenate([np.zeros(0), *[line[side] for line in lines]]) for side in (0, -1)
            )
            for name, value in zip(("tf", "x0", "xf"), (np.array([tf]), *sides), strict=True):
                known.set(i, name, value)
            known.complete()
        if phase is not form.phases[-1]:
            reached.update({q.name: line[-1] for q, line in zip(phase.states, lines, strict=True)})
        constant = (
            [_constant_line(q, bend, inside) for q in quantities]
            for quantities in (phase.algebraics, phase.controls)
        )
        x, z, u = (through(t0, tf, columns) for columns in (lines, *constant))
        phases.append(Trajectory(x, z, u))
    return Trajectories(tuple(phases), s)


def guess_from_solution(form: NormalForm, solution: Solution) -> Trajectories:
    """Return a guess from an earlier solution.

    Variables without a counterpart in it get the plain guess.
    """
    plain = plain_guess(form)
    if not any(ph.name in solution.phases for ph in form.phases):
        raise GuessError(
            f"the guess for problem '{form.name}' has none of its phases",
            got=", ".join(solution.phases),
            expected=", ".join(ph.name for ph in form.phases),
            hint="a guess must be a solution of the same problem or of a similar one",
        )
    _check_common_states(form, solution)
    phases = []
    for phase, default in zip(form.phases, plain.phases, strict=True):
        earlier = solution.phases.get(phase.name)
        if earlier is None:
            phases.append(default)
            continue
        _check_finite(earlier)
        start = default.over(earlier.t0, earlier.tf)
        phases.append(
            replace(
                start,
                x=known_columns(phase.states, earlier.states, start.x),
                z=known_columns(phase.algebraics, earlier.algebraics, start.z),
                u=known_columns(phase.controls, earlier.controls, start.u),
                breaks=earlier.breaks,
                degrees=earlier.degrees,
                arcs=tuple(arc for arc in solution.arcs if arc.phase == phase.name),
            )
        )
    s = plain.s.copy()
    for q in form.statics:
        if q.name in solution.variables and solution.variables[q.name].size == q.size:
            if not np.all(np.isfinite(solution.variables[q.name])):
                raise GuessError(
                    f"the guess has a value of '{q.name}' that is not a finite number",
                    expected="a solution with finite values",
                )
            s[q.rows] = solution.variables[q.name]
    return Trajectories(tuple(phases), s)


def _check_common_states(form: NormalForm, solution: Solution) -> None:
    """Raise if no state of the problem is in the solution; warn if some are not."""
    own = {
        q.name: q.size
        for phase in form.phases
        if phase.name in solution.phases
        for q in phase.states
    }
    found = {
        name: curve.size
        for phase in solution.phases.values()
        for name, curve in phase.states.items()
    }
    missing = [name for name, size in own.items() if found.get(name) != size]
    if not missing:
        return
    facts = {
        "got": f"a solution of '{solution.problem}' with the states {', '.join(found)}",
        "expected": ", ".join(own),
    }
    if len(missing) == len(own):
        raise GuessError(f"the guess for problem '{form.name}' has none of its states", **facts)
    if solution.problem != form.name:
        warn(
            f"the guess for problem '{form.name}' has no state {', '.join(map(repr, missing))}",
            **facts,
        )


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
            f"the guess for phase '{earlier.name}' has values that are not finite numbers",
            got=", ".join(map(repr, bad)),
        )


def perturbed(guess: Trajectories, amount: float = 1e-2) -> Trajectories:
    """Return the guess with slightly perturbed states, away from points where derivatives do not
    exist.
    """

    def moved(x: Array) -> Array:
        size = np.abs(x).max(axis=0)
        # different factors, so that differences of states change too
        directions = 1.0 + 0.1 * np.arange(x.shape[1])
        return x + amount * (0.1 + FINE[:, None]) * np.where(size > 0, size, 1.0) * directions

    return _with_states(guess, moved)


def detoured(guess: Trajectories, amount: float) -> Trajectories:
    """Return the guess with half a sine wave added to every state, with alternating signs."""

    def moved(x: Array) -> Array:
        size = np.maximum(np.abs(x).max(axis=0), np.ptp(x, axis=0))
        sides = np.where(np.arange(x.shape[1]) % 2 == 0, 1.0, -1.0)
        return x + amount * np.sin(np.pi * FINE)[:, None] * np.where(size > 0, size, 1.0) * sides

    return _with_states(guess, moved)


def _with_states(guess: Trajectories, moved: Callable[[Array], Array]) -> Trajectories:
    """Return the guess with other states, as a function of those at the points of ``FINE``; without
    a mesh.
    """
    phases = [
        Trajectory(through(ph.t0, ph.tf, [moved(ph.x.evaluate(ph.times(FINE)))]), ph.z, ph.u)
        for ph in guess.phases
    ]
    return Trajectories(tuple(phases), guess.s)


def has_user_guess(form: NormalForm) -> bool:
    """True if the statement has a guess of a state or a control."""
    return any(
        q.guess is not None
        for phase in form.phases
        for q in (*phase.states, *phase.algebraics, *phase.controls)
    )


def check_guess(form: NormalForm, guess: Trajectories, parameters: Array) -> None:
    """Raise if the model is not finite on the guess; the message names the equation, phase and
    time.
    """
    tau = np.linspace(0.0, 1.0, 9)
    for phase, model, start in zip(form.phases, form.models, guess.phases, strict=True):
        if not start.tf > start.t0:
            raise GuessError(
                f"the guess for phase '{phase.name}' has no positive duration",
                got=f"{start.t0:g} to {start.tf:g}",
                hint="give one by ph.time(end=free(lower, upper, guess=...))",
            )
        times = start.times(tau)
        x, z, u = (curve.evaluate(times) for curve in (start.x, start.z, start.u))
        shared = guess.s, parameters
        values = np.asarray(model(times[None, :], x.T, z.T, u.T, *shared))
        # End points are often singular by design (rest, a pole), and no equation is collocated at
        # the start.
        bad = np.argwhere(~np.isfinite(values[:, 1:-1]))
        if bad.size:
            row, i = int(bad[0, 0]), int(bad[0, 1]) + 1
            names = [f"the derivative of state '{n}'" for n in phase.x_names] + [
                f"algebraic equation '{n}'" for n in phase.g_names
            ]
            names += [f"path constraint '{n}'" for n in phase.c_names] + [
                "an integrand"
            ] * phase.l.numel()
            here = dict(
                zip(
                    (*phase.x_names, *phase.z_names, *phase.u_names),
                    (*x[i], *z[i], *u[i]),
                    strict=True,
                )
            )
            raise GuessError(
                f"{names[row]} in phase '{phase.name}' is not a number on the guess",
                got=f"{values[row, i]} at t = {times[i]:g} with "
                + ", ".join(f"{n} = {v:.4g}" for n, v in here.items()),
                hint="give guess= or bounds to the variables in its denominators, roots and "
                "logarithms",
            )


def stated_ends(
    form: NormalForm, parameters: Array, wanted: list[Targets] | None = None
) -> EndpointValues:
    """Return the endpoint values that are fixed or have guesses of their own, and what follows from
    them; then those that the cost wants.
    """
    known = EndpointValues(form, parameters)
    for i, phase in enumerate(form.phases):
        known.set(i, "t0", _given(phase.start_time))
        known.set(i, "tf", _given(phase.end_time))
        for name, bounds in (
            ("x0", [q.start for q in phase.states]),
            ("xf", [q.end for q in phase.states]),
        ):
            known.set(i, name, np.concatenate([np.zeros(0), *[_given(bound) for bound in bounds]]))
    statics = [
        _given(q.bound) if q.guess is None else np.broadcast_to(_number(q, q.guess), (q.size,))
        for q in form.statics
    ]
    known.set_statics(np.concatenate([np.zeros(0), *statics]))
    known.complete()
    for i, target in enumerate(wanted or ()):
        known.set(i, "x0", target.x0)
        known.set(i, "xf", target.xf)
    known.complete()
    return known


def _through_targets(
    phase: PhaseForm, lines: list[Array], target: Targets, t0: float, tf: float
) -> list[Array]:
    """Return the lines, at the points of ``FINE`` through the targets of states without a guess."""
    times, values = target.along(t0, tf)
    found = []
    for q, line in zip(phase.states, lines, strict=True):
        wanted = values[:, q.rows]
        if q.guess is None and np.isfinite(wanted).any():
            columns = []
            for j in range(q.size):
                has = np.isfinite(wanted[:, j])
                at = np.concatenate([[t0], times[has], [tf]])
                through_all = np.concatenate([line[:1, j], wanted[has, j], line[-1:, j]])
                columns.append(np.interp(t0 + FINE * (tf - t0), at, through_all))
            line = np.clip(np.stack(columns, axis=1), q.bound.lower, q.bound.upper)
        found.append(line)
    return found


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
    start = float(
        np.clip(known[0] if np.isfinite(known[0]) else clock, bound.lower[0], bound.upper[0])
    )
    last = float(phase.end_time.upper[0])
    if start < last or bound.fixed[0]:
        return start
    # No time would be left: as far before the last end as an end would lie behind a start.
    return (
        last - 0.5 * (last - float(bound.lower[0])) if np.isfinite(bound.lower[0]) else last - 1.0
    )


def _begin(phase: PhaseForm, starts: Array, reached: dict[str, Array]) -> Array:
    """Return the initial states: as known, else as the phase before ended, else NaN."""
    before = starts.copy()
    for q in phase.states:
        if q.name in reached and reached[q.name].size == q.size:
            before[q.rows] = reached[q.name]
    return np.where(np.isnan(starts), before, starts)


def _end_time(
    phase: PhaseForm, t0: float, factor: float, known: Array, needed: Callable[[], float | None]
) -> float:
    bound = phase.end_time
    if bound.guess is not None:
        return float(bound.guess[0])
    low, high = max(float(bound.lower[0]) - t0, 0.0), float(bound.upper[0]) - t0
    if bound.fixed[0]:
        return float(bound.lower[0])
    if known[0] > t0 and low <= known[0] - t0 <= high:
        return float(known[0])
    if np.isfinite(high) and low > 0 and high / low > 10:
        # bounds that differ by orders of magnitude: the geometric mean
        length = np.sqrt(low * high)
    elif np.isfinite(high):
        length = low + 0.5 * (high - low)
    else:
        length = max(2 * low, needed() or 1.0)
    return t0 + float(np.clip(length * factor, low, high))


def _lift(starts: Array, ends: Array, duration: float) -> float:
    """Return the mean rate of the states with known boundary values, as final guess of states from
    zero to a free end.

    A guess of zero for such a state, for example a speed, often makes the equations singular.
    """
    moves = np.abs(ends - starts)
    known = moves[np.isfinite(moves) & (moves > 0)]
    return float(np.mean(known)) / duration if known.size and duration > 0 else 1.0


def _state_line(
    q: NamedVector, start: Array, end: Array, lift: float, before: Array | None, inside: float
) -> Array:
    """Return the user's guess, or a line between boundary values, NaN where unknown; ``before``:
    the end of the phase before.
    """
    if q.guess is not None:
        return user_line(q)
    if before is not None and before.size == q.size:
        start = np.where(np.isnan(start), before, start)
    end = np.where(np.isnan(end) & (start == 0) & ~np.isfinite(q.bound.upper), lift, end)
    middle = _middle(q.bound, inside)
    start, end = (
        np.where(np.isnan(start), np.where(np.isnan(end), middle, end), start),
        np.where(np.isnan(end), np.where(np.isnan(start), middle, start), end),
    )
    return np.clip(np.stack([start, end]), q.bound.lower, q.bound.upper)


def _end_value(boundary: Bound) -> Array:
    """Return the boundary value, NaN if it is unknown."""
    if boundary.guess is not None:
        return boundary.guess
    known = np.isfinite(boundary.lower) & np.isfinite(boundary.upper)
    half = np.where(
        np.isfinite(boundary.lower),
        boundary.lower,
        np.where(np.isfinite(boundary.upper), boundary.upper, np.nan),
    )
    with np.errstate(invalid="ignore"):
        return np.where(known, 0.5 * (boundary.lower + boundary.upper), half)


def _constant_line(q: NamedVector, bend: float, inside: float) -> Array:
    if q.guess is not None:
        return user_line(q)
    value = _middle(q.bound, inside)
    finite = np.isfinite(q.bound.lower) & np.isfinite(q.bound.upper)
    width = np.where(
        finite, np.where(finite, q.bound.upper, 0) - np.where(finite, q.bound.lower, 0), 2.0
    )
    value = np.clip(value + bend * width / 2, q.bound.lower, q.bound.upper)
    return np.stack([value, value])


def user_line(q: NamedVector) -> Array:
    """Return the values of the user's guess: (2, size) of a number, (points of FINE, size) of a
    function.
    """
    if not callable(q.guess):
        return np.stack([_number(q, q.guess)] * 2)
    try:
        raw = [q.guess(a) for a in FINE.tolist()]
    except Exception as error:  # whatever a user's function can raise
        raise GuessError(
            f"the guess of '{q.name}' failed: {type(error).__name__}: {error}",
            got=_place(error),
            expected="a function of one number, the normalised time from 0 to 1",
            hint="guess=lambda tau: ... must return a "
            f"number{'' if q.size == 1 else f' or {q.size} numbers'} for every tau",
        ) from error
    try:
        # one check for all values takes half the time
        values = np.array(raw, dtype=float).reshape(len(raw), -1)
    except (TypeError, ValueError):
        values = np.stack([_number(q, value) for value in raw])
    if values.shape[1] not in (1, q.size) or not np.all(np.isfinite(values)):
        values = np.stack([_number(q, value) for value in raw])  # names the invalid value
    return np.broadcast_to(values, (len(raw), q.size)).copy()


def _place(error: Exception) -> str:
    """Return the line that raised, as ``mine.py, line 12: x = 1 / 0``."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}, line {last.lineno}: {last.line or ''}"


def through(t0: float, tf: float, columns: list[Array]) -> Curve:
    """Return the curve of columns side by side, each (2, size) for a line or (points of FINE, size)
    for a function.
    """
    if not columns:
        columns = [np.zeros((2, 0))]
    if all(len(column) == 2 for column in columns):
        return Curve.linear(np.array([t0, tf]), np.hstack(columns))
    fine = [c[0] + FINE[:, None] * (c[1] - c[0]) if len(c) == 2 else c for c in columns]
    values = np.hstack(fine)
    pieces = values[2 * np.arange(PIECES)[:, None] + np.arange(3)]
    return Curve.through(t0 + (tf - t0) * FINE[::2], np.array([0.0, 0.5, 1.0]), pieces)


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
        raise GuessError(
            f"the guess of '{q.name}' is not a finite number",
            got=value,
            expected="a number, an array, or a function of normalised time from 0 to 1",
        )
    return array


def _middle(bound: Bound, inside: float) -> Array:
    both = np.isfinite(bound.lower) & np.isfinite(bound.upper)
    low = np.where(np.isfinite(bound.lower), bound.lower, 0.0)
    high = np.where(np.isfinite(bound.upper), bound.upper, 0.0)
    one_sided = np.clip(
        0.0,
        np.where(both, -np.inf, bound.lower + inside),
        np.where(both, np.inf, bound.upper - inside),
    )
    return np.where(both, 0.5 * (low + high), one_sided)
