"""Times one package on one problem, in that package's own process, and prints one line of JSON for
``run.py``.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from statements import STATEMENTS, Statement

# what else a machine does only ever adds: the least of many repeats is the time that comes back
REPEATS = 25
PATIENCE = 12.0  # seconds, after which no further repeat begins


@dataclass(frozen=True)
class Answer:
    objective: float
    iterations: int | None = None
    remark: str = ""
    excess: float = 0.0  # seconds that do not count (a second solve for other purposes)


def timed(call: Callable[[], Answer]) -> dict[str, object]:
    """The answer of the last of several calls, and the least of their processor times."""
    times, began = [], time.perf_counter()
    while len(times) < REPEATS and (not times or time.perf_counter() - began < PATIENCE):
        start = time.process_time()
        answer = call()
        times.append(time.process_time() - start - answer.excess)
    return {
        "objective": answer.objective,
        "iterations": answer.iterations,
        "remark": answer.remark,
        "seconds": min(times),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main(
    solve: Callable[[str, Statement], Answer],
    scaling: Callable[[Statement, int], Answer] | None = None,
    at_tolerance: Callable[[str, Statement, float], Answer] | None = None,
) -> None:
    """Arguments: a problem; or ``scaling`` and a number of intervals; or ``sweep``, a problem and
    tolerances.
    """
    first, *rest = sys.argv[1:]
    if first == "scaling" and scaling is not None:
        report: object = timed(lambda: scaling(STATEMENTS["P3"], int(rest[0])))
    elif first == "sweep" and at_tolerance is not None:
        problem, *tolerances = rest
        report = [
            timed(lambda e=float(e): at_tolerance(problem, STATEMENTS[problem], e))
            for e in tolerances
        ]
    else:
        report = timed(lambda: solve(first, STATEMENTS[first]))
    print("\nANSWER " + json.dumps(report), flush=True)
