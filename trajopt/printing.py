"""A problem as one would write it on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trajopt.bounds import Bound

if TYPE_CHECKING:
    from trajopt.problem import Declared, Phase, Problem

WIDTH = 100


def print_problem(problem: Problem) -> str:
    """The statement in text."""
    lines = [f"problem '{problem.name}'"]
    verb = "minimize" if problem.sense > 0 else "maximize"
    lines.append("  find any feasible motion" if problem.objective is None else f"  {verb} {_text(problem.objective)}")
    for parameter in problem.parameters.values():
        lines.append(f"  parameter {parameter.name} = {', '.join(f'{v:g}' for v in parameter.value)}{_unit(parameter.unit)}")
    for variable in problem.variables.values():
        lines.append(f"  variable {variable.name}{_unit(variable.unit)} {variable.bound}")
    for phase in problem.phases.values():
        lines += _phase_lines(phase)
    for link in problem.links:
        what = ", ".join([*link.states, *(["t"] if link.time else [])])
        lines.append(f"  continuous from '{link.before}' to '{link.after}': {what}")
    lines += [f"  condition '{c.name}': {_relation(c.expression, c.bound)}" for c in problem.conditions]
    return "\n".join(line.rstrip() for line in lines)


def _phase_lines(phase: Phase) -> list[str]:
    start = "0" if phase.start_time is None else str(phase.start_time)
    unit = phase.t.unit if phase.t is not None else ""
    lines = [f"  phase '{phase.name}': t from {start} to {phase.end_time} {unit}"]
    names = max((len(d.name + _unit(d.unit)) for d in phase.declared.values()), default=0) + 4
    spans = max((len(_span(d)) for d in phase.of_kind("state")), default=0) + 6
    for declared in phase.declared.values():
        head = f"    {declared.kind:<8} {(declared.name + _unit(declared.unit)):<{names}}"
        limits = "" if str(declared.bound).replace("free", "").strip(", ") == "" else f"in {declared.bound}"
        if declared.kind == "state":
            rate = "" if declared.rate is None else f"{declared.name}' = {_text(declared.rate)}"
            lines.append(f"{head} {_span(declared):<{spans}} {rate}" + (f"   {limits}" if limits else ""))
        else:
            lines.append(f"{head} {limits}")
    lines += [f"    algebraic equation '{name}': 0 = {_text(g)}" for name, g in phase.algebraic_residuals]
    lines += [f"    path '{c.name}': {_relation(c.expression, c.bound)}" for c in phase.paths]
    lines += [f"    invariant '{i.name}' of order {i.order}: {_text(i.expression)}" for i in phase.invariants]
    return lines


def _span(declared: Declared) -> str:
    return f"{declared.start} -> {declared.end}"


def _relation(expression: Any, bound: Bound) -> str:
    if all(bound.fixed):
        return f"{_text(expression)} = {bound}"
    return f"{_text(expression)} in {bound}"


def _text(expression: Any) -> str:
    text = str(expression)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def _unit(unit: str) -> str:
    return f" [{unit}]" if unit else ""
