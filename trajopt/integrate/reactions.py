"""Stabilization through reactions: constraint forces that drive a mechanism back to its
constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from trajopt.errors import ModelError, UsageError
from trajopt.integrate.deviations import Deviations, deviations
from trajopt.integrate.rates import function_of_state, total_derivative
from trajopt.integrate.stabilize import Gained, Stabilization, StabilizedSystem, chosen
from trajopt.system import Law, System, Variable


@dataclass(frozen=True)
class Baumgarte(Gained):
    """h'' = -2 a h' - a^2 h for position conditions, f' = -a f for velocity conditions, with the
    gain a.

    The stages of a fixed-step scheme deviate from the manifold more than the whole step does. A law
    that acts at the stages responds to that with a force proportional to the gain. Therefore the
    deviation is sampled at the beginning of a step, and the law is integrated from there
    (``sampled``): a step still multiplies deviations by R(tau K), its local error does not depend
    on the gain, and with gains of the order of 1/tau the drift is close to the error of a single
    step.

    >>> from problems.lecture import pendulum_cartesian
    >>> from trajopt.integrate import Rk4, simulate
    >>> runs = [simulate(pendulum_cartesian(), Rk4(0.01), until=5, stabilization=way)
    ...     for way in (None, Baumgarte(100.0))]
    >>> runs[1].drift["rod"].max < runs[0].drift["rod"].max / 100
    True
    """

    gain: float | None = None

    @property
    def name(self) -> str:
        return "baumgarte"

    def deviations(self, system: System) -> Deviations:
        return _reaching(system)

    def prepare(self, system: System) -> StabilizedSystem:
        a = chosen(self.gain)

        def law(y: casadi.SX, y_rate: casadi.SX, order: int) -> casadi.SX:
            return -2 * a * y_rate - a**2 * y if order == 2 else -a * y

        return StabilizedSystem(_through_reactions(system, law))

    def sampled(self, system: System) -> StabilizedSystem | None:
        a = chosen(self.gain)
        h, f = _stacked(system, 2), _stacked(system, 1)
        k, m = h.numel(), f.numel()
        y = casadi.vertcat(h, total_derivative(h, system.time, system.x, system.rate), f)
        held = casadi.vertcat(
            casadi.SX(0, 1), *(casadi.SX.sym(f"held{i}") for i in range(2 * k + m))
        )
        wanted = casadi.DM(block_diag(_critical(a, k), -a * np.eye(m))) @ held

        def law(y: casadi.SX, y_rate: casadi.SX, order: int) -> casadi.SX:
            return wanted[k : 2 * k] if order == 2 else wanted[2 * k :]

        return _carried(system, _through_reactions(system, law, held), y, held, wanted)

    def matrix(self, system: System) -> np.ndarray | None:
        """Return K in the order of ``deviations``, without first integrals, on which reactions do
        not act.
        """
        a = chosen(self.gain)
        sizes = [(i.order, i.expression.numel()) for i in system.invariants if i.order > 0]
        return np.asarray(
            block_diag(
                np.zeros((0, 0)),
                *(_critical(a, n) if order == 2 else -a * np.eye(n) for order, n in sizes),
            )
        )


def _critical(a: float, rows: int) -> np.ndarray:
    """Return K of (h, h') for h'' = -2 a h' - a^2 h: critically damped, both eigenvalues at -a."""
    return np.kron(np.array([[0.0, 1.0], [-(a**2), -2 * a]]), np.eye(rows))


@dataclass(frozen=True, eq=False)
class LinearLaw(Stabilization):
    """The general linear form through reactions: h'' = A h + B h' + C f, f' = D h' + E f, with
    matrices A to E (None is zero).

    For A, B and E a list is a diagonal, a gain for each condition, and a number is one for all.

    >>> from problems.lecture import pendulum_cartesian
    >>> LinearLaw(A=-100, B=[-20]).matrix(pendulum_cartesian()).tolist()
    [[0.0, 1.0], [-100.0, -20.0]]
    """

    A: ArrayLike | None = None
    B: ArrayLike | None = None
    C: ArrayLike | None = None
    D: ArrayLike | None = None
    E: ArrayLike | None = None

    @property
    def label(self) -> str:
        return "linear law"

    def deviations(self, system: System) -> Deviations:
        return _reaching(system)

    def prepare(self, system: System) -> StabilizedSystem:
        A, B, C, D, E = self._blocks(system)
        h, f = _stacked(system, 2), _stacked(system, 1)
        h_rate = total_derivative(h, system.time, system.x, system.rate)

        def law(y: casadi.SX, y_rate: casadi.SX, order: int) -> Any:
            return A @ y + B @ y_rate + C @ f if order == 2 else D @ h_rate + E @ y

        return StabilizedSystem(_through_reactions(system, law))

    def matrix(self, system: System) -> np.ndarray | None:
        A, B, C, D, E = self._blocks(system)
        k, m = A.shape[0], E.shape[0]
        top = np.hstack([np.zeros((k, k)), np.eye(k), np.zeros((k, m))])
        return np.vstack([top, np.hstack([A, B, C]), np.hstack([np.zeros((m, k)), D, E])])

    def _blocks(self, system: System) -> list[np.ndarray]:
        k, m = _stacked(system, 2).numel(), _stacked(system, 1).numel()
        shapes = {"A": (k, k), "B": (k, k), "C": (k, m), "D": (m, k), "E": (m, m)}
        blocks = []
        for name, shape in shapes.items():
            given = getattr(self, name)
            block = np.zeros(shape) if given is None else np.asarray(given, dtype=float)
            if block.ndim == 0 and name in "ABE":
                block = block * np.eye(shape[0])
            elif block.ndim == 1 and name in "ABE":
                block = np.diag(block)
            block = np.atleast_2d(block)
            if block.shape != shape:
                raise UsageError(
                    f"the matrix {name} of the linear law does not fit '{system.name}'",
                    got=block.shape,
                    expected=shape,
                )
            blocks.append(block)
        return blocks


@dataclass(frozen=True)
class NonlinearLaw(Stabilization):
    """Any law through reactions: ``law(y, y_rate, order)`` returns y'' (order 2) or y' (order 1);
    it must vanish at zero.
    """

    law: Law

    @property
    def label(self) -> str:
        return "nonlinear law"

    def deviations(self, system: System) -> Deviations:
        return _reaching(system)

    def prepare(self, system: System) -> StabilizedSystem:
        for order, count in _reacting(system):
            zero = casadi.SX.zeros(count, 1)
            wanted = casadi.evalf(casadi.SX(self.law(zero, zero, order)))
            if not np.allclose(np.asarray(wanted), 0, atol=1e-14):
                raise UsageError(
                    "the stabilization law does not vanish at zero",
                    got=wanted,
                    expected="law(0, 0, order) = 0",
                )
        return StabilizedSystem(_through_reactions(system, self.law))

    def matrix(self, system: System) -> np.ndarray | None:
        """Return the linearization at zero."""
        h, v, f = (
            casadi.SX.sym(name, dict(_reacting(system)).get(order, 0))
            for name, order in (("h", 2), ("v", 2), ("f", 1))
        )
        top = self.law(h, v, 2) if h.numel() else h
        bottom = self.law(f, casadi.SX.zeros(f.numel(), 1), 1) if f.numel() else f
        y = casadi.vertcat(h, v, f)
        K = casadi.Function("K", [y], [casadi.jacobian(casadi.vertcat(v, top, bottom), y)])
        return np.array(K(np.zeros(y.numel())))


def _through_reactions(system: System, law: Law, held: casadi.SX | None = None) -> System:
    if system.through_reactions is None:
        raise ModelError(
            f"system '{system.name}' has no reactions for stabilization",
            hint="use MinimumNorm() or Projection() (--stabilize minimum-norm)"
            if system.invariants
            else "run it without stabilization",
        )
    rebuild: Any = system.through_reactions
    stabilized: System = rebuild(law) if held is None else rebuild(law, held)
    # The initial values may have changed after the mechanism was built.
    extra = stabilized.parameters[len(system.parameters) :]
    return replace(stabilized, states=system.states, parameters=(*system.parameters, *extra))


def _carried(
    system: System, driven: System, y: casadi.SX, held: casadi.SX, held_rate: casadi.SX
) -> StabilizedSystem:
    """Return a system with additional states ``held``: deviations that are set to y after each step
    and follow their law.
    """
    n = system.x.numel()
    renewed = function_of_state(system, casadi.vertcat(system.x, y))
    start = np.asarray(renewed(0.0, system.start)).ravel()[n:]
    x = casadi.vertcat(system.x, held)
    carried = replace(
        driven,
        x=x,
        states=(
            *system.states,
            *(
                Variable(str(s), float(v))
                for s, v in zip(casadi.vertsplit(held), start, strict=True)
            ),
        ),
        rate=casadi.vertcat(driven.rate, held_rate),
        p=system.p,
        parameters=system.parameters,
        events=tuple(
            replace(e, reset=renewed(system.time, e.reset)) if isinstance(e.reset, casadi.SX) else e
            for e in driven.events
        ),
        through_reactions=None,
    )
    return StabilizedSystem(
        carried,
        project=casadi.Function("project", [system.time, x], [renewed(system.time, system.x)]),
        own=n,
    )


def _reaching(system: System) -> Deviations:
    """Return the deviations of constraints, without those of first integrals."""
    return deviations(system, [i.name for i in system.invariants if i.order > 0])


def _stacked(system: System, order: int) -> casadi.SX:
    return casadi.vertcat(
        casadi.SX(0, 1), *(i.expression for i in system.invariants if i.order == order)
    )


def _reacting(system: System) -> list[tuple[int, int]]:
    """Return (order, number of rows) of the invariants on which reactions act."""
    found = [(order, _stacked(system, order).numel()) for order in (2, 1)]
    return [(order, count) for order, count in found if count]
