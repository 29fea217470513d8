"""Convert a Solution to the groups and arrays of a netCDF file, and back; curves are read on first
use.

There is a group ``phase_0``, ... for each phase, in which every curve is a variable over its own
nodes, with ``units`` and the exact name in its attributes, and groups for the mesh history, the
arcs and the multipliers. What has no natural array form (options, settings, versions) is JSON text
in the attributes. For other programs there are variables by name over time, see ``_with_views``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import FileError
from trajopt.files.labelled import labelled, times_of, without_slash
from trajopt.files.netcdf import Group, NetcdfVariable, Reader
from trajopt.trajectory.arcs import Arc
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import MeshPass, Optimum, PhaseSolution, Solution, Status

Array = NDArray[np.float64]

FORMAT, FORMAT_VERSION = "trajopt solution", 3  # since 3 a file has an index and a digest
# PhaseSolution field -> prefix of its curves in a file
KINDS = {
    "states": "state",
    "controls": "control",
    "algebraics": "algebraic",
    "outputs": "output",
    "costates": "costate",
    "path_multipliers": "multiplier",
}
# with their dimensions
MESH = {"integrals": "integral", "breaks": "break", "degrees": "interval", "errors": "interval"}
HISTORY = (
    "intervals",
    "points",
    "iterations",
    "error",
    "objective",
    "seconds",
    "remark",
    "backend",
)
LONGEST = 1000  # characters of a name in HDF5
# fields that are JSON text
JSON = ("seconds", "explanation", "log", "options", "versions", "settings", "active_conditions")


# ---- to the file


def groups_of(solution: Solution) -> dict[str, Group]:
    """Return the content of each group by name."""
    attributes = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "problem": solution.problem,
        "method": solution.method,
        "status": solution.status.name,
        "objective": float(solution.objective),
        "error": float(solution.error),
        "tolerance": float(solution.tolerance),
        "iterations": int(solution.iterations),
        "phases": len(solution.phases),
        **{key: _text(getattr(solution, key)) for key in JSON},
        "source": solution.source,
        "optima": _text([_optimum_row(one) for one in solution.optima]),
    }
    groups = {"": Group(attributes)}
    for number, phase in enumerate(solution.phases.values()):
        groups[f"phase_{number}"] = _phase_group(phase)
    for group in ("variables", "parameters"):
        content = {
            name: np.atleast_1d(np.asarray(value, dtype=float))
            for name, value in getattr(solution, group).items()
        }
        columns = {
            f"{i}": NetcdfVariable((f"row_{i}",), values, {"name": name})
            for i, (name, values) in enumerate(content.items())
        }
        groups[group] = Group({"names": _text(list(content))}, columns)
    multipliers = {
        "condition": list(solution.multipliers),
        "multiplier": np.array(list(solution.multipliers.values())),
    }
    groups["multipliers"] = _table(multipliers)
    groups["history"] = _table(
        {key: _column([getattr(one, key) for one in solution.history]) for key in HISTORY}
    )
    arcs = {
        key: _column([getattr(arc, key) for arc in solution.arcs])
        for key in ("phase", "start", "end")
    }
    texts = {
        key: [_text(getattr(arc, key)) for arc in solution.arcs] for key in ("roles", "touches")
    }
    groups["arcs"] = _table({**texts, **arcs})
    return _with_views(groups, solution)


def _with_views(groups: dict[str, Group], solution: Solution) -> dict[str, Group]:
    """Add what other programs look for: variables by name over time, in the root group, or in a
    group for each of several phases. ``load`` does not read them.
    """
    for phase in solution.phases.values():
        content = labelled(phase, times_of(phase, None))
        if len(solution.phases) == 1:
            groups[""] = Group(groups[""].attributes, _renamed(content, groups))
        else:
            groups[_key(phase.name, groups)] = Group({"phase": phase.name}, _renamed(content, {}))
    return groups


def _renamed(
    content: Mapping[str, NetcdfVariable], taken: Mapping[str, Any]
) -> dict[str, NetcdfVariable]:
    """Give arrays and their dimensions names that are valid in HDF5 and not taken."""
    names: dict[str, str] = {}
    for name, variable in content.items():
        for one in (name, *variable.dimensions):
            if one not in names:
                names[one] = _key(one, {**taken, **dict.fromkeys(names.values())})
    return {
        names[name]: NetcdfVariable(
            tuple(names[d] for d in variable.dimensions), variable.values, variable.attributes
        )
        for name, variable in content.items()
    }


def _optimum_row(optimum: Optimum) -> list[Any]:
    return [optimum.objective, optimum.status.name, optimum.error, list(optimum.starts)]


def _table(columns: Mapping[str, Any]) -> Group:
    if not len(next(iter(columns.values()))):
        return Group()  # netCDF has no empty tables
    return Group({}, {key: NetcdfVariable(("row",), column) for key, column in columns.items()})


def _column(values: list[Any]) -> Any:
    return values if values and isinstance(values[0], str) else np.array(values)


def _phase_group(phase: PhaseSolution) -> Group:
    content: dict[str, NetcdfVariable] = {}
    grids: list[Curve] = []
    names: dict[str, list[tuple[str, str]]] = {}  # kind -> (exact name, name in the file)
    for field, kind in KINDS.items():
        for name, curve in getattr(phase, field).items():
            number = next(
                (i for i, grid in enumerate(grids) if _same_grid(grid, curve)), len(grids)
            )
            if number == len(grids):
                grids.append(curve)
                content |= _grid_variables(curve, number, phase.time_unit)
            key = _key(f"{kind}.{name}", content)
            names.setdefault(kind, []).append((name, key))
            content[key] = _curve_variable(curve, number, name, phase.time_unit)
    for name in MESH:
        values = np.asarray(getattr(phase, name))
        if values.size:
            content[f"mesh.{name}"] = NetcdfVariable((f"{MESH[name]}{values.size}",), values)
    times = {"t0": float(phase.t0), "tf": float(phase.tf), "time_unit": phase.time_unit}
    return Group({"name": phase.name, **times, "curves": _text(names)}, content)


def _key(name: str, taken: Mapping[str, Any]) -> str:
    """Return a unique name that is valid in HDF5, without slashes."""
    plain = without_slash(name).replace("\0", "␀").encode("utf-8", "replace").decode()[:LONGEST]
    plain = plain if plain.strip(".") else f"'{plain}'"
    number = 2
    key = plain
    while key in taken:
        key, number = f"{plain} ({number})", number + 1
    return key


def _same_grid(a: Curve, b: Curve) -> bool:
    return (
        np.array_equal(a.breaks, b.breaks)
        and len(a.nodes) == len(b.nodes)
        and all(p is q or np.array_equal(p, q) for p, q in zip(a.nodes, b.nodes, strict=True))
    )


def _grid_variables(curve: Curve, number: int, unit: str) -> dict[str, NetcdfVariable]:
    # dimensions of the same size are shared
    node, intervals = ((f"node{sum(map(len, curve.nodes))}",), len(curve.nodes))
    place = {"long_name": "place of the node in its interval, 0 to 1"}
    return {
        f"grid{number}.time": NetcdfVariable(node, curve.t, {"units": unit}),
        f"grid{number}.place": NetcdfVariable(node, np.concatenate(curve.nodes), place),
        f"grid{number}.breaks": NetcdfVariable(
            (f"break{intervals + 1}",), curve.breaks, {"units": unit}
        ),
        f"grid{number}.nodes": NetcdfVariable(
            (f"interval{intervals}",), np.array([len(nodes) for nodes in curve.nodes])
        ),
    }


def _curve_variable(curve: Curve, number: int, name: str, time_unit: str) -> NetcdfVariable:
    values = np.concatenate(curve.values)
    limits = {
        key: limit for key in ("lower", "upper") if (limit := getattr(curve, key)) is not None
    }
    components = {"components": _text(curve.components)} if curve.components else {}
    attributes = {"name": name, "grid": number, "units": curve.unit, **limits, **components}
    if not curve.clips:
        attributes["clips"] = 0
    if curve.time_unit != time_unit:
        attributes["time_unit"] = curve.time_unit
    return NetcdfVariable((f"node{len(values)}", f"component{curve.size}"), values, attributes)


def _text(value: Any) -> str:
    """Return JSON text; unlike ``plain_json`` it keeps NaN and infinity, since only ``load`` reads
    it.
    """
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


# ---- from the file


class _Curves(Mapping[str, Curve]):
    """Curves by name, each read on first use."""

    def __init__(self, readers: Mapping[str, Callable[[], Curve]]) -> None:
        self._readers = readers
        self._read: dict[str, Curve] = {}

    def __getitem__(self, name: str) -> Curve:
        if name not in self._read:
            self._read[name] = self._readers[name]()
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._readers

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __len__(self) -> int:
        return len(self._readers)

    def __reduce__(self) -> tuple[Any, ...]:  # pickles the curves, not the file
        return dict, (dict(self),)


def solution_of(reader: Reader) -> Solution:
    """Read the solution in a file."""
    path, stored = reader.path, reader.attributes
    if stored.get("format") != FORMAT:
        other = "it is a simulation" if stored.get("format") == "trajopt simulation" else None
        raise FileError(
            f"'{path}' is not a solution of trajopt",
            got=other,
            expected="a netCDF file from 'save'",
        )
    with reader.guarded():
        version = _whole(stored["format_version"])
        if version > FORMAT_VERSION:
            raise FileError(
                f"'{path}' was written by a newer trajopt",
                got=f"format {version}",
                hint="upgrade trajopt",
            )
        if version < FORMAT_VERSION:
            raise ValueError(f"format {version} is no longer read")
        return _solution(reader, stored)


def _solution(reader: Reader, stored: Mapping[str, Any]) -> Solution:
    phases = [_phase(reader, f"phase_{number}") for number in range(_whole(stored["phases"]))]
    multipliers = _rows(reader, "multipliers", ("condition", "multiplier"))
    if len({phase.name for phase in phases}) != len(phases):
        raise ValueError("two phases have the same name")
    return Solution(
        problem=_word(stored["problem"]),
        method=_word(stored["method"]),
        status=Status[stored["status"]],
        objective=_number(stored["objective"]),
        phases={phase.name: phase for phase in phases},
        variables=_columns(reader, "variables"),
        parameters=_columns(reader, "parameters"),
        multipliers={_word(name): _number(value) for name, value in multipliers},
        arcs=tuple(_arc(row) for row in _rows(reader, "arcs", _arc_names(reader))),
        history=tuple(_mesh_pass(row) for row in _rows(reader, "history", _history_names(reader))),
        error=_number(stored["error"]),
        tolerance=_number(stored["tolerance"]),
        iterations=_whole(stored["iterations"]),
        seconds={name: _number(value) for name, value in _mapping(stored["seconds"]).items()},
        explanation=_words(stored["explanation"]),
        log=_words(stored["log"]),
        options=_mapping(stored["options"]),
        versions={name: _word(value) for name, value in _mapping(stored["versions"]).items()},
        source=_word(stored["source"]),
        settings={name: _setting(value) for name, value in _mapping(stored["settings"]).items()},
        optima=tuple(_optimum(row) for row in _json(stored.get("optima", "[]"))),
        active_conditions=_active_conditions(stored.get("active_conditions", "null")),
    )


def _active_conditions(text: Any) -> dict[str, str] | None:
    return (
        None
        if _json(text) is None
        else {name: _word(side) for name, side in _mapping(text).items()}
    )


def _phase(reader: Reader, group: str) -> PhaseSolution:
    stored = reader.group(group)
    names = set(reader.names(group))
    grids: dict[int, tuple[Array, tuple[Array, ...], Array]] = {}
    curves: dict[str, Any] = {
        field: _Curves({name: _deferred(reader, group, key, grids) for name, key in found})
        for field, kind in KINDS.items()
        for found in [_curve_names(group, kind, stored)]
    }
    mesh: dict[str, Any] = {
        name: reader.variable(group, f"mesh.{name}").values
        if f"mesh.{name}" in names
        else np.zeros(0)
        for name in MESH
    }
    degrees = tuple(_whole(degree) for degree in mesh.pop("degrees").tolist())
    t0, tf = _number(stored["t0"]), _number(stored["tf"])
    return PhaseSolution(
        _word(stored["name"]),
        t0,
        tf,
        **curves,
        **mesh,
        degrees=degrees,
        time_unit=_word(stored["time_unit"]),
    )


def _curve_names(group: str, kind: str, stored: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (exact name, name in the file) of the curves of a kind, in order."""
    found = [(_word(name), _word(key)) for name, key in _mapping(stored["curves"]).get(kind, [])]
    if len(dict(found)) != len(found):
        raise ValueError(f"two curves of '{group}' have the same name")
    return found


def _deferred(reader: Reader, group: str, key: str, grids: dict[int, Any]) -> Callable[[], Curve]:
    return lambda: _curve(reader, group, key, grids)


def _curve(reader: Reader, group: str, key: str, grids: dict[int, Any]) -> Curve:
    with reader.guarded():
        variable = reader.variable(group, key)
        attributes = variable.attributes
        number = _whole(attributes["grid"])
        if number not in grids:
            grids[number] = _grid(reader, group, number)
        breaks, nodes, ends = grids[number]
        values = np.asarray(variable.values, dtype=float)
        if values.ndim != 2 or values.shape[0] != sum(map(len, nodes)):
            raise ValueError(f"'{key}' is inconsistent with its grid")
        lower, upper = (
            np.atleast_1d(attributes[name]) if name in attributes else None
            for name in ("lower", "upper")
        )
        if any(
            limit is not None
            and (limit.dtype.kind not in "if" or limit.size not in (1, values.shape[1]))
            for limit in (lower, upper)
        ):
            raise ValueError(f"the bounds of '{key}' have the wrong size")
        components = _words(attributes.get("components", "[]"))
        if len(components) not in (0, values.shape[1]):
            raise ValueError(f"the names of the components of '{key}' have the wrong number")
        return Curve(
            breaks,
            nodes,
            tuple(np.split(values, ends)),
            lower,
            upper,
            _word(attributes["units"]),
            components,
            _word(attributes.get("time_unit", reader.group(group)["time_unit"])),
            attributes.get("clips", 1) != 0,
        )


def _grid(reader: Reader, group: str, number: int) -> tuple[Array, tuple[Array, ...], Array]:
    """Return breaks, nodes of each interval, and the ends of the intervals among all nodes."""
    breaks, places, counts = (
        reader.variable(group, f"grid{number}.{part}").values
        for part in ("breaks", "place", "nodes")
    )
    if (
        counts.dtype.kind != "i"
        or counts.ndim != 1
        or not counts.size
        or counts.min() < 1
        or counts.max() > places.size
    ):
        raise ValueError(f"grid {number} of '{group}' is invalid")
    if places.shape != (int(counts.sum()),) or breaks.shape != (counts.size + 1,):
        raise ValueError(f"grid {number} of '{group}' is inconsistent")
    ends = np.cumsum(counts)[:-1]
    return (
        np.asarray(breaks, dtype=float),
        tuple(np.split(np.asarray(places, dtype=float), ends)),
        ends,
    )


def _columns(reader: Reader, group: str) -> dict[str, Array]:
    names = _words(reader.group(group)["names"])
    return {
        name: np.asarray(reader.variable(group, f"{i}").values, dtype=float)
        for i, name in enumerate(names)
    }


def _rows(reader: Reader, group: str, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Return the rows of a table, as tuples in the order of the names."""
    reader.group(group)
    if not reader.names(group):
        return []
    columns = [reader.variable(group, name).values for name in names]
    return list(
        zip(
            *(column if isinstance(column, list) else column.tolist() for column in columns),
            strict=True,
        )
    )


def _arc(row: tuple[Any, ...]) -> Arc:
    phase, start, end, *texts = row
    maps = [{name: _word(role) for name, role in _mapping(text).items()} for text in texts]
    return Arc(_word(phase), _number(start), _number(end), *maps)


def _arc_names(reader: Reader) -> tuple[str, ...]:
    """Files of earlier versions do not have the touched constraints."""
    names = ("phase", "start", "end", "roles")
    return (*names, "touches") if "touches" in reader.names("arcs") else names


def _optimum(row: Any) -> Optimum:
    objective, status, error, starts = row
    return Optimum(
        _number(objective), Status[_word(status)], _number(error), tuple(_whole(k) for k in starts)
    )


def _mesh_pass(row: tuple[Any, ...]) -> MeshPass:
    intervals, points, iterations, error, objective, seconds, remark, *backend = row
    counts = (_whole(intervals), _whole(points), _whole(iterations))
    return MeshPass(
        *counts,
        _number(error),
        _number(objective),
        _number(seconds),
        *(_word(text) for text in (remark, *backend)),
    )


def _history_names(reader: Reader) -> tuple[str, ...]:
    """Return the names of the backends, which files of earlier versions do not have."""
    reader.group("history")
    names = reader.names("history")
    return HISTORY if not names or "backend" in names else HISTORY[:-1]


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was expected, not {value!r:.40}")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise TypeError(f"an integer was expected, not {value!r:.40}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a number was expected, not {value!r:.40}")
    return float(value)


def _json(text: Any) -> Any:
    try:
        return json.loads(_word(text))
    except RecursionError as error:
        raise ValueError("text nested too deeply") from error


def _mapping(text: Any) -> dict[str, Any]:
    value = _json(text)
    if not isinstance(value, dict):
        raise TypeError(f"a table was expected, not {value!r:.40}")
    return value


def _words(text: Any) -> tuple[str, ...]:
    value = _json(text)
    if not isinstance(value, list):
        raise TypeError(f"a list was expected, not {value!r:.40}")
    return tuple(_word(item) for item in value)


def _setting(value: Any) -> Any:
    """Convert lists of JSON to tuples, as on the command line."""
    return tuple(_setting(item) for item in value) if isinstance(value, list) else value
