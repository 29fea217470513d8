"""Certify every named problem's direct answer: claim, what keeps it from a minimum, and the time
beside that of the solve.

    python -m tests.benchmarks.certificates [NAME ...] [--limit 300] [--before PYTHON]
        [--json FILE] [--page]
    python -m tests.benchmarks.certificates --suite [NAME ...] [--limit 300] [--json FILE]

Each problem is solved and certified in a process of its own. ``--before`` names the interpreter of
another version whose solve is timed beside; ``--json`` keeps rows, and adds to those that a file
has; ``--page`` writes the table into the certificate's page. ``--suite`` takes the problems of
``tests/benchmarks/suite`` instead. A false alarm is one that is SOLVED, whose objective agrees with
its reference, and that is not certified.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
PAGE = HERE.parents[2] / "trajopt" / "certificate" / "README.md"
BEGIN, END = "<!-- named problems -->\n", "<!-- end -->\n"

ONE = """
import json, sys, time
from trajopt import certify, solve
if sys.argv[2:]:
    sys.path.insert(0, sys.argv[2])
    from suite import ENTRIES
    build = ENTRIES[sys.argv[1]].build
else:
    from trajopt.catalogue import builder
    build = builder(sys.argv[1])
begun = time.process_time()
solution = solve(build())
solved = time.process_time() - begun
begun = time.process_time()
certificate = certify(solution)
taken = time.process_time() - begun
print(certificate, file=sys.stderr)
rows = {c.name: [c.value, c.ok, c.applies] for c in certificate.checks}
print("\\nROW " + json.dumps({
      "claim": certificate.claim, "verdict": certificate.verdict, "ok": certificate.ok,
      "solve": solved, "certify": taken,
      "status": solution.status.name, "objective": solution.objective, "rows": rows}))
"""
BEFORE = """
import sys, time
from trajopt import solve
from trajopt.catalogue import builder
build = builder(sys.argv[1])
begun = time.process_time()
solve(build())
print("\\nROW " + str(time.process_time() - begun))
"""


def measured(name: str, script: str, python: str, limit: float, *more: str) -> tuple[Any, str]:
    """What the script printed, or None where it took too long or failed; and what else it said.

    It runs in the folder of the interpreter: Python would take the packages of the current one
    first, whatever the version.
    """
    try:
        run = subprocess.run(
            [python, "-W", "ignore", "-c", script, name, *more],
            capture_output=True, text=True, timeout=limit, check=False, cwd=Path(python).parent,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, f"no answer within {limit:g} s"
    lines = [line for line in run.stdout.splitlines() if line.startswith("ROW ")]
    return (json.loads(lines[-1][4:]) if lines else None), run.stderr


def why(row: dict[str, Any]) -> str:
    """What the verdict says beyond the claim."""
    inner = row["verdict"].partition("(")[2].rpartition(")")[0]
    return inner.removeprefix("local").removeprefix("; ")


def times(row: dict[str, Any]) -> str:
    """Of the solve, and of that of the other version."""
    before = "" if row.get("before") is None else f" ({row['before']:.1f} s before)"
    return f"{row['solve']:6.1f} s{before}"


def table(rows: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| problem | claim | global, or why no more | certificate | solve | solve of 23964c5 |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        before = f"{row['before']:.1f} s" if row.get("before") is not None else ""
        lines.append(
            f"| {name} | {row['claim']} | {why(row)} | {row['certify']:.1f} s | "
            f"{row['solve']:.1f} s | {before} |"
        )
    return "\n".join(lines) + "\n"


def of_suite(names: list[str], limit: float, keep: Path | None) -> int:
    """Certify problems of the suite, and count false alarms."""
    sys.path.insert(0, str(HERE.parent))
    from suite import ENTRIES, NUMBERS

    rows: dict[str, dict[str, Any]] = json.loads(keep.read_text()) if keep and keep.exists() else {}
    alarms = []
    for name in names or NUMBERS:
        row, said = measured(name, ONE, sys.executable, limit, str(HERE.parent))
        if row is None:
            print(f"{name:28} no certificate: {said.strip().splitlines()[-1:]}", flush=True)
            continue
        reference = ENTRIES[name].reference
        right = (
            row["status"] == "SOLVED" and reference.error(row["objective"]) <= reference.tolerance
        )
        rows[name] = {**row, "right": right}
        alarm = "   <-- false alarm" if right and not row["ok"] else ""
        alarms += [name] if alarm else []
        print(
            f"{name:28} {row['status']:9} {row['claim']:9} {row['certify']:6.1f} s, solve "
            f"{times(row)}   {why(row)}{alarm}",
            flush=True,
        )
        if keep:
            keep.write_text(json.dumps(rows, indent=1))
    solved = [row for row in rows.values() if row["right"]]
    print(
        f"{len(solved)} right answers, {sum(row['ok'] for row in solved)} certified; false "
        f"alarms: {alarms or 'none'}"
    )
    return 1 if alarms else 0


def main() -> int:
    from trajopt.catalogue import named_problems

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--before")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--suite", action="store_true")
    options = parser.parse_args()
    if options.suite:
        return of_suite(options.names, options.limit, options.json)
    rows = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    every = [name for name, entry in named_problems().items() if entry.kind == "problem"]
    for name in options.names or every:
        row, said = measured(name, ONE, sys.executable, options.limit)
        if row is None:
            print(f"{name:28} no certificate: {said.strip().splitlines()[-1:]}", flush=True)
            continue
        row["before"] = rows.get(name, {}).get("before")
        if options.before:
            row["before"] = measured(name, BEFORE, options.before, options.limit)[0]
        rows[name] = row
        print(
            f"{name:28} {row['claim']:9} {row['certify']:6.1f} s, solve {times(row)}   {why(row)}",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    rows = {name: rows[name] for name in every if name in rows}
    if options.page:
        text = PAGE.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        PAGE.write_text(head + BEGIN + table(rows) + END + rest.partition(END)[2], encoding="utf-8")
    late = [
        n for n, r in rows.items() if r.get("before") is not None and r["certify"] > r["before"] + 5
    ]
    certified = sum(r["ok"] for r in rows.values())
    print(
        f"{certified} of {len(rows)} certified; slower than the solve of before plus 5 s: "
        f"{late or 'none'}"
    )
    return 0 if all(r["ok"] for r in rows.values()) and not late else 1


if __name__ == "__main__":
    sys.exit(main())
