"""Rows outside the three claims: agreement with another method's answer, and with what is known."""

from __future__ import annotations

import numpy as np

from trajopt.certificate.table import Check, failed, judged, skipped
from trajopt.statement.normal_form import NormalForm
from trajopt.statement.reference import Reference
from trajopt.trajectory.solution import Solution

OBJECTIVES = "direct and indirect objectives"
DIGITS = 1e-6  # of published costates, which are printed with fewer than objectives


def agreement(
    form: NormalForm,
    solution: Solution,
    other: Solution | None,
    tolerance: float,
    cost: float,
    unique: bool = True,
) -> list[Check]:
    """Objectives, initial costates and switching times of two methods that share nothing but the
    statement.

    Costates are compared where the multipliers are ``unique``.
    """
    if other is None:
        return []
    if not other.success:
        reason = other.explanation[0] if other.explanation else other.status.value
        return [failed(OBJECTIVES, f"the {other.method} method gave no answer: {reason}")]
    gap = abs(solution.objective - other.objective) / cost
    remark = f"{solution.objective:.12g} and {other.objective:.12g}"
    return [
        judged(OBJECTIVES, gap, max(1e-9, 0.1 * tolerance), remark),
        _initial_costates(form, solution, other, tolerance, unique),
        _switches(form, solution, other, tolerance),
    ]


def _initial_costates(
    form: NormalForm, a: Solution, b: Solution, tolerance: float, unique: bool
) -> Check:
    name, gaps = "direct and indirect initial costates", [0.0]
    if not unique:
        return skipped(
            name, "the multipliers are not unique: two right answers may have different ones"
        )
    ph = form.phases[0]
    both = [s.phase(ph.name) for s in (a, b)]
    if any(q.name not in one.costates for q in ph.states for one in both):
        return skipped(name, "one answer has no costates")
    for q in ph.states:
        first, second = (one.costates[q.name].evaluate(np.array([one.t0]))[0] for one in both)
        size = np.abs(both[0].costates[q.name].points).max()
        gaps.append(float(np.abs(first - second).max()) / max(float(size), 1e-12))
    return judged(name, max(gaps), max(1e-7, 100 * tolerance), "")


def _switches(form: NormalForm, a: Solution, b: Solution, tolerance: float) -> Check:
    name = "direct and indirect switching times"
    ends = [
        [
            [arc.end for arc in one.arcs if arc.phase == phase.name] for one in (a, b)
        ]  # a method may list none in a smooth phase
        for phase in form.phases
    ]
    listed = [(x, y) for x, y in ends if x and y]
    if not listed:
        return skipped(name, "one answer does not list its arcs")
    for x, y in listed:
        if len(x) != len(y):
            return failed(name, f"{len(x)} and {len(y)} arcs")
    duration = max(ph.tf for ph in a.phases.values()) - min(ph.t0 for ph in a.phases.values())
    gap = (
        max(
            (abs(s - t) for x, y in listed for s, t in zip(x[:-1], y[:-1], strict=True)),
            default=0.0,
        )
        / duration
    )
    return judged(name, gap, max(1e-7, 10 * tolerance), "")


def published(
    form: NormalForm, solution: Solution, reference: Reference | None, tolerance: float
) -> list[Check]:
    """Compare objective and costates with a reference; the name of the row tells a published one
    from one of our own.
    """
    if reference is None:
        return []
    word = "own earlier" if reference.origin == "own" else reference.origin
    gap, remark = (
        reference.difference(solution.objective),
        f"{reference.objective:.10g}, {reference.source}",
    )
    if reference.improved_by(solution.objective, form.sense):
        return [judged(f"{word} objective", gap, np.inf, f"better than {remark}")]
    rows = [judged(f"{word} objective", gap, reference.tolerance, remark)]
    ph = solution.phases.get(form.phases[0].name)
    if (
        ph is not None
        and reference.costates
        and all(name in ph.costates for name in reference.costates)
    ):
        sizes = {
            name: max(float(np.abs(ph.costates[name].points).max()), 1e-12)
            for name in reference.costates
        }
        gaps = [
            abs(float(ph.costates[n](ph.t0)) - value) / sizes[n]
            for n, value in reference.costates.items()
        ]
        rows.append(judged(f"{word} initial costates", max(gaps), max(DIGITS, 10 * tolerance), ""))
    return rows
