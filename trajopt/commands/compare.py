"""``compare``: differences between two saved solutions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trajopt.commands.exit_codes import NOT_SOLVED, SOLVED
from trajopt.commands.outputs import Outputs
from trajopt.commands.terminal import console, text_table
from trajopt.errors import UsageError, warn

if TYPE_CHECKING:
    from trajopt.trajectory.comparison import Difference
    from trajopt.trajectory.solution import Solution


def run_compare(
    first: Path, second: Path, tolerance: float | None, outputs: Outputs, quiet: bool
) -> int:
    """Compare two files.

    With a tolerance, the exit code is 1 if objective, times or states differ by more.
    """
    from trajopt.files.storage import load, plain_json
    from trajopt.trajectory.comparison import (
        differences,
        initial_costates,
        largest_state_gap,
        relative,
        switching_times,
    )

    if tolerance is not None and not 0 <= tolerance < float("inf"):
        raise UsageError("--tolerance", got=tolerance, expected="a finite number of at least 0")
    a, b = load(first), load(second)
    outputs.check()
    if a.problem != b.problem:
        warn(
            "the files are solutions of different problems",
            got=f"'{a.problem}' and '{b.problem}'",
            expected="one problem",
        )
    if list(a.phases) != list(b.phases):
        raise UsageError(
            "the files have different phases",
            got=f"{', '.join(a.phases)} and {', '.join(b.phases)}",
        )
    scalars = {
        "objective": relative(a.objective, b.objective),
        **{f"end of {name}": relative(ph.tf, b.phases[name].tf) for name, ph in a.phases.items()},
    }
    curves = differences(a, b)
    switches, costates = switching_times(a, b), initial_costates(a, b)
    gap = largest_state_gap(a, curves)
    compared = [
        *scalars.values(),
        *(d.largest for d in curves if d.name in a.phases[d.phase].states),
    ]
    agree = tolerance is None or max(compared) <= tolerance
    if not quiet:
        _print(a, b, scalars, curves, error=outputs.json_on_standard_output)
        _print_ends(switches, costates, gap, error=outputs.json_on_standard_output)
    outputs.write_json(
        plain_json(
            {
                "files": [str(first), str(second)],
                "problems": [a.problem, b.problem],
                "settings": [dict(a.settings), dict(b.settings)],
                "objectives": [a.objective, b.objective],
                "relative": scalars,
                "switches": switches,
                "costates_initial": costates,
                "largest_state_gap": None if gap is None else vars(gap),
                "curves": [vars(d) for d in curves],
                "tolerance": tolerance,
                "agree": agree,
            }
        )
    )
    return SOLVED if agree else NOT_SOLVED


def _print(
    a: Solution, b: Solution, scalars: dict[str, float], curves: list[Difference], error: bool
) -> None:
    screen = console(error=error)
    screen.print(f"{a.problem} ({a.method}) and {b.problem} ({b.method})", style="bold")
    screen.print(f"  objectives {a.objective:.10g} and {b.objective:.10g}")
    for key in dict.fromkeys([*a.settings, *b.settings]):
        if a.settings.get(key) != b.settings.get(key):
            values = [one.settings.get(key, "as built") for one in (a, b)]
            screen.print(f"  {key}: {values[0]} and {values[1]}", style="yellow")
    for name, value in scalars.items():
        screen.print(f"  {name}: relative difference {value:.1e}")
    content = text_table("phase", "curve", "largest", "mean", right=("largest", "mean"))
    for d in curves:
        content.add(d.phase, d.name, f"{d.largest:.1e}", f"{d.mean:.1e}")
    content.print(screen)
    screen.print(
        "  relative to the largest value of each curve, at equal fractions of each phase",
        style="dim",
    )


def _print_ends(
    switches: dict[str, list[list[float]]],
    costates: dict[str, tuple[float, float]],
    gap: Difference | None,
    error: bool,
) -> None:
    screen = console(error=error)
    if costates:
        content = text_table(
            "initial costate",
            "first",
            "second",
            "difference",
            right=("first", "second", "difference"),
        )
        for name, (one, other) in costates.items():
            content.add(name, f"{one:.9g}", f"{other:.9g}", f"{abs(one - other):.1e}")
        content.print(screen)
    for phase, (first, second) in switches.items():
        if len(first) != len(second):
            screen.print(f"  {phase}: {len(first)} and {len(second)} switches")
            continue
        content = text_table(
            "switch", "first", "second", "difference", right=("first", "second", "difference")
        )
        for k, (one, other) in enumerate(zip(first, second, strict=True)):
            content.add(f"{phase} {k + 1}", f"{one:.9g}", f"{other:.9g}", f"{abs(one - other):.1e}")
        content.print(screen)
    if gap is not None:
        screen.print(f"  largest state gap: {gap.largest:.1e} in {gap.name} of phase '{gap.phase}'")
