"""The catalogue of named problems and systems, which lists them without building them.

A package adds entries by an entry point of the group ``trajopt.problems`` that names a dictionary
of ``Entry``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from trajopt.arguments import checked_arguments
from trajopt.errors import UsageError, suggest

GROUP = "trajopt.problems"
OWN = "problems:CATALOGUE"  # the entry point of this distribution
ROBOT_FILES = (".urdf", ".xml", ".mjcf")
OF_ROBOT_FILES = "problems.robots.from_file"  # the module that builds their motions


@dataclass(frozen=True)
class Entry:
    """The builder, the family and a one-line summary of a named problem or system."""

    target: str  # "module:function"; all arguments of the function have defaults
    family: str
    summary: str
    kind: str = "problem"  # or "system", for simulate


def named_problems() -> dict[str, Entry]:
    """Return the named problems and systems of all installed packages.

    >>> named_problems()["brachistochrone"].summary
    'the fastest slide between two points'
    """
    found: dict[str, Entry] = {}
    for point in entry_points(group=GROUP):
        found.update(_own_catalogue() if point.value == OWN else point.load())
    return found


@functools.cache
def _own_catalogue() -> dict[str, Entry]:
    """Load the catalogue of this distribution, also where the user has a module or a folder of the
    same name.

    The folder of the user stays importable under its name; that of this distribution is looked up
    after it.
    """
    folder = Path(__file__).parent.parent / "problems"
    module = importlib.import_module("problems")
    own = getattr(module, "CATALOGUE", None)
    if isinstance(own, dict) and Path(module.__file__ or "").parent == folder:
        return own
    module.__path__ = [*getattr(module, "__path__", ()), str(folder)]
    importlib.invalidate_caches()
    families = [path.name for path in sorted(folder.iterdir()) if (path / "__init__.py").is_file()]
    found: dict[str, Entry] = {}
    for family in families:
        loaded = importlib.import_module(f"problems.{family}")
        if Path(loaded.__file__ or "").parent.parent != folder:
            raise UsageError(
                f"the folder '{Path(loaded.__file__ or family).parent}' hides named problems of "
                "trajopt",
                got=f"a folder 'problems/{family}' beside the script",
                expected="another name",
                hint=f"rename your folder 'problems', or '{family}' in it",
            )
        found.update(loaded.CATALOGUE)
    return found


@checked_arguments
def builder(name: str, kind: str | None = None) -> Callable[..., Any]:
    """Return the function that builds a named problem or system; ``./mine.py:build`` is a function
    in a file, ``arm.urdf`` the motions of a robot.

    >>> builder("brachistochrone")().name
    'brachistochrone'
    >>> builder("brachistochron")
    Traceback (most recent call last):
    trajopt.errors.UsageError: unknown problem or system 'brachistochron'
      hint:     did you mean 'brachistochrone'?
    """
    if name.endswith(ROBOT_FILES):
        named_problems()  # makes the module importable
        return importlib.import_module(OF_ROBOT_FILES).builder(name)  # type: ignore[no-any-return]
    if ":" in name or name.endswith(".py"):
        return _from_file(name)
    known = {
        key: entry for key, entry in named_problems().items() if kind is None or entry.kind == kind
    }
    if name not in known:
        others = named_problems()
        if name in others:
            verb = "simulate" if others[name].kind == "system" else "solve"
            raise UsageError(
                f"'{name}' is a {others[name].kind}, not a {kind}", hint=f"trajopt {verb} {name}"
            )
        file = (
            f"to use the function in that file: ./{name}.py:build"
            if Path(f"{name}.py").is_file()
            else None
        )
        if name.endswith(".nc"):
            raise UsageError(
                f"'{name}' is the file of a solution, not the name of a {kind or 'problem'}",
                expected="a name of 'trajopt list', or ./mine.py:build",
                hint=f"trajopt certify {name}, or --guess {name}",
            )
        hint = file or suggest(name, known) or "'trajopt list' shows the names"
        raise UsageError(f"unknown {kind or 'problem or system'} '{name}'", hint=hint)
    module, function = known[name].target.split(":")
    return getattr(importlib.import_module(module), function)  # type: ignore[no-any-return]


def _from_file(name: str) -> Callable[..., Any]:
    path_text, _, function = name.partition(":")
    path, function = Path(path_text), function or "build"
    if not path.is_file():
        raise UsageError(
            f"file '{path_text}' does not exist",
            expected="a Python file with a function, as in ./mine.py:build",
        )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"'{path_text}' is not a Python file", expected="a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise UsageError(
            f"'{path_text}' is not valid Python", got=f"line {error.lineno}: {error.msg}"
        ) from error
    finally:
        sys.path.pop(0)
    if not callable(getattr(module, function, None)):
        names = [
            key
            for key, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and not key.startswith("_")
        ]
        found = getattr(module, function, None)
        raise UsageError(
            f"'{path_text}' has no function '{function}'",
            got=None if found is None else f"an object of {type(found).__name__}",
            expected="one of " + ", ".join(names) if names else "def build() -> Problem: ...",
            hint=suggest(function, names),
        )
    return getattr(module, function)  # type: ignore[no-any-return]
