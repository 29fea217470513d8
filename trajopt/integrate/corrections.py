"""Stabilization without reactions: corrected rates, or projection after each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import casadi
import numpy as np

from trajopt.errors import ModelError, SimulationError, UsageError, suggest
from trajopt.integrate.deviations import Deviations, deviations
from trajopt.integrate.rates import function_of_state, total_derivative
from trajopt.integrate.stabilize import Gained, Guard, Stabilization, StabilizedSystem, chosen
from trajopt.system import Event, System

PROJECTION_STEPS = (
    3  # Gauss-Newton steps, quadratically convergent from the local error of one step
)
ROW_DAMPING = 1e-14  # relative regularization, for stationary points of an invariant
COSTATE_PREFIXES = ("costate_", "lam_", "lambda_", "momentum_")


@dataclass(frozen=True)
class _Decay(Gained):
    """dy/dt = -gain y for chosen invariants by corrected rates; settings as in ``MinimumNorm``."""

    only: tuple[str, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)

    def deviations(self, system: System) -> Deviations:
        return deviations(system, self.only, self.targets)

    def matrix(self, system: System) -> np.ndarray | None:
        return self._diagonal(self.deviations(system).y.numel())

    def _missing(self, system: System, y: casadi.SX) -> casadi.SX:
        """Return the required change of the deviations' rates: K y - dy/dt along the uncorrected
        motion.
        """
        missing: casadi.SX = casadi.DM(self._diagonal(y.numel())) @ y - total_derivative(
            y, system.time, system.x, system.rate
        )
        return missing

    def _diagonal(self, rows: int) -> np.ndarray:
        if not isinstance(self.gain, tuple):
            return -chosen(self.gain) * np.eye(rows)
        if len(self.gain) != rows:
            raise UsageError(
                "the number of gains differs from the number of deviations",
                got=f"{len(self.gain)} gains",
                expected=f"{rows}, one for each row",
            )
        return -np.diag(np.array(self.gain, dtype=float))


@dataclass(frozen=True)
class MinimumNorm(_Decay):
    """The minimum-norm change of the rates with dy/dt = -gain y: x' = f + Y^+ (K y - y_t - Y f), Y
    = dy/dx.

    ``gain`` is one number or one per row of the deviations; ``only`` selects invariants by name;
    ``targets`` sets values of first integrals that differ from their initial values.

    >>> from problems.lecture import pendulum
    >>> from trajopt.integrate import Euler, simulate
    >>> runs = [simulate(pendulum(), Euler(0.01), until=5, stabilization=way) for way in (None,
    ...     MinimumNorm(10.0))]
    >>> runs[1].drift["energy"].max < runs[0].drift["energy"].max / 10
    True
    """

    @property
    def name(self) -> str:
        return "minimum-norm"

    def prepare(self, system: System) -> StabilizedSystem:
        y = self.deviations(system).y
        change = least_change(casadi.jacobian(y, system.x), self._missing(system, y))
        return StabilizedSystem(replace(system, rate=system.rate + change, through_reactions=None))


def least_change(Y: casadi.SX, wanted: casadi.SX) -> casadi.SX:
    """Return the minimum-norm d with Y d = wanted; rows are scaled to unit length for invariance to
    units.
    """
    size = casadi.sqrt(casadi.sum2(Y**2) + 1e-300)
    rows, target = Y / casadi.repmat(size, 1, Y.shape[1]), wanted / size
    normal = rows @ rows.T + ROW_DAMPING * casadi.SX.eye(Y.shape[0])
    return rows.T @ casadi.solve(casadi.densify(normal), target)


@dataclass(frozen=True)
class ExtendedHamiltonian(_Decay):
    """Canonical equations of H + gamma . g instead of H, with gamma such that dy/dt = -gain y.

    gamma follows from the brackets {g_i, g_j}; the run stops with an error if their matrix becomes
    singular. ``pairs`` lists the canonical pairs (state, costate); by default a state ``x`` and
    ``costate_x`` (or ``lam_x``) form a pair. ``gain``, ``only`` and ``targets`` are as in
    ``MinimumNorm``.
    """

    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return "extended Hamiltonian"

    def prepare(self, system: System) -> StabilizedSystem:
        y = self.deviations(system).y
        J = self._symplectic(system)
        Y = casadi.jacobian(y, system.x)
        brackets = casadi.densify(Y @ J @ Y.T)  # {y_i, y_j} = y_x g_lam - y_lam g_x
        guard = self._guard(system, brackets)
        gamma = casadi.solve(brackets, self._missing(system, y))
        return StabilizedSystem(
            replace(system, rate=system.rate + J @ Y.T @ gamma, through_reactions=None),
            guards=(guard,),
        )

    def _guard(self, system: System, brackets: casadi.SX) -> Guard:
        """Return a guard that stops the run if the matrix of brackets becomes singular."""
        names = ", ".join(self.only or (i.name for i in system.invariants))
        rows = brackets.shape[0]
        if rows % 2:
            raise ModelError(
                "the extended Hamiltonian needs an even number of first integrals",
                got=f"{rows} ({names})",
                hint="antisymmetric matrices of odd size are singular; exclude one by only=(...), "
                "or use MinimumNorm()",
            )
        lost = SimulationError(
            f"the bracket of {names} vanishes: the extended Hamiltonian cannot act here",
            hint="MinimumNorm() is regular at such points",
        )
        determinant = casadi.det(brackets)
        at_start = float(system.function(determinant)(0.0, system.start, system.parameter_values))
        if not abs(at_start) > 1e-24:
            raise lost
        # The determinant is the square of the Pfaffian: the run stops at a thousandth of the
        # initial bracket.
        return Guard(
            Event("bracket vanishes", determinant / at_start - 1e-6, direction=-1, terminal=True),
            lost,
        )

    def _symplectic(self, system: System) -> casadi.SX:
        names = [s.name for s in system.states]
        pairs = self.pairs or tuple(
            (n, p + n) for n in names for p in COSTATE_PREFIXES if p + n in names
        )
        if not pairs:
            raise ModelError(
                f"system '{system.name}' is not canonical",
                got=", ".join(names),
                expected="states in pairs: x and costate_x",
                hint="give pairs=((state, costate), ...), or use MinimumNorm()",
            )
        J = casadi.SX(len(names), len(names))
        for state, costate in pairs:
            for name in (state, costate):
                if name not in names:
                    raise UsageError(
                        f"system '{system.name}' has no state '{name}'", hint=suggest(name, names)
                    )
            i, j = names.index(state), names.index(costate)
            J[i, j], J[j, i] = 1, -1
        return J


@dataclass(frozen=True)
class Projection(Stabilization):
    """Projection onto y = 0 after each step, by minimum-norm Gauss-Newton steps.

    >>> from problems.lecture import pendulum
    >>> from trajopt.integrate import Heun, simulate
    >>> simulate(pendulum(), Heun(0.01), until=5,
    ...     stabilization=Projection()).drift["energy"].max < 1e-14
    True
    """

    only: tuple[str, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return "projection"

    def deviations(self, system: System) -> Deviations:
        return deviations(system, self.only, self.targets)

    def prepare(self, system: System) -> StabilizedSystem:
        return StabilizedSystem(system, project=projection(system, self.deviations(system).y))

    def matrix(self, system: System) -> np.ndarray | None:
        return None


def projection(system: System, y: casadi.SX) -> casadi.Function:
    """Return the function (t, x) -> projection of x onto y = 0."""
    once = function_of_state(system, system.x + least_change(casadi.jacobian(y, system.x), -y))
    t, x = casadi.SX.sym("t"), casadi.SX.sym("x", system.x.numel())
    projected = x
    for _ in range(PROJECTION_STEPS):
        projected = once(t, projected)
    return casadi.Function("project", [t, x], [projected])
