"""Wall time of evaluations with several threads, on two problems of 100 states.

    python -m tests.benchmarks.threads [--threads 2] [--intervals 200] [--repeats 40]

Each of the five functions of a program (objective, gradient, constraints, Jacobian, Hessian of the
Lagrangian) is evaluated with one thread and with several, in turn; times are the least of all
repeats. Exit code 1 if a digit differs, or if all functions together take more than 0.65 of one
thread's time. Other processes make the figures useless: the last line says how many there were.
Where the rights allow it, `chrt -f 20` in front of the command keeps them away.
"""

import argparse
import os
import sys
import time
from itertools import pairwise

import casadi
import numpy as np

from trajopt import Mesh, Problem, Radau
from trajopt.direct.kernels import make_kernels
from trajopt.direct.packing import make_layout
from trajopt.direct.transcription import transcribe
from trajopt.nlp.evaluation import Evaluation

MOST = 0.65  # of one thread's time, with two
FUNCTIONS = ("objective", "gradient", "constraints", "jacobian", "hessian")


def heat(nodes=100):
    """Heating of a rod whose conductivity and losses by radiation depend on its temperature; finite
    differences in space.
    """
    ocp = Problem("heat")
    ph = ocp.phase()
    ph.time(start=0, end=1)
    T = ph.state("T", nodes, start=np.ones(nodes), guess=np.ones(nodes))
    u = ph.control("u", lower=0, upper=20)
    h = 1 / (nodes - 1)
    conductivity = 0.1 * casadi.sqrt(1 + T**2)
    flux = (conductivity[1:] + conductivity[:-1]) / 2 * casadi.diff(T) / h
    flux = casadi.vertcat(-u, flux, 0)  # heated at one end, insulated at the other
    ph.dynamics({T: casadi.diff(flux) / h - 0.05 * (T**4 - 1)})
    ocp.minimize(ph.integral(1e-4 * u**2) + ph.final(h * casadi.sumsqr(T - 2)))
    return ocp


def chain(masses=25):
    """Masses in a plane between springs of finite rest length; one end is fixed, forces act on the
    last mass.
    """
    ocp = Problem("chain")
    ph = ocp.phase()
    ph.time(start=0, end=3)
    rest, stiffness, mass, g = 0.04, 60.0, 0.03, 9.81
    hanging = np.vstack([np.linspace(0, 1, masses + 1)[1:], np.zeros(masses)])
    q = ph.state("q", 2 * masses, start=hanging.T.ravel(), guess=hanging.T.ravel())
    v = ph.state("v", 2 * masses, start=np.zeros(2 * masses), guess=0)
    u = ph.control("u", 2, lower=-5, upper=5)
    at = [casadi.SX(2, 1), *(q[2 * i : 2 * i + 2] for i in range(masses))]
    pulls = []
    for a, b in pairwise(at):
        d = b - a
        pulls.append(stiffness * d * (1 - rest / casadi.sqrt(casadi.sumsqr(d) + 1e-6)))
    forces = [pulls[i + 1] - pulls[i] for i in range(masses - 1)] + [u - pulls[-1]]
    ph.dynamics(
        {
            q: v,
            v: casadi.vertcat(*forces) / mass - casadi.repmat(casadi.SX([0, g]), masses) - 0.1 * v,
        }
    )
    ocp.minimize(ph.integral(casadi.sumsqr(v) + 0.01 * casadi.sumsqr(u)))
    return ocp


def program_of(problem, intervals):
    """The program on a uniform mesh, at a point where nothing vanishes."""
    form = problem.finish()
    kernels = make_kernels(form)
    layout = make_layout(form, kernels, Radau(), (Mesh.uniform(intervals, 4),))
    y = np.random.default_rng(0).uniform(0.8, 1.2, layout.unknowns)
    return transcribe(kernels, layout, y, form.parameter_values())


def evaluations(program, threads):
    """The functions of the program without arguments, evaluated with so many threads."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    e, y = Evaluation(program), program.start
    multipliers = np.random.default_rng(1).normal(size=program.constraints)
    arguments = {"hessian": (y, 0.7, multipliers)}
    return [lambda name=name: getattr(e, name)(*arguments.get(name, (y,))) for name in FUNCTIONS]


def measure(program, threads, repeats):
    """(2, functions) least seconds with one and with several threads, and whether all digits are
    equal.
    """
    both = [evaluations(program, count) for count in (1, threads)]
    same = all(np.array_equal(one(), other()) for one, other in zip(*both, strict=True))
    times = np.full((2, len(FUNCTIONS)), np.inf)
    for _ in range(repeats):
        for i in range(len(FUNCTIONS)):
            for k in range(2):
                began = time.perf_counter()
                both[k][i]()
                times[k, i] = min(times[k, i], time.perf_counter() - began)
    return times, same


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--intervals", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=40)
    chosen = parser.parse_args()
    failed = False
    print(
        f"| problem | function | one thread, ms | {chosen.threads} threads, ms | ratio | digits "
        "|\n|---|---|---|---|---|---|"
    )
    for build in (heat, chain):
        program = program_of(build(), chosen.intervals)
        times, same = measure(program, chosen.threads, chosen.repeats)
        for name, one, several in (
            *zip(FUNCTIONS, *times, strict=True),
            ("all", *times.sum(axis=1)),
        ):
            digits = ("equal" if same else "DIFFERENT") if name == "all" else ""
            print(
                f"| {build.__name__} | {name} | {one * 1e3:.2f} | {several * 1e3:.2f} | "
                f"{several / one:.2f} | {digits} |"
            )
        failed |= not same or several / one > MOST
    print(f"\nprocesses that were running, mean of the last minute: {os.getloadavg()[0]:.1f}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
