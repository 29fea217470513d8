"""Messages for arguments that a public function does not have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
    "parameters": ("params", "p"),
    "progress": ("verbose", "callback", "disp"),
}
P = ParamSpec("P")
R = TypeVar("R")


class ArgumentError(UsageError, TypeError):
    """A call does not fit the arguments of a function."""


def named_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Raise ``ArgumentError`` with the known arguments where a call does not fit; other calls cost
    nothing more.

    >>> @named_arguments
    ... def state(name, lower=None, upper=None): ...
    >>> state("x", uper=1)
    Traceback (most recent call last):
    trajopt.statement.keywords.ArgumentError: state: unknown argument 'uper'
      expected: name, lower, upper
      hint:     did you mean 'upper'?
    """

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if not isinstance(error, TrajoptError):
                _check(function, args, kwargs)
            raise

    return checked


Settings = TypeVar("Settings")


def named_settings(settings: type[Settings]) -> type[Settings]:
    """Do the same for the settings of a class."""
    settings.__init__ = named_arguments(settings.__init__)  # type: ignore[method-assign]
    return settings


def _check(
    function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> None:
    """Raise ``ArgumentError`` unless the arguments fit the function."""
    signature = inspect.signature(function)
    title = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    try:
        signature.bind(*args, **kwargs)
        return
    except TypeError as error:
        reason = str(error)
    known = [name for name in signature.parameters if name != "self"]
    unknown = [name for name in kwargs if name not in signature.parameters]
    what = f"{title}: unknown argument '{unknown[0]}'" if unknown else f"{title}: {reason}"
    meant = [name for name in known if unknown and unknown[0] in OTHERS.get(name, ())]
    hint = (
        f"{meant[0]}="
        if meant
        else suggest(unknown[0], known)
        if unknown
        else "give arguments by name, as in lower=0"
    )
    raise ArgumentError(what, expected=", ".join(known), hint=hint) from None
