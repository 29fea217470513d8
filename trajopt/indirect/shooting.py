"""Multiple shooting over arcs: Pontryagin's conditions solved by Newton's method, with switching
times among the unknowns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import Count, Natural, NotNegative, Positive, named_settings
from trajopt.deadline import UNLIMITED, Budget, Deadline, OutOfTime, OutOfWork
from trajopt.errors import GuessError, TrajoptError
from trajopt.indirect.answer import failed_solution, read_solution
from trajopt.indirect.check import Finding, findings, reversed_junction, revised_structures
from trajopt.indirect.control_law import UserLaw
from trajopt.indirect.diagnosis import ADVICE, diagnose
from trajopt.indirect.hamiltonian import PhaseHamiltonian, UnsupportedError, phase_hamiltonians
from trajopt.indirect.held_by_bounds import remarks
from trajopt.indirect.initial_system import ShootingProblem, shooting_problem
from trajopt.indirect.modes import mode_text
from trajopt.indirect.newton import LIMITS, NewtonEnd, NewtonResult, solve_by_newton
from trajopt.indirect.rollout import rollout
from trajopt.indirect.settings import CHECK, GRID, READING
from trajopt.indirect.start import Start
from trajopt.indirect.structure_detection import start_of_solution
from trajopt.statement.normal_form import NormalForm
from trajopt.trajectory.solution import Solution, Status

Array = NDArray[np.float64]
_STATUS = {
    NewtonEnd.ITERATIONS: Status.ITERATIONS,
    NewtonEnd.TIME_LIMIT: Status.TIME_LIMIT,
    NewtonEnd.WORK_LIMIT: Status.WORK_LIMIT,
}


@named_settings
@dataclass(frozen=True)
class Shooting:
    """Options of the indirect method.

    Parameters
    ----------
    tolerance
        Relative error of the trajectories, and of Newton's last correction.
    iterations
        Steps of Newton's method with a matrix of their own, for each structure that is tried.
    structures
        How many arc structures are tried: the one that the guess shows, and revisions where the
        answer contradicts it.
    operations
        Limit of the floating-point operations of the flow, its sensitivities and the linear
        algebra, for all structures together. The answer says if it was reached, and has the
        trajectories found so far.
    law
        A control law instead of the one that is found: a function of a ``PhaseHamiltonian`` that
        gives the column of controls as expressions in its symbols; the same for all phases, or a
        mapping from phase names.
    verbose
        Tell ``progress`` about every arc and every step of Newton's method, as a table.
    use_integrals
        Let first integrals work: a constant Hamiltonian and declared invariants replace conditions
        at the end of a phase, and the flow keeps declared ones.

    >>> from trajopt import Problem
    >>> ocp = Problem("rest to rest")
    >>> ph = ocp.phase()
    >>> t = ph.time(start=0, end=1)
    >>> x, v, u = ph.state("x", start=0, end=1), ph.state("v", start=0, end=0), ph.control("u")
    >>> ph.dynamics({x: v, v: u})
    >>> ocp.minimize(ph.integral(u**2))
    >>> solution = Shooting().solve(ocp.finish(), {"x": -20, "v": -10}).check()
    >>> round(solution.objective, 9), round(solution.costate("x")(0.0), 9)
    (12.0, -24.0)
    """

    tolerance: Positive = 1e-10
    iterations: Natural = 60
    structures: Count = 5
    operations: NotNegative = 1e11
    law: UserLaw | Mapping[str, UserLaw] | None = None
    use_integrals: bool = True
    verbose: bool = False

    def solve(
        self,
        form: NormalForm,
        guess: Solution | Mapping[str, Any],
        parameters: Mapping[str, Any] | None = None,
        deadline: Deadline = UNLIMITED,
        progress: Callable[[str], None] | None = None,
    ) -> Solution:
        """Solve a problem from a solution of any method, or from initial costates by name.

        A mapping has the costate of each state where the first phase begins, and ``"tf"`` where the
        end time is free; further keys are ``"arcs"`` (a sequence of ``Arc``), ``"multipliers"`` (of
        conditions on integrals, by name), static variables and, for several phases, ``(phase,
        state)`` and ``(phase, "tf")``. A failure is a ``Solution`` that explains itself.
        """
        begun = time.perf_counter()
        p = form.parameter_values(parameters)
        form = form.at(parameters)
        try:
            form.refuse_samples("shooting")
            hams = phase_hamiltonians(form)
            starts = self._starts(form, hams, guess, p)
            run = _Run(
                form, hams, p, Budget(self.operations, deadline), progress or (lambda line: None)
            )
            return self._solve(run, starts, begun)
        except TrajoptError as error:
            status = _STATUS.get(LIMITS.get(type(error), NewtonEnd.STALLED), Status.FAILED)
            status = Status.REFUSED if isinstance(error, UnsupportedError) else status
            lines, seconds = str(error).splitlines(), time.perf_counter() - begun
            return failed_solution(form, self, p, lines, seconds, status)

    def law_of(self, phase: str) -> UserLaw | None:
        """The control law given for a phase, if any."""
        return self.law.get(phase) if isinstance(self.law, Mapping) else self.law

    def _starts(
        self,
        form: NormalForm,
        hams: tuple[PhaseHamiltonian, ...],
        guess: Solution | Mapping[Any, Any],
        p: Array,
    ) -> Iterator[tuple[str, Start]]:
        """Where Newton's method begins, and if that fails, begins again: on the arcs that the guess
        knows, or that it shows.
        """
        if not isinstance(guess, Solution):
            yield "", rollout(form, hams, guess, p, self.law_of)
            return
        yield "", start_of_solution(form, hams, guess, p, plain=self.law is not None)
        if self.law is not None:
            return
        bare = replace(guess, arcs=())
        if guess.arcs:
            yield (
                "the arcs that the curves of the guess show",
                start_of_solution(form, hams, bare, p),
            )
        # The error of the cost is the square of that of the states: they may be farther from a
        # limit than the estimate says.
        coarse = replace(bare, error=READING.near_constraint)
        yield (
            "the arcs that the curves of the guess show within larger distances",
            start_of_solution(form, hams, coarse, p),
        )

    def _solve(self, run: _Run, starts: Iterator[tuple[str, Start]], begun: float) -> Solution:
        """Structure after structure, none twice, until a solution satisfies all inequalities."""
        log: list[str] = []
        tried: set[object] = set()
        best: _Outcome | None = None
        failure: TrajoptError | None = None
        # whether a junction was tried the other way: other structures are likelier than two wrong
        # ones
        reversed_one = False
        wanted: tuple[str, Start | None] = next(starts)
        while len(tried) < self.structures:
            why, start = wanted
            if start is None or start.structure in tried:
                wanted = next(starts, ("", None))
                if wanted[1] is None:
                    break
                continue
            tried.add(start.structure)
            if why:
                log.append(f"another structure: {why}")
                run.tell(log[-1])
            try:
                outcome = self._attempt(run, start)
            except TrajoptError as error:
                log += str(error).splitlines()[:1]
                failure = failure or error
                if isinstance(error, tuple(LIMITS)):
                    break
                wanted = "", None
                continue
            log += outcome.log
            best = outcome if best is None or outcome.rank <= best.rank else best
            if outcome.solved or run.budget.over:
                break
            reversed_one = reversed_one or any(arc.continuous is not None for arc in start.arcs)
            wanted = self._revision(outcome, tried, not reversed_one)
        if best is None:
            assert failure is not None
            raise failure
        return self._answer(best, log, begun)

    def _revision(
        self, outcome: _Outcome, tried: set[object], reverse: bool
    ) -> tuple[str, Start | None]:
        """A start with a structure that was not tried, and why; ``reverse``: a junction may be
        tried the other way.
        """
        prepared, result = outcome.prepared, outcome.result
        if self.law is not None:
            return "", None
        others: list[tuple[str, Start]] = []
        if reverse and not result.converged:
            # Before arcs that vanish are left out: a wrong condition at their ends may have made
            # them vanish.
            worst = (
                None
                if result.worst is None
                else prepared.system.equation(result.worst, result.unknowns).arc
            )
            others += [
                ("a control jumps at a junction where it was continuous, or does not", s)
                for s in reversed_junction(prepared, worst)
            ]
        why = "; ".join(f.text for f in outcome.findings) or "arcs vanish"
        others += [
            (why, s)
            for s in revised_structures(
                prepared, result.unknowns, result.converged, outcome.findings
            )
        ]
        return next(
            ((text, start) for text, start in others if start.structure not in tried), ("", None)
        )

    def _attempt(self, run: _Run, start: Start) -> _Outcome:
        """Newton's method for one structure, on grids that follow the solution until its error is
        within the tolerance.
        """
        log: list[str] = []
        prepared = shooting_problem(run.form, run.hams, start, run.p, self, run.budget)
        result = self._newton(run, prepared)
        total = result.matrices
        for _ in range(GRID.grids):
            log.append(_line(prepared, result))
            for line in _table(prepared, result) if self.verbose else log[-1:]:
                run.tell(line)
            if not self._again(prepared, result) or run.budget.over:
                break
            try:
                renewed = shooting_problem(
                    run.form,
                    run.hams,
                    prepared.traced_start(result.unknowns),
                    run.p,
                    self,
                    run.budget,
                )
                result_there = self._newton(run, renewed)
            except (
                GuessError,
                OutOfTime,
                OutOfWork,
            ):  # astray, or too late; what is known of these trajectories is in the result
                break
            prepared, result = renewed, result_there
            total += result.matrices
        return _Outcome(
            prepared,
            result,
            findings(prepared, result.unknowns) if result.converged else (),
            total,
            log,
        )

    def _again(self, prepared: ShootingProblem, result: NewtonResult) -> bool:
        """Whether a new grid, along the trajectories found so far, can help."""
        if prepared.shortest(result.unknowns) < CHECK.vanished or not np.isfinite(
            prepared.error(result.unknowns)
        ):
            return False
        if result.converged:
            return prepared.error(result.unknowns) > self.tolerance
        # A grid that was right for the guess may be wrong for trajectories that have moved far from
        # it.
        return result.end is not NewtonEnd.STALLED and len(result.steps) > 2

    def _newton(self, run: _Run, prepared: ShootingProblem) -> NewtonResult:
        # a trial step may leave the model's domain; it is shortened then
        with np.errstate(all="ignore"):
            return solve_by_newton(
                prepared.system,
                prepared.unknowns,
                prepared.scale,
                prepared.allowed,
                tolerance=self.tolerance,
                iterations=self.iterations,
                budget=run.budget,
            )

    def _answer(self, outcome: _Outcome, log: list[str], begun: float) -> Solution:
        result, wrong = outcome.result, [f.text for f in outcome.findings]
        status = Status.SOLVED if result.converged and not wrong else Status.FAILED
        if not result.converged:
            status = _STATUS.get(result.end, Status.FAILED)
        elif status is Status.SOLVED and outcome.prepared.error(result.unknowns) > self.tolerance:
            status = Status.COARSE
        explanation = [] if result.converged else diagnose(outcome.prepared, result)
        log = (
            [*log, *outcome.prepared.remarks, *remarks(outcome.prepared, result.unknowns)]
            if result.converged
            else log
        )
        advice = [f"structure: {ADVICE['structure']}"] if wrong else []
        seconds = time.perf_counter() - begun
        return replace(
            read_solution(outcome.prepared, result.unknowns, self),
            status=status,
            explanation=(*explanation, *wrong, *advice),
            log=tuple(log),
            iterations=outcome.iterations,
            seconds={"build": 0.0, "solve": seconds, "total": seconds},
        )


@dataclass(frozen=True, eq=False)
class _Run:
    """What stays the same from structure to structure."""

    form: NormalForm
    hams: tuple[PhaseHamiltonian, ...]
    p: Array
    budget: Budget
    tell: Callable[[str], None]


@dataclass(frozen=True)
class _Outcome:
    prepared: ShootingProblem
    result: NewtonResult
    findings: tuple[Finding, ...]
    iterations: int
    log: list[str]

    @property
    def solved(self) -> bool:
        return self.result.converged and not self.findings

    @property
    def rank(self) -> tuple[bool, int]:
        """The lower, the nearer to a solution."""
        return not self.result.converged, len(self.findings)


def _line(prepared: ShootingProblem, result: NewtonResult) -> str:
    system = prepared.system
    segments = sum(arc.grid.segments for arc in system.arcs)
    residuals = ", ".join(f"{r:.1e}" for r in result.residuals)
    size = f"{len(system.arcs)} arcs, {segments} segments, {system.layout.size} unknowns"
    return f"{size}: {result.reason} after residuals {residuals}"


def _table(prepared: ShootingProblem, result: NewtonResult) -> list[str]:
    """The arcs, then each step of Newton's method: residual, length of the correction, damping and
    contraction.
    """
    system, lines = prepared.system, []
    for k, arc in enumerate(system.arcs):
        times = system.layout.times[arc.phase]
        place = system.of_phase[arc.phase].index(k)
        start, end = result.unknowns[times[place]], result.unknowns[times[place + 1]]
        ham = arc.law.hamiltonian
        roles = mode_text(ham, arc.law.mode)
        touched = "".join(f"; touches {ham.constraints[j].name}" for j, _ in arc.entry.touched)
        label = f"{ham.phase.name}: " if len(prepared.form.phases) > 1 else ""
        lines.append(
            f"  {label}{start:.6g} to {end:.6g}: {roles}{touched}; {arc.grid.segments} segments"
        )
    lines.append(f"  {system.layout.size} unknowns")
    lines.append("  step  matrix   residual  correction  damping  contraction")
    for k, (residual, step) in enumerate(zip(result.residuals, result.steps, strict=True)):
        damping = f"{result.damping[k]:7.2g}" if k < len(result.damping) else "       "
        contraction = f"{step / result.steps[k - 1]:11.1e}" if k and result.steps[k - 1] > 0 else ""
        matrix = "kept" if k in result.chords else "new"
        lines.append(
            f"  {k + 1:4d}  {matrix:>6}  {residual:9.1e}  {step:10.1e}  {damping}  "
            f"{contraction}".rstrip()
        )
    return [*lines, f"  {result.reason}"]
