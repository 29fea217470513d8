"""Lines: a constant sparse matrix kept line by line, with just the products that programs need.

SciPy's matrices do the same and more; their constructors alone took a fifth of the time of a small solve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi
import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int_]


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Entries ``data`` at places ``indices`` of each line, the k-th from ``pointers[k]`` to ``pointers[k + 1]``.

    Whether a line is a row or a column of the matrix is up to its owner.

    >>> lines = compressed([1, 0, 1], [2, 0, 1], [3.0, 1.0, 2.0], (2, 3))
    >>> lines.along(np.array([1.0, 10.0, 100.0]))
    array([  1., 320.])
    >>> lines.across(np.array([1.0, 10.0]))
    array([ 1., 20., 30.])
    """

    pointers: Index
    indices: Index
    data: Array
    width: int

    @property
    def count(self) -> int:
        return self.pointers.size - 1

    @cached_property
    def line_of(self) -> Index:
        """The line of each entry."""
        return np.repeat(np.arange(self.count), np.diff(self.pointers))

    def along(self, vector: Array) -> Array:
        """(lines,): each line times the vector."""
        return np.asarray(np.bincount(self.line_of, self.data * vector[self.indices], self.count), dtype=float)

    def across(self, vector: Array) -> Array:
        """(width,): the sum of all lines, each times its component of the vector."""
        return np.asarray(np.bincount(self.indices, self.data * vector[self.line_of], self.width), dtype=float)

    def transposed(self) -> SparseRows:
        return compressed(self.indices, self.line_of, self.data, (self.width, self.count))

    def with_data(self, data: Array) -> SparseRows:
        return replace(self, data=data)

    def entries_of(self, lines: Index) -> tuple[Index, Array, Index]:
        """All entries of the given lines: their indices, values, and which of ``lines`` each came from."""
        starts = self.pointers[lines]
        counts = self.pointers[lines + 1] - starts
        source = np.repeat(np.arange(lines.size), counts)
        positions = np.arange(source.size) + np.repeat(starts - np.cumsum(counts) + counts, counts)
        return self.indices[positions], self.data[positions], source

    def as_columns(self) -> casadi.DM:
        """The matrix (width, lines) whose columns the lines are."""
        pattern = casadi.Sparsity(self.width, self.count, self.pointers.tolist(), self.indices.tolist())
        return casadi.DM(pattern, self.data)


def compressed(lines: ArrayLike, indices: ArrayLike, values: ArrayLike, shape: tuple[int, int]) -> SparseRows:
    """From triplets in any order, for a number of lines of a width; what falls on one place adds up."""
    line, index, data = np.asarray(lines, dtype=np.int64), np.asarray(indices, dtype=np.int64), np.asarray(values, dtype=float)
    place = line * shape[1] + index
    order = np.argsort(place, kind="stable")
    place, data = place[order], data[order]
    again = place[1:] == place[:-1]
    if again.any():
        first = np.flatnonzero(np.concatenate([[True], ~again]))
        place, data = place[first], np.add.reduceat(data, first)
    line, index = place // max(shape[1], 1), place % max(shape[1], 1)
    pointers = np.zeros(shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(line, minlength=shape[0]), out=pointers[1:])
    return SparseRows(pointers, index, data, shape[1])
