"""Processor time and memory of the default test run, by test file.

python -m tests.benchmarks.default_run [--json FILE] [--draw FILE ...] [ARGUMENTS OF PYTEST]

Runs pytest in this process and notes for every test the processor time, that of its child processes
too, and the resident memory after it. ``--draw`` draws the memory of runs over processor time into
default_run.svg. Exit code: that of pytest, or 1 beyond 10 minutes or 1 GiB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

FIGURE = Path(__file__).with_suffix(".svg")
MINUTES, GIB = 10.0, 1.0  # what the default run may take
PAGE = os.sysconf("SC_PAGE_SIZE")


def processor_time() -> float:
    """Seconds of this process and of the children that have ended."""
    ours, theirs = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return ours.ru_utime + ours.ru_stime + theirs.ru_utime + theirs.ru_stime


def resident() -> float:
    """Resident memory of this process, in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 2**20


class Recorder:
    """A plugin of pytest: (test, seconds, MiB after it)."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, float]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        began = processor_time()
        result = yield
        self.rows.append(("collection", processor_time() - began, resident()))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began = processor_time()
        result = yield
        self.rows.append((item.nodeid, processor_time() - began, resident()))
        return result


def by_file(rows: list[tuple[str, float, float]]) -> str:
    """Test files in the order of their time, and what the resident memory grows by in each."""
    seconds, growth = defaultdict[str, float](float), defaultdict[str, float](float)
    before = 0.0
    for test, time, memory in rows:
        file = test.partition("::")[0]
        seconds[file] += time
        growth[file] += memory - before
        before = memory
    order = sorted(seconds, key=lambda file: -seconds[file])
    return "\n".join(f"{seconds[file]:8.1f} s {growth[file]:+8.0f} MiB  {file}" for file in order)


def draw(runs: list[Path]) -> None:
    """Draw the resident memory of runs over processor time."""
    from matplotlib.figure import Figure

    figure = Figure((7, 3.5), layout="constrained")
    axes = figure.subplots()
    for path in runs:
        minutes, memory, total = [], [], 0.0
        for _, time, resident_after in json.loads(path.read_text()):
            total += time / 60
            if not minutes or total - minutes[-1] > MINUTES / 1000:
                minutes.append(total)
                memory.append(resident_after / 1024)
        axes.plot(minutes, memory, label=path.stem)
    axes.axhline(GIB, color="0.5", linewidth=0.8)
    axes.axvline(MINUTES, color="0.5", linewidth=0.8)
    axes.set(xlim=0, ylim=0, xlabel="processor time, min", ylabel="resident memory, GiB")
    axes.legend()
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--draw", type=Path, nargs="+")
    options, rest = parser.parse_known_args()
    if options.draw:
        draw(options.draw)
        return 0
    recorder = Recorder()
    code = pytest.main(rest, plugins=[recorder])
    if options.json:
        options.json.write_text(json.dumps(recorder.rows) + "\n")
    minutes = sum(time for _, time, _ in recorder.rows) / 60
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(by_file(recorder.rows))
    print(f"{minutes:.1f} minutes of processor time, at most {peak:.2f} GiB")
    return int(code) or int(minutes > MINUTES or peak > GIB)


if __name__ == "__main__":
    sys.exit(main())
