"""The variables of a motion at the times of the frames of an animation, phase by phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.errors import UsageError
from trajopt.trajectory.solution import PhaseSolution, Solution

if TYPE_CHECKING:
    from trajopt.integrate.simulation import Simulation

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FrameValues:
    """The variables of one phase at the times of its frames."""

    t: Array  # (m,)
    values: Mapping[str, Array]  # (m,), or (m, size)


def spans_of(source: Simulation | Solution) -> tuple[list[tuple[float, float]], str]:
    """Return start and end of each phase, and the unit of time."""
    if isinstance(source, Solution):
        phases = list(source.phases.values())
        return [(ph.t0, ph.tf) for ph in phases], phases[0].time_unit
    return [(float(source.t[0]), float(source.t[-1]))], "s"


def frame_times(spans: list[tuple[float, float]], count: int) -> list[Array]:
    """Return frame times at equal steps over all phases; a time between two phases belongs to the
    later one.
    """
    lengths = np.array([b - a for a, b in spans])
    if not lengths.sum() > 0:
        raise UsageError("a motion of zero duration cannot be animated", got=f"{lengths.sum():g}")
    begins = np.concatenate([[0.0], np.cumsum(lengths)])
    elapsed = np.linspace(0.0, begins[-1], count)
    which = np.clip(np.searchsorted(begins, elapsed, side="right") - 1, 0, len(spans) - 1)
    return [np.clip(a + elapsed[which == k] - begins[k], a, b) for k, (a, b) in enumerate(spans)]


def sampled(source: Simulation | Solution, number: int, times: Array) -> FrameValues:
    """Sample all variables of phase ``number``."""
    values: dict[str, Array] = {"t": times}
    if isinstance(source, Solution):
        phase: PhaseSolution = list(source.phases.values())[number]
        for group in (phase.states, phase.controls, phase.algebraics):
            for name, curve in group.items():
                _put(values, name, curve.evaluate(times))
        for name, value in {**source.parameters, **source.variables}.items():
            _put(values, name, np.broadcast_to(np.atleast_1d(value), (len(times), np.size(value))))
    else:
        states = source.at(times)
        for i, state in enumerate(source.system.states):
            values[state.name] = states[:, i]
        for parameter in source.system.parameters:
            values.setdefault(parameter.name, np.full(len(times), parameter.value))
        for name, (expression, _) in source.system.outputs.items():
            if name not in values:
                _put(values, name, _output(source, expression, times, states))
    return FrameValues(times, values)


def _output(source: Simulation, expression: Any, times: Array, states: Array) -> Array:
    """Evaluate an output of a system, such as a reaction: (m, size)."""
    function = source.system.function(casadi.densify(expression)).map(len(times))
    return np.asarray(
        function(times[None, :], states.T, source.system.parameter_values).full(), dtype=float
    ).T


def thinned(phases: list[FrameValues], finer: int) -> list[FrameValues]:
    """Return every ``finer``-th sample, counted over all phases."""
    found, before = [], 0
    for phase in phases:
        chosen = slice(-before % finer, None, finer)
        found.append(
            FrameValues(phase.t[chosen], {name: v[chosen] for name, v in phase.values.items()})
        )
        before += len(phase.t)
    return found


def _put(values: dict[str, Array], name: str, columns: Array) -> None:
    """Add a variable by name, and the components of a vector by theirs."""
    if columns.shape[1] == 1:
        values[name] = columns[:, 0]
        return
    values[name] = columns
    for i in range(columns.shape[1]):
        values[f"{name}_{i}"] = columns[:, i]
