"""Iterate: the answer of the program on one mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.costates import PhaseMultipliers
from trajopt.direct.refine import Estimate
from trajopt.direct.transcribe import Layout
from trajopt.direct.values import PhaseValues
from trajopt.nlp.backends import Outcome, Result
from trajopt.nlp.program import Program
from trajopt.solution import MeshPass

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Iterate:
    """In physical units; how good it is, and what it says of its arcs."""

    layout: Layout
    program: Program  # its start is the answer
    result: Result
    values: tuple[PhaseValues, ...]
    constraint_multipliers: Array
    bound_multipliers: Array
    multipliers: tuple[PhaseMultipliers, ...]
    estimates: tuple[Estimate, ...]
    running: float  # integral of the size of the running cost
    row_scales: Array
    sizes: Array  # of the unknowns, by which the program was scaled
    constraint_values: Array
    doubt: float  # how far the held controls want to leave their bounds, 0 to 1
    doubtful: tuple[NDArray[np.bool_], ...]  # by phase, (intervals, controls): where they do
    record: MeshPass

    @property
    def solved(self) -> bool:
        return self.result.outcome is Outcome.SOLVED

    @property
    def usable(self) -> bool:
        """Solved, or at least a motion that meets the constraints: good enough to begin the next mesh with."""
        return self.solved or (self.result.outcome is Outcome.ITERATIONS and self.violation < 1e-6)

    @property
    def unbounded(self) -> bool:
        """Whether the cost has fallen so far that nothing seems to hold it, with the constraints met for numbers of that size."""
        met = self.violation <= 1e-6 * max(1.0, float(np.abs(self.result.y).max()))
        return not self.solved and met and (self.result.message == "Diverging_Iterates" or self.result.f < -1e10)

    @property
    def error(self) -> float:
        return max(float(e.errors.max()) for e in self.estimates)

    @property
    def violation(self) -> float:
        """The largest scaled violation of a constraint."""
        g, program = self.constraint_values, self.program
        excess = np.maximum(np.maximum(program.g_lower - g, g - program.g_upper), 0.0) * self.row_scales
        return float(np.nan_to_num(excess, nan=np.inf).max(initial=0.0))

    @property
    def objective(self) -> float:
        return self.result.f * self.layout.form.sense
