"""Pointwise: a CasADi function evaluated at many points, by a tape of the compiled core or by
CasADi.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.tapes import Tape, tape_of

Array = NDArray[np.float64]


# Times in units of one instruction of CasADi's interpreter:
READ = 100  # to read one instruction of a function
CALL = 12_000  # to call CasADi from Python


class Pointwise:
    """Call with one array for each input: (size, points), or (size,) for an input that is the same
    at all points.

    Returns (size, points) for a function with one output, else a tuple of such arrays; matrices are
    stacked by columns. Both implementations give bitwise equal results.

    >>> x = casadi.SX.sym("x", 2)
    >>> square = Pointwise(casadi.Function("square", [x], [x * x]))
    >>> square(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 1.,  4.],
           [ 9., 16.]])
    """

    def __init__(self, function: casadi.Function | Callable[[], casadi.Function]) -> None:
        """``function``: or what builds it at the first use."""
        self._given = function
        self._spent = 0  # time of evaluations by CasADi, in instructions

    @cached_property
    def function(self) -> casadi.Function:
        """With dense columns as inputs and outputs."""
        return _of_columns(
            self._given if isinstance(self._given, casadi.Function) else self._given()
        )

    @cached_property
    def tape(self) -> Tape | None:
        """The tape of the function, built at the first use."""
        return tape_of(self.function)

    @cached_property
    def operations(self) -> int:
        """At one point; of a function of matrices at least an operation for each
        input and output.
        """
        function = self.function
        inputs, outputs = self._sizes
        return int(max(function.n_instructions(), sum(inputs) + sum(outputs)))

    @cached_property
    def _sizes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of the inputs and of the outputs."""
        f = self.function
        inputs = tuple(f.nnz_in(i) for i in range(f.n_in()))
        return inputs, tuple(f.nnz_out(i) for i in range(f.n_out()))

    def __call__(self, *arguments: Any) -> Any:
        inputs, outputs = self._sizes
        columns = [_columns(a, size) for a, size in zip(arguments, inputs, strict=True)]
        counts = {a.shape[1] for a in columns if a.shape[0] and a.shape[1] != 1}
        if len(counts) > 1:
            raise ValueError(f"{self.function.name()}: arguments have {sorted(counts)} points")
        count = counts.pop() if counts else max((a.shape[1] for a in columns), default=1)
        tape = self.tape if self._compiling_pays_off(count) else None
        result = self.by_casadi(columns, count) if tape is None else tape.run(columns, count)
        if len(outputs) == 1:
            return result
        return tuple(np.split(result, np.cumsum(outputs)[:-1]))

    def _compiling_pays_off(self, count: int) -> bool:
        """True if the evaluations by CasADi take as long as building the tape."""
        if "tape" in self.__dict__ or not self.function.is_a("SXFunction"):
            return True
        instructions = self.function.n_instructions()
        self._spent += CALL + instructions * count
        return bool(self._spent > READ * instructions)

    def by_casadi(self, columns: list[Array], count: int) -> Array:
        """Evaluate by CasADi's interpreter; arguments are (size, count) or (size, 1)."""
        _, sizes = self._sizes
        if count == 0:
            return np.zeros((sum(sizes), 0))
        results = self.function.call(
            [casadi.DM(a) if a.shape[0] else casadi.DM(0, 1) for a in columns]
        )
        return np.vstack(
            [
                np.broadcast_to(np.asarray(r), (n, count))
                for r, n in zip(results, sizes, strict=True)
            ]
        )


def _of_columns(f: casadi.Function) -> casadi.Function:
    """Return the function with dense columns as inputs and outputs."""
    if all(f.size_in(i) == (f.nnz_in(i), 1) for i in range(f.n_in())) and all(
        f.size_out(i) == (f.nnz_out(i), 1) for i in range(f.n_out())
    ):
        return f
    kind: Any = casadi.SX if f.is_a("SXFunction") else casadi.MX
    inputs = [kind.sym(f"i{i}", f.numel_in(i)) for i in range(f.n_in())]
    outputs = f.call([casadi.reshape(a, f.size_in(i)) for i, a in enumerate(inputs)])
    return casadi.Function(
        f.name(), inputs, [casadi.densify(casadi.reshape(r, r.numel(), 1)) for r in outputs]
    )


def _columns(argument: Any, size: int) -> Array:
    """(size, points) or (size, 1)."""
    a = np.asarray(argument, dtype=float)
    if a.ndim < 2:
        return a.reshape(size, 1)
    if size == 0:
        return np.zeros((0, a.shape[1]))
    if a.ndim > 2 or a.shape[0] != size:
        raise ValueError(f"argument of shape {a.shape}, expected ({size}, points)")
    return a
