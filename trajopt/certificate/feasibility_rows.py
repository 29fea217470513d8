"""What must hold whatever the cost: conditions at the ends, bounds and path constraints, the motion
itself, and what it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.limits_between import proved
from trajopt.certificate.linearized_motion import gauss
from trajopt.certificate.motion import Reintegration
from trajopt.certificate.sampled_solution import (
    POINTS,
    SampledPhase,
    SampledSolution,
    beyond,
    evaluated,
)
from trajopt.certificate.table import Check, judged
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import stacked_bounds

Array = NDArray[np.float64]
OBJECTIVE = "objective of the re-integrated motion"
NEAR_LIMIT = (
    0.05  # of a row's range: so close to a limit its largest value in an interval is refined
)


def worst(
    name: str,
    found: Sequence[tuple[float, str]],
    tolerance: float,
    remark: str = "",
    family: str = "",
) -> Check:
    """The largest of several values, with the place where it is."""
    values = [value if np.isfinite(value) else np.inf for value, _ in found]
    if not values:
        return judged(name, 0.0, tolerance, remark, family)
    top = int(np.argmax(values))
    value = values[top]
    where = f"largest {found[top][1]}" if found[top][1] and value > 0 else ""
    return judged(
        name, value, tolerance, ", ".join(part for part in (remark, where) if part), family
    )


def place(values: Array, times: Array, names: tuple[str, ...], label: str) -> tuple[float, str]:
    """The largest of (rows, times), and where it is."""
    if not values.size:
        return 0.0, ""
    values = np.where(np.isfinite(values), values, np.inf)
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return float(values[row, column]), f"in {names[row]} at t = {times[column]:.6g}{label}"


def labels(whole: SampledSolution) -> list[str]:
    """What follows the name of a variable in remarks."""
    return ["" if len(whole.phases) == 1 else f" of '{ph.form.name}'" for ph in whole.phases]


def boundary(whole: SampledSolution, tolerance: float) -> Check:
    """Start and end values, times, links and conditions over phases, with
    integrals computed anew.
    """
    found: list[tuple[float, str]] = []
    for ph, label in zip(whole.phases, labels(whole), strict=True):
        ends, duration = ph.x(np.array([ph.given.t0, ph.given.tf])), ph.measure.time
        ends[:, 1] = ph.x(np.array([ph.given.tf]), left=True)[:, 0]
        for q in ph.form.states:
            for word, own, value in (
                ("initial", q.start, ends[q.rows, 0]),
                ("final", q.end, ends[q.rows, 1]),
            ):
                gap = beyond(value[:, None], own.lower, own.upper)[:, 0] / ph.sizes[q.rows]
                found += [
                    (float(v), f"in the {word} {name}{label}")
                    for v, name in zip(gap, q.components, strict=True)
                ]
        for word, own, t in (
            ("initial", ph.form.start_time, ph.given.t0),
            ("final", ph.form.end_time, ph.given.tf),
        ):
            found.append(
                (
                    float(beyond(np.array([[t]]), own.lower, own.upper)[0, 0] / duration),
                    f"in the {word} time{label}",
                )
            )
        found.append((0.0 if ph.given.tf > ph.given.t0 else np.inf, f"in the duration{label}"))
    if whole.form.b.numel():
        bound = whole.form.b_bound
        gap = beyond(conditions(whole)[:, None], bound.lower, bound.upper)[:, 0] / whole.sizes.b
        found += [
            (float(v), f"in '{name}'") for v, name in zip(gap, whole.form.b_names, strict=True)
        ]
    return worst("boundary conditions", found, tolerance)


def conditions(whole: SampledSolution) -> Array:
    """The values of the conditions on endpoints."""
    form = whole.form
    symbols = [e for ph in form.phases for e in ph.ends]
    parts = np.split(whole.endpoints, np.cumsum([e.numel() for e in symbols])[:-1])
    found = casadi.Function("b", [*symbols, form.s, form.p], [casadi.densify(form.b)])(
        *parts, whole.s, whole.p
    )
    return np.asarray(found.full()).ravel()


def between_nodes(whole: SampledSolution, tolerance: float) -> Check:
    """Bounds of all variables, path constraints and algebraic equations, all along the motion."""
    found: list[tuple[float, str]] = []
    for ph, label in zip(whole.phases, labels(whole), strict=True):
        found += _limits(ph, label)
    for q in whole.form.statics:
        gap = (
            beyond(whole.s[q.rows][:, None], q.bound.lower, q.bound.upper)[:, 0]
            / whole.sizes.s[q.rows]
        )
        found += [(float(v), f"in {name}") for v, name in zip(gap, q.components, strict=True)]
    row = worst("bounds and path constraints", found, tolerance)
    if not row.ok:
        return row
    points = sum(ph.widths.size * (POINTS.size + 2) for ph in whole.phases)
    every = all(proved(ph, tolerance) for ph in whole.phases)
    how = "proved between all points" if every else f"sampled at {points} points"
    return replace(row, remark=f"{how}, {row.remark}" if row.remark else how)


def _limits(ph: SampledPhase, label: str) -> list[tuple[float, str]]:
    form, size = ph.form, ph.measure
    bound = stacked_bounds([form.x_bound, form.z_bound, form.u_bound, form.c_bound])
    names = (*form.x_names, *form.z_names, *form.u_names, *form.c_names)
    scale = np.concatenate([size.x, size.z, size.u, size.c])
    every = np.arange(ph.widths.size)
    fractions = np.concatenate([[0.0], POINTS, [1.0]])
    times = ph.inside(np.repeat(fractions[None, :], every.size, axis=0), every)
    found = []
    if names:
        values = _rows(ph, times.ravel()).reshape(len(names), *times.shape)
        gaps = _outside(values.reshape(len(names), -1), bound)
        found.append(place(np.maximum(gaps, 0.0) / scale[:, None], times.ravel(), names, label))
        for row, t in _peaks(
            gaps.reshape(values.shape), times, np.ptp(values.reshape(len(names), -1), axis=1)
        ):
            gap = _outside(_rows(ph, t), bound)[row]
            found.append(place(np.maximum(gap, 0.0)[None, :] / scale[row], t, (names[row],), label))
    if form.g.numel():
        t, x, z, u = ph.sampled
        inputs = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
        g = evaluated(
            casadi.Function("g", inputs, [casadi.densify(form.g)]), t, x, z, u, ph.s, ph.p
        )
        found.append(place(np.abs(g) / size.g[:, None], t[0], form.g_names, label))
    return found


def _rows(ph: SampledPhase, times: Array) -> Array:
    """x, z, u and the path constraints at any times."""
    form = ph.form
    x, z, u = ph.x(times), ph.z(times), ph.u(times)
    if not form.c.numel():
        return np.vstack([x, z, u])
    inputs = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    c = evaluated(
        casadi.Function("c", inputs, [casadi.densify(form.c)]), times[None, :], x, z, u, ph.s, ph.p
    )
    return np.vstack([x, z, u, c])


def _outside(values: Array, bound: Bound) -> Array:
    """How far outside its bound each value is; negative inside."""
    return np.asarray(np.maximum(bound.lower[:, None] - values, values - bound.upper[:, None]))


def _peaks(gaps: Array, times: Array, spread: Array) -> list[tuple[int, Array]]:
    """For each row the times at which a parabola through its three largest neighbours peaks, where
    that may be outside.
    """
    found = []
    for row in range(gaps.shape[0]):
        g = gaps[row]
        top = np.clip(np.argmax(g, axis=1), 1, times.shape[1] - 2)
        here = np.flatnonzero(
            (g.max(axis=1) > -NEAR_LIMIT * spread[row]) & np.isfinite(g).all(axis=1)
        )
        if not here.size or spread[row] == 0:
            continue
        (a, b, c), (fa, fb, fc) = (
            tuple(part[here, top[here] + k] for k in (-1, 0, 1)) for part in (times, g)
        )
        with np.errstate(all="ignore"):
            bend = (fc - fb) / (c - b) - (fb - fa) / (b - a)
            peak = 0.5 * (a + b) - 0.5 * (fb - fa) / (b - a) * (c - a) / bend
        inside = np.isfinite(peak) & (peak > a) & (peak < c) & (bend < 0)
        if inside.any():
            found.append((row, peak[inside]))
    return found


def motions_between_nodes(motions: Sequence[Reintegration], tolerance: float) -> list[Check]:
    """Each interval integrated from where it begins: the end it should reach, and the sum of what
    is missed.
    """
    ends, sums, curves = [], [], []
    for m in motions:
        label = "" if len(motions) == 1 else f" of '{m.phase.form.name}'"
        names, ph = m.phase.form.x_names, m.phase
        ends.append(place(m.defects, ph.starts, names, label))
        jumps = m.jumps
        if jumps.size:
            ends.append(place(jumps, ph.breaks[1:-1], names, label))
        total = m.defects.sum(axis=1) + (jumps.sum(axis=1) if jumps.size else 0.0)
        sums += [(float(v), f"in {name}{label}") for v, name in zip(total, names, strict=True)]
        curves.append(_between(ph, label))
    scheme = ", ".join(sorted({m.scheme_name for m in motions}))
    return [
        worst("re-integration of intervals", ends, tolerance, scheme),
        worst("sum of the defects of all intervals", sums, 10 * tolerance, ""),
        worst(
            "states inside intervals", curves, 10 * tolerance, "against the integral of their rates"
        ),
    ]


def _between(ph: SampledPhase, label: str) -> tuple[float, str]:
    """How far the curves of the states are from the integrals of their rates,
    at quadrature points.
    """
    form, n = ph.form, ph.form.x.numel()
    t, x, z, u = ph.sampled
    inputs = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    rates = evaluated(
        casadi.Function("f", inputs, [casadi.densify(form.f)]), t, x, z, u, ph.s, ph.p
    )
    shape = ph.times.shape
    inner = gauss(shape[1])[2]
    way = np.einsum("ij,nkj->nki", inner, rates.reshape(n, *shape)) * ph.widths[None, :, None]
    gap = x.reshape(n, *shape) - ph.x(ph.starts)[:, :, None] - way
    return place(np.abs(gap).reshape(n, -1) / ph.sizes[:, None], t[0], form.x_names, label)


def with_integrals(whole: SampledSolution, motions: Sequence[Reintegration]) -> SampledSolution:
    """The answer with its integrals computed anew, interval by interval."""
    return replace(
        whole, integrals=tuple(m.local[m.phase.form.x.numel() :].sum(axis=1) for m in motions)
    )


def _own_cost(whole: SampledSolution, value: float, tolerance: float) -> float:
    """The size of the cost of this motion alone: a system at rest may cost nothing, whatever its
    limits would allow.

    A motion that is known up to a tolerance has a cost that is known up to its square, where that
    is least.
    """
    from trajopt.certificate.phase_conditions import endpoint_gradient

    gradient = np.abs(endpoint_gradient(replace(whole, conditions=False))[0])
    sizes = []
    for ph in whole.phases:
        size, form = ph.measure, ph.form
        variation = np.abs(evaluated_integrands(ph)) @ ph.quadrature.ravel()
        inputs = np.concatenate([size.z, size.z, size.u, size.u])
        sizes += [np.full(2, size.time), size.x, size.x, inputs, variation[: form.l.numel()]]
    own = abs(value) + float(np.nan_to_num(gradient * np.concatenate(sizes)).sum())
    return float(np.clip(own, tolerance * whole.sizes.cost, whole.sizes.cost))


def evaluated_integrands(ph: SampledPhase) -> Array:
    """The integrands at the quadrature points, (integrals, points)."""
    form = ph.form
    if not form.l.numel():
        return np.zeros((0, ph.times.size))
    inputs = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    return evaluated(
        casadi.Function("l", inputs, [casadi.densify(form.l)]), *ph.sampled, ph.s, ph.p
    )


def objective(whole: SampledSolution) -> float:
    """The objective as stated, with integrals computed anew."""
    form = whole.form
    symbols = [e for ph in form.phases for e in ph.ends]
    parts = np.split(whole.endpoints, np.cumsum([e.numel() for e in symbols])[:-1])
    return form.sense * float(
        casadi.Function("phi", [*symbols, form.s, form.p], [form.phi])(*parts, whole.s, whole.p)
    )


def costs(whole: SampledSolution, tolerance: float) -> list[Check]:
    """The cost and the integrals of the re-integrated motion against those of the file."""
    form, value = whole.form, objective(whole)
    gap = abs(value - whole.solution.objective) / _own_cost(whole, form.sense * value, tolerance)
    rows = [
        judged(
            OBJECTIVE,
            gap,
            tolerance,
            f"{value:.10g}, the file says {whole.solution.objective:.10g}",
        )
    ]
    found = []
    for ph, q, label in zip(whole.phases, whole.integrals or (), labels(whole), strict=True):
        if q.size and ph.given.integrals.size == q.size:
            off = np.abs(ph.given.integrals - q) / ph.measure.q
            found += [(float(v), f"in integral {i + 1}{label}") for i, v in enumerate(off)]
        elif q.size and ph.given.integrals.size:
            found.append((np.inf, f"in the number of integrals{label}"))
    return [*rows, worst("integrals of the file", found, tolerance)] if found else rows
