"""The certificate's own Hamiltonian, derived from the normal form: neither method's is used.

H = w . l + costate . f, minimized over the controls; w are the derivatives of the cost, and of weighted conditions, by the
integrals. Constraints of a phase are its path constraints and the bounds of its states and algebraic variables. A constraint
that controls or algebraic variables enter is *mixed*; one of states and time alone is a *state constraint* and may make the
costates jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.errors import ProblemError
from trajopt.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]


class UndefinedHamiltonianError(ProblemError):
    """Pontryagin's conditions of this problem cannot be set up."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraint rows lower <= expression <= upper of one phase."""

    expression: Any
    lower: Array
    upper: Array
    names: tuple[str, ...]
    of_path: NDArray[np.intp]  # the row of the path constraint each one is, or -1 for a bound

    @property
    def size(self) -> int:
        return self.lower.size


@dataclass(frozen=True, eq=False)
class Hamiltonian:
    """The Hamiltonian of one phase, in its symbols t, x, z, u, costate and the weights of its integrands."""

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
        """Path constraints that controls or algebraic variables enter."""
        return self._rows([k for k in range(self.phase.c.numel()) if self._is_mixed(k)], ())

    @cached_property
    def of_states(self) -> Rows:
        """Path constraints of states and time alone, then bounds of states."""
        ph = self.phase
        bounded = [i for i in range(ph.x.numel()) if np.isfinite(ph.x_bound.lower[i]) or np.isfinite(ph.x_bound.upper[i])]
        return self._rows([k for k in range(ph.c.numel()) if not self._is_mixed(k)], bounded)

    def _is_mixed(self, row: int) -> bool:
        return bool(self.y.numel()) and bool(casadi.depends_on(self.phase.c[row], self.y))

    def _rows(self, path: list[int], states: Any) -> Rows:
        ph = self.phase
        parts = [ph.c[k] for k in path] + [ph.x[i] for i in states]
        return Rows(
            casadi.vertcat(*parts) if parts else self.symbols(0, 1),
            np.concatenate([ph.c_bound.lower[path], ph.x_bound.lower[list(states)]]),
            np.concatenate([ph.c_bound.upper[path], ph.x_bound.upper[list(states)]]),
            (*[ph.c_names[k] for k in path], *[ph.x_names[i] for i in states]),
            np.array([*path, *[-1] * len(states)], dtype=np.intp),
        )

    def along(self, expression: Any) -> Any:
        """The time derivative of an expression in t, x, costate along an extremal without active constraints."""
        ph = self.phase
        by_costate = casadi.jtimes(expression, self.costate, -casadi.gradient(self.H, ph.x))
        return casadi.jtimes(expression, ph.x, ph.f) + by_costate + casadi.jacobian(expression, ph.t)


@dataclass(frozen=True, eq=False)
class ConservedQuantity:
    """What is constant along every extremal of a phase; a scalar in t, x, z, u, costate, weight, s, p."""

    name: str
    expression: Any
    at_zero: bool = False


def hamiltonians(form: NormalForm) -> tuple[Hamiltonian, ...]:
    """The Hamiltonian of every phase."""
    everything = casadi.vertcat(form.phi, form.b)
    for ph in form.phases:
        for what, symbols in (("control", (ph.ends.u0, ph.ends.uf)), ("algebraic", (ph.ends.z0, ph.ends.zf))):
            if any(symbol.numel() and casadi.depends_on(everything, symbol) for symbol in symbols):
                raise UndefinedHamiltonianError(
                    f"the cost or a condition uses the value of a {what} variable at an end of phase '{ph.name}'",
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
        names = [invariant.name] if len(rows) == 1 else [f"{invariant.name}[{i}]" for i in range(len(rows))]
        found += [ConservedQuantity(n, row, invariant.order > 0) for n, row in zip(names, rows, strict=True)]
    return tuple(found)
