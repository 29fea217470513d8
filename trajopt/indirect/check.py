"""What an answer of shooting must still satisfy: the inequalities.

Where one fails, the structure is revised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.arc_trajectory import ArcTrace
from trajopt.indirect.hamiltonian import PhaseHamiltonian, involves
from trajopt.indirect.held_by_bounds import HeldConstraint, held_by_bounds, values_along
from trajopt.indirect.initial_system import ShootingProblem
from trajopt.indirect.modes import Mode
from trajopt.indirect.settings import CHECK
from trajopt.indirect.start import Start, StartArc, merged_arcs
from trajopt.indirect.transitions import may_do_otherwise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """An inequality that fails: in words, where, and how the structure would change."""

    text: str
    arc: int
    start: float
    end: float
    change: Callable[[Mode], Mode] | None  # None: no other structure is known to help
    size: float = 0.0
    touch: tuple[int, str] | None = None  # a state constraint that may only have to be touched
    peak: float = 0.0
    untouched: tuple[int, str] | None = None  # a touched constraint to be let go
    saturates: bool = False  # a singular control reaches its bound
    left: tuple[int, str] | None = (
        None  # a state constraint of an arc that may have to be left and touched again
    )
    row: tuple[str, str | None] | None = (
        None  # an endpoint condition, and the side on which it should be held instead
    )

    @property
    def revises(self) -> bool:
        return (
            self.untouched is not None
            or self.row is not None
            or (self.change is not None and bool(np.isfinite(self.size)))
        )


def findings(prepared: ShootingProblem, unknowns: Array) -> tuple[Finding, ...]:
    """Everything that an answer violates."""
    found: list[Finding] = []
    held = held_by_bounds(prepared, unknowns)
    for k, trace in enumerate(prepared.traces(unknowns)):
        duration = float(
            np.diff(unknowns[prepared.system.layout.times[prepared.start.arcs[k].phase]]).sum()
        )
        if trace.breaks[-1] - trace.breaks[0] < CHECK.vanished * duration:
            found.append(
                Finding(
                    "an arc has no duration",
                    k,
                    trace.breaks[0],
                    trace.breaks[-1],
                    lambda mode: mode,
                    np.inf,
                )
            )
            continue
        found += _controls(trace, k, held.get(k, []))
        found += _constraints(trace, k)
        found += _convexity(trace, k)
        found += _jumps(prepared, unknowns, k)
    found += _rows(prepared, unknowns)
    found += _beyond(prepared, unknowns)
    return tuple(found)


def _controls(trace: ArcTrace, k: int, held: list[HeldConstraint]) -> list[Finding]:
    ham = trace.law.hamiltonian
    bound, affine = ham.phase.u_bound, ham.affine
    u = trace.of(trace.law.u)
    slopes = sum((h.slopes(trace) for h in held), trace.of(trace.law.stationarity))
    found = []
    for i, role in enumerate(trace.law.mode.roles):
        name, span = ham.phase.u_names[i], bound.upper[i] - bound.lower[i]
        slack = CHECK.slack * (span if np.isfinite(span) else 1.0 + float(np.abs(u[:, :, i]).max()))
        if role in ("interior", "singular"):
            for side, beyond in (
                ("lower", bound.lower[i] - u[:, :, i]),
                ("upper", u[:, :, i] - bound.upper[i]),
            ):
                text = f"control '{name}' is beyond its {side} bound"
                outside = _where(trace, k, beyond, slack, text, _at_bound(ham, i, side))
                found += [replace(f, saturates=role == "singular") for f in outside]
        else:
            wrong = -slopes[:, :, i] if role == "lower" else slopes[:, :, i]
            other = ("upper" if role == "lower" else "lower") if affine[i] else "interior"
            slack = CHECK.slack * (1e-300 + float(np.abs(slopes[:, :, i]).max()))
            text = f"control '{name}' is at its {role} bound, but H decreases away from it"
            change = partial(Mode.with_role, component=i, role=other)
            found += _where(trace, k, wrong, slack * 10, text, change)
    return found


def _constraints(trace: ArcTrace, k: int) -> list[Finding]:
    ham, mode = trace.law.hamiltonian, trace.law.mode
    found = []
    held = dict(mode.active)
    densities = trace.of(trace.law.densities) if mode.active else np.zeros((*trace.times.shape, 0))
    for j, constraint in enumerate(ham.constraints):
        if constraint.equality:
            continue
        if j in held:
            row = [number for number, _ in mode.active].index(j)
            values = densities[:, :, row] * (1.0 if held[j] == "lower" else -1.0)
            text = (
                f"constraint '{constraint.name}' is held at its {held[j]} limit, but its "
                "multiplier has the wrong sign"
            )
            wrong = _where(
                trace,
                k,
                values,
                CHECK.slack * 10 * (1e-300 + float(np.abs(values).max())),
                text,
                partial(Mode.without_active, numbers=(j,)),
            )
            left = (j, held[j]) if constraint.order is not None and constraint.order > 1 else None
            found += [replace(f, left=left) for f in wrong]
            continue
        values = values_along(trace, constraint.expression)[:, :, 0]
        size = max(float(np.ptp(values)), float(np.abs(values).max()), 1e-12)
        for side, beyond in (
            ("lower", constraint.lower - values),
            ("upper", values - constraint.upper),
        ):
            held_there = partial(Mode.with_active, number=j, side=side)
            change = held_there if constraint.order is not None else None
            touch = (j, side) if constraint.order is not None and constraint.order > 1 else None
            text = f"constraint '{constraint.name}' is beyond its {side} limit"
            found += [
                replace(f, touch=touch)
                for f in _where(trace, k, beyond, CHECK.slack * size, text, change)
            ]
    return found


def _convexity(trace: ArcTrace, k: int) -> list[Finding]:
    """Legendre-Clebsch: on an arc without active constraints H_uu is not negative."""
    matrix = trace.law.convexity
    n = matrix.shape[0]
    if n == 0 or trace.law.mode.active:
        return []
    values = trace.of(matrix.reshape((n * n, 1))).reshape(-1, n, n)
    smallest = np.linalg.eigvalsh(0.5 * (values + values.transpose(0, 2, 1)))[:, 0]
    if smallest.min() < -CHECK.slack * np.abs(values).max():
        return [
            Finding(
                "the controls make H a maximum or a saddle, not a minimum",
                k,
                trace.breaks[0],
                trace.breaks[-1],
                None,
            )
        ]
    return []


def _jumps(prepared: ShootingProblem, unknowns: Array, k: int) -> list[Finding]:
    """Touched constraints with a jump of the costate that pushes the wrong way."""
    arc = prepared.system.arcs[k]
    jumps = unknowns[prepared.system.layout.jumps[k]]
    values = jumps[jumps.size - len(arc.entry.touched) :]
    found = []
    for (number, side), value in zip(arc.entry.touched, values, strict=True):
        if value * (1.0 if side == "upper" else -1.0) < 0:
            name = arc.law.hamiltonian.constraints[number].name
            text = f"constraint '{name}' is touched, but its multiplier has the wrong sign"
            found.append(Finding(text, k, 0.0, 0.0, None, untouched=(number, side)))
    return found


def _beyond(prepared: ShootingProblem, unknowns: Array) -> list[Finding]:
    """Endpoint conditions that are not held, and not met either."""
    form, system = prepared.form, prepared.system
    free = [row for row, side in prepared.rows if side is None]
    if not free:
        return []
    column = casadi.vertcat(*[row.expression for row in free])
    function = casadi.Function(
        "rows", [form.endpoint_column, form.s, form.p], [casadi.densify(column)]
    )
    ends = prepared.endpoint_values(unknowns)
    values = np.asarray(function(ends, unknowns[system.layout.s], system.p).full()).ravel()
    found = []
    for row, value in zip(free, values, strict=True):
        size = max(1e-3, *(abs(b) for b in (row.lower, row.upper, value) if np.isfinite(b)))
        for side, gap in (("lower", row.lower - value), ("upper", value - row.upper)):
            if gap > CHECK.slack * size:
                text = f"condition '{row.name}' is beyond its {side} limit by {gap:.3g}"
                found.append(Finding(text, -1, 0.0, 0.0, None, row=(row.name, side)))
    return found


def _rows(prepared: ShootingProblem, unknowns: Array) -> list[Finding]:
    """Endpoint conditions with multipliers of the wrong sign."""
    found = []
    largest = float(np.abs(unknowns[prepared.system.layout.nu]).max(initial=0.0))
    for row, side, multiplier in prepared.row_multipliers(unknowns):
        outward = multiplier * (1.0 if side == "upper" else -1.0)
        if side is not None and not row.equality and outward < -CHECK.slack * largest:
            text = (
                f"condition '{row.name}' is held at its {side} limit, but its multiplier has "
                "the wrong sign"
            )
            found.append(Finding(text, -1, 0.0, 0.0, None, row=(row.name, None)))
    return found


def _where(
    trace: ArcTrace,
    k: int,
    beyond: Array,
    slack: float,
    text: str,
    change: Callable[[Mode], Mode] | None,
) -> list[Finding]:
    """The longest stretch on which a value is above its slack."""
    flat, times = beyond.ravel(), trace.times.ravel()
    bad = np.concatenate([[False], ~(flat <= slack), [False]])
    if not bad.any():
        return []
    starts, ends = np.flatnonzero(bad[1:] & ~bad[:-1]), np.flatnonzero(~bad[1:] & bad[:-1]) - 1
    longest = int(np.argmax(times[ends] - times[starts]))
    a, b = float(times[starts[longest]]), float(times[ends[longest]])
    worst, peak = float(np.nanmax(flat)), float(times[int(np.nanargmax(flat))])
    return [
        Finding(
            f"{text} from t = {a:.6g} to {b:.6g}, by {worst:.3g}",
            k,
            a,
            b,
            change,
            worst / slack,
            peak=peak,
        )
    ]


def _at_bound(ham: PhaseHamiltonian, i: int, side: str) -> Callable[[Mode], Mode]:
    """A control at its bound; a mixed constraint that it alone has held is left."""

    def change(mode: Mode) -> Mode:
        mode = mode.with_role(i, side)
        left = [k for k, role in enumerate(mode.roles) if role not in ("lower", "upper")]
        acts = {
            j: ham.constraints[j].derivatives[-1]
            for j, _ in mode.active
            if not ham.constraints[j].equality
        }
        gone = [
            j
            for j, e in acts.items()
            if involves(e, ham.phase.u, i) and not any(involves(e, ham.phase.u, k) for k in left)
        ]
        return mode.without_active(gone)

    return change


def revised_structures(
    prepared: ShootingProblem, unknowns: Array, converged: bool, found: tuple[Finding, ...]
) -> Iterator[Start]:
    """Starts with other structures: without arcs that have vanished, and changed where an
    inequality fails.

    A boundary arc that vanishes may be a touch. One whose multiplier has the wrong sign near one of
    its ends is too long. Without that part its structure is often the same as before; the next
    start touches the constraint once more there.
    """
    layout, gone = prepared.system.layout, set()
    short = CHECK.vanished if converged else 100 * CHECK.vanished
    for i, times in enumerate(layout.times):
        numbers = prepared.system.of_phase[i]
        durations = np.diff(unknowns[times]) / (unknowns[times[-1]] - unknowns[times[0]])
        vanished = [numbers[place] for place in np.flatnonzero(durations < short)]
        gone.update(vanished if len(vanished) < len(numbers) else vanished[1:])
    usable = [f for f in found if f.revises]
    # A multiplier at an end may have the wrong sign because of a wrong arc: arcs and touches come
    # first.
    usable = _once([f for f in usable if f.row is None] or usable)
    if not gone and not usable:
        return
    start = prepared.traced_start(unknowns) if converged else prepared.start
    start = replace(start, arcs=tuple(replace(arc, continuous=None) for arc in start.arcs))
    kept = [(k, arc) for k, arc in enumerate(start.arcs) if k not in gone]
    if gone:
        yield replace(start, arcs=_merged(_with_touches(prepared, start.arcs, gone)))
        yield replace(start, arcs=_merged([arc for _, arc in kept]))
        return
    sides = {**start.sides, **dict(f.row for f in usable if f.row is not None)}
    for touching in (False, True):
        pieces = [
            piece
            for k, arc in kept
            for piece in _split(arc, [f for f in usable if f.arc == k], touching)
        ]
        yield replace(start, arcs=_merged(pieces), sides=sides)


def reversed_junction(prepared: ShootingProblem, near: int | None) -> Iterator[Start]:
    """A start on the same arcs with a control that jumps at a junction instead of being continuous,
    or the other way round.

    ``near``: the arc at whose ends Newton's method did not get on; the nearest junction that leaves
    this choice is changed.
    """
    start, arcs = prepared.start, prepared.system.arcs
    inner = [k for k in range(1, len(arcs)) if arcs[k].phase == arcs[k - 1].phase]
    free = [k for k in inner if may_do_otherwise(arcs[k - 1].law, arcs[k].law)]
    for k in sorted(free, key=lambda k: 0.0 if near is None else abs(k - near - 0.5))[:1]:
        changed = replace(start.arcs[k], continuous=not arcs[k].continuous)
        yield replace(start, arcs=(*start.arcs[:k], changed, *start.arcs[k + 1 :]))


def _once(found: list[Finding]) -> list[Finding]:
    """The findings without those of a constraint that is beyond its limit on both sides of a
    junction, except for the worst.
    """
    kept: list[Finding] = []
    for finding in sorted(found, key=lambda f: -f.size):
        beside = [
            f
            for f in kept
            if f.touch is not None and f.touch == finding.touch and abs(f.arc - finding.arc) == 1
        ]
        if not any(f.end == finding.start or f.start == finding.end for f in beside):
            kept.append(finding)
    return kept


def _with_touches(
    prepared: ShootingProblem, arcs: tuple[StartArc, ...], gone: set[int]
) -> list[StartArc]:
    """The arcs that are left, with a touch in the place of each constraint of order two or more
    that was held between them.
    """
    found: list[StartArc] = []
    touched: list[tuple[int, str]] = []
    time = 0.0
    for k, arc in enumerate(arcs):
        constraints = prepared.hams[arc.phase].constraints
        if k in gone:
            touched += [
                a
                for a in arc.mode.active
                if (constraints[a[0]].order or 0) > 1 and a not in touched
            ]
            time = 0.5 * (arc.start + arc.end)
            continue
        if found and found[-1].phase == arc.phase:
            new = [
                a
                for a in touched
                if a not in (*found[-1].mode.active, *arc.mode.active, *arc.touched)
            ]
            arc = replace(arc, start=time, touched=(*arc.touched, *new)) if new else arc
        touched = []
        found.append(arc)
    return found


def _split(arc: StartArc, found: list[Finding], touching: bool) -> list[StartArc]:
    """An arc cut at the worst finding on it, with its middle part changed; ``touching``: divided by
    a touch where it is left.
    """
    gone = [f.untouched for f in found if f.untouched is not None]
    arc = replace(arc, touched=tuple(touch for touch in arc.touched if touch not in gone))
    found = [f for f in found if f.change is not None]
    if not found:
        return [arc]
    finding = max(found, key=lambda f: f.end - f.start)
    assert finding.change is not None
    if (
        finding.touch is not None
        and finding.touch not in arc.touched
        and arc.start < finding.peak < arc.end
    ):
        # The least change that can help: a constraint of order two is often met in one point only.
        return [
            replace(arc, end=finding.peak),
            replace(arc, start=finding.peak, touched=(finding.touch,)),
        ]
    snap = CHECK.snap * (arc.end - arc.start)
    a = arc.start if finding.start - arc.start < snap else finding.start
    b = arc.end if arc.end - finding.end < snap else finding.end
    a, b = _extended(arc, finding, a, b, touching)
    middle = replace(
        arc,
        mode=finding.change(arc.mode),
        start=a,
        end=b,
        touched=arc.touched if a == arc.start else (),
    )
    middles = [middle]
    if touching and finding.left is not None:
        # The constraint is touched next to where the arc ended: it is left all the sooner.
        time = b - CHECK.snap * (b - a) if b == arc.end else a + CHECK.snap * (b - a)
        middles = [replace(middle, end=time), replace(middle, start=time, touched=(finding.left,))]
    parts = [replace(arc, end=a)] if a > arc.start else []
    return [*parts, *middles, *([replace(arc, start=b, touched=())] if b < arc.end else [])]


def _extended(
    arc: StartArc, finding: Finding, a: float, b: float, touching: bool
) -> tuple[float, float]:
    """The part of an arc to be changed: where the finding lasts to an end of the arc, the change
    begins before the finding.

    Let c (t - a) be what changes its sign. A control at its bound from a time t1 on has the
    switching function c ((t - t1)^3 / 6 - (a - t1) (t - t1)^2 / 2), which returns to zero at b for
    t1 = a - (b - a) / 2: a singular arc is left before its control reaches the bound. A constraint
    of order two that is left at t1 is touched again at b for t1 = a - (b - a) 2/3.
    """
    share = 1 / 2 if finding.saturates else 2 / 3 if touching and finding.left is not None else 0.0
    if b == arc.end and a > arc.start:
        a = max(a - share * (b - a), 0.5 * (arc.start + a))
    elif a == arc.start and b < arc.end:
        b = min(b + share * (b - a), 0.5 * (arc.end + b))
    return a, b


def _merged(arcs: list[StartArc]) -> tuple[StartArc, ...]:
    """Neighbours with one mode become one arc; gaps that removed arcs leave are closed."""
    merged = merged_arcs(arcs)
    for k, (one, two) in enumerate(pairwise(merged)):
        if one.phase == two.phase and one.end < two.start:
            merged[k] = replace(one, end=two.start)
    return tuple(merged)
