"""Whether a problem is convex, so that an extremal is a global minimum: proved from the statement,
never sampled.

Times are fixed, dynamics and algebraic equations affine in states, algebraic variables, controls
and static variables, limits and conditions convex, the cost convex and rising with convex
integrals. Minimum time with affine dynamics is quasiconvex: for each duration the motions that
reach the end form a convex set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi
import numpy as np

from trajopt.certificate.curvature import Curvatures, Value, constant, curvatures, variable
from trajopt.certificate.sampled_solution import SampledPhase, SampledSolution
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import ConditionKind, NormalForm, stacked_bounds


@dataclass(frozen=True)
class Convexity:
    """``reason`` says why a problem is not known to be convex; it is empty where it is.

    ``kinked``: phases with kinks in u.
    """

    reason: str = ""
    kinked: tuple[bool, ...] = ()
    minimum_time: bool = False


def convexity(whole: SampledSolution) -> Convexity:
    """Whether the problem of an answer is convex, with the answer's parameters."""
    form = whole.form
    minimum_time = _is_minimum_time(form)
    if not minimum_time and not _fixed_times(whole):
        return Convexity("a time is free")
    kinked, integrals = [], []
    bound = stacked_bounds([q.bound for q in form.statics])
    s = [variable(i, *_limits(bound, i)) for i in range(form.s.numel())]
    for ph in whole.phases:
        label = f" of '{ph.form.name}'" if len(whole.phases) > 1 else ""
        found, reason = _phase(ph, s)
        if found is None:
            return Convexity(f"{reason}{label}")
        kinked.append(found[1])
        integrals.append(found[0])
    reason = _ends(whole, s, integrals)
    return Convexity(reason) if reason else Convexity("", tuple(kinked), minimum_time)


def _limits(bound: Bound, i: int) -> tuple[float, float]:
    return float(bound.lower[i]), float(bound.upper[i])


def _is_minimum_time(form: NormalForm) -> bool:
    """The cost is the end of the one phase, which is free, times a positive number."""
    if len(form.phases) != 1 or form.phases[0].l.numel() or form.s.numel():
        return False
    ends = form.phases[0].ends
    others = [v for v in ends if v.numel() and v is not ends.tf]
    duration = all(origin.kind is ConditionKind.DURATION for origin in form.b_origins)
    slope = casadi.jacobian(form.phi, ends.tf)
    if (
        form.phases[0].end_time.fixed.all()
        or not form.phases[0].start_time.fixed.all()
        or not duration
    ):
        return False
    if casadi.depends_on(form.phi, casadi.vertcat(*others)) or casadi.depends_on(
        slope, casadi.vertcat(ends.tf, form.p)
    ):
        return False
    return bool(float(casadi.evalf(casadi.densify(slope))) > 0)


def _fixed_times(whole: SampledSolution) -> bool:
    """Whether bounds and conditions leave all times one value: conditions of times alone, linear in
    them.
    """
    form = whole.form
    times = casadi.vertcat(*[casadi.vertcat(ph.ends.t0, ph.ends.tf) for ph in form.phases])
    bounds = [b for ph in form.phases for b in (ph.start_time, ph.end_time)]
    known = np.array([bool(b.fixed.all()) for b in bounds])
    if known.all():
        return True
    rows = [
        k
        for k in range(form.b.numel())
        if form.b_bound.fixed[k] and casadi.depends_on(form.b[k], times)
    ]
    others = casadi.vertcat(
        *[v for ph in form.phases for v in list(ph.ends)[2:] if v.numel()], form.s, form.p
    )
    rows = [k for k in rows if not casadi.depends_on(form.b[k], others)]
    if not rows:
        return False
    slopes = casadi.jacobian(casadi.vertcat(*[form.b[k] for k in rows]), times)
    if casadi.depends_on(slopes, times):
        return False
    matrix = np.asarray(casadi.evalf(casadi.densify(slopes)).full())[:, ~known]
    return bool(np.linalg.matrix_rank(matrix) == (~known).sum())


def _phase(ph: SampledPhase, s: list[Value]) -> tuple[tuple[list[Value], bool] | None, str]:
    """The curvatures of the integrals of a phase, and whether controls meet kinks; else the reason
    why it is not convex.
    """
    form = ph.form
    first = len(s)
    columns: list[list[Value]] = [[constant(ph.given.t0, ph.given.tf)]]
    for bound, symbols in ((form.x_bound, form.x), (form.z_bound, form.z), (form.u_bound, form.u)):
        columns.append([variable(first + i, *_limits(bound, i)) for i in range(symbols.numel())])
        first += symbols.numel()
    controls = {i for value in columns[3] for i in value.variables}
    p = [constant(float(v), float(v)) for v in ph.p]
    symbols = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    found = curvatures(casadi.vertcat(form.f, form.g, form.c, form.l), symbols, [*columns, s, p])
    if found is None:
        return None, "the model has tables or external functions"
    n, ng, nc = form.x.numel(), form.g.numel(), form.c.numel()
    for values, names, what in (
        (found.rows[:n], form.x_names, "the rate of"),
        (found.rows[n : n + ng], form.g_names, ""),
    ):
        for value, name in zip(values, names, strict=True):
            if not value.affine:
                return None, f"{what} {name} is not affine".strip()
    for k, value in enumerate(found.rows[n + ng : n + ng + nc]):
        if not _fits(value, *_limits(form.c_bound, k)):
            return None, f"the limit '{form.c_names[k]}' is not convex"
    if any(kink & controls and kink - controls for kink in found.kinks):
        return None, "a kink joins states and controls"
    return (found.rows[n + ng + nc :], any(kink & controls for kink in found.kinks)), ""


def _fits(value: Value, lower: float, upper: float) -> bool:
    """Whether lower <= value <= upper is a convex set."""
    if lower == upper:
        return value.affine
    return (not np.isfinite(upper) or value.convex) and (not np.isfinite(lower) or value.concave)


def _ends(whole: SampledSolution, s: list[Value], integrals: Sequence[Sequence[Value]]) -> str:
    """Why cost and conditions are not convex."""
    form = whole.form
    first, symbols, values = len(s), [], []
    for ph, of_phase in zip(whole.phases, integrals, strict=True):
        ends, given = ph.form.ends, ph.given
        bounds = [
            ph.form.x_start,
            ph.form.x_end,
            *[Bound.open(v.numel()) for v in (ends.z0, ends.zf, ends.u0, ends.uf)],
        ]
        columns = [[constant(given.t0, given.t0)], [constant(given.tf, given.tf)]]
        for bound, symbol in zip(bounds, list(ends)[2:8], strict=True):
            columns.append([variable(first + i, *_limits(bound, i)) for i in range(symbol.numel())])
            first += symbol.numel()
        # An integral has the curvature of its integrand; an affine one is a variable like others.
        held = []
        for value in of_phase:
            fresh = variable(first, -np.inf, np.inf)
            first += 1
            held.append(
                fresh
                if value.affine
                else replace(
                    fresh,
                    polynomial={},
                    convex_rest=value.convex,
                    concave_rest=value.concave,
                    exact=False,
                    lower=0.0 if value.lower >= 0 else -np.inf,
                    upper=0.0 if value.upper <= 0 else np.inf,
                )
            )
        symbols += list(ends)
        values += [*columns, held]
    p = [constant(float(v), float(v)) for v in whole.p]
    found: Curvatures | None = curvatures(
        casadi.vertcat(form.phi, form.b), [*symbols, form.s, form.p], [*values, s, p]
    )
    if found is None:
        return "the cost has tables or external functions"
    if not found.rows[0].convex:
        return "the cost is not convex" if form.sense > 0 else "the objective is not concave"
    for k, value in enumerate(found.rows[1:]):
        if not value.constant and not _fits(value, *_limits(form.b_bound, k)):
            return f"the condition '{form.b_names[k]}' is not convex"
    return ""
