"""What happens where two arcs meet, decided from the laws on both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.control_law import ArcLaw
from trajopt.indirect.equations import between_bound_and_constraint, between_bound_and_interior
from trajopt.indirect.hamiltonian import UnsupportedError
from trajopt.indirect.settings import CHECK, START
from trajopt.indirect.start import StartArc, node_variables
from trajopt.trajectory.arcs import control_range

Array = NDArray[np.float64]


def continuous(
    pair: tuple[StartArc, StartArc], before: ArcLaw, after: ArcLaw, fixed: tuple[Array, ...]
) -> bool:
    """Whether a control that comes to its bound or leaves it is continuous, rather than jumps.

    By the laws on both sides. Between a constraint and a bound: what is nearer to zero at the
    junction, the jump of the control (in its range), or what vanishes if it jumps (in its largest
    value along the arc). Between the interior and a bound it jumps if it is farther from the bound
    than it moves in a mesh interval, by which the junction of a guess is uncertain.
    """
    which = between_bound_and_constraint(before, after)
    if not which:
        return not any(
            _is_inside(pair, before, after, i) for i in between_bound_and_interior(before, after)
        )
    bound = after.hamiltonian.phase.u_bound
    sides = [_law_values(arc, law, fixed) for arc, law in zip(pair, (before, after), strict=True)]
    values = [np.concatenate([side.u[:, i] for side in sides]) for i in which]
    ranges = [
        control_range(v, bound.lower[i], bound.upper[i]) for i, v in zip(which, values, strict=True)
    ]
    jumps = [
        abs(sides[0].u[-1, i] - sides[1].u[0, i]) / size
        for i, size in zip(which, ranges, strict=True)
    ]
    return bool(max(jumps) < max(_vanishing(sides, (before, after), which), default=0.0))


def may_do_otherwise(before: ArcLaw, after: ArcLaw) -> bool:
    """Whether a control may jump at a junction or be continuous there."""
    return bool(
        between_bound_and_constraint(before, after) or between_bound_and_interior(before, after)
    )


def _is_inside(pair: tuple[StartArc, StartArc], before: ArcLaw, after: ArcLaw, i: int) -> bool:
    """Whether a control is away from its bound where its interior arc begins or ends."""
    own = 0 if before.mode.roles[i] == "interior" else 1
    arc, side = pair[own], (after, before)[own].mode.roles[i]
    bound, end = after.hamiltonian.phase.u_bound, -1 if own == 0 else 0
    values = arc.u(arc.times(np.linspace(0.0, 1.0, START.trials)))[:, i]
    distance = abs(values[end] - (bound.lower[i] if side == "lower" else bound.upper[i]))
    moved = float(np.ptp(values[_near_junction(arc, end)]))
    return bool(
        distance > moved + CHECK.rounding * control_range(values, bound.lower[i], bound.upper[i])
    )


def _near_junction(arc: StartArc, end: int) -> NDArray[np.bool_]:
    """Which points of an arc are within a mesh interval of its beginning, or of its end."""
    junction = arc.start if end == 0 else arc.end
    # two points at least
    reach = max(_interval_at(arc, junction), 1.5 * (arc.end - arc.start) / (START.trials - 1))
    return np.asarray(np.abs(arc.times(np.linspace(0.0, 1.0, START.trials)) - junction) <= reach)


def refuse_chattering(
    pair: tuple[StartArc, StartArc], before: ArcLaw, after: ArcLaw, fixed: tuple[Array, ...]
) -> None:
    """Raise where a control jumps between its bound and a singular arc of even order.

    With q the order of the singular arc and r that of the first discontinuous derivative of the
    control, q + r is odd on an optimal trajectory (McDanell & Powers, Necessary conditions for
    joining optimal singular and nonsingular subarcs, SIAM J. Control 9, 1971). A control that jumps
    (r = 0) to an arc of even order switches infinitely often before it: no finite number of arcs is
    an answer. The control jumps if it is farther from its bound than the law moves it within a mesh
    interval, by which the junction of a guess is uncertain.
    """
    for arc, law, other, end in ((pair[0], before, after, -1), (pair[1], after, before, 0)):
        pairs = enumerate(zip(law.mode.roles, other.mode.roles, strict=True))
        bounded = [
            i for i, (own, others) in pairs if own == "singular" and others in ("lower", "upper")
        ]
        orders = {i: len(law.switching[law.singular_place(i)]) // 2 for i in bounded}
        bounded = [i for i in bounded if orders[i] % 2 == 0]
        if not bounded:
            continue
        ph, junction = law.hamiltonian.phase, arc.start if end == 0 else arc.end
        limits = {"lower": ph.u_bound.lower, "upper": ph.u_bound.upper}
        values, nearby = _law_values(arc, law, fixed).u, _near_junction(arc, end)
        for i in bounded:
            jump = abs(values[end, i] - limits[other.mode.roles[i]][i])
            if jump > np.ptp(values[nearby, i]):
                raise UnsupportedError(
                    f"control '{ph.u_names[i]}' of phase '{ph.name}' chatters at t = "
                    f"{junction:.4g}",
                    got=f"a jump to a singular arc of order {orders[i]}, which needs infinitely "
                    "many switches",
                    hint="the answer of collocation approximates it; a small cost on the "
                    "control's square removes the chattering",
                )


def _interval_at(arc: StartArc, time: float) -> float:
    """The length of the longest interval between knots that contains a time."""
    knots = arc.trajectory.breaks
    last = int(np.searchsorted(knots, time))
    lengths = np.diff(knots)[max(last - 1, 0) : last + 1]
    return float(lengths.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class _LawValues:
    """Along an arc, (points, components)."""

    u: Array
    multipliers: Array
    stationarity: Array


def _vanishing(
    sides: list[_LawValues], laws: tuple[ArcLaw, ArcLaw], which: list[int]
) -> list[float]:
    """What vanishes at a junction with a jump: multipliers of mixed constraints that are met or
    left, or switching functions.
    """
    found = []
    for values, law, other, end in zip(sides, laws, laws[::-1], (-1, 0), strict=True):
        for row, held in enumerate(law.mode.active):
            if held not in other.mode.active and law.hamiltonian.constraints[held[0]].order == 0:
                found.append(_relative(values.multipliers[:, row], end))
    if not found:
        # The slope of H at the bound: it vanishes with the multiplier of a state constraint, too.
        ends = [
            (sides[0], -1) if laws[1].mode.roles[i] == "interior" else (sides[1], 0) for i in which
        ]
        found = [
            _relative(values.stationarity[:, i], end)
            for (values, end), i in zip(ends, which, strict=True)
        ]
    return found


def _relative(values: Array, end: int) -> float:
    return float(abs(values[end]) / max(float(np.abs(values).max()), 1e-300))


def _law_values(arc: StartArc, law: ArcLaw, fixed: tuple[Array, ...]) -> _LawValues:
    """Controls, multipliers and slopes of H by a law along an arc."""
    tau = np.linspace(0.0, 1.0, START.trials)
    function = law.function(law.u, law.multipliers, law.stationarity)
    found = function(arc.times(tau)[None, :], node_variables(arc, law, *fixed)(tau).T, *fixed)
    sizes = (law.u.numel(), len(law.mode.active), law.u.numel())
    return _LawValues(
        *[np.broadcast_to(f.full().T, (tau.size, n)) for f, n in zip(found, sizes, strict=True)]
    )
