"""Pickle objects that hold CasADi expressions.

CasADi packs expressions only inside a context, in which expressions that share symbols keep sharing
them.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Mapping
from typing import Any

import casadi

from trajopt.errors import UsageError

_local = threading.local()


def packed(state: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return the state of an object with its expressions as bytes; inside another object's state it
    stays as it is.
    """
    if getattr(_local, "packing", False):
        return dict(state)
    _local.packing = True
    try:
        with casadi.global_pickle_context():
            return {"packed": pickle.dumps(dict(state))}
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise UsageError(
            f"{what} cannot be pickled",
            got=str(error),
            hint="functions in it (guess=, system=) must be defined at the top of a module; a "
            "lambda cannot be pickled",
        ) from error
    finally:
        _local.packing = False


def unpacked(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``packed`` was given."""
    if "packed" not in state:
        return dict(state)
    with casadi.global_unpickle_context():
        found: dict[str, Any] = pickle.loads(state["packed"])
    return found
