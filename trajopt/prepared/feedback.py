"""Neighbouring feedback: controls, switches and ends that follow the measured state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.arguments import named_methods
from trajopt.direct.neighbours import Measurement, Neighbours
from trajopt.errors import SolveError, UsageError
from trajopt.prepared.sensitivity import session_of
from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Correction:
    """The motion from a measured state on, to first order."""

    phase: int  # in which the state was measured
    _of: Feedback
    _y: Array

    def times(self, phase: str | None = None) -> Array:
        """Start, switches and end of a phase; by default of that of the measurement."""
        index = self.phase if phase is None else self._of.names.index(phase)
        return self._of._neighbours.phases[index].times(self._y).copy()

    def control(self, t: float) -> Array:
        """The controls at a time after the measurement."""
        phases = self._of._neighbours.phases
        index = self.phase
        while index + 1 < len(phases) and t > phases[index].times(self._y)[-1]:
            index += 1
        return phases[index].control(self._y, t)


@named_methods
class Feedback:
    """Feedback about a solution: made by ``solution.feedback()``.

    The state is measured at the starts of intervals (``times``), and corrects controls, switching
    times and end times until the next measurement. End errors fall with the square of a
    disturbance. Static variables keep their values.
    """

    def __init__(self, solution: Solution) -> None:
        kept = session_of(solution)
        self._neighbours = Neighbours(kept)
        self._samples = self._neighbours.samples()
        if not self._samples:
            raise SolveError(
                f"problem '{solution.problem}' has no feedback: its states cannot be corrected",
                hint="the initial values of its states are given, and its controls act on them",
            )
        self.names = tuple(phase.name for phase in kept.stated.phases)
        self._labels = tuple(phase.x_names for phase in kept.stated.phases)

    def __repr__(self) -> str:
        return f"<Feedback: {len(self._samples)} measurements until t = {self.times[-1]:.6g}>"

    @property
    def times(self) -> Array:
        """At which the state is measured."""
        return np.array([sample.time for sample in self._samples])

    @property
    def gains(self) -> tuple[Array, ...]:
        """For each measurement: the derivatives of the controls just after it by the states."""
        return tuple(self._neighbours.gain(sample) for sample in self._samples)

    def plan(self, t: float, x: ArrayLike) -> Correction:
        """The corrected motion from the state ``x`` at the last of ``times`` that is not after
        ``t``; states in the order of the statement.
        """
        sample = self.sample_at(t)
        assert sample is not None
        return self.plan_from(sample, x)

    def plan_from(self, sample: Measurement, x: ArrayLike) -> Correction:
        """The corrected motion from the state ``x`` at the time of a sample."""
        measured = np.asarray(x, dtype=float).ravel()
        if measured.shape != sample.state.shape:
            raise UsageError(
                "feedback: the measured state",
                got=f"{measured.size} numbers",
                expected=", ".join(self._labels[sample.phase]),
            )
        moved = self._neighbours.y + sample.follow @ (measured - sample.state)
        return Correction(sample.phase, self, moved)

    def control(self, t: float, x: ArrayLike) -> Array:
        """The controls at a time, from the state ``x`` at the last of ``times`` not after it."""
        return self.plan(t, x).control(t)

    def controller(self) -> Controller:
        """A function (t, x) -> controls that measures at ``times`` and holds its correction."""
        return Controller(self)

    def sample_at(self, t: float, phase: int | None = None) -> Measurement | None:
        """The last sample that is not after a time, of a phase; the first one before all."""
        own = [one for one in self._samples if phase in (None, one.phase)]
        close = 1e-9 * abs(self._samples[-1].time)
        due = [one for one in own if one.time <= t + close]
        return due[-1] if due else own[0] if phase is None else None


class Controller:
    """Measures the state at the times of a feedback, and holds the correction in between."""

    def __init__(self, feedback: Feedback) -> None:
        self._feedback = feedback
        self._sample: Measurement | None = None
        self.plan: Correction | None = None  # the last correction

    def __call__(self, t: float, x: ArrayLike) -> Array:
        self.measure(t, x)
        assert self.plan is not None
        return self.plan.control(t)

    def measure(self, t: float, x: ArrayLike, phase: int | None = None) -> None:
        """Correct the plan if a measurement is due; ``phase``: in which the state is."""
        sample = self._feedback.sample_at(t, phase)
        if sample is not None and sample is not self._sample:
            self._sample, self.plan = sample, self._feedback.plan_from(sample, x)

    def times(self, t: float) -> list[float]:
        """When the state is measured."""
        return [float(time) for time in self._feedback.times]
