"""Why shooting failed: the equation with the largest residual, the kind of failure, and what to
try.

The three kinds are *noise* (rounding errors are as large as the corrections), *growth* (errors grow
along a segment more than its grid allows, or the flow ends) and *structure* (the arcs are wrong, or
the guess is too far away).
"""

from __future__ import annotations

import numpy as np

from trajopt.indirect.assembly import Equation
from trajopt.indirect.initial_system import ShootingProblem
from trajopt.indirect.modes import mode_text
from trajopt.indirect.newton import LIMITS, NewtonEnd, NewtonResult
from trajopt.indirect.settings import GRID

ADVICE = {
    "noise": "try a larger tolerance, or scale states and time so that the terms of the model "
    "have similar sizes",
    "growth": "try a more accurate guess: solve directly with a smaller tolerance and pass the "
    "solution as guess",
    "structure": "try other arcs in the guess, or a Continuation from a problem with fewer active "
    "constraints",
    NewtonEnd.TIME_LIMIT.value: "a longer time limit continues further",
    NewtonEnd.WORK_LIMIT.value: "a larger limit continues further: Shooting(operations=...)",
}


def diagnose(prepared: ShootingProblem, result: NewtonResult) -> list[str]:
    """Return what to tell about Newton's method that did not converge, in lines."""
    lines = [f"Newton's method for Pontryagin's conditions: {result.reason}."]
    if result.end in LIMITS.values():
        return [*lines, ADVICE[result.end.value]]
    kind = _kind(prepared, result)
    if result.worst is not None:
        equation = prepared.system.equation(result.worst, result.unknowns)
        size = f"{result.residuals[-1]:.1e}" if result.residuals else "not a number"
        lines.append(
            f"{kind}: the largest residual, {size}, is in: "
            f"{equation.text}{_place(prepared, equation)}"
        )
    return [*lines, ADVICE[kind]]


def largest_growth(prepared: ShootingProblem, unknowns: np.ndarray) -> float:
    """Return the largest factor by which a relative error grows over one segment."""
    largest = 1.0
    for k, arc in enumerate(prepared.system.arcs):
        numbers, _ = prepared.system.numbers(k, unknowns)
        with np.errstate(all="ignore"):
            run = arc.flow.run(
                unknowns[prepared.system.layout.nodes[k]],
                arc.grid.steps,
                numbers,
                prepared.system.p,
            )
            scale = prepared.flow_scales[k]
            relative = (
                np.abs(run.by_start)
                * scale[None, None, : run.by_start.shape[2]]
                / scale[None, :, None]
            )
            growth = float(relative.sum(axis=2).max())
        largest = max(largest, growth) if np.isfinite(growth) else float("inf")
    return largest


def _kind(prepared: ShootingProblem, result: NewtonResult) -> str:
    if result.end is NewtonEnd.ROUNDING:
        return "noise"
    # The grid of the guess allows this growth, estimated over single steps, which adds up to a few
    # times as much.
    return "growth" if largest_growth(prepared, result.unknowns) > GRID.growth**2 else "structure"


def _place(prepared: ShootingProblem, equation: Equation) -> str:
    if equation.arc is None:
        return ""
    arcs = prepared.system.arcs
    arc = arcs[equation.arc]
    ham = arc.law.hamiltonian
    roles = mode_text(ham, arc.law.mode)
    label = f" of phase '{ham.phase.name}'" if len(prepared.form.phases) > 1 else ""
    return f"; arc {equation.arc + 1} of {len(arcs)}{label} ({roles}), t = {equation.time:.6g}"
