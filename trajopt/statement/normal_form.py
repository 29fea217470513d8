"""The normal form of a problem, input of the direct and the indirect method.

For each phase  x' = f(t, x, z, u, s, p),  0 = g(t, x, z, u, s, p),  c_lo <= c(t, x, z, u, s, p) <=
c_hi,  and integrands l; over all phases b_lo <= b(e, s, p) <= b_hi and the cost phi(e, s, p),
minimized, where e holds the endpoint values (t0, tf, x0, xf, z0, zf, u0, uf, q) of every phase, q
being its integrals.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise
from trajopt.compiled.structure import SharedByStructure
from trajopt.errors import ProblemError, TrajoptError, UsageError, suggest
from trajopt.statement.bounds import Bound
from trajopt.statement.labels import component_labels
from trajopt.statement.stated_bounds import at_parameters, limits_function

if TYPE_CHECKING:
    from trajopt.statement.problem import Declared, Phase, Problem, RedundantModel


class ConditionKind(enum.Enum):
    """Source of a condition on endpoint values."""

    STATED = enum.auto()  # ocp.require
    LINK = enum.auto()  # ocp.connect
    DURATION = enum.auto()  # nonnegative duration


@dataclass(frozen=True)
class Origin:
    """Source of a condition.

    A link makes ``variable`` (a state, or t) continuous at the start of ``phase``, or states its
    jump.
    """

    kind: ConditionKind = ConditionKind.STATED
    variable: str = ""
    phase: str = ""


@dataclass(frozen=True)
class Condition:
    """A named column expression with its bound: a path constraint or a boundary condition."""

    name: str
    expression: Any
    bound: Bound
    origin: Origin = Origin()
    unit: str = ""  # of a path constraint


@dataclass(frozen=True)
class Linkage:
    """Continuity of states of the same name, and of time, from one phase to the next; some states
    may jump.
    """

    before: str
    after: str
    states: tuple[str, ...]
    time: bool
    jumps: Mapping[str, Any] = field(default_factory=dict)  # state -> by how much it changes

    @property
    def continuous(self) -> tuple[str, ...]:
        """Names of what does not jump."""
        return (*(n for n in self.states if n not in self.jumps), *(["t"] if self.time else []))


@dataclass(frozen=True)
class Parameter:
    """A parameter, which can change without rebuilding the problem, and the range of its values."""

    name: str
    value: NDArray[np.float64]
    unit: str
    symbol: Any
    lower: float | None = None
    upper: float | None = None

    def check(self, value: Any, error: type[TrajoptError]) -> None:
        """Raise an error unless ``value`` holds finite numbers within the range."""
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        if not np.all(np.isfinite(numbers)):
            what = f"parameter '{self.name}' is not a finite number"
            raise error(what, got=value, expected="a number, or numbers")
        low = -np.inf if self.lower is None else self.lower
        high = np.inf if self.upper is None else self.upper
        if np.any(numbers < low) or np.any(numbers > high):
            unit = f" {self.unit}" if self.unit else ""
            raise error(
                f"parameter '{self.name}' is out of range",
                got=value,
                expected=f"{low:g} to {high:g}{unit}",
            )


@dataclass(frozen=True)
class NamedVector:
    """A named vector of states, controls, algebraic or static variables; ``rows`` are its rows in
    the stacked column.
    """

    name: str
    size: int
    unit: str
    rows: slice
    bound: Bound
    guess: Any
    scale: Any
    start: Bound
    end: Bound
    names: tuple[str, ...] = ()  # of its components, if named

    @property
    def components(self) -> tuple[str, ...]:
        """Labels of its components: ``x``, or ``x[0]``, ``x[1]``, or ``x[knee]``, ..."""
        return component_labels(self.name, self.size, self.names)


@dataclass(frozen=True, eq=False)
class StatedSizes:
    """What a statement says about the sizes of quantities, by component."""

    scale: NDArray[np.float64]  # NaN where none is given
    ends: NDArray[np.float64]  # the largest finite boundary value; 0 without one
    bound: NDArray[np.float64]  # the largest finite bound; 0 without one

    @staticmethod
    def of(quantities: tuple[NamedVector, ...]) -> StatedSizes:
        scales = [
            np.nan if q.scale is None else np.asarray(q.scale, dtype=float).ravel()
            for q in quantities
        ]
        scale = [np.broadcast_to(s, (q.size,)) for s, q in zip(scales, quantities, strict=True)]
        bound, start, end = (
            stacked_bounds([getattr(q, of) for q in quantities]) for of in ("bound", "start", "end")
        )
        return StatedSizes(
            np.concatenate([np.zeros(0), *scale]),
            np.maximum(_largest(start), _largest(end)),
            _largest(bound),
        )

    @cached_property
    def limits(self) -> NDArray[np.float64]:
        """Scales, boundary values and bounds, the first that is given; one without any of these."""
        return self.with_scale(np.where(self.ends > 0, self.ends, self.bound))

    def with_scale(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sizes, one for those that are zero to round-off, and the scale where it is given."""
        sizes = np.where(sizes > np.finfo(float).eps, sizes, 1.0)
        return np.where(np.isnan(self.scale), sizes, self.scale)


def _largest(bound: Bound) -> NDArray[np.float64]:
    """(size,): the size of the largest finite limit; 0 where there is none."""
    sides = np.abs([bound.lower, bound.upper])
    return np.asarray(np.where(np.isfinite(sides), sides, 0.0).max(axis=0))


@dataclass(frozen=True)
class InvariantForm:
    name: str
    expression: Any  # in t, x, z, u, s, p and the costate column
    order: int


@dataclass(frozen=True)
class OutputForm:
    """A quantity that follows from the trajectory: of ``ph.output``, or a path constraint."""

    name: str
    expression: Any  # column in t, x, z, u, s, p
    unit: str
    bound: Bound
    rows: slice | None = None  # of a path constraint, in c


@dataclass(frozen=True)
class Endpoints:
    """Symbols of the endpoint values of a phase."""

    t0: Any
    tf: Any
    x0: Any
    xf: Any
    z0: Any
    zf: Any
    u0: Any
    uf: Any
    q: Any  # values of the integrals

    @property
    def column(self) -> Any:
        return casadi.vertcat(*self)

    def __iter__(self) -> Iterator[Any]:
        return iter(
            (self.t0, self.tf, self.x0, self.xf, self.z0, self.zf, self.u0, self.uf, self.q)
        )


@dataclass(frozen=True)
class StateSample:
    """The states at a given time inside a phase, for costs and conditions."""

    time: float
    x: Any


@dataclass(frozen=True)
class PhaseForm:
    """One phase: symbols t, x, z, u and expressions in them and in s and p of the problem."""

    name: str
    t: Any
    x: Any
    z: Any
    u: Any
    states: tuple[NamedVector, ...]
    algebraics: tuple[NamedVector, ...]
    controls: tuple[NamedVector, ...]
    f: Any
    g: Any
    g_names: tuple[str, ...]
    c: Any
    c_bound: Bound
    c_names: tuple[str, ...]  # one for each row
    l: Any  # column of integrands
    start_time: Bound
    end_time: Bound
    time_unit: str
    ends: Endpoints
    costate: Any  # (nx,) symbol of the costate
    invariants: tuple[InvariantForm, ...]
    redundant: RedundantModel | None = None
    outputs: tuple[OutputForm, ...] = ()
    samples: tuple[StateSample, ...] = ()  # in order of time
    cost_unit: str = ""  # unit of the objective; empty where it does not follow from the statement

    @cached_property
    def rows(self) -> Any:
        """The column of f, g, c and l."""
        return casadi.vertcat(self.f, self.g, self.c, self.l)

    @cached_property
    def x_bound(self) -> Bound:
        return stacked_bounds([q.bound for q in self.states])

    @cached_property
    def z_bound(self) -> Bound:
        return stacked_bounds([q.bound for q in self.algebraics])

    @cached_property
    def u_bound(self) -> Bound:
        return stacked_bounds([q.bound for q in self.controls])

    @cached_property
    def x_start(self) -> Bound:
        """Bounds of the initial states."""
        return stacked_bounds([q.start.meet(q.bound) for q in self.states])

    @cached_property
    def x_end(self) -> Bound:
        return stacked_bounds([q.end.meet(q.bound) for q in self.states])

    @cached_property
    def state_sizes(self) -> StatedSizes:
        return StatedSizes.of(self.states)

    @cached_property
    def algebraic_sizes(self) -> StatedSizes:
        return StatedSizes.of(self.algebraics)

    @cached_property
    def control_sizes(self) -> StatedSizes:
        return StatedSizes.of(self.controls)

    @property
    def x_names(self) -> tuple[str, ...]:
        return component_names(self.states)

    @property
    def u_names(self) -> tuple[str, ...]:
        return component_names(self.controls)

    @property
    def z_names(self) -> tuple[str, ...]:
        return component_names(self.algebraics)


@dataclass(frozen=True)
class NormalForm:
    """A finished problem."""

    name: str
    symbols: Any  # casadi.SX or casadi.MX
    phases: tuple[PhaseForm, ...]
    s: Any
    statics: tuple[NamedVector, ...]
    p: Any
    parameters: tuple[Parameter, ...]
    b: Any
    b_bound: Bound
    b_names: tuple[str, ...]  # one for each row
    phi: Any
    sense: int  # objective as stated = sense * phi
    b_origins: tuple[Origin, ...] = ()  # one for each row

    def __deepcopy__(self, memo: Any) -> NormalForm:
        return self  # it never changes

    def parameter_values(self, overrides: Mapping[str, Any] | None = None) -> NDArray[np.float64]:
        """Return the parameter column; ``overrides`` replaces values by name."""
        known = {q.name: q for q in self.parameters}
        for name, value in (overrides or {}).items():
            if name not in known:
                raise UsageError(
                    f"problem '{self.name}' has no parameter '{name}'",
                    expected=", ".join(known) or "none",
                    hint=suggest(name, known),
                )
            if np.size(value) not in (1, known[name].value.size):
                raise UsageError(
                    f"parameter '{name}' has the wrong size",
                    got=np.size(value),
                    expected=known[name].value.size,
                )
            known[name].check(value, UsageError)
        columns = [
            np.broadcast_to(
                np.asarray((overrides or {}).get(q.name, q.value), dtype=float).ravel(),
                q.value.shape,
            )
            for q in self.parameters
        ]
        return np.concatenate(columns) if columns else np.zeros(0)

    def named_parameters(self, column: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Return the values of the parameter column by name."""
        named, place = {}, 0
        for q in self.parameters:
            named[q.name] = column[place : place + q.value.size]
            place += q.value.size
        return named

    def at(self, overrides: Mapping[str, Any] | None = None) -> NormalForm:
        """Return the form with bounds that are stated by parameters at their values; ``overrides``
        replaces values by name.
        """
        return at_parameters(self, self.parameter_values(overrides))

    def of_solution(self, parameters: Mapping[str, Any]) -> NormalForm:
        """Return the form at the parameters of a solution, which may have others too."""
        known = {q.name for q in self.parameters}
        return self.at({name: value for name, value in parameters.items() if name in known})

    @cached_property
    def stated_limits(self) -> casadi.Function:
        """Parameters -> limits of all bounds that are stated by them."""
        return limits_function(self)

    @cached_property
    def models(self) -> tuple[Pointwise, ...]:
        """For each phase, the function (t, x, z, u, s, p) -> rows f, g, c, l; identical phases
        share it.
        """
        shared, found = SharedByStructure[Pointwise](len(self.phases)), list[Pointwise]()
        for phase in self.phases:
            inputs = [phase.t, phase.x, phase.z, phase.u, self.s, self.p]
            model = casadi.Function("model", inputs, [phase.rows])
            found.append(shared.get(inputs, [phase.rows], partial(Pointwise, model)))
        return tuple(found)

    @cached_property
    def static_sizes(self) -> StatedSizes:
        return StatedSizes.of(self.statics)

    @property
    def sampled(self) -> bool:
        """True if the problem has values at times inside a phase."""
        return any(phase.samples for phase in self.phases)

    def refuse_samples(self, who: str) -> None:
        """Raise an error if the problem has values at times inside a phase."""
        if self.sampled:
            raise UsageError(
                f"{who} cannot use values at times inside a phase (ph.at)",
                got=f"problem '{self.name}'",
                hint="end a phase at such a time, and connect another one to it",
            )

    @property
    def endpoint_column(self) -> Any:
        return casadi.vertcat(*[ph.ends.column for ph in self.phases])


def component_names(quantities: tuple[NamedVector, ...]) -> tuple[str, ...]:
    return tuple(name for q in quantities for name in q.components)


def stacked_bounds(bounds: list[Bound]) -> Bound:
    """Concatenate bounds."""
    if not bounds:
        return Bound.open(0)
    stated = None
    if any(b.stated is not None for b in bounds):
        columns = [b.stated or (casadi.DM(b.lower), casadi.DM(b.upper)) for b in bounds]
        stated = (
            casadi.vertcat(*[low for low, _ in columns]),
            casadi.vertcat(*[high for _, high in columns]),
        )
    return Bound(
        np.concatenate([b.lower for b in bounds]),
        np.concatenate([b.upper for b in bounds]),
        stated=stated,
    )


def normal_form(problem: Problem) -> NormalForm:
    """Check a problem and return its normal form."""
    # The checks need the types of this module.
    from trajopt.statement.checks import check_form, check_statement
    from trajopt.statement.units import objective_unit

    check_statement(problem)
    sym = problem.symbols
    statics, p_values = list(problem.variables.values()), list(problem.parameters.values())
    shared = _Stacking(sym)
    s = shared.column("s", [d.symbol for d in statics])
    p = shared.column("p", [q.symbol for q in p_values])
    of_ends, cost_unit = shared.copy(), objective_unit(problem)
    phases = [
        replace(_phase_form(problem, phase, shared.copy(), of_ends), cost_unit=cost_unit)
        for phase in problem.phases.values()
    ]
    conditions = [*_link_conditions(problem), *problem.conditions, *_durations(problem)]
    objective = sym(0) if problem.objective is None else problem.sense * problem.objective
    phi, b = of_ends.applied([objective, _column(sym, [c.expression for c in conditions])])
    form = NormalForm(
        name=problem.name,
        symbols=sym,
        phases=tuple(phases),
        s=s,
        statics=_quantities(statics),
        p=p,
        parameters=tuple(p_values),
        b=b,
        b_bound=stacked_bounds([c.bound for c in conditions]),
        b_names=_row_names(conditions),
        phi=phi,
        sense=problem.sense,
        b_origins=tuple(c.origin for c in conditions for _ in range(c.expression.numel())),
    )
    check_form(problem, form)
    return form


@dataclass
class _Stacking:
    """Stacks the user's symbols into columns and substitutes them in expressions.

    A column of SX symbols can be used as it is. MX needs a new vector symbol, whose parts replace
    the old symbols.
    """

    symbols: Any
    old: list[Any] = field(default_factory=list)
    new: list[Any] = field(default_factory=list)

    def copy(self) -> _Stacking:
        return _Stacking(self.symbols, list(self.old), list(self.new))

    def column(self, name: str, parts: list[Any]) -> Any:
        if parts and self.symbols is casadi.SX:
            return (
                parts[0]
                if len(parts) == 1 and type(parts[0]) is casadi.SX
                else casadi.vertcat(*parts)
            )
        sizes = [part.numel() for part in parts]
        column = self.symbols.sym(name, sum(sizes))
        if parts:
            self.old += parts
            self.new += casadi.vertsplit(column, [0, *np.cumsum(sizes).tolist()])
        return column

    def applied(self, expressions: list[Any]) -> list[Any]:
        return casadi.substitute(expressions, self.old, self.new) if self.old else expressions


def _phase_form(problem: Problem, phase: Phase, own: _Stacking, of_ends: _Stacking) -> PhaseForm:
    """Return the phase in columns; ``own`` stacks its symbols, ``of_ends`` those of its endpoint
    values.
    """
    sym = problem.symbols
    states, algebraics, controls = (
        phase.of_kind(kind) for kind in ("state", "algebraic", "control")
    )
    t = own.column("t", [phase.t])
    x, z, u = (
        own.column(n, [d.symbol for d in of])
        for n, of in (("x", states), ("z", algebraics), ("u", controls))
    )
    costate = sym.sym("costate", x.numel())
    if phase.costates:
        costate = own.column(
            "costate", [phase.costates.get(d.name, sym.sym("costate", d.size)) for d in states]
        )
    f, g, c, l, *others = own.applied(
        [
            _column(sym, [d.rate for d in states]),
            _column(sym, [g for _, g in phase.algebraic_residuals]),
            _column(sym, [c.expression for c in phase.paths]),
            _column(sym, [l for _, l in phase.integrals]),
            *[i.expression for i in phase.invariants],
            *[o.expression for o in phase.outputs],
        ]
    )
    invariants, stated = others[: len(phase.invariants)], others[len(phase.invariants) :]
    ends = Endpoints(
        *(of_ends.column(f"{phase.name}_{name}", parts) for name, parts in (
            ("t0", [phase.t_start]), ("tf", [phase.t_end]),
            ("x0", [d.at_start for d in states]), ("xf", [d.at_end for d in states]),
            ("z0", [d.at_start for d in algebraics]), ("zf", [d.at_end for d in algebraics]),
            ("u0", [d.at_start for d in controls]), ("uf", [d.at_end for d in controls]),
            ("q", [symbol for symbol, _ in phase.integrals]),
        ))
    )  # fmt: skip
    return PhaseForm(
        name=phase.name,
        t=t,
        x=x,
        z=z,
        u=u,
        states=_quantities(states),
        algebraics=_quantities(algebraics),
        controls=_quantities(controls),
        f=f,
        g=g,
        g_names=tuple(
            n for name, e in phase.algebraic_residuals for n in component_labels(name, e.numel())
        ),
        c=c,
        c_bound=stacked_bounds([q.bound for q in phase.paths]),
        c_names=_row_names(phase.paths),
        l=l,
        start_time=_start_time(problem, phase),
        end_time=phase.end_time or Bound.open(1),
        time_unit=phase.t.unit,
        ends=ends,
        costate=costate,
        invariants=tuple(
            InvariantForm(i.name, e, i.order)
            for i, e in zip(phase.invariants, invariants, strict=True)
        ),
        redundant=phase.redundant,
        outputs=tuple(
            replace(output, expression=e) for output, e in zip(phase.outputs, stated, strict=True)
        )
        + _path_outputs(phase, c),
        samples=_samples(problem, phase, states, of_ends),
    )


def _samples(
    problem: Problem, phase: Phase, states: list[Declared], of_ends: _Stacking
) -> tuple[StateSample, ...]:
    """Return the states at the times of ``ph.at``, which are inside a phase of given times."""
    if not phase.samples:
        return ()
    start, end = _start_time(problem, phase), phase.end_time or Bound.open(1)
    if not (start.fixed[0] and end.fixed[0]) or start.stated or end.stated:
        raise ProblemError(
            f"ph.at: the times of phase '{phase.name}' are not given numbers",
            got=f"start {start}, end {end}",
            expected="a fixed start and a fixed end",
            hint="end a phase at the time, and connect another one to it",
        )
    outside = [t for t in phase.samples if not start.lower[0] < t < end.lower[0]]
    if outside:
        raise ProblemError(
            f"ph.at: the time is not inside phase '{phase.name}'",
            got=outside[0],
            expected=f"between {start.lower[0]:g} and {end.lower[0]:g}",
            hint="ph.initial(...) and ph.final(...) are the values at the ends",
        )
    return tuple(
        StateSample(
            time,
            of_ends.column(
                f"{phase.name}_x({time:g})",
                [values.get(d.name, problem.symbols.sym(d.name, d.size)) for d in states],
            ),
        )
        for time, values in sorted(phase.samples.items())
    )


def _path_outputs(phase: Phase, c: Any) -> tuple[OutputForm, ...]:
    """Return the path constraints as outputs, unless a variable or an output has their name."""
    taken = {*phase.declared, *(output.name for output in phase.outputs)}
    found, end = [], 0
    for path in phase.paths:
        start, end = end, end + path.expression.numel()
        if path.name not in taken:
            rows = slice(start, end)
            taken.add(path.name)
            found.append(OutputForm(path.name, c[rows], path.unit, path.bound, rows))
    return tuple(found)


def _start_time(problem: Problem, phase: Phase) -> Bound:
    if phase.start_time is not None:
        return phase.start_time
    follows = any(link.time and link.after == phase.name for link in problem.links)
    return Bound.open(1) if follows else Bound(np.zeros(1), np.zeros(1))


def _link_conditions(problem: Problem) -> list[Condition]:
    conditions = []
    for link in problem.links:
        a, b = problem.phases[link.before], problem.phases[link.after]
        pairs = [(name, a.declared[name].at_end, b.declared[name].at_start) for name in link.states]
        if link.time:
            pairs.append(("t", a.t_end, b.t_start))
        for name, end, start in pairs:
            zero = np.zeros(end.numel())
            origin = Origin(ConditionKind.LINK, name, b.name)
            conditions.append(
                Condition(
                    f"{name} from '{a.name}' to '{b.name}'",
                    start - end - link.jumps.get(name, 0),
                    Bound(zero, zero),
                    origin,
                )
            )
    return conditions


def _durations(problem: Problem) -> list[Condition]:
    """Require nonnegative durations where the time bounds of a phase overlap."""
    conditions = []
    for phase in problem.phases.values():
        start, end = _start_time(problem, phase), phase.end_time or Bound.open(1)
        may_move = any(bound.stated is not None and not bound.fixed[0] for bound in (start, end))
        if end.lower[0] < start.upper[0] or may_move:
            bound, origin = Bound(np.zeros(1), np.full(1, np.inf)), Origin(ConditionKind.DURATION)
            conditions.append(
                Condition(
                    f"duration of phase '{phase.name}'", phase.t_end - phase.t_start, bound, origin
                )
            )
    return conditions


def _quantities(declared: list[Declared]) -> tuple[NamedVector, ...]:
    starts = itertools.accumulate((d.size for d in declared), initial=0)
    return tuple(
        NamedVector(
            d.name,
            d.size,
            d.unit,
            slice(a, a + d.size),
            d.bound,
            d.guess,
            d.scale,
            d.start,
            d.end,
            d.components,
        )
        for d, a in zip(declared, starts, strict=False)
    )


def _column(sym: Any, parts: list[Any]) -> Any:
    return casadi.vertcat(*parts) if parts else sym(0, 1)


def _row_names(conditions: list[Condition]) -> tuple[str, ...]:
    return tuple(n for c in conditions for n in component_labels(c.name, c.expression.numel()))
