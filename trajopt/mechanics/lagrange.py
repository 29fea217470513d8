"""Mechanisms: coordinates, energies, forces and constraints; accelerations, reactions and
first-order systems that follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np

from trajopt.compiled.pickling import packed, unpacked
from trajopt.displays import display
from trajopt.errors import ModelError, suggest
from trajopt.mechanics.constraints import (
    Constraint,
    Dependence,
    Holonomic,
    Nonholonomic,
    Vector,
    dependences,
)
from trajopt.mechanics.lagrange_equations import LagrangeEquations, column
from trajopt.mechanics.statement import check_statement, consistent_start, require_values
from trajopt.system import System, Variable

if TYPE_CHECKING:
    from trajopt.mechanics.formulations import Formulation
    from trajopt.mechanics.model_functions import ModelFunctions

SPEED_UNITS = {"m": "m/s", "rad": "rad/s", "": ""}


@dataclass(frozen=True, eq=False)
class Coordinate:
    """A generalized coordinate: its symbols ``q`` and ``v``, where it starts and how fast.

    >>> theta = Coordinate("theta", start=0.5, unit="rad")
    >>> theta.q, theta.v
    (SX(theta), SX(theta_rate))
    """

    name: str
    start: float = 0.0
    speed: float = 0.0
    unit: str = ""
    rate: str = ""  # the name of the velocity; "<name>_rate" where nothing is said
    q: Any = None
    v: Any = None

    def __post_init__(self) -> None:
        rate = self.rate or f"{self.name}_rate"
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "q", casadi.SX.sym(self.name) if self.q is None else self.q)
        object.__setattr__(self, "v", casadi.SX.sym(rate) if self.v is None else self.v)

    @property
    def rate_unit(self) -> str:
        return SPEED_UNITS.get(self.unit, f"{self.unit}/s")


@dataclass(frozen=True, eq=False)
class Quantity:
    """A named number that stays a symbol in the model: a control, or a parameter."""

    name: str
    value: Any = 0.0  # a number, or the symbol itself where a problem gives the value
    unit: str = ""
    symbol: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError("the name of a quantity", got=repr(self.name), expected="a string")
        object.__setattr__(
            self, "symbol", casadi.SX.sym(self.name) if self.symbol is None else self.symbol
        )


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass matrix and bias found in another way than by differentiation, where that is cheaper
    (long chains).
    """

    mass: casadi.SX  # (n, n)
    bias: casadi.SX  # (n,)


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism:
    """Coordinates, energies, forces and constraints, and the equations of motion that follow from
    them.

    Parameters
    ----------
    kinetic, potential : T(q, v, t) and V(q, t). A Lagrangian that does not split goes whole into
    ``kinetic``.
    forces : generalized force by coordinate name, Q(q, v, u, p, t).
    constraints : ``Holonomic`` and ``Nonholonomic``, each with a name.
    controls, parameters : symbols of the model with default values.
    time : the time symbol, where anything depends on it.
    inertia : mass matrix and bias, if they are known already.

    Examples
    --------
    A pendulum of length 2 m in Cartesian coordinates, and the pull in its rod (a force along +y is
    positive):

    >>> x, y = Coordinate("x", start=0.0, unit="m"), Coordinate("y", start=-2.0, unit="m")
    >>> pendulum = Mechanism(
    ...     "pendulum", (x, y), kinetic=0.5 * (x.v**2 + y.v**2), potential=9.8 * y.q,
    ...     constraints=(Holonomic("rod", x.q**2 + y.q**2 - 4.0),),
    ... )
    >>> pendulum.acceleration([0.0, -2.0], [3.0, 0.0])[1], pendulum.reaction_forces([0.0, -2.0],
    ...     [3.0, 0.0])[1]
    (DM(4.5), DM(14.3))
    """

    name: str
    coordinates: tuple[Coordinate, ...]
    kinetic: Any
    potential: Any = 0.0
    forces: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    controls: tuple[Quantity, ...] = ()
    parameters: tuple[Quantity, ...] = ()
    time: casadi.SX = field(default_factory=lambda: casadi.SX.sym("t"))
    inertia: Inertia | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "coordinates", tuple(self.coordinates))
        object.__setattr__(self, "constraints", tuple(self.constraints))
        check_statement(self)

    def __getstate__(self) -> dict[str, Any]:
        own = {
            one.name: getattr(self, one.name) for one in fields(self)
        }  # the equations follow from these again
        return packed(own, f"mechanism '{self.name}'")

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(unpacked(state))

    def __deepcopy__(self, memo: Any) -> Mechanism:
        return self  # it never changes

    def __repr__(self) -> str:
        names = ", ".join(c.name for c in self.coordinates)
        constraints = ", ".join(c.name for c in self.constraints)
        return f"<Mechanism '{self.name}': {names}{f'; {constraints}' if constraints else ''}>"

    def _repr_html_(self) -> str:
        return str(display("mechanism_html", self))

    # Symbols and names
    # ----------------------------------------------------------------------------------------------

    @cached_property
    def q(self) -> casadi.SX:
        return column([c.q for c in self.coordinates])

    @cached_property
    def v(self) -> casadi.SX:
        return column([c.v for c in self.coordinates])

    @cached_property
    def u(self) -> casadi.SX:
        return column([c.symbol for c in self.controls])

    @cached_property
    def p(self) -> casadi.SX:
        return column([c.symbol for c in self.parameters])

    @cached_property
    def rows(self) -> tuple[Constraint, ...]:
        """The constraints in the order of every matrix here: the holonomic ones first."""
        return (*self.holonomic, *self.nonholonomic)

    @cached_property
    def holonomic(self) -> tuple[Holonomic, ...]:
        return tuple(c for c in self.constraints if isinstance(c, Holonomic))

    @cached_property
    def nonholonomic(self) -> tuple[Nonholonomic, ...]:
        return tuple(c for c in self.constraints if isinstance(c, Nonholonomic))

    def index(self, name: str) -> int:
        """The place of a coordinate."""
        names = [c.name for c in self.coordinates]
        if name not in names:
            raise ModelError(
                f"'{self.name}' has no coordinate '{name}'",
                expected=", ".join(names),
                hint=suggest(name, names),
            )
        return names.index(name)

    # Numbers and functions
    # ----------------------------------------------------------------------------------------------

    @property
    def start(self) -> tuple[Vector, Vector]:
        """Starting position and velocity."""
        return np.array([c.start for c in self.coordinates], float), np.array(
            [c.speed for c in self.coordinates], float
        )

    def function(self, *expressions: casadi.SX) -> casadi.Function:
        """A CasADi function of (q, v, u, p, t)."""
        return casadi.Function(
            _identifier(self.name),
            [self.q, self.v, self.u, self.p, self.time],
            [casadi.SX(e) for e in expressions],
        )

    def evaluate(
        self, expression: casadi.SX, q: Any, v: Any, u: Any = None, p: Any = None, t: Any = 0.0
    ) -> Any:
        """An expression of the model at numbers or at symbols (SX or MX); controls and parameters
        default to their values.
        """
        return self.function(expression)(*self.arguments(q, v, u, p, t))

    def acceleration(self, q: Any, v: Any, u: Any = None, p: Any = None, t: Any = 0.0) -> Any:
        """The acceleration, constraints included, at numbers or at symbols (SX or MX).

        >>> import casadi
        >>> x = Coordinate("x")
        >>> thrust = Quantity("thrust", 0.0, "N")
        >>> cart = Mechanism("cart", (x,), kinetic=x.v**2, forces={"x": thrust.symbol},
        ...     controls=(thrust,))
        >>> cart.acceleration(casadi.MX.sym("q"), 0, 4.0).shape, cart.acceleration(0, 0, 4.0)
        ((1, 1), DM(2))
        """
        return self.functions.solved(*self.arguments(q, v, u, p, t))[0]

    def reactions(self, q: Any, v: Any, u: Any = None, p: Any = None, t: Any = 0.0) -> Any:
        """The reaction of each constraint; a positive one acts in the direction of increasing h (or
        f).
        """
        return self.functions.solved(*self.arguments(q, v, u, p, t))[1]

    def reaction_forces(self, q: Any, v: Any, u: Any = None, p: Any = None, t: Any = 0.0) -> Any:
        """The generalized force of all reactions on each coordinate."""
        return self.functions.solved(*self.arguments(q, v, u, p, t))[2]

    def residual(
        self, q: Any, v: Any, a: Any, reactions: Any, *, u: Any = None, p: Any = None, t: Any = 0.0
    ) -> Any:
        """The equations as a DAE of index 1, (n + m,): zero for the true acceleration and
        reactions.

        With both as algebraic variables no matrix is inverted:
        ``ph.dynamics({q: v, v: a}); ph.require(model.residual(q, v, a, r))``.
        """
        return self.functions.residual(*self.arguments(q, v, u, p, t), a, reactions)

    def inverse(self, q: Any, v: Any, a: Any, u: Any = None, p: Any = None, t: Any = 0.0) -> Any:
        """The generalized forces, beyond Q, that the motion takes: M a + bias - Q."""
        return self.functions.inverse(*self.arguments(q, v, u, p, t), a)

    @cached_property
    def equations(self) -> LagrangeEquations:
        """The terms of the equations of motion, as expressions."""
        return LagrangeEquations(self)

    @cached_property
    def functions(self) -> ModelFunctions:
        """The equations of motion as CasADi functions of (q, v, u, p, t)."""
        from trajopt.mechanics.model_functions import ModelFunctions

        return ModelFunctions(self)

    def arguments(
        self, q: Any, v: Any, u: Any = None, p: Any = None, t: Any = 0.0
    ) -> tuple[Any, ...]:
        """The arguments of ``function``, controls and parameters at their values unless given."""
        u = [c.value for c in self.controls] if u is None else u
        p = _values(self.parameters) if p is None else p
        return q, v, u, p, t

    # Consistent values and rank
    # ---------------------------------------------------------------------------------------------

    def starting_at(
        self,
        positions: Mapping[str, float] | None = None,
        speeds: Mapping[str, float] | None = None,
    ) -> Mechanism:
        """The same mechanism with other starting values."""
        positions, speeds = positions or {}, speeds or {}
        for name in (*positions, *speeds):
            self.index(name)
        moved = tuple(
            replace(
                c,
                start=float(positions.get(c.name, c.start)),
                speed=float(speeds.get(c.name, c.speed)),
            )
            for c in self.coordinates
        )
        return replace(self, coordinates=moved)

    def consistent(self, hold: Sequence[str] = (), t: float = 0.0) -> Mechanism:
        """The same mechanism with starting values that satisfy its constraints, the nearest to the
        given ones.

        Coordinates named in ``hold`` keep position and velocity. Where there are no such values the
        error names the constraints.
        """
        require_values(self, "consistent starting values")
        names = [c.name for c in self.coordinates]
        q, v = consistent_start(self, hold, t)
        return self.starting_at(dict(zip(names, q, strict=True)), dict(zip(names, v, strict=True)))

    def dependent_constraints(self, q: Any = None, t: float = 0.0) -> tuple[Dependence, ...]:
        """The constraints that follow from the others at a position (the starting one), by name."""
        require_values(self, "the rank of its constraints")
        position, velocity = self.start
        A = np.array(
            self.evaluate(self.equations.matrix, position if q is None else q, velocity, t=t)
        )
        return dependences(A, [c.name for c in self.rows])

    def system(
        self,
        formulation: Formulation | None = None,
        controls: Mapping[str, Any] | None = None,
        **details: Any,
    ) -> System:
        """The mechanism as a first-order
        system; see ``trajopt.mechanics.first_order.as_system``.
        """
        from trajopt.mechanics.first_order import as_system
        from trajopt.mechanics.formulations import Augmented

        return as_system(self, formulation or Augmented(), controls or {}, details)

    def state_variables(self) -> tuple[Variable, ...]:
        """Coordinates, then their rates, with starting values and units."""
        return (
            *(Variable(c.name, c.start, c.unit) for c in self.coordinates),
            *(Variable(c.rate, c.speed, c.rate_unit) for c in self.coordinates),
        )


def symbolic(value: Any) -> bool:
    """Whether there is a symbol in a number, or in one of several."""
    if isinstance(value, (tuple, list)):
        return any(symbolic(item) for item in value)
    if isinstance(value, casadi.MX):
        raise ModelError(
            "a mechanism takes no MX symbols", got=str(value), expected="numbers or SX symbols",
            hint="m = Quantity('m', 1.0); use m.symbol in the model, and model.acceleration(q, v, "
            "u, p=value)",
        )  # fmt: skip
    return isinstance(value, casadi.SX) and not value.is_constant()


def with_symbols(
    parameters: Sequence[Quantity], data: Iterable[casadi.SX], time: casadi.SX
) -> tuple[Quantity, ...]:
    """The parameters of a mechanism, and beside them the symbols in its data that are not among
    them.

    Such a symbol is a parameter of the problem that the mechanism is part of, and stands for its
    own value.
    """
    known = casadi.vertcat(time, *[p.symbol for p in parameters])
    found = [s for s in casadi.symvar(casadi.vertcat(*data)) if not casadi.depends_on(known, s)]
    return (*parameters, *(Quantity(str(s), s, symbol=s) for s in found))


def _values(quantities: Sequence[Quantity]) -> Any:
    values = [c.value for c in quantities]
    return casadi.vertcat(*values) if symbolic(values) else values


def _identifier(name: str) -> str:
    """A name that CasADi accepts for a function."""
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return "model_" + "_".join(part for part in letters.split("_") if part)
