"""Model predictive control: a prepared problem solved again from each measured state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.arguments import Finite, checked_arguments, named_methods
from trajopt.errors import UsageError
from trajopt.prepared.preparing import Iterate, Prepared, prepare
from trajopt.trajectory.solution import Solution, Status

Array = NDArray[np.float64]

SOLVES = 20  # in the duration of the solution, without a rate


@dataclass(frozen=True, eq=False)
class Prediction:
    """The motion that a solve predicts from a measured state."""

    status: Status
    seconds: float  # of the solve
    objective: float
    _answer: Iterate = field(repr=False)
    _shift: float = field(
        repr=False
    )  # of the times, where the horizon moves with a motion without given times

    def control(self, t: float) -> Array:
        """The controls at a time."""
        return self._answer.control(t - self._shift)

    def times(self, phase: str | None = None) -> Array:
        """Start, switches and end of a phase."""
        return self._answer.times(phase) + self._shift


@named_methods
class ModelPredictive:
    """Solve a prepared problem from each measured state, and apply the first of its controls.

    Parameters
    ----------
    prepared : Prepared
        Of a problem of one phase. Its initial values are replaced by the measured ones.
    rate : float
        Solves in a unit of time.
    horizon : float, optional
        How far ahead the motion is planned: each solve has the times 0 to ``horizon``, as the
        problem states them. Without it, the start time moves and the end stays: the horizon
        shrinks.
    parameters : mapping, optional
        Of the model.

    Examples
    --------
    >>> from trajopt import ModelPredictive, builder, prepare
    >>> mpc = ModelPredictive(prepare(builder("cart-pole")()), rate=10)
    >>> plan = mpc.step(0.0, [0.01, 0, 0, 0])
    >>> plan.status.name, plan.control(0.0).shape
    ('SOLVED', (1,))
    """

    @checked_arguments
    def __init__(
        self,
        prepared: Prepared,
        rate: Finite,
        horizon: Finite | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        form = prepared.form
        if len(form.phases) != 1:
            raise UsageError(
                "ModelPredictive: problems of several phases are not supported",
                got=", ".join(ph.name for ph in form.phases),
                expected="one phase",
                hint="solution.feedback() corrects motions of several phases",
            )
        self.prepared, self.rate, self.horizon = prepared, rate, horizon
        self.parameters = parameters
        self._phase = form.phases[0]
        self._begun = not prepared.is_new

    @staticmethod
    def of(solution: Solution, rate: float | None, horizon: float | None) -> ModelPredictive:
        """For the problem of a solution, from which the first solve begins."""
        duration = sum(ph.tf - ph.t0 for ph in solution.phases.values())
        prepared = prepare(solution.form, solution)
        return ModelPredictive(prepared, rate or SOLVES / duration, horizon, solution.parameters)

    def step(self, t: float, x: ArrayLike) -> Prediction:
        """Solve from the state ``x`` at the time ``t``; states in the order of the statement."""
        began = time.perf_counter()
        measured = np.asarray(x, dtype=float).ravel()
        names = self._phase.x_names
        if measured.size != len(names):
            raise UsageError(
                "ModelPredictive: the measured state",
                got=f"{measured.size} numbers", expected=", ".join(names),
            )  # fmt: skip
        initial: dict[str, object] = {q.name: measured[q.rows] for q in self._phase.states}
        final: dict[str, object] = {}
        shift = 0.0
        if self.horizon is None:
            initial["t"] = t
        else:
            initial["t"], final["t"], shift = 0.0, self.horizon, t
        answer = None
        if self._begun:
            answer = self.prepared.solve(self.parameters, initial, final, fixed=True)
        if answer is None or answer.status is not Status.SOLVED:
            self.prepared.solve(self.parameters, initial, final)
            answer = self.prepared.solve(self.parameters, initial, final, fixed=True)
            self._begun = True
        seconds = time.perf_counter() - began
        return Prediction(answer.status, seconds, answer.objective, answer, shift)

    def controller(self) -> Predictions:
        """A function (t, x) -> controls that solves at the rate and holds the plan in between."""
        return Predictions(self)


class Predictions:
    """The controls of repeated solves."""

    def __init__(self, mpc: ModelPredictive) -> None:
        self._mpc, self._next = mpc, -np.inf
        self.plan: Prediction | None = None  # the last one
        self.seconds: list[float] = []  # of each solve

    def measure(self, t: float, x: ArrayLike, phase: int | None = None) -> None:
        """Solve again if it is time to; a plan that fails leaves the one before."""
        end = np.inf if self.plan is None else float(self.plan.times()[-1])
        period = 1 / self._mpc.rate
        if t < self._next - 1e-9 * period or (self._mpc.horizon is None and end - t < period):
            return
        after = self._mpc.step(t, x)
        self.seconds.append(after.seconds)
        self._next = t + period
        if after.status is Status.SOLVED or self.plan is None:
            self.plan = after

    def times(self, t: float) -> list[float]:
        """When the state is measured next."""
        return [self._next]

    def __call__(self, t: float, x: ArrayLike) -> Array:
        self.measure(t, x)
        assert self.plan is not None
        return self.plan.control(t)
