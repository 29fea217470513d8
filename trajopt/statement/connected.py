"""Which symbols expressions have, and whether the phases of a problem belong together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import casadi

from trajopt.errors import warn

if TYPE_CHECKING:
    from trajopt.statement.problem import Phase, Problem


def check_connected(problem: Problem) -> None:
    """Warn of a phase that shares no condition and no static variable with the others."""
    first, *others = problem.phases.values()
    if not others:
        return
    groups, joined = list(_groups(problem)), {first.name}
    while grown := {name for group in groups if group & joined for name in group} - joined:
        joined |= grown
    for phase in others:
        if phase.name not in joined:
            warn(
                f"phase '{phase.name}' is not connected with phase '{first.name}'",
                got="no common condition and no common static variable",
                expected="states and time that continue from one phase to the next",
                hint=f"ocp.connect({first.name}, {phase.name}), with the phases in their order",
            )


def _groups(problem: Problem) -> Iterator[set[str]]:
    """Yield the names of phases, and of static variables, that one link, one condition or the
    equations of one phase have in common.
    """
    for link in problem.links:
        yield {link.before, link.after}
    statics = {f"variable {q.name}": set(identities(q.symbol)) for q in problem.variables.values()}
    ends = {
        phase.name: {one for symbol in _end_symbols(phase) for one in identities(symbol)}
        for phase in problem.phases.values()
    }
    for condition in problem.conditions:
        used = _used([condition.expression])
        yield {name for name, own in (statics | ends).items() if own & used}
    for phase in problem.phases.values():
        used = _used(inner_expressions(phase))
        yield {phase.name, *(name for name, own in statics.items() if own & used)}


def inner_expressions(phase: Phase) -> list[Any]:
    """Return the expressions that determine the variables of a phase."""
    return [
        *(d.rate for d in phase.of_kind("state")),
        *(equation for _, equation in phase.algebraic_residuals),
        *(path.expression for path in phase.paths),
        *(integrand for _, integrand in phase.integrals),
    ]


def _end_symbols(phase: Phase) -> list[Any]:
    """Return the symbols of a phase that conditions have: values at its ends, at given times, and
    of integrals.
    """
    return [
        phase.t_start,
        phase.t_end,
        *(symbol for symbol, _ in phase.integrals),
        *(end for d in phase.declared.values() for end in (d.at_start, d.at_end)),
        *(symbol for sample in phase.samples.values() for symbol in sample.values()),
    ]


def _used(expressions: list[Any]) -> set[int]:
    symbols = casadi.symvar(casadi.vertcat(*expressions))
    return {one for symbol in symbols for one in identities(symbol)}


def identities(symbol: Any) -> list[int]:
    """Return hashes that identify the symbols independently of their names."""
    if isinstance(symbol, casadi.SX):
        elements: list[Any] = symbol.elements()
        return [element.element_hash() for element in elements]
    return [casadi.MX.__hash__(symbol)]
