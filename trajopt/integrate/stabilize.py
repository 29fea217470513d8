"""Stabilization: dy/dt = K y for the deviations y of any set of invariants; the interface of all
methods.

Through reactions        ``Baumgarte``, ``LinearLaw``, ``NonlinearLaw``: mechanisms.
Minimum-norm correction  ``MinimumNorm``: the minimum-norm change of the rates; any system.
Extended Hamiltonian     ``ExtendedHamiltonian``: H + gamma g; canonical systems.
Projection               ``Projection``: projection onto the manifold after each step.

For a position condition h the deviations are h and h', for a velocity condition f, for a first
integral g - g(start). Stabilization restores these, not the trajectory: a motion that has departed
from the true one stays on the level set, not on the true motion.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, replace

import casadi
import numpy as np

from trajopt.errors import SimulationError, UsageError
from trajopt.integrate.deviations import Deviations
from trajopt.integrate.fixed_step import positive
from trajopt.system import Event, System


@dataclass(frozen=True)
class Guard:
    """An event that must not occur, and the error to raise if it does."""

    event: Event
    error: SimulationError


@dataclass(frozen=True)
class StabilizedSystem:
    """A system with stabilized rates, a projection after each step, and guards.

    States after the first ``own`` belong to the stabilization (None: all states belong to the
    system).
    """

    system: System
    project: casadi.Function | None = None
    guards: tuple[Guard, ...] = ()
    own: int | None = None


class Stabilization(abc.ABC):
    """Abstract method of stabilizing the invariants of a system."""

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """Name and settings, for reports."""

    @property
    def lacks_gain(self) -> bool:
        """True if the gain is not set."""
        return False

    def with_gain(self, gain: float) -> Stabilization:
        """Return a copy with this gain."""
        raise UsageError("this stabilization has no gain", got=self.label)

    @abc.abstractmethod
    def deviations(self, system: System) -> Deviations:
        """Return the deviations that are driven to zero."""

    @abc.abstractmethod
    def prepare(self, system: System) -> StabilizedSystem:
        """Return the system with stabilized invariants."""

    def sampled(self, system: System) -> StabilizedSystem | None:
        """Return the system stabilized by the deviation at the beginning of each step; None if not
        supported.
        """
        return None

    @abc.abstractmethod
    def matrix(self, system: System) -> np.ndarray | None:
        """Return K of dy/dt = K y, or None; ``gains.check_gain`` checks it against the step."""


@dataclass(frozen=True)
class Gained(Stabilization):
    """A stabilization with a gain in 1/s; by default ``recommended_gain``."""

    gain: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for value in (
            self.gain if isinstance(self.gain, tuple) else () if self.gain is None else (self.gain,)
        ):
            positive(value, "gain")

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Name without the gain."""

    @property
    def label(self) -> str:
        if self.gain is None:
            return self.name
        if isinstance(self.gain, tuple):
            return f"{self.name}, gains {', '.join(f'{one:g}' for one in self.gain)}"
        return f"{self.name}, gain {self.gain:g}"

    @property
    def lacks_gain(self) -> bool:
        return self.gain is None

    def with_gain(self, gain: float) -> Stabilization:
        return replace(self, gain=gain)


def chosen(gain: float | None) -> float:
    """Return the gain; raise ``UsageError`` if it is not set."""
    if gain is None:
        raise UsageError(
            "the stabilization has no gain",
            hint="give gain=, or use simulate(system, stabilization=...), which chooses one",
        )
    return gain
