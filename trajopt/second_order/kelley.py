"""Kelley's condition on singular arcs (the generalized Legendre-Clebsch condition), to order two.

Where H is affine in a control whose switching function vanishes, (-1)^k d/du (d/dt)^(2k) dH/du >= 0
for the first k at which it is not zero. Kelley, Kopp, Moyer, Singular extremals, in: Leitmann
(ed.), Topics in Optimization, Academic Press 1967.
"""

from __future__ import annotations

from typing import Any

import casadi

HIGHEST = 2  # order k


def kelley_matrices(
    H: Any, variables: tuple[Any, Any, Any, Any], rates: Any, singular: list[int]
) -> tuple[int, Any] | None:
    """The order k and the matrix of (-1)^k d/du_j (d/dt)^(2k) dH/du_i for some controls; None where
    it vanishes to order two.

    Parameters
    ----------
    H : expression
    variables : t, x, costate, u
    rates : dx/dt
    singular : the controls

    >>> x, v, c, d, u, t = (casadi.SX.sym(n) for n in "xvcdut")
    >>> state, costate = casadi.vertcat(x, v), casadi.vertcat(c, d)
    >>> H = x**2 + c * v + d * u
    >>> kelley_matrices(H, (t, state, costate, u), casadi.vertcat(v, u), [0])
    (2, SX(2))
    """
    t, x, costate, u = variables
    expression = casadi.vertcat(*[casadi.gradient(H, u)[i] for i in singular])
    for k in range(1, HIGHEST + 1):
        for _ in range(2):
            by_costate = casadi.jtimes(expression, costate, -casadi.gradient(H, x))
            expression = (
                casadi.jtimes(expression, x, rates) + by_costate + casadi.jacobian(expression, t)
            )
        matrix = casadi.simplify((-1) ** k * casadi.jacobian(expression, u)[:, singular])
        if matrix.nnz():
            return k, casadi.densify(matrix)
    return None
