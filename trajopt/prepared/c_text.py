"""Constant arrays and structures as C11."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import casadi
import numpy as np

from trajopt.compiled.tapes import Tape, operation_code
from trajopt.nlp.evaluation import functions, patterns, sizes
from trajopt.nlp.program import Block, Kernel
from trajopt.nlp.sparse_rows import SparseRows

KINDS = {"double": np.float64, "int64_t": np.int64, "int32_t": np.int32}
WIDTH = 120  # of a line
FUNCTIONS = ("CONSTRAINTS", "OBJECTIVE", "JACOBIAN", "GRADIENT", "HESSIAN")  # of evaluation.h


class ConstantText:
    """A C file of constants. Arrays and tapes with the same contents are written once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[tuple[str, bytes], str] = {}

    def array(self, kind: str, values: Any) -> str:
        """The name of a constant array; C has no empty ones, so these get a zero."""
        numbers = np.ascontiguousarray(values, dtype=KINDS[kind]).ravel()
        key = kind, numbers.tobytes()
        if key not in self._names:
            name = self._names[key] = f"{kind.removesuffix('_t')}s_{len(self._names)}"
            items = [number(v) for v in numbers.tolist()] if kind == "double" else None
            texts = items or [str(v) for v in numbers.tolist()]
            self.lines.append(initializer(f"static const {kind} {name}[]", texts or ["0"]))
        return self._names[key]

    def structures(self, kind: str, name: str, items: Iterable[str]) -> str:
        """An array of structures; ``name`` is returned."""
        texts = list(items)
        self.lines.append(initializer(f"static const {kind} {name}[]", texts or ["{0}"]))
        return name

    def strings(self, name: str, items: Iterable[str]) -> str:
        texts = [string(item) for item in items]
        declared = f"static const char *const {name}[]"
        self.lines.append(initializer(declared, texts or ["NULL"]))
        return name

    def sparse_lines(self, lines: SparseRows) -> str:
        start, index = (self.array("int64_t", a) for a in (lines.pointers, lines.indices))
        return f"{{{start}, {index}, {self.array('double', lines.data)}}}"

    def tape(self, tape: Tape) -> str:
        """The name of a tape."""
        operation, result, first, second, constant, inputs = tape.arrays
        values = np.where(operation == operation_code(casadi.OP_CONST), constant, 0.0)
        arrays = [self.array("int32_t", a) for a in (operation, result, first, second)]
        arrays += [self.array("double", values), self.array("int32_t", list(inputs))]
        counts = tape.c.instructions, tape.c.slots, tape.c.inputs, tape.c.outputs
        text = ", ".join([*map(str, counts), *arrays])
        key = "tape", text.encode()
        if key not in self._names:
            name = self._names[key] = f"tape_{len(self._names)}"
            self.lines.append(f"static const tape {name} = {{{text}}};\n")
        return self._names[key]

    def block(self, block: Block) -> str:
        """A ``program_block`` without the data of its places."""
        kernel = block.kernel
        parts = {
            "inputs": kernel.inputs,
            "data": kernel.data,
            "constraint_rows": kernel.constraint_rows,
            "objective_rows": kernel.objective_rows,
            "count": block.count,
            "nonzeros": "{" + ", ".join(map(str, sizes(kernel))) + "}",
            "gather": self.sparse_lines(block.gather),
            "scatter": self.sparse_lines(block.scatter),
            "weights": self.array("double", block.weights),
            **self._functions(kernel),
        }
        return "{" + ", ".join(f".{name} = {value}" for name, value in parts.items()) + "}"

    def _functions(self, kernel: Kernel) -> dict[str, str]:
        rows, columns, tapes = list[str](), list[str](), list[str]()
        each = zip(FUNCTIONS, functions(kernel), patterns(kernel), sizes(kernel), strict=True)
        for label, function, pattern, size in each:
            if pattern is not None:
                rows.append(f"[{label}] = {self.array('int64_t', pattern[0])}")
                columns.append(f"[{label}] = {self.array('int64_t', pattern[1])}")
            if size and function.tape is not None:
                tapes.append(f"[{label}] = &{self.tape(function.tape)}")
        of = {"row": rows, "column": columns, "function": tapes}
        return {name: "{" + (", ".join(items) or "NULL") + "}" for name, items in of.items()}


def initializer(declaration: str, items: Sequence[str]) -> str:
    """A declaration with its values, in lines."""
    lines, line = [f"{declaration} = {{"], "   "
    for item in items:
        if len(line) + len(item) > WIDTH and line.strip():
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line, "};\n"])


def number(value: float) -> str:
    """A double, to its last bit.

    >>> number(0.1), number(-math.inf), number(2.0)
    ('0.1', '-INFINITY', '2.0')
    """
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def fields(*values: Any) -> str:
    """The value of a structure.

    >>> fields(1, 0.5, "name")
    '{1, 0.5, name}'
    """
    texts = (number(v) if isinstance(v, float) else str(v) for v in values)
    return "{" + ", ".join(texts) + "}"


def string(text: str) -> str:
    r"""A string literal of plain characters; others, and what begins an escape, by their codes.

    >>> print(string('a "b" µ'))
    "a \042b\042 \302\265"
    """
    plain = set(range(32, 127)) - set(b'"\\?')
    codes = [chr(c) if c in plain else f"\\{c:03o}" for c in text.encode()]
    return '"' + "".join(codes) + '"'


def identifiers(prefix: str, labels: Iterable[str]) -> list[str]:
    """Different C names from labels.

    >>> identifiers("STATE_", ["x", "q[knee]", "q.knee"])
    ['STATE_x', 'STATE_q_knee', 'STATE_q_knee_2']
    """
    found: list[str] = []
    for label in labels:
        name = prefix + re.sub(r"[^0-9A-Za-z]+", "_", label).strip("_")
        chosen, count = name, 1
        while chosen in found:
            count += 1
            chosen = f"{name}_{count}"
        found.append(chosen)
    return found
