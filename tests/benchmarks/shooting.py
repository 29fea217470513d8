"""Shooting beside collocation on every named problem: one table, in the page on shooting.

``python tests/benchmarks/shooting.py`` prints it, ``--write`` puts it into ``trajopt/indirect/README.md``; names choose problems.
``--changed 20 --seed 1`` solves each problem of the models with random changes of its settings instead, and counts how many of
those that collocation solves shooting confirms.
"""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trajopt import Problem, builder, named_problems, solve
from trajopt.solving import Both

PAGE = Path(__file__).parents[2] / "trajopt" / "indirect" / "README.md"
BEGIN, END = "<!-- table of named problems -->", "<!-- end of table -->"
HEAD = ("problem", "verdict", "arcs", "unknowns", "Newton steps", "direct s", "shooting s", "objectives", "initial costates")
SIZE = re.compile(r"(\d+) arcs, \d+ segments, (\d+) unknowns")
MODELS = ("exoskeleton", "bike robot")
LIMIT = 600.0  # seconds for one problem


@dataclass(frozen=True)
class Row:
    """Both answers to one problem in figures."""

    name: str
    verdict: str
    arcs: int
    unknowns: int
    steps: int
    direct: float  # processor seconds
    shooting: float
    objectives: float  # relative difference
    costates: float  # largest difference of the initial ones, relative to the largest of them

    def cells(self) -> list[str]:
        counts = [str(number) for number in (self.arcs, self.unknowns, self.steps)]
        figures = [f"{self.direct:.1f}", f"{self.shooting:.1f}", f"{self.objectives:.0e}", f"{self.costates:.0e}"]
        return [self.name, self.verdict, *counts, *figures]


def row_of(name: str, problem: Problem) -> Row:
    """Solve one problem by both methods."""
    marks = [time.process_time()]
    told = lambda line: marks.append(time.process_time()) if line == "shooting" else None  # noqa: E731
    solution = solve(problem, Both(), time_limit=LIMIT, progress=told)
    marks.append(time.process_time())
    found = solution.comparison
    if found is None or found.indirect is None:
        return Row(name, "no direct answer", 0, 0, 0, marks[-1] - marks[0], 0.0, np.nan, np.nan)
    sizes = [SIZE.match(line) for line in found.indirect.log]
    unknowns = [int(size.group(2)) for size in sizes if size is not None]
    pairs = np.array(list((found.costates_initial or {}).values())).reshape(-1, 2)
    gap = np.abs(pairs[:, 0] - pairs[:, 1]).max(initial=0.0) / max(float(np.abs(pairs).max(initial=0.0)), 1e-300)
    return Row(
        name, found.verdict.name.lower().replace("_", " "), len(found.indirect.arcs), unknowns[-1] if unknowns else 0,
        found.indirect.iterations, marks[1] - marks[0], marks[-1] - marks[1], found.objective, float(gap),
    )  # fmt: skip


def table(rows: list[Row]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *[row.cells() for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def changed(names: list[str], count: int, seed: int, within: float = 0.1) -> None:
    """Random changes of numeric settings of each problem, and how many answers of collocation are confirmed."""
    from trajopt.parameters import settings_of

    random = np.random.default_rng(seed)
    for name in names:
        build, solved, confirmed = builder(name), 0, 0
        numbers = {key: s.default for key, s in settings_of(build).items() if isinstance(s.default, float) and s.default}
        for _ in range(count):
            some = {key: value * (1 + within * random.uniform(-1, 1)) for key, value in numbers.items()}
            row = row_of(name, build(**some))
            solved += row.verdict != "no direct answer"
            confirmed += row.verdict == "agree"
            print("  ", *row.cells(), flush=True)
        print(f"{name}: {confirmed} of {solved} confirmed, {count} tried", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--changed", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    problems = {name: entry for name, entry in named_problems().items() if entry.kind == "problem"}
    if given.changed:
        models = [name for name, entry in problems.items() if entry.family in MODELS]
        changed(given.names or models, given.changed, given.seed)
        return
    rows = []
    for name in given.names or problems:
        rows.append(row_of(name, builder(name)()))
        print(*rows[-1].cells(), flush=True)
    text = table(rows)
    print(text)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
