"""Interruptions of ``trajopt solve --save`` at random moments: from the first solved mesh on there
is always a file.

``python tests/benchmarks/interruptions.py [COUNT] [SEED]`` starts solves of several problems and
methods, sends SIGINT, SIGTERM or SIGHUP at a random moment, every second time one after the first
solved mesh, and looks at the exit code, at what is said, and at the file. Exit code 1 if anything
is wrong.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

from trajopt.errors import TrajoptError
from trajopt.files.storage import load

PROBLEMS = ("cart-pole", "goddard-cops", "moon-lander", "bryson-denham", "robot-arm")
METHODS = ("direct", "direct", "both")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
SLOWEST = 0.5  # seconds from the signal to the end of the process


def solve_command(problem: str, method: str, path: Path) -> list[str]:
    """With a tolerance that takes several meshes."""
    options = ["--method", method, "--tolerance", "1e-8", "--save", str(path)]
    return [sys.executable, "-m", "trajopt", "solve", problem, *options]


@cache
def duration(problem: str, method: str, path: Path) -> float:
    """Seconds that a solve takes here and now."""
    began = time.monotonic()
    subprocess.run(solve_command(problem, method, path), capture_output=True, env=ENVIRONMENT)
    return time.monotonic() - began


def interrupted(folder: Path, rng: random.Random) -> tuple[str, float]:
    """How one interruption ended, and how long it took: "kept", "before", "finished", or what is
    wrong.
    """
    path = folder / "a.nc"
    problem, method, number = rng.choice(PROBLEMS), rng.choice(METHODS), rng.choice(SIGNALS)
    longest = duration(problem, method, path)
    path.unlink(missing_ok=True)
    command = solve_command(problem, method, path)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    first = b""
    if rng.random() < 0.5:
        while b" intervals, " not in first and (line := process.stderr.readline()):
            first += line
    try:
        process.communicate(timeout=rng.uniform(0.0, longest if not first else longest / 2))
        return "finished", 0.0
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    began = time.monotonic()
    out, said = process.communicate(timeout=60)
    late = time.monotonic() - began
    return judged(path, number, process.returncode, (first + said).decode(), out.decode()), late


def judged(path: Path, number: int, code: int, said: str, out: str) -> str:
    """Whether code, words and file fit together."""
    solved_a_mesh = "in" in said and " intervals, " in said and "solved" in said
    if code in (0, 1) and path.exists() and "wrote" in said:
        return "finished"
    if code != 128 + number:
        # before the command had begun, by the signal itself
        early = code == -number and not solved_a_mesh
        return "before" if early else f"exit code {code} after signal {number}: {said[-200:]}"
    try:
        whole = load(path).objective if path.exists() else None
    except TrajoptError as error:
        return f"the file is not whole: {error}"
    if "interrupted by" in said and whole is not None:
        return "kept"
    if whole is not None and out:
        return "finished"
    if solved_a_mesh:
        return f"a mesh was solved and nothing is kept: {said[-300:]}"
    return "before" if "interrupted" in said or not said else f"nothing is said: {said[-200:]}"


def main() -> int:
    count, seed = (int(a) for a in (*sys.argv[1:], *("100", "0")[len(sys.argv) - 1 :]))
    rng, found, times = random.Random(seed), Counter[str](), []
    with tempfile.TemporaryDirectory() as folder:
        while found.total() - found["finished"] < count:
            end, late = interrupted(Path(folder), rng)
            found[end] += 1
            times += [late] if end == "kept" else []
    for end, number in found.most_common():
        print(f"{number:4}  {end}")
    times = sorted(times) or [0.0]
    print(
        f"from signal to end: median {times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s "
        f"(of {len(times)} kept)"
    )
    return 1 if set(found) - {"kept", "before", "finished"} else 0


if __name__ == "__main__":
    sys.exit(main())
