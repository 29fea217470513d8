"""``certify``: the independent checks of an answer."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trajopt.commands.boundary import NOT_SOLVED, SOLVED
from trajopt.commands.display import console, table
from trajopt.commands.outputs import Outputs
from trajopt.commands.solving import Wish, solve_name


def run_certify(name: str, settings: Mapping[str, Any], wish: Wish, outputs: Outputs) -> int:
    """Certify a saved answer, or solve a named problem and certify that."""
    from trajopt.storage import load, plain_json

    outputs.check()
    with outputs.clean_standard_output():
        solution = load(name) if Path(name).suffix == ".nc" else solve_name(name, settings, wish).solution
        certificate = importlib.import_module("trajopt.certify").certify(solution)
        if not wish.quiet:
            print_certificate(certificate, solution.problem, error=outputs.json_on_standard_output)
    checks = [{"name": row.name, "value": row.value, "tolerance": row.tolerance, "ok": row.ok} for row in certificate.rows]
    outputs.write_json(plain_json({"problem": solution.problem, "ok": certificate.ok, "checks": checks}))
    return SOLVED if certificate.ok else NOT_SOLVED


def print_certificate(certificate: Any, problem: str, error: bool = False) -> None:
    """Every check with its figure, its tolerance and its verdict."""
    screen = console(error=error)
    verdict, colour = ("certified", "green") if certificate.ok else ("not certified", "red")
    screen.print(f"{problem}: {verdict}", style=f"bold {colour}")
    content = table("check", "figure", "tolerance", "verdict", right=("figure", "tolerance"))
    for row in certificate.rows:
        content.add(row.name, f"{row.value:.2e}", f"{row.tolerance:.0e}", "ok" if row.ok else "FAILS")
    content.print(screen)
