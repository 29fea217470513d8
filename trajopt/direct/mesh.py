"""Mesh: where a phase is cut, with what degree, and what its controls may do on each interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import named_methods
from trajopt.errors import UsageError

Array = NDArray[np.float64]
# Of a mesh that is asked for by a number of intervals: a program with so many points takes tens of
# gigabytes, and a larger number is probably a mistake.
MOST_POINTS = 1_000_000


@named_methods
@dataclass(frozen=True, eq=False)
class Mesh:
    """The intervals of one phase.

    Parameters
    ----------
    breaks : (n + 1,) array
        Increasing from 0 to 1, in normalised time.
    degrees : (n,) integers
        Degree of the state polynomial on each interval.
    knots : indices of inner breaks
        Breaks that the solver may move: their times are unknowns of the program (switching times).
    roles : (n, controls) integers
        FREE, or held AT_LOWER or AT_UPPER.
    held : (n, states + path constraints) integers
        FREE, or kept AT_LOWER or AT_UPPER as equalities: boundary arcs of constraints.
    joined : indices of knots
        Where a boundary arc begins or ends with continuous controls.
    control_points : (n, controls) integers
        Number of values that describe a control on an interval; 0 for one at every collocation
        point, -1 for one fewer.

    >>> Mesh.uniform(4, 3).breaks
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    breaks: Array
    degrees: NDArray[np.int_]
    knots: tuple[int, ...] = ()
    roles: NDArray[np.int_] | None = None
    control_points: NDArray[np.int_] | None = None
    held: NDArray[np.int_] | None = None
    joined: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.breaks, np.ndarray):  # lists, as a user writes them
            breaks = np.asarray(self.breaks, dtype=float)
            degrees = np.broadcast_to(np.asarray(self.degrees, dtype=int), breaks.size - 1)
            object.__setattr__(self, "breaks", breaks)
            object.__setattr__(self, "degrees", degrees)
        if (
            self.breaks.ndim != 1
            or self.breaks.size < 2
            or not np.all(np.diff(self.breaks) > 0)
            or self.breaks[0] != 0
            or self.breaks[-1] != 1
        ):
            raise UsageError(
                "the breaks of a mesh", got=self.breaks, expected="numbers increasing from 0 to 1"
            )
        if self.degrees.shape != (self.intervals,):
            raise UsageError(
                "the degrees of a mesh",
                got=self.degrees.shape,
                expected=f"one for each of the {self.intervals} intervals",
            )

    @staticmethod
    def uniform(intervals: int, degree: int) -> Mesh:
        """Intervals of equal width and degree."""
        if intervals < 1 or degree < 0:
            raise UsageError(
                "a uniform mesh",
                got=f"{intervals} intervals of degree {degree}",
                expected="at least 1 interval, of a degree of 0 or more",
            )
        if intervals * max(degree, 1) > MOST_POINTS:
            raise UsageError(
                "a uniform mesh",
                got=f"{intervals} intervals of degree {degree}",
                expected=f"at most {MOST_POINTS} points",
                hint="if they are all meant: Mesh(numpy.linspace(0, 1, n + 1), degree)",
            )
        return Mesh(np.linspace(0.0, 1.0, intervals + 1), np.full(intervals, degree, dtype=int))

    def with_breaks(self, places: Array, close: float) -> Mesh:
        """Return the mesh with breaks at these normalised times too; intervals that are cut keep
        their degree. Breaks that are ``close`` to a place count as being there.

        >>> import numpy as np
        >>> Mesh.uniform(2, 3).with_breaks(np.array([0.2, 0.5]), 1e-9).breaks
        array([0. , 0.2, 0.5, 1. ])
        """
        apart = np.abs(places[:, None] - self.breaks[None, :]).min(axis=1) > close
        new = np.unique(places[apart])
        if not new.size:
            return self
        breaks = np.sort(np.concatenate([self.breaks, new]))
        of = np.searchsorted(self.breaks, breaks[:-1], side="right") - 1  # old intervals
        moved = np.searchsorted(breaks, self.breaks)
        return Mesh(
            breaks,
            self.degrees[of],
            tuple(moved[list(self.knots)].tolist()),
            None if self.roles is None else self.roles[of],
            None if self.control_points is None else self.control_points[of],
            None if self.held is None else self.held[of],
            tuple(moved[list(self.joined)].tolist()),
        )

    @property
    def intervals(self) -> int:
        return self.breaks.size - 1

    @cached_property
    def spans(self) -> tuple[Array, NDArray[np.int_]]:
        """The normalised times of start, knots and end; and for each interval, the span between
        them that it lies in.
        """
        ends = np.array([0, *self.knots, self.intervals])
        return self.breaks[ends], np.searchsorted(ends, np.arange(self.intervals), side="right") - 1
