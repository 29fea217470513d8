"""What a failed row means, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable

from trajopt.certificate.table import CLAIM_OF, COST_MULTIPLIER, Check

FINER = (
    "Solve to a smaller tolerance (--tolerance 1e-8); a value that does not fall with it is a "
    "real defect."
)
BETTER = "A better answer is near: solve again from another guess, or try --starts 20."

ADVICE = {
    "solver status": "The solver did not finish. Read its message first; `trajopt solve NAME -v` "
    "shows its log.",
    "phases": "There is no trajectory to check. Certify the file that `trajopt solve NAME --save "
    "FILE.nc` writes.",
    "answer to this "
    "problem": "The file belongs to another statement, or was not written whole. Certify it with "
    "its own problem.",
    "finite values": "Values are not numbers or not defined on the whole phase: the file is "
    "damaged or incomplete.",
    "states inside "
    "intervals": f"Between the nodes the curve of a state is not the integral of its rate. {FINER}",
    "bounds and path "
    "constraints": f"A limit is exceeded at the time that the remark names. {FINER}",
    "boundary "
    "conditions": "It does not begin, end or continue as the statement says. Is it an answer to "
    "this one?",
    "objective of the re-integrated "
    "motion": "The motion costs something else than the file says: another statement?",
    "integrals of the "
    "file": "The integrals of the file are not those of its motion; they belong to another answer.",
    "Pontryagin's "
    "conditions": "Without costates only *feasible* can be proved. Add costates to the phases.",
    "costates on constrained "
    "arcs": f"No non-negative multipliers of the state constraint make H stationary. {FINER}",
    "path multipliers of the file": "The multipliers of the file are not those of this motion.",
    "minimum of H": "Other admissible controls make H smaller at the time that the remark names. "
    f"{BETTER}",
    "minimum of H on constrained "
    "arcs": f"Beside the active state constraint other controls make H smaller. {BETTER}",
    "complementarity": "A limit has a multiplier where the motion is off it: the motion should go "
    "to the limit.",
    "transversality": "Moving the end, time or static variable that the remark names lowers the "
    f"cost. {BETTER}",
    "switching times": f"Moving the switch that the remark names lowers the cost. {FINER}",
    "estimated suboptimality": "The sum of all promised gains: read the rows above that fail.",
    "constancy of H": "H changes although the model does not: costates, controls and time do not "
    f"fit. {FINER}",
    "first integrals": f"A quantity that every extremal keeps changes along this one. {FINER}",
    "Legendre-Clebsch": f"H has a maximum in a free control: the extremal is no minimum. {BETTER}",
    "Kelley's condition": f"The singular arc maximizes the cost. {BETTER}",
    "second variation": f"There is a conjugate point: a nearby motion costs less. {BETTER}",
}
DEGENERATE = (
    "The conditions depend on each other here: Pontryagin's conditions hold with a cost "
    "multiplier of zero for motions of "
    "any cost, and prove nothing about it. State end values that others imply, or leave out "
    "conditions that follow from others."
)
OF_FAMILY = {
    "motion": f"The states do not follow the dynamics with these controls and parameters. {FINER}",
    "costates": f"The costates do not satisfy the costate equation of this motion. {FINER}",
    "agreement": "The second method did not confirm the answer: both may be local optima. Compare "
    "their plots.",
    "reference": "The objective differs from the reference: check settings and parameters above; "
    "try --starts 20.",
}


def advice(checks: Iterable[Check]) -> list[tuple[str, str]]:
    """For each failed row its name, what it means and what to do next; rows with the same advice
    once.

    >>> from trajopt.certificate.table import failed
    >>> advice([failed("phases", "the answer has none", "motion")])[0][0]
    'phases'
    """
    found: dict[str, str] = {}
    checks = list(checks)
    abnormal = any(check.name == COST_MULTIPLIER for check in checks)
    for check in checks:
        text = "" if check.ok else ADVICE.get(check.name, OF_FAMILY.get(check.family, ""))
        text = (
            DEGENERATE if text and abnormal and CLAIM_OF.get(check.family) == "extremal" else text
        )
        if text and text not in found.values():
            found[check.name] = text
    return list(found.items())
