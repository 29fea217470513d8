"""Family: the solutions of a problem over a grid of settings, as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import named_methods
from trajopt.displays import display
from trajopt.errors import UsageError, suggest
from trajopt.files.atomic import write_text
from trajopt.statement.labels import component_labels
from trajopt.statement.problem import Problem
from trajopt.trajectory.solution import Solution


@dataclass(frozen=True, eq=False)
class Member:
    """One row of a family: settings, status, and solution or error message.

    In a family with a folder the solution is read from its file on first use.
    """

    settings: Mapping[str, Any]
    status: str  # of the solution; or error, exited, crashed, timeout, memory
    figures: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    recalled: bool = False  # True if reused from an earlier sweep
    path: Path | None = None
    held: Solution | None = None

    @property
    def success(self) -> bool:
        return self.status == "solved"

    @cached_property
    def solution(self) -> Solution | None:
        """The solution, with any status; None if there is none."""
        if self.held is not None or self.path is None:
            return self.held
        from trajopt.files.storage import load

        return load(self.path)

    @cached_property
    def row(self) -> dict[str, Any]:
        """The row of the table: settings, status and boundary values."""
        told = {"message": self.message} if self.message else {}
        return {**self.settings, "status": self.status, **self.figures, **told}


def figures_of(solution: Solution) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the table columns of a solution, and their units."""
    row: dict[str, Any] = {
        "objective": solution.objective,
        "error": solution.error,
        "iterations": solution.iterations,
        "seconds": solution.seconds.get("total", np.nan),
    }
    units: dict[str, str] = {}
    for phase in solution.phases.values():
        of = f"{phase.name} " if len(solution.phases) > 1 else ""
        row |= {f"{of}t0": phase.t0, f"{of}tf": phase.tf}
        units |= {f"{of}t0": phase.time_unit, f"{of}tf": phase.time_unit}
        for when, time in (("initial", phase.t0), ("final", phase.tf)):
            for group in (phase.states, phase.controls, phase.algebraics):
                for name, curve in group.items():
                    values = np.atleast_1d(curve(time))
                    labels = [f"{of}{when} {label}" for label in curve.labels(name)]
                    row |= {label: float(v) for label, v in zip(labels, values, strict=True)}
                    units |= dict.fromkeys(labels, curve.unit)
    for name, value in solution.variables.items():
        row |= dict(zip(component_labels(name, value.size), value.ravel().tolist(), strict=True))
    return row, units


def column_names(problem: Problem) -> list[str]:
    """Return the columns that ``figures_of`` gives for solutions of a problem."""
    names = ["objective", "error", "iterations", "seconds"]
    for phase in problem.phases.values():
        of = f"{phase.name} " if len(problem.phases) > 1 else ""
        labels = [
            label
            for kind in ("state", "control", "algebraic")
            for q in phase.of_kind(kind)
            for label in q.labels
        ]
        names += [
            f"{of}t0",
            f"{of}tf",
            *(f"{of}{when} {label}" for when in ("initial", "final") for label in labels),
        ]
    return names + [label for q in problem.variables.values() for label in q.labels]


@named_methods
@dataclass(frozen=True, eq=False)
class Family:
    """Solutions over a grid of settings, the last of which changes fastest.

    ``family["objective"]`` is a column of its table, one number for each member, not a number where
    there is no answer; so are ``family["height"]`` (a setting), ``family["tf"]`` and
    ``family["final x"]``.
    """

    over: Mapping[str, tuple[Any, ...]]
    members: tuple[Member, ...]

    def __repr__(self) -> str:
        return f"<{display('family_line', self)[0].upper()}{display('family_line', self)[1:]}>"

    def _repr_html_(self) -> str:
        return str(display("family_html", self))

    @property
    def complete(self) -> bool:
        """True if every point of the grid was tried; False after an interruption."""
        return len(self.members) == int(np.prod([len(values) for values in self.over.values()]))

    @property
    def success(self) -> bool:
        return self.complete and all(member.success for member in self.members)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the table."""
        return list(dict.fromkeys(name for member in self.members for name in member.row))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if self.members and name not in self.columns:
            raise UsageError(
                f"a family has no column '{name}'",
                expected=", ".join(self.columns),
                hint=suggest(name, self.columns),
            )
        column = [member.row.get(name, np.nan) for member in self.members]
        return np.array(column)

    def unit(self, name: str) -> str:
        """Return the unit of a column; empty if unknown."""
        return next((member.units[name] for member in self.members if name in member.units), "")

    def to_csv(self, path: str | Path) -> None:
        """Write the table as CSV."""
        write_text(path, csv_table(member.row for member in self.members))


def csv_table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV text, with the union of their columns."""
    found = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(dict.fromkeys(name for row in found for name in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()
