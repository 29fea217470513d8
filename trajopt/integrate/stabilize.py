"""Stabilization: dy/dt = K y for the deviations y of any set of invariants, and the ways to realise it.

Through reactions        ``Baumgarte``, ``LinearLaw``, ``NonlinearLaw``: constraint forces that pull back; mechanisms only.
Minimum-norm correction  ``MinimumNorm``: the smallest change of the rates; works always.
Extended Hamiltonian     ``ExtendedHamiltonian``: H + gamma g; canonical systems, while the integrals' bracket is not zero.
Projection               ``Projection``: back on the manifold after each step.

For a position condition h the deviations are h and h', for a velocity condition f, for a first integral g - g(start).
Stabilization restores these, not the trajectory: a motion that has left the true one stays on the level set, not on the
motion.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import casadi
import numpy as np

from trajopt.errors import ModelError, SimulationError, UsageError, suggest
from trajopt.integrate.deviations import Deviations, deviations
from trajopt.integrate.deviations import deviation as deviation  # plots of drift find it here
from trajopt.integrate.rates import total_derivative
from trajopt.integrate.steppers import positive
from trajopt.system import Event, Law, System, Variable

PROJECTION_STEPS = 3  # Gauss-Newton steps; each squares a deviation that is already of the size of one step's error
ROW_DAMPING = 1e-14  # relative; keeps the correction finite where an invariant is stationary


@dataclass(frozen=True)
class Guard:
    """An event that must not happen, and what to say when it does."""

    event: Event
    error: SimulationError


@dataclass(frozen=True)
class Prepared:
    """A system made ready: its stabilized rates, a projection for after each step, and what must not happen.

    States after the first ``own`` serve the stabilization only (None: all states are the system's).
    """

    system: System
    project: casadi.Function | None = None
    guards: tuple[Guard, ...] = ()
    own: int | None = None


class Stabilization(abc.ABC):
    """A way to keep the invariants of a system."""

    lacks_gain = False  # whether a gain has yet to be chosen

    def with_gain(self, gain: float) -> Stabilization:
        """The same with a gain."""
        raise UsageError("this stabilization has no gain to choose", got=self.label)

    @abc.abstractmethod
    def deviations(self, system: System) -> Deviations:
        """What it drives to zero."""

    @abc.abstractmethod
    def prepare(self, system: System) -> Prepared:
        """The system with stabilized invariants."""

    def sampled(self, system: System) -> Prepared | None:
        """The same for a scheme with stages, acting on the deviation at the beginning of each step; None where it cannot."""
        return None

    @abc.abstractmethod
    def matrix(self, system: System) -> np.ndarray | None:
        """K of dy/dt = K y, where there is one; it meets the step in ``gains.check_gain``."""

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """A name with its settings, for reports."""


# Through reactions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Baumgarte(Stabilization):
    """h'' = -2 a h' - a^2 h for position conditions, f' = -a f for velocity conditions, with the gain a in 1/s.

    Without a gain the one that suits step and scheme is taken (``recommended_gain``).

    A scheme of fixed step with several stages leaves the manifold inside a step by more than it does with the whole step. It
    would answer to that with a force, and the more so the higher the gain. So the deviation is taken at the beginning of a
    step, and the law is followed from there (``sampled``): a step multiplies deviations by R(tau K) all the same, its own error
    does not depend on the gain, and gains of the order of 1/tau leave hardly more than the error of a single step.
    """

    gain: float | None = None

    def __post_init__(self) -> None:
        _check(self.gain)

    @property
    def lacks_gain(self) -> bool:  # type: ignore[override]
        return self.gain is None

    def with_gain(self, gain: float) -> Stabilization:
        return replace(self, gain=gain)

    @property
    def label(self) -> str:
        return _label("baumgarte", self.gain)

    def deviations(self, system: System) -> Deviations:
        return _reaching(system)

    def prepare(self, system: System) -> Prepared:
        a = _set(self.gain)

        def law(y: casadi.SX, y_rate: casadi.SX, order: int) -> casadi.SX:
            return -2 * a * y_rate - a**2 * y if order == 2 else -a * y

        return Prepared(_through_reactions(system, law))

    def sampled(self, system: System) -> Prepared | None:
        a = _set(self.gain)
        h, f = _stacked(system, 2), _stacked(system, 1)
        k, m = h.numel(), f.numel()
        y = casadi.vertcat(h, total_derivative(h, system.time, system.x, system.rate), f)
        held = casadi.vertcat(casadi.SX(0, 1), *(casadi.SX.sym(f"held{i}") for i in range(2 * k + m)))
        K = _block_diagonal(np.kron(np.array([[0.0, 1.0], [-(a**2), -2 * a]]), np.eye(k)), -a * np.eye(m))
        wanted = casadi.DM(K) @ held

        def law(y: casadi.SX, y_rate: casadi.SX, order: int) -> casadi.SX:
            return wanted[k : 2 * k] if order == 2 else wanted[2 * k :]

        return _carried(system, _through_reactions(system, law, held), y, held, wanted)

    def matrix(self, system: System) -> np.ndarray | None:
        """In the order of ``deviations`` without the first integrals, which reactions do not reach."""
        a = _set(self.gain)
        K = np.zeros((0, 0))
        for invariant in system.invariants:
            one = np.eye(invariant.expression.numel())
            if invariant.order == 2:
                K = _block_diagonal(K, np.kron(np.array([[0.0, 1.0], [-(a**2), -2 * a]]), one))
            elif invariant.order == 1:
                K = _block_diagonal(K, -a * one)
        return K


@dataclass(frozen=True, eq=False)
class LinearLaw(Stabilization):
    """The general linear form through reactions: h'' = A h + B h' + C f, f' = D h' + E f, with matrices A to E (None is zero)."""

    A: np.ndarray | None = None
    B: np.ndarray | None = None
    C: np.ndarray | None = None
    D: np.ndarray | None = None
    E: np.ndarray | None = None

    @property
    def label(self) -> str:
        return "linear law"

    def deviations(self, system: System) -> Deviations:
        return _reaching(system)

    def prepare(self, system: System) -> Prepared:
        A, B, C, D, E = self._blocks(system)
        h, f = _stacked(system, 2), _stacked(system, 1)
        h_rate = total_derivative(h, system.time, system.x, system.rate)

        def law(y: casadi.SX, y_rate: casadi.SX, order: int) -> Any:
            return A @ y + B @ y_rate + C @ f if order == 2 else D @ h_rate + E @ y

        return Prepared(_through_reactions(system, law))

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
            block = np.zeros(shape) if given is None else np.atleast_2d(np.asarray(given, dtype=float))
            if block.shape != shape:
                raise UsageError(
                    f"the matrix {name} of the linear law does not fit '{system.name}'", got=block.shape, expected=shape
                )
            blocks.append(block)
        return blocks


@dataclass(frozen=True)
class NonlinearLaw(Stabilization):
    """Any law through reactions: ``law(y, y_rate, order)`` gives y'' (order 2) or y' (order 1), zero where its arguments are."""

    law: Law

    @property
    def label(self) -> str:
        return "nonlinear law"

    def deviations(self, system: System) -> Deviations:
        return _reaching(system)

    def prepare(self, system: System) -> Prepared:
        for order, count in _reacting(system):
            y = casadi.SX.sym("y", count)
            zero = np.zeros(count)
            wanted = casadi.Function("law", [y], [casadi.densify(casadi.SX(self.law(casadi.SX(zero), casadi.SX(zero), order)))])(
                zero
            )
            if not np.allclose(np.asarray(wanted), 0, atol=1e-14):
                raise UsageError("the stabilization law does not vanish at zero", got=wanted, expected="law(0, 0, order) = 0")
        return Prepared(_through_reactions(system, self.law))

    def matrix(self, system: System) -> np.ndarray | None:
        """Its linearization at zero."""
        h, v, f = (casadi.SX.sym(name, dict(_reacting(system)).get(order, 0)) for name, order in (("h", 2), ("v", 2), ("f", 1)))
        top = self.law(h, v, 2) if h.numel() else h
        bottom = self.law(f, casadi.SX.zeros(f.numel(), 1), 1) if f.numel() else f
        y = casadi.vertcat(h, v, f)
        K = casadi.Function("K", [y], [casadi.jacobian(casadi.vertcat(v, top, bottom), y)])
        return np.array(K(np.zeros(y.numel())))


def _through_reactions(system: System, law: Law, held: casadi.SX | None = None) -> System:
    if system.through_reactions is None:
        raise ModelError(
            f"system '{system.name}' has no reactions to stabilize it through",
            hint="use the minimum-norm correction or projection" if system.invariants else "run it without stabilization",
        )
    rebuild: Any = system.through_reactions
    stabilized: System = rebuild(law) if held is None else rebuild(law, held)
    # The start may have been changed after the mechanism was built.
    extra = stabilized.parameters[len(system.parameters) :]
    return replace(stabilized, states=system.states, parameters=(*system.parameters, *extra))


def _carried(system: System, driven: System, y: casadi.SX, held: casadi.SX, held_rate: casadi.SX) -> Prepared:
    """A system driven by ``held`` deviations: states that follow their law from the value y that they get after each step."""
    n = system.x.numel()
    measured = casadi.substitute(casadi.densify(y), system.p, casadi.DM(system.parameter_values))
    renewed = casadi.Function("renewed", [system.time, system.x], [casadi.vertcat(system.x, measured)])
    start = np.asarray(renewed(0.0, system.start)).ravel()[n:]
    x = casadi.vertcat(system.x, held)
    carried = replace(
        driven,
        x=x,
        states=(*system.states, *(Variable(str(s), float(v)) for s, v in zip(casadi.vertsplit(held), start, strict=True))),
        rate=casadi.vertcat(driven.rate, held_rate),
        p=system.p,
        parameters=system.parameters,
        events=tuple(e if e.reset is None else replace(e, reset=renewed(system.time, e.reset)) for e in driven.events),
        through_reactions=None,
    )
    return Prepared(carried, project=casadi.Function("project", [system.time, x], [renewed(system.time, system.x)]), own=n)


def _reaching(system: System) -> Deviations:
    """The deviations that reactions reach: not those of first integrals."""
    return deviations(system, [i.name for i in system.invariants if i.order > 0])


def _stacked(system: System, order: int) -> casadi.SX:
    return casadi.vertcat(casadi.SX(0, 1), *(i.expression for i in system.invariants if i.order == order))


def _reacting(system: System) -> list[tuple[int, int]]:
    """(order, number of rows) of the invariants that reactions can reach."""
    found = [(order, _stacked(system, order).numel()) for order in (2, 1)]
    return [(order, count) for order, count in found if count]


# On the rates ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MinimumNorm(Stabilization):
    """The smallest change of the rates that gives dy/dt = -gain y: x' = f + Y^+ (K y - y_t - Y f), Y = dy/dx.

    ``gain`` may be one number or one for each row of the deviations; ``only`` names invariants, all by default; ``targets`` gives
    first integrals other values than their starting ones.
    """

    gain: float | tuple[float, ...] | None = None
    only: tuple[str, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self.gain)

    @property
    def lacks_gain(self) -> bool:  # type: ignore[override]
        return self.gain is None

    def with_gain(self, gain: float) -> Stabilization:
        return replace(self, gain=gain)

    @property
    def label(self) -> str:
        return _label("minimum-norm", self.gain)

    def deviations(self, system: System) -> Deviations:
        return deviations(system, self.only, self.targets)

    def prepare(self, system: System) -> Prepared:
        y = self.deviations(system).y
        K = casadi.DM(_diagonal(self.gain, y.numel()))
        wanted = K @ y - total_derivative(y, system.time, system.x, system.rate)
        return Prepared(
            replace(system, rate=system.rate + least_change(casadi.jacobian(y, system.x), wanted), through_reactions=None)
        )

    def matrix(self, system: System) -> np.ndarray | None:
        return _diagonal(self.gain, self.deviations(system).y.numel())


def least_change(Y: casadi.SX, wanted: casadi.SX) -> casadi.SX:
    """The shortest d with Y d = wanted; rows are scaled to equal length first, so that units do not matter."""
    size = casadi.sqrt(casadi.sum2(Y**2) + 1e-300)
    rows, target = Y / casadi.repmat(size, 1, Y.shape[1]), wanted / size
    normal = rows @ rows.T + ROW_DAMPING * casadi.SX.eye(Y.shape[0])
    return rows.T @ casadi.solve(casadi.densify(normal), target)


PREFIXES = ("costate_", "lam_", "lambda_", "momentum_")


@dataclass(frozen=True)
class ExtendedHamiltonian(Stabilization):
    """Canonical equations of H + gamma . g instead of H, with gamma such that dy/dt = -gain y.

    gamma follows from the brackets {g_i, g_j}; the run stops with an error where their matrix becomes singular. ``pairs``
    names the canonical pairs (state, costate); by default a state ``x`` and its ``costate_x`` (or ``lam_x``) are a pair.
    """

    gain: float | tuple[float, ...] | None = None
    only: tuple[str, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        _check(self.gain)

    @property
    def lacks_gain(self) -> bool:  # type: ignore[override]
        return self.gain is None

    def with_gain(self, gain: float) -> Stabilization:
        return replace(self, gain=gain)

    @property
    def label(self) -> str:
        return _label("extended Hamiltonian", self.gain)

    def deviations(self, system: System) -> Deviations:
        return deviations(system, self.only, self.targets)

    def prepare(self, system: System) -> Prepared:
        y = self.deviations(system).y
        J = self._symplectic(system)
        Y = casadi.jacobian(y, system.x)
        brackets = Y @ J @ Y.T  # {y_i, y_j} = y_x g_lam - y_lam g_x
        names = ", ".join(self.only or (i.name for i in system.invariants))
        if y.numel() % 2:
            raise ModelError(
                "the extended Hamiltonian needs an even number of first integrals",
                got=f"{y.numel()} ({names})",
                hint="antisymmetric brackets of odd size are singular; leave one out, or use the minimum-norm correction",
            )
        determinant = casadi.det(casadi.densify(brackets))
        at_start = float(system.function(determinant)(0.0, system.start, system.parameter_values))
        lost = SimulationError(
            f"the bracket of {names} vanishes: the extended Hamiltonian cannot act here",
            hint="the minimum-norm correction works through such points",
        )
        if not abs(at_start) > 1e-24:
            raise lost
        K = casadi.DM(_diagonal(self.gain, y.numel()))
        wanted = K @ y - total_derivative(y, system.time, system.x, system.rate)
        gamma = casadi.solve(casadi.densify(brackets), wanted)
        # det is the square of the Pfaffian: the bracket is stopped at a thousandth of where it started.
        guard = Event("bracket vanishes", determinant / at_start - 1e-6, direction=-1, terminal=True)
        return Prepared(replace(system, rate=system.rate + J @ Y.T @ gamma, through_reactions=None), guards=(Guard(guard, lost),))

    def matrix(self, system: System) -> np.ndarray | None:
        return _diagonal(self.gain, self.deviations(system).y.numel())

    def _symplectic(self, system: System) -> casadi.SX:
        names = [s.name for s in system.states]
        pairs = self.pairs or tuple((n, p + n) for n in names for p in PREFIXES if p + n in names)
        if not pairs:
            raise ModelError(
                f"system '{system.name}' is not canonical",
                got=", ".join(names),
                expected="states in pairs: x and costate_x",
                hint="name them by pairs=((state, costate), ...), or use the minimum-norm correction",
            )
        J = casadi.SX(len(names), len(names))
        for state, costate in pairs:
            for name in (state, costate):
                if name not in names:
                    raise UsageError(f"system '{system.name}' has no state '{name}'", hint=suggest(name, names))
            i, j = names.index(state), names.index(costate)
            J[i, j], J[j, i] = 1, -1
        return J


@dataclass(frozen=True)
class Projection(Stabilization):
    """After each step the shortest way back to y = 0, by Gauss-Newton steps of least length."""

    only: tuple[str, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return "projection"

    def deviations(self, system: System) -> Deviations:
        return deviations(system, self.only, self.targets)

    def prepare(self, system: System) -> Prepared:
        return Prepared(system, project=projection(system, self.deviations(system).y))

    def matrix(self, system: System) -> np.ndarray | None:
        return None


def projection(system: System, y: casadi.SX) -> casadi.Function:
    """(t, x) -> the point of y = 0 next to x."""
    y = casadi.substitute(y, system.p, casadi.DM(system.parameter_values))
    once = casadi.Function("once", [system.time, system.x], [system.x + least_change(casadi.jacobian(y, system.x), -y)])
    t, x = casadi.SX.sym("t"), casadi.SX.sym("x", system.x.numel())
    projected = x
    for _ in range(PROJECTION_STEPS):
        projected = once(t, projected)
    return casadi.Function("project", [t, x], [projected])


# Gains ----------------------------------------------------------------------------------------------------------------------


def _check(gain: float | tuple[float, ...] | None) -> None:
    for value in gain if isinstance(gain, tuple) else () if gain is None else (gain,):
        positive(value, "gain")


def _set(gain: float | None) -> float:
    if gain is None:
        raise UsageError("the stabilization has no gain", hint="give one, or let simulate choose it from step and scheme")
    return gain


def _diagonal(gain: float | tuple[float, ...] | None, rows: int) -> np.ndarray:
    if isinstance(gain, tuple):
        if len(gain) != rows:
            raise UsageError(
                "the gains do not fit the deviations", got=f"{len(gain)} gains", expected=f"{rows}, one for each row"
            )
        return -np.diag(np.array(gain, dtype=float))
    return -_set(gain) * np.eye(rows)


def _block_diagonal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.zeros((a.shape[0] + b.shape[0], a.shape[1] + b.shape[1]))
    out[: a.shape[0], : a.shape[1]], out[a.shape[0] :, a.shape[1] :] = a, b
    return out


def _label(name: str, gain: float | tuple[float, ...] | None) -> str:
    return name if gain is None else f"{name}, gain {gain:g}" if not isinstance(gain, tuple) else f"{name}, gains {gain}"
