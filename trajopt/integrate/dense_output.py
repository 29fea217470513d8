"""Path: dense output of a computed motion.

A path is a sequence of segments; a segment has knots and an interpolant of the accuracy of the
integrator. At a jump two segments share one time with different states; the path evaluates to the
later one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trajopt.errors import UsageError
from trajopt.integrate.rates import Rate

Interpolant = Callable[[np.ndarray], np.ndarray]  # (m,) -> (m, n)


@dataclass(frozen=True)
class Segment:
    """Knots t (k,), states x (k, n), and an interpolant between them."""

    t: np.ndarray
    x: np.ndarray
    interpolant: Interpolant

    def cut(self, t_end: float, x_end: np.ndarray) -> Segment:
        """Return the segment up to a time inside it, with the state at that time."""
        keep = self.t < t_end
        return Segment(
            np.append(self.t[keep], t_end), np.vstack([self.x[keep], x_end]), self.interpolant
        )

    def divided(self, parts: int) -> Segment:
        """Return the segment with each step divided into equal parts; its own knots keep their
        states.
        """
        if len(self.t) < 2:
            return self
        s = np.arange(parts) / parts
        t = np.append(self.t[:-1, None] + np.diff(self.t)[:, None] * s, self.t[-1])
        x = self.interpolant(t)
        x[::parts] = self.x
        return Segment(t, x, self.interpolant)


@dataclass(frozen=True)
class Path:
    """A motion from ``t[0]`` to ``t[-1]``; ``path(0.5)`` is a state, ``path(times)`` an array with
    one row per time.
    """

    pieces: tuple[Segment, ...]

    @property
    def t(self) -> np.ndarray:
        return np.concatenate(
            [p.t[first:] for p, first in zip(self.pieces, self._first_knots, strict=True)]
        )

    @property
    def x(self) -> np.ndarray:
        return np.concatenate(
            [p.x[first:] for p, first in zip(self.pieces, self._first_knots, strict=True)]
        )

    @cached_property
    def _first_knots(self) -> list[int]:
        """For each segment 1 if its first knot repeats the end of the previous segment, else 0."""
        ends = np.array([p.x[-1] for p in self.pieces[:-1]])
        starts = np.array([p.x[0] for p in self.pieces[1:]])
        return (
            [0, *(ends == starts).all(axis=1).astype(int).tolist()]
            if len(self.pieces) > 1
            else [0] * len(self.pieces)
        )

    def __call__(self, time: float | np.ndarray | Sequence[float]) -> np.ndarray:
        times = np.atleast_1d(np.asarray(time, dtype=float))
        start, end = self.pieces[0].t[0], self.pieces[-1].t[-1]
        slack = 1e-12 * max(1.0, abs(start), abs(end))
        if np.any(~(times >= min(start, end) - slack)) or np.any(
            ~(times <= max(start, end) + slack)
        ):
            raise UsageError(
                "time outside the motion", got=time, expected=f"from {start:g} to {end:g}"
            )
        forward = end >= start
        starts = np.array([p.t[0] for p in self.pieces])
        which = (
            np.searchsorted(
                starts if forward else -starts, times if forward else -times, side="right"
            )
            - 1
        )
        which = np.clip(which, 0, len(self.pieces) - 1)
        values = np.empty((len(times), self.pieces[0].x.shape[1]))
        for i in np.unique(which):
            mask = which == i
            piece = self.pieces[i]
            values[mask] = piece.interpolant(
                np.clip(times[mask], min(piece.t[0], piece.t[-1]), max(piece.t[0], piece.t[-1]))
            )
        return values[0] if np.ndim(time) == 0 else values

    def refined(self, points: int) -> Path:
        """Return the path with each step divided equally, so that it has at
        least ``points`` knots.
        """
        parts = max(1, -(-points // max(1, sum(len(p.t) - 1 for p in self.pieces))))
        return self if parts == 1 else Path(tuple(p.divided(parts) for p in self.pieces))

    def first(self, count: int) -> Path:
        """Return the path of the first ``count`` states."""
        return Path(
            tuple(Segment(p.t, p.x[:, :count], _first(p.interpolant, count)) for p in self.pieces)
        )


def _first(interpolant: Interpolant, count: int) -> Interpolant:
    return lambda times: interpolant(times)[:, :count]


def hermite_piece(rate: Rate, t: np.ndarray, x: np.ndarray) -> Segment:
    """Return a segment with Hermite interpolation: quintic if second derivatives are known,
    otherwise cubic.
    """

    def interpolant(times: np.ndarray) -> np.ndarray:
        ascending = t[-1] >= t[0]
        left = (
            np.searchsorted(t if ascending else -t, times if ascending else -times, side="right")
            - 1
        )
        left = np.clip(left, 0, len(t) - 2)
        knots = np.unique(np.concatenate([left, left + 1]))
        f = rate.many(t[knots], x[knots])
        a = rate.second(t[knots], x[knots])
        i, j = np.searchsorted(knots, left), np.searchsorted(knots, left + 1)
        h = (t[left + 1] - t[left])[:, None]
        s = np.divide((times - t[left])[:, None], h, out=np.zeros_like(h), where=h != 0)
        value = _cubic(s, h, x[left], f[i], x[left + 1], f[j])
        return (
            value
            if a is None
            else value + _quintic_rest(s, h, (x[left], f[i], a[i]), (x[left + 1], f[j], a[j]))
        )

    return Segment(t, x, interpolant)


def _cubic(
    s: np.ndarray, h: np.ndarray, x0: np.ndarray, f0: np.ndarray, x1: np.ndarray, f1: np.ndarray
) -> np.ndarray:
    value: np.ndarray = (
        (1 + 2 * s) * (1 - s) ** 2 * x0
        + s * (1 - s) ** 2 * h * f0
        + s**2 * (3 - 2 * s) * x1
        - s**2 * (1 - s) * h * f1
    )
    return value


Jet = tuple[np.ndarray, np.ndarray, np.ndarray]


def _quintic_rest(s: np.ndarray, h: np.ndarray, start: Jet, end: Jet) -> np.ndarray:
    """Return quintic minus cubic: s^2 (1-s)^2 times a linear function that matches the second
    derivatives.
    """
    (x0, f0, a0), (x1, f1, a1) = start, end
    gap0 = h**2 * a0 - (6 * (x1 - x0) - h * (4 * f0 + 2 * f1))
    gap1 = h**2 * a1 - (-6 * (x1 - x0) + h * (2 * f0 + 4 * f1))
    rest: np.ndarray = s**2 * (1 - s) ** 2 / 2 * (gap0 * (1 - s) + gap1 * s)
    return rest
