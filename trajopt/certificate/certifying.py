"""certify: every check of an answer, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trajopt.certificate.along import Along, along
from trajopt.certificate.canonical import costate_motions
from trajopt.certificate.extremal import extremals
from trajopt.certificate.feasibility import between_nodes, boundary, motions_between_nodes, objective, whole_motions
from trajopt.certificate.motion import Motion, scheme_for
from trajopt.certificate.pontryagin import (
    conserved,
    constancy,
    costate_equation,
    legendre_clebsch,
    minimum_of_H,
    stationarity,
    transversality,
)
from trajopt.certificate.table import Certificate, Check, judged, skipped
from trajopt.errors import TrajoptError, UsageError
from trajopt.indirect.hamiltonian import UnsupportedError
from trajopt.indirect.switches import ReadArcs, polished_arcs
from trajopt.integrate.tableaus import Tableau
from trajopt.normal_form import NormalForm
from trajopt.problem import Problem
from trajopt.reference import Reference
from trajopt.solution import Solution

OBJECTIVES = "direct and indirect objectives"
PONTRYAGIN = "Pontryagin's conditions"
DIGITS = 1e-6  # of published costates, which are printed with fewer than objectives


@dataclass(frozen=True)
class Tolerances:
    """What a figure may be, from the relative error that the solver was asked for; floors are what the checks resolve."""

    asked: float

    @property
    def motion(self) -> float:
        """Of states, and of costates and first integrals where intervals meet."""
        return max(1e-7, min(10 * self.asked, 1e-2))

    @property
    def controls(self) -> float:
        """Of controls, in the mean: their polynomials are of a lower order than those of the states.

        Also of H, of costates where another method has them and of conditions at free ends: a switch or a contact with a state
        constraint that lies inside an interval moves all of these to first order.
        """
        return max(1e-7, min(100 * self.asked, 1e-2))

    @property
    def minimum(self) -> float:
        """Of the minimum of H, in which an error of the controls is squared."""
        return max(1e-9, min(self.asked, 1e-3))

    @property
    def agreement(self) -> float:
        """Of the objectives of two answers: the cost is flat at an optimum."""
        return max(1e-9, 0.1 * self.asked)


def certify(
    solution: Solution,
    problem: Problem | NormalForm | None = None,
    reference: Reference | None = None,
    other: Solution | None = None,
) -> Certificate:
    """Check an answer independently of how it was found.

    Parameters
    ----------
    solution : Solution
        Of any method.
    problem : Problem, NormalForm or None
        Needed for a solution that was loaded from a file.
    reference : Reference or None
        The published answer, if there is one.
    other : Solution or None
        The answer of another method to the same problem.

    Examples
    --------
    >>> from problems.classical.block_move import build
    >>> from trajopt import solve
    >>> certificate = certify(solve(build()))
    >>> certificate.ok, certificate["minimum of H"].ok
    (True, True)
    """
    if not isinstance(solution, Solution):
        raise UsageError("certify: what is to be certified", got=type(solution).__name__, expected="a Solution")
    form = problem.finish() if isinstance(problem, Problem) else problem or solution.form
    if form is None:
        raise UsageError("certify: a solution from a file does not have its problem", hint="certify(solution, problem)")
    checks = _status(solution)
    if not solution.phases:
        return Certificate(solution.problem, tuple(checks))
    whole = along(form, solution)
    allowed = _tolerances(solution)
    motions = [Motion(ph, scheme_for(solution.method)) for ph in whole.phases]
    checks += [boundary(whole, allowed.motion), motions_between_nodes(motions, allowed.motion)]
    checks += whole_motions(motions, allowed.motion)
    checks += [between_nodes(whole, allowed.motion), objective(whole, motions, allowed.motion)]
    checks += _pontryagin(whole, motions[0].scheme, allowed)
    checks += _agreement(form, solution, other)
    checks += _published(form, solution, reference)
    return Certificate(solution.problem, tuple(checks))


def _tolerances(*solutions: Solution) -> Tolerances:
    """Those of the least accurate of some answers."""
    return Tolerances(max(s.tolerance if np.isfinite(s.tolerance) else 1e-6 for s in solutions))


def _status(solution: Solution) -> list[Check]:
    found = [judged("solver status", float(not solution.success), 0.0, solution.status.value)]
    if np.isfinite(solution.error) and np.isfinite(solution.tolerance):
        found.append(judged("estimated error", solution.error, solution.tolerance, "by the solver itself"))
    return found


def _pontryagin(whole: Along, scheme: Tableau, allowed: Tolerances) -> list[Check]:
    if not all(ph.has_costates for ph in whole.phases):
        return [skipped(PONTRYAGIN, "the answer has no costates")]
    try:
        phases = extremals(whole)
    except UnsupportedError as reason:
        return [skipped(PONTRYAGIN, reason.what)]
    return [
        costate_equation(phases, allowed.motion),
        *costate_motions(phases, scheme, allowed.motion),
        stationarity(phases, allowed.controls),
        minimum_of_H(phases, allowed.minimum),
        legendre_clebsch(phases, allowed.minimum),
        transversality(whole, phases, allowed.controls),
        constancy(phases, allowed.controls),
        conserved(phases, allowed.motion),
    ]


def _agreement(form: NormalForm, solution: Solution, other: Solution | None) -> list[Check]:
    if other is None:
        return [skipped(OBJECTIVES, "no answer of another method was asked for")]
    if not other.success:
        reason = other.explanation[0] if other.explanation else other.status.value
        return [skipped(OBJECTIVES, f"the {other.method} method gave no answer: {reason}")]
    gap = abs(solution.objective - other.objective) / max(abs(solution.objective), 1e-12)
    return [
        judged(OBJECTIVES, gap, _tolerances(solution, other).agreement, f"{solution.objective:.12g} and {other.objective:.12g}"),
        _initial_costates(form, solution, other),
        _switches(form, solution, other),
    ]


def _initial_costates(form: NormalForm, a: Solution, b: Solution) -> Check:
    name, gaps = "direct and indirect initial costates", [0.0]
    ph = form.phases[0]
    both = [s.phase(ph.name) for s in (a, b)]
    if any(q.name not in one.costates for q in ph.states for one in both):
        return skipped(name, "one answer has no costates")
    for q in ph.states:
        first, second = (one.costates[q.name].evaluate(np.array([one.t0]))[0] for one in both)
        size = np.abs(both[0].costates[q.name].points).max()
        gaps.append(float(np.abs(first - second).max()) / max(float(size), 1e-12))
    return judged(name, max(gaps), _tolerances(a, b).controls)


def _switches(form: NormalForm, a: Solution, b: Solution) -> Check:
    name = "direct and indirect switching times"
    try:
        read = [ReadArcs(s.arcs, 0.0) if s.arcs else polished_arcs(form, s) for s in (a, b)]
    except TrajoptError as reason:
        return skipped(name, reason.what)
    arcs = [one.arcs for one in read]
    if len(arcs[0]) <= len(form.phases) and len(arcs[1]) <= len(form.phases):
        return skipped(name, "no switches")
    if [x.phase for x in arcs[0]] != [x.phase for x in arcs[1]]:
        return skipped(name, f"{len(arcs[0])} and {len(arcs[1])} arcs")
    duration = max(ph.tf for ph in a.phases.values()) - min(ph.t0 for ph in a.phases.values())
    inner = [k for k, (x, y) in enumerate(pairwise(arcs[0])) if x.phase == y.phase]  # the ends of phases are no switches
    gap = max((abs(arcs[0][k].end - arcs[1][k].end) for k in inner), default=0.0) / duration
    allowed, resolution = _tolerances(a, b), max(one.resolution for one in read) / duration
    if all(s.arcs for s in (a, b)):
        return judged(name, gap, allowed.motion)
    if resolution > allowed.controls:
        return judged(name, gap, resolution, "to within an interval of the mesh")
    return judged(name, gap, allowed.controls, "read off the direct answer's curves")


def _published(form: NormalForm, solution: Solution, reference: Reference | None) -> list[Check]:
    if reference is None:
        return [skipped("published objective", "none is known for these settings")]
    gap = abs(solution.objective - reference.objective) / max(abs(reference.objective), 1e-12)
    rows = [judged("published objective", gap, reference.tolerance, f"{reference.objective:.10g}")]
    ph = solution.phase(form.phases[0].name)
    if reference.costates and all(name in ph.costates for name in reference.costates):
        sizes = {name: max(float(np.abs(ph.costates[name].points).max()), 1e-12) for name in reference.costates}
        gaps = [abs(float(ph.costates[n](ph.t0)) - value) / sizes[n] for n, value in reference.costates.items()]
        rows.append(judged("published initial costates", max(gaps), max(DIGITS, _tolerances(solution).motion)))
    return rows
