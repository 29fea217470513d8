"""What happens where two arcs meet, decided from the laws on both sides."""

from __future__ import annotations

from dataclasses import dataclass

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.control_law import ArcLaw
from trajopt.indirect.equations import between_bound_and_constraint
from trajopt.indirect.start import StartArc, node_values

Array = NDArray[np.float64]
POINTS = 21  # of an arc, among which the largest multiplier is looked for


def slides(pair: tuple[StartArc, StartArc], before: ArcLaw, after: ArcLaw, fixed: tuple[Array, ...]) -> bool:
    """Whether an affine control slides along a mixed constraint into its bound, or out of it, rather than jumps.

    By the laws on both sides: what is nearer to zero at the junction, the jump of the control (in its range), or what vanishes if
    it jumps (in its largest value along the arc).
    """
    which = between_bound_and_constraint(before, after)
    if not which:
        return False
    bound = after.hamiltonian.phase.u_bound
    sides = [_law_values(arc, law, fixed) for arc, law in zip(pair, (before, after), strict=True)]
    jumps = [abs(sides[0].u[-1, i] - sides[1].u[0, i]) / (bound.upper[i] - bound.lower[i]) for i in which]
    return bool(max(jumps) < max(_vanishing(sides, (before, after), which), default=0.0))


@dataclass(frozen=True, eq=False)
class _LawValues:
    """Along an arc, (points, components)."""

    u: Array
    multipliers: Array
    stationarity: Array


def _vanishing(sides: list[_LawValues], laws: tuple[ArcLaw, ArcLaw], which: list[int]) -> list[float]:
    """What vanishes at a junction with a jump: multipliers of mixed constraints that are met or left, or switching functions."""
    found = []
    for values, law, other, end in zip(sides, laws, laws[::-1], (-1, 0), strict=True):
        for row, held in enumerate(law.mode.active):
            if held not in other.mode.active and law.hamiltonian.constraints[held[0]].order == 0:
                found.append(_relative(values.multipliers[:, row], end))
    if not found:
        ends = [(sides[0], -1) if laws[1].mode.roles[i] == "interior" else (sides[1], 0) for i in which]
        found = [_relative(values.stationarity[:, i], end) for (values, end), i in zip(ends, which, strict=True)]
    return found


def _relative(values: Array, end: int) -> float:
    return float(abs(values[end]) / max(float(np.abs(values).max()), 1e-300))


def _law_values(arc: StartArc, law: ArcLaw, fixed: tuple[Array, ...]) -> _LawValues:
    """Controls, multipliers and slopes of H by a law along an arc."""
    ham, tau = law.hamiltonian, np.linspace(0.0, 1.0, POINTS)
    y = casadi.vertcat(ham.phase.x, ham.costate, law.v)
    outputs = [casadi.densify(e) for e in (law.u, law.multipliers, law.stationarity)]
    function = casadi.Function("law", [ham.phase.t, y, ham.weight, ham.s, ham.p], outputs)
    found = function(arc.times(tau)[None, :], node_values(arc, law, *fixed)(tau).T, *fixed)
    sizes = (law.u.numel(), len(law.mode.active), law.u.numel())
    return _LawValues(*[np.broadcast_to(f.full().T, (tau.size, n)) for f, n in zip(found, sizes, strict=True)])
