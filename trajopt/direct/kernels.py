"""The kernels of a problem: what is evaluated at one collocation point, and what at the endpoints. Built once per problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.nlp.program import Kernel, make_kernel
from trajopt.normal_form import NormalForm, PhaseForm


@dataclass(frozen=True)
class PhaseKernels:
    """At a collocation point: span f, g, c, span l (integrals that are unknowns) as constraints; the running cost as objective.

    Inputs w = (x, z, u, s[, start and end of the span]); data = (normalised time[, start and end of the span]).
    """

    make: Callable[[bool], Kernel]  # with free times or without
    unknown_integrals: tuple[int, ...]  # integrals that enter nonlinearly or in conditions; the others are summed into the cost
    affine: NDArray[np.bool_]  # (controls,): the Hamiltonian is affine in this control
    angles: NDArray[np.bool_]  # (controls,): unbounded, and a whole turn of it changes nothing
    state_paths: NDArray[np.bool_]  # (path rows,): of states and time alone

    @cached_property
    def free_time(self) -> Kernel:
        return self.make(True)

    @cached_property
    def fixed_time(self) -> Kernel:
        return self.make(False)


@dataclass(frozen=True)
class Kernels:
    form: NormalForm
    phases: tuple[PhaseKernels, ...]
    endpoints: Kernel  # w = (endpoint column, s): conditions b, then state-only path constraints at the open starts; cost phi
    start_paths: tuple[tuple[int, int], ...]  # (phase, path row) for each of those appended rows


def make_kernels(form: NormalForm) -> Kernels:
    """Differentiate what needs to be differentiated, once per problem."""
    ends = [part for ph in form.phases for part in ph.ends]
    phases, replacements = [], []
    for phase in form.phases:
        weights = casadi.gradient(form.phi, phase.ends.q) if phase.l.numel() else form.symbols(0, 1)
        in_conditions = set(casadi.jacobian(form.b, phase.ends.q).sparsity().get_triplet()[1]) if phase.l.numel() else set()
        unknown = [j for j in range(phase.l.numel()) if j in in_conditions or _depends(weights[j], [*ends, form.s])]
        summed = [j for j in range(phase.l.numel()) if j not in unknown]
        cost = sum((weights[j] * phase.l[j] for j in summed), form.symbols(0)) if summed else form.symbols(0, 1)
        phases.append(_phase_kernels(form, phase, cost, tuple(unknown)))
        mask = np.zeros(phase.l.numel())
        mask[unknown] = 1.0
        replacements.append(phase.ends.q * casadi.DM(mask) if summed else phase.ends.q)
    phi = casadi.substitute([form.phi], [ph.ends.q for ph in form.phases], replacements)[0]
    rows, start_paths = [form.b], []
    for i, phase in enumerate(form.phases):
        for row in _paths_at_start(phase, phases[i].state_paths):
            rows.append(casadi.substitute([phase.c[row]], [phase.t, phase.x], [phase.ends.t0, phase.ends.x0])[0])
            start_paths.append((i, row))
    endpoints = _kernel(form.symbols, "endpoints", [*ends, form.s], [], form.p, casadi.vertcat(*rows), phi)
    return Kernels(form, tuple(phases), endpoints, tuple(start_paths))


def _phase_kernels(form: NormalForm, phase: PhaseForm, cost: Any, unknown: tuple[int, ...]) -> PhaseKernels:
    sym = form.symbols
    start, end, theta = sym.sym("start"), sym.sym("end"), sym.sym("theta")
    span = end - start
    integrals = casadi.vertcat(sym(0, 1), *[phase.l[j] for j in unknown])
    at_time = casadi.substitute([phase.f, phase.g, phase.c, integrals, cost], [phase.t], [start + span * theta])
    constraints = casadi.vertcat(span * at_time[0], at_time[1], at_time[2], span * at_time[3])
    objective = span * at_time[4] if cost.numel() else cost
    local = [phase.x, phase.z, phase.u, form.s]

    def make(free: bool) -> Kernel:
        w = [*local, start, end] if free else local
        data = [theta] if free else [theta, start, end]
        return _kernel(sym, "free" if free else "fixed", w, data, form.p, constraints, objective)

    hamiltonian_rows = casadi.vertcat(phase.f, phase.g, phase.c, phase.l)
    affine = _affine(hamiltonian_rows, phase.u)
    state_paths = np.array([not _depends(phase.c[i], [phase.z, phase.u]) for i in range(phase.c.numel())], dtype=bool)
    return PhaseKernels(make, unknown, affine, _angles(form, phase, hamiltonian_rows, affine), state_paths)


def _kernel(sym: Any, name: str, w: list[Any], data: list[Any], p: Any, constraints: Any, objective: Any) -> Kernel:
    if sym is casadi.SX:
        return make_kernel(name, casadi.vertcat(*w), casadi.vertcat(casadi.SX(0, 1), *data), p, constraints, objective)
    # A function of an MX needs one pure symbol for each input: stack them.
    stack_w, stack_d = sym.sym("w", sum(a.numel() for a in w)), sym.sym("d", sum(a.numel() for a in data))
    parts_w = casadi.vertsplit(stack_w, [0, *np.cumsum([a.numel() for a in w]).tolist()])
    parts_d = casadi.vertsplit(stack_d, [0, *np.cumsum([a.numel() for a in data]).tolist()]) if data else []
    stacked = casadi.substitute([constraints, objective], [*w, *data], [*parts_w, *parts_d])
    return make_kernel(name, stack_w, stack_d, p, *stacked)


def _paths_at_start(phase: PhaseForm, state_paths: NDArray[np.bool_]) -> list[int]:
    """Path constraints on states alone bind at the very start too, unless the start is given."""
    given = all(bool(np.all(q.start.fixed)) for q in phase.states)
    return [] if given else np.flatnonzero(state_paths).tolist()


def _affine(rows: Any, u: Any) -> NDArray[np.bool_]:
    """Controls whose own second derivative vanishes: with the others held, the Hamiltonian is affine in them."""
    slopes = casadi.jacobian(rows, u)
    own = [casadi.which_depends(casadi.densify(slopes[:, j]), u, 1, False)[j] for j in range(u.numel())]
    return ~np.array(own, dtype=bool)


def _angles(form: NormalForm, phase: PhaseForm, rows: Any, affine: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Controls that act through their sine and cosine only, found by trying a whole turn at a few places."""
    bound = phase.u_bound
    candidates = ~affine & ~np.isfinite(bound.lower) & ~np.isfinite(bound.upper)
    if not candidates.any():
        return candidates
    model = casadi.Function("model", [phase.t, phase.x, phase.z, phase.u, form.s, form.p], [rows])
    generator = np.random.default_rng(0)
    p = form.parameter_values()
    for _ in range(3):
        place = [generator.uniform(0.5, 1.5, n.numel()) for n in (phase.t, phase.x, phase.z, phase.u, form.s)]
        here = np.asarray(model(*place, p)).ravel()
        for j in np.flatnonzero(candidates):
            turned = place[3].copy()
            turned[j] += 2 * np.pi
            there = np.asarray(model(*place[:3], turned, place[4], p)).ravel()
            candidates[j] = bool(np.all(np.isfinite(here)) and np.allclose(here, there, rtol=1e-9, atol=1e-12))
    return candidates


def _depends(expression: Any, symbols: list[Any]) -> bool:
    return any(symbol.numel() and casadi.jacobian(expression, symbol).nnz() for symbol in symbols)
