"""Closed loops: the model of a solution integrated forward from a disturbed start, with disturbed
parameters, under its controls, under feedback, or under repeated solves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.errors import SimulationError, UsageError
from trajopt.prepared.feedback import Controller, Feedback
from trajopt.prepared.predictive import ModelPredictive, Predictions
from trajopt.statement.normal_form import ConditionKind, NormalForm, PhaseForm
from trajopt.statement.problem import Problem
from trajopt.statement.stated_bounds import with_boundary
from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]

TOLERANCE = 1e-9  # of the integration, relative and absolute


@dataclass(frozen=True, eq=False)
class PhaseRun:
    """The motion of one phase."""

    name: str
    t: Array
    x: Array  # (times, states)
    u: Array  # (times, controls)


@dataclass(frozen=True, eq=False)
class LoopRun:
    """A motion under a way of control, with what it reached and cost."""

    control: str  # open, feedback or mpc
    phases: tuple[PhaseRun, ...]
    cost: float
    end: Mapping[str, float]  # required end values and conditions -> how far they are missed
    violation: Mapping[
        str, float
    ]  # limits -> by how much they are violated; without those that hold
    solves: tuple[float, ...] = field(default=())  # seconds of each re-solve

    @property
    def miss(self) -> float:
        """The norm of what is missed at the end."""
        return float(np.linalg.norm(list(self.end.values())))


def closed_loop(
    solution: Solution,
    control: str = "open",
    initial: Mapping[Any, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    noise: float | Mapping[str, float] = 0.0,
    rate: float | None = None,
    horizon: float | None = None,
    seed: int = 0,
    plant: Problem | NormalForm | None = None,
) -> LoopRun:
    """Integrate the model of a solution forward under its controls, with disturbances.

    Parameters
    ----------
    solution : Solution
        Whose controls, feedback or repeated solves are used; its parameters are those of the model
        in the controller.
    control : str
        "open": the controls of the solution; "feedback": neighbouring feedback; "mpc": the problem
        solved again from the measured state.
    initial, parameters : mapping
        Initial values and parameters of the motion, where they differ from those of the solution.
    noise : float or mapping
        Standard deviation of the measured states, or by name of the state.
    rate, horizon : float, optional
        Of "mpc": solves in a unit of time, and the length of the horizon instead of the rest of the
        motion.
    seed : int
        Of the noise.
    plant : Problem, optional
        Another model of the motion, with the same phases, states and controls.

    Examples
    --------
    >>> from trajopt import builder, solve
    >>> from trajopt.prepared.closed_loop import closed_loop
    >>> lander = solve(builder("moon-lander")())
    >>> high = {"h": 10.01}
    >>> runs = [closed_loop(lander, control, high) for control in ("open", "feedback")]
    >>> [run.miss < 1e-3 for run in runs]
    [False, True]
    """
    if solution.form is None:
        raise UsageError(
            "closed_loop: this solution has no problem: it was read from a file or a pickle"
        )
    form: NormalForm = solution.form.of_solution(solution.parameters)
    if any(phase.z.numel() for phase in form.phases):
        raise UsageError("closed_loop: problems with algebraic variables cannot be integrated")
    changed = {**solution.parameters, **(parameters or {})}
    other = plant.finish() if isinstance(plant, Problem) else plant or form
    _check_alike(form, other)
    p = other.parameter_values({n: v for n, v in changed.items() if n in _parameters(other)})
    start = with_boundary(form, initial)
    law = _law(solution, control, rate, horizon)
    return _Run(other, start, solution, p, law, _noise(form, noise, seed)).result(control)


def _parameters(form: NormalForm) -> set[str]:
    return {q.name for q in form.parameters}


def _check_alike(form: NormalForm, plant: NormalForm) -> None:
    """Raise unless the phases of both have the same states and controls."""
    own, others = ([(ph.name, ph.x_names, ph.u_names) for ph in f.phases] for f in (form, plant))
    if own != others:
        raise UsageError("closed_loop: the plant has other variables", got=others, expected=own)


def _law(
    solution: Solution, control: str, rate: float | None, horizon: float | None
) -> Controller | Predictions | None:
    if control != "mpc" and (rate is not None or horizon is not None):
        raise UsageError("rate and horizon belong to the control 'mpc'", got=control)
    if control == "open":
        return None
    if control == "feedback":
        return Feedback(solution).controller()
    if control == "mpc":
        return ModelPredictive.of(solution, rate, horizon).controller()
    raise UsageError("closed_loop: control", got=control, expected="open, feedback or mpc")


def _noise(
    form: NormalForm, noise: float | Mapping[str, float], seed: int
) -> Callable[[int, Array], Array]:
    """Phase and state -> measured state."""
    generator = np.random.default_rng(seed)
    if isinstance(noise, Mapping):
        known = {q.name for phase in form.phases for q in phase.states}
        unknown = [name for name in noise if name not in known]
        if unknown:
            raise UsageError("noise: no such state", got=unknown[0], expected=", ".join(known))
    sizes = []
    for phase in form.phases:
        size = np.zeros(phase.x.numel())
        for q in phase.states:
            size[q.rows] = noise.get(q.name, 0.0) if isinstance(noise, Mapping) else noise
        sizes.append(size)

    def measured(phase: int, x: Array) -> Array:
        return np.asarray(x + sizes[phase] * generator.standard_normal(x.size))

    return measured


class _Run:
    """One motion through all phases."""

    def __init__(
        self,
        form: NormalForm,
        start: NormalForm,
        solution: Solution,
        p: Array,
        law: Controller | Predictions | None,
        measured: Callable[[int, Array], Array],
    ) -> None:
        self.form, self.start, self.solution, self.p = form, start, solution, p
        self.law, self.measured = law, measured
        statics = [np.ravel(solution.variables[q.name]) for q in form.statics]
        self.s = np.concatenate([np.zeros(0), *statics])
        self.rates = [_rates(form, phase) for phase in form.phases]

    def result(self, control: str) -> LoopRun:
        runs, ends = list[PhaseRun](), list[list[Array]]()
        for i, phase in enumerate(self.form.phases):
            own = self.solution.phases[phase.name]
            t0 = own.t0 if i == 0 else runs[-1].t[-1]
            x0 = self._initial(i, ends)
            run, integrals = self._phase(i, t0, x0)
            runs.append(run)
            times, states = run.t, run.x
            u0, uf = runs[-1].u[0], runs[-1].u[-1]
            ends.append([times[:1], times[-1:], x0, states[-1], np.zeros(0), np.zeros(0), u0, uf,
                         integrals])  # fmt: skip
        column = np.concatenate([part for parts in ends for part in parts])
        values = casadi.Function(
            "ends", [self.form.endpoint_column, self.form.s, self.form.p],
            [self.form.phi, self.form.b],
        )(column, self.s, self.p)  # fmt: skip
        cost, conditions = (np.asarray(v, dtype=float).ravel() for v in values)
        solves = self.law.seconds if isinstance(self.law, Predictions) else ()
        return LoopRun(
            control, tuple(runs), float(cost[0]) * self.form.sense, self._missed(runs, conditions),
            self._violations(runs), tuple(solves),
        )  # fmt: skip

    def _initial(self, i: int, ends: list[Any]) -> Array:
        """The initial state of a phase: stated, of the solution, or linked to the phase before."""
        phase = self.start.phases[i]
        curve = self.solution.phases[phase.name].states
        own = np.concatenate(
            [np.ravel(curve[q.name](curve[q.name].breaks[0])) for q in phase.states]
        )
        x0 = np.where(phase.x_start.fixed, phase.x_start.lower, own)
        if i == 0:
            return np.asarray(x0, dtype=float)
        rows = [
            k for k, origin in enumerate(self.form.b_origins)
            if origin.kind is ConditionKind.LINK and origin.phase == phase.name
        ]  # fmt: skip
        column = np.concatenate([part for parts in ends for part in parts])
        later = [other for ph in self.form.phases[i:] for other in ph.ends]
        known = casadi.vertcat(*[ph.ends.column for ph in self.form.phases[:i]])
        rest = [other for other in later if other is not phase.ends.x0 and other.numel()]
        b = (
            casadi.substitute(
                [self.form.b[rows]], rest, [type(other).zeros(*other.shape) for other in rest]
            )[0]
            if rows
            else self.form.symbols(0, 1)
        )
        at = casadi.Function("links", [phase.ends.x0, known, self.form.s, self.form.p],
                             [b, casadi.jacobian(b, phase.ends.x0)])  # fmt: skip
        value, slope = (np.asarray(v) for v in at(x0, column, self.s, self.p))
        linked = np.abs(slope).sum(axis=1) > 0
        if linked.any():
            x0 = x0 - np.linalg.lstsq(slope[linked], value.ravel()[linked], rcond=None)[0]
        return np.asarray(x0, dtype=float)

    def _end(self, i: int) -> float:
        """The end of a phase: that of the solution, or of the last correction."""
        name = self.form.phases[i].name
        if self.law is None or self.law.plan is None:
            return self.solution.phases[name].tf
        return float(self.law.plan.times(name)[-1])

    def _control(self, i: int, t: float) -> Array:
        if self.law is not None and self.law.plan is not None:
            return self.law.plan.control(t)
        own = self.solution.phases[self.form.phases[i].name]
        inside = float(np.clip(t, own.t0, own.tf))
        return np.concatenate(
            [
                np.zeros(0),
                *(
                    np.atleast_1d(own.controls[q.name](inside))
                    for q in self.form.phases[i].controls
                ),
            ]
        )

    def _phase(self, i: int, t: float, x: Array) -> tuple[PhaseRun, Array]:
        """The motion and the integrals of a phase, from piece to piece between its measurements."""
        from scipy.integrate import solve_ivp

        phase, count = self.form.phases[i], self.form.phases[i].l.numel()
        times, states, y = [t], [x], np.concatenate([x, np.zeros(count)])
        controls = list[Array]()
        while True:
            if self.law is not None:
                self.law.measure(t, self.measured(i, y[: x.size]), i)
            end, stops = self._end(i), self._stops(i, t)
            if t >= end - 1e-12 * max(abs(end), 1.0):
                break
            after = min([end, *(s for s in stops if s > t + 1e-9 * max(abs(end), 1.0))])
            found = solve_ivp(
                self._slopes, (t, after), y, "DOP853", args=(i,), rtol=TOLERANCE, atol=TOLERANCE
            )
            if not found.success or not np.all(np.isfinite(found.y)):
                raise SimulationError(
                    f"the motion of '{self.form.name}' has no finite continuation",
                    got=f"phase '{phase.name}', t = {t:g}",
                )
            t, y = after, found.y[:, -1]
            inner = [*found.t[1:-1].tolist(), after]
            if not controls:
                controls.append(self._control(i, times[0]))
            controls += [self._control(i, time) for time in inner]
            times += inner
            states += list(found.y[: x.size, 1:].T)
        u = np.array(controls or [self._control(i, t)])
        return PhaseRun(phase.name, np.array(times), np.array(states), u), y[x.size :]

    def _slopes(self, t: float, y: Array, i: int) -> Array:
        x = y[: self.form.phases[i].x.numel()]
        return self.rates[i](t, x, self._control(i, t), self.s, self.p)

    def _stops(self, i: int, t: float) -> list[float]:
        """Times at which the controls may have kinks, or the state is measured."""
        own = self.solution.phases[self.form.phases[i].name]
        stops: list[float] = own.breaks.tolist()
        if self.law is not None:
            stops += self.law.times(t)
            if self.law.plan is not None:
                stops += self.law.plan.times(self.form.phases[i].name).tolist()
        return stops

    def _missed(self, runs: list[PhaseRun], conditions: Array) -> dict[str, float]:
        """Required end values, and conditions, and how far they are missed."""
        found = {}
        for phase, run in zip(self.form.phases, runs, strict=True):
            bound, prefix = phase.x_end, "" if len(runs) == 1 else f"{phase.name}."
            excess = np.maximum(run.x[-1] - bound.upper, 0) - np.maximum(bound.lower - run.x[-1], 0)
            required = np.isfinite(phase.x_end.lower) & bound.fixed
            found.update(
                {
                    f"{prefix}{n}(tf)": float(excess[k])
                    for k, n in enumerate(phase.x_names)
                    if required[k]
                }
            )
        bound = self.form.b_bound
        over = np.maximum(conditions - bound.upper, 0) - np.maximum(bound.lower - conditions, 0)
        for name, origin, value in zip(self.form.b_names, self.form.b_origins, over, strict=True):
            if origin.kind is ConditionKind.STATED:
                found[name] = float(value)
        return found

    def _violations(self, runs: list[PhaseRun]) -> dict[str, float]:
        """Limits of states and paths that are violated, at the times of the run."""
        found: dict[str, float] = {}
        for i, (phase, run) in enumerate(zip(self.form.phases, runs, strict=True)):
            size = phase.x.numel()
            model = self.form.models[i]
            rows = np.asarray(
                model(run.t[None, :], run.x.T, np.zeros((0, run.t.size)), run.u.T, self.s, self.p)
            )[size + phase.g.numel() :][: phase.c.numel()]
            for names, values, bound in (
                (phase.x_names, run.x.T, phase.x_bound),
                (phase.c_names, rows, phase.c_bound),
            ):
                excess = np.maximum(values - bound.upper[:, None], bound.lower[:, None] - values)
                for name, own in zip(names, excess, strict=True):
                    if own.max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(values).max(initial=0))):
                        found[name] = max(found.get(name, 0.0), float(own.max()))
        return found


def _rates(form: NormalForm, phase: PhaseForm) -> Callable[..., Array]:
    """(t, x, u, s, p) -> rates of states and integrals."""
    rates = casadi.densify(casadi.vertcat(phase.f, phase.l))
    f = casadi.Function("rates", [phase.t, phase.x, phase.u, form.s, form.p], [rates])

    def at(t: float, x: Array, u: Array, s: Array, p: Array) -> Array:
        return np.array(f(t, x, u, s, p), dtype=float).ravel()

    return at
