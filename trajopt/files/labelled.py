"""Solutions as labelled arrays: variables by name over time, with units.

``xarray`` opens a saved file in the same form, with a group for each of several phases. A slash in
a name, which separates groups, becomes the sign for division.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import UsageError
from trajopt.files.netcdf import NetcdfVariable

if TYPE_CHECKING:
    from trajopt.trajectory.curve import Curve
    from trajopt.trajectory.solution import PhaseSolution, Solution

Array = NDArray[np.float64]
MOST_POINTS = 10**7  # of a table: gigabytes

# PhaseSolution field -> prefix of the names of its curves
PREFIXES = {
    "states": "",
    "controls": "",
    "algebraics": "",
    "outputs": "",
    "costates": "costate ",
    "path_multipliers": "multiplier ",
}


def curves_of(phase: PhaseSolution) -> dict[str, Curve]:
    """Return all curves of a phase by the names that they have in tables: ``costate x``."""
    found: dict[str, Curve] = {}
    for field, prefix in PREFIXES.items():
        for name, curve in getattr(phase, field, {}).items():
            found.setdefault(without_slash(f"{prefix}{name}"), curve)
    return found


def without_slash(name: str) -> str:
    return name.replace("/", "∕")


def labelled(phase: PhaseSolution, times: Array) -> dict[str, NetcdfVariable]:
    """Return the variables of a phase at increasing times; the first is the time itself."""
    curves = curves_of(phase)
    time = "t" if "time" in curves else "time"  # no variable may be called t
    found = {time: NetcdfVariable((time,), times, {"units": phase.time_unit})}
    for name, curve in curves.items():
        values = curve.evaluate(times)
        about: dict[str, Any] = {"units": curve.unit}
        about |= {
            side: limit[0] if limit.size == 1 else limit
            for side in ("lower", "upper")
            if (limit := getattr(curve, side)) is not None
        }
        if curve.size == 1:
            found[name] = NetcdfVariable((time,), values[:, 0], about)
            continue
        across = f"{name} component" if curve.components else f"component of {curve.size}"
        while across in curves:
            across += "_"
        if curve.components:
            found.setdefault(across, NetcdfVariable((across,), list(curve.components)))
        found[name] = NetcdfVariable((time, across), values, about)
    return found


def dataset_of(phase: PhaseSolution, times: Array, attributes: Mapping[str, Any]) -> Any:
    """Return a phase as an ``xarray.Dataset``."""
    import xarray

    found = labelled(phase, times)
    content = {key: (v.dimensions, v.values, v.attributes) for key, v in found.items()}
    return xarray.Dataset(content, attrs=dict(attributes))


def to_xarray(solution: Solution, points: int | None = None) -> Any:
    """Return a ``Dataset``, or with several phases a ``DataTree`` with a group for each."""
    import xarray

    about = {
        "problem": solution.problem,
        "method": solution.method,
        "status": solution.status.name.lower(),
        "objective": float(solution.objective),
        "error": float(solution.error),
    }
    of = {
        name: dataset_of(phase, times_of(phase, points), {"phase": name})
        for name, phase in solution.phases.items()
    }
    if len(of) == 1:
        (only,) = of.values()
        return only.assign_attrs(about)
    root = xarray.Dataset(attrs=about)
    groups = {f"/{without_slash(name)}": dataset for name, dataset in of.items()}
    return xarray.DataTree.from_dict({"/": root, **groups})


def to_dataframe(solution: Solution, points: int | None = None) -> Any:
    """Return a ``pandas.DataFrame`` indexed by time, and by phase if there are several."""
    import pandas

    tables = {}
    for name, phase in solution.phases.items():
        times = times_of(phase, points)
        columns: dict[str, Array] = {}
        for key, curve in curves_of(phase).items():
            columns |= dict(zip(curve.labels(key), curve.evaluate(times).T, strict=True))
        tables[name] = pandas.DataFrame(columns, index=pandas.Index(times, name="time"))
    if len(tables) == 1:
        return next(iter(tables.values()))
    return pandas.concat(tables, names=["phase", "time"])


def times_of(phase: PhaseSolution, points: int | None) -> Array:
    """Return the times of the nodes of a phase, or ``points`` times at equal distances."""
    if points is not None:
        if not isinstance(points, int) or not 2 <= points <= MOST_POINTS:
            raise UsageError(
                "points of a table",
                got=repr(points),
                expected=f"an integer of at least 2, at most {MOST_POINTS}",
            )
        return np.linspace(phase.t0, phase.tf, points)
    return phase.t if phase.breaks.size else np.linspace(phase.t0, phase.tf, 101)
