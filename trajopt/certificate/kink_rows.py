"""Answers that stay on a kink of the model.

Derivatives of these operations at their kink are zero, or those of one side, so that no condition
on derivatives sees it. Clarke, Functional Analysis, Calculus of Variations and Optimal Control,
Springer 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.branches import branches
from trajopt.certificate.feasibility_rows import labels
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.sampled_solution import SampledSolution
from trajopt.certificate.table import Check, judged, skipped

Array = NDArray[np.float64]
KINKS = "kinks of the model"
# of an argument's size: on its kink
ON_KINK = 1e-9
# of a variable's size: the distance from a kink at which both sides are compared; and the change
# of H over that distance, relative to its size, that counts
APART, COUNTS = 1e-4, 1e-7
FEW = 3  # consecutive points: fewer are a crossing


def kink_rows(whole: SampledSolution, phases: Sequence[PhaseConditions]) -> list[Check]:
    """Whether the answer stays on a kink of the rates, the integrands or the costs of the ends.

    On a concave kink the cost falls to both sides, which refutes the answer if variations leave the
    kink. On a convex one zero is among the slopes, so that Pontryagin's conditions may hold, but no
    second-order condition is checked.
    """
    found = [
        (_sides_along(e), f"along the motion{label}")
        for e, label in zip(phases, labels(whole), strict=True)
    ]
    found.append((_sides_at_ends(whole), "at the ends"))
    on = [(value, where) for value, where in found if value is not None]
    if not on:
        return []
    value, where = min(on, key=lambda pair: pair[0])
    shape = "convex"
    row = judged(KINKS, 0.0, COUNTS, f"the motion stays on a convex kink {where}", "optimality")
    if value < -COUNTS:
        shape = "concave"
        remark = f"the cost falls to both sides of a kink on which the motion stays {where}"
        row = skipped(KINKS, remark, "optimality")
    remark = f"the motion stays on a {shape} kink: no sufficient condition is checked"
    return [row, skipped("second variation", remark, "second order")]


def _sides_along(e: PhaseConditions) -> float | None:
    """The least of H on both sides of a kink minus twice its value there, relative to its size per
    distance; None where the motion stays on no kink.
    """
    arguments, inputs = branches(e.ham.H, e.symbols)
    moved = [a for a in arguments if casadi.depends_on(a, inputs[1])]
    if not moved:
        return None
    stacked = casadi.vertcat(*moved)
    columns = casadi.horzcat(stacked, casadi.jacobian(stacked, inputs[1]))
    values = _at(columns, inputs, e).reshape(columns.shape[1], len(moved), -1)
    slopes, values = values[1:] * _reached(e)[:, None, None], values[0]
    size = e.phase.sizes[:, None, None]
    # of what changes it: the argument over the distances that the states travel
    scale = np.abs(slopes * size).sum(axis=0)
    on = (scale > 0) & (np.abs(values) <= ON_KINK * scale)
    least = None
    for k, here in enumerate(on):
        run = here[FEW - 1 :]
        for j in range(1, FEW):
            run = run & here[FEW - 1 - j : here.size - j]
        if not run.any():
            continue
        points = np.flatnonzero(here)
        direction = np.sign(slopes[:, k, points]) * (np.abs(slopes[:, k, points]) > 0)
        step = APART * e.phase.sizes[:, None] * direction
        at = tuple(part[:, points] for part in e.points)
        H = [e.values(e.ham.H, (at[0], at[1] + s * step, *at[2:]))[0] for s in (1, -1, 0)]
        bend = (H[0] + H[1] - 2 * H[2]) / (APART * e.largest_terms)
        value = float(np.nanmin(bend))
        least = value if least is None else min(least, value)
    return least


def _reached(e: PhaseConditions) -> NDArray[np.bool_]:
    """(nx,): states that controls, static variables or a free start can change."""
    form = e.phase.form
    found = ~np.asarray(form.x_start.fixed)
    for v in (form.u, e.ham.s, form.z):
        if v.numel():
            found |= _pattern(casadi.jacobian(form.f, v)).any(axis=1)
    by_states = _pattern(casadi.jacobian(form.f, form.x))
    for _ in range(found.size):
        found = found | (by_states & found[None, :]).any(axis=1)
    return np.asarray(found)


def _pattern(matrix: Any) -> NDArray[np.bool_]:
    """Which entries are not structurally zero."""
    found = np.zeros(matrix.shape, dtype=bool)
    rows, columns = matrix.sparsity().get_triplet()
    found[rows, columns] = True
    return found


def _at(expression: Any, inputs: Sequence[Any], e: PhaseConditions) -> Array:
    """An expression of the tape's symbols at the quadrature points; matrices by columns."""
    column = casadi.densify(expression).reshape((-1, 1))
    function = casadi.Function("argument", list(inputs), [column])
    columns = [np.asarray(part) for part in e.points]
    fixed = [np.repeat(v[:, None], columns[0].shape[1], axis=1) for v in e.fixed]
    return np.asarray(function(*columns, *fixed).full())


def _sides_at_ends(whole: SampledSolution) -> float | None:
    """The same of the cost and the weighted conditions, by the end states that may move."""
    form = whole.form
    weights = casadi.DM(whole.multipliers)
    total = form.phi + (casadi.dot(form.b, weights) if whole.multipliers.size else 0)
    every = [e for ph in form.phases for e in ph.ends]
    symbols = [*every, form.s, form.p]
    arguments, inputs = branches(total, symbols)
    if not arguments:
        return None
    sizes = np.cumsum([e.numel() for e in every])[:-1]
    column = casadi.vertcat(*inputs[: len(every)])
    slopes = casadi.jacobian(casadi.vertcat(*arguments), column)
    function = casadi.Function("ends", inputs, [casadi.vertcat(*arguments), slopes])
    cost = casadi.Function("cost", symbols, [total])

    def at(values: Array) -> list[Array]:
        return [*np.split(values, sizes), whole.s, whole.p]

    argument, slope = (np.asarray(part.full()) for part in function(*at(whole.endpoints)))
    units, free = _end_units(whole)
    least = None
    for own, by_end in zip(argument[:, 0], slope, strict=True):
        scale = float(np.abs(by_end * units).sum())
        step = APART * units * np.sign(by_end) * free
        if abs(own) > ON_KINK * max(scale, 1e-300) or not step.any():
            continue
        J = [float(cost(*at(whole.endpoints + s * step))) for s in (1, -1, 0)]
        value = (J[0] + J[1] - 2 * J[2]) / (APART * whole.sizes.cost)
        least = value if least is None else min(least, value)
    return least


def _end_units(whole: SampledSolution) -> tuple[Array, Array]:
    """Sizes of all endpoint values, and which of the states may move."""
    units, free = [], []
    for ph in whole.phases:
        rest = ph.form.ends.column.numel() - 2 - 2 * ph.form.x.numel()
        units.append(np.concatenate([[ph.measure.time] * 2, ph.sizes, ph.sizes, np.ones(rest)]))
        fixed = [ph.form.x_start.fixed, ph.form.x_end.fixed]
        free.append(np.concatenate([[False] * 2, *[~f for f in fixed], np.ones(rest, dtype=bool)]))
    return np.concatenate(units), np.concatenate(free)
