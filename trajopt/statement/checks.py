"""Checks of a complete statement, with messages in the user's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np

from trajopt.errors import ProblemError
from trajopt.statement.bounds import Bound
from trajopt.statement.connected import check_connected, identities, inner_expressions
from trajopt.statement.units import check_units

if TYPE_CHECKING:
    from trajopt.statement.normal_form import NormalForm
    from trajopt.statement.problem import Declared, Phase, Problem


def check_statement(problem: Problem) -> None:
    """Check that the statement is complete and consistent, before the normal form is built."""
    if not problem.phases:
        raise ProblemError(f"problem '{problem.name}' has no phase", hint="ph = ocp.phase()")
    for phase in problem.phases.values():
        _check_completeness(phase)
        _check_times(phase)
        for declared in phase.declared.values():
            _check_bounds(declared, phase)
        _check_symbols_of_phase(problem, phase)
    for variable in problem.variables.values():
        _check_scale(variable)
    _check_symbols_of_problem(problem)
    _check_all_used(problem)
    check_connected(problem)
    check_units(problem)


def check_form(problem: Problem, form: NormalForm) -> None:
    """Raise if a condition is constant and violated."""
    for name, lower, upper, row in zip(
        form.b_names, form.b_bound.lower, form.b_bound.upper, casadi.vertsplit(form.b), strict=True
    ):
        if row.is_constant() and not lower <= float(row) <= upper:
            raise ProblemError(
                f"condition '{name}' is constant and violated",
                got=float(row),
                expected=f"[{lower:g}, {upper:g}]",
            )


def _check_completeness(phase: Phase) -> None:
    if phase.t is None:
        raise ProblemError(
            f"phase '{phase.name}' has no time",
            hint="t = ph.time(start=0, end=1), or end=free(0.1, 10)",
        )
    states = phase.of_kind("state")
    if not states:
        raise ProblemError(f"phase '{phase.name}' has no state", hint="x = ph.state('x', start=0)")
    for declared in states:
        if declared.rate is None:
            raise ProblemError(
                f"state '{declared.name}' of phase '{phase.name}' has no dynamics",
                hint=f"ph.dynamics({{{declared.name}: ...}}) must give its time derivative",
            )
    unknowns = sum(d.size for d in phase.of_kind("algebraic"))
    equations = sum(g.numel() for _, g in phase.algebraic_residuals)
    if unknowns != equations:
        raise ProblemError(
            f"phase '{phase.name}': algebraic variables and equations differ in number",
            got=f"{unknowns} variables, {equations} equations",
            expected="one equation in ph.require(...) for each algebraic variable",
            hint="state a constraint on states and controls by ph.path(...)"
            if equations > unknowns
            else None,
        )


def _check_times(phase: Phase) -> None:
    start, end = phase.start_time or Bound.open(1), phase.end_time or Bound.open(1)
    if end.upper[0] <= start.lower[0]:
        raise ProblemError(
            f"phase '{phase.name}': time ends before it starts",
            got=f"start {start}, end {end}",
            expected="end > start",
        )
    if start.fixed[0] and np.isfinite(end.lower[0]) and end.lower[0] < start.lower[0]:
        raise ProblemError(
            f"phase '{phase.name}': the duration can be negative",
            got=f"start {start}, end {end}",
            expected=f"an end of at least {start}",
        )


def _check_bounds(declared: Declared, phase: Phase) -> None:
    for where, boundary in (("start", declared.start), ("end", declared.end)):
        both = boundary.meet(declared.bound)
        wrong = both.lower > both.upper
        if np.any(wrong):
            i = int(np.argmax(wrong))
            component = declared.labels[i]
            found, allowed = (Bound(b.lower[[i]], b.upper[[i]]) for b in (boundary, declared.bound))
            raise ProblemError(
                f"the {where} of state '{component}' in phase '{phase.name}' contradicts its "
                "bounds",
                got=f"{where} {found}",
                expected=str(allowed),
            )
    _check_scale(declared)


def _check_scale(declared: Declared) -> None:
    if declared.scale is not None:
        try:
            scale = np.asarray(declared.scale, dtype=float)
        except (TypeError, ValueError):
            scale = np.full(1, np.nan)
        if (
            np.any(~np.isfinite(scale))
            or np.any(scale <= 0)
            or scale.size not in (1, declared.size)
        ):
            raise ProblemError(
                f"scale of {declared.kind} '{declared.name}'",
                got=declared.scale,
                expected="a positive number",
            )


def _check_symbols_of_phase(problem: Problem, phase: Phase) -> None:
    own = [phase.t, *[d.symbol for d in phase.declared.values()]]
    shared = [d.symbol for d in problem.variables.values()] + [
        q.symbol for q in problem.parameters.values()
    ]
    users = [(f"the derivative of state '{d.name}'", d.rate) for d in phase.of_kind("state")]
    users += [(f"algebraic equation '{name}'", g) for name, g in phase.algebraic_residuals]
    users += [(f"path constraint '{c.name}'", c.expression) for c in phase.paths]
    users += [("an integral", l) for _, l in phase.integrals]
    users += [(f"output '{o.name}'", o.expression) for o in phase.outputs]
    _check_known(
        [(f"{what} in phase '{phase.name}'", expression) for what, expression in users],
        [*own, *shared],
        "this phase's variables, static variables and parameters",
    )
    _check_known(
        [(f"invariant '{invariant.name}'", invariant.expression) for invariant in phase.invariants],
        [*own, *shared, *phase.costates.values()],
        "this phase's variables, its costates and parameters",
    )
    if phase.redundant is not None:
        states, inputs = phase.redundant.states, phase.redundant.inputs
        what = f"of the model in redundant coordinates in phase '{phase.name}'"
        still = [phase.t, *[d.symbol for d in phase.of_kind("state")]]
        _check_known(
            [(f"state '{n}' {what}", e) for n, e in states.items()],
            [*still, *shared],
            "time, states and parameters",
        )
        _check_known(
            [(f"input '{n}' {what}", e) for n, e in inputs.items()],
            [*own, *shared],
            "this phase's variables",
        )


def _check_symbols_of_problem(problem: Problem) -> None:
    known = [d.symbol for d in problem.variables.values()] + [
        q.symbol for q in problem.parameters.values()
    ]
    for phase in problem.phases.values():
        known += [phase.t_start, phase.t_end, *[q for q, _ in phase.integrals]]
        known += [symbol for d in phase.declared.values() for symbol in (d.at_start, d.at_end)]
        known += [symbol for sample in phase.samples.values() for symbol in sample.values()]
    users = [(f"condition '{c.name}'", c.expression) for c in problem.conditions]
    if problem.objective is not None:
        users.append(("the objective", problem.objective))
    _check_known(
        users,
        known,
        "ph.initial(...), ph.final(...), ph.at(...), ph.integral(...) of phases, static variables, "
        "parameters",
    )


def _check_known(users: list[tuple[str, Any]], known: list[Any], expected: str) -> None:
    """Raise if an expression uses an undeclared symbol, even one with the name of a declared
    symbol.
    """
    if not users:
        return
    declared = {identity for symbol in known for identity in identities(symbol)}
    everything = casadi.symvar(casadi.vertcat(*[expression for _, expression in users]))
    if all(declared.issuperset(identities(s)) for s in everything):
        return
    for what, expression in users:
        undeclared = [
            s for s in casadi.symvar(expression) if not declared.issuperset(identities(s))
        ]
        if undeclared:
            raise ProblemError(
                f"{what} uses '{undeclared[0]}', which is not declared there", expected=expected
            )


def _check_all_used(problem: Problem) -> None:
    """Raise if a control or a static variable is not used: nothing would determine it."""
    everywhere = [c.expression for c in problem.conditions]
    everywhere += [] if problem.objective is None else [problem.objective]
    everywhere += [jump for link in problem.links for jump in link.jumps.values()]
    for phase in problem.phases.values():
        inside = inner_expressions(phase)
        everywhere += inside
        for control in _unused(phase.of_kind("control"), inside):
            raise ProblemError(
                f"control '{control.name}' of phase '{phase.name}' is not used",
                expected="a control in the dynamics, a constraint or an integral",
            )
    for variable in _unused(problem.variables.values(), everywhere):
        raise ProblemError(
            f"static variable '{variable.name}' is not used",
            expected="a variable in the dynamics, a constraint, a condition or the cost",
        )


def _unused(declared: Iterable[Declared], users: list[Any]) -> Iterator[Declared]:
    if declared:
        everything = casadi.vertcat(*users)
        yield from (d for d in declared if not casadi.depends_on(everything, d.symbol))
