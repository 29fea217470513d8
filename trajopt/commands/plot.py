"""``plot``: plots of saved solutions, and the table of plot kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.building import locating_errors, read_settings
from trajopt.commands.exit_codes import SOLVED
from trajopt.commands.outputs import PICTURES, USUAL
from trajopt.commands.saved_problem import check_belongs, rebuilt
from trajopt.commands.terminal import say_written
from trajopt.errors import UsageError, suggest
from trajopt.files.atomic import check_writable

if TYPE_CHECKING:
    from trajopt.integrate.simulation import Simulation
    from trajopt.show.drawing import Drawing, Picture
    from trajopt.statement.reference import Reference
    from trajopt.trajectory.solution import Solution

OF_ANSWERS = {
    USUAL: "states, controls and costates over time",
    "phase": "coordinates against their rates",
    "switching": "controls and their switching functions",
    "mesh": "mesh, error and history of the refinement",
    "invariants": "deviation of the first integrals",
    "reintegration": "the solution at its nodes beside an independent integration",
    "stills": "a sequence of snapshots of the motion",
}
OF_RUNS = {
    USUAL: "states over time and the drift of the invariants",
    "phase": "coordinates against their rates",
    "deviations": "the invariants' deviations with and without stabilization",
    "outputs": "energies, reactions, torques",
    "steps": "the steps of the integrator over time",
    "stills": "a sequence of snapshots of the motion",
}
SEVERAL = (USUAL, "phase")  # kinds that can overlay several solutions
Pairs = Sequence[tuple[str, str]] | None


@dataclass(frozen=True)
class Subject:
    """The subject of a plot: a name, the settings it was built with, and plots and drawings of its
    module.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "problem"

    @property
    def build(self) -> Callable[..., Any]:
        from trajopt.catalogue import builder

        return builder(self.name, self.kind)

    def own(self) -> Mapping[str, Picture]:
        """Return the plots that the problem's module defines."""
        from trajopt.show.drawing import pictures_beside

        with locating_errors(self.name):
            return pictures_beside(self.build)

    def drawing(self) -> Drawing:
        """Return the drawing that the problem's module defines."""
        from trajopt.show.drawing import drawing_beside

        with locating_errors(self.name):
            found = drawing_beside(self.build, read_settings(self.build, self.settings))
        if found is None:
            raise UsageError(
                f"'{self.name}' has no drawing",
                expected="a function 'drawing' in the problem's module that returns a "
                "trajopt.show.drawing.Drawing",
            )
        return found

    def check(self, kind: str) -> None:
        """Raise if this kind of plot is unavailable. Called before solving."""
        usual = OF_ANSWERS if self.kind == "problem" else OF_RUNS
        known = (
            [*usual, *(name for name in self.own() if name not in usual)]
            if kind not in usual
            else list(usual)
        )
        if kind not in known:
            raise UsageError(
                f"'{self.name}' has no plot of kind '{kind}'",
                expected=", ".join(known),
                hint=suggest(kind, known),
            )
        if kind == "stills" and self.kind == "problem":
            self.drawing()


def parse_pairs(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Parse the pairs of ``--axes``.

    >>> parse_pairs(["x,v", "r[0],r[1]"])
    [('x', 'v'), ('r[0]', 'r[1]')]
    """
    pairs = []
    for text in texts:
        names = [name.strip() for name in text.split(",")]
        if len(names) != 2 or not all(names):
            raise UsageError(f"--axes {text}", expected="two names, as in --axes x,v")
        pairs.append((names[0], names[1]))
    return pairs


def draw_answers(
    answers: Mapping[str, Solution],
    kind: str,
    path: Path,
    subject: Subject,
    reference: Reference | None = None,
    pairs: Pairs = None,
) -> None:
    """Plot one solution, or overlay several."""
    first = next(iter(answers.values()))
    if len(answers) > 1 and kind not in SEVERAL:
        raise UsageError(
            f"a plot of kind '{kind}' shows one solution", got=f"{len(answers)} solutions"
        )
    if kind == USUAL:
        from trajopt.show.plots import plot_solution

        plot_solution(answers if len(answers) > 1 else first, path, reference)
    elif kind == "phase":
        from trajopt.show.phase_portrait import plot_phase

        plot_phase(answers if len(answers) > 1 else first, pairs, path)
    elif kind == "stills":
        from trajopt.show.animate import stills

        stills(first, subject.drawing(), path)
    elif kind in OF_ANSWERS:
        from trajopt.show.diagnostic_plots import plot_integrals, plot_mesh, plot_switching
        from trajopt.show.reintegration import plot_reintegration

        draw = {
            "switching": plot_switching,
            "mesh": plot_mesh,
            "invariants": plot_integrals,
            "reintegration": plot_reintegration,
        }
        draw[kind](first, path)
    else:
        _draw_own(first, kind, path, subject)


def draw_run(
    simulation: Simulation,
    kind: str,
    path: Path,
    subject: Subject,
    again: Callable[[], Mapping[str, Simulation]],
) -> None:
    """Plot a simulation.

    ``again`` runs the system with and without stabilization, if the plot needs both.
    """
    if kind == USUAL:
        from trajopt.show.simulation_plots import plot_simulation

        plot_simulation(simulation, path)
    elif kind == "phase":
        from trajopt.show.phase_portrait import plot_phase

        plot_phase(simulation, path=path)
    elif kind == "stills":
        from trajopt.show.animate import stills

        if simulation.system.drawing is None:
            raise UsageError(
                f"'{subject.name}' has no drawing", expected="a System with drawing=Drawing(...)"
            )
        stills(simulation, simulation.system.drawing, path)
    elif kind == "deviations":
        from trajopt.show.deviation_plots import plot_deviations

        plot_deviations(again(), path)
    elif kind == "outputs":
        from trajopt.show.simulation_plots import plot_outputs

        plot_outputs(simulation, path)
    elif kind == "steps":
        from trajopt.show.simulation_plots import plot_steps

        plot_steps(simulation, path)
    else:
        _draw_own(simulation, kind, path, subject)


def _draw_own(source: Solution | Simulation, kind: str, path: Path, subject: Subject) -> None:
    from trajopt.show.figure_style import write_figure

    with locating_errors(subject.name):
        figure = subject.own()[kind](source)
    write_figure(figure, path)


@dataclass(frozen=True)
class PlotOptions:
    """The options of ``plot``."""

    kind: str = USUAL
    problem: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    pairs: Pairs = None


def run_plot(files: Sequence[Path], output: Path, options: PlotOptions, quiet: bool) -> int:
    """Plot saved solutions.

    The problem is rebuilt by name, since its bounds are not in the file.
    """
    from trajopt.files.storage import load

    check_writable(output, PICTURES)
    if options.pairs and options.kind != "phase":
        raise UsageError(
            "--axes is an option of phase portraits", got=options.kind, expected="--kind phase"
        )
    if any(output.resolve() == file.resolve() for file in files):
        raise UsageError(f"'{output}' is the input file", hint="-o plot.png")
    solutions = [load(file) for file in files]
    found = rebuilt(solutions[0], options.problem, options.settings, "bounds of states")
    built, subject = found.built, Subject(found.name, found.settings)
    if built is not None:
        subject.check(options.kind)
        for file, solution in zip(files[1:], solutions[1:], strict=True):
            check_belongs(built, solution, found.name, file)
        form = built.problem.finish()
        solutions = [
            replace(solution, form=form.of_solution(solution.parameters)) for solution in solutions
        ]
    elif options.kind not in OF_ANSWERS or options.kind == "stills":
        raise UsageError(
            f"a plot of kind '{options.kind}' needs the problem",
            expected=", ".join(kind for kind in OF_ANSWERS if kind != "stills"),
            hint="give it by --problem ./mine.py:build",
        )
    answers = dict(zip(_labels(files, solutions), solutions, strict=True))
    reference = built.reference if built is not None and len(answers) == 1 else None
    draw_answers(answers, options.kind, output, subject, reference, options.pairs)
    say_written([output], quiet, found.remarks)
    return SOLVED


def _labels(files: Sequence[Path], solutions: Sequence[Solution]) -> list[str]:
    """Return the methods if they are distinct, otherwise the file names."""
    methods = [solution.method for solution in solutions]
    if len(set(methods)) == len(methods):
        return methods
    names = [file.stem for file in files]
    return names if len(set(names)) == len(names) else [str(file) for file in files]
