"""Operations of an expression that are not smooth, and what they branch on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.pointwise import Pointwise

if TYPE_CHECKING:
    from trajopt.certificate.sampled_solution import SampledPhase

HALVINGS = 60  # of the time between two points, to round-off

# What an operation branches on, from its arguments: zero where it is not smooth.
BRANCHES: dict[int, Callable[..., Any]] = {
    casadi.OP_FABS: lambda a: a,
    casadi.OP_SIGN: lambda a: a,
    casadi.OP_FMIN: lambda a, b: a - b,
    casadi.OP_FMAX: lambda a, b: a - b,
    casadi.OP_LT: lambda a, b: a - b,
    casadi.OP_LE: lambda a, b: a - b,
    casadi.OP_EQ: lambda a, b: a - b,
    casadi.OP_NE: lambda a, b: a - b,
    casadi.OP_COPYSIGN: lambda a, b: b,
    casadi.OP_IF_ELSE_ZERO: lambda a, b: a,
    casadi.OP_FLOOR: lambda a: casadi.sin(casadi.pi * a),
    casadi.OP_CEIL: lambda a: casadi.sin(casadi.pi * a),
    casadi.OP_FMOD: lambda a, b: casadi.sin(casadi.pi * a / b),
    casadi.OP_REMAINDER: lambda a, b: casadi.cos(casadi.pi * a / b),
}
# What is true or not, and was found where it was decided.
TRUTH = {getattr(casadi, f"OP_{name}") for name in ("LT", "LE", "EQ", "NE", "NOT", "AND", "OR")}


def branches(expression: Any, symbols: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The arguments of operations that are not smooth, and the symbols that they are written in.
    None for expressions whose tape cannot be read (tables).

    >>> x = casadi.SX.sym("x")
    >>> branches(casadi.fabs(x - 1) + x**2, [x])[0]
    [SX((s_0-1))]
    """
    inputs = [casadi.SX.sym(f"s_{k}", s.numel()) for k, s in enumerate(symbols)]
    try:
        function = casadi.Function("branches", symbols, [casadi.densify(expression)]).expand()
    except RuntimeError:
        return [], inputs
    found: list[Any] = []
    work = [casadi.SX(0)] * function.sz_w()
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        places, target = function.instruction_input(k), function.instruction_output(k)
        if operation == casadi.OP_INPUT:
            work[target[0]] = inputs[places[0]][places[1]]
        elif operation == casadi.OP_CONST:
            work[target[0]] = casadi.SX(function.instruction_constant(k))
        elif operation != casadi.OP_OUTPUT:
            own = [work[i] for i in places]
            selects = operation == casadi.OP_IF_ELSE_ZERO
            decided = selects and own[0].n_dep() and own[0].op() in TRUTH
            if operation in BRANCHES and not decided:
                found.append(BRANCHES[operation](*own))
            operate = casadi.SX.unary if len(own) == 1 else casadi.SX.binary
            work[target[0]] = operate(operation, *own)
    return [a for a in found if not a.is_constant()], inputs


def smooth_in(expression: Any, symbols: Sequence[Any], which: Sequence[int]) -> bool:
    """Whether no operation with a kink or a step depends on some of the symbols."""
    arguments, inputs = branches(expression, symbols)
    moved = [inputs[k] for k in which if inputs[k].numel()]
    return not any(casadi.depends_on(a, v) for a in arguments for v in moved)


def jumps_of_data(ph: SampledPhase) -> NDArray[np.float64]:
    """The times inside a phase at which data have a jump or a kink: branches that depend on time
    and parameters alone, as far as they change between the points of the phase.
    """
    form = ph.form
    symbols = [form.t, form.x, form.z, form.u, ph.symbols_s, ph.symbols_p]
    rows = casadi.vertcat(form.f, form.l, form.c, form.g)
    arguments, inputs = branches(rows, symbols)
    moving = [inputs[k] for k in (1, 2, 3) if inputs[k].numel()]
    given = [
        a
        for a in arguments
        if casadi.depends_on(a, inputs[0]) and not any(casadi.depends_on(a, v) for v in moving)
    ]
    if not given:
        return np.zeros(0)
    known = [inputs[0], *inputs[4:]]
    function = Pointwise(casadi.Function("data", known, [casadi.vertcat(*given)]))

    def above(times: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(function(times[None, :], ph.s, ph.p) > 0)

    times = np.unique(np.concatenate([ph.times.ravel(), ph.breaks]))
    which, place = np.nonzero(np.diff(above(times), axis=1))
    low, high = times[place], times[place + 1]
    every = np.arange(which.size)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        changed = above(middle)[which, every] != above(low)[which, every]
        low, high = np.where(changed, low, middle), np.where(changed, middle, high)
    return np.unique(high)
