"""The rows of a certificate: what each is a part of, what computes it, what to do where it fails.

A new row is one entry here, beside the function that computes it. Functions that share work
compute several rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from trajopt.certificate.abnormal import Abnormality, abnormal_rows
from trajopt.certificate.agreement import agreement, published
from trajopt.certificate.canonical import costate_motions
from trajopt.certificate.evidence import Evidence
from trajopt.certificate.extremal_rows import along_time, conserved, costate_equation, gains
from trajopt.certificate.feasibility_rows import (
    between_nodes,
    boundary,
    costs,
    motions_between_nodes,
)
from trajopt.certificate.forward_validation import redundant_motions, whole_motions
from trajopt.certificate.kink_rows import kink_rows
from trajopt.certificate.long_steps import drifts
from trajopt.certificate.multipliers import path_multipliers
from trajopt.certificate.second_order_rows import second_order
from trajopt.certificate.table import CLAIM_OF, COST_MULTIPLIER, NORMALITY, Check, skipped
from trajopt.certificate.tape_rows import compiled_tapes

FINER = (
    "Solve to a smaller tolerance (--tolerance 1e-8); a value that does not fall with it is a "
    "real defect."
)
BETTER = "A better answer is near: solve again from another guess, or try --starts 20."
MOTION = f"The states do not follow the dynamics with these controls and parameters. {FINER}"
EQUATION = f"The costates do not satisfy the costate equation of this motion. {FINER}"
METHODS = (
    "The second method did not confirm the answer: both may be local optima. Compare their plots."
)
DEGENERATE = (
    "The conditions depend on each other here: Pontryagin's conditions hold with a cost "
    "multiplier of zero for motions of "
    "any cost, and prove nothing about it. State end values that others imply, or leave out "
    "conditions that follow from others."
)


@dataclass(frozen=True)
class CertificateRow:
    """A row by its key, which is its name in the table.

    ``family`` is the part of a claim that it belongs to; ``compute`` gives its verdict, with those
    of other rows from the same work; ``advice`` says what a failure means and what to do next.
    """

    key: str
    family: str
    compute: Callable[[Evidence], Sequence[Check]]
    advice: str = ""
    theorem: str = ""


def _statement(of: Evidence) -> Sequence[Check]:
    return ()  # decided before anything else, by ``certify``


def _tapes(of: Evidence) -> Sequence[Check]:
    return compiled_tapes(of.whole)


def _motions(of: Evidence) -> Sequence[Check]:
    tolerance = of.asked.motion
    between = motions_between_nodes(of.motions, tolerance)
    return [*between, *whole_motions(of.motions, tolerance)]


def _redundant(of: Evidence) -> Sequence[Check]:
    if not any(ph.form.redundant for ph in of.whole.phases):
        return []
    tolerance = of.asked.motion
    return [
        *redundant_motions(of.motions, tolerance),
        *drifts(of.motions, of.long_steps, tolerance),
    ]


def _limits(of: Evidence) -> Sequence[Check]:
    return [between_nodes(of.whole, 3 * of.asked.motion)]


def _ends(of: Evidence) -> Sequence[Check]:
    return [boundary(of.computed, of.asked.motion)]


def _cost(of: Evidence) -> Sequence[Check]:
    return costs(of.computed, of.asked.motion)


def _unprepared(of: Evidence) -> Sequence[Check]:
    """Where Pontryagin's conditions cannot be set up, a row of each family says why."""
    reason = of.extremals[1]
    keys = [row.key for row in ROWS if row.compute is _unprepared]
    return [skipped(key, reason) for key in keys] if reason else []


def _costates(of: Evidence) -> Sequence[Check]:
    if not of.phases:
        return []
    tolerance = of.asked.costates
    equation = costate_equation(of.phases, tolerance)
    return [*equation, *path_multipliers(of.phases, tolerance)]


def _optimality(of: Evidence, abnormal: Abnormality | None = None) -> Sequence[Check]:
    if not of.phases:
        return []
    held = abnormal.held if abnormal else frozenset()
    return gains(of.computed, of.conditions, of.asked.gain, held)


def _time(of: Evidence) -> Sequence[Check]:
    if not of.phases:
        return []
    return [along_time(of.phases, of.asked.costates), conserved(of.phases, of.asked.motion)]


def _canonical(of: Evidence) -> Sequence[Check]:
    return costate_motions(of.phases, of.scheme, of.asked.motion) if of.phases else []


def _second(of: Evidence) -> Sequence[Check]:
    if not of.phases:
        return []
    kinks = kink_rows(of.computed, of.phases)
    return kinks or second_order(of.computed, of.phases, of.asked.gain)


def _abnormal(of: Evidence) -> Sequence[Check]:
    if not of.phases:
        return []
    so_far = list(of.rows.values())
    return abnormal_rows(of.computed, of.phases, so_far, lambda found: [*_optimality(of, found)])


def _scope(of: Evidence) -> Sequence[Check]:
    return [of.scope.row] if of.phases else []


def _methods(of: Evidence) -> Sequence[Check]:
    whole, asked = of.whole, of.asked.asked
    unique = NORMALITY not in of.rows or of.rows[NORMALITY].value == 0
    return agreement(whole.form, whole.solution, of.other, asked, whole.sizes.cost, unique)


def _published(of: Evidence) -> Sequence[Check]:
    return published(of.whole.form, of.whole.solution, of.reference, of.asked.asked)


ROWS = (
    CertificateRow(
        "solver status",
        "solver",
        _statement,
        (
            "The solver did not finish. Read its message first; `trajopt solve NAME -v` shows "
            "its log."
        ),
    ),
    CertificateRow(
        "phases",
        "motion",
        _statement,
        (
            "There is no trajectory to check. Certify the file that `trajopt solve NAME --save "
            "FILE.nc` writes."
        ),
    ),
    CertificateRow(
        "answer to this problem",
        "motion",
        _statement,
        (
            "The file belongs to another statement, or was not written whole. Certify it with "
            "its own problem."
        ),
    ),
    CertificateRow(
        "finite values",
        "motion",
        _statement,
        (
            "Values are not numbers or not defined on the whole phase: the file is damaged or "
            "incomplete."
        ),
    ),
    CertificateRow(
        "compiled tapes",
        "motion",
        _tapes,
        MOTION,
    ),
    CertificateRow(
        "re-integration of intervals",
        "motion",
        _motions,
        MOTION,
    ),
    CertificateRow(
        "sum of the defects of all intervals",
        "motion",
        _motions,
        MOTION,
    ),
    CertificateRow(
        "states inside intervals",
        "motion",
        _motions,
        f"Between the nodes the curve of a state is not the integral of its rate. {FINER}",
    ),
    CertificateRow(
        "re-integration of whole phases",
        "motion",
        _motions,
        MOTION,
    ),
    CertificateRow("drift of invariants", "validation", _motions),
    CertificateRow("re-integration, invariants stabilized", "validation", _motions),
    CertificateRow("drift of invariants, stabilized", "validation", _motions),
    CertificateRow("redundant coordinates", "validation", _redundant),
    CertificateRow("drift of constraints", "validation", _redundant),
    CertificateRow("redundant coordinates, stabilized", "validation", _redundant),
    CertificateRow("drift of constraints, stabilized", "validation", _redundant),
    CertificateRow("drift of constraints at long steps", "validation", _redundant),
    CertificateRow("drift of constraints at long steps, stabilized", "validation", _redundant),
    CertificateRow(
        "bounds and path constraints",
        "limits",
        _limits,
        f"A limit is exceeded at the time that the remark names. {FINER}",
        theorem="Moore, Prentice-Hall 1966",
    ),
    CertificateRow(
        "boundary conditions",
        "ends",
        _ends,
        ("It does not begin, end or continue as the statement says. Is it an answer to this one?"),
    ),
    CertificateRow(
        "objective of the re-integrated motion",
        "cost",
        _cost,
        "The motion costs something else than the file says: another statement?",
    ),
    CertificateRow(
        "integrals of the file",
        "cost",
        _cost,
        ("The integrals of the file are not those of its motion; they belong to another answer."),
    ),
    CertificateRow(
        "Pontryagin's conditions",
        "costates",
        _unprepared,
        "Without costates only *feasible* can be proved. Add costates to the phases.",
    ),
    CertificateRow("gains", "optimality", _unprepared),
    CertificateRow("H along time", "time", _unprepared),
    CertificateRow("second order", "second order", _unprepared),
    CertificateRow(
        "costates on constrained arcs",
        "costates",
        _costates,
        f"No non-negative multipliers of the state constraint make H stationary. {FINER}",
        theorem="Hartl, Sethi, Vickson, SIAM Review 37, 1995",
    ),
    CertificateRow(
        "costate equation",
        "costates",
        _costates,
        EQUATION,
        theorem="Pontryagin et al., Wiley 1962",
    ),
    CertificateRow(
        "sum of the defects of the costates",
        "costates",
        _costates,
        EQUATION,
    ),
    CertificateRow(
        "costates inside intervals",
        "costates",
        _costates,
        EQUATION,
    ),
    CertificateRow(
        "path multipliers of the file",
        "costates",
        _costates,
        "The multipliers of the file are not those of this motion.",
    ),
    CertificateRow(
        "minimum of H",
        "optimality",
        _optimality,
        f"Other admissible controls make H smaller at the time that the remark names. {BETTER}",
        theorem="Pontryagin et al., Wiley 1962",
    ),
    CertificateRow(
        "minimum of H on constrained arcs",
        "optimality",
        _optimality,
        f"Beside the active state constraint other controls make H smaller. {BETTER}",
    ),
    CertificateRow(
        "complementarity",
        "optimality",
        _optimality,
        ("A limit has a multiplier where the motion is off it: the motion should go to the limit."),
    ),
    CertificateRow(
        "transversality",
        "optimality",
        _optimality,
        f"Moving the end, time or static variable that the remark names lowers the cost. {BETTER}",
        theorem="Pontryagin et al., Wiley 1962",
    ),
    CertificateRow(
        "switching times",
        "optimality",
        _optimality,
        f"Moving the switch that the remark names lowers the cost. {FINER}",
    ),
    CertificateRow(
        "estimated suboptimality",
        "optimality",
        _optimality,
        "The sum of all promised gains: read the rows above that fail.",
    ),
    CertificateRow(
        "constancy of H",
        "time",
        _time,
        f"H changes although the model does not: costates, controls and time do not fit. {FINER}",
    ),
    CertificateRow(
        "first integrals",
        "time",
        _time,
        f"A quantity that every extremal keeps changes along this one. {FINER}",
    ),
    CertificateRow("re-integration of costates", "validation of costates", _canonical),
    CertificateRow("drift of first integrals", "validation of costates", _canonical),
    CertificateRow("re-integration of costates, stabilized", "validation of costates", _canonical),
    CertificateRow("drift of first integrals, stabilized", "validation of costates", _canonical),
    CertificateRow("kinks of the model", "optimality", _second, theorem="Clarke, Springer 2013"),
    CertificateRow(
        "Legendre-Clebsch",
        "second order",
        _second,
        f"H has a maximum in a free control: the extremal is no minimum. {BETTER}",
    ),
    CertificateRow(
        "Kelley's condition",
        "second order",
        _second,
        f"The singular arc maximizes the cost. {BETTER}",
    ),
    CertificateRow("normality", "second order", _second),
    CertificateRow(
        "second variation",
        "second order",
        _second,
        f"There is a conjugate point: a nearby motion costs less. {BETTER}",
        theorem="Zeidan, Zezza, J. Math. Anal. Appl. 132, 1988",
    ),
    CertificateRow(
        "cost multiplier",
        "normality",
        _abnormal,
        theorem="Agrachev, Sarychev, Ann. Inst. H. Poincare C 13, 1996",
    ),
    CertificateRow(
        "gap to the dual bound",
        "scope",
        _scope,
        theorem="Rockafellar, J. Math. Anal. Appl. 32, 1970",
    ),
    CertificateRow(
        "direct and indirect objectives",
        "agreement",
        _methods,
        METHODS,
    ),
    CertificateRow(
        "direct and indirect initial costates",
        "agreement",
        _methods,
        METHODS,
    ),
    CertificateRow(
        "direct and indirect switching times",
        "agreement",
        _methods,
        METHODS,
    ),
    *(
        CertificateRow(
            f"{word} {what}",
            "reference",
            _published,
            (
                "The objective differs from the reference: check settings and parameters above; "
                "try --starts 20."
            ),
        )
        for word in ("published", "closed form", "own earlier")
        for what in ("objective", "initial costates")
    ),
)
BY_KEY = {row.key: row for row in ROWS}


def advice(checks: Iterable[Check]) -> list[tuple[str, str]]:
    """For each failed row its name, what it means and what to do next; rows with the same advice
    once.

    >>> from trajopt.certificate.table import failed
    >>> advice([failed("phases", "the answer has none")])[0][0]
    'phases'
    """
    found: dict[str, str] = {}
    checks = list(checks)
    abnormal = any(check.name == COST_MULTIPLIER for check in checks)
    for check in checks:
        text = BY_KEY[check.name].advice if check.name in BY_KEY and not check.ok else ""
        if text and abnormal and CLAIM_OF.get(check.family) == "extremal":
            text = DEGENERATE
        if text and text not in found.values():
            found[check.name] = text
    return list(found.items())
