"""Solutions on arcs: meshes with moving knots, repaired where multipliers contradict the arcs, and
refined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.arc_structure import (
    Structure,
    WrongSigns,
    arc_mesh,
    collapsed,
    continuous_knots,
    find_structure,
    repaired,
    with_entries,
    wrong_signs,
)
from trajopt.direct.collocation import DECADE, Collocation
from trajopt.direct.first_meshes import first_meshes
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_refinement import refine_mesh
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.search import State, costs_more
from trajopt.direct.solve_mesh import solve_mesh
from trajopt.nlp.backends import Effort, Outcome
from trajopt.statement.normal_form import PhaseForm
from trajopt.trajectory.arcs import FREE, SIDES
from trajopt.trajectory.trajectory import Trajectory

Array = NDArray[np.float64]

# of a phase with boundary arcs: more are a sign of an unresolved mesh, and a slow program
MAX_ARCS = 20
# by phase, with the times of moving knots
Meshes = tuple[tuple[Mesh, ...], tuple[Array | None, ...]]


@dataclass(frozen=True, eq=False)
class Proposal:
    """Arcs read off a mesh solution."""

    structures: tuple[Structure | None, ...]  # by phase; None without arcs
    unclear: tuple[NDArray[np.int_], ...]  # by phase: intervals on which the arcs are unclear

    @property
    def clear(self) -> bool:
        return not any(u.size for u in self.unclear) and any(s is not None for s in self.structures)


def proposed_arcs(solution: MeshSolution) -> Proposal:
    """The arcs of all phases."""
    found = []
    for view in solution.phases:
        bound = view.layout.form.u_bound
        bounded = np.isfinite(bound.lower) | np.isfinite(bound.upper)
        # A path constraint on a control bounds it, too.
        may_switch = np.any(view.kernels.affine & (bounded | np.any(~view.kernels.state_paths)))
        none = None, np.zeros(0, dtype=int)
        found.append(
            find_structure(view) if may_switch and not view.layout.grid.shares_nodes else none
        )
    structures, unclear = tuple(s for s, _ in found), tuple(u for _, u in found)
    if any(s is not None and s.arcs > MAX_ARCS and bool(s.held.any()) for s in structures):
        # so many boundary arcs mean an unresolved mesh, and a slow program
        structures = (None,) * len(structures)
    return Proposal(structures, unclear)


@dataclass(frozen=True, eq=False)
class ArcCheck:
    """Whether the multipliers of a solution on arcs confirm these."""

    refuted: bool
    signs: tuple[WrongSigns, ...]

    def suspects(self, solution: MeshSolution) -> tuple[Array, ...]:
        """By phase, (n, 2): start and end of the intervals where they do not."""
        where = [signs.where.any(axis=1) for signs in self.signs]
        breaks = [view.values.breaks for view in solution.phases]
        return tuple(
            np.stack([b[:-1][w], b[1:][w]], axis=1) for b, w in zip(breaks, where, strict=True)
        )


def checked(solution: MeshSolution) -> ArcCheck:
    """Held controls and constraints of the wrong sign; those of a rough solution may have it
    although the arcs are right.
    """
    signs, method = tuple(wrong_signs(view) for view in solution.phases), solution.phases[0].method
    loss = sum(one.loss for one in signs)
    limit = max(DECADE * method.tolerance, solution.error)
    refuted = (
        max(one.fraction for one in signs) > method.negligible
        or loss / solution.relative_to_cost(loss) > limit
    )
    return ArcCheck(refuted, signs)


@dataclass(frozen=True, eq=False)
class OnArcs:
    """What solutions on proposed arcs came to."""

    state: State
    solution: MeshSolution | None  # the most accurate one that confirms the arcs
    suspects: tuple[Array, ...] = ()  # by phase, (n, 2): where proposed arcs were refuted
    unconfirmed: tuple[MeshSolution, ...] = ()  # accurate, but with multipliers of the wrong sign


def solve_on_arcs(state: State, start: MeshSolution, meshes: Meshes) -> OnArcs:
    """Solve with moving knots, repair and refine, until the arcs are confirmed or are given up."""
    method = state.method
    current, repairs, fitted = start, 0, False
    confirmed: list[MeshSolution] = []
    refuted: list[MeshSolution] = []  # accurate, but with multipliers of the wrong sign
    while state.may_continue:
        following = _next_on_arcs(state, current, meshes, current is start, fitted)
        state = state.recorded(following)
        if following.outcome is Outcome.ITERATIONS and current is not start:
            # Close to a solution Newton's method ends soon or wanders; from other multipliers it
            # hardly does both times.
            following = _next_on_arcs(state, current, meshes, False, not fitted)
            state = state.recorded(following)
        check = checked(following)
        no_better = repairs > 0 and costs_more(following, current)
        if not following.solved or (
            check.refuted and (no_better or repairs == method.arcs.proposals)
        ):
            return OnArcs(
                state,
                _best_on_arcs(confirmed, refuted, method),
                check.suspects(following),
                tuple(refuted),
            )
        current = following
        confirmed += [] if check.refuted else [current]
        refuted += [current] if check.refuted and current.error <= method.tolerance else []
        vanished = any(collapsed(view) for view in current.phases)
        fitted = vanished or not check.refuted
        if check.refuted or (vanished and repairs < method.arcs.proposals):
            repairs += 1
            # Beside an arc without length multipliers are not unique: signs count once it is gone.
            mended = tuple(
                repaired(view, np.zeros_like(signs.where) if vanished else signs.where)
                for view, signs in zip(current.phases, check.signs, strict=True)
            )
            if any(structure is not None for structure in mended):
                meshes = arc_meshes(current, mended, keep=True)
                continue
            if check.refuted:
                return OnArcs(state, None, check.suspects(current), tuple(refuted))
        joins = [continuous_knots(view) for view in current.phases]
        loose = any(
            set(j) - set(view.layout.mesh.joined)
            for view, j in zip(current.phases, joins, strict=True)
        )
        if current.error <= method.tolerance and not loose:
            return OnArcs(state, current)
        if _stalled(confirmed):
            break
        meshes = _refined_arcs(current, joins)
    return OnArcs(state, _best_on_arcs(confirmed, refuted, method), unconfirmed=tuple(refuted))


def _stalled(solutions: list[MeshSolution], meshes: int = 3) -> bool:
    """True if the last ``meshes`` did not halve the error."""
    errors = [one.error for one in solutions]
    return len(errors) > meshes and min(errors[-meshes:]) > 0.5 * min(errors[:-meshes])


def _best_on_arcs(
    confirmed: list[MeshSolution], refuted: list[MeshSolution], method: Collocation
) -> MeshSolution | None:
    """Of solutions that confirm their arcs, the last within the tolerance, or else that with the
    smallest error.

    Where all conditions leave no freedom, multipliers are not unique and their signs prove nothing:
    a refuted solution is kept if the repaired arcs, which have more freedom, do not reduce the
    cost.
    """
    best = min(reversed(confirmed), key=lambda one: max(one.error, method.tolerance), default=None)
    if best is not None and best.error > method.tolerance:
        best = next((one for one in refuted if not costs_more(one, best)), best)
    return best


def _next_on_arcs(
    state: State, current: MeshSolution, meshes: Meshes, first: bool, fitted: bool
) -> MeshSolution:
    # Small, since little is left for the bounds to decide, and a larger barrier would move the
    # solution away first. Monotone, since a singular control hardly changes the cost, and settles
    # at a wrong place where the barrier falls too fast.
    effort = Effort(state.method.round_off, monotone=True, fitted=fitted)
    if first and any(mesh.held is not None and mesh.held.any() for mesh in meshes[0]):
        effort = state.context.from_feasible  # the ends of boundary arcs may be far off yet
    entered = tuple(
        with_entries(mesh, view) for mesh, view in zip(meshes[0], current.phases, strict=True)
    )
    return solve_mesh(
        state.context.quick, entered, current.trajectories, effort, meshes[1], PassKind.ARCS
    )


def _refined_arcs(current: MeshSolution, joins: list[tuple[int, ...]]) -> Meshes:
    phases = zip(current.phases, current.estimates, joins, strict=True)
    meshes = tuple(
        refine_mesh(replace(view.layout.mesh, joined=j), e, view.method) for view, e, j in phases
    )
    return meshes, tuple(view.values.spans for view in current.phases)


def arc_meshes(
    solution: MeshSolution, structures: tuple[Structure | None, ...], keep: bool = False
) -> Meshes:
    """The first meshes on given arcs, by phase; with ``keep`` the intervals of the solution stay
    where they are narrow.
    """
    pairs = []
    for view, structure in zip(solution.phases, structures, strict=True):
        mesh = view.layout.mesh
        if structure is None:
            pairs.append((mesh, view.values.spans))
        else:
            kept = (view.values.breaks, mesh.degrees) if keep else None
            pairs.append(arc_mesh(structure, view.kernels.affine, view.method.arcs, kept))
    return tuple(mesh for mesh, _ in pairs), tuple(times for _, times in pairs)


def arcs_of_guess(state: State) -> State:
    """An attempt: the arcs of an earlier solution, moved to where they are now."""
    method = state.method
    if method.mesh is not None or method.scheme.shares_nodes or method.max_passes == 1:
        return state
    meshes = _meshes_of_guess(state)
    if meshes is None:
        return state
    effort = Effort(method.round_off, monotone=True, fitted=False)
    first = solve_mesh(
        state.context.quick, meshes[0], state.guess, effort, meshes[1], PassKind.ARCS
    )
    state = state.recorded(first)
    if not first.solved:
        return state
    settled = not any(
        collapsed(v) or set(continuous_knots(v)) - set(v.layout.mesh.joined) for v in first.phases
    )
    if first.error <= method.tolerance and not checked(first).refuted and settled:
        return state.with_best(first)
    on_arcs = solve_on_arcs(
        state,
        first,
        (tuple(v.layout.mesh for v in first.phases), tuple(v.values.spans for v in first.phases)),
    )
    return replace(on_arcs.state, best=on_arcs.solution)


def _meshes_of_guess(state: State) -> Meshes | None:
    """Meshes and times of the earlier solution with its arcs; None where nothing switches."""
    context = state.context
    meshes: list[Mesh] = []
    knots: list[Array | None] = []
    plain = first_meshes(context, state.guess)
    for form, kernels, start, mesh in zip(
        context.form.phases, context.kernels.phases, state.guess.phases, plain, strict=True
    ):
        structure = _structure_of_guess(form, start) if kernels.affine.any() else None
        if structure is None:
            meshes.append(mesh)
            knots.append(None)
            continue
        own = _own_mesh(structure, start, kernels.affine, state.method)
        meshes.append(
            arc_mesh(structure, kernels.affine, state.method.arcs)[0] if own is None else own
        )
        knots.append(structure.times)
    return (tuple(meshes), tuple(knots)) if any(times is not None for times in knots) else None


def _structure_of_guess(form: PhaseForm, start: Trajectory) -> Structure | None:
    """The arcs of a guess, by number; None where they do not cover the phase."""
    arcs = start.arcs
    if not arcs or any(name not in arc.roles for arc in arcs for name in form.u_names):
        return None
    times = np.array([start.t0, *[arc.end for arc in arcs[:-1]], start.tf])
    if np.any(np.diff(times) <= 0):
        return None
    return Structure(
        times, _roles(start, form.u_names), _roles(start, (*form.x_names, *form.c_names))
    )


def _roles(start: Trajectory, names: tuple[str, ...]) -> NDArray[np.int_]:
    """(arcs, names): which bound each is at, if one."""
    at = {side: role for role, side in SIDES.items()}
    rows = [[at.get(arc.roles.get(name, ""), FREE) for name in names] for arc in start.arcs]
    return np.array(rows, dtype=int).reshape(len(start.arcs), len(names))


def _own_mesh(
    structure: Structure, start: Trajectory, affine: NDArray[np.bool_], method: Collocation
) -> Mesh | None:
    """The earlier solution's mesh, if its arcs end at breaks."""
    if start.mesh is None:
        return None
    breaks, degrees = start.mesh
    ends = (structure.times[1:-1] - start.t0) / (start.tf - start.t0)
    knots = np.array([int(np.argmin(np.abs(breaks - end))) for end in ends], dtype=int)
    near = np.sqrt(np.finfo(float).eps)
    if np.any(np.abs(breaks[knots] - ends) > near) or np.any(
        np.diff([0, *knots, breaks.size - 1]) < 1
    ):
        return None
    of_interval = np.searchsorted(knots, np.arange(breaks.size - 1), side="right")
    roles, held = structure.roles[of_interval], structure.held[of_interval]
    singular = (roles == FREE) & affine & (np.abs(held).sum(axis=1) == 0)[:, None]
    points = np.where(roles != FREE, 1, np.where(singular, method.arcs.singular_points, 0))
    return Mesh(breaks, np.array(degrees), tuple(int(k) for k in knots), roles, points, held)
