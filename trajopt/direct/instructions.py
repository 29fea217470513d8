"""The rows of a phase instruction by instruction, to replace some of its terms by symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi

from trajopt.statement.normal_form import NormalForm, PhaseForm

# What takes the place of an instruction: its number, its operation, the values that it reads
Replacement = Callable[[int, int, list[Any]], Any | None]


def expanded_rows(form: NormalForm, phase: PhaseForm) -> casadi.Function | None:
    """The rows of a phase in t, x, z, u, s, p as scalar instructions; None where they call external
    functions.
    """
    symbols = [phase.t, phase.x, phase.z, phase.u, form.s, form.p]
    function = casadi.Function("rows", symbols, [casadi.densify(phase.rows)])
    try:
        return function if function.is_a("SXFunction") else function.expand()
    except RuntimeError:
        return None


def has_operation(function: casadi.Function, operations: tuple[int, ...]) -> bool:
    """True if one of the instructions is one of the operations."""
    count = function.n_instructions()
    return any(function.instruction_id(k) in operations for k in range(count))


def input_columns(form: NormalForm, phase: PhaseForm) -> list[Any]:
    """New SX columns t, x, z, u, s, p."""
    symbols = [phase.t, phase.x, phase.z, phase.u, form.s, form.p]
    return [casadi.SX.sym(name, part.numel()) for name, part in zip("txzusp", symbols, strict=True)]


def rebuilt(function: casadi.Function, inputs: list[Any], replacement: Replacement) -> Any:
    """The rows at ``inputs``, with the replacements of its instructions that are not None."""
    values, out = dict[int, Any](), [casadi.SX(0)] * function.numel_out(0)
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        read, write = function.instruction_input(k), function.instruction_output(k)
        if op == casadi.OP_INPUT:
            values[write[0]] = inputs[read[0]][read[1]]
        elif op == casadi.OP_OUTPUT:
            out[write[1]] = values[read[0]]
        elif op == casadi.OP_CONST:
            values[write[0]] = casadi.SX(function.instruction_constant(k))
        else:
            of = [values[i] for i in read]
            new = replacement(k, op, of)
            if new is None:
                new = casadi.SX.binary(op, *of) if len(of) == 2 else casadi.SX.unary(op, *of)
            values[write[0]] = new
    return casadi.vertcat(*out)


def appended(sym: Any, column: Any, name: str, count: int) -> Any:
    """A column with further symbols; its own are kept where a column is made of symbols."""
    if sym is casadi.SX:
        return casadi.vertcat(column, sym.sym(name, count))
    return sym.sym(name, column.numel() + count)
