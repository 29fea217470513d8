"""``solve``: from a name to an answer, on the screen and in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.boundary import NOT_SOLVED, SOLVED
from trajopt.commands.building import Built, build_problem
from trajopt.commands.display import console, number, progress_lines, table
from trajopt.commands.outputs import Outputs
from trajopt.errors import UsageError

if TYPE_CHECKING:
    from trajopt.reference import Reference
    from trajopt.solution import PhaseSolution, Solution


@dataclass(frozen=True)
class Wish:
    """How a person wants a problem solved."""

    method: str = "direct"
    tolerance: float | None = None
    guess: Path | None = None
    verbose: bool = False
    quiet: bool = False


def run_solve(name: str, settings: Mapping[str, Any], wish: Wish, outputs: Outputs) -> int:
    """Solve, show, write."""
    outputs.check()
    if wish.tolerance is not None and not 0 < wish.tolerance < 1:
        raise UsageError("--tolerance", got=wish.tolerance, expected="a number between 0 and 1, as in 1e-6")
    with outputs.clean_standard_output():
        solution, reference = solve_name(name, settings, wish)
        if not wish.quiet:
            print_solution(solution, reference, error=outputs.json_on_standard_output)
        write_solution(solution, outputs)
    from trajopt.storage import summary

    outputs.write_json(summary(solution))
    return SOLVED if solution.success else NOT_SOLVED


def solve_name(name: str, settings: Mapping[str, Any], wish: Wish) -> tuple[Solution, Reference | None]:
    """The solution of a named problem, and its published answer if nothing was changed."""
    guess = None
    if wish.guess is not None:
        from trajopt.storage import load

        guess = load(wish.guess)
    built = build_problem(name, settings)
    with progress_lines(f"solving {name}", wish.quiet) as show:
        solution = _solve(built, guess, wish, show)
    return solution, built.reference


def _solve(built: Built, guess: Solution | None, wish: Wish, show: Callable[[str], None]) -> Solution:
    from trajopt.solving import METHODS, solve

    return solve(
        built.problem,
        method=METHODS[wish.method],
        guess=guess,
        parameters=dict(built.parameters),
        tolerance=wish.tolerance,
        progress=show,
    )


def write_solution(solution: Solution, outputs: Outputs) -> None:
    """The files that were asked for, also of an answer that is not the last word."""
    if outputs.save is not None:
        solution.save(outputs.save)
    if outputs.csv is not None:
        solution.to_csv(outputs.csv)
    if outputs.plot is not None:
        from trajopt.show.plots import plot_solution

        plot_solution(solution, outputs.plot)


def print_solution(solution: Solution, reference: Reference | None = None, error: bool = False) -> None:
    """The answer on a terminal."""
    screen = console(error=error)
    colour = "green" if solution.success else "red"
    screen.print(f"{solution.problem}: {solution.status.value} ({solution.method})", style=f"bold {colour}")
    screen.print(f"  objective  {solution.objective:.10g}" + _against(solution, reference))
    intervals = sum(max(len(ph.breaks) - 1, 0) for ph in solution.phases.values())
    meshes = len(solution.history)
    took = solution.seconds.get("total")
    facts = [f"estimated error {solution.error:.1e}", f"{intervals} intervals", f"{meshes} mesh{'es' if meshes != 1 else ''}"]
    facts += [f"{solution.iterations} iterations"] + ([f"{took:.2f} s"] if took is not None else [])
    screen.print("  " + ", ".join(facts))
    for name, value in solution.variables.items():
        screen.print(f"  {name} = {number(value)}")
    for phase in solution.phases.values():
        _print_phase(solution, phase, error)
    for line in solution.explanation:
        screen.print(f"  {line}", style="yellow")


def _against(solution: Solution, reference: Reference | None) -> str:
    if reference is None:
        return ""
    difference = abs(solution.objective - reference.objective) / max(abs(reference.objective), 1e-300)
    return f"   known {reference.objective:.10g}, relative difference {difference:.1e}"


def _print_phase(solution: Solution, phase: PhaseSolution, error: bool) -> None:
    screen = console(error=error)
    label = f"phase '{phase.name}', " if len(solution.phases) > 1 else ""
    screen.print(f"  {label}t from {phase.t0:.8g} to {phase.tf:.8g} {phase.time_unit}".rstrip())
    content = table(
        "  variable", "start", "end", "unit", "costate at start", "at end", right=("start", "end", "costate at start", "at end")
    )
    for group in (phase.states, phase.controls, phase.algebraics):
        for name, curve in group.items():
            costate = phase.costates.get(name) if group is phase.states else None
            ends = [number(curve(t)) for t in (phase.t0, phase.tf)]
            slopes = ["" if costate is None else number(costate(t)) for t in (phase.t0, phase.tf)]
            content.add_row(f"  {name}", *ends, curve.unit, *slopes)
    screen.print(content)
    arcs = [arc for arc in solution.arcs if arc.phase == phase.name]
    if len(arcs) > 1:
        for arc in arcs:
            roles = ", ".join(f"{name} {role}" for name, role in arc.roles.items())
            screen.print(f"  {arc.start:.8g} to {arc.end:.8g}: {roles}")
