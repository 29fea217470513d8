"""Solve fresh problems and compare them with an independent transcription.

    python -m tests.benchmarks.fresh --seed 7 --count 44 [--python OTHER/bin/python]
        [--references FILE.json]

``--only storage,arm`` chooses families. Each problem runs in a process of its own, with ``--limit``
seconds of processor time. It is *right* if it is SOLVED with an objective at most 0.1 % above the
best of five starts of the reference, *wrong* if it is SOLVED and more than 1 % above, *local*
between them, else it has its status. The file of references is read and extended: they do not
depend on the version.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RIGHT, WRONG = 1e-3, 1e-2  # relative to the reference
PRECISE = 1e-9  # an objective below that in size is zero


def run(python: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [python, str(HERE / "one.py"), *arguments], capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    if lines:
        return dict(json.loads(lines[-1][7:]))
    return {
        "status": (done.stderr.strip().splitlines() or ["no answer in the time"])[-1][:60],
        "objective": None,
        "seconds": 60.0,
    }


def verdict(answer: dict[str, Any], reference: dict[str, Any]) -> str:
    if answer["status"] != "SOLVED":
        return str(answer["status"])
    if reference["objective"] is None:
        return "right"
    best = reference["objective"]
    loss = (
        reference["sense"]
        * (answer["objective"] - best)
        / max(abs(best), PRECISE * max(abs(answer["objective"]), 1e-300))
    )
    return "right" if loss <= RIGHT else "local" if loss <= WRONG else "wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=44)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--references", type=Path)
    parser.add_argument("--limit", default="60")
    parser.add_argument("--only", default="", help="names of families")
    arguments = parser.parse_args()
    sys.path.insert(0, str(HERE))
    import families

    names = [f.__name__ for f in families.FAMILIES]
    chosen = [name for name in arguments.only.split(",") if name] or names
    path, known = arguments.references, dict[str, Any]()
    if path is not None and path.exists():
        known = json.loads(path.read_text())
    counts: Counter[str] = Counter()
    total = 0.0
    for number in range(arguments.count):
        family = names[number % len(names)]
        if family not in chosen:
            continue
        key = f"{arguments.seed} {number} {family}"
        if key not in known:
            known[key] = run(sys.executable, str(arguments.seed), str(number), "100", "--reference")
            if path is not None:
                path.write_text(json.dumps(known, indent=1))
        answer = run(arguments.python, str(arguments.seed), str(number), arguments.limit)
        result = verdict(answer, known[key])
        counts[result] += 1
        total += answer["seconds"]
        both = answer["objective"], known[key]["objective"]
        print(
            f"{number:4d} {family:24s} {result:12s} {answer['seconds']:6.1f} s  {both[0]!s:>22} "
            f"{both[1]!s:>22}",
            flush=True,
        )
        for line in answer.get("log", ()):
            print(f"         {line}")
    print(
        f"{counts['right']} of {counts.total()} right in {total:.0f} s: "
        + ", ".join(f"{k} {v}" for k, v in counts.items())
    )


if __name__ == "__main__":
    main()
