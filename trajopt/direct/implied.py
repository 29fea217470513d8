"""Bounds of controls that a path constraint keeps anyway: a unit vector of components between -1 and 1, a thrust of limited size.

Such a bound touches the constraint at one point, and there both push in the same direction: their multipliers cannot be told
apart, and a barrier on the bound keeps the solver away from a place where the answer may well be. So it is moved out of the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.bounds import Bound
from trajopt.normal_form import NormalForm, PhaseForm, Quantity

Array = NDArray[np.float64]

AWAY = 2.0  # times the reach of the constraint: where the bounds are moved to
NEAR = 1.5  # times the reach: bounds beyond that are out of the way already
ROUND_OFF = 1e-9  # of the reach


def without_implied_bounds(form: NormalForm, parameters: Array) -> NormalForm:
    """The same problem with the bounds that its path constraints imply moved away; the very same form where there are none."""
    phases = tuple(_loosened(form, phase, parameters) for phase in form.phases)
    same = all(a is b for a, b in zip(phases, form.phases, strict=True))
    return form if same else replace(form, phases=phases)


def _loosened(form: NormalForm, phase: PhaseForm, parameters: Array) -> PhaseForm:
    bound = phase.u_bound
    lower, upper = bound.lower, bound.upper
    for low, high in _reaches(form, phase, parameters):
        lower, upper = moved_away(Bound(lower, upper), low, high)
    if np.array_equal(lower, bound.lower) and np.array_equal(upper, bound.upper):
        return phase
    return replace(phase, controls=tuple(_rebound(q, lower[q.rows], upper[q.rows]) for q in phase.controls))


def moved_away(bound: Bound, low: Array, high: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of what stays between ``low`` and ``high`` anyway, out of the way where they touch that."""
    with np.errstate(invalid="ignore"):  # a constraint that says nothing about a variable reaches to infinity
        middle, reach = 0.5 * (low + high), 0.5 * (high - low)
        below = (bound.lower <= low + ROUND_OFF * reach) & (bound.lower > middle - NEAR * reach)
        above = (bound.upper >= high - ROUND_OFF * reach) & (bound.upper < middle + NEAR * reach)
        return np.where(below, middle - AWAY * reach, bound.lower), np.where(above, middle + AWAY * reach, bound.upper)


def _rebound(q: Quantity, lower: Array, upper: Array) -> Quantity:
    """The control with other bounds, and the size that its own had."""
    sides = np.abs([q.bound.lower, q.bound.upper])
    size = np.where(np.isfinite(sides), sides, 0.0).max(axis=0)
    scale = q.scale if q.scale is not None else np.where(size > 0, size, 1.0)
    moved = not (np.array_equal(lower, q.bound.lower) and np.array_equal(upper, q.bound.upper))
    return replace(q, bound=Bound(lower, upper, q.bound.guess), scale=scale) if moved else q


def _reaches(form: NormalForm, phase: PhaseForm, parameters: Array) -> Iterator[tuple[Array, Array]]:
    """(controls,), (controls,): the least and largest values that each ellipsoid leaves to the controls."""
    bounded = np.isfinite(phase.u_bound.lower) | np.isfinite(phase.u_bound.upper)
    if not bounded.any():
        return
    others = [symbol for symbol in (phase.t, phase.x, phase.z, form.s) if symbol.numel()]
    for row in range(phase.c.numel()):
        expression = phase.c[row]
        if any(casadi.depends_on(expression, other) for other in others) or not casadi.depends_on(expression, phase.u):
            continue
        upper, lower = float(phase.c_bound.upper[row]), float(phase.c_bound.lower[row])
        if expression.is_op(casadi.OP_SQRT) and upper >= 0:  # a length
            expression, upper, lower = expression.dep(0), upper**2, -np.inf
        if not casadi.is_quadratic(expression, phase.u):
            continue
        A, b, c = _coefficients(form, phase, expression, parameters)
        for sign, limit in ((1.0, upper), (-1.0, -lower)):
            reach = ellipsoid(sign * A, sign * b, limit - sign * c) if np.isfinite(limit) else None
            if reach is not None:
                yield reach


def _coefficients(form: NormalForm, phase: PhaseForm, expression: Any, parameters: Array) -> tuple[Array, Array, float]:
    """A, b, c of u . A u / 2 + b . u + c."""
    parts = [casadi.densify(part) for part in casadi.quadratic_coeff(expression, phase.u)]
    A, b, c = casadi.Function("coefficients", [form.p], parts)(parameters)
    return np.asarray(A), np.asarray(b).ravel(), float(c)


def ellipsoid(A: Array, b: Array, limit: float) -> tuple[Array, Array] | None:
    """The box around all u with u . A u / 2 + b . u <= limit, infinite where A has no entries; None if they are no ellipsoid."""
    inside = np.any(A != 0, axis=1)
    if not inside.any() or np.any(b[~inside] != 0):
        return None
    curvature = A[np.ix_(inside, inside)]
    values = np.linalg.eigvalsh(curvature)
    if values[0] <= ROUND_OFF * values[-1]:
        return None
    inverse = np.linalg.inv(curvature)
    centre = -inverse @ b[inside]
    level = limit - 0.5 * float(b[inside] @ centre)
    if level <= 0:
        return None
    reach = np.sqrt(2 * level * np.diag(inverse))
    low, high = np.full(b.size, -np.inf), np.full(b.size, np.inf)
    low[inside], high[inside] = centre - reach, centre + reach
    return low, high
