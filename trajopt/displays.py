"""The way up to ``trajopt.show``: classes below it are drawn and displayed by it, and load it only then."""

from __future__ import annotations

import importlib
from typing import Any


def display(function: str, *arguments: Any) -> Any:
    """Call a function of ``trajopt.show.notebook``."""
    return getattr(importlib.import_module("trajopt.show.notebook"), function)(*arguments)
