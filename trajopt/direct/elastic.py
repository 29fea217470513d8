"""The least-violation solution: it obeys the dynamics exactly, and violates what is required of it as little as possible.

Conditions over endpoints and integrals, path constraints and end values are elastic: each may be violated, in units of its
size, at a weight in the cost (an exact penalty of first order). Where the sum falls to zero there is a feasible trajectory;
otherwise the violated conditions explain why there is none, in the user's terms, and not in terms of defects that no trajectory
can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.collocation import Elastic
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.packing import Layout, PhaseLayout, make_layout
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.guess import Guess
from trajopt.nlp.backends import Backend, Outcome, Result, Warm
from trajopt.nlp.program import Block, Program, constraints_at, cost_at, make_kernel
from trajopt.nlp.sparse_rows import SparseRows, compressed
from trajopt.normal_form import ConditionKind, Origin

Array = NDArray[np.float64]
Index = NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class ElasticGroup:
    """What may be violated together by one amount: constraint rows, or the bounds of unknowns."""

    rows: Index
    unknowns: Index
    within: Index  # unknowns whose bounds they keep instead; none where they are set free
    weight: float = 1.0


@dataclass(frozen=True)
class ElasticBackend:
    """A backend that solves programs with some of their constraints elastic.

    Its outcome is SOLVED if no condition had to be violated, else LEAST_VIOLATION.
    """

    backend: Backend
    loosenings: tuple[ElasticGroup, ...]
    kept: Index  # unknowns that stay where they start
    regularization: float
    start: float  # initial violation, in sizes
    violated: float  # of its size: how much of a constraint is
    name: str = "elastic"

    def tightened(self, tolerance: float) -> ElasticBackend:
        return replace(self, backend=self.backend.tightened(tolerance))

    def solve(self, program: Program, warm: Warm | None = None, deadline: Deadline = UNLIMITED) -> Result:
        loose = make_elastic(program, self.loosenings, self.regularization, self.start)
        start = np.clip(loose.start, loose.lower, loose.upper)[self.kept]
        loose.lower[self.kept] = loose.upper[self.kept] = start
        result = self.backend.solve(loose, warm, deadline)
        y = result.y[: program.unknowns]
        slack = result.y[program.unknowns :].reshape(2, -1)
        outcome = result.outcome
        if outcome is Outcome.SOLVED and float(np.abs(slack[1] - slack[0]).max(initial=0.0)) > self.violated:
            outcome = Outcome.LEAST_VIOLATION
        return replace(
            result,
            outcome=outcome,
            y=y,
            f=cost_at(program, y),
            g=constraints_at(program, y),
            bound_multipliers=result.bound_multipliers[: program.unknowns],
            constraint_multipliers=result.constraint_multipliers[: program.constraints],
        )


def least_violation(context: Context, meshes: tuple[Mesh, ...], guess: Guess, keep_time: bool = False) -> MeshSolution:
    """The solution that violates least, locally.

    ``keep_time`` keeps the guessed times: where a detour is needed, a free time shrinks and leads elsewhere. Where bounds of
    states leave no trajectory at all, these are elastic as well.
    """
    method = context.method
    layout = make_layout(context.form, context.kernels, method.scheme, meshes)
    number = np.arange(layout.unknowns)
    kept = np.concatenate([np.zeros(0, int), *([ph.span_times(number) for ph in layout.phases] if keep_time else [])])
    solution: MeshSolution | None = None
    conditions = [tuple(_conditions(layout, method.elastic, free)) for free in (False, True)]
    for loose in (conditions[0], (*conditions[1], *_state_bounds(layout))):
        backend = ElasticBackend(
            method.backend, loose, kept, method.elastic.regularization, method.refinement.rough, method.round_off
        )
        elastic = replace(context, method=replace(method, backend=backend))
        following = solve_mesh(elastic, meshes, guess, None, kind=PassKind.ELASTIC)
        if solution is None or following.solved or following.outcome is Outcome.LEAST_VIOLATION:
            solution = following
        if solution.outcome is not Outcome.INFEASIBLE:
            break
    assert solution is not None
    return solution


def _conditions(layout: Layout, settings: Elastic, free: bool) -> Iterator[ElasticGroup]:
    """End values, conditions and path constraints: all that is required of a trajectory, besides its bounds and its start."""
    none, number = np.zeros(0, dtype=int), np.arange(layout.unknowns)
    for ph in layout.phases:
        states = ph.states(number)
        for i in np.flatnonzero(end_required(ph)):
            within = none if free or ph.grid.state_points < 3 else states[-2, i : i + 1]
            yield ElasticGroup(none, states[-1, i : i + 1], within, settings.end_weight)
        for rows in ph.path_rows(np.arange(layout.constraints)).T:
            yield ElasticGroup(rows, none, none)
    for k, row in enumerate(layout.condition_rows(np.arange(layout.constraints))):
        if condition_origin(layout, k).kind is not ConditionKind.DURATION:  # time never runs backwards
            yield ElasticGroup(np.array([row]), none, none, condition_weight(layout, settings, k))


def condition_origin(layout: Layout, k: int) -> Origin:
    """Where the k-th condition row comes from; the rows beyond the conditions are path constraints at the start."""
    origins = layout.form.b_origins
    return origins[k] if k < len(origins) else Origin()


def condition_weight(layout: Layout, settings: Elastic, k: int) -> float:
    """The weight of a violation of the k-th condition row by its size."""
    return settings.link_weight if condition_origin(layout, k).kind is ConditionKind.LINK else 1.0


def _state_bounds(layout: Layout) -> Iterator[ElasticGroup]:
    """The bounds of each state after the start."""
    none, number = np.zeros(0, dtype=int), np.arange(layout.unknowns)
    for ph in layout.phases:
        bound, required = ph.form.x_bound, end_required(ph)
        for i in np.flatnonzero(np.isfinite(bound.lower) | np.isfinite(bound.upper)):
            yield ElasticGroup(none, ph.states(number)[1 : ph.grid.state_points - int(required[i]), i], none)


def end_required(ph: PhaseLayout) -> NDArray[np.bool_]:
    """(states,): which have an end value or bounds of it."""
    ends = [np.isfinite(q.end.lower) | np.isfinite(q.end.upper) for q in ph.form.states]
    return np.concatenate([np.zeros(0, bool), *ends])


def make_elastic(program: Program, loose: tuple[ElasticGroup, ...], regularization: float, start: float) -> Program:
    """The program with amounts by which constraints are violated, up or down, as further unknowns.

    Their weighted sum is its cost.
    """
    n, m, count = program.unknowns, program.constraints, len(loose)
    bounds = np.concatenate([np.zeros(0, int), *[part.unknowns for part in loose]])
    within = np.concatenate(
        [np.zeros(0, int), *[part.within if part.within.size else -np.ones(part.unknowns.size, int) for part in loose]]
    )
    of_bound = np.repeat(np.arange(count), [part.unknowns.size for part in loose])
    rows = np.concatenate([np.zeros(0, int), *[part.rows for part in loose], m + np.arange(bounds.size)])
    which = np.concatenate([np.repeat(np.arange(count), [part.rows.size for part in loose]), of_bound])
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[bounds] = np.where(within < 0, -np.inf, program.lower[within])
    upper[bounds] = np.where(within < 0, np.inf, program.upper[within])
    B = program.linear
    linear = compressed(
        np.concatenate([B.line_of, bounds, n + which, n + count + which]),
        np.concatenate([B.indices, m + np.arange(bounds.size), rows, rows]),
        np.concatenate([B.data, np.ones(bounds.size), np.ones(rows.size), -np.ones(rows.size)]),
        (n + 2 * count, m + bounds.size),
    )
    blocks = [
        replace(
            b,
            gather=_widened(b.gather, n + 2 * count),
            scatter=_widened(b.scatter, m + bounds.size),
            weights=np.zeros_like(b.weights),
        )
        for b in program.blocks
    ]
    weights = np.tile([part.weight for part in loose], 2)
    open_ended = np.flatnonzero(~np.isfinite(lower) & ~np.isfinite(upper))
    small = np.full(open_ended.size, regularization / max(open_ended.size, 1))
    shape = (n + 2 * count, m + bounds.size)
    sides = np.arange(n, n + 2 * count)
    p = program.parameters.size
    return Program(
        (*blocks, *_weighted(sides, weights, 1, shape, p), *_weighted(open_ended, small, 2, shape, p)),
        linear,
        np.concatenate([lower, np.zeros(2 * count)]),
        np.concatenate([upper, np.full(2 * count, np.inf)]),
        np.concatenate([program.g_lower, program.lower[bounds]]),
        np.concatenate([program.g_upper, program.upper[bounds]]),
        np.concatenate([program.start, np.full(2 * count, start)]),
        program.parameters,
    )


def _weighted(unknowns: Index, weights: Array, power: int, shape: tuple[int, int], parameters: int) -> Iterator[Block]:
    """The weighted sum of unknowns, each raised to a power; zero without unknowns."""
    count = unknowns.size
    if count:
        w = casadi.SX.sym("w")
        kernel = make_kernel("weighted", w, casadi.SX(0, 1), casadi.SX.sym("p", parameters), casadi.SX(0, 1), w**power)
        gather = compressed(np.arange(count), unknowns, np.ones(count), (count, shape[0]))
        yield Block(kernel, count, gather, np.zeros((0, count)), compressed([], [], [], (0, shape[1])), weights)


def _widened(lines: SparseRows, width: int) -> SparseRows:
    return SparseRows(lines.pointers, lines.indices, lines.data, width)
