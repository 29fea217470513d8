"""Random statements of optimal-control problems, with a seed: whatever is stated, a solve ends with
an answer or with words.

``python tests/benchmarks/random_statements.py [COUNT] [SEED]`` solves 500 of them, each in a
process of its own with 30 s and 1 GiB. Wrong are: an exception, a crash, more time or memory, and
an answer that says SOLVED but does not follow its own dynamics (integrated again interval by
interval by another integrator, within 1e-4) or leaves its bounds. Exit code 1 if there are any;
they are listed with their numbers: ``build(NUMBER)`` states one of them again.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import casadi
import numpy as np
from scipy.integrate import solve_ivp

from trajopt import Problem, free
from trajopt.trajectory.solution import Solution

SECONDS, MEMORY = 30.0, 2**30
# of re-integrated states, and of bounds; relative to the size of the state
DEVIATION, BEYOND = (1e-4, 1e-6)


def build(number: int = 0, seed: int = 0) -> Problem:
    """One statement: up to three states and two controls, smooth dynamics, some bounds, ends and
    costs.
    """
    rng = random.Random(f"{seed} {number}")
    ocp = Problem(f"random {number}")
    ph = ocp.phase()
    horizon = rng.choice([0.5, 1.0, 2.0, 5.0])
    t = ph.time(start=0, end=horizon if rng.random() < 0.75 else free(0.1 * horizon, 3 * horizon))
    controls = [
        ph.control(f"u{i}", **({"lower": -limit, "upper": limit} if rng.random() < 0.8 else {}))
        for i in range(rng.choice([1, 1, 2]))
        for limit in [round(rng.uniform(0.5, 4.0), 2)]
    ]
    states = [ph.state(f"x{i}", **_ends(rng)) for i in range(rng.choice([1, 2, 2, 3]))]
    ph.dynamics({x: _rate(rng, i, states, controls) for i, x in enumerate(states)})
    used = casadi.vertcat(*[d.rate for d in ph.of_kind("state")])
    effort = sum(u**2 for u in controls)
    if rng.random() < 0.15:
        ph.path(states[0] + 0.3 * states[-1], upper=round(rng.uniform(1.5, 4.0), 2), name="wall")
    kind = rng.random()
    if kind < 0.5 or not all(casadi.depends_on(used, u) for u in controls):
        ocp.minimize(ph.integral(effort))
    elif kind < 0.7:
        ocp.minimize(ph.integral(states[0] ** 2 + 0.1 * effort))
    elif kind < 0.85:
        ocp.minimize(ph.final(states[-1]) ** 2 + ph.integral(0.05 * effort))
    else:
        ocp.minimize(ph.final(t) + 0.1 * ph.integral(effort))
    return ocp


def _ends(rng: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {"start": round(rng.uniform(-1, 1), 2)} if rng.random() < 0.85 else {}
    if rng.random() < 0.35:
        options["end"] = round(rng.uniform(-1, 1), 2)
    if rng.random() < 0.2:
        options |= {"lower": -5.0, "upper": 5.0}
    return options


def _rate(rng: random.Random, i: int, states: list[Any], controls: list[Any]) -> Any:
    x, other, u = states[i], rng.choice(states), rng.choice(controls)
    a, b = round(rng.uniform(-1, 1), 2), round(rng.uniform(0.3, 1.5), 2)
    terms = [
        a * x,
        a * casadi.sin(other),
        -0.2 * x**3,
        a * x * other,
        a * casadi.cos(x),
        0.5 * other,
        a,
    ]
    drive = rng.choice([b * u, b * u, b * u * casadi.cos(x), b * u / (1 + x**2), other + 0.5 * u])
    return rng.choice(terms) * (rng.random() < 0.7) + drive


def complaint(problem: Problem, solution: Solution) -> str:
    """What is wrong with an answer that says SOLVED; nothing where it is right."""
    form = problem.finish()
    model, phase, answer = form.models[0], form.phases[0], solution.phases["main"]
    n = len(phase.x_names)
    states, controls = list(answer.states.values()), list(answer.controls.values())
    sizes = np.array(
        [max(np.abs(curve.points).max(), np.ptp(curve.points), 1e-3) for curve in states]
    )
    empty = np.zeros(0)

    def rate(t: float, x: Any) -> Any:
        u = np.array([curve.evaluate(np.array([t]), left=t >= end)[0, 0] for curve in controls])
        return np.asarray(
            model(
                np.array([[t]]),
                x[:, None],
                np.zeros((0, 1)),
                u[:, None],
                empty,
                form.parameter_values(),
            )
        ).ravel()[:n]

    worst = 0.0
    for begin, end in zip(answer.breaks[:-1], answer.breaks[1:], strict=True):
        if end - begin < 1e-12 * (1 + abs(end)):
            continue
        first, last = (
            np.array([c.evaluate(np.array([t]), left=t > begin)[0, 0] for c in states])
            for t in (begin, end)
        )
        reached = solve_ivp(
            rate,
            (begin, end),
            first,
            rtol=1e-9,
            atol=1e-11 * sizes.min(),
            max_step=(end - begin) / 4,
        ).y[:, -1]
        worst = max(worst, float((np.abs(reached - last) / sizes).max()))
    if worst > DEVIATION:
        return f"its dynamics are missed by {worst:.1e}"
    for quantity, curve in zip((*phase.states, *phase.controls), (*states, *controls), strict=True):
        size = max(np.abs(curve.points).max(), 1.0)
        excess = max(
            (quantity.bound.lower - curve.points).max(), (curve.points - quantity.bound.upper).max()
        )
        if excess > BEYOND * size:
            return f"'{quantity.name}' leaves its bounds by {excess:.1e}"
    return ""


def judged(number: int, seed: int, status: str, solution: Solution | None) -> str:
    """What is wrong with one row."""
    if status in ("error", "exited", "crashed", "timeout", "memory", "time_limit"):
        return status
    return (
        complaint(build(number, seed), solution)
        if status == "solved" and solution is not None
        else ""
    )


def main() -> int:
    from trajopt import sweep

    count, seed = (int(a) for a in (*sys.argv[1:], *("500", "0")[len(sys.argv) - 1 :]))
    began = time.perf_counter()
    family = sweep(
        f"{Path(__file__).resolve()}:build",
        {"number": range(count)},
        {"seed": seed},
        chained=False,
        workers=2,
        row_time_limit=SECONDS,
        memory_limit=MEMORY,
    )
    wrong = {}
    for member in family.members:
        found = judged(member.settings["number"], seed, member.status, member.solution)
        if found:
            wrong[member.settings["number"]] = (
                f"{found}: {(member.message.splitlines() or [''])[0]}"
            )
    slowest = sorted(
        ((m.figures.get("seconds", 0.0), m.settings["number"]) for m in family.members),
        reverse=True,
    )[:5]
    print(
        dict(Counter(member.status for member in family.members)),
        f"in {time.perf_counter() - began:.0f} s",
    )
    print("slowest: " + ", ".join(f"{number} ({seconds:.1f} s)" for seconds, number in slowest))
    for number, what in wrong.items():
        print(f"build({number}, {seed}): {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
