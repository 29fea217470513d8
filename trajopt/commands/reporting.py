"""``report``: one page about a saved answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.boundary import SOLVED
from trajopt.commands.building import Built, blaming, build_problem
from trajopt.commands.display import console
from trajopt.commands.recalling import recalled, with_parameters
from trajopt.errors import FileError, TrajoptError, UsageError
from trajopt.files import check_writable

if TYPE_CHECKING:
    from trajopt.certificate import Certificate
    from trajopt.show.drawing import Drawing
    from trajopt.solution import Solution


def run_report(file: Path, output: Path, problem: str | None, settings: Mapping[str, Any], quiet: bool) -> int:
    """Load, build the problem anew by its name, certify, write.

    An answer whose problem cannot be built still gets its report, without statement, certificate and animation.
    """
    from trajopt.show.report import write_report
    from trajopt.storage import load

    check_writable(output, (".html", ".htm"))
    if output.resolve() == file.resolve():
        raise FileError(f"'{output}' is the answer itself", hint="-o report.html")
    solution = load(file)
    needed = problem is not None or bool(settings)
    own, (known, settings) = settings, recalled(solution, settings)
    name = problem or known
    built, remarks = _build(name, settings, needed)
    certificate: Certificate | None = None
    drawing: Drawing | None = None
    statement = ""
    if built is not None:
        check_belongs(built, solution, name)
        statement = str(built.problem)
        solution = replace(with_parameters(solution, built, own), form=built.problem.finish())
        certificate, failed = _certified(solution, built)
        remarks += failed
        drawing = _drawing(name, settings)
    commands = _commands(solution, name, settings, file, output, problem)
    write_report(solution, output, certificate, drawing, statement, commands)
    screen = console(error=True, quiet=quiet)
    for remark in remarks:
        screen.print(f"  {remark}", style="yellow")
    screen.print(f"wrote {output}")
    return SOLVED


def _build(name: str, settings: Mapping[str, Any], needed: bool) -> tuple[Built | None, list[str]]:
    try:
        return build_problem(name, settings), []
    except UsageError as error:
        if needed:
            raise
        return None, [f"without statement, certificate and animation: {error.what}; --problem ./mine.py:build names the problem"]


def check_belongs(built: Built, solution: Solution, name: str) -> None:
    """A statement beside an answer to another problem would mislead."""
    for phase, stated in built.problem.phases.items():
        names = {d.name for d in stated.of_kind("state")}
        if phase not in solution.phases or names != set(solution.phases[phase].states):
            raise UsageError(
                f"the answer is not one of problem '{name}'",
                got=f"phases {', '.join(solution.phases)} with states "
                + ", ".join(n for ph in solution.phases.values() for n in ph.states),
                hint="--problem names the problem it answers",
            )


def _certified(solution: Solution, built: Built) -> tuple[Certificate | None, list[str]]:
    from trajopt.certificate import certify

    try:
        return certify(solution, built.problem.finish(), built.reference), []
    except TrajoptError as error:
        return None, [f"without certificate: {error.what}"]


def _drawing(name: str, settings: Mapping[str, Any]) -> Drawing | None:
    from trajopt.catalogue import builder
    from trajopt.show.drawing import drawing_beside

    with blaming(name):
        return drawing_beside(builder(name, "problem"), settings)


def _commands(
    solution: Solution, name: str, settings: Mapping[str, Any], file: Path, output: Path, problem: str | None
) -> list[str]:
    import numpy as np

    sets = "".join(f" --set {shlex.quote(f'{key}={_text(value)}')}" for key, value in settings.items())
    tolerance = f" --tolerance {solution.tolerance:g}" if np.isfinite(solution.tolerance) else ""
    named = f" --problem {shlex.quote(problem)}" if problem else ""
    return [
        f"trajopt solve {shlex.quote(name)}{sets} --method {solution.method}{tolerance} --save {shlex.quote(file.name)}",
        f"trajopt report {shlex.quote(file.name)}{named}{sets} -o {shlex.quote(output.name)}",
    ]


def _text(value: Any) -> str:
    return ",".join(str(one) for one in value) if isinstance(value, (tuple, list)) else str(value)
