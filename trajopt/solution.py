"""Solution: the result of a solve as data, with its ``Status``."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import Curve
from trajopt.displays import display
from trajopt.errors import SolveError, UsageError, suggest

if TYPE_CHECKING:
    from trajopt.comparison import Comparison

Array = NDArray[np.float64]


class Status(enum.Enum):
    """How a solve ended."""

    SOLVED = "Solved to tolerance."
    COARSE = "Optimal on the last mesh, but the estimated error is above the tolerance."
    CHATTERING = "No control attains the infimum; this is the solution of the relaxed problem, a mixture of two controls."
    INFEASIBLE = "No feasible trajectory was found."
    ITERATIONS = "Iteration limit reached before convergence."
    NOT_A_NUMBER = "The model returned a value that is not finite."
    INTERRUPTED = "Interrupted; this is the best iterate so far."
    TIME_LIMIT = "Time limit reached; this is the best solution so far."
    FAILED = "The solver failed."


@dataclass(frozen=True)
class MeshPass:
    """One solve on one mesh."""

    intervals: int
    points: int
    iterations: int
    error: float
    objective: float
    seconds: float
    remark: str = ""
    backend: str = ""  # that solved the nonlinear program


@dataclass(frozen=True)
class Arc:
    """An arc: an interval of a phase on which the role of every control component is constant.

    ``roles``: control component -> "lower", "upper", "interior" or "singular"; active constraint -> "lower" or "upper".
    ``touches``: state constraint that is touched where the arc begins, or met there and then held by bounds of controls ->
    "lower" or "upper"; only shooting lists them.
    """

    phase: str
    start: float
    end: float
    roles: Mapping[str, str]
    touches: Mapping[str, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """Roles and touched constraints as text."""
        touched = [f"touches {name} ({side}) at its start" for name, side in self.touches.items()]
        return ", ".join([*(f"{name} {role}" for name, role in self.roles.items()), *touched])


@dataclass(frozen=True)
class Optimum:
    """One of the distinct optima found from several starts."""

    objective: float
    status: Status
    error: float  # estimated relative error
    starts: tuple[int, ...]  # numbers of the starts that found it; 0 is the default guess


@dataclass(frozen=True, eq=False)
class PhaseSolution:
    """The trajectories of one phase. Names are the user's; a costate has its state's name."""

    name: str
    t0: float
    tf: float
    states: Mapping[str, Curve]
    controls: Mapping[str, Curve]
    algebraics: Mapping[str, Curve] = field(default_factory=dict)
    costates: Mapping[str, Curve] = field(default_factory=dict)
    path_multipliers: Mapping[str, Curve] = field(default_factory=dict)  # path constraint -> multiplier density in time
    integrals: Array = field(default_factory=lambda: np.zeros(0))
    breaks: Array = field(default_factory=lambda: np.zeros(0))  # of the mesh, in time
    degrees: tuple[int, ...] = ()
    errors: Array = field(default_factory=lambda: np.zeros(0))  # estimated relative error of each interval
    time_unit: str = "s"

    def __getitem__(self, name: str) -> Curve:
        for group in (self.states, self.controls, self.algebraics):
            if name in group:
                return group[name]
        known = [*self.states, *self.controls, *self.algebraics]
        raise UsageError(f"phase '{self.name}' has no variable '{name}'", expected=", ".join(known), hint=suggest(name, known))

    def __repr__(self) -> str:
        names = ", ".join([*self.states, *self.controls, *self.algebraics])
        return f"<PhaseSolution '{self.name}': t from {self.t0:.6g} to {self.tf:.6g} {self.time_unit}; {names}>"


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a problem.

    ``solution["theta"](0.3)`` evaluates a variable, ``solution.costate("x")`` returns the curve of a costate; with several phases
    ``solution["flight", "q"]``. ``check()`` raises unless the solve succeeded, and returns the solution.
    """

    problem: str
    method: str
    status: Status
    objective: float
    phases: Mapping[str, PhaseSolution]
    variables: Mapping[str, Array] = field(default_factory=dict)  # static decision variables
    parameters: Mapping[str, Array] = field(default_factory=dict)
    multipliers: Mapping[str, float] = field(default_factory=dict)  # of boundary, link and integral conditions, one each row
    arcs: tuple[Arc, ...] = ()
    history: tuple[MeshPass, ...] = ()
    error: float = float("nan")  # estimated relative error, the largest of all intervals
    tolerance: float = float("nan")  # required bound on the error
    iterations: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)  # build, solve, total
    explanation: tuple[str, ...] = ()  # of a failure: the worst violations, saturated controls, what to try
    log: tuple[str, ...] = ()  # one line for each attempt and remedy that was tried
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    source: str = ""  # name of the problem in the catalogue
    settings: Mapping[str, Any] = field(default_factory=dict)  # arguments of the builder and parameters that were set
    unchecked: bool = False  # True if read from an older file format without checksums
    form: Any = None  # the NormalForm; None after loading from a file
    comparison: Comparison | None = None  # of both methods, with method "both"
    optima: tuple[Optimum, ...] = ()  # distinct by objective, the best first, with several starts
    active_conditions: Mapping[str, str] | None = None  # inequalities at endpoints -> "lower" or "upper", from shooting

    @property
    def success(self) -> bool:
        return self.status is Status.SOLVED

    def __repr__(self) -> str:
        error = f"estimated error {self.error:.1e}"
        return f"<Solution of '{self.problem}': {self.status.name.lower()}, objective {self.objective:.9g}, {error}>"

    def _repr_html_(self) -> str:
        return str(display("solution_html", self))

    def summary(self) -> str:
        """Return status, objective, error and boundary values as text."""
        return str(display("summary", self))

    def plot(self, kind: str = "trajectories", path: str | Path | None = None) -> Any:
        """Return a matplotlib figure of trajectories, phase, switching, mesh, invariants or reintegration; ``path`` saves it."""
        return display("plot", self, kind, path)

    def animate(self, path: str | Path, drawing: Any = None) -> None:
        """Write an animation (gif or mp4) of a named problem's mechanism, or of another ``trajopt.show.drawing.Drawing``."""
        display("animate", self, path, drawing)

    def check(self) -> Solution:
        """Return this solution; raise ``SolveError`` with an explanation unless the status is ``SOLVED``."""
        if not self.success:
            raise SolveError(
                f"problem '{self.problem}' was not solved: {self.status.value}",
                hint="\n            ".join(self.explanation) or None,
            )
        return self

    def without_form(self) -> Solution:
        """Return a copy without symbolic expressions, which can be pickled."""
        found = self.comparison
        if found is not None:
            indirect = None if found.indirect is None else found.indirect.without_form()
            found = replace(found, direct=found.direct.without_form(), indirect=indirect)
        return replace(self, form=None, comparison=found)

    def __getitem__(self, key: str | tuple[str, str]) -> Curve:
        if isinstance(key, tuple):
            return self.phase(key[0])[key[1]]
        holders = [ph for ph in self.phases.values() if any(key in group for group in (ph.states, ph.controls, ph.algebraics))]
        if len(holders) > 1:
            names = ", ".join(f"solution['{ph.name}', '{key}']" for ph in holders)
            raise UsageError(f"'{key}' exists in several phases", expected=f"one of {names}")
        return (holders or list(self.phases.values()))[0][key]

    def costate(self, name: str, phase: str | None = None) -> Curve:
        """Return the costate: the derivative of the optimal cost (for a maximum, of the negated objective) by the state."""
        holders = [self.phase(phase)] if phase is not None else [ph for ph in self.phases.values() if name in ph.costates]
        if len(holders) != 1:
            known = [n for ph in self.phases.values() for n in ph.costates]
            what = "has no costate" if not holders else "has several phases; give phase= for the costate of"
            raise UsageError(
                f"'{self.problem}' {what} '{name}'", expected=", ".join(dict.fromkeys(known)), hint=suggest(name, known)
            )
        if name not in holders[0].costates:
            raise UsageError(f"phase '{holders[0].name}' has no costate '{name}'", hint=suggest(name, holders[0].costates))
        return holders[0].costates[name]

    def phase(self, name: str) -> PhaseSolution:
        if name not in self.phases:
            raise UsageError(
                f"'{self.problem}' has no phase '{name}'", expected=", ".join(self.phases), hint=suggest(name, self.phases)
            )
        return self.phases[name]

    def save(self, path: str | Path) -> None:
        """Write a self-describing netCDF file. An interrupted save leaves an existing file intact."""
        from trajopt.storage import save  # storage needs Solution

        save(self, path)

    def to_csv(self, path: str | Path, points: int = 201) -> None:
        """Write the trajectories as a table, sampled uniformly in each phase."""
        from trajopt.storage import to_csv

        to_csv(self, path, points)

    def to_json(self) -> dict[str, Any]:
        """Return the summary that ``trajopt solve --json -`` prints."""
        from trajopt.storage import summary

        return summary(self)
