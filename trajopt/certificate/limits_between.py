"""Whether bounds and path constraints hold between all points, not only where they are sampled.

States and controls are polynomials between breaks, bounded over boxes of time by their Bernstein
form. Path constraints are bounded by the natural extension, and by the mean-value form about the
middle of a box, in which their time derivative is bounded: Moore, Interval Analysis, Prentice-Hall
1966. Boxes that are not within the tolerance are halved. Round-off is left to the tolerance.
"""

from __future__ import annotations

from dataclasses import replace

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.enclosures import Enclosure
from trajopt.certificate.resolution import Boxes, ranges
from trajopt.certificate.sampled_solution import POINTS, SampledPhase, columns, evaluated
from trajopt.compiled.pointwise import Pointwise
from trajopt.statement.normal_form import stacked_bounds
from trajopt.trajectory.curve import Curve

Array = NDArray[np.float64]
HALVINGS = 24
WORK = 5e6  # instructions times boxes
# what jumps has no mean value; its derivative is zero
JUMPS = {
    casadi.OP_SIGN,
    casadi.OP_FLOOR,
    casadi.OP_CEIL,
    casadi.OP_LT,
    casadi.OP_LE,
    casadi.OP_EQ,
    casadi.OP_NE,
    casadi.OP_NOT,
    casadi.OP_IF_ELSE_ZERO,
}


def proved(ph: SampledPhase, tolerance: float) -> bool:
    """Whether all bounds and path constraints of a phase hold, up to the tolerance, at all times.

    False where that is not shown within the work that is allowed.
    """
    curves = (*ph._states, *ph._algebraics, *ph._controls)
    if any(nodes.size > POINTS.size for curve in curves for nodes in curve.nodes):
        return False
    try:
        constraints = _Constraints(ph)
    except RuntimeError:  # a tape that cannot be read
        return False
    form, size = ph.form, ph.measure
    bound = stacked_bounds([form.x_bound, form.z_bound, form.u_bound, form.c_bound])
    slack = tolerance * np.concatenate([size.x, size.z, size.u, size.c])
    lower, upper = (bound.lower - slack)[:, None], (bound.upper + slack)[:, None]
    plain = tuple(replace(curve, lower=None, upper=None) for curve in curves)
    table = columns(plain, ph.times.ravel()).reshape(-1, ph.widths.size, POINTS.size)
    sides = [_clips(curve) for curve in curves]
    clip = tuple(np.concatenate([np.zeros(0), *part]) for part in zip(*sides, strict=True))
    count = ph.widths.size
    boxes, work = Boxes(np.arange(count), np.zeros(count), np.ones(count)), 0.0
    for _ in range(HALVINGS):
        work += boxes.interval.size * constraints.instructions
        if work > WORK:
            return False
        ph.deadline.check()
        low, high, slope = _over(ph, table, boxes, clip)
        path_low, path_high = constraints(ph, boxes, low, high, slope)
        low, high = np.vstack([low, path_low]), np.vstack([high, path_high])
        open_ = np.flatnonzero(~((low >= lower) & (high <= upper)).all(axis=0))
        if not open_.size:
            return True
        boxes = boxes.some(open_).halved()
    return False


def _clips(curve: Curve) -> tuple[Array, Array]:
    """Between which values a curve is clipped."""
    none = np.full(curve.size, np.inf)
    if not curve.clips:
        return -none, none
    return (
        -none if curve.lower is None else np.broadcast_to(curve.lower, none.shape),
        none if curve.upper is None else np.broadcast_to(curve.upper, none.shape),
    )


def _over(
    ph: SampledPhase, table: Array, boxes: Boxes, clip: tuple[Array, ...]
) -> tuple[Array, Array, tuple[Array, Array]]:
    """Bounds of the curves over boxes, and of their slopes by time."""
    low, high = ranges(table, boxes)
    nodes = np.polynomial.chebyshev.chebvander(2 * POINTS - 1, POINTS.size - 1)
    by_place = np.polynomial.chebyshev.chebder(np.eye(POINTS.size), axis=0)
    derivative = 2 * nodes[:, :-1] @ by_place @ np.linalg.inv(nodes)
    slopes = table @ derivative.T / ph.widths[None, :, None]
    slope_low, slope_high = ranges(slopes, boxes)
    if not clip:
        return low, high, (slope_low, slope_high)
    least, most = clip[0][:, None], clip[1][:, None]
    clipped = (low < least) | (high > most)
    slope_low = np.where(clipped, np.minimum(slope_low, 0.0), slope_low)
    slope_high = np.where(clipped, np.maximum(slope_high, 0.0), slope_high)
    return np.clip(low, least, most), np.clip(high, least, most), (slope_low, slope_high)


class _Constraints:
    """Bounds of the path constraints of a phase over boxes of time."""

    def __init__(self, ph: SampledPhase) -> None:
        form = ph.form
        rows = casadi.densify(form.c)
        moving = [form.t, form.x, form.z, form.u]
        fixed = [ph.symbols_s, ph.symbols_p]
        self.rows = rows.numel()
        self.natural = Enclosure(rows, [*moving, *fixed])
        self.values = Pointwise(casadi.Function("c", [*moving, *fixed], [rows]))
        rates = [type(rows).sym("rate", part.numel()) for part in moving]
        change = sum(
            (casadi.jtimes(rows, v, w) for v, w in zip(moving, rates, strict=True) if v.numel()),
            type(rows).zeros(self.rows),
        )
        self.change = Enclosure(change, [*moving, *fixed, *rates])
        self.jumps = any(operation in JUMPS for operation, *_ in self.natural.steps)
        self.instructions = len(self.natural.steps) + len(self.change.steps) + 1

    def __call__(
        self,
        ph: SampledPhase,
        boxes: Boxes,
        low: Array,
        high: Array,
        slope: tuple[Array, Array],
    ) -> tuple[Array, Array]:
        if not self.rows:
            return np.zeros((0, boxes.interval.size)), np.zeros((0, boxes.interval.size))
        cuts = np.cumsum([ph.form.x.numel(), ph.form.z.numel()])
        begin, width = ph.starts[boxes.interval], ph.widths[boxes.interval]
        times = begin + boxes.start * width, begin + boxes.end * width
        fixed = [np.repeat(v[:, None], times[0].size, axis=1) for v in (ph.s, ph.p)]
        lower, upper = (
            [t[None, :], *np.split(side, cuts), *fixed]
            for t, side in zip(times, (low, high), strict=True)
        )
        least, most = self.natural(lower, upper)
        if self.jumps:
            return least, most
        one = np.ones((1, times[0].size))
        slopes = [[one, *np.split(side, cuts)] for side in slope]
        change = self.change([*lower, *slopes[0]], [*upper, *slopes[1]])
        middle = ph.inside(0.5 * (boxes.start + boxes.end)[:, None], boxes.interval).ravel()
        at = middle[None, :], ph.x(middle), ph.z(middle), ph.u(middle)
        centre = evaluated(self.values, *at, ph.s, ph.p)
        reach = 0.5 * (times[1] - times[0]) * np.maximum(np.abs(change[0]), np.abs(change[1]))
        with np.errstate(invalid="ignore"):
            return np.fmax(least, centre - reach), np.fmin(most, centre + reach)
