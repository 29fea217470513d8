"""Which attempts and remedies of the direct method are needed: problems solved with and without
each of them.

    python -m tests.benchmarks.ablation [--suite] [--named] [--tests] [--only NAME,...]
        [--without NAME,...] [--limit 120] [--json FILE]

``--suite``: the regression suite; ``--named``: all named problems; ``--tests``: the tests of
``tests/direct``, each run with one attempt or remedy left out. Without any of them the suite runs.
Every problem is solved twice, from its own guess and from its solution (which tries "the arcs of
the guess"), and once more without each attempt or remedy that its record shows as tried: one that
was never tried cannot matter. The table has what changed; ``--json`` keeps the rows and goes on
where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FIRST = "first attempt"  # there is no solve without it
TOLERANCE = 1e-6  # relative: objectives that differ by more are different
Row = dict[str, Any]


def names() -> list[str]:
    """Of all attempts and remedies but the first attempt."""
    from trajopt.direct.strategy import REMEDIES

    return [remedy for remedy in REMEDIES if remedy != FIRST]


def problems(kinds: list[str], only: set[str]) -> list[str]:
    """As KIND:NAME."""
    found = []
    if "suite" in kinds:
        from tests.benchmarks.suite import NUMBERS

        found += [f"suite:{name}" for name in NUMBERS]
    if "named" in kinds:
        from trajopt import named_problems

        found += [f"named:{name}" for name in named_problems()]
    return [one for one in found if not only or one.split(":", 1)[1] in only]


def solved(problem: str, without: str) -> list[Row]:
    """Two solves in this process: from the problem's guess, and from the solution."""
    from trajopt import Collocation, builder, solve

    kind, name = problem.split(":", 1)
    if kind == "suite":
        from tests.benchmarks.suite import ENTRIES

        statement = ENTRIES[name].build()
    else:
        statement = builder(name)()
    rows, guess = [], None
    method = Collocation(without=frozenset({without} - {""}))
    for start in ("guess", "solution"):
        began = time.process_time()
        solution = solve(statement, method, guess=guess)
        row = {
            "start": start,
            "status": solution.status.name,
            "objective": solution.objective,
            "error": solution.error,
        }
        tried = sorted({line.split(": ")[0] for line in solution.log})
        sense = solution.form.sense if solution.form else 1.0
        rows.append({**row, "sense": sense, "tried": tried, "seconds": time.process_time() - began})
        if not solution.success:
            break
        # The solution with the attempt, so that both runs begin at the same answer.
        guess = solution if not without else solve(statement, Collocation())
    return rows


def measured(problem: str, without: str, limit: float) -> list[Row]:
    """The same in a process of its own, ended after ``limit`` seconds."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.benchmarks.ablation",
        "--one",
        problem,
        without,
    ]
    with tempfile.TemporaryFile("w+") as out:
        try:
            subprocess.run(
                command,
                stdout=out,
                stderr=subprocess.DEVNULL,
                timeout=limit,
                cwd=ROOT,
                env=_environment(),
            )
        except subprocess.TimeoutExpired:
            return [
                {
                    "start": "guess",
                    "status": "TIME",
                    "objective": None,
                    "error": None,
                    "tried": [],
                    "seconds": limit,
                }
            ]
        out.seek(0)
        answers = [line for line in out if line.startswith("ANSWER ")]
    return json.loads(answers[-1].removeprefix("ANSWER ")) if answers else []


def changed(row: Row, other: Row) -> bool:
    """True if leaving something out fails in status, or gives a worse objective."""
    if row["status"] != other["status"]:
        return True
    if row["objective"] is None or other["objective"] is None:
        return False
    return row["sense"] * (other["objective"] - row["objective"]) > TOLERANCE * abs(
        row["objective"]
    )


def failing_tests(without: str, only: set[str]) -> list[str]:
    """Of ``tests/direct``, with one attempt or remedy left out of every solve."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.benchmarks.ablation",
        "--tb=no",
        "-rf",
        "tests/direct",
    ]
    chosen = ["-k", " or ".join(sorted(only))] if only else []
    run = subprocess.run(
        [*command, *chosen],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**_environment(), "TRAJOPT_WITHOUT": without},
    )
    return [
        line.split(" - ")[0].removeprefix("FAILED ")
        for line in run.stdout.splitlines()
        if line.startswith("FAILED")
    ]


def pytest_configure() -> None:
    """As a plugin: ``Collocation`` leaves out what the environment
    variable TRAJOPT_WITHOUT names.
    """
    left_out = os.environ.get("TRAJOPT_WITHOUT")
    if not left_out:
        return
    from trajopt.direct.collocation import Collocation

    original = Collocation.__init__

    def with_less(
        self: Any, *args: Any, without: frozenset[str] = frozenset(), **others: Any
    ) -> None:
        original(self, *args, without=without | {left_out}, **others)

    Collocation.__init__ = with_less  # type: ignore[method-assign]


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def table(rows: dict[str, list[Row]], left_out: list[str]) -> None:
    """One line for each attempt and remedy, and one for each problem that it changes."""
    print("| left out | tried on | changes | problem | with | without |\n|---|---|---|---|---|---|")
    for name in left_out:
        tried, lines = 0, []
        for problem in [key for key in rows if "|" not in key]:
            for row, other in zip(rows[problem], rows.get(f"{problem}|{name}", []), strict=False):
                if name not in row["tried"]:
                    continue
                tried += 1
                if changed(row, other):
                    with_it, without = (
                        f"{one['status']} "
                        f"{np.nan if one['objective'] is None else one['objective']:.9g}"
                        for one in (row, other)
                    )
                    lines.append(
                        f"|  |  |  | {problem}, from its {row['start']} | {with_it} | {without} |"
                    )
        print(f"| {name} | {tried} | {len(lines)} |  |  |  |", *lines, sep="\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for kind in ("suite", "named", "tests"):
        parser.add_argument(f"--{kind}", action="store_true")
    parser.add_argument(
        "--only",
        default="",
        help="names of problems, or words of names of tests, separated by commas",
    )
    parser.add_argument(
        "--without",
        default="",
        help="names of attempts and remedies, separated by commas; default: all",
    )
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds of wall-clock time for one process"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print("\nANSWER " + json.dumps(solved(*options.one)), flush=True)
        return
    kinds = [kind for kind in ("suite", "named", "tests") if getattr(options, kind)] or ["suite"]
    only = {name for name in options.only.split(",") if name}
    left_out = [
        name for name in names() if not options.without or name in options.without.split(",")
    ]
    rows: dict[str, list[Row]] = (
        json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    )

    def keep(key: str, problem: str, without: str) -> list[Row]:
        if key not in rows:
            rows[key] = measured(problem, without, options.limit)
            print(
                f"{key}: "
                + ", ".join(f"{row['status']} {row['seconds']:.1f} s" for row in rows[key]),
                file=sys.stderr,
            )
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
        return rows[key]

    for problem in problems(kinds, only):
        tried = {name for row in keep(problem, problem, "") for name in row["tried"]}
        for name in sorted(tried.intersection(left_out)):
            keep(f"{problem}|{name}", problem, name)
    if rows:
        table(rows, left_out)
    if "tests" in kinds:
        print("\n| left out | failing tests of tests/direct |\n|---|---|")
        for name in left_out:
            print(f"| {name} | {', '.join(failing_tests(name, only))} |", flush=True)


if __name__ == "__main__":
    main()
