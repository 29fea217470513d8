"""Fixed-step integrators from Butcher tableaus.

The interface of an integrator:

1. it is a frozen dataclass of its settings;
2. ``pieces`` integrates from (t0, x0) to t1 and yields segments with knots and dense output;
3. after each step it applies ``project``, if given;
4. it raises ``SimulationError`` in the names of the states if the integration fails.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from trajopt.errors import UsageError
from trajopt.integrate.dense_output import Segment, hermite_piece
from trajopt.integrate.rates import Rate, check_finite, numpy_callable
from trajopt.integrate.tableaus import EULER, GILL, HEUN, RK4, Tableau, second_order

# steps in one compiled call; between calls, progress is reported and a run can be interrupted
CHUNK = 1000
MOST_STEPS = 10**8  # all are kept: some gigabytes
SMALL = 16  # up to this many steps no chunk is compiled

Step = Callable[[Any, Any, Any], Any]  # (x, t, h) -> x at t + h
Leg = tuple[float, np.ndarray, float]  # start time, the state there, end time


class Integrator(abc.ABC):
    """Abstract integrator of an initial-value problem."""

    @abc.abstractmethod
    def pieces(
        self, rate: Rate, leg: Leg, project: casadi.Function | None = None
    ) -> Iterator[Segment]:
        """Yield the motion over a leg in segments."""

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """Name and settings, for reports."""

    @property
    def scheme(self) -> Tableau | None:
        """The explicit scheme, None if implicit."""
        return None

    @property
    def fixed_step(self) -> float | None:
        """The step size, None if adaptive."""
        return None


def advance(integrator: Integrator, rate: Rate, leg: Leg) -> np.ndarray:
    """Return the state at the end of a leg."""
    start, state, end = leg
    if end != start:
        for piece in integrator.pieces(rate, leg):
            state = piece.x[-1]
    return state


def positive(value: float, what: str) -> float:
    """Return the number; raise ``UsageError`` unless it is positive and finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        raise UsageError(
            f"the {what} must be positive", got=value, expected="a finite number above zero"
        )
    return number


@dataclass(frozen=True)
class RungeKutta(Integrator):
    """An explicit Runge-Kutta scheme with a fixed step.

    >>> from trajopt.integrate import RungeKutta, flow
    >>> from trajopt.integrate.tableaus import RK4
    >>> path = flow(lambda t, x: -2 * x, 0, 1, [1.0], integrator=RungeKutta(RK4, step=0.1))
    >>> bool(abs(path(1.0)[0] - np.exp(-2)) < 1e-5)
    True
    """

    tableau: Tableau
    step: float = 1e-3

    def __post_init__(self) -> None:
        positive(self.step, "step")

    @property
    def label(self) -> str:
        return f"{self.tableau.name}, step {self.step:g}"

    @property
    def scheme(self) -> Tableau | None:
        return self.tableau

    @property
    def fixed_step(self) -> float | None:
        return self.step

    def pieces(
        self, rate: Rate, leg: Leg, project: casadi.Function | None = None
    ) -> Iterator[Segment]:
        def build() -> Step | casadi.Function:
            if rate.function is None:
                return _plain_step(rate, self.tableau, project)
            t, x, h = rate.symbolic(self.tableau.stages)
            x1, _ = runge_kutta(self.tableau, rate.function, t, x, h)
            return casadi.Function(
                "step", [x, t, h], [x1 if project is None else project(t + h, x1)]
            )

        step = rate.cached((self.tableau.name, rate.kept(project)), build)
        yield from march(rate, step, self.step, leg)


def runge_kutta(
    tableau: Tableau, f: Callable[[Any, Any], Any], t: Any, x: Any, h: Any
) -> tuple[Any, list[Any]]:
    """Return one step and its stages, for symbols or numbers."""
    k: list[Any] = []
    for row, c in zip(tableau.a, tableau.c, strict=True):
        k.append(f(t + c * h, x + h * combine(row, k) if k else x))
    return x + h * combine(tableau.b, k), k


def combine(weights: tuple[float, ...], k: list[Any]) -> Any:
    """Return the sum of w_i k_i over nonzero weights."""
    terms = [w * ki for w, ki in zip(weights, k, strict=True) if w != 0]
    total = terms[0] if terms else 0.0
    for term in terms[1:]:
        total = total + term
    return total


def _plain_step(rate: Rate, tableau: Tableau, project: casadi.Function | None) -> Step:
    projected = None if project is None else numpy_callable(project)

    def step(x: np.ndarray, t: float, h: float) -> np.ndarray:
        x1, _ = runge_kutta(tableau, rate.call, t, x, h)
        return np.asarray(x1) if projected is None else projected(t + h, x1)

    return step


def march(rate: Rate, step: Step | casadi.Function, size: float, leg: Leg) -> Iterator[Segment]:
    """Yield segments of equal steps over a leg; the last step may be shorter."""
    t0, x0, t1 = leg
    check_finite(rate, t0, x0, "start from finite values")
    direction = 1.0 if t1 >= t0 else -1.0
    whole = int(np.floor(abs(t1 - t0) / size * (1 + 1e-12) + 1e-9))
    if whole > MOST_STEPS:
        raise UsageError(
            "the step is too small for this run",
            got=f"{whole} steps of {size:g}",
            expected=f"at most {MOST_STEPS} steps",
            hint=f"a step of {abs(t1 - t0) / MOST_STEPS:.1g} or more, or a shorter run",
        )
    for first in range(0, whole + 1, CHUNK):
        last = min(first + CHUNK, whole)
        t = t0 + direction * size * np.arange(first, last + 1)
        if last == whole:
            # Avoid a last step of the size of round-off.
            t = t if abs(t1 - t[-1]) > 1e-9 * size else np.append(t[:-1], t1)
            t = t if t[-1] == t1 else np.append(t, t1)
        if len(t) < 2:
            return
        x = _chunk(rate, step, t, x0)
        bad = ~np.all(np.isfinite(x), axis=1)
        if np.any(bad):
            i = int(np.argmax(bad))
            hint = "use a smaller step or, with stabilization, a smaller gain"
            check_finite(rate, t[i - 1], x[i - 1], hint)
            check_finite(rate, t[i], x[i], hint)
        yield hermite_piece(rate, t, x)
        x0 = x[-1]


def _chunk(rate: Rate, step: Step | casadi.Function, t: np.ndarray, x0: np.ndarray) -> np.ndarray:
    """Return the states at the knots t, including x0."""
    h = np.diff(t)
    if not isinstance(step, casadi.Function) or len(h) <= SMALL:
        call = rate.cached(
            (id(step), "call"),
            lambda: numpy_callable(step) if isinstance(step, casadi.Function) else step,
        )
        x = [np.asarray(x0, dtype=float)]
        with np.errstate(all="ignore"):
            for ti, hi in zip(t, h, strict=False):
                x.append(call(x[-1], ti, hi))
        return np.array(x)
    chunk = rate.cached((id(step), "chunk"), lambda: step.mapaccum("chunk", CHUNK))
    # The last chunk is padded with steps of zero length.
    starts, lengths = np.full(CHUNK, t[-1]), np.zeros(CHUNK)
    starts[: len(h)], lengths[: len(h)] = t[:-1], h
    states = np.asarray(chunk(x0, starts.reshape(1, -1), lengths.reshape(1, -1)))
    return np.vstack([x0, states.T[: len(h)]])


def Euler(step: float = 1e-3) -> RungeKutta:
    """Euler's scheme, of order 1."""
    return RungeKutta(EULER, step)


def Heun(step: float = 1e-3) -> RungeKutta:
    """Heun's scheme, of order 2."""
    return RungeKutta(HEUN, step)


def Rk2(step: float = 1e-3, k2: float = 1 / 2) -> RungeKutta:
    """A scheme of order 2 with the weights 1 - k2 and k2: 1/2 Heun, 3/4 Ralston, 1 midpoint."""
    if not 0 < k2 <= 1:
        raise UsageError(
            "the weight k2 of the second-order scheme is out of range",
            got=k2,
            expected="above 0, at most 1",
        )
    return RungeKutta(second_order(k2), step)


def Rk4(step: float = 1e-3) -> RungeKutta:
    """The classical scheme of order 4."""
    return RungeKutta(RK4, step)


def Gill(step: float = 1e-3) -> RungeKutta:
    """The Runge-Kutta-Gill scheme, of order 4."""
    return RungeKutta(GILL, step)
