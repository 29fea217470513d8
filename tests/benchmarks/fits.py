"""Count how often the 95 % intervals of ten estimates hold, for many draws of 1 % noise.

python tests/benchmarks/fits.py [DRAWS]

The model is a chain of three masses with five stiffnesses, three dampers and two forces; the three
positions are measured at 60 times with a noise of 1 % of their range.
"""

import sys
import time

import casadi as ca
import numpy as np

from trajopt import Problem, fit, solve

TRUE = {
    "k1": 4.0, "k2": 3.0, "k3": 2.5, "k4": 2.0, "k5": 5.0, "c1": 0.4, "c2": 0.3, "c3": 0.5,
    "f1": 1.5, "f2": -1.0,
}  # fmt: skip
TIMES = np.linspace(0.1, 8, 60)


def chain(fixed):
    """With the true values, or with variables to estimate."""
    ocp = Problem("chain")
    p = {
        name: value if fixed else ocp.variable(name, lower=-20, upper=20, guess=0.7 * value)
        for name, value in TRUE.items()
    }
    ph = ocp.phase()
    t = ph.time(start=0, end=8)
    x = [ph.state(f"x{i}", start=s) for i, s in enumerate((1.0, 0.0, -0.5))]
    v = [ph.state(f"v{i}", start=0) for i in range(3)]
    a = (
        -p["k1"] * x[0] + p["k2"] * (x[1] - x[0]) - p["c1"] * v[0] + p["f1"] * ca.sin(2 * t),
        -p["k3"] * (x[1] - x[0]) + p["k4"] * (x[2] - x[1]) - p["c2"] * v[1],
        -p["k5"] * (x[2] - x[1]) - p["c3"] * v[2] + p["f2"] * ca.cos(t),
    )
    ph.dynamics({**dict(zip(x, v, strict=True)), **dict(zip(v, a, strict=True))})
    if fixed:
        ocp.minimize(ph.final(x[0]) ** 2)
    return ocp


def main():
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    truth = solve(chain(True), tolerance=1e-9).check()
    exact = {f"x{i}": truth[f"x{i}"](TIMES) for i in range(3)}
    size = {name: 0.01 * np.ptp(values) for name, values in exact.items()}
    generator = np.random.default_rng(0)

    def table():
        noisy = {n: v + size[n] * generator.standard_normal(v.size) for n, v in exact.items()}
        return {"t": TIMES, **noisy}

    began = time.process_time()
    first = fit(chain(False), table(), deviations=size)
    print(f"first fit: {time.process_time() - began:.2f} s of processor time")
    print(first)
    held, began = [], time.process_time()
    for _ in range(draws):
        found = first.refit(table())
        held.append([found[n].interval[0] <= v <= found[n].interval[1] for n, v in TRUE.items()])
    took = (time.process_time() - began) / draws
    share = np.mean(held)
    print(
        f"{draws} draws, {1e3 * took:.1f} ms each: the 95 % intervals hold in {100 * share:.1f} %"
    )
    for name, own in zip(TRUE, np.mean(held, axis=0), strict=True):
        print(f"  {name}: {100 * own:.1f} %")
    sys.exit(not 0.93 <= share <= 0.97)


if __name__ == "__main__":
    main()
