"""First integrals of a Hamiltonian system: those that follow from the problem, and those that were
declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.hamiltonian import PhaseHamiltonian, involves

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FirstIntegral:
    """What is constant along every extremal of a phase; a scalar in t, x, z, u, costate, weight, s,
    p.
    """

    phase: str
    name: str
    expression: Any
    declared: bool
    at_zero: bool = False  # a condition of the motion, which is not only constant


def autonomous(ham: PhaseHamiltonian) -> bool:
    """Whether time does not appear in the motion, the integrands and the constraints of a phase, so
    that H is constant.
    """
    ph = ham.phase
    return not casadi.depends_on(casadi.vertcat(ph.f, ph.g, ph.l, ph.c), ph.t)


def first_integrals(ham: PhaseHamiltonian) -> tuple[FirstIntegral, ...]:
    """H where time does not appear, the costates of cyclic states, and declared invariants, row by
    row.

    A state is cyclic where neither the motion nor the integrands nor a constraint depend on it:
    only its rate matters.

    >>> from trajopt import Problem
    >>> from trajopt.indirect.hamiltonian import phase_hamiltonians
    >>> ocp = Problem("rest to rest")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=1)
    >>> x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    >>> ph.dynamics({x: v, v: u})
    >>> ocp.minimize(ph.integral(u**2))
    >>> (ham,) = phase_hamiltonians(ocp.finish())
    >>> [integral.name for integral in first_integrals(ham)]
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
        names = (
            [invariant.name]
            if len(rows) == 1
            else [f"{invariant.name}[{i}]" for i in range(len(rows))]
        )
        found += [
            FirstIntegral(ph.name, name, row, True, at_zero=invariant.order > 0)
            for name, row in zip(names, rows, strict=True)
        ]
    return tuple(found)
