"""Read a ``LinearLaw`` of stabilization from a TOML file.

A = [-100, -400]                     # h'' = A h + B h' + C f, a gain for each position condition
B = [[-20, 0], [5, -40]]             # or a matrix
E = -10                              # f' = D h' + E f, one gain for all velocity conditions
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np

from trajopt.errors import FileError
from trajopt.integrate.reactions import LinearLaw

BLOCKS = ("A", "B", "C", "D", "E")


def load_law(path: str | Path) -> LinearLaw:
    """Read the matrices A to E; what the file does not give is zero."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read '{path}'", got=error.strerror) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(
            f"'{path}' is not a file of gains", got=str(error), expected="TOML, as in A = [-100]"
        ) from error
    unknown = [key for key in content if key not in BLOCKS]
    if unknown or not content:
        raise FileError(
            f"'{path}' is not a file of gains",
            got=", ".join(unknown) or "no matrix",
            expected="some of A, B, C, D, E with h'' = A h + B h' + C f, f' = D h' + E f",
        )
    blocks = {}
    for name, value in content.items():
        try:
            blocks[name] = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise FileError(
                f"the matrix {name} in '{path}' is not one of numbers",
                got=value,
                expected="a number, a list, or a list of rows of equal length",
            ) from error
    return LinearLaw(**blocks)
