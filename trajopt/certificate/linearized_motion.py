"""The motion linearized along an answer: transition matrices of every interval, by collocation at
Gauss points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.sampled_solution import SampledPhase, evaluated

Array = NDArray[np.float64]
LOST = float(
    np.log(1 / np.finfo(float).eps)
)  # exponent of a growth after which nothing is left of the start
STAGES = 4  # Gauss points of an interval: order eight


@lru_cache(maxsize=4)
def gauss(count: int) -> tuple[Array, Array, Array]:
    """Points in [0, 1], weights, and integrals of the Lagrange polynomials from 0 to each point."""
    points, weights = np.polynomial.legendre.leggauss(count)
    points, weights = 0.5 * (points + 1), 0.5 * weights
    values = np.linalg.inv(np.polynomial.legendre.legvander(2 * points - 1, count - 1))
    integrals = np.polynomial.legendre.legint(values, lbnd=-1, axis=0) / 2
    return points, weights, np.polynomial.legendre.legvander(2 * points - 1, count) @ integrals


@dataclass(frozen=True, eq=False)
class Linear:
    """x' = f linearized in the states at the answer, algebraic variables eliminated."""

    phase: SampledPhase

    @cached_property
    def times(self) -> Array:
        """(intervals, STAGES)"""
        every = np.arange(self.phase.widths.size)
        return self.phase.inside(np.repeat(gauss(STAGES)[0][None, :], every.size, axis=0), every)

    @cached_property
    def slopes(self) -> Array:
        """df/dx at those times, relative to the sizes of the states: (intervals,
        STAGES, nx, nx).
        """
        ph, form = self.phase, self.phase.form
        flat = self.times.ravel()
        at = (flat[None, :], ph.x(flat), ph.z(flat), ph.u(flat), ph.s, ph.p)
        inputs = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]

        def values(of: casadi.SX, by: casadi.SX) -> Array:
            column = casadi.densify(casadi.jacobian(of, by)).reshape((-1, 1))
            found = evaluated(casadi.Function("slopes", inputs, [column]), *at)
            return found.T.reshape(flat.size, by.numel(), of.numel()).transpose(0, 2, 1)

        matrix = values(form.f, form.x)
        if form.z.numel() and form.g.numel():
            by_z, g_x, g_z = values(form.f, form.z), values(form.g, form.x), values(form.g, form.z)
            finite = np.isfinite(g_z).all(axis=(1, 2)) & np.isfinite(g_x).all(axis=(1, 2))
            g_z[~finite], g_x[~finite] = 0.0, 0.0
            matrix = matrix - by_z @ (np.linalg.pinv(g_z, rcond=1e-13) @ g_x)
        matrix = matrix * ph.sizes[None, None, :] / ph.sizes[None, :, None]
        return np.nan_to_num(matrix, posinf=0.0, neginf=0.0).reshape(
            *self.times.shape, form.x.numel(), form.x.numel()
        )

    @cached_property
    def transitions(self) -> Array:
        """(intervals, nx, nx), relative to the sizes of the states."""
        n, h = self.slopes.shape[2], self.phase.widths
        _, weights, inner = gauss(STAGES)
        block = np.einsum("k,ij,kjab->kiajb", h, inner, self.slopes).reshape(
            h.size, STAGES * n, STAGES * n
        )
        right = np.tile(np.eye(n), (STAGES, 1))[None].repeat(h.size, axis=0)
        stages = np.linalg.solve(np.eye(STAGES * n)[None] - block, right).reshape(
            h.size, STAGES, n, n
        )
        return np.asarray(
            np.eye(n)[None] + np.einsum("k,j,kjab,kjbc->kac", h, weights, self.slopes, stages)
        )

    def segments(self, most: float) -> tuple[list[tuple[int, int]], Array]:
        """Runs of intervals in which a disturbed start grows at most so many times, and how many
        times it grows in each.

        A run has at least one interval.
        """
        first, product, found, growths = 0, np.eye(self.slopes.shape[2]), [], []
        for k, step in enumerate(self.transitions):
            following = step @ product
            growth = float(np.abs(following).max(initial=0.0))
            if k > first and not growth <= most:
                found.append((first, k))
                growths.append(float(np.abs(product).max(initial=0.0)))
                first, following = k, step
            product = following
        found.append((first, self.transitions.shape[0]))
        growths.append(float(np.abs(product).max(initial=0.0)))
        return found, np.array(growths)

    @cached_property
    def fastest_growth(self) -> float:
        """The largest exponent by which a disturbance grows within an interval: real part of an
        eigenvalue times width.
        """
        strength = np.abs(self.slopes).sum(axis=3).max(axis=2) * self.phase.widths[:, None]
        fast = np.nonzero(strength > LOST)
        if not fast[0].size:
            return float(strength.max(initial=0.0))
        rates = np.linalg.eigvals(self.slopes[fast]).real.max(axis=1)
        return float((rates * self.phase.widths[fast[0]]).max())

    @cached_property
    def fastest_decay(self) -> float:
        """The largest exponent by which a disturbance decays within an interval."""
        strength = np.abs(self.slopes).sum(axis=3).max(axis=2) * self.phase.widths[:, None]
        fast = np.nonzero(strength > LOST)
        if not fast[0].size:
            return 0.0
        rates = -np.linalg.eigvals(self.slopes[fast]).real.min(axis=1)
        return float((rates * self.phase.widths[fast[0]]).max())
