"""The certificate's own Hamiltonian, derived from the normal form: neither method's is used.

H = w . l + costate . f, minimized over the controls; w are the derivatives of the cost, and of
weighted conditions, by the integrals. Constraints of a phase are its path constraints and the
bounds of its states and algebraic variables. A constraint that controls enter, or algebraic
variables that controls move, is *mixed*; one of states and time alone is a *state constraint* and
may make the costates jump. Algebraic variables that the states alone determine, by 0 = g, are
functions of the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.errors import ProblemError
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]
STATE, ALGEBRAIC = -1, -2  # bounds, among path constraints


class UndefinedHamiltonianError(ProblemError):
    """Pontryagin's conditions of this problem cannot be set up."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraint rows lower <= expression <= upper of one phase."""

    expression: Any
    lower: Array
    upper: Array
    names: tuple[str, ...]
    of_path: NDArray[
        np.intp
    ]  # the row of the path constraint each one is; STATE or ALGEBRAIC for a bound
    of_variable: NDArray[np.intp]  # the row of the variable of a bound

    @property
    def size(self) -> int:
        return self.lower.size


@dataclass(frozen=True, eq=False)
class Hamiltonian:
    """The Hamiltonian of one phase, in its symbols t, x, z, u, costate and the weights of its
    integrands.
    """

    phase: PhaseForm
    symbols: Any
    s: Any
    p: Any
    weight: Any
    H: Any

    @property
    def costate(self) -> Any:
        return self.phase.costate

    @cached_property
    def y(self) -> Any:
        """What H is minimized over: controls, then algebraic variables."""
        return casadi.vertcat(self.phase.u, self.phase.z)

    @cached_property
    def mixed(self) -> Rows:
        """Path constraints that controls enter, or algebraic variables that controls move."""
        return self._rows([k for k in range(self.phase.c.numel()) if self._is_mixed(k)], [], [])

    @cached_property
    def of_states(self) -> Rows:
        """Path constraints of states and time alone, then bounds of states, and of algebraic
        variables that states determine.
        """
        ph = self.phase
        bounded = [
            [i for i in range(b.size) if np.isfinite(b.lower[i]) or np.isfinite(b.upper[i])]
            for b in (ph.x_bound, ph.z_bound)
        ]
        determined = [i for i in bounded[1] if self.by_states[i]]
        return self._rows(
            [k for k in range(ph.c.numel()) if not self._is_mixed(k)], bounded[0], determined
        )

    @cached_property
    def by_states(self) -> NDArray[np.bool_]:
        """(nz,): which algebraic variables the algebraic equations make functions of states and
        time.
        """
        ph = self.phase
        if not ph.z.numel() or ph.g.numel() != ph.z.numel():
            return np.zeros(ph.z.numel(), dtype=bool)
        z = self.as_functions
        return np.array(
            [not (ph.u.numel() and casadi.depends_on(z[i], ph.u)) for i in range(ph.z.numel())]
        )

    @cached_property
    def as_functions(self) -> Any:
        """The algebraic variables after a step of Newton's method for 0 = g.

        On a motion that step is zero, so that they have their values; and their partial derivatives
        by states, time and static variables are those of the functions that 0 = g defines.
        """
        ph = self.phase
        return ph.z - casadi.solve(casadi.jacobian(ph.g, ph.z), ph.g)

    @cached_property
    def z_bound(self) -> Bound:
        """Bounds of the algebraic variables that controls move; the others are open here, as state
        constraints they count.
        """
        own = self.phase.z_bound
        return Bound(
            np.where(self.by_states, -np.inf, own.lower),
            np.where(self.by_states, np.inf, own.upper),
        )

    def _is_mixed(self, row: int) -> bool:
        ph, expression = self.phase, self.phase.c[row]
        moved = [ph.z[i] for i in range(ph.z.numel()) if not self.by_states[i]]
        return any(v.numel() and casadi.depends_on(expression, v) for v in (ph.u, *moved))

    def _rows(self, path: list[int], states: list[int], algebraics: list[int]) -> Rows:
        ph = self.phase
        parts = [ph.c[k] for k in path] + [ph.x[i] for i in states] + [ph.z[i] for i in algebraics]
        expression = casadi.vertcat(*parts) if parts else self.symbols(0, 1)
        if parts and self.by_states.any():
            functions = casadi.vertcat(
                *[self.as_functions[i] if own else ph.z[i] for i, own in enumerate(self.by_states)]
            )
            expression = casadi.substitute(expression, ph.z, functions)
        which = [(ph.c_bound, path), (ph.x_bound, states), (ph.z_bound, algebraics)]
        return Rows(
            expression,
            np.concatenate([bound.lower[some] for bound, some in which]),
            np.concatenate([bound.upper[some] for bound, some in which]),
            (
                *[ph.c_names[k] for k in path],
                *[ph.x_names[i] for i in states],
                *[ph.z_names[i] for i in algebraics],
            ),
            np.array(
                [*path, *[STATE] * len(states), *[ALGEBRAIC] * len(algebraics)], dtype=np.intp
            ),
            np.array([*path, *states, *algebraics], dtype=np.intp),
        )

    def along(self, expression: Any) -> Any:
        """The time derivative of an expression in t, x, costate along an extremal without active
        constraints.
        """
        ph = self.phase
        by_costate = casadi.jtimes(expression, self.costate, -casadi.gradient(self.H, ph.x))
        return (
            casadi.jtimes(expression, ph.x, ph.f) + by_costate + casadi.jacobian(expression, ph.t)
        )


@dataclass(frozen=True, eq=False)
class ConservedQuantity:
    """What is constant along every extremal of a phase; a scalar in t, x, z, u, costate, weight, s,
    p.
    """

    name: str
    expression: Any
    at_zero: bool = False


def hamiltonians(form: NormalForm) -> tuple[Hamiltonian, ...]:
    """The Hamiltonian of every phase."""
    everything = casadi.vertcat(form.phi, form.b)
    for ph in form.phases:
        for what, symbols in (
            ("control", (ph.ends.u0, ph.ends.uf)),
            ("algebraic", (ph.ends.z0, ph.ends.zf)),
        ):
            if any(symbol.numel() and casadi.depends_on(everything, symbol) for symbol in symbols):
                raise UndefinedHamiltonianError(
                    f"the cost or a condition uses the value of a {what} variable at an end of "
                    f"phase '{ph.name}'",
                    hint=f"make the {what} variable a state whose rate is the new control",
                )
    result = []
    for ph in form.phases:
        weight = form.symbols.sym("weight", ph.l.numel())
        H = casadi.dot(ph.costate, ph.f) + (casadi.dot(weight, ph.l) if ph.l.numel() else 0)
        result.append(Hamiltonian(ph, form.symbols, form.s, form.p, weight, H))
    return tuple(result)


def first_integrals(ham: Hamiltonian) -> tuple[ConservedQuantity, ...]:
    """Costates of states that appear nowhere, and declared invariants, row by row."""
    ph, found = ham.phase, []
    everything = casadi.vertcat(ph.f, ph.g, ph.l, ph.c)
    slopes = casadi.jacobian(everything, ph.x)
    for i, name in enumerate(ph.x_names):
        bounded = np.isfinite(ph.x_bound.lower[i]) or np.isfinite(ph.x_bound.upper[i])
        if not bounded and not slopes[:, i].nnz():
            found.append(ConservedQuantity(f"costate of {name}", ham.costate[i]))
    for invariant in ph.invariants:
        rows = casadi.vertsplit(invariant.expression)
        names = (
            [invariant.name]
            if len(rows) == 1
            else [f"{invariant.name}[{i}]" for i in range(len(rows))]
        )
        found += [
            ConservedQuantity(n, row, invariant.order > 0)
            for n, row in zip(names, rows, strict=True)
        ]
    return tuple(found)
