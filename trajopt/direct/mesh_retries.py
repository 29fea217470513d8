"""The solution on the next mesh, and what is tried where a mesh fails.

Retries are tried in order, until one ends with a solution that the next mesh can begin with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.search import State
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.nlp.backends import COLD, Effort
from trajopt.trajectory.trajectory import Trajectories


@dataclass(frozen=True, eq=False)
class Step:
    """From the solution of the last mesh to one on the next."""

    state: State
    meshes: tuple[Mesh, ...]
    last: MeshSolution
    accurate: bool  # the last one is within the tolerance: nothing needs to be tried again
    found: MeshSolution | None = None

    @property
    def solution(self) -> MeshSolution:
        assert self.found is not None
        return self.found

    @property
    def failed(self) -> bool:
        return not (self.solution.usable or self.accurate or self.solution.stopped)

    @property
    def effort(self) -> Effort:
        """From the last solution: the farther it is off, the larger the barrier.

        From a rough one a monotone barrier leads to better optima.
        """
        method, error = self.state.method, self.last.error
        largest = method.search.barrier
        barrier = float(np.clip(largest * error, method.round_off, largest))
        return Effort(barrier, monotone=error > method.refinement.rough)

    def tried(
        self,
        context: Context,
        guess: Trajectories,
        effort: Effort,
        kind: PassKind = PassKind.MESH,
    ) -> Step:
        """With the solution from another start, and its record."""
        found = solve_mesh(context, self.meshes, guess, effort, kind=kind)
        return replace(self, state=self.state.recorded(found), found=found)


@dataclass(frozen=True)
class Retry:
    """What is tried on a mesh, and when."""

    applies: Callable[[Step], bool]
    attempt: Callable[[Step], Step]


def next_solution(
    state: State, last: MeshSolution, meshes: tuple[Mesh, ...], accurate: bool
) -> tuple[State, MeshSolution]:
    """The solution on the next meshes, from that of the last."""
    step = Step(state, meshes, last, accurate)
    limit = (2 if step.effort.monotone else 1) * state.method.search.quick_iterations
    limited = state.context.with_iteration_limit(limit)
    step = step.tried(limited, last.trajectories, step.effort)
    for retry in RETRIES:
        if retry.applies(step):
            step = retry.attempt(step)
    return step.state, step.solution


def _not_converged(step: Step) -> bool:
    """True if this mesh and the last ended at a feasible point: no finer mesh of that."""
    return step.solution.usable and not (step.solution.solved or step.last.solved)


def _continued(step: Step) -> Step:
    effort = replace(step.effort, monotone=False)
    return step.tried(step.state.context, step.solution.trajectories, effort)


def _cold(step: Step) -> Step:
    return step.tried(step.state.context, step.last.trajectories, COLD, PassKind.COLD)


def _from_feasible(step: Step) -> Step:
    """From a point that satisfies the constraints, if there is one."""
    context = step.state.context
    feasible = step.tried(context, step.last.trajectories, COLD, PassKind.FEASIBLE)
    if not feasible.solution.usable:
        return replace(feasible, found=step.found)
    return feasible.tried(context, feasible.solution.trajectories, context.from_feasible)


RETRIES = (
    Retry(_not_converged, _continued),
    Retry(lambda step: step.failed, _cold),
    Retry(lambda step: step.failed, _from_feasible),
)
