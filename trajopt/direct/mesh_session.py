"""A mesh program that is kept with its session, to be solved again for other parameters and
boundary values.

Layout, kernels, sparse matrices, sizes and the solver's memory stay. What may change are the values
of parameters and all bounds, as long as the same unknowns are fixed and the same rows are
equations.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.angles import angle_bounded, at_angle_bound
from trajopt.direct.arc_refinement import checked
from trajopt.direct.arc_structure import collapsed
from trajopt.direct.control_error import with_control_error
from trajopt.direct.mesh_solution import MeshSolution, PassKind
from trajopt.direct.packing import Layout
from trajopt.direct.solve_mesh import Context, estimated, read
from trajopt.direct.transcription import place_data, row_bounds, variable_bounds
from trajopt.direct.undetermined import settled
from trajopt.nlp.backends import Effort, Outcome, Result
from trajopt.nlp.program import Program, cost_at, scaled
from trajopt.nlp.session import (
    Session,
    SessionReport,
    SessionSettings,
    SessionStatus,
    independent,
    supports,
)
from trajopt.statement.bounds import Bound
from trajopt.statement.normal_form import NormalForm
from trajopt.statement.stated_bounds import bounds_of, with_bounds

Array = NDArray[np.float64]

OTHER_STRUCTURE = "other values are fixed than in the prepared program"


@dataclass(frozen=True, eq=False)
class Attempt:
    """What solving again on the kept mesh came to."""

    result: Result | None  # None where the program has another structure
    line: str  # for the log
    error: float = float("nan")  # the residual of the KKT conditions

    @property
    def solved(self) -> bool:
        return self.result is not None and self.result.outcome is Outcome.SOLVED


class MeshSession:
    """The program of a mesh solution, solved again and again; ``stated`` is the form that presolve
    has not changed.
    """

    def __init__(self, context: Context, solution: MeshSolution, stated: NormalForm) -> None:
        self.context, self.base, self.stated = context, solution, stated
        self.last = solution.result
        self.session: Session | None = None
        self._current = solution.layout, solution.program
        layout, program = self._current
        self._margins = tuple(
            np.where(bound == own, np.nan, bound)
            for bound, own in zip(
                (program.lower, program.upper), variable_bounds(layout), strict=True
            )
        )
        made = scaled(program, solution.sizes, solution.row_scales)
        made = made if context.settling is None else settled(made, layout, context.settling)
        self._program = independent(made)
        if supports(made):
            self.session = Session(self._program, solution.result)

    @property
    def layout(self) -> Layout:
        return self._current[0]

    @property
    def program(self) -> Program:
        """In physical units, with the numbers of the last solve."""
        return self._current[1]

    @property
    def scaled_program(self) -> Program:
        """In the units in which it is solved, with the regularization of its controls."""
        return self._program

    def twin(self) -> MeshSession:
        """The same program and last answer, with numbers and a solver's memory of its own."""
        other = copy(self)
        other._program = independent(self._program)
        other.session = None if self.session is None else Session(other._program, self.last)
        return other

    def solve(
        self, form: NormalForm, p: Array, settings: SessionSettings, certified: bool = True
    ) -> Attempt:
        """Solve for the bounds of ``form``, which is as stated, and for parameters ``p``."""
        if not self._set(form, p):
            return Attempt(None, OTHER_STRUCTURE)
        attempt = self._by_newton(settings, certified)
        if not attempt.solved:
            after = self._interior_point()
            attempt = Attempt(
                after,
                f"{attempt.line}; interior point: {after.outcome.value} in {after.iterations} "
                "iterations",
            )
            if attempt.solved and certified and self._is_no_minimum(after):
                return Attempt(None, f"{attempt.line}, but {SessionStatus.INDEFINITE.value}")
        if attempt.solved and attempt.result is not None:
            self.last = attempt.result
        return attempt

    def solve_by_newton(self, form: NormalForm, p: Array, settings: SessionSettings) -> Attempt:
        """The same without the interior-point method, and not certified."""
        if not self._set(form, p):
            return Attempt(None, OTHER_STRUCTURE)
        attempt = self._by_newton(settings, certified=False)
        if attempt.result is not None:
            self.last = attempt.result
        return attempt

    def _by_newton(self, settings: SessionSettings, certified: bool) -> Attempt:
        began = time.perf_counter()
        if self.session is None:
            return Attempt(None, "without the compiled core")
        self.session.begin(self.last)
        report = self.session.solve(settings, certified)
        if report.status is not SessionStatus.SOLVED:
            return Attempt(None, f"Newton's method: {report.status.value}")
        result = self.session.result(report.iterations, time.perf_counter() - began)
        return Attempt(self._with_own_cost(result), _line(report), report.error)

    def read(self, attempt: Attempt) -> MeshSolution:
        """The answer in physical units, without its estimated error."""
        assert attempt.result is not None
        base, (layout, program) = self.base, self._current
        context = replace(self.context, form=layout.form, parameters=program.parameters)
        return read(
            context, layout, program, base.sizes, base.row_scales, attempt.result, base.kind
        )

    def judged(self, solution: MeshSolution) -> MeshSolution:
        """The answer with its estimated error."""
        solution = solution.judged(estimated(solution), seconds=solution.result.seconds)
        return (
            with_control_error(solution)
            if solution.error <= self.context.method.tolerance
            else solution
        )

    def refutation(self, solution: MeshSolution) -> str:
        """Why an answer on the kept mesh does not stand; empty if it does."""
        method = self.context.method
        excess = [self._beyond(solution, self.stated)]
        if max(excess) > method.round_off:
            return "limits that presolve had left out are violated"
        if solution.kind is PassKind.ARCS:
            if checked(solution).refuted:
                return "multipliers contradict the arcs"
            if any(collapsed(view) for view in solution.phases):
                return "an arc has collapsed"
        inside = solution.program
        around = angle_bounded(
            solution.layout, self.context.kernels, replace(inside, start=solution.y)
        )
        if around is not inside and at_angle_bound(inside, around, method.round_off):
            return "an angle is at an auxiliary bound"
        if solution.error > method.tolerance:
            return f"the estimated error {solution.error:.1e} is above the tolerance"
        return ""

    def _beyond(self, solution: MeshSolution, stated: NormalForm) -> float:
        """How far the answer is beyond the bounds that were stated, in sizes of the unknowns."""
        if stated is solution.layout.form:
            return 0.0
        lower, upper = variable_bounds(_relaid(solution.layout, stated))
        excess = (
            np.maximum(np.maximum(lower - solution.y, solution.y - upper), 0.0) / solution.sizes
        )
        return float(excess.max(initial=0.0))

    def _interior_point(self) -> Result:
        last, method = self.last, self.context.method
        # Between the barrier of a first start and that of a start at the solution.
        barrier = float(np.sqrt(method.search.barrier * method.round_off))
        effort = Effort(barrier, multipliers=(last.bound_multipliers, last.constraint_multipliers))
        start = np.clip(last.y, self._program.lower, self._program.upper)
        result = self.context.method.backend.solve(
            replace(self._program, start=start), effort, self.context.budget.deadline
        )
        return self._with_own_cost(result)

    def _is_no_minimum(self, result: Result) -> bool:
        if self.session is None:
            return False
        self.session.begin(result)
        return self.session.factor().status is SessionStatus.INDEFINITE

    def _with_own_cost(self, result: Result) -> Result:
        """With its own cost, not that of the regularization."""
        if self.context.settling is None:
            return result
        return replace(
            result, f=cost_at(scaled(self.program, self.base.sizes, self.base.row_scales), result.y)
        )

    def _set(self, stated: NormalForm, p: Array) -> bool:
        """Put the numbers into the program; False where they need another structure."""
        layout, program = self._current
        mine, base = self._program, self.base
        if stated is not self.stated:
            layout = self.laid_out(stated)
            own, rows = self.limits(layout)
            same = np.array_equal(own[0] >= own[1], mine.lower >= mine.upper)
            if not same or not np.array_equal(rows[0] >= rows[1], mine.g_lower >= mine.g_upper):
                return False
            blocks = list(program.blocks)
            for i, ph in enumerate(layout.phases):
                blocks[i] = replace(blocks[i], data=place_data(ph))
                mine.blocks[i].data[...] = blocks[i].data
            program = replace(
                program,
                blocks=tuple(blocks),
                lower=own[0],
                upper=own[1],
                g_lower=rows[0],
                g_upper=rows[1],
            )
            mine.lower[:], mine.upper[:] = own[0] / base.sizes, own[1] / base.sizes
            mine.g_lower[:], mine.g_upper[:] = rows[0] * base.row_scales, rows[1] * base.row_scales
            self.stated = stated
        if not np.array_equal(p, program.parameters):
            mine.parameters[:] = p
            program = replace(program, parameters=np.array(p, dtype=float))
        self._current = layout, program
        return True

    def laid_out(self, stated: NormalForm) -> Layout:
        """The layout with the bounds of another form, which is as stated."""
        return _relaid(self.layout, self._presolved(stated))

    def limits(self, layout: Layout) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Bounds of the unknowns and of the rows, in physical units."""
        own = tuple(
            np.where(np.isnan(margin), bound, margin)
            for bound, margin in zip(variable_bounds(layout), self._margins, strict=True)
        )
        return (own[0], own[1]), row_bounds(self.context.kernels, layout)

    def _presolved(self, stated: NormalForm) -> NormalForm:
        """The form that presolve made, with the changes of the bounds from those that it saw."""
        now = self.layout.form
        if now is self.stated:
            return stated
        triples: Iterator[tuple[Bound, Bound, Bound]] = iter(
            zip(bounds_of(now), bounds_of(self.stated), bounds_of(stated), strict=True)
        )

        def moved(bound: Bound) -> Bound:
            mine, before, after = next(triples)
            return bound if before is after else _shifted(mine, before, after)

        return with_bounds(now, moved)


def _shifted(mine: Bound, before: Bound, after: Bound) -> Bound:
    """A bound that presolve took from ``before``, now that it is ``after``: what presolve moved
    keeps its distance.
    """
    sides = []
    for of in ("lower", "upper"):
        own, old, new = getattr(mine, of), getattr(before, of), getattr(after, of)
        with np.errstate(invalid="ignore"):
            shift = np.where(np.isfinite(own) & np.isfinite(old) & np.isfinite(new), new - old, 0.0)
        sides.append(np.where(own == old, new, own + shift))
    return replace(mine, lower=sides[0], upper=sides[1])


def _relaid(layout: Layout, form: NormalForm) -> Layout:
    """The layout with the bounds of another form."""
    phases = tuple(
        replace(ph, form=own) for ph, own in zip(layout.phases, form.phases, strict=True)
    )
    return replace(layout, form=form, phases=phases)


def _line(report: SessionReport) -> str:
    steps = f"{report.iterations} steps, {report.chords} of them with the last factors"
    return f"Newton's method: {steps}, error {report.error:.1e}"
