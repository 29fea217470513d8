"""Singular bypass: a jump across a coordinate singularity of the equations of motion, and its
error.

Before a coordinate singularity is reached, the state jumps to its other side, and the stabilization
restores the violated constraints. The motion afterwards satisfies the constraints but differs from
the true one; ``price`` measures the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi
import numpy as np

from trajopt.compiled.pointwise import Pointwise
from trajopt.errors import UsageError, suggest
from trajopt.integrate.deviations import deviations
from trajopt.integrate.fixed_step import positive
from trajopt.integrate.rates import evaluate, function_of_state
from trajopt.integrate.simulation import Simulation
from trajopt.system import Event, System


def bypass(system: System, state: str, at: float, margin: float) -> System:
    """Return the system with a jump of a state from ``at - margin`` to ``at + margin``, in both
    directions.

    The jump is preserved by stabilization through reactions.

    >>> from problems.lecture import pendulum
    >>> [(event.name, event.direction) for event in bypass(pendulum(), "theta", at=0.5,
    ...     margin=0.01).events]
    [('bypass of theta', 1), ('bypass of theta', -1)]
    """
    names = [s.name for s in system.states]
    if state not in names:
        raise UsageError(
            f"system '{system.name}' has no state '{state}'",
            expected=", ".join(names),
            hint=suggest(state, names),
        )
    positive(margin, "margin of a bypass")
    index = names.index(state)
    if abs(system.start[index] - at) < margin:
        raise UsageError(
            f"'{state}' starts inside the bypass",
            got=system.start[index],
            expected=f"outside {at:g} +- {margin:g}",
        )

    def jump(side: int) -> Event:
        landed = casadi.SX(system.x)
        landed[index] = at + side * margin
        return Event(
            f"bypass of {state}",
            system.x[index] - (at - side * margin),
            direction=side,
            reset=landed,
        )

    through: Any = system.through_reactions
    return replace(
        system,
        events=(*system.events, jump(+1), jump(-1)),
        through_reactions=None
        if through is None
        else lambda law, *held: bypass(through(law, *held), state, at, margin),
    )


@dataclass(frozen=True)
class Price:
    """The error caused by the jumps of a run.

    ``violation`` is the largest deviation of the constraints after a jump, ``left`` their deviation
    at the end, ``departure`` the largest distance from the true motion in the chosen states, before
    and after the first jump.
    """

    times: tuple[float, ...]
    violation: float
    left: float
    departure_before: float
    departure_after: float

    def __str__(self) -> str:
        if not self.times:
            return "no jump"
        return (
            f"{len(self.times)} jump(s), the first at t = {self.times[0]:.4g}: constraints "
            f"violated by {self.violation:.2e}, "
            f"{self.left:.2e} left at the end; off the true motion by {self.departure_after:.2e} "
            f"(before: {self.departure_before:.2e})"
        )


def price(
    simulation: Simulation, truth: Callable[[np.ndarray], np.ndarray], states: Sequence[str]
) -> Price:
    """Compare a run with jumps to the true motion; ``truth(times)`` returns the named states, one
    row per time.
    """
    jumps = [e for e in simulation.events if e.name.startswith("bypass of ")]
    system = simulation.system
    constraints = [i.name for i in system.invariants if i.order > 0]
    norm = Pointwise(function_of_state(system, casadi.norm_2(deviations(system, constraints).y)))

    def violation(time: float, state: np.ndarray) -> float:
        return float(evaluate(norm, np.array([time]), state[None])[0, 0])

    columns = np.column_stack([simulation[name] for name in states])
    distance = np.linalg.norm(columns - truth(simulation.t), axis=1)
    times = tuple(e.time for e in jumps)
    before = simulation.t <= (times[0] if times else np.inf)
    return Price(
        times,
        max((violation(e.time, e.after) for e in jumps), default=0.0),
        violation(simulation.t[-1], simulation.x[-1]),
        float(np.max(distance[before])),
        float(np.max(distance[~before], initial=0.0)),
    )
