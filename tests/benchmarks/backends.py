"""The compiled interior-point method beside IPOPT over named problems and the suite.

    python tests/benchmarks/backends.py [--programs] [--suite | --every-third] [--quick]
        [--limit S] [--repeats N] [-v] [NAME ...]

Whole solves (the default): every problem is solved by both backends, each in a process of its own.
Columns: status and objective of both; the difference of the objectives relative to the sum of both
estimated errors; programs, and how many of them the compiled method passed to IPOPT; processor time
of both, the least of the repeats, and its ratio.

``--programs``: every program of a solve with IPOPT is also solved by the compiled method alone, on
the same mesh. Columns: programs; how many of them the compiled method did not solve; the largest
relative difference of objectives where both solved; processor time of both; their ratio; iterations
of both.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SLOWER = 1.1  # ratio of times above which a problem counts as slower, if it also takes 20 ms more
QUICK = (
    "brachistochrone",
    "cart-pole",
    "goddard-cops",
    "bryson-denham",
    "launch-vehicle",
    "wheelie-entry",
)


def statement(name):
    """The problem with this name, of the named ones or of the suite."""
    from trajopt import builder, named_problems

    if name in named_problems():
        return builder(name)()
    from tests.benchmarks.suite import ENTRIES

    return ENTRIES[name].build()


def names_of(options):
    from tests.benchmarks.suite import ENTRIES, NUMBERS
    from trajopt import named_problems

    if options.names:
        return options.names
    if options.every_third:
        return NUMBERS[2::3]
    if options.suite:
        return [name for name in NUMBERS if ENTRIES[name].quick or not options.quick]
    names = [name for name, entry in named_problems().items() if entry.kind == "problem"]
    return [name for name in names if name in QUICK or not options.quick]


# ---- whole solves
# --------------------------------------------------------------------------------------------------


def one_solve(name, backend, repeats):
    """Print a report of the solution as JSON: called in a process of its own."""
    from trajopt import Collocation, Compiled, Ipopt, solve

    counts, best = [0, 0], np.inf

    class Counted(Compiled):
        def run(self, *arguments):
            result, report = super().run(*arguments)
            counts[0] += 1
            counts[1] += result.outcome not in FINAL
            return result, report

    from trajopt.nlp.interior_point import FINAL

    used = {"ipopt": Ipopt, "compiled": Counted}[backend]()
    for _ in range(repeats):
        counts[:] = [0, 0]
        began = time.process_time()
        solution = solve(statement(name), Collocation(backend=used))
        best = min(best, time.process_time() - began)
    print(
        "ANSWER "
        + json.dumps(
            {
                "status": solution.status.name,
                "objective": solution.objective,
                "error": solution.error,
                "seconds": best,
                "programs": counts[0],
                "left": counts[1],
            }
        )
    )


def measured(name, backend, options):
    command = [
        sys.executable,
        "-W",
        "ignore",
        __file__,
        "--one",
        backend,
        "--repeats",
        str(options.repeats),
        name,
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=options.limit,
            env=environment,
            cwd=ROOT,
        )
    except subprocess.TimeoutExpired:
        return {
            "status": "TIME",
            "objective": np.nan,
            "error": np.nan,
            "seconds": np.nan,
            "programs": 0,
            "left": 0,
        }
    answers = [line for line in run.stdout.splitlines() if line.startswith("ANSWER ")]
    if not answers:
        return {
            "status": "ERROR",
            "objective": np.nan,
            "error": np.nan,
            "seconds": np.nan,
            "programs": 0,
            "left": 0,
        }
    return json.loads(answers[-1].removeprefix("ANSWER "))


def compare_solves(name, options):
    theirs, ours = (measured(name, backend, options) for backend in ("ipopt", "compiled"))
    apart = abs(ours["objective"] - theirs["objective"])
    allowed = (ours["error"] + theirs["error"]) * max(abs(theirs["objective"]), 1e-12)
    seconds = theirs["seconds"], ours["seconds"]
    notes = []
    if ours["status"] != theirs["status"]:
        notes.append("STATUS")
    if apart > max(allowed, 1e-9 * abs(theirs["objective"])):
        notes.append("OBJECTIVE")
    if seconds[1] > max(SLOWER * seconds[0], seconds[0] + 0.02):
        notes.append("SLOWER")
    print(
        f"{name:28} {theirs['status']:10} {ours['status']:10} {theirs['objective']:16.9g} "
        f"{ours['objective']:16.9g}"
        f" {apart / (allowed or 1):8.1e} {ours['programs']:4} {ours['left']:4} {seconds[0]:8.2f} "
        f"{seconds[1]:8.2f}"
        f" {seconds[1] / seconds[0]:6.2f} {' '.join(notes)}",
        flush=True,
    )
    return (
        ours["programs"],
        ours["left"],
        *seconds,
        *(word in notes for word in ("STATUS", "OBJECTIVE", "SLOWER")),
    )


def whole_solves(names, options):
    rows = np.array([compare_solves(name, options) for name in names], dtype=float)
    programs, left, slow, fast, status, objective, slower = np.nansum(rows, axis=0)
    print(
        f"together: {len(rows)} problems, {programs:.0f} programs, {left:.0f} passed to IPOPT"
        f" ({100 * left / max(programs, 1):.1f} %), {fast:.2f} s beside {slow:.2f} s "
        f"({fast / slow:.2f});"
        f" other status {status:.0f}, other objective {objective:.0f}, slower {slower:.0f}"
    )


# ---- program by program
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Both:
    """A backend that solves with IPOPT and records what the compiled method makes of the same
    program.
    """

    ipopt: object
    rows: list = field(default_factory=list)
    name: str = "both"

    @property
    def tolerance(self):
        return self.ipopt.tolerance

    def tightened(self, tolerance):
        return Both(self.ipopt.tightened(tolerance), self.rows)

    def solve(self, program, *rest):
        from trajopt import Compiled

        began = time.process_time()
        reference = self.ipopt.solve(program, *rest)
        middle = time.process_time()
        compiled, report = Compiled(self.ipopt.tolerance, self.ipopt.max_iterations).run(
            program, *rest
        )
        after = time.process_time() - middle
        self.rows.append((reference, compiled, report, middle - began, after))
        return reference


def difference(reference, compiled):
    """Relative, of the objectives; nothing where one has none."""
    from trajopt.nlp.backends import Outcome

    if reference.outcome is not Outcome.SOLVED or compiled.outcome is not Outcome.SOLVED:
        return 0.0
    return abs(reference.f - compiled.f) / max(abs(reference.f), 1e-8)


def compare_programs(name, verbose):
    from trajopt import Collocation, Ipopt, solve
    from trajopt.nlp.interior_point import FINAL

    both = Both(Ipopt())
    solve(statement(name), Collocation(backend=both))
    rows = both.rows
    for reference, compiled, report, slow, fast in rows if verbose else ():
        print(
            f"    ipopt {reference.message} {reference.iterations} {reference.f:.10g} {slow:.3f} "
            f"s; compiled {compiled.message}"
            f" {compiled.iterations} {compiled.f:.10g} {fast:.3f} s, error {report.error:.1e},"
            f" {report.restorations} restorations, {report.factorizations} factorizations, "
            f"{report.delayed} delayed"
        )
    left = sum(c.outcome not in FINAL for _, c, *_ in rows)
    worst = max((difference(r, c) for r, c, *_ in rows), default=0.0)
    slow, fast = sum(r[3] for r in rows), sum(r[4] for r in rows)
    iterations = [sum(r[k].iterations for r in rows) for k in (0, 1)]
    print(
        f"{name:28} {len(rows):4} {left:4} {worst:9.1e} {slow:8.2f} {fast:8.2f} "
        f"{fast / max(slow, 1e-9):6.2f} {iterations[0]:6}"
        f" {iterations[1]:6}",
        flush=True,
    )
    return len(rows), left, slow, fast, worst


def programs(names, options):
    totals = np.array([compare_programs(name, options.verbose) for name in names])
    count, left, slow, fast = totals[:, :4].sum(axis=0)
    print(
        f"together: {count:.0f} programs, {left:.0f} left to IPOPT, {fast:.2f} s beside "
        f"{slow:.2f} s",
        end="",
    )
    print(f" ({fast / slow:.2f}), largest difference {totals[:, 4].max():.1e}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument(
        "--programs", action="store_true", help="program by program on the same meshes"
    )
    parser.add_argument(
        "--suite", action="store_true", help="the problems of the suite instead of the named ones"
    )
    parser.add_argument(
        "--every-third", action="store_true", help="every third problem of the suite, by its number"
    )
    parser.add_argument("--quick", action="store_true", help="a few of them")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds for one problem and backend"
    )
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--one", choices=("ipopt", "compiled"), help=argparse.SUPPRESS)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    if options.one:
        one_solve(options.names[0], options.one, options.repeats)
    else:
        (programs if options.programs else whole_solves)(names_of(options), options)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
