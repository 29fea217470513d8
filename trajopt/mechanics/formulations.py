"""Formulations of the equations of motion with reactions.

Each formulation solves ``M a + bias = Q + B r, A a + drift = wanted`` for accelerations and
reactions. ``Augmented`` and ``Penalty`` keep all velocities as states; ``Eliminated``,
``Chaplygin``, ``Voronets`` and ``Appell`` keep the independent ones, so that velocity conditions
hold exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi
import numpy as np
import scipy.linalg

from trajopt.errors import ModelError, UsageError
from trajopt.mechanics.constraints import all_ideal
from trajopt.mechanics.lagrange import Mechanism, symbolic


@dataclass(frozen=True, eq=False)
class EquationsOfMotion:
    """The result of a formulation, as expressions in q, v, u, p, t."""

    acceleration: casadi.SX  # (n,)
    reactions: casadi.SX  # (m,)
    independent: tuple[int, ...]  # the velocities that remain states
    velocity: casadi.SX  # (n,) all velocities, from q and the independent ones


class Formulation(Protocol):
    """Interface of a formulation."""

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> EquationsOfMotion:
        """Return accelerations and reactions with A a + drift = wanted, (m,)."""
        ...


@dataclass(frozen=True)
class Augmented:
    """Accelerations and reactions together, from the saddle-point system [M -B; A 0].

    The mass matrix may be singular, as long as the saddle-point matrix is regular.

    >>> from trajopt.mechanics import Coordinate, Holonomic
    >>> x, y = Coordinate("x", 1.0), Coordinate("y", 1.0)
    >>> bead = Mechanism("bead", (x, y), (x.v**2 + y.v**2) / 2, 9.8 * y.q,
    ...     constraints=(Holonomic("wire", y.q - x.q**2),))
    >>> [s.name for s in bead.system(Augmented()).states]
    ['x', 'y', 'x_rate', 'y_rate']
    """

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> EquationsOfMotion:
        n, m = len(mechanism.coordinates), len(mechanism.rows)
        terms = mechanism.equations
        pull, target = terms.force - terms.bias, wanted - terms.drift
        M, A, B = terms.mass, terms.matrix, terms.directions
        weights = _weights(mechanism)
        if weights is not None:
            # M a = pull + B r and A a = target give (M + A^T W A) a = pull + A^T W target + B r.
            # That matrix is definite wherever the whole system is regular, even if M is singular,
            # so that it can be factorized without pivoting.
            W = casadi.diag(casadi.DM(weights))
            solved = solve_symmetric(M + A.T @ W @ A, casadi.horzcat(pull + A.T @ W @ target, B))
            free, response = solved[:, 0], solved[:, 1:]
            solve = solve_symmetric if all_ideal(mechanism.constraints) else casadi.solve
            reactions = (
                solve(casadi.densify(A @ response), target - A @ free) if m else casadi.SX(0, 1)
            )
            acceleration = free + response @ reactions
        else:
            whole = casadi.vertcat(casadi.horzcat(M, -B), casadi.horzcat(A, casadi.SX(m, m)))
            solution = casadi.solve(casadi.densify(whole), casadi.vertcat(pull, target))
            acceleration, reactions = solution[:n, 0], solution[n:, 0]
        return EquationsOfMotion(acceleration, reactions, tuple(range(n)), mechanism.v)


@dataclass(frozen=True)
class Eliminated:
    """Independent velocities: the equations projected onto the null space of the constraints.

    ``dependent`` names the coordinates whose velocities go; by default the ones that make the
    elimination best conditioned at the start.

    >>> from trajopt.mechanics import Coordinate, Holonomic
    >>> x, y = Coordinate("x", 1.0), Coordinate("y", 1.0)
    >>> bead = Mechanism("bead", (x, y), (x.v**2 + y.v**2) / 2, 9.8 * y.q,
    ...     constraints=(Holonomic("wire", y.q - x.q**2),))
    >>> [s.name for s in bead.system(Eliminated(("y",))).states]
    ['x', 'y', 'x_rate']
    """

    dependent: tuple[str, ...] = ()

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> EquationsOfMotion:
        split = _Split.of(mechanism, self.dependent)
        terms = mechanism.equations
        M, A, B = terms.mass, terms.matrix, terms.directions
        i, d, n = split.independent, split.dependent, len(mechanism.coordinates)
        target = wanted - terms.drift
        # a = T a_i + s solves A a = target for any a_i; Z^T B = 0 removes the reactions.  For ideal
        # constraints Z = T.
        slope = (
            casadi.solve(A[:, d], casadi.horzcat(-A[:, i], target))
            if d
            else casadi.SX(0, len(i) + 1)
        )
        T, s = casadi.SX(n, len(i)), casadi.SX(n, 1)
        T[i, :], T[d, :], s[d] = casadi.SX.eye(len(i)), slope[:, : len(i)], slope[:, len(i)]
        Z = T
        if not all_ideal(mechanism.constraints):
            Z = casadi.SX(n, len(i))
            Z[i, :], Z[d, :] = casadi.SX.eye(len(i)), -casadi.solve(B[d, :].T, B[i, :].T)
        pull = terms.force - terms.bias - M @ s
        free = casadi.solve(casadi.densify(Z.T @ M @ T), Z.T @ pull) if i else casadi.SX(0, 1)
        acceleration = T @ free + s
        return EquationsOfMotion(
            acceleration, _reactions(mechanism, d, acceleration), tuple(i), split.velocity
        )


@dataclass(frozen=True)
class Voronets:
    """Voronets' equations: no multipliers, dependent velocities v_d = phi(q, v_i, t), L* the
    Lagrangian without them.

    d/dt dL*/dv_i - dL*/dq_i - B^T dL*/dq_d - gamma_i . dL/dv_d = Q_i + B^T Q_d, B = dphi/dv_i, with
    gamma_i = d/dt dphi/dv_i - dphi/dq_i - B^T dphi/dq_d. The coefficients gamma vanish where the
    constraints are integrable.

    >>> from problems.stabilization.sleigh import sleigh
    >>> [s.name for s in sleigh().mechanism.system(Voronets(("y",))).states]
    ['x', 'y', 'phi', 'x_rate', 'phi_rate']
    """

    dependent: tuple[str, ...] = ()

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> EquationsOfMotion:
        return _multiplier_free(mechanism, _Split.of(mechanism, self.dependent), wanted)


@dataclass(frozen=True)
class Chaplygin:
    """Chaplygin's equations: Voronets' where neither the Lagrangian nor the coefficients contain
    the dependent coordinates.
    """

    dependent: tuple[str, ...] = ()

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> EquationsOfMotion:
        split = _Split.of(mechanism, self.dependent)
        for k in split.dependent:
            c = mechanism.coordinates[k]
            if casadi.depends_on(
                casadi.vertcat(split.velocity, mechanism.equations.lagrangian), c.q
            ):
                raise ModelError(
                    f"'{mechanism.name}' has no Chaplygin form: the dependent coordinate "
                    f"'{c.name}' appears in it",
                    expected="a Lagrangian and constraints without the dependent coordinates",
                    hint="use Voronets(), the general form",
                )
        return _multiplier_free(mechanism, split, wanted)


@dataclass(frozen=True)
class Appell:
    """Appell's equations: dS/da_i = Q_i, S the energy of accelerations, a_i the independent ones.

    S = 1/2 a . M a + a . bias up to terms without accelerations; the constraints give all of them
    by the independent ones. Velocities of the other coordinates are no states.

    >>> from problems.stabilization.sleigh import sleigh
    >>> [s.name for s in sleigh().mechanism.system(Appell(("y",))).states]
    ['x', 'y', 'phi', 'x_rate', 'phi_rate']
    """

    dependent: tuple[str, ...] = ()

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> EquationsOfMotion:
        _check_multiplier_free(mechanism, wanted)
        split = _Split.of(mechanism, self.dependent)
        terms = mechanism.equations
        A, i, d = terms.matrix, split.independent, split.dependent
        free = casadi.SX.sym("a", len(i))
        a = casadi.SX(len(mechanism.coordinates), 1)
        a[i] = free
        if d:
            a[d] = casadi.solve(A[:, d], -terms.drift - A[:, i] @ free)
        S = casadi.dot(a, terms.mass @ a) / 2 + casadi.dot(a, terms.bias)
        # Appell's equations are linear in the accelerations; this is the key line.
        residual = casadi.gradient(S, free) - casadi.jacobian(a, free).T @ terms.force
        inertia = casadi.jacobian(residual, free)
        rest = casadi.substitute(residual, free, casadi.SX.zeros(len(i), 1))
        found = solve_symmetric(inertia, -rest) if i else casadi.SX(0, 1)
        acceleration = casadi.substitute(a, free, found)
        return EquationsOfMotion(
            acceleration, _reactions(mechanism, d, acceleration), tuple(i), split.velocity
        )


@dataclass(frozen=True)
class Penalty:
    """Constraints as stiff springs and dampers: r = -(stiffness h + damping h'), r = -damping f for
    velocity conditions.

    The motion tends to the constrained one as the stiffness grows, with an error of order
    1/stiffness.

    >>> from problems.lecture import pendulum_cartesian
    >>> soft = pendulum_cartesian().mechanism.system(Penalty(stiffness=1e5))
    >>> soft.invariants  # no invariant is exact
    ()
    """

    stiffness: float = 1e6
    damping: float = 1e3

    def __post_init__(self) -> None:
        if not (self.stiffness >= 0 and self.damping >= 0):
            raise ModelError(
                "a penalty must not be negative",
                got=(self.stiffness, self.damping),
                expected="stiffness, damping >= 0",
            )

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> EquationsOfMotion:
        h = casadi.vertcat(
            mechanism.equations.position_residual, casadi.SX(len(mechanism.nonholonomic), 1)
        )
        reactions = -(self.stiffness * h + self.damping * mechanism.equations.velocity_residual)
        pull = (
            mechanism.equations.force
            - mechanism.equations.bias
            + mechanism.equations.directions @ reactions
        )
        return EquationsOfMotion(
            solve_symmetric(mechanism.equations.mass, pull),
            reactions,
            tuple(range(len(mechanism.coordinates))),
            mechanism.v,
        )


@dataclass(frozen=True, eq=False)
class _Split:
    """Independent and dependent velocities."""

    independent: list[int]
    dependent: list[int]
    velocity: casadi.SX  # (n,) in q, v_i, t

    @staticmethod
    def of(mechanism: Mechanism, names: tuple[str, ...]) -> _Split:
        q, v = mechanism.start
        n, m = len(mechanism.coordinates), len(mechanism.rows)
        A = np.array(mechanism.evaluate(mechanism.equations.matrix, q, v))
        if names:
            dependent = sorted(mechanism.index(name) for name in names)
        else:
            dependent = (
                sorted(int(k) for k in scipy.linalg.qr(A, pivoting=True, mode="r")[1][:m])
                if m
                else []
            )
        if len(dependent) != m or (m and np.linalg.cond(A[:, dependent]) > 1e12):
            chosen = ", ".join(mechanism.coordinates[k].name for k in dependent)
            raise ModelError(
                f"'{mechanism.name}': these velocities cannot be eliminated at the start",
                got=chosen or "none",
                expected=f"{m} coordinates whose velocities the constraints determine",
                hint="; ".join(map(str, mechanism.dependent_constraints()))
                or "give other coordinates, or none",
            )
        independent = [k for k in range(n) if k not in dependent]
        velocity = casadi.SX(mechanism.v)
        if m:
            rows, free = mechanism.equations.matrix, mechanism.v[independent]
            velocity[dependent] = casadi.solve(
                rows[:, dependent], -(rows[:, independent] @ free + mechanism.equations.offset)
            )
        return _Split(independent, dependent, velocity)


def _check_multiplier_free(mechanism: Mechanism, wanted: casadi.SX) -> None:
    """Raise unless the reactions are ideal and the constraints hold as they are."""
    if not all_ideal(mechanism.constraints):
        raise ModelError(
            f"'{mechanism.name}': forms without multipliers need ideal reactions",
            hint="use Eliminated() or Augmented()",
        )
    if not wanted.is_zero():
        raise UsageError(
            "forms without multipliers cannot be stabilized", hint="use Augmented() or Eliminated()"
        )


def _multiplier_free(mechanism: Mechanism, split: _Split, wanted: casadi.SX) -> EquationsOfMotion:
    _check_multiplier_free(mechanism, wanted)
    q, v, t, i, d = mechanism.q, mechanism.v, mechanism.time, split.independent, split.dependent
    v_i, phi = v[i], split.velocity[d]
    velocity = split.velocity
    reduced = casadi.substitute(mechanism.equations.lagrangian, v, velocity)  # L*
    momentum_d = (
        casadi.substitute(casadi.gradient(mechanism.equations.lagrangian, v)[d], v, velocity)
        if d
        else casadi.SX(0, 1)
    )
    B = casadi.jacobian(phi, v_i)  # (m, n - m)

    def along_motion(expression: casadi.SX) -> casadi.SX:
        """Return the time derivative without the terms in the accelerations."""
        return casadi.jtimes(expression, q, velocity) + casadi.jacobian(expression, t)

    momentum = casadi.gradient(reduced, v_i)
    slope_q = casadi.gradient(reduced, q)
    phi_q = casadi.jacobian(phi, q)
    B_rate = casadi.reshape(along_motion(casadi.vec(B)), B.shape)
    # Voronets' coefficients, one column for each independent velocity; this is the key line.
    gamma = B_rate - phi_q[:, i] - phi_q[:, d] @ B
    force = casadi.substitute(mechanism.equations.force, v, velocity)
    pull = (
        force[i]
        + B.T @ force[d]
        + slope_q[i]
        + B.T @ slope_q[d]
        + gamma.T @ momentum_d
        - along_motion(momentum)
    )
    free = (
        casadi.solve(casadi.densify(casadi.jacobian(momentum, v_i)), pull) if i else casadi.SX(0, 1)
    )
    acceleration = casadi.SX(len(mechanism.coordinates), 1)
    acceleration[i] = free
    acceleration[d] = B @ free + along_motion(phi) if d else casadi.SX(0, 1)
    return EquationsOfMotion(
        acceleration, _reactions(mechanism, d, acceleration), tuple(i), velocity
    )


def solve_symmetric(matrix: casadi.SX, right: casadi.SX) -> casadi.SX:
    """Solve with a symmetric definite matrix by LDL factorization: half the work of a general
    elimination.
    """
    D, LT, order = casadi.ldl(casadi.densify(matrix), False)
    return casadi.ldl_solve(casadi.densify(right), D, LT, order)


def _weights(mechanism: Mechanism) -> np.ndarray | None:
    """Return W of M + A^T W A, scaled to M; zero if M is constant and definite, None if the sum is
    not definite.
    """
    # Parameters of a problem have no value here; definiteness is tested with all of them equal to
    # one.
    p = [1.0 if symbolic(c.value) else c.value for c in mechanism.parameters]
    M = np.array(mechanism.evaluate(mechanism.equations.mass, *mechanism.start, p=p))
    A = np.array(mechanism.evaluate(mechanism.equations.matrix, *mechanism.start, p=p))
    if not (np.all(np.isfinite(M)) and np.all(np.isfinite(A))):
        return None
    plain = np.zeros(len(A))
    if _definite(M) and (len(A) == 0 or mechanism.equations.mass.is_constant()):
        return plain
    weights = (
        np.abs(np.diag(M)).mean() / np.maximum((A**2).sum(axis=1), 1e-300) if len(A) else plain
    )
    return weights if _definite(M + A.T @ np.diag(weights) @ A) else None


def _definite(matrix: np.ndarray) -> bool:
    """True if a symmetric matrix can be factorized without pivoting."""
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > 1e-10 * values[-1])


def _reactions(mechanism: Mechanism, dependent: list[int], acceleration: casadi.SX) -> casadi.SX:
    """Return the reactions from the equations of the dependent coordinates."""
    if not dependent:
        return casadi.SX(0, 1)
    terms = mechanism.equations
    missing = terms.mass @ acceleration + terms.bias - terms.force
    return casadi.solve(terms.directions[dependent, :], missing[dependent])
