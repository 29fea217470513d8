"""The normal form of a problem: what both the direct and the indirect side consume.

For each phase  x' = f(t, x, z, u, s, p),  0 = g(t, x, z, u, s, p),  c_lo <= c(t, x, z, u, s, p) <= c_hi,  and integrands l;
over all phases b_lo <= b(e, s, p) <= b_hi and the cost phi(e, s, p), minimized, where e holds the endpoint values
(t0, tf, x0, xf, z0, zf, u0, uf, q) of every phase, q being its integrals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.bounds import Bound
from trajopt.errors import UsageError, suggest

if TYPE_CHECKING:
    from trajopt.problem import Declared, Phase, Problem


@dataclass(frozen=True)
class Condition:
    """A named column with its bound: a path constraint, a boundary condition."""

    name: str
    expression: Any
    bound: Bound


@dataclass(frozen=True)
class Link:
    """Same-named states, and time, continuous from one phase to the next."""

    before: str
    after: str
    states: tuple[str, ...]
    time: bool


@dataclass(frozen=True)
class Parameter:
    """A number that changes without rebuilding."""

    name: str
    value: NDArray[np.float64]
    unit: str
    symbol: Any


@dataclass(frozen=True)
class Quantity:
    """A named vector of states, controls, algebraic or static variables, and its place ``rows`` in the stacked column."""

    name: str
    size: int
    unit: str
    rows: slice
    bound: Bound
    guess: Any
    scale: Any
    start: Bound
    end: Bound

    @property
    def components(self) -> tuple[str, ...]:
        """The names of its components: ``x``, or ``x[0]``, ``x[1]``, ..."""
        return (self.name,) if self.size == 1 else tuple(f"{self.name}[{i}]" for i in range(self.size))


@dataclass(frozen=True)
class InvariantForm:
    name: str
    expression: Any  # in t, x, z, u, s, p and the costate column
    order: int
    uses_costates: bool


@dataclass(frozen=True)
class Endpoints:
    """The symbols of a phase's endpoint values."""

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
        return casadi.vertcat(self.t0, self.tf, self.x0, self.xf, self.z0, self.zf, self.u0, self.uf, self.q)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.t0, self.tf, self.x0, self.xf, self.z0, self.zf, self.u0, self.uf, self.q))


@dataclass(frozen=True)
class PhaseForm:
    """One phase: pure symbols t, x, z, u, and expressions in them and in the problem's s, p."""

    name: str
    t: Any
    x: Any
    z: Any
    u: Any
    states: tuple[Quantity, ...]
    algebraics: tuple[Quantity, ...]
    controls: tuple[Quantity, ...]
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

    @cached_property
    def x_bound(self) -> Bound:
        return stacked([q.bound for q in self.states])

    @cached_property
    def z_bound(self) -> Bound:
        return stacked([q.bound for q in self.algebraics])

    @cached_property
    def u_bound(self) -> Bound:
        return stacked([q.bound for q in self.controls])

    @cached_property
    def x_start(self) -> Bound:
        """What the states may be at the start."""
        return stacked([q.start.meet(q.bound) for q in self.states])

    @cached_property
    def x_end(self) -> Bound:
        return stacked([q.end.meet(q.bound) for q in self.states])

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
    statics: tuple[Quantity, ...]
    p: Any
    parameters: tuple[Parameter, ...]
    b: Any
    b_bound: Bound
    b_names: tuple[str, ...]  # one for each row
    phi: Any
    sense: int  # objective as the user sees it = sense * phi

    def parameter_values(self, overrides: Mapping[str, Any] | None = None) -> NDArray[np.float64]:
        """The parameter column, with some values replaced by name."""
        known = {q.name: q for q in self.parameters}
        for name, value in (overrides or {}).items():
            if name not in known:
                raise UsageError(
                    f"problem '{self.name}' has no parameter '{name}'",
                    expected=", ".join(known) or "none",
                    hint=suggest(name, known),
                )
            if np.size(value) not in (1, known[name].value.size):
                raise UsageError(f"parameter '{name}' has the wrong size", got=np.size(value), expected=known[name].value.size)
        columns = [
            np.broadcast_to(np.asarray((overrides or {}).get(q.name, q.value), dtype=float).ravel(), q.value.shape)
            for q in self.parameters
        ]
        return np.concatenate(columns) if columns else np.zeros(0)

    @property
    def endpoint_column(self) -> Any:
        return casadi.vertcat(*[ph.ends.column for ph in self.phases])


def component_names(quantities: tuple[Quantity, ...]) -> tuple[str, ...]:
    return tuple(name for q in quantities for name in q.components)


def stacked(bounds: list[Bound]) -> Bound:
    """Bounds one above the other."""
    if not bounds:
        return Bound.open(0)
    return Bound(np.concatenate([b.lower for b in bounds]), np.concatenate([b.upper for b in bounds]))


def normal_form(problem: Problem) -> NormalForm:
    """Check a problem and give its normal form."""
    from trajopt.statement_check import check_form, check_statement  # the checks need the types of this module

    check_statement(problem)
    sym = problem.symbols
    statics, p_values = list(problem.variables.values()), list(problem.parameters.values())
    s = sym.sym("s", sum(d.size for d in statics))
    p = sym.sym("p", sum(q.value.size for q in p_values))
    shared = (
        [d.symbol for d in statics] + [q.symbol for q in p_values],
        _split(s, [d.size for d in statics]) + _split(p, [q.value.size for q in p_values]),
    )
    phases, old_ends, new_ends = [], [], []
    for phase in problem.phases.values():
        phase_form, before, after = _phase_form(problem, phase, shared)
        phases.append(phase_form)
        old_ends += before
        new_ends += after
    conditions = [*_link_conditions(problem), *problem.conditions, *_durations(problem)]
    objective = sym(0) if problem.objective is None else problem.sense * problem.objective
    columns = casadi.substitute(
        [objective, *[c.expression for c in conditions]], [*old_ends, *shared[0]], [*new_ends, *shared[1]]
    )
    form = NormalForm(
        name=problem.name,
        symbols=sym,
        phases=tuple(phases),
        s=s,
        statics=_quantities(statics),
        p=p,
        parameters=tuple(p_values),
        b=casadi.vertcat(*columns[1:]) if conditions else sym(0, 1),
        b_bound=stacked([c.bound for c in conditions]),
        b_names=_row_names(conditions),
        phi=columns[0],
        sense=problem.sense,
    )
    check_form(problem, form)
    return form


def _phase_form(problem: Problem, phase: Phase, shared: tuple[list[Any], list[Any]]) -> tuple[PhaseForm, list[Any], list[Any]]:
    """The phase with fresh stacked symbols; also the endpoint symbols in the user's expressions, and their replacements."""
    sym = problem.symbols
    kinds = {kind: phase.of_kind(kind) for kind in ("state", "algebraic", "control")}
    sizes = {kind: [d.size for d in ds] for kind, ds in kinds.items()}
    t = sym.sym("t")
    x, z, u = (sym.sym(letter, sum(sizes[kind])) for letter, kind in (("x", "state"), ("z", "algebraic"), ("u", "control")))
    costate = sym.sym("costate", x.numel())
    old = [phase.t, *[d.symbol for ds in kinds.values() for d in ds], *shared[0]]
    new = [t, *_split(x, sizes["state"]), *_split(z, sizes["algebraic"]), *_split(u, sizes["control"]), *shared[1]]
    for d, part in zip(kinds["state"], _split(costate, sizes["state"]), strict=True):
        if d.name in phase.costates:
            old.append(phase.costates[d.name])
            new.append(part)
    expressions = [
        casadi.vertcat(*[d.rate for d in kinds["state"]]),
        casadi.vertcat(sym(0, 1), *[g for _, g in phase.algebraic_residuals]),
        casadi.vertcat(sym(0, 1), *[c.expression for c in phase.paths]),
        casadi.vertcat(sym(0, 1), *[l for _, l in phase.integrals]),
        *[i.expression for i in phase.invariants],
    ]
    f, g, c, l, *invariants = casadi.substitute(expressions, old, new)
    ends = Endpoints(
        *(sym.sym(f"{phase.name}_{letter}", n) for letter, n in (
            ("t0", 1), ("tf", 1), ("x0", x.numel()), ("xf", x.numel()), ("z0", z.numel()), ("zf", z.numel()),
            ("u0", u.numel()), ("uf", u.numel()), ("q", len(phase.integrals)),
        ))
    )  # fmt: skip
    form = PhaseForm(
        name=phase.name, t=t, x=x, z=z, u=u,
        states=_quantities(kinds["state"]), algebraics=_quantities(kinds["algebraic"]), controls=_quantities(kinds["control"]),
        f=f, g=g, g_names=tuple(n for name, e in phase.algebraic_residuals for n in _numbered(name, e.numel())),
        c=c, c_bound=stacked([q.bound for q in phase.paths]), c_names=_row_names(phase.paths), l=l,
        start_time=_start_time(problem, phase), end_time=phase.end_time or Bound.open(1), time_unit=phase.t.unit,
        ends=ends, costate=costate,
        invariants=tuple(
            InvariantForm(i.name, e, i.order, bool(casadi.depends_on(e, costate)))
            for i, e in zip(phase.invariants, invariants, strict=True)
        ),
    )  # fmt: skip
    before = [phase.t_start, phase.t_end]
    after = [ends.t0, ends.tf]
    for kind, at_start, at_end in (("state", ends.x0, ends.xf), ("algebraic", ends.z0, ends.zf), ("control", ends.u0, ends.uf)):
        before += [d.at_start for d in kinds[kind]] + [d.at_end for d in kinds[kind]]
        after += _split(at_start, sizes[kind]) + _split(at_end, sizes[kind])
    return form, before + [symbol for symbol, _ in phase.integrals], after + _split(ends.q, [1] * len(phase.integrals))


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
            conditions.append(Condition(f"{name} from '{a.name}' to '{b.name}'", start - end, Bound(zero, zero)))
    return conditions


def _durations(problem: Problem) -> list[Condition]:
    """Time must not run backwards where both ends of a phase are free to move."""
    conditions = []
    for phase in problem.phases.values():
        start, end = _start_time(problem, phase), phase.end_time or Bound.open(1)
        if end.lower[0] < start.upper[0]:
            conditions.append(
                Condition(
                    f"duration of phase '{phase.name}'", phase.t_end - phase.t_start, Bound(np.zeros(1), np.full(1, np.inf))
                )
            )
    return conditions


def _quantities(declared: list[Declared]) -> tuple[Quantity, ...]:
    starts = np.concatenate([[0], np.cumsum([d.size for d in declared])]).astype(int)
    return tuple(
        Quantity(d.name, d.size, d.unit, slice(int(a), int(a) + d.size), d.bound, d.guess, d.scale, d.start, d.end)
        for d, a in zip(declared, starts[:-1], strict=True)
    )


def _split(column: Any, sizes: list[int]) -> list[Any]:
    return casadi.vertsplit(column, [0, *np.cumsum(sizes).tolist()]) if sizes else []


def _numbered(name: str, size: int) -> list[str]:
    return [name] if size == 1 else [f"{name}[{i}]" for i in range(size)]


def _row_names(conditions: list[Condition]) -> tuple[str, ...]:
    return tuple(n for c in conditions for n in _numbered(c.name, c.expression.numel()))
