"""Collocation: solve a problem on a mesh, look at the error, and go on until it is small enough."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.costates import PhaseMultipliers, multipliers_of
from trajopt.direct.kernels import Kernels, make_kernels
from trajopt.direct.mesh import Mesh
from trajopt.direct.refine import Estimate, estimate, refined
from trajopt.direct.scaling import scales
from trajopt.direct.schemes import Radau, Scheme
from trajopt.direct.structure import Structure, arc_mesh, control_loss, find_structure, switching, wants_to_leave
from trajopt.direct.transcribe import Layout, make_layout, transcribe
from trajopt.direct.values import PhaseValues, guess_of, read, unwound, write
from trajopt.guess import Guess
from trajopt.nlp.backends import Backend, Ipopt, Outcome, Result
from trajopt.nlp.program import Program, scaled, without_cost
from trajopt.normal_form import NormalForm
from trajopt.solution import MeshPass

Array = NDArray[np.float64]
Progress = Callable[[str], None]

FIRST = (8, 5)  # intervals and degree of the first mesh of a smooth problem
ROUGH = 1e-3  # an error above which controls are kept straight on each interval
ON_ARCS = "moving knots"
MOST_DOUBT = 0.02  # of the held controls' push may have the wrong sign before the arcs are given up


@dataclass(frozen=True)
class Collocation:
    """Direct collocation with automatic meshes.

    Parameters
    ----------
    scheme : Scheme
        Radau by default.
    mesh : Mesh or None
        The same first mesh for every phase; None chooses it.
    backend : Backend
        The solver of the nonlinear programs.
    tolerance : float
        Of the estimated relative error of the states between the nodes.
    max_passes : int
        How many meshes are tried; 1 keeps the first.
    """

    scheme: Scheme = field(default_factory=Radau)
    mesh: Mesh | None = None
    backend: Backend = field(default_factory=Ipopt)
    tolerance: float = 1e-6
    max_passes: int = 12


@dataclass(frozen=True, eq=False)
class Iterate:
    """The answer of the program on one mesh, in physical units."""

    layout: Layout
    program: Program  # its start is the answer
    result: Result
    values: tuple[PhaseValues, ...]
    constraint_multipliers: Array
    bound_multipliers: Array
    multipliers: tuple[PhaseMultipliers, ...]
    estimates: tuple[Estimate, ...]
    row_scales: Array
    constraint_values: Array
    doubt: float  # how far the held controls want to leave their bounds, 0 to 1
    record: MeshPass

    @property
    def solved(self) -> bool:
        return self.result.outcome is Outcome.SOLVED

    @property
    def error(self) -> float:
        return max(float(e.errors.max()) for e in self.estimates)

    @property
    def violation(self) -> float:
        """The largest scaled violation of a constraint."""
        g, program = self.constraint_values, self.program
        excess = np.maximum(np.maximum(program.g_lower - g, g - program.g_upper), 0.0) * self.row_scales
        return float(np.nan_to_num(excess, nan=np.inf).max(initial=0.0))

    @property
    def objective(self) -> float:
        return self.result.f * self.layout.form.sense


@dataclass(frozen=True, eq=False)
class Session:
    """What stays the same from mesh to mesh."""

    form: NormalForm
    kernels: Kernels
    method: Collocation
    parameters: Array
    progress: Progress

    @staticmethod
    def start(form: NormalForm, method: Collocation, parameters: Array, progress: Progress) -> Session:
        return Session(form, make_kernels(form), method, parameters, progress)


def first_meshes(session: Session) -> tuple[Mesh, ...]:
    """Few intervals of high degree where controls act smoothly; more, with constant controls, where they may switch."""
    meshes = []
    for phase, kernels in zip(session.form.phases, session.kernels.phases, strict=True):
        if session.method.mesh is not None:
            meshes.append(session.method.mesh)
            continue
        scheme = session.method.scheme
        affine = kernels.affine
        if scheme.shares_nodes:
            meshes.append(Mesh.uniform(30, scheme.rule(scheme.degree).degree))
            continue
        mesh = Mesh.uniform(30, 3) if affine.any() else Mesh.uniform(FIRST[0], FIRST[1])
        # One value fewer than collocation points keeps a control from doing between the points what nobody sees there.
        meshes.append(replace(mesh, control_points=np.tile(np.where(affine, 1, -1), (mesh.intervals, 1))))
    return tuple(meshes)


def solve_on(
    session: Session, meshes: tuple[Mesh, ...], guess: Guess, warm: float | None, knots: tuple[Array | None, ...] | None = None, remark: str = "",
    with_cost: bool = True,
) -> Iterate:  # fmt: skip
    """One program: transcribe, scale, solve, read, estimate."""
    began = time.perf_counter()
    layout = make_layout(session.form, session.kernels, session.method.scheme, meshes)
    program = transcribe(session.kernels, layout, write(layout, guess, knots), session.parameters)
    if not with_cost:
        program = without_cost(program)
    columns, rows = scales(layout, program)
    result = session.method.backend.solve(scaled(program, columns, rows), warm)
    y = unwound(layout, tuple(k.angles for k in session.kernels.phases), result.y * columns)
    constraint, bound = result.constraint_multipliers * rows, result.bound_multipliers / columns
    program = replace(program, start=y)
    values = read(layout, y)
    estimates = estimate(layout, program, values)
    multipliers = multipliers_of(session.kernels, layout, program, values, bound, constraint)
    held = [(i, ph, v) for i, (ph, v) in enumerate(zip(layout.phases, values, strict=True)) if ph.mesh.roles is not None]
    doubt = max((wants_to_leave(ph, switching(ph, program, i, v, constraint)) for i, ph, v in held), default=0.0)
    record = MeshPass(
        intervals=sum(m.intervals for m in meshes),
        points=sum(ph.points for ph in layout.phases),
        iterations=result.iterations,
        error=max(float(e.errors.max()) for e in estimates),
        objective=result.f * session.form.sense,
        seconds=time.perf_counter() - began,
        remark=remark,
    )
    iterate = Iterate(layout, program, result, values, constraint, bound, multipliers, estimates, rows, result.g / rows, doubt, record)
    session.progress(
        f"{record.intervals} intervals, {record.points} points: {result.outcome.value} in {record.iterations} iterations, "
        f"objective {record.objective:.9g}, error {record.error:.1e}" + (f", {remark}" if remark else "")
    )
    return iterate


def adapt(session: Session, first: Iterate) -> tuple[Iterate, list[MeshPass]]:
    """From an answer on the first mesh to one whose estimated error is small, or to the best within the passes allowed."""
    iterate, history = first, [first.record]
    structured: Iterate | None = None
    tries = 0
    while len(history) < session.method.max_passes and iterate.solved:
        structures, unclear = _structures(session, iterate) if tries < 4 else (None, None)
        if structures is not None:
            tries += 1
            candidate, records = _on_arcs(session, iterate, structures, session.method.max_passes - len(history))
            history += records
            if candidate is not None:
                return candidate, history
        elif iterate.error <= session.method.tolerance and not _unclear(unclear):
            break
        if len(history) >= session.method.max_passes:
            break
        meshes = _next_meshes(session, iterate, unclear, structured is None and structures is not None)
        following = solve_on(session, meshes, guess_of(iterate.layout, iterate.program.start), 1e-4)
        history.append(following.record)
        if not following.solved:
            break
        iterate = following
        if _stalled(history):
            break
    return _polished(session, iterate, history), history


def _stalled(history: list[MeshPass]) -> bool:
    """Whether four more meshes have not even halved the error."""
    errors = [record.error for record in history if record.remark != ON_ARCS]
    return len(errors) > 5 and min(errors[-4:]) > 0.5 * min(errors[:-4])


def _polished(session: Session, iterate: Iterate, history: list[MeshPass]) -> Iterate:
    """Give smooth controls their last freedom, where the estimated loss by withholding it is worth a solve."""
    worth = 1e-3 * session.method.tolerance * max(abs(iterate.result.f), 1e-300)
    losses = [
        control_loss(ph, iterate.program, i, iterate.constraint_multipliers) for i, ph in enumerate(iterate.layout.phases)
    ]
    if not iterate.solved or iterate.error > session.method.tolerance or sum(losses) < worth or len(history) >= session.method.max_passes:
        return iterate
    meshes = tuple(
        ph.mesh if ph.mesh.control_points is None else replace(ph.mesh, control_points=np.maximum(ph.mesh.control_points, 0)) for ph in iterate.layout.phases
    )
    knots = tuple(v.spans for v in iterate.values)
    final = solve_on(session, meshes, guess_of(iterate.layout, iterate.program.start), 1e-7, knots, "all controls free")
    history.append(final.record)
    return final if final.solved and final.error <= session.method.tolerance else iterate


def _on_arcs(session: Session, iterate: Iterate, structures: tuple[Structure | None, ...], passes: int) -> tuple[Iterate | None, list[MeshPass]]:
    """Solve with moving knots; None unless the answer confirms the arcs."""
    history: list[MeshPass] = []
    meshes, knots = [], []
    degree = 4
    for ph, kernels, structure in zip(iterate.layout.phases, session.kernels.phases, structures, strict=True):
        if structure is None:
            meshes.append(ph.mesh)
            knots.append(None)
        else:
            mesh, times = arc_mesh(structure, kernels.affine, degree)
            meshes.append(mesh)
            knots.append(times)
    guess = guess_of(iterate.layout, iterate.program.start)
    current: Iterate | None = None
    next_knots: tuple[Array | None, ...] = tuple(knots)
    for _ in range(passes):
        following = solve_on(session, tuple(meshes), guess, 1e-4, next_knots, ON_ARCS)
        history.append(following.record)
        if not following.solved or following.doubt > MOST_DOUBT:
            return None, history
        current = following
        if current.error <= session.method.tolerance:
            break
        guess = guess_of(current.layout, current.program.start)
        meshes = [refined(ph.mesh, e, session.method.tolerance, session.method.scheme) for ph, e in zip(current.layout.phases, current.estimates, strict=True)]
        next_knots = tuple(v.spans for v in current.values)
    return current, history


def _structures(session: Session, iterate: Iterate) -> tuple[tuple[Structure | None, ...] | None, Any]:
    """The arcs of all phases, or None where there are none; and the intervals in which they cannot be told."""
    if session.method.scheme.shares_nodes:
        return None, None
    found, unclear = [], []
    for ph, kernels, values in zip(iterate.layout.phases, session.kernels.phases, iterate.values, strict=True):
        bounded = np.isfinite(ph.form.u_bound.lower) | np.isfinite(ph.form.u_bound.upper)
        may_switch = bool(np.any(kernels.affine & bounded))
        structure, doubtful = find_structure(ph, values, kernels) if may_switch else (None, np.zeros(0, int))
        found.append(structure)
        unclear.append(doubtful)
    if _unclear(unclear) or all(s is None for s in found):
        return None, unclear
    return tuple(found), unclear


def _unclear(unclear: Any) -> bool:
    return unclear is not None and any(u.size for u in unclear)


def _next_meshes(session: Session, iterate: Iterate, unclear: Any, rejected: bool) -> tuple[Mesh, ...]:
    meshes = []
    for i, (ph, e) in enumerate(zip(iterate.layout.phases, iterate.estimates, strict=True)):
        errors = e.errors.copy()
        if unclear is not None and unclear[i].size:
            # Narrow the neighbourhood of what cannot be told apart.
            near = np.unique(np.clip(np.concatenate([unclear[i] - 1, unclear[i], unclear[i] + 1]), 0, errors.size - 1))
            errors[near] = np.maximum(errors[near], 1e3 * session.method.tolerance)
        elif rejected:
            errors = np.maximum(errors, 10 * session.method.tolerance)
        affine = session.kernels.phases[i].affine
        result = Estimate(errors, np.ones_like(e.decay) if affine.any() else e.decay)
        stiffened = ph.mesh
        if ph.mesh.control_points is not None:
            # Far from the answer a control of high degree runs wild between the points; straight, it finds its way.
            rough = np.where(e.errors > ROUGH, 2, -1)[:, None]
            stiffened = replace(ph.mesh, control_points=np.where(affine, ph.mesh.control_points, rough))
        meshes.append(refined(stiffened, result, session.method.tolerance, session.method.scheme))
    return tuple(meshes)
