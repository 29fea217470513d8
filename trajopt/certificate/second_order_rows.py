"""The rows of the claim *minimum*: Legendre-Clebsch, Kelley's condition on singular arcs, and the second variation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.feasibility_rows import conditions, worst
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.sampled_solution import SampledSolution, evaluated
from trajopt.certificate.table import NORMALITY, Check, judged, skipped
from trajopt.second_order import Accessory, PhaseData, definiteness, dependent_conditions, kelley_matrices
from trajopt.second_order.accessory import accessory
from trajopt.second_order.linearized import points

Array = NDArray[np.float64]
FAMILY = "second order"
VARIATION = "second variation"
MOST_INTERVALS, MOST_VARIATIONS = 120, 480
ON_BOUND = 1e-4  # of a control's size
JUMP = 1e-3  # of a control's size, from one interval to the next
FLAT = 1e-7  # curvature of H, relative to its terms, that counts as none
BRIEF = 0.02  # of a phase: shorter stretches of an affine control between its bounds are switches that the mesh does not resolve
ZERO = 1e-9  # of the largest eigenvalue
STATIONS = np.array([0.0694318442029737, 0.3300094782075719, 0.6699905217924281, 0.9305681557970263])


def second_order(whole: SampledSolution, phases: Sequence[PhaseConditions], tolerance: float) -> list[Check]:
    """Second-order conditions, as far as the theory covers the answer."""
    reason = _not_covered(phases)
    try:
        data = [phase_data(e) for e in phases]
        found = [curvatures(e, one, whole) for e, one in zip(phases, data, strict=True)]
    except np.linalg.LinAlgError:
        return [skipped(VARIATION, "the algebraic equations do not determine the algebraic variables", FAMILY)]
    worst_curvature = [(max(0.0, -float(c.min(initial=0.0))), f"at t = {t:.6g}") for c, t, _ in found]
    rows = [worst("Legendre-Clebsch", worst_curvature, tolerance, "", FAMILY)]
    kelley, singular = _kelley(phases, data, [flat for _, _, flat in found])
    rows += kelley
    if reason or singular:
        return [*rows, skipped(VARIATION, reason or singular, FAMILY)]
    problem = accessory(
        whole.form, data, (whole.s, whole.p, whole.multipliers), whole.endpoints, fixed_values(whole, phases),
        (whole.sizes.s, whole.sizes.cost),
    )  # fmt: skip
    return [*rows, _normality(problem), _variation(whole, problem)]


def _not_covered(phases: Sequence[PhaseConditions]) -> str:
    for e in phases:
        ph = e.phase.form
        if e.fit.strength > 1e-9:
            return "a state constraint is active: no sufficient condition is checked"
        if ph.g.numel() != ph.z.numel():
            return "the algebraic equations do not determine the algebraic variables"
    return ""


def phase_data(e: PhaseConditions) -> PhaseData:
    ph, form = e.phase, e.phase.form
    breaks, arcs = ph.breaks, _arcs(e)
    most = max(8, min(MOST_INTERVALS, MOST_VARIATIONS // max(form.u.numel(), 1)))
    if breaks.size - 1 > most:
        kept = np.unique(np.linspace(0, breaks.size - 1, most + 1).astype(int))
        breaks = np.unique(np.concatenate([breaks[kept], arcs]))
    t = e.points[0][0]
    multipliers = _all_multipliers(e)
    bounds = np.abs(e.points[3] - form.u_bound.lower[:, None]), np.abs(e.points[3] - form.u_bound.upper[:, None])
    held_u = np.minimum(*bounds) <= ON_BOUND * ph.spans[:, None] if form.u.numel() else np.zeros((0, t.size), dtype=bool)
    held_c = np.abs(multipliers[form.g.numel() :]) * ph.measure.c[:, None] > 1e-9 * e.power
    held_c |= form.c_bound.fixed[:, None]

    def at(times: Array) -> tuple[Array, Array, Array, Array]:
        return ph.x(times), ph.z(times), ph.u(times), ph.costate(times)

    def interpolated(times: Array) -> Array:
        return np.array([np.interp(times, t, row) for row in multipliers]).reshape(len(multipliers), times.size)

    def held(times: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        nearest = np.clip(np.searchsorted(0.5 * (t[1:] + t[:-1]), times), 0, t.size - 1)
        return held_u[:, nearest], held_c[:, nearest]

    sizes = ph.sizes, ph.spans, ph.measure.time
    return PhaseData(form, breaks, arcs, at, interpolated, held, e.weight, sizes, ph.deadline)


def _all_multipliers(e: PhaseConditions) -> Array:
    """Of the algebraic equations, then of all path constraints."""
    form = e.phase.form
    found = np.zeros((form.g.numel() + form.c.numel(), e.points[0].size))
    own = e._multipliers(e.points[4])
    found[: form.g.numel()] = own[: form.g.numel()]
    found[form.g.numel() + e.ham.mixed.of_path] = own[form.g.numel() :]
    return found


def _arcs(e: PhaseConditions) -> Array:
    """The ends of the phase and the times at which a control jumps."""
    ph, count = e.phase, e.phase.widths.size
    u = e.at_breaks[3]
    if not u.shape[0] or count < 2:
        return ph.breaks[[0, -1]]
    step = u[:, 1:count] - u[:, count : 2 * count - 1]
    jump = np.abs(step) > JUMP * ph.spans[:, None]
    here = np.flatnonzero(jump.any(axis=0))
    jump[:, here] &= _between_minima(e, here, step[:, here])
    return np.unique(np.concatenate([ph.breaks[[0, -1]], ph.breaks[1:-1][jump.any(axis=0)]]))


def _between_minima(e: PhaseConditions, inner: NDArray[np.intp], step: Array) -> NDArray[np.bool_]:
    """(nu, breaks): whether H may have a minimum on both sides of a step of the controls, each alone or all together.

    Where H is strictly convex along a step it has one minimum, and the step is an error of the answer. Such a break moved
    while the controls are kept is the same motion again: a variation without a second derivative.
    """
    count = e.phase.widths.size
    before = tuple(part[:, count : 2 * count - 1][:, inner] for part in e.at_breaks)
    multipliers = e._multipliers(e.points[4])[:, (inner + 1) * e.phase.times.shape[1] - 1]
    found = np.zeros(step.shape, dtype=bool)
    alone = np.eye(step.shape[0], dtype=bool)
    for moved in (*alone, np.ones(step.shape[0], dtype=bool)):
        direction = np.where(moved[:, None], step, 0.0)
        H = [_augmented(e, (*before[:3], before[3] + share * direction, before[4]), multipliers) for share in (0.0, 0.5, 1.0)]
        length = (np.abs(direction) / e.phase.spans[:, None]).max(axis=0)
        convex = 4 * (H[0] + H[2] - 2 * H[1]) > FLAT * e.largest_terms * length**2
        found[moved] |= (~convex & (length > JUMP))[None, :]
    return found


def _augmented(e: PhaseConditions, at: tuple[Array, ...], multipliers: Array) -> Array:
    """H + multipliers . (algebraic equations, mixed constraints)."""
    rows = casadi.vertcat(e.phase.form.g, e.ham.mixed.expression)
    return np.asarray(
        e.values(e.ham.H, at)[0] + (e.values(rows, at) * multipliers).sum(axis=0) if rows.numel() else e.values(e.ham.H, at)[0]
    )


def _stations(data: PhaseData) -> Array:
    return np.asarray((data.grid[:-1, None] + np.diff(data.grid)[:, None] * STATIONS[None, :]).ravel())


def curvatures(e: PhaseConditions, data: PhaseData, whole: SampledSolution) -> tuple[Array, float, NDArray[np.bool_]]:
    """The least curvature of H along free controls at many times, when it is least, and which free controls have none."""
    times, nu = _stations(data), data.form.u.numel()
    if not nu:
        return np.zeros(0), data.grid[0], np.zeros((0, times.size), dtype=bool)
    at = points(data, times, (e.ham.s, whole.s), (e.ham.p, whole.p))
    nX = at.A.shape[1]
    size = data.sizes[1]
    bend = at.W[:, nX : nX + nu, nX : nX + nu] * size[None, :, None] * size[None, None, :] / e.largest_terms
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
    """Kelley's condition where controls are singular; and why no second variation is computed there."""
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
                return [skipped("Kelley's condition", f"{names} is singular beside algebraic variables", FAMILY)], reason
            result = kelley_matrices(e.ham.H, (form.t, form.x, e.ham.costate, form.u), form.f, [int(i) for i in controls])
            if result is None:
                return [skipped("Kelley's condition", f"{names} is singular of an order above two", FAMILY)], reason
            found.append(_kelley_value(e, _stations(one)[here], result, [int(i) for i in controls]))
    return ([worst("Kelley's condition", found, 1e-6, "on singular arcs", FAMILY)] if found else []), reason


def _repeated(here: NDArray[np.bool_]) -> bool:
    """Whether such points follow each other over several intervals."""
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], here.astype(int), [0]]))))[::2]
    return bool(runs.max(initial=0) > 3 * STATIONS.size)


def _in_constrained(e: PhaseConditions, times: Array) -> NDArray[np.bool_]:
    inside = np.clip(np.searchsorted(e.phase.breaks, times, side="right") - 1, 0, e.phase.widths.size - 1)
    return np.asarray(e.fit.active[inside])


def _kelley_value(e: PhaseConditions, times: Array, result: tuple[int, Any], controls: list[int]) -> tuple[float, str]:
    order, matrix = result
    ph = e.phase
    column = casadi.densify(matrix).reshape((-1, 1))
    function = casadi.Function("kelley", e.symbols, [column])
    values = evaluated(function, times[None, :], ph.x(times), ph.z(times), ph.u(times), ph.costate(times), *e.fixed)
    size = ph.spans[controls]
    square = values.T.reshape(times.size, size.size, size.size) * size[None, :, None] * size[None, None, :]
    scale = ph.measure.time ** (2 * order) / e.largest_terms
    least = np.linalg.eigvalsh(0.5 * (square + square.transpose(0, 2, 1)))[:, 0] * scale
    top = int(np.argmin(least))
    return max(0.0, -float(least[top])), f"at t = {times[top]:.6g}"


def _normality(problem: Accessory) -> Check:
    """How many combinations of the conditions no variation changes. Both cases are extremals, so this row never fails."""
    count, dependent = problem.C.shape[0], dependent_conditions(problem).shape[0]
    if not dependent:
        return judged(NORMALITY, 0.0, np.inf, "normal: variations change all conditions, multipliers are unique", FAMILY)
    remark = f"variations change only {count - dependent} of {count} conditions independently: multipliers are not unique"
    return judged(NORMALITY, float(dependent), np.inf, remark, FAMILY)


def _variation(whole: SampledSolution, problem: Accessory) -> Check:
    """The second variation over all variations that the limits allow is positive: no conjugate point."""
    found = definiteness(problem, whole.sizes.cost)
    if found.dimension == 0:
        return judged(VARIATION, 0.0, 0.0, "the conditions leave nothing to vary", FAMILY)
    remark = f"least of {found.dimension} eigenvalues {found.least:.2g}, largest {found.largest:.2g}"
    if abs(found.least) <= ZERO * found.largest:
        return skipped(VARIATION, f"not strict: {remark}", FAMILY)
    if found.least < 0:
        remark = f"a variation makes the cost smaller: {remark}"
    return judged(VARIATION, max(0.0, -found.least), 0.0, remark, FAMILY)


def fixed_values(
    whole: SampledSolution, phases: Sequence[PhaseConditions]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which endpoint values, conditions and static variables do not vary: given ones, and those on a limit."""
    ends = []
    for e in phases:
        ph, form = e.phase, e.phase.form
        x = ph.x(np.array([ph.given.t0]))[:, 0], ph.x(np.array([ph.given.tf]), left=True)[:, 0]
        times = [_on_limit(np.array([t]), own.lower, own.upper, ph.measure.time) for t, own in (
            (ph.given.t0, form.start_time), (ph.given.tf, form.end_time))]  # fmt: skip
        states = [_on_limit(v, b.lower, b.upper, ph.sizes) for v, b in zip(x, (form.x_start, form.x_end), strict=True)]
        inputs = np.zeros(2 * (form.z.numel() + form.u.numel()) + form.l.numel(), dtype=bool)
        ends += [*times, *states, inputs]
    bound = whole.form.b_bound
    active = bound.fixed
    if whole.form.b.numel():
        value, strength = conditions(whole), np.abs(whole.multipliers) * whole.sizes.b / whole.sizes.cost
        active = active | (_on_limit(value, bound.lower, bound.upper, whole.sizes.b) & (strength > 1e-9))
    statics = [_on_limit(whole.s[q.rows], q.bound.lower, q.bound.upper, whole.sizes.s[q.rows]) for q in whole.form.statics]
    return np.concatenate(ends), active, np.concatenate([np.zeros(0, dtype=bool), *statics])


def _on_limit(value: Array, lower: Array, upper: Array, size: Array | float) -> NDArray[np.bool_]:
    near = 1e-6 * np.asarray(size)
    return np.asarray((value <= lower + near) | (value >= upper - near))
