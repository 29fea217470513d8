"""Integrators that choose their steps: Fehlberg 4(5), and SciPy's DOP853 and Radau and SUNDIALS behind the same interface.

One tolerance serves as absolute and as relative: an error e of a component x counts as e / (tolerance (1 + |x|)).
It is meant for the whole of a run of some periods. The errors of steps add up, so that a single step gets a share of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
import scipy.integrate

from trajopt.errors import ModelError, SimulationError, UsageError
from trajopt.integrate.path import Piece, hermite_piece
from trajopt.integrate.rates import Rate, check_finite, numpy_callable, spelled
from trajopt.integrate.steppers import Integrator, combine, positive, runge_kutta
from trajopt.integrate.tableaus import DOP853, FEHLBERG, Tableau

SMALLEST, LARGEST = 0.2, 5.0  # how far one step may differ from the one before
CVODES_SHARE = 0.01  # its many short steps of low order add up to a hundred times the error of one
NEAR_SINGULAR = "a singularity or a stiff system; for a stiff one try Radau or SUNDIALS, or a smaller gain"


@dataclass(frozen=True)
class Embedded(Integrator):
    """A Runge-Kutta scheme with an error estimate, and steps chosen by it: h' = safety h (tolerance / error)^exponent."""

    tableau: Tableau
    tolerance: float = 1e-8
    safety: float = 0.9
    share: float = 0.1  # of the tolerance, for one step

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")
        if not 0 < self.safety < 1:
            raise UsageError(
                "the safety factor of the step control is out of range",
                got=self.safety,
                expected="between 0 and 1, best 0.8 to 0.9",
            )
        if not self.tableau.errors:
            raise UsageError(f"the scheme '{self.tableau.name}' has no error estimate", hint="use RungeKutta with a fixed step")

    @property
    def label(self) -> str:
        return f"{self.tableau.name}, tolerance {self.tolerance:g}"

    @property
    def scheme(self) -> Tableau | None:
        return self.tableau

    @property
    def fixed_step(self) -> float | None:
        return None

    def pieces(self, rate: Rate, t0: float, x0: np.ndarray, t1: float, project: casadi.Function | None = None) -> Iterator[Piece]:
        trial = rate.cached(("trial", self.tableau.name), lambda: trial_step(rate, self.tableau))
        projected = None if project is None else rate.cached(("project", rate.kept(project)), lambda: numpy_callable(project))
        for t, x in adaptive_steps(self, trial, rate, (t0, x0, t1), projected):
            yield hermite_piece(rate, t, x)


Trial = Callable[[float, np.ndarray, float], tuple[np.ndarray, np.ndarray]]  # (t, x, h) -> x1 (n,), error estimates (rows, n)


def trial_step(rate: Rate, tableau: Tableau) -> Trial:
    """One step and its error estimates as a single compiled call."""
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
            casadi.Function("trial", [t, x, h], [casadi.densify(casadi.vertcat(*stack(t, x, h, rate.function)))])
        )

    def trial(t: float, x: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        out = call(t, x, h)
        return out[:n], out[n:].reshape(rows, n)

    return trial


def adaptive_steps(
    method: Embedded,
    trial: Trial,
    rate: Rate,
    leg: tuple[float, np.ndarray, float],
    projected: Callable[..., np.ndarray] | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The accepted steps of a leg (t0, x0, t1): their two times and two states."""
    t, x, end = leg
    check_finite(rate, t, x, "start from finite values")
    direction = 1.0 if end >= t else -1.0
    h = first_step(rate, method, t, x, end)
    while t != end:
        last = h >= abs(end - t) * (1 - 1e-12)
        t1 = end if last else t + direction * h
        with np.errstate(all="ignore"):
            x1, errors = trial(t, x, t1 - t)
            error = error_norm(errors, method.share * method.tolerance * (1 + np.maximum(abs(x), abs(x1))))
            factor = LARGEST if error == 0 else method.safety * error**-method.tableau.error_exponent
        if error <= 1:
            x1 = x1 if projected is None else projected(t1, x1)
            yield np.array([t, t1]), np.vstack([x, x1])
            # A step shortened to land on the end says nothing against the size before it.
            t, x, h = t1, x1, abs(t1 - t) * min(LARGEST, factor) if not last else h
            continue
        h = abs(t1 - t) * (max(SMALLEST, min(1.0, factor)) if np.isfinite(error) else SMALLEST)
        if h < 1e-14 * max(1.0, abs(t)):
            check_finite(rate, t, x, NEAR_SINGULAR)
            raise SimulationError(f"the step becomes too small at t = {t:.6g}", got=spelled(rate, x), hint=NEAR_SINGULAR)


def error_norm(errors: np.ndarray, scale: np.ndarray) -> float:
    """The error in units of the tolerance; for two estimates Hairer's combination, which behaves like an error of order 7."""
    scaled = np.max(np.abs(errors) / scale, axis=1)
    if len(scaled) == 1:
        return float(scaled[0])
    fifth, third = scaled
    return float(fifth**2 / np.hypot(fifth, 0.1 * third)) if fifth > 0 else 0.0


def first_step(rate: Rate, method: Embedded, t: float, x: np.ndarray, end: float) -> float:
    """Hairer, Norsett, Wanner, II.4: a first step from the sizes of x, x' and x''."""
    span = abs(end - t)
    scale = method.share * method.tolerance * (1 + abs(x))
    f = rate.call(t, x)
    with np.errstate(all="ignore"):
        d0, d1 = float(np.max(abs(x) / scale)), float(np.max(abs(f) / scale))
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        h0 = min(h0, span)
        step = h0 if end >= t else -h0
        d2 = float(np.max(abs(rate.call(t + step, x + step * f) - f) / scale)) / h0
    top = max(d1, d2)
    h1 = max(1e-6, h0 * 1e-3) if not top > 1e-15 else (0.01 / top) ** method.tableau.error_exponent
    return float(np.clip(min(100 * h0, h1) if np.isfinite(h1) else h0 * 1e-3, 1e-12 * max(span, 1e-3), span))


def Fehlberg(tolerance: float = 1e-8, safety: float = 0.9) -> Embedded:
    """Fehlberg's 4(5) pair with step control; the fifth-order value is carried on."""
    return Embedded(FEHLBERG, tolerance, safety)


def _scipy_pieces(
    solver_class: Any,
    tolerance: float,
    rate: Rate,
    leg: tuple[float, np.ndarray, float],
    project: casadi.Function | None,
    options: dict[str, Any],
) -> Iterator[Piece]:
    """Drive one of SciPy's solvers step by step."""
    t0, x0, t1 = leg
    check_finite(rate, t0, x0, "start from finite values")
    x = np.array(x0, dtype=float)
    projected = None if project is None else numpy_callable(project)
    # SciPy refuses a relative tolerance below this, with a warning.
    relative = max(tolerance, 100 * np.finfo(float).eps)
    with np.errstate(all="ignore"):
        solver = solver_class(rate.call, t0, x.copy(), t1, rtol=relative, atol=tolerance, **options)
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                check_finite(rate, solver.t, solver.y, NEAR_SINGULAR)
                raise SimulationError(
                    f"the integration stops at t = {solver.t:.6g}",
                    got=f"{spelled(rate, solver.y)}: {message}",
                    hint=NEAR_SINGULAR,
                )
            dense = solver.dense_output()
            if projected is not None:
                solver.y = projected(solver.t, solver.y)
                solver.f = rate.call(solver.t, solver.y)
            check_finite(rate, solver.t, solver.y, NEAR_SINGULAR)
            yield Piece(np.array([solver.t_old, solver.t]), np.vstack([x, solver.y]), _transposed(dense))
            x = solver.y


def _transposed(dense: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: np.asarray(dense(times)).T


@dataclass(frozen=True)
class Dop853(Integrator):
    """SciPy's explicit 8(5,3) pair of Dormand and Prince with dense output of order 7: the choice for smooth motions."""

    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")

    @property
    def label(self) -> str:
        return f"dop853, tolerance {self.tolerance:g}"

    @property
    def scheme(self) -> Tableau | None:
        return DOP853

    @property
    def fixed_step(self) -> float | None:
        return None

    def pieces(self, rate: Rate, t0: float, x0: np.ndarray, t1: float, project: casadi.Function | None = None) -> Iterator[Piece]:
        yield from _scipy_pieces(scipy.integrate.DOP853, self.tolerance, rate, (t0, x0, t1), project, {})


@dataclass(frozen=True)
class Radau(Integrator):
    """SciPy's implicit Radau IIA scheme of order 5, for stiff systems, with the exact Jacobian of a CasADi rate."""

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")

    @property
    def label(self) -> str:
        return f"radau, tolerance {self.tolerance:g}"

    @property
    def scheme(self) -> Tableau | None:
        return None

    @property
    def fixed_step(self) -> float | None:
        return None

    def pieces(self, rate: Rate, t0: float, x0: np.ndarray, t1: float, project: casadi.Function | None = None) -> Iterator[Piece]:
        options = {} if rate.function is None else {"jac": rate.cached("jacobian", lambda: _jacobian(rate))}
        yield from _scipy_pieces(scipy.integrate.Radau, self.tolerance, rate, (t0, x0, t1), project, options)


def _jacobian(rate: Rate) -> Callable[[float, np.ndarray], np.ndarray]:
    assert rate.function is not None
    t, x, _ = rate.symbolic()
    flat = numpy_callable(casadi.Function("jacobian", [t, x], [casadi.densify(casadi.jacobian(rate.function(t, x), x))]))
    return lambda time, state: flat(time, state).reshape(rate.size, rate.size, order="F")


@dataclass(frozen=True)
class Sundials(Integrator):
    """SUNDIALS' CVODES through CasADi: implicit, of variable order, for stiff and large systems.

    It gives its results on a grid of ``samples`` equal intervals, with quintic interpolation between.
    """

    tolerance: float = 1e-10
    samples: int = 1000

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")
        positive(self.samples, "number of samples")

    @property
    def label(self) -> str:
        return f"sundials, tolerance {self.tolerance:g}"

    @property
    def scheme(self) -> Tableau | None:
        return None

    @property
    def fixed_step(self) -> float | None:
        return None

    def pieces(self, rate: Rate, t0: float, x0: np.ndarray, t1: float, project: casadi.Function | None = None) -> Iterator[Piece]:
        check_finite(rate, t0, x0, "start from finite values")
        grid = np.linspace(t0, t1, self.samples + 1)
        # A projection acts after each sample, so that each is a leg of its own.
        size = 1 if project is not None else 100
        projected = None if project is None else numpy_callable(project)
        x = np.asarray(x0, dtype=float)
        for first in range(0, self.samples, size):
            t = grid[first : first + size + 1]
            states = self._leg(rate, t, x)
            if projected is not None:
                states[-1] = projected(t[-1], states[-1])
            yield hermite_piece(rate, t, np.vstack([x, states]))
            x = states[-1]

    def _leg(self, rate: Rate, t: np.ndarray, x0: np.ndarray) -> np.ndarray:
        count = len(t) - 1
        solver = rate.cached(("cvodes", self.tolerance, count), lambda: self._solver(rate, count))
        try:
            states = np.asarray(solver(x0=x0, p=[t[0], t[-1] - t[0]])["xf"]).T
        except RuntimeError as error:
            check_finite(rate, t[0], x0, NEAR_SINGULAR)
            reason = str(error).strip().splitlines()[-1]
            raise SimulationError(
                f"SUNDIALS stops between t = {t[0]:.6g} and {t[-1]:.6g}", got=reason, hint=NEAR_SINGULAR
            ) from error
        check_finite(rate, t[-1], states[-1], NEAR_SINGULAR)
        return states

    def _solver(self, rate: Rate, count: int) -> casadi.Function:
        if rate.function is None:
            raise ModelError("SUNDIALS needs the rates as a CasADi function", got="a Python function", hint="use Dop853 or Radau")
        s, x, _ = rate.symbolic()
        leg = type(s).sym("leg", 2)  # where it starts and how long it is: one solver serves all legs
        dae = {"t": s, "x": x, "p": leg, "ode": leg[1] * rate.function(leg[0] + s * leg[1], x)}
        share = max(CVODES_SHARE * self.tolerance, 1e-14)
        options = {"abstol": share, "reltol": share, "max_num_steps": 1_000_000, "show_eval_warnings": False}
        return casadi.integrator("cvodes", "cvodes", dae, 0.0, list(np.arange(1, count + 1) / count), options)
