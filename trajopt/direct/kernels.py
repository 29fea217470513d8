"""The kernels of a problem: what is evaluated at one collocation point, and what at the endpoints.

Built once per problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.structure import SharedByStructure
from trajopt.direct.whole_turns import unchanged_by_turns
from trajopt.nlp.program import Kernel, make_kernel
from trajopt.statement.normal_form import NormalForm, PhaseForm

ROUND_OFF = float(np.sqrt(np.finfo(float).eps))


@dataclass(frozen=True)
class PhaseKernels:
    """At a collocation point: span f, g, c, span l (integrals that are unknowns) as constraints;
    the running cost as objective.

    Inputs w = (x, z, u, s[, start and end of the span]); data = (normalised time[, start and end of
    the span]).
    """

    at_points: Callable[[bool], Kernel]  # with free times or without
    # integrals that enter nonlinearly or in conditions; the others are summed into the cost
    unknown_integrals: tuple[int, ...]
    affine: NDArray[np.bool_]  # (controls,): the Hamiltonian is affine in this control
    angles: NDArray[np.bool_]  # (controls,): unbounded, and a whole turn of it changes nothing
    state_paths: NDArray[np.bool_]  # (path rows,): of states and time alone
    equated: NDArray[np.bool_]  # (controls,): enters a path constraint that is an equation


@dataclass(frozen=True)
class Kernels:
    form: NormalForm
    phases: tuple[PhaseKernels, ...]
    # w = (endpoint column, s, states at samples): conditions b, then state-only path constraints at
    # the open starts; cost phi
    endpoints: Kernel
    start_paths: tuple[tuple[int, int], ...]  # (phase, path row) for each of those appended rows


def make_kernels(form: NormalForm, parameters: NDArray[np.float64] | None = None) -> Kernels:
    """Differentiate what needs to be differentiated, once per problem.

    A path constraint on states that given initial values violate at the parameters is a condition
    too: no equation is collocated at the start.
    """
    ends = [part for ph in form.phases for part in ph.ends]
    samples = [sample.x for ph in form.phases for sample in ph.samples]
    shared = SharedByStructure[Kernel](len(form.phases))  # identical phases have one kernel
    phases, integrals, unknown_integrals = [], [], []
    for i, phase in enumerate(form.phases):
        weights = casadi.gradient(form.phi, phase.ends.q) if phase.l.numel() else form.symbols(0, 1)
        in_conditions = (
            set(casadi.jacobian(form.b, phase.ends.q).sparsity().get_triplet()[1])
            if phase.l.numel()
            else set()
        )
        unknown = [
            j
            for j in range(phase.l.numel())
            if j in in_conditions or _depends(weights[j], [*ends, form.s, *samples])
        ]
        summed = [j for j in range(phase.l.numel()) if j not in unknown]
        cost = (
            sum((weights[j] * phase.l[j] for j in summed), form.symbols(0))
            if summed
            else form.symbols(0, 1)
        )
        phases.append(_phase_kernels(form, i, cost, tuple(unknown), shared))
        if summed:
            mask = np.zeros(phase.l.numel())
            mask[unknown] = 1.0
            integrals.append(phase.ends.q)
            unknown_integrals.append(phase.ends.q * casadi.DM(mask))
    phi = casadi.substitute([form.phi], integrals, unknown_integrals)[0] if integrals else form.phi
    rows, start_paths = [form.b], []
    for i, phase in enumerate(form.phases):
        for row in _paths_at_start(form, i, phases[i].state_paths, parameters):
            rows.append(
                casadi.substitute(
                    [phase.c[row]], [phase.t, phase.x], [phase.ends.t0, phase.ends.x0]
                )[0]
            )
            start_paths.append((i, row))
    endpoints = _kernel(
        form.symbols, "endpoints", [*ends, form.s, *samples], [], form.p, casadi.vertcat(*rows), phi
    )
    return Kernels(form, tuple(phases), endpoints, tuple(start_paths))


def _phase_kernels(
    form: NormalForm,
    index: int,
    cost: Any,
    unknown: tuple[int, ...],
    shared: SharedByStructure[Kernel],
) -> PhaseKernels:
    sym, phase = form.symbols, form.phases[index]
    start, end, theta = sym.sym("start"), sym.sym("end"), sym.sym("theta")
    span = end - start
    integrals = casadi.vertcat(*[phase.l[j] for j in unknown]) if unknown else sym(0, 1)
    f, g, c, l, running = phase.f, phase.g, phase.c, integrals, cost
    if casadi.depends_on(phase.rows, phase.t):
        f, g, c, l, running = casadi.substitute(
            [f, g, c, l, running], [phase.t], [start + span * theta]
        )
    constraints = casadi.vertcat(span * f, g, c, span * l)
    objective = span * running if cost.numel() else cost
    local = [phase.x, phase.z, phase.u, form.s]

    @cache
    def at_points(free: bool) -> Kernel:
        w = [*local, start, end] if free else local
        data = [theta] if free else [theta, start, end]
        name = "free" if free else "fixed"
        return shared.get(
            [*w, casadi.vertcat(*data), form.p],
            [constraints, objective],
            lambda: _kernel(sym, name, w, data, form.p, constraints, objective),
        )

    affine = _affine(phase.rows, phase.u)
    state_paths = np.array(
        [not _depends(phase.c[i], [phase.z, phase.u]) for i in range(phase.c.numel())], dtype=bool
    )
    return PhaseKernels(
        at_points, unknown, affine, _angles(form, index, affine), state_paths, _equated(phase)
    )


def _equated(phase: PhaseForm) -> NDArray[np.bool_]:
    rows = np.flatnonzero(phase.c_bound.fixed).tolist()
    if not rows or not phase.u.numel():
        return np.zeros(phase.u.numel(), dtype=bool)
    return np.array(
        casadi.which_depends(casadi.vertcat(*[phase.c[row] for row in rows]), phase.u, 1, False),
        dtype=bool,
    )


def _kernel(
    sym: Any, name: str, w: list[Any], data: list[Any], p: Any, constraints: Any, objective: Any
) -> Kernel:
    if sym is casadi.SX:
        return make_kernel(
            name,
            casadi.vertcat(*w),
            casadi.vertcat(*data) if data else casadi.SX(0, 1),
            p,
            constraints,
            objective,
        )
    # A function of an MX needs one pure symbol for each input: stack them.
    stack_w = sym.sym("w", sum(a.numel() for a in w))
    stack_d = sym.sym("d", sum(a.numel() for a in data))
    parts_w = casadi.vertsplit(stack_w, [0, *np.cumsum([a.numel() for a in w]).tolist()])
    parts_d = (
        casadi.vertsplit(stack_d, [0, *np.cumsum([a.numel() for a in data]).tolist()])
        if data
        else []
    )
    stacked = casadi.substitute([constraints, objective], [*w, *data], [*parts_w, *parts_d])
    return make_kernel(name, stack_w, stack_d, p, *stacked)


def _paths_at_start(
    form: NormalForm,
    index: int,
    state_paths: NDArray[np.bool_],
    parameters: NDArray[np.float64] | None,
) -> list[int]:
    """Path constraints on states alone bind at the very start too; of a given start those that it
    violates, since no trajectory meets them.
    """
    phase = form.phases[index]
    if not all(bool(np.all(q.start.fixed)) for q in phase.states):
        return np.flatnonzero(state_paths).tolist()
    if parameters is None or not state_paths.any() or not phase.start_time.fixed[0]:
        return []
    known = [
        int(row) for row in np.flatnonzero(state_paths) if not _depends(phase.c[int(row)], [form.s])
    ]
    if not known:
        return []
    rows = np.array(known)
    chosen = casadi.densify(phase.c[known])
    others = [phase.z, phase.u, form.s]  # MX rows keep the symbols of all, and use none of these
    value = casadi.Function("start", [phase.t, phase.x, form.p, *others], [chosen])
    nothing = [np.zeros(symbol.shape) for symbol in others]
    x = np.concatenate([np.zeros(0), *[q.start.lower for q in phase.states]])
    c = np.asarray(value(phase.start_time.lower, x, parameters, *nothing)).ravel()
    lower, upper = phase.c_bound.lower[rows], phase.c_bound.upper[rows]
    margin = np.sqrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(c))
    beyond = (c < lower - margin) | (c > upper + margin)
    return [int(row) for row in rows[beyond]]


def _affine(rows: Any, u: Any) -> NDArray[np.bool_]:
    """Controls in each of which, with the others held, the Hamiltonian is affine."""
    # Cheaper to see: nonlinear in a control alone or together with others.
    nonlinear = np.array(casadi.which_depends(rows, u, 2, False), dtype=bool)
    if u.numel() == 1 or not nonlinear.any():
        return ~nonlinear
    slopes = casadi.jacobian(rows, u)
    own = [
        casadi.which_depends(casadi.densify(slopes[:, j]), u, 1, False)[j] for j in range(u.numel())
    ]
    return ~np.array(own, dtype=bool)


def _angles(form: NormalForm, index: int, affine: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Controls without bounds of which a whole turn changes nothing."""
    bound = form.phases[index].u_bound
    unbounded = ~np.isfinite(bound.lower) & ~np.isfinite(bound.upper)
    return unchanged_by_turns(form, index, ~affine & unbounded)


def _depends(expression: Any, symbols: list[Any]) -> bool:
    return not expression.is_constant() and any(
        symbol.numel() and casadi.jacobian(expression, symbol).nnz() for symbol in symbols
    )
