"""``certify``: the independent checks of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.boundary import NOT_SOLVED, SOLVED
from trajopt.commands.building import build_problem
from trajopt.commands.display import console, say_written, table
from trajopt.commands.outputs import Outputs
from trajopt.commands.recalling import read_answer, recalled, unnamed, with_parameters
from trajopt.commands.solving import Wish, solve_name
from trajopt.errors import UsageError

if TYPE_CHECKING:
    from trajopt.certificate import Certificate


def run_certify(name: str, problem: str | None, settings: Mapping[str, Any], wish: Wish, outputs: Outputs) -> int:
    """Certify a saved answer, or solve a named problem both ways and certify that."""
    outputs.check()
    saved = Path(name).suffix == ".nc"
    if problem is not None and not saved:
        raise UsageError("--problem is for a saved answer", got=name, hint=f"trajopt certify {problem}")
    with outputs.clean_standard_output():
        certificate = _of_file(name, problem, settings, wish.quiet) if saved else _of_name(name, settings, wish)
        if not wish.quiet:
            print_certificate(certificate, error=outputs.json_on_standard_output)
    outputs.write_json(certificate.to_json())
    say_written(outputs.named.values(), wish.quiet)
    return SOLVED if certificate.ok else NOT_SOLVED


def _of_file(name: str, problem: str | None, settings: Mapping[str, Any], quiet: bool) -> Certificate:
    """The problem is built anew by the name and the settings in the file; those given now win."""
    from trajopt.certificate import certify

    solution = read_answer(name, quiet)
    known, own = recalled(solution, settings)
    try:
        if problem is None and not known:
            raise unnamed(solution)
        built = build_problem(problem or known, own)
    except UsageError as error:
        raise UsageError(
            f"{name} answers problem {solution.problem!r}, which cannot be built: {error.what}",
            hint="--problem ./mine.py:build names the problem, --set its settings" if problem is None else error.hint,
        ) from error
    return certify(with_parameters(solution, built, settings), built.problem.finish(), built.reference)


def _of_name(name: str, settings: Mapping[str, Any], wish: Wish) -> Certificate:
    """The direct answer beside that of shooting; with ``--method indirect`` the other way round, with ``direct`` alone."""
    from trajopt.certificate import certify
    from trajopt.direct.collocation import Collocation
    from trajopt.solving import Both

    alone = wish.method == "direct"
    # The certificate is of the answer that ``solve`` gives, at the same tolerance.
    answer = solve_name(name, settings, wish if alone else replace(wish, method=Both(direct=Collocation())))
    found = answer.solution.comparison
    if found is None or found.indirect is None:
        return certify(answer.solution, reference=answer.reference)
    if wish.method == "indirect" and found.indirect.phases:
        return certify(found.indirect, reference=answer.reference, other=found.direct)
    return certify(found.direct, reference=answer.reference, other=found.indirect)


def print_certificate(certificate: Certificate, error: bool = False) -> None:
    """Every check with its figure, its tolerance and its verdict."""
    from trajopt.certificate.table import figures, verdict

    screen = console(error=error)
    word, colour = ("certified", "green") if certificate.ok else ("not certified", "red")
    screen.print(f"{certificate.problem}: {word}", style=f"bold {colour}")
    content = table("check", "figure", "tolerance", "verdict", right=("figure", "tolerance"))
    for row in certificate.checks:
        content.add(row.name, *figures(row), verdict(row))
    content.print(screen)
