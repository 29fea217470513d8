"""Steps of Radau IIA for motions with stiff rates, all columns together.

Hairer, Wanner, Solving Ordinary Differential Equations II, Springer 1996, IV.5 and IV.8: L-stable
and stiffly accurate, of order nine with five stages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise

Array = NDArray[np.float64]
NAME = "radau, order 9"
STAGES = 5
ITERATIONS = 12
CONVERGED = 1e-13  # change of Newton's method, relative to the sizes of states
NOT_SOLVED = 1.0  # error, relative to the states, of a step without a solution


def _radau() -> tuple[Array, Array]:
    """Nodes and the integrals of the Lagrange polynomials up to them; the last row: weights."""
    legendre = np.polynomial.legendre.Legendre
    # Right Radau points are the zeros of P_s - P_(s-1).
    roots = (legendre.basis(STAGES) - legendre.basis(STAGES - 1)).roots().real
    nodes = 0.5 * (np.sort(roots) + 1)
    nodes[-1] = 1.0
    values = np.linalg.inv(np.polynomial.legendre.legvander(2 * nodes - 1, STAGES - 1))
    integrals = np.polynomial.legendre.legint(values, lbnd=-1, axis=0) / 2
    return nodes, np.polynomial.legendre.legvander(2 * nodes - 1, STAGES) @ integrals


NODES, INNER = _radau()


@dataclass(frozen=True, eq=False)
class ImplicitSteps:
    """Steps of x' = f beside integrals, for a rate (t, x, z, u, s, p) of both.

    ``sizes`` are those of the states.
    """

    rate: casadi.Function
    sizes: Array

    def slopes(self) -> Callable[..., Any]:
        """Derivatives of the rates of the states by the states, by columns."""
        sym: Any = casadi.SX.sym if self.rate.is_a("SXFunction") else casadi.MX.sym
        inputs = [sym(f"v{k}", self.rate.numel_in(k)) for k in range(self.rate.n_in())]
        of_states = self.rate(*inputs)[: self.sizes.size]
        column = casadi.densify(casadi.jacobian(of_states, inputs[1])).reshape((-1, 1))
        return Pointwise(casadi.Function("slopes", inputs, [column]))

    def stepper(self) -> Callable[..., tuple[Array, NDArray[np.bool_]]]:
        """(x, h, guess, t, z, u, s, p) -> states and integrals at the end, and whether the stages
        are solved; ``guess`` (stages, nx, N) is of the states at the stages.
        """
        rate, slopes, n = Pointwise(self.rate), self.slopes(), self.sizes.size
        size = self.sizes[None, :, None]

        def step(
            x: Array, h: Array, guess: Array, *inputs: Array
        ) -> tuple[Array, NDArray[np.bool_]]:
            t, z, u, s, p = inputs
            nz, nu, count = z.shape[0] // STAGES, u.shape[0] // STAGES, x.shape[1]
            Y, solved = guess.copy(), np.zeros(count, dtype=bool)

            def stages(of: Callable[..., Any]) -> Array:
                own = (
                    of(t[i : i + 1], Y[i], z[i * nz :][:nz], u[i * nu :][:nu], s, p)
                    for i in range(STAGES)
                )
                return np.stack([np.asarray(one) for one in own])

            for _ in range(ITERATIONS):
                k = stages(rate)
                # Y_i = x + h sum_j a_ij f(Y_j), by Newton's method.
                missed = x[None, :n] + h * np.einsum("ij,jak->iak", INNER, k[:, :n]) - Y
                J = stages(slopes).reshape(STAGES, n, n, count).transpose(0, 2, 1, 3)
                J = J * self.sizes[None, None, :, None] / self.sizes[None, :, None, None]
                block = np.einsum("k,ij,jabk->kiajb", h, INNER, J)
                matrix = np.eye(STAGES * n)[None] - block.reshape(count, STAGES * n, STAGES * n)
                right = (missed / size).transpose(2, 0, 1).reshape(count, -1, 1)
                wrong = ~(
                    np.isfinite(matrix).all(axis=(1, 2)) & np.isfinite(right).all(axis=(1, 2))
                )
                matrix[wrong], right[wrong] = np.eye(STAGES * n), 0.0
                change = np.linalg.solve(matrix, right)[:, :, 0]
                Y = Y + change.reshape(count, STAGES, n).transpose(1, 2, 0) * size
                solved = ~wrong & (np.abs(change).max(axis=1, initial=0.0) <= CONVERGED)
                if solved.all():
                    break
            solved |= ~wrong & (np.abs(change).max(axis=1, initial=0.0) <= 1e3 * CONVERGED)
            integrals = x[n:] + h * np.einsum("j,jak->ak", INNER[-1], stages(rate)[:, n:])
            return np.vstack([Y[-1], integrals]), solved

        return step
