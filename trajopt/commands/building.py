"""From NAME and ``--set key=value`` to a problem or a system."""

from __future__ import annotations

import ast
import cmath
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trajopt.catalogue import builder
from trajopt.commands.boundary import describe, innermost, place
from trajopt.errors import TrajoptError, UsageError, suggest

if TYPE_CHECKING:
    from trajopt.problem import Problem
    from trajopt.reference import Reference
    from trajopt.system import System

WORDS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Built:
    """A problem as asked for, the parameters to solve it with, and its published answer if nothing was changed."""

    problem: Problem
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reference: Reference | None = None


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """The values of ``--set``: numbers, tuples, words.

    >>> parse_settings(["mass=70", "target=2,3", "method=euler"])
    {'mass': 70, 'target': (2, 3), 'method': 'euler'}
    """
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {setting}", expected="--set name=value")
        values[key.strip()] = finite_setting(_value(text.strip()), f"--set {setting}")
    return values


def finite_setting(value: Any, what: str) -> Any:
    """The value, or an error where it has a number that is not finite: no problem gives NaN or infinity a meaning.

    >>> finite_setting((1.0, float("nan")), "--set target=1,nan")
    Traceback (most recent call last):
    trajopt.errors.UsageError: --set target=1,nan
      got:      nan
      expected: finite numbers
    """
    if isinstance(value, dict):
        finite_setting(list(value.values()), what)
    elif isinstance(value, (tuple, list, set)):
        for item in value:
            finite_setting(item, what)
    elif isinstance(value, (float, complex)) and not cmath.isfinite(value):
        raise UsageError(what, got=value, expected="finite numbers")
    return value


def _value(text: str) -> Any:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for read in (ast.literal_eval, float):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError):
            continue
    return text


def build_problem(name: str, settings: Mapping[str, Any]) -> Built:
    """The problem of a name; settings that its builder does not take are parameters of the problem."""
    build, problem, rest = _build(name, settings, "problem")
    return Built(_problem(name, build, problem, rest), rest, None if settings else reference_of(build))


def build_system(name: str, settings: Mapping[str, Any]) -> System:
    """The system of a name; settings that its builder does not take are initial values or parameters of the system."""
    return _system(name, *_build(name, settings, "system"))


def build_either(name: str, settings: Mapping[str, Any]) -> tuple[Problem | System, Callable[..., Any]]:
    """The problem or system of a name, and its builder."""
    from trajopt.system import System

    build, made, rest = _build(name, settings, None)
    check = _system if isinstance(made, System) else _problem
    return check(name, build, made, rest), build


def _problem(name: str, build: Callable[..., Any], problem: Any, rest: Mapping[str, Any]) -> Problem:
    from trajopt.problem import Problem

    if not isinstance(problem, Problem):
        raise UsageError(
            f"'{name}' gave no problem", got=type(problem).__name__, expected="a function that returns a trajopt.Problem"
        )
    known = list(dict.fromkeys([*_arguments(build), *problem.parameters]))
    for key in rest:
        if key not in problem.parameters:
            raise UsageError(
                f"'{name}' has no argument or parameter '{key}'", expected=", ".join(known) or "none", hint=suggest(key, known)
            )
    return problem


def _system(name: str, build: Callable[..., Any], system: Any, rest: Mapping[str, Any]) -> System:
    from trajopt.system import System

    if not isinstance(system, System):
        raise UsageError(
            f"'{name}' gave no system", got=type(system).__name__, expected="a function that returns a trajopt.system.System"
        )
    known = list(dict.fromkeys([*_arguments(build), *(v.name for v in (*system.states, *system.parameters))]))
    for key, value in rest.items():
        if key not in known:
            raise UsageError(
                f"'{name}' has no argument, state or parameter '{key}'", expected=", ".join(known), hint=suggest(key, known)
            )
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(f"'{key}' of '{name}' is a number", got=repr(value))
    return system.starting_at(rest) if rest else system


def reference_of(build: Callable[..., Any]) -> Reference | None:
    """The published answer beside a builder, if there is one."""
    from trajopt.reference import Reference

    reference = getattr(sys.modules.get(build.__module__), "REFERENCE", None)
    return reference if isinstance(reference, Reference) else None


def _build(name: str, settings: Mapping[str, Any], kind: str | None) -> tuple[Callable[..., Any], Any, dict[str, Any]]:
    """The builder, what it made, and the settings that it did not take."""
    build = _guarded(name, lambda: builder(name, kind))
    arguments = _arguments(build)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(build).parameters.values())
    own = {key: value for key, value in settings.items() if key in arguments}
    for key, value in own.items():
        _check_kind(name, key, value, arguments[key].default)
    missing = [key for key, p in arguments.items() if p.default is p.empty and key not in own]
    if missing:
        raise UsageError(f"'{name}' needs a value for '{missing[0]}'", hint=f"--set {missing[0]}=...")
    rest = {} if takes_any else {key: value for key, value in settings.items() if key not in arguments}
    made = _guarded(name, lambda: build(**(dict(settings) if takes_any else own)))
    return build, made, rest


def _arguments(build: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {
        key: p for key, p in inspect.signature(build).parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }


def _check_kind(name: str, key: str, value: Any, default: Any) -> None:
    """A word where the default is a number would fail somewhere deep in the model; say it here."""
    number = isinstance(default, (int, float)) and not isinstance(default, bool)
    if number and not isinstance(value, (int, float)):
        raise UsageError(f"'{key}' of '{name}' is a number", got=repr(value), expected=f"as in --set {key}={default:g}")
    if isinstance(default, (tuple, list)) and not isinstance(value, (tuple, list)):
        example = ",".join(f"{item}" for item in default)
        raise UsageError(
            f"'{key}' of '{name}' has {len(default)} values", got=repr(value), expected=f"as in --set {key}={example}"
        )


def _guarded(name: str, make: Callable[[], Any]) -> Any:
    """Run a person's own code; what goes wrong there is reported with its file and line."""
    with blaming(name):
        try:
            return make()
        except TrajoptError:
            raise
        except Exception as error:  # whatever a model can raise
            if _own_line(name, error) is not None:
                raise
            raise UsageError(f"building '{name}' failed: {describe(error)}", got=innermost(error)) from error


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Where an exception came through a person's own file, say in which line of it."""
    try:
        yield
    except TrajoptError as error:
        where = _own_line(name, error)
        if where is None or error.hint is not None:
            raise
        raise type(error)(error.what, got=error.got, expected=error.expected, hint=where) from error
    except Exception as error:
        where = _own_line(name, error)
        if where is None:
            raise
        raise UsageError(f"'{name}' failed: {describe(error)}", got=where) from error


def _own_line(name: str, error: BaseException) -> str | None:
    file, _, _ = name.rpartition(":") if ":" in name else (name, "", "")
    return place(error, file) if file.endswith(".py") else None
