"""Every system of the source documents by a command, its figure beside the document's.

    python tests/benchmarks/systems.py                     print the tables
    python tests/benchmarks/systems.py --write             and put them into the pages under problems/
    python tests/benchmarks/systems.py lecture rocket      of these families only
    python tests/benchmarks/systems.py --long              with the optimizations that take minutes

A figure that differs from the document's by more than the last digit printed there is marked.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from trajopt.__main__ import app

PAGES = Path(__file__).resolve().parents[2] / "problems"
BEGIN, END = "<!-- figures: written by tests/benchmarks/systems.py -->", "<!-- end of figures -->"


@dataclass(frozen=True)
class Row:
    """What a document or an independent computation says, and the command that gives the same."""

    family: str  # folder of the page
    what: str
    command: str  # without trajopt and --json
    figures: Callable[[dict], tuple[float, ...]]
    source: tuple[str, ...]  # as printed
    remark: str = ""
    long: bool = False

    def measured(self) -> tuple[float, ...]:
        result = CliRunner().invoke(app, [*self.command.split(), "--json", "-", "-q"])
        if result.exit_code != 0:
            raise SystemExit(f"trajopt {self.command}: exit code {result.exit_code}\n{result.output}")
        return self.figures(json.loads(result.stdout))


def final(*names: str, scale: float = 1.0) -> Callable[[dict], tuple[float, ...]]:
    return lambda found: tuple(scale * found["final"][name] for name in names)


def output(*names: str) -> Callable[[dict], tuple[float, ...]]:
    return lambda found: tuple(found["outputs"][name]["end"] for name in names)


def drift(*names: str, when: str = "max") -> Callable[[dict], tuple[float, ...]]:
    return lambda found: tuple(found["drift"][name][when] for name in names)


def norm_of_drifts(found: dict) -> tuple[float, ...]:
    return (math.sqrt(sum(row["end"] ** 2 for name, row in found["drift"].items() if name not in ("energy",))),)


def objective(found: dict) -> tuple[float, ...]:
    return (found["objective"],)


def event(*names: str) -> Callable[[dict], tuple[float, ...]]:
    return lambda found: tuple(next(e["t"] for e in found["events"] if e["name"] == name) for name in names)


DEG = 180 / math.pi
SNOW = (
    "simulate snowboarder --set programme=appendix --set track=heading --set snow=two-sided "
    "--integrator euler --step 0.001 --until 0.5"
)
LOOP = "simulate rider-loop --integrator gill --step 0.005 --until 0.2"
THETAS = tuple(f"theta{k}" for k in range(1, 6))
ROWS = (
    Row(
        "lecture",
        "pendulum at 10 s: angle, rate",
        "simulate pendulum --tolerance 1e-12 --until 10",
        final("theta", "omega"),
        ("-0.21939417", "-2.15988169"),
        "the printed ode45 table is off by up to 1.5e-3",
    ),
    Row(
        "lecture",
        "Lorenz' equations at t = 10",
        "simulate lorenz --tolerance 1e-12 --until 10",
        final("x", "y", "z"),
        ("-13.9486608", "-10.2630753", "37.7027738"),
        "default tolerances end on the other lobe",
    ),
    Row(
        "lecture",
        "Cartesian pendulum, gain 2000: steps",
        "simulate pendulum-cartesian --integrator fehlberg --tolerance 1e-3 --stabilize baumgarte --gain 2000 --until 10",
        lambda found: (found["steps"],),
        ("8600",),
        "about; the number of steps depends on the step control",
    ),
    Row(
        "stabilization",
        "sleigh: heading at the end",
        "simulate sleigh --tolerance 1e-12 --until 12",
        final("phi"),
        ("5.63574811",),
    ),
    Row(
        "stabilization",
        "sleigh at 0.3 s by Chaplygin's equations",
        "simulate sleigh --set formulation=chaplygin --tolerance 1e-12 --until 0.3",
        final("x", "y", "phi"),
        (),
        "no figure printed",
    ),
    Row(
        "stabilization",
        "sleigh at 0.3 s by Voronets' equations",
        "simulate sleigh --set formulation=voronets --tolerance 1e-12 --until 0.3",
        final("x", "y", "phi"),
        (),
        "no figure printed",
    ),
    Row(
        "stabilization",
        "inverse problem, matrix of the appendix: largest deviation",
        "simulate inverse-problem --integrator euler --step 0.001 --until 15",
        drift("integrals"),
        ("3.93066e-4",),
    ),
    Row(
        "stabilization",
        "inverse problem, constant matrix: largest deviation",
        "simulate inverse-problem --set dissipation=constant --integrator euler --step 0.001 --until 15",
        drift("integrals"),
        ("9.82366e-5",),
    ),
    Row("stabilization", "cart slalom at 2 s", "simulate cart-slalom --until 2", final("x", "theta"), (), "no figure printed"),
    Row(
        "stabilization",
        "ball on a turntable at 2 s: place",
        "simulate turntable-ball --until 2",
        final("x", "y"),
        (),
        "a circle at the rate Omega J/(J + m r^2)",
    ),
    Row("exoskeleton", "snowboarder, norm of the deviations at 0.5 s, not stabilized", SNOW, norm_of_drifts, ("0.0265",)),
    Row("exoskeleton", "the same, Baumgarte's gain 10", f"{SNOW} --stabilize baumgarte --gain 10", norm_of_drifts, ("0.0099",)),
    Row("exoskeleton", "the same, Baumgarte's gain 50", f"{SNOW} --stabilize baumgarte --gain 50", norm_of_drifts, ("0.0019",)),
    Row("exoskeleton", "slalom of least effort", "solve slalom-effort", objective, (), "ours", True),
    Row("exoskeleton", "slalom of least time", "solve slalom-time", objective, (), "ours", True),
    Row("exoskeleton", "lift", "solve exoskeleton-lift", objective, (), "ours", True),
    Row("exoskeleton", "assistance", "solve exoskeleton-assist", objective, (), "ours", True),
    Row(
        "rocket",
        "limited power from r = 1 to 1.5: cost, costates of r and v at the start",
        "solve lawden-transfer",
        lambda found: (found["objective"], *(abs(x) for x in (*found["costates_initial"]["r"], *found["costates_initial"]["v"]))),
        ("0.0034313426", "0.0414923502", "0.0002292442", "0.0002292442", "0.0514757711"),
    ),
    Row(
        "rocket",
        "disturbed costate flow, gains 1 and 1000: g1, g2 at the end",
        "simulate lawden-cauchy --stabilize minimum-norm --gain 1,1000",
        drift("g1", "g2", when="end"),
        (),
        "the document shows curves only",
    ),
    Row(
        "multibody",
        "branched arm: torques at 0.25 s",
        "simulate branched-arm --until 0.25",
        output("torque1", "torque2", "torque3"),
        ("9.53498009", "2.44982565", "2.32559778"),
    ),
    Row(
        "multibody",
        "branched arm: torques at 0.5 s",
        "simulate branched-arm --until 0.5",
        output("torque1", "torque2", "torque3"),
        ("-3.09795744", "0.81442733", "0.21822515"),
    ),
    Row(
        "multibody",
        "car on flat ground at 5 s, friction by atan",
        "simulate vehicle-flat",
        final("chassis_x"),
        (),
        "no data given",
    ),
    Row(
        "multibody",
        "the same, friction by a sigmoid",
        "simulate vehicle-flat --set regularization=sigmoid",
        final("chassis_x"),
        (),
        "no data given",
    ),
    Row(
        "bike",
        "loop of 4.7 and of the appendix at 0.2 s, as printed (deg)",
        f"{LOOP} --set rates=appendix",
        final(*THETAS, scale=DEG),
        ("62.00268", "94.68560", "-134.90345", "34.58677", "-89.77914"),
    ),
    Row(
        "bike",
        "the same with absolute rates in the energy (deg)",
        LOOP,
        final(*THETAS, scale=DEG),
        ("62.09424", "102.84143", "-147.04680", "47.23872", "-90.02503"),
    ),
    Row(
        "bike",
        "entry into a wheelie, least effort",
        "solve wheelie-entry",
        objective,
        ("0.2140",),
        "the source's on a coarse mesh",
        True,
    ),
)


def agrees(value: float, printed: str) -> bool:
    """Whether a value is the printed one to its last digit but one."""
    mantissa = printed.lower().split("e")[0]
    digits = len(mantissa.partition(".")[2])
    exponent = int(printed.lower().split("e")[1]) if "e" in printed.lower() else 0
    return abs(value - float(printed)) <= 2 * 10.0 ** (exponent - digits) + 1e-300


def shown(value: float, printed: str | None) -> str:
    if printed is None:
        return f"{value:.9g}"
    mantissa = printed.lower().split("e")[0]
    return f"{value:.{max(len(mantissa.replace('-', '').replace('.', '').lstrip('0')), 3)}g}"


def line(row: Row) -> str:
    values = row.measured()
    printed = row.source or (None,) * len(values)
    here = ", ".join(shown(v, p) for v, p in zip(values, printed, strict=True))
    differs = [p for v, p in zip(values, row.source, strict=False) if not agrees(v, p)]
    remark = row.remark + ("; " if row.remark and differs and "about" not in row.remark else "")
    remark += "differs" if differs and "about" not in row.remark else ""
    return f"| {row.what} | `trajopt {row.command}` | {here} | {', '.join(row.source)} | {remark} |"


def write(family: str, table: str) -> None:
    """Put a table between the marks of a page, or at its end."""
    page = PAGES / family / "README.md"
    text = page.read_text(encoding="utf-8")
    block = f"{BEGIN}\n{table}\n{END}"
    if BEGIN in text:
        text = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: block, text, flags=re.S)
    else:
        text = text.rstrip("\n") + f"\n\n## Figures beside the source's\n\n{block}\n"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="The systems of the source documents, their figures beside the documents'.")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--write", action="store_true", help="put the tables into the pages")
    parser.add_argument("--long", action="store_true", help="with the optimizations that take minutes")
    options = parser.parse_args()
    for family in dict.fromkeys(row.family for row in ROWS):
        if options.families and family not in options.families:
            continue
        rows = [row for row in ROWS if row.family == family and (options.long or not row.long)]
        table = "\n".join(["| what | command | here | source | |", "|---|---|---|---|---|", *(line(row) for row in rows)])
        print(f"{family}\n{table}\n", flush=True)
        if options.write:
            write(family, table)


if __name__ == "__main__":
    main()
