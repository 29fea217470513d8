"""Multipliers of the file: path multipliers are compared with the certificate's own, missing ones
of conditions fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from trajopt.certificate.feasibility_rows import conditions, worst
from trajopt.certificate.hamiltonian_system import UndefinedHamiltonianError, hamiltonians
from trajopt.certificate.phase_conditions import PhaseConditions
from trajopt.certificate.sampled_solution import SampledPhase, SampledSolution, evaluated
from trajopt.certificate.table import Check

Array = NDArray[np.float64]
OWN = 1e-6  # of a size: nearer to a limit a value is held by it
INSTANTS = 40  # at which stationarity tells the weights of integrals


def path_multipliers(phases: Sequence[PhaseConditions], tolerance: float) -> list[Check]:
    """Of mixed constraints: those that make H stationary.

    Of state constraints: no wrong sign, none off the limit.
    """
    found: list[tuple[float, str]] = []
    for e in phases:
        given = e.phase.given.path_multipliers
        label = "" if len(phases) == 1 else f" of '{e.phase.form.name}'"
        for k, name in enumerate(e.phase.form.c_names):
            if name in given and given[name].size == 1:
                mixed = np.flatnonzero(e.ham.mixed.of_path == k)
                off = _mixed(e, int(mixed[0])) if mixed.size else _of_states(e, k)
                found.append((off / e.cost, f"in {name}{label}"))
    return [worst("path multipliers of the file", found, tolerance)] if found else []


def _mixed(e: PhaseConditions, row: int) -> float:
    """The integral of the difference from the certificate's own multiplier, times the size of the
    constraint.
    """
    ph, path = e.phase, int(e.ham.mixed.of_path[row])
    own = e._multipliers(e.points[4])[ph.form.g.numel() + row]
    told = ph.given.path_multipliers[ph.form.c_names[path]].evaluate(e.points[0][0])[:, 0]
    outside = np.repeat(~e.fit.active, ph.times.shape[1])
    return float((np.abs(told - own) * outside * ph.quadrature.ravel()).sum() * ph.measure.c[path])


def _of_states(e: PhaseConditions, path: int) -> float:
    """Multipliers times the distance from their limit, or times the size of the constraint where
    their sign is wrong.
    """
    ph, rows = e.phase, e.ham.of_states
    row = int(np.flatnonzero(rows.of_path == path)[0])
    curve = ph.given.path_multipliers[ph.form.c_names[path]]
    times = np.clip(curve.t, ph.given.t0, ph.given.tf)
    at = (times[None, :], ph.x(times), ph.z(times), ph.u(times), ph.costate(times))
    value = evaluated(
        casadi.Function("c", e.symbols, [casadi.densify(rows.expression[row])]), *at, *e.fixed
    )[0]
    weight = np.concatenate(
        [
            np.full(n.size, (b - a) / n.size)
            for n, a, b in zip(curve.nodes, curve.breaks[:-1], curve.breaks[1:], strict=True)
        ]
    )
    told = curve.points
    side = np.where(told >= 0, rows.upper[row] - value, value - rows.lower[row])
    distance = np.clip(np.where(np.isfinite(side), side, np.inf), 0.0, ph.measure.c[path])
    return float((np.abs(told) * distance * weight).sum())


def with_multipliers(whole: SampledSolution) -> SampledSolution:
    """The answer with multipliers of conditions that its file does not have: those that come
    nearest to transversality.
    """
    form = whole.form
    missing = np.array(
        [name not in whole.solution.multipliers for name in form.b_names], dtype=bool
    )
    if not missing.any() or not all(ph.has_costates for ph in whole.phases):
        return whole
    try:
        hamiltonians(form)
    except UndefinedHamiltonianError:
        return whole
    matrix, right = _transversality(whole)
    told = whole.multipliers
    matrix, right = matrix[:, missing], -(right + matrix[:, ~missing] @ told[~missing])
    value, bound = conditions(whole)[missing], form.b_bound
    lower, upper, near = bound.lower[missing], bound.upper[missing], OWN * whole.sizes.b[missing]
    equal = lower == upper
    low = np.where(equal | (value <= lower + near), -np.inf, -1e-300)
    high = np.where(equal | (value >= upper - near), np.inf, 1e-300)
    size = whole.sizes.cost / whole.sizes.b[missing]
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return whole
    found = told.copy()
    found[missing] = lsq_linear(matrix * size[None, :], right, (low / size, high / size)).x * size
    names = dict(zip(form.b_names, found.tolist(), strict=True))
    return replace(
        whole, solution=replace(whole.solution, multipliers={**whole.solution.multipliers, **names})
    )


def _transversality(whole: SampledSolution) -> tuple[Array, Array]:
    """Rows that are linear in the multipliers of conditions, matrix . multipliers + right = 0,
    relative to the cost.
    """
    form, count = whole.form, len(whole.form.b_names)
    phi, b = endpoint_slopes(whole)
    rows: list[tuple[Array, float]] = []
    ns, cost = whole.s.size, whole.sizes.cost
    by_static = [(b[:, phi.size - ns + i].copy(), float(phi[phi.size - ns + i])) for i in range(ns)]
    first = 0
    for ph in whole.phases:
        total = ph.form.ends.column.numel()
        here = slice(first, first + total)
        more, statics = _phase_rows(ph, phi[here], b[:, here], cost)
        rows += more
        by_static = [(m + dm, r + dr) for (m, r), (dm, dr) in zip(by_static, statics, strict=True)]
        first += total
    for q in form.statics:
        for i in range(q.rows.start, q.rows.stop):
            near, j = OWN * whole.sizes.s[i], i - q.rows.start
            if q.bound.lower[j] + near < whole.s[i] < q.bound.upper[j] - near:
                rows.append(
                    (
                        by_static[i][0] * whole.sizes.s[i] / cost,
                        by_static[i][1] * whole.sizes.s[i] / cost,
                    )
                )
    if not rows:
        return np.zeros((0, count)), np.zeros(0)
    return np.array([m for m, _ in rows]), np.array([r for _, r in rows])


def endpoint_slopes(whole: SampledSolution) -> tuple[Array, Array]:
    """Derivatives of the cost, and of each condition, by all endpoint values and then by static
    variables.
    """
    form = whole.form
    ends = [e for ph in form.phases for e in ph.ends]
    outputs = [
        casadi.densify(casadi.jacobian(v, e)) for v in (form.phi, form.b) for e in (*ends, form.s)
    ]
    parts = np.split(whole.endpoints, np.cumsum([e.numel() for e in ends])[:-1])
    found = casadi.Function("slopes", [*ends, form.s, form.p], outputs)(*parts, whole.s, whole.p)
    values = [np.asarray(o.full()) for o in found]
    half = len(values) // 2
    return np.hstack(values[:half])[0], np.hstack(values[half:])


def _phase_rows(
    ph: SampledPhase, phi: Array, b: Array, cost: float
) -> tuple[list[tuple[Array, float]], list[tuple[Array, float]]]:
    """Of one phase: free ends, times and interior controls; and what it adds to the rows of static
    variables.
    """
    form, size = ph.form, ph.measure
    nx, nl, nu = form.x.numel(), form.l.numel(), form.u.numel()
    q = slice(phi.size - nl, phi.size)
    rows = []
    t = np.array([ph.given.t0, ph.given.tf])
    x, p = (
        np.column_stack([of(t[:1])[:, 0], of(t[1:], left=True)[:, 0]]) for of in (ph.x, ph.costate)
    )
    for k, bound in enumerate((form.x_start, form.x_end)):
        for i in range(nx):
            near, column = OWN * ph.sizes[i], 2 + k * nx + i
            if bound.lower[i] + near < x[i, k] < bound.upper[i] - near:
                slope = phi[column] + (p[i, k] if k == 0 else -p[i, k])
                rows.append((b[:, column] * ph.sizes[i] / cost, slope * ph.sizes[i] / cost))
    inputs = [form.t, form.x, form.z, form.u, form.costate, ph.symbols_s, ph.symbols_p]
    pf = casadi.dot(form.costate, form.f)
    near = ph.inside(np.array([[0.0], [1.0]]), np.array([0, ph.widths.size - 1])).ravel()
    at = evaluated(
        casadi.Function("H", inputs, [casadi.densify(casadi.vertcat(pf, form.l))]),
        t[None, :],
        x,
        ph.z(near),
        ph.u(near),
        p,
        ph.s,
        ph.p,
    )
    for k, (own, sign) in enumerate(((form.start_time, -1.0), (form.end_time, 1.0))):
        if own.lower[0] + OWN * size.time < t[k] < own.upper[0] - OWN * size.time:
            H = float(at[0, k] + phi[q] @ at[1:, k])
            rows.append(
                (
                    (b[:, k] + sign * b[:, q] @ at[1:, k]) * size.time / cost,
                    (phi[k] + sign * H) * size.time / cost,
                )
            )
    if np.abs(b[:, q]).any() and nu and not form.c.numel() and not form.z.numel():
        rows += _stationarity(ph, inputs, phi[q], b[:, q], cost)
    statics = []
    for i in range(ph.s.size):
        column = casadi.vertcat(
            casadi.jacobian(pf, ph.symbols_s)[:, i], casadi.jacobian(form.l, ph.symbols_s)[:, i]
        )
        along = evaluated(
            casadi.Function("s", inputs, [casadi.densify(column)]),
            *ph.sampled,
            ph.costate(ph.sampled[0][0]),
            ph.s,
            ph.p,
        )
        total = along @ ph.quadrature.ravel()
        statics.append((b[:, q] @ total[1:], float(total[0] + phi[q] @ total[1:])))
    return rows, statics


def _stationarity(
    ph: SampledPhase, inputs: list[casadi.SX], phi: Array, b: Array, cost: float
) -> list[tuple[Array, float]]:
    """H is stationary in controls between their bounds: that is linear in the weights of the
    integrals.
    """
    form, size = ph.form, ph.measure
    some = np.unique(np.linspace(0, ph.times.size - 1, INSTANTS).astype(int))
    t, x, z, u = (part[:, some] for part in ph.sampled)
    pf = casadi.dot(form.costate, form.f)
    column = casadi.vertcat(
        casadi.jacobian(pf, form.u).T, casadi.jacobian(form.l, form.u).T.reshape((-1, 1))
    )
    found = evaluated(
        casadi.Function("u", inputs, [casadi.densify(column)]),
        t,
        x,
        z,
        u,
        ph.costate(t[0]),
        ph.s,
        ph.p,
    )
    rows = []
    for i in range(form.u.numel()):
        near = OWN * size.u[i]
        inside = (u[i] > form.u_bound.lower[i] + near) & (u[i] < form.u_bound.upper[i] - near)
        by_l = found[form.u.numel() :].reshape(form.l.numel(), form.u.numel(), -1)[:, i]
        scale = size.u[i] * size.time / cost / some.size
        rows += [
            (b @ by_l[:, k] * scale, float(found[i, k] + phi @ by_l[:, k]) * scale)
            for k in np.flatnonzero(inside)
        ]
    return rows
