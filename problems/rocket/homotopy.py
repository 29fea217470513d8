"""Ways to a hard transfer from an easy one: from the energy, or from a barrier, to the fuel; from
high to low thrust.

``throttled`` is ``min-fuel-transfer`` in one phase with the throttle as a control: from it come the
number and the order of the burns. The smoothings are those of Bertrand and Epenoy (see
``README.md``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from casadi import log

from problems.rocket import min_time_transfer
from problems.rocket.central_field import require_positive
from problems.rocket.coordinates import chosen
from problems.rocket.thrust import Engine, Spiral, fly
from trajopt import Problem, Solution, solve
from trajopt.direct.collocation import Collocation
from trajopt.direct.strategy import solve_directly
from trajopt.errors import ProblemError
from trajopt.guess.plain import guess_from_solution
from trajopt.indirect.continuation import Continuation, ContinuationPath, PathPoint
from trajopt.statement.normal_form import NormalForm

Progress = Callable[[PathPoint], None]

SMOOTHINGS: Mapping[str, Callable[[Any], Any]] = {
    "energy": lambda s: -s * (1 - s),  # with a factor of 1 the cost is the square of the throttle
    "barrier": lambda s: (
        -log(s) - log(1 - s)
    ),  # keeps the throttle off its bounds: the flow is smooth
}


def throttled(
    smoothing: float = 0.0,
    kind: str = "energy",
    thrust: float = 0.02,
    exhaust: float = 1.5,
    radius: float = 1.5,
    duration: float = 30.0,
    plane_change: float = 0.0,
) -> Problem:
    """The transfer with the least fuel in one phase, with the throttle s as a control.

    The cost is T/c int [s + k w(s)] dt with the parameter ``smoothing`` k and w of the given
    ``kind``: "energy" -s (1 - s) or "barrier" -ln s - ln(1 - s). With k = 0 there is no such
    parameter, and the throttle enters affinely.
    """
    require_positive(
        "min-fuel-transfer", thrust=thrust, exhaust=exhaust, radius=radius, duration=duration
    )
    if kind not in SMOOTHINGS:
        raise ProblemError(
            "min-fuel-transfer: no such smoothing", got=kind, expected=" or ".join(SMOOTHINGS)
        )
    ocp = Problem("min-fuel-transfer, throttled")
    ph = ocp.phase()
    spiral = Spiral(
        radius, duration, 0.0, plane_change, chosen(ocp.name, "auto", 0.0, plane_change)
    )
    ph.time(start=0, end=duration, unit="")
    s = ph.control("throttle", lower=0, upper=1, guess=min(0.9, spiral.speed / (thrust * duration)))
    fly(ph, Engine(thrust, exhaust), spiral, s)
    smooth = ocp.parameter("smoothing", smoothing) * SMOOTHINGS[kind](s) if smoothing else 0
    ocp.minimize(ph.integral(thrust / exhaust * (s + smooth)))
    return ocp


@dataclass(frozen=True)
class _Collocated:
    """Direct collocation as the method of a continuation; ``tolerance`` is loose, for the answers
    are guesses.
    """

    tolerance: float = 1e-4

    def solve(
        self, form: NormalForm, guess: Any, parameters: Mapping[str, Any] | None = None
    ) -> Solution:
        started = guess_from_solution(form, guess)
        return solve_directly(
            form, Collocation(tolerance=self.tolerance), started, parameters, lambda line: None
        )


def energy_to_fuel(
    last: float = 0.003, progress: Progress | None = None, **statement: float
) -> ContinuationPath:
    """The throttled transfer from the energy (smoothing 1) towards the fuel, by collocation.

    The primer vector of a slow spiral hardly changes its size, so that burns and coasts part only
    where the smoothing is small.

    Examples
    --------
    >>> path = energy_to_fuel(0.5)
    >>> path.complete, bool(0.8846 < path.last["m"](30.0) < 0.8857)
    (True, True)
    """
    problem = throttled(1.0, "energy", **statement)
    first = solve(problem, tolerance=1e-4).check()
    steps = Continuation(
        "smoothing", first=0.2, largest=0.2, easy=10**6, geometric=True, method=_Collocated()
    )
    return steps.run(problem.finish(), first, last, progress=progress)


def barrier_to_fuel(
    last: float = 1e-3, progress: Progress | None = None, **statement: float
) -> ContinuationPath:
    """The same from a logarithmic barrier (0.1), by shooting: its throttle never reaches a bound,
    so that there are no arcs.
    """
    problem = throttled(0.1, "barrier", **statement)
    first = solve(problem).check()
    return Continuation("smoothing", first=0.05, largest=0.2, geometric=True).run(
        problem.finish(), first, last, progress=progress
    )


def burns_of(solution: Solution, throttle: float = 0.5) -> tuple[float, ...]:
    """Where the throttle of a smoothed answer passes a value: beginnings and ends of burns, for
    ``min_fuel_transfer.build``.
    """
    phase = solution.phases["main"]
    t = np.linspace(phase.t0, phase.tf, 20001)
    on = np.ravel(phase.controls["throttle"](t)) > throttle
    switches = t[1:][on[1:] != on[:-1]]
    return (
        *([phase.t0] if on[0] else []),
        *(float(time) for time in switches),
        *([phase.tf] if on[-1] else []),
    )


def lower_thrust(
    target: float,
    thrust: float = 0.1405,
    exhaust: float = 0.1405 / 0.0749,
    radius: float = 1.5,
    progress: Progress | None = None,
) -> ContinuationPath:
    """``min-time-transfer`` from a high to a low thrust, by shooting: every answer is the guess of
    the next.

    Examples
    --------
    >>> path = lower_thrust(0.12)
    >>> path.complete, bool(path.last.objective > 3.25)
    (True, True)
    """
    require_positive(
        "min-time-transfer", target=target, thrust=thrust, exhaust=exhaust, radius=radius
    )
    spiral = Spiral(radius, Spiral(radius, 1.0).speed / thrust)
    problem = min_time_transfer.transfer(
        Engine(thrust, exhaust), spiral, longest=10 * max(1.0, thrust / target)
    )
    first = solve(problem).check()
    return Continuation("thrust", first=0.1, largest=0.1, geometric=True).run(
        problem.finish(), first, target, progress=progress
    )
