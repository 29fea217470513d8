"""The direct side's door: a first answer by ever more patient attempts, then refinement, then a Solution."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import trajopt
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.direct.answer import arcs, condition_multipliers, phase_solutions, statics
from trajopt.direct.collocation import (
    AFTER_A_MOTION,
    CALM,
    ROUGH,
    Collocation,
    Interrupted,
    Progress,
    Session,
    adapt,
    first_meshes,
    hasty,
    solve_on,
    straight,
)
from trajopt.direct.explain import explain, violations
from trajopt.direct.iterate import Iterate
from trajopt.direct.mesh import Mesh
from trajopt.direct.nearest import NEAREST, nearest_motion
from trajopt.direct.needles import needles, stepped
from trajopt.direct.optimality import judged, unresolved
from trajopt.direct.redundant import missed
from trajopt.direct.restart import restarted
from trajopt.direct.scaling import ROUND_OFF, cost_reach
from trajopt.direct.values import guess_of
from trajopt.guess import Guess, check_guess, has_idle_controls, nudged, plain_guess, sound_guess, swung
from trajopt.nlp.backends import Ipopt, Outcome, Warm
from trajopt.normal_form import NormalForm
from trajopt.solution import MeshPass, Solution, Status

Array = NDArray[np.float64]

SAME = 0.01  # relative: nearest motions that miss as much as each other miss the same
BETTER_CONTROLS = "from controls that make H smaller"
JUMP = 0.3  # of a control's size: a last Legendre coefficient that large is no smooth control's
MOST_JUMPS = 0.3  # of all intervals: where controls jump on so many, the optimum is not to blame
MISSED = 100  # times its error: what an answer may miss of the limits that integrals of motion keep
MOST_MISSES = 4  # nearest motions from different guesses, before there is held to be no motion

_STATUS = {
    Outcome.INFEASIBLE: Status.INFEASIBLE,
    Outcome.ITERATIONS: Status.ITERATIONS,
    Outcome.NOT_A_NUMBER: Status.NOT_A_NUMBER,
    Outcome.INTERRUPTED: Status.INTERRUPTED,
    Outcome.TIME_LIMIT: Status.TIME_LIMIT,
    Outcome.FAILED: Status.FAILED,
}


@dataclass(frozen=True)
class Rung:
    """One attempt at a first answer."""

    label: str
    attempt: Callable[[], Iterate]
    keeps_time: bool = False  # at the guess's: what it misses says nothing about other times
    last_resort: bool = False  # not to be tried once it is clear that the conditions cannot be met


def solve_directly(
    form: NormalForm, method: Collocation, guess: Guess | None, parameters: Mapping[str, Any] | None, progress: Progress,
    deadline: Deadline = UNLIMITED,
) -> Solution:  # fmt: skip
    """The whole direct side: guess, first answer, adaptive meshes, solution."""
    began = time.perf_counter()
    values = form.parameter_values(parameters)
    first_guess = sound_guess(form, values) if guess is None else guess
    if guess is not None:
        check_guess(form, guess, values)
    session = Session.start(form, method, values, progress, deadline)
    iterate, history, log = _answer(session, first_guess, guess is not None)
    if iterate.solved and missed(form, iterate.layout, iterate.values, iterate.sizes) > MISSED * max(iterate.error, ROUND_OFF):
        log.append("what seemed to be an integral of motion is none: again, with all that was asked")
        progress(log[-1])
        session = Session.start(form, method, values, progress, deadline, relieved=False)
        iterate, further, attempts = _answer(session, first_guess, guess is not None)
        history, log = history + further, log + attempts
    status = _status(iterate, method)
    total = time.perf_counter() - began
    solving = sum(record.seconds for record in history)
    return Solution(
        problem=form.name,
        method="direct",
        status=status,
        objective=iterate.objective,
        phases=phase_solutions(iterate),
        variables=statics(iterate),
        parameters=_named_parameters(form, values),
        multipliers=condition_multipliers(iterate),
        arcs=arcs(iterate, tuple(k.affine for k in session.kernels.phases)),
        history=tuple(history),
        error=iterate.error,
        tolerance=method.tolerance,
        iterations=sum(record.iterations for record in history),
        seconds={"build": total - solving, "solve": solving, "total": total},
        explanation=() if status is Status.SOLVED else _explanation(iterate, status, method),
        log=tuple(log),
        options={"scheme": method.scheme.name, "tolerance": method.tolerance, "backend": method.backend.name},
        versions=dict(_versions()),
        form=form,
    )


def _answer(session: Session, guess: Guess, given: bool) -> tuple[Iterate, list[MeshPass], list[str]]:
    """The last iterate, the meshes it took, and the attempts before."""
    method = session.method
    try:
        again, history = restarted(session, guess) if given else (None, [])
    except Interrupted as stop:
        return stop.iterate, [stop.iterate.record], [f"the arcs of the guess: {stop}"]
    if again is not None:
        return again, history, []
    iterate, log = _climb(session, guess, given)
    if history:
        log.insert(0, "the arcs of the guess: they do not hold here")
    history.append(iterate.record)
    symmetric = _idle(iterate, guess)
    if not given and iterate.solved and (symmetric or _nothing_has_a_price(iterate)):
        iterate, further = _off_centre(session, iterate, 0.3 if symmetric else 0.0)
        history += further
    if iterate.solved and iterate.error > ROUGH and method.max_passes > 2:
        iterate, further = _calmer(session, iterate, guess)
        history += further
    if iterate.solved and iterate.error > CALM * method.tolerance and method.max_passes > 2 and _jumps(iterate):
        iterate, further = _constant(session, iterate)
        history += further
    iterate = _refined(session, iterate, history)
    refuted = iterate.solved and iterate.error > ROUGH and history[-1] is not iterate.record
    if (refuted or _may_blame_mesh(iterate)) and method.mesh is None:
        log.append("the first answer does not hold between its points: again, on a finer mesh")
        session.progress(log[-1])
        renewed, attempts = _climb(session, plain_guess(session.form), False, finer=3)
        passes = [renewed.record]
        renewed = _refined(session, renewed, passes)
        iterate = renewed if renewed.solved or renewed.result.message == NEAREST else iterate
        log, history = log + attempts, history + passes
    if not given and iterate.solved and iterate.error <= method.tolerance and method.max_passes > 1:
        iterate = _with_better_controls(session, iterate, history, log)
    return iterate, history, log


def _with_better_controls(session: Session, iterate: Iterate, history: list[MeshPass], log: list[str]) -> Iterate:
    """Another answer from controls for which the Hamiltonian is smaller by far, if it costs less.

    From a maximum of the Hamiltonian, which is no optimum at all, also one that stays coarse.
    """
    promising = needles(session, iterate)
    if promising is None:
        return iterate
    try:
        other = solve_on(hasty(session, 150), first_meshes(session), promising.guess, None, remark=BETTER_CONTROLS)
    except Interrupted as stop:
        history.append(stop.iterate.record)
        return stop.stopping(iterate)
    passes = [other.record]
    other = _refined(session, other, passes)
    history += passes
    less = other.solved and other.result.f < iterate.result.f - session.method.tolerance * abs(iterate.result.f)
    if not less or (other.error > session.method.tolerance and promising.concave < 0.5):
        return iterate
    log.append(f"controls that make the Hamiltonian smaller: {other.objective:.6g} instead of {iterate.objective:.6g}")
    return other


def _refined(session: Session, iterate: Iterate, history: list[MeshPass]) -> Iterate:
    """Meshes until the error is small, also that of the controls between the points, which is looked at last."""
    method = session.method
    for round_ in range(method.max_passes):
        if not iterate.solved:
            break
        before = len(history)
        if method.max_passes > 1:
            left = replace(method, max_passes=max(method.max_passes - before + 1, 2))
            iterate, passes = adapt(replace(session, method=left), iterate)
            history += passes[1:]
        closer = judged(session, iterate)
        history[:] = [closer.record if record is iterate.record else record for record in history]
        seen, iterate = iterate.error <= method.tolerance, closer
        nothing_new = round_ > 0 and len(history) == before
        if not seen or iterate.error <= method.tolerance or len(history) >= method.max_passes or nothing_new:
            break
        session.progress(f"the controls between the points have an error of {iterate.error:.1e}")
    return iterate


def _climb(session: Session, guess: Guess, given: bool, finer: int = 1) -> tuple[Iterate, list[str]]:
    """Attempts, from the quickest to the most patient, until one succeeds; else the one that came closest."""
    log: list[str] = []
    best: Iterate | None = None
    misses: list[float] = []  # of the nearest motions so far
    units: Array | None = None  # in which they are measured: sizes follow the guess
    for rung in _rungs(session, guess, given, finer):
        if rung.last_resort and _settled(misses):
            break
        try:
            iterate = rung.attempt()
        except Interrupted as stop:
            best = stop.iterate if best is None else min(best, stop.iterate, key=_rank)
            return stop.stopping(best), [*log, f"{rung.label}: {stop}"]
        if iterate.result.message == NEAREST:
            units = iterate.row_scales if units is None else units
            iterate = replace(iterate, row_scales=units)
        if best is None or _rank(iterate) < _rank(best):
            best = iterate
        if iterate.solved or iterate.unbounded:
            if log:
                log.append(f"{rung.label}: {iterate.result.outcome.value}")
            break
        if iterate.result.message == NEAREST and not rung.keeps_time:
            misses.append(_miss(iterate))
        worst = max([iterate.violation, *[v.relative for v in violations(iterate)[:1]]])
        log.append(f"{rung.label}: {iterate.result.outcome.value} ({iterate.result.message}), largest violation {worst:.1e}")
        session.progress(log[-1])
    assert best is not None
    return best, log


def _settled(misses: list[float]) -> bool:
    """Whether there is no point in going on: two nearest motions that miss the same, or many that all miss something."""
    ordered = np.sort(misses)
    return len(misses) >= MOST_MISSES or bool(np.any(np.diff(ordered) < SAME * ordered[1:]))


def _may_blame_mesh(iterate: Iterate) -> bool:
    """Whether a nearest motion misses less than it is wrong by between its points: a better one may miss nothing."""
    return iterate.result.message == NEAREST and max(v.relative for v in violations(iterate)) < iterate.error


def _miss(iterate: Iterate) -> float:
    """All that is not met, each at its price."""
    return sum(v.price for v in violations(iterate))


def _rank(iterate: Iterate) -> tuple[bool, bool, float]:
    """The less, the better: solved; a motion that obeys its equations at least; one that misses little."""
    nearest = iterate.result.message == NEAREST
    return not iterate.solved, not nearest, _miss(iterate) if nearest else iterate.violation


def _jumps(iterate: Iterate) -> bool:
    """Whether controls jump to and fro between neighbouring points: as good there, but no polynomials."""
    phases = zip(iterate.layout.phases, iterate.values, strict=True)
    return float(np.concatenate([unresolved(ph, values, JUMP) for ph, values in phases]).mean()) > MOST_JUMPS


def _constant(session: Session, iterate: Iterate) -> tuple[Iterate, list[MeshPass]]:
    """The first answer with one value of each control on an interval, one of those it has there, if that is far better."""
    if any(ph.form.c.numel() or ph.mesh.control_points is None for ph in iterate.layout.phases):
        return iterate, []
    meshes = tuple(replace(ph.mesh, control_points=np.ones((ph.mesh.intervals, ph.nu), int)) for ph in iterate.layout.phases)
    try:
        other = solve_on(hasty(session, 150), meshes, stepped(iterate), None, remark="constant controls")
    except Interrupted as stop:
        return stop.stopping(iterate), [stop.iterate.record]
    return (other if other.solved and other.error < 0.1 * iterate.error else iterate), [other.record]


def _calmer(session: Session, iterate: Iterate, guess: Guess) -> tuple[Iterate, list[MeshPass]]:
    """The first answer with straight controls instead, if that is a better one: a rough control can hide a false optimum.

    Also the record of that attempt; none where no control can be straightened.
    """
    phases = list(zip(iterate.layout.phases, session.kernels.phases, strict=True))
    meshes = tuple(straight(ph.mesh, kernels, ph) for ph, kernels in phases)
    if all(kernels.affine.all() or ph.form.c.numel() for ph, kernels in phases):
        return iterate, []
    try:
        other = solve_on(hasty(session, 150), meshes, guess, None, remark="straight controls")
    except Interrupted as stop:
        return stop.stopping(iterate), [stop.iterate.record]
    return (other if other.solved and other.error < iterate.error else iterate), [other.record]


def _nothing_has_a_price(iterate: Iterate) -> bool:
    """Whether neither a bound nor an equation costs anything: so it is at the best answer of all, and also at the worst.

    Symmetric problems may end there (a turn of zero, between left and right), since the conditions of first order hold there.
    """
    prices = np.concatenate([iterate.result.bound_multipliers, iterate.result.constraint_multipliers])
    return bool(np.abs(prices).max(initial=0.0) <= ROUND_OFF * cost_reach(iterate.program, iterate.sizes))


def _idle(iterate: Iterate, guess: Guess) -> bool:
    """Whether a control that nobody guessed stayed where it began, all along, inside its bounds.

    Where left and right of it are alike, that is stationary, and may be the worst: a turn about one axis alone.
    """
    for ph, v, start in zip(iterate.layout.phases, iterate.values, guess.phases, strict=True):
        moved = np.abs(v.U - start.u(np.linspace(0.0, 1.0, v.U.shape[0]))).max(axis=0, initial=0.0)
        bound, size = ph.form.u_bound, np.abs(ph.controls(iterate.sizes)).max(axis=0, initial=0.0)
        first = start.u(np.zeros(1))[0]
        plain = np.concatenate([np.zeros(0, dtype=bool), *[np.full(q.size, q.guess is None) for q in ph.form.controls]])
        if np.any(plain & (first > bound.lower) & (first < bound.upper) & (moved <= ROUND_OFF * size)):
            return True
    return False


def _off_centre(session: Session, iterate: Iterate, detour: float) -> tuple[Iterate, list[MeshPass]]:
    """The first answer with controls that begin away from the middle of their ranges, if that is a better one; and its record."""
    meshes = tuple(ph.mesh for ph in iterate.layout.phases)
    guess = swung(plain_guess(session.form, bend=0.5), detour)
    try:
        other = solve_on(hasty(session, 150), meshes, guess, None, remark="controls off centre")
    except Interrupted as stop:
        return stop.stopping(iterate), [stop.iterate.record]
    return (other if other.solved and other.result.f < iterate.result.f else iterate), [other.record]


def _rungs(session: Session, guess: Guess, given: bool, finer: int) -> Iterator[Rung]:
    meshes = first_meshes(session, guess, finer)
    yield Rung("first attempt", partial(solve_on, hasty(session, 150), meshes, guess, Warm(1e-2) if given else None))
    plain, patient = first_meshes(session, None, finer), _with_options(session, mu_strategy="monotone")
    yield Rung("the nearest motion first", partial(_nearest_first, patient, plain, guess))
    yield Rung("a detour of +1", partial(_nearest_first, patient, plain, swung(guess, 1.0)))
    for factor in (10.0, 3.0):
        longer = _lengthened(session.form, guess, factor)
        if longer is not None:
            attempt = partial(_nearest_first, patient, plain, longer, keep_time=True)
            yield Rung(f"{factor:g} times the time", attempt, keeps_time=True)
    if not all(ph.start_time.fixed[0] and ph.end_time.fixed[0] for ph in session.form.phases):
        # A motion that comes nearer the sooner it ends, as at the first swing of many, is led astray by free time.
        attempt = partial(_nearest_first, patient, plain, guess, keep_time=True)
        yield Rung("the time as guessed", attempt, keeps_time=True)
    if not given and has_idle_controls(session.form, guess, session.parameters):  # all nearest motions would be the same
        aside = nudged(plain_guess(session.form, bend=0.5), 0.01)
        yield Rung("controls off centre, the nearest motion first", partial(_nearest_first, patient, plain, aside))
    for amount in (-1.0, 3.0):
        attempt = partial(_nearest_first, patient, plain, swung(guess, amount))
        yield Rung(f"a detour of {amount:+g}", attempt, last_resort=True)
    others = [("slower barrier", guess), ("guess moved aside", nudged(guess, 0.05))]
    for label, other in [*others, *(_other_guesses(session.form) if not given else ())]:
        yield Rung(label, partial(solve_on, patient, meshes, other, None), last_resort=True)
    coarse = tuple(Mesh.uniform(4, int(m.degrees[0])) for m in meshes)
    yield Rung("coarse mesh first", partial(_coarse_first, patient, coarse, meshes, guess), last_resort=True)


def _other_guesses(form: NormalForm) -> Iterator[tuple[str, Guess]]:
    yield "shorter time", nudged(plain_guess(form, duration=0.3), 0.01)
    yield "longer time", nudged(plain_guess(form, duration=3.0), 0.01)
    yield "controls off centre", nudged(plain_guess(form, bend=0.5), 0.01)
    yield "controls off centre, other side", nudged(plain_guess(form, bend=-0.5), 0.01)


def _lengthened(form: NormalForm, guess: Guess, factor: float) -> Guess | None:
    """A guess of longer phases with a detour; None where there is no more time."""
    longer = plain_guess(form, duration=factor)
    lengths, before = (np.array([ph.tf - ph.t0 for ph in one.phases]) for one in (longer, guess))
    return swung(longer, 1.0) if np.all(lengths > 0) and np.any(lengths > 1.5 * before) else None


def _with_options(session: Session, **options: Any) -> Session:
    backend = session.method.backend
    if not isinstance(backend, Ipopt):
        return session
    return replace(session, method=replace(session.method, backend=replace(backend, options={**options, **backend.options})))


def _nearest_first(session: Session, meshes: tuple[Mesh, ...], guess: Guess, keep_time: bool = False) -> Iterate:
    """From a motion that misses nothing, if there is one; else the one that misses least."""
    nearest = nearest_motion(hasty(session, 500), meshes, guess, keep_time)
    if nearest.result.outcome is Outcome.NOT_A_NUMBER:
        nearest = nearest_motion(hasty(session, 500), meshes, nudged(guess, 0.01), keep_time)
    if not nearest.solved:
        return nearest
    return solve_on(session, meshes, guess_of(nearest.layout, nearest.program.start), AFTER_A_MOTION)


def _coarse_first(session: Session, coarse: tuple[Mesh, ...], meshes: tuple[Mesh, ...], guess: Guess) -> Iterate:
    first = solve_on(session, coarse, guess, None)
    return solve_on(session, meshes, guess_of(first.layout, first.program.start), AFTER_A_MOTION) if first.solved else first


def _status(iterate: Iterate, method: Collocation) -> Status:
    if not iterate.solved:
        return _STATUS[iterate.result.outcome]
    return Status.SOLVED if iterate.error <= method.tolerance else Status.COARSE


def _explanation(iterate: Iterate, status: Status, method: Collocation) -> tuple[str, ...]:
    if status is not Status.COARSE:
        return explain(iterate)
    worst = max(zip(iterate.layout.phases, iterate.values, iterate.estimates, strict=True), key=lambda item: item[2].errors.max())
    ph, values, estimate = worst
    k = int(np.argmax(estimate.errors))
    if method.max_passes == 1:
        advice = "only one mesh was allowed; try: more, Collocation(max_passes=12), a finer one, or tolerance=inf to accept this"
    elif estimate.errors[k] > ROUGH:
        advice = (
            "with so large an error this is no answer: between its points the motion is another; try: more meshes, "
            "Collocation(max_passes=30), a guess= closer to the answer, or a phase of its own where the motion is fast"
        )
    else:
        advice = "try: a larger tolerance, or more meshes: Collocation(max_passes=30)"
    return (
        f"the estimated error is {estimate.errors[k]:.1e} in phase '{ph.form.name}' "
        f"at t = {values.breaks[k]:.4g} to {values.breaks[k + 1]:.4g}; asked for {method.tolerance:.0e}",
        advice,
    )


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str], ...]:
    others = ((name, importlib.metadata.version(name)) for name in ("casadi", "numpy"))
    return (("trajopt", trajopt.__version__), *others)


def _named_parameters(form: NormalForm, values: Array) -> dict[str, Array]:
    named, place = {}, 0
    for q in form.parameters:
        named[q.name] = values[place : place + q.value.size]
        place += q.value.size
    return named
