"""Files of simulations: netCDF, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.files.atomic import write_bytes, write_text
from trajopt.files.netcdf import Group, NetcdfVariable, encode
from trajopt.files.storage import plain_json
from trajopt.integrate.simulation import Simulation

FORMAT = "trajopt simulation"


def simulation_columns(simulation: Simulation) -> dict[str, tuple[np.ndarray, str]]:
    """Return all scalars of a simulation at its times: name -> (values, unit)."""
    columns = {s.name: (simulation.x[:, i], s.unit) for i, s in enumerate(simulation.system.states)}
    for name, values in simulation.outputs.items():
        unit = simulation.system.outputs[name][1]
        if values.ndim == 1:
            columns[name] = (values, unit)
        else:
            columns |= {f"{name}[{i}]": (values[:, i], unit) for i in range(values.shape[1])}
    return columns


def output_columns(simulation: Simulation) -> dict[str, tuple[np.ndarray, str]]:
    """Return the scalars of a simulation that are not states: name -> (values, unit)."""
    states = {state.name for state in simulation.system.states}
    return {
        name: column
        for name, column in simulation_columns(simulation).items()
        if name not in states
    }


def save_simulation(
    simulation: Simulation, path: str | Path, settings: Mapping[str, Any] | None = None
) -> None:
    """Write a self-describing netCDF file, with the settings that the system was built with."""
    columns = {
        name.replace("/", "∕"): NetcdfVariable(("t",), values, {"units": unit, "name": name})
        for name, (values, unit) in simulation_columns(simulation).items()
    }
    attributes: dict[str, Any] = {
        "format": FORMAT,
        "system": simulation.system.name,
        "integrator": simulation.integrator.label,
    }
    attributes["stabilization"] = (
        "" if simulation.stabilization is None else simulation.stabilization.label
    )
    attributes["settings"] = json.dumps(plain_json(dict(settings or {})))
    for name, drift in simulation.drift.items():
        attributes |= {f"drift of {name}, max": drift.max, f"drift of {name}, end": drift.end}
    for parameter in simulation.system.parameters:
        attributes[f"parameter {parameter.name}"] = parameter.value
    content = {"t": NetcdfVariable(("t",), simulation.t, {"units": "s"}), **columns}
    write_bytes(path, encode({"": Group(attributes, content)}))


def simulation_to_csv(simulation: Simulation, path: str | Path) -> None:
    """Write states and outputs at the integrator's steps as a table; the header has names and
    units.
    """
    columns = simulation_columns(simulation)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["t [s]", *(f"{name} [{unit}]" if unit else name for name, (_, unit) in columns.items())]
    )
    for i, time in enumerate(simulation.t):
        writer.writerow(
            [repr(float(time)), *(repr(float(values[i])) for values, _ in columns.values())]
        )
    write_text(path, text.getvalue())


def simulation_summary(simulation: Simulation) -> dict[str, Any]:
    """Return the summary that ``trajopt simulate --json -`` prints."""
    outputs = output_columns(simulation.refined())
    content = {
        "system": simulation.system.name,
        "integrator": simulation.integrator.label,
        "stabilization": None
        if simulation.stabilization is None
        else simulation.stabilization.label,
        "t": float(simulation.t[-1]),
        "steps": len(simulation.t) - 1,
        "final": simulation.final,
        "outputs": {
            name: {"end": y[-1], "min": y.min(), "max": y.max()} for name, (y, _) in outputs.items()
        },
        "drift": {
            name: {"max": drift.max, "end": drift.end} for name, drift in simulation.drift.items()
        },
        "events": [{"name": event.name, "t": event.time} for event in simulation.events],
    }
    return dict(plain_json(content))
