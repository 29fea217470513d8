"""The shared library of the compiled core, loaded through ctypes; None if it was not built or is
disabled.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

INTERFACE = 5  # must equal `core_interface` of version.c; a library of other sources is not used
SWITCH = (
    "TRAJOPT_COMPILED"  # environment variable: 0 disables the core, a path selects another build
)


@cache
def library() -> ctypes.CDLL | None:
    """Return the library, loaded at the first call."""
    path = _path()
    if path is None or os.environ.get(SWITCH) == "0":
        return None
    loaded = ctypes.CDLL(str(path))
    if _interface(loaded) != INTERFACE:
        return None
    loaded.tape_run.argtypes = (
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int,
    )
    return loaded


def description() -> str:
    """Describe in one line which implementation evaluates models.

    >>> description().split()[0] in ("compiled", "CasADi")
    True
    """
    if library() is not None:
        return "compiled core"
    if os.environ.get(SWITCH) == "0":
        return f"CasADi and IPOPT only: the compiled core is disabled ({SWITCH}=0)"
    if _path() is None:
        return (
            "CasADi and IPOPT only: the compiled core was not built (install a C compiler, "
            "then reinstall trajopt)"
        )
    return "CasADi and IPOPT only: the compiled core is out of date (reinstall trajopt)"


def threads() -> int:
    """Return the number of threads for large evaluations: OMP_NUM_THREADS, else the processors of
    this process.
    """
    requested = os.environ.get("OMP_NUM_THREADS", "")
    if requested.isdigit() and int(requested) > 0:
        return int(requested)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _path() -> Path | None:
    """Return the path of the built library, or the one in the environment variable."""
    if os.environ.get(SWITCH, "").endswith(".so"):
        return Path(os.environ[SWITCH])
    candidates = (Path(__file__).with_name("_core" + suffix) for suffix in EXTENSION_SUFFIXES)
    return next((path for path in candidates if path.exists()), None)


def _interface(loaded: ctypes.CDLL) -> int:
    try:
        return int(loaded.core_interface())
    except AttributeError:
        return 0
