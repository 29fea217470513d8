"""Run the suite and print one table; or compare two tables.

    python -m tests.benchmarks.suite [--only NAME,NUMBER,CLASS ...] [--quick] [--every-third]
        [--workers 1] [--limit 120] [--python PYTHON] [--json FILE] [--resume] [--show FILE]
    python -m tests.benchmarks.suite --compare BEFORE.json AFTER.json

Each problem is solved with default settings in a process of its own that is ended after the time
limit. ``--python`` names the interpreter of another version. The table counts a problem as solved
only where the objective agrees with the reference as well.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from suite import ENTRIES, NUMBERS  # noqa: E402

Row = dict[str, Any]
VERDICTS = {
    "solved": "SOLVED, the objective within the reference's tolerance",
    "wrong": "SOLVED, the objective not within the tolerance",
    "local": "SOLVED, a known local optimum that is not the best",
    "right": "not SOLVED, but the objective within the tolerance",
    "coarse": "COARSE, the objective not within the tolerance",
    "failed": "any other status",
    "time": "no answer within the time limit",
}


def verdict(name: str, row: Row) -> str:
    """One of ``VERDICTS`` for the report of one solve."""
    reference = ENTRIES[name].reference
    if row["status"] == "TIME":
        return "time"
    agrees = (
        row["objective"] is not None and reference.error(row["objective"]) <= reference.tolerance
    )
    solved = row["status"] == "SOLVED" or (
        not reference.attained and row["status"] in ("COARSE", "CHATTERING")
    )
    if solved and agrees:
        return "solved"
    if row["status"] == "SOLVED":
        return "local" if reference.is_other(row["objective"]) else "wrong"
    if agrees:
        return "right"
    return "coarse" if row["status"] == "COARSE" else "failed"


def measured(name: str, python: str, limit: float) -> Row:
    """The report of one problem, solved in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [python, "-W", "ignore", str(HERE / "one.py"), name]
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    empty = {
        "status": "TIME",
        "objective": None,
        "estimate": None,
        "meshes": None,
        "iterations": None,
        "seconds": None,
    }
    # so that no trajopt of the current folder is imported
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, env=environment, cwd=folder
            )
        except subprocess.TimeoutExpired:
            # of all workers, so an upper bound with several
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            return {
                **empty,
                "wall": limit,
                "seconds": now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime,
            }
    wall = time.perf_counter() - began
    answers = [line for line in run.stdout.splitlines() if line.startswith("ANSWER ")]
    if not answers:
        return {
            **empty,
            "status": "ERROR",
            "wall": wall,
            "message": (run.stderr.strip().splitlines() or ["no output"])[-1],
        }
    report = json.loads(answers[-1].removeprefix("ANSWER "))
    finite = {
        k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in report.items()
    }
    return {**finite, "wall": wall}


def complete(name: str, row: Row) -> Row:
    """The row with what follows from the reference."""
    entry = ENTRIES[name]
    error = None if row["objective"] is None else entry.reference.error(row["objective"])
    lead = {
        "number": NUMBERS.index(name) + 1,
        "name": name,
        "class": entry.kind,
        "verdict": verdict(name, row),
        "error": error,
    }
    return {**lead, **{key: value for key, value in row.items() if key not in lead}}


def shown(value: Any, pattern: str) -> str:
    return "" if value is None else format(value, pattern)


def line(row: Row) -> str:
    cells = [
        str(row["number"]), row["name"], row["class"], row["status"],
        f"**{row['verdict']}**" if row["verdict"] in ("wrong", "local") else row["verdict"],
        shown(row["error"], ".1e"), shown(row["estimate"], ".1e"), shown(row["meshes"], "d"),
        shown(row["iterations"], "d"), shown(row["seconds"], ".1f"),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


HEADER = """\
| number | name | class | status | verdict | error | estimate | meshes | iterations | seconds |
|---|---|---|---|---|---|---|---|---|---|"""


def summary(rows: list[Row]) -> str:
    """Counts of the verdicts, in all and by class."""
    classes = sorted({row["class"] for row in rows})
    lines = [
        "| class | problems | " + " | ".join(VERDICTS) + " | seconds |",
        "|---|---|" + "---|" * (len(VERDICTS) + 1),
    ]
    for kind in [*classes, "all"]:
        chosen = [row for row in rows if kind in (row["class"], "all")]
        counts = Counter(row["verdict"] for row in chosen)
        seconds = sum(row["seconds"] or row["wall"] for row in chosen)
        cells = [
            kind,
            str(len(chosen)),
            *(str(counts[key] or "") for key in VERDICTS),
            f"{seconds:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def compare(before: list[Row], after: list[Row]) -> str:
    """The rows of two tables whose verdict differs or whose time differs by more than 10 % and 0.2
    s.
    """
    old = {row["name"]: row for row in before}
    lines = [
        "| number | name | verdict before | after | error before | after | seconds before | after "
        "|",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in after:
        then = old.get(row["name"])
        if then is None:
            continue
        times = then["seconds"] or then["wall"], row["seconds"] or row["wall"]
        changed = abs(times[1] - times[0]) > max(0.1 * times[0], 0.2)
        if then["verdict"] != row["verdict"] or changed:
            cells = [
                str(row["number"]),
                row["name"],
                then["verdict"],
                row["verdict"],
                shown(then["error"], ".1e"),
                shown(row["error"], ".1e"),
                f"{times[0]:.1f}",
                f"{times[1]:.1f}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def selected(arguments: argparse.Namespace) -> list[str]:
    names = [name for name in NUMBERS if ENTRIES[name].quick or not arguments.quick]
    if arguments.only:
        words = arguments.only.split(",")
        unknown = (
            set(words)
            - set(NUMBERS)
            - {e.kind for e in ENTRIES.values()}
            - {str(i + 1) for i in range(len(NUMBERS))}
        )
        if unknown:
            raise SystemExit(f"no problem, number or class: {', '.join(sorted(unknown))}")
        names = [n for n in names if {n, ENTRIES[n].kind, str(NUMBERS.index(n) + 1)} & set(words)]
    return [n for n in names if not arguments.every_third or (NUMBERS.index(n) + 1) % 3 == 0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="names, numbers or classes, separated by commas")
    parser.add_argument("--quick", action="store_true", help="the problems of the tests")
    parser.add_argument(
        "--every-third",
        action="store_true",
        help="the problems whose number is a multiple of three",
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--limit", type=float, default=120, help="seconds of wall-clock time for one problem"
    )
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter in which trajopt is installed"
    )
    parser.add_argument("--json", type=Path, help="write the table to this file after each problem")
    parser.add_argument(
        "--resume", action="store_true", help="keep the rows that the JSON file already has"
    )
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument(
        "--show", type=Path, help="print the table of a JSON file, judged by today's references"
    )
    arguments = parser.parse_args()
    if arguments.compare:
        print(compare(*(json.loads(path.read_text()) for path in arguments.compare)))
        return
    if arguments.show:
        rows = [complete(row["name"], row) for row in json.loads(arguments.show.read_text())]
        print("\n".join([HEADER, *map(line, rows), "", summary(rows)]))
        return
    run(arguments)


def run(arguments: argparse.Namespace) -> None:
    rows: dict[str, Row] = {}
    if arguments.resume and arguments.json and arguments.json.exists():
        rows = {
            row["name"]: complete(row["name"], row)
            for row in json.loads(arguments.json.read_text())
        }
    print(HEADER, flush=True)

    def solve(name: str) -> None:
        if name not in rows:
            rows[name] = complete(name, measured(name, arguments.python, arguments.limit))
        print(line(rows[name]), flush=True)
        if arguments.json:
            arguments.json.write_text(
                json.dumps([rows[n] for n in NUMBERS if n in rows], indent=1) + "\n"
            )

    with ThreadPoolExecutor(arguments.workers) as pool:
        list(pool.map(solve, selected(arguments)))
    print("\n" + summary([rows[name] for name in selected(arguments)]))


if __name__ == "__main__":
    main()
