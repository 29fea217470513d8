"""``show``: a problem or a system in mathematical notation, its settings and its known optimum."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.building import build_either, reference_of, settings_in
from trajopt.commands.exit_codes import SOLVED
from trajopt.commands.outputs import Outputs
from trajopt.commands.terminal import console, number, say_written, text_table
from trajopt.parameters import Setting, shown, write_parameters

if TYPE_CHECKING:
    from trajopt.statement.problem import Problem
    from trajopt.statement.reference import Reference
    from trajopt.system import System


def run_show(
    name: str,
    settings: Mapping[str, Any],
    full: bool = False,
    write: Path | None = None,
    outputs: Outputs | None = None,
) -> int:
    """Print a problem or a system in mathematical notation, its settings and its known optimum."""
    from trajopt.statement.printing import print_problem
    from trajopt.statement.problem import Problem

    outputs = outputs or Outputs()
    outputs.check()
    screen = console(lines=True)
    with outputs.clean_standard_output():
        made, build = build_either(name, settings)
    changeable = settings_in(made, build, settings)
    if outputs.json is not None:
        outputs.write_json(_as_json(made, changeable, reference_of(build), full))
        say_written(outputs.named.values(), False)
        return SOLVED
    if write is not None:
        write_parameters(write, changeable, f"trajopt --parameters FILE with '{name}'")
        say_written([write], quiet=False)
        return SOLVED
    if isinstance(made, Problem):
        made.finish()  # checks the statement
        screen.print(print_problem(made, full), highlight=False)
    else:
        _print_system(made, full)
    _print_settings(
        [one for one in changeable if isinstance(made, Problem) or one.meaning != "initial value"]
    )
    reference = reference_of(build)
    if reference is not None:
        _print_reference(reference)
    source = inspect.getsourcefile(inspect.unwrap(build))
    screen.print(f"\nstated in {source}", style="dim")
    return SOLVED


def _as_json(
    made: Problem | System, settings: Sequence[Setting], reference: Reference | None, full: bool
) -> Any:
    """Return statement, variables, settings and known optimum as JSON types."""
    from trajopt.files.storage import plain_json
    from trajopt.statement.printing import print_problem
    from trajopt.statement.problem import Problem

    content: dict[str, Any] = {"name": made.name}
    if isinstance(made, Problem):
        made.finish()
        content |= {"kind": "problem", "statement": print_problem(made, full), "phases": {}}
        for phase in made.phases.values():
            content["phases"][phase.name] = [
                {
                    "name": q.name,
                    "kind": q.kind,
                    "size": q.size,
                    "unit": q.unit,
                    "lower": q.bound.lower,
                    "upper": q.bound.upper,
                }
                for q in phase.declared.values()
            ]
    else:
        states = [{"name": s.name, "start": s.value, "unit": s.unit} for s in made.states]
        content |= {
            "kind": "system",
            "states": states,
            "invariants": [i.name for i in made.invariants],
        }
    content["settings"] = [
        {"name": s.name, "value": s.default, "unit": s.unit, "range": s.range, "meaning": s.meaning}
        for s in settings
    ]
    if reference is not None:
        content["known"] = {
            "objective": reference.objective,
            "tolerance": reference.tolerance,
            "source": reference.source,
        }
    return plain_json(content)


def _print_settings(settings: Sequence[Setting]) -> None:
    if not settings:
        return
    screen = console(lines=True)
    screen.print("\nsettings (--set NAME=VALUE, or --parameters FILE)", style="bold")
    content = text_table("name", "value", "unit", "range", "meaning", right=("value",))
    for one in settings:
        content.add(one.name, shown(one.default), one.unit, one.range, one.meaning)
    content.print(screen)


def _print_reference(reference: Reference) -> None:
    screen = console(lines=True)
    screen.print(
        f"\nknown optimum: {reference.objective:.12g}, to a relative {reference.tolerance:g}"
    )
    if reference.structure:
        screen.print(f"  structure: {reference.structure}")
    if reference.costates:
        screen.print(
            "  initial costates: "
            + ", ".join(f"{key} {number(value, 8)}" for key, value in reference.costates.items())
        )
    screen.print(f"  source: {reference.source}")


def _print_system(system: System, full: bool) -> None:
    from trajopt.statement.printing import rate_lines

    screen = console(lines=True)
    screen.print(
        f"system '{system.name}'" + (f": {system.description}" if system.description else "")
    )
    rates, definitions = rate_lines(system.rate, full)
    content = text_table("state", "start", "unit", "rate", right=("start",))
    for state, rate in zip(system.states, rates, strict=True):
        content.add(state.name, number(state.value), state.unit, rate)
    content.print(screen)
    for line in definitions:
        screen.print(line, highlight=False)
    for parameter in system.parameters:
        screen.print(f"parameter {parameter.name} = {parameter.value:g} {parameter.unit}".rstrip())
    for invariant in system.invariants:
        screen.print(f"invariant '{invariant.name}' of order {invariant.order}")
    for event in system.events:
        screen.print(f"event '{event.name}'" + (", ends the run" if event.terminal else ""))
