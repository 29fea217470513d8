"""A remedy for controls that do not make the Hamiltonian smallest: the relaxed problem finds where
they jump, or chatter.

Where two minima of H in the controls exchange roles, the best control jumps although H is not
affine in it. Where they stay equally good on a time interval, no control attains the minimum:
faster and faster switching between both approaches the infimum. In the relaxed problem
(``relaxed_form``) the share of the first control enters affinely: a jump is a switch of the share,
chattering a singular arc of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.arc_refinement import Meshes, arc_meshes, solve_on_arcs
from trajopt.direct.arc_structure import Structure
from trajopt.direct.collocation import DECADE, DISTINCT
from trajopt.direct.control_error import with_control_error
from trajopt.direct.first_solution import first_solution
from trajopt.direct.hamiltonian_minimum import OtherMinimum, excess, other_minima
from trajopt.direct.interpolation import point_curve
from trajopt.direct.kernels import make_kernels
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.refinement_loop import refine
from trajopt.direct.relaxed_form import copied_columns, relaxed_form
from trajopt.direct.search import State, costs_more
from trajopt.direct.solve_mesh import solve_mesh
from trajopt.nlp.backends import Effort
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.arcs import AT_LOWER, AT_UPPER, FREE
from trajopt.trajectory.curve import Curve, stacked_curves
from trajopt.trajectory.trajectory import Trajectories

Array = NDArray[np.float64]
Line = Callable[[Array], Array]

MIXTURE = "a mixture of two controls"


@dataclass(frozen=True, eq=False)
class Mixture:
    """A relaxed problem, and which controls of each phase have a copy in it."""

    form: NormalForm
    # by phase: components of the controls; none where the phase is as it was
    copies: tuple[list[int], ...]

    def chosen(self, view: PhaseView) -> tuple[Array, Array, Array]:
        """(points, controls), twice, and (points,): the two controls of a phase of a solution, and
        the share of the first.
        """
        copies, U = self.copies[view.index], view.values.U
        if not copies:
            return U, U, np.ones(U.shape[0])
        count = U.shape[1] - len(copies) - 1
        second = U[:, :count].copy()
        second[:, copies] = U[:, count:-1]
        return U[:, :count], second, U[:, -1]


def mixture_helps(state: State) -> bool:
    """True if other controls have a smaller Hamiltonian than those of the solution."""
    solution, method = state.solution, state.method
    usable = solution.solved and solution.error <= method.refinement.rough and method.max_passes > 1
    return usable and excess(solution) > method.tolerance


def mixture_of_controls(state: State) -> State:
    """The solution with moving knots where the control of the relaxed problem jumps, or that
    problem's own where it chatters.
    """
    others = other_minima(state.solution)
    mixture = _mixture(state.context.form, state.solution, others)
    if mixture is None:
        return state
    inner = first_solution(_relaxed_state(state, mixture, others))
    if inner.solution.solved and chattering(inner.solution, mixture):
        inner = refine(inner)
    passes = state.passes + inner.passes
    if not inner.solution.solved:
        return replace(state, passes=passes)
    lines = chattering(inner.solution, mixture)
    if lines and inner.solution.error <= state.method.tolerance:
        return replace(
            state, passes=passes, context=inner.context, best=inner.solution, chattering=lines
        )
    jumps = _with_jumps(replace(state, passes=()), inner.solution, mixture)
    return replace(jumps, passes=passes + jumps.passes)


def not_more_costly(trial: State, state: State) -> bool:
    """As accurate as the old solution, which is off by what its Hamiltonian exceeds the smallest,
    and not dearer.

    The value of the relaxed problem counts in any case.
    """
    new, old = trial.solution, state.solution
    within = new.error <= max(state.method.tolerance, old.error, excess(old))
    return bool(trial.chattering) or (
        new is not old and new.solved and within and not costs_more(new, old)
    )


def _mixture(
    form: NormalForm, solution: MeshSolution, others: tuple[OtherMinimum, ...]
) -> Mixture | None:
    chosen = [
        ~view.kernels.affine & (other.loss > 0)
        for view, other in zip(solution.phases, others, strict=True)
    ]
    relaxed = relaxed_form(form, tuple(chosen))
    if relaxed is None:
        return None
    return Mixture(
        relaxed,
        tuple(copied_columns(ph, which) for ph, which in zip(form.phases, chosen, strict=True)),
    )


def _relaxed_state(state: State, mixture: Mixture, others: tuple[OtherMinimum, ...]) -> State:
    """A search that begins with equal shares of the controls of a solution and of
    the best others.
    """
    old, solution = state.context, state.solution
    kernels = make_kernels(mixture.form)
    # the controls of a mixture are others than those that were settled
    context = replace(
        old, stated=mixture.form, form=mixture.form, kernels=kernels, interim=None, settling=None
    )
    pairs = [
        _ordered(v, other, copies)
        for v, other, copies in zip(solution.phases, others, mixture.copies, strict=True)
    ]
    first, second = (solution.stepped([pair[i] for pair in pairs]) for i in (0, 1))
    phases = [
        replace(a, u=_both(a.u, b.u, copies)) if copies else a
        for a, b, copies in zip(first.phases, second.phases, mixture.copies, strict=True)
    ]
    return State(context, Trajectories(tuple(phases), first.s), False)


def _ordered(view: PhaseView, other: OtherMinimum, copies: list[int]) -> tuple[Array, Array]:
    """(points, controls), twice: both controls, in an order that does not change along the phase.

    The two may exchange their names without any effect; a control that changed from one minimum to
    the other would not be smooth.
    """
    u, v = view.values.U, other.controls
    if not copies:
        return u, u
    difference = (v - u)[:, copies] / view.u_size[copies]
    swap = difference[np.arange(u.shape[0]), np.abs(difference).argmax(axis=1)] < 0
    return np.where(swap[:, None], v, u), np.where(swap[:, None], u, v)


def _both(first: Curve, second: Curve, copies: list[int]) -> Curve:
    half = Curve.steps(first.breaks, np.full((first.breaks.size - 1, 1), 0.5))
    return stacked_curves([first, second.rows(copies), half])


def chattering(solution: MeshSolution, mixture: Mixture) -> tuple[str, ...]:
    """The message if two different controls share the time on an arc; empty otherwise."""
    lines = []
    for view in solution.phases:
        ph, (u, v, share) = view.layout, mixture.chosen(view)
        least = 1 / DECADE
        apart = _apart(u.T, v.T) & _apart(*_effects(view))
        mixed = np.logical_and.reduceat(
            apart & (share > least) & (share < 1 - least), ph.grid.first_point
        )
        for run in np.split(np.arange(mixed.size), np.flatnonzero(np.diff(mixed)) + 1):
            if mixed[run[0]] and run.size > 1:
                start, end = view.values.breaks[run[0]], view.values.breaks[run[-1] + 1]
                point = ph.grid.first_point[run[run.size // 2]]
                lines.append(
                    f"from t = {start:.6g} to {end:.6g} the control chatters, "
                    + _between(ph.form, u[point], v[point])
                )
    if lines:
        lines.insert(
            0, "no control attains this cost: it is the infimum, that of a mixture of two controls"
        )
    return tuple(lines)


def _apart(first: Array, second: Array) -> NDArray[np.bool_]:
    """(points,): where rows differ by more than a small part of what they vary by."""
    spread = np.maximum(first, second).max(axis=1) - np.minimum(first, second).min(axis=1)
    return np.asarray(np.any(np.abs(first - second) > DISTINCT * spread[:, None], axis=0))


def _effects(view: PhaseView) -> tuple[Array, Array]:
    """(rows, points), twice: rates, constraints and cost with one control alone and with the other.

    Controls with the same effect are one choice with two names, as two angles a turn apart.
    """
    inputs, data, parameters = view.arguments
    share = view.layout.control_inputs.stop - 1
    found = []
    for whole in (1.0, 0.0):
        alone = np.array(inputs)
        alone[share] = whole
        rows = [np.asarray(view.kernel.constraints(alone, data, parameters))]
        if view.kernel.objective_rows:
            rows.append(np.atleast_2d(view.kernel.objective(alone, data, parameters)))
        found.append(np.vstack(rows))
    return found[0], found[1]


def _between(phase: PhaseForm, u: Array, v: Array) -> str:
    names = phase.u_names[: u.size]
    return "between " + " and ".join(
        ", ".join(f"{n} = {a:.4g}" for n, a in zip(names, of, strict=True)) for of in (u, v)
    )


def _with_jumps(state: State, relaxed: MeshSolution, mixture: Mixture) -> State:
    """The problem itself, with moving knots where the share of the first control switches."""
    structures, phases = [], []
    for view, start in zip(relaxed.phases, relaxed.trajectories.phases, strict=True):
        u, v, share = mixture.chosen(view)
        # (intervals,)
        first = (
            np.add.reduceat(view.layout.grid.weights * (share - 0.5), view.layout.grid.first_point)
            > 0
        )
        chosen = np.where(first[view.layout.grid.interval_of][:, None], u, v)
        phases.append(replace(start, u=point_curve(view, chosen)))
        structures.append(_structure(view, chosen) if mixture.copies[view.index] else None)
    guess = Trajectories(tuple(phases), relaxed.trajectories.s)
    meshes = arc_meshes(state.solution, tuple(structures))
    near = Effort(state.method.round_off, monotone=True, fitted=False)
    on_knots = solve_mesh(state.context, meshes[0], guess, near, meshes[1], PassKind.ARCS)
    state = state.recorded(on_knots)
    if not on_knots.solved:
        return state
    views = on_knots.phases
    again: Meshes = tuple(v.layout.mesh for v in views), tuple(v.values.spans for v in views)
    on_arcs = solve_on_arcs(state, on_knots, again)
    best = with_control_error(on_arcs.solution or on_knots)
    if best.error <= state.method.tolerance:
        return on_arcs.state.with_best(best)
    return _between_jumps(on_arcs.state.with_best(best))


def _between_jumps(state: State) -> State:
    """Refined with breaks where the knots are: kinks of controls, where bounds become active, need
    breaks of their own.

    The cost changes with the square of the distance between the knots and the best times of the
    jumps.
    """
    meshes = []
    for view in state.solution.phases:
        times, vanished = view.values.breaks, view.method.arcs.active
        breaks = (times - times[0]) / (times[-1] - times[0])
        lasting = np.diff(breaks) > vanished
        breaks = np.append(breaks[:-1][lasting], 1.0)
        breaks[0] = 0.0
        free = np.zeros((breaks.size - 1, view.layout.nu), dtype=int)
        degrees = view.layout.mesh.degrees[lasting]
        meshes.append(Mesh(breaks, degrees, control_points=free))
    fixed = solve_mesh(
        state.context.quick,
        tuple(meshes),
        state.solution.trajectories,
        Effort(state.method.round_off),
    )
    inner = (
        refine(replace(state, passes=()).recorded(fixed).with_best(fixed))
        if fixed.solved
        else state
    )
    better = inner.solution.solved and inner.solution.error < state.solution.error
    return replace(inner if better else state, passes=state.passes + inner.passes)


def _bounds_held(view: PhaseView, u: Array) -> NDArray[np.int_]:
    """(intervals, controls): the bound at which a control is at all points of an
    interval, if one.
    """
    bound, first = view.layout.form.u_bound, view.layout.grid.first_point
    low, high = bound.lower[: u.shape[1]], bound.upper[: u.shape[1]]
    margin = view.method.arcs.at_bound * (u.max(axis=0) - u.min(axis=0))
    at_lower, at_upper = (
        np.logical_and.reduceat(at, first, axis=0) for at in (u - low <= margin, high - u <= margin)
    )
    return np.where(at_lower, AT_LOWER, np.where(at_upper, AT_UPPER, FREE))


def _structure(view: PhaseView, u: Array) -> Structure | None:
    """Arcs between the jumps of controls (points, controls); those of affine ones stay.

    None with a single arc.
    """
    mesh, ph, controls = view.layout.mesh, view.layout, u.shape[1]
    affine = view.kernels.affine[:controls]
    roles = (
        np.zeros((mesh.intervals, controls), dtype=int)
        if mesh.roles is None
        else mesh.roles[:, :controls]
    )
    roles = np.where(affine, roles, _bounds_held(view, u))
    # a temperature varies little beside its size
    far = DISTINCT * (u.max(axis=0) - u.min(axis=0))
    jumps = (np.abs(u[ph.grid.first_point[1:]] - u[ph.grid.first_point[1:] - 1]) > far) & ~affine
    starts = np.flatnonzero(np.any(jumps | (np.diff(roles, axis=0) != 0), axis=1)) + 1
    if not starts.size:
        return None
    starts = np.array([0, *starts])
    held = np.zeros((starts.size, len(ph.form.x_names) + ph.nc), dtype=int)
    return Structure(view.values.breaks[[*starts, mesh.intervals]], roles[starts], held)
