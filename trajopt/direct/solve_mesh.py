"""One program: transcribe, scale, solve, and estimate the error."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trajopt.deadline import UNLIMITED, Deadline
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
from trajopt.direct.scaling import scales
from trajopt.direct.transcription import transcribe
from trajopt.direct.undetermined import Settling, settled
from trajopt.guess import Guess
from trajopt.nlp.backends import Ipopt, Outcome, Result, Warm
from trajopt.nlp.program import Program, arguments, cost_at, scaled, without_cost
from trajopt.normal_form import NormalForm
from trajopt.solution import Solution

Array = NDArray[np.float64]
Progress = Callable[[str], None]

SLACK = float(np.sqrt(np.finfo(float).eps))


@dataclass(frozen=True, eq=False)
class Context:
    """What all meshes of a solve share."""

    form: NormalForm
    kernels: Kernels
    method: Collocation
    parameters: Array
    progress: Progress
    deadline: Deadline = UNLIMITED
    interim: Callable[[Context, MeshSolution], Solution] | None = None  # an interrupted Solution of a mesh solution
    settling: Settling | None = None  # of controls that the cost does not determine

    @staticmethod
    def start(
        form: NormalForm,
        method: Collocation,
        parameters: Array,
        progress: Progress,
        deadline: Deadline = UNLIMITED,
        use_integrals: bool = True,
    ) -> Context:
        form = presolve(form, parameters, method.presolve, use_integrals)
        return Context(form, make_kernels(form), method, parameters, progress, deadline)

    def solve(self, program: Program, warm: Warm | None) -> Result:
        return self.method.backend.solve(program, warm, self.deadline)

    def offer(self, solution: MeshSolution) -> None:
        """Tell ``progress.solved``, where there is one, how to make a Solution of a solved mesh: what an interruption keeps."""
        solved = getattr(self.progress, "solved", None)
        if solved is not None and self.interim is not None and solution.solved:
            solved(partial(self.interim, self, solution))

    @property
    def barrier_after_feasible(self) -> Warm:
        """From a point that satisfies the constraints, of any cost."""
        return Warm(self.method.search.barrier, monotone=True, mu_based_multipliers=False)

    def with_iteration_limit(self, iterations: int) -> Context:
        backend = self.method.backend
        if not isinstance(backend, Ipopt) or self.method.max_passes == 1:
            return self
        limited = replace(backend, max_iterations=min(iterations, backend.max_iterations))
        return replace(self, method=replace(self.method, backend=limited))

    @property
    def quick(self) -> Context:
        return self.with_iteration_limit(self.method.search.quick_iterations)

    @property
    def patient(self) -> Context:
        """With a barrier that falls monotonically."""
        backend = self.method.backend
        if not isinstance(backend, Ipopt):
            return self
        monotone = replace(backend, options={"mu_strategy": "monotone", **backend.options})
        return replace(self, method=replace(self.method, backend=monotone))


def solve_mesh(
    context: Context, meshes: tuple[Mesh, ...], guess: Guess, warm: Warm | None,
    knots: tuple[Array | None, ...] | None = None, kind: PassKind = PassKind.MESH,
) -> MeshSolution:  # fmt: skip
    """The solution on given meshes, with its estimated error; ``knots``: times of moving knots by phase."""
    began = time.perf_counter()
    method = context.method
    layout = make_layout(context.form, context.kernels, method.scheme, meshes)
    start = pack(layout, guess, knots)
    program = transcribe(context.kernels, layout, start, context.parameters, slack=SLACK)
    if kind is PassKind.FEASIBLE:
        program = without_cost(program)
    program, sizes, row_scales, result = _solve_with_angle_bounds(context, layout, program, warm)
    y = unwound(layout, context.kernels, result.y * sizes)
    views = _phase_views(
        context, layout, program, y, sizes, result.bound_multipliers / sizes, result.constraint_multipliers * row_scales
    )
    estimates: tuple[Estimate, ...] = ()
    solution = MeshSolution(
        layout, program, result, y, views, sizes, row_scales, result.g / row_scales, estimates, kind, 0.0, method.round_off
    )
    losses = control_losses(solution)
    estimates = tuple(
        replace(
            e,
            errors=np.maximum(e.errors, loss.errors),
            decay=np.where(loss.errors > e.errors, np.maximum(e.decay, loss.decay), e.decay),
        )
        for e, loss in zip(error_estimate(solution), losses, strict=True)
    )
    solution = solution.judged(estimates, seconds=time.perf_counter() - began)
    record = solution.record
    if kind is not PassKind.FEASIBLE:
        context.offer(solution)  # before it is reported: an interruption returns what was reported
    context.progress(
        f"{record.intervals} intervals, {record.points} points: {result.outcome.value} in {record.iterations} iterations, "
        f"objective {record.objective:.9g}, error {record.error:.1e}" + (f", {record.remark}" if record.remark else "")
    )
    return solution


def _phase_views(
    context: Context, layout: Layout, program: Program, y: Array, sizes: Array, bound: Array, constraint: Array
) -> tuple[PhaseView, ...]:
    ends = program.blocks[-1]
    jacobian, gradient = point_derivatives(ends, arguments(ends, y, program.parameters))
    total = layout.condition_rows(constraint) @ jacobian[0] + (gradient[0, 0] if gradient is not None else 0.0)
    statics = layout.statics(y)
    return tuple(
        PhaseView(
            i, context.method, ph, kernels, block, y, unpack(ph, y), statics, program.parameters, sizes, bound, constraint,
            total[layout.endpoints(i)[3]],
        )
        for i, (ph, kernels, block) in enumerate(zip(layout.phases, context.kernels.phases, program.blocks, strict=False))
    )  # fmt: skip


def _solve(context: Context, layout: Layout, program: Program, warm: Warm | None) -> Result:
    """The answer to a program in units of its sizes, with its own cost, not that of the regularization."""
    if context.settling is None:
        return context.solve(program, warm)
    result = context.solve(settled(program, layout, context.settling), warm)
    return replace(result, f=cost_at(program, result.y))


def _solve_with_angle_bounds(
    context: Context, layout: Layout, program: Program, warm: Warm | None
) -> tuple[Program, Array, Array, Result]:
    """The program with bounds for its angles, the sizes of its unknowns and rows, and its answer.

    The best angle may lie beyond such a bound; a solution at one is continued between new bounds.
    """
    method = context.method
    reach = 4 * np.pi / 3
    inside = angle_bounded(layout, context.kernels, program, reach)
    sizes, rows = scales(layout, inside, method.negligible)
    result = _solve(context, layout, scaled(inside, sizes, rows), warm)
    for _ in range(method.max_passes):
        if result.outcome is not Outcome.SOLVED or inside is program:  # without angles
            break
        around = angle_bounded(layout, context.kernels, replace(program, start=result.y * sizes), reach)
        if not at_angle_bound(inside, around, method.round_off):
            break
        after = _solve(context, layout, scaled(around, sizes, rows), context.barrier_after_feasible)
        if after.outcome not in (Outcome.SOLVED, Outcome.INTERRUPTED, Outcome.TIME_LIMIT):
            break  # the next mesh has angle bounds of its own
        inside, result = around, replace(after, iterations=result.iterations + after.iterations)
    return inside, sizes, rows, result
