"""Family: the answers to one problem over a grid of settings, as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.displays import display
from trajopt.errors import UsageError, suggest
from trajopt.files import write_text
from trajopt.labels import component_labels
from trajopt.solution import Solution


def word(value: Any) -> str:
    """A setting as text.

    >>> word(10.0), word((2, 3.5)), word("euler")
    ('10', '(2,3.5)', 'euler')
    """
    if isinstance(value, (list, tuple, np.ndarray)):
        return "(" + ",".join(word(item) for item in value) + ")"
    return f"{value:.12g}" if isinstance(value, (float, np.floating)) else str(value)


@dataclass(frozen=True, eq=False)
class Member:
    """One problem of a family: what was set, and its answer, or why there is none."""

    settings: Mapping[str, Any]
    solution: Solution | None
    message: str = ""
    recalled: bool = False  # from the folder of an earlier sweep

    @property
    def success(self) -> bool:
        return self.solution is not None and self.solution.success

    @cached_property
    def row(self) -> dict[str, Any]:
        """What a table says of it: the settings, how it ended, and the values at both ends."""
        if self.solution is None:
            return {**self.settings, "status": "error"}
        solution = self.solution
        row = {
            **self.settings,
            "status": solution.status.name.lower(),
            "objective": solution.objective,
            "error": solution.error,
            "iterations": solution.iterations,
            "seconds": solution.seconds.get("total", np.nan),
        }
        for phase in solution.phases.values():
            of = f"{phase.name} " if len(solution.phases) > 1 else ""
            row |= {f"{of}t0": phase.t0, f"{of}tf": phase.tf}
            for when, time in (("initial", phase.t0), ("final", phase.tf)):
                for group in (phase.states, phase.controls, phase.algebraics):
                    for name, curve in group.items():
                        values = np.atleast_1d(curve(time))
                        row |= {f"{of}{when} {label}": float(v) for label, v in zip(curve.labels(name), values, strict=True)}
        for name, value in solution.variables.items():
            row |= dict(zip(component_labels(name, value.size), value.ravel().tolist(), strict=True))
        return row


@dataclass(frozen=True, eq=False)
class Family:
    """Answers over a grid of settings, the last of which changes fastest.

    ``family["objective"]`` is a column of its table, one number for each member, not a number where there is no answer; so are
    ``family["height"]`` (a setting), ``family["tf"]`` and ``family["final x"]``.
    """

    over: Mapping[str, tuple[Any, ...]]
    members: tuple[Member, ...]

    def __repr__(self) -> str:
        return f"<{display('family_line', self)[0].upper()}{display('family_line', self)[1:]}>"

    def _repr_html_(self) -> str:
        return str(display("family_html", self))

    @property
    def complete(self) -> bool:
        """Whether every point of the grid was tried: an interruption ends a sweep early."""
        return len(self.members) == int(np.prod([len(values) for values in self.over.values()]))

    @property
    def success(self) -> bool:
        return self.complete and all(member.success for member in self.members)

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return list(dict.fromkeys(name for member in self.members for name in member.row))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if self.members and name not in self.columns:
            raise UsageError(f"a family has no column '{name}'", hint=suggest(name, self.columns))
        column = [member.row.get(name, np.nan) for member in self.members]
        return np.array(column)

    def unit(self, name: str) -> str:
        """Of a column, as the problem has it; nothing where that does not say."""
        for member in self.members:
            for phase in member.solution.phases.values() if member.solution is not None else ():
                word = name.removeprefix(f"{phase.name} ")
                if word in ("t0", "tf"):
                    return phase.time_unit
                variable = word.removeprefix("initial ").removeprefix("final ").partition("[")[0]
                for group in (phase.states, phase.controls, phase.algebraics):
                    if variable in group and variable != word:
                        return group[variable].unit
        return ""

    def to_csv(self, path: str | Path) -> None:
        """Write the table."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(member.row for member in self.members)
        write_text(path, text.getvalue())
