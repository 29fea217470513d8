"""The command line interface. Option strings are defined only here.

Heavy libraries are imported inside the commands, so that ``trajopt --help`` is fast.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" or sys.argv[0].endswith(
    "/trajopt"
):  # a signal counts while the libraries are loaded, too
    from trajopt.commands.signals import end_at_once

    end_at_once()

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trajopt.commands.exit_codes import reported

app = typer.Typer(
    name="trajopt",
    help="Optimal-control trajectories of mechanical systems, with a certificate. "
    "Exit code 0: solved (for certify: claim proved); 1: not; 2: invalid input;  "
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

    return [
        (name, entry.summary)
        for name, entry in named_problems().items()
        if name.startswith(incomplete)
    ]


NAME_HELP = "A name from 'trajopt list', or ./mine.py:build."
Name = Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP, autocompletion=_complete)]
NameOrFile = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE.nc", help=NAME_HELP + " Or a saved solution.", autocompletion=_complete
    ),
]
File = Annotated[Path, typer.Argument(metavar="FILE.nc", help="A saved solution.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set an argument or a parameter; repeatable."),
]
ParametersOption = Annotated[
    Path | None,
    typer.Option(
        "--parameters",
        metavar="FILE.toml",
        help="Values of arguments and parameters; --set overrides them.",
    ),
]
RobotStart = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="Q", help="First posture of the robot of a file: --from 0,-1,1.5."
    ),
]
RobotEnd = Annotated[str | None, typer.Option("--to", metavar="Q", help="Its last posture.")]
MethodOption = Annotated[
    MethodName,
    typer.Option(
        "--method", help="Collocation, multiple shooting on the maximum principle, or both."
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option("--tolerance", metavar="NUMBER", help="Bound on the estimated relative error."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="Wall-clock limit; returns the best solution so far, exit code 1.",
    ),
]
GuessOption = Annotated[
    Path | None,
    typer.Option("--guess", metavar="FILE.nc", help="Use a saved solution as initial guess."),
]
Save = Annotated[
    Path | None, typer.Option("--save", metavar="FILE.nc", help="Write the result (netCDF).")
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE.png", help="Plot the result (png, pdf, svg).")
]
KINDS = (
    "trajectories, phase, switching, mesh, invariants, reintegration, stills, or a kind that "
    "the problem defines."
)
PlotKind = Annotated[str, typer.Option("--plot-kind", metavar="KIND", help=KINDS)]
RunPlotKind = Annotated[
    str,
    typer.Option(
        "--plot-kind",
        metavar="KIND",
        help="trajectories, phase, deviations, outputs, steps, stills, or a kind that the system "
        "defines.",
    ),
]
Animate = Annotated[
    Path | None,
    typer.Option(
        "--animate",
        metavar="FILE.gif",
        help="Write an animation (gif; mp4 if ffmpeg is installed).",
    ),
]
Csv = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE.csv", help="Write the trajectories as a table."),
]
Json = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE|-", help="Write a summary; '-' prints only JSON to standard output."
    ),
]
Starts = Annotated[
    int,
    typer.Option(
        "--starts",
        metavar="N",
        help="Solve from N initial guesses in parallel and return the best solution.",
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Random seed of the initial guesses after the first."),
]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="Print the solver's log, and the traceback of an error."),
]
Traces = Annotated[bool, typer.Option("-v", "--verbose", help="Print the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only.")]
IntegratorOption = Annotated[
    str,
    typer.Option(
        "--integrator",
        metavar="NAME",
        help="euler, heun, ralston, midpoint, rk2:K2, rk4, gill, newmark; fehlberg, dopri5, "
        "dop853, radau, sundials, adams.",
    ),
]
Step = Annotated[
    float | None,
    typer.Option("--step", metavar="SECONDS", help="Step size of a fixed-step integrator."),
]
StepTolerance = Annotated[
    float | None,
    typer.Option("--tolerance", metavar="NUMBER", help="Tolerance of an adaptive integrator."),
]
Until = Annotated[
    float | None,
    typer.Option("--until", metavar="SECONDS", help="Final time; by default that of the system."),
]
Stabilize = Annotated[
    str | None,
    typer.Option(
        "--stabilize",
        metavar="METHOD",
        help="Stabilize the invariants: baumgarte, minimum-norm, hamiltonian, projection or none; "
        "FILE.toml with matrices A to E, or ./FILE.py:law.",
    ),
]
Gain = Annotated[
    str | None,
    typer.Option(
        "--gain",
        metavar="NUMBER",
        help="Gain of the stabilization, or one per row (1,1000), or alpha and beta of Baumgarte's "
        "law; by default chosen from step and scheme.",
    ),
]
Agreement = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        metavar="NUMBER",
        help="Exit code 1 if objective, times or states differ by more.",
    ),
]

ProblemName = Annotated[
    str | None,
    typer.Option(
        "--problem",
        metavar="NAME",
        help="The problem of the saved solution, if the file does not name it.",
    ),
]


def _version(requested: bool) -> None:
    if requested:
        from trajopt import __version__
        from trajopt.compiled.library import description

        typer.echo(f"trajopt {__version__} ({description()})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


@app.command("list", epilog="Example: trajopt list --family classical")
@reported
def list_(
    family: Annotated[
        str | None, typer.Option("--family", metavar="NAME", help="Only this family.")
    ] = None,
    json: Json = None,
) -> int:
    """List the named problems and systems."""
    from trajopt.commands.list import run_list
    from trajopt.commands.outputs import Outputs

    return run_list(family, Outputs(json=json))


@app.command(epilog="Example: trajopt show goddard-cops --write-parameters rocket.toml")
@reported
def show(
    name: Name,
    settings: Set = None,
    parameters: ParametersOption = None,
    write_parameters: Annotated[
        Path | None,
        typer.Option(
            "--write-parameters",
            metavar="FILE.toml",
            help="Write the settings to a parameter file.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Write out every expression in full.")
    ] = False,
    json: Json = None,
) -> int:
    """Print a problem in mathematical notation, its settings and its known optimum."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.show import run_show

    return run_show(
        name, given_settings(settings, parameters), full, write_parameters, Outputs(json=json)
    )


@app.command(epilog="Example: trajopt solve cart-pole --set duration=2.5 --save a.nc --plot a.png")
@reported
def solve(
    name: Name,
    settings: Set = None,
    parameters: ParametersOption = None,
    start: RobotStart = None,
    end: RobotEnd = None,
    method: MethodOption = MethodName.direct,
    tolerance: Tolerance = None,
    guess: GuessOption = None,
    save: Save = None,
    plot: Plot = None,
    plot_kind: PlotKind = "trajectories",
    animate: Animate = None,
    csv: Csv = None,
    json: Json = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    time_limit: TimeLimit = None,
    mesh: Annotated[
        str | None,
        typer.Option(
            "--mesh",
            metavar="N[xDEGREE]",
            help="Intervals and polynomial degree of the first mesh.",
        ),
    ] = None,
    max_passes: Annotated[
        int | None,
        typer.Option(
            "--max-passes", metavar="N", help="Maximum number of meshes; 1 disables refinement."
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="NAME",
            help="Solver of nonlinear programs: compiled (default) or ipopt.",
        ),
    ] = None,
    starts: Starts = 1,
    seed: Seed = 0,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Print the derivatives of the objective by parameters, given values and limits.",
        ),
    ] = False,
) -> int:
    """Solve a problem."""
    from trajopt.commands.building import given_settings, postures
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.solve import SolveOptions, run_solve

    options = SolveOptions(
        method.value,
        tolerance,
        guess,
        verbose,
        quiet,
        time_limit,
        mesh,
        max_passes,
        backend,
        starts,
        seed,
        sensitivity,
    )
    return run_solve(
        name,
        given_settings([*(settings or []), *postures(name, start, end)], parameters),
        options,
        Outputs(save, plot, csv, json, animate, plot_kind),
    )


@app.command(
    epilog="Example: trajopt simulate sleigh --integrator euler --step 0.001 --stabilize "
    "baumgarte --plot a.png"
)
@reported
def simulate(
    name: Name,
    settings: Set = None,
    parameters: ParametersOption = None,
    integrator: IntegratorOption = "dop853",
    step: Step = None,
    tolerance: StepTolerance = None,
    until: Until = None,
    stabilize: Stabilize = None,
    gain: Gain = None,
    error_bound: Annotated[
        bool,
        typer.Option(
            "--error-bound", help="Global error of Euler's scheme, and its bound by Lipschitz."
        ),
    ] = False,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="NAMES",
            help="Of a problem: open, feedback, mpc, or several with commas; all three by default.",
        ),
    ] = None,
    disturb: Annotated[
        list[str] | None,
        typer.Option(
            "--disturb",
            metavar="NAME=CHANGE",
            help="Of a problem: change an initial value, a parameter or a setting of the motion, "
            "as in mass=+5%, x=-0.1 or x=0.3. May be given several times.",
        ),
    ] = None,
    noise: Annotated[
        float, typer.Option("--noise", help="Standard deviation of the measured states.")
    ] = 0.0,
    rate: Annotated[
        float | None, typer.Option("--rate", help="Of mpc: solves in a unit of time.")
    ] = None,
    horizon: Annotated[
        float | None, typer.Option("--horizon", help="Of mpc: how far ahead each solve plans.")
    ] = None,
    seed: Seed = 0,
    save: Save = None,
    plot: Plot = None,
    plot_kind: RunPlotKind = "trajectories",
    animate: Animate = None,
    csv: Csv = None,
    json: Json = None,
    verbose: Traces = False,
    quiet: Quiet = False,
) -> int:
    """Integrate a system forward in time and print the drift of its invariants.

    With --control or --disturb, NAME is a problem: it is solved, and its model is integrated under
    the controls of the solution, under feedback and under repeated solves.
    """
    from trajopt.commands.building import given_settings
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.simulate import SimulateOptions, parse_gain, run_simulate

    if control is not None or disturb:
        from trajopt.commands.loops import LoopOptions, parse_controls, run_loops

        loops = LoopOptions(
            parse_controls(control),
            tuple(disturb or ()),
            noise,
            rate,
            horizon,
            seed,
            tolerance,
            quiet,
        )
        return run_loops(
            name,
            given_settings(settings, parameters),
            loops,
            Outputs(save, plot, csv, json, animate, plot_kind),
        )
    run = SimulateOptions(
        integrator, step, tolerance, until, stabilize, parse_gain(gain), quiet, error_bound
    )
    return run_simulate(
        name,
        given_settings(settings, parameters),
        run,
        Outputs(save, plot, csv, json, animate, plot_kind),
    )


@app.command(epilog="Example: trajopt certify moon-lander --set height=20")
@reported
def certify(
    name: NameOrFile,
    problem: ProblemName = None,
    settings: Set = None,
    parameters: ParametersOption = None,
    method: MethodOption = MethodName.both,
    claim: Annotated[
        str,
        typer.Option(
            "--claim",
            metavar="CLAIM",
            help="feasible, extremal or minimum: the claim that exit code 0 means.",
        ),
    ] = "extremal",
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit", metavar="SECONDS", help="Total wall-clock limit; none by default."
        ),
    ] = None,
    tolerance: Tolerance = None,
    starts: Starts = 1,
    seed: Seed = 0,
    stabilize: Stabilize = None,
    gain: Gain = None,
    integrator: Annotated[
        str | None,
        typer.Option(
            "--integrator", metavar="NAME", help="Explicit scheme of the forward validation: rk4."
        ),
    ] = None,
    step: Annotated[
        float | None,
        typer.Option("--step", metavar="SECONDS", help="Its step; by default drift is visible."),
    ] = None,
    json: Json = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> int:
    """Check independently of the solver whether a solution is feasible, extremal and a minimum."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.certify import CertifyOptions, run_certify
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.simulate import parse_gain
    from trajopt.commands.solve import SolveOptions

    options = SolveOptions(
        method.value, tolerance, None, verbose, quiet, time_limit, starts=starts, seed=seed
    )
    return run_certify(
        name,
        problem,
        given_settings(settings, parameters),
        options,
        Outputs(json=json),
        CertifyOptions(claim, stabilize, parse_gain(gain), integrator, step),
    )


@app.command(
    epilog="Example: trajopt sweep moon-lander --over height=5:25:9 --over limit=3,4 --save "
    "landings --plot a.png"
)
@reported
def sweep(
    name: Name,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY=VALUES",
            help="Values of a setting: from:to:count, or a,b,c; repeatable for a grid.",
        ),
    ] = None,
    settings: Set = None,
    parameters: ParametersOption = None,
    method: MethodOption = MethodName.direct,
    tolerance: Tolerance = None,
    guess: GuessOption = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FOLDER",
            help="Save every solution; the same command resumes a sweep.",
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Solve all rows again, ignoring earlier results in the folder."
        ),
    ] = False,
    chained: Annotated[
        bool,
        typer.Option(
            "--chained/--single", help="Initial guess of a row: the neighbouring solution, or none."
        ),
    ] = True,
    workers: Annotated[
        int, typer.Option("--workers", metavar="NUMBER", help="Parallel processes on this machine.")
    ] = 1,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Address of a Dask scheduler, as in tcp://host:8786.",
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Solve rows again that failed in an earlier sweep."),
    ] = False,
    row_time_limit: Annotated[
        float | None,
        typer.Option("--row-time-limit", metavar="SECONDS", help="Wall-clock limit of each row."),
    ] = None,
    memory_limit: Annotated[
        float | None,
        typer.Option("--memory-limit", metavar="MIB", help="Memory limit of each row."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print how many rows would be solved, without solving."),
    ] = False,
    large: Annotated[bool, typer.Option("--large", help="Allow more than 100,000 rows.")] = False,
    plot: Plot = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME",
            help="Column to plot: objective, tf, 'final x', ...; repeatable.",
        ),
    ] = None,
    csv: Csv = None,
    json: Json = None,
    quiet: Quiet = False,
) -> int:
    """Solve a problem for many values of its settings.

    Each row is solved in its own process. A row that fails, exits, crashes or exceeds a limit is
    recorded and does not stop the others. Exit code 0 only when all rows are solved.
    """
    from trajopt.commands.building import given_settings
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.solve import SolveOptions
    from trajopt.commands.sweep import SweepOptions, parse_over, run_sweep

    drawn = tuple(column or ["objective"])
    how = SweepOptions(
        save,
        again,
        chained,
        workers,
        cluster,
        drawn,
        retry_failed,
        row_time_limit,
        memory_limit,
        dry_run,
        large,
    )
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
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder of 'trajopt sweep --save FOLDER'.")
    ],
    json: Json = None,
) -> int:
    """Print the progress of a sweep and whether it is running; exit code 0 when all rows are
    solved.
    """
    from trajopt.commands.outputs import Outputs
    from trajopt.commands.sweep import run_sweep_status

    return run_sweep_status(folder, Outputs(json=json))


@app.command(epilog="Example: trajopt compare a.nc b.nc --tolerance 1e-6")
@reported
def compare(
    first: File, second: File, tolerance: Agreement = None, json: Json = None, quiet: Quiet = False
) -> int:
    """Compare two saved solutions."""
    from trajopt.commands.compare import run_compare
    from trajopt.commands.outputs import Outputs

    return run_compare(first, second, tolerance, Outputs(json=json), quiet)


@app.command(epilog="Example: trajopt plot a.nc b.nc -o both.png")
@reported
def plot(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE.nc...", help="Saved solutions; several are overlaid."),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE.png", help="Output file (png, pdf, svg)."),
    ],
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help=KINDS)] = "trajectories",
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--axes", metavar="X,Y", help="Two variables for a phase portrait; repeatable."
        ),
    ] = None,
    problem: ProblemName = None,
    settings: Set = None,
    parameters: ParametersOption = None,
    quiet: Quiet = False,
) -> int:
    """Plot saved solutions."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.plot import PlotOptions, parse_pairs, run_plot

    options = PlotOptions(
        kind, problem, given_settings(settings, parameters), parse_pairs(axes or [])
    )
    return run_plot(files, output, options, quiet)


@app.command(epilog="Example: trajopt report a.nc -o report.html")
@reported
def report(
    file: File,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html", help="Output file.")
    ],
    problem: ProblemName = None,
    settings: Set = None,
    parameters: ParametersOption = None,
    quiet: Quiet = False,
) -> int:
    """Write a self-contained HTML report of a saved solution: certificate, charts, animation."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.report import run_report

    return run_report(file, output, problem, given_settings(settings, parameters), quiet)


@app.command(epilog="Example: trajopt gallery pictures --family classical")
@reported
def gallery(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Folder for results and plots; created if missing."),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAMES...", help="Only these names; by default all.", autocompletion=_complete
        ),
    ] = None,
    family: Annotated[
        str | None, typer.Option("--family", metavar="NAME", help="Only this family.")
    ] = None,
    films: Annotated[bool, typer.Option("--films", help="Also write animations (gif).")] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Redo everything, ignoring earlier results in the folder."),
    ] = False,
    quiet: Quiet = False,
) -> int:
    """Write plots of every named problem and system, contact sheets and an HTML index.

    A failure is recorded and does not stop the rest. The same command resumes an interrupted run.
    """
    from trajopt.commands.gallery import GalleryOptions, run_gallery

    return run_gallery(folder, GalleryOptions(tuple(names or ()), family, again, films, quiet))


@app.command(epilog="Example: trajopt export cart-pole -o cart-pole-in-c")
@reported
def export(
    name: Name,
    folder: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FOLDER", help="An empty folder, or a new one."),
    ],
    settings: Set = None,
    parameters: ParametersOption = None,
    tolerance: Tolerance = None,
    verbose: Traces = False,
    quiet: Quiet = False,
) -> int:
    """Solve a problem and write a C program that solves it again for other values."""
    from trajopt.commands.building import given_settings
    from trajopt.commands.export import run_export

    return run_export(name, given_settings(settings, parameters), folder, tolerance, quiet)


@app.command(epilog="Example: trajopt new mine.py && trajopt solve ./mine.py:build --plot mine.png")
@reported
def new(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.py", help="Output file; an existing file is never overwritten."
        ),
    ],
) -> int:
    """Write a commented template of a problem that can be solved as it is."""
    from trajopt.commands.new import run_new

    return run_new(file)


def main() -> None:
    """Run the ``trajopt`` command."""
    from trajopt.commands.signals import ignore

    try:
        app()
    finally:
        ignore()


if __name__ == "__main__":
    main()
