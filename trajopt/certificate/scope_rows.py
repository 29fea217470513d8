"""The row about other optima: for a convex problem, how far the cost is above a bound of all
admissible motions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.certificate.convexity import convexity
from trajopt.certificate.dual_bound import dual_bound
from trajopt.certificate.extremal_rows import size_of_cost
from trajopt.certificate.feasibility_rows import objective
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.sampled_solution import SampledSolution
from trajopt.certificate.table import DUAL_BOUND, Check, judged, skipped


@dataclass(frozen=True)
class Scope:
    """The row, and the bound in the sense of the objective if there is one."""

    row: Check
    bound: float | None = None


def global_scope(
    whole: SampledSolution,
    measured: SampledSolution,
    phases: Sequence[PhaseConditions],
    tolerance: float,
) -> Scope:
    """The gap between the cost and the dual bound; one that is too large is given for
    information.
    """
    found = convexity(whole)
    if found.reason:
        return Scope(skipped(DUAL_BOUND, f"not known to be convex: {found.reason}"))
    bound = dual_bound(whole, found)
    if not np.isfinite(bound.cost):
        return Scope(skipped(DUAL_BOUND, f"convex, but there is no bound: {bound.reason}"))
    sense = whole.form.sense
    value = sense * bound.cost
    gap = max(sense * objective(whole) - bound.cost, 0.0) / size_of_cost(measured, phases)
    kind = "quasiconvex" if found.minimum_time else "convex"
    side = "below" if sense > 0 else "above"
    remark = f"{kind}: no admissible motion has an objective {side} {value:.10g}"
    if gap > tolerance:
        remark += "; the gap is too large for a global claim"
    return Scope(judged(DUAL_BOUND, gap, tolerance if gap <= tolerance else np.inf, remark), value)
