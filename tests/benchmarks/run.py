#!/usr/bin/env python3
"""trajopt and its peers on five problems, some of them on a sixth, and at scale, as Markdown
tables.

    python tests/benchmarks/run.py [--only trajopt,asset] [--problems P1,P3] [--no-scaling]
        [--json FILE]

Each peer runs in a virtual environment of its own, made on first use under $TRAJOPT_PEERS (default
~/.cache/trajopt-peers). Times are processor times, the least of up to 25 repeats, statement and
solver construction included. A time means something only beside its accuracy, so each peer's row
also says how long trajopt takes to be as accurate, and how accurate trajopt is in as much time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from statements import STATEMENTS

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = Path(os.environ.get("TRAJOPT_PEERS", Path.home() / ".cache" / "trajopt-peers"))
PACKAGES = {
    "asset": ["asset-asrl==0.5.1", "numpy<2.4", "scipy", "matplotlib"],
    "yapss": ["yapss==0.2.3"],
    "mpopt": ["numpy==1.26.4", "casadi==3.8.2", "scipy", "matplotlib"],
    "maptor": ["maptor==0.2.1"],
    "rockit": ["rockit-meco==0.6.7", "scipy"],
    "opti": ["casadi==3.8.2"],
}
# who is given a problem that not all are given
ATTEMPT = {"P6": ("trajopt", "asset", "rockit", "opti")}
ALONE = {"mpopt": ["mpopt==0.2.2"]}  # it asks for a NumPy older than this Python
SCALES = (200, 1000, 5000)
SCALED = ("trajopt", "asset")
TOLERANCES = ("1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8")
LIMIT = 120  # seconds for all repeats of one measurement

Report = dict[str, Any]


def python_of(name: str) -> str:
    """The interpreter that has the package; made on first use."""
    if name == "trajopt":
        return sys.executable
    folder = ENVIRONMENTS / name
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"making the environment of {name}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *PACKAGES[name]], check=True)
        if name in ALONE:
            subprocess.run([*install, "--no-deps", *ALONE[name]], check=True)
        (folder / "complete").touch()
    return str(python)


def measured(name: str, *arguments: str) -> Any:
    """What ``with_NAME.py`` reports, or a reason why it does not."""
    command = [python_of(name), "-W", "ignore", str(HERE / f"with_{name}.py"), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # one thread for everyone
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, env=environment, cwd=HERE
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"no answer in {LIMIT} s"}
    answers = [line for line in run.stdout.splitlines() if line.startswith("ANSWER ")]
    if answers:
        return json.loads(answers[-1].removeprefix("ANSWER "))
    return {"failure": (run.stderr.strip().splitlines() or ["no output"])[-1][:90]}


def relative_error(problem: str, report: Report) -> float:
    reference = STATEMENTS[problem].reference
    return abs(report["objective"] - reference) / abs(reference)


def as_accurate(problem: str, peer: Report, sweep: list[Report]) -> str:
    """The time of trajopt's quickest run that is as accurate as the peer."""
    target = max(relative_error(problem, peer), 1e-11)
    times = [run["seconds"] for run in sweep if relative_error(problem, run) <= target]
    return f"{min(times) * 1e3:.0f}" if times else "-"


def as_quick(problem: str, peer: Report, sweep: list[Report]) -> str:
    """The error of trajopt's best run that takes no longer than the peer."""
    errors = [relative_error(problem, run) for run in sweep if run["seconds"] <= peer["seconds"]]
    return f"{min(errors):.0e}" if errors else "-"


def compare(names: list[str], problems: list[str]) -> list[Report]:
    """Print the table of the problems."""
    print(
        "| problem | package | error of the cost | ms | iterations | trajopt as accurate: ms | "
        "trajopt as quick: error | |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for problem in problems:
        sweep = measured("trajopt", "sweep", problem, *TOLERANCES) if len(names) > 1 else []
        sweep = sweep if isinstance(sweep, list) else []
        for name in names:
            if name not in ATTEMPT.get(problem, PACKAGES.keys() - {"opti"} | {"trajopt"}):
                continue
            report = measured(name, problem)
            rows.append({"problem": problem, "package": name, **report})
            lead = f"| {problem} {STATEMENTS[problem].title} | {name} |"
            if "failure" in report:
                print(f"{lead} failed | | | | | {report['failure']} |", flush=True)
                continue
            others = (
                ("", "")
                if name == "trajopt"
                else (as_accurate(problem, report, sweep), as_quick(problem, report, sweep))
            )
            rows[-1]["error"] = relative_error(problem, report)
            count = "" if report["iterations"] is None else report["iterations"]
            print(
                f"{lead} {rows[-1]['error']:.0e} | {report['seconds'] * 1e3:.0f} | {count} | "
                f"{others[0]} | {others[1]} "
                f"| {report['remark']} |",
                flush=True,
            )
    return rows


def scale(names: list[str]) -> list[Report]:
    """Print the table of the cart-pole on fixed meshes."""
    print(
        "\n| intervals | package | s | MiB at most | error of the cost | "
        "|\n|---|---|---|---|---|---|"
    )
    rows = []
    for intervals in SCALES:
        for name in (n for n in SCALED if n in names):
            report = measured(name, "scaling", str(intervals))
            rows.append({"intervals": intervals, "package": name, **report})
            if "failure" in report:
                print(f"| {intervals} | {name} | failed | | | {report['failure']} |", flush=True)
                continue
            seconds = report["seconds"]
            memory = report["megabytes"]
            error = relative_error("P3", report)
            print(
                f"| {intervals} | {name} | {seconds:.2f} | {memory:.0f} | {error:.0e} | "
                f"{report['remark']} |",
                flush=True,
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--only", default=",".join(["trajopt", *PACKAGES]), help="packages, with commas"
    )
    parser.add_argument("--problems", default=",".join(STATEMENTS), help="problems, with commas")
    parser.add_argument(
        "--no-scaling", action="store_true", help="leave out the table of fixed meshes"
    )
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    chosen = parser.parse_args()
    names, problems = chosen.only.split(","), chosen.problems.split(",")
    for what, given, known in (
        ("package", names, ["trajopt", *PACKAGES]),
        ("problem", problems, list(STATEMENTS)),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            parser.error(f"unknown {what} '{unknown[0]}'; known: {', '.join(known)}")
    rows = compare(names, problems)
    if not chosen.no_scaling:
        rows += scale(names)
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
