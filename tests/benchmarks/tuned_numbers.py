"""Which numbers among the settings of the direct method matter: each times 3 and divided by 3.

python -m tests.benchmarks.tuned_numbers [--suite] [--only NAME,...] [--limit 10] [--json FILE]

The named problems, and with ``--suite`` the quick ones of the regression suite, are solved with
every numeric field of ``Collocation`` and its parts changed, one at a time. The table has the
problems that notice: with another status, another objective (to 1e-6) or another number of meshes.
``--limit`` is the processor time in seconds that a problem may take with the settings as they are;
slower ones are left out. ``--json`` keeps the rows and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from trajopt import Collocation, Problem, builder, named_problems, solve
from trajopt.errors import TrajoptError

KEPT = {"tolerance", "max_passes"}  # what a user asks for, no tuned numbers
SAME = 1e-6  # relative, of objectives
Row = tuple[str, float, int, float]  # status, objective, meshes, processor time


def variations() -> Iterator[tuple[str, Collocation]]:
    """(name and factor, settings) with one number changed."""
    plain = Collocation()
    for part in (None, *[f.name for f in fields(plain) if is_dataclass(getattr(plain, f.name))]):
        owner: Any = plain if part is None else getattr(plain, part)
        if part in ("scheme", "backend"):
            continue
        for field in fields(owner):
            value = getattr(owner, field.name)
            if field.name in KEPT or isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            for label, factor in ((" * 3", 3.0), (" / 3", 1 / 3)):
                other: float = value * factor
                if isinstance(value, int):
                    other = max(round(other), 1)
                elif value < 1:  # a share stays one
                    other = min(other, 0.5 * (1 + value))
                changed = replace(owner, **{field.name: other})
                method = changed if part is None else replace(plain, **{part: changed})
                yield f"{part + '.' if part else ''}{field.name}{label}", method


def problems(suite: bool, only: set[str]) -> Iterator[tuple[str, Any]]:
    """(name, function that builds it)"""
    for name in named_problems():
        if not only or name in only:
            yield name, builder(name)
    if suite:
        from tests.benchmarks.suite import ENTRIES

        for name, entry in ENTRIES.items():
            if entry.quick and (not only or name in only):
                yield name, entry.build


def solved(build: Any, method: Collocation, limit: float) -> Row | None:
    """None for what is no problem."""
    statement = build()
    if not isinstance(statement, Problem):
        return None
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            solution = solve(statement, method, time_limit=limit)
        except TrajoptError as error:
            return type(error).__name__, float("nan"), 0, time.process_time() - began
    spent = time.process_time() - began
    return solution.status.name, solution.objective, len(solution.history), spent


def difference(row: Row, other: Row) -> str:
    """What changed, in words; empty where nothing did."""
    if row[0] != other[0]:
        return f"{row[0]} to {other[0]}"
    if abs(row[1] - other[1]) > SAME * abs(row[1]):
        return f"{row[1]:.9g} to {other[1]:.9g}"
    return f"{row[2]} to {other[2]} meshes" if row[2] != other[2] else ""


def table(rows: dict[str, Row | None], names: list[str]) -> None:
    """A line for each changed number."""
    plain = {key: row for key, row in rows.items() if "|" not in key and row is not None}
    print("| number | status or objective | meshes | of them |\n|---|---|---|---|")
    for name in names:
        found = {}
        for key, row in plain.items():
            other = rows.get(f"{key}|{name}")
            change = difference(row, other) if other is not None else ""
            if change:
                found[key] = change
        answers = [f"{key}: {text}" for key, text in found.items() if "meshes" not in text]
        meshes = [key for key, text in found.items() if "meshes" in text]
        print(f"| {name} | {'; '.join(answers[:3])} | {len(meshes)} | {', '.join(meshes[:4])} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", action="store_true", help="also the quick problems of the suite")
    parser.add_argument("--only", default="", help="names of problems, separated by commas")
    parser.add_argument("--limit", type=float, default=1.0, help="seconds of a plain solve")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: dict[str, Row | None] = {}
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text())
    only = {name for name in options.only.split(",") if name}
    changed = list(variations())
    for name, build in problems(options.suite, only):
        if name not in rows:
            rows[name] = solved(build, Collocation(), 10 * options.limit)
        row = rows[name]
        if row is None or row[0] != "SOLVED" or row[3] > options.limit:
            continue
        for label, method in changed:
            key = f"{name}|{label}"
            if key not in rows:
                rows[key] = solved(build, method, 10 * options.limit)
        if options.json:
            options.json.write_text(json.dumps(rows))
    table(rows, [label for label, _ in changed])


if __name__ == "__main__":
    main()
