"""``report``: a self-contained HTML page about a saved solution."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.building import Built, locating_errors
from trajopt.commands.exit_codes import SOLVED
from trajopt.commands.saved_problem import Recalled, rebuilt, with_parameters
from trajopt.commands.terminal import say_written
from trajopt.errors import FileError, TrajoptError
from trajopt.files.atomic import check_writable

if TYPE_CHECKING:
    from trajopt.certificate import Certificate
    from trajopt.show.drawing import Drawing
    from trajopt.trajectory.solution import Solution


def run_report(
    file: Path, output: Path, problem: str | None, settings: Mapping[str, Any], quiet: bool
) -> int:
    """Load a solution, rebuild its problem by name, certify it and write the report.

    If the problem cannot be built, the report has no statement, certificate and animation.
    """
    from trajopt.files.storage import load
    from trajopt.show.planar import planar_drawing
    from trajopt.show.report_page import write_report

    check_writable(output, (".html", ".htm"))
    if output.resolve() == file.resolve():
        raise FileError(f"'{output}' is the input file", hint="-o report.html")
    solution = load(file)
    found = rebuilt(solution, problem, settings, "statement, certificate and animation")
    remarks = list(found.remarks)
    certificate: Certificate | None = None
    drawing: Drawing | None = None
    statement = ""
    if found.built is not None:
        statement = str(found.built.problem)
        solution = replace(
            with_parameters(solution, found.built, settings), form=found.built.problem.finish()
        )
        certificate, failed = _certified(solution, found.built)
        remarks += failed
        drawing = _drawing(found) or planar_drawing(solution)
    commands = _commands(solution, found, file, output, problem)
    write_report(solution, output, certificate, drawing, statement, commands)
    say_written([output], quiet, remarks)
    return SOLVED


def _certified(solution: Solution, built: Built) -> tuple[Certificate | None, list[str]]:
    from trajopt.certificate import certify

    try:
        return certify(solution, built.problem.finish(), built.reference), []
    except TrajoptError as error:
        return None, [f"without certificate: {error.what}"]


def _drawing(found: Recalled) -> Drawing | None:
    from trajopt.catalogue import builder
    from trajopt.show.drawing import drawing_beside

    with locating_errors(found.name):
        return drawing_beside(builder(found.name, "problem"), found.settings)


def _commands(
    solution: Solution, found: Recalled, file: Path, output: Path, problem: str | None
) -> list[str]:
    import numpy as np

    sets = "".join(
        f" --set {shlex.quote(f'{key}={_text(value)}')}" for key, value in found.settings.items()
    )
    tolerance = f" --tolerance {solution.tolerance:g}" if np.isfinite(solution.tolerance) else ""
    named = f" --problem {shlex.quote(problem)}" if problem else ""
    name = shlex.quote(found.name or solution.problem)
    return [
        f"trajopt solve {name}{sets} --method {shlex.quote(solution.method)}{tolerance} --save "
        f"{shlex.quote(file.name)}",
        f"trajopt report {shlex.quote(file.name)}{named}{sets} -o {shlex.quote(output.name)}",
    ]


def _text(value: Any) -> str:
    return ",".join(str(one) for one in value) if isinstance(value, (tuple, list)) else str(value)
