"""Abnormal answers: Pontryagin's conditions hold with a multiplier zero of the cost.

Multipliers of the conditions that no variation changes to first order satisfy Pontryagin's
equations without the cost. Such conditions hold for motions of any cost: they prove nothing about
it. Their second variation does. A variation y that continues to an admissible motion has y^T Q y =
0, where Q is the second variation of the conditions with these multipliers; so where Q is definite,
no variation is left: the motion is the only one near (it is rigid), a minimum of any cost. Where Q
is semidefinite, variations are left that Q takes to zero. A limit at an end that those leave where
it is acts as an equation, and transversality asks nothing of it. Agrachev, Sarychev, Abnormal
sub-Riemannian geodesics, Ann. Inst. H. Poincare (C) 13, 1996.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.dual_phase import PhaseDual
from trajopt.certificate.held_variations import HeldPhase, held_ends
from trajopt.certificate.multipliers import endpoint_slopes
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.sampled_solution import SampledSolution
from trajopt.certificate.second_order_rows import BRIEF
from trajopt.certificate.table import ABNORMAL, COST_MULTIPLIER, FAMILIES, Check
from trajopt.second_order import Accessory, PhaseData, SecondVariation, dependent_conditions
from trajopt.second_order.accessory import accessory
from trajopt.second_order.definiteness import allowed
from trajopt.trajectory.curve import Curve

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROUNDS = 12  # of costates and multipliers of equations that depend on each other
ZERO = 1e-6  # of the largest eigenvalue or row: what the accuracy of an answer leaves of zero


@dataclass(frozen=True)
class Abnormality:
    """What multipliers without the cost say: how many there are, whether the motion is rigid, ends
    that act as given.

    ``held`` are (phase, 0 for the first or 1 for the last state, its row).
    """

    count: int = 0
    rigid: bool = False
    held: frozenset[tuple[int, int, int]] = field(default_factory=frozenset)


def abnormality(whole: SampledSolution, phases: Sequence[PhaseConditions]) -> Abnormality:
    """Look for multipliers without the cost, and for what their second variation excludes."""
    if any(np.abs(e.mixed_sides[np.abs(e.mixed_sides) < 2]).any() for e in phases):
        return Abnormality()  # multipliers of active mixed constraints would need signs,
    data = [HeldPhase(e).data for e in phases]
    if any(
        one.held(e.points[0][0])[0].mean(axis=1).max(initial=0.0) > BRIEF
        for e, one in zip(phases, data, strict=True)
    ):
        return Abnormality()  # and so would those that hold controls at bounds
    equations, limits = _equations(whole, phases), held_ends(whole, phases, strict=False)[0]
    found = _accessory(whole, data, equations)
    combinations = dependent_conditions(found)
    if combinations.shape[0] != 1:
        return Abnormality(combinations.shape[0])
    lengths = np.abs(found.C @ allowed(found)).max(axis=1, initial=0.0)
    multipliers = combinations[0] / np.where(lengths > 0, lengths, 1.0)
    own, curved = _without_cost(whole, phases, data, (equations, multipliers))
    without_cost = replace(whole, form=replace(whole.form, phi=0 * whole.form.phi))
    bent = _accessory(without_cost, own, equations, curved)
    basis, values = _restricted(bent)
    largest = float(values[int(np.argmax(np.abs(values)))]) if values.size else 0.0
    if abs(largest) <= ZERO:
        return Abnormality()  # a condition is stated twice
    values = values / largest
    if values.min() < -ZERO:
        return Abnormality(1)
    left = basis[:, np.abs(values) <= ZERO]
    if not left.shape[1]:
        return Abnormality(1, rigid=_definite(without_cost, own, equations, curved, largest))
    return Abnormality(
        1, held=_held(whole, _accessory(whole, data, limits), equations, limits, left)
    )


def _accessory(
    whole: SampledSolution,
    data: Sequence[PhaseData],
    fixed: tuple[Mask, Mask, Mask],
    multipliers: Array | None = None,
) -> Accessory:
    values = whole.s, whole.p, whole.multipliers if multipliers is None else multipliers
    return accessory(
        whole.form, data, values, whole.endpoints, fixed, (whole.sizes.s, whole.sizes.cost)
    )


def _equations(
    whole: SampledSolution, phases: Sequence[PhaseConditions]
) -> tuple[Mask, Mask, Mask]:
    """Which end values, conditions and static variables are given; limits are left out."""
    ends = []
    for e in phases:
        form = e.phase.form
        times = [form.start_time.fixed, form.end_time.fixed]
        rest = form.ends.column.numel() - 2 - 2 * form.x.numel()
        ends += [*times, form.x_start.fixed, form.x_end.fixed, np.zeros(rest, dtype=bool)]
    statics = [q.bound.fixed for q in whole.form.statics]
    return (
        np.concatenate(ends),
        whole.form.b_bound.fixed,
        np.concatenate([np.zeros(0, dtype=bool), *statics]),
    )


def _without_cost(
    whole: SampledSolution,
    phases: Sequence[PhaseConditions],
    data: Sequence[PhaseData],
    of: tuple[tuple[Mask, Mask, Mask], Array],
) -> tuple[list[PhaseData], Array]:
    """Phases with the costates that multipliers of the equations imply, and those multipliers of
    the conditions.
    """
    (ends, conditions, _), multipliers = of
    conditions_only = np.zeros(conditions.size)
    first = int(ends.sum())
    conditions_only[conditions] = multipliers[first : first + int(conditions.sum())]
    slope = conditions_only @ endpoint_slopes(whole)[1][:, : ends.size]
    slope[ends] += multipliers[:first]
    found, place = [], 0
    for e, one in zip(phases, data, strict=True):
        form, n = e.phase.form, e.phase.form.x.numel()
        total = form.ends.column.numel()
        weight = slope[place + total - form.l.numel() : place + total]
        dual = PhaseDual(replace(e, weight=weight), False)
        dual.costate = np.zeros_like(e.given[4])
        for _ in range(ROUNDS if dual.has_rows else 1):
            dual.about_answer()
            dual.sweep(slope[place + 2 + n : place + 2 + 2 * n])
        found.append(_with_costate(one, e, dual, weight))
        place += total
    return found, conditions_only


def _with_costate(data: PhaseData, e: PhaseConditions, dual: PhaseDual, weight: Array) -> PhaseData:
    """The phase of the second variation with other costates and multipliers."""
    ph, form = e.phase, e.phase.form
    shape = ph.times.shape
    nodes = (ph.times - ph.starts[:, None]) / ph.widths[:, None]
    values = dual.costate.T.reshape(*shape, -1)
    curve = Curve(ph.breaks, tuple(nodes), tuple(values))
    rows = np.zeros((form.g.numel() + form.c.numel(), ph.times.size))
    rows[: form.g.numel()] = dual.m[: form.g.numel()]
    rows[form.g.numel() + e.ham.mixed.of_path] = dual.m[form.g.numel() :]

    def at(times: Array) -> tuple[Array, Array, Array, Array]:
        return ph.x(times), ph.z(times), ph.u(times), curve.evaluate(times).T

    def multipliers(times: Array) -> Array:
        return np.array([np.interp(times, ph.times.ravel(), row) for row in rows]).reshape(
            len(rows), times.size
        )

    return replace(data, at=at, multipliers=multipliers, weight=weight)


def _restricted(problem: Accessory) -> tuple[Array, Array]:
    """Variations that keep the equations, as eigenvectors of the second variation, and its
    eigenvalues.
    """
    basis = allowed(problem)
    C = problem.C @ basis
    lengths = np.abs(C).max(axis=1, initial=0.0)
    _, singular, right = np.linalg.svd(
        C / np.where(lengths > 0, lengths, 1.0)[:, None], full_matrices=True
    )
    basis = basis @ right[int((singular > ZERO * singular.max(initial=0.0)).sum()) :].T
    size, rotation = np.linalg.eigh(basis.T @ problem.M @ basis)
    kept = size > 1e-12 * size[-1]
    basis = basis @ (rotation[:, kept] / np.sqrt(size[kept])[None, :])
    values, vectors = np.linalg.eigh(basis.T @ problem.Q @ basis)
    return basis @ vectors, values


def _definite(
    whole: SampledSolution,
    data: Sequence[PhaseData],
    fixed: tuple[Mask, Mask, Mask],
    multipliers: Array,
    sign: float,
) -> bool:
    """Whether the second variation without the cost is definite, with the sign that it has on
    variations that are constant on the intervals of the answer.
    """
    values = whole.s, whole.p, multipliers
    exact = SecondVariation(whole.form, tuple(data), values, whole.endpoints, fixed, whole.sizes.s)
    found = exact.inertia(float(np.sign(sign)))
    return found is not None and found.positive


def _held(
    whole: SampledSolution,
    problem: Accessory,
    equations: tuple[Mask, Mask, Mask],
    limits: tuple[Mask, Mask, Mask],
    left: Array,
) -> frozenset[tuple[int, int, int]]:
    """Ends on a limit that no variation moves."""
    rows = np.flatnonzero(limits[0])
    scale = np.abs(problem.C @ allowed(problem)).max(axis=1, initial=0.0)
    moved = np.abs(problem.C @ left).max(axis=1, initial=0.0) / np.where(scale > 0, scale, 1.0)
    found, first = set(), 0
    for k, ph in enumerate(whole.form.phases):
        n = ph.x.numel()
        for i in range(2 * n):
            place = first + 2 + i
            if (
                limits[0][place]
                and not equations[0][place]
                and moved[int(np.flatnonzero(rows == place)[0])] <= ZERO
            ):
                found.add((k, i // n, i % n))
        first += ph.ends.column.numel()
    return frozenset(found)


def abnormal_rows(
    whole: SampledSolution,
    phases: Sequence[PhaseConditions],
    so_far: Sequence[Check],
    gains: Callable[[Abnormality], list[Check]],
) -> list[Check]:
    """Rows that replace those of the same names, where failed ones are due to an abnormal answer;
    and one that says so.

    An abnormal answer gets the claims that its second variation proves. A rigid motion is a minimum
    of any cost. Where ends on limits act as given, ``gains`` are asked for without them. In other
    cases the rows stay as they are: conditions that hold whatever the cost is prove nothing about
    the cost.
    """
    names = {family for claim in ("extremal", "minimum") for family in FAMILIES[claim]}
    rows = [check for check in so_far if check.family in names]
    if all(check.ok for check in rows if check.family in FAMILIES["extremal"]):
        return []
    found = abnormality(whole, phases)
    if found.rigid:
        why = "the motion is rigid: no other admissible motion is near, whatever the cost"
        replaced = [
            replace(check, tolerance=np.inf, ok=True, remark=why)
            for check in rows
            if not (check.ok and check.applies)
        ]
        return [
            *replaced,
            Check(COST_MULTIPLIER, 0.0, np.inf, True, f"{ABNORMAL}; {why}"),
        ]
    if found.held:
        ends = [
            f"the {('first', 'last')[which]} {phases[k].phase.form.x_names[i]}"
            for k, which, i in sorted(found.held)
        ]
        remark = f"{ABNORMAL}; other conditions hold {', '.join(ends)} at its limit"
        return [*gains(found), Check(COST_MULTIPLIER, 0.0, np.inf, True, remark)]
    return [Check(COST_MULTIPLIER, 0.0, np.inf, True, ABNORMAL)] if found.count else []
