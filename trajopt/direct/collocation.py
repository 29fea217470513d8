"""Collocation: solve a problem on a mesh, look at the error, and go on until it is small enough."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.contacts import along
from trajopt.direct.costates import multipliers_of
from trajopt.direct.defects import CostateErrors, costate_errors, next_bends
from trajopt.direct.implied import without_implied_bounds
from trajopt.direct.iterate import Iterate
from trajopt.direct.kernels import Kernels, PhaseKernels, make_kernels
from trajopt.direct.kinks import kinks
from trajopt.direct.mesh import Mesh
from trajopt.direct.redundant import without_redundant_limits
from trajopt.direct.refine import Bend, Estimate, estimate, refined, running_cost
from trajopt.direct.scaling import ROUND_OFF, cost_reach, scales
from trajopt.direct.schemes import Radau, Scheme
from trajopt.direct.structure import (
    Structure,
    arc_mesh,
    collapsed,
    continuous_knots,
    control_losses,
    decided,
    find_structure,
    repaired,
    switching_losses,
    wants_to_leave,
    with_entries,
    withheld_losses,
)
from trajopt.direct.transcribe import Layout, PhaseLayout, make_layout, transcribe
from trajopt.direct.values import PhaseValues, fenced, guess_of, read, rests_on_fence, unwound, write
from trajopt.guess import Guess
from trajopt.nlp.backends import Backend, Ipopt, Outcome, Result, Warm
from trajopt.nlp.program import Program, scaled, without_cost
from trajopt.normal_form import NormalForm
from trajopt.solution import MeshPass

Array = NDArray[np.float64]
Progress = Callable[[str], None]

FIRST = (10, 4)  # intervals and degree of the first mesh of a smooth problem
ON_ARCS = "moving knots"
ROUGH = 0.1  # an error above which an answer says little about the next: smooth controls are kept straight there
MOST_REFUSALS = 3  # proposals of arcs, before the mesh alone has to do
MOST_RIDES = 20  # arcs of a phase, if some ride constraints
MOST_POLISHES = 6  # meshes for the sake of the costates, after the states are right
CALM = 100  # times the tolerance: costates of an answer that is farther off tell nothing
ON_ARCS_DEGREE = 6
# To begin with on arcs: little is left for the bounds to decide, and a larger barrier would drive the answer away first. A
# singular control is hardly felt by the cost: a barrier that falls too fast lets it settle where the mesh is wrong.
ON_KNOWN_ARCS = Warm(1e-6, steady=True, fitted=False)
ON_RIDING_ARCS = Warm(1e-2, steady=True, fitted=False)  # where arcs ride constraints, their ends may be far off yet
# The same arcs on a finer mesh, or with one fewer: multipliers of ones would drive the answer away before the barrier calls it.
ON_SOLVED_ARCS = Warm(1e-6, steady=True)
AFTER_A_MOTION = Warm(1e-2, steady=True, fitted=False)  # that obeys the constraints, whatever it costs
MOST_FENCES = 4  # how often angles that lean on their fences are given new ones
STOPPED = (Outcome.INTERRUPTED, Outcome.TIME_LIMIT)  # from outside: there is no point in another attempt
MOST_DOUBT = 1e-3  # of the held controls' push may have the wrong sign before the arcs are given up


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
        Of the estimated relative error of the states between the nodes; an answer that misses it is COARSE. Infinity takes any.
    max_passes : int
        How many meshes are tried; 1 keeps the first.
    """

    scheme: Scheme = field(default_factory=Radau)
    mesh: Mesh | None = None
    backend: Backend = field(default_factory=Ipopt)
    tolerance: float = 1e-6
    max_passes: int = 12


@dataclass(frozen=True, eq=False)
class Session:
    """What stays the same from mesh to mesh."""

    form: NormalForm
    kernels: Kernels
    method: Collocation
    parameters: Array
    progress: Progress
    deadline: Deadline = UNLIMITED

    @staticmethod
    def start(
        form: NormalForm, method: Collocation, parameters: Array, progress: Progress, deadline: Deadline = UNLIMITED,
        relieved: bool = True,
    ) -> Session:  # fmt: skip
        """``relieved`` asks less of what path constraints and integrals of motion decide anyway."""
        form = without_implied_bounds(form, parameters)
        form = without_redundant_limits(form, parameters) if relieved else form
        return Session(form, make_kernels(form), method, parameters, progress, deadline)


def first_meshes(session: Session, guess: Guess | None = None, finer: int = 1) -> tuple[Mesh, ...]:
    """Few intervals of high degree where controls act smoothly; more, with constant controls, where they may switch.

    A guess that comes from a solution with smooth controls brings its own mesh. ``finer`` multiplies the intervals of the others.
    """
    meshes = []
    starts = guess.phases if guess is not None else (None,) * len(session.form.phases)
    for kernels, start in zip(session.kernels.phases, starts, strict=True):
        if session.method.mesh is not None:
            meshes.append(session.method.mesh)
            continue
        scheme = session.method.scheme
        affine = kernels.affine
        if scheme.shares_nodes:
            meshes.append(Mesh.uniform(30 * finer, scheme.rule(scheme.degree).degree))
            continue
        if start is not None and start.mesh is not None and not start.arcs and not affine.any():
            breaks = np.concatenate([[0.0], start.mesh[0][1:-1], [1.0]])
            free = np.zeros((breaks.size - 1, affine.size), dtype=int)
            meshes.append(Mesh(breaks, np.array(start.mesh[1]), control_points=free))
            continue
        mesh = Mesh.uniform(30 * finer, 3) if affine.any() else Mesh.uniform(FIRST[0] * finer, FIRST[1])
        # A constant angle can be turned back by whole turns afterwards; a polynomial that went round the wrong way cannot.
        points = np.where(affine | kernels.angles, 1, 0)
        meshes.append(replace(mesh, control_points=np.tile(points, (mesh.intervals, 1))))
    return tuple(meshes)


def solve_on(
    session: Session, meshes: tuple[Mesh, ...], guess: Guess, warm: Warm | None,
    knots: tuple[Array | None, ...] | None = None, remark: str = "", with_cost: bool = True,
) -> Iterate:  # fmt: skip
    """One program: transcribe, scale, solve, read, estimate."""
    began = time.perf_counter()
    layout = make_layout(session.form, session.kernels, session.method.scheme, meshes)
    program = transcribe(session.kernels, layout, write(layout, guess, knots), session.parameters)
    if not with_cost:
        program = without_cost(program)
    program, columns, rows, result = _solve_between_fences(session, layout, program, warm)
    y = unwound(layout, tuple(k.angles for k in session.kernels.phases), result.y * columns)
    constraint, bound = result.constraint_multipliers * rows, result.bound_multipliers / columns
    program = replace(program, start=y)
    values = read(layout, y)
    costs = tuple(running_cost(b, program) for b in program.blocks[:-1])
    running = sum(float(np.abs(b.weights * cost).sum()) for b, cost in zip(program.blocks[:-1], costs, strict=True))
    estimates = estimate(layout, program, values, costs, columns)
    multipliers = multipliers_of(session.kernels, layout, program, values, bound, constraint)
    losses = _relative_losses(session, layout, program, values, constraint, abs(result.f) + running, columns)
    estimates = tuple(replace(e, errors=np.maximum(e.errors, loss)) for e, loss in zip(estimates, losses, strict=True))
    verdicts = [
        wants_to_leave(ph, program, i, v, constraint, bound) for i, (ph, v) in enumerate(zip(layout.phases, values, strict=True))
    ]
    record = MeshPass(
        intervals=sum(m.intervals for m in meshes),
        points=sum(ph.points for ph in layout.phases),
        iterations=result.iterations,
        error=max(float(e.errors.max()) for e in estimates),
        objective=result.f * session.form.sense,
        seconds=time.perf_counter() - began,
        remark=remark,
        backend=result.solved_by,
    )
    iterate = Iterate(
        layout,
        program,
        result,
        values,
        constraint,
        bound,
        multipliers,
        estimates,
        running,
        rows,
        columns,
        result.g / rows,
        max(v[0] for v in verdicts),
        tuple(v[1] for v in verdicts),
        record,
    )
    session.progress(
        f"{record.intervals} intervals, {record.points} points: {result.outcome.value} in {record.iterations} iterations, "
        f"objective {record.objective:.9g}, error {record.error:.1e}" + (f", {remark}" if remark else "")
    )
    if result.outcome in STOPPED:
        raise Interrupted(iterate)
    return iterate


def _solve_between_fences(
    session: Session, layout: Layout, program: Program, warm: Warm | None
) -> tuple[Program, Array, Array, Result]:
    """The program with its angles fenced, the sizes of its unknowns and rows, and its answer.

    The way to the best angle may lead through a fence; an answer that rests on one is only where to set up the next.
    """
    angles = tuple(k.angles for k in session.kernels.phases)
    inside = fenced(layout, angles, program)
    columns, rows = scales(layout, inside)
    result = session.method.backend.solve(scaled(inside, columns, rows), warm, session.deadline)
    for _ in range(MOST_FENCES):
        around = fenced(layout, angles, replace(program, start=result.y * columns))
        if result.outcome is not Outcome.SOLVED or not rests_on_fence(inside, around):
            break
        after = session.method.backend.solve(scaled(around, columns, rows), AFTER_A_MOTION, session.deadline)
        if after.outcome not in (Outcome.SOLVED, *STOPPED):
            break  # the next mesh sets up fences of its own
        inside, result = around, replace(after, iterations=result.iterations + after.iterations)
    return inside, columns, rows, result


def _relative_losses(
    session: Session,
    layout: Layout,
    program: Program,
    values: tuple[PhaseValues, ...],
    multipliers: Array,
    total: float,
    sizes: Array,
) -> list[Array]:
    """By phase, (intervals,): what badly placed switches and withheld freedom of controls cost, relative to the ``total``."""
    losses = []
    for i, (ph, v, k) in enumerate(zip(layout.phases, values, session.kernels.phases, strict=True)):
        loss = control_losses(ph, program, i, k.affine, multipliers)
        if ph.mesh.roles is None:
            loss = loss + switching_losses(ph, program, i, v, k.affine, multipliers)
            loss = loss + withheld_losses(ph, program, i, v, k.affine, multipliers)
        losses.append(loss)
    worst = max(float(loss.max(initial=0.0)) for loss in losses)
    if worst > session.method.tolerance * total:  # a cost of zero is reached when nothing of its usual size is left
        total = max(total, ROUND_OFF * cost_reach(program, sizes))
    return [loss / total if total > 0 else np.zeros_like(loss) for loss in losses]


class Interrupted(Exception):
    """Ctrl-C or the time limit during a solve; ``iterate`` is where it stood, and its outcome says which of them it was."""

    def __init__(self, iterate: Iterate) -> None:
        super().__init__(iterate.result.outcome.value)
        self.iterate = iterate

    def stopping(self, other: Iterate) -> Iterate:
        """Another, better iterate with this outcome."""
        stopped = self.iterate.result
        return replace(other, result=replace(other.result, outcome=stopped.outcome, message=stopped.message))


def adapt(session: Session, first: Iterate) -> tuple[Iterate, list[MeshPass]]:
    """From an answer on the first mesh to one whose estimated error is small, or to the best within the passes allowed.

    An interruption keeps the last mesh that was solved.
    """
    history = [first.record]
    best = [first]
    try:
        return _adapted(session, best, history), history
    except Interrupted as stop:
        return stop.stopping(best[-1]), history


def _adapted(session: Session, best: list[Iterate], history: list[MeshPass]) -> Iterate:
    iterate, tolerance = best[-1], session.method.tolerance
    refusals, polishes = 0, 0
    good: list[tuple[float, Iterate]] = []  # answers whose states are right, with the errors of their costates
    seen: list[CostateErrors] = []
    while len(history) < session.method.max_passes and iterate.usable:
        seen.append(_costate_errors(session, iterate))
        structures, unclear = _structures(session, iterate)
        suspects: tuple[Array, ...] = ()  # stretches of time where proposed arcs were refuted
        if structures is not None and refusals < MOST_REFUSALS:
            candidate, records, suspects = on_arcs(session, iterate, structures, session.method.max_passes - len(history), best)
            history += records
            if candidate is not None:
                return candidate
            refusals += 1
        elif iterate.error <= tolerance and iterate.solved:
            good.append((seen[-1].error, iterate))
            if seen[-1].error <= tolerance:
                break
        polishes += bool(good)
        most, patience = (MOST_POLISHES, 7) if seen[-1].contacts else (MOST_POLISHES // 3, 4)  # contacts have to settle first
        if len(history) >= session.method.max_passes or polishes > most or (_stalled(history, patience) and not good):
            break
        meshes = _next_meshes(session, iterate, unclear, suspects, seen)
        guess = guess_of(iterate.layout, iterate.program.start)
        nearness = _nearness(iterate)
        following = solve_on(hasty(session, 250 if nearness.steady else 120), meshes, guess, nearness)
        history.append(following.record)
        if not following.usable and not good:
            following = solve_on(session, meshes, guess, None, remark="started cold")
            history.append(following.record)
        if not following.usable and not good:
            motion = solve_on(session, meshes, guess, None, remark="a motion first", with_cost=False)
            history.append(motion.record)
            if motion.usable:
                following = solve_on(session, meshes, guess_of(motion.layout, motion.program.start), AFTER_A_MOTION)
                history.append(following.record)
        if not following.usable:
            break
        iterate = following
        best.append(iterate)
    if good:
        return min(reversed(good), key=lambda pair: pair[0])[1]
    return min(reversed(best), key=lambda one: (not one.solved, one.error))  # more points do not always make it better


def hasty(session: Session, iterations: int) -> Session:
    """The session with few iterations: most programs need fewer, and for the others there is something better to try."""
    backend = session.method.backend
    if not isinstance(backend, Ipopt) or session.method.max_passes == 1:
        return session
    return replace(
        session, method=replace(session.method, backend=replace(backend, max_iterations=min(iterations, backend.max_iterations)))
    )


def _nearness(iterate: Iterate) -> Warm:
    """The barrier to begin the next mesh with: the farther the last answer was off, the larger.

    From a rough one steady steps lead to better optima than quick ones, which stay near it.
    """
    return Warm(float(np.clip(0.01 * iterate.error, 1e-6, 1e-2)), steady=iterate.error > ROUGH)


def _stalled(history: list[MeshPass], meshes: int) -> bool:
    """Whether so many more meshes have not even halved the error."""
    errors = [record.error for record in history if record.remark != ON_ARCS]
    return len(errors) > meshes + 1 and min(errors[-meshes:]) > 0.5 * min(errors[:-meshes])


def on_arcs(
    session: Session, iterate: Iterate, structures: tuple[Structure | None, ...], passes: int, kept: list[Iterate] | None = None
) -> tuple[Iterate | None, list[MeshPass], tuple[Array, ...]]:
    """Solve with moving knots; None unless the answer confirms the arcs, with the times (n, 2) where it refutes them.

    ``kept`` gets those that confirm them, too coarse as they may be.
    """
    history: list[MeshPass] = []
    meshes, knots = _arc_meshes(session, iterate, structures)
    current = iterate
    good: Iterate | None = None  # an answer whose knots could only be placed better
    repairs, confirmed = 0, False
    while len(history) < passes:
        riding = any(mesh.held is not None and mesh.held.any() for mesh in meshes) and current is iterate
        nearness = ON_RIDING_ARCS if riding else ON_SOLVED_ARCS if confirmed else ON_KNOWN_ARCS
        meshes = tuple(
            with_entries(mesh, ph, block.kernel, kernels.affine)
            for mesh, ph, block, kernels in zip(
                meshes, current.layout.phases, current.program.blocks[:-1], session.kernels.phases, strict=True
            )
        )
        following = solve_on(session, meshes, guess_of(current.layout, current.program.start), nearness, knots, ON_ARCS)
        history.append(following.record)
        refuted = following.doubt > MOST_DOUBT
        no_better = repairs > 0 and following.result.f > current.result.f + session.method.tolerance * abs(current.result.f)
        if not following.solved or (refuted and (no_better or repairs == MOST_REFUSALS)):
            return good, history, _suspects(following)
        current, confirmed = following, not refuted
        if kept is not None and not refuted:
            kept.append(current)
        shrunk = any(collapsed(ph, v) for ph, v in zip(current.layout.phases, current.values, strict=True))
        if refuted or (shrunk and repairs < MOST_REFUSALS):
            repairs += 1
            mended = [
                repaired(ph, v, wrong if refuted else np.zeros_like(wrong))
                for ph, v, wrong in zip(current.layout.phases, current.values, current.doubtful, strict=True)
            ]
            if any(structure is not None for structure in mended):
                meshes, knots = _arc_meshes(session, current, tuple(mended))
                continue
            if refuted:
                return None, history, _suspects(following)
        joins = [continuous_knots(ph, v) for ph, v in zip(current.layout.phases, current.values, strict=True)]
        loose = any(set(j) - set(ph.mesh.joined) for ph, j in zip(current.layout.phases, joins, strict=True))
        if current.error <= session.method.tolerance:
            good = current
            if not loose:
                return current, history, ()
        meshes = tuple(
            refined(replace(ph.mesh, joined=j), e, session.method.tolerance, session.method.scheme)
            for ph, e, j in zip(current.layout.phases, current.estimates, joins, strict=True)
        )
        knots = tuple(v.spans for v in current.values)
    return (current, history, ()) if history and current.doubt <= MOST_DOUBT and current is not iterate else (None, history, ())


def _arc_meshes(
    session: Session, iterate: Iterate, structures: tuple[Structure | None, ...]
) -> tuple[tuple[Mesh, ...], tuple[Array | None, ...]]:
    pairs = [
        (ph.mesh, v.spans) if structure is None else arc_mesh(structure, kernels.affine, ON_ARCS_DEGREE)
        for ph, v, kernels, structure in zip(
            iterate.layout.phases, iterate.values, session.kernels.phases, structures, strict=True
        )
    ]
    return tuple(mesh for mesh, _ in pairs), tuple(times for _, times in pairs)


def _suspects(iterate: Iterate) -> tuple[Array, ...]:
    where = [d.any(axis=1) for d in iterate.doubtful]
    return tuple(np.stack([v.breaks[:-1][d], v.breaks[1:][d]], axis=1) for v, d in zip(iterate.values, where, strict=True))


def _structures(session: Session, iterate: Iterate) -> tuple[tuple[Structure | None, ...] | None, Any]:
    """The arcs of all phases, or None where there are none; and the intervals in which they cannot be told."""
    if session.method.scheme.shares_nodes:
        return None, None
    found, unclear = [], []
    phases = zip(iterate.layout.phases, session.kernels.phases, iterate.values, strict=True)
    for i, (ph, kernels, values) in enumerate(phases):
        bounded = np.isfinite(ph.form.u_bound.lower) | np.isfinite(ph.form.u_bound.upper)
        # Where a path constraint has the control in it, that limits it too.
        may_switch = bool(np.any(kernels.affine & (bounded | np.any(~kernels.state_paths))))
        structure, doubtful = None, np.zeros(0, int)
        if may_switch:
            structure, doubtful = find_structure(ph, iterate.program, i, values, kernels)
        found.append(structure)
        unclear.append(doubtful)
    if _unclear(unclear) or all(s is None for s in found) or any(s is not None and _chatters(s) for s in found):
        return None, unclear
    return tuple(found), unclear


def _chatters(structure: Structure) -> bool:
    """Whether so many arcs ride constraints that they are signs of a mesh that fits nothing; and their program a slow one."""
    return structure.arcs > MOST_RIDES and bool(structure.held.any())


def straight(mesh: Mesh, kernels: PhaseKernels, ph: PhaseLayout, where: NDArray[np.bool_] | None = None) -> Mesh:
    """The mesh with smooth controls straight on some intervals, and free on the others.

    Far from the answer a control of high degree can run wild between the points; straight, it finds its way. Where path
    constraints may bind at every point it needs all its freedom.
    """
    if mesh.control_points is None:
        return mesh
    chosen = np.ones(mesh.intervals, dtype=bool) if where is None else where
    points = np.where(chosen & (ph.form.c.numel() == 0), 2, 0)[:, None]
    return replace(mesh, control_points=np.where(kernels.affine, mesh.control_points, points))


def _unclear(unclear: Any) -> bool:
    return unclear is not None and any(u.size for u in unclear)


def _costate_errors(session: Session, iterate: Iterate) -> CostateErrors:
    """Of phases with smooth controls; where controls switch, arcs do what is to be done."""
    raw = iterate.bound_multipliers, iterate.constraint_multipliers
    phases = enumerate(zip(iterate.layout.phases, session.kernels.phases, strict=True))
    smooth = [
        along(ph, iterate.layout, kernels, iterate.program, i, iterate.values[i], iterate.multipliers[i], raw)
        for i, (ph, kernels) in phases
        if not kernels.affine.any() and not session.method.scheme.shares_nodes and _has_limits(ph, kernels)
    ]
    rough = iterate.error > CALM * session.method.tolerance
    return costate_errors(smooth, [ph.mesh.intervals for ph in iterate.layout.phases], session.method.tolerance, rough)


def _has_limits(ph: PhaseLayout, kernels: PhaseKernels) -> bool:
    """Whether anything but the ends can make costates jump; elsewhere they are as right as the states."""
    bound = ph.form.x_bound
    return bool(np.isfinite(bound.lower).any() or np.isfinite(bound.upper).any() or kernels.state_paths.any())


def _next_meshes(
    session: Session, iterate: Iterate, unclear: Any, suspects: tuple[Array, ...], seen: list[CostateErrors]
) -> tuple[Mesh, ...]:
    """Refined where the error is large, where arcs cannot be told apart, and where proposed arcs were refuted.

    ``seen``: the costates of the answers so far; breaks go where states meet their limits.
    """
    meshes = []
    bends_of = next_bends(seen)
    tolerance = session.method.tolerance
    for i, (ph, e, values) in enumerate(zip(iterate.layout.phases, iterate.estimates, iterate.values, strict=True)):
        errors = np.maximum(e.errors, seen[-1].defects[i])
        if unclear is not None and unclear[i].size:
            near = np.unique(np.clip(np.concatenate([unclear[i] - 1, unclear[i], unclear[i] + 1]), 0, errors.size - 1))
            errors[near] = np.maximum(errors[near], 2 * tolerance)
        for start, end in suspects[i] if suspects else ():
            inside = (values.breaks[1:] > start) & (values.breaks[:-1] < end)
            errors[inside] = np.maximum(errors[inside], 2 * tolerance)
        affine = session.kernels.phases[i].affine
        freed = straight(ph.mesh, session.kernels.phases[i], ph, e.errors > ROUGH)
        bends = [] if affine.any() else [Bend(place) for place in kinks(ph, values, errors > tolerance)]
        bends += bends_of(i, ph.mesh, errors > tolerance)
        decay = e.decay
        if affine.any():
            riding = decided(ph, iterate.program, i, values)
            decay = np.where(riding.any(axis=1), e.decay, 1.0)  # switches are not smooth
            if freed.control_points is not None:
                freed = replace(freed, control_points=np.where(affine & riding, 0, freed.control_points))
        meshes.append(refined(freed, Estimate(errors, decay), tolerance, session.method.scheme, bends))
    return tuple(meshes)
