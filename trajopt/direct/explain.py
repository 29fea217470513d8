"""Why a solve failed, in the user's names: the worst violations, saturated controls, places where
the model is not a number.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import DECADE
from trajopt.direct.elastic import END_WEIGHT, condition_origin, condition_weight, end_required
from trajopt.direct.mesh_solution import MeshSolution
from trajopt.direct.phase_view import PhaseView
from trajopt.direct.undetermined import undetermined_lines
from trajopt.nlp.backends import Outcome
from trajopt.nlp.program import Program, arguments
from trajopt.statement.normal_form import ConditionKind
from trajopt.trajectory.solution import Status

Array = NDArray[np.float64]


class RowKind(enum.Enum):
    """What a constraint row, or a bound, belongs to."""

    DYNAMICS = "dynamics of state"
    ALGEBRAIC = "algebraic equation"
    PATH = "path constraint"
    INTEGRAL = "the integral"
    KNOTS = "the order of the switching times"
    CONDITION = "condition"
    START = "at the start, path constraint"
    END_VALUE = "the end value of state"
    BOUND = "the bound of state"


@dataclass(frozen=True)
class RowName:
    """The user's name for a constraint row."""

    kind: RowKind
    name: str
    phase: str = ""
    time: float | None = None

    @property
    def what(self) -> str:
        quote = '"' if "'" in self.name else "'"
        return f"{self.kind.value} {quote}{self.name}{quote}" if self.name else self.kind.value

    @property
    def key(self) -> tuple[RowKind, str, str]:
        return self.kind, self.name, self.phase

    @property
    def text(self) -> str:
        where = (f" in phase '{self.phase}'" if self.phase else "") + (
            f" at t = {self.time:.4g}" if self.time is not None else ""
        )
        return self.what + where


@dataclass(frozen=True)
class Violation:
    """Something that a solution violates, and by how much."""

    of: RowName
    amount: float
    relative: float  # in units of its size
    weighted: float  # the same, times its weight in the least-violation problem
    required: str  # its value and what is required, where the user required it

    @property
    def line(self) -> str:
        return f"{self.of.text} is violated by {self.amount:.3g}{self.required}"


def explain(solution: MeshSolution, status: Status) -> tuple[str, ...]:
    """One line for each thing to know, the most important first."""
    if status is Status.SOLVED:
        return tuple(undetermined_lines(solution))
    if status is Status.COARSE:
        return (*_coarse(solution), *_large_cost(solution), *undetermined_lines(solution))
    if status is Status.WORK_LIMIT:
        return (
            _coarse(solution)[0],
            _MORE_WORK,
            *_large_cost(solution),
            *undetermined_lines(solution),
        )
    if status is Status.TIME_LIMIT and solution.solved:
        return _coarse(solution)[0], _ADVICE[Outcome.TIME_LIMIT], *_large_cost(solution)
    if solution.usable and _large_cost(solution):
        return "the constraints are met, but the cost did not converge", *_large_cost(solution)
    lines = [
        f"{name.text}: its {what} is not a number" for what, name in _not_numbers(solution)[:3]
    ]
    if not lines:
        lines = [v.line for v in violations(solution)[:3]]
    lines += _saturated(solution)
    if solution.outcome is Outcome.LEAST_VIOLATION:
        lines += _limiting(solution)
    return (*lines, *_advice(solution, bool(lines)))


def _coarse(solution: MeshSolution) -> tuple[str, ...]:
    view, estimate = max(
        zip(solution.phases, solution.estimates, strict=True), key=lambda pair: pair[1].errors.max()
    )
    k, method = int(np.argmax(estimate.errors)), view.method
    if method.max_passes == 1:
        advice = (
            "only one mesh was allowed; try: more, Collocation(max_passes=12), a finer one, "
            "or tolerance=inf to accept this"
        )
    elif estimate.errors[k] > method.refinement.rough:
        advice = (
            "the error is too large to trust: the trajectory between collocation points is wrong; "
            "try: more meshes, "
            "Collocation(max_passes=30), a guess= closer to the answer, or a phase of its own "
            "where the motion is fast"
        )
    else:
        advice = "try: a larger tolerance, or more meshes: Collocation(max_passes=30)"
    return (
        f"the estimated error is {estimate.errors[k]:.1e} in phase '{view.layout.form.name}' "
        f"at t = {view.values.breaks[k]:.4g} to {view.values.breaks[k + 1]:.4g}; required is "
        f"{method.tolerance:.0e}",
        advice,
    )


def _large_cost(solution: MeshSolution) -> tuple[str, ...]:
    """Where the cost is small beside what it could be, large weights in it hinder the solver, not
    the constraints.
    """
    size, reach = solution.cost_size, solution.cost_reach
    if not 0 < size < solution.phases[0].method.negligible * reach:
        return ()
    return (
        f"the size of the cost is {size:.2g}, but it would change by {reach:.2g} if all variables "
        "changed by their sizes: "
        "large weights in it hinder the solver; "
        "try: smaller weights first, and their solution as guess=, or constraints instead of "
        "penalties",
    )


def violations(solution: MeshSolution) -> list[Violation]:
    """All that is violated, the worst first; of one constraint, where it is worst."""
    found = sorted(
        [*_row_violations(solution), *_bound_violations(solution)], key=lambda v: -v.relative
    )
    worst: dict[tuple[RowKind, str, str], Violation] = {}
    for violation in found:
        worst.setdefault(violation.of.key, violation)
    return list(worst.values())


def total_violation(solution: MeshSolution) -> float:
    """The weighted sum of all that is violated."""
    return sum(v.weighted for v in violations(solution))


def row_name(solution: MeshSolution, row: int) -> RowName:
    """The name, phase and time of a constraint row."""
    layout = solution.layout
    for view in solution.phases:
        name = _row_of_phase(view, row)
        if name is not None:
            return name
    k = row - layout.condition_rows.first
    if k < len(layout.form.b_names):
        return RowName(RowKind.CONDITION, layout.form.b_names[k])
    phase, path = layout.start_paths[k - len(layout.form.b_names)]
    form = layout.form.phases[phase]
    return RowName(RowKind.START, form.c_names[path], form.name)


def _row_of_phase(view: PhaseView, row: int) -> RowName | None:
    """The name of a constraint row, if it is one of this phase."""
    ph, form = view.layout, view.layout.form
    if place := ph.defect_rows.place_of(row):
        defect, state = place
        interval = int(np.searchsorted(ph.defect_first, defect, side="right")) - 1
        time = float(view.values.breaks[interval])
        return RowName(RowKind.DYNAMICS, form.x_names[state], form.name, time)
    for part, kind, names in (
        (ph.algebraic_rows, RowKind.ALGEBRAIC, form.g_names),
        (ph.path_rows, RowKind.PATH, form.c_names),
    ):
        if place := part.place_of(row):
            point, which = place
            return RowName(kind, names[which], form.name, float(view.times[point]))
    for part, kind in ((ph.integral_rows, RowKind.INTEGRAL), (ph.span_rows, RowKind.KNOTS)):
        if part.place_of(row):
            return RowName(kind, "", form.name)
    return None


def _row_violations(solution: MeshSolution) -> Iterator[Violation]:
    program, g, layout = solution.program, solution.constraint_values, solution.layout
    amount = np.nan_to_num(
        np.maximum(np.maximum(program.g_lower - g, g - program.g_upper), 0.0), nan=0.0
    )
    relative = amount * solution.row_scales
    settings = solution.phases[0].method
    for row in np.flatnonzero(relative >= settings.round_off):
        of, k = row_name(solution, int(row)), int(row) - layout.condition_rows.first
        stated = of.kind in (RowKind.CONDITION, RowKind.PATH, RowKind.START)
        required = _required(g[row], program.g_lower[row], program.g_upper[row]) if stated else ""
        weight = condition_weight(layout, k) if k >= 0 else 1.0
        yield Violation(
            of, float(amount[row]), float(relative[row]), weight * float(relative[row]), required
        )


def _bound_violations(solution: MeshSolution) -> Iterator[Violation]:
    """End values and bounds of states: only least-violation solutions violate these."""
    for view in solution.phases:
        ph, X, settings = view.layout, view.values.X, view.method
        lower, upper = ph.states(solution.program.lower), ph.states(solution.program.upper)
        excess = np.maximum(np.maximum(lower - X, X - upper), 0.0)
        # defects are in units of their states
        relative = excess * ph.defect_rows(solution.row_scales)[0]
        times = np.interp(ph.grid.state_times, ph.mesh.spans[0], view.values.spans)
        required = end_required(ph)
        for point, i in np.argwhere(relative >= settings.round_off):
            last = point == ph.grid.state_points - 1 and required[i]
            kind, weight = (RowKind.END_VALUE, float(END_WEIGHT)) if last else (RowKind.BOUND, 1.0)
            of = RowName(kind, ph.form.x_names[i], ph.form.name, float(times[point]))
            text = _required(X[point, i], lower[point, i], upper[point, i])
            yield Violation(
                of,
                float(excess[point, i]),
                float(relative[point, i]),
                weight * float(relative[point, i]),
                text,
            )


def _required(got: float, lower: float, upper: float) -> str:
    if lower == upper:
        limit = f"{lower:.4g}"
    elif np.isfinite(lower) and np.isfinite(upper):
        limit = f"{lower:.4g} to {upper:.4g}"
    else:
        limit = f"at least {lower:.4g}" if np.isfinite(lower) else f"at most {upper:.4g}"
    return f": its value is {got:.4g}, required is {limit}"


def _saturated(solution: MeshSolution) -> list[str]:
    lines = []
    for view in solution.phases:
        form, bound = view.layout.form, view.layout.form.u_bound
        for j, name in enumerate(form.u_names):
            for side, limit in (("lower", bound.lower[j]), ("upper", bound.upper[j])):
                margin = view.method.arcs.at_bound * view.u_range[j]
                if (
                    np.isfinite(limit)
                    and view.u_range[j] > 0
                    and np.all(np.abs(view.values.U[:, j] - limit) < margin)
                ):
                    lines.append(
                        f"control '{name}' stays at its {side} bound {limit:g} throughout phase "
                        f"'{form.name}'"
                    )
    return lines


def _limiting(solution: MeshSolution) -> list[str]:
    """The constraints that keep a least-violation solution from violating less."""
    worths: dict[str, float] = {}
    for worth, name in (*_limiting_bounds(solution), *_limiting_conditions(solution)):
        worths[name] = worths.get(name, 0.0) + worth
    violated = total_violation(solution)
    names = [
        name
        for name, worth in sorted(worths.items(), key=lambda item: -item[1])
        if DECADE**2 * worth > violated
    ]
    return [f"limiting constraints: {', '.join(names[:4])}"] if names else []


def _limiting_bounds(solution: MeshSolution) -> Iterator[tuple[float, str]]:
    """(what it is worth to move it by its size, name) of the bounds of times, states, controls and
    variables.
    """
    program = solution.program
    for view in solution.phases:
        ph, form, multipliers = view.layout, view.layout.form, view.bound_multipliers
        lower, upper, end = (
            float(ph.span_times(y)[-1]) for y in (program.lower, program.upper, multipliers)
        )
        side = (
            "end time"
            if lower == upper
            else f"{'upper' if end > 0 else 'lower'} bound of the end time"
        )
        phase = f" of phase '{form.name}'" if len(solution.phases) > 1 else ""
        yield (
            abs(end) * (view.values.tf - view.values.t0),
            f"the {side}{phase} ({upper if end > 0 else lower:.4g})",
        )
        states = np.abs(view.state_multipliers[1:-1]).sum(axis=0) * np.abs(view.values.X).max(
            axis=0
        )
        yield from (
            (s, f"the bounds of state '{name}'")
            for s, name in zip(states, form.x_names, strict=True)
        )
        for j, name in enumerate(form.u_names):
            total = sum(
                float(np.abs(ph.control_on(multipliers, k, j)).sum())
                for k in range(ph.mesh.intervals)
            )
            yield (
                total * float(np.abs(view.values.U[:, j]).max()),
                f"the bounds of control '{name}'",
            )
    worth = np.abs(
        solution.layout.statics(solution.phases[0].bound_multipliers)
        * solution.layout.statics(solution.y)
    )
    for q in solution.layout.form.statics:
        yield float(worth[q.rows].sum()), f"the bounds of variable '{q.name}'"


def _limiting_conditions(solution: MeshSolution) -> Iterator[tuple[float, str]]:
    """The same for conditions that are met, path constraints, and start values that a phase before
    has to reach.
    """
    layout = solution.layout
    worth = np.abs(solution.phases[0].constraint_multipliers) / solution.row_scales
    violated = {v.of.key for v in violations(solution)}
    fixed = {
        (ph.form.name, q.name)
        for ph in layout.phases
        for q in ph.form.states
        if np.all(q.start.fixed)
    }
    for k, row in enumerate(layout.condition_rows(np.arange(layout.constraints))):
        origin, name = condition_origin(layout, k), row_name(solution, int(row))
        if origin.kind is ConditionKind.LINK and (origin.phase, origin.variable) in fixed:
            yield (
                float(worth[row]),
                f"the start value of state '{origin.variable}' in phase '{origin.phase}'",
            )
        elif origin.kind is ConditionKind.STATED and name.key not in violated:
            yield float(worth[row]), name.what
    for view in solution.phases:
        rows = view.layout.path_rows(worth).sum(axis=0)
        for total, path in zip(rows, view.layout.form.c_names, strict=True):
            of = RowName(RowKind.PATH, path, view.layout.form.name)
            if of.key not in violated:
                yield float(total), of.what


def _not_numbers(solution: MeshSolution) -> list[tuple[str, RowName]]:
    sites = not_a_number_sites(solution.program, solution.y)
    return [(what, row_name(solution, row)) for what, row, _ in sites]


def not_a_number_sites(program: Program, y: Array) -> Iterator[tuple[str, int, int]]:
    """(value or derivative, constraint row, place) wherever a kernel is not finite at ``y``."""
    for block in program.blocks:
        kernel = block.kernel
        at = arguments(block, y, program.parameters)
        for what, function, rows in (
            ("value", kernel.constraints, np.arange(kernel.constraint_rows)),
            ("derivative", kernel.constraint_jacobian, kernel.constraint_pattern[0]),
        ):
            if not rows.size:
                continue
            bad = np.argwhere(~np.isfinite(np.asarray(function(*at))))
            for entry, place in bad[:1]:
                output = place * kernel.constraint_rows + rows[entry]
                yield what, int(block.scatter.indices[block.scatter.pointers[output]]), int(place)


def _advice(solution: MeshSolution, found: bool) -> list[str]:
    if solution.unbounded:
        return [
            "the cost has no lower bound: bound the controls, the states or the time that let it "
            "fall"
        ]
    if solution.outcome in _ADVICE:
        return [_ADVICE[solution.outcome]]
    return (
        [
            "try: a guess= closer to the answer, or simpler conditions first and their solution "
            "as guess="
        ]
        if found
        else []
    )


_MORE_WORK = (
    "the unknowns times iterations of all meshes exceed Collocation(max_work=...); "
    "try: a larger value, a larger tolerance, or a guess= closer to the answer"
)
_ADVICE = {
    Outcome.NOT_A_NUMBER: (
        "try: bounds or guesses that keep variables away from divisions by zero, roots and "
        "logarithms of negative numbers"
    ),
    Outcome.LEAST_VIOLATION: (
        "this is the solution that violates least, locally; "
        "try: loosen the constraints named above, or give a guess= closer to a trajectory that "
        "meets them"
    ),
    Outcome.INFEASIBLE: (
        "try: loosen the conditions named above, widen the controls' bounds or the end time, or "
        "give a guess closer to them"
    ),
    Outcome.TIME_LIMIT: "try: a longer time limit, a guess= closer to the answer, or a larger "
    "tolerance",
    Outcome.ITERATIONS: (
        "try: a guess= closer to the answer, scale= for variables of unusual size, or more "
        "iterations: "
        "Collocation(backend=Compiled(max_iterations=3000))"
    ),
}
