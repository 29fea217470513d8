"""Deferred access to ``trajopt.show``, for plots and notebook displays of classes that it depends
on.
"""

from __future__ import annotations

import importlib
from typing import Any


def display(function: str, *arguments: Any) -> Any:
    """Call a function of ``trajopt.show.notebook``."""
    return getattr(importlib.import_module("trajopt.show.notebook"), function)(*arguments)
