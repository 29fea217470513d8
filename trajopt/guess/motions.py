"""Starts that are motions: each phase is integrated from its start, with constant controls.

A motion obeys the equations exactly, also where a line between boundary values is far from any
trajectory: turns about a centre, falls, swings, stages, stiff kinetics. What it violates are the
end values, which are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajopt.guess.plain import stated_ends
from trajopt.guess.regular import with_slopes
from trajopt.statement.normal_form import NormalForm, PhaseForm
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.trajectory import Trajectories, Trajectory

Array = NDArray[np.float64]
Rate = Callable[[float, Array], Array]

LEVELS = (0.0, None, 0.5)  # None: the controls of the plain guess
EVALUATIONS = 6000  # of the rates, for all phases together
ACCURACY = 1e-8  # relative
LARGE = 1e6  # a state that exceeds its size by this factor has no bounded motion
# on each step of the integrator, whose solution is a polynomial there
NODES = np.array([0.0, 1 / 3, 2 / 3, 1.0])
STEPS, DEGREE = 4, 5  # steps of the integrator in an interval of a mesh, and its degree


class _SpentError(Exception):
    """The evaluations of the rates are used up."""


def motions(form: NormalForm, parameters: Array, plain: Trajectories) -> Iterator[Trajectories]:
    """Yield the motions with controls at several levels between their bounds, each once.

    At level 0 a control is zero, or the bound that is closest to zero; at level 0.5 it is half-way
    from there to its upper bound. A motion on which first derivatives do not exist is moved.
    """
    seen = list[Array]()
    for level in LEVELS:
        controls = [
            start.u if level is None else _constant(phase, start, level)
            for phase, start in zip(form.phases, plain.phases, strict=True)
        ]
        means = np.concatenate(
            [np.zeros(0), *[u.evaluate(u.breaks).mean(axis=0) for u in controls]]
        )
        if any(np.array_equal(means, other) for other in seen):
            continue
        seen.append(means)
        moved = [replace(ph, u=u) for ph, u in zip(plain.phases, controls, strict=True)]
        found = motion(form, parameters, Trajectories(tuple(moved), plain.s))
        if found is not None:
            yield with_slopes(form, found, parameters)


def followed(form: NormalForm, parameters: Array, plain: Trajectories) -> Trajectories:
    """Return the guess with the motion of every phase in which there is nothing to choose, and a
    mesh that is fine where the integrator took short steps.
    """
    if not any(nothing_to_choose(form, phase) for phase in form.phases):
        return plain
    found = motion(form, parameters, plain, lambda phase: nothing_to_choose(form, phase))
    if found is None:
        return plain
    phases = [
        _with_mesh(ph) if nothing_to_choose(form, phase) else ph
        for phase, ph in zip(form.phases, found.phases, strict=True)
    ]
    return Trajectories(tuple(phases), found.s)


def _with_mesh(start: Trajectory) -> Trajectory:
    steps = start.x.breaks.size - 1
    intervals = -(-steps // STEPS)
    places = np.linspace(0, steps, intervals + 1).round().astype(int)
    return replace(start, breaks=start.x.breaks[places], degrees=(DEGREE,) * intervals)


def nothing_to_choose(form: NormalForm, phase: PhaseForm) -> bool:
    """True if the motion of a phase follows from its start: neither controls nor static variables
    nor algebraic variables, all initial values given, and no guess by the user.
    """
    unknown = phase.u.numel() or phase.z.numel() or form.s.numel()
    guessed = any(q.guess is not None for q in phase.states)
    given = bool(np.all(phase.x_start.fixed))
    times = bool(phase.start_time.fixed[0] and phase.end_time.fixed[0])
    return not unknown and not guessed and given and times and phase.x.numel() > 0


def motion(
    form: NormalForm,
    parameters: Array,
    plain: Trajectories,
    chosen: Callable[[PhaseForm], bool] = lambda phase: True,
) -> Trajectories | None:
    """Return the motion with the controls of a guess, phase after phase through the links; None
    where no phase could be integrated.

    Phases with algebraic variables, with a guess of states, and those that are not ``chosen`` keep
    the states of the guess.
    """
    known, budget, found = stated_ends(form, parameters), _Budget(EVALUATIONS), False
    reached, phases = dict[str, Array](), list[Trajectory]()
    for i, (phase, start) in enumerate(zip(form.phases, plain.phases, strict=True)):
        kept = phase.z.numel() or any(q.guess is not None for q in phase.states)
        x = None
        if not kept and phase.x.numel() and chosen(phase):
            first, last = known.of(i, "x0"), known.of(i, "xf")
            backwards = i == 0 and bool(np.isnan(first).any() and not np.isnan(last).any())
            begin = last if backwards else _begin(phase, start, first, reached)
            rate = _rate(form, i, start, plain.s, parameters, budget)
            x = _integrated(phase, start, rate, begin, backwards)
        start = start if x is None else replace(start, x=x)
        found = found or x is not None
        ends = start.x.evaluate(np.array([start.t0, start.tf]))
        for name, value in (
            ("t0", np.array([start.t0])),
            ("tf", np.array([start.tf])),
            ("x0", ends[0]),
            ("xf", ends[1]),
        ):
            known.set(i, name, value)
        known.complete()
        reached.update({q.name: ends[1, q.rows] for q in phase.states})
        phases.append(start)
    return Trajectories(tuple(phases), plain.s) if found else None


def _constant(phase: PhaseForm, start: Trajectory, level: float) -> Curve:
    """Controls at a level between their bounds; those with a guess by the user as guessed."""
    times = np.array([start.t0, start.tf])
    if any(q.guess is not None for q in phase.controls):
        return start.u
    lower, upper = phase.u_bound.lower, phase.u_bound.upper
    nearest = np.clip(0.0, lower, upper)
    most = np.where(np.isfinite(upper), upper, nearest + 1.0)
    return Curve.linear(times, np.tile(nearest + level * (most - nearest), (2, 1)))


def _begin(phase: PhaseForm, start: Trajectory, first: Array, reached: dict[str, Array]) -> Array:
    """Initial states: as stated or linked, else as the phase before ended, else as guessed."""
    guessed = start.x.evaluate(np.array([start.t0]))[0]
    for q in phase.states:
        before = reached.get(q.name)
        if before is not None and before.size == q.size:
            guessed[q.rows] = before
    begin = np.where(np.isnan(first), guessed, first)
    return np.clip(begin, phase.x_bound.lower, phase.x_bound.upper)


class _Budget:
    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _SpentError


def _rate(
    form: NormalForm, index: int, start: Trajectory, s: Array, parameters: Array, budget: _Budget
) -> Rate:
    """The rates of the states; a state at its bound stays there while its rate points outwards."""
    phase, model = form.phases[index], form.models[index]
    lower, upper = phase.x_bound.lower, phase.x_bound.upper
    no_z = np.zeros((0, 1))

    def rate(t: float, x: Array) -> Array:
        budget.spend()
        inside, where = np.clip(x, lower, upper), np.array([t])
        u = start.u.evaluate(np.clip(where, start.t0, start.tf)).T
        values = model(where[None, :], inside[:, None], no_z, u, s[:, None], parameters[:, None])
        f = np.asarray(values)[: x.size, 0]
        outwards = ((x <= lower) & (f < 0)) | ((x >= upper) & (f > 0))
        return np.where(outwards, 0.0, f)

    return rate


def _integrated(
    phase: PhaseForm, start: Trajectory, rate: Rate, begin: Array, backwards: bool
) -> Curve | None:
    """The states by LSODA, which takes implicit steps where the motion is stiff (Petzold 1983);
    constant after a motion that is not bounded, None if it cannot begin.
    """
    from scipy.integrate import LSODA

    t0, tf = (start.tf, start.t0) if backwards else (start.t0, start.tf)
    size = np.maximum(np.abs(begin), phase.state_sizes.limits)
    times, pieces = [t0], list[Array]()
    try:
        if not np.all(np.isfinite(rate(t0, begin))):
            return None
        with np.errstate(all="ignore"):
            solver = LSODA(rate, t0, begin, tf, rtol=ACCURACY, atol=ACCURACY * size)
            while solver.status == "running" and solver.step() is None:
                at = np.asarray(solver.dense_output()(times[-1] + NODES * (solver.t - times[-1])))
                if not np.all(np.abs(at) <= LARGE * size[:, None]):  # NaN included
                    break
                pieces.append(at.T)
                times.append(float(solver.t))
    except _SpentError:
        pass
    if not pieces:
        return None
    if times[-1] != tf:
        pieces.append(np.tile(pieces[-1][-1], (NODES.size, 1)))
        times.append(tf)
    breaks, values = np.array(times), np.stack(pieces)
    if backwards:
        breaks, values = breaks[::-1].copy(), values[::-1, ::-1].copy()
    values = np.clip(values, phase.x_bound.lower, phase.x_bound.upper)
    return Curve.through(breaks, NODES, values)
