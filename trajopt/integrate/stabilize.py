"""Stabilization: dy/dt = K y for the deviations y of any set of invariants; here the contract of the ways to realise it.

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
from dataclasses import dataclass, replace

import casadi
import numpy as np

from trajopt.errors import SimulationError, UsageError
from trajopt.integrate.deviations import Deviations
from trajopt.integrate.fixed_step import positive
from trajopt.system import Event, System


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

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """A name with its settings, for reports."""

    @property
    def lacks_gain(self) -> bool:
        """Whether a gain has yet to be chosen."""
        return False

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


@dataclass(frozen=True)
class Gained(Stabilization):
    """A way with a gain, in 1/s; without one the gain that suits step and scheme is taken (``recommended_gain``)."""

    gain: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for value in self.gain if isinstance(self.gain, tuple) else () if self.gain is None else (self.gain,):
            positive(value, "gain")

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What it is called, without its gain."""

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
    """A gain, or an error where there is none yet."""
    if gain is None:
        raise UsageError("the stabilization has no gain", hint="give one, or let simulate choose it from step and scheme")
    return gain
