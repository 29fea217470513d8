"""Print a problem in mathematical notation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np

from trajopt.statement.bounds import Bound
from trajopt.statement.expression_text import (
    Writer,
    elements,
    key,
    number,
    operations,
    symbol_names,
)

if TYPE_CHECKING:
    from trajopt.statement.problem import Declared, Phase, Problem

WIDTH = 100  # of an expression on its line
LONGEST_COST = 1000  # maximum characters of a cost
Side = float | str  # a limit: a number, or the text of an expression in parameters
MOST_DEFINITIONS = 24  # lines; for longer lists only the number of operations is printed


def print_problem(problem: Problem, full: bool = False) -> str:
    """Return the statement as text; ``full`` writes out all subexpressions."""
    names = _names(problem)
    cost = _Page(names, "c", full)
    lines = [f"problem '{problem.name}'", *_objective_lines(problem, cost)]
    for parameter in problem.parameters.values():
        lines.append(
            f"  parameter {parameter.name} = "
            f"{', '.join(f'{v:g}' for v in parameter.value)}{_unit(parameter.unit)}"
        )
    for variable in problem.variables.values():
        lines.append(f"  variable {variable.name}{_unit(variable.unit)}   {_limits(variable)}")
    for place, phase in enumerate(problem.phases.values()):
        letter = "f" if len(problem.phases) == 1 else "fghklmnpqrsw"[place % 12]
        lines += _phase_lines(problem, phase, _Page(names, letter, full))
    for link in problem.links:
        between = f"from '{link.before}' to '{link.after}'"
        if link.continuous:
            lines.append(f"  continuous {between}: {', '.join(link.continuous)}")
        for name, jump in link.jumps.items():
            changes = ", ".join(cost.text(e) for e in elements(jump))
            lines.append(f"  {name} changes {between} by {changes}")
    for condition in problem.conditions:
        lines += [f"  {row}" for row in _relations("condition", condition, cost)]
    lines += cost.definitions("  ")
    return "\n".join(line.rstrip() for line in lines)


def rate_lines(rate: Any, full: bool = False) -> tuple[list[str], list[str]]:
    """Return the rates of a system's states as text, and the definitions
    of named subexpressions.
    """
    page = _Page({}, "f", full)
    return [page.text(e) for e in elements(rate)], page.definitions("")


@dataclass
class _Page:
    """Writes expressions in place; long ones are named and defined below."""

    names: dict[Any, str]
    letter: str
    full: bool = False
    long: dict[str, Any] = field(default_factory=dict)

    def text(self, expression: Any) -> str:
        written = Writer(self.names, WIDTH).text(expression)
        if written is not None:
            return written
        same = [name for name, e in self.long.items() if key(e) == key(expression)]
        name = same[0] if same else f"{self.letter}{len(self.long) + 1}"
        self.long[name] = expression
        return name

    def definitions(self, indent: str) -> list[str]:
        if not self.long:
            return []
        total = operations(self.long.values())
        listed = []
        if total <= MOST_DEFINITIONS * WIDTH or self.full:
            listed = Writer(self.names, WIDTH).definitions(self.long)
        if self.full or 0 < len(listed) <= MOST_DEFINITIONS:
            return [f"{indent}where", *[f"{indent}  {name} = {text}" for name, text in listed]]
        lines = [f"{indent}where, in {total} operations (trajopt show --full writes them out),"]
        arguments: dict[str, list[str]] = {}
        for name, expression in self.long.items():
            arguments.setdefault(
                ", ".join(_merged(symbol_names(expression, self.names))), []
            ).append(name)
        for symbols, functions in arguments.items():
            what = "is a function" if len(functions) == 1 else "are functions"
            lines += _wrapped(
                f"{', '.join(functions)} {what} of {symbols}", indent + "  ", indent + "     "
            )
        return lines


def _merged(labels: list[str]) -> list[str]:
    """Merge components of a vector into its name: ``rate`` for ``rate[0]``, ``rate[1]``, ..."""
    count: dict[str, int] = {}
    for label in labels:
        vector = re.sub(r"\[[^]]*\]", "", label)
        count[vector] = count.get(vector, 0) + 1
    return list(
        dict.fromkeys(
            v if count[v := re.sub(r"\[[^]]*\]", "", label)] > 1 else label for label in labels
        )
    )


def _wrapped(text: str, first: str, other: str) -> list[str]:
    """Wrap lines between relations and terms, at 20 characters more than the width of an
    expression.
    """
    whole = text.replace(" <= ", "\0<=\0").replace(" >= ", "\0>=\0")
    lines = textwrap.wrap(
        whole,
        WIDTH + 20,
        initial_indent=first,
        subsequent_indent=other,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def _names(problem: Problem) -> dict[Any, str]:
    """Return the text of components and endpoint values by ``key``."""
    names: dict[Any, str] = {}
    several = len(problem.phases) > 1
    for phase in problem.phases.values():
        of = f"{phase.name}." if several else ""
        for declared in phase.declared.values():
            for symbol, prefix, suffix in (
                (declared.symbol, "", ""),
                (declared.at_start, of, "(t0)"),
                (declared.at_end, of, "(tf)"),
            ):
                _name(names, symbol, [f"{prefix}{label}{suffix}" for label in declared.labels])
        if phase.t is not None:
            names |= {key(phase.t_start): f"{of}t0", key(phase.t_end): f"{of}tf"}
        for name, symbol in phase.costates.items():
            _name(names, symbol, [f"costate({label})" for label in phase.declared[name].labels])
    for variable in problem.variables.values():
        _name(names, variable.symbol, variable.labels)
    return names


def _name(names: dict[Any, str], symbol: Any, labels: Sequence[str]) -> None:
    """Add the labels of a symbol's components."""
    if isinstance(symbol, casadi.MX):
        names |= {(key(symbol), i): label for i, label in enumerate(labels)}
        names[key(symbol)] = labels[0] if len(labels) == 1 else symbol.name()
    else:
        names |= {
            key(element): label for element, label in zip(elements(symbol), labels, strict=True)
        }


def _objective_lines(problem: Problem, page: _Page) -> list[str]:
    several = len(problem.phases) > 1
    for phase in problem.phases.values():
        for symbol, integrand in phase.integrals:
            over = f" over '{phase.name}'" if several else ""
            written = Writer(page.names, LONGEST_COST).text(integrand) or page.text(integrand)
            page.names[key(symbol)] = f"integral({written}){over}"
    if problem.objective is None:
        return ["  find any feasible trajectory"]
    verb = "minimize" if problem.sense > 0 else "maximize"
    written = Writer(page.names, LONGEST_COST).text(problem.objective) or page.text(
        problem.objective
    )
    return _wrapped(f"{verb} {written}", "  ", " " * 11)


def _phase_lines(problem: Problem, phase: Phase, page: _Page) -> list[str]:
    lines = [f"  phase '{phase.name}': {_times(problem, phase)}"]
    names = max((len(d.name + _unit(d.unit)) for d in phase.declared.values()), default=0) + 2
    spans = max((len(_span(d)) for d in phase.of_kind("state")), default=0) + 2
    limits = max((len(_limits(d)) for d in phase.of_kind("state") if not _apart(d)), default=0)
    limits += 2 if limits else 0
    for declared in phase.declared.values():
        head = f"    {declared.kind:<9} {(declared.name + _unit(declared.unit)):<{names}}"
        if declared.kind == "state":
            rates = _rates(phase, declared, page)
            start = (
                f"{head} {_span(declared):<{spans}} "
                f"{'' if _apart(declared) else _limits(declared):<{limits}}"
            )
            lines += (
                [f"{start} {rates[0]}", *[" " * (len(start) + 1) + rate for rate in rates[1:]]]
                if rates
                else [start]
            )
            lines += (
                _wrapped(_limits(declared), " " * (len(head) + 1), " " * (len(head) + 1))
                if _apart(declared)
                else []
            )
        else:
            lines += _wrapped(_limits(declared), f"{head} ", " " * (len(head) + 1)) or [head]
    for name, residual in phase.algebraic_residuals:
        lines += [f"    equation '{name}': {page.text(e)} = 0" for e in elements(residual)]
    for path in phase.paths:
        lines += [f"    {row}" for row in _relations("path", path, page)]
    for invariant in phase.invariants:
        lines += [f"    invariant '{invariant.name}' of order {invariant.order}:"]
        lines[-1] += " " + ", ".join(page.text(e) for e in elements(invariant.expression))
    return lines + page.definitions("    ")


def _times(problem: Problem, phase: Phase) -> str:
    """Return start and end of a phase; a connected phase starts at the end of its predecessor."""
    before = [
        problem.phases[link.before]
        for link in problem.links
        if link.after == phase.name and link.time
    ]
    unit = f" {phase.t.unit}" if phase.t is not None and phase.t.unit else ""
    start = "0"
    if phase.start_time is not None:
        start = _value(phase.start_time, "t0")
    elif before:
        end = before[0].end_time
        start = (
            _value(end, "")
            if end is not None and end.fixed.all()
            else f"the end of '{before[0].name}'"
        )
    return f"t from {start} to {_value(phase.end_time, 'tf')}{unit}"


def _value(bound: Bound | None, name: str) -> str:
    if bound is None or not np.isfinite([bound.lower, bound.upper]).any():
        return f"{name}, free"
    lower, upper = sides_of(bound)[0]
    if bound.fixed.all():
        return _side(lower)
    return f"{name}, {_between(name, lower, upper)}"


def sides_of(bound: Bound) -> list[tuple[Side, Side]]:
    """Both limits of each component: a number, or the text of an expression in parameters."""
    if bound.stated is None:
        return list(zip(bound.lower.tolist(), bound.upper.tolist(), strict=True))
    return list(
        zip(*[[_text_of(e) for e in elements(column)] for column in bound.stated], strict=True)
    )


def _text_of(expression: Any) -> Side:
    return (
        float(expression)
        if expression.is_constant()
        else Writer(width=WIDTH).text(expression) or str(expression)
    )


def _side(side: Side) -> str:
    return side if isinstance(side, str) else number(side)


def _given(side: Side) -> bool:
    return isinstance(side, str) or bool(np.isfinite(side))


def _rates(phase: Phase, declared: Declared, page: _Page) -> list[str]:
    if declared.rate is None:
        return []
    for other in phase.declared.values():  # r' = v
        if other.size == declared.size > 1 and [key(e) for e in elements(other.symbol)] == [
            key(e) for e in elements(declared.rate)
        ]:
            return [f"{declared.name}' = {other.name}"]
    return [
        f"{label}' = {page.text(e)}"
        for label, e in zip(declared.labels, elements(declared.rate), strict=True)
    ]


def _span(declared: Declared) -> str:
    return f"{_ends(declared.start)} -> {_ends(declared.end)}"


def _ends(bound: Bound) -> str:
    """Return a boundary value as text, once if all components are equal."""
    texts = [
        _side(a) if a == b else f"[{_side(a)}, {_side(b)}]" if _given(a) or _given(b) else "free"
        for a, b in sides_of(bound)
    ]
    if len(set(texts)) == 1:
        return texts[0]
    return f"({', '.join(texts)})"


def _limits(declared: Declared) -> str:
    """Return the bounds of a variable as text, once if all components are equal."""
    pairs = sides_of(declared.bound)
    if len(set(pairs)) == 1:
        return _between(declared.name, *pairs[0])
    texts = [_between(label, *pair) for label, pair in zip(declared.labels, pairs, strict=True)]
    return ", ".join(text for text in texts if text)


def _apart(declared: Declared) -> bool:
    """True if the bounds of the components differ; they are then printed on separate lines."""
    return len(set(sides_of(declared.bound))) > 1


def _between(text: str, lower: Side, upper: Side) -> str:
    if lower == upper:
        return f"{text} = {_side(lower)}"
    if _opposite(lower, upper):
        return f"|{text}| <= {_side(upper)}"
    left = f"{_side(lower)} <= " if _given(lower) and _given(upper) else ""
    if _given(upper):
        return f"{left}{text} <= {_side(upper)}"
    return f"{text} >= {_side(lower)}" if _given(lower) else ""


def _opposite(lower: Side, upper: Side) -> bool:
    if isinstance(lower, str) or isinstance(upper, str):
        return lower == f"-{upper}"
    return lower == -upper and bool(np.isfinite(upper))


def _relations(kind: str, condition: Any, page: _Page) -> list[str]:
    entries = elements(condition.expression)
    pairs = zip(entries, sides_of(condition.bound), strict=True)
    return [f"{kind} '{condition.name}': {_between(page.text(e), a, b)}" for e, (a, b) in pairs]


def _unit(unit: str) -> str:
    return f" [{unit}]" if unit else ""
