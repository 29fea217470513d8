"""certify: every check of an answer, in one table, and the claim that it proves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from trajopt.certificate.abnormal import Abnormality, abnormal_rows
from trajopt.certificate.agreement import agreement, published
from trajopt.certificate.canonical import costate_motions
from trajopt.certificate.extremal_rows import (
    along_time,
    conserved,
    costate_equation,
    gains,
    size_of_cost,
)
from trajopt.certificate.feasibility_rows import (
    between_nodes,
    boundary,
    costs,
    motions_between_nodes,
    with_integrals,
)
from trajopt.certificate.forward_validation import redundant_motions, whole_motions
from trajopt.certificate.hamiltonian_system import UndefinedHamiltonianError
from trajopt.certificate.kink_rows import kink_rows
from trajopt.certificate.motion import Reintegration, scheme_for
from trajopt.certificate.multipliers import path_multipliers, with_multipliers
from trajopt.certificate.phase_conditions import PhaseConditions, extremals
from trajopt.certificate.recovered_costates import recovered
from trajopt.certificate.resolution import resolved
from trajopt.certificate.sampled_solution import SampledSolution, along
from trajopt.certificate.scope_rows import global_scope
from trajopt.certificate.second_order_rows import second_order
from trajopt.certificate.table import (
    NORMALITY,
    OF_COSTATES,
    SCOPE,
    Certificate,
    Check,
    failed,
    judged,
    skipped,
)
from trajopt.certificate.tape_rows import compiled_tapes
from trajopt.certificate.well_formed import misfit, not_finite
from trajopt.deadline import Deadline, OutOfTime, OutOfWork
from trajopt.errors import UsageError, check_type
from trajopt.files.named import with_form
from trajopt.statement.normal_form import NormalForm
from trajopt.statement.problem import Problem
from trajopt.statement.reference import Reference
from trajopt.trajectory.solution import Solution

TOLERANCE = 1e-6
FINEST = (
    2.0**-6
)  # of an interval: steps of the integration down to this width are intervals of the quadrature
MOST_INTERVALS = 4000  # of the quadrature


Group = tuple[str, str, Callable[[], Sequence[Check]]]


@dataclass(frozen=True)
class Tolerances:
    """What a value may be, from the relative error that is asked for; floors are what the checks
    resolve.
    """

    asked: float

    @property
    def gain(self) -> float:
        """Of the estimated suboptimality, in which errors of controls are squared."""
        return max(1e-9, min(self.asked, 1e-3))

    @property
    def motion(self) -> float:
        """Of states, and of first integrals."""
        return max(1e-7, min(10 * self.asked, 1e-2))

    @property
    def costates(self) -> float:
        """Of costates and H where intervals meet.

        Solvers bound the errors of states; costates, as derivatives of the cost, are less accurate,
        and a switch or a touch point inside an interval moves H to first order. What that is worth
        in the cost counts as a gain.
        """
        return max(1e-6, min(100 * self.asked, 1e-2))


def certify(
    solution: Solution,
    problem: Problem | NormalForm | None = None,
    reference: Reference | None = None,
    other: Solution | None = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
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

    Examples
    --------
    >>> from problems.classical.block_move import build
    >>> from trajopt import solve
    >>> certificate = certify(solve(build()))
    >>> certificate.ok, certificate.claim
    (True, 'minimum')
    """
    if not isinstance(solution, Solution):
        raise UsageError(
            "certify: what is to be certified", got=type(solution).__name__, expected="a Solution"
        )
    for name, given, kind, expected in (
        ("problem", problem, (Problem, NormalForm), "a Problem"),
        ("reference", reference, Reference, "Reference(objective, source)"),
        ("other", other, Solution, "a Solution, as of load('b.nc')"),
        ("tolerance", tolerance, Real, "a number between 0 and 1, as in 1e-6"),
    ):
        if given is not None:
            check_type(f"certify: {name}", given, kind, expected)
    if tolerance is not None and not 0 < tolerance < 1:
        raise UsageError(
            "certify: tolerance", got=tolerance, expected="a number between 0 and 1, as in 1e-6"
        )
    form = problem.finish() if isinstance(problem, Problem) else problem
    form = form or with_form(solution, "certify").form
    form.refuse_samples("certify")
    asked = Tolerances(TOLERANCE if tolerance is None else tolerance)
    checks = [
        judged("solver status", float(not solution.success), 0.0, solution.status.value, "solver")
    ]
    checks += _refused(form, solution)
    if any(not check.ok for check in checks[1:]):
        return Certificate(
            solution.problem, tuple(checks), settings=_common_settings(solution, asked.asked)
        )
    form = form.of_solution(solution.parameters)
    settings = _settings(form, solution, asked.asked)
    deadline = Deadline(np.inf if time_limit is None else time_limit)
    whole = resolved(along(form, solution, deadline))
    bounds: list[float] = []
    _decide(_groups(whole, asked, checks, bounds), checks, deadline, progress)
    unique = all(check.value == 0 for check in checks if check.name == NORMALITY)
    checks += agreement(form, solution, other, asked.asked, whole.sizes.cost, unique)
    checks += published(form, solution, reference, asked.asked)
    return Certificate(
        solution.problem,
        tuple(checks),
        settings=settings,
        optima=solution.optima,
        bound=bounds[0] if bounds else None,
    )


def _decide(
    groups: Iterator[Group],
    checks: list[Check],
    deadline: Deadline,
    progress: Callable[[str], None] | None,
) -> None:
    """Add the rows of all groups; a group that is not decided before the deadline is one row that
    says so.

    A row replaces an earlier one of the same name.
    """
    family, late = "", f"no time left of {deadline.seconds:.3g} s; a larger time limit decides it"
    try:
        for name, family, work in groups:
            if progress is not None:
                progress(name)
            try:
                deadline.check()
                rows = work()
            except OutOfTime:
                rows = [skipped(name, late, family)]
            except OutOfWork as spent:
                rows = [skipped(name, str(spent), family)]
            places = {check.name: k for k, check in enumerate(checks)}
            for row in rows:
                if row.name in places:
                    checks[places[row.name]] = row
                else:
                    checks.append(row)
    except (
        OutOfTime,
        OutOfWork,
    ) as limit:  # in what later groups need: families without a row prove no claim
        checks.append(
            skipped("further checks", late if isinstance(limit, OutOfTime) else str(limit), family)
        )


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
        return [failed("phases", "the answer has none", "motion")]
    wrong = misfit(form, solution)
    if wrong:
        return [failed("answer to this problem", wrong, "motion")]
    wrong = not_finite(solution)
    return [failed("finite values", f"not a number: {wrong}", "motion")] if wrong else []


def _groups(
    whole: SampledSolution, asked: Tolerances, so_far: list[Check], bounds: list[float]
) -> Iterator[Group]:
    """Groups of checks in order: name, family, work.

    Later ones use what earlier ones computed; ``bounds`` gets a dual bound.
    """
    scheme = scheme_for(whole.solution.method)
    motions = [Reintegration(ph, scheme) for ph in whole.phases]
    yield "compiled tapes", "motion", lambda: compiled_tapes(whole)
    yield (
        "re-integration",
        "motion",
        lambda: [
            *motions_between_nodes(motions, asked.motion),
            *whole_motions(motions, asked.motion),
        ],
    )
    if any(ph.form.redundant for ph in whole.phases):
        yield (
            "redundant coordinates",
            "validation",
            lambda: redundant_motions(motions, asked.motion),
        )
    yield "limits", "limits", lambda: [between_nodes(whole, 3 * asked.motion)]
    computed = with_integrals(whole, motions)
    if not any(given.costates for given in whole.solution.phases.values()):
        computed = _with_costates(computed)
    computed = with_multipliers(computed)
    yield "ends", "ends", lambda: [boundary(computed, asked.motion)]
    yield "cost", "cost", lambda: costs(computed, asked.motion)
    phases: list[PhaseConditions] = []
    reason = _prepared(computed, phases)
    if reason:
        for name, family in (
            ("Pontryagin's conditions", "costates"),
            ("gains", "optimality"),
            ("H along time", "time"),
        ):
            yield name, family, lambda name=name, family=family: [skipped(name, reason, family)]  # type: ignore[misc]
        yield (
            "second order",
            "second order",
            lambda: [skipped("second order", reason, "second order")],
        )
        return
    yield (
        "costate equation",
        "costates",
        lambda: [
            *costate_equation(phases, asked.costates),
            *path_multipliers(phases, asked.costates),
        ],
    )
    refined: list[SampledSolution] = []

    def optimality(abnormal: Abnormality | None = None) -> list[Check]:
        if not refined:
            refined.append(_refined(computed, phases, motions))
        return gains(
            computed, extremals(refined[0]), asked.gain, abnormal.held if abnormal else frozenset()
        )

    yield "gains", "optimality", optimality
    yield (
        "H along time",
        "time",
        lambda: [along_time(phases, asked.costates), conserved(phases, asked.motion)],
    )
    yield "forward validation", OF_COSTATES, lambda: costate_motions(phases, scheme, asked.motion)
    kinks = kink_rows(computed, phases)
    if kinks:
        yield "kinks", "optimality", lambda: kinks
    else:
        yield "second order", "second order", lambda: second_order(computed, phases, asked.gain)
    yield "normality", NORMALITY, lambda: abnormal_rows(computed, phases, so_far, optimality)
    yield (
        "dual bound",
        SCOPE,
        lambda: global_scope(
            refined[0] if refined else computed,
            size_of_cost(computed, phases),
            asked.gain,
            bounds,
        ),
    )


def _prepared(whole: SampledSolution, phases: list[PhaseConditions]) -> str:
    """Set up Pontryagin's conditions on the intervals of the answer; else the reason why not."""
    missing = [
        q.name for ph in whole.phases for q in ph.form.states if q.name not in ph.given.costates
    ]
    if missing:
        return f"the answer has no costate of {missing[0]}"
    try:
        phases += extremals(whole)
    except UndefinedHamiltonianError as error:
        return error.what
    return ""


def _with_costates(whole: SampledSolution) -> SampledSolution:
    """An answer without costates gets those that fit it best; rows judge them like any others."""
    try:
        found = recovered(whole)
    except (UndefinedHamiltonianError, np.linalg.LinAlgError):
        return whole
    phases = tuple(replace(ph, given=found.phase(ph.form.name)) for ph in whole.phases)
    return replace(whole, solution=found, phases=phases)


def _refined(
    whole: SampledSolution, phases: Sequence[PhaseConditions], motions: Sequence[Reintegration]
) -> SampledSolution:
    """The same on the intervals of the integration too, except where state constraints act: there
    costates are fitted.
    """
    further = []
    for e, m in zip(phases, motions, strict=True):
        steps = _steps(m)
        inside = np.clip(
            np.searchsorted(e.phase.breaks, steps, side="right") - 1, 0, e.phase.widths.size - 1
        )
        further.append(steps[~e.fit.active[inside]])
    refined = tuple(
        replace(ph, further=np.concatenate([ph.further, more]))
        for ph, more in zip(whole.phases, further, strict=True)
    )
    return replace(whole, phases=refined)


def _steps(m: Reintegration) -> np.ndarray:
    """Where the integration needed steps shorter than the answer's intervals."""
    steps, ph = m.steps, m.phase
    wide = steps.width >= FINEST
    if ph.widths.size + wide.sum() > MOST_INTERVALS:
        return np.zeros(0)
    return np.asarray(ph.starts[steps.interval] + steps.start * ph.widths[steps.interval])[wide]
