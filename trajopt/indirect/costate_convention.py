"""Costates on state-constrained arcs: from the convention of a direct method to that of the flow.

A direct method adjoins the constraint S itself: its costate obeys costate' = -H_x - eta S_x with a
measure eta. The flow adjoins the last derivative S^(q). Both agree after the arc, and on it (Bryson
& Ho, 3.11; Hartl, Sethi & Vickson 1995, section 6)

    flow's costate = costate - sum_j M_(j+1) grad S^(j),  j < q,

where M_1(t) is the measure from t to the end of the arc and M_(j+1) the integral of M_j. The
measure is what the costate of the guess lacks of its own equation. There are only quadratures here,
so that errors do not grow; the flow's costate integrated back over the arc is unstable.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from trajopt.indirect.control_law import ArcLaw
from trajopt.indirect.settings import READING
from trajopt.trajectory.curve import Curve

if TYPE_CHECKING:
    from trajopt.indirect.start import StartArc

Array = NDArray[np.float64]


def flow_costate(arc: StartArc, law: ArcLaw, fixed: tuple[Array, ...]) -> Curve:
    """The costate of the flow along an arc of a guess."""
    ham, constraints = law.hamiltonian, law.hamiltonian.constraints
    t = _quadrature_points(arc)
    at = _Along(arc, law, fixed)
    held = [constraints[i] for i, _ in arc.mode.active]
    lacking = _adjoint_residual(at, t)
    # Multipliers of mixed constraints and of algebraic equations act in the same equation; they are
    # told apart and left out.
    acting = [c.expression for c in held] + (
        casadi.vertsplit(ham.phase.g) if ham.phase.g.numel() else []
    )
    middle = 0.5 * (t[1:] + t[:-1])
    # (points, states, constraints)
    normals = np.stack([at(casadi.gradient(e, ham.phase.x), middle) for e in acting], axis=2)
    shares = np.stack(
        [np.linalg.lstsq(n, r, rcond=None)[0] for n, r in zip(normals, lacking, strict=True)]
    )
    costate = arc.costate(t)
    for row, constraint in enumerate(held):
        measure = _reverse_cumulative_sum(shares[:, row])
        for derivative in constraint.derivatives[: constraint.order or 0]:
            costate = costate - measure[:, None] * at(casadi.gradient(derivative, ham.phase.x), t)
            measure = _reverse_cumulative_sum(0.5 * (measure[1:] + measure[:-1]) * np.diff(t))
    inside = t <= arc.end
    times = t[inside]
    nodes = np.linspace(0.0, 1.0, 4)  # of the cubic polynomials of the spline
    values = CubicSpline(times, costate[inside])(times[:-1, None] + np.diff(times)[:, None] * nodes)
    return Curve.through(times, nodes, values)


class _Along:
    """Expressions of a phase evaluated along an arc of a guess."""

    def __init__(self, arc: StartArc, law: ArcLaw, fixed: tuple[Array, ...]) -> None:
        self.arc, self.ham, self.fixed = arc, law.hamiltonian, fixed

    def __call__(self, expression: Any, t: Array) -> Array:
        ham, ph, arc = self.ham, self.ham.phase, self.arc
        symbols = [ph.t, ph.x, ham.costate, ph.u, ph.z, ham.weight, ham.s, ham.p]
        function = casadi.Function("along", symbols, [casadi.densify(expression)])
        found = function(
            t[None, :], arc.x(t).T, arc.costate(t).T, arc.u(t).T, arc.z(t).T, *self.fixed
        )
        return np.broadcast_to(np.asarray(found.full()).T, (t.size, expression.numel()))


def _quadrature_points(arc: StartArc) -> Array:
    """Points of the arc, and on to the next knot of the guess: its costate may jump there instead
    of where the arc ends.
    """
    knots = arc.trajectory.breaks
    later = knots[knots > arc.end]
    last = float(later[0]) if later.size else arc.end
    inner = knots[(knots > arc.start) & (knots < last)]
    marks = np.unique(np.concatenate([arc.times(np.array([0.0, 1.0])), inner, [last]]))
    return np.unique(
        np.concatenate([np.linspace(a, b, READING.points + 1) for a, b in pairwise(marks)])
    )


def _adjoint_residual(at: _Along, t: Array) -> Array:
    """(steps, states): what the costate of the guess lacks of its own equation, over each step."""
    middle = 0.5 * (t[1:] + t[:-1])
    slope = at(casadi.gradient(at.ham.H, at.ham.phase.x), middle)
    return np.asarray(-np.diff(at.arc.costate(t), axis=0) - np.diff(t)[:, None] * slope)


def _reverse_cumulative_sum(pieces: Array) -> Array:
    """Sums of pieces from each point to the last."""
    return np.concatenate([np.cumsum(pieces[::-1])[::-1], [0.0]])
