"""The terms of the equations of motion of a mechanism, by differentiation of its energies and
constraints.

With the Lagrangian L = T - V, the momentum dL/dv and the constraint rows A v + b = 0 (holonomic
ones differentiated once):

    M a + bias = Q + B r,    A a + drift = wanted

M = d2L/dv2, bias = d2L/dvdq v + d2L/dvdt - dL/dq, r the reactions and B = A^T unless a constraint
acts otherwise. ``wanted`` is zero for the exact motion; a stabilization law sets it to reduce
deviations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np

if TYPE_CHECKING:
    from trajopt.mechanics.lagrange import Mechanism


@dataclass(frozen=True, eq=False)
class LagrangeEquations:
    """Expressions in (q, v, u, p, t), each derived on first use."""

    mechanism: Mechanism

    @cached_property
    def lagrangian(self) -> casadi.SX:
        m = self.mechanism
        return casadi.SX(m.kinetic) - casadi.SX(m.potential)

    @cached_property
    def momentum(self) -> casadi.SX:
        return casadi.gradient(self.lagrangian, self.mechanism.v)

    @cached_property
    def energy(self) -> casadi.SX:
        """v . dL/dv - L: the energy T + V of a mechanism whose kinetic energy is quadratic in v."""
        return casadi.dot(self.momentum, self.mechanism.v) - self.lagrangian

    @cached_property
    def mass(self) -> casadi.SX:
        m = self.mechanism
        return m.inertia.mass if m.inertia else casadi.jacobian(self.momentum, m.v)

    @cached_property
    def bias(self) -> casadi.SX:
        m = self.mechanism
        if m.inertia:
            return m.inertia.bias
        gyroscopic = casadi.jtimes(self.momentum, m.q, m.v) + casadi.jacobian(self.momentum, m.time)
        return gyroscopic - casadi.gradient(self.lagrangian, m.q)

    @cached_property
    def force(self) -> casadi.SX:
        """The generalized forces Q, (n,)."""
        m = self.mechanism
        return column([m.forces.get(c.name, 0.0) for c in m.coordinates])

    @cached_property
    def position_residual(self) -> casadi.SX:
        return column([c.expression for c in self.mechanism.holonomic])

    @cached_property
    def velocity_residual(self) -> casadi.SX:
        """A v + b: the rates of the holonomic constraints, then the nonholonomic constraints."""
        m = self.mechanism
        h = self.position_residual
        rate = casadi.jacobian(h, m.q) @ m.v + casadi.jacobian(h, m.time)
        return casadi.vertcat(rate, *[c.expression for c in m.nonholonomic])

    @cached_property
    def matrix(self) -> casadi.SX:
        """A, (m, n)."""
        return casadi.jacobian(self.velocity_residual, self.mechanism.v)

    @cached_property
    def offset(self) -> casadi.SX:
        """b, (m,): what is left of A v + b at rest."""
        m = self.mechanism
        return casadi.substitute(self.velocity_residual, m.v, casadi.SX.zeros(m.v.shape))

    @cached_property
    def drift(self) -> casadi.SX:
        """A' v + b': what the second derivatives of the constraints hold besides A a.

        It contains 2 h_qt v and h_tt.
        """
        m = self.mechanism
        f = self.velocity_residual
        return casadi.jtimes(f, m.q, m.v) + casadi.jacobian(f, m.time)

    @cached_property
    def directions(self) -> casadi.SX:
        """B, (n, m): the generalized force of a unit of each reaction."""
        m = self.mechanism
        columns = []
        for row, constraint in enumerate(m.rows):
            if constraint.along is None:
                columns.append(self.matrix[row, :].T)
            else:
                columns.append(column([constraint.along.get(c.name, 0.0) for c in m.coordinates]))
        return casadi.horzcat(*columns) if columns else casadi.SX(len(m.coordinates), 0)


def column(entries: Any) -> casadi.SX:
    """Numbers and expressions as a column."""
    if isinstance(entries, (casadi.SX, casadi.DM, np.ndarray)):
        return casadi.SX(entries)
    return casadi.vertcat(*[casadi.SX(e) for e in entries]) if entries else casadi.SX(0, 1)
