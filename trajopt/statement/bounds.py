"""Bounds: an interval for each component of states, controls, times, path constraints and boundary
conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import named_arguments
from trajopt.errors import ProblemError

INFINITY = float("inf")


class Valued(Protocol):
    """A symbol with a value: a parameter."""

    @property
    def symbol(self) -> Any: ...
    @property
    def value(self) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Free:
    """A free value between two bounds, with an optional initial guess."""

    lower: Any = -INFINITY
    upper: Any = INFINITY
    guess: Any = None


@named_arguments
def free(lower: Any = -INFINITY, upper: Any = INFINITY, guess: Any = None) -> Free:
    """Return a boundary value that is free between two bounds; None is no bound.

    >>> free(0.05, 10)
    Free(lower=0.05, upper=10, guess=None)
    """
    lower, upper = _limited(lower, -INFINITY), _limited(upper, INFINITY)
    try:
        empty = bool(np.any(np.asarray(lower, dtype=float) > np.asarray(upper, dtype=float)))
    except Exception:  # an expression in parameters, or what is no number at all
        empty = False  # the declaration that uses it says what it cannot read
    if empty:
        raise ProblemError(
            "free: the lower limit exceeds the upper limit",
            got=f"free({lower}, {upper})",
            expected="lower <= upper",
            hint=f"free({upper}, {lower})",
        )
    try:
        outside = (guess < lower) | (guess > upper)
        inside = guess is None or not np.any(outside & np.isfinite(guess))
    except Exception:  # as above; so it does where the guess is not finite
        inside = True
    if not inside:
        raise ProblemError(
            "free: the guess is outside the limits",
            got=guess,
            expected=f"between {lower} and {upper}",
        )
    return Free(lower, upper, guess)


@dataclass(frozen=True)
class Bound:
    """lower <= value <= upper for each component, with an optional guess.

    A limit may be stated by parameters. Then ``lower`` and ``upper`` are its values at certain
    values of the parameters; see ``NormalForm.at``.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    guess: NDArray[np.float64] | None = None
    stated: tuple[Any, Any] | None = None  # columns of both limits as expressions in parameters

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
        return Bound(
            np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper), guess
        )

    def __str__(self) -> str:
        return ", ".join(_interval(a, b) for a, b in zip(self.lower, self.upper, strict=True))


def bound_of(value: Any, size: int, what: str, parameters: Iterable[Valued] = ()) -> Bound:
    """Return the bound of a boundary value: a number or array fixes it, ``Free`` bounds it, None
    leaves it free.

    In an array of several components NaN or None leaves its component free: ``start=[0, None]``
    fixes only the first.
    """
    if value is None:
        return Bound.open(size)
    if isinstance(value, Free):
        guess = (
            None
            if value.guess is None
            else _finite(_spread(value.guess, size, what)[0], f"the guess of the {what}")
        )
        return _between(value.lower, value.upper, guess, size, what, parameters)
    fixed, stated = _spread(value, size, what, parameters)
    left_open = np.isnan(fixed)
    # a scalar NaN is a failed calculation, not a free component
    if (stated is None and np.size(value) == 1) or np.all(left_open):
        _finite(fixed, what)
    lower, upper = np.where(left_open, -INFINITY, fixed), np.where(left_open, INFINITY, fixed)
    return _checked(_bound(lower, upper, None, stated, stated), what)


def _finite(values: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    if not np.all(np.isfinite(values)):
        raise ProblemError(
            f"{what} is not a finite number",
            got=", ".join(f"{v:g}" for v in values),
            hint="None leaves it free, free(lower, upper) bounds it",
        )
    return values


def bound_between(
    lower: Any,
    upper: Any,
    equals: Any,
    size: int,
    what: str,
    allow_open: bool = False,
    parameters: Iterable[Valued] = (),
) -> Bound:
    """Return the bound lower <= value <= upper, or value = equals."""
    if equals is not None:
        if lower is not None or upper is not None:
            raise ProblemError(
                f"{what} has both 'equals' and limits", expected="equals=, or lower= and upper="
            )
        lower = upper = equals
    elif lower is None and upper is None:
        if not allow_open:
            raise ProblemError(
                f"{what} has no limits",
                expected="lower=, upper= or equals=, or a relation such as a + b <= 1",
            )
        return Bound.open(size)
    return _between(
        _limited(lower, -INFINITY), _limited(upper, INFINITY), None, size, what, parameters
    )


def _limited(value: Any, none: float) -> Any:
    """A limit with ``none`` for None, also in a list."""
    if isinstance(value, (list, tuple)) and any(part is None for part in value):
        return [none if part is None else part for part in value]
    return none if value is None else value


def _between(
    lower: Any,
    upper: Any,
    guess: NDArray[np.float64] | None,
    size: int,
    what: str,
    parameters: Iterable[Valued],
) -> Bound:
    parameters = tuple(parameters)
    (low, stated_low), (high, stated_high) = (
        _spread(side, size, what, parameters) for side in (lower, upper)
    )
    return _checked(_bound(low, high, guess, stated_low, stated_high), what)


def _bound(
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    guess: NDArray[np.float64] | None,
    low: Any,
    high: Any,
) -> Bound:
    """A bound whose limits may be stated by parameters: ``low`` and ``high`` are columns of
    expressions, or None.
    """
    if low is None and high is None:
        return Bound(lower, upper, guess)
    symbols = type(low if low is not None else high)

    def column(numbers: NDArray[np.float64], expressions: Any) -> Any:
        if expressions is None:
            return symbols(casadi.DM(numbers))
        given = np.isfinite(numbers)
        return casadi.vertcat(
            *[expressions[i] if given[i] else symbols(numbers[i]) for i in range(numbers.size)]
        )

    return Bound(lower, upper, guess, (column(lower, low), column(upper, high)))


def _spread(
    value: Any, size: int, what: str, parameters: Iterable[Valued] = ()
) -> tuple[NDArray[np.float64], Any]:
    """Return a limit of every component: its values, and the column of expressions in parameters
    that states it, or None.
    """
    if _symbolic(value):
        return _stated(value, size, what, tuple(parameters))
    try:
        array = np.asarray(value, dtype=float).ravel()
    except (TypeError, ValueError) as error:
        raise ProblemError(
            f"{what}: a bound must be a number",
            got=value,
            expected="a number, an array, or an expression in parameters",
            hint="state a bound that depends on other variables by ph.path(...) or "
            "ocp.require(...)",
        ) from error
    _check_size(array.size, size, what)
    return array.copy() if array.size == size else np.full(size, array[0]), None


def _check_size(found: int, size: int, what: str) -> None:
    if found not in (1, size):
        hint = "free(lower, upper) bounds it" if size == 1 and found == 2 else None
        raise ProblemError(f"{what}: wrong number of values", got=found, expected=size, hint=hint)


def _symbolic(value: Any) -> bool:
    parts = value if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(part, (casadi.SX, casadi.MX)) for part in parts)


def _stated(
    value: Any, size: int, what: str, parameters: tuple[Valued, ...]
) -> tuple[NDArray[np.float64], Any]:
    """A limit that is an expression in parameters, or a list of expressions, numbers and None."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    symbols = next(type(part) for part in parts if isinstance(part, (casadi.SX, casadi.MX)))
    symbols = casadi.MX if issubclass(symbols, casadi.MX) else casadi.SX
    columns: list[Any] = [casadi.vec(symbols(np.nan if part is None else part)) for part in parts]
    column = casadi.densify(casadi.vertcat(*columns))
    try:
        function = casadi.Function("limit", [q.symbol for q in parameters], [column])
    except RuntimeError as error:
        raise ProblemError(
            f"{what}: a bound must be a number or an expression in parameters",
            got=str(value),
            expected="an expression in "
            + (", ".join(str(q.symbol) for q in parameters) or "parameters: ocp.parameter(...)"),
            hint="state a bound that depends on other variables by ph.path(...) or "
            "ocp.require(...)",
        ) from error
    _check_size(column.numel(), size, what)
    if column.numel() < size:
        column = casadi.repmat(column, size, 1)
    numbers = np.asarray(function(*[q.value for q in parameters]), dtype=float).ravel()
    return np.broadcast_to(numbers, (size,)).copy(), column


def _checked(bound: Bound, what: str) -> Bound:
    if ((bound.lower <= bound.upper) & (bound.lower < INFINITY) & (bound.upper > -INFINITY)).all():
        return bound
    if np.any(np.isnan(bound.lower)) or np.any(np.isnan(bound.upper)):
        raise ProblemError(
            f"{what}: a bound is not a number",
            got=str(bound),
            expected="numbers; None where there is no bound",
        )
    wrong = bound.lower > bound.upper
    if np.any(wrong):
        i = int(np.argmax(wrong))
        raise ProblemError(
            f"lower bound exceeds upper bound of {what}",
            got=(float(bound.lower[i]), float(bound.upper[i])),
            expected="lower <= upper",
        )
    raise ProblemError(
        f"{what} cannot be satisfied",
        got=str(bound),
        expected="finite limits, or -inf below and inf above",
    )


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
