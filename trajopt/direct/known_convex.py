"""Problems that are known to be convex: of one optimum, whatever the start.

Rates, path constraints and conditions are affine, times are given, and the cost is affine or a
convex quadratic integral.
"""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.statement.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]

ROUND_OFF = float(np.sqrt(np.finfo(float).eps))
TIMES = 9  # within a phase, at which the curvature of a running cost is examined


def known_convex(form: NormalForm, parameters: Array) -> bool:
    """True if every local optimum of a problem is its least cost."""
    ends = casadi.vertcat(form.endpoint_column, form.s)
    outer = casadi.vertcat(form.phi, form.b)
    if form.sampled or _bends(outer, ends) or not all(map(_times_given, form.phases)):
        return False
    slope = casadi.Function(
        "slope",
        [form.endpoint_column, form.s, form.p],
        [casadi.densify(casadi.gradient(form.phi, phase.ends.q)) for phase in form.phases],
    )
    zero = [np.zeros(form.endpoint_column.numel()), np.zeros(form.s.numel())]
    weights = slope.call([*zero, parameters])
    return all(
        _convex_phase(form, phase, np.asarray(weight).ravel(), parameters)
        for phase, weight in zip(form.phases, weights, strict=True)
    )


def _times_given(phase: PhaseForm) -> bool:
    return bool(phase.start_time.fixed[0] and phase.end_time.fixed[0])


def _bends(rows: Any, symbols: Any) -> bool:
    """True if a row is not affine in the symbols."""
    return any(casadi.which_depends(rows, symbols, 2, True))


def _convex_phase(form: NormalForm, phase: PhaseForm, weights: Array, parameters: Array) -> bool:
    w = casadi.vertcat(phase.x, phase.z, phase.u, form.s)
    if _bends(casadi.vertcat(phase.f, phase.g, phase.c), w):
        return False
    cost = casadi.dot(phase.l, casadi.DM(weights)) if weights.size else casadi.DM(0)
    # an integral may be in a condition, too, where it has to be affine
    required = [j for j in range(weights.size) if casadi.depends_on(form.b, phase.ends.q[j])]
    if any(_bends(phase.l[j], w) for j in required):
        return False
    if not _bends(cost, w):
        return True
    if not casadi.is_quadratic(cost, w):
        return False
    curvature = casadi.densify(casadi.hessian(cost, w)[0])
    symbols = [phase.t, phase.x, phase.z, phase.u, form.s, form.p]
    at = casadi.Function("curvature", symbols, [curvature])
    first, last = float(phase.start_time.lower[0]), float(phase.end_time.lower[0])
    zero = [np.zeros(symbol.numel()) for symbol in symbols[1:-1]]
    for t in np.linspace(first, last, TIMES):
        values = np.linalg.eigvalsh(np.asarray(at(t, *zero, parameters)))
        if not np.all(np.isfinite(values)) or values[0] < -ROUND_OFF * np.abs(values).max():
            return False
    return True
