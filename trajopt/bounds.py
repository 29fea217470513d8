"""Bounds: an interval for each component of states, controls, times, path constraints and boundary conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import ProblemError

INFINITY = float("inf")


@dataclass(frozen=True)
class Free:
    """A free value between two bounds, with an optional initial guess."""

    lower: Any = -INFINITY
    upper: Any = INFINITY
    guess: Any = None


def free(lower: Any = -INFINITY, upper: Any = INFINITY, guess: Any = None) -> Free:
    """Return a boundary value that is free between two bounds.

    >>> free(0.05, 10)
    Free(lower=0.05, upper=10, guess=None)
    """
    return Free(lower, upper, guess)


@dataclass(frozen=True)
class Bound:
    """lower <= value <= upper for each component, with an optional guess."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    guess: NDArray[np.float64] | None = None

    @staticmethod
    def open(size: int) -> Bound:
        return Bound(np.full(size, -INFINITY), np.full(size, INFINITY))

    @property
    def fixed(self) -> NDArray[np.bool_]:
        return np.asarray(self.lower == self.upper)

    @property
    def size(self) -> int:
        return self.lower.size

    def meet(self, other: Bound) -> Bound:
        """Return the intersection of two bounds, which may be empty."""
        guess = self.guess if self.guess is not None else other.guess
        return Bound(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper), guess)

    def __str__(self) -> str:
        return ", ".join(_interval(a, b) for a, b in zip(self.lower, self.upper, strict=True))


def bound_of(value: Any, size: int, what: str) -> Bound:
    """Return the bound of a boundary value: a number or array fixes it, ``Free`` bounds it, None leaves it free.

    In an array of several components NaN or None leaves its component free: ``start=[0, None]`` fixes only the first.
    """
    if value is None:
        return Bound.open(size)
    if isinstance(value, Free):
        guess = None if value.guess is None else _finite(_spread(value.guess, size, what), f"the guess of the {what}")
        return _checked(Bound(_spread(value.lower, size, what), _spread(value.upper, size, what), guess), what)
    fixed = _spread(value, size, what)
    left_open = np.isnan(fixed)
    if np.size(value) == 1 or np.all(left_open):  # a scalar NaN is a failed calculation, not a free component
        _finite(fixed, what)
    return _checked(Bound(np.where(left_open, -INFINITY, fixed), np.where(left_open, INFINITY, fixed)), what)


def _finite(values: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    if not np.all(np.isfinite(values)):
        raise ProblemError(
            f"{what} is not a finite number",
            got=", ".join(f"{v:g}" for v in values),
            hint="None leaves it free, free(lower, upper) bounds it",
        )
    return values


def bound_between(lower: Any, upper: Any, equals: Any, size: int, what: str, allow_open: bool = False) -> Bound:
    """Return the bound lower <= value <= upper, or value = equals."""
    if equals is not None:
        if lower is not None or upper is not None:
            raise ProblemError(f"{what} has both 'equals' and limits", expected="equals=, or lower= and upper=")
        lower = upper = equals
    elif lower is None and upper is None:
        if not allow_open:
            raise ProblemError(f"{what} has no limits", expected="lower=, upper= or equals=, or a relation such as a + b <= 1")
        return Bound.open(size)
    low = _spread(-INFINITY if lower is None else lower, size, what)
    high = _spread(INFINITY if upper is None else upper, size, what)
    return _checked(Bound(low, high), what)


def _spread(value: Any, size: int, what: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(value, dtype=float).ravel()
    except (TypeError, ValueError) as error:
        raise ProblemError(
            f"{what}: a bound must be a number",
            got=value,
            expected="a number or an array",
            hint="state a bound that depends on other variables by ph.path(...) or ocp.require(...)",
        ) from error
    if array.size not in (1, size):
        hint = "free(lower, upper) bounds it" if size == 1 and array.size == 2 else None
        raise ProblemError(f"{what}: wrong number of values", got=array.size, expected=size, hint=hint)
    return array.copy() if array.size == size else np.full(size, array[0])


def _checked(bound: Bound, what: str) -> Bound:
    if ((bound.lower <= bound.upper) & (bound.lower < INFINITY) & (bound.upper > -INFINITY)).all():
        return bound
    if np.any(np.isnan(bound.lower)) or np.any(np.isnan(bound.upper)):
        raise ProblemError(f"{what}: a bound is not a number", got=str(bound))
    wrong = bound.lower > bound.upper
    if np.any(wrong):
        i = int(np.argmax(wrong))
        raise ProblemError(
            f"lower bound exceeds upper bound of {what}",
            got=(float(bound.lower[i]), float(bound.upper[i])),
            expected="lower <= upper",
        )
    raise ProblemError(f"{what} cannot be satisfied", got=str(bound), expected="finite limits, or -inf below and inf above")


def _interval(lower: float, upper: float) -> str:
    if lower == upper:
        return f"{lower:g}"
    if np.isinf(lower) and np.isinf(upper):
        return "free"
    if np.isinf(lower):
        return f"<= {upper:g}"
    if np.isinf(upper):
        return f">= {lower:g}"
    return f"[{lower:g}, {upper:g}]"
