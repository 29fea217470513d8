"""Factorization: sparse symmetric indefinite systems, A = L D L' (factorization.c)."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.compiled.library import library

Array = NDArray[np.float64]
_P, _I = ctypes.c_void_p, ctypes.c_int64
ALONE, LAST = -1, -2  # special values of ``mates``


class FactorizationReport(ctypes.Structure):
    """``factorization_report`` of factorization.h."""

    _fields_ = tuple((name, _I) for name in ("negative", "zero", "delayed", "entries"))


@dataclass(frozen=True)
class Report:
    """Inertia and fill-in of a factorization."""

    negative: int  # eigenvalues
    zero: int  # pivots that vanished
    delayed: int  # columns, counted once for each front that delayed them
    entries: int  # of L


class Factorization:
    """A symmetric matrix given by entries of one triangle; duplicate entries are summed.

    ``mates`` has for each index the other index of a pair that is eliminated together, ``ALONE`` or
    ``LAST``.

    >>> f = Factorization(2, [0, 1], [0, 0])  # ((2, 1), (1, 0))
    >>> f.compute([2.0, 1.0]).negative
    1
    >>> f.solve([3.0, 1.0])
    array([1., 1.])
    """

    def __init__(
        self, size: int, rows: ArrayLike, columns: ArrayLike, mates: ArrayLike | None = None
    ) -> None:
        core = library()
        if core is None:
            raise RuntimeError("the compiled core is not available")
        arrays = [np.ascontiguousarray(a, dtype=np.int64) for a in (rows, columns)]
        arrays.append(
            np.full(size, ALONE, dtype=np.int64)
            if mates is None
            else np.ascontiguousarray(mates, dtype=np.int64)
        )
        _check(size, *arrays)
        self.size, self.entries, self._core = size, arrays[0].size, core
        core.factorization_new.restype = _P
        self._handle = _P(
            core.factorization_new(
                _I(size), _I(self.entries), *(_P(a.ctypes.data) for a in arrays), None
            )
        )
        if not self._handle:
            raise MemoryError("analysis of a sparse matrix")
        weakref.finalize(self, core.factorization_free, self._handle)

    def compute(self, values: ArrayLike, threshold: float = 1e-6) -> Report:
        """Factor the matrix with these values of its entries."""
        array = np.ascontiguousarray(values, dtype=float)
        if array.shape != (self.entries,):
            raise ValueError(f"{array.shape} values for {self.entries} entries")
        report = FactorizationReport()
        arguments: list[Any] = [
            self._handle,
            _P(array.ctypes.data),
            ctypes.c_double(threshold),
            ctypes.byref(report),
        ]
        if self._core.factorization_compute(*arguments):
            raise ArithmeticError("the matrix has entries that are not finite")
        return Report(report.negative, report.zero, report.delayed, report.entries)

    def solve(self, right: ArrayLike) -> Array:
        """Solve A x = right with the factors of the last ``compute``."""
        x = np.array(right, dtype=float)
        if x.shape != (self.size,):
            raise ValueError(f"right-hand side of shape {x.shape}, expected ({self.size},)")
        self._core.factorization_solve(self._handle, _P(x.ctypes.data))
        return x


def _check(
    size: int, rows: NDArray[np.int64], columns: NDArray[np.int64], mates: NDArray[np.int64]
) -> None:
    if rows.shape != columns.shape or mates.shape != (size,):
        raise ValueError("rows and columns must be as many as entries, mates as many as unknowns")
    if rows.size and not (
        min(rows.min(), columns.min()) >= 0 and max(rows.max(), columns.max()) < size
    ):
        raise ValueError(f"entries outside a matrix of size {size}")
    pairs = np.flatnonzero(mates >= 0)
    if (
        np.any(mates < LAST)
        or np.any(mates >= size)
        or np.any(mates[mates[pairs]] != pairs)
        or np.any(mates[pairs] == pairs)
    ):
        raise ValueError("mates are not pairs")
