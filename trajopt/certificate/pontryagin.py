"""Pontryagin's conditions as rows: costate equation, stationarity, minimum of H, Legendre-Clebsch, transversality, constancy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.adjoint import end_pushes, pushed_intervals, pushes
from trajopt.certificate.along import Along, beyond, evaluated
from trajopt.certificate.extremal import Extremal, endpoint_gradient
from trajopt.certificate.table import Check, judged, skipped
from trajopt.indirect.integrals import autonomous, deviations, first_integrals, with_slopes

Array = NDArray[np.float64]
STATIONARITY = "stationarity and switching"
INSTANTS = 48  # at which H is sampled over the controls, and its second derivatives are looked at
TICKS, MOST_CANDIDATES = 9, 243
EQUATIONS_SHARE = 4  # candidates that have to be moved onto equations first are so many times fewer


def worst(name: str, found: Sequence[tuple[float, str]], tolerance: float, remark: str = "") -> Check:
    """The largest of several figures, with the place where it is."""
    values = [value if np.isfinite(value) else np.inf for value, _ in found]
    top = int(np.argmax(values))
    value = values[top]
    where = f"largest {found[top][1]}" if found[top][1] and value > 0 else ""
    return judged(name, value, tolerance, ", ".join(part for part in (remark, where) if part))


def costate_equation(phases: Sequence[Extremal], tolerance: float) -> Check:
    """Over each interval the costate changes by the integral of -dH/dx; on a state constraint also by a multiplier."""
    found, constrained = [], False
    for e in phases:
        ph = e.phase
        rates = e.augmented["x"].reshape(-1, *ph.times.shape)
        before = ph.costate(ph.starts, left=True)
        defect = ph.costate(ph.breaks[1:], left=True) - before + (rates * ph.quadrature[None]).sum(axis=2)
        scaled = defect / e.costate_sizes[:, None]
        if e.state_constraints:
            constrained = True
            pushed = pushed_intervals(e)
            scaled[:, pushed] = pushes(e, pushed).left
        found.append(_largest(np.abs(scaled), ph.starts, ph.form.x_names, _label(phases, e)))
    return worst("costate equation", found, tolerance, "up to multipliers of active state constraints" if constrained else "")


def stationarity(phases: Sequence[Extremal], tolerance: float) -> Check:
    """H falls along no control that is free to move; at a bound the switching function holds it there.

    The figure is a mean square over the phase, which is what the cost feels of a control that is a little off; that it is
    nowhere far off is what ``minimum_of_H`` says.
    """
    found, held = [], False
    for e in phases:
        ph, bound = e.phase, e.phase.form.u_bound
        if not bound.size:
            continue
        u, span = e.points[3], ph.spans[:, None]
        step = u - np.clip(u - span**2 / e.power * e.augmented["u"], bound.lower[:, None], bound.upper[:, None])
        left = np.where(e.holding, 0.0, np.abs(step) / span)
        held |= bool(e.holding.any())
        share = ph.quadrature.ravel() / (ph.given.tf - ph.given.t0)
        mean = np.sqrt((np.where(np.isfinite(left), left, np.inf) ** 2 * share[None, :]).sum(axis=1))
        found += [(float(v), f"in {name}{_label(phases, e)}") for v, name in zip(mean, ph.form.u_names, strict=True)]
    remark = "without controls that hold a state constraint" if held else ""
    return worst(STATIONARITY, found, tolerance, remark) if found else skipped(STATIONARITY, "no controls")


def minimum_of_H(phases: Sequence[Extremal], tolerance: float) -> Check:
    """No other controls that the bounds and path constraints allow make H smaller."""
    found = []
    for e in phases:
        if not e.phase.form.u.numel():
            continue
        instants = _instants(e)[:: EQUATIONS_SHARE if _equations(e) else 1]
        values, times = _excess(e, instants)
        top = int(np.argmax(values))
        found.append((float(values[top]), f"at t = {times[top]:.4g}{_label(phases, e)}"))
    return (
        worst("minimum of H", found, tolerance, "H sampled over the controls")
        if found
        else skipped("minimum of H", "no controls")
    )


def _excess(e: Extremal, instants: Array) -> tuple[Array, Array]:
    """At some points, how far H is above the smallest that candidates reach, relative to its size."""
    ph = e.phase.form
    points = [part[:, instants] for part in e.points]
    candidates = _candidates(e, points[3])  # (nu, instants, candidates)
    # What holds a state constraint is not compared: the costate that would judge it is not unique inside an interval.
    candidates = np.where(e.holding[:, instants][:, :, None], points[3][:, :, None], candidates)
    count = candidates.shape[2]
    wide = [np.repeat(part, count, axis=1) for part in points]
    u, z = candidates.reshape(ph.u.numel(), -1), wide[2]
    u, z, allowed = _admissible(e, wide, u, z)
    function = casadi.Function("H", e.symbols, [e.ham.H])
    with np.errstate(all="ignore"):
        H = np.asarray(function(wide[0], wide[1], z, u, wide[4], *e.fixed).full()).reshape(instants.size, count)
    allowed &= _holds(e, wide, u, z, np.repeat(instants, count))
    H = np.where(allowed.reshape(H.shape) & np.isfinite(H), H, np.inf)
    here = e.augmented["H"][0, instants]
    return np.maximum(here - H.min(axis=1), 0.0) / e.power, points[0][0]


def _equations(e: Extremal) -> bool:
    return bool(e.phase.form.g.numel() or e.phase.form.c_bound.fixed.any())


def _candidates(e: Extremal, u: Array) -> Array:
    """Controls to compare with: a grid over the bounds, or around the answer where there are none."""
    bound, span = e.phase.form.u_bound, e.phase.spans
    size = u.shape[0]
    most = MOST_CANDIDATES // (EQUATIONS_SHARE if _equations(e) else 1)
    ticks = max(k for k in (TICKS, 5, 3, 2, 1) if k**size <= most or k == 1)
    grids = []
    for i in range(size):
        tau = np.linspace(0.0, 1.0, ticks)[None, :] if ticks > 1 else np.full((1, 1), 0.5)
        low = bound.lower[i] if np.isfinite(bound.lower[i]) else u[i].min() - span[i]
        high = bound.upper[i] if np.isfinite(bound.upper[i]) else u[i].max() + span[i]
        grids.append(np.repeat(low + (high - low) * tau, u.shape[1], axis=0))  # (instants, ticks)
    chosen = np.array(list(product(range(ticks), repeat=size)))
    full = np.stack([grids[i][:, chosen[:, i]] for i in range(size)])
    # One component at a time, the others as in the answer: the only candidates where there are too many controls for a grid.
    single = []
    for i in range(size):
        for tick in range(grids[i].shape[1] if ticks > 1 else 0):
            one = u.copy()
            one[i] = grids[i][:, tick]
            single.append(one)
    return np.concatenate([full, *[one[:, :, None] for one in single]], axis=2)


def _admissible(e: Extremal, wide: list[Array], u: Array, z: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Candidates moved onto the equations by Newton's method with the least change, and whether they are allowed."""
    ph = e.phase.form
    allowed = np.ones(u.shape[1], dtype=bool)
    bound = ph.u_bound
    if not ph.g.numel() and not ph.c.numel():
        return u, z, allowed
    fixed = ph.c_bound.fixed
    rows = casadi.vertcat(ph.g, *[ph.c[i] - ph.c_bound.lower[i] for i in np.flatnonzero(fixed)])
    y = casadi.vertcat(ph.u, ph.z)
    if rows.numel():
        blocks = casadi.horzcat(*[casadi.jacobian(rows, v) for v in (ph.u, ph.z) if v.numel()])
        function = casadi.Function("rows", e.symbols, [casadi.densify(rows), casadi.densify(blocks.reshape((-1, 1)))])
        for _ in range(8):
            with np.errstate(all="ignore"):
                value, slope = (np.asarray(o.full()) for o in function(wide[0], wide[1], z, u, wide[4], *e.fixed))
            jacobian = slope.T.reshape(-1, y.numel(), rows.numel()).transpose(0, 2, 1)
            good = np.isfinite(slope).all(axis=0) & np.isfinite(value).all(axis=0)
            allowed &= good
            jacobian[~good], value[:, ~good] = 0.0, 0.0
            step = np.einsum("nij,jn->in", np.linalg.pinv(jacobian, rcond=1e-12), value)
            u, z = u - step[: u.shape[0]], z - step[u.shape[0] :]
            if np.abs(value[:, allowed]).max(initial=0.0) < 1e-12:
                break
        allowed &= np.abs(value).max(axis=0, initial=0.0) < 1e-8
    slack = 1e-9 * e.phase.spans[:, None]
    allowed &= (beyond(u, bound.lower, bound.upper) <= slack).all(axis=0)
    if ph.c.numel():
        with np.errstate(all="ignore"):
            c = np.asarray(
                casadi.Function("c", e.symbols, [casadi.densify(ph.c)])(wide[0], wide[1], z, u, wide[4], *e.fixed).full()
            )
        allowed &= (beyond(c, ph.c_bound.lower, ph.c_bound.upper) <= 1e-8 * (1 + np.abs(c))).all(axis=0)
    return u, z, allowed


def _holds(e: Extremal, wide: list[Array], u: Array, z: Array, instants: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether candidates do not push a state across a constraint that it is on."""
    allowed = np.ones(u.shape[1], dtype=bool)
    for constraint, side in e.active:
        if constraint.order is None:
            continue
        function = casadi.Function("push", e.symbols, [constraint.derivatives[-1]])
        push = evaluated(function, wide[0], wide[1], z, u, wide[4], *e.fixed)[0] * np.where(side[instants] == -1, -1.0, 1.0)
        allowed &= (side[instants] == 0) | (push <= 1e-9 * np.abs(push).max())
    return allowed


def legendre_clebsch(phases: Sequence[Extremal], tolerance: float) -> Check:
    """Where controls are free to move, the second derivative of H along what the constraints allow is not negative."""
    name, found = "Legendre-Clebsch", []
    for e in phases:
        ph = e.phase.form
        y, rows = casadi.vertcat(ph.u, ph.z), casadi.vertcat(ph.g, ph.c)
        if not ph.u.numel():
            continue
        instants = _instants(e)
        m = e.ham.symbols.sym("multipliers", rows.numel())
        whole = e.ham.H + (casadi.dot(m, rows) if rows.numel() else 0)
        joined = e.ham.symbols.sym("y", y.numel())
        parts = casadi.vertsplit(joined, [0, ph.u.numel(), y.numel()]) if ph.z.numel() else [joined, ph.z]
        replaced = casadi.substitute([whole], [ph.u, ph.z] if ph.z.numel() else [ph.u], parts if ph.z.numel() else parts[:1])[0]
        hessian = casadi.hessian(replaced, joined)[0]
        inputs = [e.ham.phase.t, ph.x, joined, *e.symbols[4:], m]
        function = casadi.Function("hessian", inputs, [casadi.densify(hessian.reshape((-1, 1)))])
        points = [part[:, instants] for part in e.points]
        at = (points[0], points[1], np.vstack([points[3], points[2]]), points[4], *e.fixed, e.multipliers[:, instants])
        second = np.asarray(function(*at).full()).T.reshape(instants.size, y.numel(), y.numel())
        found.append(_smallest_curvature(e, instants, second, _label(phases, e)))
    return worst(name, found, tolerance) if found else skipped(name, "no controls")


def _smallest_curvature(e: Extremal, instants: Array, second: Array, label: str) -> tuple[float, str]:
    ph, nu = e.phase.form, e.phase.form.u.numel()
    size = np.concatenate([e.phase.spans, np.maximum(np.abs(e.points[2]).max(axis=1, initial=0.0), 1e-12)])
    free = np.vstack([~(e.at_lower | e.at_upper), np.ones((ph.z.numel(), e.points[0].size), dtype=bool)])[:, instants]
    lowest, place = 0.0, ""
    for k, matrix in enumerate(second):
        kept = np.flatnonzero(free[:, k])
        if not kept.size or not free[:nu, k].any():
            continue
        scaled = (matrix * size[:, None] * size[None, :])[np.ix_(kept, kept)]
        basis = np.eye(kept.size)
        if ph.g.numel() + ph.c.numel():
            used = np.concatenate([np.ones(ph.g.numel(), dtype=bool), e.path_sides[:, instants[k]] != 0])
            J = (e.slopes[1][instants[k]] * size[None, :])[np.ix_(used, kept)]
            _, values, right = np.linalg.svd(J)
            basis = right[int((values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)).sum()) :].T
        if not basis.shape[1]:
            continue
        smallest = float(np.linalg.eigvalsh(basis.T @ scaled @ basis)[0]) / e.power
        if smallest < lowest:
            lowest, place = smallest, f"at t = {e.points[0][0, instants[k]]:.4g}{label}"
    return abs(lowest), place


def transversality(whole: Along, phases: Sequence[Extremal], tolerance: float) -> Check:
    """No end value that is free to move changes the cost: states, times, static variables."""
    ends, statics = endpoint_gradient(whole)
    found: list[tuple[float, str]] = []
    first, by_static = 0, statics.copy()
    for e in phases:
        ph, nx = e.phase, e.phase.form.x.numel()
        label = _label(phases, e)
        near = ph.inside(np.array([[0.0], [1.0]]), np.array([0, ph.widths.size - 1])).ravel()
        costates = ph.costate(np.array([ph.given.t0])), ph.costate(np.array([ph.given.tf]), left=True)
        H = _H_at(e, near, np.hstack(costates))
        x = ph.x(np.array([ph.given.t0, ph.given.tf]))
        slopes = (
            ends[first + 2 : first + 2 + nx] + costates[0][:, 0],
            ends[first + 2 + nx : first + 2 + 2 * nx] - costates[1][:, 0],
        )
        for which, whole_slope in enumerate(slopes):
            limits = [(q.start, q.end)[which].meet(q.bound) for q in ph.form.states]
            lower, upper = (np.concatenate([getattr(own, end) for own in limits]) for end in ("lower", "upper"))
            slope = end_pushes(e, whole_slope, which == 1, _at_limits(x[:, which], lower, upper, ph.sizes))
            free_slopes = _free_slope(slope, x[:, which], lower, upper, ph.sizes) / e.costate_sizes
            for q in ph.form.states:
                left = free_slopes[q.rows]
                found += [
                    (float(v), f"in the {('initial', 'final')[which]} {n}{label}")
                    for v, n in zip(left, q.components, strict=True)
                ]
        duration = ph.given.tf - ph.given.t0
        times = ((ends[first] - H[0], ph.given.t0, ph.form.start_time), (ends[first + 1] + H[1], ph.given.tf, ph.form.end_time))
        for (slope_t, t, own), word in zip(times, ("initial", "final"), strict=True):
            left = _free_slope(np.array([slope_t]), np.array([t]), own.lower, own.upper, np.array([duration]))
            found.append((float(left[0]) / e.power, f"in the {word} time{label}"))
        if statics.size:
            by_static += (e.augmented["s"] * ph.quadrature.ravel()[None, :]).sum(axis=1)
            if any(casadi.depends_on(c.expression, e.ham.s) for c, _ in e.active):
                by_static += pushes(e, pushed_intervals(e)).by_static
        first += ph.form.ends.column.numel()
    for q in whole.form.statics:
        value, size = whole.s[q.rows], np.maximum(np.abs(whole.s[q.rows]), 1e-12)
        left = _free_slope(by_static[q.rows], value, q.bound.lower, q.bound.upper, size) * size
        scale = max(e.power * (e.phase.given.tf - e.phase.given.t0) for e in phases)
        found += [(float(v) / scale, f"in {n}") for v, n in zip(left, q.components, strict=True)]
    found += _condition_signs(whole)
    return worst("transversality", found, tolerance)


def _free_slope(slope: Array, value: Array, lower: Array, upper: Array, size: Array) -> Array:
    """How steeply the cost changes along values that may move; at a limit only the allowed direction counts."""
    at_lower, at_upper = _at_limits(value, lower, upper, size)
    steep = np.where(at_lower, np.maximum(-slope, 0), np.where(at_upper, np.maximum(slope, 0), np.abs(slope)))
    return np.asarray(np.where(at_lower & at_upper, 0.0, steep))


def _at_limits(value: Array, lower: Array, upper: Array, size: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    near = 1e-6 * size
    return value <= lower + near, value >= upper - near


def _condition_signs(whole: Along) -> list[tuple[float, str]]:
    """Multipliers of conditions that are inequalities: none inside, of the right sign at a limit."""
    form, nu = whole.form, whole.multipliers
    if not nu.size:
        return []
    symbols = [*[e for ph in form.phases for e in ph.ends], form.s, form.p]
    sizes = np.cumsum([e.numel() for ph in form.phases for e in ph.ends])[:-1]
    b = casadi.Function("b", symbols, [casadi.densify(form.b)])(*np.split(whole.endpoints, sizes), whole.s, whole.p)
    values = np.asarray(b.full()).ravel()
    largest = max(float(np.abs(nu).max()), 1e-300)
    finite = [np.where(np.isfinite(limit), np.abs(limit), 0.0) for limit in (form.b_bound.lower, form.b_bound.upper)]
    size = np.maximum(np.maximum(np.abs(values), 1e-3), np.maximum(*finite))
    left = _free_slope(-nu, values, form.b_bound.lower, form.b_bound.upper, size)
    return [(float(v) / largest, f"in '{name}'") for v, name in zip(left, form.b_names, strict=True)]


def _H_at(e: Extremal, times: Array, costate: Array) -> Array:
    ph = e.phase
    function = casadi.Function("H", e.symbols, [e.ham.H])
    values = evaluated(function, times[None, :], ph.x(times), ph.z(times), ph.u(times), costate, *e.fixed)
    return np.asarray(values[0])


def constancy(phases: Sequence[Extremal], tolerance: float) -> Check:
    """H is constant where time does not appear; seen where intervals meet, since curves between are less accurate."""
    found = []
    for e in phases:
        if autonomous(e.ham):
            H = e.values(e.ham.H, e.at_breaks)[0]
            gap = np.abs(H - float(np.median(H))) / e.power
            top = int(np.argmax(gap))
            found.append((float(gap[top]), f"at t = {e.at_breaks[0][0, top]:.4g}{_label(phases, e)}"))
    return worst("constancy of H", found, tolerance) if found else skipped("constancy of H", "time appears in the problem")


def conserved(phases: Sequence[Extremal], tolerance: float) -> Check:
    """Declared invariants and costates of cyclic states stay, measured by what their variables contribute."""
    found, count = [], 0
    for e in phases:
        sizes = np.concatenate([e.phase.sizes, e.costate_sizes])
        for integral in first_integrals(e.ham):
            if integral.name == "H" and not integral.declared:
                continue
            gap = deviations(e.values(with_slopes(e.ham, integral), e.at_breaks), sizes, integral.at_zero)
            found.append((float(gap.max()), f"in {integral.name}{_label(phases, e)}"))
            count += 1
    return worst("first integrals", found, tolerance, f"{count} beside H") if found else skipped("first integrals", "none but H")


def _instants(e: Extremal) -> Array:
    """Some of the quadrature points, spread over all intervals."""
    count = e.points[0].size
    return np.unique(np.linspace(0, count - 1, min(INSTANTS, count)).astype(int))


def _largest(values: Array, times: Array, names: tuple[str, ...], label: str) -> tuple[float, str]:
    values = np.where(np.isfinite(values), values, np.inf)
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return float(values[row, column]), f"in {names[row]} at t = {times[column]:.4g}{label}"


def _label(phases: Sequence[Extremal], e: Extremal) -> str:
    return "" if len(phases) == 1 else f" of '{e.phase.form.name}'"
