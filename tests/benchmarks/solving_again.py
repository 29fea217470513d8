"""Processor time of a prepared problem that is solved again, against ``solve(guess=...)``.

python -P tests/benchmarks/solving_again.py [--before PYTHON] [NAME ...]

A parameter changes by 1 %, to and fro, at a tolerance of 1e-6. ``--before`` is the interpreter of
an environment with another version, whose ``solve(guess=...)`` is the yardstick; by default that of
this version. The least of several repeats counts. Also: a batch of random landers, and a receding
horizon for the cart-pole.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import casadi as ca
import numpy as np

from trajopt import Problem, free, solve

REPEATS = 12


def cart_pole():
    ocp = Problem("cart-pole")
    m = ocp.parameter("m", 0.3)
    ph = ocp.phase()
    ph.time(start=0, end=2)
    x, q = ph.state("x", start=0, end=1), ph.state("q", start=0, end=np.pi)
    dx, dq = ph.state("dx", start=0, end=0), ph.state("dq", start=0, end=0)
    u = ph.control("u", lower=-20, upper=20)
    s, c = ca.sin(q), ca.cos(q)
    ax = (0.5 * m * s * dq**2 + u + 9.81 * m * c * s) / (1 + m * s**2)
    aq = -(0.5 * m * c * s * dq**2 + u * c + (1 + m) * 9.81 * s) / (0.5 * (1 + m * s**2))
    ph.dynamics({x: dx, q: dq, dx: ax, dq: aq})
    ocp.minimize(ph.integral(u**2))
    return ocp, "m", 0.3


def moon_lander():
    ocp = Problem("moon-lander")
    thrust, g = ocp.parameter("thrust", 3.0), ocp.parameter("g", 1.5)
    ph = ocp.phase()
    ph.time(start=0, end=free(0.1, 20))
    h, v = ph.state("h", start=10.0, end=0), ph.state("v", start=-2.0, end=0)
    u = ph.control("u", lower=0, upper=1)
    ph.dynamics({h: v, v: thrust * u - g})
    ocp.minimize(ph.integral(thrust * u))
    return ocp, "thrust", 3.0


def transfer():
    """Limited power between circular orbits, in polar coordinates."""
    ocp = Problem("transfer")
    mu = ocp.parameter("mu", 1.0)
    ph = ocp.phase()
    ph.time(start=0, end=2 * np.pi)
    r = ph.state("r", start=1, end=1.5, lower=0.3)
    vr = ph.state("vr", start=0, end=0)
    vt = ph.state("vt", start=1, end=1 / np.sqrt(1.5))
    a, b = ph.control("a"), ph.control("b")
    ph.dynamics({r: vr, vr: vt**2 / r - mu / r**2 + a, vt: -vr * vt / r + b})
    ocp.minimize(ph.integral(a**2 + b**2))
    return ocp, "mu", 1.0


def wheelie():
    from problems.bike.wheelie import wheelie_entry

    ocp = wheelie_entry()
    return ocp, "rider_mass", float(ocp.parameters["rider_mass"].value[0])


PROBLEMS = {
    "cart-pole": cart_pole,
    "moon-lander": moon_lander,
    "transfer": transfer,
    "wheelie-entry": wheelie,
}


def least(step):
    """The least processor time of a step to and fro, and the last two objectives."""
    times, found = [], {}
    for k in range(REPEATS):
        factor = 1.01 if k % 2 == 0 else 1.0
        began = time.process_time()
        found[factor] = step(factor)
        times.append(time.process_time() - began)
    return min(times), float(np.median(times)), found


def by_guess(name):
    ocp, parameter, value = PROBLEMS[name]()
    answers = {1.0: solve(ocp), "last": None}
    answers["last"] = answers[1.0]

    def step(factor):
        answers["last"] = solve(ocp, guess=answers["last"], parameters={parameter: value * factor})
        return answers["last"].objective

    return least(step)


def prepared_again(name, fixed):
    from trajopt import prepare

    ocp, parameter, value = PROBLEMS[name]()
    prepared = prepare(ocp)
    prepared.solve().check()
    return least(lambda factor: prepared.solve({parameter: value * factor}, fixed=fixed).objective)


def before(python, name):
    """``solve(guess=...)`` in another environment."""
    command = [python, "-P", __file__, "--only", name]
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment = own if python != sys.executable else dict(os.environ)
    answer = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd="/", env=environment
    )
    return json.loads(answer.stdout.splitlines()[-1])


def batch(count=1000):
    from trajopt import prepare

    generator = np.random.default_rng(0)
    sets = {
        "thrust": generator.uniform(2.7, 3.3, count),
        "g": generator.uniform(1.35, 1.65, count),
    }
    prepared = prepare(moon_lander()[0])
    prepared.solve()
    began = time.process_time()
    found = prepared.map(sets)
    took = time.process_time() - began
    solved = int((found.status == "SOLVED").sum())
    print(f"batch: {count / took:.0f} landers in a second, {solved} of {count} solved")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--before")
    parser.add_argument("--only")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if given.only:
        print(json.dumps(by_guess(given.only)[:2]))
        return
    print(f"{'ms':16}{'guess':>9}{'again':>9}{'ratio':>8}{'fixed':>9}{'ratio':>8}  objectives")
    for name in given.names or PROBLEMS:
        guess = before(given.before or sys.executable, name)
        again, _, objectives = prepared_again(name, False)
        fixed, _, others = prepared_again(name, True)
        differ = max(abs(objectives[k] - others[k]) / abs(objectives[k]) for k in objectives)
        print(
            f"{name:16}{1e3 * guess[0]:9.2f}{1e3 * again:9.2f}{again / guess[0]:8.3f}"
            f"{1e3 * fixed:9.2f}{fixed / guess[0]:8.3f}  {differ:.1e}",
            flush=True,
        )
    if not given.names:
        batch()


if __name__ == "__main__":
    main()
