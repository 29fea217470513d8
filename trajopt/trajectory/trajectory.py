"""Trajectory: one phase as curves in the columns of its normal form; Trajectories: all phases of a
problem.

An initial guess, the result on a mesh, the start of shooting and a solution are values of these
types. ``PhaseSolution`` gives the columns their names. A program is entered and left only through
``trajopt.direct.packing``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One phase.

    A curve has one column for every entry of its vector in the normal form. At a break ``evaluate``
    returns its value from the right, with ``left=True`` that from the left.
    """

    x: Curve  # states
    z: Curve  # algebraic variables
    u: Curve  # controls
    costate: Curve | None = None
    path_multipliers: Curve | None = None  # densities in time
    integrals: Array = field(default_factory=lambda: np.zeros(0))
    # of its mesh, in time; empty without a mesh
    breaks: Array = field(default_factory=lambda: np.zeros(0))
    degrees: tuple[int, ...] = ()  # of the intervals of its mesh
    # of each interval, estimated, relative
    errors: Array = field(default_factory=lambda: np.zeros(0))
    arcs: tuple[Arc, ...] = ()  # in order of time

    @property
    def t0(self) -> float:
        return float(self.x.breaks[0])

    @property
    def tf(self) -> float:
        return float(self.x.breaks[-1])

    def times(self, tau: Array) -> Array:
        """Times at fractions of the duration."""
        return self.t0 + tau * (self.tf - self.t0)

    def over(self, start: float, end: float) -> Trajectory:
        """Return states, algebraic variables and controls stretched to another interval of time."""
        return Trajectory(self.x.over(start, end), self.z.over(start, end), self.u.over(start, end))

    @property
    def mesh(self) -> tuple[Array, tuple[int, ...]] | None:
        """Breaks from 0 to 1 and degrees of its mesh, if it has one."""
        if not self.degrees or len(self.degrees) != self.breaks.size - 1:
            return None
        inner = (self.breaks[1:-1] - self.t0) / (self.tf - self.t0)
        return np.concatenate([[0.0], inner, [1.0]]), self.degrees


@dataclass(frozen=True, eq=False)
class Trajectories:
    """All phases of a problem, and its static variables."""

    phases: tuple[Trajectory, ...]
    s: Array
