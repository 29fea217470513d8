"""Why a solve failed, in the user's names: the worst violations, saturated controls, places where the model is not a number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.collocation import Iterate
from trajopt.direct.transcribe import PhaseLayout
from trajopt.direct.values import PhaseValues
from trajopt.nlp.backends import Outcome
from trajopt.nlp.program import Program, places

Array = NDArray[np.float64]

ENOUGH = 1e-6  # of a constraint's size: below it a violation is not worth naming


def explain(iterate: Iterate) -> tuple[str, ...]:
    """One line for each thing to know, the most important first."""
    lines = _not_numbers(iterate)
    if not lines:
        lines = _worst_violations(iterate)
    lines += _saturated(iterate)
    return (*lines, *_advice(iterate, lines))


def row_name(iterate: Iterate, row: int) -> tuple[str, str, float | None]:
    """The name, phase and time of a constraint row."""
    layout = iterate.layout
    for ph, values in zip(layout.phases, iterate.values, strict=True):
        if ph.rows <= row < ph.rows_end:
            return _row_of_phase(ph, values, row)
    index = row - layout.b_rows
    names = layout.form.b_names
    return (f"condition '{names[index]}'" if index < len(names) else "a path constraint at the start"), "", None


def _row_of_phase(ph: PhaseLayout, values: PhaseValues, row: int) -> tuple[str, str, float | None]:
    name = ph.form.name
    if row < ph.g_rows:
        defect, state = divmod(row - ph.rows, ph.nx)
        interval = int(np.searchsorted(ph.defect_first, defect, side="right")) - 1
        return f"dynamics of state '{ph.form.x_names[state]}'", name, float(values.breaks[interval])
    if row < ph.q_rows:
        first, names, what = (
            (ph.g_rows, ph.form.g_names, "algebraic equation")
            if row < ph.c_rows
            else (ph.c_rows, ph.form.c_names, "path constraint")
        )
        point, which = divmod(row - first, len(names))
        times = np.interp(ph.point_times(), ph.mesh.spans[0], values.spans)
        return f"{what} '{names[which]}'", name, float(times[point])
    return ("the integral" if row < ph.span_rows else "the order of the switching times"), name, None


def _worst_violations(iterate: Iterate, count: int = 3) -> list[str]:
    program, g = iterate.program, iterate.constraint_values
    amount = np.nan_to_num(np.maximum(np.maximum(program.g_lower - g, g - program.g_upper), 0.0), nan=0.0)
    relative = amount * iterate.row_scales
    lines: list[str] = []
    named: set[tuple[str, str]] = set()
    for row in np.argsort(-relative):
        if relative[row] < ENOUGH or len(lines) == count:
            break
        name, phase, time = row_name(iterate, int(row))
        if (name, phase) in named:
            continue
        named.add((name, phase))
        lines.append(f"{name}{_where(phase, time)} is violated by {amount[row]:.3g}")
    return lines


def _where(phase: str, time: float | None) -> str:
    return (f" in phase '{phase}'" if phase else "") + (f" at t = {time:.4g}" if time is not None else "")


def _saturated(iterate: Iterate) -> list[str]:
    lines = []
    for ph, values in zip(iterate.layout.phases, iterate.values, strict=True):
        bound = ph.form.u_bound
        for j, name in enumerate(ph.form.u_names):
            for side, limit in (("lower", bound.lower[j]), ("upper", bound.upper[j])):
                if (
                    np.isfinite(limit)
                    and bound.lower[j] < bound.upper[j]
                    and np.all(np.abs(values.U[:, j] - limit) < 1e-3 * max(1.0, abs(limit)))
                ):
                    lines.append(f"control '{name}' stays at its {side} bound {limit:g} all along phase '{ph.form.name}'")
    return lines


def _not_numbers(iterate: Iterate) -> list[str]:
    lines = []
    for what, row, _ in not_a_number_sites(iterate.program):
        name, phase, time = row_name(iterate, row)
        lines.append(f"{name}{_where(phase, time)}: its {what} is not a number")
        if len(lines) == 3:
            break
    return lines


def not_a_number_sites(program: Program) -> Iterator[tuple[str, int, int]]:
    """(value or derivative, constraint row, place) wherever a kernel is not finite at the program's start."""
    for block in program.blocks:
        kernel = block.kernel
        arguments = places(block, program)
        for what, function, rows in (
            ("value", kernel.constraints, np.arange(kernel.constraint_rows)),
            ("derivative", kernel.constraint_jacobian, kernel.constraint_pattern[0]),
        ):
            if not rows.size:
                continue
            bad = np.argwhere(~np.isfinite(np.asarray(function(*arguments))))
            for entry, place in bad[:1]:
                output = place * kernel.constraint_rows + rows[entry]
                yield what, int(block.scatter.indices[block.scatter.pointers[output]]), int(place)


def _advice(iterate: Iterate, found: list[str]) -> list[str]:
    outcome = iterate.result.outcome
    if iterate.unbounded:
        return ["the cost falls without end: bound the controls, the states or the time that let it"]
    if outcome is Outcome.NOT_A_NUMBER:
        return [
            "try: bounds or guesses that keep variables away from divisions by zero, roots and logarithms of negative numbers"
        ]
    if outcome is Outcome.INFEASIBLE:
        return [
            "try: loosen the conditions named above, widen the controls' bounds or the end time, or give a guess closer to them"
        ]
    if outcome is Outcome.ITERATIONS:
        return [
            "try: a guess= closer to the answer, scale= for variables of unusual size, or more iterations: "
            "Collocation(backend=Ipopt(max_iterations=3000))"
        ]
    return ["try: a guess= closer to the answer, or simpler conditions first and their solution as guess="] if found else []
