"""Bounds that a statement gives by parameters, and boundary values that are changed after it."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.errors import UsageError
from trajopt.statement.bounds import Bound

if TYPE_CHECKING:
    from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm

Array = NDArray[np.float64]
Change = Callable[[Bound], Bound]


def with_bounds(form: NormalForm, change: Change) -> NormalForm:
    """Return the form with every bound changed: of variables, their boundary values, times, path
    constraints and conditions.
    """
    changed = replace(
        form,
        phases=tuple(_phase(phase, change) for phase in form.phases),
        statics=tuple(_vector(q, change) for q in form.statics),
        b_bound=change(form.b_bound),
    )
    vars(changed).update(
        {name: vars(form)[name] for name in ("models", "stated_limits") if name in vars(form)}
    )
    return changed


def _phase(phase: PhaseForm, change: Change) -> PhaseForm:
    states, algebraics, controls = (
        tuple(_vector(q, change) for q in group)
        for group in (phase.states, phase.algebraics, phase.controls)
    )
    return replace(
        phase,
        states=states,
        algebraics=algebraics,
        controls=controls,
        c_bound=change(phase.c_bound),
        start_time=change(phase.start_time),
        end_time=change(phase.end_time),
    )


def _vector(q: NamedVector, change: Change) -> NamedVector:
    return replace(q, bound=change(q.bound), start=change(q.start), end=change(q.end))


def bounds_of(form: NormalForm) -> Iterator[Bound]:
    """All bounds of a form, in the order in which ``with_bounds`` changes them."""
    for phase in form.phases:
        for q in (*phase.states, *phase.algebraics, *phase.controls):
            yield from (q.bound, q.start, q.end)
        yield from (phase.c_bound, phase.start_time, phase.end_time)
    for q in form.statics:
        yield from (q.bound, q.start, q.end)
    yield form.b_bound


def limits_function(form: NormalForm) -> casadi.Function:
    """Parameters -> lower and upper limits of all bounds that are stated by them, in the order of
    ``bounds_of``.
    """
    columns = [
        column for bound in bounds_of(form) if bound.stated is not None for column in bound.stated
    ]
    return casadi.Function("limits", [q.symbol for q in form.parameters], columns)


def at_parameters(form: NormalForm, p: Array) -> NormalForm:
    """Return the form with the bounds that are stated by parameters at the values
    ``p`` of these.
    """
    if not any(bound.stated is not None for bound in bounds_of(form)):
        return form
    sizes = [q.value.size for q in form.parameters]
    limits = form.stated_limits.call(
        [casadi.DM(part) for part in np.split(p, np.cumsum(sizes)[:-1])]
    )
    values = iter([np.asarray(column, dtype=float).ravel() for column in limits])

    def valued(bound: Bound) -> Bound:
        return (
            bound
            if bound.stated is None
            else replace(bound, lower=next(values), upper=next(values))
        )

    found = with_bounds(form, valued)
    check_bounds(found)
    return found


def with_boundary(
    form: NormalForm,
    initial: Mapping[Any, Any] | None = None,
    final: Mapping[Any, Any] | None = None,
) -> NormalForm:
    """Return the form with other initial and final values of states, and of the time "t".

    The keys are names of states, or (phase, state). A name alone means the first phase that has the
    state for an initial value, and the last one for a final value. None or NaN leaves a component
    as it is stated.
    """
    phases = list(form.phases)
    for which, given in (("start", initial or {}), ("end", final or {})):
        for key, value in given.items():
            if key == "t":
                place = 0 if which == "start" else -1
                phases[place] = _timed(phases[place], which, value)
                continue
            i, q = _found(form, key, which)
            states = [_moved(s, which, value) if s.name == q.name else s for s in phases[i].states]
            phases[i] = replace(phases[i], states=tuple(states))
    if not (initial or final):
        return form
    changed = replace(form, phases=tuple(phases))
    vars(changed).update({name: vars(form)[name] for name in ("models",) if name in vars(form)})
    check_bounds(changed)
    return changed


def _timed(phase: PhaseForm, which: str, value: Any) -> PhaseForm:
    """The phase with a given start or end time."""
    try:
        time = np.full(1, float(value))
    except (TypeError, ValueError):
        time = np.full(1, np.nan)
    if not np.isfinite(time[0]):
        raise UsageError(f"the {which} time", got=reprlib.repr(value), expected="a finite number")
    if phase.samples:
        raise UsageError(
            f"the times of phase '{phase.name}' cannot change",
            got="values at given times (ph.at)",
            hint="end a phase at such a time, and connect another one to it",
        )
    bound = Bound(time, time)
    return replace(phase, start_time=bound) if which == "start" else replace(phase, end_time=bound)


def _found(form: NormalForm, key: Any, which: str) -> tuple[int, NamedVector]:
    """The phase and the state that a key names."""
    phase_name, name = key if isinstance(key, tuple) else (None, key)
    holders = [
        (i, q) for i, phase in enumerate(form.phases) for q in phase.states
        if q.name == name and phase_name in (None, phase.name)
    ]  # fmt: skip
    if not holders:
        what = "initial" if which == "start" else "final"
        known = [
            f"'{q.name}'" if len(form.phases) == 1 else f"('{ph.name}', '{q.name}')"
            for ph in form.phases
            for q in ph.states
        ]
        raise UsageError(
            f"{what} value: problem '{form.name}' has no such state",
            got=repr(key),
            expected=", ".join(known),
        )
    return holders[0 if which == "start" else -1]


def _moved(q: NamedVector, which: str, value: Any) -> NamedVector:
    what = f"{'initial' if which == 'start' else 'final'} value of '{q.name}'"
    plain = np.atleast_1d(np.asarray(value, dtype=object)).ravel()
    try:
        given = np.asarray([np.nan if v is None else v for v in plain], dtype=float)
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    if given.size not in (1, q.size):
        raise UsageError(f"{what} has the wrong size", got=given.size, expected=q.size)
    if np.any(np.isinf(given)) or np.all(np.isnan(given)):
        raise UsageError(what, got=reprlib.repr(value), expected="finite numbers")
    old: Bound = getattr(q, which)
    kept = np.isnan(np.broadcast_to(given, (q.size,)))
    bound = Bound(np.where(kept, old.lower, given), np.where(kept, old.upper, given), old.guess)
    return replace(q, start=bound) if which == "start" else replace(q, end=bound)


def check_bounds(form: NormalForm) -> None:
    """Raise an error if limits at these values contradict each other."""
    for phase in form.phases:
        for q in (*phase.states, *phase.algebraics, *phase.controls):
            _check(q.bound, f"the bounds of '{q.name}' in phase '{phase.name}'")
            _check(
                q.start.meet(q.bound),
                f"the start of state '{q.name}' in phase '{phase.name}' and its bounds",
            )
            _check(
                q.end.meet(q.bound),
                f"the end of state '{q.name}' in phase '{phase.name}' and its bounds",
            )
        _check(phase.c_bound, f"the path constraints of phase '{phase.name}'")
        _check(phase.start_time, f"the start time of phase '{phase.name}'")
        _check(phase.end_time, f"the end time of phase '{phase.name}'")
        if phase.end_time.upper[0] <= phase.start_time.lower[0]:
            times = f"start {phase.start_time}, end {phase.end_time}"
            raise UsageError(
                f"phase '{phase.name}': time ends before it starts",
                got=times,
                expected="end > start",
            )
    for q in form.statics:
        _check(q.bound, f"the bounds of variable '{q.name}'")
    _check(form.b_bound, "the conditions")


def _check(bound: Bound, what: str) -> None:
    good = (bound.lower <= bound.upper) & (bound.lower < np.inf) & (bound.upper > -np.inf)
    if not np.all(good):
        i = int(np.argmin(good))
        got = (float(bound.lower[i]), float(bound.upper[i]))
        raise UsageError(
            f"{what} contradict each other at these values", got=got, expected="lower <= upper",
            hint="they depend on parameters, or on boundary values given to a prepared problem",
        )  # fmt: skip
