"""What must hold whatever the cost: conditions at the ends, bounds and path constraints, and the motion itself."""

from __future__ import annotations

from collections.abc import Sequence

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.along import Along, PhaseAlong, beyond, evaluated
from trajopt.certificate.motion import Motion
from trajopt.certificate.pontryagin import worst
from trajopt.certificate.table import Check, judged, skipped

Array = NDArray[np.float64]
WHOLE = "re-integration of whole phases"


def boundary(whole: Along, tolerance: float) -> Check:
    """Start and end values, times, links and conditions over phases, relative to the sizes of what they are made of."""
    found: list[tuple[float, str]] = []
    sizes = []
    for ph in whole.phases:
        label = "" if len(whole.phases) == 1 else f" of '{ph.form.name}'"
        ends = ph.x(np.array([ph.given.t0, ph.given.tf]))
        duration = np.array([max(ph.given.tf - ph.given.t0, 1e-300)])
        for q in ph.form.states:
            for word, own, value in (("initial", q.start, ends[q.rows, 0]), ("final", q.end, ends[q.rows, 1])):
                gap = beyond(value[:, None], own.lower, own.upper)[:, 0] / ph.sizes[q.rows]
                found += [(float(v), f"in the {word} {name}{label}") for v, name in zip(gap, q.components, strict=True)]
        for word, own, t in (("initial", ph.form.start_time, ph.given.t0), ("final", ph.form.end_time, ph.given.tf)):
            found.append((float(beyond(np.array([[t]]), own.lower, own.upper)[0, 0] / duration[0]), f"in the {word} time{label}"))
        found.append((0.0 if ph.given.tf > ph.given.t0 else np.inf, f"in the duration{label}"))
        z, u = ph.sampled[2], ph.sampled[3]
        others = [np.abs(part).max(axis=1, initial=0.0) for part in (z, u)]
        sizes += [np.full(2, max(abs(ph.given.tf), duration[0])), ph.sizes, ph.sizes, others[0], others[0], others[1], others[1]]
        sizes.append(np.abs(ph.given.integrals))
    found += _conditions(whole, np.concatenate(sizes))
    return worst("boundary conditions", found, tolerance)


def _conditions(whole: Along, sizes: Array) -> list[tuple[float, str]]:
    form = whole.form
    if not form.b.numel():
        return []
    symbols = [e for ph in form.phases for e in ph.ends]
    slopes = casadi.horzcat(*[casadi.jacobian(form.b, e) for e in symbols if e.numel()])
    function = casadi.Function("b", [*symbols, form.s, form.p], [casadi.densify(form.b), casadi.densify(slopes)])
    parts = np.split(whole.endpoints, np.cumsum([e.numel() for e in symbols])[:-1])
    values, slope = (np.asarray(o.full()) for o in function(*parts, whole.s, whole.p))
    limits = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (form.b_bound.lower, form.b_bound.upper)]
    scale = np.maximum(np.nan_to_num(np.abs(slope)) @ sizes, np.maximum(*limits))
    gap = beyond(values, form.b_bound.lower, form.b_bound.upper)[:, 0] / np.where(scale > 0, scale, 1.0)
    return [(float(v), f"in '{name}'") for v, name in zip(gap, form.b_names, strict=True)]


def between_nodes(whole: Along, tolerance: float) -> Check:
    """Bounds of states, controls and algebraic variables, path constraints and algebraic equations, all along the motion."""
    found: list[tuple[float, str]] = []
    for ph in whole.phases:
        label = "" if len(whole.phases) == 1 else f" of '{ph.form.name}'"
        t, x, z, u = ph.sampled
        form = ph.form
        rows = [(x, form.x_bound, form.x_names), (z, form.z_bound, form.z_names), (u, form.u_bound, form.u_names)]
        if form.c.numel():
            rows.append((_along(ph, form.c), form.c_bound, form.c_names))
        for values, bound, names in rows:
            if values.size:
                limits = [np.where(np.isfinite(side), np.abs(side), 0.0) for side in (bound.lower, bound.upper)]
                size = np.maximum(np.maximum(np.ptp(values, axis=1), np.abs(values).max(axis=1)), np.maximum(*limits))
                gaps = beyond(values, bound.lower, bound.upper) / np.where(size > 0, size, 1.0)[:, None]
                found.append(_place(gaps, t[0], names, label))
        if form.g.numel():
            found.append(_place(np.abs(_along(ph, form.g)) / _equation_sizes(ph)[:, None], t[0], form.g_names, label))
    return worst("bounds and path constraints", found, tolerance, "between the nodes")


def _along(ph: PhaseAlong, expression: casadi.SX) -> Array:
    form = ph.form
    inputs = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    return evaluated(casadi.Function("along", inputs, [casadi.densify(expression)]), *ph.sampled, ph.s, ph.p)


def _equation_sizes(ph: PhaseAlong) -> Array:
    """An equation is measured by what its variables contribute to it."""
    form = ph.form
    blocks = [casadi.jacobian(form.g, v) for v in (form.x, form.z, form.u) if v.numel()]
    slopes = np.abs(_along(ph, casadi.horzcat(*blocks).reshape((-1, 1))))
    sizes = np.concatenate([np.abs(part).max(axis=1, initial=0.0) for part in ph.sampled[1:]])
    matrix = np.nan_to_num(slopes).max(axis=1).reshape(sizes.size, form.g.numel()).T
    total = matrix @ sizes
    return np.asarray(np.where(total > 0, total, 1.0))


def _place(values: Array, times: Array, names: tuple[str, ...], label: str) -> tuple[float, str]:
    values = np.where(np.isfinite(values), values, np.inf)
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return float(values[row, column]), f"in {names[row]} at t = {times[column]:.4g}{label}"


def motions_between_nodes(motions: Sequence[Motion], tolerance: float) -> Check:
    """Each interval integrated forward from where it begins: the end it should reach."""
    found = []
    for m in motions:
        label = "" if len(motions) == 1 else f" of '{m.phase.form.name}'"
        names, starts = m.phase.form.x_names, m.phase.starts
        found.append(_place(m.defects, starts, names, label))
        if m.jumps.size:
            found.append(_place(m.jumps, m.phase.breaks[1:-1], names, label))
    return worst("re-integration of intervals", found, tolerance, f"{motions[0].scheme.name}")


def whole_motions(motions: Sequence[Motion], tolerance: float) -> list[Check]:
    """Each phase integrated forward from its start alone; with declared invariants of the states also stabilized."""
    return end_gaps(motions, len(motions), tolerance, (WHOLE, "re-integration, invariants stabilized"))


def end_gaps(motions: Sequence[Motion], phases: int, tolerance: float, names: tuple[str, str]) -> list[Check]:
    """How far the ends of whole phases are from the answer's, with the growth of a disturbed start taken off.

    The second row has the runs in which invariants are stabilized; it is absent where there are none.
    """
    run = [m for m in motions if m.meaningful]
    if not run:
        growth = max(m.whole[1] for m in motions)
        return [skipped(names[0], f"the motion amplifies a disturbed start {growth:.0e} times")]
    gaps = []
    for m in run:
        end, amplification = m.whole
        gap = _end_gap(m, end)
        gaps.append((gap / max(1.0, amplification), "" if phases == 1 else f"in '{m.phase.form.name}'"))
    largest = max(m.whole[1] for m in run)
    remark = f"a disturbed start grows {largest:.2g} times" if largest > 1 else ""
    if len(run) < len(motions):
        remark = f"{len(run)} of {phases} phases; others amplify a disturbed start without measure"
    elif len(motions) < phases:
        remark = f"{len(run)} of {phases} phases; constraints act on the costates of others"
    found = [worst(names[0], gaps, tolerance, remark)]
    ends = [(m, m.stabilized_end()) for m in run]
    kept = [_end_gap(m, end) / max(1.0, m.whole[1]) for m, end in ends if end is not None]
    return [*found, judged(names[1], max(kept), tolerance)] if kept else found


def _end_gap(m: Motion, end: Array) -> float:
    n = m.phase.form.x.numel()
    goal = m.phase.x(m.phase.breaks[-1:], left=True)[:, 0]
    gap = float((np.abs(end[:n] - goal) / m.phase.sizes).max(initial=0.0))
    return gap if np.isfinite(gap) else np.inf


def objective(whole: Along, motions: Sequence[Motion], tolerance: float) -> Check:
    """The cost of the re-integrated motion."""
    form, ends = whole.form, []
    for m in motions:
        ph, n = m.phase, m.phase.form.x.numel()
        values = ph.endpoint_values.copy()
        if m.meaningful:
            values[2 + n : 2 + 2 * n] = m.whole[0][:n]
            q = m.whole[0][n:]
        else:
            q = m.local[n:].sum(axis=1)
        if q.size:
            values[-q.size :] = q
        ends.append(values)
    symbols = [e for ph in form.phases for e in ph.ends]
    parts = np.split(np.concatenate(ends), np.cumsum([e.numel() for e in symbols])[:-1])
    value = form.sense * float(casadi.Function("phi", [*symbols, form.s, form.p], [form.phi])(*parts, whole.s, whole.p))
    given = whole.solution.objective
    scale = max(abs(given), 1e-12)
    return judged("objective of the re-integrated motion", abs(value - given) / scale, tolerance, f"{value:.10g}")
