"""A second opinion on every problem of the suite that does not use trajopt.

    python tests/benchmarks/suite/independent.py NAME [--scheme gauss|simpson]
        [--intervals 50 100 200] [--starts 5] [--moving]

The module takes the place of ``trajopt`` while the statements are read. It records them and
transcribes them on uniform meshes: Gauss-Legendre collocation with three points and controls that
are linear in each interval, or the Hermite-Simpson scheme (Kelly 2017). Linear controls within
bounds are feasible everywhere; ``--points`` frees them at each point. With ``--moving`` the widths
of the intervals are unknowns too (Cuthrell & Biegler 1987), so that switching times lie at ends of
intervals. ``--refine`` divides the intervals at which limits become active or a control jumps.
Several random starts are solved on the first mesh, with fixed widths; the best answer is the start
on the next. IPOPT solves the programs.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

INF = math.inf
LEAST, LARGEST = 0.1, 2.5  # widths of a moving interval, relative to that of the mesh
ACTIVE = 1e-5  # distance from a limit, relative to its size, below which it is active
NODES = {"gauss": ca.collocation_points(3, "legendre"), "simpson": [0.0, 0.5, 1.0]}


class SXSymbol(ca.SX):
    def __hash__(self) -> int:
        return id(self)


class MXSymbol(ca.MX):
    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True)
class free:
    """The statement's open value between bounds."""

    lower: Any = -INF
    upper: Any = INF
    guess: Any = None


def table(*grids: Any, values: Any, name: str = "table") -> Any:
    """A cubic spline through values, continued straight beyond its edges."""
    axes = [np.asarray(grid, float) for grid in grids]
    spline = ca.interpolant(
        name,
        "bspline",
        [axis.tolist() for axis in axes],
        np.asarray(values, float).ravel(order="F"),
    )
    point = ca.MX.sym("point", len(axes))
    slope = ca.Function("slope", [point], [ca.jacobian(spline(point), point)])

    def function(*arguments: Any) -> Any:
        at = ca.vertcat(*arguments)
        inside = ca.fmin(ca.fmax(at, [axis[0] for axis in axes]), [axis[-1] for axis in axes])
        return spline(inside) + slope(inside) @ (at - inside)

    return function


def column(value: Any, size: int, default: float) -> np.ndarray:
    """A limit of every component; None, also in a list, is the default."""
    given = np.broadcast_to(np.asarray(np.nan if value is None else value, float), (size,))
    return np.where(np.isnan(given), default, given)


@dataclass
class Variable:
    symbol: Any
    size: int
    lower: np.ndarray
    upper: np.ndarray
    first: tuple[np.ndarray, np.ndarray]
    last: tuple[np.ndarray, np.ndarray]


def ends(value: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(value, free):
        return column(value.lower, size, -INF), column(value.upper, size, INF)
    return column(value, size, -INF), column(value, size, INF)


@dataclass
class Rows:
    expression: Any
    lower: Any
    upper: Any


def limits(expression: Any, lower: Any, upper: Any, equals: Any) -> Rows:
    if equals is not None:
        lower = upper = equals
    size = expression.shape[0]
    return Rows(expression, column(lower, size, -INF), column(upper, size, INF))


class Phase:
    """Records the calls of a statement."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.named = SXSymbol if kind is ca.SX else MXSymbol
        self.states: list[Variable] = []
        self.controls: list[Variable] = []
        self.rates: dict[int, Any] = {}
        self.paths: list[Rows] = []
        self.integrands: list[Any] = []
        self.integrals: list[Any] = []
        self.spans: list[Any] = [None, None]
        self.t, self.t0, self.tf = kind.sym("t"), kind.sym("t0"), kind.sym("tf")
        self.at_ends: list[tuple[Any, Any]] = []

    def time(self, start: Any = None, end: Any = None, unit: str = "s") -> Any:
        self.spans = [ends(start, 1), ends(end, 1)]
        return self.t

    def state(
        self,
        name: str,
        size: int = 1,
        start: Any = None,
        end: Any = None,
        lower: Any = None,
        upper: Any = None,
        **_: Any,
    ):
        symbol = self.named(self.kind.sym(name, size))
        box = column(lower, size, -INF), column(upper, size, INF)
        self.states.append(Variable(symbol, size, *box, ends(start, size), ends(end, size)))
        self.at_ends.append((self.kind.sym(name + "_0", size), self.kind.sym(name + "_f", size)))
        return symbol

    def control(
        self, name: str, size: int = 1, lower: Any = None, upper: Any = None, **_: Any
    ) -> Any:
        symbol = self.named(self.kind.sym(name, size))
        box = column(lower, size, -INF), column(upper, size, INF)
        self.controls.append(Variable(symbol, size, *box, ends(None, size), ends(None, size)))
        return symbol

    algebraic = control

    def dynamics(self, rates: dict[Any, Any]) -> None:
        for symbol, rate in rates.items():
            self.rates[id(symbol)] = ca.vertcat(*rate) if isinstance(rate, (list, tuple)) else rate

    def path(
        self,
        expression: Any,
        lower: Any = None,
        upper: Any = None,
        equals: Any = None,
        name: str = "",
    ) -> None:
        self.paths.append(limits(expression, lower, upper, equals))

    def require(self, expression: Any, name: str = "") -> None:
        self.paths.append(limits(expression, None, None, 0))

    def _at(self, expression: Any, end: int) -> Any:
        if not isinstance(expression, (ca.SX, ca.MX)):
            return expression
        old = [*(v.symbol for v in self.states), self.t]
        new = [*(pair[end] for pair in self.at_ends), (self.t0, self.tf)[end]]
        return ca.substitute([expression], old, new)[0]

    def initial(self, expression: Any) -> Any:
        return self._at(expression, 0)

    def final(self, expression: Any) -> Any:
        return self._at(expression, 1)

    def integral(self, expression: Any) -> Any:
        self.integrands.append(self.kind(expression))
        self.integrals.append(self.kind.sym("q"))
        return self.integrals[-1]


class Problem:
    """Records the calls of a statement."""

    def __init__(self, name: str, symbols: Any = ca.SX) -> None:
        self.name, self.kind = name, symbols
        self.phases: dict[str, Phase] = {}
        self.conditions: list[Rows] = []
        self.variables: list[Variable] = []
        self.objective: Any = None
        self.sign = 1

    def phase(self, name: str = "main") -> Phase:
        self.phases[name] = Phase(self.kind)
        return self.phases[name]

    def parameter(self, name: str, value: Any, unit: str = "") -> Any:
        return value

    def variable(
        self, name: str, size: int = 1, lower: Any = None, upper: Any = None, **_: Any
    ) -> Any:
        symbol = self.kind.sym(name, size)
        box = column(lower, size, -INF), column(upper, size, INF)
        self.variables.append(Variable(symbol, size, *box, ends(None, size), ends(None, size)))
        return symbol

    def connect(self, before: Phase, after: Phase, states: Any = None, time: bool = True) -> None:
        for v, (_, last) in zip(before.states, before.at_ends, strict=True):
            for w, (first, _) in zip(after.states, after.at_ends, strict=True):
                if v.symbol[0].name() == w.symbol[0].name() and (
                    states is None or v.symbol[0].name() in states
                ):
                    self.require(last - first, equals=0)
        if time:
            self.require(before.tf - after.t0, equals=0)

    def require(
        self,
        expression: Any,
        lower: Any = None,
        upper: Any = None,
        equals: Any = None,
        name: str = "",
    ) -> None:
        self.conditions.append(limits(expression, lower, upper, equals))

    def minimize(self, expression: Any) -> None:
        self.objective = expression

    def maximize(self, expression: Any) -> None:
        self.objective, self.sign = -expression, -1


def stack(kind: Any, items: list[Any]) -> Any:
    return ca.vertcat(*items) if items else kind(0, 1)


@dataclass
class Model:
    """Functions of one phase: x' = f(t, x, u, s), limits, integrands, boxes."""

    rates: ca.Function
    rows: ca.Function
    integrands: ca.Function
    row_limits: tuple[np.ndarray, np.ndarray]
    x_box: tuple[np.ndarray, np.ndarray]
    u_box: tuple[np.ndarray, np.ndarray]
    x_scale: np.ndarray


def joined(variables: list[Variable], which: str) -> np.ndarray:
    parts = [getattr(v, which) for v in variables]
    return np.concatenate(parts) if parts else np.zeros(0)


def model_of(problem: Problem, phase: Phase) -> Model:
    kind = problem.kind
    x = stack(kind, [v.symbol for v in phase.states])
    u = stack(kind, [v.symbol for v in phase.controls])
    s = stack(kind, [v.symbol for v in problem.variables])
    inputs = [phase.t, x, u, s]
    rates = stack(kind, [phase.rates[id(v.symbol)] for v in phase.states])
    rows = [row.expression for row in phase.paths]
    low = [row.lower for row in phase.paths]
    high = [row.upper for row in phase.paths]
    return Model(
        ca.Function("f", inputs, [rates]),
        ca.Function("c", inputs, [stack(kind, rows)]),
        ca.Function("l", inputs, [stack(kind, phase.integrands)]),
        (
            np.concatenate(low) if low else np.zeros(0),
            np.concatenate(high) if high else np.zeros(0),
        ),
        (joined(phase.states, "lower"), joined(phase.states, "upper")),
        (joined(phase.controls, "lower"), joined(phase.controls, "upper")),
        np.concatenate([_scale(v) for v in phase.states]),
    )


def _scale(v: Variable) -> np.ndarray:
    """The size of a state: the largest of its finite bounds and boundary values, or 1."""
    sizes = np.abs([v.lower, v.upper, *v.first, *v.last])
    largest = np.max(np.where(np.isfinite(sizes), sizes, 0), axis=0)
    return np.where(largest > 0, largest, 1.0)


@dataclass
class Program:
    """The nonlinear program, collected variable by variable; ``layout`` locates states, controls
    and widths for the next mesh.
    """

    variables: list[Any] = field(default_factory=list)
    scales: list[np.ndarray] = field(default_factory=list)
    lower: list[np.ndarray] = field(default_factory=list)
    upper: list[np.ndarray] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    row_lower: list[np.ndarray] = field(default_factory=list)
    row_upper: list[np.ndarray] = field(default_factory=list)
    # kind, phase, size, place in normalised time
    layout: list[tuple[str, int, int, float]] = field(default_factory=list)
    # phase and place of path constraints
    row_layout: list[tuple[int, float] | None] = field(default_factory=list)

    def add(
        self,
        kind: str,
        phase: int,
        place: float,
        lower: np.ndarray,
        upper: np.ndarray,
        scale: Any = 1.0,
    ) -> Any:
        symbol = ca.MX.sym(kind, len(lower))
        self.variables.append(symbol)
        self.scales.append(np.broadcast_to(np.asarray(scale, float), (len(lower),)))
        self.lower.append(np.asarray(lower, float))
        self.upper.append(np.asarray(upper, float))
        self.layout.append((kind, phase, len(lower), place))
        return ca.DM(self.scales[-1]) * symbol if len(lower) else symbol

    def limit(
        self, expression: Any, lower: Any, upper: Any, at: tuple[int, float] | None = None
    ) -> None:
        size = expression.shape[0]
        self.rows.append(expression)
        self.row_layout.append(at)
        self.row_lower.append(np.broadcast_to(np.asarray(lower, float), (size,)))
        self.row_upper.append(np.broadcast_to(np.asarray(upper, float), (size,)))


def transcribe(
    problem: Problem, meshes: list[np.ndarray], scheme: str, moving: bool
) -> tuple[Program, Any]:
    program = Program()
    s = program.add(
        "s", -1, 0, joined(problem.variables, "lower"), joined(problem.variables, "upper")
    )
    old, new = [v.symbol for v in problem.variables], []
    offset = 0
    for v in problem.variables:
        new.append(s[offset : offset + v.size])
        offset += v.size
    for index, phase in enumerate(problem.phases.values()):
        model = model_of(problem, phase)
        (t0_low, t0_high), (tf_low, tf_high) = phase.spans
        t0 = program.add("t0", index, 0, t0_low, t0_high)
        tf = program.add("tf", index, 1, tf_low, tf_high)
        widths = _widths(program, index, meshes[index], moving)
        program.limit(tf - t0, 0, INF)
        x_first, x_last, q = _intervals(
            program, index, model, meshes[index], scheme, (t0, tf, widths, s)
        )
        for side, x in (("first", x_first), ("last", x_last)):
            offset = 0
            for v in phase.states:
                low, high = getattr(v, side)
                if np.any(np.isfinite(low) | np.isfinite(high)):
                    program.limit(x[offset : offset + v.size], low, high)
                offset += v.size
        offset = 0
        for v, pair in zip(phase.states, phase.at_ends, strict=True):
            old += list(pair)
            new += [x_first[offset : offset + v.size], x_last[offset : offset + v.size]]
            offset += v.size
        old += [phase.t0, phase.tf, *phase.integrals]
        new += [t0, tf, *(q[i] for i in range(len(phase.integrals)))]
    ends_of = ca.Function(
        "ends",
        old,
        [ca.vertcat(problem.objective, *(row.expression for row in problem.conditions))],
    )
    values = ends_of(*new)
    for row, value in zip(problem.conditions, _split(values[1:], problem.conditions), strict=True):
        program.limit(value, row.lower, row.upper)
    return program, values[0]


def _widths(program: Program, index: int, breaks: np.ndarray, moving: bool) -> list[Any]:
    uniform = np.diff(breaks)
    if not moving:
        return list(uniform)
    widths = [
        program.add("h", index, a, LEAST * w, LARGEST * w)
        for a, w in zip(breaks, uniform.reshape(-1, 1), strict=False)
    ]
    program.limit(ca.sum1(ca.vertcat(*widths)), 1, 1)
    return widths


def _split(values: Any, rows: list[Rows]) -> list[Any]:
    parts, offset = [], 0
    for row in rows:
        size = row.expression.shape[0]
        parts.append(values[offset : offset + size])
        offset += size
    return parts


def _intervals(
    program: Program,
    index: int,
    model: Model,
    breaks: np.ndarray,
    scheme: str,
    times: tuple[Any, ...],
) -> tuple[Any, ...]:
    t0, tf, widths, s = times
    x = x_first = program.add("x", index, 0, *model.x_box, model.x_scale)
    quadrature: Any = 0
    begun: Any = 0
    u = program.add("u", index, 0, *model.u_box) if scheme == "simpson" else None
    if u is not None:
        _path(program, model, (index, 0.0), (t0, x, u, s))
    for i, width in enumerate(np.diff(breaks)):
        h = (tf - t0) * widths[i]
        t = t0 + (tf - t0) * begun
        step = _gauss if scheme == "gauss" else _simpson
        x, u, q = step(program, model, ((index, breaks[i], width), t, h, x, u, s))
        quadrature = quadrature + q
        begun = begun + widths[i]
    return x_first, x, quadrature


def _path(
    program: Program, model: Model, place: tuple[int, float], values: tuple[Any, ...]
) -> None:
    if model.rows.size1_out(0):
        program.limit(model.rows(*values), *model.row_limits, at=place)


def _between(
    program: Program, model: Model, place: tuple[int, float, float], at: tuple[Any, ...]
) -> None:
    """Limits of states and path constraints between the collocation points."""
    t, h, stacked, controls, s = at
    index, start, width = place
    bounded = [
        j
        for j in range(len(model.x_box[0]))
        if np.isfinite(model.x_box[0][j]) or np.isfinite(model.x_box[1][j])
    ]
    for tau in np.arange(1, BETWEEN[0] + 1) / (BETWEEN[0] + 1):
        x = ca.mtimes(stacked, _lagrange(float(tau)))
        u = controls[0] + tau * (controls[1] - controls[0])
        _path(program, model, (index, start + tau * width), (t + tau * h, x, u, s))
        if bounded:
            program.limit(
                x[bounded],
                model.x_box[0][bounded],
                model.x_box[1][bounded],
                at=(index, start + tau * width),
            )


def _lagrange(tau: float) -> ca.DM:
    nodes = [0.0, *NODES["gauss"]]
    return ca.DM([math.prod((tau - b) / (a - b) for b in nodes if b != a) for a in nodes])


BETWEEN = [0]  # points in each interval at which limits hold besides the collocation points
LINEAR = [True]  # controls of the Gauss scheme: linear in each interval, or free at each point
GAUSS = ca.collocation_coeff(NODES["gauss"])


def _gauss(program: Program, model: Model, at: tuple[Any, ...]) -> tuple[Any, ...]:
    (index, start, width), t, h, x, _, s = at
    C, D, B = GAUSS  # derivatives at the points, values at the end, quadrature weights
    points = [
        program.add("x", index, start + tau * width, *model.x_box, model.x_scale)
        for tau in NODES["gauss"]
    ]
    stacked = ca.horzcat(x, *points)
    places = (1e-6, 1 - 1e-6) if LINEAR[0] else NODES["gauss"]
    controls = [program.add("u", index, start + tau * width, *model.u_box) for tau in places]
    quadrature: Any = 0
    for k, tau in enumerate(NODES["gauss"]):
        u = controls[0] + tau * (controls[1] - controls[0]) if LINEAR[0] else controls[k]
        values = (t + tau * h, points[k], u, s)
        program.limit(
            (ca.mtimes(stacked, C[:, k]) - h * model.rates(*values)) / model.x_scale, 0, 0
        )
        _path(program, model, (index, start + tau * width), values)
        quadrature = quadrature + h * B[k] * model.integrands(*values)
    end = program.add("x", index, start + width, *model.x_box, model.x_scale)
    program.limit((ca.mtimes(stacked, D) - end) / model.x_scale, 0, 0)
    if LINEAR[0]:
        _path(program, model, (index, start + (1 - 1e-6) * width), (t + h, end, controls[1], s))
        _between(program, model, (index, start, width), (t, h, stacked, controls, s))
    return end, None, quadrature


def _simpson(program: Program, model: Model, at: tuple[Any, ...]) -> tuple[Any, ...]:
    (index, start, width), t, h, x, u, s = at
    middle, end = (
        program.add("x", index, start + tau * width, *model.x_box, model.x_scale)
        for tau in (0.5, 1)
    )
    u_middle, u_end = (
        program.add("u", index, start + tau * width, *model.u_box) for tau in (0.5, 1)
    )
    first, second, third = (t, x, u, s), (t + h / 2, middle, u_middle, s), (t + h, end, u_end, s)
    f, fm, fe = (model.rates(*values) for values in (first, second, third))
    program.limit((end - x - h / 6 * (f + 4 * fm + fe)) / model.x_scale, 0, 0)
    program.limit((middle - (x + end) / 2 - h / 8 * (f - fe)) / model.x_scale, 0, 0)
    _path(program, model, (index, start + width / 2), second)
    _path(program, model, (index, start + width * (1 - 1e-6)), third)
    L, Lm, Le = (model.integrands(*values) for values in (first, second, third))
    return end, u_end, h / 6 * (L + 4 * Lm + Le)


def guessed(problem: Problem, program: Program, random: np.random.Generator | None) -> np.ndarray:
    """Straight lines between boundary values; with a generator, waves of random
    height are added.
    """
    y = []
    phases = list(problem.phases.values())
    waves = [random.normal(size=(3, 64)) for _ in phases] if random is not None else None
    for (kind, phase, size, place), low, high in zip(
        program.layout, program.lower, program.upper, strict=True
    ):
        box_low = np.where(np.isfinite(low), low, -1e20)
        box_high = np.where(np.isfinite(high), high, 1e20)
        middle = np.where(
            np.isfinite(low) & np.isfinite(high), (low + high) / 2, np.clip(0, box_low, box_high)
        )
        if kind == "x":
            ends_here = _through(phases, phase, middle)
            first, last = (
                _end(phases[phase], *which)
                for which in zip(("first", "last"), ends_here, strict=True)
            )
            value = first + place * (last - first)
        elif kind == "h":
            value = low / LEAST
        elif kind in ("t0", "tf"):
            value = _time(phases, phase, kind)
        else:
            value = middle
        if waves is not None and kind in ("x", "u", "s", "tf"):
            spread = np.where(
                np.isfinite(high - low), (high - low) / 4, 0.3 * np.maximum(1, abs(value))
            )
            shape = sum(
                waves[max(phase, 0)][k][:size] * math.sin((k + 1) * math.pi * place + 0.3)
                for k in range(3)
            )
            value = value + (
                0.5 * spread * shape if kind != "tf" else 0.2 * value * waves[phase][0][-1]
            )
        y.append(np.clip(value, box_low, box_high) if size else np.zeros(0))
    return np.concatenate(y)


def _through(phases: list[Phase], index: int, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values at the ends of a phase on a straight line through all phases, if they have the same
    states.
    """
    count = len(phases)
    if count == 1 or len({tuple(v.size for v in ph.states) for ph in phases}) > 1:
        return middle, middle
    first, last = _end(phases[0], "first", middle), _end(phases[-1], "last", middle)
    return first + (last - first) * index / count, first + (last - first) * (index + 1) / count


def _end(phase: Phase, side: str, middle: np.ndarray) -> np.ndarray:
    parts, other = [], "last" if side == "first" else "first"
    for v in phase.states:
        low, high = getattr(v, side)
        low2, high2 = getattr(v, other)
        value = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, (low2 + high2) / 2)
        parts.append(value)
    value = np.concatenate(parts)
    return np.where(np.isfinite(value), value, middle)


def _time(phases: list[Phase], index: int, kind: str) -> np.ndarray:
    begin, end = 0.0, None
    count = len(phases)
    low, high = phases[-1].spans[1]
    end = (max(low[0], 0) + high[0]) / 2 if np.isfinite(high[0]) else max(low[0], 0) + 1
    if high[0] > 20 * max(low[0], 1e-9) and low[0] > 0 and low[0] != high[0]:
        end = math.sqrt(low[0] * high[0])
    low, high = phases[0].spans[0]
    begin = low[0] if np.isfinite(low[0]) else 0.0
    return np.array([begin + (end - begin) * (index + (kind == "tf")) / count])


def carried(
    before: tuple[Program, np.ndarray], program: Program, meshes: list[np.ndarray]
) -> np.ndarray:
    """The answer on one mesh as a start on another, by linear interpolation in normalised time."""
    old, y = before
    samples: dict[tuple[str, int], list[tuple[float, np.ndarray]]] = {}
    offset = 0
    for kind, phase, size, place in old.layout:
        samples.setdefault((kind, phase), []).append((place, y[offset : offset + size]))
        offset += size
    parts = []
    for kind, phase, size, place in program.layout:
        if kind == "h":
            parts.append(np.zeros(1))
            continue
        places = np.array([p for p, _ in samples[kind, phase]])
        values = np.array([v for _, v in samples[kind, phase]])
        parts.append(np.array([np.interp(place, places, values[:, j]) for j in range(size)]))
    for phase, breaks in enumerate(meshes):
        chosen = [i for i, entry in enumerate(program.layout) if entry[:2] == ("h", phase)]
        if chosen:
            known = samples.get(("h", phase), [])
            nominal = np.array([*(p for p, _ in known), 1.0]) if known else np.array([0.0, 1.0])
            actual = (
                np.concatenate([[0.0], np.cumsum([h[0] for _, h in known])]) if known else nominal
            )
            for i, h in zip(chosen, np.diff(np.interp(breaks, nominal, actual)), strict=True):
                parts[i] = np.array([h])
    return np.concatenate(parts) if parts else np.zeros(0)


@dataclass(frozen=True)
class Answer:
    objective: float
    ok: bool
    y: np.ndarray
    iterations: int
    violation: float
    g: np.ndarray


class Solver:
    """IPOPT on one mesh."""

    def __init__(
        self, problem: Problem, meshes: list[np.ndarray], scheme: str, moving: bool, iterations: int
    ) -> None:
        self.program, objective = transcribe(problem, meshes, scheme, moving)
        self.sign = problem.sign
        p = self.program
        self.x, self.g = ca.vertcat(*p.variables), ca.vertcat(*p.rows)
        options = {
            "ipopt.print_level": 0,
            "print_time": False,
            "ipopt.sb": "yes",
            "ipopt.max_iter": iterations,
            "ipopt.tol": 1e-9,
            "ipopt.mu_strategy": "adaptive",
            "ipopt.constr_viol_tol": 1e-9,
            "expand": problem.kind is ca.SX,
            "ipopt.bound_relax_factor": 1e-10,
            "ipopt.acceptable_tol": 1e-8,
        }
        near = {
            "ipopt.mu_strategy": "monotone",
            "ipopt.mu_init": 1e-4,
            "ipopt.bound_push": 1e-6,
            "ipopt.bound_frac": 1e-6,
        }
        self.functions = {"x": self.x, "f": objective, "g": self.g}
        self.options = {False: options, True: {**options, **near}}
        self.solvers: dict[bool, Any] = {}

    def solve(self, start: np.ndarray, near: bool = False) -> Answer:
        """The answer from a start; ``near`` keeps the iterations close to it."""
        p = self.program
        if near not in self.solvers:
            self.solvers[near] = ca.nlpsol("s", "ipopt", self.functions, self.options[near])
        solver = self.solvers[near]
        scale = np.concatenate(p.scales)
        bounds = {"lbx": np.concatenate(p.lower) / scale, "ubx": np.concatenate(p.upper) / scale}
        low, high = np.concatenate(p.row_lower), np.concatenate(p.row_upper)
        found = solver(x0=start / scale, lbg=low, ubg=high, **bounds)
        stats = solver.stats()
        g = np.array(found["g"]).ravel()
        violation = float(np.max(np.maximum(low - g, g - high), initial=0))
        y = np.array(found["x"]).ravel() * scale
        return Answer(
            self.sign * float(found["f"]),
            bool(stats["success"]),
            y,
            stats["iter_count"],
            violation,
            g,
        )


def junctions(program: Program, answer: Answer, meshes: list[np.ndarray]) -> list[np.ndarray]:
    """Whether limits become active or a control jumps in or beside each interval of each phase."""
    seen: list[list[dict[Any, set[int]]]] = [[{} for _ in breaks[1:]] for breaks in meshes]
    controls: list[list[list[np.ndarray]]] = [[[] for _ in breaks[1:]] for breaks in meshes]

    def note(
        phase: int,
        place: float,
        key: Any,
        values: np.ndarray,
        limits: tuple[np.ndarray, np.ndarray],
    ) -> int:
        i = int(
            np.clip(
                np.searchsorted(meshes[phase], place, side="right") - 1, 0, len(meshes[phase]) - 2
            )
        )
        for j, (value, low, high) in enumerate(zip(values, *limits, strict=True)):
            near = ACTIVE * max(1.0, abs(high - low) if np.isfinite(high - low) else abs(value))
            side = (
                0 if low == high else -1 if value - low < near else 1 if high - value < near else 0
            )
            seen[phase][i].setdefault((key, j), set()).add(side)
        return i

    offset = 0
    for (kind, phase, size, place), low, high in zip(
        program.layout, program.lower, program.upper, strict=True
    ):
        values = answer.y[offset : offset + size]
        offset += size
        if kind in ("x", "u") and size:
            i = note(phase, place, kind, values, (low, high))
            if kind == "u":
                controls[phase][i].append(values)
    offset = 0
    for at, expression, low, high in zip(
        program.row_layout, program.rows, program.row_lower, program.row_upper, strict=True
    ):
        size = expression.shape[0]
        if at is not None:
            note(*at, "row", answer.g[offset : offset + size], (low, high))
        offset += size
    marks = []
    for sides, values in zip(seen, controls, strict=True):
        mark = np.array([any(len(v) > 1 for v in interval.values()) for interval in sides])
        for i in range(len(sides) - 1):
            changed = any(sides[i + 1].get(key, v) != v for key, v in sides[i].items())
            if values[i] and values[i + 1]:
                span = np.ptp(np.array([v for part in values for v in part]), axis=0) + 1e-12
                changed |= bool(np.any(abs(values[i + 1][0] - values[i][-1]) > 0.03 * span))
            mark[i : i + 2] |= changed
        marks.append(mark)
    return marks


def refined(meshes: list[np.ndarray], marks: list[np.ndarray]) -> list[np.ndarray]:
    """The marked intervals divided into four."""
    result = []
    for breaks, mark in zip(meshes, marks, strict=True):
        parts = [
            np.linspace(a, b, 5 if cut else 2)[:-1]
            for a, b, cut in zip(breaks, breaks[1:], mark, strict=False)
        ]
        result.append(np.concatenate([*parts, [1.0]]))
    return result


def best_of_starts(problem: Problem, solver: Solver, starts: int, seed: int) -> Answer:
    best = None
    for k in range(starts):
        random = np.random.default_rng(seed + k) if k else None
        answer = solver.solve(guessed(problem, solver.program, random))
        print(
            f"  start {k}: {answer.objective:.12g} {'ok' if answer.ok else 'failed'} "
            f"({answer.iterations} iterations)",
            flush=True,
        )
        better = best is None or (answer.ok, -problem.sign * answer.objective) > (
            best.ok,
            -problem.sign * best.objective,
        )
        best = answer if better else best
    assert best is not None
    return best


def statements() -> tuple[dict[str, Any], dict[str, Any]]:
    """The suite's entries and relaxed problems, read with this module in the place of trajopt."""
    stand_in = types.ModuleType("trajopt")
    stand_in.Problem, stand_in.free, stand_in.table = Problem, free, table  # type: ignore[attr-defined]
    sys.modules["trajopt"] = stand_in
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    import suite

    penalties = suite.large_penalty
    relaxed = {
        "bolza-relaxed": suite.chattering.bolza_relaxed,
        "battery-penalty-relaxed": lambda: penalties.battery(0),
        "valves-penalty-relaxed": lambda: penalties.valves(0),
        "parts-penalty-relaxed": lambda: penalties.parts(0),
    }
    return suite.ENTRIES, relaxed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--scheme", choices=list(NODES), default="gauss")
    parser.add_argument("--intervals", type=int, nargs="+", default=[25, 50, 100])
    parser.add_argument("--starts", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--moving", action="store_true")
    parser.add_argument(
        "--between",
        type=int,
        default=0,
        help="points of each interval at which limits hold besides its own",
    )
    parser.add_argument(
        "--refine",
        type=int,
        default=0,
        help="further meshes that divide intervals where limits become active",
    )
    parser.add_argument(
        "--points", action="store_true", help="controls of the Gauss scheme are free at each point"
    )
    arguments = parser.parse_args()
    BETWEEN[0] = arguments.between
    LINEAR[0] = not arguments.points
    np.seterr(invalid="ignore")  # bounds that are infinite on both sides
    entries, relaxed = statements()
    for name in arguments.names:
        entry = entries[name.removesuffix("-relaxed")]
        problem = relaxed[name]() if name in relaxed else entry.build()
        print(
            f"{name} ({arguments.scheme}{', moving' if arguments.moving else ''}), reference "
            f"{entry.reference.objective:.12g}"
        )
        run(problem, entry.reference, arguments)


def run(problem: Problem, reference: Any, arguments: argparse.Namespace) -> None:
    """Solve on a sequence of meshes and print the objectives."""
    meshes = [np.linspace(0, 1, arguments.intervals[0] + 1) for _ in problem.phases]
    solver = Solver(problem, meshes, arguments.scheme, False, arguments.iterations)
    answer = best_of_starts(problem, solver, arguments.starts, arguments.seed)
    for intervals in [*arguments.intervals, *[0] * arguments.refine]:
        began = time.process_time()
        before = solver.program, answer.y
        if intervals:
            meshes = [np.linspace(0, 1, intervals + 1) for _ in problem.phases]
        else:
            meshes = refined(meshes, junctions(solver.program, answer, meshes))
        solver = Solver(problem, meshes, arguments.scheme, arguments.moving, arguments.iterations)
        answer = solver.solve(carried(before, solver.program, meshes), near=True)
        error = reference.error(answer.objective)
        state = "ok" if answer.ok else "failed"
        print(
            f"  {sum(len(b) - 1 for b in meshes):5d} intervals: {answer.objective:.12g} {state}, "
            f"{answer.iterations} iterations,"
            f" violation {answer.violation:.0e}, from the reference {error:.1e}, "
            f"{time.process_time() - began:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
