"""Curvature of expressions, proved by composition rules: affine, convex or concave in some
variables, or unknown.

An expression is walked instruction by instruction. Each value is the sum of a quadratic polynomial
with numeric coefficients, whose curvature its eigenvalues give, and of a rest, whose curvature
follows from the rules of disciplined convex programming (Grant, Boyd, Ye, in: Global Optimization,
Springer 2006) with an interval that contains the value. Nothing is sampled; what no rule covers is
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi
import numpy as np

INFINITY = float("inf")
# per variable, of a matrix with a diagonal of ones: smaller negative eigenvalues are round-off
SEMIDEFINITE = 1e-13
Polynomial = dict[
    tuple[int, ...], float
]  # coefficients of 1: (), of variables: (i,), and of products: (i, j) with i <= j


@dataclass(frozen=True)
class Value:
    """A scalar: a quadratic polynomial, plus a rest that is convex, concave, both or neither; and
    its range.
    """

    polynomial: Polynomial
    convex_rest: bool = True
    concave_rest: bool = True
    lower: float = -INFINITY
    upper: float = INFINITY
    variables: frozenset[int] = frozenset()  # that it depends on
    exact: bool = False  # whether it is the polynomial alone

    @property
    def convex(self) -> bool:
        return self.convex_rest and _semidefinite(self.polynomial, 1.0)

    @property
    def concave(self) -> bool:
        return self.concave_rest and _semidefinite(self.polynomial, -1.0)

    @property
    def affine(self) -> bool:
        return (
            self.convex_rest
            and self.concave_rest
            and not any(len(k) == 2 and v for k, v in self.polynomial.items())
        )

    @property
    def constant(self) -> bool:
        """Independent of the variables, though it may depend on time."""
        return not self.variables

    @property
    def number(self) -> float | None:
        """Its value, where that is a number."""
        return (
            self.lower
            if self.constant and self.lower == self.upper and np.isfinite(self.lower)
            else None
        )


UNKNOWN = Value({}, False, False)


def constant(lower: float, upper: float) -> Value:
    """A value that depends on no variable; its polynomial holds it where it is a number."""
    number = lower == upper
    return Value({(): lower} if number else {}, lower=lower, upper=upper, exact=number)


def variable(i: int, lower: float, upper: float) -> Value:
    return Value({(i,): 1.0}, lower=lower, upper=upper, variables=frozenset([i]), exact=True)


def _semidefinite(polynomial: Polynomial, sign: float) -> bool:
    pairs = {k: sign * v for k, v in polynomial.items() if len(k) == 2 and v}
    if not pairs:
        return True
    order = {i: n for n, i in enumerate(sorted({i for k in pairs for i in k}))}
    matrix = np.zeros((len(order), len(order)))
    for (i, j), v in pairs.items():
        matrix[order[i], order[j]] += 0.5 * v
        matrix[order[j], order[i]] += 0.5 * v
    # In the unit in which each variable has a square of one: no other variable's unit decides what
    # is round-off.
    squares = np.diag(matrix)
    if (squares < 0).any() or np.abs(matrix[squares == 0]).any():
        return False
    kept = squares > 0
    length = np.sqrt(squares[kept])
    scaled = matrix[np.ix_(kept, kept)] / length[:, None] / length[None, :]
    return not scaled.size or bool(np.linalg.eigvalsh(scaled)[0] >= -SEMIDEFINITE * length.size)


def _sum(a: Value, b: Value) -> Value:
    keys = {**a.polynomial, **b.polynomial}
    together = {k: a.polynomial.get(k, 0.0) + b.polynomial.get(k, 0.0) for k in keys}
    return Value(
        together,
        a.convex_rest and b.convex_rest,
        a.concave_rest and b.concave_rest,
        a.lower + b.lower,
        a.upper + b.upper,
        a.variables | b.variables,
        a.exact and b.exact,
    )


def _scaled(a: Value, factor: float) -> Value:
    lower, upper = sorted((_times(factor, a.lower), _times(factor, a.upper)))
    flags = (a.convex_rest, a.concave_rest) if factor >= 0 else (a.concave_rest, a.convex_rest)
    return Value(
        {k: factor * v for k, v in a.polynomial.items()}, *flags, lower, upper, a.variables, a.exact
    )


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def _product(a: Value, b: Value) -> Value:
    for one, other in ((a, b), (b, a)):
        if one.number is not None:
            return _scaled(other, one.number)
    corners = [_times(p, q) for p in (a.lower, a.upper) for q in (b.lower, b.upper)]
    found = Value({}, False, False, min(corners), max(corners), a.variables | b.variables)
    if a.constant and b.constant:
        return replace(found, convex_rest=True, concave_rest=True)
    for one, other in ((a, b), (b, a)):
        if one.constant:  # a factor that changes with time
            up, down = other.affine, other.affine
            if one.lower >= 0:
                up, down = other.convex, other.concave
            elif one.upper <= 0:
                up, down = other.concave, other.convex
            return replace(found, convex_rest=up, concave_rest=down)
    if a.exact and b.exact and a.affine and b.affine:
        product = _multiplied(a.polynomial, b.polynomial)
        return replace(found, polynomial=product, convex_rest=True, concave_rest=True, exact=True)
    return found


def _multiplied(a: Polynomial, b: Polynomial) -> Polynomial:
    found: Polynomial = {}
    for i, v in a.items():
        for j, w in b.items():
            key = tuple(sorted((*i, *j)))
            found[key] = found.get(key, 0.0) + v * w
    return found


def _square(a: Value) -> Value:
    largest = max(a.lower**2, a.upper**2)
    least = 0.0 if a.lower <= 0 <= a.upper else min(a.lower**2, a.upper**2)
    if a.number is not None:
        return constant(a.number**2, a.number**2)
    if a.exact and a.affine:
        return Value(
            _multiplied(a.polynomial, a.polynomial),
            True,
            True,
            least,
            largest,
            a.variables,
            exact=True,
        )
    return _composed(a, even=True, lower=least, upper=largest)


def _composed(a: Value, *, even: bool, lower: float, upper: float) -> Value:
    """A convex function of a value: an even one rises with its distance from zero, another one
    rises.
    """
    rises = a.convex and (a.lower >= 0 if even else True)
    falls = even and a.concave and a.upper <= 0
    fits = a.constant or rises or falls or (even and a.affine)
    return Value({}, fits, a.constant, lower, upper, a.variables)


def _root(a: Value) -> Value:
    lower, upper = (float(np.sqrt(max(v, 0.0))) for v in (a.lower, a.upper))
    return Value({}, a.constant or _is_norm(a), a.constant or a.concave, lower, upper, a.variables)


def _is_norm(a: Value) -> bool:
    """Whether the root of a value is a norm: the value is the sum of squares
    of affine functions.
    """
    if not a.exact:
        return False
    homogeneous = {tuple(sorted((*k, *[-1] * (2 - len(k))))): v for k, v in a.polynomial.items()}
    return _semidefinite(homogeneous, 1.0)


def _inverse(a: Value) -> Value:
    if a.lower > 0 or a.upper < 0:
        lower, upper = 1 / a.upper if a.upper else -INFINITY, 1 / a.lower if a.lower else INFINITY
        convex, concave = a.lower > 0 and a.concave, a.upper < 0 and a.convex
        return Value({}, a.constant or convex, a.constant or concave, lower, upper, a.variables)
    return Value({}, a.constant, a.constant, variables=a.variables)


def _power(a: Value, b: Value) -> Value:
    k = b.number
    if k is None or a.constant:
        return Value(
            {},
            a.constant and b.constant,
            a.constant and b.constant,
            variables=a.variables | b.variables,
        )
    if k == int(k) and k > 0 and int(k) % 2 == 0:
        return _composed(a, even=True, lower=0.0, upper=INFINITY)
    positive = a.lower >= 0
    if k >= 1:
        return Value(
            {}, positive and a.convex, False, 0.0 if positive else -INFINITY, variables=a.variables
        )
    if k > 0:
        return Value(
            {}, False, positive and a.concave, 0.0 if positive else -INFINITY, variables=a.variables
        )
    return Value(
        {}, a.lower > 0 and a.concave, False, 0.0 if positive else -INFINITY, variables=a.variables
    )


def _exponential(a: Value) -> Value:
    with np.errstate(over="ignore"):
        lower, upper = float(np.exp(a.lower)), float(np.exp(a.upper))
    return replace(_composed(a, even=False, lower=lower, upper=upper), lower=lower)


def _logarithm(a: Value) -> Value:
    return Value({}, a.constant, a.constant or a.concave, variables=a.variables)


def _absolute(a: Value) -> Value:
    if a.lower >= 0 or a.upper <= 0:
        return a if a.lower >= 0 else _scaled(a, -1.0)
    return _composed(a, even=True, lower=0.0, upper=max(-a.lower, a.upper))


def _larger(a: Value, b: Value) -> Value:
    return Value(
        {},
        a.convex and b.convex,
        a.constant and b.constant,
        max(a.lower, b.lower),
        max(a.upper, b.upper),
        a.variables | b.variables,
    )


def _smaller(a: Value, b: Value) -> Value:
    return _scaled(_larger(_scaled(a, -1.0), _scaled(b, -1.0)), -1.0)


def _hypotenuse(a: Value, b: Value) -> Value:
    return Value(
        {},
        a.affine and b.affine,
        a.constant and b.constant,
        0.0,
        INFINITY,
        a.variables | b.variables,
    )


RULES: dict[int, Callable[..., Value]] = {
    casadi.OP_ASSIGN: lambda a: a,
    casadi.OP_ADD: _sum,
    casadi.OP_SUB: lambda a, b: _sum(a, _scaled(b, -1.0)),
    casadi.OP_NEG: lambda a: _scaled(a, -1.0),
    casadi.OP_TWICE: lambda a: _scaled(a, 2.0),
    casadi.OP_MUL: _product,
    casadi.OP_DIV: lambda a, b: _product(
        a, _inverse(b) if b.number is None else constant(1 / b.number, 1 / b.number)
    ),
    casadi.OP_INV: _inverse,
    casadi.OP_SQ: _square,
    casadi.OP_SQRT: _root,
    casadi.OP_POW: _power,
    casadi.OP_CONSTPOW: _power,
    casadi.OP_EXP: _exponential,
    casadi.OP_LOG: _logarithm,
    casadi.OP_FABS: _absolute,
    casadi.OP_FMAX: _larger,
    casadi.OP_FMIN: _smaller,
    casadi.OP_HYPOT: _hypotenuse,
}
KINKED = {casadi.OP_FABS, casadi.OP_FMAX, casadi.OP_FMIN, casadi.OP_SQRT, casadi.OP_HYPOT}
UNIT_RANGE = {casadi.OP_SIN, casadi.OP_COS, casadi.OP_TANH, casadi.OP_SIGN, casadi.OP_ERF}
BINARY = {
    casadi.OP_ADD,
    casadi.OP_SUB,
    casadi.OP_MUL,
    casadi.OP_DIV,
    casadi.OP_POW,
    casadi.OP_CONSTPOW,
    casadi.OP_FMAX,
    casadi.OP_FMIN,
    casadi.OP_HYPOT,
    casadi.OP_ATAN2,
    casadi.OP_COPYSIGN,
    casadi.OP_FMOD,
    casadi.OP_LT,
    casadi.OP_LE,
    casadi.OP_EQ,
    casadi.OP_NE,
    casadi.OP_AND,
    casadi.OP_OR,
    casadi.OP_IF_ELSE_ZERO,
    casadi.OP_REMAINDER,
}


@dataclass
class Curvatures:
    """The curvature of each row of an expression, and which variables meet in kinks."""

    rows: list[Value]
    kinks: list[frozenset[int]] = field(default_factory=list)


def curvatures(
    expression: Any, symbols: Sequence[Any], values: Sequence[Sequence[Value]]
) -> Curvatures | None:
    """The curvature of a column of SX expressions; None where it cannot be expressed by scalar
    operations.

    Parameters
    ----------
    expression : column
    symbols : columns of symbols
    values : for each column of symbols the value of each entry

    Examples
    --------
    >>> x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    >>> free = [[variable(0, -INFINITY, INFINITY)], [variable(1, -INFINITY, INFINITY)]]
    >>> found = curvatures(casadi.vertcat(x**2 + y**2 - x * y, x * y, x + 2 * y), [x, y], free)
    >>> [(value.convex, value.affine) for value in found.rows]
    [(True, False), (False, False), (True, True)]
    """
    function = casadi.Function(
        "curvature", list(symbols), [casadi.densify(expression)], {"cse": True}
    )
    if not function.is_a("SXFunction"):
        try:
            function = function.expand()
        except RuntimeError:  # tables and external functions
            return None
    work: dict[int, Value] = {}
    found = Curvatures([constant(0.0, 0.0)] * expression.numel())
    for k in range(function.n_instructions()):
        op, into, of = (
            function.instruction_id(k),
            function.instruction_output(k),
            function.instruction_input(k),
        )
        if op == casadi.OP_CONST:
            number = function.instruction_constant(k)
            work[into[0]] = constant(number, number) if np.isfinite(number) else UNKNOWN
        elif op == casadi.OP_INPUT:
            work[into[0]] = values[of[0]][of[1]]
        elif op == casadi.OP_OUTPUT:
            found.rows[into[1]] = work[of[0]]
        else:
            arguments = [work[i] for i in of[: 2 if op in BINARY else 1]]
            result = _applied(op, arguments)
            if (
                op in KINKED
                and result.variables
                and not (op == casadi.OP_SQRT and arguments[0].lower > 0)
            ):
                found.kinks.append(result.variables)
            work[into[0]] = result
    return found


def _applied(op: int, arguments: list[Value]) -> Value:
    rule = RULES.get(op)
    if rule is not None:
        result = rule(*arguments)
        lower, upper = (
            (-INFINITY if np.isnan(result.lower) else result.lower),
            (INFINITY if np.isnan(result.upper) else result.upper),
        )
        return replace(result, lower=lower, upper=upper)
    variables = frozenset().union(*(a.variables for a in arguments))
    lower, upper = (-1.0, 1.0) if op in UNIT_RANGE else (-INFINITY, INFINITY)
    return Value({}, not variables, not variables, lower, upper, variables)
