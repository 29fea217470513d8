"""Names of a package that are imported on first use, so that a list of named problems does not wait
for CasADi.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def on_demand(
    package: str, public: Mapping[str, Sequence[str]] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package: its modules, and the public names of some of
    them.

    Parameters
    ----------
    package
        Name of the package.
    public
        Module of the package -> the names in it that are names of the package too.
    """
    home = {name: module for module, names in (public or {}).items() for name in names}

    def get(name: str) -> Any:
        if name in home:
            return getattr(importlib.import_module(f"{package}.{home[name]}"), name)
        if not name.startswith("_") and importlib.util.find_spec(f"{package}.{name}") is not None:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: sorted(home)
