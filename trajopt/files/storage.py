"""Files of solutions: netCDF, CSV and JSON.

``trajopt.files.solution_files`` says what is in a netCDF file, ``trajopt.files.netcdf`` how it is
written and read. Nothing that a file says is ever imported or executed.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.arguments import checked_arguments
from trajopt.files.atomic import write_bytes, write_text
from trajopt.files.labelled import PREFIXES, times_of
from trajopt.files.netcdf import Reader, encode
from trajopt.files.solution_files import KINDS, groups_of, solution_of
from trajopt.trajectory.solution import PhaseSolution, Solution


def save(solution: Solution, path: str | Path, synced: bool = True) -> None:
    """Write a self-describing netCDF file atomically. An interrupted save leaves an existing file
    intact.

    ``synced=False`` does not wait for the disk; who calls does so before relying on the file
    (``trajopt.files.atomic.sync_files``).
    """
    write_bytes(path, encode(groups_of(solution)), synced)


@checked_arguments
def load(path: str | Path) -> Solution:
    """Read a solution that ``save`` wrote; curves are read from it when they are asked for.

    The digest of the file is compared before anything is parsed.

    >>> load("nowhere.nc")
    Traceback (most recent call last):
    trajopt.errors.FileError: file 'nowhere.nc' does not exist
      expected: a netCDF file from 'save'
    """
    return solution_of(Reader(path))


def to_csv(solution: Solution, path: str | Path, points: int = 201) -> None:
    """Write the trajectories as a table, sampled uniformly in each phase; the header has names and
    units.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns: dict[str, None] = {}  # an ordered set: phases may have different variables
    sampled = []
    for phase in solution.phases.values():
        times = times_of(phase, points)
        table = {f"t [{phase.time_unit}]" if phase.time_unit else "t": times}
        for field, kind in KINDS.items():
            for name, curve in getattr(phase, field).items():
                label = name if PREFIXES[field] == "" else f"{kind} {name}"
                values = curve.evaluate(times)
                for i in range(curve.size):
                    component = curve.labels(label)[i]
                    table[f"{component} [{curve.unit}]" if curve.unit else component] = values[:, i]
        columns.update(dict.fromkeys(table))
        sampled.append((phase.name, table))
    writer.writerow(["phase", *columns])
    for name, table in sampled:
        for row in range(points):
            writer.writerow(
                [
                    name,
                    *(
                        repr(float(table[column][row])) if column in table else ""
                        for column in columns
                    ),
                ]
            )
    write_text(path, text.getvalue())


def summary(solution: Solution) -> dict[str, Any]:
    """The summary that ``trajopt solve --json -`` prints: plain numbers, text and lists; what is
    not finite is None.
    """
    phases = list(solution.phases.values())
    detail = {
        ph.name: {
            "t0": ph.t0,
            "tf": ph.tf,
            "intervals": max(len(ph.breaks) - 1, 0),
            "initial": _values(ph, ph.t0),
            "final": _values(ph, ph.tf),
        }
        for ph in phases
    }
    plain = {
        "problem": solution.problem,
        "method": solution.method,
        "status": solution.status.name.lower(),
        "success": solution.success,
        "message": solution.status.value,
        "objective": solution.objective,
        "phases": detail,
        "iterations": solution.iterations,
        "mesh_passes": len(solution.history),
        "error": solution.error,
        "tolerance": solution.tolerance,
        "seconds": {
            key: solution.seconds.get(key, math.nan) for key in ("build", "solve", "total")
        },
        "initial": detail[phases[0].name]["initial"] if phases else {},
        "final": detail[phases[-1].name]["final"] if phases else {},
        "costates_initial": {
            name: curve(phases[0].t0) for name, curve in phases[0].costates.items()
        }
        if phases
        else {},
        "variables": dict(solution.variables),
        "parameters": dict(solution.parameters),
        "explanation": list(solution.explanation),
        "optima": [
            {
                "objective": one.objective,
                "status": one.status.name.lower(),
                "error": one.error,
                "starts": list(one.starts),
            }
            for one in solution.optima
        ],
    }
    return dict(plain_json(plain))


def plain_json(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become None.

    >>> plain_json({"a": np.array([1.0, np.nan]), "b": np.float64(2)})
    {'a': [1.0, None], 'b': 2.0}
    """
    if isinstance(value, Mapping):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain_json(value.tolist()) if value.size != 1 else plain_json(value.item())
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    if isinstance(value, np.generic):
        return plain_json(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int, str)) or value is None else str(value)


def _values(phase: PhaseSolution, time: float) -> dict[str, Any]:
    return {
        name: curve(time)
        for group in (phase.states, phase.controls, phase.algebraics)
        for name, curve in group.items()
    }
