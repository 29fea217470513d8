"""One program: transcribe, scale, solve, and estimate the error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trajopt.deadline import UNLIMITED, Budget, Deadline
from trajopt.direct.angles import angle_bounded, at_angle_bound, unwound
from trajopt.direct.collocation import Collocation
from trajopt.direct.control_error import control_losses
from trajopt.direct.error_estimate import error_estimate
from trajopt.direct.kernels import Kernels, make_kernels
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import Estimate, MeshSolution, PassKind
from trajopt.direct.packing import Layout, make_layout, pack, unpack
from trajopt.direct.phase_view import PhaseView, point_derivatives
from trajopt.direct.presolve import presolve
from trajopt.direct.samples import sample_jumps, with_sample_breaks
from trajopt.direct.scaling import cost_unit, scales
from trajopt.direct.transcription import transcribe
from trajopt.direct.undetermined import Settling, settled
from trajopt.direct.whole_turns import without_angle_bounds
from trajopt.nlp.backends import COLD, Effort, Outcome, Result
from trajopt.nlp.loosening import Loosening
from trajopt.nlp.program import Program, arguments, cost_at, scaled, with_cost_times, without_cost
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.solution import Solution
from trajopt.trajectory.trajectory import Trajectories

Array = NDArray[np.float64]
Progress = Callable[[str], None]

SLACK = float(np.sqrt(np.finfo(float).eps))


@dataclass(frozen=True, eq=False)
class Context:
    """What all meshes of a solve share."""

    stated: NormalForm  # before presolve: where starts come from
    form: NormalForm
    kernels: Kernels
    method: Collocation
    parameters: Array
    progress: Progress
    budget: Budget  # of the work of all programs, and the time limit
    interim: Callable[[Context, MeshSolution], Solution] | None = (
        None  # an interrupted Solution of a mesh solution
    )
    settling: Settling | None = None  # of controls that the cost does not determine
    loosening: Loosening | None = None  # of conditions that may be violated
    iterations: int | None = None  # of the backend for one program, at most
    finer: int = 1  # times as many intervals in first meshes
    slope: float | None = None  # the steepest of the cost as it is solved

    @staticmethod
    def start(
        form: NormalForm,
        method: Collocation,
        parameters: Array,
        progress: Progress,
        deadline: Deadline = UNLIMITED,
    ) -> Context:
        solved = presolve(without_angle_bounds(form), parameters)
        kernels, budget = make_kernels(solved, parameters), Budget(method.max_work, deadline)
        return Context(form, solved, kernels, method, parameters, progress, budget)

    def with_angle_bounds(self) -> Context | None:
        """With the stated bounds of angles; None if there are none."""
        if without_angle_bounds(self.stated) is self.stated:
            return None
        form = presolve(self.stated, self.parameters)
        return replace(self, form=form, kernels=make_kernels(form, self.parameters))

    def as_stated(self) -> Context:
        """Without presolve."""
        return replace(self, form=self.stated, kernels=make_kernels(self.stated, self.parameters))

    def solve(self, program: Program, effort: Effort) -> Result:
        effort = replace(effort, iterations=self.iterations, log=self.method.verbose)
        result = self.method.backend.solve(program, effort, self.budget.deadline)
        self.budget.add(program.unknowns * max(result.iterations, 1))
        return result

    def offer(self, solution: MeshSolution) -> None:
        """Tell ``progress.solved``, where there is one, how to make a Solution of a solved mesh:
        what an interruption keeps.
        """
        solved = getattr(self.progress, "solved", None)
        if solved is not None and self.interim is not None and solution.solved:
            solved(partial(self.interim, self, solution))

    @property
    def from_feasible(self) -> Effort:
        """From a point that satisfies the constraints, of any cost."""
        return Effort(self.method.search.barrier, monotone=True, fitted=False)

    def with_iteration_limit(self, iterations: int) -> Context:
        return self if self.method.max_passes == 1 else replace(self, iterations=iterations)

    @property
    def quick(self) -> Context:
        return self.with_iteration_limit(self.method.search.quick_iterations)


def solve_mesh(
    context: Context, meshes: tuple[Mesh, ...], guess: Trajectories, effort: Effort = COLD,
    knots: tuple[Array | None, ...] | None = None, kind: PassKind = PassKind.MESH,
) -> MeshSolution:  # fmt: skip
    """The solution on given meshes, with its estimated error; ``knots``: times by phase."""
    began = time.perf_counter()
    method = context.method
    meshes = with_sample_breaks(context.form, meshes)
    layout = make_layout(context.form, context.kernels, method.scheme, meshes)
    start = pack(layout, guess, knots)
    program = transcribe(context.kernels, layout, start, context.parameters, slack=SLACK)
    if kind is PassKind.FEASIBLE:
        program = without_cost(program)
    program, sizes, row_scales, result = _solve_with_angle_bounds(context, layout, program, effort)
    solution = read(context, layout, program, sizes, row_scales, result, kind)
    solution = solution.judged(estimated(solution), seconds=time.perf_counter() - began)
    record = solution.record
    if kind is not PassKind.FEASIBLE:
        context.offer(solution)  # before it is reported: an interruption returns what was reported
    context.progress(
        f"{record.intervals} intervals, {record.points} points: {result.outcome.value} in "
        f"{record.iterations} iterations, "
        f"objective {record.objective:.9g}, error {record.error:.1e}"
        + (f", {record.remark}" if record.remark else "")
    )
    return solution


def read(
    context: Context,
    layout: Layout,
    program: Program,
    sizes: Array,
    row_scales: Array,
    result: Result,
    kind: PassKind,
) -> MeshSolution:
    """The answer to a program in physical units, without its estimated error."""
    y = unwound(layout, context.kernels, result.y * sizes)
    views = _phase_views(
        context,
        layout,
        program,
        y,
        sizes,
        result.bound_multipliers / sizes,
        result.constraint_multipliers * row_scales,
    )
    return MeshSolution(
        layout,
        program,
        result,
        y,
        views,
        sizes,
        row_scales,
        result.g / row_scales,
        (),
        kind,
        0.0,
        context.method.round_off,
    )


def estimated(solution: MeshSolution) -> tuple[Estimate, ...]:
    """The estimated errors of a solution, with what the cost could fall by other controls."""
    estimates = []
    for view, loss in zip(solution.phases, control_losses(solution), strict=True):
        e = error_estimate(solution, view)
        errors = np.maximum(e.errors, loss.errors)
        decay = np.where(loss.errors > e.errors, np.maximum(e.decay, loss.decay), e.decay)
        estimates.append(replace(e, errors=errors, decay=decay))
    return tuple(estimates)


def _phase_views(
    context: Context,
    layout: Layout,
    program: Program,
    y: Array,
    sizes: Array,
    bound: Array,
    constraint: Array,
) -> tuple[PhaseView, ...]:
    ends = program.blocks[-1]
    jacobian, gradient = point_derivatives(ends, arguments(ends, y, program.parameters))
    total = layout.condition_rows(constraint) @ jacobian[0] + (
        gradient[0, 0] if gradient is not None else 0.0
    )
    statics = layout.statics(y)
    return tuple(
        PhaseView(
            i,
            context.method,
            ph,
            kernels,
            block,
            y,
            unpack(ph, y),
            statics,
            program.parameters,
            sizes,
            bound,
            constraint,
            total[layout.endpoints(i)[3]],
            jumps,
        )
        for i, (ph, kernels, block, jumps) in enumerate(
            zip(
                layout.phases,
                context.kernels.phases,
                program.blocks,
                sample_jumps(layout, total),
                strict=False,
            )
        )
    )


def _solve(
    context: Context, layout: Layout, program: Program, effort: Effort, unit: float
) -> Result:
    """The answer to a program in units of its sizes, with its own cost, not that of the
    regularization.

    It is solved with the cost in the given unit: what a solver calls small does not depend on the
    unit of the statement. A sum of violations has no unit.
    """
    settling = context.settling
    determined = program if settling is None else settled(program, layout, settling)
    if context.loosening is not None:
        loose = context.loosening.loosened(determined)
        return context.loosening.restored(context.solve(loose, effort), determined)
    result = context.solve(with_cost_times(determined, 1 / unit), effort)
    return replace(
        result,
        f=result.f * unit if settling is None else cost_at(program, result.y),
        bound_multipliers=result.bound_multipliers * unit,
        constraint_multipliers=result.constraint_multipliers * unit,
    )


def _solve_with_angle_bounds(
    context: Context, layout: Layout, program: Program, effort: Effort
) -> tuple[Program, Array, Array, Result]:
    """The program with bounds for its angles, the sizes of its unknowns and rows, and its answer.

    The best angle may lie beyond such a bound; a solution at one is continued between new bounds.
    """
    method = context.method
    inside = angle_bounded(layout, context.kernels, program)
    sizes, rows = scales(layout, inside, method.negligible)
    unit = cost_unit(inside, sizes, context.slope)
    result = _solve(context, layout, scaled(inside, sizes, rows), effort, unit)
    for _ in range(method.max_passes):
        if result.outcome is not Outcome.SOLVED or inside is program:  # without angles
            break
        around = angle_bounded(layout, context.kernels, replace(program, start=result.y * sizes))
        if not at_angle_bound(inside, around, method.round_off):
            break
        after = _solve(context, layout, scaled(around, sizes, rows), context.from_feasible, unit)
        if after.outcome not in (Outcome.SOLVED, Outcome.INTERRUPTED, Outcome.TIME_LIMIT):
            break  # the next mesh has angle bounds of its own
        inside, result = around, replace(after, iterations=result.iterations + after.iterations)
    return inside, sizes, rows, result
