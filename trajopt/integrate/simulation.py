"""``simulate``: forward integration of a system with events, stabilization and drift."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import casadi
import numpy as np

from trajopt.arguments import named_arguments
from trajopt.compiled.pointwise import Pointwise
from trajopt.displays import display
from trajopt.errors import UsageError, suggest
from trajopt.integrate.dense_output import Path
from trajopt.integrate.deviations import deviation
from trajopt.integrate.events import Occurrence, Progress, run, watch
from trajopt.integrate.fixed_step import Integrator, positive
from trajopt.integrate.gain_tuning import recommended_gain, samples
from trajopt.integrate.gains import check_gain
from trajopt.integrate.library_integrators import Dop853
from trajopt.integrate.rates import evaluate, function_of_state, rate_of_system
from trajopt.integrate.stabilize import Guard, Stabilization, StabilizedSystem
from trajopt.system import System

STEP = "step"
# times its terms at the start: an invariant that deviates further says nothing about the system any
# more
LOST = 1e3

Value = TypeVar("Value")


class OnDemand(Mapping[str, Value]):
    """Named values that are computed together, at the first use of one of them."""

    def __init__(self, names: Iterable[str], build: Callable[[], dict[str, Value]]) -> None:
        self._names, self._build = tuple(names), build
        self._values: dict[str, Value] | None = None

    def __getitem__(self, name: str) -> Value:
        if self._values is None:
            self._values = self._build()
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True)
class Drift:
    """Deviation of an invariant: maximum and final value."""

    max: float
    end: float


@dataclass(frozen=True)
class Simulation:
    """A motion of a system.

    ``simulation["theta"]`` is a state or an output at the times ``t``; ``simulation.at(0.5)`` is
    the state at any time. The drift of an invariant is the norm of its deviation: from zero for
    constraints, from its initial value for first integrals.
    """

    system: System
    integrator: Integrator
    stabilization: Stabilization | None
    t: np.ndarray  # (k,)
    x: np.ndarray  # (k, n)
    events: tuple[Occurrence, ...]
    outputs: Mapping[str, np.ndarray]
    drift: Mapping[str, Drift]
    path: Path = field(repr=False)

    def __repr__(self) -> str:
        return f"<Simulation of {display('simulation_line', self)}>"

    def _repr_html_(self) -> str:
        return str(display("simulation_html", self))

    def __getitem__(self, name: str) -> np.ndarray:
        names = [s.name for s in self.system.states]
        if name in names:
            column: np.ndarray = self.x[:, names.index(name)]
            return column
        if name in self.outputs:
            return self.outputs[name]
        known = [*names, *self.outputs]
        raise UsageError(
            f"'{self.system.name}' has no state or output '{name}'",
            expected=", ".join(known),
            hint=suggest(name, known),
        )

    def at(self, time: float | np.ndarray, name: str | None = None) -> np.ndarray:
        """Return the state, or one component by name, at one time or an array of times."""
        values = self.path(time)
        if name is None:
            return values
        names = [s.name for s in self.system.states]
        if name not in names:
            raise UsageError(
                f"'{self.system.name}' has no state '{name}'",
                expected=", ".join(names),
                hint=suggest(name, names),
            )
        column: np.ndarray = values[..., names.index(name)]
        return column

    def refined(self, points: int = 2000) -> Simulation:
        """Return the motion and its outputs at no fewer than ``points`` times; states between steps
        come from the dense output.

        Plots and extreme values use it, since an integrator of high order takes few steps.
        """
        path = self.path.refined(points)
        if path is self.path:
            return self
        t, x = path.t, path.x
        return replace(
            self,
            t=t,
            x=x,
            outputs=OnDemand(self.system.outputs, partial(_outputs, self.system, t, x)),
            path=path,
        )

    @property
    def final(self) -> dict[str, float]:
        """The final state by name."""
        return {s.name: float(v) for s, v in zip(self.system.states, self.x[-1], strict=True)}


@named_arguments
def simulate(
    system: System,
    integrator: Integrator | None = None,
    until: float | None = None,
    stabilization: Stabilization | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Integrate a system from its initial state at t = 0.

    A parameter of the system named "step" is set to the step of a fixed-step integrator, so that an
    event can detect when a step is too long.

    Parameters
    ----------
    integrator : ``Dop853(1e-10)`` by default.
    until : final time; by default that of the system.
    stabilization : of the invariants; without a gain, ``recommended_gain`` is used.
    progress : called with the completed fraction.

    Examples
    --------
    >>> from problems.lecture import pendulum
    >>> motion = simulate(pendulum(), until=10)
    >>> round(motion.final["theta"], 7), motion.drift["energy"].max < 1e-8
    (-0.2193942, True)
    """
    if not isinstance(system, System):
        raise UsageError(
            "simulate: not a system", got=repr(system), expected="a trajopt.system.System"
        )
    method = integrator or Dop853(1e-10)
    if isinstance(method, str):
        from trajopt.integrate.integrator_names import INTEGRATORS  # which needs this module

        raise UsageError(
            "simulate: not an integrator",
            got=repr(method),
            expected="Rk4(0.01), Dop853(1e-10) or another of trajopt.integrate",
            hint=suggest(method, INTEGRATORS),
        )
    duration = positive(system.until if until is None else until, "duration of a run")
    if method.fixed_step is not None and any(p.name == STEP for p in system.parameters):
        system = system.starting_at({STEP: method.fixed_step})
    if stabilization is None:
        prepared = StabilizedSystem(system)
    else:
        if stabilization.lacks_gain:
            stabilization = stabilization.with_gain(
                recommended_gain(system, method, stabilization, duration)
            )
        _check_stabilization(stabilization, system, method)
        prepared = (
            stabilization.sampled(system) if samples(method) else None
        ) or stabilization.prepare(system)
    motion = prepared.system
    watched = watch(motion, [g.event for g in prepared.guards])
    path, events = run(
        rate_of_system(motion),
        method,
        (0.0, motion.start, duration),
        watched,
        prepared.project,
        progress,
    )
    _check_guards(prepared.guards, events)
    t, x = path.t, path.x
    outputs = OnDemand(motion.outputs, partial(_outputs, motion, t, x))
    if stabilization is not None and prepared.own is not None:
        own, motion = prepared.own, stabilization.prepare(system).system
        path, x = path.first(own), x[:, :own]
        events = tuple(replace(e, before=e.before[:own], after=e.after[:own]) for e in events)
    drift = OnDemand([i.name for i in system.invariants], partial(drifts, system, t, x))
    return Simulation(motion, method, stabilization, t, x, events, outputs, drift, path)


def _check_guards(guards: tuple[Guard, ...], events: tuple[Occurrence, ...]) -> None:
    """Raise the error of a guard whose event occurred."""
    for guard in guards:
        times = [e.time for e in events if e.name == guard.event.name]
        if times:
            raise type(guard.error)(
                guard.error.what, got=f"t = {times[0]:.6g}", hint=guard.error.hint
            )


def _check_stabilization(stabilization: Stabilization, system: System, method: Integrator) -> None:
    """Raise if the gain is unstable for an explicit fixed-step scheme; adaptive schemes shorten
    their steps.
    """
    K = stabilization.matrix(system)
    if K is not None and method.scheme is not None and method.fixed_step is not None:
        check_gain(K, method, method.fixed_step)


def drifts(system: System, t: np.ndarray, x: np.ndarray) -> dict[str, Drift]:
    """Return the drift of each invariant along a motion: t (k,), x (k, n)."""
    return {
        name: Drift(float(np.max(y)), float(y[-1]))
        for name, y in deviation_norms(system, t, x).items()
    }


def deviation_norms(system: System, t: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Return the norm of the deviation of each invariant along a motion: t (k,), x (k,
    n) -> (k,).
    """
    values = _along(system, [deviation(system, i) for i in system.invariants], t, x)
    return {
        i.name: np.linalg.norm(v, axis=1) for i, v in zip(system.invariants, values, strict=True)
    }


def lost_invariants(simulation: Simulation) -> dict[str, tuple[float, float]]:
    """Return the invariants of a motion that left its system: largest deviation, and the size of
    the terms at the start.

    The size is the largest value of |y| + sum |dy/dx_j| |x_j| in the first tenth of the run. An
    unstable step makes states, and with them the deviation, grow without limit.
    """
    found = {}
    system, early = simulation.system, max(len(simulation.t) // 10, 2)
    for invariant in system.invariants:
        slopes = casadi.vec(casadi.jacobian(invariant.expression, system.x))
        terms = casadi.vertcat(casadi.vec(invariant.expression), slopes)
        (values,) = _along(system, [terms], simulation.t[:early], simulation.x[:early])
        rows = invariant.expression.numel()
        weights = np.abs(values[:, rows:]).reshape(early, system.x.numel(), rows)
        sizes = np.abs(values[:, :rows]) + (weights * np.abs(simulation.x[:early, :, None])).sum(
            axis=1
        )
        size, deviation_ = float(sizes.max()), simulation.drift[invariant.name].max
        if size > 0 and not deviation_ <= LOST * size:
            found[invariant.name] = (deviation_, size)
    return found


def _outputs(system: System, t: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    values = _along(system, [expression for expression, _ in system.outputs.values()], t, x)
    return {
        name: v[:, 0] if v.shape[1] == 1 else v
        for name, v in zip(system.outputs, values, strict=True)
    }


def _along(
    system: System, expressions: list[casadi.SX], t: np.ndarray, x: np.ndarray
) -> list[np.ndarray]:
    """Evaluate expressions along a motion by one function, so that they share
    their common terms.
    """
    columns = [casadi.vec(casadi.SX(e)) for e in expressions]
    values = evaluate(
        Pointwise(function_of_state(system, casadi.vertcat(casadi.SX(0, 1), *columns))), t, x
    )
    return np.split(values, np.cumsum([c.numel() for c in columns])[:-1], axis=1) if columns else []
