"""Which endpoint conditions hold with equality, and which of them say nothing new.

An arc on a state constraint keeps the constraint and its derivatives at zero to its end. A
condition at the end of the phase may repeat this: a path constraint on states taken there, a given
end value, or through a link the first arc of the next phase. Its multiplier would be arbitrary and
Newton's matrix singular, so that dependent conditions are left out, by the rank of gradients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.indirect.equations import ActiveRow
from trajopt.indirect.hamiltonian import BoundaryRow, PhaseHamiltonian, boundary_rows
from trajopt.indirect.settings import READING
from trajopt.indirect.start import Start, endpoint_values
from trajopt.statement.normal_form import NormalForm

Array = NDArray[np.float64]
# all endpoint conditions, and the side on which they are active
Rows = tuple[tuple[BoundaryRow, str | None], ...]


@dataclass(frozen=True)
class Independent:
    """The conditions of a start without those that others imply."""

    rows: Rows
    # of each phase: state constraints of its first arc that hold anyway
    implied: tuple[tuple[tuple[int, str], ...], ...]
    remarks: tuple[str, ...] = ()  # which multipliers are not unique


def held(rows: Rows) -> tuple[ActiveRow, ...]:
    return tuple(
        ActiveRow(row, row.lower if side == "lower" else row.upper)
        for row, side in rows
        if side is not None
    )


def independent_rows(
    form: NormalForm, hams: tuple[PhaseHamiltonian, ...], start: Start, p: Array
) -> Independent:
    """Active endpoint conditions, and entry conditions of first arcs, that are independent of each
    other and of the last arcs.
    """
    at = _Point(form, start, p)
    kept = _Span(
        at.gradients([row for i, ham in enumerate(hams) for row in _at_the_end(ham, start, i)])
    )
    rows = _active_rows(form, hams, start, at)
    gradients = at.gradients([row.expression for row, _ in rows])
    last_arcs = bool(kept.basis.size)
    found, independent, remarks = list(rows), [], []
    # Equations come first: an inequality that they imply is left out, not the other way round.
    for k in sorted(range(len(rows)), key=lambda k: not rows[k][0].equality):
        row, side = rows[k]
        if side is None:
            continue
        if kept.add(gradients[k]):
            independent.append(k)
            continue
        if not row.equality:
            remarks.append(
                _remark(
                    row, [rows[j][0] for j in independent], gradients[k], gradients[independent]
                )
            )
        if not row.equality or (last_arcs and row.begins is None):
            found[k] = (row, None)
    implied = []
    for i, ham in enumerate(hams):
        first = [
            (number, side)
            for number, side in start.of_phase(i)[0].mode.active
            if ham.constraints[number].order
        ]
        normals = {
            a: at.gradients([_at(ham, e, "start") for e in ham.constraints[a[0]].tangency(a[1])])
            for a in first
        }
        implied.append(
            tuple(a for a in first if all(kept.contains(normal) for normal in normals[a]))
        )
    return Independent(tuple(found), tuple(implied), tuple(remarks))


def _remark(row: BoundaryRow, others: list[BoundaryRow], gradient: Array, gradients: Array) -> str:
    """Which multipliers are not unique because a condition depends on others."""
    unit = gradient / max(float(np.linalg.norm(gradient)), 1e-300)
    shares = np.linalg.lstsq(gradients.T, unit, rcond=None)[0] if len(others) else np.zeros(0)
    names = [
        row.name,
        *[
            other.name
            for other, share in zip(others, shares, strict=True)
            if abs(share) > READING.dependent
        ],
    ]
    return f"the multipliers of {' and '.join(repr(name) for name in names)} are not unique"


class _Span:
    """An orthonormal basis of gradients."""

    def __init__(self, gradients: Array) -> None:
        self.basis = np.zeros((0, gradients.shape[1]))
        for gradient in gradients:
            self.add(gradient)

    def rest(self, gradient: Array) -> Array:
        unit = gradient / max(float(np.linalg.norm(gradient)), 1e-300)
        # twice is enough (Kahan, in Parlett, The Symmetric Eigenvalue Problem, 6.9)
        for _ in range(2):
            unit = unit - self.basis.T @ (self.basis @ unit)
        return np.asarray(unit)

    def contains(self, gradient: Array) -> bool:
        return bool(np.linalg.norm(self.rest(gradient)) <= READING.dependent)

    def add(self, gradient: Array) -> bool:
        """Whether the gradient is independent; it then belongs to the basis."""
        rest = self.rest(gradient)
        size = float(np.linalg.norm(rest))
        if size <= READING.dependent:
            return False
        self.basis = np.vstack([self.basis, rest / size])
        return True


class _Point:
    """Expressions of endpoints and their gradients at a start, in units of the size of each
    endpoint value.
    """

    def __init__(self, form: NormalForm, start: Start, p: Array) -> None:
        self.form, self.p = form, p
        self.values = np.concatenate([endpoint_values(form, start, p), start.s])
        self.symbols = casadi.vertcat(form.endpoint_column, form.s)

    def __call__(self, expressions: list[Any]) -> Array:
        column = casadi.densify(casadi.vertcat(self.form.symbols(0, 1), *expressions))
        return np.asarray(
            casadi.Function("rows", [self.symbols, self.form.p], [column])(
                self.values, self.p
            ).full()
        ).ravel()

    def gradients(self, expressions: list[Any]) -> Array:
        """(expressions, endpoint values and static variables)"""
        jacobian = casadi.jacobian(
            casadi.vertcat(self.form.symbols(0, 1), *expressions), self.symbols
        )
        function = casadi.Function(
            "gradients", [self.symbols, self.form.p], [casadi.densify(jacobian)]
        )
        return np.asarray(function(self.values, self.p).full()).reshape(
            len(expressions), self.values.size
        )


def _at(ham: PhaseHamiltonian, expression: Any, end: str) -> Any:
    """An expression of time and states at one end of its phase."""
    ends = ham.phase.ends
    time, state = (ends.t0, ends.x0) if end == "start" else (ends.tf, ends.xf)
    return casadi.substitute(
        expression, casadi.vertcat(ham.phase.t, ham.phase.x), casadi.vertcat(time, state)
    )


def _at_the_end(ham: PhaseHamiltonian, start: Start, phase: int) -> list[Any]:
    """What the last arc of a phase keeps at zero: its state constraints, with their derivatives."""
    active = [
        (ham.constraints[number], side) for number, side in start.of_phase(phase)[-1].mode.active
    ]
    return [
        _at(ham, row, "end")
        for constraint, side in active
        if constraint.order
        for row in constraint.tangency(side)
    ]


def _active_rows(
    form: NormalForm, hams: tuple[PhaseHamiltonian, ...], start: Start, at: _Point
) -> Rows:
    """All endpoint conditions; inequalities count as active where the start is at their limit."""
    rows = boundary_rows(form)
    result: list[tuple[BoundaryRow, str | None]] = []
    followed = _followed_at_start(hams, start)
    expressions = [row.expression for row in rows]
    # The size of a condition: what its terms come to, which may cancel; a force has a size though
    # its limit is zero.
    terms = np.abs(at.gradients(expressions)) @ np.abs(at.values)
    for row, value, term in zip(rows, at(expressions), terms, strict=True):
        if row.begins in followed and not row.equality:
            result.append((row, None))  # the entry conditions of the first arc say the same
            continue
        if row.name in start.sides:
            result.append((row, start.sides[row.name]))
            continue
        size = max(1e-3, *(abs(b) for b in (row.lower, row.upper, value, term) if np.isfinite(b)))
        if row.equality or (np.isfinite(row.lower) and value - row.lower <= start.near * size):
            result.append((row, "lower"))
        elif np.isfinite(row.upper) and row.upper - value <= start.near * size:
            result.append((row, "upper"))
        else:
            result.append((row, None))
    return tuple(result)


def _followed_at_start(
    hams: tuple[PhaseHamiltonian, ...], start: Start
) -> set[tuple[int, str] | None]:
    """The state constraints, as (phase, name), that the first arcs of phases follow."""
    firsts = [(i, ham, start.of_phase(i)[0]) for i, ham in enumerate(hams)]
    return {
        (i, ham.constraints[j].name)
        for i, ham, arc in firsts
        for j, _ in arc.mode.active
        if ham.constraints[j].order
    }
