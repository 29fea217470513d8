"""Answers that stay on a kink of the model, or cross one.

Derivatives of these operations at their kink are zero, or those of one side, so that no condition
on derivatives sees it. Clarke, Functional Analysis, Calculus of Variations and Optimal Control,
Springer 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.branches import branches
from trajopt.certificate.feasibility_rows import labels
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.sampled_solution import SampledSolution
from trajopt.certificate.sizes import reached
from trajopt.certificate.table import Check, judged, skipped

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
KINKS = "kinks of the model"
# of an argument's size: on its kink
ON_KINK = 1e-9
# of a variable's size: the distance from a kink at which both sides are compared; and the change
# of slope, relative to the size of H, that counts
APART, COUNTS = 1e-4, 1e-7
CLOSER = 10.0  # times: a second distance tells a kink from a curvature and from a step
FEW = 3  # consecutive points: fewer are a crossing
MOST_TOGETHER = 6  # kinks that meet, of which all edges between their sides are tried
SOME = 12  # points at which these are tried


@dataclass(frozen=True, eq=False)
class KinksAlong:
    """Kinks of the states along a phase: what operations branch on.

    ``slopes`` (arguments, nx, N) are by states that variations reach, times their sizes; ``on``
    (arguments, N) says where the motion stays on a kink, ``across`` the points before it crosses
    one.
    """

    values: Array
    slopes: Array
    on: Mask
    across: Mask

    @staticmethod
    def of(e: PhaseConditions) -> KinksAlong | None:
        """None for a phase without."""
        rows = casadi.vertcat(e.ham.H, e.phase.form.g, e.ham.mixed.expression)
        arguments, inputs = branches(rows, e.symbols)
        moved = [a for a in arguments if casadi.depends_on(a, inputs[1])]
        if not moved:
            return None
        stacked = casadi.vertcat(*moved)
        columns = casadi.horzcat(stacked, casadi.jacobian(stacked, inputs[1]))
        found = _at(columns, inputs, e).reshape(columns.shape[1], len(moved), -1)
        values, every = found[0], found[1:] * e.phase.sizes[:, None, None]
        slopes = np.nan_to_num(every * reached(e.phase.form, e.ham.s)[:, None, None]).transpose(
            1, 0, 2
        )
        # of what changes it: the argument over the distances that the states travel
        scale = np.abs(slopes).sum(axis=1)
        near = (scale > 0) & (np.abs(values) <= ON_KINK * scale)
        # Fewer points than that in a row are a crossing.
        on = np.zeros_like(near)
        for first in range(near.shape[1] - FEW + 1):
            run = near[:, first : first + FEW].all(axis=1)
            on[run, first : first + FEW] = True
        across = np.zeros_like(near)
        across[:, :-1] = (np.sign(values[:, 1:]) != np.sign(values[:, :-1])) & (scale[:, :-1] > 0)
        return KinksAlong(values, slopes, on, across & ~on & ~np.roll(on, -1, axis=1))


def kink_rows(whole: SampledSolution, phases: Sequence[PhaseConditions]) -> list[Check]:
    """Whether the answer stays on a kink of the rates, the integrands or the costs of the ends.

    On a concave kink the cost falls to both sides, which refutes the answer if variations leave the
    kink. On a convex one zero is among the slopes, so that Pontryagin's conditions may hold, but no
    second-order condition is checked; neither where second derivatives jump along the motion, or
    where it crosses a concave kink or a step.
    """
    bends = []
    for e, label in zip(phases, labels(whole), strict=True):
        bends += [(bend, f"along the motion{label}") for bend in _bends_along(e)]
        bends += [(bend, f"of a static variable{label}") for bend in _bends_of_statics(e)]
    bends += [(bend, "at the ends") for bend in _bends_at_ends(whole)]
    if not bends:
        crossed = any(bend < -COUNTS for e in phases for bend in _bends_across(e))
        reason = "the motion crosses a concave kink or a step: no sufficient condition is checked"
        return [skipped("second variation", reason)] if crossed else []
    bend, where = min(bends, key=lambda pair: pair[0])
    if max(abs(b) for b, _ in bends) <= COUNTS:
        reason = "second derivatives jump along the motion: no sufficient condition is checked"
        return [skipped("second variation", reason)]
    shape = "convex"
    row = judged(KINKS, 0.0, COUNTS, f"the motion stays on a convex kink {where}")
    if bend < -COUNTS:
        shape = "concave"
        remark = f"the cost falls to both sides of a kink on which the motion stays {where}"
        row = skipped(KINKS, remark)
    remark = f"the motion stays on a {shape} kink: no sufficient condition is checked"
    return [row, skipped("second variation", remark)]


def _bend(value: Callable[[float], Array]) -> tuple[Array, Mask]:
    """The change of slope of values at zero, from those at distances to both sides: without what a
    curvature adds; and whether it is a step.
    """
    here, found = value(0.0), []
    for distance in (APART, APART / CLOSER):
        found.append((value(distance) + value(-distance) - 2 * here) / distance)
    far, near = found
    step = (np.abs(near) > 0.5 * CLOSER * np.abs(far)) & (np.abs(near) > 0)
    return (CLOSER * near - far) / (CLOSER - 1), step


def _directions(slopes: Array) -> Iterator[Array]:
    """Directions that find where a function with kinks falls to both sides, if it does so: the
    kinks' own, and the edges between the sides of several.

    ``slopes`` (kinks, variables). The function is linear on the cones between the kinks, so that
    its least slope is along an edge of one of them.
    """
    for own in slopes:
        yield np.sign(own)
    if len(slopes) > MOST_TOGETHER:
        return
    _, singular, basis = np.linalg.svd(slopes, full_matrices=False)
    rank = int((singular > ON_KINK * singular[0]).sum())
    for some in combinations(range(len(slopes)), rank - 1) if rank > 1 else ():
        edge = np.linalg.svd(slopes[list(some)] @ basis[:rank].T)[2][-1] @ basis[:rank]
        yield edge / np.abs(edge).max()


def _bends_along(e: PhaseConditions) -> Iterator[float]:
    """Of H, relative to its size, over the kinks on which the motion stays."""
    kinks = e.kinks
    if kinks is None:
        return
    for active in {tuple(np.flatnonzero(column)) for column in kinks.on.T if column.any()}:
        here = np.flatnonzero(
            (kinks.on == np.isin(np.arange(len(kinks.on)), active)[:, None]).all(axis=0)
        )
        here = here[np.unique(np.linspace(0, here.size - 1, SOME).astype(int))]
        for k in here:
            for direction in _directions(kinks.slopes[list(active), :, k]):
                yield float(_bend_at(e, np.array([k]), direction[:, None], 0.0)[0][0])


def _bends_across(e: PhaseConditions) -> Iterator[float]:
    """The same where the motion crosses a kink; minus infinity for a step."""
    kinks = e.kinks
    if kinks is None:
        return
    for argument, k in zip(*np.nonzero(kinks.across), strict=True):
        slope = kinks.slopes[argument, :, k]
        if not slope.any():
            continue
        to_kink = -kinks.values[argument, k] / float(slope @ slope) * slope
        bend, step = _bend_at(e, np.array([k]), np.sign(slope)[:, None], to_kink[:, None])
        yield -np.inf if step[0] else float(bend[0])


def _bend_at(
    e: PhaseConditions, k: NDArray[np.intp], direction: Array, shift: Array | float
) -> tuple[Array, Mask]:
    """Of H at some points, beside states that are shifted, in units of their sizes."""
    at, size = tuple(part[:, k] for part in e.points), e.phase.sizes[:, None]

    def value(distance: float) -> Array:
        moved = at[1] + size * (shift + distance * direction)
        return e.lagrangian((at[0], moved, *at[2:]), k) / e.largest_terms

    return _bend(value)


def _bends_of_statics(e: PhaseConditions) -> Iterator[float]:
    """Of the integral of H, relative to the cost, by static variables that operations branch on."""
    rows = casadi.vertcat(e.ham.H, e.phase.form.g, e.ham.mixed.expression)
    arguments, inputs = branches(rows, e.symbols)
    weight = e.phase.quadrature.ravel()
    for i in range(e.phase.s.size):
        if not any(casadi.depends_on(a, inputs[6][i]) for a in arguments):
            continue
        unit = np.eye(e.phase.s.size)[i] * max(abs(e.phase.s[i]), 1.0)

        def value(distance: float, unit: Array = unit) -> Array:
            moved = e.lagrangian(statics=e.phase.s + distance * unit)
            return np.atleast_1d(moved @ weight / e.cost)

        bend = float(_bend(value)[0][0])
        if abs(bend) > COUNTS:
            yield bend


def _at(expression: Any, inputs: Sequence[Any], e: PhaseConditions) -> Array:
    """An expression of the tape's symbols at the quadrature points; matrices by columns."""
    column = casadi.densify(expression).reshape((-1, 1))
    function = casadi.Function("argument", list(inputs), [column])
    columns = [np.asarray(part) for part in e.given]
    fixed = [np.repeat(v[:, None], columns[0].shape[1], axis=1) for v in e.fixed]
    return np.asarray(function(*columns, *fixed).full())


@dataclass(frozen=True, eq=False)
class _KinksAtEnds:
    """Kinks of the cost and the weighted conditions on which the ends are.

    ``values`` and their ``units`` are end values, then static variables; ``slopes`` (kinks, values)
    by those that may move.
    """

    total: Any
    values: Array
    units: Array
    slopes: Array

    @staticmethod
    def of(whole: SampledSolution) -> _KinksAtEnds | None:
        form = whole.form
        weights = casadi.DM(whole.multipliers)
        total = form.phi + (casadi.dot(form.b, weights) if whole.multipliers.size else 0)
        arguments, inputs = branches(total, _end_symbols(whole))
        if not arguments:
            return None
        slopes = casadi.jacobian(casadi.vertcat(*arguments), casadi.vertcat(*inputs[:-1]))
        function = casadi.Function("ends", inputs, [casadi.vertcat(*arguments), slopes])
        values = np.concatenate([whole.endpoints, whole.s])
        found = [np.asarray(part.full()) for part in function(*_at_ends(whole, values))]
        units, free = _end_units(whole)
        by_value = np.nan_to_num(found[1]) * units
        scale = np.maximum(np.abs(by_value).sum(axis=1), 1e-300)
        by_value = by_value * free
        on = (np.abs(found[0][:, 0]) <= ON_KINK * scale) & by_value.any(axis=1)
        return _KinksAtEnds(total, values, units, by_value[on]) if on.any() else None


def _end_symbols(whole: SampledSolution) -> list[Any]:
    form = whole.form
    return [*[e for ph in form.phases for e in ph.ends], form.s, form.p]


def _at_ends(whole: SampledSolution, values: Array) -> list[Array]:
    cuts = np.cumsum([e.numel() for ph in whole.form.phases for e in ph.ends])
    return [*np.split(values, cuts), whole.p]


def _bends_at_ends(whole: SampledSolution) -> Iterator[float]:
    """Of the cost and the weighted conditions, by end values and static variables that may move."""
    kinks = _KinksAtEnds.of(whole)
    if kinks is None:
        return
    cost = casadi.Function("cost", _end_symbols(whole), [kinks.total])
    for direction in _directions(kinks.slopes):

        def value(distance: float, step: Array = kinks.units * direction) -> Array:
            moved = kinks.values + distance * step
            return np.atleast_1d(float(cost(*_at_ends(whole, moved))) / whole.sizes.cost)

        yield float(_bend(value)[0][0])


def generalized_at_ends(whole: SampledSolution, gradient: Callable[..., Array]) -> Array:
    """``gradient`` of the cost and the weighted conditions by end values, then static variables; on
    a kink the one between its sides that fits the costates best.
    """
    values = np.concatenate([whole.endpoints, whole.s])
    found = gradient(*_at_ends(whole, values))
    kinks = _KinksAtEnds.of(whole)
    if kinks is None:
        return found
    step = APART / CLOSER * kinks.units * next(_directions(kinks.slopes))
    sides = [gradient(*_at_ends(whole, values + side * step)) for side in (1.0, -1.0)]
    middle, jump = 0.5 * (sides[0] + sides[1]), sides[0] - sides[1]
    told, known = [], []
    for ph in whole.phases:
        n, rest = ph.form.x.numel(), ph.form.ends.column.numel() - 2
        ends = np.array([ph.given.t0]), np.array([ph.given.tf])
        told += [np.zeros(2), -ph.costate(ends[0])[:, 0], ph.costate(ends[1], left=True)[:, 0]]
        told += [np.zeros(rest - 2 * n)]
        known += [np.zeros(2), np.ones(2 * n), np.zeros(rest - 2 * n)]
    told, known = [*told, 0 * whole.s], [*known, 0 * whole.s + 1]
    weight = np.concatenate(known) * kinks.units**2
    length = float(weight @ jump**2)
    share = float((weight * jump) @ (np.concatenate(told) - middle)) / length if length else 0.0
    return np.asarray(middle + np.clip(share, -0.5, 0.5) * jump)


def _end_units(whole: SampledSolution) -> tuple[Array, Mask]:
    """Sizes of all endpoint values and static variables, and which of them may move."""
    units, free = [], []
    for ph in whole.phases:
        form = ph.form
        rest = np.ones(form.ends.column.numel() - 2 - 2 * form.x.numel())
        units.append(np.concatenate([[ph.measure.time] * 2, ph.sizes, ph.sizes, rest]))
        bounds = form.start_time, form.end_time, form.x_start, form.x_end
        free.append(np.concatenate([*[~bound.fixed for bound in bounds], rest > 0]))
    statics = [~q.bound.fixed for q in whole.form.statics]
    return np.concatenate([*units, whole.sizes.s]), np.concatenate([*free, *statics])


def with_generalized(
    e: PhaseConditions, found: dict[str, Array], at: tuple[Array, ...], multipliers: Array
) -> dict[str, Array]:
    """Derivatives of H where the motion stays on a kink: of the slopes between those of its two
    sides the one that fits the costates best (Clarke's generalized gradient).

    A derivative taken on the kink is that of the side that round-off chooses.
    """
    kinks = e.kinks
    if kinks is None or not kinks.on.any():
        return found
    ph, here = e.phase, np.flatnonzero(kinks.on.any(axis=0))
    first = np.argmax(kinks.on[:, here], axis=0)
    direction = np.sign(kinks.slopes[first, :, here]).T
    some, sides = tuple(part[:, here] for part in at), []
    for side in (1.0, -1.0):
        moved = some[1] + side * APART / CLOSER * ph.sizes[:, None] * direction
        one = e.augmented((some[0], moved, *some[2:]), multipliers[:, here])
        sides.append(np.vstack([one["x"], one["t"]]))
    middle, jump = 0.5 * (sides[0] + sides[1]), sides[0] - sides[1]
    rate = np.vstack([c.evaluate(some[0][0], order=1).T for c in ph._costates])
    n, weight = len(rate), e.costate_sizes[:, None] ** -2
    missing = -rate - middle[:n]
    length = (weight * jump[:n] ** 2).sum(axis=0)
    share = (weight * jump[:n] * missing).sum(axis=0) / np.where(length > 0, length, 1.0)
    fitted = middle + np.clip(share, -0.5, 0.5) * jump
    whole = {name: part.copy() for name, part in found.items()}
    whole["x"][:, here], whole["t"][:, here] = fitted[:n], fitted[n:]
    return whole
