"""``prepare``: a problem that is solved again and again for other parameters
and boundary values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import Fraction, checked_arguments, named_methods
from trajopt.direct.collocation import Collocation
from trajopt.direct.mesh_session import Attempt, MeshSession
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.neighbours import phase_controls
from trajopt.direct.packing import Layout
from trajopt.direct.search import State
from trajopt.direct.strategy import found
from trajopt.direct.verdict import verdict
from trajopt.errors import UsageError, check_type
from trajopt.guess.plain import guess_from_solution
from trajopt.nlp.session import SessionSettings
from trajopt.prepared.batch import run_batch
from trajopt.prepared.exporting import export_prepared
from trajopt.statement.normal_form import NormalForm
from trajopt.statement.problem import Problem
from trajopt.statement.stated_bounds import bounds_of, with_boundary
from trajopt.trajectory.solution import Solution, Status
from trajopt.trajectory.trajectory import Trajectories

Array = NDArray[np.float64]
Values = Mapping[str, Any]
Boundary = Mapping[Any, Any]

# the residual of the session relative to the tolerance: a thousandth, as the solver's tolerance in
# ``solve``
CLOSE = 1e-3


@checked_arguments
def prepare(
    problem: Problem | NormalForm,
    solution: Solution | None = None,
    method: Collocation | None = None,
    tolerance: Fraction | None = None,
) -> Prepared:
    """Prepare a problem for solving it again.

    Parameters
    ----------
    problem : Problem
        Or the form of an earlier solution, ``solution.form``.
    solution : Solution, optional
        An earlier solution, from which the first solve begins.
    method : Collocation, optional
        Settings of collocation.
    tolerance : float, optional
        Largest estimated relative error, in place of that of the method.

    Returns
    -------
    Prepared
        Nothing is solved yet: the first ``solve`` without a solution is a cold solve.

    Examples
    --------
    >>> from trajopt import Problem, prepare
    >>> ocp = Problem("move")
    >>> height = ocp.parameter("height", 1.0)
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=1)
    >>> x, v, u = ph.state("x", start=0, end=height), ph.state("v", start=0, end=0), ph.control("u")
    >>> ph.dynamics({x: v, v: u})
    >>> ocp.minimize(ph.integral(u**2))
    >>> prepared = prepare(ocp)
    >>> round(prepared.solve().objective, 9)
    12.0
    >>> round(prepared.solve(parameters={"height": 2.0}).objective, 9)
    48.0
    >>> round(prepared.solve(initial={"x": 0.5}).objective, 9)
    3.0
    """
    chosen = method or Collocation()
    if tolerance is not None:
        chosen = replace(
            chosen, tolerance=tolerance, backend=chosen.backend.tightened(CLOSE * tolerance)
        )
    form = problem if isinstance(problem, NormalForm) else problem.finish()
    return Prepared(problem, form, chosen, solution)


@dataclass(frozen=True, eq=False)
class Iterate:
    """An answer on the kept mesh, in real time: what follows from it is computed at
    its first use.
    """

    status: Status
    objective: float
    kkt_error: float  # the residual of the optimality conditions, scaled
    y: Array = field(repr=False)  # the unknowns of the program
    seconds: float
    log: str
    _kept: MeshSession = field(repr=False)
    _layout: Layout = field(repr=False)
    _attempt: Attempt = field(repr=False)
    _form: NormalForm = field(repr=False)

    @cached_property
    def _mesh_solution(self) -> MeshSolution:
        return self._kept.read(self._attempt)

    def control(self, t: float) -> Array:
        """The controls at a time, without making curves."""
        phases = phase_controls(self._layout)
        index = 0
        while index + 1 < len(phases) and t > phases[index].times(self.y)[-1]:
            index += 1
        return phases[index].control(self.y, t)

    def times(self, phase: str | None = None) -> Array:
        """Start, switches and end of a phase, by default of the first."""
        names = [ph.form.name for ph in self._layout.phases]
        index = 0 if phase is None else names.index(phase)
        return self._layout.phases[index].span_times(self.y).copy()

    @cached_property
    def solution(self) -> Solution:
        """The answer as a solution, with the estimated error and costates."""
        return _solution(
            self._kept,
            self._kept.judged(self._mesh_solution),
            self._form,
            self.seconds,
            (self.log,),
        )


@named_methods
class Prepared:
    """A problem and the mesh, the kernels and the solver's memory of its last answer. Made by
    ``prepare``.

    Each of several prepared problems may be used in a thread of its own.
    """

    def __init__(
        self,
        problem: Problem | NormalForm,
        form: NormalForm,
        method: Collocation,
        solution: Solution | None,
    ) -> None:
        self.problem, self.form, self.method = problem, form, method
        self._given = solution
        self._kept: MeshSession | None = None
        self._last: tuple[tuple[Any, ...], NormalForm] | None = None  # values, and the form at them

    def __repr__(self) -> str:
        return f"<Prepared '{self.problem.name}'>"

    def __reduce__(self) -> Any:
        raise UsageError(
            "a prepared problem cannot be pickled",
            hint="prepare(problem, solution) in the worker builds it again",
        )

    @overload
    def solve(
        self,
        parameters: Values | None = ...,
        initial: Boundary | None = ...,
        final: Boundary | None = ...,
        guess: Solution | None = ...,
        fixed: Literal[False] = ...,
    ) -> Solution: ...
    @overload
    def solve(
        self,
        parameters: Values | None = ...,
        initial: Boundary | None = ...,
        final: Boundary | None = ...,
        guess: None = ...,
        *,
        fixed: Literal[True],
    ) -> Iterate: ...
    def solve(
        self,
        parameters: Values | None = None,
        initial: Boundary | None = None,
        final: Boundary | None = None,
        guess: Solution | None = None,
        fixed: bool = False,
    ) -> Solution | Iterate:
        """Solve for other values of parameters, and other initial and final values of states.

        Parameters
        ----------
        parameters : mapping
            Name -> value. Parameters that are not named have the values of the statement.
        initial, final : mapping
            State, or (phase, state), -> value. States that are not named begin and end as stated.
        guess : Solution
            Begin from this solution, on its mesh, instead of the last answer.
        fixed : bool
            Keep mesh and arcs, and return an ``Iterate`` without an estimated error.

        Returns
        -------
        Solution or Iterate
            On the mesh and the arcs of the last answer; where these do not serve any more, as
            ``solve`` would find it. ``solution.log`` says which.
        """
        began = time.perf_counter()
        _check_values(parameters, initial, final)
        if guess is not None:
            check_type("guess", guess, Solution, "an earlier Solution")
        if fixed and (guess is not None or self._kept is None):
            raise UsageError("fixed: there is no mesh yet", hint="call solve() once without fixed")
        form, p = self._at(parameters, initial, final)
        if guess is not None:
            return self._anew(form, p, guess_from_solution(form, guess), (), began)
        if self._kept is None:
            first = None if self._given is None else guess_from_solution(form, self._given)
            return self._anew(form, p, first, (), began)
        attempt = self._kept.solve(form, p, self.session_settings, certified=not fixed)
        if fixed:
            return self._iterate(attempt, form, time.perf_counter() - began)
        if not attempt.solved:
            last = _solution(self._kept, self._kept.base, form, 0.0, ())
            return self._anew(form, p, guess_from_solution(form, last), (attempt.line,), began)
        solution = self._kept.judged(self._kept.read(attempt))
        why = self._kept.refutation(solution)
        answer = _solution(self._kept, solution, form, time.perf_counter() - began, (attempt.line,))
        if why:
            return self._anew(
                form,
                p,
                guess_from_solution(form, answer),
                (*answer.log, f"solved anew: {why}"),
                began,
            )
        return answer

    def map(
        self,
        parameters: Values | Iterable[Values],
        processes: int | None = None,
        outputs: Callable[[Solution], Mapping[str, float]] | None = None,
    ) -> Any:
        """Solve for many sets of parameters.

        Parameters
        ----------
        parameters : mapping of arrays, or iterable of mappings
            Name -> one value for each set, or one mapping for each set.
        processes : int, optional
            Worker processes; by default all sets are solved in this one.
        outputs : function, optional
            Solution -> further columns by name; with processes a function of a module.

        Returns
        -------
        xarray.Dataset
            Along "set": status, message, objective, estimated error, end times, static variables
            and outputs. The parameters are coordinates. An error is the status of its set.

        Examples
        --------
        >>> from trajopt import Problem, prepare
        >>> ocp = Problem("move")
        >>> height = ocp.parameter("height", 1.0)
        >>> ph = ocp.phase()
        >>> t = ph.time(start=0, end=1)
        >>> x, v = ph.state("x", start=0, end=height), ph.state("v", start=0, end=0)
        >>> u = ph.control("u")
        >>> ph.dynamics({x: v, v: u})
        >>> ocp.minimize(ph.integral(u**2))
        >>> prepare(ocp).map({"height": [1.0, 1.5, 2.0]}).objective.values.round(6)
        array([12., 27., 48.])
        """
        return run_batch(self, parameters, processes, outputs)

    def export(self, folder: str | Path) -> list[str]:
        """Write the problem as a program in C11 that solves it again as ``fixed=True`` does.

        The program begins at the last answer, with its parameters and boundary values, and needs
        nothing but a C compiler and its mathematical library; ``README.md`` in the folder says how
        to compile it, ``trajopt.h`` how to call it.

        Parameters
        ----------
        folder : str or Path
            An empty folder, or a new one.

        Returns
        -------
        list of str
            The names of the files.
        """
        return export_prepared(self, Path(folder))

    @property
    def is_new(self) -> bool:
        """True if nothing was solved yet."""
        return self._kept is None

    @property
    def kept(self) -> MeshSession | None:
        """The program of the last answer, with its session."""
        return self._kept

    @property
    def session_settings(self) -> SessionSettings:
        """When the session stops."""
        return SessionSettings(tolerance=CLOSE * self.method.tolerance)

    def _at(
        self, parameters: Values | None, initial: Boundary | None, final: Boundary | None
    ) -> tuple[NormalForm, Array]:
        """The form and the parameters at these values; the very same form where no bound has
        changed.
        """
        p = self.form.parameter_values(parameters)
        moves = any(bound.stated is not None for bound in bounds_of(self.form))
        values = (p.tobytes() if moves else b"", repr(initial), repr(final))
        if self._last is None or self._last[0] != values:
            self._last = values, with_boundary(self.form.at(parameters), initial, final)
        return self._last[1], p

    def _anew(
        self,
        form: NormalForm,
        p: Array,
        guess: Trajectories | None,
        log: tuple[str, ...],
        began: float,
    ) -> Solution:
        """As ``solve``, from a guess; mesh and arcs of the answer are those of later solves."""
        state = found(form, self.method, guess, p, _silent)
        answer = verdict(state, form, time.perf_counter() - began)
        mesh = state.solution
        keeps = mesh.solved and not state.chattering
        if keeps:
            self._kept = MeshSession(state.context, mesh, form)
        return replace(answer, log=(*log, *answer.log))

    def _iterate(self, attempt: Attempt, form: NormalForm, seconds: float) -> Iterate:
        assert self._kept is not None
        result = attempt.result
        if result is None:
            raise UsageError(
                "fixed: " + attempt.line, hint="solve without fixed once for these values"
            )
        status = Status.SOLVED if attempt.solved else Status.FAILED
        objective = result.f * form.sense
        y = result.y * self._kept.base.sizes
        return Iterate(
            status,
            objective,
            attempt.error,
            y,
            seconds,
            attempt.line,
            self._kept,
            self._kept.layout,
            attempt,
            form,
        )


def _solution(
    kept: MeshSession,
    solution: MeshSolution,
    form: NormalForm,
    seconds: float,
    log: tuple[str, ...],
) -> Solution:
    context = replace(kept.context, parameters=solution.program.parameters)
    state = State(context, kept.base.trajectories, True, solution).recorded(solution)
    return replace(verdict(state, form, seconds), log=log)


def _check_values(
    parameters: Values | None, initial: Boundary | None, final: Boundary | None
) -> None:
    for what, given in (("parameters", parameters), ("initial", initial), ("final", final)):
        if given is not None:
            check_type(what, given, Mapping, "a dictionary of values by name, as in {'x': 1.0}")


def _silent(line: str) -> None:
    pass
