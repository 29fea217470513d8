"""The rows of a sweep: statement hash, key and file name.

The key of a row is a hash of all inputs of its solution: the function that builds the problem, its
source and that of local modules it imports, all settings, method, tolerance, guess and version. A
solution is reused only for its own key.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.catalogue import builder
from trajopt.trajectory.solution import Solution

KEY = "sweep row"  # among a solution's options
LONGEST = 180  # characters of a file's name, of the 255 bytes that file systems allow
PLAIN_WORD = re.compile(r"[A-Za-z_][\w.+-]*", re.ASCII)
# words that are parsed as other values
NOT_WORDS = {"true", "false", "none", "nan", "inf", "infinity"}


def word(value: Any) -> str:
    """Format a setting.

    >>> word(10.0), word((2, 3.5)), word("euler")
    ('10', '(2,3.5)', 'euler')
    """
    if isinstance(value, (list, tuple, np.ndarray)):
        return "(" + ",".join(word(item) for item in value) + ")"
    return f"{value:.12g}" if isinstance(value, (float, np.floating)) else str(value)


def canonical_text(value: Any) -> Any:
    """Return a canonical form of a setting, equal only for equal values: numbers to the last bit.

    >>> canonical_text(10), canonical_text("10")
    ('n0x1.4000000000000p+3', 's10')
    >>> canonical_text(10.0) == canonical_text(10)
    True
    >>> canonical_text(10.0 + 1e-12) == canonical_text(10)
    False
    """
    if isinstance(value, (bool, np.bool_)):
        return f"b{bool(value)}"
    if isinstance(value, (int, np.integer)):
        return f"n{float(value).hex()}" if abs(int(value)) <= 2**53 else f"i{int(value)}"
    if isinstance(value, (float, np.floating)):
        return f"n{float(value).hex()}"
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, (list, tuple, np.ndarray)):
        return [canonical_text(item) for item in value]
    if isinstance(value, Mapping):
        return {
            str(key): canonical_text(item)
            for key, item in sorted(value.items(), key=lambda pair: str(pair[0]))
        }
    return f"o{value!r}"


def digest(content: Any) -> str:
    """Return a hash of JSON content."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def row_key(statement: str, settings: Mapping[str, Any]) -> str:
    """Return the key of one row of a statement."""
    return digest([statement, canonical_text(settings)])


def file_name(settings: Mapping[str, Any]) -> str:
    """Return the file name of a row; with a short hash if the settings as text are not unique.

    >>> file_name({"height": 10.0, "target": (2, 3)})
    'height=10,target=(2,3).nc'
    >>> file_name({"height": 10.0 + 1e-12}), file_name({"name": "a/b"}), file_name({"name": "a_b"})
    ('height=10-6eb35819.nc', 'name=a_b-ed51becf.nc', 'name=a_b.nc')
    """
    text = ",".join(f"{name}={word(value)}" for name, value in settings.items())
    exact = all(PLAIN_WORD.fullmatch(name) and _is_exact(value) for name, value in settings.items())
    if exact and len(text) <= LONGEST:
        return f"{text}.nc"
    plain = re.sub(r"[^\w=.,()+-]", "_", text, flags=re.ASCII)[: LONGEST - 20]
    return f"{plain}-{digest(canonical_text(settings))[:8]}.nc"


def _is_exact(value: Any) -> bool:
    """True if the text of a value is unique."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return all(_is_exact(item) for item in value)
    if isinstance(value, str):
        return PLAIN_WORD.fullmatch(value) is not None and value.lower() not in NOT_WORDS
    if isinstance(value, (bool, np.bool_, int, np.integer)) or value is None:
        return True
    return isinstance(value, (float, np.floating)) and float(word(value)) == value


def statement_hash(
    build: Callable[..., Any] | str, method: Any, tolerance: float | None, guess: Solution | None
) -> str:
    """Return the hash of the common part of all rows of a sweep."""
    from trajopt import __version__

    function = builder(build, "problem") if isinstance(build, str) else build
    begun = (
        None
        if guess is None
        else [guess.problem, float(guess.objective).hex(), guess.iterations, guess.method]
    )
    tight = None if tolerance is None else float(tolerance).hex()
    return digest(
        [
            _identity(function),
            repr("direct" if method is None else method),
            tight,
            begun,
            __version__,
        ]
    )


def _identity(function: Callable[..., Any]) -> Any:
    """Return the name of a function and its source, with that of local imports."""
    plain = inspect.unwrap(function)
    module = sys.modules.get(getattr(plain, "__module__", ""))
    path = getattr(module, "__file__", None)
    name = getattr(plain, "__qualname__", repr(plain))
    if path is None or not Path(path).is_file():
        return [name, _code(getattr(plain, "__code__", None))]
    sources = {
        file.name: hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
        for file in _sources(Path(path))
    }
    return [name, sources, _closure(plain)]


def _closure(function: Any) -> list[str]:
    """Return the values of a closure."""
    cells = getattr(function, "__closure__", None) or ()
    return [
        _code(c.cell_contents.__code__)
        if inspect.isfunction(c.cell_contents)
        else repr(c.cell_contents)
        for c in cells
    ]


def _code(code: Any) -> str:
    if code is None:
        return ""
    consts = [_code(c) if inspect.iscode(c) else repr(c) for c in code.co_consts]
    return digest([code.co_code.hex(), consts, list(code.co_names)])


def _sources(path: Path) -> Iterator[Path]:
    """Yield a module's file and the files of its imports in the same folder."""
    seen: dict[Path, None] = {path: None}
    waiting = [path]
    while waiting:
        for name in _imported(waiting.pop()):
            for part in name.split("."):
                beside = path.parent / f"{part}.py"
                if beside not in seen and beside.is_file():
                    seen[beside] = None
                    waiting.append(beside)
    return iter(sorted(seen))


def _imported(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield ".".join([node.module or "", *(alias.name for alias in node.names)])
