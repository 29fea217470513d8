"""Whether the points of each interval see all that a model does in it.

Rates, integrands and path constraints are bounded over boxes around the motion, and compared with
the polynomial through their values at the quadrature points. Boxes that are not near it are halved;
where the model is far from it, breaks are added, so that every row sees what is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.certificate.branches import jumps_of_data
from trajopt.certificate.enclosures import Enclosure
from trajopt.certificate.sampled_solution import POINTS, SampledPhase, SampledSolution, evaluated
from trajopt.compiled.pointwise import Pointwise

Array = NDArray[np.float64]
APART = 0.1  # of the size of a row: as near the model is to its polynomial
CONSTRAINT = 0.1  # of a path constraint's size: the same for those, which are limits
OUTSIDE = 1e-9  # relative: what round-off adds to the bounds of a polynomial
PASSES = 18  # halvings of an interval
MOST_BOXES = 2000  # in a pass; those with the widest bounds
WORK = 20_000  # instructions of all passes
CONVERGED = 0.03  # of the size of a row: the last coefficients where a series converges
TAIL = 3  # so many coefficients
MOST_ROUGH = 40  # intervals that are halved in a round: more are a property of the answer
SHORTEST = 1e-5  # of the duration
SAMPLES = 4096  # of a phase, whose tape may have no bounds
INNER = 9  # breaks in a stretch that the points do not resolve


def _to_bernstein() -> Array:
    """Coefficients of the Bernstein form from values at the quadrature points."""
    n = POINTS.size - 1
    k = np.arange(n + 1)
    binomial = np.array([float(comb(n, int(i))) for i in k])
    return np.asarray(
        np.linalg.inv(binomial * POINTS[:, None] ** k * (1 - POINTS[:, None]) ** (n - k))
    )


BERNSTEIN = _to_bernstein()


@dataclass(frozen=True)
class Boxes:
    """Parts of intervals: their interval, and from where to where in it."""

    interval: NDArray[np.intp]
    start: Array
    end: Array

    def some(self, which: NDArray[np.intp]) -> Boxes:
        return Boxes(self.interval[which], self.start[which], self.end[which])

    def halved(self) -> Boxes:
        middle = 0.5 * (self.start + self.end)
        return Boxes(
            np.repeat(self.interval, 2),
            np.column_stack([self.start, middle]).ravel(),
            np.column_stack([middle, self.end]).ravel(),
        )


def resolved(whole: SampledSolution) -> SampledSolution:
    """The same with breaks where the points of an interval miss what the model does in it."""
    phases = []
    for ph in whole.phases:
        ph = replace(ph, further=np.concatenate([ph.further, jumps_of_data(ph)]))
        model = _Model.of(ph)
        if model is not None:
            for _ in range(PASSES):
                rough = model.rough(ph)
                if not 0 < rough.size <= MOST_ROUGH:
                    break
                ph = replace(ph, further=np.concatenate([ph.further, rough]))
            for one in (model, model.slopes(ph)):
                found = one.missed(ph) if one else np.zeros(0)
                ph = _with_breaks(ph, found)
        ph = _with_breaks(ph, _missed_by_samples(ph))
        phases.append(ph)
    return replace(whole, phases=tuple(phases))


@dataclass(frozen=True)
class _Model:
    """Rates, integrands and path constraints of a phase, and their bounds."""

    enclosure: Enclosure
    function: Pointwise
    passes: int

    least: float = 0.0  # what counts in every row

    @staticmethod
    def of(ph: SampledPhase) -> _Model | None:
        form = ph.form
        return _Model.of_rows(ph, casadi.vertcat(form.f, form.l, form.c))

    @staticmethod
    def of_rows(ph: SampledPhase, expression: Any, least: float = 0.0) -> _Model | None:
        """None where the tape cannot be read, is too long, or has no values."""
        form, rows = ph.form, casadi.densify(expression)
        symbols = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
        try:
            enclosure = Enclosure(rows, symbols)
        except RuntimeError:
            return None
        passes = min(PASSES, WORK // max(len(enclosure.steps), 1))
        function = Pointwise(casadi.Function("model", symbols, [rows]))
        found = _Model(enclosure, function, passes, least)
        return found if passes and np.isfinite(found.values(ph)).all() else None

    def slopes(self, ph: SampledPhase) -> _Model | None:
        """First and second derivatives of rates and integrands, in which a model may do what they
        do not show along this motion: the power of a control that is zero, say.

        All rows are added with different weights, and so are the first derivatives for the second:
        what is brief in one of them is so in the sum.
        """
        form, size = ph.form, self.sizes(ph, self.values(ph))
        rows = casadi.vertcat(form.f, form.l)
        variables = [v for v in (form.x, form.z, form.u) if v.numel()]
        if not variables or not rows.numel():
            return None
        units = casadi.DM(np.concatenate([ph.sizes, ph.measure.z, ph.spans]))
        total = casadi.dot(casadi.DM(_weights(rows.numel()) / size[: rows.numel()]), rows)
        first = units * casadi.vertcat(*[casadi.gradient(total, v) for v in variables])
        mixed = casadi.dot(casadi.DM(_weights(units.numel())), first)
        second = units * casadi.vertcat(*[casadi.gradient(mixed, v) for v in variables])
        return _Model.of_rows(ph, casadi.vertcat(first, second), 1.0)

    def values(self, ph: SampledPhase) -> Array:
        return evaluated(self.function, *ph.sampled, ph.s, ph.p)

    def sizes(self, ph: SampledPhase, values: Array) -> Array:
        """What counts in each row."""
        if self.least:
            return np.asarray(np.maximum(np.median(np.abs(values), axis=1), self.least))
        return _sizes(ph, values)

    def rough(self, ph: SampledPhase) -> Array:
        """The middles of intervals in which the polynomials do not converge."""
        values = self.values(ph)
        table = values.reshape(-1, ph.widths.size, POINTS.size)
        series = np.abs(table @ _to_series().T)[:, :, -TAIL:].max(axis=2)
        over = (series > CONVERGED * self.sizes(ph, values)[:, None]).any(axis=0)
        over &= ph.widths > SHORTEST * ph.measure.time
        return np.asarray((ph.starts + 0.5 * ph.widths)[over])

    def missed(self, ph: SampledPhase) -> Array:
        """Breaks about what the points of the intervals do not see."""
        _, x, z, u = ph.sampled
        values = self.values(ph)
        size, enclosure, passes = self.sizes(ph, values), self.enclosure, self.passes
        limit = APART * size[:, None]
        count = ph.widths.size
        table = np.vstack([x, z, u, values]).reshape(-1, count, POINTS.size)
        boxes = Boxes(np.arange(count), np.zeros(count), np.ones(count))
        missed: list[Boxes] = []
        singular = np.zeros(0, dtype=np.intp)
        for _ in range(passes):
            low, high = ranges(table, boxes)
            cuts = np.cumsum([x.shape[0], z.shape[0], u.shape[0]])
            lower, upper = np.split(low, cuts), np.split(high, cuts)
            begin = ph.starts[boxes.interval] + boxes.start * ph.widths[boxes.interval]
            end = ph.starts[boxes.interval] + boxes.end * ph.widths[boxes.interval]
            fixed = [np.repeat(v[:, None], begin.size, axis=1) for v in (ph.s, ph.p)]
            bounds = enclosure(
                [begin[None, :], *lower[:3], *fixed], [end[None, :], *upper[:3], *fixed]
            )
            over = np.maximum(bounds[1] - upper[3] - limit, lower[3] - limit - bounds[0])
            apart = (bounds[0] > upper[3] + limit) | (bounds[1] < lower[3] - limit)
            missed.append(boxes.some(np.flatnonzero(apart.any(axis=0))))
            excess = (over / limit).max(axis=0, initial=-np.inf)
            open_ = np.flatnonzero((excess > 0) & ~apart.any(axis=0))
            if open_.size > MOST_BOXES // 2:
                open_ = np.sort(open_[np.argsort(-excess[open_], kind="stable")[: MOST_BOXES // 2]])
            unbounded = ~(np.isfinite(bounds[0]) & np.isfinite(bounds[1])).all(axis=0)
            singular = np.unique(boxes.interval[unbounded])
            if not open_.size:
                break
            boxes = boxes.some(open_).halved()
        if self.least:
            # A derivative without bounds is that of a root at its end, say, and no brief event.
            missed = [one.some(np.flatnonzero(~np.isin(one.interval, singular))) for one in missed]
        return _breaks(ph, missed)


def _sizes(ph: SampledPhase, values: Array) -> Array:
    """What counts of rates, integrands and path constraints."""
    nx, nl = ph.form.x.numel(), ph.form.l.numel()
    size = np.median(np.abs(values), axis=1)
    size[:nx] = np.maximum(size[:nx], ph.sizes / ph.measure.time)
    size[nx + nl :] = CONSTRAINT * np.maximum(size[nx + nl :], ph.measure.c)
    largest = np.abs(values).max(axis=1, initial=0.0)
    return np.where(size > 0, size, np.where(largest > 0, largest, 1.0))


def _with_breaks(ph: SampledPhase, breaks: Array) -> SampledPhase:
    return replace(ph, further=np.concatenate([ph.further, breaks])) if breaks.size else ph


def _missed_by_samples(ph: SampledPhase) -> Array:
    """Breaks where a model is far from its polynomials at many times: for tapes that have no
    bounds, as those of tables. What is shorter than the time between them is not seen.
    """
    form, count = ph.form, ph.widths.size
    rows = casadi.densify(casadi.vertcat(form.f, form.l, form.c))
    symbols = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    function = Pointwise(casadi.Function("model", symbols, [rows]))
    values = evaluated(function, *ph.sampled, ph.s, ph.p)
    if not np.isfinite(values).all():
        return np.zeros(0)
    each = -(-SAMPLES // count)
    places = (np.arange(each) + 0.5) / each
    times = ph.inside(np.tile(places, (count, 1)), np.arange(count)).ravel()
    found = evaluated(function, times[None, :], ph.x(times), ph.z(times), ph.u(times), ph.s, ph.p)
    basis = np.polynomial.chebyshev.chebvander(2 * places - 1, POINTS.size - 1) @ _to_series()
    smooth = values.reshape(-1, count, POINTS.size) @ basis.T
    size = _sizes(ph, values)[:, None, None]
    far = np.abs(found.reshape(smooth.shape) - smooth) > APART * size
    interval, place = np.nonzero(far.any(axis=0))
    start, end = (place - 1) / each, (place + 2) / each
    return _breaks(ph, [Boxes(interval, np.maximum(start, 0.0), np.minimum(end, 1.0))])


def _weights(count: int) -> Array:
    """Different weights between one and two."""
    return np.asarray(1 + np.modf(np.arange(1, count + 1) * 0.5 * (np.sqrt(5) - 1))[0])


def _to_series() -> Array:
    """Chebyshev coefficients from values at the quadrature points."""
    basis = np.polynomial.chebyshev.chebvander(2 * POINTS - 1, POINTS.size - 1)
    return np.asarray(np.linalg.inv(basis))


def ranges(table: Array, boxes: Boxes) -> tuple[Array, Array]:
    """Bounds of polynomials (rows, intervals, points) over boxes, by their Bernstein form."""
    count = POINTS.size
    to_series = _to_series()
    places = boxes.start[:, None] + (boxes.end - boxes.start)[:, None] * POINTS
    basis = np.polynomial.chebyshev.chebvander(2 * places - 1, count - 1) @ to_series
    values = np.einsum("npk,rnk->rnp", basis, table[:, boxes.interval])
    coefficients = values @ BERNSTEIN.T
    margin = OUTSIDE * np.abs(coefficients).max(axis=2, initial=0.0)
    return coefficients.min(axis=2) - margin, coefficients.max(axis=2) + margin


def _breaks(ph: SampledPhase, missed: list[Boxes]) -> Array:
    """A few times in each run of neighbouring boxes."""
    k = np.concatenate([one.interval for one in missed])
    if not k.size:
        return np.zeros(0)
    start = ph.starts[k] + np.concatenate([one.start for one in missed]) * ph.widths[k]
    end = ph.starts[k] + np.concatenate([one.end for one in missed]) * ph.widths[k]
    order = np.argsort(start)
    start, end = start[order], np.maximum.accumulate(end[order])
    new = np.append(True, start[1:] > end[:-1] + 1e-12 * ph.measure.time)
    first = np.flatnonzero(new)
    last = np.append(first[1:], start.size) - 1
    found = [np.linspace(start[a], end[b], INNER) for a, b in zip(first, last, strict=True)]
    return np.unique(np.concatenate(found))
