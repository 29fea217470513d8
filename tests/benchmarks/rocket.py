#!/usr/bin/env python3
"""The rocket's long runs, as Markdown tables.

    python tests/benchmarks/rocket.py revolutions    spirals of 20 turns and more: time and memory
    python tests/benchmarks/rocket.py study          the effect of stabilization on a costate flow

Every spiral is solved in a process of its own, so that the memory is its own; times are processor
times.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from math import pi
from typing import Any

# name -> (arguments of many-revolutions, intervals of the first mesh; None leaves it to the solver)
SPIRALS: dict[str, tuple[dict[str, Any], int | None]] = {
    "polar": ({}, None),
    "polar, half the thrust": ({"thrust": 0.0005}, None),
    "equinoctial": ({"coordinates": "equinoctial"}, 80),
    "equinoctial, plane turned by 0.1": ({"plane_change": 0.1}, 100),
}
WINDING = {"polar": "theta", "equinoctial": "L"}


def spiral(name: str) -> dict[str, Any]:
    """Collocation and shooting of one spiral: figures for its row."""
    from problems.rocket.many_revolutions import build
    from trajopt import solve
    from trajopt.direct.collocation import Collocation
    from trajopt.direct.mesh import Mesh
    from trajopt.indirect.shooting import Shooting

    settings, intervals = SPIRALS[name]
    problem = build(**settings)
    began = time.process_time()
    direct = solve(
        problem, Collocation(mesh=None if intervals is None else Mesh.uniform(intervals, 4))
    ).check()
    collocated, megabytes = time.process_time(), _megabytes()
    exact = solve(problem, Shooting(patience=600.0), guess=direct)
    angle = WINDING[name.split(",")[0]]
    return {
        "turns": float(direct[angle](direct.objective)) / (2 * pi),
        "duration": direct.objective,
        "points": direct.history[-1].points,
        "direct": collocated - began,
        "direct MB": megabytes,
        "shooting": time.process_time() - collocated,
        "shooting MB": _megabytes(),
        "gap": abs(direct.objective / exact.objective - 1) if exact.success else None,
    }


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def revolutions() -> None:
    print("| spiral | turns | duration | points | collocation | shooting | relative difference |")
    print("|---|---|---|---|---|---|---|")
    for name in SPIRALS:
        done = subprocess.run(
            [sys.executable, __file__, "spiral", name], capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} |", flush=True)
            continue
        row = json.loads(done.stdout.splitlines()[-1])
        gap = "shooting gave no answer" if row["gap"] is None else f"{row['gap']:.0e}"
        print(
            f"| {name} | {row['turns']:.1f} | {row['duration']:.6f} | {row['points']} | "
            f"{row['direct']:.1f} s, "
            f"{row['direct MB']:.0f} MB | {row['shooting']:.1f} s, {row['shooting MB']:.0f} MB | "
            f"{gap} |",
            flush=True,
        )


def study() -> None:
    """Error at the end, largest deviation of (g1, g2) and processor time: every integrator with
    every stabilization.
    """
    from problems.rocket import lawden_cauchy
    from trajopt.integrate import Dop853, Fehlberg, Gill, Heun, MinimumNorm, Projection, Rk4

    steps = (
        Heun(0.02),
        Rk4(0.2),
        Rk4(0.1),
        Rk4(0.05),
        Gill(0.1),
        Fehlberg(1e-6),
        Fehlberg(1e-8),
        Dop853(1e-8),
    )
    ways = (None, MinimumNorm(1.0, only=("g1", "g2")), Projection(only=("g1", "g2")), Projection())
    for until in (20.0, 100.0):
        print(
            f"\nFlow to t = {until:g}: error of position and velocity, deviation of (g1, g2), "
            "time\n"
        )
        print(
            "| integrator | evaluations | none | minimum norm, g1 and g2 | projection, g1 and g2 "
            "| projection, all |"
        )
        print("|---|---|---|---|---|---|")
        trials = lawden_cauchy.study(steps, ways, until=until)
        for integrator, row in zip(
            steps,
            (trials[i : i + len(ways)] for i in range(0, len(trials), len(ways))),
            strict=True,
        ):
            cells = " | ".join(
                f"{t.error:.1e}, {t.drift:.0e}, {1e3 * t.seconds:.0f} ms" for t in row
            )
            print(f"| {integrator.label} | {row[0].evaluations} | {cells} |", flush=True)


def main() -> None:
    match sys.argv[1:]:
        case ["revolutions"]:
            revolutions()
        case ["study"]:
            study()
        case ["spiral", name]:
            print(json.dumps(spiral(name)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
