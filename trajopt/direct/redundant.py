"""End values and bounds that the dynamics give already: those of a quaternion that begins with length one.

The flow keeps such integrals of motion, and collocation keeps them up to its error only. Asked for every end value, the solver
has to bring that error to zero as well, by whatever controls do so: its equations are dependent, it takes forever, or it comes to
an answer that no one would have asked for. So one end value for each integral is left to the integral; what it then misses is
the error of the mesh, which is looked at anyway. Bounds that an integral implies touch it, and are moved out of the way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.bounds import Bound
from trajopt.direct.implied import ellipsoid, moved_away
from trajopt.direct.transcribe import Layout
from trajopt.direct.values import PhaseValues
from trajopt.normal_form import NormalForm, PhaseForm, stacked

Array = NDArray[np.float64]
Index = NDArray[np.int_]

MOST_STATES = 24  # among which integrals are looked for
NOTHING = 1e-10  # relative: a rate that is zero
SAME = 1e-9  # relative: an integral that has the same value at both ends
DEPENDENT = 1e-6  # relative: gradients of integrals at the end
WINDOW = 0.1  # of its size: around an end value that is left to an integral


def without_redundant_limits(form: NormalForm, parameters: Array) -> NormalForm:
    """The same problem with less asked of what integrals of motion decide; the very same form where there are none."""
    phases = tuple(_relieved(form, i, parameters) for i in range(len(form.phases)))
    same = all(a is b for a, b in zip(phases, form.phases, strict=True))
    return form if same else replace(form, phases=phases)


def missed(form: NormalForm, layout: Layout, values: tuple[PhaseValues, ...], sizes: Array) -> float:
    """By how much states miss their end values and bounds, relative to their sizes: an integral may not have been one."""
    worst = 0.0
    for phase, ph, v in zip(form.phases, layout.phases, values, strict=True):
        size = sizes[ph.x : ph.x + ph.nx]
        for bound, x in ((phase.x_bound, v.X), (phase.x_end, v.X[-1:])):
            beyond = np.maximum(bound.lower - x, x - bound.upper) / size
            worst = max(worst, float(beyond.max(initial=0.0)))
    return worst


def _relieved(form: NormalForm, index: int, parameters: Array) -> PhaseForm:
    phase = form.phases[index]
    begun = phase.x_start.fixed
    limited = np.isfinite(phase.x_bound.lower) | np.isfinite(phase.x_bound.upper) | phase.x_end.fixed
    states = np.flatnonzero(begun & limited)  # an integral of others decides nothing
    if not 0 < states.size <= MOST_STATES:
        return phase
    ends = np.where(phase.x_end.fixed, phase.x_end.lower, phase.x_start.lower)[states]
    sizes = np.maximum(np.abs(phase.x_start.lower[states]), np.abs(ends))
    sizes = np.where(sizes > 0, sizes, 1.0)
    integrals = _integrals(form, index, parameters, states, sizes)
    if not integrals.shape[1]:
        return phase
    window = np.zeros(phase.x.numel())
    window[states] = sizes * _windows(phase, states, integrals, phase.x_start.lower[states] / sizes, ends / sizes)
    lower, upper = phase.x_bound.lower.copy(), phase.x_bound.upper.copy()
    for low, high in _reaches(integrals, phase.x_start.lower[states] / sizes):
        lower[states], upper[states] = moved_away(Bound(lower[states], upper[states]), low * sizes, high * sizes)
    if not window.any() and np.array_equal(lower, phase.x_bound.lower) and np.array_equal(upper, phase.x_bound.upper):
        return phase
    quantities = tuple(
        replace(
            q,
            end=Bound(q.end.lower - window[q.rows], q.end.upper + window[q.rows], q.end.guess),
            bound=Bound(lower[q.rows], upper[q.rows], q.bound.guess),
        )
        for q in phase.states
    )
    return replace(phase, states=quantities)


def _windows(phase: PhaseForm, states: Index, integrals: Array, first: Array, last: Array) -> Array:
    """(states,): for end values that are left to integrals of other end values, in units of their sizes; else 0."""
    asked = phase.x_end.fixed[states]
    i, j = np.triu_indices(states.size)
    elsewhere = np.concatenate([~asked, ~(asked[i] & asked[j])])
    own = integrals @ _null(integrals[elsewhere]) if elsewhere.any() else integrals
    change = own.T @ (_monomials(last) - _monomials(first))
    kept = own @ _null(change[None, :]) if np.abs(change).max(initial=0.0) > SAME else own
    windows = np.zeros(states.size)
    if kept.shape[1]:
        slopes = (kept / np.linalg.norm(kept, axis=0)).T @ _slopes(last)
        import scipy.linalg  # where integrals were found only: it takes half as long to load as a small solve

        _, triangle, order = scipy.linalg.qr(slopes, mode="economic", pivoting=True)
        windows[order[: int(np.sum(np.abs(np.diag(triangle)) > DEPENDENT))]] = WINDOW
    return windows


def _reaches(integrals: Array, first: Array) -> list[tuple[Array, Array]]:
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
    """Other columns of the same span, each zero where another begins: integrals of different states come apart."""
    rows = columns.T.copy()
    done = 0
    for place in range(rows.shape[1]):
        pivot = done + int(np.argmax(np.abs(rows[done:, place])))
        if abs(rows[pivot, place]) < DEPENDENT * np.abs(rows).max():
            continue
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] /= rows[done, place]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, place], rows[done])
        done += 1
        if done == len(rows):
            break
    return np.where(np.abs(rows) < SAME, 0.0, rows).T


def _null(matrix: Array) -> Array:
    return _null_space(matrix, SAME) if matrix.shape[1] else np.zeros((0, 0))


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


def _integrals(form: NormalForm, index: int, parameters: Array, states: Index, sizes: Array) -> Array:
    """(monomials, n): combinations that do not change whatever the motion, in some states, each in units of its size."""
    phase = form.phases[index]
    count = states.size + states.size * (states.size + 1) // 2
    places = 2 * count + 10
    generator = np.random.default_rng(0)
    columns = (phase.t, phase.x, phase.z, phase.u, form.s)
    t, x, z, u, s = (generator.uniform(-1.0, 1.0, (n.numel(), places)) for n in columns)
    scales = np.ones((phase.x.numel(), 1))
    scales[states] = sizes[:, None]
    scales = scales * 10.0 ** generator.uniform(-1.0, 1.0, x.shape)  # what happens far away only counts, too
    x, z, u = _within(phase.x_bound, x, scales), _within(phase.z_bound, z), _within(phase.u_bound, u)
    p = np.repeat(parameters[:, None], places, axis=1)
    t, s = _within(_clock(phase), t), _within(stacked([q.bound for q in form.statics]), s)
    rates = np.asarray(form.models[index](t, x, z, u, s, p))[states] / sizes[:, None]
    x = x[states] / sizes[:, None]
    regular = np.all(np.isfinite(rates), axis=0)
    if regular.sum() <= count:
        return np.zeros((count, 0))
    changes = _changes(x[:, regular], rates[:, regular])
    lengths = np.linalg.norm(changes, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return _null_space(changes / lengths, NOTHING) / lengths[:, None]


def _clock(phase: PhaseForm) -> Bound:
    """When the phase may be under way."""
    lower, upper = phase.start_time.lower, phase.end_time.upper
    lower = np.where(np.isfinite(lower), lower, 0.0)
    return Bound(lower, np.where(np.isfinite(upper), upper, lower + 1.0))


def _within(bound: Bound, values: Array, sizes: Array | float = 1.0) -> Array:
    """Numbers from -1 to 1 spread over what bounds allow, or over a size from a bound, or about zero."""
    lower, upper = bound.lower[:, None], bound.upper[:, None]
    away = np.abs(values) * sizes
    with np.errstate(invalid="ignore"):
        between = lower + (upper - lower) * (0.5 + 0.5 * values)
    beyond = np.where(np.isfinite(lower), lower + away, np.where(np.isfinite(upper), upper - away, np.sign(values) * away))
    return np.where(np.isfinite(lower) & np.isfinite(upper), between, beyond)


def _null_space(matrix: Array, relative: float) -> Array:
    """Orthonormal columns that a matrix maps to zero, up to singular values ``relative`` to its largest."""
    _, singular, rows = np.linalg.svd(matrix)
    rank = int(np.sum(singular > relative * singular.max(initial=0.0)))
    return np.asarray(rows[rank:].T)
