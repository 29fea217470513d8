"""``fit``: estimate static variables and initial values of a model from a table of measurements."""

from __future__ import annotations

import copy
import csv
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import Count, Fraction, Natural, checked_arguments, named_methods
from trajopt.direct.collocation import Collocation
from trajopt.direct.tangents import Tangents
from trajopt.errors import FileError, UsageError, suggest
from trajopt.nlp.shifts import Shift
from trajopt.prepared.preparing import Prepared, prepare
from trajopt.prepared.sensitivity import session_of
from trajopt.solving.methods import solve
from trajopt.statement.labels import component_labels
from trajopt.statement.problem import Phase, Problem
from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]

MEASUREMENTS = "measurements"  # the parameter of the fitted problem that holds the data
HELD = 1e-9  # of the largest derivative: an estimate that the data move by less is at a limit
STARTS = 4  # varied starts: fits have local optima


@dataclass(frozen=True)
class Estimated:
    """The estimate of one number, with its standard deviation and its confidence interval."""

    name: str
    value: float
    deviation: float
    interval: tuple[float, float]
    remark: str = ""


@named_methods
@dataclass(frozen=True, eq=False)
class ModelFit:
    """A model fitted to measurements. Made by ``fit``; ``refit`` fits the same model to others."""

    solution: Solution
    estimates: Mapping[str, Estimated]
    covariance: Array  # in the order of ``estimates``
    residuals: Mapping[str, Array]  # model minus measurement, by column
    deviation: (
        float  # of the measurements, relative to the given deviations; estimated if not given
    )
    confidence: float
    _data: _Measurements
    _prepared: Prepared

    def __getitem__(self, name: str) -> Estimated:
        if name not in self.estimates:
            raise UsageError(
                f"the fit has no estimate '{name}'",
                expected=", ".join(self.estimates),
                hint=suggest(name, self.estimates),
            )
        return self.estimates[name]

    def __str__(self) -> str:
        lines = [f"{self.solution.problem}: {self.solution.status.value}"]
        for one in self.estimates.values():
            low, high = one.interval
            lines.append(
                f"  {one.name} = {one.value:.6g} +- {one.deviation:.2g}, "
                f"{100 * self.confidence:g} % from {low:.6g} to {high:.6g}"
                + (f" ({one.remark})" if one.remark else "")
            )
        return "\n".join(lines)

    @property
    def correlation(self) -> Array:
        """Correlations of the estimates; zero for those at a limit."""
        sizes = np.sqrt(np.diag(self.covariance))
        sizes = np.where(sizes > 0, sizes, 1.0)
        return np.asarray(self.covariance / np.outer(sizes, sizes))

    def refit(self, table: Any) -> ModelFit:
        """ModelFit the model to other measurements at the same times, from this solution."""
        data = self._data.others(table)
        solution = self._prepared.solve({MEASUREMENTS: data.stacked})
        return _fitted(solution, data, self._prepared, self.confidence)


@checked_arguments
def fit(
    problem: Problem,
    table: Any,
    deviations: float | Mapping[str, float] | None = None,
    outputs: Mapping[str, Any] | None = None,
    phase: str | None = None,
    confidence: Fraction = 0.95,
    method: Collocation | None = None,
    starts: Count = STARTS,
    seed: Natural = 0,
) -> ModelFit:
    """Estimate the static variables and free initial values of a model by least squares.

    Parameters
    ----------
    problem : Problem
        The model: dynamics, ``ocp.variable(...)`` for what is estimated, no cost. Start and end
        time are given numbers.
    table : mapping, pandas.DataFrame, or path of a CSV file
        Columns of measurements by name: times "t", and names of states or of ``outputs``. NaN
        stands for a value that was not measured.
    deviations : float or mapping, optional
        Standard deviations of the measurements, by column. Without them all columns have the same
        unknown one, which is estimated.
    outputs : mapping, optional
        Name -> expression in states and time, for columns that are not states.
    phase : str, optional
        The phase that was measured, where there are several.
    confidence : float
        Of the intervals.
    method : Collocation, optional
        Settings of collocation.
    starts, seed : int
        Number of initial guesses, as in ``solve``: fits have local optima.

    Returns
    -------
    ModelFit

    Examples
    --------
    >>> import numpy as np
    >>> from trajopt import Problem, fit
    >>> ocp = Problem("decay")
    >>> rate = ocp.variable("rate", lower=0, upper=10, guess=1)
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=2)
    >>> x = ph.state("x", start=1)
    >>> ph.dynamics({x: -rate * x})
    >>> times = np.linspace(0.1, 2, 20)
    >>> found = fit(ocp, {"t": times, "x": np.exp(-1.5 * times)})
    >>> round(found["rate"].value, 6)
    1.5
    """
    if problem.objective is not None:
        raise UsageError(
            f"fit: problem '{problem.name}' has a cost",
            expected="a model without ocp.minimize(...): the cost is the sum of squares",
        )
    own = copy.deepcopy(problem)
    measured = _phase(own, phase)
    if not own.variables and not _has_free_ends(measured):
        raise UsageError(
            f"fit: problem '{problem.name}' has nothing to estimate",
            got="given initial values, and no static variable",
            expected="ocp.variable(...) in the model, or a free initial value",
        )
    data = _measurements(own, measured, _columns(table), deviations, dict(outputs or {}))
    data.state(own, measured)
    solution = solve(own, method, starts=starts, seed=seed)
    prepared = prepare(own, solution if solution.success else None, method)
    return _fitted(solution, data, prepared, confidence)


@dataclass(frozen=True, eq=False)
class _Measurements:
    """The measurements of a phase, one after the other."""

    phase: Phase
    names: tuple[str, ...]  # of the columns
    expressions: Mapping[str, Any]
    models: dict[str, casadi.Function]
    times: Mapping[str, Array]  # of each column, without those not measured
    values: Mapping[str, Array]
    deviations: Mapping[str, float]
    known: bool  # the deviations are given

    @property
    def stacked(self) -> Array:
        return np.concatenate([self.values[name] for name in self.names])

    def weights(self) -> Array:
        """The standard deviation of each measurement, as far as it is known."""
        counts = [self.values[name].size for name in self.names]
        return np.repeat([self.deviations[name] for name in self.names], counts)

    def state(self, problem: Problem, phase: Phase) -> None:
        """Add the sum of squares as the cost, and the measurements as guess."""
        symbols = problem.parameter(MEASUREMENTS, self.stacked)
        numbers = itertools.count()
        cost: Any = 0
        start, end = _ends(phase)
        for name in self.names:
            expression = self.expressions[name]
            for time in self.times[name]:
                model = (
                    phase.initial(expression)
                    if time == start
                    else phase.final(expression)
                    if time == end
                    else phase.at(time, expression)
                )
                cost += ((model - symbols[next(numbers)]) / self.deviations[name]) ** 2
        problem.minimize(cost)
        for name in self.names:
            self.models[name] = _model(problem, phase, self.expressions[name])
        for d in phase.of_kind("state"):
            labels = [label for label in d.labels if label in self.names]
            if d.guess is None and len(labels) == d.size:
                curves = [(self.times[n], self.values[n]) for n in labels]
                d.guess = _interpolation(start, end, curves)

    def others(self, table: Any) -> _Measurements:
        columns = _columns(table)
        values = {}
        for name in self.names:
            if name not in columns:
                raise UsageError(
                    f"refit: no column '{name}'", got=list(columns), expected=list(self.names)
                )
            kept = np.isfinite(columns[name])
            if not np.array_equal(columns["t"][kept], self.times[name]):
                raise UsageError(
                    f"refit: column '{name}' was measured at other times",
                    hint="fit(...) makes another cost",
                )
            values[name] = columns[name][kept]
        return replace(self, values=values)


def _interpolation(start: float, end: float, curves: list[tuple[Array, Array]]) -> Any:
    def guess(tau: float) -> Array:
        return np.array([np.interp(start + tau * (end - start), t, y) for t, y in curves])

    return guess


def _phase(problem: Problem, name: str | None) -> Phase:
    if name is None and len(problem.phases) == 1:
        return next(iter(problem.phases.values()))
    if name not in problem.phases:
        raise UsageError(
            "fit: the phase that was measured",
            got=repr(name),
            expected=f"phase= one of {', '.join(problem.phases)}",
        )
    return problem.phases[name]


def _has_free_ends(phase: Phase) -> bool:
    return not all(d.start.fixed.all() for d in phase.of_kind("state"))


def _ends(phase: Phase) -> tuple[float, float]:
    start = 0.0 if phase.start_time is None else float(phase.start_time.lower[0])
    end = float("inf") if phase.end_time is None else float(phase.end_time.lower[0])
    return start, end


def _columns(table: Any) -> dict[str, Array]:
    """Columns by name, as numbers."""
    if isinstance(table, (str, Path)):
        table = _rows_by_name(table)
    try:
        columns = {str(name): np.asarray(table[name], dtype=float) for name in table}
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise UsageError(
            "fit: the table",
            got=type(table).__name__,
            expected="columns of numbers by name: a dictionary, a DataFrame or a CSV file",
        ) from error
    shapes = {column.shape for column in columns.values()}
    if "t" not in columns or len(shapes) != 1 or columns["t"].ndim != 1:
        raise UsageError(
            "fit: the table", got=", ".join(f"{n} {c.shape}" for n, c in columns.items()),
            expected="a column 't' of times, and others of the same length",
        )  # fmt: skip
    return columns


def _rows_by_name(path: str | Path) -> dict[str, list[Any]]:
    """Columns of a CSV file with a header; what is empty was not measured."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            f"cannot read the table '{path}'",
            got=getattr(error, "strerror", None) or str(error),
            expected="a CSV file with a header, as in t,x",
        ) from error
    names = [name.strip() for name in rows[0]] if rows else []
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for number, row in enumerate(rows[1:], 2):
        for i, name in enumerate(names):
            text = row[i].strip() if i < len(row) else ""
            try:
                columns[name].append(float(text or "nan"))
            except ValueError as error:
                raise FileError(
                    f"row {number} of the table '{path}': column '{name}'",
                    got=text,
                    expected="a number, or nothing where it was not measured",
                ) from error
    return columns


def _measurements(
    problem: Problem,
    phase: Phase,
    columns: Mapping[str, Array],
    deviations: float | Mapping[str, float] | None,
    outputs: dict[str, Any],
) -> _Measurements:
    expressions = {
        label: d.symbol[i]
        for d in phase.of_kind("state")
        for i, label in enumerate(component_labels(d.name, d.size, d.components))
    } | outputs
    names = tuple(name for name in columns if name != "t")
    for name in names:
        if name not in expressions:
            raise UsageError(
                f"fit: column '{name}' is no state of phase '{phase.name}' and no output",
                expected=", ".join(expressions),
                hint=suggest(name, expressions) or f"outputs={{'{name}': expression}}",
            )
    start, end = _ends(phase)
    times, values, sizes = {}, {}, {}
    for name in names:
        kept = np.isfinite(columns[name])
        times[name], values[name] = columns["t"][kept], columns[name][kept]
        outside = times[name][(times[name] < start) | (times[name] > end)]
        if outside.size or not times[name].size:
            raise UsageError(
                f"fit: the times of column '{name}'",
                got=outside[0] if outside.size else "none",
                expected=f"{start:g} to {end:g}, the phase",
            )
        given = deviations.get(name) if isinstance(deviations, Mapping) else deviations
        if given is not None and not given > 0:
            raise UsageError(f"fit: deviation of '{name}'", got=given, expected="above 0")
        if isinstance(deviations, Mapping) and given is None:
            raise UsageError(
                f"fit: column '{name}' has no deviation",
                got=", ".join(deviations),
                expected=", ".join(names),
            )
        sizes[name] = 1.0 if given is None else float(given)
    if not names:
        raise UsageError("fit: the table has no measurements", got="a column of times only")
    return _Measurements(
        phase, names, expressions, {}, times, values, sizes, deviations is not None
    )


def _fitted(
    solution: Solution, data: _Measurements, prepared: Prepared, confidence: float
) -> ModelFit:
    """The estimates of a solution.

    To first order the estimates move with the measurements by the derivatives of the solution; so
    their covariance is the sum of the products of these, times the variance of each measurement.
    """
    from scipy.stats import norm
    from scipy.stats import t as student

    solution.check()
    tangents = Tangents(session_of(solution))
    names, values, slopes = _derivatives(tangents, solution, data.stacked.size)
    slopes = slopes * data.weights()
    moved = np.abs(slopes).max(axis=1, initial=0.0)
    free = moved > HELD * max(float(moved.max(initial=0.0)), 1e-300)
    count = int(np.linalg.matrix_rank(slopes[free])) if free.any() else 0
    freedom = data.stacked.size - count
    squares = solution.objective
    if freedom < 1:
        raise UsageError(
            "fit: there are not more measurements than estimates",
            got=data.stacked.size, expected=f"more than {count}",
        )  # fmt: skip
    deviation = 1.0 if data.known else float(np.sqrt(squares / freedom))
    covariance = deviation**2 * slopes @ slopes.T
    quantile = norm if data.known else student(freedom)
    reach = float(quantile.ppf(0.5 + confidence / 2))
    estimates = {}
    for i, name in enumerate(names):
        size = float(np.sqrt(covariance[i, i]))
        remark = "" if free[i] else "at a limit, or not determined by the measurements"
        low, high = values[i] - reach * size, values[i] + reach * size
        estimates[name] = Estimated(name, float(values[i]), size, (low, high), remark)
    return ModelFit(
        solution, estimates, covariance, _residuals(solution, data), deviation, confidence, data,
        prepared,
    )  # fmt: skip


def _derivatives(
    tangents: Tangents, solution: Solution, count: int
) -> tuple[list[str], Array, Array]:
    """Names and values of the estimates, and their derivatives by the measurements."""
    form, layout = tangents.kept.stated, tangents.kept.layout
    first = 0
    for q in form.parameters:
        if q.name == MEASUREMENTS:
            break
        first += q.value.size
    zero = tangents.shift(form, form, np.zeros(form.p.numel()), 1.0)
    number = np.arange(layout.unknowns)
    names, places = [], []
    for static in form.statics:
        names += list(static.components)
        places += layout.statics(number)[static.rows].tolist()
    several = len(form.phases) > 1
    for ph in layout.phases:
        open_ones = np.flatnonzero(~ph.form.x_start.fixed)
        prefix = f"{ph.form.name}." if several else ""
        names += [f"{prefix}{ph.form.x_names[i]}(t0)" for i in open_ones]
        places += ph.states(number)[0][open_ones].tolist()
    sizes = tangents.kept.base.sizes
    columns = []
    for k in range(count):
        p = np.zeros_like(zero.parameters)
        p[first + k] = 1.0
        shift = Shift(p, zero.data, zero.lower, zero.upper, zero.g_lower, zero.g_upper)
        columns.append((tangents.tangent(shift).y * sizes)[places])
    return names, (tangents.point.y * sizes)[places], np.array(columns).T


def _residuals(solution: Solution, data: _Measurements) -> dict[str, Array]:
    """Model minus measurement, by column."""
    phase = solution.phases[data.phase.name]
    declared = data.phase.of_kind("state")
    statics = [*solution.variables.values(), *solution.parameters.values()]
    found = {}
    for name in data.names:
        times = data.times[name]
        states = [phase.states[d.name].evaluate(times).T for d in declared]
        model = np.asarray(data.models[name](times[None, :], *states, *statics)).ravel()
        found[name] = model - data.values[name]
    return found


def _model(problem: Problem, phase: Phase, expression: Any) -> casadi.Function:
    """The function (t, states, static variables, parameters) -> expression."""
    statics = [d.symbol for d in problem.variables.values()]
    parameters = [q.symbol for q in problem.parameters.values()]
    symbols = [phase.t, *(d.symbol for d in phase.of_kind("state")), *statics, *parameters]
    return casadi.Function("measured", symbols, [expression])
