"""Messages for arguments of public functions: unknown names, and values of another kind than the
annotation says.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import reprlib
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

from trajopt.errors import TrajoptError, UsageError, suggest

# Words of other packages for arguments of this one.
OTHERS = {
    "start": ("initial", "x0", "t0", "begin", "initial_value"),
    "end": ("final", "xf", "tf", "stop", "final_value"),
    "lower": ("min", "lb", "minimum", "low"),
    "upper": ("max", "ub", "maximum", "high"),
    "unit": ("units",),
    "guess": ("init", "x_guess", "initial_guess"),
    "size": ("n", "dim", "shape"),
    "scale": ("ref", "scaling", "nominal"),
    "tolerance": ("tol", "eps", "rtol"),
    "equals": ("eq", "equal"),
    "method": ("solver", "transcription"),
    "time_limit": ("timeout", "max_time"),
    "max_iterations": ("max_iter", "maxiter"),
    "until": ("time", "duration", "tf", "t_end"),
    "parameters": ("params", "p"),
    "progress": ("verbose", "callback", "disp"),
}
P = ParamSpec("P")
R = TypeVar("R")
Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Range:
    """The range of a number, for annotations."""

    words: str
    least: float
    above: bool = False  # the least itself is outside
    below: float | None = None

    def __contains__(self, value: float) -> bool:
        return (value > self.least if self.above else value >= self.least) and (
            self.below is None or value < self.below
        )


Positive = Annotated[float, Range("a number above 0", 0.0, above=True)]
Finite = Annotated[float, Range("a finite number above 0", 0.0, above=True, below=math.inf)]
NotNegative = Annotated[float, Range("a number of at least 0", 0.0)]
Fraction = Annotated[float, Range("a number between 0 and 1", 0.0, above=True, below=1.0)]
Count = Annotated[int, Range("an integer of at least 1", 1)]
Natural = Annotated[int, Range("an integer of at least 0", 0)]


class ArgumentError(UsageError, TypeError):
    """A call does not fit the arguments of a function."""


def named_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Raise ``ArgumentError`` with the known arguments where a call does not fit, and with the kind
    that is expected where it fails for a value of another kind. Other calls cost nothing more.

    >>> @named_arguments
    ... def state(name: str, lower: float = 0.0): return math.sqrt(lower)
    >>> state("x", lwer=1)
    Traceback (most recent call last):
    trajopt.arguments.ArgumentError: state: unknown argument 'lwer'
      expected: name, lower
      hint:     did you mean 'lower'?
    >>> state("x", "low")
    Traceback (most recent call last):
    trajopt.arguments.ArgumentError: state: lower
      got:      'low'
      expected: a number
    """

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError, AttributeError) as error:
            if not isinstance(error, TrajoptError):
                check_call(function, args, kwargs)
            raise

    return checked


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Raise ``ArgumentError`` before the call where it does not fit, or a value is of another kind.

    >>> @checked_arguments
    ... def solve(starts: Count = 1, progress: Callable[[str], None] | None = None): ...
    >>> solve(progress=3)
    Traceback (most recent call last):
    trajopt.arguments.ArgumentError: solve: progress
      got:      3
      expected: a function of 1 argument or None
    """

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check_call(function, args, kwargs)
        return function(*args, **kwargs)

    return checked


def named_methods(cls: Class) -> Class:
    """Do the same for the public methods of a class.

    >>> @named_methods
    ... class Table:
    ...     def row(self, number): return number
    >>> Table().row(nomber=3)
    Traceback (most recent call last):
    trajopt.arguments.ArgumentError: row: unknown argument 'nomber'
      expected: number
      hint:     did you mean 'number'?
    """
    for name, member in list(vars(cls).items()):
        if inspect.isfunction(member) and not name.startswith("_"):
            setattr(cls, name, named_arguments(member))
        elif isinstance(member, staticmethod) and not name.startswith("_"):
            setattr(cls, name, staticmethod(named_arguments(member.__func__)))
    return cls


def named_settings(cls: Class) -> Class:
    """Raise ``ArgumentError`` where settings of a class are unknown, or of another kind than their
    annotations.

    >>> @named_settings
    ... @dataclass(frozen=True)
    ... class Newton:
    ...     tolerance: Positive = 1e-9
    >>> Newton(tolerance=-1)
    Traceback (most recent call last):
    trajopt.arguments.ArgumentError: Newton: tolerance
      got:      -1
      expected: a number above 0
    """
    init = cls.__init__  # type: ignore[misc]

    @functools.wraps(init)
    def checked(*args: Any, **kwargs: Any) -> None:
        check_call(init, args, kwargs)
        init(*args, **kwargs)

    cls.__init__ = checked  # type: ignore[misc]
    return cls


def check_call(
    function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, Any]
) -> None:
    """Raise ``ArgumentError`` unless the arguments fit the function."""
    title = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    signature, kinds = _signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise _unbound(title, signature, kwargs, str(error)) from None
    for name, value in bound.arguments.items():
        if name in kinds and not conforms(value, kinds[name]):
            raise ArgumentError(
                f"{title}: {name}",
                got=reprlib.repr(value),
                expected=" or ".join(dict.fromkeys(words(kinds[name]))),
            )


def _unbound(
    title: str, signature: inspect.Signature, kwargs: dict[str, Any], reason: str
) -> ArgumentError:
    known = [name for name in signature.parameters if name != "self"]
    unknown = [name for name in kwargs if name not in signature.parameters]
    if not unknown:
        return ArgumentError(
            f"{title}: {reason}",
            expected=", ".join(known) or "no arguments",
            hint="give arguments by name, as in lower=0" if "lower" in known else None,
        )
    meant = [name for name in known if unknown[0] in OTHERS.get(name, ())]
    return ArgumentError(
        f"{title}: unknown argument '{unknown[0]}'",
        expected=", ".join(known) or "no arguments",
        hint=f"{meant[0]}=" if meant else suggest(unknown[0], known),
    )


@functools.cache
def _signature(function: Callable[..., object]) -> tuple[inspect.Signature, dict[str, Any]]:
    """The signature of a function, and the annotations of its arguments that can be evaluated:
    others name types that are imported for type checkers only.
    """
    signature = inspect.signature(function)
    where = vars(sys.modules[function.__module__])
    kinds = {}
    for name, parameter in signature.parameters.items():
        kind = parameter.annotation
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if isinstance(kind, str):
            try:
                kind = eval(kind, where)
            except (NameError, TypeError):
                continue
        if kind is not parameter.empty:
            kinds[name] = kind
    return signature, kinds


def conforms(value: object, kind: Any) -> bool:
    """Return False where a value is certainly not of a kind.

    >>> conforms(3, float), conforms("3", float), conforms(True, int), conforms(None, int | None)
    (True, False, False, True)
    """
    if kind is None or kind is type(None):
        return value is None
    if _is_union(kind):
        return any(conforms(value, one) for one in typing.get_args(kind))
    origin = typing.get_origin(kind)
    if origin is Annotated:
        plain, *ranges = typing.get_args(kind)
        return conforms(value, plain) and all(value in one for one in ranges)
    if origin is typing.Literal:
        return value in typing.get_args(kind)
    plain = origin or kind
    if plain is float:
        return _is_number(value, numbers.Real) and not math.isnan(typing.cast(float, value))
    if plain is int:
        return _is_number(value, numbers.Integral)
    if plain is Callable:
        return callable(value) and _takes(value, typing.get_args(kind))
    if plain is Any or not isinstance(plain, type) or getattr(plain, "_is_protocol", False):
        return True
    if not isinstance(value, plain):
        return False
    if isinstance(value, Mapping) and len(typing.get_args(kind)) == 2:
        return all(conforms(one, typing.get_args(kind)[1]) for one in value.values())
    return True


def _takes(function: Callable[..., object], of: tuple[Any, ...]) -> bool:
    """False where a function certainly cannot be called with these arguments."""
    if not of or of[0] is Ellipsis:
        return True
    try:
        inspect.signature(function).bind(*of[0])
    except TypeError:
        return False
    except ValueError:  # a function of C without a signature
        return True
    return True


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


WORDS: dict[Any, str] = {
    None: "None",
    type(None): "None",
    float: "a number",
    int: "an integer",
    str: "a string",
    bool: "True or False",
    Path: "a path",
    dict: "a dictionary",
    Callable: "a function",
    typing.get_origin(typing.Mapping): "a dictionary",
    typing.get_origin(typing.Sequence): "a list",
    typing.get_origin(typing.Iterable): "a list",
}


# How a user gets an object of a class, by its name.
MADE = {
    "Mesh": "a mesh, as Mesh.uniform(20, 5)",
    "Prepared": "prepare(problem)",
    "Reference": "Reference(objective, source)",
    "Robot": "a Robot, as of read_robot('arm.urdf')",
    "Solution": "a Solution, as of solve(problem) or load('a.nc')",
}


def words(kind: Any) -> Iterator[str]:
    """Yield what a user writes for a kind.

    >>> list(words(str | Path | None)), list(words(Positive))
    (['a string', 'a path', 'None'], ['a number above 0'])
    """
    if _is_union(kind):
        for one in typing.get_args(kind):
            yield from words(one)
        return
    origin = typing.get_origin(kind)
    if origin is Annotated:
        yield from (one.words for one in typing.get_args(kind)[1:])
    elif origin is typing.Literal:
        yield from (repr(one) for one in typing.get_args(kind))
    elif origin is Callable and typing.get_args(kind)[0] is not Ellipsis:
        count = len(typing.get_args(kind)[0])
        yield f"a function of {count} argument{'' if count == 1 else 's'}"
    else:
        plain = origin or kind
        name = getattr(plain, "__name__", str(plain))
        article = "an" if name[:1] in "AEIO" else "a"
        yield WORDS.get(plain) or MADE.get(name) or f"{article} {name}"
