"""Solve the problems with kinks and print a table.

python -m tests.benchmarks.kinks [NAME ...]
"""

from __future__ import annotations

import sys
import time

from tests.benchmarks.kinks.problems import PROBLEMS
from trajopt import solve


def main() -> None:
    chosen = sys.argv[1:]
    for build in PROBLEMS:
        if chosen and build.__name__ not in chosen:
            continue
        began = time.process_time()
        answer = solve(build())
        spent = time.process_time() - began
        print(
            f"{build.__name__:26s} {answer.status.name:11s} {answer.objective:18.12g} "
            f"{spent:6.2f} s {len(answer.history):3d} meshes, error {answer.error:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
