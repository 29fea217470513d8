"""Presolve: the same problem without what its constraints and its dynamics decide already.

*Implied bounds of controls.* A path constraint may bound a control anyway: a unit vector of
components between -1 and 1, a thrust of limited size, a pair of opposite thrusters of which the sum
is limited. Such a bound touches the constraint at one point, where their multipliers cannot be told
apart, and a barrier on the bound keeps the solver away from there. It is moved out of the way.

*First integrals.* The flow keeps a quadratic first integral (the length of a quaternion), and
collocation keeps it up to its error only. With every end value required the equations are
dependent. So one end value for each integral is left to the integral; what it then violates is the
error of the mesh, which is estimated anyway. An end value at which an integral has a double root (a
speed that energy brings to zero) is prescribed. Bounds that an integral implies are moved out of
the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import DECADE
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm, stacked_bounds

Array = NDArray[np.float64]
Index = NDArray[np.int_]

# relative: numbers that differ by less are the same
ROUND_OFF = float(np.sqrt(np.finfo(float).eps))


def presolve(form: NormalForm, parameters: Array) -> NormalForm:
    """Without bounds of controls that path constraints imply, and without limits that first
    integrals imply.
    """
    return without_redundant_limits(without_implied_bounds(form, parameters), parameters)


def without_implied_bounds(form: NormalForm, parameters: Array) -> NormalForm:
    """The same problem with the bounds that its path constraints imply moved away; the very same
    form where there are none.
    """
    phases = tuple(_loosened(form, phase, parameters) for phase in form.phases)
    same = all(a is b for a, b in zip(phases, form.phases, strict=True))
    return form if same else replace(form, phases=phases)


def _loosened(form: NormalForm, phase: PhaseForm, parameters: Array) -> PhaseForm:
    bound = phase.u_bound
    lower, upper = bound.lower, bound.upper
    for A, b, limit in _control_limits(form, phase, parameters):
        if A.any():
            box = ellipsoid(A, b, limit)
            lower, upper = (
                relax_implied_bounds(Bound(lower, upper), *box)
                if box is not None
                else (lower, upper)
            )
        else:
            lower, upper = relax_bounds_beyond_plane(Bound(lower, upper), b, limit)
    if np.array_equal(lower, bound.lower) and np.array_equal(upper, bound.upper):
        return phase
    return replace(
        phase, controls=tuple(_rebound(q, lower[q.rows], upper[q.rows]) for q in phase.controls)
    )


def relax_implied_bounds(bound: Bound, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of what stays between ``low`` and ``high`` anyway, moved to twice that range unless
    they are beyond it already.
    """
    # a constraint that says nothing about a variable reaches to infinity
    with np.errstate(invalid="ignore"):
        middle, reach = 0.5 * (low + high), 0.5 * (high - low)
        below = (bound.lower <= low + ROUND_OFF * reach) & (bound.lower > middle - 2 * reach)
        above = (bound.upper >= high - ROUND_OFF * reach) & (bound.upper < middle + 2 * reach)
        return np.where(below, middle - 2 * reach, bound.lower), np.where(
            above, middle + 2 * reach, bound.upper
        )


def _rebound(q: NamedVector, lower: Array, upper: Array) -> NamedVector:
    """The control with other bounds, and the size that its own had."""
    sides = np.abs([q.bound.lower, q.bound.upper])
    size = np.where(np.isfinite(sides), sides, 0.0).max(axis=0)
    scale = q.scale if q.scale is not None else np.where(size > 0, size, 1.0)
    moved = not (np.array_equal(lower, q.bound.lower) and np.array_equal(upper, q.bound.upper))
    return replace(q, bound=Bound(lower, upper, q.bound.guess), scale=scale) if moved else q


def relax_bounds_beyond_plane(bound: Bound, b: Array, limit: float) -> tuple[Array, Array]:
    """Bounds that ``b . u <= limit`` and the bounds of the other variables imply, moved outwards by
    half of what is left.
    """
    lower, upper = bound.lower.copy(), bound.upper.copy()
    for i in np.flatnonzero(b):
        with np.errstate(invalid="ignore"):
            least = np.where(b > 0, b * lower, b * upper)
        others = float(np.delete(least, i)[np.delete(b, i) != 0].sum())
        furthest = (limit - others) / b[i]
        reach = abs(furthest - (lower[i] if b[i] > 0 else upper[i]))
        if not np.isfinite(reach):
            continue
        if b[i] > 0 and furthest - ROUND_OFF * reach <= upper[i] < furthest + 0.5 * reach:
            upper[i] = furthest + 0.5 * reach
        elif b[i] < 0 and furthest - 0.5 * reach < lower[i] <= furthest + ROUND_OFF * reach:
            lower[i] = furthest - 0.5 * reach
    return lower, upper


def _control_limits(
    form: NormalForm, phase: PhaseForm, parameters: Array
) -> Iterator[tuple[Array, Array, float]]:
    """A, b and limit of the path constraints u . A u / 2 + b . u <= limit on controls alone."""
    bounded = np.isfinite(phase.u_bound.lower) | np.isfinite(phase.u_bound.upper)
    if not bounded.any():
        return
    others = [symbol for symbol in (phase.t, phase.x, phase.z, form.s) if symbol.numel()]
    for row in range(phase.c.numel()):
        expression = phase.c[row]
        if any(casadi.depends_on(expression, other) for other in others) or not casadi.depends_on(
            expression, phase.u
        ):
            continue
        upper, lower = float(phase.c_bound.upper[row]), float(phase.c_bound.lower[row])
        if expression.is_op(casadi.OP_SQRT) and upper >= 0:  # a length
            expression, upper, lower = expression.dep(0), upper**2, -np.inf
        if not casadi.is_quadratic(expression, phase.u):
            continue
        A, b, c = _coefficients(form, phase, expression, parameters)
        for sign, limit in ((1.0, upper), (-1.0, -lower)):
            if np.isfinite(limit):
                yield sign * A, sign * b, limit - sign * c


def _coefficients(
    form: NormalForm, phase: PhaseForm, expression: Any, parameters: Array
) -> tuple[Array, Array, float]:
    """A, b, c of u . A u / 2 + b . u + c."""
    parts = [casadi.densify(part) for part in casadi.quadratic_coeff(expression, phase.u)]
    A, b, c = casadi.Function("coefficients", [form.p], parts)(parameters)
    return np.asarray(A), np.asarray(b).ravel(), float(c)


def ellipsoid(A: Array, b: Array, limit: float) -> tuple[Array, Array] | None:
    """The box around all u with u .

    A u / 2 + b . u <= limit, infinite where A has no entries; None if they are no ellipsoid.
    """
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


def without_redundant_limits(form: NormalForm, parameters: Array) -> NormalForm:
    """The form without end values that first integrals decide; itself where there are none."""
    phases = tuple(_without_redundant_ends(form, i, parameters) for i in range(len(form.phases)))
    same = all(a is b for a, b in zip(phases, form.phases, strict=True))
    return form if same else replace(form, phases=phases)


def _without_redundant_ends(form: NormalForm, index: int, parameters: Array) -> PhaseForm:
    phase = form.phases[index]
    limited = (
        np.isfinite(phase.x_bound.lower) | np.isfinite(phase.x_bound.upper) | phase.x_end.fixed
    )
    states = np.flatnonzero(phase.x_start.fixed & limited)  # an integral of others decides nothing
    if 0 < states.size <= MAX_STATES:
        states = _with_analytic_rates(form, phase, states)
    if not 0 < states.size <= MAX_STATES:
        return phase
    first, ends, bound = (_rows(one, states) for one in (phase.x_start, phase.x_end, phase.x_bound))
    sizes = np.maximum(np.abs(first.lower), np.where(ends.fixed, np.abs(ends.lower), 0.0))
    sizes = np.where(sizes > 0, sizes, 1.0)
    integrals = _integrals(form, index, parameters, states, sizes)
    if not integrals.shape[1]:
        return phase
    ends = _decided_ends(ends, bound, integrals, first.lower / sizes, sizes, 1 / DECADE)
    for low, high in _state_boxes(integrals, first.lower / sizes):
        bound = Bound(*relax_implied_bounds(bound, low * sizes, high * sizes))
    return _with_limits(phase, states, ends, bound)


# of quadratic first integrals, at most: the work of finding them grows with the sixth power
MAX_STATES = 24
NOT_ANALYTIC = frozenset(
    (
        casadi.OP_FABS,
        casadi.OP_FMAX,
        casadi.OP_FMIN,
        casadi.OP_SIGN,
        casadi.OP_FLOOR,
        casadi.OP_CEIL,
        casadi.OP_FMOD,
        casadi.OP_REMAINDER,
        casadi.OP_COPYSIGN,
        casadi.OP_IF_ELSE_ZERO,
        casadi.OP_LT,
        casadi.OP_LE,
        casadi.OP_EQ,
        casadi.OP_NE,
        casadi.OP_AND,
        casadi.OP_OR,
        casadi.OP_NOT,
    )
)


def _with_analytic_rates(form: NormalForm, phase: PhaseForm, states: Index) -> Index:
    """Those of the states whose rates are analytic functions.

    An analytic function that is zero at random points is zero. With ``fmax`` or ``if_else`` it may
    be zero in one region only.
    """
    inputs = [phase.t, phase.x, phase.z, phase.u, form.s, form.p]

    def analytic(rates: Any) -> bool:
        function = casadi.Function("rates", inputs, [rates])
        try:
            function = function.expand()
        except RuntimeError:  # tables and external functions
            return False
        steps = range(function.n_instructions())
        return not any(function.instruction_id(i) in NOT_ANALYTIC for i in steps)

    if analytic(phase.f):
        return states
    return np.array([k for k in states if analytic(phase.f[int(k)])], dtype=int)


def _rows(bound: Bound, rows: Index) -> Bound:
    return Bound(bound.lower[rows], bound.upper[rows])


def _with_limits(phase: PhaseForm, rows: Index, end: Bound, bound: Bound) -> PhaseForm:
    """The phase with other limits of some states; the very same phase where they are the same."""
    old = np.array([phase.x_end.lower, phase.x_end.upper, phase.x_bound.lower, phase.x_bound.upper])
    new = old.copy()
    new[:, rows] = end.lower, end.upper, bound.lower, bound.upper
    if np.array_equal(old, new):
        return phase
    states = tuple(
        replace(
            q,
            end=Bound(new[0, q.rows], new[1, q.rows], q.end.guess),
            bound=Bound(new[2, q.rows], new[3, q.rows], q.bound.guess),
        )
        for q in phase.states
    )
    return replace(phase, states=states)


def _decided_ends(
    end: Bound, bound: Bound, integrals: Array, first: Array, sizes: Array, window: float
) -> Bound:
    """End values: one for each integral of given end values is left to it, within a window; values
    that it gives are fixed.
    """
    allowed = end.meet(bound)
    last = _implied_ends(integrals, first, Bound(allowed.lower / sizes, allowed.upper / sizes))
    implied = np.isfinite(last) & ~end.fixed
    left = window * sizes * _windows(integrals, first, last)
    return Bound(
        np.where(implied, last * sizes, end.lower - left),
        np.where(implied, last * sizes, end.upper + left),
    )


def _implied_ends(integrals: Array, first: Array, end: Bound) -> Array:
    """Given end values, and those at which an integral of them has a double root; NaN where an end
    value is open.

    A speed that energy brings to zero at the end: collocation changes the energy by its error, so
    that the square of the speed may have to be negative. The value is prescribed, and another end
    value is left to the integral.
    """
    last = np.where(end.fixed, end.lower, np.nan)
    for k in np.flatnonzero(~end.fixed):
        zero, above, below = (
            np.where(np.arange(last.size) == k, value, last) for value in (0.0, 1.0, -1.0)
        )
        own = _of_given(integrals, zero)
        # a x^2 + b x + c = 0 for the end value x
        c, plus, minus = (
            own.T @ (_monomials(np.nan_to_num(x)) - _monomials(first)) for x in (zero, above, below)
        )
        a, b = 0.5 * (plus + minus) - c, 0.5 * (plus - minus)
        double = (np.abs(a) > ROUND_OFF) & (
            np.abs(b * b - 4 * a * c) <= ROUND_OFF * (a * a + b * b)
        )
        b = np.where(np.abs(b) > ROUND_OFF * np.abs(a), b, 0.0)  # a root of zero is exact
        for root in -0.5 * b[double] / a[double]:
            if end.lower[k] - ROUND_OFF <= root <= end.upper[k] + ROUND_OFF:
                last[k] = np.clip(root, end.lower[k], end.upper[k])
    return last


def _of_given(integrals: Array, last: Array) -> Array:
    """The integrals of states alone whose end values are given, not NaN."""
    given = np.isfinite(last)
    i, j = np.triu_indices(last.size)
    elsewhere = np.concatenate([~given, ~(given[i] & given[j])])
    return integrals @ _null(integrals[elsewhere]) if elsewhere.any() else integrals


def _windows(integrals: Array, first: Array, last: Array) -> Array:
    """(states,): 1 for end values that are left to integrals of other end values; else 0."""
    own, last = _of_given(integrals, last), np.nan_to_num(last)
    change = own.T @ (_monomials(last) - _monomials(first))
    kept = own @ _null(change[None, :]) if np.abs(change).max(initial=0.0) > ROUND_OFF else own
    if not kept.shape[1]:
        return np.zeros(last.size)
    return _independent_columns((kept / np.linalg.norm(kept, axis=0)).T @ _slopes(last))


def _independent_columns(matrix: Array) -> Array:
    """(columns,): 1 for columns that span all of them, the longest first (Gram-Schmidt with
    pivoting); else 0.
    """
    rest, chosen = matrix.copy(), np.zeros(matrix.shape[1])
    least = ROUND_OFF * np.linalg.norm(rest, axis=0).max(initial=0.0)
    for _ in range(min(matrix.shape)):
        lengths = np.linalg.norm(rest, axis=0)
        pivot = _first_of_largest(lengths)
        if lengths[pivot] <= least:
            break
        chosen[pivot] = 1.0
        direction = rest[:, pivot] / lengths[pivot]
        rest = rest - np.outer(direction, direction @ rest)
    return chosen


def _first_of_largest(values: Array) -> int:
    """The first of the values that are the largest up to round-off."""
    return int(np.flatnonzero(values >= (1 - ROUND_OFF) * values.max())[0])


def _state_boxes(integrals: Array, first: Array) -> list[tuple[Array, Array]]:
    """Boxes around the ellipsoids that integrals keep the states on, from where they begin."""
    n = first.size
    i, j = np.triu_indices(n)
    boxes = []
    for column in _echelon(integrals).T:
        A = np.zeros((n, n))
        A[i, j] += column[n:]
        A[j, i] += column[n:]
        level = float(column @ _monomials(first))
        for sign in (1.0, -1.0):
            box = ellipsoid(sign * A, sign * column[:n], sign * level)
            if box is not None:
                boxes.append(box)
    return boxes


def _echelon(columns: Array) -> Array:
    """Columns of the same span, each zero where another begins: integrals come apart."""
    rows = columns.T.copy()
    done = 0
    for place in range(rows.shape[1]):
        pivot = done + _first_of_largest(np.abs(rows[done:, place]))
        if abs(rows[pivot, place]) < ROUND_OFF * np.abs(rows).max():
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, place]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, place], rows[done])
        done += 1
        if done == len(rows):
            break
    return np.where(np.abs(rows) < ROUND_OFF, 0.0, rows).T


def _null(matrix: Array) -> Array:
    """An orthonormal basis of the null space, its columns."""
    if not matrix.size:
        return np.eye(matrix.shape[1])
    _, sizes, rows = np.linalg.svd(matrix, full_matrices=matrix.shape[0] < matrix.shape[1])
    rank = int(np.sum(sizes > ROUND_OFF * sizes.max(initial=0.0)))
    return np.asarray(rows[rank:].T)


def _monomials(x: Array) -> Array:
    """All x_i, and all products x_i x_j with i <= j."""
    i, j = np.triu_indices(x.size)
    return np.concatenate([x, x[i] * x[j]])


def _slopes(x: Array) -> Array:
    """(monomials, states): their derivatives."""
    i, j = np.triu_indices(x.size)
    unit = np.eye(x.size)
    return np.concatenate([unit, x[j][:, None] * unit[i] + x[i][:, None] * unit[j]])


def _changes(x: Array, rates: Array) -> Array:
    """(places, monomials): their rates at places, the columns of x."""
    i, j = np.triu_indices(x.shape[0])
    return np.vstack([rates, x[j] * rates[i] + x[i] * rates[j]]).T


def _integrals(
    form: NormalForm, index: int, parameters: Array, states: Index, sizes: Array
) -> Array:
    """(monomials, n): combinations that do not change whatever the motion, in some states, each in
    units of its size.
    """
    phase = form.phases[index]
    count = states.size + states.size * (states.size + 1) // 2
    places = 2 * count + 10
    generator = np.random.default_rng(0)
    columns = (phase.t, phase.x, phase.z, phase.u, form.s)
    t, x, z, u, s = (generator.uniform(-1.0, 1.0, (n.numel(), places)) for n in columns)
    scales = np.ones((phase.x.numel(), 1))
    scales[states] = sizes[:, None]
    # what happens far away only counts, too
    scales = scales * 10 ** generator.uniform(-1.0, 1.0, x.shape)
    x = _within(phase.x_bound, x, scales)
    z = _within(phase.z_bound, z)
    u = _within(phase.u_bound, u)
    begin, end = phase.start_time.lower, phase.end_time.upper
    begin = np.where(np.isfinite(begin), begin, 0.0)
    t = _within(Bound(begin, np.where(np.isfinite(end), end, begin + 1.0)), t)
    s = _within(stacked_bounds([q.bound for q in form.statics]), s)
    rates = np.asarray(form.models[index](t, x, z, u, s, parameters))[states] / sizes[:, None]
    x = x[states] / sizes[:, None]
    regular = np.all(np.isfinite(rates), axis=0)
    if regular.sum() <= count:
        return np.zeros((count, 0))
    changes = _changes(x[:, regular], rates[:, regular])
    # Each place counts the same: rates of an exponential law may differ by a hundred decades.
    changes = changes / _lengths(changes, axis=1)
    lengths = _lengths(changes, axis=0)
    return np.asarray(_null(changes / lengths) / lengths.T)


def _lengths(matrix: Array, axis: int) -> Array:
    """The lengths of the columns (axis 0) or of the rows (axis 1); 1 for those of zeros."""
    lengths = np.linalg.norm(matrix, axis=axis, keepdims=True)
    return np.where(lengths > 0, lengths, 1.0)


def _within(bound: Bound, values: Array, sizes: Array | float = 1.0) -> Array:
    """Numbers from -1 to 1 spread over bounds, over a size from one bound, or about zero."""
    if not values.size:
        return values
    lower, upper = bound.lower[:, None], bound.upper[:, None]
    below, above = np.isfinite(lower), np.isfinite(upper)
    away = np.abs(values) * sizes
    beyond = np.where(below, lower + away, np.where(above, upper - away, np.sign(values) * away))
    if not (below & above).any():
        return beyond
    with np.errstate(invalid="ignore"):
        between = lower + (upper - lower) * (0.5 + 0.5 * values)
    return np.where(below & above, between, beyond)
