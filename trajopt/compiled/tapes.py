"""Tapes: the instructions of a CasADi SX function as arrays for tape.c."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.library import library, threads

Array = NDArray[np.float64]

_INT, _DOUBLE = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_double)


class CTape(ctypes.Structure):
    """``tape`` of tape.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("instructions", "slots", "inputs", "outputs")),
        *((name, ctypes.c_void_p) for name in ("operation", "result", "first", "second", "constant", "input_size")),
    )


class CInput(ctypes.Structure):
    """``tape_input`` of tape.h."""

    _fields_ = (("data", ctypes.c_void_p), ("component_step", ctypes.c_int64), ("point_step", ctypes.c_int64))


@dataclass(frozen=True, eq=False)
class Tape:
    """A tape in C, and the arrays that it points to."""

    c: CTape
    arrays: tuple[NDArray[np.int32] | Array, ...]
    input_sizes: tuple[int, ...]
    outputs: int

    def run(self, arguments: list[Array], count: int) -> Array:
        """Return the results at ``count`` points: (outputs, count).

        Arguments are float arrays (size, count) or (size, 1); the latter are the same at every point.
        """
        core = library()
        assert core is not None
        inputs = (CInput * max(len(arguments), 1))()
        for c, a in zip(inputs, arguments, strict=False):
            step, along = a.strides
            c.data, c.component_step, c.point_step = a.ctypes.data, step // 8, along // 8 if a.shape[1] > 1 else 0
        result = np.empty((self.outputs, count))
        failed = core.tape_run(
            ctypes.byref(self.c), ctypes.c_int64(count), inputs, ctypes.c_void_p(result.ctypes.data), threads()
        )
        if failed:
            raise MemoryError("evaluation of a model")
        return result


def tape_of(function: casadi.Function) -> Tape | None:
    """Return the tape of a function; None if tape.c lacks one of its operations, or without the compiled core."""
    core = library()
    if core is None or not function.is_a("SXFunction") or function.has_free():
        return None
    count, known = function.n_instructions(), _operations()
    operation, result, first, second = (np.zeros(count, dtype=np.int32) for _ in range(4))
    constant = np.zeros(count)
    starts = np.concatenate([[0], np.cumsum([function.nnz_out(i) for i in range(function.n_out())])]).astype(int)
    for k in range(count):
        code = known.get(function.instruction_id(k))
        if code is None:
            return None
        operation[k] = code
        to, given = function.instruction_output(k), function.instruction_input(k)
        if code == known[casadi.OP_OUTPUT]:
            result[k], first[k] = starts[to[0]] + to[1], given[0]
        elif code == known[casadi.OP_CONST]:
            result[k], constant[k] = to[0], function.instruction_constant(k)
        else:
            result[k], first[k], second[k] = to[0], given[0], given[-1]
    sizes = tuple(function.nnz_in(i) for i in range(function.n_in()))
    arrays = (operation, result, first, second, constant, np.array(sizes, dtype=np.int32))
    slots = 1 + int(max(result.max(initial=0), first.max(initial=0), second.max(initial=0)))
    c = CTape(count, slots, len(sizes), int(starts[-1]), *(a.ctypes.data for a in arrays))
    if core.tape_check(ctypes.byref(c)):
        return None
    return Tape(c, arrays, sizes, int(starts[-1]))


@cache
def _operations() -> dict[int, int]:
    """Map CasADi's operation codes to those of tape.c."""
    core = library()
    assert core is not None
    core.tape_operation_name.restype = ctypes.c_char_p
    codes: dict[int, int] = {}
    while (name := core.tape_operation_name(len(codes))) is not None:
        codes[getattr(casadi, f"OP_{name.decode()}", -1 - len(codes))] = len(codes)
    return codes
