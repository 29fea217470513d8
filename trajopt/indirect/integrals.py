"""First integrals of a Hamiltonian system: those that follow from the problem, and those that were declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.control_law import Mode
from trajopt.indirect.hamiltonian import PhaseHamiltonian, hamiltonians, involves
from trajopt.indirect.start import scales, start_from, weights_at
from trajopt.normal_form import NormalForm
from trajopt.solution import Solution

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FirstIntegral:
    """What is constant along every extremal of a phase; a scalar in t, x, z, u, costate, weight, s, p."""

    phase: str
    name: str
    expression: Any
    declared: bool
    at_zero: bool = False  # a condition of the motion, which is not only constant


def autonomous(ham: PhaseHamiltonian) -> bool:
    """Whether time does not appear in the motion, the integrands and the constraints of a phase, so that H is constant."""
    ph = ham.phase
    return not casadi.depends_on(casadi.vertcat(ph.f, ph.g, ph.l, ph.c), ph.t)


def first_integrals(ham: PhaseHamiltonian) -> tuple[FirstIntegral, ...]:
    """H where time does not appear, the costates of cyclic states, and declared invariants, row by row.

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
    for invariant in ph.invariants:
        rows = casadi.vertsplit(invariant.expression)
        names = [invariant.name] if len(rows) == 1 else [f"{invariant.name}[{i}]" for i in range(len(rows))]
        found += [
            FirstIntegral(ph.name, name, row, True, at_zero=invariant.order > 0) for name, row in zip(names, rows, strict=True)
        ]
    return tuple(found)


def with_slopes(ham: PhaseHamiltonian, integral: FirstIntegral) -> Any:
    """A column: a first integral, then its derivatives by the states and by the costates."""
    slopes = [casadi.gradient(integral.expression, v) for v in (ham.phase.x, ham.costate)]
    return casadi.densify(casadi.vertcat(integral.expression, *slopes))


def deviations(values: Array, sizes: Array, at_zero: bool) -> Array:
    """From columns of ``with_slopes`` at many points: how far the integral is from its median, relative to its size.

    Many integrals are zero, so that their values are no measure; what their variables, of these ``sizes``, contribute is one.
    """
    size = max(float((np.abs(values[1:]) * sizes[:, None]).sum(axis=0).max()), float(np.abs(values[0]).max()))
    gap = np.abs(values[0] - (0.0 if at_zero else np.median(values[0])))
    return np.asarray(gap / (size if size > 0 else 1.0))


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
    for ham, arc, weight, scale in zip(hams, start.arcs, weights_at(form, start, p), scales(form, start), strict=True):
        t = np.linspace(arc.start, arc.end, samples)
        ph, label = ham.phase, "" if len(hams) == 1 else f"{ham.phase.name}: "
        symbols = [ph.t, ph.x, ph.z, ph.u, ham.costate, ham.weight, ham.s, ham.p]
        points = [t[None, :], arc.x(t).T, arc.z(t).T, arc.u(t).T, arc.costate(t).T, weight, start.s, p]
        sizes = np.concatenate([scale.x, scale.costate])
        for integral in first_integrals(ham):
            values = np.asarray(casadi.Function("value", symbols, [with_slopes(ham, integral)])(*points).full())
            found[f"{label}{integral.name}"] = float(deviations(values, sizes, integral.at_zero).max())
    return found
