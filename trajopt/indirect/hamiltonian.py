"""The Hamiltonian system of a problem, by differentiation of its normal form.

H = w . l + costate . f is minimized over the controls, where l are the integrands and w the
derivatives of the cost (and of the conditions that use integrals) by the integrals. A costate is
the derivative of the optimal cost by its state. Bryson & Ho, Applied Optimal Control, chapters 2
and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np

from trajopt.errors import ProblemError
from trajopt.indirect.settings import LAWS
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NormalForm, PhaseForm


class UnsupportedError(ProblemError):
    """Pontryagin's conditions of this problem cannot be set up here; the direct method may still
    solve it.
    """


@dataclass(frozen=True, eq=False)
class Constraint:
    """lower <= expression <= upper along a phase: a path constraint or the bound of a state.

    ``derivatives[j]`` is its j-th time derivative along the motion; the last one, of number
    ``order``, is the first that the controls enter. Order 0 is a mixed constraint; order None a
    constraint that no control can reach.
    """

    name: str
    lower: float
    upper: float
    order: int | None
    derivatives: tuple[Any, ...]
    of_state: bool

    @property
    def expression(self) -> Any:
        return self.derivatives[0]

    @property
    def equality(self) -> bool:
        return self.lower == self.upper

    def tangency(self, side: str) -> list[Any]:
        """What vanishes all along an arc on a state constraint: distance from the limit, and
        derivatives below ``order``.
        """
        return [self.derivatives[0] - self.limit(side), *self.derivatives[1 : self.order]]

    def limit(self, side: str) -> float:
        return self.lower if side == "lower" else self.upper


@dataclass(frozen=True, eq=False)
class PhaseHamiltonian:
    """The Hamiltonian of one phase, in its symbols t, x, z, u, costate and the weights of its
    integrands.
    """

    phase: PhaseForm
    symbols: Any
    s: Any
    p: Any
    weight: Any  # symbol: derivative of the cost by each integral of the phase
    H: Any

    @property
    def costate(self) -> Any:
        return self.phase.costate

    @property
    def arguments(self) -> list[Any]:
        """t, x, costate, weight, s, p: what expressions with a law inserted depend on."""
        return [self.phase.t, self.phase.x, self.costate, self.weight, self.s, self.p]

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """Path constraints, then bounds of states, row by row."""
        ph = self.phase
        rows = [
            (name, row, low, high, False)
            for name, row, low, high in zip(
                ph.c_names, _rows(ph.c), ph.c_bound.lower, ph.c_bound.upper, strict=True
            )
        ]
        bound = ph.x_bound
        rows += [
            (name, row, low, high, True)
            for name, row, low, high in zip(
                ph.x_names, _rows(ph.x), bound.lower, bound.upper, strict=True
            )
            if np.isfinite(low) or np.isfinite(high)
        ]
        return tuple(self._constraint(*row) for row in rows)

    @cached_property
    def affine(self) -> tuple[bool, ...]:
        """For each control component, whether H is affine in it."""
        hessian = casadi.jacobian(casadi.gradient(self.H, self.phase.u), self.phase.u)
        return tuple(hessian[i, i].nnz() == 0 for i in range(self.phase.u.numel()))

    def along(self, expression: Any) -> Any:
        """The time derivative of an expression in t, x along the motion."""
        ph = self.phase
        return casadi.jtimes(expression, ph.x, ph.f) + casadi.jacobian(expression, ph.t)

    def _constraint(
        self, name: str, row: Any, lower: float, upper: float, of_state: bool
    ) -> Constraint:
        ph = self.phase
        deciders = casadi.vertcat(ph.u, ph.z)
        derivatives = [row]
        for order in range(LAWS.highest_order + 1):
            if casadi.depends_on(derivatives[-1], deciders):
                return Constraint(
                    name, float(lower), float(upper), order, tuple(derivatives), of_state
                )
            derivatives.append(self.along(derivatives[-1]))
        return Constraint(name, float(lower), float(upper), None, (row,), of_state)


@dataclass(frozen=True, eq=False)
class BoundaryRow:
    """A condition on endpoint values, integrals and static variables: lower <=
    expression <= upper.
    """

    name: str
    expression: Any
    lower: float
    upper: float
    declared: (
        bool  # a condition of the statement, rather than the start or end value of one variable
    )
    begins: tuple[int, str] | None = (
        None  # the phase and the constraint whose limit this is where the phase begins
    )

    @property
    def equality(self) -> bool:
        return self.lower == self.upper


def phase_hamiltonians(form: NormalForm) -> tuple[PhaseHamiltonian, ...]:
    """The Hamiltonian of every phase.

    >>> from trajopt import Problem
    >>> ocp = Problem("rest to rest")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=1)
    >>> x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    >>> ph.dynamics({x: v, v: u})
    >>> ocp.minimize(ph.integral(u**2))
    >>> phase_hamiltonians(ocp.finish())[0].H
    SX(((weight*sq(u))+((costate_0*v)+(costate_1*u))))
    """
    _check_supported(form)
    result = []
    for ph in form.phases:
        weight = form.symbols.sym("weight", ph.l.numel())
        # Pontryagin's function of the phase; adjoint equations and stationarity follow from it by
        # differentiation.
        H = (
            casadi.dot(weight, ph.l) + casadi.dot(ph.costate, ph.f)
            if ph.l.numel()
            else casadi.dot(ph.costate, ph.f)
        )
        result.append(PhaseHamiltonian(ph, form.symbols, form.s, form.p, weight, H))
    return tuple(result)


def boundary_rows(form: NormalForm) -> tuple[BoundaryRow, ...]:
    """All conditions on endpoints: those stated, the start and end values of states and times, and
    bounds of static variables.
    """
    rows = [
        BoundaryRow(name, row, float(low), float(high), True)
        for name, row, low, high in zip(
            form.b_names, _rows(form.b), form.b_bound.lower, form.b_bound.upper, strict=True
        )
    ]
    for number, ph in enumerate(form.phases):
        label = "" if len(form.phases) == 1 else f"{ph.name}."
        rows += _bounded("start time", ph.ends.t0, ph.start_time, [f"{label}t0"])
        rows += _bounded("end time", ph.ends.tf, ph.end_time, [f"{label}tf"])
        for q in ph.states:
            names = [f"{label}{name}" for name in q.components]
            rows += _bounded(
                "start", ph.ends.x0[q.rows], q.start.meet(q.bound), names, number, q.components
            )
            rows += _bounded("end", ph.ends.xf[q.rows], q.end.meet(q.bound), names)
        rows += _state_constraints(ph, label, number)
    for q in form.statics:
        rows += _bounded("value", form.s[q.rows], q.bound, list(q.components))
    return tuple(rows)


def _state_constraints(ph: PhaseForm, label: str, number: int) -> list[BoundaryRow]:
    """Path constraints on states alone, at both ends: met just there, with a rate, they have an
    atom as multiplier.
    """
    rows = []
    for name, row, low, high in zip(
        ph.c_names, _rows(ph.c), ph.c_bound.lower, ph.c_bound.upper, strict=True
    ):
        if low < high and not casadi.depends_on(row, casadi.vertcat(ph.u, ph.z)):
            for what, time, state in (
                ("start", ph.ends.t0, ph.ends.x0),
                ("end", ph.ends.tf, ph.ends.xf),
            ):
                there = casadi.substitute(
                    row, casadi.vertcat(ph.t, ph.x), casadi.vertcat(time, state)
                )
                begins = (number, name) if what == "start" else None
                rows.append(
                    BoundaryRow(
                        f"{what} of {label}{name}", there, float(low), float(high), False, begins
                    )
                )
    return rows


def involves(expression: Any, symbols: Any, component: int) -> bool:
    """Whether an expression depends on one component of a column of symbols."""
    return bool(casadi.jacobian(expression, symbols)[:, component].nnz())


def _bounded(
    what: str,
    symbols: Any,
    bound: Bound,
    names: list[str],
    phase: int | None = None,
    components: tuple[str, ...] = (),
) -> list[BoundaryRow]:
    begins = [None if phase is None else (phase, name) for name in components] or [None] * len(
        names
    )
    return [
        BoundaryRow(
            f"{what} of {name}",
            symbols[i],
            float(bound.lower[i]),
            float(bound.upper[i]),
            False,
            begins[i],
        )
        for i, name in enumerate(names)
        if np.isfinite(bound.lower[i]) or np.isfinite(bound.upper[i])
    ]


def _rows(column: Any) -> list[Any]:
    return casadi.vertsplit(column) if column.numel() else []


def _check_supported(form: NormalForm) -> None:
    everything = casadi.vertcat(form.phi, form.b)
    for ph in form.phases:
        for what, symbol in (
            ("control", ph.ends.u0),
            ("control", ph.ends.uf),
            ("algebraic", ph.ends.z0),
            ("algebraic", ph.ends.zf),
        ):
            if symbol.numel() and casadi.depends_on(everything, symbol):
                raise UnsupportedError(
                    f"the cost or a condition uses the value of a {what} variable at an end of "
                    f"phase '{ph.name}'",
                    expected="initial and final values of states and times only",
                    hint=f"make the {what} variable a state whose rate is the new control, or use "
                    "the direct method",
                )
