"""Switching times of a direct answer, more exactly than its mesh shows them.

A kink of a control lies somewhere inside an interval, whose polynomial smears it. What determines it is accurate all the same: at
a bound the switching function, in which only states and costates enter; on a state constraint the controls of the intervals on
both sides, continued until they meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from trajopt.curve import Curve, lagrange_basis
from trajopt.indirect.arcs import start_of_solution
from trajopt.indirect.hamiltonian import PhaseHamiltonian, hamiltonians
from trajopt.indirect.modes import roles_of_mode
from trajopt.indirect.start import StartArc, weights_at
from trajopt.normal_form import NormalForm
from trajopt.solution import Arc, Solution

Array = NDArray[np.float64]
REACH = 2.0  # intervals around a kink in which it is looked for
LOOKS = 81
ANGLE = 1e-3  # relative change of the difference of two controls over a gap below which there is no kink in it


def polished_arcs(form: NormalForm, solution: Solution) -> tuple[Arc, ...]:
    """The arcs that a solution shows, with the times of kinks determined as exactly as its curves allow."""
    p = form.parameter_values({k: v for k, v in solution.parameters.items() if k in {q.name for q in form.parameters}})
    hams = hamiltonians(form)
    start = start_of_solution(form, hams, solution, p)
    weights = weights_at(form, start, p)
    arcs = [Arc(hams[a.phase].phase.name, a.start, a.end, roles_of_mode(hams[a.phase], a.mode)) for a in start.arcs]
    for k in range(1, len(arcs)):
        before, after = start.arcs[k - 1], start.arcs[k]
        if before.phase != after.phase:
            continue
        ham = hams[after.phase]
        breaks = np.asarray(solution.phase(ham.phase.name).breaks, dtype=float)
        function = _at_bound(ham, before, after, (weights[after.phase], start.s, p))
        if function is not None:
            time = _root(function, _window(breaks, after.start, before.start, after.end), after.start)
        else:
            time = _meeting(ham, solution, breaks, (before.start, after.start, after.end))
        if time is not None:
            arcs[k - 1], arcs[k] = replace(arcs[k - 1], end=time), replace(arcs[k], start=time)
    return tuple(arcs)


def _at_bound(
    ham: PhaseHamiltonian, before: StartArc, after: StartArc, fixed: tuple[Array, Array, Array]
) -> Callable[[Array], Array] | None:
    """dH/du of the one control that meets or leaves a bound, with that control at the bound; None where more happens."""
    changed = [i for i, (a, b) in enumerate(zip(before.mode.roles, after.mode.roles, strict=True)) if a != b]
    if len(changed) != 1 or before.mode.active or after.mode.active:
        return None
    i, ph = changed[0], ham.phase
    side = next((role for role in (before.mode.roles[i], after.mode.roles[i]) if role in ("lower", "upper")), None)
    if side is None:
        return None
    limit = (ph.u_bound.lower if side == "lower" else ph.u_bound.upper)[i]
    symbols = [ph.t, ph.x, ph.z, ph.u, ham.costate, ham.weight, ham.s, ham.p]
    slope = casadi.Function("slope", symbols, [casadi.gradient(ham.H, ph.u)[i]])

    def value(t: Array) -> Array:
        u = after.u(t).T
        u[i] = limit
        return np.asarray(slope(t[None, :], after.x(t).T, after.z(t).T, u, after.costate(t).T, *fixed).full()).ravel()

    return value


def _meeting(ham: PhaseHamiltonian, solution: Solution, breaks: Array, times: tuple[float, float, float]) -> float | None:
    """Where the controls of two intervals, one on each side of a kink, meet when they are continued into the gap between them.

    ``times`` are the start of the arc before, the kink as far as it is known, and the end of the arc after it. Of the intervals
    around, those two count that together, bent where they meet, come nearest to the controls themselves.
    """
    curves = [solution.phase(ham.phase.name).controls[q.name] for q in ham.phase.controls]
    sizes = np.concatenate([np.abs(np.concatenate(c.values)).max(axis=0) for c in curves]) + 1e-300
    here = int(np.clip(np.searchsorted(breaks, times[1], side="right") - 1, 0, breaks.size - 2))
    first, last = max(here - 2, 0), min(here + 2, breaks.size - 2)
    near = np.linspace(max(breaks[first], times[0]), min(breaks[last + 1], times[2]), LOOKS)
    given = np.hstack([c.evaluate(near) for c in curves])
    found: list[tuple[float, float]] = []
    for left, right in product(range(first, here + 1), range(here, last + 1)):
        if right - left not in (2, 3) or breaks[left] < times[0] or breaks[right + 1] > times[2]:
            continue
        sides = _Sides(curves, left, right)
        gap = np.linspace(breaks[left + 1], breaks[right], LOOKS)
        turns = np.ptp(sides.gaps(gap), axis=0) / sizes
        leading = int(np.argmax(turns))
        if turns[leading] > ANGLE:
            time = _root(partial(sides.gap, leading), (gap[0], gap[-1]), times[1])
            if time is not None:
                found.append((float(np.mean(np.abs(sides.bent(near, time) - given) / sizes)), time))
    return min(found)[1] if found else None


@dataclass(frozen=True)
class _Sides:
    """The controls of two intervals, each as a polynomial that goes on outside of it."""

    curves: list[Curve]
    left: int
    right: int

    def side(self, k: int, t: Array) -> Array:
        return np.hstack([_piece(curve, k, t) for curve in self.curves])

    def gaps(self, t: Array) -> Array:
        return np.asarray(self.side(self.left, t) - self.side(self.right, t))

    def gap(self, component: int, t: Array) -> Array:
        return np.asarray(self.gaps(t)[:, component])

    def bent(self, t: Array, time: float) -> Array:
        """The left one up to a time, then the right one."""
        return np.where((t < time)[:, None], self.side(self.left, t), self.side(self.right, t))


def _piece(curve: Curve, k: int, t: Array) -> Array:
    """The polynomial of one interval, also outside of it."""
    tau = (t - curve.breaks[k]) / (curve.breaks[k + 1] - curve.breaks[k])
    return np.asarray(lagrange_basis(curve.nodes[k], tau, 0) @ curve.values[k])


def _window(breaks: Array, time: float, low: float, high: float) -> tuple[float, float]:
    k = int(np.clip(np.searchsorted(breaks, time, side="right") - 1, 0, breaks.size - 2))
    reach = REACH * float(breaks[k + 1] - breaks[k])
    return max(low, time - reach), min(high, time + reach)


def _root(function: Callable[[Array], Array], window: tuple[float, float], near: float) -> float | None:
    """The simple zero of a function that is nearest to a time."""
    t = np.linspace(*window, LOOKS)
    values = function(t)
    if not np.all(np.isfinite(values)):
        return None
    crossings = np.flatnonzero(values[:-1] * values[1:] < 0)
    if not crossings.size:
        return None
    k = int(crossings[np.argmin(np.abs(0.5 * (t[crossings] + t[crossings + 1]) - near))])
    return float(brentq(lambda time: float(function(np.array([time]))[0]), t[k], t[k + 1], xtol=1e-14 * max(abs(near), 1.0)))
