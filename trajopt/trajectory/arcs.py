"""Arcs read from curves: which control is at which bound, which constraint is active, from when to
when.

The direct method reads the arcs of its mesh here, and shooting those that it starts from. Callers
pass arrays: the values of controls and constraints, and the roles that switching functions allow. A
role is the side on which a control or a constraint is at its limit, as a number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int_]
A = TypeVar("A")

AT_LOWER, FREE, AT_UPPER = -1, 0, 1
FINE = 20  # points between two samples, where lengths and minima are measured
SIDES = {AT_LOWER: "lower", AT_UPPER: "upper"}  # as in the roles of an ``Arc``


@dataclass(frozen=True)
class Arc:
    """An arc: an interval of a phase on which the role of every control component is constant.

    ``roles``: control component -> "lower", "upper", "interior" or "singular"; active constraint ->
    "lower" or "upper". ``touches``: state constraint that is touched where the arc begins, or met
    there and then held by bounds of controls -> "lower" or "upper"; only shooting lists them.
    """

    phase: str
    start: float
    end: float
    roles: Mapping[str, str]
    touches: Mapping[str, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """Roles and touched constraints as text."""
        touched = [f"touches {name} ({side}) at its start" for name, side in self.touches.items()]
        return ", ".join([*(f"{name} {role}" for name, role in self.roles.items()), *touched])


@dataclass(frozen=True, eq=False)
class Cells:
    """A phase divided into cells of time; a curve has one value in each."""

    start: Array
    end: Array
    interval: Ints  # the mesh interval of each cell
    share: Array  # of that interval

    @staticmethod
    def even(breaks: Array, count: int) -> Cells:
        """``count`` cells of the same length in each interval of a mesh."""
        interval = np.repeat(np.arange(breaks.size - 1), count)
        widths, number = np.diff(breaks)[interval], np.tile(np.arange(count), breaks.size - 1)
        starts = breaks[interval]
        return Cells(
            starts + widths * number / count,
            starts + widths * (number + 1) / count,
            interval,
            np.full(interval.size, 1 / count),
        )

    @property
    def middle(self) -> Array:
        return np.asarray(0.5 * (self.start + self.end))


@dataclass(frozen=True)
class Run:
    """Consecutive cells with one role."""

    role: int
    start: float
    end: float
    intervals: float  # their length in mesh intervals

    @property
    def middle(self) -> float:
        return 0.5 * (self.start + self.end)

    def inside(self, t: Array) -> Bools:
        return np.asarray((t >= self.start) & (t <= self.end))


def sides(values: Array, lower: Array | float, upper: Array | float, margin: Array | float) -> Ints:
    """Which limit each value is within ``margin`` of, if any; the lower one where it is within that
    of both.
    """
    return np.where(
        values <= lower + margin, AT_LOWER, np.where(values >= upper - margin, AT_UPPER, FREE)
    )


def control_range(values: Array, lower: float, upper: float) -> float:
    """The distance between the bounds of a control, or its largest value if one is missing."""
    return (
        float(upper - lower)
        if np.isfinite(upper - lower)
        else max(float(np.abs(values).max()), np.finfo(float).tiny)
    )


def runs_of(roles: Ints, cells: Cells) -> list[Run]:
    """The runs of cells with one role each."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(roles)) + 1, [roles.size]])
    return [
        Run(
            int(roles[a]),
            float(cells.start[a]),
            float(cells.end[b - 1]),
            float(cells.share[a:b].sum()),
        )
        for a, b in itertools.pairwise(edges)
    ]


def together(
    arcs: Iterable[A], alike: Callable[[A, A], bool], both: Callable[[A, A], A]
) -> list[A]:
    """Arcs of any kind in which neighbours that are alike are one."""
    found: list[A] = []
    for arc in arcs:
        if found and alike(found[-1], arc):
            found[-1] = both(found[-1], arc)
        else:
            found.append(arc)
    return found


def merged(runs: list[Run]) -> list[Run]:
    """Runs in which neighbours of one role are one."""
    return together(
        runs,
        lambda one, two: one.role == two.role,
        lambda one, two: replace(one, end=two.end, intervals=one.intervals + two.intervals),
    )


def role_at(runs: list[Run], t: float) -> int:
    """The role at a time; ``FREE`` between the runs."""
    return next((run.role for run in runs if run.start <= t <= run.end), FREE)


def without_touches(runs: list[Run], shortest: float) -> list[Run]:
    """The runs of a smooth control; one at a bound for less than ``shortest`` mesh intervals
    touches it, which is no arc.
    """
    return merged([run if run.intervals >= shortest else replace(run, role=FREE) for run in runs])


def switched(
    roles: Ints, cells: Cells, values: Array, lower: float, upper: float
) -> tuple[list[Run], list[Run]]:
    """The runs of a control that enters affinely, with switching times inside mesh intervals; and
    those that remain unclear.

    Values between the bounds on up to two intervals approximate a switch. From one bound to the
    other it lies where the mean value is kept. Such values with the same role on both sides, or at
    an end of the phase, are unclear.
    """
    runs, found, unclear = runs_of(roles, cells), [], []
    limit = {AT_LOWER: lower, AT_UPPER: upper}
    for i, run in enumerate(runs):
        before = runs[i - 1].role if i else FREE
        after = runs[i + 1].role if i + 1 < len(runs) else FREE
        if abs(run.role) == 1 or round(run.intervals) > 2:
            found.append(run)
        elif FREE not in (before, after) and before != after:
            share = 0.5
            if before * after == -1:
                here = run.inside(cells.middle)
                mean = float(values[here] @ (cells.end - cells.start)[here]) / (run.end - run.start)
                share = float(
                    np.clip((mean - limit[after]) / (limit[before] - limit[after]), 0.0, 1.0)
                )
            switch = float(run.start + share * (run.end - run.start))
            found.append(replace(found.pop(), end=switch))
            runs[i + 1] = replace(runs[i + 1], start=switch)
        else:
            unclear += [run] if run.role == FREE else []
            found.append(run)
    return merged(found), unclear


def absorbed(runs: list[Run], unclear: list[Run]) -> list[Run]:
    """The runs without unclear ones; the time of each is shared by its neighbours."""
    kept = [run for run in runs if run not in unclear] or runs
    cuts = [
        runs[0].start,
        *[0.5 * (a.end + b.start) for a, b in itertools.pairwise(kept)],
        runs[-1].end,
    ]
    return merged(
        [
            replace(run, start=a, end=b)
            for run, (a, b) in zip(kept, itertools.pairwise(cuts), strict=True)
        ]
    )


def bridged(roles: Ints, near: Mapping[int, Bools], interval: Ints, longest: int) -> Ints:
    """The roles of a constraint without gaps of up to ``longest`` whole intervals in which it stays
    near its limit.

    A constraint of higher order is active only at some points of a boundary arc, where the mesh
    does not resolve the arc.
    """
    filled = roles.copy()
    for first, last in itertools.pairwise(np.flatnonzero(roles).tolist()):
        role, between = int(roles[first]), slice(first + 1, last)
        short = interval[last] - interval[first] - 1 <= longest
        if role == roles[last] and short and near[role][between].all():
            filled[between] = role
    return filled


def distinct(times: Array, t0: float, tf: float, shortest: float) -> Array:
    """(arcs + 1,): the ends of arcs, with those of the phase and without any that leaves an arc of
    ``shortest`` or less.
    """
    cuts = np.sort(times)
    cuts = cuts[(cuts > t0 + shortest) & (cuts < tf - shortest)]
    return np.concatenate([[t0], cuts[np.diff(cuts, prepend=t0) > shortest], [tf]])


def departs(run: Run, t: Array, gap: Array, far: float) -> bool:
    """Whether the distance ``gap`` from a limit exceeds ``far`` within half the run's length before
    and after the run.

    A parabola that touches a limit, and is within a distance d of it for a length L, comes to 4 d
    there; after a boundary arc of length L the distance is greater. The next boundary arc may begin
    before that length ends.
    """
    reach = 0.5 * (run.end - run.start)
    for a, b in ((run.start - reach, run.start), (run.end, run.end + reach)):
        beyond = np.concatenate([gap[(t > a) & (t < b)], np.interp([a, b], t, gap)])
        if t[0] < a and b < t[-1] and beyond.max() <= far:
            return False
    return True


def is_boundary_arc(
    run: Run, t: Array, gap: Callable[[Array], Array], near: float, ratio: float
) -> bool:
    """Whether a contact, on which the distance ``gap`` at samples t stays within ``near``, is
    longer than a touch explains.

    A touch comes to at most ``ratio`` times near within half its length beyond, and is within near
    / ratio for at most half of its contact: the flattest one, t^k with ratio 2^k; a parabola less.
    A boundary arc comes to more, or is that close for most of its length.
    """
    return (
        departs(run, t, gap(t), ratio * near)
        or _share_within(run, t, gap, (near, near / ratio)) > 2 / 3
    )


def _share_within(
    run: Run, t: Array, gap: Callable[[Array], Array], distances: tuple[float, float]
) -> float:
    """Of the time in which a contact is within the first distance, the share in which it is within
    the second one.

    Lengths are measured between samples too: these may be few, or close together where the gap is
    smallest.
    """
    length = run.end - run.start
    fine = np.linspace(
        max(run.start - length, min(t[0], run.start)),
        min(run.end + length, max(t[-1], run.end)),
        20 * FINE,
    )
    values = gap(fine)
    number = np.cumsum(values > distances[0])  # all points of a contact have one number
    contact = values[number == number[np.argmin(np.where(run.inside(fine), values, np.inf))]]
    return float(np.mean(contact <= distances[1]))


def touch_times(
    t: Array, gap: Callable[[Array], Array], distances: tuple[float, float], followed: list[Run]
) -> list[float]:
    """Times at which the distance ``gap`` from a limit, sampled at times t, has a minimum: the
    lowest of each contact.

    ``distances`` are near and away. A minimum below near is a touch; the contact ends where the
    distance exceeds away. Contacts with a run of ``followed`` are boundary arcs.
    """
    near, away = distances
    values = gap(t)
    taken = np.zeros(t.size, dtype=bool)
    for run in followed:
        taken |= run.inside(t)
    contact = np.cumsum(values > away)  # all points of a contact have one number
    occupied = {int(n) for n in contact[taken & (values <= away)]}
    found: dict[int, tuple[float, float]] = {}
    for value, time, k in _minima(t, values, gap):
        number = int(contact[k])
        if value < near and number not in occupied:
            found[number] = min(found.get(number, (np.inf, 0.0)), (value, time))
    return [time for _, time in found.values()]


def _minima(
    t: Array, values: Array, gap: Callable[[Array], Array]
) -> list[tuple[float, float, int]]:
    """Value, time and sample of each local minimum: between the neighbours of the lowest sample, on
    ever finer grids.
    """
    inner = np.arange(1, values.size - 1)
    found = []
    for k in inner[(values[inner] <= values[inner - 1]) & (values[inner] < values[inner + 1])]:
        a, b = t[k - 1], t[k + 1]
        for _ in range(4):
            fine = np.linspace(a, b, FINE + 1)
            lowest = int(np.argmin(gap(fine)))
            a, b = fine[max(lowest - 1, 0)], fine[min(lowest + 1, FINE)]
        found.append((float(gap(fine)[lowest]), float(fine[lowest]), int(k)))
    return found
