"""Integration with events: zero crossings located to round-off, resets, terminal events.

A crossing is bracketed at the knots (and between them for long steps), located on the dense output,
and then refined on the motion: re-integrated to the event from the last knot, with Newton steps in
time until the event function is at round-off.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import casadi
import numpy as np
import scipy.optimize

from trajopt.compiled.pointwise import Pointwise
from trajopt.errors import SimulationError
from trajopt.integrate.dense_output import Path, Segment
from trajopt.integrate.fixed_step import Integrator, Leg, advance, runge_kutta
from trajopt.integrate.rates import (
    Rate,
    evaluate,
    function_of_state,
    numpy_callable,
    total_derivative,
)
from trajopt.integrate.tableaus import RK4
from trajopt.system import Event, System

Progress = Callable[[float], None]  # called with the completed fraction, 0 to 1

INSIDE = np.arange(8) / 8  # samples in an adaptive step
AHEAD = 16  # adaptive steps whose event functions are evaluated together
CROWDED = 50  # events in a row, each within 1e-9 of the duration, that count as accumulation


@dataclass(frozen=True)
class Occurrence:
    """An event with its time and the states before and after its reset."""

    name: str
    time: float
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True)
class Watch:
    """The events of a system as functions of (t, x): values, their time derivatives, and resets."""

    events: tuple[Event, ...]
    values: Pointwise
    value: Callable[..., np.ndarray]
    slope: Callable[..., np.ndarray]
    resets: tuple[Callable[..., np.ndarray] | None, ...]


def _no_values(t: float, x: np.ndarray) -> np.ndarray:
    return np.zeros(0)


NOTHING = Watch((), Pointwise(casadi.Function("nothing", [], [])), _no_values, _no_values, ())


def watch(system: System, extra: Sequence[Event] = ()) -> Watch:
    """Compile the events of a system and ``extra`` events in its symbols."""
    events = (*system.events, *extra)
    g = casadi.vertcat(casadi.SX(0, 1), *(e.expression for e in events))
    values = function_of_state(system, g)
    slope = function_of_state(system, total_derivative(g, system.time, system.x, system.rate))
    resets = tuple(_reset(system, e) for e in events)
    return Watch(events, Pointwise(values), numpy_callable(values), numpy_callable(slope), resets)


def _reset(system: System, event: Event) -> Callable[..., np.ndarray] | None:
    """Return the reset of an event as a function of (t, x)."""
    if event.reset is None:
        return None
    if isinstance(event.reset, casadi.SX):
        return numpy_callable(function_of_state(system, event.reset))
    jump, p = event.reset, system.parameter_values
    return lambda t, x: jump(t, x, p)


def run(
    rate: Rate,
    integrator: Integrator,
    leg: Leg,
    watched: Watch = NOTHING,
    project: casadi.Function | None = None,
    progress: Progress | None = None,
) -> tuple[Path, tuple[Occurrence, ...]]:
    """Integrate over a leg; return the motion and its events."""
    t0, x0, t1 = leg
    t, x = t0, np.asarray(x0, dtype=float)
    report = progress or (lambda fraction: None)
    pieces: list[Segment] = []
    happened: list[Occurrence] = []
    fired: frozenset[int] = frozenset()
    done = False
    while not done and t != t1:
        done = True
        x, ended = _fire_levels(watched, t, x, happened, not pieces)
        if ended:
            break
        signs, fresh = _starting_signs(watched, t, x, fired)
        for piece, quiet in _watched_pieces(
            integrator.pieces(rate, (t, x, t1), project), watched, signs
        ):
            crossings = [] if quiet else _crossings(watched, piece, signs, fresh)
            stop = _first_stop(rate, integrator, watched, piece, crossings, happened)
            fresh = frozenset()
            if stop is None:
                pieces.append(piece)
                t, x = float(piece.t[-1]), piece.x[-1]
                report((t - t0) / (t1 - t0))
                continue
            at, before, firing = stop
            pieces.append(piece.cut(at, before))
            t, x = at, _fire(watched, at, before, firing, happened)
            fired = frozenset(firing)
            report((t - t0) / (t1 - t0))
            done = any(watched.events[j].terminal for j in firing)
            _check_crowding(happened, abs(t1 - t0))
            break
    return Path(tuple(pieces)), tuple(happened)


def _watched_pieces(
    pieces: Iterator[Segment], watched: Watch, signs: np.ndarray
) -> Iterator[tuple[Segment, bool]]:
    """Yield segments, and whether no event function changes its sign in them.

    Adaptive steps are evaluated several at once, and more of them the longer nothing happens. An
    error in steps that were taken ahead of an event is raised only if the motion gets there.
    """
    most = 1
    while True:
        batch: list[Segment] = []
        failure: Exception | None = None
        try:
            for piece in itertools.islice(pieces, most):
                batch.append(piece)
                if len(piece.t) > 2 or not watched.events:
                    break
        except Exception as error:
            failure = error
        quiet = not watched.events or _stays(watched, batch, signs)
        for piece in batch:
            yield piece, quiet
        if failure is not None:
            raise failure
        if not batch:
            return
        most = min(2 * most, AHEAD)


def _stays(watched: Watch, batch: list[Segment], signs: np.ndarray) -> bool:
    """True if no event function changes its sign in single steps, as far as samples inside them
    show.
    """
    if not batch or any(len(piece.t) > 2 for piece in batch):
        return False
    times = [piece.t[0] + (piece.t[1] - piece.t[0]) * INSIDE[1:] for piece in batch]
    states = [
        part
        for piece, t in zip(batch, times, strict=True)
        for part in (piece.interpolant(t), piece.x[1:])
    ]
    samples = np.concatenate(
        [part for piece, t in zip(batch, times, strict=True) for part in (t, piece.t[1:])]
    )
    return bool((evaluate(watched.values, samples, np.concatenate(states)) * signs > 0).all())


def _starting_signs(
    watched: Watch, t: float, x: np.ndarray, fired: frozenset[int]
) -> tuple[np.ndarray, frozenset[int]]:
    """Return the initial sign of each event function; for a zero value, the sign of its derivative.

    Also returns the events that have just fired and are still at zero, which must not fire again.
    """
    values, slopes = watched.value(t, x), watched.slope(t, x)
    signs: np.ndarray = np.sign(values)
    fresh = frozenset(j for j in fired if abs(values[j]) <= 1e-9 * (1 + abs(slopes[j])))
    for j in range(len(signs)):
        if j in fresh or values[j] == 0:
            signs[j] = np.sign(slopes[j])
    return signs, fresh


def _crossings(
    watched: Watch, piece: Segment, signs: np.ndarray, fresh: frozenset[int]
) -> list[tuple[float, int]]:
    """Return time and event index of the crossings of a segment, in order; updates ``signs``."""
    samples, states = piece.t, piece.x
    if len(samples) <= 3:  # an adaptive step may be long: sample inside it
        samples = np.append(piece.t[:-1, None] + np.diff(piece.t)[:, None] * INSIDE, piece.t[-1])
        states = np.vstack([piece.x[0], piece.interpolant(samples[1:-1]), piece.x[-1]])
    values = evaluate(watched.values, samples, states)
    crossings: list[tuple[float, int]] = []
    if (values[1:] * signs > 0).all():  # the usual case, and the quickest to see
        return crossings
    for j, event in enumerate(watched.events):
        for i in range(1, len(samples)):
            sign = np.sign(values[i, j])
            if sign == 0 or sign == signs[j]:
                continue
            if signs[j] != 0 and event.direction in (0, sign):
                crossings.append(
                    (
                        _root(
                            watched, piece, (samples[i - 1], samples[i]), j, j in fresh and i == 1
                        ),
                        j,
                    )
                )
            signs[j] = sign
    return sorted(crossings, key=lambda c: c[0] if piece.t[-1] >= piece.t[0] else -c[0])


def _root(
    watched: Watch, piece: Segment, bracket: tuple[float, float], j: int, fresh: bool
) -> float:
    """Return the time in the bracket at which event j crosses zero, on the dense output."""
    a, b = bracket

    def g(time: float) -> float:
        return float(watched.value(time, piece.interpolant(np.array([time]))[0])[j])

    if not fresh and g(a) * g(b) < 0:
        return float(scipy.optimize.brentq(g, a, b, xtol=1e-15, rtol=1e-14))
    # The left end is a zero: of the event that has just fired, or at a sample. Deflate that root.
    left = a + (b - a) * 1e-9

    def deflated(time: float) -> float:
        return g(time) / (time - a)

    if deflated(left) * deflated(b) < 0:
        return float(scipy.optimize.brentq(deflated, left, b, xtol=1e-15, rtol=1e-14))
    if fresh:
        raise accumulation(watched.events[j].name, a)
    return a


def _first_stop(
    rate: Rate,
    integrator: Integrator,
    watched: Watch,
    piece: Segment,
    crossings: list[tuple[float, int]],
    happened: list[Occurrence],
) -> tuple[float, np.ndarray, list[int]] | None:
    """Record crossings up to the first with a reset or end of the run; return its time, state and
    simultaneous events.
    """
    for index, (time, j) in enumerate(crossings):
        at, state = _polish(rate, integrator, watched, piece, time, j)
        event = watched.events[j]
        if event.reset is None and not event.terminal:
            happened.append(Occurrence(event.name, at, state, state))
            continue
        slack = 1e-10 * max(1.0, abs(at))
        return (
            at,
            state,
            [j, *(k for other, k in crossings[index + 1 :] if abs(other - time) <= slack)],
        )
    return None


def _polish(
    rate: Rate, integrator: Integrator, watched: Watch, piece: Segment, time: float, j: int
) -> tuple[float, np.ndarray]:
    """Return time and state of a crossing on the motion, to round-off."""
    forward = piece.t[-1] >= piece.t[0]
    i = (
        int(
            np.searchsorted(
                piece.t if forward else -piece.t, time if forward else -time, side="right"
            )
        )
        - 1
    )
    i = min(max(i, 0), len(piece.t) - 2)
    x = advance(integrator, rate, (float(piece.t[i]), piece.x[i], time))
    for _ in range(10):
        slope = watched.slope(time, x)[j]
        if slope == 0:
            break
        move = -watched.value(time, x)[j] / slope
        if not abs(move) < 1e-3 * abs(piece.t[-1] - piece.t[0]) or abs(move) <= 2 * np.spacing(
            abs(time)
        ):
            break
        x, _ = runge_kutta(RK4, rate.call, time, x, move)
        time += move
    return float(time), x


def _fire(
    watched: Watch, at: float, before: np.ndarray, firing: list[int], happened: list[Occurrence]
) -> np.ndarray:
    x = before
    for j in firing:
        reset = watched.resets[j]
        after = x if reset is None else reset(at, x)
        happened.append(Occurrence(watched.events[j].name, at, x, after))
        x = after
    return x


def _fire_levels(
    watched: Watch, t: float, x: np.ndarray, happened: list[Occurrence], first: bool
) -> tuple[np.ndarray, bool]:
    """Fire level events that have crossed zero until none is left; return the state and a flag if
    the run ends.
    """
    while True:
        values = watched.value(t, x)
        beyond = [
            j for j, e in enumerate(watched.events) if e.level and e.direction * values[j] > 0
        ]
        if not beyond:
            return x, False
        event = watched.events[beyond[0]]
        if event.terminal and first:
            raise SimulationError(
                f"the run cannot start: the terminal event '{event.name}' holds at t = {t:.6g}"
            )
        x = _fire(watched, t, x, beyond[:1], happened)
        if event.terminal:
            return x, True
        _check_crowding(happened, 1.0)


def _check_crowding(happened: list[Occurrence], span: float) -> None:
    recent = happened[-CROWDED:]
    if len(recent) == CROWDED and abs(recent[-1].time - recent[0].time) < 1e-9 * span * CROWDED:
        raise accumulation(recent[-1].name, recent[-1].time)


def accumulation(name: str, time: float) -> SimulationError:
    """Return the error for infinitely many events in a finite time."""
    return SimulationError(
        f"the events '{name}' accumulate at t = {time:.6g}",
        got="decreasing times between them",
        hint="end the run earlier, make the event terminal below some speed, or use a compliant "
        "contact model",
    )
