"""Dop853Steps: steps of an explicit Runge-Kutta pair of order 8 for a rate given as a tape
(dop853.c).
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.library import library
from trajopt.compiled.tapes import Tape

Array = NDArray[np.float64]

STAGES, DENSE = 16, 7
TOO_SMALL = 1  # result of dop853_step
_DOUBLE, _POINTER = ctypes.c_double, ctypes.c_void_p


class CTable(ctypes.Structure):
    """``dop853_table`` of dop853.h."""

    _fields_ = tuple((name, _POINTER) for name in ("a", "c", "e3", "e5", "d"))


class CState(ctypes.Structure):
    """``dop853_state`` of dop853.h."""

    _fields_ = (
        *((name, _DOUBLE) for name in ("t", "t_bound", "h_abs", "rtol", "atol")),
        *((name, _POINTER) for name in ("y", "f", "dense")),
    )


class Dop853Steps:
    """One motion: each call of ``step`` advances ``t`` and ``y`` and returns the coefficients of
    the dense output.
    """

    def __init__(
        self,
        rate: Tape,
        span: tuple[float, float],
        y: Array,
        f: Array,
        first_step: float,
        rtol: float,
        atol: float,
    ) -> None:
        core = library()
        assert core is not None
        self._step, self._rate, self._table = core.dop853_step, ctypes.byref(rate.c), _table()[0]
        self.y, self.f, self._dense = (
            np.array(y, dtype=float),
            np.array(f, dtype=float),
            np.empty((DENSE, y.size)),
        )
        pointers = (a.ctypes.data for a in (self.y, self.f, self._dense))
        self._state = CState(*span, first_step, rtol, atol, *pointers)
        self._arguments = (self._rate, ctypes.byref(self._table), ctypes.byref(self._state))
        self._keeps = rate  # the structures point into its arrays

    @property
    def t(self) -> float:
        return float(self._state.t)

    def step(self) -> Array | None:
        """Return (7, n), or None if the step size became too small."""
        result = self._step(*self._arguments)
        if result == TOO_SMALL:
            return None
        if result:
            raise MemoryError("step of an integrator")
        return self._dense.copy()

    def move(self, y: Array, f: Array) -> None:
        """Replace the state and its rate."""
        self.y[:], self.f[:] = y, f


def dense_weights(s: Array) -> Array:
    """Return the weights (points, 7) of the coefficients of the dense output at fractions s of the
    step.
    """
    factors = np.empty((s.size, DENSE))
    factors[:, 0::2] = s[:, None]
    factors[:, 1::2] = (1 - s)[:, None]
    weights: Array = np.multiply.accumulate(factors, axis=1)
    return weights


@cache
def _table() -> tuple[CTable, tuple[Any, ...]]:
    """Return the coefficients of SciPy's class, and the arrays that hold them."""
    from scipy.integrate import DOP853 as scheme

    last = len(scheme.B)  # stage at the end of the step
    a, c = np.zeros((STAGES, STAGES)), np.ones(STAGES)
    a[:last, :last], a[last, :last], a[last + 1 :] = scheme.A, scheme.B, scheme.A_EXTRA
    c[:last], c[last + 1 :] = scheme.C, scheme.C_EXTRA
    arrays = tuple(
        np.ascontiguousarray(v, dtype=float) for v in (a, c, scheme.E3, scheme.E5, scheme.D)
    )
    return CTable(*(v.ctypes.data for v in arrays)), arrays
