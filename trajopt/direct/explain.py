"""Why a solve failed, in the user's names: the worst violations, saturated controls, places where the model is not a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.direct.iterate import Iterate
from trajopt.direct.nearest import END_PRICE, NEAREST, condition_name, end_asked, price_of
from trajopt.direct.transcribe import PhaseLayout, control_unknowns
from trajopt.direct.values import PhaseValues
from trajopt.nlp.backends import Outcome
from trajopt.nlp.program import Program, places

Array = NDArray[np.float64]

ENOUGH = 1e-6  # of a constraint's size: below it a violation is not worth naming
PRESSED = 1e-2  # of all that is missed: what it must be worth to have a bound out of the way


@dataclass(frozen=True)
class Violation:
    """Something that an iterate does not meet, and by how much."""

    what: str
    phase: str
    time: float | None
    amount: float
    relative: float  # in units of its size
    price: float  # the same, weighed by how much it matters (``nearest``)
    wanted: str  # what it comes to and what was asked for, where a person asked

    @property
    def line(self) -> str:
        return f"{self.what}{_where(self.phase, self.time)} is violated by {self.amount:.3g}{self.wanted}"


def explain(iterate: Iterate) -> tuple[str, ...]:
    """One line for each thing to know, the most important first."""
    lines = _not_numbers(iterate)
    if not lines:
        lines = [v.line for v in violations(iterate)[:3]]
    lines += _saturated(iterate)
    if iterate.result.message == NEAREST:
        lines += _pressed(iterate)
    return (*lines, *_advice(iterate, lines))


def violations(iterate: Iterate) -> list[Violation]:
    """All that is not met, the worst first; of one constraint, where it is worst."""
    found = sorted([*_row_violations(iterate), *_bound_violations(iterate)], key=lambda v: -v.relative)
    worst: dict[tuple[str, str], Violation] = {}
    for violation in found:
        worst.setdefault((violation.what, violation.phase), violation)
    return list(worst.values())


def row_name(iterate: Iterate, row: int) -> tuple[str, str, float | None]:
    """The name, phase and time of a constraint row."""
    layout = iterate.layout
    for ph, values in zip(layout.phases, iterate.values, strict=True):
        if ph.rows <= row < ph.rows_end:
            return _row_of_phase(ph, values, row)
    name = condition_name(layout, row)
    if name not in layout.form.b_names:
        return name, "", None
    quote = '"' if "'" in name else "'"
    return f"condition {quote}{name}{quote}", "", None


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


def _row_violations(iterate: Iterate) -> Iterator[Violation]:
    program, g = iterate.program, iterate.constraint_values
    amount = np.nan_to_num(np.maximum(np.maximum(program.g_lower - g, g - program.g_upper), 0.0), nan=0.0)
    relative = amount * iterate.row_scales
    for row in np.flatnonzero(relative >= ENOUGH):
        name, phase, time = row_name(iterate, int(row))
        asked = name.startswith(("condition", "path"))
        wanted = _wanted(g[row], program.g_lower[row], program.g_upper[row]) if asked else ""
        price = float(relative[row]) * price_of(iterate.layout, int(row))
        yield Violation(name, phase, time, float(amount[row]), float(relative[row]), price, wanted)


def _bound_violations(iterate: Iterate) -> Iterator[Violation]:
    """End values and bounds of states: only the nearest motion ever misses these."""
    program = iterate.program
    for ph, values in zip(iterate.layout.phases, iterate.values, strict=True):
        lower, upper = (side[ph.x : ph.z].reshape(-1, ph.nx) for side in (program.lower, program.upper))
        excess = np.maximum(np.maximum(lower - values.X, values.X - upper), 0.0)
        relative = excess * iterate.row_scales[ph.rows : ph.rows + ph.nx]  # defects are in units of their states
        times = np.interp(ph.state_times(), ph.mesh.spans[0], values.spans)
        asked = end_asked(ph)
        for point, i in np.argwhere(relative >= ENOUGH):
            what, price = ("end value", END_PRICE) if point == ph.state_points - 1 and asked[i] else ("bound", 1.0)
            yield Violation(
                f"the {what} of state '{ph.form.x_names[i]}'", ph.form.name, float(times[point]), float(excess[point, i]),
                float(relative[point, i]), float(relative[point, i]) * price,
                _wanted(values.X[point, i], lower[point, i], upper[point, i]),
            )  # fmt: skip


def _wanted(got: float, lower: float, upper: float) -> str:
    if lower == upper:
        asked = f"{lower:.4g}"
    elif np.isfinite(lower) and np.isfinite(upper):
        asked = f"{lower:.4g} to {upper:.4g}"
    else:
        asked = f"at least {lower:.4g}" if np.isfinite(lower) else f"at most {upper:.4g}"
    return f": it comes to {got:.4g}, asked for {asked}"


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


def _pressed(iterate: Iterate) -> list[str]:
    """What the nearest motion presses against: with that out of the way it would miss less."""
    worths: dict[str, float] = {}
    for worth, name in (*_pressed_bounds(iterate), *_pressed_conditions(iterate)):
        worths[name] = worths.get(name, 0.0) + worth
    missed = sum(v.price for v in violations(iterate))
    names = [name for name, worth in sorted(worths.items(), key=lambda item: -item[1]) if worth > PRESSED * missed]
    return [f"what stands in the way: {', '.join(names[:4])}"] if names else []


def _pressed_bounds(iterate: Iterate) -> Iterator[tuple[float, str]]:
    """(what it is worth to move it by its size, name) of the bounds of times, states, controls and variables."""
    multipliers, program = iterate.bound_multipliers, iterate.program
    for ph, values in zip(iterate.layout.phases, iterate.values, strict=True):
        last = ph.integrals - 1
        above = bool(multipliers[last] > 0)
        fixed = program.lower[last] == program.upper[last]
        side = "end time" if fixed else f"{'upper' if above else 'lower'} bound of the end time"
        phase = f" of phase '{ph.form.name}'" if len(iterate.layout.phases) > 1 else ""
        name = f"the {side}{phase} ({(program.lower, program.upper)[above][last]:.4g})"
        yield abs(multipliers[last]) * (values.tf - values.t0), name
        states = np.abs(multipliers[ph.x : ph.z].reshape(-1, ph.nx)[1:-1]).sum(axis=0) * np.abs(values.X).max(axis=0)
        yield from ((s, f"the bounds of state '{name}'") for s, name in zip(states, ph.form.x_names, strict=True))
        for j, name in enumerate(ph.form.u_names):
            unknowns = [control_unknowns(ph, k, j) for k in range(ph.mesh.intervals)]
            push = float(np.abs(multipliers[np.concatenate(unknowns)]).sum())
            yield push * float(np.abs(values.U[:, j]).max()), f"the bounds of control '{name}'"
    for q in iterate.layout.form.statics:
        here = slice(iterate.layout.s + q.rows.start, iterate.layout.s + q.rows.stop)
        yield float(np.abs(multipliers[here] * program.start[here]).sum()), f"the bounds of variable '{q.name}'"


def _pressed_conditions(iterate: Iterate) -> Iterator[tuple[float, str]]:
    """The same for conditions that are met, path constraints, and start values that a phase before has to reach."""
    layout = iterate.layout
    worth = np.abs(iterate.constraint_multipliers) / iterate.row_scales
    missed = {v.what for v in violations(iterate)}
    starts = {
        f"{q.name} from '{before.form.name}' to '{ph.form.name}'": (q, ph.form.name)
        for ph in layout.phases for before in layout.phases for q in ph.form.states
    }  # fmt: skip
    for row in range(layout.b_rows, layout.constraints):
        name = condition_name(layout, row)
        q, phase = starts.get(name.split("[")[0], (None, ""))
        if q is not None and np.all(q.start.fixed):
            yield float(worth[row]), f"the start value of state '{q.name}' in phase '{phase}'"
        elif q is None and row_name(iterate, row)[0] not in missed and price_of(layout, row) == 1.0:
            yield float(worth[row]), row_name(iterate, row)[0]
    for ph in layout.phases:
        for row, name in enumerate(ph.form.c_names):
            if f"path constraint '{name}'" not in missed:
                push = float(worth[ph.c_rows + row : ph.q_rows : len(ph.form.c_names)].sum())
                yield push, f"path constraint '{name}'"


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
    if iterate.result.message == NEAREST:
        return [
            "this is the motion that misses least, as far as can be seen from here; "
            "try: loosen what is named above, or give a guess= closer to a motion that meets it"
        ]
    if outcome is Outcome.INFEASIBLE:
        return [
            "try: loosen the conditions named above, widen the controls' bounds or the end time, or give a guess closer to them"
        ]
    if outcome is Outcome.TIME_LIMIT:
        return ["try: a longer time limit, a guess= closer to the answer, or a larger tolerance"]
    if outcome is Outcome.ITERATIONS:
        return [
            "try: a guess= closer to the answer, scale= for variables of unusual size, or more iterations: "
            "Collocation(backend=Ipopt(max_iterations=3000))"
        ]
    return ["try: a guess= closer to the answer, or simpler conditions first and their solution as guess="] if found else []
