"""The statement of an optimal-control problem.

``Problem`` and ``Phase`` collect the statement; ``Problem.finish`` checks it and returns the
``NormalForm`` for the solvers.
"""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi
import numpy as np

from trajopt.arguments import named_methods, named_settings
from trajopt.compiled.pickling import packed, unpacked
from trajopt.displays import display
from trajopt.errors import ProblemError, check_type, warn
from trajopt.statement.bounds import Bound, Free, bound_between, bound_of
from trajopt.statement.expression_text import Writer, elements
from trajopt.statement.labels import component_labels
from trajopt.statement.normal_form import (
    Condition,
    Linkage,
    NormalForm,
    OutputForm,
    Parameter,
    normal_form,
)
from trajopt.statement.printing import print_problem
from trajopt.statement.relations import limits_of
from trajopt.statement.symbols import Computed, Symbol, named
from trajopt.system import System

Expression = Any  # a casadi.SX or casadi.MX, or a number
Limit = float | casadi.SX | casadi.MX  # a number, or an expression in parameters
# for every component, or one for each; None: not given
Values = Limit | Sequence[Limit | None] | np.ndarray | None
Guess = float | Sequence[float] | np.ndarray | Callable[[float], Any] | None


@dataclass
class Declared:
    """The declaration of a state, control, algebraic or static variable."""

    kind: str
    name: str
    size: int
    unit: str
    symbol: Symbol
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
    """The motion of a phase in redundant coordinates: a system, and expressions of the phase for
    its states and parameters.
    """

    system: Callable[[], System]
    states: Mapping[str, Any]
    inputs: Mapping[str, Any]


@named_methods
class Phase:
    """A phase with its own time interval, states, controls, dynamics and constraints. Created by
    ``Problem.phase``.

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
        self.outputs: list[OutputForm] = []
        self.redundant: RedundantModel | None = None
        self.costates: dict[str, Any] = {}
        self.samples: dict[float, dict[str, Any]] = {}  # time -> state -> symbol of its value there

    @property
    def problem(self) -> Problem:
        """The problem that the phase belongs to."""
        return self._problem

    def time(
        self, start: Limit | Free | None = None, end: Limit | Free | None = None, unit: str = "s"
    ) -> Symbol:
        """Declare the time. The default start is 0, or the end of the preceding connected phase."""
        self._open()
        if self.t is not None:
            raise ProblemError(
                f"the time of phase '{self.name}' is declared twice",
                hint="another phase for another time: ocp.phase('flight')",
            )
        symbol = self.t = named(self._problem.symbols, "t", 1, unit)
        self.t_start, self.t_end = self._endpoint("t", 1, "t0"), self._endpoint("t", 1, "tf")
        self.start_time = (
            None
            if start is None
            else self._bound_of(start, 1, f"start time of phase '{self.name}'")
        )
        self.end_time = self._bound_of(end, 1, f"end time of phase '{self.name}'")
        return symbol

    def state(
        self,
        name: str,
        size: int | None = None,
        *,
        start: Values | Free = None,
        end: Values | Free = None,
        lower: Values = None,
        upper: Values = None,
        guess: Guess = None,
        unit: str = "",
        scale: Values = None,
        components: Sequence[str] = (),
    ) -> Symbol:
        """Declare a state. A number or array fixes ``start`` or ``end``, ``free(lower, upper)``
        bounds it, None leaves it free.

        In an array, None or NaN leaves its component free: ``start=[0, None]``. Boundary values and
        bounds may be expressions in parameters: ``start=height``, ``end=free(0, 2 * height)``,
        ``upper=height``. ``components`` names the entries of a vector: ``angle = ph.state("angle",
        components=("hip", "knee"))``, then ``angle["knee"]``.
        """
        size = _size(name, size, components)
        declared = self._declare("state", name, size, lower, upper, guess, unit, scale, components)
        declared.start = self._bound_of(start, size, f"start of state '{name}'")
        declared.end = self._bound_of(end, size, f"end of state '{name}'")
        return declared.symbol

    def control(
        self, name: str, size: int | None = None, *, lower: Values = None, upper: Values = None,
        guess: Guess = None, unit: str = "", scale: Values = None, components: Sequence[str] = (),
    ) -> Symbol:  # fmt: skip
        """Declare a control, a function of time within its bounds that the solver determines."""
        size = _size(name, size, components)
        return self._declare(
            "control", name, size, lower, upper, guess, unit, scale, components
        ).symbol

    def algebraic(
        self, name: str, size: int | None = None, *, lower: Values = None, upper: Values = None,
        guess: Guess = None, unit: str = "", scale: Values = None, components: Sequence[str] = (),
    ) -> Symbol:  # fmt: skip
        """Declare an algebraic variable, determined by the equations of ``require``."""
        size = _size(name, size, components)
        return self._declare(
            "algebraic", name, size, lower, upper, guess, unit, scale, components
        ).symbol

    def dynamics(self, rates: Mapping[Any, Expression]) -> None:
        """State the time derivatives of states: ``{x: v, v: u}``."""
        self._open()
        if not isinstance(rates, Mapping):
            raise ProblemError(
                f"dynamics of phase '{self.name}' must be given by state",
                got=type(rates).__name__,
                expected="a dictionary from states to their time derivatives",
                hint="ph.dynamics({x: v, v: u})",
            )
        by_symbol = {id(d.symbol): d for d in self.declared.values() if d.kind == "state"}
        for symbol, rate in rates.items():
            if id(symbol) not in by_symbol:
                label = getattr(symbol, "label", str(symbol))
                raise ProblemError(
                    f"dynamics of phase '{self.name}': '{label}' is not a state of this phase",
                    expected="one of " + ", ".join(d.name for d in by_symbol.values()),
                    hint="give the derivative of a vector state as a whole: ph.dynamics({r: "
                    "vertcat(a, b)})",
                )
            declared = by_symbol[id(symbol)]
            if declared.rate is not None:
                raise ProblemError(
                    f"the derivative of state '{declared.name}' is given twice",
                    hint="state the whole derivative once; terms may be added in an expression",
                )
            declared.rate = self._column(
                rate, declared.size, f"the derivative of state '{declared.name}'"
            )

    def require(self, expression: Expression, name: str | None = None) -> None:
        """State an equation for the algebraic variables: 0 = expression, or a relation such as
        ``z**2 == x``.
        """
        self._open()
        expression = _residual(expression, f"an algebraic equation of phase '{self.name}'")
        column = self._column(expression, None, "an algebraic equation")
        self.algebraic_residuals.append((name or _short(column), column))

    def path(
        self,
        expression: Expression,
        *,
        lower: Values = None,
        upper: Values = None,
        equals: Values = None,
        name: str | None = None,
        unit: str = "",
    ) -> None:
        """State a path constraint: lower <= expression <= upper, or expression = equals, at all
        times of the phase.

        A relation has its limits in it: ``ph.path(x**2 + y**2 >= 1)``. The solution has the
        expression as an output of its name, with these limits.
        """
        self._open()
        condition = _condition(
            expression, (lower, upper, equals), name, self._problem, "path constraint", unit
        )
        self.paths.append(condition)

    def output(
        self,
        name: str,
        expression: Expression,
        *,
        unit: str = "",
        lower: Values = None,
        upper: Values = None,
    ) -> None:
        """Declare a quantity that follows from the trajectory: a force, a distance, an energy.

        ``solution[name]`` is its curve; plots, tables and files have it. The limits are drawn, not
        imposed: ``path`` states a constraint, which is an output too.

        >>> from trajopt import Problem, solve
        >>> ocp = Problem("push")
        >>> ph = ocp.phase()
        >>> t, x, v = ph.time(start=0, end=1), ph.state("x", start=0, end=1), ph.state("v", start=0)
        >>> u = ph.control("u", unit="N")
        >>> ph.dynamics({x: v, v: u})
        >>> ph.output("power", u * v, unit="W", upper=2)
        >>> ocp.minimize(ph.integral(u**2))
        >>> round(solve(ocp)["power"](0.5), 4)
        1.6875
        """
        self._open()
        _check_name(name, "an output", unit)
        if name in self.declared or name == "t" or name in [o.name for o in self.outputs]:
            raise ProblemError(
                f"the name '{name}' is used twice in phase '{self.name}'",
                expected="unique names of variables and outputs",
            )
        column = self._column(expression, None, f"output '{name}'")
        parameters = self._problem.parameters.values()
        what = f"output '{name}'"
        bound = bound_between(lower, upper, None, column.numel(), what, True, parameters)
        self.outputs.append(OutputForm(name, column, unit, bound))

    def initial(self, expression: Expression) -> Computed:
        """Return the value of an expression at the start of the phase."""
        value: Computed = self._at(expression, "at_start", self.t_start)
        return value

    def final(self, expression: Expression) -> Computed:
        """Return the value of an expression at the end of the phase."""
        value: Computed = self._at(expression, "at_end", self.t_end)
        return value

    def at(self, time: float, expression: Expression) -> Computed:
        """Return the value of an expression of states and time at a time inside the phase, whose
        start and end are given numbers.

        >>> from trajopt import Problem, solve
        >>> ocp = Problem("through a point")
        >>> ph = ocp.phase()
        >>> t = ph.time(start=0, end=2)
        >>> x, u = ph.state("x", start=0, end=0), ph.control("u")
        >>> ph.dynamics({x: u})
        >>> ocp.require(ph.at(0.5, x), equals=1)
        >>> ocp.minimize(ph.integral(u**2))
        >>> round(solve(ocp).objective, 6)  # 1 / 0.5 + 1 / 1.5
        2.666667
        """
        self._open()
        try:
            place = float(time)
        except (TypeError, ValueError, RuntimeError, NotImplementedError):
            place = np.nan
        if not np.isfinite(place):
            raise ProblemError(
                f"ph.at: the time in phase '{self.name}'", got=str(time), expected="a number"
            )
        sample = self.samples.setdefault(place, {})
        states = self.of_kind("state")
        for d in states:
            if d.name not in sample:
                sample[d.name] = self._endpoint(d.name, d.size, f"{place:g}")
        column = self._column(expression, None, f"a value at {place:g} in phase '{self.name}'")
        others = [d.symbol for d in self.declared.values() if d.kind != "state"]
        if any(casadi.depends_on(column, symbol) for symbol in others):
            raise ProblemError(
                f"ph.at: the expression in phase '{self.name}' has controls or algebraic variables",
                got=str(column),
                expected="states, time, static variables and parameters",
            )
        old = [d.symbol for d in states] + ([self.t] if self.t is not None else [])
        new = [sample[d.name] for d in states] + ([place] if self.t is not None else [])
        value: Computed = casadi.substitute([column], old, [self._problem.symbols(v) for v in new])[
            0
        ]
        return value

    def integral(self, expression: Expression) -> Computed:
        """Return the integral of a scalar expression over the phase."""
        self._open()
        column = self._column(expression, 1, f"an integral over phase '{self.name}'")
        symbol: Computed = self._problem.symbols.sym(f"integral({_short(column, 60)})")
        self.integrals.append((symbol, column))
        return symbol

    def costate(self, state: Any) -> Computed:
        """Return the symbol of a state's costate, for use in ``invariant``."""
        for declared in self.declared.values():
            if declared.symbol is state and declared.kind == "state":
                if declared.name not in self.costates:
                    self.costates[declared.name] = self._problem.symbols.sym(
                        f"costate({declared.name})", declared.size
                    )
                symbol: Computed = self.costates[declared.name]
                return symbol
        raise ProblemError(
            f"costate: '{getattr(state, 'label', state)}' is not a state of phase '{self.name}'",
            expected="one of " + ", ".join(d.name for d in self.of_kind("state")),
        )

    def invariant(self, name: str, expression: Expression, order: int = 0) -> None:
        """Declare an invariant of the motion: a first integral (order 0), a velocity (1) or a
        position condition (2).
        """
        self._open()
        _check_name(name, "an invariant")
        if order not in (0, 1, 2):
            raise ProblemError(
                f"invalid order of invariant '{name}'", got=order, expected="0, 1 or 2"
            )
        self.invariants.append(
            InvariantStatement(name, self._column(expression, None, f"invariant '{name}'"), order)
        )

    def in_redundant_coordinates(
        self,
        system: System | Callable[[], System],
        states: Mapping[str, Expression] | None = None,
        inputs: Mapping[str, Expression] | None = None,
    ) -> None:
        """State the motion a second time as a system in redundant coordinates, whose invariants are
        constraints.

        ``certify`` integrates it forward under the controls of the solution, once as it is and once
        with the constraints stabilized, and compares the end and the drift. Neither method uses it.

        Parameters
        ----------
        system : System or function that returns one
            A function is called by ``certify`` only, so that solving does not have to wait for it.
        states : mapping
            Expressions in the states of the phase. A state that is not listed is the variable of
            the same name, or the time derivative of another state.
        inputs : mapping
            Expressions for parameters of the system. One that is not listed is the variable or
            parameter of the same name, or keeps its own value.
        """
        self._open()
        if not callable(system):
            check_type(
                "in_redundant_coordinates: the system",
                system,
                System,
                "a trajopt.system.System, or a function that returns one",
            )
        if self._problem.symbols is not casadi.SX:
            raise ProblemError(
                "in_redundant_coordinates needs a problem with SX symbols", hint="Problem(name)"
            )
        if self.redundant is not None:
            raise ProblemError(f"phase '{self.name}' has a model in redundant coordinates already")
        columns = [
            {
                name: self._column(value, 1, f"'{name}' of a system")
                for name, value in (given or {}).items()
            }
            for given in (states, inputs)
        ]
        self.redundant = RedundantModel(system if callable(system) else lambda: system, *columns)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_problem": None}  # the problem that holds it sets itself

    def of_kind(self, kind: str) -> list[Declared]:
        """Return the variables of a kind: state, control or algebraic."""
        return [d for d in self.declared.values() if d.kind == kind]

    def _declare(
        self,
        kind: str,
        name: str,
        size: int,
        lower: Any,
        upper: Any,
        guess: Guess,
        unit: str,
        scale: Any,
        components: Sequence[str],
    ) -> Declared:
        self._open()
        _check_name(name, f"a {kind}", unit)
        if size > self._problem.largest:
            raise ProblemError(
                f"{kind} '{name}' has {size} components",
                expected=f"at most {self._problem.largest}",
                hint=f"Problem(name, largest={size}), if they are all meant",
            )
        if name in self.declared or name == "t":
            raise ProblemError(
                f"the name '{name}' is used twice in phase '{self.name}'",
                expected="unique names of variables",
            )
        symbol = named(self._problem.symbols, name, size, unit, components)
        bound = bound_between(
            lower, upper, None, size, f"{kind} '{name}'", True, self._problem.parameters.values()
        )
        ends = self._endpoint(name, size, "t0"), self._endpoint(name, size, "tf")
        self.declared[name] = Declared(
            kind, name, size, unit, symbol, bound, guess, scale, *ends, components=tuple(components)
        )
        return self.declared[name]

    def _bound_of(self, value: Any, size: int, what: str) -> Bound:
        return bound_of(value, size, what, self._problem.parameters.values())

    def _endpoint(self, name: str, size: int, where: str) -> Any:
        prefix = "" if self.name == "main" else f"{self.name}."
        return self._problem.symbols.sym(f"{prefix}{name}({where})", size)

    def _at(self, expression: Expression, where: str, time: Any) -> Any:
        values = [(d.symbol, getattr(d, where)) for d in self.declared.values()] + (
            [(self.t, time)] if self.t is not None else []
        )
        for symbol, value in values:
            if symbol is expression:
                # a copy, since the caller may assign to its components
                return self._problem.symbols(value)
        column = self._column(expression, None, f"an endpoint value of phase '{self.name}'")
        return casadi.substitute(
            [column], [symbol for symbol, _ in values], [value for _, value in values]
        )[0]

    def _column(self, expression: Expression, size: int | None, what: str) -> Any:
        return as_column(expression, self._problem.symbols, size, what)

    def _open(self) -> None:
        self._problem._open()


@named_settings
@named_methods
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
    largest: int = 10_000  # components of a variable: more are probably a mistake
    phases: dict[str, Phase] = field(default_factory=dict, init=False)
    parameters: dict[str, Parameter] = field(default_factory=dict, init=False)
    variables: dict[str, Declared] = field(default_factory=dict, init=False)
    conditions: list[Condition] = field(default_factory=list, init=False)
    links: list[Linkage] = field(default_factory=list, init=False)
    objective: Any = field(default=None, init=False)
    sense: int = field(default=1, init=False)  # -1 for maximize
    _form: NormalForm | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        _check_name(self.name, "a problem")
        if self.symbols is not casadi.SX and self.symbols is not casadi.MX:
            raise ProblemError(
                f"symbols of problem '{self.name}'",
                got=repr(self.symbols),
                expected="the class casadi.SX or casadi.MX",
                hint="import casadi; Problem(name, symbols=casadi.MX)",
            )

    def phase(self, name: str = "main") -> Phase:
        """Create a phase."""
        self._open()
        _check_name(name, "a phase")
        if name in self.phases:
            raise ProblemError(f"phase '{name}' already exists", expected="unique names of phases")
        self.phases[name] = Phase(self, name)
        return self.phases[name]

    def connect(
        self,
        before: Phase,
        after: Phase,
        states: Sequence[str] | None = None,
        time: bool = True,
        jump: Mapping[Any, Expression] | None = None,
    ) -> None:
        """Make states of the same name (all common ones, or ``states``) and time continuous from
        one phase to the next.

        ``jump`` says by how much a state changes instead: ``jump={mass: -30}`` when a stage is
        dropped, ``jump={v: -(1 + e) * before.final(v)}`` for an impact. Its keys are states of
        either phase, or their names.

        >>> ocp = Problem("staging")
        >>> first, second = ocp.phase("first"), ocp.phase("second")
        >>> mass = first.state("mass", start=100)
        >>> after = second.state("mass")
        >>> ocp.connect(first, second, time=False, jump={mass: -30})
        >>> ocp.links[0].jumps["mass"]
        SX(-30)
        """
        self._open()
        for which, phase in (("before", before), ("after", after)):
            check_type(f"connect: {which}", phase, Phase, "a phase, as in ph = ocp.phase('ascent')")
            if phase.problem is not self:
                raise ProblemError(
                    f"connect: phase '{phase.name}' is not a phase of problem '{self.name}'",
                    got=f"a phase of problem '{phase.problem.name}'",
                    expected=", ".join(self.phases),
                )
        if before is after:
            raise ProblemError(
                f"connect: phase '{before.name}' is connected with itself",
                expected="two phases",
                hint="ocp.require(ph.final(x) == ph.initial(x)) states a periodic motion",
            )
        if isinstance(states, str):
            raise ProblemError("connect: states", got=repr(states), expected=f"[{states!r}]")
        jumps = {_name_of(key): value for key, value in (jump or {}).items()}
        common = [
            d.name
            for d in before.of_kind("state")
            if d.name in after.declared and after.declared[d.name].kind == "state"
        ]
        chosen = tuple(common if states is None else map(_name_of, states))
        for name in (*chosen, *jumps):
            if name not in common:
                raise ProblemError(
                    f"connect: state '{name}' is not in both phases '{before.name}' and "
                    f"'{after.name}'",
                    expected=", ".join(common) or "states of the same name in both, there are none",
                )
            if before.declared[name].size != after.declared[name].size:
                raise ProblemError(
                    f"connect: state '{name}' has different sizes in phases '{before.name}' and "
                    f"'{after.name}'"
                )
        if states is None and not common:
            warn(
                f"connect: phases '{before.name}' and '{after.name}' have no state in common",
                got=f"{_states_of(before)} and {_states_of(after)}",
                expected="states of the same name",
                hint="ocp.require(after.initial(y) - before.final(x), equals=0) joins others; "
                "states=() says that none is meant",
            )
        columns = {
            name: self._jump(name, value, before.declared[name].size)
            for name, value in jumps.items()
        }
        linked = (*chosen, *(name for name in jumps if name not in chosen))
        for link in self.links:
            twice = [name for name in linked if name in link.states]
            if (link.before, link.after) == (before.name, after.name) and twice:
                raise ProblemError(
                    f"connect: state '{twice[0]}' of phases '{before.name}' and '{after.name}' is "
                    "connected twice",
                    expected="one connection of a state",
                    hint="ocp.connect(a, b) connects all states of the same name",
                )
        self.links.append(Linkage(before.name, after.name, linked, time, columns))

    def _jump(self, name: str, value: Expression, size: int) -> Any:
        """Return the jump of a state as a column: of numbers, parameters, static variables and
        endpoint values.
        """
        what = f"the jump of state '{name}'"
        column = as_column(value, self.symbols, None, what)
        if column.numel() == 1:
            column = self.symbols(casadi.repmat(column, size, 1))
        column = as_column(column, self.symbols, size, what)
        inner = [d.symbol for ph in self.phases.values() for d in ph.declared.values()]
        inner += [ph.t for ph in self.phases.values() if ph.t is not None]
        if any(casadi.depends_on(column, symbol) for symbol in inner):
            raise ProblemError(
                f"{what} depends on values inside a phase",
                got=str(column),
                expected="numbers, parameters, static variables, and initial or final values",
                hint="before.final(x) is the value at the end of the first phase",
            )
        return column

    def require(
        self,
        expression: Expression,
        *,
        lower: Values = None,
        upper: Values = None,
        equals: Values = None,
        name: str | None = None,
    ) -> None:
        """State a condition on initial, final and integral values of any phases, static variables
        and parameters.

        A relation has its limits in it: ``ocp.require(ph.final(v) == ph.initial(v))``.
        """
        self._open()
        self.conditions.append(
            _condition(expression, (lower, upper, equals), name, self, "condition")
        )

    def minimize(self, expression: Expression) -> None:
        """State the cost as an expression of initial, final and integral values."""
        self._set_objective(expression, 1)

    def maximize(self, expression: Expression) -> None:
        """State the objective to maximize as an expression of initial, final
        and integral values.
        """
        self._set_objective(expression, -1)

    def parameter(
        self,
        name: str,
        value: Any,
        unit: str = "",
        *,
        lower: float | None = None,
        upper: float | None = None,
    ) -> Symbol:
        """Declare a parameter, a number or column that can change without rebuilding the problem.

        ``lower`` and ``upper`` limit the values that it may be given.
        """
        try:
            given = np.atleast_1d(np.asarray(value, dtype=float))
        except (TypeError, ValueError) as error:
            raise ProblemError(
                f"the value of parameter '{name}'", got=repr(value), expected="a number or numbers"
            ) from error
        values = given.ravel()
        if values.size > max(given.shape):
            raise ProblemError(
                f"the value of parameter '{name}'",
                got=f"an array of shape {given.shape}",
                expected="a number or a column of numbers",
                hint="casadi.reshape makes a matrix of a column in expressions, by columns",
            )
        bound_between(lower, upper, None, 1, f"parameter '{name}'", True)
        symbol = self._new(name, values.size, unit)
        parameter = Parameter(name, values, unit, symbol, lower, upper)
        parameter.check(values, ProblemError)
        self.parameters[name] = parameter
        return symbol

    def variable(
        self, name: str, size: int = 1, *, lower: Values = None, upper: Values = None,
        guess: Guess = None, unit: str = "", scale: Values = None,
    ) -> Symbol:  # fmt: skip
        """Declare a static decision variable, a number or column that is constant in time."""
        size = _size(name, size, ())
        symbol = self._new(name, size, unit)
        bound = bound_between(
            lower, upper, None, size, f"variable '{name}'", True, self.parameters.values()
        )
        self.variables[name] = Declared("variable", name, size, unit, symbol, bound, guess, scale)
        return symbol

    def finish(self) -> NormalForm:
        """Check and freeze the statement, and return its normal form. Solvers call this."""
        if self._form is None:
            self._form = normal_form(self)
        return self._form

    def __getstate__(self) -> dict[str, Any]:
        return packed({**vars(self), "_form": None}, f"problem '{self.name}'")

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(unpacked(state))
        for phase in self.phases.values():
            phase._problem = self

    def __deepcopy__(self, memo: dict[int, Any]) -> Problem:
        """Return a copy that can be changed, with the same symbols; it is not finished."""
        copied = copy.copy(self)
        vars(copied).update(
            {
                key: copy.deepcopy(value, memo)
                for key, value in vars(self).items()
                if key != "_form"
            },
            _form=None,
        )
        for phase in copied.phases.values():
            phase._problem = copied
        return copied

    def __copy__(self) -> Problem:
        copied = Problem.__new__(Problem)
        vars(copied).update(vars(self))
        return copied

    def __str__(self) -> str:
        return print_problem(self)

    def _repr_latex_(self) -> str | None:
        text: str | None = display("problem_latex", self)
        return text

    def _repr_html_(self) -> str | None:
        text: str | None = display("problem_html", self)
        return text

    def __repr__(self) -> str:
        names = [
            f"{phase.name}: "
            f"{', '.join(d.name for kind in ('state', 'control') for d in phase.of_kind(kind))}"
            for phase in self.phases.values()
        ]
        return f"<Problem '{self.name}'; {'; '.join(names)}>"

    def _new(self, name: str, size: int, unit: str) -> Symbol:
        """Return the symbol of a new parameter or static variable."""
        self._open()
        _check_name(name, "a parameter or variable", unit)
        if name in self.parameters or name in self.variables:
            raise ProblemError(
                f"the name '{name}' is used twice",
                expected="unique names of parameters and variables",
            )
        return named(self.symbols, name, size, unit)

    def _set_objective(self, expression: Expression, sense: int) -> None:
        self._open()
        if self.objective is not None:
            raise ProblemError(
                f"the objective of problem '{self.name}' is given twice",
                expected="one minimize or one maximize",
            )
        self.objective, self.sense = as_column(expression, self.symbols, 1, "the objective"), sense

    def _open(self) -> None:
        if self._form is not None:
            raise ProblemError(
                f"problem '{self.name}' is finished and can no longer be changed",
                hint="state everything before solving, or use ocp.parameter(name, value) for "
                "numbers that change",
            )


def _check_name(name: Any, what: str, unit: Any = "") -> None:
    """Raise unless the name is a string with characters in it, and the unit a string."""
    if not isinstance(name, str) or not name.strip():
        raise ProblemError(
            f"the name of {what}",
            got=repr(name),
            expected="a string that is not empty, such as 'x'",
        )
    if not isinstance(unit, str):
        raise ProblemError(
            f"the unit of '{name}'", got=repr(unit), expected="a string, such as 'm/s'"
        )


def _name_of(state: Any) -> Any:
    """The name of a state that is given by its symbol or by its name."""
    return getattr(state, "label", state)


def _states_of(phase: Phase) -> str:
    names = ", ".join(d.name for d in phase.of_kind("state"))
    return f"'{phase.name}' has {names or 'no states'}"


def _size(name: str, size: int | None, components: Sequence[str]) -> int:
    """Return the size of a variable: as given, else the number of its named components, else 1."""
    if len(set(components)) < len(components) or isinstance(components, str):
        raise ProblemError(
            f"components of '{name}'", got=components, expected="a tuple of distinct names"
        )
    if size is None:
        return len(components) or 1
    if not isinstance(size, int) or size < 1:
        raise ProblemError(f"size of '{name}'", got=size, expected="an integer of at least 1")
    if components and len(components) != size:
        raise ProblemError(
            f"components of '{name}'", got=f"{len(components)} names", expected=f"{size}, the size"
        )
    return size


def _condition(
    expression: Expression,
    limits: tuple[Any, Any, Any],
    name: str | None,
    problem: Problem,
    what: str,
    unit: str = "",
) -> Condition:
    """Return a condition from an expression and its limits (lower, upper, equals), or from a
    relation without them.
    """
    if name is not None:
        _check_name(name, f"a {what}", unit)
    relation = limits_of(expression, f"a {what}")
    if relation is not None:
        if any(limit is not None for limit in limits):
            raise ProblemError(
                f"a {what} is a relation and has limits",
                got=str(expression),
                expected="one of the two",
            )
        expression, limits = relation[0], (*relation[1:], None)
    column = as_column(expression, problem.symbols, None, f"a {what}")
    label = name or _short(column)
    parameters = problem.parameters.values()
    return Condition(
        label,
        column,
        bound_between(*limits, column.numel(), f"{what} '{label}'", parameters=parameters),
        unit=unit,
    )


def _residual(expression: Expression, what: str) -> Expression:
    """Return the expression that an equation sets to zero."""
    relation = limits_of(expression, what)
    if relation is None:
        return expression
    column, lower, upper = relation
    if np.any(lower != upper):
        raise ProblemError(
            f"{what} is an inequality",
            got=str(column),
            hint="state a constraint by ph.path(x + y <= 1)",
        )
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
            got=reprlib.repr(expression),
            expected=f"an expression in symbols of the problem (casadi.{symbols.__name__}), or a "
            "number",
            hint=f"Problem(name, symbols=casadi.{other.__name__})" if mixed else None,
        ) from error
    columns = [
        part if part.is_column() and part.is_dense() else casadi.densify(casadi.vec(part))
        for part in parts
    ]
    column = columns[0] if len(columns) == 1 else casadi.vertcat(*columns)
    if size is not None and column.numel() != size:
        raise ProblemError(f"{what} has the wrong size", got=column.numel(), expected=size)
    if symbols is casadi.SX and any(
        e.is_constant() and not np.isfinite(float(e)) for e in column.elements()
    ):
        raise ProblemError(
            f"{what} contains a number that is not finite",
            got=str(column),
            expected="finite numbers",
            hint="a calculation before the statement gave it",
        )
    return column


def _short(expression: Any, width: int = 40) -> str:
    """Return the default name of a condition: its expression, truncated if long."""
    text = ", ".join(Writer(width=400).text(e) or str(e) for e in elements(expression))
    return text if len(text) <= width else text[: width - 3] + "..."
