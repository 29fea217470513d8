"""``Prepared.export``: a prepared problem as a C program.

The program is the compiled core's own session (``trajopt/compiled/session.c``) with the tapes and
the structure of the kept program as constants, and a small interface (``exported/trajopt.h``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import trajopt
from trajopt.compiled.library import description, library
from trajopt.direct.mesh_session import MeshSession
from trajopt.direct.packing import PhaseLayout
from trajopt.errors import FileError, UsageError
from trajopt.files.atomic import make_folder, write_text
from trajopt.prepared.c_text import ConstantText, fields, identifiers, number, string
from trajopt.prepared.export_reference import reference_text
from trajopt.prepared.moving_numbers import MovingNumbers, find_moving_numbers
from trajopt.statement.labels import component_labels

if TYPE_CHECKING:
    from trajopt.prepared.preparing import Prepared

Array = NDArray[np.float64]

HERE = Path(__file__).parent / "exported"
CORE = Path(trajopt.__file__).parent / "compiled"
OWN = ("README.md", "LICENSE", "trajopt.h", "trajopt.c", "problem_data.h", "main.c", "test.c")
SOURCES = ("session", "scaled_program", "kkt", "evaluation", "placement", "tape", "threads",
           "factorization", "dense", "ordering")  # fmt: skip
HEADERS = ("session", "scaled_program", "interior_point", "evaluation", "placement", "tape",
           "threads", "factorization", "dense", "ordering", "memory", "watch")  # fmt: skip


def export_prepared(prepared: Prepared, folder: Path) -> list[str]:
    """See ``Prepared.export``."""
    kept = _exportable(prepared)
    check_folder(folder)
    found = find_moving_numbers(kept)
    files = {
        **{name: _source(HERE / name) for name in OWN},
        **{f"core/{name}.c": _source(CORE / f"{name}.c") for name in SOURCES},
        **{f"core/{name}.h": _source(CORE / f"{name}.h") for name in HEADERS},
        "problem.h": _names(prepared, kept),
        "problem.c": _constants(prepared, kept, found),
        "reference.h": reference_text(prepared, kept, found),
    }
    one = "/* No threads: trajopt has copied this file for a program of its own. */\n"
    files["core/threads.c"] = one + "#define TRAJOPT_ONE_THREAD\n" + files["core/threads.c"]
    files["README.md"] = files["README.md"].replace("NAME", prepared.form.name)
    make_folder(folder / "core")
    for name, text in files.items():
        write_text(folder / name, text)
    return sorted(files)


def check_folder(folder: Path) -> None:
    """Raise unless the folder is empty, or can be made."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if there != folder.absolute() and not there.is_dir():
        raise FileError(f"cannot export to '{folder}'", got=f"'{there}' is a file")
    if not os.access(there, os.W_OK):
        raise FileError(f"cannot export to '{folder}'", got=f"no permission to write to '{there}'")
    if folder.exists() and not folder.is_dir():
        raise FileError(f"cannot export to '{folder}'", got="it is a file", expected="a folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise FileError(
            f"cannot export to '{folder}'",
            got="the folder is not empty",
            expected="an empty folder, or a new one",
        )


def _exportable(prepared: Prepared) -> MeshSession:
    kept = prepared.kept
    if library() is None:
        raise UsageError("export needs the compiled core", got=description())
    if kept is None:
        raise UsageError(
            "export: there is no mesh yet",
            hint="call solve() once; an answer that is not solved, or that chatters, is not kept",
        )
    if kept.layout.scheme.shares_nodes:
        raise UsageError(
            "export: neighbouring intervals share controls in this scheme",
            got=kept.layout.scheme.name,
            expected="Radau() or Gauss()",
        )
    if kept.session is None:
        raise UsageError(
            f"export: the compiled core cannot evaluate problem '{prepared.form.name}'",
            expected="a model of arithmetic and elementary functions, without tables and external "
            "functions",
        )
    return kept


def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _labels(prepared: Prepared) -> tuple[list[str], list[str]]:
    """Of the components of all parameters, and of all static variables."""
    parameters = prepared.form.parameters
    of_parameters = [label for q in parameters for label in component_labels(q.name, q.value.size)]
    return of_parameters, [label for q in prepared.form.statics for label in q.components]


def _names(prepared: Prepared, kept: MeshSession) -> str:
    """problem.h: the numbers of parameters, phases and variables by name."""
    parameters, statics = _labels(prepared)
    phases = [ph.form for ph in kept.layout.phases]
    counts = {"PHASES": len(phases), "UNKNOWNS": kept.layout.unknowns,
              "PARAMETERS": len(parameters), "VARIABLES": len(statics)}  # fmt: skip
    groups = [
        [f"{name} = {count}" for name, count in counts.items()],
        identifiers("PARAMETER_", parameters),
        identifiers("VARIABLE_", statics),
        identifiers("PHASE_", [phase.name for phase in phases]),
    ]
    for phase in phases:
        of = "" if len(phases) == 1 else f"{phase.name}_"
        kinds = {"STATE": phase.x_names, "ALGEBRAIC": phase.z_names, "CONTROL": phase.u_names}
        for kind, names in kinds.items():
            groups.append(identifiers(f"{kind}_", [of + name for name in names]))
    enums = "\n".join("enum { " + ", ".join(group) + " };" for group in groups if group)
    return (
        f"/* Names of the problem {string(prepared.form.name)}: numbers for trajopt.h. */\n"
        f"#ifndef TRAJOPT_PROBLEM_H\n#define TRAJOPT_PROBLEM_H\n\n{enums}\n\n#endif\n"
    )


def _constants(prepared: Prepared, kept: MeshSession, found: MovingNumbers) -> str:
    """problem.c: the fields of ``problem_data``."""
    text = ConstantText()
    content = {
        "name": string(prepared.form.name),
        **_program(text, kept, found),
        **_answer(text, kept, prepared.form.sense),
        "tolerance": number(prepared.session_settings.tolerance),
        **_limits(text, found),
        **_parameters(text, prepared, kept),
        **_curves(text, kept),
    }
    lines = "".join(f"    .{name} = {value},\n" for name, value in content.items())
    return (
        f"/* Constants of a problem, by trajopt {trajopt.__version__}; see problem_data.h. */\n"
        '#include "problem_data.h"\n\n#include <math.h>\n\n'
        + "\n".join(text.lines)
        + f"\nconst problem_data exported_problem = {{\n{lines}}};\n"
    )


def _program(text: ConstantText, kept: MeshSession, found: MovingNumbers) -> dict[str, Any]:
    program, base = kept.scaled_program, kept.base
    scaled = [program.lower, program.upper, program.g_lower, program.g_upper]
    others = found.numbers[sum(part.size for part in scaled) :]
    return {
        "unknowns": program.unknowns,
        "constraints": program.constraints,
        "blocks": len(program.blocks),
        "cost_blocks": len(kept.program.blocks),
        "linear": text.sparse_lines(program.linear),
        "block": text.structures("program_block", "blocks", map(text.block, program.blocks)),
        "size": text.array("double", base.sizes),
        "row_scale": text.array("double", base.row_scales),
        "start": text.array("double", program.start),
        "numbers": found.numbers.size,
        "number": text.array("double", np.concatenate([*scaled, others])),
    }


def _answer(text: ConstantText, kept: MeshSession, sense: int) -> dict[str, Any]:
    last = kept.last
    return {
        "y": text.array("double", last.y),
        "g": text.array("double", last.g),
        "bound": text.array("double", last.bound_multipliers),
        "constraint": text.array("double", last.constraint_multipliers),
        "objective": number(last.f * sense),
        "sense": number(float(sense)),
    }


def _limits(text: ConstantText, found: MovingNumbers) -> dict[str, Any]:
    given = [fields(g.side, g.phase, g.state, g.base, g.size) for g in found.given]
    values = [fields(v.base, v.output, v.given) for v in found.values]
    followers = [fields(f.number, f.value, f.offset) for f in found.followers]
    orders = [fields(lesser, greater, int(strict)) for lesser, greater, strict in found.orders]
    return {
        "boundaries": len(given),
        "values": len(values),
        "followers": len(followers),
        "orders": len(orders),
        "limits": "NULL" if found.limits is None else f"&{text.tape(found.limits)}",
        "boundary": text.structures("problem_boundary", "boundaries", given),
        "value": text.structures("problem_value", "limit_values", values),
        "follower": text.structures("problem_follower", "followers", followers),
        "order": text.structures("problem_order", "orders", orders),
    }


def _parameters(text: ConstantText, prepared: Prepared, kept: MeshSession) -> dict[str, Any]:
    names, statics = _labels(prepared)
    ranges = _ranges(prepared)
    return {
        "parameters": len(names),
        "parameter": text.array("double", kept.program.parameters),
        "parameter_lower": text.array("double", ranges["lower"]),
        "parameter_upper": text.array("double", ranges["upper"]),
        "parameter_name": text.strings("parameter_names", names),
        "statics": len(statics),
        "first_static": kept.layout.statics.first,
    }


def _curves(text: ConstantText, kept: MeshSession) -> dict[str, Any]:
    nodes = _Nodes()
    phases = [fields(*phase) for phase in _phases(text, kept, nodes)]
    return {
        "phases": len(phases),
        "control_limits": sum(ph.nu for ph in kept.layout.phases),
        "phase": text.structures("problem_phase", "phases", phases),
        "node": text.array("double", nodes.values),
    }


def _ranges(prepared: Prepared) -> dict[str, Array]:
    """Lower and upper limits of all components of the parameters."""
    sides: dict[str, list[Array]] = {"lower": [np.zeros(0)], "upper": [np.zeros(0)]}
    for q in prepared.form.parameters:
        for side, none in (("lower", -np.inf), ("upper", np.inf)):
            limit = getattr(q, side)
            sides[side].append(np.full(q.value.size, none if limit is None else limit))
    return {side: np.concatenate(parts) for side, parts in sides.items()}


class _Nodes:
    """The nodes of polynomials, those that are alike once."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._first: dict[bytes, int] = {}

    def first(self, nodes: Array) -> int:
        key = np.asarray(nodes, dtype=float).tobytes()
        if key not in self._first:
            self._first[key] = len(self.values)
            self.values += np.asarray(nodes, dtype=float).tolist()
        return self._first[key]


def _phases(text: ConstantText, kept: MeshSession, nodes: _Nodes) -> Iterator[list[Any]]:
    """The fields of ``problem_phase``."""
    limit = 0
    for i, ph in enumerate(kept.layout.phases):
        pieces = text.structures(
            "problem_piece", f"pieces_{i}", [fields(*piece) for piece in _pieces(ph, nodes)]
        )
        yield [
            string(ph.form.name), ph.nx, ph.nz, ph.nu, ph.mesh.intervals,
            ph.span_times.shape[0], ph.span_times.first, limit,
            text.array("double", ph.mesh.spans[0]), text.array("double", ph.mesh.breaks), pieces,
            text.strings(f"states_{i}", ph.form.x_names),
            text.strings(f"controls_{i}", ph.form.u_names),
        ]  # fmt: skip
        limit += ph.nu


def _pieces(ph: PhaseLayout, nodes: _Nodes) -> Iterator[tuple[int, int, int, int]]:
    """Fields of ``problem_piece``: of states, algebraic variables and controls, interval by
    interval.
    """
    grid, intervals = ph.grid, range(ph.mesh.intervals)
    for j in range(ph.nx):
        for k in intervals:
            at = grid.rules[k].nodes
            first = ph.states.first + int(grid.first[k]) * ph.nx + j
            yield first, ph.nx, at.size, nodes.first(at)
    for j in range(ph.nz):
        for k in intervals:
            at = grid.rules[k].points
            first = ph.algebraics.first + int(grid.first_point[k]) * ph.nz + j
            yield first, ph.nz, at.size, nodes.first(at)
    for j in range(ph.nu):
        for k in intervals:
            at = ph.control_grid.nodes(k, j)
            yield (
                ph.control_unknowns.first + int(ph.control_grid.offset[k, j]),
                1,
                at.size,
                nodes.first(at),
            )
