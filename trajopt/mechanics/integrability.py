"""Integrability of velocity conditions, and existence of a Lagrangian for equations of motion.

Both are identities in the state, evaluated at random states: they hold if all values are at
round-off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
import scipy.linalg

from trajopt.errors import ModelError
from trajopt.mechanics.lagrange import Mechanism

ROUND_OFF = 1e-9  # of values of order one
AT_REST = "no curl at rest"


@dataclass(frozen=True)
class Integrability:
    """The nonholonomy tensor of the velocity conditions of a mechanism.

    ``tensors`` has for each condition the largest component of its tensor; zero means that the
    condition is integrable alone. ``curvature`` is that of all conditions together, and zero where
    the set can be integrated (Frobenius): a condition that cannot be integrated alone may be so
    beside others.
    """

    tensors: Mapping[str, float]
    curvature: float

    @property
    def holonomic(self) -> bool:
        """True if the conditions together are integrable, that is holonomic."""
        return self.curvature <= ROUND_OFF


def nonholonomy(mechanism: Mechanism, samples: int = 5, seed: int = 0) -> Integrability:
    """Evaluate the nonholonomy tensor of a_r(q, t) . v + a_r0(q, t) = 0 at random positions around
    the initial one.

    Time counts as a coordinate of rate one. The tensor of a condition is w ^ dw, Omega_jkl = a_j
    (da_l/dq_k - da_k/dq_l) and its two cyclic permutations; of the set it is dw restricted to the
    directions that all conditions allow.

    >>> from problems.stabilization.sleigh import sleigh
    >>> nonholonomy(sleigh().mechanism).holonomic
    False
    """
    rows = [row for row, c in enumerate(mechanism.rows) if c in mechanism.nonholonomic]
    if not rows:
        raise ModelError(
            f"'{mechanism.name}' has no velocity conditions",
            expected="constraints of the kind Nonholonomic",
        )
    places = casadi.vertcat(mechanism.q, mechanism.time)
    # All rows: position conditions restrict the directions too.
    A = casadi.horzcat(mechanism.equations.matrix, mechanism.equations.offset)
    slopes = [casadi.jacobian(A[r, :].T, places) for r in rows]
    values = mechanism.function(A, *[slope - slope.T for slope in slopes])
    q, v = mechanism.start
    rng = np.random.default_rng(seed)
    alone, together = np.zeros(len(rows)), 0.0
    for _ in range(samples):
        at = mechanism.arguments(q + rng.normal(size=q.size), v, t=float(rng.normal()))
        M, *curls = (np.array(value) for value in values(*at))
        M = M / np.maximum(np.linalg.norm(M, axis=1, keepdims=True), 1e-300)
        free = scipy.linalg.null_space(M)
        for k, (row, curl) in enumerate(zip(rows, curls, strict=True)):
            w = M[row]
            omega = np.einsum("j,lk->jkl", w, curl)
            omega = omega + omega.transpose(1, 2, 0) + omega.transpose(2, 0, 1)
            alone[k] = max(alone[k], np.abs(omega).max())
            together = max(together, float(np.abs(free.T @ curl @ free).max(initial=0.0)))
    names = [mechanism.rows[row].name for row in rows]
    return Integrability(dict(zip(names, alone.tolist(), strict=True)), together)


@dataclass(frozen=True)
class Helmholtz:
    """The largest violation of each condition for equations to have a Lagrangian L(q, v) and a
    dissipation function D(q, v): d/dt dL/dv - dL/dq + dD/dv = F.
    """

    conditions: Mapping[str, float]
    dissipation: (
        float  # norm of the Hessian of the dissipation; zero if the equations are conservative
    )

    @property
    def lagrangian(self) -> bool:
        """True if L and D exist; D may have terms linear in the rates."""
        return all(v <= ROUND_OFF for name, v in self.conditions.items() if name != AT_REST)

    @property
    def rayleigh(self) -> bool:
        """True if L and D exist, and D without terms linear in the rates, which are forces of the
        position: the power of a quadratic one is twice D.
        """
        return self.lagrangian and self.conditions[AT_REST] <= ROUND_OFF

    @property
    def conservative(self) -> bool:
        return self.rayleigh and self.dissipation <= ROUND_OFF


def helmholtz(F: Any, q: Any, v: Any, a: Any, samples: int = 5, seed: int = 0) -> Helmholtz:
    """Evaluate the generalized Helmholtz conditions for equations F(q, v, a) = 0, columns of CasADi
    symbols.

    With g = dF/da, s the symmetric part of dF/dv less dg/dt, and R the antisymmetric part of dF/dq
    less half the rate of twice that of dF/dv, a Lagrangian with a dissipation function D(q, v)
    exists where g is symmetric with symmetric derivatives by v, s is the Hessian of D by v, and R
    is what D leaves in the mixed derivatives: dR_ij/dv_k = ds_ik/dq_j - ds_jk/dq_i, the cyclic sum
    of dR_ij/dq_k zero. Terms of D linear in v are forces of the position, with a curl as well; they
    are absent (``rayleigh``) where R = 0 at rest.

    >>> q, v, a = (casadi.SX.sym(name, 2) for name in "qva")
    >>> helmholtz(a + q + casadi.DM([[2, 1], [1, 3]]) @ v, q, v, a).lagrangian
    True
    >>> curl = helmholtz(a + casadi.DM([[0, 1], [0, 0]]) @ q, q, v, a)
    >>> curl.lagrangian, curl.rayleigh  # D = v[0] q[1]
    (True, False)
    >>> helmholtz(a + casadi.vertcat(v[1] ** 2, 0), q, v, a).lagrangian
    False
    """
    jerk = casadi.SX.sym("jerk", q.numel())

    def rate(matrix: Any) -> Any:
        flat = casadi.vec(matrix)
        total = sum(
            (casadi.jtimes(flat, x, dx) for x, dx in ((q, v), (v, a), (a, jerk))),
            casadi.SX.zeros(flat.shape),
        )
        return casadi.reshape(total, matrix.shape[0], matrix.shape[1])

    F = casadi.SX(F)
    g, Fv, Fq = (casadi.densify(casadi.jacobian(F, x)) for x in (a, v, q))
    s = (Fv + Fv.T) / 2 - rate(g)
    R = Fq - Fq.T - rate(Fv - Fv.T) / 2
    n = q.numel()

    def slopes(matrix: Any, by: Any) -> Any:
        """Return d matrix_ij / d by_k as a column, k fastest, then i, then j."""
        return casadi.vec(casadi.jacobian(casadi.vec(matrix), by).T)

    parts = casadi.Function(
        "helmholtz",
        [q, v, a, jerk],
        [g, s, R, *(slopes(m, by) for m, by in ((g, v), (s, v), (s, q), (R, v), (R, q)))],
    )
    rng, size = np.random.default_rng(seed), 0.0
    worst: dict[str, float] = {}
    for _ in range(samples):
        at = rng.normal(size=(4, n))
        found = [np.array(part) for part in parts(*at)]
        at[1] = 0.0  # at rest
        G, S, R0 = found[:3]
        gv, sv, sq, Rv, Rq = (
            part.reshape(n, n, n).transpose(1, 0, 2) for part in found[3:]
        )  # [i, j, k]
        residuals = {
            "dF/da symmetric": G - G.T,
            "dF/da a Hessian by v": gv - gv.transpose(0, 2, 1),
            "dissipation a Hessian by v": sv - sv.transpose(0, 2, 1),
            "mixed derivatives": Rv - (sq.transpose(0, 2, 1) - sq.transpose(2, 0, 1)),
            "closed in q": Rq + Rq.transpose(1, 2, 0) + Rq.transpose(2, 0, 1),
            AT_REST: np.array(parts(*at)[2]),
        }
        for name, value in residuals.items():
            worst[name] = max(worst.get(name, 0.0), float(np.abs(value).max()))
        size = max(size, float(np.abs(S).max()), float(np.abs(R0).max()))
    return Helmholtz(worst, size)
