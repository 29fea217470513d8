"""Solve one problem of the suite with default settings in this process and print one
line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    sys.path[0] = str(HERE.parent)  # not the repository's root: trajopt is the installed one
    import suite
    from trajopt import solve

    entry = suite.ENTRIES[sys.argv[1]]
    before = time.process_time()
    solution = solve(entry.build())
    report = {
        "status": solution.status.name,
        "objective": solution.objective,
        "estimate": solution.error,
        "meshes": len(solution.history),
        "iterations": solution.iterations,
        "seconds": time.process_time() - before,
    }
    print("\nANSWER " + json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
