"""Solution: the result of a solve as data, with its ``Status``."""

from __future__ import annotations

import copy
import enum
import importlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import named_methods
from trajopt.displays import display
from trajopt.errors import SolveError, UsageError, suggest
from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve

if TYPE_CHECKING:
    from trajopt.prepared.feedback import Feedback
    from trajopt.prepared.sensitivity import Sensitivity, Slope
    from trajopt.trajectory.comparison import Comparison

Array = NDArray[np.float64]


class Status(enum.Enum):
    """How a solve ended."""

    SOLVED = "Solved to tolerance."
    COARSE = "Optimal on the last mesh, but the estimated error is above the tolerance."
    CHATTERING = (
        "No control attains the infimum; this is the solution of the relaxed problem, a "
        "mixture of two controls."
    )
    INFEASIBLE = "No feasible trajectory was found."
    ITERATIONS = "Iteration limit reached before convergence."
    NOT_A_NUMBER = "The model returned a value that is not finite."
    INTERRUPTED = "Interrupted; this is the best iterate so far."
    TIME_LIMIT = "Time limit reached; this is the best solution so far."
    WORK_LIMIT = "Limit of operations reached; this is the best solution so far."
    REFUSED = "The method does not treat problems of this kind."
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
class Optimum:
    """One of the distinct optima found from several starts."""

    objective: float
    status: Status
    error: float  # estimated relative error
    starts: tuple[int, ...]  # numbers of the starts that found it; 0 is the default guess


class CurvesByName:
    """Membership, iteration and completion of keys for what is indexed by names of variables."""

    def keys(self) -> list[Any]:
        """Return what ``self[key]`` accepts, in the order of the statement."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def _ipython_key_completions_(self) -> list[Any]:
        return self.keys()


@named_methods
@dataclass(frozen=True, eq=False)
class PhaseSolution(CurvesByName):
    """The trajectories of one phase. Names are the user's; a costate has its state's name.

    >>> from trajopt import builder, solve
    >>> phase = solve(builder("block-move")()).phase("main")
    >>> "x" in phase, list(phase), float(phase.t[-1])
    (True, ['x', 'v', 'u'], 1.0)
    """

    name: str
    t0: float
    tf: float
    states: Mapping[str, Curve]
    controls: Mapping[str, Curve]
    algebraics: Mapping[str, Curve] = field(default_factory=dict)
    costates: Mapping[str, Curve] = field(default_factory=dict)
    # path constraint -> multiplier density in time
    path_multipliers: Mapping[str, Curve] = field(default_factory=dict)
    outputs: Mapping[str, Curve] = field(default_factory=dict)  # of ph.output, path constraints
    integrals: Array = field(default_factory=lambda: np.zeros(0))
    breaks: Array = field(default_factory=lambda: np.zeros(0))  # of the mesh, in time
    degrees: tuple[int, ...] = ()
    # estimated relative error of each interval
    errors: Array = field(default_factory=lambda: np.zeros(0))
    time_unit: str = "s"

    def keys(self) -> list[str]:
        """Return the names of states, controls, algebraic variables and outputs."""
        return [*self.states, *self.controls, *self.algebraics, *self.outputs]

    @property
    def t(self) -> Array:
        """Times of all nodes of the states, increasing."""
        curves = [*self.states.values(), *self.controls.values()]
        return np.unique(curves[0].t) if curves else self.breaks

    def __getitem__(self, name: str) -> Curve:
        for group in (self.states, self.controls, self.algebraics, self.outputs):
            if isinstance(name, str) and name in group:
                return group[name]
        known = self.keys()
        raise UsageError(
            f"phase '{self.name}' has no variable '{name}'",
            expected=", ".join(known),
            hint=suggest(name, known),
        )

    def __repr__(self) -> str:
        names = ", ".join(self.keys())
        return (
            f"<PhaseSolution '{self.name}': t from {self.t0:.6g} to {self.tf:.6g} "
            f"{self.time_unit}; {names}>"
        )


@named_methods
@dataclass(frozen=True, eq=False)
class Solution(CurvesByName):
    """The solution of a problem.

    ``solution["theta"](0.3)`` evaluates a variable, ``solution.costate("x")`` returns the curve of
    a costate; with several phases ``solution["flight", "q"]``. ``check()`` raises unless the solve
    succeeded, and returns the solution.

    >>> from trajopt import builder, solve
    >>> solution = solve(builder("block-move")()).check()
    >>> "x" in solution, list(solution), round(solution["x"](0.5), 9)
    (True, ['x', 'v', 'u'], 0.5)
    """

    problem: str
    method: str
    status: Status
    objective: float
    phases: Mapping[str, PhaseSolution]
    variables: Mapping[str, Array] = field(default_factory=dict)  # static decision variables
    parameters: Mapping[str, Array] = field(default_factory=dict)
    # of boundary, link and integral conditions, one each row
    multipliers: Mapping[str, float] = field(default_factory=dict)
    arcs: tuple[Arc, ...] = ()
    history: tuple[MeshPass, ...] = ()
    error: float = float("nan")  # estimated relative error, the largest of all intervals
    tolerance: float = float("nan")  # required bound on the error
    iterations: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)  # build, solve, total
    # of a failure: the worst violations, saturated controls, what to try
    explanation: tuple[str, ...] = ()
    log: tuple[str, ...] = ()  # one line for each attempt and remedy that was tried
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    source: str = ""  # name of the problem in the catalogue
    # arguments of the builder and parameters that were set
    settings: Mapping[str, Any] = field(default_factory=dict)
    form: Any = None  # the NormalForm; None after loading from a file
    # what collocation solved last, from which derivatives come; None after loading or shooting
    program: Any = None
    comparison: Comparison | None = None  # of both methods, with method "both"
    optima: tuple[Optimum, ...] = ()  # distinct by objective, the best first, with several starts
    active_conditions: Mapping[str, str] | None = (
        None  # inequalities at endpoints -> "lower" or "upper", from shooting
    )

    @property
    def success(self) -> bool:
        return self.status is Status.SOLVED

    def __repr__(self) -> str:
        error = f"estimated error {self.error:.1e}"
        return (
            f"<Solution of '{self.problem}': {self.status.name.lower()}, objective "
            f"{self.objective:.9g}, {error}>"
        )

    def _repr_html_(self) -> str:
        return str(display("solution_html", self))

    def summary(self) -> str:
        """Return status, objective, error and boundary values as text."""
        return str(display("summary", self))

    def plot(self, kind: str = "trajectories", path: str | Path | None = None) -> Any:
        """Return a matplotlib figure of trajectories, phase, switching, mesh, invariants,
        reintegration or stills; ``path`` saves it.

        Of a loaded solution the problem is looked up in the catalogue by its name.
        """
        return display("plot", self, kind, path)

    def animate(self, path: str | Path, drawing: Any = None) -> None:
        """Write an animation (gif or mp4) of a named problem's mechanism, or of another
        ``trajopt.show.drawing.Drawing``.
        """
        display("animate", self, path, drawing)

    def check(self) -> Solution:
        """Return this solution; raise ``SolveError`` with an explanation unless the status is
        ``SOLVED``.
        """
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
        return replace(self, form=None, program=None, comparison=found)

    def __getstate__(self) -> dict[str, Any]:
        """A pickle holds no symbolic expressions: ``form`` is None in what is read from it, as in a
        file.
        """
        plain = self.without_form()
        return {one.name: getattr(plain, one.name) for one in fields(plain)}

    def __deepcopy__(self, memo: Any) -> Solution:
        own = {
            one.name: copy.deepcopy(getattr(self, one.name), memo)
            for one in fields(self)
            if one.name not in ("form", "program")
        }
        return Solution(**own, form=self.form, program=self.program)

    def keys(self) -> list[str | tuple[str, str]]:
        """Return names of variables; with a phase in front where several phases have the name."""
        names = [(phase.name, name) for phase in self.phases.values() for name in phase]
        count = Counter(name for _, name in names)
        return [name if count[name] == 1 else (phase, name) for phase, name in names]

    def __contains__(self, key: object) -> bool:
        return any(
            key in phase or key in [(n, k) for k in phase] for n, phase in self.phases.items()
        )

    @property
    def t(self) -> Array:
        """Times of all nodes, increasing; with several phases use ``solution.phase(name).t``."""
        if len(self.phases) != 1:
            raise UsageError(
                f"'{self.problem}' has several phases, each with its own times",
                expected=f"solution.phase('{next(iter(self.phases), '')}').t",
            )
        return next(iter(self.phases.values())).t

    def __getitem__(self, key: str | tuple[str, str]) -> Curve:
        if isinstance(key, tuple):
            return self.phase(key[0])[key[1]]
        holders = [
            ph
            for ph in self.phases.values()
            if key in ph.keys()  # noqa: SIM118
        ]
        if len(holders) > 1:
            names = ", ".join(f"solution['{ph.name}', '{key}']" for ph in holders)
            raise UsageError(f"'{key}' exists in several phases", expected=f"one of {names}")
        return (holders or list(self.phases.values()))[0][key]

    def costate(self, name: str, phase: str | None = None) -> Curve:
        """Return the costate: the derivative of the optimal cost (for a maximum, of the negated
        objective) by the state.
        """
        holders = (
            [self.phase(phase)]
            if phase is not None
            else [ph for ph in self.phases.values() if name in ph.costates]
        )
        if len(holders) != 1:
            known = [n for ph in self.phases.values() for n in ph.costates]
            what = (
                "has no costate"
                if not holders
                else "has several phases; give phase= for the costate of"
            )
            raise UsageError(
                f"'{self.problem}' {what} '{name}'",
                expected=", ".join(dict.fromkeys(known)),
                hint=suggest(name, known),
            )
        if name not in holders[0].costates:
            raise UsageError(
                f"phase '{holders[0].name}' has no costate '{name}'",
                hint=suggest(name, holders[0].costates),
            )
        return holders[0].costates[name]

    def phase(self, name: str) -> PhaseSolution:
        if name not in self.phases:
            raise UsageError(
                f"'{self.problem}' has no phase '{name}'",
                expected=", ".join(self.phases),
                hint=suggest(name, self.phases),
            )
        return self.phases[name]

    def sensitivity(self, name: str) -> Sensitivity:
        """Return the derivatives of objective, times, states and costates by one quantity.

        Parameters
        ----------
        name : str
            A parameter ("mass", "wind[1]"), a value that is given ("x(t0)", "x(tf)", "tf"; with
            several phases "flight.x(tf)"), a limit ("upper limit of u"), or a condition.

        Returns
        -------
        Sensitivity

        Examples
        --------
        >>> from trajopt import Problem, solve
        >>> ocp = Problem("move")
        >>> height = ocp.parameter("height", 1.0)
        >>> ph = ocp.phase()
        >>> t = ph.time(start=0, end=1)
        >>> x, v = ph.state("x", start=0, end=height), ph.state("v", start=0, end=0)
        >>> u = ph.control("u")
        >>> ph.dynamics({x: v, v: u})
        >>> ocp.minimize(ph.integral(u**2))
        >>> s = solve(ocp).sensitivity("height")
        >>> round(s.objective, 6), round(s["x"](0.5), 6), round(s.elasticity, 6)
        (24.0, 0.5, 2.0)
        """
        derivatives = importlib.import_module("trajopt.prepared.sensitivity")  # it needs Solution
        return cast("Sensitivity", derivatives.sensitivity(self, name))

    def sensitivities(self) -> tuple[Slope, ...]:
        """Return the derivatives of the objective by all parameters, given values and active
        limits: parameters first, by their elasticities.
        """
        derivatives = importlib.import_module("trajopt.prepared.sensitivity")
        return cast("tuple[Slope, ...]", derivatives.sensitivities(self))

    def feedback(self) -> Feedback:
        """Return neighbouring feedback about this solution: controls, switching times and end times
        that follow the measured state, to first order.

        Examples
        --------
        >>> from trajopt import builder, solve
        >>> feedback = solve(builder("moon-lander")()).feedback()
        >>> controller = feedback.controller()
        >>> float(controller(0.0, [10.1, -2.0])[0])  # it still falls
        0.0
        >>> controller.plan.times().round(3)  # start, switch and end
        array([0.   , 1.428, 4.188])
        """
        neighbouring = importlib.import_module("trajopt.prepared.feedback")  # it needs Solution
        return cast("Feedback", neighbouring.Feedback(self))

    def save(self, path: str | Path) -> None:
        """Write a self-describing netCDF file.

        An interrupted save leaves an existing file intact.
        """
        from trajopt.files.storage import save  # storage needs Solution

        save(self, path)

    def to_csv(self, path: str | Path, points: int = 201) -> None:
        """Write the trajectories as a table, sampled uniformly in each phase."""
        from trajopt.files.storage import to_csv

        to_csv(self, path, points)

    def to_xarray(self, points: int | None = None) -> Any:
        """Return variables, costates and multipliers as an ``xarray.Dataset`` over time.

        The times are those of the nodes, or ``points`` at equal distances. With several phases it
        is a ``DataTree`` with a group for each.
        """
        from trajopt.files.labelled import to_xarray

        return to_xarray(self, points)

    def to_dataframe(self, points: int | None = None) -> Any:
        """Return the same as a ``pandas.DataFrame`` with the time, and the phase, as index."""
        from trajopt.files.labelled import to_dataframe

        return to_dataframe(self, points)

    def to_json(self) -> dict[str, Any]:
        """Return the summary that ``trajopt solve --json -`` prints."""
        from trajopt.files.storage import summary

        return summary(self)
