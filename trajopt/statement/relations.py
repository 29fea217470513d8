"""Relations between expressions: ``a <= b``, ``a >= b`` and ``a == b`` as
expressions with limits.
"""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.errors import ProblemError

Array = NDArray[np.float64]
Limited = tuple[Any, Array, Array]  # an expression, its lower and its upper limits
RELATIONS = (casadi.OP_LE, casadi.OP_LT, casadi.OP_EQ)


def limits_of(expression: Any, what: str) -> Limited | None:
    """Return a relation as an expression with its lower and upper limits, or None if the expression
    is not a relation.

    A side that is a number becomes a limit of the other side; otherwise the difference of both
    sides is compared with zero.

    >>> x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    >>> limits_of(x**2 + y >= 1, "a path constraint")
    (SX((sq(x)+y)), array([1.]), array([inf]))
    """
    listed = expression if isinstance(expression, (list, tuple)) else [expression]
    terms = [term for part in listed for term in _terms(part)]
    found = [_is_relation(term) for term in terms]
    if not any(found):
        return None
    if not all(found):
        raise ProblemError(
            f"{what} has relations and expressions in one list",
            got=", ".join(str(term) for term in terms),
            expected="relations only, such as [x >= 0, x + y <= 1]",
        )
    expressions, lower, upper = zip(*[_limited(term) for term in terms], strict=True)
    return casadi.vertcat(*expressions), np.concatenate(lower), np.concatenate(upper)


def _terms(part: Any) -> list[Any]:
    """Return the elements of an SX, and the parts of a concatenated MX."""
    if isinstance(part, casadi.SX):
        return list(casadi.vec(part).elements())
    if isinstance(part, casadi.MX) and not part.is_symbolic() and part.op() == casadi.OP_VERTCAT:
        return [term for i in range(part.n_dep()) for term in _terms(part.dep(i))]
    return [part]


def _is_relation(term: Any) -> bool:
    if not isinstance(term, (casadi.SX, casadi.MX)) or term.is_constant() or term.is_symbolic():
        return False
    return term.op() in RELATIONS


def _limited(term: Any) -> Limited:
    size = term.numel()
    left, right = (
        casadi.vec(side) if side.numel() == size else casadi.repmat(side, size, 1)
        for side in (term.dep(0), term.dep(1))
    )
    infinite = np.full(size, np.inf)
    if left.is_constant():
        number = np.asarray(casadi.evalf(left), dtype=float).ravel()
        return right, number, number if term.op() == casadi.OP_EQ else infinite
    constant = right.is_constant()
    number = np.asarray(casadi.evalf(right), dtype=float).ravel() if constant else np.zeros(size)
    return (
        left if constant else left - right,
        number if term.op() == casadi.OP_EQ else -infinite,
        number,
    )
