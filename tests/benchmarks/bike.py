#!/usr/bin/env python3
"""Every optimal motion of the bike robot with default settings, from its plain guess: processor
time, answer, re-simulation.

    python tests/benchmarks/bike.py [--again] [NAME ...]

Fails (exit code 1) where an answer is not solved to tolerance or not certified, or takes more than
a minute. ``--again`` also simulates each answer by links and closures: clearance of the rear wheel,
or rise and lean at the end.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from problems.bike.resimulation import flown, ridden
from trajopt import Solution, certify, solve
from trajopt.catalogue import builder

NAMES = (
    "wheelie-entry",
    "wheelie-entry-time",
    "wheelie-hold",
    "daniel-jump",
    "platform-jump",
    "platform-highest",
    "platform-strength",
    "platform-runup",
    "platform-support",
)
LIMIT = 60.0  # seconds of processor time


def measured(name: str) -> tuple[Solution, float]:
    began = time.process_time()
    return solve(builder(name)()), time.process_time() - began


def simulated_again(solution: Solution) -> str:
    if "flight" in solution.phases:
        end = flown(solution)
        return f"clears {end.clearance:.6f} m, loop {end.gap:.0e} m"
    last = ridden(solution)
    return f"{np.degrees(last['beta']):.5f} / {np.degrees(last['torso']):.5f} deg"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME")
    parser.add_argument("--again", action="store_true", help="simulate the answers again")
    arguments = parser.parse_args()
    failed = False
    print(
        "| problem | s | status | objective | error | meshes | certificate | simulated again "
        "|\n|---|---|---|---|---|---|---|---|"
    )
    for name in arguments.names:
        solution, seconds = measured(name)
        failed |= not solution.success or seconds > LIMIT
        missed = [check.name for check in certify(solution).checks if not check.ok]
        failed |= bool(missed)
        again = simulated_again(solution) if arguments.again else ""
        print(
            f"| {name} | {seconds:.1f} | {solution.status.name} | {solution.objective:.8g} | "
            f"{solution.error:.0e} "
            f"| {len(solution.history)} | {', '.join(missed) or 'passes'} | {again} |",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
