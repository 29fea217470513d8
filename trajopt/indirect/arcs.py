"""The arc structure of a solution: which control rides which bound when, where it is singular, which constraints are active."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.control_law import Mode
from trajopt.indirect.hamiltonian import Constraint, PhaseHamiltonian, hamiltonians
from trajopt.indirect.modes import roles_of_mode
from trajopt.indirect.start import Start, StartArc, curves_of, start_from, weights_at
from trajopt.normal_form import NormalForm
from trajopt.solution import Arc, Solution

Array = NDArray[np.float64]

POINTS = 8  # samples in each mesh interval, none at its ends, where controls jump
NEAR_CONTROL = 2e-3  # of its range: how close to a bound a control counts as being there
NEAR_CONSTRAINT = 1e-5  # of the range of its values
SAG = 100.0  # times that: how far a followed constraint may sag between mesh points
SHORT = 2.2  # mesh intervals: an affine control that is between its bounds no longer than this is a smeared switch
LEAST_ARC = 1e-4  # of the phase: nothing shorter is an arc
LEAST_CONTACT = 0.01  # of the phase: a state constraint met for less than this is touched, not followed


@dataclass(frozen=True)
class Stretch:
    """An arc of a phase, before it is solved for."""

    mode: Mode
    start: float
    end: float
    touched: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, eq=False)
class _Sampled:
    """A phase of a solution at points inside its mesh intervals."""

    ham: PhaseHamiltonian
    t: Array
    interval: NDArray[np.int_]
    widths: Array  # of the mesh interval of each point
    u: Array  # (points, controls)
    displacement: Array  # how far H would move each control if it had no bounds; positive: upwards
    constraint_values: Array  # (points, constraints)


@dataclass(frozen=True)
class _Run:
    """A stretch of time with one label."""

    label: str
    start: float
    end: float
    intervals: float


def start_of_solution(form: NormalForm, hams: tuple[PhaseHamiltonian, ...], solution: Solution, p: Array, plain: bool = False) -> Start:
    """A start for shooting from a solution of any method; ``plain`` takes every phase as one arc, for a given control law."""
    whole = [[(Mode(("interior",) * ham.phase.u.numel()), *_span(form, i, solution), ())] for i, ham in enumerate(hams)]
    start = start_from(form, solution, whole)
    if plain:
        return start
    weights = weights_at(form, start, p)
    structure = []
    for ham, weight, arc in zip(hams, weights, start.arcs, strict=True):
        stretches = _stretches(_sampled(ham, solution, arc, weight, start.s, p), [a for a in solution.arcs if a.phase == ham.phase.name])
        structure.append([(s.mode, s.start, s.end, s.touched) for s in stretches])
    return start_from(form, solution, structure)


def arcs_of(form: NormalForm, solution: Solution) -> tuple[Arc, ...]:
    """The arcs that a solution shows; on an arc along a constraint the roles also have the constraint's name and side."""
    hams = hamiltonians(form)
    p = np.concatenate([np.zeros(0), *[np.asarray(solution.parameters.get(q.name, q.value), dtype=float).ravel() for q in form.parameters]])
    start = start_of_solution(form, hams, solution, p)
    return tuple(Arc(hams[a.phase].phase.name, a.start, a.end, roles_of_mode(hams[a.phase], a.mode)) for a in start.arcs)


def describe(form: NormalForm, arcs: tuple[Arc, ...]) -> tuple[str, ...]:
    """Arcs in words, one line for each control component and each active constraint.

    >>> from trajopt import Problem
    >>> ocp = Problem("hop")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=2)
    >>> v, u = ph.state("v", start=0), ph.control("u", lower=0, upper=1)
    >>> ph.dynamics({v: u})
    >>> arcs = (Arc("main", 0.0, 0.5, {"u": "upper"}), Arc("main", 0.5, 2.0, {"u": "lower"}))
    >>> describe(ocp.finish(), arcs)
    ('u: maximum to 0.5, zero to 2',)
    """
    lines = []
    for ph in form.phases:
        own = [arc for arc in arcs if arc.phase == ph.name]
        label = "" if len(form.phases) == 1 else f"{ph.name}: "
        limits = dict(zip(ph.u_names, ph.u_bound.lower, strict=True)), dict(zip(ph.u_names, ph.u_bound.upper, strict=True))
        for name in ph.u_names:
            parts: list[tuple[str, float]] = []
            for arc in own:
                word = _word(arc.roles.get(name, "interior"), limits[0][name], limits[1][name])
                if parts and parts[-1][0] == word:
                    parts.pop()
                parts.append((word, arc.end))
            lines.append(f"{label}{name}: " + ", ".join(f"{word} to {end:.6g}" for word, end in parts))
        held = dict.fromkeys(name for arc in own for name in arc.roles if name not in ph.u_names)
        for name in held:
            spans = [f"at its {arc.roles[name]} limit from {arc.start:.6g} to {arc.end:.6g}" for arc in own if name in arc.roles]
            lines.append(f"{label}{name}: " + ", ".join(spans))
    return tuple(lines)


def _word(role: str, lower: float, upper: float) -> str:
    if (role == "lower" and lower == 0) or (role == "upper" and upper == 0):
        return "zero"
    return {"lower": "minimum", "upper": "maximum"}.get(role, role)


def _span(form: NormalForm, i: int, solution: Solution) -> tuple[float, float]:
    ph = solution.phase(form.phases[i].name)
    return ph.t0, ph.tf


def _sampled(ham: PhaseHamiltonian, solution: Solution, arc: StartArc, weight: Array, s: Array, p: Array) -> _Sampled:
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
    slope, curve, constraints = (np.asarray(m.full()).T for m in function(t[None, :], x.T, costate.T, u.T, z.T, mu.T, weight, s, p))
    displacement = -slope / np.where(curve > 1e-12, curve, 1e-12)
    return _Sampled(ham, t, interval, np.diff(breaks)[interval], u, displacement, constraints.reshape(t.size, -1))


def _known_multipliers(ham: PhaseHamiltonian, solution: Solution, t: Array) -> Array:
    """Multipliers of path constraints where the solution has them, else zero."""
    given = solution.phase(ham.phase.name).path_multipliers
    columns = [given[name].evaluate(t)[:, :1] if name in given else np.zeros((t.size, 1)) for name in ham.phase.c_names]
    return np.concatenate([np.zeros((t.size, 0)), *columns], axis=1)


def affine_components(ham: PhaseHamiltonian) -> list[bool]:
    """For each control component, whether H is affine in it."""
    return [not casadi.depends_on(casadi.jacobian(ham.H, u), u) for u in (casadi.vertsplit(ham.phase.u) if ham.phase.u.is_valid_input() and isinstance(ham.phase.u, casadi.SX) else [ham.phase.u[i] for i in range(ham.phase.u.numel())])]


def _stretches(sampled: _Sampled, known: list[Arc]) -> list[Stretch]:
    ham = sampled.ham
    edges = sampled.widths / (2 * POINTS)
    t0, tf = float(sampled.t[0] - edges[0]), float(sampled.t[-1] + edges[-1])
    affine = affine_components(ham)
    if known:
        controls = [[_Run(_plain(arc.roles[name]), arc.start, arc.end, np.inf) for arc in known] for name in ham.phase.u_names]
    else:
        controls = [_control_runs(sampled, i, affine[i]) for i in range(len(affine))]
    contacts = [_contacts(sampled, j, controls) for j in range(len(ham.constraints))]
    least = LEAST_ARC * (tf - t0)
    runs = [run for runs in controls for run in runs] + [run for runs in contacts for run in runs if run.label in ("lower", "upper")]
    cuts = _distinct(np.array([r.start for r in runs] + [r.end for r in runs]), t0, tf, least)
    times = np.concatenate([[t0], cuts, [tf]])
    touches = [(run, j) for j, runs in enumerate(contacts) for run in runs if run.label.startswith("touch")]
    times = _distinct_all(times, np.array([0.5 * (run.start + run.end) for run, _ in touches]))
    stretches = []
    for a, b in zip(times[:-1], times[1:], strict=True):
        mode = _mode_at(ham, controls, contacts, affine, 0.5 * (a + b))
        touched = tuple((j, run.label.split()[1]) for run, j in touches if 0.5 * (run.start + run.end) == a)
        if stretches and stretches[-1].mode == mode and not touched:
            stretches[-1] = Stretch(mode, stretches[-1].start, float(b), stretches[-1].touched)
        else:
            stretches.append(Stretch(mode, float(a), float(b), touched))
    return stretches


def _plain(role: str) -> str:
    return "free" if role in ("interior", "singular") else role


def _mode_at(ham: PhaseHamiltonian, controls: list[list[_Run]], contacts: list[list[_Run]], affine: list[bool], t: float) -> Mode:
    active = [(j, "upper" if c.equality else _label_at(contacts[j], t)) for j, c in enumerate(ham.constraints)]
    active = [(j, side) for j, side in active if side in ("lower", "upper")]
    labels = [_label_at(runs, t) for runs in controls]
    # Held by a constraint, a control in which H is affine is as good as interior; without one it is singular.
    holding = sum(1 for j, _ in active if not ham.constraints[j].equality)
    roles = []
    for i, label in enumerate(labels):
        if label != "free":
            roles.append(label)
        elif affine[i] and not _determined(ham, i, [j for j, _ in active]):
            roles.append("singular")
        else:
            roles.append("interior")
    free = sum(1 for role in roles if role in ("interior", "singular"))
    if holding > free:
        active = [(j, side) for j, side in active if ham.constraints[j].equality]
    return Mode(tuple(roles), tuple(active))


def _determined(ham: PhaseHamiltonian, component: int, active: list[int]) -> bool:
    """Whether an active constraint involves a control component."""
    return any(casadi.depends_on(ham.constraints[j].derivatives[-1], ham.phase.u[component]) for j in active)


def _label_at(runs: list[_Run], t: float) -> str:
    return next((run.label for run in runs if run.start <= t <= run.end), "")


def _control_runs(sampled: _Sampled, i: int, affine: bool) -> list[_Run]:
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
        return _merged([r if r.label == "free" or r.end - r.start > LEAST_ARC * duration else _Run("free", r.start, r.end, r.intervals) for r in runs])
    return _without_smears(runs, sampled, i)


def _without_smears(runs: list[_Run], sampled: _Sampled, i: int) -> list[_Run]:
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
                share = float(np.clip((sampled.u[inside, i].mean() - ends[after.label]) / (ends[before.label] - ends[after.label]), 0.0, 1.0))
            kept[-1] = _Run(before.label, before.start, run.start + share * (run.end - run.start), before.intervals)
    if kept:
        kept[0] = _Run(kept[0].label, runs[0].start, kept[0].end, kept[0].intervals)
        kept[-1] = _Run(kept[-1].label, kept[-1].start, runs[-1].end, kept[-1].intervals)
    return _merged(kept)


def _contacts(sampled: _Sampled, j: int, controls: list[list[_Run]]) -> list[_Run]:
    """Where an inequality constraint is active: followed ("lower", "upper"), or touched ("touch lower", "touch upper")."""
    constraint: Constraint = sampled.ham.constraints[j]
    if constraint.equality or constraint.order is None:
        return []
    values = sampled.constraint_values[:, j]
    near = NEAR_CONSTRAINT * max(float(np.ptp(values)), 1e-3 * float(np.abs(values).max()), 1e-12)
    labels = _bridged(np.where(values <= constraint.lower + near, "lower", np.where(values >= constraint.upper - near, "upper", "")), values, constraint, near)
    duration = sampled.t[-1] - sampled.t[0]
    found = []
    for run in _runs(labels, sampled):
        free = any(_label_at(runs, 0.5 * (run.start + run.end)) == "free" for runs in controls)
        if not run.label or not free:
            continue
        long = run.end - run.start > LEAST_CONTACT * duration
        if long or constraint.order <= 1:
            if run.end - run.start > LEAST_ARC * duration and (long or run.intervals > 1.0):
                found.append(run)
        elif run.start > sampled.t[0] + LEAST_CONTACT * duration and run.end < sampled.t[-1] - LEAST_CONTACT * duration:
            found.append(_Run(f"touch {run.label}", run.start, run.end, run.intervals))
    return found


def _bridged(labels: Any, values: Array, constraint: Constraint, near: float) -> Any:
    """A solution may sag a little from a limit between its mesh points: contacts that only such gaps separate are one."""
    labels = labels.copy()
    for side in ("lower", "upper"):
        if not np.any(labels == side):
            continue
        places = np.flatnonzero(labels == side)
        for a, b in zip(places[:-1], places[1:], strict=True):
            if b > a + 1 and np.all(np.abs(values[a:b] - constraint.limit(side)) < SAG * near):
                labels[a:b] = side
    return labels


def _runs(labels: Any, sampled: _Sampled) -> list[_Run]:
    edges = np.concatenate([[0], np.flatnonzero(labels[1:] != labels[:-1]) + 1, [labels.size]])
    half = sampled.widths / (2 * POINTS)
    return [
        _Run(str(labels[a]), float(sampled.t[a] - half[a]), float(sampled.t[b - 1] + half[b - 1]), (b - a) / POINTS)
        for a, b in zip(edges[:-1], edges[1:], strict=True)
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
