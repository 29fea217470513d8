"""Controls that the cost does not determine, and a vanishing regularization that settles them.

The slowest joint of an arm decides the least time: the costates of the others are zero, and these
joints may move in any way. On a coast the direction of thrust has no effect at all. A program
leaves such controls wherever its barrier led them, and no mesh resolves that. Two terms settle
them: the mean square of their values, and that of the steps between neighbouring points of an
interval; between intervals a direction may turn round. Their weight is so small that they change
the cost by less than the tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import DECADE
from trajopt.direct.packing import Layout, PhaseLayout
from trajopt.direct.phase_view import PhaseView
from trajopt.nlp.program import Block, Program, make_kernel
from trajopt.nlp.sparse_rows import compressed
from trajopt.trajectory.trajectory import Trajectories

if TYPE_CHECKING:
    from trajopt.direct.mesh_solution import MeshSolution

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Settling:
    """The regularization of controls that the cost does not determine."""

    weight: float  # in units of the cost
    controls: tuple[Bools, ...]  # by phase, (nu,)


def settling_of_all(solution: MeshSolution) -> Settling:
    """The regularization of all controls, for programs whose first solution has not been found."""
    weight = solution.phases[0].method.tolerance * solution.cost_reach
    return Settling(weight, tuple(np.ones(view.layout.nu, dtype=bool) for view in solution.phases))


def settled_guess(solution: MeshSolution) -> Trajectories:
    """The solution as a guess; controls without an effect keep the values of the nearest point
    where they have one.
    """
    filled = []
    for view in solution.phases:
        U, grid = view.values.U.copy(), view.layout.grid
        effective = ~_without_effect(solution, view)[grid.interval_of]  # (points, controls)
        for j in range(U.shape[1]):
            sources = np.flatnonzero(effective[:, j])
            if sources.size:
                nearest = np.abs(view.times[:, None] - view.times[sources]).argmin(axis=1)
                U[:, j] = U[sources[nearest], j]
        filled.append(U)
    return solution.stepped(filled)


def settling_of(solution: MeshSolution) -> Settling | None:
    """The regularization for a solution; None if its cost determines all controls, or is zero."""
    method = solution.phases[0].method
    controls = tuple(
        (_idle(solution, view) | _without_effect(solution, view).any(axis=0))
        for view in solution.phases
    )
    weight = method.tolerance / DECADE * solution.cost_size
    return (
        Settling(weight, controls)
        if weight > 0 and any(chosen.any() for chosen in controls)
        else None
    )


def settled(program: Program, layout: Layout, settling: Settling) -> Program:
    """The program, in units of its sizes, with the regularization added to its cost."""
    blocks = [
        _mean_square(program, layout, ph, chosen, settling.weight)
        for ph, chosen in zip(layout.phases, settling.controls, strict=True)
        if chosen.any()
    ]
    start = program.start.copy()
    for ph, chosen in zip(layout.phases, settling.controls, strict=True):
        _turn_between_intervals(ph, start, np.flatnonzero(chosen))
    return replace(program, blocks=(*program.blocks, *blocks), start=start)


def _turn_between_intervals(ph: PhaseLayout, start: Array, chosen: NDArray[np.int_]) -> None:
    """Where controls change by more than their size inside an interval, let them start with their
    first values there.

    The steps between two opposite directions are a stationary point of the regularization.
    """
    for k in range(ph.mesh.intervals):
        values = [ph.control_on(start, k, j) for j in chosen]
        if any(np.ptp(value) > 1 for value in values):
            for value in values:
                value[:] = value[0]


def _mean_square(
    program: Program, layout: Layout, ph: PhaseLayout, chosen: Bools, weight: float
) -> Block:
    """Of the values of the chosen controls at the collocation points, and of the steps from point
    to point of an interval.
    """
    rows, columns, values = ph.control_grid.entries
    used = chosen[rows % ph.nu]
    rows, values = rows[used], values[used]
    columns = ph.control_unknowns(np.arange(layout.unknowns))[columns[used]]
    last, shift, point = ph.grid.points * ph.nu, ph.nu, rows // ph.nu
    # of their intervals
    first = np.isin(np.arange(ph.grid.points + 1), [*ph.grid.first_point, ph.grid.points])
    before, after = ~first[point + 1], ~first[point]
    places = np.concatenate([rows, last + rows[before], last + rows[after] - shift])
    parts = np.concatenate([values, -values[before], values[after]])
    gather = compressed(
        places,
        np.concatenate([columns, columns[before], columns[after]]),
        parts,
        (2 * last, program.unknowns),
    )
    w = casadi.SX.sym("w")
    kernel = make_kernel(
        "square",
        w,
        casadi.SX(0, 1),
        casadi.SX.sym("p", program.parameters.size),
        casadi.SX(0, 1),
        w**2,
    )
    shares = np.repeat(ph.grid.weights / ph.grid.weights.sum(), ph.nu)
    weights = weight * np.concatenate([shares, np.full(last, 1 / ph.grid.points)])
    return Block(
        kernel,
        2 * last,
        gather,
        np.zeros((0, 2 * last)),
        compressed([], [], [], (0, program.constraints)),
        weights,
    )


def undetermined_lines(solution: MeshSolution) -> Iterator[str]:
    """What the cost of a solution does not determine, in the user's names."""
    for view in solution.phases:
        form, breaks = view.layout.form, view.values.breaks
        idle, where = _idle(solution, view), _without_effect(solution, view)
        names = np.array(form.u_names, dtype=object)
        if idle.any():
            decisive = ", ".join(f"'{name}'" for name in names[~idle])
            others = f"; it is decided by {decisive}" if decisive else ""
            yield (
                f"the cost does not determine {_listed(names[idle])} in phase '{form.name}'{others}"
            )
        alike: dict[bytes, list[str]] = {}
        for j in np.flatnonzero(where.any(axis=0) & ~idle):
            alike.setdefault(where[:, j].tobytes(), []).append(names[j])
        for key, group in alike.items():
            spans = ", ".join(_spans(breaks, np.frombuffer(key, dtype=bool)))
            yield (
                f"the cost does not determine {_listed(group)} in phase '{form.name}' for t = "
                f"{spans}: no effect there"
            )


def _listed(names: Array | list[str]) -> str:
    return f"control{'s' if len(names) > 1 else ''} " + ", ".join(f"'{name}'" for name in names)


def _spans(breaks: Array, chosen: Bools) -> list[str]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    return [f"{breaks[a]:.4g} to {breaks[b]:.4g}" for a, b in edges.reshape(-1, 2)]


def _limit(view: PhaseView) -> float:
    """The part of the cost that the tolerance does not show."""
    return view.method.tolerance / DECADE


def _idle(solution: MeshSolution, view: PhaseView) -> Bools:
    """(nu,): controls between their bounds that act only on states with zero costates."""
    ph, cost = view.layout, solution.cost_size
    if not ph.nu or not cost > 0:
        return np.zeros(ph.nu, dtype=bool)
    worth = np.abs(view.costates.points).max(axis=0) * view.x_size
    states = worth > _limit(view) * cost
    depends = np.zeros((view.kernel.constraint_rows, view.kernel.inputs), dtype=bool)
    depends[view.kernel.constraint_pattern] = True
    rates, by_control = depends[: ph.nx, : ph.nx], depends[: ph.nx, ph.control_inputs]
    for _ in range(ph.nx):  # states through which the cost is reached
        states = states | (rates & states[:, None]).any(axis=0)
    acts = (by_control & states[:, None]).any(axis=0) | depends[ph.nx :, ph.control_inputs].any(
        axis=0
    )
    if view.kernel.objective_rows:
        acts = acts | np.isin(
            np.arange(ph.nu) + ph.control_inputs.start, view.kernel.objective_pattern[1]
        )
    inside = view.inside(view.values.U).any(axis=0)
    return np.asarray(~acts & inside)


def _without_effect(solution: MeshSolution, view: PhaseView) -> Bools:
    """(intervals, nu): where a control changes neither a rate nor an integrand."""
    ph, (jacobian, gradient) = view.layout, view.derivatives
    if not ph.nu:
        return np.zeros((ph.mesh.intervals, 0), dtype=bool)
    # Algebraic equations would need their solution, and a state that is at its limit decides its
    # controls.
    duration = view.values.tf - view.values.t0
    effect = np.abs(jacobian[:, : ph.nx, ph.control_inputs]) / view.x_size[None, :, None]
    largest = effect.max(axis=1, initial=0.0) * duration * view.u_size
    for rows in (ph.outputs[1], ph.outputs[3]):
        largest = np.maximum(
            largest, np.abs(jacobian[:, rows, ph.control_inputs]).max(axis=1, initial=0.0)
        )
    if gradient is not None:  # as a part of the cost: the effect does not depend on its unit
        cost = max(solution.cost_size, np.finfo(float).tiny)
        largest = np.maximum(
            largest, np.abs(gradient[:, 0, ph.control_inputs]) * view.u_size / cost
        )
    strongest = np.maximum.reduceat(largest, ph.grid.first_point, axis=0)
    return np.asarray(
        strongest <= _limit(view) * np.maximum(strongest.max(axis=0), np.finfo(float).tiny)
    )
