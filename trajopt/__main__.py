"""The command line: everything by name from a shell. The only home of option strings.

Heavy libraries are imported inside the commands, so that ``trajopt --help`` answers at once.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trajopt.commands.exit_codes import reported

app = typer.Typer(
    name="trajopt",
    help="Optimal-control trajectories of mechanical systems, with a certificate. "
    "Exit code 0: solved (and certified, where asked); 1: not; 2: bad input; "
    "129, 130, 143: stopped by SIGHUP, SIGINT, SIGTERM.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class MethodName(StrEnum):
    direct = "direct"
    indirect = "indirect"
    both = "both"


def _complete(incomplete: str) -> list[tuple[str, str]]:
    from trajopt.catalogue import named_problems

    return [(name, entry.summary) for name, entry in named_problems().items() if name.startswith(incomplete)]


NAME_HELP = "A name from 'trajopt list', or ./mine.py:build."
Name = Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP, autocompletion=_complete)]
NameOrFile = Annotated[
    str, typer.Argument(metavar="NAME|FILE.nc", help=NAME_HELP + " Or a saved answer.", autocompletion=_complete)
]
File = Annotated[Path, typer.Argument(metavar="FILE.nc", help="A saved answer.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change an argument or a parameter; repeatable.")
]
ParametersOption = Annotated[
    Path | None,
    typer.Option("--parameters", metavar="FILE.toml", help="Values of arguments and parameters; --set overrides them."),
]
MethodOption = Annotated[
    MethodName, typer.Option("--method", help="Collocation, multiple shooting on the maximum principle, or both.")
]
Tolerance = Annotated[float | None, typer.Option("--tolerance", metavar="NUMBER", help="Estimated relative error to reach.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="Wall-clock time; then the best answer so far, exit code 1."),
]
GuessOption = Annotated[Path | None, typer.Option("--guess", metavar="FILE.nc", help="Begin at a saved answer.")]
Save = Annotated[Path | None, typer.Option("--save", metavar="FILE.nc", help="Keep the result (netCDF).")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw the result (png, pdf, svg).")]
KINDS = "trajectories, phase, switching, mesh, invariants, reintegration, stills, or one of the problem's own."
PlotKind = Annotated[str, typer.Option("--plot-kind", metavar="KIND", help=KINDS)]
RunPlotKind = Annotated[
    str,
    typer.Option("--plot-kind", metavar="KIND", help="trajectories, phase, deviations, outputs, stills, or one of its own."),
]
Animate = Annotated[
    Path | None, typer.Option("--animate", metavar="FILE.gif", help="Show the motion (gif; mp4 where ffmpeg is installed).")
]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE.csv", help="Write the result as a table.")]
Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write a summary; '-' is standard output, with nothing else on it.")
]
Starts = Annotated[
    int, typer.Option("--starts", metavar="N", help="Solve from so many starts, in parallel, and keep the best answer.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of the starts beside the first.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show the solver's own log, and where an error came from.")]
Traces = Annotated[bool, typer.Option("-v", "--verbose", help="Show where an error came from.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show nothing but errors.")]
IntegratorOption = Annotated[
    str,
    typer.Option("--integrator", metavar="NAME", help="euler, heun, rk4, gill, newmark, fehlberg, dop853, radau or sundials."),
]
Step = Annotated[float | None, typer.Option("--step", metavar="SECONDS", help="Of an integrator with fixed steps.")]
StepTolerance = Annotated[
    float | None, typer.Option("--tolerance", metavar="NUMBER", help="Of an integrator that chooses its steps.")
]
Until = Annotated[float | None, typer.Option("--until", metavar="SECONDS", help="How long; the system's own default otherwise.")]
Stabilize = Annotated[
    str | None,
    typer.Option(
        "--stabilize", metavar="METHOD", help="Keep the invariants: baumgarte, minimum-norm, hamiltonian, projection or none."
    ),
]
Gain = Annotated[
    str | None,
    typer.Option(
        "--gain",
        metavar="NUMBER",
        help="Of the stabilization, or one for each row (1,1000); chosen from step and scheme otherwise.",
    ),
]
Agreement = Annotated[
    float | None,
    typer.Option("--tolerance", metavar="NUMBER", help="Exit code 1 where objective, times or states differ by more."),
]

ProblemName = Annotated[
    str | None,
    typer.Option("--problem", metavar="NAME", help="The problem it answers, where the file's name for it is not enough."),
]


def _version(asked: bool) -> None:
    if asked:
        from trajopt import __version__
        from trajopt.compiled.library import description

        typer.echo(f"trajopt {__version__} ({description()})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command("list", epilog="Example: trajopt list --family classical")
@reported
def list_(family: Annotated[str | None, typer.Option("--family", metavar="NAME", help="Only this family.")] = None) -> int:
    """The named problems and systems."""
    from trajopt.commands.list import run_list

    return run_list(family)


@app.command(epilog="Example: trajopt show goddard-cops --write-parameters rocket.toml")
@reported
def show(
    name: Name, settings: Set = None, parameters: ParametersOption = None,
    write_parameters: Annotated[
        Path | None, typer.Option("--write-parameters", metavar="FILE.toml", help="Write what can be set as a parameter file.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Write out every expression, however long.")] = False,
) -> int:  # fmt: skip
    """A problem as one would write it on paper, with what can be set and its known answer."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.show import run_show

    return run_show(name, given_settings(settings, parameters), full, write_parameters)


@app.command(epilog="Example: trajopt solve cart-pole --set duration=2.5 --save a.nc --plot a.png")
@reported
def solve(
    name: Name, settings: Set = None, parameters: ParametersOption = None, method: MethodOption = MethodName.direct,
    tolerance: Tolerance = None,
    guess: GuessOption = None, save: Save = None, plot: Plot = None, plot_kind: PlotKind = "trajectories",
    animate: Animate = None, csv: Csv = None, json: Json = None, verbose: Verbose = False, quiet: Quiet = False,
    time_limit: TimeLimit = None,
    mesh: Annotated[
        str | None, typer.Option("--mesh", metavar="N[xDEGREE]", help="Intervals of the first mesh, and the degree on them.")
    ] = None,
    max_passes: Annotated[
        int | None, typer.Option("--max-passes", metavar="N", help="Most meshes to solve; 1 keeps the first.")
    ] = None,
    backend: Annotated[
        str | None, typer.Option("--backend", metavar="NAME", help="What solves the programs: compiled or ipopt.")
    ] = None,
    starts: Starts = 1, seed: Seed = 0,
) -> int:  # fmt: skip
    """Solve a problem."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.solve import SolveOptions, run_solve

    options = SolveOptions(method.value, tolerance, guess, verbose, quiet, time_limit, mesh, max_passes, backend, starts, seed)
    return run_solve(name, given_settings(settings, parameters), options, Outputs(save, plot, csv, json, animate, plot_kind))


@app.command(epilog="Example: trajopt simulate sleigh --integrator euler --step 0.001 --stabilize baumgarte --plot a.png")
@reported
def simulate(
    name: Name, settings: Set = None, parameters: ParametersOption = None, integrator: IntegratorOption = "dop853",
    step: Step = None, tolerance: StepTolerance = None,
    until: Until = None, stabilize: Stabilize = None, gain: Gain = None, save: Save = None, plot: Plot = None,
    plot_kind: RunPlotKind = "trajectories", animate: Animate = None, csv: Csv = None, json: Json = None,
    verbose: Traces = False, quiet: Quiet = False,
) -> int:  # fmt: skip
    """Run a system forward and show the drift of its invariants."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.simulate import SimulateOptions, parse_gain, run_simulate

    run = SimulateOptions(integrator, step, tolerance, until, stabilize, parse_gain(gain), quiet)
    return run_simulate(name, given_settings(settings, parameters), run, Outputs(save, plot, csv, json, animate, plot_kind))


@app.command(epilog="Example: trajopt certify moon-lander --set height=20")
@reported
def certify(
    name: NameOrFile, problem: ProblemName = None, settings: Set = None, parameters: ParametersOption = None,
    method: MethodOption = MethodName.both,
    claim: Annotated[
        str, typer.Option("--claim", metavar="CLAIM", help="feasible, extremal or minimum: what exit code 0 stands for.")
    ] = "extremal",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Wall-clock time in all; two minutes by default.")
    ] = None,
    tolerance: Tolerance = None, json: Json = None, verbose: Verbose = False, quiet: Quiet = False,
) -> int:  # fmt: skip
    """Check an answer independently of how it was found: is it feasible, extremal, a minimum?"""
    from trajopt.commands.building import given_settings
    from trajopt.commands.certify import CertifyOptions, run_certify
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.solve import SolveOptions

    options = SolveOptions(method.value, tolerance, None, verbose, quiet, time_limit)
    return run_certify(name, problem, given_settings(settings, parameters), options, Outputs(json=json), CertifyOptions(claim))


@app.command(epilog="Example: trajopt sweep moon-lander --over height=5:25:9 --over limit=3,4 --save landings --plot a.png")
@reported
def sweep(
    name: Name,
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="KEY=VALUES", help="Values to try: from:to:count, or a,b,c; repeatable for a grid."),
    ] = None,
    settings: Set = None, parameters: ParametersOption = None, method: MethodOption = MethodName.direct,
    tolerance: Tolerance = None, guess: GuessOption = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FOLDER", help="Keep every answer; the same command goes on from there.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Solve anew what an earlier sweep left in the folder.")] = False,
    chained: Annotated[
        bool, typer.Option("--chained/--single", help="Begin each solve at the answer beside it, or by itself.")
    ] = True,
    workers: Annotated[int, typer.Option("--workers", metavar="NUMBER", help="Processes on this machine.")] = 1,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="ADDRESS", help="A Dask scheduler, as in tcp://host:8786.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Solve those again that failed in an earlier sweep in the folder.")
    ] = False,
    row_time_limit: Annotated[
        float | None, typer.Option("--row-time-limit", metavar="SECONDS", help="For each row; one that takes longer is ended.")
    ] = None,
    memory_limit: Annotated[
        float | None, typer.Option("--memory-limit", metavar="MIB", help="For each row; one that takes more is ended.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what there is to solve, and solve nothing.")] = False,
    plot: Plot = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="NAME", help="To draw: objective, tf, 'final x', ... as in the table; repeatable."),
    ] = None,
    csv: Csv = None, json: Json = None, quiet: Quiet = False,
) -> int:  # fmt: skip
    """Solve a problem for many values of its settings.

    Rows are solved in processes of their own. One that fails, exits, crashes or takes too long is noted and does not stop the
    others. Exit code 0 only when all rows are solved.
    """
    from trajopt.commands.building import given_settings
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.solve import SolveOptions
    from trajopt.commands.sweep import SweepOptions, parse_over, run_sweep

    drawn = tuple(column or ["objective"])
    how = SweepOptions(save, again, chained, workers, cluster, drawn, retry_failed, row_time_limit, memory_limit, dry_run)
    options = SolveOptions(method.value, tolerance, guess, quiet=quiet)
    return run_sweep(
        name,
        parse_over(over or []),
        given_settings(settings, parameters),
        options,
        how,
        Outputs(plot=plot, csv=csv, json=json),
    )


@app.command("sweep-status", epilog="Example: trajopt sweep-status landings")
@reported
def sweep_status(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of 'trajopt sweep --save FOLDER'.")], json: Json = None
) -> int:
    """How far a sweep is, whether it runs or was ended; exit code 0 when all rows are solved."""
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.sweep import run_sweep_status

    return run_sweep_status(folder, Outputs(json=json))


@app.command(epilog="Example: trajopt compare a.nc b.nc --tolerance 1e-6")
@reported
def compare(first: File, second: File, tolerance: Agreement = None, json: Json = None, quiet: Quiet = False) -> int:
    """How far two saved answers agree."""
    from trajopt.commands.compare import run_compare
    from trajopt.commands.outputs import Outputs

    return run_compare(first, second, tolerance, Outputs(json=json), quiet)


@app.command(epilog="Example: trajopt plot a.nc b.nc -o both.png")
@reported
def plot(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.nc...", help="Saved answers; several are drawn over one another.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.png", help="Where to draw (png, pdf, svg).")],
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help=KINDS)] = "trajectories",
    axes: Annotated[
        list[str] | None, typer.Option("--axes", metavar="X,Y", help="Two variables for a phase portrait; repeatable.")
    ] = None,
    problem: ProblemName = None,
    settings: Set = None,
    parameters: ParametersOption = None,
    quiet: Quiet = False,
) -> int:
    """Pictures of saved answers."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.plot import PlotOptions, parse_pairs, run_plot

    options = PlotOptions(kind, problem, given_settings(settings, parameters), parse_pairs(axes or []))
    return run_plot(files, output, options, quiet)


@app.command(epilog="Example: trajopt report a.nc -o report.html")
@reported
def report(
    file: File,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.html", help="Where to write it.")],
    problem: ProblemName = None,
    settings: Set = None,
    parameters: ParametersOption = None,
    quiet: Quiet = False,
) -> int:
    """One page to mail about a saved answer: certificate, charts, animation."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.report import run_report

    return run_report(file, output, problem, given_settings(settings, parameters), quiet)


@app.command(epilog="Example: trajopt gallery pictures --family classical")
@reported
def gallery(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where results and pictures go; made if missing.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAMES...", help="Only these; everything otherwise.", autocompletion=_complete)
    ] = None,
    family: Annotated[str | None, typer.Option("--family", metavar="NAME", help="Only this family.")] = None,
    films: Annotated[bool, typer.Option("--films", help="Animations (gif) as well.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also what an earlier run left in the folder.")] = False,
    quiet: Quiet = False,
) -> int:
    """Contact sheets and a page with pictures of every named problem and system.

    One that fails is noted and does not stop the others; the same command goes on where an earlier one was interrupted.
    """
    from trajopt.commands.gallery import GalleryOptions, run_gallery

    return run_gallery(folder, GalleryOptions(tuple(names or ()), family, again, films, quiet))


@app.command(epilog="Example: trajopt new mine.py && trajopt solve ./mine.py:build --plot mine.png")
@reported
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE.py", help="Where to write it; an existing file is never touched.")],
) -> int:
    """Write a small commented problem of your own that runs."""
    from trajopt.commands.new import run_new

    return run_new(file)


def main() -> None:
    """The entry point of the ``trajopt`` command."""
    app()


if __name__ == "__main__":
    main()
