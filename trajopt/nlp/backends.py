"""Solvers for nonlinear programs: classes over CasADi's interfaces that return a ``Result``."""

from __future__ import annotations

import contextlib
import enum
import io
import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import Count, Positive, named_settings
from trajopt.deadline import UNLIMITED, Deadline
from trajopt.errors import UsageError
from trajopt.nlp.callbacks import core_functions
from trajopt.nlp.program import Program, functions_of

Array = NDArray[np.float64]


class Outcome(enum.Enum):
    """How a solver ended."""

    SOLVED = "solved"
    INFEASIBLE = "infeasible"
    LEAST_VIOLATION = "least violation"  # solved with elastic constraints, some of them violated
    DIVERGED = "diverged"
    ITERATIONS = "iteration limit"
    NOT_A_NUMBER = "not a number"
    INTERRUPTED = "interrupted"
    TIME_LIMIT = "time limit"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class Result:
    """The last point of a solver; multipliers are those of L = f + bounds . y + constraints . g."""

    outcome: Outcome
    message: str  # return status of the solver
    y: Array
    f: float
    g: Array
    bound_multipliers: Array
    constraint_multipliers: Array
    iterations: int
    seconds: float
    solved_by: str = "ipopt"  # the backend that computed the result


@dataclass(frozen=True)
class Effort:
    """How a program is to be solved: how near its start is, and how long it may take.

    A backend without a barrier parameter may ignore ``barrier``, ``monotone`` and ``fitted``.
    """

    barrier: float | None = None
    """Initial barrier parameter, smaller for a better start; None: the start is arbitrary."""
    monotone: bool = False
    """Fiacco-McCormick: slower than the adaptive update, but it stays near the start."""
    fitted: bool = True
    """With a barrier, multipliers of bounds begin at barrier / slack; otherwise at 1."""
    multipliers: tuple[Array, Array] | None = None
    """Of bounds and of constraints, to begin with."""
    iterations: int | None = None
    """At most; the backend's own limit holds, too."""
    log: bool = False
    """Print the iterations."""


COLD = Effort()


class Backend(Protocol):
    """A solver for nonlinear programs."""

    @property
    def name(self) -> str: ...

    @property
    def tolerance(self) -> float: ...

    def solve(
        self, program: Program, effort: Effort = COLD, deadline: Deadline = UNLIMITED
    ) -> Result: ...

    def tightened(self, tolerance: float) -> Backend: ...


UNBOUNDED = -1e10  # scaled cost below which a solver that has not converged is considered unbounded

_IPOPT_OUTCOMES = {
    "Solve_Succeeded": Outcome.SOLVED,
    "Solved_To_Acceptable_Level": Outcome.SOLVED,
    "Feasible_Point_Found": Outcome.SOLVED,
    "Infeasible_Problem_Detected": Outcome.INFEASIBLE,
    "Restoration_Failed": Outcome.INFEASIBLE,
    "Maximum_Iterations_Exceeded": Outcome.ITERATIONS,
    "Maximum_CpuTime_Exceeded": Outcome.TIME_LIMIT,
    "Maximum_WallTime_Exceeded": Outcome.TIME_LIMIT,
    "Diverging_Iterates": Outcome.DIVERGED,
    "Invalid_Number_Detected": Outcome.NOT_A_NUMBER,
    "User_Requested_Stop": Outcome.INTERRUPTED,
    "NonIpopt_Exception_Thrown": Outcome.INTERRUPTED,  # Ctrl-C, as reported by CasADi
}


@named_settings
@dataclass(frozen=True)
class Ipopt:
    """Interior point with a filter line search (Wächter and Biegler 2006), sparse linear algebra by
    MUMPS.
    """

    tolerance: Positive = 1e-11
    max_iterations: Count = 1000
    options: dict[str, Any] = field(default_factory=dict)  # options of IPOPT, which take precedence
    name: str = "ipopt"

    def tightened(self, tolerance: float) -> Ipopt:
        return replace(self, tolerance=min(self.tolerance, tolerance))

    def solve(
        self, program: Program, effort: Effort = COLD, deadline: Deadline = UNLIMITED
    ) -> Result:
        began = time.perf_counter()
        functions = core_functions(program) or functions_of(program)
        ipopt: dict[str, Any] = {
            "tol": self.tolerance,
            "max_iter": iteration_limit(self.max_iterations, effort),
            "print_level": 5 if effort.log else 0,
            "sb": "yes",
            # The program is already scaled; permutation and scaling by MUMPS would take a quarter
            # of its time.
            "mumps_permuting_scaling": 0,
            "mumps_scaling": 0,
            "mumps_pivot_order": 0,
            "mu_strategy": "monotone" if effort.monotone else "adaptive",
            "bound_relax_factor": min(program.slack, 100 * self.tolerance),
            "nlp_scaling_method": "gradient-based",
        }
        if effort.barrier is not None:
            ipopt["mu_init"] = effort.barrier
            ipopt.update(
                dict.fromkeys(
                    ("bound_push", "bound_frac", "slack_bound_push"), min(1e-2, effort.barrier)
                )
            )
            if effort.multipliers is not None:
                ipopt["warm_start_init_point"] = "yes"
            elif effort.fitted:
                ipopt["bound_mult_init_method"] = "mu-based"
            if not effort.monotone:
                # without these it ends with a larger barrier parameter, which affects the costates
                ipopt.update(
                    adaptive_mu_globalization="kkt-error", compl_inf_tol=0.1 * self.tolerance
                )
        ipopt.update(self.options)
        if (
            deadline.seconds < math.inf
            # IPOPT checks it after each iteration, also in its restoration phase; zero is not
            # allowed
        ):
            ipopt["max_wall_time"] = max(
                min(deadline.remaining, ipopt.get("max_wall_time", math.inf)), 1e-9
            )
        options = {
            "ipopt": ipopt,
            "print_time": False,
            "show_eval_warnings": effort.log,
            "calc_lam_p": False,
            "calc_multipliers": False,
            "no_nlp_grad": True,
            **functions.derivatives,
        }
        return _run(functions.nlp, options, program, effort, began)


def iteration_limit(own: int, effort: Effort) -> int:
    """The smaller of a backend's own limit and that of an effort."""
    return own if effort.iterations is None else min(own, effort.iterations)


def _run(
    nlp: dict[str, Any],
    options: dict[str, Any],
    program: Program,
    effort: Effort,
    began: float,
) -> Result:
    try:
        solver = casadi.nlpsol("solver", "ipopt", nlp, options)
    except RuntimeError as error:
        raise UsageError(
            "Ipopt: options",
            got=str(error).strip().splitlines()[-1].partition(": ")[2],
            expected="names and values of IPOPT's own options, as in {'mu_init': 1e-3}",
        ) from error
    start = {
        "x0": program.start,
        "p": program.parameters,
        "lbx": program.lower,
        "ubx": program.upper,
        "lbg": program.g_lower,
        "ubg": program.g_upper,
    }
    if effort.multipliers is not None:
        start["lam_x0"], start["lam_g0"] = effort.multipliers
    try:
        # CasADi warns of programs with more equations than unknowns; the outcome reports a failure.
        with contextlib.nullcontext() if effort.log else contextlib.redirect_stderr(io.StringIO()):
            answer = solver(**start)
    except RuntimeError as error:  # CasADi raises if the first evaluation fails
        nothing = np.full(program.constraints, np.nan)
        outcome = (
            Outcome.NOT_A_NUMBER
            if "nan" in str(error).lower() or "inf" in str(error).lower()
            else Outcome.FAILED
        )
        return Result(
            outcome,
            str(error).strip().splitlines()[-1],
            program.start,
            np.nan,
            nothing,
            np.zeros(program.unknowns),
            nothing,
            0,
            time.perf_counter() - began,
        )
    stats = solver.stats()
    # only the iterate is available
    if _IPOPT_OUTCOMES.get(str(stats["return_status"])) is Outcome.INTERRUPTED:
        values = _values(nlp, answer["x"], program.parameters)
        answer = {**answer, "f": values[0], "g": values[1]}
    message, iterations = str(stats["return_status"]), int(stats.get("iter_count", 0))
    f = float(answer["f"])
    return Result(
        outcome=diverged_if_unbounded(_IPOPT_OUTCOMES.get(message, Outcome.FAILED), f),
        message=message,
        y=_array(answer["x"]),
        f=f,
        g=_array(answer["g"]),
        bound_multipliers=_array(answer["lam_x"]),
        constraint_multipliers=_array(answer["lam_g"]),
        iterations=iterations,
        seconds=time.perf_counter() - began,
    )


def diverged_if_unbounded(outcome: Outcome, f: float) -> Outcome:
    """The outcome, or DIVERGED where a solver that has not converged was following a cost without a
    minimum.
    """
    if f < UNBOUNDED and outcome in (Outcome.FAILED, Outcome.INFEASIBLE, Outcome.ITERATIONS):
        return Outcome.DIVERGED
    return outcome


def _values(nlp: dict[str, Any], y: Any, parameters: Array) -> Any:
    """Evaluate objective and constraints; the signal that stopped the solver may be raised again
    here.
    """
    function = casadi.Function("values", [nlp["x"], nlp["p"]], [nlp["f"], nlp["g"]])
    try:
        return function(y, parameters)
    except KeyboardInterrupt:
        return function(y, parameters)


def _array(column: Any) -> Array:
    return np.asarray(column, dtype=float).ravel()
