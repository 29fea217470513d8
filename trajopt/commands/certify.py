"""``certify``: independent checks of a solution."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.building import build_problem
from trajopt.commands.exit_codes import NOT_SOLVED, SOLVED
from trajopt.commands.outputs import Outputs
from trajopt.commands.saved_problem import recalled, unnamed, with_parameters
from trajopt.commands.solve import SolveOptions, print_optima, solve_name
from trajopt.commands.terminal import console, progress_lines, say_written, text_table
from trajopt.errors import UsageError

if TYPE_CHECKING:
    from trajopt.certificate import Certificate
    from trajopt.certificate.long_steps import LongSteps
    from trajopt.statement.reference import Reference
    from trajopt.trajectory.solution import Solution


@dataclass(frozen=True)
class CertifyOptions:
    """The claim to certify, and how the forward validation is stabilized."""

    claim: str = "extremal"
    stabilize: str | None = None
    gain: float | tuple[float, ...] | None = None
    integrator: str | None = None
    step: float | None = None

    def long_steps(self) -> LongSteps:
        from trajopt.certificate.long_steps import LongSteps
        from trajopt.commands.simulate import chosen_stabilization
        from trajopt.integrate.fixed_step import positive
        from trajopt.integrate.integrator_names import integrator

        if self.gain is not None and self.stabilize is None:
            raise UsageError("--gain needs a stabilization", hint="--stabilize baumgarte")
        step = None if self.step is None else positive(self.step, "--step")
        law = chosen_stabilization(self.stabilize, self.gain)
        scheme = None if self.integrator is None else integrator(self.integrator)
        return LongSteps(law, scheme, step)


def run_certify(
    name: str,
    problem: str | None,
    settings: Mapping[str, Any],
    options: SolveOptions,
    outputs: Outputs,
    what: CertifyOptions | None = None,
) -> int:
    """Certify a saved solution, or solve a named problem by both methods and certify the result."""
    from trajopt.certificate.table import CLAIMS

    what = what or CertifyOptions()
    outputs.check()
    options.check()
    from trajopt.files.answers import SUFFIXES

    saved = Path(name).suffix == ".nc"
    table = Path(name).suffix in SUFFIXES
    if problem is not None and not (saved or table):
        raise UsageError(
            "--problem applies to a saved solution only",
            got=name,
            hint=f"trajopt certify {problem}",
        )
    if (saved or table) and options.starts > 1:
        raise UsageError(
            "--starts applies to a named problem only",
            got=name,
            hint="trajopt certify NAME --starts 20",
        )
    if what.claim not in CLAIMS[1:]:
        raise UsageError("--claim", got=what.claim, expected=", ".join(CLAIMS[1:]))
    long_steps = what.long_steps()
    with outputs.clean_standard_output():
        certificate = (
            _of_table(name, problem, settings, options, long_steps)
            if table
            else _of_file(name, problem, settings, options, long_steps)
            if saved
            else _of_name(name, settings, options, long_steps)
        )
        certificate = replace(certificate, asked=what.claim)
        if not options.quiet:
            print_certificate(certificate, error=outputs.json_on_standard_output)
    outputs.write_json(certificate.to_json())
    say_written(outputs.named.values(), options.quiet)
    return SOLVED if certificate.ok else NOT_SOLVED


def _of_file(
    name: str,
    problem: str | None,
    settings: Mapping[str, Any],
    options: SolveOptions,
    long_steps: LongSteps,
) -> Certificate:
    """Certify a file.

    The problem is rebuilt from the name and the settings in it; settings given now take precedence.
    """
    from trajopt.files.storage import load

    solution = load(name)
    known, own = recalled(solution, settings)
    try:
        if problem is None and not known:
            raise unnamed(solution)
        built = build_problem(problem or known, own)
    except UsageError as error:
        raise UsageError(
            f"{name} is a solution of problem {solution.problem!r}, which cannot be built: "
            f"{error.what}",
            hint="give the problem by --problem ./mine.py:build, its settings by --set"
            if problem is None
            else error.hint,
        ) from error
    solution = replace(with_parameters(solution, built, settings), form=built.problem.finish())
    return _certified(solution, built.reference, None, options, time.perf_counter(), long_steps)


def _of_table(
    name: str,
    problem: str | None,
    settings: Mapping[str, Any],
    options: SolveOptions,
    long_steps: LongSteps,
) -> Certificate:
    """Certify times, states and controls that another tool wrote."""
    from trajopt.files.answers import read_answer

    if problem is None:
        raise UsageError(
            f"{name} does not say which problem it answers",
            hint="give the problem by --problem ./mine.py:build",
        )
    begun = time.perf_counter()
    built = build_problem(problem, settings)
    return _certified(
        read_answer(name, built.problem), built.reference, None, options, begun, long_steps
    )


def _certified(
    solution: Solution,
    reference: Reference | None,
    other: Solution | None,
    options: SolveOptions,
    begun: float,
    long_steps: LongSteps,
) -> Certificate:
    """Certify within what remains of a time limit and print the name of each check."""
    from trajopt.certificate import certify

    left = (
        None
        if options.time_limit is None
        else max(options.time_limit - (time.perf_counter() - begun), 0.0)
    )
    with progress_lines(
        f"certifying {solution.problem}", options.quiet, still=options.verbose
    ) as show:
        return certify(
            solution,
            None,
            reference,
            other,
            options.tolerance,
            left,
            lambda name: show(f"checking {name}"),
            long_steps,
        )


def _of_name(
    name: str, settings: Mapping[str, Any], options: SolveOptions, long_steps: LongSteps
) -> Certificate:
    """Certify the direct solution against that of shooting; ``--method indirect`` reverses them,
    ``direct`` omits shooting.
    """
    from trajopt.direct.collocation import Collocation
    from trajopt.solving.methods import Both

    begun = time.perf_counter()
    alone = options.method == "direct" or options.starts > 1
    if options.starts > 1:  # several starts take longer than a certificate
        options = replace(options, method="direct")
    # Certify the solution that ``solve`` returns, at the same tolerance.
    answer = solve_name(
        name, settings, options if alone else replace(options, method=Both(direct=Collocation()))
    )
    found = answer.solution.comparison
    if found is None or found.indirect is None:
        return _certified(answer.solution, answer.reference, None, options, begun, long_steps)
    if options.method == "indirect" and found.indirect.phases:
        return _certified(
            found.indirect, answer.reference, found.direct, options, begun, long_steps
        )
    return _certified(found.direct, answer.reference, found.indirect, options, begun, long_steps)


def print_certificate(certificate: Certificate, error: bool = False) -> None:
    """Print every check with its value, its tolerance and its verdict."""
    from trajopt.certificate.table import figures, verdict

    screen = console(error=error)
    for name, value in certificate.settings.items():
        screen.print(f"  {name}: {value}")
    screen.print(
        f"{certificate.problem}: {certificate.verdict}",
        style=f"bold {'green' if certificate.ok else 'red'}",
    )
    content = text_table("check", "value", "tolerance", "verdict", right=("value", "tolerance"))
    for row in certificate.checks:
        content.add(row.name, *figures(row), verdict(row))
    content.print(screen)
    print_optima(certificate.optima, error)
