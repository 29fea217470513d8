"""Tapes: the instructions of a CasADi SX function as arrays for tape.c."""

from __future__ import annotations

import ctypes
import itertools
import struct
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.library import library, threads

Array = NDArray[np.float64]

THREADED = 100_000  # instructions times points; below, tape.c never starts a thread

_INT, _DOUBLE = ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_double)


class CTape(ctypes.Structure):
    """``tape`` of tape.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("instructions", "slots", "inputs", "outputs")),
        *(
            (name, ctypes.c_void_p)
            for name in ("operation", "result", "first", "second", "constant", "input_size")
        ),
    )


class CInput(ctypes.Structure):
    """``tape_input`` of tape.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("component_step", ctypes.c_int64),
        ("point_step", ctypes.c_int64),
    )


@dataclass(frozen=True, eq=False)
class Tape:
    """A tape in C, and the arrays that it points to."""

    c: CTape
    arrays: tuple[Any, ...]
    input_sizes: tuple[int, ...]
    outputs: int

    @cached_property
    def address(self) -> int:
        return ctypes.addressof(self.c)

    def run(self, arguments: list[Array], count: int) -> Array:
        """Return the results at ``count`` points: (outputs, count).

        Arguments are float arrays (size, count) or (size, 1); the latter are the same at every
        point.
        """
        core = library()
        assert core is not None
        inputs = (CInput * max(len(arguments), 1))()
        for k, a in enumerate(arguments):
            if a.size:
                step, along = a.strides
                inputs[k] = CInput(a.ctypes.data, step // 8, along // 8 if a.shape[1] > 1 else 0)
        result = np.empty((self.outputs, count))
        workers = threads() if self.c.instructions * count > THREADED else 1
        if core.tape_run(self.address, count, inputs, result.ctypes.data, workers):
            raise MemoryError("evaluation of a model")
        return result


def tape_of(function: casadi.Function) -> Tape | None:
    """Return the tape of a function; None if tape.c lacks one of its operations, or without the
    compiled core.
    """
    core = library()
    if core is None or not function.is_a("SXFunction") or function.has_free():
        return None
    words, codes = _instructions(function), _operations()
    count = len(words)
    operation = codes.take(words[:, 0], mode="clip")
    result, first, second = operands = words[:, 1:].T.copy()
    constant = words[:, 2:].view("<f8")[:, 0].copy()  # read by constants only
    sizes = tuple(function.nnz_in(i) for i in range(function.n_in()))
    starts = [0, *itertools.accumulate(function.nnz_out(i) for i in range(function.n_out()))]
    output = (operation == codes[casadi.OP_OUTPUT]).nonzero()[0]
    result[output] = (
        second[output] if len(starts) == 2 else np.array(starts)[result[output]] + second[output]
    )
    input_sizes, place = (ctypes.c_int32 * len(sizes))(*sizes), operands.ctypes.data
    c = CTape(
        count,
        function.sz_w(),
        len(sizes),
        starts[-1],
        operation.ctypes.data,
        place,
        place + 4 * count,
        place + 8 * count,
        constant.ctypes.data,
        ctypes.addressof(input_sizes),
    )
    if core.tape_check(ctypes.byref(c)):
        return None
    return Tape(c, (operation, result, first, second, constant, input_sizes), sizes, starts[-1])


# An instruction is four integers: operation, result, two operands. A constant takes the place of
# both operands. Of an output, result and second operand are its number and component; of an input,
# the two operands are.
INSTRUCTION = struct.Struct("<4i")
LETTERS = bytes.maketrans(b"abcdefghijklmnop", b"0123456789abcdef")
SWAPPED = bytes((k >> 4) | (k & 15) << 4 for k in range(256))  # the two digits of a byte, exchanged


def _instructions(function: casadi.Function) -> NDArray[np.int32]:
    """Return all instructions, (instructions, 4).

    They are read from the serialized function, in a quarter of the time of CasADi's interface,
    where every call reads one. CasADi does not document the format: in versions 3.6 to 3.8 a byte
    is two letters, the lower digit first, and instructions follow each other. So some of them are
    compared with the interface, and if they are not found it reads all of them.
    """
    count = function.n_instructions()
    samples = [
        (k, _instruction(function, k))
        for k in {*range(0, count, count // 2 + 1), max(count - 1, 0)}
        if k < count
    ]
    try:
        text = bytes.fromhex(
            function.serialize().encode("ascii").translate(LETTERS).decode("ascii")
        ).translate(SWAPPED)
    except ValueError:
        text = b""
    place = text.find(samples[0][1]) if samples else -1
    while place >= 0:
        if all(text.startswith(sample, place + k * INSTRUCTION.size) for k, sample in samples):
            return np.frombuffer(text, "<i4", 4 * count, place).reshape(-1, 4)
        place = text.find(samples[0][1], place + 1)
    return np.frombuffer(b"".join(_instruction(function, k) for k in range(count)), "<i4").reshape(
        -1, 4
    )


def _instruction(function: casadi.Function, k: int) -> bytes:
    """Return one instruction by CasADi's interface."""
    operation = function.instruction_id(k)
    to = function.instruction_output(k)
    given = function.instruction_input(k)
    if operation == casadi.OP_CONST:
        return struct.pack("<2id", operation, to[0], function.instruction_constant(k))
    if operation == casadi.OP_OUTPUT:
        return INSTRUCTION.pack(operation, to[0], given[0], to[1])
    return INSTRUCTION.pack(operation, to[0], given[0], given[-1])


def operation_code(operation: int) -> int:
    """Return the code of tape.c for an operation of CasADi."""
    return int(_operations()[operation])


@cache
def _operations() -> NDArray[np.int32]:
    """(CasADi's operation codes + 1,): the codes of tape.c, -1 where it has none."""
    core = library()
    assert core is not None
    core.tape_operation_name.restype = ctypes.c_char_p
    names: list[str] = []
    while (name := core.tape_operation_name(len(names))) is not None:
        names.append(name.decode())
    known = {
        getattr(casadi, f"OP_{name}"): code
        for code, name in enumerate(names)
        if hasattr(casadi, f"OP_{name}")
    }
    codes = np.full(max(known) + 2, -1, dtype=np.int32)  # the last for all larger ones
    codes[list(known)] = list(known.values())
    return codes
