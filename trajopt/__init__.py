"""Optimal-control trajectories of mechanical systems, with a certificate."""

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names for type checkers; a test compares both lists
    from trajopt.catalogue import builder as builder
    from trajopt.catalogue import named_problems as named_problems
    from trajopt.certificate import Certificate as Certificate
    from trajopt.certificate import certify as certify
    from trajopt.direct.collocation import Collocation as Collocation
    from trajopt.direct.mesh import Mesh as Mesh
    from trajopt.direct.schemes import Gauss as Gauss
    from trajopt.direct.schemes import HermiteSimpson as HermiteSimpson
    from trajopt.direct.schemes import Lobatto as Lobatto
    from trajopt.direct.schemes import Radau as Radau
    from trajopt.direct.schemes import Trapezoidal as Trapezoidal
    from trajopt.files.answers import answer_from as answer_from
    from trajopt.files.answers import read_answer as read_answer
    from trajopt.files.storage import load as load
    from trajopt.indirect.shooting import Shooting as Shooting
    from trajopt.nlp.backends import Ipopt as Ipopt
    from trajopt.nlp.interior_point import Compiled as Compiled
    from trajopt.prepared.fitting import ModelFit as ModelFit
    from trajopt.prepared.fitting import fit as fit
    from trajopt.prepared.predictive import ModelPredictive as ModelPredictive
    from trajopt.prepared.preparing import Prepared as Prepared
    from trajopt.prepared.preparing import prepare as prepare
    from trajopt.solving.methods import Both as Both
    from trajopt.solving.methods import solve as solve
    from trajopt.statement.bounds import free as free
    from trajopt.statement.problem import Phase as Phase
    from trajopt.statement.problem import Problem as Problem
    from trajopt.statement.reference import Reference as Reference
    from trajopt.statement.tables import table as table
    from trajopt.sweeping.coordinator import sweep as sweep
    from trajopt.sweeping.family import Family as Family
    from trajopt.trajectory.curve import Curve as Curve
    from trajopt.trajectory.solution import PhaseSolution as PhaseSolution
    from trajopt.trajectory.solution import Solution as Solution
    from trajopt.trajectory.solution import Status as Status

# Public name -> the module that has it. Loaded on first use, so that `trajopt --help` does not wait
# for CasADi.
_HOME = {
    "Problem": "trajopt.statement.problem",
    "Phase": "trajopt.statement.problem",
    "free": "trajopt.statement.bounds",
    "Reference": "trajopt.statement.reference",
    "solve": "trajopt.solving.methods",
    "Both": "trajopt.solving.methods",
    "fit": "trajopt.prepared.fitting",
    "ModelFit": "trajopt.prepared.fitting",
    "ModelPredictive": "trajopt.prepared.predictive",
    "prepare": "trajopt.prepared.preparing",
    "Prepared": "trajopt.prepared.preparing",
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
    "sweep": "trajopt.sweeping.coordinator",
    "Family": "trajopt.sweeping.family",
    "table": "trajopt.statement.tables",
    "load": "trajopt.files.storage",
    "answer_from": "trajopt.files.answers",
    "read_answer": "trajopt.files.answers",
    "Solution": "trajopt.trajectory.solution",
    "PhaseSolution": "trajopt.trajectory.solution",
    "Curve": "trajopt.trajectory.curve",
    "Status": "trajopt.trajectory.solution",
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


__version__ = "0.2.0"


class _FormerModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules under the names that they had in version 0.1; version 0.3 will not."""

    def __init__(self) -> None:
        self.packages = {
            "statement": ("bounds", "normal_form", "problem", "reference", "tables"),
            "trajectory": ("arcs", "curve", "solution"),
            "files": ("storage",),
        }

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, module = name.partition(".")
        known = any(module in modules for modules in self.packages.values())
        return (
            importlib.machinery.ModuleSpec(name, self) if package == "trajopt" and known else None
        )

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        former = spec.name.removeprefix("trajopt.")
        (package,) = (name for name, modules in self.packages.items() if former in modules)
        return importlib.import_module(f"trajopt.{package}.{former}")

    def exec_module(self, module: ModuleType) -> None:
        """The module has been executed under its name of today."""


sys.meta_path.append(_FormerModules())
