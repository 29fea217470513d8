"""Flow: end states with their derivatives by start, parameters and times, fast and tight, for shooting.

The variational equations S' = f_x S (+ f_p) are integrated beside the motion by the pair of order 8 of Dormand and Prince, each
trial step one compiled call. The steps are controlled on motion and sensitivities together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi
import numpy as np

from trajopt.errors import ModelError
from trajopt.integrate.adaptive import Embedded, Trial, adaptive_steps, trial_step
from trajopt.integrate.path import Path, hermite_piece
from trajopt.integrate.rates import Rate, rate_of, symbols
from trajopt.integrate.tableaus import DOP853


@dataclass(frozen=True)
class Sensitivity:
    """An end state x (n,) and its derivatives by the start (n, n), the parameters (n, m), start and end time (n,)."""

    x: np.ndarray
    by_start: np.ndarray
    by_parameters: np.ndarray
    by_t0: np.ndarray
    by_t1: np.ndarray


@dataclass(frozen=True)
class Flow:
    """The flow of x' = f(t, x, p), compiled once and run many times.

    Parameters
    ----------
    rate : a CasADi function of (t, x) or (t, x, p).
    tolerance : of each step, absolute and relative.

    Examples
    --------
    >>> t, x, p = casadi.SX.sym("t"), casadi.SX.sym("x"), casadi.SX.sym("p")
    >>> decay = Flow(casadi.Function("f", [t, x, p], [-p * x]))
    >>> end = decay.sensitivities(0.0, 1.0, [3.0], [2.0])
    >>> [bool(abs(v - w) < 1e-11) for v, w in zip((end.by_start[0, 0], end.by_parameters[0, 0]), (np.exp(-2), -3 * np.exp(-2)))]
    [True, True]
    """

    rate: casadi.Function
    tolerance: float = 1e-12

    def __post_init__(self) -> None:
        n = self.rate.numel_out(0)
        if self.rate.n_in() not in (2, 3) or self.rate.numel_in(1) != n:
            raise ModelError(
                "not the rate of a flow", got=str(self.rate), expected="a function of (t, x) or (t, x, p) with the rows of x"
            )

    @property
    def size(self) -> int:
        return int(self.rate.numel_out(0))

    @property
    def parameters(self) -> int:
        return int(self.rate.numel_in(2)) if self.rate.n_in() == 3 else 0

    @cached_property
    def _method(self) -> Embedded:
        return Embedded(DOP853, self.tolerance, share=1.0)

    @cached_property
    def _motion(self) -> tuple[Rate, Trial]:
        """Motion and parameters in one state: a parameter is a state at rest."""
        t, z = symbols(self.rate, self.size + self.parameters)
        x, p = z[: self.size], z[self.size :]
        return _compiled(casadi.Function("motion", [t, z], [casadi.vertcat(self._f(t, x, p), self._zero(z, self.parameters))]))

    @cached_property
    def _variational(self) -> tuple[Rate, Trial]:
        n, m = self.size, self.parameters
        t, z = symbols(self.rate, n + m + n * (n + m))
        x, p, S = z[:n], z[n : n + m], casadi.reshape(z[n + m :], n, n + m)
        f, f_x, f_p = self._slopes(t, x, p)
        # d/dt dx/d(x0, p) = f_x S + (0, f_p); this is the key line.
        S_rate = f_x @ S + casadi.horzcat(self._zero(z, n, n), f_p)
        return _compiled(casadi.Function("variational", [t, z], [casadi.vertcat(f, self._zero(z, m), casadi.vec(S_rate))]))

    def end(self, t0: float, t1: float, x0: Sequence[float] | np.ndarray, p: Sequence[float] | np.ndarray = ()) -> np.ndarray:
        """The state at t1."""
        return self._run(self._motion, t0, t1, self._start(x0, p))[: self.size]

    def sensitivities(
        self, t0: float, t1: float, x0: Sequence[float] | np.ndarray, p: Sequence[float] | np.ndarray = ()
    ) -> Sensitivity:
        """The state at t1 with its derivatives."""
        n, m = self.size, self.parameters
        z0 = np.concatenate([self._start(x0, p), np.eye(n, n + m).ravel(order="F")])
        z1 = self._run(self._variational, t0, t1, z0)
        S = z1[n + m :].reshape(n, n + m, order="F")
        rate, _ = self._motion
        f0, f1 = rate.call(t0, z0[: n + m])[:n], rate.call(t1, z1[: n + m])[:n]
        return Sensitivity(z1[:n], S[:, :n], S[:, n:], -S[:, :n] @ f0, f1)

    def path(self, t0: float, t1: float, x0: Sequence[float] | np.ndarray, p: Sequence[float] | np.ndarray = ()) -> Path:
        """The motion between, callable in time; quintic between the steps, so some digits less than the ends."""
        rate, trial = self._motion
        legs = adaptive_steps(self._method, trial, rate, (t0, self._start(x0, p), t1))
        return Path(tuple(hermite_piece(rate, t, z) for t, z in legs)).first(self.size)

    def _start(self, x0: Sequence[float] | np.ndarray, p: Sequence[float] | np.ndarray) -> np.ndarray:
        x, q = np.asarray(x0, dtype=float).reshape(-1), np.asarray(p, dtype=float).reshape(-1)
        if len(x) != self.size or len(q) != self.parameters:
            raise ModelError(
                "a start that does not fit the flow",
                got=f"{len(x)} states, {len(q)} parameters",
                expected=f"{self.size} states, {self.parameters} parameters",
            )
        return np.concatenate([x, q])

    def _run(self, compiled: tuple[Rate, Trial], t0: float, t1: float, z0: np.ndarray) -> np.ndarray:
        rate, trial = compiled
        z = z0
        for _, states in adaptive_steps(self._method, trial, rate, (float(t0), z0, float(t1))):
            z = states[-1]
        return z

    def _zero(self, like: casadi.SX, rows: int, columns: int = 1) -> casadi.SX:
        return type(like)(casadi.DM.zeros(rows, columns))

    def _slopes(self, t: casadi.SX, x: casadi.SX, p: casadi.SX) -> Any:
        """f, f_x and f_p; differentiated in symbols of their own, as MX cannot be by parts of a symbol."""
        own = [type(t).sym("t"), type(t).sym("x", self.size), type(t).sym("p", self.parameters)]
        f = self._f(*own)
        return casadi.Function("slopes", own, [f, casadi.jacobian(f, own[1]), casadi.jacobian(f, own[2])])(t, x, p)

    def _f(self, t: casadi.SX, x: casadi.SX, p: casadi.SX) -> casadi.SX:
        return self.rate(t, x, p) if self.parameters else self.rate(t, x)


def _compiled(function: casadi.Function) -> tuple[Rate, Trial]:
    n = function.numel_out(0)
    rate = rate_of(function, tuple(f"z{i}" for i in range(n)))
    return rate, trial_step(rate, DOP853)
