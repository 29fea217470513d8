"""First integrals of a Hamiltonian system: those that follow from the problem, and those that were declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from trajopt.indirect.control_law import Mode
from trajopt.indirect.hamiltonian import PhaseHamiltonian, hamiltonians, involves
from trajopt.indirect.start import start_from, weights_at
from trajopt.normal_form import NormalForm
from trajopt.solution import Solution


@dataclass(frozen=True, eq=False)
class FirstIntegral:
    """What is constant along every extremal of a phase; in t, x, z, u, costate, weight, s, p."""

    phase: str
    name: str
    expression: Any
    declared: bool


def autonomous(ham: PhaseHamiltonian) -> bool:
    """Whether time does not appear in the motion, the integrands and the constraints of a phase, so that H is constant."""
    ph = ham.phase
    return not casadi.depends_on(casadi.vertcat(ph.f, ph.g, ph.l, ph.c), ph.t)


def first_integrals(ham: PhaseHamiltonian) -> tuple[FirstIntegral, ...]:
    """H where time does not appear, the costates of cyclic states, and declared invariants of order 0.

    A state is cyclic where neither the motion nor the integrands nor a constraint depend on it: only its rate matters.

    >>> from trajopt import Problem
    >>> from trajopt.indirect.hamiltonian import hamiltonians
    >>> ocp = Problem("rest to rest")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=1)
    >>> x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    >>> ph.dynamics({x: v, v: u})
    >>> ocp.minimize(ph.integral(u**2))
    >>> [integral.name for integral in first_integrals(hamiltonians(ocp.finish())[0])]
    ['H', 'costate of x']
    """
    ph = ham.phase
    found = [FirstIntegral(ph.name, "H", ham.H, False)] if autonomous(ham) else []
    everything = casadi.vertcat(ph.f, ph.g, ph.l, ph.c)
    bounded = {constraint.name for constraint in ham.constraints if constraint.of_state}
    for i, name in enumerate(ph.x_names):
        if name not in bounded and not involves(everything, ph.x, i):
            found.append(FirstIntegral(ph.name, f"costate of {name}", ham.costate[i], False))
    found += [FirstIntegral(ph.name, i.name, i.expression, True) for i in ph.invariants if i.order == 0]
    return tuple(found)


def drifts(form: NormalForm, solution: Solution, samples: int = 101) -> dict[str, float]:
    """How far each first integral moves along a solution of any method, relative to the sizes of its terms.

    Names are those of ``first_integrals``, after the phase's name where there are several phases.
    """
    p = np.concatenate(
        [np.zeros(0), *[np.asarray(solution.parameters.get(q.name, q.value), dtype=float).ravel() for q in form.parameters]]
    )
    hams = hamiltonians(form)
    whole = [[(Mode(()), solution.phase(ph.name).t0, solution.phase(ph.name).tf, ())] for ph in form.phases]
    start = start_from(form, solution, whole)
    found = {}
    for ham, arc, weight in zip(hams, start.arcs, weights_at(form, start, p), strict=True):
        t = np.linspace(arc.start, arc.end, samples)
        ph, label = ham.phase, "" if len(hams) == 1 else f"{ham.phase.name}: "
        symbols = [ph.t, ph.x, ph.z, ph.u, ham.costate, ham.weight, ham.s, ham.p]
        points = [t[None, :], arc.x(t).T, arc.z(t).T, arc.u(t).T, arc.costate(t).T]
        sizes = _sizes(ham, points, (weight, start.s, p))
        for integral in first_integrals(ham):
            values = np.asarray(casadi.Function("value", symbols, [integral.expression])(*points, weight, start.s, p).full())
            scale = max(float(np.abs(values).max()), sizes.get(integral.name, 0.0), 1e-300)
            found[f"{label}{integral.name}"] = float(np.abs(values - values[:, :1]).max()) / scale
    return found


def _sizes(ham: PhaseHamiltonian, points: list[np.ndarray], fixed: tuple[np.ndarray, ...]) -> dict[str, float]:
    """What H and the costates are measured by where they are zero: the powers costate . f whose sum H is."""
    ph = ham.phase
    symbols = [ph.t, ph.x, ph.z, ph.u, ham.costate, ham.weight, ham.s, ham.p]
    rates = np.abs(np.asarray(casadi.Function("rates", symbols, [casadi.densify(ph.f)])(*points, *fixed).full()))
    power = float((rates * np.abs(points[4])).sum(axis=0).max())
    fastest = np.where(rates.max(axis=1) > 0, rates.max(axis=1), 1.0)
    return {"H": power, **{f"costate of {name}": 1e-3 * power / fast for name, fast in zip(ph.x_names, fastest, strict=True)}}
