"""State constraints of order one that bounds of controls hold: a store is empty, and nothing flows
in or out.

All controls u that enter the rate S' are at their bounds on such an arc, so that more limits are
active than there are controls, and their multipliers are not unique. The flow has the costate after
the arc; the whole measure of the constraint is a jump where the arc begins. Others are as good: the
costate may be costate + mu S_x, with

    mu' + g mu = -(measure's density),  S'_x = g S_x on the arc,  mu = jump at its start and 0 after
    its end,

as long as m = mu exp(int g) falls from the jump to zero (for an upper limit) and the slopes H_u +
mu S'_u have the signs that the bounds ask for. That is a band in which m must fall. Here m is the
mean of the greatest and the least such function. If there is none, the mean leaves the band, and
the signs of slopes show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.arc_trajectory import ArcTrace
from trajopt.indirect.hamiltonian import involves
from trajopt.indirect.initial_system import ShootingProblem
from trajopt.indirect.settings import CHECK

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldConstraint:
    """A constraint along an arc where bounds of controls hold it."""

    number: int
    controls: tuple[int, ...]
    multiplier: Array  # mu, at all nodes of the arc (pieces, nodes)

    def slopes(self, trace: ArcTrace) -> Array:
        """What it adds to the slopes of H by the controls: (pieces, nodes, controls)."""
        ham = trace.law.hamiltonian
        by_control = casadi.gradient(ham.constraints[self.number].derivatives[1], ham.phase.u)
        return np.asarray(self.multiplier[:, :, None] * values_along(trace, by_control))

    def costate(self, trace: ArcTrace) -> Array:
        """What it adds to the costate: (pieces, nodes, states)."""
        ham = trace.law.hamiltonian
        normal = casadi.gradient(ham.constraints[self.number].expression, ham.phase.x)
        return np.asarray(self.multiplier[:, :, None] * values_along(trace, normal))


def values_along(trace: ArcTrace, expression: Any) -> Array:
    """An expression of the phase, with the law of an arc inserted, at all nodes."""
    ph = trace.law.hamiltonian.phase
    old, new = casadi.vertcat(ph.u, ph.z), casadi.vertcat(trace.law.u, trace.law.z)
    return trace.of(casadi.substitute(casadi.densify(expression), old, new))


def held_by_bounds(prepared: ShootingProblem, unknowns: Array) -> dict[int, list[HeldConstraint]]:
    """By arc, the constraints that bounds of controls hold there, with their multipliers."""
    found: dict[int, list[HeldConstraint]] = {}
    arcs, traces, layout = prepared.system.arcs, prepared.traces(unknowns), prepared.system.layout
    for k, arc in enumerate(arcs):
        touched, jumps = arc.entry.touched, unknowns[layout.jumps[k]]
        of_touches = jumps[jumps.size - len(touched) :]
        for (number, side), jump in zip(touched, of_touches, strict=True):
            ham = arc.law.hamiltonian
            if ham.constraints[number].order != 1:
                continue
            # the controls that enter the rate of the constraint
            rate, u = ham.constraints[number].derivatives[-1], ham.phase.u
            controls = tuple(i for i in range(u.numel()) if involves(rate, u, i))
            roles = [arc.law.mode.roles[i] for i in controls]
            if not set(roles) <= {"lower", "upper"}:
                continue
            numbers = [k]
            for other in range(k + 1, len(arcs)):
                if (
                    arcs[other].phase != arc.phase
                    or [arcs[other].law.mode.roles[i] for i in controls] != roles
                ):
                    break
                numbers.append(other)
            sign = 1.0 if side == "upper" else -1.0
            mu = _multiplier([traces[n] for n in numbers], number, controls, sign, float(jump))
            for n, values in zip(numbers, mu, strict=True):
                found.setdefault(n, []).append(HeldConstraint(number, controls, values))
    return found


def remarks(prepared: ShootingProblem, unknowns: Array) -> list[str]:
    """Which multipliers of an answer are not unique, for its log."""
    found = []
    for k, held in held_by_bounds(prepared, unknowns).items():
        ham = prepared.system.arcs[k].law.hamiltonian
        begins = prepared.traces(unknowns)[k].breaks[0]
        for h in held:
            names = " and ".join(f"'{ham.phase.u_names[i]}'" for i in h.controls)
            found.append(
                f"the multipliers of '{ham.constraints[h.number].name}' and of the bounds of "
                f"{names} are not unique "
                f"on the arc from t = {begins:.6g}"
            )
    for trace in prepared.traces(unknowns):
        ham, mode = trace.law.hamiltonian, trace.law.mode
        for j in _repeated(trace):
            names = " and ".join(
                f"'{ham.constraints[i].name}'" for i in sorted({j, *[i for i, _ in mode.active]})
            )
            found.append(
                f"the multipliers of {names} are not unique on the arc from t = "
                f"{trace.breaks[0]:.6g}"
            )
    return found


def _repeated(trace: ArcTrace) -> list[int]:
    """Mixed constraints that are at a limit all along an arc though they are not among the active
    ones: those imply them.
    """
    ham, active, found = trace.law.hamiltonian, {j for j, _ in trace.law.mode.active}, []
    for j, constraint in enumerate(ham.constraints):
        if constraint.order != 0 or constraint.equality or j in active:
            continue
        values = values_along(trace, constraint.expression)[:, :, 0]
        gaps = [
            np.abs(values - limit).max()
            for limit in (constraint.lower, constraint.upper)
            if np.isfinite(limit)
        ]
        if min(gaps, default=np.inf) <= CHECK.at_limit * max(1.0, float(np.abs(values).max())):
            found.append(j)
    return found


def _multiplier(
    traces: list[ArcTrace], number: int, controls: tuple[int, ...], sign: float, jump: float
) -> list[Array]:
    ham = traces[0].law.hamiltonian
    ph, constraint = ham.phase, ham.constraints[number]
    normal, rate = casadi.gradient(constraint.expression, ph.x), constraint.derivatives[1]
    share = casadi.dot(casadi.gradient(rate, ph.x), normal) / casadi.dot(normal, normal)
    growth, into = (
        [_flat(values_along(t, e)) for t in traces] for e in (share, casadi.gradient(rate, ph.u))
    )
    times = np.concatenate([t.times.ravel() for t in traces])
    g = np.concatenate(growth)[:, 0]
    factor = np.exp(-np.concatenate([[0.0], np.cumsum(0.5 * (g[1:] + g[:-1]) * np.diff(times))]))
    slopes = np.concatenate([_flat(t.of(t.law.stationarity)) for t in traces])
    acts = np.concatenate(into)
    least, greatest = np.zeros(times.size), np.full(times.size, sign * jump)
    for i in controls:
        outward = 1.0 if traces[0].law.mode.roles[i] == "lower" else -1.0
        slope, change = outward * slopes[:, i], outward * sign * factor * acts[:, i]
        limit = -slope / np.where(change == 0, np.inf, change)
        least = np.where(change > 0, np.maximum(least, limit), least)
        greatest = np.where(change < 0, np.minimum(greatest, limit), greatest)
    least = np.maximum.accumulate(least[::-1])[::-1]
    mu = sign * factor * 0.5 * (least + np.minimum.accumulate(greatest))
    pieces = np.split(mu, np.cumsum([t.times.size for t in traces])[:-1])
    return [piece.reshape(t.times.shape) for piece, t in zip(pieces, traces, strict=True)]


def _flat(values: Array) -> Array:
    return values.reshape(-1, values.shape[-1])
