"""Compiled: the interior-point method of the compiled core (interior_point.c) as a backend, with
IPOPT as fallback.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trajopt.arguments import Count, Positive, named_settings
from trajopt.compiled.library import library
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.nlp.backends import (
    COLD,
    Effort,
    Ipopt,
    Outcome,
    Result,
    diverged_if_unbounded,
    iteration_limit,
)
from trajopt.nlp.evaluation import CoreProgram, has_tapes
from trajopt.nlp.program import Program

_P, _I, _D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, _P)


class CProgress(ctypes.Structure):
    """``interior_point_progress`` of interior_point.h."""

    _fields_ = (
        ("iteration", _I),
        *((name, _D) for name in ("objective", "violation", "dual", "barrier")),
    )

    def __str__(self) -> str:
        errors = f"violation {self.violation:.1e} dual {self.dual:.1e} barrier {self.barrier:.1e}"
        return f"{self.iteration:5d} {self.objective:.10e} {errors}"


class COptions(ctypes.Structure):
    """``interior_point_options`` of interior_point.h."""

    _fields_ = (
        *(
            (name, _D)
            for name in ("tolerance", "complementarity", "barrier", "push", "relax", "seconds")
        ),
        *((name, _I) for name in ("max_iterations", "fitted", "monotone")),
    )


class InteriorPointReport(ctypes.Structure):
    """``interior_point_report`` of interior_point.h."""

    _fields_ = (
        *(
            (name, _I)
            for name in ("status", "iterations", "restorations", "factorizations", "delayed")
        ),
        *(
            (name, _D)
            for name in (
                "objective",
                "error",
                "seconds_analysis",
                "seconds_factorization",
                "seconds_evaluation",
            )
        ),
    )


# In the order of interior_point_status: the message, and the outcome.
STATUS = (
    ("Solved", Outcome.SOLVED),
    ("Iteration_Limit", Outcome.ITERATIONS),
    ("Infeasible", Outcome.INFEASIBLE),
    ("Not_A_Number", Outcome.NOT_A_NUMBER),
    ("Time_Limit", Outcome.TIME_LIMIT),
    ("Interrupted", Outcome.INTERRUPTED),
    ("No_Step", Outcome.FAILED),
    ("Diverging_Iterates", Outcome.DIVERGED),
)
# For the other outcomes IPOPT continues.
FINAL = (
    Outcome.SOLVED,
    Outcome.DIVERGED,
    Outcome.ITERATIONS,
    Outcome.TIME_LIMIT,
    Outcome.INTERRUPTED,
)


GIVEN_MULTIPLIERS = 2  # IP_GIVEN_MULTIPLIERS of interior_point.h


@named_settings
@dataclass(frozen=True)
class Compiled:
    """IPOPT's algorithm in the compiled core. If it fails, IPOPT continues from its last point.

    The settings are those of IPOPT; of ``options`` the compiled method uses ``mu_strategy``.
    Without the core IPOPT solves all programs, and always those with functions that have no tape
    (tables, external functions).
    """

    tolerance: Positive = 1e-11
    max_iterations: Count = 1000
    options: dict[str, Any] = field(default_factory=dict)
    name: str = "compiled"

    def tightened(self, tolerance: float) -> Compiled:
        return replace(self, tolerance=min(self.tolerance, tolerance))

    @property
    def ipopt(self) -> Ipopt:
        return Ipopt(self.tolerance, self.max_iterations, self.options)

    def solve(
        self, program: Program, effort: Effort = COLD, deadline: Deadline = UNLIMITED
    ) -> Result:
        if library() is None or not has_tapes(program):
            return self.ipopt.solve(program, effort, deadline)
        result, _ = self.run(program, effort, deadline)
        if result.outcome in FINAL:
            return result
        start = (
            np.clip(result.y, program.lower, program.upper)
            if np.all(np.isfinite(result.y))
            else program.start
        )
        after = self.ipopt.solve(replace(program, start=start), effort, deadline)
        return replace(
            after,
            iterations=after.iterations + result.iterations,
            seconds=after.seconds + result.seconds,
            message=f"{after.message} (after {result.message} of the compiled method)",
        )

    def run(
        self, program: Program, effort: Effort = COLD, deadline: Deadline = UNLIMITED
    ) -> tuple[Result, InteriorPointReport]:
        """Run the compiled method without fallback and return its report too."""
        core, began = library(), time.perf_counter()
        assert core is not None
        owned, report, raised = CoreProgram(program), InteriorPointReport(), list[BaseException]()
        watch = _watch(effort.log, raised)
        next(watch)
        bounds = [
            np.ascontiguousarray(a, dtype=float)
            for a in (program.lower, program.upper, program.g_lower, program.g_upper, program.start)
        ]
        n, m = program.unknowns, program.constraints
        y = np.array(program.start)
        g = np.full(m, np.nan)
        bound = np.zeros(n)
        constraint = np.zeros(m)
        if effort.multipliers is not None:
            bound[:], constraint[:] = effort.multipliers
        answer = [y, g, bound, constraint]
        options = self._options(program, effort, deadline)
        core.interior_point_solve(
            ctypes.byref(owned.c),
            (_P * 5)(*(a.ctypes.data for a in bounds)),
            ctypes.byref(options),
            CALLBACK(watch.send),
            (_P * 4)(*(a.ctypes.data for a in answer)),
            ctypes.byref(report),
        )
        message, outcome = STATUS[report.status]
        if owned.failure is not None:
            raised.append(owned.failure)
        for error in raised:
            if not isinstance(error, KeyboardInterrupt):
                raise error
            message, outcome = STATUS[5]
        outcome = diverged_if_unbounded(outcome, report.objective)
        seconds = time.perf_counter() - began
        return Result(
            outcome,
            message,
            y,
            report.objective,
            g,
            bound,
            constraint,
            report.iterations,
            seconds,
            self.name,
        ), report

    def _options(self, program: Program, effort: Effort, deadline: Deadline) -> COptions:
        """Return the same options as for IPOPT (``Ipopt.solve``)."""
        cold = effort.barrier is None
        barrier = 0.1 if effort.barrier is None else effort.barrier
        asked = "monotone" if effort.monotone else "adaptive"
        fitted = int(effort.fitted and not cold)
        if effort.multipliers is not None:
            fitted = GIVEN_MULTIPLIERS
        return COptions(
            tolerance=self.tolerance,
            complementarity=1e-4 if cold or effort.monotone else 0.1 * self.tolerance,
            barrier=barrier,
            push=min(1e-2, barrier),
            relax=min(program.slack, 100 * self.tolerance),
            seconds=min(deadline.remaining, 1e9) if deadline.seconds < math.inf else 1e9,
            max_iterations=iteration_limit(self.max_iterations, effort),
            fitted=fitted,
            monotone=int(self.options.get("mu_strategy", asked) == "monotone"),
        )


def _watch(verbose: bool, raised: list[BaseException]) -> Generator[int, int | None, None]:
    """Receive the address of each iteration's progress, or None while an iteration lasts; yield 1
    to stop.

    Python calls signal handlers when it enters a function that C has called. What they raise would
    be lost there, outside of any ``try``. A generator is entered where it was left, which is within
    one.
    """
    stop = 0
    while True:
        try:
            while True:
                address = yield stop
                if verbose and address:
                    print(CProgress.from_address(address))
        except GeneratorExit:
            return
        except BaseException as error:
            raised.append(error)
            stop = 1
