"""System: a first-order system x' = f(t, x, p) with named states, parameters, outputs and declared
invariants.

It is the input of the integrators. ``trajopt.mechanics`` converts mechanisms to systems.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import casadi
import numpy as np

from trajopt.compiled.pickling import packed, unpacked
from trajopt.errors import ModelError, UsageError, suggest

# A stabilization law maps the deviations of the invariants and their rates to the required rates:
# law(y, y_rate, order) -> casadi column of the length of y; for order 2 the second derivative.
Law = Callable[[casadi.SX, casadi.SX, int], casadi.SX]

# A numerical jump of the state: reset(t, x, p) -> x after the jump.
Reset = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Variable:
    """A scalar with a name, a unit and a value: the start of a state, or the value
    of a parameter.
    """

    name: str
    value: float
    unit: str = ""


@dataclass(frozen=True)
class Invariant:
    """An invariant of the exact motion.

    order 2: a position condition, zero together with its rate; order 1: a velocity condition, zero;
    order 0: a first integral, equal to its initial value.
    """

    name: str
    expression: casadi.SX  # column y(t, x, p)
    order: int = 0


@dataclass(frozen=True)
class Event:
    """A scalar g(t, x, p) whose zero crossing is located; direction +1, -1 or 0 (both).

    At the crossing the state jumps to ``reset`` (a column in t, x, p, or a numerical function;
    None: no jump), and the run ends if ``terminal``. A ``level`` event also fires if its function
    has already crossed zero at the start of a run or after a jump: it monitors a condition rather
    than a crossing.
    """

    name: str
    expression: casadi.SX
    direction: int = 0
    reset: casadi.SX | Reset | None = None
    terminal: bool = False
    level: bool = False


@dataclass(frozen=True)
class System:
    """A named first-order system in CasADi.

    ``through_reactions(law)`` returns the system with its invariants stabilized by a law through
    the reactions of the underlying mechanism; None if there is no mechanism.
    """

    name: str
    time: casadi.SX
    x: casadi.SX  # (n,) column of the state symbols
    states: tuple[Variable, ...]
    rate: casadi.SX  # (n,) column f(t, x, p)
    p: casadi.SX = field(default_factory=lambda: casadi.SX(0, 1))
    parameters: tuple[Variable, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    outputs: Mapping[str, tuple[casadi.SX, str]] = field(
        default_factory=dict
    )  # name -> (expression, unit): energies, reactions
    events: tuple[Event, ...] = ()
    until: float = 10.0  # default final time
    through_reactions: Callable[[Law], System] | None = None
    description: str = ""
    drawing: Any = None  # geometry for an animation
    mechanism: Any = None  # the underlying mechanism, if any

    def __post_init__(self) -> None:
        names = [s.name for s in self.states]
        if self.x.numel() != len(names) or self.rate.numel() != len(names):
            raise ModelError(
                f"system '{self.name}': states and rates differ in number",
                got=f"{len(names)} names, {self.x.numel()} symbols, {self.rate.numel()} rates",
                expected="one name, one symbol and one rate for each state",
            )
        if len(set(names)) != len(names):
            raise ModelError(f"system '{self.name}': a state name appears twice", got=names)
        known = casadi.vertcat(self.time, self.x, self.p)
        unknown = [str(s) for s in casadi.symvar(self.rate) if not casadi.depends_on(known, s)]
        if unknown:
            raise ModelError(
                f"system '{self.name}': the rates use unknown symbols",
                got=unknown,
                expected="time, states and parameters",
            )

    def __getstate__(self) -> dict[str, Any]:
        return packed(
            {one.name: getattr(self, one.name) for one in fields(self)}, f"system '{self.name}'"
        )

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(unpacked(state))

    def __deepcopy__(self, memo: Any) -> System:
        return self  # it never changes

    @property
    def start(self) -> np.ndarray:
        """The initial state."""
        return np.array([s.value for s in self.states], dtype=float)

    @property
    def parameter_values(self) -> np.ndarray:
        return np.array([s.value for s in self.parameters], dtype=float)

    def function(self, expression: casadi.SX) -> casadi.Function:
        """Return a CasADi function of (t, x, p)."""
        return casadi.Function("f", [self.time, self.x, self.p], [expression])

    def starting_at(self, values: Mapping[str, float]) -> System:
        """Return the system with other initial values or parameters, by name."""
        names = [v.name for v in (*self.states, *self.parameters)]
        for name in values:
            if name not in names:
                raise UsageError(
                    f"system '{self.name}' has no state or parameter '{name}'",
                    expected=", ".join(names),
                    hint=suggest(name, names),
                )
            if not _is_finite(values[name]):
                raise UsageError(
                    f"'{name}' of system '{self.name}'",
                    got=repr(values[name]),
                    expected="a finite number",
                )
        return replace(
            self,
            states=tuple(replace(s, value=float(values.get(s.name, s.value))) for s in self.states),
            parameters=tuple(
                replace(s, value=float(values.get(s.name, s.value))) for s in self.parameters
            ),
        )


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False
