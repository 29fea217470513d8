"""Gains K of dy/dt = K y: stable range for a step and a scheme, fastest decay, error bounds.

Over one step a one-step scheme multiplies the deviations by R(tau K), R its stability function, and
adds its local error e. The deviations stay bounded if the spectral radius of R(tau K) is below one,
and converge to about (1 - R)^-1 e.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from trajopt.errors import UsageError
from trajopt.integrate.fixed_step import Integrator, positive
from trajopt.integrate.tableaus import Tableau

Scheme = Tableau | Integrator


def stability_function(scheme: Scheme) -> Callable[[Any], Any]:
    """Return the stability function R: x1 = R(tau lambda) x0 for x' = lambda x.

    >>> from trajopt.integrate.tableaus import RK4
    >>> round(float(stability_function(RK4)(-1.0)), 12)
    0.375
    """
    coefficients = stability_polynomial(_tableau(scheme))
    return lambda z: np.polyval(coefficients[::-1], z)


def stability_polynomial(tableau: Tableau) -> np.ndarray:
    """Return the coefficients of R(z) = 1 + z b.1 + z^2 b.A 1 + ..., lowest first."""
    s = tableau.stages
    A = np.zeros((s, s))
    for i, row in enumerate(tableau.a):
        A[i, : len(row)] = row
    coefficients, vector = [1.0], np.ones(s)
    for _ in range(s):
        coefficients.append(float(np.dot(tableau.b, vector)))
        vector = A @ vector
    return np.array(coefficients)


def _tableau(scheme: Scheme) -> Tableau:
    if isinstance(scheme, Tableau):
        return scheme
    if scheme.scheme is None:
        raise UsageError("an explicit one-step scheme is needed", got=scheme.label)
    return scheme.scheme


def multiplier(K: np.ndarray | Sequence[Sequence[float]], scheme: Scheme, step: float) -> float:
    """Return the spectral radius of R(tau K), the asymptotic growth factor of deviations per step.

    >>> from trajopt.integrate.tableaus import EULER
    >>> round(multiplier([[-2000.0, -1000.0], [-1000.0, -2000.0]], EULER, 1e-3), 12)
    2.0
    """
    positive(step, "step")
    eigenvalues = np.linalg.eigvals(np.atleast_2d(np.asarray(K, dtype=float)))
    return float(np.max(np.abs(stability_function(scheme)(step * eigenvalues)), initial=0.0))


def check_gain(K: np.ndarray | Sequence[Sequence[float]], scheme: Scheme, step: float) -> float:
    """Return the growth factor per step; raise ``UsageError`` if deviations would grow.

    It rejects matrices that satisfy the component-wise range and a Hurwitz test but diverge.

    >>> from trajopt.integrate.tableaus import EULER
    >>> round(check_gain([[-1500.0]], EULER, 1e-3), 12)
    0.5
    """
    matrix = np.atleast_2d(np.asarray(K, dtype=float))
    slowest = float(np.max(np.real(np.linalg.eigvals(matrix)), initial=-np.inf))
    if slowest > 1e-12:
        raise UsageError(
            "the stabilization is unstable: deviations grow at any step",
            got=f"an eigenvalue with real part {slowest:.4g}",
            expected="all negative",
        )
    factor = multiplier(matrix, scheme, step)
    if factor > 1:
        fastest = float(np.max(np.abs(np.linalg.eigvals(matrix))))
        limit = stability_limit(scheme)
        raise UsageError(
            f"the gain is unstable: each step multiplies deviations by {factor:.4g}",
            got=f"eigenvalues up to {fastest:.6g} 1/s with a step of {step:g} s",
            expected=f"at most {limit / step:.6g} 1/s for real eigenvalues",
            hint="use a smaller gain or a smaller step",
        )
    return factor


def stability_limit(scheme: Scheme) -> float:
    """Return the length z of the interval (-z, 0) on which |R| <= 1.

    >>> from trajopt.integrate.tableaus import EULER, HEUN, RK4
    >>> [round(stability_limit(scheme), 3) for scheme in (EULER, HEUN, RK4)]
    [2.0, 2.0, 2.785]
    """
    R = stability_function(scheme)
    z = np.linspace(0, 20, 20001)[1:]
    outside = np.abs(R(-z)) > 1 + 1e-12
    first = int(np.argmax(outside))
    if not outside[first]:
        return float("inf")
    return (
        float(scipy.optimize.brentq(lambda s: abs(R(-s)) - 1, z[first - 1], z[first]))
        if first
        else 0.0
    )


def safe_range(scheme: Scheme, step: float) -> tuple[float, float]:
    """Return the range of gains a > 0 for which dy/dt = -a y, or Baumgarte's law, is stable.

    >>> from trajopt.integrate import Euler
    >>> tuple(round(a, 6) for a in safe_range(Euler(1e-3), 1e-3))
    (0.0, 2000.0)
    """
    return 0.0, stability_limit(scheme) / positive(step, "step")


def row_sums(
    K: np.ndarray,
    step: float,
    tolerances: Sequence[float],
    remainders: Sequence[float] | float = 0.0,
) -> np.ndarray:
    """Return eps_k - |R_k| - sum_l |delta_kl + tau K_kl| eps_l; if nonnegative, Euler's scheme
    preserves |y_k| <= eps_k.

    For a position condition take the pair (h, w = h' + a h), h' = -a h + w, w' = -a w
    (``position_pair``): the row of h in (h, h') can never satisfy it.
    """
    K, eps = np.atleast_2d(np.asarray(K, dtype=float)), np.asarray(tolerances, dtype=float)
    if K.shape != (len(eps), len(eps)):
        raise UsageError(
            "the number of tolerances differs from the size of the matrix of gains",
            got=f"{len(eps)} tolerances, K of {K.shape}",
        )
    margin: np.ndarray = (
        eps - np.abs(remainders) - np.abs(np.eye(len(eps)) + positive(step, "step") * K) @ eps
    )
    return margin


def row_sum_test(
    K: np.ndarray,
    step: float,
    tolerances: Sequence[float],
    remainders: Sequence[float] | float = 0.0,
) -> bool:
    """True if Euler's scheme keeps every deviation within its tolerance.

    >>> row_sum_test(-1000 * np.array([[2, 1], [1, 2]]), 1e-3, [1e-6, 1e-6])
    False
    """
    return bool(np.all(row_sums(K, step, tolerances, remainders) >= -1e-15))


def component_range(
    step: float, tolerances: Sequence[float], remainder: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the component-wise range (2.1.10) of each K_kl, lower and upper: necessary for the row
    sums, **not** sufficient.
    """
    eps = np.asarray(tolerances, dtype=float)
    room = (eps.min() - abs(remainder)) / (positive(step, "step") * eps.max())
    identity = np.eye(len(eps)) / step
    return -identity - room, -identity + room


def position_pair(gain: float) -> np.ndarray:
    """Return K for the deviations (h, w = h' + a h) of a position condition: h' = -a h + w, w' = -a
    w.
    """
    return np.array([[-gain, 1.0], [0.0, -gain]])


def error_bound(initial: float, lipschitz: float, local: float, duration: float) -> float:
    """Return the bound (2.2.13): ||D|| <= ||D_1|| e^{LT} + B (e^{LT} - 1)/L.

    ``initial`` is the initial deviation, ``lipschitz`` L a Lipschitz constant of the rate,
    ``local`` B the local error per unit of time (tau/2 max |x''| for Euler).

    >>> round(error_bound(0.0, 0.0, 1e-3, 10.0), 12)
    0.01
    """
    if min(initial, lipschitz, local, duration) < 0:
        raise UsageError(
            "the arguments of the error bound must be nonnegative",
            got=(initial, lipschitz, local, duration),
            expected="no negative number",
        )
    growth = lipschitz * duration
    accumulated = duration if growth == 0 else np.expm1(growth) / lipschitz
    return float(initial * np.exp(growth) + local * accumulated)


def fastest_gain(scheme: Scheme, step: float) -> float:
    """Return the gain a with the fastest decay per step, the minimum of |R(-tau a)|.

    It applies to Euler's scheme, and to others if the deviation is sampled at the start of a step,
    as by ``Baumgarte``. A law that acts at the stages, which leave the manifold within a step,
    needs a lower gain: see ``recommended_gain``.
    """
    return best_damping(scheme) / positive(step, "step")


def best_damping(scheme: Scheme) -> float:
    """Return the z > 0 within the stability limit that minimizes |R(-z)|.

    >>> from trajopt.integrate.tableaus import EULER, HEUN, RK4
    >>> [round(best_damping(scheme), 3) for scheme in (EULER, HEUN, RK4)]
    [1.0, 1.0, 1.596]
    """
    R = stability_function(scheme)
    z = np.linspace(0, stability_limit(scheme), 4001)
    coarse = z[int(np.argmin(np.abs(R(-z))))]
    width = z[1]
    found = scipy.optimize.minimize_scalar(
        lambda s: abs(R(-s)),
        bounds=(max(coarse - width, 0), coarse + width),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(found.x)
