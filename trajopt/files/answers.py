"""Answers of other tools: times, states and controls as arrays, or in a file that the tool wrote.

| file | layout |
|---|---|
| ``.csv`` | a header and one row a time; ``t`` or ``time``, names of the problem, ``costate x`` |
| ``.npz`` | one array a name |
| ``.json`` | one list a name; or ``time_grid``, ``state``, ``control`` of OptimalControl.jl |
| ``.sto`` | OpenSim's tables: ``time`` and columns behind ``endheader`` |
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi
import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.arguments import checked_arguments
from trajopt.errors import FileError, UsageError
from trajopt.statement.normal_form import NamedVector, NormalForm, PhaseForm
from trajopt.statement.problem import Problem
from trajopt.trajectory.curve import Curve
from trajopt.trajectory.solution import PhaseSolution, Solution, Status

Array = NDArray[np.float64]
TIMES = ("t", "time", "Time", "times")
COSTATE = "costate "
SUFFIXES = (".csv", ".npz", ".json", ".sto")
NODES = 0.5 - 0.5 * np.cos(np.pi * (np.arange(4) + 0.5) / 4)  # inside an interval: cubics


@checked_arguments
def answer_from(
    problem: Problem | NormalForm,
    values: Mapping[str, Any],
    objective: float | None = None,
    method: str = "given",
) -> Solution:
    """Make a solution from times, states and controls of any tool.

    States are cubics with the rates of the problem between the times; controls are linear, or
    constant where they have a value for each interval. Two equal times are a jump. Costates need
    not be there: ``certify`` finds them.

    Parameters
    ----------
    problem : Problem
        The statement that the answer belongs to.
    values : mapping
        ``t``, and a name of the problem each: (times,) or (times, size) arrays; ``costate x``
        for a costate; static variables as numbers. With several phases a mapping for each phase.
    objective : float or None
        As the tool reports it; None: that of the curves.
    method : str
        Where the answer is from.

    Examples
    --------
    >>> import numpy as np
    >>> from trajopt import answer_from, builder, certify
    >>> t = np.linspace(0, 1, 21)
    >>> values = {"t": t, "x": 3 * t**2 - 2 * t**3, "v": 6 * t * (1 - t), "u": 6 - 12 * t}
    >>> certify(answer_from(builder("block-move")(), values)).claim
    'minimum'
    """
    form = problem.finish() if isinstance(problem, Problem) else problem
    by_phase = {ph.name: values.get(ph.name, values) for ph in form.phases}
    statics = {q.name: _static(q, values) for q in form.statics}
    s = np.concatenate([np.zeros(0), *statics.values()])
    p = form.parameter_values({})
    phases = {}
    for ph in form.phases:
        own = by_phase[ph.name]
        if len(form.phases) > 1 and not isinstance(own, Mapping):
            raise UsageError(
                f"values of phase '{ph.name}'",
                got=", ".join(values),
                expected="a mapping of names to arrays for each phase",
            )
        phases[ph.name] = _phase(form, ph, own, s, p)
    solution = Solution(form.name, method, Status.SOLVED, 0.0, phases, variables=statics, form=form)
    own_cost = _objective(form, solution, s, p)
    return replace(solution, objective=own_cost if objective is None else float(objective))


@checked_arguments
def read_answer(path: str | Path, problem: Problem | NormalForm) -> Solution:
    """Read an answer to a problem from a table of another tool, by the suffix of its name."""
    path = Path(path)
    form = problem.finish() if isinstance(problem, Problem) else problem
    readers = {".csv": _csv, ".npz": _npz, ".json": _json, ".sto": _sto}
    if path.suffix not in readers:
        raise UsageError("answer", got=str(path), expected=", ".join(SUFFIXES))
    if not path.exists():
        raise FileError(f"file '{path}' does not exist", expected="a table of an answer")
    try:
        values, objective = readers[path.suffix](path, form)
    except (ValueError, KeyError, IndexError, AttributeError) as error:
        raise FileError(
            f"'{path}' is not a table of an answer",
            got=f"{error}".splitlines()[0],
            expected="a column of times 't' and one for each state and control, numbers only",
        ) from error
    return answer_from(form, values, objective, path.suffix[1:])


# Curves
# --------------------------------------------------------------------------------------------------


def _phase(
    form: NormalForm, ph: PhaseForm, values: Mapping[str, Any], s: Array, p: Array
) -> PhaseSolution:
    t = _numbers(_of(values, TIMES, "times"), "times").ravel()
    if t.size < 2 or not np.isfinite(t).all() or (np.diff(t) < 0).any():
        raise UsageError(f"times of phase '{ph.name}'", got=f"{t.size} values",
                         expected="at least two finite numbers in ascending order")  # fmt: skip
    kept = np.flatnonzero(np.diff(t) > 0)  # intervals; equal times are the two sides of a jump
    breaks = np.append(t[kept], t[-1])
    controls = {q.name: _piecewise(q, values, t, kept, breaks) for q in ph.controls}
    algebraics = {q.name: _piecewise(q, values, t, kept, breaks) for q in ph.algebraics}
    states = _states(form, ph, values, (t, kept, breaks), (controls, algebraics), (s, p))
    costates = {
        q.name: _piecewise(q, values, t, kept, breaks, COSTATE)
        for q in ph.states
        if COSTATE + q.name in values
    }
    return PhaseSolution(
        ph.name,
        float(breaks[0]),
        float(breaks[-1]),
        states,
        controls,
        algebraics,
        costates,
        breaks=breaks,
    )


def _piecewise(
    q: NamedVector,
    values: Mapping[str, Any],
    t: Array,
    kept: NDArray[np.intp],
    breaks: Array,
    prefix: str = "",
) -> Curve:
    """Linear between the times; constant where there is one value for each interval."""
    table = _table(q, values, (t.size, t.size - 1), prefix)
    if table.shape[0] == t.size - 1:
        return Curve.steps(breaks, table[kept])
    pairs = np.stack([table[kept], table[kept + 1]], axis=1)
    return Curve.through(breaks, np.array([0.0, 1.0]), pairs)


def _states(
    form: NormalForm,
    ph: PhaseForm,
    values: Mapping[str, Any],
    grid: tuple[Array, NDArray[np.intp], Array],
    others: tuple[Mapping[str, Curve], Mapping[str, Curve]],
    fixed: tuple[Array, Array],
) -> dict[str, Curve]:
    """Cubics through the states with the rates of the problem at both ends of each interval."""
    t, kept, breaks = grid
    x = np.hstack([_table(q, values, (t.size,)) for q in ph.states])
    rate = casadi.Function("rate", [ph.t, ph.x, ph.z, ph.u, form.s, form.p], [casadi.densify(ph.f)])
    inside = 1e-9 * np.diff(breaks)  # on this side of a jump
    sides = []
    for states, times in ((x[kept], breaks[:-1] + inside), (x[kept + 1], breaks[1:] - inside)):
        u, z = (
            np.vstack([np.zeros((0, times.size)), *[c.evaluate(times).T for c in one.values()]])
            for one in others
        )
        many = [np.repeat(v[:, None], times.size, axis=1) for v in fixed]
        found = rate.map(times.size)(times[None, :], states.T, z, u, *many)
        sides.append(np.asarray(casadi.DM(found).full()).T)
    h, f = np.diff(breaks)[:, None, None], NODES[None, :, None]
    first, last = x[kept][:, None, :], x[kept + 1][:, None, :]
    cubic = first * (1 - 3 * f**2 + 2 * f**3) + last * (3 * f**2 - 2 * f**3)
    cubic = cubic + h * sides[0][:, None, :] * (f - 2 * f**2 + f**3)
    cubic = cubic + h * sides[1][:, None, :] * (f**3 - f**2)
    return {q.name: Curve.through(breaks, NODES, cubic[:, :, q.rows]) for q in ph.states}


def _table(
    q: NamedVector, values: Mapping[str, Any], counts: Sequence[int], prefix: str = ""
) -> Array:
    """(times, size) of one quantity, whole or by its components."""
    name = prefix + q.name
    if name in values:
        found = _numbers(values[name], f"values of '{name}'")
    elif q.size > 1 and all(prefix + c in values for c in q.components):
        found = np.column_stack([np.asarray(values[prefix + c], dtype=float) for c in q.components])
    else:
        raise UsageError(
            f"the answer has no '{name}'", got=", ".join(map(str, values)), expected=name
        )
    found = found[:, None] if found.ndim == 1 else found
    if found.shape[0] not in counts and found.shape[1] in counts:
        found = found.T
    if found.shape[0] not in counts or found.shape[1] != q.size:
        raise UsageError(
            f"values of '{name}'", got=f"shape {found.shape}", expected=f"({counts[0]}, {q.size})"
        )
    return found


def _numbers(values: ArrayLike, what: str) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise UsageError(what, got=str(error), expected="numbers only") from error


def _static(q: NamedVector, values: Mapping[str, Any]) -> Array:
    if q.name not in values:
        raise UsageError(f"the answer has no static variable '{q.name}'", got=", ".join(values))
    return np.asarray(values[q.name], dtype=float).ravel()


def _of(values: Mapping[str, Any], names: Sequence[str], what: str) -> ArrayLike:
    for name in names:
        if name in values:
            return values[name]  # type: ignore[no-any-return]
    raise UsageError(
        f"the answer has no {what}", got=", ".join(map(str, values)), expected=" or ".join(names)
    )


def _objective(form: NormalForm, solution: Solution, s: Array, p: Array) -> float:
    """The cost of the curves, with integrals by Gauss quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    ends = []
    for ph in form.phases:
        own = solution.phases[ph.name]
        h = np.diff(own.breaks)
        times = (own.breaks[:-1, None] + 0.5 * h[:, None] * (nodes + 1)).ravel()
        weight = (0.5 * h[:, None] * weights).ravel()

        def at(t: Array, own: PhaseSolution = own) -> list[Array]:
            groups = (own.states, own.algebraics, own.controls)
            return [
                np.vstack([np.zeros((0, t.size)), *[c.evaluate(t).T for c in group.values()]])
                for group in groups
            ]

        x, z, u = at(times)
        integrand = casadi.Function(
            "l", [ph.t, ph.x, ph.z, ph.u, form.s, form.p], [casadi.densify(ph.l)]
        )
        many = [np.repeat(v[:, None], times.size, axis=1) for v in (s, p)]
        rates = np.asarray(
            casadi.DM(integrand.map(times.size)(times[None, :], x, z, u, *many)).full()
        )
        t0, tf = own.t0, own.tf
        first, last = at(np.array([t0])), at(np.array([tf]))
        parts = [first[0], last[0], first[1], last[1], first[2], last[2]]
        ends.append(np.concatenate([[t0, tf], *[v[:, 0] for v in parts], rates @ weight]))
    symbols = [e for ph in form.phases for e in ph.ends]
    sizes = np.cumsum([e.numel() for e in symbols])[:-1]
    cost = casadi.Function("cost", [*symbols, form.s, form.p], [form.phi])
    return float(cost(*np.split(np.concatenate(ends), sizes), s, p)) * form.sense


# Files
# --------------------------------------------------------------------------------------------------


def _csv(path: Path, form: NormalForm) -> tuple[dict[str, Any], float | None]:
    """A header, with units in brackets or without; a column ``phase`` divides the rows."""
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    header = [name.split("[")[0].strip() if " [" in name else name.strip() for name in rows[0]]
    if "phase" not in header:
        lines = [[_cell(v, number, header) for v in row] for number, row in enumerate(rows[1:], 2)]
        for number, line in enumerate(lines, 2):
            if len(line) != len(header):
                raise ValueError(f"row {number} has {len(line)} values, the header {len(header)}")
        table = np.array(lines)
        return dict(zip(header, table.T, strict=True)), None
    place = header.index("phase")
    found: dict[str, Any] = {}
    for name in dict.fromkeys(row[place] for row in rows[1:]):
        own = [row for row in rows[1:] if row[place] == name]
        columns = {
            h: np.array([float(row[k]) for row in own])
            for k, h in enumerate(header)
            if k != place and all(row[k] for row in own)
        }
        found[name] = columns
    return (next(iter(found.values())) if len(form.phases) == 1 else found), None


def _cell(text: str, number: int, header: Sequence[str]) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"row {number} has '{text}' between {', '.join(header)}") from None


def _npz(path: Path, form: NormalForm) -> tuple[dict[str, Any], float | None]:
    with np.load(path, allow_pickle=False) as file:
        values = {name: np.asarray(file[name]) for name in file.files}
    objective = values.pop("objective", None)
    return values, None if objective is None else float(objective)


def _json(path: Path, form: NormalForm) -> tuple[dict[str, Any], float | None]:
    values = json.loads(path.read_text())
    objective = values.pop("objective", None)
    if "time_grid" not in values:
        return values, objective
    # OptimalControl.jl: rows of states and controls in the order of the statement.
    found = {"t": np.asarray(values["time_grid"], dtype=float)}
    ph = _one_phase(form)
    groups: list[tuple[str, tuple[NamedVector, ...], str]] = [
        ("state", ph.states, ""),
        ("control", ph.controls, ""),
        ("costate", ph.states, COSTATE),
    ]
    for key, quantities, prefix in groups:
        if values.get(key):
            table = np.asarray(values[key], dtype=float).reshape(len(values[key]), -1)
            found |= _in_order(quantities, table, prefix)
    statics = np.asarray(values.get("variable", []), dtype=float).ravel()
    for q in form.statics:
        found[q.name], statics = statics[: q.size], statics[q.size :]
    costates = [q.name for q in ph.states if COSTATE + q.name in found]
    for name in costates:  # one row less than times: costates of intervals
        if len(found[COSTATE + name]) != found["t"].size:
            del found[COSTATE + name]
    return found, None if objective is None else float(objective)


def _sto(path: Path, form: NormalForm) -> tuple[dict[str, Any], float | None]:
    """OpenSim's storage: lines ``key=value`` up to ``endheader``, names, then numbers."""
    lines = path.read_text().splitlines()
    if "endheader" not in [line.strip() for line in lines]:
        raise ValueError("it has no line 'endheader'")
    end = next(k for k, line in enumerate(lines) if line.strip() == "endheader")
    header = dict(line.split("=", 1) for line in lines[:end] if "=" in line)
    names = lines[end + 1].split("\t")
    table = np.array([[float(v) for v in line.split("\t")] for line in lines[end + 2 :] if line])
    objective = float(header["objective"]) if "objective" in header else None
    found = dict(zip(names, table.T, strict=True))
    ph = _one_phase(form)
    count, controls = (int(header.get(f"num_{k}", -1)) for k in ("states", "controls"))
    quantities = [*ph.states, *ph.controls]
    if all(q.name in found for q in quantities) or count < 0:
        return found, objective
    # Paths of a model: states, then controls, in the order of the statement.
    if count != ph.x.numel() or controls != ph.u.numel():
        raise ValueError(
            f"it has {count} states and {controls} controls, the problem {ph.x.numel()} and "
            f"{ph.u.numel()}"
        )
    ordered = _in_order(ph.states, table[:, 1 : 1 + count], "")
    ordered |= _in_order(ph.controls, table[:, 1 + count : 1 + count + controls], "")
    return {"t": table[:, 0], **ordered}, objective


def _one_phase(form: NormalForm) -> PhaseForm:
    if len(form.phases) != 1:
        raise ValueError("the problem has several phases, the file one")
    return form.phases[0]


def _in_order(quantities: Sequence[NamedVector], table: Array, prefix: str) -> dict[str, Any]:
    if table.shape[1] != sum(q.size for q in quantities):
        raise ValueError(
            f"it has {table.shape[1]} columns for {', '.join(q.name for q in quantities)}"
        )
    return {prefix + q.name: table[:, q.rows] for q in quantities}
