"""``compare``: how far two saved answers agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trajopt.commands.boundary import NOT_SOLVED, SOLVED
from trajopt.commands.display import console, table
from trajopt.commands.outputs import Outputs
from trajopt.commands.recalling import read_answer
from trajopt.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from trajopt.solution import Solution

SAMPLES = 1001


@dataclass(frozen=True)
class Difference:
    """Of one curve, over normalised time: the largest and the mean difference, relative to the curve's largest value."""

    phase: str
    name: str
    largest: float
    mean: float


def run_compare(first: Path, second: Path, tolerance: float | None, outputs: Outputs, quiet: bool) -> int:
    """Compare two files; with a tolerance the exit code says whether objective, times and states agree."""
    from trajopt.storage import plain_json

    if tolerance is not None and not 0 <= tolerance < float("inf"):
        raise UsageError("--tolerance", got=tolerance, expected="a finite number of at least 0")
    a, b = read_answer(first, quiet), read_answer(second, quiet)
    outputs.check()
    if list(a.phases) != list(b.phases):
        raise UsageError("the files have different phases", got=f"{', '.join(a.phases)} and {', '.join(b.phases)}")
    headline = {
        "objective": _relative(a.objective, b.objective),
        **{f"end of {name}": _relative(ph.tf, b.phases[name].tf) for name, ph in a.phases.items()},
    }
    curves = differences(a, b)
    switches, costates = switching_times(a, b), initial_costates(a, b)
    gap = max((d for d in curves if d.name in a.phases[d.phase].states), key=lambda d: d.largest, default=None)
    judged = [*headline.values(), *(d.largest for d in curves if d.name in a.phases[d.phase].states)]
    agree = tolerance is None or max(judged) <= tolerance
    if not quiet:
        _print(a, b, headline, curves, error=outputs.json_on_standard_output)
        _print_ends(switches, costates, gap, error=outputs.json_on_standard_output)
    outputs.write_json(
        plain_json(
            {
                "files": [str(first), str(second)],
                "problems": [a.problem, b.problem],
                "settings": [dict(a.settings), dict(b.settings)],
                "objectives": [a.objective, b.objective],
                "relative": headline,
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


def differences(a: Solution, b: Solution) -> list[Difference]:
    """Of every curve that both have, at equal fractions of each phase."""
    import numpy as np

    found = []
    for name, one in a.phases.items():
        other = b.phases[name]
        for field, prefix in (("states", ""), ("controls", ""), ("algebraics", ""), ("costates", "costate ")):
            ours, theirs = getattr(one, field), getattr(other, field)
            for key in ours:
                if key in theirs and ours[key].size == theirs[key].size:
                    values = [_sampled(curve, ph.t0, ph.tf) for curve, ph in ((ours[key], one), (theirs[key], other))]
                    gap = np.abs(values[0] - values[1]) / max(float(np.max(np.abs(values[0]))), 1e-12)
                    found.append(Difference(name, prefix + key, float(np.max(gap)), float(np.mean(gap))))
    return found


def switching_times(a: Solution, b: Solution) -> dict[str, list[list[float]]]:
    """Of every phase in which a file knows arcs: where they end inside the phase, in both files."""

    def inside(solution: Solution, name: str) -> list[float]:
        return [arc.end for arc in solution.arcs if arc.phase == name][:-1]

    found = {name: [inside(a, name), inside(b, name)] for name in a.phases}
    return {name: times for name, times in found.items() if any(times)}


def initial_costates(a: Solution, b: Solution) -> dict[str, list[float]]:
    """Of the first phase, component by component, in both files."""
    import numpy as np

    name = next(iter(a.phases), None)
    if name is None:
        return {}
    one, other = a.phases[name], b.phases[name]
    found = {}
    for key in one.costates:
        if key in other.costates and one.costates[key].size == other.costates[key].size:
            values = [ph.costates[key].evaluate(np.array([ph.t0]))[0] for ph in (one, other)]
            for label, pair in zip(one.costates[key].labels(key), zip(*values, strict=True), strict=True):
                found[label] = [float(value) for value in pair]
    return found


def _sampled(curve: Any, t0: float, tf: float) -> np.ndarray:
    import numpy as np

    values: np.ndarray = curve.evaluate(np.linspace(t0, tf, SAMPLES))
    return values


def _relative(a: float, b: float) -> float:
    return abs(a - b) / max(abs(a), abs(b), 1e-12)


def _print(a: Solution, b: Solution, headline: dict[str, float], curves: list[Difference], error: bool) -> None:
    screen = console(error=error)
    screen.print(f"{a.problem} ({a.method}) and {b.problem} ({b.method})", style="bold")
    screen.print(f"  objectives {a.objective:.10g} and {b.objective:.10g}")
    for key in dict.fromkeys([*a.settings, *b.settings]):
        if a.settings.get(key) != b.settings.get(key):
            values = [one.settings.get(key, "as built") for one in (a, b)]
            screen.print(f"  {key}: {values[0]} and {values[1]}", style="yellow")
    for name, value in headline.items():
        screen.print(f"  {name}: relative difference {value:.1e}")
    content = table("phase", "curve", "largest", "mean", right=("largest", "mean"))
    for d in curves:
        content.add(d.phase, d.name, f"{d.largest:.1e}", f"{d.mean:.1e}")
    content.print(screen)
    screen.print("  relative to the largest value of each curve, at equal fractions of each phase", style="dim")


def _print_ends(
    switches: dict[str, list[list[float]]], costates: dict[str, list[float]], gap: Difference | None, error: bool
) -> None:
    screen = console(error=error)
    if costates:
        content = table("initial costate", "first", "second", "difference", right=("first", "second", "difference"))
        for name, (one, other) in costates.items():
            content.add(name, f"{one:.9g}", f"{other:.9g}", f"{abs(one - other):.1e}")
        content.print(screen)
    for phase, (first, second) in switches.items():
        if len(first) != len(second):
            screen.print(f"  {phase}: {len(first)} and {len(second)} switches")
            continue
        content = table("switch", "first", "second", "difference", right=("first", "second", "difference"))
        for k, (one, other) in enumerate(zip(first, second, strict=True)):
            content.add(f"{phase} {k + 1}", f"{one:.9g}", f"{other:.9g}", f"{abs(one - other):.1e}")
        content.print(screen)
    if gap is not None:
        screen.print(f"  largest state gap: {gap.largest:.1e} in {gap.name} of phase '{gap.phase}'")
