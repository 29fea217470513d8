"""``export``: a named problem, solved and prepared, as a C program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trajopt.commands.building import build_problem, check_settings, locating_errors
from trajopt.commands.exit_codes import SOLVED
from trajopt.commands.terminal import console, progress_lines
from trajopt.errors import UsageError


def run_export(
    name: str, settings: Mapping[str, Any], folder: Path, tolerance: float | None, quiet: bool
) -> int:
    """Solve the problem and write the program that solves it again."""
    from trajopt.prepared.exporting import check_folder
    from trajopt.prepared.preparing import prepare

    if tolerance is not None and not 0 < tolerance < 1:
        raise UsageError("--tolerance", got=tolerance, expected="a number between 0 and 1")
    check_folder(folder)
    check_settings(name, settings)
    built = build_problem(name, settings)
    with progress_lines(f"solving {name}", quiet), locating_errors(name):
        prepared = prepare(built.problem, tolerance=tolerance)
        prepared.solve(dict(built.parameters)).check()
    files = prepared.export(folder)
    console(error=True, quiet=quiet).print(
        f"wrote {len(files)} files to {folder}; next: {folder / 'README.md'}"
    )
    return SOLVED
