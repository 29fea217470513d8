"""Solutions as files: netCDF to keep, CSV and JSON to pass on.

The netCDF file has a group for each phase, in which every curve is a variable over its own nodes, with ``units`` and the exact
name in its attributes, and groups for the mesh history, the arcs and the multipliers. What has no natural array form (options,
settings, versions) is JSON text in the attributes. Reading never executes anything from the file.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.curve import Curve
from trajopt.errors import FileError
from trajopt.files import replacing, write_text
from trajopt.solution import Arc, MeshPass, PhaseSolution, Solution, Status

Array = NDArray[np.float64]

FORMAT, FORMAT_VERSION = "trajopt solution", 1
ENGINE = "h5netcdf"
# PhaseSolution field -> what one of its curves is called in a file
KINDS = {
    "states": "state",
    "controls": "control",
    "algebraics": "algebraic",
    "costates": "costate",
    "path_multipliers": "multiplier",
}
HISTORY = ("intervals", "points", "iterations", "error", "objective", "seconds", "remark")


def save(solution: Solution, path: str | Path) -> None:
    """Write a self-describing netCDF file; an interrupted save leaves an older file whole."""
    with replacing(path) as part:
        for number, (group, dataset) in enumerate(_datasets(solution).items()):
            dataset.to_netcdf(part, mode="a" if number else "w", group=group or None, engine=ENGINE)


def load(path: str | Path) -> Solution:
    """Read a solution that ``save`` wrote.

    >>> load("nowhere.nc")
    Traceback (most recent call last):
    trajopt.errors.FileError: there is no file 'nowhere.nc'
    """
    if not Path(path).exists():
        raise FileError(f"there is no file '{path}'")
    if Path(path).is_dir():
        raise FileError(f"cannot read '{path}'", got="it is a directory", expected="a netCDF file from 'save'")
    try:
        root = _open(path, None)
        if root.attrs.get("format") != FORMAT:
            other = "it is a simulation" if root.attrs.get("format") == "trajopt simulation" else None
            raise FileError(f"'{path}' is not a solution of trajopt", got=other, expected="a netCDF file from 'save'")
        if int(root.attrs["format_version"]) > FORMAT_VERSION:
            raise FileError(
                f"'{path}' was written by a newer trajopt", got=f"format {root.attrs['format_version']}", hint="upgrade trajopt"
            )
        return _solution(path, root)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, IndexError) as error:
        reason = (str(error).splitlines() or [""])[0] or type(error).__name__
        raise FileError(f"cannot read '{path}'", got=reason, expected="a whole netCDF file from 'save'") from error


def to_csv(solution: Solution, path: str | Path, points: int = 201) -> None:
    """Write the trajectories as a table, sampled uniformly in each phase; the header has names and units."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns: dict[str, None] = {}  # an ordered set: phases may have different variables
    sampled = []
    for phase in solution.phases.values():
        times = np.linspace(phase.t0, phase.tf, points)
        table = {f"t [{phase.time_unit}]" if phase.time_unit else "t": times}
        for field, kind in KINDS.items():
            for name, curve in getattr(phase, field).items():
                label = name if field in ("states", "controls", "algebraics") else f"{kind} {name}"
                values = curve.evaluate(times)
                for i in range(curve.size):
                    component = label if curve.size == 1 else f"{label}[{i}]"
                    table[f"{component} [{curve.unit}]" if curve.unit else component] = values[:, i]
        columns.update(dict.fromkeys(table))
        sampled.append((phase.name, table))
    writer.writerow(["phase", *columns])
    for name, table in sampled:
        for row in range(points):
            writer.writerow([name, *(repr(float(table[column][row])) if column in table else "" for column in columns)])
    write_text(path, text.getvalue())


def summary(solution: Solution) -> dict[str, Any]:
    """The summary that ``trajopt solve --json -`` prints: plain numbers, text and lists; what is not finite is None."""
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
        "seconds": {key: solution.seconds.get(key, math.nan) for key in ("build", "solve", "total")},
        "initial": detail[phases[0].name]["initial"] if phases else {},
        "final": detail[phases[-1].name]["final"] if phases else {},
        "costates_initial": {name: curve(phases[0].t0) for name, curve in phases[0].costates.items()} if phases else {},
        "variables": dict(solution.variables),
        "parameters": dict(solution.parameters),
        "explanation": list(solution.explanation),
    }
    return dict(plain_json(plain))


def plain_json(value: Any) -> Any:
    """The value in JSON's own types; numbers that are not finite become None.

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
    return {name: curve(time) for group in (phase.states, phase.controls, phase.algebraics) for name, curve in group.items()}


# ---- to the file


def _datasets(solution: Solution) -> dict[str, Any]:
    """Group name -> dataset."""
    import xarray  # takes half a second, so only where files are written or read

    attributes = {
        "format": FORMAT, "format_version": FORMAT_VERSION, "problem": solution.problem, "method": solution.method,
        "status": solution.status.name, "objective": solution.objective, "error": solution.error, "tolerance": solution.tolerance,
        "iterations": solution.iterations, "phases": len(solution.phases),
        **{key: _text(getattr(solution, key)) for key in ("seconds", "explanation", "log", "options", "versions", "settings")},
        "source": solution.source,
    }  # fmt: skip
    datasets = {"": xarray.Dataset(attrs=attributes)}
    for number, phase in enumerate(solution.phases.values()):
        datasets[f"phase_{number}"] = _phase_dataset(phase)
    for group in ("variables", "parameters"):
        content = {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in getattr(solution, group).items()}
        columns = {f"{i}": (f"row_{i}", value, {"name": name, "order": i}) for i, (name, value) in enumerate(content.items())}
        datasets[group] = xarray.Dataset(columns)
    datasets["multipliers"] = _table({"condition": list(solution.multipliers), "multiplier": list(solution.multipliers.values())})
    datasets["history"] = _table({key: [getattr(one, key) for one in solution.history] for key in HISTORY})
    datasets["arcs"] = _table(
        {
            "roles": [_text(arc.roles) for arc in solution.arcs],
            **{key: [getattr(arc, key) for arc in solution.arcs] for key in ("phase", "start", "end")},
        }
    )
    return datasets


def _table(columns: Mapping[str, list[Any]]) -> Any:
    import xarray

    if not next(iter(columns.values())):
        return xarray.Dataset()  # netCDF has no tables without rows
    return xarray.Dataset(
        {
            key: ("row", np.asarray(column, dtype=object if isinstance(column[0], str) else None))
            for key, column in columns.items()
        }
    )


def _phase_dataset(phase: PhaseSolution) -> Any:
    import xarray

    content: dict[str, Any] = {}
    grids: list[Curve] = []
    for field, kind in KINDS.items():
        for order, (name, curve) in enumerate(getattr(phase, field).items()):
            number = next((i for i, grid in enumerate(grids) if _same_grid(grid, curve)), len(grids))
            if number == len(grids):
                grids.append(curve)
                content |= _grid_variables(curve, number, phase.time_unit)
            key = f"{kind}.{name}".replace("/", "∕")  # a slash would make a group
            content[key] = _curve_variable(curve, number, {"kind": kind, "name": name, "order": order})
    for name in ("integrals", "breaks", "degrees", "errors"):
        values = np.asarray(getattr(phase, name))
        if values.size:
            content[f"mesh.{name}"] = (f"{name}_row", values)
    return xarray.Dataset(content, attrs={"name": phase.name, "t0": phase.t0, "tf": phase.tf, "time_unit": phase.time_unit})


def _same_grid(a: Curve, b: Curve) -> bool:
    return (
        np.array_equal(a.breaks, b.breaks)
        and len(a.nodes) == len(b.nodes)
        and all(p is q or np.array_equal(p, q) for p, q in zip(a.nodes, b.nodes, strict=True))
    )


def _grid_variables(curve: Curve, number: int, unit: str) -> dict[str, Any]:
    return {
        f"grid{number}.time": (f"node{number}", curve.t, {"units": unit}),
        f"grid{number}.place": (
            f"node{number}",
            np.concatenate(curve.nodes),
            {"long_name": "place of the node in its interval, 0 to 1"},
        ),
        f"grid{number}.breaks": (f"break{number}", curve.breaks, {"units": unit}),
        f"grid{number}.nodes": (f"interval{number}", np.array([len(nodes) for nodes in curve.nodes])),
    }


def _curve_variable(curve: Curve, number: int, attributes: dict[str, Any]) -> tuple[Any, ...]:
    values = np.concatenate(curve.values)
    limits = {key: limit for key in ("lower", "upper") if (limit := getattr(curve, key)) is not None}
    attributes = attributes | {"grid": number, "units": curve.unit} | limits
    return ((f"node{number}", f"component{curve.size}"), values, attributes)


def _text(value: Any) -> str:
    """JSON text; unlike in ``plain_json`` numbers that are not finite stay, because only ``load`` reads it."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


# ---- from the file


def _open(path: str | Path, group: str | None) -> Any:
    import xarray

    with xarray.open_dataset(path, group=group, engine=ENGINE, decode_times=False, decode_timedelta=False) as dataset:
        return dataset.load()


def _solution(path: str | Path, root: Any) -> Solution:
    stored = root.attrs
    phases = [_phase(_open(path, f"phase_{number}")) for number in range(int(stored["phases"]))]
    multipliers, history, arcs = (_open(path, group) for group in ("multipliers", "history", "arcs"))
    return Solution(
        problem=str(stored["problem"]),
        method=str(stored["method"]),
        status=Status[stored["status"]],
        objective=float(stored["objective"]),
        phases={phase.name: phase for phase in phases},
        variables=_columns(_open(path, "variables")),
        parameters=_columns(_open(path, "parameters")),
        multipliers={str(row["condition"]): row["multiplier"] for row in _rows(multipliers)},
        arcs=tuple(Arc(row["phase"], row["start"], row["end"], json.loads(row["roles"])) for row in _rows(arcs)),
        history=tuple(MeshPass(**{key: row[key] for key in HISTORY}) for row in _rows(history)),
        error=float(stored["error"]),
        tolerance=float(stored["tolerance"]),
        iterations=int(stored["iterations"]),
        seconds=json.loads(stored["seconds"]),
        explanation=tuple(json.loads(stored["explanation"])),
        log=tuple(json.loads(stored["log"])),
        options=json.loads(stored["options"]),
        versions=json.loads(stored["versions"]),
        source=str(stored.get("source", "")),  # files of earlier versions do not have it
        settings={str(key): _plain_setting(value) for key, value in json.loads(stored.get("settings", "{}")).items()},
    )


def _plain_setting(value: Any) -> Any:
    """JSON has lists only; what was set on a command line are tuples."""
    return tuple(_plain_setting(item) for item in value) if isinstance(value, list) else value


def _columns(dataset: Any) -> dict[str, Array]:
    variables = sorted(dataset.data_vars.values(), key=lambda variable: int(variable.attrs["order"]))
    return {str(variable.attrs["name"]): np.asarray(variable.values, dtype=float) for variable in variables}


def _rows(dataset: Any) -> list[dict[str, Any]]:
    columns = {str(key): variable.values.tolist() for key, variable in dataset.data_vars.items()}
    count = len(next(iter(columns.values()), []))
    return [{key: column[i] for key, column in columns.items()} for i in range(count)]


def _phase(dataset: Any) -> PhaseSolution:
    grids: dict[int, tuple[Array, tuple[Array, ...], Any]] = {}
    curves: dict[str, list[tuple[int, str, Curve]]] = {kind: [] for kind in KINDS.values()}
    for variable in dataset.data_vars.values():
        attributes = variable.attrs
        if "kind" not in attributes:
            continue
        number = int(attributes["grid"])
        if number not in grids:
            counts = dataset[f"grid{number}.nodes"].values.astype(int)
            ends = np.cumsum(counts)[:-1]
            nodes = tuple(np.split(dataset[f"grid{number}.place"].values, ends))
            grids[number] = (dataset[f"grid{number}.breaks"].values, nodes, ends)
        breaks, nodes, ends = grids[number]
        lower, upper = (np.atleast_1d(attributes[key]) if key in attributes else None for key in ("lower", "upper"))
        curve = Curve(breaks, nodes, tuple(np.split(variable.values, ends)), lower, upper, str(attributes["units"]))
        curves[attributes["kind"]].append((int(attributes["order"]), str(attributes["name"]), curve))
    named: dict[str, Any] = {
        field: {name: curve for _, name, curve in sorted(curves[kind], key=lambda one: one[0])} for field, kind in KINDS.items()
    }
    mesh: dict[str, Any] = {
        name: dataset[f"mesh.{name}"].values if f"mesh.{name}" in dataset else np.zeros(0)
        for name in ("integrals", "breaks", "errors")
    }
    degrees = dataset["mesh.degrees"].values.tolist() if "mesh.degrees" in dataset else []
    return PhaseSolution(
        name=str(dataset.attrs["name"]), t0=float(dataset.attrs["t0"]), tf=float(dataset.attrs["tf"]), **named, **mesh,
        degrees=tuple(int(degree) for degree in degrees), time_unit=str(dataset.attrs["time_unit"]),
    )  # fmt: skip
