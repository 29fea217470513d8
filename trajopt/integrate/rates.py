"""Rate: the right-hand side x' = f(t, x) in the forms that integrators need.

A CasADi function provides all of them: a fast NumPy call, a symbolic call for compiled steps, the
second derivative for dense output. A Python callable provides the NumPy call only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi
import numpy as np

from trajopt.compiled.pointwise import Pointwise
from trajopt.compiled.tapes import Tape
from trajopt.errors import ModelError, SimulationError
from trajopt.system import System

NumpyRate = Callable[[float, np.ndarray], np.ndarray]

# Up to this many instructions a step is one flat SX function; beyond, it calls the rate, to limit
# the time of building.
FLAT_INSTRUCTIONS = 20_000
DIVERGED = 1e100  # a larger state counts as divergence


@dataclass(frozen=True)
class Rate:
    """x' = f(t, x) with the names of the states and a cache of compiled steps."""

    call: NumpyRate
    names: tuple[str, ...]
    function: casadi.Function | None = None  # (t, x) -> x'
    compiled: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> int:
        return len(self.names)

    def cached(self, key: object, build: Callable[[], Any]) -> Any:
        """Return the result of ``build``, computed once for each key."""
        if key not in self.compiled:
            self.compiled[key] = build()
        return self.compiled[key]

    def kept(self, value: object) -> int:
        """Return a key for an unhashable value, and keep a reference to it so that the key stays
        unique.
        """
        self.compiled.setdefault(("kept", id(value)), value)
        return id(value)

    @property
    def tape(self) -> Tape | None:
        """The tape of the rate; None without the compiled core or if the rate is not an SX
        function.
        """
        return None if self.function is None else self.cached("many", self._many).tape

    def many(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Evaluate the rates at many points: (m,), (m, n) -> (m, n)."""
        if self.function is None:
            return np.array([self.call(ti, xi) for ti, xi in zip(t, x, strict=True)])
        return evaluate(self.cached("many", self._many), t, x)

    def second(self, t: np.ndarray, x: np.ndarray) -> np.ndarray | None:
        """Evaluate x'' = f_t + f_x f at many points; None if f is not a CasADi function."""
        if self.function is None:
            return None
        return evaluate(self.cached("second", self._second), t, x)

    def _many(self) -> Pointwise:
        assert self.function is not None
        return Pointwise(self.function)

    def _second(self) -> Pointwise:
        assert self.function is not None
        t, x = symbols(self.function, self.size)
        f = self.function(t, x)
        return Pointwise(casadi.Function("second", [t, x], [total_derivative(f, t, x, f)]))

    def symbolic(self, stages: int = 1) -> tuple[Any, Any, Any]:
        """Return symbols t, x, h, SX or MX depending on the size of a step
        with ``stages`` stages.
        """
        assert self.function is not None
        flat = (
            self.function.is_a("SXFunction")
            and self.function.n_instructions() * stages <= FLAT_INSTRUCTIONS
        )
        kind: Any = casadi.SX if flat else casadi.MX
        return kind.sym("t"), kind.sym("x", self.size), kind.sym("h")


def total_derivative(expression: Any, t: Any, x: Any, f: Any) -> Any:
    """Return d/dt of an expression in t and x along x' = f."""
    return casadi.jtimes(expression, t, 1) + casadi.jtimes(expression, x, f)


def symbols(function: casadi.Function, size: int) -> tuple[Any, Any]:
    """Return symbols t and x of the type of a function."""
    kind: Any = casadi.SX if function.is_a("SXFunction") else casadi.MX
    return kind.sym("t"), kind.sym("x", size)


def evaluate(function: Pointwise, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Evaluate a function of (t, x) at many points: (m,), (m, n) -> (m, rows)."""
    return np.asarray(
        function(np.asarray(t, dtype=float).reshape(1, -1), np.asarray(x, dtype=float).T)
    ).T


def numpy_callable(function: casadi.Function) -> Callable[..., np.ndarray]:
    """Return a CasADi function as a Python function of floats and arrays, without the overhead of
    CasADi's call.

    >>> x = casadi.SX.sym("x", 2)
    >>> numpy_callable(casadi.Function("f", [x], [x**2]))(np.array([2.0, 3.0]))
    array([4., 9.])
    """
    dense = _dense(function)
    buffer: Any
    buffer, trigger = dense.buffer()
    arguments = [np.zeros(max(dense.numel_in(i), 1)) for i in range(dense.n_in())]
    result = np.zeros(dense.numel_out(0))
    for i, argument in enumerate(arguments):
        buffer.set_arg(i, memoryview(argument.data))
    buffer.set_res(0, memoryview(result.data))

    def call(*values: float | np.ndarray) -> np.ndarray:
        for argument, value in zip(arguments, values, strict=True):
            argument[:] = value
        trigger()
        return result.copy()

    call.keeps = (dense, buffer)  # type: ignore[attr-defined]  # the trigger holds no references
    return call


def _dense(function: casadi.Function) -> casadi.Function:
    inputs = [
        casadi.MX.sym(function.name_in(i), *function.size_in(i)) for i in range(function.n_in())
    ]
    if (
        all(function.sparsity_in(i).is_dense() for i in range(function.n_in()))
        and function.sparsity_out(0).is_dense()
    ):
        return function
    return casadi.Function("dense", inputs, [casadi.densify(function(*inputs))])


def function_of_state(system: System, expression: casadi.SX) -> casadi.Function:
    """Return an expression of a system as a function of (t, x), with parameter values inserted."""
    values = casadi.DM(system.parameter_values)
    return casadi.Function(
        "f",
        [system.time, system.x],
        [casadi.densify(casadi.substitute(expression, system.p, values))],
    )


def rate_of_system(system: System) -> Rate:
    """Return the rate of a system, with parameter values inserted."""
    return rate_of(function_of_state(system, system.rate), tuple(s.name for s in system.states))


def rate_of(function: casadi.Function | NumpyRate, names: tuple[str, ...]) -> Rate:
    """Return the rate of a CasADi function of (t, x) or of a Python callable."""
    if not isinstance(function, casadi.Function):
        return Rate(lambda t, x: np.asarray(function(t, x), dtype=float).reshape(-1), names)
    if (
        function.n_in() != 2
        or function.n_out() != 1
        or function.numel_out(0) != len(names)
        or function.numel_in(1) != len(names)
    ):
        raise ModelError(
            f"'{function.name()}' is not the rate of {len(names)} states",
            got=str(function),
            expected=f"a function of (t, x[{len(names)}]) with one output of {len(names)} rows",
        )
    return Rate(numpy_callable(function), names, function)


def check_finite(rate: Rate, t: float, x: np.ndarray, hint: str) -> None:
    """Raise in the names of the states if the state or its rate is not finite."""
    if not np.all(np.abs(x) < DIVERGED):
        lost = [
            f"{name} = {value:.3g}"
            for name, value in zip(rate.names, x, strict=True)
            if not abs(value) < DIVERGED
        ]
        raise SimulationError(f"the motion diverges at t = {t:.6g}", got=", ".join(lost), hint=hint)
    f = rate.call(t, x)
    if not np.all(np.isfinite(f)):
        lost = [name for name, value in zip(rate.names, f, strict=True) if not np.isfinite(value)]
        raise SimulationError(
            f"the rate of {', '.join(lost)} is not finite at t = {t:.6g}",
            got=spelled(rate, x),
            expected="numbers",
            hint="a singular configuration or a division by zero in the model",
        )


def spelled(rate: Rate, x: np.ndarray) -> str:
    """Return a state as text."""
    return ", ".join(f"{name} = {value:.6g}" for name, value in zip(rate.names, x, strict=True))
