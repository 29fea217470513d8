"""Shooting beside collocation on every named problem: one table, in the page on shooting.

``python tests/benchmarks/shooting.py`` prints it, ``--write`` puts it into
``tests/benchmarks/shooting.md``; names choose problems, and the other lines of the table stay.
``--changed 20 --seed 1`` solves each problem of the models with random changes of its settings
instead, and counts how many of those that collocation solves shooting confirms; ``--record FILE``
keeps each of these solves and goes on where an earlier run ended. ``--answers FOLDER`` keeps the
answers of collocation, which take most of the time, so that another run with ``--record`` to a new
file repeats shooting alone.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trajopt import Problem, builder, load, named_problems, solve
from trajopt.errors import TrajoptError
from trajopt.parameters import settings_of
from trajopt.solving.methods import Both, confirm
from trajopt.trajectory.comparison import Verdict

PAGE = Path(__file__).with_name("shooting.md")
NAMED = "<!-- table of named problems -->", "<!-- end of table -->"
CHANGES = "<!-- table of changed settings -->", "<!-- end of changed settings -->"
HEAD = (
    "problem",
    "verdict",
    "arcs",
    "unknowns",
    "Newton steps",
    "direct s",
    "shooting s",
    "objectives",
    "initial costates",
)
CHANGES_HEAD = ("problem", "changes", "solved by collocation", "confirmed", "longest shooting s")
SIZE = re.compile(r"(\d+) arcs, \d+ segments, (\d+) unknowns")
MODELS = ("exoskeleton", "bike robot", "rocket")
LIMIT = 600.0  # seconds for one problem by one method, unless given
WITHIN = 0.1  # of a setting: how far it is changed
VERDICTS = [verdict.name.lower().replace("_", " ") for verdict in Verdict]


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
        figures = [
            f"{self.direct:.1f}",
            f"{self.shooting:.1f}",
            f"{self.objectives:.0e}",
            f"{self.costates:.0e}",
        ]
        return [self.name, self.verdict, *counts, *figures]


def row_of(name: str, problem: Problem, kept: Path | None = None, limit: float = LIMIT) -> Row:
    """Solve one problem by both methods; ``kept`` is a file for the answer of collocation, or with
    it.
    """
    marks = [time.process_time()]
    if kept is not None and kept.exists():
        direct = load(kept)
    else:
        direct = solve(problem, Both().direct, time_limit=limit)
        if kept is not None:
            direct.save(kept)
    marks.append(time.process_time())
    found = confirm(problem, direct, time_limit=limit).comparison
    marks.append(time.process_time())
    if found is None or found.indirect is None:
        ended = direct.status.name.lower().replace("_", " ")
        return Row(
            name, f"no direct answer ({ended})", 0, 0, 0, marks[-1] - marks[0], 0.0, np.nan, np.nan
        )
    sizes = [SIZE.match(line) for line in found.indirect.log]
    unknowns = [int(size.group(2)) for size in sizes if size is not None]
    pairs = np.array(list((found.costates_initial or {}).values())).reshape(-1, 2)
    gap = np.abs(pairs[:, 0] - pairs[:, 1]).max(initial=0.0) / max(
        float(np.abs(pairs).max(initial=0.0)), 1e-300
    )
    return Row(
        name,
        found.verdict.name.lower().replace("_", " "),
        len(found.indirect.arcs),
        unknowns[-1] if unknowns else 0,
        found.indirect.iterations,
        marks[1] - marks[0],
        marks[-1] - marks[1],
        found.objective,
        float(gap),
    )


def draws(name: str, count: int, seed: int) -> Iterator[dict[str, float]]:
    """Random changes of the numeric settings of a problem, each by at most ``WITHIN``; the same for
    the same seed.
    """
    random = np.random.default_rng([seed, *name.encode()])
    numbers = {
        key: s.default
        for key, s in settings_of(builder(name)).items()
        if isinstance(s.default, float) and s.default
    }
    for _ in range(count):
        yield {key: value * (1 + WITHIN * random.uniform(-1, 1)) for key, value in numbers.items()}


def changed(name: str, given: argparse.Namespace) -> list[str]:
    """Of the changes that collocation solves: how many shooting confirms, and the longest time it
    took.
    """
    count, seed, record = given.changed, given.seed, given.record
    known = (
        {}
        if record is None or not record.exists()
        else dict(map(json.loads, record.read_text().splitlines()))
    )
    rows = []
    for number, some in enumerate(draws(name, count, seed)):
        key = f"{name} {seed} {number}"
        if key not in known:
            try:
                kept = (
                    None if given.answers is None else given.answers / f"{name}-{seed}-{number}.nc"
                )
                row = row_of(name, builder(name)(**some), kept, given.limit)
                known[key] = [row.verdict, row.shooting, row.objectives]
            except TrajoptError as error:  # settings that contradict each other
                known[key] = [str(error).splitlines()[0], 0.0, np.nan]
            if record is not None:
                with record.open("a") as file:
                    file.write(json.dumps([key, known[key]]) + "\n")
        print("  ", number, *known[key], flush=True)
        rows.append(known[key])
    confirmed = sum(verdict == "agree" for verdict, _, _ in rows)
    solved = sum(verdict in VERDICTS for verdict, _, _ in rows)
    return [
        name,
        str(count),
        str(solved),
        str(confirmed),
        f"{max(seconds for _, seconds, _ in rows):.1f}",
    ]


def written(
    page: str, marks: tuple[str, str], head: tuple[str, ...], lines: list[list[str]]
) -> str:
    """The page with these lines in the table between two marks: others stay, those of the same name
    are replaced.
    """
    before, rest = page.split(marks[0])
    old, after = rest.split(marks[1])
    cells = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in old.strip().splitlines()[2:]
    ]
    new = {line[0]: line for line in lines}
    merged = [new.pop(line[0], line) for line in cells] + list(new.values())
    text = "\n".join(
        "| " + " | ".join(line) + " |" for line in [head, ("---",) * len(head), *merged]
    )
    return f"{before}{marks[0]}\n\n{text}\n\n{marks[1]}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--changed", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--limit", type=float, default=LIMIT)
    given = parser.parse_args()
    problems = {name: entry for name, entry in named_problems().items() if entry.kind == "problem"}
    models = [name for name, entry in problems.items() if entry.family in MODELS]
    marks, head = (CHANGES, CHANGES_HEAD) if given.changed else (NAMED, HEAD)
    for name in given.names or (models if given.changed else problems):
        line = changed(name, given) if given.changed else row_of(name, builder(name)()).cells()
        print(*line, flush=True)
        if given.write:
            PAGE.write_text(
                written(PAGE.read_text(encoding="utf-8"), marks, head, [line]), encoding="utf-8"
            )


if __name__ == "__main__":
    main()
