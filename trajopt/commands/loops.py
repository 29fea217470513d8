"""``simulate`` of a problem: its model under disturbances, open loop, under feedback, and under
repeated solves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.commands.building import Built, build_problem, check_settings
from trajopt.commands.exit_codes import NOT_SOLVED, SOLVED
from trajopt.commands.outputs import Outputs
from trajopt.commands.solve import SolveOptions, solve_name
from trajopt.commands.terminal import console, progress_lines, say_written, text_table
from trajopt.errors import TrajoptError, UsageError, suggest

if TYPE_CHECKING:
    from trajopt.prepared.closed_loop import LoopRun
    from trajopt.statement.problem import Problem
    from trajopt.trajectory.solution import Solution

CONTROLS = ("open", "feedback", "mpc")


@dataclass(frozen=True)
class LoopOptions:
    """The options of ``simulate`` for a problem."""

    controls: tuple[str, ...] = CONTROLS
    disturb: tuple[str, ...] = ()
    noise: float = 0.0
    rate: float | None = None
    horizon: float | None = None
    seed: int = 0
    tolerance: float | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        for name, value in (("--rate", self.rate), ("--horizon", self.horizon)):
            if value is not None and not 0.0 < value < np.inf:
                raise UsageError(name, got=value, expected="a number above 0")
        if not 0.0 <= self.noise < np.inf:
            raise UsageError("--noise", got=self.noise, expected="a standard deviation, 0 or above")


@dataclass(frozen=True)
class Disturbances:
    """How the motion differs from what the solution was made for."""

    initial: Mapping[str, Any]
    parameters: Mapping[str, Any]
    plant: Problem | None  # another model, where arguments of the builder are disturbed


def parse_controls(text: str | None) -> tuple[str, ...]:
    """Parse ``--control``: names with commas.

    >>> parse_controls("open,mpc")
    ('open', 'mpc')
    """
    chosen = CONTROLS if text is None else tuple(part.strip() for part in text.split(","))
    for name in chosen:
        if name not in CONTROLS:
            raise UsageError(
                "--control", got=name, expected=", ".join(CONTROLS), hint=suggest(name, CONTROLS)
            )
    return chosen


def changed(text: str, value: float, size: float, what: str) -> float:
    """A value changed by "+5%", "-0.1" or to "0.3"; percents of zero are those of a size.

    >>> changed("+5%", 2.0, 2.0, "mass"), changed("-0.5", 2.0, 2.0, "mass")
    (2.1, 1.5)
    >>> changed("0.3", 2.0, 2.0, "mass")
    0.3
    """
    relative = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError as error:
        raise UsageError(
            f"--disturb {what}={text}", expected="a change such as +5% or -0.1, or a value"
        ) from error
    if not np.isfinite(number):
        raise UsageError(f"--disturb {what}={text}", expected="a finite number")
    if relative:
        return value + number / 100 * (abs(value) or size)
    return value + number if text[0] in "+-" else number


def run_loops(
    name: str, settings: Mapping[str, Any], options: LoopOptions, outputs: Outputs
) -> int:
    """Solve the problem, run the loops, print and write them."""
    from trajopt.prepared.closed_loop import closed_loop

    for option, file in outputs.named.items():
        if option not in ("--plot", "--json"):
            raise UsageError(
                f"{option} is not written for a problem under disturbances", got=str(file),
                expected="--plot or --json",
            )  # fmt: skip
    outputs.check()
    check_settings(name, settings)
    with outputs.clean_standard_output():
        built = build_problem(name, settings)
        solving = SolveOptions(tolerance=options.tolerance, quiet=True)
        solution = solve_name(name, settings, solving).solution.check()
        given = disturbances(name, settings, built, solution, options.disturb)
        runs: dict[str, LoopRun] = {}
        for control in options.controls:
            ahead = (options.rate, options.horizon) if control == "mpc" else (None, None)
            with progress_lines(f"{name}: {control}", options.quiet) as show:
                try:
                    runs[control] = closed_loop(
                        solution, control, given.initial, given.parameters, options.noise,
                        *ahead, options.seed, given.plant,
                    )  # fmt: skip
                except TrajoptError as error:
                    show(f"{control}: {error.what}")
        if not options.quiet:
            print_loops(solution, runs, outputs.json_on_standard_output)
        if outputs.plot is not None and runs:
            from trajopt.show.loop_plots import plot_loops

            plot_loops(solution, runs, outputs.plot)
    outputs.write_json({"problem": name, "loops": {key: summary(run) for key, run in runs.items()}})
    say_written(outputs.named.values(), options.quiet)
    return SOLVED if len(runs) == len(options.controls) else NOT_SOLVED


def disturbances(
    name: str,
    settings: Mapping[str, Any],
    built: Built,
    solution: Solution,
    items: Sequence[str],
) -> Disturbances:
    """Initial values, parameters, and arguments of the builder, from ``--disturb``."""
    from trajopt.catalogue import builder
    from trajopt.parameters import settings_of

    initial: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    phase = next(iter(solution.phases.values()))
    known = settings_of(builder(name, "problem"))
    states = {label: (state, i) for state, curve in phase.states.items()
              for i, label in enumerate(curve.labels(state))}  # fmt: skip
    for item in items:
        key, equals, text = (part.strip() for part in item.partition("="))
        if not equals or not text:
            raise UsageError(f"--disturb {item}", expected="--disturb mass=+5%")
        if key in states:
            state, i = states[key]
            curve = phase.states[state]
            values = initial.setdefault(state, np.atleast_1d(curve(phase.t0)).astype(float))
            size = float(np.abs(curve.points.reshape(-1, curve.size)[:, i]).max())
            values[i] = changed(text, float(values[i]), size, key)
        elif key in solution.parameters:
            value = float(np.ravel(solution.parameters[key])[0])
            parameters[key] = changed(text, value, 1.0, key)
        elif key in known:
            value = settings.get(key, known[key].default)
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                raise UsageError(f"--disturb {key}: not a number", got=value)
            arguments[key] = changed(text, float(value), 1.0, key)
        else:
            options = [*states, *solution.parameters, *known]
            raise UsageError(
                f"--disturb: '{name}' has no '{key}'",
                expected=", ".join(options), hint=suggest(key, options),
            )  # fmt: skip
    plant = build_problem(name, {**settings, **arguments}).problem if arguments else None
    return Disturbances(initial, parameters, plant)


def print_loops(solution: Solution, runs: Mapping[str, LoopRun], error: bool = False) -> None:
    """Print end errors, costs and violated limits beside each other."""
    screen = console(error=error)
    screen.print(f"{solution.problem}: objective {solution.objective:.9g}", style="bold green")
    figures = ("end error", "cost", "end time", "median solve [ms]")
    content = text_table("control", *figures, "largest violation", right=figures)
    for name, run in runs.items():
        worst = max(run.violation.items(), key=lambda pair: pair[1], default=("", 0.0))
        solves = f"{1e3 * float(np.median(run.solves)):.2g}" if run.solves else ""
        content.add(
            name, f"{run.miss:.3g}", f"{run.cost:.7g}", f"{run.phases[-1].t[-1]:.6g}", solves,
            f"{worst[0]} by {worst[1]:.2g}" if worst[0] else "",
        )  # fmt: skip
    content.print(screen)


def summary(run: LoopRun) -> dict[str, Any]:
    """What ``--json`` writes of a run."""
    return {
        "end_error": run.miss,
        "end": dict(run.end),
        "cost": run.cost,
        "end_time": float(run.phases[-1].t[-1]),
        "violation": dict(run.violation),
        "solves": len(run.solves),
    }
