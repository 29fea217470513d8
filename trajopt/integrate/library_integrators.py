"""Integrators of SciPy and SUNDIALS, with the tolerance defined as in ``adaptive``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
import scipy.integrate

from trajopt.compiled.dop853 import Dop853Steps, dense_weights
from trajopt.compiled.tapes import Tape
from trajopt.errors import ModelError, SimulationError, UsageError
from trajopt.integrate.adaptive import NEAR_SINGULAR
from trajopt.integrate.dense_output import Segment, hermite_piece
from trajopt.integrate.fixed_step import Integrator, Leg, positive
from trajopt.integrate.rates import DIVERGED, Rate, check_finite, numpy_callable, spelled
from trajopt.integrate.tableaus import DOP853, Tableau

CVODES_SHARE = (
    0.01  # fraction of the tolerance per step: errors of its many steps of low order accumulate
)


@dataclass(frozen=True)
class Dop853(Integrator):
    """The explicit 8(5,3) pair of Dormand and Prince with dense output of order 7, for smooth
    motions.

    Steps are those of SciPy; the compiled core takes them if the rate is an SX function.
    """

    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")

    @property
    def label(self) -> str:
        return f"dop853, tolerance {self.tolerance:g}"

    @property
    def scheme(self) -> Tableau | None:
        return DOP853

    def pieces(
        self, rate: Rate, leg: Leg, project: casadi.Function | None = None
    ) -> Iterator[Segment]:
        if rate.tape is None:
            yield from _scipy_pieces(scipy.integrate.DOP853, self.tolerance, rate, leg, project, {})
        else:
            yield from _tape_pieces(self.tolerance, rate, rate.tape, leg, project)


@dataclass(frozen=True)
class RadauIIA(Integrator):
    """SciPy's implicit Radau IIA scheme of order 5, for stiff systems, with the exact Jacobian of a
    CasADi rate.
    """

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")

    @property
    def label(self) -> str:
        return f"radau, tolerance {self.tolerance:g}"

    def pieces(
        self, rate: Rate, leg: Leg, project: casadi.Function | None = None
    ) -> Iterator[Segment]:
        options = (
            {}
            if rate.function is None
            else {"jac": rate.cached("jacobian", lambda: _jacobian(rate))}
        )
        yield from _scipy_pieces(scipy.integrate.Radau, self.tolerance, rate, leg, project, options)


def _jacobian(rate: Rate) -> Callable[[float, np.ndarray], np.ndarray]:
    assert rate.function is not None
    t, x, _ = rate.symbolic()
    flat = numpy_callable(
        casadi.Function(
            "jacobian", [t, x], [casadi.densify(casadi.jacobian(rate.function(t, x), x))]
        )
    )
    return lambda time, state: flat(time, state).reshape(rate.size, rate.size, order="F")


def _scipy_pieces(
    solver_class: Any,
    tolerance: float,
    rate: Rate,
    leg: Leg,
    project: casadi.Function | None,
    options: dict[str, Any],
) -> Iterator[Segment]:
    """Run one of SciPy's solvers step by step."""
    t0, x0, t1 = leg
    check_finite(rate, t0, x0, "start from finite values")
    x = np.array(x0, dtype=float)
    projected = None if project is None else numpy_callable(project)
    with np.errstate(all="ignore"):
        solver = solver_class(
            rate.call, t0, x.copy(), t1, rtol=_relative(tolerance), atol=tolerance, **options
        )
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                raise _stopped(rate, solver.t, solver.y, str(message))
            dense = solver.dense_output()
            if projected is not None:
                solver.y = projected(solver.t, solver.y)
                solver.f = rate.call(solver.t, solver.y)
            check_finite(rate, solver.t, solver.y, NEAR_SINGULAR)
            yield Segment(
                np.array([solver.t_old, solver.t]), np.vstack([x, solver.y]), _transposed(dense)
            )
            x = solver.y


def _tape_pieces(
    tolerance: float,
    rate: Rate,
    tape: Tape,
    leg: Leg,
    project: casadi.Function | None,
) -> Iterator[Segment]:
    """Run the compiled steps of DOP853, from the first step size of SciPy."""
    t0, x0, t1 = leg
    check_finite(rate, t0, x0, "start from finite values")
    projected = None if project is None else numpy_callable(project)
    relative = _relative(tolerance)
    first = scipy.integrate.DOP853(
        rate.call, t0, np.array(x0, dtype=float), t1, rtol=relative, atol=tolerance
    )
    steps = Dop853Steps(tape, (t0, t1), first.y, first.f, first.h_abs, relative, tolerance)
    t, x = t0, steps.y.copy()
    while t != t1:
        dense = steps.step()
        if dense is None:
            raise _stopped(rate, t, x, "the step size is less than the spacing between numbers")
        if projected is not None:
            moved = projected(steps.t, steps.y)
            steps.move(moved, rate.call(steps.t, moved))
        if not (np.isfinite(steps.f).all() and np.abs(steps.y).max(initial=0.0) < DIVERGED):
            check_finite(rate, steps.t, steps.y, NEAR_SINGULAR)
        end, reached = steps.t, steps.y.copy()
        yield Segment(np.array([t, end]), np.array([x, reached]), _dense_output(t, end, x, dense))
        t, x = end, reached


def _dense_output(
    start: float, end: float, x: np.ndarray, dense: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: x + dense_weights((times - start) / (end - start)) @ dense


def _relative(tolerance: float) -> float:
    """Return the relative tolerance; SciPy warns of a smaller one."""
    return max(tolerance, 100 * float(np.finfo(float).eps))


def _stopped(rate: Rate, t: float, x: np.ndarray, message: str) -> SimulationError:
    check_finite(rate, t, x, NEAR_SINGULAR)
    return SimulationError(
        f"the integration stops at t = {t:.6g}",
        got=f"{spelled(rate, x)}: {message}",
        hint=NEAR_SINGULAR,
    )


def _transposed(dense: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: np.asarray(dense(times)).T


@dataclass(frozen=True)
class Sundials(Integrator):
    """SUNDIALS' CVODES through CasADi: multistep formulas of variable order and step.

    Backward differentiation (``"bdf"``, order 1 to 5) is for stiff and large systems, Adams-Moulton
    (``"adams"``, order 1 to 12) for smooth ones. Results are on a grid of ``samples`` equal
    intervals, with quintic interpolation.
    """

    tolerance: float = 1e-10
    samples: int = 1000
    formulas: str = "bdf"

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")
        positive(self.samples, "number of samples")
        if self.formulas not in ("bdf", "adams"):
            raise UsageError(
                "unknown multistep formulas", got=self.formulas, expected="bdf or adams"
            )

    @property
    def label(self) -> str:
        name = "sundials" if self.formulas == "bdf" else "adams"
        return f"{name}, tolerance {self.tolerance:g}"

    def pieces(
        self, rate: Rate, leg: Leg, project: casadi.Function | None = None
    ) -> Iterator[Segment]:
        t0, x0, t1 = leg
        check_finite(rate, t0, x0, "start from finite values")
        grid = np.linspace(t0, t1, self.samples + 1)
        # A projection acts after each sample, which is then integrated separately.
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
        solver = rate.cached(("cvodes", self, count), lambda: self._solver(rate, count))
        try:
            states = np.asarray(solver(x0=x0, p=[t[0], t[-1] - t[0]])["xf"]).T
        except RuntimeError as error:
            check_finite(rate, t[0], x0, NEAR_SINGULAR)
            reason = str(error).strip().splitlines()[-1]
            raise SimulationError(
                f"SUNDIALS stops between t = {t[0]:.6g} and {t[-1]:.6g}",
                got=reason,
                hint=NEAR_SINGULAR,
            ) from error
        check_finite(rate, t[-1], states[-1], NEAR_SINGULAR)
        return states

    def _solver(self, rate: Rate, count: int) -> casadi.Function:
        if rate.function is None:
            raise ModelError(
                "SUNDIALS needs the rates as a CasADi function",
                got="a Python function",
                hint="use Dop853() or RadauIIA()",
            )
        s, x, _ = rate.symbolic()
        # start and duration as parameters, so that one solver serves all legs
        leg = type(s).sym("leg", 2)
        dae = {"t": s, "x": x, "p": leg, "ode": leg[1] * rate.function(leg[0] + s * leg[1], x)}
        share = max(CVODES_SHARE * self.tolerance, 1e-14)
        options: dict[str, Any] = {
            "abstol": share,
            "reltol": share,
            "max_num_steps": 1_000_000,
            "show_eval_warnings": False,
            "linear_multistep_method": self.formulas,
        }
        return casadi.integrator(
            "cvodes", "cvodes", dae, 0.0, list(np.arange(1, count + 1) / count), options
        )
