"""The arc structure of a solution: which control rides which bound when, where it is singular, which constraints are active."""

from __future__ import annotations

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.control_law import Mode
from trajopt.indirect.hamiltonian import PhaseHamiltonian, hamiltonians
from trajopt.indirect.modes import mode_of_roles, roles_of_mode
from trajopt.indirect.start import Start, StartArc, start_from, weights_at
from trajopt.indirect.structure_detection import DetectedArc, detect, sample
from trajopt.normal_form import NormalForm
from trajopt.solution import Arc, Solution

Array = NDArray[np.float64]


def start_of_solution(
    form: NormalForm, hams: tuple[PhaseHamiltonian, ...], solution: Solution, p: Array, plain: bool = False
) -> Start:
    """A start for shooting from a solution of any method; ``plain`` takes every phase as one arc, for a given control law."""
    whole = [[(Mode(("interior",) * ham.phase.u.numel()), *_span(form, i, solution), ())] for i, ham in enumerate(hams)]
    start = start_from(form, solution, whole)
    if plain:
        return start
    weights = weights_at(form, start, p)
    structure = []
    for ham, weight, arc in zip(hams, weights, start.arcs, strict=True):
        known = [a for a in solution.arcs if a.phase == ham.phase.name]
        if known and solution.method == "indirect":
            stretches = _shot(ham, arc, known, start.s, p)
        else:
            stretches = detect(sample(ham, solution, arc, weight, start.s, p), known)
        structure.append([(s.mode, s.start, s.end, s.touched) for s in stretches])
    return start_from(form, solution, structure)


def arcs_of(form: NormalForm, solution: Solution) -> tuple[Arc, ...]:
    """The arcs that a solution shows; on an arc along a constraint the roles also have the constraint's name and side."""
    hams = hamiltonians(form)
    p = np.concatenate(
        [np.zeros(0), *[np.asarray(solution.parameters.get(q.name, q.value), dtype=float).ravel() for q in form.parameters]]
    )
    start = start_of_solution(form, hams, solution, p)
    return tuple(Arc(hams[a.phase].phase.name, a.start, a.end, roles_of_mode(hams[a.phase], a.mode)) for a in start.arcs)


def describe(form: NormalForm, arcs: tuple[Arc, ...]) -> tuple[str, ...]:
    """Arcs in words, one line for each control component and each active constraint.

    >>> from trajopt import Problem
    >>> ocp = Problem("hop")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=2)
    >>> v, u = ph.state("v", start=0), ph.control("u", lower=0, upper=1)
    >>> ph.dynamics({v: u})
    >>> arcs = (Arc("main", 0.0, 0.5, {"u": "upper"}), Arc("main", 0.5, 2.0, {"u": "lower"}))
    >>> describe(ocp.finish(), arcs)
    ('u: maximum to 0.5, zero to 2',)
    """
    lines = []
    for ph in form.phases:
        own = [arc for arc in arcs if arc.phase == ph.name]
        label = "" if len(form.phases) == 1 else f"{ph.name}: "
        limits = dict(zip(ph.u_names, ph.u_bound.lower, strict=True)), dict(zip(ph.u_names, ph.u_bound.upper, strict=True))
        for name in ph.u_names:
            parts: list[tuple[str, float]] = []
            for arc in own:
                word = _word(arc.roles.get(name, "interior"), limits[0][name], limits[1][name])
                if parts and parts[-1][0] == word:
                    parts.pop()
                parts.append((word, arc.end))
            lines.append(f"{label}{name}: " + ", ".join(f"{word} to {end:.6g}" for word, end in parts))
        always = {name for name, fixed in zip(ph.c_names, ph.c_bound.fixed, strict=True) if fixed}
        held = dict.fromkeys(name for arc in own for name in arc.roles if name not in ph.u_names and name not in always)
        for name in held:
            spans = [f"at its {arc.roles[name]} limit from {arc.start:.6g} to {arc.end:.6g}" for arc in own if name in arc.roles]
            lines.append(f"{label}{name}: " + ", ".join(spans))
    return tuple(lines)


def _word(role: str, lower: float, upper: float) -> str:
    if (role == "lower" and lower == 0) or (role == "upper" and upper == 0):
        return "zero"
    return {"lower": "minimum", "upper": "maximum"}.get(role, role)


def _span(form: NormalForm, i: int, solution: Solution) -> tuple[float, float]:
    ph = solution.phase(form.phases[i].name)
    return ph.t0, ph.tf


def _shot(ham: PhaseHamiltonian, along: StartArc, known: list[Arc], s: Array, p: Array) -> list[DetectedArc]:
    """The arcs of an earlier shooting; where two of the same mode meet, a constraint is touched."""
    stretches: list[DetectedArc] = []
    for arc in known:
        mode = mode_of_roles(ham, arc.roles)
        again = bool(stretches) and stretches[-1].mode == mode
        touched = _touched_at(ham, along, arc.start, s, p) if again else ()
        stretches.append(DetectedArc(mode, arc.start, arc.end, touched))
    return stretches


def _touched_at(ham: PhaseHamiltonian, along: StartArc, t: float, s: Array, p: Array) -> tuple[tuple[int, str], ...]:
    """The constraint of order two or more that is nearest to a limit at a time."""
    gaps = []
    for j, c in enumerate(ham.constraints):
        if c.order is not None and c.order > 1:
            value = float(
                casadi.Function("c", [ham.phase.t, ham.phase.x, ham.s, ham.p], [c.expression])(t, along.x(np.array([t]))[0], s, p)
            )
            gaps += [(abs(value - c.limit(side)), (j, side)) for side in ("lower", "upper") if np.isfinite(c.limit(side))]
    return (min(gaps)[1],) if gaps else ()
