"""The size of each quantity of a trajectory, the denominator of relative errors.

The size of a state is the distance it travels, or the change that its boundary values require. The
size of a constant state is the distance that the other variables could move it within the duration
of the phase. Inactive bounds and offsets of values from zero are used only if the trajectory does
not determine a size. Sizes are in the user's units: they follow a change of units of any variable,
of time and of the cost, and are invariant to a shift of a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm

Array = NDArray[np.float64]
INSTANTS = 64  # samples at which effects of one variable on others are evaluated
# displacement relative to a size, for difference quotients; small against curvature, large against
# round-off
STEP = 0.1
ROUND_OFF = 1e3 * np.finfo(float).eps  # relative: what moves less does not move
STILL = 1e-6  # a variable that moves less, relative to its reach, is constant
LEAST = 1e-3  # smallest size of a variable that moves, relative to its reach
NOISE = 1e-12  # controls that change an integral by less, relative, are zero up to round-off
PASSES = 4  # length of chains of constant variables: position, velocity, force, its rate


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one phase in order of time: t (N,), x (nx, N), z (nz, N), u (nu, N)."""

    t: Array
    x: Array
    z: Array
    u: Array


@dataclass(frozen=True, eq=False)
class PhaseSizes:
    """Sizes in one phase: duration, states, algebraic variables, controls, integrals, algebraic
    equations, path constraints.
    """

    time: float
    x: Array
    z: Array
    u: Array
    q: Array
    g: Array
    c: Array


@dataclass(frozen=True, eq=False)
class Sizes:
    """Sizes of a problem: its phases, static variables, conditions and cost."""

    phases: tuple[PhaseSizes, ...]
    s: Array
    b: Array
    cost: float


def sizes(form: NormalForm, samples: Sequence[Samples], s: Array, p: Array) -> Sizes:
    """Return the sizes of all quantities of a trajectory.

    Parameters
    ----------
    form : NormalForm
    samples : one for each phase
        Any number of samples; the first and the last are the ends of the phase.
    s, p : arrays
        Values of the static variables and of the parameters.

    Examples
    --------
    >>> from trajopt import Problem
    >>> ocp = Problem("move")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=2)
    >>> x, u = ph.state("x", start=1e6, end=1e6 + 4), ph.control("u", lower=-100, upper=100)
    >>> ph.dynamics({x: u})
    >>> ocp.minimize(ph.integral(u**2))
    >>> at = np.linspace(0, 2, 9)
    >>> along = Samples(at, 1e6 + at[None, :] ** 2, np.zeros((0, 9)), 2 * at[None, :])
    >>> found = sizes(ocp.finish(), [along], np.zeros(0), np.zeros(0))
    >>> found.phases[0].x, found.phases[0].u
    (array([4.]), array([4.]))
    """
    statics = np.full(form.s.numel(), np.nan)
    phases = [_phase(form, k, samples[k], s, p, statics) for k in range(len(form.phases))]
    if statics.size:
        statics = _static_sizes(form, samples, phases, s, p)
        phases = [_phase(form, k, samples[k], s, p, statics) for k in range(len(form.phases))]
    ends, free = _end_values(form, samples, phases, p, s)
    b, cost = _end_effects(form, ends, free, s, statics, p)
    return Sizes(tuple(phases), statics, b, cost)


def _phase(form: NormalForm, k: int, at: Samples, s: Array, p: Array, statics: Array) -> PhaseSizes:
    ph = form.phases[k]
    time = _duration(ph, at)
    x, moved = _moved_states(ph, at)
    z, u = (_moved_inputs(q, v) for q, v in ((ph.algebraics, at.z), (ph.controls, at.u)))
    model = _Effects(form, k, at, s, p, time)
    nx, ng, nc = ph.x.numel(), ph.g.numel(), ph.c.numel()
    variation = model.total_variation(slice(nx + ng + nc, None))
    q = variation.copy()
    own = np.concatenate([moved, variation])
    u = model.above_noise(u, ph.u_bound, variation)
    rates = np.r_[0:nx, nx + ng + nc : nx + ng + nc + ph.l.numel()]
    # Values that are zero up to round-off have effects that are none either.
    least = ROUND_OFF * np.append(
        _stated_magnitude(ph.x_bound, ph.x_start, ph.x_end), np.zeros(ph.l.numel())
    )
    for _ in range(PASSES):
        effect = model.effects([x, z, u, statics])  # (rows, variables)
        reach = model.reach(effect, rates, x)
        reach = np.where(reach > least, reach, 0.0)
        found = np.where(
            own > STILL * reach, np.maximum(own, LEAST * reach), np.where(reach > 0, reach, np.nan)
        )
        x_next, q = found[:nx], found[nx:]
        z, u = (_reaching(v, model, j, x_next, time) for j, v in ((2, z), (3, u)))
        settled = np.array_equal(x_next, x, equal_nan=True)
        x = x_next
        if settled and not np.isnan(np.concatenate([z, u])).any():
            break
    x, z, u = (
        _stated(quantities, v)
        for quantities, v in ((ph.states, x), (ph.algebraics, z), (ph.controls, u))
    )
    effect = model.effects([x, z, u, statics])
    # What nothing free can change adds nothing that an integral may vary by.
    if ph.start_time.fixed.all() and ph.end_time.fixed.all():
        effect[nx + ng + nc :, np.flatnonzero(~reached(ph, form.s))] = 0.0
    reach = model.reach(effect, rates, x)
    if ph.start_time.fixed.all() and ph.end_time.fixed.all():
        # What an integrand has by itself stays as it is over a given time; its variables contribute
        # the rest.
        variation = np.where(reach[nx:] > 0, np.minimum(variation, reach[nx:]), variation)
    q = np.where(
        variation > STILL * reach[nx:], np.maximum(variation, LEAST * reach[nx:]), reach[nx:]
    )
    total = np.nansum(effect, axis=1)
    g, c = total[nx : nx + ng], total[nx + ng : nx + ng + nc]
    return PhaseSizes(time, x, z, u, _positive(q), _positive(g), _positive(c))


def _duration(ph: PhaseForm, at: Samples) -> float:
    own = abs(float(at.t[-1] - at.t[0]))
    required = float(max(ph.end_time.lower[0] - ph.start_time.upper[0], 0.0))
    return max(own, required) or 1.0


def _moved_states(ph: PhaseForm, at: Samples) -> tuple[Array, Array]:
    """Return the distance that each state travels or must travel, as a size (NaN if zero) and as it
    is.
    """
    travelled = np.ptp(at.x, axis=1) if at.x.size else np.zeros(at.x.shape[0])
    largest = np.maximum(
        np.abs(at.x).max(axis=1, initial=0.0), _stated_magnitude(ph.x_bound, ph.x_start, ph.x_end)
    )
    travelled = np.where(travelled > ROUND_OFF * largest, travelled, 0.0)
    start, end = ph.x_start, ph.x_end
    required = np.maximum(np.maximum(end.lower - start.upper, start.lower - end.upper), 0.0)
    moved = np.maximum(travelled, np.where(np.isfinite(required), required, 0.0))
    return np.where(moved > 0, moved, np.nan), moved


def _stated_magnitude(bound: Bound, *ends: Bound) -> Array:
    """Return the largest number that fixes a value; where none or only zero does, 1, or the width
    of narrower bounds.

    A solver that looks for zero stops at the round-off of such numbers.
    """
    width = np.nan_to_num(_width(bound), nan=np.inf)
    fixed = [np.where(end.fixed, np.abs(end.lower), 0.0) for end in ends]
    stated = np.max([np.zeros(width.size), *fixed], axis=0)
    return np.asarray(np.where(stated > 0, stated, np.minimum(width, 1.0)))


def _moved_inputs(quantities: tuple[NamedVector, ...], values: Array) -> Array:
    """Return the range of each control or algebraic variable; if constant, its magnitude, or the
    width of active bounds.
    """
    if not values.shape[0]:
        return np.zeros(0)
    spread, largest = np.ptp(values, axis=1), np.abs(values).max(axis=1)
    stays = spread <= 1e-5 * largest
    size = np.where(stays, largest, spread)
    lower, upper = (
        np.concatenate([getattr(q.bound, side) for q in quantities]) for side in ("lower", "upper")
    )
    size = np.where(largest > ROUND_OFF * _stated_magnitude(Bound(lower, upper)), size, 0.0)
    both = np.isfinite(lower) & np.isfinite(upper)
    width = np.where(both, np.where(both, upper, 0.0) - np.where(both, lower, 0.0), 0.0)
    near = STILL * width
    on_limit = both & ((values.min(axis=1) <= lower + near) | (values.max(axis=1) >= upper - near))
    size = np.where(stays & on_limit, width, size)
    # Zero up to the tolerance of the solver, within bounds.
    size = np.where(both & (largest <= 1e-7 * width), width, size)
    return np.where(size > 0, size, np.nan)


def _reaching(size: Array, model: _Effects, group: int, x: Array, time: float) -> Array:
    """Return the sizes; a variable that is zero gets the value that moves some state
    by its size.
    """
    if not size.size:
        return size
    needed = (
        model.needed(group, x, time)
        if np.isnan(size).any() or group == 3
        else np.full(size.size, np.nan)
    )
    # No further than from one of its bounds to the other, where data make it powerless here.
    bound = model.phase.u_bound if group == 3 else model.phase.z_bound
    needed = np.where(needed > (width := _width(bound)), width, needed)
    known = np.where(np.isnan(size), needed, size)
    return np.where(np.nan_to_num(needed) * STILL > known, needed, known)


def _stated(quantities: tuple[NamedVector, ...], size: Array) -> Array:
    """Replace undetermined sizes by the user's scale, the width of bounds, or 1."""
    found = size.copy()
    for q in quantities:
        part = found[q.rows]
        if q.scale is not None:
            part = np.where(
                np.isnan(part),
                np.broadcast_to(np.asarray(q.scale, dtype=float).ravel(), (q.size,)),
                part,
            )
        part = np.where(np.isnan(part), _width(q.bound), part)
        part = np.where(np.isnan(part), _width(q.start.meet(q.bound)), part)
        found[q.rows] = part
    return _positive(found)


def _width(bound: Bound) -> Array:
    both = np.isfinite(bound.lower) & np.isfinite(bound.upper)
    width = np.where(both, bound.upper, 0.0) - np.where(both, bound.lower, 0.0)
    return np.where(both & (width > 0), width, np.nan)


def _positive(size: Array) -> Array:
    return np.asarray(np.where(np.isfinite(size) & (size > 0), size, 1.0))


class _Effects:
    """Changes of the rows f, g, c, l of a phase when a variable is displaced by its size."""

    def __init__(
        self, form: NormalForm, k: int, at: Samples, s: Array, p: Array, time: float
    ) -> None:
        self.form, self.phase, self.function, self.time, self.s, self.p = (
            form,
            form.phases[k],
            form.models[k],
            time,
            s,
            p,
        )
        some = np.unique(np.linspace(0, at.t.size - 1, min(INSTANTS, at.t.size)).astype(int))
        self.values = [
            at.t[some][None, :],
            at.x[:, some],
            at.z[:, some],
            at.u[:, some],
            s[:, None],
            p[:, None],
        ]
        gaps = np.abs(np.diff(at.t[some]))
        weight = 0.5 * (np.append(gaps, 0.0) + np.append(0.0, gaps)) if gaps.size else np.ones(1)
        self.weight = (
            weight / weight.sum() if weight.sum() > 0 else np.full(some.size, 1 / some.size)
        )
        self.base = self._rows(self.values)

    def _rows(self, values: list[Array]) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(self.function(*values))

    def total_variation(self, rows: slice) -> Array:
        """Return the integrals of the absolute values of some rows."""
        return np.asarray(np.nan_to_num(np.abs(self.base[rows])) @ self.weight * self.time)

    def effects(self, groups: list[Array]) -> Array:
        """Return mean absolute changes of the rows per size of each variable of x, z, u, s; zero if
        its size is unknown.
        """
        found = np.zeros((self.base.shape[0], sum(g.size for g in groups)))
        column = 0
        for argument, group in enumerate(groups, start=1):
            for i, size in enumerate(group):
                if np.isfinite(size) and size > 0:
                    found[:, column] = self._effect(argument, i, STEP, float(size))
                    if (
                        argument == 1
                        # a state disargumentd far below the ground, say, feels what the trajectory
                        # never does
                    ):
                        rates = slice(0, self.phase.x.numel())
                        found[rates, column] = np.minimum(
                            found[:, column], self._effect(argument, i, STEP**2, float(size))
                        )[rates]
                column += 1
        return found

    def _effect(self, argument: int, row: int, step: float, size: float) -> Array:
        """Return the larger mean change of the rows by a displacement to either side, per size."""
        return np.asarray(
            np.maximum(*(self._changed(argument, row, sign * step * size) for sign in (1.0, -1.0)))
            / step
        )

    def _changed(self, argument: int, row: int, step: float) -> Array:
        moved = [v.copy() for v in self.values]
        moved[argument][row] += step
        change = np.abs(self._rows(moved) - self.base)
        return np.asarray(np.where(np.isfinite(change), change, 0.0) @ self.weight)

    def reach(self, effect: Array, rows: NDArray[np.intp], x: Array) -> Array:
        """Return the distance that other variables could move states and integrals in the duration
        or their own decay time.
        """
        nx = x.size
        others = effect[rows].copy()
        own = np.zeros(rows.size)
        for i in range(nx):
            own[i] = effect[i, i] / x[i] if np.isfinite(x[i]) and x[i] > 0 else 0.0
            others[i, i] = 0.0
        return np.asarray(others.sum(axis=1) / np.maximum(own, 1.0 / self.time))

    def above_noise(self, u: Array, bound: Bound, variation: Array) -> Array:
        """Return control sizes; an unbounded control that changes no integral gets the value that
        changes one by 1 percent.

        Such controls, and the states that they move, are zero up to round-off, so that the
        trajectory does not determine a size.
        """
        found, rows = u.copy(), slice(self.base.shape[0] - variation.size, None)
        size = np.where(variation > 0, variation, np.inf) / self.time
        if not np.isfinite(size).any():
            return found
        for i in np.flatnonzero(
            np.isfinite(u) & ~(np.isfinite(bound.lower) & np.isfinite(bound.upper))
        ):
            step, effect = float(u[i]), 0.0
            for _ in range(30):
                effect = float((self._changed(3, int(i), step)[rows] / size).max())
                if effect >= NOISE if step == u[i] else effect >= 1e-2:
                    break
                step *= 10.0
            found[i] = step if effect >= 1e-2 else u[i]
        return found

    def needed(self, group: int, x: Array, time: float) -> Array:
        """Return for each variable of a group the smallest value that moves some state by its size
        within the duration.
        """
        slopes = self._slopes(group)[: x.size]  # (nx, variables)
        with np.errstate(all="ignore"):
            least = x[:, None] / (time * slopes)
        least = np.where((slopes > 0) & np.isfinite(least), least, np.inf).min(
            axis=0, initial=np.inf
        )
        return np.asarray(np.where(np.isfinite(least), least, np.nan))

    def _slopes(self, group: int) -> Array:
        function, rows = _jacobian(self.function.function, group), self.base.shape[0]
        with np.errstate(all="ignore"):
            found = np.asarray(function(*self.values))
        mean = np.where(np.isfinite(found), np.abs(found), 0.0) @ self.weight
        return np.asarray(mean.reshape(-1, rows).T)


@lru_cache(maxsize=64)
def _jacobian(model: Any, group: int) -> Any:
    """Return the derivatives of a model's rows with respect to one input, as one column."""
    inputs = model.sx_in() if model.is_a("SXFunction") else model.mx_in()
    rows = model(*inputs)
    slopes = casadi.densify(casadi.jacobian(rows, inputs[group])).reshape((-1, 1))
    return Pointwise(casadi.Function("slopes", inputs, [slopes]))


def _static_sizes(
    form: NormalForm, samples: Sequence[Samples], phases: Sequence[PhaseSizes], s: Array, p: Array
) -> Array:
    """Return for each static variable the smallest change that moves some state, integral or
    condition by its size.
    """
    least = np.full(s.size, np.inf)
    for k, (at, size) in enumerate(zip(samples, phases, strict=True)):
        model, ph = _Effects(form, k, at, s, p, size.time), form.phases[k]
        fixed = ph.x.numel() + ph.g.numel() + ph.c.numel()
        rows = [
            (slice(0, ph.x.numel()), size.x / size.time),
            (slice(ph.x.numel(), ph.x.numel() + ph.g.numel()), size.g),
            (slice(ph.x.numel() + ph.g.numel(), fixed), size.c),
            (slice(fixed, None), size.q / size.time),
        ]
        slopes = model._slopes(4)
        for rows_of, of in rows:
            with np.errstate(all="ignore"):
                needed = of[:, None] / slopes[rows_of]
            least = np.minimum(
                least, np.where(np.isfinite(needed), needed, np.inf).min(axis=0, initial=np.inf)
            )
    least = np.minimum(least, _through_conditions(form, samples, phases, s, p))
    least = np.where(np.isfinite(least), least, _through_cost(form, samples, phases, s, p))
    for q in form.statics:
        part = np.where(np.isfinite(least[q.rows]), least[q.rows], np.nan)
        if q.scale is not None:
            part = np.where(
                np.isnan(part),
                np.broadcast_to(np.asarray(q.scale, dtype=float).ravel(), (q.size,)),
                part,
            )
        part = np.where(np.isnan(part), _width(q.bound), part)
        least[q.rows] = np.where(np.isnan(part), np.abs(s[q.rows]), part)
    return _positive(least)


def _through_conditions(
    form: NormalForm, samples: Sequence[Samples], phases: Sequence[PhaseSizes], s: Array, p: Array
) -> Array:
    """Return for each static variable the change that equals the other contributions to some
    condition.
    """
    if not form.b.numel():
        return np.full(s.size, np.inf)
    ends, _ = _end_values(form, samples, phases, p, s)
    size = _end_effects(
        form, ends, np.ones(ends[0].size, dtype=bool), s, np.full(s.size, np.nan), p
    )[0]
    function = casadi.Function(
        "by_static", _flat(form), [casadi.densify(casadi.jacobian(form.b, form.s))]
    )
    with np.errstate(all="ignore"):
        slopes = np.abs(np.asarray(function(*_split(form, ends[0]), s, p).full()))
        needed = size[:, None] / slopes
    return np.asarray(
        np.where(np.isfinite(needed) & (slopes > 0), needed, np.inf).min(axis=0, initial=np.inf)
    )


def _through_cost(
    form: NormalForm, samples: Sequence[Samples], phases: Sequence[PhaseSizes], s: Array, p: Array
) -> Array:
    """The static variables that change the cost, by slope and curvature, as much as all that moves
    contributes to it.
    """
    ends, free = _end_values(form, samples, phases, p, s)
    none = np.full(s.size, np.nan)
    cost = float(_contributions(form, ends, free, s, none, p)[1][-1])
    if not cost > 0:
        return np.full(s.size, np.inf)
    hessian, gradient = casadi.hessian(form.phi, form.s)
    function = casadi.Function(
        "by_static", _flat(form), [casadi.densify(gradient), casadi.densify(casadi.diag(hessian))]
    )
    with np.errstate(all="ignore"):
        slope, bend = (
            np.abs(np.asarray(o.full()).ravel()) for o in function(*_split(form, ends[0]), s, p)
        )
        needed = 2 * cost / (slope + np.sqrt(slope**2 + 2 * bend * cost))
    return np.asarray(np.where(np.isfinite(needed), needed, np.inf))


def _flat(form: NormalForm) -> list[Any]:
    return [*[e for ph in form.phases for e in ph.ends], form.s, form.p]


def _split(form: NormalForm, column: Array) -> list[Array]:
    counts = np.cumsum([e.numel() for ph in form.phases for e in ph.ends])[:-1]
    return np.split(column, counts)


def _end_values(
    form: NormalForm, samples: Sequence[Samples], phases: Sequence[PhaseSizes], p: Array, s: Array
) -> tuple[tuple[Array, Array], NDArray[np.bool_]]:
    """Return the endpoint values and their sizes, in the order of ``endpoint_column``, and a mask
    of the free ones.
    """
    values, of, free = [], [], []
    for k, (ph, at, size) in enumerate(zip(form.phases, samples, phases, strict=True)):
        model = _Effects(form, k, at, s, p, size.time)
        q = (
            np.nan_to_num(model.base[ph.x.numel() + ph.g.numel() + ph.c.numel() :])
            @ model.weight
            * size.time
        )
        values += [
            at.t[[0, -1]],
            at.x[:, 0],
            at.x[:, -1],
            at.z[:, 0],
            at.z[:, -1],
            at.u[:, 0],
            at.u[:, -1],
            q,
        ]
        of += [np.full(2, size.time), size.x, size.x, size.z, size.z, size.u, size.u, size.q]
        open_times = np.array([~ph.start_time.fixed[0], ~ph.end_time.fixed[0]])
        inputs = np.ones(2 * (ph.z.numel() + ph.u.numel()) + ph.l.numel(), dtype=bool)
        moving = reached(ph, form.s) | open_times.any()
        varied = casadi.vertcat(ph.z, ph.u, form.s, *[ph.x[i] for i in np.flatnonzero(moving)])
        if not open_times.any():
            inputs[inputs.size - ph.l.numel() :] = pattern(casadi.jacobian(ph.l, varied)).any(
                axis=1
            )
        free += [open_times, ~ph.x_start.fixed, ~ph.x_end.fixed & moving, inputs]
    return (np.concatenate(values), np.concatenate(of)), np.concatenate(free)


def reached(ph: PhaseForm, statics: Any) -> NDArray[np.bool_]:
    """(nx,): states that controls, algebraic or static variables or a free start can change."""
    found = ~np.asarray(ph.x_start.fixed)
    for v in (ph.u, ph.z, statics):
        if v.numel():
            found = found | pattern(casadi.jacobian(ph.f, v)).any(axis=1)
    by_states = pattern(casadi.jacobian(ph.f, ph.x))
    for _ in range(found.size):
        found = found | (by_states & found[None, :]).any(axis=1)
    return np.asarray(found)


def pattern(matrix: Any) -> NDArray[np.bool_]:
    """Which entries are not structurally zero."""
    found = np.zeros(matrix.shape, dtype=bool)
    rows, columns = matrix.sparsity().get_triplet()
    found[rows, columns] = True
    return found


def _end_effects(
    form: NormalForm,
    ends: tuple[Array, Array],
    free: NDArray[np.bool_],
    s: Array,
    statics: Array,
    p: Array,
) -> tuple[Array, float]:
    """Return the sizes of conditions and cost: the contributions of their variables, for the cost
    of the free ones.
    """
    every, moving = _contributions(form, ends, free, s, statics, p)
    total = np.where(moving > 0, moving, every)
    return _positive(every[:-1]), float(_positive(total[-1:])[0])


def _contributions(
    form: NormalForm,
    ends: tuple[Array, Array],
    free: NDArray[np.bool_],
    s: Array,
    statics: Array,
    p: Array,
) -> tuple[Array, Array]:
    """To the conditions and the cost: of all endpoint values and static variables, and of those
    that are free to move.
    """
    value, size = ends
    function = casadi.Function(
        "ends", _flat(form), [casadi.densify(casadi.vertcat(form.b, form.phi))]
    )

    step = STEP * np.concatenate([size, statics])
    varied = np.flatnonzero(np.isfinite(step))
    at = np.repeat(
        np.concatenate([value, s])[:, None], 2 * varied.size + 1, axis=1
    )  # the last column is not varied
    at[varied, np.arange(varied.size)] += step[varied]
    at[varied, varied.size + np.arange(varied.size)] -= step[varied]
    with np.errstate(all="ignore"):
        rows = np.asarray(function(*_split(form, at[: value.size]), at[value.size :], p).full())
        change = np.abs(rows[:, :-1] - rows[:, -1:])
    change = np.where(np.isfinite(change), change, 0.0)
    effect = np.maximum(change[:, : varied.size], change[:, varied.size :]) / STEP
    moves = np.concatenate([free, np.ones(s.size, dtype=bool)])[varied]
    return effect.sum(axis=1), effect[:, moves].sum(axis=1)
