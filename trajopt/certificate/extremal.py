"""One phase of an answer beside its Hamiltonian: what Pontryagin's conditions are checked on.

Multipliers of algebraic equations and of active mixed constraints are not taken from the solver: stationarity alone gives them,
by least squares, at every point. The costate is the one that adjoins state constraints themselves, as both methods give it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.along import Along, PhaseAlong, evaluated
from trajopt.indirect.hamiltonian import Constraint, PhaseHamiltonian, hamiltonians

Array = NDArray[np.float64]
AT_BOUND = 1e-6  # of a control's span
ACTIVE = 1e-4  # of a constraint's size: so close to its limit it may have a multiplier


@dataclass(frozen=True, eq=False)
class Extremal:
    """A phase, its Hamiltonian and the derivatives of the cost by its integrals."""

    phase: PhaseAlong
    ham: PhaseHamiltonian
    weight: Array

    @property
    def symbols(self) -> list[Any]:
        ph = self.phase.form
        return [ph.t, ph.x, ph.z, ph.u, self.ham.costate, self.ham.weight, self.ham.s, self.ham.p]

    @property
    def fixed(self) -> tuple[Array, Array, Array]:
        return self.weight, self.phase.s, self.phase.p

    @cached_property
    def points(self) -> tuple[Array, ...]:
        """t, x, z, u, costate at the quadrature points."""
        t, x, z, u = self.phase.sampled
        return t, x, z, u, self.phase.costate(t[0])

    @cached_property
    def at_breaks(self) -> tuple[Array, ...]:
        """The same at both ends of every interval, from inside: collocation is most accurate there, in states and costates."""
        ph, every = self.phase, np.arange(self.phase.widths.size)
        sides = []
        for fraction, ends in ((0.0, ph.breaks[:-1]), (1.0, ph.breaks[1:])):
            near, left = ph.inside(np.full((every.size, 1), fraction), every).ravel(), fraction == 1.0
            sides.append((ends[None, :], ph.x(ends, left), ph.z(near), ph.u(near), ph.costate(ends, left)))
        return tuple(np.hstack(pair) for pair in zip(*sides, strict=True))

    @cached_property
    def power(self) -> float:
        """What H is measured by, since it may be zero: the largest sum of the sizes of its terms."""
        ph = self.phase.form
        terms = casadi.vertcat(self.ham.costate * ph.f, self.ham.weight * ph.l if ph.l.numel() else ph.f[:0])
        values = evaluated(casadi.Function("terms", self.symbols, [casadi.densify(terms)]), *self.points, *self.fixed)
        largest = float(np.abs(values).sum(axis=0).max())
        return largest if largest > 0 else 1.0

    @cached_property
    def costate_sizes(self) -> Array:
        """Of each costate: its largest value, or what matters beside the others where it stays near zero."""
        ph = self.phase
        function = casadi.Function("f", self.symbols, [casadi.densify(ph.form.f)])
        rates = np.abs(evaluated(function, *self.points, *self.fixed)).max(axis=1)
        floor = 1e-3 * self.power / np.where(rates > 0, rates, np.inf)
        largest = np.maximum(np.abs(self.points[4]).max(axis=1), floor)
        return np.asarray(np.where(largest > 0, largest, 1.0))

    @cached_property
    def at_lower(self) -> NDArray[np.bool_]:
        """(controls, points): where a control is at its lower bound."""
        return np.asarray(self.points[3] <= (self.phase.form.u_bound.lower + AT_BOUND * self.phase.spans)[:, None])

    @cached_property
    def at_upper(self) -> NDArray[np.bool_]:
        return np.asarray(self.points[3] >= (self.phase.form.u_bound.upper - AT_BOUND * self.phase.spans)[:, None])

    @cached_property
    def path_sides(self) -> Array:
        """(path constraints, points): +1 at the upper limit, -1 at the lower, 2 for an equality, 0 inside."""
        ph = self.phase.form
        if not ph.c.numel():
            return np.zeros((0, self.points[0].size))
        return sides(self.values(ph.c), ph.c_bound.lower, ph.c_bound.upper)

    @cached_property
    def multipliers(self) -> Array:
        """Of algebraic equations, then of path constraints: what makes H stationary in the variables that are free to move."""
        ph = self.phase.form
        count, total = self.points[0].size, ph.g.numel() + ph.c.numel()
        if not total:
            return np.zeros((0, count))
        gradient, jacobian = self.slopes
        bound = ph.z_bound
        z_free = (self.points[2] > bound.lower[:, None]) & (self.points[2] < bound.upper[:, None])
        free = np.vstack([~(self.at_lower | self.at_upper), z_free])  # (nu + nz, N)
        used = np.vstack([np.ones((ph.g.numel(), count), dtype=bool), self.path_sides != 0])  # (rows, N)
        found = np.zeros((total, count))
        for _ in range(2):
            matrix = jacobian * free.T[:, None, :] * used.T[:, :, None]  # (N, rows, nu + nz)
            found = -np.einsum(
                "nij,in->jn", np.linalg.pinv(matrix.transpose(0, 2, 1), rcond=1e-12).transpose(0, 2, 1), gradient * free
            )
            wrong = np.vstack([np.zeros((ph.g.numel(), count), dtype=bool), self._wrong(found[ph.g.numel() :])])
            if not wrong.any():
                break
            used &= ~wrong
        return np.where(used, found, 0.0)

    def _wrong(self, densities: Array) -> Array:
        """Multipliers that push into the feasible side."""
        side = self.path_sides
        return np.asarray(((side == 1) & (densities < 0)) | ((side == -1) & (densities > 0)))

    @cached_property
    def slopes(self) -> tuple[Array, Array]:
        """Derivatives by (u, z): of H, (nu + nz, N), and of equations and path constraints, (N, rows, nu + nz)."""
        ph = self.phase.form
        y, rows = casadi.vertcat(ph.u, ph.z), casadi.vertcat(ph.g, ph.c)
        gradient = self.values(casadi.vertcat(*[casadi.gradient(self.ham.H, v) for v in (ph.u, ph.z) if v.numel()]))
        blocks = [casadi.jacobian(rows, v) for v in (ph.u, ph.z) if v.numel()]
        jacobian = self.values(casadi.horzcat(*blocks).reshape((-1, 1)))
        return gradient, jacobian.T.reshape(-1, y.numel(), rows.numel()).transpose(0, 2, 1)

    @cached_property
    def augmented(self) -> dict[str, Array]:
        """H and the derivatives of H + multipliers . (equations, constraints), at all points: H, u, x, s."""
        ph = self.phase.form
        rows = casadi.vertcat(ph.g, ph.c)
        m = self.ham.symbols.sym("multipliers", rows.numel())
        whole = self.ham.H + (casadi.dot(m, rows) if rows.numel() else 0)
        outputs = [self.ham.H, *[casadi.gradient(whole, v) if v.numel() else v for v in (ph.u, ph.x, self.ham.s)]]
        function = casadi.Function("augmented", [*self.symbols, m], [casadi.densify(o) for o in outputs])
        with np.errstate(all="ignore"):
            found = function(*self.points, *self.fixed, self.multipliers)
        return {name: np.asarray(value.full()) for name, value in zip(("H", "u", "x", "s"), found, strict=True)}

    @cached_property
    def active(self) -> list[tuple[Constraint, Array]]:
        """The constraints of states alone that get active, and their sides at all points."""
        pairs = [(c, self._side(c)) for c in self.ham.constraints if c.order != 0]
        return [(c, side) for c, side in pairs if side.any()]

    @cached_property
    def state_constraints(self) -> list[tuple[Array, Array]]:
        """For each of those: its side at all points, and its gradient, (nx, N)."""
        return [(side, self.values(casadi.gradient(c.expression, self.phase.form.x))) for c, side in self.active]

    @cached_property
    def holding(self) -> NDArray[np.bool_]:
        """(controls, points): which controls hold a state on its constraint.

        There the costate is not unique, and neither is the slope of H along such a control.
        """
        held = np.zeros(self.points[3].shape, dtype=bool)
        for constraint, side in self.active:
            if constraint.order is not None and held.size:
                slopes = self.values(casadi.jacobian(constraint.derivatives[-1], self.phase.form.u).T)
                held |= (slopes != 0) & (side != 0)[None, :]
        return held

    def _side(self, constraint: Constraint) -> Array:
        shape, of = self.phase.times.shape, constraint.expression
        values = np.hstack([self.values(of), self.values(of, self.at_breaks)])
        side = sides(values, np.array([constraint.lower]), np.array([constraint.upper]))[0]
        inner, ends = side[: shape[0] * shape[1]], side[shape[0] * shape[1] :].reshape(2, -1).T
        # A limit that is met between two points, or at a node, acts on its whole interval.
        per_interval, all_of = inner.reshape(shape), np.hstack([inner.reshape(shape), ends])
        for sign in (1, -1):
            met = (all_of == sign).any(axis=1)
            grown = met | np.append(met[1:], False) | np.append(False, met[:-1])
            per_interval[grown] = sign
        return np.asarray(per_interval.ravel())

    def values(self, expression: Any, at: tuple[Array, ...] | None = None) -> Array:
        """An expression at the quadrature points, or at others."""
        points = self.points if at is None else at
        return evaluated(casadi.Function("value", self.symbols, [casadi.densify(expression)]), *points, *self.fixed)


def sides(values: Array, lower: Array, upper: Array) -> Array:
    """+1 at an upper limit, -1 at a lower, 2 where both are one, 0 between."""
    finite = np.where(np.isfinite(lower), np.abs(lower), 0.0), np.where(np.isfinite(upper), np.abs(upper), 0.0)
    size = ACTIVE * np.maximum(np.ptp(values, axis=1), np.maximum(*finite))[:, None] + 1e-300
    side = np.where(values >= upper[:, None] - size, 1, np.where(values <= lower[:, None] + size, -1, 0))
    side[lower == upper] = 2
    return side


def extremals(whole: Along) -> tuple[Extremal, ...]:
    """All phases with their Hamiltonians; raises where Pontryagin's conditions cannot be set up."""
    form = whole.form
    gradient = endpoint_gradient(whole)[0]
    found, first = [], 0
    for ph, ham in zip(whole.phases, hamiltonians(form), strict=True):
        size = ph.form.ends.column.numel()
        found.append(Extremal(ph, ham, gradient[first + size - ph.form.l.numel() : first + size]))
        first += size
    return tuple(found)


def endpoint_gradient(whole: Along) -> tuple[Array, Array]:
    """Derivatives of cost and weighted conditions by all endpoint values, and by static variables."""
    form = whole.form
    column = form.endpoint_column
    total = form.phi + (casadi.dot(form.b, casadi.DM(whole.multipliers)) if whole.multipliers.size else 0)
    symbols = [*[e for ph in form.phases for e in ph.ends], form.s, form.p]
    by_end = casadi.vertcat(*[casadi.gradient(total, e) if e.numel() else e for ph in form.phases for e in ph.ends])
    by_static = casadi.gradient(total, form.s) if form.s.numel() else form.s
    function = casadi.Function("gradient", symbols, [casadi.densify(by_end), casadi.densify(by_static)])
    sizes = np.cumsum([e.numel() for ph in form.phases for e in ph.ends])[:-1]
    assert column.numel() == whole.endpoints.size
    ends, statics = function(*np.split(whole.endpoints, sizes), whole.s, whole.p)
    return np.asarray(ends.full()).ravel(), np.asarray(statics.full()).ravel()
