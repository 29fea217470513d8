"""Optimal-control trajectories of mechanical systems, with a certificate."""

import importlib
from typing import Any

# Public name -> the module that has it. Loaded on first use, so that `trajopt --help` does not wait for CasADi.
_HOME = {
    "Problem": "trajopt.problem",
    "free": "trajopt.bounds",
    "Reference": "trajopt.reference",
    "solve": "trajopt.solving",
    "Both": "trajopt.solving",
    "Collocation": "trajopt.direct.collocation",
    "Mesh": "trajopt.direct.mesh",
    "Radau": "trajopt.direct.schemes",
    "Gauss": "trajopt.direct.schemes",
    "Lobatto": "trajopt.direct.schemes",
    "HermiteSimpson": "trajopt.direct.schemes",
    "Trapezoidal": "trajopt.direct.schemes",
    "Compiled": "trajopt.nlp.interior_point",
    "Ipopt": "trajopt.nlp.backends",
    "Shooting": "trajopt.indirect.shooting",
    "sweep": "trajopt.sweeping",
    "Family": "trajopt.family",
    "table": "trajopt.tables",
    "load": "trajopt.storage",
    "Solution": "trajopt.solution",
    "Status": "trajopt.solution",
    "builder": "trajopt.catalogue",
    "named_problems": "trajopt.catalogue",
    "certify": "trajopt.certificate",
    "Certificate": "trajopt.certificate",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'trajopt' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


__version__ = "0.1.0"
