"""States that the cost wants to be near: measurements of a fit, a course to be tracked.

Where the cost is a convex quadratic function of boundary values and of values at given times
(``ph.at``), its minimum gives those of them that it determines; where an integrand is one of the
states of a phase without controls, its minimum at every time does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.statement.normal_form import NormalForm, PhaseForm

Array = NDArray[np.float64]

SINGULAR = 1e-9  # eigenvalues below this fraction of the largest determine nothing
TIMES = np.linspace(0.0, 1.0, 101)  # where an integrand is looked at


@dataclass(frozen=True, eq=False)
class Targets:
    """Of one phase: values that the cost wants, NaN where it wants none."""

    x0: Array
    xf: Array
    samples: Mapping[float, Array]  # by time, the states
    integrand: casadi.Function | None  # t -> curvature and slope at zero in the states

    def along(self, t0: float, tf: float) -> tuple[Array, Array]:
        """Times inside a phase (m,), and the states wanted there (m, nx)."""
        times = [t for t in self.samples if t0 < t < tf]
        values = [self.samples[t] for t in times]
        if self.integrand is not None:
            inner = t0 + TIMES[1:-1] * (tf - t0)
            wanted = np.array([_least(*self.integrand(t)) for t in inner])
            # a constant target is the set point of a regulator, which is no course
            wanted[:, ~(np.ptp(wanted, axis=0) > 0)] = np.nan
            times, values = [*times, *inner.tolist()], [*values, *wanted]
        order = np.argsort(times, kind="stable")
        return np.array(times)[order], np.array(values).reshape(-1, self.x0.size)[order]


def targets(form: NormalForm, parameters: Array) -> list[Targets]:
    """The targets of every phase."""
    samples = [sample.x for phase in form.phases for sample in phase.samples]
    ends = [part for phase in form.phases for part in (phase.ends.x0, phase.ends.xf)]
    wanted = _minimum(form, casadi.vertcat(*ends, *samples), parameters)
    sizes = [part.numel() for part in (*ends, *samples)]
    parts = np.split(wanted, np.cumsum(sizes)[:-1]) if sizes else []
    inside = iter(parts[len(ends) :])
    return [
        Targets(
            parts[2 * i],
            parts[2 * i + 1],
            {sample.time: next(inside) for sample in phase.samples},
            _integrand(form, phase, parameters),
        )
        for i, phase in enumerate(form.phases)
    ]


def _minimum(form: NormalForm, column: Any, parameters: Array) -> Array:
    """The values of a column at the minimum of the cost, with all else at zero; NaN for those that
    it does not determine.
    """
    nothing = np.full(column.numel(), np.nan)
    if not column.numel():
        return nothing
    used = np.array(casadi.which_depends(form.phi, column, 2, False), dtype=bool)
    if not used.any():
        return nothing
    places = np.flatnonzero(used).tolist()
    hessian, slope = casadi.hessian(form.phi, column)
    hessian, slope = hessian[places, places], slope[places]
    if casadi.depends_on(hessian, column):
        return nothing
    inputs = [form.endpoint_column, _samples(form), form.s, form.p]
    function = casadi.Function("targets", inputs, [hessian, slope])
    zeros = [np.zeros(part.numel()) for part in inputs[:3]]
    nothing[places] = _least(*function(*zeros, parameters))
    return nothing


def _samples(form: NormalForm) -> Any:
    return casadi.vertcat(*[sample.x for phase in form.phases for sample in phase.samples])


def _integrand(form: NormalForm, phase: PhaseForm, parameters: Array) -> casadi.Function | None:
    """Curvature and slope in the states of what the cost integrates, as a function of time; None
    where it is not quadratic in them, its target does not depend on time, or controls follow it:
    then it may be out of their reach, and a line is as good.
    """
    q = phase.ends.q
    if (
        phase.u.numel()
        or not q.numel()
        or not casadi.depends_on(form.phi, q)
        or not phase.x.numel()
    ):
        return None
    weights = casadi.gradient(form.phi, q)
    others = casadi.vertcat(form.endpoint_column, _samples(form), form.s)
    if casadi.depends_on(weights, others):
        return None
    weights = casadi.Function("weights", [form.p], [weights])(parameters)
    hessian, slope = casadi.hessian(casadi.dot(weights, phase.l), phase.x)
    if casadi.depends_on(hessian, casadi.vertcat(phase.x, phase.z, form.s)):
        return None
    if not casadi.depends_on(slope, phase.t):
        return None
    inputs = [phase.t, phase.x, phase.z, form.s, form.p]
    function = casadi.Function("target", inputs, [hessian, slope])
    t: Any = form.symbols.sym("t")
    zeros = [np.zeros(part.numel()) for part in inputs[1:-1]]
    arguments: list[Any] = [t, *zeros, parameters]
    return casadi.Function("target", [t], function.call(arguments))


def _least(hessian: casadi.DM, slope: casadi.DM) -> Array:
    """The minimum of a convex quadratic function, NaN in the directions that it does not
    determine.
    """
    H, g = np.asarray(hessian.full()), np.asarray(slope.full()).ravel()
    nothing = np.full(g.size, np.nan)
    if not (np.all(np.isfinite(H)) and np.all(np.isfinite(g))):
        return nothing
    curvature, directions = np.linalg.eigh(H)
    small = SINGULAR * np.abs(curvature).max(initial=0.0)
    if curvature.min(initial=0.0) < -small or not small > 0:
        return nothing
    known = curvature > small
    free = np.abs(directions[:, ~known]).max(axis=1, initial=0.0) > SINGULAR
    least = -directions[:, known] @ (directions[:, known].T @ g / curvature[known])
    return np.where(free, np.nan, least)
