"""``solve``: solve a named problem, print the solution and write it to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.building import Built, build_problem, locating_errors
from trajopt.commands.exit_codes import NOT_SOLVED, SOLVED
from trajopt.commands.outputs import Outputs
from trajopt.commands.plot import SEVERAL, Subject, draw_answers
from trajopt.commands.saved_problem import remembered
from trajopt.commands.signals import BestSolution, saving_on_signals
from trajopt.commands.terminal import (
    console,
    number,
    progress_bar,
    progress_lines,
    say_written,
    text_table,
)
from trajopt.errors import Interrupted, TrajoptError, UsageError

if TYPE_CHECKING:
    from trajopt.direct.collocation import Collocation
    from trajopt.direct.mesh import Mesh
    from trajopt.integrate.simulation import Simulation
    from trajopt.nlp.backends import Backend
    from trajopt.prepared.sensitivity import Slope
    from trajopt.show.drawing import Drawing
    from trajopt.solving.methods import Method
    from trajopt.statement.reference import Reference
    from trajopt.trajectory.curve import Curve
    from trajopt.trajectory.solution import Optimum, PhaseSolution, Solution


@dataclass(frozen=True)
class SolveOptions:
    """The options of ``solve``."""

    method: Method | str = "direct"
    tolerance: float | None = None
    guess: Path | None = None
    verbose: bool = False
    quiet: bool = False
    time_limit: float | None = None
    mesh: str | None = None
    max_passes: int | None = None
    backend: str | None = None
    starts: int = 1
    seed: int = 0
    sensitivity: bool = False

    def chosen(self) -> Method | str:
        """Return the method with the settings of collocation, and with its log printed if
        ``verbose``.
        """
        values = {"--mesh": self.mesh, "--max-passes": self.max_passes, "--backend": self.backend}
        given = [name for name, value in values.items() if value is not None]
        if self.method == "indirect" and given:
            raise UsageError(
                f"{given[0]} belongs to collocation",
                got="--method indirect",
                expected="--method direct or both",
            )
        if not (self.verbose or given):
            return self.method
        if self.method == "indirect":
            from trajopt.indirect.shooting import Shooting

            return Shooting(verbose=True)
        from trajopt.direct.collocation import Collocation
        from trajopt.solving.methods import Both

        method = (
            {"direct": Collocation, "both": Both}[self.method]()
            if isinstance(self.method, str)
            else self.method
        )
        if isinstance(method, Both):
            return replace(
                method,
                direct=self._set(method.direct),
                indirect=replace(method.indirect, verbose=self.verbose),
            )
        return self._set(method) if isinstance(method, Collocation) else method

    def _set(self, method: Collocation) -> Collocation:
        if self.mesh is not None:
            method = replace(method, mesh=parse_mesh(self.mesh))
        if self.max_passes is not None:
            if self.max_passes < 1:
                raise UsageError(
                    "--max-passes", got=self.max_passes, expected="a whole number of at least 1"
                )
            method = replace(method, max_passes=self.max_passes)
        if self.backend is not None:
            method = replace(method, backend=_backend(self.backend, method.backend))
        return replace(method, verbose=self.verbose)

    def check(self) -> None:
        """Raise if a number is out of range."""
        if self.tolerance is not None and not 0 < self.tolerance < 1:
            raise UsageError(
                "--tolerance", got=self.tolerance, expected="a number between 0 and 1, as in 1e-6"
            )
        if self.time_limit is not None and not 0 < self.time_limit < float("inf"):
            raise UsageError(
                "--time-limit", got=self.time_limit, expected="a positive number of seconds"
            )

    def earlier(self) -> Solution | None:
        """Load the saved solution that serves as initial guess."""
        from trajopt.files.storage import load

        return None if self.guess is None else load(self.guess)


def parse_mesh(text: str) -> Mesh:
    """Return a uniform mesh from ``INTERVALS`` or ``INTERVALSxDEGREE``.

    >>> parse_mesh("20x5").intervals, int(parse_mesh("20x5").degrees[0])
    (20, 5)
    >>> int(parse_mesh("8").degrees[0])
    4
    """
    from trajopt.direct.mesh import Mesh

    parts = text.split("x")
    if not 1 <= len(parts) <= 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise UsageError(
            "--mesh", got=text, expected="intervals, or intervals and degree: 20 or 20x5"
        )
    return Mesh.uniform(int(parts[0]), int(parts[1]) if len(parts) == 2 else 4)


def _backend(name: str, before: Backend) -> Backend:
    """Return the named backend with the tolerance of ``before``."""
    from trajopt.nlp.backends import Ipopt
    from trajopt.nlp.interior_point import Compiled

    known: dict[str, Callable[..., Backend]] = {"compiled": Compiled, "ipopt": Ipopt}
    if name not in known:
        raise UsageError("--backend", got=name, expected=" or ".join(known))
    return known[name](tolerance=before.tolerance)


@dataclass(frozen=True)
class Answer:
    """The solution of a named problem, and its published optimum if no setting was changed."""

    solution: Solution
    reference: Reference | None = None


def run_solve(
    name: str, settings: Mapping[str, Any], options: SolveOptions, outputs: Outputs
) -> int:
    """Solve, print the solution, write the files."""
    outputs.check()
    subject = Subject(name, settings)
    if outputs.plot is not None:
        subject.check(outputs.kind)
    drawing = None if outputs.animate is None else subject.drawing()
    best = None if outputs.save is None else BestSolution(outputs.save)
    with outputs.clean_standard_output():
        with saving_on_signals(best):
            answer = solve_name(name, settings, options, best)
            if best is not None:  # first, so that a later failure cannot lose it
                best.hold(answer.solution)
                best.write()
        if not options.quiet:
            print_solution(answer.solution, answer.reference, error=outputs.json_on_standard_output)
        slopes = _slopes(answer.solution) if options.sensitivity else ()
        if slopes and not options.quiet:
            print_slopes(slopes, error=outputs.json_on_standard_output)
        write_solution(answer, outputs, subject)
        if drawing is not None and outputs.animate is not None:
            write_animation(answer.solution, drawing, outputs.animate, options.quiet)
    from trajopt.files.storage import plain_json, summary

    content = summary(answer.solution)
    comparison = answer.solution.comparison
    if comparison is not None:
        content["direct"] = summary(comparison.direct)
        content["comparison"] = plain_json(comparison.to_json())
    if options.sensitivity:
        content["sensitivities"] = plain_json({one.name: asdict(one) for one in slopes})
    outputs.write_json(content)
    say_written(outputs.named.values(), options.quiet)
    return SOLVED if answer.solution.success else NOT_SOLVED


def solve_name(
    name: str, settings: Mapping[str, Any], options: SolveOptions, best: BestSolution | None = None
) -> Answer:
    """Solve a named problem; ``best`` receives the solution on each mesh."""
    options.check()
    guess = options.earlier()
    built = build_problem(name, settings)
    with (
        progress_lines(f"solving {name}", options.quiet, still=options.verbose) as show,
        locating_errors(name),
    ):
        if best is not None:
            best.follow(show, lambda solution: remembered(solution, name, built.settings))
        answer = _solve(built, guess, options, best or show)
    return replace(answer, solution=remembered(answer.solution, name, built.settings))


def _solve(
    built: Built, guess: Solution | None, options: SolveOptions, show: Callable[[str], None]
) -> Answer:
    from trajopt.solving.methods import solve

    try:
        solution = solve(
            built.problem,
            options.chosen(),
            guess,
            dict(built.parameters),
            options.tolerance,
            show,
            options.time_limit,
            starts=options.starts,
            seed=options.seed,
        )
    except Interrupted as stopped:  # it is printed and written, with the exit code of the signal
        solution = stopped.solution
    return Answer(solution, built.reference)


def write_solution(answer: Answer, outputs: Outputs, subject: Subject) -> None:
    """Write CSV and plot, also of a solution that did not converge."""
    solution = answer.solution
    if outputs.csv is not None:
        solution.to_csv(outputs.csv)
    if outputs.plot is not None:
        answers = {solution.method: solution}
        if solution.comparison is not None and outputs.kind in SEVERAL:
            answers = {solution.comparison.direct.method: solution.comparison.direct} | answers
        draw_answers(answers, outputs.kind, outputs.plot, subject, answer.reference)


def write_animation(
    source: Solution | Simulation, drawing: Drawing, path: Path, quiet: bool
) -> None:
    """Write an animation and show a progress bar."""
    from trajopt.show.animate import animate

    with progress_bar(f"drawing {path.name}", quiet) as show:
        animate(source, drawing, path, progress=show)


def print_solution(
    solution: Solution, reference: Reference | None = None, error: bool = False
) -> None:
    """Print a solution."""
    screen = console(error=error)
    colour = "green" if solution.success else "red"
    screen.print(
        f"{solution.problem}: {solution.status.value} ({solution.method})", style=f"bold {colour}"
    )
    screen.print(f"  objective  {solution.objective:.12g}" + _against(solution, reference))
    if solution.comparison is not None:
        screen.print(f"  {solution.comparison.line}")
        screen.print(f"  {solution.comparison.verdict.value}")
    intervals = sum(max(len(ph.breaks) - 1, 0) for ph in solution.phases.values())
    meshes = len(solution.history)
    took = solution.seconds.get("total")
    facts = [
        f"estimated error {solution.error:.1e}",
        f"{intervals} intervals",
        f"{meshes} mesh{'es' if meshes != 1 else ''}",
    ]
    facts += [f"{solution.iterations} iterations"] + ([f"{took:.2f} s"] if took is not None else [])
    screen.print("  " + ", ".join(facts))
    print_optima(solution.optima, error)
    for name, value in solution.variables.items():
        screen.print(f"  {name} = " + ", ".join(number(one) for one in value))
    for phase in solution.phases.values():
        _print_phase(solution, phase, error)
    for line in solution.explanation:
        screen.print(f"  {line}", style="yellow")


def _slopes(solution: Solution) -> tuple[Slope, ...]:
    """Return the derivatives of the objective; none, and a remark, where they do not exist."""
    try:
        return solution.sensitivities()
    except TrajoptError as error:
        console(error=True).print(f"  no sensitivities: {error}", style="yellow")
        return ()


def print_slopes(slopes: tuple[Slope, ...], error: bool = False) -> None:
    """Print the derivatives of the objective by parameters, given values and limits."""
    figures = ("value", "derivative of the objective", "elasticity")
    content = text_table("quantity", *figures, right=figures)
    for one in slopes:
        shown = f"{one.elasticity:.4g}" if one.value else ""
        content.add(one.name, f"{one.value:.7g}", f"{one.objective:.7g}", shown)
    content.print(console(error=error))


def print_optima(optima: tuple[Optimum, ...], error: bool = False) -> None:
    """Print the distinct optima found from several starts, best first."""
    if not optima:
        return
    content = text_table(
        "optimum",
        "objective",
        "status",
        "error",
        "starts",
        right=("optimum", "objective", "error", "starts"),
    )
    for i, one in enumerate(optima, 1):
        content.add(
            str(i),
            f"{one.objective:.9g}",
            one.status.name.lower(),
            f"{one.error:.1e}",
            str(len(one.starts)),
        )
    content.print(console(error=error))


def _against(solution: Solution, reference: Reference | None) -> str:
    if reference is None:
        return ""
    difference = abs(solution.objective - reference.objective) / max(
        abs(reference.objective), 1e-300
    )
    return f"   known {reference.objective:.12g}, relative difference {difference:.1e}"


def _print_phase(solution: Solution, phase: PhaseSolution, error: bool) -> None:
    screen = console(error=error)
    label = f"phase '{phase.name}', " if len(solution.phases) > 1 else ""
    span = phase.tf - phase.t0
    screen.print(
        f"  {label}t from {number(phase.t0, 8, span)} to {number(phase.tf, 8, span)} "
        f"{phase.time_unit}".rstrip()
    )
    figures = ("start", "end", "costate at start", "at end")
    content = text_table(
        "variable", "start", "end", "unit", "costate at start", "at end", right=figures
    )
    for group in (phase.states, phase.controls, phase.algebraics):
        for name, curve in group.items():
            ends = _ends(curve)
            slopes = (
                _ends(phase.costates[name])
                if group is phase.states and name in phase.costates
                else None
            )
            for i, (component, (start, end)) in enumerate(
                zip(curve.labels(name), ends, strict=True)
            ):
                content.add(component, start, end, curve.unit, *(slopes[i] if slopes else ("", "")))
    content.print(screen)
    arcs = [arc for arc in solution.arcs if arc.phase == phase.name]
    if len(arcs) > 1:
        for arc in arcs:
            screen.print(
                f"  {number(arc.start, 8, span)} to {number(arc.end, 8, span)}: {arc.description}"
            )


def _ends(curve: Curve) -> list[tuple[str, str]]:
    """Return the first and last value of each component as text."""
    sizes = abs(curve.points.reshape(-1, curve.size)).max(axis=0)
    first, last = (curve.evaluate(curve.breaks[[k]])[0] for k in (0, -1))
    return [
        (number(a, size=size), number(b, size=size))
        for a, b, size in zip(first, last, sizes, strict=True)
    ]
