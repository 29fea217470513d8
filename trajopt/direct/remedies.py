"""Remedies: second tries for a solution that is poor, or that may be a local optimum or a saddle
point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.direct.first_meshes import first_meshes
from trajopt.direct.first_solution import first_solution
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.other_starts import OTHER_STARTS, off_centre
from trajopt.direct.refinement_loop import refine
from trajopt.direct.relaxation import MIXTURE, mixture_helps, mixture_of_controls, not_more_costly
from trajopt.direct.search import Remedy, State, costs_more
from trajopt.direct.solve_mesh import solve_mesh
from trajopt.direct.undetermined import settled_guess, settling_of
from trajopt.guess.controls import start_guess
from trajopt.trajectory.trajectory import Trajectories

FINER = 3  # times as many intervals in the first mesh


def _tried(state: State, meshes: tuple[Mesh, ...], guess: Trajectories, kind: PassKind) -> State:
    other = solve_mesh(state.context.quick, meshes, guess, kind=kind)
    return state.recorded(other).with_best(other)


def _several_meshes(state: State) -> bool:
    return state.solution.solved and state.method.max_passes > 2


# Before refinement


def _symmetric(state: State) -> bool:
    """True if the first solution may be a saddle point of a symmetric problem."""
    return (
        not state.given
        and state.solution.solved
        and (_stayed(state) or _no_multipliers(state.solution))
    )


def _no_multipliers(solution: MeshSolution) -> bool:
    """True if neither a bound nor an equation has a multiplier: so it is at the best solution of
    all, and at the worst.

    Symmetric problems may end there (a turn of zero, between left and right), since the conditions
    of first order hold there.
    """
    multipliers = np.concatenate(
        [solution.result.bound_multipliers, solution.result.constraint_multipliers]
    )
    return bool(
        np.abs(multipliers).max(initial=0.0)
        <= solution.phases[0].method.round_off * solution.cost_reach
    )


def _stayed(state: State) -> bool:
    """True if a control without a guess kept its initial value inside its bounds everywhere: a turn
    about one axis alone.
    """
    for view, start in zip(state.solution.phases, state.guess.phases, strict=True):
        form, U = view.layout.form, view.values.U
        places = start.times(np.linspace(0.0, 1.0, U.shape[0]))
        moved = np.abs(U - start.u.evaluate(places)).max(axis=0, initial=0.0)
        usual = np.abs(view.layout.controls(view.sizes)).max(axis=0, initial=0.0)
        first = start.u.evaluate(np.array([start.t0]))[0]
        plain = np.concatenate(
            [np.zeros(0, dtype=bool), *[np.full(q.size, q.guess is None) for q in form.controls]]
        )
        inside = (first > form.u_bound.lower) & (first < form.u_bound.upper)
        if np.any(plain & inside & (moved <= view.method.round_off * usual)):
            return True
    return False


def _off_centre(state: State) -> State:
    """From controls off centre; where one stayed there, with states on a detour as well."""
    meshes = tuple(view.layout.mesh for view in state.solution.phases)
    guess = off_centre(state, 1 / 3 if _stayed(state) else 0.0)
    return _tried(state, meshes, guess, PassKind.OFF_CENTRE)


def _undetermined(state: State) -> bool:
    """True if the cost does not determine some control, which keeps the mesh
    from being accurate.
    """
    inaccurate = _several_meshes(state) and state.solution.error > state.method.tolerance
    return inaccurate and settling_of(state.solution) is not None


def _settled(state: State) -> State:
    settling = settling_of(state.solution)
    assert settling is not None
    # The regularization is strictly convex in these controls: they do not switch.
    pairs = zip(state.context.kernels.phases, settling.controls, strict=True)
    phases = tuple(replace(kernels, affine=kernels.affine & ~chosen) for kernels, chosen in pairs)
    context = replace(
        state.context, settling=settling, kernels=replace(state.context.kernels, phases=phases)
    )
    return _tried(
        replace(state, context=context),
        first_meshes(context),
        settled_guess(state.solution),
        PassKind.SETTLED,
    )


def _as_cheap(trial: State, state: State) -> bool:
    return trial.solution.usable and not costs_more(trial.solution, state.solution)


def _cheaper(trial: State, state: State) -> bool:
    """True if a solution on the same mesh costs less; of two that cost the same within the
    tolerance, which rounding would order, the first stays.
    """
    new, old = trial.solution, state.solution
    return new.solved and new.result.f < old.result.f - state.method.tolerance * old.cost_size


BEFORE_REFINEMENT = (
    Remedy(OTHER_STARTS, _symmetric, _off_centre, _cheaper),
    Remedy("settled controls", _undetermined, _settled, _as_cheap),
)


# After refinement


def _poor_mesh(state: State) -> bool:
    """True if the refined solution does not hold between its points: the first mesh was too coarse
    to see what is there.
    """
    solution = state.solution
    last = state.passes[-1].has(solution)  # no later mesh was worse
    unresolved = solution.solved and solution.error > state.method.refinement.rough and not last
    return unresolved and state.method.mesh is None and state.context.finer == 1


def _finer_mesh(state: State) -> State:
    context = replace(state.context, finer=FINER)
    guess = start_guess(context.stated, context.parameters)
    found = refine(first_solution(State(context, guess, False)))
    found = replace(found, passes=state.passes + found.passes, events=state.events + found.events)
    return replace(found, context=state.context)


def _solved(trial: State, state: State) -> bool:
    return trial.solution.solved


AFTER_REFINEMENT = (
    Remedy("a finer first mesh", _poor_mesh, _finer_mesh, _solved),
    Remedy(MIXTURE, mixture_helps, mixture_of_controls, not_more_costly),
)
