"""Batches: a prepared problem solved for many sets of parameters, as an xarray data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import TrajoptError, UsageError, check_type

if TYPE_CHECKING:
    from trajopt.direct.collocation import Collocation
    from trajopt.prepared.preparing import Prepared
    from trajopt.statement.problem import Problem
    from trajopt.trajectory.solution import Solution

Array = NDArray[np.float64]
Row = dict[str, Any]
Outputs = Callable[["Solution"], Mapping[str, float]]

PART = 50  # sets that a process takes at a time


def run_batch(
    prepared: Prepared,
    parameters: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    processes: int | None,
    outputs: Outputs | None,
) -> Any:
    """See ``Prepared.map``."""
    sets = _sets(parameters)
    if processes is not None and processes < 1:
        raise UsageError("map: processes", got=processes, expected="1 or more")
    if processes in (None, 1):
        rows = [_row(prepared, one, outputs) for one in sets]
    else:
        rows = _in_processes(prepared, sets, processes, outputs)
    return _data_set(rows, sets)


def _sets(parameters: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One mapping for each set, from columns by name or from such mappings."""
    expected = "columns by name, as in {'mass': [1, 2]}, or a dictionary for each set"
    check_type("map: the parameters", parameters, Iterable, expected)
    if not isinstance(parameters, Mapping):
        parameters = list(parameters)
        for one in parameters:
            check_type("map: a set of parameters", one, Mapping, expected)
        return [dict(one) for one in parameters]
    columns = {name: np.asarray(values, dtype=float) for name, values in parameters.items()}
    counts = {column.shape[0] for column in columns.values() if column.ndim}
    if len(counts) != 1:
        raise UsageError(
            "map: the columns of parameters",
            got={name: column.shape for name, column in columns.items()},
            expected="arrays of the same length, one value for each set",
        )
    count = counts.pop()
    return [
        {name: column[i] if column.ndim else column for name, column in columns.items()}
        for i in range(count)
    ]


def _row(prepared: Prepared, parameters: Mapping[str, Any], outputs: Outputs | None) -> Row:
    """What a set came to; an error is the status of its set and does not stop the others."""
    try:
        solution = prepared.solve(parameters)
    except TrajoptError as error:
        return {"status": type(error).__name__, "message": str(error).splitlines()[0]}
    row: Row = {
        "status": solution.status.name,
        "message": "" if solution.success else solution.status.value,
        "objective": solution.objective,
        "error": solution.error,
    }
    prefix = len(solution.phases) > 1
    for name, phase in solution.phases.items():
        row[f"{name}.tf" if prefix else "tf"] = phase.tf
    for name, values in solution.variables.items():
        row[name] = values if values.size > 1 else float(values[0])
    return row | dict(outputs(solution) if outputs is not None else {})


def _in_processes(
    prepared: Prepared, sets: Sequence[Mapping[str, Any]], processes: int, outputs: Outputs | None
) -> list[Row]:
    """Each process prepares the problem from one solution."""
    from trajopt.statement.problem import Problem

    if not isinstance(prepared.problem, Problem):
        raise UsageError("map: processes need a Problem", got="a form", hint="processes=None")
    solution = prepared.solve()
    parts = [sets[i : i + PART] for i in range(0, len(sets), PART)]
    given = prepared.problem, solution.without_form(), prepared.method, outputs
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin, given) as pool:
        return [row for rows in pool.map(_part, parts) for row in rows]


_OWN: list[Any] = []  # of a worker process: its prepared problem and the outputs


def _begin(
    problem: Problem, solution: Solution, method: Collocation, outputs: Outputs | None
) -> None:
    from trajopt.prepared.preparing import prepare

    _OWN[:] = [prepare(problem, solution, method), outputs]


def _part(sets: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [_row(_OWN[0], one, _OWN[1]) for one in sets]


def _data_set(rows: list[Row], sets: Sequence[Mapping[str, Any]]) -> Any:
    import xarray

    count = len(rows)
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name, np.nan) for row in rows]
        if name in ("status", "message"):
            columns[name] = ("set", np.array([row.get(name, "") for row in rows], dtype=object))
            continue
        width = max((np.size(v) for v in values), default=1)
        full = np.array([np.broadcast_to(np.ravel(v), (width,)) for v in values], dtype=float)
        columns[name] = ("set", full[:, 0]) if width == 1 else (("set", f"{name}_row"), full)
    coordinates = dict(_coordinates(sets)) if count else {}
    return xarray.Dataset(columns, coords=coordinates)


def _coordinates(sets: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name in sets[0]:
        values = np.array([np.asarray(one[name], dtype=float).ravel() for one in sets])
        dims = ("set",) if values.shape[1] == 1 else ("set", f"{name}_component")
        yield name, (dims, values[:, 0] if values.shape[1] == 1 else values)
