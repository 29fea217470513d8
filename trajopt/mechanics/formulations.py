"""Ways to take reactions into account, behind one interface, and the first-order system that each gives.

Each formulation turns ``M a + bias = Q + B r, A a + drift = wanted`` into accelerations and reactions. ``Augmented`` and
``Penalty`` keep all velocities as states; ``Eliminated``, ``Chaplygin`` and ``Voronets`` keep the independent ones, so that
velocity conditions hold exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import casadi
import numpy as np
import scipy.linalg

from trajopt.errors import ModelError, UsageError
from trajopt.mechanics.lagrange import Mechanism, Quantity
from trajopt.mechanics.statement import require_independent
from trajopt.system import Invariant, Law, System, Variable


@dataclass(frozen=True, eq=False)
class Motion:
    """What a formulation finds, as expressions in q, v, u, p, t."""

    acceleration: casadi.SX  # (n,)
    reactions: casadi.SX  # (m,)
    independent: tuple[int, ...]  # the velocities that remain states
    velocity: casadi.SX  # (n,) all velocities, from q and the independent ones


class Formulation(Protocol):
    """A way to take reactions into account."""

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> Motion:
        """Accelerations and reactions with A a + drift = wanted, (m,)."""
        ...


@dataclass(frozen=True)
class Augmented:
    """Accelerations and reactions together, from the saddle-point system [M -B; A 0].

    It works where the mass matrix alone is singular, as long as the constraints carry what it lacks.

    >>> from trajopt.mechanics import Coordinate, Holonomic
    >>> x, y = Coordinate("x", 1.0), Coordinate("y", 1.0)
    >>> bead = Mechanism("bead", (x, y), (x.v**2 + y.v**2) / 2, 9.8 * y.q, constraints=(Holonomic("wire", y.q - x.q**2),))
    >>> [s.name for s in bead.system(Augmented()).states]
    ['x', 'y', 'x_rate', 'y_rate']
    """

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> Motion:
        n, m = len(mechanism.coordinates), len(mechanism.rows)
        pull, target = mechanism.force - mechanism.bias, wanted - mechanism.drift
        M, A, B = mechanism.mass, mechanism.matrix, mechanism.directions
        weights = _weights(mechanism)
        if weights is not None:
            # M a = pull + B r and A a = target give (M + A^T W A) a = pull + A^T W target + B r. That matrix is definite wherever
            # the whole system is regular, also where M alone is not, so that it can be factorized without pivoting.
            W = casadi.diag(casadi.DM(weights))
            solved = solve_symmetric(M + A.T @ W @ A, casadi.horzcat(pull + A.T @ W @ target, B))
            free, response = solved[:, 0], solved[:, 1:]
            solve = solve_symmetric if mechanism.ideal else casadi.solve
            reactions = solve(casadi.densify(A @ response), target - A @ free) if m else casadi.SX(0, 1)
            acceleration = free + response @ reactions
        else:
            whole = casadi.vertcat(casadi.horzcat(M, -B), casadi.horzcat(A, casadi.SX(m, m)))
            solution = casadi.solve(casadi.densify(whole), casadi.vertcat(pull, target))
            acceleration, reactions = solution[:n, 0], solution[n:, 0]
        return Motion(acceleration, reactions, tuple(range(n)), mechanism.v)


@dataclass(frozen=True)
class Eliminated:
    """Independent velocities: the equations projected on the motions that the constraints allow.

    ``dependent`` names the coordinates whose velocities go; by default the ones that make the elimination best conditioned at
    the start.

    >>> from trajopt.mechanics import Coordinate, Holonomic
    >>> x, y = Coordinate("x", 1.0), Coordinate("y", 1.0)
    >>> bead = Mechanism("bead", (x, y), (x.v**2 + y.v**2) / 2, 9.8 * y.q, constraints=(Holonomic("wire", y.q - x.q**2),))
    >>> [s.name for s in bead.system(Eliminated(("y",))).states]
    ['x', 'y', 'x_rate']
    """

    dependent: tuple[str, ...] = ()

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> Motion:
        split = _Split.of(mechanism, self.dependent)
        M, A, B = mechanism.mass, mechanism.matrix, mechanism.directions
        i, d, n = split.independent, split.dependent, len(mechanism.coordinates)
        target = wanted - mechanism.drift
        # a = T a_i + s solves A a = target for any a_i; Z^T B = 0 removes the reactions.  For ideal constraints Z = T.
        slope = casadi.solve(A[:, d], casadi.horzcat(-A[:, i], target)) if d else casadi.SX(0, len(i) + 1)
        T, s = casadi.SX(n, len(i)), casadi.SX(n, 1)
        T[i, :], T[d, :], s[d] = casadi.SX.eye(len(i)), slope[:, : len(i)], slope[:, len(i)]
        Z = T
        if not mechanism.ideal:
            Z = casadi.SX(n, len(i))
            Z[i, :], Z[d, :] = casadi.SX.eye(len(i)), -casadi.solve(B[d, :].T, B[i, :].T)
        pull = mechanism.force - mechanism.bias - M @ s
        free = casadi.solve(casadi.densify(Z.T @ M @ T), Z.T @ pull) if i else casadi.SX(0, 1)
        acceleration = T @ free + s
        return Motion(acceleration, _reactions(mechanism, d, acceleration), tuple(i), split.velocity)


@dataclass(frozen=True)
class Voronets:
    """Voronets' equations: no multipliers, dependent velocities v_d = phi(q, v_i, t), L* the Lagrangian without them.

    d/dt dL*/dv_i - dL*/dq_i - B^T dL*/dq_d - gamma_i . dL/dv_d = Q_i + B^T Q_d, B = dphi/dv_i, with
    gamma_i = d/dt dphi/dv_i - dphi/dq_i - B^T dphi/dq_d. The coefficients gamma vanish where the constraints are integrable.
    """

    dependent: tuple[str, ...] = ()

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> Motion:
        return _multiplier_free(mechanism, _Split.of(mechanism, self.dependent), wanted)


@dataclass(frozen=True)
class Chaplygin:
    """Chaplygin's equations: Voronets' where neither the Lagrangian nor the coefficients contain the dependent coordinates."""

    dependent: tuple[str, ...] = ()

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> Motion:
        split = _Split.of(mechanism, self.dependent)
        for k in split.dependent:
            c = mechanism.coordinates[k]
            if casadi.depends_on(casadi.vertcat(split.velocity, mechanism.lagrangian), c.q):
                raise ModelError(
                    f"'{mechanism.name}' has no Chaplygin form: the dependent coordinate '{c.name}' appears in it",
                    expected="a Lagrangian and constraints without the dependent coordinates",
                    hint="Voronets handles the general case",
                )
        return _multiplier_free(mechanism, split, wanted)


@dataclass(frozen=True)
class Penalty:
    """Constraints as stiff springs and dampers: r = -(stiffness h + damping h'), r = -damping f for velocity conditions.

    The motion tends to the constrained one as the stiffness grows, with an error of order 1/stiffness.
    """

    stiffness: float = 1e6
    damping: float = 1e3

    def __post_init__(self) -> None:
        if not (self.stiffness >= 0 and self.damping >= 0):
            raise ModelError(
                "a penalty must not push outwards", got=(self.stiffness, self.damping), expected="stiffness, damping >= 0"
            )

    def motion(self, mechanism: Mechanism, wanted: casadi.SX) -> Motion:
        h = casadi.vertcat(mechanism.position_residual, casadi.SX(len(mechanism.nonholonomic), 1))
        reactions = -(self.stiffness * h + self.damping * mechanism.velocity_residual)
        pull = mechanism.force - mechanism.bias + mechanism.directions @ reactions
        return Motion(solve_symmetric(mechanism.mass, pull), reactions, tuple(range(len(mechanism.coordinates))), mechanism.v)


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
        A = np.array(mechanism.evaluate(mechanism.matrix, q, v))
        if names:
            dependent = sorted(mechanism.index(name) for name in names)
        else:
            dependent = sorted(int(k) for k in scipy.linalg.qr(A, pivoting=True, mode="r")[1][:m]) if m else []
        if len(dependent) != m or (m and np.linalg.cond(A[:, dependent]) > 1e12):
            chosen = ", ".join(mechanism.coordinates[k].name for k in dependent)
            raise ModelError(
                f"'{mechanism.name}': these velocities cannot be eliminated at the start",
                got=chosen or "none",
                expected=f"{m} coordinates whose velocities the constraints determine",
                hint="; ".join(map(str, mechanism.dependent_constraints())) or "name other coordinates, or none",
            )
        independent = [k for k in range(n) if k not in dependent]
        velocity = casadi.SX(mechanism.v)
        if m:
            rows, free = mechanism.matrix, mechanism.v[independent]
            velocity[dependent] = casadi.solve(rows[:, dependent], -(rows[:, independent] @ free + mechanism.offset))
        return _Split(independent, dependent, velocity)


def _multiplier_free(mechanism: Mechanism, split: _Split, wanted: casadi.SX) -> Motion:
    if not mechanism.ideal:
        raise ModelError(
            f"'{mechanism.name}': forms without multipliers need ideal reactions", hint="use Eliminated or Augmented"
        )
    q, v, t, i, d = mechanism.q, mechanism.v, mechanism.time, split.independent, split.dependent
    v_i, phi = v[i], split.velocity[d]
    velocity = split.velocity
    reduced = casadi.substitute(mechanism.lagrangian, v, velocity)  # L*
    momentum_d = casadi.substitute(casadi.gradient(mechanism.lagrangian, v)[d], v, velocity) if d else casadi.SX(0, 1)
    B = casadi.jacobian(phi, v_i)  # (m, n - m)

    def along_motion(expression: casadi.SX) -> casadi.SX:
        """The time derivative without the accelerations."""
        return casadi.jtimes(expression, q, velocity) + casadi.jacobian(expression, t)

    momentum = casadi.gradient(reduced, v_i)
    slope_q = casadi.gradient(reduced, q)
    phi_q = casadi.jacobian(phi, q)
    B_rate = casadi.reshape(along_motion(casadi.vec(B)), B.shape)
    # Voronets' coefficients, one column for each independent velocity; this is the key line.
    gamma = B_rate - phi_q[:, i] - phi_q[:, d] @ B
    force = casadi.substitute(mechanism.force, v, velocity)
    pull = force[i] + B.T @ force[d] + slope_q[i] + B.T @ slope_q[d] + gamma.T @ momentum_d - along_motion(momentum)
    free = casadi.solve(casadi.densify(casadi.jacobian(momentum, v_i)), pull) if i else casadi.SX(0, 1)
    acceleration = casadi.SX(len(mechanism.coordinates), 1)
    acceleration[i] = free
    acceleration[d] = B @ free + along_motion(phi) if d else casadi.SX(0, 1)
    if not wanted.is_zero():
        raise UsageError(
            "forms without multipliers keep the constraints by themselves", hint="use Augmented or Eliminated to stabilize"
        )
    return Motion(acceleration, _reactions(mechanism, d, acceleration), tuple(i), velocity)


def solve_symmetric(matrix: casadi.SX, right: casadi.SX) -> casadi.SX:
    """The solution with a symmetric definite matrix, by its LDL factors: half the work of a general elimination."""
    D, LT, order = casadi.ldl(casadi.densify(matrix), False)
    return casadi.ldl_solve(casadi.densify(right), D, LT, order)


def _weights(mechanism: Mechanism) -> np.ndarray | None:
    """W of M + A^T W A, of the size of M for each row; zero where M is constant and definite, None where that does not help."""
    M = np.array(mechanism.evaluate(mechanism.mass, *mechanism.start))
    A = np.array(mechanism.evaluate(mechanism.matrix, *mechanism.start))
    if not (np.all(np.isfinite(M)) and np.all(np.isfinite(A))):
        return None
    plain = np.zeros(len(A))
    if _definite(M) and (len(A) == 0 or mechanism.mass.is_constant()):
        return plain
    weights = np.abs(np.diag(M)).mean() / np.maximum((A**2).sum(axis=1), 1e-300) if len(A) else plain
    return weights if _definite(M + A.T @ np.diag(weights) @ A) else None


def _definite(matrix: np.ndarray) -> bool:
    """Whether a symmetric matrix can be factorized without pivoting."""
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] > 1e-10 * values[-1])


def _reactions(mechanism: Mechanism, dependent: list[int], acceleration: casadi.SX) -> casadi.SX:
    """The reactions from the equations of the dependent coordinates."""
    if not dependent:
        return casadi.SX(0, 1)
    missing = mechanism.mass @ acceleration + mechanism.bias - mechanism.force
    return casadi.solve(mechanism.directions[dependent, :], missing[dependent])


# From a mechanism to a system -----------------------------------------------------------------------------------------------


def as_system(mechanism: Mechanism, formulation: Formulation, controls: Mapping[str, Any], details: Mapping[str, Any]) -> System:
    """A mechanism as a first-order system.

    Parameters
    ----------
    controls : the control laws by name, expressions in the coordinates, velocities, time and parameters (or numbers); a control
        without a law becomes a parameter of the system.
    details : further fields of ``System``: ``until``, ``description``, ``events``, ``outputs``, ``drawing``.
    """
    known = [c.name for c in mechanism.controls]
    for name in controls:
        if name not in known:
            raise ModelError(f"'{mechanism.name}' has no control '{name}'", expected=", ".join(known) or "none")
    if not isinstance(formulation, Penalty):
        require_independent(mechanism)

    def build(law: Law | None, held: casadi.SX | None = None) -> System:
        """``held`` are symbols that the law uses besides its arguments; they become parameters."""
        way = formulation if law is None else Augmented()
        motion = way.motion(mechanism, _wanted(mechanism, law))
        penalized = isinstance(formulation, Penalty)
        return _assemble(mechanism, motion, controls, dict(details), penalized=penalized, build=build, held=held)

    return build(None)


def _wanted(mechanism: Mechanism, law: Law | None) -> casadi.SX:
    k, m = len(mechanism.holonomic), len(mechanism.rows)
    if law is None:
        return casadi.SX(m, 1)
    f = mechanism.velocity_residual
    positions = law(mechanism.position_residual, f[:k], 2) if k else casadi.SX(0, 1)
    velocities = law(f[k:], casadi.SX.zeros(m - k, 1), 1) if m > k else casadi.SX(0, 1)
    return casadi.vertcat(positions, velocities)


def _assemble(
    mechanism: Mechanism,
    motion: Motion,
    controls: Mapping[str, Any],
    details: dict[str, Any],
    *,
    penalized: bool,
    build: Any,
    held: casadi.SX | None,
) -> System:
    kept = list(motion.independent)
    reduced = len(kept) < len(mechanism.coordinates)
    open_controls = [c for c in mechanism.controls if c.name not in controls]
    extra = [] if held is None else [Quantity(str(symbol), symbol=symbol) for symbol in casadi.vertsplit(held)]
    quantities = [*mechanism.parameters, *open_controls, *extra]

    def closed(expression: Any) -> casadi.SX:
        """Control laws in place, dependent velocities expressed by the independent ones."""
        result = casadi.SX(expression)
        for c in mechanism.controls:
            if c.name in controls:
                result = casadi.substitute(result, c.symbol, casadi.SX(controls[c.name]))
        return casadi.substitute(result, mechanism.v, motion.velocity) if reduced else result

    variables = mechanism.state_variables()
    n = len(mechanism.coordinates)
    outputs = {
        name: (closed(e), unit) for name, (e, unit) in {**_outputs(mechanism, motion), **details.pop("outputs", {})}.items()
    }
    for k in range(n):
        if k not in kept:
            outputs[mechanism.coordinates[k].rate] = (motion.velocity[k], mechanism.coordinates[k].rate_unit)
    return System(
        name=mechanism.name,
        time=mechanism.time,
        x=casadi.vertcat(mechanism.q, mechanism.v[kept]),
        states=(*variables[:n], *(variables[n + k] for k in kept)),
        rate=closed(casadi.vertcat(motion.velocity, motion.acceleration[kept])),
        p=casadi.vertcat(*[c.symbol for c in quantities]) if quantities else casadi.SX(0, 1),
        parameters=tuple(Variable(c.name, c.value, c.unit) for c in quantities),
        invariants=_invariants(mechanism, closed, reduced=reduced, penalized=penalized),
        outputs=outputs,
        through_reactions=build if mechanism.rows and not (reduced or penalized) else None,
        mechanism=mechanism,
        **details,
    )


def _outputs(mechanism: Mechanism, motion: Motion) -> dict[str, tuple[casadi.SX, str]]:
    total = mechanism.directions @ motion.reactions if mechanism.rows else casadi.SX(len(mechanism.coordinates), 1)
    # What changes the energy: forces, reactions of driven constraints, explicit time.
    power = casadi.dot(mechanism.force + total, mechanism.v) - casadi.jacobian(mechanism.lagrangian, mechanism.time)
    found = {"energy": (mechanism.energy, "J"), "power": (power, "W")}
    for row, constraint in enumerate(mechanism.rows):
        found[f"reaction_{constraint.name}"] = (motion.reactions[row], "")
    if mechanism.rows:
        for k, c in enumerate(mechanism.coordinates):
            found[f"reaction_{c.name}"] = (total[k], {"m": "N", "rad": "N m"}.get(c.unit, ""))
    return found


def _invariants(mechanism: Mechanism, closed: Any, *, reduced: bool, penalized: bool) -> tuple[Invariant, ...]:
    found = []
    if not penalized:
        # With dependent velocities eliminated the rate of a position condition is zero at any state: only its value drifts.
        found += [Invariant(c.name, closed(c.expression), 1 if reduced else 2) for c in mechanism.holonomic]
        found += [] if reduced else [Invariant(c.name, closed(c.expression), 1) for c in mechanism.nonholonomic]
    if mechanism.undriven and closed(mechanism.force).is_zero() and not penalized:
        found.append(Invariant("energy", closed(mechanism.energy), 0))
    return tuple(found)
