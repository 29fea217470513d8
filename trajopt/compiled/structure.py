"""Structure of functions: functions with the same instructions need one tape and one
differentiation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import casadi

Value = TypeVar("Value")


class SharedByStructure(Generic[Value]):
    """Values built once for all SX functions with the same instructions; other functions are not
    compared. ``count``: of functions; a single one needs no comparison.

    >>> shared = SharedByStructure[str](2)
    >>> for name in ("a", "b"):
    ...     x = casadi.SX.sym(name)
    ...     print(shared.get([x], [x * x], lambda: "built for " + name))
    built for a
    built for a
    """

    def __init__(self, count: int) -> None:
        self._count, self._values = count, dict[str, Value]()

    def get(self, inputs: list[Any], outputs: list[Any], build: Callable[[], Value]) -> Value:
        if self._count == 1 or not all(isinstance(e, casadi.SX) for e in (*inputs, *outputs)):
            return build()
        key = structure(casadi.Function("f", inputs, outputs))
        if key not in self._values:
            self._values[key] = build()
        return self._values[key]


def structure(function: casadi.Function) -> str:
    """Return the instructions of an SX function as a text that does not depend on the names of its
    symbols.
    """
    symbols = [casadi.SX.sym(f"i{i}", function.sparsity_in(i)) for i in range(function.n_in())]
    return str(casadi.Function("f", symbols, function.call(symbols)).serialize())
