"""Arcs read off sampled curves: controls at their bounds, between them, and constraints that are followed or touched."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.control_law import Mode
from trajopt.indirect.hamiltonian import Constraint, PhaseHamiltonian, involves
from trajopt.indirect.start import StartArc
from trajopt.solution import Arc, Solution

Array = NDArray[np.float64]

POINTS = 8  # samples in each mesh interval, none at its ends, where controls jump
NEAR_CONTROL = 2e-3  # of its range: how close to a bound a control counts as being there
NEAR_CONSTRAINT = 1e-5  # of the size of its values: how close to a limit a state constraint counts as active
NEAR_MIXED = 1e-3  # the same for a constraint on controls, which are less accurate
MAX_CONSTRAINT_GAP = 100.0  # times that: how far a followed constraint may sag between mesh points
SHORT = 2.2  # mesh intervals: an affine control that is between its bounds no longer than this is a smeared switch
LEAST_ARC = 1e-4  # of the phase: nothing shorter is an arc
MARGIN = 10.0  # times the answer's error: how close to a limit a state constraint counts as active, at most NEAR_CONSTRAINT
LEAST_NEAR = 1e-7  # of the size of its values: rounding errors and the barrier of the direct method stay below this
DEPARTURE_RATIO = (
    16.0  # times that distance, half a contact's length beyond it: a parabola that touches comes to 4 there, an arc to more
)


@dataclass(frozen=True)
class DetectedArc:
    """An arc of a phase, before it is solved for."""

    mode: Mode
    start: float
    end: float
    touched: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Sampled:
    """A phase of a solution at points inside its mesh intervals."""

    ham: PhaseHamiltonian
    t: Array
    interval: NDArray[np.int_]
    widths: Array  # of the mesh interval of each point
    u: Array  # (points, controls)
    displacement: Array  # how far H would move each control if it had no bounds; positive: upwards
    constraint_values: Array  # (points, constraints)
    near: float  # of the size of its values: how close to a limit a state constraint counts as active


@dataclass(frozen=True)
class _Run:
    """A stretch of time with one label."""

    label: str
    start: float
    end: float
    intervals: float


def sample(ham: PhaseHamiltonian, solution: Solution, arc: StartArc, weight: Array, s: Array, p: Array) -> Sampled:
    """A phase of a solution at points inside its mesh intervals."""
    ph, given = ham.phase, solution.phase(ham.phase.name)
    breaks = np.asarray(given.breaks, dtype=float)
    breaks = breaks if breaks.size > 1 else np.linspace(given.t0, given.tf, 51)
    inside = (np.arange(POINTS) + 0.5) / POINTS
    t = (breaks[:-1, None] + np.diff(breaks)[:, None] * inside).ravel()
    interval = np.repeat(np.arange(breaks.size - 1), POINTS)
    x, costate, u, z = arc.x(t), arc.costate(t), arc.u(t), arc.z(t)
    mu = _known_multipliers(ham, solution, t)
    multipliers = ham.symbols.sym("mu", ph.c.numel())
    H = ham.H + casadi.dot(multipliers, ph.c)
    gradient = casadi.gradient(H, ph.u)
    curvature = casadi.vertcat(ham.symbols(0, 1), *[casadi.jacobian(gradient[i], ph.u[i]) for i in range(ph.u.numel())])
    values = casadi.vertcat(ham.symbols(0, 1), *[c.expression for c in ham.constraints])
    symbols = [ph.t, ph.x, ham.costate, ph.u, ph.z, multipliers, ham.weight, ham.s, ham.p]
    function = casadi.Function("sampled", symbols, [casadi.densify(e) for e in (gradient, curvature, values)])
    slope, curve, constraints = (
        np.asarray(m.full()).T for m in function(t[None, :], x.T, costate.T, u.T, z.T, mu.T, weight, s, p)
    )
    displacement = -slope / np.where(curve > 1e-12, curve, 1e-12)
    error = float(solution.error) if np.isfinite(solution.error) else NEAR_CONSTRAINT
    near = float(np.clip(MARGIN * error, LEAST_NEAR, NEAR_CONSTRAINT))
    return Sampled(ham, t, interval, np.diff(breaks)[interval], u, displacement, constraints.reshape(t.size, -1), near)


def _known_multipliers(ham: PhaseHamiltonian, solution: Solution, t: Array) -> Array:
    """Multipliers of path constraints where the solution has them, else zero."""
    given = solution.phase(ham.phase.name).path_multipliers
    columns = [given[name].evaluate(t)[:, :1] if name in given else np.zeros((t.size, 1)) for name in ham.phase.c_names]
    return np.concatenate([np.zeros((t.size, 0)), *columns], axis=1)


def detect(sampled: Sampled, known: list[Arc]) -> list[DetectedArc]:
    """The arcs of a phase; the roles of controls are taken from ``known`` where the solver has found them."""
    ham = sampled.ham
    edges = sampled.widths / (2 * POINTS)
    t0, tf = float(sampled.t[0] - edges[0]), float(sampled.t[-1] + edges[-1])
    affine = ham.affine
    if known:
        controls = [[_Run(_plain(arc.roles[name]), arc.start, arc.end, np.inf) for arc in known] for name in ham.phase.u_names]
    else:
        controls = [_control_runs(sampled, i, affine[i]) for i in range(len(affine))]
    contacts = [_contacts(sampled, j, controls) for j in range(len(ham.constraints))]
    least = LEAST_ARC * (tf - t0)
    runs = [run for runs in controls for run in runs] + [
        run for runs in contacts for run in runs if run.label in ("lower", "upper")
    ]
    cuts = _distinct(np.array([r.start for r in runs] + [r.end for r in runs]), t0, tf, least)
    times = np.concatenate([[t0], cuts, [tf]])
    touches = [(run, j) for j, runs in enumerate(contacts) for run in runs if run.label.startswith("touch")]
    times = _distinct_all(times, np.array([0.5 * (run.start + run.end) for run, _ in touches]))
    stretches: list[DetectedArc] = []
    for a, b in pairwise(times):
        mode = _mode_at(ham, controls, contacts, 0.5 * (a + b))
        touched = tuple((j, run.label.split()[1]) for run, j in touches if 0.5 * (run.start + run.end) == a)
        if stretches and stretches[-1].mode == mode and not touched:
            stretches[-1] = DetectedArc(mode, stretches[-1].start, float(b), stretches[-1].touched)
        else:
            stretches.append(DetectedArc(mode, float(a), float(b), touched))
    return stretches


def _plain(role: str) -> str:
    return "free" if role in ("interior", "singular") else role


def _mode_at(ham: PhaseHamiltonian, controls: list[list[_Run]], contacts: list[list[_Run]], t: float) -> Mode:
    active = [(j, "upper" if c.equality else _label_at(contacts[j], t)) for j, c in enumerate(ham.constraints)]
    active = [(j, side) for j, side in active if side in ("lower", "upper")]
    labels = [_label_at(runs, t) for runs in controls]
    # Held by a constraint, a control in which H is affine is as good as interior; without one it is singular.
    holding = sum(1 for j, _ in active if not ham.constraints[j].equality)
    roles = []
    for i, label in enumerate(labels):
        if label != "free":
            roles.append(label)
        elif ham.affine[i] and not _determined(ham, i, [j for j, _ in active]):
            roles.append("singular")
        else:
            roles.append("interior")
    free = sum(1 for role in roles if role in ("interior", "singular"))
    if holding > free:
        active = [(j, side) for j, side in active if ham.constraints[j].equality]
    return Mode(tuple(roles), tuple(active))


def _determined(ham: PhaseHamiltonian, component: int, active: list[int]) -> bool:
    """Whether an active constraint involves a control component."""
    return any(involves(ham.constraints[j].derivatives[-1], ham.phase.u, component) for j in active)


def _label_at(runs: list[_Run], t: float) -> str:
    return next((run.label for run in runs if run.start <= t <= run.end), "")


def _control_runs(sampled: Sampled, i: int, affine: bool) -> list[_Run]:
    bound = sampled.ham.phase.u_bound
    lower, upper, u = bound.lower[i], bound.upper[i], sampled.u[:, i]
    span = upper - lower if np.isfinite(upper - lower) else max(1e-12, float(np.abs(u).max()))
    at_lower, at_upper = u <= lower + NEAR_CONTROL * span, u >= upper - NEAR_CONTROL * span
    if not affine:
        # A control that H would not push beyond its bound only touches it.
        pushed = np.abs(sampled.displacement[:, i]) > NEAR_CONTROL * span
        at_lower, at_upper = at_lower & pushed, at_upper & pushed
    labels = np.where(at_lower, "lower", np.where(at_upper, "upper", "free"))
    runs = _runs(labels, sampled)
    if not affine:
        duration = sampled.t[-1] - sampled.t[0]
        return _merged(
            [
                r if r.label == "free" or r.end - r.start > LEAST_ARC * duration else _Run("free", r.start, r.end, r.intervals)
                for r in runs
            ]
        )
    return _without_smeared_switches(runs, sampled, i)


def _without_smeared_switches(runs: list[_Run], sampled: Sampled, i: int) -> list[_Run]:
    """Short in-between values of an affine control are switches inside a mesh interval."""
    kept: list[_Run] = []
    for k, run in enumerate(runs):
        before, after = kept[-1] if kept else None, runs[k + 1] if k + 1 < len(runs) else None
        if run.label != "free" or run.intervals > SHORT or (before is None and after is None):
            start = kept[-1].end if kept else run.start
            kept.append(_Run(run.label, start, run.end, run.intervals))
        elif before is not None:
            inside = (sampled.t >= run.start) & (sampled.t <= run.end)
            bound = sampled.ham.phase.u_bound
            # The mean over the smear tells where in it the control switched.
            ends = {"lower": bound.lower[i], "upper": bound.upper[i]}
            share = 0.5
            if after is not None and before.label in ends and after.label in ends and before.label != after.label:
                share = float(
                    np.clip(
                        (sampled.u[inside, i].mean() - ends[after.label]) / (ends[before.label] - ends[after.label]), 0.0, 1.0
                    )
                )
            kept[-1] = _Run(before.label, before.start, run.start + share * (run.end - run.start), before.intervals)
    if kept:
        kept[0] = _Run(kept[0].label, runs[0].start, kept[0].end, kept[0].intervals)
        kept[-1] = _Run(kept[-1].label, kept[-1].start, runs[-1].end, kept[-1].intervals)
    return _merged(kept)


def _contacts(sampled: Sampled, j: int, controls: list[list[_Run]]) -> list[_Run]:
    """Where an inequality constraint is active: followed ("lower", "upper"), or touched ("touch lower", "touch upper")."""
    constraint: Constraint = sampled.ham.constraints[j]
    if constraint.equality or constraint.order is None:
        return []
    values = sampled.constraint_values[:, j]
    size = max(float(np.ptp(values)), *(abs(limit) for limit in (constraint.lower, constraint.upper) if np.isfinite(limit)))
    near = (sampled.near if constraint.order else NEAR_MIXED) * size
    coarse = (NEAR_CONSTRAINT if constraint.order else NEAR_MIXED) * size
    labels = np.where(values <= constraint.lower + near, "lower", np.where(values >= constraint.upper - near, "upper", ""))
    labels = _bridged(labels, sampled, values, constraint, coarse)
    least = LEAST_ARC * (sampled.t[-1] - sampled.t[0])
    found = []
    for run in _runs(labels, sampled):
        free = any(_label_at(runs, 0.5 * (run.start + run.end)) == "free" for runs in controls)
        if not run.label or not free or run.end - run.start <= least:
            continue
        gap = np.abs(values - constraint.limit(run.label))
        if run.intervals > 1.0 if constraint.order < 2 else _followed(run, sampled, gap, near):
            found.append(_whole(run, j, sampled.ham, controls))
    return found if constraint.order < 2 else found + _touches(sampled, values, constraint, MAX_CONSTRAINT_GAP * coarse, found)


def _followed(run: _Run, sampled: Sampled, gap: Array, near: float) -> bool:
    """Whether a contact is longer than a touch explains, by how fast the constraint is left on both sides.

    A parabola that touches a limit, and is within ``near`` of it for a length L, comes to 4 ``near`` at half that length beyond.
    After an arc of a length L the distance is far greater there.
    """
    reach = 0.5 * (run.end - run.start)
    beyond = [t for t in (run.start - reach, run.end + reach) if sampled.t[0] < t < sampled.t[-1]]
    return all(np.interp(t, sampled.t, gap) > DEPARTURE_RATIO * near for t in beyond)


def _whole(run: _Run, j: int, ham: PhaseHamiltonian, controls: list[list[_Run]]) -> _Run:
    """A contact stretched over the time in which controls with an affine H are free: only the contact can determine them there.

    Several controls may take turns at holding one constraint.
    """
    covered = []
    for i, (runs, affine) in enumerate(zip(controls, ham.affine, strict=True)):
        for other in runs:
            shared = min(run.end, other.end) - max(run.start, other.start)
            if affine and other.label == "free" and _determined(ham, i, [j]) and shared > 0.5 * (other.end - other.start):
                covered.append(other)
    if not covered:
        return run
    return _Run(run.label, min(r.start for r in covered), max(r.end for r in covered), run.intervals)


def _touches(sampled: Sampled, values: Array, constraint: Constraint, near: float, followed: list[_Run]) -> list[_Run]:
    """Points where a constraint of order two or more is met: the lowest of each stretch that stays within ``near`` of the limit.

    Between two touches, and between a touch and an arc on the constraint, it comes to more than that.
    """
    found = []
    for side, sign in (("lower", 1.0), ("upper", -1.0)):
        gap = sign * (values - constraint.limit(side))
        if not np.isfinite(gap).all():
            continue
        stretches = np.cumsum(gap > near)  # all points of a stretch have one number
        on_arcs = {
            int(n) for run in followed for n in stretches[(sampled.t >= run.start) & (sampled.t <= run.end) & (gap <= near)]
        }
        lowest: dict[int, tuple[float, float]] = {}
        inner = np.arange(1, gap.size - 1)
        for k in inner[(gap[inner] <= gap[inner - 1]) & (gap[inner] < gap[inner + 1])]:
            # The lowest point lies between the samples: that of the parabola through three of them.
            curve = np.polyfit(sampled.t[k - 1 : k + 2] - sampled.t[k], gap[k - 1 : k + 2], 2)
            shift = -curve[1] / (2 * curve[0])
            candidate = float(np.polyval(curve, shift)), float(sampled.t[k] + shift)
            stretch = int(stretches[k])
            if candidate[0] < near and stretch not in on_arcs:
                lowest[stretch] = min(lowest.get(stretch, candidate), candidate)
        found += [_Run(f"touch {side}", place, place, 0.0) for _, place in lowest.values()]
    return found


def _bridged(labels: Any, sampled: Sampled, values: Array, constraint: Constraint, near: float) -> Any:
    """Contacts that are one: a solution may sag a little from a limit between its mesh points.

    Only within an interval and its neighbour: one without any contact has points of its own, at which the limit would hold.
    """
    labels = labels.copy()
    for side in ("lower", "upper"):
        for a, b in pairwise(np.flatnonzero(labels == side)):
            neighbours = sampled.interval[b] - sampled.interval[a] <= 1
            if b > a + 1 and neighbours and np.all(np.abs(values[a:b] - constraint.limit(side)) < MAX_CONSTRAINT_GAP * near):
                labels[a:b] = side
    return labels


def _runs(labels: Any, sampled: Sampled) -> list[_Run]:
    edges = np.concatenate([[0], np.flatnonzero(labels[1:] != labels[:-1]) + 1, [labels.size]])
    half = sampled.widths / (2 * POINTS)
    return [
        _Run(str(labels[a]), float(sampled.t[a] - half[a]), float(sampled.t[b - 1] + half[b - 1]), (b - a) / POINTS)
        for a, b in pairwise(edges)
    ]


def _merged(runs: list[_Run]) -> list[_Run]:
    merged: list[_Run] = []
    for run in runs:
        if merged and merged[-1].label == run.label:
            merged[-1] = _Run(run.label, merged[-1].start, run.end, merged[-1].intervals + run.intervals)
        else:
            merged.append(run)
    return merged


def _distinct(cuts: Array, t0: float, tf: float, least: float) -> Array:
    """Cuts inside the phase that differ by more than ``least``."""
    cuts = np.sort(cuts)
    cuts = cuts[(cuts > t0 + least) & (cuts < tf - least)]
    return cuts[np.concatenate([[True], np.diff(cuts) > least])] if cuts.size else cuts


def _distinct_all(times: Array, more: Array) -> Array:
    return np.unique(np.concatenate([times, more]))
