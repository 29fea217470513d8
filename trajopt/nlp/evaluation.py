"""Evaluation: values and sparse derivatives of a program by the compiled core (evaluation.c)."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.library import library, threads
from trajopt.compiled.pointwise import Pointwise
from trajopt.errors import UsageError
from trajopt.nlp.program import Kernel, Program
from trajopt.nlp.sparse_rows import SparseRows

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_P, _I = ctypes.c_void_p, ctypes.c_int64
FUNCTIONS = 5  # of a kernel: constraints, objective, their Jacobians, the Hessian
EVALUATE = ctypes.CFUNCTYPE(ctypes.c_int, _I, _I, _P, _P, _P)


class CLines(ctypes.Structure):
    """``sparse_lines`` of evaluation.h."""

    _fields_ = tuple((name, _P) for name in ("start", "index", "value"))


class CBlock(ctypes.Structure):
    """``program_block`` of evaluation.h."""

    _fields_ = (
        *((name, _I) for name in ("inputs", "data", "constraint_rows", "objective_rows", "count")),
        ("nonzeros", _I * FUNCTIONS),
        ("gather", CLines), ("scatter", CLines), ("place_data", _P), ("weights", _P),
        ("row", _P * FUNCTIONS), ("column", _P * FUNCTIONS), ("function", _P * FUNCTIONS),
    )  # fmt: skip


class CProgram(ctypes.Structure):
    """``program`` of evaluation.h."""

    _fields_ = (
        *((name, _I) for name in ("unknowns", "constraints", "blocks", "parameters")),
        ("linear", CLines),
        ("parameter", _P),
        ("block", _P),
        ("evaluate", EVALUATE),
        ("threads", _I),
    )


class CPlacement(ctypes.Structure):
    """``placement`` of evaluation.h."""

    _fields_ = (
        *((name, _I) for name in ("columns", "nonzeros", "terms")),
        *(
            (name, _P)
            for name in (
                "start",
                "row",
                "column",
                "term_start",
                "source",
                "coefficient",
                "constant",
            )
        ),
    )


class CEvaluation(ctypes.Structure):
    """The first members of ``evaluation`` of evaluation.h, which Python reads."""

    _fields_ = (("program", _P), ("jacobian", CPlacement), ("hessian", CPlacement))


@dataclass(frozen=True, eq=False)
class Pattern:
    """Sparsity pattern of a matrix in compressed column format."""

    starts: Index  # (columns + 1,)
    rows: Index


class CoreKernel:
    """A kernel in the structures of evaluation.h: a block without what depends on its points."""

    def __init__(self, kernel: Kernel) -> None:
        self.c, self._arrays = CBlock(), list[Any]()
        self.c.inputs, self.c.data = kernel.inputs, kernel.data
        self.c.constraint_rows, self.c.objective_rows = (
            kernel.constraint_rows,
            kernel.objective_rows,
        )
        self.has_tapes = True
        for i, (function, pattern, size) in enumerate(
            zip(functions(kernel), patterns(kernel), sizes(kernel), strict=True)
        ):
            self.c.nonzeros[i] = size
            if pattern is not None:
                arrays = [np.ascontiguousarray(a, dtype=np.int64) for a in pattern]
                self.c.row[i], self.c.column[i] = (a.ctypes.data for a in arrays)
                self._arrays += arrays
            if size and function.tape is not None:
                self.c.function[i] = function.tape.address
                self._arrays.append(function.tape)
            elif size:
                self.has_tapes = False


def _core_kernel(kernel: Kernel) -> CoreKernel:
    """Return the kernel for the core, made once for all programs with it and kept with it."""
    made: CoreKernel | None = vars(kernel).get("_core")
    if made is None:
        made = vars(kernel)["_core"] = CoreKernel(kernel)
    return made


class CoreProgram:
    """A program in the structures of evaluation.h, with the arrays that they point to."""

    def __init__(self, program: Program) -> None:
        check_shapes(program)
        self.program = program
        self._arrays: list[Any] = []
        blocks = (CBlock * max(len(program.blocks), 1))()
        for number, block in enumerate(program.blocks):
            of_kernel = _core_kernel(block.kernel)
            self._arrays.append(of_kernel)
            blocks[number] = of_kernel.c
            c = blocks[number]
            c.count = block.count
            c.gather, c.scatter = self._lines(block.gather), self._lines(block.scatter)
            c.place_data, c.weights = self._pointer(block.data), self._pointer(block.weights)
        self._arrays += [blocks, evaluate := EVALUATE(self._evaluate)]
        self.failure: BaseException | None = None  # exception of a function evaluated by CasADi
        self.c = CProgram(
            program.unknowns,
            program.constraints,
            len(program.blocks),
            program.parameters.size,
            self._lines(program.linear),
            self._pointer(program.parameters),
            ctypes.cast(blocks, _P),
            evaluate,
            threads(),
        )

    def _evaluate(
        self, block: int, which: int, inputs: int, multipliers: int | None, result: int
    ) -> int:
        """Evaluate one function of a block at all its points by CasADi; called from C."""
        try:
            b = self.program.blocks[block]
            function = functions(b.kernel)[which]
            columns = [_view(inputs, (b.kernel.inputs, b.count)), b.data, self.program.parameters]
            if multipliers is not None:
                columns.append(_view(multipliers, (b.kernel.outputs, b.count)))
            values = function(*columns)
            _view(result, values.shape)[:] = values
        except BaseException as error:  # C cannot propagate it; the Python caller raises it
            self.failure = error
            return -1
        return 0

    def _lines(self, lines: SparseRows) -> CLines:
        return CLines(
            self._pointer(lines.pointers, np.int64),
            self._pointer(lines.indices, np.int64),
            self._pointer(lines.data),
        )

    def _pointer(self, values: Any, kind: Any = np.float64) -> int:
        array = np.ascontiguousarray(values, dtype=kind)
        self._arrays.append(array)
        return array.ctypes.data


def check_shapes(program: Program) -> None:
    """Refuse a program whose arrays do not fit together: the core reads them without bounds."""
    n, m = program.unknowns, program.constraints
    _check_lines("linear", program.linear, n, m)
    vectors = {"upper": n, "start": n, "g_upper": m}
    for name, size in vectors.items():
        _check_size(name, getattr(program, name), size)
    for number, block in enumerate(program.blocks):
        kernel, label = block.kernel, f"block {number}: "
        _check_lines(label + "gather", block.gather, block.count * kernel.inputs, n)
        _check_lines(label + "scatter", block.scatter, block.count * kernel.constraint_rows, m)
        _check_size(label + "data", block.data, block.count * kernel.data)
        _check_size(label + "weights", block.weights, block.count * kernel.objective_rows)
        _check_size("parameters", program.parameters, kernel.parameters)


def _check_lines(name: str, lines: SparseRows, count: int, width: int) -> None:
    """Refuse a matrix of another shape, or with entries outside of it."""
    pointers, indices = lines.pointers, lines.indices
    shape = (lines.count, lines.width)
    if shape != (count, width):
        raise UsageError(
            f"nonlinear program: lines and width of {name}", got=shape, expected=(count, width)
        )
    ordered = pointers[0] == 0 and bool((pointers[1:] >= pointers[:-1]).all())
    if not ordered or pointers[-1] != indices.size or lines.data.size != indices.size:
        raise UsageError(
            f"nonlinear program: entries of {name}",
            got=f"{indices.size} indices, {lines.data.size} values, pointers to {pointers[-1]}",
            expected="as many of each, and pointers that begin at 0 and do not fall",
        )
    if indices.size and not (indices.min() >= 0 and indices.max() < width):
        raise UsageError(
            f"nonlinear program: indices of {name}",
            got=f"{indices.min()} to {indices.max()}",
            expected=f"0 to {width - 1}",
        )


def _check_size(name: str, values: Any, size: int) -> None:
    if values.size != size:
        raise UsageError(f"nonlinear program: size of {name}", got=values.size, expected=size)


class Evaluation:
    """Objective, constraints and exact sparse derivatives of a program."""

    def __init__(self, program: Program) -> None:
        core = library()
        assert core is not None
        self.core, self.owned = core, CoreProgram(program)
        core.evaluation_new.restype = _P
        self.handle = _P(core.evaluation_new(ctypes.byref(self.owned.c)))
        if not self.handle:
            raise MemoryError("evaluation of a program")
        weakref.finalize(self, core.evaluation_free, self.handle)
        self.unknowns, self.constraint_count = program.unknowns, program.constraints
        c = CEvaluation.from_address(self.handle.value or 0)
        self.jacobian_pattern, self.hessian_pattern = _pattern(c.jacobian), _pattern(c.hessian)

    def objective(self, y: Array) -> float:
        return float(self._call("objective", (y,), 1)[0])

    def constraints(self, y: Array) -> Array:
        return self._call("constraints", (y,), self.constraint_count)

    def gradient(self, y: Array) -> Array:
        return self._call("gradient", (y,), self.unknowns)

    def jacobian(self, y: Array) -> Array:
        """Return the nonzeros in the order of ``jacobian_pattern``."""
        return self._call("jacobian", (y,), self.jacobian_pattern.rows.size)

    def hessian(self, y: Array, weight: float, multipliers: Array) -> Array:
        """Return the nonzeros of the upper triangle for weight * f + multipliers . g, in the order
        of ``hessian_pattern``.
        """
        return self._call(
            "hessian", (y, ctypes.c_double(weight), multipliers), self.hessian_pattern.rows.size
        )

    def _call(self, name: str, arguments: tuple[Any, ...], size: int) -> Array:
        result = np.empty(size)
        pointers = [_P(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments]
        if getattr(self.core, f"evaluation_{name}")(self.handle, *pointers, _P(result.ctypes.data)):
            raise self.owned.failure or MemoryError("evaluation of a program")
        return result


def functions(kernel: Kernel) -> tuple[Pointwise, ...]:
    """Return the functions of a kernel in the order of evaluation.h."""
    return (
        kernel.constraints,
        kernel.objective,
        kernel.constraint_jacobian,
        kernel.objective_jacobian,
        kernel.hessian,
    )


def patterns(kernel: Kernel) -> tuple[tuple[Index, Index] | None, ...]:
    """Return rows and columns of the nonzeros of these functions; None for columns."""
    matrices = (kernel.constraint_pattern, kernel.objective_pattern, kernel.hessian_pattern)
    return None, None, *matrices


def sizes(kernel: Kernel) -> tuple[int, ...]:
    """Return how many numbers each of these functions gives."""
    rows = kernel.constraint_rows, kernel.objective_rows
    return *rows, *(0 if pattern is None else pattern[0].size for pattern in patterns(kernel)[2:])


def has_tapes(program: Program) -> bool:
    """True if the core evaluates all functions of a program itself."""
    return all(_core_kernel(block.kernel).has_tapes for block in program.blocks)


def _pattern(c: CPlacement) -> Pattern:
    return Pattern(
        *(
            _integers(pointer, count).copy()
            for pointer, count in ((c.start, c.columns + 1), (c.row, c.nonzeros))
        )
    )


def _integers(pointer: int, count: int) -> Index:
    return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int64)), (count,))


def _view(pointer: int, shape: tuple[int, ...]) -> Array:
    return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double)), shape)
