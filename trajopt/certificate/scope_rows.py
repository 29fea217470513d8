"""The row about other optima: for a convex problem, how far the cost is above a bound of all
admissible motions.
"""

from __future__ import annotations

import numpy as np

from trajopt.certificate.convexity import convexity
from trajopt.certificate.dual_bound import dual_bound
from trajopt.certificate.feasibility_rows import objective
from trajopt.certificate.sampled_solution import SampledSolution
from trajopt.certificate.table import DUAL_BOUND, SCOPE, Check, judged, skipped


def global_scope(
    whole: SampledSolution, cost: float, tolerance: float, bounds: list[float]
) -> list[Check]:
    """The gap between the cost and the dual bound, which is added to ``bounds``, relative to the
    size of the ``cost``; a gap too large is given for information.
    """
    found = convexity(whole)
    if found.reason:
        return [skipped(DUAL_BOUND, f"not known to be convex: {found.reason}", SCOPE)]
    bound = dual_bound(whole, found)
    if not np.isfinite(bound.cost):
        return [skipped(DUAL_BOUND, f"convex, but there is no bound: {bound.reason}", SCOPE)]
    sense = whole.form.sense
    value = sense * bound.cost
    bounds.append(value)
    gap = max(sense * objective(whole) - bound.cost, 0.0) / cost
    kind = "quasiconvex" if found.minimum_time else "convex"
    remark = (
        f"{kind}: no admissible motion has an objective {'below' if sense > 0 else 'above'} "
        f"{value:.10g}"
    )
    if gap > tolerance:
        return [
            Check(
                DUAL_BOUND,
                gap,
                np.inf,
                True,
                f"{remark}; the gap is too large for a global claim",
                SCOPE,
            )
        ]
    return [judged(DUAL_BOUND, gap, tolerance, remark, SCOPE)]
