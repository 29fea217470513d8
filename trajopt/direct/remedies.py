"""Remedies: second tries for a solution that is poor, or that may be a local optimum or a saddle point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from trajopt.control_guess import start_guess
from trajopt.direct.control_error import last_coefficients
from trajopt.direct.explain import violations
from trajopt.direct.first_solution import first_meshes, first_solution
from trajopt.direct.mesh import Mesh
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.presolve import violated_limits
from trajopt.direct.refinement_loop import refine
from trajopt.direct.relaxation import MIXTURE, mixture_helps, mixture_of_controls, not_more_costly
from trajopt.direct.search import Remedy, State, costs_more
from trajopt.direct.solve_mesh import Context, solve_mesh
from trajopt.direct.undetermined import settling_of
from trajopt.guess import Guess, detoured, plain_guess
from trajopt.nlp.backends import Outcome
from trajopt.normal_form import NormalForm


def _tried(state: State, meshes: tuple[Mesh, ...], guess: Guess, kind: PassKind) -> State:
    other = solve_mesh(state.context.quick, meshes, guess, None, kind=kind)
    return state.recorded(other).with_best(other)


def _joined(state: State, inner: State) -> State:
    """A search inside another: what it found, with the records of both."""
    return replace(inner, passes=state.passes + inner.passes, events=state.events + inner.events, violations=state.violations)


def _several_meshes(state: State) -> bool:
    return state.solution.solved and state.method.max_passes > 2


# Before refinement


def _symmetric(state: State) -> bool:
    """True if the first solution may be a saddle point of a symmetric problem."""
    return not state.given and state.solution.solved and (_stayed(state) or _no_multipliers(state.solution))


def _no_multipliers(solution: MeshSolution) -> bool:
    """True if neither a bound nor an equation has a multiplier: so it is at the best solution of all, and at the worst.

    Symmetric problems may end there (a turn of zero, between left and right), since the conditions of first order hold there.
    """
    multipliers = np.concatenate([solution.result.bound_multipliers, solution.result.constraint_multipliers])
    return bool(np.abs(multipliers).max(initial=0.0) <= solution.phases[0].method.round_off * solution.cost_reach)


def _stayed(state: State) -> bool:
    """True if a control without a guess kept its initial value inside its bounds everywhere: a turn about one axis alone."""
    for view, start in zip(state.solution.phases, state.guess.phases, strict=True):
        form, U = view.layout.form, view.values.U
        moved = np.abs(U - start.u(np.linspace(0.0, 1.0, U.shape[0]))).max(axis=0, initial=0.0)
        usual = np.abs(view.layout.controls(view.sizes)).max(axis=0, initial=0.0)
        first = start.u(np.zeros(1))[0]
        plain = np.concatenate([np.zeros(0, dtype=bool), *[np.full(q.size, q.guess is None) for q in form.controls]])
        inside = (first > form.u_bound.lower) & (first < form.u_bound.upper)
        if np.any(plain & inside & (moved <= view.method.round_off * usual)):
            return True
    return False


def _off_centre(state: State) -> State:
    """Controls that begin away from the middle of their ranges; where one stayed there, states on a detour as well."""
    meshes = tuple(view.layout.mesh for view in state.solution.phases)
    guess = detoured(
        plain_guess(state.context.form, bend=0.5, parameters=state.context.parameters), 1 / 3 if _stayed(state) else 0.0
    )
    return _tried(state, meshes, guess, PassKind.OFF_CENTRE)


def _jumping(state: State) -> bool:
    """True if controls jump to and fro between neighbouring points: as good there, but no polynomials."""
    if not _several_meshes(state) or any(v.layout.nc or v.layout.mesh.control_points is None for v in state.solution.phases):
        return False
    jumps = np.concatenate([3 * last_coefficients(view) > 1 for view in state.solution.phases])
    far = state.solution.error > state.method.tolerance / state.method.refinement.rough**2
    return far and 3 * float(jumps.mean()) > 1


def _constant(state: State) -> State:
    """One value of each control on an interval, one of those it has there."""
    layouts = [view.layout for view in state.solution.phases]
    meshes = tuple(replace(ph.mesh, control_points=np.ones((ph.mesh.intervals, ph.nu), int)) for ph in layouts)
    return _tried(state, meshes, state.solution.stepped_guess(), PassKind.CONSTANT)


def _undetermined(state: State) -> bool:
    """True if the cost does not determine some control, which keeps the mesh from being accurate."""
    inaccurate = _several_meshes(state) and state.solution.error > state.method.tolerance
    return inaccurate and settling_of(state.solution) is not None


def _settled(state: State) -> State:
    settling = settling_of(state.solution)
    assert settling is not None
    # The regularization is strictly convex in these controls: they do not switch.
    pairs = zip(state.context.kernels.phases, settling.controls, strict=True)
    phases = tuple(replace(kernels, affine=kernels.affine & ~chosen) for kernels, chosen in pairs)
    context = replace(state.context, settling=settling, kernels=replace(state.context.kernels, phases=phases))
    return _tried(replace(state, context=context), first_meshes(context), state.solution.guess, PassKind.SETTLED)


def _as_cheap(trial: State, state: State) -> bool:
    return trial.solution.usable and not costs_more(trial.solution, state.solution)


def _cheaper(trial: State, state: State) -> bool:
    return trial.solution.solved and trial.solution.result.f < state.solution.result.f


def _far_more_accurate(trial: State, state: State) -> bool:
    rough = state.method.refinement.rough
    return trial.solution.solved and trial.solution.error < rough * state.solution.error


BEFORE_REFINEMENT = (
    Remedy("controls off centre", _symmetric, _off_centre, _cheaper),
    Remedy("settled controls", _undetermined, _settled, _as_cheap),
    Remedy("constant controls", _jumping, _constant, _far_more_accurate),
)


# After refinement


def _poor_mesh(state: State) -> bool:
    """True if the refined solution does not hold between its points, or violates less than its own error."""
    solution = state.solution
    elastic = solution.outcome is Outcome.LEAST_VIOLATION
    violates_little = elastic and max((v.relative for v in violations(solution)), default=0.0) < solution.error
    last = state.passes[-1].record.seconds == solution.seconds  # no later mesh was worse
    unresolved = solution.solved and solution.error > state.method.refinement.rough and not last
    return state.method.mesh is None and state.finer == 1 and (unresolved or violates_little)


def _finer_mesh(state: State) -> State:
    guess = start_guess(state.context.form, state.context.parameters)
    return _joined(state, refine(first_solution(state.again(guess, finer=3))))


def _solved_or_elastic(trial: State, state: State) -> bool:
    return trial.solution.outcome in (Outcome.SOLVED, Outcome.LEAST_VIOLATION)


AFTER_REFINEMENT = (
    Remedy("a finer first mesh", _poor_mesh, _finer_mesh, _solved_or_elastic),
    Remedy(MIXTURE, mixture_helps, mixture_of_controls, not_more_costly),
)


NO_FIRST_INTEGRAL = "without first integrals"


def no_first_integral(form: NormalForm, search: Callable[[State], State]) -> Remedy:
    """The whole ``search`` again, with all limits of ``form``: what seemed to be a first integral is none."""

    def applies(state: State) -> bool:
        violated = violated_limits(form, state.solution)
        limit = max(state.solution.error, state.method.round_off) / state.method.refinement.rough**2
        return state.solution.solved and violated > limit

    def attempt(state: State) -> State:
        old = state.context
        context = Context.start(form, old.method, old.parameters, old.progress, old.deadline, use_integrals=False)
        inner = State(replace(context, interim=old.interim), state.guess, state.given)
        return _joined(state, search(inner))

    return Remedy(NO_FIRST_INTEGRAL, applies, attempt, lambda trial, state: True)
