#!/usr/bin/env python3
"""The exoskeleton's optimal-control problems from their plain guesses with default settings, as a
Markdown table.

    python tests/benchmarks/exoskeleton.py [NAME ...]

CPU seconds of the process count, statement and solver construction included, so that other work on
the machine does not. The exit code is 1 if one is not solved, misses its known objective or takes
longer than a minute.
"""

from __future__ import annotations

import sys
import time

from problems.exoskeleton import assist as exoskeleton_assist
from problems.exoskeleton import lift as exoskeleton_lift
from problems.exoskeleton import slalom_effort, slalom_time, two_legged
from trajopt import solve

PROBLEMS = {
    "slalom-effort": slalom_effort,
    "slalom-time": slalom_time,
    "two-legged": two_legged,
    "exoskeleton-lift": exoskeleton_lift,
    "exoskeleton-assist": exoskeleton_assist,
}
LIMIT = 60.0  # CPU seconds for each


def measured(name: str) -> tuple[str, bool]:
    """A row of the table, and whether it is as it should be."""
    reference = PROBLEMS[name].REFERENCE
    began = time.process_time()
    answer = solve(PROBLEMS[name].build())
    seconds = time.process_time() - began
    off = abs(answer.objective / reference.objective - 1)
    good = answer.success and off <= reference.tolerance and seconds < LIMIT
    row = (
        f"| {name} | {seconds:.1f} | {answer.iterations} | {len(answer.history)} | "
        f"{answer.error:.1e} | {answer.objective:.9g} "
        f"| {off:.0e} | {'yes' if good else 'NO'} |"
    )
    return row, good


def main(names: tuple[str, ...]) -> int:
    print(
        "| problem | CPU seconds | iterations | meshes | estimated error | objective | off the "
        "known | good |"
    )
    print("|---|---|---|---|---|---|---|---|")
    verdicts = []
    for name in names:
        row, good = measured(name)
        verdicts.append(good)
        print(row, flush=True)
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or tuple(PROBLEMS)))
