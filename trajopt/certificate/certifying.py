"""certify: every check of an answer, in one table, and the claim that it proves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trajopt.arguments import Fraction, NotNegative, checked_arguments
from trajopt.certificate.evidence import Evidence, Tolerances
from trajopt.certificate.long_steps import LongSteps
from trajopt.certificate.resolution import resolved
from trajopt.certificate.row_registry import BY_KEY, ROWS
from trajopt.certificate.sampled_solution import along
from trajopt.certificate.table import DUAL_BOUND, Certificate, Check, failed, judged, skipped
from trajopt.certificate.well_formed import misfit, not_finite
from trajopt.deadline import Deadline, OutOfTime, OutOfWork
from trajopt.files.named import with_form
from trajopt.statement.normal_form import NormalForm
from trajopt.statement.problem import Problem
from trajopt.statement.reference import Reference
from trajopt.trajectory.solution import Solution

TOLERANCE = 1e-6


@checked_arguments
def certify(
    solution: Solution,
    problem: Problem | NormalForm | None = None,
    reference: Reference | None = None,
    other: Solution | None = None,
    tolerance: Fraction | None = None,
    time_limit: NotNegative | None = None,
    progress: Callable[[str], None] | None = None,
    long_steps: LongSteps | None = None,
) -> Certificate:
    """Check an answer independently of how it was found.

    Parameters
    ----------
    solution : Solution
        Of any method, or built by hand.
    problem : Problem, NormalForm or None
        Needed for a solution that was loaded from a file.
    reference : Reference or None
        A known answer, if there is one.
    other : Solution or None
        The answer of another method to the same problem.
    tolerance : float or None
        Relative; 1e-6 unless told otherwise. The tolerance in the solution is not used.
    time_limit : float or None
        Seconds, without a limit by default; rows that are not decided by then say so, and claims
        proved so far hold.
    progress : callable or None
        Called with the name of each group of checks.
    long_steps : LongSteps or None
        Law, scheme and step of the rows that show what stabilization decides.

    Examples
    --------
    >>> from problems.classical.block_move import build
    >>> from trajopt import solve
    >>> certificate = certify(solve(build()))
    >>> certificate.ok, certificate.claim
    (True, 'minimum')
    """
    form = problem.finish() if isinstance(problem, Problem) else problem
    form = form or with_form(solution, "certify").form
    form.refuse_samples("certify")
    asked = Tolerances(TOLERANCE if tolerance is None else tolerance)
    stated = [judged("solver status", float(not solution.success), 0.0, solution.status.value)]
    stated += _refused(form, solution)
    rows = {check.name: _placed(check) for check in stated}
    if len(rows) > 1:
        settings = _common_settings(solution, asked.asked)
        return Certificate(solution.problem, tuple(rows.values()), settings=settings)
    form = form.of_solution(solution.parameters)
    settings = _settings(form, solution, asked.asked)
    deadline = Deadline(np.inf if time_limit is None else time_limit)
    whole, long_steps = resolved(along(form, solution, deadline)), long_steps or LongSteps()
    of = Evidence(whole, asked, reference, other, long_steps, rows)
    _decide(of, deadline, progress)
    return Certificate(
        solution.problem,
        tuple(of.rows.values()),
        settings=settings,
        optima=solution.optima,
        bound=of.scope.bound if DUAL_BOUND in rows and rows[DUAL_BOUND].applies else None,
    )


def _decide(of: Evidence, deadline: Deadline, progress: Callable[[str], None] | None) -> None:
    """Add all rows; those that are not decided before the deadline are one row that says so.

    A row replaces an earlier one of the same key.
    """
    late = f"no time left of {deadline.seconds:.3g} s; a larger time limit decides it"
    first = {row.compute: row.key for row in reversed(ROWS)}
    for compute in dict.fromkeys(row.compute for row in ROWS):
        if progress is not None:
            progress(first[compute])
        try:
            deadline.check()
            found = compute(of)
        except OutOfTime:
            found = [skipped(first[compute], late)]
        except OutOfWork as spent:
            found = [skipped(first[compute], str(spent))]
        of.rows.update({check.name: _placed(check) for check in found})


def _placed(check: Check) -> Check:
    return replace(check, family=BY_KEY[check.name].family)


def _common_settings(solution: Solution, tolerance: float) -> dict[str, str]:
    """What the verdict of any answer depends on."""
    own = (
        f", the answer was solved to {solution.tolerance:g}"
        if np.isfinite(solution.tolerance)
        else ""
    )
    found = {"tolerance": f"{tolerance:g}{own}", "method": solution.method}
    if solution.settings:
        found["settings"] = ", ".join(
            f"{name} = {value}" for name, value in solution.settings.items()
        )
    return found


def _settings(form: NormalForm, solution: Solution, tolerance: float) -> dict[str, str]:
    """The same with the parameters."""
    found = _common_settings(solution, tolerance)
    for q in form.parameters:
        value = np.asarray(solution.parameters.get(q.name, q.value), dtype=float).ravel()
        text = ", ".join(f"{v:.10g}" for v in value)
        stated = (
            ""
            if np.array_equal(np.broadcast_to(value, q.value.shape), q.value)
            else "   (not that of the statement)"
        )
        found[q.name] = f"{text} {q.unit}".rstrip() + stated
    return found


def _refused(form: NormalForm, solution: Solution) -> list[Check]:
    if not solution.phases:
        return [failed("phases", "the answer has none")]
    wrong = misfit(form, solution)
    if wrong:
        return [failed("answer to this problem", wrong)]
    wrong = not_finite(solution)
    return [failed("finite values", f"not a number: {wrong}")] if wrong else []
