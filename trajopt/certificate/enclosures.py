"""Bounds of an expression over boxes of its variables, by interval arithmetic on its tape.

Natural extensions of each operation: Moore, Interval Analysis, Prentice-Hall 1966. All boxes are
bounded together; an operation that is not listed has no bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Interval = tuple[Any, Any]

# What is increasing, and the part of the line on which it is defined.
INCREASING: dict[int, tuple[Callable[[Any], Any], float, float]] = {
    casadi.OP_EXP: (np.exp, -np.inf, np.inf),
    casadi.OP_LOG: (np.log, 0.0, np.inf),
    casadi.OP_SQRT: (np.sqrt, 0.0, np.inf),
    casadi.OP_ATAN: (np.arctan, -np.inf, np.inf),
    casadi.OP_ASIN: (np.arcsin, -1.0, 1.0),
    casadi.OP_SINH: (np.sinh, -np.inf, np.inf),
    casadi.OP_TANH: (np.tanh, -np.inf, np.inf),
    casadi.OP_SIGN: (np.sign, -np.inf, np.inf),
    casadi.OP_FLOOR: (np.floor, -np.inf, np.inf),
    casadi.OP_CEIL: (np.ceil, -np.inf, np.inf),
    casadi.OP_TWICE: (lambda a: 2 * a, -np.inf, np.inf),
    casadi.OP_ASSIGN: (lambda a: a, -np.inf, np.inf),
    casadi.OP_EXPM1: (np.expm1, -np.inf, np.inf),
}


class Enclosure:
    """Bounds of one expression of some symbols.

    >>> x = casadi.SX.sym("x")
    >>> low, high = Enclosure(x * x - casadi.cos(x), [x])([np.array([[-1.0]])], [np.array([[1.0]])])
    >>> float(low[0, 0]), round(float(high[0, 0]), 4)
    (-1.0, 0.4597)
    """

    def __init__(self, expression: Any, symbols: Sequence[Any]) -> None:
        """Raises RuntimeError for an expression whose tape cannot be read (tables)."""
        function = casadi.Function("enclosed", list(symbols), [casadi.densify(expression)])
        self.function = function.expand()
        self.rows = int(expression.numel())
        f = self.function
        self.steps = [
            (
                f.instruction_id(k),
                f.instruction_input(k),
                f.instruction_output(k),
                f.instruction_constant(k) if f.instruction_id(k) == casadi.OP_CONST else 0.0,
            )
            for k in range(f.n_instructions())
        ]

    def __call__(self, lower: Sequence[Array], upper: Sequence[Array]) -> tuple[Array, Array]:
        """Bounds (rows, boxes) from those of each symbol (size, boxes)."""
        count = max(a.shape[1] for a in lower if a.size)
        work: list[Interval] = [(0.0, 0.0)] * self.function.sz_w()
        low, high = np.zeros((self.rows, count)), np.zeros((self.rows, count))
        with np.errstate(all="ignore"):
            for operation, places, target, constant in self.steps:
                if operation == casadi.OP_INPUT:
                    work[target[0]] = lower[places[0]][places[1]], upper[places[0]][places[1]]
                elif operation == casadi.OP_CONST:
                    work[target[0]] = constant, constant
                elif operation == casadi.OP_OUTPUT:
                    low[target[1]], high[target[1]] = work[places[0]]
                else:
                    found = _applied(operation, [work[i] for i in places])
                    work[target[0]] = found
        wrong = np.isnan(low) | np.isnan(high)
        return np.where(wrong, -np.inf, low), np.where(wrong, np.inf, high)


def _applied(operation: int, of: list[Interval]) -> Interval:
    """One operation on intervals; those of two arguments may be of one and the same."""
    a, b = of[0]
    c, d = of[-1]
    if operation in INCREASING:
        function, least, most = INCREASING[operation]
        defined = (a >= least) & (b <= most)
        return np.where(defined, function(a), np.nan), np.where(defined, function(b), np.nan)
    rule = RULES.get(operation)
    return (np.nan, np.nan) if rule is None else rule(a, b, c, d)


def _product(a: Any, b: Any, c: Any, d: Any) -> Interval:
    every = a * c, a * d, b * c, b * d
    return (
        np.minimum(np.minimum(every[0], every[1]), np.minimum(every[2], every[3])),
        np.maximum(np.maximum(every[0], every[1]), np.maximum(every[2], every[3])),
    )


def _inverse(c: Any, d: Any) -> Interval:
    apart = (c > 0) | (d < 0)
    return np.where(apart, 1.0 / d, np.nan), np.where(apart, 1.0 / c, np.nan)


def _square(a: Any, b: Any) -> Interval:
    far = np.maximum(np.abs(a), np.abs(b)) ** 2
    near = np.where((a <= 0) & (b >= 0), 0.0, np.minimum(np.abs(a), np.abs(b)) ** 2)
    return near, far


def _cosine(a: Any, b: Any) -> Interval:
    ends = np.cos(a), np.cos(b)
    top = np.floor(b / (2 * np.pi)) >= np.ceil(a / (2 * np.pi))
    bottom = np.floor((b - np.pi) / (2 * np.pi)) >= np.ceil((a - np.pi) / (2 * np.pi))
    return np.where(bottom, -1.0, np.minimum(*ends)), np.where(top, 1.0, np.maximum(*ends))


def _power(a: Any, b: Any, c: Any, d: Any) -> Interval:
    same = np.all(np.asarray(c) == np.asarray(d))
    exponent = float(np.ravel(c)[0]) if same else np.nan
    if same and exponent == 2.0:
        return _square(a, b)
    if same and exponent == round(exponent) and exponent > 0 and exponent % 2:
        return a**exponent, b**exponent
    # exp(exponent log base), for a positive base
    low, high = _product(np.log(np.where(a > 0, a, np.nan)), np.log(b), c, d)
    return np.exp(low), np.exp(high)


def _truth(certain: Any, possible: Any) -> Interval:
    return np.where(certain, 1.0, 0.0), np.where(possible, 1.0, 0.0)


def _either(a: Any, b: Any) -> Interval:
    """Whether an interval is not zero: surely, and perhaps."""
    return _truth((a > 0) | (b < 0), (a != 0) | (b != 0))


def _negated(sure: Any, maybe: Any) -> Interval:
    return 1.0 - maybe, 1.0 - sure


def _selected(a: Any, b: Any, c: Any, d: Any) -> Interval:
    """c to d where a condition holds, else zero."""
    sure, maybe = _either(a, b)
    low = np.where(sure > 0, c, np.where(maybe > 0, np.minimum(c, 0.0), 0.0))
    high = np.where(sure > 0, d, np.where(maybe > 0, np.maximum(d, 0.0), 0.0))
    return low, high


def _absolute(a: Any, b: Any) -> Interval:
    near = np.where((a <= 0) & (b >= 0), 0.0, np.minimum(np.abs(a), np.abs(b)))
    return near, np.maximum(np.abs(a), np.abs(b))


RULES: dict[int, Callable[[Any, Any, Any, Any], Interval]] = {
    casadi.OP_ADD: lambda a, b, c, d: (a + c, b + d),
    casadi.OP_SUB: lambda a, b, c, d: (a - d, b - c),
    casadi.OP_MUL: _product,
    casadi.OP_DIV: lambda a, b, c, d: _product(a, b, *_inverse(c, d)),
    casadi.OP_NEG: lambda a, b, c, d: (-b, -a),
    casadi.OP_INV: lambda a, b, c, d: _inverse(a, b),
    casadi.OP_SQ: lambda a, b, c, d: _square(a, b),
    casadi.OP_FABS: lambda a, b, c, d: _absolute(a, b),
    casadi.OP_COS: lambda a, b, c, d: _cosine(a, b),
    casadi.OP_SIN: lambda a, b, c, d: _cosine(a - np.pi / 2, b - np.pi / 2),
    casadi.OP_POW: _power,
    casadi.OP_CONSTPOW: _power,
    casadi.OP_FMIN: lambda a, b, c, d: (np.minimum(a, c), np.minimum(b, d)),
    casadi.OP_FMAX: lambda a, b, c, d: (np.maximum(a, c), np.maximum(b, d)),
    casadi.OP_LT: lambda a, b, c, d: _truth(b < c, a < d),
    casadi.OP_LE: lambda a, b, c, d: _truth(b <= c, a <= d),
    casadi.OP_NOT: lambda a, b, c, d: _negated(*_either(a, b)),
    casadi.OP_AND: lambda a, b, c, d: _product(*_either(a, b), *_either(c, d)),
    casadi.OP_IF_ELSE_ZERO: _selected,
}
