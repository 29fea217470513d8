"""Symbols of a problem with names, and messages where Python reads an expression as a number.

CasADi expressions have no truth value and no numerical value. Python asks for one in ``-1 <= x <=
1``, ``a and b``, ``if x > 0``, ``max(x, y)`` and ``math.sin(x)``. CasADi's own answers are an error
that names none of these, and a silent NaN. Importing this module replaces both by a ``SymbolError``
that says what to write.
"""

from __future__ import annotations

import ast
import linecache
import math
import sys
import textwrap
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TypeAlias

import casadi

from trajopt.errors import ProblemError, suggest


class SymbolError(ProblemError, TypeError, RuntimeError):
    """An expression was used where Python needs a number.

    CasADi raises TypeError and RuntimeError there.
    """


class _Named:
    """A CasADi symbol with a name that can be a dictionary key."""

    label: str
    unit: str
    components: tuple[str, ...]

    # CasADi's __eq__ builds an expression, so identity is the only usable key
    def __hash__(
        self,
    ) -> int:
        return id(self)

    def __reduce__(self) -> Any:
        plain: Any = casadi.SX if isinstance(self, casadi.SX) else casadi.MX
        return _restored, (type(self), plain(self), self.label, self.unit, self.components)

    def _index(self, index: Any) -> Any:
        """Return the index of a component given by name; other indices are returned unchanged."""
        size = int(self.numel())  # type: ignore[attr-defined]
        if isinstance(index, int) and not -size <= index < size:
            raise ProblemError(
                f"'{self.label}' has no component {index}",
                expected=f"an index from 0 to {size - 1}",
            )
        if not isinstance(index, str):
            return index
        if index not in self.components:
            raise ProblemError(
                f"'{self.label}' has no component '{index}'",
                expected=", ".join(self.components)
                or "an index, since its components have no names",
                hint=suggest(index, self.components)
                if self.components
                else 'name them: components=("hip", "knee")',
            )
        return self.components.index(index)


class NamedSX(_Named, casadi.SX):
    """Symbol of a problem with ``symbols=casadi.SX``."""

    def __init__(
        self, label: str, size: int = 1, unit: str = "", components: Sequence[str] = ()
    ) -> None:
        # The symbol itself: SX.__init__ takes ten times as long to copy it.
        vars(self).update(vars(casadi.SX.sym(label, size)))
        self.label, self.unit, self.components = label, unit, tuple(components)

    __hash__ = _Named.__hash__

    def __getitem__(self, index: Any) -> casadi.SX:  # type: ignore[override]
        return casadi.SX.__getitem__(self, self._index(index))

    def __copy__(self) -> Any:  # a symbol is its identity
        return self

    def __deepcopy__(self, memo: Any = None) -> Any:
        return self

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _of_numpy(casadi.SX, self, func, args, kwargs)


class NamedMX(_Named, casadi.MX):
    """Symbol of a problem with ``symbols=casadi.MX``: tables and other functions that SX does not
    support.
    """

    def __init__(
        self, label: str, size: int = 1, unit: str = "", components: Sequence[str] = ()
    ) -> None:
        casadi.MX.__init__(self, casadi.MX.sym(label, size))
        self.label, self.unit, self.components = label, unit, tuple(components)

    __hash__ = _Named.__hash__

    def __getitem__(self, index: Any) -> Any:
        return casadi.MX.__getitem__(self, self._index(index))

    def __copy__(self) -> Any:  # a symbol is its identity
        return self

    def __deepcopy__(self, memo: Any = None) -> Any:
        return self

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _of_numpy(casadi.MX, self, func, args, kwargs)


def _restored(kind: Any, plain: Any, label: str, unit: str, components: tuple[str, ...]) -> Any:
    """Return an unpickled symbol: that of ``plain``, which expressions in the
    same pickle contain.
    """
    symbol = kind.__new__(kind)
    vars(symbol).update(vars(plain), label=label, unit=unit, components=components)
    return symbol


# For type checkers every expression is an SX, also those of problems with MX: the two have the same
# operators and functions, and a union of both has none, since CasADi does not mix them.
Symbol: TypeAlias = NamedSX
Computed: TypeAlias = casadi.SX


def named(symbols: Any, name: str, size: int, unit: str, components: Sequence[str] = ()) -> Symbol:
    """Return a symbol of the problem's type."""
    kind: Any = NamedSX if symbols is casadi.SX else NamedMX
    symbol: Symbol = kind(name, size, unit, components)
    return symbol


def _of_numpy(symbols: Any, symbol: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Call a function of NumPy as CasADi does for expressions; it does not know the classes of this
    module.
    """
    found = symbols.__array_function__(symbol, func, (symbols,), args, kwargs)
    if found is NotImplemented:
        raise SymbolError(
            f"numpy.{func.__name__} cannot be applied to '{symbol.label}'",
            got="an expression, which has no numerical value",
            expected="a function of CasADi",
            hint="from casadi import sin, fmin, fmax, sum1, vertcat, mtimes, if_else",
        )
    return found


# Where Python reads an expression as a number
# -------------------------------------------------------------------------

INSTEAD = {
    "chained": (
        "a chained comparison",
        "ph.path(x, lower=-1, upper=1), or two relations: ph.path([-1 <= x, x <= 1])",
    ),
    "and": (
        "'and', 'or' or 'not'",
        "two calls of ph.path, or a list of relations: ph.path([x >= 0, v <= 1])",
    ),
    "if": (
        "a condition of 'if' or 'while'",
        "casadi.if_else(x > 0, a, b), or a phase for each case",
    ),
    "max": ("max() or min()", "casadi.fmax(x, y) or casadi.fmin(x, y)"),
}
GENERAL = (
    "ph.path([a <= x, x <= b]) for limits, casadi.fmax, casadi.fmin and "
    "casadi.if_else(condition, a, b) in expressions"
)


def _truth(original: Callable[..., bool]) -> Callable[..., bool]:
    def truth(self: Any, *arguments: Any) -> bool:
        try:
            return original(self, *arguments)
        except Exception as error:
            kind = _statement_of(sys._getframe(1))
            what, hint = INSTEAD.get(kind, ("a truth value", GENERAL))
            raise SymbolError(
                f"{what} cannot contain an expression",
                got=_shortened(self),
                expected="a number or a boolean",
                hint=hint,
            ) from error

    return truth


def _value(original: Callable[..., float]) -> Callable[..., float]:
    def value(self: Any, *arguments: Any) -> float:
        try:
            number = original(self, *arguments)
        except Exception:
            number = math.nan
        if not math.isnan(number) or self.is_constant():
            return number
        raise SymbolError(
            "an expression has no numerical value",
            got=_shortened(self),
            expected="a number",
            hint="use casadi's functions in expressions: from casadi import sin, cos, sqrt, exp "
            "(not math.sin)",
        )

    return value


def _no_iteration(self: Any) -> Any:
    raise SymbolError(
        "an expression is not a sequence",
        got=_shortened(self),
        expected="its components, as in x[0], x[1]",
        hint="casadi.vertsplit(x) lists them, casadi.sum1(x) adds them",
    )


def _mixed(original: Callable[..., Any], other: type) -> Callable[..., Any]:
    def reflected(self: Any, left: Any) -> Any:
        found = original(self, left)
        if found is NotImplemented and isinstance(left, other):
            raise SymbolError(
                "an SX and an MX are in one expression",
                got=f"{_shortened(left)} and {_shortened(self)}",
                expected="symbols of one type",
                hint="a problem with tables or other MX expressions: Problem(name, "
                "symbols=casadi.MX)",
            )
        return found

    return reflected


def _shortened(expression: Any) -> str:
    text = str(expression)
    return text if len(text) <= 60 else text[:57] + "..."


def _statement_of(frame: FrameType) -> str:
    """Return which construct of Python asked for a truth value, from the line of the caller; empty
    if unknown.
    """
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals).strip()
    tree = _parsed(line)
    nodes = [] if tree is None else list(ast.walk(tree))
    if any(isinstance(node, ast.Compare) and len(node.ops) > 1 for node in nodes):
        return "chained"
    if any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("max", "min")
        for node in nodes
    ):
        return "max"
    if any(isinstance(node, ast.BoolOp | ast.Not) for node in nodes):
        return "and"
    if any(isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert) for node in nodes):
        return "if"
    return ""


def _parsed(line: str) -> ast.AST | None:
    """Parse one line of a program, which may be the head of a block or a part of a statement."""
    head = line.removeprefix("el") if line.startswith("elif ") else line
    for text in (head, f"{head} pass", head.rstrip(","), f"({head.rstrip(',')})"):
        try:
            return ast.parse(textwrap.dedent(text))
        except SyntaxError:
            continue
    return None


def _guard() -> None:
    replaced: dict[str, Callable[..., Any]]
    for symbols, other in ((casadi.SX, casadi.MX), (casadi.MX, casadi.SX)):
        replaced = {
            "__bool__": _truth(symbols.__bool__),
            "__float__": _value(symbols.__float__),
            "__iter__": _no_iteration,
        }
        if hasattr(symbols, "__int__"):  # only SX has it
            replaced["__int__"] = _value(symbols.__int__)  # type: ignore[union-attr]
        for name in ("__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rpow__"):
            replaced[name] = _mixed(getattr(symbols, name), other)
        for name, function in replaced.items():
            setattr(symbols, name, function)


_guard()


def _quiet_numpy() -> None:
    """Functions of NumPy of an expression are the functions of CasADi. CasADi 3.8 warns at the
    first one, unless a mode is chosen; -1 is what it does without a choice.
    """
    if hasattr(casadi.GlobalOptions, "getNumpyMode") and casadi.GlobalOptions.getNumpyMode() == 0:
        casadi.GlobalOptions.setNumpyMode(-1)


_quiet_numpy()
