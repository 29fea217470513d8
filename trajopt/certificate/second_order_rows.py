"""The rows of the claim *minimum*: Legendre-Clebsch, Kelley's condition on singular arcs, and the
second variation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.feasibility_rows import worst
from trajopt.certificate.held_variations import FLAT, HeldPhase, held_ends
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.sampled_solution import SampledSolution, evaluated
from trajopt.certificate.table import NORMALITY, Check, failed, judged, skipped
from trajopt.second_order import (
    Linearized,
    PhaseData,
    QuadraticForm,
    SecondVariation,
    dependent_conditions,
    kelley_matrices,
)

Array = NDArray[np.float64]
FAMILY = "second order"
VARIATION = "second variation"
# of a phase: shorter stretches of an affine control between its bounds are switches that the mesh
# does not resolve
BRIEF = 0.02
STATIONS = np.array(
    [0.0694318442029737, 0.3300094782075719, 0.6699905217924281, 0.9305681557970263]
)


def second_order(
    whole: SampledSolution, phases: Sequence[PhaseConditions], tolerance: float
) -> list[Check]:
    """Second-order conditions, as far as the theory covers the answer."""
    held = [HeldPhase(e) for e in phases]
    reason = _not_covered(phases)
    try:
        found = [curvatures(e, one.data, whole) for e, one in zip(phases, held, strict=True)]
    except np.linalg.LinAlgError:
        return [
            skipped(VARIATION, "the algebraic equations do not determine the algebraic variables")
        ]
    worst_curvature = [
        (max(0.0, -float(c.min(initial=0.0))), f"at t = {t:.6g}") for c, t, _ in found
    ]
    rows = [worst("Legendre-Clebsch", worst_curvature, tolerance, "")]
    data = [one.data for one in held]
    kelley, singular = _kelley(phases, data, [flat for _, _, flat in found])
    rows += kelley
    if not rows[0].ok:
        return [*rows, failed(VARIATION, "H is not convex along free controls")]
    if reason or singular:
        return [*rows, skipped(VARIATION, reason or singular)]
    return [*rows, *_variation(whole, phases, held)]


def _not_covered(phases: Sequence[PhaseConditions]) -> str:
    if any(e.phase.form.g.numel() != e.phase.form.z.numel() for e in phases):
        return "the algebraic equations do not determine the algebraic variables"
    return ""


def _stations(data: PhaseData) -> Array:
    return np.asarray(
        (data.grid[:-1, None] + np.diff(data.grid)[:, None] * STATIONS[None, :]).ravel()
    )


def curvatures(
    e: PhaseConditions, data: PhaseData, whole: SampledSolution
) -> tuple[Array, float, NDArray[np.bool_]]:
    """The least curvature of H along free controls at many times, when it is least, and which free
    controls have none.
    """
    times, nu = _stations(data), data.form.u.numel()
    if not nu:
        return np.zeros(0), data.grid[0], np.zeros((0, times.size), dtype=bool)
    at = Linearized(data, (e.ham.s, whole.s), (e.ham.p, whole.p))(times)
    nX = at.A.shape[1]
    size = data.sizes[1]
    bend = (
        at.W[:, nX : nX + nu, nX : nX + nu]
        * size[None, :, None]
        * size[None, None, :]
        / e.largest_terms
    )
    projector = at.P * size[None, None, :] / size[None, :, None]
    share, basis = np.linalg.eigh(0.5 * (projector + projector.transpose(0, 2, 1)))
    least, flat = np.full(times.size, np.inf), np.zeros((nu, times.size), dtype=bool)
    for k in range(times.size):
        free = basis[k][:, share[k] > 0.5]
        if not free.shape[1] or not np.isfinite(bend[k]).all():
            continue
        values, vectors = np.linalg.eigh(free.T @ bend[k] @ free)
        least[k] = values[0]
        none = free @ vectors[:, np.abs(values) <= FLAT]
        flat[:, k] = (np.abs(none) > 0.1).any(axis=1) if none.shape[1] else False
    least = np.where(np.isfinite(least), least, 0.0)
    return least, float(times[int(np.argmin(least))]), flat


def _kelley(
    phases: Sequence[PhaseConditions], data: Sequence[PhaseData], flats: Sequence[NDArray[np.bool_]]
) -> tuple[list[Check], str]:
    """Kelley's condition where controls are singular; and why no second variation is computed
    there.
    """
    found: list[tuple[float, str]] = []
    reason = ""
    for e, one, flat in zip(phases, data, flats, strict=True):
        form = e.phase.form
        ordinary = flat & ~_in_constrained(e, _stations(one))[None, :]
        for controls in {tuple(np.flatnonzero(column)) for column in ordinary.T if column.any()}:
            here = np.all(ordinary == np.isin(np.arange(form.u.numel()), controls)[:, None], axis=0)
            names = ", ".join(form.u_names[i] for i in controls)
            if here.mean() < BRIEF and not _repeated(here):
                reason = reason or f"a switch of {names} is not resolved by the mesh"
                continue
            reason = f"{names} is singular: no sufficient condition is checked"
            if form.z.numel():
                return [
                    skipped("Kelley's condition", f"{names} is singular beside algebraic variables")
                ], reason
            result = kelley_matrices(
                e.ham.H, (form.t, form.x, e.ham.costate, form.u), form.f, [int(i) for i in controls]
            )
            if result is None:
                return [
                    skipped("Kelley's condition", f"{names} is singular of an order above two")
                ], reason
            found.append(_kelley_value(e, _stations(one)[here], result, [int(i) for i in controls]))
    return ([worst("Kelley's condition", found, 1e-6, "on singular arcs")] if found else []), reason


def _repeated(here: NDArray[np.bool_]) -> bool:
    """Whether such points follow each other over several intervals."""
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], here.astype(int), [0]]))))[::2]
    return bool(runs.max(initial=0) > 3 * STATIONS.size)


def _in_constrained(e: PhaseConditions, times: Array) -> NDArray[np.bool_]:
    inside = np.clip(
        np.searchsorted(e.phase.breaks, times, side="right") - 1, 0, e.phase.widths.size - 1
    )
    return np.asarray(e.fit.active[inside])


def _kelley_value(
    e: PhaseConditions, times: Array, result: tuple[int, Any], controls: list[int]
) -> tuple[float, str]:
    order, matrix = result
    ph = e.phase
    column = casadi.densify(matrix).reshape((-1, 1))
    function = casadi.Function("kelley", e.symbols, [column])
    values = evaluated(
        function, times[None, :], ph.x(times), ph.z(times), ph.u(times), ph.costate(times), *e.fixed
    )
    size = ph.spans[controls]
    square = (
        values.T.reshape(times.size, size.size, size.size)
        * size[None, :, None]
        * size[None, None, :]
    )
    scale = ph.measure.time ** (2 * order) / e.largest_terms
    least = np.linalg.eigvalsh(0.5 * (square + square.transpose(0, 2, 1)))[:, 0] * scale
    top = int(np.argmin(least))
    return max(0.0, -float(least[top])), f"at t = {times[top]:.6g}"


def _normality(problem: QuadraticForm) -> Check:
    """How many combinations of the conditions no variation changes.

    Both cases are extremals, so this row never fails.
    """
    count, dependent = problem.C.shape[0], dependent_conditions(problem).shape[0]
    if not dependent:
        return judged(
            NORMALITY,
            0.0,
            np.inf,
            "normal: variations change all conditions, multipliers are unique",
        )
    remark = (
        f"variations change only {count - dependent} of {count} conditions independently: "
        "multipliers are not unique"
    )
    return judged(NORMALITY, float(dependent), np.inf, remark)


def _variation(
    whole: SampledSolution, phases: Sequence[PhaseConditions], held: Sequence[HeldPhase]
) -> list[Check]:
    """The second variation is positive on all variations that limits with multipliers leave: no
    conjugate point. One that is not is an error only where these are the critical variations.
    """
    fixed, weak = held_ends(whole, phases)
    variation = SecondVariation(
        whole.form,
        tuple(one.data for one in held),
        (whole.s, whole.p, whole.multipliers),
        whole.endpoints,
        fixed,
        whole.sizes.s,
    )
    flows = variation.flows()
    if flows is None:
        reason = "H is not strictly convex along free controls: no sufficient condition is checked"
        return [skipped(VARIATION, reason)]
    constrained = any(one.rows.active for one in held)
    normality = [] if constrained else [_normality(variation.quadratic_forms(flows)[0])]
    found = variation.inertia_of(flows)
    if not found.dimension:
        remark = "the conditions leave nothing to vary"
        return [*normality, judged(VARIATION, 0.0, 0.0, remark)]
    remark = f"least of {found.dimension} eigenvalues {found.least:.2g}"
    undecided = next((one.undecided for one in held if one.undecided), "")
    if found.positive and not undecided:
        return [*normality, judged(VARIATION, 0.0, 0.0, remark)]
    if not found.positive and not found.negative:
        undecided = f"not strict: {remark}, which the accuracy changes by {found.change:.1g}"
    elif found.negative and not undecided:
        let_go = weak + [f"controls of '{one.e.phase.form.name}'" for one in held if one.weak]
        if let_go:
            undecided = f"not positive where limits without multipliers let go: {let_go[0]}"
        elif constrained:
            undecided = "not positive on the tangent of the active state constraints"
        elif not variation.every_order:
            where = "several controls switch together, or where arcs may appear"
            undecided = f"not positive where {where}"
    if undecided:
        return [*normality, skipped(VARIATION, undecided)]
    remark = f"a variation makes the cost smaller: {remark}, {found.index} negative"
    return [*normality, judged(VARIATION, -found.least, 0.0, remark)]
