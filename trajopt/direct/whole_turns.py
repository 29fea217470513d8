"""Controls of which a whole turn changes nothing: angles.

Bounds that are a whole turn apart do not limit the direction of an angle. They only name it, but a
solver cannot leave a bound for the same direction at the other one. So they are removed, and the
answer is moved between them by whole turns.
"""

from __future__ import annotations

from dataclasses import replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import Collocation
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve, inverse_legendre

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

TURN = 2 * np.pi
PLACES = 16  # at which a model is compared with itself a turn away
ROUND_OFF = float(np.sqrt(np.finfo(float).eps))  # relative, of values of a model
# of a turn: 3.14159 is half of one, and an angle that is beyond its bound by less is at it
CLOSE = Collocation.round_off


def unchanged_by_turns(form: NormalForm, index: int, candidates: Bools) -> Bools:
    """(controls,): the candidates of which a whole turn changes no row of a phase, at places all
    around the turn.
    """
    if not candidates.any():
        return candidates
    phase, model = form.phases[index], form.models[index]
    generator = np.random.default_rng(0)
    others = (phase.t, phase.x, phase.z, phase.u, form.s)
    t, x, z, u, s = (generator.uniform(0.5, 2.0, (part.numel(), PLACES)) for part in others)
    p = np.repeat(form.parameter_values()[:, None], PLACES, axis=1)
    unchanged = candidates.copy()
    for j in np.flatnonzero(candidates):
        first = _first_angle(phase.u_bound, int(j))
        around, turned = u.copy(), u.copy()
        around[j] = first + TURN * np.arange(PLACES) / PLACES
        turned[j] = around[j] + TURN
        here, there = (np.asarray(model(t, x, z, angles, s, p)) for angles in (around, turned))
        defined = bool(np.any(np.all(np.isfinite(here), axis=0)))
        same = np.allclose(here, there, rtol=ROUND_OFF, atol=ROUND_OFF, equal_nan=True)
        unchanged[j] = defined and same
    return unchanged


def _first_angle(bound: Bound, j: int) -> float:
    lower, upper = float(bound.lower[j]), float(bound.upper[j])
    return lower if np.isfinite(lower) else upper - TURN if np.isfinite(upper) else 0.0


def without_angle_bounds(form: NormalForm) -> NormalForm:
    """The same problem without bounds of angles that are a whole turn apart; the very same form
    where there are none.
    """
    phases = tuple(_unbounded(form, i) for i in range(len(form.phases)))
    same = all(a is b for a, b in zip(phases, form.phases, strict=True))
    return form if same else replace(form, phases=phases)


def _unbounded(form: NormalForm, index: int) -> PhaseForm:
    phase = form.phases[index]
    bound = phase.u_bound
    bounded = np.isfinite(bound.lower) | np.isfinite(bound.upper)
    with np.errstate(invalid="ignore"):
        wide = bounded & (bound.upper - bound.lower >= (1 - CLOSE) * TURN)
    if not wide.any():
        return phase
    nonlinear = np.array(casadi.which_depends(phase.rows, phase.u, 2, False), dtype=bool)
    angles = unchanged_by_turns(form, index, wide & nonlinear & ~_used_at_ends(form, phase))
    if not angles.any():
        return phase
    lower = np.where(angles, -np.inf, bound.lower)
    upper = np.where(angles, np.inf, bound.upper)
    controls = tuple(
        replace(q, bound=Bound(lower[q.rows], upper[q.rows], q.bound.guess))
        if angles[q.rows].any()
        else q
        for q in phase.controls
    )
    return replace(phase, controls=controls)


def _used_at_ends(form: NormalForm, phase: PhaseForm) -> Bools:
    """(controls,): which the cost, a condition or an invariant depends on at an end."""
    used = np.zeros(phase.u.numel(), dtype=bool)
    rows = casadi.vertcat(form.phi, form.b)
    for u in (phase.ends.u0, phase.ends.uf):
        used |= np.array(casadi.which_depends(rows, u, 1, False), dtype=bool)
    for invariant in phase.invariants:
        used |= np.array(
            casadi.which_depends(casadi.vec(invariant.expression), phase.u, 1, False), dtype=bool
        )
    return used


def within_bounds(curve: Curve, bound: Bound, solved: Bound) -> Curve:
    """The controls between their bounds: those that were ``solved`` without them, moved by whole
    turns, with breaks where they pass a bound.
    """
    bounded = np.isfinite(bound.lower) | np.isfinite(bound.upper)
    removed = bounded & ~np.isfinite(solved.lower) & ~np.isfinite(solved.upper)
    curve = replace(curve, lower=None, upper=None)
    for j in np.flatnonzero(removed):
        curve = _turned(curve, int(j), float(bound.lower[j]), float(bound.upper[j]))
    return replace(curve, lower=bound.lower, upper=bound.upper)


def _turned(curve: Curve, j: int, low: float, high: float) -> Curve:
    """The curve with component j moved between two bounds, with as few jumps as possible."""
    breaks = np.union1d(curve.breaks, _passings(curve, j, low, high))
    middle = curve.evaluate(0.5 * (breaks[1:] + breaks[:-1]))[:, j]
    fewest = np.ceil((low - middle) / TURN - CLOSE)
    most = np.floor((high - middle) / TURN + CLOSE)
    turns = _fewest_changes(fewest, np.maximum(fewest, most))
    cuts = breaks[1:-1][np.diff(turns) != 0]
    kept = np.union1d(curve.breaks, cuts)
    pieces = curve.on(kept) if cuts.size else curve
    shifts = turns[breaks.searchsorted(0.5 * (kept[1:] + kept[:-1])) - 1]
    values = list[Array]()
    for of, shift in zip(pieces.values, shifts, strict=True):
        moved = of.copy()
        moved[:, j] += TURN * shift
        values.append(moved)
    return Curve(pieces.breaks, pieces.nodes, tuple(values))


def _passings(curve: Curve, j: int, low: float, high: float) -> Array:
    """The times at which component j is at a bound, or whole turns away from it."""
    found = [np.zeros(0)]
    pieces = zip(curve.breaks[:-1], curve.breaks[1:], curve.nodes, curve.values, strict=True)
    for start, end, nodes, values in pieces:
        series = inverse_legendre(tuple(nodes.tolist())) @ values[:, j]
        reach = np.abs(series).sum()  # no value of a Legendre series is larger
        for bound in (low, high):
            first, last = np.ceil((-reach - bound) / TURN), np.floor((reach - bound) / TURN)
            for turn in np.arange(first, last + 1):
                shifted = series.copy()
                shifted[0] -= bound + turn * TURN
                if not np.any(shifted[1:]):
                    continue
                roots = np.polynomial.legendre.legroots(np.trim_zeros(shifted, "b"))
                real = roots.real[np.abs(roots.imag) < ROUND_OFF]
                inside = real[np.abs(real) < 1 - ROUND_OFF]
                found.append(start + 0.5 * (inside + 1) * (end - start))
    return np.unique(np.concatenate(found))


def _fewest_changes(fewest: Array, most: Array) -> Array:
    """(pieces,): whole numbers from ``fewest`` to ``most`` of each piece that change seldom: each
    is kept as long as it may be; of those that last as long, the smallest.
    """
    turns, start = np.zeros(fewest.size), 0
    while start < fewest.size:
        low, high = fewest[start], most[start]
        end = start + 1
        while end < fewest.size and max(low, fewest[end]) <= min(high, most[end]):
            low, high = max(low, fewest[end]), min(high, most[end])
            end += 1
        turns[start:end] = np.clip(0.0, low, high)
        start = end
    return turns
