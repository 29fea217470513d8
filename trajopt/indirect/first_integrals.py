"""First integrals of a Hamiltonian system: those that follow from the problem, and those that were
declared.

Declared ones are kept by the flow of an arc, and take the place of conditions at the end of a
phase. A declaration is a claim, so it is tried first: along the guess its derivative by the flow
must vanish, as that of a first integral does everywhere, not only on solutions. What fails is left
to the certificate, which reports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.control_law import ArcLaw
from trajopt.indirect.elimination import eliminated
from trajopt.indirect.hamiltonian import PhaseHamiltonian, involves
from trajopt.indirect.settings import LAWS

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


@dataclass(frozen=True, eq=False)
class ConservedIntegrals:
    """First integrals of an arc, a column in t, x, costate, weight, s, p; ``sizes`` are those of x
    and costate.
    """

    names: tuple[str, ...]
    y: Any
    sizes: Array

    @property
    def count(self) -> int:
        return len(self.names)

    def some(self, names: tuple[str, ...]) -> ConservedIntegrals | None:
        """Those of some names."""
        rows = [i for i, name in enumerate(self.names) if name in names]
        if not rows:
            return None
        return ConservedIntegrals(
            tuple(self.names[i] for i in rows),
            casadi.vertcat(*[self.y[i] for i in rows]),
            self.sizes,
        )


def conserved_integrals(
    law: ArcLaw, times: Array, nodes: Array, fixed: tuple[Array, ...], sizes: Array
) -> ConservedIntegrals | None:
    """The declared first integrals that the flow of an arc keeps, tried at points (N,), (N, node
    size) of a guess.
    """
    ham, ph = law.hamiltonian, law.hamiltonian.phase
    if any(ham.constraints[i].order for i, _ in law.mode.active):
        return None  # on a state constraint the costate of the flow is another one
    others = casadi.vertcat(ph.u, ph.z)
    found = [
        i
        for i in first_integrals(ham)
        if i.declared
        and not i.at_zero
        and casadi.depends_on(i.expression, ham.costate)
        and not casadi.depends_on(i.expression, others)
    ]
    if not found:
        return None
    y = casadi.vertcat(*[i.expression for i in found])
    z = casadi.vertcat(ph.x, ham.costate)
    rate = law.rate[: z.numel()]
    slopes = casadi.horzcat(casadi.jacobian(y, z), casadi.jacobian(y, ph.t))
    rates = casadi.vertcat(rate, 1)
    size = casadi.mtimes(casadi.fabs(slopes), casadi.fabs(rates))
    function = law.function(casadi.mtimes(slopes, rates), size)
    with np.errstate(all="ignore"):
        change, sizes_of = (np.asarray(o.full()) for o in function(times[None, :], nodes.T, *fixed))
    largest = sizes_of.max(axis=1, keepdims=True)
    constant = np.all(np.abs(change) <= LAWS.constant * largest, axis=1)
    return ConservedIntegrals(tuple(i.name for i in found), y, sizes).some(
        tuple(i.name for i, c in zip(found, constant, strict=True) if c)
    )


def project_to_levels(kept: ConservedIntegrals, ham: PhaseHamiltonian, levels: Any) -> Any:
    """(x, costate) brought back to the levels of its integrals by the least correction, relative to
    sizes, in one step.

    This is dy/dt = K y for their deviations with the gain of a whole step: what a step of the flow
    adds is taken off again.
    """
    z = casadi.vertcat(ham.phase.x, ham.costate)
    slopes = casadi.jacobian(kept.y, z) @ casadi.diag(casadi.DM(kept.sizes))
    length = casadi.sqrt(casadi.sum2(slopes**2) + 1e-300)
    rows = slopes / casadi.repmat(length, 1, z.numel())
    normal = rows @ rows.T + LAWS.damping * ham.symbols.eye(kept.count)
    diagonal = [(i, i) for i in range(kept.count)]  # positive definite: any order of pivots does
    return z - casadi.DM(kept.sizes) * (
        rows.T @ eliminated(normal, (kept.y - levels) / length, diagonal)
    )


def decisive(
    kept: ConservedIntegrals,
    ham: PhaseHamiltonian,
    t: float,
    x: Array,
    costate: Array,
    fixed: tuple[Array, ...],
) -> list[tuple[int, int]]:
    """Pairs (integral, costate): which costates the integrals determine at a point where everything
    else is known.
    """
    z = casadi.vertcat(ham.phase.x, ham.costate)
    slope = casadi.densify(casadi.jacobian(kept.y, z))
    found = casadi.Function("slopes", ham.arguments, [slope])(t, x, costate, *fixed)
    slopes = np.asarray(found.full()) * kept.sizes[None, :]
    length = np.linalg.norm(slopes, axis=1, keepdims=True)
    left = slopes[:, x.size :] / np.where(length > 0, length, 1.0)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < min(left.shape):
        row, column = np.unravel_index(int(np.argmax(np.abs(left))), left.shape)
        if not abs(left[row, column]) > LAWS.decisive:
            break
        pairs.append((int(row), int(column)))
        left = left - np.outer(left[:, column], left[row]) / left[row, column]
        left[row], left[:, column] = 0.0, 0.0
    return pairs
