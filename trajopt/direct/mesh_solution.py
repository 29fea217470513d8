"""MeshSolution: the solution of the program on one mesh."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.packing import Layout
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.scaling import cost_reach
from trajopt.nlp.backends import Outcome, Result
from trajopt.nlp.program import Program
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import MeshPass
from trajopt.trajectory.trajectory import Trajectories

Array = NDArray[np.float64]


class PassKind(enum.Enum):
    """Why a program was solved; the text is the remark in the history."""

    MESH = ""
    ARCS = "moving knots"
    COLD = "started cold"
    FEASIBLE = "without cost"
    ELASTIC = "least violation"
    OFF_CENTRE = "controls off centre"
    VARIED = "another start"
    SETTLED = "settled controls"


@dataclass(frozen=True, eq=False)
class Estimate:
    """Of one phase."""

    errors: Array  # (intervals,) relative
    # (intervals,) factor by which successive Legendre coefficients of the states fall; small is
    # smooth
    decay: Array
    violation: float = 0.0  # the largest error that violated limits between the nodes make


@dataclass(frozen=True, eq=False)
class MeshSolution:
    """In physical units, with the estimated error of every interval."""

    layout: Layout
    program: Program  # in physical units; its ``start`` is the guess
    result: Result  # in scaled units
    y: Array  # the unknowns
    phases: tuple[PhaseView, ...]
    sizes: Array  # of the unknowns, by which the program was scaled
    row_scales: Array
    constraint_values: Array
    estimates: tuple[Estimate, ...]
    kind: PassKind
    seconds: float
    feasibility_tolerance: float = 0.0
    evidence: str = ""  # by which its error was judged, if not by the estimate alone

    @property
    def outcome(self) -> Outcome:
        return self.result.outcome

    @property
    def solved(self) -> bool:
        return self.outcome is Outcome.SOLVED

    @property
    def stopped(self) -> bool:
        """True if the user or the clock ended it."""
        return self.outcome in (Outcome.INTERRUPTED, Outcome.TIME_LIMIT)

    @property
    def usable(self) -> bool:
        """Solved, or at least feasible: good enough to begin the next mesh with."""
        return self.solved or (
            self.outcome is Outcome.ITERATIONS and self.violation < self.feasibility_tolerance
        )

    @property
    def unbounded(self) -> bool:
        """True if the iterates diverged with the constraints met for numbers of that size: the cost
        has no lower bound.
        """
        met = self.violation <= self.feasibility_tolerance * max(
            1.0, float(np.abs(self.result.y).max())
        )
        return self.outcome is Outcome.DIVERGED and met

    @property
    def error(self) -> float:
        return max(float(e.errors.max()) for e in self.estimates)

    @cached_property
    def violation(self) -> float:
        """The largest scaled violation of a constraint."""
        g, program = self.constraint_values, self.program
        excess = (
            np.maximum(np.maximum(program.g_lower - g, g - program.g_upper), 0.0) * self.row_scales
        )
        return float(np.nan_to_num(excess, nan=np.inf).max(initial=0.0))

    @cached_property
    def cost_size(self) -> float:
        """The size of the cost: its value, or the integral of the absolute running cost; 0 where it
        is exactly zero.
        """
        running = sum(float(np.abs(v.block.weights * v.running_cost).sum()) for v in self.phases)
        return max(abs(self.result.f), running)

    @cached_property
    def cost_reach(self) -> float:
        """By how much the cost changes if every unknown changes by its size."""
        return cost_reach(self.program, self.y, self.sizes)

    def relative_to_cost(self, loss: float) -> float:
        """The size of the cost that a loss is divided by.

        A cost of zero is reached when nothing of its usual size is left: where a loss matters at
        all, the size of the cost is at least a part of what it usually changes by.
        """
        method = self.phases[0].method
        size = self.cost_size
        if loss > method.round_off * method.tolerance * size:
            size = max(size, method.round_off * self.cost_reach)
        return size if size > 0 else np.inf

    def judged(self, estimates: tuple[Estimate, ...], **changes: Any) -> MeshSolution:
        """The solution with other estimated errors; what does not depend on them is kept."""
        other = replace(self, estimates=estimates, **changes)
        other.__dict__.update(
            {name: value for name, value in self.__dict__.items() if name not in other.__dict__}
        )
        return other

    @property
    def objective(self) -> float:
        return self.result.f * self.layout.form.sense

    @cached_property
    def trajectories(self) -> Trajectories:
        """States, algebraic variables and controls, as a guess for another mesh."""
        return Trajectories(
            tuple(view.trajectory for view in self.phases), self.layout.statics(self.y)
        )

    def stepped(self, controls: list[Array] | None = None) -> Trajectories:
        """The solution as a guess, each of its controls (or others), by phase (points, controls),
        kept around its point.
        """
        phases = []
        for i, view in enumerate(self.phases):
            changes = 0.5 * (view.times[1:] + view.times[:-1])
            breaks = np.concatenate([[view.values.t0], changes, [view.values.tf]])
            chosen = view.values.U if controls is None else controls[i]
            phases.append(replace(view.trajectory, u=Curve.steps(breaks, chosen)))
        return Trajectories(tuple(phases), self.layout.statics(self.y))

    @property
    def record(self) -> MeshPass:
        return MeshPass(
            intervals=sum(v.layout.mesh.intervals for v in self.phases),
            points=sum(v.layout.grid.points for v in self.phases),
            iterations=self.result.iterations,
            error=self.error,
            objective=self.objective,
            seconds=self.seconds,
            remark=", ".join(filter(None, (self.kind.value, self.evidence))),
            backend=self.result.solved_by,
        )
