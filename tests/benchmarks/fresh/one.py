"""Solve one fresh problem in this process and print one line of JSON: ``one.py SEED NUMBER SECONDS
[--reference]``.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import types
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def solved(seed: int, number: int) -> dict[str, object]:
    sys.path[0] = str(HERE)  # not the repository's root: trajopt is the installed one
    import families

    from trajopt import solve

    before = time.process_time()
    solution = solve(families.build(seed, number))
    return {
        "family": families.FAMILIES[number % len(families.FAMILIES)].__name__,
        "status": solution.status.name,
        "objective": solution.objective,
        "seconds": time.process_time() - before,
        "meshes": len(solution.history),
        "log": list(solution.log),
    }


def reference(seed: int, number: int, starts: int = 5) -> dict[str, object]:
    """The best of several starts of a transcription that does not use trajopt, on a finer mesh."""
    sys.path[0] = str(HERE.parent / "suite")
    import independent

    stand_in = types.ModuleType("trajopt")
    stand_in.Problem, stand_in.free = independent.Problem, independent.free  # type: ignore[attr-defined]
    sys.modules["trajopt"] = stand_in
    sys.path[0] = str(HERE)
    import families

    np.seterr(invalid="ignore")
    problem, answers = families.build(seed, number, by_hand=True), []
    meshes = [np.linspace(0, 1, 25 if len(problem.phases) == 1 else 8) for _ in problem.phases]
    solver = independent.Solver(problem, meshes, "gauss", False, 600)
    for k in range(starts):
        start = independent.guessed(
            problem, solver.program, np.random.default_rng(k) if k else None
        )
        answers.append(solver.solve(start))
    good = [a for a in answers if a.ok and a.violation < 1e-6]
    if not good:
        return {"objective": None}
    best = min(good, key=lambda a: problem.sign * a.objective)
    finer = [np.linspace(0, 1, 3 * (breaks.size - 1) + 1) for breaks in meshes]
    last = independent.Solver(problem, finer, "gauss", False, 1000)
    answer = last.solve(
        independent.carried((solver.program, best.y), last.program, finer), near=True
    )
    objective = answer.objective if answer.ok else best.objective
    return {"objective": families.unit_of(seed, number) * objective, "sense": problem.sign}


def main() -> None:
    seed, number, seconds = (int(argument) for argument in sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    report = (reference if "--reference" in sys.argv else solved)(seed, number)
    print("\nANSWER " + json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
