"""Gains: what dy/dt = K y may be for a step and a scheme, what it should be, and what it buys.

Over one step a one-step scheme multiplies the deviations by R(tau K), R its stability function, and adds its local error e. The
deviations stay bounded if the spectral radius of R(tau K) is below one, and settle near (1 - R)^-1 e: the smaller R, the better.
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
    """R of x1 = R(tau lambda) x0 for x' = lambda x.

    >>> from trajopt.integrate.tableaus import RK4
    >>> round(float(stability_function(RK4)(-1.0)), 12)
    0.375
    """
    coefficients = stability_polynomial(_tableau(scheme))
    return lambda z: np.polyval(coefficients[::-1], z)


def stability_polynomial(tableau: Tableau) -> np.ndarray:
    """The coefficients of R(z) = 1 + z b.1 + z^2 b.A 1 + ..., lowest first."""
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
        raise UsageError("gains are chosen for an explicit one-step scheme", got=scheme.label)
    return scheme.scheme


def multiplier(K: np.ndarray | Sequence[Sequence[float]], scheme: Scheme, step: float) -> float:
    """The spectral radius of R(tau K): by how much a step multiplies deviations, in the long run.

    >>> from trajopt.integrate.tableaus import EULER
    >>> round(multiplier([[-2000.0, -1000.0], [-1000.0, -2000.0]], EULER, 1e-3), 12)
    2.0
    """
    positive(step, "step")
    eigenvalues = np.linalg.eigvals(np.atleast_2d(np.asarray(K, dtype=float)))
    return float(np.max(np.abs(stability_function(scheme)(step * eigenvalues)), initial=0.0))


def check_gain(K: np.ndarray | Sequence[Sequence[float]], scheme: Scheme, step: float) -> float:
    """The multiplier of a step, or an error where deviations would grow.

    It refuses matrices that pass the component-wise range and a Hurwitz test but diverge all the same.

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
            hint="a smaller gain or a smaller step",
        )
    return factor


def stability_limit(scheme: Scheme) -> float:
    """The length of the interval (-z, 0) on which |R| <= 1.

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
    return float(scipy.optimize.brentq(lambda s: abs(R(-s)) - 1, z[first - 1], z[first])) if first else 0.0


def safe_range(scheme: Scheme, step: float) -> tuple[float, float]:
    """The gains a > 0 for which dy/dt = -a y, or Baumgarte's law with a, is damped by every step.

    >>> from trajopt.integrate import Euler
    >>> tuple(round(a, 6) for a in safe_range(Euler(1e-3), 1e-3))
    (0.0, 2000.0)
    """
    return 0.0, stability_limit(scheme) / positive(step, "step")


def row_sums(K: np.ndarray, step: float, tolerances: Sequence[float], remainders: Sequence[float] | float = 0.0) -> np.ndarray:
    """eps_k - |R_k| - sum_l |delta_kl + tau K_kl| eps_l: Euler keeps |y_k| <= eps_k from step to step where it is not negative.

    For a position condition take the pair (h, w = h' + a h), h' = -a h + w, w' = -a w (``position_pair``): the row of h in
    (h, h') can never satisfy it.
    """
    K, eps = np.atleast_2d(np.asarray(K, dtype=float)), np.asarray(tolerances, dtype=float)
    if K.shape != (len(eps), len(eps)):
        raise UsageError("the tolerances do not fit the matrix of gains", got=f"{len(eps)} tolerances, K of {K.shape}")
    margin: np.ndarray = eps - np.abs(remainders) - np.abs(np.eye(len(eps)) + positive(step, "step") * K) @ eps
    return margin


def row_sum_test(K: np.ndarray, step: float, tolerances: Sequence[float], remainders: Sequence[float] | float = 0.0) -> bool:
    """Whether Euler's steps keep every deviation within its tolerance.

    >>> row_sum_test(-1000 * np.array([[2, 1], [1, 2]]), 1e-3, [1e-6, 1e-6])
    False
    """
    return bool(np.all(row_sums(K, step, tolerances, remainders) >= -1e-15))


def component_range(step: float, tolerances: Sequence[float], remainder: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The printed component-wise range (2.1.10) of each K_kl, lower and upper: necessary for the row sums, **not** sufficient."""
    eps = np.asarray(tolerances, dtype=float)
    room = (eps.min() - abs(remainder)) / (positive(step, "step") * eps.max())
    identity = np.eye(len(eps)) / step
    return -identity - room, -identity + room


def position_pair(gain: float) -> np.ndarray:
    """K of the deviations (h, w = h' + a h) of a position condition: h' = -a h + w, w' = -a w."""
    return np.array([[-gain, 1.0], [0.0, -gain]])


def error_bound(initial: float, lipschitz: float, local: float, duration: float) -> float:
    """The bound (2.2.13): ||D|| <= ||D_1|| e^{LT} + B (e^{LT} - 1)/L.

    ``initial`` is the deviation at the start, ``lipschitz`` L a bound on the rate's slope, ``local`` B the error made per unit of
    time (tau/2 max |x''| for Euler).

    >>> round(error_bound(0.0, 0.0, 1e-3, 10.0), 12)
    0.01
    """
    if min(initial, lipschitz, local, duration) < 0:
        raise UsageError("the error bound takes sizes", got=(initial, lipschitz, local, duration), expected="no negative number")
    growth = lipschitz * duration
    accumulated = duration if growth == 0 else np.expm1(growth) / lipschitz
    return float(initial * np.exp(growth) + local * accumulated)


def fastest_gain(scheme: Scheme, step: float) -> float:
    """The gain that damps deviations most in one step: tau a where |R(-tau a)| is least.

    It suits Euler's scheme, and others where the deviation is taken at the beginning of a step, as ``Baumgarte`` does. A law
    that acts at the stages, which leave the manifold inside a step, turns so high a gain into error: see ``recommended_gain``.
    """
    return best_damping(scheme) / positive(step, "step")


def best_damping(scheme: Scheme) -> float:
    """The z > 0 within the stability limit at which |R(-z)| is least.

    >>> from trajopt.integrate.tableaus import EULER, HEUN, RK4
    >>> [round(best_damping(scheme), 3) for scheme in (EULER, HEUN, RK4)]
    [1.0, 1.0, 1.596]
    """
    R = stability_function(scheme)
    z = np.linspace(0, stability_limit(scheme), 4001)
    coarse = z[int(np.argmin(np.abs(R(-z))))]
    width = z[1]
    found = scipy.optimize.minimize_scalar(
        lambda s: abs(R(-s)), bounds=(max(coarse - width, 0), coarse + width), method="bounded", options={"xatol": 1e-9}
    )
    return float(found.x)
