"""Constraints of a mechanism, their independence, and consistent positions and velocities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.errors import ModelError

Vector = NDArray[np.float64]

# A row is dependent if its component outside the span of the previous rows is smaller than this,
# relative to its length.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Holonomic:
    """A position condition h(q, t) = 0.

    Its reaction acts along dh/dq by d'Alembert's principle, unless ``along`` gives the generalized
    force of a unit multiplier by coordinate, for example for a programme constraint realised by a
    steering torque.

    >>> x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    >>> Holonomic("track", y - casadi.sin(x), "m").expression
    SX((y-sin(x)))
    """

    name: str
    expression: casadi.SX
    unit: str = ""
    along: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Nonholonomic:
    """A velocity condition f = N(q, t) v + n(q, t) = 0, given as the expression of f.

    >>> x_rate, spin = casadi.SX.sym("x_rate"), casadi.SX.sym("spin")
    >>> Nonholonomic("rolling", x_rate + 0.3 * spin, "m/s").name
    'rolling'
    """

    name: str
    expression: casadi.SX
    unit: str = ""
    along: Mapping[str, Any] | None = None


Constraint = Holonomic | Nonholonomic


def all_ideal(constraints: Sequence[Constraint]) -> bool:
    """Whether every reaction acts along the gradient of its constraint."""
    return all(c.along is None for c in constraints)


@dataclass(frozen=True)
class Dependence:
    """A constraint that depends on previous ones; ``on`` is empty if its gradient vanishes."""

    name: str
    on: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"'{self.name}' follows from {', '.join(map(repr, self.on))}"
            if self.on
            else f"the gradient of '{self.name}' vanishes"
        )


def dependences(matrix: Vector, names: Sequence[str]) -> tuple[Dependence, ...]:
    """Return the rows of a constraint matrix that depend on previous rows, by name.

    >>> dependences(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]]), ["rod", "slot", "pin"])
    (Dependence(name='pin', on=('rod', 'slot')),)
    """
    independent: list[int] = []
    found: list[Dependence] = []
    largest = float(np.abs(matrix).max(initial=0.0))
    for row, name in enumerate(names):
        length = float(np.linalg.norm(matrix[row]))
        if length <= RANK_TOLERANCE * largest or largest == 0.0:
            found.append(Dependence(name, ()))
            continue
        unit = matrix[row] / length
        basis = (
            matrix[independent] / np.linalg.norm(matrix[independent], axis=1, keepdims=True)
            if independent
            else np.zeros((0, matrix.shape[1]))
        )
        weights = np.linalg.lstsq(basis.T, unit, rcond=None)[0] if independent else np.zeros(0)
        if np.linalg.norm(unit - basis.T @ weights) > RANK_TOLERANCE:
            independent.append(row)
        else:
            found.append(
                Dependence(
                    name,
                    tuple(
                        names[k] for k, w in zip(independent, weights, strict=True) if abs(w) > 1e-7
                    ),
                )
            )
    return tuple(found)


def newton(
    residual: Callable[[Vector], Vector],
    jacobian: Callable[[Vector], Vector],
    guess: Vector,
    names: Sequence[str],
    tolerance: float = 1e-13,
) -> Vector:
    """Return a zero of ``residual`` near a guess, by damped minimum-norm Gauss-Newton steps.

    Minimum-norm steps change only the variables that must change, and allow redundant conditions.
    """
    x = np.asarray(guess, dtype=float).copy()
    y = residual(x)
    for _ in range(100):
        size = float(np.linalg.norm(y))
        if size <= tolerance * (1.0 + float(np.linalg.norm(x))):
            return x
        step = np.linalg.lstsq(jacobian(x), -y, rcond=1e-12)[0]
        fraction = 1.0
        while fraction > 1e-6:
            trial = x + fraction * step
            value = residual(trial)
            if (
                np.all(np.isfinite(value))
                and np.linalg.norm(value) < (1.0 - 1e-4 * fraction) * size
            ):
                break
            fraction /= 2
        else:
            break  # a local minimum of the residual, or round-off
        x, y = trial, value
    if np.linalg.norm(y) <= 1e3 * tolerance * (1.0 + float(np.linalg.norm(x))):
        return x
    worst = sorted(zip(names, np.abs(y), strict=True), key=lambda pair: -pair[1])
    offending = [(name, value) for name, value in worst if value > 1e-3 * worst[0][1]]
    raise ModelError(
        "the constraints cannot be satisfied together: "
        + ", ".join(f"'{name}'" for name, _ in offending),
        got=", ".join(f"{name} = {value:.3e}" for name, value in offending),
        expected="zero",
        hint="a loop may not close from these initial values, or two constraints contradict each "
        "other",
    )


def nearest_velocity(
    matrix: Vector, offset: Vector, velocity: Vector, names: Sequence[str]
) -> Vector:
    """Return the velocity nearest to a given one that satisfies A v + b = 0."""
    correction = np.linalg.lstsq(matrix, -(matrix @ velocity + offset), rcond=1e-12)[0]
    found: Vector = velocity + correction
    left = matrix @ found + offset
    allowed = 1e-10 * (
        1.0
        + float(np.abs(offset).max(initial=0.0))
        + float(np.abs(matrix).max(initial=0.0) * np.abs(found).max(initial=0.0))
    )
    bad = [(name, value) for name, value in zip(names, left, strict=True) if abs(value) > allowed]
    if bad:
        raise ModelError(
            "no velocity satisfies the constraints " + ", ".join(f"'{name}'" for name, _ in bad),
            got=", ".join(f"{name}: {value:.3e}" for name, value in bad),
            expected="zero",
            hint="the conditions contradict each other at this position, or too many coordinates "
            "are held",
        )
    return found
