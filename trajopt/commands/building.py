"""Build a problem or a system from NAME and ``--set key=value``."""

from __future__ import annotations

import ast
import cmath
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.catalogue import ROBOT_FILES, builder
from trajopt.commands.exit_codes import describe, innermost, place
from trajopt.errors import TrajoptError, UsageError, suggest, warn
from trajopt.parameters import WORDS, Setting, load_parameters, settings_of

if TYPE_CHECKING:
    from trajopt.statement.problem import Problem
    from trajopt.statement.reference import Reference
    from trajopt.system import System


@dataclass(frozen=True)
class Built:
    """A problem, the parameters to solve it with, and its published optimum if no setting was
    changed.

    ``settings`` holds the arguments and parameters that the user set, as numbers in their units.
    """

    problem: Problem
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reference: Reference | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Parse the values of ``--set``: numbers, tuples, words.

    >>> parse_settings(["mass=70", "target=2,3", "method=euler"])
    {'mass': 70, 'target': (2, 3), 'method': 'euler'}
    """
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {setting}", expected="--set name=value")
        if key.strip() in values:
            warn(
                f"--set {key.strip()} is given twice",
                got=f"{values[key.strip()]} and {text.strip()}",
                expected="one value",
            )
        values[key.strip()] = finite_setting(read_value(text.strip()), f"--set {setting}")
    return values


def finite_setting(value: Any, what: str) -> Any:
    """Return the value; raise ``UsageError`` if it contains NaN or infinity.

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


def given_settings(options: Sequence[str] | None, file: Path | None) -> dict[str, Any]:
    """Return the settings of ``--parameters`` and ``--set``; the latter take precedence."""
    return {**(load_parameters(file) if file is not None else {}), **parse_settings(options or [])}


def postures(name: str, start: str | None, end: str | None) -> list[str]:
    """Return the options ``--from`` and ``--to`` of a robot's motion as settings.

    >>> postures("arm.urdf", "0,1", None)
    ['start=0,1']
    """
    given = (("start", start), ("end", end))
    if (start is not None or end is not None) and not name.endswith(ROBOT_FILES):
        raise UsageError(
            f"--from and --to are postures of a robot; '{name}' is no robot file",
            expected=f"a file that ends in {' or '.join(ROBOT_FILES)}",
            hint="--set start=0 sets an argument of a function",
        )
    return [f"{key}={value}" for key, value in given if value is not None]


def read_settings(build: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings that are arguments of the builder and convert them to numbers in their
    units.
    """
    known = settings_of(build)
    return {
        key: known[key].read(value) if key in known else value for key, value in settings.items()
    }


def read_value(text: str) -> Any:
    """Return the number, tuple or word that a text says."""
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for read in (ast.literal_eval, float):
        try:
            return read(text)
        except (ValueError, SyntaxError, TypeError):
            continue
    return text


def build_problem(name: str, settings: Mapping[str, Any]) -> Built:
    """Build a named problem.

    Settings that are not arguments of its builder are parameters of the problem.
    """
    build, problem, own, rest = _build(name, settings, "problem")
    problem, rest = _problem(name, build, problem, rest)
    return Built(problem, rest, None if settings else reference_of(build), {**own, **rest})


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Raise if a problem does not have one of these settings, without building it with them.

    If a setting is not an argument of the builder, the problem is built with its defaults to find
    its parameters.
    """
    build = _guarded(name, lambda: builder(name, "problem"))
    known = settings_of(build)
    own = read_settings(build, {key: value for key, value in settings.items() if key in known})
    required = {
        key: own.get(key) for key, one in known.items() if one.default is inspect.Parameter.empty
    }
    missing = [key for key in required if key not in own]
    if missing:
        raise UsageError(
            f"'{name}' needs a value for '{missing[0]}'", hint=f"--set {missing[0]}=..."
        )
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(build).parameters.values())
    if not takes_any and len(own) < len(settings):
        build_problem(
            name,
            {**required, **{key: value for key, value in settings.items() if key not in known}},
        )


def build_system(name: str, settings: Mapping[str, Any]) -> System:
    """Build a named system.

    Settings that are not arguments of its builder are initial values or parameters of the system.
    """
    build, system, _, rest = _build(name, settings, "system")
    return _system(name, build, system, rest)


def build_either(
    name: str, settings: Mapping[str, Any]
) -> tuple[Problem | System, Callable[..., Any]]:
    """Build a named problem or system, and return it with its builder."""
    from trajopt.system import System

    build, made, _, rest = _build(name, settings, None)
    return (
        _system(name, build, made, rest)
        if isinstance(made, System)
        else _problem(name, build, made, rest)[0]
    ), build


def settings_in(
    made: Problem | System, build: Callable[..., Any], given: Mapping[str, Any]
) -> list[Setting]:
    """List all settings with their current values: arguments of the builder, then parameters and
    initial states.
    """
    from dataclasses import replace

    found = settings_of(build)
    others = {one.name: one for one in _own_settings(made) if one.name not in found}
    return [
        replace(one, default=one.read(given[key]) if key in given else one.default)
        for key, one in (found | others).items()
    ]


def _own_settings(made: Problem | System) -> list[Setting]:
    """List the parameters of a problem, or the parameters and initial values of a system."""
    from trajopt.system import System

    if isinstance(made, System):
        variables = [
            *((v, "parameter") for v in made.parameters),
            *((v, "initial value") for v in made.states),
        ]
        return [Setting(v.value, v.unit, meaning, name=v.name) for v, meaning in variables]
    values = {
        q.name: q.value.item() if q.value.size == 1 else tuple(q.value.ravel().tolist())
        for q in made.parameters.values()
    }
    return [
        Setting(values[q.name], q.unit, "parameter", q.lower, q.upper, name=q.name)
        for q in made.parameters.values()
    ]


def _problem(
    name: str, build: Callable[..., Any], problem: Any, rest: Mapping[str, Any]
) -> tuple[Problem, dict[str, Any]]:
    """Return the problem and the values of its parameters in their units."""
    from trajopt.statement.problem import Problem

    if not isinstance(problem, Problem):
        raise UsageError(
            f"'{name}' did not return a problem",
            got=type(problem).__name__,
            expected="a function that returns a trajopt.Problem",
        )
    return problem, _read(name, "argument or parameter", build, problem, rest)


def _system(name: str, build: Callable[..., Any], system: Any, rest: Mapping[str, Any]) -> System:
    from trajopt.system import System

    if not isinstance(system, System):
        raise UsageError(
            f"'{name}' did not return a system",
            got=type(system).__name__,
            expected="a function that returns a trajopt.system.System",
            hint=f"trajopt simulate {name} --control open"
            if type(system).__name__ == "Problem"
            else None,
        )
    values = _read(name, "argument, state or parameter", build, system, rest)
    return system.starting_at(values) if values else system


def _read(
    name: str, kinds: str, build: Callable[..., Any], made: Any, rest: Mapping[str, Any]
) -> dict[str, Any]:
    own = {one.name: one for one in _own_settings(made)}
    known = list(dict.fromkeys([*settings_of(build), *own]))
    for key in rest:
        if key not in own:
            raise UsageError(
                f"'{name}' has no {kinds} '{key}'",
                expected=", ".join(known) or "none",
                hint=suggest(key, known),
            )
    return {key: own[key].read(value) for key, value in rest.items()}


def reference_of(build: Callable[..., Any]) -> Reference | None:
    """Return ``REFERENCE`` of the builder's module, if it has one."""
    from trajopt.statement.reference import Reference

    reference = getattr(sys.modules.get(build.__module__), "REFERENCE", None)
    return reference if isinstance(reference, Reference) else None


def _build(
    name: str, settings: Mapping[str, Any], kind: str | None
) -> tuple[Callable[..., Any], Any, dict[str, Any], dict[str, Any]]:
    """Return the builder, the object it built, the settings it accepted, and the remaining
    settings.
    """
    build = _guarded(name, lambda: builder(name, kind))
    known = settings_of(build)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(build).parameters.values())
    own = read_settings(
        build, {key: value for key, value in settings.items() if takes_any or key in known}
    )
    missing = [
        key
        for key, one in known.items()
        if one.default is inspect.Parameter.empty and key not in own
    ]
    if missing:
        raise UsageError(
            f"'{name}' needs a value for '{missing[0]}'", hint=f"--set {missing[0]}=..."
        )
    made = _guarded(name, lambda: build(**own))
    return build, made, own, {key: value for key, value in settings.items() if key not in own}


def _guarded(name: str, make: Callable[[], Any]) -> Any:
    """Run user code; an exception in it is reported with its file and line."""
    with locating_errors(name):
        try:
            return make()
        except TrajoptError:
            raise
        except SystemExit as error:
            raise UsageError(
                f"'{name}' called sys.exit({error.code!r}) while it was built",
                expected="a function that returns a problem or a system",
                hint="raise an exception with a message instead of sys.exit",
            ) from error
        except Exception as error:  # whatever a model can raise
            if _own_line(name, error) is not None:
                raise
            raise UsageError(
                f"building '{name}' failed: {describe(error)}", got=innermost(error)
            ) from error


@contextmanager
def locating_errors(name: str) -> Iterator[None]:
    """Add the line of the user's file to an exception that passed through it."""
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
