"""Deviations of invariants, zero for the exact motion, as expressions in the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np

from trajopt.errors import ModelError, UsageError, suggest
from trajopt.integrate.rates import total_derivative
from trajopt.system import Invariant, System


@dataclass(frozen=True)
class Deviations:
    """The deviations y (m,) of chosen invariants; ``levels`` are the rows that are not rates of
    others.
    """

    y: casadi.SX
    levels: tuple[int, ...]


def deviations(
    system: System,
    only: Sequence[str] = (),
    targets: Mapping[str, float | np.ndarray] | None = None,
) -> Deviations:
    """Return the deviations of a system's invariants: (h, h') for order 2, f for order 1, g -
    target for order 0.

    The target of a first integral is its initial value, unless ``targets`` has one.

    >>> from problems.lecture import pendulum_cartesian
    >>> deviations(pendulum_cartesian()).levels  # rod, its rate, energy
    (0, 2)
    """
    rows: list[casadi.SX] = []
    levels: list[int] = []
    count = 0
    for invariant in chosen(system, only):
        level = deviation(system, invariant, targets)
        levels += range(count, count + level.numel())
        rows.append(level)
        if invariant.order == 2:
            rows.append(total_derivative(level, system.time, system.x, system.rate))
        count += level.numel() * (2 if invariant.order == 2 else 1)
    return Deviations(casadi.vertcat(*rows), tuple(levels))


def deviation(
    system: System, invariant: Invariant, targets: Mapping[str, float | np.ndarray] | None = None
) -> Any:
    """Return the deviation of one invariant."""
    if invariant.order != 0:
        return invariant.expression
    if targets and invariant.name in targets:
        return invariant.expression - casadi.DM(np.asarray(targets[invariant.name], dtype=float))
    start = system.function(invariant.expression)(0.0, system.start, system.parameter_values)
    return invariant.expression - start


def chosen(system: System, only: Sequence[str] = ()) -> list[Invariant]:
    """Return the invariants with the given names, or all."""
    known = [i.name for i in system.invariants]
    for name in only:
        if name not in known:
            raise UsageError(
                f"system '{system.name}' has no invariant '{name}'",
                expected=", ".join(known) or "none",
                hint=suggest(name, known),
            )
    chosen = [i for i in system.invariants if not only or i.name in only]
    if not chosen:
        raise ModelError(
            f"system '{system.name}' has no invariants to stabilize",
            hint="run it without stabilization",
        )
    return chosen
