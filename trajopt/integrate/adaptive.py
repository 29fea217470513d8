"""Embedded Runge-Kutta pairs with error estimate and step-size control, such as Fehlberg's 4(5).

One tolerance is both absolute and relative: the error e of a component x is weighted as e /
(tolerance (1 + |x|)). It applies to a run of several periods. Since local errors accumulate, a
single step gets a fraction of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from trajopt.errors import SimulationError, UsageError
from trajopt.integrate.dense_output import Segment, hermite_piece
from trajopt.integrate.fixed_step import Integrator, Leg, combine, positive, runge_kutta
from trajopt.integrate.rates import Rate, check_finite, numpy_callable, spelled
from trajopt.integrate.tableaus import DOPRI5, FEHLBERG, Tableau

STEP_SHARE = 0.1  # fraction of the tolerance for one step
SMALLEST, LARGEST = 0.2, 5.0  # limits of the ratio of consecutive steps
NEAR_SINGULAR = (
    "a singularity or a stiff system; for a stiff one use RadauIIA() or Sundials(), "
    "or a smaller gain"
)


@dataclass(frozen=True)
class Embedded(Integrator):
    """A Runge-Kutta scheme with step-size control: h' = safety h (tolerance / error)^exponent."""

    tableau: Tableau
    tolerance: float = 1e-8
    safety: float = 0.9

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")
        if not 0 < self.safety < 1:
            raise UsageError(
                "the safety factor of the step control is out of range",
                got=self.safety,
                expected="between 0 and 1, usually 0.8 to 0.9",
            )
        if not self.tableau.errors:
            raise UsageError(
                f"the scheme '{self.tableau.name}' has no error estimate",
                hint="use RungeKutta(tableau, step)",
            )

    @property
    def label(self) -> str:
        return f"{self.tableau.name}, tolerance {self.tolerance:g}"

    @property
    def scheme(self) -> Tableau | None:
        return self.tableau

    def pieces(
        self, rate: Rate, leg: Leg, project: casadi.Function | None = None
    ) -> Iterator[Segment]:
        trial = rate.cached(("trial", self.tableau.name), lambda: trial_step(rate, self.tableau))
        projected = (
            None
            if project is None
            else rate.cached(("project", rate.kept(project)), lambda: numpy_callable(project))
        )
        for t, x in adaptive_steps(self, trial, rate, leg, projected):
            yield hermite_piece(rate, t, x)


# (t, x, h) -> x1 (n,), error estimates (rows, n)
Trial = Callable[[float, np.ndarray, float], tuple[np.ndarray, np.ndarray]]


def trial_step(rate: Rate, tableau: Tableau) -> Trial:
    """Return one step and its error estimates as a single compiled function."""
    n, rows = rate.size, len(tableau.errors)

    def stack(t: Any, x: Any, h: Any, f: Any) -> list[Any]:
        x1, k = runge_kutta(tableau, f, t, x, h)
        return [x1, *(h * combine(row, k) for row in tableau.errors)]

    if rate.function is None:

        def call(t: float, x: np.ndarray, h: float) -> np.ndarray:
            return np.concatenate(stack(t, x, h, rate.call))
    else:
        t, x, h = rate.symbolic(tableau.stages)
        call = numpy_callable(
            casadi.Function(
                "trial", [t, x, h], [casadi.densify(casadi.vertcat(*stack(t, x, h, rate.function)))]
            )
        )

    def trial(t: float, x: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        out = call(t, x, h)
        return out[:n], out[n:].reshape(rows, n)

    return trial


def adaptive_steps(
    method: Embedded,
    trial: Trial,
    rate: Rate,
    leg: Leg,
    projected: Callable[..., np.ndarray] | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield times and states of the accepted steps of a leg."""
    t, x, end = leg
    check_finite(rate, t, x, "start from finite values")
    direction = 1.0 if end >= t else -1.0
    h = first_step(rate, method, t, x, end)
    while t != end:
        last = h >= abs(end - t) * (1 - 1e-12)
        t1 = end if last else t + direction * h
        with np.errstate(all="ignore"):
            x1, errors = trial(t, x, t1 - t)
            error = error_norm(
                errors, STEP_SHARE * method.tolerance * (1 + np.maximum(abs(x), abs(x1)))
            )
            factor = (
                LARGEST if error == 0 else method.safety * error**-method.tableau.error_exponent
            )
        if error <= 1:
            x1 = x1 if projected is None else projected(t1, x1)
            yield np.array([t, t1]), np.vstack([x, x1])
            # A step shortened to reach the end does not reduce the step size.
            t, x, h = t1, x1, abs(t1 - t) * min(LARGEST, factor) if not last else h
            continue
        h = abs(t1 - t) * (max(SMALLEST, min(1.0, factor)) if np.isfinite(error) else SMALLEST)
        if h < 1e-14 * max(1.0, abs(t)):
            check_finite(rate, t, x, NEAR_SINGULAR)
            raise SimulationError(
                f"the step becomes too small at t = {t:.6g}",
                got=spelled(rate, x),
                hint=NEAR_SINGULAR,
            )


def error_norm(errors: np.ndarray, scale: np.ndarray) -> float:
    """Return the error in units of the tolerance; two estimates are combined as by Hairer, to order
    7.
    """
    scaled = np.max(np.abs(errors) / scale, axis=1)
    if len(scaled) == 1:
        return float(scaled[0])
    fifth, third = scaled
    return float(fifth**2 / np.hypot(fifth, 0.1 * third)) if fifth > 0 else 0.0


def first_step(rate: Rate, method: Embedded, t: float, x: np.ndarray, end: float) -> float:
    """Return the first step from the sizes of x, x' and x'' (Hairer, Norsett, Wanner, II.4)."""
    span = abs(end - t)
    scale = STEP_SHARE * method.tolerance * (1 + abs(x))
    f = rate.call(t, x)
    with np.errstate(all="ignore"):
        d0, d1 = float(np.max(abs(x) / scale)), float(np.max(abs(f) / scale))
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        h0 = min(h0, span)
        step = h0 if end >= t else -h0
        d2 = float(np.max(abs(rate.call(t + step, x + step * f) - f) / scale)) / h0
    top = max(d1, d2)
    h1 = max(1e-6, h0 * 1e-3) if not top > 1e-15 else (0.01 / top) ** method.tableau.error_exponent
    return float(
        np.clip(min(100 * h0, h1) if np.isfinite(h1) else h0 * 1e-3, 1e-12 * max(span, 1e-3), span)
    )


def Fehlberg(tolerance: float = 1e-8, safety: float = 0.9) -> Embedded:
    """Fehlberg's 4(5) pair with step-size control and local extrapolation."""
    return Embedded(FEHLBERG, tolerance, safety)


def Dopri5(tolerance: float = 1e-8, safety: float = 0.9) -> Embedded:
    """Dormand and Prince's 4(5) pair, that of ode45, with step-size control."""
    return Embedded(DOPRI5, tolerance, safety)
