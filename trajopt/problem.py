"""The statement of an optimal-control problem.

``Problem`` and ``Phase`` collect the statement; ``Problem.finish`` checks it and returns the ``NormalForm`` for the solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi
import numpy as np

from trajopt.bounds import Bound, Free, bound_between, bound_of
from trajopt.displays import display
from trajopt.errors import ProblemError, suggest
from trajopt.expression_text import Writer, elements
from trajopt.labels import component_labels
from trajopt.normal_form import Condition, Linkage, NormalForm, Parameter, normal_form
from trajopt.printing import print_problem
from trajopt.relations import limits_of
from trajopt.system import System

Expression = Any  # a casadi.SX or casadi.MX, or a number
Guess = float | Sequence[float] | np.ndarray | Callable[[float], Any] | None


class _Named:
    """A CasADi symbol with a name that can be a dictionary key."""

    label: str
    unit: str
    components: tuple[str, ...]

    def __hash__(self) -> int:  # CasADi's __eq__ builds an expression, so identity is the only usable key
        return id(self)

    def _index(self, index: Any) -> Any:
        """Return the index of a component given by name; other indices are returned unchanged."""
        if not isinstance(index, str):
            return index
        if index not in self.components:
            raise ProblemError(
                f"'{self.label}' has no component '{index}'",
                expected=", ".join(self.components) or "an index, since its components have no names",
                hint=suggest(index, self.components) if self.components else 'name them: components=("hip", "knee")',
            )
        return self.components.index(index)


class NamedSX(_Named, casadi.SX):
    """Symbol of a problem with ``symbols=casadi.SX``."""

    def __init__(self, label: str, size: int = 1, unit: str = "", components: Sequence[str] = ()) -> None:
        vars(self).update(vars(casadi.SX.sym(label, size)))  # the symbol itself: SX.__init__ takes ten times as long to copy it
        self.label, self.unit, self.components = label, unit, tuple(components)

    __hash__ = _Named.__hash__

    def __getitem__(self, index: Any) -> Any:
        return casadi.SX.__getitem__(self, self._index(index))


class NamedMX(_Named, casadi.MX):
    """Symbol of a problem with ``symbols=casadi.MX``: tables and other functions that SX does not support."""

    def __init__(self, label: str, size: int = 1, unit: str = "", components: Sequence[str] = ()) -> None:
        casadi.MX.__init__(self, casadi.MX.sym(label, size))
        self.label, self.unit, self.components = label, unit, tuple(components)

    __hash__ = _Named.__hash__

    def __getitem__(self, index: Any) -> Any:
        return casadi.MX.__getitem__(self, self._index(index))


def _named(symbols: Any, name: str, size: int, unit: str, components: Sequence[str] = ()) -> NamedSX | NamedMX:
    return (NamedSX if symbols is casadi.SX else NamedMX)(name, size, unit, components)


@dataclass
class Declared:
    """The declaration of a state, control, algebraic or static variable."""

    kind: str
    name: str
    size: int
    unit: str
    symbol: Any
    bound: Bound
    guess: Guess
    scale: Any
    at_start: Any = None  # the symbol of its value at the start of the phase
    at_end: Any = None
    start: Bound = field(init=False)  # bounds of the initial value of a state
    end: Bound = field(init=False)
    rate: Any = None  # x' of a state
    components: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.start, self.end = Bound.open(self.size), Bound.open(self.size)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of its components."""
        return component_labels(self.name, self.size, self.components)


@dataclass(frozen=True)
class InvariantStatement:
    """A declared invariant of the motion."""

    name: str
    expression: Any
    order: int


@dataclass(frozen=True)
class RedundantModel:
    """The motion of a phase in redundant coordinates: a system, and expressions of the phase for its states and parameters."""

    system: Callable[[], System]
    states: Mapping[str, Any]
    inputs: Mapping[str, Any]


class Phase:
    """A phase with its own time interval, states, controls, dynamics and constraints. Created by ``Problem.phase``.

    >>> from trajopt import Problem, free
    >>> flight = Problem("throw").phase("flight")
    >>> t = flight.time(start=0, end=free(0.1, 10))
    >>> y = flight.state("y", start=0, upper=5, unit="m")
    >>> flight.final(y) - flight.initial(y)
    SX((flight.y(tf)-flight.y(t0)))
    """

    def __init__(self, problem: Problem, name: str) -> None:
        self._problem = problem
        self.name = name
        self.declared: dict[str, Declared] = {}
        self.t: Any = None
        self.t_start: Any = None
        self.t_end: Any = None
        self.start_time: Bound | None = None
        self.end_time: Bound | None = None
        self.algebraic_residuals: list[tuple[str, Any]] = []
        self.paths: list[Condition] = []
        self.integrals: list[tuple[Any, Any]] = []  # (symbol of the value, integrand)
        self.invariants: list[InvariantStatement] = []
        self.redundant: RedundantModel | None = None
        self.costates: dict[str, Any] = {}

    def time(self, start: float | Free | None = None, end: float | Free | None = None, unit: str = "s") -> Any:
        """Declare the time. The default start is 0, or the end of the preceding connected phase."""
        self._open()
        if self.t is not None:
            raise ProblemError(f"the time of phase '{self.name}' is declared twice")
        self.t = _named(self._problem.symbols, "t", 1, unit)
        self.t_start, self.t_end = self._endpoint("t", 1, "t0"), self._endpoint("t", 1, "tf")
        self.start_time = None if start is None else bound_of(start, 1, f"start time of phase '{self.name}'")
        self.end_time = bound_of(end, 1, f"end time of phase '{self.name}'")
        return self.t

    def state(
        self, name: str, size: int | None = None, *, start: Any = None, end: Any = None, lower: Any = None, upper: Any = None,
        guess: Guess = None, unit: str = "", scale: Any = None, components: Sequence[str] = (),
    ) -> Any:  # fmt: skip
        """Declare a state. A number or array fixes ``start`` or ``end``, ``free(lower, upper)`` bounds it, None leaves it free.

        In an array, None or NaN leaves its component free: ``start=[0, None]``.
        ``components`` names the entries of a vector: ``angle = ph.state("angle", components=("hip", "knee"))``, then
        ``angle["knee"]``.
        """
        size = _size(name, size, components)
        declared = self._declare("state", name, size, lower, upper, guess, unit, scale, components)
        declared.start = bound_of(start, size, f"start of state '{name}'")
        declared.end = bound_of(end, size, f"end of state '{name}'")
        return declared.symbol

    def control(
        self, name: str, size: int | None = None, *, lower: Any = None, upper: Any = None,
        guess: Guess = None, unit: str = "", scale: Any = None, components: Sequence[str] = (),
    ) -> Any:  # fmt: skip
        """Declare a control, a function of time within its bounds that the solver determines."""
        size = _size(name, size, components)
        return self._declare("control", name, size, lower, upper, guess, unit, scale, components).symbol

    def algebraic(
        self, name: str, size: int | None = None, *, lower: Any = None, upper: Any = None,
        guess: Guess = None, unit: str = "", scale: Any = None, components: Sequence[str] = (),
    ) -> Any:  # fmt: skip
        """Declare an algebraic variable, determined by the equations of ``require``."""
        size = _size(name, size, components)
        return self._declare("algebraic", name, size, lower, upper, guess, unit, scale, components).symbol

    def dynamics(self, rates: Mapping[Any, Expression]) -> None:
        """State the time derivatives of states: ``{x: v, v: u}``."""
        self._open()
        by_symbol = {id(d.symbol): d for d in self.declared.values() if d.kind == "state"}
        for symbol, rate in rates.items():
            if id(symbol) not in by_symbol:
                label = getattr(symbol, "label", str(symbol))
                raise ProblemError(
                    f"dynamics of phase '{self.name}': '{label}' is not a state of this phase",
                    expected="one of " + ", ".join(d.name for d in by_symbol.values()),
                    hint="give the derivative of a vector state as a whole: ph.dynamics({r: vertcat(a, b)})",
                )
            declared = by_symbol[id(symbol)]
            if declared.rate is not None:
                raise ProblemError(f"the derivative of state '{declared.name}' is given twice")
            declared.rate = self._column(rate, declared.size, f"the derivative of state '{declared.name}'")

    def require(self, expression: Expression, name: str | None = None) -> None:
        """State an equation for the algebraic variables: 0 = expression, or a relation such as ``z**2 == x``."""
        self._open()
        expression = _residual(expression, f"an algebraic equation of phase '{self.name}'")
        column = self._column(expression, None, "an algebraic equation")
        self.algebraic_residuals.append((name or _short(column), column))

    def path(
        self, expression: Expression, *, lower: Any = None, upper: Any = None, equals: Any = None, name: str | None = None
    ) -> None:
        """State a path constraint: lower <= expression <= upper, or expression = equals, at all times of the phase.

        A relation has its limits in it: ``ph.path(x**2 + y**2 >= 1)``.
        """
        self._open()
        condition = _condition(expression, (lower, upper, equals), name, self._problem.symbols, "path constraint")
        self.paths.append(condition)

    def initial(self, expression: Expression) -> Any:
        """Return the value of an expression at the start of the phase."""
        return self._at(expression, "at_start", self.t_start)

    def final(self, expression: Expression) -> Any:
        """Return the value of an expression at the end of the phase."""
        return self._at(expression, "at_end", self.t_end)

    def integral(self, expression: Expression) -> Any:
        """Return the integral of a scalar expression over the phase."""
        self._open()
        column = self._column(expression, 1, f"an integral over phase '{self.name}'")
        symbol = self._problem.symbols.sym(f"integral({_short(column, 60)})")
        self.integrals.append((symbol, column))
        return symbol

    def costate(self, state: Any) -> Any:
        """Return the symbol of a state's costate, for use in ``invariant``."""
        for declared in self.declared.values():
            if declared.symbol is state and declared.kind == "state":
                if declared.name not in self.costates:
                    self.costates[declared.name] = self._problem.symbols.sym(f"costate({declared.name})", declared.size)
                return self.costates[declared.name]
        raise ProblemError(f"costate: '{getattr(state, 'label', state)}' is not a state of phase '{self.name}'")

    def invariant(self, name: str, expression: Expression, order: int = 0) -> None:
        """Declare an invariant of the motion: a first integral (order 0), a velocity (1) or a position condition (2)."""
        self._open()
        if order not in (0, 1, 2):
            raise ProblemError(f"invalid order of invariant '{name}'", got=order, expected="0, 1 or 2")
        self.invariants.append(InvariantStatement(name, self._column(expression, None, f"invariant '{name}'"), order))

    def in_redundant_coordinates(
        self,
        system: System | Callable[[], System],
        states: Mapping[str, Expression] | None = None,
        inputs: Mapping[str, Expression] | None = None,
    ) -> None:
        """State the motion a second time as a system in redundant coordinates, whose invariants are constraints.

        ``certify`` integrates it forward under the controls of the solution, once as it is and once with the constraints
        stabilized, and compares the end and the drift. Neither method uses it.

        Parameters
        ----------
        system : System or function that returns one
            A function is called by ``certify`` only, so that solving does not have to wait for it.
        states : mapping
            Expressions in the states of the phase. A state that is not listed is the variable of the same name, or the time
            derivative of another state.
        inputs : mapping
            Expressions for parameters of the system. One that is not listed is the variable or parameter of the same name, or
            keeps its own value.
        """
        self._open()
        if self._problem.symbols is not casadi.SX:
            raise ProblemError("in_redundant_coordinates needs a problem with SX symbols", hint="Problem(name)")
        if self.redundant is not None:
            raise ProblemError(f"phase '{self.name}' has a model in redundant coordinates already")
        columns = [
            {name: self._column(value, 1, f"'{name}' of a system") for name, value in (given or {}).items()}
            for given in (states, inputs)
        ]
        self.redundant = RedundantModel(system if callable(system) else lambda: system, *columns)

    def of_kind(self, kind: str) -> list[Declared]:
        """Return the variables of a kind: state, control or algebraic."""
        return [d for d in self.declared.values() if d.kind == kind]

    def _declare(
        self, kind: str, name: str, size: int, lower: Any, upper: Any, guess: Guess, unit: str, scale: Any,
        components: Sequence[str],
    ) -> Declared:  # fmt: skip
        self._open()
        if name in self.declared or name == "t":
            raise ProblemError(f"the name '{name}' is used twice in phase '{self.name}'", expected="unique names of variables")
        symbol = _named(self._problem.symbols, name, size, unit, components)
        bound = bound_between(lower, upper, None, size, f"{kind} '{name}'", allow_open=True)
        ends = self._endpoint(name, size, "t0"), self._endpoint(name, size, "tf")
        self.declared[name] = Declared(kind, name, size, unit, symbol, bound, guess, scale, *ends, components=tuple(components))
        return self.declared[name]

    def _endpoint(self, name: str, size: int, where: str) -> Any:
        prefix = "" if self.name == "main" else f"{self.name}."
        return self._problem.symbols.sym(f"{prefix}{name}({where})", size)

    def _at(self, expression: Expression, where: str, time: Any) -> Any:
        values = [(d.symbol, getattr(d, where)) for d in self.declared.values()] + (
            [(self.t, time)] if self.t is not None else []
        )
        for symbol, value in values:
            if symbol is expression:
                return self._problem.symbols(value)  # a copy, since the caller may assign to its components
        column = self._column(expression, None, f"an endpoint value of phase '{self.name}'")
        return casadi.substitute([column], [symbol for symbol, _ in values], [value for _, value in values])[0]

    def _column(self, expression: Expression, size: int | None, what: str) -> Any:
        return as_column(expression, self._problem.symbols, size, what)

    def _open(self) -> None:
        self._problem._open()


@dataclass(eq=False)
class Problem:
    """An optimal-control problem under construction.

    >>> ocp = Problem("rest to rest")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=1)
    >>> x, v = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0)
    >>> u = ph.control("u")
    >>> ph.dynamics({x: v, v: u})
    >>> ocp.minimize(ph.integral(u**2))
    >>> print(ocp)
    problem 'rest to rest'
      minimize integral(u^2)
      phase 'main': t from 0 to 1 s
        state     x   0 -> 1    x' = v
        state     v   0 -> 0    v' = u
        control   u
    """

    name: str
    symbols: Any = casadi.SX
    phases: dict[str, Phase] = field(default_factory=dict)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    variables: dict[str, Declared] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)
    links: list[Linkage] = field(default_factory=list)
    objective: Any = None
    sense: int = 1  # -1 for maximize
    _form: NormalForm | None = None

    def phase(self, name: str = "main") -> Phase:
        """Create a phase."""
        self._open()
        if name in self.phases:
            raise ProblemError(f"phase '{name}' already exists", expected="unique names of phases")
        self.phases[name] = Phase(self, name)
        return self.phases[name]

    def connect(self, before: Phase, after: Phase, states: Sequence[str] | None = None, time: bool = True) -> None:
        """Make states of the same name (all common ones, or ``states``) and time continuous from one phase to the next."""
        self._open()
        common = [d.name for d in before.of_kind("state") if d.name in after.declared and after.declared[d.name].kind == "state"]
        for name in states if states is not None else common:
            if name not in common:
                raise ProblemError(
                    f"connect: state '{name}' is not in both phases '{before.name}' and '{after.name}'", expected=common
                )
            if before.declared[name].size != after.declared[name].size:
                raise ProblemError(f"connect: state '{name}' has different sizes in phases '{before.name}' and '{after.name}'")
        self.links.append(Linkage(before.name, after.name, tuple(states if states is not None else common), time))

    def require(
        self, expression: Expression, *, lower: Any = None, upper: Any = None, equals: Any = None, name: str | None = None
    ) -> None:
        """State a condition on initial, final and integral values of any phases, static variables and parameters.

        A relation has its limits in it: ``ocp.require(ph.final(v) == ph.initial(v))``.
        """
        self._open()
        self.conditions.append(_condition(expression, (lower, upper, equals), name, self.symbols, "condition"))

    def minimize(self, expression: Expression) -> None:
        """State the cost as an expression of initial, final and integral values."""
        self._set_objective(expression, 1)

    def maximize(self, expression: Expression) -> None:
        """State the objective to maximize as an expression of initial, final and integral values."""
        self._set_objective(expression, -1)

    def parameter(self, name: str, value: Any, unit: str = "", *, lower: float | None = None, upper: float | None = None) -> Any:
        """Declare a parameter, a number or column that can change without rebuilding the problem.

        ``lower`` and ``upper`` limit the values that it may be given.
        """
        values = np.atleast_1d(np.asarray(value, dtype=float)).ravel()
        parameter = Parameter(name, values, unit, self._new(name, values.size, unit), lower, upper)
        parameter.check(values, ProblemError)
        self.parameters[name] = parameter
        return parameter.symbol

    def variable(
        self, name: str, size: int = 1, *, lower: Any = None, upper: Any = None,
        guess: Any = None, unit: str = "", scale: Any = None,
    ) -> Any:  # fmt: skip
        """Declare a static decision variable, a number or column that is constant in time."""
        symbol = self._new(name, size, unit)
        bound = bound_between(lower, upper, None, size, f"variable '{name}'", allow_open=True)
        self.variables[name] = Declared("variable", name, size, unit, symbol, bound, guess, scale)
        return symbol

    def finish(self) -> NormalForm:
        """Check and freeze the statement, and return its normal form. Solvers call this."""
        if self._form is None:
            self._form = normal_form(self)
        return self._form

    def __str__(self) -> str:
        return print_problem(self)

    def _repr_html_(self) -> str:
        return str(display("problem_html", self))

    def __repr__(self) -> str:
        names = [
            f"{phase.name}: {', '.join(d.name for kind in ('state', 'control') for d in phase.of_kind(kind))}"
            for phase in self.phases.values()
        ]
        return f"<Problem '{self.name}'; {'; '.join(names)}>"

    def _new(self, name: str, size: int, unit: str) -> Any:
        """Return the symbol of a new parameter or static variable."""
        self._open()
        if name in self.parameters or name in self.variables:
            raise ProblemError(f"the name '{name}' is used twice", expected="unique names of parameters and variables")
        return _named(self.symbols, name, size, unit)

    def _set_objective(self, expression: Expression, sense: int) -> None:
        self._open()
        if self.objective is not None:
            raise ProblemError(f"the objective of problem '{self.name}' is given twice", expected="one minimize or one maximize")
        self.objective, self.sense = as_column(expression, self.symbols, 1, "the objective"), sense

    def _open(self) -> None:
        if self._form is not None:
            raise ProblemError(
                f"problem '{self.name}' is finished and can no longer be changed",
                hint="state everything before solving, or use ocp.parameter(name, value) for numbers that change",
            )


def _size(name: str, size: int | None, components: Sequence[str]) -> int:
    """Return the size of a variable: as given, else the number of its named components, else 1."""
    if len(set(components)) < len(components) or isinstance(components, str):
        raise ProblemError(f"components of '{name}'", got=components, expected="a tuple of distinct names")
    if size is None:
        return len(components) or 1
    if not isinstance(size, int) or size < 1:
        raise ProblemError(f"size of '{name}'", got=size, expected="an integer of at least 1")
    if components and len(components) != size:
        raise ProblemError(f"components of '{name}'", got=f"{len(components)} names", expected=f"{size}, the size")
    return size


def _condition(expression: Expression, limits: tuple[Any, Any, Any], name: str | None, symbols: Any, what: str) -> Condition:
    """Return a condition from an expression and its limits (lower, upper, equals), or from a relation without them."""
    relation = limits_of(expression, f"a {what}")
    if relation is not None:
        if any(limit is not None for limit in limits):
            raise ProblemError(f"a {what} is a relation and has limits", got=str(expression), expected="one of the two")
        expression, limits = relation[0], (*relation[1:], None)
    column = as_column(expression, symbols, None, f"a {what}")
    label = name or _short(column)
    return Condition(label, column, bound_between(*limits, column.numel(), f"{what} '{label}'"))


def _residual(expression: Expression, what: str) -> Expression:
    """Return the expression that an equation sets to zero."""
    relation = limits_of(expression, what)
    if relation is None:
        return expression
    column, lower, upper = relation
    if np.any(lower != upper):
        raise ProblemError(f"{what} is an inequality", got=str(column), hint="state a constraint by ph.path(x + y <= 1)")
    return column - casadi.DM(upper)


def as_column(expression: Expression, symbols: Any, size: int | None, what: str) -> Any:
    """Convert an expression to a dense column of the problem's symbol type."""
    listed = expression if isinstance(expression, (list, tuple)) else [expression]
    try:
        parts = [part if isinstance(part, symbols) else symbols(part) for part in listed]
    except NotImplementedError as error:
        other = casadi.MX if symbols is casadi.SX else casadi.SX
        mixed = any(isinstance(part, other) for part in listed)
        raise ProblemError(
            f"{what} is not an expression of this problem",
            got=type(expression).__name__,
            expected=symbols.__name__,
            hint=f"Problem(name, symbols=casadi.{other.__name__})" if mixed else None,
        ) from error
    columns = [part if part.is_column() and part.is_dense() else casadi.densify(casadi.vec(part)) for part in parts]
    column = columns[0] if len(columns) == 1 else casadi.vertcat(*columns)
    if size is not None and column.numel() != size:
        raise ProblemError(f"{what} has the wrong size", got=column.numel(), expected=size)
    if symbols is casadi.SX and any(e.is_constant() and not np.isfinite(float(e)) for e in column.elements()):
        raise ProblemError(f"{what} contains a number that is not finite", got=str(column))
    return column


def _short(expression: Any, width: int = 40) -> str:
    """Return the default name of a condition: its expression, truncated if long."""
    text = ", ".join(Writer(width=400).text(e) or str(e) for e in elements(expression))
    return text if len(text) <= width else text[: width - 3] + "..."
