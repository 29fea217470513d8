"""Session: a program whose structure, factors and last answer the compiled core keeps, to solve it
again for other numbers.

The method is described in session.h. Parameters, bounds and the data of points may change; which
unknowns are fixed and which rows are equations is the structure, and may not.
"""

from __future__ import annotations

import ctypes
import enum
import weakref
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.compiled.library import library
from trajopt.nlp.backends import Outcome, Result
from trajopt.nlp.evaluation import CoreProgram, has_tapes
from trajopt.nlp.program import Program

Array = NDArray[np.float64]
Roles = NDArray[np.int8]

CHANGING = ("lower", "upper", "g_lower", "g_upper", "start", "parameters")
_P, _I, _D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class CSessionOptions(ctypes.Structure):
    """``session_options`` of session.h."""

    _fields_ = (
        ("tolerance", _D),
        ("rate", _D),
        ("iterations", _I),
        ("factorizations", _I),
        ("certified", _I),
    )


class CSessionReport(ctypes.Structure):
    """``session_report`` of session.h."""

    _fields_ = (
        *(
            (name, _I)
            for name in (
                "status",
                "iterations",
                "chords",
                "factorizations",
                "changes",
                "negative",
                "zero",
                "dependent",
            )
        ),
        ("error", _D),
    )


class SessionStatus(enum.Enum):
    """How a solve of a session ended, in the order of ``session_status`` of session.h."""

    SOLVED = "solved"
    SLOW = "the residual does not fall fast enough"
    INDEFINITE = "the second-order condition does not hold"
    SINGULAR = "active constraints depend on each other"
    FAILED = "numbers that are not finite"


@dataclass(frozen=True)
class SessionReport:
    """What a solve of a session did."""

    status: SessionStatus
    iterations: int
    chords: int  # steps with the last factors
    factorizations: int
    changes: int  # of the active set
    error: float  # the residual of the KKT conditions, scaled
    dependent: bool  # active bounds and rows depend on each other: multipliers are not unique


@dataclass(frozen=True)
class SessionSettings:
    """When a session stops, and when it uses its last factors."""

    tolerance: float = 1e-9
    rate: float = 0.5  # by which a chord step reduces the residual; beyond, the next step factors
    iterations: int = 30
    factorizations: int = 10


def supports(program: Program) -> bool:
    """True if the compiled core can keep this program."""
    return library() is not None and has_tapes(program)


def independent(program: Program) -> Program:
    """The program with copies of the arrays that may change: bounds, start, parameters and the data
    of points.

    They are contiguous, so that the core reads these very arrays.
    """
    blocks = tuple(
        replace(block, data=np.array(block.data, dtype=float, order="C"))
        for block in program.blocks
    )
    copied: dict[str, Any] = {
        name: np.array(getattr(program, name), dtype=float) for name in CHANGING
    }
    return replace(program, blocks=blocks, **copied)


class Session:
    """An ``independent`` program in the core, whose arrays may be changed in place."""

    def __init__(self, program: Program, point: Result) -> None:
        core = library()
        assert core is not None
        core.session_new.restype, core.session_answer.restype = _P, _D
        self.program = program
        self.core, self._owned = core, CoreProgram(program)
        p = self.program
        self._bounds = (_P * 5)(
            *(a.ctypes.data for a in (p.lower, p.upper, p.g_lower, p.g_upper, p.start))
        )
        self._point = tuple(
            np.array(a, dtype=float)
            for a in (point.y, point.g, point.bound_multipliers, point.constraint_multipliers)
        )
        self._answer = (_P * 4)(*(a.ctypes.data for a in self._point))
        self._handle = _P(core.session_new(ctypes.byref(self._owned.c), self._bounds))
        if not self._handle:
            raise MemoryError("session of a program")
        weakref.finalize(self, core.session_free, self._handle)

    def begin(self, point: Result) -> None:
        """Take a point and its multipliers, and the active set that they show."""
        given = (point.y, point.g, point.bound_multipliers, point.constraint_multipliers)
        for mine, values in zip(self._point, given, strict=True):
            mine[:] = values
        self.core.session_begin(self._handle, self._answer)

    def solve(self, settings: SessionSettings, certified: bool = True) -> SessionReport:
        """Solve from the point of ``begin``; ``certified``: the inertia is that of the KKT matrix
        at the answer.
        """
        options = CSessionOptions(
            settings.tolerance,
            settings.rate,
            settings.iterations,
            settings.factorizations,
            int(certified),
        )
        report = CSessionReport()
        self.core.session_solve(self._handle, ctypes.byref(options), ctypes.byref(report))
        return _report(report)

    def result(self, iterations: int, seconds: float) -> Result:
        """The point of the session as the result of a solver."""
        f = float(self.core.session_answer(self._handle, self._answer))
        y, g, bound, constraint = (a.copy() for a in self._point)
        return Result(
            Outcome.SOLVED, "Solved", y, f, g, bound, constraint, iterations, seconds, "session"
        )

    def factor(self) -> SessionReport:
        """Factor the KKT matrix at the point."""
        report = CSessionReport()
        self.core.session_factor(self._handle, ctypes.byref(report))
        return _report(report)

    @property
    def roles(self) -> tuple[Roles, Roles]:
        """Of unknowns: -1 at the lower bound, 1 at the upper, 0 free, 2 fixed; of rows: -1, 1, 0
        inactive, 2 equation.
        """
        roles = (
            np.zeros(self.program.unknowns, np.int8),
            np.zeros(self.program.constraints, np.int8),
        )
        self.core.session_active(self._handle, *(_P(a.ctypes.data) for a in roles))
        return roles

    @roles.setter
    def roles(self, roles: tuple[Roles, Roles]) -> None:
        contiguous = [np.ascontiguousarray(a, dtype=np.int8) for a in roles]
        self.core.session_set_active(self._handle, *(_P(a.ctypes.data) for a in contiguous))

    def product(self, direction: Array) -> tuple[Array, Array]:
        """Hessian of the Lagrangian and Jacobian of the last factorization, times a direction:
        (unknowns,), (rows,).
        """
        direction = np.ascontiguousarray(direction)
        results = np.zeros(self.program.unknowns), np.zeros(self.program.constraints)
        self.core.session_product(self._handle, *(_P(a.ctypes.data) for a in (direction, *results)))
        return results

    def transposed(self, multipliers: Array) -> Array:
        """Transposed Jacobian of the last factorization times multipliers: (unknowns,)."""
        multipliers, result = np.ascontiguousarray(multipliers), np.zeros(self.program.unknowns)
        pointers = (_P(a.ctypes.data) for a in (multipliers, result))
        self.core.session_transposed(self._handle, *pointers)
        return result

    def tangent(self, dual: Array, rows: Array) -> tuple[Array, Array]:
        """Solve the last factored KKT system: steps of the unknowns and of the
        multipliers of rows.
        """
        given = [np.ascontiguousarray(a, dtype=float) for a in (dual, rows)]
        results = np.zeros(self.program.unknowns), np.zeros(self.program.constraints)
        self.core.session_tangent(self._handle, *(_P(a.ctypes.data) for a in (*given, *results)))
        return results


def _report(c: CSessionReport) -> SessionReport:
    return SessionReport(
        list(SessionStatus)[c.status],
        c.iterations,
        c.chords,
        c.factorizations,
        c.changes,
        c.error,
        bool(c.dependent),
    )
