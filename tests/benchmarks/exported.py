"""Exported programs: compiled under several compilers without warnings, 10,000 solves under
sanitizers, and the times of solves.

python tests/benchmarks/exported.py [--solves 10000] [NAME ...]

Parameters and initial values vary by 1 % at random, independently in each solve: a step from one
set of values to the next is up to 2 %. Each program also runs ``test.c``, which compares with
Python. The exit code is 1 if a compiler warns, a sanitizer reports or a comparison fails.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from solving_again import PROBLEMS

from trajopt import builder, prepare

STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
COMPILERS = ("gcc", "clang", "aarch64-linux-gnu-gcc")
MOST_SECONDS = 5.0  # of processor time, to compile


def built(name):
    return PROBLEMS[name]()[0] if name in PROBLEMS else builder(name)()


def compiled(folder, compiler, source, *flags):
    """The path of a program, and the processor time to make it."""
    program = folder / f"{Path(source).stem}-{compiler}-{len(flags)}"
    sources = [source, "trajopt.c", "problem.c", *sorted(map(str, (folder / "core").glob("*.c")))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [compiler, *STRICT, *flags, *sources, "-lm", "-o", str(program)]
    subprocess.run(command, cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return program, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def run(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    return done.returncode == 0


def measure(name, folder, solves):
    """True if all went well."""
    prepared = prepare(built(name), tolerance=1e-6)
    prepared.solve().check()
    prepared.export(folder)
    good = True
    for compiler in filter(shutil.which, COMPILERS):
        _, seconds = compiled(folder, compiler, "main.c")
        print(f"{name}: {compiler}: {seconds:.1f} s to compile")
        good &= seconds <= MOST_SECONDS
    good &= run(compiled(folder, "gcc", "test.c")[0])
    print("with sanitizers:")
    good &= run(compiled(folder, "gcc", "main.c", *SANITIZERS)[0], str(solves))
    print("without:")
    for limit in ("10", "2", "1"):
        good &= run(folder / "main-gcc-0", str(solves), limit)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*PROBLEMS])
    parser.add_argument("--solves", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = [measure(name, Path(folder) / name, given.solves) for name in given.names]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
