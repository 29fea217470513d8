"""Whether a solve ends alike on every processor: the same statements under other roundings.

    python -m tests.benchmarks.processors [--kinds NAME,...] [--problems NAME,...] [--random 50]
        [--seed 0] [--moves 10] [--certify] [--limit 60] [--workers 2] [--python PYTHON]
        [--json FILE] [--write]

Every named problem, every problem of the suite and some random statements are solved with default
settings

- with the kernels of other processors: OPENBLAS_CORETYPE chooses those of NumPy's products and
  factorizations, NPY_DISABLE_CPU_FEATURES those of its loops, GLIBC_TUNABLES those of the
  elementary functions;
- with the start of every nonlinear program moved by a relative 1e-13, with as many seeds as
  ``--moves`` says.

Listed are problems whose answers differ: in status, in claim (``--certify``), in objective beyond a
relative 1e-6, or in iterations beyond a factor of two. ``--json`` keeps the rows, and goes on where
it was stopped; ``--write`` writes the table into processors.md. ``--problems`` and ``--kinds`` also
take the words named, suite, random, and cores, features, moves. ``--limit`` is the processor time
of one solve. Exit code 1 if a status, an objective or a claim differs.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

HERE = Path(__file__).resolve()
PAGE = HERE.with_suffix(".md")
BEGIN, END = "<!-- table -->\n", "<!-- end -->\n"
MOVE, OBJECTIVE, ITERATIONS = 1e-13, 1e-6, 2.0
SINGLE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
CORES = {  # what each needs of the processor
    "Nehalem": "SSE42",
    "Sandybridge": "AVX",
    "Haswell": "AVX2",
    "Zen": "AVX2",
    "SkylakeX": "AVX512_SKX",
}
FEATURES = {
    "numpy-baseline": {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
    "libm-baseline": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4"},
}
Row = dict[str, Any]
Rows = dict[str, dict[str, Row]]  # problem -> kind -> row


def all_kinds(moves: int) -> dict[str, list[str]]:
    """The names of the kinds that this processor can run, by group."""
    from numpy._core._multiarray_umath import __cpu_features__ as has

    return {
        "cores": [core for core, needed in CORES.items() if has.get(needed)],
        "features": list(FEATURES),
        "moves": [f"moved-{seed}" for seed in range(moves)],
    }


def all_problems(random: int, seed: int) -> dict[str, list[str]]:
    """As GROUP:NAME, by group."""
    from tests.benchmarks.suite import NUMBERS
    from trajopt import named_problems

    named = [name for name, entry in named_problems().items() if entry.kind == "problem"]
    names = {
        "named": named,
        "suite": NUMBERS,
        "random": [f"{seed}.{number}" for number in range(random)],
    }
    return {group: [f"{group}:{name}" for name in members] for group, members in names.items()}


def chosen(groups: dict[str, list[str]], words: str) -> list[str]:
    """Members of all groups, or those that the words name."""
    members = [one for group in groups.values() for one in group]
    wanted = set(words.split(",")) if words else set(groups)
    unknown = wanted - set(groups) - set(members) - {one.partition(":")[2] for one in members}
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}")
    return [
        one
        for group, ones in groups.items()
        for one in ones
        if wanted & {group, one, one.partition(":")[2]}
    ]


# In a process of one kind


def statement(problem: str) -> Any:
    group, name = problem.split(":", 1)
    if group == "suite":
        from suite import ENTRIES

        return ENTRIES[name].build()
    if group == "random":
        from random_statements import build

        seed, number = name.split(".")
        return build(int(number), int(seed))
    from trajopt import builder

    return builder(name)()


def move_starts(seed: int) -> None:
    """Let every start of a nonlinear program be packed with relative changes of MOVE."""
    import numpy as np

    from trajopt.direct import solve_mesh

    pack, random = solve_mesh.pack, np.random.default_rng(seed)

    def moved(*arguments: Any) -> Any:
        y = pack(*arguments)
        return y * (1 + MOVE * random.uniform(-1, 1, y.size))

    solve_mesh.pack = moved


def count_iterations() -> list[int]:
    """The iterations of every nonlinear program from now on, whether or not the history of a
    solution has it.
    """
    from trajopt.direct.solve_mesh import Context

    solve, counts = Context.solve, list[int]()

    def counted(*arguments: Any) -> Any:
        result = solve(*arguments)
        counts.append(result.iterations)
        return result

    Context.solve = counted
    return counts


def answer(problem: str, kind: str, certified: bool) -> Row:
    """How one solve ended, and its record."""
    from trajopt import certify, solve

    if kind.startswith("moved-"):
        move_starts(int(kind.removeprefix("moved-")))
    counts = count_iterations()
    told: list[str] = []
    began = time.process_time()
    solution = solve(statement(problem), progress=told.append)
    row = {
        "status": solution.status.name,
        "objective": solution.objective,
        "error": solution.error,
        "meshes": len(solution.history),
        "programs": len(counts),
        "iterations": sum(counts),
        "seconds": time.process_time() - began,
        "told": told,
        "log": solution.log,
        "history": [
            [
                one.intervals,
                one.points,
                one.iterations,
                one.error,
                one.objective,
                one.remark,
                one.backend,
            ]
            for one in solution.history
        ],
    }
    if certified:
        row["claim"] = str(certify(solution).claim)
    return row


def answer_into(pipe: Any, limit: float, *arguments: Any) -> None:
    most = math.ceil(limit)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    try:
        row = answer(*arguments)
    except Exception as error:
        row = {"status": type(error).__name__, "log": str(error).splitlines()}
    pipe.send(row)


def one_kind(kind: str, certified: bool, limit: float) -> None:
    """Solve the problems that come in, each in a process of its own, and print their rows."""
    sys.path.append(str(HERE.parent))  # not the repository's root: trajopt is the installed one
    import trajopt  # noqa: F401  # once for all processes

    fork = multiprocessing.get_context("fork")
    for line in sys.stdin:
        problem = line.strip()
        ours, theirs = fork.Pipe(duplex=False)
        child = fork.Process(target=answer_into, args=(theirs, limit, problem, kind, certified))
        child.start()
        theirs.close()
        try:
            row = ours.recv()
        except EOFError:
            row = {}
        child.join()
        if not row:
            late = child.exitcode in (-signal.SIGKILL, -signal.SIGXCPU)
            row = {"status": "over the limit", "seconds": limit} if late else {"status": "crashed"}
        print("\nANSWER " + json.dumps([problem, row]), flush=True)


# In the process that compares them


def environment(kind: str) -> dict[str, str]:
    more = {"OPENBLAS_CORETYPE": kind} if kind in CORES else FEATURES.get(kind, {})
    return {**os.environ, **SINGLE, **more}


def measured(
    kind: str, problems: list[str], options: argparse.Namespace
) -> Iterator[tuple[str, Row]]:
    command = [
        options.python,
        "-P",  # modules of this folder have names of the standard library
        "-W",
        "ignore",
        str(HERE),
        "--one",
        kind,
        "--limit",
        str(options.limit),
    ]
    command += ["--certify"] if options.certify else []
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, env=environment(kind)
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write("\n".join(problems) + "\n")
        run.stdin.close()
        for line in run.stdout:
            if line.startswith("ANSWER "):
                yield tuple(json.loads(line[7:]))


def groups_of(rows: dict[str, Row]) -> list[list[str]]:
    """The kinds whose status, claim and objective agree."""
    found: list[list[str]] = []
    for kind in sorted(rows, key=lambda kind: rows[kind].get("objective") or 0.0):
        group = next((g for g in found if alike(rows[g[-1]], rows[kind])), None)
        if group is None:
            found.append([kind])
        else:
            group.append(kind)
    return sorted(found, key=len, reverse=True)


def alike(one: Row, other: Row) -> bool:
    same = all(one.get(key) == other.get(key) for key in ("status", "claim"))
    a, b = (row.get("objective") or 0.0 for row in (one, other))
    return same and abs(a - b) <= OBJECTIVE * max(abs(a), abs(b))


def differences(rows: dict[str, Row]) -> list[str]:
    """In what the kinds differ."""
    found = [key for key in ("status", "claim") if len({row.get(key) for row in rows.values()}) > 1]
    values = [row["objective"] for row in rows.values() if row.get("objective") is not None]
    spread = max(values, default=0.0) - min(values, default=0.0)
    if spread > OBJECTIVE * max(map(abs, values), default=0.0):
        found.append("objective")
    counts = [row["iterations"] for row in rows.values() if "iterations" in row]
    if counts and max(counts) > ITERATIONS * min(counts):
        found.append("iterations")
    return found


def extremes(rows: dict[str, Row], kinds: list[str], key: str, digits: str = "d") -> str:
    values = [rows[kind][key] for kind in kinds if key in rows[kind]]
    if not values:
        return ""
    low, high = (format(one, digits) for one in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def table(rows: Rows) -> str:
    """One line for every group of kinds that agree, of the problems where some do not."""
    lines = [
        "| problem | differs | kinds | status | claim | objective | meshes | iterations | seconds "
        "|",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for problem, by_kind in rows.items():
        found = differences(by_kind)
        for group in groups_of(by_kind) if found else []:
            one = by_kind[group[0]]
            objective = format(one["objective"], ".9g") if one.get("objective") is not None else ""
            cells = [
                problem,
                ", ".join(found),
                " ".join(sorted(group)),
                one["status"],
                one.get("claim", ""),
                objective,
                extremes(by_kind, group, "meshes"),
                extremes(by_kind, group, "iterations"),
                extremes(by_kind, group, "seconds", ".2f"),
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def summary(rows: Rows) -> str:
    solves = sum(len(by_kind) for by_kind in rows.values())
    found = [differences(by_kind) for by_kind in rows.values()]
    counts = [
        f"{sum(key in one for one in found)} in {key}"
        for key in ("status", "claim", "objective", "iterations")
    ]
    return f"{len(rows)} problems, {solves} solves; problems that differ: {', '.join(counts)}\n"


def selected(rows: Rows, problems: list[str], kinds: list[str]) -> Rows:
    return {
        problem: {kind: rows[problem][kind] for kind in kinds if kind in rows[problem]}
        for problem in problems
        if problem in rows
    }


def collect(rows: Rows, problems: list[str], kinds: list[str], options: argparse.Namespace) -> None:
    """Add the rows that are not there yet."""
    lock = Lock()

    def run(kind: str) -> None:
        missing = [problem for problem in problems if kind not in rows.get(problem, {})]
        for problem, row in measured(kind, missing, options) if missing else ():
            with lock:
                rows.setdefault(problem, {})[kind] = row
                print(f"{kind} {problem}: {row['status']}", file=sys.stderr, flush=True)
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=1) + "\n")

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(run, kinds))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default="")
    parser.add_argument("--problems", default="")
    parser.add_argument("--random", type=int, default=50, help="number of random statements")
    parser.add_argument("--seed", type=int, default=0, help="of the random statements")
    parser.add_argument("--moves", type=int, default=10, help="number of moved starts")
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter in which trajopt is installed"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_kind(options.one, options.certify, options.limit)
        return 0
    kinds = chosen(all_kinds(options.moves), options.kinds)
    problems = chosen(all_problems(options.random, options.seed), options.problems)
    rows: Rows = (
        json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    )
    collect(rows, problems, kinds, options)
    rows = selected(rows, problems, kinds)
    report = table(rows) + "\n" + summary(rows)
    print(report)
    if options.write:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(head + BEGIN + report + END + rest.partition(END)[2], encoding="utf-8")
    serious = {"status", "claim", "objective"}
    return 1 if any(serious & set(differences(by_kind)) for by_kind in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
