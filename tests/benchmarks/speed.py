"""Processor times of this version, beside those of another version and of CasADi's interpreter.

    python -m tests.benchmarks.speed --before PYTHON [--repeats N] [WHAT ...]

PYTHON is the interpreter of an environment with the other version. WHAT is one or more of:
commands; simulations; statements (P1 to P5 of ``run.py``); named (all named problems that both
versions have, and their sum); evaluations (model functions of four named problems by tapes, beside
CasADi's interpreter; needs no other version). Both versions run in turn, each time in a process of
its own; a time is the least of the repeats.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "import trajopt": ["-c", "import trajopt"],
    "trajopt --help": ["-m", "trajopt", "--help"],
    "trajopt solve brachistochrone": ["-m", "trajopt", "solve", "brachistochrone"],
}
SIMULATIONS = ("rider-loop", "snowboarder", "daniel-pd")
EVALUATED = ("slalom-effort", "two-legged", "daniel-jump", "platform-support")
POINTS = 400

# What is timed inside a process, in both versions; prints the least of some repeats.
TIMED = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
from trajopt import solve
from trajopt.catalogue import builder
kind, name, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
if kind == "simulations":
    from trajopt.integrate import simulate
    make, do = builder(name), simulate
elif kind == "statements":
    sys.path.insert(0, sys.argv[4])
    from statements import STATEMENTS
    from with_trajopt import build
    make, do = (lambda: None), (lambda _: solve(build(name, STATEMENTS[name])))
else:
    make, do = builder(name), solve
best = float("inf")
for _ in range(repeats):
    made = make()
    began = time.process_time()
    do(made)
    best = min(best, time.process_time() - began)
print("SECONDS", best)
"""


def seconds_of(python, arguments):
    """Processor time of a whole process."""
    before = os.times()
    subprocess.run(
        [python, *arguments],
        check=True,
        capture_output=True,
        cwd=tempfile.gettempdir(),
        env=environment(),
    )
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def seconds_inside(python, kind, name, repeats):
    """What the process itself measures; infinite if it fails."""
    command = [python, "-c", TIMED, kind, name, str(repeats), str(ROOT / "tests" / "benchmarks")]
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tempfile.gettempdir(),
        env=environment(),
        timeout=600,
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("SECONDS")]
    return float(lines[-1].split()[1]) if lines else float("inf")


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def compared(name, measure, before, repeats):
    """Print and return the least times of both versions."""
    times = [[measure(python) for python in (before, sys.executable)] for _ in range(repeats)]
    old, new = (min(column) for column in zip(*times, strict=True))
    print(f"{name:32} {old:9.4f} {new:9.4f} {new / old:6.2f}", flush=True)
    return old, new


def named(before, repeats):
    both = [set(names(python)) for python in (before, sys.executable)]
    rows = [
        compared(
            name,
            lambda python, name=name: seconds_inside(python, "named", name, 1),
            before,
            repeats,
        )
        for name in sorted(both[0] & both[1])
    ]
    old, new = (sum(column) for column in zip(*rows, strict=True))
    print(f"{'together':32} {old:9.4f} {new:9.4f} {new / old:6.2f}")


def names(python):
    """Named problems of a version."""
    code = (
        "import json, trajopt.catalogue as c; all = getattr(c, 'named_problems', None) or "
        "c.catalogue; "
        "print(json.dumps([n for n, e in all().items() if e.kind == 'problem']))"
    )
    run = subprocess.run(
        [python, "-c", code], check=True, capture_output=True, text=True, cwd=tempfile.gettempdir()
    )
    return json.loads(run.stdout.splitlines()[-1])


def evaluations(repeats):
    """Constraints, Jacobian and Hessian of the first phase together, by CasADi's interpreter and by
    tapes.
    """
    import numpy as np

    from trajopt import builder
    from trajopt.direct.kernels import make_kernels

    for name in EVALUATED:
        kernel, sums = make_kernels(builder(name)().finish()).phases[0].at_points(True), np.zeros(2)
        for label in ("constraints", "constraint_jacobian", "hessian"):
            pointwise = getattr(kernel, label)
            function = pointwise.function
            at = [
                np.random.default_rng(0).uniform(0.1, 1.0, (function.nnz_in(i), POINTS))
                for i in range(function.n_in())
            ]
            assert pointwise.tape is not None
            calls = (partial(function.map(POINTS), *at), partial(pointwise, *at))
            sums += [min(timed(call) for _ in range(repeats)) for call in calls]
        slow, fast = 1e6 * sums / POINTS
        print(
            f"{name:32} {slow:9.2f} {fast:9.2f} {fast / slow:6.3f}  microseconds a point",
            flush=True,
        )


def timed(call):
    began = time.process_time()
    call()
    return time.process_time() - began


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="*", default=["commands", "simulations", "statements", "named", "evaluations"]
    )
    parser.add_argument("--before", help="the interpreter of another version")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.before is None and options.what != ["evaluations"]:
        parser.error("--before is needed for all but 'evaluations'")
    for what in options.what:
        print(f"\n{what}")
        if what == "commands":
            for name, arguments in COMMANDS.items():
                compared(
                    name,
                    lambda python, a=arguments: seconds_of(python, a),
                    options.before,
                    options.repeats,
                )
        elif what in ("simulations", "statements"):
            for name in SIMULATIONS if what == "simulations" else ("P1", "P2", "P3", "P4", "P5"):
                compared(
                    name,
                    lambda python, n=name, w=what: seconds_inside(python, w, n, 10),
                    options.before,
                    options.repeats,
                )
        elif what == "named":
            named(options.before, options.repeats)
        elif what == "evaluations":
            evaluations(options.repeats)
        else:
            parser.error(f"unknown '{what}'")


if __name__ == "__main__":
    main()
