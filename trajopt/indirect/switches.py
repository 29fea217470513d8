"""Switching times of a direct answer, more exactly than its mesh shows them.

A kink of a control lies somewhere inside an interval, whose polynomial smears it. What determines it is accurate all the same. At
a bound it is the switching function, in which only states and costates enter. At a constraint it is the motion beside it: from a
point of the free arc the Hamiltonian flow goes on, past the kink, to where its controls would cross the constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from trajopt.errors import TrajoptError
from trajopt.indirect.arcs import start_of_solution
from trajopt.indirect.control_law import ArcLaw, arc_law
from trajopt.indirect.hamiltonian import PhaseHamiltonian, hamiltonians
from trajopt.indirect.modes import roles_of_mode
from trajopt.indirect.start import StartArc, node_values, samples_of, weights_at
from trajopt.normal_form import NormalForm
from trajopt.solution import Arc, Solution

Array = NDArray[np.float64]
Fixed = tuple[Array, Array, Array]  # weights, static variables, parameters
REACH = 3.0  # intervals around a kink in which it is looked for
LEAST_REACH = 0.02  # of the phase: what a structure read off a mesh may be wrong by
SAMPLES = 81


@dataclass(frozen=True)
class RefinedArcs:
    """Arcs of an answer, and how exactly the least known of their times is known."""

    arcs: tuple[Arc, ...]
    resolution: float  # zero where all of them are determined


def refine_switching_times(form: NormalForm, solution: Solution) -> RefinedArcs:
    """The arcs that a solution shows, with the times of kinks determined as exactly as its curves allow."""
    p = form.parameter_values({k: v for k, v in solution.parameters.items() if k in {q.name for q in form.parameters}})
    hams = hamiltonians(form)
    start = start_of_solution(form, hams, solution, p)
    weights = weights_at(form, start, p)
    arcs = [Arc(hams[a.phase].phase.name, a.start, a.end, roles_of_mode(hams[a.phase], a.mode)) for a in start.arcs]
    resolution = 0.0
    for k in range(1, len(arcs)):
        before, after = start.arcs[k - 1], start.arcs[k]
        if before.phase != after.phase:
            continue
        breaks = np.asarray(solution.phase(arcs[k].phase).breaks, dtype=float)
        interval = int(np.clip(np.searchsorted(breaks, after.start, side="right") - 1, 0, breaks.size - 2))
        width = float(breaks[interval + 1] - breaks[interval])
        time = _kink(hams[after.phase], before, after, max(REACH * width, LEAST_REACH * float(breaks[-1] - breaks[0])),
                     (weights[after.phase], start.s, p))  # fmt: skip
        if time is None:
            resolution = max(resolution, width)
        else:
            arcs[k - 1], arcs[k] = replace(arcs[k - 1], end=time), replace(arcs[k], start=time)
    return RefinedArcs(tuple(arcs), resolution)


def _kink(ham: PhaseHamiltonian, before: StartArc, after: StartArc, reach: float, fixed: Fixed) -> float | None:
    """The time at which one arc goes over into the next, or None where neither rule applies."""
    if set(before.mode.active) == set(after.mode.active):
        function = _at_bound(ham, before, after, fixed)
        window = max(before.start, after.start - reach), min(after.end, after.start + reach)
        return None if function is None else _root(function, window, after.start)
    met = [a for a in after.mode.active if a not in before.mode.active]
    left = [a for a in before.mode.active if a not in after.mode.active]
    if len(met) + len(left) != 1 or before.mode.roles != after.mode.roles:
        return None
    number, side = (met or left)[0]
    constraint = ham.constraints[number]
    crossed = constraint.derivatives[-1] - (0.0 if constraint.order else constraint.limit(side))
    free, sign = (before, 1.0) if met else (after, -1.0)
    reach = min(reach, 0.5 * (free.end - free.start))
    try:
        law = arc_law(ham, free.mode, samples_of(free, *fixed))
        return _crossing(law, crossed, free, (after.start - sign * reach, after.start + sign * reach), fixed)
    except TrajoptError:
        return None


def _crossing(law: ArcLaw, crossed: Any, arc: StartArc, times: tuple[float, float], fixed: Fixed) -> float | None:
    """From the first time to the second, forward or back, by the flow of an arc: where an expression gets zero."""
    ham, n = law.hamiltonian, law.node_size
    symbols = [ham.phase.t, casadi.vertcat(ham.phase.x, ham.costate, law.v), ham.weight, ham.s, ham.p]
    inserted = casadi.substitute(crossed, casadi.vertcat(ham.phase.u, ham.phase.z), casadi.vertcat(law.u, law.z))
    rate = casadi.Function("rate", symbols, [law.rate[:n]])
    value = casadi.Function("value", symbols, [inserted])
    begin = node_values(arc, law, *fixed)(np.array([(times[0] - arc.start) / (arc.end - arc.start)]))[0]

    def event(t: float, y: Array) -> float:
        return float(value(t, y, *fixed))

    event.terminal = True  # type: ignore[attr-defined]  # how scipy marks events
    with np.errstate(all="ignore"):
        found = solve_ivp(
            lambda t, y: np.asarray(rate(t, y, *fixed).full()).ravel(), times, begin, method="DOP853", rtol=1e-9,
            atol=1e-12 * (1 + np.abs(begin)), events=event,
        )  # fmt: skip
    return float(found.t_events[0][0]) if found.success and len(found.t_events[0]) else None


def _at_bound(ham: PhaseHamiltonian, before: StartArc, after: StartArc, fixed: Fixed) -> Callable[[Array], Array] | None:
    """dH/du of the one control that meets or leaves a bound, with that control at the bound; None where more happens."""
    changed = [i for i, (a, b) in enumerate(zip(before.mode.roles, after.mode.roles, strict=True)) if a != b]
    if len(changed) != 1 or after.mode.active:
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


def _root(function: Callable[[Array], Array], window: tuple[float, float], near: float) -> float | None:
    """The simple zero of a function that is nearest to a time."""
    t = np.linspace(*window, SAMPLES)
    values = function(t)
    if not np.all(np.isfinite(values)):
        return None
    crossings = np.flatnonzero(values[:-1] * values[1:] < 0)
    if not crossings.size:
        return None
    k = int(crossings[np.argmin(np.abs(0.5 * (t[crossings] + t[crossings + 1]) - near))])
    return float(brentq(lambda time: float(function(np.array([time]))[0]), t[k], t[k + 1], xtol=1e-14 * max(abs(near), 1.0)))
