"""End errors under the controls of a solution and under feedback, against the disturbance.

python -P tests/benchmarks/feedback.py [NAME ...]

The initial state is disturbed by 1e-4 to 1e-2 of its sizes. Open loop, the end error is
proportional to the disturbance; under feedback it falls with its square. The slopes are those of
the logarithms over these two decades.
"""

import sys

import numpy as np

from trajopt import builder, solve
from trajopt.prepared.closed_loop import closed_loop

NAMES = (
    "cart-pole", "moon-lander", "lawden-transfer", "wheelie-entry", "double-integrator-mintime",
    "linear-tangent-steering",
)  # fmt: skip
DISTURBANCES = 10.0 ** np.array([-4.0, -3.5, -3.0, -2.5, -2.0])


def disturbed(solution, direction, size):
    """Initial values of the first phase, moved by a part of the sizes of the states."""
    phase = next(iter(solution.phases.values()))
    values = {}
    for (name, curve), own in zip(phase.states.items(), direction, strict=True):
        scale = np.abs(curve.points.reshape(-1, curve.size)).max(axis=0)
        moved = np.ravel(curve(phase.t0)) + size * own[: curve.size] * scale
        values[phase.name, name] = moved
    return values


def slope(errors, floor):
    """Of the logarithms, where errors are above what integration and mesh leave."""
    above = np.asarray(errors) > 30 * floor
    if above.sum() < 2:
        return float("nan")
    return np.polyfit(np.log(DISTURBANCES[above]), np.log(np.asarray(errors)[above]), 1)[0]


def main():
    names = sys.argv[1:] or NAMES
    print(f"{'':28}{'open loop':>12}{'feedback':>12}   end error of feedback at each disturbance")
    for name in names:
        solution = solve(builder(name)(), tolerance=1e-9)
        generator = np.random.default_rng(0)
        phase = next(iter(solution.phases.values()))
        direction = [generator.uniform(-1, 1, 9) for _ in phase.states]
        shown, last = [], []
        for control in ("open", "feedback"):
            floor = closed_loop(solution, control).miss
            last = [
                closed_loop(solution, control, disturbed(solution, direction, size)).miss
                for size in DISTURBANCES
            ]
            shown.append(slope(last, floor))
        figures = " ".join(f"{one:.1e}" for one in last)
        print(f"{name:28}{shown[0]:12.2f}{shown[1]:12.2f}   {figures}", flush=True)


if __name__ == "__main__":
    main()
